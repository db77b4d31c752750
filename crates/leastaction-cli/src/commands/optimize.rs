//! `optimize`: motions from costs, boundary states and limits.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use leastaction::optimize::{
    ControlPoints, InverseOptions, InverseSolution, OptimizeError, Solution, SolveStatus, TaskKind,
    Transcription, Wish, infer, solve,
};
use leastaction_study::digits::figure;
use leastaction_study::failure::{CHECK_FAILED, COULD_NOT_RUN, DONE, Failure, INTERRUPTED};
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::{DEFAULT_FOLDER, make_folder};
use leastaction_study::problem::results::{self, Page};
use leastaction_study::problem::{self, ProblemFile, solution_file};
use leastaction_study::report::SummaryRow;
use serde_json::{Value, json};

use super::infer::not_a_point;
use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::verb::{Given, NO_REPORT, OUT, TRACE, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "optimize",
    about: "Find the best motion for a problem file: costs, boundary states, limits",
    more:
        "Several files are solved one after the other. A reference data file is taken in place of a problem.

Examples:
  leastaction optimize examples/arm3_b.toml
  leastaction optimize examples/arm3_a.toml examples/arm3_b.toml --infer",
    fields: &[
        Field::argument("PROBLEM", Kind::Path, "Problem files").many(),
        Field::switch(
            "infer",
            "Recover the weights from each written solution, without looking at them, and show the difference",
        ),
        Field::flag(
            "start",
            "SOLUTION.json",
            Kind::Path,
            "Start from a solution file instead of the quintic profile",
        ),
        OUT,
        NO_REPORT,
        TRACE,
    ],
    groups: &[],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let problems = given.paths("PROBLEM");
    let several = problems.len() > 1;
    let stop = stop_flag();
    let mut results = Vec::new();
    let mut code = DONE;
    for path in &problems {
        let mut file = problem::load(path)?;
        let out = match given.path("out") {
            Some(out) if several => out.join(&file.name),
            Some(out) => out.to_owned(),
            None => Path::new(DEFAULT_FOLDER).join(&file.name),
        };
        let (value, own) = one(&mut file, &out, given, &stop, printer)?;
        results.push(value);
        code = code.max(own);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    printer.object(&if several { Value::Array(results) } else { results.pop().unwrap_or_default() });
    Ok(code)
}

fn one(
    file: &mut ProblemFile,
    out: &Path,
    given: &Given<'_>,
    stop: &AtomicBool,
    printer: &mut Printer,
) -> Result<(Value, u8), Failure> {
    if !file.has_weights {
        return Err(Failure::new(format!("`{}` has terms without a weight", file.name))
            .help("give every term a `weight`, or find the weights of a motion with `leastaction infer`"));
    }
    let begin = Instant::now();
    let weights = file.weights();
    let mut tr =
        Transcription::with_jets(&file.mechanism, &file.problem).map_err(|e| Failure::from_error(&e))?;
    let start = match given.path("start").or(file.start.as_deref()) {
        Some(path) => Some(solution_file::read(path, file)?),
        None => None,
    };
    let mut trace = Vec::new();
    let mut note = |line| {
        if given.switch("trace") {
            trace.push(line);
        }
    };
    file.options.time_weight = file.time_weight;
    let solution = match staged(file, &mut tr, &weights, start.clone(), stop, &mut note) {
        // Where the duration can't be one of the unknowns it is found around them.
        Err(Unsolved::DurationNotFree) => {
            file.options.time_weight = None;
            let weight = file.time_weight.unwrap_or(0.0);
            best_duration(file, &weights, weight, stop)?;
            tr = Transcription::with_jets(&file.mechanism, &file.problem)
                .map_err(|e| Failure::from_error(&e))?;
            staged(file, &mut tr, &weights, start, stop, &mut note)
        }
        other => other,
    }
    .map_err(Failure::from)?;
    if file.time_weight.is_some() {
        file.problem = file.problem.stretched(solution.duration);
    }
    let file = &*file;
    let seconds = begin.elapsed().as_secs_f64();
    for line in trace {
        printer.line(line);
    }
    let mut value = solution_file::to_json(file, &solution, &weights);
    value["wall_time"] = json!(seconds);
    make_folder(out)?;
    let solution_path = out.join("solution.json");
    solution_file::write(&solution_path, &value)?;
    let page = (!given.switch("no-report")).then(|| page(file, &solution, &weights, seconds));
    results::write(out, file, &solution.theta, &solution.history, page)?;
    say(file, &solution, &weights, seconds, out, given, printer);
    let recovered = if given.switch("infer") {
        // Through the file: nothing but the motion reaches the inverse problem.
        let theta = solution_file::read(&solution_path, file)?;
        let found = infer(&mut tr, &theta, &InverseOptions::default());
        recover(file, &found, &weights, &mut value, printer)
    } else {
        true
    };
    value["out"] = json!(out.display().to_string());
    let code = match solution.status {
        SolveStatus::Interrupted => INTERRUPTED,
        SolveStatus::Solved | SolveStatus::AlmostSolved if recovered => DONE,
        SolveStatus::Solved | SolveStatus::AlmostSolved => CHECK_FAILED,
        _ => COULD_NOT_RUN,
    };
    Ok((value, code))
}

/// Finds the duration that costs least, `Σ w c + weight T`, by golden sections from a quarter to four times the given one; times of
/// constraints and via points move with it.
fn best_duration(
    file: &mut ProblemFile,
    weights: &[f64],
    weight: f64,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let given = file.problem.clone();
    let mut start: Option<ControlPoints> = None;
    let mut cost = |log: f64, file: &mut ProblemFile| -> Result<f64, Failure> {
        file.problem = given.stretched(given.duration * log.exp());
        let mut tr =
            Transcription::with_jets(&file.mechanism, &file.problem).map_err(|e| Failure::from_error(&e))?;
        let solution =
            staged(file, &mut tr, weights, start.clone(), stop, &mut |_| {}).map_err(Failure::from)?;
        if !matches!(solution.status, SolveStatus::Solved | SolveStatus::AlmostSolved) {
            return Ok(f64::INFINITY);
        }
        let total = solution.objective + weight * file.problem.duration;
        start = Some(ControlPoints::new(solution.theta.high));
        Ok(total)
    };
    let (mut low, mut high) = (-(4f64.ln()), 4f64.ln());
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    let (mut a, mut b) = (high - golden * (high - low), low + golden * (high - low));
    let (mut fa, mut fb) = (cost(a, file)?, cost(b, file)?);
    while high - low > 1e-7 && !stop.load(Ordering::Relaxed) {
        if fa <= fb {
            (high, b, fb) = (b, a, fa);
            a = high - golden * (high - low);
            fa = cost(a, file)?;
        } else {
            (low, a, fa) = (a, b, fb);
            b = low + golden * (high - low);
            fb = cost(b, file)?;
        }
    }
    file.problem = given.stretched(given.duration * (0.5 * (low + high)).exp());
    Ok(())
}

/// Says whether the weights came back; true if they did, or if they are among those that explain the motion equally well.
fn recover(
    file: &ProblemFile,
    found: &InverseSolution,
    weights: &[f64],
    value: &mut Value,
    printer: &mut Printer,
) -> bool {
    let sum: f64 = weights.iter().sum();
    let l1: f64 = found.weights.iter().zip(weights).map(|(a, b)| (a - b / sum).abs()).sum();
    // An exact motion gives its weights to rounding; what the solver left open adds to that.
    let tolerance = 1e-6 + 10.0 * found.sigma.iter().filter(|s| s.is_finite()).sum::<f64>();
    let among = weights
        .iter()
        .zip(&found.ranges)
        .all(|(w, (low, high))| (low - tolerance..=high + tolerance).contains(&(w / sum)));
    let recovered = !found.unexplained() && among && (!found.identifiable() || l1 <= tolerance);
    let names: Vec<&str> = file.problem.terms.iter().map(|term| term.name.as_str()).collect();
    if found.identifiable() {
        printer.line(format!("  recovered      L1 error {l1:.2e}, amplification {:.1}", found.amplification));
    } else {
        printer.line(format!("  recovered      {}", not_a_point(found, &names)));
    }
    if !recovered {
        printer.note("the weights were not recovered from the motion: the problem is not solved accurately enough, or a limit acts that the inverse problem does not see");
    }
    value["inferred"] = json!({
        "weights": found.weights,
        "l1_error": l1,
        "amplification": found.amplification,
        "identifiable": found.identifiable(),
        "corners": found.corners,
        "recovered": recovered,
    });
    recovered
}

/// Why a solve could not begin.
enum Unsolved {
    DurationNotFree,
    Other(OptimizeError),
}

impl From<Unsolved> for Failure {
    fn from(error: Unsolved) -> Self {
        match error {
            Unsolved::DurationNotFree => Self::from_error(&OptimizeError::DurationNotFree),
            Unsolved::Other(error) => Self::from_error(&error),
        }
    }
}

/// Solves, first without the terms that the file leaves out at first.
fn staged(
    file: &ProblemFile,
    tr: &mut Transcription,
    weights: &[f64],
    start: Option<ControlPoints>,
    stop: &AtomicBool,
    trace: &mut dyn FnMut(String),
) -> Result<Solution, Unsolved> {
    let mut observe = |p: &leastaction::optimize::Progress| {
        trace(format!(
            "{:>4}  objective {:<18.12e}  residual {:<9.2e}  violation {:<9.2e}  step {:.2e}",
            p.iteration, p.objective, p.kkt, p.violation, p.step
        ));
        if stop.load(Ordering::Relaxed) { Wish::Stop } else { Wish::Continue }
    };
    let failed = |error: OptimizeError| match error {
        OptimizeError::DurationNotFree => Unsolved::DurationNotFree,
        error => Unsolved::Other(error),
    };
    let mut start = start;
    let (mut iterations, mut history) = (0, Vec::new());
    if start.is_none() && !file.leave_out_first.is_empty() {
        let mut fewer = weights.to_vec();
        file.leave_out_first.iter().for_each(|t| fewer[*t] = 0.0);
        if fewer.iter().any(|w| *w > 0.0) {
            let first = solve(tr, &fewer, None, &file.options, &mut observe).map_err(failed)?;
            iterations = first.iterations;
            history = first.history;
            // The second stage looks for its own duration from that of the first.
            start = Some(ControlPoints::new(first.theta.high));
        }
    }
    let mut solution = solve(tr, weights, start.as_ref(), &file.options, &mut observe).map_err(failed)?;
    solution.iterations += iterations;
    history.append(&mut solution.history);
    solution.history = history;
    Ok(solution)
}

fn obstacle_line(file: &ProblemFile, solution: &Solution) -> Option<String> {
    let o = solution.obstacle?;
    let labels = file.mechanism.v_labels();
    Some(format!(
        "the {} of `{}` at t = {:.4} s is {:.6}, its limit {:.6}: {}",
        o.bound.kind.name(),
        labels.get(o.bound.coordinate).map_or("?", String::as_str),
        o.t,
        o.value,
        o.bound.limit,
        if o.proven { "the boundary state fixes it" } else { "no motion nearby meets it" }
    ))
}

/// How many limits act, and how well all of them are kept.
fn limits_line(file: &ProblemFile, solution: &Solution) -> String {
    let act = match solution.active.len() {
        0 => "none acts".to_owned(),
        1 => "1 acts".to_owned(),
        n => format!("{n} act"),
    };
    let Some(worst) = solution.violated else {
        return format!("{act}; kept at the samples and between them");
    };
    let unit = problem::limit_unit(&file.mechanism, worst.kind, worst.coordinate);
    let labels = file.mechanism.v_labels();
    let of = labels.get(worst.coordinate).map_or("?", String::as_str);
    format!(
        "{act}; kept to {:.1e} {unit} at the samples and {:.1e} {unit} between them ({} of `{of}`)",
        solution.violation,
        solution.violation_between,
        worst.kind.name()
    )
}

fn say(
    file: &ProblemFile,
    solution: &Solution,
    weights: &[f64],
    seconds: f64,
    out: &Path,
    given: &Given<'_>,
    printer: &mut Printer,
) {
    printer.line(format!("{}: {}", file.name, solution.status.describe()));
    printer.line(format!("  objective      {:.12}", solution.objective));
    for ((term, w), c) in file.problem.terms.iter().zip(weights).zip(&solution.term_costs) {
        printer.line(format!("    {:<22} weight {w:<10.6} cost {c:.9}", term.name));
    }
    printer.line(format!(
        "  residual       {:.2e} (relative gradient of the Lagrangian)",
        solution.kkt_residual
    ));
    printer.line(format!("  ends           {}", problem::ends(&file.problem)));
    printer.line(format!("  iterations     {}, {:.1} ms", solution.iterations, 1e3 * seconds));
    if !file.problem.limits.is_empty() {
        printer.line(format!("  limits         {}", limits_line(file, solution)));
    }
    if file.time_weight.is_some() {
        printer.line(format!("  duration       {:.9} s, the one that costs least", file.problem.duration));
    }
    for (task, constraint) in solution.tasks.iter().zip(&file.problem.tasks) {
        let clear =
            if task.clearance > 0.0 { format!(", clear by {:.4e} m", task.clearance) } else { String::new() };
        let turn = matches!(constraint.kind, TaskKind::Orientation { .. });
        let unit = if turn { "rad" } else { "m" };
        let between = if task.violation_between > task.violation {
            format!(" at the samples, {:.1e} {unit} between them", task.violation_between)
        } else {
            String::new()
        };
        printer.line(format!(
            "  constraint     {}: kept to {:.1e} {unit}{between}{clear}",
            task.name, task.violation
        ));
    }
    if let Some(line) = obstacle_line(file, solution) {
        printer.line(format!("  obstacle       {line}"));
    }
    if !given.switch("no-report") {
        printer.line(format!("  report         {}", out.join("report.html").display()));
    }
    printer.line(format!("  data           {}", out.join("solution.json").display()));
}

/// One word.
fn outcome(status: SolveStatus) -> &'static str {
    match status {
        SolveStatus::Solved => "solved",
        SolveStatus::AlmostSolved => "almost solved",
        SolveStatus::Infeasible => "infeasible",
        SolveStatus::Interrupted => "interrupted",
        _ => "not converged",
    }
}

