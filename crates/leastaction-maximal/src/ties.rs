//! Scalar rows over several joints: couplings, sums of coordinates, whole turns of balls, coordinates of loop joints.
//!
//! A *tie* is a function of joint coordinates that is held at all nodes, always (a joint that follows others) or while the
//! driver of friction and limits says so. Its gradient is a sum of coordinate rows with slopes. In the graph of bodies and
//! joints it would be a node over many bodies; ties are few, so they stand beside the factored matrix `K` as columns:
//!
//! ```text
//! X = K⁻¹ gᵀ,   (g X) η = target − g w,   w += X η                                                      (7.10)
//! ```

use super::constraint::{Row, coordinate_row};
use super::geometry::{Geometry, Side};
use super::graph::Graph;
use super::layout::{Layout, LinkJoint};
use super::ldu::{Ldu, Six, System, dot, six};
use crate::mechanism::{FollowerLaw, JointType, Mechanism, Motion, RowOf, turn};

/// Part of a row's size against the bare links below which it follows from others.
const DROPPED: f64 = 1e-10;

/// A joint of the tree, by its link, or of a loop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum JointAt {
    Link(usize),
    Loop(usize),
}

/// A coordinate that a tie depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) joint: JointAt,
    pub(crate) c: usize,
}

/// The function that a tie holds.
#[derive(Clone, Debug)]
pub(crate) enum TieLaw {
    /// The first part is the follower, the others its leaders.
    Follower(FollowerLaw),
    /// A sum of coordinates.
    Sum(Vec<f64>),
    /// The angle of the whole rotation; the parts are the three of the ball.
    Turn,
    /// One coordinate.
    Single,
    /// One coordinate along a given motion.
    Motion(Motion),
}

/// One tie.
#[derive(Clone, Debug)]
pub(crate) struct Tie {
    pub(crate) law: TieLaw,
    pub(crate) parts: Vec<Part>,
    /// The row of the mechanism whose lock makes it act; none for those that always do.
    pub(crate) row: Option<usize>,
    /// First of its slopes in lists of all ties.
    pub(crate) first: usize,
}

/// What of the joints' coordinates a tie needs: values at the start, and what has changed since.
pub(crate) trait Coordinates {
    fn start(&self, part: &Part) -> f64;
    fn change(&self, part: &Part) -> f64;
    fn geometry(&self, joint: JointAt) -> &Geometry;
    /// Time at the start, and since.
    fn time(&self) -> (f64, f64);
}

impl Tie {
    /// All ties of a mechanism.
    pub(crate) fn all(mechanism: &Mechanism, layout: &Layout) -> Vec<Self> {
        let place = |v: usize| {
            let of = |l: &super::layout::Link| (l.v..l.v + l.joint.kind.nv()).contains(&v);
            layout
                .links
                .iter()
                .position(of)
                .map(|i| Part { joint: JointAt::Link(i), c: v - layout.links[i].v })
        };
        let mut out: Vec<Self> = Vec::new();
        let mut add = |law: TieLaw, parts: Option<Vec<Part>>, row: Option<usize>| {
            if let Some(parts) = parts {
                let first = out.last().map_or(0, |tie: &Self| tie.first + tie.parts.len());
                out.push(Self { law, parts, row, first });
            }
        };
        for follower in mechanism.followers() {
            let of = std::iter::once(follower.at).chain(follower.law.leaders());
            let law = match follower.law.motion() {
                Some(motion) => TieLaw::Motion(motion.clone()),
                None => TieLaw::Follower(follower.law.clone()),
            };
            add(law, of.map(|at| place(at.v)).collect(), None);
        }
        for (k, row) in mechanism.rows().iter().enumerate() {
            match &row.of {
                RowOf::Coordinate { .. } => {}
                RowOf::Tendon { terms, .. } => {
                    let parts = terms.iter().map(|(at, _)| place(at.v)).collect();
                    add(TieLaw::Sum(terms.iter().map(|(_, a)| *a).collect()), parts, Some(k));
                }
                RowOf::Turn { at, .. } => {
                    add(TieLaw::Turn, (at.v..at.v + 3).map(place).collect(), Some(k));
                }
                RowOf::Loop { joint, part, .. } => {
                    let l = layout.loops.iter().position(|l| l.joint == joint.index());
                    let parts = l.map(|l| vec![Part { joint: JointAt::Loop(l), c: *part }]);
                    add(TieLaw::Single, parts, Some(k));
                }
            }
        }
        out
    }

