//! Consistent start: joint coordinates to poses and momenta, loops closed, velocities projected.

use super::coordinate::{joint_displacement, joint_quaternion, turns};
use super::geometry::{LinkPose, Side};
use super::layout::{ClosureKind, Layout};
use super::ldu::{RANK_TOLERANCE, Six, angular, linear, six, transport};
use super::read_out::{assemble_node, project};
use super::residual::closure_rows;
use super::state::MaximalState;
use super::ties::{Still, Tie};
use super::workspace::{MaximalWorkspace, Worst};
use super::{StepError, momentum_of};
use crate::mechanism::{Mechanism, State};
use crate::spatial::{Mat3, Quat, Vec3};

/// Poses of all links from joint coordinates, parents first. (3.25)
pub(crate) fn forward_kinematics(layout: &Layout, q: &[f64], poses: &mut [LinkPose]) {
    for i in 0..layout.links.len() {
        pose_link(layout, i, q, poses);
    }
}

/// Pose of one link whose parent has its own.
pub(crate) fn pose_link(layout: &Layout, i: usize, q: &[f64], poses: &mut [LinkPose]) {
    let link = &layout.links[i];
    let joint = &link.joint;
    let a = link.parent.map_or(LinkPose::identity(), |p| poses[p]);
    let q = &q[link.q..link.q + joint.kind.nq()];
    let frame = a.q * joint.a.q;
    let turn = (frame * joint_quaternion(joint.kind, q) * joint.b.q.conj()).normalized();
    let at = a.x + a.q.rotate(joint.a.p) + frame.rotate(joint_displacement(joint.kind, q));
    poses[i] = LinkPose { q: turn, x: at - turn.rotate(joint.b.p) };
}

/// Velocities `[Ω; v]` of the joint points from joint rates in the engine's basis.
pub(crate) fn velocities(layout: &Layout, side: &Side, v: &[f64], out: &mut [Six]) {
    let mut columns = [[0.0; 6]; 6];
    for (i, link) in layout.links.iter().enumerate() {
        let joint = &link.joint;
        let mut w = link.parent.map_or([0.0; 6], |p| transport(&out[p], side.lever[i]));
        let g = full_geometry(layout, side, i);
        super::constraint::coordinate_columns(joint.kind, &g, side.axis[i], &mut columns);
        for c in 0..joint.kind.nv() {
            // Public slides of a floating joint are in the child's frame.
            let column = match joint.kind {
                crate::mechanism::JointType::Floating if c >= 3 => six(Vec3::zero(), g.frame_b.column(c - 3)),
                _ => columns[c],
            };
            for k in 0..6 {
                w[k] += column[k] * v[link.v + c];
            }
        }
        out[i] = w;
    }
}

/// Geometry of a link's joint with the child's frame, which a plain ball joint leaves out.
pub(crate) fn full_geometry(layout: &Layout, side: &Side, i: usize) -> super::geometry::Geometry {
    let mut g = side.joints[i];
    if layout.links[i].joint.is_plain_ball() {
        g.frame_b = side.rot[i] * layout.links[i].joint.b.q.to_matrix();
    }
    g
}

