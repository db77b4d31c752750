//! How smooth a fit should be, and how wrong it then is.
//!
//! The weight λ of `∫ |q⁽ᵐ⁾|²` is chosen by restricted maximum likelihood: a motion whose `m`-th derivative is white noise of
//! unknown strength, recorded with white noise of unknown strength, most likely gives these samples with
//!
//! ```text
//! min_λ  (n − m) log(|r|² + λ θᵀΩθ) + log det(N + λΩ) − (n_c − m) log λ
//! ```
//!
//! Orders `m` are averaged by how likely they make the samples (`evidence.rs`): harmonic motions speak for a high one, reaches
//! whose jerk jumps for a low one, which follows corners and doubts itself more.
//!
//! The noise passes into the control points with covariance `A⁻¹ N A⁻¹ σ²`, `A = N + λΩ`, which is `d(λ A⁻¹)/dλ`: a difference of
//! two inverses, of which only the band is needed. What smoothing takes away is estimated by smoothing the result again,
//! `λ A⁻¹ Ω θ`. Together they cover the true derivative about as often as a normal error would. Noise whose neighbours are alike is
//! noticed by the differences to the fit, and widens the covariance.

use std::ops::RangeInclusive;

use super::evidence::free_part;
use super::fit::{Samples, Space};
use super::table::gauss_points;
use super::{BSpline, SplineError, SplineTable};
use crate::linalg::{Banded, dot};
use crate::scalar::elementary;

/// What smoothing found.
#[derive(Clone, Debug)]
pub(crate) struct Smoothed {
    /// Standard deviation of one position.
    pub(super) noise: f64,
    /// Control points that the motion makes use of: the trace of the smoother.
    pub(super) freedom: f64,
    /// Band of the covariance of the control points of a coordinate.
    covariance: Banded,
    /// What smoothing takes away, as control points.
    bias: Vec<f64>,
    /// Correlation of the noise from sample to sample where it has one; zero for white noise.
    pub(super) memory: f64,
}

/// Correlation of neighbouring differences to the fit, with what a smoother of that freedom takes from white noise added; zero if
/// white noise would show as much, or where next to nothing was smoothed away.
fn memory(differences: &[f64], samples: &Samples<'_>, freedom: f64) -> f64 {
    let (n, dim, orders) = (samples.times.len(), samples.dim, samples.orders());
    let at = |s: usize, i: usize| differences[s * orders * dim + i];
    let (mut own, mut next) = (0.0, 0.0);
    for i in 0..dim {
        own += (0..n).map(|s| at(s, i).powi(2)).sum::<f64>();
        next += (1..n).map(|s| at(s, i) * at(s - 1, i)).sum::<f64>();
    }
    let part = freedom / n as f64;
    if own == 0.0 || part > 0.5 {
        return 0.0;
    }
    let found = next / own + part;
    // Two standard deviations of what white noise shows.
    if found > 2.0 / (n as f64).sqrt() { found.min(0.95) } else { 0.0 }
}

/// The band of `∫ B⁽ᵐ⁾ B⁽ᵐ⁾ᵀ dt`.
pub(super) fn penalty(spline: &BSpline, order: usize) -> Result<Banded, SplineError> {
    let (n, p) = (spline.n_control(), spline.degree());
    let (times, weights) = gauss_points(spline.knots(), p, n, p - order + 1);
    let table = SplineTable::on(spline, order + 1, times, weights)?;
    let mut bend = Banded::new(n, p);
    for s in 0..table.len() {
        let b = table.derivative_basis(s, order);
        for i in 0..=p {
            for j in 0..=i {
                *bend.at_mut(table.first[s] + i, table.first[s] + j) += table.weights[s] * b[i] * b[j];
            }
        }
    }
    Ok(bend)
}

/// One weight tried.
struct Trial {
    score: f64,
    factor: Banded,
    theta: Vec<f64>,
}

struct Search<'a> {
    space: &'a Space,
    samples: &'a Samples<'a>,
    bend: Banded,
    order: usize,
    /// Rounding of the samples, squared and summed: less is not noise.
    floor: f64,
}

