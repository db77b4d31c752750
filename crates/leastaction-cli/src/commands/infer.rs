//! `infer`: the weights of the costs that a motion is optimal for.

use std::path::Path;

use leastaction::optimize::{
    BilevelOptions, BilevelSolution, ControlPoints, InverseOptions, InverseSolution, Observation,
    Transcription, infer, infer_noisy,
};
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::failure::{CHECK_FAILED, DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::{DEFAULT_FOLDER, make_folder};
use leastaction_study::problem::results::{self, Page};
use leastaction_study::problem::{self, ProblemFile, motion_file, solution_file};
use leastaction_study::report::{Bars, SummaryRow};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::verb::{Given, NO_REPORT, OUT, Verb};

/// A recording with less noise than this is taken as exact.
const EXACT: f64 = 1e-12;

pub(crate) const VERB: Verb = Verb {
    name: "infer",
    about: "Find the weights of costs that a motion is optimal for",
    more: "The motion is a `solution.json`, a trajectory (.csv, .npz) or an OpenSim file (.mot, .sto). Weights in the
problem file are not looked at. Exit code 1 if no weights explain the motion.

Examples:
  leastaction infer examples/arm3_b.toml --motion leastaction-out/arm3_b/solution.json
  leastaction infer walk.toml --motion recorded.csv --method bilevel",
    fields: &[
        Field::argument("PROBLEM", Kind::Path, "Problem file; its weights are not needed"),
        Field::flag("motion", "FILE", Kind::Path, "The motion").required(),
        Field::flag(
            "method",
            "METHOD",
            Kind::Word(Method::WORDS),
            "How: kkt for exact motions, bilevel for noisy ones, auto decides by the noise",
        )
        .default("auto"),
        Field { help: "Folder of the results [default: leastaction-out/NAME-inferred]", ..OUT },
        NO_REPORT,
    ],
    groups: &[],
    verbs: &[],
    run,
};

choices! {
    /// Ways to infer.
    Method {
        /// By the noise of the motion
        Auto = "auto",
        /// Conditions of optimality: exact to rounding for exact motions
        Kkt = "kkt",
        /// Fit of optimal motions to the recording: for noise
        Bilevel = "bilevel",
    }
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let path = |id| given.path(id).unwrap_or(Path::new(""));
    let (problem, motion) = (path("PROBLEM"), path("motion"));
    let method = given.choice("method").unwrap_or(Method::Auto);
    let file = problem::load(problem)?;
    let failed = |error: leastaction::optimize::OptimizeError| Failure::from_error(&error);
    let mut tr = Transcription::with_jets(&file.mechanism, &file.problem).map_err(failed)?;
    let is_solution = motion.extension().is_some_and(|e| e.eq_ignore_ascii_case("json"));
    let out = match given.path("out") {
        Some(out) => out.to_owned(),
        None => Path::new(DEFAULT_FOLDER).join(format!("{}-inferred", file.name)),
    };
    if is_solution {
        if method == Method::Bilevel {
            return Err(Failure::new("a solution file holds an exact motion")
                .help("give a recording, or `--method kkt`"));
        }
        let theta = solution_file::read(motion, &file)?;
        let found = infer(&mut tr, &theta, &InverseOptions::default());
        return exact(&file, &found, &theta, &out, given, printer);
    }
    let recording = motion_file::read(motion, &file.mechanism)?;
    let recording = Observation::of_configurations(&tr, recording.times, &recording.q).map_err(failed)?;
    let fit = recording.fit(&tr).map_err(|error| {
        failed(error).help("the recording must start and end like the problem, inside its duration")
    })?;
    let bilevel = match method {
        Method::Auto => fit.noise > EXACT,
        Method::Kkt => false,
        Method::Bilevel => true,
    };
    if bilevel {
        let found = infer_noisy(&mut tr, &recording, &BilevelOptions::default()).map_err(failed)?;
        return noisy(&file, &found, &out, given, printer);
    }
    // Noise reaches the gradients through the highest derivative squared; the spline's step sets the scale.
    let options = InverseOptions { noise: (fit.noise * 1e6).min(0.1), ..InverseOptions::default() };
    let found = infer(&mut tr, &fit.theta, &options);
    exact(&file, &found, &fit.theta, &out, given, printer)
}

fn exact(
    file: &ProblemFile,
    found: &InverseSolution,
    theta: &ControlPoints,
    out: &Path,
    given: &Given<'_>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let names: Vec<&str> = file.problem.terms.iter().map(|term| term.name.as_str()).collect();
    let mut warnings = Vec::new();
    if found.unexplained() {
        warnings
            .push(format!("the terms do not explain the motion: normalised residual {:.2}", found.residual));
    }
    if found.null_dimension > 1 {
        warnings.push(format!(
            "the weights are not unique: {} directions of them do not matter",
            found.null_dimension - 1
        ));
    }
    for t in &found.dropped {
        warnings.push(format!("term `{}` has no influence on the motion and was left out", names[*t]));
    }
    let value = json!({
        "method": "kkt",
        "terms": (0..names.len()).map(|t| json!({
            "name": names[t],
            "weight": found.weights[t],
            "sigma": found.sigma[t],
            "range": [found.ranges[t].0, found.ranges[t].1],
        })).collect::<Vec<_>>(),
        "residual": found.residual,
        "null_dimension": found.null_dimension,
        "amplification": found.amplification,
        "singular_values": found.singular_values,
        "active_limits": found.active.len(),
        "explained": !found.unexplained(),
        "warnings": warnings,
    });
    printer.line(format!("{}: weights from the conditions of optimality", file.name));
    for t in 0..names.len() {
        let (low, high) = found.ranges[t];
        let range =
            if high - low > 1e-9 { format!("  anywhere in {low:.6} to {high:.6}") } else { String::new() };
        printer
            .line(format!("    {:<22} {:.12} ± {:.1e}{range}", names[t], found.weights[t], found.sigma[t]));
    }
    printer.line(format!(
        "  residual {:.1e}, amplification {:.1}, null space of dimension {}, {} limits act",
        found.residual,
        found.amplification,
        found.null_dimension,
        found.active.len()
    ));
    let rows = (0..names.len())
        .map(|t| {
            let value = format!("{:.9}", found.weights[t]);
            SummaryRow::new(format!("weight of {}", names[t]), value, format!("± {:.1e}", found.sigma[t]))
        })
        .collect();
    finish(file, theta, out, given, value, rows, warnings, !found.unexplained(), printer)
}

fn noisy(
    file: &ProblemFile,
    found: &BilevelSolution,
    out: &Path,
    given: &Given<'_>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let names: Vec<&str> = file.problem.terms.iter().map(|term| term.name.as_str()).collect();
    let mut warnings = Vec::new();
    if found.unexplained() {
        warnings.push(format!(
            "no weights explain the motion: the best misfit is {:.2e}, the noise {:.2e}",
            found.misfit, found.noise
        ));
    }
    for t in found.not_identifiable() {
        warnings.push(format!("the weight of `{}` is not told from zero by this recording", names[t]));
    }
    let value = json!({
        "method": "bilevel",
        "terms": (0..names.len()).map(|t| json!({
            "name": names[t], "weight": found.weights[t], "sigma": found.sigma[t],
        })).collect::<Vec<_>>(),
        "misfit": found.misfit,
        "noise": found.noise,
        "iterations": found.iterations,
        "starts": found.starts,
        "explained": !found.unexplained(),
        "warnings": warnings,
    });
    printer.line(format!("{}: weights from the motion that fits the recording best", file.name));
    for t in 0..names.len() {
        printer.line(format!("    {:<22} {:.6} ± {:.6}", names[t], found.weights[t], found.sigma[t]));
    }
    printer.line(format!("  misfit {:.3e}, noise of the recording {:.3e}", found.misfit, found.noise));
    let rows = (0..names.len())
        .map(|t| {
            let value = format!("{:.6}", found.weights[t]);
            SummaryRow::new(format!("weight of {}", names[t]), value, format!("± {:.6}", found.sigma[t]))
        })
        .collect();
    finish(file, &found.theta, out, given, value, rows, warnings, !found.unexplained(), printer)
}

#[expect(clippy::too_many_arguments, reason = "what both methods end with")]
fn finish(
    file: &ProblemFile,
    theta: &ControlPoints,
    out: &Path,
    given: &Given<'_>,
    mut value: Value,
    summary: Vec<SummaryRow>,
    warnings: Vec<String>,
    explained: bool,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    for warning in &warnings {
        printer.note(warning);
    }
    let terms = value["terms"].as_array().cloned().unwrap_or_default();
    let number = |x: &Value| x.as_f64().unwrap_or(f64::NAN);
    let rows = terms
        .iter()
        .map(|t| {
            (t["name"].as_str().unwrap_or_default().to_owned(), number(&t["weight"]), number(&t["sigma"]))
        })
        .collect();
    let page = (!given.switch("no-report")).then(|| Page {
        subtitle: format!(
            "weights inferred from {}",
            given.path("motion").unwrap_or(Path::new("")).display()
        ),
        summary,
        warnings,
        bars: Bars { title: "Weights with one standard deviation".into(), rows },
    });
    make_folder(out)?;
    results::write(out, file, theta, &[], page)?;
    let path = out.join("weights.json");
    solution_file::write(&path, &value)?;
    printer.line(format!("  data           {}", path.display()));
    value["out"] = json!(out.display().to_string());
    printer.object(&value);
    Ok(if explained { DONE } else { CHECK_FAILED })
}
