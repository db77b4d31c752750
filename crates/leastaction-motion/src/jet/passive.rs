//! Springs, dampers and rotors inside the joints, with their time derivatives.
//!
//! The torque an actuator must supply is `τ + a q̈ + d q̇ + ∂V/∂q`. For one-axis joints these are multiples of
//! derivatives of q. A ball joint's spring has the torque `2 k w v` for the unit quaternion `(w, v)`, a free joint's in
//! addition the force `k Rᵀ p`; with `δw = −v·a/2`, `δv = (w a + v × a)/2` their slopes along a right perturbation are
//!
//! ```text
//! δ(2 w v) = (w² + w v̂ − v vᵀ) a,        δ(Rᵀp) = b + (Rᵀp) × a                                  (4.15)
//! ```

use super::stage::StageKind;
use super::taylor::next;
use super::torque_jacobian::emit;
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Quat, Twist, Vec3};

/// One coefficient of a ball or free joint: unit quaternion `(w, v)` and `Rᵀ p`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpringJet<T> {
    w: T,
    v: Vec3<T>,
    slide: Vec3<T>,
}

impl<T: Real> SpringJet<T> {
    pub(crate) fn zero() -> Self {
        Self { w: T::zero(), v: Vec3::zero(), slide: Vec3::zero() }
    }
}

impl<T: Real> JetWorkspace<T> {
    /// Whether torques, their Jacobians and products include springs, dampers and armature of the joints (off at
    /// first). Takes effect at the next [`forward`](Self::forward).
    pub fn include_passive(&mut self, yes: bool) {
        self.passive = yes;
    }

