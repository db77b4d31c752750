//! Rows of contacts at a solution, with everything that they depend on. (9.19), (9.20)
//!
//! Slopes by poses are made by dual numbers over the variations of the two links, for every shape alike: link A in the first six
//! lanes, link B in the others.

use super::super::blocks::BlockMap;
use super::super::stage::interval_velocity;
use super::super::varied::{D, NIL, vary};
use super::switches::Switches;
use super::{Acting, PressedRow};
use crate::contact::{Between, Item, Kind, Probe};
use crate::contact_law::{Law, Link, Response, Touch, box_law};
use crate::geometry::LinkPose;
use crate::layout::Layout;
use crate::ldu::{Six, angular, linear};
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};

/// A link whose variation is carried, with the arm to its joint point.
#[derive(Clone, Copy)]
struct Seen {
    link: Link<D>,
    arm: Vec3<D>,
}

impl Seen {
    fn new(layout: &Layout, link: Option<usize>, lane: usize, poses: &[LinkPose]) -> Self {
        let Some(i) = link else { return Self { link: Link::ground(), arm: Vec3::zero() } };
        let pose = vary(layout, i, &poses[i], Some(lane));
        let rot = pose.q.to_matrix();
        Self { link: Link { rot, pos: pose.x }, arm: rot * Vec3::constant(layout.links[i].joint.b.p) }
    }
}

/// A contact at a varied pose: the touch, its frame, levers from the joint points.
struct View {
    touch: Touch<D>,
    frame: [Vec3<D>; 3],
    lever: [Vec3<D>; 2],
}

impl View {
    fn new(layout: &Layout, item: &Item, poses: &[LinkPose]) -> Option<Self> {
        let Kind::Pair { tip, center, against } = &item.kind else { return None };
        let seen = [0, 1].map(|x| Seen::new(layout, item.links[x], 6 * x, poses));
        let touch = Touch::<D>::new(tip, *center, against, &seen[0].link, &seen[1].link);
        let lever = [0, 1].map(|x| seen[x].link.rot * touch.core[x] + touch.arm[x] - seen[x].arm);
        Some(Self { frame: frame(touch.normal), touch, lever })
    }

    /// `H W` at constant velocities of the joint points.
    fn velocity(&self, item: &Item, w: &[Six]) -> [D; 3] {
        let mut s = Vec3::<D>::zero();
        for x in 0..2 {
            let Some(i) = item.links[x] else { continue };
            let at = Vec3::constant(linear(&w[i])) + Vec3::constant(angular(&w[i])).cross(self.lever[x]);
            s = if x == 0 { s + at } else { s - at };
        }
        self.frame.map(|t| t.dot(s))
    }

    /// `H^T g` on both links, about their joint points.
    fn impulse(&self, g: &[f64; 3]) -> [[D; 6]; 2] {
        let f = self.frame[0].scale(g[0]) + self.frame[1].scale(g[1]) + self.frame[2].scale(g[2]);
        [0, 1].map(|x| {
            let f = if x == 0 { f } else { -f };
            let turn = self.lever[x].cross(f);
            [turn[0], turn[1], turn[2], f[0], f[1], f[2]]
        })
    }
}

/// Normal and tangents by the triad rule, varied.
fn frame(normal: Vec3<D>) -> [Vec3<D>; 3] {
    let mut k = 0;
    for i in 1..3 {
        if normal[i].re.abs() < normal[k].re.abs() {
            k = i;
        }
    }
    let mut e = Vec3::zero();
    e[k] = D::one();
    let t = e - normal * normal[k];
    let t1 = t * (D::one() / t.norm());
    [normal, t1, normal.cross(t1)]
}

/// A solved problem whose contacts are to be differentiated.
pub(super) struct Problem<'a> {
    pub(super) layout: &'a Layout,
    pub(super) smoothing: f64,
    /// Velocities at the start of the step.
    pub(super) start_w: &'a [Six],
    pub(super) switches: &'a mut Switches,
}

