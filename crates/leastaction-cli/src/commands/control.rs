//! `control`: inputs and feedback that bring a mechanism to a goal.

use std::path::Path;
use std::sync::atomic::Ordering;

use leastaction::control::ControlProgress;
use leastaction::optimize::Wish;
use leastaction_study::failure::Failure;
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::{DEFAULT_FOLDER, expect_verb, make_folder};
use leastaction_study::policy::HOLD_SECONDS;
use leastaction_study::problem::control_file::{self, ControlFile};
use leastaction_study::problem::control_solve::{
    ControlOutcome, Found, Stop, at_limit, median_time, outcome, replay_method, solve, to_json, verdict,
};
use leastaction_study::problem::{control_results, solution_file};
use serde_json::json;

use crate::interrupt::{at_once, stop_flag, tell};
use crate::printer::Printer;
use crate::verb::{FORCE, Given, NO_REPORT, OUT, TRACE, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "control",
    about: "Find inputs within limits that bring a mechanism to a goal, and the feedback that holds it there",
    more: "Writes the motion, `solution.json`, and `policy.json`, which `simulate --policy` replays on any integrator. Exit code 0
if the motion is optimal, or reaches its goal and holds it; 1 if it is optimal for its costs but away from its goal; 2 if
neither.

Examples:
  leastaction control examples/cart_pole.toml
  leastaction simulate models/cart-pole.json --policy leastaction-out/cart_pole/policy.json --integrator rk4 --step 0.002",
    fields: &[Field::argument("PROBLEM", Kind::Path, "Problem file with a table [control]"), OUT, FORCE, NO_REPORT, TRACE],
    groups: &[],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let file = control_file::load(given.path("PROBLEM").unwrap_or(Path::new("")))?;
    let out = match given.path("out") {
        Some(out) => out.to_owned(),
        None => Path::new(DEFAULT_FOLDER).join(&file.name),
    };
    if !given.switch("force") {
        expect_verb(&out, VERB.name)?;
    }
    let (trace, report) = (given.switch("trace"), !given.switch("no-report"));
    let stop = stop_flag();
    let wish = Stop { flag: &stop, at_once: at_once() };
    let mut observe = |p: &ControlProgress, seconds: f64| {
        if trace {
            printer.line(format!(
                "{:>4}  objective {:<14.8e}  residual {:<8.2e}  gap {:<8.1e}  step {:<7.4}  shift {:<7.1e}  barrier {:<7.1e}  {:.2} ms",
                p.iteration,
                p.objective,
                p.residual,
                p.gap,
                p.step,
                p.shift,
                p.barrier,
                1e3 * seconds
            ));
        }
        tell(|| {
            json!({
                "iteration": p.iteration, "objective": p.objective, "residual": p.residual, "violation": p.gap, "step": p.step,
            })
        });
        if stop.load(Ordering::Relaxed) { Wish::Stop } else { Wish::Continue }
    };
    let found = solve(&file, wish, &mut observe)?;
    let mut value = to_json(&file, &found);
    if wish.at_once && outcome(&file, &found) == ControlOutcome::Interrupted {
        printer.object(&value);
        return Ok(ControlOutcome::Interrupted.exit_code());
    }
    make_folder(&out)?;
    solution_file::write(&out.join("solution.json"), &value)?;
    let policy = serde_json::to_value(&found.policy).unwrap_or_default();
    solution_file::write_compact(&out.join("policy.json"), &policy)?;
    control_results::write(&out, &file, &found, report)?;
    say(&file, &found, &out, report, printer);
    value["out"] = json!(out.display().to_string());
    printer.object(&value);
    Ok(outcome(&file, &found).exit_code())
}

fn say(file: &ControlFile, found: &Found, out: &Path, report: bool, printer: &mut Printer) {
    let s = &found.solution;
    printer.line(format!("{}: {}", file.name, verdict(file, found)));
    printer.line(format!("  objective      {:.9}", s.objective));
    for (draft, cost) in file.terms.iter().zip(&found.term_costs) {
        printer.line(format!("    {:<28} {cost:.9}", draft.name));
    }
    printer.line(format!(
        "  residual       {:.2e} (root of the relative decrease left), gap {:.1e}",
        s.residual, s.gap
    ));
    printer.line(format!(
        "  iterations     {}, {:.0} ms; median {:.2} ms each, {} steps",
        s.iterations,
        1e3 * found.seconds,
        1e3 * median_time(found),
        file.steps
    ));
    printer.line(format!(
        "  end            {:.2e} rad or m and {:.2e} rad/s or m/s from the goal",
        found.planned.0, found.planned.1
    ));
    if file.has_limits() {
        printer.line(format!(
            "  limits         inputs at a limit in {} steps, never beyond",
            at_limit(file, &s.path)
        ));
    }
    let (method, fine) = (replay_method(file).name(), 0.1 * file.step);
    match &found.feedback {
        Some(near) => {
            printer.line(format!("  feedback       {method} at {fine} s ends {}", near.sentence()));
            printer.line(format!(
                "  {HOLD_SECONDS} s more       at most {:.2e} and {:.2e}, at last {:.2e} and {:.2e}",
                near.worst_after.0, near.worst_after.1, near.last.0, near.last.1
            ));
        }
        None => printer.line("  feedback       the replay stopped: a step could not be taken"),
    }
    match &found.open_loop {
        Some(near) => printer.line(format!("  open loop      {method} at {fine} s ends {}", near.sentence())),
        None => printer.line("  open loop      the replay stopped: a step could not be taken"),
    }
    match &found.hold {
        Ok(hold) => printer.line(format!(
            "  hold           motions decay by {:.4} per step, Riccati residual {:.1e}",
            hold.riccati.radius, hold.riccati.residual
        )),
        Err(error) => printer.line(format!("  hold           none: {error}")),
    }
    printer.line(format!("  policy         {}", out.join("policy.json").display()));
    if report {
        printer.line(format!("  report         {}", out.join("report.html").display()));
    }
    printer.line(format!("  data           {}", out.join("solution.json").display()));
}
