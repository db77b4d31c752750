//! Reference data of the engine in joint coordinates.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates, Lobatto, Minimal, MinimalOptions, StepPoint};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State};
use leastaction::spatial::{Mat3, Quat};
use leastaction_golden::minimal::{read_model, read_state};
use leastaction_minimal::reference::energy_hessians;
use serde_json::Value;

use super::{Golden, scale};

/// Tables of nodes and weights: exact to rounding of their largest entry.
pub(super) fn check_lobatto(golden: &mut Golden) {
    let count = golden.value["tables"].as_array().map_or(0, Vec::len);
    for k in 0..count {
        let at = |name: &str| format!("/tables/{k}/{name}");
        golden.input(at("s"));
        let s = golden.numbers(&at("s"))[0] as usize;
        let table = Lobatto::new(s);
        golden.compare("nodes", &at("nodes"), &table.nodes, 2e-15);
        golden.compare("weights", &at("weights"), &table.weights, 2e-15);
        for (name, matrix) in [("b", table.b), ("a", table.a)] {
            let flat = matrix.concat();
            let tolerance = 1e-14 * scale(&flat, 1.0);
            golden.compare(name, &at(name), &flat, tolerance);
        }
    }
}

/// Where the coordinates of the file are in the engine, and back.
struct Order {
    /// Engine coordinate of each coordinate of the file.
    engine: Vec<usize>,
    kinds: Vec<String>,
}

impl Order {
    fn new(mechanism: &Mechanism, value: &Value) -> Self {
        let kinds: Vec<String> = value["model"]["bodies"]
            .as_array()
            .expect("bodies")
            .iter()
            .map(|b| b["joint"].as_str().unwrap_or("").to_owned())
            .collect();
        let engine = (0..kinds.len())
            .flat_map(|i| mechanism.v_range(mechanism.joint_by_name(&format!("joint{i}")).expect("joint")))
            .collect();
        Self { engine, kinds }
    }
    fn to_engine(&self, file: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; file.len()];
        for (x, c) in file.iter().zip(&self.engine) {
            out[*c] = *x;
        }
        out
    }
    fn to_file(&self, engine: &[f64]) -> Vec<f64> {
        self.engine.iter().map(|c| engine[*c]).collect()
    }
}

/// Public positions as the file writes them.
fn config(mechanism: &Mechanism, order: &Order, q: &[f64]) -> Vec<f64> {
    let mut out = Vec::new();
    for (i, kind) in order.kinds.iter().enumerate() {
        let q = &q[mechanism.q_range(mechanism.joint_by_name(&format!("joint{i}")).expect("joint"))];
        let matrix = |q: &[f64]| Quat::from_slice(q).to_matrix().0.concat();
        match kind.as_str() {
            "spherical" => out.extend(matrix(q)),
            // The file's objects are read in the order they are written: translation first.
            "floating" => {
                out.extend(&q[4..7]);
                out.extend(matrix(q));
            }
            _ => out.push(q[0]),
        }
    }
    out
}

/// Public velocities in the order and axes of the file.
fn velocity(mechanism: &Mechanism, order: &Order, state: &State) -> Vec<f64> {
    let mut out = Vec::new();
    for (i, kind) in order.kinds.iter().enumerate() {
        let joint = mechanism.joint_by_name(&format!("joint{i}")).expect("joint");
        let v = &state.v[mechanism.v_range(joint)];
        if kind == "floating" {
            let r = Quat::from_slice(&state.q[mechanism.q_range(joint)]);
            out.extend(r.rotate(leastaction::spatial::Vec3([v[3], v[4], v[5]])).0);
            out.extend(&v[..3]);
        } else {
            out.extend(v);
        }
    }
    out
}

pub(super) fn check(golden: &mut Golden) {
    golden.input("/model");
    let model = read_model(&golden.value).expect("model");
    let mechanism = MechanismBuilder::from(model).build().expect("valid model");
    let runs = golden.value["runs"].as_array().map_or(0, Vec::len);
    for k in 0..runs {
        check_run(golden, &mechanism, &format!("/runs/{k}"));
    }
    if golden.value.get("hessians").is_some() {
        check_hessians(golden, &mechanism);
    }
}

