//! The first guess of a step: the previous curve continued, or constant velocity.
//!
//! Coordinates that are numbers continue the polynomial through the nodes of the last step and the nearest nodes of those
//! before it. Balls continue each node's increment over the last steps, or, where those differ in length, their chart
//! polynomial past the end of the step, and are re-anchored there: `φ(ξ′) = φ(ξ^s)ᵀ φ(ξ(1 + c))`. A step of another length from where one was tried begins on the
//! curve of that one, a step after a jump of the accelerations on the parabola they give.

use super::ball::{chart, chart_coordinates};
use super::lanes::Lanes;
use super::residual::Point;
use super::scheme::Scheme;
use super::segments::{Motion, Segments};
use super::state::{HISTORY, MinimalState};
use crate::lobatto::{MAX_DEGREE, lagrange};

/// Most nodes a continuation can be made from.
const MOST: usize = MAX_DEGREE + 1 + HISTORY;

/// Degree of the guess of a method of degree `s`, unless one older node makes it higher: with longer steps, which high orders are
/// for, more nodes point away from the curve.
fn smooth(s: usize) -> usize {
    if s == 1 { HISTORY } else { 5 }
}

/// Weights of the continuation for one sequence of step lengths.
#[derive(Clone, Debug)]
pub(crate) struct Continuation<const N: usize> {
    /// Lengths of the new step and of those before it, in units of the last.
    ratios: [f64; HISTORY],
    /// Number of steps that have weights, and `[step][β][γ]`: weight of increment β of a step in increment γ of the new one.
    steps: usize,
    weights: [[[f64; N]; N]; HISTORY],
    /// `[γ][β]` for the last step alone: balls where lengths differ.
    alone: [[f64; N]; N],
    /// Number of steps that are as long as the new one, and weights of the same node in them.
    equal: usize,
    sequence: [f64; HISTORY],
}

impl<const N: usize> Continuation<N> {
    pub(crate) fn new() -> Self {
        Self {
            ratios: [f64::NAN; HISTORY],
            steps: 0,
            weights: [[[0.0; N]; N]; HISTORY],
            alone: [[0.0; N]; N],
            equal: 0,
            sequence: [0.0; HISTORY],
        }
    }

    /// Makes the weights for a step of length `h` after steps of the given lengths; kept while ratios stay.
    fn prepare(&mut self, scheme: &Scheme<N>, steps: &[f64; HISTORY], h: f64) {
        let mut ratios = steps.map(|step| step / steps[0]);
        ratios[0] = h / steps[0];
        if self.ratios == ratios {
            return;
        }
        let s = scheme.s;
        self.ratios = ratios;
        // Points in units of the last step: its nodes, then older ones from the nearest back, each with its step and node.
        let mut points = [0.0; MOST];
        let mut places = [(0, 0); MOST];
        points[..=s].copy_from_slice(&scheme.c[..=s]);
        let (mut count, most) = (s + 1, s + 1 + smooth(s).saturating_sub(s).max(1));
        let mut end = 0.0;
        for (k, ratio) in ratios.iter().enumerate().skip(1).take_while(|(_, ratio)| **ratio != 0.0) {
            for node in (0..s).rev().take(most - count) {
                points[count] = end + (scheme.c[node] - 1.0) * ratio;
                places[count] = (k, node);
                count += 1;
            }
            end -= ratio;
        }
        self.steps = 1 + places[count - 1].0;
        self.weights = [[[0.0; N]; N]; HISTORY];
        for ga in 1..=s {
            let x = 1.0 + scheme.c[ga] * ratios[0];
            for be in 1..=s {
                let end = f64::from(u8::from(be == s));
                self.weights[0][be][ga] = lagrange(&points[..count], be, x) - end;
                self.alone[ga][be] = lagrange(&points[..=s], be, x) - end;
            }
            for j in s + 1..count {
                let (k, node) = places[j];
                let weight = lagrange(&points[..count], j, x);
                // Seen from the start of the last step, an older node is behind the whole steps since then.
                if node > 0 {
                    self.weights[k][node][ga] += weight;
                }
                (1..=k).for_each(|since| self.weights[since][s][ga] -= weight);
            }
        }
        self.equal = ratios.iter().take(smooth(s)).take_while(|ratio| **ratio == 1.0).count();
        let starts: [f64; HISTORY] = std::array::from_fn(|k| -(k as f64));
        for k in 0..self.equal {
            self.sequence[k] = lagrange(&starts[..self.equal], k, 1.0);
        }
    }

