//! SDF: links, joints and frames where the file puts them, and faults with their places.

use std::fs;
use std::path::Path;

use leastaction::dynamics::Dynamics;
use leastaction::io::{LoadOptions, Reading, Severity, UrdfOptions, load_model, read_sdf, write_sdf};
use leastaction::mechanism::samples::{self, random_tree};
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, PerCoordinate};

use crate::support::random_state;

fn read(text: &str) -> Reading {
    read_sdf(text, Path::new("model.sdf"), &UrdfOptions::default())
}

fn build(text: &str) -> Mechanism {
    let reading = read(text);
    assert!(!reading.has_errors(), "{:#?}", reading.diagnostics);
    MechanismBuilder::from(reading.description.unwrap()).build().unwrap()
}

fn said(text: &str) -> String {
    read(text).diagnostics.iter().map(|d| format!("{d}\n")).collect()
}

const INERTIAL: &str = "<inertial><mass>2</mass><pose>0 0 -0.5 0 0 0</pose>\
    <inertia><ixx>0.2</ixx><iyy>0.3</iyy><izz>0.1</izz></inertia></inertial>";

/// Two links hang from the world; the second is placed by `second`.
fn pendulum(second: &str, joint: &str) -> String {
    format!(
        "<sdf version='1.10'><model name='double'><link name='a'><pose>0 0 2 0 0 0</pose>{INERTIAL}</link>\
         <link name='b'>{second}{INERTIAL}</link>\
         <joint name='j1' type='revolute'><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>\
         <joint name='j2' type='revolute'><parent>a</parent><child>b</child>{joint}</joint></model></sdf>"
    )
}

fn acceleration(mechanism: &Mechanism, q: &[f64], v: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; mechanism.nv()];
    Dynamics::<f64>::new(mechanism).acceleration_into(mechanism, q, v, &[], &mut out);
    out
}

#[test]
fn one_mechanism_written_in_five_ways_moves_in_one_way() {
    let axis = "<axis><xyz>1 0 0</xyz></axis>";
    let plain = build(&pendulum("<pose>0 0 1 0 0 0</pose>", axis));
    let wanted = acceleration(&plain, &[0.4, -0.7], &[1.0, 2.0]);
    assert!(wanted.iter().all(|x| x.abs() > 0.1), "{wanted:?}");
    let ways = [
        pendulum("<pose relative_to='a'>0 0 -1 0 0 0</pose>", axis),
        pendulum("<pose relative_to='j2'/>", &format!("<pose relative_to='a'>0 0 -1 0 0 0</pose>{axis}")),
        // The link is turned about z; the axis is said in the model's frame.
        pendulum(
            "<pose degrees='true'>0 0 1 0 0 90</pose>",
            "<axis><xyz expressed_in='__model__'>1 0 0</xyz></axis>",
        ),
        pendulum(
            "<pose rotation_format='quat_xyzw'>0 0 1 0 0 0.7071067811865476 0.7071067811865476</pose>",
            "<axis><xyz expressed_in='a'>1 0 0</xyz></axis>",
        ),
    ];
    for (i, way) in ways.iter().enumerate() {
        let mut text = way.clone();
        if i >= 2 {
            // The axes of a turned link have changed places, and so have its moments.
            let at = text.rfind("<ixx>0.2</ixx><iyy>0.3</iyy>").unwrap();
            text.replace_range(at..at + 28, "<ixx>0.3</ixx><iyy>0.2</iyy>");
        }
        let found = acceleration(&build(&text), &[0.4, -0.7], &[1.0, 2.0]);
        for (a, b) in found.iter().zip(&wanted) {
            assert!((a - b).abs() < 1e-12, "way {i}: {found:?} {wanted:?}");
        }
    }
}

#[test]
fn models_are_free_unless_they_are_static_or_held() {
    let model = |inside: &str| {
        format!(
            "<sdf version='1.10'><model name='m'>{inside}<link name='l'><pose>1 2 3 0 0 0</pose>{INERTIAL}</link></model></sdf>"
        )
    };
    let free = build(&model(""));
    assert_eq!(free.joints()[0].kind, JointType::Floating);
    assert_eq!(free.joints()[0].parent_frame.pos.0, [1.0, 2.0, 3.0]);
    assert_eq!(build(&model("<static>true</static>")).nv(), 0);
}

