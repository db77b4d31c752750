//! Primal–dual interior point on the band: filter line search, second-order correction, feasibility restoration.
//!
//! Limits are `c(θ) − s = 0, s > 0` with multipliers `z`; every limit belongs to one sample, so that the condensed system
//!
//! ```text
//! (H_L + Jᵀ Σ J) dθ = −∇f + Jᵀ (μ/s − Σ (c − s)),      Σ = z/s                            (5.5)
//! ds = J dθ + c − s,     dz = μ/s − z − Σ ds
//! ```
//!
//! has the band of the plain problem. `H_L` includes the curvature of torque limits. The line search follows Wächter and
//! Biegler (2006): a step must improve the barrier function or the infeasibility against a filter of earlier pairs.
//! Costs are divided by their value at the start and limits by their size, so that all tolerances are relative. Constraints on
//! frames join in: gaps as limits do, goals `e(θ) = 0` as equalities with multipliers ν; and a free duration is one more unknown.

use super::HessianKind;
use super::gaps::{all_gaps, bound_scale, condensed, gap_changes, gap_transpose, gaps};
use super::kkt::Kkt;
use super::newton::{moved, objective, slope};
use super::restoration::{self, Restored};
use super::rows::Equality;
use super::status::{Progress, SolveStatus, Wish};
use super::task::TaskMode;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, cholesky, cholesky_solve, dot, largest};
use crate::scalar::elementary;

/// Options of the constrained solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InteriorPointOptions {
    /// Relative tolerance of all optimality conditions.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: usize,
    /// First barrier parameter, relative to the objective.
    pub barrier: f64,
}

impl Default for InteriorPointOptions {
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 300, barrier: 1e-2 }
    }
}

/// Where the iteration ended.
pub(super) struct InteriorPointReport {
    pub(super) status: SolveStatus,
    pub(super) iterations: usize,
    pub(super) history: Vec<Progress>,
    /// Multipliers of all bounds, unscaled.
    pub(super) multipliers: Vec<f64>,
    /// Gaps of all bounds relative to their size.
    pub(super) slacks: Vec<f64>,
    /// Relative gradient of the Lagrangian at the end.
    pub(super) kkt: f64,
    /// The bound that is violated most, if infeasible.
    pub(super) obstacle: Option<usize>,
    /// What a search nearby can go on from.
    pub(super) duals: Duals,
}

/// Slacks and multipliers of all bounds, gaps and goals, as the iteration scales them.
#[derive(Clone, Default)]
pub(super) struct Duals {
    s: Vec<f64>,
    z: Vec<f64>,
    nu: Vec<f64>,
    value_scale: f64,
}

impl Duals {
    /// Slacks and multipliers near the central path of `mu` for gaps `c` that have changed by little: what acts keeps its multiplier, and
    /// what does not its room.
    fn resumed(&self, c: &[f64], mu: f64, least: f64, value_scale: f64) -> (Vec<f64>, Vec<f64>) {
        let factor = self.value_scale / value_scale;
        let each = c.iter().zip(&self.s).zip(&self.z).map(|((c, s), z)| {
            let z = factor * z;
            let s = if z > *s { c.max(mu / z) } else { c.max(least) };
            (s, if z > s { z } else { mu / s })
        });
        each.unzip()
    }
}

impl InteriorPointReport {
    pub(super) fn is_solved(&self) -> bool {
        matches!(self.status, SolveStatus::Solved | SolveStatus::AlmostSolved)
    }

    /// Takes the outcome of a search that went on from here; iterations and history are those of both.
    pub(super) fn followed_by(&mut self, next: Self) {
        let (iterations, mut history) = (self.iterations, std::mem::take(&mut self.history));
        *self = next;
        self.iterations += iterations;
        history.append(&mut self.history);
        self.history = history;
    }
}

struct State {
    theta: ControlPoints,
    point: Point,
    s: Vec<f64>,
    z: Vec<f64>,
    c: Vec<f64>,
    /// Residuals of goals.
    e: Vec<f64>,
    f: f64,
    duration: f64,
}

