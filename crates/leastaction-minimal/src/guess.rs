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
use crate::scalar::by_entry;
use leastaction_core::simd::{Task, run_widest};

/// Most nodes a continuation can be made from.
const MOST: usize = MAX_DEGREE + 1 + HISTORY;

/// Degree of the guess of a method of degree `s`, unless one older node makes it higher: with longer steps, which high orders are
/// for, more nodes point away from the curve.
fn smooth(s: usize) -> usize {
    if s == 1 { HISTORY } else { 5 }
}

/// A last term that is so many times larger than one before is noise: three orders above where rounding begins.
const NOISE: f64 = 8.0;

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
    /// At order 2, `[step][j]`: weight of a step in what its `j`-th predecessor adds to the guess.
    differences: [[f64; HISTORY]; HISTORY],
    /// Sums of these over all that is added.
    sums: [f64; HISTORY],
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
            differences: [[0.0; HISTORY]; HISTORY],
            sums: [0.0; HISTORY],
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
        if s == 1 {
            self.differentiate(&points);
        }
    }

    /// Weights of what every further step adds to the guess of a step of one unknown node: of the divided differences in the
    /// nodes, the first of which is the last step repeated.
    fn differentiate(&mut self, points: &[f64; MOST]) {
        self.differences = [[0.0; HISTORY]; HISTORY];
        let x = 1.0 + self.ratios[0];
        let mut before = [0.0; HISTORY];
        for j in 0..self.steps {
            // Nodes 0 and 1 end the last step, node k + 1 begins the k-th before it.
            let nodes = &points[..j + 2];
            let mut weights = [0.0; HISTORY];
            weights[0] = lagrange(nodes, 1, x) - 1.0;
            for k in 1..=j {
                let weight = lagrange(nodes, k + 1, x);
                (1..=k).for_each(|since| weights[since] -= weight);
            }
            for k in 0..=j {
                self.differences[k][j] = weights[k] - before[k];
            }
            before = weights;
        }
        self.sums = added(&self.differences, self.steps, self.steps);
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
        if s == 1 {
            let Self { differences, sums, steps, .. } = self;
            run_widest(SumUp {
                differences,
                sums,
                steps: *steps,
                history: &state.history,
                delta: &mut point.delta,
            });
            // The charts of balls are continued like numbers where all steps are of one length.
            if self.equal > s && self.equal == self.steps {
                return true;
            }
        } else {
            self.add_up(&state.history, size, s, point);
        }
        for segment in segments.list.iter().filter(|segment| segment.motion == Motion::Ball) {
            self.turn_on(&state.history, (s, size, segment.coordinate), point);
        }
        true
    }

    /// The guess of an order above 2.
    fn add_up(&self, history: &[f64], size: usize, s: usize, point: &mut Point<f64, N>) {
        point.delta.fill(Lanes::default());
        for (old, weights) in history.chunks_exact(size).zip(&self.weights[..self.steps]) {
            for (delta, old) in point.delta.iter_mut().zip(old.chunks_exact(s)) {
                for (x, weights) in old.iter().zip(&weights[1..]) {
                    delta.add_spread(*x, weights);
                }
            }
        }
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

/// The guess of all coordinates at order 2 from their increments over the last steps.
///
/// Every further step takes away the error of a smooth motion by about a factor and doubles that of rounding, so the
/// sum ends where what is added no longer falls: for all coordinates together, since what a chain carries is a sum of them.
struct SumUp<'a, const N: usize> {
    differences: &'a [[f64; HISTORY]; HISTORY],
    sums: &'a [f64; HISTORY],
    steps: usize,
    history: &'a [f64],
    delta: &'a mut [Lanes<f64, N>],
}

/// Coordinates side by side.
const SIDE: usize = 4;

impl<const N: usize> Task for SumUp<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { differences, sums, steps, history, delta } = self;
        let n = delta.len();
        let (mut taken, mut weights) = (steps, *sums);
        if !falls_to_the_end(differences, steps, history, n) {
            let mut sizes = [[0.0; SIDE]; HISTORY];
            for first in (0..n).step_by(SIDE) {
                let mut terms = [[0.0; SIDE]; HISTORY];
                for k in 0..steps {
                    let x = beside(&history[k * n..(k + 1) * n], first);
                    for j in k..HISTORY {
                        terms[j] = by_entry(|i| terms[j][i] + x[i] * differences[k][j]);
                    }
                }
                for j in 1..HISTORY {
                    sizes[j] = larger(&sizes[j], &terms[j]);
                }
            }
            taken = falling(&sizes.map(|size| size.into_iter().fold(0.0, f64::max)), steps);
            weights = added(differences, steps, taken);
        }
        for first in (0..n).step_by(SIDE) {
            let mut sum = [0.0; SIDE];
            for k in 0..taken {
                let x = beside(&history[k * n..(k + 1) * n], first);
                sum = by_entry(|i| sum[i] + x[i] * weights[k]);
            }
            for (delta, sum) in delta[first..].iter_mut().zip(sum) {
                delta.0[0] = 0.0;
                delta.0[1] = sum;
            }
        }
    }
}

