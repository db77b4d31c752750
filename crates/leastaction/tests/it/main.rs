//! Integration tests: one module per claim.

mod agreement;
mod bad_input;
mod golden;
mod support;
mod urdf;
