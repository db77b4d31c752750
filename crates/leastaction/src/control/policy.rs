//! [`Policy`]: inputs over time with the feedback that makes a real motion follow them.

use serde::{Deserialize, Serialize};

use super::plant::state_difference;
use crate::mechanism::{Mechanism, State};

/// The schema key of policy files.
pub const POLICY_SCHEMA: &str = "leastaction/policy/1";

/// A state and input with feedback: what acts from some time on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hold {
    /// Positions, public convention.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
    /// Inputs.
    pub u: Vec<f64>,
    /// Change of each input per tangent of positions and velocities.
    pub gain: Vec<Vec<f64>>,
}

/// `u = u_k + K_k (x ⊟ x_k)` within limits, held over each step `k`; afterwards the regulator `hold`, for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// [`POLICY_SCHEMA`].
    pub schema: String,
    /// Name of the model.
    pub model: String,
    /// Hash of the model.
    pub model_hash: String,
    /// Seconds that inputs are held.
    pub step: f64,
    /// Joints that were given a motor (an input of their name); who replays gives them the same.
    #[serde(default)]
    pub motors: Vec<String>,
    /// Names of the inputs.
    pub inputs: Vec<String>,
    /// Labels of positions.
    pub q_labels: Vec<String>,
    /// Labels of velocities and of tangents.
    pub v_labels: Vec<String>,
    /// Smallest inputs; null where there is no limit.
    pub lower: Vec<Option<f64>>,
    /// Largest inputs.
    pub upper: Vec<Option<f64>>,
    /// What acts over each step.
    pub steps: Vec<Hold>,
    /// The state at the end of the last step.
    pub end: PolicyEnd,
    /// What acts after the end; without it inputs are zero.
    pub hold: Option<Hold>,
}

/// Where the motion of a policy ends and what it was meant to reach.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PolicyEnd {
    /// Positions of the planned motion at its end.
    pub q: Vec<f64>,
    /// Velocities there.
    pub v: Vec<f64>,
    /// Positions of the goal.
    pub goal_q: Vec<f64>,
    /// Velocities of the goal.
    pub goal_v: Vec<f64>,
}

impl Policy {
    /// Duration of the motion, without what holds it afterwards.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.steps.len() as f64 * self.step
    }

    /// Index of the sample that acts at time `t`, counted on after the end.
    #[must_use]
    pub fn sample_at(&self, t: f64) -> u64 {
        // A time that is a multiple up to rounding belongs to the step that begins there.
        (t / self.step + 1e-6).floor().max(0.0) as u64
    }

    /// A sentence about the first thing that does not fit the mechanism.
    ///
    /// # Errors
    /// That sentence.
    pub fn fits(&self, mechanism: &Mechanism) -> Result<(), String> {
        let (nq, nv, nu) = (mechanism.nq(), mechanism.nv(), mechanism.nu());
        if self.schema != POLICY_SCHEMA {
            return Err(format!("its schema is `{}`, not `{POLICY_SCHEMA}`", self.schema));
        }
        if !(self.step > 0.0 && self.step.is_finite()) {
            return Err(format!("its step {} is not a positive number", self.step));
        }
        if self.inputs != mechanism.inputs() {
            return Err(format!(
                "its inputs are [{}], those of `{}` are [{}]",
                self.inputs.join(", "),
                mechanism.name(),
                mechanism.inputs().join(", ")
            ));
        }
        if self.q_labels != mechanism.q_labels() || self.v_labels != mechanism.v_labels() {
            return Err(format!("its joints are not those of `{}`", mechanism.name()));
        }
        if self.lower.len() != nu || self.upper.len() != nu {
            return Err(format!(
                "it has {} and {} limits for {nu} inputs",
                self.lower.len(),
                self.upper.len()
            ));
        }
        for (name, low, high) in
            self.inputs.iter().zip(&self.lower).zip(&self.upper).map(|((n, l), u)| (n, l, u))
        {
            if let (Some(low), Some(high)) = (low, high)
                && low > high
            {
                return Err(format!("the limits of input `{name}` are {low} to {high}"));
            }
        }
        for (k, hold) in self.steps.iter().chain(&self.hold).enumerate() {
            let sizes = (hold.q.len(), hold.v.len(), hold.u.len(), hold.gain.len());
            if sizes != (nq, nv, nu, nu) || hold.gain.iter().any(|row| row.len() != 2 * nv) {
                return Err(format!("step {k} has other sizes than `{}`", mechanism.name()));
            }
        }
        let sizes = (self.end.q.len(), self.end.v.len(), self.end.goal_q.len(), self.end.goal_v.len());
        if sizes != (nq, nv, nq, nv) {
            return Err(format!("`end` has other sizes than `{}`", mechanism.name()));
        }
        Ok(())
    }

    /// Inputs of sample `k` at a state; without feedback the planned ones.
    pub fn input(&self, mechanism: &Mechanism, k: u64, state: &State, feedback: bool, out: &mut [f64]) {
        let acting = match usize::try_from(k).ok().and_then(|k| self.steps.get(k)) {
            Some(step) => step,
            None => match &self.hold {
                Some(hold) => hold,
                None => return out.fill(0.0),
            },
        };
        out.copy_from_slice(&acting.u);
        if feedback {
            let nominal = State { q: acting.q.clone(), v: acting.v.clone(), ..State::default() };
            let mut moved = vec![0.0; 2 * mechanism.nv()];
            state_difference(mechanism, &nominal, state, &mut moved);
            for (u, row) in out.iter_mut().zip(&acting.gain) {
                *u += row.iter().zip(&moved).map(|(k, d)| k * d).sum::<f64>();
            }
        }
        for (u, (low, high)) in out.iter_mut().zip(self.lower.iter().zip(&self.upper)) {
            if let Some(low) = low {
                *u = u.max(*low);
            }
            if let Some(high) = high {
                *u = u.min(*high);
            }
        }
    }

    /// Largest distance of a state from the goal: of positions and of velocities.
    #[must_use]
    pub fn distance(&self, mechanism: &Mechanism, state: &State) -> (f64, f64) {
        let n = mechanism.nv();
        let goal = State { q: self.end.goal_q.clone(), v: self.end.goal_v.clone(), ..State::default() };
        let mut moved = vec![0.0; 2 * n];
        state_difference(mechanism, &goal, state, &mut moved);
        (crate::linalg::largest(&moved[..n]), crate::linalg::largest(&moved[n..]))
    }
}
