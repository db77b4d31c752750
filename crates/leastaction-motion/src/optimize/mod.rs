//! Motion optimisation: motions from costs (the direct problem) and costs from motions (the inverse problem).
//!
//! A motion is a clamped B-spline. The direct problem finds its control points,
//!
//! ```text
//! min_θ  f(θ) = Σ_t w_t c_t(θ),   c_t = ½ mean_s |r_t(s)|²,   subject to limits and boundary states,
//! ```
//!
//! by Newton's method with the exact Hessian on a banded system, O(control points + samples) per iteration: `direct.rs`
//! decides between Newton (`newton.rs`) and the interior point (`interior_point.rs`). The inverse
//! problem finds the weights `w` that make an observed motion optimal. `docs/theory/05-optimization.md` derives what
//! the code cites.

mod active_set;
mod between;
mod bilevel;
mod boundary;
mod confidence;
mod direct;
mod explaining_set;
mod gaps;
mod goals;
mod hessian;
mod interior_point;
mod inverse;
mod kkt;
mod newton;
mod observation;
mod pace;
mod problem;
mod restoration;
mod rows;
mod status;
mod task;
mod task_rows;
mod timing;
mod transcription;

use crate::jet::{JetError, JetQuantities, NoQuantities};
pub use crate::jet::{MotionChart, Quantity, QuantityKind, Target};
pub use crate::linalg::Banded;
use crate::spline::SplineError;
pub use crate::spline::{Sampling, SplineTable};
pub use bilevel::{BilevelOptions, BilevelSolution, infer_noisy};
pub use boundary::{end_control_points, start_control_points};
pub use direct::{SolveOptions, solve};
pub use hessian::HessianKind;
pub use interior_point::InteriorPointOptions;
pub use inverse::{InverseOptions, InverseSolution, infer};
pub use newton::{NewtonOptions, NewtonReport, minimise, polish};
pub use observation::{Fit, Observation};
pub use problem::{BoundaryState, Limit, LimitKind, MotionProblem, Term, TermKind, ViaPoint};
pub use rows::{Bound, quantities_of};
pub use status::{ActiveBound, Obstacle, Progress, Solution, SolveStatus, Wish};
pub use task::{TaskConstraint, TaskKind, TaskReport, When};
pub use transcription::{ControlPoints, Point, Transcription};

impl Transcription {
    /// A problem with its quantities evaluated by jets.
    ///
    /// # Errors
    /// What [`MotionProblem::validate`] finds.
    pub fn with_jets(
        mechanism: &crate::mechanism::Mechanism,
        problem: &MotionProblem,
    ) -> Result<Self, OptimizeError> {
        problem.validate(mechanism)?;
        let chart = problem.chart(mechanism);
        let quantities = quantities_of(problem, &chart);
        if quantities.is_empty() {
            return Self::new(mechanism, problem, Box::new(NoQuantities));
        }
        let mut quantities = JetQuantities::with_chart(mechanism, &quantities, &chart)?;
        quantities.include_passive(problem.passive);
        Self::new(mechanism, problem, Box::new(quantities))
    }
}

