//! The discrete Euler–Lagrange residual in O(s n), over all nodes at once.
//!
//! Outward, per segment i with parent p (all points in lanes, world axes, origin at the root):
//!
//! ```text
//! S = Ad_g E,   Ṡ = ad_{V_p} S,   V = V_p + S q̇,   μ_i = G_i V_i                                  (2.9)
//! ```
//!
//! Inward, with composite momentum `μ_i += Σ μ_child` and impulse `Γ_i = w h F_i + Σ Γ_child`:
//!
//! ```text
//! P^α = Σ_g ℓ_α(ĉ_g) [w h (Ṡᵀμ_i + Q) + SᵀΓ_i]^g + Σ_g a^{αg} (Sᵀμ_i + armature q̇)^g               (2.10)
//! r^0 = p + P^0,   r^α = P^α,   p⁺ = P^s                                                            (2.5)
//! ```
//!
//! Balls replace row 0 by the balance of anchor-frame momentum over the step (2.20). One instance is the memory of the
//! residual and of everything that is linearised at the same point.

use super::ball::BallNode;
use super::lanes::Lanes;
use super::scheme::Scheme;
use super::segments::{GROUND, Motion, Segment, Segments};
use super::servo::ServoForces;
use super::wrench::{BodyForces, Impulses, WrenchDerivatives};
use crate::mechanism::cut;
use crate::scalar::Real;
use crate::spatial::{Mat3, Momentum, Pose, Twist, Vec3, Wrench};

/// Where the residual is taken.
#[derive(Clone, Debug)]
pub(crate) struct Point<T, const N: usize> {
    /// Coordinates at node 0; unused for balls.
    pub(crate) base: Vec<T>,
    /// Rotation of each ball at node 0.
    pub(crate) anchors: Vec<Mat3<T>>,
    /// Increments from node 0 per coordinate; lane 0 is zero. Balls: chart coordinates ξ.
    pub(crate) delta: Vec<Lanes<T, N>>,
    /// Momentum at the start of the step.
    pub(crate) p: Vec<T>,
    /// Inputs per node.
    pub(crate) u: Vec<Lanes<T, N>>,
    /// If true the origin is put at the root joint of every tree, as accuracy demands; false keeps the world's.
    pub(crate) recentred: bool,
}

impl<T: Real, const N: usize> Point<T, N> {
    pub(crate) fn new(segments: &Segments) -> Self {
        Self {
            base: vec![T::zero(); segments.n],
            anchors: vec![Mat3::identity(); segments.balls],
            delta: vec![Lanes::default(); segments.n],
            p: vec![T::zero(); segments.n],
            u: vec![Lanes::default(); segments.nu],
            recentred: true,
        }
    }
}

/// Memory of the residual: what it computed on the way is what the linearisations need.
#[derive(Clone, Debug)]
pub(crate) struct Residual<T, const N: usize> {
    pub(crate) h: f64,
    /// `w^α h`.
    pub(crate) weights: [f64; N],
    /// `b^{αγ}/h`, by `[γ][α]`.
    pub(crate) rate_columns: [[f64; N]; N],
    // Position: per segment, per coordinate.
    pub(crate) poses: Vec<Pose<Lanes<T, N>>>,
    pub(crate) columns: Vec<Twist<Lanes<T, N>>>,
    // Velocity: per coordinate, per segment.
    pub(crate) rates: Vec<Lanes<T, N>>,
    pub(crate) column_rates: Vec<Twist<Lanes<T, N>>>,
    pub(crate) velocities: Vec<Twist<Lanes<T, N>>>,
    /// Composite momentum μ.
    pub(crate) momenta: Vec<Momentum<Lanes<T, N>>>,
    /// Composite first moment `Σ m p`.
    pub(crate) moments: Vec<Vec3<Lanes<T, N>>>,
    /// Composite mass.
    pub(crate) masses: Vec<f64>,
    /// Where the segments with an origin of their own have it, seen from the one before.
    pub(crate) arms: Vec<Vec3<Lanes<T, N>>>,
    /// Impulse of body wrenches other than gravity, then composite Γ with gravity.
    pub(crate) impulses: Vec<Wrench<Lanes<T, N>>>,
    pub(crate) balls: Vec<BallNode<T, N>>,
    /// Force of actuators per coordinate, within the effort limits, and of sliding friction.
    pub(crate) efforts: Vec<Lanes<T, N>>,
    /// What servos do, if there are any.
    pub(crate) servos: ServoForces<T, N>,
    /// Force of tendons per coordinate; empty where there are none.
    pub(crate) pulls: Vec<Lanes<T, N>>,
    /// Friction of sliding joints per coordinate; empty where no joint rubs.
    pub(crate) resistance: Vec<f64>,
    /// Result: lane α < s is `r^α`, lane s is the momentum after the step.
    pub(crate) rows: Vec<Lanes<T, N>>,
    /// The momentum after the step once more, by the impulses over it (2.6).
    pub(crate) carried: Vec<T>,
}

