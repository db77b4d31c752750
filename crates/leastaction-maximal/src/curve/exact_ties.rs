//! Ties beside the exact matrix: a column per tie and node with an impulse, and a condition per node where it is held.
//!
//! How the impulses turn with the poses is left out of the matrix: ties are rows of joints, which turn slowly.

use super::CurveMemory;
use super::exact::{Exact, about_centres};
use super::slopes::in_link_axes;
use crate::layout::Layout;
use crate::state::MaximalState;
use crate::workspace::StepData;
use leastaction_core::linalg::Dropping;

/// Part of a row's size against the bare links below which it follows from others.
const DROPPED: f64 = 1e-10;

/// Columns and the small matrix. Holds no truth.
#[derive(Clone, Debug, Default)]
pub(super) struct ExactTies {
    /// Ties and nodes that act.
    active: Vec<(usize, usize)>,
    columns: Vec<f64>,
    matrix: Vec<f64>,
    rest: Vec<f64>,
    scale: Vec<f64>,
    solver: Dropping,
    /// Changes of the multipliers, by node and tie.
    pub(super) change: Vec<f64>,
}

/// Calls `each(place in z, slope)` for the gradient of a tie at node `al`, where link variations of node `at` stand.
fn gradient(
    memory: &CurveMemory,
    exact: &Exact,
    layout: &Layout,
    state: &MaximalState,
    tie: usize,
    al: usize,
    at: usize,
    mut each: impl FnMut(usize, f64),
) {
    let side = memory.side(state, al);
    let tie = &layout.ties[tie];
    for (k, part) in tie.parts.iter().enumerate() {
        let (joint, row) = part.row(layout, side);
        let slope = memory.tie_slopes[al][tie.first + k];
        for (link, row) in about_centres(side, joint.a.link, joint.b.link, &row).into_iter().flatten() {
            let row = in_link_axes(&state.side.rot[link], &row);
            let here = exact.ldu.range(link).start + 6 * at;
            (0..6).for_each(|m| each(here + m, slope * row[m]));
        }
    }
}

impl CurveMemory {
    /// Makes the direction in `exact.z` obey the ties that act, and notes the changes of their multipliers.
    pub(super) fn tie_exact(
        &self,
        exact: &mut Exact,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
    ) {
        let (s, size) = (self.table.s, exact.z.len());
        let mut ties = std::mem::take(&mut exact.ties);
        ties.change.clear();
        ties.change.resize(s * layout.ties.len(), 0.0);
        ties.active.clear();
        let acting = (0..layout.ties.len()).filter(|o| !step.tied[*o].is_nan());
        ties.active.extend(acting.flat_map(|o| (0..s).map(move |al| (o, al))));
        let m = ties.active.len();
        ties.columns.resize(m * size, 0.0);
        ties.matrix.resize(m * m, 0.0);
        ties.rest.resize(m, 0.0);
        for (k, (o, al)) in ties.active.iter().enumerate() {
            let column = &mut ties.columns[k * size..(k + 1) * size];
            column.fill(0.0);
            gradient(self, exact, layout, state, *o, *al, *al, |at, x| column[at] += x);
            exact.ldu.solve(column);
        }
        let first = layout.held - layout.ties.len();
        ties.scale.clear();
        ties.scale.resize(m, 0.0);
        for (r, (o, al)) in ties.active.iter().enumerate() {
            let node = al + 1;
            let mut sum = self.nodes[*al].held[first + o];
            gradient(self, exact, layout, state, *o, node, *al, |at, x| sum += x * exact.z[at]);
            ties.rest[r] = sum;
            for k in 0..m {
                let column = &ties.columns[k * size..(k + 1) * size];
                let mut sum = 0.0;
                gradient(self, exact, layout, state, *o, node, *al, |at, x| sum += x * column[at]);
                ties.matrix[r * m + k] = sum;
            }
            let side = &state.side;
            for (k, part) in layout.ties[*o].parts.iter().enumerate() {
                let (joint, row) = part.row(layout, side);
                let slope = self.tie_slopes[0][layout.ties[*o].first + k];
                for (i, row) in about_centres(side, joint.a.link, joint.b.link, &row).into_iter().flatten() {
                    let row = in_link_axes(&side.rot[i], &row);
                    let ang = crate::ldu::angular(&row);
                    let own = ang.dot(layout.links[i].inverse_inertia * ang)
                        + crate::ldu::linear(&row).norm2() * layout.links[i].inverse_mass;
                    ties.scale[r] += slope * slope * own * step.h.abs();
                }
            }
        }
        ties.solver.solve(&mut ties.matrix, &mut ties.rest, &ties.scale, DROPPED);
        for (k, (o, al)) in ties.active.iter().enumerate() {
            let by = ties.rest[k];
            ties.change[al * layout.ties.len() + o] = by;
            let column = &ties.columns[k * size..(k + 1) * size];
            exact.z.iter_mut().zip(column).for_each(|(z, y)| *z -= by * y);
        }
        exact.ties = ties;
    }
}