#[test]
fn limits_dynamics_springs_and_screws_are_kept() {
    let joint = "<axis><xyz>0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort><velocity>-1</velocity></limit>\
        <dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>3</spring_stiffness>\
        <spring_reference>0.5</spring_reference></dynamics></axis>";
    let mechanism = build(&pendulum("", joint));
    let found = mechanism.joint(mechanism.joint_by_name("j2").unwrap());
    let limits = found.limits.as_ref().unwrap();
    assert_eq!((limits.lower[0], limits.upper[0], limits.effort), (-1.0, f64::INFINITY, 5.0));
    assert_eq!(
        (found.damping[0], found.friction[0], found.stiffness[0], found.rest[0]),
        (0.1, 0.2, 3.0, 0.5)
    );

    let text = pendulum("", &format!("<screw_thread_pitch>0.01</screw_thread_pitch>{joint}"));
    let at = text.rfind("type='revolute'").unwrap();
    let text = format!("{}type='screw'{}", &text[..at], &text[at + 15..]);
    let description = read(&text).description.unwrap();
    let thread = &description.couplings[0];
    assert_eq!((thread.joint.as_str(), thread.of.as_deref()), ("j2/slide", Some("j2")));
    assert!((thread.polynomial[1] * std::f64::consts::TAU - 0.01).abs() < 1e-17);
}

/// `q = multiplier (leader − reference) + offset`.
#[test]
fn a_mimic_counts_from_its_reference() {
    let joint = "<axis><xyz>1 0 0</xyz><mimic joint='j1'><multiplier>2</multiplier><offset>0.3</offset>\
        <reference>0.25</reference></mimic></axis>";
    let description = read(&pendulum("", joint)).description.unwrap();
    let mimic = description.joints.iter().find_map(|joint| joint.mimic.as_ref()).unwrap();
    assert_eq!((mimic.joint.as_str(), mimic.multiplier), ("j1", 2.0));
    assert!((mimic.offset - (0.3 - 2.0 * 0.25)).abs() < 1e-15, "{}", mimic.offset);
}