/// Weight of every step in the sum of the first so many terms.
#[inline(always)]
fn added(differences: &[[f64; HISTORY]; HISTORY], steps: usize, taken: usize) -> [f64; HISTORY] {
    let mut weights = [0.0; HISTORY];
    for k in 0..steps {
        for j in k..taken {
            weights[k] += differences[k][j];
        }
    }
    weights
}

#[inline(always)]
fn larger(size: &[f64; SIDE], term: &[f64; SIDE]) -> [f64; SIDE] {
    by_entry(|i| if term[i].abs() > size[i] { term[i].abs() } else { size[i] })
}

/// True if [`falling`] would take all terms of a full history, as the sizes of three of them tell: halved at every term before it the last
/// is an eighth three terms before, which does not end the sum, and before that only the first two are left.
#[inline(always)]
fn falls_to_the_end(
    differences: &[[f64; HISTORY]; HISTORY],
    steps: usize,
    history: &[f64],
    n: usize,
) -> bool {
    const LAST: usize = HISTORY - 1;
    if steps != HISTORY || LAST != 6 {
        return false;
    }
    let mut sizes = [[0.0; SIDE]; 3];
    for first in (0..n).step_by(SIDE) {
        let mut terms = [[0.0; SIDE]; 3];
        for k in 0..HISTORY {
            let x = beside(&history[k * n..(k + 1) * n], first);
            for (term, j) in terms.iter_mut().zip([1, 2, LAST]) {
                if k <= j {
                    *term = by_entry(|i| term[i] + x[i] * differences[k][j]);
                }
            }
        }
        for (size, term) in sizes.iter_mut().zip(&terms) {
            *size = larger(size, term);
        }
    }
    let [one, two, last] = sizes.map(|size| size.into_iter().fold(0.0, f64::max));
    one >= last / NOISE && two >= last / NOISE
}

/// Numbers from the given one on, zeros beyond the last.
#[inline(always)]
fn beside(x: &[f64], first: usize) -> [f64; SIDE] {
    let rest = &x[first..];
    match rest.first_chunk() {
        Some(chunk) => *chunk,
        None => by_entry(|i| if i < rest.len() { rest[i] } else { 0.0 }),
    }
}

/// How many terms of these sizes to take.
fn falling(sizes: &[f64; HISTORY], steps: usize) -> usize {
    let last = steps - 1;
    // What is left out before term k: one that happens to vanish tells nothing, so later ones count, too.
    let mut left = sizes[last];
    let (mut least, mut taken) = (left / NOISE, steps);
    for k in (1..last).rev() {
        left = sizes[k].max(0.5 * left);
        if left < least {
            (least, taken) = (left, k);
        }
    }
    taken
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

    #[test]
    fn three_terms_tell_whether_all_are_taken() {
        let mut x = 0.37_f64;
        let mut whole = 0;
        for _ in 0..20_000 {
            let sizes: [f64; HISTORY] = std::array::from_fn(|j| {
                x = (x * 997.0 + 0.123).fract();
                if j == 0 { 0.0 } else { (2.0 * x).powi(j as i32) }
            });
            let told = sizes[1] >= sizes[6] / NOISE && sizes[2] >= sizes[6] / NOISE;
            whole += usize::from(told);
            assert!(!told || falling(&sizes, HISTORY) == HISTORY, "{sizes:?}");
        }
        assert!(whole > 1000);
    }

    #[test]
    fn rounding_of_a_steady_motion_is_not_continued() {
        let mechanism = MechanismBuilder::from(samples::chain(1)).build().expect("valid");
        let segments = Segments::new(&mechanism).expect("served");
        let scheme = Scheme::<2>::new(1, Quadrature::Nodes);
        let mut state = MinimalState::new(&mechanism, 1, &mechanism.neutral_state()).expect("state");
        let mut point = Point::new(&segments);
        // Steady but for noise of one unit, whose signs differences of high order add up.
        let noise = [1.0, -1.0, 0.5, -1.0, 1.0, -0.5, 1.0].map(|x| x * 1e-12);
        for x in noise {
            point.delta[0].0[1] = 0.01 + x;
            remember(&scheme, &point, 0.1, &mut state);
        }
        assert!(Continuation::new().extrapolate(&segments, &scheme, &state, 0.1, &mut point));
        let off = (point.delta[0].0[1] - 0.01).abs();
        assert!(off < 4e-12, "{off:e}: seven steps give some 1e-10");
    }
}
