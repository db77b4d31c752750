//! [`MinimalState`]: position and momentum, and what the next step's guess is made from.

use super::segments::{Motion, Segments};
use crate::integrator::rows::RowStates;
use crate::integrator::{StepError, expect_state};
use crate::mechanism::{JointType, Mechanism, State, WarmStart};
use crate::spatial::{Mat3, Quat, Vec3};
use leastaction_core::scalar::elementary;

/// Time, positions, discrete momenta and the previous step's curve.
///
/// Momenta are conjugate to the engine's velocity coordinates: the public ones, except for floating joints, which
/// have the translation (parent joint axes) first and then the rotation (child axes).
#[derive(Clone, Debug, PartialEq)]
pub struct MinimalState {
    /// Time.
    pub t: f64,
    /// Positions, public convention.
    pub q: Vec<f64>,
    /// Discrete momenta, engine order.
    pub p: Vec<f64>,
    /// Node increments of the last steps, newest first, `s` per coordinate.
    pub(crate) history: Vec<f64>,
    /// Lengths of those steps; zero where there is none.
    pub(crate) steps: [f64; HISTORY],
    /// Steps for which the cheap iteration is not tried, because it failed lately.
    pub(crate) caution: f64,
    /// True if a warm start came with the start but did not agree with its positions and velocities.
    pub(crate) warm_start_dropped: bool,
    /// What rows with friction or limits do.
    pub(crate) rows: RowStates,
}

/// How many previous steps are kept.
pub(crate) const HISTORY: usize = 7;

impl MinimalState {
    /// Node increments of the last step, engine order: `[γ][coordinate]`, `γ = 1..=s`; empty before the first step.
    #[must_use]
    pub fn last_increments(&self) -> Vec<Vec<f64>> {
        let n = self.p.len();
        if n == 0 || self.steps[0] == 0.0 {
            return Vec::new();
        }
        let s = self.history.len() / (HISTORY * n);
        (0..s).map(|ga| (0..n).map(|c| self.history[c * s + ga]).collect()).collect()
    }

    pub(crate) fn new(mechanism: &Mechanism, s: usize, state: &State) -> Result<Self, StepError> {
        expect_state(mechanism, state)?;
        Ok(Self {
            t: state.t,
            q: state.q.clone(),
            p: vec![0.0; mechanism.nv()],
            history: vec![0.0; HISTORY * s * mechanism.nv()],
            steps: [0.0; HISTORY],
            caution: 0.0,
            warm_start_dropped: false,
            rows: RowStates::new(mechanism),
        })
    }

    /// Back to positions alone, as [`new`](Self::new) leaves a state.
    pub(crate) fn reset(&mut self, mechanism: &Mechanism, state: &State) -> Result<(), StepError> {
        expect_state(mechanism, state)?;
        self.t = state.t;
        self.q.clone_from(&state.q);
        self.p.fill(0.0);
        self.history.fill(0.0);
        self.steps = [0.0; HISTORY];
        self.caution = 0.0;
        self.warm_start_dropped = false;
        self.rows.forget();
        Ok(())
    }

    /// Everything but time and positions, as numbers.
    pub(crate) fn to_warm(&self) -> Vec<f64> {
        let mut data = self.p.clone();
        data.extend(self.steps);
        data.push(self.caution);
        data.extend(&self.history);
        self.rows.write(&mut data);
        data
    }

    /// Takes over a warm start of the same method; false if it does not fit.
    pub(crate) fn take_warm(&mut self, warm: &WarmStart) -> bool {
        let (n, k) = (self.p.len(), self.history.len());
        let own = n + HISTORY + 1 + k;
        if warm.data.len() != own + self.rows.numbers() || warm.data.iter().any(|x| !x.is_finite()) {
            return false;
        }
        self.p.copy_from_slice(&warm.data[..n]);
        self.steps.copy_from_slice(&warm.data[n..n + HISTORY]);
        self.caution = warm.data[n + HISTORY];
        self.history.copy_from_slice(&warm.data[n + HISTORY + 1..own]);
        self.rows.read(&warm.data[own..])
    }

