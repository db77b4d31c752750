//! The equations of one step: their residual at an iterate and their Newton matrix.
//!
//! ```text
//! link b:     R p⁻(ω) − P_in − c_b + Σ_children T_xᵀ c − Σ_closures Gᵀλ = 0       (momentum, about the joint point)
//! joint, closure:   g(pose')/h = 0,   ψ = 0                                       (velocity)
//! coordinate row:   N_xᵀ c_b = f0 − α dy + limit impulse                          (momentum)
//! ```
//!
//! Equations (3.7) to (3.12) of the theory notes. `c_b` is the wrench of the link's joint: constraint impulses and
//! coordinate rows together.

use super::constraint::{angular_rows, coordinate_row, directions, particular, values};
use super::coordinate::{increments, is_angle};
use super::forces::{about_point, is_stiff, point_block};
use super::geometry::{LinkPose, Side};
use super::layout::{ClosureKind, Layout, LinkJoint};
use super::ldu::{Ldu, Six, System, add_wrench, angular, dot, linear};
use super::limits::{LIMIT_SCALE, fischer_burmeister, limit_distance, limit_side};
use super::rotation_map::RotationMap;
use super::state::MaximalState;
use super::workspace::{Iterate, StepData, Trial, Worst};
use crate::mechanism::JointType;
use crate::scalar::by_entry;
use crate::spatial::Vec3;

impl StepData {
    /// What is constant over a step from `state`: impulse laws, limits, force directions. Does not allocate.
    pub(crate) fn prepare(&mut self, layout: &Layout, state: &MaximalState, h: f64, sizes: &mut [Six]) {
        self.prepare_laws(layout, state, h);
        let side = &state.side;
        self.kept.fill([true; 6]);
        closure_rows(layout, side, &state.poses, &mut self.rows);
        for (c, closure) in layout.closures.iter().enumerate() {
            for r in 0..closure.rows {
                sizes[c][r] = row_size(layout, side, c, &self.rows[c][r]);
            }
        }
    }

    /// Impulse laws and limits alone.
    pub(crate) fn prepare_laws(&mut self, layout: &Layout, state: &MaximalState, h: f64) {
        self.h = h;
        let side = &state.side;
        for (i, link) in layout.links.iter().enumerate() {
            let joint = &link.joint;
            if !joint.rows.has_rows && !joint.rows.has_limits {
                continue;
            }
            for c in 0..joint.kind.nv() {
                let v = link.v + c;
                self.implicit[v] =
                    !self.explicit_springs && is_stiff(layout, side, joint, &side.joints[i], c, h);
                let y = if joint.kind.nq() == joint.kind.nv() { state.q[link.q + c] } else { 0.0 };
                self.law[v] = super::forces::ImpulseLaw::new(joint, c, y, h, self.implicit[v]);
                self.limit_side[v] = if self.driven {
                    f64::from(u8::from(!self.held[v].is_nan()))
                } else if self.enforce_limits {
                    limit_side(joint.rows.lower[c], joint.rows.upper[c], y)
                } else {
                    0.0
                };
            }
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            if !joint.rows.has_rows && !joint.rows.has_limits {
                continue;
            }
            for c in 0..joint.kind.nv().min(3) {
                let y = state.q_loop[l][c];
                self.implicit_loop[l][c] =
                    !self.explicit_springs && is_stiff(layout, side, joint, &side.loops[l], c, h);
                self.law_loop[l][c] =
                    super::forces::ImpulseLaw::new(joint, c, y, h, self.implicit_loop[l][c]);
                self.limit_side_loop[l][c] = if self.enforce_limits {
                    limit_side(joint.rows.lower[c], joint.rows.upper[c], y)
                } else {
                    0.0
                };
            }
        }
    }
}

/// Force directions of all closures at a pose; rolling constraints in terms of the joint point as well.
pub(crate) fn closure_rows(
    layout: &Layout,
    side: &Side,
    poses: &[LinkPose],
    rows: &mut [[super::constraint::Row; 6]],
) {
    for (c, closure) in layout.closures.iter().enumerate() {
        match &closure.kind {
            ClosureKind::Joint => {
                let g = &side.loops[closure.index];
                directions(layout.loops[closure.index].kind, g, &mut rows[c]);
            }
            ClosureKind::Coordinates => {
                let (kind, g) = (layout.loops[closure.index].kind, &side.loops[closure.index]);
                for k in 0..kind.nv() {
                    rows[c][k] = coordinate_row(kind, g, k);
                    rows[c][kind.nv() + k] = rows[c][k];
                }
            }
            ClosureKind::Rolling(rolling) => {
                let mut node = [[0.0; 6]; 6];
                rolling.node_rows(&poses[closure.index], &mut node);
                for r in 0..closure.rows {
                    let lin = linear(&node[r]);
                    rows[c][r].ang_b = angular(&node[r]) - side.arm[closure.index].cross(lin);
                    rows[c][r].lin = lin;
                }
            }
        }
    }
}

