//! Comprehensive motion: every value, Jacobian and product.

use leastaction::jet::{Coordinates, JetWorkspace, Quantity, QuantityKind, Target};
use leastaction::mechanism::{BodyId, Mechanism, MechanismBuilder};
use leastaction_golden::comprehensive::{joint_name, read};

use super::{Golden, scale};

/// The spec's rule: 1e-12 of the largest entry, at least of one.
fn compare(golden: &mut Golden, quantity: &str, pointer: &str, computed: &[f64]) {
    let tolerance = 1e-12 * scale(&golden.numbers(pointer), 1.0);
    golden.compare(quantity, pointer, computed, tolerance);
}

struct Case {
    mechanism: Mechanism,
    jets: JetWorkspace<f64>,
    /// Body and first velocity coordinate with their number, in the file's order.
    bodies: Vec<(BodyId, usize, usize)>,
    /// Column of ours for each column of the file.
    columns: Vec<usize>,
}

impl Case {
    fn load(golden: &Golden) -> Self {
        let case = read(&golden.value).expect("readable model");
        let mechanism = MechanismBuilder::from(case.model.clone()).build().expect("valid model");
        let k = golden.value["order_k"].as_i64().expect("order");
        let n = usize::try_from(k + 2).expect("order");
        let mut jets = JetWorkspace::new(&mechanism, i32::try_from(k).expect("order"));
        let mut bodies = Vec::new();
        let mut q = vec![0.0; mechanism.nq()];
        let mut y = vec![0.0; n * mechanism.nv()];
        for (i, body) in case.model.bodies.iter().enumerate() {
            let joint = mechanism.joint_by_name(&joint_name(&body.name)).expect("joint");
            q[mechanism.q_range(joint)].copy_from_slice(&golden.numbers(&format!("/q/{i}")));
            let range = mechanism.v_range(joint);
            for l in 0..n {
                let row = golden.numbers(&format!("/y/{i}/{l}"));
                y[l * mechanism.nv()..][range.clone()].copy_from_slice(&row);
            }
            bodies.push((mechanism.body_by_name(&body.name).expect("body"), range.start, range.len()));
        }
        jets.forward(&q, &y).expect("valid state");
        let mut columns = Vec::new();
        for (_, v, nv) in &bodies {
            for r in 0..n + 1 {
                columns.extend((0..*nv).map(|c| jets.column_index(v + c, r)));
            }
        }
        Self { mechanism, jets, bodies, columns }
    }

    fn value(&mut self, request: &Quantity) -> Vec<f64> {
        let quantity = request.kind;
        let mut out = vec![0.0; self.jets.value_count(quantity) * self.jets.value_rows(quantity)];
        self.jets.value_into(request, &mut out).expect("served");
        out
    }

    /// The Jacobian with the file's columns; `rows` picks rows of every order.
    fn jacobian(&mut self, request: &Quantity, rows: std::ops::Range<usize>) -> Vec<f64> {
        let quantity = request.kind;
        let (all, width) = (self.jets.jacobian_rows(quantity), self.jets.jacobian_columns());
        let mut out = vec![0.0; self.jets.value_count(quantity) * all * width];
        self.jets.jacobian_into(request, Coordinates::Velocity, &mut out).expect("served");
        let mut picked = Vec::new();
        for order in out.chunks_exact(all * width) {
            for row in rows.clone() {
                picked.extend(self.columns.iter().map(|c| order[row * width + c]));
            }
        }
        picked
    }

    /// `[joint][order][component]` of the file from order-major coordinates of ours.
    fn by_joint(&self, x: &[f64]) -> Vec<f64> {
        let nv = self.mechanism.nv();
        let mut out = Vec::new();
        for (_, v, width) in &self.bodies {
            for order in x.chunks_exact(nv) {
                out.extend_from_slice(&order[*v..v + width]);
            }
        }
        out
    }

    /// The inverse of [`by_joint`](Self::by_joint).
    fn given_order(&self, x: &[f64]) -> Vec<f64> {
        let nv = self.mechanism.nv();
        let orders = x.len() / nv;
        let mut out = vec![0.0; x.len()];
        let mut at = x.iter();
        for (_, v, width) in &self.bodies {
            for l in 0..orders {
                for c in 0..*width {
                    out[l * nv + v + c] = *at.next().expect("enough numbers");
                }
            }
        }
        out
    }
}

