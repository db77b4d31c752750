//! Quantities resolved to targets of the jets: how each is read from a forward sweep and weighed for an adjoint one.
//!
//! Written once for plain numbers and for lanes of samples. With `WIDE` everything is compiled into the caller, and there
//! are no orientations: their logarithm branches on the angle, each sample for itself.

use super::Quantity;
use crate::jet::{JetWorkspace, Quantity as JetQuantity, Request, Target, factorial};
use crate::lie::so3;
use crate::scalar::InlineDual;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Quat, Twist, Vec3};

/// A quantity resolved to a target of the jets.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) order: usize,
    pub(super) rows: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Torque,
    Rate,
    Velocity(Target),
    Momentum { about_com: bool },
    Point(Target),
    Orientation { target: Target, reference: Vec<Mat3> },
    Com,
}

impl Item {
    pub(super) fn new(quantity: &Quantity, jets: &JetWorkspace<f64>) -> Self {
        let kind = match quantity {
            Quantity::Torque { .. } => Kind::Torque,
            Quantity::JointRate { .. } => Kind::Rate,
            Quantity::LinkVelocity { body, .. } => Kind::Velocity(jets.body(*body)),
            Quantity::Momentum { about_com, .. } => Kind::Momentum { about_com: *about_com },
            Quantity::Point { body, offset, .. } => Kind::Point(jets.body(*body).at_point(*offset)),
            Quantity::Orientation { body, offset, reference } => Kind::Orientation {
                target: jets.body(*body).offset(Pose::new(*offset, Vec3::zero())),
                reference: reference.clone(),
            },
            Quantity::Com { .. } => Kind::Com,
        };
        Self { kind, order: quantity.order(), rows: quantity.rows(jets.nv()) }
    }

    /// What to ask the jets for to get its Jacobian.
    pub(super) fn request(&self) -> Request {
        match &self.kind {
            Kind::Torque | Kind::Rate => Request::whole(JetQuantity::Torque),
            Kind::Velocity(target) => Request::local(JetQuantity::Velocity, *target),
            Kind::Momentum { about_com: true } => Request::whole(JetQuantity::CentroidalMomentum),
            Kind::Momentum { about_com: false } => Request::whole(JetQuantity::TotalMomentum),
            Kind::Point(target) => Request::world(JetQuantity::Point, *target),
            Kind::Orientation { target, .. } => Request::local(JetQuantity::Orientation, *target),
            Kind::Com => Request::whole(JetQuantity::Com),
        }
    }
}

/// Values of all quantities after a forward sweep.
#[inline(always)]
pub(super) fn read<T: Real, const WIDE: bool>(
    jets: &mut JetWorkspace<T>,
    items: &[Item],
    sample: usize,
    z: &mut [T],
) {
    let mut at = 0;
    for item in items {
        let (l, f) = (item.order, factorial(item.order));
        let out = &mut z[at..at + item.rows];
        match &item.kind {
            Kind::Torque => scaled(jets.torque(l), f, out),
            Kind::Rate => scaled(&jets.y[l * item.rows..], f, out),
            Kind::Velocity(target) if target.moves() => {
                scaled(&jets.local_velocity(target, l).to_array(), f, out);
            }
            Kind::Velocity(_) => out.fill(T::zero()),
            Kind::Momentum { about_com } => scaled(&jets.total_momentum(l, *about_com).to_array(), f, out),
            Kind::Point(target) => scaled(&jets.point(target, l).0, f, out),
            Kind::Com => scaled(&jets.com(l).0, f, out),
            Kind::Orientation { target, reference } => {
                if WIDE {
                    out.fill(T::zero());
                } else {
                    scaled(&orientation_error(jets, target, at_sample(reference, sample)).0, f, out);
                }
            }
        }
        at += item.rows;
    }
}

#[inline(always)]
fn scaled<T: Real>(from: &[T], f: f64, out: &mut [T]) {
    for i in 0..out.len() {
        out[i] = from[i] * f;
    }
}

/// Collects the weights `μ` on all quantities for one adjoint sweep.
#[inline(always)]
pub(super) fn weigh<T: Real, const W: usize, const WIDE: bool>(
    jets: &mut JetWorkspace<InlineDual<T, W>>,
    items: &[Item],
    sample: usize,
    mu: &[T],
) {
    jets.clear_adjoint();
    let mut at = 0;
    for item in items {
        let (l, f, own) = (item.order, factorial(item.order), &mu[at..at + item.rows]);
        match &item.kind {
            Kind::Torque => {
                let products = &mut jets.products;
                products.has_torque = true;
                for c in 0..item.rows {
                    products.lambda[l * item.rows + c] += InlineDual::constant(own[c] * f);
                }
            }
            Kind::Rate => jets.weigh_rates(l, |c| InlineDual::constant(own[c] * f)),
            Kind::Velocity(target) => {
                if target.moves() {
                    jets.local_velocity(target, l);
                    jets.weigh_local_velocity(target, l, six(own, f));
                }
            }
            Kind::Momentum { about_com } => jets.weigh_total_momentum(l, *about_com, six(own, f)),
            Kind::Point(target) => {
                jets.point(target, l);
                jets.weigh_point(target, l, three(own, f));
            }
            Kind::Com => jets.weigh_com(l, three(own, f)),
            Kind::Orientation { target, reference } => {
                if !WIDE {
                    let e = orientation_error(jets, target, at_sample(reference, sample));
                    // de = Jr⁻¹(e) Rᵀ s_w ξ, so the world torque is R Jr⁻ᵀ(e) μ, and Jr⁻ᵀ(e) = Jr⁻¹(−e).
                    let torque = jets.rotation(target) * so3::dexp_inv(-e, three(own, f));
                    jets.weigh_rotation(target, torque);
                }
            }
        }
        at += item.rows;
    }
}

#[inline(always)]
fn three<T: Real, const W: usize>(mu: &[T], f: f64) -> Vec3<InlineDual<T, W>> {
    Vec3([InlineDual::constant(mu[0] * f), InlineDual::constant(mu[1] * f), InlineDual::constant(mu[2] * f)])
}

#[inline(always)]
fn six<T: Real, const W: usize>(mu: &[T], f: f64) -> Twist<InlineDual<T, W>> {
    Twist::new(three(&mu[..3], f), three(&mu[3..], f))
}

/// The reference of a sample: one per sample, or the last one for all that follow.
pub(super) fn at_sample(reference: &[Mat3], sample: usize) -> Mat3 {
    reference.get(sample).or(reference.last()).copied().unwrap_or_else(Mat3::identity)
}

/// `Log(R_refᵀ R)`.
pub(super) fn orientation_error<T: Real>(
    jets: &JetWorkspace<T>,
    target: &Target,
    reference: Mat3,
) -> Vec3<T> {
    let reference: Mat3<T> = Mat3::constant(reference);
    so3::log(Quat::from_matrix(&(reference.transpose() * jets.rotation(target))))
}
