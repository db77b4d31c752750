//! [`LoopMotion`]: what loop joints hold and the coordinates they leave, as rows on the velocities of the tree.
//!
//! A joint's relative twist, in its child's joint frame, is `J v`. Of six directions some are held, the others are the rates of
//! its coordinates. Dual numbers along the motion give every row's own rate beside it.

use super::Kinematics;
use crate::mechanism::{JointId, JointType, Mechanism};
use crate::scalar::{Dual, Real, elementary};
use crate::spatial::{Pose, Twist, Vec3};

type Moving = Dual<f64, 1>;

/// Six directions of relative twist in the child's joint frame: those the joint holds, then those of its coordinates.
pub(super) struct Directions<T> {
    pub(super) list: [[T; 6]; 6],
    pub(super) held: usize,
    pub(super) all: usize,
}

/// Directions of a joint at the pose of its child's frame in its parent's.
pub(super) fn directions<T: Real>(kind: JointType, relative: &Pose<T>) -> Directions<T> {
    let mut out = Directions { list: [[T::zero(); 6]; 6], held: 0, all: 0 };
    let unit = |i: usize| std::array::from_fn(|k| T::from_f64(f64::from(u8::from(k == i))));
    // The parent's axes in the child's frame.
    let seen = |i: usize| -> Vec3<T> { relative.rot.transpose().column(i) };
    let zero = T::zero();
    let linear = |a: Vec3<T>| [zero, zero, zero, a[0], a[1], a[2]];
    let angular = |a: Vec3<T>| [a[0], a[1], a[2], zero, zero, zero];
    let mut add = |direction: [T; 6]| {
        out.list[out.all] = direction;
        out.all += 1;
    };
    let (held, free): (&[usize], &[usize]) = match kind {
        JointType::Fixed => (&[0, 1, 2, 3, 4, 5], &[]),
        JointType::Revolute | JointType::Continuous => (&[0, 1, 3, 4, 5], &[2]),
        JointType::Prismatic => (&[0, 1, 2, 3, 4], &[5]),
        JointType::Cylindrical => (&[0, 1, 3, 4], &[2, 5]),
        JointType::Planar => (&[0, 1, 5], &[]),
        JointType::Spherical => (&[3, 4, 5], &[0, 1, 2]),
        JointType::Universal => (&[3, 4, 5], &[]),
        JointType::PointOnLine | JointType::Floating => (&[], &[]),
    };
    held.iter().for_each(|i| add(unit(*i)));
    let mut count = held.len();
    match kind {
        JointType::Universal => {
            add(angular(seen(2).cross(Vec3::constant(Vec3([1.0, 0.0, 0.0])))));
            count += 1;
            add(angular(seen(2)));
            add(unit(0));
        }
        JointType::Planar => {
            add(linear(seen(0)));
            add(linear(seen(1)));
            add(unit(2));
        }
        JointType::PointOnLine => {
            add(linear(seen(0)));
            add(linear(seen(1)));
            count = 2;
        }
        _ => free.iter().for_each(|i| add(unit(*i))),
    }
    out.held = count;
    out
}

/// Coordinates of a joint at the pose of its child's frame in its parent's; angles from −π to π. Not for balls.
fn coordinates(kind: JointType, relative: &Pose) -> [f64; 3] {
    let (r, p) = (&relative.rot.0, &relative.pos);
    let about_z = elementary::atan2(r[1][0], r[0][0]);
    match kind {
        JointType::Revolute | JointType::Continuous => [about_z, 0.0, 0.0],
        JointType::Prismatic => [p[2], 0.0, 0.0],
        JointType::Cylindrical => [about_z, p[2], 0.0],
        JointType::Universal => [about_z, elementary::atan2(r[2][1], r[2][2]), 0.0],
        JointType::Planar => [p[0], p[1], about_z],
        _ => [0.0; 3],
    }
}

/// True if a coordinate is an angle that can wind up.
fn is_angle(kind: JointType, part: usize) -> bool {
    match kind {
        JointType::Revolute | JointType::Continuous | JointType::Universal => true,
        JointType::Cylindrical => part == 0,
        JointType::Planar => part == 2,
        _ => false,
    }
}

/// One row: its rate is `gradient · v`, and at constant `v` that changes at `drift`.
#[derive(Clone, Debug)]
pub struct LoopRow {
    /// By velocity coordinate.
    pub gradient: Vec<f64>,
    /// Rate of `gradient · v` at constant `v`.
    pub drift: f64,
}

/// The rows of all loop joints at one state. Made once per mechanism; placing does not allocate.
#[derive(Clone, Debug)]
pub struct LoopMotion {
    kinematics: Kinematics<Moving>,
    q: Vec<Moving>,
    motion: Vec<Moving>,
    moved: Vec<Moving>,
    of_child: Vec<Twist<Moving>>,
    of_parent: Vec<Twist<Moving>>,
    /// By loop joint, the directions held first.
    rows: Vec<Vec<LoopRow>>,
    held: Vec<usize>,
    values: Vec<[f64; 3]>,
    /// The first loop joint.
    first: usize,
}