/// Fills `made` from a public state: poses, closed loops, projected momenta.
pub(crate) fn consistent_start(
    mechanism: &Mechanism,
    ws: &mut MaximalWorkspace,
    state: &State,
    made: &mut MaximalState,
) -> Result<(), StepError> {
    made.t = state.t;
    made.q.copy_from_slice(&state.q);
    normalise(&ws.layout, &mut made.q);
    // Aligned data closes to rounding; redundant rows of other data stay open by what it is off.
    set_row_tolerance(ws, 0.0);
    if close_loops(ws, made).is_err() || open_by(ws, made) > CLOSED {
        made.q.copy_from_slice(&state.q);
        normalise(&ws.layout, &mut made.q);
        set_row_tolerance(ws, 1.0);
        close_loops(ws, made)?;
    }
    close_within_limits(mechanism, ws, state, made);
    set_row_tolerance(ws, open_by(ws, made));
    // Loop joints: the branch with a positive scalar part, angles nearest to zero.
    for (l, joint) in ws.layout.loops.iter().enumerate() {
        let nq = joint.kind.nq();
        let near = [0.0; 7];
        super::forces::unwrapped(joint.kind, &made.side.loops[l], &near, &mut made.q_loop[l][..nq]);
    }
    // Momentum of the given velocities, then of their projection onto the constraints.
    let n = ws.layout.links.len();
    let mut w = vec![[0.0; 6]; n];
    velocities(&ws.layout, &made.side, &state.v, &mut w);
    carry_momentum(&ws.layout, &made.side, &w, made.momentum.as_mut_slice());
    closure_rows(&ws.layout, &made.side, &made.poses, &mut ws.step.rows);
    add_armature(ws, made, &state.v, &w);
    project(ws, made);
    if let Some(i) = ws.ldu.singular_link(&ws.layout) {
        return Err(StepError::Singular {
            time: state.t,
            what: "mass matrix",
            joint: mechanism.joints()[ws.layout.links[i].joint.joint].name.clone(),
            remedy: "give the body behind it mass and inertia, or the joint armature",
        });
    }
    // On a tree every velocity is admissible, and the projection would add the rounding of a thin body's mass matrix.
    if !ws.layout.closures.is_empty() || !ws.layout.ties.is_empty() {
        w.copy_from_slice(&ws.system.body);
        carry_momentum(&ws.layout, &made.side, &w, made.momentum.as_mut_slice());
        add_armature(ws, made, &ws.system.rate, &w);
    }
    // The first guess is the projected velocity itself.
    let history = &mut made.history;
    history.count = 1;
    history.newest = 0;
    for stage in 0..history.stages {
        let range = history.range(stage, 0, n);
        for (target, i) in history.w[range].iter_mut().zip(0..n) {
            let (ang, lin) = (angular(&w[i]), linear(&w[i]));
            let omega = made.side.rot[i].tr_mul(ang);
            *target = six(omega, lin - ang.cross(made.side.arm[i]));
        }
    }
    Ok(())
}

/// Largest gap of a closure's row, in lengths of the mechanism.
pub(crate) fn open_by(ws: &MaximalWorkspace, made: &MaximalState) -> f64 {
    let mut open = Worst::default();
    for c in 0..ws.layout.closures.len() {
        open.add_closure(&ws.layout, c, &made.side, &made.poses);
    }
    open.as_length(ws.layout.length) / ws.layout.length
}

/// Rows open by less than this, in lengths of the mechanism, are closed.
pub(crate) const CLOSED: f64 = 1e-9;

/// Which rows of closures count as redundant, by what they are open. With placements off by `ε` of the size of the mechanism
/// they are open by three to twelve times that, and their pivots are up to `7 ε²` of their size; needed rows have `4e-5`. (3.20)
pub(crate) fn set_row_tolerance(ws: &mut MaximalWorkspace, open: f64) {
    const LARGEST: f64 = 2e-7;
    ws.layout.row_tolerance =
        if open > CLOSED { (3.0 * open * open).clamp(2.0 * RANK_TOLERANCE, LARGEST) } else { RANK_TOLERANCE };
    ws.ldu.kept.fill([true; 6]);
}

/// True if a warm start shows the positions and velocities that it came with, on this mechanism.
pub(crate) fn reproduces(
    mechanism: &Mechanism,
    ws: &mut MaximalWorkspace,
    made: &MaximalState,
    given: &State,
) -> bool {
    /// Of the largest position or velocity: what a file with ten digits would keep.
    const AGREEMENT: f64 = 1e-9;
    let mut shown = given.clone();
    super::read_out::read_out(mechanism, ws, made, &mut shown);
    let close = |a: &[f64], b: &[f64]| {
        let largest = a.iter().chain(b).fold(0.0f64, |m, x| m.max(x.abs()));
        a.iter().zip(b).all(|(a, b)| (a - b).abs() <= AGREEMENT * largest)
    };
    close(&shown.q, &given.q) && close(&shown.v, &given.v)
}

