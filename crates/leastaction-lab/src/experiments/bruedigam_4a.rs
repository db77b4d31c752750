//! Figure 4a: energy of a double pendulum over an hour.

use std::f64::consts::FRAC_PI_2;

use leastaction::integrator::{Method, Simulator};
use leastaction::mechanism::samples;

use super::check::short;
use super::heun::Heun;
use super::measure::{EnergyRun, build, energy_run, options, stopped};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-4a",
    source: "Brüdigam and Manchester (2020), figure 4a",
    statement: "The energy of a double pendulum stays bounded over an hour with variational integrators and drifts with \
                Heun's method.",
    parameters: "Planar double pendulum @double-pendulum (rods of 1 m, 1 kg; the paper does not give its own), both arms \
                 released horizontal at rest: a chaotic motion; step 10 ms, 60 minutes (also when quick: tenths of a shorter chaotic motion differ by chance). Raw node energies; the \
                 paper shows a median-filtered curve of its first-order read-out, we add orders 2 and 4 in both \
                 coordinate sets.",
    run,
};

const STEP: f64 = 0.01;

fn run(_: &Context) -> Result<Outcome, Failure> {
    let minutes = 60;
    let steps = minutes * 6000;
    let mechanism = build(samples::chain(2))?;
    let mut start = mechanism.start_state();
    start.q.copy_from_slice(&[FRAC_PI_2, 0.0]);
    let mut out = Outcome::default();
    let mut figure = Figure::new(
        format!("Energy error of a double pendulum over {minutes} minutes, step 10 ms"),
        ("t / s", Scale::Linear),
        ("largest |E − E₀| of a stretch / J", Scale::Log),
    )
    .smooth();
    let mut table = Table::new(
        "Energy error in J by tenths of the run",
        ["integrator", "rms, first tenth", "rms, last tenth", "largest, first tenth", "largest, last tenth"],
    );
    let mut show = |out: &mut Outcome, label: &str, run: &EnergyRun| -> (f64, f64) {
        let ends = |values: &[f64]| {
            let last = if run.broke_at.is_some() {
                f64::INFINITY
            } else {
                values.last().copied().unwrap_or(f64::NAN)
            };
            (values.first().copied().unwrap_or(f64::NAN), last)
        };
        let (rms, worst) = (ends(&run.rms), ends(&run.worst));
        figure.curve(label, run.envelope.iter().copied());
        table.row([label.into(), rms.0.into(), rms.1.into(), worst.0.into(), worst.1.into()]);
        out.number(label, serde_json::json!({"rms": run.rms, "worst": run.worst, "mean": run.mean}));
        (rms.1 / rms.0, worst.1 / worst.0)
    };
    for (label, method, order) in [
        ("maximal, order 2", Method::Maximal, 2),
        ("maximal, order 4", Method::Maximal, 4),
        ("minimal, order 2", Method::Minimal, 2),
        ("minimal, order 4", Method::Minimal, 4),
    ] {
        let mut simulator = Simulator::new(&mechanism, method, &options(Some(order), None), &start)
            .map_err(|error| stopped(label, &error))?;
        let run = energy_run(&mut simulator, STEP, steps);
        let (rms, worst) = show(&mut out, label, &run);
        let origin =
            "the paper: \"the energy stays constant\"; by backward error analysis it oscillates in a band";
        out.checks.push(Check::at_most(
            format!("{label}: rms of the last tenth over the first"),
            origin,
            rms,
            1.5,
        ));
        out.checks.push(Check::at_most(
            format!("{label}: largest of the last tenth over the first"),
            origin,
            worst,
            3.0,
        ));
        out.checks.push(Check::at_most(
            format!("{label}: steps halved or repeated"),
            "ours",
            run.trouble as f64,
            0.0,
        ));
        if (method, order) == (Method::Maximal, 2) {
            out.headline(
                "Chaotic double pendulum, steps of 10 ms: rms energy error of the last tenth over the first",
                format!("{} (second order, any coordinates)", short(rms)),
                "Heun, as in the paper, grows without bound",
            );
        }
    }
    let mut heun = Simulator::with(&mechanism, Heun, &start).map_err(|error| stopped("Heun", &error))?;
    let run = energy_run(&mut heun, STEP, steps);
    let (rms, _) = show(&mut out, "Heun (explicit, order 2)", &run);
    out.checks.push(Check::at_least(
        "Heun: rms of the last tenth over the first",
        "the paper: \"the error increases substantially over time with the explicit method\"",
        rms,
        3.0,
    ));
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
