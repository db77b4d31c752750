//! Newton's method on the equations of one step, with a line search, and the decision when it is done. (3.21)

use super::constraint::Row;
use super::geometry::LinkPose;
use super::layout::{ClosureKind, Layout};
use super::ldu::{RANK_TOLERANCE, Six, angular, dot, linear};
use super::residual::{assemble, closure_rows, evaluate};
use super::rotation_map::RotationMap;
use super::state::{HISTORY, History, MaximalState};
use super::workspace::{MaximalWorkspace, Scales, StepData, Worst};
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
    let known = if smooth && !limited { history.count.min(history.reach) } else { history.count.min(1) };
    // The polynomial through the last steps: −C(known, age + 1) (−1)^(age + 1).
    let (mut weights, mut weight) = ([0.0; HISTORY], -1.0);
    for (age, to) in weights.iter_mut().enumerate().take(known) {
        weight = -weight * (known - age) as f64 / (age + 1) as f64;
        *to = weight;
    }
    let mix = |source: &[Six], target: &mut [Six]| {
        let n = target.len();
        let mut ages = [&source[..0]; HISTORY];
        for (age, at) in ages.iter_mut().enumerate().take(known) {
            *at = &source[history.range(stage, age, n)];
        }
        for i in 0..n {
            let mut sum = [0.0; 6];
            for (at, weight) in ages[..known].iter().zip(&weights) {
                let x = &at[i];
                sum = by_entry(|k| sum[k] + weight * x[k]);
            }
            target[i] = sum;
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

/// How many of the last steps the next guess is best made from: every further one takes away the error of a smooth motion by
/// about a factor and doubles that of rounding, so the sum ends where what is added no longer falls. Does not allocate.
pub(crate) fn reach(history: &History, length: f64) -> usize {
    let (known, n) = (history.count, history.w.len() / (HISTORY * history.stages));
    let mut sizes = [[0.0_f64; 6]; HISTORY];
    let mut ages = [&history.w[..0]; HISTORY];
    for (age, at) in ages.iter_mut().enumerate().take(known) {
        *at = &history.w[history.range(0, age, n)];
    }
    for i in 0..n {
        let mut d = [[0.0_f64; 6]; HISTORY];
        for (d, at) in d.iter_mut().zip(&ages[..known]) {
            *d = at[i];
        }
        for j in 1..known {
            for m in 0..known - j {
                d[m] = by_entry(|k| d[m][k] - d[m + 1][k]);
            }
            sizes[j] = by_entry(|k| sizes[j][k].max(d[0][k].abs()));
        }
    }
    let size = |j: usize| {
        let [a, b, c, x, y, z] = sizes[j];
        a.max(b).max(c).max(x.max(y).max(z) / length)
    };
    // What is left out after k terms: one that happens to vanish tells nothing, so later ones count, too.
    let last = known.max(1) - 1;
    let mut left = size(last);
    let (mut least, mut taken) = (left, known.max(1));
    for k in (1..last).rev() {
        left = size(k).max(0.5 * left);
        if left < least {
            (least, taken) = (left, k);
        }
    }
    // As long as fewer steps are known than could be, all that come are welcome.
    if taken == known { HISTORY } else { taken }
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
        let outcome = unsafe { solve_avx2(ws, map, state, tolerance) };
        return judged(ws, state, outcome);
    }
    let outcome = solve_with(ws, map, state, tolerance);
    judged(ws, state, outcome)
}

/// Rows out of use follow from the others, but for the misalignment of the data: what they are open by is told, and where it
/// grows over a step they did not follow.
fn judged(ws: &MaximalWorkspace, state: &MaximalState, mut outcome: Outcome) -> Outcome {
    /// Rows open by less than this, in lengths of the mechanism, are closed.
    const CLOSED: f64 = 1e-9;
    let (open, length) = (ws.trial.left_open, ws.step.scales.length);
    if !outcome.converged || open.as_length(length) <= CLOSED * length {
        return outcome;
    }
    let mut before = Worst::default();
    for (c, closure) in ws.layout.closures.iter().enumerate() {
        if let ClosureKind::Joint = closure.kind {
            before.add_rows(&ws.layout, c, &state.side, &state.poses, |r| !ws.step.kept[c][r]);
        }
    }
    outcome.inconsistency = outcome.inconsistency.max(open.as_length(length));
    outcome.converged = open.as_length(length) <= 10.0 * (before.as_length(length) + CLOSED * length);
    outcome
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn solve_avx2(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState, tolerance: f64) -> Outcome {
    solve_with(ws, map, state, tolerance)
}

/// What the residuals of a step are measured by. (3.21)
pub(crate) fn scales(layout: &Layout, incoming: &[Six], poses: &[LinkPose], h: f64) -> Scales {
    let largest = |m: f64, x: f64| m.max(x.abs());
    let (mut ang, mut lin, mut reach) = (0.0, 0.0, 0.0);
    for (p, pose) in incoming.iter().zip(poses) {
        for k in 0..3 {
            ang = largest(ang, p[k]);
            lin = largest(lin, p[3 + k]);
            reach = largest(reach, pose.x[k]);
        }
    }
    // Slower than rounding of positions within a step nothing moves.
    let slowest = f64::EPSILON * (reach + layout.length) / h.abs();
    let impulse = (ang / layout.length).max(lin) + layout.max_mass * slowest;
    Scales { impulse, speed: impulse / layout.max_mass, length: layout.length, reach }
}

/// Largest residuals that count as solved.
struct Targets {
    body: Worst,
    gap: Worst,
    /// Body rows that rounding alone explains, whatever the tolerance.
    rounding: Worst,
    merit: f64,
}

impl Targets {
    fn new(ws: &MaximalWorkspace, tolerance: f64) -> Self {
        let Scales { impulse, speed, length, reach } = ws.step.scales;
        let eps = f64::EPSILON;
        let body = |s: f64| Worst { ang: s * impulse * length, lin: s * impulse };
        // Positions are rounded to ε of their distance from the origin, five times on the way to a gap; so are quaternions.
        let gap = Worst {
            ang: (0.1 * tolerance).max(8.0 * eps),
            lin: (0.1 * tolerance * length).max(4.0 * eps * reach),
        };
        let rate = (gap.ang * length + gap.lin) / (ws.step.h.abs() * speed);
        let rows = 6.0 * (ws.layout.links.len() + ws.layout.closures.len()) as f64;
        Self {
            body: body(tolerance),
            gap,
            rounding: body(8.0 * eps),
            merit: (tolerance + rate) * rows.sqrt(),
        }
    }
}

impl Worst {
    fn within(self, target: Self, factor: f64) -> bool {
        self.ang <= factor * target.ang && self.lin <= factor * target.lin
    }
}

#[inline(always)]
fn solve_with(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState, tolerance: f64) -> Outcome {
    let mut outcome = Outcome::default();
    let targets = Targets::new(ws, tolerance);
    if !evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial) {
        return outcome;
    }
    let mut stalled = 0;
    let mut last_change = Worst { ang: f64::INFINITY, lin: f64::INFINITY };
    for iteration in 0..=MAX_ITERATIONS {
        let (body, gap, merit) = (ws.trial.worst_body, ws.trial.worst_gap, ws.trial.merit);
        outcome.iterations = iteration;
        outcome.residual = merit;
        outcome.merits.rotate_left(1);
        outcome.merits[7] = merit;
        ws.merits = outcome.merits;
        if gap.within(targets.gap, 1.0) {
            if body.within(targets.rounding, 1.0) || (iteration > 0 && at_rounding(ws, state)) {
                outcome.converged = true;
                return outcome;
            }
            if body.within(targets.body, 1.0) {
                // Within the tolerance: the factors at hand once more take what is left to rounding, so that poses do not
                // remember the tolerance.
                outcome.converged = true;
                if iteration > 0 {
                    polish(ws, map, state, &mut outcome);
                    return outcome;
                }
            }
        }
        if stalled >= 2 {
            // The floor of rounding, or the misalignment of a redundant loop.
            let floor = body.within(targets.body, 100.0) && gap.within(targets.gap, 100.0);
            // A misaligned loop was open by as much at the start of the step; a singular pose was not.
            let misaligned = outcome.dropped > 0
                && body.within(targets.body, 100.0)
                && last_change.within(Worst { ang: 1e-11, lin: 1e-11 * ws.step.scales.length }, 1.0)
                && gap.within(super::read_out::largest_gap(&ws.layout, state), 10.0);
            outcome.converged = floor || misaligned;
            if misaligned && !floor {
                outcome.inconsistency = gap.ang.max(gap.lin);
            }
            return outcome;
        }
        if iteration == MAX_ITERATIONS {
            return outcome;
        }
        last_change = evaluated_direction(ws, map, state, true);
        outcome.dropped = ws.ldu.dropped;
        if !(last_change.ang + last_change.lin).is_finite() {
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
            if fits && (ws.trial.merit < merit || ws.trial.merit < targets.merit) {
                accepted = true;
                break;
            }
            length *= 0.5;
        }
        if !accepted {
            // At the floor of rounding no step lowers the merit: keep the better of the two points.
            back(ws, map, state);
        }
        if outcome.converged {
            // The guess was within the tolerance, and one direction has been taken from it.
            outcome.iterations = 1;
            outcome.residual = ws.trial.merit;
            return outcome;
        }
        if !accepted {
            stalled += 2;
            continue;
        }
        stalled = if ws.trial.merit > 0.5 * merit { stalled + 1 } else { 0 };
    }
    outcome
}

/// One more direction with the factors at hand, from an iterate within the tolerance; kept unless it is worse.
#[inline(always)]
fn polish(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState, outcome: &mut Outcome) {
    let (merit, change) = (ws.trial.merit, evaluated_direction(ws, map, state, false));
    if !(change.ang + change.lin).is_finite() {
        return;
    }
    std::mem::swap(&mut ws.base, &mut ws.iterate);
    take(ws, 1.0);
    if evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial) && ws.trial.merit < merit {
        outcome.residual = ws.trial.merit;
        outcome.iterations += 1;
    } else {
        back(ws, map, state);
    }
}

