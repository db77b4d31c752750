//! Solves a problem whose durations may be free: that of the motion, and those of its phases.
//!
//! Where it can, the solver takes the whole duration among its unknowns. Shares of phases, and durations that it can't take, are found
//! around it by Newton's method, its derivatives by differences: the cost of the best motion is a smooth function of them as long
//! as the same constraints act. Every solve begins with the motion of the one before.

use leastaction::optimize::{
    ControlPoints, MotionProblem, OptimizeError, Progress, Solution, SolveOptions, SolveStatus,
    Transcription, Wish, solve as solve_motion,
};

use leastaction_core::linalg::{cholesky, cholesky_solve};

use super::ProblemFile;
use crate::failure::Failure;

/// First and smallest change of a logarithm of a duration that differences are taken over.
const CHANGES: (f64, f64) = (0.02, 1e-3);
/// Durations are found to this part of themselves.
const FOUND: f64 = 1e-5;
/// None changes by more than a factor of e^½ at once.
const FURTHEST: f64 = 0.5;
const MOST: usize = 12;
/// A step that costs more is halved as often.
const HALVINGS: usize = 4;

/// Solves the problem of a file; if durations are free those of the file become the best ones.
///
/// # Errors
/// If the problem can't be set up or its start does not fit.
pub fn solve(
    file: &mut ProblemFile,
    weights: &[f64],
    start: Option<ControlPoints>,
    observe: &mut dyn FnMut(&Progress) -> Wish,
) -> Result<Solution, Failure> {
    let mut inner =
        Inner { file: &*file, weights, start, takes_time: true, observe, iterations: 0, history: Vec::new() };
    let mut first = inner.solve(&file.problem);
    let around = matches!(first, Err(OptimizeError::DurationNotFree));
    if around {
        inner.takes_time = false;
        first = inner.solve(&file.problem);
    }
    let failed = |error: OptimizeError| Failure::from_error(&error);
    let first = first.map_err(failed)?;
    let phases: Vec<f64> = match file.phases.len() {
        0 => vec![file.problem.duration],
        _ => file.phases.iter().map(|phase| phase.duration).collect(),
    };
    // Of shares all but the last are unknown; of durations all are.
    let unknowns = if around { phases.len() } else { phases.len() - 1 };
    let best = Best::new(file.time_weight, first, file.problem.clone(), phases.clone());
    let best = if file.time_weight.is_some() && unknowns > 0 && solved(&best.solution) {
        inner.start = Some(ControlPoints::new(best.solution.theta.high.clone()));
        let given = &file.problem;
        let mut search = Search { inner: &mut inner, given, phases: &phases, around, best, stop: false };
        search.newton(unknowns).map_err(failed)?;
        if search.stop {
            search.best.solution.status = SolveStatus::Interrupted;
        }
        search.best
    } else {
        best
    };
    let (iterations, history) = (inner.iterations, inner.history);
    file.problem = best.problem;
    file.phases.iter_mut().zip(best.lengths).for_each(|(phase, length)| phase.duration = length);
    Ok(Solution { iterations, history, duration: file.problem.duration, ..best.solution })
}

/// A motion, the problem it solves with the durations it has, and what both cost.
struct Best {
    total: f64,
    solution: Solution,
    problem: MotionProblem,
    lengths: Vec<f64>,
}

impl Best {
    /// The solution of a problem; if the duration was free, everything is stretched to the one found.
    fn new(weight: Option<f64>, solution: Solution, problem: MotionProblem, mut lengths: Vec<f64>) -> Self {
        let factor = if weight.is_some() { solution.duration / problem.duration } else { 1.0 };
        lengths.iter_mut().for_each(|d| *d *= factor);
        let problem = if factor == 1.0 { problem } else { problem.stretched(solution.duration) };
        let total = solution.objective + weight.unwrap_or(0.0) * problem.duration;
        Self { total, solution, problem, lengths }
    }
}

fn solved(solution: &Solution) -> bool {
    matches!(solution.status, SolveStatus::Solved | SolveStatus::AlmostSolved)
}

/// Solves with durations given, first without the terms that the file leaves out at first.
struct Inner<'a> {
    file: &'a ProblemFile,
    weights: &'a [f64],
    start: Option<ControlPoints>,
    /// The solver takes the whole duration among its unknowns.
    takes_time: bool,
    observe: &'a mut dyn FnMut(&Progress) -> Wish,
    iterations: usize,
    history: Vec<Progress>,
}

impl Inner<'_> {
    fn solve(&mut self, problem: &MotionProblem) -> Result<Solution, OptimizeError> {
        let time_weight = self.file.time_weight.filter(|_| self.takes_time);
        let options = SolveOptions { time_weight, ..self.file.options };
        let mut tr = Transcription::with_jets(&self.file.mechanism, problem)?;
        let mut start = self.start.clone();
        if start.is_none() && !self.file.leave_out_first.is_empty() {
            let mut fewer = self.weights.to_vec();
            self.file.leave_out_first.iter().for_each(|t| fewer[*t] = 0.0);
            if fewer.iter().any(|w| *w > 0.0) {
                let first = solve_motion(&mut tr, &fewer, None, &options, self.observe)?;
                self.iterations += first.iterations;
                self.history.extend(first.history);
                // The second stage looks for its own duration from that of the first.
                start = Some(ControlPoints::new(first.theta.high));
            }
        }
        let mut solution = solve_motion(&mut tr, self.weights, start.as_ref(), &options, self.observe)?;
        self.iterations += solution.iterations;
        self.history.append(&mut solution.history);
        Ok(solution)
    }
}

