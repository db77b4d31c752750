//! `leastaction/highorder/1`: trajectories of the engine on poses at any order.

use leastaction::integrator::maximal::{Maximal, MaximalState, MaximalWorkspace, StepDerivative};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{Mechanism, MechanismBuilder};
use leastaction_golden::highorder::{read_run, spin_drag};

use super::{Golden, scale};

/// Tolerances of the file.
struct Tolerances {
    poses: f64,
    velocities: f64,
    energies: f64,
    wrench: f64,
    impulses: f64,
    derivative: f64,
}

/// For every link of the engine the body's number in the file.
fn order(mechanism: &Mechanism, workspace: &mut MaximalWorkspace, state: &MaximalState) -> Vec<usize> {
    let number = |b| mechanism.body(b).name.trim_start_matches("body").parse().expect("bodies are numbered");
    workspace.snapshot(state).iter().map(|link| number(link.body)).collect()
}

/// Numbers by link, in the order of the file's bodies.
fn by_body<const N: usize>(order: &[usize], links: &[[f64; N]]) -> Vec<f64> {
    let mut out = vec![[0.0; N]; links.len()];
    for (link, body) in order.iter().enumerate() {
        out[*body] = links[link];
    }
    out.concat()
}

/// Quaternions with the sign nearer to the file's.
fn signed(mut ours: Vec<f64>, expected: &[f64]) -> Vec<f64> {
    for (q, e) in ours.chunks_mut(4).zip(expected.chunks(4)) {
        let dot: f64 = q.iter().zip(e).map(|(a, b)| a * b).sum();
        q.iter_mut().for_each(|x| *x *= dot.signum());
    }
    ours
}

pub(super) fn check(golden: &mut Golden) {
    for key in ["gravity", "bodies", "joints", "extras", "tolerances", "double_rerun_difference", "initial"] {
        if golden.value.get(key).is_some() {
            golden.input(format!("/{key}"));
        }
    }
    let tolerance = |key: &str| golden.value["tolerances"][key].as_f64().unwrap_or(f64::NAN);
    let tolerances = Tolerances {
        poses: tolerance("poses"),
        velocities: tolerance("velocities"),
        energies: tolerance("energies"),
        wrench: tolerance("constraint_wrench_relative"),
        impulses: tolerance("impulses_relative"),
        derivative: tolerance("derivative_relative"),
    };
    for run in 0..golden.value["runs"].as_array().map_or(0, Vec::len) {
        check_run(golden, run, &tolerances);
    }
}

fn check_run(golden: &mut Golden, run: usize, tolerances: &Tolerances) {
    let here = |key: &str| format!("/runs/{run}/{key}");
    for key in ["s", "dt", "steps", "controls"] {
        golden.input(here(key));
    }
    let case = read_run(&golden.value, run).expect("the file is readable");
    let mechanism = MechanismBuilder::from(case.model).build().expect("the model is valid");
    let spin_drag = spin_drag(&golden.value).expect("the file is readable");
    // Degree one by the general scheme too: order 2 has a special case of its own, which other files check.
    // As tight as rounding allows: a thin body's spin shows the tolerance.
    let engine =
        Maximal { order: case.order, general: true, spin_drag, tolerance: 1e-14, ..Maximal::default() };
    let mut workspace = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("consistent");
    let order = order(&mechanism, &mut workspace, &state);
    let input = case.inputs.first().cloned().unwrap_or_default();
    let (mut done, mut dropped) = (0, 0);
    for k in 0..golden.value["runs"][run]["states"].as_array().map_or(0, Vec::len) {
        let here = |key: &str| here(&format!("states/{k}/{key}"));
        let target = golden.value["runs"][run]["states"][k]["step"].as_u64().expect("a step") as usize;
        golden.input(here("step"));
        for _ in done..target {
            let report = engine
                .step(&mechanism, &mut workspace, &mut state, Input { u: &input }, case.step)
                .expect("the step converges");
            assert_eq!(report.splits + report.fallbacks, 0, "{} run {run}", golden.file);
            dropped = report.dropped_rank;
        }
        done = target;
        golden.compare("time", &here("t"), &[state.t], 1e-12);
        let links = workspace.snapshot(&state);
        let of = |f: &dyn Fn(&leastaction::integrator::maximal::LinkSnapshot) -> [f64; 3]| {
            by_body(&order, &links.iter().map(f).collect::<Vec<_>>())
        };
        let q = by_body(&order, &links.iter().map(|l| l.q.to_array()).collect::<Vec<_>>());
        let q = signed(q, &golden.numbers(&here("q")));
        golden.compare("orientations", &here("q"), &q, tolerances.poses);
        golden.compare("positions", &here("x"), &of(&|l| l.x.0), tolerances.poses);
        golden.compare("velocities", &here("omega_body"), &of(&|l| l.omega.0), tolerances.velocities);
        golden.compare("velocities", &here("v"), &of(&|l| l.v.0), tolerances.velocities);
        let (kinetic, potential) = workspace.energy(&state);
        golden.compare("energies", &here("energy"), &[kinetic, potential], tolerances.energies);
        let expected = golden.value["runs"][run]["states"][k].clone();
        if expected.get("constraint_wrench").is_some() {
            let forces = by_body(&order, &workspace.constraint_forces(&state, &input));
            let pointer = here("constraint_wrench");
            let tolerance = tolerances.wrench * scale(&golden.numbers(&pointer), 1e-3);
            golden.compare("constraint forces", &pointer, &forces, tolerance);
        }
        check_nodes(golden, &here(""), &order, &mechanism, &workspace, &state, tolerances);
    }
    assert_eq!(done, case.steps, "the last state is that of the last step");
    if golden.value["constraint_rows"].as_f64().is_some() {
        golden.input("/constraint_rows");
        let rank = golden.value["constraint_rows"].as_f64().unwrap_or(0.0) - f64::from(dropped);
        golden.compare("rank", "/constraint_rank", &[rank], 1e-9);
    }
    for k in 0..golden.value["runs"][run]["derivative_step1"].as_array().map_or(0, Vec::len) {
        let here = |key: &str| here(&format!("derivative_step1/{k}/{key}"));
        let mut state =
            engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("consistent");
        let mut slope = StepDerivative::new(&engine, &mechanism, &workspace);
        engine
            .differentiate(&mechanism, &mut workspace, &mut state, Input { u: &input }, case.step, &mut slope)
            .expect("the step has a derivative");
        let by_link = |pointer: &str| -> Vec<[f64; 6]> {
            let flat = golden.numbers(pointer);
            order.iter().map(|b| std::array::from_fn(|k| flat[6 * b + k])).collect()
        };
        let (z, p) = (by_link(&here("dpose")), by_link(&here("dmomentum")));
        let u = golden.numbers(&here("dcontrol"));
        let [z, p] = slope.pose_product(&z, &p, &u);
        for key in ["dpose", "dmomentum", "dcontrol"] {
            golden.input(here(key));
        }
        for (key, ours) in [("dpose_out", z), ("dmomentum_out", p)] {
            let tolerance = tolerances.derivative * scale(&golden.numbers(&here(key)), 1e-3);
            golden.compare("derivatives", &here(key), &by_body(&order, &ours), tolerance);
        }
    }
}

