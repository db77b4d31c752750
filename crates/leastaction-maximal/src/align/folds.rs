//! Folded poses of rounded data.
//!
//! A rhombus folds flat because its sides are equal, and in that pose, singular, it goes straight through while another branch of
//! poses crosses its path. With sides that are off by `c` the branches part: within `√c` of the fold the linkage turns off into the
//! other one, and a step that is longer than the bend loses there what an impact would. No self-stress of a regular pose knows about
//! such lengths; the one of the folded pose does. (8.26)

use super::{Equations, entries};
use crate::constraint::{angular_rows, directions, values};
use crate::coordinate::turns;
use crate::geometry::{Geometry, LinkPose, joint_geometry};
use crate::graph::cycles;
use crate::layout::{ClosureKind, End, Layout, LinkJoint};
use crate::mechanism::JointType;
use crate::spatial::Vec3;
use leastaction_core::linalg::{singular_values, triangular_factor};

/// Step of central differences, radians or lengths of the mechanism.
const DIFFERENCE: f64 = 1e-5;
/// Singular values below this times the largest are zero: differences show no less.
const NOTHING: f64 = 1e-6;
/// The same that ends the search for a fold.
const NEAR: f64 = 1e-5;
/// Curvatures below this times the largest belong to directions along which the pose stays folded.
const FLAT: f64 = 1e-3;
/// Sides whose signed sum is below this times the longest meet exactly.
const MEETS: f64 = 1e-12;
/// Hinges whose axes are this near to parallel are as far apart as their axes, not their origins.
const PARALLEL: f64 = 1e-2;
/// Most sides of a loop whose signed sums are looked through.
const MOST_SIDES: usize = 12;
/// Longest step of the search, and how many.
const STRIDE: f64 = 0.3;
const STEPS: usize = 25;

/// A loop that shares no joint with another, in its own coordinates.
pub(super) struct Cycle {
    closure: usize,
    /// Links between the closure and their lowest common one, parents first, with the sign of the closure's wrench on them.
    links: Vec<(usize, f64)>,
    /// Link and coordinate of every column.
    coordinates: Vec<(usize, usize)>,
}

/// Values of the closure's rows and their slopes by the coordinates, by columns; lengths in lengths of the mechanism.
struct Slopes {
    values: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

/// Singular values of the slopes, and all singular vectors of either side.
struct Decomposition {
    values: Vec<f64>,
    left: Vec<Vec<f64>>,
    right: Vec<Vec<f64>>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// All loops that share no joint with another one.
pub(super) fn simple_cycles(layout: &Layout) -> Vec<Cycle> {
    let all = cycles(layout);
    let mut shared = vec![0usize; layout.links.len()];
    all.iter().flat_map(|cycle| cycle.below.iter()).for_each(|&(i, _)| shared[i] += 1);
    let simple = |(c, cycle): (usize, &crate::graph::Cycle)| {
        let joint = matches!(layout.closures[c].kind, ClosureKind::Joint);
        if !joint || cycle.below.iter().any(|&(i, _)| shared[i] > 1) {
            return None;
        }
        let mut links = cycle.below.clone();
        links.sort_by_key(|&(i, _)| i);
        let of = |&(i, _): &(usize, f64)| (0..layout.links[i].joint.kind.nv()).map(move |k| (i, k));
        let coordinates = links.iter().flat_map(of).collect();
        Some(Cycle { closure: c, links, coordinates })
    };
    all.iter().enumerate().filter_map(simple).collect()
}

impl Cycle {
    /// Poses of the cycle's links by their coordinates; the others stay where they are.
    fn place(&self, layout: &Layout, q: &[f64], poses: &mut [LinkPose]) {
        for &(i, _) in &self.links {
            crate::start::pose_link(layout, i, q, poses);
        }
    }

    fn geometry(&self, layout: &Layout, poses: &[LinkPose]) -> Geometry {
        let joint = &layout.loops[layout.closures[self.closure].index];
        let rot = |link: Option<usize>| link.map(|i| poses[i].q.to_matrix());
        let (a, b) = (rot(joint.a.link), rot(joint.b.link));
        let at = |link: Option<usize>| link.map(|i| &poses[i]);
        joint_geometry(joint, at(joint.a.link).zip(a.as_ref()), at(joint.b.link).zip(b.as_ref()), true)
    }

    fn values(&self, layout: &Layout, q: &[f64], poses: &mut [LinkPose]) -> Vec<f64> {
        self.place(layout, q, poses);
        let kind = layout.loops[layout.closures[self.closure].index].kind;
        let mut out = [0.0; 6];
        let rows = values(kind, &self.geometry(layout, poses), &mut out);
        let angles = angular_rows(kind);
        (0..rows).map(|r| if r < angles { out[r] } else { out[r] / layout.length }).collect()
    }

