//! Slopes of the equations of a step by the poses of all nodes and by the inputs, made by dual numbers. (8.8), (8.16)
//!
//! Variations are rotations and displacements of the centres of mass; rotations and torques are in the axes that the links
//! have at the start, where a thin body's small inertia stands by itself. What an equation owes to node γ is kept
//! by itself, and what it owes to all nodes moving alike: their sum, in which terms of size `1/h` cancel before rounding.

use super::CurveMemory;
use super::body::{Curve, spin};
use super::elements::{for_each_servo, impulses};
use super::held::held;
use super::table::{NODES, Table};
use crate::constraint::{Row, coordinate_row, directions};
use crate::coordinate::increments;
use crate::derivative::blocks::{BlockMap, InputMap};
use crate::derivative::varied::{CHILD, D, NIL, PARENT, unwrapped};
use crate::forces::{joint_forces, public_row};
use crate::geometry::{Geometry, LinkPose, joint_geometry};
use crate::layout::{ClosureKind, Layout, LinkJoint};
use crate::ldu::{Block, Six, angular, linear, six};
use crate::mechanism::cut;
use crate::nonholonomic::Rolling;
use crate::scalar::Real;
use crate::servo::Servo;
use crate::spatial::{Mat3, Quat, Vec3};
use crate::state::MaximalState;
use crate::workspace::StepData;

/// Slopes of all equations; rows by node, then link (or closure).
#[derive(Clone, Debug, Default)]
pub(crate) struct Slopes {
    s: usize,
    /// Rotations of the links at the start.
    rot: Vec<Mat3>,
    /// Body rows of node α by node γ ≥ 1, and by all nodes moving alike.
    by_node: Vec<BlockMap>,
    by_all: Vec<BlockMap>,
    by_input: Vec<InputMap>,
    /// Rows of velocity constraints at node γ by node β ≥ 1, and by all.
    rolling_by_node: Vec<BlockMap>,
    rolling_by_all: Vec<BlockMap>,
}

/// What the slopes are taken at.
pub(super) struct At<'a> {
    pub(super) layout: &'a Layout,
    pub(super) state: &'a MaximalState,
    pub(super) step: &'a StepData,
    pub(super) memory: &'a CurveMemory,
    pub(super) u: &'a [f64],
    /// Multipliers of node 0 where others than the step's own are meant: of tree joints, of closures.
    pub(super) first: Option<(&'a [Six], &'a [Six])>,
}

/// Which nodes are varied.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Node(usize),
    All,
}

impl By {
    fn includes(self, node: usize) -> bool {
        self == Self::All || self == Self::Node(node)
    }
}

/// A joint at one node.
#[derive(Clone, Copy)]
struct Place {
    g: Geometry<D>,
    arm_a: Vec3<D>,
    arm_b: Vec3<D>,
}

/// Wrenches on parent and child, about their centres of mass.
struct Pair {
    a: [D; 6],
    b: [D; 6],
}

impl Pair {
    fn zero() -> Self {
        Self { a: NIL, b: NIL }
    }

    fn add(&mut self, place: &Place, row: &Row<D>, s: D) {
        let (on_b, on_a) = (row.ang_b + place.arm_b.cross(row.lin), row.ang_a + place.arm_a.cross(row.lin));
        for k in 0..3 {
            self.b[k] += on_b[k] * s;
            self.b[3 + k] += row.lin[k] * s;
            self.a[k] -= on_a[k] * s;
            self.a[3 + k] -= row.lin[k] * s;
        }
    }
}

/// A pose varied by rotation and displacement of the centre of mass in the six lanes from `lane`.
fn vary(pose: &LinkPose, lane: Option<usize>) -> LinkPose<D> {
    let (q, x) = (Quat::constant(pose.q), Vec3::constant(pose.x));
    let Some(lane) = lane else { return LinkPose { q, x } };
    let turn = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + k)));
    let push = Vec3(std::array::from_fn(|k| D::variable(0.0, lane + 3 + k)));
    LinkPose { q: Quat { w: D::one(), v: turn.scale(0.5) } * q, x: x + push }
}

