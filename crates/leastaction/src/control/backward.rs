//! The backward sweep: best change of every input as a function of the change of state.
//!
//! With the value of later steps `V(δx) = vᵀδx + ½ δxᵀ P δx` (6.7),
//!
//! ```text
//! q = ∇l + Fᵀ (v + P g),   H = ∇²l + Fᵀ P F,   F = [A B], g the gap                                       (6.8)
//! k = argmin ½ kᵀ H_uu k + q_uᵀ k  within the limits,   K = −H_uu⁻¹ H_ux on free inputs                     (6.9)
//! v ← q_x + Kᵀ(H_uu k + q_u) + H_xu k,   P ← H_xx + Kᵀ H_uu K + Kᵀ H_ux + H_xu K                              (6.10)
//! ```
//!
//! A shift `σ` adds `σ FᵀF` to the rows of the inputs in (6.9) only: it holds the new states near the old ones (6.11).

use super::box_qp::BoxQp;
use super::wide_rows::{Products, Update, WIDE};
use crate::linalg::{add_mul_vector, add_transposed_mul_vector, symmetrize};
use leastaction_core::simd::run_widest;

/// Memory and result of a sweep.
#[derive(Clone, Debug)]
pub(crate) struct Backward {
    nx: usize,
    nu: usize,
    feedforward: Vec<f64>,
    gains: Vec<f64>,
    value: Vec<f64>,
    curvature: Vec<f64>,
    linear: Vec<f64>,
    /// Length of the rows below, a multiple of [`WIDE`]: of `F`, `P F` and `H`.
    stride: usize,
    slope: Vec<f64>,
    product: Vec<f64>,
    square: Vec<f64>,
    shifted_uu: Vec<f64>,
    shifted_ux: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// `K` and `H_uu K + H_ux`, in rows of the same length.
    gain: Vec<f64>,
    carry: Vec<f64>,
    qp: BoxQp,
}

impl Backward {
    pub(crate) fn new(nx: usize, nu: usize, steps: usize) -> Self {
        let w = nx + nu;
        let stride = w.next_multiple_of(WIDE);
        Self {
            nx,
            nu,
            stride,
            feedforward: vec![0.0; steps * nu],
            gains: vec![0.0; steps * nu * nx],
            value: vec![0.0; nx],
            curvature: vec![0.0; nx * nx],
            linear: vec![0.0; w],
            slope: vec![0.0; nx * stride],
            product: vec![0.0; nx * stride],
            square: vec![0.0; w * stride],
            shifted_uu: vec![0.0; nu * nu],
            shifted_ux: vec![0.0; nu * nx],
            lower: vec![0.0; nu],
            upper: vec![0.0; nu],
            gain: vec![0.0; nu * stride],
            carry: vec![0.0; nu * stride],
            qp: BoxQp::new(nu),
        }
    }

    /// Change of input `k` that does not depend on the state.
    pub(crate) fn feedforward(&self, k: usize) -> &[f64] {
        &self.feedforward[k * self.nu..(k + 1) * self.nu]
    }

    /// Change of input `k` per change of state, `nu × nx`.
    pub(crate) fn gain(&self, k: usize) -> &[f64] {
        let size = self.nu * self.nx;
        &self.gains[k * size..(k + 1) * size]
    }

    /// Sweeps; false if the shifted curvature by an input is not positive somewhere, or if the caller wants no more.
    pub(crate) fn sweep(
        &mut self,
        slopes: &[Vec<f64>],
        gradients: &[Vec<f64>],
        hessians: &[Vec<f64>],
        gaps: &[f64],
        inputs: &[f64],
        (lower, upper): (&[f64], &[f64]),
        shift: f64,
        stopped: &dyn Fn() -> bool,
    ) -> bool {
        let (nx, nu) = (self.nx, self.nu);
        let w = nx + nu;
        let steps = slopes.len();
        self.value.copy_from_slice(&gradients[steps][..nx]);
        self.curvature.copy_from_slice(&hessians[steps][..nx * nx]);
        for k in (0..steps).rev() {
            let f = &slopes[k];
            // (6.8)
            add_mul_vector(&self.curvature, &gaps[k * nx..(k + 1) * nx], &mut self.value);
            self.linear.copy_from_slice(&gradients[k]);
            add_transposed_mul_vector(f, &self.value, &mut self.linear);
            run_widest(Products {
                sizes: (nx, w, self.stride),
                curvature: &self.curvature,
                f,
                hessian: &hessians[k],
                slope: &mut self.slope,
                product: &mut self.product,
                square: &mut self.square,
            });
            self.shift_inputs(f, shift);
            // (6.9)
            for i in 0..nu {
                self.lower[i] = lower[i] - inputs[k * nu + i];
                self.upper[i] = upper[i] - inputs[k * nu + i];
            }
            if stopped()
                || self.qp.solve(&self.shifted_uu, &self.linear[nx..], &self.lower, &self.upper).is_err()
            {
                return false;
            }
            self.feedforward[k * nu..(k + 1) * nu].copy_from_slice(&self.qp.x);
            let gain = &mut self.gains[k * nu * nx..(k + 1) * nu * nx];
            self.qp.gains(&self.shifted_ux, nx, gain);
            self.update_value(k);
        }
        true
    }

    /// Rows of the inputs with the shift: `H_uu + σ BᵀB`, `H_ux + σ BᵀA`.
    fn shift_inputs(&mut self, f: &[f64], shift: f64) {
        let (nx, nu) = (self.nx, self.nu);
        let w = nx + nu;
        for i in 0..nu {
            let row = &self.square[(nx + i) * self.stride..][..w];
            self.shifted_ux[i * nx..(i + 1) * nx].copy_from_slice(&row[..nx]);
            self.shifted_uu[i * nu..(i + 1) * nu].copy_from_slice(&row[nx..]);
        }
        if shift == 0.0 {
            return;
        }
        for row in f.chunks_exact(w) {
            for i in 0..nu {
                let s = shift * row[nx + i];
                if s != 0.0 {
                    for c in 0..nx {
                        self.shifted_ux[i * nx + c] += s * row[c];
                    }
                    for c in 0..nu {
                        self.shifted_uu[i * nu + c] += s * row[nx + c];
                    }
                }
            }
        }
    }

    /// (6.10).
    fn update_value(&mut self, k: usize) {
        let (nx, nu, stride) = (self.nx, self.nu, self.stride);
        let w = nx + nu;
        let gain = &self.gains[k * nu * nx..(k + 1) * nu * nx];
        let feed = &self.feedforward[k * nu..(k + 1) * nu];
        self.value.copy_from_slice(&self.linear[..nx]);
        for i in 0..nu {
            let row = &self.square[(nx + i) * stride..][..w];
            let own: f64 = self.linear[nx + i] + crate::linalg::dot(&row[nx..], feed);
            crate::linalg::axpy(own, &gain[i * nx..(i + 1) * nx], &mut self.value);
            crate::linalg::axpy(feed[i], &row[..nx], &mut self.value);
        }
        run_widest(Update {
            sizes: (nx, nu, stride),
            gain,
            square: &self.square,
            wide: &mut self.gain,
            carry: &mut self.carry,
            curvature: &mut self.curvature,
        });
        symmetrize(&mut self.curvature, nx);
    }
}
