//! Velocities as functions of the tangent: `δy_l = (l+1) ξ_{l+1} + Σ_m ad(y_{l−m}) ξ_m`, (4.4), and its transpose.
//!
//! For one-axis joints `ad` vanishes and the velocity is the derivative of the coordinate. For ball joints it is the
//! cross product, for free joints the motion cross product.

use super::factorial;
use super::stage::{StageKind, StageTree};
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Quat, Twist, Vec3, Wrench};

#[inline(always)]
fn three<T: Real>(x: &[T]) -> Vec3<T> {
    Vec3([x[0], x[1], x[2]])
}

impl<T: Real> JetWorkspace<T> {
    /// Weights on velocity coefficient `l` of all coordinates, added to the tangent's.
    #[inline(always)]
    pub(crate) fn weigh_rates(&mut self, l: usize, bar: impl Fn(usize) -> T) {
        let nv = self.tree.nv;
        let (xi_bar, y) = (&mut self.products.xi_bar, &self.y);
        for c in 0..nv {
            xi_bar[(l + 1) * nv + c] += bar(c) * (l + 1) as f64;
        }
        if self.tree.nq == nv {
            return;
        }
        for stage in &self.tree.stages {
            let v = stage.v;
            match stage.kind {
                StageKind::Ball => {
                    let g = Vec3([bar(v), bar(v + 1), bar(v + 2)]);
                    for m in 0..=l {
                        // g · (y × ξ) = (g × y) · ξ.
                        let d = g.cross(three(&y[(l - m) * nv + v..]));
                        (0..3).for_each(|i| xi_bar[m * nv + v + i] += d[i]);
                    }
                }
                StageKind::Free => {
                    let g = Wrench::from_array(std::array::from_fn(|i| bar(v + i)));
                    for m in 0..=l {
                        let at = (l - m) * nv + v;
                        let d = -Twist::new(three(&y[at..]), three(&y[at + 3..])).cross_wrench(g);
                        let d = d.to_array();
                        (0..6).for_each(|i| xi_bar[m * nv + v + i] += d[i]);
                    }
                }
                _ => {}
            }
        }
    }
}

impl StageTree {
    /// How a sample `x` (configuration, then velocity, acceleration, … in plain derivatives) changes when derivative `m`
    /// of tangent coordinate `c` does: calls `change(index, rate)` for every number that does.
    pub(crate) fn tangent_of_sample<T: Real>(
        &self,
        x: &[T],
        (m, c): (usize, usize),
        mut change: impl FnMut(usize, T),
    ) {
        let (nq, nv) = (self.nq, self.nv);
        let stage = &self.stages[self.column_stage[c]];
        let i = c - stage.v;
        if m > 0 {
            change(nq + (m - 1) * nv + c, T::one());
        }
        match stage.kind {
            StageKind::Turn(_) | StageKind::Slide(_) => {
                if m == 0 {
                    change(stage.q, T::one());
                }
            }
            StageKind::Ball | StageKind::Free => {
                let q = Quat::from_slice(&x[stage.q..stage.q + 4]);
                let mut e = [T::zero(); 6];
                e[i] = T::one();
                let e = Twist::from_array(e);
                if m == 0 && i < 3 {
                    let half = q * Quat { w: T::zero(), v: e.ang.scale(0.5) };
                    half.to_array().into_iter().enumerate().for_each(|(k, d)| change(stage.q + k, d));
                }
                if m == 0 && i >= 3 {
                    let d = q.normalized().rotate(e.lin);
                    (0..3).for_each(|k| change(stage.q + 4 + k, d[k]));
                }
                let orders = (x.len() - nq) / nv.max(1);
                for l in m..orders {
                    // l!/m! ad(y_{l−m}) = binomial ad of the plain derivative.
                    let f = factorial(l) / (factorial(m) * factorial(l - m));
                    let y = &x[nq + (l - m) * nv + stage.v..];
                    let at = nq + l * nv + stage.v;
                    if stage.kind == StageKind::Ball {
                        let d = three(y).cross(e.ang).scale(f);
                        (0..3).for_each(|k| change(at + k, d[k]));
                    } else {
                        let d = Twist::new(three(y), three(&y[3..])).cross(e).scale(f).to_array();
                        (0..6).for_each(|k| change(at + k, d[k]));
                    }
                }
            }
        }
    }
}
