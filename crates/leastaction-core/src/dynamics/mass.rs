//! [`TreeMass`]: the mass matrix of a tree with some coordinates locked, factored in O(n).
//!
//! ```text
//! inward    U = Ĝ S,   D = Sᵀ U + armature,   Ĝ_p += Tᵀ (Ĝ − U D⁻¹ Uᵀ) T        D⁻¹ is zero for locked coordinates
//!           e = r − Sᵀ β,   β_p += Tᵀ (β + U D⁻¹ e)
//! outward   x = D⁻¹ (e − Uᵀ A'),   A' = T A_p,   A = A' + S x
//! ```
//!
//! A locked coordinate passes its inertia on, so that what comes out is the inverse of the matrix without its rows and columns.
//! Frames and their reasons are those of the articulated-body algorithm (`aba.rs`).

use super::Dynamics;
use super::aba::invert_spd;
use crate::mechanism::{JointType, Mechanism, Node};
use crate::scalar::Real;
use crate::simd::{Task, run_widest};
use crate::spatial::{ArticulatedInertia, Inertia, Mat3, Twist, Vec3, Wrench};

/// Part of what a pivot could be below which it is rounding. Massless links in a row have axes that line up somewhere, and robots
/// rest there, at a limit of a right angle: the pivot is then what rounding makes of zero, and is taken as this part.
const SINGULAR: f64 = 1e-13;

/// An upper bound of a rigid subtree's inertia about an origin: what tells a pivot from rounding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bulk<T = f64> {
    mass: T,
    /// Trace of the rotational inertia.
    turn: T,
}

impl<T: Real> Bulk<T> {
    /// Of a rigid inertia that was not reduced yet.
    #[inline(always)]
    #[must_use]
    pub fn of(rigid: &ArticulatedInertia<T>) -> Self {
        let (c, a) = (&rigid.c.0, &rigid.a.0);
        Self { mass: (c[0] + c[1] + c[2]) / T::from_f64(3.0), turn: a[0] + a[1] + a[2] }
    }

    /// Adds a subtree about the same origin.
    #[inline(always)]
    pub fn add(&mut self, part: &Self) {
        self.mass += part.mass;
        self.turn += part.turn;
    }

    /// Adds a subtree whose origin is at `arm`.
    #[inline(always)]
    pub fn add_at(&mut self, part: &Self, arm: Vec3<T>) {
        self.mass += part.mass;
        let radius = part.turn.maximum(T::zero()).sqrt() + (part.mass * 2.0 * arm.dot(arm)).sqrt();
        self.turn += radius * radius;
    }

    /// A pivot along `s`, or the least that can be told from zero.
    #[inline(always)]
    #[must_use]
    pub fn pivot(&self, d: T, s: Twist<T>) -> T {
        d.maximum((self.turn * s.ang.dot(s.ang) + self.mass * 3.0 * s.lin.dot(s.lin)) * SINGULAR)
    }
}

/// The mass matrix at one position: products, and solves with some coordinates locked.
#[derive(Clone, Debug)]
pub struct TreeMass {
    constants: Vec<Inertia>,
    armature: Vec<f64>,
    columns: Vec<Twist>,
    arms: Vec<Vec3>,
    turns: Vec<Mat3>,
    articulated: Vec<ArticulatedInertia>,
    bulk: Vec<Bulk>,
    pivots: Vec<[[f64; 6]; 6]>,
    spread: Vec<Wrench>,
    forces: Vec<Wrench>,
    motions: Vec<Twist>,
    efforts: Vec<f64>,
}