/// Size `G M⁻¹ Gᵀ` of a closure's row against the bare links, before any cancellation: what its pivots are judged by. (3.20)
pub(crate) fn row_size(layout: &Layout, side: &Side, c: usize, row: &super::constraint::Row) -> f64 {
    let closure = &layout.closures[c];
    let mut size = 0.0;
    for (end, ang) in [(closure.b, row.ang_b), (closure.a, row.ang_a)] {
        let Some(i) = end else { continue };
        let link = &layout.links[i];
        let ang = side.rot[i].tr_mul(ang + side.arm[i].cross(row.lin));
        size += ang.dot(link.inverse_inertia * ang) + row.lin.norm2() * link.inverse_mass;
    }
    size
}

/// Poses at the end of the interval; false if a rotation leaves the map's domain.
#[inline(always)]
pub(crate) fn advance(map: RotationMap, pose: &LinkPose, w: &Six, h: f64) -> Option<LinkPose> {
    let phi = angular(w) * (0.5 * h);
    if !map.admits(phi) {
        return None;
    }
    let q = pose.q * map.relative(phi);
    // One Newton step towards length one: the error is of rounding size.
    let s = 1.5 - 0.5 * (q.w * q.w + q.v.norm2());
    let q = crate::spatial::Quat { w: q.w * s, v: q.v * s };
    Some(LinkPose { q, x: pose.x + linear(w) * h })
}

