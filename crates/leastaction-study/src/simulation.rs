//! One simulation from a model and settings to its result files: what `simulate` does, for every front end.
//!
//! [`prepare`] decides everything that can be decided before the first step, [`Prepared::run`] takes the steps, and
//! [`Done::write`] leaves the files beside the trajectory.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use leastaction::control::Policy;
use leastaction::integrator::Method;
use leastaction::io::{Clock, ProblemKind, StateFile, write_atomically};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State};
use leastaction::trajectory::TrajectoryLayout;
use serde_json::Value;

use crate::checkpoint::{Checkpoint, DEFAULT_INTERVAL, DurableRun, Header, remove};
use crate::choice::{Choice, LimitMode, MapName};
use crate::failure::Failure;
use crate::forces::ForceLog;
use crate::inputs::Inputs;
use crate::model::{self, Model};
use crate::motors::{self, Targets};
use crate::output::{DEFAULT_FOLDER, cannot_write};
use crate::page::{PageHead, PageRecorder};
use crate::policy::{self, Nearness};
use crate::problem::control_file::add_motors;
use crate::report::ReportData;
use crate::rows::RowColumns;
use crate::run::{self, Finished, Outcome, Plan};
use crate::sensors::SensorColumns;
use crate::serve::{self, Served};
use crate::settings::{DEFAULT_DURATION, DEFAULT_STEP, Settings, step_count};
use crate::sink::{Rows, Sink};
use crate::{changes, checkpoint, drives, engine, output, report, start, summary, weightless};

/// What a number of a row takes: about 19 characters in the table, 8 bytes in the archive and as many until it is written.
const BYTES_PER_NUMBER: f64 = 35.0;

/// By how much a limit that is held may be passed and not be called passed: rounding.
const HELD: f64 = 1e-9;

/// What a front end hands over as it is, in place of a file.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// A state to start from.
    pub start: Option<State>,
    /// Inputs of every step, row after row; the last row is held.
    pub inputs: Option<Vec<f64>>,
    /// A policy that says what acts.
    pub policy: Option<Policy>,
}

/// A simulation before its first step.
#[derive(Debug)]
pub struct Prepared {
    /// The model as it was read.
    pub model: Model,
    /// Its hash.
    pub model_hash: String,
    /// Mechanism, integrator, options.
    pub served: Served,
    /// Everything that was said or chosen.
    pub settings: Settings,
    given: Given,
    /// What motors hold or follow.
    targets: Option<Targets>,
    notes: Vec<String>,
}

/// Where, when and with what a run begins.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) start: State,
    pub(crate) clock: Clock,
    pub(crate) inputs: Inputs,
    pub(crate) notes: Vec<String>,
}

/// Chooses what was not said and refuses what does not fit together.
///
/// # Errors
/// If a policy can't be read, or the integrator does not support the model.
pub fn prepare(
    settings: Settings,
    model: Model,
    built: Mechanism,
    given: Given,
) -> Result<Prepared, Failure> {
    decide(settings, model, built, given, true)
}

/// The same without a look at the motion: all runs of a sweep, and what goes on after a stop, are stepped alike.
///
/// # Errors
/// As [`prepare`].
pub fn prepare_as_said(
    settings: Settings,
    model: Model,
    built: Mechanism,
    given: Given,
) -> Result<Prepared, Failure> {
    decide(settings, model, built, given, false)
}

