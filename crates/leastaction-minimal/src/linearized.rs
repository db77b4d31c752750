//! A step of this engine with its derivative, as callers that know only the trait want it.

use crate::integrator::{Input, LinearizedStep, StepError, StepLinearization};
use crate::mechanism::Mechanism;
use crate::{Coordinates, Linearization, Minimal};

impl LinearizedStep for Minimal {
    type Slope = Linearization;

    fn slope(&self, mechanism: &Mechanism, _workspace: &Self::Workspace) -> Linearization {
        let (nv, nu) = (mechanism.nv(), mechanism.nu());
        Linearization { nv, nu, coordinates: Coordinates::Velocity, matrix: Vec::new() }
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
        Ok(())
    }
}