impl Search<'_> {
    /// `normal + λ bend`, factored; `None` if rounding has eaten the samples.
    fn factor(&self, lambda: f64) -> Option<Banded> {
        let n = self.bend.size();
        let mut a = self.space.normal.clone();
        for j in 0..n {
            for i in j..n.min(j + self.bend.width() + 1) {
                *a.at_mut(i, j) += lambda * self.bend.get(i, j);
            }
        }
        a.factor().ok()?;
        Some(a)
    }

    /// `|r|²` with rates weighted.
    fn misfit(&self, theta: &[f64]) -> f64 {
        let (dim, orders) = (self.samples.dim, self.samples.orders());
        let x = self.space.differences(self.samples, theta);
        let weight = |i: usize| if (i / dim) % orders == 1 { self.samples.rho } else { 1.0 };
        x.iter().enumerate().map(|(i, x)| (weight(i) * x).powi(2)).sum()
    }

    fn bending(&self, theta: &[f64]) -> Vec<f64> {
        let (n, dim) = (self.bend.size(), self.samples.dim);
        let (mut column, mut image) = (vec![0.0; n], vec![0.0; n]);
        let mut out = vec![0.0; n * dim];
        for i in 0..dim {
            (0..n).for_each(|c| column[c] = theta[c * dim + i]);
            self.bend.mul_into(&column, &mut image);
            (0..n).for_each(|c| out[c * dim + i] = image[c]);
        }
        out
    }

    fn at(&self, log: f64) -> Option<Trial> {
        let lambda = elementary::powf(10.0, log);
        let factor = self.factor(lambda)?;
        let theta = self.space.solve(self.samples, &factor, Some((&self.bend, lambda)), 2);
        let energy = self.misfit(&theta) + lambda * dot(&theta, &self.bending(&theta)).max(0.0) + self.floor;
        let (n, m, dim) = (self.samples.count() as f64, self.order as f64, self.samples.dim as f64);
        let free = self.bend.size() as f64 - m;
        let score = (n - m) * dim * elementary::ln(energy)
            + dim * (factor.log_determinant() - free * elementary::ln(lambda));
        score.is_finite().then_some(Trial { score, factor, theta })
    }
}

/// Control points for the most likely weight of each order, averaged over orders by how likely those are, and what follows from
/// that; `None` if no weight can be solved with.
pub(super) fn choose(
    space: &Space,
    samples: &Samples<'_>,
    orders: RangeInclusive<usize>,
) -> Result<Option<(Vec<f64>, Smoothed)>, SplineError> {
    let mut choices: Vec<(f64, Choice<'_>)> = Vec::new();
    for order in orders {
        let Some(choice) = weight_of(space, samples, order)? else { continue };
        let numbers = (samples.count() as f64 - order as f64) * samples.dim as f64;
        let free = free_part(space, samples, order)?;
        choices.push((
            choice.trial.score - numbers * elementary::ln(numbers) + samples.dim as f64 * free,
            choice,
        ));
    }
    let least = choices.iter().fold(f64::INFINITY, |m, (surprise, _)| m.min(*surprise));
    let parts = choices
        .into_iter()
        .map(|(surprise, choice)| (elementary::exp(-0.5 * (surprise - least)), choice))
        .filter(|(likely, _)| *likely > UNLIKELY)
        .map(|(likely, choice)| {
            let (theta, smoothed) = choice.describe();
            (likely, theta, smoothed)
        });
    Ok(averaged(parts.collect(), samples.dim))
}

/// Orders less likely than this, against the likeliest, are left out.
const UNLIKELY: f64 = 1e-3;

/// The mean over orders: noise within them, and by how much they differ, are the covariance of it.
fn averaged(mut parts: Vec<(f64, Vec<f64>, Smoothed)>, dim: usize) -> Option<(Vec<f64>, Smoothed)> {
    if parts.len() < 2 {
        return parts.pop().map(|(_, theta, smoothed)| (theta, smoothed));
    }
    let sum: f64 = parts.iter().map(|(likely, ..)| likely).sum();
    parts.iter_mut().for_each(|(likely, ..)| *likely /= sum);
    let mean = |of: &dyn Fn(&Smoothed) -> f64| parts.iter().map(|(p, _, s)| p * of(s)).sum::<f64>();
    let mean_of = |of: &dyn Fn(&(f64, Vec<f64>, Smoothed)) -> Vec<f64>| -> Vec<f64> {
        let mut out = vec![0.0; parts[0].1.len()];
        for part in &parts {
            out.iter_mut().zip(of(part)).for_each(|(out, x)| *out += part.0 * x);
        }
        out
    };
    let theta = mean_of(&|(_, theta, _)| theta.clone());
    let bias = mean_of(&|(_, _, smoothed)| smoothed.bias.clone());
    let first = &parts[0].2.covariance;
    let mut covariance = Banded::new(first.size(), first.width());
    for (likely, own, smoothed) in &parts {
        // Coordinates are smoothed alike, so that they share what is said about their errors.
        let off = |mean: &[f64], own: &[f64], c: usize, i: usize| own[c * dim + i] - mean[c * dim + i];
        for c in 0..first.size() {
            for r in c..first.size().min(c + first.width() + 1) {
                let differ: f64 = (0..dim)
                    .map(|i| {
                        off(&theta, own, r, i) * off(&theta, own, c, i)
                            + off(&bias, &smoothed.bias, r, i) * off(&bias, &smoothed.bias, c, i)
                    })
                    .sum();
                *covariance.at_mut(r, c) += likely * (smoothed.covariance.get(r, c) + differ / dim as f64);
            }
        }
    }
    let (noise, freedom) = (mean(&|s| s.noise * s.noise).sqrt(), mean(&|s| s.freedom));
    let memory = mean(&|s| s.memory);
    Some((theta, Smoothed { noise, freedom, covariance, bias, memory }))
}

/// The most likely weight of one order.
struct Choice<'a> {
    search: Search<'a>,
    /// Logarithm of the weight.
    log: f64,
    trial: Trial,
}

