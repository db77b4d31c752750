//! [`JetQuantities`]: quantities, Jacobians and Hessians from comprehensive-motion jets.
//!
//! Values and Hessians run on four samples at once, one per lane. Jacobians are made one sample after the other: those of
//! torques run in lanes inside a sample, at about the cost of writing them; the others come from generating jets.

use super::chart::MotionChart;
use super::in_lanes::InLanes;
use super::items::{Item, Need, at_sample, orientation_error};
use super::lanes::Group;
use super::samples::{Quantities, Samples};
use super::sweeps::Sweeps;
use super::workspace::JetWorkspace;
use super::{Coordinates, JetError, Quantity, QuantityKind, TorqueJacobian, factorial};
use crate::lie::so3;
use crate::mechanism::Mechanism;
use crate::spatial::{Mat3, Vec3};

/// What finds the weights `μ` of a sample from its values: called with the sample, `z` and room for `μ`.
pub(super) type Weigh<'a> = &'a mut dyn FnMut(usize, &[f64], &mut [f64]);

/// Evaluates quantities of a mechanism by jets, at many samples. Made once; evaluations do not allocate.
///
/// A state is the configuration (`nq` numbers), then velocity, acceleration, … in plain derivatives (`nv` numbers each).
/// Columns of Jacobians and Hessians perturb on the right, derivative by derivative: where all coordinates are plain
/// numbers they are the entries of the state. With the [chart](Self::with_chart) of a spline states and columns are those
/// of the spline's coordinates instead.
pub struct JetQuantities {
    pub(super) items: Vec<Item>,
    rows: usize,
    one: Sweeps<f64, W>,
    /// None where samples go one by one: rotations branch on their angle, each sample for itself.
    lanes: Option<InLanes>,
    /// Jacobians of torques; lanes run inside a sample here. With generating jets instead, like all others, a whole solve
    /// takes 40.8 instead of 36.7 ms on an arm of seven joints.
    torque: Option<TorqueJacobian>,
    /// What the Jacobians of all but torques need.
    need: Need,
    /// Jacobian of one quantity as the jets give it.
    dense: Vec<f64>,
    bar: Vec<f64>,
}

/// Directions that the dual sweep of one sample differentiates along: one sweep serves the torques of three joints, three
/// serve those of seven.
const W: usize = 6;

impl JetQuantities {
    /// For a mechanism and a list of quantities; orientations are taken from the identity.
    ///
    /// # Errors
    /// If a quantity cannot be evaluated at many samples, or a target is missing.
    pub fn new(mechanism: &Mechanism, quantities: &[Quantity]) -> Result<Self, JetError> {
        let plain: Vec<(Quantity, Vec<Mat3>)> = quantities.iter().map(|q| (*q, Vec::new())).collect();
        Self::build(mechanism, &plain, None)
    }

