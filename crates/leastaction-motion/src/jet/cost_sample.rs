//! [`Sample`]: all costs at one sample, for any scalar type: one forward sweep, the terms, one adjoint sweep.

use super::cost::{Cost, CostTerm};
use super::generating::{Quantity, Request};
use super::workspace::JetWorkspace;
use super::{JetError, factorial};
use crate::lie::so3;
use crate::scalar::Real;
use crate::spatial::{Quat, Twist, Vec3};

/// The evaluation of one sample (or one lane of samples) for a scalar type.
#[derive(Clone, Debug)]
pub(crate) struct Sample<T> {
    pub(crate) jets: JetWorkspace<T>,
    /// What the costs need: nothing but the sample, motion, or forces too.
    stage: Need,
}

#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Need {
    Nothing,
    Motion,
    Forces,
}

impl<T: Real> Sample<T> {
    pub(crate) fn new(jets: JetWorkspace<T>, costs: &[Cost]) -> Self {
        let mut stage = Need::Nothing;
        for cost in costs {
            let need = match cost.term {
                CostTerm::Joint { .. } => Need::Nothing,
                CostTerm::Velocity { .. } | CostTerm::Point { .. } | CostTerm::Orientation { .. } => {
                    Need::Motion
                }
                _ => Need::Forces,
            };
            if need > stage {
                stage = need;
            }
        }
        Self { jets, stage }
    }

    /// Values, and the gradient if there are weights. `x` is in plain derivatives.
    pub(crate) fn evaluate(
        &mut self,
        costs: &[Cost],
        x: &[T],
        reference: &[T],
        weights: Option<&[f64]>,
        values: &mut [T],
        gradient: &mut [T],
    ) -> Result<(), JetError> {
        self.evaluate_inline::<false>(costs, x, reference, weights, values, gradient)
    }

    /// [`evaluate`](Self::evaluate) compiled into the caller; with `WIDE` so are the sweeps.
    #[inline(always)]
    pub(crate) fn evaluate_inline<const WIDE: bool>(
        &mut self,
        costs: &[Cost],
        x: &[T],
        reference: &[T],
        weights: Option<&[f64]>,
        values: &mut [T],
        gradient: &mut [T],
    ) -> Result<(), JetError> {
        let (nv, n) = (self.jets.nv(), self.jets.velocity_count());
        let nq = self.jets.nq();
        self.jets.q.copy_from_slice(&x[..nq]);
        for l in 0..n {
            let f = 1.0 / factorial(l);
            for c in 0..nv {
                self.jets.y[l * nv + c] = x[nq + l * nv + c] * f;
            }
        }
        match self.stage {
            Need::Nothing => {}
            need if WIDE => self.jets.run_inline(need == Need::Forces)?,
            Need::Motion => self.jets.run_motion()?,
            Need::Forces => self.jets.run()?,
        }
        if weights.is_some() {
            self.jets.clear_adjoint();
        }
        let mut at = 0;
        for (t, cost) in costs.iter().enumerate() {
            let length = if cost.tracked { cost.term.reference_len(nv) } else { 0 };
            let own = &reference[at..at + length];
            at += length;
            let w = weights.map(|w| w[t]);
            values[t] = self.term(cost, x, own, w);
        }
        if weights.is_some() {
            if WIDE {
                self.jets.run_adjoint_inline();
            } else {
                self.jets.run_adjoint();
            }
            for m in 0..n + 1 {
                let f = 1.0 / factorial(m);
                for c in 0..nv {
                    gradient[m * nv + c] = self.jets.products.xi_bar[m * nv + c] * f;
                }
            }
        }
        Ok(())
    }

