//! `check`: all problems of a model at once.

use leastaction::dynamics::loop_gaps;
use leastaction::integrator::Integrator;
use leastaction::integrator::maximal::Maximal;
use leastaction::io::Severity;
use leastaction::mechanism::Mechanism;
use leastaction_study::choice::Choice;
use leastaction_study::digits::figure;
use leastaction_study::failure::{CHECK_FAILED, DONE, Failure};
use leastaction_study::settings::{Group, Settings};
use leastaction_study::{model, serve, start};
use serde_json::{Value, json};

use crate::printer::{Printer, diagnostic_json};
use crate::verb::{Given, MODEL, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "check",
    about: "Show every problem of a model, with its place and what to do about it",
    more: "Exit code 1 if the model can't be used.",
    fields: &[MODEL],
    groups: &[Group::Read, Group::Start, Group::From],
    verbs: &[],
    run,
};

/// A loop that is open by more than this at the start state is worth a remark.
const CLOSED: f64 = 1e-6;

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let (name, settings) = (given.model(), given.settings());
    let mut reading = model::read(name, &settings.reading())?;
    let mechanism = reading.build();
    for diagnostic in &reading.diagnostics {
        printer.diagnostic(diagnostic);
    }
    let count = |severity| reading.diagnostics.iter().filter(|d| d.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let mut loops = Vec::new();
    let mut specials = Vec::new();
    let mut inside = Vec::new();
    if let (Some(mechanism), Some(description)) = (&mechanism, &reading.description) {
        loops = gaps(mechanism, &settings)?;
        specials = serve::specials(description, mechanism);
        inside = inside_each_other(mechanism, &settings)?;
    }
    let counted = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let verdict = match errors {
        0 => format!("`{name}` can be used: {}", counted(warnings, "warning")),
        n => format!("`{name}` can't be used: {}, {}", counted(n, "error"), counted(warnings, "warning")),
    };
    printer.line(verdict);
    for gap in &loops {
        printer.line(format!("  {}", gap_line(gap)));
    }
    for special in &specials {
        let flag = special.kind.word();
        printer.line(format!("  {}: {} (`--ignore {flag}` runs without)", special.element, special.what));
    }
    for [a, b] in &inside {
        printer.line(format!("  `{a}` and `{b}` start inside each other: they touch once they have parted"));
    }
    printer.object(&json!({
        "model": name,
        "ok": errors == 0,
        "errors": errors,
        "warnings": warnings,
        "diagnostics": reading.diagnostics.iter().map(diagnostic_json).collect::<Vec<_>>(),
        "loops": loops,
        "inside": inside,
        "special": specials.iter().map(|s| json!({"element": s.element, "what": s.what})).collect::<Vec<_>>(),
    }));
    Ok(if errors == 0 { DONE } else { CHECK_FAILED })
}

/// Pairs of surfaces that are inside each other at the start state.
fn inside_each_other(mechanism: &Mechanism, settings: &Settings) -> Result<Vec<[String; 2]>, Failure> {
    let engine = Maximal::default();
    // What the integrator does not serve has no contact either.
    let Ok(mut workspace) = engine.workspace(mechanism) else { return Ok(Vec::new()) };
    if mechanism.contacts().is_empty() {
        return Ok(Vec::new());
    }
    let start = start::resolve(mechanism, settings, 1.0, None)?.state;
    let Ok(state) = engine.start(mechanism, &mut workspace, &start) else { return Ok(Vec::new()) };
    let pairs = workspace.set_aside(&state, mechanism);
    Ok(pairs.into_iter().map(|pair| mechanism.contact_pairs()[pair].clone()).collect())
}

/// The gap of every loop joint at the start state.
pub(crate) fn gaps(mechanism: &Mechanism, settings: &Settings) -> Result<Vec<Value>, Failure> {
    let state = start::resolve(mechanism, settings, 1.0, None)?.state;
    let value = |gap: &leastaction::dynamics::LoopGap| {
        let joint = mechanism.joint(gap.joint);
        json!({
            "joint": joint.name,
            "type": joint.kind.name(),
            "gap": gap.distance,
            "angle": gap.angle,
            "closed": gap.distance <= CLOSED && gap.angle <= CLOSED,
        })
    };
    Ok(loop_gaps(mechanism, &state).iter().map(value).collect())
}

/// One line about a gap.
pub(crate) fn gap_line(gap: &Value) -> String {
    let number = |key: &str| gap[key].as_f64().unwrap_or(f64::NAN);
    // Rounding of poses is no gap.
    let shown =
        |x: f64, unit: &str| if x < 1e-12 { format!("0 {unit}") } else { format!("{} {unit}", figure(x)) };
    format!(
        "loop joint `{}` ({}): gap {}, angle {}{}",
        gap["joint"].as_str().unwrap_or_default(),
        gap["type"].as_str().unwrap_or_default(),
        shown(number("gap"), "m"),
        shown(number("angle"), "rad"),
        if gap["closed"] == true { "" } else { "; it is open at the start state" }
    )
}
