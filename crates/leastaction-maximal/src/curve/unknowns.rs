//! The unknowns of a step, and their guess from the step before. (8.14)

use super::table::{MAX_DEGREE, PerNode, Table};
use crate::geometry::LinkPose;
use crate::ldu::{Six, angular, linear, six};
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};
use leastaction_core::scalar::elementary;

/// Poses at the nodes relative to the start, and impulses of the constraint rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unknowns {
    /// `ρ^γ = q^γ q̄⁰` and `dx^γ = x^γ − x⁰` of nodes 1 to s, by node and link.
    pub(crate) rho: Vec<Quat>,
    pub(crate) dx: Vec<Vec3>,
    /// Multipliers of nodes 0 to s − 1: of tree joints by node and link, of closures by node and closure.
    pub(crate) lam: Vec<Six>,
    pub(crate) closure: Vec<Six>,
    /// Those of coordinates that are held, by node and velocity coordinate, then of ties; empty where there are none.
    pub(crate) held: Vec<f64>,
}

/// The last steps: what the next one's guess is extrapolated from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    pub(crate) last: Unknowns,
    /// The two steps before it, newest first, of which the impulses are used; and how many of the three are of one length.
    pub(crate) older: [Unknowns; 2],
    pub(crate) count: usize,
    /// Its length; zero if there is none to extrapolate from.
    pub(crate) h: f64,
    /// Length of the step before it, zero if it was a fresh start: its first impulse belongs to both.
    pub(crate) before: f64,
}

impl Unknowns {
    pub(crate) fn new(s: usize, links: usize, closures: usize, held: usize) -> Self {
        Self {
            held: vec![0.0; s * held],
            rho: vec![Quat::identity(); s * links],
            dx: vec![Vec3::zero(); s * links],
            lam: vec![[0.0; 6]; s * links],
            closure: vec![[0.0; 6]; s * closures],
        }
    }

    pub(crate) fn copy_from(&mut self, o: &Self) {
        self.rho.copy_from_slice(&o.rho);
        self.dx.copy_from_slice(&o.dx);
        self.lam.copy_from_slice(&o.lam);
        self.closure.copy_from_slice(&o.closure);
        self.held.copy_from_slice(&o.held);
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let poses = self.rho.iter().flat_map(|q| q.to_array()).chain(self.dx.iter().flat_map(|x| x.0));
        poses.chain(self.lam.iter().chain(&self.closure).flatten().copied()).chain(self.held.iter().copied())
    }

    pub(crate) fn read(&mut self, mut next: impl FnMut() -> f64) {
        for q in &mut self.rho {
            *q = Quat::from_slice(&std::array::from_fn::<f64, 4, _>(|_| next()));
        }
        self.dx.iter_mut().for_each(|x| *x = Vec3(std::array::from_fn(|_| next())));
        self.lam.iter_mut().chain(&mut self.closure).flatten().for_each(|x| *x = next());
        self.held.iter_mut().for_each(|x| *x = next());
    }

    /// Rotation and translation at the constant velocity `[Ω; v]` (world axes, centre of mass) of every link; no impulses.
    pub(crate) fn coast(&mut self, table: &Table, h: f64, w: impl Fn(usize) -> Six) {
        let n = self.rho.len() / table.s;
        for i in 0..n {
            let w = w(i);
            let (turn, v) = (angular(&w), linear(&w));
            let rate = turn.norm();
            for ga in 1..=table.s {
                let t = table.c[ga] * h;
                let (s, c) = elementary::sin_cos(0.5 * rate * t);
                let s = if rate > 0.0 { s / rate } else { 0.5 * t };
                self.rho[(ga - 1) * n + i] = Quat { w: c, v: turn * s };
                self.dx[(ga - 1) * n + i] = v * t;
            }
        }
        self.lam.fill([0.0; 6]);
        self.closure.fill([0.0; 6]);
        self.held.fill(0.0);
    }

