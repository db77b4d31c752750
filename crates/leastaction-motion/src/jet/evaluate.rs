//! What users call to evaluate jets, compiled once for each type of number.
//!
//! The sweeps are generic, and a generic function is compiled anew in every crate that calls it. These are not.

use std::sync::Arc;

use super::stage::StageTree;
use super::workspace::JetWorkspace;
use super::{JetError, Quantity};
use crate::mechanism::Mechanism;
#[cfg(feature = "reference")]
use crate::reference::Complex;
use crate::scalar::Dual;

macro_rules! evaluate {
    ($t:ty) => {
        impl JetWorkspace<$t> {
            /// Evaluates all jets at positions `q` and velocity coefficients `y` (order-major,
            /// `y[l * nv + c] = v^(l)/l!`, `l = 0..=k+1`). Does not allocate.
            ///
            /// # Errors
            /// If a length does not fit, a number is not finite, or a quaternion has no direction.
            pub fn forward(&mut self, q: &[$t], y: &[$t]) -> Result<(), JetError> {
                self.set(q, y)?;
                self.run()
            }

            /// As [`forward`](Self::forward), from plain derivatives: `derivatives[l]` is the `l`-th derivative of the
            /// velocity (velocity, acceleration, jerk, …), `k + 2` of them. Does not allocate.
            ///
            /// # Errors
            /// As [`forward`](Self::forward).
            pub fn forward_from_derivatives(
                &mut self,
                q: &[$t],
                derivatives: &[&[$t]],
            ) -> Result<(), JetError> {
                self.set_derivatives(q, derivatives)?;
                self.run()
            }

            /// Taylor coefficients of a quantity, order-major: `out[l * rows + row]`. Does not allocate.
            ///
            /// # Errors
            /// If `out` has the wrong length or a target is missing.
            pub fn value_into(&mut self, request: &Quantity, out: &mut [$t]) -> Result<(), JetError> {
                self.read_value(request, out)
            }
        }
    };
}

evaluate!(f64);
evaluate!(Dual<f64, 1>);
#[cfg(feature = "reference")]
evaluate!(Complex);

impl JetWorkspace<f64> {
    /// Memory for a mechanism and force order `k ≥ −1` (smaller values count as −1).
    #[must_use]
    pub fn new(mechanism: &Mechanism, k: i32) -> Self {
        Self::from_tree(Arc::new(StageTree::new(mechanism)), k)
    }

    /// The same evaluation in dual numbers, with one direction: slow derivatives to compare with.
    #[must_use]
    pub fn dual(&self) -> JetWorkspace<Dual<f64, 1>> {
        self.like()
    }

    /// The same evaluation in complex numbers, for derivatives by complex steps.
    #[cfg(feature = "reference")]
    #[must_use]
    pub fn complex(&self) -> JetWorkspace<Complex> {
        self.like()
    }

    /// Poses, columns and velocities only, from plain derivatives: enough for [`QuantityKind::Pose`],
    /// [`QuantityKind::Point`], [`QuantityKind::Orientation`] and [`QuantityKind::Velocity`], at a third of the cost.
    /// Does not allocate.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    ///
    /// [`QuantityKind::Pose`]: super::QuantityKind::Pose
    /// [`QuantityKind::Point`]: super::QuantityKind::Point
    /// [`QuantityKind::Orientation`]: super::QuantityKind::Orientation
    /// [`QuantityKind::Velocity`]: super::QuantityKind::Velocity
    pub fn forward_motion(&mut self, q: &[f64], derivatives: &[&[f64]]) -> Result<(), JetError> {
        self.set_derivatives(q, derivatives)?;
        self.run_motion()
    }
}
