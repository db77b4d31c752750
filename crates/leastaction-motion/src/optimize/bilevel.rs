//! Weights from a noisy recording: the bilevel problem.
//!
//! ```text
//! min_w Σ |q_obs − q*(w)|²,   w ≥ 0,  Σ w = 1,      dθ*/dw_t = −H⁻¹ ∇c_t                       (5.8)
//! ```
//!
//! Gauss–Newton on the closed simplex of the shares `z_t ∝ w_t c_t`, so that weights may become zero and all of them are of
//! one size; with absolute damping, since shares that hardly move the motion would otherwise dominate the step. The inner
//! problem starts from the previous motion, so that the same local minimum is tracked; the first inner solve starts from the
//! fitted recording. The optimality conditions themselves are no guide here: their residual amplifies noise by derivatives
//! of order six.

use super::HessianKind;
use super::confidence::simplex_intervals;
use super::explaining_set::corners;
use super::kkt::Kkt;
use super::newton::{NewtonOptions, minimise};
use super::observation::Observation;
use super::status::{SolveStatus, Wish};
use super::transcription::{ControlPoints, Point, Transcription};
use super::{OptimizeError, SplineTable};
use crate::linalg::{Banded, dot, simplex_least_squares, singular_values, triangular_factor};

/// How strongly a motion is drawn to its recording, in turn, where no search without that explains it.
const DRAWN: [f64; 5] = [1e4, 1e3, 1e2, 1e1, 1.0];

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
    /// One-sigma uncertainty of each weight: how far it can be off, on the simplex and with the others free, before the recording is
    /// less likely by a factor of `exp(−½)`.
    pub sigma: Vec<f64>,
    /// One-sigma confidence interval of each weight, the two sides of that.
    pub intervals: Vec<(f64, f64)>,
    /// Smallest and largest value of each weight among those that this recording cannot tell apart at all; equal if the
    /// weights are identifiable.
    pub ranges: Vec<(f64, f64)>,
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
        self.misfit.is_nan() || self.misfit > 3.0 * self.noise + 1e-9
    }
    /// Terms whose weight is not told from zero: two sigma reach it.
    #[must_use]
    pub fn not_identifiable(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|t| 2.0 * self.sigma[*t] >= self.weights[*t]).collect()
    }
}

/// One point of the outer iteration.
struct Outer {
    /// Shares on the simplex.
    z: Vec<f64>,
    theta: ControlPoints,
    residuals: Vec<f64>,
    sum: f64,
}

