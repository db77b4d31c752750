//! One link over one step: its kinetic action as a polynomial curve of rotation matrices and positions. (8.2) to (8.5)

use super::table::{NODES, Table};
use crate::ldu::Six;
use crate::scalar::Real;
use crate::spatial::{Mat3, Quat, Vec3};

/// `E = R(ρ) − 1 = 2w S(v) + 2S(v)²`. (8.3)
#[inline(always)]
pub(super) fn increment<T: Real>(rho: Quat<T>) -> Mat3<T> {
    let (w, [x, y, z]) = (rho.w, rho.v.0);
    let (xx, yy, zz) = (x * x, y * y, z * z);
    let (xy, xz, yz) = (x * y, x * z, y * z);
    let (wx, wy, wz) = (w * x, w * y, w * z);
    Mat3([
        [(yy + zz) * -2.0, (xy - wz) * 2.0, (xz + wy) * 2.0],
        [(xy + wz) * 2.0, (xx + zz) * -2.0, (yz - wx) * 2.0],
        [(xz - wy) * 2.0, (yz + wx) * 2.0, (xx + yy) * -2.0],
    ])
}

/// Second moments `Jd = tr(J)/2 − J` of an inertia.
pub(super) fn second_moments(inertia: &Mat3) -> Mat3 {
    Mat3::diagonal(0.5 * inertia.trace()) - *inertia
}

/// `a(Z)`, with `tr(S(z)Z) = z·a(Z)`, of `Z = B Aᵀ`.
#[inline(always)]
pub(super) fn skew_part<T: Real>(b: &Mat3<T>, a: &Mat3<T>) -> Vec3<T> {
    let z = |r: usize, c: usize| b.0[r][0] * a.0[c][0] + b.0[r][1] * a.0[c][1] + b.0[r][2] * a.0[c][2];
    Vec3([z(1, 2) - z(2, 1), z(2, 0) - z(0, 2), z(0, 1) - z(1, 0)])
}

/// The nodes of one link: increments of the rotation matrices and of the positions, the start's included.
#[derive(Clone, Copy)]
pub(super) struct Curve {
    pub(super) turn: [Mat3; NODES],
    pub(super) dx: [Vec3; NODES],
}

impl Curve {
    #[inline(always)]
    pub(super) fn new(s: usize, node: impl Fn(usize) -> (Quat, Vec3)) -> Self {
        let mut out = Self { turn: [Mat3::zero(); NODES], dx: [Vec3::zero(); NODES] };
        for ga in 1..=s {
            let (rho, dx) = node(ga);
            out.turn[ga] = increment(rho);
            out.dx[ga] = dx;
        }
        out
    }

    /// `Σ_γ C^{αγ} E^γ` and `Σ_γ C^{αγ} dx^γ`.
    #[inline(always)]
    fn coupled(&self, table: &Table, al: usize, per_step: f64) -> (Mat3, Vec3) {
        let (mut turn, mut dx) = (Mat3::zero(), Vec3::zero());
        for ga in 1..=table.s {
            let c = table.mass[al][ga] * per_step;
            for r in 0..3 {
                for k in 0..3 {
                    turn.0[r][k] += c * self.turn[ga].0[r][k];
                }
                dx[r] += c * self.dx[ga][r];
            }
        }
        (turn, dx)
    }

    /// `B^α = (1 + E^α) Jd⁰`.
    #[inline(always)]
    fn turned(&self, second: &Mat3, al: usize) -> Mat3 {
        if al == 0 { *second } else { *second + self.turn[al] * *second }
    }

    /// `K^α`: the slope of the kinetic action by node α, world axes, about the centre of mass. (8.2)
    #[inline(always)]
    pub(super) fn slope(&self, table: &Table, second: &Mat3, mass: f64, al: usize, per_step: f64) -> Six {
        let (turn, dx) = self.coupled(table, al, per_step);
        let ang = skew_part(&self.turned(second, al), &turn);
        [ang[0], ang[1], ang[2], mass * dx[0], mass * dx[1], mass * dx[2]]
    }

    /// `X^α = B^α (Σ_γ C^{αγ} E^γ)ᵀ`.
    pub(super) fn moment(&self, table: &Table, second: &Mat3, al: usize, per_step: f64) -> Mat3 {
        self.turned(second, al) * self.coupled(table, al, per_step).0.transpose()
    }

    /// `D^{αγ}`: the slope of the rotation part of `K^α` by node γ. (8.4)
    ///
    /// The leading part is the inertia itself: a thin body's would drown in the rounding of its second moments.
    pub(super) fn hessian(&self, table: &Table, inertia: &Mat3, al: usize, ga: usize, per_step: f64) -> Mat3 {
        let second = second_moments(inertia);
        let (e, f) = (self.turn[al], self.turn[ga].transpose());
        let z = e * second + second * f + e * second * f;
        let mut d = (*inertia + Mat3::diagonal(z.trace()) - z.transpose()) * (table.mass[al][ga] * per_step);
        if al == ga {
            let x = self.moment(table, &second, al, per_step);
            d = d + x - Mat3::diagonal(x.trace());
        }
        d
    }
}

