//! Newton's method on the equations of one step, with a line search, and the decision when it is done. (3.21)

use super::constraint::Row;
use super::layout::{ClosureKind, Layout};
use super::ldu::{Six, angular, dot, linear};
use super::residual::{assemble, closure_rows, evaluate};
use super::rotation_map::RotationMap;
use super::state::{History, MaximalState};
use super::workspace::{MaximalWorkspace, StepData};
use crate::scalar::by_entry;
use crate::spatial::Vec3;

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) converged: bool,
    pub(crate) iterations: u32,
    /// Merit at the end.
    pub(crate) residual: f64,
    pub(crate) dropped: u32,
    /// Constraint value left in dropped directions.
    pub(crate) inconsistency: f64,
    /// Merit before every iteration, newest last (for the convergence test).
    pub(crate) merits: [f64; 8],
}

/// Largest number of iterations, and of halvings in a line search.
const MAX_ITERATIONS: u32 = 40;
const MAX_HALVINGS: u32 = 12;
/// Merit below which any step is accepted.
const TINY_MERIT: f64 = 1e-12;
/// Rotation per step that a guess may have.
const TRUST: f64 = 1.2;

/// Guess of a stage's unknowns: polynomial extrapolation of the last steps. Does not allocate.
pub(crate) fn guess(
    history: &History,
    map: RotationMap,
    stage: usize,
    h: f64,
    smooth: bool,
    from_last: bool,
    ws: &mut MaximalWorkspace,
) {
    if from_last {
        // Within a split step: the interval just solved.
        ws.iterate.copy_from(&ws.last);
        return;
    }
    let limited = history.limit.iter().any(|g| *g != 0.0);
    let known = if smooth && !limited { history.count } else { history.count.min(1) };
    let weights: [f64; 3] = match known {
        0 => [0.0; 3],
        1 => [1.0, 0.0, 0.0],
        2 => [2.0, -1.0, 0.0],
        _ => [3.0, -3.0, 1.0],
    };
    let mix = |source: &[Six], target: &mut [Six]| {
        let n = target.len();
        let at = [0, 1, 2].map(|age| history.range(stage, age, n));
        let [s1, s2, s3] = at.map(|r| &source[r]);
        for i in 0..n {
            target[i] = match known {
                1 => s1[i],
                2 => by_entry(|k| 2.0 * s1[i][k] - s2[i][k]),
                _ => by_entry(|k| weights[0] * s1[i][k] + weights[1] * s2[i][k] + weights[2] * s3[i][k]),
            };
        }
    };
    mix(&history.w, &mut ws.iterate.w);
    mix(&history.wrench, &mut ws.iterate.wrench);
    mix(&history.lam, &mut ws.iterate.lam);
    ws.iterate.limit.copy_from_slice(&history.limit);
    if map == RotationMap::Sine {
        for w in &mut ws.iterate.w {
            let turn = angular(w).norm() * h.abs();
            if turn > TRUST {
                for k in 0..3 {
                    w[k] *= TRUST / turn;
                }
            }
        }
    }
}

/// Solves the equations from the iterate in the workspace. Does not allocate.
///
/// The kernels are compiled twice, for any processor and for wide vectors, and chosen at run time. Neither version
/// fuses multiplications with additions, so both give the same bits.
pub(crate) fn solve(
    ws: &mut MaximalWorkspace,
    map: RotationMap,
    state: &MaximalState,
    tolerance: f64,
) -> Outcome {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor has been asked")]
        return unsafe { solve_avx2(ws, map, state, tolerance) };
    }
    solve_with(ws, map, state, tolerance)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn solve_avx2(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState, tolerance: f64) -> Outcome {
    solve_with(ws, map, state, tolerance)
}

