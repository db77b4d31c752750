//! [`JetQuantities`]: quantities, Jacobians and Hessians from comprehensive-motion jets.
//!
//! Values and Hessians run on four samples at once, one per lane. Jacobians are made one sample after the other: those of
//! torques run in lanes inside a sample, at about the cost of writing them; the others come from generating jets.

use super::chart::MotionChart;
use super::jet_items::{Item, Kind, at_sample, orientation_error};
use super::jet_lanes::InLanes;
use super::jet_sweeps::Sweeps;
use super::quantity::Samples;
use super::{OptimizeError, Quantities, Quantity};
use crate::jet::lanes::Group;
use crate::jet::{Coordinates, JetWorkspace, TorqueJacobian, factorial};
use crate::lie::so3;
use crate::mechanism::Mechanism;
use crate::spatial::Vec3;

/// Evaluates quantities of a mechanism by jets. Made once; evaluations do not allocate.
pub struct JetQuantities {
    items: Vec<Item>,
    rows: usize,
    /// Highest derivative any quantity depends on.
    highest: usize,
    one: Sweeps<f64, W>,
    /// None where samples go one by one: rotations branch on their angle, each sample for itself.
    lanes: Option<InLanes>,
    /// Jacobians of torques; lanes run inside a sample here. With generating jets instead, like all others, a whole solve
    /// takes 40.8 instead of 36.7 ms on an arm of seven joints.
    torque: Option<TorqueJacobian>,
    /// There are other quantities than torques.
    mixed: bool,
    /// Jacobian of one quantity as the jets give it.
    dense: Vec<f64>,
    bar: Vec<f64>,
}

/// Directions that the dual sweep of one sample differentiates along: one sweep serves the torques of three joints, three
/// serve those of seven.
const W: usize = 6;

impl JetQuantities {
    /// For a mechanism of joints with plain coordinates and a list of quantities.
    ///
    /// # Errors
    /// If the mechanism has a spherical or floating joint: those need [`with_chart`](Self::with_chart).
    pub fn new(mechanism: &Mechanism, quantities: &[Quantity]) -> Result<Self, OptimizeError> {
        for joint in mechanism.tree_joints().map(|id| mechanism.joint(id)) {
            if joint.kind.nq() != joint.kind.nv() {
                let kind = joint.kind.name();
                return Err(OptimizeError::JointNotServed { joint: joint.name.clone(), kind });
            }
        }
        Ok(Self::build(mechanism, quantities, None))
    }

    /// For any mechanism, with the chart of its motion.
    #[must_use]
    pub fn with_chart(mechanism: &Mechanism, quantities: &[Quantity], chart: &MotionChart) -> Self {
        Self::build(mechanism, quantities, Some(chart).filter(|chart| !chart.is_identity()))
    }

    fn build(mechanism: &Mechanism, quantities: &[Quantity], chart: Option<&MotionChart>) -> Self {
        let highest = quantities.iter().map(Quantity::highest_derivative).max().unwrap_or(1).max(1);
        let jets = JetWorkspace::new(mechanism, highest as i32 - 2);
        let items: Vec<Item> = quantities.iter().map(|quantity| Item::new(quantity, &jets)).collect();
        let rows = items.iter().map(|i| i.rows).sum();
        let branches = chart.is_some() || items.iter().any(|i| matches!(i.kind, Kind::Orientation { .. }));
        let lanes = if branches { None } else { InLanes::new(&jets, rows, highest) };
        let torques = items.iter().filter(|i| matches!(i.kind, Kind::Torque)).map(|i| i.order);
        let torque = torques.max().and_then(|k| TorqueJacobian::new(mechanism, k as i32).ok());
        let entries = |item: &Item| jets.value_count(item.request().quantity) * item.rows;
        let dense = items.iter().map(entries).max().unwrap_or(0) * jets.jacobian_columns();
        Self {
            rows,
            highest,
            one: Sweeps::new(&jets, rows, highest, chart),
            lanes,
            mixed: torque.is_none() || items.iter().any(|i| !matches!(i.kind, Kind::Torque)),
            torque,
            dense: vec![0.0; dense],
            bar: vec![0.0; jets.nv() * (jets.velocity_count() + 1)],
            items,
        }
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

    /// The sweeps that Jacobians are read from at sample `s`; false if it is not finite.
    fn linearize(&mut self, samples: Samples<'_>, s: usize) -> bool {
        self.one.place(samples, s);
        let jets = &mut self.one.jets;
        if let Some(torque) = &mut self.torque
            && torque.evaluate_coefficients(&jets.q, &jets.y).is_err()
        {
            return false;
        }
        !self.mixed || jets.run().is_ok()
    }

    /// Jacobian at sample `s`.
    fn jacobian(&mut self, samples: Samples<'_>, s: usize, jacobian: &mut [f64]) {
        if !self.linearize(samples, s) {
            jacobian.fill(f64::NAN);
            return;
        }
        jacobian.fill(0.0);
        let (jets, size) = (&mut self.one.jets, samples.size());
        let (nv, columns) = (jets.nv(), jets.jacobian_columns());
        let orders = (self.highest + 1).min(size / nv.max(1));
        let mut at = 0;
        for item in &self.items {
            if let (Kind::Torque, Some(torque)) = (&item.kind, &self.torque) {
                for m in 0..orders.min(item.order + 3) {
                    for (row, from) in torque.block(item.order, m).chunks_exact(nv).enumerate() {
                        jacobian[(at + row) * size + m * nv..][..nv].copy_from_slice(from);
                    }
                }
                at += item.rows;
                continue;
            }
            if let Kind::Rate = item.kind {
                for row in 0..item.rows {
                    jets.clear_adjoint();
                    let unit = |c: usize| if c == row { factorial(item.order) } else { 0.0 };
                    jets.weigh_rates(item.order, unit);
                    for m in 0..orders {
                        let from = &jets.products.xi_bar[m * nv..(m + 1) * nv];
                        let to = &mut jacobian[(at + row) * size + m * nv..][..nv];
                        to.iter_mut().zip(from).for_each(|(to, x)| *to = x / factorial(m));
                    }
                }
                at += item.rows;
                continue;
            }
            let request = item.request();
            let dense = &mut self.dense[..jets.value_count(request.quantity) * item.rows * columns];
            if jets.jacobian_into(&request, Coordinates::Tangent, dense).is_err() {
                jacobian.fill(f64::NAN);
                return;
            }
            let scale = factorial(item.order);
            for m in 0..orders {
                let f = scale / factorial(m);
                for c in 0..nv {
                    let column = jets.column_index(c, m);
                    for row in 0..item.rows {
                        let entry = dense[(item.order * item.rows + row) * columns + column];
                        jacobian[(at + row) * size + m * nv + c] = f * entry;
                    }
                }
            }
            if let Kind::Orientation { target, reference } = &item.kind {
                let e = orientation_error(jets, target, at_sample(reference, samples.first + s));
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
        let entries = self.rows * samples.size();
        for s in 0..samples.len() {
            self.jacobian(samples, s, &mut jacobians[s * entries..(s + 1) * entries]);
        }
    }

    fn add_hessians(&mut self, samples: Samples<'_>, mu: &[f64], hessians: &mut [f64]) {
        let (rows, entries, count) = (self.rows, samples.size().pow(2), samples.len());
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
