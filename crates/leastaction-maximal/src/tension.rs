//! Links under more tension than the step can resolve. (3.38)
//!
//! The force `f` of a joint at the lever `l` of a link resists its rotation by the geometric stiffness
//! `K = Σ (f·l)(1 − l̂l̂ᵀ)`. Steps are explicit in it: a link that swings about its centre of mass with `ω² = K/J` is stable
//! for `hω < 2` only, however short the wave. A rope of n rods under its own weight has `ω² = 12 n g/l` at its top, so the
//! largest stable step falls with `1/√n`. The midpoint rule has no such limit, and for a linear force it is this same scheme
//! with the mass `M + h²K/4`. So a link whose `h²K` passes `3J` has the inertia `h²K/3` in those directions for the next
//! step: slow motion feels an error of second order, motion that the step cannot show is slowed down to `hω = √3`.
//!
//! Of the forces of the last two steps the lesser counts: where a linkage passes a fold they are large for a moment, which no
//! wave lives long enough to feel, and inertias that jump there would take energy from the motion.

use super::constraint::{Row, pattern};
use super::geometry::Geometry;
use super::layout::{ClosureKind, Layout};
use super::ldu::{angular, linear};
use super::read_out::project;
use super::residual::closure_rows;
use super::start::{add_armature, carry_momentum};
use super::state::MaximalState;
use super::workspace::MaximalWorkspace;
use crate::mechanism::JointType;
use crate::spatial::{Mat3, Vec3};

/// `(hω)²` up to which the rotation of a link under tension is left as it is; four is the limit of stability.
const RESOLVED: f64 = 3.0;

/// Upper bound of the eigenvalues of `J⁻¹(l²1 − llᵀ)`.
pub(crate) fn transverse(inverse_inertia: &Mat3, l: Vec3) -> f64 {
    inverse_inertia.trace() * l.norm2() - l.dot(*inverse_inertia * l)
}

/// True if the forces of the last step could make a link stiff for a step of length `h`, or did so in the last one.
pub(crate) fn matters(layout: &Layout, state: &MaximalState, h: f64) -> bool {
    if state.interval == 0.0 {
        return false;
    }
    let history = &state.history;
    let joints = &history.wrench[history.range(0, 0, layout.links.len())];
    let closures = &history.lam[history.range(0, 0, layout.closures.len())];
    let largest = joints.iter().fold(0.0f64, |m, c| m.max(linear(c).norm2()));
    let largest = closures.iter().fold(largest, |m, lam| m.max(lam.iter().map(|x| x * x).sum()));
    let bound = h * h * layout.stiffness_per_force / state.interval;
    state.stiffened || largest * bound * bound > RESOLVED * RESOLVED
}

/// Inertias of the links for a step of length `h`, from the forces of the last one. Does not allocate.
pub(crate) fn resolve(layout: &Layout, state: &mut MaximalState, scratch: &mut [[Row; 6]], h: f64) {
    // With another step than the last one's the inertias jump: the rates stay, so the carried momenta change.
    let jumps = state.inertia_step != h.abs();
    if jumps {
        add_spin(layout, state, -1.0);
    }
    stiffnesses(layout, state, scratch);
    state.stiffened = false;
    for (i, link) in layout.links.iter().enumerate() {
        let rot = &state.side.rot[i];
        let k = rot.transpose() * state.inertia[i] * *rot;
        let square = h * h * largest_eigenvalue(&(link.inverse_inertia * k));
        state.inertia[i] = link.inertia;
        if square > RESOLVED {
            // h²K/3 where the link is stiffest, continuous at the bound.
            state.inertia[i] = link.inertia + k * (h * h / RESOLVED * (1.0 - RESOLVED / square));
            state.stiffened = true;
        }
    }
    if jumps {
        add_spin(layout, state, 1.0);
    }
}

/// Adds the spin of the last interval, with the inertias at hand, to the carried momenta.
fn add_spin(layout: &Layout, state: &mut MaximalState, s: f64) {
    let newest = state.history.range(0, 0, layout.links.len());
    for (i, w) in state.history.w[newest].iter().enumerate() {
        let spin = state.side.rot[i] * (state.inertia[i] * angular(w));
        (0..3).for_each(|k| state.momentum[i][k] += s * spin[k]);
    }
}

/// Back to the inertias of the model, with the momenta of the velocities that the state shows.
pub(crate) fn forget(ws: &mut MaximalWorkspace, state: &mut MaximalState) {
    if !state.stiffened {
        return;
    }
    project(ws, state);
    let w = ws.system.body.clone();
    state.inertia.iter_mut().zip(&ws.layout.links).for_each(|(j, link)| *j = link.inertia);
    state.stiffened = false;
    carry_momentum(&ws.layout, &state.side, &w, &mut state.momentum);
    add_armature(ws, state, &ws.system.rate, &w);
}

/// `K` of every link in world axes, in place of its inertia.
fn stiffnesses(layout: &Layout, state: &mut MaximalState, scratch: &mut [[Row; 6]]) {
    let MaximalState { side, poses, history, inertia, interval, .. } = state;
    inertia.fill(Mat3::zero());
    let per_second = 1.0 / *interval;
    let mut pull = |i: usize, [newest, older]: [Vec3; 2], l: Vec3| {
        let tension = newest.dot(l).min(older.dot(l)) * per_second;
        if tension > 0.0 {
            let k = Mat3::diagonal(tension) - l.outer(l * (tension / l.norm2()));
            inertia[i] = inertia[i] + k;
        }
    };
    // After a step of another length there is one to ask.
    let ages = [0, usize::from(history.count > 1)];
    let wrenches = ages.map(|age| &history.wrench[history.range(0, age, layout.links.len())]);
    for (i, link) in layout.links.iter().enumerate() {
        let f = wrenches.map(|of| constraint_force(link.joint.kind, &side.joints[i], linear(&of[i])));
        pull(i, f, side.arm[i]);
        if let Some(p) = link.parent {
            pull(p, f.map(|f| -f), side.arm[p] + side.lever[i]);
        }
    }
    closure_rows(layout, side, poses, scratch);
    let lams = ages.map(|age| &history.lam[history.range(0, age, layout.closures.len())]);
    for (c, closure) in layout.closures.iter().enumerate() {
        if let ClosureKind::Joint = closure.kind {
            let g = &side.loops[closure.index];
            let f = lams
                .map(|lam| (0..closure.rows).fold(Vec3::zero(), |f, r| f + scratch[c][r].lin * lam[c][r]));
            if let Some(b) = closure.b {
                pull(b, f, side.arm[b] + g.lever_b);
            }
            if let Some(a) = closure.a {
                pull(a, f.map(|f| -f), side.arm[a] + g.lever_a);
            }
        }
    }
}

/// The part of a joint's force that its constraints exert; springs and dampers along its slides have rows of their own.
fn constraint_force(kind: JointType, g: &Geometry, f: Vec3) -> Vec3 {
    match pattern(kind) {
        (_, Some((first, count)), _) => (first..first + count).fold(Vec3::zero(), |sum, i| {
            let t = g.frame_a.column(i);
            sum + t * t.dot(f)
        }),
        (_, None, true) => f,
        (_, None, false) => Vec3::zero(),
    }
}

/// The largest eigenvalue of a matrix with eigenvalues `a ≥ b ≥ 0` and zero (tension along one line); not less for any other
/// with non-negative eigenvalues.
fn largest_eigenvalue(m: &Mat3) -> f64 {
    let (trace, square) = (m.trace(), (*m * *m).trace());
    0.5 * (trace + (2.0 * square - trace * trace).abs().sqrt())
}