    /// Value of one cost; its weights go into the adjoint accumulators if `w` is given.
    #[inline(always)]
    fn term(&mut self, cost: &Cost, x: &[T], reference: &[T], w: Option<f64>) -> T {
        let nv = self.jets.nv();
        let metric = |row: usize| cost.metric.get(row).copied().unwrap_or(1.0);
        let offset = |row: usize| {
            if cost.tracked { reference[row] } else { T::zero() }
        };
        let mut sum = T::zero();
        match &cost.term {
            CostTerm::Joint { order: 0 } => {
                for c in 0..nv {
                    let r = x[c] - offset(c);
                    sum += r * r * metric(c);
                    if let Some(w) = w {
                        self.jets.products.xi_bar[c] += r * (w * metric(c));
                    }
                }
            }
            CostTerm::Joint { order } => {
                let (l, rates) = (order - 1, &x[self.jets.nq() + (order - 1) * nv..]);
                for c in 0..nv {
                    let r = rates[c] - offset(c);
                    sum += r * r * metric(c);
                }
                if let Some(w) = w {
                    let f = w * factorial(l);
                    self.jets.weigh_rates(l, |c| (rates[c] - offset(c)) * (f * metric(c)));
                }
            }
            CostTerm::Torque { order } => {
                let f = factorial(*order);
                for c in 0..nv {
                    let r = self.jets.tau[order * nv + c] * f - offset(c);
                    sum += r * r * metric(c);
                    if let Some(w) = w {
                        self.jets.products.lambda[order * nv + c] += r * (w * metric(c) * f);
                    }
                }
                self.jets.products.has_torque |= w.is_some();
            }
            CostTerm::LinearTorque { order } => {
                let f = factorial(*order);
                for c in 0..nv {
                    let a = reference[c];
                    sum += a * self.jets.tau[order * nv + c] * f;
                    if let Some(w) = w {
                        self.jets.products.lambda[order * nv + c] += a * (w * f);
                    }
                }
                self.jets.products.has_torque |= w.is_some();
                return sum;
            }
            CostTerm::Velocity { targets, order } => {
                let f = factorial(*order);
                for (i, target) in targets.iter().enumerate() {
                    if !target.moves() {
                        continue;
                    }
                    let nu = self.jets.local_velocity(target, *order).to_array();
                    let mut mu = [T::zero(); 6];
                    for row in 0..6 {
                        let r = nu[row] * f - offset(6 * i + row);
                        let g = metric(6 * i + row);
                        sum += r * r * g;
                        mu[row] = r * (w.unwrap_or(0.0) * g * f);
                    }
                    if w.is_some() {
                        self.jets.weigh_local_velocity(target, *order, Twist::from_array(mu));
                    }
                }
            }
            CostTerm::Momentum { order, about_com } => {
                let f = factorial(*order);
                let h = self.jets.total_momentum(*order, *about_com).to_array();
                let mut mu = [T::zero(); 6];
                for row in 0..6 {
                    let r = h[row] * f - offset(row);
                    sum += r * r * metric(row);
                    mu[row] = r * (w.unwrap_or(0.0) * metric(row) * f);
                }
                if w.is_some() {
                    self.jets.weigh_total_momentum(*order, *about_com, Twist::from_array(mu));
                }
            }
            CostTerm::Point { target, order } => {
                let x = self.jets.point(target, *order);
                let lambda = squares(x, *order, &offset, &metric, w, &mut sum);
                if w.is_some() {
                    self.jets.weigh_point(target, *order, lambda);
                }
            }
            CostTerm::Com { order } => {
                let x = self.jets.com(*order);
                let lambda = squares(x, *order, &offset, &metric, w, &mut sum);
                if w.is_some() {
                    self.jets.weigh_com(*order, lambda);
                }
            }
            CostTerm::Orientation { target } => {
                let r = self.jets.rotation(target);
                let quat = Quat::new(offset(0), offset(1), offset(2), offset(3)).normalized();
                let e = so3::log(Quat::from_matrix(&(quat.to_matrix().transpose() * r)));
                sum += e.dot(e);
                if let Some(w) = w {
                    self.jets.weigh_rotation(target, (r * e).scale(w));
                }
            }
        }
        sum * 0.5
    }

