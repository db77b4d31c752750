//! A start from where all contacts stick.

use super::super::dense::{Product, solve_in_place};
use super::{HARD, MOST_ISLAND, Reduced};
use leastaction_core::scalar::elementary;
use leastaction_core::simd::run_widest;

/// Where all that stick stick: rounds in which what pulls is let go, and sweeps from there.
const STICK_ROUNDS: u32 = 4;

impl Reduced {
    /// Impulses at which all contacts stick that push then, cut off at their cones.
    pub(super) fn stick(&mut self) {
        let n = self.n;
        let mut pulls = std::mem::take(&mut self.queue);
        pulls.clear();
        // W γ₀, once for all rounds; nothing is done with velocities before they are made anew.
        run_widest(Product { w: &self.w, x: &self.g0, out: &mut self.u });
        for _ in 0..STICK_ROUNDS {
            self.matrix[..n * n].copy_from_slice(&self.w);
            for m in 0..self.members.len() {
                let member = self.members[m];
                let open = pulls.contains(&m);
                for row in member.first..member.first + member.rows {
                    let shift = if row == member.first { member.law.shift } else { 0.0 };
                    self.right[row] = if open { 0.0 } else { self.u[row] - self.u0[row] - shift };
                    if open {
                        self.matrix[row * n..(row + 1) * n].fill(0.0);
                    }
                    let own = if open { 1.0 } else { HARD };
                    self.matrix[row * n + row] += own / member.law.rho;
                }
            }
            self.products += (n as f64).powi(3);
            if self.products > MOST_ISLAND {
                break;
            }
            if !solve_in_place(n, &mut self.matrix[..n * n], &mut self.right[..n]) {
                break;
            }
            self.g.copy_from_slice(&self.right[..n]);
            let before = pulls.len();
            for (m, member) in self.members.iter().enumerate() {
                if member.bound.is_none() && self.g[member.first] < 0.0 && !pulls.contains(&m) {
                    pulls.push(m);
                }
            }
            if pulls.len() == before {
                break;
            }
        }
        pulls.clear();
        self.queue = pulls;
        for member in &self.members {
            let g = &mut self.g[member.first..member.first + member.rows];
            if let Some((bound, _)) = member.bound {
                g[0] = g[0].clamp(-bound, bound);
                continue;
            }
            g[0] = g[0].max(0.0);
            if let [normal, a, b] = g {
                let (size, most) = (elementary::hypot(*a, *b), member.law.mu * *normal);
                if size > most {
                    (*a, *b) = (*a * (most / size), *b * (most / size));
                }
            }
        }
    }
}