/// Scaled to sum to one.
fn normalised(x: impl Iterator<Item = f64>) -> Vec<f64> {
    let x: Vec<f64> = x.collect();
    let sum: f64 = x.iter().sum();
    x.iter().map(|x| x / sum).collect()
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
    if !tr.tasks.is_empty() {
        return Err(OptimizeError::TasksNotSupported);
    }
    let fit = observation.fit(tr)?;
    let table = observation.table(tr)?;
    let terms = tr.names.len();
    let mut search = Search { scales: vec![1.0; terms], tr, observation, table, options };
    search.find_scales(&fit.theta);
    let mut starts = options.starts.clone();
    if starts.is_empty() {
        // Equal shares, equal weights, then each term in front of the others.
        starts.push(normalised(search.scales.iter().map(|s| 1.0 / s)));
        starts.push(vec![1.0 / terms as f64; terms]);
        for t in 0..terms {
            let share = |k: usize| if k == t { 0.7 } else { 0.3 / (terms - 1).max(1) as f64 };
            starts.push(normalised((0..terms).map(|k| share(k) / search.scales[k])));
        }
    }
    let mut best: Option<(Outer, usize)> = None;
    let mut tried = 0;
    for start in &starts {
        tried += 1;
        let Some((outer, iterations)) = search.run(start, &fit.theta) else { continue };
        if best.as_ref().is_none_or(|(b, _)| outer.sum < b.sum) {
            best = Some((outer, iterations));
        }
        // The misfit has reached the noise: no other minimum explains the recording better.
        if rms(best.as_ref()) <= 1.3 * fit.noise {
            break;
        }
    }
    // All of them left the valley of the recording for another. Drawn to the recording, less and less, none can.
    for start in starts.iter().filter(|_| options.starts.is_empty()) {
        if rms(best.as_ref()) <= 1.3 * fit.noise {
            break;
        }
        tried += 1;
        let Some((outer, iterations)) = search.run_drawn(start, &fit.theta) else { continue };
        if best.as_ref().is_none_or(|(b, _)| outer.sum < b.sum) {
            best = Some((outer, iterations));
        }
    }
    let Some((outer, iterations)) = best else {
        return Ok(BilevelSolution {
            weights: vec![1.0 / terms as f64; terms],
            sigma: vec![f64::INFINITY; terms],
            intervals: vec![(0.0, 1.0); terms],
            ranges: vec![(0.0, 1.0); terms],
            theta: fit.theta,
            misfit: f64::INFINITY,
            noise: fit.noise,
            iterations: 0,
            starts: tried,
        });
    };
    no_limit_acts(search.tr, &outer.theta)?;
    let Doubt { sigma, intervals, ranges } = search.doubt(&outer);
    let misfit = (outer.sum / outer.residuals.len() as f64).sqrt();
    Ok(BilevelSolution {
        weights: search.weights(&outer.z),
        sigma,
        intervals,
        ranges,
        theta: outer.theta,
        misfit,
        noise: fit.noise,
        iterations,
        starts: tried,
    })
}

/// Misfit of what is best so far.
fn rms(best: Option<&(Outer, usize)>) -> f64 {
    best.map_or(f64::INFINITY, |(b, _)| (b.sum / b.residuals.len() as f64).sqrt())
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
    /// What turns weights into shares of one size: the costs of a motion that fits the recording about.
    scales: Vec<f64>,
}

/// What a recording leaves open.
struct Doubt {
    sigma: Vec<f64>,
    intervals: Vec<(f64, f64)>,
    ranges: Vec<(f64, f64)>,
}

