//! Nodes: from joint coordinates and rates to poses and momenta, and back. (3.32), (3.33)
//!
//! At the start the momenta are those of the given rates, `P = M W + Cᵀ a ẏ` with `W` swept outward; at the end the rates
//! are the projection (3.27) of the carried momenta. Both are differentiated at a fixed state of the mechanism.

use super::blocks::{BlockMap, InputMap};
use super::contact::{Pressed, Source, SourceBar};
use super::products::{load, unload};
use super::stage::joined;
use super::varied::{
    CHILD, D, Ends, NIL, PARENT, Pairwise, dot_constant, engine_columns, public_columns, transport as moved,
    transport_wrench, vary,
};
use crate::constraint::{Row, coordinate_row, directions};
use crate::forces::about_point;
use crate::geometry::{LinkPose, Side};
use crate::graph::Graph;
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{Ldu, Six, System, add_wrench, angular, dot, linear, six, transport};
use crate::mechanism::JointType;
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};
use crate::start::{full_geometry, public_rates};
use crate::{MaximalState, MaximalWorkspace, read_out};

/// What both kinds of node have.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) side: Side,
    /// Velocities of the links at their joint points, and of the joints in the public convention.
    pub(super) w: Vec<Six>,
    pub(super) v: Vec<f64>,
    /// Per velocity coordinate: velocity of the child per public rate.
    columns: Vec<Six>,
    /// Slopes of `T W_a + N v` by the poses, at fixed `W_a` and `v`.
    swept_by_pose: BlockMap,
    /// Slopes of the closures' velocity rows by the poses.
    pub(super) closures_by_pose: BlockMap,
    /// Velocity rows of the closures, about the joint points.
    pub(super) rows: Vec<[Row; 6]>,
}

impl Node {
    fn new(layout: &Layout, nv: usize) -> Self {
        let n = layout.links.len();
        Self {
            side: Side::new(layout),
            w: vec![[0.0; 6]; n],
            v: vec![0.0; nv],
            columns: vec![[0.0; 6]; nv],
            swept_by_pose: BlockMap::default(),
            closures_by_pose: BlockMap::default(),
            rows: vec![[Row::default(); 6]; layout.closures.len()],
        }
    }

    /// Projects the state in the workspace and takes over what it shows. Does not allocate after the first time.
    fn fill(&mut self, ws: &mut MaximalWorkspace, state: &MaximalState) {
        read_out::project(ws, state);
        self.take(&ws.layout, &ws.step.rows, state, &ws.system.body, &ws.system.rate);
    }

    /// Takes over velocities of the joint points and rates (solver's basis) at the pose of a state.
    pub(super) fn take(
        &mut self,
        layout: &Layout,
        rows: &[[Row; 6]],
        state: &MaximalState,
        w: &[Six],
        rate: &[f64],
    ) {
        self.side.copy_from(&state.side);
        self.w.copy_from_slice(w);
        self.rows.copy_from_slice(rows);
        self.swept_by_pose.clear();
        self.closures_by_pose.clear();
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            let nv = joint.kind.nv();
            let mut v = [0.0; 6];
            public_rates(layout, &self.side, i, &rate[link.v..link.v + nv], &mut v);
            self.v[link.v..link.v + nv].copy_from_slice(&v[..nv]);
            let columns = public_columns(joint, &full_geometry(layout, &self.side, i));
            self.columns[link.v..link.v + nv].copy_from_slice(&columns[..nv]);
            let ends = Ends::new(layout, link.parent, Some(i), &state.poses, true);
            let g = ends.geometry(joint, false);
            let mut swept = link.parent.map_or(NIL, |p| moved(&self.w[p], g.transport(joint.kind)));
            let columns = public_columns(joint, &g);
            for c in 0..nv {
                for k in 0..6 {
                    swept[k] += columns[c][k] * v[c];
                }
            }
            for (lane, column) in [(PARENT, link.parent), (CHILD, Some(i))] {
                if let Some(column) = column {
                    self.swept_by_pose.push_lanes(i, column, &swept, lane);
                }
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let rows = varied_rows(layout, c, &state.poses);
            let mut values = NIL;
            for r in 0..closure.rows {
                let part = |end: Option<usize>, ang: Vec3<D>, s: f64| {
                    end.map_or(D::zero(), |i| {
                        dot_constant(&joined(ang, rows[r].lin), &self.w[i].map(|x| s * x))
                    })
                };
                values[r] = part(closure.b, rows[r].ang_b, 1.0) + part(closure.a, rows[r].ang_a, -1.0);
            }
            for (lane, column) in [(PARENT, closure.a), (CHILD, closure.b)] {
                if let Some(column) = column {
                    self.closures_by_pose.push_lanes(c, column, &values, lane);
                }
            }
        }
    }

