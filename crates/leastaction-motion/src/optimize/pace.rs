//! The duration as an unknown.
//!
//! Over `t/T` a spline does not know its duration `T`. With `τ = ln T` and `x_m` the derivatives of order `m`
//!
//! ```text
//! ∂x_m/∂τ = −m x_m,     ∂²x_m/∂τ² = m² x_m,     ∂²x_m/∂τ∂θ = −m B_m                              (5.14)
//! ```
//!
//! so that the gradient and the Hessian with respect to `(θ, τ)` need nothing but those of the samples: one column beside the band.
//! It takes boundary states without velocities: those would make the fixed control points depend on `T`.

use super::SplineTable;
use super::transcription::{Point, Transcription};

/// A free duration.
pub(super) struct Pace {
    /// The table at the duration the search began with.
    base: SplineTable,
    /// What a second costs.
    pub(super) weight: f64,
}

impl Transcription {
    /// Makes the duration an unknown that costs `weight` per second; false if this problem has no such form.
    pub(super) fn free_duration(&mut self, weight: f64) -> bool {
        if !(self.rests_at_ends && self.chart.is_identity()) {
            return false;
        }
        self.pace = Some(Pace { base: self.table.clone(), weight });
        true
    }

    /// The duration.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.table.knots[self.table.n_control]
    }

    /// Stretches the motion, if its duration is free.
    pub(super) fn set_duration(&mut self, duration: f64) {
        if let Some(pace) = &self.pace {
            self.table.stretch(&pace.base, duration);
        }
    }

    /// What the duration costs.
    pub(super) fn time_cost(&self) -> f64 {
        self.pace.as_ref().map_or(0.0, |pace| pace.weight * self.duration())
    }

    /// `dx += ∂x/∂τ dτ`.
    pub(super) fn add_pace(&self, point: &Point, tau: f64, dx: &mut [f64]) {
        for (i, (dx, x)) in dx.iter_mut().zip(&point.x).enumerate() {
            *dx -= tau * self.order_of(i) * x;
        }
    }

    /// Order of an entry of `[sample][order][joint]`.
    fn order_of(&self, i: usize) -> f64 {
        ((i / self.n) % self.table.orders) as f64
    }

    /// A gradient with respect to the states of all samples, taken to all unknowns.
    pub(super) fn pull_back_all(&self, point: &Point, g: &[f64]) -> Vec<f64> {
        let mut out = self.pull_back(g);
        if self.pace.is_some() {
            out.push(
                -g.iter().zip(&point.x).enumerate().map(|(i, (g, x))| self.order_of(i) * g * x).sum::<f64>(),
            );
        }
        out
    }

    /// Gradient of the costs with respect to the duration's logarithm.
    pub(super) fn pace_gradient(&self, weights: &[f64], point: &Point) -> Option<f64> {
        let pace = self.pace.as_ref()?;
        let mut sum = pace.weight * self.duration();
        for (term, w) in
            self.terms.iter().zip(weights).filter(|(term, w)| term.control.is_none() && **w != 0.0)
        {
            let g = self.sample_gradients(term, point);
            sum -= w * g
                .iter()
                .zip(&point.x)
                .enumerate()
                .map(|(i, (g, x))| self.order_of(i) * g * x)
                .sum::<f64>();
        }
        Some(sum)
    }

    /// Notes `H_x ∂x/∂τ` of a sample and its part of `∂²f/∂τ²`.
    pub(super) fn add_to_border(
        &self,
        s: usize,
        point: &Point,
        hx: &[f64],
        border: &mut [f64],
        corner: &mut f64,
    ) {
        let size = self.size;
        let v: Vec<f64> = (0..size).map(|i| -self.order_of(i) * point.x[s * size + i]).collect();
        for (i, out) in border[s * size..(s + 1) * size].iter_mut().enumerate() {
            *out = hx[i * size..(i + 1) * size].iter().zip(&v).map(|(h, v)| h * v).sum();
            *corner += v[i] * *out;
        }
    }

    /// The border from what the samples noted: adds the derivatives of `B` and of `x` themselves.
    pub(super) fn close_border(&mut self, weights: &[f64], point: &Point, multipliers: &[f64]) {
        let mut g = if multipliers.is_empty() {
            vec![0.0; point.x.len()]
        } else {
            self.row_sample_gradients(point, multipliers)
        };
        for (term, w) in
            self.terms.iter().zip(weights).filter(|(term, w)| term.control.is_none() && **w != 0.0)
        {
            g.iter_mut().zip(self.sample_gradients(term, point)).for_each(|(sum, own)| *sum += w * own);
        }
        let mut noted = std::mem::take(&mut self.scratch.border);
        let mut corner = self.scratch.corner + self.time_cost();
        for (i, (noted, g)) in noted.iter_mut().zip(&g).enumerate() {
            let m = self.order_of(i);
            *noted -= m * g;
            corner += m * m * g * point.x[i];
        }
        self.scratch.border = self.pull_back(&noted);
        self.scratch.corner = corner;
    }
}
