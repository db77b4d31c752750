//! Second derivatives of kinetic and potential energy in O(n · depth), for joints with ordinary coordinates.
//!
//! With composite inertia `Ĝ_i` and momentum `μ_i`, `A_i = Ĝ_i S_i`, `B_i = Ĝ_i Ṡ_i − adD_{μ_i} S_i`, for every i and
//! every ancestor-or-self j (2.36):
//!
//! ```text
//! ∂²K/∂v_i∂v_j = S_jᵀ A_i      ∂²K/∂v_i∂q_j = Ṡ_jᵀ A_i
//! ∂²K/∂q_i∂v_j = S_jᵀ B_i      ∂²K/∂q_i∂q_j = Ṡ_jᵀ B_i
//! ∂²V/∂q_i∂q_j = s_j · (g × (σm_i n_i − σp_i × s_i)),   S = (s; n)
//! ```
//!
//! Pairs of which neither carries the other are zero.

use crate::integrator::{StepError, expect_length};
use crate::mechanism::Mechanism;
use crate::segments::{GROUND, Motion, Segments};
use crate::six::add_dual;
use crate::spatial::{Inertia, Mat3, Pose, Twist, Vec3, Wrench};
use crate::state::split_position;
use leastaction_core::scalar::elementary;

/// Second derivatives of the energies, `nv × nv` by rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EnergyHessians {
    /// `∂²K/∂v_i∂v_j`: the mass matrix.
    pub kinetic_vv: Vec<f64>,
    /// `∂²K/∂v_i∂q_j`.
    pub kinetic_vq: Vec<f64>,
    /// `∂²K/∂q_i∂q_j`.
    pub kinetic_qq: Vec<f64>,
    /// `∂²V/∂q_i∂q_j` of gravity.
    pub gravity_qq: Vec<f64>,
    /// Diagonal of `∂²V/∂q²` of the springs.
    pub spring_qq: Vec<f64>,
}

/// What the formulas need of one configuration, by segment (one coordinate each).
pub(crate) struct Composite<'a> {
    pub(crate) columns: &'a [Twist],
    pub(crate) column_rates: &'a [Twist],
    /// Composite momenta as wrenches.
    pub(crate) momenta: &'a [Wrench],
    /// Composite inertias.
    pub(crate) inertias: &'a [Inertia],
}

impl Composite<'_> {
    /// Calls `each(i, j, vv, vq, qv, qq, gravity)` for all coordinates i and ancestors-or-self j.
    #[inline(always)]
    pub(crate) fn pairs(
        &self,
        segments: &Segments,
        mut each: impl FnMut(usize, usize, f64, f64, f64, f64, f64),
    ) {
        let g = segments.gravity;
        for (i, segment) in segments.list.iter().enumerate() {
            let c = segment.coordinate;
            let inertia = &self.inertias[i];
            let column = self.columns[c];
            let a = inertia.mul(column).as_wrench();
            let b = inertia.mul(self.column_rates[c]).as_wrench() - add_dual(self.momenta[i], column);
            let weight = g.cross(column.lin * inertia.mass - inertia.moment.cross(column.ang));
            let mut j = i;
            loop {
                let d = segments.list[j].coordinate;
                let (s, s_dot) = (self.columns[d], self.column_rates[d]);
                each(c, d, s.dot(a), s_dot.dot(a), s.dot(b), s_dot.dot(b), s.ang.dot(weight));
                j = segments.list[j].parent;
                if j == GROUND {
                    break;
                }
            }
        }
    }
}

/// The second derivatives at `(q, v)`.
///
/// # Errors
/// If a joint is spherical or floating, or a vector has the wrong length.
pub fn energy_hessians(mechanism: &Mechanism, q: &[f64], v: &[f64]) -> Result<EnergyHessians, StepError> {
    expect_length("q", q.len(), mechanism.nq())?;
    expect_length("v", v.len(), mechanism.nv())?;
    let segments = Segments::new(mechanism)?;
    if let Some(ball) = segments.list.iter().find(|s| s.motion == Motion::Ball) {
        return Err(StepError::Unsupported {
            integrator: "energy_hessians",
            what: format!("joint `{}`, whose coordinates are not numbers", mechanism.joint(ball.joint).name),
            remedy: "use `linearize`, which supports every joint".into(),
        });
    }
    let (m, n) = (segments.list.len(), segments.n);
    let mut base = vec![0.0; n];
    split_position(mechanism, q, &mut base, &mut []);
    let mut poses = vec![Pose::identity(); m];
    let (mut twists, mut momenta) = (vec![Twist::zero(); m], vec![Wrench::zero(); m]);
    let mut inertias = vec![Inertia::zero(); m];
    let (mut columns, mut column_rates) = (vec![Twist::zero(); n], vec![Twist::zero(); n]);
    for (i, segment) in segments.list.iter().enumerate() {
        let c = segment.coordinate;
        let (before, twist) = if segment.parent == GROUND {
            (Pose::new(segment.placement.rot, Vec3::zero()), Twist::zero())
        } else {
            (poses[segment.parent] * segment.placement, twists[segment.parent])
        };
        let axis = before.rot.column(2);
        if segment.motion == Motion::Turn {
            let (s, co) = elementary::sin_cos(base[c]);
            let row = |r: [f64; 3]| [r[0] * co + r[1] * s, r[1] * co - r[0] * s, r[2]];
            poses[i] = Pose::new(Mat3(before.rot.0.map(row)), before.pos);
            columns[c] = Twist::new(axis, before.pos.cross(axis));
        } else {
            let x = if segment.droppable { 0.0 } else { base[c] };
            poses[i] = Pose::new(before.rot, before.pos + axis * x);
            columns[c] = Twist::new(Vec3::zero(), axis);
        }
        column_rates[c] = twist.cross(columns[c]);
        twists[i] = twist + columns[c] * v[c];
        inertias[i] = segment.inertia.transformed(&poses[i]);
        momenta[i] = inertias[i].mul(twists[i]).as_wrench();
    }
    for (i, segment) in segments.list.iter().enumerate().rev() {
        if segment.parent != GROUND {
            let (mu, inertia) = (momenta[i], inertias[i]);
            momenta[segment.parent] += mu;
            inertias[segment.parent] += inertia;
        }
    }
    let mut out = EnergyHessians {
        kinetic_vv: vec![0.0; n * n],
        kinetic_vq: vec![0.0; n * n],
        kinetic_qq: vec![0.0; n * n],
        gravity_qq: vec![0.0; n * n],
        spring_qq: segments.laws.iter().map(|law| law.stiffness).collect(),
    };
    let composite =
        Composite { columns: &columns, column_rates: &column_rates, momenta: &momenta, inertias: &inertias };
    composite.pairs(&segments, |i, j, vv, vq, qv, qq, gravity| {
        for (matrix, x) in
            [(&mut out.kinetic_vv, vv), (&mut out.kinetic_qq, qq), (&mut out.gravity_qq, gravity)]
        {
            matrix[i * n + j] = x;
            matrix[j * n + i] = x;
        }
        // ∂²K/∂q_i∂v_j is the (j, i) entry of the mixed matrix; on the diagonal both formulas agree.
        out.kinetic_vq[j * n + i] = qv;
        out.kinetic_vq[i * n + j] = vq;
    });
    for c in 0..n {
        out.kinetic_vv[c * n + c] += segments.laws[c].armature;
    }
    Ok(out)
}