    /// How far it is off its hold, and its slopes by its parts.
    pub(crate) fn measure(&self, hold: f64, at: &impl Coordinates, slopes: &mut [f64]) -> f64 {
        match &self.law {
            TieLaw::Follower(law) => {
                let part = |v: crate::mechanism::Scalar| {
                    let k = law.leaders().position(|leader| leader == v).unwrap_or(0);
                    &self.parts[1 + k]
                };
                slopes[0] = 1.0;
                let mut k = 1;
                law.slopes_from(
                    |v| at.start(part(v)) + at.change(part(v)),
                    |_, slope| {
                        slopes[k] = -slope;
                        k += 1;
                    },
                );
                let own = &self.parts[0];
                let moved = law.increment_from(|v| at.start(part(v)), |v| at.change(part(v)));
                let away = at.start(own) - law.value_from(|v| at.start(part(v)));
                away + at.change(own) - moved
            }
            TieLaw::Sum(factors) => {
                slopes.copy_from_slice(factors);
                let sum = |y: &dyn Fn(&Part) -> f64| -> f64 {
                    self.parts.iter().zip(factors).map(|(part, a)| a * y(part)).sum()
                };
                sum(&|part| at.start(part)) - hold + sum(&|part| at.change(part))
            }
            TieLaw::Turn => {
                let (angle, axis) = turn(&at.geometry(self.parts[0].joint).r.to_array());
                slopes.copy_from_slice(&axis);
                angle - hold
            }
            TieLaw::Single => {
                slopes[0] = 1.0;
                let part = &self.parts[0];
                at.start(part) - hold + at.change(part)
            }
            TieLaw::Motion(motion) => {
                slopes[0] = 1.0;
                let (part, (t, dt)) = (&self.parts[0], at.time());
                at.start(part) - motion.at(t)[0] + (at.change(part) - motion.increment(t, dt))
            }
        }
    }

    /// The rate that it asks for at a time.
    pub(crate) fn rate(&self, t: f64) -> f64 {
        if let TieLaw::Motion(motion) = &self.law { motion.at(t)[1] } else { 0.0 }
    }

    /// The motion of a driven joint.
    pub(crate) fn motion(&self) -> Option<&Motion> {
        if let TieLaw::Motion(motion) = &self.law { Some(motion) } else { None }
    }

    /// True if its value is an angle.
    pub(crate) fn is_angle(&self, layout: &Layout) -> bool {
        let Part { joint, c } = self.parts[0];
        self.law_is_turn() || super::coordinate::is_angle(joint.of(layout).kind, c)
    }

    fn law_is_turn(&self) -> bool {
        matches!(self.law, TieLaw::Turn)
    }

    /// Calls `each(link, wrench)` for its gradient at a pose, about the links' joint points.
    pub(crate) fn gradient(
        &self,
        layout: &Layout,
        side: &Side,
        slopes: &[f64],
        mut each: impl FnMut(usize, Six),
    ) {
        for (part, slope) in self.parts.iter().zip(slopes).filter(|(_, slope)| **slope != 0.0) {
            let (joint, row) = part.row(layout, side);
            if let Some(b) = joint.b.link {
                each(b, six(row.ang_b * *slope, row.lin * *slope));
            }
            if let Some(a) = joint.a.link {
                each(a, six(row.ang_a * -*slope, row.lin * -*slope));
            }
        }
    }
}

impl JointAt {
    pub(crate) fn of(self, layout: &Layout) -> &LinkJoint {
        match self {
            Self::Link(i) => &layout.links[i].joint,
            Self::Loop(l) => &layout.loops[l],
        }
    }