    /// The polynomials of the last two steps, continued, and the impulses of every node over the last three. (8.14)
    ///
    /// Impulses of different nodes of a step are of different accuracy, so that each is followed from step to step.
    #[inline(always)]
    pub(crate) fn continue_steps(&mut self, table: &Table, past: &Past) {
        let s = table.s;
        let n = self.rho.len() / s;
        let (last, older) = (&past.last, &past.older[0]);
        for i in 0..n {
            let end = (s - 1) * n + i;
            let (back, away) = (last.rho[end].conj(), last.dx[end]);
            let (back_older, away_older) = (older.rho[end].conj() * back, older.dx[end] + away);
            // Nodes of the step before the last, then of the last, seen from its end; both ends of the last are among them.
            let mut seen = [(Quat { w: 1.0, v: Vec3::zero() }, Vec3::zero()); 2 * MAX_DEGREE + 1];
            seen[0] = (back_older, -away_older);
            seen[s] = (back, -away);
            for be in 1..s {
                let at = (be - 1) * n + i;
                seen[be] = (older.rho[at] * back_older, older.dx[at] - away_older);
                seen[s + be] = (last.rho[at] * back, last.dx[at] - away);
            }
            for ga in 1..=s {
                let (mut q, mut x) = (Quat { w: 0.0, v: Vec3::zero() }, Vec3::zero());
                for (weight, (r, d)) in table.ahead[ga].iter().zip(&seen).take(2 * s + 1) {
                    q = Quat { w: q.w + weight * r.w, v: q.v + r.v * *weight };
                    x += *d * *weight;
                }
                self.rho[(ga - 1) * n + i] = normalised(q);
                self.dx[(ga - 1) * n + i] = x;
            }
        }
        let (a, b, c) = if past.count > 2 { (3.0, -3.0, 1.0) } else { (2.0, -1.0, 0.0) };
        let oldest = &past.older[1];
        let mix = |to: &mut [Six], x: &[Six], y: &[Six], z: &[Six]| {
            for (k, to) in to.iter_mut().enumerate() {
                *to = crate::scalar::by_entry(|m| a * x[k][m] + b * y[k][m] + c * z[k][m]);
            }
        };
        mix(&mut self.lam, &last.lam, &older.lam, &oldest.lam);
        mix(&mut self.closure, &last.closure, &older.closure, &oldest.closure);
        for (k, to) in self.held.iter_mut().enumerate() {
            *to = a * last.held[k] + b * older.held[k] + c * oldest.held[k];
        }
    }

    /// The polynomials of the last step, continued; impulses by their densities. (8.14)
    #[inline(always)]
    pub(crate) fn extrapolate(&mut self, table: &Table, past: &Past, h: f64) {
        let s = table.s;
        let n = self.rho.len() / s;
        let ratio = h / past.h;
        let mut at = [[0.0; super::NODES]; super::NODES];
        let mut density = at;
        for k in 0..=s {
            at[k] = table.basis(s + 1, 1.0 + table.c[k] * ratio);
            density[k] = table.basis(s, 1.0 + table.c[k] * ratio);
        }
        let last = &past.last;
        for i in 0..n {
            let end = (s - 1) * n + i;
            let (back, away) = (last.rho[end].conj(), last.dx[end]);
            // The start of the last step, seen from its end, is one more node.
            for ga in 1..=s {
                let e: &PerNode = &at[ga];
                let mut q = Quat { w: e[0] * back.w, v: back.v * e[0] };
                let mut x = away * -e[0];
                for be in 1..s {
                    let r = last.rho[(be - 1) * n + i] * back;
                    q = Quat { w: q.w + e[be] * r.w, v: q.v + r.v * e[be] };
                    x += (last.dx[(be - 1) * n + i] - away) * e[be];
                }
                q.w += e[s];
                self.rho[(ga - 1) * n + i] = normalised(q);
                self.dx[(ga - 1) * n + i] = x;
            }
        }
        // Impulses are densities times weights; those of a shared node belong to both its steps.
        let mut weights = [[0.0; super::NODES]; super::NODES];
        for al in 0..s {
            let to = if al == 0 { table.w[0] * (past.h + h) } else { table.w[al] * h };
            for be in 0..s {
                let from = if be == 0 { table.w[0] * (past.before + past.h) } else { table.w[be] * past.h };
                weights[al][be] = density[al][be] * to / from;
            }
        }
        let mix = |from: &[Six], to: &mut [Six]| {
            let n = to.len() / s;
            for al in 0..s {
                for i in 0..n {
                    let mut sum = [0.0; 6];
                    for be in 0..s {
                        for k in 0..6 {
                            sum[k] += weights[al][be] * from[be * n + i][k];
                        }
                    }
                    to[al * n + i] = sum;
                }
            }
        };
        mix(&last.lam, &mut self.lam);
        mix(&last.closure, &mut self.closure);
        let held = self.held.len() / s;
        for al in 0..s {
            for c in 0..held {
                self.held[al * held + c] = (0..s).map(|be| weights[al][be] * last.held[be * held + c]).sum();
            }
        }
    }