    /// Coordinates moved along a direction: radians, or lengths of the mechanism.
    fn moved(&self, layout: &Layout, q: &[f64], direction: &[f64], by: f64) -> Vec<f64> {
        let mut out = q.to_vec();
        for &(i, _) in &self.links {
            let link = &layout.links[i];
            let kind = link.joint.kind;
            let mut u = [0.0; 6];
            for (&(_, k), d) in self.coordinates.iter().zip(direction).filter(|((of, _), _)| *of == i) {
                u[k] = d * by * if turns(kind, k) { 1.0 } else { layout.length };
            }
            let range = link.q..link.q + kind.nq();
            kind.retract(&q[range.clone()], &u[..kind.nv()], &mut out[range]);
        }
        out
    }

    fn slopes(&self, layout: &Layout, q: &[f64], poses: &mut [LinkPose]) -> Slopes {
        let mut along = |k: usize, by: f64| {
            let mut unit = vec![0.0; self.coordinates.len()];
            unit[k] = 1.0;
            self.values(layout, &self.moved(layout, q, &unit, by), poses)
        };
        let column = |k: usize| {
            let (ahead, behind) = (along(k, DIFFERENCE), along(k, -DIFFERENCE));
            ahead.iter().zip(&behind).map(|(a, b)| (a - b) / (2.0 * DIFFERENCE)).collect()
        };
        let columns = (0..self.coordinates.len()).map(column).collect();
        Slopes { values: self.values(layout, q, poses), columns }
    }

    /// True if the loop would lie flat but for lengths that are off by at most `reach`, a length: its sides laid along a line, there
    /// and back, miss each other by that and not by nothing. Much cheaper than the search for the fold itself.
    pub(super) fn nearly_folds(&self, layout: &Layout, reach: f64) -> bool {
        let Some(sides) = self.sides(layout).filter(|sides| sides.len() <= MOST_SIDES) else { return false };
        let longest = sides.iter().fold(0.0f64, |m, x| m.max(*x));
        // The first side goes there; every other one there or back.
        (0..1usize << sides.len().saturating_sub(1)).any(|signs| {
            let along = |(k, x): (usize, &f64)| if k > 0 && signs >> (k - 1) & 1 == 1 { -x } else { *x };
            let missed = sides.iter().enumerate().map(along).sum::<f64>().abs();
            (MEETS * longest..=reach).contains(&missed)
        })
    }

    /// Distances of the two joints of the loop on each of its links; none if a joint slides.
    fn sides(&self, layout: &Layout) -> Option<Vec<f64>> {
        let closing = &layout.loops[layout.closures[self.closure].index];
        let tree = self.links.iter().map(|&(i, _)| &layout.links[i].joint);
        let mut ends: Vec<(&End, &LinkJoint)> =
            tree.chain([closing]).flat_map(|joint| [(&joint.a, joint), (&joint.b, joint)]).collect();
        let turns_only = |kind: JointType| {
            use JointType::{Continuous, Fixed, Revolute, Spherical, Universal};
            matches!(kind, Fixed | Revolute | Continuous | Universal | Spherical)
        };
        if !ends.iter().all(|(_, joint)| turns_only(joint.kind)) {
            return None;
        }
        ends.sort_by_key(|(end, _)| end.link);
        let side = |pair: &[(&End, &LinkJoint)]| {
            let ((a, first), (b, second)) = (pair[0], pair[1]);
            let hinge = |joint: &LinkJoint| matches!(joint.kind, JointType::Revolute | JointType::Continuous);
            let [n, m] = [a, b].map(|end| end.q.rotate(Vec3([0.0, 0.0, 1.0])));
            let away = b.p - a.p;
            let parallel = hinge(first) && hinge(second) && n.cross(m).norm() < PARALLEL;
            (a.link == b.link).then(|| if parallel { away - n * away.dot(n) } else { away }.norm())
        };
        ends.chunks_exact(2).map(side).collect()
    }

    /// The rank of the rows in a regular pose.
    pub(super) fn rank(&self, layout: &Layout, q: &[f64], poses: &mut [LinkPose]) -> usize {
        let found = Decomposition::new(&self.slopes(layout, q, poses).columns);
        found.values.iter().filter(|s| **s > NOTHING * found.values[0]).count()
    }

