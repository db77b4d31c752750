//! Integration tests: one module per claim.

mod agreement;
mod baselines;
mod golden;
mod no_alloc;
mod support;
