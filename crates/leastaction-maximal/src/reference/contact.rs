//! The slow twin of steps with contact: one dense system, the law by trying every combination of open, stuck and sliding contacts.
//!
//! Of the engine it shares the values of joints and gaps: no elimination, no nonsmooth Newton method, no proximal term. It
//! knows links, joints, gravity and contacts of surfaces; springs, dampers, motors, limits and dry friction of joints it does not.

use super::equations::{D, Equations, seed};
use super::matrix::Matrix;
use crate::contact::{ContactMemory, Item, Kind};
use crate::contact_law::{Link, Touch, frame_of};
use crate::geometry::LinkPose;
use crate::ldu::{Six, angular, linear};
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};
use crate::{Maximal, MaximalState, MaximalWorkspace};

/// A link after a step: orientation and position of its centre of mass, angular velocity in its own axes, velocity.
#[derive(Clone, Copy, Debug)]
pub struct TwinLink {
    /// Orientation.
    pub q: Quat,
    /// Position.
    pub x: Vec3,
    /// Angular velocity at the node.
    pub omega: Vec3,
    /// Velocity at the node.
    pub v: Vec3,
}

/// What a contact does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Open,
    Stuck,
    Sliding,
}

const MODES: [Mode; 3] = [Mode::Open, Mode::Stuck, Mode::Sliding];

/// A contact as a problem has it: rows of forces (link axes, world axes) by link, friction, prescribed slip, added normal velocity.
struct Touching<'a> {
    item: &'a Item,
    start: Touch,
    frame: Mat3,
    force: [[Six; 3]; 2],
    direction: Option<[f64; 2]>,
    shift: f64,
}

/// Velocity of a contact with its slopes by the velocities of its two links.
type Rate = [D; 3];

/// Poses and node velocities after a step with contact; `None` if no combination is a solution.
///
/// # Panics
/// If the workspace was made without contact.
#[must_use]
pub fn contact_step(
    engine: &Maximal,
    workspace: &mut MaximalWorkspace,
    state: &MaximalState,
    u: &[f64],
    h: f64,
) -> Option<Vec<TwinLink>> {
    let mem = workspace.contact.take().expect("a workspace with contact");
    engine.prepare_step(workspace, state, u, h);
    let made = Twin { engine, workspace, mem: &mem, state, h }.step();
    workspace.contact = Some(mem);
    made
}

struct Twin<'a> {
    engine: &'a Maximal,
    workspace: &'a MaximalWorkspace,
    mem: &'a ContactMemory,
    state: &'a MaximalState,
    h: f64,
}