/// Why a problem could not be set up.
#[derive(Clone, Debug, PartialEq, thiserror::Error, serde::Serialize)]
#[non_exhaustive]
pub enum OptimizeError {
    /// The spline cannot be made.
    #[error(transparent)]
    Spline(#[from] SplineError),
    /// A quantity cannot be evaluated.
    #[error(transparent)]
    Jet(#[from] JetError),
    /// No cost term has a positive weight.
    #[error("no cost term has a positive weight")]
    NoTerms,
    /// The mechanism has no moving joint.
    #[error("the mechanism has no moving joint")]
    NothingMoves,
    /// A term needs a higher degree.
    #[error("term `{term}` needs a spline of degree {needed} or more, this one has {degree}")]
    TermNeedsDegree {
        /// The term.
        term: String,
        /// Degree given.
        degree: usize,
        /// Degree needed.
        needed: usize,
    },
    /// The boundary states fix all control points.
    #[error("the boundary states fix {fixed} of {control} control points; nothing is left to optimise")]
    NothingFree {
        /// Number of control points.
        control: usize,
        /// Number fixed.
        fixed: usize,
    },
    /// A vector has the wrong length.
    #[error("`{name}` has length {found}, the problem needs {expected}")]
    WrongLength {
        /// The vector.
        name: &'static str,
        /// Length needed.
        expected: usize,
        /// Length given.
        found: usize,
    },
    /// A number is infinite or not a number.
    #[error("`{name}` holds a number that is not finite")]
    NotFinite {
        /// The vector.
        name: &'static str,
    },
    /// A weight is negative or not finite.
    #[error("term `{term}` has weight {weight}; weights are zero or positive")]
    BadWeight {
        /// The term.
        term: String,
        /// Weight given.
        weight: f64,
    },
    /// A limit leaves no room.
    #[error("the {kind} limits of coordinate {coordinate} are {lower} to {upper}: nothing is between them")]
    EmptyLimit {
        /// Kind of limit.
        kind: &'static str,
        /// Coordinate.
        coordinate: usize,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A boundary state breaks a limit.
    #[error(
        "the {end} state has {kind} {value} in coordinate {coordinate}, outside its limits {lower} to {upper}"
    )]
    BoundaryOutsideLimit {
        /// Which end.
        end: &'static str,
        /// Kind of limit.
        kind: &'static str,
        /// Coordinate.
        coordinate: usize,
        /// Value at the boundary.
        value: f64,
        /// Lower limit.
        lower: f64,
        /// Upper limit.
        upper: f64,
    },
    /// A via point is outside the motion or cannot be moved.
    #[error(
        "the via point at t = {t} s is not inside a motion of {duration} s, or the boundary fixes it already"
    )]
    BadViaPoint {
        /// Its time.
        t: f64,
        /// Duration of the motion.
        duration: f64,
    },
    /// Something that needs a plain number is asked of a rotation.
    #[error("coordinate {coordinate} is part of a rotation or moves with one: it has no {what}")]
    RotationCoordinate {
        /// The coordinate.
        coordinate: usize,
        /// What was asked for.
        what: &'static str,
    },
    /// A limit acts on a motion that a method without limits is asked about.
    #[error(
        "the best motion without limits has {kind} {value:.6} in coordinate {coordinate} at t = {t:.4} s, beyond its \
         limit {limit}: noisy recordings are inferred without limits"
    )]
    LimitActs {
        /// Kind of limit.
        kind: &'static str,
        /// Coordinate.
        coordinate: usize,
        /// Time.
        t: f64,
        /// Value there.
        value: f64,
        /// The limit.
        limit: f64,
    },
    /// A free duration that this method can't take.
    #[error(
        "the duration can be free together with the motion only if ends and via points are at rest and no joint is a ball or free"
    )]
    DurationNotFree,
    /// Constraints on frames where there can be none.
    #[error("noisy recordings are inferred without constraints on frames")]
    TasksNotSupported,
    /// A term counts at times that are not in the motion.
    #[error("term `{term}` counts from {from} s to {to} s, which is no part of a motion of {duration} s")]
    TermOutside {
        /// The term.
        term: String,
        /// First time.
        from: f64,
        /// Last time.
        to: f64,
        /// Duration of the motion.
        duration: f64,
    },
    /// A constraint on a frame is outside the motion.
    #[error("constraint `{name}` is at {t} s, outside a motion of {duration} s")]
    TaskOutside {
        /// The constraint.
        name: String,
        /// Its time.
        t: f64,
        /// Duration of the motion.
        duration: f64,
    },
    /// A quaternion of a boundary state is zero.
    #[error("the {end} state has a zero quaternion for joint `{joint}`")]
    NoDirection {
        /// Which end.
        end: &'static str,
        /// The joint.
        joint: String,
    },
}
