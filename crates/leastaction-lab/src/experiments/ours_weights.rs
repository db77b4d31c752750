//! Weights recovered from motions: inside the simplex, on its edges and at its corners, exact and noisy.

use super::ishigaki_6::panda;
use super::measure::build;
use super::reach::arm3;
use super::{Check, Context, Experiment, Outcome, Table};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, ModelDescription, Placement, WORLD,
};
use leastaction::optimize::{
    BilevelOptions, BoundaryState, ControlPoints, InverseOptions, MotionProblem, Observation, Sampling,
    SolveOptions, SolveStatus, Term, Transcription, Wish, infer, infer_noisy, solve,
};
use leastaction_study::failure::Failure;
use serde_json::json;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-weights",
    source: "ours",
    statement: "Weights come back from motions on the whole closed simplex: exactly from exact motions, with error bars that \
                are true from noisy ones, zeros and corners included.",
    parameters: "Reaches of 1 s, 16 control points of degree 5, 6 Gauss points per interval, of arms with 2, 3 and 7 joints and \
                 of one with a ball; 2 to 6 of the terms joint velocity, acceleration and jerk, torque, torque rate and link \
                 velocity, each measured in its value for the quintic profile. 200 random weight vectors, 60 of them with \
                 zeros and 20 with a single term; noise of 1e-4 and 1e-3 rad on 101 samples, 2,000 draws.",
    run,
};

const TERMS: [&str; 6] =
    ["joint_velocity", "joint_acceleration", "joint_jerk", "torque", "torque_rate", "link_velocity"];
const CONTROL: usize = 16;
const SAMPLES: usize = 101;