    /// Pose of link `i` at node `γ ≥ 1`.
    #[inline(always)]
    pub(crate) fn pose(&self, n: usize, ga: usize, i: usize, start: &LinkPose) -> LinkPose {
        let at = (ga - 1) * n + i;
        let q = self.rho[at] * start.q;
        // One Newton step towards length one: the error is of rounding size.
        let s = 1.5 - 0.5 * (q.w * q.w + q.v.norm2());
        LinkPose { q: Quat { w: q.w * s, v: q.v * s }, x: start.x + self.dx[at] }
    }
}

impl Past {
    pub(crate) fn new(s: usize, links: usize, closures: usize, held: usize) -> Self {
        let unknowns = || Unknowns::new(s, links, closures, held);
        Self { last: unknowns(), older: [unknowns(), unknowns()], count: 0, h: 0.0, before: 0.0 }
    }

    pub(crate) fn copy_from(&mut self, o: &Self) {
        self.last.copy_from(&o.last);
        for (x, o) in self.older.iter_mut().zip(&o.older) {
            x.copy_from(o);
        }
        (self.count, self.h, self.before) = (o.count, o.h, o.before);
    }

    /// Takes in a step of length `h` that was just solved, in exchange for memory.
    pub(crate) fn take(&mut self, x: &mut Unknowns, h: f64, before: f64) {
        self.count = if self.h == h { (self.count + 1).min(3) } else { 1 };
        (self.h, self.before) = (h, before);
        let [older, oldest] = &mut self.older;
        std::mem::swap(older, oldest);
        std::mem::swap(&mut self.last, older);
        std::mem::swap(&mut self.last, x);
    }

    pub(crate) fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        let steps = std::iter::once(&self.last).chain(&self.older);
        [self.h, self.before, self.count as f64].into_iter().chain(steps.flat_map(Unknowns::numbers))
    }

    /// Reads what [`numbers`](Self::numbers) gave; false if it cannot be.
    pub(crate) fn read(&mut self, mut next: impl FnMut() -> f64) -> bool {
        (self.h, self.before) = (next(), next());
        let count = next();
        self.last.read(&mut next);
        for x in &mut self.older {
            x.read(&mut next);
        }
        self.count = count as usize;
        (0.0..=3.0).contains(&count)
    }

    /// `[ω; v]` of link `i` over the last step, link and world axes: the turn from its start to its end, as by the sine map.
    pub(crate) fn mean_velocity(&self, i: usize, n: usize, rot: &Mat3) -> Option<Six> {
        let at = self.last.rho.len().checked_sub(n)? + i;
        if self.h == 0.0 {
            return None;
        }
        let omega = rot.tr_mul(self.last.rho[at].v) * (2.0 / self.h);
        Some(six(omega, self.last.dx[at] * (1.0 / self.h)))
    }

    /// The next step starts from velocities alone.
    pub(crate) fn forget(&mut self) {
        (self.h, self.count) = (0.0, 0);
    }
}

/// Length one.
#[inline(always)]
pub(crate) fn normalised<T: Real>(q: Quat<T>) -> Quat<T> {
    let s = T::one() / (q.w * q.w + q.v.norm2()).sqrt();
    Quat { w: q.w * s, v: q.v * s }
}
