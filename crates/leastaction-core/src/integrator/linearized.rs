//! [`LinearizedStep`]: a step with its derivative, the same for both variational engines.

use super::{Input, Integrator, StepError};
use crate::mechanism::{Mechanism, Parameter};

/// The derivative of a step in coordinates of the admissible states: `[A B]` of
/// `d(q'_f, v'_f) = A d(q_f, v_f) + B du`.
///
/// The coordinates are public tangents and velocities. On a tree all are free; with loops or rolling a subset is, see
/// [`positions`](Self::positions) and [`velocities`](Self::velocities).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepLinearization {
    /// Velocity indices of the free positions' tangents.
    pub positions: Vec<usize>,
    /// Velocity indices of the free velocities.
    pub velocities: Vec<usize>,
    /// Number of inputs.
    pub inputs: usize,
    /// `[A B]` by rows, `m × (m + inputs)` with `m` the number of free positions and velocities.
    pub matrix: Vec<f64>,
    /// Parameters it is also differentiated by.
    pub parameters: usize,
    /// `C` of `… + C dθ` by rows, `m × parameters`: by the parameters that were asked for, in their order.
    pub by_parameters: Vec<f64>,
}

impl StepLinearization {
    /// Number of rows: free positions and velocities.
    #[must_use]
    pub fn states(&self) -> usize {
        self.positions.len() + self.velocities.len()
    }

    /// Entry of `A`.
    #[must_use]
    pub fn a(&self, row: usize, column: usize) -> f64 {
        self.matrix[row * (self.states() + self.inputs) + column]
    }

    /// Entry of `B`.
    #[must_use]
    pub fn b(&self, row: usize, input: usize) -> f64 {
        self.a(row, self.states() + input)
    }

    /// Entry of `C`: by a parameter.
    #[must_use]
    pub fn c(&self, row: usize, parameter: usize) -> f64 {
        self.by_parameters[row * self.parameters + parameter]
    }

    /// Names of the rows: `q.JOINT[.part]` of the free positions, then `v.JOINT[.part]` of the free velocities.
    #[must_use]
    pub fn names(&self, mechanism: &Mechanism) -> Vec<String> {
        let labels = mechanism.v_labels();
        let named = |prefix: &str, free: &[usize]| {
            free.iter().map(|c| format!("{prefix}.{}", labels[*c])).collect::<Vec<_>>()
        };
        [named("q", &self.positions), named("v", &self.velocities)].concat()
    }
}

/// An integrator whose steps can be differentiated.
pub trait LinearizedStep: Integrator {
    /// Memory of the derivative.
    type Slope;

    /// Memory for a mechanism.
    fn slope(&self, mechanism: &Mechanism, workspace: &Self::Workspace) -> Self::Slope;

    /// Chooses the parameters of the model that steps are differentiated by besides state and inputs; none at first.
    ///
    /// # Errors
    /// If the engine has no derivative by one of them.
    fn differentiate_by(
        &self,
        mechanism: &Mechanism,
        slope: &mut Self::Slope,
        parameters: &[Parameter],
    ) -> Result<(), StepError>;

    /// Takes the step and writes its derivative. Free coordinates are chosen at the start of every step; with `keep` those
    /// of the step before stay, so that the derivatives of successive steps multiply.
    ///
    /// # Errors
    /// If the step cannot be taken or differentiated; the state is then unchanged.
    fn step_linearized(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        slope: &mut Self::Slope,
        state: &mut Self::State,
        input: Input<'_>,
        h: f64,
        keep: bool,
        out: &mut StepLinearization,
    ) -> Result<(), StepError>;
}
