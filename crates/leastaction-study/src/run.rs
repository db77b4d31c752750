//! The loop: step, observe, record; stops at the end, at Ctrl-C, or when a step can't be taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leastaction::dynamics::Observables;
use leastaction::integrator::{ContactCounts, Simulator, StepError};
use leastaction::io::Clock;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::{Recorded, Sampler};

use crate::efforts::EffortMonitor;
use crate::failure::Failure;
use crate::forces::ForceLog;
use crate::inputs::Inputs;
use crate::limits::{LimitMonitor, Passing};
use crate::on_tape;
use crate::policy::Nearness;
use crate::rows::{RowColumns, RowsAtEnd};
use crate::sensors::SensorColumns;
use crate::serve::Served;
use crate::sink::{Saved, Sink};
use crate::statistics::Statistics;
use crate::tape::{OnTape, Tape};

/// What to run.
#[derive(Debug)]
pub struct Plan<'a> {
    /// Mechanism, integrator, options.
    pub served: &'a Served,
    /// Where to start.
    pub start: State,
    /// When.
    pub clock: Clock,
    /// How many steps.
    pub steps: u64,
    /// A row every so many steps.
    pub every: u64,
    /// What acts from outside.
    pub inputs: Inputs,
    /// Whether limits are watched, and by how much a position may pass one unsaid.
    pub watch_limits: Option<f64>,
    /// Constraint forces to gather.
    pub forces: Option<ForceLog>,
    /// Sensors of the model.
    pub sensors: SensorColumns,
    /// What an earlier process had come to, as it saved it.
    pub resume: Option<Vec<u8>>,
}

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All steps were taken.
    Done,
    /// The user stopped it.
    Interrupted,
    /// A step could not be taken.
    Failed(StepError),
}

/// What is left after a run.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// The last good state, with what the integrator continues from.
    pub last: State,
    /// Its time.
    pub clock: Clock,
    /// What was counted on the way.
    pub statistics: Statistics,
    /// Joint limits that were passed.
    pub passings: Vec<Passing>,
    /// Inputs that effort limits cut.
    pub efforts: EffortMonitor,
    /// How near the goal of a policy it came.
    pub nearness: Option<Nearness>,
    /// Constraint forces, if asked for.
    pub forces: Option<ForceLog>,
    /// How far closing the loops moved a joint coordinate of the start.
    pub moved: f64,
    /// The start had a warm part that did not belong to its positions and velocities, and was not used.
    pub warm_dropped: bool,
    /// What rows with friction or limits do at the end.
    pub rows: RowsAtEnd,
    /// What steps with contact counted.
    pub contact: Option<ContactCounts>,
    /// Time the loop took.
    pub wall: Duration,
}

/// A row as it was when its step ended. With constraint forces it waits for the next step, which tells them.
#[derive(Debug, Default)]
struct WrittenRow {
    t: f64,
    values: Vec<f64>,
}

on_tape!(WrittenRow: t, values);

/// Mean forces of the inputs since the last row.
#[derive(Debug, Default)]
struct Acted {
    /// Controls of the present step.
    control: Vec<f64>,
    last: Vec<f64>,
    sum: Vec<f64>,
    steps: f64,
}

on_tape!(Acted: control, last, sum, steps);

impl Acted {
    fn new(inputs: usize) -> Self {
        let zero = || vec![0.0; inputs];
        Self { control: zero(), last: zero(), sum: zero(), steps: 0.0 }
    }

    fn add(&mut self, forces: &[f64]) {
        self.last.copy_from_slice(forces);
        self.sum.iter_mut().zip(forces).for_each(|(sum, force)| *sum += force);
        self.steps += 1.0;
    }

    fn last(&self) -> &[f64] {
        &self.last
    }

    /// The mean, after which it starts anew.
    fn mean(&mut self) -> &[f64] {
        for (last, sum) in self.last.iter_mut().zip(&mut self.sum) {
            *last = std::mem::take(sum) / self.steps;
        }
        self.steps = 0.0;
        &self.last
    }
}

/// Everything that the loop carries from step to step, besides the simulator's state: what a checkpoint has to keep.
#[derive(Debug)]
struct Carried {
    statistics: Statistics,
    monitor: LimitMonitor,
    efforts: EffortMonitor,
    nearness: Option<Nearness>,
    rubbing: RowColumns,
    acted: Acted,
    /// Most iterations since the last row.
    iterations: u32,
    forces: Option<ForceLog>,
    /// The row that waits for its forces.
    waiting: Option<WrittenRow>,
    /// The row that is to be handed over.
    ready: Option<WrittenRow>,
    /// How far closing the loops moved the start, and whether its warm part was dropped.
    moved: f64,
    warm_dropped: bool,
    /// What contacts counted in earlier processes.
    contact: Option<ContactCounts>,
    /// Seconds that earlier processes took.
    wall: f64,
}

on_tape!(
    Carried: statistics, monitor, efforts, nearness, rubbing, acted, iterations, forces, waiting, ready, moved, warm_dropped,
    contact, wall,
);