impl<T: Real, const N: usize> Residual<T, N> {
    pub(crate) fn new(segments: &Segments) -> Self {
        let (m, n) = (segments.list.len(), segments.n);
        let mut masses: Vec<f64> = segments.list.iter().map(|s| s.mass).collect();
        for i in (0..m).rev() {
            let p = segments.list[i].parent;
            if p != GROUND {
                masses[p] += masses[i];
            }
        }
        Self {
            h: 0.0,
            weights: [0.0; N],
            rate_columns: [[0.0; N]; N],
            poses: vec![Pose::identity(); m],
            columns: vec![Twist::zero(); n],
            rates: vec![Lanes::default(); n],
            column_rates: vec![Twist::zero(); n],
            velocities: vec![Twist::zero(); m],
            momenta: vec![Momentum::zero(); m],
            moments: vec![Vec3::zero(); m],
            masses,
            arms: vec![Vec3::zero(); segments.origins],
            impulses: vec![Wrench::zero(); m],
            balls: vec![BallNode::default(); segments.balls],
            efforts: vec![Lanes::default(); n],
            servos: ServoForces::new(segments),
            pulls: if segments.tendons.is_empty() { Vec::new() } else { vec![Lanes::default(); n] },
            resistance: Vec::new(),
            rows: vec![Lanes::default(); n],
            carried: vec![T::zero(); n],
        }
    }

    /// Sets the step length.
    pub(crate) fn set_length(&mut self, scheme: &Scheme<N>, h: f64) {
        self.h = h;
        self.weights = scheme.w.map(|w| w * h);
        self.rate_columns = std::array::from_fn(|g| std::array::from_fn(|a| scheme.b[a][g] / h));
    }

    /// Sets the step length and the inputs, which do not change during a step.
    pub(crate) fn prepare(&mut self, segments: &Segments, scheme: &Scheme<N>, h: f64, u: &[Lanes<T, N>]) {
        self.set_length(scheme, h);
        if !self.resistance.is_empty() {
            self.efforts.fill(Lanes::default());
        }
        for a in &segments.actuators {
            self.efforts[a.coordinate] = Lanes::default();
        }
        for a in &segments.actuators {
            self.efforts[a.coordinate] += u[a.input] * a.gear;
        }
        self.servos.keep_constant(segments, &self.efforts);
        for a in &segments.actuators {
            let range = segments.laws[a.coordinate].effort;
            for x in &mut self.efforts[a.coordinate].0 {
                *x = cut(*x, range).0;
            }
        }
        for (effort, torque) in self.efforts.iter_mut().zip(&self.resistance) {
            *effort += Lanes::splat(T::from_f64(*torque));
        }
    }

    /// Fills everything at `point`. Does not allocate.
    pub(crate) fn evaluate(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        forces: &mut impl Impulses<T, N>,
        point: &Point<T, N>,
    ) {
        self.evaluate_inlined(segments, scheme, forces, point);
    }

    /// As [`evaluate`](Self::evaluate), compiled into its caller.
    #[inline(always)]
    pub(crate) fn evaluate_inlined(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        forces: &mut impl Impulses<T, N>,
        point: &Point<T, N>,
    ) {
        self.outward(segments, scheme, point);
        if !segments.servos.is_empty() {
            let Self { servos, rates, efforts, .. } = self;
            servos.evaluate(segments, scheme, point, rates, efforts);
        }
        forces.set_impulses(segments, point, self);
        if !self.pulls.is_empty() {
            self.pull(segments, scheme, point);
        }
        self.inward(segments, scheme, point);
    }

