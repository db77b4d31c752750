//! A step of this engine with its derivative, as callers that know only the trait want it.

use crate::integrator::{Input, LinearizedStep, StepError, StepLinearization};
use crate::mechanism::{Mechanism, Parameter};
use crate::{Maximal, StepDerivative};

impl LinearizedStep for Maximal {
    type Slope = StepDerivative;

    fn slope(&self, mechanism: &Mechanism, workspace: &Self::Workspace) -> StepDerivative {
        StepDerivative::new(self, mechanism, workspace)
    }

    fn differentiate_by(
        &self,
        mechanism: &Mechanism,
        slope: &mut StepDerivative,
        parameters: &[Parameter],
    ) -> Result<(), StepError> {
        slope.differentiate_by(mechanism, parameters)
    }

    fn step_linearized(
        &self,
        mechanism: &Mechanism,
        workspace: &mut Self::Workspace,
        slope: &mut StepDerivative,
        state: &mut Self::State,
        input: Input<'_>,
        h: f64,
        keep: bool,
        out: &mut StepLinearization,
    ) -> Result<(), StepError> {
        slope.keep_coordinates(keep);
        self.differentiate(mechanism, workspace, state, input, h, slope)?;
        slope.matrix_into(out);
        Ok(())
    }
}
