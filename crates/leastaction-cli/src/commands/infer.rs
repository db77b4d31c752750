//! `infer`: the weights of the costs that a motion is optimal for.

use std::path::Path;

use leastaction::optimize::{
    BilevelOptions, BilevelSolution, ControlPoints, Fit, InverseOptions, InverseSolution, LimitKind,
    Observation, Transcription, infer, infer_noisy,
};
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::digits::figure;
use leastaction_study::failure::{CHECK_FAILED, DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::{DEFAULT_FOLDER, expect_verb, make_folder};
use leastaction_study::problem::results::{self, Page};
use leastaction_study::problem::{self, ProblemFile, solution_file};
use leastaction_study::recording::{self, ReadOptions};
use leastaction_study::report::{Bars, SummaryRow};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::verb::{DEGREES, FORCE, Given, NO_REPORT, OUT, UP, Up, Verb};

/// A recording with less noise than this is taken as exact.
const EXACT: f64 = 1e-12;

/// A recording that lacks more than this part of a motion is too short for it.
const SHORT: f64 = 0.02;

/// Ends further off than this many standard deviations of the noise are other ends.
const ELSEWHERE: f64 = 5.0;

pub(crate) const VERB: Verb = Verb {
    name: "infer",
    about: "Find the weights of costs that a motion is optimal for",
    more: "The motion is a `solution.json`, a trajectory (.csv, .npz), an OpenSim file (.mot, .sto) or markers (.trc, .c3d). Weights in the
problem file are not looked at. Where several weights explain the motion equally well the whole set is given by its
corners. Exit code 1 if no weights explain the motion.

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
        DEGREES,
        UP,
        Field { help: "Folder of the results [default: leastaction-out/NAME-inferred]", ..OUT },
        FORCE,
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
    if !given.switch("force") {
        expect_verb(&out, VERB.name)?;
    }
    if is_solution {
        if method == Method::Bilevel {
            return Err(Failure::new("a solution file holds an exact motion")
                .help("give a recording, or `--method kkt`"));
        }
        let theta = solution_file::read(motion, &file)?;
        let found = infer(&mut tr, &theta, &InverseOptions::default());
        return exact(&file, &found, &theta, &out, given, printer);
    }
    let options = ReadOptions { degrees: given.switch("degrees"), y_up: given.choice("up") == Some(Up::Y) };
    let recording = recording::read(motion, &file.mechanism, options)?;
    for note in &recording.notes {
        printer.note(note);
    }
    let q = recording.configurations(&file.mechanism);
    let recorded = (recording.times(), q.clone());
    let recording = Observation::of_configurations(&tr, recording.times(), &q).map_err(failed)?;
    let fit = recording.fit(&tr).map_err(|error| {
        failed(error).help("the recording must start and end like the problem, inside its duration")
    })?;
    for note in other_ends(&file, &recording, &fit) {
        printer.note(&note);
    }
    let bilevel = match method {
        Method::Auto => fit.noise > EXACT,
        Method::Kkt => false,
        Method::Bilevel => true,
    };
    if bilevel {
        let found = infer_noisy(&mut tr, &recording, &BilevelOptions::default()).map_err(failed)?;
        return noisy(&file, &found, recorded, &out, given, printer);
    }
    // Noise reaches the gradients through the highest derivative squared; the spline's step sets the scale.
    let options = InverseOptions { noise: (fit.noise * 1e6).min(0.1), ..InverseOptions::default() };
    let found = infer(&mut tr, &fit.theta, &options);
    exact(&file, &found, &fit.theta, &out, given, printer)
}

/// Where a recording begins or ends elsewhere than the problem's motion: weights would then be those of another motion.
fn other_ends(file: &ProblemFile, recording: &Observation, fit: &Fit) -> Vec<String> {
    let (n, duration) = (file.mechanism.nv(), file.problem.duration);
    let labels = file.mechanism.v_labels();
    let (first, last) = (recording.times[0], recording.times[recording.times.len() - 1]);
    let mut notes = Vec::new();
    if first > SHORT * duration || duration - last > SHORT * duration {
        notes.push(format!(
            "the recording is from {first:.4} s to {last:.4} s of a motion of {duration:.4} s: give the problem the duration of the recording"
        ));
        return notes;
    }
    let theta = &fit.theta.high;
    for (word, own, problem) in [
        ("starts", &recording.q[..n], &theta[..n]),
        ("ends", &recording.q[recording.q.len() - n..], &theta[theta.len() - n..]),
    ] {
        let off = |j: usize| (own[j] - problem[j]).abs();
        let Some(worst) = (0..n).max_by(|a, b| off(*a).total_cmp(&off(*b))) else { continue };
        if off(worst) > ELSEWHERE * fit.noise + 1e-9 {
            let unit = problem::limit_unit(&file.mechanism, LimitKind::Position, worst);
            notes.push(format!(
                "the recording {word} {} {unit} from where the motion of the problem does, in `{}`",
                figure(off(worst)),
                labels[worst]
            ));
        }
    }
    notes
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
    if !found.residual.is_finite() {
        return Err(Failure::new("the motion is too large or too fast: its costs are no finite numbers")
            .help("check units and times of the recording"));
    }
    let mut warnings = Vec::new();
    if found.unexplained() {
        warnings
            .push(format!("the terms do not explain the motion: normalised residual {:.2}", found.residual));
    }
    if !found.identifiable() && !found.unexplained() {
        warnings.push(not_a_point(found, &names));
    }
    for t in &found.dropped {
        warnings.push(format!("term `{}` has no influence on any motion and was left out", names[*t]));
    }
    let value = json!({
        "method": "kkt",
        "terms": (0..names.len()).map(|t| json!({
            "name": names[t],
            "weight": found.weights[t],
            "sigma": found.sigma[t],
            "range": [found.ranges[t].0, found.ranges[t].1],
        })).collect::<Vec<_>>(),
        "identifiable": found.identifiable(),
        "corners": found.corners,
        "alone": found.alone.iter().map(|t| names[*t]).collect::<Vec<_>>(),
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
        let weight = if found.identifiable() {
            format!("{:.12} ± {:.1e}", found.weights[t], found.sigma[t])
        } else if high - low <= 1e-8 {
            format!("{low:.6}")
        } else {
            format!("anywhere in {low:.6} to {high:.6}")
        };
        printer.line(format!("    {:<22} {weight}", names[t]));
    }
    for t in &found.alone {
        printer.line(format!("  the motion is optimal for `{}` alone", names[*t]));
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
            let (low, high) = found.ranges[t];
            let (value, doubt) = if found.identifiable() {
                (format!("{:.9}", found.weights[t]), format!("± {:.1e}", found.sigma[t]))
            } else if high - low <= 1e-8 {
                (format!("{low:.6}"), "whatever the others are".to_owned())
            } else {
                (format!("{low:.4} to {high:.4}"), "all equally good".to_owned())
            };
            let meaning = if found.identifiable() {
                "Weights that make the motion optimal; they sum to one. Behind ± what the solver's rounding leaves open."
            } else {
                "Every weight in this range is part of some choice of weights that explains the motion equally well."
            };
            SummaryRow::new(format!("weight of {}", names[t].replace('_', " ")), value, doubt).meaning(meaning)
        })
        .chain([SummaryRow::new("left unexplained", figure(found.residual), "of the gradients, 0 to 1").meaning(
            "What is left of the terms' gradients at the best weights, against their sizes: below 0.1 the motion counts as optimal \
             for them.",
        )])
        .collect();
    let nothing = (Vec::new(), Vec::new());
    finish(file, theta, nothing, out, given, value, rows, warnings, !found.unexplained(), printer)
}

/// What several explaining weights are.
pub(super) fn not_a_point(found: &InverseSolution, names: &[&str]) -> String {
    let corner = |w: &Vec<f64>| {
        let parts: Vec<String> = (0..w.len())
            .filter(|t| w[*t] > 1e-9)
            .map(
                |t| if w[t] > 1.0 - 1e-9 { names[t].to_owned() } else { format!("{:.4} {}", w[t], names[t]) },
            )
            .collect();
        parts.join(" + ")
    };
    let shown: Vec<String> = found.corners.iter().take(8).map(corner).collect();
    let more = found.corners.len().saturating_sub(8);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    format!(
        "the weights are not identifiable: every mixture of these explains the motion equally well: {}{more}",
        shown.join("; ")
    )
}

fn noisy(
    file: &ProblemFile,
    found: &BilevelSolution,
    recorded: (Vec<f64>, Vec<f64>),
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
    if found.misfit.is_infinite() {
        return Err(Failure::new("no motion of the problem's terms could be found near the recording")
            .help("check that the recording starts and ends like the problem, or take other terms"));
    }
    for (t, (low, high)) in found.ranges.iter().enumerate().filter(|(_, r)| r.1 - r.0 > 1e-8) {
        warnings.push(format!(
            "the recording does not tell the weight of `{}`: anything in {low:.4} to {high:.4} explains it",
            names[t]
        ));
    }
    for t in found.not_identifiable().into_iter().filter(|t| found.weights[*t] > 0.0) {
        warnings.push(format!("the weight of `{}` is not told from zero by this recording", names[t]));
    }
    let value = json!({
        "method": "bilevel",
        "terms": (0..names.len()).map(|t| json!({
            "name": names[t],
            "weight": found.weights[t],
            "sigma": found.sigma[t],
            "interval": [found.intervals[t].0, found.intervals[t].1],
            "range": [found.ranges[t].0, found.ranges[t].1],
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
        let (low, high) = found.intervals[t];
        printer.line(format!(
            "    {:<22} {:.6} ± {:.1e}   one sigma {low:.6} to {high:.6}",
            names[t], found.weights[t], found.sigma[t]
        ));
    }
    let rms = format!("rms, {}", problem::units_of(&file.mechanism, "rad, m").replace(", ", " or "));
    printer.line(format!("  misfit {:.3e}, noise of the recording {:.3e}", found.misfit, found.noise));
    let rows = (0..names.len())
        .map(|t| {
            let value = format!("{:.6}", found.weights[t]);
            let (low, high) = found.intervals[t];
            let note = format!("{low:.4} to {high:.4} (one sigma)");
            SummaryRow::new(format!("weight of {}", names[t].replace('_', " ")), value, note).meaning(
                "Weights sum to one. The one-sigma interval holds the true weight for about two of three recordings; outside \
                 it the recording is less likely by a factor of 0.6 or more, whatever the other weights.",
            )
        })
        .chain([
            SummaryRow::new("left unexplained", figure(found.misfit), rms.clone()).meaning(
                "Root mean square difference of the best motion to the recording. Well above the noise it says that no weights \
                 of these terms explain the recording.",
            ),
            SummaryRow::new("noise of the recording", figure(found.noise), rms)
                .meaning("Estimated from a spline through the recording that no cost constrains."),
        ])
        .collect();
    let explained = !found.unexplained();
    finish(file, &found.theta, recorded, out, given, value, rows, warnings, explained, printer)
}

#[expect(clippy::too_many_arguments, reason = "what both methods end with")]
fn finish(
    file: &ProblemFile,
    theta: &ControlPoints,
    recorded: (Vec<f64>, Vec<f64>),
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
            let name = t["name"].as_str().unwrap_or_default().replace('_', " ");
            (name, number(&t["weight"]), number(&t["sigma"]))
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
        recorded,
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
