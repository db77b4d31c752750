//! [`solve`]: a motion from costs, boundary states and limits.
//!
//! Without limits: Newton. With limits: the unconstrained solution first, then the interior point from there, then the
//! last digits on the manifold of the active limits. If the interior point fails, the limits are tightened step by step
//! from where they do not bind.

use super::active_set;
use super::interior_point::{self, InteriorPointOptions, gaps};
use super::newton::{NewtonOptions, minimise, objective, slope};
use super::status::{ActiveBound, Obstacle, Progress, Solution, SolveStatus, Wish};
use super::transcription::{ControlPoints, Point, Transcription};
use super::{LimitKind, OptimizeError};

/// Options of the direct problem.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SolveOptions {
    /// The unconstrained stage.
    pub newton: NewtonOptions,
    /// The constrained stage.
    pub interior_point: InteriorPointOptions,
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
    let mut theta = match start {
        None => tr.initial_control_points(),
        Some(theta) => {
            let expected = tr.table.n_control * tr.n;
            if theta.high.len() != expected || theta.low.len() != expected {
                return Err(OptimizeError::WrongLength { name: "start", expected, found: theta.high.len() });
            }
            if theta.high.iter().any(|x| !x.is_finite()) {
                return Err(OptimizeError::NotFinite { name: "start" });
            }
            theta.clone()
        }
    };
    if weights.len() != tr.names.len() {
        let (expected, found) = (tr.names.len(), weights.len());
        return Err(OptimizeError::WrongLength { name: "weights", expected, found });
    }
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
    Ok(constrained.solve(theta, free_theta, observe))
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

    fn attempt(&mut self, mut theta: ControlPoints, observe: &mut dyn FnMut(&Progress) -> Wish) -> Solution {
        let report =
            interior_point::solve(self.tr, self.weights, &mut theta, &self.options.interior_point, observe);
        self.iterations += report.iterations;
        self.history.extend(report.history);
        let (tr, weights) = (&mut *self.tr, self.weights);
        let mut status = report.status;
        // A bound acts if its multiplier outweighs its slack, both relative to their sizes.
        let scale = crate::linalg::largest(&report.multipliers).max(f64::MIN_POSITIVE);
        let active: Vec<usize> =
            (0..report.slacks.len()).filter(|i| report.multipliers[*i] / scale > report.slacks[*i]).collect();
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
                let room = slack * interior_point::bound_scale(goal);
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
    let violation = |tr: &Transcription, point: &Point, theta: &ControlPoints| {
        tr.bounds.iter().map(|b| -b.gap(tr.row_value(point, theta, b))).fold(0.0, f64::max)
    };
    let at_samples = violation(tr, &point, &theta);
    Solution {
        status,
        objective: objective(tr, weights, &point, &theta),
        term_costs: tr.term_costs(&point, &theta),
        kkt_residual,
        iterations,
        violation: at_samples,
        violation_between: violation_between(tr, &theta).max(at_samples),
        active,
        obstacle: None,
        history,
        theta,
    }
}

/// Largest violation of a limit on a grid four times finer than the samples.
fn violation_between(tr: &mut Transcription, theta: &ControlPoints) -> f64 {
    if tr.bounds.is_empty() {
        return 0.0;
    }
    let times = &tr.table.times;
    let mut fine = Vec::with_capacity(4 * times.len());
    for pair in times.windows(2) {
        fine.extend((0..4).map(|k| pair[0] + (pair[1] - pair[0]) * f64::from(k) / 4.0));
    }
    fine.extend(times.last());
    // One bound per kind, coordinate and side: they are the same at all samples.
    let mut kinds: Vec<super::Bound> = Vec::new();
    for b in tr.bounds.iter().filter(|b| b.kind != LimitKind::ControlPoint) {
        if !kinds.iter().any(|k| k.row == b.row && k.upper == b.upper) {
            kinds.push(*b);
        }
    }
    let Ok(table) = tr.table.resampled(fine) else { return f64::NAN };
    let own = std::mem::replace(&mut tr.table, table);
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    let mut worst: f64 = 0.0;
    for s in 0..tr.table.len() {
        for b in &kinds {
            let value = tr.row_value(&point, theta, &super::Bound { sample: s, ..*b });
            worst = worst.max(-b.gap(value));
        }
    }
    tr.table = own;
    worst
}
