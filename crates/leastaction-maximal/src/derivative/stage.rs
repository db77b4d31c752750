//! The derivative of one interval: `(pose, P, u) ↦ (pose', P')`. (3.28) to (3.31)
//!
//! With the two poses as the variables of the equations (3.7), the velocity of an interval is a function of both, the
//! joints' rows of the end pose are homogeneous, and the Newton matrix at the solution turns the slopes by the start
//! pose into the variation of the end pose.
//!
//! What is solved for is how far the variation of the end departs from that of the start, `z' − z`: both are of size one,
//! their difference is of size `h`, and momenta are masses times `(z' − z)/h`. The slopes by the start pose are stored with
//! the Newton matrix added, so that the large parts cancel once, when they are filled, and not in every product; a slender
//! body, whose axial inertia is a thousandth of the others, would show the rounding.

use super::blocks::{BlockMap, InputMap};
use super::contact::Pressed;
use super::varied::{
    CHILD, D, Ends, NIL, PARENT, Pairwise, dot_constant, engine_columns, transport_wrench, unwrapped, vary,
};
use crate::constraint::{Row, coordinate_row, directions};
use crate::coordinate::increments;
use crate::forces::{about_point, joint_forces, public_row};
use crate::geometry::{Geometry, LinkPose, Side};
use crate::graph::Graph;
use crate::layout::{ClosureKind, Layout, LinkJoint};
use crate::ldu::{Block, Ldu, Six, angular, linear, six};
use crate::mechanism::cut;
use crate::nonholonomic::Rolling;
use crate::residual::closure_force;
use crate::rotation_map::RotationMap;
use crate::scalar::{Real, by_entry};
use crate::servo::Servo;
use crate::spatial::{Mat3, Vec3};
use crate::workspace::StepData;

/// One interval, solved and differentiated.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    pub(super) h: f64,
    /// The factored Newton matrix at the solution.
    pub(super) ldu: Ldu,
    pub(super) start: Side,
    pub(super) end: Side,
    /// Slopes of the equations when both poses move alike: body rows, force rows of the tree joints, closure rows.
    pub(super) rows_by_both: BlockMap,
    pub(super) rows_by_input: InputMap,
    /// Slopes of the outgoing momenta: when both poses move alike, and by the end pose.
    pub(super) out_by_both: BlockMap,
    pub(super) out_by_end: BlockMap,
    pub(super) out_by_input: InputMap,
    /// The same by parameters of the model.
    pub(super) rows_by_parameter: InputMap,
    pub(super) out_by_parameter: InputMap,
    /// The Newton matrix before its elimination: blocks of the links, and rows of the closures by `(closure, link)`.
    own: Vec<Block>,
    closing: Vec<(usize, usize, Block)>,
    /// What the joints' force rows add to the pivots, without contact.
    pub(super) stiffness: Vec<Six>,
    /// Per link: changes of the interval's angular velocity per rotation of the end over the step, link axes.
    pub(super) rate: Vec<Mat3>,
    /// Contacts, limits and dry friction as rows of the interval; their matrix is in the factors.
    pub(super) contact: Option<Box<Pressed>>,
    /// Scratch: the equations' variations, and the joints' part of the start's variation.
    pub(super) rows: Vec<Six>,
    pub(super) carried: Vec<f64>,
}

/// What an interval is differentiated at.
pub(super) struct At<'a> {
    pub(super) map: RotationMap,
    pub(super) step: &'a StepData,
    pub(super) start: &'a [LinkPose],
    pub(super) end: &'a [LinkPose],
    /// Velocities of the interval, `[ω body; v world]`: between rounded poses they would have errors of `1e-16/h`.
    pub(super) w: &'a [Six],
    /// Incoming momenta, joint wrenches and multipliers that balance.
    pub(super) momentum: &'a [Six],
    pub(super) wrench: &'a [Six],
    pub(super) lam: &'a [Six],
    /// Inertias of the links over the interval.
    pub(super) inertia: &'a [Mat3],
    /// Position coordinates at the start: angles are unwrapped against them.
    pub(super) q: &'a [f64],
    pub(super) q_loop: &'a [[f64; 7]],
    pub(super) u: &'a [f64],
}

