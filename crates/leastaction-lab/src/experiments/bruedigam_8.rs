//! Figure 8: maximal beside minimal coordinates at three tolerances.

use std::time::Duration;

use leastaction::integrator::Method;
use leastaction::mechanism::samples;

use super::measure::{build, options, slope, time_per_step};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-8",
    source: "Brüdigam and Manchester (2020), figure 8",
    statement: "Variational integrators in both coordinate sets converge at every tolerance for chains of any length.",
    parameters: "@chain/n, steps of 10 ms: 1000 (quick: 100) from the built-in start, tolerance of the nonlinear solve 1e-6, \
                 1e-8 and 1e-10; maximal order 2 beside minimal orders 2 and 4 (the paper compares a first-order maximal \
                 with second- and third-order minimal integrators of others, which stop converging on long chains).",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    const STEP: f64 = 0.01;
    let steps = context.pick(1000, 100);
    let budget = Duration::from_millis(context.pick(200, 20));
    let sizes: &[usize] = context.pick(&[1, 5, 10, 20, 50, 100], &[10, 32, 100]);
    let engines = [
        ("maximal, order 2", Method::Maximal, 2),
        ("minimal, order 2", Method::Minimal, 2),
        ("minimal, order 4", Method::Minimal, 4),
    ];
    let mut out = Outcome::default();
    let mut failures = 0;
    for tolerance in [1e-6, 1e-8, 1e-10] {
        let title = format!("Microseconds per step at tolerance {tolerance:e}");
        let mut figure =
            Figure::new(title.clone(), ("links", Scale::Log), ("time per step / µs", Scale::Log));
        let mut table = Table::new(title, ["links"].into_iter().chain(engines.map(|e| e.0)));
        let mut columns: [Vec<(f64, f64)>; 3] = Default::default();
        for &n in sizes {
            let mechanism = build(samples::chain(n))?;
            let mut row: Vec<Cell> = vec![n.into()];
            for (column, (_, method, order)) in engines.into_iter().enumerate() {
                match time_per_step(
                    &mechanism,
                    method,
                    &options(Some(order), Some(tolerance)),
                    STEP,
                    steps,
                    budget,
                ) {
                    Ok((us, _)) => {
                        columns[column].push((n as f64, us));
                        row.push(us.into());
                    }
                    Err(error) => {
                        failures += 1;
                        row.push("no convergence".into());
                        out.notes.push(error.to_string());
                    }
                }
            }
            table.row(row);
        }
        for ((label, _, _), points) in engines.iter().zip(&columns) {
            figure.curve(*label, points.iter().copied());
            out.checks.push(Check::within(
                format!("{label}, tolerance {tolerance:e}: slope of log time per step over log links"),
                "linear time at every tolerance; timed, so with room",
                slope(points),
                (0.7, 1.3),
            ));
            out.number(format!("{label} {tolerance:e}"), serde_json::json!(points));
        }
        out.figures.push(figure);
        out.tables.push(table);
    }
    out.checks.push(Check::at_most(
        "runs that do not converge",
        "the paper's maximal integrator always converges, those in minimal coordinates fail on long chains; ours may not",
        failures as f64,
        0.0,
    ));
    Ok(out)
}
