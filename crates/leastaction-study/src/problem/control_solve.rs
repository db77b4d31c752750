//! Finds the inputs of a control problem, their feedback, and how both fare on another integrator.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use leastaction::control::{
    ControlError, ControlProblem, ControlProgress, ControlSolution, Costs, Hold, MaximalPlant, MinimalPlant,
    POLICY_SCHEMA, Path as Motion, Plant, Policy, PolicyEnd, Regulator, Stoppable, equilibrium_input,
    regulate, solve_control, track,
};
use leastaction::integrator::maximal::{ContactDerivative, Maximal};
use leastaction::integrator::{Method, MethodOptions};
use leastaction::mechanism::{JointRole, State};
use leastaction::optimize::{SolveStatus, Wish};
use serde_json::{Value, json};

use super::control_file::ControlFile;
use crate::failure::{CHECK_FAILED, COULD_NOT_RUN, DONE, Failure, INTERRUPTED};
use crate::policy::{self, HOLD_SECONDS, Nearness};

/// A plan that ends farther from its goal than this, in rad, m, rad/s or m/s, has not reached it.
const FAR: f64 = 0.05;

/// A replay that stays within this of its goal, in rad, m, rad/s or m/s, reaches and holds it.
const NEAR: f64 = 2e-2;

/// How a search ended, in the user's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlOutcome {
    /// Optimal, and at the goal if there is one.
    Solved,
    /// Reaches its goal and holds it, at a cost that may not be the least.
    Reached,
    /// Optimal for its costs, but not at its goal.
    Missed,
    /// Neither optimal nor at a goal.
    NotSolved,
    /// Stopped by the user.
    Interrupted,
}

impl ControlOutcome {
    /// In files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Solved => "solved",
            Self::Reached => "reached",
            Self::Missed => "missed",
            Self::NotSolved => "not solved",
            Self::Interrupted => "interrupted",
        }
    }

    /// Exit code: the same for the same outcome of any verb.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Solved | Self::Reached => DONE,
            Self::Missed => CHECK_FAILED,
            Self::NotSolved => COULD_NOT_RUN,
            Self::Interrupted => INTERRUPTED,
        }
    }
}

/// What a search came to.
pub fn outcome(file: &ControlFile, found: &Found) -> ControlOutcome {
    let optimal = matches!(found.solution.status, SolveStatus::Solved | SolveStatus::AlmostSolved);
    let far = file.goal.is_some() && !within(found.planned, FAR);
    let held = found.feedback.is_some_and(|near| {
        near.reached && within((near.position, near.velocity), NEAR) && within(near.worst_after, NEAR)
    });
    match (optimal, far) {
        _ if found.solution.status == SolveStatus::Interrupted => ControlOutcome::Interrupted,
        (true, false) => ControlOutcome::Solved,
        (true, true) => ControlOutcome::Missed,
        (false, _) if file.goal.is_some() && held && within(found.planned, NEAR) => ControlOutcome::Reached,
        _ => ControlOutcome::NotSolved,
    }
}

fn within((position, velocity): (f64, f64), bound: f64) -> bool {
    position <= bound && velocity <= bound
}

/// What was reached, what is left, what to change: one sentence.
pub fn verdict(file: &ControlFile, found: &Found) -> String {
    let s = &found.solution;
    let left = format!("the next step promises {:.1e} of the cost less", s.residual * s.residual);
    let ran_out = s.status == SolveStatus::MaxIterations;
    let remedy = if ran_out {
        format!("raise `max_iterations` above {} in [solver]", file.options.max_iterations)
    } else {
        "the search can't go on from here: give another first guess, a shorter step, or `curvature = true`"
            .to_owned()
    };
    match outcome(file, found) {
        ControlOutcome::Solved => s.status.describe().to_owned(),
        ControlOutcome::Interrupted => s.status.describe().to_owned(),
        ControlOutcome::Reached => {
            format!("reaches its goal and holds it; its cost is not yet the least: {left}; for that {remedy}")
        }
        ControlOutcome::Missed => format!(
            "the least cost of its terms is away from the goal: the motion ends {:.2e} rad or m and {:.2e} rad/s or m/s from it; \
             raise the weights at the end, widen the limits of the inputs, or give more time",
            found.planned.0, found.planned.1
        ),
        ControlOutcome::NotSolved => {
            let how = if ran_out { "the iterations ran out" } else { "no step lowers the cost any more" };
            format!("not solved: {how}, and {left}; {remedy}")
        }
    }
}

