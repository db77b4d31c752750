//! Rows of several coordinates while they are held: limits of sums, of balls' whole turns, of joints that follow several others.
//!
//! A row `l(q) = hold` is kept at nodes 1 to s by impulses along its gradient at nodes 0 to s − 1, which are unknowns:
//!
//! ```text
//! r^α += G(q^α)ᵀ γ^α,   l(q^γ) = hold,   δ = δ₀ + Y δγ,   Y = −J⁻¹ Gᵀ,   (G Y) δγ = hold − l − G δ₀         (7.9)
//! ```
//!
//! beside whichever factorisation there is. A ball's row 0 balances momentum in the anchor's axes, so that impulses of all nodes
//! act in it: along the axis of the rotation there, and along `Bᵀ` of it in the chart's own rows.

use super::ball::chart;
use super::lanes::Lanes;
use super::scheme::Scheme;
use super::segments::{Motion, Segments};
use super::ties::Ties;
use crate::integrator::rows::RowState;
use crate::mechanism::{Mechanism, RowOf, turn};
use crate::spatial::{Mat3, Quat, Vec3};
use leastaction_core::linalg::Dropping;

/// Part of the largest pivot below which a row follows from others.
const DROPPED: f64 = 1e-11;

/// What a row is a function of.
#[derive(Clone, Debug)]
enum Of {
    /// A sum of coordinates.
    Sum(Vec<(usize, f64)>),
    /// A ball's whole turn: first coordinate and number of the ball.
    Turn { first: usize, ball: usize },
}

#[derive(Clone, Debug)]
struct HeldRow<const N: usize> {
    /// Its number among the mechanism's rows.
    row: usize,
    of: Of,
    /// Not a number while it is free.
    hold: f64,
    coordinates: Vec<usize>,
    /// By coordinate: slopes at all nodes; for balls by chart coordinate.
    slopes: Vec<[f64; N]>,
    /// For balls: the axis at all nodes, in the anchor's axes.
    axes: [[f64; N]; 3],
    /// How far it is off at nodes 1 to s.
    off: [f64; N],
    /// Impulses, where a line search starts, and directions.
    impulses: [f64; N],
    base: [f64; N],
    change: [f64; N],
    next_change: [f64; N],
}

/// All such rows of a mechanism.
#[derive(Clone, Debug)]
pub(crate) struct HeldRows<const N: usize> {
    list: Vec<HeldRow<N>>,
    active: Vec<usize>,
    /// `M⁻¹ Gᵀ` at the start and its small matrix; the same for the Newton matrix, by row, then node.
    columns: Vec<f64>,
    matrix: Vec<f64>,
    newton_columns: Vec<f64>,
    newton_matrix: Vec<f64>,
    work: Vec<f64>,
    scale: Vec<f64>,
    rest: Vec<f64>,
    solver: Dropping,
}

