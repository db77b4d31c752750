//! Constraint impulses and forces of the joints: what a bearing has to bear.
//!
//! The multipliers of a step from a node are the whole impulse of that node, half of the interval before it and half of the
//! interval after it, so `2Λ/(h_before + h_after)` is the force at the node, of second order. (3.36) Where rows are
//! redundant only `GᵀΛ` is determined; of all multipliers with the same effect the ones of least norm are given. (3.37)

use super::constraint::{Row, directions, multipliers};
use super::forces::add_row;
use super::layout::ClosureKind;
use super::ldu::{Six, angular, linear, six};
use super::read_out::assemble_node_at;
use super::start::full_geometry;
use super::workspace::MaximalWorkspace;
use super::{Maximal, StepError};
use crate::integrator::JointForce;
use crate::mechanism::{JointId, Mechanism};
use crate::spatial::{Mat3, Vec3, Wrench};

/// Part of a normalised self-stress below which a joint has no share in it.
const SHARE: f64 = 1e-9;

/// Constraint impulses of one joint over the last interval.
#[derive(Clone, Debug, PartialEq)]
pub struct JointImpulse {
    /// The joint; `None` for a rolling constraint.
    pub joint: Option<JointId>,
    /// Its multipliers, in the row order of the theory notes.
    pub multipliers: Vec<f64>,
    /// Impulse on the child at the joint's origin on the child, world axes: torque, then force.
    pub wrench: Wrench,
    /// True if the closure's rows are redundant, so that the multipliers are one choice of many.
    pub redundant: bool,
}

/// Rows of a joint or constraint with where they act.
struct Acting<'a> {
    joint: Option<usize>,
    a: Option<usize>,
    b: Option<usize>,
    rows: &'a [Row],
    lam: &'a [f64],
    /// From the child's joint point to the joint's origin on it, and the axes of the joint's frame on the child.
    lever: Vec3,
    frame: Mat3,
}

