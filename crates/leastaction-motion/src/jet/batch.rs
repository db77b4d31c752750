//! [`CostBatch`]: many samples of one mechanism, four at once.
//!
//! The samples of a batch lie in the lanes of a vector (structure of arrays), so that every kernel of the single
//! sample runs on four samples without a shuffle. The lanes are chosen when the batch is made; see `simd.rs`.

use super::cost::{Cost, CostTerm, reference_len};
use super::cost_evaluator::CostEvaluator;
use super::cost_sample::Sample;
use super::lanes::Group;
use super::{JetError, JetWorkspace, expect};
use crate::mechanism::Mechanism;
use crate::simd::{Portable, Simd, Task, Wide, has_wide, run_wide};

/// Costs and gradients at many samples. Made once; evaluations do not allocate.
///
/// Samples, references, values and gradients of a batch follow one another: sample `s` is
/// `x[s * sample_len()..][..sample_len()]`, its gradient `gradients[s * tangent_len()..][..tangent_len()]`.
#[derive(Clone, Debug)]
pub struct CostBatch {
    /// For what is done sample by sample: Hessians.
    single: CostEvaluator,
    lanes: Lanes,
    /// Rotation logarithms branch on the angle, each sample for itself: such costs are evaluated one by one.
    one_by_one: bool,
}

#[derive(Clone, Debug)]
enum Lanes {
    Wide(Buffers<Wide>),
    Plain(Buffers<Portable>),
}

#[derive(Clone, Debug)]
struct Buffers<V> {
    sample: Sample<V>,
    x: Vec<V>,
    reference: Vec<V>,
    values: Vec<V>,
    gradient: Vec<V>,
}

impl<V: Simd> Buffers<V> {
    fn new(jets: &JetWorkspace<f64>, costs: &[Cost]) -> Self {
        let (nv, orders, zero) = (jets.nv(), jets.velocity_count() + 1, V::zero());
        Self {
            sample: Sample::new(jets.like(), costs),
            x: vec![zero; jets.nq() + (orders - 1) * nv],
            reference: vec![zero; reference_len(costs, nv)],
            values: vec![zero; costs.len()],
            gradient: vec![zero; orders * nv],
        }
    }
}

/// One evaluation of a batch.
struct Evaluate<'a, V> {
    buffers: &'a mut Buffers<V>,
    costs: &'a [Cost],
    x: &'a [f64],
    reference: &'a [f64],
    weights: Option<&'a [f64]>,
    values: &'a mut [f64],
    gradients: &'a mut [f64],
}

impl<V: Simd> Task for Evaluate<'_, V> {
    type Output = Result<(), JetError>;

    #[inline(always)]
    fn run(self) -> Result<(), JetError> {
        let b = self.buffers;
        let (width, refs) = (b.x.len(), b.reference.len());
        let samples = self.x.len() / width.max(1);
        let mut next = Group::from(0, samples);
        while let Some(group) = next {
            group.pack(self.x, width, &mut b.x);
            group.pack(self.reference, refs, &mut b.reference);
            b.sample.evaluate_inline::<true>(
                self.costs,
                &b.x,
                &b.reference,
                self.weights,
                &mut b.values,
                &mut b.gradient,
            )?;
            group.unpack(&b.values, self.values);
            if self.weights.is_some() {
                group.unpack(&b.gradient, self.gradients);
            }
            next = group.next(samples);
        }
        Ok(())
    }
}

impl CostBatch {
    /// A batch evaluator; arguments as [`CostEvaluator::new`].
    ///
    /// # Errors
    /// As [`CostEvaluator::new`].
    pub fn new(mechanism: &Mechanism, costs: Vec<Cost>, max_order: usize) -> Result<Self, JetError> {
        let mut single = CostEvaluator::new(mechanism, costs.clone(), max_order)?;
        let jets = single.jets();
        let lanes = if has_wide() {
            Lanes::Wide(Buffers::new(jets, &costs))
        } else {
            Lanes::Plain(Buffers::new(jets, &costs))
        };
        // So do quaternions that need a direction.
        let one_by_one =
            jets.nq() != jets.nv() || costs.iter().any(|c| matches!(c.term, CostTerm::Orientation { .. }));
        Ok(Self { single, lanes, one_by_one })
    }

