//! Newton's method with the exact Hessian, shifted where it is not positive definite; no active limits.
//!
//! ```text
//! (H + μ diag(GN)) d = −∇f
//! ```
//!
//! `μ` follows the ratio of actual to predicted decrease. A stationary point with an indefinite Hessian is left along
//! the direction of most negative curvature: Gauss–Newton, whose matrix is never indefinite, could not notice it.

use super::HessianKind;
use super::kkt::Kkt;
use super::status::{Progress, SolveStatus, Wish};
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, cholesky, cholesky_solve, dot, largest};
use crate::scalar::elementary;

/// Part of what its samples could push below which a gradient is no push.
const NEGLIGIBLE: f64 = 1e-6;

/// What a Newton step leaves of a gradient where its matrix hardly changes.
const QUADRATIC: f64 = 1e-3;

/// Options of the unconstrained solve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonOptions {
    /// Largest entry of the free gradient, relative to the largest weighted term gradient.
    pub tolerance: f64,
    /// Largest number of iterations.
    pub max_iterations: usize,
    /// Keep the rounding of the solution in a low part: gradients fall by five more orders of magnitude.
    pub polish: bool,
}

impl Default for NewtonOptions {
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 200, polish: true }
    }
}

/// What the iteration did.
#[derive(Clone, Debug)]
pub struct NewtonReport {
    /// Outcome.
    pub status: SolveStatus,
    /// Iterations, polishing not counted.
    pub iterations: usize,
    /// Relative gradient at the end.
    pub kkt: f64,
    /// Convergence history.
    pub history: Vec<Progress>,
}

/// Objective, gradient and the scale the gradient is judged by.
pub(super) struct Slope {
    pub(super) gradient: Vec<f64>,
    pub(super) scale: f64,
}

/// Gradient of the weighted sum, and `max_t max |w_t ∇c_t|`: what cancels between the terms of a solution.
///
/// A single term has nothing to cancel with; it is judged by what cancels between its samples.
pub(super) fn slope(tr: &Transcription, weights: &[f64], point: &Point, theta: &ControlPoints) -> Slope {
    let mut gradient = vec![0.0; tr.unknowns()];
    let mut scale: f64 = 0.0;
    for (g, w) in tr.term_gradients(point, theta).iter().zip(weights) {
        scale = scale.max(w * largest(g));
        for (sum, g) in gradient.iter_mut().zip(g) {
            *sum += w * g;
        }
    }
    let tasks = tr.task_gradient(point);
    scale = scale.max(largest(&tasks));
    gradient.iter_mut().zip(&tasks).for_each(|(sum, g)| *sum += g);
    tr.add_anchor_gradient(theta, &mut gradient);
    let mut acting = (0..weights.len()).filter(|t| weights[*t] > 0.0);
    if let (Some(only), None) = (acting.next(), acting.next()) {
        scale = scale.max(weights[only] * tr.gradient_size(only, point, theta));
    }
    Slope { gradient, scale: scale.max(f64::MIN_POSITIVE) }
}

/// `theta + step` on the free control points.
pub(super) fn moved(tr: &Transcription, theta: &ControlPoints, step: &[f64], factor: f64) -> ControlPoints {
    let mut out = theta.clone();
    let at = tr.free.start * tr.n;
    for (x, d) in out.high[at..].iter_mut().zip(step) {
        *x += factor * d;
    }
    out
}

pub(super) fn objective(tr: &Transcription, weights: &[f64], point: &Point, theta: &ControlPoints) -> f64 {
    dot(&tr.term_costs(point, theta), weights) + tr.task_cost(point) + tr.anchor_cost(theta)
}