impl At<'_> {
    pub(super) fn poses(&self, node: usize) -> &[LinkPose] {
        if node == 0 { &self.state.poses } else { &self.memory.nodes[node - 1].poses }
    }

    fn place(&self, joint: &LinkJoint, is_loop: bool, node: usize, varied: bool) -> Place {
        let end = |link: Option<usize>, lane: usize| {
            link.map(|i| {
                let pose = vary(&self.poses(node)[i], varied.then_some(lane));
                let rot = pose.q.to_matrix();
                (pose, rot, rot * Vec3::constant(self.layout.links[i].joint.b.p))
            })
        };
        let (a, b) = (end(joint.a.link, PARENT), end(joint.b.link, CHILD));
        let g = joint_geometry(
            joint,
            a.as_ref().map(|x| (&x.0, &x.1)),
            b.as_ref().map(|x| (&x.0, &x.1)),
            is_loop,
        );
        Place { g, arm_a: a.map_or(Vec3::zero(), |x| x.2), arm_b: b.map_or(Vec3::zero(), |x| x.2) }
    }
}

impl Slopes {
    fn clear(&mut self, s: usize) {
        self.s = s;
        let n = s + 1;
        for (maps, count) in [
            (&mut self.by_node, n * n),
            (&mut self.by_all, n),
            (&mut self.rolling_by_node, n * n),
            (&mut self.rolling_by_all, n),
        ] {
            maps.resize(count, BlockMap::default());
            maps.iter_mut().for_each(BlockMap::clear);
        }
        self.by_input.resize(n, InputMap::default());
        self.by_input.iter_mut().for_each(|m| m.entries.clear());
    }

    pub(super) fn by_node(&self, al: usize, ga: usize) -> &BlockMap {
        &self.by_node[al * (self.s + 1) + ga]
    }

    pub(super) fn by_all(&self, al: usize) -> &BlockMap {
        &self.by_all[al]
    }

    pub(super) fn by_input(&self, al: usize) -> &InputMap {
        &self.by_input[al]
    }

    /// Rows by closure.
    pub(super) fn rolling(&self, ga: usize, be: usize) -> &BlockMap {
        &self.rolling_by_node[ga * (self.s + 1) + be]
    }

    pub(super) fn rolling_by_all(&self, ga: usize) -> &BlockMap {
        &self.rolling_by_all[ga]
    }

    /// Fills all slopes at an evaluated iterate. Does not allocate after the first time.
    pub(super) fn fill(&mut self, at: &At<'_>) {
        let (layout, s) = (at.layout, at.memory.table.s);
        self.clear(s);
        self.rot.clone_from(&at.state.side.rot);
        let nc = layout.closures.len();
        for (i, link) in layout.links.iter().enumerate() {
            self.fill_kinetic(at, i);
            let lam = |al: usize| match at.first {
                Some((tree, _)) if al == 0 => &tree[i],
                _ => &at.memory.x.lam[al * layout.links.len() + i],
            };
            let near = &at.state.q[link.q..link.q + link.joint.kind.nq()];
            self.fill_joint(at, &link.joint, false, near, |c| at.step.implicit[link.v + c], Some(&lam), None);
            self.fill_drag(at, i);
            self.fill_held(at, i);
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let lam = |al: usize| match at.first {
                Some((_, closures)) if al == 0 => &closures[c],
                _ => &at.memory.x.closure[al * nc + c],
            };
            match &closure.kind {
                ClosureKind::Joint => {
                    let joint = &layout.loops[closure.index];
                    let kept = &at.memory.kept[c];
                    // Forces of the joint's coordinates come with the loop below.
                    self.fill_joint(at, joint, true, &[], |_| false, Some(&lam), Some(kept));
                }
                ClosureKind::Coordinates => {}
                ClosureKind::Rolling(rolling) => self.fill_rolling(at, c, rolling, &lam),
            }
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            let stiff = |c: usize| c < 3 && at.step.implicit_loop[l][c];
            self.fill_joint(at, joint, true, &at.state.q_loop[l], stiff, None, None);
        }
    }

    /// Adds a block of world axes.
    fn push(&mut self, al: usize, by: By, row: usize, column: usize, block: Block) {
        let block = turn_rows(&self.rot[row], &turn_columns(&block, &self.rot[column]));
        self.push_turned(al, by, row, column, block);
    }

    fn push_turned(&mut self, al: usize, by: By, row: usize, column: usize, block: Block) {
        match by {
            By::Node(ga) => self.by_node[al * (self.s + 1) + ga].push(row, column, block),
            By::All => self.by_all[al].push(row, column, block),
        }
    }