impl Problem<'_> {
    /// Rows of the interval, and what the start's pose does to their impulses.
    pub(super) fn interval(
        &mut self,
        between: &Between<'_>,
        start: &[LinkPose],
        items: &[Item],
        probes: &mut [Probe],
    ) -> (Vec<PressedRow>, BlockMap) {
        let (mut out, mut slopes) = (Vec::new(), BlockMap::default());
        for (k, (item, probe)) in items.iter().zip(probes).enumerate().filter(|(_, (_, p))| p.active) {
            between.slopes(item, probe);
            let mut row = self.row(k, item, probe);
            if let Kind::Limit { sign, .. } = item.kind {
                row.law_by_carried = sign * row.by_velocity.0[0][0];
            }
            if let Some(view) = View::new(self.layout, item, start) {
                push_impulse(&mut slopes, item, &view.impulse(&probe.gam));
                row.add_velocity(&interval_slip(self.layout, between, start, item, probe, &view));
                if let Some(d) = probe.law.direction {
                    self.add_direction(item, probe, d, &view, &mut row);
                }
            }
            out.push(row);
        }
        (out, slopes)
    }

    /// Rows of a node; with `per_step`, of the relaxed one, where contacts are kept off by their distance over the step.
    pub(super) fn node(
        &mut self,
        poses: &[LinkPose],
        w: &[Six],
        per_step: Option<f64>,
        items: &[Item],
        probes: &[Probe],
        slopes: &mut BlockMap,
    ) -> Vec<PressedRow> {
        let mut out = Vec::new();
        for (k, (item, probe)) in items.iter().zip(probes).enumerate().filter(|(_, (_, p))| p.active) {
            let mut row = self.row(k, item, probe);
            row.rate = row.force;
            let bounces = per_step.is_none() && probe.law.shift != 0.0;
            let e = if bounces { item.restitution } else { 0.0 };
            if let Kind::Limit { sign, .. } = item.kind {
                row.law_by_rate = e * sign * row.by_velocity.0[0][0];
                row.law_by_carried = if per_step.is_some() { sign * row.by_velocity.0[0][0] } else { 0.0 };
            }
            if let Some(view) = View::new(self.layout, item, poses) {
                push_impulse(slopes, item, &view.impulse(&probe.gam));
                let mut u = view.velocity(item, w);
                if e != 0.0 {
                    u[0] += view.velocity(item, self.start_w)[0] * e;
                    for x in 0..2 {
                        for m in 0..3 {
                            let a = e * row.by_velocity.0[m][0];
                            row.law_by_start[x][m] = row.force[x][0].map(|t| a * t);
                        }
                    }
                }
                if let Some(per_step) = per_step {
                    u[0] += view.touch.gap * per_step;
                }
                row.add_velocity(&u);
            }
            out.push(row);
        }
        out
    }

    /// A row with its law, noted where it is near a switch.
    fn row(&mut self, k: usize, item: &Item, probe: &Probe) -> PressedRow {
        let Response { by_velocity, by_impulse, .. } = self.law(item, probe);
        self.switches.note(k, item, probe, self.smoothing);
        let acting = match item.kind {
            // Its place is given with those of the others.
            Kind::Pair { .. } => Acting::Closure(0, 0),
            Kind::Limit { at, sign, .. } => Acting::Coordinate(at.v, sign),
            Kind::Friction { at, .. } => Acting::Coordinate(at.v, 1.0),
            // Refused before: rows over several joints have no derivative.
            Kind::Tied { .. } => Acting::Coordinate(0, 0.0),
        };
        let (force, rate) = if let Kind::Pair { .. } = item.kind {
            (probe.force_rows, probe.rate_rows)
        } else {
            ([[[0.0; 6]; 3]; 2], [[[0.0; 6]; 3]; 2])
        };
        PressedRow {
            acting,
            links: item.links,
            rho: item.rho,
            force,
            rate,
            by_velocity: Mat3(by_velocity),
            by_impulse: Mat3(by_impulse),
            law_by_pose: [[[0.0; 6]; 3]; 2],
            law_by_start: [[[0.0; 6]; 3]; 2],
            law_by_carried: 0.0,
            law_by_rate: 0.0,
            inverse: Mat3::identity(),
            excess: Mat3::zero(),
        }
    }

    /// Slopes of the law; of a coordinate in the first place, the others without velocity.
    fn law(&self, item: &Item, probe: &Probe) -> Response {
        let smoothing = self.smoothing / item.arm;
        let one = |a: f64, b: f64| {
            let mut out = Response::default();
            out.by_velocity[0][0] = a;
            out.by_impulse = [[b, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            out
        };
        if let Kind::Friction { .. } = item.kind {
            let [_, a, b] = box_law(probe.bound, item.rho, smoothing, probe.sign, probe.u[0], probe.gam[0]);
            return one(a, b);
        }
        let made = Law { smoothing, ..probe.law }.response(&probe.u, &probe.gam);
        if item.rows() == 3 { made } else { one(made.by_velocity[0][0], made.by_impulse[0][0]) }
    }

    /// A prescribed direction follows the slip at the start node: `d(d) = (I - d d^T) d(H_t W)/|H_t W|`. (9.20)
    fn add_direction(&self, item: &Item, probe: &Probe, d: [f64; 2], view: &View, row: &mut PressedRow) {
        let u = view.velocity(item, self.start_w);
        let size = (u[1].re * u[1].re + u[2].re * u[2].re).sqrt();
        if size == 0.0 {
            return;
        }
        let weight = item.mu * probe.gam[0] / size;
        for k in 0..2 {
            for m in 0..2 {
                let across = weight * (f64::from(u8::from(k == m)) - d[k] * d[m]);
                for x in 0..2 {
                    for c in 0..6 {
                        row.law_by_pose[x][1 + k][c] += across * u[1 + m].eps[6 * x + c];
                        row.law_by_start[x][1 + k][c] += across * row.force[x][1 + m][c];
                    }
                }
            }
        }
    }
}

impl PressedRow {
    /// Adds what the poses do to the law through the velocity.
    fn add_velocity(&mut self, u: &[D; 3]) {
        for x in 0..2 {
            for k in 0..3 {
                for c in 0..6 {
                    let change: f64 = (0..3).map(|m| self.by_velocity.0[k][m] * u[m].eps[6 * x + c]).sum();
                    self.law_by_pose[x][k][c] += change;
                }
            }
        }
    }
}

/// Velocity of a contact over an interval when both poses of its links move alike.
fn interval_slip(
    layout: &Layout,
    between: &Between<'_>,
    start: &[LinkPose],
    item: &Item,
    probe: &Probe,
    view: &View,
) -> [D; 3] {
    let h = between.h;
    let Some(end) = View::new(layout, item, between.poses) else { return [D::zero(); 3] };
    let mut slip = Vec3::<D>::zero();
    for x in 0..2 {
        let Some(i) = item.links[x] else { continue };
        let from = vary(layout, i, &start[i], Some(6 * x));
        let to = vary(layout, i, &between.poses[i], Some(6 * x));
        let (mut omega, mut v) = interval_velocity(between.map, &from, &to, h);
        for k in 0..3 {
            (omega[k].re, v[k].re) = (between.w[i][k], between.w[i][3 + k]);
        }
        let (rot, rot_end) = (from.q.to_matrix(), to.q.to_matrix());
        let core = (view.touch.core[x] + end.touch.core[x]).scale(0.5);
        let arm = (view.touch.arm[x] + end.touch.arm[x]).scale(0.5);
        let s = v + (rot_end * core - rot * core).scale(1.0 / h) + (rot * omega).cross(arm);
        slip = if x == 0 { slip + s } else { slip - s };
    }
    let mut gap = end.touch.gap;
    // A floor that rises from where the start is inside moves with it; one that is rounding does not.
    if probe.floor < 0.0 && probe.floor > probe.start.gap {
        gap -= view.touch.gap;
    }
    [gap * (1.0 / h), view.frame[1].dot(slip), view.frame[2].dot(slip)]
}

/// The slopes of an impulse, as part of equations that it is subtracted from.
fn push_impulse(slopes: &mut BlockMap, item: &Item, on: &[[D; 6]; 2]) {
    for x in 0..2 {
        let mut minus = NIL;
        (0..6).for_each(|k| minus[k] = -on[x][k]);
        for y in 0..2 {
            if let (Some(row), Some(column)) = (item.links[x], item.links[y]) {
                slopes.push_lanes(row, column, &minus, 6 * y);
            }
        }
    }
}
