//! [`Transcription`]: a motion problem as sums over samples of functions of the spline's control points.
//!
//! At a sample the rows are the state `x = (q, q', …)` and the values `z(x)` of the nonlinear quantities. All costs are
//! `½ ω (row − reference)²`, all limits bound a row, so that with `Z = ∂z/∂x` one formula serves every solver:
//!
//! ```text
//! H_x = Ω_x + Σ_x + Zᵀ (Ω_z + Σ_z) Z + Σ_r μ_r ∇²z_r,    μ = Ω_z (z − ref) + λ_z          (5.3)
//! H   = Σ_s B_sᵀ H_x(s) B_s                                                            (5.4)
//! ```
//!
//! with Ω the cost weights, Σ the barrier weights and λ the multipliers of limits. `H` is banded: control points
//! further apart than the degree do not meet in a sample.

use std::ops::Range;

use super::banded::Banded;
use super::boundary::{end_control_points, start_control_points};
use super::table::greville;
use super::{LimitKind, MotionProblem, OptimizeError, Quantities, Quantity, SplineTable, TermKind};
use crate::mechanism::Mechanism;

/// Control points in two parts: `high + low`, the low part being the rounding that `high` cannot hold.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlPoints {
    /// Leading part, one row of `n` per control point.
    pub high: Vec<f64>,
    /// Correction, same shape.
    pub low: Vec<f64>,
}

impl ControlPoints {
    /// Control points without a correction.
    #[must_use]
    pub fn new(high: Vec<f64>) -> Self {
        let low = vec![0.0; high.len()];
        Self { high, low }
    }
}

/// Rows of one term.
#[derive(Clone, Debug)]
pub(super) struct TermRows {
    pub(super) rows: Range<usize>,
    /// Weight of each squared row.
    pub(super) metric: Vec<f64>,
    /// Reference per row: empty (zero), one set, or one set per sample.
    pub(super) reference: Vec<f64>,
    /// Control-point reference of a regularisation term.
    pub(super) control: Option<Vec<f64>>,
}

/// A bound on a row at one sample, or on a control point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// What is bounded.
    pub kind: LimitKind,
    /// Sample, or control point for [`LimitKind::ControlPoint`].
    pub sample: usize,
    /// Coordinate.
    pub coordinate: usize,
    /// True for `value ≤ limit`, false for `value ≥ limit`.
    pub upper: bool,
    /// The limit.
    pub limit: f64,
    pub(super) row: usize,
}

impl Bound {
    /// `c ≥ 0` for a value of the row.
    #[inline(always)]
    #[must_use]
    pub fn gap(&self, value: f64) -> f64 {
        if self.upper { self.limit - value } else { value - self.limit }
    }
    /// `∂c/∂value`.
    #[inline(always)]
    #[must_use]
    pub fn sign(&self) -> f64 {
        if self.upper { -1.0 } else { 1.0 }
    }
}

/// Everything evaluated at one set of control points.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// States, `[sample][order][joint]`.
    pub x: Vec<f64>,
    /// Quantities, `[sample][row]`.
    pub z: Vec<f64>,
    /// Jacobians, `[sample][row][state entry]`.
    pub jacobian: Vec<f64>,
}

/// A linear equality on the free control points: `Σ coefficient θ = value`.
#[derive(Clone, Debug)]
pub(super) struct Equality {
    pub(super) row: Vec<f64>,
    pub(super) value: f64,
}

/// Which Hessian to assemble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HessianKind {
    /// With the curvature of the quantities.
    Exact,
    /// `Jᵀ W J` only.
    GaussNewton,
}

/// A problem made ready for the solvers.
pub struct Transcription {
    /// Number of velocity coordinates.
    pub n: usize,
    /// Spline tables at the samples.
    pub table: SplineTable,
    pub(super) terms: Vec<TermRows>,
    /// Names of the terms.
    pub names: Vec<String>,
    /// Control points that are unknowns.
    pub free: Range<usize>,
    pub(super) bounds: Vec<Bound>,
    pub(super) equalities: Vec<Equality>,
    /// Bounds on rows that no unknown moves, and that do not hold: a proof that there is no solution.
    pub(super) impossible: Vec<(Bound, f64)>,
    quantities: Box<dyn Quantities>,
    /// State entries per sample.
    pub(super) size: usize,
    /// Quantity rows per sample.
    pub(super) nz: usize,
    fixed_start: Vec<f64>,
    fixed_end: Vec<f64>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    hx: Vec<f64>,
    weighted: Vec<f64>,
    pulled: Vec<f64>,
    mu: Vec<f64>,
}

