//! Work against precision: what an error costs with each integrator.

use std::time::Duration;

use leastaction::dynamics::Kinematics;
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::io::{LoadOptions, UrdfBase, UrdfOptions, load_model};
use leastaction::mechanism::{Mechanism, samples};
use leastaction::spatial::Vec3;

use super::measure::{build, largest, options, stopped, time_per_step};
use super::robots;
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-work-precision",
    source: "ours; the pendulums of the peers' benchmark",
    statement: "At equal error the variational integrators of high order are cheaper than RK4 and DOP853, where errors are small or times long.",
    parameters: "@chain/2 and @chain/10 at rest with the first joint at 0.5 rad, 10 s (quick: 2 s), @chain/2 also 100 s; error: largest distance \
                 of a link's end to the reference (DOP853 at 1e-14) over samples every 0.1 s. DOP853 chooses its own steps: they are cut at the samples \
                 where its error is measured, and once a second where it is timed. Talos, where example-robot-data is (--robots DIR, \
                 or as `bench --peers` installs it), on its floating base without gravity, joint rates up to 0.5 rad/s, 1 s. Cost: best time per step times the number of steps, per \
                 simulated second.",
    run,
};

/// Number of steps per sample for each method.
fn cases() -> Vec<(&'static str, Method, Option<u32>, Vec<u32>)> {
    vec![
        ("minimal, order 2", Method::Minimal, Some(2), vec![10, 40, 160]),
        ("minimal, order 4", Method::Minimal, Some(4), vec![2, 5, 10, 20, 40]),
        ("minimal, order 6", Method::Minimal, Some(6), vec![1, 2, 4, 8, 16]),
        ("minimal, order 8", Method::Minimal, Some(8), vec![1, 2, 3, 4, 6]),
        ("minimal, order 10", Method::Minimal, Some(10), vec![1, 2, 3, 4]),
        ("minimal, order 12", Method::Minimal, Some(12), vec![1, 2, 3]),
        ("maximal, order 2", Method::Maximal, Some(2), vec![10, 40, 160]),
        ("maximal, order 4", Method::Maximal, Some(4), vec![5, 10, 20, 40]),
        ("RK4", Method::Rk4, None, vec![5, 10, 20, 40, 100, 200]),
        ("semi-implicit Euler", Method::SemiImplicit, None, vec![10, 100]),
    ]
}

/// Tolerances of the adaptive method.
const TOLERANCES: [f64; 9] = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12];

/// Errors at which costs are compared.
const TARGETS: [f64; 4] = [1e-3, 1e-6, 1e-9, 1e-12];

/// One measured point.
struct Point {
    h: f64,
    error: f64,
    ms_per_second: f64,
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let samples_taken = context.pick(100, 20);
    for n in [2, 10] {
        let mechanism = build(samples::chain(n))?;
        study(context, &mechanism, &format!("{n} links"), samples_taken, &mut out)?;
    }
    if !context.quick {
        study(context, &build(samples::chain(2))?, "2 links, 100 s", 1000, &mut out)?;
    }
    match robots::talos(context.robots.as_deref()) {
        Some(path) => {
            let options =
                LoadOptions { urdf: UrdfOptions { base: UrdfBase::Floating, ..UrdfOptions::default() }, adapter: None };
            let reading = load_model(&path, &options)
                .map_err(|error| Failure::from_error(&error).help(error.remedy()))?;
            let Some(mut description) = reading.description else {
                return Err(Failure::new(format!("`{}` can't be used", path.display())));
            };
            description.gravity = [0.0; 3];
            for joint in &mut description.joints {
                joint.damping = Default::default();
                joint.friction = Default::default();
                joint.mimic = None;
            }
            study(context, &build(description)?, "talos", 10, &mut out)?;
        }
        None => out.notes.push(
            "talos was left out: give the folder of example-robot-data with --robots DIR, or run `leastaction bench --peers` first".into(),
        ),
    }
    Ok(out)
}

