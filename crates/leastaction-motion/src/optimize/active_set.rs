//! The last digits of a constrained solution: Newton on the manifold of the active limits.
//!
//! ```text
//! [K  −Aᵀ] [dθ]   [−∇f − ρ Aᵀ c_a]
//! [A    0] [λ ] = [−c_a          ],      K = H_L + ρ Aᵀ A                                    (5.6)
//! ```
//!
//! The ρ term changes neither solution nor band; with it `K` is positive definite whenever the second-order conditions
//! hold, so that a Cholesky factor of the band also proves the minimum.

use super::HessianKind;
use super::gaps::{bound_scale, condensed, gap_transpose, gaps};
use super::newton::slope;
use super::transcription::{ControlPoints, Point, Transcription};
use crate::linalg::{Banded, cholesky, cholesky_solve, dot, largest};

/// A polished solution.
pub(super) struct Polished {
    pub(super) theta: ControlPoints,
    /// Active bounds and their multipliers (unscaled).
    pub(super) active: Vec<(usize, f64)>,
    /// Relative gradient of the Lagrangian.
    pub(super) kkt: f64,
}

/// Gradient of the scaled gap of one bound with respect to the unknowns.
pub(super) fn gap_gradient(tr: &Transcription, point: &Point, bound: usize) -> Vec<f64> {
    let mut y = vec![0.0; tr.bounds.len()];
    y[bound] = 1.0;
    gap_transpose(tr, point, &y)
}

/// Improves `theta` with the bounds in `active` held at zero gap; `None` if that is not a minimum with this set.
pub(super) fn polish(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &ControlPoints,
    active: &[usize],
    multipliers: &[f64],
) -> Option<Polished> {
    let mut active = active.to_vec();
    for _ in 0..6 {
        match newton(tr, weights, theta, &active, multipliers)? {
            Ok(polished) => return Some(polished),
            Err(change) => {
                for bound in change {
                    if let Some(at) = active.iter().position(|a| *a == bound) {
                        active.remove(at);
                    } else {
                        active.push(bound);
                    }
                }
                active.sort_unstable();
            }
        }
    }
    None
}

/// Newton with a fixed set; the bounds to exchange if the set is wrong.
fn newton(
    tr: &mut Transcription,
    weights: &[f64],
    start: &ControlPoints,
    active: &[usize],
    multipliers: &[f64],
) -> Option<Result<Polished, Vec<usize>>> {
    let (size, width, m) = (tr.unknowns(), tr.width(), active.len());
    let e = tr.equalities.len();
    let mut theta = start.clone();
    theta.low.fill(0.0);
    let at = tr.free.start * tr.n;
    let mut lambda: Vec<f64> = active.iter().map(|a| multipliers[*a] * bound_scale(&tr.bounds[*a])).collect();
    let (mut hessian, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    let mut best: Option<(f64, ControlPoints, Vec<f64>)> = None;
    let mut low = false;
    for _ in 0..14 {
        let mut point = Point::default();
        tr.evaluate(&theta, &mut point);
        tr.linearize(&mut point);
        let slope = slope(tr, weights, &point, &theta);
        let c = gaps(tr, &point, &theta);
        let (mut z, mut y) = (vec![0.0; c.len()], vec![0.0; c.len()]);
        let mut rows: Vec<Vec<f64>> = active.iter().map(|a| gap_gradient(tr, &point, *a)).collect();
        rows.extend(tr.equalities.iter().map(|e| e.row.clone()));
        for (a, l) in active.iter().zip(&lambda) {
            z[*a] = *l;
        }
        // ρ brings the curvature along active limits to the size of the costs' own.
        let cost_size = tr_mean(tr, weights, &point, &mut hessian, &mut diagonal);
        let row_size = rows.iter().map(|r| dot(r, r)).sum::<f64>() / rows.len().max(1) as f64;
        let rho = if m == 0 { 0.0 } else { 10.0 * cost_size / row_size.max(f64::MIN_POSITIVE) };
        for a in active {
            y[*a] = rho;
        }
        condensed(tr, weights, &point, &z, &y, HessianKind::Exact, &mut hessian, &mut diagonal);
        hessian.factor().ok()?;
        // Multipliers from the stationarity of the step.
        let gap: Vec<f64> = active
            .iter()
            .map(|a| c[*a])
            .chain(tr.equalities.iter().map(|e| dot(&e.row, &theta.high[at..at + size]) - e.value))
            .collect();
        let mut base: Vec<f64> = slope.gradient.iter().map(|g| -g).collect();
        for (row, gap) in rows.iter().zip(&gap).take(m) {
            base.iter_mut().zip(row).for_each(|(b, r)| *b -= rho * gap * r);
        }
        hessian.solve(&mut base);
        let spread: Vec<Vec<f64>> = rows
            .iter()
            .map(|r| {
                let mut x = r.clone();
                hessian.solve(&mut x);
                x
            })
            .collect();
        let k = m + e;
        let mut schur = vec![0.0; k * k];
        for i in 0..k {
            for j in 0..=i {
                schur[i * k + j] = dot(&rows[i], &spread[j]);
            }
        }
        cholesky(&mut schur, k).ok()?;
        let mut nu: Vec<f64> = (0..k).map(|i| -gap[i] - dot(&rows[i], &base)).collect();
        cholesky_solve(&schur, k, &mut nu, 1);
        let mut d = base;
        for (column, nu) in spread.iter().zip(&nu) {
            d.iter_mut().zip(column).for_each(|(d, c)| *d += nu * c);
        }
        lambda = nu[..m].to_vec();
        let mut residual = slope.gradient.clone();
        for (row, nu) in rows.iter().zip(&nu) {
            residual.iter_mut().zip(row).for_each(|(g, r)| *g -= nu * r);
        }
        let kkt = (largest(&residual) / slope.scale).max(largest(&gap));
        let improved = best.as_ref().is_none_or(|b| kkt < 0.5 * b.0);
        if best.as_ref().is_none_or(|b| kkt < b.0) {
            best = Some((kkt, theta.clone(), lambda.clone()));
        }
        if low && !improved {
            break;
        }
        let length = largest(&d);
        if length.is_nan() || length >= 0.5 {
            return None;
        }
        low |= length < 1e-10;
        let target = if low { &mut theta.low } else { &mut theta.high };
        target[at..].iter_mut().zip(&d).for_each(|(x, d)| *x += d);
    }
    let (kkt, theta, lambda) = best?;
    let mut point = Point::default();
    tr.evaluate(&theta, &mut point);
    let c = gaps(tr, &point, &theta);
    let mut exchange: Vec<usize> = (0..c.len()).filter(|i| c[*i] < -1e-10 && !active.contains(i)).collect();
    exchange.extend(active.iter().zip(&lambda).filter(|(_, l)| **l < 0.0).map(|(a, _)| *a));
    if !exchange.is_empty() {
        return Some(Err(exchange));
    }
    let active = active.iter().zip(&lambda).map(|(a, l)| (*a, l / bound_scale(&tr.bounds[*a]))).collect();
    Some(Ok(Polished { theta, active, kkt }))
}

/// Mean diagonal of the costs' Gauss–Newton matrix.
fn tr_mean(
    tr: &mut Transcription,
    weights: &[f64],
    point: &Point,
    hessian: &mut Banded,
    diagonal: &mut [f64],
) -> f64 {
    tr.hessian(weights, point, &[], &[], HessianKind::GaussNewton, hessian, diagonal);
    diagonal.iter().sum::<f64>() / diagonal.len() as f64
}
