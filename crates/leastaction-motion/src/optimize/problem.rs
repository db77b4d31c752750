//! [`MotionProblem`]: what a motion should do, in the user's terms.

use super::{MotionChart, OptimizeError, Quantity, QuantityKind, Sampling, Target, TaskConstraint, When};
use crate::mechanism::{JointType, Mechanism};
use crate::spatial::{Mat3, Vec3};

/// A boundary state: what is fixed at one end of the motion.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoundaryState {
    /// The configuration `q`, then the velocity, the acceleration, …; no gaps. Where coordinates are plain numbers these
    /// are their derivatives; ball and free joints have quaternions in `q` and velocities in the child's frame.
    pub derivatives: Vec<Vec<f64>>,
}

impl BoundaryState {
    /// At rest: position `q`, velocity zero.
    #[must_use]
    pub fn at_rest(q: &[f64]) -> Self {
        Self { derivatives: vec![q.to_vec(), vec![0.0; q.len()]] }
    }
    /// At rest with zero acceleration as well.
    #[must_use]
    pub fn still(q: &[f64]) -> Self {
        Self { derivatives: vec![q.to_vec(), vec![0.0; q.len()], vec![0.0; q.len()]] }
    }
}

/// What a cost term measures. The cost is `c = ½ mean_s |r(s)|²`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum TermKind {
    /// Quantities themselves: joint derivatives, torques, twists, momenta, …
    Squares(Vec<Quantity>),
    /// Distance of a point or of the centre of mass (or of a derivative) from a reference.
    Tracking {
        /// Three rows: a point or the centre of mass.
        quantity: Quantity,
        /// One reference for all samples, or one per sample.
        reference: Vec<Vec3>,
    },
    /// `Log(R_refᵀ R)` of a body-fixed frame.
    OrientationTracking {
        /// The frame.
        target: Target,
        /// One reference for all samples, or one per sample.
        reference: Vec<Mat3>,
    },
    /// Distance of the control points from given ones: `½ mean_c |θ_c − ref_c|²`.
    Regularisation {
        /// Reference control points, row by row.
        reference: Vec<f64>,
    },
}

impl From<Quantity> for TermKind {
    fn from(quantity: Quantity) -> Self {
        Self::Squares(vec![quantity])
    }
}

/// A weighted cost term.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// Name in files and reports.
    pub name: String,
    /// What it measures.
    pub kind: TermKind,
    /// Its weight in the objective.
    pub weight: f64,
    /// Factor per row of the residual, to mix units; all ones if empty.
    pub metric: Vec<f64>,
    /// In place of factors a symmetric matrix, row-major, that every group of as many rows is measured by (6×6 for
    /// twists and momenta); none if empty.
    pub metric_matrix: Vec<f64>,
    /// When it counts; always if `None`. The mean is taken over the whole motion either way.
    pub during: Option<(f64, f64)>,
}

impl Term {
    /// A term with unit metric that always counts.
    pub fn new(name: impl Into<String>, kind: impl Into<TermKind>, weight: f64) -> Self {
        let (metric, metric_matrix) = (Vec::new(), Vec::new());
        Self { name: name.into(), kind: kind.into(), weight, metric, metric_matrix, during: None }
    }

    /// A joint-space or torque term by its name in files; `None` for names that need more than a weight.
    #[must_use]
    pub fn by_name(name: &str, mechanism: &Mechanism, weight: f64) -> Option<Self> {
        let velocities = |order: usize| {
            let bodies = mechanism.tree().nodes.iter().map(|n| Target::body(n.body));
            TermKind::Squares(bodies.map(|body| Quantity::velocity(body, order)).collect())
        };
        let kind = match name {
            "joint_velocity" => Quantity::joint(1).into(),
            "joint_acceleration" => Quantity::joint(2).into(),
            "joint_jerk" => Quantity::joint(3).into(),
            "joint_snap" => Quantity::joint(4).into(),
            "torque" => Quantity::torque(0).into(),
            "torque_rate" => Quantity::torque(1).into(),
            "torque_rate2" => Quantity::torque(2).into(),
            "link_velocity" => velocities(0),
            "link_velocity_rate" => velocities(1),
            "link_velocity_rate2" => velocities(2),
            "momentum" => Quantity::momentum(0, false).into(),
            "momentum_rate" => Quantity::momentum(1, false).into(),
            _ => return None,
        };
        Some(Self::new(name, kind, weight))
    }