    /// Outward sweep `x_i = T x_a + extra_i + N s`.
    pub(super) fn sweep(&self, layout: &Layout, s: &[f64], extra: Option<&[Six]>, out: &mut [Six]) {
        for (i, link) in layout.links.iter().enumerate() {
            let mut x = link.parent.map_or([0.0; 6], |p| transport(&out[p], self.side.lever[i]));
            if let Some(extra) = extra {
                for k in 0..6 {
                    x[k] += extra[i][k];
                }
            }
            for c in link.v..link.v + link.joint.kind.nv() {
                for k in 0..6 {
                    x[k] += self.columns[c][k] * s[c];
                }
            }
            out[i] = x;
        }
    }

    /// Transpose of [`sweep`](Self::sweep): `x` becomes the cotangent of `extra`, `s` is added to.
    fn sweep_transposed(&self, layout: &Layout, x: &mut [Six], s: &mut [f64]) {
        for (i, link) in layout.links.iter().enumerate().rev() {
            let here = x[i];
            for c in link.v..link.v + link.joint.kind.nv() {
                s[c] += dot(&self.columns[c], &here);
            }
            if let Some(parent) = link.parent {
                add_wrench(&mut x[parent], &here, self.side.lever[i]);
            }
        }
    }

    /// Changes of the joints' coordinates, public tangent, from variations of the poses that satisfy the joints' rows.
    pub(super) fn coordinates(&self, layout: &Layout, z: &[Six], dq: &mut [f64]) {
        for (i, link) in layout.links.iter().enumerate() {
            let before = link.parent.map_or([0.0; 6], |p| transport(&z[p], self.side.lever[i]));
            for c in link.v..link.v + link.joint.kind.nv() {
                let column = &self.columns[c];
                dq[c] = (dot(column, &z[i]) - dot(column, &before)) / dot(column, column);
            }
        }
    }

    /// Transpose of [`coordinates`](Self::coordinates): `z` is added to.
    pub(super) fn coordinates_transposed(&self, layout: &Layout, dq: &[f64], z: &mut [Six]) {
        for (i, link) in layout.links.iter().enumerate() {
            let mut on = [0.0; 6];
            for c in link.v..link.v + link.joint.kind.nv() {
                let column = &self.columns[c];
                let s = dq[c] / dot(column, column);
                (0..6).for_each(|k| on[k] += s * column[k]);
            }
            (0..6).for_each(|k| z[i][k] += on[k]);
            if let Some(parent) = link.parent {
                add_wrench(&mut z[parent], &on.map(|x| -x), self.side.lever[i]);
            }
        }
    }

    /// Slopes of the swept velocities by poses, added to `out`.
    pub(super) fn swept(&self, z: &[Six], out: &mut [Six]) {
        self.swept_by_pose.apply(z, out);
    }

    /// Rates in the solver's basis to the public convention, or cotangents of public rates to the solver's basis:
    /// the change of basis is orthogonal, so the second is its inverse.
    fn change_basis(&self, layout: &Layout, to_public: bool, rates: &mut [f64]) {
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            let floating = joint.kind == JointType::Floating;
            if !floating && !joint.is_plain_ball() {
                continue;
            }
            let g = full_geometry(layout, &self.side, i);
            let at = link.v + if floating { 3 } else { 0 };
            let rate = Vec3([rates[at], rates[at + 1], rates[at + 2]]);
            let turn = if floating { g.frame_b.transpose() * g.frame_a } else { g.frame_b.transpose() };
            let made = if to_public { turn * rate } else { turn.tr_mul(rate) };
            rates[at..at + 3].copy_from_slice(&made.0);
        }
    }
}

