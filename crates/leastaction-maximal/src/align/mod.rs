//! Loops whose data is off by its last digits.
//!
//! A redundant loop moves because axes are parallel, points coincide, lengths agree; data of five digits says so only nearly, and
//! rows that follow from the others are then open by what it is off. Here the frames of the joints are moved by as little as closes
//! every row in every pose, once, before the first step. (8.25)
//!
//! Of every self-stress `σ` of a pose, with wrench `f_i` on the child of joint i, a displacement `δξ_i` of the joint's frames closes
//! what is open if `Σ f_i·δξ_i = −σ·g`. The frames are fixed to their links, so that each pose gives other equations for the same
//! twelve numbers per joint; the least solution is taken, and the equations again at the frames it gives.

mod folds;
mod precision;

use super::geometry::LinkPose;
use super::layout::{ClosureKind, End, Layout, LinkJoint};
use super::ldu::{RANK_TOLERANCE, Rank, angular, linear};
use super::read_out::{assemble_node, project};
use super::start::{
    CLOSED, carry_momentum, close_loops, largest_turn, move_joints, normalise, open_by, position_values,
    set_row_tolerance,
};
use super::state::MaximalState;
use super::workspace::MaximalWorkspace;
use crate::mechanism::Mechanism;
use crate::spatial::{Quat, Vec3};
use folds::simple_cycles;
use leastaction_core::linalg::{singular_values, triangular_factor};

/// Poses that the loops are looked at in, and how far apart they are: radians of the joint that turns most.
const POSES: usize = 40;
const APART: f64 = 0.15;
/// Rounds of equations; the first few square the error.
const ROUNDS: usize = 6;
/// Singular values below this times the largest are directions that no pose sees.
const SEEN: f64 = 1e-7;
/// Largest displacement of a frame that counts as a matter of digits, in lengths of the mechanism or radians.
const LARGEST: f64 = 2e-3;
/// The same for their root mean square: data off by 1e-4 is put right by displacements of at most half of this.
const COARSEST: f64 = 3e-4;

/// Folds that are missed by more than this times what the loops are open by are meant to be.
const SAME_CAUSE: f64 = 4.0;
/// Every so many poses folds are looked for.
const FOLDS: usize = 5;

/// The mechanism with its loops aligned, where its data nearly are and can be; else unchanged.
pub(crate) fn aligned(mechanism: &Mechanism, layout: Layout) -> Layout {
    let loops = layout.closures.iter().any(|c| matches!(c.kind, ClosureKind::Joint));
    if !loops || !layout.ties.is_empty() {
        return layout;
    }
    let mut search = Search::new(mechanism, layout.clone());
    if search.place(0.0) && open_by(&search.ws, &search.made) <= CLOSED {
        let given = Layout { foreseeable: search.is_clear_cut(), ..layout };
        // Rows that close say nothing about how exact lengths are; their digits do.
        let reach = SAME_CAUSE * precision::of_lengths(mechanism);
        let misses = simple_cycles(&given).iter().any(|cycle| cycle.nearly_folds(&given, reach));
        return if misses && search.close(reach / given.length).is_some() { search.found() } else { given };
    }
    // What was not brought to close is left as it was given.
    let Some(open) = search.close(0.0) else { return layout };
    let closed = search.found();
    match search.close(SAME_CAUSE * open) {
        Some(_) => search.found(),
        None => closed,
    }
}

/// Equations for the displacements of frames, a row of twelve numbers per joint each.
#[derive(Default)]
struct Equations {
    rows: Vec<Vec<f64>>,
    away: Vec<f64>,
    /// Largest gap of a row of a closure, in lengths of the mechanism.
    open: f64,
    /// The most by which a fold is missed.
    missed: f64,
}

impl Equations {
    /// Adds the equation of a self-stress along which `open` is open.
    fn add(&mut self, row: Vec<f64>, open: f64) {
        let norm = row.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() {
            self.rows.push(row.iter().map(|x| x / norm).collect());
            self.away.push(-open / norm);
        }
    }
}