    /// `self = other` without allocating.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.t = other.t;
        self.q.copy_from_slice(&other.q);
        self.p.copy_from_slice(&other.p);
        self.history.copy_from_slice(&other.history);
        self.steps = other.steps;
        self.caution = other.caution;
        self.warm_start_dropped = other.warm_start_dropped;
        self.rows.copy_from(&other.rows);
    }
}

/// Public positions to the engine's: coordinates in `base`, rotations in `anchors`.
pub(crate) fn split_position(mechanism: &Mechanism, q: &[f64], base: &mut [f64], anchors: &mut [Mat3]) {
    let mut ball = 0;
    for node in &mechanism.tree().nodes {
        let q = &q[node.q..node.q + node.nq];
        match node.kind {
            JointType::Spherical => {
                base[node.v..node.v + 3].fill(0.0);
                anchors[ball] = Quat::from_slice(q).to_matrix();
                ball += 1;
            }
            JointType::Floating => {
                base[node.v..node.v + 3].copy_from_slice(&q[4..7]);
                base[node.v + 3..node.v + 6].fill(0.0);
                anchors[ball] = Quat::from_slice(q).to_matrix();
                ball += 1;
            }
            _ => base[node.v..node.v + node.nv].copy_from_slice(q),
        }
    }
}

/// Moves public positions by the increments of the last node: rotations by `φ(ξ)` on the right.
pub(crate) fn move_position(mechanism: &Mechanism, q: &mut [f64], delta: impl Fn(usize) -> f64) {
    for node in &mechanism.tree().nodes {
        let q = &mut q[node.q..node.q + node.nq];
        let turn = |first: usize, q: &mut [f64]| {
            let axis = |i: usize| {
                let (s, c) = elementary::sin_cos(0.5 * delta(first + i));
                let mut v = Vec3::zero();
                v[i] = s;
                Quat { w: c, v }
            };
            let r = (Quat::from_slice(q) * (axis(0) * axis(1) * axis(2))).normalized();
            q[..4].copy_from_slice(&r.to_array());
        };
        match node.kind {
            JointType::Spherical => turn(node.v, q),
            JointType::Floating => {
                for i in 0..3 {
                    q[4 + i] += delta(node.v + i);
                }
                turn(node.v + 3, q);
            }
            _ => {
                for (c, q) in q.iter_mut().enumerate() {
                    *q += delta(node.v + c);
                }
            }
        }
    }
}

/// Engine velocities to public ones (and momenta likewise: the map of a floating joint is orthogonal).
pub(crate) fn to_public(mechanism: &Mechanism, q: &[f64], v: &mut [f64]) {
    for node in mechanism.tree().nodes.iter().filter(|n| n.kind == JointType::Floating) {
        let r = Quat::from_slice(&q[node.q..node.q + 4]);
        let v = &mut v[node.v..node.v + 6];
        let linear = r.conj().rotate(Vec3([v[0], v[1], v[2]]));
        v.copy_within(3..6, 0);
        v[3..6].copy_from_slice(&linear.0);
    }
}

/// Public velocities to engine ones.
pub(crate) fn from_public(mechanism: &Mechanism, q: &[f64], v: &mut [f64]) {
    for node in mechanism.tree().nodes.iter().filter(|n| n.kind == JointType::Floating) {
        let r = Quat::from_slice(&q[node.q..node.q + 4]);
        let v = &mut v[node.v..node.v + 6];
        let linear = r.rotate(Vec3([v[3], v[4], v[5]]));
        v.copy_within(0..3, 3);
        v[0..3].copy_from_slice(&linear.0);
    }
}

/// Largest magnitude among coordinates that are ordinary numbers.
pub(crate) fn largest_coordinate(segments: &Segments, base: &[f64]) -> f64 {
    segments
        .list
        .iter()
        .filter(|s| s.motion != Motion::Ball && !s.droppable)
        .fold(0.0, |m: f64, s| m.max(base[s.coordinate].abs()))
}
