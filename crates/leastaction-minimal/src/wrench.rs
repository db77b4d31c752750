//! Wrenches on bodies: gravity is built into the sweeps; drag, thrusters and laws of the user are here.
//!
//! A law gives `F(g, V, u)` in world axes about the origin of the sweeps, and how it changes:
//!
//! ```text
//! δ̄F = A_η η + A_v δ̄V + F_u δu,    A_v = D₂F,   A_η = D₁F + adD_F − D₂F ad_V                        (2.26)
//! ```
//!
//! with `D₁F·η = d/dε F(exp(εη) g, V)` and `D₂F = ∂F/∂V`.

use std::fmt::Debug;
use std::sync::Arc;

use super::lanes::Lanes;
use super::residual::{Point, Residual, times_vector};
use super::segments::{GROUND, Push, Segments, Thruster};
use super::six::{Block, ad, ad_dual, blocks, plus, pose_at, product, skew, twist_at, vec_at, wrench_at};
use crate::mechanism::{BodyId, Mechanism};
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Twist, Vec3, Wrench};

/// Where a body is and how it moves, for a [`BodyWrench`].
#[derive(Clone, Copy, Debug)]
pub struct BodyMotion {
    /// World position of the point that everything below is taken about.
    pub origin: Vec3,
    /// Pose of the body frame, world axes, position relative to `origin`.
    pub pose: Pose,
    /// Velocity of the body, world axes, about `origin`.
    pub twist: Twist,
}

/// A wrench and its derivatives, world axes, about the origin of the [`BodyMotion`].
#[derive(Clone, Debug, Default)]
pub struct WrenchSample {
    /// The wrench.
    pub wrench: Wrench,
    /// `A_η` of (2.26); zero for laws that only depend on the velocity in the body frame.
    pub d_pose: [[f64; 6]; 6],
    /// `A_v` of (2.26).
    pub d_twist: [[f64; 6]; 6],
    /// `F_u`: one wrench per input of the mechanism.
    pub d_input: Vec<Wrench>,
}

impl WrenchSample {
    /// Sets `A_η` and `A_v` from the plain derivatives `D₁F` and `D₂F` at the twist of `motion` (2.26).
    pub fn set_derivatives(&mut self, motion: &BodyMotion, d1: &[[f64; 6]; 6], d2: &[[f64; 6]; 6]) {
        self.d_twist = *d2;
        self.d_pose = plus(&plus(d1, 1.0, &ad_dual(self.wrench)), -1.0, &product(d2, &ad(motion.twist)));
    }
}

/// A wrench law of the user's own.
///
/// `evaluate` is called once per body, node and iteration and must not allocate if steps shall not.
pub trait BodyWrench: Debug + Send + Sync {
    /// Fills `out`; derivatives are zero on entry.
    fn evaluate(&self, motion: &BodyMotion, u: &[f64], out: &mut WrenchSample);
}

/// A law and the body it acts on.
#[derive(Clone, Debug)]
pub struct AppliedWrench {
    /// The body.
    pub body: BodyId,
    /// The law.
    pub law: Arc<dyn BodyWrench>,
}

/// Adds the impulses `w h F` of body wrenches other than gravity.
pub(crate) trait Impulses<T: Real, const N: usize> {
    fn set_impulses(&mut self, segments: &Segments, point: &Point<T, N>, residual: &mut Residual<T, N>);
}

/// The wrenches a model file can hold: drag and thrusters. Serves every scalar.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ModelForces;

impl<T: Real, const N: usize> Impulses<T, N> for ModelForces {
    #[inline(always)]
    fn set_impulses(&mut self, segments: &Segments, point: &Point<T, N>, residual: &mut Residual<T, N>) {
        for impulse in &mut residual.impulses {
            *impulse = Wrench::zero();
        }
        let weights = residual.weights;
        let wind = Vec3::constant(segments.wind);
        for drag in &segments.drags {
            let pose = &residual.poses[drag.segment];
            let v = residual.velocities[drag.segment];
            let p = times_vector(&pose.rot, drag.point) + pose.pos;
            let f = (v.lin + v.ang.cross(p) - wind).scale(-drag.coefficient);
            residual.impulses[drag.segment] += weighted(Wrench::new(p.cross(f), f), &weights);
        }
        for push in &segments.pushes {
            let f = push_wrench(&residual.poses[push.segment], push) * point.u[push.input];
            residual.impulses[push.segment] += weighted(f, &weights);
        }
        for t in &segments.thrusters {
            let f = residual.poses[t.segment].wrench(Wrench::constant(t.wrench)) * point.u[t.input];
            residual.impulses[t.segment] += weighted(f, &weights);
        }
    }
}

