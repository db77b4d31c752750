//! Clamped uniform B-splines: trajectories whose derivatives, gradients and Hessians are exact and banded.
//!
//! Derivatives are taken by differences of the control points followed by a *positive* basis of lower degree, never by
//! derivative basis values: those have size `p!/h^d` and would cost five to six digits of a jerk.
//!
//! | type | for |
//! |---|---|
//! | [`BSpline`] | knots, spans, basis functions at one time |
//! | [`SplineTable`] | evaluation at fixed times, and the pull-back of gradients to control points |
//! | [`SplineFit`] | fit to recorded samples, smoothed as their noise asks for |
//! | [`RotationReference`], [`RotationJet`] | rotations: a spline in the tangent space of a reference motion |

mod bspline;
mod evidence;
mod fit;
mod rotation;
mod smoothing;
mod table;

pub use bspline::BSpline;
pub use fit::{FitOptions, SplineFit};
pub use rotation::{RotationJet, RotationReference};
pub(crate) use table::gauss_between;
pub use table::{Sampling, SplineTable};

/// Why a spline could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error, serde::Serialize)]
#[non_exhaustive]
pub enum SplineError {
    /// The duration is not a positive number.
    #[error("the duration is {duration} s; it must be positive")]
    BadDuration {
        /// Duration given.
        duration: f64,
    },
    /// The degree of the spline does not support the derivatives: those of its order and above jump at the knots.
    #[error("degree {degree} is outside {needed} to 12, which derivatives of order {order} need")]
    DegreeTooLow {
        /// Degree given.
        degree: usize,
        /// Degree needed.
        needed: usize,
        /// Highest derivative.
        order: usize,
    },
    /// Too few control points for the degree.
    #[error("{found} control points are too few, the degree needs {needed}")]
    TooFewControlPoints {
        /// Number given.
        found: usize,
        /// Number needed.
        needed: usize,
    },
    /// The number of samples or Gauss points makes no sense.
    #[error("{found} samples: uniform sampling needs 2 or more, Gauss sampling 1 to 13 points per span")]
    BadSampling {
        /// Number given.
        found: usize,
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
