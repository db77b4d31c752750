//! What a node looks like from outside: projected velocities, coordinates, energies, gaps and constraint impulses.
//!
//! The carried momentum is only known up to constraint impulses; the velocity at a node is its projection
//! `[M −Gᵀ; G 0][W; μ] = [P; 0]`, exactly tangent to the constraints. (3.27)

use super::constraint::{angular_rows, coordinate_row, values};
use super::forces::{about_point, add_row, node_block};
use super::geometry::{LinkPose, Side};
use super::layout::{ClosureKind, Layout};
use super::ldu::{Six, angular, linear};
use super::parts::rates;
use super::residual::{closure_rows, row_size};
use super::start::position_values;
use super::state::MaximalState;
use super::ties::{Still, Tie};
use super::workspace::{MaximalWorkspace, StepData, Trial, Worst};
use crate::integrator::RowState;
use crate::mechanism::{BodyId, JointId, Mechanism, State};
use crate::spatial::{Mat3, Momentum, Pose, Quat, Vec3, Wrench};

/// The symmetric matrix of a node in the solver: masses, armature, rows at the pose.
pub(crate) fn assemble_node(ws: &mut MaximalWorkspace, state: &MaximalState) {
    closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
    assemble_node_at(ws, &state.side, Some(&state.inertia));
}

/// As [`assemble_node`], with the closures' rows in place; the inertias are the model's unless given.
#[inline(always)]
pub(crate) fn assemble_node_at(ws: &mut MaximalWorkspace, side: &Side, inertia: Option<&[Mat3]>) {
    let MaximalWorkspace { layout, graph, ldu, system, step, .. } = ws;
    for (i, link) in layout.links.iter().enumerate() {
        let inertia = inertia.map_or(&link.inertia, |j| &j[i]);
        ldu.diagonal[i] = node_block(&side.rot[i], inertia, link.mass, side.arm[i]);
        system.particular[i] = [0.0; 6];
        for c in 0..link.joint.kind.nv() {
            let at = link.v + c;
            system.force[at] = 0.0;
            ldu.stiffness[at] = [0.0; 6];
            ldu.stiffness[at][c] = link.joint.rows.armature[c];
            // What is held does not move.
            ldu.limit[at] = if step.held[at].is_nan() { [0.0, 1.0] } else { [1.0, 0.0] };
            system.limit[at] = 0.0;
        }
    }
    ldu.limits_active = step.driven && step.enforce_limits;
    if layout.closures.is_empty() {
        return;
    }
    ldu.clear();
    for (c, closure) in layout.closures.iter().enumerate() {
        system.closure[c] = [0.0; 6];
        for r in 0..closure.rows {
            let mut active = 1.0;
            if let ClosureKind::Coordinates = closure.kind {
                let joint = &layout.loops[closure.index];
                let nv = joint.kind.nv();
                let armature = if r < nv { joint.rows.armature[r] } else { 0.0 };
                active = if armature > 0.0 { 1.0 } else { 0.0 };
                ldu.cc[c][r][r] = if armature > 0.0 { 1.0 / armature } else { 1.0 };
            }
            let row = &step.rows[c][r];
            for (which, slot) in graph.ends[c].iter().enumerate() {
                let Some(slot) = slot else { continue };
                let (ang, s) = if which == 1 { (row.ang_b, active) } else { (row.ang_a, -active) };
                for k in 0..3 {
                    ldu.a[*slot][r][k] += s * ang[k];
                    ldu.a[*slot][r][3 + k] += s * row.lin[k];
                    ldu.b[*slot][r][k] -= s * ang[k];
                    ldu.b[*slot][r][3 + k] -= s * row.lin[k];
                }
            }
            ldu.size[c][r] = row_size(layout, side, c, row).max(ldu.cc[c][r][r]);
        }
    }
}