impl LoopMotion {
    /// Memory for a mechanism; none if it has no loops.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Option<Box<Self>> {
        let first = mechanism.loop_joints().next()?.index();
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let at_zero =
            |id: JointId| directions::<f64>(mechanism.joint(id).kind, &Pose::constant(&Pose::identity()));
        let row = || LoopRow { gradient: vec![0.0; nv], drift: 0.0 };
        Some(Box::new(Self {
            kinematics: Kinematics::new(mechanism),
            q: vec![Moving::zero(); nq],
            motion: vec![Moving::zero(); nv],
            moved: vec![Moving::zero(); nq],
            of_child: vec![Twist::zero(); nv],
            of_parent: vec![Twist::zero(); nv],
            rows: mechanism.loop_joints().map(|id| vec![row(); at_zero(id).all]).collect(),
            held: mechanism.loop_joints().map(|id| at_zero(id).held).collect(),
            values: vec![[0.0; 3]; mechanism.loop_joints().count()],
            first,
        }))
    }

    /// Takes a state. Does not allocate.
    pub fn place(&mut self, mechanism: &Mechanism, q: &[f64], v: &[f64]) {
        for (to, x) in self.q.iter_mut().zip(q) {
            *to = Moving::constant(*x);
        }
        for (to, v) in self.motion.iter_mut().zip(v) {
            *to = Dual { re: 0.0, eps: [*v] };
        }
        mechanism.retract(&self.q, &self.motion, &mut self.moved);
        self.kinematics.update_positions(mechanism, &self.moved);
        for (l, id) in mechanism.loop_joints().enumerate() {
            let joint = mechanism.joint(id);
            let (child_frame, parent_frame) =
                (Pose::constant(&joint.child_frame), Pose::constant(&joint.parent_frame));
            let child = self.kinematics.body_pose(mechanism, joint.child) * child_frame;
            self.kinematics.body_jacobian_into(mechanism, joint.child, &mut self.of_child);
            self.of_child.iter_mut().for_each(|twist| *twist = child_frame.inv_twist(*twist));
            let mut parent = parent_frame;
            self.of_parent.fill(Twist::zero());
            if let Some(body) = joint.parent {
                let pose = self.kinematics.body_pose(mechanism, body);
                parent = pose * parent_frame;
                self.kinematics.body_jacobian_into(mechanism, body, &mut self.of_parent);
                // Seen from the child's joint frame.
                let to_child = child.inverse() * pose;
                self.of_parent.iter_mut().for_each(|twist| *twist = to_child.twist(*twist));
            }
            let relative = parent.inverse() * child;
            let directions = directions(joint.kind, &relative);
            for (row, direction) in self.rows[l].iter_mut().zip(&directions.list) {
                row.drift = 0.0;
                for (c, (child, parent)) in self.of_child.iter().zip(&self.of_parent).enumerate() {
                    let pairs = (*child - *parent).to_array().into_iter().zip(direction);
                    let along = pairs.fold(Moving::zero(), |sum, (a, b)| sum + a * *b);
                    row.gradient[c] = along.re;
                    row.drift += along.eps[0] * v[c];
                }
            }
            let still = |x: Vec3<Moving>| Vec3(x.0.map(|x| x.re));
            let rot = crate::spatial::Mat3(relative.rot.0.map(|row| row.map(|x| x.re)));
            self.values[l] = coordinates(joint.kind, &Pose::new(rot, still(relative.pos)));
        }
    }

    /// All rows that loop joints hold.
    pub fn held(&self) -> impl Iterator<Item = &LoopRow> {
        self.rows.iter().zip(&self.held).flat_map(|(rows, held)| &rows[..*held])
    }

    /// The row of a coordinate.
    #[must_use]
    pub fn coordinate(&self, joint: JointId, part: usize) -> &LoopRow {
        let l = joint.index() - self.first;
        &self.rows[l][self.held[l] + part]
    }

    /// Value of a coordinate; of the values of an angle the one nearest to `near`.
    #[must_use]
    pub fn value(&self, mechanism: &Mechanism, joint: JointId, part: usize, near: f64) -> f64 {
        let value = self.values[joint.index() - self.first][part];
        if !is_angle(mechanism.joint(joint).kind, part) {
            return value;
        }
        let turns = ((near - value) / std::f64::consts::TAU).round();
        value + std::f64::consts::TAU * turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn rows_of_coordinates_are_the_rates_of_their_values() {
        let mechanism = MechanismBuilder::from(samples::four_bar()).build().unwrap();
        let mut state = mechanism.start_state();
        state.v.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 - 0.2 * i as f64);
        let id = mechanism.loop_joints().next().unwrap();
        let mut motion = LoopMotion::new(&mechanism).unwrap();
        let mut at = |t: f64| {
            let shift: Vec<f64> = state.v.iter().map(|v| v * t).collect();
            let mut q = state.q.clone();
            mechanism.retract(&state.q, &shift, &mut q);
            motion.place(&mechanism, &q, &state.v);
            let row = motion.coordinate(id, 0);
            let rate: f64 = row.gradient.iter().zip(&state.v).map(|(g, v)| g * v).sum();
            (motion.value(&mechanism, id, 0, 0.0), rate, row.drift)
        };
        let ((now, rate, drift), e) = (at(0.0), 1e-5);
        let (before, after) = (at(-e), at(e));
        assert!(now.is_finite() && rate.abs() > 1e-3);
        assert!(((after.0 - before.0) / (2.0 * e) - rate).abs() < 1e-9);
        assert!(((after.1 - before.1) / (2.0 * e) - drift).abs() < 1e-9);
    }
}