#[test]
fn nested_and_included_models_have_scoped_names_and_places() {
    let folder = std::env::temp_dir().join(format!("leastaction-sdf-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("tool")).unwrap();
    let tool = format!(
        "<sdf version='1.10'><model name='t'><link name='tip'><pose>0 0 0.1 0 0 0</pose>{INERTIAL}</link></model></sdf>"
    );
    fs::write(folder.join("tool/tool.sdf"), tool).unwrap();
    fs::write(folder.join("tool/model.config"), "<model><sdf version='1.10'>tool.sdf</sdf></model>").unwrap();
    let text = format!(
        "<sdf version='1.10'><world name='w'><gravity>0 0 -1.6</gravity><model name='arm'><link name='base'>{INERTIAL}</link>\
         <frame name='flange' attached_to='base'><pose>0 0 1 0 0 0</pose></frame>\
         <include><uri>model://tool</uri><name>left</name><pose relative_to='flange'>0 0.5 0 0 0 0</pose></include>\
         <model name='inner'><pose>5 0 0 0 0 0</pose><link name='l'>{INERTIAL}</link></model>\
         <joint name='weld' type='fixed'><parent>flange</parent><child>left::tip</child></joint>\
         <joint name='ball' type='ball'><parent>base</parent><child>inner</child></joint></model></world></sdf>"
    );
    fs::write(folder.join("main.sdf"), text).unwrap();
    let reading = load_model(&folder.join("main.sdf"), &LoadOptions::default()).unwrap();
    assert!(!reading.has_errors(), "{:#?}", reading.diagnostics);
    let model = reading.description.unwrap();
    assert_eq!((model.name.as_str(), model.gravity), ("w", [0.0, 0.0, -1.6]));
    let names: Vec<&str> = model.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["base", "left::tip", "inner::l"]);
    let joint = |name: &str| model.joints.iter().find(|joint| joint.name == name).unwrap().clone();
    // The tip is 0.1 above the tool's frame, which is half a metre beside the flange.
    assert_eq!(joint("weld").parent_placement.p, [0.0, 0.5, 1.1]);
    assert_eq!(joint("ball").parent_placement.p, [5.0, 0.0, 0.0]);
    assert_eq!(model.frames[0].placement.p, [0.0, 0.0, 1.0]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn faults_are_named_with_their_remedy() {
    let good = pendulum("<pose>0 0 1 0 0 0</pose>", "<axis><xyz>1 0 0</xyz></axis>");
    for (from, to, says) in [
        ("<child>b</child>", "<child>c</child>", "there is no link or frame `c`"),
        ("type='revolute'><parent>a", "type='gearbox'><parent>a", "unknown joint type `gearbox`"),
        ("<parent>a</parent>", "", "the joint has no `<parent>`"),
        ("<axis><xyz>1 0 0</xyz></axis></joint></model>", "</joint></model>", "needs `<axis>`"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 1</pose>", "`<pose>` has 3 numbers"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 1</pose>", "write `x y z roll pitch yaw`"),
        (
            "<pose>0 0 1 0 0 0</pose>",
            "<pose rotation_format='quat_xyzw'>0 0 1</pose>",
            "write `x y z qx qy qz qw`",
        ),
        ("<pose>0 0 1 0 0 0</pose>", "<pose>0 0 x 0 0 0</pose>", "which is not a number"),
        ("<pose>0 0 1 0 0 0</pose>", "<pose relative_to='b'/>", "relative to itself"),
        ("<mass>2</mass>", "<mass>two</mass>", "which is not a number"),
        ("name='b'", "name='a'", "this name is taken"),
        (
            "<model name='double'>",
            "<model name='double'><include><uri>model://none</uri></include>",
            "is not found",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let said = said(&good.replacen(from, to, 1));
        assert!(said.contains(says), "{to}: {said}");
    }
    assert!(said("<sdf version='1.10'/>").contains("holds no `<model>`"));
    assert!(said("<sdf><model name='m'/></sdf>").contains("it has no `<link>`"));
}

/// The tree joints that SDF has; what moves freely it holds without a joint.
const KINDS: [JointType; 5] =
    [JointType::Revolute, JointType::Prismatic, JointType::Spherical, JointType::Universal, JointType::Fixed];

#[test]
fn what_is_written_reads_back_as_the_same_mechanism() {
    let mut models: Vec<_> = (1..12).map(|n| random_tree(n as u64, n, &KINDS)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    for file in ["gripper-arm.urdf", "floating-arm.json"] {
        let loaded = load_model(&folder.join(file), &LoadOptions::default()).unwrap();
        models.push(loaded.description.unwrap());
    }
    for mut first in models {
        // Not in SDF, and said.
        first.joints.iter_mut().for_each(|joint| joint.armature = Default::default());
        let (text, lost) = write_sdf(&first);
        assert!(lost.iter().all(|d| d.severity == Severity::Warning), "{lost:#?}");
        let reading = read(&text);
        assert!(!reading.has_errors(), "{}: {:#?}\n{text}", first.name, reading.diagnostics);
        let second = reading.description.unwrap();
        assert_eq!(first.gravity, second.gravity);
        first.inputs.clear();
        first.laws.clear();
        first.joints.iter_mut().for_each(|joint| joint.actuators.clear());
        let before = MechanismBuilder::from(first).build().unwrap();
        let after = MechanismBuilder::from(second).build().unwrap();
        assert_eq!(before.rows().len(), after.rows().len(), "{}", before.name());
        let (q, v) = random_state(&before, 7);
        let [a, b] = [&before, &after].map(|m| acceleration(m, &q, &v));
        let size = a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        let worst = a.iter().zip(&b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(worst < 1e-9 * size, "{}: {worst:e} of {size:e}", before.name());
    }
}

#[test]
fn what_sdf_can_t_hold_is_said() {
    let mut model = samples::chain(2);
    model.joints[0].armature = PerCoordinate::One(0.1);
    model.joints[1].kind = JointType::Planar;
    let (_, lost) = write_sdf(&model);
    let said: String = lost.iter().map(|d| format!("{d}\n")).collect();
    assert!(said.contains("SDF can't hold armature") && said.contains("SDF has no planar joint"), "{said}");
    assert!(lost.iter().any(|d| d.severity == Severity::Error));
    // Poses are those at zero coordinates: what closes elsewhere only would be torn.
    let (_, lost) = write_sdf(&samples::four_bar());
    let said: String = lost.iter().map(|d| format!("{d}\n")).collect();
    assert!(said.contains("`closure`: the loop it closes is open by"), "{said}");
}
