//! Rows of a contact in the variables of the engine: rotation and velocity of the links' joint points, world axes.

use super::super::geometry::{LinkPose, Side};
use super::super::ldu::{Block, Six, angular, dot, linear};
use super::super::rotation_map::RotationMap;
use super::item::{Item, Kind};
use super::memory::{Probe, link_at};
use crate::contact_law::{Against, Link, Motion, Tip, Touch, above, box_law, frame_of, slip};
use crate::scalar::Dual;
use crate::spatial::{Mat3, Vec3};

/// The contact at a pose; limits have their distance as the gap.
pub(crate) fn touch(item: &Item, side: &Side, poses: &[LinkPose], q: &[f64]) -> Touch {
    match &item.kind {
        Kind::Pair { tip, center, against } => {
            let [a, b] = item.links.map(|link| link_at(side, poses, link));
            Touch::new(tip, *center, against, &a, &b)
        }
        _ => Touch { gap: gap(item, side, poses, q), ..Touch::default() },
    }
}

/// Its gap alone.
#[inline]
pub(crate) fn gap(item: &Item, side: &Side, poses: &[LinkPose], q: &[f64]) -> f64 {
    match (&item.kind, item.links[0]) {
        (Kind::Pair { tip, center, against: Against::HalfSpace { normal, offset } }, Some(i)) => {
            let link = Link { rot: side.rot[i], pos: poses[i].x };
            above(tip, *center, (*normal, *offset), &link).0
        }
        (Kind::Limit { at, sign, value }, _) => sign * (q[at.q] - value),
        (Kind::Friction { .. } | Kind::Tied { .. }, _) => 0.0,
        _ => touch(item, side, poses, q).gap,
    }
}

/// Rows `H` of a contact at a node: `±[(l + a) × b; b]` for the three directions of its frame. (9.3)
pub(crate) fn node_rows(item: &Item, touch: &Touch, frame: &Mat3, side: &Side, out: &mut [[Six; 3]; 2]) {
    for (x, rows) in out.iter_mut().enumerate() {
        let Some(i) = item.links[x] else { continue };
        let lever = side.rot[i] * touch.core[x] + touch.arm[x] - side.arm[i];
        let s = if x == 0 { 1.0 } else { -1.0 };
        for (k, row) in rows.iter_mut().enumerate() {
            let b = frame.column(k) * s;
            let turn = lever.cross(b);
            *row = [turn[0], turn[1], turn[2], b[0], b[1], b[2]];
        }
    }
}

impl Probe {
    /// Takes the start of an interval from the contact at the node: frame and rows of the forces.
    pub(crate) fn start_at(&mut self, item: &Item, touch: Touch, side: &Side) {
        self.start = touch;
        if let Kind::Pair { .. } = item.kind {
            self.frame = frame_of(touch.normal);
            let mut rows = [[[0.0; 6]; 3]; 2];
            node_rows(item, &touch, &self.frame, side, &mut rows);
            self.force_rows = rows;
        }
    }

    /// `H W` at velocities `[Ω; v]` of the joint points.
    #[inline]
    pub(crate) fn rates(&self, item: &Item, w: &[Six]) -> [f64; 3] {
        self.rates_by(item, &self.force_rows, w)
    }

    /// The same by given rows.
    #[inline]
    pub(crate) fn rates_by(&self, item: &Item, rows: &[[Six; 3]; 2], w: &[Six]) -> [f64; 3] {
        let mut u = [0.0; 3];
        for x in 0..2 {
            if let Some(i) = item.links[x] {
                for k in 0..3 {
                    u[k] += dot(&rows[x][k], &w[i]);
                }
            }
        }
        u
    }
}

/// Everything of an interval that a contact's velocity depends on.
pub(crate) struct Between<'a> {
    pub(crate) map: RotationMap,
    pub(crate) h: f64,
    pub(crate) start: &'a Side,
    pub(crate) end: &'a Side,
    pub(crate) poses: &'a [LinkPose],
    /// Interval velocities `[ω body; v]`.
    pub(crate) w: &'a [Six],
}