impl Twin<'_> {
    fn step(&self) -> Option<Vec<TwinLink>> {
        let (n, h, layout) = (self.state.poses.len(), self.h, &self.workspace.layout);
        let start = &self.state.poses;
        // Node velocities of the centres: angular in link axes.
        let before: Vec<Six> = (0..n)
            .map(|i| {
                let (ang, lin) = (angular(&self.state.contact.w[i]), linear(&self.state.contact.w[i]));
                let v = lin - ang.cross(self.state.side.arm[i]);
                let own = self.state.side.rot[i].tr_mul(ang);
                [own[0], own[1], own[2], v[0], v[1], v[2]]
            })
            .collect();
        let equations = Equations::new(self.engine, self.workspace, self.state);
        let mut contacts: Vec<Touching<'_>> =
            self.mem.items.iter().filter_map(|item| touching(item, start)).collect();
        for contact in &mut contacts {
            let u = contact.node_rate(&before).map(Real::value);
            let size = (u[1] * u[1] + u[2] * u[2]).sqrt();
            let slides =
                contact.closed(self.mem) && contact.item.mu > 0.0 && size > self.mem.options.slide_speed;
            contact.direction = slides.then(|| [u[1] / size, u[2] / size]);
        }
        let mut w = before.clone();
        for _ in 0..5 {
            let problem = Problem { equations: &equations, contacts: &contacts, interval: Some((start, h)) };
            let (solution, gam, rates) = problem.enumerate(&before)?;
            w = solution;
            let mut freed = false;
            for (k, contact) in contacts.iter_mut().enumerate() {
                let Some(d) = contact.direction else { continue };
                let slip = contact.node_rate(&before).map(Real::value);
                let size = (slip[1] * slip[1] + slip[2] * slip[2]).sqrt();
                if gam[k][0] > 0.0 && rates[k][1] * d[0] + rates[k][2] * d[1] < 0.5 * size {
                    (contact.direction, freed) = (None, true);
                }
            }
            if !freed {
                break;
            }
        }
        // Poses and momenta at the end: arriving ones and half a kick of gravity.
        let poses: Vec<LinkPose> = (0..n)
            .map(|i| {
                let phi = angular(&w[i]) * (0.5 * h);
                LinkPose { q: start[i].q * self.engine.map.relative(phi), x: start[i].x + linear(&w[i]) * h }
            })
            .collect();
        let momenta: Vec<Six> = (0..n)
            .map(|i| {
                let (omega, link) = (angular(&w[i]), &layout.links[i]);
                let (_, arriving) = self.engine.map.momenta(omega * (0.5 * h), link.inertia * omega);
                let p = linear(&w[i]) * link.mass + layout.gravity * (0.5 * h * link.mass);
                [arriving[0], arriving[1], arriving[2], p[0], p[1], p[2]]
            })
            .collect();
        let was_open: Vec<bool> = contacts.iter().map(|c| !c.closed(self.mem)).collect();
        let ends: Vec<Touching<'_>> =
            self.mem.items.iter().filter_map(|item| touching(item, &poses)).collect();
        let equations = Equations::at_node(self.engine, self.workspace, &poses);
        let solve = |momenta: &[Six], contacts: &[Touching<'_>]| {
            let problem = Problem { equations: &equations, contacts, interval: None };
            problem.enumerate_node(momenta, &w)
        };
        let mut lasting = Vec::new();
        let mut closed = Vec::new();
        let mut any_new = false;
        for (mut contact, was_open) in ends.into_iter().zip(was_open) {
            if !contact.closed(self.mem) {
                continue;
            }
            any_new |= was_open;
            if !was_open {
                lasting.push(touching(contact.item, &poses)?);
            } else if contact.item.restitution > 0.0 {
                let approach = contact.node_rate(&before)[0].re;
                if approach < -self.mem.options.rest_speed {
                    contact.shift = contact.item.restitution * approach;
                }
            }
            closed.push(contact);
        }
        let mut node = solve(&momenta, if any_new { &lasting } else { &closed })?;
        if any_new {
            let carried: Vec<Six> = (0..n)
                .map(|i| {
                    let link = &layout.links[i];
                    let (l, p) = (link.inertia * angular(&node[i]), linear(&node[i]) * link.mass);
                    [l[0], l[1], l[2], p[0], p[1], p[2]]
                })
                .collect();
            node = solve(&carried, &closed)?;
        }
        let made =
            |(pose, w): (&LinkPose, &Six)| TwinLink { q: pose.q, x: pose.x, omega: angular(w), v: linear(w) };
        Some(poses.iter().zip(&node).map(made).collect())
    }
}

/// A pose whose variation (own axes) is carried.
fn varied(pose: &LinkPose, lane: usize) -> LinkPose<D> {
    let turn = Vec3(std::array::from_fn(|k| seed(0.0, lane + k)));
    let push = Vec3(std::array::from_fn(|k| seed(0.0, lane + 3 + k)));
    LinkPose {
        q: Quat::constant(pose.q) * Quat { w: D::one(), v: turn.scale(0.5) },
        x: Vec3::constant(pose.x) + push,
    }
}

fn at<T: Real>(pose: Option<LinkPose<T>>) -> Link<T> {
    pose.map_or_else(Link::ground, |p| Link { rot: p.q.to_matrix(), pos: p.x })
}

/// A contact of surfaces at a pose; none for rows of coordinates.
fn touching<'a>(item: &'a Item, poses: &[LinkPose]) -> Option<Touching<'a>> {
    let Kind::Pair { tip, center, against } = &item.kind else { return None };
    let [a, b] = item.links.map(|link| at(link.map(|i| poses[i])));
    let start = Touch::new(tip, *center, against, &a, &b);
    let frame = frame_of(start.normal);
    // Displacements of the material points that touch, along the frame.
    let mut force = [[[0.0; 6]; 3]; 2];
    for (x, link) in item.links.iter().enumerate() {
        let Some(i) = *link else { continue };
        let rot = poses[i].q.to_matrix();
        let point = start.core[x] + rot.tr_mul(start.arm[x]);
        let pose = varied(&poses[i], 0);
        let moved = pose.x + pose.q.to_matrix() * Vec3::constant(point);
        let s = if x == 0 { 1.0 } else { -1.0 };
        for k in 0..3 {
            let along = Vec3::<D>::constant(frame.column(k)).dot(moved);
            force[x][k] = std::array::from_fn(|c| s * along.eps[c]);
        }
    }
    Some(Touching { item, start, frame, force, direction: None, shift: 0.0 })
}

