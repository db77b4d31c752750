//! [`solve`]: a motion from costs, boundary states and limits.
//!
//! Without limits: Newton. With limits: the unconstrained solution first, then the interior point from there, then the
//! last digits on the manifold of the active limits. If the interior point fails, the limits are tightened step by step
//! from where they do not bind.

use super::active_set;
use super::between;
use super::gaps::{bound_scale, gaps};
use super::goals::approach;
use super::interior_point::{self, InteriorPointOptions, InteriorPointReport};
use super::newton::{NewtonOptions, meet_equalities, minimise, slope};
use super::status::{ActiveBound, Obstacle, Progress, Solution, SolveStatus, Wish};
use super::task::TaskMode;
use super::transcription::{ControlPoints, Point, Transcription};
use super::{Bound, HessianKind, OptimizeError};
use crate::linalg::Banded;

/// Part of the objective that a limit must be worth to count as acting.
const ACTS: f64 = 1e-9;

/// Constraints on frames hold to this, in m or rad.
const TASK_TOLERANCE: f64 = 1e-10;
/// First stiffness of constraints against the fastest modes of the costs.
const SOFT: f64 = 1e-3;
/// To this the first rounds are solved.
const COARSE: f64 = 1e-5;
/// First barrier of gaps on frames, relative to the objective.
const FRAME_BARRIER: f64 = 1e-4;
/// Tolerance of a first solution that is about to be changed, and of those after it.
const ROUGH: f64 = 1e-4;
const CLOSE: f64 = 1e-7;
/// Rounds in which gaps are widened.
const MOST_WIDENINGS: usize = 8;
/// Rounds of multipliers.
const TASK_ROUNDS: usize = 30;

/// Options of the direct problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveOptions {
    /// The unconstrained stage.
    pub newton: NewtonOptions,
    /// The constrained stage.
    pub interior_point: InteriorPointOptions,
    /// Hold limits between samples as well, to this part of each limit's size; zero: at the samples only.
    pub between: f64,
    /// What a second costs, if the duration is free: [`Solution::duration`] is then the best one.
    pub time_weight: Option<f64>,
}

