//! Prints what our dynamics makes of a model, as JSON, for comparison with other programs.
//!
//! ```text
//! dump_dynamics MODEL [--floating] [--random N] [--states FILE]
//! ```
//!
//! `FILE` holds `{"states": [{"q": [...], "v": [...], "a": [...], "tau": [...], "u": [...]}, ...]}` in our layout;
//! without it `N` random states (default 1) are made from a fixed seed.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use leastaction::dynamics::Dynamics;
use leastaction::io::{LoadOptions, Severity, UrdfBase, load_model};
use leastaction::mechanism::Mechanism;
use leastaction::mechanism::samples::Random;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Positions, velocities, accelerations, generalised forces and inputs to evaluate at.
#[derive(Clone, Debug, Deserialize)]
struct Point {
    q: Vec<f64>,
    v: Vec<f64>,
    a: Vec<f64>,
    tau: Vec<f64>,
    u: Vec<f64>,
}

#[derive(Deserialize)]
struct Points {
    states: Vec<Point>,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<bool, Box<dyn Error>> {
    let mut model: Option<PathBuf> = None;
    let mut options = LoadOptions::default();
    let (mut random, mut states) = (1, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--floating" => options.urdf.base = UrdfBase::Floating,
            "--random" => random = arguments.next().ok_or("--random needs a number")?.parse()?,
            "--states" => states = Some(arguments.next().ok_or("--states needs a file")?),
            _ => model = Some(argument.into()),
        }
    }
    let path = model.ok_or("give a model file")?;
    let mut reading = load_model(&path, &options)?;
    let Some(mechanism) = reading.build() else {
        for d in reading.diagnostics.iter().filter(|d| d.severity == Severity::Error) {
            eprintln!("{d}");
        }
        return Ok(false);
    };
    let points = match states {
        Some(file) => serde_json::from_str::<Points>(&std::fs::read_to_string(file)?)?.states,
        None => random_points(&mechanism, random),
    };
    println!("{}", serde_json::to_string(&dump(&mechanism, &points))?);
    Ok(true)
}

fn random_points(mechanism: &Mechanism, n: usize) -> Vec<Point> {
    let mut rng = Random::new(1);
    let mut list = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.range(-1.0, 1.0)).collect() };
    let neutral = mechanism.neutral_state().q;
    (0..n)
        .map(|_| {
            let mut q = neutral.clone();
            mechanism.retract(&neutral, &list(mechanism.nv()), &mut q);
            let [v, a, tau] = [0, 1, 2].map(|_| list(mechanism.nv()));
            // Half of them beyond the range, where there is one.
            let mut u = list(mechanism.nu());
            for (u, drive) in u.iter_mut().zip(mechanism.drives()) {
                let [low, high] = drive.law.control_range;
                if low.is_finite() && high.is_finite() {
                    *u = 0.5 * (low + high) + (high - low) * *u;
                }
            }
            Point { q, v, a, tau, u }
        })
        .collect()
}

fn dump(mechanism: &Mechanism, points: &[Point]) -> Value {
    let joints: Vec<Value> = mechanism
        .tree_joints()
        .map(|id| {
            let joint = mechanism.joint(id);
            let parent = joint.parent.map_or("world", |p| mechanism.body(p).name.as_str());
            json!({
                "name": joint.name, "kind": joint.kind.name(), "parent": parent,
                "child": mechanism.body(joint.child).name,
                "q": mechanism.q_range(id).start, "v": mechanism.v_range(id).start,
                "nq": joint.kind.nq(), "nv": joint.kind.nv(),
            })
        })
        .collect();
    let bodies: Vec<Value> = mechanism
        .bodies()
        .iter()
        .zip(&mechanism.tree().bodies)
        .map(|(b, at)| json!({"name": b.name, "mass": b.mass, "com": b.com.0, "grounded": at.node.is_none()}))
        .collect();
    let states: Vec<Value> = points.iter().map(|point| evaluate(mechanism, point)).collect();
    let activated: Vec<bool> = mechanism.drives().iter().map(|drive| drive.law.is_activated()).collect();
    json!({
        "activated": activated,
        "name": mechanism.name(), "nq": mechanism.nq(), "nv": mechanism.nv(), "inputs": mechanism.inputs(),
        "joints": joints, "bodies": bodies, "states": states,
    })
}

fn evaluate(mechanism: &Mechanism, point: &Point) -> Value {
    let Point { q, v, a, tau, u } = point;
    let nv = mechanism.nv();
    let mut dynamics = Dynamics::new(mechanism);
    let zeros = || vec![0.0; nv];
    let (mut rnea, mut aba, mut back, mut applied, mut acceleration) =
        (zeros(), zeros(), zeros(), zeros(), zeros());
    let mut mass = vec![0.0; nv * nv];
    dynamics.inverse_dynamics_into(mechanism, q, v, a, &mut rnea);
    dynamics.forward_dynamics_into(mechanism, q, v, tau, &mut aba);
    dynamics.inverse_dynamics_into(mechanism, q, v, &aba, &mut back);
    dynamics.mass_matrix_into(mechanism, q, &mut mass);
    dynamics.applied_forces_into(mechanism, q, v, u, &mut applied);
    dynamics.acceleration_into(mechanism, q, v, u, &mut acceleration);
    let observed = dynamics.observe(mechanism, q, v);
    let poses: Map<String, Value> = mechanism
        .body_ids()
        .map(|id| {
            let pose = dynamics.kinematics.body_pose(mechanism, id);
            let list: Vec<f64> = pose.pos.0.iter().chain(pose.rot.0.iter().flatten()).copied().collect();
            (mechanism.body(id).name.clone(), json!(list))
        })
        .collect();
    let forces: Vec<f64> = (0..mechanism.nu()).map(|k| mechanism.input_force(k, u, q, v)).collect();
    json!({
        "forces": forces,
        "q": q, "v": v, "a": a, "tau": tau, "u": u, "rnea": rnea, "aba": aba, "rnea_of_aba": back, "mass": mass,
        "applied": applied, "acceleration": acceleration, "kinetic": observed.kinetic,
        "potential": observed.potential, "com": observed.com.0, "poses": poses,
    })
}
