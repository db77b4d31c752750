//! Policy files on the way to an integrator: reading, holding inputs, replaying.

use std::path::Path;

use leastaction::control::Policy;
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::{Mechanism, State};
use leastaction_core::scalar::maximum;

use crate::failure::Failure;
use crate::on_tape;

/// Seconds that a policy goes on with its hold when nothing else is said.
pub const HOLD_SECONDS: f64 = 5.0;

/// Reads a policy file.
pub fn read(path: &Path) -> Result<Policy, Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the policy `{}`", path.display()), &error)
            .help("name the `policy.json` that `leastaction control` wrote")
    })?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::caused_by(format!("`{}` is not a policy", path.display()), &error)
            .help("name the `policy.json` that `leastaction control` wrote")
    })
}

/// Refuses a policy for another mechanism.
pub fn expect_fit(policy: &Policy, mechanism: &Mechanism, path: &Path) -> Result<(), Failure> {
    policy.fits(mechanism).map_err(|reason| {
        Failure::new(format!("the policy `{}` does not fit: {reason}", path.display()))
            .help("name the model that the policy was made for")
    })
}

/// A policy at work: evaluated when one of its steps begins, held until the next.
#[derive(Clone, Debug)]
pub struct Player {
    /// What it plays.
    pub policy: Policy,
    /// False: the planned inputs, whatever the state.
    pub feedback: bool,
    sample: Option<u64>,
    values: Vec<f64>,
}

// The policy is given by the run.
on_tape!(Player: sample, values);

impl Player {
    /// Ready for the first step.
    pub fn new(policy: Policy, feedback: bool) -> Self {
        let values = vec![0.0; policy.inputs.len()];
        Self { policy, feedback, sample: None, values }
    }

    /// Back to before the first step.
    pub fn rewind(&mut self) {
        self.sample = None;
    }

    /// The inputs from time `t` on.
    pub fn at(&mut self, mechanism: &Mechanism, t: f64, state: &State) -> &[f64] {
        let sample = self.policy.sample_at(t);
        if self.sample != Some(sample) {
            self.policy.input(mechanism, sample, state, self.feedback, &mut self.values);
            self.sample = Some(sample);
        }
        &self.values
    }
}

/// How near the goal a replay came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Nearness {
    /// Whether the end of the motion was reached.
    pub reached: bool,
    /// Largest distance of a position at the end of the motion, in rad or m.
    pub position: f64,
    /// Largest distance of a velocity there.
    pub velocity: f64,
    /// The largest distances from then on.
    pub worst_after: (f64, f64),
    /// The distances at the very end.
    pub last: (f64, f64),
}

impl Default for Nearness {
    /// Nothing seen yet.
    fn default() -> Self {
        let unknown = f64::NAN;
        Self {
            reached: false,
            position: unknown,
            velocity: unknown,
            worst_after: (0.0, 0.0),
            last: (unknown, unknown),
        }
    }
}

on_tape!(Nearness: reached, position, velocity, worst_after, last);

impl Nearness {
    /// Looks at the state at time `t`.
    pub fn look(&mut self, policy: &Policy, mechanism: &Mechanism, t: f64, state: &State) {
        if t < policy.duration() - 1e-6 * policy.step {
            return;
        }
        let (q, v) = policy.distance(mechanism, state);
        if !self.reached {
            (self.reached, self.position, self.velocity) = (true, q, v);
        }
        self.worst_after = (maximum(self.worst_after.0, q), maximum(self.worst_after.1, v));
        self.last = (q, v);
    }

    /// For machines.
    pub fn to_json(self) -> serde_json::Value {
        serde_json::json!({
            "reached": self.reached,
            "position": self.position,
            "velocity": self.velocity,
            "worst_position_afterwards": self.worst_after.0,
            "worst_velocity_afterwards": self.worst_after.1,
            "last_position": self.last.0,
            "last_velocity": self.last.1,
        })
    }

    /// For people: at the end of the motion.
    pub fn sentence(&self) -> String {
        format!("{:.2e} rad or m and {:.2e} rad/s or m/s from the goal", self.position, self.velocity)
    }
}

/// Replays a policy from its first state with another integrator, for its duration and `after` seconds more.
pub fn replay(
    policy: &Policy,
    mechanism: &Mechanism,
    method: (Method, &MethodOptions),
    step: f64,
    after: f64,
    feedback: bool,
) -> Result<Nearness, StepError> {
    replay_seen(policy, mechanism, method, step, after, feedback, &mut |_, _| {})
}

/// As [`replay`], showing time and state before every step and at the end.
pub fn replay_seen(
    policy: &Policy,
    mechanism: &Mechanism,
    (method, options): (Method, &MethodOptions),
    step: f64,
    after: f64,
    feedback: bool,
    see: &mut dyn FnMut(f64, &State),
) -> Result<Nearness, StepError> {
    let Some(first) = policy.steps.first() else { return Ok(Nearness::default()) };
    let start = State { q: first.q.clone(), v: first.v.clone(), ..State::default() };
    let mut simulator = Simulator::new(mechanism, method, options, &start)?;
    let mut player = Player::new(policy.clone(), feedback);
    let mut near = Nearness::default();
    let steps = ((policy.duration() + after) / step).round() as u64;
    for k in 0..steps {
        see(k as f64 * step, simulator.state());
        let u = player.at(mechanism, k as f64 * step, simulator.state());
        simulator.step(u, step)?;
        near.look(policy, mechanism, (k + 1) as f64 * step, simulator.state());
    }
    see(steps as f64 * step, simulator.state());
    Ok(near)
}