/// Quaternions of the start scaled to length one.
pub(crate) fn normalise(layout: &Layout, q: &mut [f64]) {
    for link in &layout.links {
        if link.joint.kind.nq() > link.joint.kind.nv() {
            let range = link.q..link.q + 4;
            let r = Quat::from_slice(&q[range.clone()]);
            if (r.norm() - 1.0).abs() > 1e-14 {
                q[range].copy_from_slice(&r.normalized().to_array());
            }
        }
    }
}

pub(crate) fn carry_momentum(layout: &Layout, side: &Side, w: &[Six], out: &mut [Six]) {
    for (i, link) in layout.links.iter().enumerate() {
        let (ang, lin) = (angular(&w[i]), linear(&w[i]));
        let at_com = six(ang, lin - ang.cross(side.arm[i]));
        out[i] = momentum_of(link, &side.rot[i], &at_com);
    }
}

/// Adds `Cᵀ a ẏ`, the armature's share of the carried momentum, at joint rates `rate` and point velocities `w`.
///
/// Joints with armature have the same rates in the public convention and in the engine's basis.
pub(crate) fn add_armature(ws: &MaximalWorkspace, made: &mut MaximalState, rate: &[f64], w: &[Six]) {
    let layout = &ws.layout;
    for (i, link) in layout.links.iter().enumerate() {
        let joint = &link.joint;
        for c in 0..joint.kind.nv() {
            let a = joint.rows.armature[c];
            if a != 0.0 {
                let row = super::constraint::coordinate_row(joint.kind, &made.side.joints[i], c);
                let s = a * rate[link.v + c];
                super::forces::add_row(&mut made.momentum, &made.side.arm, link.parent, Some(i), &row, s);
            }
        }
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        if let ClosureKind::Coordinates = closure.kind {
            let joint = &layout.loops[closure.index];
            for k in 0..joint.kind.nv() {
                let a = joint.rows.armature[k];
                if a != 0.0 {
                    let row = &ws.step.rows[c][k];
                    let part = |link: Option<usize>, ang: Vec3| {
                        link.map_or(0.0, |i| ang.dot(angular(&w[i])) + row.lin.dot(linear(&w[i])))
                    };
                    let rate = part(closure.b, row.ang_b) - part(closure.a, row.ang_a);
                    super::forces::add_row(
                        &mut made.momentum,
                        &made.side.arm,
                        closure.a,
                        closure.b,
                        row,
                        a * rate,
                    );
                }
            }
        }
    }
}

/// Rows of a closure that have a value at a pose: loop joints, and holonomic rows of rolling constraints.
pub(crate) fn position_values(layout: &Layout, c: usize, side: &Side, poses: &[LinkPose], out: &mut Six) {
    let closure = &layout.closures[c];
    *out = [0.0; 6];
    match &closure.kind {
        ClosureKind::Joint => {
            super::constraint::values(layout.loops[closure.index].kind, &side.loops[closure.index], out);
        }
        ClosureKind::Coordinates => {}
        ClosureKind::Rolling(rolling) => {
            for r in 0..closure.rows {
                out[r] = rolling.position(&poses[closure.index], r).unwrap_or(0.0);
            }
        }
    }
}

/// How far ties that always act are off.
fn tie_values(ws: &MaximalWorkspace, made: &MaximalState) -> Vec<f64> {
    let (layout, side) = (&ws.layout, &made.side);
    let at = Still { layout, side, q: &made.q, q_loop: &made.q_loop, t: made.t };
    let value = |(o, tie): (usize, &Tie)| tie.measure(ws.step.tied[o], &at, &mut vec![0.0; tie.parts.len()]);
    let acts = |(o, _): &(usize, &Tie)| !ws.step.tied[*o].is_nan();
    layout.ties.iter().enumerate().map(|at| if acts(&at) { value(at) } else { 0.0 }).collect()
}