/// The larger of two numbers that are not NaN; sums of squares notice NaN.
#[inline(always)]
fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Evaluates the residual at the iterate. False if it cannot be evaluated there. Does not allocate.
#[inline(always)]
pub(crate) fn evaluate(
    map: RotationMap,
    layout: &Layout,
    state: &MaximalState,
    step: &StepData,
    iterate: &Iterate,
    trial: &mut Trial,
) -> bool {
    let h = step.h;
    let inverse_h = 1.0 / h;
    let start = &state.side;
    let mut gaps =
        Gaps { h, worst: Worst::default(), squares: Worst::default(), left_open: Worst::default() };
    for (i, link) in layout.links.iter().enumerate() {
        let w = &iterate.w[i];
        let Some(pose) = advance(map, &state.poses[i], w, h) else { return false };
        trial.poses[i] = pose;
        trial.side.place_link(layout, i, &trial.poses);

        // Leaving minus incoming momentum, about the joint point. (3.7)
        let (omega, v) = (angular(w), linear(w));
        let (leaving, _) = map.momenta(omega * (0.5 * h), state.inertia[i] * omega);
        let mut lin = v * link.mass;
        let mut ang = start.rot[i] * leaving;
        if !link.drags.is_empty() {
            let (tau, f) = drag_impulse(layout, i, start, &trial.side, v, h, false);
            ang -= tau;
            lin -= f;
        }
        let ang = ang - start.arm[i].cross(lin);
        let incoming = &step.incoming_point[i];
        trial.unbalanced[i] = [
            ang[0] - incoming[0],
            ang[1] - incoming[1],
            ang[2] - incoming[2],
            lin[0] - incoming[3],
            lin[1] - incoming[4],
            lin[2] - incoming[5],
        ];

        // Rows of the joint: the particular velocity that closes them. (3.13)
        let kind = link.joint.kind;
        let g = &trial.side.joints[i];
        match kind {
            JointType::Revolute | JointType::Continuous => {
                let (r1, r2) = (2.0 * g.r.v[0], 2.0 * g.r.v[1]);
                let gap = g.gap * -inverse_h;
                let (b1, b2) = (-inverse_h * r1, -inverse_h * r2);
                gaps.worst.ang = larger(larger(gaps.worst.ang, r1.abs()), r2.abs());
                gaps.squares.ang += b1 * b1 + b2 * b2;
                gaps.displacement(g.gap, gap);
                let (w, v3) = (g.r.w, g.r.v[2]);
                let s = 1.0 / (w * w + v3 * v3);
                let (o1, o2) = ((w * b1 + v3 * b2) * s, (w * b2 - v3 * b1) * s);
                let f = &g.frame_b.0;
                trial.particular[i] = [
                    f[0][0] * o1 + f[0][1] * o2,
                    f[1][0] * o1 + f[1][1] * o2,
                    f[2][0] * o1 + f[2][1] * o2,
                    gap[0],
                    gap[1],
                    gap[2],
                ];
            }
            JointType::Spherical => {
                let gap = g.gap * -inverse_h;
                gaps.displacement(g.gap, gap);
                trial.particular[i] = [0.0, 0.0, 0.0, gap[0], gap[1], gap[2]];
            }
            kind => {
                let mut value = [0.0; 6];
                let rows = values(kind, g, &mut value);
                for r in 0..rows {
                    value[r] *= -inverse_h;
                    gaps.rate(r < angular_rows(kind), value[r]);
                }
                trial.particular[i] = particular(kind, g, &value);
            }
        }

        if link.joint.rows.has_rows || (step.enforce_limits && link.joint.rows.has_limits) {
            let mut dy = [0.0; 6];
            increments(kind, &start.joints[i], g, &mut dy);
            for c in 0..kind.nv() {
                let at = link.v + c;
                trial.dy[at] = dy[c];
                trial.impulse[at] = step.law[at].f0 - step.law[at].alpha * dy[c];
                trial.alpha[at] = step.law[at].alpha;
                if !link.joint.servos.is_empty() {
                    servo_impulse(&link.joint, step, c, state.q[link.q + c], at, trial);
                }
                let side = step.limit_side[at];
                if side != 0.0 {
                    let rows = &link.joint.rows;
                    let y = state.q[link.q + c] + dy[c];
                    let a = limit_distance(side, rows.lower[c], rows.upper[c], y) * inverse_h;
                    trial.limit[at] = if step.driven {
                        [(y - step.held[at]) * inverse_h, 1.0, 0.0]
                    } else {
                        fischer_burmeister(a, LIMIT_SCALE * iterate.limit[at])
                    };
                    gaps.rate(is_angle(kind, c), trial.limit[at][0]);
                }
            }
        }
    }
    trial.side.place_loops(layout, &trial.poses);
    closure_residuals(layout, state, step, iterate, trial, &mut gaps);
    body_residuals(layout, state, step, iterate, trial);

    let (mut worst, mut squares) = (Worst::default(), Worst::default());
    for r in &trial.residual {
        for k in 0..3 {
            worst.ang = larger(worst.ang, r[k].abs());
            worst.lin = larger(worst.lin, r[3 + k].abs());
            squares.ang += r[k] * r[k];
            squares.lin += r[3 + k] * r[3 + k];
        }
    }
    for (i, link) in layout.links.iter().enumerate() {
        let rows = &link.joint.rows;
        if rows.has_rows || (step.enforce_limits && rows.has_limits) {
            let nv = link.joint.kind.nv();
            for c in 0..nv {
                let at = link.v + c;
                let row = coordinate_row(link.joint.kind, &start.joints[i], c);
                let n = [row.ang_b[0], row.ang_b[1], row.ang_b[2], row.lin[0], row.lin[1], row.lin[2]];
                let r =
                    dot(&n, &iterate.wrench[i]) - trial.impulse[at] - step.limit_side[at] * iterate.limit[at];
                let turns = is_angle(link.joint.kind, c) || (link.joint.kind.nq() > nv && c < 3);
                let (worst, squares) = if turns {
                    (&mut worst.ang, &mut squares.ang)
                } else {
                    (&mut worst.lin, &mut squares.lin)
                };
                *worst = worst.max(r.abs());
                *squares += r * r;
            }
        }
    }
    trial.worst_body = worst;
    trial.worst_gap = gaps.worst;
    trial.left_open = gaps.left_open;
    // Rotations are compared with displacements by the length, velocities with momenta by the speed.
    let scales = &step.scales;
    let (length2, rate2) = (scales.length * scales.length, gaps.squares);
    let momenta = (squares.ang / length2 + squares.lin) / (scales.impulse * scales.impulse);
    let velocities = (rate2.ang * length2 + rate2.lin) / (scales.speed * scales.speed);
    trial.merit = (momenta + velocities).sqrt();
    trial.merit.is_finite()
}

