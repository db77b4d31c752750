//! The inverse problem: weights that make a motion optimal.
//!
//! With `C` the term gradients on the free control points and `A` the gradients of the limits that act,
//!
//! ```text
//! min_{w, λ} | L⁻¹ (Cᵀ w − Aᵀ λ) |   s.t.  w ≥ 0,  λ ≥ 0,  Σ w = 1                          (5.7)
//! ```
//!
//! `L Lᵀ` is the Gauss–Newton matrix with every term weighted by the inverse of its cost: the whitened residual is the
//! Newton step in the energy norm, and `|L⁻¹ C_t| ≤ √2 c_t` is the most a term can push. The columns are scaled to length
//! one and reduced by QR; a Gram matrix would lose half the digits. Leaving the multipliers out gives wrong weights whenever a
//! limit acts.
//!
//! A term whose gradient vanishes against the most it can push explains the motion alone: it is a corner of the set of
//! weights that explain the motion. That set is a polytope, given by its corners; the weights are identifiable if it is a
//! point.

use super::HessianKind;
use super::active_set::gap_gradient;
use super::explaining_set::corners;
use super::gaps::{bound_scale, gaps};
use super::status::ActiveBound;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, dot, largest, simplex_least_squares, singular_values, triangular_factor};

/// A gradient below this part of what a term can push counts as zero: polished motions come to 1e-13.
const VANISHES: f64 = 1e-10;
/// Pushes below this part of what the terms can push are no evidence against a motion.
const NEGLIGIBLE: f64 = 1e-6;

/// Options of the inverse problem.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InverseOptions {
    /// A limit acts if its gap is below this fraction of its size.
    pub active_tolerance: f64,
    /// Relative noise of the motion's gradients: singular values below three times this count as zero.
    pub noise: f64,
    /// Whiten by the Gauss–Newton matrix; the plain metric is for comparison.
    pub whiten: bool,
}

impl Default for InverseOptions {
    fn default() -> Self {
        Self { active_tolerance: 1e-7, noise: 0.0, whiten: true }
    }
}

/// What the motion says about the weights.
#[derive(Clone, Debug)]
pub struct InverseSolution {
    /// Weights, summing to one; the middle of the corners if they are not identifiable.
    pub weights: Vec<f64>,
    /// One-sigma uncertainty of each weight from the residual; infinite if the weights are not identifiable.
    pub sigma: Vec<f64>,
    /// Smallest and largest value of each weight among equally good ones; equal if the weights are unique.
    pub ranges: Vec<(f64, f64)>,
    /// Corners of the set of weights that explain the motion equally well; one if the weights are identifiable.
    pub corners: Vec<Vec<f64>>,
    /// Limits that act, with multipliers.
    pub active: Vec<ActiveBound>,
    /// `|Σ columns| / Σ |columns|`, 0 to 1: above 0.1 the terms do not explain the motion. Where all columns vanish against
    /// what their terms can push, a millionth of that takes the place of the sum.
    pub residual: f64,
    /// Singular values of the scaled, whitened matrix of term gradients and limits, relative to the largest.
    pub singular_values: Vec<f64>,
    /// Number of directions that count as zero: 1 unique weights, more: not unique, 0: not optimal.
    pub null_dimension: usize,
    /// Relative weight error per relative residual.
    pub amplification: f64,
    /// Terms that explain the motion alone: their gradient vanishes at it.
    pub alone: Vec<usize>,
    /// Terms without influence on any motion, left out.
    pub dropped: Vec<usize>,
}

impl InverseSolution {
    /// True if the terms do not explain the motion, or if it is no motion at all.
    #[must_use]
    pub fn unexplained(&self) -> bool {
        self.residual.is_nan() || self.residual > 0.1
    }
    /// True if only one set of weights explains the motion.
    #[must_use]
    pub fn identifiable(&self) -> bool {
        self.ranges.iter().all(|(low, high)| high - low <= 1e-8)
    }
}

/// Columns of (5.7): term gradients, then gradients of the limits that act.
struct Columns {
    columns: Vec<Vec<f64>>,
    norms: Vec<f64>,
    /// Number of terms; limits follow.
    terms: usize,
    /// The most each term can push, `√2 c_t`; for limits their norm.
    most: Vec<f64>,
    /// The part of `most` below which a gradient is rounding.
    rounding: Vec<f64>,
    /// Terms that move with no motion.
    idle: Vec<bool>,
    /// Terms that cost nothing.
    zero: Vec<bool>,
}

