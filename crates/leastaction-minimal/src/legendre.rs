//! How momenta change with positions and velocities, and back: the tangent of `p = M(q) v`.
//!
//! ```text
//! δ̄V = δ̄V_p + Ṡ δq + S δv,   δ̄μ_p += δ̄μ − adD_μ S δq,   δp = Sᵀδ̄μ + armature δv                   (2.37)
//! ```
//!
//! With composite inertias Ĝ that is, for a change at coordinate j and the momentum of coordinate i,
//!
//! ```text
//! j above or beside i:  δp_i = (Ĝ_i S_i)ᵀ (Ṡ_j δq_j + S_j δv_j)
//! j below i:            δp_i = S_iᵀ (A_j δv_j + B_j δq_j),   A = Ĝ S,   B = Ĝ Ṡ − adD_μ S             (2.28)
//! ```
//!
//! and solved for δv, with the articulated inertias Ĝᴬ and U, D of (2.27),
//!
//! ```text
//! e = δp − Sᵀβ − UᵀṠ δq,   β_p += β + (Ĝᴬ Ṡ − adD_μ S) δq + U D⁻¹ e
//! δv = D⁻¹ (e − Uᵀ δ̄V_p),   δ̄V = δ̄V_p + Ṡ δq + S δv                                                 (2.29)
//! ```

use super::mass_factor::{MassFactor, MassMemory, Own, cross};
use super::segments::{GROUND, Segments};
use super::six::add_dual;
use crate::scalar::Real;
use crate::spatial::{ArticulatedInertia, Inertia, Pose, Twist, Vec3, Wrench};

/// The tangent of the Legendre transform at one state.
#[derive(Clone, Debug)]
pub(crate) struct LegendreSlope {
    /// Where the segments with an origin of their own have it, seen from the one before.
    arms: Vec<Vec3>,
    bodies: Vec<Body>,
    columns: Vec<Column>,
}

/// The tangent of the velocity recovered from a momentum, at one state.
#[derive(Clone, Debug)]
pub(crate) struct VelocitySlope {
    columns: Vec<Turned>,
}

/// Of a coordinate, in the tangent of the recovered velocity.
#[derive(Clone, Copy, Debug)]
struct Turned {
    rate: Twist,
    /// `Ĝᴬ Ṡ − adD_μ S`.
    by_position: Wrench,
    /// `U_cᵀ Ṡ_j` over the coordinates j of the same segment.
    coupling: [f64; 3],
}

/// Of a segment: pose and velocity, composite momentum and inertia.
#[derive(Clone, Copy, Debug)]
struct Body {
    pose: Pose,
    twist: Twist,
    momentum: Wrench,
    composite: ArticulatedInertia,
}

/// Of a coordinate.
#[derive(Clone, Copy, Debug)]
struct Column {
    axis: Twist,
    rate: Twist,
    /// `adD_μ S`.
    turned: Wrench,
    /// `A` and `B` of (2.28).
    by_rate: Wrench,
    by_position: Wrench,
}

#[inline(always)]
fn along<T: Real>(s: &Twist, x: T) -> Twist<T> {
    Twist::from_array(s.to_array().map(|s| x * s))
}
#[inline(always)]
fn force<T: Real>(f: &Wrench, x: T) -> Wrench<T> {
    Wrench::from_array(f.to_array().map(|f| x * f))
}
#[inline(always)]
fn pair<T: Real>(a: [f64; 6], b: [T; 6]) -> T {
    (b[0] * a[0] + b[1] * a[1] + b[2] * a[2]) + (b[3] * a[3] + b[4] * a[4] + b[5] * a[5])
}

