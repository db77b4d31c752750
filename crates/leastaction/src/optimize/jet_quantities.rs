//! [`JetQuantities`]: quantities, Jacobians and Hessians from comprehensive-motion jets.
//!
//! Jacobians come from generating jets. The Hessian of `Σ μ z` is the adjoint sweep differentiated by dual numbers. Every
//! quantity is homogeneous in time: with `K` its highest derivative, `∂²z/∂q⁽ᵃ⁾∂q⁽ᵇ⁾ = 0` for `a + b > K`. So the sweep is
//! differentiated along `q⁽ᵃ⁾` with `2a ≤ K` only; symmetry gives the rest. The chart of rotations is homogeneous as well
//! (its reference counts as a motion), so the same holds for splines on the group.

use super::chart::{ChartJets, MotionChart};
use super::quantity::At;
use super::{OptimizeError, Quantities, Quantity};
use crate::jet::{Coordinates, JetWorkspace, Quantity as JetQuantity, Request, Target, factorial};
use crate::lie::so3;
use crate::mechanism::Mechanism;
use crate::reference::Dual;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Quat, Twist, Vec3};

/// A quantity resolved to a target of the jets.
#[derive(Clone, Debug)]
struct Item {
    kind: Kind,
    order: usize,
    rows: usize,
}

#[derive(Clone, Debug)]
enum Kind {
    Torque,
    Rate,
    Velocity(Target),
    Momentum { about_com: bool },
    Point(Target),
    Orientation { target: Target, reference: Vec<Mat3> },
    Com,
}

/// Evaluates quantities of a mechanism by jets.
pub struct JetQuantities {
    items: Vec<Item>,
    nv: usize,
    /// Highest derivative any quantity depends on.
    highest: usize,
    rows: usize,
    jets: JetWorkspace<f64>,
    dual: Sweep,
    q: Vec<f64>,
    y: Vec<f64>,
    dense: Vec<f64>,
    /// For mechanisms with rotations.
    chart: Option<(MotionChart, ChartJets<f64>)>,
    bar: Vec<f64>,
}

/// Directions that one dual sweep differentiates along: one sweep serves the torques of three joints, three serve
/// those of seven.
const W: usize = 6;

/// The adjoint sweep in dual numbers.
struct Sweep {
    jets: JetWorkspace<Dual<f64, W>>,
    x: Vec<Dual<f64, W>>,
    q: Vec<Dual<f64, W>>,
    y: Vec<Dual<f64, W>>,
    chart: Option<(MotionChart, ChartJets<Dual<f64, W>>)>,
}

impl Sweep {
    fn new(jets: &JetWorkspace<f64>, chart: Option<&MotionChart>) -> Self {
        let zero = Dual::constant(0.0);
        let (nv, n) = (jets.nv(), jets.velocity_count());
        Self {
            jets: jets.like(),
            x: vec![zero; nv * (n + 1)],
            q: vec![zero; jets.nq()],
            y: vec![zero; nv * n],
            chart: chart.map(|chart| (chart.clone(), chart.jets(n))),
        }
    }

    /// Adds the Hessian of `Σ μ z`, by sweeps along the directions of orders `0..=half`.
    fn add_hessian(
        &mut self,
        items: &[Item],
        at: At,
        x: &[f64],
        mu: &[f64],
        highest: usize,
        hessian: &mut [f64],
    ) {
        let (nv, size) = (self.jets.nv(), x.len());
        let n = self.jets.velocity_count();
        let directions = (highest / 2 + 1) * nv;
        for first in (0..directions).step_by(W) {
            let last = directions.min(first + W);
            for i in 0..(n + 1) * nv {
                self.x[i] = Dual::constant(x.get(i).copied().unwrap_or(0.0));
                if (first..last).contains(&i) {
                    self.x[i].eps[i - first] = 1.0;
                }
            }
            match &mut self.chart {
                Some((chart, work)) => chart.motion_into(work, at.t, &self.x, &mut self.q, &mut self.y),
                None => {
                    self.q.copy_from_slice(&self.x[..nv]);
                    for l in 0..n {
                        let scale = 1.0 / factorial(l);
                        for c in 0..nv {
                            self.y[l * nv + c] = self.x[(l + 1) * nv + c] * scale;
                        }
                    }
                }
            }
            if self.jets.forward(&self.q, &self.y).is_err() {
                hessian.fill(f64::NAN);
                return;
            }
            weigh(&mut self.jets, items, at, mu);
            self.jets.run_adjoint();
            if let Some((chart, work)) = &mut self.chart {
                chart.pull_back(work, &mut self.jets.products.xi_bar);
            }
            let bar = &self.jets.products.xi_bar;
            for m in 0..=highest {
                let scale = 1.0 / factorial(m);
                for c in 0..nv {
                    let row = m * nv + c;
                    if row >= size {
                        continue;
                    }
                    let g = bar[row];
                    for i in first..last {
                        let h = g.eps[i - first] * scale;
                        hessian[row * size + i] += h;
                        // Rows above the swept directions have no sweep of their own: mirror them.
                        if row >= directions {
                            hessian[i * size + row] += h;
                        }
                    }
                }
            }
        }
    }
}