impl Touching<'_> {
    fn closed(&self, mem: &ContactMemory) -> bool {
        self.start.gap <= mem.options.closed_gap
    }

    /// Velocity at a node.
    fn node_rate(&self, w: &[Six]) -> Rate {
        let mut u = [D::zero(); 3];
        for (x, link) in self.item.links.iter().enumerate() {
            let Some(i) = *link else { continue };
            for k in 0..3 {
                for c in 0..6 {
                    u[k] += seed(w[i][c], 6 * x + c) * self.force[x][k][c];
                }
            }
        }
        u[0] += D::from_f64(self.shift);
        u
    }

    /// Velocity over an interval: gap at its end, slip of the mean points.
    fn interval_rate(&self, equations: &Equations<'_>, poses: &[LinkPose], w: &[Six], h: f64) -> Rate {
        let Kind::Pair { tip, center, against } = &self.item.kind else { return [D::zero(); 3] };
        let ends = [0, 1].map(|x| self.item.links[x].map(|i| equations.end(i, &w[i], 6 * x)));
        let end = Touch::<D>::new(tip, *center, against, &at(ends[0]), &at(ends[1]));
        let mut slip = Vec3::<D>::zero();
        for x in 0..2 {
            let (Some(i), Some(to)) = (self.item.links[x], ends[x]) else { continue };
            let (omega, v) = Equations::velocity(&w[i], 6 * x);
            let rot = Mat3::<D>::constant(poses[i].q.to_matrix());
            let core = (Vec3::constant(self.start.core[x]) + end.core[x]).scale(0.5);
            let arm = (Vec3::constant(self.start.arm[x]) + end.arm[x]).scale(0.5);
            let s = v + (to.q.to_matrix() * core - rot * core).scale(1.0 / h) + (rot * omega).cross(arm);
            slip = if x == 0 { slip + s } else { slip - s };
        }
        let tangent = |k: usize| Vec3::<D>::constant(self.frame.column(k)).dot(slip);
        [end.gap * (1.0 / h), tangent(1), tangent(2)]
    }
}

/// Equations with contacts: of an interval from poses over a length, or of a node.
struct Problem<'a> {
    equations: &'a Equations<'a>,
    contacts: &'a [Touching<'a>],
    interval: Option<(&'a [LinkPose], f64)>,
}

type Solution = (Vec<Six>, Vec<[f64; 3]>, Vec<[f64; 3]>);

