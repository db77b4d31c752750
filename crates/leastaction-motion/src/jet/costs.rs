//! [`CostEvaluator`]: sums of squares of quantities at many samples, their gradients and exact Hessians.
//!
//! A cost is `c = ½ Σ_rows g (z − ref)²`. All costs go into one adjoint sweep (4.14), so the gradient of any mixture takes
//! one forward and one backward sweep. The Hessian is `Jᵀ G J` and the curvature of the quantities, exact.

use std::ops::Range;

use super::quantities::JetQuantities;
use super::samples::{Quantities, Samples};
use super::{JetError, Quantity, QuantityKind, expect};
use crate::mechanism::Mechanism;
use crate::simd::LANES;
use crate::spatial::Quat;

/// A sum of squares.
#[derive(Clone, Debug)]
pub struct Cost {
    /// What is measured.
    pub quantities: Vec<Quantity>,
    /// Weight of each squared row; empty for one everywhere.
    pub metric: Vec<f64>,
    /// True if samples come with references to subtract (for orientations unit quaternions `w, x, y, z`).
    pub tracked: bool,
}

impl Cost {
    /// A plain sum of squares.
    #[must_use]
    pub fn new(quantities: Vec<Quantity>) -> Self {
        Self { quantities, metric: Vec::new(), tracked: false }
    }
    /// The distance from references that each sample gives.
    #[must_use]
    pub fn tracked(quantity: Quantity) -> Self {
        Self { tracked: true, ..Self::new(vec![quantity]) }
    }

    /// Numbers of one sample's reference.
    fn reference_len(&self, nv: usize) -> usize {
        let numbers = |q: &Quantity| if q.kind == QuantityKind::Orientation { 4 } else { q.rows(nv) };
        if self.tracked { self.quantities.iter().map(numbers).sum() } else { 0 }
    }
}

/// Evaluates a list of costs at samples of one mechanism. Made once; evaluations do not allocate.
///
/// A sample is the configuration `q` (`nq` numbers), then velocity, acceleration, … to derivative `max_order` of the
/// configuration (`nv` numbers each, plain derivatives). Gradients and Hessians are taken with respect to the plain
/// derivatives `ξ^(m)`, `m = 0..=max_order`, of a perturbation on the right, `nv` numbers each. For joints whose
/// coordinates are plain numbers `ξ^(m)` varies `q^(m)`, and both have the same layout. Samples, references, values,
/// gradients and Hessians follow one another.
///
/// ```
/// use leastaction::jet::{Cost, CostEvaluator, Quantity};
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let list = vec![Cost::new(vec![Quantity::torque(1)]), Cost::new(vec![Quantity::joint(3)])];
/// let mut costs = CostEvaluator::new(&mechanism, list, 3)?;
/// let x = [0.3, -0.2, 0.1, 0.4, 0.0, 1.0, 0.5, 0.0]; // q, velocity, acceleration, jerk
/// let (mut values, mut gradient) = ([0.0; 2], [0.0; 8]);
/// costs.gradients_into(&x, &[], &[1.0, 1.0], &mut values, &mut gradient)?;
/// assert!(values[0] > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CostEvaluator {
    costs: Vec<Cost>,
    quantities: JetQuantities,
    nq: usize,
    nv: usize,
    max_order: usize,
    references: usize,
    /// Rows of each cost, and the numbers of its reference.
    places: Vec<(Range<usize>, Range<usize>)>,
    /// Weights, and Jacobians, of as many samples as are evaluated at once.
    mu: Vec<f64>,
    jacobians: Vec<f64>,
}

impl CostEvaluator {
    /// An evaluator of `costs` for samples with derivatives up to `max_order` (raised to what the costs need).
    ///
    /// # Errors
    /// If a metric has the wrong length, a quantity cannot be evaluated at many samples, or positions of ball or free
    /// joints are asked for.
    pub fn new(mechanism: &Mechanism, costs: Vec<Cost>, max_order: usize) -> Result<Self, JetError> {
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let list: Vec<Quantity> = costs.iter().flat_map(|c| c.quantities.iter().copied()).collect();
        let quantities = JetQuantities::new(mechanism, &list)?;
        let max_order = list.iter().map(Quantity::highest_derivative).fold(max_order.max(1), usize::max);
        let (mut rows, mut references, mut places) = (0, 0, Vec::new());
        for cost in &costs {
            let (own, numbers) =
                (cost.quantities.iter().map(|q| q.rows(nv)).sum::<usize>(), cost.reference_len(nv));
            if !cost.metric.is_empty() {
                expect("metric", cost.metric.len(), own)?;
            }
            places.push((rows..rows + own, references..references + numbers));
            (rows, references) = (rows + own, references + numbers);
        }
        let columns = (max_order + 1) * nv;
        let (mu, jacobians) = (vec![0.0; LANES * rows], vec![0.0; LANES * rows * columns]);
        let mut this = Self { costs, quantities, nq, nv, max_order, references, places, mu, jacobians };
        for item in &mut this.quantities.items {
            item.reference.reserve(LANES);
        }
        Ok(this)
    }

    /// The costs.
    #[must_use]
    pub fn costs(&self) -> &[Cost] {
        &self.costs
    }
    /// Length of a sample: `nq + max_order nv`.
    #[must_use]
    pub fn sample_len(&self) -> usize {
        self.nq + self.max_order * self.nv
    }
    /// Length of a gradient: `(max_order + 1) nv`.
    #[must_use]
    pub fn tangent_len(&self) -> usize {
        (self.max_order + 1) * self.nv
    }
    /// Length of a sample's references: those of all tracked costs in a row.
    #[must_use]
    pub fn reference_len(&self) -> usize {
        self.references
    }
    /// Whether torques include springs, dampers and armature of the joints (off at first).
    pub fn include_passive(&mut self, yes: bool) {
        self.quantities.include_passive(yes);
    }

