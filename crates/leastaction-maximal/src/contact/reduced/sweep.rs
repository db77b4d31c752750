//! Sweeps over the contacts: each one's law solved exactly, the others held.

use super::Reduced;
use crate::contact_law::Law;
use crate::spatial::{Mat3, Vec3};
use leastaction_core::scalar::elementary;

impl Reduced {
    /// Every contact in turn, its law solved with the others held; the largest change, as a speed.
    pub(super) fn sweep(&mut self, backwards: bool) -> f64 {
        let n = self.n;
        let mut moved = 0.0f64;
        for m in 0..self.members.len() {
            let member = self.members[if backwards { self.members.len() - 1 - m } else { m }];
            let (u, g) = self.local(&member);
            let f = member.first;
            let mut w = [[0.0; 3]; 3];
            for i in 0..member.rows {
                for j in 0..member.rows {
                    w[i][j] = self.w[(f + i) * n + f + j];
                }
                w[i][i] += (self.soft + 1e-12) / member.law.rho;
            }
            let new = match member.bound {
                Some((bound, sign)) => match sign {
                    Some(sign) => [-bound * sign, 0.0, 0.0],
                    None => [(g[0] - u[0] / w[0][0]).clamp(-bound, bound), 0.0, 0.0],
                },
                None => one_contact(&member.law, member.rows, &w, &u, &g),
            };
            for k in 0..member.rows {
                let change = new[k] - g[k];
                if change == 0.0 || !change.is_finite() {
                    continue;
                }
                self.g[f + k] = new[k];
                moved = moved.max(change.abs() * member.scale);
                for i in 0..n {
                    self.u[i] += self.w[i * n + f + k] * change;
                }
            }
        }
        moved
    }
}

/// One contact with the others held: `u + W (x − g)` and `x` obey the law.
fn one_contact(law: &Law, rows: usize, w: &[[f64; 3]; 3], u: &[f64; 3], g: &[f64; 3]) -> [f64; 3] {
    let mut w = *w;
    let mut b = *u;
    for i in 0..rows {
        for j in 0..rows {
            b[i] -= w[i][j] * g[j];
        }
    }
    // Compliance and restitution belong to the normal.
    b[0] += law.shift;
    w[0][0] += law.compliance / law.rho;
    if b[0] >= 0.0 {
        return [0.0; 3];
    }
    let least = 1e-3 * w[0][0];
    if let Some(d) = law.direction {
        let slope = (w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1])).max(least);
        let now = b[0] + (w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1])) * g[0];
        let normal = (g[0] - now / slope).max(0.0);
        return [normal, -law.mu * normal * d[0], -law.mu * normal * d[1]];
    }
    if rows == 1 || law.mu == 0.0 {
        return [(-b[0] / w[0][0]).max(0.0), 0.0, 0.0];
    }
    let stick = (Mat3(w).inverse() * Vec3(b) * -1.0).0;
    if stick[0] >= 0.0 && elementary::hypot(stick[1], stick[2]) <= law.mu * stick[0] {
        return stick;
    }
    // Slides: the direction at which slip and friction are opposite.
    let room = |d: [f64; 2]| w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1]);
    let slip = |d: [f64; 2]| {
        // Slip times the room: no poles.
        let of = |i: usize| b[i] * room(d) - b[0] * (w[i][0] - law.mu * (w[i][1] * d[0] + w[i][2] * d[1]));
        [of(1), of(2)]
    };
    let off = |d: [f64; 2]| {
        let s = slip(d);
        d[0] * s[1] - d[1] * s[0]
    };
    let unit = |p: f64| {
        let (s, c) = elementary::sin_cos(p);
        [c, s]
    };
    const PARTS: u32 = 24;
    let size = elementary::hypot(g[1], g[2]);
    let start = if size > 0.0 { elementary::atan2(-g[2], -g[1]) } else { elementary::atan2(b[2], b[1]) };
    let part = 2.0 * std::f64::consts::PI / f64::from(PARTS);
    let mut found: Option<[f64; 3]> = None;
    // From the direction of before outwards, on both sides in turn.
    for k in 0..PARTS {
        let place = f64::from(k.div_ceil(2)) * if k % 2 == 1 { 1.0 } else { -1.0 };
        let (mut low, mut high) = (start + (place - 0.5) * part, start + (place + 0.5) * part);
        // Only where sliding that way leaves the normal room; beyond, a root means nothing and hides its neighbour.
        match (room(unit(low)) > 0.0, room(unit(high)) > 0.0) {
            (true, true) => {}
            (false, false) => continue,
            (_, rises) => {
                let (mut a, mut b) = (low, high);
                for _ in 0..48 {
                    let middle = 0.5 * (a + b);
                    if (room(unit(middle)) > 0.0) == rises { b = middle } else { a = middle }
                }
                if rises { low = b } else { high = a }
            }
        }
        let (fl, fh) = (off(unit(low)), off(unit(high)));
        if fl * fh > 0.0 {
            continue;
        }
        let rises = fh > fl;
        for _ in 0..48 {
            let middle = 0.5 * (low + high);
            if (off(unit(middle)) > 0.0) == rises { high = middle } else { low = middle }
        }
        let d = unit(0.5 * (low + high));
        let (s, r) = (slip(d), room(d));
        if r > 1e-9 * w[0][0] && (s[0] * d[0] + s[1] * d[1]) / r >= 0.0 {
            let normal = -b[0] / r;
            found = Some([normal, -law.mu * normal * d[0], -law.mu * normal * d[1]]);
            break;
        }
    }
    found.unwrap_or_else(|| {
        // None (strong coupling of slip and normal): a projected step.
        let step = 1.0 / (w[0][0] + w[1][1] + w[2][2]);
        let at = |i: usize| b[i] + w[i][0] * g[0] + w[i][1] * g[1] + w[i][2] * g[2];
        let normal = (g[0] - step * at(0)).max(0.0);
        let (t1, t2) = (g[1] - step * at(1), g[2] - step * at(2));
        let size = elementary::hypot(t1, t2);
        let cut = if size > law.mu * normal { law.mu * normal / size } else { 1.0 };
        [normal, t1 * cut, t2 * cut]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_alone_is_solved_exactly_in_every_phase() {
        let w = [[1.5, 0.4, -0.2], [0.4, 2.0, 0.3], [-0.2, 0.3, 1.1]];
        for mu in [0.0, 0.3, 1.0, 10.0] {
            for u in [[-1.0, 0.1, 0.2], [-1.0, 3.0, -2.0], [0.5, 1.0, 0.0], [-1e-6, 1.0, 1.0]] {
                let law = Law::new(mu, 1.0);
                let g = one_contact(&law, 3, &w, &u, &[0.0; 3]);
                let at: [f64; 3] =
                    std::array::from_fn(|i| u[i] + w[i][0] * g[0] + w[i][1] * g[1] + w[i][2] * g[2]);
                let r = law.response(&at, &g).residual;
                assert!(r.iter().all(|r| r.abs() < 1e-11), "{mu} {u:?}: {r:?}");
            }
        }
    }
}
