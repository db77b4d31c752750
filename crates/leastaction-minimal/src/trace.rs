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
    /// How positions at the end change with positions, velocities and inputs, by rows, as it was last known; empty where it is not.
    slope: Vec<f64>,
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
        self.slope.clone_from(&other.slope);
        self.solved_to = other.solved_to;
    }

    /// By how much more coordinate `c` moves from another start, to first order; none if that is not known.
    fn end_moves(&self, c: usize, state: &MinimalState, v: &[f64], u: &[f64]) -> Option<f64> {
        let n = v.len();
        let row = self.slope.chunks_exact(2 * n + u.len()).nth(c)?;
        let part = |row: &[f64], new: &[f64], old: &[f64]| -> f64 {
            row.iter().zip(new.iter().zip(old)).map(|(a, (new, old))| a * (new - old)).sum()
        };
        let end = part(&row[..n], &state.q, &self.q)
            + part(&row[n..2 * n], v, &self.v)
            + part(&row[2 * n..], u, &self.u);
        Some(end - (state.q[c] - self.q[c]))
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
            for (c, ((delta, increments), (old, new))) in curves.zip(starts).enumerate() {
                // The curve turns away by a parabola with the new velocity at the start, and with the end that the slope tells.
                let straight = h * (new - old);
                let bent = trace.end_moves(c, state, &self.velocity, u).map_or(0.0, |end| end - straight);
                for (ga, x) in increments.iter().enumerate() {
                    let at = self.scheme.c[ga + 1];
                    delta.0[ga + 1] = x + at * (straight + at * bent);
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

    /// After the step, with its slope in public velocities where it was differentiated.
    pub(crate) fn leave(&self, trace: &mut Trace, slope: Option<&[f64]>) {
        if let Some(slope) = slope {
            let n = self.velocity.len();
            let row = slope.len() / (2 * n).max(1);
            trace.slope.clear();
            // Where positions are ordinary numbers, and so differences.
            if trace.q.len() == n && self.segments.balls == 0 {
                trace.slope.extend_from_slice(&slope[..n * row]);
            }
        }
        trace.increments.extend(self.point.delta.iter().flat_map(|delta| &delta.0[1..=self.scheme.s]));
        trace.solved_to = self.solved_to;
    }
}
