//! One run of a sweep: the steps of `simulate`, without its files.

use std::sync::atomic::{AtomicBool, Ordering};

use leastaction::batch::{Batch, Inputs as RowInputs, LANES, Plan, Row};
use leastaction::integrator::{Simulator, StepError};
use leastaction::io::Clock;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::{Recorded, Sampler};
use serde_json::Value;

use super::load::Sweep;
use super::measure::{Gauge, Source, energy_error};
use crate::failure::Failure;
use crate::inputs::Inputs;
use crate::settings::Settings;
use crate::simulation::{Beginning, Prepared};

/// Steps between two looks at the flag that stops a run.
const LOOK: u64 = 64;

/// Why a run ended early: `KIND: sentence`, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ended {
    pub(super) reason: String,
    pub(super) time: Option<f64>,
    pub(super) joint: Option<String>,
}

/// What a run comes to.
#[derive(Clone, Debug, Default)]
pub(super) struct RunResult {
    pub(super) steps: u64,
    pub(super) ended: Option<Ended>,
    /// Time, positions and velocities of the last good step.
    pub(super) end: Option<State>,
    /// One number per measure; none if the run ended early.
    pub(super) measures: Option<Vec<f64>>,
    /// Recorded rows, one after the other.
    pub(super) rows: Vec<f64>,
}

impl Ended {
    fn of_step(error: &StepError, now: f64) -> Self {
        let variant = serde_json::to_value(error).unwrap_or_default();
        let (kind, fields) = match &variant {
            Value::Object(map) => {
                map.iter().next().map_or(("StepError", &Value::Null), |(k, v)| (k.as_str(), v))
            }
            Value::String(kind) => (kind.as_str(), &Value::Null),
            _ => ("StepError", &Value::Null),
        };
        Self {
            reason: format!("{kind}: {error}"),
            time: Some(now),
            joint: fields["joint"].as_str().map(str::to_owned),
        }
    }

    fn of_failure(kind: &str, failure: &Failure) -> Self {
        let problem = failure.diagnostics.first().map(|d| format!(": {}: {}", d.element, d.message));
        let causes = failure.causes.iter().map(|cause| format!(": {cause}"));
        let causes: String = problem.into_iter().chain(causes).collect();
        Self { reason: format!("{kind}: {}{causes}", failure.message), time: None, joint: None }
    }
}

/// Runs that a worker does together.
pub(super) const TOGETHER: u64 = 4 * LANES as u64;

/// Memory of a worker: what runs of one mechanism share.
pub(super) struct Runner<'s> {
    sweep: &'s Sweep,
    /// For runs that differ in start and inputs only, and of which nothing but states is measured.
    batch: Option<Batch<&'s Mechanism>>,
    simulator: Option<Simulator<&'s Mechanism>>,
    observer: Observer<'s>,
}

impl<'s> Runner<'s> {
    pub(super) fn new(sweep: &'s Sweep) -> Self {
        let served = &sweep.prepared.served;
        let plain = sweep.gauges.iter().all(|(_, gauge)| !matches!(gauge.source, Source::Row(_)));
        let batch = (plain && !sweep.changes_the_model() && !sweep.keeps_rows())
            .then(|| Batch::new(&served.mechanism, served.method, &served.options).ok());
        let observer = Observer::new(sweep, &sweep.prepared);
        Self { sweep, batch: batch.flatten(), simulator: None, observer }
    }

    /// Does some runs; none if it was stopped on the way.
    pub(super) fn run_all(
        &mut self,
        runs: std::ops::Range<u64>,
        stop: &AtomicBool,
    ) -> Option<Vec<RunResult>> {
        match &mut self.batch {
            Some(batch) => together(self.sweep, runs, batch, &mut self.observer, stop),
            None => runs.map(|run| self.run(run, stop)).collect(),
        }
    }

