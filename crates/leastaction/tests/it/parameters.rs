//! Derivatives of steps and motions by parameters of the model: against differences of models built anew, forward against
//! backward, in both engines.

use leastaction::control::{MaximalPlant, MinimalPlant, Plant, motion_gradient, motion_tangent, roll_out};
use leastaction::integrator::StepError;
use leastaction::mechanism::{
    JointType, Mechanism, MechanismBuilder, ModelDescription, Parameter, PerCoordinate, SpringDescription,
    State, samples,
};

fn built(model: &ModelDescription) -> Mechanism {
    MechanismBuilder::from(model.clone()).build().expect("a sound model")
}

/// Gives every body an uneven inertia and every joint a spring and a damper.
fn uneven(mut model: ModelDescription) -> ModelDescription {
    for (k, body) in model.bodies.iter_mut().enumerate() {
        let x = 1.0 + 0.13 * k as f64;
        body.com = [body.com[0] + 0.02 * x, body.com[1] - 0.03, body.com[2] + 0.01 * x];
        let scale = body.inertia[..3].iter().fold(0.0f64, |m, i| m.max(*i)).max(1e-3);
        body.inertia = [1.1, 0.9, 1.3 * x, 0.05, -0.04, 0.03].map(|i| i * scale);
    }
    for (k, joint) in model.joints.iter_mut().enumerate() {
        if joint.kind == JointType::Fixed {
            continue;
        }
        joint.damping = PerCoordinate::One(0.05 + 0.01 * k as f64);
        joint.spring = Some(SpringDescription {
            stiffness: PerCoordinate::One(0.7 + 0.1 * k as f64),
            rest: PerCoordinate::default(),
        });
    }
    model
}

/// A state in motion; with loops an admissible one, which no change of masses moves: what a step leaves.
fn moving(mechanism: &Mechanism) -> State {
    let mut state = mechanism.start_state();
    for (i, v) in state.v.iter_mut().enumerate() {
        *v += 0.4 - 0.23 * i as f64 % 0.9;
    }
    if mechanism.loop_joints().count() > 0 {
        let start = state.clone();
        let mut plant = MaximalPlant::new(mechanism, 0.01).expect("supported");
        plant.step(&start, &vec![0.0; mechanism.nu()], &mut state).expect("a step");
        state.t = 0.0;
    }
    state
}

fn plant_of<'a>(maximal: bool, mechanism: &'a Mechanism, order: u32, h: f64) -> Box<dyn Plant + 'a> {
    if maximal {
        Box::new(MaximalPlant::new(mechanism, h).expect("supported"))
    } else {
        Box::new(MinimalPlant::new(mechanism, order, h).expect("supported"))
    }
}

/// Fourth-order central differences of the state after `steps` steps by a parameter.
fn differences(
    maximal: bool,
    order: u32,
    model: &ModelDescription,
    parameter: Parameter,
    start: &State,
    h: f64,
    steps: usize,
) -> Vec<f64> {
    let base = built(model);
    let value = parameter.value(&base);
    let size = 5e-3 * value.abs().max(0.05);
    let run = |at: f64| {
        let mut model = model.clone();
        parameter.set(&base, &mut model, at);
        let mechanism = built(&model);
        let mut plant = plant_of(maximal, &mechanism, order, h);
        let mut states = Vec::new();
        roll_out(&mut *plant, start, steps, &vec![0.3; mechanism.nu() * steps], &mut states)
            .expect("a motion");
        states.pop().expect("an end")
    };
    let ends = [-2.0, -1.0, 1.0, 2.0].map(|k| run(value + k * size));
    let nv = base.nv();
    let mut slope = vec![0.0; 2 * nv];
    let middle = run(value);
    for (end, weight) in ends.iter().zip([1.0, -8.0, 8.0, -1.0]) {
        let mut tangent = vec![0.0; nv];
        base.difference(&middle.q, &end.q, &mut tangent);
        for i in 0..nv {
            slope[i] += weight * tangent[i] / (12.0 * size);
            slope[nv + i] += weight * (end.v[i] - middle.v[i]) / (12.0 * size);
        }
    }
    slope
}

