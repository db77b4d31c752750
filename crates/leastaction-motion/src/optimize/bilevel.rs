//! Weights from a noisy recording: the bilevel problem.
//!
//! ```text
//! min_w Σ |q_obs − q*(w)|²,     dθ*/dw_t = −H⁻¹ ∇c_t                                          (5.8)
//! ```
//!
//! Gauss–Newton on `u = log w` with absolute damping: weights that hardly move the motion would otherwise dominate the
//! step. The inner problem starts from the previous motion, so that the same local minimum is tracked; the first inner
//! solve starts from the fitted recording. The optimality conditions themselves are no guide here: their residual
//! amplifies noise by derivatives of order six.

use super::HessianKind;
use super::kkt::Kkt;
use super::newton::{NewtonOptions, minimise};
use super::observation::Observation;
use super::status::{SolveStatus, Wish};
use super::transcription::{ControlPoints, Point, Transcription};
use super::{OptimizeError, SplineTable};
use crate::linalg::{Banded, cholesky, cholesky_solve, dot};

/// Options of the bilevel method.
#[derive(Clone, Debug, PartialEq)]
pub struct BilevelOptions {
    /// Outer iterations per start.
    pub max_iterations: usize,
    /// Weights to start from; equal weights and the inverses of the costs if empty.
    pub starts: Vec<Vec<f64>>,
}

impl Default for BilevelOptions {
    fn default() -> Self {
        Self { max_iterations: 40, starts: Vec::new() }
    }
}

/// What a noisy recording says about the weights.
#[derive(Clone, Debug)]
pub struct BilevelSolution {
    /// Weights, summing to one.
    pub weights: Vec<f64>,
    /// One-sigma uncertainty of each weight.
    pub sigma: Vec<f64>,
    /// The optimal motion of these weights.
    pub theta: ControlPoints,
    /// Root mean square difference of that motion to the recording.
    pub misfit: f64,
    /// Noise of the recording, estimated from a fit that no cost constrains.
    pub noise: f64,
    /// Outer iterations of the best start.
    pub iterations: usize,
    /// Starts tried.
    pub starts: usize,
}

impl BilevelSolution {
    /// True if no weights explain the recording: the misfit is well above its noise.
    #[must_use]
    pub fn unexplained(&self) -> bool {
        self.misfit > 3.0 * self.noise + 1e-9
    }
    /// Terms whose weight is not told from zero: two sigma reach it.
    #[must_use]
    pub fn not_identifiable(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|t| 2.0 * self.sigma[*t] >= self.weights[*t]).collect()
    }
}

/// One point of the outer iteration.
struct Outer {
    u: Vec<f64>,
    weights: Vec<f64>,
    theta: ControlPoints,
    residuals: Vec<f64>,
    sum: f64,
}

