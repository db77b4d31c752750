//! [`Sweeps`]: values and curvature of quantities in one scalar type, plain numbers or lanes of four samples.
//!
//! The Hessian of `Σ μ z` is the adjoint sweep differentiated by dual numbers. Every quantity is homogeneous in time: with
//! `K` its highest derivative, `∂²z/∂q⁽ᵃ⁾∂q⁽ᵇ⁾ = 0` for `a + b > K`. So the sweep is differentiated along `q⁽ᵃ⁾` with
//! `2a ≤ K` only; symmetry gives the rest. The chart of rotations is homogeneous as well (its reference counts as a
//! motion), so the same holds for splines on the group.

use super::chart::{ChartJets, MotionChart};
use super::jet_items::{Item, read, weigh};
use super::quantity::Samples;
use crate::jet::{JetWorkspace, factorial};
use crate::scalar::InlineDual;
use crate::scalar::Real;

/// Memory of the sweeps at one state, or at one state per lane. `W` directions are differentiated along at once.
pub(super) struct Sweeps<T, const W: usize> {
    pub(super) jets: JetWorkspace<T>,
    dual: JetWorkspace<InlineDual<T, W>>,
    /// The state, as far as quantities depend on it.
    pub(super) x: Vec<T>,
    /// The same with directions.
    moved: Vec<InlineDual<T, W>>,
    pub(super) z: Vec<T>,
    pub(super) mu: Vec<T>,
    /// Derivatives of the adjoint: `curvature[state entry * directions + direction]`.
    pub(super) curvature: Vec<T>,
    /// Highest derivative any quantity depends on.
    highest: usize,
    /// For mechanisms with rotations.
    pub(super) chart: Option<Chart<T, W>>,
}

/// The chart of a mechanism with rotations, and its memory.
pub(super) struct Chart<T, const W: usize> {
    pub(super) map: MotionChart,
    pub(super) jets: ChartJets<T>,
    dual: ChartJets<InlineDual<T, W>>,
}

impl<T: Real, const W: usize> Sweeps<T, W> {
    pub(super) fn new(
        jets: &JetWorkspace<f64>,
        rows: usize,
        highest: usize,
        chart: Option<&MotionChart>,
    ) -> Self {
        let (nv, n, zero) = (jets.nv(), jets.velocity_count(), T::zero());
        let size = (n + 1) * nv;
        Self {
            jets: jets.like(),
            dual: jets.like(),
            x: vec![zero; size],
            moved: vec![InlineDual::constant(zero); size],
            z: vec![zero; rows],
            mu: vec![zero; rows],
            curvature: vec![zero; size * (highest / 2 + 1) * nv],
            highest,
            chart: chart.map(|map| Chart { map: map.clone(), jets: map.jets(n), dual: map.jets(n) }),
        }
    }

    pub(super) fn include_passive(&mut self, yes: bool) {
        self.jets.include_passive(yes);
        self.dual.include_passive(yes);
    }

    /// Directions that the adjoint sweep is differentiated along.
    #[inline(always)]
    pub(super) fn directions(&self) -> usize {
        (self.highest / 2 + 1) * self.jets.nv()
    }

    /// The forward sweep at `self.x`, one state per lane; false if one is not finite.
    #[inline(always)]
    pub(super) fn forward_in_lanes(&mut self) -> bool {
        load(&mut self.jets, &self.x);
        self.jets.run_inline(true).is_ok()
    }

    /// The curvature of `Σ self.mu z` at `self.x`, left in `self.curvature`; false if the state is not finite.
    #[inline(always)]
    pub(super) fn curve<const WIDE: bool>(&mut self, items: &[Item], sample: usize, t: f64) -> bool {
        let (nv, directions) = (self.jets.nv(), self.directions());
        let mut first = 0;
        while first < directions {
            let last = directions.min(first + W);
            for i in 0..self.x.len() {
                self.moved[i] = InlineDual::constant(self.x[i]);
            }
            for i in first..last {
                self.moved[i].eps[i - first] = T::one();
            }
            if !self.dual_adjoint::<WIDE>(items, sample, t) {
                return false;
            }
            let bar = &self.dual.products.xi_bar;
            for m in 0..self.highest + 1 {
                let scale = 1.0 / factorial(m);
                for row in m * nv..(m + 1) * nv {
                    for i in first..last {
                        self.curvature[row * directions + i] = bar[row].eps[i - first] * scale;
                    }
                }
            }
            first = last;
        }
        true
    }

