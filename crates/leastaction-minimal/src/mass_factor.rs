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

use super::lanes::{Lanes, Scaled};
use super::residual::{Residual, turn_about_z};
use super::scheme::Scheme;
use super::segments::{GROUND, Motion, Segment, Segments};
use super::single;
use crate::scalar::{Real, by_entry};
use crate::spatial::{ArticulatedInertia, Inertia, Mat3, Pose, Sym3, Twist, Vec3, Wrench};
use leastaction_core::dynamics::Bulk;
use leastaction_core::simd::{Exact, LANES, Simd};

/// A factored mass matrix, or one for each state in the lanes of `F`.
#[derive(Clone, Debug)]
pub(crate) struct MassFactor<F = f64> {
    poses: Vec<Pose<F>>,
    columns: Vec<Twist<F>>,
    /// Where the segments with an origin of their own have it, seen from the one before.
    arms: Vec<Vec3<F>>,
    articulated: Vec<ArticulatedInertia<F>>,
    bulk: Vec<Bulk<F>>,
    /// `U` per coordinate.
    spread: Vec<Wrench<F>>,
    /// `U D⁻¹` per coordinate.
    spread_scaled: Vec<Wrench<F>>,
    /// `D⁻¹` of turns and slides.
    pivots: Vec<F>,
    /// `D⁻¹` of balls, and the determinants of `D`.
    ball_pivots: Vec<Mat3<F>>,
    determinants: Vec<F>,
    /// Turns and slides that are held: they pass their inertia on, and their part of a solution is zero.
    pub(crate) locked: Vec<bool>,
}

/// What coordinates add to a solve. A trait, as closures are not compiled for the vectors of the function they are handed to.
pub(crate) trait Own<T> {
    fn bias(&self, c: usize, to: &mut Wrench<T>);
    fn drift(&self, c: usize, to: &mut Twist<T>);
}