    /// The derivative of the coordinates it measures, if those are rows of the spline's own state.
    pub(super) fn state_order(&self, chart: &MotionChart) -> Option<usize> {
        match &self.kind {
            TermKind::Squares(list) if chart.is_identity() => match list[..] {
                [Quantity { kind: QuantityKind::Joint, order, .. }] => Some(order),
                _ => None,
            },
            _ => None,
        }
    }

    /// The quantities the term needs besides the state; orientations with their references.
    pub(super) fn quantities(&self, chart: &MotionChart) -> Vec<(Quantity, Vec<Mat3>)> {
        match &self.kind {
            TermKind::Squares(_) if self.state_order(chart).is_some() => Vec::new(),
            TermKind::Squares(list) => list.iter().map(|q| (*q, Vec::new())).collect(),
            TermKind::Tracking { quantity, .. } => vec![(*quantity, Vec::new())],
            TermKind::OrientationTracking { target, reference } => {
                vec![(Quantity::orientation(*target), reference.clone())]
            }
            TermKind::Regularisation { .. } => Vec::new(),
        }
    }

    /// Highest derivative of `q` it depends on.
    #[must_use]
    pub fn highest_derivative(&self) -> usize {
        match &self.kind {
            TermKind::Squares(list) => list.iter().map(Quantity::highest_derivative).max().unwrap_or(0),
            TermKind::Tracking { quantity, .. } => quantity.highest_derivative(),
            TermKind::OrientationTracking { .. } | TermKind::Regularisation { .. } => 0,
        }
    }
}

/// What a limit bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LimitKind {
    /// `q` at the samples.
    Position,
    /// `q` at the control points: holds for all times, slightly conservative.
    ControlPoint,
    /// `q'`.
    Velocity,
    /// `q''`.
    Acceleration,
    /// `q'''`.
    Jerk,
    /// Torque.
    Torque,
    /// Torque rate.
    TorqueRate,
}

impl LimitKind {
    /// Name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Position => "position",
            Self::ControlPoint => "control_point",
            Self::Velocity => "velocity",
            Self::Acceleration => "acceleration",
            Self::Jerk => "jerk",
            Self::Torque => "torque",
            Self::TorqueRate => "torque_rate",
        }
    }
    /// Highest derivative of `q` it depends on.
    #[must_use]
    pub fn highest_derivative(self) -> usize {
        match self {
            Self::Position | Self::ControlPoint => 0,
            Self::Velocity => 1,
            Self::Acceleration | Self::Torque => 2,
            Self::Jerk | Self::TorqueRate => 3,
        }
    }
    /// The derivative it bounds, for limits in joint space.
    pub(super) fn derivative(self) -> Option<usize> {
        match self {
            Self::Position => Some(0),
            Self::Velocity => Some(1),
            Self::Acceleration => Some(2),
            Self::Jerk => Some(3),
            _ => None,
        }
    }
    /// The quantity it bounds, if that is not a row of the spline's own state.
    pub(super) fn quantity(self, chart: &MotionChart) -> Option<Quantity> {
        match (self, self.derivative()) {
            (Self::Torque, _) => Some(Quantity::torque(0)),
            (Self::TorqueRate, _) => Some(Quantity::torque(1)),
            (_, Some(order)) if order > 0 && !chart.is_identity() => Some(Quantity::joint(order)),
            _ => None,
        }
    }
}

/// Two-sided bounds of one kind, one per coordinate; infinite where there is none.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What is bounded.
    pub kind: LimitKind,
    /// Lower bounds.
    pub lower: Vec<f64>,
    /// Upper bounds.
    pub upper: Vec<f64>,
}

impl Limit {
    /// `|value| ≤ bound` for all of `n` coordinates.
    #[must_use]
    pub fn symmetric(kind: LimitKind, bound: f64, n: usize) -> Self {
        Self { kind, lower: vec![-bound; n], upper: vec![bound; n] }
    }
}

/// A value that a derivative of one coordinate must have at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViaPoint {
    /// Time.
    pub t: f64,
    /// Velocity coordinate.
    pub coordinate: usize,
    /// Derivative order, 0 for the position.
    pub order: usize,
    /// The value.
    pub value: f64,
}