#[inline(always)]
fn weighted<T: Real, const N: usize>(f: Wrench<Lanes<T, N>>, weights: &[f64; N]) -> Wrench<Lanes<T, N>> {
    let mut out = f;
    for i in 0..3 {
        out.ang.0[i] = f.ang.0[i].weighted(weights);
        out.lin.0[i] = f.lin.0[i].weighted(weights);
    }
    out
}

/// A push per unit of input, at all points.
#[inline(always)]
pub(crate) fn push_wrench<T: Real, const N: usize>(
    pose: &Pose<Lanes<T, N>>,
    push: &Push,
) -> Wrench<Lanes<T, N>> {
    let p = times_vector(&pose.rot, push.point) + pose.pos;
    let f = Vec3::constant(push.wrench.lin);
    Wrench::new(Vec3::constant(push.wrench.ang) + p.cross(f), f)
}

/// `A_η` of a push `f`, `τ` at the world point `p`: its direction stays, its point moves.
fn push_derivative(p: Vec3, wrench: Wrench) -> Block {
    let f = wrench.lin;
    let d1 = blocks((Mat3(skew(f)) * p.skew()).0, (-Mat3(skew(f))).0, Mat3::zero().0, Mat3::zero().0);
    plus(&d1, 1.0, &ad_dual(Wrench::new(wrench.ang + p.cross(f), f)))
}

/// A user's law placed in the segments.
#[derive(Clone, Debug)]
struct PlacedWrench {
    segment: usize,
    /// Body frame in the segment's frame.
    pose: Pose,
    law: Arc<dyn BodyWrench>,
}

/// All body wrenches, with their derivatives.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyForces {
    placed: Vec<PlacedWrench>,
    /// Entry of `derivatives` for each segment, or `usize::MAX`.
    slot: Vec<usize>,
    slots: usize,
}

/// Derivatives of the wrenches on the segments that have any, per node: `w h A_η`, `w h A_v`.
#[derive(Clone, Debug)]
pub(crate) struct WrenchDerivatives<const N: usize> {
    pub(crate) d_pose: Vec<[Block; N]>,
    pub(crate) d_twist: Vec<[Block; N]>,
    sample: WrenchSample,
    u: Vec<f64>,
}

impl BodyForces {
    pub(crate) fn new(mechanism: &Mechanism, segments: &Segments, user: &[AppliedWrench]) -> Self {
        let mut placed = Vec::new();
        for applied in user {
            let at = &mechanism.tree().bodies[applied.body.index()];
            // A body fixed to the ground does not move: its wrench does no work.
            if let Some(node) = at.node {
                let map = segments.nodes[node];
                let pose = map.pose * at.pose;
                placed.push(PlacedWrench { segment: map.segment, pose, law: Arc::clone(&applied.law) });
            }
        }
        let mut slot = vec![usize::MAX; segments.list.len()];
        let mut slots = 0;
        let pushed = segments.pushes.iter().map(|p| p.segment);
        let bearing = segments.drags.iter().map(|d| d.segment).chain(placed.iter().map(|p| p.segment));
        let bearing = bearing.chain(pushed);
        for segment in bearing {
            if slot[segment] == usize::MAX {
                slot[segment] = slots;
                slots += 1;
            }
        }
        Self { placed, slot, slots }
    }

    /// True if the user has no laws of their own.
    pub(crate) fn of_model_only(&self) -> bool {
        self.placed.is_empty()
    }

    /// Index into [`WrenchDerivatives`] if the segment bears a wrench that varies with its motion.
    #[inline(always)]
    pub(crate) fn slot(&self, segment: usize) -> Option<usize> {
        (self.slot[segment] != usize::MAX).then_some(self.slot[segment])
    }

    /// True if anything but gravity may push a segment.
    pub(crate) fn acts(&self, segments: &Segments) -> bool {
        !(segments.drags.is_empty()
            && segments.thrusters.is_empty()
            && segments.pushes.is_empty()
            && self.placed.is_empty())
    }

