//! Figure 4d: quadratic convergence.

use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::samples;

use super::measure::{build, stopped};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-4d",
    source: "Brüdigam and Manchester (2020), figure 4d",
    statement: "Newton's method converges quadratically for pendulums of 1, 10 and 100 links.",
    parameters: "@chain/n at rest with the first joint at 0.5 rad, one step of 50 ms from a cold start (no earlier steps to \
                 extrapolate from), tolerance 1e-14; the scaled residual before each iteration and after the last.",
    run,
};

fn run(_: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut figure =
        Figure::new("Residual of one step", ("iteration", Scale::Linear), ("scaled residual", Scale::Log));
    let mut table = Table::new(
        "Scaled residuals",
        ["links".to_owned()].into_iter().chain((0..8).map(|k| format!("iteration {k}"))),
    );
    for n in [1, 10, 100] {
        let mechanism = build(samples::chain(n))?;
        let integrator = Maximal { tolerance: 1e-14, ..Maximal::default() };
        let failed = |error| stopped("a step", &error);
        let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
        let mut state =
            integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).map_err(failed)?;
        integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.05).map_err(failed)?;
        let merits = workspace.convergence().to_vec();
        // Where the residual is small and not yet rounding, its exponent doubles.
        let best = merits
            .windows(3)
            .filter(|w| w[1] < 0.1 && w[2] > 1e-15 && w[2] > 0.0)
            .map(|w| (w[2] / w[1]).ln() / (w[1] / w[0]).ln())
            .fold(f64::NAN, f64::max);
        out.checks.push(Check::at_least(
            format!("{n} links: largest observed order of convergence"),
            "the paper: \"quadratic convergence behavior, i.e. doubling accuracy at each iteration step\"",
            best,
            1.7,
        ));
        out.checks.push(Check::at_most(
            format!("{n} links: residual at the end"),
            "the paper's tolerance is 1e-10",
            merits.last().copied().unwrap_or(f64::NAN),
            1e-10,
        ));
        out.checks.push(Check::at_most(
            format!("{n} links: iterations"),
            "the paper's figure shows fewer than ten",
            merits.len() as f64 - 1.0,
            8.0,
        ));
        let cells = (0..8).map(|k| Cell::from(merits.get(k).copied()));
        table.row(std::iter::once(Cell::from(n)).chain(cells));
        figure.curve(format!("{n} links"), merits.iter().enumerate().map(|(k, m)| (k as f64, *m)));
        out.number(format!("{n} links"), serde_json::json!(merits));
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
