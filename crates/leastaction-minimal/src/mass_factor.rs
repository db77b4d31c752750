//! The mass matrix of one configuration, factored in O(n): Legendre transform and the quasi-Newton direction.
//!
//! ```text
//! inward    Ĝ_i = G_i + Σ_child (Ĝ − U D⁻¹ Uᵀ),   U = Ĝ S,   D = Sᵀ U + armature
//!           e = r − Sᵀβ,   β_p += β + U D⁻¹ e
//! outward   q̇ = D⁻¹ (e − Uᵀ V_p),   V = V_p + S q̇                                                  (2.27)
//! ```
//!
//! Replacing the Newton matrix by `C ⊗ M(q_mid)`, `C^{αγ} = (1/h) Σ_β w^β b^{βα} b^{βγ}` (2.30), needs one factorisation
//! per step and, per iteration, one such solve for all nodes side by side.

use super::ball::chart;
use super::segments::{GROUND, Motion, Segment, Segments};
use crate::scalar::{Real, by_entry};
use crate::spatial::{ArticulatedInertia, Inertia, Mat3, Pose, Twist, Vec3, Wrench};
use leastaction_core::dynamics::Bulk;
use leastaction_core::scalar::elementary;

/// A factored mass matrix.
#[derive(Clone, Debug)]
pub(crate) struct MassFactor {
    poses: Vec<Pose>,
    columns: Vec<Twist>,
    /// Where the segments with an origin of their own have it, seen from the one before.
    arms: Vec<Vec3>,
    articulated: Vec<ArticulatedInertia>,
    bulk: Vec<Bulk>,
    /// `U` per coordinate.
    spread: Vec<Wrench>,
    /// `U D⁻¹` per coordinate.
    spread_scaled: Vec<Wrench>,
    /// `D⁻¹` of turns and slides.
    pivots: Vec<f64>,
    /// `D⁻¹` of balls.
    ball_pivots: Vec<Mat3>,
    /// Turns and slides that are held: they pass their inertia on, and their part of a solution is zero.
    pub(crate) locked: Vec<bool>,
}

/// Memory for right-hand sides of one scalar type.
#[derive(Clone, Debug)]
pub(crate) struct MassMemory<T> {
    bias: Vec<Wrench<T>>,
    velocity: Vec<Twist<T>>,
}

impl<T: Real> MassMemory<T> {
    pub(crate) fn new(segments: &Segments) -> Self {
        let m = segments.list.len();
        Self { bias: vec![Wrench::zero(); m], velocity: vec![Twist::zero(); m] }
    }
    pub(crate) fn parts(&mut self) -> (&mut [Wrench<T>], &mut [Twist<T>]) {
        (&mut self.bias, &mut self.velocity)
    }
}

impl MassFactor {
    pub(crate) fn new(segments: &Segments) -> Self {
        let (m, n) = (segments.list.len(), segments.n);
        Self {
            poses: vec![Pose::identity(); m],
            columns: vec![Twist::zero(); n],
            arms: vec![Vec3::zero(); segments.origins],
            articulated: vec![ArticulatedInertia::default(); m],
            bulk: vec![Bulk::default(); m],
            spread: vec![Wrench::zero(); n],
            spread_scaled: vec![Wrench::zero(); n],
            pivots: vec![0.0; n],
            ball_pivots: vec![Mat3::identity(); segments.balls],
            locked: vec![false; n],
        }
    }

    /// Factors at the increments `delta(c)` from `base` and `anchors`. Does not allocate.
    ///
    /// # Errors
    /// The segment whose pivot is not positive.
    pub(crate) fn factor(
        &mut self,
        segments: &Segments,
        base: &[f64],
        anchors: &[Mat3],
        delta: impl Fn(usize) -> f64,
    ) -> Result<(), usize> {
        self.place(segments, base, anchors, delta);
        for (bulk, rigid) in self.bulk.iter_mut().zip(&self.articulated) {
            *bulk = Bulk::of(rigid);
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let c = segment.coordinate;
            let parent = segment.parent;
            if segment.motion == Motion::Ball {
                let mut d = Mat3::zero();
                for a in 0..3 {
                    self.spread[c + a] = self.articulated[i].mul(self.columns[c + a]);
                    for b in 0..3 {
                        d.0[b][a] = self.columns[c + b].dot(self.spread[c + a]);
                    }
                }
                let inverse = d.inverse();
                if !(d.determinant() > 0.0 && inverse.0.iter().flatten().all(|x| x.is_finite())) {
                    return Err(i);
                }
                self.ball_pivots[segment.ball] = inverse;
                for a in 0..3 {
                    let mut w = Wrench::zero();
                    for b in 0..3 {
                        w += self.spread[c + b] * inverse.0[b][a];
                    }
                    self.spread_scaled[c + a] = w;
                }
                if parent != GROUND {
                    let mut reduced = self.articulated[i];
                    for a in 0..3 {
                        reduced = reduced.minus_outer(self.spread[c + a], self.spread_scaled[c + a]);
                    }
                    self.pass(segment, i, &reduced);
                }
            } else if self.locked[c] {
                self.spread[c] = Wrench::zero();
                self.spread_scaled[c] = Wrench::zero();
                self.pivots[c] = 0.0;
                if parent != GROUND {
                    let whole = self.articulated[i];
                    self.pass(segment, i, &whole);
                }
            } else {
                let u = self.articulated[i].mul(self.columns[c]);
                let d = self.columns[c].dot(u) + segments.laws[c].armature;
                let d = self.bulk[i].pivot(d, self.columns[c]);
                let inverse = 1.0 / d;
                if !(d > 0.0 && inverse.is_finite()) {
                    return Err(i);
                }
                self.spread[c] = u;
                self.spread_scaled[c] = u * inverse;
                self.pivots[c] = inverse;
                if parent != GROUND {
                    let reduced = self.articulated[i].minus_outer(u, u * inverse);
                    self.pass(segment, i, &reduced);
                }
            }
        }
        Ok(())
    }