/// Rows of a closure at varied poses, about the joint points.
pub(crate) fn varied_rows(layout: &Layout, c: usize, poses: &[LinkPose]) -> [Row<D>; 6] {
    let closure = &layout.closures[c];
    let ends = Ends::new(layout, closure.a, closure.b, poses, true);
    let mut rows: [Row<D>; 6] = Default::default();
    match &closure.kind {
        ClosureKind::Joint => {
            let joint = &layout.loops[closure.index];
            directions(joint.kind, &ends.geometry(joint, true), &mut rows);
        }
        ClosureKind::Coordinates => {
            let joint = &layout.loops[closure.index];
            let g = ends.geometry(joint, true);
            for k in 0..joint.kind.nv() {
                if joint.rows.armature[k] > 0.0 {
                    rows[k] = coordinate_row(joint.kind, &g, k);
                }
            }
        }
        ClosureKind::Rolling(rolling) => {
            let i = closure.index;
            let point = Vec3::constant(layout.links[i].joint.b.p);
            let evaluate = |pose: &LinkPose<D>| {
                let mut node = [NIL; 6];
                rolling.node_rows(pose, &mut node);
                let arm = pose.q.to_matrix() * point;
                for row in &mut node {
                    let turn = arm.cross(Vec3([row[3], row[4], row[5]]));
                    for k in 0..3 {
                        row[k] -= turn[k];
                    }
                }
                node
            };
            let mut node = evaluate(&vary(layout, i, &poses[i], Some(CHILD)));
            if rolling.is_custom() {
                for r in 0..rolling.rows() {
                    let still = |p: &LinkPose| LinkPose {
                        q: crate::spatial::Quat::constant(p.q),
                        x: Vec3::constant(p.x),
                    };
                    node[r] =
                        super::differences::by_pose(layout, i, &poses[i], |p| (evaluate(&still(p))[r], NIL))
                            .0;
                }
            }
            for r in 0..rolling.rows() {
                rows[r].ang_b = Vec3([node[r][0], node[r][1], node[r][2]]);
                rows[r].lin = Vec3([node[r][3], node[r][4], node[r][5]]);
            }
        }
    }
    rows
}

/// The start: `(δq, δv) ↦ (z, δP)`.
#[derive(Clone, Debug)]
pub(super) struct StartNode {
    pub(super) node: Node,
    /// Momenta of the rates, without any multiple of constraint directions.
    pub(super) momentum: Vec<Six>,
    /// What the carried momenta hold beyond them: joint wrenches and multipliers.
    pub(super) gauge: Vec<Six>,
    pub(super) gauge_lam: Vec<Six>,
    by_pose: BlockMap,
    by_velocity: BlockMap,
    by_rate: BlockMap,
    pub(super) by_parameter: InputMap,
    /// Variations of the link velocities by the last product, or cotangents from elsewhere that a transposed one adds.
    pub(super) w: Vec<Six>,
    /// Scratch: swept velocities and rates per joint.
    extra: Vec<Six>,
    rates: Vec<Six>,
}

impl StartNode {
    pub(super) fn new(layout: &Layout, nv: usize) -> Self {
        let six = || vec![[0.0; 6]; layout.links.len()];
        Self {
            node: Node::new(layout, nv),
            momentum: six(),
            gauge: six(),
            gauge_lam: vec![[0.0; 6]; layout.closures.len()],
            by_pose: BlockMap::default(),
            by_velocity: BlockMap::default(),
            by_rate: BlockMap::default(),
            by_parameter: InputMap::default(),
            w: six(),
            extra: six(),
            rates: six(),
        }
    }

