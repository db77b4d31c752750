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

use super::boundary::{end_control_points, start_control_points};
use super::pace::Pace;
use super::rows::{Equality, TermRows, term_rows};
use super::task::{TaskMode, TaskRows};
use super::{Bound, LimitKind, MotionChart, MotionProblem, OptimizeError, Quantity, SplineTable, When};
use crate::jet::{Quantities, Samples};
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
    pub(super) quantities: Box<dyn Quantities>,
    pub(super) tasks: Vec<TaskRows>,
    /// Factor of what constraints add to the cost.
    pub(super) task_scale: f64,
    /// How constraints enter costs and curvature.
    pub(super) task_mode: TaskMode,
    /// Control points that the motion is drawn to, and how strongly: a help of searches, not a cost.
    pub(super) anchor: Option<(Vec<f64>, f64)>,
    /// The duration, while it is an unknown.
    pub(super) pace: Option<Pace>,
    /// How the spline's coordinates become a motion.
    pub chart: MotionChart,
    /// State entries per sample.
    pub(super) size: usize,
    /// Quantity rows per sample.
    pub(super) nz: usize,
    /// True if neither ends nor via points have velocities: then no control point depends on the duration.
    pub(super) rests_at_ends: bool,
    fixed_start: Vec<f64>,
    fixed_end: Vec<f64>,
    pub(super) scratch: Scratch,
}

/// Memory of the Hessian's assembly.
#[derive(Default)]
pub(super) struct Scratch {
    pub(super) hx: Vec<f64>,
    /// `H_x` by blocks of two orders, then what is left of them when one side, or both, are pulled back.
    pub(super) blocks: Vec<f64>,
    pub(super) weighted: Vec<f64>,
    pub(super) block: Vec<f64>,
    pub(super) mu: Vec<f64>,
    /// With a free duration: what it adds to the matrix, beside and below the band.
    pub(super) border: Vec<f64>,
    pub(super) corner: f64,
}

