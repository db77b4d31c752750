//! Long-time energy of the integrators in joint coordinates.

use leastaction::integrator::{Method, Simulator};
use leastaction::mechanism::samples;

use super::measure::{build, energy_run, options, stopped};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "fan-energy",
    source: "Fan, Schultz and Murphey (2018), long-time energy",
    statement: "Energy errors of higher-order variational integrators stay bounded and fall with the order.",
    parameters: "@chain/4 at rest with the first joint at 0.5 rad, step 20 ms, 50 000 steps (quick: 5000), orders 2, 4, 6, 8; default \
                 tolerance of the nonlinear solve.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const STEP: f64 = 0.02;
    let steps = context.pick(50_000, 5000);
    let mechanism = build(samples::chain(4))?;
    let mut out = Outcome::default();
    let mut figure = Figure::new(
        "Energy error of a chain of four links, step 20 ms",
        ("t / s", Scale::Linear),
        ("largest |E − E₀| of a stretch / J", Scale::Log),
    )
    .smooth();
    let mut table =
        Table::new("Largest energy error in J", ["order", "first tenth", "last tenth", "halved steps"]);
    let mut previous: Option<f64> = None;
    for order in [2, 4, 6, 8] {
        let label = format!("order {order}");
        let mut simulator = Simulator::new(
            &mechanism,
            Method::Minimal,
            &options(Some(order), None),
            &mechanism.start_state(),
        )
        .map_err(|error| stopped(&label, &error))?;
        let run = energy_run(&mut simulator, STEP, steps);
        let first = run.worst.first().copied().unwrap_or(f64::NAN);
        let last = if run.broke_at.is_some() {
            f64::INFINITY
        } else {
            run.worst.last().copied().unwrap_or(f64::NAN)
        };
        out.checks.push(Check::at_most(
            format!("{label}: largest error of the last tenth over the first"),
            "symplectic: bounded for very long times",
            last / first,
            2.0,
        ));
        if let Some(below) = previous {
            out.checks.push(Check::at_most(
                format!("{label}: largest error over that of the order below"),
                "each order pays at this step",
                last / below,
                0.2,
            ));
        }
        previous = Some(last);
        figure.curve(&label, run.envelope.iter().copied());
        table.row([(order as usize).into(), first.into(), last.into(), (run.trouble as usize).into()]);
        out.number(label, serde_json::json!({"worst": run.worst, "rms": run.rms}));
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
