//! Integration tests: one module per claim.

mod agreement;
mod bad_input;
mod golden;
mod model_json;
mod support;
mod urdf;
