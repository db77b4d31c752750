//! A study as one would make it: what do twenty people minimise when they reach?

use super::measure::build;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, ModelDescription, Placement, WORLD,
};
use leastaction::optimize::{
    BilevelOptions, BoundaryState, MotionProblem, Observation, Sampling, SolveOptions, SolveStatus, Term,
    Transcription, Wish, infer_noisy, solve,
};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-subjects",
    source: "ours",
    statement: "The weights of a human-like reach come back from recordings of twenty subjects of different bodies, and the error \
                bars of every subject are true: what all of them share is known better than from any one of them.",
    parameters: "Upper arm and forearm in a vertical plane, lengths 0.33 and 0.32 m, masses 1.93 and 1.52 kg, each changed by up to 15 % \
                 from subject to subject; reaches of 0.7 to 0.9 s between postures of their own; costs jerk, torque change and \
                 torque, each measured in its value for the quintic profile, with weights 0.5, 0.35 and 0.15 for everyone; \
                 recorded at 100 Hz with white noise of 1 mrad, about that of marker systems.",
    run,
};

const TERMS: [&str; 3] = ["joint_jerk", "torque_rate", "torque"];
const WEIGHTS: [f64; 3] = [0.5, 0.35, 0.15];
const NOISE: f64 = 1e-3;

