//! [`WholeBody`]: the stacked operators of the source's appendix C, applied without being materialised.
//!
//! With `iXj = X_i⁻¹ X_j` the transformation of jets from link j to link i, `p(i)` the parent of i, and stacked jets of
//! all links, the corrected operators are
//!
//! ```text
//! v_J = (J_X_L) v_L      v_J,i = v_i − iX_p(i) v_p(i)                        inverse: + iXj over all ancestors   (4.16)
//! h_L = (L_X*_J) h_J     h_L,i = h_J,i − Σ_children iX*_j h_J,j              inverse: + iX*_j over all carried   (4.17)
//! f   = U h              f_l = (l+1) h_{l+1} + Σ_m ν_m ×* h_{l−m}                                                (4.18)
//! τ   = Sᵀ f_J                                                                                                   (4.19)
//! ```
//!
//! (gravity is subtracted from f afterwards). Each is one sweep over the tree, O(n k²). Transposes act on weights: the
//! transpose of a jet product is the product with the order reversed, so they are sweeps as well.

use super::Cmtm;
use crate::jet::{JetWorkspace, Quantity, QuantityKind, Target};
use crate::mechanism::Mechanism;
use crate::spatial::{Mat3, Twist, Vec3, Wrench};

/// Whole-body operators at one motion; links are the bodies of the mechanism, in their order.
///
/// Stacked jets are link by link, `count` coefficients each.
///
/// ```
/// use leastaction::jet::JetWorkspace;
/// use leastaction::mechanism::{MechanismBuilder, samples};
/// use leastaction_motion::reference::WholeBody;
/// use leastaction::spatial::Twist;
///
/// let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
/// let mut jets = JetWorkspace::<f64>::new(&mechanism, 0);
/// jets.forward_from_derivatives(&[0.1, 0.2, 0.3], &[&[1.0, 0.5, 0.2], &[0.0; 3]])?;
/// let operators = WholeBody::new(&mechanism, &mut jets);
/// let links: Vec<Twist> = operators.velocities().to_vec();
/// let (mut joints, mut back) = (links.clone(), links.clone());
/// operators.joints_from_links(&links, &mut joints); // what each joint adds
/// operators.links_from_joints(&joints, &mut back);
/// assert!((back[4].ang[1] - links[4].ang[1]).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct WholeBody {
    /// Number of coefficients of velocities, `k + 2`; poses have one more.
    count: usize,
    nv: usize,
    links: Vec<Link>,
    /// Links from the root outward.
    order: Vec<usize>,
    velocities: Vec<Twist>,
}

#[derive(Clone, Debug)]
struct Link {
    parent: Option<usize>,
    rot: Vec<Mat3>,
    pos: Vec<Vec3>,
    /// Velocity coordinates of its joint and their columns in its own frame.
    columns: Vec<(usize, Vec<Twist>)>,
}

impl WholeBody {
    /// From a workspace that has been evaluated.
    #[must_use]
    pub fn new(mechanism: &Mechanism, jets: &mut JetWorkspace<f64>) -> Self {
        let count = jets.velocity_count();
        let ids: Vec<_> = mechanism.body_ids().collect();
        let mut velocities = Vec::with_capacity(ids.len() * count);
        let mut links: Vec<Link> = ids
            .iter()
            .map(|id| {
                let target = Target::body(*id);
                let (rot, pos) = jets.pose_jets(&target);
                let rot = rot.to_vec();
                let mut nu = vec![0.0; 6 * count];
                // The sizes are those of the workspace itself.
                let done = jets.value_into(&Quantity::local(QuantityKind::Velocity, target), &mut nu);
                debug_assert!(done.is_ok());
                velocities
                    .extend(nu.chunks_exact(6).map(|x| Twist::from_array(std::array::from_fn(|i| x[i]))));
                Link { parent: None, rot, pos, columns: Vec::new() }
            })
            .collect();
        for id in mechanism.tree_joints() {
            let joint = mechanism.joint(id);
            let child = joint.child.index();
            links[child].parent = joint.parent.map(|b| b.index());
            for c in mechanism.v_range(id) {
                // A joint's column in the frame of its link is how the link's pose changes with the coordinate.
                let pose = Quantity::local(QuantityKind::Pose, Target::body(joint.child));
                let local = jets.generating(&pose, c).map_or(Vec::new(), |g| g.alpha[..count].to_vec());
                links[child].columns.push((c, local.into_iter().map(Twist::from_array).collect()));
            }
        }
        let depth = |mut i: usize| {
            let mut depth = 0;
            while let Some(p) = links[i].parent {
                (i, depth) = (p, depth + 1);
            }
            depth
        };
        let mut order: Vec<usize> = (0..links.len()).collect();
        order.sort_by_key(|i| depth(*i));
        Self { count, nv: mechanism.nv(), links, order, velocities }
    }