impl Columns {
    fn new(
        tr: &mut Transcription,
        point: &Point,
        theta: &ControlPoints,
        active: &[usize],
        whitened: bool,
    ) -> Self {
        let mut columns = tr.term_gradients(point, theta);
        let terms = columns.len();
        let costs = tr.term_costs(point, theta);
        let (floors, idle) = floors(tr, point, theta);
        // A term without cost is at its own minimum, and has no size to measure by.
        let zero: Vec<bool> = costs.iter().zip(&floors).map(|(c, f)| c <= f).collect();
        let costs: Vec<f64> = costs.iter().zip(&floors).map(|(c, f)| c.max(*f)).collect();
        let measures: Vec<f64> = match zero.iter().all(|z| *z) {
            true => costs.iter().map(|c| 1.0 / c).collect(),
            false => costs.iter().zip(&zero).map(|(c, z)| if *z { 0.0 } else { 1.0 / c }).collect(),
        };
        for a in active {
            columns.push(gap_gradient(tr, point, *a).iter().map(|x| -x).collect());
        }
        let factor = if whitened { metric(tr, point, &measures) } else { None };
        if let Some(l) = &factor {
            columns.iter_mut().for_each(|c| l.solve_lower(c));
        }
        project_equalities(tr, &mut columns, tr.task_columns(point), factor.as_ref());
        let norms: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
        let size = |t: usize| -> f64 { std::f64::consts::SQRT_2 * costs[t] };
        let plain: Vec<f64> = if factor.is_some() { Vec::new() } else { tr_sizes(tr, point, theta, terms) };
        let most = (0..columns.len())
            .map(|i| match (i < terms, factor.is_some()) {
                (false, _) => norms[i],
                (true, true) => size(i),
                (true, false) => plain[i].max(norms[i]),
            })
            .collect();
        // Two parts of the control points hold twice the digits.
        let polished = theta.low.iter().any(|x| *x != 0.0);
        let rounding =
            (0..terms).map(|t| if polished { 0.0 } else { 1e-2 * (floors[t] / costs[t]).sqrt() }).collect();
        Self { columns, norms, terms, most, rounding, idle, zero }
    }

    /// True for a term whose gradient vanishes at the motion.
    fn vanishes(&self, t: usize, noise: f64) -> bool {
        let tolerance = VANISHES.max(self.rounding[t]).max(3.0 * noise);
        self.zero[t] || self.norms[t] <= tolerance * self.most[t]
    }
}

/// Gradients without cancellation, for the plain metric.
fn tr_sizes(tr: &Transcription, point: &Point, theta: &ControlPoints, terms: usize) -> Vec<f64> {
    (0..terms).map(|t| tr.gradient_size(t, point, theta)).collect()
}

/// The cost each term would have from rounding of the control points alone, a hundred times over, and whether it moves with
/// no motion: below that cost the motion is at the term's own minimum, zero.
fn floors(tr: &mut Transcription, point: &Point, theta: &ControlPoints) -> (Vec<f64>, Vec<bool>) {
    let (size, width, terms) = (tr.unknowns(), tr.width(), tr.names.len());
    let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    let amplitude = largest(&theta.high).max(f64::MIN_POSITIVE);
    let mut floors = Vec::new();
    let mut idle = Vec::new();
    for t in 0..terms {
        let only: Vec<f64> = (0..terms).map(|k| f64::from(u8::from(k == t))).collect();
        tr.hessian(&only, point, &[], &[], HessianKind::GaussNewton, &mut h, &mut diagonal);
        let sum: f64 = diagonal.iter().sum();
        floors.push((0.5 * sum * (1e2 * f64::EPSILON * amplitude).powi(2)).max(f64::MIN_POSITIVE));
        idle.push(sum == 0.0);
    }
    (floors, idle)
}

