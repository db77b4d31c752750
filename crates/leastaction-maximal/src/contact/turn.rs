//! Where friction turns round within a step: the step is cut there. (9.18)

use super::super::ldu::Six;
use super::item::Kind;
use super::step::Driver;
use crate::contact_law::Impacts;
use leastaction_core::scalar::elementary;

impl Driver<'_> {
    /// Where in the part just taken a sliding row turns round: the fraction to cut it at, none if none does. (9.18)
    pub(super) fn turn(&mut self, h: f64) -> Option<f64> {
        let slides = self.mem.options.slide_speed;
        let mut turning = Vec::new();
        // Rates at both ends; the end's rows are in place.
        let ends: Vec<[f64; 3]> = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
        self.back();
        self.open(h, self.mem.options.impacts == Impacts::Located);
        let starts: Vec<[f64; 3]> = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
        for (k, item) in self.mem.items.iter().enumerate() {
            let (from, to, probe) = (starts[k], ends[k], &self.mem.probes[k]);
            let rubs = item.is_friction() || (item.mu > 0.0 && !probe.was_open);
            let size = elementary::hypot(from[1], from[2]);
            if rubs && size * item.arm > slides {
                let stopped = elementary::hypot(to[1], to[2]) * item.arm <= slides;
                if stopped || from[1] * to[1] + from[2] * to[2] < 0.0 {
                    turning.push(k);
                }
            }
        }
        if turning.is_empty() {
            // The part stands as it was: take it again.
            let located = self.mem.options.impacts == Impacts::Located;
            if self.interval(h, located, &[]).converged {
                self.accept(h);
                self.settle(h, &[]);
            }
            return None;
        }
        for &k in &turning {
            let [_, a, b] = starts[k];
            let size = elementary::hypot(a, b);
            let probe = &mut self.mem.probes[k];
            if self.mem.items[k].is_friction() {
                probe.sign = Some(a.signum());
            } else {
                probe.law.direction = Some([a / size, b / size]);
            }
        }
        let located = self.mem.options.impacts == Impacts::Located;
        let mut fraction = f64::INFINITY;
        if self.interval(h, located, &turning).converged {
            self.accept(h);
            if self.settle(h, &turning).0.converged {
                let trial = self.row_rates(&self.state.contact.w, &self.state.contact.rate);
                for &k in &turning {
                    let [_, a, b] = starts[k];
                    let v0 = elementary::hypot(a, b);
                    let v1 = (trial[k][1] * a + trial[k][2] * b) / v0;
                    if v1 < 0.0 {
                        fraction = fraction.min(v0 / (v0 - v1));
                    }
                }
            }
        }
        if fraction > 1e-9 && fraction < 1.0 - 1e-9 {
            return Some(fraction);
        }
        // Nothing turns after all: the part once more without prescription.
        self.back();
        self.open(h, located);
        if self.interval(h, located, &[]).converged {
            self.accept(h);
            self.settle(h, &[]);
        }
        None
    }

    /// Slip of every row with the rows of the node at hand; that of a coordinate in the second place.
    fn row_rates(&self, w: &[Six], rate: &[f64]) -> Vec<[f64; 3]> {
        let of = |k: usize| match self.mem.items[k].kind {
            Kind::Pair { .. } => self.mem.probes[k].rates(&self.mem.items[k], w),
            Kind::Limit { .. } | Kind::Tied { .. } => [0.0; 3],
            Kind::Friction { at, .. } => [0.0, rate[at.v], 0.0],
        };
        (0..self.mem.items.len()).map(of).collect()
    }
}