/// What was found and how it fares.
pub struct Found {
    /// States, inputs, history.
    pub solution: ControlSolution,
    /// The plan with its feedback, as it is written.
    pub policy: Policy,
    /// The regulator, or why there is none.
    pub hold: Result<Regulator, ControlError>,
    /// Distance of the plan's end from the goal: positions, velocities.
    pub planned: (f64, f64),
    /// Replayed by Runge and Kutta at a tenth of the step, with feedback and without.
    pub feedback: Option<Nearness>,
    /// Configurations of that replay at the steps of the plan, as far as it went.
    pub replayed: Vec<Vec<f64>>,
    /// The same without feedback.
    pub open_loop: Option<Nearness>,
    /// Seconds of every iteration.
    pub times: Vec<f64>,
    /// What each term costs.
    pub term_costs: Vec<f64>,
    /// Seconds of the search.
    pub seconds: f64,
}

/// Who may stop a search, and what he wants then.
#[derive(Clone, Copy, Debug)]
pub struct Stop<'a> {
    /// Set when no more is wanted: the search ends within a step of a sweep.
    pub flag: &'a AtomicBool,
    /// True if the plan is wanted at once, without the feedback and the replays that could still be made for it.
    pub at_once: bool,
}

/// Solves the problem with the engine it names; `observe` sees every iteration and its seconds.
pub fn solve(
    file: &ControlFile,
    stop: Stop<'_>,
    observe: &mut dyn FnMut(&ControlProgress, f64) -> Wish,
) -> Result<Found, Failure> {
    let fail = |error| Failure::from_error(&error);
    if file.method == Method::Minimal {
        let mut plant = MinimalPlant::new(&file.mechanism, file.order, file.step).map_err(fail)?;
        return solve_on(file, &mut plant, stop, observe);
    }
    refuse_for_loops(file)?;
    let mut engine = Maximal::default();
    if file.touches() {
        engine.contact_derivative = ContactDerivative::Relaxed { speed: file.relaxed };
    }
    let mut plant = MaximalPlant::with_engine(&file.mechanism, engine, file.step).map_err(fail)?;
    solve_on(file, &mut plant, stop, observe)
}