fn decide(
    mut settings: Settings,
    mut model: Model,
    mut built: Mechanism,
    mut given: Given,
    by_motion: bool,
) -> Result<Prepared, Failure> {
    // What the user changes about the model makes another model of it.
    if !settings.set.is_empty() {
        changes::apply(&mut model.description, &settings.set, settings.keep_inertia == Some(true))?;
        built = serve::rebuild(model.description.clone(), &model.reading.sources)?;
    }
    let model_hash = model::hash(&model.description);
    apply_case(&mut settings, &model);
    if let Some(path) = settings.policy.as_deref() {
        given.policy = Some(policy::read(path)?);
    }
    if let Some(policy) = &given.policy {
        apply_policy(&mut settings, policy, &mut model, &mut built)?;
    }
    let targets = motors::apply(&settings, &mut model.description, &mut built)?;
    let mut notes: Vec<String> =
        if targets.is_some() { motors::left_free(&built).into_iter().collect() } else { Vec::new() };
    let step = settings.step.unwrap_or(DEFAULT_STEP);
    drives::apply(&settings, &mut model.description, &mut built, given.start.as_ref(), step)?;
    notes.extend(weightless::hold(&mut model, &mut built));
    notes.extend(weightless::steady(&mut model, &mut built));
    settings.limits.get_or_insert(LimitMode::Enforce);
    if by_motion && given.policy.is_none() {
        engine::choose_method(&mut settings, &built);
    }
    let mut served = serve::prepare(&model, built, &settings)?;
    notes.extend(served.notes.iter().cloned());
    if by_motion && given.policy.is_none() && served.method == Method::Maximal {
        // What is wrong with a start is said where it is used.
        let start =
            start::resolve_from(&served.mechanism, &settings, step, Some(&model_hash), given.start.as_ref());
        if let Some(why) = start.ok().and_then(|start| engine::choose_order(&served, &start.state, step)) {
            served.options.order = Some(4);
            notes.push(why);
        }
    }
    complete(&mut settings, &model, &served);
    Ok(Prepared { model, model_hash, served, settings, given, targets, notes })
}

impl Prepared {
    fn step(&self) -> f64 {
        self.settings.step.unwrap_or(DEFAULT_STEP)
    }

    /// Columns of the trajectory.
    ///
    /// # Errors
    /// If constraint forces are asked for and the integrator has none.
    pub fn layout(&self) -> Result<TrajectoryLayout, Failure> {
        let layout = RowColumns::layout(&self.served.mechanism, TrajectoryLayout::of(&self.served.mechanism));
        let layout = self.sensors().layout(layout);
        Ok(match self.forces()? {
            Some(forces) => forces.layout(layout),
            None => layout,
        })
    }

    fn sensors(&self) -> SensorColumns {
        SensorColumns::new(&self.served.mechanism, &self.model.reading.sensors)
    }

    fn forces(&self) -> Result<Option<ForceLog>, Failure> {
        (self.settings.forces == Some(true)).then(|| ForceLog::new(&self.served)).transpose()
    }

