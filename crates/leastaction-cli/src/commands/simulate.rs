//! `simulate`: runs a model and writes trajectory, state, summary and report.

use std::f64::consts::FRAC_PI_2;
use std::path::{Path, PathBuf};

use leastaction::control::Policy;
use leastaction::integrator::Method;
use leastaction::io::{Clock, StateFile, write_atomically};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State};
use leastaction::trajectory::TrajectoryLayout;
use leastaction_study::choice::{Choice, CompositionName, LimitMode, MapName};
use leastaction_study::failure::{COULD_NOT_RUN, DONE, Failure, INTERRUPTED};
use leastaction_study::field::{Assignment, Field, Kind};
use leastaction_study::forces::ForceLog;
use leastaction_study::inputs::Inputs;
use leastaction_study::model::{self, Model};
use leastaction_study::output::{DEFAULT_FOLDER, RunFolder, cannot_write};
use leastaction_study::page::{PageHead, PageRecorder};
use leastaction_study::problem::control_file::add_motors;
use leastaction_study::rows::RowColumns;
use leastaction_study::run::{self, Finished, Outcome, Plan};
use leastaction_study::serve::{self, Served};
use leastaction_study::settings::{DEFAULT_DURATION, DEFAULT_STEP, Group, Settings, step_count};
use leastaction_study::{policy, report, scenario, start, summary};

use crate::interrupt::stop_flag;
use crate::printer::Printer;
use crate::progress::Progress;
use crate::verb::{Given, Verb};

/// By how much a limit that is held may be passed and not be called passed: rounding.
const HELD: f64 = 1e-9;

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
             @four-bar, @four-bars/K, @rhombus-chain/K",
        )
        .unless("scenario"),
        Field::flag("scenario", "FILE.toml", Kind::Path, "Scenario file; flags win over its keys"),
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

fn simulate(mut settings: Settings, only_print: bool, printer: &mut Printer) -> Result<u8, Failure> {
    let name = settings.model.clone().unwrap_or_default();
    let (mut model, mut built) = model::load(&name, &settings.reading())?;
    let model_hash = model::hash(&model.description);
    apply_case(&mut settings, &model);
    let policy = settings.policy.as_deref().map(policy::read).transpose()?;
    if let Some(policy) = &policy {
        apply_policy(&mut settings, policy, &mut model, &mut built)?;
    }
    settings.limits.get_or_insert(LimitMode::Enforce);
    let served = serve::prepare(&model, built, &settings)?;
    complete(&mut settings, &model, &served);
    if only_print {
        if printer.is_json() {
            printer.object(&settings.to_json());
        } else {
            printer.raw(&settings.to_toml());
        }
        return Ok(DONE);
    }
    printer.warnings(&name, &model.reading.diagnostics);
    let (step, duration) =
        (settings.step.unwrap_or(DEFAULT_STEP), settings.duration.unwrap_or(DEFAULT_DURATION));
    let steps = step_count(duration, step)?;
    let start::Start { state: mut start, mut clock, notes } =
        start::resolve(&served.mechanism, &settings, step, Some(&model_hash))?;
    notes.iter().for_each(|note| printer.note(note));
    if let (Some(policy), Some(path)) = (&policy, &settings.policy) {
        policy::expect_fit(policy, &served.mechanism, path)?;
        if policy.model_hash != model_hash {
            printer.note(format!("the policy was made for another version of `{}`", policy.model));
        }
        if !says_where_to_start(&settings)
            && let Some(first) = policy.steps.first()
        {
            start = State { t: 0.0, q: first.q.clone(), v: first.v.clone(), warm: None };
            clock = Clock { start: 0.0, step, steps: 0 };
        }
    }
    let inputs = Inputs::new(&served.mechanism, &model, &settings, step)?;
    let conservative = is_conservative(&served.mechanism) && !inputs.act();
    let forces = (settings.forces == Some(true)).then(|| ForceLog::new(&served)).transpose()?;
    let mut layout = RowColumns::layout(&served.mechanism, TrajectoryLayout::of(&served.mechanism));
    if let Some(forces) = &forces {
        layout = layout.with("f", forces.column_names());
    }
    let force_names = forces.as_ref().map(|forces| forces.names().to_vec());
    let plan = Plan {
        served: &served,
        start,
        clock,
        steps,
        every: settings.every.unwrap_or(1),
        inputs,
        watch_limits: match settings.limits {
            Some(LimitMode::Off) => None,
            Some(LimitMode::Monitor) => Some(0.0),
            Some(LimitMode::Enforce) | None => Some(HELD),
        },
        forces,
    };

    let out = settings.out.clone().unwrap_or_default();
    let mut folder = RunFolder::create(&out, &layout)?;
    let wants_report = settings.report.unwrap_or(true);
    let mut page =
        wants_report.then(|| PageRecorder::new(&served.mechanism, conservative, force_names.as_deref()));
    let progress = Progress::new(steps, printer.is_json());
    let finished = run::run(plan, &stop_flag(), &mut |step| progress.at(step), |sample| {
        if let Some(page) = &mut page {
            page.push(sample);
        }
        folder.push(sample.row)
    });
    progress.finish();
    let finished = finished?;

    let out = folder.finish()?;
    let state_path = out.join("state.json");
    let state = StateFile {
        clock: Some(finished.clock),
        model: Some(model_hash.clone()),
        modes: finished.rows.modes(),
        ..StateFile::of(&served.mechanism, &finished.last)
    };
    state.write(&state_path).map_err(|error| cannot_write(&state_path, &error))?;
    let integrator = integrator_label(&served);
    let feedback = settings.open_loop != Some(true);
    let open_loop = match &policy {
        Some(policy) if feedback => {
            let method = (served.method, &served.options);
            policy::replay(policy, &served.mechanism, method, step, 0.0, false).ok()
        }
        _ => None,
    };
    let context = summary::Context {
        model_name: served.mechanism.name(),
        model_hash: &model_hash,
        integrator: &integrator,
        planned_steps: steps,
        conservative,
        ignored: &served.ignored,
        configuration: &settings,
        open_loop,
        feedback,
    };
    let summary_json = summary::to_json(&finished, &context);
    let summary_path = out.join("summary.json");
    let text = serde_json::to_string_pretty(&summary_json).unwrap_or_default() + "\n";
    write_atomically(&summary_path, text.as_bytes()).map_err(|error| cannot_write(&summary_path, &error))?;
    let report_path = out.join("report.html");
    if let Some(page) = &page {
        let data = page.page(&served.mechanism, &finished, head(&context, &model, &finished, step));
        report::write(&report_path, &data).map_err(|error| cannot_write(&report_path, &error))?;
    }
    let with_report = page.is_some().then_some(report_path.as_path());
    conclude(&finished, &context, &summary_json, &out, with_report, printer)
}

