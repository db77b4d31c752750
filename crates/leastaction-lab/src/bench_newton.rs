//! `bench newton`: what one iteration of the integrator in joint coordinates is made of.

use std::hint::black_box;

use leastaction::integrator::minimal::{Minimal, MinimalOptions, StepPoint};
use leastaction::integrator::{Integrator, StepError};
use leastaction::mechanism::Mechanism;
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::failure::Failure;
use leastaction_study::model;
use serde_json::{Value, json};

use crate::bench::{Bench, StepCalls, peer_name};

/// Time of a part of an iteration.
#[derive(Clone, Debug)]
pub struct NewtonBench {
    /// What is evaluated.
    pub part: Part,
    /// Of which step.
    pub cases: StepCalls,
}

choices! {
    /// Parts of an iteration.
    Part {
        /// The discrete equations of motion
        Residual = "residual",
        /// The same, the Newton matrix, its factors and the solution
        Direction = "direction",
    }
}

impl Bench for NewtonBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let cases = &self.cases;
        let (_, mechanism) = model::load(name, &cases.calls.reading)?;
        let failed = |error: StepError| Failure::caused_by("the step can't be evaluated", &error);
        let options = MinimalOptions { order: cases.order, ..MinimalOptions::default() };
        let integrator = Minimal::new(options).map_err(failed)?;
        let mut workspace = integrator.workspace(&mechanism).map_err(failed)?;
        let at = point(&mechanism, (cases.order / 2) as usize, cases.step);
        workspace.sample(&mechanism, &at, true).map_err(failed)?;
        let mut call = || match self.part {
            Part::Residual => drop(black_box(workspace.residual(&mechanism, black_box(&at)))),
            Part::Direction => drop(black_box(workspace.sample(&mechanism, black_box(&at), true))),
        };
        let (us, median) = cases.calls.time(&mut call);
        Ok(vec![json!({
            "section": "A",
            "system": "leastaction",
            "variant": format!("{}{}", self.part.word(), cases.order),
            "model": peer_name(name),
            "n": mechanism.nv(),
            "dt": cases.step,
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