/// Angular velocity at node α of the polynomial through the quaternions `ρ`, world axes. (8.5)
#[inline(always)]
pub(super) fn spin<T: Real>(
    table: &Table,
    rho: impl Fn(usize) -> Quat<T>,
    al: usize,
    per_step: f64,
) -> Vec3<T> {
    let here = rho(al).conj();
    let mut sum = Vec3::zero();
    for be in (0..=table.s).filter(|be| *be != al) {
        sum += (rho(be) * here).v.scale(table.b[al][be]);
    }
    sum.scale(2.0 * per_step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;
    type D = Dual<f64, 6>;

    fn nodes(s: usize) -> Vec<(Quat, Vec3)> {
        let node = |k: usize| {
            let t = k as f64 / s as f64;
            let q = Quat::new(1.0, 0.3 * t, -0.2 * t * t, 0.25 * t).normalized();
            (q, Vec3([0.4 * t, 0.1 * t * t, -0.3 * t]))
        };
        (0..=s).map(node).collect()
    }

    /// The action of (8.2) itself, with node `al` varied in six lanes.
    fn action(t: &Table, h: f64, second: &Mat3, mass: f64, nodes: &[(Quat, Vec3)], al: usize) -> D {
        let vary = |k: usize| {
            let (q, x) = nodes[k];
            let (q, x) = (Quat::<D>::constant(q), Vec3::<D>::constant(x));
            if k != al {
                return (q.to_matrix(), x);
            }
            let lane = |i: usize| D::variable(0.0, i);
            let turn = Vec3([lane(0), lane(1), lane(2)]).scale(0.5);
            let push = Vec3([lane(3), lane(4), lane(5)]);
            ((Quat { w: D::one(), v: turn } * q).to_matrix(), x + push)
        };
        let mut sum = D::zero();
        for a in 0..=t.s {
            for g in 0..=t.s {
                let ((ra, xa), (rg, xg)) = (vary(a), vary(g));
                let turning = (ra * Mat3::constant(*second) * rg.transpose()).trace();
                sum += (turning + xa.dot(xg) * mass) * (0.5 * t.mass[a][g] / h);
            }
        }
        sum
    }

    #[test]
    fn slopes_of_the_action_are_those_of_dual_numbers_and_sum_to_zero() {
        let second = second_moments(&Mat3([[0.5, 0.02, -0.01], [0.02, 0.7, 0.03], [-0.01, 0.03, 0.9]]));
        for s in 1..=6 {
            let (t, h, nodes) = (Table::new(s), 0.1, nodes(s));
            let curve = Curve::new(s, |ga| nodes[ga]);
            let mut sum = [0.0; 6];
            for al in 0..=s {
                let k = curve.slope(&t, &second, 1.3, al, 1.0 / h);
                let dual = action(&t, h, &second, 1.3, &nodes, al);
                for i in 0..6 {
                    assert!((k[i] - dual.eps[i]).abs() < 1e-11, "s = {s}, node {al}: {k:?} {:?}", dual.eps);
                    sum[i] += k[i];
                }
            }
            assert!(sum.iter().all(|x| x.abs() < 1e-12), "s = {s}: {sum:?}");
        }
    }

    #[test]
    fn the_hessian_is_the_slope_of_the_slope() {
        let inertia = Mat3([[0.5, 0.02, -0.01], [0.02, 0.7, 0.03], [-0.01, 0.03, 0.9]]);
        let second = second_moments(&inertia);
        for s in 1..=4 {
            let (t, nodes, step) = (Table::new(s), nodes(s), 1e-5);
            for (al, ga) in (0..=s).flat_map(|al| (1..=s).map(move |ga| (al, ga))) {
                let d = Curve::new(s, |k| nodes[k]).hessian(&t, &inertia, al, ga, 10.0);
                for i in 0..3 {
                    let slope = |by: f64| {
                        let mut moved = nodes.clone();
                        let mut v = Vec3::zero();
                        v[i] = 0.5 * by;
                        moved[ga].0 = (Quat { w: 1.0, v } * nodes[ga].0).normalized();
                        Curve::new(s, |k| moved[k]).slope(&t, &second, 1.0, al, 10.0)
                    };
                    let (plus, minus) = (slope(step), slope(-step));
                    for r in 0..3 {
                        let difference = (plus[r] - minus[r]) / (2.0 * step);
                        assert!((d.0[r][i] - difference).abs() < 1e-7, "s = {s}, ({al}, {ga})");
                    }
                }
            }
        }
    }
}
