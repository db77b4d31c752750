//! Derivatives of a motion of many steps: by its start, its inputs and parameters of the model, forward and backward.

use super::ControlError;
use super::plant::Plant;
use crate::mechanism::State;

/// How a function of a motion changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MotionGradient {
    /// With the tangent of the first state.
    pub start: Vec<f64>,
    /// With the inputs: one row per step.
    pub inputs: Vec<f64>,
    /// With the parameters that the plant is differentiated by.
    pub parameters: Vec<f64>,
}

/// Takes one step per row of `inputs`; `states` receives the start and the state after every step.
///
/// # Errors
/// If a step cannot be taken, or the plant was stopped.
pub fn roll_out<P: Plant + ?Sized>(
    plant: &mut P,
    start: &State,
    steps: usize,
    inputs: &[f64],
    states: &mut Vec<State>,
) -> Result<(), ControlError> {
    let nu = plant.nu();
    states.clear();
    states.push(start.clone());
    for k in 0..steps {
        if plant.stopped() {
            return Err(ControlError::Stopped);
        }
        let mut next = start.clone();
        plant.step(&states[k], &inputs[k * nu..(k + 1) * nu], &mut next)?;
        states.push(next);
    }
    Ok(())
}

/// The gradient of a function of the states of a motion, by one sweep backward through it: the cost of a step and its
/// transposed derivative per step, whatever the number of inputs and parameters.
///
/// `gradient(k, state, out)` gives the derivative of the function by the tangent of state `k`.
///
/// ```
/// use leastaction::control::{MinimalPlant, Plant, motion_gradient, roll_out};
/// use leastaction::mechanism::{MechanismBuilder, Parameter, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let mut plant = MinimalPlant::new(&mechanism, 4, 0.01)?;
/// plant.differentiate_by(&Parameter::named(&mechanism, "mass")?)?;
/// let mut states = Vec::new();
/// roll_out(&mut plant, &mechanism.start_state(), 20, &[], &mut states)?;
/// // The angle of the first link after 20 steps.
/// let slope = motion_gradient(&mut plant, &states, &[], |k, _, g| if k == 20 { g[0] = 1.0 })?;
/// assert_eq!((slope.start.len(), slope.parameters.len()), (4, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a step cannot be differentiated, or the plant was stopped.
pub fn motion_gradient<P: Plant + ?Sized>(
    plant: &mut P,
    states: &[State],
    inputs: &[f64],
    mut gradient: impl FnMut(usize, &State, &mut [f64]),
) -> Result<MotionGradient, ControlError> {
    let (nx, nu, np) = (plant.nx(), plant.nu(), plant.parameters());
    let steps = states.len().saturating_sub(1);
    let mut out =
        MotionGradient { start: vec![0.0; nx], inputs: vec![0.0; steps * nu], parameters: vec![0.0; np] };
    let (mut back, mut own, mut slope) = (vec![0.0; nx + nu + np], vec![0.0; nx], Vec::new());
    let Some(last) = states.last() else { return Ok(out) };
    gradient(steps, last, &mut out.start);
    let mut next = last.clone();
    for k in (0..steps).rev() {
        if plant.stopped() {
            return Err(ControlError::Stopped);
        }
        let costate = &out.start;
        let mut given = |_: &State, g: &mut [f64]| g.copy_from_slice(costate);
        let u = &inputs[k * nu..(k + 1) * nu];
        plant.pull_back(&states[k], u, &mut next, &mut given, &mut slope, &mut back)?;
        own.fill(0.0);
        gradient(k, &states[k], &mut own);
        for (start, (back, own)) in out.start.iter_mut().zip(back.iter().zip(&own)) {
            *start = back + own;
        }
        out.inputs[k * nu..(k + 1) * nu].copy_from_slice(&back[nx..nx + nu]);
        out.parameters.iter_mut().zip(&back[nx + nu..]).for_each(|(sum, x)| *sum += x);
    }
    Ok(out)
}

/// How the states of a motion change with a tangent of its start, a change of its inputs and one of the parameters, forward:
/// `each(k, tangent)` is told state by state.
///
/// # Errors
/// If a step cannot be differentiated, or the plant was stopped.
pub fn motion_tangent<P: Plant + ?Sized>(
    plant: &mut P,
    states: &[State],
    inputs: &[f64],
    (start, by_inputs, by_parameters): (&[f64], &[f64], &[f64]),
    mut each: impl FnMut(usize, &[f64]),
) -> Result<(), ControlError> {
    let (nx, nu, np) = (plant.nx(), plant.nu(), plant.parameters());
    let (mut x, mut after, mut slope) = (start.to_vec(), vec![0.0; nx], Vec::new());
    each(0, &x);
    let Some(mut next) = states.first().cloned() else { return Ok(()) };
    for k in 0..states.len() - 1 {
        if plant.stopped() {
            return Err(ControlError::Stopped);
        }
        let u = k * nu..(k + 1) * nu;
        plant.linearize(&states[k], &inputs[u.clone()], &mut next, &mut slope)?;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for (r, after) in after.iter_mut().enumerate() {
            let row = &slope[r * (nx + nu)..(r + 1) * (nx + nu)];
            *after = dot(&row[..nx], &x) + dot(&row[nx..], &by_inputs[u.clone()]);
            *after += dot(&plant.by_parameters()[r * np..(r + 1) * np], by_parameters);
        }
        std::mem::swap(&mut x, &mut after);
        each(k + 1, &x);
    }
    Ok(())
}