/// Adds the servos of a coordinate to its row. (3.60)
#[inline(never)]
fn servo_impulse(joint: &LinkJoint, step: &StepData, c: usize, y: f64, at: usize, trial: &mut Trial) {
    let (half, dy) = (0.5 * step.h, trial.dy[at]);
    let (middle, rate) = (y + 0.5 * dy, dy / step.h);
    trial.driven[at] = half * joint.servo_force(c, middle, rate, &step.known);
    trial.impulse[at] += trial.driven[at];
    let [by_y, by_rate] = joint.servo_slopes(c, middle, rate, &step.known);
    trial.alpha[at] -= half * (0.5 * by_y + by_rate / step.h);
}

/// Values of the constraint rows while they are evaluated: the largest, and the sum of their squares as rates.
struct Gaps {
    h: f64,
    worst: Worst,
    squares: Worst,
    /// Rows out of use.
    left_open: Worst,
}

impl Gaps {
    /// A row by its rate.
    #[inline(always)]
    fn rate(&mut self, is_angle: bool, rate: f64) {
        let value = (rate * self.h).abs();
        if is_angle {
            self.worst.ang = larger(self.worst.ang, value);
            self.squares.ang += rate * rate;
        } else {
            self.worst.lin = larger(self.worst.lin, value);
            self.squares.lin += rate * rate;
        }
    }

    /// Three rows of displacement, and the rate that closes them.
    #[inline(always)]
    fn displacement(&mut self, gap: Vec3, rate: Vec3) {
        let worst = &mut self.worst.lin;
        *worst = larger(larger(larger(*worst, gap[0].abs()), gap[1].abs()), gap[2].abs());
        self.squares.lin += rate.norm2();
    }
}

/// Drag over the interval: half an impulse at the start (or end) pose, from the points' mean velocity.
pub(crate) fn drag_impulse(
    layout: &Layout,
    i: usize,
    start: &Side,
    end: &Side,
    v: Vec3,
    h: f64,
    at_end: bool,
) -> (Vec3, Vec3) {
    let (mut tau, mut force) = (Vec3::zero(), Vec3::zero());
    for (point, c) in &layout.links[i].drags {
        let (r0, r1) = (start.rot[i] * *point, end.rot[i] * *point);
        let speed = v + (r1 - r0) * (1.0 / h) - layout.wind;
        let f = speed * (-0.5 * c * h);
        force += f;
        tau += (if at_end { r1 } else { r0 }).cross(f);
    }
    (tau, force)
}

#[inline(always)]
fn closure_residuals(
    layout: &Layout,
    state: &MaximalState,
    step: &StepData,
    iterate: &Iterate,
    trial: &mut Trial,
    gaps: &mut Gaps,
) {
    let (h, inverse_h) = (step.h, 1.0 / step.h);
    for (c, closure) in layout.closures.iter().enumerate() {
        let mut value = [0.0; 6];
        match &closure.kind {
            ClosureKind::Joint => {
                let kind = layout.loops[closure.index].kind;
                values(kind, &trial.side.loops[closure.index], &mut value);
                for r in 0..closure.rows {
                    let is_angle = r < angular_rows(kind);
                    if !step.kept[c][r] {
                        let open = if is_angle { &mut gaps.left_open.ang } else { &mut gaps.left_open.lin };
                        *open = larger(*open, value[r].abs());
                    }
                    value[r] *= inverse_h;
                    if step.kept[c][r] {
                        gaps.rate(is_angle, value[r]);
                    }
                }
            }
            ClosureKind::Coordinates => {
                let l = closure.index;
                let joint = &layout.loops[l];
                let nv = joint.kind.nv();
                let mut dy = [0.0; 6];
                increments(joint.kind, &state.side.loops[l], &trial.side.loops[l], &mut dy);
                for k in 0..nv {
                    trial.dy_loop[l][k] = dy[k];
                    let law = &step.law_loop[l][k];
                    // dy/h + (s − f0)/(α h) = 0, or s = 0 where there is no law.
                    value[k] = if law.alpha > 0.0 {
                        (dy[k] + (iterate.lam[c][k] - law.f0) / law.alpha) * inverse_h
                    } else {
                        iterate.lam[c][k]
                    };
                    let side = step.limit_side_loop[l][k];
                    value[nv + k] = iterate.lam[c][nv + k];
                    if side != 0.0 {
                        let y = state.q_loop[l][k] + dy[k];
                        let a = limit_distance(side, joint.rows.lower[k], joint.rows.upper[k], y) * inverse_h;
                        let fb = fischer_burmeister(a, LIMIT_SCALE * iterate.lam[c][nv + k]);
                        trial.limit_loop[l][k] = fb;
                        value[nv + k] = fb[0];
                    }
                }
                for r in 0..closure.rows {
                    gaps.rate(is_angle(joint.kind, r % nv), value[r]);
                }
            }
            ClosureKind::Rolling(rolling) => {
                let i = closure.index;
                let w = &iterate.w[i];
                rolling.residual(&state.poses[i], &trial.poses[i], angular(w), linear(w), h, &mut value);
                for r in 0..closure.rows {
                    gaps.rate(false, value[r]);
                }
            }
        }
        trial.closure[c] = value;
    }
}