    /// Forward and adjoint sweep at `self.moved`: leaves the gradient on the spline's Taylor coefficients.
    #[inline(always)]
    fn dual_adjoint<const WIDE: bool>(&mut self, items: &[Item], sample: usize, t: f64) -> bool {
        if WIDE {
            load(&mut self.dual, &self.moved);
            if self.dual.run_inline(true).is_err() {
                return false;
            }
            weigh::<T, W, true>(&mut self.dual, items, sample, &self.mu);
            self.dual.run_adjoint_inline();
            return true;
        }
        match &mut self.chart {
            Some(chart) => {
                let (q, y) = (&mut self.dual.q, &mut self.dual.y);
                chart.map.motion_into(&mut chart.dual, t, &self.moved, q, y);
            }
            None => load(&mut self.dual, &self.moved),
        }
        if self.dual.run().is_err() {
            return false;
        }
        weigh::<T, W, false>(&mut self.dual, items, sample, &self.mu);
        self.dual.run_adjoint();
        if let Some(chart) = &mut self.chart {
            chart.map.pull_back(&mut chart.dual, &mut self.dual.products.xi_bar);
        }
        true
    }
}

/// Plain derivatives into positions and velocity coefficients; all coordinates are plain numbers.
#[inline(always)]
fn load<T: Real>(jets: &mut JetWorkspace<T>, x: &[T]) {
    let (nv, n) = (jets.nv(), jets.velocity_count());
    jets.q.copy_from_slice(&x[..nv]);
    for l in 0..n {
        let f = 1.0 / factorial(l);
        for c in 0..nv {
            jets.y[l * nv + c] = x[(l + 1) * nv + c] * f;
        }
    }
}

impl<const W: usize> Sweeps<f64, W> {
    /// Takes a state: derivatives beyond those that quantities depend on are left out, those it lacks are zero.
    fn take(&mut self, x: &[f64]) {
        let used = self.x.len().min(x.len());
        self.x[..used].copy_from_slice(&x[..used]);
        self.x[used..].fill(0.0);
    }

    /// Positions and velocity coefficients of sample `s` into the jets, ready for their sweep.
    pub(super) fn place(&mut self, samples: Samples<'_>, s: usize) {
        self.take(samples.state(s));
        match &mut self.chart {
            Some(chart) => {
                let (q, y) = (&mut self.jets.q, &mut self.jets.y);
                chart.map.motion_into(&mut chart.jets, samples.times[s], &self.x, q, y);
            }
            None => load(&mut self.jets, &self.x),
        }
    }

    /// Values at sample `s`.
    pub(super) fn values(&mut self, items: &[Item], samples: Samples<'_>, s: usize, z: &mut [f64]) {
        self.place(samples, s);
        if self.jets.run().is_ok() {
            read::<f64, false>(&mut self.jets, items, samples.first + s, z);
        } else {
            z.fill(f64::NAN);
        }
    }

    /// Adds the Hessian of `Σ μ z` at sample `s`.
    pub(super) fn add_hessian(
        &mut self,
        items: &[Item],
        samples: Samples<'_>,
        s: usize,
        mu: &[f64],
        hessian: &mut [f64],
    ) {
        self.take(samples.state(s));
        self.mu.copy_from_slice(mu);
        if self.curve::<false>(items, samples.first + s, samples.times[s]) {
            add_symmetric(&self.curvature, self.directions(), samples.size(), hessian);
        } else {
            hessian.fill(f64::NAN);
        }
    }
}

/// Adds the columns of a symmetric matrix that were swept, and the mirrored rows of those that were not.
pub(super) fn add_symmetric(curvature: &[f64], directions: usize, size: usize, hessian: &mut [f64]) {
    for (row, line) in curvature.chunks_exact(directions.max(1)).enumerate().take(size) {
        for (i, h) in line.iter().enumerate() {
            hessian[row * size + i] += h;
            // Rows above the swept directions have no sweep of their own.
            if row >= directions {
                hessian[i * size + row] += h;
            }
        }
    }
}