    /// For splines in the coordinates of a chart. Orientations come with references: one per sample, or one for all.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_chart(
        mechanism: &Mechanism,
        quantities: &[(Quantity, Vec<Mat3>)],
        chart: &MotionChart,
    ) -> Result<Self, JetError> {
        Self::build(mechanism, quantities, Some(chart).filter(|chart| !chart.is_identity()))
    }

    fn build(
        mechanism: &Mechanism,
        quantities: &[(Quantity, Vec<Mat3>)],
        chart: Option<&MotionChart>,
    ) -> Result<Self, JetError> {
        let highest = quantities.iter().map(|(q, _)| q.highest_derivative()).max().unwrap_or(1).max(1);
        let jets = JetWorkspace::new(mechanism, i32::try_from(highest).unwrap_or(i32::MAX) - 2);
        let items: Vec<Item> = quantities
            .iter()
            .map(|(quantity, reference)| Item::new(quantity, reference.clone(), &jets))
            .collect::<Result<_, _>>()?;
        let branches =
            jets.nq() != jets.nv() || items.iter().any(|i| i.quantity.kind == QuantityKind::Orientation);
        let lanes = if branches { None } else { InLanes::new(&jets, &items) };
        let torques = items.iter().filter(|i| i.is_torque()).map(|i| i.quantity.order);
        let torque = torques.max().and_then(|k| TorqueJacobian::new(mechanism, k as i32).ok());
        let others = items.iter().filter(|i| !i.is_torque());
        let dense = others.clone().map(|item| jets.value_count(item.quantity.kind) * item.rows).max();
        Ok(Self {
            rows: items.iter().map(|i| i.rows).sum(),
            one: Sweeps::new(&jets, &items, chart),
            lanes,
            torque,
            need: others.map(Item::need).max().unwrap_or(Need::Nothing),
            dense: vec![0.0; dense.unwrap_or(0) * jets.jacobian_columns()],
            bar: vec![0.0; jets.nv() * (jets.velocity_count() + 1)],
            items,
        })
    }

    /// Whether torques include springs, dampers and armature of the joints (off at first).
    pub fn include_passive(&mut self, yes: bool) {
        self.one.include_passive(yes);
        if let Some(torque) = &mut self.torque {
            torque.include_passive(yes);
        }
        if let Some(lanes) = &mut self.lanes {
            lanes.include_passive(yes);
        }
    }

    /// Columns of Jacobians and Hessians at samples.
    #[must_use]
    pub fn columns(&self, samples: Samples<'_>) -> usize {
        samples.size() + self.one.jets.nv() - self.one.configuration
    }

    /// The sweeps that Jacobians are read from at sample `s`; false if it is not finite.
    fn linearize(&mut self, samples: Samples<'_>, s: usize) -> bool {
        self.one.place(samples, s);
        let jets = &self.one.jets;
        if let Some(torque) = &mut self.torque
            && torque.evaluate_coefficients(&jets.q, &jets.y).is_err()
        {
            return false;
        }
        self.one.run(self.need)
    }

    /// Jacobian at sample `s`.
    fn jacobian(&mut self, samples: Samples<'_>, s: usize, jacobian: &mut [f64]) {
        if !self.linearize(samples, s) {
            jacobian.fill(f64::NAN);
            return;
        }
        jacobian.fill(0.0);
        let size = self.columns(samples);
        let jets = &mut self.one.jets;
        let (nv, columns) = (jets.nv(), jets.jacobian_columns());
        let orders = (jets.velocity_count() + 1).min(size / nv.max(1));
        let mut at = 0;
        for item in &self.items {
            let (kind, order) = (item.quantity.kind, item.quantity.order);
            if let (true, Some(torque)) = (item.is_torque(), &self.torque) {
                for m in 0..orders.min(order + 3) {
                    for (row, from) in torque.block(order, m).chunks_exact(nv).enumerate() {
                        jacobian[(at + row) * size + m * nv..][..nv].copy_from_slice(from);
                    }
                }
                at += item.rows;
                continue;
            }
            if kind == QuantityKind::Joint {
                for row in 0..item.rows {
                    if order == 0 {
                        jacobian[(at + row) * size + row] = 1.0;
                        continue;
                    }
                    jets.clear_adjoint();
                    let unit = |c: usize| if c == row { factorial(order - 1) } else { 0.0 };
                    jets.weigh_rates(order - 1, unit);
                    for m in 0..orders {
                        let from = &jets.products.xi_bar[m * nv..(m + 1) * nv];
                        let to = &mut jacobian[(at + row) * size + m * nv..][..nv];
                        to.iter_mut().zip(from).for_each(|(to, x)| *to = x / factorial(m));
                    }
                }
                at += item.rows;
                continue;
            }
            let dense = &mut self.dense[..jets.value_count(kind) * item.rows * columns];
            if jets.jacobian_into(&item.quantity, Coordinates::Tangent, dense).is_err() {
                jacobian.fill(f64::NAN);
                return;
            }
            let scale = factorial(order);
            for m in 0..orders {
                let f = scale / factorial(m);
                for c in 0..nv {
                    let column = jets.column_index(c, m);
                    for row in 0..item.rows {
                        let entry = dense[(order * item.rows + row) * columns + column];
                        jacobian[(at + row) * size + m * nv + c] = f * entry;
                    }
                }
            }
            if kind == QuantityKind::Orientation {
                let e = orientation_error(jets, &item.place, at_sample(&item.reference, samples.first + s));
                for column in 0..size {
                    let d = Vec3(std::array::from_fn(|row| jacobian[(at + row) * size + column]));
                    let d = so3::dexp_inv(e, d);
                    (0..3).for_each(|row| jacobian[(at + row) * size + column] = d[row]);
                }
            }
            at += item.rows;
        }
        // From the tangent on the right to the coordinates of the spline.
        if let Some(chart) = &mut self.one.chart {
            for row in jacobian.chunks_exact_mut(size) {
                let used = size.min(self.bar.len());
                self.bar.fill(0.0);
                for i in 0..used {
                    self.bar[i] = row[i] * factorial(i / nv);
                }
                chart.map.pull_back(&mut chart.jets, &mut self.bar);
                for i in 0..used {
                    row[i] = self.bar[i] / factorial(i / nv);
                }
            }
        }
    }
}