    /// Does a run; none if it was stopped on the way.
    fn run(&mut self, run: u64, stop: &AtomicBool) -> Option<RunResult> {
        let sweep = self.sweep;
        if !sweep.changes_the_model() {
            let settings = sweep.settings_of(run);
            return go(sweep, &sweep.prepared, &settings, &mut self.simulator, &mut self.observer, stop);
        }
        match sweep.prepare(run, |own| own) {
            // A link without inertia may have lost its joint, and the columns of the table are those of all runs.
            Ok(prepared) if !same_shape(&prepared.served.mechanism, &sweep.prepared.served.mechanism) => {
                let reason =
                    "BadModel: with these numbers joints are held that move in other runs".to_owned();
                Some(RunResult { ended: Some(Ended { reason, ..Ended::default() }), ..RunResult::default() })
            }
            Ok(prepared) => {
                let mut observer = Observer::new(sweep, &prepared);
                go(sweep, &prepared, &prepared.settings, &mut None, &mut observer, stop)
            }
            Err(failure) => Some(RunResult {
                ended: Some(Ended::of_failure("BadModel", &failure)),
                ..RunResult::default()
            }),
        }
    }
}

fn same_shape(a: &Mechanism, b: &Mechanism) -> bool {
    (a.nq(), a.nv(), a.nu(), a.nb()) == (b.nq(), b.nv(), b.nu(), b.nb())
}

/// Runs of one mechanism side by side: the same steps as each alone.
fn together<'m>(
    sweep: &'m Sweep,
    runs: std::ops::Range<u64>,
    batch: &mut Batch<&'m Mechanism>,
    observer: &mut Observer<'m>,
    stop: &AtomicBool,
) -> Option<Vec<RunResult>> {
    let (prepared, mechanism) = (&sweep.prepared, &sweep.prepared.served.mechanism);
    let mut results: Vec<RunResult> = Vec::new();
    let mut begun: Vec<(usize, Beginning)> = Vec::new();
    for run in runs {
        let mut result = RunResult::default();
        match prepared.beginning(&sweep.settings_of(run), Some(sweep.base_state())) {
            Ok(beginning) => begun.push((results.len(), beginning)),
            Err(failure) => result.ended = Some(Ended::of_failure("BadStart", &failure)),
        }
        results.push(result);
    }
    let clocks: Vec<Clock> = begun.iter().map(|(_, beginning)| beginning.clock).collect();
    let (Some(step), Ok(steps)) = (clocks.first().map(|clock| clock.step), usize::try_from(sweep.steps()))
    else {
        return Some(results);
    };
    // One by one: what does not change, what is asked for at every step, and whose gauges.
    let starts: Vec<State> = begun.iter().map(|(_, beginning)| beginning.start.clone()).collect();
    let held: Vec<Option<Vec<f64>>> =
        begun.iter().map(|(_, beginning)| beginning.inputs.constant().map(<[f64]>::to_vec)).collect();
    let mut laws: Vec<_> = begun
        .iter_mut()
        .map(|(_, Beginning { inputs, clock, .. })| {
            move |k: usize, state: &State, u: &mut [f64]| {
                u.copy_from_slice(inputs.at(mechanism, clock.after(k as u64), state));
            }
        })
        .collect();
    let inputs = held.iter().zip(&mut laws).map(|(held, law)| match held {
        Some(u) => RowInputs::Held(u),
        None => RowInputs::Law(law),
    });
    let mut rows: Vec<Row<'_>> =
        starts.into_iter().zip(inputs).map(|(start, inputs)| Row::new(start, inputs)).collect();
    let mut gauges: Vec<Vec<Gauge>> = vec![observer.gauges.clone(); rows.len()];
    gauges.iter_mut().flatten().for_each(Gauge::reset);
    let mut energies = vec![f64::NAN; rows.len()];
    let every = usize::from(!observer.gauges.is_empty());
    let plan = Plan { every, stop: Some(stop), ..Plan::new(steps, step) };
    let policy = prepared.policy();
    batch.run(&mut rows, &plan, |row, k, state| {
        let observed = observer.sampler.as_mut().map(|sampler| sampler.observe(state));
        if k == 0 {
            energies[row] = observed.as_ref().map_or(f64::NAN, |now| now.total());
        }
        for gauge in &mut gauges[row] {
            let nq = mechanism.nq();
            gauge.take(match gauge.source {
                Source::State(at) if at < nq => state.q[at],
                Source::State(at) => state.v[at - nq],
                Source::EnergyError => {
                    observed.as_ref().map_or(f64::NAN, |now| energy_error(now, energies[row]))
                }
                Source::Goal => policy.map_or(f64::NAN, |policy| policy.distance(mechanism, state).0),
                Source::Row(_) => f64::NAN,
            });
        }
    });
    let done: Vec<(State, u64, Option<StepError>)> =
        rows.into_iter().map(|row| (row.state, row.steps as u64, row.failure)).collect();
    drop(laws);
    for (((at, _), (state, steps, failure)), (gauges, clock)) in
        begun.iter().zip(done).zip(gauges.iter().zip(clocks))
    {
        let result = &mut results[*at];
        let t = clock.after(steps);
        result.steps = steps;
        result.end = Some(State { t, ..state });
        match failure {
            Some(error) => result.ended = Some(Ended::of_step(&error, t)),
            // Stopped between two steps: none of it counts.
            None if steps < sweep.steps() => return None,
            None => result.measures = Some(gauges.iter().map(Gauge::value).collect()),
        }
    }
    Some(results)
}