/// The list of quantities a problem needs, torque limits included.
#[must_use]
pub fn quantities_of(problem: &MotionProblem) -> Vec<Quantity> {
    let mut list: Vec<Quantity> =
        problem.terms.iter().flat_map(|t| t.quantities().into_iter().map(|(q, _)| q)).collect();
    for limit in &problem.limits {
        if let Some(order) = limit.kind.torque_order()
            && !list.contains(&Quantity::Torque { order })
        {
            list.push(Quantity::Torque { order });
        }
    }
    list
}

impl Transcription {
    /// Compiles a problem, with an evaluator for [`quantities_of`] it.
    ///
    /// # Errors
    /// What [`MotionProblem::validate`] finds.
    pub fn new(
        mechanism: &Mechanism,
        problem: &MotionProblem,
        quantities: Box<dyn Quantities>,
    ) -> Result<Self, OptimizeError> {
        problem.validate(mechanism)?;
        let n = mechanism.nv();
        let orders = problem.orders();
        let (n_control, degree, duration) = (problem.n_control, problem.degree, problem.duration);
        let table = SplineTable::new(n_control, degree, duration, orders, problem.sampling)?;
        let size = orders * n;
        let (terms, torque_rows, nz) = term_rows(problem, n, size, table.len())?;
        let (first, last) = (problem.start.derivatives.len(), problem.end.derivatives.len());
        let mut this = Self {
            n,
            terms,
            names: problem.terms.iter().map(|t| t.name.clone()).collect(),
            free: first..n_control - last,
            bounds: Vec::new(),
            equalities: Vec::new(),
            impossible: Vec::new(),
            quantities,
            size,
            nz,
            fixed_start: start_control_points(&problem.start.derivatives, n_control, degree, duration),
            fixed_end: end_control_points(&problem.end.derivatives, n_control, degree, duration),
            scratch: Scratch::default(),
            table,
        };
        debug_assert_eq!(this.quantities.rows(), nz);
        this.collect_bounds(problem, &torque_rows, first, last);
        this.collect_equalities(problem)?;
        Ok(this)
    }

    /// One bound per sample, coordinate and side; those on rows that nothing can move are checked at once.
    fn collect_bounds(
        &mut self,
        problem: &MotionProblem,
        torque_rows: &[(usize, usize)],
        first: usize,
        last: usize,
    ) {
        let n = self.n;
        let start = self.initial_control_points();
        let mut point = Point::default();
        self.evaluate(&start, &mut point);
        let end_time = problem.duration;
        for limit in &problem.limits {
            let base = match (limit.kind.derivative(), limit.kind.torque_order()) {
                (Some(d), _) => d * n,
                (_, Some(order)) => torque_rows.iter().find(|(o, _)| *o == order).map_or(0, |(_, r)| *r),
                _ => 0,
            };
            let control = limit.kind == LimitKind::ControlPoint;
            let range = if control { self.free.clone() } else { 0..self.table.len() };
            for sample in range {
                let t = if control { f64::NAN } else { self.table.times[sample] };
                let fixed = (t == 0.0 && limit.kind.highest_derivative() < first)
                    || (t == end_time && limit.kind.highest_derivative() < last);
                for coordinate in 0..n {
                    let row = base + coordinate;
                    for (upper, bound) in [(false, limit.lower[coordinate]), (true, limit.upper[coordinate])]
                    {
                        if !bound.is_finite() {
                            continue;
                        }
                        let bound = Bound { kind: limit.kind, sample, coordinate, upper, limit: bound, row };
                        if !fixed {
                            self.bounds.push(bound);
                        } else {
                            let value = self.row_value(&point, &start, &bound);
                            if bound.gap(value) < -1e-12 * bound.limit.abs().max(1.0) {
                                self.impossible.push((bound, value));
                            }
                        }
                    }
                }
            }
        }
    }