/// A motion to be found: a spline, its ends, costs, limits and via points.
#[derive(Clone, Debug, PartialEq)]
pub struct MotionProblem {
    /// Duration in seconds.
    pub duration: f64,
    /// Degree of the spline.
    pub degree: usize,
    /// Number of control points.
    pub n_control: usize,
    /// Where costs and limits are sampled.
    pub sampling: Sampling,
    /// The start.
    pub start: BoundaryState,
    /// The end.
    pub end: BoundaryState,
    /// Cost terms.
    pub terms: Vec<Term>,
    /// Limits.
    pub limits: Vec<Limit>,
    /// Via points.
    pub via: Vec<ViaPoint>,
    /// Torques include springs, dampers and armature of the joints.
    pub passive: bool,
    /// Goals and constraints on frames.
    pub tasks: Vec<TaskConstraint>,
}

impl MotionProblem {
    /// Number of derivatives the problem needs, the position included.
    #[must_use]
    pub fn orders(&self) -> usize {
        let terms = self.terms.iter().map(Term::highest_derivative);
        let limits = self.limits.iter().map(|l| l.kind.highest_derivative());
        let via = self.via.iter().map(|v| v.order);
        let ends = [&self.start, &self.end].into_iter().map(|b| b.derivatives.len().saturating_sub(1));
        1 + terms.chain(limits).chain(via).chain(ends).max().unwrap_or(0)
    }

    /// True if all that is fixed of velocities, accelerations, … is zero.
    pub(super) fn rests_at_ends(&self) -> bool {
        let rows = self.start.derivatives.iter().skip(1).chain(self.end.derivatives.iter().skip(1));
        rows.flatten().all(|x| *x == 0.0) && self.via.iter().all(|via| via.order == 0 || via.value == 0.0)
    }

    /// The degree that holds the best motions of its terms: a cost of the `d`-th derivative alone is minimised by polynomials
    /// of degree `2d − 1`.
    #[must_use]
    pub fn natural_degree(&self) -> usize {
        let highest = self.terms.iter().map(Term::highest_derivative).max().unwrap_or(0);
        (2 * highest).saturating_sub(1).max(self.orders()).clamp(5, 12)
    }

    /// How the coordinates of the spline become a motion of the mechanism.
    #[must_use]
    pub fn chart(&self, mechanism: &Mechanism) -> MotionChart {
        let q = |state: &BoundaryState| state.derivatives.first().cloned().unwrap_or_default();
        // Without an end the reference stays where it starts.
        let end = if self.end.derivatives.is_empty() { &self.start } else { &self.end };
        MotionChart::new(mechanism, &q(&self.start), &q(end), self.duration)
    }