    pub(crate) fn geometry(self, side: &Side) -> &Geometry {
        match self {
            Self::Link(i) => &side.joints[i],
            Self::Loop(l) => &side.loops[l],
        }
    }
}

impl Part {
    /// The joint, and the direction of the coordinate.
    pub(crate) fn row<'a>(&self, layout: &'a Layout, side: &Side) -> (&'a LinkJoint, Row) {
        let joint = self.joint.of(layout);
        (joint, coordinate_row(joint.kind, self.joint.geometry(side), self.c))
    }
}

/// Coordinates of a node by themselves.
pub(crate) struct Still<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) side: &'a Side,
    pub(crate) q: &'a [f64],
    pub(crate) q_loop: &'a [[f64; 7]],
    pub(crate) t: f64,
}

impl Coordinates for Still<'_> {
    fn start(&self, part: &Part) -> f64 {
        match part.joint {
            JointAt::Link(i) if self.layout.links[i].joint.kind == JointType::Spherical => 0.0,
            JointAt::Link(i) => self.q[self.layout.links[i].q + part.c],
            JointAt::Loop(l) => self.q_loop[l][part.c],
        }
    }
    fn change(&self, _part: &Part) -> f64 {
        0.0
    }
    fn geometry(&self, joint: JointAt) -> &Geometry {
        joint.geometry(self.side)
    }
    fn time(&self) -> (f64, f64) {
        (self.t, 0.0)
    }
}

/// One column `K⁻¹ gᵀ`.
#[derive(Clone, Debug)]
struct Column {
    body: Vec<Six>,
    wrench: Vec<Six>,
    closure: Vec<Six>,
    rate: Vec<f64>,
}

/// Columns of the ties that act, beside one factored matrix. Holds no truth.
#[derive(Clone, Debug)]
pub(crate) struct TieColumns {
    active: Vec<usize>,
    /// Gradients by tie: links and wrenches about their joint points.
    gradients: Vec<Vec<(usize, Six)>>,
    columns: Vec<Column>,
    schur: Vec<f64>,
    order: Vec<usize>,
    rank: usize,
    size: Vec<f64>,
    scratch: System,
    work: Vec<f64>,
    /// Multipliers of the last correction, by tie.
    pub(crate) eta: Vec<f64>,
}

impl TieColumns {
    pub(crate) fn new(layout: &Layout, nv: usize) -> Self {
        let (n, nc, m) = (layout.links.len(), layout.closures.len(), layout.ties.len());
        let column = Column {
            body: vec![[0.0; 6]; n],
            wrench: vec![[0.0; 6]; n],
            closure: vec![[0.0; 6]; nc],
            rate: vec![0.0; nv],
        };
        Self {
            active: Vec::with_capacity(m),
            gradients: layout.ties.iter().map(|tie| Vec::with_capacity(2 * tie.parts.len())).collect(),
            columns: vec![column; m],
            schur: vec![0.0; m * m],
            order: vec![0; m],
            rank: 0,
            size: vec![0.0; m],
            scratch: System::new(layout, nv),
            work: vec![0.0; m],
            eta: vec![0.0; m],
        }
    }