fn softmax(u: &[f64]) -> Vec<f64> {
    let top = u.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
    let e: Vec<f64> = u.iter().map(|x| (x - top).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.iter().map(|x| x / sum).collect()
}

/// Finds the weights of a noisy recording. Limits are not part of the method: they may be there, but must not act.
///
/// # Errors
/// If the observation does not fit the problem, or the motion found is beyond a limit.
pub fn infer_noisy(
    tr: &mut Transcription,
    observation: &Observation,
    options: &BilevelOptions,
) -> Result<BilevelSolution, OptimizeError> {
    let fit = observation.fit(tr)?;
    let table = observation.table(tr)?;
    let terms = tr.names.len();
    let mut starts = options.starts.clone();
    if starts.is_empty() {
        starts.push(vec![1.0 / terms as f64; terms]);
        let mut point = Point::default();
        tr.evaluate(&fit.theta, &mut point);
        let inverse: Vec<f64> =
            tr.term_costs(&point, &fit.theta).iter().map(|c| 1.0 / c.max(1e-12)).collect();
        let sum: f64 = inverse.iter().sum();
        starts.push(inverse.iter().map(|w| w / sum).collect());
        for t in 0..terms {
            starts.push(
                (0..terms).map(|k| if k == t { 0.7 } else { 0.3 / (terms - 1).max(1) as f64 }).collect(),
            );
        }
    }
    let mut search = Search { tr, observation, table, options };
    let mut best: Option<(Outer, usize)> = None;
    let mut tried = 0;
    for start in &starts {
        tried += 1;
        let Some((outer, iterations)) = search.run(start, &fit.theta) else { continue };
        if best.as_ref().is_none_or(|(b, _)| outer.sum < b.sum) {
            best = Some((outer, iterations));
        }
        // The misfit has reached the noise: no other minimum explains the recording better.
        let rms = best.as_ref().map_or(f64::INFINITY, |(b, _)| (b.sum / b.residuals.len() as f64).sqrt());
        if rms <= 1.3 * fit.noise {
            break;
        }
    }
    let Some((outer, iterations)) = best else {
        let weights = vec![1.0 / terms as f64; terms];
        let sigma = vec![f64::INFINITY; terms];
        let (misfit, noise) = (f64::INFINITY, fit.noise);
        return Ok(BilevelSolution {
            weights,
            sigma,
            theta: fit.theta,
            misfit,
            noise,
            iterations: 0,
            starts: tried,
        });
    };
    no_limit_acts(search.tr, &outer.theta)?;
    let sigma = search.deviations(&outer);
    let misfit = (outer.sum / outer.residuals.len() as f64).sqrt();
    Ok(BilevelSolution {
        weights: outer.weights,
        sigma,
        theta: outer.theta,
        misfit,
        noise: fit.noise,
        iterations,
        starts: tried,
    })
}

/// The worst limit that a motion is beyond, as an error.
fn no_limit_acts(tr: &mut Transcription, theta: &ControlPoints) -> Result<(), OptimizeError> {
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    let values = tr.bounds().iter().map(|b| (b, tr.row_value(&point, theta, b)));
    let worst = values.min_by(|(a, x), (b, y)| a.gap(*x).total_cmp(&b.gap(*y)));
    match worst {
        Some((bound, value)) if bound.gap(value) < 0.0 => Err(OptimizeError::LimitActs {
            kind: bound.kind.name(),
            coordinate: bound.coordinate,
            t: tr.table.times.get(bound.sample).copied().unwrap_or(f64::NAN),
            value,
            limit: bound.limit,
        }),
        _ => Ok(()),
    }
}

struct Search<'a> {
    tr: &'a mut Transcription,
    observation: &'a Observation,
    table: SplineTable,
    options: &'a BilevelOptions,
}

