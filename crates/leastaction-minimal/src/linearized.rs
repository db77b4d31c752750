//! A step of this engine with its derivative, as callers that know only the trait want it.

use crate::integrator::{Input, LinearizedStep, StepError, StepLinearization};
use crate::mechanism::{Mechanism, Parameter};
use crate::parameters::expect_parameters;
use crate::{Coordinates, Linearization, Minimal};

impl LinearizedStep for Minimal {
    type Slope = Linearization;

    fn slope(&self, mechanism: &Mechanism, _workspace: &Self::Workspace) -> Linearization {
        Linearization::new(mechanism, Coordinates::Velocity)
    }

    fn differentiate_by(
        &self,
        mechanism: &Mechanism,
        slope: &mut Linearization,
        parameters: &[Parameter],
    ) -> Result<(), StepError> {
        expect_parameters(mechanism, parameters)?;
        slope.parameters.clear();
        slope.parameters.extend_from_slice(parameters);
        Ok(())
    }

    fn step_linearized(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        slope: &mut Linearization,
        state: &mut Self::State,
        input: Input<'_>,
        h: f64,
        _keep: bool,
        out: &mut StepLinearization,
    ) -> Result<(), StepError> {
        let before = state.clone();
        if let Err(error) = self.linearize_into(mechanism, workspace, state, input, h, slope) {
            *state = before;
            return Err(error);
        }
        out.positions.clear();
        out.positions.extend(0..slope.nv);
        out.velocities.clone_from(&out.positions);
        out.inputs = slope.nu;
        out.matrix.clone_from(&slope.matrix);
        out.parameters = slope.parameters.len();
        out.by_parameters.clone_from(&slope.by_parameters);
        Ok(())
    }
}