impl LegendreSlope {
    /// Where the mass matrix was placed, at engine velocities.
    #[inline(always)]
    pub(crate) fn new_inlined(segments: &Segments, mass: &MassFactor, v: &[f64]) -> Self {
        let mut out = Self {
            arms: mass.arms().to_vec(),
            bodies: Vec::with_capacity(segments.list.len()),
            columns: Vec::with_capacity(segments.n),
        };
        out.columns.extend((0..segments.n).map(|c| Column {
            axis: *mass.axis(c),
            rate: Twist::zero(),
            turned: Wrench::zero(),
            by_rate: Wrench::zero(),
            by_position: Wrench::zero(),
        }));
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let mut twist: Twist =
                if segment.parent == GROUND { Twist::zero() } else { out.bodies[segment.parent].twist };
            if let Some(origin) = segment.origin {
                twist.lin += twist.ang.cross(out.arms[origin]);
            }
            let (before, pose) = (twist, *mass.pose(i));
            for (column, v) in out.columns[c..c + segment.freedom()].iter_mut().zip(&v[c..]) {
                column.rate = before.cross(column.axis);
                twist += column.axis * *v;
            }
            let inertia = segment.inertia.transformed(&pose);
            let momentum = inertia.mul(twist).as_wrench();
            let composite = ArticulatedInertia::from_rigid(&inertia);
            out.bodies.push(Body { pose, twist, momentum, composite });
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let (mut mu, mut inertia) = (out.bodies[i].momentum, out.bodies[i].composite);
            for column in &mut out.columns[segment.coordinate..segment.coordinate + segment.freedom()] {
                column.turned = add_dual(mu, column.axis);
                column.by_rate = inertia.mul(column.axis);
                column.by_position = inertia.mul(column.rate) - column.turned;
            }
            if segment.parent != GROUND {
                if let Some(origin) = segment.origin {
                    mu.ang += out.arms[origin].cross(mu.lin);
                    inertia = inertia.about(out.arms[origin]);
                }
                let parent = &mut out.bodies[segment.parent];
                parent.momentum += mu;
                parent.composite.add(&inertia);
            }
        }
        out
    }

    /// `∂M v` by coordinate where the inertia of segment `i` changes, in its own frame: only on the way to the root. (2.62)
    pub(crate) fn momenta(&self, segments: &Segments, mut i: usize, change: &Inertia) -> Vec<(usize, f64)> {
        let body = &self.bodies[i];
        let mut mu = change.transformed(&body.pose).mul(body.twist).as_wrench();
        let mut out = Vec::new();
        while i != GROUND {
            let segment = &segments.list[i];
            let coordinates = segment.coordinate..segment.coordinate + segment.freedom();
            out.extend(coordinates.map(|c| (c, self.columns[c].axis.dot(mu))));
            if let Some(origin) = segment.origin {
                mu.ang += self.arms[origin].cross(mu.lin);
            }
            i = segment.parent;
        }
        out
    }

    /// `δp` of `(δq, δv)`, most of which may be zero (2.28). Does not allocate.
    #[inline(always)]
    pub(crate) fn apply<T: Real>(
        &self,
        segments: &Segments,
        memory: &mut MassMemory<T>,
        dq: &[T],
        dv: &[T],
        dp: &mut [T],
    ) {
        let (bias, velocity) = memory.parts();
        for (i, segment) in segments.list.iter().enumerate() {
            let mut twist = if segment.parent == GROUND { Twist::zero() } else { velocity[segment.parent] };
            if let Some(origin) = segment.origin {
                twist.lin -= cross(self.arms[origin], twist.ang);
            }
            let coordinates = segment.coordinate..segment.coordinate + segment.freedom();
            for c in coordinates.clone() {
                if !dq[c].is_zero() {
                    twist += along(&self.columns[c].rate, dq[c]);
                }
                if !dv[c].is_zero() {
                    twist += along(&self.columns[c].axis, dv[c]);
                }
            }
            velocity[i] = twist;
            let twist = twist.to_array();
            for c in coordinates {
                dp[c] = pair(self.columns[c].by_rate.to_array(), twist) + dv[c] * segments.laws[c].armature;
            }
            bias[i] = Wrench::zero();
        }
        let mut any = false;
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let mut mu = bias[i];
            let coordinates = segment.coordinate..segment.coordinate + segment.freedom();
            if any {
                let mu = mu.to_array();
                for c in coordinates.clone() {
                    dp[c] += pair(self.columns[c].axis.to_array(), mu);
                }
            }
            for c in coordinates {
                if !dq[c].is_zero() {
                    mu += force(&self.columns[c].by_position, dq[c]);
                    any = true;
                }
                if !dv[c].is_zero() {
                    mu += force(&self.columns[c].by_rate, dv[c]);
                    any = true;
                }
            }
            if any && segment.parent != GROUND {
                if let Some(origin) = segment.origin {
                    mu.ang += cross(self.arms[origin], mu.lin);
                }
                bias[segment.parent] += mu;
            }
        }
    }

    /// The inverse's tangent, with the mass matrix factored at the same positions.
    #[inline(always)]
    pub(crate) fn inverse_inlined(&self, segments: &Segments, mass: &MassFactor) -> VelocitySlope {
        let mut columns = Vec::with_capacity(segments.n);
        for (i, segment) in segments.list.iter().enumerate() {
            let own = &self.columns[segment.coordinate..segment.coordinate + segment.freedom()];
            for (c, column) in own.iter().enumerate() {
                let by_position = mass.articulated(i).mul(column.rate) - column.turned;
                let mut coupling = [0.0; 3];
                for (coupling, column) in coupling.iter_mut().zip(own) {
                    *coupling = column.rate.dot(mass.spread_of(segment.coordinate + c));
                }
                columns.push(Turned { rate: column.rate, by_position, coupling });
            }
        }
        VelocitySlope { columns }
    }
}

impl VelocitySlope {
    /// `δv` of `(δq, δp)` (2.29), in place of `δp`. Does not allocate.
    #[inline(always)]
    pub(crate) fn apply<T: Real>(
        &self,
        segments: &Segments,
        mass: &MassFactor,
        memory: &mut MassMemory<T>,
        dq: &[T],
        dp: &mut [T],
    ) {
        for segment in &segments.list {
            let first = segment.coordinate;
            for c in 0..segment.freedom() {
                for j in 0..segment.freedom() {
                    dp[first + c] -= dq[first + j] * self.columns[first + c].coupling[j];
                }
            }
        }
        mass.solve_with(segments, memory, dp, &Moved { columns: &self.columns, dq });
    }
}

/// What varied positions add to the solve of (2.29).
struct Moved<'a, T> {
    columns: &'a [Turned],
    dq: &'a [T],
}
impl<T: Real> Own<T> for Moved<'_, T> {
    #[inline(always)]
    fn bias(&self, c: usize, to: &mut Wrench<T>) {
        *to += force(&self.columns[c].by_position, self.dq[c]);
    }
    #[inline(always)]
    fn drift(&self, c: usize, to: &mut Twist<T>) {
        *to += along(&self.columns[c].rate, self.dq[c]);
    }
}
