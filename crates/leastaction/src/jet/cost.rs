//! [`CostEvaluator`]: sums of squares of mechanical quantities at one sample, their gradients and exact Hessians.
//!
//! A cost is `c = ½ Σ_rows g (r − ref)²` with a residual in *plain* derivatives, `r = l! z_l`. All terms go into one
//! adjoint sweep (4.14), so the gradient of any mixture costs one forward and one backward sweep. The Hessian is the
//! adjoint sweep differentiated by dual numbers: exact, symmetric to rounding.

use super::generating::{Quantity, Request};
use super::stage::{StageKind, Target};
use super::workspace::JetWorkspace;
use super::{JetError, factorial};
use crate::lie::so3;
use crate::mechanism::Mechanism;
use crate::reference::Dual;
use crate::scalar::Real;
use crate::spatial::{Quat, Twist, Vec3};

/// What a cost measures. Orders are those of plain time derivatives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum CostTerm {
    /// `q^(order)` of all joints: 1 velocity, 2 acceleration, 3 jerk. Order 0 needs one-axis joints.
    Joint {
        /// Order of the derivative.
        order: usize,
    },
    /// Twists of targets in their own frames, differentiated `order` times; six rows per target.
    Velocity {
        /// Bodies or frames.
        targets: Vec<Target>,
        /// Derivative of the twist.
        order: usize,
    },
    /// Total momentum about the world origin or the centre of mass.
    Momentum {
        /// Derivative of the momentum.
        order: usize,
        /// About the centre of mass instead of the world origin.
        about_com: bool,
    },
    /// Joint torques, differentiated `order` times: 0 torque, 1 torque rate.
    Torque {
        /// Derivative of the torque.
        order: usize,
    },
    /// `Σ λ τ^(order)` with one coefficient per torque as the sample's reference: linear, for multipliers.
    LinearTorque {
        /// Derivative of the torque.
        order: usize,
    },
    /// World position of a target's origin.
    Point {
        /// Body or frame (see [`Target::at_point`]).
        target: Target,
        /// Derivative of the position.
        order: usize,
    },
    /// `Log(R_refᵀ R)`; the reference is a unit quaternion `w, x, y, z`.
    Orientation {
        /// Body or frame.
        target: Target,
    },
    /// Centre of mass.
    Com {
        /// Derivative of the position.
        order: usize,
    },
}

impl CostTerm {
    /// Rows of the residual for `nv` velocity coordinates.
    #[must_use]
    pub fn rows(&self, nv: usize) -> usize {
        match self {
            Self::Joint { .. } | Self::Torque { .. } => nv,
            Self::LinearTorque { .. } => 1,
            Self::Velocity { targets, .. } => 6 * targets.len(),
            Self::Momentum { .. } => 6,
            Self::Point { .. } | Self::Orientation { .. } | Self::Com { .. } => 3,
        }
    }

    /// Numbers of one sample's reference.
    #[must_use]
    pub fn reference_len(&self, nv: usize) -> usize {
        match self {
            Self::Orientation { .. } => 4,
            Self::LinearTorque { .. } => nv,
            other => other.rows(nv),
        }
    }

    /// Force order a workspace needs for it.
    #[must_use]
    pub fn force_order(&self) -> i32 {
        let at = |order: usize, shift: i32| (i32::try_from(order).unwrap_or(i32::MAX / 2) - shift).max(-1);
        match self {
            Self::Torque { order } | Self::LinearTorque { order } => at(*order, 0),
            Self::Velocity { order, .. } | Self::Momentum { order, .. } => at(*order, 1),
            Self::Joint { order } | Self::Point { order, .. } | Self::Com { order } => at(*order, 2),
            Self::Orientation { .. } => -1,
        }
    }
}

/// A term with its metric.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What is measured.
    pub term: CostTerm,
    /// Weight of each squared row; empty for one everywhere.
    pub metric: Vec<f64>,
    /// True if samples come with references to subtract (always for orientations and linear terms).
    pub tracked: bool,
}

impl Cost {
    /// A plain sum of squares.
    #[must_use]
    pub fn new(term: CostTerm) -> Self {
        let tracked = matches!(term, CostTerm::Orientation { .. } | CostTerm::LinearTorque { .. });
        Self { term, metric: Vec::new(), tracked }
    }
    /// The same with references that each sample gives.
    #[must_use]
    pub fn tracked(term: CostTerm) -> Self {
        Self { tracked: true, ..Self::new(term) }
    }
    /// The same with a weight per row.
    #[must_use]
    pub fn with_metric(mut self, metric: Vec<f64>) -> Self {
        self.metric = metric;
        self
    }
}