fn go<'m>(
    sweep: &Sweep,
    prepared: &'m Prepared,
    settings: &Settings,
    kept: &mut Option<Simulator<&'m Mechanism>>,
    observer: &mut Observer<'m>,
    stop: &AtomicBool,
) -> Option<RunResult> {
    let mechanism: &'m Mechanism = &prepared.served.mechanism;
    let mut result = RunResult::default();
    let (start, clock, mut inputs) = match prepared.beginning(settings, Some(sweep.base_state())) {
        Ok(Beginning { start, clock, inputs, .. }) => (start, clock, inputs),
        Err(failure) => {
            result.ended = Some(Ended::of_failure("BadStart", &failure));
            return Some(result);
        }
    };
    let begun = match kept {
        Some(simulator) => simulator.restart(&start),
        None => Simulator::new(mechanism, prepared.served.method, &prepared.served.options, &start)
            .map(|simulator| *kept = Some(simulator)),
    };
    let simulator = match (begun, &mut *kept) {
        (Ok(()), Some(simulator)) => simulator,
        (Err(error), _) => {
            *kept = None;
            result.ended = Some(Ended::of_step(&error, clock.after(0)));
            result.end = Some(start);
            return Some(result);
        }
        _ => return None,
    };
    observer.begin(simulator, &mut inputs, clock.after(0), &mut result.rows);
    let sees = inputs.look_at_the_state();
    let blind = State::default();
    for k in 0..sweep.steps() {
        if k.is_multiple_of(LOOK) && stop.load(Ordering::Relaxed) {
            return None;
        }
        let state = if sees { simulator.state() } else { &blind };
        let u = inputs.at(mechanism, clock.after(k), state);
        let report = match simulator.step(u, clock.step) {
            Ok(report) => report,
            Err(error) => {
                result.ended = Some(Ended::of_step(&error, clock.after(k)));
                break;
            }
        };
        result.steps = k + 1;
        observer.look(
            simulator,
            &mut inputs,
            (k + 1, clock.after(k + 1)),
            report.iterations,
            &mut result.rows,
        );
    }
    let mut end = simulator.state().clone();
    end.t = clock.after(result.steps);
    result.end = Some(end);
    if result.ended.is_none() {
        result.measures = Some(observer.gauges.iter().map(Gauge::value).collect());
    } else {
        // Nothing of a run that failed is taken over.
        *kept = None;
    }
    Some(result)
}

/// Measures and records what runs of one mechanism do.
struct Observer<'m> {
    mechanism: &'m Mechanism,
    gauges: Vec<Gauge>,
    sampler: Option<Sampler<'m>>,
    /// Places in a row that are recorded, every so many steps.
    kept: Vec<usize>,
    every: u64,
    energy: f64,
    /// Whether a measure needs the whole row.
    whole: bool,
    control: Vec<f64>,
    /// Most iterations, and sum of the forces of inputs, since the last recorded row.
    iterations: u32,
    acted: Vec<f64>,
    steps: f64,
}

