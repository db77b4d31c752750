//! Velocity-level constraints: knife edge, rolling disc, and a trait for your own.
//!
//! A constraint has exact velocity rows at a node (they carry its impulses and the projected read-out) and an
//! interval residual that is odd under exchange of the two ends, which keeps the step symmetric and of second
//! order. (3.24)

use std::fmt::Debug;
use std::sync::Arc;

use super::geometry::LinkPose;
use super::rotation_map::RotationMap;
use crate::mechanism::NonholonomicKind;
use crate::scalar::Dual;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Quat, Vec3};

/// One body over one interval, as a velocity constraint sees it.
#[derive(Clone, Copy, Debug)]
pub struct Interval<T = f64> {
    /// Rotation and centre of mass at the start.
    pub start: Pose<T>,
    /// Rotation and centre of mass at the end.
    pub end: Pose<T>,
    /// Angular velocity of the interval in the body frame (the same vector at both ends).
    pub omega: Vec3<T>,
    /// Velocity of the centre of mass.
    pub v: Vec3<T>,
    /// Step length.
    pub h: f64,
}

/// Slopes of an interval residual: one row of each per constraint row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalSlope {
    /// By the rotation vector of the end pose, body frame.
    pub end_rotation: Vec3,
    /// By the centre of mass at the end.
    pub end_position: Vec3,
    /// By the interval's angular velocity, body frame.
    pub omega: Vec3,
    /// By the interval's velocity.
    pub v: Vec3,
}

/// A velocity-level constraint of your own on one body, at most six rows.
///
/// The body frame of these methods sits at the centre of mass, with the axes of the model's body frame.
pub trait VelocityConstraint: Debug + Send + Sync {
    /// Number of rows, 1 to 6.
    fn rows(&self) -> usize;

    /// Velocity rows at a pose: `[angular; linear]`, world axes, linear part at the centre of mass.
    fn node_rows(&self, pose: &Pose, out: &mut [[f64; 6]]);

    /// The residual of an interval, a velocity: odd under exchange of the ends, `node_rows · velocity` as `h → 0`.
    fn residual(&self, interval: &Interval, out: &mut [f64]);

    /// Slopes of the residual.
    fn slopes(&self, interval: &Interval, out: &mut [IntervalSlope]);

    /// Rows whose residual is the change of a holonomic value: the value at a pose, to be zero; `None` for the others.
    fn position(&self, _pose: &Pose, _row: usize) -> Option<f64> {
        None
    }
}

/// Where a rolling constraint comes from.
#[derive(Clone, Debug)]
pub(crate) enum RollingKind {
    BuiltIn(NonholonomicKind),
    Custom(Arc<dyn VelocityConstraint>),
}

/// A velocity constraint in the axes of a link; `centre` is the body's centre of mass in the link frame.
#[derive(Clone, Debug)]
pub(crate) struct Rolling {
    centre: Vec3,
    shape: Shape,
}

#[derive(Clone, Debug)]
enum Shape {
    KnifeEdge { direction: Vec3 },
    Disc { axis: Vec3, radius: f64 },
    Custom { constraint: Arc<dyn VelocityConstraint>, turn: Mat3 },
}

/// Rows of a velocity constraint at one pose or interval, by `[Ω; v]` of the link's centre of mass.
pub(crate) type Rows = [[f64; 6]; 6];

fn rotate_rows<T: Real>(q: Quat<T>, centre: Vec3, x: Vec3<T>) -> (Mat3<T>, Vec3<T>) {
    let rot = q.to_matrix();
    (rot, x + rot * Vec3::constant(centre))
}

/// `uh` of the contact: the direction from the contact point to the disc's centre, and the disc's normal.
fn contact<T: Real>(rot: &Mat3<T>, axis: Vec3) -> (Vec3<T>, Vec3<T>, T) {
    let n = *rot * Vec3::constant(axis);
    let mut u = n * (-n[2]);
    u[2] += T::one();
    let s = u.norm();
    (n, u * (T::one() / s), s)
}