/// Minimises `Σ w_t c_t` from `theta`, limits ignored.
pub fn minimise(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &mut ControlPoints,
    options: &NewtonOptions,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> NewtonReport {
    tr.fix_boundary(theta);
    meet_equalities(tr, theta);
    // The low part is a property of a finished solution; a search starts without one.
    theta.low.fill(0.0);
    let mut search = Search::new(tr, weights, theta, options);
    let mut status = search.run(observe);
    let Search { history, iteration, mut kkt, theta: best, point, slope, kkt_system, .. } = search;
    *theta = best;
    // Where rounding of the control points ends the search, the low part goes on.
    let stalled = status == SolveStatus::MaxIterations && iteration < options.max_iterations;
    if options.polish && status == SolveStatus::Solved {
        // The search ends with a matrix without a shift.
        kkt = refine(tr, weights, theta, point, slope, &kkt_system).min(kkt);
    } else if status == SolveStatus::AlmostSolved || stalled {
        kkt = polish(tr, weights, theta).min(kkt);
        if kkt > options.tolerance && stalled && tr.equalities.is_empty() {
            kkt = kkt.min(at_rest(tr, weights, theta));
        }
        if kkt <= options.tolerance {
            status = SolveStatus::Solved;
        }
    }
    NewtonReport { status, iterations: iteration, kkt, history }
}

/// The gradient against what the samples of the terms could push: where all terms are at their own minimum nothing is left to
/// cancel between them.
fn at_rest(tr: &mut Transcription, weights: &[f64], theta: &ControlPoints) -> f64 {
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let now = slope(tr, weights, &point, theta);
    let size = (0..weights.len())
        .filter(|t| weights[*t] > 0.0)
        .map(|t| weights[t] * tr.gradient_size(t, &point, theta))
        .fold(0.0, f64::max);
    largest(&now.gradient) / now.scale.max(NEGLIGIBLE * size)
}

struct Search<'a> {
    tr: &'a mut Transcription,
    weights: &'a [f64],
    options: &'a NewtonOptions,
    theta: ControlPoints,
    point: Point,
    f: f64,
    slope: Slope,
    hessian: Banded,
    diagonal: Vec<f64>,
    kkt_system: Kkt,
    shift: f64,
    /// True if the matrix at hand is that of the current point.
    curved: bool,
    /// True if the last step was a plain Newton step: its matrix was positive definite without a shift.
    plain: bool,
    /// True if that matrix was the one of the step before.
    kept: bool,
    iteration: usize,
    kkt: f64,
    history: Vec<Progress>,
}

impl<'a> Search<'a> {
    fn new(
        tr: &'a mut Transcription,
        weights: &'a [f64],
        theta: &ControlPoints,
        options: &'a NewtonOptions,
    ) -> Self {
        let (size, width) = (tr.unknowns(), tr.width());
        Self {
            weights,
            options,
            theta: theta.clone(),
            point: Point::default(),
            f: 0.0,
            slope: Slope { gradient: vec![0.0; size], scale: 1.0 },
            hessian: Banded::new(size, width),
            diagonal: vec![0.0; size],
            kkt_system: Kkt::new(size, width),
            shift: 0.0,
            curved: false,
            plain: false,
            kept: false,
            iteration: 0,
            kkt: f64::INFINITY,
            history: Vec::new(),
            tr,
        }
    }

    /// First derivatives at the current point, whose values are there already.
    fn differentiate(&mut self) {
        self.tr.linearize(&mut self.point);
        self.slope = slope(self.tr, self.weights, &self.point, &self.theta);
        self.curved = false;
    }

    /// Second derivatives there.
    fn curve(&mut self) {
        self.curved = true;
        self.tr.hessian(
            self.weights,
            &self.point,
            &[],
            &[],
            HessianKind::Exact,
            &mut self.hessian,
            &mut self.diagonal,
        );
    }