    pub(crate) fn derivatives<const N: usize>(&self, segments: &Segments) -> WrenchDerivatives<N> {
        WrenchDerivatives {
            d_pose: vec![[[[0.0; 6]; 6]; N]; self.slots],
            d_twist: vec![[[[0.0; 6]; 6]; N]; self.slots],
            sample: WrenchSample { d_input: vec![Wrench::zero(); segments.nu], ..Default::default() },
            u: vec![0.0; segments.nu],
        }
    }

    /// Fills the derivatives at the point the residual was last taken at. Does not allocate.
    pub(crate) fn differentiate<const N: usize>(
        &self,
        segments: &Segments,
        s: usize,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        out: &mut WrenchDerivatives<N>,
    ) {
        for d in out.d_pose.iter_mut().chain(&mut out.d_twist) {
            *d = [[[0.0; 6]; 6]; N];
        }
        for drag in &segments.drags {
            let Some(slot) = self.slot(drag.segment) else { continue };
            for k in 0..=s {
                let pose = pose_at(&residual.poses[drag.segment], k);
                let v = twist_at(&residual.velocities[drag.segment], k);
                let (d_pose, d_twist) =
                    drag_derivatives(pose.point(drag.point), v, drag.coefficient, segments.wind);
                let w = residual.weights[k];
                out.d_pose[slot][k] = plus(&out.d_pose[slot][k], w, &d_pose);
                out.d_twist[slot][k] = plus(&out.d_twist[slot][k], w, &d_twist);
            }
        }
        for push in &segments.pushes {
            let Some(slot) = self.slot(push.segment) else { continue };
            for k in 0..=s {
                let p = pose_at(&residual.poses[push.segment], k).point(push.point);
                let w = residual.weights[k] * point.u[push.input].0[k];
                out.d_pose[slot][k] = plus(&out.d_pose[slot][k], w, &push_derivative(p, push.wrench));
            }
        }
        let WrenchDerivatives { d_pose, d_twist, sample, u } = out;
        self.each_sample(segments, s, point, residual, sample, u, |segment, k, _, sample| {
            let slot = self.slot[segment];
            let w = residual.weights[k];
            d_pose[slot][k] = plus(&d_pose[slot][k], w, &sample.d_pose);
            d_twist[slot][k] = plus(&d_twist[slot][k], w, &sample.d_twist);
        });
    }

    /// Calls `each(segment, node, law number, sample)` for every law of the user at every node.
    fn each_sample<const N: usize>(
        &self,
        segments: &Segments,
        s: usize,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        sample: &mut WrenchSample,
        u: &mut [f64],
        mut each: impl FnMut(usize, usize, usize, &WrenchSample),
    ) {
        for (number, placed) in self.placed.iter().enumerate() {
            let root = origin_of(segments, point, segments.list[placed.segment].root);
            for k in 0..=s {
                let origin = root + arm_of(segments, residual, placed.segment, k);
                for (u, lanes) in u.iter_mut().zip(&point.u) {
                    *u = lanes.0[k];
                }
                sample.wrench = Wrench::zero();
                sample.d_pose = [[0.0; 6]; 6];
                sample.d_twist = [[0.0; 6]; 6];
                sample.d_input.fill(Wrench::zero());
                let motion = BodyMotion {
                    origin,
                    pose: pose_at(&residual.poses[placed.segment], k) * placed.pose,
                    twist: twist_at(&residual.velocities[placed.segment], k),
                };
                placed.law.evaluate(&motion, u, sample);
                each(placed.segment, k, number, sample);
            }
        }
    }

    /// Adds to `out[segment]` the wrench per unit of input `j`, weighted, for each node: `w h F_u`.
    pub(crate) fn add_input_impulse<const N: usize>(
        &self,
        segments: &Segments,
        s: usize,
        point: &Point<f64, N>,
        residual: &Residual<f64, N>,
        scratch: &mut WrenchDerivatives<N>,
        j: usize,
        out: &mut [[Wrench; N]],
    ) {
        for push in segments.pushes.iter().filter(|push| push.input == j) {
            let f = push_wrench(&residual.poses[push.segment], push);
            for k in 0..=s {
                out[push.segment][k] += wrench_at(&f, k).scale(residual.weights[k]);
            }
        }
        for t in segments.thrusters.iter().filter(|t: &&Thruster| t.input == j) {
            for k in 0..=s {
                let f = pose_at(&residual.poses[t.segment], k).wrench(t.wrench);
                out[t.segment][k] += f.scale(residual.weights[k]);
            }
        }
        let WrenchDerivatives { sample, u, .. } = scratch;
        self.each_sample(segments, s, point, residual, sample, u, |segment, k, _, sample| {
            out[segment][k] += sample.d_input[j].scale(residual.weights[k]);
        });
    }
}

