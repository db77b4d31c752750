//! `optimize`: motions from costs, boundary states and limits.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use leastaction::optimize::{
    InverseOptions, InverseSolution, Progress, Solution, SolveStatus, TaskKind, Transcription, Wish, infer,
};
use leastaction_study::digits::figure;
use leastaction_study::failure::{CHECK_FAILED, COULD_NOT_RUN, DONE, Failure, INTERRUPTED};
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::{DEFAULT_FOLDER, expect_verb, make_folder};
use leastaction_study::problem::results::{self, Page};
use leastaction_study::problem::{self, ProblemFile, durations, solution_file};
use leastaction_study::report::SummaryRow;
use serde_json::{Value, json};

use super::infer::not_a_point;
use crate::interrupt::{stop_flag, tell};
use crate::printer::Printer;
use crate::verb::{FORCE, Given, NO_REPORT, OUT, TRACE, Verb};

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
        FORCE,
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
        if !given.switch("force") {
            expect_verb(&out, VERB.name)?;
        }
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
    let start = match given.path("start").or(file.start.as_deref()) {
        Some(path) => Some(solution_file::read(path, file)?),
        None => None,
    };
    let mut trace = Vec::new();
    let mut observe = |p: &Progress| {
        if given.switch("trace") {
            trace.push(format!(
                "{:>4}  objective {:<18.12e}  residual {:<9.2e}  violation {:<9.2e}  step {:.2e}",
                p.iteration, p.objective, p.kkt, p.violation, p.step
            ));
        }
        tell(|| {
            json!({
                "iteration": p.iteration, "objective": p.objective, "residual": p.kkt, "violation": p.violation, "step": p.step,
            })
        });
        if stop.load(Ordering::Relaxed) { Wish::Stop } else { Wish::Continue }
    };
    let solution = durations::solve(file, &weights, start, &mut observe)?;
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
        let mut tr =
            Transcription::with_jets(&file.mechanism, &file.problem).map_err(|e| Failure::from_error(&e))?;
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
    format!("{act}; {}", kept(file, solution))
}

/// How well limits are kept.
fn kept(file: &ProblemFile, solution: &Solution) -> String {
    let Some(worst) = solution.violated else {
        return "kept at the samples and between them".to_owned();
    };
    let unit = problem::limit_unit(&file.mechanism, worst.kind, worst.coordinate);
    let labels = file.mechanism.v_labels();
    let of = labels.get(worst.coordinate).map_or("?", String::as_str);
    format!(
        "kept to {:.1e} {unit} at the samples and {:.1e} {unit} between them ({} of `{of}`)",
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
    if !file.phases.is_empty() {
        let each = file.phases.iter().map(|phase| format!("{} {:.6} s", phase.name, phase.duration));
        printer.line(format!("  phases         {}", each.collect::<Vec<_>>().join(", ")));
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
    let (word, words) = (outcome(solution.status), solution.status.describe());
    let mut summary = vec![
        SummaryRow::new("outcome", word, if word == words { "" } else { words }),
        SummaryRow::new("cost", figure(solution.objective), "all terms with their weights")
            .meaning("The sum of the terms below, each times its weight. No motion nearby costs less."),
        SummaryRow::new("how optimal", format!("{:.1e}", solution.kkt_residual), "0 would be exact").meaning(
            "The largest entry of the gradient of the Lagrangian (the KKT residual), against the largest entry of the gradient of a \
             single term.",
        ),
        SummaryRow::new("steps of the search", solution.iterations.to_string(), format!("{:.1} ms", 1e3 * seconds)),
    ];
    for ((term, w), c) in file.problem.terms.iter().zip(weights).zip(&solution.term_costs) {
        let label = format!("cost of {}", term.name.replace('_', " "));
        summary.push(
            SummaryRow::new(label, figure(*c), format!("times its weight, {w}"))
                .meaning("Half the mean over the motion of the squares of what this term measures."),
        );
    }
    if !file.problem.limits.is_empty() {
        summary.push(
            SummaryRow::new("limits that act", solution.active.len().to_string(), kept(file, solution)).meaning(
                "A limit acts at a sample if moving it would change the cost: its multiplier is not zero.",
            ),
        );
    }
    if file.time_weight.is_some() {
        let note = "the one that costs least";
        summary.push(SummaryRow::new("duration", format!("{:.6} s", file.problem.duration), note));
    }
    let mut begin = 0.0;
    for phase in &file.phases {
        let end = begin + phase.duration;
        let note = format!("from {begin:.4} s to {end:.4} s");
        summary.push(SummaryRow::new(
            format!("phase {}", phase.name),
            format!("{:.4} s", phase.duration),
            note,
        ));
        begin = end;
    }
    for (task, constraint) in solution.tasks.iter().zip(&file.problem.tasks) {
        let unit = if matches!(constraint.kind, TaskKind::Orientation { .. }) { "rad" } else { "m" };
        let (value, note) = if constraint.is_equality() {
            (format!("{:.1e} {unit}", task.violation), "left to its goal, at most")
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