fn weight_of<'a>(
    space: &'a Space,
    samples: &'a Samples<'a>,
    order: usize,
) -> Result<Option<Choice<'a>>, SplineError> {
    let bend = penalty(&space.spline, order)?;
    let trace = |a: &Banded| (0..a.size()).map(|i| a.diagonal(i)).sum::<f64>();
    // Weight one: samples and smoothness pull alike at the highest frequency.
    let even = elementary::log10(trace(&space.normal) / trace(&bend).max(f64::MIN_POSITIVE));
    let size = samples.q.iter().fold(0.0, |m: f64, x| m.max(x.abs())).max(1e-150);
    // A joint that stays at zero has neither.
    let floor =
        (samples.count() as f64 * samples.dim as f64 * (f64::EPSILON * size).powi(2)).max(f64::MIN_POSITIVE);
    let search = Search { space, samples, bend, order, floor };
    let mut best: Option<(f64, Trial)> = None;
    let consider = |log: f64, best: &mut Option<(f64, Trial)>| {
        if let Some(trial) = search.at(log)
            && best.as_ref().is_none_or(|(_, b)| trial.score < b.score)
        {
            *best = Some((log, trial));
        }
    };
    for step in -8..=14 {
        consider(even + f64::from(step), &mut best);
    }
    // Samples without noise ask for less and less, down to their rounding.
    let mut step = -9;
    while step >= -30 && best.as_ref().is_some_and(|(log, _)| *log <= even + f64::from(step) + 1.5) {
        consider(even + f64::from(step), &mut best);
        step -= 1;
    }
    let mut width = 0.5;
    for _ in 0..5 {
        let Some((centre, _)) = best.as_ref() else { break };
        let centre = *centre;
        consider(centre - width, &mut best);
        consider(centre + width, &mut best);
        width *= 0.5;
    }
    Ok(best.map(|(log, trial)| Choice { search, log, trial }))
}