/// Evaluates a list of costs at samples of one mechanism. Made once; evaluations do not allocate.
///
/// Samples are `x[m * nv + c] = q_c^(m)`, `m = 0..=max_order`, for mechanisms of one-axis joints.
///
/// ```
/// use leastaction::jet::{Cost, CostEvaluator, CostTerm};
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let costs = vec![Cost::new(CostTerm::Torque { order: 1 }), Cost::new(CostTerm::Joint { order: 3 })];
/// let mut evaluator = CostEvaluator::new(&mechanism, costs, 3)?;
/// let x = [0.3, -0.2, 0.1, 0.4, 0.0, 1.0, 0.5, 0.0]; // q, velocity, acceleration, jerk
/// let (mut values, mut gradient) = ([0.0; 2], [0.0; 8]);
/// evaluator.gradient_into(&x, &[], &[1.0, 1.0], &mut values, &mut gradient)?;
/// assert!(values[0] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CostEvaluator {
    costs: Vec<Cost>,
    plain: Sample<f64>,
    dual: Sample<Dual<f64, DIRECTIONS>>,
    /// Scratch: a dual sample, its costs and its gradient.
    x: Vec<Dual<f64, DIRECTIONS>>,
    reference: Vec<Dual<f64, DIRECTIONS>>,
    values: Vec<Dual<f64, DIRECTIONS>>,
    gradient: Vec<Dual<f64, DIRECTIONS>>,
}

/// Directions that one dual sweep differentiates along.
const DIRECTIONS: usize = 4;

impl CostEvaluator {
    /// An evaluator of `costs` for samples with derivatives up to `max_order` (raised to what the costs need).
    ///
    /// # Errors
    /// If a metric has the wrong length or the mechanism has ball or free joints.
    pub fn new(mechanism: &Mechanism, costs: Vec<Cost>, max_order: usize) -> Result<Self, JetError> {
        let k = costs.iter().map(|c| c.term.force_order()).fold(max_order as i32 - 2, i32::max);
        let plain = JetWorkspace::new(mechanism, k);
        if plain.nq() != plain.nv() {
            return Err(JetError::NotServed {
                quantity: "a cost in joint coordinates",
                remedy: "use one-axis joints; ball and free joints need a spline on the group",
            });
        }
        let nv = plain.nv();
        for cost in &costs {
            let (found, expected) = (cost.metric.len(), cost.term.rows(nv));
            if found != 0 && found != expected {
                return Err(JetError::WrongLength { name: "metric", expected, found });
            }
        }
        let (dual, orders) = (plain.like(), plain.velocity_count() + 1);
        let zero = Dual::constant(0.0);
        Ok(Self {
            x: vec![zero; orders * nv],
            reference: vec![zero; reference_len(&costs, nv)],
            values: vec![zero; costs.len()],
            gradient: vec![zero; orders * nv],
            plain: Sample::new(plain, &costs),
            dual: Sample::new(dual, &costs),
            costs,
        })
    }