/// The mechanism on its way to frames that fit.
struct Search {
    ws: MaximalWorkspace,
    made: MaximalState,
    start: Vec<f64>,
    moved: Vec<[f64; 12]>,
}

impl Search {
    fn new(mechanism: &Mechanism, layout: Layout) -> Self {
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let moved = vec![[0.0; 12]; layout.links.len() + layout.loops.len()];
        let ws = MaximalWorkspace::new(layout, (1, 0), nq, nv, false);
        let made = MaximalState::new(&ws.layout, (1, 0), nq, nv);
        Self { ws, made, start: mechanism.start_state().q, moved }
    }

    /// Goes to the start, at rest; false if the loops cannot be closed there. Rows are judged as those of data off by `open`.
    fn place(&mut self, open: f64) -> bool {
        self.made.q.copy_from_slice(&self.start);
        self.made.momentum.fill([0.0; 6]);
        normalise(&self.ws.layout, &mut self.made.q);
        set_row_tolerance(&mut self.ws, open);
        close_loops(&mut self.ws, &mut self.made).is_ok()
    }

    /// True if every row of a closure either follows from others or is far from doing so, in the pose at hand.
    fn is_clear_cut(&mut self) -> bool {
        assemble_node(&mut self.ws, &self.made);
        choose_rows(&mut self.ws, &self.made);
        self.ws.ldu.clear_cut
    }

    /// Moves frames until all rows close in all poses, and folds that are missed by less than `reach` are reached. Returns what was
    /// open before; none if that does not come about.
    fn close(&mut self, reach: f64) -> Option<f64> {
        let mut before = None;
        for round in 0..=ROUNDS {
            if !self.place(1.0) {
                return None;
            }
            let found = self.equations(reach);
            let before = *before.get_or_insert(found.open);
            let off = found.open.max(found.missed);
            if found.rows.is_empty() || (round == ROUNDS && off > 0.1 * CLOSED) {
                return None;
            }
            let change = least_solution(&found.rows, &found.away)?;
            for (moved, change) in self.moved.iter_mut().zip(change.chunks_exact(12)) {
                moved.iter_mut().zip(change).for_each(|(moved, change)| *moved += change);
            }
            if !self.moved.iter().flatten().all(|x| x.abs() <= LARGEST) || !self.is_in_the_digits() {
                return None;
            }
            displace(&mut self.ws.layout, &change);
            // A round squares what is left: after this one it is rounding.
            if off <= 0.1 * CLOSED {
                return Some(before);
            }
        }
        None
    }

    /// True if the displacements are no longer than those of data that is off in its digits. What undoes the data's own errors closes
    /// all rows, and the least solution is not longer; a point that is merely near an axis takes few displacements, but large ones.
    fn is_in_the_digits(&self) -> bool {
        let moved = self.moved.iter().filter(|joint| joint.iter().any(|x| *x != 0.0));
        let (numbers, squares) = moved.fold((0.0, 0.0), |(count, sum): (f64, f64), joint| {
            (count + 12.0, sum + joint.iter().map(|x| x * x).sum::<f64>())
        });
        squares <= numbers * COARSEST * COARSEST
    }

    /// The mechanism with the frames as they are now.
    fn found(&self) -> Layout {
        let mut out = self.ws.layout.clone();
        out.aligned_by = self.moved.iter().flatten().fold(0.0f64, |m, x| m.max(x.abs())) * out.length;
        out.row_tolerance = RANK_TOLERANCE;
        out
    }

