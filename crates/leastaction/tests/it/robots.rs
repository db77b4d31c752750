//! What published robots taught: files that must run, and what their limits do meanwhile.

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::{Severity, UrdfBase, UrdfOptions, load_model, read_urdf};
use leastaction::mechanism::{Mechanism, MechanismBuilder, PerCoordinate, State, samples};
use std::path::Path;

fn link(name: &str, mass: f64, inertia: f64, com: [f64; 3]) -> String {
    let [x, y, z] = com;
    format!(
        r#"<link name="{name}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>
        <inertia ixx="{inertia}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>"#
    )
}

fn hinge(name: &str, parent: &str, child: &str, axis: &str, at: &str, range: [f64; 2]) -> String {
    format!(
        r#"<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><origin xyz="{at}"/>
        <axis xyz="{axis}"/><limit lower="{}" upper="{}" effort="1" velocity="1"/></joint>"#,
        range[0], range[1]
    )
}

/// A heavy base with an arm that ends in two light fingers at rest on their limits, and a wheel whose limits leave no room.
fn faller() -> String {
    let mut text = String::from("<robot name=\"faller\">") + &link("base", 30.0, 0.8, [0.0; 3]);
    let masses = [(3.0, 0.02), (2.0, 0.01), (0.5, 0.001), (0.05, 0.00002)];
    let joints = [("0.2 0.1 0.3", "0 1 0"), ("0 0 0.4", "1 0 0"), ("0 0 0.3", "0 0 1"), ("0 0 0.1", "0 1 0")];
    let mut parent = "base".to_owned();
    for (k, ((mass, inertia), (at, axis))) in masses.into_iter().zip(joints).enumerate() {
        let name = format!("arm{k}");
        text += &link(&name, mass, inertia, [0.0, 0.0, 0.05]);
        text += &hinge(&format!("joint{k}"), &parent, &name, axis, at, [-1.0, 1.0]);
        parent = name;
    }
    for (k, at) in ["0 -0.02 0.05", "0 0.02 0.05"].into_iter().enumerate() {
        let name = format!("finger{k}");
        text += &link(&name, 0.01, 1e-6, [0.0, 0.0, 0.01]);
        text += &hinge(&format!("{name}_joint"), &parent, &name, "1 0 0", at, [0.0, 1.0]);
    }
    text += &link("wheel", 1.0, 0.01, [0.0; 3]);
    text += &hinge("wheel_joint", "base", "wheel", "0 0 1", "0 0 -0.1", [0.0, 0.0]);
    text + "</robot>"
}

fn floating(text: &str) -> Mechanism {
    let options = UrdfOptions { base: UrdfBase::Floating, ..UrdfOptions::default() };
    read_urdf(text, Path::new("robot.urdf"), &options).build().expect("a valid robot")
}

#[test]
fn a_robot_that_falls_for_ten_seconds_runs_and_holds_its_limits() {
    let mechanism = floating(&faller());
    for method in [Method::Minimal, Method::Maximal] {
        let start = mechanism.neutral_state();
        let mut run = Simulator::new(&mechanism, method, &MethodOptions::default(), &start).expect("served");
        let mut events = 0;
        for step in 0..2000 {
            let report =
                run.step(&[], 0.005).unwrap_or_else(|error| panic!("{method:?}, step {step}: {error}"));
            events += report.events;
            let q = &run.state().q;
            for row in mechanism.rows() {
                let value = row.value(q).expect("a tree");
                let beyond = (row.lower - value).max(value - row.upper);
                assert!(beyond <= 1e-9, "{method:?}, step {step}: {} is {beyond:e} beyond", row.name);
            }
        }
        // Nothing happens to a body that falls: what is found is rounding.
        assert!(events <= 20, "{method:?}: {events} events");
    }
}

#[test]
fn a_joint_without_room_stays_where_it_is_when_others_strike_their_limits() {
    let mechanism = floating(&faller());
    let wheel =
        mechanism.rows().iter().position(|row| row.name == "wheel_joint").expect("the wheel has a row");
    let mut start = mechanism.neutral_state();
    let mut numbers = samples::Random::new(5);
    for joint in mechanism.tree_joints().filter(|id| mechanism.joint(*id).kind.nv() == 1) {
        let at = mechanism.v_range(joint).start;
        if mechanism.joint(joint).name != "wheel_joint" {
            start.v[at] = numbers.range(0.0, 8.0);
        }
    }
    let mut run =
        Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &start).expect("served");
    let mut struck = 0;
    for _ in 0..400 {
        struck += run.step(&[], 0.005).expect("a step").events;
        let value = mechanism.rows()[wheel].value(&run.state().q).expect("a tree");
        assert!(value.abs() <= 1e-12, "the wheel turned by {value:e}");
        assert!(run.rows().states[wheel].locked);
    }
    assert!(struck > 10, "only {struck} events");
}