    /// Rows of one cost's residual Jacobian in plain derivatives.
    pub(crate) fn residual_jacobian(
        &mut self,
        costs: &[Cost],
        cost: usize,
        x: &[f64],
        reference: &[f64],
    ) -> Result<Vec<T>, JetError> {
        let (nv, n) = (self.jets.nv(), self.jets.velocity_count());
        let orders = n + 1;
        let term = &costs[cost].term;
        let rows = term.rows(nv);
        let mut out = vec![T::zero(); rows * orders * nv];
        let start: usize = costs[..cost].iter().filter(|c| c.tracked).map(|c| c.term.reference_len(nv)).sum();
        let mut copy = |jets: &mut JetWorkspace<T>, request: &Request, order: usize, at: usize| {
            let (all, width) = (jets.jacobian_rows(request.quantity), jets.jacobian_columns());
            let mut j = vec![T::zero(); jets.value_count(request.quantity) * all * width];
            jets.jacobian_into(request, super::Coordinates::Tangent, &mut j)?;
            for row in 0..all {
                for m in 0..orders {
                    let f = factorial(order) / factorial(m);
                    for c in 0..nv {
                        out[((at + row) * orders + m) * nv + c] =
                            j[(order * all + row) * width + jets.column_index(c, m)] * f;
                    }
                }
            }
            Ok::<(), JetError>(())
        };
        match term {
            CostTerm::Joint { order: 0 } => {
                for c in 0..nv {
                    out[c * orders * nv + c] = T::one();
                }
            }
            CostTerm::Joint { order } => {
                let rows = self.jets.nq() + (order - 1) * nv;
                for m in 0..orders {
                    for c in 0..nv {
                        self.jets.tree.tangent_of_sample(x, (m, c), |at, slope| {
                            if (rows..rows + nv).contains(&at) {
                                out[((at - rows) * orders + m) * nv + c] += T::from_f64(slope);
                            }
                        });
                    }
                }
            }
            CostTerm::Torque { order } => {
                copy(&mut self.jets, &Request::whole(Quantity::Torque), *order, 0)?;
            }
            CostTerm::LinearTorque { .. } => {
                return Err(JetError::NotServed {
                    quantity: "the residual Jacobian of a linear term",
                    remedy: "its gradient is constant; use gradient_into",
                });
            }
            CostTerm::Velocity { targets, order } => {
                for (i, t) in targets.iter().enumerate() {
                    copy(&mut self.jets, &Request::local(Quantity::Velocity, *t), *order, 6 * i)?;
                }
            }
            CostTerm::Momentum { order, about_com } => {
                let quantity =
                    if *about_com { Quantity::CentroidalMomentum } else { Quantity::TotalMomentum };
                copy(&mut self.jets, &Request::whole(quantity), *order, 0)?;
            }
            CostTerm::Point { target, order } => {
                copy(&mut self.jets, &Request::world(Quantity::Point, *target), *order, 0)?;
            }
            CostTerm::Com { order } => copy(&mut self.jets, &Request::whole(Quantity::Com), *order, 0)?,
            CostTerm::Orientation { target } => {
                copy(&mut self.jets, &Request::local(Quantity::Orientation, *target), 0, 0)?;
                let q: Vec<T> = reference[start..start + 4].iter().map(|x| T::from_f64(*x)).collect();
                let reference = Quat::from_slice(&q).normalized().to_matrix();
                let e = so3::log(Quat::from_matrix(&(reference.transpose() * self.jets.rotation(target))));
                let width = orders * nv;
                for c in 0..width {
                    let d = Vec3([out[c], out[width + c], out[2 * width + c]]);
                    let d = so3::dexp_inv(e, d);
                    (0..3).for_each(|row| out[row * width + c] = d[row]);
                }
            }
        }
        Ok(out)
    }
}

/// Adds `Σ g r²` of a three-vector's plain derivative and returns the weights on its Taylor coefficient.
#[inline(always)]
fn squares<T: Real>(
    x: Vec3<T>,
    order: usize,
    offset: &impl Fn(usize) -> T,
    metric: &impl Fn(usize) -> f64,
    w: Option<f64>,
    sum: &mut T,
) -> Vec3<T> {
    let f = factorial(order);
    Vec3(std::array::from_fn(|row| {
        let r = x[row] * f - offset(row);
        *sum += r * r * metric(row);
        r * (w.unwrap_or(0.0) * metric(row) * f)
    }))
}
