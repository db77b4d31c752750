//! [`Group`]: four samples of a batch in the lanes of a vector, and back.

use crate::simd::{Exact, LANES, Simd};

/// Samples of a batch that are evaluated at once. The last lanes of the last group repeat the last sample; their results
/// are not written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group {
    /// The sample in each lane.
    at: [usize; LANES],
    /// Lanes that hold a sample of their own.
    used: usize,
}

impl Group {
    /// The group that begins with sample `first` of `samples`; `None` beyond the last one.
    #[inline(always)]
    pub(super) fn from(first: usize, samples: usize) -> Option<Self> {
        let last = samples.checked_sub(1).filter(|last| first <= *last)?;
        let at = [first, last.min(first + 1), last.min(first + 2), last.min(first + 3)];
        Some(Self { at, used: LANES.min(samples - first) })
    }

    /// The group after this one.
    #[inline(always)]
    pub(super) fn next(self, samples: usize) -> Option<Self> {
        Self::from(self.at[0] + LANES, samples)
    }

    /// The same number of samples at the beginning of a batch.
    #[inline(always)]
    pub(super) fn at_start(&self) -> Self {
        Self { at: [0, 1, 2, 3], used: self.used }
    }

    /// The samples of the group.
    #[inline(always)]
    pub(super) fn samples(&self) -> std::ops::Range<usize> {
        self.at[0]..self.at[0] + self.used
    }

    /// Takes rows of `width` numbers into lanes: as many of each as `to` holds, zeros if it holds more.
    #[inline(always)]
    pub(super) fn pack<V: Simd>(&self, from: &[f64], width: usize, to: &mut [Exact<V>]) {
        for i in 0..width.min(to.len()) {
            to[i] = Exact::from_lanes([
                from[self.at[0] * width + i],
                from[self.at[1] * width + i],
                from[self.at[2] * width + i],
                from[self.at[3] * width + i],
            ]);
        }
        for i in width..to.len() {
            to[i] = Exact::default();
        }
    }

    /// Writes lanes as rows of `from.len()` numbers, one per sample.
    #[inline(always)]
    pub(super) fn unpack<V: Simd>(&self, from: &[Exact<V>], to: &mut [f64]) {
        self.unpack_into(from, from.len(), to);
    }

    /// Writes lanes as rows of `width` numbers, one per sample: as many of each as there are.
    #[inline(always)]
    pub(super) fn unpack_into<V: Simd>(&self, from: &[Exact<V>], width: usize, to: &mut [f64]) {
        for i in 0..width.min(from.len()) {
            let lanes = from[i].lanes();
            for k in 0..self.used {
                to[self.at[k] * width + i] = lanes[k];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;

    #[test]
    fn lanes_hold_every_sample_once_and_repeat_the_last() {
        for samples in 0..10 {
            let from: Vec<f64> = (0..samples * 3).map(|i| i as f64).collect();
            let mut to = vec![f64::NAN; from.len()];
            let mut next = Group::from(0, samples);
            let mut seen = Vec::new();
            while let Some(group) = next {
                let mut lanes = [Exact::<Portable>::default(); 3];
                group.pack(&from, 3, &mut lanes);
                assert_eq!(lanes[2].lanes()[3], (group.samples().end * 3 - 1) as f64);
                group.unpack(&lanes, &mut to);
                seen.extend(group.samples());
                next = group.next(samples);
            }
            assert_eq!(to, from);
            assert_eq!(seen, (0..samples).collect::<Vec<_>>());
        }
    }
}
