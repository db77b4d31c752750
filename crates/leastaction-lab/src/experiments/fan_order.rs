//! Order of accuracy of the integrators in joint coordinates.

use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::{Mechanism, State, samples};

use super::measure::{build, distance, largest, options, slope, stopped};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "fan-order",
    source: "Fan, Schultz and Murphey (2018), order of the integrators",
    statement: "With s + 1 Lobatto nodes the integrator in joint coordinates is of order 2 s.",
    parameters: "Double pendulum @double-pendulum and ball chain @ball-chain/2 at rest with the first joint at 0.5 rad, error \
                 of the position, largest of eight times to 2 s, against DOP853 at tolerance 1e-13; s = 1 to 4 (quick: the double pendulum only); \
                 at least four step sizes \
                 whose errors lie from 1e-3 to 1e-11 count, from the coarsest on until rounding is reached. Steps are 2 s over 8, 16, \
                 24, 32, 48, … 1024.",
    run,
};

const DURATION: f64 = 2.0;
/// States compared: errors that pass through zero at one time do not at all of them.
const SAMPLES: u64 = 8;

fn path(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    per_sample: u64,
) -> Result<Vec<State>, StepError> {
    let mut simulator = Simulator::new(mechanism, method, options, &mechanism.start_state())?;
    let h = DURATION / (SAMPLES * per_sample) as f64;
    (0..SAMPLES)
        .map(|_| {
            for _ in 0..per_sample {
                simulator.step(&[], h)?;
            }
            Ok(simulator.state().clone())
        })
        .collect()
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut models = vec![samples::chain(2)];
    if !context.quick {
        models.push(samples::ball_chain(2));
    }
    for model in models {
        let mechanism = build(model)?;
        let exact = path(&mechanism, Method::Dop853, &options(None, Some(1e-13)), 1)
            .map_err(|error| stopped("the reference", &error))?;
        let name = mechanism.name().to_owned();
        let mut figure = Figure::new(
            format!("Largest error to 2 s: {name}"),
            ("step / s", Scale::Log),
            ("error / rad", Scale::Log),
        );
        let mut table = Table::new(
            format!("Largest error to 2 s in rad: {name}"),
            ["step / s", "s = 1", "s = 2", "s = 3", "s = 4"],
        );
        // Powers of two and what lies halfway: enough of them between the bounds for the steepest curve too.
        const COUNTS: [u64; 14] = [8, 16, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512, 1024];
        let mut columns: Vec<Vec<(f64, f64)>> = Vec::new();
        for s in 1..=4_u32 {
            let mut points = Vec::new();
            for n in COUNTS {
                let h = DURATION / n as f64;
                // A step too large to converge says nothing about the order.
                if let Ok(states) =
                    path(&mechanism, Method::Minimal, &options(Some(2 * s), Some(1e-15)), n / SAMPLES)
                {
                    points.push((
                        h,
                        largest(states.iter().zip(&exact).map(|(a, b)| distance(&mechanism, a, b))),
                    ));
                }
            }
            // Below 1e-11 rounding and the reference take over, also where a smaller step is back above it.
            let fair: Vec<(f64, f64)> =
                points.iter().copied().take_while(|p| p.1 >= 1e-11).filter(|p| p.1 <= 1e-3).collect();
            let label = format!("{name}, s = {s}");
            out.checks.push(Check::at_least(
                format!("{label}: slope of log error over log step ({} steps)", fair.len()),
                "2 s, as proved by Ober-Blöbaum and Saake for Lobatto quadrature; 0.3 for the finite range",
                if fair.len() >= 4 { slope(&fair) } else { f64::NAN },
                f64::from(2 * s) - 0.3,
            ));
            figure.curve(format!("s = {s}, order {}", 2 * s), points.iter().copied());
            out.number(label, serde_json::json!(points));
            columns.push(points);
        }
        for n in COUNTS {
            let h = DURATION / n as f64;
            let at = |points: &Vec<(f64, f64)>| points.iter().find(|p| p.0 == h).map(|p| p.1);
            table.row(std::iter::once(Cell::from(h)).chain(columns.iter().map(|c| Cell::from(at(c)))));
        }
        out.figures.push(figure);
        out.tables.push(table);
    }
    Ok(out)
}