/// Projects the carried momentum: `[Ω; v]` of the joint points in `system.body`, joint rates in `system.rate`.
pub(crate) fn project(ws: &mut MaximalWorkspace, state: &MaximalState) {
    if ws.step.driven && !state.rows.list.is_empty() {
        ws.hold(&state.rows.list);
    }
    assemble_node(ws, state);
    for i in 0..ws.layout.links.len() {
        ws.system.body[i] = about_point(&state.momentum[i], state.side.arm[i]);
    }
    ws.ldu.factor(&ws.layout, &ws.graph, &state.side, &state.side);
    ws.ldu.solve(&ws.layout, &ws.graph, &state.side, &state.side, &mut ws.system);
    ws.tie_node(state, |_, tie| tie.rate(state.t));
}

/// Velocities at a node as [`project`] leaves them: with contact they are there, and a projection would round them anew, which light
/// links between heavy ones turn into slips.
fn node_velocities(ws: &mut MaximalWorkspace, state: &MaximalState) {
    if state.interval > 0.0 && ws.contact.is_some() && state.contact.w.len() == state.poses.len() {
        ws.system.body.copy_from_slice(&state.contact.w);
        ws.system.rate.copy_from_slice(&state.contact.rate);
    } else {
        project(ws, state);
    }
}

/// Public positions and velocities. Does not allocate.
pub(crate) fn read_out(
    mechanism: &Mechanism,
    ws: &mut MaximalWorkspace,
    state: &MaximalState,
    out: &mut State,
) {
    debug_assert_eq!(out.q.len(), mechanism.nq());
    out.t = state.t;
    out.q.copy_from_slice(&state.q);
    node_velocities(ws, state);
    rates(&ws.layout, &state.side, &ws.system.rate, &mut out.v);
}

/// End impulses `e = f0 + β dy` of the coordinate rows, added to the outgoing momenta. (3.22)
pub(crate) fn add_end_impulses(layout: &Layout, step: &StepData, trial: &Trial, momentum: &mut [Six]) {
    for (i, link) in layout.links.iter().enumerate() {
        let joint = &link.joint;
        if !joint.rows.has_rows {
            continue;
        }
        for c in 0..joint.kind.nv() {
            let law = &step.law[link.v + c];
            if law.alpha != 0.0 || !joint.servos.is_empty() {
                let row = coordinate_row(joint.kind, &trial.side.joints[i], c);
                let e = law.f0 + law.beta * trial.dy[link.v + c] + trial.driven[link.v + c];
                add_row(momentum, &trial.side.arm, link.parent, Some(i), &row, e);
            }
        }
    }
    for closure in &layout.closures {
        if let ClosureKind::Coordinates = closure.kind {
            let l = closure.index;
            let joint = &layout.loops[l];
            for c in 0..joint.kind.nv() {
                let law = &step.law_loop[l][c];
                if law.alpha != 0.0 {
                    let row = coordinate_row(joint.kind, &trial.side.loops[l], c);
                    let e = law.f0 + law.beta * trial.dy_loop[l][c];
                    add_row(momentum, &trial.side.arm, closure.a, closure.b, &row, e);
                }
            }
        }
    }
}

/// Largest values of the constraint rows that have a position.
pub(crate) fn largest_gap(layout: &Layout, state: &MaximalState) -> Worst {
    let mut worst = Worst::default();
    for (i, link) in layout.links.iter().enumerate() {
        let mut value = [0.0; 6];
        let n = values(link.joint.kind, &state.side.joints[i], &mut value);
        worst.add(angular_rows(link.joint.kind), &value[..n]);
    }
    for c in 0..layout.closures.len() {
        worst.add_closure(layout, c, &state.side, &state.poses);
    }
    worst
}

impl MaximalWorkspace {
    /// Holds the rows that are locked.
    fn hold(&mut self, rows: &[RowState]) {
        for (held, row) in self.step.held.iter_mut().zip(&self.row_of) {
            let state = row.map(|k| &rows[k]).filter(|state| state.locked);
            *held = state.map_or(f64::NAN, |state| state.hold);
        }
        self.step.enforce_limits = rows.iter().any(|state| state.locked);
        for (tied, tie) in self.step.tied.iter_mut().zip(&self.layout.ties) {
            if let Some(k) = tie.row {
                *tied = if rows[k].locked { rows[k].hold } else { f64::NAN };
            }
        }
    }