    /// Columns of the ties that `held` gives a number to, for the matrix just factored at `side`. Does not allocate.
    pub(crate) fn prepare(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        side: &Side,
        ldu: &Ldu,
        held: &[f64],
        slopes: &[f64],
    ) {
        self.active.clear();
        for (o, tie) in layout.ties.iter().enumerate().filter(|(o, _)| !held[*o].is_nan()) {
            self.active.push(o);
            let gradient = &mut self.gradients[o];
            gradient.clear();
            let scratch = &mut self.scratch;
            for zero in
                [&mut scratch.body, &mut scratch.particular, &mut scratch.closure, &mut scratch.wrench]
            {
                zero.fill([0.0; 6]);
            }
            scratch.force.fill(0.0);
            scratch.rate.fill(0.0);
            scratch.limit.fill(0.0);
            let mut size = 0.0;
            tie.gradient(layout, side, &slopes[tie.first..tie.first + tie.parts.len()], |i, g| {
                gradient.push((i, g));
                for k in 0..6 {
                    scratch.body[i][k] += g[k];
                }
                let link = &layout.links[i];
                let (ang, lin) = (super::ldu::angular(&g), super::ldu::linear(&g));
                let ang = side.rot[i].tr_mul(ang + side.arm[i].cross(lin));
                size += ang.dot(link.inverse_inertia * ang) + lin.norm2() * link.inverse_mass;
            });
            self.size[o] = size;
            ldu.solve(layout, graph, side, side, scratch);
            let column = &mut self.columns[o];
            column.body.copy_from_slice(&scratch.body);
            column.wrench.copy_from_slice(&scratch.wrench);
            column.closure.copy_from_slice(&scratch.closure);
            column.rate.copy_from_slice(&scratch.rate);
        }
        let m = self.active.len();
        for i in 0..m {
            for j in 0..m {
                self.schur[i * m + j] = self.along(self.active[i], &self.columns[self.active[j]].body);
            }
            self.order[i] = i;
        }
        self.factor();
    }

    /// `g · w` of a tie.
    fn along(&self, tie: usize, body: &[Six]) -> f64 {
        self.gradients[tie].iter().map(|(i, g)| dot(g, &body[*i])).sum()
    }

    /// Cholesky with pivoting; rows that follow from others are left out.
    fn factor(&mut self) {
        let m = self.active.len();
        let (a, order) = (&mut self.schur, &mut self.order);
        self.rank = m;
        for k in 0..m {
            let best = (k..m).max_by(|i, j| {
                let part = |i: usize| a[order[i] * m + order[i]] / self.size[self.active[order[i]]];
                part(*i).total_cmp(&part(*j))
            });
            order.swap(k, best.unwrap_or(k));
            let p = order[k];
            let pivot = a[p * m + p];
            if pivot.is_nan() || pivot <= DROPPED * self.size[self.active[p]] {
                self.rank = k;
                return;
            }
            let root = pivot.sqrt();
            a[p * m + p] = root;
            for &r in &order[k + 1..m] {
                a[r * m + p] /= root;
            }
            for i in k + 1..m {
                let r = order[i];
                let f = a[r * m + p];
                for &c in &order[k + 1..m] {
                    let g = a[c * m + p];
                    a[r * m + c] -= f * g;
                }
            }
        }
    }

    /// Makes a solution obey the ties: `g w = target`. Does not allocate.
    pub(crate) fn correct(&mut self, system: &mut System, target: impl Fn(usize) -> f64) {
        let m = self.active.len();
        if m == 0 {
            return;
        }
        for i in 0..self.rank {
            let at = self.order[i];
            let tie = self.active[at];
            let mut sum = target(tie) - self.along(tie, &system.body);
            for j in 0..i {
                sum -= self.schur[at * m + self.order[j]] * self.work[j];
            }
            self.work[i] = sum / self.schur[at * m + at];
        }
        self.eta.fill(0.0);
        for i in (0..self.rank).rev() {
            let at = self.order[i];
            let mut sum = self.work[i];
            for j in i + 1..self.rank {
                let other = self.order[j];
                sum -= self.schur[other * m + at] * self.eta[self.active[other]];
            }
            self.eta[self.active[at]] = sum / self.schur[at * m + at];
        }
        for &tie in &self.active {
            let (eta, column) = (self.eta[tie], &self.columns[tie]);
            let add = |to: &mut [Six], x: &[Six]| {
                for (to, x) in to.iter_mut().zip(x) {
                    (0..6).for_each(|k| to[k] += eta * x[k]);
                }
            };
            add(&mut system.body, &column.body);
            add(&mut system.wrench, &column.wrench);
            add(&mut system.closure, &column.closure);
            system.rate.iter_mut().zip(&column.rate).for_each(|(to, x)| *to += eta * x);
        }
    }
}