    /// Via points as rows on the free control points.
    fn collect_equalities(&mut self, problem: &MotionProblem) -> Result<(), OptimizeError> {
        if problem.via.is_empty() {
            return Ok(());
        }
        let n = self.n;
        let table = self.table.resampled(problem.via.iter().map(|v| v.t).collect())?;
        let fixed = self.initial_control_points().high;
        for (s, via) in problem.via.iter().enumerate() {
            let mut row = vec![0.0; self.unknowns()];
            let mut value = via.value;
            let mut acts = false;
            for (a, b) in table.derivative_basis(s, via.order).iter().enumerate() {
                let c = table.first[s] + a;
                if self.free.contains(&c) {
                    row[(c - self.free.start) * n + via.coordinate] = *b;
                    acts |= *b != 0.0;
                } else {
                    value -= b * fixed[c * n + via.coordinate];
                }
            }
            if !acts {
                return Err(OptimizeError::BadViaPoint { t: via.t, duration: problem.duration });
            }
            self.equalities.push(Equality { row, value });
        }
        Ok(())
    }

    /// Number of unknowns.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.free.len() * self.n
    }
    /// Half-width of the band of the Hessian.
    #[must_use]
    pub fn width(&self) -> usize {
        (self.table.degree + 1) * self.n - 1
    }
    /// The bounds that limits put on samples and control points.
    #[must_use]
    pub fn bounds(&self) -> &[Bound] {
        &self.bounds
    }
    /// Rows of a sample: state entries, then quantities.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.size + self.nz
    }

    /// Control points of the quintic profile between the boundary states, at the Greville abscissae, with the fixed
    /// control points exact.
    #[must_use]
    pub fn initial_control_points(&self) -> ControlPoints {
        let (n, nc, p) = (self.n, self.table.n_control, self.table.degree);
        let duration = self.table.knots[nc];
        let mut theta = vec![0.0; nc * n];
        let (a, b) = (&self.fixed_start[..n], &self.fixed_end[self.fixed_end.len() - n..]);
        for c in 0..nc {
            let s = greville(&self.table.knots, p, c) / duration;
            let blend = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
            for j in 0..n {
                theta[c * n + j] = a[j] + (b[j] - a[j]) * blend;
            }
        }
        let mut theta = ControlPoints::new(theta);
        self.fix_boundary(&mut theta);
        theta
    }

    /// Sets the fixed control points to their exact values.
    pub fn fix_boundary(&self, theta: &mut ControlPoints) {
        let (first, last) = (self.fixed_start.len(), self.fixed_end.len());
        let size = theta.high.len();
        theta.high[..first].copy_from_slice(&self.fixed_start);
        theta.high[size - last..].copy_from_slice(&self.fixed_end);
        theta.low[..first].fill(0.0);
        theta.low[size - last..].fill(0.0);
    }

    /// States and quantities at control points.
    pub fn evaluate(&mut self, theta: &ControlPoints, point: &mut Point) {
        let samples = self.table.len();
        point.x.clear();
        point.x.resize(samples * self.size, 0.0);
        point.z.resize(samples * self.nz, 0.0);
        self.table.add_states(&theta.high, self.n, &mut point.x);
        if theta.low.iter().any(|x| *x != 0.0) {
            self.table.add_states(&theta.low, self.n, &mut point.x);
        }
        if self.nz > 0 {
            for s in 0..samples {
                let x = &point.x[s * self.size..][..self.size];
                self.quantities.values(s, x, &mut point.z[s * self.nz..][..self.nz]);
            }
        }
    }

    /// Jacobians of the quantities at the states of `point`.
    pub fn linearize(&mut self, point: &mut Point) {
        point.jacobian.resize(self.table.len() * self.nz * self.size, 0.0);
        if self.nz == 0 {
            return;
        }
        for s in 0..self.table.len() {
            let x = &point.x[s * self.size..][..self.size];
            let z = &mut point.z[s * self.nz..][..self.nz];
            let jacobian = &mut point.jacobian[s * self.nz * self.size..][..self.nz * self.size];
            self.quantities.jacobian(s, x, z, jacobian);
        }
    }

    /// Value of a row at a sample.
    #[inline(always)]
    fn row_at(&self, point: &Point, s: usize, row: usize) -> f64 {
        if row < self.size { point.x[s * self.size + row] } else { point.z[s * self.nz + row - self.size] }
    }

    /// Value that a bound bounds.
    #[must_use]
    pub fn row_value(&self, point: &Point, theta: &ControlPoints, bound: &Bound) -> f64 {
        if bound.kind == LimitKind::ControlPoint {
            let i = bound.sample * self.n + bound.coordinate;
            theta.high[i] + theta.low[i]
        } else {
            self.row_at(point, bound.sample, bound.row)
        }
    }

    /// Unweighted costs of all terms.
    #[must_use]
    pub fn term_costs(&self, point: &Point, theta: &ControlPoints) -> Vec<f64> {
        self.terms
            .iter()
            .map(|term| {
                if let Some(reference) = &term.control {
                    let sum: f64 = (0..reference.len())
                        .map(|i| (theta.high[i] - reference[i] + theta.low[i]).powi(2))
                        .sum();
                    return 0.5 * sum / self.table.n_control as f64;
                }
                let mut cost = 0.0;
                for s in 0..self.table.len() {
                    let mut sum = 0.0;
                    for (k, row) in term.rows.clone().enumerate() {
                        let r = self.row_at(point, s, row) - term.reference_at(s, k);
                        sum += term.metric[k] * r * r;
                    }
                    cost += self.table.weights[s] * sum;
                }
                0.5 * cost
            })
            .collect()
    }

    /// Gradients of the unweighted terms with respect to the free control points. Needs the Jacobians of `point`.
    #[must_use]
    pub fn term_gradients(&self, point: &Point, theta: &ControlPoints) -> Vec<Vec<f64>> {
        let samples = self.table.len();
        self.terms
            .iter()
            .map(|term| {
                if let Some(reference) = &term.control {
                    let scale = 1.0 / self.table.n_control as f64;
                    let range = self.free.start * self.n..self.free.end * self.n;
                    return range.map(|i| scale * (theta.high[i] - reference[i] + theta.low[i])).collect();
                }
                let mut g = vec![0.0; samples * self.size];
                for s in 0..samples {
                    let gs = &mut g[s * self.size..][..self.size];
                    for (k, row) in term.rows.clone().enumerate() {
                        let r = self.row_at(point, s, row) - term.reference_at(s, k);
                        self.add_row(point, s, row, self.table.weights[s] * term.metric[k] * r, gs);
                    }
                }
                self.pull_back(&g)
            })
            .collect()
    }

    /// Gradient of `Σ factor · row` with respect to the free control points; `factors[sample][row]`.
    #[must_use]
    pub fn row_gradient(&self, point: &Point, factors: &[f64]) -> Vec<f64> {
        let (samples, rows) = (self.table.len(), self.row_count());
        let mut g = vec![0.0; samples * self.size];
        for s in 0..samples {
            let gs = &mut g[s * self.size..][..self.size];
            for row in 0..rows {
                let f = factors[s * rows + row];
                if f != 0.0 {
                    self.add_row(point, s, row, f, gs);
                }
            }
        }
        self.pull_back(&g)
    }

    /// `gs += factor ∂row/∂x`.
    #[inline(always)]
    fn add_row(&self, point: &Point, s: usize, row: usize, factor: f64, gs: &mut [f64]) {
        if row < self.size {
            gs[row] += factor;
        } else {
            let at = (s * self.nz + row - self.size) * self.size;
            for (g, j) in gs.iter_mut().zip(&point.jacobian[at..at + self.size]) {
                *g += factor * j;
            }
        }
    }

    fn pull_back(&self, g: &[f64]) -> Vec<f64> {
        let mut full = vec![0.0; self.table.n_control * self.n];
        self.table.pull_back(g, self.n, &mut full);
        full[self.free.start * self.n..self.free.end * self.n].to_vec()
    }

    /// Change of every row along a step of the free control points: `out[sample][row]`.
    pub fn row_changes(&self, point: &Point, step: &[f64], out: &mut [f64]) {
        let (samples, rows) = (self.table.len(), self.row_count());
        let mut full = vec![0.0; self.table.n_control * self.n];
        full[self.free.start * self.n..self.free.end * self.n].copy_from_slice(step);
        let mut dx = vec![0.0; samples * self.size];
        self.table.add_states(&full, self.n, &mut dx);
        for s in 0..samples {
            let dxs = &dx[s * self.size..][..self.size];
            out[s * rows..s * rows + self.size].copy_from_slice(dxs);
            for r in 0..self.nz {
                let j = &point.jacobian[(s * self.nz + r) * self.size..][..self.size];
                out[s * rows + self.size + r] = j.iter().zip(dxs).map(|(a, b)| a * b).sum();
            }
        }
    }

    /// Assembles (5.4) over the free control points and the diagonal of its Gauss–Newton part.
    ///
    /// `multipliers` and `barrier` hold λ and Σ per `[sample][row]`; empty means none.
    pub fn hessian(
        &mut self,
        weights: &[f64],
        point: &Point,
        multipliers: &[f64],
        barrier: &[f64],
        kind: HessianKind,
        out: &mut Banded,
        diagonal: &mut [f64],
    ) {
        let (samples, size, nz, rows, n) = (self.table.len(), self.size, self.nz, self.row_count(), self.n);
        out.clear();
        diagonal.fill(0.0);
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.mu.resize(nz, 0.0);
        let omega = self.row_weights(weights);
        for s in 0..samples {
            let share = self.table.weights[s];
            scratch.hx.clear();
            scratch.hx.resize(size * size, 0.0);
            let sigma = |row: usize| barrier.get(s * rows + row).copied().unwrap_or(0.0);
            for row in 0..size {
                scratch.hx[row * size + row] = share * omega[row] + sigma(row);
            }
            for r in 0..nz {
                let w = share * omega[size + r] + sigma(size + r);
                if w != 0.0 {
                    let j = &point.jacobian[(s * nz + r) * size..][..size];
                    add_outer(&mut scratch.hx, j, w);
                }
            }
            self.add_diagonal(s, &scratch.hx, diagonal);
            if kind == HessianKind::Exact && nz > 0 {
                for r in 0..nz {
                    scratch.mu[r] = multipliers.get(s * rows + size + r).copied().unwrap_or(0.0);
                }
                for (term, w) in self.terms.iter().zip(weights) {
                    if term.rows.start < size {
                        continue;
                    }
                    for (k, row) in term.rows.clone().enumerate() {
                        let r = point.z[s * nz + row - size] - term.reference_at(s, k);
                        scratch.mu[row - size] += share * w * term.metric[k] * r;
                    }
                }
                if scratch.mu.iter().any(|m| *m != 0.0) {
                    let x = &point.x[s * size..][..size];
                    self.quantities.add_hessian(s, x, &scratch.mu, &mut scratch.hx);
                }
            }
            scratch.weighted.resize(n * size, 0.0);
            self.add_sample(s, &scratch.hx, &mut scratch.weighted, &mut scratch.pulled, out);
        }
        self.scratch = scratch;
        for (term, w) in self.terms.iter().zip(weights) {
            if term.control.is_some() {
                let share = w / self.table.n_control as f64;
                for (i, d) in diagonal.iter_mut().enumerate() {
                    out.add_diagonal(i, share);
                    *d += share;
                }
            }
        }
    }

    /// Weight of each squared row under the weights of the terms.
    fn row_weights(&self, weights: &[f64]) -> Vec<f64> {
        let mut omega = vec![0.0; self.row_count()];
        for (term, w) in self.terms.iter().zip(weights) {
            for (k, row) in term.rows.clone().enumerate() {
                omega[row] += w * term.metric[k];
            }
        }
        omega
    }

    /// Diagonal of `Bᵀ H_x B`.
    fn add_diagonal(&self, s: usize, hx: &[f64], diagonal: &mut [f64]) {
        let (n, size, orders) = (self.n, self.size, self.table.orders);
        for a in 0..=self.table.degree {
            let c = self.table.first[s] + a;
            if !self.free.contains(&c) {
                continue;
            }
            let out = &mut diagonal[(c - self.free.start) * n..][..n];
            for d in 0..orders {
                let bd = self.table.derivative_basis(s, d)[a];
                for e in 0..orders {
                    let b = bd * self.table.derivative_basis(s, e)[a];
                    for j in 0..n {
                        out[j] += b * hx[(d * n + j) * size + e * n + j];
                    }
                }
            }
        }
    }

    /// Adds `B_sᵀ H_x B_s` to the band.
    fn add_sample(&self, s: usize, hx: &[f64], weighted: &mut [f64], _: &mut [f64], out: &mut Banded) {
        let (n, size, orders) = (self.n, self.size, self.table.orders);
        let (p, c0) = (self.table.degree, self.table.first[s]);
        for b in 0..=p {
            let cb = c0 + b;
            if !self.free.contains(&cb) {
                continue;
            }
            // weighted[k] = Σ_d B_d[b] H_x[d, k]: one row of `size` per joint.
            weighted.fill(0.0);
            for d in 0..orders {
                let f = self.table.derivative_basis(s, d)[b];
                if f != 0.0 {
                    for (w, h) in weighted.iter_mut().zip(&hx[d * n * size..(d + 1) * n * size]) {
                        *w += f * h;
                    }
                }
            }
            for k in 0..n {
                let row = &weighted[k * size..(k + 1) * size];
                let column = (cb - self.free.start) * n + k;
                let target = out.column_from(column, column);
                for a in b..=p {
                    if !self.free.contains(&(c0 + a)) {
                        break;
                    }
                    let from = if a == b { k } else { 0 };
                    let at = (a - b) * n + from - k;
                    let cells = &mut target[at..at + n - from];
                    for e in 0..orders {
                        let f = self.table.derivative_basis(s, e)[a];
                        for (c, r) in cells.iter_mut().zip(&row[e * n + from..(e + 1) * n]) {
                            *c += f * r;
                        }
                    }
                }
            }
        }
    }
}