#[inline(always)]
fn solve_with(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState, tolerance: f64) -> Outcome {
    let mut outcome = Outcome::default();
    let reach =
        state.poses.iter().fold(0.0f64, |m, p| m.max(p.x.0.iter().fold(0.0f64, |m, x| m.max(x.abs()))));
    let body_target = tolerance * ws.step.impulse_scale;
    // Rounding of positions is a floor for the gaps, whatever the tolerance.
    let gap_target = (0.1 * tolerance * ws.layout.length).max(4.0 * f64::EPSILON * reach);
    if !evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial) {
        return outcome;
    }
    let mut stalled = 0;
    let mut last_change = f64::INFINITY;
    for iteration in 0..=MAX_ITERATIONS {
        let (body, gap, merit) = (ws.trial.worst_body, ws.trial.worst_gap, ws.trial.merit);
        outcome.iterations = iteration;
        outcome.residual = merit;
        outcome.merits.rotate_left(1);
        outcome.merits[7] = merit;
        ws.merits = outcome.merits;
        if body <= body_target && gap <= gap_target {
            outcome.converged = true;
            return outcome;
        }
        if stalled >= 2 {
            // The floor of rounding, or the misalignment of a redundant loop.
            let floor = body <= 100.0 * body_target && gap <= 100.0 * gap_target;
            // A misaligned loop was open by as much at the start of the step; a singular pose was not.
            let misaligned = outcome.dropped > 0
                && body <= 100.0 * body_target
                && last_change <= 1e-9
                && gap <= 10.0 * super::read_out::largest_gap(&ws.layout, state);
            outcome.converged = floor || misaligned;
            if misaligned && !floor {
                outcome.inconsistency = gap;
            }
            return outcome;
        }
        if iteration == MAX_ITERATIONS {
            return outcome;
        }
        last_change = evaluated_direction(ws, map, state);
        outcome.dropped = ws.ldu.dropped;
        if !last_change.is_finite() {
            outcome.converged = false;
            return outcome;
        }
        // The first trial overwrites every unknown, so that the two need only change places.
        std::mem::swap(&mut ws.base, &mut ws.iterate);
        let mut accepted = false;
        let mut length = 1.0;
        for _ in 0..=MAX_HALVINGS {
            take(ws, length);
            let fits = evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial);
            // The first step may raise the merit: it replaces guessed impulses by computed ones.
            if fits && (ws.trial.merit < merit || ws.trial.merit < TINY_MERIT) {
                accepted = true;
                break;
            }
            length *= 0.5;
        }
        if !accepted {
            // At the floor of rounding no step lowers the merit: keep the better of the two points.
            std::mem::swap(&mut ws.base, &mut ws.iterate);
            let fits = evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial);
            debug_assert!(fits);
            stalled += 2;
            continue;
        }
        stalled = if ws.trial.merit > 0.5 * merit { stalled + 1 } else { 0 };
    }
    outcome
}

/// Newton direction at the iterate last evaluated, in `system`; returns the largest change.
#[inline(always)]
fn evaluated_direction(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) -> f64 {
    assemble(
        map,
        &ws.layout,
        &ws.graph.ends,
        state,
        &ws.step,
        &ws.iterate,
        &mut ws.trial,
        &mut ws.ldu,
        &mut ws.system,
    );
    ws.ldu.factor(&ws.layout, &ws.graph, &state.side, &ws.trial.side);
    ws.ldu.solve(&ws.layout, &ws.graph, &state.side, &ws.trial.side, &mut ws.system);
    to_rates(ws, map, state)
}

/// Newton direction at the iterate in the workspace; `None` if it cannot be evaluated there.
pub(crate) fn direction(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) -> Option<f64> {
    evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial)
        .then(|| evaluated_direction(ws, map, state))
        .filter(|change| change.is_finite())
}