    /// Springs and dampers on sums of coordinates.
    #[inline(never)]
    fn pull(&mut self, segments: &Segments, scheme: &Scheme<N>, point: &Point<T, N>) {
        self.pulls.fill(Lanes::default());
        for tendon in &segments.tendons {
            let mut force = Lanes::splat(T::from_f64(tendon.stiffness * tendon.rest));
            for (c, a) in &tendon.terms {
                let q = at_points(scheme, point.delta[*c]) + Lanes::splat(point.base[*c]);
                force -= q * (a * tendon.stiffness) + self.rates[*c] * (a * tendon.damping);
            }
            for (c, a) in &tendon.terms {
                self.pulls[*c] += force * *a;
            }
        }
    }

    /// Poses, columns, velocities and momenta of all segments.
    #[inline(always)]
    fn outward(&mut self, segments: &Segments, scheme: &Scheme<N>, point: &Point<T, N>) {
        for (i, segment) in segments.list.iter().enumerate() {
            let (before, v) = self.frame_before(segment, point);
            match segment.motion {
                Motion::Ball => self.outward_ball(i, segments, scheme, point, before, v),
                _ => self.outward_one(i, segment, scheme, point, before, v),
            }
            if segment.massless {
                self.momenta[i] = Momentum::zero();
                self.moments[i] = Vec3::zero();
            } else {
                self.momentum(i, segment);
            }
        }
    }

    /// Joint frame and velocity before the joint.
    #[inline(always)]
    pub(super) fn frame_before(
        &mut self,
        segment: &Segment,
        point: &Point<T, N>,
    ) -> (Pose<Lanes<T, N>>, Twist<Lanes<T, N>>) {
        if segment.parent == GROUND {
            let mut x = Pose::constant(&segment.placement);
            if point.recentred {
                x.pos = Vec3::zero();
            }
            return (x, Twist::zero());
        }
        let parent = &self.poses[segment.parent];
        let place = &segment.placement;
        let rot = times_constant(&parent.rot, &place.rot);
        let pos = times_vector(&parent.rot, place.pos) + parent.pos;
        let v = self.velocities[segment.parent];
        let Some(origin) = segment.origin.filter(|_| !T::STATES) else { return (Pose::new(rot, pos), v) };
        self.arms[origin] = pos;
        (Pose::new(rot, Vec3::zero()), Twist::new(v.ang, v.lin + v.ang.cross(pos)))
    }

    #[inline(always)]
    fn outward_one(
        &mut self,
        i: usize,
        segment: &Segment,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        before: Pose<Lanes<T, N>>,
        v: Twist<Lanes<T, N>>,
    ) {
        let c = segment.coordinate;
        let rate = self.rate(scheme, point.delta[c]);
        let delta = at_points(scheme, point.delta[c]);
        let axis = before.rot.column(2);
        let column = if segment.motion == Motion::Turn {
            self.poses[i] = turn_about_z(&before, delta + Lanes::splat(point.base[c]));
            Twist::new(axis, before.pos.cross(axis))
        } else {
            // A translation of a root is taken from the shifted origin: the base drops out.
            let dropped = point.recentred && segment.droppable;
            let x = if dropped { delta } else { delta + Lanes::splat(point.base[c]) };
            self.poses[i] = Pose::new(before.rot, before.pos + axis * x);
            Twist::new(Vec3::zero(), axis)
        };
        self.rates[c] = rate;
        self.columns[c] = column;
        self.column_rates[c] = v.cross(column);
        self.velocities[i] = v + column * rate;
    }

    /// `(1/h) Σ_γ b^{αγ} Δ^γ`.
    #[inline(always)]
    pub(super) fn rate(&self, scheme: &Scheme<N>, delta: Lanes<T, N>) -> Lanes<T, N> {
        let mut rate = Lanes::default();
        for g in 1..=scheme.s.min(N - 1) {
            rate.add_spread(delta.0[g], &self.rate_columns[g]);
        }
        rate
    }

    /// Momentum of one body about the origin, by its centre of mass.
    #[inline(always)]
    fn momentum(&mut self, i: usize, segment: &Segment) {
        let pose = &self.poses[i];
        let v = self.velocities[i];
        let p = times_vector(&pose.rot, segment.com) + pose.pos;
        let f = (v.lin + v.ang.cross(p)).scale(segment.mass);
        let spin = pose.rot.tr_mul(v.ang);
        let l = pose.rot * sym_times(&segment.about_com, spin);
        self.momenta[i] = Momentum::new(l + p.cross(f), f);
        self.moments[i] = p.scale(segment.mass);
    }