    pub(super) fn fill(&mut self, ws: &mut MaximalWorkspace, state: &MaximalState) {
        self.node.fill(ws, state);
        self.gauge.copy_from_slice(&ws.system.wrench);
        self.gauge_lam.copy_from_slice(&ws.system.closure);
        self.fill_momenta(&ws.layout, state);
    }

    /// Slopes of the momenta of the node's velocities.
    pub(super) fn fill_momenta(&mut self, layout: &Layout, state: &MaximalState) {
        for map in [&mut self.by_pose, &mut self.by_velocity, &mut self.by_rate] {
            map.clear();
        }
        for (i, link) in layout.links.iter().enumerate() {
            // P = [R J Rᵀ Ω; m (v − Ω × arm)]: poses in the first six lanes, velocities in the others.
            let pose = vary(layout, i, &state.poses[i], Some(PARENT));
            let rot = pose.q.to_matrix();
            let w: [D; 6] = std::array::from_fn(|k| D::variable(self.node.w[i][k], 6 + k));
            let (ang, lin) = (Vec3([w[0], w[1], w[2]]), Vec3([w[3], w[4], w[5]]));
            let turn = rot * (Mat3::constant(state.inertia[i]) * rot.tr_mul(ang));
            let arm = rot * Vec3::constant(link.joint.b.p);
            let p = joined(turn, (lin - ang.cross(arm)).scale(link.mass));
            self.momentum[i] = p.map(Real::value);
            self.by_pose.push_lanes(i, i, &p, 0);
            self.by_velocity.push_lanes(i, i, &p, 6);
        }
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            if joint.rows.armature == [0.0; 6] {
                continue;
            }
            let ends = Ends::new(layout, link.parent, Some(i), &state.poses, true);
            let g = ends.geometry(joint, false);
            let mut on = Pairwise::zero();
            let (mut own, mut other) = ([[0.0; 6]; 6], [[0.0; 6]; 6]);
            for c in 0..joint.kind.nv() {
                let a = joint.rows.armature[c];
                let row = coordinate_row(joint.kind, &g, c);
                let s = a * self.node.v[link.v + c];
                on.add(&row, D::from_f64(s));
                // The gauge is free of the armature's share.
                for k in 0..3 {
                    self.gauge[i][k] += s * row.ang_b[k].re;
                    self.gauge[i][3 + k] += s * row.lin[k].re;
                }
                let mut unit = Pairwise::zero();
                unit.add(&row, D::from_f64(a));
                let unit = unit.about_centres(&ends);
                for k in 0..6 {
                    own[k][c] = unit.b[k].re;
                    other[k][c] = unit.a[k].re;
                }
            }
            let on = on.about_centres(&ends);
            self.by_rate.push(i, i, own);
            self.push(&on, link.parent, Some(i));
            if let Some(parent) = link.parent {
                self.by_rate.push(parent, i, other);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let ClosureKind::Coordinates = closure.kind else { continue };
            self.gauge_lam[c] = [0.0; 6];
            let joint = &layout.loops[closure.index];
            let ends = Ends::new(layout, closure.a, closure.b, &state.poses, true);
            let g = ends.geometry(joint, true);
            for k in 0..joint.kind.nv() {
                let a = joint.rows.armature[k];
                if a == 0.0 {
                    continue;
                }
                let row = coordinate_row(joint.kind, &g, k);
                let rate_row = |ang: Vec3<D>, s: f64| joined(ang, row.lin).map(|x| x * s);
                let (on_b, on_a) = (rate_row(row.ang_b, 1.0), rate_row(row.ang_a, -1.0));
                let mut rate = D::zero();
                for (end, r) in [(closure.b, &on_b), (closure.a, &on_a)] {
                    if let Some(i) = end {
                        rate += dot_constant(r, &self.node.w[i]);
                    }
                }
                let (mut on, mut unit) = (Pairwise::zero(), Pairwise::zero());
                on.add(&row, rate * a);
                unit.add(&row, D::from_f64(a));
                let (on, unit) = (on.about_centres(&ends), unit.about_centres(&ends));
                self.push(&on, closure.a, closure.b);
                for (at, wrench) in [(closure.a, &unit.a), (closure.b, &unit.b)] {
                    for (by, r) in [(closure.a, &on_a), (closure.b, &on_b)] {
                        if let (Some(at), Some(by)) = (at, by) {
                            let block =
                                std::array::from_fn(|m| std::array::from_fn(|k| wrench[m].re * r[k].re));
                            self.by_velocity.push(at, by, block);
                        }
                    }
                }
            }
        }
        // A fresh start carries the momenta of its velocities and nothing else; a projection would find the rounding of a thin
        // body's mass matrix in its place.
        if state.interval == 0.0 {
            self.gauge.fill([0.0; 6]);
            self.gauge_lam.fill([0.0; 6]);
        }
    }

