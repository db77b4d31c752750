//! What all engines share (docs/conventions.md), held by tests.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::samples::{self, Random, random_tree};
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointRole, JointType, Mechanism, MechanismBuilder, ModelDescription,
    Placement, State,
};
use leastaction::spatial::{Pose, Quat, Vec3};

use crate::support::{ALL_KINDS, random_state, worst};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

/// Methods that serve trees, each engine adds its own.
const TREE_METHODS: &[(Method, Option<u32>)] = &[
    (Method::Rk4, None),
    (Method::SemiImplicit, None),
    (Method::Dop853, None),
    (Method::Minimal, Some(2)),
    (Method::Minimal, Some(4)),
    (Method::Maximal, Some(2)),
];

fn body(name: &str) -> BodyDescription {
    BodyDescription {
        name: name.into(),
        mass: 1.0,
        inertia: [0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
        ..Default::default()
    }
}

fn joint(name: &str, kind: JointType, parent: &str, child: &str) -> JointDescription {
    JointDescription::new(name, kind, parent, child)
}

#[test]
fn joint_frames_coincide_at_zero_coordinates() {
    for seed in 0..10 {
        let model = random_tree(seed, 8, &ALL_KINDS);
        let mechanism = build(model.clone());
        let state = mechanism.neutral_state();
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        dynamics.kinematics.update_positions(&mechanism, &state.q);
        for id in mechanism.tree_joints() {
            let joint = mechanism.joint(id);
            let parent =
                joint.parent.map_or(Pose::identity(), |p| dynamics.kinematics.body_pose(&mechanism, p));
            let a = parent * joint.parent_frame;
            let b = dynamics.kinematics.body_pose(&mechanism, joint.child) * joint.child_frame;
            assert!((a.pos - b.pos).norm() < 1e-14);
            assert!((0..3).all(|i| (a.rot.column(i) - b.rot.column(i)).norm() < 1e-14));
        }
    }
}

#[test]
fn the_spanning_tree_is_breadth_first_in_file_order() {
    // A square a-b-c-d hanging from the world at a: the last joint in file order that meets a reached body closes.
    let mut model = ModelDescription::new("square");
    model.bodies = ["d", "c", "b", "a"].map(body).to_vec();
    model.joints = vec![
        joint("ab", JointType::Revolute, "a", "b"),
        joint("root", JointType::Revolute, "world", "a"),
        joint("ad", JointType::Revolute, "a", "d"),
        joint("bc", JointType::Revolute, "b", "c"),
        joint("dc", JointType::Revolute, "d", "c"),
    ];
    let mechanism = build(model.clone());
    let names: Vec<&str> = mechanism.joints().iter().map(|j| j.name.as_str()).collect();
    assert_eq!(names, ["root", "ab", "ad", "bc", "dc"]);
    assert_eq!(mechanism.loop_joints().count(), 1);
    // A role decides otherwise.
    model.joints[3].role = Some(JointRole::Loop);
    let mechanism = build(model.clone());
    assert_eq!(mechanism.joints().last().expect("five joints").name, "bc");
    model.joints[3].role = None;
    model.joints[4].role = Some(JointRole::Tree);
    let mechanism = build(model);
    assert_eq!(mechanism.joints().last().expect("five joints").name, "bc");
}

#[test]
fn a_body_without_a_path_to_the_world_gets_a_floating_joint() {
    let mut model = ModelDescription::new("free");
    model.bodies = ["arm", "base"].map(body).to_vec();
    model.joints = vec![joint("shoulder", JointType::Spherical, "base", "arm")];
    let mechanism = build(model);
    let kinds: Vec<(&str, JointType)> =
        mechanism.joints().iter().map(|j| (j.name.as_str(), j.kind)).collect();
    assert_eq!(kinds, [("base_floating", JointType::Floating), ("shoulder", JointType::Spherical)]);
}

#[test]
fn a_joint_met_from_its_child_keeps_its_coordinates_or_is_refused() {
    let chain = |kind, turned: bool| {
        let mut model = ModelDescription::new("chain");
        model.bodies = ["a", "b"].map(body).to_vec();
        let mut j = joint("j", kind, "a", "b");
        j.axis = Some([0.0, 0.6, 0.8]);
        j.parent_placement = Placement { p: [0.1, 0.2, 0.3], q: [0.5, 0.5, -0.5, 0.5] };
        j.child_placement = Placement::at([-0.3, 0.1, 0.0]);
        if turned {
            std::mem::swap(&mut j.parent, &mut j.child);
            std::mem::swap(&mut j.parent_placement, &mut j.child_placement);
            j.axis = j.axis.map(|a| a.map(|x| -x));
        }
        model.joints = vec![joint("root", JointType::Fixed, "world", "a"), j];
        MechanismBuilder::from(model).build()
    };
    for kind in [JointType::Revolute, JointType::Prismatic, JointType::Cylindrical] {
        let (straight, turned) = (chain(kind, false).expect("valid"), chain(kind, true).expect("turned"));
        let q = vec![0.7; kind.nq()];
        let pose = |m: &Mechanism| {
            let mut d = Dynamics::<f64>::new(m);
            d.kinematics.update_positions(m, &q);
            d.kinematics.body_pose(m, m.body_by_name("b").expect("b"))
        };
        let (a, b) = (pose(&straight), pose(&turned));
        assert!((a.pos - b.pos).norm() < 1e-15, "{kind:?}");
        assert!((0..3).all(|i| (a.rot.column(i) - b.rot.column(i)).norm() < 1e-15), "{kind:?}");
    }
    for kind in [JointType::Spherical, JointType::Universal, JointType::Planar, JointType::Floating] {
        let mut model = ModelDescription::new("chain");
        model.bodies = ["a", "b"].map(body).to_vec();
        let mut j = joint("j", kind, "b", "a");
        if kind == JointType::Universal {
            j.axis2 = Some([1.0, 0.0, 0.0]);
        }
        model.joints = vec![joint("root", JointType::Fixed, "world", "a"), j];
        let error = MechanismBuilder::from(model).build().expect_err("refused").to_string();
        assert!(error.contains("`j`") && error.contains("exchange parent and child"), "{error}");
    }
}

/// The same mechanism with bodies and joints in another order, other body frames, and reversible joints reversed.
pub(crate) fn rewritten(model: &ModelDescription, seed: u64) -> ModelDescription {
    let mut rng = Random::new(seed);
    let mut out = model.clone();
    let mut frames = std::collections::BTreeMap::new();
    for body in &mut out.bodies {
        let q: [f64; 4] = std::array::from_fn(|_| rng.range(-1.0, 1.0));
        let x = Pose::from_quat(
            Quat::from_slice(&q).normalized(),
            Vec3(std::array::from_fn(|_| rng.range(-0.5, 0.5))),
        );
        // `x` is the old frame in the new one.
        body.com = x.point(Vec3(body.com)).0;
        body.inertia = leastaction::spatial::Sym3(body.inertia).rotated(&x.rot).0;
        for thruster in &mut body.thrusters {
            thruster.wrench = x.wrench(leastaction::spatial::Wrench::from_array(thruster.wrench)).to_array();
        }
        frames.insert(body.name.clone(), x);
    }
    let placed = |body: &str, p: &Placement| {
        let Some(x) = frames.get(body) else { return *p };
        let y = *x * Pose::from_quat(Quat::from_slice(&p.q), Vec3(p.p));
        Placement { p: y.pos.0, q: Quat::from_matrix(&y.rot).to_array() }
    };
    for joint in &mut out.joints {
        joint.parent_placement = placed(&joint.parent, &joint.parent_placement);
        joint.child_placement = placed(&joint.child, &joint.child_placement);
        if joint.kind.is_reversible() && joint.parent != "world" {
            std::mem::swap(&mut joint.parent, &mut joint.child);
            std::mem::swap(&mut joint.parent_placement, &mut joint.child_placement);
            joint.axis = Some(joint.axis.unwrap_or([0.0, 0.0, 1.0]).map(|x| -x));
        }
    }
    // Bodies only: the order of the joints decides which of them close loops.
    out.bodies.reverse();
    out
}

/// Positions by joint name after 100 steps.
fn run(model: &ModelDescription, method: Method, order: Option<u32>) -> Vec<(String, Vec<f64>)> {
    let mechanism = build(model.clone());
    // Velocities by name, so that both ways of writing start alike; loops start at rest, where they are consistent.
    let mut state = mechanism.start_state();
    let moving = mechanism.loop_joints().next().is_none();
    for id in mechanism.tree_joints() {
        let mut rng = Random::new(mechanism.joint(id).name.bytes().map(u64::from).sum());
        for i in mechanism.v_range(id) {
            state.v[i] = if moving { rng.range(-0.5, 0.5) } else { 0.0 };
        }
    }
    let options = MethodOptions { order, ..Default::default() };
    let mut sim = Simulator::new(&mechanism, method, &options, &state).expect("served");
    for _ in 0..100 {
        sim.step(&vec![0.3; mechanism.nu()], 2e-3).expect("step");
    }
    let state = sim.state().clone();
    let mut out: Vec<(String, Vec<f64>)> = mechanism
        .tree_joints()
        .map(|id| (mechanism.joint(id).name.clone(), state.q[mechanism.q_range(id)].to_vec()))
        .collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

#[test]
fn the_way_a_mechanism_is_written_does_not_change_its_motion() {
    for seed in 0..6 {
        let model = random_tree(seed, 6, &ALL_KINDS);
        let other = rewritten(&model, seed + 100);
        for (method, order) in TREE_METHODS {
            let (a, b) = (run(&model, *method, *order), run(&other, *method, *order));
            for ((name, x), (_, y)) in a.iter().zip(&b) {
                assert!(worst(x, y) < 1e-11, "{method:?} seed {seed} {name}: {x:?} {y:?}");
            }
        }
    }
}

#[test]
fn the_way_a_loop_is_written_does_not_change_its_motion() {
    for model in [samples::four_bar(), samples::four_bars(2)] {
        let other = rewritten(&model, 7);
        let (a, b) = (run(&model, Method::Maximal, Some(2)), run(&other, Method::Maximal, Some(2)));
        for ((name, x), (_, y)) in a.iter().zip(&b) {
            assert!(worst(x, y) < 1e-11, "{} {name}: {x:?} {y:?}", model.name);
        }
    }
}

#[test]
fn a_used_workspace_gives_the_same_bits_as_a_new_one() {
    let mechanism = build(random_tree(3, 7, &ALL_KINDS));
    let (q, v) = random_state(&mechanism, 5);
    let mut used = Dynamics::<f64>::new(&mechanism);
    let (mut a, mut b) = (vec![0.0; mechanism.nv()], vec![0.0; mechanism.nv()]);
    for seed in 0..3 {
        let (q, v) = random_state(&mechanism, seed);
        used.acceleration_into(&mechanism, &q, &v, &[], &mut a);
        used.observe(&mechanism, &q, &v);
    }
    used.acceleration_into(&mechanism, &q, &v, &[], &mut a);
    Dynamics::<f64>::new(&mechanism).acceleration_into(&mechanism, &q, &v, &[], &mut b);
    assert_eq!(a, b);
}

#[test]
fn states_survive_names_and_numbers_exactly() {
    let mechanism = build(random_tree(3, 7, &ALL_KINDS));
    let (q, v) = random_state(&mechanism, 5);
    let state = State { t: 0.1, q, v, ..State::default() };
    let text = serde_json::to_string(&mechanism.describe_state(&state)).expect("serialises");
    let back = mechanism.state_from(&serde_json::from_str(&text).expect("parses")).expect("fits");
    assert_eq!(state, back);
}