    /// Composite momenta and the rows.
    #[inline(always)]
    pub(crate) fn inward(&mut self, segments: &Segments, scheme: &Scheme<N>, point: &Point<T, N>) {
        let g = segments.gravity;
        for (i, segment) in segments.list.iter().enumerate().rev() {
            #[cfg(feature = "sabotage")]
            if crate::sabotage::chosen(crate::sabotage::Fault::SlowLinks) {
                crate::sabotage::waste(1000 * segments.list.len());
            }
            let mu = self.momenta[i];
            let moment = self.moments[i];
            let own = self.impulses[i];
            // Γ with the gravity of the whole subtree: w h (σp × g; σm g).
            let torque = cross_constant(moment, g);
            let weight = g.scale(self.masses[i]);
            let mut gamma = own;
            for k in 0..3 {
                gamma.ang.0[k] += torque.0[k].weighted(&self.weights);
                let mut pull = self.weights;
                for w in &mut pull {
                    *w *= weight[k];
                }
                gamma.lin.0[k] += Lanes::constant(&pull);
            }
            if segment.motion == Motion::Ball {
                self.inward_ball(segment, scheme, point, mu, gamma);
            } else {
                let c = segment.coordinate;
                let mut q = Lanes::default();
                let mut conjugate = self.columns[c].dot_momentum(mu);
                if segment.forced {
                    q = self.coordinate_force(segments, scheme, point, c);
                }
                let armature = segments.laws[c].armature;
                if armature != 0.0 {
                    conjugate += self.rates[c] * armature;
                }
                let (mut row, impulse) = self.chart_row(scheme, c, conjugate, mu, gamma, q);
                row.0[0] += point.p[c];
                self.rows[c] = row;
                self.carried[c] = point.p[c] + impulse;
            }
            let p = segment.parent;
            if p != GROUND {
                let (mu, moment, own) = match segment.origin.filter(|_| !T::STATES) {
                    None => (mu, moment, own),
                    Some(origin) => self.seen_from_parent(i, origin, mu, moment, own),
                };
                self.momenta[p] += mu;
                self.moments[p] += moment;
                self.impulses[p] += own;
            }
            self.impulses[i] = gamma;
        }
    }

    /// Momentum, first moment and impulse of a subtree about the origin before its own.
    #[inline(never)]
    fn seen_from_parent(
        &self,
        i: usize,
        origin: usize,
        mu: Momentum<Lanes<T, N>>,
        moment: Vec3<Lanes<T, N>>,
        own: Wrench<Lanes<T, N>>,
    ) -> (Momentum<Lanes<T, N>>, Vec3<Lanes<T, N>>, Wrench<Lanes<T, N>>) {
        let arm = self.arms[origin];
        (
            Momentum::new(mu.ang + arm.cross(mu.lin), mu.lin),
            moment + arm.scale(self.masses[i]),
            Wrench::new(own.ang + arm.cross(own.lin), own.lin),
        )
    }

    /// `P^α` of coordinate `c` (2.10), all nodes, and their sum, to which only forces contribute (2.6).
    #[inline(always)]
    pub(super) fn chart_row(
        &self,
        scheme: &Scheme<N>,
        c: usize,
        conjugate: Lanes<T, N>,
        mu: Momentum<Lanes<T, N>>,
        gamma: Wrench<Lanes<T, N>>,
        q: Lanes<T, N>,
    ) -> (Lanes<T, N>, T) {
        let slope = self.column_rates[c].dot_momentum(mu) + q;
        let mut row = slope.weighted(&self.weights) + self.columns[c].dot(gamma);
        let mut impulse = row.0[0];
        for x in &row.0[1..] {
            impulse += *x;
        }
        if scheme.gauss && !T::STATES {
            row = to_rows(scheme, row);
        }
        for beta in 0..N {
            row.add_spread(conjugate.0[beta], &scheme.a_columns[beta]);
        }
        (row, impulse)
    }

