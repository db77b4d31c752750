//! [`Sweeps`]: values, gradients and curvature of quantities in one scalar type, plain numbers or lanes of four samples.
//!
//! The Hessian of `Σ μ z` is the adjoint sweep differentiated by dual numbers. Every quantity is homogeneous in time: with
//! `K` its highest derivative, `∂²z/∂q⁽ᵃ⁾∂q⁽ᵇ⁾ = 0` for `a + b > K`. So the sweep is differentiated along `q⁽ᵃ⁾` with
//! `2a ≤ K` only; symmetry gives the rest. The chart of rotations is homogeneous as well (its reference counts as a
//! motion), so the same holds for splines on the group. Without a chart the derivatives of a rotation's gradient are not
//! symmetric (they hold half the bracket of two perturbations), so there all directions are swept and the mean is taken.

use super::chart::{ChartJets, MotionChart};
use super::items::{Item, Need, read, weigh};
use super::samples::Samples;
use super::workspace::JetWorkspace;
use super::{JetError, factorial};
use crate::scalar::InlineDual;
use crate::scalar::Real;

/// Memory of the sweeps at one state, or at one state per lane. `W` directions are differentiated along at once.
pub(super) struct Sweeps<T, const W: usize> {
    pub(super) jets: JetWorkspace<T>,
    dual: JetWorkspace<InlineDual<T, W>>,
    need: Need,
    /// The state, as far as quantities depend on it.
    pub(super) x: Vec<T>,
    /// Entries of the state that are its configuration.
    pub(super) configuration: usize,
    /// The state with directions.
    moved: Vec<InlineDual<T, W>>,
    pub(super) z: Vec<T>,
    pub(super) mu: Vec<T>,
    dual_mu: Vec<InlineDual<T, W>>,
    /// Derivatives of the adjoint: `curvature[tangent entry * directions + direction]`.
    pub(super) curvature: Vec<T>,
    /// Directions that the adjoint sweep is differentiated along.
    pub(super) directions: usize,
    /// For splines of mechanisms with rotations.
    pub(super) chart: Option<Chart<T, W>>,
}

/// The chart of a mechanism with rotations, and its memory.
pub(super) struct Chart<T, const W: usize> {
    pub(super) map: MotionChart,
    pub(super) jets: ChartJets<T>,
    dual: ChartJets<InlineDual<T, W>>,
}

impl<T: Real, const W: usize> Sweeps<T, W> {
    pub(super) fn new(jets: &JetWorkspace<f64>, items: &[Item], chart: Option<&MotionChart>) -> Self {
        let (nv, n, zero) = (jets.nv(), jets.velocity_count(), T::zero());
        let configuration = if chart.is_some() { nv } else { jets.nq() };
        let orders = if configuration == nv { n / 2 + 1 } else { n + 1 };
        let (size, rows) = (configuration + n * nv, items.iter().map(|item| item.rows).sum());
        let mut dual = jets.like();
        dual.composites = false;
        Self {
            jets: jets.like(),
            dual,
            need: items.iter().map(Item::need).max().unwrap_or(Need::Nothing),
            x: vec![zero; size],
            configuration,
            moved: vec![InlineDual::constant(zero); size],
            z: vec![zero; rows],
            mu: vec![zero; rows],
            dual_mu: vec![InlineDual::constant(zero); rows],
            curvature: vec![zero; (n + 1) * nv * orders * nv],
            directions: orders * nv,
            chart: chart.map(|map| Chart { map: map.clone(), jets: map.jets(n), dual: map.jets(n) }),
        }
    }

    pub(super) fn include_passive(&mut self, yes: bool) {
        self.jets.include_passive(yes);
        self.dual.include_passive(yes);
    }

    /// The forward sweep at `self.x`, one state per lane, and the values; false if a state is not finite.
    #[inline(always)]
    pub(super) fn read_in_lanes(&mut self, items: &[Item]) -> bool {
        load(&mut self.jets, self.configuration, &self.x);
        let fine = sweep::<T, true>(&mut self.jets, self.need).is_ok();
        if fine {
            read::<T, true>(&mut self.jets, items, 0, &mut self.z);
        }
        fine
    }

    /// The adjoint sweep for `self.mu` after a forward one: leaves the gradient on the tangent's Taylor coefficients.
    #[inline(always)]
    pub(super) fn pull_back<const WIDE: bool>(&mut self, items: &[Item], sample: usize) {
        weigh::<T, WIDE>(&mut self.jets, items, sample, &self.mu);
        if WIDE {
            self.jets.run_adjoint_inline();
        } else {
            self.jets.run_adjoint();
        }
    }

