//! Integration tests: one module per claim.

mod agreement;
mod baselines;
mod conventions;
mod bad_input;
mod golden;
mod layers;
mod no_alloc;
mod optimize_quantities;
mod support;
mod urdf;