/// A position- and velocity-dependent function of both ends of a joint: geometries and coordinates.
struct Span {
    end: Ends,
    g: Geometry<D>,
    g_end: Geometry<D>,
    y: [D; 7],
    y_end: [D; 7],
    dy: [D; 6],
}

impl Span {
    /// `at_start` says which of the two poses is varied.
    fn new(
        layout: &Layout,
        joint: &LinkJoint,
        at: &At<'_>,
        near: &[f64],
        is_loop: bool,
        at_start: bool,
    ) -> Self {
        let (a, b) = (joint.a.link, joint.b.link);
        let start = Ends::new(layout, a, b, at.start, at_start);
        let end = Ends::new(layout, a, b, at.end, !at_start);
        let (g, g_end) = (start.geometry(joint, is_loop), end.geometry(joint, is_loop));
        let (y, y_end) = (unwrapped(joint.kind, &g, near), unwrapped(joint.kind, &g_end, near));
        let mut dy = NIL;
        increments(joint.kind, &g, &g_end, &mut dy);
        Self { end, g, g_end, y, y_end, dy }
    }
}

impl Stage {
    pub(super) fn new(layout: &Layout, graph: &Graph, nv: usize) -> Self {
        let rows = 2 * layout.links.len() + layout.closures.len();
        Self {
            h: 1.0,
            ldu: Ldu::new(layout, graph, nv),
            start: Side::new(layout),
            end: Side::new(layout),
            rows_by_both: BlockMap::default(),
            rows_by_input: InputMap::default(),
            out_by_both: BlockMap::default(),
            out_by_end: BlockMap::default(),
            out_by_input: InputMap::default(),
            rows_by_parameter: InputMap::default(),
            out_by_parameter: InputMap::default(),
            own: vec![[[0.0; 6]; 6]; layout.links.len()],
            closing: Vec::new(),
            stiffness: vec![[0.0; 6]; nv],
            rate: vec![Mat3::identity(); layout.links.len()],
            contact: None,
            rows: vec![[0.0; 6]; rows],
            carried: vec![0.0; nv],
        }
    }

    /// Takes over the Newton matrix, assembled and not yet factored.
    pub(super) fn keep(&mut self, layout: &Layout, graph: &Graph, ldu: &Ldu) {
        self.own.copy_from_slice(&ldu.diagonal);
        self.stiffness.copy_from_slice(&ldu.stiffness);
        self.closing.clear();
        for (c, closure) in layout.closures.iter().enumerate() {
            for (link, slot) in [closure.a, closure.b].into_iter().zip(graph.ends[c]) {
                if let (Some(link), Some(slot)) = (link, slot) {
                    self.closing.push((c, link, ldu.a[slot]));
                }
            }
        }
    }

    /// Fills the slopes. `start` and `end` sides and the factors are in place. Does not allocate after the first time.
    pub(super) fn fill(&mut self, layout: &Layout, at: &At<'_>) {
        self.h = at.step.h;
        for map in [&mut self.rows_by_both, &mut self.out_by_both, &mut self.out_by_end] {
            map.clear();
        }
        self.rows_by_input.entries.clear();
        self.out_by_input.entries.clear();
        for i in 0..layout.links.len() {
            self.rate[i] = at.map.rate_matrix(angular(&at.w[i]) * (0.5 * self.h));
            self.fill_link(layout, at, i);
            self.fill_joint(layout, at, i);
        }
        for l in 0..layout.loops.len() {
            self.fill_loop_kicks(layout, at, l);
        }
        for c in 0..layout.closures.len() {
            self.fill_closure(layout, at, c);
        }
        let per_step = 1.0 / self.h;
        for (c, link, block) in &self.closing {
            let row = 2 * layout.links.len() + c;
            self.rows_by_both.push(row, *link, by_entry(|r| by_entry(|k| block[r][k] * per_step)));
        }
    }

