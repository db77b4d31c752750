//! Clamped uniform B-splines: trajectories whose derivatives, gradients and Hessians are exact and banded.
//!
//! Derivatives are taken by differences of the control points followed by a *positive* basis of lower degree, never by
//! derivative basis values: those have size `p!/h^d` and would cost five to six digits of a jerk.
//!
//! | type | for |
//! |---|---|
//! | [`BSpline`] | knots, spans, basis functions at one time |
//! | [`SampledSpline`] | evaluation at fixed times, and the pull-back of gradients and Hessians to control points |
//! | [`Banded`] | the banded matrices that pull-backs fill, and their Cholesky factor |
//! | [`SplineFit`] | least-squares fit to recorded samples |
//! | [`RotationReference`], [`RotationJet`] | rotations: a spline in the tangent space of a reference motion |

mod band;
mod bspline;
mod fit;
mod rotation;
mod sampled;

pub use band::Banded;
pub use bspline::BSpline;
pub use fit::{FitOptions, SplineFit};
pub use rotation::{RotationJet, RotationReference};
pub use sampled::SampledSpline;

/// Why a spline could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SplineError {
    /// Degree zero, or fewer control points than the degree needs.
    #[error(
        "{n_control} control points of degree {degree}: a spline needs degree ≥ 1 and at least degree + 1 points"
    )]
    Size {
        /// Number of control points.
        n_control: usize,
        /// Degree.
        degree: usize,
    },
    /// The duration is not a positive number.
    #[error("a duration of {duration} s is not possible: it must be positive")]
    Duration {
        /// The duration.
        duration: f64,
    },
    /// A derivative of an order at which the spline is not continuous.
    #[error("derivative {order} of a spline of degree {degree} is not continuous: take degree {} or more", order + 1)]
    Derivative {
        /// Order asked for.
        order: usize,
        /// Degree of the spline.
        degree: usize,
    },
    /// A vector has another length than needed.
    #[error("`{name}` has length {found}, {expected} is needed")]
    WrongLength {
        /// The vector.
        name: &'static str,
        /// Length needed.
        expected: usize,
        /// Length found.
        found: usize,
    },
    /// Sample times are not increasing, or a value is not finite.
    #[error("sample {index}: {what}")]
    BadSample {
        /// Index of the sample.
        index: usize,
        /// What is wrong.
        what: &'static str,
    },
    /// The samples do not determine all control points.
    #[error("the samples do not determine control point {index}: take fewer control points")]
    Undetermined {
        /// The control point.
        index: usize,
    },
}