    /// Checks sizes and values against a mechanism.
    ///
    /// # Errors
    /// The first thing that is wrong, with names and numbers.
    pub fn validate(&self, mechanism: &Mechanism) -> Result<(), OptimizeError> {
        let n = mechanism.nv();
        if n == 0 {
            return Err(OptimizeError::NothingMoves);
        }
        if self.terms.is_empty() {
            return Err(OptimizeError::NoTerms);
        }
        for term in &self.terms {
            if !(term.weight >= 0.0 && term.weight.is_finite()) {
                return Err(OptimizeError::BadWeight { term: term.name.clone(), weight: term.weight });
            }
            let needed = term.highest_derivative() + 1;
            if self.degree < needed {
                return Err(OptimizeError::TermNeedsDegree {
                    term: term.name.clone(),
                    degree: self.degree,
                    needed,
                });
            }
            if let Some((from, to)) = term.during
                && !(0.0 <= from && from < to && to <= self.duration)
            {
                let (term, duration) = (term.name.clone(), self.duration);
                return Err(OptimizeError::TermOutside { term, from, to, duration });
            }
        }
        if self.terms.iter().all(|t| t.weight == 0.0) {
            return Err(OptimizeError::NoTerms);
        }
        for (end, state) in [("start", &self.start), ("end", &self.end)] {
            for (order, row) in state.derivatives.iter().enumerate() {
                let expected = if order == 0 { mechanism.nq() } else { n };
                if row.len() != expected {
                    return Err(OptimizeError::WrongLength { name: end, expected, found: row.len() });
                }
                if row.iter().any(|x| !x.is_finite()) {
                    return Err(OptimizeError::NotFinite { name: end });
                }
            }
            let Some(q) = state.derivatives.first() else {
                // Where constraints say what the end is, its configuration may be free.
                if end == "end" && !self.tasks.is_empty() {
                    continue;
                }
                return Err(OptimizeError::WrongLength { name: end, expected: mechanism.nq(), found: 0 });
            };
            for id in mechanism.tree_joints() {
                let joint = mechanism.joint(id);
                let at = mechanism.q_range(id).start;
                if matches!(joint.kind, JointType::Spherical | JointType::Floating)
                    && q[at..at + 4].iter().map(|x| x * x).sum::<f64>() < 1e-12
                {
                    return Err(OptimizeError::NoDirection { end, joint: joint.name.clone() });
                }
            }
        }
        let fixed = self.start.derivatives.len() + self.end.derivatives.len();
        if self.n_control <= fixed {
            return Err(OptimizeError::NothingFree { control: self.n_control, fixed });
        }
        let chart = self.chart(mechanism);
        for limit in &self.limits {
            for (j, (low, high)) in limit.lower.iter().zip(&limit.upper).enumerate() {
                if low.is_nan() || high.is_nan() || low >= high {
                    return Err(OptimizeError::EmptyLimit {
                        kind: limit.kind.name(),
                        coordinate: j,
                        lower: *low,
                        upper: *high,
                    });
                }
            }
            if limit.lower.len() != n || limit.upper.len() != n {
                let found = limit.lower.len().min(limit.upper.len());
                return Err(OptimizeError::WrongLength { name: "limits", expected: n, found });
            }
            self.check_boundary(limit, &chart, mechanism)?;
        }
        for task in &self.tasks {
            let (from, to) = match task.when {
                When::At(t) => (t, t),
                When::During(from, to) => (from, to),
            };
            for t in [from, to] {
                if !(0.0..=self.duration).contains(&t) || from > to {
                    return Err(OptimizeError::TaskOutside {
                        name: task.name.clone(),
                        t,
                        duration: self.duration,
                    });
                }
            }
        }
        for via in &self.via {
            if !(0.0..=self.duration).contains(&via.t) || via.coordinate >= n || !via.value.is_finite() {
                return Err(OptimizeError::BadViaPoint { t: via.t, duration: self.duration });
            }
            if chart.position_of(via.coordinate).is_none() {
                let what = "via points";
                return Err(OptimizeError::RotationCoordinate { coordinate: via.coordinate, what });
            }
            if via.order > 0 && Self::in_free_joint(mechanism, via.coordinate) {
                let what = "via points of velocities";
                return Err(OptimizeError::RotationCoordinate { coordinate: via.coordinate, what });
            }
        }
        Ok(())
    }

    /// True for coordinates of a free joint, whose velocity is not the derivative of its position.
    fn in_free_joint(mechanism: &Mechanism, coordinate: usize) -> bool {
        mechanism.tree_joints().any(|id| {
            mechanism.joint(id).kind == JointType::Floating && mechanism.v_range(id).contains(&coordinate)
        })
    }

    /// Limits in joint space that the boundary states break.
    fn check_boundary(
        &self,
        limit: &Limit,
        chart: &MotionChart,
        mechanism: &Mechanism,
    ) -> Result<(), OptimizeError> {
        let order = match limit.kind {
            LimitKind::ControlPoint => Some(0),
            kind => kind.derivative(),
        };
        let Some(order) = order else { return Ok(()) };
        for (end, state) in [("start", &self.start), ("end", &self.end)] {
            let Some(row) = state.derivatives.get(order) else { continue };
            for j in 0..mechanism.nv() {
                let at = if order > 0 { Some(j) } else { chart.position_of(j) };
                let Some(x) = at.map(|i| &row[i]) else {
                    if limit.lower[j].is_finite() || limit.upper[j].is_finite() {
                        let what = "position limits";
                        return Err(OptimizeError::RotationCoordinate { coordinate: j, what });
                    }
                    continue;
                };
                if *x < limit.lower[j] || *x > limit.upper[j] {
                    return Err(OptimizeError::BoundaryOutsideLimit {
                        end,
                        kind: limit.kind.name(),
                        coordinate: j,
                        value: *x,
                        lower: limit.lower[j],
                        upper: limit.upper[j],
                    });
                }
            }
        }
        Ok(())
    }
}