    /// A link by itself: leaving and arriving momenta, drag, thrusters.
    fn fill_link(&mut self, layout: &Layout, at: &At<'_>, i: usize) {
        let link = &layout.links[i];
        let (h, half) = (at.step.h, 0.5 * at.step.h);
        let start = vary(layout, i, &at.start[i], Some(PARENT));
        let end = vary(layout, i, &at.end[i], Some(CHILD));
        let (mut omega, mut v) = interval_velocity(at.map, &start, &end, h);
        for k in 0..3 {
            (omega[k].re, v[k].re) = (at.w[i][k], at.w[i][3 + k]);
        }
        let (rot, rot_end) = (start.q.to_matrix(), end.q.to_matrix());
        let phi = omega.scale(half);
        let (leaving, arriving) = at.map.momenta(phi, Mat3::constant(at.inertia[i]) * omega);
        let (mut ang, mut lin) = (rot * leaving, v.scale(link.mass));
        let (mut ang_end, mut lin_end) = (rot_end * arriving, lin);
        for (point, c) in &link.drags {
            let (r, r_end) = (rot * Vec3::constant(*point), rot_end * Vec3::constant(*point));
            let speed = v + (r_end - r).scale(1.0 / h) - Vec3::constant(layout.wind);
            let f = speed.scale(-0.5 * c * h);
            ang -= r.cross(f);
            lin -= f;
            ang_end += r_end.cross(f);
            lin_end += f;
        }
        let momentum = &at.momentum[i];
        ang -= Vec3::constant(angular(momentum));
        lin -= Vec3::constant(linear(momentum)) + Vec3::constant(layout.gravity).scale(link.mass * half);
        for (input, point, wrench) in &link.pushes {
            let s = at.u[*input] * half;
            let (tau, f) = (Vec3::constant(wrench.ang), Vec3::constant(wrench.lin));
            let (r, r_end) = (rot * Vec3::constant(*point), rot_end * Vec3::constant(*point));
            ang -= (tau + r.cross(f)).scale(s);
            lin -= f.scale(s);
            ang_end += (tau + r_end.cross(f)).scale(s);
            lin_end += f.scale(s);
            let half = half * at.step.input_slopes[*input];
            let unit = |side: &Side, s: f64| {
                six((wrench.ang + (side.rot[i] * *point).cross(wrench.lin)).scale(s), wrench.lin.scale(s))
            };
            let kick = about_point(&unit(&self.start, -half), self.start.arm[i]);
            self.rows_by_input.entries.push((i, *input, kick));
            self.out_by_input.entries.push((i, *input, unit(&self.end, half)));
        }
        for (input, wrench) in &link.thrusters {
            let s = at.u[*input] * half;
            let (tau, f) = (Vec3::constant(wrench.ang), Vec3::constant(wrench.lin));
            ang -= (rot * tau).scale(s);
            lin -= (rot * f).scale(s);
            ang_end += (rot_end * tau).scale(s);
            lin_end += (rot_end * f).scale(s);
            let (side, side_end) = (&self.start, &self.end);
            let half = half * at.step.input_slopes[*input];
            let kick = six((side.rot[i] * wrench.ang).scale(-half), (side.rot[i] * wrench.lin).scale(-half));
            self.rows_by_input.entries.push((i, *input, about_point(&kick, side.arm[i])));
            let end =
                six((side_end.rot[i] * wrench.ang).scale(half), (side_end.rot[i] * wrench.lin).scale(half));
            self.out_by_input.entries.push((i, *input, end));
        }
        let arm = rot * Vec3::constant(link.joint.b.p);
        ang -= arm.cross(lin);
        let (rows, out, own) = (joined(ang, lin), joined(ang_end, lin_end), &self.own[i]);
        let both = by_entry(|r| by_entry(|k| rows[r].eps[PARENT + k] + own[r][k] / h));
        self.rows_by_both.push(i, i, both);
        self.out_by_both.push(
            i,
            i,
            by_entry(|r| by_entry(|k| out[r].eps[PARENT + k] + out[r].eps[CHILD + k])),
        );
        self.out_by_end.push_lanes(i, i, &out, CHILD);
    }