    /// Adds to the parent what a subtree is to it.
    #[inline(always)]
    fn pass(&mut self, segment: &Segment, i: usize, reduced: &ArticulatedInertia) {
        let part = self.bulk[i];
        let (parent, bulk) = (&mut self.articulated[segment.parent], &mut self.bulk[segment.parent]);
        match segment.origin {
            None => {
                parent.add(reduced);
                bulk.add(&part);
            }
            Some(origin) => {
                parent.add(&reduced.about(self.arms[origin]));
                bulk.add_at(&part, self.arms[origin]);
            }
        }
    }

    /// Poses, columns and rigid inertias.
    fn place(&mut self, segments: &Segments, base: &[f64], anchors: &[Mat3], delta: impl Fn(usize) -> f64) {
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let mut before = if segment.parent == GROUND {
                Pose::new(segment.placement.rot, Vec3::zero())
            } else {
                self.poses[segment.parent] * segment.placement
            };
            if let Some(origin) = segment.origin {
                self.arms[origin] = std::mem::replace(&mut before.pos, Vec3::zero());
            }
            let axis = before.rot.column(2);
            let pose = match segment.motion {
                Motion::Turn => {
                    self.columns[c] = Twist::new(axis, before.pos.cross(axis));
                    let (s, co) = elementary::sin_cos(base[c] + delta(c));
                    let row = |r: [f64; 3]| [r[0] * co + r[1] * s, r[1] * co - r[0] * s, r[2]];
                    Pose::new(Mat3(by_entry(|i| row(before.rot.0[i]))), before.pos)
                }
                Motion::Slide => {
                    self.columns[c] = Twist::new(Vec3::zero(), axis);
                    let x = if segment.droppable { delta(c) } else { base[c] + delta(c) };
                    Pose::new(before.rot, before.pos + axis * x)
                }
                Motion::Ball => {
                    let frame = before.rot * anchors[segment.ball];
                    let (b, phi, _) = chart([delta(c), delta(c + 1), delta(c + 2)]);
                    for a in 0..3 {
                        let axis = frame * b.column(a);
                        self.columns[c + a] = Twist::new(axis, before.pos.cross(axis));
                    }
                    Pose::new(frame * phi, before.pos)
                }
            };
            self.poses[i] = pose;
            self.articulated[i] = if segment.massless {
                ArticulatedInertia::default()
            } else {
                let com = pose.point(segment.com);
                let about = segment.about_com.rotated(&pose.rot);
                ArticulatedInertia::from_rigid(&Inertia::from_com(segment.mass, com, &about))
            };
        }
    }

    /// `p = M v` at the configuration last placed, by composite momenta; `v` and `p` by coordinate.
    pub(crate) fn momentum(
        &mut self,
        segments: &Segments,
        v: &[f64],
        memory: &mut MassMemory<f64>,
        p: &mut [f64],
    ) {
        // M v needs the rigid inertias, which `factor` has overwritten: callers place first.
        for (i, segment) in segments.list.iter().enumerate() {
            let mut twist =
                if segment.parent == GROUND { Twist::zero() } else { memory.velocity[segment.parent] };
            if let Some(origin) = segment.origin {
                twist.lin += twist.ang.cross(self.arms[origin]);
            }
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                twist += self.columns[c] * v[c];
            }
            memory.velocity[i] = twist;
            memory.bias[i] = self.articulated[i].mul(twist);
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                p[c] = self.columns[c].dot(memory.bias[i]) + segments.laws[c].armature * v[c];
            }
            if segment.parent != GROUND {
                let mut mu = memory.bias[i];
                if let Some(origin) = segment.origin {
                    mu.ang += self.arms[origin].cross(mu.lin);
                }
                memory.bias[segment.parent] += mu;
            }
        }
    }

    /// Places without factoring, for [`momentum`](Self::momentum).
    pub(crate) fn place_only(&mut self, segments: &Segments, base: &[f64], anchors: &[Mat3]) {
        self.place(segments, base, anchors, |_| 0.0);
    }

    /// Articulated inertia of a segment at the last factorisation.
    pub(crate) fn articulated(&self, segment: usize) -> &ArticulatedInertia {
        &self.articulated[segment]
    }

    /// Rotation of a segment where the matrix was last factored.
    pub(crate) fn rotation(&self, segment: usize) -> Mat3 {
        self.poses[segment].rot
    }

    /// Axis of a coordinate there.
    pub(crate) fn column(&self, c: usize) -> Twist {
        self.columns[c]
    }

    /// `U` of a coordinate.
    pub(crate) fn spread_of(&self, c: usize) -> Wrench {
        self.spread[c]
    }

    /// `x = M⁻¹ r` (2.27), in place. Does not allocate.
    pub(crate) fn solve<T: Real>(&self, segments: &Segments, memory: &mut MassMemory<T>, r: &mut [T]) {
        self.solve_with(segments, memory, r, |_, _| {}, |_, _| {});
    }

    /// As [`solve`](Self::solve), where every coordinate adds a bias and a velocity of its own (2.29).
    #[inline(always)]
    pub(crate) fn solve_with<T: Real>(
        &self,
        segments: &Segments,
        memory: &mut MassMemory<T>,
        r: &mut [T],
        add_bias: impl Fn(usize, &mut Wrench<T>),
        add_drift: impl Fn(usize, &mut Twist<T>),
    ) {
        memory.bias.fill(Wrench::zero());
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let c = segment.coordinate;
            let mut bias = memory.bias[i];
            if segment.motion == Motion::Ball {
                for a in 0..3 {
                    r[c + a] -= pair(&self.columns[c + a], &memory.bias[i]);
                }
                for a in 0..3 {
                    bias += spread(&self.spread_scaled[c + a], r[c + a]);
                    add_bias(c + a, &mut bias);
                }
            } else {
                r[c] -= pair(&self.columns[c], &bias);
                bias += spread(&self.spread_scaled[c], r[c]);
                add_bias(c, &mut bias);
            }
            if segment.parent != GROUND {
                if let Some(origin) = segment.origin {
                    bias.ang += cross(self.arms[origin], bias.lin);
                }
                memory.bias[segment.parent] += bias;
            }
        }
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let mut v =
                if segment.parent == GROUND { Twist::zero() } else { memory.velocity[segment.parent] };
            if let Some(origin) = segment.origin {
                v.lin -= cross(self.arms[origin], v.ang);
            }
            if segment.motion == Motion::Ball {
                let inverse = &self.ball_pivots[segment.ball].0;
                let rest: [T; 3] = by_entry(|a| r[c + a] - pair_twist(&self.spread[c + a], &v));
                for a in 0..3 {
                    r[c + a] = rest[0] * inverse[a][0] + rest[1] * inverse[a][1] + rest[2] * inverse[a][2];
                }
                for a in 0..3 {
                    v += move_along(&self.columns[c + a], r[c + a]);
                    add_drift(c + a, &mut v);
                }
            } else {
                r[c] = r[c] * self.pivots[c] - pair_twist(&self.spread_scaled[c], &v);
                v += move_along(&self.columns[c], r[c]);
                add_drift(c, &mut v);
            }
            memory.velocity[i] = v;
        }
    }
}

