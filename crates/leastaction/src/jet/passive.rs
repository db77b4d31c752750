//! Springs, dampers and rotors inside the joints, with their time derivatives.
//!
//! The torque an actuator must supply is `τ + a q̈ + d q̇ + ∂V/∂q`. For one-axis joints these are multiples of
//! derivatives of q. A ball joint's spring has the torque `2 k w v` for the unit quaternion `(w, v)`, a free joint's in
//! addition the force `k Rᵀ p`; with `δw = −v·a/2`, `δv = (w a + v × a)/2` their slopes along a right perturbation are
//!
//! ```text
//! δ(2 w v) = (w² + w v̂ − v vᵀ) a,        δ(Rᵀp) = b + (Rᵀp) × a                                  (4.15)
//! ```

use super::stage::{Stage, StageKind};
use super::taylor::next;
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Quat, Twist, Vec3};

impl<T: Real> JetWorkspace<T> {
    /// Whether torques and their Jacobian include springs, dampers and armature of the joints (off at first).
    ///
    /// Takes effect at the next [`forward`](Self::forward). The matrix-free products leave them out.
    pub fn include_passive(&mut self, yes: bool) {
        self.passive = yes;
    }

    /// Adds the passive torques to `tau`.
    pub(crate) fn add_passive(&mut self) {
        let (nv, count) = (self.tree.nv, self.n - 1);
        let tree = std::sync::Arc::clone(&self.tree);
        for stage in &tree.stages {
            let p = &stage.passive;
            for i in 0..stage.nv {
                let c = stage.v + i;
                for l in 0..count {
                    let rate = self.y[(l + 1) * nv + c] * (p.armature[i] * next(l));
                    self.tau[l * nv + c] += rate + self.y[l * nv + c] * p.damping[i];
                }
            }
            match stage.kind {
                StageKind::Turn(_) | StageKind::Slide(_) => {
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
                StageKind::Ball | StageKind::Free if p.stiffness[0] != 0.0 => {
                    let k = p.stiffness[0];
                    let (w, v, slide) = self.joint_jets(stage, count);
                    for l in 0..count {
                        let mut torque = Vec3::zero();
                        for m in 0..=l {
                            torque += v[l - m] * w[m];
                        }
                        for i in 0..3 {
                            self.tau[l * nv + stage.v + i] += torque[i] * (2.0 * k);
                            if stage.kind == StageKind::Free {
                                self.tau[l * nv + stage.v + 3 + i] += slide[l][i] * k;
                            }
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Jets of a ball or free joint: quaternion (scalar, vector) and `Rᵀ p`.
    fn joint_jets(&self, stage: &Stage, count: usize) -> (Vec<T>, Vec<Vec3<T>>, Vec<Vec3<T>>) {
        let nv = self.tree.nv;
        let y3 =
            |l: usize, c: usize| Vec3([self.y[l * nv + c], self.y[l * nv + c + 1], self.y[l * nv + c + 2]]);
        let q = Quat::from_slice(&self.q[stage.q..stage.q + 4]);
        let (mut w, mut v) = (vec![q.w], vec![q.v]);
        let mut slide = vec![match stage.kind {
            StageKind::Free => {
                let p = &self.q[stage.q + 4..stage.q + 7];
                q.conj().rotate(Vec3([p[0], p[1], p[2]]))
            }
            _ => Vec3::zero(),
        }];
        for l in 0..count.saturating_sub(1) {
            // q' = q ∘ (0, ω)/2,  (Rᵀp)' = u − ω × Rᵀp.
            let (mut dw, mut dv) = (T::zero(), Vec3::zero());
            let mut ds = if stage.kind == StageKind::Free { y3(l, stage.v + 3) } else { Vec3::zero() };
            for m in 0..=l {
                let omega = y3(m, stage.v);
                dw -= v[l - m].dot(omega);
                dv += omega * w[l - m] + v[l - m].cross(omega);
                ds -= omega.cross(slide[l - m]);
            }
            let f = 1.0 / next(l);
            w.push(dw * (0.5 * f));
            v.push(dv.scale(0.5 * f));
            slide.push(ds.scale(f));
        }
        (w, v, slide)
    }

    /// Passive part of the generating jets of one pair of coordinates, added to `m`, `c`, `k`.
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
        if stiffness == 0.0 {
            return;
        }
        let (w, v, slide) = self.joint_jets(stage, count);
        for l in 0..count {
            let mut x = T::zero();
            if i < 3 && j < 3 {
                for a in 0..=l {
                    if i == j {
                        x += w[a] * w[l - a];
                    }
                    x += w[a] * v[l - a].cross(unit(j))[i] - v[a][i] * v[l - a][j];
                }
            } else if i >= 3 && j >= 3 {
                if l == 0 && i == j {
                    x = T::one();
                }
            } else if i >= 3 {
                x = slide[l].cross(unit(j))[i - 3];
            }
            k[l] += x * stiffness;
        }
    }
}