    /// A tree joint: its wrench on the parent, its force rows, springs, actuators and end impulses.
    fn fill_joint(&mut self, layout: &Layout, at: &At<'_>, i: usize) {
        let link = &layout.links[i];
        let (joint, n) = (&link.joint, layout.links.len());
        let kind = joint.kind;
        let (nq, nv) = (kind.nq(), kind.nv());
        let near = &at.q[link.q..link.q + nq];
        let span = Span::new(layout, joint, at, near, false, true);
        let mut on = Pairwise::zero();
        // Reaction of the joint's wrench on the parent.
        on.a = transport_wrench(&at.wrench[i], span.g.transport(kind));
        let friction = &at.step.friction[link.v..link.v + nv];
        self.kick(
            joint,
            &span.g,
            &span.y[..nq],
            at,
            |c| at.step.implicit[link.v + c],
            friction,
            -1.0,
            &mut on,
        );
        // Force rows N_xᵀ c = f0 − α dy.
        let columns = engine_columns(joint, &span.g);
        let mut force = NIL;
        for c in 0..nv {
            force[c] = dot_constant(&columns[c], &at.wrench[i]);
            let law = &at.step.law[link.v + c];
            if joint.rows.has_rows && law.alpha != 0.0 {
                force[c] -=
                    law_offset(joint, c, &span.y, at, at.step.implicit[link.v + c]) - span.dy[c] * law.alpha;
            }
            if !joint.servos.is_empty() {
                force[c] -= servo_impulse(joint, c, &span, at);
            }
        }
        for (lane, column) in [(PARENT, link.parent), (CHILD, Some(i))] {
            let Some(column) = column else { continue };
            if let Some(parent) = link.parent {
                self.rows_by_both.push_lanes(parent, column, &on.a, lane);
            }
            self.rows_by_both.push_lanes(i, column, &on.b, lane);
            self.rows_by_both.push_lanes(n + i, column, &force, lane);
        }
        self.push_inputs(layout, at, joint, false, i);
        self.push_servo_inputs(layout, at, i, &span);
        if !joint.rows.has_rows && joint.actuators.is_empty() && friction.iter().all(|f| *f == 0.0) {
            return;
        }
        for at_start in [true, false] {
            let span = Span::new(layout, joint, at, near, false, at_start);
            let mut out = Pairwise::zero();
            for c in 0..nv {
                let law = &at.step.law[link.v + c];
                if joint.rows.has_rows && law.alpha != 0.0 {
                    let offset = law_offset(joint, c, &span.y, at, at.step.implicit[link.v + c]);
                    out.add(&coordinate_row(kind, &span.g_end, c), offset + span.dy[c] * law.beta);
                }
                if !joint.servos.is_empty() {
                    out.add(&coordinate_row(kind, &span.g_end, c), servo_impulse(joint, c, &span, at));
                }
            }
            self.kick(
                joint,
                &span.g_end,
                &span.y_end[..nq],
                at,
                |c| at.step.implicit[link.v + c],
                friction,
                1.0,
                &mut out,
            );
            self.push_out(out.about_centres(&span.end), link.parent, Some(i), at_start);
        }
    }