/// Finds the weights of a motion. The problem's own weights are not used.
pub fn infer(tr: &mut Transcription, theta: &ControlPoints, options: &InverseOptions) -> InverseSolution {
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let c = gaps(tr, &point, theta);
    let active: Vec<usize> = (0..c.len()).filter(|i| c[*i].abs() <= options.active_tolerance).collect();
    // Costs alone make the metric.
    let scale = std::mem::replace(&mut tr.task_scale, 0.0);
    let all = Columns::new(tr, &point, theta, &active, options.whiten);
    tr.task_scale = scale;
    let terms = all.terms;
    let dropped: Vec<usize> = (0..terms).filter(|t| all.idle[*t]).collect();
    let alone: Vec<usize> = (0..terms).filter(|t| !all.idle[*t] && all.vanishes(*t, options.noise)).collect();
    let keep: Vec<usize> = (0..all.columns.len())
        .filter(|i| if *i < terms { !all.idle[*i] && !alone.contains(i) } else { all.norms[*i] > 0.0 })
        .collect();
    // What remains is scaled to length one.
    let k = keep.len();
    let scaled: Vec<Vec<f64>> =
        keep.iter().map(|i| all.columns[*i].iter().map(|x| x / all.norms[*i]).collect()).collect();
    let r = triangular_factor(&scaled);
    let e: Vec<f64> = keep.iter().map(|i| if *i < terms { 1.0 / all.norms[*i] } else { 0.0 }).collect();
    let (values, vectors) = singular_values(&r, k);
    let top = values.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let relative: Vec<f64> = values.iter().map(|v| v / top).collect();
    let threshold = (3.0 * options.noise).max(1e-9);
    let null = relative.iter().filter(|v| **v < threshold).count();
    let best = simplex_least_squares(&r, k, &e);

    // The set of explaining weights: each term that is enough alone, and the corners in the null space of the others.
    let mut set: Vec<Vec<f64>> = Vec::new();
    let mut multipliers: Vec<Vec<f64>> = Vec::new();
    for t in &alone {
        set.push((0..terms).map(|i| f64::from(u8::from(i == *t))).collect());
        multipliers.push(vec![0.0; active.len()]);
    }
    let unscaled = |x: &[f64]| -> (Vec<f64>, Vec<f64>) {
        let (mut w, mut l) = (vec![0.0; terms], vec![0.0; active.len()]);
        for (x, i) in x.iter().zip(&keep) {
            if *i < terms { w[*i] = x / all.norms[*i] } else { l[i - terms] = x / all.norms[*i] }
        }
        (w, l)
    };
    let in_null = match (null, &best) {
        (0, _) => Vec::new(),
        // One direction: the least-squares solution is it, with all digits, if it explains the motion.
        (1, Some(x)) if length(&r, k, x) <= 10.0 * threshold * top * x.iter().sum::<f64>() => vec![x.clone()],
        (1, _) => Vec::new(),
        _ => corners(&vectors[k - null..], &e),
    };
    for x in &in_null {
        let (w, l) = unscaled(x);
        set.push(w);
        multipliers.push(l);
    }
    let nothing_exact = set.is_empty();
    if nothing_exact {
        let (w, l) = unscaled(&best.unwrap_or_else(|| vec![0.0; k]));
        set.push(w);
        multipliers.push(l);
    }
    let mean = |rows: &[Vec<f64>]| -> Vec<f64> {
        let width = rows.first().map_or(0, Vec::len);
        (0..width).map(|i| rows.iter().map(|row| row[i]).sum::<f64>() / rows.len() as f64).collect()
    };
    let (weights, lambda) = (mean(&set), mean(&multipliers));
    let ranges: Vec<(f64, f64)> = (0..terms)
        .map(|t| {
            let each = set.iter().map(|w| w[t]);
            (each.clone().fold(f64::INFINITY, f64::min), each.fold(f64::NEG_INFINITY, f64::max))
        })
        .collect();
    let (push, residual) = residual(&all, &weights, &lambda);
    let mut found = InverseSolution {
        sigma: vec![f64::INFINITY; terms],
        ranges,
        active: active
            .iter()
            .zip(&lambda)
            .map(|(a, l)| ActiveBound { bound: tr.bounds[*a], multiplier: l / bound_scale(&tr.bounds[*a]) })
            .collect(),
        residual,
        amplification: relative
            .len()
            .checked_sub(2)
            .map_or(1.0, |i| 1.0 / relative[i].max(f64::MIN_POSITIVE)),
        singular_values: relative,
        null_dimension: null + alone.len(),
        weights,
        corners: set,
        alone,
        dropped,
    };
    if found.identifiable() {
        let freedom = (tr.unknowns() as f64 - k as f64 + 1.0).max(1.0);
        found.sigma = all.deviations(push / freedom.sqrt());
    }
    found
}

fn length(r: &[f64], k: usize, x: &[f64]) -> f64 {
    let rx: Vec<f64> = (0..k).map(|i| (0..k).map(|j| r[i * k + j] * x[j]).sum()).collect();
    dot(&rx, &rx).sqrt()
}

/// `|Σ w col − Σ λ a|`, and the same against the sum of lengths.
fn residual(all: &Columns, weights: &[f64], lambda: &[f64]) -> (f64, f64) {
    let factors: Vec<f64> = weights.iter().chain(lambda).copied().collect();
    let mut sum = vec![0.0; all.columns.first().map_or(0, Vec::len)];
    let (mut lengths, mut most) = (0.0, 0.0);
    for (i, f) in factors.iter().enumerate().filter(|(_, f)| **f != 0.0) {
        sum.iter_mut().zip(&all.columns[i]).for_each(|(s, c)| *s += f * c);
        lengths += f * all.norms[i];
        most += f * all.most[i];
    }
    let push = dot(&sum, &sum).sqrt();
    (push, push / lengths.max(NEGLIGIBLE * most).max(f64::MIN_POSITIVE))
}

