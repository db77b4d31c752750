//! The README's picture: energy over 10⁵ steps, ours beside what most simulators do.

use leastaction::integrator::{Method, Simulator};
use leastaction::mechanism::samples;

use super::check::short;
use super::measure::{build, energy_run, options, stopped};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-energy",
    source: "ours; the picture of the README",
    statement: "Over 100 000 steps the energy of variational integrators stays in a band while that of RK4 and \
                semi-implicit Euler drifts away.",
    parameters: "Planar double pendulum @double-pendulum (rods of 1 m and 1 kg, gravity 9.81 m/s²), released at rest with \
                 the first joint at 0.5 rad; step 0.05 s, 100 000 steps (quick: 20 000). RK4 and semi-implicit Euler are \
                 run at the same step. Energies are raw values at the nodes, not averaged.",
    run,
};

const STEP: f64 = 0.05;

fn run(context: &Context) -> Result<Outcome, Failure> {
    let steps = context.pick(100_000, 20_000);
    let mechanism = build(samples::chain(2))?;
    let mut out = Outcome::default();
    let mut figure = Figure::new(
        format!("Energy error of a double pendulum, step {STEP} s"),
        ("t / s", Scale::Linear),
        ("largest |E − E₀| of a stretch / J", Scale::Log),
    )
    .smooth();
    let mut table = Table::new(
        "Largest energy error in J",
        ["integrator", "first tenth", "last tenth", "last over first", "broke down at / s"],
    );
    for (label, method, order) in [
        ("minimal, order 2", Method::Minimal, Some(2)),
        ("minimal, order 4", Method::Minimal, Some(4)),
        ("maximal, order 2", Method::Maximal, Some(2)),
        ("RK4", Method::Rk4, None),
        ("semi-implicit Euler", Method::SemiImplicit, None),
    ] {
        let mut simulator =
            Simulator::new(&mechanism, method, &options(order, None), &mechanism.start_state())
                .map_err(|error| stopped(label, &error))?;
        let run = energy_run(&mut simulator, STEP, steps);
        // A run that breaks down in its first tenth has no error to name.
        let first = run.worst.first().copied().unwrap_or(f64::NAN);
        let growth = |last: f64| if run.broke_at.is_some() { f64::INFINITY } else { last / first };
        let last = if run.broke_at.is_some() {
            f64::INFINITY
        } else {
            run.worst.last().copied().unwrap_or(f64::NAN)
        };
        figure.curve(label, run.envelope.iter().copied());
        table.row([label.into(), first.into(), last.into(), Cell::from(growth(last)), run.broke_at.into()]);
        out.number(label, serde_json::json!({"worst": run.worst, "mean": run.mean, "rms": run.rms}));
        match method {
            Method::Minimal | Method::Maximal => {
                out.checks.push(Check::at_most(
                    format!("{label}: largest error of the last tenth over that of the first"),
                    "a symplectic map keeps a nearby energy (backward error analysis)",
                    last / first,
                    1.5,
                ));
                let band = |values: &[f64]| {
                    values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &x| (x.min(l), x.max(h)))
                };
                let (low, high) = band(&run.mean);
                out.checks.push(Check::at_most(
                    format!("{label}: drift of the mean energy between tenths over the largest error"),
                    "as above: what remains is an oscillation",
                    (high - low) / first,
                    0.2,
                ));
                if order == Some(4) {
                    out.headline(
                        "Energy error of a double pendulum, steps of 0.05 s, last tenth of the run over the first tenth",
                        format!("{} times (order 4, {} J)", short(last / first), short(last)),
                        "RK4 and semi-implicit Euler grow",
                    );
                }
            }
            _ => out.checks.push(Check::at_least(
                format!("{label}: largest error of the last tenth over that of the first"),
                "explicit methods have no such property: they drift",
                growth(last),
                2.0,
            )),
        }
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