    /// Equations of all self-stresses in poses along the motion.
    fn equations(&mut self, reach: f64) -> Equations {
        let Self { ws, made, .. } = self;
        let mut out = Equations::default();
        let mut seed = 12345u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        let cycles = if reach > 0.0 { simple_cycles(&ws.layout) } else { Vec::new() };
        let mut poses = made.poses.clone();
        let ranks: Vec<usize> = cycles.iter().map(|c| c.rank(&ws.layout, &made.q, &mut poses)).collect();
        for pose in 0..POSES {
            out.open = out.open.max(open_by(ws, made));
            take_pose(ws, made, &mut out);
            if pose % FOLDS == 0 {
                for (cycle, rank) in cycles.iter().zip(&ranks) {
                    poses.copy_from_slice(&made.poses);
                    let missed = cycle.take_fold(&ws.layout, &made.q, *rank, reach, &mut poses, &mut out);
                    out.missed = out.missed.max(missed);
                }
            }
            // On along the motion; now and then into another direction, where there is one.
            if pose % 8 == 0 {
                let length = ws.layout.length;
                for (p, link) in made.momentum.iter_mut().zip(&ws.layout.links) {
                    let size = link.mass * length;
                    *p = std::array::from_fn(|k| p[k] + size * random() * if k < 3 { length } else { 1.0 });
                }
            }
            project(ws, made);
            let largest = largest_turn(&ws.layout, &ws.system.rate);
            if !(largest.is_finite() && largest > 0.0) {
                break;
            }
            let s = APART / largest;
            let body: Vec<_> = ws.system.body.iter().map(|w| w.map(|x| x * s)).collect();
            carry_momentum(&ws.layout, &made.side, &body, &mut made.momentum);
            let rate = ws.system.rate.clone();
            move_joints(&ws.layout, &made.side, &rate, s, &mut made.q);
            if close_loops(ws, made).is_err() {
                break;
            }
        }
        out
    }
}

/// Factors the assembled node with a choice of the rows in use.
fn choose_rows(ws: &mut MaximalWorkspace, made: &MaximalState) {
    let MaximalWorkspace { layout, graph, ldu, .. } = ws;
    ldu.rank = Rank::Choosing;
    ldu.factor(layout, graph, &made.side, &made.side);
    ldu.rank = Rank::Dropping;
}

/// Adds the equations of one pose; none where rows are in use, or not, by a narrow margin.
fn take_pose(ws: &mut MaximalWorkspace, made: &MaximalState, out: &mut Equations) {
    assemble_node(ws, made);
    choose_rows(ws, made);
    let MaximalWorkspace { layout, graph, ldu, system, step, .. } = ws;
    let (side, n, length) = (&made.side, layout.links.len(), layout.length);
    if !ldu.clear_cut {
        return;
    }
    for c in (0..layout.closures.len()).filter(|c| matches!(layout.closures[*c].kind, ClosureKind::Joint)) {
        for which in 0..ldu.kernel(layout, c).1 {
            ldu.self_stress(layout, graph, side, c, which, system);
            let mut row = vec![0.0; 12 * (n + layout.loops.len())];
            let mut open = 0.0;
            for (i, link) in layout.links.iter().enumerate() {
                let w = &system.wrench[i];
                let entries =
                    entries(&link.joint, &made.poses, side.joints[i].gap, angular(w), linear(w), length);
                row[12 * i..12 * (i + 1)].copy_from_slice(&entries);
            }
            for (other, closure) in layout.closures.iter().enumerate() {
                let ClosureKind::Joint = closure.kind else { continue };
                let (joint, g) = (&layout.loops[closure.index], &side.loops[closure.index]);
                let (mut tau, mut f, mut value) = (Vec3::zero(), Vec3::zero(), [0.0; 6]);
                position_values(layout, other, side, &made.poses, &mut value);
                for r in 0..closure.rows {
                    let (lam, direction) = (system.closure[other][r], &step.rows[other][r]);
                    tau += (direction.ang_b - g.lever_b.cross(direction.lin)) * lam;
                    f += direction.lin * lam;
                    open += lam * value[r];
                }
                let at = 12 * (n + closure.index);
                row[at..at + 12].copy_from_slice(&entries(joint, &made.poses, g.gap, tau, f, length));
            }
            out.add(row, open);
        }
    }
}

