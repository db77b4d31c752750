//! Time stepping: the engines, the baselines, and [`Simulator`], which puts engine, memory and state together for the
//! ten-line user and for callers that choose the integrator at run time.

mod input_run;
mod simulator;

pub(crate) use input_run::InputRun;
pub use leastaction_core::integrator::{
    Actuation, ContactCounts, ContactForce, Input, Integrator, JointForce, LinearizedStep, RowEvent,
    RowEventKind, RowReport, RowState, StepError, StepLinearization, StepReport, baseline, expect_length,
    expect_state, expect_tree,
};
pub use leastaction_maximal as maximal;
pub use leastaction_minimal as minimal;
pub use simulator::{Method, MethodOptions, Simulator};