    /// Goes to the nearest pose in which one more row follows from the others: a self-stress `σ` with `Jᵀσ = 0` on what is free to
    /// move, all rows closed but for `σ`'s. Newton's method; returns the pose and what is open along `σ` there.
    fn fold(
        &self,
        layout: &Layout,
        q: &[f64],
        rank: usize,
        poses: &mut [LinkPose],
    ) -> Option<(Vec<f64>, Vec<f64>, f64)> {
        let mut q = q.to_vec();
        for _ in 0..STEPS {
            let at = self.slopes(layout, &q, poses);
            let found = Decomposition::new(&at.columns);
            let (n, stress) = (self.coordinates.len(), &found.left[rank - 1]);
            let open: Vec<f64> = (0..rank - 1).map(|k| dot(&found.left[k], &at.values)).collect();
            let arrived =
                found.values[rank - 1] <= NEAR * found.values[0] && open.iter().all(|x| x.abs() < NEAR);
            // What closes the other rows, and along what is free the zero of the stress's work.
            let mut change = vec![0.0; n];
            for k in 0..rank - 1 {
                let s = -open[k] / found.values[k];
                change.iter_mut().zip(&found.right[k]).for_each(|(x, v)| *x += s * v);
            }
            let mut work = |direction: &[f64]| -> Vec<f64> {
                let mut end =
                    |by: f64| self.slopes(layout, &self.moved(layout, &q, direction, by), poses).columns;
                let (ahead, behind) = (end(1e-4), end(-1e-4));
                ahead.iter().zip(&behind).map(|(a, b)| (dot(a, stress) - dot(b, stress)) / 2e-4).collect()
            };
            let free = &found.right[rank - 1..];
            let bent: Vec<Vec<f64>> = free.iter().map(|d| work(d)).collect();
            let k = free.len();
            let now: Vec<f64> = at.columns.iter().map(|column| dot(column, stress)).collect();
            let right_side: Vec<f64> =
                (0..k).map(|i| -dot(&now, &free[i]) - dot(&bent[i], &change)).collect();
            let curvature: Vec<f64> = (0..k * k).map(|i| dot(&bent[i % k], &free[i / k])).collect();
            let (sizes, axes) = singular_values(&curvature, k);
            for (size, axis) in sizes.iter().zip(&axes).filter(|(size, _)| **size > FLAT * sizes[0]) {
                // A v = s u: the part of the right-hand side along u, over s, along v.
                let image: Vec<f64> = (0..k).map(|i| dot(&curvature[i * k..(i + 1) * k], axis)).collect();
                let s = dot(&image, &right_side) / (size * size);
                for (d, along) in free.iter().zip(axis) {
                    change.iter_mut().zip(d).for_each(|(x, d)| *x += s * along * d);
                }
            }
            let largest = change.iter().fold(0.0f64, |m, x| m.max(x.abs()));
            if !largest.is_finite() {
                return None;
            }
            q = self.moved(layout, &q, &change, (STRIDE / largest).min(1.0));
            if arrived {
                // The step just made squared what was left, which the gap squares again. The stress is that of the pose before: in
                // the fold itself it could not be told from those of the other rows.
                let gap = dot(stress, &self.values(layout, &q, poses));
                return Some((q, stress.clone(), gap));
            }
        }
        None
    }

    /// Adds the equation of the fold that is found from this pose, if it is missed by no more than `reach`; returns by how much it
    /// is missed.
    pub(super) fn take_fold(
        &self,
        layout: &Layout,
        q: &[f64],
        rank: usize,
        reach: f64,
        poses: &mut [LinkPose],
        out: &mut Equations,
    ) -> f64 {
        if rank == 0 {
            return 0.0;
        }
        let Some((q, stress, gap)) = self.fold(layout, q, rank, poses) else { return 0.0 };
        if gap.abs() > reach {
            return 0.0;
        }
        self.place(layout, &q, poses);
        let closure = &layout.closures[self.closure];
        let (joint, g) = (&layout.loops[closure.index], self.geometry(layout, poses));
        let mut rows = Default::default();
        let count = directions(joint.kind, &g, &mut rows);
        let angles = angular_rows(joint.kind);
        // The stress belongs to rows in lengths of the mechanism.
        let (mut tau, mut f) = (Vec3::zero(), Vec3::zero());
        for r in 0..count {
            let lam = if r < angles { stress[r] } else { stress[r] / layout.length };
            tau += (rows[r].ang_b - g.lever_b.cross(rows[r].lin)) * lam;
            f += rows[r].lin * lam;
        }
        let n = layout.links.len();
        let mut row = vec![0.0; 12 * (n + layout.loops.len())];
        let point = |end: &End| end.link.map_or(end.p, |i| poses[i].x + poses[i].q.rotate(end.p));
        let origin = point(&joint.b);
        let at = 12 * (n + closure.index);
        row[at..at + 12].copy_from_slice(&entries(joint, poses, g.gap, tau, f, layout.length));
        for &(i, sign) in &self.links {
            let joint = &layout.links[i].joint;
            let here = point(&joint.b);
            let turned = tau + (origin - here).cross(f);
            let gap = here - point(&joint.a);
            let by = entries(joint, poses, gap, turned * sign, f * sign, layout.length);
            row[12 * i..12 * (i + 1)].copy_from_slice(&by);
        }
        out.add(row, gap);
        gap.abs()
    }
}

impl Decomposition {
    fn new(columns: &[Vec<f64>]) -> Self {
        let (n, m) = (columns.len(), columns.first().map_or(0, Vec::len));
        let rows: Vec<Vec<f64>> = (0..m).map(|r| columns.iter().map(|c| c[r]).collect()).collect();
        let (values, right) = singular_values(&triangular_factor(columns), n);
        let (_, left) = singular_values(&triangular_factor(&rows), m);
        Self { values, left, right }
    }
}