    /// Adds a pair of momenta with their slopes.
    fn push(&mut self, on: &Pairwise, a: Option<usize>, b: Option<usize>) {
        for (row, wrench) in [(a, &on.a), (b, &on.b)] {
            let Some(row) = row else { continue };
            for k in 0..6 {
                self.momentum[row][k] += wrench[k].re;
            }
            for (lane, column) in [(PARENT, a), (CHILD, b)] {
                if let Some(column) = column {
                    self.by_pose.push_lanes(row, column, wrench, lane);
                }
            }
        }
    }

    pub(super) fn forward(
        &mut self,
        layout: &Layout,
        dq: &[f64],
        dv: &[f64],
        parameters: &[f64],
        z: &mut [Six],
        momentum: &mut [Six],
    ) {
        self.node.sweep(layout, dq, None, z);
        self.extra.fill([0.0; 6]);
        self.node.swept(z, &mut self.extra);
        self.node.sweep(layout, dv, Some(&self.extra), &mut self.w);
        self.momenta(layout, z, dv, momentum);
        self.by_parameter.apply(parameters, momentum);
    }

    /// Variations of the momenta from those of poses, link velocities (in `w`) and rates.
    pub(super) fn momenta(&mut self, layout: &Layout, z: &[Six], dv: &[f64], momentum: &mut [Six]) {
        for (i, link) in layout.links.iter().enumerate() {
            let nv = link.joint.kind.nv();
            self.rates[i][..nv].copy_from_slice(&dv[link.v..link.v + nv]);
        }
        momentum.fill([0.0; 6]);
        self.by_pose.apply(z, momentum);
        self.by_velocity.apply(&self.w, momentum);
        self.by_rate.apply(&self.rates, momentum);
    }

    /// Transpose of [`momenta`](Self::momenta): adds to `z`, `w` and `dv`.
    pub(super) fn momenta_transposed(
        &mut self,
        layout: &Layout,
        momentum: &[Six],
        z: &mut [Six],
        dv: &mut [f64],
    ) {
        self.rates.fill([0.0; 6]);
        self.by_pose.apply_transposed(momentum, z);
        self.by_velocity.apply_transposed(momentum, &mut self.w);
        self.by_rate.apply_transposed(momentum, &mut self.rates);
        for (i, link) in layout.links.iter().enumerate() {
            for c in 0..link.joint.kind.nv() {
                dv[link.v + c] += self.rates[i][c];
            }
        }
    }

    /// Joints' rates that go with velocities of the links at varied poses.
    pub(super) fn rates_of(&mut self, layout: &Layout, z: &[Six], w: &[Six], dv: &mut [f64]) {
        self.extra.fill([0.0; 6]);
        self.node.swept(z, &mut self.extra);
        self.node.coordinates(layout, w, dv);
        for (i, link) in layout.links.iter().enumerate() {
            for c in link.v..link.v + link.joint.kind.nv() {
                let column = &self.node.columns[c];
                dv[c] -= dot(column, &self.extra[i]) / dot(column, column);
            }
        }
    }