impl<const N: usize> HeldRows<N> {
    /// None if every row is a coordinate of its own.
    pub(crate) fn new(mechanism: &Mechanism, segments: &Segments, s: usize) -> Option<Box<Self>> {
        let follows = |v: usize| mechanism.followers().iter().any(|f| f.at.v == v);
        let ball_at = |v: usize| {
            segments
                .list
                .iter()
                .find(|seg| seg.motion == Motion::Ball && seg.coordinate == v)
                .map(|seg| seg.ball)
        };
        let mut list = Vec::new();
        for (row, r) in mechanism.rows().iter().enumerate() {
            let (of, coordinates): (Of, Vec<usize>) = match &r.of {
                RowOf::Coordinate { at, .. } if follows(at.v) => (Of::Sum(vec![(at.v, 1.0)]), vec![at.v]),
                RowOf::Tendon { terms, .. } => {
                    let terms: Vec<(usize, f64)> = terms.iter().map(|(at, a)| (at.v, *a)).collect();
                    let of = terms.iter().map(|term| term.0).collect();
                    (Of::Sum(terms), of)
                }
                RowOf::Turn { at, .. } => match ball_at(at.v) {
                    Some(ball) => (Of::Turn { first: at.v, ball }, (at.v..at.v + 3).collect()),
                    None => continue,
                },
                RowOf::Coordinate { .. } | RowOf::Loop { .. } => continue,
            };
            list.push(HeldRow {
                row,
                of,
                hold: f64::NAN,
                slopes: vec![[0.0; N]; coordinates.len()],
                coordinates,
                axes: [[0.0; N]; 3],
                off: [0.0; N],
                impulses: [0.0; N],
                base: [0.0; N],
                change: [0.0; N],
                next_change: [0.0; N],
            });
        }
        if list.is_empty() {
            return None;
        }
        let (m, n) = (list.len(), segments.n);
        Some(Box::new(Self {
            active: Vec::with_capacity(m),
            list,
            columns: vec![0.0; m * n],
            matrix: vec![0.0; m * m],
            newton_columns: vec![0.0; m * s * n * s],
            newton_matrix: vec![0.0; m * s * m * s],
            work: vec![0.0; m * s * m * s],
            scale: vec![0.0; m * s],
            rest: vec![0.0; (m * s).max(n * s)],
            solver: Dropping::default(),
        }))
    }

    /// Takes what is held; true if that changes anything.
    pub(crate) fn set_modes(&mut self, states: &[RowState]) -> bool {
        if states.is_empty() {
            return false;
        }
        let mut changed = false;
        self.active.clear();
        for (k, row) in self.list.iter_mut().enumerate() {
            let state = &states[row.row];
            changed |= row.hold.is_nan() == state.locked;
            row.hold = if state.locked { state.hold } else { f64::NAN };
            if state.locked {
                self.active.push(k);
            }
        }
        changed
    }