impl Search<'_> {
    /// The optimal motion of weights, from a motion nearby.
    fn inner(&mut self, u: Vec<f64>, from: &ControlPoints) -> Option<Outer> {
        let weights = softmax(&u);
        let mut theta = ControlPoints::new(from.high.clone());
        let options = NewtonOptions { tolerance: 1e-8, max_iterations: 60, polish: false };
        let report = minimise(self.tr, &weights, &mut theta, &options, &mut |_| Wish::Continue);
        if report.status == SolveStatus::MaxIterations {
            return None;
        }
        let residuals = self.observation.residuals(&self.table, &theta, self.tr.n);
        let sum = dot(&residuals, &residuals);
        Some(Outer { u, weights, theta, residuals, sum })
    }

    /// `∂ residuals / ∂ w_t`, one column per term.
    fn sensitivities(&mut self, at: &Outer) -> Option<Vec<Vec<f64>>> {
        let tr = &mut *self.tr;
        let (size, width) = (tr.unknowns(), tr.width());
        let mut point = Point::default();
        tr.evaluate(&at.theta, &mut point);
        tr.linearize(&mut point);
        let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
        tr.hessian(&at.weights, &point, &[], &[], HessianKind::Exact, &mut h, &mut diagonal);
        let mut kkt = Kkt::new(size, width);
        kkt.factor(&h, |_| 0.0, &tr.equalities).ok()?;
        let columns = tr
            .term_gradients(&point, &at.theta)
            .into_iter()
            .map(|mut d| {
                d.iter_mut().for_each(|d| *d = -*d);
                kkt.solve(&mut d, &vec![0.0; tr.equalities.len()], &tr.equalities);
                let mut full = vec![0.0; tr.table.n_control * tr.n];
                full[tr.free.start * tr.n..tr.free.end * tr.n].copy_from_slice(&d);
                let mut x = vec![0.0; self.observation.q.len()];
                self.table.add_states(&full, tr.n, &mut x);
                x
            })
            .collect();
        Some(columns)
    }

    fn run(&mut self, start: &[f64], fitted: &ControlPoints) -> Option<(Outer, usize)> {
        let u: Vec<f64> = start.iter().map(|w| w.max(1e-6).ln()).collect();
        let mut at = self.inner(u, fitted)?;
        let k = at.u.len();
        let mut damping = 1e-3;
        for iteration in 0..self.options.max_iterations {
            let columns = self.sensitivities(&at)?;
            // dw_t/du_s = w_t (δ_ts − w_s).
            let mean: Vec<f64> = (0..at.residuals.len())
                .map(|i| columns.iter().zip(&at.weights).map(|(c, w)| w * c[i]).sum())
                .collect();
            let scaled: Vec<Vec<f64>> = columns
                .iter()
                .zip(&at.weights)
                .map(|(c, w)| c.iter().zip(&mean).map(|(c, m)| w * (c - m)).collect())
                .collect();
            let mut gram = vec![0.0; k * k];
            for i in 0..k {
                for j in 0..k {
                    gram[i * k + j] = dot(&scaled[i], &scaled[j]);
                }
            }
            let top = (0..k).map(|i| gram[i * k + i]).fold(0.0, f64::max);
            let gradient: Vec<f64> = scaled.iter().map(|c| dot(c, &at.residuals)).collect();
            let mut accepted = None;
            for _ in 0..12 {
                let mut damped = gram.clone();
                (0..k).for_each(|i| damped[i * k + i] += (damping * top).max(f64::MIN_POSITIVE));
                let mut du: Vec<f64> = gradient.iter().map(|g| -g).collect();
                if cholesky(&mut damped, k).is_ok() {
                    cholesky_solve(&damped, k, &mut du, 1);
                    du.iter_mut().for_each(|d| *d = d.clamp(-1.5, 1.5));
                    let u: Vec<f64> = at.u.iter().zip(&du).map(|(u, d)| u + d).collect();
                    if let Some(next) = self.inner(u, &at.theta)
                        && next.sum < at.sum
                    {
                        damping = (0.2 * damping).max(1e-12);
                        accepted = Some((next, du.iter().fold(0.0, |m: f64, d| m.max(d.abs()))));
                        break;
                    }
                }
                damping *= 10.0;
                if damping > 1e6 {
                    break;
                }
            }
            let Some((next, length)) = accepted else { return Some((at, iteration)) };
            let gain = (at.sum - next.sum) / at.sum.max(f64::MIN_POSITIVE);
            at = next;
            if length < 1e-6 || gain < 1e-9 {
                return Some((at, iteration + 1));
            }
        }
        let iterations = self.options.max_iterations;
        Some((at, iterations))
    }

    /// `N (Nᵀ JᵀJ N)⁻¹ Nᵀ s²` with N the directions that keep the sum of weights.
    fn deviations(&mut self, at: &Outer) -> Vec<f64> {
        let k = at.weights.len();
        let unknown = vec![f64::INFINITY; k];
        let Some(columns) = self.sensitivities(at) else { return unknown };
        let freedom = (at.residuals.len() as f64 - (k as f64 - 1.0)).max(1.0);
        let s2 = at.sum / freedom;
        // N: column j is e_j − e_last.
        let d = k - 1;
        let projected: Vec<Vec<f64>> =
            (0..d).map(|j| columns[j].iter().zip(&columns[d]).map(|(a, b)| a - b).collect()).collect();
        let mut gram = vec![0.0; d * d];
        for i in 0..d {
            for j in 0..d {
                gram[i * d + j] = dot(&projected[i], &projected[j]);
            }
        }
        if d == 0 || cholesky(&mut gram, d).is_err() {
            return unknown;
        }
        (0..k)
            .map(|t| {
                let row: Vec<f64> =
                    (0..d).map(|j| if t == d { -1.0 } else { f64::from(u8::from(t == j)) }).collect();
                let mut x = row.clone();
                cholesky_solve(&gram, d, &mut x, 1);
                (s2 * dot(&row, &x)).sqrt()
            })
            .collect()
    }
}
