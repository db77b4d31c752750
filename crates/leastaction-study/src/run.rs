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
use crate::policy::Nearness;
use crate::rows::{RowColumns, RowsAtEnd};
use crate::serve::Served;
use crate::statistics::Statistics;

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

/// One row and what belongs to it.
#[derive(Debug)]
pub struct Sample<'a> {
    /// All columns.
    pub row: &'a [f64],
    /// Poses of all bodies.
    pub poses: &'a [f64],
    /// Time.
    pub t: f64,
    /// The state.
    pub state: &'a State,
    /// Energies and momenta.
    pub observed: &'a Observables,
    /// Largest gap.
    pub gap: f64,
    /// Most iterations since the last row.
    pub iterations: u32,
    /// Sizes of the constraint forces, if asked for.
    pub forces: &'a [f64],
    /// Mean forces of friction and limits over the last step.
    pub friction: &'a [f64],
}

/// A row that waits for its forces: they are known once the step from it is taken.
#[derive(Debug, Default)]
struct Waiting {
    row: Vec<f64>,
    poses: Vec<f64>,
    t: f64,
    state: State,
    observed: Observables,
    gap: f64,
    iterations: u32,
    friction: Vec<f64>,
}

impl Waiting {
    /// The sample with the forces in place.
    fn sample<'a>(&'a mut self, forces: &'a ForceLog) -> Sample<'a> {
        self.row.extend_from_slice(&forces.columns);
        Sample {
            row: &self.row,
            poses: &self.poses,
            t: self.t,
            state: &self.state,
            observed: &self.observed,
            gap: self.gap,
            iterations: self.iterations,
            forces: &forces.sizes,
            friction: &self.friction,
        }
    }
}

/// Mean forces of the inputs since the last row.
#[derive(Debug)]
struct Acted {
    /// Controls of the present step.
    control: Vec<f64>,
    last: Vec<f64>,
    sum: Vec<f64>,
    steps: f64,
}

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

/// Runs the plan; every `every`-th state goes to `record`, the number of steps taken to `progress`.
pub fn run(
    mut plan: Plan<'_>,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
    mut record: impl FnMut(&Sample<'_>) -> Result<(), Failure>,
) -> Result<Finished, Failure> {
    let mechanism: &Mechanism = &plan.served.mechanism;
    let mut simulator = Simulator::new(mechanism, plan.served.method, &plan.served.options, &plan.start)
        .map_err(|error| Failure::caused_by("the simulation can't start", &error))?;
    let mut sampler = Sampler::new(mechanism);
    let mut monitor =
        LimitMonitor::new(mechanism, plan.watch_limits.is_some(), plan.watch_limits.unwrap_or(0.0));
    let mut efforts = EffortMonitor::new(mechanism);
    let begin = Instant::now();

    let gap = simulator.gap();
    let observed = sampler.observe(simulator.state());
    let mut statistics = Statistics::new(plan.steps, &observed, gap);
    let mut iterations = 0;
    let (moved, warm_dropped) = (simulator.moved_at_start(), simulator.warm_start_dropped());
    let mut forces = plan.forces.take();
    let with_forces = forces.is_some();
    let mut waiting: Option<Waiting> = None;
    let (mut columns, mut rubbing) = (Vec::new(), RowColumns::new(mechanism));
    let mut record_state =
        |sampler: &mut Sampler<'_>,
         rubbing: &RowColumns,
         state: &State,
         observed: &Observables,
         t,
         u: &[f64],
         acted: &[f64],
         gap,
         iterations,
         record: &mut dyn FnMut(&Sample<'_>) -> Result<(), Failure>| {
            sampler.row(state, observed, Recorded { t, u, acted, gap, iterations });
            columns.clear();
            columns.extend_from_slice(sampler.last_row());
            columns.extend(rubbing.codes.iter().chain(&rubbing.forces));
            let (row, poses, friction) = (&columns[..], sampler.poses(), &rubbing.forces[..]);
            if with_forces {
                let (row, poses, state) = (row.to_vec(), poses.to_vec(), state.clone());
                let (observed, friction) = (*observed, friction.to_vec());
                return Ok(Some(Waiting { row, poses, t, state, observed, gap, iterations, friction }));
            }
            record(&Sample { row, poses, t, state, observed, gap, iterations, forces: &[], friction })
                .map(|()| None)
        };

    let t = plan.clock.after(0);
    monitor.look(t, simulator.state());
    let mut nearness = plan.inputs.player().map(|_| Nearness::default());
    let state = simulator.state();
    let u = plan.inputs.at(mechanism, t, state);
    let mut acted = Acted::new(mechanism.nu());
    waiting =
        record_state(&mut sampler, &rubbing, state, &observed, t, u, &[], gap, 0, &mut record)?.or(waiting);
    let mut outcome = Outcome::Done;
    for k in 0..plan.steps {
        if stop.load(Ordering::Relaxed) {
            outcome = Outcome::Interrupted;
            break;
        }
        let u = plan.inputs.at(mechanism, plan.clock.after(k), simulator.state());
        acted.control.copy_from_slice(u);
        let report = match simulator.step(u, plan.clock.step) {
            Ok(report) => report,
            Err(error) => {
                outcome = Outcome::Failed(error);
                break;
            }
        };
        if let (Some(forces), Some(mut row)) = (&mut forces, waiting.take()) {
            forces.take(&mut simulator, row.t);
            record(&row.sample(forces))?;
        }
        let t = plan.clock.after(k + 1);
        rubbing.take(&simulator, plan.clock.step);
        let gap = simulator.gap();
        let work = simulator.input_work();
        acted.add(simulator.input_forces());
        let state = simulator.state();
        let observed = sampler.observe(state);
        statistics.add(&report, &observed, gap);
        statistics.add_work(work, &observed);
        efforts.look(&acted.control, acted.last());
        monitor.look(t, state);
        if let (Some(near), Some(player)) = (&mut nearness, plan.inputs.player()) {
            near.look(&player.policy, mechanism, t, state);
        }
        iterations = iterations.max(report.iterations);
        if (k + 1).is_multiple_of(plan.every) {
            let u = plan.inputs.at(mechanism, t, state);
            let mean = acted.mean();
            waiting = record_state(
                &mut sampler,
                &rubbing,
                state,
                &observed,
                t,
                u,
                mean,
                gap,
                iterations,
                &mut record,
            )?;
            iterations = 0;
        }
        progress(k + 1);
    }
    let clock = Clock { steps: plan.clock.steps + statistics.steps, ..plan.clock };
    let last = State { t: clock.after(0), ..simulator.checkpoint() };
    let rows = rubbing.at_end(mechanism, &simulator);
    let passings = monitor.passings().to_vec();
    let contact = simulator.contact_counts();
    let wall = begin.elapsed();
    // The forces of the last row take one step more, which nothing else sees.
    if let (Some(forces), Some(mut row)) = (&mut forces, waiting.take()) {
        let u = plan.inputs.at(mechanism, clock.after(0), simulator.state());
        match simulator.step(u, plan.clock.step) {
            Ok(_) => forces.take(&mut simulator, row.t),
            Err(_) => forces.unknown(),
        }
        record(&row.sample(forces))?;
    }
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
