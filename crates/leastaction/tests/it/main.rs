//! All integration tests in one binary: it links once.

mod bad_input;
mod urdf;
