//! Dampers, armature, stiff springs and drag: impulses at the nodes of what depends on several of them. (8.9), (8.10)

use super::CurveMemory;
use super::body::{increment, spin};
use super::rows::{add_joint_wrench, is_ball_rate, relative_spin};
use super::table::{NODES, PerNode, Table};
use crate::constraint::coordinate_row;
use crate::coordinate::increments_by;
use crate::forces::add_row;
use crate::geometry::{Geometry, Side};
use crate::layout::{CoordinateRows, Layout, LinkJoint};
use crate::ldu::{Six, six};
use crate::mechanism::cut;
use crate::scalar::Real;
use crate::servo::Servo;
use crate::spatial::{Quat, Vec3};
use crate::state::MaximalState;
use crate::workspace::StepData;

/// `E^{αγ}` of one coordinate. (8.9)
#[inline(always)]
pub(super) fn coupling(
    table: &Table,
    rows: &CoordinateRows,
    c: usize,
    h: f64,
    stiff: bool,
    al: usize,
    ga: usize,
) -> f64 {
    let k = if stiff { rows.stiffness[c] } else { 0.0 };
    rows.armature[c] * table.mass[al][ga] / h
        - rows.damping[c] * table.w[al] * table.b[al][ga]
        - k * h * table.gauss[al][ga]
}

/// Impulses along the coordinates of one joint at all nodes, from its geometry at all nodes and the changes of its
/// coordinates since the start, which has the coordinates `y`.
pub(super) fn impulses<'a, T: Real>(
    table: &Table,
    joint: &LinkJoint,
    h: f64,
    y: &[T],
    stiff: impl Fn(usize) -> bool,
    at: impl Fn(usize) -> &'a Geometry<T>,
    change: impl Fn(usize, &mut [T; 6]),
    u: &[f64],
) -> [[T; 6]; NODES] {
    let (kind, rows, s) = (joint.kind, &joint.rows, table.s);
    let mut out = [[T::zero(); 6]; NODES];
    let mut dy = out;
    for ga in 1..=s {
        change(ga, &mut dy[ga]);
    }
    for c in 0..kind.nv() {
        if is_ball_rate(kind, c) {
            continue;
        }
        let stiff = stiff(c);
        for al in 0..=s {
            let mut sum = T::zero();
            for ga in 1..=s {
                sum += dy[ga][c] * coupling(table, rows, c, h, stiff, al, ga);
            }
            if stiff {
                let away = y[c] - T::from_f64(rows.rest[c]);
                sum -= away * (h * table.gauss_weight[al] * rows.stiffness[c]);
            }
            out[al][c] = sum;
        }
    }
    for_each_servo(table, joint, h, y, &dy, |c, g, y, rate| {
        let f = joint.servo_force(c, y, rate, u);
        for al in 0..=s {
            out[al][c] += f * (h * table.gauss_share[g] * table.gauss_value[g][al]);
        }
    });
    if is_ball_rate(kind, 0) && rows.damping[..3] != [0.0; 3] {
        for al in 0..=s {
            let spin = relative_spin(table, |be| at(be).r, al);
            for c in 0..3 {
                out[al][c] = spin[c] * (-rows.damping[c] * table.w[al]);
            }
        }
    }
    out
}

/// Coordinates with servos at the Gauss points of the curve: coordinate, point, value, rate. (8.23)
pub(super) fn for_each_servo<T: Real>(
    table: &Table,
    joint: &LinkJoint,
    h: f64,
    y: &[T],
    dy: &[[T; 6]; NODES],
    mut each: impl FnMut(usize, usize, T, T),
) {
    if joint.servos.is_empty() {
        return;
    }
    for c in (0..joint.kind.nv()).filter(|c| joint.servos_of(*c).next().is_some()) {
        for g in 0..table.s {
            let (mut at, mut rate) = (y[c], T::zero());
            for ga in 1..=table.s {
                at += dy[ga][c] * table.gauss_value[g][ga];
                rate += dy[ga][c] * (table.gauss_rate[g][ga] / h);
            }
            each(c, g, at, rate);
        }
    }
}

impl CurveMemory {
    /// Adds the impulse of every servo over the step, as it acted, and gives their work: what an effort limit cuts off is taken
    /// from the inputs of that coordinate in proportion.
    pub(super) fn add_servo_work(
        &self,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
        out: &mut [f64],
    ) -> f64 {
        let (mut work, h) = (0.0, step.h);
        for (i, link) in layout.links.iter().enumerate().filter(|(_, l)| !l.joint.servos.is_empty()) {
            let joint = &link.joint;
            let mut dy = [[0.0; 6]; NODES];
            for ga in 1..=self.table.s {
                let (from, to) = (&state.side.joints[i], &self.nodes[ga - 1].side.joints[i]);
                self.change(state, joint, from, to, ga, &mut dy[ga]);
            }
            let y = &state.q[link.q..link.q + joint.kind.nq()];
            for_each_servo(&self.table, joint, h, y, &dy, |c, g, y, rate| {
                let t = h * self.table.gauss_share[g];
                let force = |s: &Servo| s.law.force(step.known[s.input], y * s.gear, rate * s.gear);
                let asked: f64 = joint.servos_of(c).map(|s| s.gear * force(s)).sum();
                let (held, free) = cut(asked, joint.effort);
                let left = if free || asked == 0.0 { 1.0 } else { held / asked };
                work += held * rate * t;
                for s in joint.servos_of(c).filter(|s| layout.places[s.input] == 1) {
                    out[s.input] += force(s) * left * t;
                }
            });
        }
        work
    }