fn solve_on<P: Plant>(
    file: &ControlFile,
    plant: &mut P,
    stop: Stop<'_>,
    watch: &mut dyn FnMut(&ControlProgress, f64) -> Wish,
) -> Result<Found, Failure> {
    let begin = Instant::now();
    let fail = |error: ControlError| Failure::from_error(&error);
    let nu = plant.nu();
    // The inputs that hold the goal, where costs or the first guess ask for them.
    let zeros = vec![0.0; nu];
    let held = file.goal.as_ref().map(|goal| equilibrium_input(plant, goal, &zeros));
    let wants_hold = file.terms.iter().any(|draft| draft.about_hold);
    let held = match held {
        Some(Ok(held)) => Some(held),
        Some(Err(error)) if wants_hold => {
            return Err(Failure::caused_by(
                "the goal can't be held, but a term's reference is \"hold\"",
                &error,
            )
            .help("give `reference` in numbers, or a goal at rest"));
        }
        _ => None,
    };
    check_hold(file, held.as_deref())?;
    let mut costs = Costs::new(&file.mechanism, file.terms(held.as_deref()), file.step).map_err(fail)?;
    let mut stoppable = Stoppable::new(plant, stop.flag);
    let guess = first_guess(file, &mut stoppable, held.as_deref())?;
    let problem = ControlProblem {
        start: file.start.clone(),
        steps: file.steps,
        lower: file.lower.clone(),
        upper: file.upper.clone(),
    };
    let mut times = Vec::new();
    let mut since = Instant::now();
    let mut observe = |p: &ControlProgress| {
        let seconds = since.elapsed().as_secs_f64();
        times.push(seconds);
        let wish = watch(p, seconds);
        since = Instant::now();
        wish
    };
    let solution = solve_control(&mut stoppable, &mut costs, &problem, guess, &file.options, &mut observe)
        .map_err(fail)?;
    let at_once = stop.at_once && solution.status == SolveStatus::Interrupted;
    let seconds = begin.elapsed().as_secs_f64();
    let last = solution.path.states.last().cloned().unwrap_or_default();
    let goal = file.goal.clone().unwrap_or_else(|| State { v: vec![0.0; last.v.len()], ..last.clone() });
    let tracking = &file.tracking;
    let first = held.unwrap_or_else(|| solution.path.u(file.steps - 1).to_vec());
    let hold = match at_once {
        true => Err(ControlError::Stopped),
        false => regulate(plant, &goal, &first, &tracking.state, &tracking.input),
    };
    let nx = plant.nx();
    let end = match &hold {
        Ok(hold) => hold.riccati.p.clone(),
        Err(_) => {
            (0..nx * nx).map(|i| if i % (nx + 1) == 0 { tracking.state[i / nx] } else { 0.0 }).collect()
        }
    };
    let gains = match at_once {
        true => vec![vec![0.0; nu * nx]; file.steps],
        false => track(plant, &solution.path, tracking, &end).map_err(fail)?,
    };
    let policy = make_policy(file, &solution, &gains, &goal, hold.as_ref().ok());
    let planned = policy.distance(&file.mechanism, &last);
    let (method, fine) = (replay_method(file), 0.1 * file.step);
    let options = MethodOptions::default();
    // What the replay with feedback did at the steps of the plan, to be drawn beside it.
    let mut replayed = Vec::new();
    let mut see = |t: f64, state: &State| {
        if (t / file.step - replayed.len() as f64).abs() < 1e-6 && replayed.len() <= file.steps {
            replayed.push(state.q.clone());
        }
    };
    let replay = |feedback: bool, after: f64, see: &mut dyn FnMut(f64, &State)| {
        if at_once {
            return None;
        }
        policy::replay_seen(&policy, &file.mechanism, (method, &options), fine, after, feedback, see).ok()
    };
    let feedback = replay(true, HOLD_SECONDS, &mut see);
    let open_loop = replay(false, 0.0, &mut |_, _| {});
    let term_costs = costs.totals(&solution.path);
    Ok(Found { solution, policy, hold, planned, feedback, replayed, open_loop, times, term_costs, seconds })
}

/// What needs states beside those of a motion: with loops there are none.
fn refuse_for_loops(file: &ControlFile) -> Result<(), Failure> {
    for (asked, key) in [(file.options.curvature, "curvature"), (file.guess.line, "states = \"line\"")] {
        if asked {
            return Err(Failure::new(format!(
                "`{key}` is for the minimal integrator: it leaves the poses that close loops"
            ))
            .help("leave it out"));
        }
    }
    Ok(())
}

/// Refuses a goal that takes more input than there is.
fn check_hold(file: &ControlFile, held: Option<&[f64]>) -> Result<(), Failure> {
    for (i, u) in held.unwrap_or_default().iter().enumerate() {
        if *u < file.lower[i] || *u > file.upper[i] {
            return Err(Failure::new(format!(
                "holding the goal takes {u:.6} of input `{}`, outside its limits {} to {}",
                file.mechanism.inputs()[i],
                file.lower[i],
                file.upper[i]
            ))
            .help("widen `[limits] input`, or give a goal that takes less"));
        }
    }
    Ok(())
}