/// Nothing.
impl<T> Own<T> for () {
    #[inline(always)]
    fn bias(&self, _: usize, _: &mut Wrench<T>) {}
    #[inline(always)]
    fn drift(&self, _: usize, _: &mut Twist<T>) {}
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

impl<F: Real> MassFactor<F> {
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
            pivots: vec![F::zero(); n],
            ball_pivots: vec![Mat3::identity(); segments.balls],
            determinants: vec![F::zero(); segments.balls],
            locked: vec![false; n],
        }
    }

    /// Factors what was placed. Does not allocate.
    ///
    /// # Errors
    /// The segment whose pivot is not positive; of several states none is looked at, see [`sound`](Self::sound).
    #[inline(always)]
    pub(crate) fn eliminate(&mut self, segments: &Segments) -> Result<(), usize> {
        for i in 0..self.bulk.len() {
            self.bulk[i] = Bulk::of(&self.articulated[i]);
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
                let (inverse, determinant) = (d.inverse(), d.determinant());
                if !F::STATES && !is_sound(determinant.value(), &inverse.value()) {
                    return Err(i);
                }
                self.determinants[segment.ball] = determinant;
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
                self.pivots[c] = F::zero();
                if parent != GROUND {
                    let whole = self.articulated[i];
                    self.pass(segment, i, &whole);
                }
            } else {
                let u = self.articulated[i].mul(self.columns[c]);
                let d = self.columns[c].dot(u) + F::from_f64(segments.laws[c].armature);
                let d = self.bulk[i].pivot(d, self.columns[c]);
                let inverse = F::one() / d;
                if !(F::STATES || d.value() > 0.0 && inverse.value().is_finite()) {
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
    fn pass(&mut self, segment: &Segment, i: usize, reduced: &ArticulatedInertia<F>) {
        let part = self.bulk[i];
        let (parent, bulk) = (&mut self.articulated[segment.parent], &mut self.bulk[segment.parent]);
        match segment.origin.filter(|_| !F::STATES) {
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

    /// Poses, columns and rigid inertias in the middle of the step that was evaluated, or midway between the two points
    /// next to it: turned by `ω h/2` to either side, their mean is off by `(ω h)²/8`, less than what the iteration leaves out.
    #[inline(always)]
    pub(crate) fn place_between<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<F, N>,
    ) {
        let (j, k) = ((scheme.points - 1) / 2, scheme.points / 2);
        for c in 0..self.columns.len() {
            let from = &residual.columns[c];
            self.columns[c] = Twist::new(mean_of(&from.ang, j, k), mean_of(&from.lin, j, k));
        }
        for i in 0..self.arms.len() {
            self.arms[i] = mean_of(&residual.arms[i], j, k);
        }
        for (i, segment) in segments.list.iter().enumerate() {
            let from = &residual.poses[i];
            let [x, y, z] = from.rot.0;
            let rot = Mat3([mean_of(&Vec3(x), j, k).0, mean_of(&Vec3(y), j, k).0, mean_of(&Vec3(z), j, k).0]);
            self.poses[i] = Pose::new(rot, mean_of(&from.pos, j, k));
            self.put_inertia(i, segment);
        }
    }

    /// Poses, columns and rigid inertias at the end of the step that was evaluated: those of [`place`](Self::place) there, to the last bit,
    /// in mechanisms of turns and slides whose residual is taken at the nodes.
    #[inline(always)]
    pub(crate) fn place_end<const N: usize>(&mut self, segments: &Segments, residual: &Residual<F, N>) {
        let last = |x: &Vec3<Lanes<F, N>>| Vec3(by_entry(|k| x.0[k].0[N - 1]));
        for (column, from) in self.columns.iter_mut().zip(&residual.columns) {
            *column = Twist::new(last(&from.ang), last(&from.lin));
        }
        for (arm, from) in self.arms.iter_mut().zip(&residual.arms) {
            *arm = last(from);
        }
        for (i, segment) in segments.list.iter().enumerate() {
            let from = &residual.poses[i];
            let [x, y, z] = from.rot.0;
            let rot = Mat3([last(&Vec3(x)).0, last(&Vec3(y)).0, last(&Vec3(z)).0]);
            self.poses[i] = Pose::new(rot, last(&from.pos));
            self.put_inertia(i, segment);
        }
    }

    /// Rigid inertia of a segment that was placed.
    #[inline(always)]
    fn put_inertia(&mut self, i: usize, segment: &Segment) {
        self.articulated[i] = if segment.massless {
            ArticulatedInertia { a: Sym3::zero(), b: Mat3::zero(), c: Sym3::zero() }
        } else {
            let pose = &self.poses[i];
            let com = pose.point(Vec3::constant(segment.com));
            let about = Sym3::constant(segment.about_com).rotated(&pose.rot);
            ArticulatedInertia::from_rigid(&Inertia::from_com(F::from_f64(segment.mass), com, &about))
        };
    }

    /// Poses, columns and rigid inertias at coordinates and rotations of balls.
    #[inline(always)]
    pub(crate) fn place(&mut self, segments: &Segments, base: &[F], anchors: &[Mat3<F>]) {
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let mut before = if segment.parent == GROUND {
                Pose::new(Mat3::constant(segment.placement.rot), Vec3::zero())
            } else {
                self.poses[segment.parent] * Pose::constant(&segment.placement)
            };
            if let Some(origin) = segment.origin.filter(|_| !F::STATES) {
                self.arms[origin] = std::mem::replace(&mut before.pos, Vec3::zero());
            }
            let axis = before.rot.column(2);
            let pose = match segment.motion {
                Motion::Turn => {
                    self.columns[c] = Twist::new(axis, before.pos.cross(axis));
                    turn_about_z(&before, base[c])
                }
                Motion::Slide => {
                    self.columns[c] = Twist::new(Vec3::zero(), axis);
                    let x = if segment.droppable { F::zero() } else { base[c] };
                    Pose::new(before.rot, before.pos + axis * x)
                }
                Motion::Ball => {
                    let frame = before.rot * anchors[segment.ball];
                    for a in 0..3 {
                        let axis = frame.column(a);
                        self.columns[c + a] = Twist::new(axis, before.pos.cross(axis));
                    }
                    Pose::new(frame, before.pos)
                }
            };
            self.poses[i] = pose;
            self.put_inertia(i, segment);
        }
    }

    /// `x = M⁻¹ r` (2.27), in place. Does not allocate.
    #[inline(always)]
    pub(crate) fn solve_inlined<T: Scaled<F>>(
        &self,
        segments: &Segments,
        memory: &mut MassMemory<T>,
        r: &mut [T],
    ) {
        self.solve_with(segments, memory, r, &());
    }

    /// As [`solve`](Self::solve), where every coordinate adds a bias and a velocity of its own (2.29).
    #[inline(always)]
    pub(crate) fn solve_with<T: Scaled<F>>(
        &self,
        segments: &Segments,
        memory: &mut MassMemory<T>,
        r: &mut [T],
        own: &impl Own<T>,
    ) {
        for bias in &mut memory.bias {
            *bias = Wrench::zero();
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let c = segment.coordinate;
            let mut bias = memory.bias[i];
            if segment.motion == Motion::Ball {
                for a in 0..3 {
                    r[c + a] -= pair(&self.columns[c + a], &memory.bias[i]);
                }
                for a in 0..3 {
                    bias += spread(&self.spread_scaled[c + a], r[c + a]);
                    own.bias(c + a, &mut bias);
                }
            } else {
                r[c] -= pair(&self.columns[c], &bias);
                bias += spread(&self.spread_scaled[c], r[c]);
                own.bias(c, &mut bias);
            }
            if segment.parent != GROUND {
                if let Some(origin) = segment.origin.filter(|_| !F::STATES) {
                    bias.ang += cross(self.arms[origin], bias.lin);
                }
                memory.bias[segment.parent] += bias;
            }
        }
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let mut v =
                if segment.parent == GROUND { Twist::zero() } else { memory.velocity[segment.parent] };
            if let Some(origin) = segment.origin.filter(|_| !F::STATES) {
                v.lin -= cross(self.arms[origin], v.ang);
            }
            if segment.motion == Motion::Ball {
                let inverse = &self.ball_pivots[segment.ball].0;
                let mut rest = [T::zero(); 3];
                for a in 0..3 {
                    rest[a] = r[c + a] - pair_twist(&self.spread[c + a], &v);
                }
                for a in 0..3 {
                    r[c + a] = rest[0].times(inverse[a][0])
                        + rest[1].times(inverse[a][1])
                        + rest[2].times(inverse[a][2]);
                }
                for a in 0..3 {
                    v += move_along(&self.columns[c + a], r[c + a]);
                    own.drift(c + a, &mut v);
                }
            } else {
                r[c] = r[c].times(self.pivots[c]) - pair_twist(&self.spread_scaled[c], &v);
                v += move_along(&self.columns[c], r[c]);
                own.drift(c, &mut v);
            }
            memory.velocity[i] = v;
        }
    }
}

impl MassFactor {
    /// Factors at coordinates and rotations of balls. Does not allocate.
    ///
    /// # Errors
    /// The segment whose pivot is not positive.
    pub(crate) fn factor(
        &mut self,
        segments: &Segments,
        base: &[f64],
        anchors: &[Mat3],
    ) -> Result<(), usize> {
        self.place(segments, base, anchors);
        single::eliminate(self, segments)
    }

    /// `p = M v` at the configuration last placed, by composite momenta; `v` and `p` by coordinate.
    #[inline(always)]
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

    /// `p = M v` of the coordinates that are held, from the solve that gave `v`: what passes through their joints is
    /// `Ĝ V + β`.
    pub(crate) fn held_momentum(&self, segments: &Segments, memory: &MassMemory<f64>, p: &mut [f64]) {
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            if self.locked[c] {
                p[c] = self.columns[c].dot(self.articulated[i].mul(memory.velocity[i]) + memory.bias[i]);
            }
        }
    }

    /// Pose of a segment, axes of the coordinates, origins: where it was placed.
    pub(crate) fn pose(&self, i: usize) -> &Pose {
        &self.poses[i]
    }
    pub(crate) fn axis(&self, c: usize) -> &Twist {
        &self.columns[c]
    }
    pub(crate) fn arms(&self) -> &[Vec3] {
        &self.arms
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
        self.solve_inlined(segments, memory, r);
    }
}

