//! `bench newton`: what one iteration of the integrator in joint coordinates is made of.

use std::hint::black_box;
use std::time::Instant;

use clap::ValueEnum;
use leastaction::integrator::minimal::{MinimalIntegrator, MinimalOptions, StepPoint};
use leastaction::integrator::{Integrator, StepError};
use leastaction::mechanism::Mechanism;
use serde_json::{Value, json};

use super::bench::{batches, peer_name};
use crate::args::{MODEL_HELP, ReadArgs, positive};
use crate::config::word;
use crate::failure::Failure;
use crate::model;

#[derive(Debug, clap::Args)]
pub(super) struct NewtonBench {
    /// What is evaluated
    #[arg(value_enum)]
    part: Part,
    #[arg(value_name = "MODEL", required = true, help = MODEL_HELP)]
    pub(super) models: Vec<String>,
    /// Order of accuracy of the step
    #[arg(long, value_name = "N", default_value_t = 2)]
    order: u32,
    /// Time step in seconds
    #[arg(long, value_name = "S", default_value = "0.005", value_parser = positive)]
    step: f64,
    /// Number of batches
    #[arg(long, value_name = "B", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    batches: u64,
    /// Make exactly N calls and time them together, for instruction counts
    #[arg(long, value_name = "N", conflicts_with = "batches", value_parser = clap::value_parser!(u64).range(1..))]
    calls: Option<u64>,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The discrete equations of motion
    Residual,
    /// The same, the Newton matrix, its factors and the solution
    Direction,
}

impl NewtonBench {
    pub(super) fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (_, mechanism) = model::load(name, &self.read)?;
        let failed = |error: StepError| Failure::caused_by("the step can't be evaluated", &error);
        let options = MinimalOptions { order: self.order, ..MinimalOptions::default() };
        let integrator = MinimalIntegrator::new(options).map_err(failed)?;
        let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
        let at = point(&mechanism, (self.order / 2) as usize, self.step);
        workspace.sample(&mechanism, &at, true).map_err(failed)?;
        let call = || match self.part {
            Part::Residual => drop(black_box(workspace.residual(&mechanism, black_box(&at)))),
            Part::Direction => drop(black_box(workspace.sample(&mechanism, black_box(&at), true))),
        };
        let (us, median) = match self.calls {
            Some(calls) => together(calls, call),
            None => batches(self.batches, call),
        };
        Ok(vec![json!({
            "section": "A",
            "system": "leastaction",
            "variant": format!("{}{}", word(self.part), self.order),
            "model": peer_name(name),
            "n": mechanism.nv(),
            "dt": self.step,
            "us": us,
            "us_median": median,
        })])
    }
}

/// A point on the way to a solution: a little motion, a little momentum.
fn point(mechanism: &Mechanism, nodes: usize, h: f64) -> StepPoint {
    StepPoint {
        q: mechanism.start_state().q,
        increments: (1..=nodes).map(|k| vec![1e-3 * k as f64; mechanism.nv()]).collect(),
        p: vec![0.1; mechanism.nv()],
        u: vec![vec![0.0; mechanism.nu()]; nodes + 1],
        h,
    }
}

fn together(calls: u64, mut call: impl FnMut()) -> (f64, f64) {
    let begin = Instant::now();
    (0..calls).for_each(|_| call());
    let us = begin.elapsed().as_secs_f64() * 1e6 / calls as f64;
    (us, us)
}
