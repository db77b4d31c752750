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
        let closed = |k: usize, mem: &ContactMemory| {
            let (item, probe) = (&mem.items[k], &mem.probes[k]);
            probe.active && item.rows() == 3 && probe.u[0].abs() < still
        };
        let live = std::mem::take(&mut mem.live);
        let mut any = false;
        for (m, &k) in live.iter().enumerate() {
            if !closed(k, mem) || mem.probes[k].law.compliance > 0.0 {
                continue;
            }
            let links = mem.items[k].links;
            let [a, b] = links;
            let same = |j: usize, mem: &ContactMemory| {
                let other = mem.items[j].links;
                (other == links || other == [b, a]) && closed(j, mem)
            };
            let slips = |j: usize, mem: &ContactMemory| {
                elementary::hypot(mem.probes[j].u[1], mem.probes[j].u[2]) > slides
            };
            let (mut number, mut sliding) = (0, false);
            for &j in live[m..].iter().filter(|j| same(**j, mem)) {
                number += 1;
                sliding |= slips(j, mem);
            }
            if number > 3 && sliding {
                any = true;
                for &j in &live[m..] {
                    if same(j, mem) {
                        mem.probes[j].law.compliance = COMPLIANCE;
                    }
                }
            }
        }
        mem.live = live;
        any
    }
}
