//! [`MotionChart`]: from spline coordinates to the configuration and velocities of a mechanism, and back.
//!
//! One-axis coordinates and the positions of free joints are the spline itself. Orientations of ball and free joints
//! are rotation splines (5.9) about the arc between the boundary states, three coordinates φ each. So a state of the
//! spline, `x = (x, x', …)` with one entry per velocity coordinate, stays a vector: band, boundary and limits need no
//! second treatment, and only quantities pass through the chart.

use super::factorial;
use crate::mechanism::{JointType, Mechanism};
use crate::scalar::Real;
use crate::spatial::{Quat, Vec3};
use crate::spline::{RotationJet, RotationReference};

/// How the coordinates of a motion's spline become a motion of the mechanism.
#[derive(Clone, Debug)]
pub struct MotionChart {
    nq: usize,
    nv: usize,
    /// Position and velocity coordinate of everything that is a plain number.
    plain: Vec<(usize, usize)>,
    rotations: Vec<Rotation>,
}

/// The orientation of a ball or free joint.
#[derive(Clone, Debug)]
struct Rotation {
    q: usize,
    v: usize,
    /// Its joint also moves: position coordinates follow the quaternion.
    free: bool,
    reference: RotationReference,
}

/// Memory of a chart for one scalar type.
#[derive(Clone, Debug)]
pub(super) struct ChartJets<T> {
    jets: Vec<RotationJet<T>>,
    bar: Vec<Vec3<T>>,
}

impl MotionChart {
    /// The chart of motions from one configuration to another. A configuration that does not fit the mechanism counts as
    /// the neutral one.
    #[must_use]
    pub fn new(mechanism: &Mechanism, from: &[f64], to: &[f64], duration: f64) -> Self {
        let neutral = mechanism.neutral_state().q;
        let at = |q: &[f64], i: usize| {
            let q = if q.len() == neutral.len() { q } else { &neutral };
            let quat = Quat::from_slice(&q[i..i + 4]);
            if quat.norm() > 1e-6 { quat } else { Quat::identity() }
        };
        let mut this =
            Self { nq: mechanism.nq(), nv: mechanism.nv(), plain: Vec::new(), rotations: Vec::new() };
        for id in mechanism.tree_joints() {
            let (q, v) = (mechanism.q_range(id), mechanism.v_range(id));
            let free = match mechanism.joint(id).kind {
                JointType::Spherical => false,
                JointType::Floating => true,
                _ => {
                    this.plain.extend(q.zip(v));
                    continue;
                }
            };
            if free {
                this.plain.extend((q.start + 4..q.end).zip(v.start + 3..v.end));
            }
            let reference = RotationReference::between(at(from, q.start), at(to, q.start), duration);
            this.rotations.push(Rotation { q: q.start, v: v.start, free, reference });
        }
        this
    }