    /// The folder that the settings name.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        self.settings.out.clone().unwrap_or_default()
    }

    /// Where, when and with what a run of these settings begins, and remarks about it; from `given` where they name no state.
    ///
    /// # Errors
    /// If the start, the inputs or the policy do not fit.
    pub(crate) fn beginning(&self, settings: &Settings, given: Option<&State>) -> Result<Beginning, Failure> {
        let (step, mechanism) = (self.step(), &self.served.mechanism);
        let found = start::resolve_from(mechanism, settings, step, Some(&self.model_hash), given)?;
        let (mut start, mut clock, mut notes) = (found.state, found.clock, found.notes);
        if let Some(policy) = &self.given.policy {
            let path = settings.policy.as_deref().unwrap_or(Path::new("policy"));
            policy::expect_fit(policy, mechanism, path)?;
            if policy.model_hash != self.model_hash {
                notes.push(format!("the policy was made for another version of `{}`", policy.model));
            }
            if given.is_none()
                && !says_where_to_start(settings)
                && let Some(first) = policy.steps.first()
            {
                start = State { q: first.q.clone(), v: first.v.clone(), ..State::default() };
                clock = Clock { start: 0.0, step, steps: 0 };
            }
        }
        let targets = self.targets.clone();
        let mut inputs = Inputs::given(mechanism, &self.model, settings, step, &start, targets, &self.given)?;
        if self.given.inputs.is_some() {
            inputs.begin_at(clock.after(0));
        }
        Ok(Beginning { start, clock, inputs, notes })
    }

    /// The policy, if one says what acts.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.given.policy.as_ref()
    }

    /// Number of steps to take.
    pub(crate) fn steps(&self) -> Result<u64, Failure> {
        step_count(self.settings.duration.unwrap_or(DEFAULT_DURATION), self.step())
    }

    /// Everything that is known before the first step, and remarks about it.
    ///
    /// # Errors
    /// If the start, the inputs or the policy do not fit.
    pub fn plan(&self) -> Result<(Plan<'_>, Vec<String>), Failure> {
        let (settings, served) = (&self.settings, &self.served);
        let steps = self.steps()?;
        let Beginning { start, clock, inputs, notes } =
            self.beginning(settings, self.given.start.as_ref())?;
        let mut notes = [self.notes.clone(), notes].concat();
        let every = settings.every.unwrap_or(1).max(1);
        let bytes = (steps / every + 1) as f64 * self.layout()?.width() as f64 * BYTES_PER_NUMBER;
        if bytes > 1e9 {
            notes.push(format!(
                "the trajectory will take about {:.1} GB; `--every N` writes fewer rows",
                bytes / 1e9
            ));
        }
        let plan = Plan {
            served,
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
            forces: self.forces()?,
            sensors: self.sensors(),
            resume: None,
        };
        Ok((plan, notes))
    }

    /// The folder of the run, whose files survive whatever ends the process.
    ///
    /// # Errors
    /// If it can't be written, or holds something else that would be lost.
    pub fn begin(&self, plan: &Plan<'_>) -> Result<DurableRun, Failure> {
        let folder = self.folder();
        if self.settings.force != Some(true) {
            output::expect_own(&folder, self.served.mechanism.name())?;
            checkpoint::expect_none(&folder)?;
            output::expect_other(&folder, self.settings.start.as_deref())?;
        }
        let header = Header::of(&self.settings, &self.model_hash, plan.steps)?;
        DurableRun::create(&folder, &self.layout()?, header, self.interval())
    }

    /// Goes on with the run of a folder.
    ///
    /// # Errors
    /// If the model has changed, or the files are not what they were.
    pub fn resume(
        &self,
        folder: &Path,
        plan: &mut Plan<'_>,
        checkpoint: Checkpoint,
    ) -> Result<DurableRun, Failure> {
        let Checkpoint { header, carried } = checkpoint;
        if header.model_hash != self.model_hash {
            let name = self.settings.model.as_deref().unwrap_or_default();
            return Err(Failure::new(format!("the model `{name}` has changed since the run began"))
                .help("put it back as it was, or start the run anew with `simulate --force`"));
        }
        header.expect_same_sources()?;
        plan.resume = Some(carried);
        DurableRun::resume(folder, &self.layout()?, header, self.interval())
    }

    fn interval(&self) -> f64 {
        self.settings.checkpoint.unwrap_or(DEFAULT_INTERVAL)
    }

    /// Takes the steps; every row goes to `rows`, the number of steps taken to `progress`.
    ///
    /// # Errors
    /// If the first step can't be prepared or a row can't be recorded. A step that fails is an outcome.
    pub fn run(
        &self,
        plan: Plan<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
        rows: &mut dyn Rows,
    ) -> Result<Done, Failure> {
        let (settings, served) = (&self.settings, &self.served);
        let balanced = only_inputs_work(&served.mechanism);
        let conservative = balanced && inputs_are_forces(&served.mechanism) && !plan.inputs.act();
        let planned_steps = plan.steps;
        let layout = self.layout()?;
        let names = plan.forces.as_ref().map(|forces| forces.names().to_vec());
        let pairs = plan.forces.as_ref().map_or_else(Vec::new, |forces| forces.pairs().to_vec());
        let page = settings
            .report
            .unwrap_or(true)
            .then(|| PageRecorder::new(&served.mechanism, &layout, conservative, names.as_deref(), &pairs));
        let mut sink = Sink { page, rows };
        let finished = run::run(plan, stop, progress, &mut sink)?;
        let page = sink.page;
        let feedback = settings.open_loop != Some(true);
        let open_loop = match &self.given.policy {
            Some(policy) if feedback => {
                let method = (served.method, &served.options);
                policy::replay(policy, &served.mechanism, method, self.step(), 0.0, false).ok()
            }
            _ => None,
        };
        let integrator = integrator_label(served);
        Ok(Done { finished, page, planned_steps, integrator, balanced, conservative, open_loop, feedback })
    }
}