/// Mean of the lanes `j` and `k`.
#[inline(always)]
fn mean_of<T: Real, const N: usize>(x: &Vec3<Lanes<T, N>>, j: usize, k: usize) -> Vec3<T> {
    Vec3(by_entry(|i| (x.0[i].0[j] + x.0[i].0[k]) * 0.5))
}

/// `a × x` with a constant `a`.
#[inline(always)]
pub(super) fn cross<F: Real, T: Scaled<F>>(a: Vec3<F>, x: Vec3<T>) -> Vec3<T> {
    let [x, y, z] = x.0;
    Vec3([z.times(a[1]) - y.times(a[2]), x.times(a[2]) - z.times(a[0]), y.times(a[0]) - x.times(a[1])])
}

/// `a · b` of six numbers each.
#[inline(always)]
fn product<F: Real, T: Scaled<F>>(a: [F; 6], b: [T; 6]) -> T {
    (b[0].times(a[0]) + b[1].times(a[1]) + b[2].times(a[2]))
        + (b[3].times(a[3]) + b[4].times(a[4]) + b[5].times(a[5]))
}
#[inline(always)]
fn pair<F: Real, T: Scaled<F>>(a: &Twist<F>, f: &Wrench<T>) -> T {
    product(a.to_array(), f.to_array())
}
#[inline(always)]
fn pair_twist<F: Real, T: Scaled<F>>(f: &Wrench<F>, v: &Twist<T>) -> T {
    product(f.to_array(), v.to_array())
}
/// `x` times each of six numbers.
#[inline(always)]
fn multiples<F: Real, T: Scaled<F>>(f: [F; 6], x: T) -> [T; 6] {
    let mut out = [x; 6];
    for i in 0..6 {
        out[i] = x.times(f[i]);
    }
    out
}
#[inline(always)]
fn spread<F: Real, T: Scaled<F>>(f: &Wrench<F>, x: T) -> Wrench<T> {
    Wrench::from_array(multiples(f.to_array(), x))
}
#[inline(always)]
fn move_along<F: Real, T: Scaled<F>>(s: &Twist<F>, x: T) -> Twist<T> {
    Twist::from_array(multiples(s.to_array(), x))
}

