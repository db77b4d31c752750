//! Heun's explicit method of second order: what Brüdigam and Manchester compare the energy with.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Input, Integrator, StepError, StepReport};
use leastaction::mechanism::{Mechanism, State};

/// `k₁ = f(x)`, `k₂ = f(x + h k₁)`, `x + h (k₁ + k₂)/2`, for joints whose coordinates are numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heun;

/// Accelerations and positions of the two stages.
#[derive(Debug)]
pub(crate) struct Memory {
    dynamics: Dynamics<f64>,
    q: Vec<f64>,
    v: Vec<f64>,
    a: [Vec<f64>; 2],
    rate: Vec<f64>,
}

impl Integrator for Heun {
    type State = State;
    type Workspace = Memory;

    fn label(&self) -> String {
        "heun".into()
    }

    fn workspace(&self, mechanism: &Mechanism) -> Result<Memory, StepError> {
        if mechanism.nq() != mechanism.nv() {
            return Err(StepError::Unsupported {
                integrator: "heun",
                what: "a joint with a quaternion".into(),
                remedy: "use rk4".into(),
            });
        }
        let zero = || vec![0.0; mechanism.nv()];
        Ok(Memory {
            dynamics: Dynamics::new(mechanism),
            q: zero(),
            v: zero(),
            a: [zero(), zero()],
            rate: zero(),
        })
    }

    fn start(&self, _: &Mechanism, _: &mut Memory, state: &State) -> Result<State, StepError> {
        Ok(state.clone())
    }

    fn step(
        &self,
        mechanism: &Mechanism,
        memory: &mut Memory,
        state: &mut State,
        input: Input<'_>,
        h: f64,
    ) -> Result<StepReport, StepError> {
        let Memory { dynamics, q, v, a, rate } = memory;
        dynamics.acceleration_into(mechanism, &state.q, &state.v, input.u, &mut a[0]);
        for i in 0..q.len() {
            q[i] = state.q[i] + h * state.v[i];
            v[i] = state.v[i] + h * a[0][i];
        }
        dynamics.acceleration_into(mechanism, q, v, input.u, &mut a[1]);
        for i in 0..q.len() {
            rate[i] = 0.5 * (state.v[i] + v[i]);
            v[i] = state.v[i] + 0.5 * h * (a[0][i] + a[1][i]);
            q[i] = state.q[i] + h * rate[i];
        }
        if q.iter().chain(v.iter()).any(|x| !x.is_finite()) {
            return Err(StepError::NotFinite { time: state.t, what: "state after the step" });
        }
        state.q.copy_from_slice(q);
        state.v.copy_from_slice(v);
        state.t += h;
        Ok(StepReport::default())
    }

    fn read_out(&self, _: &Mechanism, _: &mut Memory, state: &State, out: &mut State) {
        out.clone_from(state);
    }

    fn warm_start(&self, _: &Mechanism, _: &State) -> Vec<f64> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use leastaction::integrator::{Method, MethodOptions, Simulator};
    use leastaction::mechanism::{MechanismBuilder, samples};

    use super::*;
    use crate::experiments::measure::{distance, end_state};

    #[test]
    fn heun_is_of_second_order() {
        let mechanism = MechanismBuilder::from(samples::chain(2)).build().unwrap();
        let exact = end_state(&mechanism, Method::Dop853, &MethodOptions::default(), 0.5, 2).unwrap();
        let error = |steps: u32| {
            let mut heun = Simulator::with(&mechanism, Heun, &mechanism.start_state()).unwrap();
            for _ in 0..steps {
                heun.step(&[], 1.0 / f64::from(steps)).unwrap();
            }
            distance(&mechanism, heun.state(), &exact)
        };
        let order = (error(200) / error(400)).log2();
        assert!((order - 2.0).abs() < 0.1, "{order}");
    }
}