    fn push_pair(&mut self, al: usize, by: By, on: &Pair, a: Option<usize>, b: Option<usize>) {
        for (lane, column) in [(PARENT, a), (CHILD, b)] {
            let Some(column) = column else { continue };
            for (row, wrench) in [(a, &on.a), (b, &on.b)] {
                if let Some(row) = row {
                    let block = std::array::from_fn(|r| std::array::from_fn(|k| wrench[r].eps[lane + k]));
                    self.push(al, by, row, column, block);
                }
            }
        }
    }

    /// (8.4); alike, the positions' part vanishes and the rotations' is `X − Xᵀ`.
    fn fill_kinetic(&mut self, at: &At<'_>, i: usize) {
        let (table, x, n) = (&at.memory.table, &at.memory.x, at.layout.links.len());
        let (s, per_step, mass) = (table.s, 1.0 / at.step.h, at.layout.links[i].mass);
        let rot = &at.state.side.rot[i];
        let curve = Curve::new(s, |ga| {
            let rho = x.rho[(ga - 1) * n + i];
            (Quat { w: rho.w, v: rot.tr_mul(rho.v) }, x.dx[(ga - 1) * n + i])
        });
        let (inertia, second) = (&at.layout.links[i].inertia, &at.memory.own_second[i]);
        let block = |turn: &Mat3, m: f64| -> Block {
            std::array::from_fn(|r| {
                std::array::from_fn(|c| match (r < 3, c < 3) {
                    (true, true) => turn.0[r][c],
                    (false, false) if r == c => m,
                    _ => 0.0,
                })
            })
        };
        for al in 0..=s {
            for ga in 1..=s {
                let turn = curve.hessian(table, inertia, al, ga, per_step);
                self.push_turned(al, By::Node(ga), i, i, block(&turn, table.mass[al][ga] * per_step * mass));
            }
            let moment = curve.moment(table, second, al, per_step);
            self.push_turned(al, By::All, i, i, block(&(moment - moment.transpose()), 0.0));
        }
    }