/// Work of a wrench on the child, at its joint point, along displacements of the joint's frames: turns and shifts of the child's
/// frame, then of the parent's, each in the frame's own axes, shifts in lengths of the mechanism.
fn entries(joint: &LinkJoint, poses: &[LinkPose], gap: Vec3, tau: Vec3, f: Vec3, length: f64) -> [f64; 12] {
    let axes = |end: &End| end.link.map_or(end.q, |i| poses[i].q * end.q).to_matrix();
    let (b, a) = (axes(&joint.b), axes(&joint.a));
    std::array::from_fn(|k| match k / 3 {
        0 => tau.dot(b.column(k)),
        1 => length * f.dot(b.column(k - 3)),
        // The parent's origin is away from the child's where the joint slides.
        2 => -(tau.dot(a.column(k - 6)) + f.dot(a.column(k - 6).cross(gap))),
        _ => -length * f.dot(a.column(k - 9)),
    })
}

/// The least `x` that comes nearest to `rows x = away`, in the directions that the rows see. Loops that share no joint are
/// solved one by one; none if there are too many joints in one.
fn least_solution(rows: &[Vec<f64>], away: &[f64]) -> Option<Vec<f64>> {
    const MOST: usize = 400;
    let n = rows.first()?.len();
    let touches = |row: &[f64], j: usize| row[12 * j..12 * (j + 1)].iter().any(|x| *x != 0.0);
    let mut group: Vec<usize> = (0..n / 12).collect();
    for row in rows {
        let of: Vec<usize> = (0..n / 12).filter(|j| touches(row, *j)).map(|j| group[j]).collect();
        let Some(first) = of.iter().min().copied() else { continue };
        group.iter_mut().filter(|g| of.contains(g)).for_each(|g| *g = first);
    }
    let mut out = vec![0.0; n];
    for g in 0..n / 12 {
        let joints: Vec<usize> = (0..n / 12).filter(|j| group[*j] == g).collect();
        let places: Vec<usize> = joints.iter().flat_map(|j| 12 * j..12 * (j + 1)).collect();
        let own: Vec<usize> =
            (0..rows.len()).filter(|r| joints.iter().any(|j| touches(&rows[*r], *j))).collect();
        if own.is_empty() {
            continue;
        }
        if places.len() > MOST {
            return None;
        }
        let columns: Vec<Vec<f64>> =
            places.iter().map(|p| own.iter().map(|r| rows[*r][*p]).collect()).collect();
        let (values, vectors) = singular_values(&triangular_factor(&columns), places.len());
        for (value, v) in values.iter().zip(&vectors).filter(|(value, _)| **value > SEEN * values[0]) {
            // A v = s u, so that x gains (u·b/s) v.
            let image = |r: usize| places.iter().zip(v).map(|(p, v)| rows[r][*p] * v).sum::<f64>();
            let along: f64 = own.iter().map(|r| away[*r] * image(*r)).sum();
            let s = along / (value * value);
            places.iter().zip(v).for_each(|(p, v)| out[*p] += s * v);
        }
    }
    out.iter().all(|x| x.is_finite()).then_some(out)
}

/// Moves the frames of all joints.
fn displace(layout: &mut Layout, change: &[f64]) {
    let length = layout.length;
    let shift = |end: &mut End, by: &[f64]| {
        let turn = Vec3([by[0], by[1], by[2]]) * 0.5;
        end.p += end.q.rotate(Vec3([by[3], by[4], by[5]]) * length);
        end.q = (end.q * Quat { w: 1.0, v: turn }).normalized();
    };
    let joints = layout.links.iter_mut().map(|link| &mut link.joint).chain(&mut layout.loops);
    for (joint, by) in joints.zip(change.chunks_exact(12)) {
        shift(&mut joint.b, &by[..6]);
        shift(&mut joint.a, &by[6..]);
    }
    layout.take_levers();
}
