//! [`JetWorkspace`]: all memory of a comprehensive-motion evaluation, and the world-frame results of the last one.

use std::sync::Arc;

use super::quantity::Target;
use super::stage::StageTree;
use super::taylor::InertiaCoefficient;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Twist, Vec3, Wrench};

/// Jets of one state of one mechanism, in world axes about an origin near the mechanism.
///
/// Made for a mechanism and a force order `k`; [`forward`](Self::forward) fills it. It then answers for poses to order
/// `k + 2`, velocities and momenta to order `k + 1`, forces and torques to order `k`. `k = −1` leaves the forces out.
/// It holds no truth: a used workspace gives the same bits as a new one.
///
/// ```
/// use leastaction::jet::JetWorkspace;
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
/// // q, then velocity, acceleration, jerk.
/// jets.forward_from_derivatives(&[0.3, -0.2], &[&[0.1, 0.4], &[0.0, 1.0], &[0.5, 0.0]])?;
/// let torque = jets.torque(0);
/// let torque_rate = jets.torque(1); // Taylor coefficient 1 is the first derivative
/// assert!(torque[0].is_finite() && torque_rate[1].is_finite());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct JetWorkspace<T = f64> {
    pub(crate) tree: Arc<StageTree>,
    /// Number of velocity coefficients, `k + 2`.
    pub(crate) n: usize,

    // ---- state in
    /// Positions, by the mechanism's `q_range`.
    pub(crate) q: Vec<T>,
    /// Velocity coefficients, order-major: `y[l * nv + c]`.
    pub(crate) y: Vec<T>,

    // ---- motion, filled by `forward`
    /// The world point all jets are taken about.
    pub(crate) origin: Vec3<f64>,
    /// Pose of each stage at order 0, relative to `origin`.
    pub(crate) poses: Vec<Pose<T>>,
    /// Joint columns, `n + 1` coefficients per velocity coordinate.
    pub(crate) s: Vec<Twist<T>>,
    /// Velocities, `n` per stage.
    pub(crate) v: Vec<Twist<T>>,
    /// Inertias, `n + 1` per stage (the last one has only its first moment).
    pub(crate) ii: Vec<InertiaCoefficient<T>>,
    /// Momenta, `n` per stage.
    pub(crate) h: Vec<Wrench<T>>,
    /// Masses of composites.
    pub(crate) mass_c: Vec<T>,
    /// Inertias of composites, as `ii`.
    pub(crate) iic: Vec<InertiaCoefficient<T>>,
    /// Momenta of composites, as `h`.
    pub(crate) hc: Vec<Wrench<T>>,
    /// Forces of composites, `n − 1` per stage.
    pub(crate) fc: Vec<Wrench<T>>,
    /// Torques, order-major, `n − 1` orders.
    pub(crate) tau: Vec<T>,

    // ---- filled on demand
    /// Torques include springs, dampers and rotors.
    pub(crate) passive: bool,
    /// Composites have their rotational inertia, which only columns of Jacobians need: torques and centres of mass take
    /// moments alone.
    pub(crate) composites: bool,
    /// Jets of ball and free joints with a spring, `n` per spring.
    pub(crate) springs: Vec<super::passive::SpringJet<T>>,
    /// The target asked for last.
    pub(crate) link: Link<T>,
    /// Generating jets of the column asked for last.
    pub(crate) generating: super::generating::Generating<T>,
    /// Scratch of the torque Jacobian.
    pub(crate) torque_scratch: super::torque_jacobian::TorqueScratch<T>,
    /// Scratch of the matrix-free products.
    pub(crate) products: super::products::Scratch<T>,
}

/// Jets of one target: its frame, and its own inertia, momentum and force in the world.
#[derive(Clone, Debug)]
pub(crate) struct Link<T> {
    pub(crate) rot: Vec<Mat3<T>>,
    pub(crate) pos: Vec<Vec3<T>>,
    pub(crate) ii: Vec<InertiaCoefficient<T>>,
    pub(crate) mass: T,
    pub(crate) h: Vec<Wrench<T>>,
    pub(crate) f: Vec<Wrench<T>>,
}

impl<T: Real> JetWorkspace<T> {
    /// The same evaluation for another scalar type. Shares the description of the mechanism.
    pub(crate) fn like<U: Real>(&self) -> JetWorkspace<U> {
        let mut other = JetWorkspace::from_tree(Arc::clone(&self.tree), self.order());
        other.passive = self.passive;
        other
    }

    pub(crate) fn from_tree(tree: Arc<StageTree>, k: i32) -> Self {
        let n = usize::try_from(k.max(-1) + 2).unwrap_or(1);
        let (ns, nv) = (tree.stages.len(), tree.nv);
        let zero = InertiaCoefficient::zero();
        Self {
            n,
            q: vec![T::zero(); tree.nq],
            y: vec![T::zero(); n * nv],
            origin: Vec3::zero(),
            poses: vec![Pose::identity(); ns],
            s: vec![Twist::zero(); nv * (n + 1)],
            v: vec![Twist::zero(); ns * n],
            ii: vec![zero; ns * (n + 1)],
            h: vec![Wrench::zero(); ns * n],
            mass_c: vec![T::zero(); ns],
            iic: vec![zero; ns * (n + 1)],
            hc: vec![Wrench::zero(); ns * n],
            fc: vec![Wrench::zero(); ns * (n - 1)],
            tau: vec![T::zero(); nv * (n - 1)],
            passive: false,
            composites: true,
            springs: vec![super::passive::SpringJet::zero(); tree.springs * n],
            link: Link {
                rot: vec![Mat3::zero(); n + 1],
                pos: vec![Vec3::zero(); n + 1],
                ii: vec![zero; n],
                mass: T::zero(),
                h: vec![Wrench::zero(); n],
                f: vec![Wrench::zero(); n - 1],
            },
            generating: super::generating::Generating::new(n),
            torque_scratch: super::torque_jacobian::TorqueScratch::new(nv, n),
            products: super::products::Scratch::new(ns, nv, n),
            tree,
        }
    }

    /// Force order `k`.
    #[must_use]
    pub fn order(&self) -> i32 {
        self.n as i32 - 2
    }
    /// Number of velocity coefficients, `k + 2`; poses have one more, forces one less.
    #[must_use]
    pub fn velocity_count(&self) -> usize {
        self.n
    }
    /// Number of velocity coordinates.
    #[must_use]
    pub fn nv(&self) -> usize {
        self.tree.nv
    }
    /// Number of position coordinates.
    #[must_use]
    pub fn nq(&self) -> usize {
        self.tree.nq
    }
    /// False for targets that are fixed to the ground.
    #[must_use]
    pub fn moves(&self, target: &Target) -> bool {
        self.tree.place(target).stage.is_some()
    }

    /// Torques at Taylor order `l ≤ k`, one per velocity coordinate; times `l!` they are the `l`-th time derivative.
    #[must_use]
    pub fn torque(&self, l: usize) -> &[T] {
        &self.tau[l * self.tree.nv..(l + 1) * self.tree.nv]
    }

    /// Columns, `n + 1` coefficients, of velocity coordinate `c`.
    #[inline(always)]
    pub(crate) fn column(&self, c: usize) -> &[Twist<T>] {
        let n = self.n + 1;
        &self.s[c * n..(c + 1) * n]
    }
}