    /// The costs.
    #[must_use]
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }
    /// Highest derivative of a sample.
    #[must_use]
    pub fn max_order(&self) -> usize {
        self.plain.jets.velocity_count()
    }
    /// Length of a sample: `(max_order + 1) nv`.
    #[must_use]
    pub fn sample_len(&self) -> usize {
        (self.max_order() + 1) * self.plain.jets.nv()
    }
    /// Length of a sample's references: those of all tracked costs in a row.
    #[must_use]
    pub fn reference_len(&self) -> usize {
        reference_len(&self.costs, self.plain.jets.nv())
    }
    /// The jets of the sample evaluated last, for further questions.
    #[must_use]
    pub fn jets(&mut self) -> &mut JetWorkspace<f64> {
        &mut self.plain.jets
    }

    /// Unweighted values `c_t` of all costs at a sample.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn values_into(&mut self, x: &[f64], reference: &[f64], values: &mut [f64]) -> Result<(), JetError> {
        self.check(x, reference, None, values)?;
        self.plain.evaluate(&self.costs, x, reference, None, values, &mut [])
    }

    /// Values `c_t` and the gradient of `Σ w_t c_t` with respect to the sample, in its layout.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn gradient_into(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: &[f64],
        values: &mut [f64],
        gradient: &mut [f64],
    ) -> Result<(), JetError> {
        self.check(x, reference, Some(weights), values)?;
        expect("gradient", gradient.len(), self.sample_len())?;
        self.plain.evaluate(&self.costs, x, reference, Some(weights), values, gradient)
    }

    /// Values, gradient and exact Hessian of `Σ w_t c_t`; the Hessian is row-major, `sample_len()²`.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn hessian_into(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: &[f64],
        values: &mut [f64],
        gradient: &mut [f64],
        hessian: &mut [f64],
    ) -> Result<(), JetError> {
        self.check(x, reference, Some(weights), values)?;
        let n = self.sample_len();
        expect("gradient", gradient.len(), n)?;
        expect("hessian", hessian.len(), n * n)?;
        for (to, x) in self.reference.iter_mut().zip(reference) {
            *to = Dual::constant(*x);
        }
        for first in (0..n).step_by(DIRECTIONS) {
            for (i, x) in x.iter().enumerate() {
                self.x[i] = Dual::constant(*x);
                if i >= first && i < first + DIRECTIONS {
                    self.x[i].eps[i - first] = 1.0;
                }
            }
            let (values, gradient) = (&mut self.values, &mut self.gradient);
            self.dual.evaluate(&self.costs, &self.x, &self.reference, Some(weights), values, gradient)?;
            for (i, g) in self.gradient.iter().enumerate() {
                for (d, e) in g.eps.iter().enumerate().take(n - first) {
                    hessian[i * n + first + d] = *e;
                }
            }
        }
        for (v, d) in values.iter_mut().zip(&self.values) {
            *v = d.re;
        }
        for (g, d) in gradient.iter_mut().zip(&self.gradient) {
            *g = d.re;
        }
        // Symmetric to rounding already; made exactly so.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (hessian[i * n + j] + hessian[j * n + i]);
                hessian[i * n + j] = mean;
                hessian[j * n + i] = mean;
            }
        }
        Ok(())
    }

    /// Gauss–Newton matrix `Σ w_t Jᵀ G J` of one cost, added to `out` (row-major, `sample_len()²`), from the Jacobian.
    /// Allocates.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn add_gauss_newton(
        &mut self,
        x: &[f64],
        reference: &[f64],
        cost: usize,
        weight: f64,
        out: &mut [f64],
    ) -> Result<(), JetError> {
        let n = self.sample_len();
        expect("out", out.len(), n * n)?;
        let jacobian = self.jacobian(x, reference, cost)?;
        for (row, line) in jacobian.chunks_exact(n).enumerate() {
            let g = weight * self.costs[cost].metric.get(row).copied().unwrap_or(1.0);
            for i in 0..n {
                let f = g * line[i];
                if f != 0.0 {
                    for j in 0..n {
                        out[i * n + j] += f * line[j];
                    }
                }
            }
        }
        Ok(())
    }

    /// Jacobian of one cost's residual with respect to the sample, row-major `rows × sample_len()`. Allocates.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn jacobian(&mut self, x: &[f64], reference: &[f64], cost: usize) -> Result<Vec<f64>, JetError> {
        let mut values = vec![0.0; self.costs.len()];
        self.check(x, reference, None, &values)?;
        self.plain.evaluate(&self.costs, x, reference, None, &mut values, &mut [])?;
        self.plain.residual_jacobian(&self.costs, cost, reference)
    }

    fn check(
        &self,
        x: &[f64],
        reference: &[f64],
        weights: Option<&[f64]>,
        values: &[f64],
    ) -> Result<(), JetError> {
        expect("x", x.len(), self.sample_len())?;
        expect("reference", reference.len(), self.reference_len())?;
        expect("values", values.len(), self.costs.len())?;
        expect("weights", weights.map_or(self.costs.len(), <[f64]>::len), self.costs.len())
    }
}

fn expect(name: &'static str, found: usize, expected: usize) -> Result<(), JetError> {
    if found == expected { Ok(()) } else { Err(JetError::WrongLength { name, expected, found }) }
}

pub(crate) fn reference_len(costs: &[Cost], nv: usize) -> usize {
    costs.iter().filter(|c| c.tracked).map(|c| c.term.reference_len(nv)).sum()
}

/// The evaluation of one sample (or one lane of samples) for a scalar type.
#[derive(Clone, Debug)]
pub(crate) struct Sample<T> {
    pub(crate) jets: JetWorkspace<T>,
    /// What the costs need: nothing but the sample, motion, or forces too.
    stage: Need,
    /// Position coordinate of each velocity coordinate.
    q_of: Vec<usize>,
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
        let mut q_of = vec![0; jets.nv()];
        for s in &jets.tree.stages {
            debug_assert!(!matches!(s.kind, StageKind::Ball | StageKind::Free) || jets.nq() != jets.nv());
            q_of[s.v] = s.q;
        }
        Self { jets, stage, q_of }
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
        for c in 0..nv {
            self.jets.q[self.q_of[c]] = x[c];
        }
        for l in 0..n {
            let f = 1.0 / factorial(l);
            for c in 0..nv {
                self.jets.y[l * nv + c] = x[(l + 1) * nv + c] * f;
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
            CostTerm::Joint { order } => {
                let f = factorial(*order);
                for c in 0..nv {
                    let r = x[order * nv + c] - offset(c);
                    sum += r * r * metric(c);
                    if let Some(w) = w {
                        self.jets.products.xi_bar[order * nv + c] += r * (w * metric(c) * f);
                    }
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
    fn residual_jacobian(
        &mut self,
        costs: &[Cost],
        cost: usize,
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
            CostTerm::Joint { order } => {
                for c in 0..nv {
                    out[(c * orders + order) * nv + c] = T::one();
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
