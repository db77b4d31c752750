//! Errors of a whole problem, told at the key that can mend them.

use leastaction::mechanism::Mechanism;
use leastaction::optimize::{MotionProblem, OptimizeError};
use leastaction::spline::SplineError;

use super::reader::Reader;

impl Reader {
    /// An error of the whole problem, at the key that can mend it.
    pub(super) fn explain(&mut self, error: &OptimizeError, problem: &MotionProblem, mechanism: &Mechanism) {
        let labels = mechanism.v_labels();
        let joint = |c: usize| labels.get(c).cloned().unwrap_or_default();
        let term = |name: &str| problem.terms.iter().position(|t| t.name == name).unwrap_or(0);
        let (place, element, message, remedy) = match error {
            OptimizeError::TermNeedsDegree { term: name, needed, .. } => (
                "degree".to_owned(),
                "key `degree`",
                error.to_string(),
                format!("give degree = {needed} or more, or leave term {} out", term(name) + 1),
            ),
            OptimizeError::Spline(SplineError::DegreeTooLow { needed, .. }) => (
                "degree".into(),
                "key `degree`",
                error.to_string(),
                format!("give a degree from {needed} to 12"),
            ),
            OptimizeError::Spline(SplineError::TooFewControlPoints { needed, .. }) => (
                "control_points".into(),
                "key `control_points`",
                error.to_string(),
                format!("give {needed} or more"),
            ),
            OptimizeError::TermOutside { term: name, .. } => (
                format!("term {}", term(name)),
                "key `during`",
                error.to_string(),
                "give [from, to] inside the motion, long enough to hold a sample".into(),
            ),
            OptimizeError::TaskOutside { .. } => (
                "constraints".into(),
                "constraint",
                error.to_string(),
                "give a time inside the motion".into(),
            ),
            OptimizeError::NothingFree { fixed, .. } => (
                "control_points".into(),
                "key `control_points`",
                error.to_string(),
                format!("give more than {fixed}"),
            ),
            OptimizeError::Spline(SplineError::BadSampling { .. }) => (
                "samples".into(),
                "key `samples`",
                error.to_string(),
                "give `samples = 200`, or `gauss_points = 3`".into(),
            ),
            OptimizeError::EmptyLimit { kind, coordinate, lower, upper } => (
                format!("limits.{kind}"),
                "table `limits`",
                format!(
                    "the {kind} limits of `{}` are {lower} to {upper}: nothing is between them",
                    joint(*coordinate)
                ),
                "give a lower limit below the upper one".into(),
            ),
            OptimizeError::BoundaryOutsideLimit { end, kind, coordinate, value, lower, upper } => (
                (*end).to_owned(),
                "boundary state",
                format!(
                    "the {end} has {kind} {value} for `{}`, outside its limits {lower} to {upper}",
                    joint(*coordinate)
                ),
                "change the boundary state or widen the limit".into(),
            ),
            OptimizeError::BadViaPoint { .. } => {
                ("via".into(), "via point", error.to_string(), "give a time inside the motion".into())
            }
            OptimizeError::WrongLength { name: "metric", expected, .. } => (
                "metric".into(),
                "key `metric`",
                error.to_string(),
                format!("give {expected} numbers, zero or positive"),
            ),
            OptimizeError::NoTerms => (
                "terms".into(),
                "terms",
                error.to_string(),
                "give at least one term a positive weight".into(),
            ),
            OptimizeError::RotationCoordinate { coordinate, what } => (
                if *what == "position limits" { "limits.position" } else { "via" }.into(),
                "rotation",
                format!("`{}` is part of a rotation or moves with one: it has no {what}", joint(*coordinate)),
                "leave the joint out, or track the orientation or point of its body".into(),
            ),
            OptimizeError::NoDirection { end, .. } => (
                (*end).to_owned(),
                "boundary state",
                error.to_string(),
                "give a unit quaternion w, x, y, z".into(),
            ),
            _ => (
                "model".into(),
                "problem",
                error.to_string(),
                "see `docs/schema/problem-1.schema.json`".into(),
            ),
        };
        let span = self.places.get(&place).or_else(|| self.places.get("trajectory")).cloned().unwrap_or(0..0);
        self.values.problem(span, element, message, remedy);
    }
}