/// Body rows with the joints' wrenches and the closures' impulses.
#[inline(always)]
fn body_residuals(
    layout: &Layout,
    state: &MaximalState,
    step: &StepData,
    iterate: &Iterate,
    trial: &mut Trial,
) {
    for i in 0..layout.links.len() {
        let (u, c) = (&trial.unbalanced[i], &iterate.wrench[i]);
        trial.residual[i] = by_entry(|k| u[k] - c[k]);
    }
    for (i, link) in layout.links.iter().enumerate() {
        if let Some(parent) = link.parent {
            add_wrench(&mut trial.residual[parent], &iterate.wrench[i], state.side.lever[i]);
        }
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        for r in 0..closure.rows {
            let lam = closure_force(layout, step, c, r, iterate.lam[c][r]);
            let row = &step.rows[c][r];
            if let Some(b) = closure.b {
                for k in 0..3 {
                    trial.residual[b][k] -= row.ang_b[k] * lam;
                    trial.residual[b][3 + k] -= row.lin[k] * lam;
                }
            }
            if let Some(a) = closure.a {
                for k in 0..3 {
                    trial.residual[a][k] += row.ang_a[k] * lam;
                    trial.residual[a][3 + k] += row.lin[k] * lam;
                }
            }
        }
    }
}

/// The force of a multiplier along its row: limits push away from their side.
#[inline(always)]
pub(crate) fn closure_force(layout: &Layout, step: &StepData, c: usize, r: usize, lam: f64) -> f64 {
    let closure = &layout.closures[c];
    if let ClosureKind::Coordinates = closure.kind {
        let nv = layout.loops[closure.index].kind.nv();
        if r >= nv {
            return lam * step.limit_side_loop[closure.index][r - nv];
        }
    }
    lam
}

