//! The outward and inward sweep: motion, momenta, forces and torques with their derivatives, O(n k²).
//!
//! ```text
//! outward   V_l = V_pa,l + Σ_c Σ_m s^c_m y^c_{l−m}                      (4.5)
//!           (l+1) s_{l+1} = Σ_m V*_m × s_{l−m}                          (4.6)
//!           (l+1) II_{l+1} = [V × II]_l,      H = II V                  (4.7)
//! inward    IIC, HC = sums over what is carried
//!           FC = D HC − IIC γ,                τ = s · FC                (4.8)
//! ```
//!
//! `V*` is the parent's velocity for one-axis stages (s × s = 0 makes the own part vanish), the stage's own otherwise.

use super::stage::{Stage, StageKind};
use super::taylor::{InertiaCoefficient, cross_at, dot_at, inertia_at, inertia_next, next, with_order};
use super::workspace::JetWorkspace;
use super::{JetError, expect, factorial};
use crate::scalar::Real;
use crate::spatial::{Inertia, Mat3, Pose, Quat, Twist, Vec3, Wrench};

impl<T: Real> JetWorkspace<T> {
    /// Takes positions and velocity coefficients.
    pub(crate) fn set(&mut self, q: &[T], y: &[T]) -> Result<(), JetError> {
        expect("q", q.len(), self.tree.nq)?;
        expect("y", y.len(), self.n * self.tree.nv)?;
        self.q.copy_from_slice(q);
        self.y.copy_from_slice(y);
        Ok(())
    }

    /// Takes positions and plain derivatives of the velocity.
    pub(crate) fn set_derivatives(&mut self, q: &[T], derivatives: &[&[T]]) -> Result<(), JetError> {
        let nv = self.tree.nv;
        expect("derivatives", derivatives.len(), self.n)?;
        expect("q", q.len(), self.tree.nq)?;
        self.q.copy_from_slice(q);
        for (l, d) in derivatives.iter().enumerate() {
            expect("derivatives", d.len(), nv)?;
            let f = 1.0 / factorial(l);
            for c in 0..nv {
                self.y[l * nv + c] = d[c] * f;
            }
        }
        Ok(())
    }

    pub(crate) fn run(&mut self) -> Result<(), JetError> {
        self.run_motion()?;
        with_order!(self.n, inward::<T; N>(self));
        if self.passive && self.n > 1 {
            self.add_passive();
        }
        Ok(())
    }

    /// Motion only: poses, columns and velocities.
    pub(crate) fn run_motion(&mut self) -> Result<(), JetError> {
        self.normalize()?;
        with_order!(self.n, outward::<T; N>(self));
        Ok(())
    }

    /// Motion, and forces if asked, compiled into the caller: for lanes.
    #[inline(always)]
    pub(crate) fn run_inline(&mut self, forces: bool) -> Result<(), JetError> {
        self.normalize()?;
        outward_body::<T, 0>(self);
        if forces {
            inward_body::<T, 0>(self);
            if self.passive && self.n > 1 {
                self.add_passive();
            }
        }
        Ok(())
    }

    /// Refuses numbers that are not finite, makes quaternions unit, chooses the origin.
    #[inline(always)]
    pub(crate) fn normalize(&mut self) -> Result<(), JetError> {
        // 0·x is 0 for finite numbers and NaN otherwise; sums vectorise, tests do not.
        let mut zero = T::zero();
        for x in &self.q {
            zero += *x * 0.0;
        }
        for x in &self.y {
            zero += *x * 0.0;
        }
        if !zero.is_zero() {
            return Err(JetError::NotFinite);
        }
        self.origin = self.find_origin();
        if self.tree.nq == self.tree.nv {
            return Ok(());
        }
        let tree = std::sync::Arc::clone(&self.tree);
        for stage in &tree.stages {
            if matches!(stage.kind, StageKind::Ball | StageKind::Free) {
                let q = Quat::from_slice(&self.q[stage.q..stage.q + 4]);
                let norm = q.norm().value();
                if norm < 1e-6 {
                    return Err(JetError::NoDirection { coordinate: stage.q, norm });
                }
                self.q[stage.q..stage.q + 4].copy_from_slice(&q.normalized().to_array());
            }
        }
        Ok(())
    }

    /// Where the first root is: moments about it stay small wherever the mechanism is.
    #[inline(always)]
    fn find_origin(&self) -> Vec3<f64> {
        let Some(root) = self.tree.stages.first() else { return Vec3::zero() };
        let placement = root.placement.unwrap_or_default();
        let q = |i: usize| self.q[root.q + i].value();
        match root.kind {
            StageKind::Free => placement.point(Vec3([q(4), q(5), q(6)])),
            StageKind::Slide(axis) => {
                let mut p = Vec3::zero();
                p[axis] = q(0);
                // A planar root slides along two axes.
                if let Some(second) = self.tree.stages.get(1)
                    && second.parent == Some(0)
                    && second.placement.is_none()
                    && let StageKind::Slide(other) = second.kind
                {
                    p[other] = self.q[second.q].value();
                }
                placement.point(p)
            }
            _ => placement.pos,
        }
    }
}