    /// The curvature of `Σ self.mu z` at `self.x`, left in `self.curvature`; false if the state is not finite.
    #[inline(always)]
    pub(super) fn curve<const WIDE: bool>(&mut self, items: &[Item], sample: usize, t: f64) -> bool {
        let (nv, n, directions) = (self.jets.nv(), self.jets.velocity_count(), self.directions);
        for r in 0..self.mu.len() {
            self.dual_mu[r] = InlineDual::constant(self.mu[r]);
        }
        let mut first = 0;
        while first < directions {
            let last = directions.min(first + W);
            for i in 0..self.x.len() {
                self.moved[i] = InlineDual::constant(self.x[i]);
            }
            if WIDE || self.configuration == nv {
                for i in first..last {
                    self.moved[i].eps[i - first] = T::one();
                }
            } else {
                for i in first..last {
                    let moved = &mut self.moved;
                    self.jets.tree.tangent_of_sample(&self.x, (i / nv, i % nv), |at, rate| {
                        moved[at].eps[i - first] += rate;
                    });
                }
            }
            if !self.dual_adjoint::<WIDE>(items, sample, t) {
                return false;
            }
            let bar = &self.dual.products.xi_bar;
            for m in 0..n + 1 {
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
        match &mut self.chart {
            Some(chart) if !WIDE => {
                let (q, y) = (&mut self.dual.q, &mut self.dual.y);
                chart.map.motion_into(&mut chart.dual, t, &self.moved, q, y);
            }
            _ => load(&mut self.dual, self.configuration, &self.moved),
        }
        if sweep::<InlineDual<T, W>, WIDE>(&mut self.dual, self.need).is_err() {
            return false;
        }
        weigh::<InlineDual<T, W>, WIDE>(&mut self.dual, items, sample, &self.dual_mu);
        if WIDE {
            self.dual.run_adjoint_inline();
        } else {
            self.dual.run_adjoint();
            if let Some(chart) = &mut self.chart {
                chart.map.pull_back(&mut chart.dual, &mut self.dual.products.xi_bar);
            }
        }
        true
    }
}

/// As much of the forward sweep as is needed; with `WIDE` compiled into the caller.
#[inline(always)]
fn sweep<T: Real, const WIDE: bool>(jets: &mut JetWorkspace<T>, need: Need) -> Result<(), JetError> {
    match need {
        Need::Nothing => jets.normalize(),
        need if WIDE => jets.run_inline(need == Need::Forces),
        Need::Motion => jets.run_motion(),
        Need::Forces => jets.run(),
    }
}

/// A state (configuration, then plain derivatives) into positions and velocity coefficients.
#[inline(always)]
fn load<T: Real>(jets: &mut JetWorkspace<T>, configuration: usize, x: &[T]) {
    let (nv, n) = (jets.nv(), jets.velocity_count());
    jets.q.copy_from_slice(&x[..configuration]);
    for l in 0..n {
        let f = 1.0 / factorial(l);
        for c in 0..nv {
            jets.y[l * nv + c] = x[configuration + l * nv + c] * f;
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
            None => load(&mut self.jets, self.configuration, &self.x),
        }
    }

    /// The forward sweep of a placed state, as far as `need`.
    pub(super) fn run(&mut self, need: Need) -> bool {
        sweep::<f64, false>(&mut self.jets, need).is_ok()
    }

    /// Values at sample `s`; false, and NaN in their place, if it is not finite.
    pub(super) fn values(&mut self, items: &[Item], samples: Samples<'_>, s: usize, z: &mut [f64]) -> bool {
        self.place(samples, s);
        let fine = self.run(self.need);
        if fine {
            read::<f64, false>(&mut self.jets, items, samples.first + s, z);
        } else {
            z.fill(f64::NAN);
        }
        fine
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
        let (nv, directions) = (self.jets.nv(), self.directions);
        let size = samples.size() + nv - self.configuration;
        if !self.curve::<false>(items, samples.first + s, samples.times[s]) {
            hessian.fill(f64::NAN);
        } else if self.configuration == nv {
            add_symmetric(&self.curvature, directions, size, hessian);
        } else {
            for i in 0..directions.min(size) {
                for j in 0..directions.min(size) {
                    let (a, b) = (self.curvature[i * directions + j], self.curvature[j * directions + i]);
                    hessian[i * size + j] += 0.5 * (a + b);
                }
            }
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