/// Back to the iterate before the last direction.
fn back(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) {
    std::mem::swap(&mut ws.base, &mut ws.iterate);
    let fits = evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial);
    debug_assert!(fits);
}

/// True if every body row is as small as its own terms and the last solution let it be. (3.21)
///
/// A row is a difference of momenta, wrenches and their moments, each rounded to `ε`; the wrench of a joint comes from the
/// block `D` that the elimination has gathered from all links beyond it, so its rounding is `ε|D||δ|` for the last change `δ`.
fn at_rounding(ws: &mut MaximalWorkspace, state: &MaximalState) -> bool {
    /// Roundings on the way to a row: products of rotations, arms and levers, sums over six entries.
    const ROUNDINGS: f64 = 16.0;
    let MaximalWorkspace { layout, step, iterate, trial, ldu, system, .. } = ws;
    let largest = |v: Vec3| v[0].abs().max(v[1].abs()).max(v[2].abs());
    for (i, link) in layout.links.iter().enumerate() {
        let (p, u, c) = (&step.incoming_point[i], &trial.unbalanced[i], &iterate.wrench[i]);
        let v = linear(&iterate.w[i]);
        let arm = largest(state.side.arm[i]);
        let push = largest(linear(p)) + link.mass * largest(v) + largest(linear(c));
        let turn = 2.0 * largest(angular(p)) + largest(angular(u)) + arm * push + largest(angular(c));
        let (d, change) = (&ldu.diagonal[i], &system.body[i]);
        let gathered = |rows: std::ops::Range<usize>| {
            let row = |r: usize| (0..6).map(|k| (d[r][k] * change[k]).abs()).sum::<f64>();
            rows.map(row).fold(0.0, f64::max)
        };
        trial.sizes[i] = Worst { ang: turn + gathered(0..3), lin: push + gathered(3..6) };
    }
    for (i, link) in layout.links.iter().enumerate() {
        if let Some(parent) = link.parent {
            let (turn, push) = (largest(angular(&iterate.wrench[i])), largest(linear(&iterate.wrench[i])));
            let size = &mut trial.sizes[parent];
            size.ang += turn + largest(state.side.lever[i]) * push;
            size.lin += push;
        }
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        for r in 0..closure.rows {
            let (row, lam) = (&step.rows[c][r], iterate.lam[c][r].abs());
            for (link, ang) in [(closure.b, row.ang_b), (closure.a, row.ang_a)] {
                if let Some(i) = link {
                    trial.sizes[i].ang += largest(ang) * lam;
                    trial.sizes[i].lin += largest(row.lin) * lam;
                }
            }
        }
    }
    layout.links.iter().zip(&trial.residual).zip(&trial.sizes).all(|((link, r), size)| {
        let roundings = (ROUNDINGS + link.terms) * f64::EPSILON;
        Worst { ang: largest(angular(r)), lin: largest(linear(r)) }.within(*size, roundings)
    })
}