    /// Values `c_t` of all costs and the gradients of `Σ w_t c_t` at all samples: `values[s * costs + t]`,
    /// `gradients[s * tangent_len() + i]`.
    ///
    /// # Errors
    /// If a length does not fit or a sample is not finite.
    pub fn gradients_into(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> Result<(), JetError> {
        self.evaluate(x, reference, weights, values, gradients, None)
    }

    /// Values, gradients and exact Hessians of `Σ w_t c_t` at all samples; Hessians are row-major, `tangent_len()²`.
    ///
    /// On the rotations of ball and free joints they are second derivatives along `exp ξ(t)`: the symmetric part of the
    /// derivative of the gradient.
    ///
    /// # Errors
    /// If a length does not fit or a sample is not finite.
    pub fn hessians_into(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        hessians: &mut [f64],
    ) -> Result<(), JetError> {
        self.evaluate(x, reference, weights, values, gradients, Some(hessians))
    }

    fn evaluate(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: &[f64],
        values: &mut [f64],
        gradients: &mut [f64],
        mut hessians: Option<&mut [f64]>,
    ) -> Result<(), JetError> {
        let (width, columns, costs) = (self.sample_len(), self.tangent_len(), self.costs.len());
        let samples = x.len() / width.max(1);
        expect("x", x.len(), samples * width)?;
        expect("reference", reference.len(), samples * self.references)?;
        expect("values", values.len(), samples * costs)?;
        expect("weights", weights.len(), costs)?;
        expect("gradients", gradients.len(), samples * columns)?;
        if let Some(hessians) = &hessians {
            expect("hessians", hessians.len(), samples * columns * columns)?;
        }
        gradients.fill(0.0);
        for first in (0..samples).step_by(LANES) {
            let part = first..samples.min(first + LANES);
            let at = |size: usize| part.start * size..part.end * size;
            let some = Samples { first: 0, times: &[0.0; LANES][..part.len()], x: &x[at(width)] };
            let reference = &reference[at(self.references)];
            self.set_orientations(reference);
            let (values, gradients) = (&mut values[at(costs)], &mut gradients[at(columns)]);
            let (list, places, references) = (&self.costs, &self.places, self.references);
            let (all_mu, rows) = (&mut self.mu, self.quantities.rows());
            let mut weigh = |s: usize, z: &[f64], mu: &mut [f64]| {
                let reference = &reference[s * references..(s + 1) * references];
                for (t, (cost, (rows, own))) in list.iter().zip(places).enumerate() {
                    let sum = cost.square(
                        &z[rows.clone()],
                        &reference[own.clone()],
                        weights[t],
                        &mut mu[rows.clone()],
                    );
                    values[s * costs + t] = sum;
                }
                all_mu[s * rows..(s + 1) * rows].copy_from_slice(mu);
            };
            self.quantities.gradients(some, &mut weigh, gradients);
            if values.iter().any(|x| !x.is_finite()) {
                return Err(JetError::NotFinite);
            }
            if let Some(hessians) = &mut hessians {
                self.add_hessians(some, weights, &mut hessians[at(columns * columns)]);
            }
        }
        Ok(())
    }

    /// The references of orientations at the samples of a group.
    fn set_orientations(&mut self, reference: &[f64]) {
        let mut items = self.quantities.items.iter_mut();
        for (cost, (_, own)) in self.costs.iter().zip(&self.places) {
            for (quantity, item) in cost.quantities.iter().zip(&mut items) {
                if cost.tracked && quantity.kind == QuantityKind::Orientation {
                    let matrix = |row: &[f64]| Quat::from_slice(&row[own.clone()]).normalized().to_matrix();
                    item.reference.clear();
                    item.reference.extend(reference.chunks_exact(self.references).map(matrix));
                }
            }
        }
    }

    /// `Σ w g ∇z ∇zᵀ + Σ μ ∇²z` at the samples whose weights were taken last.
    fn add_hessians(&mut self, samples: Samples<'_>, weights: &[f64], hessians: &mut [f64]) {
        let (n, rows, count) = (self.tangent_len(), self.quantities.rows(), samples.len());
        hessians.fill(0.0);
        let jacobians = &mut self.jacobians[..count * rows * n];
        self.quantities.jacobians(samples, jacobians);
        self.quantities.add_hessians(samples, &self.mu[..count * rows], hessians);
        for (jacobian, hessian) in jacobians.chunks_exact(rows * n).zip(hessians.chunks_exact_mut(n * n)) {
            for ((cost, (rows, _)), w) in self.costs.iter().zip(&self.places).zip(weights) {
                for (k, row) in rows.clone().enumerate() {
                    let line = &jacobian[row * n..(row + 1) * n];
                    let g = w * cost.metric.get(k).copied().unwrap_or(1.0);
                    for (i, x) in line.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                        crate::linalg::axpy(g * x, line, &mut hessian[i * n..(i + 1) * n]);
                    }
                }
            }
        }
    }
}

impl Cost {
    /// `½ Σ g (z − ref)²`, and its derivatives times `w` into `mu`.
    fn square(&self, z: &[f64], reference: &[f64], w: f64, mu: &mut [f64]) -> f64 {
        // The values of orientations are distances already.
        let tracked = self.tracked && self.quantities.iter().all(|q| q.kind != QuantityKind::Orientation);
        let mut sum = 0.0;
        for (k, (z, mu)) in z.iter().zip(mu).enumerate() {
            let r = if tracked { z - reference[k] } else { *z };
            let g = self.metric.get(k).copied().unwrap_or(1.0);
            sum += g * r * r;
            *mu = w * g * r;
        }
        0.5 * sum
    }
}