/// The Gauss–Newton matrix at weights `1/c_t`, factored.
fn metric(tr: &mut Transcription, point: &Point, weights: &[f64]) -> Option<Banded> {
    let (size, width) = (tr.unknowns(), tr.width());
    let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    tr.hessian(weights, point, &[], &[], HessianKind::GaussNewton, &mut h, &mut diagonal);
    let mut shift = 0.0f64;
    loop {
        let mut l = h.clone();
        for (i, d) in diagonal.iter().enumerate() {
            l.add_diagonal(i, shift * d);
        }
        if l.factor().is_ok() {
            return Some(l);
        }
        shift = (10.0 * shift).max(1e-13);
        if shift > 1.0 {
            return None;
        }
    }
}

/// Takes out what multipliers of via points and of constraints on frames can explain, whatever their sign.
fn project_equalities(
    tr: &Transcription,
    columns: &mut [Vec<f64>],
    tasks: Vec<Vec<f64>>,
    factor: Option<&Banded>,
) {
    let mut rows: Vec<Vec<f64>> = tr.equalities.iter().map(|e| e.row.clone()).chain(tasks).collect();
    if rows.is_empty() {
        return;
    }
    if let Some(l) = factor {
        rows.iter_mut().for_each(|row| l.solve_lower(row));
    }
    // Modified Gram–Schmidt, twice for orthogonality.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut row in rows {
        for _ in 0..2 {
            for b in &basis {
                let f = dot(b, &row);
                row.iter_mut().zip(b).for_each(|(r, b)| *r -= f * b);
            }
        }
        let norm = dot(&row, &row).sqrt();
        if norm > 0.0 {
            row.iter_mut().for_each(|r| *r /= norm);
            basis.push(row);
        }
    }
    for column in columns {
        for _ in 0..2 {
            for b in &basis {
                let f = dot(b, column);
                column.iter_mut().zip(b).for_each(|(c, b)| *c -= f * b);
            }
        }
    }
}

impl Columns {
    /// One-sigma deviations of the weights for noise `sigma` of each row of (5.7): `N (Nᵀ RᵀR N)⁻¹ Nᵀ σ²`, N spanning the
    /// directions that keep the sum. Weights at zero count as free: what could be there instead is part of the doubt.
    fn deviations(&self, sigma: f64) -> Vec<f64> {
        let used: Vec<usize> = (0..self.columns.len())
            .filter(|i| if *i < self.terms { !self.idle[*i] } else { self.norms[*i] > 0.0 })
            .collect();
        let mut out = vec![0.0; self.terms];
        // The pivot takes up what the others leave of the sum; the term that can push least is known worst.
        let Some(pivot) = used
            .iter()
            .copied()
            .filter(|i| *i < self.terms)
            .min_by(|a, b| self.norms[*a].total_cmp(&self.norms[*b]))
        else {
            return out;
        };
        let others: Vec<usize> = used.into_iter().filter(|i| *i != pivot).collect();
        let scale = |i: usize| self.norms[i].max(f64::MIN_POSITIVE);
        let images: Vec<Vec<f64>> = others
            .iter()
            .map(|i| {
                let share = if *i < self.terms { 1.0 } else { 0.0 };
                let (a, b) = (&self.columns[*i], &self.columns[pivot]);
                a.iter().zip(b).map(|(a, b)| (a - share * b) / scale(*i)).collect()
            })
            .collect();
        let d = others.len();
        let f = triangular_factor(&images);
        // Var = N F⁻¹ F⁻ᵀ Nᵀ σ²: rows of N F⁻¹ by forward substitution.
        let length = |row: &mut dyn FnMut(usize) -> f64| -> f64 {
            let mut y: Vec<f64> = (0..d).map(row).collect();
            for a in 0..d {
                for b in 0..a {
                    y[a] -= f[b * d + a] * y[b];
                }
                y[a] /= f[a * d + a];
            }
            // The sum over nothing is −0.
            (sigma * dot(&y, &y).sqrt()).abs()
        };
        for (at, i) in others.iter().enumerate().filter(|(_, i)| **i < self.terms) {
            out[*i] = length(&mut |j| if j == at { 1.0 / scale(*i) } else { 0.0 });
        }
        out[pivot] = length(&mut |j| if others[j] < self.terms { -1.0 / scale(others[j]) } else { 0.0 });
        out.iter_mut().filter(|s| s.is_nan()).for_each(|s| *s = f64::INFINITY);
        out
    }
}