/// Newton matrix and right-hand sides at the evaluated iterate; the right-hand sides alone if the factors at hand are to be
/// used once more. Does not allocate.
#[inline(always)]
pub(crate) fn assemble(
    with_matrix: bool,
    map: RotationMap,
    layout: &Layout,
    ends: &[[Option<usize>; 2]],
    state: &MaximalState,
    step: &StepData,
    iterate: &Iterate,
    trial: &mut Trial,
    ldu: &mut Ldu,
    system: &mut System,
) {
    let h = step.h;
    let start = &state.side;
    for (i, link) in layout.links.iter().enumerate() {
        if with_matrix {
            let phi = angular(&iterate.w[i]) * (0.5 * h);
            // A = R D⁻Γ⁻¹ R'ᵀ: angular slope in world axes. (3.8)
            let slope = start.rot[i] * map.slope(phi, &state.inertia[i]) * trial.side.rot[i].transpose();
            ldu.diagonal[i] = point_block(&slope, link.mass, start.arm[i], trial.side.arm[i]);
            for (point, c) in &link.drags {
                // A drag is a mass c h/2 that moves with its point.
                let (r, r_end) = (start.rot[i] * *point, trial.side.rot[i] * *point);
                let (arm, arm_end) = (start.arm[i] - r, trial.side.arm[i] - r_end);
                let block = point_block(&crate::spatial::Mat3::zero(), 0.5 * c * h, arm, arm_end);
                for (target, row) in ldu.diagonal[i].iter_mut().zip(&block) {
                    target.iter_mut().zip(row).for_each(|(x, y)| *x += y);
                }
            }
        }
        let u = &trial.unbalanced[i];
        system.body[i] = by_entry(|k| -u[k]);
        system.particular[i] = trial.particular[i];
        let rows = &link.joint.rows;
        if rows.has_rows || (step.enforce_limits && rows.has_limits) {
            let nv = link.joint.kind.nv();
            for c in 0..nv {
                let at = link.v + c;
                let alpha = trial.alpha[at] * h;
                system.force[at] = trial.impulse[at];
                ldu.stiffness[at] = [0.0; 6];
                if c < 3 && matches!(link.joint.kind, JointType::Spherical | JointType::Floating) {
                    let rel = start.joints[i].r.conj() * trial.side.joints[i].r;
                    let s = if rel.w < 0.0 { -1.0 } else { 1.0 };
                    let slope = (rel.v * s).skew();
                    for k in 0..3 {
                        ldu.stiffness[at][k] = alpha * slope.0[c][k];
                    }
                    ldu.stiffness[at][c] += alpha * rel.w * s;
                } else {
                    ldu.stiffness[at][c] = alpha;
                }
                let side = step.limit_side[at];
                ldu.limit[at] = [0.0, 1.0];
                system.limit[at] = 0.0;
                if side != 0.0 {
                    let [fb, kappa, delta] = trial.limit[at];
                    // δ(Pξ − y − σγ) + κξ = −σ FB
                    ldu.limit[at] = [kappa, delta];
                    system.force[at] += side * iterate.limit[at];
                    system.limit[at] = -side * fb;
                }
            }
        }
    }
    ldu.limits_active = step.enforce_limits;
    if layout.closures.is_empty() {
        return;
    }
    if with_matrix {
        ldu.clear();
    }
    for (c, closure) in layout.closures.iter().enumerate() {
        let mut rows = [super::constraint::Row::default(); 6];
        let mut factor = [1.0; 6];
        // Diagonal of rows with an impulse law; a joint's rows have none.
        let mut diagonal = [0.0; 6];
        match &closure.kind {
            ClosureKind::Joint => {
                directions(layout.loops[closure.index].kind, &trial.side.loops[closure.index], &mut rows);
            }
            ClosureKind::Coordinates => {
                let l = closure.index;
                let (kind, g) = (layout.loops[l].kind, &trial.side.loops[l]);
                let nv = kind.nv();
                for k in 0..nv {
                    rows[k] = coordinate_row(kind, g, k);
                    rows[nv + k] = rows[k];
                    let law = &step.law_loop[l][k];
                    (factor[k], diagonal[k]) =
                        if law.alpha > 0.0 { (1.0, 1.0 / (law.alpha * h)) } else { (0.0, 1.0) };
                    let side = step.limit_side_loop[l][k];
                    let [_, kappa, delta] = trial.limit_loop[l][k];
                    (factor[nv + k], diagonal[nv + k]) =
                        if side == 0.0 { (0.0, 1.0) } else { (kappa * side, delta) };
                }
            }
            ClosureKind::Rolling(rolling) => {
                let i = closure.index;
                let w = &iterate.w[i];
                let (omega, v) = (angular(w), linear(w));
                rolling.slopes(map, &state.poses[i], &trial.poses[i], omega, v, h, &mut trial.slopes);
                for r in 0..closure.rows {
                    let lin = linear(&trial.slopes[r]);
                    rows[r].ang_b = angular(&trial.slopes[r]) - trial.side.arm[i].cross(lin);
                    rows[r].lin = lin;
                }
            }
        }
        // The unknown is the new multiplier, not its change: force rows are linear in it.
        system.closure[c] = by_entry(|r| diagonal[r] * iterate.lam[c][r] - trial.closure[c][r]);
        if !with_matrix {
            continue;
        }
        for r in 0..closure.rows {
            ldu.cc[c][r][r] = diagonal[r];
            ldu.size[c][r] = ldu.size[c][r].max(diagonal[r]);
            let sign = closure_force(layout, step, c, r, 1.0);
            let (v, x) = (&rows[r], &step.rows[c][r]);
            for (side, slot) in ends[c].iter().enumerate() {
                let Some(slot) = slot else { continue };
                let (av, ax, s) = if side == 1 { (v.ang_b, x.ang_b, 1.0) } else { (v.ang_a, x.ang_a, -1.0) };
                for k in 0..3 {
                    ldu.a[*slot][r][k] += s * factor[r] * av[k];
                    ldu.a[*slot][r][3 + k] += s * factor[r] * v.lin[k];
                    ldu.b[*slot][r][k] -= s * sign * ax[k];
                    ldu.b[*slot][r][3 + k] -= s * sign * x.lin[k];
                }
            }
        }
    }
}

/// Incoming momentum about the joint points.
pub(crate) fn incoming_about_points(side: &Side, incoming: &[Six], out: &mut [Six]) {
    for i in 0..incoming.len() {
        out[i] = about_point(&incoming[i], side.arm[i]);
    }
}
