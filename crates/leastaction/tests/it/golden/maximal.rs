//! `leastaction/maximal/1`: trajectories of the maximal-coordinate integrator.

use leastaction::integrator::maximal::{Composition, Maximal, RotationMap};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{Mechanism, MechanismBuilder};
use leastaction_golden::maximal::read;

use super::{Golden, scale};

/// Poses, velocities and energies are absolute, impulses relative to the largest of their kind: the reference was
/// made with 80-bit states, and reruns in double precision agree to 2e-12, 1.2e-11 and 5e-13.
const POSE: f64 = 1e-10;
const VELOCITY: f64 = 1e-9;
const ENERGY: f64 = 1e-9;
const IMPULSE: f64 = 1e-8;

fn integrator(golden: &Golden) -> Maximal {
    let map = match golden.value["rotation_map"].as_str() {
        Some("cayley") => RotationMap::Cayley,
        _ => RotationMap::Sine,
    };
    let composition = match golden.numbers("/composition").len() {
        1 => Composition::Plain,
        3 => Composition::Yoshida,
        _ => Composition::Suzuki,
    };
    Maximal { map, composition, ..Maximal::default() }
}

/// Index of a body in the file.
fn file_index(mechanism: &Mechanism, body: leastaction::mechanism::BodyId) -> usize {
    mechanism.body(body).name.trim_start_matches("body").parse().expect("bodies are numbered")
}

pub(super) fn check(golden: &mut Golden) {
    let engine = integrator(golden);
    // Degree one of the general scheme is this scheme.
    let plain = engine.map == RotationMap::Sine && engine.composition == Composition::Plain;
    for general in [false, true].into_iter().filter(|general| plain || !general) {
        check_with(golden, Maximal { general, ..engine.clone() });
    }
}

fn check_with(golden: &mut Golden, engine: Maximal) {
    for key in ["gravity", "bodies", "joints", "extras", "dt", "composition", "steps", "controls"] {
        golden.input(format!("/{key}"));
    }
    for key in ["q", "x", "omega_body", "v"] {
        golden.input(format!("/initial/{key}"));
    }
    let case = read(&golden.value).expect("the file is readable");
    let mechanism = MechanismBuilder::from(case.model).build().expect("the model is valid");
    let fractions = golden.numbers("/composition");
    for (a, b) in fractions.iter().zip(engine.composition.fractions()) {
        assert!((a - b).abs() < 1e-15, "composition {a} {b}");
    }
    let mut workspace = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("consistent");
    let (kinetic, potential) = workspace.energy(&state);
    golden.compare("initial energy", "/initial/energy", &[kinetic, potential], ENERGY);

    let count = golden.value["states"].as_array().map_or(0, Vec::len);
    let mut done = 0;
    let empty = Vec::new();
    for k in 0..count {
        let here = |key: &str| format!("/states/{k}/{key}");
        let target = golden.value["states"][k]["step"].as_u64().expect("a step") as usize;
        golden.input(here("step"));
        for step in done..target {
            let u = case.inputs.get(step).unwrap_or(&empty);
            engine
                .step(&mechanism, &mut workspace, &mut state, Input { u }, case.step)
                .expect("the step converges");
        }
        done = target;
        golden.compare("time", &here("t"), &[state.t], 1e-12);
        let mut links = workspace.snapshot(&state);
        links.sort_by_key(|l| file_index(&mechanism, l.body));
        let expected_q = golden.numbers(&here("q"));
        let mut q = Vec::new();
        for (i, link) in links.iter().enumerate() {
            // The sign of a quaternion is a matter of history: take the one nearer to the file's.
            let ours = link.q.to_array();
            let dot: f64 = ours.iter().zip(&expected_q[4 * i..]).map(|(a, b)| a * b).sum();
            q.extend(ours.map(|x| x * dot.signum()));
        }
        let flat = |f: &dyn Fn(&leastaction::integrator::maximal::LinkSnapshot) -> Vec<f64>| -> Vec<f64> {
            links.iter().flat_map(f).collect()
        };
        golden.compare("orientations", &here("q"), &q, POSE);
        golden.compare("positions", &here("x"), &flat(&|l| l.x.0.to_vec()), POSE);
        golden.compare(
            "interval velocities",
            &here("omega_interval"),
            &flat(&|l| l.omega_interval.0.to_vec()),
            VELOCITY,
        );
        golden.compare(
            "interval velocities",
            &here("v_interval"),
            &flat(&|l| l.v_interval.0.to_vec()),
            VELOCITY,
        );
        golden.compare("node velocities", &here("omega_node"), &flat(&|l| l.omega.0.to_vec()), VELOCITY);
        golden.compare("node velocities", &here("v_node"), &flat(&|l| l.v.0.to_vec()), VELOCITY);
        let (kinetic, potential) = workspace.energy(&state);
        golden.compare("energies", &here("energy"), &[kinetic, potential], ENERGY);
        if golden.value["states"][k].get("constraint_impulse_on_bodies").is_some() {
            let pointer = here("constraint_impulse_on_bodies");
            let tolerance = IMPULSE * scale(&golden.numbers(&pointer), 1e-3);
            golden.compare(
                "impulses on bodies",
                &pointer,
                &flat(&|l| l.constraint_impulse.to_array().to_vec()),
                tolerance,
            );
        }
        if golden.value["states"][k].get("impulse").is_some() {
            let pointer = here("impulse");
            let tolerance = IMPULSE * scale(&golden.numbers(&pointer), 1e-3);
            golden.compare("multipliers", &pointer, &multipliers(&mechanism, &workspace), tolerance);
        }
    }
    assert_eq!(done, case.steps, "the last state is that of the last step");
}

/// Multipliers in the file's order: joints by number, then extras.
fn multipliers(
    mechanism: &Mechanism,
    workspace: &leastaction::integrator::maximal::MaximalWorkspace,
) -> Vec<f64> {
    let mut impulses = workspace.joint_impulses();
    impulses.sort_by_key(|impulse| {
        impulse.joint.map_or(usize::MAX, |j| {
            mechanism.joint(j).name.trim_start_matches("joint").parse().unwrap_or(usize::MAX - 1)
        })
    });
    impulses.into_iter().flat_map(|impulse| impulse.multipliers).collect()
}