impl Transcription {
    /// Compiles a problem, with an evaluator for [`quantities_of`](super::quantities_of) it.
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
        let table = problem.table(orders)?;
        let size = orders * n;
        let chart = problem.chart(mechanism);
        let (terms, places, nz) = term_rows(problem, &chart, n, size, &table.times)?;
        let (start, end) = (
            chart.boundary(0.0, &problem.start.derivatives),
            chart.boundary(duration, &problem.end.derivatives),
        );
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
            tasks: Vec::new(),
            task_scale: 1.0,
            task_mode: TaskMode::Penalty,
            anchor: None,
            pace: None,
            size,
            nz,
            rests_at_ends: problem.rests_at_ends(),
            fixed_start: start_control_points(&start, n_control, degree, duration),
            fixed_end: end_control_points(&end, n_control, degree, duration),
            scratch: Scratch::default(),
            chart,
            table,
        };
        debug_assert_eq!(this.quantities.rows(), nz);
        this.collect_bounds(problem, &places, first, last);
        this.collect_equalities(problem)?;
        this.collect_tasks(problem);
        Ok(this)
    }

    /// One bound per sample, coordinate and side; those on rows that nothing can move are checked at once.
    fn collect_bounds(
        &mut self,
        problem: &MotionProblem,
        places: &[(Quantity, usize)],
        first: usize,
        last: usize,
    ) {
        let n = self.n;
        let start = self.initial_control_points();
        let mut point = Point::default();
        self.evaluate(&start, &mut point);
        let end_time = problem.duration;
        for limit in &problem.limits {
            let base = match (limit.kind.quantity(&self.chart), limit.kind.derivative()) {
                (Some(quantity), _) => places.iter().find(|(q, _)| *q == quantity).map_or(0, |(_, r)| *r),
                (None, Some(d)) => d * n,
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

    /// Constraints at the samples they are for.
    fn collect_tasks(&mut self, problem: &MotionProblem) {
        let first = self.size + self.nz - 3 * problem.tasks.len();
        let slack = 1e-12 * problem.duration;
        self.tasks = problem
            .tasks
            .iter()
            .enumerate()
            .map(|(i, task)| {
                let own = problem.times_of(task);
                let holds = |t: f64| match task.when {
                    When::During(from, to) if !task.is_equality() => (from - slack..=to + slack).contains(&t),
                    _ => own.contains(&t),
                };
                let samples = (0..self.table.len()).filter(|s| holds(self.table.times[*s])).collect();
                TaskRows::new(task, first + 3 * i..first + 3 * i + 3, samples)
            })
            .collect();
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
    /// Rows of the quantities of a sample.
    #[must_use]
    pub fn quantity_rows(&self) -> usize {
        self.nz
    }
    /// Rows of the residual of a term at a sample.
    #[must_use]
    pub fn term_row_count(&self, term: usize) -> usize {
        self.terms[term].rows.len()
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
        let a = &self.fixed_start[..n];
        // Without an end the motion begins with staying where it is.
        let b = if self.fixed_end.is_empty() { a } else { &self.fixed_end[self.fixed_end.len() - n..] };
        for c in 0..nc {
            let s = self.table.knots[c + 1..=c + p].iter().sum::<f64>() / p as f64 / duration;
            let blend = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
            for j in 0..n {
                theta[c * n + j] = a[j] + (b[j] - a[j]) * blend;
            }
        }
        let mut theta = ControlPoints::new(theta);
        self.fix_boundary(&mut theta);
        theta
    }

    /// The [initial control points](Self::initial_control_points) of a problem, without its costs and limits.
    ///
    /// # Errors
    /// What [`MotionProblem::validate`] finds.
    pub fn profile(mechanism: &Mechanism, problem: &MotionProblem) -> Result<ControlPoints, OptimizeError> {
        let bare = MotionProblem {
            terms: vec![super::Term::new("velocity", Quantity::joint(1), 1.0)],
            limits: Vec::new(),
            via: Vec::new(),
            tasks: Vec::new(),
            end: if problem.end.derivatives.is_empty() { problem.start.clone() } else { problem.end.clone() },
            ..problem.clone()
        };
        Ok(Self::with_jets(mechanism, &bare)?.initial_control_points())
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
            let all = Samples { first: 0, times: &self.table.times, x: &point.x };
            self.quantities.values(all, &mut point.z);
        }
    }

    /// Jacobians of the quantities at the states of `point`.
    pub fn linearize(&mut self, point: &mut Point) {
        point.jacobian.resize(self.table.len() * self.nz * self.size, 0.0);
        if self.nz > 0 {
            let all = Samples { first: 0, times: &self.table.times, x: &point.x };
            self.quantities.jacobians(all, &mut point.jacobian);
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

    /// What an anchor adds to the cost: `½ κ |θ − a|²`.
    pub(super) fn anchor_cost(&self, theta: &ControlPoints) -> f64 {
        let Some((a, strength)) = &self.anchor else { return 0.0 };
        0.5 * strength * theta.high.iter().zip(a).map(|(x, a)| (x - a).powi(2)).sum::<f64>()
    }

    /// Its gradient, added to one on the free control points.
    pub(super) fn add_anchor_gradient(&self, theta: &ControlPoints, gradient: &mut [f64]) {
        let Some((a, strength)) = &self.anchor else { return };
        let at = self.free.start * self.n;
        for (g, (x, a)) in gradient.iter_mut().zip(theta.high[at..].iter().zip(&a[at..])) {
            *g += strength * (x - a);
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
                for s in term.samples.clone() {
                    let mut sum = 0.0;
                    let residual =
                        |k: usize| self.row_at(point, s, term.rows.start + k) - term.reference_at(s, k);
                    for k in 0..term.rows.len() {
                        sum += residual(k) * term.weighted(k, residual);
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
        self.terms
            .iter()
            .map(|term| {
                if let Some(reference) = &term.control {
                    let scale = 1.0 / self.table.n_control as f64;
                    let range = self.free.start * self.n..self.free.end * self.n;
                    return range.map(|i| scale * (theta.high[i] - reference[i] + theta.low[i])).collect();
                }
                self.pull_back(&self.sample_gradients(term, point))
            })
            .collect()
    }

    /// Gradient of a term with respect to the states of all samples.
    pub(super) fn sample_gradients(&self, term: &TermRows, point: &Point) -> Vec<f64> {
        let mut g = vec![0.0; self.table.len() * self.size];
        for s in term.samples.clone() {
            let gs = &mut g[s * self.size..][..self.size];
            let residual = |k: usize| self.row_at(point, s, term.rows.start + k) - term.reference_at(s, k);
            for (k, row) in term.rows.clone().enumerate() {
                self.add_row(point, s, row, self.table.weights[s] * term.weighted(k, residual), gs);
            }
        }
        g
    }

    /// Largest entry that the gradient of a term would have if nothing cancelled between samples.
    pub(super) fn gradient_size(&self, term: usize, point: &Point, theta: &ControlPoints) -> f64 {
        let (term, range) = (&self.terms[term], self.free.start * self.n..self.free.end * self.n);
        let sizes = match &term.control {
            Some(reference) => theta
                .high
                .iter()
                .zip(reference)
                .map(|(x, r)| (x.abs() + r.abs()) / self.table.n_control as f64)
                .collect(),
            None => self.table.pull_back_sizes(&self.sample_gradients(term, point), self.n),
        };
        sizes[range].iter().fold(0.0f64, |m, x| m.max(*x))
    }

    /// Gradient of `Σ factor · row` with respect to the free control points; `factors[sample][row]`.
    #[must_use]
    pub fn row_gradient(&self, point: &Point, factors: &[f64]) -> Vec<f64> {
        self.pull_back(&self.row_sample_gradients(point, factors))
    }

    /// Gradient of `Σ factor · row` with respect to the states of all samples.
    pub(super) fn row_sample_gradients(&self, point: &Point, factors: &[f64]) -> Vec<f64> {
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
        g
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

    pub(super) fn pull_back(&self, g: &[f64]) -> Vec<f64> {
        let mut full = vec![0.0; self.table.n_control * self.n];
        self.table.pull_back(g, self.n, &mut full);
        full[self.free.start * self.n..self.free.end * self.n].to_vec()
    }

    /// Change of every row along a step of the free control points, and of the duration where that is free:
    /// `out[sample][row]`.
    pub fn row_changes(&self, point: &Point, step: &[f64], out: &mut [f64]) {
        let (samples, rows) = (self.table.len(), self.row_count());
        let mut full = vec![0.0; self.table.n_control * self.n];
        full[self.free.start * self.n..self.free.end * self.n].copy_from_slice(&step[..self.unknowns()]);
        let mut dx = vec![0.0; samples * self.size];
        self.table.add_states(&full, self.n, &mut dx);
        if let (Some(_), Some(tau)) = (&self.pace, step.get(self.unknowns())) {
            self.add_pace(point, *tau, &mut dx);
        }
        for s in 0..samples {
            let dxs = &dx[s * self.size..][..self.size];
            out[s * rows..s * rows + self.size].copy_from_slice(dxs);
            for r in 0..self.nz {
                let j = &point.jacobian[(s * self.nz + r) * self.size..][..self.size];
                out[s * rows + self.size + r] = j.iter().zip(dxs).map(|(a, b)| a * b).sum();
            }
        }
    }
}
