//! Semi-implicit Euler and Runge–Kutta steps of four states side by side, with the bits of each alone.

use super::PhaseState;
use super::explicit::{B, C};
use crate::dynamics::{Dynamics, has_lanes};
use crate::integrator::StepError;
use crate::mechanism::{Mechanism, cut};
use crate::scalar::Real;
use crate::simd::{Exact, LANES, Task, Wide, run_states};

/// Numbers of four states.
type W = Exact<Wide>;
/// One number of each state, in memory that any code can read.
type Four = [f64; LANES];

/// Memory for explicit steps of up to four states of one mechanism.
#[derive(Clone, Debug)]
pub struct ExplicitLanes {
    stages: usize,
    dynamics: Dynamics<W>,
    /// The stage at hand, and slopes of all stages.
    q: Vec<W>,
    v: Vec<W>,
    tau: Vec<W>,
    du: [Vec<W>; 4],
    dv: [Vec<W>; 4],
    /// What is exchanged with the states: positions and velocities before and after, forces of inputs.
    start: [Vec<Four>; 2],
    end: [Vec<Four>; 2],
    efforts: Vec<Four>,
}

impl ExplicitLanes {
    /// For semi-implicit Euler; none where mechanism or processor have no lanes.
    #[must_use]
    pub fn semi_implicit(mechanism: &Mechanism) -> Option<Self> {
        Self::new(mechanism, 1)
    }

    /// For the Runge–Kutta method of order four; none where mechanism or processor have no lanes.
    #[must_use]
    pub fn rk4(mechanism: &Mechanism) -> Option<Self> {
        Self::new(mechanism, 4)
    }

    fn new(mechanism: &Mechanism, stages: usize) -> Option<Self> {
        let tree = mechanism.tree();
        let no_wrenches = tree.drags.is_empty() && tree.pushes.is_empty() && tree.thrusters.is_empty();
        let no_laws = mechanism.rows().is_empty()
            && mechanism.followers().is_empty()
            && mechanism.tendons().is_empty()
            && mechanism.drives().iter().all(|drive| !drive.law.is_servo());
        if !(has_lanes(mechanism) && no_wrenches && no_laws) {
            return None;
        }
        let n = mechanism.nv();
        let numbers = || vec![W::zero(); n];
        let fours = || vec![[0.0; LANES]; n];
        Some(Self {
            stages,
            dynamics: Dynamics::new(mechanism),
            q: numbers(),
            v: numbers(),
            tau: numbers(),
            du: [numbers(), numbers(), numbers(), numbers()],
            dv: [numbers(), numbers(), numbers(), numbers()],
            start: [fours(), fours()],
            end: [fours(), fours()],
            efforts: fours(),
        })
    }

    /// Steps up to four states; `u` has the inputs of the first, then those of the second, and so on. States whose
    /// `failures` entry is filled are left out; the entry of a state whose step cannot be taken is filled, and the state is
    /// where it was. Does not allocate.
    pub fn step(
        &mut self,
        mechanism: &Mechanism,
        states: &mut [PhaseState],
        u: &[f64],
        h: f64,
        failures: &mut [Option<StepError>],
    ) {
        let nu = mechanism.nu();
        let Some(first) = failures.iter().position(Option::is_none) else { return };
        for lane in 0..LANES {
            // Lanes that nobody is in do what another one does.
            let inside = failures.get(lane).is_some_and(Option::is_none);
            let state = if inside { lane } else { first };
            for c in 0..self.q.len() {
                self.start[0][c][lane] = states[state].q[c];
                self.start[1][c][lane] = states[state].v[c];
            }
            self.set_efforts(mechanism, lane, &u[state * nu..(state + 1) * nu]);
        }
        run_states(Explicit { lanes: self, mechanism, h });
        for (lane, (state, failure)) in states.iter_mut().zip(failures).enumerate().take(LANES) {
            if failure.is_some() {
                continue;
            }
            if self.end.iter().flatten().any(|x| !x[lane].is_finite()) {
                *failure = Some(StepError::NotFinite { time: state.t, what: "state after the step" });
                continue;
            }
            for c in 0..self.q.len() {
                state.q[c] = self.end[0][c][lane];
                state.v[c] = self.end[1][c][lane];
            }
            state.t += h;
        }
    }

    /// Forces of the inputs on the joints, which do not change over a step.
    fn set_efforts(&mut self, mechanism: &Mechanism, lane: usize, u: &[f64]) {
        for node in &mechanism.tree().nodes {
            let joint = mechanism.joint(node.joint);
            let mut effort = 0.0;
            for actuator in &joint.actuators {
                effort += mechanism.drives()[actuator.input].constant(u[actuator.input]) * actuator.gear;
            }
            if let Some(limits) = &joint.limits
                && limits.effort < f64::INFINITY
                && !joint.actuators.is_empty()
            {
                effort = cut(effort, limits.effort_range).0;
            }
            self.efforts[node.v][lane] = effort;
        }
    }

    /// Slopes of one stage at the position and velocity at hand.
    #[inline(always)]
    fn slope(&mut self, mechanism: &Mechanism, stage: usize) {
        for node in &mechanism.tree().nodes {
            let joint = mechanism.joint(node.joint);
            let c = node.v;
            let mut tau = W::from_lanes(self.efforts[c]);
            if joint.stiffness[0] != 0.0 {
                tau -= (self.q[c] - W::from_f64(joint.rest[0])) * joint.stiffness[0];
            }
            tau -= self.v[c] * joint.damping[0];
            self.tau[c] = tau;
        }
        let Self { dynamics, q, v, tau, dv, .. } = self;
        dynamics.accelerations_of_states(mechanism, q, v, tau, &mut dv[stage]);
    }
}

struct Explicit<'a> {
    lanes: &'a mut ExplicitLanes,
    mechanism: &'a Mechanism,
    h: f64,
}

impl Task for Explicit<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { lanes, mechanism, h } = self;
        let n = lanes.q.len();
        for stage in 0..lanes.stages {
            for c in 0..n {
                let (q, v) = (W::from_lanes(lanes.start[0][c]), W::from_lanes(lanes.start[1][c]));
                if lanes.stages == 1 {
                    (lanes.q[c], lanes.v[c]) = (q, v);
                    continue;
                }
                let (du, dv) = if stage == 0 {
                    (W::zero(), W::zero())
                } else {
                    (lanes.du[stage - 1][c], lanes.dv[stage - 1][c])
                };
                lanes.q[c] = q + du * (h * C[stage]);
                lanes.v[c] = v + dv * (h * C[stage]);
                lanes.du[stage][c] = lanes.v[c];
            }
            lanes.slope(mechanism, stage);
        }
        for c in 0..n {
            let (q, v) = (W::from_lanes(lanes.start[0][c]), W::from_lanes(lanes.start[1][c]));
            let (u, v) = if lanes.stages == 1 {
                let v = v + lanes.dv[0][c] * h;
                (v * h, v)
            } else {
                (mean(&lanes.du, c) * h, v + mean(&lanes.dv, c) * h)
            };
            lanes.end[0][c] = (q + u).lanes();
            lanes.end[1][c] = v.lanes();
        }
    }
}

#[inline(always)]
fn mean(k: &[Vec<W>; 4], c: usize) -> W {
    k[0][c] * B[0] + k[1][c] * B[1] + k[2][c] * B[2] + k[3][c] * B[3]
}