    /// Spring, damper and actuators of a coordinate that is an ordinary number.
    #[inline(always)]
    pub(super) fn coordinate_force(
        &self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        c: usize,
    ) -> Lanes<T, N> {
        let law = &segments.laws[c];
        let q = at_points(scheme, point.delta[c]) + Lanes::splat(point.base[c] - T::from_f64(law.rest));
        let force = self.efforts[c] - self.rates[c] * law.damping - q * law.stiffness;
        if T::STATES || self.pulls.is_empty() { force } else { force + self.pulls[c] }
    }
}

/// Everything known at the point where the residual was last evaluated: what linearisations are made from.
#[derive(Clone, Copy)]
pub(crate) struct Evaluated<'a, const N: usize> {
    pub(crate) segments: &'a Segments,
    pub(crate) scheme: &'a Scheme<N>,
    pub(crate) forces: &'a BodyForces,
    pub(crate) derivatives: &'a WrenchDerivatives<N>,
    pub(crate) point: &'a Point<f64, N>,
    pub(crate) residual: &'a Residual<f64, N>,
}

/// The increments of a coordinate at the points where the action is summed.
#[inline(always)]
pub(super) fn at_points<T: Real, const N: usize>(scheme: &Scheme<N>, delta: Lanes<T, N>) -> Lanes<T, N> {
    if scheme.gauss && !T::STATES { between_nodes(scheme, delta) } else { delta }
}

/// `Σ_γ ℓ_γ(ĉ_g) Δ^γ`. Not inlined: the common case is the other one.
#[inline(never)]
fn between_nodes<T: Real, const N: usize>(scheme: &Scheme<N>, delta: Lanes<T, N>) -> Lanes<T, N> {
    let mut out = Lanes::default();
    for ga in 1..=scheme.s.min(N - 1) {
        out.add_spread(delta.0[ga], &scheme.values[ga]);
    }
    out
}

/// What the points give, gathered into rows: `Σ_g ℓ_α(ĉ_g) x^g`.
#[inline(never)]
pub(super) fn to_rows<T: Real, const N: usize>(scheme: &Scheme<N>, x: Lanes<T, N>) -> Lanes<T, N> {
    let mut rows = Lanes::default();
    for g in 0..scheme.points.min(N) {
        rows.add_spread(x.0[g], &scheme.value_rows[g]);
    }
    rows
}

/// `A B` with a constant `B`.
#[inline(always)]
pub(super) fn times_constant<T: Real>(a: &Mat3<T>, b: &Mat3) -> Mat3<T> {
    let mut out = *a;
    for i in 0..3 {
        for j in 0..3 {
            out.0[i][j] = a.0[i][0] * b.0[0][j] + a.0[i][1] * b.0[1][j] + a.0[i][2] * b.0[2][j];
        }
    }
    out
}

/// `A x` with a constant `x`.
#[inline(always)]
pub(super) fn times_vector<T: Real>(a: &Mat3<T>, x: Vec3) -> Vec3<T> {
    let mut out = Vec3(a.0[0]);
    for i in 0..3 {
        out.0[i] = a.0[i][0] * x[0] + a.0[i][1] * x[1] + a.0[i][2] * x[2];
    }
    out
}

/// `a × b` with a constant `b`.
#[inline(always)]
fn cross_constant<T: Real>(a: Vec3<T>, b: Vec3) -> Vec3<T> {
    let [x, y, z] = a.0;
    Vec3([y * b[2] - z * b[1], z * b[0] - x * b[2], x * b[1] - y * b[0]])
}

/// `A x` with a constant symmetric `A`.
#[inline(always)]
pub(super) fn sym_times<T: Real>(a: &crate::spatial::Sym3, x: Vec3<T>) -> Vec3<T> {
    let [xx, yy, zz, xy, xz, yz] = a.0;
    let [u, v, w] = x.0;
    Vec3([u * xx + v * xy + w * xz, u * xy + v * yy + w * yz, u * xz + v * yz + w * zz])
}

/// `x Rz(angle)`.
#[inline(always)]
pub(super) fn turn_about_z<T: Real>(x: &Pose<T>, angle: T) -> Pose<T> {
    let (s, c) = angle.sin_cos();
    let mut rot = x.rot;
    for i in 0..3 {
        let r = x.rot.0[i];
        rot.0[i] = [r[0] * c + r[1] * s, r[1] * c - r[0] * s, r[2]];
    }
    Pose::new(rot, x.pos)
}