const ANTENNA: &str = r#"<inertial><mass value="0.01"/>
    <inertia ixx="2.371e-8" iyy="2.833e-8" izz="3.849e-8" ixy="6.119e-8" ixz="1.179e-8" iyz="7.74e-9"/></inertial>"#;

fn with_antenna(joint: &str) -> String {
    let body = link("base", 3.0, 0.1, [0.0; 3]);
    format!(
        r#"<robot name="r">{body}<link name="antenna">{ANTENNA}</link>
        <joint name="stem" type="{joint}"><parent link="base"/><child link="antenna"/><axis xyz="0 0 1"/></joint></robot>"#
    )
}

#[test]
fn an_inertia_that_no_body_has_is_judged_with_what_it_is_welded_to() {
    let read = |text: &str| {
        let options = UrdfOptions { base: UrdfBase::Floating, ..UrdfOptions::default() };
        let mut reading = read_urdf(text, Path::new("r.urdf"), &options);
        let built = reading.build().is_some();
        let said: Vec<(Severity, String)> =
            reading.diagnostics.iter().map(|d| (d.severity, d.message.clone())).collect();
        (built, said)
    };
    let (welded, said) = read(&with_antenna("fixed"));
    assert!(welded && said.len() == 1 && said[0].0 == Severity::Warning, "{said:?}");
    assert!(said[0].1.contains("not positive semidefinite"), "{said:?}");
    let (turning, said) = read(&with_antenna("continuous"));
    assert!(!turning && said.iter().any(|s| s.0 == Severity::Error), "{said:?}");
    // Welded to something as light as itself the sum is no better.
    let light =
        with_antenna("fixed").replace("value=\"3\"", "value=\"1e-9\"").replace("\"0.1\"", "\"1e-12\"");
    let (built, said) = read(&light);
    assert!(!built && said.iter().any(|s| s.1.contains("welded")), "{said:?}");
}

#[test]
fn a_repaired_inertia_runs_and_is_said() {
    let file = std::env::temp_dir().join(format!("leastaction-antenna-{}.urdf", std::process::id()));
    std::fs::write(&file, with_antenna("continuous")).expect("a file");
    let mut options = leastaction::io::LoadOptions::default();
    options.urdf.repair_inertia = true;
    let mut reading = load_model(&file, &options).expect("text");
    let mechanism = reading.build();
    std::fs::remove_file(&file).expect("removed");
    assert!(reading.diagnostics.iter().any(|d| d.message.contains("is taken")), "{:?}", reading.diagnostics);
    assert!(mechanism.is_some(), "{:?}", reading.diagnostics);
}

/// A tree of 24 hinges, as many as a hand has.
fn hand(friction: impl Fn(usize) -> f64) -> (Mechanism, State) {
    let mut model = samples::binary_tree(24);
    for (i, joint) in model.joints.iter_mut().enumerate() {
        joint.friction = PerCoordinate::One(friction(i));
    }
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let mut start = mechanism.neutral_state();
    let mut numbers = samples::Random::new(9);
    start.q.iter_mut().for_each(|q| *q = numbers.range(-0.5, 0.5));
    (mechanism, start)
}

#[test]
fn friction_holds_a_hand_for_a_minute_without_creep() {
    let (mechanism, start) = hand(|_| 1e4);
    let mut run =
        Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &start).expect("served");
    for _ in 0..12_000 {
        run.step(&[], 0.005).expect("a step");
    }
    assert_eq!(run.state().q, start.q);
}

#[test]
fn limits_of_coupled_joints_that_leave_no_value_for_both_do_not_stop_a_model() {
    let palm = link("palm", 1.0, 0.1, [0.0; 3]);
    let finger = |name: &str| link(name, 0.1, 1e-3, [0.0, 0.0, 0.1]);
    let text = format!(
        r#"<robot name="r">{palm}{}{}{}{}</robot>"#,
        finger("a"),
        finger("b"),
        hinge("first", "palm", "a", "0 1 0", "0 0.1 0", [0.2, 1.0]),
        hinge("second", "palm", "b", "0 1 0", "0 -0.1 0", [0.0, 0.1])
            .replace("</joint>", "<mimic joint=\"first\"/></joint>"),
    );
    let mechanism = read_urdf(&text, Path::new("r.urdf"), &UrdfOptions::default()).build().expect("valid");
    let row = &mechanism.rows()[0];
    assert_eq!((row.lower, row.upper), (0.2, 1.0));
    let mut start = mechanism.neutral_state();
    start.q.fill(0.5);
    let mut run =
        Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &start).expect("served");
    for _ in 0..200 {
        run.step(&[], 0.005).expect("a step");
    }
}