impl TreeMass {
    /// Memory for a mechanism.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Self {
        let nodes = &mechanism.tree().nodes;
        let (n, nv) = (nodes.len(), mechanism.nv());
        let armature = |node: &Node| mechanism.joint(node.joint).armature;
        Self {
            constants: nodes.iter().map(|node| node.inertia).collect(),
            armature: nodes.iter().flat_map(|node| armature(node).into_iter().take(node.nv)).collect(),
            columns: vec![Twist::zero(); nv],
            arms: vec![Vec3::zero(); n],
            turns: vec![Mat3::identity(); n],
            articulated: vec![ArticulatedInertia::default(); n],
            bulk: vec![Bulk::default(); n],
            pivots: vec![[[0.0; 6]; 6]; n],
            spread: vec![Wrench::zero(); nv],
            forces: vec![Wrench::zero(); n],
            motions: vec![Twist::zero(); n],
            efforts: vec![0.0; nv],
        }
    }

    /// Takes the position that the kinematics of `dynamics` are at. Does not allocate.
    pub fn place(&mut self, mechanism: &Mechanism, dynamics: &Dynamics<f64>) {
        let k = &dynamics.kinematics;
        for (i, node) in mechanism.tree().nodes.iter().enumerate() {
            let pose = &k.poses[i];
            match node.kind {
                JointType::Revolute | JointType::Continuous | JointType::Prismatic => {
                    self.columns[node.v] = node.kind.motion(&[], 0);
                }
                kind => {
                    let fixed_point = kind.turns_about_its_origin();
                    for c in node.v..node.v + node.nv {
                        let t = k.columns[c];
                        let lin = if fixed_point { Vec3::zero() } else { t.lin + t.ang.cross(pose.pos) };
                        self.columns[c] = Twist::new(pose.rot.tr_mul(t.ang), pose.rot.tr_mul(lin));
                    }
                }
            }
            (self.arms[i], self.turns[i]) = match node.parent {
                None => (pose.pos, pose.rot),
                Some(p) => {
                    let up = &k.poses[p];
                    (up.rot.tr_mul(pose.pos - up.pos), up.rot.transpose() * pose.rot)
                }
            };
        }
    }

    /// Factors with the `locked` coordinates left out and `extra` added to the armature. Does not allocate.
    ///
    /// # Errors
    /// The node whose pivot is not positive.
    pub fn factor(&mut self, mechanism: &Mechanism, locked: &[bool], extra: &[f64]) -> Result<(), usize> {
        run_widest(FactorTask { mass: self, nodes: &mechanism.tree().nodes, locked, extra })
    }

    #[inline(always)]
    fn factor_inlined(&mut self, nodes: &[Node], locked: &[bool], extra: &[f64]) -> Result<(), usize> {
        for ((to, from), bulk) in self.articulated.iter_mut().zip(&self.constants).zip(&mut self.bulk) {
            *to = ArticulatedInertia::from_rigid(from);
            *bulk = Bulk::of(to);
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            let (n, v) = (node.nv, node.v);
            if n == 1 {
                self.factor_single(node, i, locked[v], extra.get(v).copied().unwrap_or(0.0))?;
                continue;
            }
            let mut d = [[0.0; 6]; 6];
            for c in 0..n {
                self.spread[v + c] = self.articulated[i].mul(self.columns[v + c]);
                for b in 0..=c {
                    d[c][b] = self.columns[v + b].dot(self.spread[v + c]);
                    d[b][c] = d[c][b];
                }
                d[c][c] += self.armature[v + c] + extra.get(v + c).copied().unwrap_or(0.0);
            }
            for c in (0..n).filter(|c| locked[v + c]) {
                for b in 0..n {
                    (d[c][b], d[b][c]) = (0.0, 0.0);
                }
                d[c][c] = 1.0;
            }
            let mut inverse = invert_spd(d, n);
            for c in 0..n {
                if !(inverse[c][c] > 0.0 && inverse[c][c].is_finite()) {
                    return Err(i);
                }
            }
            for c in (0..n).filter(|c| locked[v + c]) {
                inverse[c][c] = 0.0;
            }
            self.pivots[i] = inverse;
            if let Some(p) = node.parent {
                let mut reduced = self.articulated[i];
                for c in (0..n).filter(|c| !locked[v + c]) {
                    let mut w = Wrench::zero();
                    for b in 0..n {
                        w += self.spread[v + b] * inverse[b][c];
                    }
                    reduced = reduced.minus_outer(self.spread[v + c], w);
                }
                self.pass(p, i, &reduced);
            }
        }
        Ok(())
    }

    /// A joint of one coordinate.
    #[inline(always)]
    fn factor_single(&mut self, node: &Node, i: usize, locked: bool, extra: f64) -> Result<(), usize> {
        let (v, column) = (node.v, self.columns[node.v]);
        let spread = self.articulated[i].mul(column);
        let d = self.bulk[i].pivot(column.dot(spread) + (self.armature[v] + extra), column);
        let inverse = 1.0 / if locked { 1.0 } else { d };
        if !(inverse > 0.0 && inverse.is_finite()) {
            return Err(i);
        }
        self.spread[v] = spread;
        self.pivots[i][0][0] = if locked { 0.0 } else { inverse };
        if let Some(p) = node.parent {
            let whole = self.articulated[i];
            let passed = if locked { whole } else { whole.minus_outer(spread, spread * inverse) };
            self.pass(p, i, &passed);
        }
        Ok(())
    }

    /// Adds to the parent what a subtree is to it.
    #[inline(always)]
    fn pass(&mut self, parent: usize, i: usize, reduced: &ArticulatedInertia) {
        self.articulated[parent].add(&reduced.rotated(&self.turns[i]).about(self.arms[i]));
        let (part, arm) = (self.bulk[i], self.arms[i]);
        self.bulk[parent].add_at(&part, arm);
    }

    /// `x = M⁻¹ r` over the coordinates that are not locked; the others are zero. Does not allocate.
    pub fn solve(&mut self, mechanism: &Mechanism, r: &[f64], x: &mut [f64]) {
        run_widest(SolveTask { mass: self, nodes: &mechanism.tree().nodes, r, x });
    }

    #[inline(always)]
    fn solve_inlined(&mut self, nodes: &[Node], r: &[f64], x: &mut [f64]) {
        self.forces.fill(Wrench::zero());
        for (i, node) in nodes.iter().enumerate().rev() {
            let (n, v) = (node.nv, node.v);
            for c in v..v + n {
                self.efforts[c] = r[c] - self.columns[c].dot(self.forces[i]);
            }
            if let Some(p) = node.parent {
                let mut beta = self.forces[i];
                for c in 0..n {
                    let mut e = 0.0;
                    for b in 0..n {
                        e += self.pivots[i][c][b] * self.efforts[v + b];
                    }
                    beta += self.spread[v + c] * e;
                }
                let passed = self.to_parent(i, beta);
                self.forces[p] += passed;
            }
        }
        for (i, node) in nodes.iter().enumerate() {
            let (n, v) = (node.nv, node.v);
            let mut motion = self.carried_motion(i, node);
            let mut rest = [0.0; 6];
            for c in 0..n {
                rest[c] = self.efforts[v + c] - motion.dot(self.spread[v + c]);
            }
            for c in 0..n {
                let mut y = 0.0;
                for b in 0..n {
                    y += self.pivots[i][c][b] * rest[b];
                }
                x[v + c] = y;
                motion += self.columns[v + c] * y;
            }
            self.motions[i] = motion;
        }
    }

    /// `r = M x`, all coordinates. Does not allocate.
    pub fn times(&mut self, mechanism: &Mechanism, x: &[f64], r: &mut [f64]) {
        run_widest(TimesTask { mass: self, nodes: &mechanism.tree().nodes, x, r });
    }

    #[inline(always)]
    fn times_inlined(&mut self, nodes: &[Node], x: &[f64], r: &mut [f64]) {
        for (i, node) in nodes.iter().enumerate() {
            let mut motion = self.carried_motion(i, node);
            for c in node.v..node.v + node.nv {
                motion += self.columns[c] * x[c];
            }
            self.motions[i] = motion;
            self.forces[i] = self.constants[i].mul(motion).as_wrench();
        }
        for (i, node) in nodes.iter().enumerate().rev() {
            let f = self.forces[i];
            for c in node.v..node.v + node.nv {
                r[c] = self.columns[c].dot(f) + self.armature[c] * x[c];
            }
            if let Some(p) = node.parent {
                let passed = self.to_parent(i, f);
                self.forces[p] += passed;
            }
        }
    }

    #[inline(always)]
    fn to_parent(&self, i: usize, beta: Wrench) -> Wrench {
        let force = self.turns[i] * beta.lin;
        Wrench::new(self.turns[i] * beta.ang + self.arms[i].cross(force), force)
    }

    #[inline(always)]
    fn carried_motion(&self, i: usize, node: &Node) -> Twist {
        node.parent.map_or(Twist::zero(), |p| {
            let a = self.motions[p];
            let lin = a.lin + a.ang.cross(self.arms[i]);
            Twist::new(self.turns[i].tr_mul(a.ang), self.turns[i].tr_mul(lin))
        })
    }
}