/// Collects the weights `μ` on all quantities for one adjoint sweep.
fn weigh<T: Real>(jets: &mut JetWorkspace<T>, items: &[Item], sample: At, mu: &[f64]) {
    jets.clear_adjoint();
    let mut at = 0;
    for item in items {
        let f = factorial(item.order);
        let w = |k: usize| T::from_f64(mu[at + k] * f);
        let (l, six) = (item.order, || Twist::from_array(std::array::from_fn(w)));
        let three = || Vec3(std::array::from_fn(w));
        match &item.kind {
            Kind::Torque => {
                let products = &mut jets.products;
                products.has_torque = true;
                for c in 0..item.rows {
                    products.lambda[l * item.rows + c] += w(c);
                }
            }
            Kind::Rate => jets.weigh_rates(l, w),
            Kind::Velocity(target) => {
                jets.local_velocity(target, l);
                jets.weigh_local_velocity(target, l, six());
            }
            Kind::Momentum { about_com } => jets.weigh_total_momentum(l, *about_com, six()),
            Kind::Point(target) => {
                jets.point(target, l);
                jets.weigh_point(target, l, three());
            }
            Kind::Com => jets.weigh_com(l, three()),
            Kind::Orientation { target, reference } => {
                let e = orientation_error(jets, target, at_sample(reference, sample.sample));
                // de = Jr⁻¹(e) Rᵀ s_w ξ, so the world torque is R Jr⁻ᵀ(e) μ, and Jr⁻ᵀ(e) = Jr⁻¹(−e).
                let torque = jets.rotation(target) * so3::dexp_inv(-e, three());
                jets.weigh_rotation(target, torque);
            }
        }
        at += item.rows;
    }
}

/// The reference of a sample: one per sample, or the last one for all that follow.
fn at_sample(reference: &[Mat3], sample: usize) -> Mat3 {
    reference.get(sample).or(reference.last()).copied().unwrap_or_else(Mat3::identity)
}

/// `Log(R_refᵀ R)`.
fn orientation_error<T: Real>(jets: &JetWorkspace<T>, target: &Target, reference: Mat3) -> Vec3<T> {
    let reference: Mat3<T> = Mat3::constant(reference);
    so3::log(Quat::from_matrix(&(reference.transpose() * jets.rotation(target))))
}

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
        let nv = mechanism.nv();
        let items: Vec<Item> = quantities
            .iter()
            .map(|quantity| {
                let kind = match quantity {
                    Quantity::Torque { .. } => Kind::Torque,
                    Quantity::JointRate { .. } => Kind::Rate,
                    Quantity::LinkVelocity { body, .. } => Kind::Velocity(jets.body(*body)),
                    Quantity::Momentum { about_com, .. } => Kind::Momentum { about_com: *about_com },
                    Quantity::Point { body, offset, .. } => Kind::Point(jets.body(*body).at_point(*offset)),
                    Quantity::Orientation { body, offset, reference } => Kind::Orientation {
                        target: jets.body(*body).offset(Pose::new(*offset, Vec3::zero())),
                        reference: reference.clone(),
                    },
                    Quantity::Com { .. } => Kind::Com,
                };
                Item { kind, order: quantity.order(), rows: quantity.rows(nv) }
            })
            .collect();
        let n = jets.velocity_count();
        Self {
            rows: items.iter().map(|i| i.rows).sum(),
            items,
            nv,
            highest,
            q: vec![0.0; jets.nq()],
            y: vec![0.0; nv * n],
            dense: Vec::new(),
            dual: Sweep::new(&jets, chart),
            chart: chart.map(|chart| (chart.clone(), chart.jets(n))),
            bar: vec![0.0; nv * (n + 1)],
            jets,
        }
    }

    /// Whether torques include springs, dampers and armature of the joints (off at first).
    pub fn include_passive(&mut self, yes: bool) {
        self.jets.include_passive(yes);
        self.dual.jets.include_passive(yes);
    }

    fn forward(&mut self, at: At, x: &[f64]) -> bool {
        let nv = self.nv;
        if let Some((chart, work)) = &mut self.chart {
            chart.motion_into(work, at.t, x, &mut self.q, &mut self.y);
            return self.jets.forward(&self.q, &self.y).is_ok();
        }
        for l in 0..self.jets.velocity_count() {
            let f = 1.0 / factorial(l);
            for c in 0..nv {
                self.y[l * nv + c] = f * x.get((l + 1) * nv + c).copied().unwrap_or(0.0);
            }
        }
        self.jets.forward(&x[..nv], &self.y).is_ok()
    }

    fn read(&mut self, sample: At, z: &mut [f64]) {
        let mut at = 0;
        for item in &self.items {
            let (l, f) = (item.order, factorial(item.order));
            let out = &mut z[at..at + item.rows];
            let mut put = |values: &[f64]| out.iter_mut().zip(values).for_each(|(o, v)| *o = f * v);
            match &item.kind {
                Kind::Torque => put(self.jets.torque(l)),
                Kind::Rate => put(&self.jets.y[l * item.rows..]),
                Kind::Velocity(target) => put(&self.jets.local_velocity(target, l).to_array()),
                Kind::Momentum { about_com } => put(&self.jets.total_momentum(l, *about_com).to_array()),
                Kind::Point(target) => put(&self.jets.point(target, l).0),
                Kind::Com => put(&self.jets.com(l).0),
                Kind::Orientation { target, reference } => {
                    put(&orientation_error(&self.jets, target, at_sample(reference, sample.sample)).0);
                }
            }
            at += item.rows;
        }
    }

    fn request(kind: &Kind) -> Request {
        match kind {
            Kind::Torque | Kind::Rate => Request::whole(JetQuantity::Torque),
            Kind::Velocity(target) => Request::local(JetQuantity::Velocity, *target),
            Kind::Momentum { about_com: true } => Request::whole(JetQuantity::CentroidalMomentum),
            Kind::Momentum { about_com: false } => Request::whole(JetQuantity::TotalMomentum),
            Kind::Point(target) => Request::world(JetQuantity::Point, *target),
            Kind::Orientation { target, .. } => Request::local(JetQuantity::Orientation, *target),
            Kind::Com => Request::whole(JetQuantity::Com),
        }
    }
}