    fn run(&mut self, observe: &mut dyn FnMut(&Progress) -> Wish) -> SolveStatus {
        self.tr.evaluate(&self.theta, &mut self.point);
        self.f = objective(self.tr, self.weights, &self.point, &self.theta);
        self.differentiate();
        let (mut noise_steps, mut escapes, mut step) = (0, 0, 0.0);
        let m = self.tr.equalities.len();
        loop {
            if m == 0 && self.plain && self.ends_quadratically() {
                // The matrix one step back, which was positive definite, differs by less than a thousandth: another one, for
                // a step that is not taken, would tell nothing.
                let progress = Progress {
                    iteration: self.iteration,
                    objective: self.f,
                    kkt: self.kkt,
                    violation: 0.0,
                    step,
                };
                self.history.push(progress);
                return if observe(&progress) == Wish::Stop {
                    SolveStatus::Interrupted
                } else {
                    SolveStatus::Solved
                };
            }
            self.kept = m == 0 && self.plain && self.hardly_bends();
            if self.kept {
                self.curved = true;
            }
            while !self.factor() {
                self.shift = (4.0 * self.shift).max(1e-6);
                if self.shift > 1e12 {
                    return SolveStatus::MaxIterations;
                }
            }
            let mut d: Vec<f64> = self.slope.gradient.iter().map(|g| -g).collect();
            let nu = self.kkt_system.solve(&mut d, &vec![0.0; m], &self.tr.equalities);
            self.kkt = self.residual(&nu);
            let progress = Progress {
                iteration: self.iteration,
                objective: self.f,
                kkt: self.kkt,
                violation: 0.0,
                step,
            };
            self.history.push(progress);
            if observe(&progress) == Wish::Stop {
                return SolveStatus::Interrupted;
            }
            if self.kkt <= self.options.tolerance {
                if self.shift == 0.0 {
                    return SolveStatus::Solved;
                }
                // Converged with a shift: a minimum if the plain Hessian is positive definite, a saddle otherwise.
                let shift = std::mem::take(&mut self.shift);
                if self.factor() {
                    return SolveStatus::Solved;
                }
                self.shift = shift;
                if escapes == 5 || !self.escape() {
                    return SolveStatus::AlmostSolved;
                }
                escapes += 1;
                continue;
            }
            if self.iteration >= self.options.max_iterations {
                return self.give_up();
            }
            self.iteration += 1;
            step = largest(&d);
            match self.try_step(&d, &mut noise_steps) {
                Outcome::Accepted => {}
                Outcome::Rejected => step = 0.0,
                Outcome::Stalled => {
                    // Rounding stops the search near a saddle as well as near a minimum.
                    self.shift = 0.0;
                    let saddle = self.kkt <= 1e3 * self.options.tolerance && !self.factor();
                    if !(saddle && escapes < 5 && self.escape()) {
                        return self.give_up();
                    }
                    escapes += 1;
                    noise_steps = 0;
                }
            }
        }
    }

    fn give_up(&self) -> SolveStatus {
        if self.kkt <= 1e3 * self.options.tolerance {
            SolveStatus::AlmostSolved
        } else {
            SolveStatus::MaxIterations
        }
    }

    /// Whether the gradient is within the tolerance after a step that took away all but a thousandth of it.
    fn ends_quadratically(&mut self) -> bool {
        let before = self.kkt;
        let now = self.residual(&[]);
        // A matrix kept for a second step leaves twice as much and more, and the step before it told how little it changes.
        let most = if self.kept { 10.0 * QUADRATIC } else { QUADRATIC };
        let ends = now <= self.options.tolerance && now <= most * before;
        if ends {
            self.kkt = now;
        }
        ends
    }

    /// Whether the last step left so little of the gradient that another one with the same matrix ends the search.
    fn hardly_bends(&self) -> bool {
        let now = self.residual(&[]);
        now <= QUADRATIC * self.kkt && QUADRATIC * now <= 0.25 * self.options.tolerance
    }

    fn factor(&mut self) -> bool {
        if !self.curved {
            self.curve();
        }
        let (shift, diagonal) = (self.shift, &self.diagonal);
        self.kkt_system.factor(&self.hessian, |i| shift * diagonal[i], &self.tr.equalities).is_ok()
    }

