//! A step of this engine with its derivative, as callers that know only the trait want it.

use crate::integrator::{Input, LinearizedStep, StepError, StepLinearization};
use crate::mechanism::Mechanism;
use crate::{Maximal, StepDerivative};

impl LinearizedStep for Maximal {
    type Slope = StepDerivative;

    fn slope(&self, mechanism: &Mechanism, workspace: &Self::Workspace) -> StepDerivative {
        StepDerivative::new(self, mechanism, workspace)
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
        if let Some(row) = mechanism.rows().iter().find(|row| row.rubs) {
            return Err(StepError::Unsupported {
                integrator: "the derivative of a step of maximal",
                what: format!("friction of `{}`", row.name),
                remedy: "use `--friction off`".into(),
            });
        }
        slope.keep_coordinates(keep);
        self.differentiate(mechanism, workspace, state, input, h, slope)?;
        slope.matrix_into(out);
        Ok(())
    }
}
