//! Motion with time derivatives of any order: [`spline`]s, [`jet`]s of quantities with their Jacobians, and the
//! [`optimize`]r that finds motions from costs and costs from motions.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests compare with the C library"))]

#[cfg(feature = "reference")]
use leastaction_core::dynamics;
#[cfg(feature = "sabotage")]
use leastaction_core::sabotage;
use leastaction_core::{lie, linalg, mechanism, scalar, simd, spatial, trajectory};

pub mod jet;
pub mod optimize;
#[cfg(feature = "reference")]
pub mod reference;
pub mod spline;