impl MaximalWorkspace {
    /// Constraint rows of every tree joint with a link of its own, then of the closures, with their multipliers taken from
    /// the joints' wrenches and the closures' multipliers given.
    fn for_each_impulse(&self, wrench: &[Six], closure_lam: &[Six], mut each: impl FnMut(&Acting<'_>)) {
        let side = &self.node_side;
        let mut rows = [Row::default(); 6];
        for (i, link) in self.layout.links.iter().enumerate() {
            let g = full_geometry(&self.layout, side, i);
            let mut lam = [0.0; 6];
            let n = multipliers(link.joint.kind, &g, &wrench[i], &mut lam);
            directions(link.joint.kind, &g, &mut rows);
            each(&Acting {
                joint: Some(link.joint.joint),
                a: link.parent,
                b: Some(i),
                rows: &rows[..n],
                lam: &lam[..n],
                lever: Vec3::zero(),
                frame: g.frame_b,
            });
        }
        for (c, closure) in self.layout.closures.iter().enumerate() {
            let (joint, lever, frame) = match closure.kind {
                ClosureKind::Joint => {
                    let g = &side.loops[closure.index];
                    (Some(self.layout.loops[closure.index].joint), g.lever_b, g.frame_b)
                }
                ClosureKind::Coordinates => continue,
                // The force of the ground on the link, about its centre of mass, world axes.
                ClosureKind::Rolling(_) => (None, -side.arm[closure.index], Mat3::identity()),
            };
            let n = closure.rows;
            each(&Acting {
                joint,
                a: closure.a,
                b: closure.b,
                rows: &self.node_rows[c][..n],
                lam: &closure_lam[c][..n],
                lever,
                frame,
            });
        }
    }

    /// Impulses of the constraints on the links: torque in link axes, force in world axes.
    pub(crate) fn impulses_on_links(&self) -> Vec<Six> {
        let side = &self.node_side;
        let mut out = vec![[0.0; 6]; self.layout.links.len()];
        self.for_each_impulse(&self.node.wrench, &self.node.lam, |at| {
            for (row, lam) in at.rows.iter().zip(at.lam) {
                add_row(&mut out, &side.arm, at.a, at.b, row, *lam);
            }
        });
        for (i, f) in out.iter_mut().enumerate() {
            *f = six(side.rot[i].tr_mul(angular(f)), linear(f));
        }
        out
    }

    /// Constraint impulses of the last step's first interval, per joint and rolling constraint, as the solver has them.
    ///
    /// Where a loop is redundant the multipliers are one choice of many and marked so; see
    /// [`joint_forces`](Self::joint_forces) for the least ones.
    #[must_use]
    pub fn joint_impulses(&self) -> Vec<JointImpulse> {
        let mut out = Vec::new();
        let redundant = self.ldu.dropped > 0;
        self.for_each_impulse(&self.node.wrench, &self.node.lam, |at| {
            out.push(JointImpulse {
                joint: at.joint.map(JointId::new),
                multipliers: at.lam.to_vec(),
                wrench: Wrench::from_array(wrench_of(at, at.lam)),
                redundant,
            });
        });
        out
    }

    /// Constraint forces at the node that the last step started from, in the order of [`Maximal::force_names`].
    pub fn joint_forces(&mut self) -> Vec<JointForce> {
        let (wrench, closure_lam, per_second) = self.node_forces();
        let stresses = self.self_stresses();
        let mut lam = Vec::new();
        self.for_each_impulse(&wrench, &closure_lam, |at| lam.extend_from_slice(at.lam));
        for z in &stresses {
            let part: f64 = z.iter().zip(&lam).map(|(z, l)| z * l).sum();
            lam.iter_mut().zip(z).for_each(|(l, z)| *l -= part * z);
        }
        let (mut out, mut first) = (Vec::new(), 0);
        self.for_each_impulse(&wrench, &closure_lam, |at| {
            let range = first..first + at.rows.len();
            first = range.end;
            if range.is_empty() {
                return;
            }
            let w = wrench_of(at, &lam[range.clone()]);
            let (ang, lin) = (at.frame.tr_mul(angular(&w)), at.frame.tr_mul(linear(&w)));
            let redundant = stresses.iter().any(|z| z[range.clone()].iter().any(|x| x.abs() > SHARE));
            out.push(JointForce { wrench: six(ang * per_second, lin * per_second), redundant });
        });
        out
    }

    /// Joint wrenches and multipliers at the node that the last step started from, and what makes them forces: impulses over
    /// the time they belong to, or what the accelerations ask for at an order above 2.
    fn node_forces(&mut self) -> (Vec<Six>, Vec<Six>, f64) {
        let Some(mut memory) = self.curve.take() else {
            let per_second = if self.node_time == 0.0 { 0.0 } else { 1.0 / self.node_time };
            return (self.node.wrench.clone(), self.node.lam.clone(), per_second);
        };
        let start = &mut memory.started;
        start.side.place(&self.layout, &start.poses);
        let (wrench, lam) = self.forces_at(start, &memory.input);
        self.node_side.copy_from(&start.side);
        self.node_rows.copy_from_slice(&self.step.rows);
        self.curve = Some(memory);
        (wrench, lam, 1.0)
    }

    /// Orthonormal basis of the multipliers without effect, `Gᵀz = 0`, at the last step's start.
    fn self_stresses(&mut self) -> Vec<Vec<f64>> {
        if self.layout.closures.is_empty() {
            return Vec::new();
        }
        let side = std::mem::take(&mut self.node_side);
        self.step.rows.copy_from_slice(&self.node_rows);
        assemble_node_at(self, &side, None);
        self.ldu.factor(&self.layout, &self.graph, &side, &side);
        let mut found: Vec<(Vec<Six>, Vec<Six>)> = Vec::new();
        for c in 0..self.layout.closures.len() {
            for free in 0..self.ldu.kernel(&self.layout, c).1 {
                let Self { layout, graph, ldu, system, .. } = self;
                ldu.self_stress(layout, graph, &side, c, free, system);
                found.push((system.wrench.clone(), system.closure.clone()));
            }
        }
        self.node_side = side;
        let mut basis: Vec<Vec<f64>> = Vec::new();
        for (wrench, lam) in found {
            let mut z = Vec::new();
            self.for_each_impulse(&wrench, &lam, |at| z.extend_from_slice(at.lam));
            // Twice, so that rounding of the first pass is taken out.
            for _ in 0..2 {
                for b in &basis {
                    let part: f64 = b.iter().zip(&z).map(|(b, z)| b * z).sum();
                    z.iter_mut().zip(b).for_each(|(z, b)| *z -= part * b);
                }
            }
            let norm = z.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm > SHARE {
                z.iter_mut().for_each(|x| *x /= norm);
                basis.push(z);
            }
        }
        basis
    }
}

/// Wrench on the child at the joint's origin, world axes.
fn wrench_of(at: &Acting<'_>, lam: &[f64]) -> Six {
    let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
    for (row, lam) in at.rows.iter().zip(lam) {
        ang += row.ang_b * *lam;
        lin += row.lin * *lam;
    }
    six(ang - at.lever.cross(lin), lin)
}

impl Maximal {
    /// Names of the joints and rolling constraints that bear forces, in the order of [`MaximalWorkspace::joint_forces`]:
    /// tree joints (without those that only join parts of one rigid link), loop joints, constraints.
    ///
    /// # Errors
    /// If the mechanism cannot be served.
    pub fn force_names(&self, mechanism: &Mechanism) -> Result<Vec<String>, StepError> {
        let layout = super::layout::Layout::new(mechanism, &self.rollings(mechanism)?)?;
        let tree = layout.links.iter().map(|l| &l.joint).filter(|j| super::layout::row_count(j.kind) > 0);
        let mut names: Vec<String> = tree.map(|j| mechanism.joints()[j.joint].name.clone()).collect();
        let closures = layout.closures.iter().filter(|c| !matches!(c.kind, ClosureKind::Coordinates));
        names.extend(closures.map(|c| c.name.clone()));
        Ok(names)
    }
}