struct FactorTask<'a> {
    mass: &'a mut TreeMass,
    nodes: &'a [Node],
    locked: &'a [bool],
    extra: &'a [f64],
}
impl Task for FactorTask<'_> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.mass.factor_inlined(self.nodes, self.locked, self.extra)
    }
}

struct SolveTask<'a> {
    mass: &'a mut TreeMass,
    nodes: &'a [Node],
    r: &'a [f64],
    x: &'a mut [f64],
}
impl Task for SolveTask<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.mass.solve_inlined(self.nodes, self.r, self.x);
    }
}

struct TimesTask<'a> {
    mass: &'a mut TreeMass,
    nodes: &'a [Node],
    x: &'a [f64],
    r: &'a mut [f64],
}
impl Task for TimesTask<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.mass.times_inlined(self.nodes, self.x, self.r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn locked_solves_are_those_of_the_matrix_without_its_locked_rows() {
        let mechanism = MechanismBuilder::from(samples::binary_tree(4)).build().unwrap();
        let nv = mechanism.nv();
        let mut numbers = samples::Random::new(7);
        let q: Vec<f64> = (0..mechanism.nq()).map(|_| numbers.range(-1.0, 1.0)).collect();
        let b: Vec<f64> = (0..nv).map(|_| numbers.range(-1.0, 1.0)).collect();
        let locked: Vec<bool> = (0..nv).map(|i| i % 3 == 1).collect();
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        let mut matrix = vec![0.0; nv * nv];
        dynamics.mass_matrix_into(&mechanism, &q, &mut matrix);
        let mut mass = TreeMass::new(&mechanism);
        mass.place(&mechanism, &dynamics);
        let (mut x, mut back) = (vec![0.0; nv], vec![0.0; nv]);
        mass.factor(&mechanism, &locked, &[]).unwrap();
        mass.solve(&mechanism, &b, &mut x);
        mass.times(&mechanism, &x, &mut back);
        for i in 0..nv {
            let dense: f64 = (0..nv).map(|j| matrix[i * nv + j] * x[j]).sum();
            assert!((dense - back[i]).abs() < 1e-12, "{i}: {dense} {}", back[i]);
            if locked[i] {
                assert_eq!(x[i], 0.0);
            } else {
                assert!((back[i] - b[i]).abs() < 1e-11, "{i}: {} {}", back[i], b[i]);
            }
        }
    }
}
