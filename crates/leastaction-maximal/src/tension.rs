//! Links under more tension than the step can resolve. (3.38)
//!
//! The force `f` of a joint at the lever `l` of a link resists its rotation by the geometric stiffness
//! `K = Σ (f·l)(1 − l̂l̂ᵀ)`. Steps are explicit in it: a link that swings about its centre of mass with `ω² = K/J` is stable
//! for `hω < 2` only, however short the wave. A rope of n rods under its own weight has `ω² = 12 n g/l` at its top, so the
//! largest stable step falls with `1/√n`. The midpoint rule has no such limit, and for a linear force it is this same scheme
//! with the mass `M + h²K/4`. So a link whose `h²K` passes `3J` has the inertia `h²K/3` in those directions for the next
//! step: slow motion feels an error of second order, motion that the step cannot show is slowed down to `hω = √3`.

use super::constraint::Row;
use super::layout::{ClosureKind, Layout};
use super::ldu::{Six, angular, linear};
use super::residual::closure_rows;
use super::state::MaximalState;
use crate::spatial::{Mat3, Vec3};

/// `(hω)²` up to which the rotation of a link under tension is left as it is; four is the limit of stability.
const RESOLVED: f64 = 3.0;

/// Upper bound of the eigenvalues of `J⁻¹(l²1 − llᵀ)`.
pub(crate) fn transverse(inverse_inertia: &Mat3, l: Vec3) -> f64 {
    inverse_inertia.trace() * l.norm2() - l.dot(*inverse_inertia * l)
}

/// True if a force of this square, at every joint, could make a link stiff for the step `h`.
pub(crate) fn could_be_stiff(layout: &Layout, force2: f64, h: f64) -> bool {
    let largest = h * h * layout.stiffness_per_force;
    force2 * largest * largest > RESOLVED * RESOLVED
}

/// Inertias of the links for steps of length `h` after the last one, whose largest impulse has the square `impulse2`. Does
/// not allocate.
pub(crate) fn resolve(
    layout: &Layout,
    state: &mut MaximalState,
    scratch: &mut [[Row; 6]],
    impulse2: f64,
    h: f64,
) {
    let per_second = 1.0 / state.interval;
    state.inertia_step = h.abs();
    if !could_be_stiff(layout, impulse2 * per_second * per_second, h) {
        if state.stiffened {
            state.inertia.iter_mut().zip(&layout.links).for_each(|(j, link)| *j = link.inertia);
            state.stiffened = false;
        }
        return;
    }
    stiffnesses(layout, state, scratch, per_second);
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
}

/// True if a step of length `h` needs other inertias than the last one's.
pub(crate) fn depends_on_step(layout: &Layout, state: &MaximalState, h: f64) -> bool {
    if state.interval == 0.0 || state.inertia_step == h.abs() {
        return false;
    }
    let per_second = 1.0 / state.interval;
    state.stiffened || could_be_stiff(layout, newest_impulse2(layout, state) * per_second * per_second, h)
}

/// As [`resolve`] for another step than the last one's: the rates stay, so the carried momenta change.
pub(crate) fn change_step(layout: &Layout, state: &mut MaximalState, scratch: &mut [[Row; 6]], h: f64) {
    let n = layout.links.len();
    let newest = state.history.range(0, 0, n);
    let add = |state: &mut MaximalState, s: f64| {
        for (i, at) in newest.clone().enumerate() {
            let spin = state.inertia[i] * angular(&state.history.w[at]);
            let world = state.side.rot[i] * spin;
            (0..3).for_each(|k| state.momentum[i][k] += s * world[k]);
        }
    };
    add(state, -1.0);
    let impulse2 = newest_impulse2(layout, state);
    resolve(layout, state, scratch, impulse2, h);
    add(state, 1.0);
}

fn newest_impulse2(layout: &Layout, state: &MaximalState) -> f64 {
    let history = &state.history;
    let (links, closures) = (layout.links.len(), layout.closures.len());
    largest_impulse2(&history.wrench[history.range(0, 0, links)], &history.lam[history.range(0, 0, closures)])
}

/// Square of the largest force impulse among the joints and closures.
pub(crate) fn largest_impulse2(wrench: &[Six], lam: &[Six]) -> f64 {
    let joints = wrench.iter().fold(0.0f64, |m, c| m.max(linear(c).norm2()));
    lam.iter().fold(joints, |m, lam| m.max(lam.iter().map(|x| x * x).sum()))
}

/// `K` of every link in world axes, in place of its inertia.
fn stiffnesses(layout: &Layout, state: &mut MaximalState, scratch: &mut [[Row; 6]], per_second: f64) {
    let MaximalState { side, poses, history, inertia, .. } = state;
    inertia.fill(Mat3::zero());
    let mut pull = |i: usize, f: Vec3, l: Vec3| {
        let tension = f.dot(l) * per_second;
        if tension > 0.0 {
            let k = Mat3::diagonal(tension) - l.outer(l * (tension / l.norm2()));
            inertia[i] = inertia[i] + k;
        }
    };
    let n = layout.links.len();
    for (i, (link, c)) in layout.links.iter().zip(&history.wrench[history.range(0, 0, n)]).enumerate() {
        let f = linear(c);
        pull(i, f, side.arm[i]);
        if let Some(p) = link.parent {
            pull(p, -f, side.arm[p] + side.lever[i]);
        }
    }
    closure_rows(layout, side, poses, scratch);
    let lam = &history.lam[history.range(0, 0, layout.closures.len())];
    for (c, closure) in layout.closures.iter().enumerate() {
        if let ClosureKind::Joint = closure.kind {
            let g = &side.loops[closure.index];
            let mut f = Vec3::zero();
            (0..closure.rows).for_each(|r| f += scratch[c][r].lin * lam[c][r]);
            if let Some(b) = closure.b {
                pull(b, f, side.arm[b] + g.lever_b);
            }
            if let Some(a) = closure.a {
                pull(a, -f, side.arm[a] + g.lever_a);
            }
        }
    }
}

/// The largest eigenvalue of a matrix with eigenvalues `a ≥ b ≥ 0` and zero (tension along one line); not less for any other
/// with non-negative eigenvalues.
fn largest_eigenvalue(m: &Mat3) -> f64 {
    let (trace, square) = (m.trace(), (*m * *m).trace());
    0.5 * (trace + (2.0 * square - trace * trace).abs().sqrt())
}
