//! [`CostEvaluator`]: sums of squares of mechanical quantities at one sample, their gradients and exact Hessians.
//!
//! A cost is `c = ½ Σ_rows g (r − ref)²` with a residual in *plain* derivatives, `r = l! z_l`. All terms go into one
//! adjoint sweep (4.14), so the gradient of any mixture costs one forward and one backward sweep. The Hessian is the
//! adjoint sweep differentiated by dual numbers: exact.

use super::cost::{Cost, CostTerm, reference_len};
use super::cost_sample::Sample;
use super::workspace::JetWorkspace;
use super::{JetError, expect};
use crate::mechanism::Mechanism;
use crate::scalar::Dual;

/// Evaluates a list of costs at samples of one mechanism. Made once; evaluations do not allocate.
///
/// A sample is the configuration `q` (`nq` numbers), then velocity, acceleration, … to derivative `max_order` of the
/// configuration (`nv` numbers each, plain derivatives). Gradients and Hessians are taken with respect to the plain
/// derivatives `ξ^(m)`, `m = 0..=max_order`, of a perturbation on the right, `nv` numbers each. For joints whose
/// coordinates are plain numbers `ξ^(m)` varies `q^(m)`, and both have the same layout.
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
    /// If a metric has the wrong length, or positions of ball or free joints are asked for.
    pub fn new(mechanism: &Mechanism, costs: Vec<Cost>, max_order: usize) -> Result<Self, JetError> {
        let k = costs.iter().map(|c| c.term.force_order()).fold(max_order as i32 - 2, i32::max);
        let plain = JetWorkspace::new(mechanism, k);
        let (nq, nv) = (plain.nq(), plain.nv());
        if nq != nv && costs.iter().any(|c| matches!(c.term, CostTerm::Joint { order: 0 })) {
            return Err(JetError::NotServed {
                quantity: "the distance of joint positions",
                remedy: "ball and free joints have no plain positions; track the orientation of their body",
            });
        }
        for cost in &costs {
            if !cost.metric.is_empty() {
                expect("metric", cost.metric.len(), cost.term.rows(nv))?;
            }
        }
        let (dual, orders) = (plain.like(), plain.velocity_count() + 1);
        let zero = Dual::constant(0.0);
        Ok(Self {
            x: vec![zero; nq + (orders - 1) * nv],
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
    /// Length of a sample: `nq + max_order nv`.
    #[must_use]
    pub fn sample_len(&self) -> usize {
        self.plain.jets.nq() + self.max_order() * self.plain.jets.nv()
    }
    /// Length of a gradient: `(max_order + 1) nv`.
    #[must_use]
    pub fn tangent_len(&self) -> usize {
        (self.max_order() + 1) * self.plain.jets.nv()
    }
    /// Whether torques include springs, dampers and armature of the joints (off at first).
    pub fn include_passive(&mut self, yes: bool) {
        self.plain.jets.include_passive(yes);
        self.dual.jets.include_passive(yes);
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
        self.check(1, x, reference, None, values)?;
        self.plain.evaluate(&self.costs, x, reference, None, values, &mut [])
    }

    /// Values `c_t` and the gradient of `Σ w_t c_t`, [`tangent_len`](Self::tangent_len) numbers.
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
        self.check(1, x, reference, Some(weights), values)?;
        expect("gradient", gradient.len(), self.tangent_len())?;
        self.plain.evaluate(&self.costs, x, reference, Some(weights), values, gradient)
    }

    /// Values, gradient and exact Hessian of `Σ w_t c_t`; the Hessian is row-major, `tangent_len()²`.
    ///
    /// On the rotations of ball and free joints it is the second derivative along `exp ξ(t)`: the symmetric part of the
    /// derivative of the gradient.
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
        self.check(1, x, reference, Some(weights), values)?;
        let (n, nv) = (self.tangent_len(), self.plain.jets.nv());
        expect("gradient", gradient.len(), n)?;
        expect("hessian", hessian.len(), n * n)?;
        for (to, x) in self.reference.iter_mut().zip(reference) {
            *to = Dual::constant(*x);
        }
        for first in (0..n).step_by(DIRECTIONS) {
            for (to, x) in self.x.iter_mut().zip(x) {
                *to = Dual::constant(*x);
            }
            for i in first..n.min(first + DIRECTIONS) {
                let moved = &mut self.x;
                self.plain.jets.tree.tangent_of_sample(x, (i / nv, i % nv), |at, slope| {
                    moved[at].eps[i - first] += slope;
                });
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
        // Symmetric to rounding but for half the bracket of two rotations, which is antisymmetric and no part of it.
        for i in 0..n {
            for j in 0..i {
                let mean = 0.5 * (hessian[i * n + j] + hessian[j * n + i]);
                hessian[i * n + j] = mean;
                hessian[j * n + i] = mean;
            }
        }
        Ok(())
    }

    /// Gauss–Newton matrix `Σ w_t Jᵀ G J` of one cost, added to `out` (row-major, `tangent_len()²`), from the Jacobian.
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
        let n = self.tangent_len();
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

    /// Jacobian of one cost's residual, row-major `rows × tangent_len()`. Allocates.
    ///
    /// # Errors
    /// If a length does not fit or the sample is not finite.
    pub fn jacobian(&mut self, x: &[f64], reference: &[f64], cost: usize) -> Result<Vec<f64>, JetError> {
        let mut values = vec![0.0; self.costs.len()];
        self.check(1, x, reference, None, &values)?;
        self.plain.evaluate(&self.costs, x, reference, None, &mut values, &mut [])?;
        self.plain.residual_jacobian(&self.costs, cost, x, reference)
    }

    /// Checks the lengths of so many samples.
    pub(super) fn check(
        &self,
        samples: usize,
        x: &[f64],
        reference: &[f64],
        weights: Option<&[f64]>,
        values: &[f64],
    ) -> Result<(), JetError> {
        expect("x", x.len(), samples * self.sample_len())?;
        expect("reference", reference.len(), samples * self.reference_len())?;
        expect("values", values.len(), samples * self.costs.len())?;
        expect("weights", weights.map_or(self.costs.len(), <[f64]>::len), self.costs.len())
    }
}
