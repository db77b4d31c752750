//! Integration tests: one module per claim.

mod agreement;
mod baselines;
mod conventions;
mod golden;
mod layers;
mod no_alloc;
mod support;
