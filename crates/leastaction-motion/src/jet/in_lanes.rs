//! [`InLanes`]: the sweeps of four samples at once, one per lane of a vector.

use super::factorial;
use super::items::Item;
use super::lanes::Group;
use super::quantities::Weigh;
use super::samples::Samples;
use super::sweeps::{Sweeps, add_symmetric};
use super::workspace::JetWorkspace;
use crate::simd::{Exact, LANES, Task, Wide, has_wide, run_wide};

/// Directions that one dual sweep in lanes differentiates along. Measured on arms of three and seven joints, whole solves
/// in ms: 20.0 and 35.2 with one, 17.7 and 31.4 with two, 17.4 and 31.2 with three, 21.7 and 33.2 with four, 18.6 and 30.7
/// with seven (32.5 and 75.3 one sample after the other).
const W: usize = 3;

/// One sample per lane, rounded as plain numbers are: a sample has the same bits in a lane, alone, and on processors without
/// lanes.
type Lanes = Exact<Wide>;

/// Sweeps in the widest lanes of this processor.
pub(super) struct InLanes {
    sweeps: Sweeps<Lanes, W>,
    /// Gradients in lanes.
    gradient: Vec<Lanes>,
    /// The curvature, values or weights at each sample of a group.
    curvature: Vec<f64>,
    z: Vec<f64>,
    mu: Vec<f64>,
}

impl InLanes {
    /// Memory for a list of quantities; `None` if the processor has no wide lanes.
    pub(super) fn new(jets: &JetWorkspace<f64>, items: &[Item]) -> Option<Self> {
        has_wide().then(|| {
            let mut sweeps = Sweeps::new(jets, items, None);
            // Jacobians are not taken in lanes.
            sweeps.jets.composites = false;
            Self {
                gradient: sweeps.jets.products.xi_bar.clone(),
                curvature: vec![0.0; LANES * sweeps.curvature.len()],
                z: vec![0.0; LANES * sweeps.z.len()],
                mu: vec![0.0; LANES * sweeps.z.len()],
                sweeps,
            }
        })
    }

    pub(super) fn include_passive(&mut self, yes: bool) {
        self.sweeps.include_passive(yes);
    }

    /// Values at a group of samples; false, and nothing written, if one of them is not finite.
    pub(super) fn values(
        &mut self,
        items: &[Item],
        samples: Samples<'_>,
        group: Group,
        z: &mut [f64],
    ) -> bool {
        run_wide(Values { sweeps: &mut self.sweeps, items, samples, group, to: group, z })
    }

    /// Values, and the gradients of `Σ μ z` for the weights that `weigh` finds; false, and nothing written, if a sample is
    /// not finite.
    pub(super) fn gradients(
        &mut self,
        items: &[Item],
        samples: Samples<'_>,
        group: Group,
        weigh: Weigh<'_>,
        gradients: &mut [f64],
    ) -> bool {
        let (sweeps, rows, own) = (&mut self.sweeps, self.mu.len() / LANES, group.at_start());
        if !run_wide(Values { sweeps, items, samples, group, to: own, z: &mut self.z }) {
            return false;
        }
        for (k, s) in group.samples().enumerate() {
            let part = k * rows..(k + 1) * rows;
            weigh(s, &self.z[part.clone()], &mut self.mu[part]);
        }
        let (sweeps, mu, width) = (&mut self.sweeps, &self.mu, samples.size());
        run_wide(PullBack { sweeps, items, mu, gradient: &mut self.gradient, group, width, gradients });
        true
    }

    /// Adds the Hessians of `Σ μ z` at a group of samples; false, and nothing written, if one of them is not finite.
    pub(super) fn add_hessians(
        &mut self,
        items: &[Item],
        samples: Samples<'_>,
        group: Group,
        mu: &[f64],
        hessians: &mut [f64],
    ) -> bool {
        let (sweeps, curvature) = (&mut self.sweeps, &mut self.curvature);
        let (length, directions, size) = (sweeps.curvature.len(), sweeps.directions, samples.size());
        if !run_wide(Curvature { sweeps, items, samples, group, mu, curvature }) {
            return false;
        }
        for (s, curvature) in group.samples().zip(self.curvature.chunks_exact(length)) {
            add_symmetric(curvature, directions, size, &mut hessians[s * size * size..][..size * size]);
        }
        true
    }
}

// Lanes are packed and unpacked inside the tasks: outside them every operation on lanes is a call.

/// Values at the samples of one group.
struct Values<'a> {
    sweeps: &'a mut Sweeps<Lanes, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
    /// Where the values go.
    to: Group,
    z: &'a mut [f64],
}

impl Task for Values<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.group.pack(self.samples.x, self.samples.size(), &mut self.sweeps.x);
        let fine = self.sweeps.read_in_lanes(self.items);
        if fine {
            self.to.unpack(&self.sweeps.z, self.z);
        }
        fine
    }
}

/// Gradients at the samples of the group whose values were taken last.
struct PullBack<'a> {
    sweeps: &'a mut Sweeps<Lanes, W>,
    items: &'a [Item],
    mu: &'a [f64],
    gradient: &'a mut [Lanes],
    group: Group,
    width: usize,
    gradients: &'a mut [f64],
}

impl Task for PullBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (sweeps, rows) = (self.sweeps, self.mu.len() / LANES);
        self.group.at_start().pack(self.mu, rows, &mut sweeps.mu);
        sweeps.pull_back::<true>(self.items, 0);
        let (nv, n) = (sweeps.jets.nv(), sweeps.jets.velocity_count());
        for m in 0..n + 1 {
            let f = 1.0 / factorial(m);
            for i in m * nv..(m + 1) * nv {
                self.gradient[i] = sweeps.jets.products.xi_bar[i] * f;
            }
        }
        self.group.unpack_into(self.gradient, self.width, self.gradients);
    }
}

/// Curvature at the samples of one group.
struct Curvature<'a> {
    sweeps: &'a mut Sweeps<Lanes, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
    mu: &'a [f64],
    curvature: &'a mut [f64],
}

impl Task for Curvature<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let sweeps = self.sweeps;
        let rows = sweeps.mu.len();
        self.group.pack(self.samples.x, self.samples.size(), &mut sweeps.x);
        self.group.pack(self.mu, rows, &mut sweeps.mu);
        let fine = sweeps.curve::<true>(self.items, 0, 0.0);
        if fine {
            // Their own rows from the first one on, wherever the group lies in the batch.
            self.group.at_start().unpack(&sweeps.curvature, self.curvature);
        }
        fine
    }
}