/// Turns the solution `[Ω; v]` at the joint points into changes of the interval velocities; returns the largest.
#[inline(always)]
fn to_rates(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) -> f64 {
    let (h, side) = (ws.step.h, &ws.trial.side);
    let mut largest = 0.0f64;
    for i in 0..ws.layout.links.len() {
        let (ang, lin) = (angular(&ws.system.body[i]), linear(&ws.system.body[i]));
        let phi = angular(&ws.iterate.w[i]) * (0.5 * h);
        let omega = map.rate_of(phi, side.rot[i].tr_mul(ang));
        let v = lin - ang.cross(side.arm[i]);
        for k in 0..3 {
            largest = largest.max(omega[k].abs()).max(v[k].abs());
            if !(omega[k].is_finite() && v[k].is_finite()) {
                return f64::INFINITY;
            }
        }
        ws.system.body[i] = [omega[0], omega[1], omega[2], v[0], v[1], v[2]];
    }
    // New limit impulses from the joints' wrenches: σγ = N_xᵀc − (s − α h E ξ).
    if ws.step.enforce_limits {
        for (i, link) in ws.layout.links.iter().enumerate() {
            for c in 0..link.joint.kind.nv() {
                let at = link.v + c;
                let sigma = ws.step.limit_side[at];
                if sigma == 0.0 || !link.joint.rows.has_limits {
                    ws.system.limit[at] = 0.0;
                    continue;
                }
                let row = super::constraint::coordinate_row(link.joint.kind, &state.side.joints[i], c);
                let n = super::ldu::six(row.ang_b, row.lin);
                let s = ws.trial.impulse[at] - ws.step.law[at].alpha * h * ws.system.rate[at];
                ws.system.limit[at] = sigma * (dot(&n, &ws.system.wrench[i]) - s);
            }
        }
    }
    largest
}

/// The iterate a fraction `length` of the way from the base to the solution.
#[inline(always)]
fn take(ws: &mut MaximalWorkspace, length: f64) {
    let (base, system, iterate) = (&ws.base, &ws.system, &mut ws.iterate);
    if length == 1.0 {
        for i in 0..base.w.len() {
            for k in 0..6 {
                iterate.w[i][k] = base.w[i][k] + system.body[i][k];
            }
            iterate.wrench[i] = system.wrench[i];
        }
        iterate.lam.copy_from_slice(&system.closure);
        let limits = if ws.step.enforce_limits { &system.limit } else { &base.limit };
        iterate.limit.copy_from_slice(limits);
        return;
    }
    let towards = |from: f64, to: f64| from + length * (to - from);
    for i in 0..base.w.len() {
        for k in 0..6 {
            iterate.w[i][k] = base.w[i][k] + length * system.body[i][k];
            iterate.wrench[i][k] = towards(base.wrench[i][k], system.wrench[i][k]);
        }
    }
    for c in 0..base.lam.len() {
        for k in 0..6 {
            iterate.lam[c][k] = towards(base.lam[c][k], system.closure[c][k]);
        }
    }
    if ws.step.enforce_limits {
        for c in 0..base.limit.len() {
            iterate.limit[c] = towards(base.limit[c], system.limit[c]);
        }
    }
}

/// Averages the closures' force directions between the start and the last end pose: at a singular pose the
/// directions of the start alone cannot close the loop. (3.23)
pub(crate) fn average_directions(
    layout: &Layout,
    state: &MaximalState,
    ws_trial: &super::workspace::Trial,
    step: &mut StepData,
    scratch: &mut [[Row; 6]],
) {
    closure_rows(layout, &ws_trial.side, &ws_trial.poses, scratch);
    let (start, end) = (&state.side, &ws_trial.side);
    for (c, closure) in layout.closures.iter().enumerate() {
        if !matches!(closure.kind, ClosureKind::Joint) {
            continue;
        }
        for r in 0..closure.rows {
            let (x, v) = (step.rows[c][r], scratch[c][r]);
            let lin = (x.lin + v.lin) * 0.5;
            let mean = |link: Option<usize>, ax: Vec3, av: Vec3| match link {
                None => ax,
                Some(i) => {
                    // In body axes about the centre of mass, where a rotation row has its meaning.
                    let from = start.rot[i].tr_mul(ax + start.arm[i].cross(x.lin));
                    let to = end.rot[i].tr_mul(av + end.arm[i].cross(v.lin));
                    start.rot[i] * ((from + to) * 0.5) - start.arm[i].cross(lin)
                }
            };
            step.rows[c][r] = Row {
                ang_b: mean(closure.b, x.ang_b, v.ang_b),
                ang_a: mean(closure.a, x.ang_a, v.ang_a),
                lin,
            };
        }
    }
}
