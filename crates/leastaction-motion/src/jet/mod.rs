//! Comprehensive motion: kinematics and dynamics with time derivatives of any order, and all their Jacobians.
//!
//! Motions are *jets*: Taylor coefficients `x_l = x^(l)/l!` in time. One world-frame sweep gives velocities, momenta,
//! forces and torques to any order; every Jacobian is generated from one to three jets per pair of joints,
//!
//! ```text
//! ∂z_l/∂ξ_m = α_{l−m} + m β_{l−m+1} + m(m−1) κ_{l−m+2}                    (4.9)
//! ```
//!
//! so that an order-k Jacobian costs little more than the numbers it consists of. The theory page
//! `docs/theory/04-comprehensive.md` derives what the code cites.
//!
//! The outward and the inward sweep are in `forward.rs`; everything else reads what they leave in the workspace.
//!
//! | question | answer |
//! |---|---|
//! | torque, torque rate, … along a motion | [`JetWorkspace::forward`], [`JetWorkspace::torque`] |
//! | velocity, momentum, force of a body | [`JetWorkspace::value_into`] |
//! | a Jacobian | [`JetWorkspace::jacobian_into`] |
//! | torque Jacobian, fast | [`TorqueJacobian`] |
//! | `J ξ`, `Jᵀ λ` | [`JetWorkspace::torque_jvp`], [`JetWorkspace::torque_vjp`] |
//! | quantities at many samples, their Jacobians and weighted Hessians | [`JetQuantities`] |
//! | costs, gradients, Hessians | [`CostEvaluator`] |
//! | derivatives of a recording | [`RecordedMotion`] |
//! | the source's operators | `Cmtm` and `WholeBody` in the module `reference`, compiled for tests |
//!
//! Columns perturb on the right in the components of the velocity coordinates: see [`Coordinates`].

mod adjoint;
mod assembly;
mod assembly_links;
mod assembly_motion;
mod assembly_pairs;
mod chart;
mod costs;
mod evaluate;
mod forward;
mod generating;
mod in_lanes;
mod items;
mod jacobian;
mod lanes;
mod local;
mod passive;
mod products;
mod quantities;
mod quantity;
mod rates;
mod recorded;
mod samples;
mod stage;
mod sweeps;
mod taylor;
mod torque_jacobian;
mod workspace;

pub use assembly::TorqueJacobian;
pub use chart::MotionChart;
pub use costs::{Cost, CostEvaluator};
pub use generating::Generating;
pub use jacobian::Coordinates;
pub use quantities::JetQuantities;
pub use quantity::{Quantity, QuantityFrame, QuantityKind, Target};
pub use recorded::{RecordedError, RecordedMotion};
pub use samples::{NoQuantities, Quantities, Samples};
pub use workspace::JetWorkspace;

/// Why a jet could not be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error, serde::Serialize)]
#[non_exhaustive]
pub enum JetError {
    /// A vector has another length than the mechanism and order need.
    #[error("`{name}` has length {found}, the mechanism and order need {expected}")]
    WrongLength {
        /// The vector.
        name: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A position or derivative is infinite or not a number.
    #[error("a position or derivative is not finite")]
    NotFinite,
    /// A quaternion is too short to normalise.
    #[error("the quaternion at position coordinate {coordinate} has length {norm:.1e}; it needs a direction")]
    NoDirection {
        /// First position coordinate of the quaternion.
        coordinate: usize,
        /// Its length.
        norm: f64,
    },
    /// A quantity cannot be asked for in this way.
    #[error("{quantity} cannot be asked for like this: {remedy}")]
    NotServed {
        /// The quantity.
        quantity: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// A quantity was asked at an order the workspace does not have.
    #[error("order {order} of {quantity} needs a workspace of force order {needed}, this one has {found}")]
    Order {
        /// The quantity.
        quantity: &'static str,
        /// Order asked for.
        order: usize,
        /// Force order needed.
        needed: i32,
        /// Force order of the workspace.
        found: i32,
    },
}

/// Refuses a slice of another length than expected.
pub(crate) fn expect(name: &'static str, found: usize, expected: usize) -> Result<(), JetError> {
    if found == expected { Ok(()) } else { Err(JetError::WrongLength { name, expected, found }) }
}

/// `l!` as a number.
#[must_use]
pub fn factorial(l: usize) -> f64 {
    (1..=l).fold(1.0, |f, m| f * m as f64)
}