impl Quantities for JetQuantities {
    fn rows(&self) -> usize {
        self.rows
    }

    fn values(&mut self, at: At, x: &[f64], z: &mut [f64]) {
        if self.forward(at, x) {
            self.read(at, z);
        } else {
            z.fill(f64::NAN);
        }
    }

    fn jacobian(&mut self, sample: At, x: &[f64], z: &mut [f64], jacobian: &mut [f64]) {
        let (nv, size) = (self.nv, x.len());
        if !self.forward(sample, x) {
            z.fill(f64::NAN);
            jacobian.fill(f64::NAN);
            return;
        }
        self.read(sample, z);
        jacobian.fill(0.0);
        let columns = self.jets.jacobian_columns();
        let mut at = 0;
        for item in &self.items {
            if let Kind::Rate = item.kind {
                for row in 0..item.rows {
                    self.jets.clear_adjoint();
                    let unit = |c: usize| if c == row { factorial(item.order) } else { 0.0 };
                    self.jets.weigh_rates(item.order, unit);
                    for m in 0..=self.highest.min(size / nv - 1) {
                        let from = &self.jets.products.xi_bar[m * nv..(m + 1) * nv];
                        let to = &mut jacobian[(at + row) * size + m * nv..][..nv];
                        to.iter_mut().zip(from).for_each(|(to, x)| *to = x / factorial(m));
                    }
                }
                at += item.rows;
                continue;
            }
            let request = Self::request(&item.kind);
            let needed = self.jets.value_count(request.quantity) * item.rows * columns;
            self.dense.resize(needed, 0.0);
            if self.jets.jacobian_into(&request, Coordinates::Tangent, &mut self.dense).is_err() {
                jacobian.fill(f64::NAN);
                return;
            }
            let scale = factorial(item.order);
            for m in 0..=self.highest.min(size / nv - 1) {
                let f = scale / factorial(m);
                for c in 0..nv {
                    let column = self.jets.column_index(c, m);
                    for row in 0..item.rows {
                        let entry = self.dense[(item.order * item.rows + row) * columns + column];
                        jacobian[(at + row) * size + m * nv + c] = f * entry;
                    }
                }
            }
            if let Kind::Orientation { target, reference } = &item.kind {
                let e = orientation_error(&self.jets, target, at_sample(reference, sample.sample));
                for column in 0..size {
                    let d = Vec3(std::array::from_fn(|row| jacobian[(at + row) * size + column]));
                    let d = so3::dexp_inv(e, d);
                    (0..3).for_each(|row| jacobian[(at + row) * size + column] = d[row]);
                }
            }
            at += item.rows;
        }
        // From the tangent on the right to the coordinates of the spline.
        if let Some((chart, work)) = &mut self.chart {
            for row in jacobian.chunks_exact_mut(size) {
                let used = size.min(self.bar.len());
                self.bar.fill(0.0);
                for i in 0..used {
                    self.bar[i] = row[i] * factorial(i / nv);
                }
                chart.pull_back(work, &mut self.bar);
                for i in 0..used {
                    row[i] = self.bar[i] / factorial(i / nv);
                }
            }
        }
    }

    fn add_hessian(&mut self, at: At, x: &[f64], mu: &[f64], hessian: &mut [f64]) {
        self.dual.add_hessian(&self.items, at, x, mu, self.highest, hessian);
    }
}