    /// True if a row of the mechanism is one of these.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.list.iter().any(|held| held.row == row)
    }

    pub(crate) fn acts(&self) -> bool {
        !self.active.is_empty()
    }

    /// Values and slopes at all nodes.
    pub(crate) fn measure(
        &mut self,
        s: usize,
        base: &[f64],
        anchors: &[Mat3],
        delta: impl Fn(usize, usize) -> f64,
    ) {
        for k in &self.active {
            let row = &mut self.list[*k];
            for node in 0..=s {
                row.off[node] = match &row.of {
                    Of::Sum(terms) => {
                        let start: f64 = terms.iter().map(|(c, a)| a * base[*c]).sum();
                        let moved: f64 = terms.iter().map(|(c, a)| a * delta(*c, node)).sum();
                        row.slopes.iter_mut().zip(terms).for_each(|(to, (_, a))| to[node] = *a);
                        start - row.hold + moved
                    }
                    Of::Turn { first, ball } => {
                        let xi = [0, 1, 2].map(|a| delta(first + a, node));
                        let (b, phi, _) = chart(xi);
                        let (angle, axis) = turn(&Quat::from_matrix(&(anchors[*ball] * phi)).to_array());
                        let along = phi * Vec3(axis);
                        let slopes = b.tr_mul(along);
                        for a in 0..3 {
                            row.axes[a][node] = along[a];
                            row.slopes[a][node] = slopes[a];
                        }
                        angle - row.hold
                    }
                };
            }
        }
    }

    /// Adds the impulses to rows and momenta after the step.
    pub(crate) fn add(
        &self,
        s: usize,
        delta: &[Lanes<f64, N>],
        rows: &mut [Lanes<f64, N>],
        carried: &mut [f64],
    ) {
        for k in &self.active {
            let row = &self.list[*k];
            match &row.of {
                Of::Sum(terms) => {
                    for (c, a) in terms {
                        for al in 0..s {
                            rows[*c].0[al] += a * row.impulses[al];
                            carried[*c] += a * row.impulses[al];
                        }
                    }
                }
                Of::Turn { first, .. } => {
                    let mut sum = Vec3::zero();
                    for al in 0..s {
                        for a in 0..3 {
                            sum[a] += row.axes[a][al] * row.impulses[al];
                            if al > 0 {
                                rows[first + a].0[al] += row.slopes[a][al] * row.impulses[al];
                            }
                        }
                    }
                    let (_, phi, _) = chart([0, 1, 2].map(|a| delta[first + a].0[s]));
                    let after = phi.tr_mul(sum);
                    for a in 0..3 {
                        rows[first + a].0[0] += sum[a];
                        carried[first + a] += after[a];
                    }
                }
            }
        }
    }

    /// `G x` at a node, by `x(coordinate)`.
    fn along(row: &HeldRow<N>, node: usize, x: impl Fn(usize) -> f64) -> f64 {
        row.coordinates.iter().zip(&row.slopes).map(|(c, slopes)| slopes[node] * x(*c)).sum()
    }

    /// Columns `M⁻¹ Gᵀ` with the slopes at the start; `solve` replaces a right-hand side by the solution.
    pub(crate) fn prepare_mass(
        &mut self,
        n: usize,
        ties: Option<&Ties<N>>,
        mut solve: impl FnMut(&mut [f64]),
    ) {
        let m = self.active.len();
        for (i, k) in self.active.iter().enumerate() {
            let row = &self.list[*k];
            let column = &mut self.columns[i * n..(i + 1) * n];
            column.fill(0.0);
            for (c, slopes) in row.coordinates.iter().zip(&row.slopes) {
                column[*c] += slopes[0];
            }
            if let Some(ties) = ties {
                ties.spread_to_leaders(column, |c| c, None);
            }
            solve(column);
        }
        for i in 0..m {
            for j in 0..m {
                let column = &self.columns[j * n..(j + 1) * n];
                self.matrix[i * m + j] = Self::along(&self.list[self.active[i]], 0, |c| column[c]);
            }
        }
    }

    /// Solves with the small matrix at hand, in place of `rest[..m]`.
    fn solve_small(&mut self, m: usize, newton: bool) {
        let matrix = if newton { &self.newton_matrix } else { &self.matrix };
        self.work[..m * m].copy_from_slice(&matrix[..m * m]);
        let largest = self.work[..m * m].iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        self.scale[..m].fill(largest);
        self.solver.solve(&mut self.work[..m * m], &mut self.rest[..m], &self.scale[..m], DROPPED);
    }

    /// Makes velocities obey the rows that are held.
    pub(crate) fn correct_velocity(&mut self, v: &mut [f64]) {
        let (m, n) = (self.active.len(), v.len());
        for i in 0..m {
            self.rest[i] = -Self::along(&self.list[self.active[i]], 0, |c| v[c]);
        }
        self.solve_small(m, false);
        for i in 0..m {
            let by = self.rest[i];
            let column = &self.columns[i * n..(i + 1) * n];
            v.iter_mut().zip(column).for_each(|(v, x)| *v += by * x);
        }
    }

    /// Makes a direction of the mass-matrix iteration obey the rows, and notes that of the impulses.
    pub(crate) fn correct_mass(&mut self, scheme: &Scheme<N>, h: f64, delta: &mut [Lanes<f64, N>]) {
        let (m, n, s) = (self.active.len(), delta.len(), scheme.s);
        self.active.iter().for_each(|k| self.list[*k].change = [0.0; N]);
        for node in 1..=s {
            for i in 0..m {
                let row = &self.list[self.active[i]];
                self.rest[i] = -row.off[node] - Self::along(row, 0, |c| delta[c].0[node]);
            }
            self.solve_small(m, false);
            for i in 0..m {
                let by = self.rest[i];
                let column = &self.columns[i * n..(i + 1) * n];
                delta.iter_mut().zip(column).for_each(|(to, x)| to.0[node] += by * x);
                let row = &mut self.list[self.active[i]];
                for al in 0..s {
                    let c: f64 =
                        (0..scheme.points).map(|g| scheme.w[g] * scheme.b[g][al] * scheme.b[g][node]).sum();
                    row.change[al] -= c * by / h;
                }
            }
        }
    }

    /// Takes the direction of the impulses that belongs to the mass-matrix iteration.
    pub(crate) fn take_mass(&mut self) {
        for k in &self.active {
            let row = &mut self.list[*k];
            (0..N).for_each(|al| row.impulses[al] += row.change[al]);
        }
    }

    /// Columns of the Newton matrix; `solve` turns a right-hand side into `−J⁻¹` times it.
    pub(crate) fn prepare_newton(
        &mut self,
        s: usize,
        ties: Option<&mut Ties<N>>,
        mut solve: impl FnMut(&[f64], &mut [f64]),
    ) {
        let m = self.active.len() * s;
        if m == 0 {
            return;
        }
        let size = self.newton_columns.len() / (self.list.len() * s);
        let mut ties = ties;
        for (i, k) in self.active.iter().enumerate() {
            for al in 0..s {
                let rest = &mut self.rest[..size];
                rest.fill(0.0);
                let row = &self.list[*k];
                for (j, c) in row.coordinates.iter().enumerate() {
                    match row.of {
                        Of::Sum(_) => rest[c * s + al] += row.slopes[j][al],
                        Of::Turn { .. } => {
                            rest[c * s] += row.axes[j][al];
                            if al > 0 {
                                rest[c * s + al] += row.slopes[j][al];
                            }
                        }
                    }
                }
                if let Some(ties) = &ties {
                    ties.spread_to_leaders(rest, |c| c * s + al, Some(al));
                }
                let column = &mut self.newton_columns[(i * s + al) * size..][..size];
                solve(rest, column);
                if let Some(ties) = &mut ties {
                    ties.correct_newton(s, column);
                }
            }
        }
        for (i, k) in self.active.iter().enumerate() {
            for node in 1..=s {
                for j in 0..m {
                    let column = &self.newton_columns[j * size..(j + 1) * size];
                    self.newton_matrix[(i * s + node - 1) * m + j] =
                        Self::along(&self.list[*k], node, |c| column[c * s + node - 1]);
                }
            }
        }
    }

    /// Makes a Newton direction obey the rows, and notes that of the impulses.
    pub(crate) fn correct_newton(&mut self, s: usize, direction: &mut [f64]) {
        let (m, size) = (self.active.len() * s, direction.len());
        for (i, k) in self.active.iter().enumerate() {
            for node in 1..=s {
                let row = &self.list[*k];
                let along = Self::along(row, node, |c| direction[c * s + node - 1]);
                self.rest[i * s + node - 1] = -row.off[node] - along;
            }
        }
        self.solve_small(m, true);
        for (i, k) in self.active.iter().enumerate() {
            for al in 0..s {
                let by = self.rest[i * s + al];
                self.list[*k].next_change[al] = by;
                let column = &self.newton_columns[(i * s + al) * size..][..size];
                direction.iter_mut().zip(column).for_each(|(to, x)| *to += by * x);
            }
        }
    }

    /// No impulses: a guess.
    pub(crate) fn begin(&mut self) {
        self.list.iter_mut().for_each(|row| row.impulses = [0.0; N]);
    }

    /// The direction last found is the one that will be taken, from here.
    pub(crate) fn commit(&mut self) {
        for k in &self.active {
            let row = &mut self.list[*k];
            (row.change, row.base) = (row.next_change, row.impulses);
        }
    }

    /// A part `t` of the way along it.
    pub(crate) fn walk(&mut self, t: f64) {
        for k in &self.active {
            let row = &mut self.list[*k];
            (0..N).for_each(|al| row.impulses[al] = row.base[al] + t * row.change[al]);
        }
    }

    /// The direction last found, on top.
    pub(crate) fn add_next(&mut self) {
        for k in &self.active {
            let row = &mut self.list[*k];
            (0..N).for_each(|al| row.impulses[al] += row.next_change[al]);
        }
    }
}
