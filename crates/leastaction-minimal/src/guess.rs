//! The first guess of a step: the previous curve continued, or constant velocity.
//!
//! Coordinates that are numbers continue the polynomial through the nodes of the last step and, at low degree, the
//! nearest nodes of the step before it. Balls continue their chart polynomial past the end of the step and are
//! re-anchored there: `φ(ξ′) = φ(ξ^s)ᵀ φ(ξ(1 + c))`. A step of another length from where one was tried begins on the
//! curve of that one, a step after a jump of the accelerations on the parabola they give.

use super::ball::{chart, chart_coordinates};
use super::residual::Point;
use super::scheme::Scheme;
use super::segments::{Motion, Segments};
use super::state::MinimalState;
use crate::lobatto::{MAX_DEGREE, lagrange};

/// Most nodes a continuation can be made from.
const MOST: usize = MAX_DEGREE + 1 + OLDER;

/// Weights of the continuation for one pair of step ratios.
#[derive(Clone, Debug)]
pub(crate) struct Continuation<const N: usize> {
    ratios: [f64; 2],
    /// Number of nodes taken from the step before the last.
    older: usize,
    /// `[γ][β]`: weight of the last step's increment β (and `−1` on its end).
    recent: [[f64; N]; N],
    /// `[γ][j]`: weight of node j of the step before, relative to its end.
    before: [[f64; N]; N],
    /// `[γ][β]` for the last step alone: balls, and the second step.
    alone: [[f64; N]; N],
}

/// Nodes of the step before the last that are used: one more raises the order of the guess by one.
const OLDER: usize = 1;

impl<const N: usize> Continuation<N> {
    pub(crate) fn new() -> Self {
        Self {
            ratios: [f64::NAN; 2],
            older: 0,
            recent: [[0.0; N]; N],
            before: [[0.0; N]; N],
            alone: [[0.0; N]; N],
        }
    }

    /// Makes the weights for a step of length `h` after steps of the given lengths; kept while ratios stay.
    fn prepare(&mut self, scheme: &Scheme<N>, steps: [f64; 2], h: f64) {
        let ratios = [h / steps[0], steps[1] / steps[0]];
        if self.ratios == ratios {
            return;
        }
        let s = scheme.s;
        self.ratios = ratios;
        self.older = if steps[1] == 0.0 { 0 } else { OLDER.min(s) };
        // Points in units of the last step: its nodes, then older ones from the nearest back.
        let mut points = [0.0; MOST];
        points[..=s].copy_from_slice(&scheme.c[..=s]);
        for j in 0..self.older {
            points[s + 1 + j] = (scheme.c[s - 1 - j] - 1.0) * ratios[1];
        }
        let all = &points[..=s + self.older];
        let end = |be: usize| f64::from(u8::from(be == s));
        for ga in 1..=s {
            let x = 1.0 + scheme.c[ga] * ratios[0];
            for be in 1..=s {
                self.recent[ga][be] = lagrange(all, be, x) - end(be);
                self.alone[ga][be] = lagrange(&points[..=s], be, x) - end(be);
            }
            for j in 0..self.older {
                self.before[ga][j] = lagrange(all, s + 1 + j, x);
            }
        }
    }

    /// Writes the guess into the point; false if there is no history. Does not allocate.
    pub(crate) fn extrapolate(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        state: &MinimalState,
        h: f64,
        point: &mut Point<f64, N>,
    ) -> bool {
        if state.steps[0] == 0.0 {
            return false;
        }
        self.prepare(scheme, state.steps, h);
        let s = scheme.s;
        let (recent, older) = state.history.split_at(s * segments.n);
        for segment in &segments.list {
            let c = segment.coordinate;
            if segment.motion == Motion::Ball {
                let end = chart(std::array::from_fn(|a| recent[(c + a) * s + s - 1])).1.transpose();
                for ga in 1..=s {
                    let xi = std::array::from_fn(|a| {
                        let nodes = &recent[(c + a) * s..(c + a + 1) * s];
                        nodes
                            .iter()
                            .enumerate()
                            .fold(nodes[s - 1], |sum, (b, x)| sum + self.alone[ga][b + 1] * x)
                    });
                    let next = chart_coordinates(&(end * chart(xi).1));
                    for a in 0..3 {
                        point.delta[c + a].0[ga] = next[a];
                    }
                }
                continue;
            }
            let new = &recent[c * s..(c + 1) * s];
            let old = &older[c * s..(c + 1) * s];
            for ga in 1..=s {
                let mut sum = 0.0;
                for be in 1..=s {
                    sum += self.recent[ga][be] * new[be - 1];
                }
                for j in 0..self.older {
                    let node = s - 1 - j;
                    let value = if node == 0 { 0.0 } else { old[node - 1] };
                    sum += self.before[ga][j] * (value - old[s - 1]);
                }
                point.delta[c].0[ga] = sum;
            }
        }
        true
    }
}

/// The curve in the point, of a step of length `h` that began with the velocities `v`, continued or cut to `part` of its length:
/// a guess for another step from the same start. Does not allocate.
///
/// The polynomial through the nodes of the curve with that velocity at its start: `x l_β(x)/c_β` vanishes twice at zero.
pub(crate) fn relength<const N: usize>(
    scheme: &Scheme<N>,
    (part, h): (f64, f64),
    v: &[f64],
    point: &mut Point<f64, N>,
) {
    let s = scheme.s;
    let mut weights = [[0.0; N]; N];
    for ga in 1..=s {
        let x = scheme.c[ga] * part;
        for be in 1..=s {
            weights[ga][be] = x / scheme.c[be] * lagrange(&scheme.c[..=s], be, x);
        }
        weights[ga][0] = x * h * lagrange(&scheme.c[..=s], 0, x);
    }
    for (delta, v) in point.delta.iter_mut().zip(v) {
        let old = delta.0;
        for ga in 1..=s {
            delta.0[ga] = (1..=s).fold(weights[ga][0] * v, |sum, be| sum + weights[ga][be] * old[be]);
        }
    }
}

/// Adds `(c^γ h)² a/2`.
pub(crate) fn bend<const N: usize>(scheme: &Scheme<N>, a: &[f64], h: f64, point: &mut Point<f64, N>) {
    for (delta, a) in point.delta.iter_mut().zip(a) {
        for ga in 1..=scheme.s {
            let t = scheme.c[ga] * h;
            delta.0[ga] += 0.5 * t * t * a;
        }
    }
}

/// `Δ^γ = c^γ h v`.
pub(crate) fn constant_velocity<const N: usize>(
    scheme: &Scheme<N>,
    v: &[f64],
    h: f64,
    point: &mut Point<f64, N>,
) {
    for (delta, v) in point.delta.iter_mut().zip(v) {
        for ga in 1..=scheme.s {
            delta.0[ga] = scheme.c[ga] * h * v;
        }
    }
}

/// Puts the increments of a finished step at the front of the history.
pub(crate) fn remember<const N: usize>(
    scheme: &Scheme<N>,
    point: &Point<f64, N>,
    h: f64,
    state: &mut MinimalState,
) {
    let s = scheme.s;
    let size = s * point.delta.len();
    state.history.copy_within(..size, size);
    for (c, delta) in point.delta.iter().enumerate() {
        state.history[c * s..(c + 1) * s].copy_from_slice(&delta.0[1..=s]);
    }
    state.steps = [h, state.steps[0]];
}