fn page(file: &ProblemFile, solution: &Solution, weights: &[f64], seconds: f64) -> Page {
    let mut summary = vec![
        SummaryRow::new("outcome", outcome(solution.status), solution.status.describe()),
        SummaryRow::new("cost", format!("{:.9}", solution.objective), "sum of all costs with their weights"),
        SummaryRow::new(
            "optimal to",
            format!("{:.1e}", solution.kkt_residual),
            "largest entry of the gradient left, relative",
        ),
        SummaryRow::new("iterations", solution.iterations.to_string(), format!("{:.1} ms", 1e3 * seconds)),
    ];
    for ((term, w), c) in file.problem.terms.iter().zip(weights).zip(&solution.term_costs) {
        summary.push(SummaryRow::new(
            format!("cost of {}", term.name),
            format!("{c:.6}"),
            format!("weight {w:.6}"),
        ));
    }
    if !file.problem.limits.is_empty() {
        summary.push(SummaryRow::new(
            "limits that act",
            solution.active.len().to_string(),
            limits_line(file, solution),
        ));
    }
    if file.time_weight.is_some() {
        let note = "the one that costs least";
        summary.push(SummaryRow::new("duration", format!("{:.6} s", file.problem.duration), note));
    }
    for (task, constraint) in solution.tasks.iter().zip(&file.problem.tasks) {
        let unit = if matches!(constraint.kind, TaskKind::Orientation { .. }) { "rad" } else { "m" };
        let (value, note) = if constraint.is_equality() {
            (format!("{:.1e} {unit}", task.violation), "left to its goal")
        } else {
            (format!("{} {unit}", figure(task.clearance)), "least room")
        };
        summary.push(SummaryRow::new(task.name.clone(), value, note));
    }
    Page {
        subtitle: format!(
            "{} control points of degree {}, {:.6} s",
            file.problem.n_control, file.problem.degree, file.problem.duration
        ),
        summary,
        warnings: obstacle_line(file, solution).into_iter().collect(),
        ..Page::default()
    }
}
