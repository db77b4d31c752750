//! How momenta change with positions and velocities: the tangent of `p = M(q) v`.
//!
//! ```text
//! δ̄V = δ̄V_p + Ṡ δq + S δv,   δ̄μ_p += δ̄μ − adD_μ S δq,   δp = Sᵀδ̄μ + armature δv                   (7.3)
//! ```

use super::mass::MassMemory;
use super::segments::{GROUND, Motion, Segments};
use super::six::add_dual;
use crate::scalar::Real;
use crate::spatial::{Inertia, Mat3, Pose, Twist, Vec3, Wrench};

/// The tangent of the Legendre transform at one state.
#[derive(Clone, Debug)]
pub(crate) struct LegendreSlope {
    columns: Vec<Twist>,
    column_rates: Vec<Twist>,
    /// `adD_μ S`.
    turned: Vec<Wrench>,
    inertias: Vec<Inertia>,
}

fn along<T: Real>(s: &Twist, x: T) -> Twist<T> {
    Twist::from_array(s.to_array().map(|s| x * s))
}

impl LegendreSlope {
    /// At engine positions and velocities.
    pub(crate) fn new(segments: &Segments, base: &[f64], anchors: &[Mat3], v: &[f64]) -> Self {
        let (m, n) = (segments.list.len(), segments.n);
        let mut out = Self {
            columns: vec![Twist::zero(); n],
            column_rates: vec![Twist::zero(); n],
            turned: vec![Wrench::zero(); n],
            inertias: vec![Inertia::zero(); m],
        };
        let mut poses = vec![Pose::identity(); m];
        let mut twists = vec![Twist::zero(); m];
        let mut momenta = vec![Wrench::zero(); m];
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let (before, twist): (Pose, Twist) = if segment.parent == GROUND {
                (Pose::new(segment.placement.rot, Vec3::zero()), Twist::zero())
            } else {
                (poses[segment.parent] * segment.placement, twists[segment.parent])
            };
            let axis = before.rot.column(2);
            match segment.motion {
                Motion::Turn => {
                    let (s, co) = base[c].sin_cos();
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
            out.inertias[i] = segment.inertia.transformed(&poses[i]);
            momenta[i] = out.inertias[i].mul(twists[i]).as_wrench();
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                out.turned[c] = add_dual(momenta[i], out.columns[c]);
            }
            if segment.parent != GROUND {
                let mu = momenta[i];
                momenta[segment.parent] += mu;
            }
        }
        out
    }

    /// δp of `(δq, δv)`.
    pub(crate) fn apply<T: Real>(
        &self,
        segments: &Segments,
        memory: &mut MassMemory<T>,
        dq: &[T],
        dv: Option<&[T]>,
        dp: &mut [T],
    ) {
        let (bias, velocity) = memory.parts();
        for (i, segment) in segments.list.iter().enumerate() {
            let mut twist = if segment.parent == GROUND { Twist::zero() } else { velocity[segment.parent] };
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                twist += along(&self.column_rates[c], dq[c]);
                if let Some(dv) = dv {
                    twist += along(&self.columns[c], dv[c]);
                }
            }
            velocity[i] = twist;
            bias[i] = Inertia::constant(&self.inertias[i]).mul(twist).as_wrench();
        }
        for (i, segment) in segments.list.iter().enumerate().rev() {
            let mut mu = bias[i];
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                let s = self.columns[c].to_array();
                let f = mu.to_array();
                dp[c] = T::zero();
                for k in 0..6 {
                    dp[c] += f[k] * s[k];
                }
                if let Some(dv) = dv {
                    dp[c] += dv[c] * segments.laws[c].armature;
                }
            }
            for c in segment.coordinate..segment.coordinate + segment.freedom() {
                mu -= Wrench::from_array(self.turned[c].to_array().map(|t| dq[c] * t));
            }
            if segment.parent != GROUND {
                bias[segment.parent] += mu;
            }
        }
    }
}
