//! The inverse problem: weights that make a motion optimal.
//!
//! With `C` the term gradients on the free control points and `A` the gradients of the limits that act,
//!
//! ```text
//! min_{w, λ} | L⁻¹ (Cᵀ w − Aᵀ λ) |   s.t.  w ≥ 0,  λ ≥ 0,  Σ w = 1                          (5.7)
//! ```
//!
//! `L Lᵀ` is the Gauss–Newton matrix with every term weighted by the inverse of its cost: the whitened residual is the
//! Newton step in the energy norm. The columns are scaled to length one and reduced by QR; a Gram matrix would lose half
//! the digits. Leaving the multipliers out gives wrong weights whenever a limit acts.

use super::HessianKind;
use super::active_set::gap_gradient;
use super::interior_point::{bound_scale, gaps};
use super::status::ActiveBound;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, dot, simplex_least_squares, singular_values, solve, triangular_factor};

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
    /// Weights, summing to one.
    pub weights: Vec<f64>,
    /// One-sigma uncertainty of each weight from the residual.
    pub sigma: Vec<f64>,
    /// Smallest and largest value of each weight among equally good ones; equal if the weights are unique.
    pub ranges: Vec<(f64, f64)>,
    /// Limits that act, with multipliers.
    pub active: Vec<ActiveBound>,
    /// `|Σ columns| / Σ |columns|`, 0 to 1: above 0.1 the terms do not explain the motion.
    pub residual: f64,
    /// Singular values of the scaled, whitened matrix of term gradients and limits, relative to the largest.
    pub singular_values: Vec<f64>,
    /// Number of singular values that count as zero: 1 unique weights, more: not unique, 0: not optimal.
    pub null_dimension: usize,
    /// Relative weight error per relative residual.
    pub amplification: f64,
    /// Terms without influence on the motion, left out.
    pub dropped: Vec<usize>,
}

impl InverseSolution {
    /// True if the terms do not explain the motion.
    #[must_use]
    pub fn unexplained(&self) -> bool {
        self.residual > 0.1
    }
}

/// Finds the weights of a motion. The problem's own weights are not used.
pub fn infer(tr: &mut Transcription, theta: &ControlPoints, options: &InverseOptions) -> InverseSolution {
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let terms = tr.term_gradients(&point, theta);
    let costs = tr.term_costs(&point, theta);
    let c = gaps(tr, &point, theta);
    let active: Vec<usize> = (0..c.len()).filter(|i| c[*i].abs() <= options.active_tolerance).collect();
    let mut columns: Vec<Vec<f64>> = terms;
    let term_count = columns.len();
    for a in &active {
        columns.push(gap_gradient(tr, &point, *a).iter().map(|x| -x).collect());
    }
    if options.whiten {
        whiten(tr, &point, &costs, &mut columns);
    }
    project_equalities(tr, &mut columns, &point, &costs, options.whiten);
    let norms: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    let largest = norms[..term_count].iter().fold(0.0, |m: f64, x| m.max(*x));
    let keep: Vec<usize> = (0..columns.len())
        .filter(|i| norms[*i] > if *i < term_count { 1e-12 * largest } else { 0.0 })
        .collect();
    let dropped = (0..term_count).filter(|i| !keep.contains(i)).collect();
    let scaled: Vec<Vec<f64>> =
        keep.iter().map(|i| columns[*i].iter().map(|x| x / norms[*i]).collect()).collect();
    let k = scaled.len();
    let r = triangular_factor(&scaled);
    let e: Vec<f64> = keep.iter().map(|i| if *i < term_count { 1.0 / norms[*i] } else { 0.0 }).collect();
    let x = simplex_least_squares(&r, k, &e).unwrap_or_else(|| vec![0.0; k]);
    let (values, vectors) = singular_values(&r, k);
    let top = values.first().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
    let relative: Vec<f64> = values.iter().map(|v| v / top).collect();
    let threshold = (3.0 * options.noise).max(1e-9);
    let null_dimension = relative.iter().filter(|v| **v < threshold).count();
    let rx: Vec<f64> = (0..k).map(|i| (0..k).map(|j| r[i * k + j] * x[j]).sum()).collect();
    let length = dot(&rx, &rx).sqrt();
    let residual = length / x.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let mut weights = vec![0.0; term_count];
    let mut acting = Vec::new();
    for (x, i) in x.iter().zip(&keep) {
        let value = x / norms[*i];
        if *i < term_count {
            weights[*i] = value;
        } else {
            let bound = tr.bounds[active[i - term_count]];
            acting.push(ActiveBound { bound, multiplier: value / bound_scale(&bound) });
        }
    }
    let freedom = (tr.unknowns() as f64 - k as f64 + 1.0).max(1.0);
    let sigma_scaled = deviations(&r, k, &e, &x, length / freedom.sqrt());
    let mut sigma = vec![0.0; term_count];
    for (s, i) in sigma_scaled.iter().zip(&keep) {
        if *i < term_count {
            sigma[*i] = s / norms[*i];
        }
    }
    let mut ranges: Vec<(f64, f64)> = weights.iter().map(|w| (*w, *w)).collect();
    if null_dimension >= 2 {
        let basis = &vectors[k - null_dimension..];
        for (range, i) in simplex_ranges(basis, &e).into_iter().zip(&keep) {
            if *i < term_count
                && let Some((low, high)) = range
            {
                ranges[*i] = (low / norms[*i], high / norms[*i]);
            }
        }
    }
    InverseSolution {
        weights,
        sigma,
        ranges,
        active: acting,
        residual,
        amplification: relative
            .len()
            .checked_sub(2)
            .map_or(1.0, |i| 1.0 / relative[i].max(f64::MIN_POSITIVE)),
        singular_values: relative,
        null_dimension,
        dropped,
    }
}