/// Second derivatives of the energies, to 1e-12 of their largest entry.
fn check_hessians(golden: &mut Golden, mechanism: &Mechanism) {
    golden.input("/hessians/q");
    golden.input("/hessians/qdot");
    let order = Order::new(mechanism, &golden.value);
    let (q, v) = (golden.numbers("/hessians/q"), golden.numbers("/hessians/qdot"));
    let hessians = energy_hessians(mechanism, &order.to_engine(&q), &order.to_engine(&v)).expect("served");
    let n = q.len();
    for (name, matrix) in [
        ("d2K_dqd_dqd", &hessians.kinetic_vv),
        ("d2K_dqd_dq", &hessians.kinetic_vq),
        ("d2K_dq_dq", &hessians.kinetic_qq),
        ("d2Vg_dq_dq", &hessians.gravity_qq),
    ] {
        let pointer = format!("/hessians/{name}");
        let mut computed = Vec::new();
        for i in &order.engine {
            computed.extend(order.engine.iter().map(|j| matrix[i * n + j]));
        }
        let tolerance = 1e-12 * scale(&golden.numbers(&pointer), 0.0);
        golden.compare("hessians", &pointer, &computed, tolerance);
    }
}

/// A state of the file.
fn state_at(mechanism: &Mechanism, value: &Value, pointer: &str) -> State {
    let description = read_state(value, pointer).expect("state");
    let mut state = mechanism.neutral_state();
    for (name, q) in &description.q {
        let range = mechanism.q_range(mechanism.joint_by_name(name).expect("joint"));
        state.q[range].copy_from_slice(q.as_slice());
    }
    for (name, v) in &description.v {
        let range = mechanism.v_range(mechanism.joint_by_name(name).expect("joint"));
        state.v[range].copy_from_slice(v.as_slice());
    }
    state
}

fn check_run(golden: &mut Golden, mechanism: &Mechanism, run: &str) {
    for input in ["s", "dt", "num_steps", "inputs", "rounding_sensitivity"] {
        golden.input(format!("{run}/{input}"));
    }
    let order = Order::new(mechanism, &golden.value);
    let s = golden.numbers(&format!("{run}/s"))[0] as usize;
    let h = golden.numbers(&format!("{run}/dt"))[0];
    check_residual(golden, mechanism, &order, run, s, h);
    check_states(golden, mechanism, &order, run, s, h);
    check_linearization(golden, mechanism, &order, run, s, h);
}

/// Residual, momentum, scale and Newton direction at an arbitrary point.
fn check_residual(golden: &mut Golden, mechanism: &Mechanism, order: &Order, run: &str, s: usize, h: f64) {
    let case = format!("{run}/residual_case");
    for input in ["anchors", "z", "p", "u"] {
        golden.input(format!("{case}/{input}"));
    }
    let node = |golden: &Golden, al: usize| golden.numbers(&format!("{case}/z/{al}"));
    let z0 = node(golden, 0);
    let mut q = mechanism.neutral_state().q;
    let mut c = 0;
    for (i, kind) in order.kinds.iter().enumerate() {
        let range = mechanism.q_range(mechanism.joint_by_name(&format!("joint{i}")).expect("joint"));
        let q = &mut q[range];
        if kind == "spherical" || kind == "floating" {
            let m = golden.numbers(&format!("{case}/anchors/{i}"));
            let r = Quat::from_matrix(&Mat3([[m[0], m[1], m[2]], [m[3], m[4], m[5]], [m[6], m[7], m[8]]]));
            q[..4].copy_from_slice(&r.to_array());
            if kind == "floating" {
                q[4..7].copy_from_slice(&z0[c..c + 3]);
                c += 3;
            }
            c += 3;
        } else {
            q[0] = z0[c];
            c += 1;
        }
    }
    let increments = (1..=s)
        .map(|ga| {
            let z: Vec<f64> = node(golden, ga).iter().zip(&z0).map(|(z, z0)| z - z0).collect();
            order.to_engine(&z)
        })
        .collect();
    let at = StepPoint {
        q,
        increments,
        p: order.to_engine(&golden.numbers(&format!("{case}/p"))),
        u: (0..=s).map(|al| golden.numbers(&format!("{case}/u/{al}"))).collect(),
        h,
    };
    let integrator = Minimal::new(MinimalOptions::tight(2 * s as u32)).expect("options");
    let mut workspace = integrator.workspace(mechanism).expect("served");
    // The file's scale is about the world's origin.
    let sample = workspace.sample(mechanism, &at, false).expect("regular");
    for al in 0..s {
        let expected_scale = golden.numbers(&format!("{case}/residual_scale/{al}"));
        let residual = order.to_file(&sample.residual[al]);
        // Every row to 1e-13 of its own scale: compared as ratios to it.
        for (i, scale) in expected_scale.iter().enumerate() {
            let pointer = format!("{case}/residual/{al}/{i}");
            golden.compare("residual", &pointer, &[residual[i]], 1e-13 * scale);
        }
        let computed = order.to_file(&sample.scale[al]);
        for (i, scale) in expected_scale.iter().enumerate() {
            let pointer = format!("{case}/residual_scale/{al}/{i}");
            golden.compare("residual_scale", &pointer, &[computed[i]], 1e-12 * scale);
        }
    }
    let largest = scale(&golden.numbers(&format!("{case}/residual_scale")), 0.0);
    golden.compare("p_next", &format!("{case}/p_next"), &order.to_file(&sample.p_next), 1e-13 * largest);
    let direction: Vec<f64> = sample.direction.iter().flat_map(|d| order.to_file(d)).collect();
    let pointer = format!("{case}/newton_direction");
    let loose = if mechanism.nv() >= 30 { 1e-10 } else { 1e-11 };
    let tolerance = loose * scale(&golden.numbers(&pointer), 0.0);
    golden.compare("newton_direction", &pointer, &direction, tolerance);
}

