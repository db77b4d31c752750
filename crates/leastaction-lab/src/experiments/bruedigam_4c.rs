//! Figure 4c: a sparse against a dense Newton step.

use std::time::Duration;

use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::{Input, Integrator, Method};
use leastaction::mechanism::{Mechanism, samples};

use super::dense::solve;
use super::measure::{build, options, slope, stopped, time_per_call, time_per_step};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "bruedigam-4c",
    source: "Brüdigam and Manchester (2020), figure 4c",
    statement: "A Newton step on the graph of bodies and joints takes time linear in the number of links; a dense one cubic.",
    parameters: "@chain/n, step 10 ms. Sparse: time per step over iterations per step, so with residual and line search. \
                 Dense: elimination with pivoting of one matrix of the same size, 11 n (six velocities and five constraint \
                 rows per link), random entries, without assembly: less than a dense Newton step would take.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    let sizes: &[usize] = context.pick(&[1, 2, 5, 10, 20, 50, 100], &[2, 5, 10, 20]);
    let budget = Duration::from_millis(context.pick(200, 30));
    let mut out = Outcome::default();
    let mut figure = Figure::new("One Newton step", ("links", Scale::Log), ("time / µs", Scale::Log));
    let mut table = Table::new(
        "Microseconds per Newton step",
        ["links", "sparse", "dense", "block operations of the sparse one"],
    );
    let (mut sparse, mut dense, mut operations) = (Vec::new(), Vec::new(), Vec::new());
    for &n in sizes {
        let mechanism = build(samples::chain(n))?;
        let (us, iterations) =
            time_per_step(&mechanism, Method::Maximal, &options(Some(2), None), 0.01, 200, budget)
                .map_err(|error| stopped("a chain", &error))?;
        sparse.push((n as f64, us / iterations));
        // A hundred links would take seconds per elimination: the curve is clear by then.
        let us = (n <= 50).then(|| {
            let size = 11 * n;
            let mut random = samples::Random::new(n as u64);
            let matrix: Vec<f64> = (0..size * size).map(|_| random.range(-1.0, 1.0)).collect();
            let right: Vec<f64> = (0..size).map(|_| random.range(-1.0, 1.0)).collect();
            let (mut a, mut b) = (matrix.clone(), right.clone());
            time_per_call(
                || {
                    a.copy_from_slice(&matrix);
                    b.copy_from_slice(&right);
                    std::hint::black_box(solve(&mut a, &mut b));
                },
                budget,
            )
        });
        dense.extend(us.map(|us| (n as f64, us)));
        let blocks = block_operations(&mechanism)?;
        operations.push((n as f64, blocks));
        table.row([n.into(), sparse.last().map_or(f64::NAN, |p| p.1).into(), Cell::from(us), blocks.into()]);
    }
    let long =
        |points: &[(f64, f64)]| slope(&points.iter().copied().filter(|p| p.0 >= 5.0).collect::<Vec<_>>());
    let origin = "the paper: O(n) against O(n³)";
    out.checks.push(Check::within(
        "sparse: slope of log time over log links",
        origin,
        long(&sparse),
        (0.7, 1.3),
    ));
    out.checks.push(Check::at_least("dense: slope of log time over log links", origin, long(&dense), 2.3));
    out.checks.push(Check::within(
        "sparse: slope of log block operations over log links",
        "counted, so exact",
        long(&operations),
        (0.95, 1.05),
    ));
    out.number("block_operations", serde_json::json!(operations));
    out.number("sparse", serde_json::json!(sparse));
    out.number("dense", serde_json::json!(dense));
    figure.curve("sparse, on the graph", sparse);
    figure.curve("dense elimination of the same size", dense);
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}

/// Block operations of one factorisation.
fn block_operations(mechanism: &Mechanism) -> Result<f64, Failure> {
    let integrator = Maximal::default();
    let failed = |error| stopped("a step", &error);
    let mut workspace = integrator.workspace(mechanism).map_err(failed)?;
    let mut state = integrator.start(mechanism, &mut workspace, &mechanism.start_state()).map_err(failed)?;
    integrator.step(mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.01).map_err(failed)?;
    Ok(workspace.block_operations() as f64)
}
