//! The engines against each other: in the limit of small steps they find the same motion.

use leastaction::integrator::Method;
use leastaction::mechanism::{JointType, samples};

use super::measure::{build, distance, end_state, options, slope, stopped};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use crate::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-agreement",
    source: "ours",
    statement: "Two variational engines in different coordinates and an adaptive Runge–Kutta method agree in the limit, \
                each with its own order.",
    parameters: "Trees: @chain/3, @ball-chain/3 and a random tree of 8 bodies with revolute, prismatic, spherical, universal, \
                 cylindrical and planar joints (seed 7); position after 0.5 s against DOP853 at tolerance 1e-13; steps 0.5 s \
                 over 20, 40, 80, 160 (quick: to 80).",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const DURATION: f64 = 0.5;
    let counts: &[u64] = context.pick(&[20, 40, 80, 160], &[20, 40, 80]);
    let kinds = [
        JointType::Revolute,
        JointType::Prismatic,
        JointType::Spherical,
        JointType::Universal,
        JointType::Cylindrical,
        JointType::Planar,
    ];
    let engines = [
        ("maximal", Method::Maximal, 2),
        ("maximal", Method::Maximal, 4),
        ("minimal", Method::Minimal, 2),
        ("minimal", Method::Minimal, 4),
    ];
    let mut out = Outcome::default();
    for model in [samples::chain(3), samples::ball_chain(3), samples::random_tree(7, 8, &kinds)] {
        let mechanism = build(model)?;
        let name = mechanism.name().to_owned();
        let exact = end_state(&mechanism, Method::Dop853, &options(None, Some(1e-13)), DURATION / 10.0, 10)
            .map_err(|error| stopped("the reference", &error))?;
        let mut figure = Figure::new(
            format!("Distance to the reference: {name}"),
            ("step / s", Scale::Log),
            ("largest difference / rad, m", Scale::Log),
        );
        let mut table = Table::new(
            format!("Distance to the reference: {name}"),
            ["step / s".to_owned()].into_iter().chain(engines.map(|(n, _, o)| format!("{n} {o}"))),
        );
        let mut columns = Vec::new();
        for (engine, method, order) in engines {
            let label = format!("{engine}, order {order}");
            let mut points = Vec::new();
            for &n in counts {
                let h = DURATION / n as f64;
                let end = end_state(&mechanism, method, &options(Some(order), Some(1e-14)), h, n)
                    .map_err(|error| stopped(&format!("{label} on {name}"), &error))?;
                points.push((h, distance(&mechanism, &end, &exact)));
            }
            let fair: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.1 > 1e-11).collect();
            out.checks.push(Check::within(
                format!("{name}, {label}: slope"),
                "the order of the method, against an independent integrator",
                slope(&fair),
                (f64::from(order) - 0.3, f64::from(order) + 0.6),
            ));
            figure.curve(&label, points.iter().copied());
            out.number(format!("{name}, {label}"), serde_json::json!(points));
            columns.push(points);
        }
        for k in 0..counts.len() {
            table.row(
                std::iter::once(Cell::from(columns[0][k].0))
                    .chain(columns.iter().map(|c| Cell::from(c[k].1))),
            );
        }
        out.figures.push(figure);
        out.tables.push(table);
    }
    Ok(out)
}
