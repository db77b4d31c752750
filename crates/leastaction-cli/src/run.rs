//! The loop: step, observe, record; stops at the end, at Ctrl-C, or when a step can't be taken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use leastaction::dynamics::Observables;
use leastaction::integrator::{Simulator, StepError};
use leastaction::io::Clock;
use leastaction::mechanism::{Mechanism, State};
use leastaction::trajectory::{Recorded, Sampler};

use crate::failure::Failure;
use crate::inputs::Inputs;
use crate::limits::{LimitMonitor, Passing};
use crate::policy::Nearness;
use crate::progress::Progress;
use crate::serve::Served;
use crate::statistics::Statistics;

/// What to run.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Mechanism, integrator, options.
    pub(crate) served: &'a Served,
    /// Where to start.
    pub(crate) start: State,
    /// When.
    pub(crate) clock: Clock,
    /// How many steps.
    pub(crate) steps: u64,
    /// A row every so many steps.
    pub(crate) every: u64,
    /// What acts from outside.
    pub(crate) inputs: Inputs,
    /// Whether limits are watched.
    pub(crate) watch_limits: bool,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// All steps were taken.
    Done,
    /// The user stopped it.
    Interrupted,
    /// A step could not be taken.
    Failed(StepError),
}

/// What is left after a run.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) outcome: Outcome,
    /// The last good state, with what the integrator continues from.
    pub(crate) last: State,
    /// Its time.
    pub(crate) clock: Clock,
    pub(crate) statistics: Statistics,
    pub(crate) passings: Vec<Passing>,
    /// How near the goal of a policy it came.
    pub(crate) nearness: Option<Nearness>,
    /// Time the loop took.
    pub(crate) wall: Duration,
}

/// One row and what belongs to it.
#[derive(Debug)]
pub(crate) struct Sample<'a> {
    /// All columns.
    pub(crate) row: &'a [f64],
    /// Poses of all bodies.
    pub(crate) poses: &'a [f64],
    /// Time.
    pub(crate) t: f64,
    /// The state.
    pub(crate) state: &'a State,
    /// Energies and momenta.
    pub(crate) observed: &'a Observables,
    /// Largest gap.
    pub(crate) gap: f64,
    /// Most iterations since the last row.
    pub(crate) iterations: u32,
}

/// Runs the plan; every `every`-th state goes to `record`.
pub(crate) fn run(
    mut plan: Plan<'_>,
    stop: &AtomicBool,
    progress: &Progress,
    mut record: impl FnMut(&Sample<'_>) -> Result<(), Failure>,
) -> Result<Finished, Failure> {
    let mechanism: &Mechanism = &plan.served.mechanism;
    let mut simulator = Simulator::new(mechanism, plan.served.method, &plan.served.options, &plan.start)
        .map_err(|error| Failure::caused_by("the simulation can't start", &error))?;
    let mut sampler = Sampler::new(mechanism);
    let mut monitor = LimitMonitor::new(mechanism, plan.watch_limits);
    let begin = Instant::now();

    let gap = simulator.gap();
    let observed = sampler.observe(simulator.state());
    let mut statistics = Statistics::new(plan.steps, &observed, gap);
    let mut iterations = 0;
    let mut record_state =
        |sampler: &mut Sampler<'_>, state: &State, observed: &Observables, t, u: &[f64], gap, iterations| {
            sampler.row(state, observed, Recorded { t, u, gap, iterations });
            let (row, poses) = (sampler.last_row(), sampler.poses());
            record(&Sample { row, poses, t, state, observed, gap, iterations })
        };

    let t = plan.clock.after(0);
    monitor.look(t, simulator.state());
    let mut nearness = plan.inputs.player().map(|_| Nearness::new());
    let state = simulator.state();
    record_state(&mut sampler, state, &observed, t, plan.inputs.at(mechanism, t, state), gap, 0)?;
    let mut outcome = Outcome::Done;
    for k in 0..plan.steps {
        if stop.load(Ordering::Relaxed) {
            outcome = Outcome::Interrupted;
            break;
        }
        let u = plan.inputs.at(mechanism, plan.clock.after(k), simulator.state());
        let report = match simulator.step(u, plan.clock.step) {
            Ok(report) => report,
            Err(error) => {
                outcome = Outcome::Failed(error);
                break;
            }
        };
        let t = plan.clock.after(k + 1);
        let gap = simulator.gap();
        let state = simulator.state();
        let observed = sampler.observe(state);
        statistics.add(&report, &observed, gap);
        monitor.look(t, state);
        if let (Some(near), Some(player)) = (&mut nearness, plan.inputs.player()) {
            near.look(&player.policy, mechanism, t, state);
        }
        iterations = iterations.max(report.iterations);
        if (k + 1).is_multiple_of(plan.every) {
            let u = plan.inputs.at(mechanism, t, state);
            record_state(&mut sampler, state, &observed, t, u, gap, iterations)?;
            iterations = 0;
        }
        progress.at(k + 1);
    }
    let clock = Clock { steps: plan.clock.steps + statistics.steps, ..plan.clock };
    let last = State { t: clock.after(0), ..simulator.checkpoint() };
    let passings = monitor.passings().to_vec();
    Ok(Finished { outcome, last, clock, statistics, passings, nearness, wall: begin.elapsed() })
}