/// A chain of hinges about changing axes, its first joint a ball if asked for.
fn arm(name: &str, hinges: usize, ball: bool) -> Result<Mechanism, Failure> {
    let mut model = ModelDescription::new(name);
    let mut parent = WORLD.to_owned();
    for i in 0..hinges + usize::from(ball) {
        let link = format!("link{i}");
        model.bodies.push(BodyDescription {
            name: link.clone(),
            mass: 2.0 - 0.5 * i as f64,
            com: [0.15, 0.0, 0.0],
            inertia: [0.004, 0.02, 0.02, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        let is_ball = ball && i == 0;
        let kind = if is_ball { JointType::Spherical } else { JointType::Revolute };
        model.joints.push(JointDescription {
            parent_placement: Placement::at(if i == 0 { [0.0; 3] } else { [0.3, 0.0, 0.0] }),
            axis: (!is_ball).then_some([0.0, 1.0, 0.0]),
            ..JointDescription::new(format!("joint{i}"), kind, &parent, &link)
        });
        parent = link;
    }
    build(model)
}

/// A reach of moderate size, ball joints turned about a tilted axis.
fn ends(mechanism: &Mechanism) -> (Vec<f64>, Vec<f64>) {
    let (mut start, mut end) = (vec![0.0; mechanism.nq()], vec![0.0; mechanism.nq()]);
    for (k, id) in mechanism.tree_joints().enumerate() {
        let at = mechanism.q_range(id);
        if at.len() == 4 {
            start[at.start] = 1.0;
            let half = 0.45f64;
            end[at.start] = half.cos();
            end[at.start + 1] = 0.6 * half.sin();
            end[at.start + 2] = -0.8 * half.sin();
        } else {
            start[at.start] = 0.4 - 0.15 * k as f64;
            end[at.start] = -0.5 + 0.25 * k as f64;
        }
    }
    (start, end)
}

/// A problem with terms measured in their values for the profile.
fn problem(mechanism: &Mechanism, names: &[&str]) -> Result<MotionProblem, Failure> {
    let (start, end) = ends(mechanism);
    let rest = vec![0.0; mechanism.nv()];
    let terms: Option<Vec<Term>> = names.iter().map(|name| Term::by_name(name, mechanism, 1.0)).collect();
    let mut problem = MotionProblem {
        duration: 1.0,
        degree: 5,
        n_control: CONTROL,
        sampling: Sampling::Gauss { points: 6 },
        start: BoundaryState { derivatives: vec![start, rest.clone()] },
        end: BoundaryState { derivatives: vec![end, rest] },
        terms: terms.ok_or_else(|| Failure::new("a cost term of the experiment has no such name"))?,
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    };
    let mut tr = transcription(mechanism, &problem)?;
    let theta = tr.initial_control_points();
    let mut point = Default::default();
    tr.evaluate(&theta, &mut point);
    let costs = tr.term_costs(&point, &theta);
    for (t, cost) in costs.iter().enumerate() {
        problem.terms[t].metric = vec![1.0 / cost; tr.term_row_count(t)];
    }
    Ok(problem)
}

fn transcription(mechanism: &Mechanism, problem: &MotionProblem) -> Result<Transcription, Failure> {
    Transcription::with_jets(mechanism, problem).map_err(|error| Failure::from_error(&error))
}

/// What kind of weights a case has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Inside,
    Edge,
    Corner,
}

/// Uniform on the simplex, on a face of it, or a corner.
fn weights(random: &mut Random, count: usize, place: Place) -> Vec<f64> {
    let mut w: Vec<f64> = (0..count).map(|_| -random.range(1e-12, 1.0).ln()).collect();
    let pick = |random: &mut Random| (random.range(0.0, count as f64) as usize).min(count - 1);
    match place {
        Place::Inside => {}
        Place::Edge => {
            let zeros =
                1 + (random.range(0.0, (count - 2).max(1) as f64) as usize).min(count.saturating_sub(3));
            for _ in 0..zeros {
                w[pick(random)] = 0.0;
            }
            if w.iter().all(|w| *w == 0.0) {
                w[0] = 1.0;
            }
        }
        Place::Corner => {
            let only = pick(random);
            w.iter_mut().enumerate().for_each(|(t, w)| *w = f64::from(u8::from(t == only)));
        }
    }
    let sum: f64 = w.iter().sum();
    w.iter().map(|w| w / sum).collect()
}

/// Counts of intervals that hold the truth.
#[derive(Default)]
struct Coverage {
    of_sigma: f64,
    of_interval: f64,
    all: f64,
}

impl Coverage {
    fn sigma(&self) -> f64 {
        self.of_sigma / self.all.max(1.0)
    }
    fn interval(&self) -> f64 {
        self.of_interval / self.all.max(1.0)
    }
}

/// One recording of a motion, with noise.
fn record(
    tr: &Transcription,
    theta: &ControlPoints,
    noise: f64,
    random: &mut Random,
) -> Result<Observation, Failure> {
    let times: Vec<f64> = (0..SAMPLES).map(|i| i as f64 / (SAMPLES - 1) as f64).collect();
    let table = tr.table.resampled(times.clone()).map_err(|error| Failure::from_error(&error))?;
    let mut x = vec![0.0; SAMPLES * table.orders * tr.n];
    table.add_states(&theta.high, tr.n, &mut x);
    let rows = x.chunks_exact(table.orders * tr.n);
    let q = rows.flat_map(|row| row[..tr.n].to_vec()).map(|q| q + noise * random.normal()).collect();
    Ok(Observation { times, q })
}

/// What the motions of some cases gave.
#[derive(Default)]
struct Tally {
    worst: f64,
    unsolved: usize,
    outside: usize,
    disagree: usize,
    sets: usize,
    unexplained: usize,
    /// By place and noise.
    coverage: [Coverage; 6],
    notes: Vec<String>,
}

impl Tally {
    fn add(&mut self, other: Self) {
        self.worst = self.worst.max(other.worst);
        self.unsolved += other.unsolved;
        self.outside += other.outside;
        self.disagree += other.disagree;
        self.sets += other.sets;
        self.unexplained += other.unexplained;
        self.notes.extend(other.notes);
        for (own, other) in self.coverage.iter_mut().zip(other.coverage) {
            own.of_sigma += other.of_sigma;
            own.of_interval += other.of_interval;
            own.all += other.all;
        }
    }
}

/// One weight vector with numbers of its own: its motion, and what comes back from that and from noisy recordings of it.
fn one_case(case: usize, mechanism: &Mechanism, count: usize, draws: usize) -> Result<Tally, Failure> {
    let mut random = Random::new(20 + case as u64);
    let mut out = Tally::default();
    let place = match case % 20 {
        0 | 1 => Place::Corner,
        2..=7 => Place::Edge,
        _ => Place::Inside,
    };
    let mut names = TERMS.to_vec();
    for i in (1..names.len()).rev() {
        names.swap(i, (random.range(0.0, (i + 1) as f64) as usize).min(i));
    }
    names.truncate(count);
    let w = weights(&mut random, count, place);
    let problem = problem(mechanism, &names)?;
    let mut tr = transcription(mechanism, &problem)?;
    let solution = solve(&mut tr, &w, None, &SolveOptions::default(), &mut |_| Wish::Continue)
        .map_err(|error| Failure::from_error(&error))?;
    if solution.status != SolveStatus::Solved {
        out.unsolved += 1;
        out.notes.push(format!("{names:?} with weights {w:?} was not solved: {:?}", solution.status));
        return Ok(out);
    }
    let found = infer(&mut tr, &solution.theta, &InverseOptions::default());
    if found.identifiable() {
        let l1: f64 = found.weights.iter().zip(&w).map(|(a, b)| (a - b).abs()).sum();
        if l1 > 1e-8 {
            out.notes.push(format!("{names:?} with weights {w:?}: L1 error {l1:.1e}"));
        }
        out.worst = out.worst.max(l1);
    } else {
        out.sets += 1;
        let holds = w.iter().zip(&found.ranges).all(|(w, (a, b))| (a - 1e-8..=b + 1e-8).contains(w));
        out.outside += usize::from(!holds);
    }
    let corners = independent_corners(&mut tr, &solution.theta);
    if !same_face(&corners, &found.corners) {
        out.disagree += 1;
        out.notes.push(format!("{names:?} with weights {w:?}: {:?} here, {corners:?} there", found.corners));
    }
    for noise in [1e-4, 1e-3] {
        for _ in 0..draws {
            let recording = record(&tr, &solution.theta, noise, &mut random)?;
            let found = infer_noisy(&mut tr, &recording, &BilevelOptions::default())
                .map_err(|error| Failure::from_error(&error))?;
            if found.unexplained() {
                out.unexplained += 1;
                out.notes.push(format!(
                    "case {case}: {names:?} with weights {w:?}, noise {noise:.0e}: misfit {:.1e} of noise {:.1e} after {} starts",
                    found.misfit, found.noise, found.starts
                ));
            }
            let place = match place {
                Place::Inside => 0,
                Place::Edge => 1,
                Place::Corner => 2,
            };
            let coverage = &mut out.coverage[2 * place + usize::from(noise > 5e-4)];
            for t in 0..count {
                let (low, high) = found.intervals[t];
                coverage.all += 1.0;
                coverage.of_sigma += f64::from(u8::from((found.weights[t] - w[t]).abs() <= found.sigma[t]));
                coverage.of_interval += f64::from(u8::from((low..=high).contains(&w[t])));
            }
        }
    }
    Ok(out)
}

/// All cases, on every core.
fn all_cases(arms: &[Mechanism], cases: usize, draws: usize) -> Result<Tally, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let work = || -> Result<Vec<(usize, Tally)>, Failure> {
        let mut done = Vec::new();
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            if case >= cases {
                return Ok(done);
            }
            let count = 2 + (case / arms.len()) % 5;
            done.push((case, one_case(case, &arms[case % arms.len()], count, draws)?));
        }
    };
    let mut all = Vec::new();
    std::thread::scope(|scope| -> Result<(), Failure> {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            let ended = worker.join().map_err(|_| Failure::new("a case of the experiment panicked"))?;
            all.extend(ended?);
        }
        Ok(())
    })?;
    // In the order of the cases, whoever did them.
    all.sort_by_key(|(case, _)| *case);
    let mut sum = Tally::default();
    all.into_iter().for_each(|(_, tally)| sum.add(tally));
    Ok(sum)
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let arms = [arm("two", 2, false)?, arm3()?, build(panda()?)?, arm("ball", 1, true)?];
    let (cases, draws) = (context.pick(200, 20), context.pick(5, 1));
    let Tally { worst, unsolved, outside, disagree, sets, unexplained, coverage, notes } =
        all_cases(&arms, cases, draws)?;
    let mut out = Outcome { notes, ..Outcome::default() };
    let origin = "ours: an exact motion says everything";
    out.checks.push(Check::at_most("largest L1 error from exact motions", origin, worst, 1e-8));
    out.checks.push(Check::at_most("direct problems not solved", "ours", unsolved as f64, 0.0));
    out.checks.push(Check::at_most("sets without the truth", "ours", outside as f64, 0.0));
    out.checks.push(Check::at_most(
        "sets with other corners than an independent decomposition finds",
        "ours: elimination with full pivoting of the plain gradients, group by group",
        disagree as f64,
        0.0,
    ));
    out.checks.push(Check::at_most("noisy motions called unexplained", "ours", unexplained as f64, 0.0));
    let mut table =
        Table::new("One-sigma coverage", ["weights", "noise / rad", "± sigma", "interval", "numbers"]);
    for (i, c) in coverage.iter().enumerate() {
        let place = ["inside", "with zeros", "corners"][i / 2];
        let noise = [1e-4, 1e-3][i % 2];
        table.row([place.into(), noise.into(), c.sigma().into(), c.interval().into(), c.all.into()]);
    }
    // A quick run has few draws: three standard deviations of a count.
    let slack = |all: f64| context.pick(0.0, 3.0 * (0.22 / all.max(1.0)).sqrt());
    let pooled = |from: usize, to: usize, of: fn(&Coverage) -> f64| {
        let all: f64 = coverage[from..to].iter().map(|c| c.all).sum();
        (coverage[from..to].iter().map(of).sum::<f64>() / all.max(1.0), slack(all))
    };
    for (name, of) in
        [("± sigma", (|c| c.of_sigma) as fn(&Coverage) -> f64), ("intervals", |c| c.of_interval)]
    {
        let (inside, slack) = pooled(0, 2, of);
        out.checks.push(Check::within(
            format!("coverage of {name}, weights inside"),
            "ours: 68 % of a normal error",
            inside,
            (0.60 - slack, 0.76 + slack),
        ));
        for (i, noise) in [1e-4, 1e-3].into_iter().enumerate() {
            let (inside, slack) = pooled(i, i + 1, of);
            out.checks.push(Check::within(
                format!("coverage of {name}, weights inside, noise {noise:.0e} rad"),
                "ours: 68 % of a normal error",
                inside,
                (0.60 - slack, 0.76 + slack),
            ));
        }
        let (edge, slack) = pooled(2, 6, of);
        out.checks.push(Check::at_least(
            format!("coverage of {name}, with zeros and corners"),
            "ours",
            edge,
            0.60 - slack,
        ));
    }
    out.number("cases", json!({"all": cases, "sets": sets, "draws": 2 * draws * cases}));
    out.number("worst_l1", worst);
    out.headline(
        "Weights from exact motions, largest L1 error of 200 vectors",
        format!("{worst:.1e}"),
        "corners and edges included",
    );
    out.tables.push(table);
    Ok(out)
}

