//! Cost of a step and of its linearisation against the number of links.

use std::time::Duration;

use leastaction::integrator::Integrator;
use leastaction::integrator::minimal::{MinimalIntegrator, MinimalOptions, StepPoint};
use leastaction::mechanism::samples;
use serde_json::Value;

use super::instructions::{can_count, count};
use super::measure::{build, slope, stopped, time_per_call};
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use crate::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "fan-cost",
    source: "Fan, Schultz and Murphey (2018), complexity of their algorithms",
    statement: "Residual and Newton direction take time linear in the number of links, the linearisation quadratic.",
    parameters: "@chain/n from its built-in start, step 5 ms, orders 2 and 4. Instructions (valgrind): `bench step` of two \
                 lengths, subtracted, per iteration; `bench linearize` likewise, per call. Times: one evaluation of residual \
                 and Newton direction together, least of many batches.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    let sizes: &[usize] = context.pick(&[16, 32, 64, 128], &[16, 32]);
    let counted = can_count();
    let mut out = Outcome::default();
    for order in [2_u32, 4] {
        let mut table = Table::new(
            format!("Cost at order {order}"),
            [
                "links",
                "instructions per iteration",
                "instructions per linearisation",
                "residual and direction / µs",
            ],
        );
        let (mut steps, mut slopes, mut times) = (Vec::new(), Vec::new(), Vec::new());
        for &n in sizes {
            let x = n as f64;
            let mut row: Vec<Cell> = vec![n.into()];
            if counted {
                let per_iteration = step_instructions(n, order)?;
                let per_linearisation = linearize_instructions(n, order)?;
                steps.push((x, per_iteration));
                slopes.push((x, per_linearisation));
                row.extend([per_iteration.into(), per_linearisation.into()]);
            } else {
                row.extend([Cell::Empty, Cell::Empty]);
            }
            let us = sample_time(n, order, Duration::from_millis(context.pick(100, 15)))?;
            times.push((x, us));
            row.push(us.into());
            table.row(row);
        }
        if counted {
            let origin =
                "O(n) residual and Newton direction; constant terms lower the slope, nothing may raise it";
            out.checks.push(Check::within(
                format!("order {order}: slope of instructions per iteration"),
                origin,
                slope(&steps),
                (0.85, 1.07),
            ));
            out.checks.push(Check::within(
                format!("order {order}: slope of instructions per linearisation"),
                "O(n²) entries",
                slope(&slopes),
                (1.2, 2.1),
            ));
        }
        out.checks.push(Check::within(
            format!("order {order}: slope of the time of residual and direction"),
            "O(n); timed, so with room",
            slope(&times),
            (0.7, 1.3),
        ));
        let mut figure = Figure::new(
            format!("Cost at order {order}"),
            ("links", Scale::Log),
            ("instructions", Scale::Log),
        );
        figure.curve("per iteration", steps.iter().copied());
        figure.curve("per linearisation", slopes.iter().copied());
        out.number(
            format!("order {order}"),
            serde_json::json!({"iteration": steps, "linearisation": slopes, "us": times}),
        );
        out.figures.push(figure);
        out.tables.push(table);
    }
    if !counted {
        out.notes.push("valgrind is not installed: no instruction counts".into());
    }
    Ok(out)
}

fn step_instructions(n: usize, order: u32) -> Result<f64, Failure> {
    let (model, order) = (format!("@chain/{n}"), order.to_string());
    let run = |steps: f64| -> Result<(f64, f64), Failure> {
        let steps_word = steps.to_string();
        let arguments = [
            "bench",
            "step",
            &model,
            "--integrator",
            "minimal",
            "--order",
            &order,
            "--step",
            "0.005",
            "--repeat",
            "1",
            "--steps",
            &steps_word,
        ];
        let (instructions, text) = count(&arguments)?;
        let line: Value = serde_json::from_str(text.trim())
            .map_err(|error| Failure::caused_by("`bench step` printed something else", &error))?;
        Ok((instructions, line["iterations"].as_f64().unwrap_or(f64::NAN) * steps))
    };
    let (short, long) = (run(4.0)?, run(16.0)?);
    Ok((long.0 - short.0) / (long.1 - short.1))
}

fn linearize_instructions(n: usize, order: u32) -> Result<f64, Failure> {
    let (model, order) = (format!("@chain/{n}"), order.to_string());
    let run = |calls: &str| count(&["bench", "linearize", &model, "--order", &order, "--calls", calls]);
    Ok((run("3")?.0 - run("1")?.0) / 2.0)
}

fn sample_time(n: usize, order: u32, budget: Duration) -> Result<f64, Failure> {
    let mechanism = build(samples::chain(n))?;
    let failed = |error| stopped("a sample", &error);
    let integrator =
        MinimalIntegrator::new(MinimalOptions { order, ..MinimalOptions::default() }).map_err(failed)?;
    let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
    let (start, nodes) = (mechanism.start_state(), (order / 2) as usize);
    let at = StepPoint {
        q: start.q,
        increments: (1..=nodes).map(|k| vec![1e-3 * k as f64; mechanism.nv()]).collect(),
        p: vec![0.1; mechanism.nv()],
        u: vec![Vec::new(); nodes + 1],
        h: 0.005,
    };
    workspace.sample(&mechanism, &at, true).map_err(failed)?;
    Ok(time_per_call(|| drop(std::hint::black_box(workspace.sample(&mechanism, &at, true))), budget))
}
