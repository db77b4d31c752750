//! [`Sweep`]: a sweep file with everything found that it names.

use std::collections::BTreeMap;
use std::path::Path;

use leastaction::integrator::Method;
use leastaction::io::Reading;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::TrajectoryLayout;

use super::draw::draw;
use super::file::Tables;
use super::find::{count_runs, find_columns, find_gauges, resolve_all};
use super::fingerprint::fingerprint;
use super::identity::portable;
use super::measure::Gauge;
use super::vary::Varied;
use crate::choice::{ContactMode, IterationName, LimitMode};
use crate::failure::Failure;
use crate::model::{self, Model};
use crate::scenario;
use crate::settings::Settings;
use crate::simulation::{self, Given, Prepared};
use crate::values::Values;

/// Most parts of a sweep: every one is a file, and is looked for when it goes on.
const MOST_CHUNKS: u64 = 1_000_000;
/// Work of a chunk, in microseconds of a body's step of order two: about 0.3 s.
const CHUNK_WORK: f64 = 3e5;
/// Bytes of a chunk's rows.
const CHUNK_BYTES: f64 = 1.6e7;
/// Where few runs are to keep many cores busy, chunks are smaller: at least so many.
const CHUNKS: u64 = 64;

/// What is asked for besides the file; it wins.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Settings of the runs.
    pub settings: Settings,
    /// Number of runs.
    pub runs: Option<u64>,
    /// What draws depend on.
    pub seed: Option<u64>,
    /// Runs per chunk.
    pub chunk: Option<u64>,
}

/// Many runs of one scenario.
#[derive(Debug)]
pub struct Sweep {
    /// A name for folders.
    pub name: String,
    /// Number of runs.
    pub runs: u64,
    /// Runs per chunk.
    pub chunk: u64,
    /// What should be known before it starts.
    pub notes: Vec<String>,
    pub(super) tables: Tables,
    pub(super) varied: Vec<Varied>,
    pub(super) gauges: Vec<(String, Gauge)>,
    /// Columns of recorded rows: their places in a row of the trajectory, and their names.
    pub(super) kept: Vec<(usize, String)>,
    /// The run that nothing varies.
    pub(super) prepared: Prepared,
    pub(super) base: State,
    /// Limits that nobody asked for are let go where an engine can't hold them; those that somebody did are not.
    asked_limits: Option<LimitMode>,
    pub(super) model: Model,
    built: Mechanism,
    /// The file as it counts, with contents for names of files.
    pub(super) scenario: String,
    pub(super) files: BTreeMap<String, String>,
    hash: String,
}