/// `a × x` with a constant `a`.
#[inline(always)]
pub(super) fn cross<T: Real>(a: Vec3, x: Vec3<T>) -> Vec3<T> {
    let [x, y, z] = x.0;
    Vec3([z * a[1] - y * a[2], x * a[2] - z * a[0], y * a[0] - x * a[1]])
}

#[inline(always)]
fn pair<T: Real>(a: &Twist, f: &Wrench<T>) -> T {
    let (a, b) = (a.to_array(), f.to_array());
    (b[0] * a[0] + b[1] * a[1] + b[2] * a[2]) + (b[3] * a[3] + b[4] * a[4] + b[5] * a[5])
}
#[inline(always)]
fn pair_twist<T: Real>(f: &Wrench, v: &Twist<T>) -> T {
    let (a, b) = (f.to_array(), v.to_array());
    (b[0] * a[0] + b[1] * a[1] + b[2] * a[2]) + (b[3] * a[3] + b[4] * a[4] + b[5] * a[5])
}
#[inline(always)]
fn spread<T: Real>(f: &Wrench, x: T) -> Wrench<T> {
    let f = f.to_array();
    Wrench::from_array(by_entry(|i| x * f[i]))
}
#[inline(always)]
fn move_along<T: Real>(s: &Twist, x: T) -> Twist<T> {
    let s = s.to_array();
    Twist::from_array(by_entry(|i| x * s[i]))
}