impl Carried {
    /// What a checkpoint keeps.
    fn save(
        &mut self,
        inputs: &mut Inputs,
        simulator: &mut Simulator<&Mechanism>,
        t: f64,
        begin: Instant,
    ) -> Saved {
        let mut tape = Tape::writer();
        let before = (self.wall, self.contact);
        self.wall += begin.elapsed().as_secs_f64();
        self.contact = self.counted(simulator.contact_counts());
        State { t, ..simulator.checkpoint() }.pass(&mut tape);
        self.pass(&mut tape);
        inputs.pass(&mut tape);
        (self.wall, self.contact) = before;
        Saved { steps: self.statistics.steps, carried: tape.into_bytes() }
    }

    /// What contacts counted in all processes; how the run started is what the first one says.
    fn counted(&self, now: Option<ContactCounts>) -> Option<ContactCounts> {
        let (Some(before), Some(now)) = (self.contact, now) else { return now };
        Some(ContactCounts {
            interval_iterations: before.interval_iterations + now.interval_iterations,
            node_iterations: before.node_iterations + now.node_iterations,
            paths: before.paths + now.paths,
            splits: before.splits + now.splits,
            impacts: before.impacts + now.impacts,
            scaled: before.scaled + now.scaled,
            turns: before.turns + now.turns,
            left_out: before.left_out,
            inside: before.inside,
        })
    }

    /// The row that waited has its forces now.
    fn complete_waiting(&mut self, known: impl FnOnce(&mut ForceLog, f64)) {
        if let (Some(forces), Some(mut row)) = (&mut self.forces, self.waiting.take()) {
            known(forces, row.t);
            row.values.extend_from_slice(&forces.columns);
            self.ready = Some(row);
        }
    }

