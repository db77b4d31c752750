//! Weights on quantities, collected for one adjoint sweep (4.14): everything a mixed cost needs.
//!
//! Each `weigh_…` adds the transpose of one row of the table of generating jets to the accumulators of the sweep.

use super::forward::pose_jet;
use super::stage::Place;
use super::taylor::next;
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Twist, Vec3, Wrench};

impl<T: Real> JetWorkspace<T> {
    /// Pose jet of a target to `count` coefficients, in `self.link`; the target moves.
    #[inline(always)]
    fn load_frame(&mut self, target: &Place, count: usize) -> usize {
        let i = target.stage.unwrap_or(0);
        let n = self.n;
        let pose = self.poses[i] * Pose::constant(&target.pose);
        let link = &mut self.link;
        pose_jet(&pose, &self.v[i * n..(i + 1) * n], &mut link.rot, &mut link.pos, count);
        i
    }

    /// Coefficient `l` of a target's twist in its own frame.
    #[inline(always)]
    pub(crate) fn local_velocity(&mut self, target: &Place, l: usize) -> Twist<T> {
        let i = self.load_frame(target, l + 1);
        let v = &self.v[i * self.n..];
        let link = &self.link;
        let mut out = Twist::zero();
        for m in 0..=l {
            let mut lin = v[m].lin;
            for a in 0..=m {
                lin -= link.pos[a].cross(v[m - a].ang);
            }
            out.ang += link.rot[l - m].tr_mul(v[m].ang);
            out.lin += link.rot[l - m].tr_mul(lin);
        }
        out
    }

    /// Weights `mu` on coefficient `l` of a target's twist in its own frame. The frame is loaded by
    /// [`local_velocity`](Self::local_velocity).
    #[inline(always)]
    pub(crate) fn weigh_local_velocity(&mut self, target: &Place, l: usize, mu: Twist<T>) {
        let i = target.stage.unwrap_or(0);
        let link = &self.link;
        let eta_bar = &mut self.products.eta_bar[i * (self.n + 1)..];
        for m in 0..=l {
            let force = link.rot[l - m] * mu.lin;
            let mut torque = link.rot[l - m] * mu.ang;
            for j in m..=l {
                torque += link.pos[j - m].cross(link.rot[l - j] * mu.lin);
            }
            eta_bar[m + 1] += Wrench::new(torque, force).scale(next(m));
        }
    }

    /// Rotation of a target at order 0.
    #[inline(always)]
    pub(crate) fn rotation(&self, target: &Place) -> Mat3<T> {
        let at: Mat3<T> = Mat3::constant(target.pose.rot);
        target.stage.map_or(at, |i| self.poses[i].rot * at)
    }

    /// Weights on a world rotation vector of a target at order 0.
    #[inline(always)]
    pub(crate) fn weigh_rotation(&mut self, target: &Place, torque: Vec3<T>) {
        if let Some(i) = target.stage {
            self.products.eta_bar[i * (self.n + 1)].ang += torque;
        }
    }

    /// Coefficient `l` of the world position of a target.
    #[inline(always)]
    pub(crate) fn point(&mut self, target: &Place, l: usize) -> Vec3<T> {
        let o = if l == 0 { Vec3::constant(self.origin) } else { Vec3::zero() };
        if target.stage.is_some() {
            self.load_frame(target, l + 1);
            self.link.pos[l] + o
        } else if l == 0 {
            Vec3::constant(target.pose.pos)
        } else {
            Vec3::zero()
        }
    }

    /// Weights on coefficient `l` of a target's position. The frame is loaded by [`point`](Self::point).
    #[inline(always)]
    pub(crate) fn weigh_point(&mut self, target: &Place, l: usize, lambda: Vec3<T>) {
        let Some(i) = target.stage else { return };
        let eta_bar = &mut self.products.eta_bar[i * (self.n + 1)..];
        eta_bar[l].lin += lambda;
        for m in 0..=l {
            eta_bar[m].ang += self.link.pos[l - m].cross(lambda);
        }
    }

    /// Coefficient `l` of the centre of mass about the common origin.
    #[inline(always)]
    fn com_relative(&self, l: usize) -> Vec3<T> {
        let mut c = Vec3::zero();
        if self.tree.mass > 0.0 {
            for (i, stage) in self.tree.stages.iter().enumerate() {
                if stage.parent.is_none() {
                    c += self.iic[i * (self.n + 1) + l].moment;
                }
            }
            c = c.scale(1.0 / self.tree.mass);
        }
        c
    }

    /// Coefficient `l` of the centre of mass in the world.
    #[inline(always)]
    pub(crate) fn com(&self, l: usize) -> Vec3<T> {
        let c = self.com_relative(l);
        if l == 0 { c + Vec3::constant(self.origin) } else { c }
    }

    /// Weights on coefficient `l` of the centre of mass.
    #[inline(always)]
    pub(crate) fn weigh_com(&mut self, l: usize, lambda: Vec3<T>) {
        if self.tree.mass <= 0.0 {
            return;
        }
        let (n, lambda) = (self.n, lambda.scale(1.0 / self.tree.mass));
        for (i, stage) in self.tree.stages.iter().enumerate() {
            if !stage.massive {
                continue;
            }
            let eta_bar = &mut self.products.eta_bar[i * (n + 1)..];
            let ii = &self.ii[i * (n + 1)..];
            eta_bar[l].lin += lambda.scale(stage.inertia.mass);
            for m in 0..=l {
                eta_bar[m].ang += ii[l - m].moment.cross(lambda);
            }
        }
    }

    #[inline(always)]
    fn total(&self, l: usize) -> Wrench<T> {
        let mut h = Wrench::zero();
        for (i, stage) in self.tree.stages.iter().enumerate() {
            if stage.parent.is_none() {
                h += self.hc[i * self.n + l];
            }
        }
        h
    }

    /// Coefficient `l` of the total momentum, about the world origin or the centre of mass.
    #[inline(always)]
    pub(crate) fn total_momentum(&self, l: usize, about_com: bool) -> Wrench<T> {
        let mut h = self.total(l);
        if about_com {
            for m in 0..=l {
                h.ang -= self.com_relative(m).cross(self.total(l - m).lin);
            }
        } else {
            h.ang += Vec3::constant(self.origin).cross(h.lin);
        }
        h
    }

    /// Weights on coefficient `l` of the total momentum.
    #[inline(always)]
    pub(crate) fn weigh_total_momentum(&mut self, l: usize, about_com: bool, mu: Twist<T>) {
        self.products.has_momentum = true;
        self.products.momentum_bar[l] += mu;
        if about_com {
            // −(c × P)·μ: to P as −(μ × c), to c as −(P × μ).
            for m in 0..=l {
                let (c, p) = (self.com_relative(m), self.total(l - m).lin);
                self.products.momentum_bar[l - m].lin -= mu.ang.cross(c);
                self.weigh_com(m, -p.cross(mu.ang));
            }
        } else {
            self.products.momentum_bar[l].lin += mu.ang.cross(Vec3::constant(self.origin));
        }
    }
}
