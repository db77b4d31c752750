//! The derivative of a step against differences of the step.

use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::minimal::{Minimal, MinimalOptions};
use leastaction::integrator::{Input, LinearizedStep, StepError, StepLinearization};
use leastaction::mechanism::{Mechanism, State};

use super::{built, within};
use crate::random_model::{RandomModel, units};

/// On trees without rows, where all coordinates are free and no event divides the step.
pub(super) fn derivative_is_the_slope(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    if mechanism.nv() == 0 || mechanism.loop_joints().next().is_some() || !mechanism.rows().is_empty() {
        return Ok(());
    }
    // Six bodies are enough for every way through the code, and differences cost two steps a column.
    if mechanism.nv() > 12 {
        return Ok(());
    }
    for order in [2, 4] {
        let engine = Minimal::new(MinimalOptions { order, ..MinimalOptions::default() })
            .map_err(|error| error.to_string())?;
        compare(&format!("minimal {order}"), &engine, &mechanism, model)?;
        let engine = Maximal { order, ..Maximal::default() };
        compare(&format!("maximal {order}"), &engine, &mechanism, model)?;
    }
    Ok(())
}

fn compare<I: LinearizedStep>(
    what: &str,
    engine: &I,
    mechanism: &Mechanism,
    model: &RandomModel,
) -> Result<(), String> {
    let h = 5e-3 * model.time;
    let named = |error: StepError| format!("{what}: {error}");
    let mut workspace = match engine.workspace(mechanism) {
        Ok(workspace) => workspace,
        Err(StepError::Unsupported { .. }) => return Ok(()),
        Err(error) => return Err(named(error)),
    };
    let zero = vec![0.0; mechanism.nu()];
    let input = Input { u: &zero };
    let mut stepped = |at: &State| -> Result<State, StepError> {
        let mut state = engine.start(mechanism, &mut workspace, at)?;
        engine.step(mechanism, &mut workspace, &mut state, input, h)?;
        let mut end = at.clone();
        engine.read_out(mechanism, &mut workspace, &state, &mut end);
        Ok(end)
    };
    let n = mechanism.nv();
    let units = units(mechanism, model.length);
    // In units of the mechanism, so that a millimetre and a kilometre are judged alike.
    let unit = |k: usize| if k < n { units[k] } else { units[k - n] / model.time };
    let eps = 1e-5;
    let centre = stepped(&model.start).map_err(named)?;
    let mut differences = vec![vec![0.0; 2 * n]; 2 * n];
    for (column, difference) in differences.iter_mut().enumerate() {
        for sign in [1.0, -1.0] {
            let mut at = State { warm: None, ..model.start.clone() };
            let mut tangent = vec![0.0; n];
            if column < n {
                tangent[column] = sign * eps * unit(column);
            } else {
                at.v[column - n] += sign * eps * unit(column);
            }
            mechanism.retract(&model.start.q, &tangent, &mut at.q);
            let end = stepped(&at).map_err(named)?;
            let mut moved = vec![0.0; n];
            mechanism.difference(&centre.q, &end.q, &mut moved);
            moved.extend(end.v.iter().zip(&centre.v).map(|(a, b)| a - b));
            for (row, (d, m)) in difference.iter_mut().zip(&moved).enumerate() {
                *d += sign * m / (2.0 * eps * unit(row));
            }
        }
    }
    let mut slope = engine.slope(mechanism, &workspace);
    let mut found = StepLinearization::default();
    let mut state = engine.start(mechanism, &mut workspace, &model.start).map_err(named)?;
    engine
        .step_linearized(mechanism, &mut workspace, &mut slope, &mut state, input, h, false, &mut found)
        .map_err(named)?;
    let (mut worst, mut largest) = (0.0_f64, 1.0_f64);
    for (column, difference) in differences.iter().enumerate() {
        for (row, d) in difference.iter().enumerate() {
            let exact = found.a(row, column) * unit(column) / unit(row);
            let error = (exact - d).abs();
            worst = if error <= worst { worst } else { error };
            largest = largest.max(exact.abs());
        }
    }
    within(what, worst / largest, 1e-6)
}
