//! What every engine stands on: numbers, poses and twists, the mechanism and its dynamics, the traits of time stepping.
//!
//! Users depend on the crate `leastaction`, which shows what is meant for them; this crate also shows what only the
//! engines need.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with the C library"))]

pub mod contact;
pub mod dynamics;
pub mod integrator;
pub mod lie;
pub mod linalg;
pub mod lobatto;
pub mod mechanism;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod scalar;
pub mod simd;
pub mod spatial;
pub mod trajectory;