    /// Relative gradient of the Lagrangian of the equalities.
    fn residual(&self, nu: &[f64]) -> f64 {
        let mut g = self.slope.gradient.clone();
        for (e, nu) in self.tr.equalities.iter().zip(nu) {
            for (g, r) in g.iter_mut().zip(&e.row) {
                *g += nu * r;
            }
        }
        largest(&g) / self.slope.scale
    }

    fn try_step(&mut self, d: &[f64], noise_steps: &mut usize) -> Outcome {
        let slope_d = dot(&self.slope.gradient, d);
        let unshifted = self.shift == 0.0;
        let mut hd = vec![0.0; d.len()];
        self.hessian.mul_into(d, &mut hd);
        let predicted = -(slope_d + 0.5 * dot(d, &hd));
        let trial = moved(self.tr, &self.theta, d, 1.0);
        let mut point = Point::default();
        self.tr.evaluate(&trial, &mut point);
        let f = objective(self.tr, self.weights, &point, &trial);
        if predicted.abs() <= 1e-12 * self.f.abs() {
            // Function values are noise here: accept while the gradient falls.
            self.tr.linearize(&mut point);
            let next = slope(self.tr, self.weights, &point, &trial);
            let falls = largest(&next.gradient) < 0.5 * largest(&self.slope.gradient);
            if falls || *noise_steps == 0 {
                self.accept(trial, point, f);
                self.plain = unshifted && falls;
                self.shift = 0.0;
            }
            *noise_steps += 1;
            // What remains is the rounding of the control points, which the low part takes care of.
            return if falls && *noise_steps < 4 { Outcome::Accepted } else { Outcome::Stalled };
        }
        let rho = (self.f - f) / predicted;
        if !(rho > 1e-3 && f.is_finite()) {
            self.shift = (4.0 * self.shift).max(1e-6);
            return if self.shift > 1e12 { Outcome::Stalled } else { Outcome::Rejected };
        }
        if rho > 0.75 {
            self.shift /= 10.0;
            if self.shift < 1e-7 {
                self.shift = 0.0;
            }
        } else if rho < 0.25 {
            self.shift = (2.0 * self.shift).max(1e-6);
        }
        self.accept(trial, point, f);
        self.plain = unshifted;
        Outcome::Accepted
    }

    fn accept(&mut self, theta: ControlPoints, point: Point, f: f64) {
        self.theta = theta;
        self.point = point;
        self.f = f;
        self.plain = false;
        self.differentiate();
    }

    /// Leaves a saddle along the direction of most negative curvature of the scaled Hessian; false if there is none.
    fn escape(&mut self) -> bool {
        let size = self.diagonal.len();
        let root: Vec<f64> = self.diagonal.iter().map(|d| d.max(f64::MIN_POSITIVE).sqrt()).collect();
        // Smallest shift of the scaled Hessian that makes it positive definite, by bisection.
        let (mut low, mut high) = (0.0, 1e-6);
        let positive = |s: &mut Self, sigma: f64| {
            s.shift = sigma;
            s.factor()
        };
        while !positive(self, high) {
            low = high;
            high *= 4.0;
            if high > 1e12 {
                return false;
            }
        }
        for _ in 0..20 {
            let mid = 0.5 * (low + high);
            if positive(self, mid) { high = mid } else { low = mid }
        }
        if !positive(self, high * 1.001) {
            return false;
        }
        // Inverse iteration in the scaled variables y = √D x.
        let mut y: Vec<f64> = (0..size).map(|i| 1.0 + 0.3 * elementary::sin(i as f64)).collect();
        for _ in 0..30 {
            let mut x: Vec<f64> = y.iter().zip(&root).map(|(y, r)| y * r).collect();
            self.kkt_system.solve(&mut x, &vec![0.0; self.tr.equalities.len()], &self.tr.equalities);
            y = x.iter().zip(&root).map(|(x, r)| x * r).collect();
            let norm = dot(&y, &y).sqrt();
            y.iter_mut().for_each(|y| *y /= norm);
        }
        let mut d: Vec<f64> = y.iter().zip(&root).map(|(y, r)| y / r).collect();
        let size = largest(&d);
        d.iter_mut().for_each(|d| *d *= 0.05 / size);
        let mut best: Option<(f64, ControlPoints, Point)> = None;
        for factor in [1.0, -1.0] {
            let trial = moved(self.tr, &self.theta, &d, factor);
            let mut point = Point::default();
            self.tr.evaluate(&trial, &mut point);
            let f = objective(self.tr, self.weights, &point, &trial);
            if f < self.f && best.as_ref().is_none_or(|b| f < b.0) {
                best = Some((f, trial, point));
            }
        }
        let Some((f, trial, point)) = best else { return false };
        self.accept(trial, point, f);
        self.shift = high;
        true
    }
}

