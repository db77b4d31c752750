//! Limits of inputs as a barrier that is lowered until it only touches.
//!
//! `−μ Σ c_i (ln(u_i − l_i) + ln(r_i − u_i))` with multipliers `z` of their own (6.19): near a limit the curvature `z/s` takes the
//! feedback gains away before an input is cut off, so that the forward motion does what the backward sweep expects.

use super::ilqr::ControlProblem;

/// Part of the way to a limit that one step may go.
const REACH: f64 = 0.995;
/// How far multipliers may be from those of the central path.
const SPREAD: f64 = 1e6;

/// Barrier and multipliers of a path.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// `c_i`: cost of a step at the full width of the limits.
    scale: Vec<f64>,
    /// `μ`.
    pub(crate) height: f64,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Barrier {
    /// A barrier for limits of which one is finite, with inputs moved inside; `prices` are the curvatures of one step's
    /// cost by its inputs.
    pub(crate) fn new(problem: &ControlProblem, prices: &[f64], inputs: &mut [f64]) -> Option<Self> {
        let nu = prices.len();
        let finite = |x: &f64| x.is_finite();
        if !problem.lower.iter().chain(&problem.upper).any(finite) {
            return None;
        }
        let largest = prices.iter().fold(0.0f64, |m, x| m.max(*x)).max(f64::MIN_POSITIVE);
        let scale = (0..nu)
            .map(|i| {
                let (l, u) = (problem.lower[i], problem.upper[i]);
                let width = match (l.is_finite(), u.is_finite()) {
                    (true, true) => u - l,
                    (true, false) => 1.0 + l.abs(),
                    (false, true) => 1.0 + u.abs(),
                    (false, false) => return 0.0,
                };
                prices[i].max(1e-6 * largest) * width * width
            })
            .collect();
        let mut barrier = Self {
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            scale,
            height: 1.0,
            low: vec![0.0; inputs.len()],
            high: vec![0.0; inputs.len()],
        };
        for (j, u) in inputs.iter_mut().enumerate() {
            *u = barrier.inside(j % nu, *u);
        }
        barrier.centre(inputs);
        Some(barrier)
    }

    /// A value that is at least a hundredth of the width away from the limits.
    fn inside(&self, i: usize, u: f64) -> f64 {
        let (l, r) = (self.lower[i], self.upper[i]);
        match (l.is_finite(), r.is_finite()) {
            (true, true) => u.clamp(l + 0.01 * (r - l), r - 0.01 * (r - l)),
            (true, false) => u.max(l + 0.01 * (1.0 + l.abs())),
            (false, true) => u.min(r - 0.01 * (1.0 + r.abs())),
            (false, false) => u,
        }
    }

    /// Multipliers of the central path at the present height.
    fn centre(&mut self, inputs: &[f64]) {
        let nu = self.scale.len();
        for (j, u) in inputs.iter().enumerate() {
            let i = j % nu;
            self.low[j] = self.height * self.scale[i] / (u - self.lower[i]);
            self.high[j] = self.height * self.scale[i] / (self.upper[i] - u);
        }
    }

    /// The barrier at the inputs of one step; infinite outside.
    pub(crate) fn value(&self, u: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (i, u) in u.iter().enumerate() {
            for distance in [u - self.lower[i], self.upper[i] - u] {
                if distance <= 0.0 {
                    return f64::INFINITY;
                }
                if distance.is_finite() {
                    sum -= self.height * self.scale[i] * distance.ln();
                }
            }
        }
        sum
    }

    /// Adds gradient and curvature at the inputs of step `k` to those of the step (`nx` states first).
    pub(crate) fn expand(&self, k: usize, u: &[f64], nx: usize, gradient: &mut [f64], hessian: &mut [f64]) {
        let (nu, w) = (u.len(), gradient.len());
        for (i, u) in u.iter().enumerate() {
            let (below, above) = (u - self.lower[i], self.upper[i] - u);
            gradient[nx + i] += self.height * self.scale[i] * (1.0 / above - 1.0 / below);
            hessian[(nx + i) * (w + 1)] += self.low[k * nu + i] / below + self.high[k * nu + i] / above;
        }
    }

    /// Keeps a new input from using up the distance that the old one had.
    pub(crate) fn confine(&self, i: usize, old: f64, new: f64) -> f64 {
        let (l, r) = (self.lower[i], self.upper[i]);
        let low = if l.is_finite() { old - REACH * (old - l) } else { l };
        let high = if r.is_finite() { old + REACH * (r - old) } else { r };
        new.max(low).min(high)
    }

    /// Multipliers after a step from old to new inputs.
    pub(crate) fn follow(&mut self, old: &[f64], new: &[f64]) {
        let nu = self.scale.len();
        for j in 0..old.len() {
            let i = j % nu;
            let centre = self.height * self.scale[i];
            let change = new[j] - old[j];
            let next = |z: f64, distance: f64, outward: f64, now: f64| {
                if !distance.is_finite() {
                    return 0.0;
                }
                let z = (centre + z * outward) / distance;
                z.clamp(centre / (SPREAD * now), SPREAD * centre / now)
            };
            self.low[j] = next(self.low[j], old[j] - self.lower[i], -change, new[j] - self.lower[i]);
            self.high[j] = next(self.high[j], self.upper[i] - old[j], change, self.upper[i] - new[j]);
        }
    }

    /// What the barrier may still cost: the sum over all limits of multiplier times distance on the central path.
    pub(crate) fn gap(&self) -> f64 {
        let nu = self.scale.len();
        let steps = self.low.len() / nu.max(1);
        let sides: f64 = (0..nu)
            .map(|i| {
                let count = [self.lower[i], self.upper[i]].iter().filter(|x| x.is_finite()).count();
                count as f64 * self.scale[i]
            })
            .sum();
        self.height * sides * steps as f64
    }

    /// Lowers the barrier.
    pub(crate) fn lower_to(&mut self, height: f64) {
        self.height = height;
    }
}