    /// Makes the solution at a node, whose matrix was just factored, obey the ties: their rates are what `target` says.
    pub(crate) fn tie_node(&mut self, state: &MaximalState, target: impl Fn(usize, &Tie) -> f64) {
        let Some(mut ties) = self.ties.take() else { return };
        let (layout, side) = (&self.layout, &state.side);
        let at = Still { layout, side, q: &state.q, q_loop: &state.q_loop, t: state.t };
        for (o, tie) in layout.ties.iter().enumerate() {
            let slopes = &mut self.tie_slopes[tie.first..tie.first + tie.parts.len()];
            tie.measure(self.step.tied[o], &at, slopes);
        }
        ties.prepare(layout, &self.graph, side, &self.ldu, &self.step.tied, &self.tie_slopes);
        ties.correct(&mut self.system, |o| target(o, &layout.ties[o]));
        self.ties = Some(ties);
    }
}

impl Worst {
    /// Takes in rows of which the first `angles` are rotations.
    fn add(&mut self, angles: usize, rows: &[f64]) {
        let largest = |m: f64, x: &f64| m.max(x.abs());
        let (ang, lin) = rows.split_at(angles);
        self.ang = ang.iter().fold(self.ang, largest);
        self.lin = lin.iter().fold(self.lin, largest);
    }

    /// Takes in the position rows of a closure.
    pub(crate) fn add_closure(&mut self, layout: &Layout, c: usize, side: &Side, poses: &[LinkPose]) {
        self.add_rows(layout, c, side, poses, |_| true);
    }

    /// Takes in those position rows of a closure that count.
    pub(crate) fn add_rows(
        &mut self,
        layout: &Layout,
        c: usize,
        side: &Side,
        poses: &[LinkPose],
        counts: impl Fn(usize) -> bool,
    ) {
        let mut value = [0.0; 6];
        position_values(layout, c, side, poses, &mut value);
        for (r, value) in value.iter_mut().enumerate() {
            if !counts(r) {
                *value = 0.0;
            }
        }
        let angles = match layout.closures[c].kind {
            ClosureKind::Joint => angular_rows(layout.loops[layout.closures[c].index].kind),
            ClosureKind::Coordinates | ClosureKind::Rolling(_) => 0,
        };
        self.add(angles, &value);
    }

    /// The largest row as a length, rotations by the arm `length`.
    pub(crate) fn as_length(self, length: f64) -> f64 {
        self.lin.max(self.ang * length)
    }
}

/// One moving link at a node.
#[derive(Clone, Copy, Debug)]
pub struct LinkSnapshot {
    /// The body that gives the link its axes.
    pub body: BodyId,
    /// Orientation of the link.
    pub q: Quat,
    /// Its centre of mass.
    pub x: Vec3,
    /// Projected angular velocity, link axes.
    pub omega: Vec3,
    /// Projected velocity of the centre of mass, world axes.
    pub v: Vec3,
    /// Angular velocity of the last interval, link axes.
    pub omega_interval: Vec3,
    /// Velocity of the last interval.
    pub v_interval: Vec3,
    /// Carried momentum: angular about the centre of mass, linear; world axes.
    pub momentum: Momentum,
    /// Constraint impulses of the last interval on the link: torque in link axes, force in world axes.
    pub constraint_impulse: Wrench,
}

impl MaximalWorkspace {
    /// Poses, velocities and constraint impulses of all links.
    pub fn snapshot(&mut self, state: &MaximalState) -> Vec<LinkSnapshot> {
        self.take_first_node(state);
        let impulses = self.impulses_on_links();
        node_velocities(self, state);
        let newest = state.history.stages.saturating_sub(1);
        let n = self.layout.links.len();
        let range = state.history.range(newest, 0, n);
        (0..n)
            .map(|i| {
                let (ang, lin) = (angular(&self.system.body[i]), linear(&self.system.body[i]));
                let mean = state.curve.mean_velocity(i, n, &state.side.rot[i]);
                let w = mean.as_ref().unwrap_or(&state.history.w[range.clone()][i]);
                LinkSnapshot {
                    body: BodyId::new(self.layout.links[i].body),
                    q: state.poses[i].q,
                    x: state.poses[i].x,
                    omega: state.side.rot[i].tr_mul(ang),
                    v: lin - ang.cross(state.side.arm[i]),
                    omega_interval: angular(w),
                    v_interval: linear(w),
                    momentum: Momentum::from_array(state.momentum[i]),
                    constraint_impulse: Wrench::from_array(impulses[i]),
                }
            })
            .collect()
    }

