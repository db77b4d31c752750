//! Integration tests: one module per claim.

mod agreement;
mod mjcf;
mod support;
