//! [`Trace`]: the curve of a step, for the next time that it or one nearby is taken.

use super::state::MinimalState;
use super::step::{Hint, Solver};

/// Where a step began and the curve that solved it. Searches that take the steps of a motion again and again, each time a
/// little different, begin on the curves of the last time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Positions and, in the engine's coordinates, velocities of the start, and the inputs.
    q: Vec<f64>,
    v: Vec<f64>,
    u: Vec<f64>,
    /// Node increments, `s` per coordinate; empty where no step was taken.
    increments: Vec<f64>,
    /// Scaled residual that was left.
    solved_to: f64,
}

impl Trace {
    /// `self = other` without allocating where the sizes fit.
    pub fn copy_from(&mut self, other: &Self) {
        self.q.clone_from(&other.q);
        self.v.clone_from(&other.v);
        self.u.clone_from(&other.u);
        self.increments.clone_from(&other.increments);
        self.solved_to = other.solved_to;
    }
}

impl<const N: usize> Solver<N> {
    /// Right after [`legendre`](Self::legendre), which leaves the velocities of the start.
    pub(crate) fn begin_on(&mut self, trace: &mut Trace, state: &MinimalState, u: &[f64], h: f64) {
        let s = self.scheme.s;
        self.hint = Hint::None;
        self.keep_velocity(state);
        let fits = trace.increments.len() == s * self.point.delta.len() && !self.velocity.is_empty();
        if fits && self.driver.is_none() {
            let same = trace.q == state.q && trace.v == self.velocity && trace.u == u;
            let starts = trace.v.iter().zip(&self.velocity);
            let curves = self.point.delta.iter_mut().zip(trace.increments.chunks_exact(s));
            for ((delta, increments), (old, new)) in curves.zip(starts) {
                for (ga, x) in increments.iter().enumerate() {
                    delta.0[ga + 1] = x + self.scheme.c[ga + 1] * h * (new - old);
                }
            }
            self.hint = Hint::Given { solved: same.then_some(trace.solved_to) };
        }
        trace.q.clone_from(&state.q);
        trace.v.clone_from(&self.velocity);
        trace.u.clear();
        trace.u.extend_from_slice(u);
        trace.increments.clear();
    }

    /// After the step.
    pub(crate) fn leave(&self, trace: &mut Trace) {
        trace.increments.extend(self.point.delta.iter().flat_map(|delta| &delta.0[1..=self.scheme.s]));
        trace.solved_to = self.solved_to;
    }
}
