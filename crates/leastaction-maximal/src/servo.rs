//! Servos: forces on a joint coordinate that follow a law of length and velocity (1.9), implicit in the step.
//!
//! Over an interval a law is taken at the middle of the increment and its mean rate, `y + dy/2` and `dy/h`, and acts with half its
//! impulse at each end. It joins the impulse row of the coordinate (3.22), so that stiff gains are stable at any step:
//!
//! ```text
//! s = f0 − α dy + (h/2) Q,   e = f0 + β dy + (h/2) Q,   Q = cut(Σ_k gear_k F_k)                                (3.60)
//! ```

use super::coordinate::increments;
use super::geometry::Side;
use super::layout::{Layout, LinkJoint};
use super::workspace::StepData;
use crate::mechanism::{InputLaw, Mechanism, cut};
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3, Wrench};

/// An input on a joint one of whose inputs depends on the motion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Servo {
    pub(crate) input: usize,
    pub(crate) coordinate: usize,
    pub(crate) gear: f64,
    pub(crate) law: InputLaw,
}

impl LinkJoint {
    /// The servos of a coordinate.
    pub(crate) fn servos_of(&self, c: usize) -> impl Iterator<Item = &Servo> {
        self.servos.iter().filter(move |servo| servo.coordinate == c)
    }

    /// Sum of the forces on coordinate `c` at the middle of the interval, cut at the effort limit.
    pub(crate) fn servo_force<T: Real>(&self, c: usize, y: T, rate: T, u: &[f64]) -> T {
        let mut sum = T::zero();
        for Servo { input, gear, law, .. } in self.servos_of(c) {
            sum += law.force(T::from_f64(u[*input]), y * *gear, rate * *gear) * *gear;
        }
        cut(sum, self.effort).0
    }

    /// Derivatives of [`servo_force`](Self::servo_force) by coordinate and rate.
    pub(crate) fn servo_slopes(&self, c: usize, y: f64, rate: f64, u: &[f64]) -> [f64; 2] {
        let (mut sum, mut slopes) = (0.0, [0.0; 2]);
        for Servo { input, gear, law, .. } in self.servos_of(c) {
            sum += law.force(u[*input], y * gear, rate * gear) * gear;
            let by = law.slopes(u[*input], y * gear, rate * gear);
            slopes[0] += gear * gear * by.by_length;
            slopes[1] += gear * gear * by.by_velocity;
        }
        if cut(sum, self.effort).1 { slopes } else { [0.0; 2] }
    }
}

/// What the inputs of a step come to: forces, where they are known before it, with their derivatives by the inputs; the inputs
/// of servos as they are. Does not allocate.
pub(crate) fn known_forces(mechanism: &Mechanism, u: &[f64], forces: &mut [f64], slopes: &mut [f64]) {
    for (k, drive) in mechanism.drives().iter().enumerate() {
        let as_it_is = drive.plain || drive.law.is_servo();
        forces[k] = if as_it_is { u[k] } else { drive.law.force(u[k], 0.0, 0.0) };
        slopes[k] = if as_it_is { 1.0 } else { drive.law.slopes(u[k], 0.0, 0.0).by_input };
    }
}

/// Adds the impulse of every input over the interval, as it acted, and gives their work: what an effort limit cuts off is taken
/// from the inputs of that coordinate in proportion. Servos are counted where they act as over one interval of order 2.
/// Does not allocate.
pub(crate) fn add_actuation(
    layout: &Layout,
    step: &StepData,
    start: &Side,
    end: &Side,
    q: &[f64],
    with_servos: bool,
    out: &mut [f64],
) -> f64 {
    let mut work = 0.0;
    if out.is_empty() {
        return work;
    }
    for (k, sum) in out.iter_mut().enumerate().filter(|(k, _)| layout.places[*k] != 1) {
        *sum += step.known[k] * step.h;
    }
    for (i, link) in layout.links.iter().enumerate() {
        for (input, point, wrench) in &link.pushes {
            work += step.known[*input] * push_travel(start, end, i, *point, wrench);
        }
        for (input, wrench) in &link.thrusters {
            work += step.known[*input] * thruster_travel(start, end, i, wrench);
        }
        let joint = &link.joint;
        let skipped = if with_servos { joint.servos.is_empty() } else { true };
        if joint.actuators.is_empty() && skipped {
            continue;
        }
        let mut travel = [0.0; 6];
        increments(joint.kind, &start.joints[i], &end.joints[i], &mut travel);
        for c in 0..joint.kind.nv() {
            let (y, rate) = (q[link.q + c] + 0.5 * travel[c], travel[c] / step.h);
            let servo = |s: &Servo| s.law.force(step.known[s.input], y * s.gear, rate * s.gear);
            let plain = || joint.actuators.iter().filter(|a| a.1 == c).map(|a| (a.0, a.2, step.known[a.0]));
            let driven = || joint.servos_of(c).map(|s| (s.input, s.gear, servo(s)));
            let asked: f64 = plain().chain(driven()).map(|(_, gear, force)| gear * force).sum();
            let (held, free) = cut(asked, joint.effort);
            let left = if free || asked == 0.0 { 1.0 } else { held / asked };
            work += held * travel[c];
            for (input, _, force) in plain().chain(driven()).filter(|a| layout.places[a.0] == 1) {
                out[input] += force * left * step.h;
            }
        }
    }
    for (l, joint) in layout.loops.iter().enumerate().filter(|(_, joint)| !joint.actuators.is_empty()) {
        let mut travel = [0.0; 6];
        increments(joint.kind, &start.loops[l], &end.loops[l], &mut travel);
        for c in 0..joint.kind.nv() {
            let asked: f64 = joint.actuators.iter().filter(|a| a.1 == c).map(|a| a.2 * step.known[a.0]).sum();
            work += cut(asked, joint.effort).0 * travel[c];
        }
    }
    work
}

/// How far a link moves along a push, to second order.
fn push_travel(start: &Side, end: &Side, i: usize, point: Vec3, wrench: &Wrench) -> f64 {
    let (from, to) = (&start.rot[i], &end.rot[i]);
    let place = |side: &Side, rot: &Mat3| side.point[i] - side.arm[i] + *rot * point;
    let turn = (*to * from.transpose()).vee();
    turn.dot(wrench.ang) + (place(end, to) - place(start, from)).dot(wrench.lin)
}

/// How far a link moves along a wrench fixed in it, to second order.
fn thruster_travel(start: &Side, end: &Side, i: usize, wrench: &Wrench) -> f64 {
    let (from, to) = (&start.rot[i], &end.rot[i]);
    let turn = (from.transpose() * *to).vee();
    let slide = (end.point[i] - end.arm[i]) - (start.point[i] - start.arm[i]);
    let force = (*from * wrench.lin + *to * wrench.lin) * 0.5;
    turn.dot(wrench.ang) + slide.dot(force)
}