/// Pose at order 0 of a stage on a frame that is placed already.
#[inline(always)]
pub(crate) fn place<T: Real>(stage: &Stage, before: Pose<T>, q: &[T]) -> Pose<T> {
    match stage.kind {
        StageKind::Turn(axis) => {
            let (sin, cos) = q[stage.q].sin_cos();
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            let mut rot = before.rot;
            for row in 0..3 {
                let (x, y) = (before.rot.0[row][a], before.rot.0[row][b]);
                rot.0[row][a] = x * cos + y * sin;
                rot.0[row][b] = y * cos - x * sin;
            }
            Pose::new(rot, before.pos)
        }
        StageKind::Slide(axis) => Pose::new(before.rot, before.pos + before.rot.column(axis) * q[stage.q]),
        StageKind::Ball => {
            let r = Quat::from_slice(&q[stage.q..stage.q + 4]).to_matrix();
            Pose::new(before.rot * r, before.pos)
        }
        StageKind::Free => {
            let q = &q[stage.q..stage.q + 7];
            before * Pose::from_quat(Quat::from_slice(q), Vec3([q[4], q[5], q[6]]))
        }
    }
}

/// Column `c` of a stage at order 0: `w = R S_w`, `v = R S_v + p × w`.
#[inline(always)]
pub(crate) fn first_column<T: Real>(kind: StageKind, pose: &Pose<T>, c: usize) -> Twist<T> {
    let (turns, axis) = match kind {
        StageKind::Turn(axis) => (true, axis),
        StageKind::Slide(axis) => (false, axis),
        StageKind::Ball => (true, c),
        StageKind::Free => (c < 3, c % 3),
    };
    let w = pose.rot.column(axis);
    if turns { Twist::new(w, pose.pos.cross(w)) } else { Twist::new(Vec3::zero(), w) }
}

/// The frame a stage moves on, at order 0.
#[inline(always)]
pub(crate) fn before<T: Real>(stage: &Stage, poses: &[Pose<T>], origin: Vec3<f64>) -> Pose<T> {
    match (stage.parent, &stage.placement) {
        (Some(p), Some(x)) => poses[p] * Pose::constant(x),
        (Some(p), None) => poses[p],
        (None, x) => {
            let x = x.unwrap_or_default();
            Pose::constant(&Pose::new(x.rot, x.pos - origin))
        }
    }
}

/// World inertia at order 0.
#[inline(always)]
pub(crate) fn first_inertia<T: Real>(inertia: &Inertia, pose: &Pose<T>) -> InertiaCoefficient<T> {
    let g = Inertia::constant(inertia).transformed(pose);
    InertiaCoefficient { moment: g.moment, rot: g.rot }
}

fn outward<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    outward_body::<T, N>(ws);
}

#[inline(always)]
fn outward_body<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    let n = if N == 0 { ws.n } else { N };
    let nv = ws.tree.nv;
    let tree = &*ws.tree;
    for (i, stage) in tree.stages.iter().enumerate() {
        let pose = place(stage, before(stage, &ws.poses, ws.origin), &ws.q);
        ws.poses[i] = pose;
        let (done, rest) = ws.v.split_at_mut(i * n);
        let velocity = &mut rest[..n];
        let parent: Option<&[Twist<T>]> = stage.parent.map(|p| &done[p * n..(p + 1) * n]);
        for c in 0..stage.nv {
            ws.s[(stage.v + c) * (n + 1)] = first_column(stage.kind, &pose, c);
        }
        if stage.nv == 1 {
            let s = &mut ws.s[stage.v * (n + 1)..(stage.v + 1) * (n + 1)];
            for l in 0..n {
                let mut sum = parent.map_or(Twist::zero(), |p| p[l]);
                for m in 0..=l {
                    sum += s[m] * ws.y[(l - m) * nv + stage.v];
                }
                velocity[l] = sum;
                s[l + 1] = match parent {
                    Some(p) => cross_at(p, s, l).scale(1.0 / next(l)),
                    None => Twist::zero(),
                };
            }
        } else {
            for l in 0..n {
                let mut sum = parent.map_or(Twist::zero(), |p| p[l]);
                for c in stage.v..stage.v + stage.nv {
                    let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
                    for m in 0..=l {
                        sum += s[m] * ws.y[(l - m) * nv + c];
                    }
                }
                velocity[l] = sum;
                for c in stage.v..stage.v + stage.nv {
                    let s = &mut ws.s[c * (n + 1)..(c + 1) * (n + 1)];
                    s[l + 1] = cross_at(velocity, s, l).scale(1.0 / next(l));
                }
            }
        }
    }
}

