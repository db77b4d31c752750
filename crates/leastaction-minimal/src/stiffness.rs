//! How fast a mechanism can oscillate: what decides where the action of a step is summed.
//!
//! A sum at the nodes is unstable for an oscillation beyond `hω` = 2.0, 2.8, 3.1, … (s = 1, 2, 3, …). Springs oscillate, and
//! so does what hangs: a link that carries the weight of a long chain is a stiff spring. Let a body turn by θ and all
//! behind it move without turning; then gravity's potential changes by at most
//!
//! ```text
//! δ²V ≤ Σ_i |g| |d_i| |θ_i ⟂ d_i|²,   d_i = m_i c_i + Σ_child m̂_child r_child                           (2.8)
//! ```
//!
//! in every pose, with m̂ the mass of a subtree. With the springs this is a matrix K, and the largest eigenvalue of `M⁻¹K` in
//! the neutral pose, by a few power iterations of O(n), is the largest ω².

use super::mass_factor::{MassFactor, MassMemory};
use super::segments::{GROUND, Segments};
use super::state::split_position;
use crate::mechanism::Mechanism;
use crate::spatial::{Mat3, Vec3};

/// Power iterations: enough for nine tenths of the largest eigenvalue of a long chain, whose spectrum is dense.
const ITERATIONS: usize = 16;

/// `hω` at which a sum at the nodes becomes unstable, by degree; it does not fall beyond.
const LIMITS: [f64; 5] = [2.0, 2.8, 3.1, 6.0, 6.2];

/// How near to the limit a step may come: frequencies change with the pose.
const MARGIN: f64 = 0.7;

/// True if a step of length `h` cannot be trusted to sum at the nodes.
pub(super) fn is_stiff(stiffness: f64, s: usize, h: f64) -> bool {
    h * h * stiffness > (MARGIN * LIMITS[s.min(LIMITS.len()) - 1]).powi(2)
}

/// The largest `ω²` of (2.8); zero if nothing oscillates or the mass matrix is singular.
pub(super) fn largest_stiffness(mechanism: &Mechanism, segments: &Segments) -> f64 {
    let n = segments.n;
    let mut base = vec![0.0; n];
    let mut anchors = vec![Mat3::identity(); segments.balls];
    split_position(mechanism, &mechanism.neutral_state().q, &mut base, &mut anchors);
    let mut mass = MassFactor::new(segments);
    if mass.factor(segments, &base, &anchors).is_err() {
        return 0.0;
    }
    let mut memory = MassMemory::new(segments);
    let levers = levers(segments, &mass);
    // No symmetry, so that every eigenvector has a share.
    let mut x: Vec<f64> = (0..n).map(|c| (c as f64 * 0.618_033_988_75).fract() - 0.5).collect();
    let mut pull = vec![0.0; n];
    let mut largest = 0.0;
    for _ in 0..ITERATIONS {
        times_stiffness(segments, &mass, &levers, &x, &mut pull);
        let before: f64 = x.iter().zip(&pull).map(|(x, f)| x * f).sum();
        x.copy_from_slice(&pull);
        mass.solve(segments, &mut memory, &mut x);
        let after: f64 = x.iter().zip(&pull).map(|(x, f)| x * f).sum();
        let ratio = after / before;
        // Not greater: nothing pulls, or numbers have run out.
        if !(ratio > 0.0 && ratio.is_finite()) {
            break;
        }
        largest = ratio;
        let scale = 1.0 / x.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        x.iter_mut().for_each(|x| *x *= scale);
    }
    largest
}

/// `|g| d_i` of every segment, along the axes of the world.
fn levers(segments: &Segments, mass: &MassFactor) -> Vec<Vec3> {
    let mut behind: Vec<f64> = segments.list.iter().map(|s| s.mass).collect();
    let mut levers: Vec<Vec3> = segments.list.iter().map(|s| s.com * s.mass).collect();
    for (i, segment) in segments.list.iter().enumerate().rev() {
        if segment.parent != GROUND {
            behind[segment.parent] += behind[i];
            levers[segment.parent] += segment.placement.pos * behind[i];
        }
    }
    let g = segments.gravity.norm();
    levers.iter().enumerate().map(|(i, d)| mass.rotation(i) * *d * g).collect()
}

/// `K x`.
fn times_stiffness(segments: &Segments, mass: &MassFactor, levers: &[Vec3], x: &[f64], out: &mut [f64]) {
    let mut turns = vec![Vec3::zero(); segments.list.len()];
    for (i, segment) in segments.list.iter().enumerate() {
        let mut turn = if segment.parent == GROUND { Vec3::zero() } else { turns[segment.parent] };
        for c in segment.coordinate..segment.coordinate + segment.freedom() {
            turn += mass.column(c).ang * x[c];
        }
        turns[i] = turn;
    }
    out.fill(0.0);
    for tendon in &segments.tendons {
        let stretch: f64 = tendon.terms.iter().map(|(c, a)| a * x[*c]).sum();
        tendon.terms.iter().for_each(|(c, a)| out[*c] += a * tendon.stiffness * stretch);
    }
    // From here on, the couple on a segment and all behind it.
    for (turn, lever) in turns.iter_mut().zip(levers) {
        let length = lever.norm();
        *turn =
            if length > 0.0 { *turn * length - *lever * (lever.dot(*turn) / length) } else { Vec3::zero() };
    }
    for (i, segment) in segments.list.iter().enumerate().rev() {
        for c in segment.coordinate..segment.coordinate + segment.freedom() {
            out[c] += mass.column(c).ang.dot(turns[i]) + segments.laws[c].stiffness * x[c];
        }
        if segment.parent != GROUND {
            let couple = turns[i];
            turns[segment.parent] += couple;
        }
    }
    // A position servo is a spring along its length.
    for servo in &segments.servos {
        let length: f64 = servo.entries.iter().map(|(c, gear)| gear * x[*c]).sum();
        let pull = (-servo.law.bias[1]).max(0.0) * length;
        servo.entries.iter().for_each(|(c, gear)| out[*c] += gear * pull);
    }
}
