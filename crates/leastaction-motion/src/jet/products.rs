//! Matrix-free products with the torque Jacobian and the adjoint sweep of any mix of costs, O(n k²).
//!
//! ```text
//! tangent   η_i = η_pa + Σ s ξ,   δH = N(H) η + II Dη,   δF = D δH − N(IIγ) η − II (γ × η)
//!           δτ = s · δFC + (η × s) · FC                                                        (4.13)
//! adjoint   F̄_i = F̄_pa + s ⋆ λ,   H̄ = Dᵀ F̄,
//!           η̄ = −N(H) ⋆ H̄ + Dᵀ(II ⋆ H̄) + N(IIγ) ⋆ F̄ + γ ×* (II ⋆ F̄) + s ×* ⋆ (FC ⋆ λ)
//!           ξ̄ = s ⋆ Σ_carried η̄                                                                (4.14)
//! ```
//!
//! `⋆` is correlation, the transpose of the jet product.

use super::taylor::{cross_at, cross_force_at, dot_at, inertia_at, next, with_order};
use super::workspace::JetWorkspace;
use super::{JetError, expect};
use crate::scalar::Real;
use crate::spatial::{Twist, Vec3, Wrench};

/// Memory of the tangent and the adjoint sweep.
#[derive(Clone, Debug)]
pub(crate) struct Scratch<T> {
    /// World tangents, `n + 1` per stage.
    pub(crate) eta: Vec<Twist<T>>,
    /// Variation of composite forces, `n − 1` per stage.
    pub(crate) df: Vec<Wrench<T>>,
    /// Variation of link momenta, `n` per stage.
    pub(crate) dh: Vec<Wrench<T>>,
    /// `η̄`, `n + 1` per stage.
    pub(crate) eta_bar: Vec<Wrench<T>>,
    /// `F̄`, `n − 1` per stage.
    pub(crate) f_bar: Vec<Twist<T>>,
    /// `ξ̄`, order-major, `n + 1` orders.
    pub(crate) xi_bar: Vec<T>,
    /// Weights on torques, order-major, `n − 1` orders.
    pub(crate) lambda: Vec<T>,
    /// Weights on the total momentum about the common origin, `n`.
    pub(crate) momentum_bar: Vec<Twist<T>>,
    pub(crate) has_torque: bool,
    pub(crate) has_momentum: bool,
    h_bar: Vec<Twist<T>>,
    rate: Vec<Twist<T>>,
    wrench: Vec<Wrench<T>>,
}

impl<T: Real> Scratch<T> {
    pub(crate) fn new(ns: usize, nv: usize, n: usize) -> Self {
        Self {
            eta: vec![Twist::zero(); ns * (n + 1)],
            df: vec![Wrench::zero(); ns * (n - 1)],
            dh: vec![Wrench::zero(); ns * n],
            eta_bar: vec![Wrench::zero(); ns * (n + 1)],
            f_bar: vec![Twist::zero(); ns * (n - 1)],
            xi_bar: vec![T::zero(); nv * (n + 1)],
            lambda: vec![T::zero(); nv * (n - 1)],
            momentum_bar: vec![Twist::zero(); n],
            has_torque: false,
            has_momentum: false,
            h_bar: vec![Twist::zero(); n],
            rate: vec![Twist::zero(); n],
            wrench: vec![Wrench::zero(); n],
        }
    }
}

impl JetWorkspace<f64> {
    /// `J ξ`: change of all torques along the tangent jet `xi` (order-major, `xi[m * nv + c]`, `k + 3` orders), written
    /// order-major into `out` (`k + 1` orders). Valid after [`forward`](Self::forward); does not allocate.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn torque_jvp(&mut self, xi: &[f64], out: &mut [f64]) -> Result<(), JetError> {
        let nv = self.tree.nv;
        expect("xi", xi.len(), nv * (self.n + 1))?;
        expect("out", out.len(), nv * (self.n - 1))?;
        with_order!(self.n, tangent::<f64; N>(self, xi, out));
        if self.passive && self.n > 1 {
            self.add_passive_tangent(xi, out);
        }
        Ok(())
    }

    /// `Jᵀ λ`: pull-back of weights on torques (`k + 1` orders) to tangent coordinates (`k + 3` orders), order-major.
    /// Valid after [`forward`](Self::forward); does not allocate.
    ///
    /// # Errors
    /// If a length does not fit.
    pub fn torque_vjp(&mut self, lambda: &[f64], out: &mut [f64]) -> Result<(), JetError> {
        let nv = self.tree.nv;
        expect("lambda", lambda.len(), nv * (self.n - 1))?;
        expect("out", out.len(), nv * (self.n + 1))?;
        self.clear_adjoint();
        self.products.lambda.copy_from_slice(lambda);
        self.products.has_torque = true;
        self.run_adjoint();
        out.copy_from_slice(&self.products.xi_bar);
        Ok(())
    }
}