    /// Takes the row of the present state into `row`.
    fn write_row(
        &mut self,
        mut row: WrittenRow,
        (mechanism, sampler, sensors): (&Mechanism, &mut Sampler<'_>, &mut SensorColumns),
        (state, observed): (&State, &Observables),
        recorded: Recorded<'_>,
    ) {
        row.t = recorded.t;
        row.values.clear();
        row.values.extend_from_slice(sampler.row(state, observed, recorded));
        let RowColumns { codes, forces, drives, .. } = &self.rubbing;
        row.values.extend(codes.iter().chain(forces).chain(drives));
        // The forces of the inputs are columns of the row already.
        let first = 1 + mechanism.nq() + mechanism.nv() + 7 * mechanism.nb() + mechanism.nu();
        let acted = first..first + mechanism.nu();
        let measured = sensors.read(mechanism, row.t, state, &row.values[acted]);
        row.values.extend_from_slice(measured);
        let place = if self.forces.is_some() { &mut self.waiting } else { &mut self.ready };
        *place = Some(row);
    }

    /// Hands the row over that is ready; returns its memory.
    fn hand_over(&mut self, sink: &mut Sink<'_>) -> Result<Option<WrittenRow>, Failure> {
        if let Some(row) = &self.ready {
            sink.push(&row.values)?;
        }
        Ok(self.ready.take())
    }
}

/// What of a state can't be told in numbers, though the state itself can: a body 1e308 m high has no energy.
fn not_finite(observed: &Observables, gap: f64, time: f64) -> Option<StepError> {
    let what = if !observed.total().is_finite() {
        "energy"
    } else if !gap.is_finite() {
        "gap of the loops"
    } else {
        return None;
    };
    Some(StepError::NotFinite { time, what })
}

/// Runs the plan; every `every`-th state goes to the sink, the number of steps taken to `progress`.
///
/// # Errors
/// If the simulation can't start, or a row can't be kept; then the sink has what is needed to go on later.
pub fn run(
    mut plan: Plan<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
    sink: &mut Sink<'_>,
) -> Result<Finished, Failure> {
    let mechanism: &Mechanism = &plan.served.mechanism;
    let begin = Instant::now();
    let saved = plan.resume.take();
    let mut tape = saved.as_deref().map(Tape::reader);
    if let Some(tape) = &mut tape {
        plan.start.pass(tape);
    }
    let mut simulator = Simulator::new(mechanism, plan.served.method, &plan.served.options, &plan.start)
        .map_err(|error| Failure::caused_by("the simulation can't start", &error))?;
    let mut sampler = Sampler::new(mechanism);
    let gap = simulator.gap();
    let observed = sampler.observe(simulator.state());
    if let Some(error) = not_finite(&observed, gap, plan.clock.after(0)) {
        return Err(Failure::caused_by("the simulation can't start", &error));
    }
    let mut carried = Carried {
        statistics: Statistics::new(plan.steps, &observed, gap),
        monitor: LimitMonitor::new(mechanism, plan.watch_limits.is_some(), plan.watch_limits.unwrap_or(0.0)),
        efforts: EffortMonitor::new(mechanism),
        nearness: plan.inputs.player().map(|_| Nearness::default()),
        rubbing: RowColumns::new(mechanism),
        acted: Acted::new(mechanism.nu()),
        iterations: 0,
        forces: plan.forces.take(),
        waiting: None,
        ready: None,
        moved: simulator.moved_at_start(),
        warm_dropped: simulator.warm_start_dropped(),
        contact: None,
        wall: 0.0,
    };
    if let Some(tape) = &mut tape {
        carried.pass(tape);
        plan.inputs.pass(tape);
        if !tape.is_used_up() || simulator.warm_start_dropped() {
            return Err(Failure::new("the checkpoint does not fit this program, or is damaged"));
        }
        sink.replay()?;
    } else {
        let (t, state) = (plan.clock.after(0), simulator.state());
        carried.monitor.look(t, state);
        let u = plan.inputs.at(mechanism, t, state);
        let recorded = Recorded { t, u, gap, ..Recorded::default() };
        let instruments = (mechanism, &mut sampler, &mut plan.sensors);
        carried.write_row(WrittenRow::default(), instruments, (state, &observed), recorded);
    }
    let mut spare = carried.hand_over(sink)?;
    let mut outcome = Outcome::Done;
    for k in carried.statistics.steps..plan.steps {
        if stop.load(Ordering::Relaxed) {
            outcome = Outcome::Interrupted;
            break;
        }
        let u = plan.inputs.at(mechanism, plan.clock.after(k), simulator.state());
        carried.acted.control.copy_from_slice(u);
        let report = match simulator.step(u, plan.clock.step) {
            Ok(report) => report,
            Err(error) => {
                outcome = Outcome::Failed(error);
                break;
            }
        };
        carried.complete_waiting(|forces, t| forces.take(&mut simulator, t));
        let t = plan.clock.after(k + 1);
        carried.rubbing.take(&simulator, plan.clock.step);
        let gap = simulator.gap();
        let work = simulator.input_work();
        carried.acted.add(simulator.input_forces());
        let state = simulator.state();
        let observed = sampler.observe(state);
        carried.statistics.add(&report, &observed, gap);
        carried.statistics.add_work(work, &observed);
        if let Some(error) = not_finite(&observed, gap, t) {
            outcome = Outcome::Failed(error);
            break;
        }
        carried.efforts.look(&carried.acted.control, carried.acted.last());
        carried.monitor.look(t, state);
        if let (Some(near), Some(player)) = (&mut carried.nearness, plan.inputs.player()) {
            near.look(&player.policy, mechanism, t, state);
        }
        carried.iterations = carried.iterations.max(report.iterations);
        if (k + 1).is_multiple_of(plan.every) {
            let u = plan.inputs.at(mechanism, t, state);
            let mut acted = std::mem::take(&mut carried.acted);
            let iterations = std::mem::take(&mut carried.iterations);
            let recorded = Recorded { t, u, acted: acted.mean(), gap, iterations };
            let instruments = (mechanism, &mut sampler, &mut plan.sensors);
            carried.write_row(spare.take().unwrap_or_default(), instruments, (state, &observed), recorded);
            carried.acted = acted;
        }
        match carried.hand_over(sink) {
            Ok(row) => spare = row.or(spare),
            Err(failure) => {
                let saved = carried.save(&mut plan.inputs, &mut simulator, t, begin);
                return Err(sink.rows.rescue(saved, failure));
            }
        }
        if sink.rows.is_due() {
            sink.rows.save(carried.save(&mut plan.inputs, &mut simulator, t, begin))?;
        }
        progress(k + 1);
    }
    let clock = Clock { steps: plan.clock.steps + carried.statistics.steps, ..plan.clock };
    let last = State { t: clock.after(0), ..simulator.checkpoint() };
    let rows = carried.rubbing.at_end(mechanism, &simulator);
    let contact = carried.counted(simulator.contact_counts());
    let wall = begin.elapsed() + Duration::try_from_secs_f64(carried.wall).unwrap_or_default();
    let interrupted = matches!(outcome, Outcome::Interrupted);
    sink.rows.ended(carried.save(&mut plan.inputs, &mut simulator, clock.after(0), begin), interrupted)?;
    // The forces of the last row take one step more, which nothing else sees.
    if carried.waiting.is_some() {
        let u = plan.inputs.at(mechanism, clock.after(0), simulator.state());
        let taken = simulator.step(u, plan.clock.step).is_ok();
        carried.complete_waiting(|forces, t| match taken {
            true => forces.take(&mut simulator, t),
            false => forces.unknown(),
        });
        carried.hand_over(sink).map_err(|failure| sink.rows.give_up(failure))?;
    }
    let Carried { statistics, monitor, efforts, nearness, forces, moved, warm_dropped, .. } = carried;
    let passings = monitor.passings().to_vec();
    Ok(Finished {
        outcome,
        last,
        clock,
        statistics,
        passings,
        efforts,
        nearness,
        forces,
        moved,
        warm_dropped,
        rows,
        contact,
        wall,
    })
}