    /// Adds the passive torques to `tau`.
    #[inline(always)]
    pub(crate) fn add_passive(&mut self) {
        self.spring_jets();
        let (nv, count) = (self.tree.nv, self.n - 1);
        let tree = std::sync::Arc::clone(&self.tree);
        for stage in tree.stages.iter().filter(|stage| stage.passive.acts()) {
            let p = &stage.passive;
            for i in 0..stage.nv {
                let c = stage.v + i;
                for l in 0..count {
                    let rate = self.y[(l + 1) * nv + c] * (p.armature[i] * next(l));
                    self.tau[l * nv + c] += rate + self.y[l * nv + c] * p.damping[i];
                }
            }
            match (stage.kind, stage.spring) {
                (StageKind::Turn(_) | StageKind::Slide(_), _) => {
                    let (k, c) = (p.stiffness[0], stage.v);
                    for l in 0..count {
                        let q = if l == 0 {
                            self.q[stage.q] - T::from_f64(p.rest[0])
                        } else {
                            self.y[(l - 1) * nv + c] * (1.0 / l as f64)
                        };
                        self.tau[l * nv + c] += q * k;
                    }
                }
                (_, Some(spring)) => {
                    let (k, jet) = (p.stiffness[0], &self.springs[spring * self.n..]);
                    for l in 0..count {
                        let mut torque = Vec3::zero();
                        for m in 0..=l {
                            torque += jet[l - m].v * jet[m].w;
                        }
                        for i in 0..3 {
                            self.tau[l * nv + stage.v + i] += torque[i] * (2.0 * k);
                            if stage.kind == StageKind::Free {
                                self.tau[l * nv + stage.v + 3 + i] += jet[l].slide[i] * k;
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Jets of all ball and free joints with a spring: `q' = q ∘ (0, ω)/2`, `(Rᵀp)' = u − ω × Rᵀp`.
    #[inline(always)]
    pub(crate) fn spring_jets(&mut self) {
        let nv = self.tree.nv;
        let tree = std::sync::Arc::clone(&self.tree);
        for stage in &tree.stages {
            let Some(spring) = stage.spring else { continue };
            let free = stage.kind == StageKind::Free;
            let y = &self.y;
            let y3 = |l: usize, c: usize| Vec3([y[l * nv + c], y[l * nv + c + 1], y[l * nv + c + 2]]);
            let q = Quat::from_slice(&self.q[stage.q..stage.q + 4]);
            let slide = if free {
                let p = &self.q[stage.q + 4..stage.q + 7];
                q.conj().rotate(Vec3([p[0], p[1], p[2]]))
            } else {
                Vec3::zero()
            };
            let jet = &mut self.springs[spring * self.n..(spring + 1) * self.n];
            jet[0] = SpringJet { w: q.w, v: q.v, slide };
            for l in 0..jet.len() - 1 {
                let (mut dw, mut dv) = (T::zero(), Vec3::zero());
                let mut ds = if free { y3(l, stage.v + 3) } else { Vec3::zero() };
                for m in 0..=l {
                    let (omega, at) = (y3(m, stage.v), jet[l - m]);
                    dw -= at.v.dot(omega);
                    dv += omega * at.w + at.v.cross(omega);
                    ds -= omega.cross(at.slide);
                }
                let f = 1.0 / next(l);
                jet[l + 1] = SpringJet { w: dw * (0.5 * f), v: dv.scale(0.5 * f), slide: ds.scale(f) };
            }
        }
    }

    /// Calls `visit(row, column, m, c, k)` for every pair of coordinates that passive forces couple; `mck` is scratch of
    /// `3 (k + 1)` numbers. The jets of springs are up to date.
    #[inline(always)]
    pub(crate) fn each_passive_pair(
        &self,
        mck: &mut [T],
        mut visit: impl FnMut(usize, usize, &[T], &[T], &[T]),
    ) {
        let count = self.n - 1;
        let (m, rest) = mck.split_at_mut(count);
        let (c, k) = rest.split_at_mut(count);
        for stage in self.tree.stages.iter().filter(|stage| stage.passive.acts()) {
            for row in stage.v..stage.v + stage.nv {
                for column in stage.v..stage.v + stage.nv {
                    [&mut *m, &mut *c, &mut *k].into_iter().for_each(|jet| jet.fill(T::zero()));
                    self.add_passive_pair(row, column, m, c, k);
                    visit(row, column, m, c, k);
                }
            }
        }
    }

    /// The passive part of `J ξ`, added to `out`.
    pub(crate) fn add_passive_tangent(&mut self, xi: &[T], out: &mut [T]) {
        let (nv, count) = (self.tree.nv, self.n - 1);
        let mut mck = std::mem::take(&mut self.torque_scratch.mck);
        self.each_passive_pair(&mut mck, |row, column, m, c, k| {
            for l in 0..count {
                for order in 0..l + 3 {
                    out[l * nv + row] += emit(m, c, k, l, order) * xi[order * nv + column];
                }
            }
        });
        self.torque_scratch.mck = mck;
    }

    /// The passive part of `Jᵀ λ`, added to the result of the adjoint sweep.
    #[inline(always)]
    pub(crate) fn add_passive_adjoint(&mut self) {
        if !(self.passive && self.products.has_torque && self.n > 1) {
            return;
        }
        let (nv, count) = (self.tree.nv, self.n - 1);
        let mut mck = std::mem::take(&mut self.torque_scratch.mck);
        let mut xi_bar = std::mem::take(&mut self.products.xi_bar);
        let lambda = &self.products.lambda;
        self.each_passive_pair(&mut mck, |row, column, m, c, k| {
            for l in 0..count {
                for order in 0..l + 3 {
                    xi_bar[order * nv + column] += emit(m, c, k, l, order) * lambda[l * nv + row];
                }
            }
        });
        self.torque_scratch.mck = mck;
        self.products.xi_bar = xi_bar;
    }

    /// Passive part of the generating jets of one pair of coordinates, added to `m`, `c`, `k`.
    #[inline(always)]
    pub(crate) fn add_passive_pair(&self, row: usize, column: usize, m: &mut [T], c: &mut [T], k: &mut [T]) {
        let at = self.tree.column_stage[row];
        if at != self.tree.column_stage[column] {
            return;
        }
        let stage = &self.tree.stages[at];
        let (i, j) = (row - stage.v, column - stage.v);
        let p = &stage.passive;
        if i == j {
            m[0] += T::from_f64(p.armature[i]);
            c[0] += T::from_f64(p.damping[i]);
        }
        if stage.nv == 1 {
            k[0] += T::from_f64(p.stiffness[0]);
            return;
        }
        let (nv, count) = (self.tree.nv, k.len());
        let y3 =
            |l: usize, c: usize| Vec3([self.y[l * nv + c], self.y[l * nv + c + 1], self.y[l * nv + c + 2]]);
        let unit = |i: usize| {
            let mut e = Vec3::zero();
            e[i] = T::one();
            e
        };
        // d δy = d (ξ' + ad(y) ξ).
        if p.damping[i] != 0.0 {
            for l in 0..count {
                let bracket = if stage.kind == StageKind::Ball {
                    y3(l, stage.v).cross(unit(j))[i]
                } else {
                    let e = Twist::new(
                        if j < 3 { unit(j) } else { Vec3::zero() },
                        if j < 3 { Vec3::zero() } else { unit(j - 3) },
                    );
                    Twist::new(y3(l, stage.v), y3(l, stage.v + 3)).cross(e).to_array()[i]
                };
                k[l] += bracket * p.damping[i];
            }
        }
        let stiffness = p.stiffness[0];
        let Some(spring) = stage.spring else { return };
        let jet = &self.springs[spring * self.n..];
        for l in 0..count {
            let mut x = T::zero();
            if i < 3 && j < 3 {
                for a in 0..=l {
                    let (one, other) = (&jet[a], &jet[l - a]);
                    if i == j {
                        x += one.w * other.w;
                    }
                    x += one.w * other.v.cross(unit(j))[i] - one.v[i] * other.v[j];
                }
            } else if i >= 3 && j >= 3 {
                if l == 0 && i == j {
                    x = T::one();
                }
            } else if i >= 3 {
                x = jet[l].slide.cross(unit(j))[i - 3];
            }
            k[l] += x * stiffness;
        }
    }
}