/// Closes the loops without taking a joint beyond a limit that it started within: what passes one is put on it and held there while
/// the others close the loops. Where they can't, what closing alone gave is kept.
fn close_within_limits(
    mechanism: &Mechanism,
    ws: &mut MaximalWorkspace,
    given: &State,
    made: &mut MaximalState,
) {
    if ws.layout.closures.is_empty() {
        return;
    }
    let (closed, moved) = (made.q.clone(), made.moved);
    let before = (ws.step.driven, ws.step.enforce_limits);
    (ws.step.driven, ws.step.enforce_limits) = (true, true);
    let mut holds = true;
    while holds {
        let mut any = false;
        for row in mechanism.rows() {
            let Some(at) = row.coordinate() else { continue };
            let inside = |x: f64| x.clamp(row.lower, row.upper);
            let (value, started) = (made.q[at.q], given.q[at.q]);
            if inside(value) != value && inside(started) == started && ws.step.held[at.v].is_nan() {
                made.q[at.q] = inside(value);
                ws.step.held[at.v] = made.q[at.q];
                any = true;
            }
        }
        if !any {
            break;
        }
        holds = close_loops(ws, made).is_ok();
    }
    ws.step.held.fill(f64::NAN);
    (ws.step.driven, ws.step.enforce_limits) = before;
    if holds {
        let change = given.q.iter().zip(&made.q).map(|(a, b)| (a - b).abs());
        made.moved = change.fold(0.0, f64::max);
    } else {
        made.q.copy_from_slice(&closed);
        forward_kinematics(&ws.layout, &made.q, &mut made.poses);
        made.side.place(&ws.layout, &made.poses);
        made.moved = moved;
    }
}

/// Gauss–Newton on the joint coordinates, nearest in the metric of the masses. (3.26)
pub(crate) fn close_loops(ws: &mut MaximalWorkspace, made: &mut MaximalState) -> Result<(), StepError> {
    const MAX_ITERATIONS: usize = 100;
    const MAX_MOVE: f64 = 0.3;
    // Data off by 1e-4 of the size of the mechanism leaves redundant rows open by up to twelve times that.
    const MISALIGNED: f64 = 2e-3;
    let tolerance = 1e-14 * ws.layout.length;
    forward_kinematics(&ws.layout, &made.q, &mut made.poses);
    made.side.place(&ws.layout, &made.poses);
    let given = made.q.clone();
    let (mut best, mut best_q, mut since_best) = (f64::INFINITY, made.q.clone(), 0);
    // Rows that follow from others stay open by the misalignment of the data.
    for _ in 0..MAX_ITERATIONS {
        let mut worst = Worst::default();
        for c in 0..ws.layout.closures.len() {
            let kept = &ws.ldu.kept[c];
            worst.add_rows(&ws.layout, c, &made.side, &made.poses, |r| kept[r]);
        }
        let worst = worst.as_length(ws.layout.length);
        let worst = tie_values(ws, made).iter().fold(worst, |m, x| m.max(x.abs() * ws.layout.length));
        if worst < best {
            best = worst;
            best_q.copy_from_slice(&made.q);
            since_best = 0;
        } else {
            since_best += 1;
        }
        if worst <= tolerance || since_best >= 8 {
            break;
        }
        assemble_node(ws, made);
        for c in 0..ws.layout.closures.len() {
            let mut value = [0.0; 6];
            position_values(&ws.layout, c, &made.side, &made.poses, &mut value);
            ws.system.closure[c] = value.map(|x| -x);
        }
        ws.system.body.fill([0.0; 6]);
        ws.ldu.factor(&ws.layout, &ws.graph, &made.side, &made.side);
        ws.ldu.solve(&ws.layout, &ws.graph, &made.side, &made.side, &mut ws.system);
        let away = tie_values(ws, made);
        ws.tie_node(made, |o, _| -away[o]);
        let largest = largest_turn(&ws.layout, &ws.system.rate);
        if !largest.is_finite() {
            break;
        }
        let s = if largest > MAX_MOVE { MAX_MOVE / largest } else { 1.0 };
        move_joints(&ws.layout, &made.side, &ws.system.rate, s, &mut made.q);
        forward_kinematics(&ws.layout, &made.q, &mut made.poses);
        made.side.place(&ws.layout, &made.poses);
    }
    made.q.copy_from_slice(&best_q);
    forward_kinematics(&ws.layout, &made.q, &mut made.poses);
    made.side.place(&ws.layout, &made.poses);
    made.moved = given.iter().zip(&made.q).fold(0.0, |m, (a, b)| f64::max(m, (a - b).abs()));
    let mut open = Worst::default();
    for c in 0..ws.layout.closures.len() {
        open.add_closure(&ws.layout, c, &made.side, &made.poses);
    }
    if best > 1e-6 * ws.layout.length || open.as_length(ws.layout.length) > MISALIGNED * ws.layout.length {
        let (mut joint, mut gap) = (String::new(), 0.0);
        for c in 0..ws.layout.closures.len() {
            let mut worst = Worst::default();
            worst.add_closure(&ws.layout, c, &made.side, &made.poses);
            let worst = worst.as_length(ws.layout.length);
            if worst > gap {
                gap = worst;
                joint.clone_from(&ws.layout.closures[c].name);
            }
        }
        return Err(StepError::OpenLoop { joint, gap });
    }
    Ok(())
}