impl Problem<'_> {
    fn rate(&self, contact: &Touching<'_>, w: &[Six]) -> Rate {
        match self.interval {
            Some((poses, h)) => contact.interval_rate(self.equations, poses, w, h),
            None => contact.node_rate(w),
        }
    }

    /// All combinations until one is a solution.
    fn enumerate(&self, guess: &[Six]) -> Option<Solution> {
        self.try_all(|modes| self.solve(modes, guess, &|w| self.equations.assemble(w)))
    }

    fn enumerate_node(&self, momenta: &[Six], guess: &[Six]) -> Option<Vec<Six>> {
        self.try_all(|modes| self.solve(modes, guess, &|w| self.equations.assemble_node(w, momenta)))
            .map(|s| s.0)
    }

    fn try_all(&self, solve: impl Fn(&[Mode]) -> Option<Solution>) -> Option<Solution> {
        let count = self.contacts.len();
        for number in 0..3usize.pow(count as u32) {
            let modes: Vec<Mode> = (0..count).map(|k| MODES[number / 3usize.pow(k as u32) % 3]).collect();
            // A prescribed slip is never stuck; without friction there is one way to be closed.
            let odd = |(mode, c): (&Mode, &Touching<'_>)| {
                *mode == Mode::Stuck && (c.direction.is_some() || c.item.mu == 0.0)
            };
            if modes.iter().zip(self.contacts).any(odd) {
                continue;
            }
            if let Some(found) = solve(&modes)
                && self.holds(&modes, &found)
            {
                return Some(found);
            }
        }
        None
    }

    /// The inequalities of the law.
    fn holds(&self, modes: &[Mode], (_, gam, rates): &Solution) -> bool {
        let near = 1e-9;
        modes.iter().zip(self.contacts).zip(gam.iter().zip(rates)).all(|((mode, contact), (g, u))| {
            let size = (g[1] * g[1] + g[2] * g[2]).sqrt();
            match mode {
                Mode::Open => u[0] >= -near,
                Mode::Stuck => g[0] >= -near && size <= contact.item.mu * g[0] + near,
                // Friction against the slip is in the equations, with its sign.
                Mode::Sliding => g[0] >= -near,
            }
        })
    }

    /// Newton's method on the equations of one combination.
    fn solve(
        &self,
        modes: &[Mode],
        guess: &[Six],
        assemble: &dyn Fn(&[Six]) -> (super::equations::Blocks, Vec<Vec<f64>>),
    ) -> Option<Solution> {
        let (offsets, size) = self.equations.offsets();
        let (n, count) = (guess.len(), self.contacts.len());
        let whole = size + 3 * count;
        let (mut w, mut gam) = (guess.to_vec(), vec![[0.0; 3]; count]);
        for _ in 0..40 {
            let (blocks, rhs) = assemble(&w);
            let mut matrix = Matrix::zero(whole, whole);
            for ((r, c), block) in &blocks {
                matrix.put(offsets[*r], offsets[*c], block);
            }
            let mut right: Vec<f64> = rhs.iter().flatten().copied().collect();
            for (k, contact) in self.contacts.iter().enumerate() {
                let first = size + 3 * k;
                for (x, link) in contact.item.links.iter().enumerate() {
                    let Some(i) = *link else { continue };
                    for m in 0..3 {
                        (0..6).for_each(|c| *matrix.at_mut(6 * i + c, first + m) = -contact.force[x][m][c]);
                    }
                }
                let u = self.rate(contact, &w);
                let law = law_rows(contact, modes[k], &u, &gam[k]);
                for m in 0..3 {
                    for (x, link) in contact.item.links.iter().enumerate() {
                        let Some(i) = *link else { continue };
                        (0..6).for_each(|c| *matrix.at_mut(first + m, 6 * i + c) = law[m].0.eps[6 * x + c]);
                    }
                    (0..3).for_each(|c| *matrix.at_mut(first + m, first + c) = law[m].1[c]);
                    let known: f64 = (0..3).map(|c| law[m].1[c] * gam[k][c]).sum();
                    right.push(known - law[m].0.re);
                }
            }
            let x = matrix.generalised_inverse(1e-11).times(&right);
            let mut largest = 0.0f64;
            for i in 0..n {
                for c in 0..6 {
                    w[i][c] += x[6 * i + c];
                    largest = largest.max(x[6 * i + c].abs());
                }
            }
            for (k, g) in gam.iter_mut().enumerate() {
                *g = std::array::from_fn(|c| x[size + 3 * k + c]);
            }
            if !largest.is_finite() {
                return None;
            }
            if largest < 1e-13 {
                let rates: Vec<[f64; 3]> =
                    self.contacts.iter().map(|c| self.rate(c, &w).map(Real::value)).collect();
                return self.consistent(modes, &gam, &rates).then_some((w, gam, rates));
            }
        }
        None
    }

    /// The rows hold and not only as well as they can.
    fn consistent(&self, modes: &[Mode], gam: &[[f64; 3]], rates: &[[f64; 3]]) -> bool {
        modes.iter().zip(self.contacts).zip(gam.iter().zip(rates)).all(|((mode, contact), (g, u))| {
            let u = [0, 1, 2].map(|k| D::from_f64(u[k]));
            law_rows(contact, *mode, &u, g).iter().all(|(r, _)| r.re.abs() < 1e-10)
        })
    }
}

/// Rows of a contact in a mode: residual with its slopes by velocities, slopes by the impulse.
fn law_rows(contact: &Touching<'_>, mode: Mode, u: &Rate, g: &[f64; 3]) -> [(D, [f64; 3]); 3] {
    let unit = |k: usize| std::array::from_fn(|c| f64::from(u8::from(c == k)));
    match mode {
        Mode::Open => [0, 1, 2].map(|k| (D::from_f64(g[k]), unit(k))),
        Mode::Stuck => [0, 1, 2].map(|k| (u[k], [0.0; 3])),
        Mode::Sliding => {
            let mu = contact.item.mu;
            let size = (u[1] * u[1] + u[2] * u[2] + D::from_f64(1e-300)).sqrt();
            let along = match contact.direction {
                Some(d) => d.map(D::from_f64),
                None => [u[1] / size, u[2] / size],
            };
            let tangent = |k: usize| {
                let mut slope = unit(k);
                slope[0] = mu * along[k - 1].re;
                (D::from_f64(g[k]) + along[k - 1] * (mu * g[0]), slope)
            };
            [(u[0], [0.0; 3]), tangent(1), tangent(2)]
        }
    }
}
