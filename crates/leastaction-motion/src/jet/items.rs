//! Quantities resolved to places in the tree: how each is read from a forward sweep and weighed for an adjoint one.
//!
//! Written once for plain numbers and for lanes of samples. With `WIDE` everything is compiled into the caller, and there
//! are no orientations: their logarithm branches on the angle, each sample for itself.

use super::quantity::{Quantity, QuantityFrame, QuantityKind};
use super::stage::Place;
use super::workspace::JetWorkspace;
use super::{JetError, factorial};
use crate::lie::so3;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Twist, Vec3};

/// A quantity resolved to a place in the tree.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) quantity: Quantity,
    pub(super) rows: usize,
    pub(super) place: Place,
    /// Of orientations, one per sample or one for all.
    pub(super) reference: Vec<Mat3>,
}

/// What a sweep must compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Need {
    /// The state itself is enough.
    Nothing,
    /// Poses, columns and velocities.
    Motion,
    /// Inertias, momenta and forces too.
    Forces,
}

impl Item {
    pub(super) fn new(
        quantity: &Quantity,
        reference: Vec<Mat3>,
        jets: &JetWorkspace<f64>,
    ) -> Result<Self, JetError> {
        use QuantityKind as K;
        let refused = |remedy| Err(JetError::NotServed { quantity: quantity.kind.name(), remedy });
        let place = match (quantity.kind, quantity.target) {
            (K::Pose | K::Momentum | K::JointMomentum | K::LinkForce | K::JointForce, _) => {
                return refused("its values and Jacobians are those of a workspace, sample by sample");
            }
            (K::Velocity, _) if quantity.frame == QuantityFrame::World => {
                return refused("costs and limits take twists in the target's own frame");
            }
            (K::Orientation, _) if quantity.order > 0 => return refused("take the angular velocity"),
            (K::Joint, _) if quantity.order == 0 && jets.nq() != jets.nv() => {
                return refused(
                    "ball and free joints have no plain positions; track the orientation of their body",
                );
            }
            (K::Joint | K::Torque, _) => Place::ground(),
            _ => jets.place_of(quantity)?,
        };
        Ok(Self { quantity: *quantity, rows: quantity.rows(jets.nv()), place, reference })
    }

    pub(super) fn is_torque(&self) -> bool {
        self.quantity.kind == QuantityKind::Torque
    }

    pub(super) fn need(&self) -> Need {
        match self.quantity.kind {
            QuantityKind::Joint => Need::Nothing,
            QuantityKind::Velocity | QuantityKind::Point | QuantityKind::Orientation => Need::Motion,
            _ => Need::Forces,
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
        let (l, place) = (item.quantity.order, &item.place);
        let f = factorial(l);
        let out = &mut z[at..at + item.rows];
        match item.quantity.kind {
            QuantityKind::Torque => scaled(jets.torque(l), f, out),
            QuantityKind::Joint if l == 0 => scaled(&jets.q, 1.0, out),
            QuantityKind::Joint => scaled(&jets.y[(l - 1) * item.rows..], factorial(l - 1), out),
            QuantityKind::Velocity if place.stage.is_some() => {
                scaled(&jets.local_velocity(place, l).to_array(), f, out);
            }
            QuantityKind::TotalMomentum => scaled(&jets.total_momentum(l, false).to_array(), f, out),
            QuantityKind::CentroidalMomentum => scaled(&jets.total_momentum(l, true).to_array(), f, out),
            QuantityKind::Point => scaled(&jets.point(place, l).0, f, out),
            QuantityKind::Com => scaled(&jets.com(l).0, f, out),
            QuantityKind::Orientation if !WIDE => {
                scaled(&orientation_error(jets, place, at_sample(&item.reference, sample)).0, f, out);
            }
            _ => out.fill(T::zero()),
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
pub(super) fn weigh<T: Real, const WIDE: bool>(
    jets: &mut JetWorkspace<T>,
    items: &[Item],
    sample: usize,
    mu: &[T],
) {
    jets.clear_adjoint();
    let mut at = 0;
    for item in items {
        let (l, place) = (item.quantity.order, &item.place);
        let (f, own) = (factorial(l), &mu[at..at + item.rows]);
        match item.quantity.kind {
            QuantityKind::Torque => {
                let products = &mut jets.products;
                products.has_torque = true;
                for c in 0..item.rows {
                    products.lambda[l * item.rows + c] += own[c] * f;
                }
            }
            QuantityKind::Joint if l == 0 => {
                for c in 0..item.rows {
                    jets.products.xi_bar[c] += own[c];
                }
            }
            QuantityKind::Joint => {
                let f = factorial(l - 1);
                jets.weigh_rates(l - 1, |c| own[c] * f);
            }
            QuantityKind::Velocity if place.stage.is_some() => {
                jets.local_velocity(place, l);
                jets.weigh_local_velocity(place, l, six(own, f));
            }
            QuantityKind::TotalMomentum => jets.weigh_total_momentum(l, false, six(own, f)),
            QuantityKind::CentroidalMomentum => jets.weigh_total_momentum(l, true, six(own, f)),
            QuantityKind::Point => {
                jets.point(place, l);
                jets.weigh_point(place, l, three(own, f));
            }
            QuantityKind::Com => jets.weigh_com(l, three(own, f)),
            QuantityKind::Orientation if !WIDE => {
                let e = orientation_error(jets, place, at_sample(&item.reference, sample));
                // de = Jr⁻¹(e) Rᵀ s_w ξ, so the world torque is R Jr⁻ᵀ(e) μ, and Jr⁻ᵀ(e) = Jr⁻¹(−e).
                let torque = jets.rotation(place) * so3::dexp_inv(-e, three(own, f));
                jets.weigh_rotation(place, torque);
            }
            _ => {}
        }
        at += item.rows;
    }
}

#[inline(always)]
fn three<T: Real>(mu: &[T], f: f64) -> Vec3<T> {
    Vec3([mu[0] * f, mu[1] * f, mu[2] * f])
}

#[inline(always)]
fn six<T: Real>(mu: &[T], f: f64) -> Twist<T> {
    Twist::new(three(&mu[..3], f), three(&mu[3..], f))
}

/// The reference of a sample: one per sample, or the last one for all that follow.
pub(super) fn at_sample(reference: &[Mat3], sample: usize) -> Mat3 {
    reference.get(sample).or(reference.last()).copied().unwrap_or_else(Mat3::identity)
}

/// `Log(R_refᵀ R)`.
pub(super) fn orientation_error<T: Real>(jets: &JetWorkspace<T>, place: &Place, reference: Mat3) -> Vec3<T> {
    let reference: Mat3<T> = Mat3::constant(reference);
    so3::log(Quat::from_matrix(&(reference.transpose() * jets.rotation(place))))
}