/// The Gauss–Newton matrix at weights `1/c_t`, factored.
fn metric(tr: &mut Transcription, point: &Point, costs: &[f64]) -> Option<Banded> {
    let (size, width) = (tr.unknowns(), tr.width());
    let largest = costs.iter().fold(0.0, |m: f64, c| m.max(*c));
    let weights: Vec<f64> =
        costs.iter().map(|c| 1.0 / c.max(1e-12 * largest).max(f64::MIN_POSITIVE)).collect();
    let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    tr.hessian(&weights, point, &[], &[], HessianKind::GaussNewton, &mut h, &mut diagonal);
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

fn whiten(tr: &mut Transcription, point: &Point, costs: &[f64], columns: &mut [Vec<f64>]) {
    if let Some(l) = metric(tr, point, costs) {
        columns.iter_mut().for_each(|c| l.solve_lower(c));
    }
}

/// Takes out what multipliers of via points can explain, whatever their sign.
fn project_equalities(
    tr: &mut Transcription,
    columns: &mut [Vec<f64>],
    point: &Point,
    costs: &[f64],
    whitened: bool,
) {
    let mut rows: Vec<Vec<f64>> = tr.equalities.iter().map(|e| e.row.clone()).collect();
    if rows.is_empty() {
        return;
    }
    if whitened {
        whiten(tr, point, costs, &mut rows);
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

/// One-sigma deviations of `x` on its support: `N (Nᵀ RᵀR N)⁻¹ Nᵀ σ²`, N spanning the directions with `e·x = 0`.
fn deviations(r: &[f64], k: usize, e: &[f64], x: &[f64], sigma: f64) -> Vec<f64> {
    let support: Vec<usize> = (0..k).filter(|j| x[*j] > 0.0).collect();
    let mut out = vec![0.0; k];
    let m = support.len();
    if m < 2 {
        return out;
    }
    let es: Vec<f64> = support.iter().map(|j| e[*j]).collect();
    let norm2 = dot(&es, &es);
    // Null basis: unit vectors minus their part along e; the first support entry with e ≠ 0 is left out.
    let Some(pivot) = (0..m).max_by(|a, b| es[*a].total_cmp(&es[*b])).filter(|_| norm2 > 0.0) else {
        return out;
    };
    let basis: Vec<Vec<f64>> = (0..m)
        .filter(|j| *j != pivot)
        .map(|j| {
            let mut v = vec![0.0; m];
            v[j] = 1.0;
            v[pivot] = -es[j] / es[pivot];
            v
        })
        .collect();
    let images: Vec<Vec<f64>> = basis
        .iter()
        .map(|v| (0..k).map(|row| support.iter().zip(v).map(|(c, v)| r[row * k + c] * v).sum()).collect())
        .collect();
    let f = triangular_factor(&images);
    let d = basis.len();
    // Var = N F⁻¹ F⁻ᵀ Nᵀ σ²: rows of N F⁻¹ by forward substitution.
    for i in 0..m {
        let mut y: Vec<f64> = basis.iter().map(|b| b[i]).collect();
        for a in 0..d {
            for b in 0..a {
                y[a] -= f[b * d + a] * y[b];
            }
            y[a] /= f[a * d + a];
        }
        out[support[i]] = sigma * dot(&y, &y).sqrt();
    }
    out
}

/// Ranges of the entries of `x = Σ y_i v_i` with `x ≥ 0` and `e·x = 1`: tiny linear programs, by their vertices.
fn simplex_ranges(basis: &[Vec<f64>], e: &[f64]) -> Vec<Option<(f64, f64)>> {
    let (d, k) = (basis.len(), e.len());
    let mut ranges: Vec<Option<(f64, f64)>> = vec![None; k];
    let mut choice: Vec<usize> = (0..d - 1).collect();
    let combinations = (0..d - 1).fold(1.0, |c, i| c * (k - i) as f64 / (i + 1) as f64);
    if d > k || combinations > 2e5 {
        return ranges;
    }
    loop {
        // Rows: chosen entries zero, and the sum one.
        let (mut a, mut y) = (vec![0.0; d * d], vec![0.0; d]);
        for (row, c) in choice.iter().enumerate() {
            for i in 0..d {
                a[row * d + i] = basis[i][*c];
            }
        }
        for i in 0..d {
            a[(d - 1) * d + i] = dot(&basis[i], e);
        }
        y[d - 1] = 1.0;
        if solve(&mut a, d, &mut y, 1, 1e-14).is_ok() {
            let x: Vec<f64> = (0..k).map(|j| (0..d).map(|i| y[i] * basis[i][j]).sum()).collect();
            let size = x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            if x.iter().all(|x| *x >= -1e-7 * size) {
                for (range, x) in ranges.iter_mut().zip(&x) {
                    let (low, high) = range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
                    *range = Some((low.min(x.max(0.0)), high.max(*x)));
                }
            }
        }
        // Next combination of d − 1 out of k.
        let mut at = d - 1;
        loop {
            if at == 0 {
                return ranges;
            }
            at -= 1;
            if choice[at] + (d - 1 - at) < k {
                choice[at] += 1;
                for j in at + 1..d - 1 {
                    choice[j] = choice[j - 1] + 1;
                }
                break;
            }
        }
    }
}