/// A reference data file says how it is to be run; flags and scenario win.
fn apply_case(settings: &mut Settings, model: &Model) {
    let Some(case) = &model.case else { return };
    let method = Method::ALL.iter().find(|(name, _)| *name == case.integrator).map(|(_, method)| *method);
    if settings.integrator.is_none() {
        settings.integrator = method;
        settings.order = settings.order.or((case.order > 0).then_some(case.order));
    }
    if settings.integrator == Some(Method::Maximal) {
        let map = case.rotation_map.and_then(MapName::from_word);
        settings.rotation_map = settings.rotation_map.or(map);
        if settings.order.is_none_or(|order| order == case.order) {
            let composition = case.composition.and_then(CompositionName::from_word);
            settings.composition = settings.composition.or(composition);
        }
    }
    settings.step.get_or_insert(case.step);
    let duration = case.steps as f64 * case.step;
    settings.duration = settings.duration.or((duration > 0.0).then_some(duration));
}

/// A policy brings its motors, and its own step and duration unless the user says otherwise.
fn apply_policy(
    settings: &mut Settings,
    policy: &Policy,
    model: &mut Model,
    built: &mut Mechanism,
) -> Result<(), Failure> {
    settings.step.get_or_insert(policy.step);
    settings.duration.get_or_insert(policy.duration() + policy::HOLD_SECONDS);
    if !policy.motors.is_empty() {
        add_motors(&mut model.description, &policy.motors);
        *built = MechanismBuilder::from(model.description.clone())
            .build()
            .map_err(|error| Failure::from_error(&error))?;
    }
    Ok(())
}

fn says_where_to_start(settings: &Settings) -> bool {
    settings.start.is_some() || settings.state.is_some() || !settings.q.is_empty() || !settings.v.is_empty()
}

/// Fills in what was chosen for the user, so that the printed scenario says everything.
fn complete(settings: &mut Settings, model: &Model, served: &Served) {
    settings.integrator = Some(served.method);
    settings.order = served.options.order;
    settings.step.get_or_insert(DEFAULT_STEP);
    settings.duration.get_or_insert(DEFAULT_DURATION);
    settings.every.get_or_insert(1);
    settings.out.get_or_insert_with(|| Path::new(DEFAULT_FOLDER).join(&model.slug));
    settings.report.get_or_insert(true);
}

/// True if nothing but inputs takes energy away or adds it; what runs into a limit loses some.
fn is_conservative(mechanism: &Mechanism) -> bool {
    let still = |values: &[f64; 6]| values.iter().all(|x| *x == 0.0);
    mechanism.joints().iter().all(|joint| still(&joint.damping) && still(&joint.friction))
        && mechanism.bodies().iter().all(|body| body.drag == 0.0)
        && mechanism.tendons().iter().all(|tendon| tendon.damping == 0.0)
        && mechanism.rows().is_empty()
}

fn integrator_label(served: &Served) -> String {
    match served.options.order {
        Some(order) => format!("{} (order {order})", served.method.name()),
        None => served.method.name().to_owned(),
    }
}

fn head(context: &summary::Context<'_>, model: &Model, finished: &Finished, step: f64) -> PageHead {
    let mut warnings: Vec<String> = Vec::new();
    match &finished.outcome {
        Outcome::Done => {}
        Outcome::Interrupted => {
            warnings.push(format!("stopped by the user at t = {:.6} s", finished.clock.after(0)))
        }
        Outcome::Failed(error) => warnings.push(format!("stopped: {error}")),
    }
    warnings.extend(context.ignored.iter().map(|element| format!("ignored: {element}")));
    warnings.extend(model.reading.diagnostics.iter().map(|d| format!("{}: {}", d.element, d.message)));
    PageHead {
        subtitle: format!("{}, step {step} s, {:.6} s", context.integrator, finished.clock.after(0)),
        warnings,
        configuration: context.configuration.to_toml(),
        model_hash: context.model_hash.to_owned(),
    }
}

/// Says what came out, and how it ended.
fn conclude(
    finished: &Finished,
    context: &summary::Context<'_>,
    summary_json: &serde_json::Value,
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
        let mut value = summary_json.clone();
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
            "stopped after {done} of {planned} steps; `--start {}` continues",
            out.join("state.json").display()
        ));
        return Ok(INTERRUPTED);
    }
    Ok(DONE)
}