    /// Kinetic energy (armature included) and potential energy (gravity and springs) at a node.
    pub fn energy(&mut self, state: &MaximalState) -> (f64, f64) {
        node_velocities(self, state);
        let (layout, side) = (&self.layout, &state.side);
        let mut kinetic = 0.0;
        for (i, link) in layout.links.iter().enumerate() {
            let (ang, lin) = (angular(&self.system.body[i]), linear(&self.system.body[i]));
            let omega = side.rot[i].tr_mul(ang);
            let v = lin - ang.cross(side.arm[i]);
            kinetic += 0.5 * (omega.dot(link.inertia * omega) + link.mass * v.norm2());
            for c in 0..link.joint.kind.nv() {
                kinetic += 0.5 * link.joint.rows.armature[c] * self.system.rate[link.v + c].powi(2);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            if let ClosureKind::Coordinates = closure.kind {
                let joint = &layout.loops[closure.index];
                for k in 0..joint.kind.nv() {
                    let a = joint.rows.armature[k];
                    if a > 0.0 {
                        kinetic += 0.5 * self.system.closure[c][k].powi(2) / a;
                    }
                }
            }
        }
        (kinetic, self.potential(state))
    }

    /// Potential energy of gravity and springs at a node.
    pub(crate) fn potential(&self, state: &MaximalState) -> f64 {
        let layout = &self.layout;
        let mut potential = 0.0;
        for (i, link) in layout.links.iter().enumerate() {
            potential -= link.mass * layout.gravity.dot(state.poses[i].x);
            let (kind, rows) = (link.joint.kind, &link.joint.rows);
            let nv = kind.nv();
            if rows.has_springs {
                let q = &state.q[link.q..link.q + kind.nq()];
                potential += kind.spring_energy(&rows.stiffness[..nv], &rows.rest[..nv], q);
            }
        }
        for closure in &layout.closures {
            if let ClosureKind::Coordinates = closure.kind {
                let joint = &layout.loops[closure.index];
                let nv = joint.kind.nv();
                if joint.rows.has_springs {
                    let q = &state.q_loop[closure.index][..joint.kind.nq()];
                    potential +=
                        joint.kind.spring_energy(&joint.rows.stiffness[..nv], &joint.rows.rest[..nv], q);
                }
            }
        }
        potential
    }

    /// Pose of every body of the mechanism in the world.
    #[must_use]
    pub fn body_poses(&self, state: &MaximalState) -> Vec<Pose> {
        let place = |at: &super::layout::Attachment| match at.link {
            None => at.pose,
            Some(i) => Pose::new(state.side.rot[i], state.poses[i].x) * at.pose,
        };
        self.layout.bodies.iter().map(place).collect()
    }

    /// Position coordinates of a loop joint, angles unwrapped; empty if it has none.
    #[must_use]
    pub fn loop_coordinates(&self, state: &MaximalState, joint: JointId) -> Vec<f64> {
        let found = self.layout.loops.iter().position(|l| l.joint == joint.index());
        found.map_or_else(Vec::new, |l| state.q_loop[l][..self.layout.loops[l].kind.nq()].to_vec())
    }

    /// Rates of a loop joint's coordinates, from projected velocities.
    pub fn loop_rates(&mut self, state: &MaximalState, joint: JointId) -> Vec<f64> {
        let Some(l) = self.layout.loops.iter().position(|l| l.joint == joint.index()) else {
            return Vec::new();
        };
        node_velocities(self, state);
        let j = &self.layout.loops[l];
        (0..j.kind.nv().min(6))
            .map(|c| {
                let row = super::forces::public_row(j.kind, &state.side.loops[l], c);
                let part = |i: Option<usize>, ang: Vec3| {
                    i.map_or(0.0, |i| {
                        ang.dot(angular(&self.system.body[i])) + row.lin.dot(linear(&self.system.body[i]))
                    })
                };
                part(j.b.link, row.ang_b) - part(j.a.link, row.ang_a)
            })
            .collect()
    }
}