/// True if a ball's pivot with this determinant and inverse is positive.
fn is_sound(determinant: f64, inverse: &Mat3) -> bool {
    determinant > 0.0 && inverse.0.iter().flatten().all(|x| x.is_finite())
}

impl<V: Simd> MassFactor<Exact<V>> {
    /// In which lanes the last factorisation had positive pivots.
    pub(crate) fn sound(&self, segments: &Segments) -> [bool; LANES] {
        let mut sound = [true; LANES];
        for segment in &segments.list {
            let c = segment.coordinate;
            for (lane, sound) in sound.iter_mut().enumerate() {
                *sound &= if segment.motion == Motion::Ball {
                    let inverse = &self.ball_pivots[segment.ball].0;
                    let inverse = Mat3(by_entry(|i| by_entry(|j| inverse[i][j].lanes()[lane])));
                    is_sound(self.determinants[segment.ball].lanes()[lane], &inverse)
                } else {
                    let inverse = self.pivots[c].lanes()[lane];
                    inverse > 0.0 && inverse.is_finite()
                };
            }
        }
        sound
    }
}

/// Row 0 of a ball is the sum of all chart rows but the last, to leading order: what the mass matrix is solved with has them
/// taken out. Lanes beyond the unknowns are zero.
#[inline(always)]
pub(crate) fn balance_balls<T: Real, const S: usize>(segments: &Segments, rows: &mut [Lanes<T, S>]) {
    for segment in &segments.list {
        if segment.motion == Motion::Ball {
            for c in segment.coordinate..segment.coordinate + 3 {
                for al in 1..S {
                    let row = rows[c].0[al];
                    rows[c].0[0] -= row;
                }
            }
        }
    }
}

/// `−h C⁻¹ x` of one coordinate (2.30), with the unknown nodes in lanes 1 to s; `worst` becomes the largest entry.
#[inline(always)]
pub(crate) fn mass_increment<T: Real, const N: usize, const S: usize>(
    scheme: &Scheme<N>,
    h: f64,
    x: Lanes<T, S>,
    worst: &mut T,
) -> Lanes<T, N> {
    let mut delta = Lanes::<T, N>::default();
    for ga in 1..=scheme.s.min(N - 1) {
        let mut sum = T::zero();
        for al in 0..S.min(N) {
            sum += x.0[al] * scheme.c_inverse[ga][al];
        }
        delta.0[ga] = sum * -h;
        *worst = worst.maximum(delta.0[ga].abs());
    }
    delta
}