/// `h += w j jᵀ`.
#[inline(always)]
fn add_outer(h: &mut [f64], j: &[f64], w: f64) {
    let size = j.len();
    for (a, ja) in j.iter().enumerate() {
        let f = w * ja;
        if f != 0.0 {
            for (h, jb) in h[a * size..(a + 1) * size].iter_mut().zip(j) {
                *h += f * jb;
            }
        }
    }
}

impl TermRows {
    /// Reference of the `k`-th row of the term at sample `s`.
    #[inline(always)]
    pub(super) fn reference_at(&self, s: usize, k: usize) -> f64 {
        let rows = self.rows.len();
        match self.reference.len() {
            0 => 0.0,
            len if len == rows => self.reference[k],
            _ => self.reference[s * rows + k],
        }
    }
}

/// Rows of all terms, first rows of torque quantities by order, and the number of quantity rows.
#[expect(clippy::type_complexity, reason = "three plain lists")]
fn term_rows(
    problem: &MotionProblem,
    n: usize,
    size: usize,
    samples: usize,
) -> Result<(Vec<TermRows>, Vec<(usize, usize)>, usize), OptimizeError> {
    let mut terms = Vec::new();
    let mut torques = Vec::new();
    let mut nz = 0;
    for term in &problem.terms {
        let quantities = term.quantities();
        let (mut reference, mut control) = (Vec::new(), None);
        let rows = match &term.kind {
            TermKind::Joint { order } => order * n..(order + 1) * n,
            TermKind::Regularisation { reference } => {
                let expected = problem.n_control * n;
                if reference.len() != expected {
                    return Err(OptimizeError::WrongLength {
                        name: "regularisation reference",
                        expected,
                        found: reference.len(),
                    });
                }
                control = Some(reference.clone());
                0..0
            }
            _ => {
                let start = size + nz;
                for (quantity, refs) in &quantities {
                    if let Quantity::Torque { order } = quantity {
                        torques.push((*order, size + nz));
                    }
                    nz += quantity.rows(n);
                    if !(refs.len() <= 1 || refs.len() == samples) {
                        return Err(OptimizeError::WrongLength {
                            name: "tracking reference",
                            expected: samples,
                            found: refs.len(),
                        });
                    }
                    reference.extend(refs.iter().flat_map(|r| r.0));
                }
                start..size + nz
            }
        };
        if let TermKind::OrientationTracking { reference, .. } = &term.kind
            && !(reference.len() == 1 || reference.len() == samples)
        {
            return Err(OptimizeError::WrongLength {
                name: "orientation reference",
                expected: samples,
                found: reference.len(),
            });
        }
        let metric = if term.metric.is_empty() { vec![1.0; rows.len()] } else { term.metric.clone() };
        if metric.len() != rows.len() || metric.iter().any(|m| !(*m >= 0.0 && m.is_finite())) {
            return Err(OptimizeError::WrongLength {
                name: "metric",
                expected: rows.len(),
                found: metric.len(),
            });
        }
        terms.push(TermRows { rows, metric, reference, control });
    }
    for limit in &problem.limits {
        if let Some(order) = limit.kind.torque_order()
            && !torques.iter().any(|(o, _)| *o == order)
        {
            torques.push((order, size + nz));
            nz += n;
        }
    }
    Ok((terms, torques, nz))
}