/// Corners of the set of weights that make a motion stationary, found another way: no whitening, no QR, no singular values. A
/// term whose plain gradient vanishes is a corner; so is every group of others that cancels in one way only, with all of
/// its weights positive, found by elimination with full pivoting.
fn independent_corners(tr: &mut Transcription, theta: &ControlPoints) -> Vec<Vec<f64>> {
    let mut point = Default::default();
    tr.evaluate(theta, &mut point);
    tr.linearize(&mut point);
    let costs = tr.term_costs(&point, theta);
    let rows = tr.term_gradients(&point, theta);
    let count = rows.len();
    // Gradients of motions are compared with what their terms cost: below 1e-9 of that they are rounding.
    let sizes: Vec<f64> =
        rows.iter().zip(&costs).map(|(row, c)| leastaction_core::scalar::largest(row) / c).collect();
    let top = sizes.iter().copied().fold(0.0, f64::max);
    let acts = |t: usize| sizes[t] > 1e-9 * top;
    let unit = |t: usize| -> Vec<f64> { rows[t].iter().map(|x| x / (costs[t] * sizes[t])).collect() };
    let mut corners: Vec<Vec<f64>> = Vec::new();
    for t in (0..count).filter(|t| !acts(*t)) {
        corners.push((0..count).map(|i| f64::from(u8::from(i == t))).collect());
    }
    for group in 1usize..1 << count {
        let members: Vec<usize> = (0..count).filter(|t| group >> t & 1 == 1).collect();
        if members.len() < 2 || !members.iter().all(|t| acts(*t)) {
            continue;
        }
        let Some(v) = only_combination(members.iter().map(|t| unit(*t)).collect()) else { continue };
        let mut w = vec![0.0; count];
        members.iter().zip(&v).for_each(|(t, v)| w[*t] = v / (costs[*t] * sizes[*t]));
        let sum: f64 = w.iter().sum();
        w.iter_mut().for_each(|w| *w /= sum);
        if members.iter().all(|t| w[*t] > 1e-7) {
            corners.push(w);
        }
    }
    corners
}