impl Between<'_> {
    fn motion(&self, link: Option<usize>) -> Motion {
        match link {
            Some(i) => Motion {
                from: self.start.rot[i],
                to: self.end.rot[i],
                velocity: linear(&self.w[i]),
                turn: self.start.rot[i] * angular(&self.w[i]),
            },
            None => Motion {
                from: Mat3::identity(),
                to: Mat3::identity(),
                velocity: Vec3::zero(),
                turn: Vec3::zero(),
            },
        }
    }

    /// Velocity `u` of a pair over the interval, the contact at its end in `probe.end`. (9.2)
    #[inline]
    pub(crate) fn measure(&self, item: &Item, probe: &mut Probe) {
        let Kind::Pair { tip, center, against } = &item.kind else { return };
        let [a, b] = item.links.map(|link| link_at(self.end, self.poses, link));
        let end = Touch::new(tip, *center, against, &a, &b);
        let [motion_a, motion_b] = item.links.map(|link| self.motion(link));
        let start = &probe.start;
        let mut s = slip(&motion_a, [start.core[0], end.core[0]], [start.arm[0], end.arm[0]], self.h);
        if item.links[1].is_some() {
            s -= slip(&motion_b, [start.core[1], end.core[1]], [start.arm[1], end.arm[1]], self.h);
        }
        probe.end = end;
        probe.u =
            [(end.gap - probe.floor) / self.h, probe.frame.column(1).dot(s), probe.frame.column(2).dot(s)];
    }

    /// Slopes of [`measure`](Self::measure) by the velocities of the joint points at the end.
    #[inline]
    pub(crate) fn slopes(&self, item: &Item, probe: &mut Probe) {
        let Kind::Pair { tip, center, against } = &item.kind else { return };
        match (tip, against, item.links[0]) {
            (Tip::Sphere { .. }, Against::HalfSpace { .. }, Some(i)) => {
                let lever = self.end.rot[i] * *center - self.end.arm[i];
                let phi = angular(&self.w[i]) * (0.5 * self.h);
                let arm = probe.start.arm[0];
                let turn = self.map.rate_matrix(phi);
                for k in 0..3 {
                    let b = probe.frame.column(k);
                    let mut ang = lever.cross(b);
                    if k > 0 {
                        // (R Γ⁻¹ R'ᵀ)ᵀ (a × b)
                        let own = self.start.rot[i].tr_mul(arm.cross(b));
                        ang += self.end.rot[i] * turn.tr_mul(own);
                    }
                    probe.rate_rows[0][k] = [ang[0], ang[1], ang[2], b[0], b[1], b[2]];
                }
            }
            _ => self.dual_slopes(item, tip, *center, against, probe),
        }
    }

    /// The same by dual numbers over the variations of both end poses.
    fn dual_slopes(&self, item: &Item, tip: &Tip, center: Vec3, against: &Against, probe: &mut Probe) {
        type D = Dual<f64, 12>;
        let h = self.h;
        let place = |x: usize| -> (Link<D>, Motion<D>) {
            let Some(i) = item.links[x] else {
                let still = Vec3::zero();
                let motion =
                    Motion { from: Mat3::identity(), to: Mat3::identity(), velocity: still, turn: still };
                return (Link::ground(), motion);
            };
            let turn = Vec3([0, 1, 2].map(|k| D::variable(0.0, 6 * x + k)));
            let shift = Vec3([0, 1, 2].map(|k| D::variable(0.0, 6 * x + 3 + k)));
            let (rot, arm) = (Mat3::<D>::constant(self.end.rot[i]), Vec3::<D>::constant(self.end.arm[i]));
            let rot = rot + turn.skew() * rot;
            let moved = shift - turn.cross(arm);
            let phi = angular(&self.w[i]) * (0.5 * h);
            let rate = self.start.rot[i] * self.map.rate_matrix(phi) * self.end.rot[i].transpose();
            let inverse = D::constant(1.0 / h);
            let motion = Motion {
                from: self.start.rot[i],
                to: rot,
                velocity: Vec3::constant(linear(&self.w[i])) + moved * inverse,
                turn: Vec3::constant(self.start.rot[i] * angular(&self.w[i]))
                    + Mat3::constant(rate) * turn * inverse,
            };
            (Link { rot, pos: Vec3::constant(self.poses[i].x) + moved }, motion)
        };
        let ((a, motion_a), (b, motion_b)) = (place(0), place(1));
        let end = Touch::<D>::new(tip, center, against, &a, &b);
        let start = &probe.start;
        let was = |x: usize| (Vec3::constant(start.core[x]), Vec3::constant(start.arm[x]));
        let ((core, arm), (core_b, arm_b)) = (was(0), was(1));
        let mut s = slip(&motion_a, [core, end.core[0]], [arm, end.arm[0]], h);
        if item.links[1].is_some() {
            s -= slip(&motion_b, [core_b, end.core[1]], [arm_b, end.arm[1]], h);
        }
        let rows = [
            end.gap.eps,
            Vec3::<D>::constant(probe.frame.column(1)).dot(s).eps.map(|x| x * h),
            Vec3::<D>::constant(probe.frame.column(2)).dot(s).eps.map(|x| x * h),
        ];
        for x in 0..2 {
            for k in 0..3 {
                probe.rate_rows[x][k] = std::array::from_fn(|m| rows[k][6 * x + m]);
            }
        }
    }
}