impl JetQuantities {
    /// Values at all samples, and the gradients of `Σ μ z` on the columns, for the weights `μ` that `weigh` finds from the
    /// values of a sample. One forward and one adjoint sweep for any mixture of quantities, O(n k²).
    pub(super) fn gradients(&mut self, samples: Samples<'_>, weigh: Weigh<'_>, gradients: &mut [f64]) {
        let (nv, count, size) = (self.one.jets.nv(), samples.len(), self.columns(samples));
        let mut next = Group::from(0, count);
        while let Some(group) = next {
            next = group.next(count);
            // Lanes pay for two samples or more.
            let lanes = self.lanes.as_mut().filter(|_| group.samples().len() > 1);
            if lanes.is_some_and(|l| l.gradients(&self.items, samples, group, weigh, gradients)) {
                continue;
            }
            for s in group.samples() {
                let gradient = &mut gradients[s * size..(s + 1) * size];
                let mut z = std::mem::take(&mut self.one.z);
                let fine = self.one.values(&self.items, samples, s, &mut z);
                weigh(s, &z, &mut self.one.mu);
                self.one.z = z;
                if !fine {
                    gradient.fill(f64::NAN);
                    continue;
                }
                self.one.pull_back::<false>(&self.items, samples.first + s);
                let bar = &mut self.one.jets.products.xi_bar;
                if let Some(chart) = &mut self.one.chart {
                    chart.map.pull_back(&mut chart.jets, bar);
                }
                for (m, bar) in bar.chunks_exact(nv.max(1)).enumerate().take(size / nv.max(1)) {
                    let f = 1.0 / factorial(m);
                    gradient[m * nv..(m + 1) * nv].iter_mut().zip(bar).for_each(|(g, b)| *g = b * f);
                }
            }
        }
    }
}

impl Quantities for JetQuantities {
    fn rows(&self) -> usize {
        self.rows
    }

    fn values(&mut self, samples: Samples<'_>, z: &mut [f64]) {
        let (rows, count) = (self.rows, samples.len());
        let mut next = Group::from(0, count);
        while let Some(group) = next {
            let done = self.lanes.as_mut().is_some_and(|l| l.values(&self.items, samples, group, z));
            if !done {
                for s in group.samples() {
                    self.one.values(&self.items, samples, s, &mut z[s * rows..(s + 1) * rows]);
                }
            }
            next = group.next(count);
        }
    }

    fn jacobians(&mut self, samples: Samples<'_>, jacobians: &mut [f64]) {
        let entries = self.rows * self.columns(samples);
        for s in 0..samples.len() {
            self.jacobian(samples, s, &mut jacobians[s * entries..(s + 1) * entries]);
        }
    }

    fn add_hessians(&mut self, samples: Samples<'_>, mu: &[f64], hessians: &mut [f64]) {
        let (rows, entries, count) = (self.rows, self.columns(samples).pow(2), samples.len());
        let mut next = Group::from(0, count);
        while let Some(group) = next {
            let (items, lanes) = (&self.items, self.lanes.as_mut());
            if !lanes.is_some_and(|l| l.add_hessians(items, samples, group, mu, hessians)) {
                for s in group.samples() {
                    let mu = &mu[s * rows..(s + 1) * rows];
                    if mu.iter().any(|m| *m != 0.0) {
                        let hessian = &mut hessians[s * entries..(s + 1) * entries];
                        self.one.add_hessian(items, samples, s, mu, hessian);
                    }
                }
            }
            next = group.next(count);
        }
    }
}
