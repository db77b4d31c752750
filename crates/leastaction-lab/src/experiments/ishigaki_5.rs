//! Figure 5: time of analytic, automatic and numerical Jacobians.

use std::time::Duration;

use leastaction::jet::{Quantity, QuantityKind, Target};

use super::check::short;
use super::jacobians::{Study, serial_arm};
use super::measure::{build, slope, time_per_call};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ishigaki-5",
    source: "Ishigaki, Ayusawa and Yoshida (2026), figure 5",
    statement: "Analytic Jacobians cost a fraction of automatic and numerical ones, and the gap widens with the number of \
                joints.",
    parameters: "Arms, state and Jacobian of ishigaki-4; time of one evaluation with its forward sweep, best of many batches. \
                 Automatic: dual numbers with one direction, once per column, without a graph to build. Numeric: forward \
                 differences.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    let sizes: &[usize] = context.pick(&[2, 4, 8, 16, 32, 64, 128], &[2, 8, 32]);
    let budget = Duration::from_millis(context.pick(60, 10));
    let mut out = Outcome::default();
    let mut figure = Figure::new(
        "Velocity and acceleration Jacobians of the last link",
        ("degrees of freedom", Scale::Log),
        ("time / µs", Scale::Log),
    );
    let labels = ["analytic", "automatic", "numeric"];
    let mut table = Table::new("Microseconds per Jacobian", ["degrees of freedom"].into_iter().chain(labels));
    let mut curves: [Vec<(f64, f64)>; 3] = Default::default();
    for &n in sizes {
        let mechanism = build(serial_arm(n))?;
        let mut study = Study::new(&mechanism, 0, 1)?;
        let Some(last) = mechanism.body_ids().last() else { continue };
        let request = Quantity::local(QuantityKind::Velocity, Target::body(last));
        let mut room = study.room(&request);
        // What fails here has failed in ishigaki-4 already.
        let times = [
            time_per_call(
                || {
                    let _ = study.forward();
                    let _ = study.analytic(&request, &mut room);
                },
                budget,
            ),
            time_per_call(|| drop(study.automatic(&request, &mut room)), budget),
            time_per_call(|| drop(study.numeric(&request, &mut room)), budget),
        ];
        for (curve, us) in curves.iter_mut().zip(times) {
            curve.push((n as f64, us));
        }
        table.row([n.into(), times[0].into(), times[1].into(), times[2].into()]);
    }
    let last = |k: usize| curves[k].last().map_or(f64::NAN, |p| p.1);
    let n = sizes.last().copied().unwrap_or(0);
    out.checks.push(Check::at_most(
        format!("{n} degrees of freedom: analytic over numeric"),
        "the paper at 128: of the order of 1e2 ms against 1e4 ms",
        last(0) / last(2),
        1e-2 * 128.0 / n as f64,
    ));
    out.checks.push(Check::at_most(
        format!("{n} degrees of freedom: analytic over automatic"),
        "the paper's automatic differentiation is faster once its graph is built; ours needs no graph and still loses",
        last(0) / last(1),
        1.0,
    ));
    out.checks.push(Check::at_most(
        format!("{n} degrees of freedom: analytic / ms"),
        "the paper: of the order of 100 ms at 128",
        last(0) * 1e-3,
        100.0,
    ));
    let slopes: Vec<f64> = curves.iter().map(|c| slope(&c[c.len() / 2..])).collect();
    out.checks.push(Check::at_most(
        "slope of log analytic time over log size",
        "one column per joint and order",
        slopes[0],
        1.6,
    ));
    out.headline(
        format!("Velocity and acceleration Jacobians of a {n}-joint arm"),
        format!("{} µs", short(last(0))),
        format!("of the order of 100 ms in the paper (128 joints); {} µs by dual numbers", short(last(1))),
    );
    for (label, points) in labels.iter().zip(&curves) {
        figure.curve(*label, points.iter().copied());
        out.number(*label, serde_json::json!(points));
    }
    out.number("analytic_ms", last(0) * 1e-3);
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