    /// The evaluator of single samples.
    pub fn single(&mut self) -> &mut CostEvaluator {
        &mut self.single
    }
    /// Whether torques include springs, dampers and armature of the joints (off at first).
    pub fn include_passive(&mut self, yes: bool) {
        self.single.include_passive(yes);
        match &mut self.lanes {
            Lanes::Wide(buffers) => buffers.sample.jets.include_passive(yes),
            Lanes::Plain(buffers) => buffers.sample.jets.include_passive(yes),
        }
    }
    /// Length of one sample.
    #[must_use]
    pub fn sample_len(&self) -> usize {
        self.single.sample_len()
    }
    /// Length of one sample's gradient.
    #[must_use]
    pub fn tangent_len(&self) -> usize {
        self.single.tangent_len()
    }
    /// Length of one sample's references.
    #[must_use]
    pub fn reference_len(&self) -> usize {
        self.single.reference_len()
    }

    /// Values of all costs at all samples: `values[s * costs + t]`.
    ///
    /// # Errors
    /// If a length does not fit or a sample is not finite.
    pub fn values_into(&mut self, x: &[f64], reference: &[f64], values: &mut [f64]) -> Result<(), JetError> {
        self.evaluate(x, reference, None, values, &mut [])
    }

    /// Values and the gradients of `Σ w_t c_t` at all samples, in the samples' layout.
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
        self.evaluate(x, reference, Some(weights), values, gradients)
    }

    /// Exact Hessians of `Σ w_t c_t`, one after the other, with values and gradients.
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
        let samples = self.check(x, reference, Some(weights), values, gradients)?;
        let (n, r, costs) = (self.tangent_len(), self.reference_len(), self.single.costs().len());
        let width = self.sample_len();
        expect("hessians", hessians.len(), samples * n * n)?;
        for s in 0..samples {
            self.single.hessian_into(
                &x[s * width..(s + 1) * width],
                &reference[s * r..(s + 1) * r],
                weights,
                &mut values[s * costs..(s + 1) * costs],
                &mut gradients[s * n..(s + 1) * n],
                &mut hessians[s * n * n..(s + 1) * n * n],
            )?;
        }
        Ok(())
    }

    fn check(
        &self,
        x: &[f64],
        reference: &[f64],
        weights: Option<&[f64]>,
        values: &[f64],
        gradients: &[f64],
    ) -> Result<usize, JetError> {
        let samples = x.len() / self.sample_len().max(1);
        self.single.check(samples, x, reference, weights, values)?;
        if weights.is_some() {
            expect("gradients", gradients.len(), samples * self.tangent_len())?;
        }
        Ok(samples)
    }

    fn evaluate(
        &mut self,
        x: &[f64],
        reference: &[f64],
        weights: Option<&[f64]>,
        values: &mut [f64],
        gradients: &mut [f64],
    ) -> Result<(), JetError> {
        let samples = self.check(x, reference, weights, values, gradients)?;
        if self.one_by_one {
            let (n, r, m) = (self.sample_len(), self.reference_len(), self.single.costs().len());
            let t = self.tangent_len();
            for s in 0..samples {
                let (x, own) = (&x[s * n..(s + 1) * n], &reference[s * r..(s + 1) * r]);
                let values = &mut values[s * m..(s + 1) * m];
                match weights {
                    Some(w) => {
                        self.single.gradient_into(x, own, w, values, &mut gradients[s * t..(s + 1) * t])?;
                    }
                    None => self.single.values_into(x, own, values)?,
                }
            }
            return Ok(());
        }
        let costs = self.single.costs();
        match &mut self.lanes {
            Lanes::Wide(buffers) => {
                run_wide(Evaluate { buffers, costs, x, reference, weights, values, gradients })
            }
            Lanes::Plain(buffers) => {
                Evaluate { buffers, costs, x, reference, weights, values, gradients }.run()
            }
        }
    }
}