impl Search<'_> {
    fn weights(&self, z: &[f64]) -> Vec<f64> {
        normalised(z.iter().zip(&self.scales).map(|(z, s)| z / s))
    }

    /// Costs of an optimal motion near the recording: those of the fit itself are made of its noise.
    fn find_scales(&mut self, fitted: &ControlPoints) {
        let costs = |tr: &mut Transcription, theta: &ControlPoints| {
            let mut point = Point::default();
            tr.evaluate(theta, &mut point);
            let costs = tr.term_costs(&point, theta);
            let top = costs.iter().fold(0.0, |m: f64, c| m.max(*c));
            costs.into_iter().map(|c| c.max(1e-12 * top).max(f64::MIN_POSITIVE)).collect::<Vec<f64>>()
        };
        self.scales = costs(self.tr, fitted);
        let even = vec![1.0 / self.scales.len() as f64; self.scales.len()];
        if let Some(outer) = self.inner(even, fitted) {
            self.scales = costs(self.tr, &outer.theta);
        }
    }

    /// The optimal motion of shares, from a motion nearby.
    fn inner(&mut self, z: Vec<f64>, from: &ControlPoints) -> Option<Outer> {
        let weights: Vec<f64> = z.iter().zip(&self.scales).map(|(z, s)| z / s).collect();
        let mut theta = ControlPoints::new(from.high.clone());
        let options = NewtonOptions { tolerance: 1e-8, max_iterations: 60, polish: false };
        let report = minimise(self.tr, &weights, &mut theta, &options, &mut |_| Wish::Continue);
        if report.status == SolveStatus::MaxIterations {
            return None;
        }
        let residuals = self.observation.residuals(&self.table, &theta, self.tr.n);
        let sum = dot(&residuals, &residuals);
        sum.is_finite().then_some(Outer { z, theta, residuals, sum })
    }

    /// `∂ residuals / ∂ z_t`, one column per term.
    fn sensitivities(&mut self, at: &Outer) -> Option<Vec<Vec<f64>>> {
        let tr = &mut *self.tr;
        let (size, width) = (tr.unknowns(), tr.width());
        let weights: Vec<f64> = at.z.iter().zip(&self.scales).map(|(z, s)| z / s).collect();
        let mut point = Point::default();
        tr.evaluate(&at.theta, &mut point);
        tr.linearize(&mut point);
        let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
        tr.hessian(&weights, &point, &[], &[], HessianKind::Exact, &mut h, &mut diagonal);
        let mut kkt = Kkt::new(size, width);
        kkt.factor(&h, |_| 0.0, &tr.equalities).ok()?;
        let columns = tr
            .term_gradients(&point, &at.theta)
            .into_iter()
            .zip(&self.scales)
            .map(|(mut d, scale)| {
                d.iter_mut().for_each(|d| *d /= -scale);
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

    /// The best shares for the linearised motion, kept near by the damping: a least-squares problem on the simplex.
    fn step(at: &Outer, columns: &[Vec<f64>], damping: f64) -> Option<Vec<f64>> {
        let k = at.z.len();
        // `J z = 0` (weights have no size) and `Σ z' = 1`: residual and damping become part of the columns.
        let folded: Vec<Vec<f64>> = (0..k)
            .map(|t| {
                let moved = columns[t].iter().zip(&at.residuals).map(|(j, r)| j + r);
                let kept = (0..k).map(|i| damping.sqrt() * (f64::from(u8::from(i == t)) - at.z[i]));
                moved.chain(kept).collect()
            })
            .collect();
        simplex_least_squares(&triangular_factor(&folded), k, &vec![1.0; k])
    }

    fn run(&mut self, start: &[f64], fitted: &ControlPoints) -> Option<(Outer, usize)> {
        let z = normalised(start.iter().zip(&self.scales).map(|(w, s)| w.max(1e-12) * s));
        self.improve(z, fitted, self.options.max_iterations)
    }

    /// As [`run`](Self::run), with the motion first held at the recording and then let go, weights following.
    fn run_drawn(&mut self, start: &[f64], fitted: &ControlPoints) -> Option<(Outer, usize)> {
        let mut z = normalised(start.iter().zip(&self.scales).map(|(w, s)| w.max(1e-12) * s));
        let mut theta = fitted.clone();
        // Shares make the cost one; a control point weighs that much at a hundredth of a radian off, then less.
        for strength in DRAWN {
            self.tr.anchor = Some((fitted.high.clone(), strength));
            let found = self.improve(z.clone(), &theta, 8);
            self.tr.anchor = None;
            let (outer, _) = found?;
            // A share at zero may come back.
            z = normalised(outer.z.iter().map(|z| z.max(1e-6)));
            theta = outer.theta;
        }
        self.improve(z, &theta, self.options.max_iterations)
    }

    /// Gauss–Newton from shares and a motion nearby.
    fn improve(&mut self, z: Vec<f64>, from: &ControlPoints, iterations: usize) -> Option<(Outer, usize)> {
        let mut at = self.inner(z, from)?;
        let mut damping = 1e-3;
        for iteration in 0..iterations {
            let columns = self.sensitivities(&at)?;
            let top = columns.iter().map(|c| dot(c, c)).fold(f64::MIN_POSITIVE, f64::max);
            let mut accepted = None;
            for _ in 0..12 {
                let next = Self::step(&at, &columns, damping * top);
                let moved = next
                    .as_ref()
                    .map_or(0.0, |z| z.iter().zip(&at.z).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs())));
                if moved < 1e-10 {
                    break;
                }
                if let Some(next) = next.and_then(|z| self.inner(z, &at.theta))
                    && next.sum < at.sum
                {
                    damping = (0.1 * damping).max(1e-14);
                    accepted = Some((next, moved));
                    break;
                }
                damping *= 10.0;
            }
            let Some((next, moved)) = accepted else { return Some((at, iteration)) };
            let gain = (at.sum - next.sum) / at.sum.max(f64::MIN_POSITIVE);
            at = next;
            if moved < 1e-7 || gain < 1e-10 {
                return Some((at, iteration + 1));
            }
        }
        Some((at, iterations))
    }

    /// What the recording leaves open of the weights: intervals by likelihood, and ranges along directions that it does not see at all.
    fn doubt(&mut self, at: &Outer) -> Doubt {
        let k = at.z.len();
        let weights = self.weights(&at.z);
        if k == 1 {
            return Doubt { sigma: vec![0.0], intervals: vec![(1.0, 1.0)], ranges: vec![(1.0, 1.0)] };
        }
        let nothing = Doubt {
            sigma: vec![f64::INFINITY; k],
            intervals: vec![(0.0, 1.0); k],
            ranges: weights.iter().map(|w| (*w, *w)).collect(),
        };
        let Some(columns) = self.sensitivities(at) else { return nothing };
        let freedom = (at.residuals.len() as f64 - (k as f64 - 1.0)).max(1.0);
        let noise = (at.sum / freedom).sqrt();
        let mut doubt = nothing;
        // Residuals of the linearised motion, by weights: they do not see the size of these, so that `Σ w_t ∂r/∂w_t = 0`.
        let total: f64 = at.z.iter().zip(&self.scales).map(|(z, s)| z / s).sum();
        let folded: Vec<Vec<f64>> = columns
            .iter()
            .zip(&self.scales)
            .map(|(c, s)| c.iter().zip(&at.residuals).map(|(c, r)| r + total * s * c).collect())
            .collect();
        doubt.intervals = simplex_intervals(&folded, &weights, noise);
        doubt.sigma =
            doubt.intervals.iter().zip(&weights).map(|((low, high), w)| (high - w).max(w - low)).collect();
        // An orthonormal basis of the changes of shares that keep their sum.
        let basis: Vec<Vec<f64>> = (1..k)
            .map(|j| {
                let norm = ((j * (j + 1)) as f64).sqrt();
                let entry = |i: usize| match i.cmp(&j) {
                    std::cmp::Ordering::Less => 1.0,
                    std::cmp::Ordering::Equal => -(j as f64),
                    std::cmp::Ordering::Greater => 0.0,
                };
                (0..k).map(|i| entry(i) / norm).collect()
            })
            .collect();
        let images: Vec<Vec<f64>> = basis
            .iter()
            .map(|b| {
                let mut image = vec![0.0; at.residuals.len()];
                for (b, c) in b.iter().zip(&columns) {
                    image.iter_mut().zip(c).for_each(|(x, c)| *x += b * c);
                }
                image
            })
            .collect();
        let (values, vectors) = singular_values(&triangular_factor(&images), k - 1);
        let in_shares = |v: &[f64]| -> Vec<f64> {
            (0..k).map(|i| v.iter().zip(&basis).map(|(v, b)| v * b[i]).sum()).collect()
        };
        let mut flat = vec![at.z.clone()];
        // All of the simplex changes the recording by less than a thousandth of its noise.
        let unseen = values.iter().zip(&vectors).filter(|(value, _)| **value <= 1e-3 * noise.max(1e-12));
        flat.extend(unseen.map(|(_, vector)| in_shares(vector)));
        if flat.len() > 1 {
            let set: Vec<Vec<f64>> = corners(&flat, &vec![1.0; k]).iter().map(|z| self.weights(z)).collect();
            for (t, range) in doubt.ranges.iter_mut().enumerate() {
                let each = set.iter().map(|w| w[t]);
                *range = (each.clone().fold(range.0, f64::min), each.fold(range.1, f64::max));
            }
        }
        doubt
    }
}