    /// Writes the guess into the point; false if there is no history, or nothing that moves. Does not allocate.
    pub(crate) fn extrapolate(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        state: &MinimalState,
        h: f64,
        point: &mut Point<f64, N>,
    ) -> bool {
        let s = scheme.s;
        let size = s * segments.n;
        if state.steps[0] == 0.0 || size == 0 {
            return false;
        }
        self.prepare(scheme, &state.steps, h);
        point.delta.fill(Lanes::default());
        for (old, weights) in state.history.chunks_exact(size).zip(&self.weights[..self.steps]) {
            for (delta, old) in point.delta.iter_mut().zip(old.chunks_exact(s)) {
                for (x, weights) in old.iter().zip(&weights[1..]) {
                    delta.add_spread(*x, weights);
                }
            }
        }
        for segment in segments.list.iter().filter(|segment| segment.motion == Motion::Ball) {
            self.turn_on(&state.history, (s, size, segment.coordinate), point);
        }
        true
    }

    /// Continues a ball: node by node where the steps were all alike, since their increments are then values of one smooth
    /// function of time; else on the curve of the last step.
    fn turn_on(&self, history: &[f64], (s, size, c): (usize, usize, usize), point: &mut Point<f64, N>) {
        if self.equal > s {
            for a in c..c + 3 {
                for ga in 1..=s {
                    let at = |k: usize| history[k * size + a * s + ga - 1];
                    point.delta[a].0[ga] = (0..self.equal).fold(0.0, |sum, k| sum + self.sequence[k] * at(k));
                }
            }
            return;
        }
        let end = chart(std::array::from_fn(|a| history[(c + a) * s + s - 1])).1.transpose();
        for ga in 1..=s {
            let xi = std::array::from_fn(|a| {
                let nodes = &history[(c + a) * s..(c + a + 1) * s];
                nodes.iter().enumerate().fold(nodes[s - 1], |sum, (b, x)| sum + self.alone[ga][b + 1] * x)
            });
            let next = chart_coordinates(&(end * chart(xi).1));
            for a in 0..3 {
                point.delta[c + a].0[ga] = next[a];
            }
        }
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
    state.history.copy_within(..(HISTORY - 1) * size, size);
    for (c, delta) in point.delta.iter().enumerate() {
        state.history[c * s..(c + 1) * s].copy_from_slice(&delta.0[1..=s]);
    }
    state.steps.copy_within(..HISTORY - 1, 1);
    state.steps[0] = h;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};
    use crate::options::Quadrature;

    /// A polynomial of the guess's degree through steps of any lengths.
    fn continues<const N: usize>(s: usize) {
        let mechanism = MechanismBuilder::from(samples::chain(1)).build().expect("valid");
        let segments = Segments::new(&mechanism).expect("served");
        let scheme = Scheme::<N>::new(s, Quadrature::Nodes);
        let mut state = MinimalState::new(&mechanism, s, &mechanism.neutral_state()).expect("state");
        let mut point = Point::new(&segments);
        let curve = |t: f64| ((((0.3 * t - 0.7) * t + 0.2) * t + 1.1) * t - 0.4) * t;
        let mut t = 0.0;
        for h in [0.1, 0.08, 0.1, 0.09, 0.13, 0.12, 0.07] {
            for ga in 1..=s {
                point.delta[0].0[ga] = curve(t + scheme.c[ga] * h) - curve(t);
            }
            remember(&scheme, &point, h, &mut state);
            t += h;
        }
        let h = 0.11;
        assert!(Continuation::new().extrapolate(&segments, &scheme, &state, h, &mut point));
        for ga in 1..=s {
            let expected = curve(t + scheme.c[ga] * h) - curve(t);
            // Rounding times weights of some thousands.
            assert!((point.delta[0].0[ga] - expected).abs() < 1e-12, "degree {s}, node {ga}");
        }
    }

    #[test]
    fn a_curve_of_degree_five_is_continued_exactly() {
        continues::<2>(1);
        continues::<3>(2);
        continues::<4>(3);
        continues::<5>(4);
    }
}