impl Rolling {
    pub(crate) fn new(kind: &RollingKind, body_in_link: &Pose, com: Vec3) -> Self {
        let centre = body_in_link.point(com);
        let shape = match kind {
            RollingKind::BuiltIn(NonholonomicKind::KnifeEdge { direction }) => {
                Shape::KnifeEdge { direction: body_in_link.rot * *direction }
            }
            RollingKind::BuiltIn(NonholonomicKind::RollingDisc { axis, radius }) => {
                Shape::Disc { axis: body_in_link.rot * *axis, radius: *radius }
            }
            RollingKind::Custom(constraint) => {
                Shape::Custom { constraint: constraint.clone(), turn: body_in_link.rot }
            }
        };
        Self { centre, shape }
    }

    /// True for a constraint of the user's, which has values only.
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.shape, Shape::Custom { .. })
    }

    pub(crate) fn rows(&self) -> usize {
        match &self.shape {
            Shape::KnifeEdge { .. } => 1,
            Shape::Disc { .. } => 3,
            Shape::Custom { constraint, .. } => constraint.rows().clamp(1, 6),
        }
    }

    /// Node rows `A(pose)` for the built-in shapes, generic so that they can be differentiated.
    pub(crate) fn node_rows<T: Real>(&self, pose: &LinkPose<T>, out: &mut [[T; 6]; 6]) {
        let rot = pose.q.to_matrix();
        let arm = rot * Vec3::constant(self.centre);
        let mut put = |i: usize, ang: Vec3<T>, lin: Vec3<T>| {
            // v at the centre is v + Ω × arm.
            let a = ang + arm.cross(lin);
            out[i] = [a[0], a[1], a[2], lin[0], lin[1], lin[2]];
        };
        match &self.shape {
            Shape::KnifeEdge { direction } => put(0, Vec3::zero(), rot * Vec3::constant(*direction)),
            Shape::Disc { axis, radius } => {
                let (n, uh, _) = contact(&rot, *axis);
                let rho = T::from_f64(*radius);
                let e = |i: usize| {
                    let mut e = Vec3::zero();
                    e[i] = T::one();
                    e
                };
                put(0, n.cross(uh) * (rho * n[2]), e(2));
                for i in 0..2 {
                    put(1 + i, (uh * -rho).cross(e(i)), e(i));
                }
            }
            Shape::Custom { constraint, turn } => {
                // Values only: a constraint of the user's is differentiated by differences.
                let x = pose.x.value() + arm.value();
                let body = Pose::new(rot.value() * *turn, x);
                let mut rows = [[0.0; 6]; 6];
                constraint.node_rows(&body, &mut rows[..self.rows()]);
                for (i, r) in rows.iter().enumerate().take(self.rows()) {
                    put(
                        i,
                        Vec3::constant(Vec3([r[0], r[1], r[2]])),
                        Vec3::constant(Vec3([r[3], r[4], r[5]])),
                    );
                }
            }
        }
    }

    /// Interval residual of the built-in shapes.
    pub(crate) fn residual<T: Real>(
        &self,
        start: &LinkPose<T>,
        end: &LinkPose<T>,
        omega: Vec3<T>,
        v: Vec3<T>,
        h: f64,
        out: &mut [T; 6],
    ) {
        let (rot, centre) = rotate_rows(start.q, self.centre, Vec3::zero());
        let (rot_end, centre_end) = rotate_rows(end.q, self.centre, Vec3::zero());
        let v = v + (centre_end - centre).scale(1.0 / h);
        match &self.shape {
            Shape::KnifeEdge { direction } => {
                let e = Vec3::constant(*direction);
                out[0] = (rot * e + rot_end * e).dot(v) * 0.5;
            }
            Shape::Disc { axis, radius } => {
                let (_, uh, _) = contact(&rot, *axis);
                let (_, uh_end, s_end) = contact(&rot_end, *axis);
                let spin = rot_end * omega;
                let arm = (uh + uh_end).scale(-0.5 * radius);
                let slip = v + spin.cross(arm);
                out[0] = (end.x[2] + centre_end[2] - s_end * *radius) * (1.0 / h);
                out[1] = slip[0];
                out[2] = slip[1];
            }
            Shape::Custom { constraint, turn } => {
                let body = |p: &LinkPose<T>, r: &Mat3<T>, c: Vec3<T>| {
                    Pose::new(r.value() * *turn, p.x.value() + c.value())
                };
                let interval = Interval {
                    start: body(start, &rot, centre),
                    end: body(end, &rot_end, centre_end),
                    omega: turn.tr_mul(omega.value()),
                    v: v.value(),
                    h,
                };
                let mut values = [0.0; 6];
                constraint.residual(&interval, &mut values[..self.rows()]);
                for i in 0..self.rows() {
                    out[i] = T::from_f64(values[i]);
                }
            }
        }
    }

    /// Slopes of the residual by the link's `[Ω; v]` of the interval (Ω: world rotation of the end pose per h).
    pub(crate) fn slopes(
        &self,
        map: RotationMap,
        start: &LinkPose,
        end: &LinkPose,
        omega: Vec3,
        v: Vec3,
        h: f64,
        out: &mut Rows,
    ) {
        if let Shape::Custom { constraint, turn } = &self.shape {
            self.custom_slopes(constraint.as_ref(), turn, map, start, end, omega, v, h, out);
            return;
        }
        type D = Dual<f64, 6>;
        let seed = |x: f64, i: usize| {
            let mut d = D::constant(x);
            d.eps[i] = 1.0;
            d
        };
        let rot_end = end.q.to_matrix();
        let phi = omega.scale(0.5 * h);
        // End pose turned by h Ω (world) and moved by h v; ω changes by Γ⁻¹R'ᵀΩ.
        let turn = Vec3(std::array::from_fn(|i| seed(0.0, i)));
        let body_turn = Mat3::constant(rot_end).tr_mul(turn);
        let half = Quat { w: D::constant(1.0), v: body_turn.scale(0.5 * h) };
        let push = Vec3(std::array::from_fn(|i| seed(0.0, 3 + i)));
        let end_d = LinkPose { q: Quat::constant(end.q) * half, x: Vec3::constant(end.x) + push.scale(h) };
        let omega_d = Vec3::constant(omega) + map.rate_of(Vec3::constant(phi), body_turn);
        let v_d = Vec3::constant(v) + push;
        let start_d = LinkPose { q: Quat::constant(start.q), x: Vec3::constant(start.x) };
        let mut values = [D::constant(0.0); 6];
        self.residual(&start_d, &end_d, omega_d, v_d, h, &mut values);
        for i in 0..self.rows() {
            out[i] = values[i].eps;
        }
    }

    fn custom_slopes(
        &self,
        constraint: &dyn VelocityConstraint,
        turn: &Mat3,
        map: RotationMap,
        start: &LinkPose,
        end: &LinkPose,
        omega: Vec3,
        v: Vec3,
        h: f64,
        out: &mut Rows,
    ) {
        let (rot, centre) = rotate_rows(start.q, self.centre, Vec3::zero());
        let (rot_end, centre_end) = rotate_rows(end.q, self.centre, Vec3::zero());
        let interval = Interval {
            start: Pose::new(rot * *turn, start.x + centre),
            end: Pose::new(rot_end * *turn, end.x + centre_end),
            omega: turn.tr_mul(omega),
            v: v + (centre_end - centre).scale(1.0 / h),
            h,
        };
        let mut slopes = [IntervalSlope::default(); 6];
        constraint.slopes(&interval, &mut slopes[..self.rows()]);
        let rate = map.rate_matrix(omega.scale(0.5 * h)); // Γ⁻¹
        for i in 0..self.rows() {
            let s = &slopes[i];
            let lin = s.end_position.scale(h) + s.v;
            let body = *turn * s.end_rotation.scale(h) + rate.tr_mul(*turn * s.omega);
            let ang = rot_end * body + centre_end.cross(lin);
            out[i] = [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]];
        }
    }

    /// Value of a row that is holonomic, with its slope being the node row; `None` for true velocity rows.
    pub(crate) fn position(&self, pose: &LinkPose, row: usize) -> Option<f64> {
        let (rot, centre) = rotate_rows(pose.q, self.centre, pose.x);
        match &self.shape {
            Shape::Disc { axis, radius } if row == 0 => Some(centre[2] - radius * contact(&rot, *axis).2),
            Shape::Custom { constraint, turn } => constraint.position(&Pose::new(rot * *turn, centre), row),
            _ => None,
        }
    }
}
