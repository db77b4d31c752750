//! [`InLanes`]: the sweeps of four samples at once, one per lane of a vector.

use super::factorial;
use super::items::Item;
use super::lanes::Group;
use super::quantities::Weigh;
use super::samples::Samples;
use super::sweeps::{Sweeps, add_symmetric};
use super::workspace::JetWorkspace;
use crate::simd::{LANES, Task, Wide, has_wide, run_wide};

/// Directions that one dual sweep in lanes differentiates along. Measured on arms of three and seven joints, whole solves
/// in ms: 20.0 and 35.2 with one, 17.7 and 31.4 with two, 17.4 and 31.2 with three, 21.7 and 33.2 with four, 18.6 and 30.7
/// with seven (32.5 and 75.3 one sample after the other).
const W: usize = 3;

/// Sweeps in the widest lanes of this processor.
pub(super) struct InLanes {
    sweeps: Sweeps<Wide, W>,
    /// Gradients in lanes.
    gradient: Vec<Wide>,
    /// The curvature, values or weights at each sample of a group.
    curvature: Vec<f64>,
    z: Vec<f64>,
    mu: Vec<f64>,
}

impl InLanes {
    /// Memory for a list of quantities; `None` if the processor has no wide lanes.
    pub(super) fn new(jets: &JetWorkspace<f64>, items: &[Item]) -> Option<Self> {
        has_wide().then(|| {
            let sweeps = Sweeps::new(jets, items, None);
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
        let fine = run_wide(Values { sweeps: &mut self.sweeps, items, samples, group });
        if fine {
            group.unpack(&self.sweeps.z, z);
        }
        fine
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
        if !run_wide(Values { sweeps: &mut self.sweeps, items, samples, group }) {
            return false;
        }
        let (rows, own, nv) = (self.sweeps.z.len(), group.at_start(), self.sweeps.jets.nv());
        own.unpack(&self.sweeps.z, &mut self.z);
        for (k, s) in group.samples().enumerate() {
            let part = k * rows..(k + 1) * rows;
            weigh(s, &self.z[part.clone()], &mut self.mu[part]);
        }
        own.pack(&self.mu, rows, &mut self.sweeps.mu);
        run_wide(PullBack { sweeps: &mut self.sweeps, items });
        for (i, g) in self.gradient.iter_mut().enumerate() {
            *g = self.sweeps.jets.products.xi_bar[i] * (1.0 / factorial(i / nv));
        }
        group.unpack_into(&self.gradient, samples.size(), gradients);
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
        let (rows, length) = (self.sweeps.mu.len(), self.sweeps.curvature.len());
        group.pack(mu, rows, &mut self.sweeps.mu);
        if !run_wide(Curvature { sweeps: &mut self.sweeps, items, samples, group }) {
            return false;
        }
        // Their own rows from the first one on, wherever the group lies in the batch.
        group.at_start().unpack(&self.sweeps.curvature, &mut self.curvature);
        let (directions, size) = (self.sweeps.directions, samples.size());
        for (s, curvature) in group.samples().zip(self.curvature.chunks_exact(length)) {
            add_symmetric(curvature, directions, size, &mut hessians[s * size * size..][..size * size]);
        }
        true
    }
}

/// Values at the samples of one group.
struct Values<'a> {
    sweeps: &'a mut Sweeps<Wide, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
}

impl Task for Values<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.group.pack(self.samples.x, self.samples.size(), &mut self.sweeps.x);
        self.sweeps.read_in_lanes(self.items)
    }
}

/// Gradients at the samples of the group whose values were taken last.
struct PullBack<'a> {
    sweeps: &'a mut Sweeps<Wide, W>,
    items: &'a [Item],
}

impl Task for PullBack<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.sweeps.pull_back::<true>(self.items, 0);
    }
}

/// Curvature at the samples of one group.
struct Curvature<'a> {
    sweeps: &'a mut Sweeps<Wide, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
}

impl Task for Curvature<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        self.group.pack(self.samples.x, self.samples.size(), &mut self.sweeps.x);
        self.sweeps.curve::<true>(self.items, 0, 0.0)
    }
}