/// Weight of the proximal term: what the law leaves undetermined is decided by it. (9.12)
pub(crate) const PROXIMAL: f64 = 1e-7;

impl Probe {
    /// Residual of the law at the velocity and impulse at hand.
    #[inline]
    pub(crate) fn judge(&mut self, item: &Item, smoothing: f64) {
        self.residual = if let Kind::Pair { .. } = item.kind {
            let law = crate::contact_law::Law { smoothing: smoothing / item.arm, ..self.law };
            law.response(&self.u, &self.gam).residual
        } else {
            [self.one_row(item, smoothing)[0], 0.0, 0.0]
        };
    }

    /// Residual of an item with one row, and its slopes by velocity and impulse, the proximal term in the latter.
    pub(crate) fn one_row(&self, item: &Item, smoothing: f64) -> [f64; 3] {
        let smoothing = smoothing / item.arm;
        let [r, a, b] = match item.kind {
            Kind::Friction { .. } => {
                box_law(self.bound, item.rho, smoothing, self.sign, self.u[0], self.gam[0])
            }
            Kind::Tied { value: None, .. } => [item.rho * self.u[0], item.rho, 0.0],
            _ => {
                let law = crate::contact_law::Law { smoothing, ..self.law };
                let made = law.response(&self.u, &self.gam);
                [made.residual[0], made.by_velocity[0][0], made.by_impulse[0][0]]
            }
        };
        [r, a, (1.0 - PROXIMAL) * b + PROXIMAL]
    }

    /// `B̃⁻¹ r` and `B̃⁻¹ A` of the elimination; for a closure's rows see [`closure_rows`](Self::closure_rows).
    pub(crate) fn eliminate(&mut self, item: &Item, smoothing: f64) {
        if item.rows() == 1 {
            let [r, a, b] = self.one_row(item, smoothing);
            self.offset = [r / b, 0.0, 0.0];
            self.stiffness[0][0] = a / b;
            return;
        }
        let law = crate::contact_law::Law { smoothing: smoothing / item.arm, ..self.law };
        let response = law.response(&self.u, &self.gam);
        let mut b = Mat3(response.by_impulse) * (1.0 - PROXIMAL);
        for k in 0..3 {
            b.0[k][k] += PROXIMAL;
        }
        let inverse = b.inverse();
        self.offset = (inverse * Vec3(response.residual)).0;
        self.stiffness = (inverse * Mat3(response.by_velocity)).0;
    }

    /// Slope by velocity over the contact mass, own block over it, residual over it, for rows of a closure.
    pub(crate) fn closure_rows(
        &self,
        item: &Item,
        smoothing: f64,
    ) -> ([[f64; 3]; 3], [[f64; 3]; 3], [f64; 3]) {
        let law = crate::contact_law::Law { smoothing, ..self.law };
        let response = law.response(&self.u, &self.gam);
        let inverse = 1.0 / item.rho;
        let a = response.by_velocity.map(|row| row.map(|x| x * inverse));
        let mut b = response.by_impulse.map(|row| row.map(|x| x * (1.0 - PROXIMAL) * inverse));
        for k in 0..3 {
            b[k][k] += PROXIMAL * inverse;
        }
        (a, b, response.residual.map(|x| x * inverse))
    }

    /// Adds `HᵀSJ` to the block of a link.
    #[inline]
    pub(crate) fn add_block(&self, x: usize, rate_rows: &[Six; 3], block: &mut Block) {
        for m in 0..3 {
            // Row m of S J.
            let mut sj = [0.0; 6];
            for k in 0..3 {
                let s = self.stiffness[m][k];
                for (t, j) in sj.iter_mut().zip(&rate_rows[k]) {
                    *t += s * j;
                }
            }
            let force = &self.force_rows[x][m];
            for (row, f) in block.iter_mut().zip(force) {
                for (t, s) in row.iter_mut().zip(&sj) {
                    *t += f * s;
                }
            }
        }
    }

    /// Adds `Hᵀ g` to an impulse on a link.
    #[inline]
    pub(crate) fn add_impulse(&self, x: usize, g: &[f64; 3], s: f64, out: &mut Six) {
        for k in 0..3 {
            for (t, f) in out.iter_mut().zip(&self.force_rows[x][k]) {
                *t += s * f * g[k];
            }
        }
    }
}