/// File key, quantity, world frame.
const QUANTITIES: [(&str, QuantityKind, bool); 9] = [
    ("v", QuantityKind::Velocity, false),
    ("h", QuantityKind::Momentum, false),
    ("h_joint", QuantityKind::JointMomentum, false),
    ("h_link_world", QuantityKind::Momentum, true),
    ("h_joint_world", QuantityKind::JointMomentum, true),
    ("f_link", QuantityKind::LinkForce, false),
    ("f_joint", QuantityKind::JointForce, false),
    ("link_tangent", QuantityKind::Pose, false),
    ("link_origin_position", QuantityKind::Point, true),
];

pub(super) fn check(golden: &mut Golden) {
    for input in ["/model", "/order_k", "/q", "/y", "/links", "/tau_products/xi", "/tau_products/lam"] {
        golden.input(input);
    }
    let mut case = Case::load(golden);
    check_values(golden, &mut case);
    check_jacobians(golden, &mut case);
    let xi = case.given_order(&golden.numbers("/tau_products/xi"));
    let lambda = case.given_order(&golden.numbers("/tau_products/lam"));
    let (mut jvp, mut vjp) = (vec![0.0; lambda.len()], vec![0.0; xi.len()]);
    case.jets.torque_jvp(&xi, &mut jvp).expect("lengths");
    case.jets.torque_vjp(&lambda, &mut vjp).expect("lengths");
    let (jvp, vjp) = (case.by_joint(&jvp), case.by_joint(&vjp));
    compare(golden, "tau_products.jvp", "/tau_products/jvp", &jvp);
    compare(golden, "tau_products.vjp", "/tau_products/vjp", &vjp);
}

fn check_values(golden: &mut Golden, case: &mut Case) {
    let has = |golden: &Golden, pointer: &str| golden.value.pointer(pointer).is_some();
    for i in 0..case.bodies.len() {
        let (body, v, width) = case.bodies[i];
        let target = Target::body(body);
        for (key, quantity, world) in QUANTITIES {
            let pointer = format!("/values/{key}/{i}");
            if has(golden, &pointer) {
                let request =
                    if world { Quantity::world(quantity, target) } else { Quantity::local(quantity, target) };
                let computed = case.value(&request);
                compare(golden, &format!("values.{key}"), &pointer, &computed);
            }
        }
        let tau = case.value(&Quantity::whole(QuantityKind::Torque));
        let tau: Vec<f64> =
            tau.chunks_exact(case.mechanism.nv()).flat_map(|row| row[v..v + width].to_vec()).collect();
        compare(golden, "values.tau", &format!("/values/tau/{i}"), &tau);
        if has(golden, &format!("/values/pose/{i}")) {
            let pose = case.value(&Quantity::local(QuantityKind::Pose, target));
            let part = |from: usize, to: usize| -> Vec<f64> {
                pose.chunks_exact(12).flat_map(|row| row[from..to].to_vec()).collect()
            };
            let pointer = format!("/values/pose/{i}/rotation_jets");
            compare(golden, "values.pose.rotation", &pointer, &part(0, 9));
            if has(golden, &format!("/values/pose/{i}/position_jets")) {
                let pointer = format!("/values/pose/{i}/position_jets");
                compare(golden, "values.pose.position", &pointer, &part(9, 12));
            }
        }
    }
    if has(golden, "/values/com") {
        let com = case.value(&Quantity::whole(QuantityKind::Com));
        compare(golden, "values.com", "/values/com", &com);
    }
}

fn check_jacobians(golden: &mut Golden, case: &mut Case) {
    let keys: Vec<(String, Vec<String>)> = golden.value["jacobians"]
        .as_object()
        .expect("jacobians")
        .iter()
        .map(|(key, v)| (key.clone(), v.as_object().map_or(Vec::new(), |o| o.keys().cloned().collect())))
        .collect();
    for (key, links) in keys {
        let label = format!("jacobians.{key}");
        if key == "com" {
            let computed = case.jacobian(&Quantity::whole(QuantityKind::Com), 0..3);
            compare(golden, &label, "/jacobians/com", &computed);
            continue;
        }
        for link in links {
            let pointer = format!("/jacobians/{key}/{link}");
            let (body, v, width) = case.bodies[link.parse::<usize>().expect("index")];
            let target = Target::body(body);
            let computed = if key == "tau" {
                case.jacobian(&Quantity::whole(QuantityKind::Torque), v..v + width)
            } else {
                let Some((_, quantity, world)) = QUANTITIES.iter().find(|(name, ..)| *name == key) else {
                    golden.fail(format!("{pointer}: unknown quantity"));
                    continue;
                };
                let request = if *world {
                    Quantity::world(*quantity, target)
                } else {
                    Quantity::local(*quantity, target)
                };
                let rows = case.jets.jacobian_rows(*quantity);
                case.jacobian(&request, 0..rows)
            };
            compare(golden, &label, &pointer, &computed);
        }
    }
}