/// Largest joint rate, slides as angles at the arm of the mechanism's length.
pub(crate) fn largest_turn(layout: &Layout, rate: &[f64]) -> f64 {
    let mut largest = 0.0f64;
    for link in &layout.links {
        let kind = link.joint.kind;
        for c in 0..kind.nv() {
            let x = rate[link.v + c].abs();
            largest = largest.max(if turns(kind, c) { x } else { x / layout.length });
        }
    }
    largest
}

/// `q ⊞ s ξ` for rates `ξ` in the engine's basis.
pub(crate) fn move_joints(layout: &Layout, side: &Side, rate: &[f64], s: f64, q: &mut [f64]) {
    for (i, link) in layout.links.iter().enumerate() {
        let kind = link.joint.kind;
        let mut u = [0.0; 6];
        public_rates(layout, side, i, &rate[link.v..link.v + kind.nv()], &mut u);
        u.iter_mut().for_each(|x| *x *= s);
        let range = link.q..link.q + kind.nq();
        let mut from = [0.0; 7];
        from[..kind.nq()].copy_from_slice(&q[range.clone()]);
        kind.retract(&from[..kind.nq()], &u[..kind.nv()], &mut q[range]);
    }
}

/// Rates in the engine's basis to the public convention.
pub(crate) fn public_rates(layout: &Layout, side: &Side, i: usize, rate: &[f64], out: &mut Six) {
    use crate::mechanism::JointType;
    let joint = &layout.links[i].joint;
    out[..rate.len()].copy_from_slice(rate);
    let into = |frame: &Mat3, v: Vec3, out: &mut [f64]| out.copy_from_slice(&frame.tr_mul(v).0);
    match joint.kind {
        JointType::Spherical if joint.is_plain_ball() => {
            let g = full_geometry(layout, side, i);
            into(&g.frame_b, Vec3([rate[0], rate[1], rate[2]]), &mut out[..3]);
        }
        JointType::Floating => {
            let g = &side.joints[i];
            let world = g.frame_a * Vec3([rate[3], rate[4], rate[5]]);
            into(&g.frame_b, world, &mut out[3..6]);
        }
        _ => {}
    }
}
