//! Feedback along a motion: the Riccati recursion over its linearized steps.
//!
//! `P_k = Q + Aᵀ P A + Aᵀ P B K_k`, `K_k = −(R + Bᵀ P B)⁻¹ Bᵀ P A` with `P = P_{k+1}` (6.17). Limits are left out: a
//! saturated input still knows which way is back, and is cut off where it acts.

use super::plant::Plant;
use super::trajectory::Path;
use super::{ControlError, expect_length};
use crate::linalg::{add_transposed_mul, cholesky, cholesky_solve, mul, symmetrize};

/// Diagonal weights of deviations from the motion and of corrections.
#[derive(Clone, Debug, PartialEq)]
pub struct TrackingWeights {
    /// Of positions, then velocities.
    pub state: Vec<f64>,
    /// Of inputs.
    pub input: Vec<f64>,
}

/// Gains `nu × nx` of every step of a path, for the cost `½ xᵀ P x` (`end`, `nx × nx`) of deviations at its end.
///
/// # Errors
/// If sizes do not fit, a step cannot be taken, or the plant was stopped.
pub fn track<P: Plant>(
    plant: &mut P,
    path: &Path,
    weights: &TrackingWeights,
    end: &[f64],
) -> Result<Vec<Vec<f64>>, ControlError> {
    let (nx, nu, n) = (plant.nx(), plant.nu(), path.steps());
    let w = nx + nu;
    expect_length("state weights", weights.state.len(), nx)?;
    expect_length("input weights", weights.input.len(), nu)?;
    expect_length("end", end.len(), nx * nx)?;
    let mut p = end.to_vec();
    let mut gains = vec![Vec::new(); n];
    let (mut slope, mut next) = (Vec::new(), path.states.first().cloned().unwrap_or_default());
    let (mut product, mut square) = (vec![0.0; nx * w], vec![0.0; w * w]);
    for k in (0..n).rev() {
        if plant.stopped() {
            return Err(ControlError::Stopped);
        }
        plant.linearize(&path.states[k], path.u(k), &mut next, &mut slope)?;
        mul(&p, &slope, &mut product, nx, nx, w);
        square.fill(0.0);
        for (i, weight) in weights.state.iter().chain(&weights.input).enumerate() {
            square[i * (w + 1)] = *weight;
        }
        add_transposed_mul(&slope, &product, &mut square, w, nx, w);
        let mut inner: Vec<f64> =
            square.chunks_exact(w).skip(nx).flat_map(|row| row[nx..].iter().copied()).collect();
        let mut gain: Vec<f64> =
            square.chunks_exact(w).skip(nx).flat_map(|row| row[..nx].iter().map(|x| -x)).collect();
        let mixed: Vec<f64> = gain.iter().map(|x| -x).collect();
        cholesky(&mut inner, nu).map_err(|_| ControlError::NotStabilizable { residual: f64::NAN })?;
        cholesky_solve(&inner, nu, &mut gain, nx);
        for i in 0..nx {
            p[i * nx..(i + 1) * nx].copy_from_slice(&square[i * w..i * w + nx]);
        }
        add_transposed_mul(&mixed, &gain, &mut p, nx, nu, nx);
        symmetrize(&mut p, nx);
        gains[k] = gain;
    }
    Ok(gains)
}