/// Poses and impulses of the nodes of the last step.
fn check_nodes(
    golden: &mut Golden,
    here: &str,
    order: &[usize],
    mechanism: &Mechanism,
    workspace: &MaximalWorkspace,
    state: &MaximalState,
    tolerances: &Tolerances,
) {
    let nodes = workspace.step_nodes(state);
    let has = |golden: &Golden, key: &str| golden.value.pointer(&format!("{here}{key}")).is_some();
    let s = nodes.len() - 1;
    for al in 0..s {
        if has(golden, "node_q") {
            let (q, x) = (format!("{here}node_q/{al}"), format!("{here}node_x/{al}"));
            let node = &nodes[al + 1].poses;
            let ours = by_body(order, &node.iter().map(|p| p.0.to_array()).collect::<Vec<_>>());
            let ours = signed(ours, &golden.numbers(&q));
            golden.compare("inner nodes", &q, &ours, tolerances.poses);
            let ours = by_body(order, &node.iter().map(|p| p.1.0).collect::<Vec<_>>());
            golden.compare("inner nodes", &x, &ours, tolerances.poses);
        }
        if has(golden, "constraint_impulse_on_bodies") {
            let all = golden.numbers(&format!("{here}constraint_impulse_on_bodies"));
            let pointer = format!("{here}constraint_impulse_on_bodies/{al}");
            let tolerance = tolerances.impulses * scale(&all, 1e-3);
            let ours = by_body(order, &nodes[al].impulses);
            golden.compare("impulses on bodies", &pointer, &ours, tolerance);
        }
        if has(golden, "impulse") {
            let all = golden.numbers(&format!("{here}impulse"));
            let pointer = format!("{here}impulse/{al}");
            let tolerance = tolerances.impulses * scale(&all, 1e-3);
            // Rows by joint: tree joints in the order of the links, then the loops; the file has them by number.
            let names = Maximal::default().force_names(mechanism).expect("served");
            let listed = nodes[al].multipliers.iter().filter(|m| !m.is_empty());
            let mut by_joint: Vec<(usize, &Vec<f64>)> = names
                .iter()
                .zip(listed)
                .map(|(name, lam)| (name.trim_start_matches("joint").parse().unwrap_or(usize::MAX), lam))
                .collect();
            by_joint.sort_by_key(|(number, _)| *number);
            let ours: Vec<f64> = by_joint.into_iter().flat_map(|(_, lam)| lam.clone()).collect();
            golden.compare("multipliers", &pointer, &ours, tolerance);
        }
    }
}