/// Constant inputs (those that hold the goal unless told otherwise), a swing, and states that follow or do not.
fn first_guess<P: Plant>(file: &ControlFile, plant: &mut P, held: Option<&[f64]>) -> Result<Motion, Failure> {
    let (nu, n, h) = (plant.nu(), file.steps, file.step);
    let zeros = vec![0.0; nu];
    // Without a goal to hold, a mechanism at rest is held where it is rather than let fall.
    let resting = file.goal.is_none() && file.start.v.iter().all(|v| *v == 0.0);
    let constant = file
        .guess
        .inputs
        .clone()
        .or(held.map(<[f64]>::to_vec))
        .or_else(|| equilibrium_input(plant, &file.start, &zeros).ok().filter(|_| resting))
        .unwrap_or(zeros);
    let mut inputs = Vec::with_capacity(n * nu);
    for k in 0..n {
        for (i, u) in constant.iter().enumerate() {
            let swing = file.guess.swing.as_ref().map_or(0.0, |(amplitude, period)| {
                amplitude[i] * (2.0 * std::f64::consts::PI * (k as f64 + 0.5) * h / period).sin()
            });
            inputs.push((u + swing).clamp(file.lower[i], file.upper[i]));
        }
    }
    let rolled = match (&file.goal, file.guess.springs) {
        (Some(goal), Some(springs)) => drawn(file, plant, goal, springs, inputs.clone()),
        _ => Motion::roll_out(plant, &file.start, inputs.clone()),
    };
    match (&file.goal, file.guess.line) {
        (Some(goal), true) => {
            let mut tangent = vec![0.0; plant.nx()];
            plant.difference(&file.start, goal, &mut tangent);
            let states = (0..=n)
                .map(|k| {
                    let part: Vec<f64> = tangent.iter().map(|x| x * k as f64 / n as f64).collect();
                    let mut state = file.start.clone();
                    plant.retract(&file.start, &part, &mut state);
                    state.t = k as f64 * h;
                    state
                })
                .collect();
            Ok(Motion { states, inputs })
        }
        _ => rolled.map_err(|error| {
            if error == ControlError::Stopped {
                return Failure { code: INTERRUPTED, ..Failure::from_error(&error) };
            }
            Failure::caused_by("the first guess can't be rolled out", &error)
                .help("give a shorter `step`, or other inputs in `guess`")
        }),
    }
}

/// Rolls out inputs and what springs and dampers add to them that draw their coordinates along a smooth way from start to goal.
fn drawn<P: Plant>(
    file: &ControlFile,
    plant: &mut P,
    goal: &State,
    (stiffness, damping): (f64, f64),
    mut inputs: Vec<f64>,
) -> Result<Motion, ControlError> {
    let (nv, nu) = (file.mechanism.nv(), plant.nu());
    let (mut way, mut gone, mut away) = (vec![0.0; 2 * nv], vec![0.0; 2 * nv], vec![0.0; 2 * nv]);
    plant.difference(&file.start, goal, &mut way);
    let duration = file.steps as f64 * file.step;
    let mut states = vec![file.start.clone()];
    for (k, u) in inputs.chunks_mut(nu).enumerate() {
        if plant.stopped() {
            return Err(ControlError::Stopped);
        }
        let x = &states[k];
        plant.difference(&file.start, x, &mut gone);
        let s = k as f64 / file.steps as f64;
        let (part, rate) = (s * s * (3.0 - 2.0 * s), 6.0 * s * (1.0 - s) / duration);
        for c in 0..nv {
            away[c] = gone[c] - part * way[c];
            away[nv + c] = gone[nv + c] - part * way[nv + c] - rate * way[c];
        }
        for joint in file.mechanism.joints().iter().filter(|joint| joint.role == JointRole::Tree) {
            for actuator in &joint.actuators {
                let c = joint.v + actuator.coordinate;
                u[actuator.input] -= (stiffness * away[c] + damping * away[nv + c]) / actuator.gear;
            }
        }
        for (i, u) in u.iter_mut().enumerate() {
            *u = u.clamp(file.lower[i], file.upper[i]);
        }
        let mut next = x.clone();
        plant.step(x, u, &mut next)?;
        next.t = x.t + file.step;
        states.push(next);
    }
    Ok(Motion { states, inputs })
}

fn make_policy(
    file: &ControlFile,
    solution: &ControlSolution,
    gains: &[Vec<f64>],
    goal: &State,
    hold: Option<&Regulator>,
) -> Policy {
    let mechanism = &file.mechanism;
    let nx = 2 * mechanism.nv();
    let rows = |gain: &[f64]| gain.chunks(nx.max(1)).map(<[f64]>::to_vec).collect::<Vec<_>>();
    let limit = |values: &[f64]| values.iter().map(|x| x.is_finite().then_some(*x)).collect();
    let path = &solution.path;
    let steps = (0..path.steps())
        .map(|k| Hold {
            q: path.states[k].q.clone(),
            v: path.states[k].v.clone(),
            u: path.u(k).to_vec(),
            gain: rows(&gains[k]),
        })
        .collect();
    let last = path.states.last().cloned().unwrap_or_default();
    Policy {
        schema: POLICY_SCHEMA.into(),
        model: mechanism.name().to_owned(),
        model_hash: file.model_hash.clone(),
        step: file.step,
        motors: file.motors.clone(),
        inputs: mechanism.inputs().to_vec(),
        q_labels: mechanism.q_labels(),
        v_labels: mechanism.v_labels(),
        lower: limit(&file.lower),
        upper: limit(&file.upper),
        steps,
        end: PolicyEnd { q: last.q, v: last.v, goal_q: goal.q.clone(), goal_v: goal.v.clone() },
        hold: hold.map(|hold| Hold {
            q: hold.state.q.clone(),
            v: hold.state.v.clone(),
            u: hold.input.clone(),
            gain: rows(&hold.riccati.gain),
        }),
    }
}

