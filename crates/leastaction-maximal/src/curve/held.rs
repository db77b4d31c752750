//! Coordinates that the driver of friction and limits holds: rows `y(pose^γ) − hold = 0` at nodes 1 to s with impulses along
//! the coordinate at nodes 0 to s − 1, like those of the joints. (8.22)

use super::CurveMemory;
use super::rows::{add_joint_wrench, larger};
use crate::constraint::coordinate_row;
use crate::coordinate::is_angle;
use crate::layout::{Layout, Link};
use crate::ldu::six;
use crate::state::MaximalState;
use crate::workspace::StepData;

/// Coordinates of a link's joint that are held.
#[inline(always)]
pub(super) fn held<'a>(link: &'a Link, step: &'a StepData) -> impl Iterator<Item = usize> + 'a {
    let count = if step.enforce_limits && link.joint.rows.has_limits { link.joint.kind.nv() } else { 0 };
    (0..count).filter(|c| !step.held[link.v + c].is_nan())
}

impl CurveMemory {
    /// True if any coordinate is held in this step.
    #[inline(always)]
    pub(super) fn holds(&self, step: &StepData) -> bool {
        step.driven && step.enforce_limits && !self.x.held.is_empty()
    }

    /// Adds the impulses of held coordinates at nodes 0 to s − 1.
    #[inline(always)]
    pub(super) fn add_held(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        let (n, nv) = (layout.links.len(), layout.held);
        for (i, link) in layout.links.iter().enumerate() {
            for c in held(link, step) {
                for al in 0..self.table.s {
                    let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                    let row = coordinate_row(link.joint.kind, &side.joints[i], c);
                    let lam = self.x.held[al * nv + link.v + c];
                    let wrench = six(row.ang_b * lam, row.lin * lam);
                    add_joint_wrench(&mut self.given[al * n..(al + 1) * n], side, link.parent, i, &wrench);
                }
            }
        }
    }

    /// Values of the rows at nodes 1 to s, by increments: parts between events may be short.
    #[inline(always)]
    pub(super) fn measure_held(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        for (i, link) in layout.links.iter().enumerate() {
            let kind = link.joint.kind;
            for c in held(link, step) {
                let away = state.q[link.q + c] - step.held[link.v + c];
                for ga in 1..=self.table.s {
                    let (from, to) = (&state.side.joints[i], &self.nodes[ga - 1].side.joints[i]);
                    let mut dy = [0.0; 6];
                    self.change(state, &link.joint, from, to, ga, &mut dy);
                    let value = away + dy[c];
                    let worst = if is_angle(kind, c) { &mut self.gap.ang } else { &mut self.gap.lin };
                    *worst = larger(*worst, value.abs());
                    self.nodes[ga - 1].held[link.v + c] = value;
                }
            }
        }
    }
}
