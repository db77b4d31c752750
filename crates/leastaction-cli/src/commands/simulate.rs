//! `simulate`: runs a model and writes trajectory, state, summary and report.

use std::f64::consts::FRAC_PI_2;
use std::path::{Path, PathBuf};

use leastaction_study::checkpoint::DurableRun;
use leastaction_study::failure::{COULD_NOT_RUN, DONE, Failure, INTERRUPTED};
use leastaction_study::field::{Assignment, Field, Kind};
use leastaction_study::output::DEFAULT_FOLDER;
use leastaction_study::run::{Finished, Outcome, Plan};
use leastaction_study::settings::{Group, Settings};
use leastaction_study::simulation::Prepared;
use leastaction_study::sweep::{Asked, Sweep};
use leastaction_study::{model, scenario, simulation, summary};

use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::verb::{Given, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "simulate",
    about: "Simulate a model; write trajectory, state, summary and an HTML report",
    more: "Examples:
  leastaction simulate @chain/10 --duration 20
  leastaction simulate robot.urdf --base floating --q knee=0.4 --friction off
  leastaction simulate scenario.toml --step 0.001",
    fields: &[
        Field::argument(
            "MODEL",
            Kind::Text,
            "Model or scenario file (.toml), or a built-in: @double-pendulum, @chain/N, @chain-xy/N, @ball-chain/N, @star/N, @binary-tree/N, @ball-tree/N, \
             @four-bar, @four-bars/K, @rhombus-chain/K, @slider-crank, @rssr, \
             @bennett, @platform, @stewart, @delta",
        )
        .unless("scenario"),
        Field::flag("scenario", "FILE.toml", Kind::Path, "Scenario file; flags win over its keys"),
        Field::flag("run", "N", Kind::Count(0, u64::MAX), "One run of a sweep file, or of the sweep.json of its folder, bit for bit"),
        Field::switch("print-config", "Print the scenario that these flags come to, and do nothing else"),
    ],
    groups: &[
        Group::Step,
        Group::Time,
        Group::Start,
        Group::From,
        Group::Input,
        Group::Policy,
        Group::Read,
        Group::Change,
        Group::Output,
        Group::Durable,
    ],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let is_scenario =
        |model: &str| Path::new(model).extension().is_some_and(|e| e.eq_ignore_ascii_case("toml"));
    let (model, scenario) = match (given.text("MODEL"), given.path("scenario")) {
        (Some(model), None) if is_scenario(model) => (None, Some(PathBuf::from(model))),
        (model, scenario) => (model.map(str::to_owned), scenario.map(Path::to_owned)),
    };
    if let Some(run) = given.count("run") {
        let path = scenario.or(model.map(PathBuf::from)).unwrap_or_default();
        return one_of_many(&path, run, given, printer);
    }
    let mut settings = Settings { model, ..given.settings() };
    if let Some(path) = scenario {
        settings = settings.over(scenario::load(&path)?);
        if settings.model.is_none() {
            return Err(Failure::new(format!("`{}` names no model", path.display()))
                .help("add `model = \"FILE\"`, or name one on the command line"));
        }
    }
    simulate(settings, given.switch("print-config"), printer)
}

/// One run of a sweep.
fn one_of_many(path: &Path, run: u64, given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let sweep = Sweep::load(path, Asked::default())?;
    let flags = given.settings();
    let folder = Path::new(DEFAULT_FOLDER).join(format!("{}-run-{run}", sweep.name));
    let prepared =
        sweep.prepare(run, |own| Settings { out: flags.out.clone().or(Some(folder)), ..flags.over(own) })?;
    for (key, value) in sweep.draws(run) {
        printer.note(format!("{key} = {value}"));
    }
    simulate_prepared(&prepared, given.switch("print-config"), printer)
}

/// Without a verb: something to look at, and what to try next.
pub(crate) fn welcome(printer: &mut Printer) -> Result<u8, Failure> {
    let settings = Settings {
        model: Some("@double-pendulum".into()),
        q: vec![Assignment { name: "joint0".into(), values: vec![FRAC_PI_2] }],
        ..Settings::default()
    };
    let code = simulate(settings, false, printer)?;
    for line in [
        "",
        "Open the report in a browser: it plays the motion beside its energy. Then try",
        "  leastaction simulate @chain/10 --duration 20      a chain of ten links",
        "  leastaction simulate robot.urdf --base floating   a robot of your own",
        "  leastaction check robot.urdf                      everything that is wrong with a file",
        "  leastaction --help                                all verbs",
    ] {
        printer.line(line);
    }
    Ok(code)
}

fn simulate(settings: Settings, only_print: bool, printer: &mut Printer) -> Result<u8, Failure> {
    let name = settings.model.clone().unwrap_or_default();
    let (model, built) = model::load(&name, &settings.reading())?;
    let prepared = simulation::prepare(settings, model, built, simulation::Given::default())?;
    if !only_print {
        printer.warnings(&name, &prepared.model.reading.diagnostics);
    }
    simulate_prepared(&prepared, only_print, printer)
}

fn simulate_prepared(prepared: &Prepared, only_print: bool, printer: &mut Printer) -> Result<u8, Failure> {
    if only_print {
        if printer.is_json() {
            printer.object(&prepared.settings.to_json());
        } else {
            printer.raw(&prepared.settings.to_toml());
        }
        return Ok(DONE);
    }
    let (plan, notes) = prepared.plan()?;
    notes.iter().for_each(|note| printer.note(note));
    let folder = prepared.begin(&plan)?;
    go(prepared, plan, folder, &prepared.folder(), printer)
}

/// Takes the steps and puts the files in place.
pub(super) fn go(
    prepared: &Prepared,
    plan: Plan<'_>,
    mut folder: DurableRun,
    out: &Path,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let progress = Progress::new(plan.steps, printer.is_json());
    let done = prepared.run(plan, &stop_flag(), &mut |step| progress.at(step), &mut folder);
    progress.finish();
    let done = done?;
    let report = folder.finish(|folder| done.write(prepared, folder))?;
    conclude(&done.finished, &done.context(prepared), out, report.as_deref(), printer)
}

/// Says what came out, and how it ended.
fn conclude(
    finished: &Finished,
    context: &summary::Context<'_>,
    out: &Path,
    report: Option<&Path>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let failure = match &finished.outcome {
        Outcome::Failed(error) => Some(Failure {
            code: COULD_NOT_RUN,
            ..Failure::caused_by(
                format!("stopped after {} of {} steps", finished.statistics.steps, context.planned_steps),
                error,
            )
            .help(format!("the results up to there are in `{}`", out.display()))
        }),
        _ => None,
    };
    if let Some(failure) = failure {
        return Err(failure);
    }
    if printer.is_json() {
        let mut value = summary::to_json(finished, context);
        value["out"] = serde_json::json!(out.display().to_string());
        printer.object(&value);
    }
    for line in summary::lines(finished, context) {
        printer.line(line);
    }
    if let Some(report) = report {
        printer.line(format!("  report         {}", report.display()));
    }
    printer.line(format!("  data           {}", out.join("trajectory.csv").display()));
    if matches!(finished.outcome, Outcome::Interrupted) {
        let (done, planned) = (finished.statistics.steps, context.planned_steps);
        printer.note(format!(
            "stopped after {done} of {planned} steps; `leastaction resume {}` goes on",
            out.display()
        ));
        return Ok(INTERRUPTED);
    }
    Ok(DONE)
}