/// An arm of a subject: shoulder and elbow about horizontal axes.
fn arm(random: &mut Random) -> Result<Mechanism, Failure> {
    let mut model = ModelDescription::new("subject");
    let mut parent = WORLD.to_owned();
    let mut from = 0.0;
    for (name, length, mass, com, inertia) in
        [("upper_arm", 0.33, 1.93, 0.165, 0.0141), ("forearm", 0.32, 1.52, 0.19, 0.0188)]
    {
        let (size, weight) = (random.range(0.85, 1.15), random.range(0.85, 1.15));
        let about = inertia * weight * size * size;
        model.bodies.push(BodyDescription {
            name: name.into(),
            mass: mass * weight,
            com: [com * size, 0.0, 0.0],
            inertia: [0.1 * about, about, about, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        model.joints.push(JointDescription {
            parent_placement: Placement::at([from, 0.0, 0.0]),
            axis: Some([0.0, 1.0, 0.0]),
            ..JointDescription::new(format!("{name}_joint"), JointType::Revolute, &parent, name)
        });
        parent = name.to_owned();
        from = length * size;
    }
    build(model)
}

/// The reach of a subject, its terms measured in their values for the profile.
fn task(mechanism: &Mechanism, random: &mut Random) -> Result<MotionProblem, Failure> {
    let terms: Option<Vec<Term>> = TERMS.iter().map(|name| Term::by_name(name, mechanism, 1.0)).collect();
    let start = [random.range(0.9, 1.3), random.range(-1.6, -1.2)];
    let end = [random.range(-0.2, 0.2), random.range(-0.9, -0.5)];
    let mut problem = MotionProblem {
        duration: random.range(0.7, 0.9),
        degree: 5,
        n_control: 18,
        sampling: Sampling::exact(5),
        start: BoundaryState::still(&start),
        end: BoundaryState::still(&end),
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

fn run(context: &Context) -> Result<Outcome, Failure> {
    let subjects: usize = context.pick(20, 5);
    let mut random = Random::new(8);
    let mut out = Outcome::default();
    let mut table = Table::new(
        "Weights by subject, with one standard error",
        ["subject", "jerk", "±", "torque change", "±", "torque", "±", "misfit / rad"],
    );
    let mut figure = Figure::new("Weights by subject", ("subject", Scale::Linear), ("weight", Scale::Linear));
    let mut curves: Vec<Vec<(f64, f64)>> = vec![Vec::new(); TERMS.len()];
    let (mut held, mut all, mut chi) = (0.0, 0.0, 0.0);
    let mut pooled = [(0.0, 0.0); TERMS.len()];
    let (mut unsolved, mut unexplained) = (0, 0);
    for subject in 0..subjects {
        let mechanism = arm(&mut random)?;
        let problem = task(&mechanism, &mut random)?;
        let mut tr = transcription(&mechanism, &problem)?;
        let truth = solve(&mut tr, &WEIGHTS, None, &SolveOptions::default(), &mut |_| Wish::Continue)
            .map_err(|error| Failure::from_error(&error))?;
        if truth.status != SolveStatus::Solved {
            unsolved += 1;
            continue;
        }
        let count = (100.0 * problem.duration) as usize + 1;
        let times: Vec<f64> = (0..count).map(|i| problem.duration * i as f64 / (count - 1) as f64).collect();
        let samples = tr.table.resampled(times.clone()).map_err(|error| Failure::from_error(&error))?;
        let mut x = vec![0.0; count * samples.orders * tr.n];
        samples.add_states(&truth.theta.high, tr.n, &mut x);
        let rows = x.chunks_exact(samples.orders * tr.n);
        let q = rows.flat_map(|row| row[..2].to_vec()).map(|q| q + NOISE * random.normal()).collect();
        let found = infer_noisy(&mut tr, &Observation { times, q }, &BilevelOptions::default())
            .map_err(|error| Failure::from_error(&error))?;
        unexplained += usize::from(found.unexplained());
        let mut row: Vec<super::table::Cell> = vec![(subject + 1).into()];
        for t in 0..TERMS.len() {
            let (w, sigma, (low, high)) = (found.weights[t], found.sigma[t], found.intervals[t]);
            row.extend([w.into(), sigma.into()]);
            // A bar: from the lower to the upper end of the interval, then a gap.
            let at = (subject + 1) as f64 + 0.15 * (t as f64 - 1.0);
            curves[t].extend([(at, low), (at, w), (at, high), (f64::NAN, f64::NAN)]);
            all += 1.0;
            held += f64::from(u8::from((low..=high).contains(&WEIGHTS[t])));
            chi += ((w - WEIGHTS[t]) / sigma.max(1e-9)).powi(2);
            let precision = 1.0 / sigma.max(1e-9).powi(2);
            pooled[t] = (pooled[t].0 + precision * w, pooled[t].1 + precision);
        }
        row.push(found.misfit.into());
        table.row(row);
    }
    out.checks.push(Check::at_most("reaches not solved", "ours", f64::from(unsolved), 0.0));
    out.checks.push(Check::at_most("recordings called unexplained", "ours", unexplained as f64, 0.0));
    let slack = 3.0 * (0.22 / f64::max(all, 1.0)).sqrt();
    out.checks.push(Check::within(
        "share of intervals that hold the truth",
        "ours: 68 % of a normal error, three standard deviations of a count of this size allowed",
        held / f64::max(all, 1.0),
        (0.68 - slack, 0.68 + slack),
    ));
    for (t, (sum, precision)) in pooled.iter().enumerate() {
        let (mean, sigma) = (sum / precision, 1.0 / precision.sqrt());
        out.checks.push(Check::at_most(
            format!("{}: all subjects together, distance from the truth in standard errors", TERMS[t]),
            "ours",
            (mean - WEIGHTS[t]).abs() / sigma,
            3.0,
        ));
        out.number(TERMS[t], serde_json::json!({"truth": WEIGHTS[t], "mean": mean, "sigma": sigma}));
        if t == 0 {
            out.headline(
                "Weight of jerk in a human-like reach (truth 0.5), 20 subjects recorded with 1 mrad of noise",
                format!("{mean:.3} ± {sigma:.3}"),
                "error bars of single subjects are about four times as long",
            );
        }
    }
    out.number("chi_squared_per_number", chi / f64::max(all, 1.0));
    for (name, points) in TERMS.iter().zip(curves) {
        figure.curve(*name, points);
    }
    out.tables.push(table);
    out.figures.push(figure);
    Ok(out)
}