    /// Transpose of [`forward`](Self::forward); `z` is destroyed, `dq` is overwritten, `dv` and `parameters` are added to. Cotangents
    /// in `w` are taken in.
    pub(super) fn adjoint(
        &mut self,
        layout: &Layout,
        z: &mut [Six],
        momentum: &[Six],
        dq: &mut [f64],
        dv: &mut [f64],
        parameters: &mut [f64],
    ) {
        self.by_parameter.apply_transposed(momentum, parameters);
        dq.fill(0.0);
        self.momenta_transposed(layout, momentum, z, dv);
        self.node.sweep_transposed(layout, &mut self.w, dv);
        self.node.swept_by_pose.apply_transposed(&self.w, z);
        self.node.sweep_transposed(layout, z, dq);
    }
}

/// The end: `(z', δP') ↦ δv'`.
#[derive(Clone, Debug)]
pub(super) struct EndNode {
    pub(super) node: Node,
    pub(super) ldu: Ldu,
    pub(super) rows_by_pose: BlockMap,
    /// Contacts, limits and dry friction as rows of the node; their matrix is in the factors.
    pub(super) contact: Option<Box<Pressed>>,
    /// One over the step where contacts are kept off by their distance over it.
    pub(super) per_step: f64,
    pub(super) by_parameter: InputMap,
    rows: Vec<Six>,
    extra: Vec<Six>,
}

impl EndNode {
    pub(super) fn new(layout: &Layout, graph: &Graph, nv: usize) -> Self {
        let n = layout.links.len();
        Self {
            node: Node::new(layout, nv),
            ldu: Ldu::new(layout, graph, nv),
            rows_by_pose: BlockMap::default(),
            contact: None,
            per_step: 0.0,
            by_parameter: InputMap::default(),
            rows: vec![[0.0; 6]; 2 * n + layout.closures.len()],
            extra: vec![[0.0; 6]; n],
        }
    }

    pub(super) fn fill(&mut self, ws: &mut MaximalWorkspace, state: &MaximalState) {
        self.node.fill(ws, state);
        std::mem::swap(&mut self.ldu, &mut ws.ldu);
        ws.ldu.dropped = self.ldu.dropped;
        self.fill_slopes(&ws.layout, state, &state.momentum, (&ws.system.wrench, &ws.system.closure));
    }

    /// Slopes of the node's equations by the pose, with joint wrenches and multipliers that balance the momenta.
    pub(super) fn fill_slopes(
        &mut self,
        layout: &Layout,
        state: &MaximalState,
        momentum: &[Six],
        (wrenches, lam): (&[Six], &[Six]),
    ) {
        let n = layout.links.len();
        self.rows_by_pose.clear();
        for (i, link) in layout.links.iter().enumerate() {
            // M W − P about the joint point.
            let pose = vary(layout, i, &state.poses[i], Some(CHILD));
            let rot = pose.q.to_matrix();
            let (ang, lin) =
                (Vec3::constant(angular(&self.node.w[i])), Vec3::constant(linear(&self.node.w[i])));
            let arm = rot * Vec3::constant(link.joint.b.p);
            let turn = rot * (Mat3::constant(state.inertia[i]) * rot.tr_mul(ang))
                - Vec3::constant(angular(&momentum[i]));
            let push = (lin - ang.cross(arm)).scale(link.mass) - Vec3::constant(linear(&momentum[i]));
            self.rows_by_pose.push_lanes(i, i, &joined(turn - arm.cross(push), push), CHILD);
            // The joint: its wrench on the parent, its force rows Nᵀc + aẏ = 0.
            let joint = &link.joint;
            let ends = Ends::new(layout, link.parent, Some(i), &state.poses, true);
            let g = ends.geometry(joint, false);
            let wrench = &wrenches[i];
            let reaction = transport_wrench(wrench, g.transport(joint.kind));
            let columns = engine_columns(joint, &g);
            let mut force = NIL;
            for c in 0..joint.kind.nv() {
                force[c] = dot_constant(&columns[c], wrench);
            }
            for (lane, column) in [(PARENT, link.parent), (CHILD, Some(i))] {
                let Some(column) = column else { continue };
                if let Some(parent) = link.parent {
                    self.rows_by_pose.push_lanes(parent, column, &reaction, lane);
                }
                self.rows_by_pose.push_lanes(n + i, column, &force, lane);
            }
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            let rows = varied_rows(layout, c, &state.poses);
            let mut on = Pairwise::zero();
            for r in 0..closure.rows {
                on.add(&rows[r], D::from_f64(-lam[c][r]));
            }
            for (lane, column) in [(PARENT, closure.a), (CHILD, closure.b)] {
                let Some(column) = column else { continue };
                for (row, wrench) in [(closure.a, &on.a), (closure.b, &on.b)] {
                    if let Some(row) = row {
                        self.rows_by_pose.push_lanes(row, column, wrench, lane);
                    }
                }
            }
        }
    }