fn inward<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    inward_body::<T, N>(ws);
}

#[inline(always)]
fn inward_body<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    let n = if N == 0 { ws.n } else { N };
    let nv = ws.tree.nv;
    let tree = &*ws.tree;
    let g = Vec3::constant(tree.gravity);
    for (i, stage) in tree.stages.iter().enumerate() {
        let ii = &mut ws.ii[i * (n + 1)..(i + 1) * (n + 1)];
        let h = &mut ws.h[i * n..(i + 1) * n];
        if !stage.massive {
            ii.fill(InertiaCoefficient::zero());
            h.fill(Wrench::zero());
            ws.mass_c[i] = T::zero();
            continue;
        }
        let v = &ws.v[i * n..(i + 1) * n];
        let mass = T::from_f64(stage.inertia.mass);
        ii[0] = first_inertia(&stage.inertia, &ws.poses[i]);
        for l in 0..n {
            if l + 1 < n {
                ii[l + 1] = inertia_next(mass, v, ii, l);
            } else {
                ii[n] = last_moment(mass, v, ii, l);
            }
            h[l] = inertia_at(mass, ii, v, l);
        }
        ws.mass_c[i] = mass;
    }
    if ws.composites {
        ws.iic.copy_from_slice(&ws.ii);
    } else {
        for k in 0..ws.ii.len() {
            ws.iic[k].moment = ws.ii[k].moment;
        }
    }
    ws.hc.copy_from_slice(&ws.h);
    for (i, stage) in tree.stages.iter().enumerate().rev() {
        if let Some(p) = stage.parent {
            ws.mass_c[p] = ws.mass_c[p] + ws.mass_c[i];
            let (low, high) = ws.iic.split_at_mut(i * (n + 1));
            let (to, from) = (&mut low[p * (n + 1)..(p + 1) * (n + 1)], &high[..n + 1]);
            for l in 0..n + 1 {
                if ws.composites {
                    to[l] = to[l].plus(&from[l]);
                } else {
                    to[l].moment += from[l].moment;
                }
            }
            let (low, high) = ws.hc.split_at_mut(i * n);
            let (to, from) = (&mut low[p * n..(p + 1) * n], &high[..n]);
            for l in 0..n {
                to[l] += from[l];
            }
        }
        if n == 1 {
            continue;
        }
        let hc = &ws.hc[i * n..(i + 1) * n];
        let iic = &ws.iic[i * (n + 1)..(i + 1) * (n + 1)];
        let fc = &mut ws.fc[i * (n - 1)..(i + 1) * (n - 1)];
        for l in 0..n - 1 {
            let mut f = hc[l + 1].scale(next(l));
            f.ang -= iic[l].moment.cross(g);
            if l == 0 {
                f.lin -= g * ws.mass_c[i];
            }
            fc[l] = f;
        }
        for c in stage.v..stage.v + stage.nv {
            let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
            for l in 0..n - 1 {
                ws.tau[l * nv + c] = dot_at(s, fc, l);
            }
        }
    }
}

/// The first moment at the order where the rotational inertia is not needed any more.
#[inline(always)]
fn last_moment<T: Real>(
    mass: T,
    v: &[Twist<T>],
    ii: &[InertiaCoefficient<T>],
    l: usize,
) -> InertiaCoefficient<T> {
    let mut moment = v[l].lin * mass;
    for m in 0..=l {
        moment += v[m].ang.cross(ii[l - m].moment);
    }
    InertiaCoefficient { moment: moment.scale(1.0 / next(l)), ..InertiaCoefficient::zero() }
}

/// Pose jets of a frame that moves with the velocity jet `v`, from its pose at order 0: `R' = ŵ R`, `p' = v + w × p`.
#[inline(always)]
pub(crate) fn pose_jet<T: Real>(
    pose: &Pose<T>,
    v: &[Twist<T>],
    rot: &mut [Mat3<T>],
    pos: &mut [Vec3<T>],
    count: usize,
) {
    rot[0] = pose.rot;
    pos[0] = pose.pos;
    for l in 0..count - 1 {
        let mut p = v[l].lin;
        let mut r = Mat3::zero();
        for m in 0..=l {
            let w = v[m].ang;
            p += w.cross(pos[l - m]);
            r = r + w.skew() * rot[l - m];
        }
        let f = 1.0 / next(l);
        pos[l + 1] = p.scale(f);
        rot[l + 1] = r * T::from_f64(f);
    }
}