/// The trajectory in tight mode.
fn check_states(golden: &mut Golden, mechanism: &Mechanism, order: &Order, run: &str, s: usize, h: f64) {
    let integrator = Minimal::new(MinimalOptions::tight(2 * s as u32)).expect("options");
    let mut workspace = integrator.workspace(mechanism).expect("served");
    let start = state_at(mechanism, &golden.value, &format!("{run}/states/0"));
    golden.input(format!("{run}/states/0/config"));
    golden.input(format!("{run}/states/0/velocity"));
    let mut state = integrator.start(mechanism, &mut workspace, &start).expect("start");
    let mut public = start.clone();
    let mut dynamics = Dynamics::new(mechanism);
    let sensitivity = golden.numbers(&format!("{run}/rounding_sensitivity"));
    let count = golden.value.pointer(&format!("{run}/states")).and_then(Value::as_array).map_or(0, Vec::len);
    let mut done = 0;
    for k in 0..count {
        let at = |name: &str| format!("{run}/states/{k}/{name}");
        golden.input(at("step"));
        let step = golden.numbers(&at("step"))[0] as usize;
        while done < step {
            let u = golden.numbers(&format!("{run}/inputs/{done}"));
            if let Err(error) = integrator.step(mechanism, &mut workspace, &mut state, Input { u: &u }, h) {
                golden.fail(format!("{run}: step {done}: {error}"));
                return;
            }
            done += 1;
        }
        integrator.read_out(mechanism, &mut workspace, &state, &mut public);
        let tolerance = if k == 0 { 5e-12 } else { (50.0 * sensitivity[k - 1]).max(5e-12) };
        golden.compare("momentum", &at("momentum"), &order.to_file(&state.p), tolerance);
        if k > 0 {
            golden.compare("config", &at("config"), &config(mechanism, order, &public.q), tolerance);
            let v = velocity(mechanism, order, &public);
            golden.compare("velocity", &at("velocity"), &v, 10.0 * tolerance);
        }
        let energy = dynamics.observe(mechanism, &public.q, &public.v).total();
        let expected = golden.numbers(&at("energy"))[0];
        golden.compare("energy", &at("energy"), &[energy], 10.0 * tolerance * expected.abs().max(1.0));
    }
}

/// The derivative of the first step, in the order of the file.
fn check_linearization(
    golden: &mut Golden,
    mechanism: &Mechanism,
    order: &Order,
    run: &str,
    s: usize,
    h: f64,
) {
    let integrator = Minimal::new(MinimalOptions::tight(2 * s as u32)).expect("options");
    let mut workspace = integrator.workspace(mechanism).expect("served");
    let start = state_at(mechanism, &golden.value, &format!("{run}/states/0"));
    let mut state = integrator.start(mechanism, &mut workspace, &start).expect("start");
    let u = golden.numbers(&format!("{run}/inputs/0"));
    let input = Input { u: &u };
    let slope = integrator
        .linearize(mechanism, &mut workspace, &mut state, input, h, Coordinates::Engine)
        .expect("regular");
    let n = mechanism.nv();
    let index = |i: usize| match i {
        i if i < n => order.engine[i],
        i if i < 2 * n => n + order.engine[i - n],
        i => i,
    };
    let mut computed = Vec::new();
    for row in 0..2 * n {
        computed.extend((0..2 * n + mechanism.nu()).map(|column| slope.a(index(row), index(column))));
    }
    let pointer = format!("{run}/linearization_step0/A");
    let loose = if n >= 30 { 1e-10 } else { 1e-11 };
    let tolerance = loose * scale(&golden.numbers(&pointer), 0.0);
    golden.compare("linearization", &pointer, &computed, tolerance);
}