/// Another integrator than the plan's, where there is one that supports the mechanism.
pub fn replay_method(file: &ControlFile) -> Method {
    if file.method == Method::Minimal { Method::Rk4 } else { file.method }
}

/// Seconds of every iteration in rising order: an iteration may have several lines, one more each time the barrier is lowered.
pub fn iteration_times(found: &Found) -> Vec<f64> {
    let mut sums = vec![0.0; found.solution.iterations + 1];
    for (progress, seconds) in found.solution.history.iter().zip(&found.times) {
        sums[progress.iteration] += seconds;
    }
    // What comes before the first step is no iteration.
    let mut sorted = sums.split_off(1);
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Median of the iterations' times.
pub fn median_time(found: &Found) -> f64 {
    let sorted = iteration_times(found);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

/// Steps at which an input is at its limit.
pub fn at_limit(file: &ControlFile, path: &Motion) -> usize {
    (0..path.steps())
        .filter(|k| path.u(*k).iter().enumerate().any(|(i, u)| *u <= file.lower[i] || *u >= file.upper[i]))
        .count()
}

/// One word for machines: that of the search where its goal is reached, else what became of the goal.
fn status(file: &ControlFile, found: &Found) -> String {
    match outcome(file, found) {
        ControlOutcome::Missed => "Missed".into(),
        ControlOutcome::Reached => "Reached".into(),
        _ => format!("{:?}", found.solution.status),
    }
}

/// For machines: everything that was found.
pub fn to_json(file: &ControlFile, found: &Found) -> Value {
    let s = &found.solution;
    json!({
        "schema": "leastaction/control-solution/1",
        "problem": file.name,
        "model": file.mechanism.name(),
        "status": status(file, found),
        "outcome": outcome(file, found).name(),
        "verdict": verdict(file, found),
        "iterations": s.iterations,
        "objective": s.objective,
        "residual": s.residual,
        "terms": file.terms.iter().zip(&found.term_costs).map(|(t, c)| json!({"name": t.name, "cost": c})).collect::<Vec<_>>(),
        "gap": s.gap,
        "wall_time": found.seconds,
        "iteration_time": {
            "median": median_time(found),
            "least": iteration_times(found).first(),
            "most": iteration_times(found).last(),
        },
        "steps": file.steps,
        "step": file.step,
        "integrator": format!("{} (order {})", file.method.name(), file.order),
        "steps_at_a_limit": at_limit(file, &s.path),
        "end": {"position": found.planned.0, "velocity": found.planned.1},
        "replay": {
            "integrator": replay_method(file).name(),
            "step": 0.1 * file.step,
            "feedback": found.feedback.map(Nearness::to_json),
            "open_loop": found.open_loop.map(Nearness::to_json),
        },
        "hold": match &found.hold {
            Ok(hold) => json!({
                "input": hold.input,
                "riccati_residual": hold.riccati.residual,
                "decay_per_step": hold.riccati.radius,
            }),
            Err(error) => json!({"none": error.to_string()}),
        },
        "ignored": file.ignored,
        "contact": file.touches().then(|| json!({ "derivative": "relaxed", "speed": file.relaxed })),
        "inputs": (0..s.path.steps()).map(|k| json!(s.path.u(k))).collect::<Vec<_>>(),
        "history": s.history.iter().zip(&found.times).map(|(p, t)| json!({
            "iteration": p.iteration,
            "objective": p.objective,
            "residual": p.residual,
            "barrier": p.barrier,
            "gap": p.gap,
            "step": p.step,
            "shift": p.shift,
            "seconds": t,
        })).collect::<Vec<_>>(),
    })
}