    /// A joint: impulses of its rows (`lam`), springs, actuators, dampers and armature.
    fn fill_joint<'l>(
        &mut self,
        at: &At<'_>,
        joint: &LinkJoint,
        is_loop: bool,
        near: &[f64],
        stiff: impl Fn(usize) -> bool + Copy,
        lam: Option<&dyn Fn(usize) -> &'l Six>,
        kept: Option<&[bool; 6]>,
    ) {
        let (table, h, s) = (&at.memory.table, at.step.h, at.memory.table.s);
        let (a, b, kind) = (joint.a.link, joint.b.link, joint.kind);
        // A loop joint comes twice: its rows as a closure, its coordinates by themselves.
        let coordinates = !is_loop || lam.is_none();
        let has_kick = coordinates && (joint.rows.has_springs || !joint.actuators.is_empty());
        let has_rows = coordinates && joint.rows.has_rows;
        if !(lam.is_some() || has_kick || has_rows) {
            return;
        }
        let varied: [Place; NODES] = std::array::from_fn(|k| at.place(joint, is_loop, k.min(s), true));
        for al in 0..=s {
            let place = &varied[al];
            let mut on = Pair::zero();
            if let Some(lam) = lam.filter(|_| al < s) {
                let mut rows: [Row<D>; 6] = Default::default();
                let count = directions(kind, &place.g, &mut rows);
                // Given multipliers of node 0 may have parts on rows out of use.
                let given = al == 0 && at.first.is_some();
                for r in (0..count).filter(|r| given || kept.is_none_or(|k| k[*r])) {
                    on.add(place, &rows[r], D::from_f64(lam(al)[r]));
                }
            }
            if has_kick {
                let (mut f, y) = (NIL, unwrapped(kind, &place.g, near));
                joint_forces(joint, &y[..kind.nq()], at.u, stiff, &mut f);
                for c in 0..kind.nv() {
                    on.add(place, &public_row(kind, &place.g, c), f[c] * (table.w[al] * h));
                }
            }
            if al > 0 {
                self.push_pair(al, By::Node(al), &on, a, b);
            }
            self.push_pair(al, By::All, &on, a, b);
        }
        if has_kick {
            self.fill_inputs(at, joint, &varied);
        }
        if coordinates && !joint.servos.is_empty() {
            self.fill_servo_inputs(at, joint, near, &varied);
        }
        if !has_rows {
            return;
        }
        let still: [Place; NODES] = std::array::from_fn(|k| at.place(joint, is_loop, k.min(s), false));
        for by in (1..=s).map(By::Node).chain([By::All]) {
            let here = |k: usize| if by.includes(k) { &varied[k] } else { &still[k] };
            let y = unwrapped(kind, &here(0).g, near);
            let change = |k: usize, out: &mut [D; 6]| increments(kind, &here(0).g, &here(k).g, out);
            let impulse = impulses(table, joint, h, &y, stiff, |k| &here(k).g, change, at.u);
            for al in 0..=s {
                let (mut on, place) = (Pair::zero(), here(al));
                for c in 0..kind.nv() {
                    on.add(place, &coordinate_row(kind, &place.g, c), impulse[al][c]);
                }
                self.push_pair(al, by, &on, a, b);
            }
        }
    }

    /// Unit impulses of every actuator that is within its effort.
    fn fill_inputs(&mut self, at: &At<'_>, joint: &LinkJoint, places: &[Place; NODES]) {
        let (table, h) = (&at.memory.table, at.step.h);
        let mut driven = [0.0; 6];
        for &(input, c, gear) in &joint.actuators {
            driven[c] += at.u[input] * gear;
        }
        let [low, high] = joint.effort;
        let within = |c: usize| low < driven[c] && driven[c] < high;
        for &(input, c, gear) in joint.actuators.iter().filter(|(_, c, _)| within(*c)) {
            for al in 0..=table.s {
                let mut on = Pair::zero();
                let row = public_row(joint.kind, &places[al].g, c);
                let share = gear * table.w[al] * h * at.step.input_slopes[input];
                on.add(&places[al], &row, D::from_f64(share));
                for (link, wrench) in [(joint.a.link, &on.a), (joint.b.link, &on.b)] {
                    if let Some(link) = link {
                        let unit = in_link_axes(&self.rot[link], &wrench.map(|x| x.re));
                        self.by_input[al].entries.push((link, input, unit));
                    }
                }
            }
        }
    }

    /// What the inputs of servos add to the impulses. (8.23)
    fn fill_servo_inputs(&mut self, at: &At<'_>, joint: &LinkJoint, near: &[f64], places: &[Place; NODES]) {
        let (table, h, s) = (&at.memory.table, at.step.h, at.memory.table.s);
        let still = |k: usize| at.place(joint, false, k, false).g;
        let (start, mut dy) = (still(0), [[D::zero(); 6]; NODES]);
        for ga in 1..=s {
            increments(joint.kind, &start, &still(ga), &mut dy[ga]);
        }
        let y: Vec<D> = near.iter().map(|y| D::from_f64(*y)).collect();
        for_each_servo(table, joint, h, &y, &dy, |c, g, y, rate| {
            let (y, rate) = (y.re, rate.re);
            let force = |v: &Servo| v.law.force(at.u[v.input], y * v.gear, rate * v.gear) * v.gear;
            if !cut(joint.servos_of(c).map(force).sum::<f64>(), joint.effort).1 {
                return;
            }
            for servo in joint.servos_of(c) {
                let by = servo.law.slopes(at.u[servo.input], y * servo.gear, rate * servo.gear).by_input;
                for al in 0..=s {
                    let mut on = Pair::zero();
                    let share = h * table.gauss_share[g] * table.gauss_value[g][al];
                    let unit = servo.gear * by * share * at.step.input_slopes[servo.input];
                    on.add(&places[al], &coordinate_row(joint.kind, &places[al].g, c), D::from_f64(unit));
                    for (link, wrench) in [(joint.a.link, &on.a), (joint.b.link, &on.b)] {
                        if let Some(link) = link {
                            let unit = in_link_axes(&self.rot[link], &wrench.map(|x| x.re));
                            self.by_input[al].entries.push((link, servo.input, unit));
                        }
                    }
                }
            }
        });
    }

    /// Impulses of held coordinates, along directions that change with the pose; friction of the others.
    fn fill_held(&mut self, at: &At<'_>, i: usize) {
        let (link, table) = (&at.layout.links[i], &at.memory.table);
        let kind = link.joint.kind;
        let friction = |c: usize| if at.step.driven { at.step.friction[link.v + c] } else { 0.0 };
        if !(held(link, at.step).next().is_some() || (0..kind.nv()).any(|c| friction(c) != 0.0)) {
            return;
        }
        for al in 0..=table.s {
            let (place, mut on) = (at.place(&link.joint, false, al, true), Pair::zero());
            for c in held(link, at.step).filter(|_| al < table.s) {
                let lam = at.memory.x.held[al * at.layout.held + link.v + c];
                on.add(&place, &coordinate_row(kind, &place.g, c), D::from_f64(lam));
            }
            for c in (0..kind.nv()).filter(|c| friction(*c) != 0.0) {
                let impulse = friction(c) * table.w[al] * at.step.h;
                on.add(&place, &public_row(kind, &place.g, c), D::from_f64(impulse));
            }
            if al > 0 {
                self.push_pair(al, By::Node(al), &on, link.parent, Some(i));
            }
            self.push_pair(al, By::All, &on, link.parent, Some(i));
        }
    }

    /// Drag and thrusters of one link.
    fn fill_drag(&mut self, at: &At<'_>, i: usize) {
        let (table, h, s, link) = (&at.memory.table, at.step.h, at.memory.table.s, &at.layout.links[i]);
        let pushed = !(link.thrusters.is_empty() && link.pushes.is_empty());
        if link.drags.is_empty() && link.spin_drag == 0.0 && !pushed {
            return;
        }
        for by in (1..=s).map(By::Node).chain([By::All]) {
            let pose = |k: usize| vary(&at.poses(k)[i], by.includes(k).then_some(CHILD));
            let poses: [LinkPose<D>; NODES] = std::array::from_fn(|k| pose(k.min(s)));
            for al in 0..=s {
                let (mut ang, mut lin) = (Vec3::zero(), Vec3::zero());
                for (point, c) in &link.drags {
                    let on = |k: usize| poses[k].q.to_matrix() * Vec3::<D>::constant(*point);
                    let mut speed = Vec3::zero();
                    for k in 1..=s {
                        speed += (poses[k].x - poses[0].x + on(k) - on(0)).scale(table.b[al][k] / h);
                    }
                    let f = (speed - Vec3::constant(at.layout.wind)).scale(-c * table.w[al] * h);
                    ang += on(al).cross(f);
                    lin += f;
                }
                if link.spin_drag != 0.0 {
                    let omega = spin(table, |k| poses[k].q, al, 1.0 / h);
                    ang += omega.scale(-link.spin_drag * table.w[al] * h);
                }
                if by.includes(al) {
                    for (input, wrench) in &link.thrusters {
                        let (rot, t) = (poses[al].q.to_matrix(), at.u[*input] * table.w[al] * h);
                        ang += (rot * Vec3::constant(wrench.ang)).scale(t);
                        lin += (rot * Vec3::constant(wrench.lin)).scale(t);
                    }
                    for (input, point, wrench) in &link.pushes {
                        let (arm, t) = (
                            poses[al].q.to_matrix() * Vec3::<D>::constant(*point),
                            at.u[*input] * table.w[al] * h,
                        );
                        let force = Vec3::constant(wrench.lin * t);
                        ang += arm.cross(force) + Vec3::constant(wrench.ang * t);
                        lin += force;
                    }
                }
                let on = Pair { a: NIL, b: [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]] };
                self.push_pair(al, by, &on, None, Some(i));
            }
        }
        for al in 0..=s {
            let rot = at.poses(al)[i].q.to_matrix();
            for (input, wrench) in &link.thrusters {
                let t = table.w[al] * h * at.step.input_slopes[*input];
                let unit = six(rot * wrench.ang * t, rot * wrench.lin * t);
                self.by_input[al].entries.push((i, *input, in_link_axes(&self.rot[i], &unit)));
            }
            for (input, point, wrench) in &link.pushes {
                let t = table.w[al] * h * at.step.input_slopes[*input];
                let torque = (rot * *point).cross(wrench.lin) + wrench.ang;
                let unit = six(torque * t, wrench.lin * t);
                self.by_input[al].entries.push((i, *input, in_link_axes(&self.rot[i], &unit)));
            }
        }
    }

    /// A velocity constraint: its impulses and its rows. (8.20)
    fn fill_rolling<'l>(&mut self, at: &At<'_>, c: usize, rolling: &Rolling, lam: &dyn Fn(usize) -> &'l Six) {
        let (table, s, i) = (&at.memory.table, at.memory.table.s, at.layout.closures[c].index);
        let count = rolling.rows();
        let varied: [[[D; 6]; 6]; NODES] =
            std::array::from_fn(|k| varied_rows(rolling, &at.poses(k.min(s))[i]));
        for al in 0..s {
            let mut on = Pair::zero();
            for r in 0..count {
                for k in 0..6 {
                    on.b[k] += varied[al][r][k] * lam(al)[r];
                }
            }
            if al > 0 {
                self.push_pair(al, By::Node(al), &on, None, Some(i));
            }
            self.push_pair(al, By::All, &on, None, Some(i));
        }
        for by in (1..=s).map(By::Node).chain([By::All]) {
            let pose = |k: usize| vary(&at.poses(k)[i], by.includes(k).then_some(CHILD));
            let poses: [LinkPose<D>; NODES] = std::array::from_fn(|k| pose(k.min(s)));
            let mut slip = [NIL; NODES];
            for al in 0..=s {
                let omega = spin(table, |k| poses[k].q, al, 1.0);
                let mut v = Vec3::zero();
                for k in 1..=s {
                    v += (poses[k].x - poses[0].x).scale(table.b[al][k]);
                }
                for r in 0..count {
                    let a = if by.includes(al) {
                        varied[al][r]
                    } else {
                        varied[al][r].map(|x| D::from_f64(x.re))
                    };
                    for k in 0..3 {
                        slip[al][r] += a[k] * omega[k] + a[3 + k] * v[k];
                    }
                }
            }
            for ga in 1..=s {
                let mut block = [[0.0; 6]; 6];
                for r in 0..count {
                    let holds = rolling.position(&at.poses(ga)[i], r).is_some();
                    for k in 0..6 {
                        block[r][k] = if holds {
                            if by.includes(ga) { varied[ga][r][k].re } else { 0.0 }
                        } else {
                            weak(table, ga, |al| slip[al][r].eps[CHILD + k])
                        };
                    }
                }
                let block = turn_columns(&block, &self.rot[i]);
                match by {
                    By::Node(be) => self.rolling_by_node[ga * (s + 1) + be].push(c, i, block),
                    By::All => self.rolling_by_all[ga].push(c, i, block),
                }
            }
        }
    }
}