    /// Public rates' variation at the end in `dv`, velocities' in `system.body`. Contacts also ask for the variations of the
    /// velocities and rates at the start of the step and of the joints' positions, in `start`.
    pub(super) fn forward(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        z: &[Six],
        momentum: &[Six],
        start: (&[Six], &[f64], &[f64]),
        parameters: &[f64],
        system: &mut System,
        dv: &mut [f64],
    ) {
        let n = layout.links.len();
        self.rows.fill([0.0; 6]);
        self.rows_by_pose.apply(z, &mut self.rows);
        self.node.closures_by_pose.apply(z, &mut self.rows[2 * n..]);
        self.by_parameter.apply(parameters, &mut self.rows);
        self.extra.fill([0.0; 6]);
        self.node.swept(z, &mut self.extra);
        load(layout, &self.rows, system);
        for i in 0..n {
            let carried = about_point(&momentum[i], self.node.side.arm[i]);
            for k in 0..6 {
                system.body[i][k] += carried[k];
            }
            system.particular[i] = self.extra[i];
        }
        let side = &self.node.side;
        match &mut self.contact {
            None => self.ldu.solve(layout, graph, side, side, system),
            Some(contact) => {
                let (w, rate, carried) = start;
                let source = Source { z, w, rate, carried, per_step: self.per_step };
                contact.solve(&self.ldu, side, side, &source, system);
            }
        }
        dv.copy_from_slice(&system.rate);
        self.node.change_basis(layout, true, dv);
    }

    /// Transpose of [`forward`](Self::forward), with cotangents of the velocities in `system.body`: `momentum` is overwritten; `z`,
    /// `start` and `parameters` are added to.
    pub(super) fn adjoint(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        dv: &[f64],
        system: &mut System,
        z: &mut [Six],
        momentum: &mut [Six],
        start: (&mut [Six], &mut [f64], &mut [f64]),
        parameters: &mut [f64],
    ) {
        let n = layout.links.len();
        system.rate.copy_from_slice(dv);
        self.node.change_basis(layout, false, &mut system.rate);
        system.wrench.fill([0.0; 6]);
        system.closure.fill([0.0; 6]);
        let side = &self.node.side;
        match &mut self.contact {
            None => self.ldu.solve_transposed(layout, graph, side, side, system),
            Some(contact) => {
                let (w, rate, carried) = start;
                let mut bar = SourceBar { z: &mut *z, w, rate, carried, per_step: self.per_step };
                contact.solve_transposed(&self.ldu, side, side, system, &mut bar);
            }
        }
        unload(layout, system, &mut self.rows);
        self.rows_by_pose.apply_transposed(&self.rows, z);
        self.by_parameter.apply_transposed(&self.rows, parameters);
        self.node.closures_by_pose.apply_transposed(&self.rows[2 * n..], z);
        self.node.swept_by_pose.apply_transposed(&system.particular, z);
        for i in 0..n {
            let (ang, lin) = (angular(&system.body[i]), linear(&system.body[i]));
            momentum[i] = six(ang, lin + self.node.side.arm[i].cross(ang));
        }
    }

    /// Changes of the joints' positions at the end to the public tangent, or cotangents back.
    pub(super) fn change_basis(&self, layout: &Layout, to_public: bool, rates: &mut [f64]) {
        self.node.change_basis(layout, to_public, rates);
    }
}