struct Solver<'a> {
    tr: &'a mut Transcription,
    weights: Vec<f64>,
    options: &'a InteriorPointOptions,
    at: State,
    mu: f64,
    filter: Vec<(f64, f64)>,
    largest_infeasibility: f64,
    hessian: Banded,
    diagonal: Vec<f64>,
    kkt: Kkt,
    shift: f64,
    iteration: usize,
    history: Vec<Progress>,
    value_scale: f64,
    /// Via points and goals, linearised.
    rows: Vec<Equality>,
    nu: Vec<f64>,
    kkt_residual: f64,
}

/// Minimises from `theta` under the limits of the problem.
pub(super) fn solve(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &mut ControlPoints,
    options: &InteriorPointOptions,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> InteriorPointReport {
    resume(tr, weights, theta, options, None, observe)
}

/// As [`solve`], going on from the multipliers of a problem nearby.
pub(super) fn resume(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &mut ControlPoints,
    options: &InteriorPointOptions,
    duals: Option<&Duals>,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> InteriorPointReport {
    theta.low.fill(0.0);
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    let value_scale = (objective(tr, weights, &point, theta) + tr.time_cost()).abs().max(f64::MIN_POSITIVE);
    let weights: Vec<f64> = weights.iter().map(|w| w / value_scale).collect();
    tr.task_scale = 1.0 / value_scale;
    if let Some(pace) = &mut tr.pace {
        pace.weight /= value_scale;
    }
    let directly = tr.task_mode == TaskMode::Loads;
    let c = if directly { all_gaps(tr, &point, theta) } else { gaps(tr, &point, theta) };
    let e = if directly { tr.goal_residuals(&point) } else { Vec::new() };
    let (size, width) = (tr.unknowns(), tr.width());
    let f = objective(tr, &weights, &point, theta) + tr.time_cost();
    let mu = options.barrier;
    // A low barrier is for starts near a solution: what acts there has next to no room.
    let least = (1e2 * mu).min(1e-2);
    let (s, z, nu) = match duals.filter(|duals| duals.z.len() == c.len()) {
        Some(duals) => {
            let (s, z) = duals.resumed(&c, mu, least, value_scale);
            (s, z, duals.nu.iter().map(|nu| nu * duals.value_scale / value_scale).collect())
        }
        None => {
            let s: Vec<f64> = c.iter().map(|c| c.max(least)).collect();
            let z = s.iter().map(|s| mu / s).collect();
            (s, z, Vec::new())
        }
    };
    let mut solver = Solver {
        weights,
        options,
        at: State { theta: theta.clone(), point, s, z, c, e, f, duration: tr.duration() },
        mu,
        filter: Vec::new(),
        largest_infeasibility: 0.0,
        hessian: Banded::new(size, width),
        diagonal: vec![0.0; size],
        kkt: Kkt::new(size, width),
        shift: 0.0,
        iteration: 0,
        history: Vec::new(),
        value_scale,
        rows: Vec::new(),
        nu,
        kkt_residual: f64::INFINITY,
        tr,
    };
    solver.largest_infeasibility = 1e4 * solver.at.infeasibility().max(1.0);
    let (status, obstacle) = solver.run(observe);
    solver.tr.task_scale = 1.0;
    solver.tr.set_duration(solver.at.duration);
    if let Some(pace) = &mut solver.tr.pace {
        pace.weight *= value_scale;
    }
    let bounds = solver.tr.bounds.len();
    if directly {
        let via = solver.tr.equalities.len();
        let (z, s) = (&solver.at.z[bounds..], &solver.at.s[bounds..]);
        solver.tr.keep_multipliers(&solver.nu[via..], z, s, value_scale);
    }
    *theta = solver.at.theta;
    let multipliers = solver
        .tr
        .bounds
        .iter()
        .zip(&solver.at.z)
        .map(|(b, z)| z * solver.value_scale / bound_scale(b))
        .collect();
    InteriorPointReport {
        status,
        iterations: solver.iteration,
        history: solver.history,
        multipliers,
        slacks: solver.at.s[..bounds].to_vec(),
        kkt: solver.kkt_residual,
        obstacle,
        duals: Duals { s: solver.at.s, z: solver.at.z, nu: solver.nu, value_scale },
    }
}

impl State {
    fn infeasibility(&self) -> f64 {
        let goals: f64 = self.e.iter().map(|e| e.abs()).sum();
        goals + self.c.iter().zip(&self.s).map(|(c, s)| (c - s).abs()).sum::<f64>()
    }
    fn barrier(&self, mu: f64) -> f64 {
        self.f - mu * self.s.iter().map(|s| elementary::ln(*s)).sum::<f64>()
    }
}

impl Solver<'_> {
    fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> Wish) -> (SolveStatus, Option<usize>) {
        let mut step = 0.0;
        let mut restorations = 0;
        loop {
            self.tr.set_duration(self.at.duration);
            self.tr.linearize(&mut self.at.point);
            self.linearize_goals();
            let mut slope = slope(self.tr, &self.weights, &self.at.point, &self.at.theta);
            slope.gradient.extend(self.tr.pace_gradient(&self.weights, &self.at.point));
            let jz = gap_transpose(self.tr, &self.at.point, &self.at.z);
            let mut dual: Vec<f64> = slope.gradient.iter().zip(&jz).map(|(g, j)| g - j).collect();
            let unknowns = self.tr.unknowns();
            let nu = self.remove_equalities(&mut dual[..unknowns]);
            if self.nu.len() != nu.len() {
                self.nu = nu;
            }
            // What cancels between costs and constraints is their scale as well; the duration's push is part of the cost.
            let scale = slope.scale.max(if self.directly() { largest(&jz[..unknowns]) } else { 0.0 });
            let of_duration = dual.get(unknowns).map_or(0.0, |x| x.abs() / self.at.f.abs());
            let dual_error = (largest(&dual[..unknowns]) / scale).max(of_duration);
            self.kkt_residual = dual_error;
            let primal = self.at.c.iter().zip(&self.at.s).map(|(c, s)| (c - s).abs()).fold(0.0, f64::max);
            let primal = primal.max(largest(&self.at.e));
            let error = |mu: f64| {
                let complement =
                    self.at.s.iter().zip(&self.at.z).map(|(s, z)| (s * z - mu).abs()).fold(0.0, f64::max);
                dual_error.max(primal).max(complement)
            };
            let progress = Progress {
                iteration: self.iteration,
                objective: self.at.f * self.value_scale,
                kkt: dual_error,
                violation: self.at.c.iter().fold(largest(&self.at.e), |m: f64, c| m.max(-c)),
                step,
            };
            self.history.push(progress);
            if observe(&progress) == Wish::Stop {
                return (SolveStatus::Interrupted, None);
            }
            let total = error(0.0);
            if total <= self.options.tolerance {
                return (SolveStatus::Solved, None);
            }
            if self.iteration >= self.options.max_iterations {
                return (self.give_up(total), None);
            }
            let end = 0.1 * self.options.tolerance;
            while self.mu > end && error(self.mu) <= 10.0 * self.mu {
                self.mu = end.max((0.2 * self.mu).min(elementary::powf(self.mu, 1.5)));
                self.filter.clear();
            }
            self.iteration += 1;
            match self.advance(&slope.gradient) {
                Some(length) => step = length,
                None => {
                    restorations += 1;
                    let outcome = if restorations > 20 { None } else { self.restore() };
                    match outcome {
                        Some(Restored::Feasible) => step = f64::NAN,
                        Some(Restored::Stuck { bound }) => {
                            return (SolveStatus::Infeasible, bound.filter(|b| *b < self.tr.bounds.len()));
                        }
                        None => return (self.give_up(total), None),
                    }
                }
            }
        }
    }

    fn give_up(&self, error: f64) -> SolveStatus {
        if error <= 1e3 * self.options.tolerance {
            SolveStatus::AlmostSolved
        } else {
            SolveStatus::MaxIterations
        }
    }

    /// True if constraints on frames are part of the iteration.
    fn directly(&self) -> bool {
        self.tr.task_mode == TaskMode::Loads
    }

    /// Via points and goals as rows at the current point.
    fn linearize_goals(&mut self) {
        self.rows.truncate(self.tr.equalities.len());
        if self.rows.is_empty() {
            self.rows.clone_from(&self.tr.equalities);
        }
        if self.directly() {
            self.rows.extend(self.tr.goal_rows(&self.at.point));
        }
    }

    /// Takes the part out of a gradient that multipliers of the via points and goals explain (least squares); the multipliers.
    fn remove_equalities(&self, g: &mut [f64]) -> Vec<f64> {
        let e = &self.rows;
        let m = e.len();
        if m == 0 {
            return Vec::new();
        }
        let mut gram = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..=i {
                gram[i * m + j] = dot(&e[i].row, &e[j].row);
            }
        }
        // Goals that repeat each other leave the multipliers open; a hair decides.
        (0..m).for_each(|i| gram[i * m + i] *= 1.0 + 1e-14);
        if cholesky(&mut gram, m).is_err() {
            return vec![0.0; m];
        }
        let mut all = vec![0.0; m];
        // Twice: the second pass removes the rounding of the first.
        for _ in 0..2 {
            let mut nu: Vec<f64> = e.iter().map(|e| dot(&e.row, g)).collect();
            cholesky_solve(&gram, m, &mut nu, 1);
            for ((e, nu), all) in e.iter().zip(&nu).zip(&mut all) {
                g.iter_mut().zip(&e.row).for_each(|(g, r)| *g -= nu * r);
                *all -= nu;
            }
        }
        all
    }

    /// Factors the condensed matrix, shifted until it is positive definite.
    fn factor(&mut self) -> bool {
        let sigma: Vec<f64> = self.at.z.iter().zip(&self.at.s).map(|(z, s)| z / s).collect();
        if self.directly() {
            let (bounds, via) = (self.tr.bounds.len(), self.tr.equalities.len());
            self.tr.set_loads(&self.at.point, &self.nu[via..], 0.0, &self.at.z[bounds..], &sigma[bounds..]);
        }
        condensed(
            self.tr,
            &self.weights,
            &self.at.point,
            &self.at.z,
            &sigma,
            HessianKind::Exact,
            &mut self.hessian,
            &mut self.diagonal,
        );
        // The curvature that the costs alone give is what shifts are measured in; barrier weights can be huge.
        let mut shift = 0.0;
        loop {
            let diagonal = &self.diagonal;
            let shifted = |i: usize| shift * diagonal[i].max(f64::MIN_POSITIVE);
            let factored = if self.tr.pace.is_some() {
                let (border, corner) = (&self.tr.scratch.border, self.tr.scratch.corner);
                let corner = corner + shift * corner.abs().max(1.0);
                self.kkt.factor_bordered(&self.hessian, shifted, &self.rows, border, corner)
            } else {
                self.kkt.factor(&self.hessian, shifted, &self.rows)
            };
            if factored.is_ok() {
                if shift > 0.0 {
                    self.shift = shift;
                }
                return true;
            }
            shift = if shift == 0.0 { (self.shift / 3.0).max(1e-8) } else { shift * 8.0 };
            if shift > 1e10 {
                return false;
            }
        }
    }

    /// Step for the residuals `r` of `c − s` and `e` of goals: `(dθ, ds, ν)`.
    fn direction(&self, gradient: &[f64], r: &[f64], e: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let at = &self.at;
        let y: Vec<f64> = (0..r.len()).map(|i| (self.mu - at.z[i] * r[i]) / at.s[i]).collect();
        let jy = gap_transpose(self.tr, &at.point, &y);
        let mut d: Vec<f64> = jy.iter().zip(gradient).map(|(j, g)| j - g).collect();
        let mut missing = vec![0.0; self.tr.equalities.len()];
        missing.extend(e.iter().map(|e| -e));
        let nu = self.kkt.solve_bordered(&mut d, &missing, &self.rows);
        let ds = gap_changes(self.tr, &at.point, &d).iter().zip(r).map(|(j, r)| j + r).collect();
        (d, ds, nu)
    }

    /// Longest step that keeps a fraction of every positive variable.
    fn to_boundary(&self, x: &[f64], dx: &[f64]) -> f64 {
        let keep = (1.0 - self.mu).max(0.995);
        x.iter().zip(dx).fold(1.0, |a: f64, (x, d)| if *d < 0.0 { a.min(-keep * x / d) } else { a })
    }

    /// The state after a step; slacks below the gap are raised to it, which lowers both measures.
    fn trial(&mut self, d: &[f64], ds: &[f64], alpha: f64) -> State {
        let unknowns = self.tr.unknowns();
        let theta = moved(self.tr, &self.at.theta, &d[..unknowns], alpha);
        let duration =
            d.get(unknowns).map_or(self.at.duration, |tau| self.at.duration * elementary::exp(alpha * tau));
        self.tr.set_duration(duration);
        let mut point = Point::default();
        self.tr.evaluate(&theta, &mut point);
        let (c, e) = self.constraints(&point, &theta);
        let s = (0..c.len()).map(|i| (self.at.s[i] + alpha * ds[i]).max(c[i])).collect();
        let f = objective(self.tr, &self.weights, &point, &theta) + self.tr.time_cost();
        // Derivatives belong to where the step began.
        self.tr.set_duration(self.at.duration);
        State { theta, point, s, z: Vec::new(), c, e, f, duration }
    }

    /// Gaps and residuals of goals.
    fn constraints(&self, point: &Point, theta: &ControlPoints) -> (Vec<f64>, Vec<f64>) {
        if self.directly() {
            (all_gaps(self.tr, point, theta), self.tr.goal_residuals(point))
        } else {
            (gaps(self.tr, point, theta), Vec::new())
        }
    }

    fn in_filter(&self, h: f64, phi: f64) -> bool {
        !(h < self.largest_infeasibility && phi.is_finite())
            || self.filter.iter().any(|(fh, fp)| h >= (1.0 - 1e-5) * fh && phi >= fp - 1e-5 * fh)
    }

    /// One iteration; the length of the step, or `None` if no step is acceptable.
    fn advance(&mut self, gradient: &[f64]) -> Option<f64> {
        if !self.factor() {
            return None;
        }
        let r: Vec<f64> = self.at.c.iter().zip(&self.at.s).map(|(c, s)| c - s).collect();
        let e = self.at.e.clone();
        let (d, ds, nu) = self.direction(gradient, &r, &e);
        let dz: Vec<f64> =
            (0..ds.len()).map(|i| (self.mu - self.at.z[i] * ds[i]) / self.at.s[i] - self.at.z[i]).collect();
        // A motion changes its duration by a factor of two at most.
        let tau = d.get(self.tr.unknowns()).map_or(0.0, |tau| tau.abs());
        let alpha_max = self.to_boundary(&self.at.s, &ds).min(0.7 / tau.max(0.7));
        let alpha_z = self.to_boundary(&self.at.z, &dz);
        let (h, phi) = (self.at.infeasibility(), self.at.barrier(self.mu));
        let slope = dot(gradient, &d) - self.mu * ds.iter().zip(&self.at.s).map(|(d, s)| d / s).sum::<f64>();
        let h_small = 1e-4 * (self.largest_infeasibility * 1e-4);
        // Near a solution values are noise: a relative allowance, as in the reference.
        let noise = 1e-14 * phi.abs().max(1.0);
        let mut alpha = alpha_max;
        let mut first = true;
        while alpha > 1e-9 * alpha_max.min(1.0) {
            let mut candidates = vec![(self.trial(&d, &ds, alpha), alpha)];
            if first && !self.acceptable(&candidates[0].0, alpha, h, phi, slope, h_small, noise) {
                candidates.extend(self.corrections(gradient, &r, &e, &candidates[0].0, alpha, h));
            }
            first = false;
            for (trial, used) in candidates {
                if !self.acceptable(&trial, used, h, phi, slope, h_small, noise) {
                    continue;
                }
                let armijo = slope < 0.0 && trial.barrier(self.mu) <= phi + 1e-4 * used * slope + noise;
                let switching =
                    slope < 0.0 && used * elementary::powf(-slope, 2.3) > elementary::powf(h, 1.1);
                if !(armijo && switching) {
                    self.filter.push(((1.0 - 1e-5) * h, phi - 1e-5 * h));
                }
                let length = used * largest(&d);
                let mut z: Vec<f64> = self.at.z.iter().zip(&dz).map(|(z, d)| z + alpha_z * d).collect();
                for (z, s) in z.iter_mut().zip(&trial.s) {
                    *z = z.clamp(self.mu / (1e10 * s), 1e10 * self.mu / s);
                }
                self.nu.iter_mut().zip(&nu).for_each(|(own, new)| *own += used * (new - *own));
                self.at = State { z, ..trial };
                return Some(length);
            }
            alpha *= 0.5;
        }
        None
    }

    #[expect(clippy::too_many_arguments, reason = "the two measures and their slopes")]
    fn acceptable(
        &self,
        t: &State,
        alpha: f64,
        h: f64,
        phi: f64,
        slope: f64,
        h_small: f64,
        noise: f64,
    ) -> bool {
        let (th, tphi) = (t.infeasibility(), t.barrier(self.mu));
        if self.in_filter(th, tphi) {
            return false;
        }
        let switching = slope < 0.0 && alpha * elementary::powf(-slope, 2.3) > elementary::powf(h, 1.1);
        if h <= h_small && switching {
            tphi <= phi + 1e-4 * alpha * slope + noise
        } else {
            th <= (1.0 - 1e-5) * h || tphi <= phi - 1e-5 * h + noise
        }
    }

    /// Second-order corrections: the same matrix, with the curvature of the limits in the right-hand side.
    fn corrections(
        &mut self,
        gradient: &[f64],
        r: &[f64],
        e: &[f64],
        trial: &State,
        alpha: f64,
        h: f64,
    ) -> Vec<(State, f64)> {
        let mut out = Vec::new();
        if trial.infeasibility() < h {
            return out;
        }
        let mut residual: Vec<f64> = (0..r.len()).map(|i| alpha * r[i] + trial.c[i] - trial.s[i]).collect();
        let mut goals: Vec<f64> = e.iter().zip(&trial.e).map(|(e, new)| alpha * e + new).collect();
        let mut last = trial.infeasibility();
        for _ in 0..4 {
            let (d, ds, _) = self.direction(gradient, &residual, &goals);
            let used = self.to_boundary(&self.at.s, &ds);
            let next = self.trial(&d, &ds, used);
            let h_next = next.infeasibility();
            for i in 0..residual.len() {
                residual[i] = used * residual[i] + next.c[i] - next.s[i];
            }
            goals.iter_mut().zip(&next.e).for_each(|(e, new)| *e = used * *e + new);
            out.push((next, used));
            if h_next > 0.99 * last {
                break;
            }
            last = h_next;
        }
        out
    }

    /// Feasibility restoration: moves to a point the filter accepts, as close by as possible.
    fn restore(&mut self) -> Option<Restored> {
        let h = self.at.infeasibility();
        self.filter.push(((1.0 - 1e-5) * h, self.at.barrier(self.mu) - 1e-5 * h));
        let restored = restoration::restore(self.tr, &mut self.at.theta);
        if let Restored::Stuck { .. } = restored {
            return Some(restored);
        }
        self.tr.evaluate(&self.at.theta, &mut self.at.point);
        (self.at.c, self.at.e) = self.constraints(&self.at.point, &self.at.theta);
        self.at.f = objective(self.tr, &self.weights, &self.at.point, &self.at.theta) + self.tr.time_cost();
        self.at.s = self.at.c.iter().map(|c| c.max(1e-6)).collect();
        self.at.z = self.at.s.iter().map(|s| self.mu / s).collect();
        // The filter belongs to the old neighbourhood; what is feasible may go on from here.
        self.filter.clear();
        Some(Restored::Feasible)
    }
}