impl Sweep {
    /// Reads a sweep file (TOML), or the `sweep.json` of a folder.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place; nothing has been started or written then.
    pub fn load(path: &Path, asked: Asked) -> Result<Self, Failure> {
        let text = leastaction::io::read_text(path).map_err(|error| {
            Failure::caused_by(format!("can't read the sweep `{}`", path.display()), &error)
        })?;
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
            return Self::from_json(&text, path);
        }
        Self::assemble(&text, path, asked, None)
    }

    /// Of a text in the form of a sweep file, for a model that is there.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn of_model(text: &str, model: Model, built: Mechanism, asked: Asked) -> Result<Self, Failure> {
        Self::assemble(text, Path::new("sweep"), asked, Some((model, built)))
    }

    pub(super) fn assemble(
        text: &str,
        path: &Path,
        asked: Asked,
        given: Option<(Model, Mechanism)>,
    ) -> Result<Self, Failure> {
        let shown = path.display().to_string();
        let refuse = |mut values: Values| {
            values.problems.sort_by_key(|problem| problem.at.as_ref().map(|at| (at.line, at.column)));
            Failure::new(format!("`{shown}` can't be used as a sweep")).with_diagnostics(values.problems)
        };
        let mut values = Values::new(path, text);
        let mut settings = Settings::default();
        let Some(table) = values.parse(text, "sweep") else { return Err(refuse(values)) };
        scenario::read(&mut values, &mut settings, table.get_ref(), "");
        let entry = table.get_ref().iter().find(|(key, _)| key.get_ref() == "sweep");
        let mut tables = Tables::default();
        match entry {
            Some(entry) => {
                if let Some(table) = values.table(entry) {
                    tables = Tables::read(&mut values, table);
                }
            }
            None => {
                let remedy = "add `[sweep]` and `[sweep.vary]`; one run is `leastaction simulate`";
                values.problem(0..0, "sweep", "it has no table `[sweep]`", remedy);
            }
        }
        if !values.problems.is_empty() {
            return Err(refuse(values));
        }
        let place = entry.map_or(0..0, |(key, _)| key.span());
        tables.runs = asked.runs.or(tables.runs);
        tables.seed = asked.seed.unwrap_or(tables.seed);
        tables.chunk = asked.chunk.or(tables.chunk);
        let settings = asked.settings.over(settings.relative_to(path.parent().unwrap_or(Path::new(""))));
        let (model, built) = match given {
            Some(given) => given,
            None => {
                let name = settings.model.clone().ok_or_else(|| {
                    Failure::new(format!("`{shown}` names no model")).help("add `model = \"FILE\"`")
                })?;
                model::load(&name, &settings.reading())?
            }
        };
        if model.case.is_some() {
            return Err(Failure::new("the model is reference data, which says how it is to be run")
                .help("`leastaction convert` makes a model of it"));
        }
        let asked_limits = settings.limits;
        let mut prepared =
            simulation::prepare_as_said(settings, model.clone(), built.clone(), Given::default())?;
        let mut settings = prepared.settings.clone();
        // Chosen by the kind of its file, which a worker elsewhere does not have.
        if !model.description.surfaces.is_empty() && prepared.served.mechanism.contacts().is_empty() {
            settings.contact = Some(ContactMode::Off);
        }
        // Four runs side by side take the mass-matrix iteration; a run alone takes it as well, to have the same bits.
        if prepared.served.method == Method::Minimal && settings.iteration.is_none() {
            settings.iteration = Some(IterationName::Mass);
            prepared.served.options = prepared.served.options.for_batch();
        }
        // What no run could do is refused once, before any begins.
        let served = &prepared.served;
        served
            .method
            .expect_support(&served.mechanism, &served.options)
            .map_err(|error| Failure::from_error(&error).help("correct the settings of the runs"))?;
        let (base, steps, mut notes) = {
            let (plan, notes) = prepared.plan()?;
            (plan.start, plan.steps, notes)
        };
        // The rows of all runs are told of, not those of one.
        notes.retain(|note| !note.starts_with("the trajectory will take"));
        let mechanism = &prepared.served.mechanism;

        let varied = resolve_all(&mut values, &tables, &model.description, mechanism, &settings);
        let runs = count_runs(&mut values, &tables, &varied, place.clone());
        let layout = TrajectoryLayout::of(mechanism);
        let columns: Vec<&str> = layout.columns().collect();
        let gauges = find_gauges(&mut values, &tables, &columns, &prepared, &varied);
        let kept = find_columns(&mut values, &tables, &columns);
        if !values.problems.is_empty() {
            return Err(refuse(values));
        }
        let chunk = tables.chunk.unwrap_or_else(|| {
            let order =
                if prepared.served.method == Method::Minimal || prepared.served.method == Method::Maximal {
                    f64::from(prepared.served.options.order.unwrap_or(2)) / 2.0
                } else {
                    1.0
                };
            let work = CHUNK_WORK / (steps as f64 * mechanism.nb().max(1) as f64 * order);
            let share = runs.div_ceil(CHUNKS) as f64;
            let bytes = (steps / tables.every + 1) as f64 * (kept.len() + 1) as f64 * 8.0;
            let most = if tables.rows { (CHUNK_BYTES / bytes).max(1.0) } else { 4096.0 };
            (work.min(share).clamp(1.0, most).ceil() as u64).next_multiple_of(4).min(4096)
        });
        if runs.div_ceil(chunk) > MOST_CHUNKS {
            let parts = runs.div_ceil(chunk);
            return Err(Failure::new(format!("{runs} runs in chunks of {chunk} are {parts} parts"))
                .help(format!("{MOST_CHUNKS} are possible: give a larger `chunk`, or fewer runs")));
        }
        let said = Settings { limits: asked_limits, ..settings.clone() };
        let (scenario, files) = portable(said, &tables, runs, chunk)?;
        let description = &model.description;
        let model_hash = model::hash(description);
        let whole = [env!("CARGO_PKG_VERSION"), fingerprint(), &model_hash, &scenario].join("\n");
        let hash = format!("{:016x}", super::hash(whole.as_bytes()));
        let name = if path.extension().is_some_and(|e| e == "toml") && !path.ends_with("sweep.toml") {
            model::slug(&shown)
        } else {
            model.slug.clone()
        };
        let model = Model { reading: Reading::default(), case: None, ..model };
        prepared.settings = settings;
        Ok(Self {
            name,
            runs,
            chunk,
            notes,
            tables,
            varied,
            gauges,
            kept,
            prepared,
            base,
            asked_limits,
            model,
            built,
            scenario,
            files,
            hash,
        })
    }

    /// Number of chunks.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.runs.div_ceil(self.chunk)
    }

    /// What tells it from every other sweep.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Whether rows are kept besides the ends.
    #[must_use]
    pub fn keeps_rows(&self) -> bool {
        self.tables.rows
    }

    /// Steps of a run.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.prepared.steps().unwrap_or(0)
    }

    /// Names and values of what varies, in a run.
    #[must_use]
    pub fn draws(&self, run: u64) -> Vec<(&str, f64)> {
        let mut rest = run;
        let mut drawn: Vec<(&str, f64)> = Vec::with_capacity(self.varied.len());
        // Without a number of runs the grid is gone through, the last key first.
        for varied in self.varied.iter().rev() {
            let raw = match (self.tables.runs, varied.law.count()) {
                (None, Some(n)) => {
                    let index = rest % n;
                    rest /= n;
                    varied.law.at(index)
                }
                _ => draw(self.tables.seed, &varied.key, run, &varied.law),
            };
            drawn.push((&varied.key, varied.value(raw)));
        }
        drawn.reverse();
        drawn
    }

    /// Whether runs differ in their mechanism, not only in start and inputs.
    pub(super) fn changes_the_model(&self) -> bool {
        self.varied.iter().any(Varied::changes_the_model)
    }

    /// The settings of one run; it starts from [`base`](Self::base_state) where they say nothing.
    #[must_use]
    pub fn settings_of(&self, run: u64) -> Settings {
        let mut settings = self.prepared.settings.clone();
        (settings.start, settings.state, settings.random_velocity) = (None, None, None);
        (settings.q, settings.v) = (Vec::new(), Vec::new());
        let mechanism = &self.prepared.served.mechanism;
        for (varied, (_, value)) in self.varied.iter().zip(self.draws(run)) {
            varied.say(value, &mut settings, mechanism, &self.base);
        }
        settings
    }

    /// Where every run starts, but for what varies.
    #[must_use]
    pub fn base_state(&self) -> &State {
        &self.base
    }

    /// One run, ready for `simulate`: its steps are those of the sweep, bit for bit.
    ///
    /// # Errors
    /// If there is no such run, or what was drawn for it is not possible.
    pub fn prepare(&self, run: u64, change: impl FnOnce(Settings) -> Settings) -> Result<Prepared, Failure> {
        if run >= self.runs {
            return Err(Failure::new(format!("there is no run {run}: the sweep has {}", self.runs))
                .help(format!("they are counted from 0 to {}", self.runs - 1)));
        }
        let own = Settings { limits: self.asked_limits, ..self.settings_of(run) };
        self.prepare_with(change(own))
    }

    fn prepare_with(&self, settings: Settings) -> Result<Prepared, Failure> {
        let given = Given { start: Some(self.base.clone()), ..Given::default() };
        simulation::prepare_as_said(settings, self.model.clone(), self.built.clone(), given)
    }
}
