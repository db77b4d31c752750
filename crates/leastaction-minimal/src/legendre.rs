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

use super::mass_factor::{MassFactor, MassMemory, cross};
use super::segments::{GROUND, Motion, Segments};
use super::six::add_dual;
use crate::scalar::Real;
use crate::spatial::{ArticulatedInertia, Inertia, Mat3, Pose, Twist, Vec3, Wrench};
use leastaction_core::scalar::elementary;

/// The tangent of the Legendre transform at one state.
#[derive(Clone, Debug)]
pub(crate) struct LegendreSlope {
    /// Where the segments with an origin of their own have it, seen from the one before.
    arms: Vec<Vec3>,
    /// Of every segment: pose and velocity.
    poses: Vec<Pose>,
    twists: Vec<Twist>,
    columns: Vec<Twist>,
    column_rates: Vec<Twist>,
    /// `adD_μ S`.
    turned: Vec<Wrench>,
    /// `A` and `B` of (2.28).
    by_rate: Vec<Wrench>,
    by_position: Vec<Wrench>,
}

/// The tangent of the velocity recovered from a momentum, at one state.
#[derive(Clone, Debug)]
pub(crate) struct VelocitySlope {
    column_rates: Vec<Twist>,
    /// `Ĝᴬ Ṡ − adD_μ S`.
    by_position: Vec<Wrench>,
    /// `U_cᵀ Ṡ_j` over the coordinates j of the same segment.
    coupling: Vec<[f64; 3]>,
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
    /// At engine positions and velocities.
    pub(crate) fn new(segments: &Segments, base: &[f64], anchors: &[Mat3], v: &[f64]) -> Self {
        let (m, n) = (segments.list.len(), segments.n);
        let mut out = Self {
            arms: vec![Vec3::zero(); segments.origins],
            poses: Vec::new(),
            twists: Vec::new(),
            columns: vec![Twist::zero(); n],
            column_rates: vec![Twist::zero(); n],
            turned: vec![Wrench::zero(); n],
            by_rate: vec![Wrench::zero(); n],
            by_position: vec![Wrench::zero(); n],
        };
        let mut composite = vec![ArticulatedInertia::default(); m];
        let mut poses = vec![Pose::identity(); m];
        let mut twists = vec![Twist::zero(); m];
        let mut momenta = vec![Wrench::zero(); m];
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let (mut before, mut twist): (Pose, Twist) = if segment.parent == GROUND {
                (Pose::new(segment.placement.rot, Vec3::zero()), Twist::zero())
            } else {
                (poses[segment.parent] * segment.placement, twists[segment.parent])
            };
            if let Some(origin) = segment.origin {
                out.arms[origin] = std::mem::replace(&mut before.pos, Vec3::zero());
                twist.lin += twist.ang.cross(out.arms[origin]);
            }
            let axis = before.rot.column(2);
            match segment.motion {
                Motion::Turn => {
                    let (s, co) = elementary::sin_cos(base[c]);
                    let row = |r: [f64; 3]| [r[0] * co + r[1] * s, r[1] * co - r[0] * s, r[2]];
                    poses[i] = Pose::new(Mat3(before.rot.0.map(row)), before.pos);
                    out.columns[c] = Twist::new(axis, before.pos.cross(axis));
                }
                Motion::Slide => {
                    let x = if segment.droppable { 0.0 } else { base[c] };
                    poses[i] = Pose::new(before.rot, before.pos + axis * x);
                    out.columns[c] = Twist::new(Vec3::zero(), axis);
                }
                Motion::Ball => {
                    poses[i] = Pose::new(before.rot * anchors[segment.ball], before.pos);
                    for a in 0..3 {
                        let axis = poses[i].rot.column(a);
                        out.columns[c + a] = Twist::new(axis, before.pos.cross(axis));
                    }
                }
            }
            twists[i] = twist;
            for c in c..c + segment.freedom() {
                out.column_rates[c] = twist.cross(out.columns[c]);
                twists[i] += out.columns[c] * v[c];
            }
            let inertia = segment.inertia.transformed(&poses[i]);
            momenta[i] = inertia.mul(twists[i]).as_wrench();
            composite[i] = ArticulatedInertia::from_rigid(&inertia);
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                out.turned[c] = add_dual(momenta[i], out.columns[c]);
                out.by_rate[c] = composite[i].mul(out.columns[c]);
                out.by_position[c] = composite[i].mul(out.column_rates[c]) - out.turned[c];
            }
            if segment.parent != GROUND {
                let (mut mu, mut inertia) = (momenta[i], composite[i]);
                if let Some(origin) = segment.origin {
                    mu.ang += out.arms[origin].cross(mu.lin);
                    inertia = inertia.about(out.arms[origin]);
                }
                momenta[segment.parent] += mu;
                composite[segment.parent].add(&inertia);
            }
        }
        (out.poses, out.twists) = (poses, twists);
        out
    }

    /// `∂M v` by coordinate where the inertia of segment `i` changes, in its own frame: only on the way to the root. (2.62)
    pub(crate) fn momenta(&self, segments: &Segments, mut i: usize, change: &Inertia) -> Vec<(usize, f64)> {
        let mut mu = change.transformed(&self.poses[i]).mul(self.twists[i]).as_wrench();
        let mut out = Vec::new();
        while i != GROUND {
            let segment = &segments.list[i];
            let coordinates = segment.coordinate..segment.coordinate + segment.freedom();
            out.extend(coordinates.map(|c| (c, self.columns[c].dot(mu))));
            if let Some(origin) = segment.origin {
                mu.ang += self.arms[origin].cross(mu.lin);
            }
            i = segment.parent;
        }
        out
    }

    /// `δp` of `(δq, δv)`, most of which may be zero (2.28). Does not allocate.
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
                    twist += along(&self.column_rates[c], dq[c]);
                }
                if !dv[c].is_zero() {
                    twist += along(&self.columns[c], dv[c]);
                }
            }
            velocity[i] = twist;
            let twist = twist.to_array();
            for c in coordinates {
                dp[c] = pair(self.by_rate[c].to_array(), twist) + dv[c] * segments.laws[c].armature;
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
                    dp[c] += pair(self.columns[c].to_array(), mu);
                }
            }
            for c in coordinates {
                if !dq[c].is_zero() {
                    mu += force(&self.by_position[c], dq[c]);
                    any = true;
                }
                if !dv[c].is_zero() {
                    mu += force(&self.by_rate[c], dv[c]);
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
    pub(crate) fn inverse(self, segments: &Segments, mass: &MassFactor) -> VelocitySlope {
        let mut out = VelocitySlope {
            by_position: self.turned,
            coupling: vec![[0.0; 3]; segments.n],
            column_rates: self.column_rates,
        };
        for (i, segment) in segments.list.iter().enumerate() {
            let first = segment.coordinate;
            for j in 0..segment.freedom() {
                let rate = out.column_rates[first + j];
                out.by_position[first + j] = mass.articulated(i).mul(rate) - out.by_position[first + j];
                for c in 0..segment.freedom() {
                    out.coupling[first + c][j] = rate.dot(mass.spread_of(first + c));
                }
            }
        }
        out
    }
}

impl VelocitySlope {
    /// `δv` of `(δq, δp)` (2.29), in place of `δp`. Does not allocate.
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
                    dp[first + c] -= dq[first + j] * self.coupling[first + c][j];
                }
            }
        }
        let bias = |c: usize, to: &mut Wrench<T>| *to += force(&self.by_position[c], dq[c]);
        let drift = |c: usize, to: &mut Twist<T>| *to += along(&self.column_rates[c], dq[c]);
        mass.solve_with(segments, memory, dp, bias, drift);
    }
}