    /// Springs and actuators of a loop joint.
    fn fill_loop_kicks(&mut self, layout: &Layout, at: &At<'_>, l: usize) {
        let joint = &layout.loops[l];
        if !joint.rows.has_springs && joint.actuators.is_empty() {
            return;
        }
        let (nq, near) = (joint.kind.nq(), &at.q_loop[l]);
        let implicit = |c: usize| c < 3 && at.step.implicit_loop[l][c];
        let span = Span::new(layout, joint, at, near, true, true);
        let mut on = Pairwise::zero();
        self.kick(joint, &span.g, &span.y[..nq], at, implicit, &[], -1.0, &mut on);
        self.push_rows(&on, joint.a.link, joint.b.link);
        let span = Span::new(layout, joint, at, near, true, false);
        let mut out = Pairwise::zero();
        self.kick(joint, &span.g_end, &span.y_end[..nq], at, implicit, &[], 1.0, &mut out);
        self.push_out(out.about_centres(&span.end), joint.a.link, joint.b.link, false);
        self.push_inputs(layout, at, joint, true, l);
    }

    /// Closures: their impulses and their own rows.
    fn fill_closure(&mut self, layout: &Layout, at: &At<'_>, c: usize) {
        let closure = &layout.closures[c];
        let (n, h) = (layout.links.len(), at.step.h);
        let lam = |r: usize| D::from_f64(-closure_force(layout, at.step, c, r, at.lam[c][r]));
        match &closure.kind {
            ClosureKind::Joint => {
                let joint = &layout.loops[closure.index];
                let ends = Ends::new(layout, closure.a, closure.b, at.start, true);
                let mut rows = Default::default();
                directions(joint.kind, &ends.geometry(joint, true), &mut rows);
                let mut on = Pairwise::zero();
                for r in 0..closure.rows {
                    on.add(&rows[r], lam(r));
                }
                self.push_rows(&on, closure.a, closure.b);
            }
            ClosureKind::Coordinates => {
                let l = closure.index;
                let joint = &layout.loops[l];
                let nv = joint.kind.nv();
                for at_start in [true, false] {
                    let span = Span::new(layout, joint, at, &at.q_loop[l], true, at_start);
                    let (mut on, mut out, mut own) = (Pairwise::zero(), Pairwise::zero(), NIL);
                    for k in 0..nv {
                        let row = coordinate_row(joint.kind, &span.g, k);
                        on.add(&row, lam(k));
                        on.add(&row, lam(nv + k));
                        let law = &at.step.law_loop[l][k];
                        if law.alpha > 0.0 {
                            let offset = law_offset(joint, k, &span.y, at, at.step.implicit_loop[l][k]);
                            own[k] = (span.dy[k] - offset * (1.0 / law.alpha)) * (1.0 / h);
                            let row = coordinate_row(joint.kind, &span.g_end, k);
                            out.add(&row, offset + span.dy[k] * law.beta);
                        }
                    }
                    if at_start {
                        self.push_rows(&on, closure.a, closure.b);
                        for (lane, column) in [(PARENT, closure.a), (CHILD, closure.b)] {
                            if let Some(column) = column {
                                self.rows_by_both.push_lanes(2 * n + c, column, &own, lane);
                            }
                        }
                    }
                    self.push_out(out.about_centres(&span.end), closure.a, closure.b, at_start);
                }
            }
            ClosureKind::Rolling(rolling) => {
                let i = closure.index;
                let (on, own) = rolling_slopes(layout, rolling, at, i, &at.lam[c]);
                self.rows_by_both.push_lanes(i, i, &on, CHILD);
                self.rows_by_both.push_lanes(2 * n + c, i, &own, CHILD);
            }
        }
    }

