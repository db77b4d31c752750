//! Newton's method on the laws of an island at once.

use super::super::dense::{Product, solve_in_place};
use super::super::rows::PROXIMAL;
use super::{MOST_ISLAND, Reduced};
use crate::contact_law::{Response, box_law};
use leastaction_core::simd::run_widest;

/// Most iterations.
const NEWTON: u32 = 25;

impl Reduced {
    /// Newton's method on all laws at once, with halving; the residual left and the iterations.
    pub(super) fn newton(&mut self) -> (f64, u32) {
        let n = self.n;
        let proximal = PROXIMAL.min(0.1 * self.soft);
        self.refresh();
        let mut merit = self.merit();
        for iteration in 0..NEWTON {
            if merit <= self.tolerance() {
                return (merit, iteration);
            }
            self.products += self.linearize(proximal);
            if self.products > MOST_ISLAND {
                return (merit, iteration);
            }
            let m = self.moving.len();
            let (matrix, right) = (&mut self.matrix[..m * m], &mut self.right[..m]);
            if !solve_in_place(m, matrix, right) {
                return (merit, iteration + 1);
            }
            for (row, change) in self.moving.iter().zip(right) {
                self.step[*row] = *change;
            }
            // Velocities are linear in the impulses: one product for all lengths.
            self.base.copy_from_slice(&self.g);
            run_widest(Product { w: &self.w, x: &self.step, out: &mut self.push });
            let (mut length, mut accepted) = (1.0, false);
            for _ in 0..12 {
                for i in 0..n {
                    self.g[i] = self.base[i] + length * self.step[i];
                    self.u[i] += length * self.push[i];
                }
                let next = self.merit();
                if next <= merit * (1.0 - 1e-4 * length) {
                    accepted = true;
                    break;
                }
                for i in 0..n {
                    self.u[i] -= length * self.push[i];
                }
                length *= 0.5;
            }
            if !accepted {
                self.g.copy_from_slice(&self.base);
            }
            self.refresh();
            if !accepted {
                return (merit, iteration + 1);
            }
            merit = self.merit();
        }
        (merit, NEWTON)
    }

    /// The laws' linear equations at the impulses at hand, of the rows that answer to velocities: an open contact gives its impulse
    /// up whatever the others do, and moves to the right-hand side. Most of what is near is open, and elimination costs the cube.
    /// Fills the steps of the open rows; returns the products that solving costs.
    fn linearize(&mut self, proximal: f64) -> f64 {
        self.responses.clear();
        self.moving.clear();
        for member in &self.members {
            let (u, g) = self.local(member);
            let response = match member.bound {
                Some((bound, sign)) => {
                    let [r, by_velocity, by_impulse] = box_law(bound, member.law.rho, 0.0, sign, u[0], g[0]);
                    let mut out = Response::default();
                    (out.residual[0], out.by_velocity[0][0], out.by_impulse[0][0]) =
                        (r, by_velocity, by_impulse);
                    out
                }
                None => member.law.response(&u, &g),
            };
            for i in 0..member.rows {
                let moves = response.by_velocity[i][..member.rows].iter().any(|a| *a != 0.0);
                self.step[member.first + i] = if moves { 0.0 } else { -response.residual[i] };
                if moves {
                    self.moving.push(member.first + i);
                }
            }
            self.responses.push(response);
        }
        run_widest(Product { w: &self.w, x: &self.step, out: &mut self.push });
        let (n, m) = (self.n, self.moving.len());
        let mut place = 0;
        for (member, response) in self.members.iter().zip(&self.responses) {
            let (f, scale, soft) = (member.first, 1.0 / member.law.rho, self.soft / member.law.rho);
            for i in 0..member.rows {
                if self.moving.get(place) != Some(&(f + i)) {
                    continue;
                }
                let target = &mut self.matrix[place * m..(place + 1) * m];
                target.fill(0.0);
                let mut right = response.residual[i];
                let a = &response.by_velocity[i];
                for k in (0..member.rows).filter(|k| a[*k] != 0.0) {
                    let row = &self.w[(f + k) * n..(f + k + 1) * n];
                    let factor = scale * a[k];
                    target.iter_mut().zip(&self.moving).for_each(|(t, j)| *t += factor * row[*j]);
                    right += a[k] * self.push[f + k];
                }
                for k in 0..member.rows {
                    let own = f64::from(u8::from(i == k)) * proximal;
                    let slope = (1.0 - proximal) * response.by_impulse[i][k] + own + a[k] * soft;
                    right += slope * self.step[f + k];
                    // Rows of a contact stand side by side.
                    let at = self.moving[..m].partition_point(|j| *j < f + k);
                    if self.moving.get(at) == Some(&(f + k)) {
                        target[at] += scale * slope;
                    }
                }
                self.right[place] = -scale * right;
                place += 1;
            }
        }
        (m as f64).powi(3)
    }
}