fn largest(list: &[f64]) -> f64 {
    list.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

/// One step by every parameter; returns the largest error against differences, relative to the largest slope of each.
fn step_error(maximal: bool, order: u32, model: &ModelDescription, h: f64) -> f64 {
    let mechanism = built(model);
    let start = moving(&mechanism);
    let parameters: Vec<Parameter> = Parameter::all(&mechanism)
        .into_iter()
        .filter(|p| p.kind() != "friction" || p.value(&mechanism) > 0.0)
        .filter(|p| {
            // Loops: only where a law stands.
            p.coordinates(&mechanism).is_none_or(|(joint, _)| {
                mechanism.tree_joints().any(|tree| tree == joint) || p.value(&mechanism) > 0.0
            })
        })
        .collect();
    let mut plant = plant_of(maximal, &mechanism, order, h);
    plant.differentiate_by(&parameters).expect("supported");
    let (mut next, mut slope) = (start.clone(), Vec::new());
    plant.linearize(&start, &vec![0.3; mechanism.nu()], &mut next, &mut slope).expect("a derivative");
    let np = parameters.len();
    let mut worst = 0.0f64;
    for (p, parameter) in parameters.iter().enumerate() {
        let column: Vec<f64> = (0..2 * mechanism.nv()).map(|r| plant.by_parameters()[r * np + p]).collect();
        let by_differences = differences(maximal, order, model, *parameter, &start, h, 1);
        let scale = largest(&by_differences).max(0.1 * h);
        let errors: Vec<f64> = column.iter().zip(&by_differences).map(|(a, b)| (a - b) / scale).collect();
        let error = largest(&errors);
        assert!(error < 1e-6, "{}: {column:?} {by_differences:?}", parameter.name(&mechanism));
        worst = worst.max(error);
    }
    worst
}

fn trees() -> Vec<(&'static str, ModelDescription)> {
    vec![
        ("chain", uneven(samples::chain(3))),
        ("balls", uneven(samples::ball_chain(2))),
        ("floating tree with balls", uneven(samples::ball_tree(7))),
    ]
}

#[test]
fn a_step_in_joint_coordinates_by_every_parameter_is_what_differences_of_models_give() {
    for (name, model) in trees() {
        for order in [2, 4, 6] {
            // Velocities are rounded by what positions are over the step: at 10 ms differences show that as 1e-8.
            let error = step_error(false, order, &model, 0.02);
            assert!(error < 1e-8, "{name} at order {order}: {error:e}");
        }
    }
}

#[test]
fn a_step_in_poses_by_every_parameter_is_what_differences_of_models_give() {
    for (name, model) in trees() {
        let error = step_error(true, 2, &model, 0.01);
        assert!(error < 1e-8, "{name}: {error:e}");
    }
}

#[test]
fn a_step_with_closed_loops_by_every_parameter_is_what_differences_of_models_give() {
    let models = [("four-bar", samples::four_bar()), ("two four-bars", samples::four_bars(2))];
    for (name, model) in models {
        let error = step_error(true, 2, &uneven(model), 0.005);
        assert!(error < 1e-8, "{name}: {error:e}");
    }
}

#[test]
fn gradients_of_a_motion_backward_are_its_tangents_forward() {
    for maximal in [false, true] {
        for (name, model) in trees() {
            let mechanism = built(&model);
            let (nx, nu, steps) = (2 * mechanism.nv(), mechanism.nu(), 30);
            let parameters = Parameter::all(&mechanism);
            let parameters: Vec<Parameter> =
                parameters.into_iter().filter(|p| p.kind() != "friction").collect();
            let mut plant = plant_of(maximal, &mechanism, 4, 0.01);
            plant.differentiate_by(&parameters).expect("supported");
            let inputs: Vec<f64> = (0..steps * nu).map(|k| 0.1 * (k as f64).sin()).collect();
            let mut states = Vec::new();
            roll_out(&mut *plant, &moving(&mechanism), steps, &inputs, &mut states).expect("a motion");
            let weight = |k: usize, i: usize| (0.3 * (k * nx + i) as f64).cos();
            let slope = motion_gradient(&mut *plant, &states, &inputs, |k, _, g| {
                (0..nx).for_each(|i| g[i] = weight(k, i));
            })
            .expect("a gradient");
            let dx: Vec<f64> = (0..nx).map(|i| (1.7 * i as f64).sin()).collect();
            let du: Vec<f64> = (0..steps * nu).map(|i| (0.9 * i as f64).cos()).collect();
            let dp: Vec<f64> = parameters.iter().enumerate().map(|(i, _)| (2.3 * i as f64).sin()).collect();
            let mut forward = 0.0;
            let mut size = 0.0;
            motion_tangent(&mut *plant, &states, &inputs, (&dx, &du, &dp), |k, x| {
                for (i, x) in x.iter().enumerate() {
                    forward += weight(k, i) * x;
                    size += (weight(k, i) * x).abs();
                }
            })
            .expect("tangents");
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let backward = dot(&slope.start, &dx) + dot(&slope.inputs, &du) + dot(&slope.parameters, &dp);
            let error = (forward - backward).abs() / size;
            assert!(error < 1e-12, "{name}, poses {maximal}: {forward} {backward} {error:e}");
        }
    }
}

#[test]
fn a_motion_of_a_hundred_steps_by_masses_is_what_differences_give() {
    for (maximal, model) in
        [(false, uneven(samples::chain(3))), (true, uneven(samples::chain(3))), (true, samples::four_bar())]
    {
        let mechanism = built(&model);
        let (h, steps, nx) = (0.005, 100, 2 * mechanism.nv());
        let parameters = Parameter::named(&mechanism, "mass").expect("masses");
        let mut plant = plant_of(maximal, &mechanism, 4, h);
        plant.differentiate_by(&parameters).expect("supported");
        let (mut states, inputs) = (Vec::new(), vec![0.3; mechanism.nu() * steps]);
        let start = moving(&mechanism);
        roll_out(&mut *plant, &start, steps, &inputs, &mut states).expect("a motion");
        for row in 0..nx {
            let slope = motion_gradient(&mut *plant, &states, &inputs, |k, _, g| {
                if k == steps {
                    g[row] = 1.0;
                }
            })
            .expect("a gradient");
            for (p, parameter) in parameters.iter().enumerate() {
                let found = differences(maximal, 4, &model, *parameter, &states[0], h, steps)[row];
                let error = (slope.parameters[p] - found).abs() / found.abs().max(1e-2);
                assert!(error < 1e-6, "{row} by {}: {error:e}", parameter.name(&mechanism));
            }
        }
    }
}

#[test]
fn sliding_friction_is_a_parameter_and_a_step_with_an_event_has_no_derivative_in_poses() {
    let mut model = uneven(samples::chain(3));
    for joint in &mut model.joints {
        joint.friction = PerCoordinate::One(0.2);
    }
    for maximal in [false, true] {
        let error = step_error(maximal, 4, &model, 0.01);
        assert!(error < 1e-8, "poses {maximal}: {error:e}");
    }
    // The start of every joint's motion is an event.
    let mechanism = built(&model);
    let mut start = mechanism.start_state();
    start.v.fill(0.0);
    start.v[2] = 1e-4;
    for maximal in [false, true] {
        let mut plant = plant_of(maximal, &mechanism, 4, 0.05);
        let outcome =
            plant.linearize(&start, &vec![0.0; mechanism.nu()], &mut start.clone(), &mut Vec::new());
        match maximal {
            true => assert!(matches!(outcome, Err(StepError::Singular { .. })), "{outcome:?}"),
            false => assert!(outcome.is_ok(), "{outcome:?}"),
        }
    }
}

#[test]
fn a_stuck_joint_is_a_weld_to_the_derivative_in_joint_coordinates() {
    let mut model = samples::chain(3);
    model.joints[1].friction = PerCoordinate::One(50.0);
    let mechanism = built(&model);
    let mut start = mechanism.start_state();
    start.v.copy_from_slice(&[0.4, 0.0, -0.7]);
    let mut plant = MinimalPlant::new(&mechanism, 4, 0.005).expect("supported");
    plant.differentiate_by(&Parameter::named(&mechanism, "mass").expect("masses")).expect("supported");
    let (mut next, mut slope) = (start.clone(), Vec::new());
    plant.linearize(&start, &vec![0.0; mechanism.nu()], &mut next, &mut slope).expect("a derivative");
    assert_eq!((next.q[1], next.v[1]), (start.q[1], 0.0), "held");
    let width = 6 + mechanism.nu();
    // Position and velocity of the held joint follow its position alone.
    for column in 0..6 {
        assert_eq!(slope[width + column], f64::from(u8::from(column == 1)), "column {column}");
        assert_eq!(slope[4 * width + column], 0.0, "column {column}");
    }
    for (p, parameter) in Parameter::named(&mechanism, "mass").expect("masses").into_iter().enumerate() {
        let found = differences(false, 4, &model, parameter, &start, 0.005, 1);
        for (r, found) in found.iter().enumerate() {
            let error = (plant.by_parameters()[r * 3 + p] - found).abs();
            assert!(error < 1e-8 * (1.0 + found.abs()), "{r} by {}: {error:e}", parameter.name(&mechanism));
        }
    }
}

#[test]
fn what_has_no_derivative_is_refused_by_name() {
    let mut model = samples::chain(2);
    model.bodies[0].drag = 0.3;
    let mechanism = built(&model);
    for maximal in [false, true] {
        let mut plant = plant_of(maximal, &mechanism, 2, 0.01);
        for name in ["com", "friction"] {
            let wanted = Parameter::named(&mechanism, name).expect("parameters");
            let error = plant.differentiate_by(&wanted).expect_err("refused").to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}

/// Any change of the numbers of a state, admissible or not: it is moved to the nearest admissible one before it is stepped.
#[test]
fn with_loops_gradients_by_all_coordinates_are_those_of_the_step_from_the_nearest_admissible_state() {
    for model in [samples::four_bar(), uneven(samples::four_bar())] {
        let mechanism = built(&model);
        let n = mechanism.nv();
        let h = 0.01;
        let mut plant = MaximalPlant::new(&mechanism, h).expect("supported");
        let u = vec![0.2; mechanism.nu()];
        let mut start = mechanism.start_state();
        // Admissible: what a step leaves.
        plant.step(&moving(&mechanism), &u, &mut start).expect("a step");
        let (mut next, mut slope) = (start.clone(), Vec::new());
        for row in 0..2 * n {
            let mut back = vec![0.0; 2 * n + mechanism.nu()];
            let mut unit = |_: &State, g: &mut [f64]| {
                g.fill(0.0);
                g[row] = 1.0;
            };
            plant.pull_back(&start, &u, &mut next, &mut unit, &mut slope, &mut back).expect("a derivative");
            plant.by_given_state(&start, &mut back[..2 * n]);
            for column in 0..2 * n {
                let value = |s: f64| {
                    let mut moved = start.clone();
                    let list = if column < n { &mut moved.q } else { &mut moved.v };
                    list[column % n] += s * 1e-4;
                    let mut end = start.clone();
                    MaximalPlant::new(&mechanism, h)
                        .and_then(|mut plant| plant.step(&moved, &u, &mut end))
                        .expect("a step");
                    if row < n { end.q[row] } else { end.v[row - n] }
                };
                let found = (8.0 * (value(1.0) - value(-1.0)) - (value(2.0) - value(-2.0))) / 12e-4;
                let error = (back[column] - found).abs() / found.abs().max(1.0);
                assert!(error < 1e-7, "{row} by {column}: {} {found}", back[column]);
            }
        }
    }
}