/// The combination of columns that vanishes, if there is exactly one up to a factor.
fn only_combination(mut columns: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let (k, rows) = (columns.len(), columns.first()?.len());
    let mut order: Vec<usize> = (0..k).collect();
    for step in 0..k - 1 {
        let entries = (step..k).flat_map(|c| (step..rows).map(move |r| (c, r)));
        let (c, r) =
            entries.max_by(|(a, b), (c, d)| columns[*a][*b].abs().total_cmp(&columns[*c][*d].abs()))?;
        if columns[c][r].abs() < 1e-8 {
            return None;
        }
        columns.swap(step, c);
        order.swap(step, c);
        columns.iter_mut().for_each(|column| column.swap(step, r));
        for below in step + 1..rows {
            let f = columns[step][below] / columns[step][step];
            columns.iter_mut().for_each(|column| column[below] -= f * column[step]);
        }
    }
    if columns[k - 1][k - 1..].iter().any(|x| x.abs() > 1e-8) {
        return None;
    }
    // Back substitution with the last one as 1.
    let mut x = vec![0.0; k];
    x[k - 1] = 1.0;
    for i in (0..k - 1).rev() {
        let sum: f64 = (i + 1..k).map(|j| columns[j][i] * x[j]).sum();
        x[i] = -sum / columns[i][i];
    }
    let mut out = vec![0.0; k];
    order.iter().zip(&x).for_each(|(at, x)| out[*at] = *x);
    Some(out)
}

/// True if two sets of corners are the same, in any order.
fn same_face(a: &[Vec<f64>], b: &[Vec<f64>]) -> bool {
    let near = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).abs()).sum::<f64>() < 1e-6;
    a.len() == b.len() && a.iter().all(|x| b.iter().any(|y| near(x, y)))
}