/// [`BodyForces`] with the scratch that laws of the user need.
pub(crate) struct AllForces<'a, const N: usize> {
    pub(crate) forces: &'a BodyForces,
    pub(crate) scratch: &'a mut WrenchDerivatives<N>,
}

impl<const N: usize> Impulses<f64, N> for AllForces<'_, N> {
    #[inline(always)]
    fn set_impulses(&mut self, segments: &Segments, point: &Point<f64, N>, residual: &mut Residual<f64, N>) {
        if !self.forces.acts(segments) {
            residual.impulses.fill(Wrench::zero());
            return;
        }
        ModelForces.set_impulses(segments, point, residual);
        if self.forces.placed.is_empty() {
            return;
        }
        let mut impulses = std::mem::take(&mut residual.impulses);
        let WrenchDerivatives { sample, u, .. } = &mut *self.scratch;
        let s = N - 1;
        self.forces.each_sample(segments, s, point, residual, sample, u, |segment, k, _, sample| {
            let f = sample.wrench.scale(residual.weights[k]).to_array();
            let out = &mut impulses[segment];
            for i in 0..3 {
                out.ang[i].0[k] += f[i];
                out.lin[i].0[k] += f[3 + i];
            }
        });
        residual.impulses = impulses;
    }
}

/// Where the origin of a segment lies, seen from that of its root, at point `k`.
fn arm_of<const N: usize>(
    segments: &Segments,
    residual: &Residual<f64, N>,
    segment: usize,
    k: usize,
) -> Vec3 {
    let mut arm = Vec3::zero();
    let mut i = if segments.origins > 0 { segment } else { GROUND };
    while i != GROUND {
        if let Some(origin) = segments.list[i].origin {
            arm += vec_at(&residual.arms[origin], k);
        }
        i = segments.list[i].parent;
    }
    arm
}

/// World position of the origin of the sweeps of the tree that starts at segment `root`.
pub(crate) fn origin_of<const N: usize>(segments: &Segments, point: &Point<f64, N>, root: usize) -> Vec3 {
    if !point.recentred {
        return Vec3::zero();
    }
    let first = &segments.list[root];
    let mut frame: Mat3 = first.placement.rot;
    let mut origin = first.placement.pos;
    let mut i = root;
    // The slides of the root joint; a cylindrical one has its turn before them, about the same axis.
    while i < segments.list.len() && segments.list[i].root == root {
        let segment = &segments.list[i];
        if i > root {
            frame = frame * segment.placement.rot;
        }
        if segment.droppable {
            origin += frame.column(2) * point.base[segment.coordinate];
        } else if i > root {
            break;
        }
        i += 1;
    }
    origin
}

/// `A_η` and `A_v` of linear drag at the world point `p` (6.4).
fn drag_derivatives(p: Vec3, v: Twist, coefficient: f64, wind: Vec3) -> (Block, Block) {
    let f = (v.lin + v.ang.cross(p) - wind) * -coefficient;
    let (ph, wh) = (p.skew(), v.ang.skew());
    // δp = J η, with J = [−p̂ 1].
    let with_j = |m: Mat3| ((-(m * ph)).0, m.0);
    let scaled = |m: Mat3| m * -coefficient;
    let (a, b) = with_j(scaled(ph));
    let (c, d) = with_j(scaled(Mat3::identity()));
    let d2 = blocks(a, b, c, d);
    let (a, b) = with_j(-Mat3(skew(f)) + scaled(ph * wh));
    let (c, d) = with_j(scaled(wh));
    let d1 = blocks(a, b, c, d);
    let wrench = Wrench::new(p.cross(f), f);
    let a_eta = plus(&plus(&d1, 1.0, &ad_dual(wrench)), -1.0, &product(&d2, &ad(v)));
    (a_eta, d2)
}