impl Choice<'_> {
    /// Control points, and how wrong they are.
    fn describe(self) -> (Vec<f64>, Smoothed) {
        let Self { search, log, trial } = self;
        let (space, samples) = (search.space, search.samples);
        let lambda = elementary::powf(10.0, log);
        let inverse = trial.factor.inverse_band();
        let n = search.bend.size();
        let freedom: f64 = (0..n)
            .map(|j| {
                let below = (j + 1..n.min(j + inverse.width() + 1))
                    .map(|i| 2.0 * inverse.get(i, j) * space.normal.get(i, j));
                inverse.get(j, j) * space.normal.get(j, j) + below.sum::<f64>()
            })
            .sum();
        let left = (samples.count() as f64 - freedom).max(1.0) * samples.dim as f64;
        let noise = (search.misfit(&trial.theta) / left).sqrt();
        // A⁻¹ N A⁻¹ = A⁻¹ + dA⁻¹/d ln λ.
        let step = 0.02f64;
        let nearby = |f: f64| search.factor(lambda * elementary::exp(f)).map(|a| a.inverse_band());
        let mut covariance = inverse.clone();
        if let (Some(up), Some(down)) = (nearby(step), nearby(-step)) {
            for j in 0..n {
                for i in j..n.min(j + inverse.width() + 1) {
                    *covariance.at_mut(i, j) += (up.get(i, j) - down.get(i, j)) / (2.0 * step);
                }
            }
        }
        // Means of correlated noise vary more than those of white noise, by (1 + r)/(1 − r) if it forgets by r per sample.
        let memory = memory(&space.differences(samples, &trial.theta), samples, freedom);
        let variance = noise * noise * (1.0 + memory) / (1.0 - memory);
        for j in 0..n {
            for i in j..n.min(j + covariance.width() + 1) {
                *covariance.at_mut(i, j) *= variance;
            }
        }
        let mut bias = search.bending(&trial.theta);
        let mut column = vec![0.0; n];
        for i in 0..samples.dim {
            (0..n).for_each(|c| column[c] = lambda * bias[c * samples.dim + i]);
            trial.factor.solve(&mut column);
            (0..n).for_each(|c| bias[c * samples.dim + i] = column[c]);
        }
        (trial.theta, Smoothed { noise, freedom, covariance, bias, memory })
    }
}

impl Smoothed {
    /// What is known where nothing was smoothed: all control points are used, and samples are as wrong as `rounding`.
    pub(super) fn of_rounding(space: &Space, dim: usize, rounding: f64) -> Option<Self> {
        let n = space.normal.size();
        let mut factor = space.normal.clone();
        factor.factor().ok()?;
        let mut covariance = factor.inverse_band();
        for j in 0..n {
            for i in j..n.min(j + covariance.width() + 1) {
                *covariance.at_mut(i, j) *= rounding * rounding;
            }
        }
        Some(Self { noise: rounding, freedom: n as f64, covariance, bias: vec![0.0; n * dim], memory: 0.0 })
    }

    /// As [`SplineFit::errors`](super::SplineFit::errors).
    pub(super) fn errors(
        &self,
        spline: &BSpline,
        dim: usize,
        coordinate: usize,
        t: f64,
        count: usize,
    ) -> (Vec<f64>, Vec<f64>) {
        let (first, basis) = spline.basis_derivatives(t, count - 1);
        let width = spline.degree() + 1;
        let (mut covariance, mut bias) = (vec![0.0; count * count], vec![0.0; count]);
        for d in 0..count {
            let spread: Vec<f64> = (0..width)
                .map(|a| (0..width).map(|b| self.covariance.get(first + a, first + b) * basis[d][b]).sum())
                .collect();
            for e in 0..count {
                covariance[d * count + e] = dot(&spread, &basis[e][..width]);
            }
            bias[d] = (0..width).map(|a| basis[d][a] * self.bias[(first + a) * dim + coordinate]).sum();
        }
        (covariance, bias)
    }

    /// The weight of rates that their misfit asks for: the ratio of both noises, within three orders of magnitude.
    pub(super) fn better_rate_weight(&self, space: &Space, samples: &Samples<'_>, theta: &[f64]) -> f64 {
        let (dim, x) = (samples.dim, space.differences(samples, theta));
        let sum = |order: usize| -> f64 {
            let rows = x.chunks_exact(2 * dim).flat_map(|row| &row[order * dim..(order + 1) * dim]);
            rows.map(|x| x * x).sum::<f64>()
        };
        let (q, v) = (sum(0).sqrt(), sum(1).sqrt());
        if q > 0.0 && v > 0.0 { (q / v).clamp(1e-3 * samples.rho, 1e3 * samples.rho) } else { samples.rho }
    }
}