    /// Number of coefficients of a velocity, `k + 2`.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }

    /// Velocities of all links in their own frames, stacked: what (4.18) turns with.
    #[must_use]
    pub fn velocities(&self) -> &[Twist] {
        &self.velocities
    }

    fn cmtm(&self, i: usize) -> Cmtm<'_> {
        Cmtm::new(&self.links[i].rot, &self.links[i].pos)
    }

    fn orders(&self, length: usize) -> usize {
        length / self.links.len().max(1)
    }

    /// `iXj u` of one link's jet.
    fn motion(&self, i: usize, j: usize, u: &[Twist]) -> Vec<Twist> {
        let (mut world, mut out) = (u.to_vec(), u.to_vec());
        self.cmtm(j).apply(u, &mut world);
        self.cmtm(i).solve(&world, &mut out);
        out
    }

    /// `iX*j f` of one link's jet.
    fn force(&self, i: usize, j: usize, f: &[Wrench]) -> Vec<Wrench> {
        let (mut world, mut out) = (f.to_vec(), f.to_vec());
        self.cmtm(j).apply_dual(f, &mut world);
        self.cmtm(i).solve_dual(&world, &mut out);
        out
    }

    /// `J_X_L`: what every joint adds, from the motions of the links, (4.16).
    pub fn joints_from_links(&self, links: &[Twist], joints: &mut [Twist]) {
        let n = self.orders(links.len());
        for i in 0..self.links.len() {
            joints[i * n..(i + 1) * n].copy_from_slice(&links[i * n..(i + 1) * n]);
            if let Some(p) = self.links[i].parent {
                let carried = self.motion(i, p, &links[p * n..(p + 1) * n]);
                joints[i * n..(i + 1) * n].iter_mut().zip(&carried).for_each(|(a, b)| *a -= *b);
            }
        }
    }

    /// `L_X_J`, its inverse: motions of the links from what the joints add (the source's (143) has the wrong sign).
    pub fn links_from_joints(&self, joints: &[Twist], links: &mut [Twist]) {
        let n = self.orders(joints.len());
        for i in self.order.iter().copied() {
            links[i * n..(i + 1) * n].copy_from_slice(&joints[i * n..(i + 1) * n]);
            if let Some(p) = self.links[i].parent {
                let carried = self.motion(i, p, &links[p * n..(p + 1) * n]);
                links[i * n..(i + 1) * n].iter_mut().zip(&carried).for_each(|(a, b)| *a += *b);
            }
        }
    }

    /// `L_X*_J`: momenta (or forces) of links from what their joints carry, (4.17).
    pub fn links_from_joints_dual(&self, joints: &[Wrench], links: &mut [Wrench]) {
        let n = self.orders(joints.len());
        links.copy_from_slice(joints);
        for i in 0..self.links.len() {
            if let Some(p) = self.links[i].parent {
                let carried = self.force(p, i, &joints[i * n..(i + 1) * n]);
                links[p * n..(p + 1) * n].iter_mut().zip(&carried).for_each(|(a, b)| *a -= *b);
            }
        }
    }

    /// `J_X*_L`, its inverse: what joints carry, from momenta (or forces) of the links.
    pub fn joints_from_links_dual(&self, links: &[Wrench], joints: &mut [Wrench]) {
        let n = self.orders(links.len());
        joints.copy_from_slice(links);
        for i in self.order.iter().rev().copied() {
            if let Some(p) = self.links[i].parent {
                let carried = self.force(p, i, &joints[i * n..(i + 1) * n]);
                joints[p * n..(p + 1) * n].iter_mut().zip(&carried).for_each(|(a, b)| *a += *b);
            }
        }
    }

    /// World-frame momenta of links from what their joints carry: `h̃_i − Σ_children h̃_j`, children only.
    pub fn links_from_joints_world(&self, joints: &[Wrench], links: &mut [Wrench]) {
        let n = self.orders(joints.len());
        links.copy_from_slice(joints);
        for i in 0..self.links.len() {
            if let Some(p) = self.links[i].parent {
                for l in 0..n {
                    links[p * n + l] -= joints[i * n + l];
                }
            }
        }
    }

    /// Its inverse: sums over everything carried.
    pub fn joints_from_links_world(&self, links: &[Wrench], joints: &mut [Wrench]) {
        let n = self.orders(links.len());
        joints.copy_from_slice(links);
        for i in self.order.iter().rev().copied() {
            if let Some(p) = self.links[i].parent {
                for l in 0..n {
                    let add = joints[i * n + l];
                    joints[p * n + l] += add;
                }
            }
        }
    }

    /// Transpose of [`joints_from_links`](Self::joints_from_links): from weights on what joints add to weights on links.
    pub fn joints_from_links_transposed(&self, joints: &[Wrench], links: &mut [Wrench]) {
        let n = self.orders(joints.len());
        links.copy_from_slice(joints);
        for i in 0..self.links.len() {
            if let Some(p) = self.links[i].parent {
                // (iXp)ᵀ = pX*i with the orders reversed.
                let mut reversed: Vec<Wrench> = joints[i * n..(i + 1) * n].to_vec();
                reversed.reverse();
                let back = self.force(p, i, &reversed);
                for l in 0..n {
                    links[p * n + l] -= back[n - 1 - l];
                }
            }
        }
    }

    /// Transpose of [`links_from_joints`](Self::links_from_joints).
    pub fn links_from_joints_transposed(&self, links: &[Wrench], joints: &mut [Wrench]) {
        let n = self.orders(links.len());
        joints.copy_from_slice(links);
        for i in self.order.iter().rev().copied() {
            if let Some(p) = self.links[i].parent {
                let mut reversed: Vec<Wrench> = joints[i * n..(i + 1) * n].to_vec();
                reversed.reverse();
                let back = self.force(p, i, &reversed);
                for l in 0..n {
                    joints[p * n + l] += back[n - 1 - l];
                }
            }
        }
    }

    /// `U`: forces (one coefficient less per link) from momenta in link frames, (4.18), without gravity. Serves links and
    /// joints alike: both turn with the link.
    pub fn forces_from_momenta(&self, momenta: &[Wrench], forces: &mut [Wrench]) {
        let n = self.orders(momenta.len());
        for i in 0..self.links.len() {
            let (nu, h) = (&self.velocities[i * self.count..], &momenta[i * n..(i + 1) * n]);
            for l in 0..n.saturating_sub(1) {
                let mut f = h[l + 1].scale((l + 1) as f64);
                for m in 0..=l {
                    f += nu[m].cross_wrench(h[l - m]);
                }
                forces[i * (n - 1) + l] = f;
            }
        }
    }

    /// `Sᵀ`: torques, order-major as [`JetWorkspace::torque`], from the wrenches of all joints in link frames, (4.19).
    pub fn torques_from_forces(&self, joints: &[Wrench], torques: &mut [f64]) {
        let n = self.orders(joints.len());
        for (i, link) in self.links.iter().enumerate() {
            for (c, s) in &link.columns {
                for l in 0..n {
                    let mut sum = 0.0;
                    for m in 0..=l {
                        sum += s[m].dot(joints[i * n + l - m]);
                    }
                    torques[l * self.nv + c] = sum;
                }
            }
        }
    }
}
