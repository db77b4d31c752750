//! One Newton direction by itself, for comparison with the slow twins.

use super::ldu::{self, angular, linear};
use super::state::MaximalState;
use super::workspace::MaximalWorkspace;
use super::{Maximal, StepError, forces, newton, residual};
use crate::integrator::expect_length;

/// What a Newton iteration from given interval velocities comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct NewtonDirection {
    /// Change of the interval velocities `[ω body; v world]`, per link.
    pub change: Vec<[f64; 6]>,
    /// Impulses of the joints and closures on the links with the new multipliers: torque in link axes, force in world axes.
    pub impulse: Vec<[f64; 6]>,
}

impl Maximal {
    /// The Newton direction at given interval velocities: for comparison with the slow twins. On each link the change of
    /// `[ω body; v world]` and the impulse of joints and closures (torque in link axes, force in world axes).
    ///
    /// # Errors
    /// If the velocities are out of the rotation map's domain or do not have one entry per moving link.
    pub fn newton_direction(
        &self,
        ws: &mut MaximalWorkspace,
        state: &MaximalState,
        u: &[f64],
        h: f64,
        w: &[[f64; 6]],
    ) -> Result<NewtonDirection, StepError> {
        expect_length("w", w.len(), ws.layout.links.len())?;
        self.prepare_step(ws, state, u, h);
        ws.iterate.w.copy_from_slice(w);
        ws.iterate.wrench.fill([0.0; 6]);
        ws.iterate.lam.fill([0.0; 6]);
        ws.iterate.limit.fill(0.0);
        newton::direction(ws, self.map, state)
            .ok_or(StepError::NotFinite { time: state.t, what: "Newton direction" })?;
        let mut impulse = vec![[0.0; 6]; w.len()];
        let MaximalWorkspace { layout, step, system, .. } = ws;
        for (i, link) in layout.links.iter().enumerate() {
            let on = &system.wrench[i];
            (0..6).for_each(|k| impulse[i][k] += on[k]);
            if let Some(p) = link.parent {
                ldu::add_wrench(&mut impulse[p], &on.map(|x| -x), state.side.lever[i]);
            }
        }
        // About the joint points so far; the closures' rows are taken about the centres of mass.
        for (i, f) in impulse.iter_mut().enumerate() {
            *f = ldu::six(angular(f) + state.side.arm[i].cross(linear(f)), linear(f));
        }
        for (c, closure) in layout.closures.iter().enumerate() {
            for r in 0..closure.rows {
                let lam = residual::closure_force(layout, step, c, r, system.closure[c][r]);
                forces::add_row(&mut impulse, &state.side.arm, closure.a, closure.b, &step.rows[c][r], lam);
            }
        }
        for (i, f) in impulse.iter_mut().enumerate() {
            *f = ldu::six(state.side.rot[i].tr_mul(angular(f)), linear(f));
        }
        Ok(NewtonDirection { change: ws.system.body.clone(), impulse })
    }
}