    /// True if the spline's coordinates are the mechanism's own.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.rotations.is_empty()
    }

    /// Number of position coordinates of the mechanism.
    #[must_use]
    pub fn nq(&self) -> usize {
        self.nq
    }

    /// Position coordinate of velocity coordinate `c`, if it is a plain number; `None` for rotations.
    #[must_use]
    pub fn position_of(&self, c: usize) -> Option<usize> {
        self.plain.iter().find(|(_, v)| *v == c).map(|(q, _)| *q)
    }

    pub(super) fn jets<T: Real>(&self, n: usize) -> ChartJets<T> {
        ChartJets { jets: vec![RotationJet::new(n); self.rotations.len()], bar: vec![Vec3::zero(); n + 1] }
    }

    /// Configuration `q` and velocity coefficients `y` (order-major) at time `t` from the spline's plain derivatives
    /// `x[order * nv + c]`; orders that `x` lacks are zero.
    pub(super) fn motion_into<T: Real>(
        &self,
        work: &mut ChartJets<T>,
        t: f64,
        x: &[T],
        q: &mut [T],
        y: &mut [T],
    ) {
        let (nv, n) = (self.nv, y.len() / self.nv.max(1));
        let taylor = |l: usize, c: usize| x.get(l * nv + c).map_or(T::zero(), |x| *x * (1.0 / factorial(l)));
        for (i, c) in &self.plain {
            q[*i] = taylor(0, *c);
            for l in 0..n {
                y[l * nv + c] = taylor(l + 1, *c) * (l + 1) as f64;
            }
        }
        for (rotation, jet) in self.rotations.iter().zip(&mut work.jets) {
            let v = rotation.v;
            let three = |l: usize, c: usize| Vec3([taylor(l, c), taylor(l, c + 1), taylor(l, c + 2)]);
            jet.evaluate(&rotation.reference, t, |l| three(l, v));
            q[rotation.q..rotation.q + 4].copy_from_slice(&jet.orientation.to_array());
            for l in 0..n {
                y[l * nv + v..][..3].copy_from_slice(&jet.omega[l].0);
                if rotation.free {
                    // The linear velocity in the child's frame, Rᵀ p'.
                    let mut u = Vec3::zero();
                    for m in 0..=l {
                        u += jet.inverse[l - m] * three(m + 1, v + 3).scale((m + 1) as f64);
                    }
                    y[l * nv + v + 3..][..3].copy_from_slice(&u.0);
                }
            }
        }
    }

    /// Turns weights on the tangent jets (order-major, Taylor) into weights on the spline's, in place. The jets are those
    /// of the last [`motion_into`](Self::motion_into).
    pub(super) fn pull_back<T: Real>(&self, work: &mut ChartJets<T>, bar: &mut [T]) {
        let nv = self.nv;
        for (rotation, jet) in self.rotations.iter().zip(&mut work.jets) {
            let count = work.bar.len();
            let three = |bar: &[T], l: usize, c: usize| Vec3(std::array::from_fn(|i| bar[l * nv + c + i]));
            for l in 0..count {
                work.bar[l] = three(bar, l, rotation.v);
            }
            jet.pull_back(&mut work.bar);
            for l in 0..count {
                bar[l * nv + rotation.v..][..3].copy_from_slice(&work.bar[l].0);
            }
            if rotation.free {
                // ξ_v = Rᵀ δp.
                for m in 0..count {
                    let mut sum = Vec3::zero();
                    for l in m..count {
                        sum += jet.inverse[l - m].tr_mul(three(bar, l, rotation.v + 3));
                    }
                    bar[m * nv + rotation.v + 3..][..3].copy_from_slice(&sum.0);
                }
            }
        }
    }

    /// The motion at time `t` from the spline's plain derivatives: the configuration, and velocity, acceleration, …, one
    /// row less than `x` has orders.
    #[must_use]
    pub fn motion(&self, t: f64, x: &[f64]) -> (Vec<f64>, Vec<Vec<f64>>) {
        let n = (x.len() / self.nv.max(1)).saturating_sub(1);
        let (mut q, mut y) = (vec![0.0; self.nq], vec![0.0; n * self.nv]);
        self.motion_into(&mut self.jets(n), t, x, &mut q, &mut y);
        let rows = y.chunks(self.nv.max(1)).enumerate();
        (q, rows.map(|(l, row)| row.iter().map(|y| y * factorial(l)).collect()).collect())
    }

    /// The spline's coordinates of a configuration at time `t`.
    #[must_use]
    pub fn coordinates(&self, t: f64, q: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.nv];
        for (i, c) in &self.plain {
            x[*c] = q[*i];
        }
        for rotation in &self.rotations {
            let quat = Quat::from_slice(&q[rotation.q..rotation.q + 4]);
            x[rotation.v..rotation.v + 3].copy_from_slice(&rotation.reference.coordinates(t, quat).0);
        }
        x
    }

    /// Derivatives of the spline's coordinates at time `t` that give a state (configuration, velocity, acceleration, …).
    ///
    /// Velocities determine them order by order: the coefficient `l` of a velocity holds `(l + 1) φ_{l+1}` (or
    /// `(l + 1) Rᵀ p_{l+1}`) and lower orders.
    pub(crate) fn boundary(&self, t: f64, state: &[Vec<f64>]) -> Vec<Vec<f64>> {
        if self.is_identity() || state.is_empty() {
            return state.to_vec();
        }
        let (nv, n) = (self.nv, state.len() - 1);
        let mut x = self.coordinates(t, &state[0]);
        x.resize((n + 1) * nv, 0.0);
        // Boundary states are what the reference passes through: φ is zero there to the last bit.
        for rotation in &self.rotations {
            x[rotation.v..rotation.v + 3].fill(0.0);
        }
        let mut work = self.jets::<f64>(n);
        let (mut q, mut y) = (vec![0.0; self.nq], vec![0.0; n * nv]);
        for l in 0..n {
            self.motion_into(&mut work, t, &x, &mut q, &mut y);
            let f = factorial(l);
            let gap = |c: usize| state[l + 1][c] - f * y[l * nv + c];
            // With derivative l + 1 still zero, the gap is what it adds: dexp_0 = 1 for φ, Rᵀ for p.
            let mut row: Vec<f64> = (0..nv).map(gap).collect();
            for (rotation, jet) in self.rotations.iter().zip(&work.jets) {
                if rotation.free {
                    let at = rotation.v + 3;
                    let world = jet.inverse[0].tr_mul(Vec3([row[at], row[at + 1], row[at + 2]]));
                    row[at..at + 3].copy_from_slice(&world.0);
                }
            }
            x[(l + 1) * nv..(l + 2) * nv].copy_from_slice(&row);
        }
        x.chunks(nv).map(<[f64]>::to_vec).collect()
    }
}