impl<T: Real> JetWorkspace<T> {
    /// The adjoint sweep compiled into the caller: for lanes.
    #[inline(always)]
    pub(crate) fn run_adjoint_inline(&mut self) {
        adjoint_body::<T, 0>(self);
        self.add_passive_adjoint();
    }

    /// Starts an adjoint evaluation: no weights yet.
    #[inline(always)]
    pub(crate) fn clear_adjoint(&mut self) {
        let p = &mut self.products;
        p.eta_bar.fill(Wrench::zero());
        p.xi_bar.fill(T::zero());
        p.lambda.fill(T::zero());
        p.momentum_bar.fill(Twist::zero());
        p.has_torque = false;
        p.has_momentum = false;
    }

    /// The adjoint sweep for the weights collected so far; the result is in `products.xi_bar`.
    pub(crate) fn run_adjoint(&mut self) {
        with_order!(self.n, adjoint::<T; N>(self));
        self.add_passive_adjoint();
    }
}

fn tangent<T: Real, const N: usize>(ws: &mut JetWorkspace<T>, xi: &[T], out: &mut [T]) {
    let n = if N == 0 { ws.n } else { N };
    let nv = ws.tree.nv;
    let g = Vec3::constant(ws.tree.gravity);
    let p = &mut ws.products;
    for (i, stage) in ws.tree.stages.iter().enumerate() {
        let (done, rest) = p.eta.split_at_mut(i * (n + 1));
        let eta = &mut rest[..n + 1];
        match stage.parent {
            Some(pa) => eta.copy_from_slice(&done[pa * (n + 1)..(pa + 1) * (n + 1)]),
            None => eta.fill(Twist::zero()),
        }
        for c in stage.v..stage.v + stage.nv {
            let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
            for l in 0..n + 1 {
                for m in 0..=l {
                    eta[l] += s[l - m] * xi[m * nv + c];
                }
            }
        }
        if n == 1 {
            continue;
        }
        let df = &mut p.df[i * (n - 1)..(i + 1) * (n - 1)];
        if !stage.massive {
            df.fill(Wrench::zero());
            continue;
        }
        let ii = &ws.ii[i * (n + 1)..(i + 1) * (n + 1)];
        let h = &ws.h[i * n..(i + 1) * n];
        let mass = T::from_f64(stage.inertia.mass);
        for l in 0..n {
            p.rate[l] = eta[l + 1].scale(next(l));
        }
        let dh = &mut p.dh[i * n..(i + 1) * n];
        for l in 0..n {
            dh[l] = cross_force_at(eta, h, l) + inertia_at(mass, ii, &p.rate, l);
        }
        for l in 0..n - 1 {
            let mut f = dh[l + 1].scale(next(l));
            // −N(IIγ) η − II (γ × η),  IIγ = [mc × g; m g],  γ × η = [0; g × η_w].
            f -= eta[l].cross_wrench(Wrench::new(Vec3::zero(), g * mass));
            f.lin -= g.cross(eta[l].ang) * mass;
            for m in 0..=l {
                let mc = ii[m].moment;
                let w = eta[l - m].ang;
                f.ang -= w.cross(mc.cross(g)) + mc.cross(g.cross(w));
            }
            df[l] = f;
        }
    }
    if n == 1 {
        return;
    }
    for (i, stage) in ws.tree.stages.iter().enumerate().rev() {
        if let Some(pa) = stage.parent {
            let (low, high) = p.df.split_at_mut(i * (n - 1));
            for l in 0..n - 1 {
                low[pa * (n - 1) + l] += high[l];
            }
        }
        let df = &p.df[i * (n - 1)..(i + 1) * (n - 1)];
        let fc = &ws.fc[i * (n - 1)..(i + 1) * (n - 1)];
        let eta = &p.eta[i * (n + 1)..(i + 1) * (n + 1)];
        for c in stage.v..stage.v + stage.nv {
            let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
            for l in 0..n - 1 {
                p.rate[l] = cross_at(eta, s, l);
            }
            for l in 0..n - 1 {
                out[l * nv + c] = dot_at(s, df, l) + dot_at(&p.rate, fc, l);
            }
        }
    }
}