/// A simulation after its last step.
#[derive(Debug)]
pub struct Done {
    /// What is left of the run.
    pub finished: Finished,
    page: Option<PageRecorder>,
    planned_steps: u64,
    integrator: String,
    balanced: bool,
    conservative: bool,
    open_loop: Option<Nearness>,
    feedback: bool,
}

impl Done {
    /// What the summary says besides the run's own figures.
    #[must_use]
    pub fn context<'a>(&'a self, of: &'a Prepared) -> summary::Context<'a> {
        summary::Context {
            model_name: of.served.mechanism.name(),
            model_hash: &of.model_hash,
            integrator: &self.integrator,
            planned_steps: self.planned_steps,
            balanced: self.balanced,
            conservative: self.conservative,
            ignored: &of.served.ignored,
            configuration: &of.settings,
            open_loop: self.open_loop,
            feedback: self.feedback,
        }
    }

    /// The summary for machines.
    #[must_use]
    pub fn summary(&self, of: &Prepared) -> Value {
        summary::to_json(&self.finished, &self.context(of))
    }

    /// The last state, to be continued.
    #[must_use]
    pub fn state_file(&self, of: &Prepared) -> StateFile {
        StateFile {
            clock: Some(self.finished.clock),
            model: Some(of.model_hash.clone()),
            modes: self.finished.rows.modes(),
            ..StateFile::of(&of.served.mechanism, &self.finished.last)
        }
    }

    /// The report, if one is wanted.
    #[must_use]
    pub fn report(&self, of: &Prepared) -> Option<ReportData> {
        let page = self.page.as_ref()?;
        let head = head(&self.context(of), &of.model, &self.finished, of.step());
        Some(page.page(&of.served.mechanism, &self.finished, head))
    }

    /// Writes what stands beside the trajectory: state, summary and report. Returns the path of the report.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn write(&self, of: &Prepared, out: &Path) -> Result<Option<PathBuf>, Failure> {
        let state_path = out.join("state.json");
        self.state_file(of).write(&state_path).map_err(|error| cannot_write(&state_path, &error))?;
        let summary_path = out.join("summary.json");
        let text = serde_json::to_string_pretty(&self.summary(of)).unwrap_or_default() + "\n";
        write_atomically(&summary_path, text.as_bytes())
            .map_err(|error| cannot_write(&summary_path, &error))?;
        let report_path = out.join("report.html");
        match self.report(of) {
            Some(data) => {
                report::write(&report_path, &data).map_err(|error| cannot_write(&report_path, &error))?;
                Ok(Some(report_path))
            }
            // One of an earlier run would not belong to the files beside it.
            None => remove(&report_path).map(|()| None),
        }
    }
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

/// True if nothing but inputs and servos takes energy away or adds it; what runs into a limit loses some.
fn only_inputs_work(mechanism: &Mechanism) -> bool {
    let still = |values: &[f64; 6]| values.iter().all(|x| *x == 0.0);
    mechanism.joints().iter().all(|joint| still(&joint.damping) && still(&joint.friction))
        && mechanism.bodies().iter().all(|body| body.drag == 0.0)
        && mechanism.driven().next().is_none()
        && mechanism.tendons().iter().all(|tendon| tendon.damping == 0.0)
        && mechanism.rows().is_empty()
        && mechanism.contacts().is_empty()
}

/// True if inputs are forces: none has a law of its own that acts where the input is zero.
fn inputs_are_forces(mechanism: &Mechanism) -> bool {
    mechanism.drives().iter().all(|drive| drive.law.bias == [0.0; 3])
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
    warnings.extend(ProblemKind::group(&model.reading.diagnostics).iter().map(|kind| {
        let more = kind.count - 1;
        let more = if more > 0 { format!(" (and {more} more of this kind)") } else { String::new() };
        format!("{}: {}{more}", kind.first.element, kind.first.message)
    }));
    PageHead {
        subtitle: format!("{}, step {step} s, {:.6} s", context.integrator, finished.clock.after(0)),
        warnings,
        configuration: context.configuration.to_toml(),
        model_hash: context.model_hash.to_owned(),
    }
}
