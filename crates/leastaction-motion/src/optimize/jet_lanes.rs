//! [`InLanes`]: the sweeps of four samples at once, one per lane of a vector.

use super::jet_items::{Item, read};
use super::jet_sweeps::{Sweeps, add_symmetric};
use super::quantity::Samples;
use crate::jet::JetWorkspace;
use crate::jet::lanes::Group;
use crate::simd::{LANES, Simd, Task, Wide, has_wide, run_wide};

/// Directions that one dual sweep in lanes differentiates along. Measured on arms of three and seven joints, whole solves
/// in ms: 20.0 and 35.2 with one, 17.7 and 31.4 with two, 17.4 and 31.2 with three, 21.7 and 33.2 with four, 18.6 and 30.7
/// with seven (32.5 and 75.3 one sample after the other).
const W: usize = 3;

/// Sweeps in the widest lanes of this processor.
pub(super) struct InLanes {
    sweeps: Sweeps<Wide, W>,
    /// The curvature at each sample of a group.
    curvature: Vec<f64>,
}

impl InLanes {
    /// Memory for a list of quantities; `None` if the processor has no wide lanes.
    pub(super) fn new(jets: &JetWorkspace<f64>, rows: usize, highest: usize) -> Option<Self> {
        has_wide().then(|| {
            let sweeps = Sweeps::new(jets, rows, highest, None);
            Self { curvature: vec![0.0; LANES * sweeps.curvature.len()], sweeps }
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
        run_wide(Values { sweeps: &mut self.sweeps, items, samples, group, z })
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
        let (length, directions, size) = (sweeps.curvature.len(), sweeps.directions(), samples.size());
        if !run_wide(Curvature { sweeps, items, samples, group, mu, curvature }) {
            return false;
        }
        for (s, curvature) in group.samples().zip(self.curvature.chunks_exact(length)) {
            add_symmetric(curvature, directions, size, &mut hessians[s * size * size..][..size * size]);
        }
        true
    }
}

/// Values at the samples of one group.
struct Values<'a, V> {
    sweeps: &'a mut Sweeps<V, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
    z: &'a mut [f64],
}

impl<V: Simd> Task for Values<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let sweeps = self.sweeps;
        self.group.pack(self.samples.x, self.samples.size(), &mut sweeps.x);
        if !sweeps.forward_in_lanes() {
            return false;
        }
        read::<V, true>(&mut sweeps.jets, self.items, 0, &mut sweeps.z);
        self.group.unpack(&sweeps.z, self.z);
        true
    }
}

/// Curvature at the samples of one group.
struct Curvature<'a, V> {
    sweeps: &'a mut Sweeps<V, W>,
    items: &'a [Item],
    samples: Samples<'a>,
    group: Group,
    mu: &'a [f64],
    curvature: &'a mut [f64],
}

impl<V: Simd> Task for Curvature<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let sweeps = self.sweeps;
        self.group.pack(self.samples.x, self.samples.size(), &mut sweeps.x);
        let rows = sweeps.mu.len();
        self.group.pack(self.mu, rows, &mut sweeps.mu);
        if !sweeps.curve::<true>(self.items, 0, 0.0) {
            return false;
        }
        // Their own rows from the first one on, wherever the group lies in the batch.
        self.group.at_start().unpack(&sweeps.curvature, self.curvature);
        true
    }
}
