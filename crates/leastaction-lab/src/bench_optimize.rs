//! `bench optimize`: seconds to the solution of a problem file, and how an iteration's time grows with its size.

use std::path::PathBuf;
use std::time::Instant;

use leastaction::optimize::{
    ControlPoints, MotionProblem, Sampling, SolveOptions, SolveStatus, Transcription, Wish, solve,
};
use serde_json::{Value, json};

use crate::bench::Bench;
use leastaction_study::failure::Failure;
use leastaction_study::problem::{self, ProblemFile};

/// Time to the solution of a problem file.
#[derive(Clone, Debug)]
pub struct OptimizeBench {
    /// Number of solves; the line has their median.
    pub repeat: u64,
    /// Also time an iteration while control points and samples are doubled.
    pub growth: bool,
}

impl Bench for OptimizeBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let file = problem::load(&PathBuf::from(name))?;
        let mut lines = vec![self.solves(&file)?];
        if self.growth {
            let (control, samples) = (file.problem.n_control, 200);
            for doubled in ["control_points", "samples"] {
                let mut last: Option<f64> = None;
                for factor in [1, 2, 4, 8] {
                    let mut problem = file.problem.clone();
                    match doubled {
                        "control_points" => {
                            problem.n_control = control * factor;
                            // Enough samples for the finest spline, and the same for all.
                            problem.sampling = Sampling::Uniform { count: 8 * samples };
                        }
                        _ => problem.sampling = Sampling::Uniform { count: samples * factor },
                    }
                    let us = self.iteration(&file, &problem)?;
                    lines.push(json!({
                        "section": "E",
                        "system": "leastaction",
                        "variant": format!("Newton iteration, {doubled} doubled"),
                        "model": file.name,
                        "n": file.mechanism.nv(),
                        "control_points": problem.n_control,
                        "samples": match problem.sampling { Sampling::Uniform { count } => count, _ => 0 },
                        "us": us,
                        "ratio": last.map(|last| us / last),
                    }));
                    last = Some(us);
                }
            }
        }
        Ok(lines)
    }
}

impl OptimizeBench {
    /// From the profile to the tolerance (relative free gradient), set-up included.
    fn solves(&self, file: &ProblemFile) -> Result<Value, Failure> {
        let mut options = file.options;
        options.newton.polish = false;
        let mut times = Vec::new();
        let mut last = None;
        for _ in 0..self.repeat {
            let begin = Instant::now();
            let solution = from_the_profile(file, &options)?;
            times.push(begin.elapsed().as_secs_f64());
            last = Some(solution);
        }
        times.sort_by(f64::total_cmp);
        let solution = last.ok_or_else(|| Failure::new("nothing was solved"))?;
        if !matches!(solution.status, SolveStatus::Solved | SolveStatus::AlmostSolved) {
            return Err(Failure::new(format!("`{}`: {}", file.name, solution.status.describe())));
        }
        Ok(json!({
            "section": "E",
            "system": "leastaction",
            "variant": "solve",
            "model": file.name,
            "n": file.mechanism.nv(),
            "us": times[0] * 1e6,
            "us_median": times[times.len() / 2] * 1e6,
            "runs": times.len(),
            "iterations": solution.iterations,
            "status": format!("{:?}", solution.status),
            "objective": solution.objective,
            "free_gradient": solution.kkt_residual,
        }))
    }

    /// Shortest time between two accepted iterates.
    fn iteration(&self, file: &ProblemFile, problem: &MotionProblem) -> Result<f64, Failure> {
        let failed = |error: leastaction::optimize::OptimizeError| Failure::from_error(&error);
        let mut tr = Transcription::with_jets(&file.mechanism, problem).map_err(failed)?;
        let mut best = f64::INFINITY;
        let mut options = file.options;
        options.newton.polish = false;
        options.newton.max_iterations = 12;
        for _ in 0..self.repeat.min(5) {
            let mut before = Instant::now();
            let mut first = true;
            let mut observe = |progress: &leastaction::optimize::Progress| {
                // A rejected step costs less than an iteration.
                if !first && progress.step > 0.0 {
                    best = best.min(before.elapsed().as_secs_f64());
                }
                first = false;
                before = Instant::now();
                Wish::Continue
            };
            solve(&mut tr, &file.weights(), None, &options, &mut observe).map_err(failed)?;
        }
        Ok(best * 1e6)
    }
}

fn from_the_profile(
    file: &ProblemFile,
    options: &SolveOptions,
) -> Result<leastaction::optimize::Solution, Failure> {
    let failed = |error: leastaction::optimize::OptimizeError| Failure::from_error(&error);
    let mut tr = Transcription::with_jets(&file.mechanism, &file.problem).map_err(failed)?;
    let weights = file.weights();
    let mut start = None;
    if !file.leave_out_first.is_empty() {
        let mut fewer = weights.clone();
        file.leave_out_first.iter().for_each(|t| fewer[*t] = 0.0);
        let first = solve(&mut tr, &fewer, None, options, &mut |_| Wish::Continue).map_err(failed)?;
        start = Some(ControlPoints::new(first.theta.high));
    }
    solve(&mut tr, &weights, start.as_ref(), options, &mut |_| Wish::Continue).map_err(failed)
}