    /// Adds the impulses of all elements at all nodes to `given`.
    #[inline(always)]
    pub(super) fn add_elements(&mut self, layout: &Layout, state: &MaximalState, step: &StepData, u: &[f64]) {
        let n = layout.links.len();
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            if !joint.rows.has_rows {
                continue;
            }
            let kind = joint.kind;
            let nv = kind.nv();
            let y = &state.q[link.q..link.q + kind.nq()];
            let geometry =
                |al: usize| if al == 0 { &state.side.joints[i] } else { &self.nodes[al - 1].side.joints[i] };
            let change =
                |ga: usize, out: &mut [f64; 6]| self.change(state, joint, geometry(0), geometry(ga), ga, out);
            let stiff = |c: usize| step.implicit[link.v + c];
            let impulse = impulses(&self.table, joint, step.h, y, stiff, geometry, change, u);
            for al in 0..=self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
                for c in 0..nv {
                    let row = coordinate_row(kind, &side.joints[i], c);
                    ang += row.ang_b * impulse[al][c];
                    lin += row.lin * impulse[al][c];
                }
                let out = &mut self.given[al * n..(al + 1) * n];
                add_joint_wrench(out, side, link.parent, i, &six(ang, lin));
            }
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            if !joint.rows.has_rows {
                continue;
            }
            let geometry =
                |al: usize| if al == 0 { &state.side.loops[l] } else { &self.nodes[al - 1].side.loops[l] };
            let stiff = |c: usize| c < 3 && step.implicit_loop[l][c];
            let change =
                |ga: usize, out: &mut [f64; 6]| self.change(state, joint, geometry(0), geometry(ga), ga, out);
            let impulse = impulses(&self.table, joint, step.h, &state.q_loop[l], stiff, geometry, change, u);
            for al in 0..=self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let out = &mut self.given[al * n..(al + 1) * n];
                for c in 0..joint.kind.nv() {
                    let row = coordinate_row(joint.kind, &side.loops[l], c);
                    add_row(out, &side.arm, joint.a.link, joint.b.link, &row, impulse[al][c]);
                }
            }
        }
    }

    /// Changes of a joint's coordinates from the start to node γ, made of the links' increments: as differences of coordinates
    /// they would carry the rounding `ε`, and rates `ε/h`.
    #[inline(always)]
    pub(super) fn change(
        &self,
        state: &MaximalState,
        joint: &LinkJoint,
        from: &Geometry,
        to: &Geometry,
        ga: usize,
        out: &mut [f64; 6],
    ) {
        let n = state.poses.len();
        let turn = |link: Option<usize>| link.map_or(Quat::identity(), |i| self.rho(n, ga, i));
        let (a, b) = (turn(joint.a.link), turn(joint.b.link));
        let moved = a.conj() * b;
        let rel = Quat { w: moved.w, v: from.frame_b.tr_mul(moved.v) };
        // How far a joint's origin moves with its link, by the arm from the centre of mass.
        let travel = |link: Option<usize>, rho: Quat, lever: Vec3| {
            link.map_or(Vec3::zero(), |i| {
                self.x.dx[(ga - 1) * n + i] + increment(rho) * (state.side.arm[i] + lever)
            })
        };
        let slide = |k: usize| {
            let apart = travel(joint.b.link, b, from.lever_b) - travel(joint.a.link, a, from.lever_a);
            let axis = from.frame_a.column(k);
            axis.dot(apart) + (increment(a) * axis).dot(to.gap)
        };
        increments_by(joint.kind, from, to, rel, slide, out);
    }

    /// Adds drag: forces at points by their velocities along the curve, torques by the angular velocity.
    #[inline(always)]
    pub(super) fn add_drag(&mut self, layout: &Layout, state: &MaximalState, h: f64) {
        let (n, s) = (layout.links.len(), self.table.s);
        for (i, link) in layout.links.iter().enumerate() {
            if link.drags.is_empty() && link.spin_drag == 0.0 {
                continue;
            }
            for al in 0..=s {
                let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
                for (point, c) in &link.drags {
                    let f = (self.point_velocity(state, n, i, *point, al, h) - layout.wind)
                        * (-c * self.table.w[al] * h);
                    ang += (self.side(state, al).rot[i] * *point).cross(f);
                    lin += f;
                }
                if link.spin_drag != 0.0 {
                    let omega = spin(&self.table, |be| self.rho(n, be, i), al, 1.0 / h);
                    ang += omega * (-link.spin_drag * self.table.w[al] * h);
                }
                let out: &mut Six = &mut self.given[al * n + i];
                for k in 0..3 {
                    out[k] += ang[k];
                    out[3 + k] += lin[k];
                }
            }
        }
    }

    /// Velocity at node α of a point of a link along the curve.
    pub(super) fn point_velocity(
        &self,
        state: &MaximalState,
        n: usize,
        i: usize,
        point: Vec3,
        al: usize,
        h: f64,
    ) -> Vec3 {
        let b: &PerNode = &self.table.b[al];
        let start = state.side.rot[i] * point;
        let mut sum = Vec3::zero();
        for be in 1..=self.table.s {
            let moved = self.nodes[be - 1].side.rot[i] * point - start;
            sum += (self.x.dx[(be - 1) * n + i] + moved) * b[be];
        }
        sum * (1.0 / h)
    }

    /// Geometry of node α.
    #[inline(always)]
    pub(super) fn side<'a>(&'a self, state: &'a MaximalState, al: usize) -> &'a Side {
        if al == 0 { &state.side } else { &self.nodes[al - 1].side }
    }

    /// Rotation of link `i` from the start to node α.
    #[inline(always)]
    pub(super) fn rho(&self, n: usize, al: usize, i: usize) -> Quat {
        if al == 0 { Quat::identity() } else { self.x.rho[(al - 1) * n + i] }
    }
}
