//! Sliding contacts: when a prescribed direction is given up, and what makes flat sliding unique.

use super::memory::ContactMemory;
use super::step::Driver;
use leastaction_core::scalar::elementary;

/// Normal velocity below which a contact is closed over an interval, of the model's speed.
const STILL: f64 = 1e-7;
/// Compliance that makes flat sliding contacts unique.
const COMPLIANCE: f64 = 1e-4;

impl Driver<'_> {
    /// All contacts get the full law but those in `prescribed`; true if there was one with a direction.
    pub(super) fn free_all(&mut self, prescribed: &[usize]) -> bool {
        let mem = &mut *self.mem;
        let mut freed = false;
        for &k in &mem.live {
            if !prescribed.contains(&k) {
                freed |= mem.probes[k].law.direction.take().is_some();
            }
        }
        freed
    }

    /// Contacts with a prescribed direction that are about to stop or to turn get the full law; true if there was one.
    pub(super) fn free_stopping(&mut self, prescribed: &[usize]) -> bool {
        let Self { mem, state, .. } = self;
        let mut freed = false;
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            let Some(d) = probe.law.direction.filter(|_| probe.active && !prescribed.contains(&k)) else {
                continue;
            };
            let u = probe.rates(item, &state.contact.w);
            let size = elementary::hypot(u[1], u[2]);
            if probe.gam[0] > 0.0 && probe.u[1] * d[0] + probe.u[2] * d[1] < 0.5 * size {
                probe.law.direction = None;
                freed = true;
            }
        }
        freed
    }

    /// Where more than three contacts of two links are closed and one slides, normal impulses are not unique: makes those contacts
    /// a little soft. True if there are any. (9.16)
    pub(super) fn soften(&mut self) -> bool {
        let mem = &mut *self.mem;
        let (still, slides) = (STILL * mem.options.speed, mem.options.slide_speed);
        let ContactMemory { items, probes, live, between, .. } = mem;
        between.clear();
        for &k in live.iter() {
            let (item, probe) = (&items[k], &probes[k]);
            if probe.active && item.rows() == 3 && probe.u[0].abs() < still {
                let mut links = item.links.map(|link| link.unwrap_or(usize::MAX));
                links.sort_unstable();
                between.push((links, k));
            }
        }
        between.sort_unstable();
        let mut any = false;
        for same in between.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 3) {
            let slips = |k: usize| elementary::hypot(probes[k].u[1], probes[k].u[2]) > slides;
            if same.iter().any(|(_, k)| slips(*k)) {
                any = true;
                for &(_, k) in same {
                    probes[k].law.compliance = COMPLIANCE;
                }
            }
        }
        any
    }
}