/// Durations of phases that cost least.
struct Search<'s, 'a> {
    inner: &'s mut Inner<'a>,
    given: &'s MotionProblem,
    phases: &'s [f64],
    /// Durations rather than shares are looked for.
    around: bool,
    best: Best,
    stop: bool,
}

impl Search<'_, '_> {
    /// What the best motion costs with phases longer by the factors `exp u`; infinite if there is none.
    fn cost(&mut self, u: &[f64]) -> Result<f64, OptimizeError> {
        if self.stop {
            return Ok(f64::INFINITY);
        }
        let longer = |k: usize| u.get(k).copied().unwrap_or(0.0).exp();
        let mut lengths: Vec<f64> = self.phases.iter().enumerate().map(|(k, d)| d * longer(k)).collect();
        if !self.around {
            // The whole is the solver's: it begins with the one that was best.
            let factor = self.best.problem.duration / lengths.iter().sum::<f64>();
            lengths.iter_mut().for_each(|d| *d *= factor);
        }
        let (old, new) = (ends(self.phases, self.given.duration), ends(&lengths, lengths.iter().sum()));
        let problem = self.given.retimed(&old, &new);
        let solution = self.inner.solve(&problem)?;
        self.stop |= solution.status == SolveStatus::Interrupted;
        if !solved(&solution) {
            return Ok(f64::INFINITY);
        }
        let found = Best::new(self.inner.file.time_weight, solution, problem, lengths);
        let total = found.total;
        if total < self.best.total {
            self.inner.start = Some(ControlPoints::new(found.solution.theta.high.clone()));
            self.best = found;
        }
        Ok(total)
    }

    fn newton(&mut self, count: usize) -> Result<(), OptimizeError> {
        let (mut u, mut change) = (vec![0.0; count], CHANGES.0);
        let mut here = self.best.total;
        for _ in 0..MOST {
            let Some(step) = self.step(&u, here, change)? else {
                // Differences that reach where nothing is solved are taken nearer.
                change *= 0.25;
                if change < CHANGES.1 {
                    return Ok(());
                }
                continue;
            };
            let length = step.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            let mut part = (FURTHEST / length.max(f64::MIN_POSITIVE)).min(1.0);
            let mut accepted = false;
            for _ in 0..HALVINGS {
                let next: Vec<f64> = u.iter().zip(&step).map(|(u, d)| u + part * d).collect();
                let cost = self.cost(&next)?;
                if cost < here {
                    (u, here, accepted) = (next, cost, true);
                    break;
                }
                part *= 0.5;
            }
            if self.stop || (length < FOUND && change <= CHANGES.1) || (!accepted && change <= CHANGES.1) {
                return Ok(());
            }
            change = (0.3 * length).clamp(CHANGES.1, CHANGES.0);
        }
        Ok(())
    }

    /// Newton's step from differences over `change`; `None` where one of them has no solution.
    fn step(&mut self, u: &[f64], here: f64, change: f64) -> Result<Option<Vec<f64>>, OptimizeError> {
        let n = u.len();
        let mut at = |moves: &[(usize, f64)]| {
            let mut v = u.to_vec();
            moves.iter().for_each(|(i, d)| v[*i] += d);
            self.cost(&v)
        };
        let mut ups = vec![0.0; n];
        let (mut gradient, mut hessian) = (vec![0.0; n], vec![0.0; n * n]);
        for i in 0..n {
            let (up, down) = (at(&[(i, change)])?, at(&[(i, -change)])?);
            ups[i] = up;
            gradient[i] = (up - down) / (2.0 * change);
            hessian[i * n + i] = (up - 2.0 * here + down) / (change * change);
            for j in 0..i {
                let both = at(&[(i, change), (j, change)])?;
                let mixed = (both - up - ups[j] + here) / (change * change);
                (hessian[i * n + j], hessian[j * n + i]) = (mixed, mixed);
            }
        }
        if gradient.iter().chain(&hessian).any(|x| !x.is_finite()) {
            return Ok(None);
        }
        // Where the cost is not convex a shift makes the step one of descent.
        let size = hessian.iter().fold(f64::MIN_POSITIVE, |m: f64, x| m.max(x.abs()));
        let mut shift = 0.0;
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        loop {
            let mut a = hessian.clone();
            (0..n).for_each(|i| a[i * n + i] += shift);
            if cholesky(&mut a, n).is_ok() {
                cholesky_solve(&a, n, &mut step, 1);
                return Ok(Some(step));
            }
            shift = (4.0 * shift).max(1e-3 * size);
        }
    }
}

/// Zero, then where each phase ends.
fn ends(lengths: &[f64], whole: f64) -> Vec<f64> {
    let mut out = vec![0.0];
    for d in lengths {
        out.push(out[out.len() - 1] + d);
    }
    // The sum, not what rounding makes of it.
    let last = out.len() - 1;
    out[last] = whole;
    out
}