fn study(
    context: &Context,
    mechanism: &Mechanism,
    name: &str,
    samples_taken: u32,
    out: &mut Outcome,
) -> Result<(), Failure> {
    let exact = trace(mechanism, Method::Dop853, &options(None, Some(1e-14)), 1, samples_taken)
        .map_err(|error| stopped("the reference", &error))?;
    let mut figure = Figure::new(
        format!("Work and precision: {name}"),
        ("error / m", Scale::Log),
        ("ms per simulated second", Scale::Log),
    );
    let mut table = Table::new(
        format!("Work and precision: {name}"),
        ["integrator", "step / s", "error / m", "ms per simulated second"],
    );
    let mut all: Vec<(&str, Vec<Point>)> = Vec::new();
    for (label, method, order, counts) in cases() {
        let mut points = Vec::new();
        for per_sample in counts {
            let options = options(order, None);
            let Ok(path) = trace(mechanism, method, &options, per_sample, samples_taken) else { continue };
            let error = largest(path.iter().zip(&exact).map(|(a, b)| (*a - *b).norm()));
            let h = 0.1 / f64::from(per_sample);
            let steps = u64::from(per_sample * samples_taken);
            let budget = Duration::from_millis(context.pick(80, 8));
            let (us, _) = time_per_step(mechanism, method, &options, h, steps, budget)
                .map_err(|error| stopped(label, &error))?;
            let ms_per_second = us * 1e-3 / h;
            table.row([label.into(), h.into(), error.into(), ms_per_second.into()]);
            points.push(Point { h, error, ms_per_second });
        }
        // The curve ends where rounding does: there a smaller step no longer helps.
        let useful = 1 + points.windows(2).take_while(|pair| pair[1].error < 0.7 * pair[0].error).count();
        figure.curve(label, points.iter().take(useful).map(|p| (p.error.max(1e-16), p.ms_per_second)));
        out.number(
            format!("{name}: {label}"),
            serde_json::json!(points.iter().map(|p| [p.h, p.error, p.ms_per_second]).collect::<Vec<_>>()),
        );
        all.push((label, points));
    }
    let mut points = Vec::new();
    for tolerance in TOLERANCES {
        let options = options(None, Some(tolerance));
        let Ok(path) = trace(mechanism, Method::Dop853, &options, 1, samples_taken) else { continue };
        let error = largest(path.iter().zip(&exact).map(|(a, b)| (*a - *b).norm()));
        let budget = Duration::from_millis(context.pick(80, 8));
        let seconds = u64::from(samples_taken.div_ceil(10));
        let (us, _) = time_per_step(mechanism, Method::Dop853, &options, 1.0, seconds, budget)
            .map_err(|error| stopped("DOP853", &error))?;
        table.row([format!("DOP853 at {tolerance:e}").into(), Cell::Empty, error.into(), (us * 1e-3).into()]);
        points.push(Point { h: tolerance, error, ms_per_second: us * 1e-3 });
    }
    figure.curve("DOP853", points.iter().map(|p| (p.error.max(1e-16), p.ms_per_second)));
    all.push(("DOP853", points));
    for target in TARGETS {
        let cheapest = |ours: bool| {
            all.iter()
                .filter(|(label, _)| label.starts_with('m') == ours)
                .flat_map(|(_, points)| points)
                .filter(|p| p.error <= target)
                .map(|p| p.ms_per_second)
                .fold(f64::INFINITY, f64::min)
        };
        let (ours, theirs) = (cheapest(true), cheapest(false));
        if !theirs.is_finite() || (!ours.is_finite() && target < 1e-9) {
            let who = if ours.is_finite() { "no explicit method" } else { "none of our steps" };
            out.notes.push(format!("{name}: {who} came within {target:e} m of the reference."));
            continue;
        }
        out.number(
            format!("{name}: cheapest at {target:e}"),
            serde_json::json!({"ours": ours, "explicit": theirs}),
        );
        out.checks.push(
            Check::at_most(
                format!("{name}, error {target:e} m: cheapest variational over cheapest explicit"),
                "ours; the explicit methods run on the same dynamics code",
                ours / theirs,
                1.0,
            )
            .or_loss(
                "at coarse errors and few links plain evaluations, with a step of their own choice, are less work than implicit solves",
            ),
        );
        if name == "10 links" && (1e-9..=1e-6).contains(&target) {
            let word = super::check::short;
            out.headline(
                format!("10-link pendulum to {target:e} m, per simulated second"),
                format!("{} ms", word(ours)),
                format!("{} ms with the cheaper of RK4 and DOP853 on the same code", word(theirs)),
            );
        }
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(())
}

/// Ends of all links at the samples.
fn trace(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    per_sample: u32,
    samples_taken: u32,
) -> Result<Vec<Vec3>, StepError> {
    let mut simulator = Simulator::new(mechanism, method, options, &start(mechanism))?;
    let mut kinematics = Kinematics::<f64>::new(mechanism);
    let u = vec![0.0; mechanism.nu()];
    let mut ends = Vec::new();
    for _ in 0..samples_taken {
        for _ in 0..per_sample {
            simulator.step(&u, 0.1 / f64::from(per_sample))?;
        }
        kinematics.update_positions(mechanism, &simulator.state().q);
        for body in mechanism.body_ids() {
            // The far end of a rod; for other bodies a point of theirs a metre away is as good as any.
            ends.push(kinematics.body_pose(mechanism, body).point(Vec3::new(0.0, 0.0, -1.0)));
        }
    }
    Ok(ends)
}

/// The start state; a floating robot gets joint rates up to 0.5 rad/s from a fixed seed, for it to move at all.
fn start(mechanism: &Mechanism) -> leastaction::mechanism::State {
    let mut state = mechanism.start_state();
    if mechanism.gravity().norm() == 0.0 {
        let mut random = samples::Random::new(1);
        state.v.iter_mut().skip(6).for_each(|v| *v = random.range(-0.5, 0.5));
    }
    state
}
