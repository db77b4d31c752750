//! What the experiments on Jacobians share: a state, our Jacobian, and its slow twins.

use leastaction::jet::{Coordinates, JetError, JetWorkspace, Quantity};
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, ModelDescription, Placement, WORLD, samples,
};
use leastaction::scalar::Dual;
use leastaction_core::scalar::{largest, largest_difference};

use leastaction_study::failure::Failure;

type D = Dual<f64, 1>;

/// The serial arm of Ishigaki et al.: links of 1 m and 5 kg with 0.1 kg m² about every axis of the centre.
///
/// The paper does not give the axes; they alternate between y and z here, so that nothing is planar.
pub(crate) fn serial_arm(n: usize) -> ModelDescription {
    let mut model = ModelDescription::new(format!("serial-arm-{n}"));
    let mut parent = WORLD.to_owned();
    for i in 0..n {
        let name = format!("link{i}");
        model.bodies.push(BodyDescription {
            name: name.clone(),
            mass: 5.0,
            com: [0.5, 0.0, 0.0],
            inertia: [0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        model.joints.push(JointDescription {
            parent_placement: Placement::at(if i == 0 { [0.0; 3] } else { [1.0, 0.0, 0.0] }),
            axis: Some(if i % 2 == 0 { [0.0, 1.0, 0.0] } else { [0.0, 0.0, 1.0] }),
            ..JointDescription::new(format!("joint{i}"), JointType::Revolute, &parent, &name)
        });
        parent = name;
    }
    model
}

/// A mechanism of one-axis joints in a random motion, with everything needed to differentiate it.
pub(crate) struct Study<'m> {
    mechanism: &'m Mechanism,
    /// Our evaluation.
    pub(crate) jets: JetWorkspace<f64>,
    dual: JetWorkspace<D>,
    /// Positions.
    pub(crate) q: Vec<f64>,
    /// Velocity coefficients, order-major.
    pub(crate) y: Vec<f64>,
}

/// An error of a jet as a failure of the experiment.
pub(crate) fn stopped(error: &JetError) -> Failure {
    Failure::caused_by("a jet could not be evaluated", error)
}

impl<'m> Study<'m> {
    /// At random positions and derivatives of size one, force order `k`.
    pub(crate) fn new(mechanism: &'m Mechanism, k: i32, seed: u64) -> Result<Self, Failure> {
        let jets = JetWorkspace::<f64>::new(mechanism, k);
        let mut random = samples::Random::new(seed);
        let q = (0..mechanism.nv()).map(|_| random.range(-1.0, 1.0)).collect();
        let y = (0..jets.velocity_count() * mechanism.nv()).map(|_| random.range(-1.0, 1.0)).collect();
        let dual = jets.dual();
        let mut study = Self { mechanism, jets, dual, q, y };
        study.forward()?;
        Ok(study)
    }

    /// Evaluates all jets.
    pub(crate) fn forward(&mut self) -> Result<(), Failure> {
        self.jets.forward(&self.q, &self.y).map_err(|error| stopped(&error))
    }

    /// Room for a Jacobian.
    pub(crate) fn room(&self, request: &Quantity) -> Vec<f64> {
        let rows = self.jets.value_count(request.kind) * self.jets.jacobian_rows(request.kind);
        vec![0.0; rows * self.jets.jacobian_columns()]
    }

    /// Ours.
    pub(crate) fn analytic(&mut self, request: &Quantity, out: &mut [f64]) -> Result<(), Failure> {
        self.jets.jacobian_into(request, Coordinates::Velocity, out).map_err(|error| stopped(&error))
    }

    /// Names of all columns: coordinate and order (0 the position, `r` the velocity coefficient `r − 1`).
    fn columns(&self) -> Vec<(usize, usize, usize)> {
        let (nv, orders) = (self.mechanism.nv(), self.jets.velocity_count() + 1);
        (0..nv)
            .flat_map(|c| (0..orders).map(move |r| (c, r)))
            .map(|(c, r)| (self.jets.column_index(c, r), c, r))
            .collect()
    }

    /// By dual numbers, one direction at a time: exact to rounding.
    pub(crate) fn automatic(&mut self, request: &Quantity, out: &mut [f64]) -> Result<(), Failure> {
        let (nv, width) = (self.mechanism.nv(), self.jets.jacobian_columns());
        let rows = self.jets.value_count(request.kind) * self.jets.jacobian_rows(request.kind);
        let mut q: Vec<D> = self.q.iter().map(|x| D::constant(*x)).collect();
        let mut y: Vec<D> = self.y.iter().map(|x| D::constant(*x)).collect();
        let mut value = vec![D::constant(0.0); rows];
        for (column, c, r) in self.columns() {
            let seed = if r == 0 { &mut q[c] } else { &mut y[(r - 1) * nv + c] };
            seed.eps[0] = 1.0;
            self.dual.forward(&q, &y).map_err(|error| stopped(&error))?;
            self.dual.value_into(request, &mut value).map_err(|error| stopped(&error))?;
            value.iter().enumerate().for_each(|(row, x)| out[row * width + column] = x.eps[0]);
            let seed = if r == 0 { &mut q[c] } else { &mut y[(r - 1) * nv + c] };
            seed.eps[0] = 0.0;
        }
        Ok(())
    }

    /// By forward differences of size 1e-8.
    pub(crate) fn numeric(&mut self, request: &Quantity, out: &mut [f64]) -> Result<(), Failure> {
        const SIZE: f64 = 1e-8;
        let (nv, width) = (self.mechanism.nv(), self.jets.jacobian_columns());
        let rows = self.jets.value_count(request.kind) * self.jets.jacobian_rows(request.kind);
        let (mut base, mut value) = (vec![0.0; rows], vec![0.0; rows]);
        let (mut q, mut y) = (self.q.clone(), self.y.clone());
        self.jets.forward(&q, &y).map_err(|error| stopped(&error))?;
        self.jets.value_into(request, &mut base).map_err(|error| stopped(&error))?;
        for (column, c, r) in self.columns() {
            let seed = if r == 0 { &mut q[c] } else { &mut y[(r - 1) * nv + c] };
            let old = *seed;
            *seed = old + SIZE;
            self.jets.forward(&q, &y).map_err(|error| stopped(&error))?;
            self.jets.value_into(request, &mut value).map_err(|error| stopped(&error))?;
            value
                .iter()
                .zip(&base)
                .enumerate()
                .for_each(|(row, (x, b))| out[row * width + column] = (x - b) / SIZE);
            let seed = if r == 0 { &mut q[c] } else { &mut y[(r - 1) * nv + c] };
            *seed = old;
        }
        self.forward()
    }

    /// Largest absolute difference of two Jacobians in the rows of one order, and the largest entry of the second.
    pub(crate) fn difference(&self, request: &Quantity, order: usize, a: &[f64], b: &[f64]) -> (f64, f64) {
        let size = self.jets.jacobian_rows(request.kind) * self.jets.jacobian_columns();
        let range = order * size..(order + 1) * size;
        let (a, b) = (&a[range.clone()], &b[range]);
        (largest_difference(a, b), largest(b))
    }
}