impl<'m> Observer<'m> {
    fn new(sweep: &Sweep, prepared: &'m Prepared) -> Self {
        let mechanism = &prepared.served.mechanism;
        let gauges: Vec<Gauge> = sweep.gauges.iter().map(|(_, gauge)| *gauge).collect();
        let whole = gauges.iter().any(|gauge| matches!(gauge.source, Source::Row(_)));
        let energy = gauges.iter().any(|gauge| gauge.source == Source::EnergyError);
        let records = sweep.keeps_rows();
        Self {
            mechanism,
            gauges,
            sampler: (whole || energy || records).then(|| Sampler::new(mechanism)),
            kept: sweep.kept.iter().map(|(at, _)| *at).collect(),
            every: if records { sweep.tables.every } else { 0 },
            energy: 0.0,
            whole,
            control: vec![0.0; mechanism.nu()],
            iterations: 0,
            acted: vec![0.0; mechanism.nu()],
            steps: 0.0,
        }
    }

    fn begin(
        &mut self,
        simulator: &mut Simulator<&'m Mechanism>,
        inputs: &mut Inputs,
        t: f64,
        rows: &mut Vec<f64>,
    ) {
        self.gauges.iter_mut().for_each(Gauge::reset);
        self.iterations = 0;
        self.steps = 0.0;
        self.acted.fill(0.0);
        if let Some(sampler) = &mut self.sampler {
            self.energy = sampler.observe(simulator.state()).total();
        }
        self.look(simulator, inputs, (0, t), 0, rows);
    }

    /// Looks at the state after `k` steps.
    fn look(
        &mut self,
        simulator: &mut Simulator<&'m Mechanism>,
        inputs: &mut Inputs,
        (k, t): (u64, f64),
        iterations: u32,
        rows: &mut Vec<f64>,
    ) {
        let due = self.every > 0 && k.is_multiple_of(self.every);
        if self.every > 0 && k > 0 {
            self.iterations = self.iterations.max(iterations);
            self.steps += 1.0;
            self.acted.iter_mut().zip(simulator.input_forces()).for_each(|(sum, x)| *sum += x);
        }
        if self.gauges.is_empty() && !due {
            return;
        }
        let mut row: &[f64] = &[];
        let mut observed = None;
        if let Some(sampler) = &mut self.sampler
            && (due || !self.gauges.is_empty())
        {
            let now = sampler.observe(simulator.state());
            if self.whole || due {
                let gap = simulator.gap();
                // What acted in the last step, for a measure of every step; the mean since the last row, for a row.
                let mut acted = if k > 0 { simulator.input_forces().to_vec() } else { Vec::new() };
                if due && k > 0 {
                    acted = self.acted.iter().map(|sum| sum / self.steps).collect();
                }
                let state = simulator.state();
                self.control.copy_from_slice(inputs.at(self.mechanism, t, state));
                let most = if due { self.iterations } else { iterations };
                let recorded = Recorded { t, u: &self.control, acted: &acted, gap, iterations: most };
                row = sampler.row(state, &now, recorded);
                if due {
                    rows.extend(self.kept.iter().map(|at| row[*at]));
                    self.iterations = 0;
                    self.steps = 0.0;
                    self.acted.fill(0.0);
                }
            }
            observed = Some(now);
        }
        let nq = self.mechanism.nq();
        for gauge in &mut self.gauges {
            let value = match gauge.source {
                Source::State(at) if at < nq => simulator.state().q[at],
                Source::State(at) => simulator.state().v[at - nq],
                Source::Row(at) => row[at],
                Source::EnergyError => {
                    observed.as_ref().map_or(f64::NAN, |now| energy_error(now, self.energy))
                }
                Source::Goal => match inputs.player() {
                    Some(player) => player.policy.distance(self.mechanism, simulator.state()).0,
                    None => f64::NAN,
                },
            };
            gauge.take(value);
        }
    }
}