/// Torque or rotation of a six-vector from world axes to those of a link.
pub(super) fn in_link_axes(rot: &Mat3, x: &Six) -> Six {
    six(rot.tr_mul(angular(x)), linear(x))
}

/// The inverse of [`in_link_axes`].
pub(super) fn in_world_axes(rot: &Mat3, x: &Six) -> Six {
    six(*rot * angular(x), linear(x))
}

fn turn_columns(block: &Block, rot: &Mat3) -> Block {
    std::array::from_fn(|r| in_link_axes(rot, &block[r]))
}

fn turn_rows(rot: &Mat3, block: &Block) -> Block {
    let column = |c: usize| in_link_axes(rot, &std::array::from_fn(|r| block[r][c]));
    let columns: Block = std::array::from_fn(column);
    std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r]))
}

/// `Σ_i (Ψ⁻¹)^{γi} Σ_α w^α ℓ_i(c^α) x^α`.
pub(super) fn weak(table: &Table, ga: usize, x: impl Fn(usize) -> f64) -> f64 {
    let s = table.s;
    (0..s).map(|i| table.weak_inverse[ga][i] * (0..=s).map(|al| table.weak[i][al] * x(al)).sum::<f64>()).sum()
}

/// Rows of a velocity constraint at a varied pose; a constraint of the user's is differentiated by differences.
fn varied_rows(rolling: &Rolling, pose: &LinkPose) -> [[D; 6]; 6] {
    /// The cube root of the rounding error, in radians and metres.
    const STEP: f64 = 6e-6;
    let mut rows = [NIL; 6];
    rolling.node_rows(&vary(pose, Some(CHILD)), &mut rows);
    if rolling.is_custom() {
        for lane in 0..6 {
            let at = |by: f64| {
                let (mut moved, mut d, mut rows) = (*pose, Vec3::zero(), [[0.0; 6]; 6]);
                d[lane % 3] = by;
                if lane < 3 {
                    moved.q = (Quat { w: 1.0, v: d.scale(0.5) } * pose.q).normalized();
                } else {
                    moved.x += d;
                }
                rolling.node_rows(&moved, &mut rows);
                rows
            };
            let (plus, minus) = (at(STEP), at(-STEP));
            for r in 0..rolling.rows() {
                for k in 0..6 {
                    rows[r][k].eps[CHILD + lane] = (plus[r][k] - minus[r][k]) / (2.0 * STEP);
                }
            }
        }
    }
    rows
}