    /// Adds `sign · h/2` times the explicit forces of a joint at a geometry, sliding friction among them.
    fn kick(
        &self,
        joint: &LinkJoint,
        g: &Geometry<D>,
        y: &[D],
        at: &At<'_>,
        implicit: impl Fn(usize) -> bool,
        friction: &[f64],
        sign: f64,
        on: &mut Pairwise,
    ) {
        let rubs = friction.iter().any(|f| *f != 0.0);
        if !joint.rows.has_springs && joint.actuators.is_empty() && !rubs {
            return;
        }
        let mut f = NIL;
        joint_forces(joint, y, at.u, implicit, &mut f);
        f.iter_mut().zip(friction).for_each(|(f, friction)| *f += D::from_f64(*friction));
        for c in 0..joint.kind.nv() {
            on.add(&public_row(joint.kind, g, c), f[c] * (sign * 0.5 * at.step.h));
        }
    }

    fn push_rows(&mut self, on: &Pairwise, a: Option<usize>, b: Option<usize>) {
        for (lane, column) in [(PARENT, a), (CHILD, b)] {
            let Some(column) = column else { continue };
            for (row, wrench) in [(a, &on.a), (b, &on.b)] {
                if let Some(row) = row {
                    self.rows_by_both.push_lanes(row, column, wrench, lane);
                }
            }
        }
    }

    fn push_out(&mut self, out: Pairwise, a: Option<usize>, b: Option<usize>, at_start: bool) {
        for (lane, column) in [(PARENT, a), (CHILD, b)] {
            let Some(column) = column else { continue };
            for (row, wrench) in [(a, &out.a), (b, &out.b)] {
                let Some(row) = row else { continue };
                self.out_by_both.push_lanes(row, column, wrench, lane);
                if !at_start {
                    self.out_by_end.push_lanes(row, column, wrench, lane);
                }
            }
        }
    }

    /// Half a unit kick of every actuator that is within its effort.
    fn push_inputs(&mut self, layout: &Layout, at: &At<'_>, joint: &LinkJoint, is_loop: bool, index: usize) {
        if joint.actuators.is_empty() {
            return;
        }
        let mut driven = [0.0; 6];
        for &(input, c, gear) in &joint.actuators {
            driven[c] += at.u[input] * gear;
        }
        for &(input, c, gear) in &joint.actuators {
            if !cut(driven[c], joint.effort).1 {
                continue;
            }
            for at_start in [true, false] {
                let (side, s) = if at_start { (&self.start, -0.5) } else { (&self.end, 0.5) };
                let g = if is_loop {
                    side.loops[index]
                } else {
                    crate::start::full_geometry(layout, side, index)
                };
                let row = public_row(joint.kind, &g, c);
                let s = s * at.step.h * gear * at.step.input_slopes[input];
                if at_start {
                    push_pair(&mut self.rows_by_input, input, joint, &row, s, None);
                } else {
                    push_pair(&mut self.out_by_input, input, joint, &row, s, Some(&self.end.arm));
                }
            }
        }
    }
}

impl Stage {
    /// What inputs of servos do to the force row of their coordinate, and at the end.
    fn push_servo_inputs(&mut self, layout: &Layout, at: &At<'_>, i: usize, span: &Span) {
        let (link, n) = (&layout.links[i], layout.links.len());
        let joint = &link.joint;
        for Servo { input, coordinate: c, gear, law } in joint.servos.iter().copied() {
            let (y, rate) = middle(c, span, at);
            let asked: f64 = joint
                .servos_of(c)
                .map(|s| s.gear * s.law.force(at.u[s.input], y.value() * s.gear, rate.value() * s.gear))
                .sum();
            if !cut(asked, joint.effort).1 {
                continue;
            }
            let by = law.slopes(at.u[input], y.value() * gear, rate.value() * gear).by_input;
            let half = 0.5 * at.step.h * gear * by * at.step.input_slopes[input];
            let mut force = [0.0; 6];
            force[c] = -half;
            self.rows_by_input.entries.push((n + i, input, force));
            let row = coordinate_row(joint.kind, &self.end.joints[i], c);
            push_pair(&mut self.out_by_input, input, joint, &row, half, Some(&self.end.arm));
        }
    }
}