/// Newton direction at the iterate last evaluated, in `system`, with new factors or with those at hand; returns the largest
/// change of the pose.
#[inline(always)]
fn evaluated_direction(
    ws: &mut MaximalWorkspace,
    map: RotationMap,
    state: &MaximalState,
    with_matrix: bool,
) -> Worst {
    assemble(
        with_matrix,
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
    if with_matrix {
        ws.ldu.factor(&ws.layout, &ws.graph, &state.side, &ws.trial.side);
        if ws.layout.row_tolerance > RANK_TOLERANCE {
            ws.step.kept.copy_from_slice(&ws.ldu.kept);
        }
    }
    ws.ldu.solve(&ws.layout, &ws.graph, &state.side, &ws.trial.side, &mut ws.system);
    to_rates(ws, map, state)
}

/// Newton direction at the iterate in the workspace; `None` if it cannot be evaluated there.
pub(crate) fn direction(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) -> Option<()> {
    let fits = evaluate(map, &ws.layout, state, &ws.step, &ws.iterate, &mut ws.trial);
    let change = fits.then(|| evaluated_direction(ws, map, state, true))?;
    (change.ang + change.lin).is_finite().then_some(())
}

/// Turns the solution `[Ω; v]` at the joint points into changes of the interval velocities; returns the largest, times `h`.
#[inline(always)]
fn to_rates(ws: &mut MaximalWorkspace, map: RotationMap, state: &MaximalState) -> Worst {
    let (h, side) = (ws.step.h, &ws.trial.side);
    let mut largest = Worst::default();
    for i in 0..ws.layout.links.len() {
        let (ang, lin) = (angular(&ws.system.body[i]), linear(&ws.system.body[i]));
        let phi = angular(&ws.iterate.w[i]) * (0.5 * h);
        let omega = map.rate_of(phi, side.rot[i].tr_mul(ang));
        let v = lin - ang.cross(side.arm[i]);
        for k in 0..3 {
            if !(omega[k].is_finite() && v[k].is_finite()) {
                return Worst { ang: f64::INFINITY, lin: f64::INFINITY };
            }
            largest.ang = largest.ang.max(omega[k].abs());
            largest.lin = largest.lin.max(v[k].abs());
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
                let s = ws.trial.impulse[at] - ws.trial.alpha[at] * h * ws.system.rate[at];
                ws.system.limit[at] = sigma * (dot(&n, &ws.system.wrench[i]) - s);
            }
        }
    }
    Worst { ang: largest.ang * h.abs(), lin: largest.lin * h.abs() }
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