enum Outcome {
    Accepted,
    Rejected,
    Stalled,
}

/// Moves the free control points least so that the via points are met.
pub(super) fn meet_equalities(tr: &Transcription, theta: &mut ControlPoints) {
    let m = tr.equalities.len();
    if m == 0 {
        return;
    }
    let at = tr.free.start * tr.n;
    let free = &mut theta.high[at..at + tr.unknowns()];
    let mut gram = vec![0.0; m * m];
    for i in 0..m {
        for j in 0..=i {
            gram[i * m + j] = dot(&tr.equalities[i].row, &tr.equalities[j].row);
        }
    }
    if cholesky(&mut gram, m).is_err() {
        return;
    }
    // Twice: the second pass removes the rounding of the first.
    for _ in 0..2 {
        let mut gap: Vec<f64> = tr.equalities.iter().map(|e| e.value - dot(&e.row, free)).collect();
        cholesky_solve(&gram, m, &mut gap, 1);
        for (e, g) in tr.equalities.iter().zip(&gap) {
            for (x, r) in free.iter_mut().zip(&e.row) {
                *x += g * r;
            }
        }
    }
}

/// Newton corrections in the low part with one factorisation; returns the relative gradient reached.
pub fn polish(tr: &mut Transcription, weights: &[f64], theta: &mut ControlPoints) -> f64 {
    let (size, width) = (tr.unknowns(), tr.width());
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let now = slope(tr, weights, &point, theta);
    let (mut hessian, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    tr.hessian(weights, &point, &[], &[], HessianKind::Exact, &mut hessian, &mut diagonal);
    let mut kkt = Kkt::new(size, width);
    if kkt.factor(&hessian, |_| 0.0, &tr.equalities).is_err() {
        return largest(&now.gradient) / now.scale;
    }
    refine(tr, weights, theta, point, now, &kkt)
}

/// As [`polish`], from what is known at a point without a low part and with the factors of a matrix near it.
fn refine(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &mut ControlPoints,
    mut point: Point,
    mut now: Slope,
    kkt: &Kkt,
) -> f64 {
    let at = tr.free.start * tr.n;
    let residual = |g: &[f64], tr: &Transcription, nu: &[f64]| {
        let mut g = g.to_vec();
        for (e, nu) in tr.equalities.iter().zip(nu) {
            g.iter_mut().zip(&e.row).for_each(|(g, r)| *g += nu * r);
        }
        largest(&g)
    };
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let mut d: Vec<f64> = now.gradient.iter().map(|g| -g).collect();
        let nu = kkt.solve(&mut d, &vec![0.0; tr.equalities.len()], &tr.equalities);
        let here = residual(&now.gradient, tr, &nu);
        if here >= 0.5 * best {
            best = best.min(here);
            break;
        }
        best = here;
        let before = theta.low.clone();
        for (x, d) in theta.low[at..].iter_mut().zip(&d) {
            *x += d;
        }
        tr.evaluate(theta, &mut point);
        tr.linearize(&mut point);
        let next = slope(tr, weights, &point, theta);
        if residual(&next.gradient, tr, &nu) >= here {
            theta.low = before;
            break;
        }
        now = next;
    }
    best / now.scale
}