/// Adds `s` times a row to column `column` of a map: on the child, and its reaction on the parent. About the joint points, or
/// with `arms` about the centres of mass.
pub(super) fn push_pair(
    map: &mut InputMap,
    column: usize,
    joint: &LinkJoint,
    row: &Row,
    s: f64,
    arms: Option<&[Vec3]>,
) {
    for (link, ang, s) in [(joint.b.link, row.ang_b, s), (joint.a.link, row.ang_a, -s)] {
        let Some(link) = link else { continue };
        let ang = arms.map_or(ang, |arms| ang + arms[link].cross(row.lin));
        map.entries.push((link, column, six(ang.scale(s), row.lin.scale(s))));
    }
}

/// Where the servos of a coordinate are evaluated: middle of the increment and mean rate.
fn middle(c: usize, span: &Span, at: &At<'_>) -> (D, D) {
    (span.y[c] + span.dy[c] * 0.5, span.dy[c] * (1.0 / at.step.h))
}

/// `(h/2) Q` of (3.60).
fn servo_impulse(joint: &LinkJoint, c: usize, span: &Span, at: &At<'_>) -> D {
    let (y, rate) = middle(c, span, at);
    joint.servo_force(c, y, rate, at.u) * (0.5 * at.step.h)
}

pub(super) fn joined(ang: Vec3<D>, lin: Vec3<D>) -> [D; 6] {
    [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
}

/// Velocities of an interval from its two poses: the inverse of (3.1).
pub(super) fn interval_velocity(
    map: RotationMap,
    start: &LinkPose<D>,
    end: &LinkPose<D>,
    h: f64,
) -> (Vec3<D>, Vec3<D>) {
    let rel = start.q.conj() * end.q;
    let sign = if rel.w.value() < 0.0 { -1.0 } else { 1.0 };
    let phi = match map {
        RotationMap::Sine => rel.v.scale(sign),
        RotationMap::Cayley => rel.v * (D::one() / rel.w),
    };
    (phi.scale(2.0 / h), (end.x - start.x).scale(1.0 / h))
}

/// `f0 = −(h/2) k (y − y₀)` of an implicit spring.
fn law_offset(joint: &LinkJoint, c: usize, y: &[D; 7], at: &At<'_>, implicit: bool) -> D {
    if !implicit {
        return D::zero();
    }
    (y[c] - D::from_f64(joint.rows.rest[c])) * (-0.5 * at.step.h * joint.rows.stiffness[c])
}

/// Slopes of a velocity constraint by the start pose: of its impulse on the link, and of its rows.
fn rolling_slopes(layout: &Layout, rolling: &Rolling, at: &At<'_>, i: usize, lam: &Six) -> ([D; 6], [D; 6]) {
    let h = at.step.h;
    let evaluate = |start: &LinkPose<D>| {
        let end = vary(layout, i, &at.end[i], None);
        let (omega, v) = interval_velocity(at.map, start, &end, h);
        let (mut node, mut own) = ([NIL; 6], NIL);
        rolling.node_rows(start, &mut node);
        rolling.residual(start, &end, omega, v, h, &mut own);
        let arm = start.q.to_matrix() * Vec3::constant(layout.links[i].joint.b.p);
        let mut on = NIL;
        for r in 0..rolling.rows() {
            let lin = Vec3([node[r][3], node[r][4], node[r][5]]);
            let ang = Vec3([node[r][0], node[r][1], node[r][2]]) - arm.cross(lin);
            for k in 0..3 {
                on[k] -= ang[k] * lam[r];
                on[3 + k] -= lin[k] * lam[r];
            }
        }
        (on, own)
    };
    if !rolling.is_custom() {
        return evaluate(&vary(layout, i, &at.start[i], Some(CHILD)));
    }
    // A constraint of the user's gives values only: central differences.
    super::differences::by_pose(layout, i, &at.start[i], |pose| {
        evaluate(&LinkPose { q: crate::spatial::Quat::constant(pose.q), x: Vec3::constant(pose.x) })
    })
}