fn adjoint<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    adjoint_body::<T, N>(ws);
}

#[inline(always)]
fn adjoint_body<T: Real, const N: usize>(ws: &mut JetWorkspace<T>) {
    let n = if N == 0 { ws.n } else { N };
    let nv = ws.tree.nv;
    let g = Vec3::constant(ws.tree.gravity);
    let p = &mut ws.products;
    let torque = p.has_torque && n > 1;
    if torque || p.has_momentum {
        for (i, stage) in ws.tree.stages.iter().enumerate() {
            let eta_bar = &mut p.eta_bar[i * (n + 1)..(i + 1) * (n + 1)];
            for l in 0..n {
                p.h_bar[l] = p.momentum_bar[l];
            }
            if torque {
                let (done, rest) = p.f_bar.split_at_mut(i * (n - 1));
                let f_bar = &mut rest[..n - 1];
                match stage.parent {
                    Some(pa) => f_bar.copy_from_slice(&done[pa * (n - 1)..(pa + 1) * (n - 1)]),
                    None => f_bar.fill(Twist::zero()),
                }
                let fc = &ws.fc[i * (n - 1)..(i + 1) * (n - 1)];
                for c in stage.v..stage.v + stage.nv {
                    let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
                    for m in 0..n - 1 {
                        let mut weighted = Wrench::zero();
                        for l in m..n - 1 {
                            let lambda = p.lambda[l * nv + c];
                            f_bar[m] += s[l - m] * lambda;
                            weighted += fc[l - m] * lambda;
                        }
                        p.wrench[m] = weighted;
                    }
                    for m in 0..n - 1 {
                        for l in m..n - 1 {
                            eta_bar[m] += s[l - m].cross_wrench(p.wrench[l]);
                        }
                    }
                }
                for l in 0..n - 1 {
                    p.h_bar[l + 1] += f_bar[l].scale(next(l));
                }
            }
            if !stage.massive {
                continue;
            }
            let ii = &ws.ii[i * (n + 1)..(i + 1) * (n + 1)];
            let h = &ws.h[i * n..(i + 1) * n];
            let mass = T::from_f64(stage.inertia.mass);
            for m in 0..n {
                let mut turned = Wrench::zero();
                let mut moved = Wrench::new(Vec3::zero(), p.h_bar[m].lin * mass);
                for l in m..n {
                    turned += p.h_bar[l].cross_wrench(h[l - m]);
                    moved += ii[l - m].mul(p.h_bar[l]);
                }
                eta_bar[m] -= turned;
                eta_bar[m + 1] += moved.scale(next(m));
            }
            if torque {
                let f_bar = &p.f_bar[i * (n - 1)..(i + 1) * (n - 1)];
                for m in 0..n - 1 {
                    // N(IIγ) ⋆ F̄ + γ ×* (II ⋆ F̄), both without the parts that vanish.
                    let mut sum = f_bar[m].cross_wrench(Wrench::new(Vec3::zero(), g * mass));
                    sum.ang += g.cross(f_bar[m].lin * mass);
                    for l in m..n - 1 {
                        let (mc, w) = (ii[l - m].moment, f_bar[l].ang);
                        sum.ang += w.cross(mc.cross(g)) + g.cross(w.cross(mc));
                    }
                    eta_bar[m] += sum;
                }
            }
        }
    }
    for (i, stage) in ws.tree.stages.iter().enumerate().rev() {
        let (low, high) = p.eta_bar.split_at_mut(i * (n + 1));
        let eta_bar = &high[..n + 1];
        if let Some(pa) = stage.parent {
            let to = &mut low[pa * (n + 1)..(pa + 1) * (n + 1)];
            for l in 0..n + 1 {
                to[l] += eta_bar[l];
            }
        }
        for c in stage.v..stage.v + stage.nv {
            let s = &ws.s[c * (n + 1)..(c + 1) * (n + 1)];
            for m in 0..n + 1 {
                let mut sum = T::zero();
                for l in m..n + 1 {
                    sum += s[l - m].dot(eta_bar[l]);
                }
                p.xi_bar[m * nv + c] += sum;
            }
        }
    }
}