/// Solves a problem from `start` (the quintic profile if `None`).
///
/// # Errors
/// If `start` has the wrong size or holds numbers that are not finite.
pub fn solve(
    tr: &mut Transcription,
    weights: &[f64],
    start: Option<&ControlPoints>,
    options: &SolveOptions,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> Result<Solution, OptimizeError> {
    #[cfg(feature = "sabotage")]
    let heard = if crate::sabotage::chosen(crate::sabotage::Fault::LostTerm) {
        weights.iter().enumerate().map(|(k, w)| if k + 1 == weights.len() { 0.0 } else { *w }).collect()
    } else {
        weights.to_vec()
    };
    #[cfg(feature = "sabotage")]
    let weights = &heard[..];
    if let Some(weight) = options.time_weight
        && !tr.free_duration(weight)
    {
        return Err(OptimizeError::DurationNotFree);
    }
    if tr.pace.is_some() || !tr.tasks.is_empty() {
        let solved = guided(tr, weights, start, options, observe)?;
        let done = !matches!(solved.status, SolveStatus::MaxIterations | SolveStatus::Infeasible);
        if done || tr.pace.take().is_some() {
            return Ok(solved);
        }
    }
    if tr.tasks.is_empty() {
        return solve_once(tr, weights, start, options, observe);
    }
    let mut theta = start.cloned().unwrap_or_else(|| tr.initial_control_points());
    let mut rho = first_penalty(tr, weights, &theta);
    let (mut iterations, mut history) = (0, Vec::new());
    let mut last = f64::INFINITY;
    for round in 0.. {
        tr.set_penalty(rho);
        // Far from the goals the multipliers are wrong anyway.
        let coarse = last > COARSE && round < TASK_ROUNDS;
        let tolerance = options.newton.tolerance.max(if coarse { COARSE } else { 0.0 });
        let newton = NewtonOptions { tolerance, polish: options.newton.polish && !coarse, ..options.newton };
        let now = SolveOptions { newton, ..*options };
        let mut solution = solve_once(tr, weights, Some(&theta), &now, observe)?;
        iterations += solution.iterations;
        history.append(&mut solution.history);
        let mut point = Point::default();
        tr.evaluate(&solution.theta, &mut point);
        let violation = tr.task_violation(&point);
        let kept = violation <= TASK_TOLERANCE && !coarse;
        let stop = matches!(solution.status, SolveStatus::Interrupted);
        tr.update_multipliers(&point);
        if kept || stop || round == TASK_ROUNDS {
            if !kept && !stop {
                solution.status = SolveStatus::Infeasible;
            }
            solution.tasks = tr.task_reports(&point);
            between::frames(tr, &solution.theta, &mut solution.tasks);
            solution.iterations = iterations;
            solution.history = history;
            return Ok(solution);
        }
        if violation > 0.1 * last {
            rho *= 10.0;
        }
        last = violation;
        theta = ControlPoints::new(solution.theta.high);
    }
    unreachable!("the last round returns")
}

/// Goals, inequalities on frames, a free duration: all in one interior point.
fn guided(
    tr: &mut Transcription,
    weights: &[f64],
    start: Option<&ControlPoints>,
    options: &SolveOptions,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> Result<Solution, OptimizeError> {
    let mut theta = checked(tr, weights, start)?;
    tr.fix_boundary(&mut theta);
    meet_equalities(tr, &mut theta);
    tr.task_mode = TaskMode::Loads;
    approach(tr, weights, &mut theta);
    // Frames have a gap at every sample: a barrier that is right for a few limits would drive them far away.
    let barrier = options.interior_point.barrier.min(FRAME_BARRIER);
    let inner = InteriorPointOptions { barrier, ..options.interior_point };
    let widens = options.between > 0.0 && !(tr.bounds.is_empty() && tr.task_gap_count() == 0);
    // A motion that is about to be changed need not be a good one.
    let first = InteriorPointOptions { tolerance: if widens { ROUGH } else { inner.tolerance }, ..inner };
    let mut report = interior_point::solve(tr, weights, &mut theta, &first, observe);
    let goal = tr.bounds.clone();
    if widens && report.is_solved() {
        hold_between(tr, weights, &mut theta, &mut report, &inner, options.between, observe);
    }
    tr.tasks.iter_mut().for_each(|task| task.margins.fill(0.0));
    tr.bounds = goal;
    tr.task_mode = TaskMode::Penalty;
    let acting = acting(&report.multipliers, &report.slacks)
        .into_iter()
        .map(|i| ActiveBound { bound: tr.bounds[i], multiplier: report.multipliers[i] })
        .collect();
    let mut solution =
        describe(tr, weights, theta, report.status, report.iterations, report.history, acting, report.kkt);
    let mut point = Point::default();
    tr.evaluate(&solution.theta, &mut point);
    solution.tasks = tr.task_reports(&point);
    between::frames(tr, &solution.theta, &mut solution.tasks);
    solution.duration = tr.duration();
    tr.pace = tr.pace.take().filter(|_| solution.status == SolveStatus::MaxIterations);
    Ok(solution)
}

/// Limits and gaps of frames hold between samples too: gaps are widened by what the motion passes there, with the multipliers kept. The
/// last digits are for the widths that stay.
fn hold_between(
    tr: &mut Transcription,
    weights: &[f64],
    theta: &mut ControlPoints,
    report: &mut InteriorPointReport,
    inner: &InteriorPointOptions,
    tolerance: f64,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) {
    let goal = tr.bounds.clone();
    let (mut widened, mut solved_to) = (0, ROUGH);
    while widened < MOST_WIDENINGS {
        let excess = between::excess(tr, &goal, theta);
        let worst = goal.iter().zip(&excess).fold(0.0, |m: f64, (b, x)| m.max(x / bound_scale(b)));
        let before: Vec<Vec<f64>> = tr.tasks.iter().map(|task| task.margins.clone()).collect();
        let narrower = tr.bounds.clone();
        let holds = worst.max(between::widen_margins(tr, theta)) <= tolerance;
        if holds && solved_to <= inner.tolerance {
            return;
        }
        for (bound, x) in tr.bounds.iter_mut().zip(&excess) {
            bound.limit += if bound.upper { -1.1 * x } else { 1.1 * x };
        }
        widened += usize::from(!holds);
        let mut level = if holds && solved_to < ROUGH { inner.tolerance } else { solved_to.min(CLOSE) };
        level = level.max(inner.tolerance);
        // The motion changes by little: a low barrier keeps it near, and multipliers tell what acts.
        let near = near(level, inner);
        let mut tighter = theta.clone();
        let mut next = interior_point::resume(tr, weights, &mut tighter, &near, Some(&report.duals), observe);
        if !next.is_solved() {
            tighter = theta.clone();
            next = interior_point::solve(tr, weights, &mut tighter, inner, observe);
            level = inner.tolerance;
        }
        if !next.is_solved() {
            // Gaps that wide leave no room.
            tr.tasks.iter_mut().zip(before).for_each(|(task, before)| task.margins = before);
            tr.bounds = narrower;
            break;
        }
        *theta = tighter;
        report.followed_by(next);
        solved_to = level;
    }
    if solved_to > inner.tolerance {
        let near = near(inner.tolerance, inner);
        let last = interior_point::resume(tr, weights, theta, &near, Some(&report.duals), observe);
        report.followed_by(last);
    }
}

/// Options for a search that begins next to its end: the barrier is the last one from the beginning.
fn near(tolerance: f64, inner: &InteriorPointOptions) -> InteriorPointOptions {
    InteriorPointOptions { tolerance, barrier: inner.barrier.min(0.1 * tolerance), ..*inner }
}

/// Bounds that act: multipliers outweigh slacks, both relative to their sizes.
fn acting(multipliers: &[f64], slacks: &[f64]) -> Vec<usize> {
    let scale = crate::linalg::largest(multipliers).max(f64::MIN_POSITIVE);
    (0..slacks.len()).filter(|i| multipliers[*i] / scale > slacks[*i]).collect()
}

/// The start of a search, if its size and that of the weights are right.
fn checked(
    tr: &Transcription,
    weights: &[f64],
    start: Option<&ControlPoints>,
) -> Result<ControlPoints, OptimizeError> {
    if weights.len() != tr.names.len() {
        let (expected, found) = (tr.names.len(), weights.len());
        return Err(OptimizeError::WrongLength { name: "weights", expected, found });
    }
    let Some(theta) = start else { return Ok(tr.initial_control_points()) };
    let expected = tr.table.n_control * tr.n;
    if theta.high.len() != expected || theta.low.len() != expected {
        return Err(OptimizeError::WrongLength { name: "start", expected, found: theta.high.len() });
    }
    if theta.high.iter().any(|x| !x.is_finite()) {
        return Err(OptimizeError::NotFinite { name: "start" });
    }
    Ok(theta.clone())
}

/// ρ that lets the costs bend to constraints at first: as stiff as the slow modes of a motion, not as its fastest.
fn first_penalty(tr: &mut Transcription, weights: &[f64], theta: &ControlPoints) -> f64 {
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let (size, width) = (tr.unknowns(), tr.width());
    let (mut h, mut diagonal) = (Banded::new(size, width), vec![0.0; size]);
    tr.hessian(weights, &point, &[], &[], HessianKind::GaussNewton, &mut h, &mut diagonal);
    let mean = diagonal.iter().sum::<f64>() / size as f64;
    (SOFT * mean / tr.task_size(&point).max(f64::MIN_POSITIVE)).clamp(1e-6, 1e9)
}

/// Solves with the multipliers that constraints on frames have.
fn solve_once(
    tr: &mut Transcription,
    weights: &[f64],
    start: Option<&ControlPoints>,
    options: &SolveOptions,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> Result<Solution, OptimizeError> {
    let mut theta = checked(tr, weights, start)?;
    if let Some((bound, value)) = tr.impossible.first().copied() {
        tr.fix_boundary(&mut theta);
        let mut solution =
            describe(tr, weights, theta, SolveStatus::Infeasible, 0, Vec::new(), Vec::new(), f64::NAN);
        let t = tr.table.times[bound.sample];
        solution.obstacle = Some(Obstacle { bound, value, t, proven: true });
        return Ok(solution);
    }
    let free_theta = theta.clone();
    let report = if tr.bounds.is_empty() {
        minimise(tr, weights, &mut theta, &options.newton, observe)
    } else {
        minimise(tr, weights, &mut theta, &NewtonOptions { polish: false, ..options.newton }, observe)
    };
    if tr.bounds.is_empty() || report.status == SolveStatus::Interrupted {
        return Ok(describe(
            tr,
            weights,
            theta,
            report.status,
            report.iterations,
            report.history,
            Vec::new(),
            report.kkt,
        ));
    }
    let mut constrained =
        Constrained { tr, weights, options, history: report.history, iterations: report.iterations };
    let first = constrained.solve(theta, free_theta, observe);
    Ok(constrained.hold_between(first, observe))
}

struct Constrained<'a> {
    tr: &'a mut Transcription,
    weights: &'a [f64],
    options: &'a SolveOptions,
    history: Vec<Progress>,
    iterations: usize,
}

impl Constrained<'_> {
    fn solve(
        &mut self,
        unconstrained: ControlPoints,
        start: ControlPoints,
        observe: &mut dyn FnMut(&Progress) -> Wish,
    ) -> Solution {
        let first = self.attempt(unconstrained.clone(), observe);
        if !matches!(first.status, SolveStatus::MaxIterations | SolveStatus::Infeasible) || first.is_proof() {
            return first;
        }
        // Tighten the limits from where they do not bind, keeping the solution of each stage.
        let second = self.tighten(unconstrained, observe);
        if second.status == SolveStatus::Solved {
            return second;
        }
        // The start given may lie in a friendlier valley than the unconstrained minimum.
        let third = self.attempt(start, observe);
        [first, second, third].into_iter().min_by_key(|s| rank(s.status)).expect("three candidates")
    }

    /// Tightens limits at the samples beside a violation until they hold between samples too. Where that can't be met the
    /// motion stays as it is, with its violation told.
    fn hold_between(&mut self, mut best: Solution, observe: &mut dyn FnMut(&Progress) -> Wish) -> Solution {
        let tolerance = self.options.between;
        if tolerance == 0.0 {
            return best;
        }
        let goal = self.tr.bounds.clone();
        for _ in 0..8 {
            let solved = matches!(best.status, SolveStatus::Solved | SolveStatus::AlmostSolved);
            let excess = between::excess(self.tr, &goal, &best.theta);
            let worst = goal.iter().zip(&excess).fold(0.0, |m: f64, (b, x)| m.max(x / bound_scale(b)));
            if !solved || worst <= tolerance {
                break;
            }
            for (bound, x) in self.tr.bounds.iter_mut().zip(&excess) {
                // A little more than what is missing: the motion between samples follows its samples.
                let more = 1.1 * x;
                bound.limit += if bound.upper { -more } else { more };
            }
            let next = self.attempt(ControlPoints::new(best.theta.high.clone()), observe);
            if !matches!(next.status, SolveStatus::Solved | SolveStatus::AlmostSolved) {
                if next.status == SolveStatus::Interrupted {
                    best.status = SolveStatus::Interrupted;
                }
                break;
            }
            best = next;
        }
        for active in &mut best.active {
            let own = |b: &&Bound| {
                let a = &active.bound;
                (b.row, b.sample, b.upper, b.kind) == (a.row, a.sample, a.upper, a.kind)
            };
            active.bound.limit = goal.iter().find(own).map_or(active.bound.limit, |b| b.limit);
        }
        self.tr.bounds = goal;
        // Violations are those of the limits as they were given.
        let kept = between::violations(self.tr, &best.theta);
        best.violation = kept.at_samples;
        best.violation_between = kept.anywhere;
        best.violated = kept.worst;
        best.iterations = self.iterations;
        best.history.clone_from(&self.history);
        best
    }

    fn attempt(&mut self, mut theta: ControlPoints, observe: &mut dyn FnMut(&Progress) -> Wish) -> Solution {
        let report =
            interior_point::solve(self.tr, self.weights, &mut theta, &self.options.interior_point, observe);
        self.iterations += report.iterations;
        self.history.extend(report.history);
        let (tr, weights) = (&mut *self.tr, self.weights);
        let mut status = report.status;
        let active = acting(&report.multipliers, &report.slacks);
        let mut acting: Vec<(usize, f64)> = active.iter().map(|i| (*i, report.multipliers[*i])).collect();
        let mut kkt = f64::NAN;
        if matches!(status, SolveStatus::Solved | SolveStatus::AlmostSolved)
            && let Some(polished) = active_set::polish(tr, weights, &theta, &active, &report.multipliers)
        {
            theta = polished.theta;
            acting = polished.active;
            kkt = polished.kkt;
            if kkt <= self.options.interior_point.tolerance {
                status = SolveStatus::Solved;
            }
        }
        let acting = acting
            .into_iter()
            .map(|(i, multiplier)| ActiveBound { bound: tr.bounds[i], multiplier })
            .collect();
        if kkt.is_nan() {
            kkt = self.history.last().map_or(f64::NAN, |p| p.kkt);
        }
        let history = self.history.clone();
        let mut solution = describe(tr, weights, theta, status, self.iterations, history, acting, kkt);
        if let Some(i) = report.obstacle {
            let bound = tr.bounds[i];
            let mut point = Point::default();
            tr.evaluate(&solution.theta, &mut point);
            let value = tr.row_value(&point, &solution.theta, &bound);
            let t = tr.table.times.get(bound.sample).copied().unwrap_or(f64::NAN);
            solution.obstacle = Some(Obstacle { bound, value, t, proven: false });
        }
        solution
    }

    fn tighten(&mut self, mut theta: ControlPoints, observe: &mut dyn FnMut(&Progress) -> Wish) -> Solution {
        let goal = self.tr.bounds.clone();
        let mut point = Point::default();
        self.tr.evaluate(&theta, &mut point);
        let needed = gaps(self.tr, &point, &theta).iter().fold(0.0, |m: f64, c| m.max(-c));
        let stages = 6;
        let mut last = None;
        for stage in (0..stages).rev() {
            let slack = needed * f64::from(stage) / f64::from(stages);
            for (bound, goal) in self.tr.bounds.iter_mut().zip(&goal) {
                let room = slack * bound_scale(goal);
                bound.limit = goal.limit + if goal.upper { room } else { -room };
            }
            let solution = self.attempt(theta.clone(), observe);
            theta = ControlPoints::new(solution.theta.high.clone());
            let stop = solution.status == SolveStatus::Interrupted;
            last = Some(solution);
            if stop {
                break;
            }
        }
        self.tr.bounds = goal;
        last.expect("at least one stage")
    }
}

impl Solution {
    fn is_proof(&self) -> bool {
        self.obstacle.is_some_and(|o| o.proven)
    }
}

fn rank(status: SolveStatus) -> u8 {
    match status {
        SolveStatus::Solved => 0,
        SolveStatus::AlmostSolved => 1,
        SolveStatus::Interrupted => 2,
        SolveStatus::Infeasible => 3,
        SolveStatus::MaxIterations | SolveStatus::Stalled => 4,
    }
}

/// Fills in what a solution reports.
#[expect(clippy::too_many_arguments, reason = "the fields of a solution")]
pub(super) fn describe(
    tr: &mut Transcription,
    weights: &[f64],
    theta: ControlPoints,
    status: SolveStatus,
    iterations: usize,
    history: Vec<Progress>,
    active: Vec<ActiveBound>,
    kkt: f64,
) -> Solution {
    let mut point = Point::default();
    tr.evaluate(&theta, &mut point);
    let kkt_residual = if kkt.is_nan() {
        tr.linearize(&mut point);
        let s = slope(tr, weights, &point, &theta);
        crate::linalg::largest(&s.gradient) / s.scale
    } else {
        kkt
    };
    let kept = between::violations(tr, &theta);
    // What constraints add is no cost.
    let objective = crate::linalg::dot(&tr.term_costs(&point, &theta), weights);
    // A limit acts if moving it by its size would change the cost: what a solver leaves on others is rounding.
    let matters = |a: &ActiveBound| a.multiplier * bound_scale(&a.bound) > ACTS * objective.abs();
    Solution {
        status,
        objective,
        term_costs: tr.term_costs(&point, &theta),
        kkt_residual,
        iterations,
        violation: kept.at_samples,
        violation_between: kept.anywhere,
        violated: kept.worst,
        active: active.into_iter().filter(matters).collect(),
        obstacle: None,
        tasks: Vec::new(),
        duration: tr.duration(),
        history,
        theta,
    }
}
