//! URDF is read as it is meant, written as it was read, and 69 real robots load.

#![expect(clippy::print_stdout, reason = "the table of robots is what the test is run for")]

use std::path::{Path, PathBuf};

use leastaction::dynamics::Dynamics;
use leastaction::io::{
    Reading, Severity, UrdfBase, UrdfOptions, View, read_model_json, read_urdf, write_urdf,
};
use leastaction::mechanism::samples::random_tree;
use leastaction::mechanism::{
    JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription, Placement, Shape,
};

use crate::support::{random_state, random_vector, worst};

/// Every URDF below a folder, in order of the path.
fn urdfs_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "urdf") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Places of elements do not matter to a comparison of models.
fn without_origins(mut model: ModelDescription) -> ModelDescription {
    model.bodies.iter_mut().for_each(|b| b.origin = None);
    model.joints.iter_mut().for_each(|j| j.origin = None);
    model.couplings.iter_mut().for_each(|c| c.origin = None);
    model
}

#[test]
fn every_robot_of_a_folder_loads_and_survives_writing() {
    let Some(folder) = std::env::var_os("LEASTACTION_ROBOTS") else {
        println!("skipped: set LEASTACTION_ROBOTS to a folder of URDF files (PyPI example-robot-data)");
        return;
    };
    let folder = PathBuf::from(folder);
    let mut refused = Vec::new();
    println!("{:<60} {:>6} {:>6} {:>8} {:>7} {:>7}", "file", "bodies", "joints", "warnings", "errors", "ms");
    for path in urdfs_below(&folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        let options = UrdfOptions::default();
        let start = std::time::Instant::now();
        let mut reading = read_urdf(&text, &path, &options);
        let mechanism = reading.build();
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let errors = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        let warnings = reading.diagnostics.len() - errors;
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let (bodies, joints) =
            reading.description.as_ref().map_or((0, 0), |d| (d.bodies.len(), d.joints.len()));
        println!("{name:<60} {bodies:>6} {joints:>6} {warnings:>8} {errors:>7} {ms:>7.2}");
        for diagnostic in &reading.diagnostics {
            println!("    {}", diagnostic.to_string().replace('\n', "\n    "));
        }
        assert_eq!(mechanism.is_some(), errors == 0, "{name}");
        if errors > 0 {
            refused.push(name);
            continue;
        }
        let model = reading.description.unwrap();
        let (written, lost) = write_urdf(&model);
        assert!(lost.iter().all(|d| d.severity == Severity::Warning), "{lost:?}");
        let again = read_urdf(&written, &path, &options);
        assert!(!again.has_errors(), "{}\n{:?}", path.display(), again.diagnostics);
        assert!(distance(&model, &again.description.unwrap()) < 2e-15, "{name}");
    }
    println!("refused: {refused:?}");
}

fn read(text: &str) -> Reading {
    read_urdf(text, Path::new("robot.urdf"), &UrdfOptions::default())
}

/// A model that must be read without a word.
fn model(text: &str) -> ModelDescription {
    let reading = read(text);
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    reading.description.unwrap()
}

const TWO_LINKS: &str = r#"<robot name="r"><link name="a"/><link name="b"/>
  <joint name="j" type="continuous"><parent link="a"/><child link="b"/>EXTRA</joint></robot>"#;

fn joint_with(extra: &str) -> JointDescription {
    model(&TWO_LINKS.replace("EXTRA", extra)).joints.remove(1)
}

#[test]
fn inertia_is_turned_into_the_axes_of_the_link() {
    // A quarter turn about z: x of the inertial frame is y of the link.
    let text = r#"<robot name="r"><link name="a"><inertial>
        <origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><mass value="2"/>
        <inertia ixx="1" iyy="2" izz="3" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial></link></robot>"#;
    let body = &model(text).bodies[0];
    assert_eq!((body.mass, body.com), (2.0, [1.0, 2.0, 3.0]));
    for (found, expected) in body.inertia.iter().zip([2.0, 1.0, 3.0, -0.1, -0.3, 0.2]) {
        assert!((found - expected).abs() < 1e-15, "{:?}", body.inertia);
    }
}

#[test]
fn what_urdf_leaves_out_has_the_default_of_urdf() {
    let joint = joint_with("");
    assert_eq!(joint.axis, Some([1.0, 0.0, 0.0]));
    assert_eq!(joint.parent_placement, Placement::default());
    assert_eq!(joint.child_placement, Placement::default());
    assert!(joint.damping.is_zero() && joint.friction.is_zero() && joint.limits.is_none());
    let mimic = joint_with("<mimic joint=\"j\"/>").mimic.unwrap();
    assert_eq!((mimic.multiplier, mimic.offset), (1.0, 0.0));
}

#[test]
fn joints_keep_origin_axis_dynamics_limits_and_mimic() {
    let text = TWO_LINKS.replace("continuous", "prismatic").replace(
        "EXTRA",
        r#"<origin xyz="1 2 3" rpy="0 0 3.141592653589793"/><axis xyz="0 0 2"/><dynamics damping="0.5" friction="0.25"/>
           <limit lower="-1" upper="2" effort="30" velocity="4"/><mimic joint="j" multiplier="-2" offset="0.1"/>
           <safety_controller k_velocity="1"/><calibration rising="0"/>"#,
    );
    let joint = model(&text).joints.remove(1);
    assert_eq!(joint.kind, JointType::Prismatic);
    assert_eq!(joint.parent_placement.p, [1.0, 2.0, 3.0]);
    assert!((joint.parent_placement.q[3] - 1.0).abs() < 1e-15, "{:?}", joint.parent_placement.q);
    assert_eq!(joint.axis, Some([0.0, 0.0, 2.0]));
    assert_eq!((joint.damping.at(0), joint.friction.at(0)), (0.5, 0.25));
    let limits = joint.limits.unwrap();
    assert_eq!((limits.lower.unwrap().at(0), limits.upper.unwrap().at(0)), (-1.0, 2.0));
    assert_eq!((limits.effort, limits.velocity), (Some(30.0), Some(4.0)));
    let mimic = joint.mimic.unwrap();
    assert_eq!((mimic.joint.as_str(), mimic.multiplier, mimic.offset), ("j", -2.0, 0.1));
}

#[test]
fn a_quaternion_of_urdf_1_1_has_w_last() {
    let joint = joint_with("<origin quat_xyzw=\"0 0 0.6 0.8\"/>");
    assert_eq!(joint.parent_placement.q, [0.8, 0.0, 0.0, 0.6]);
}

#[test]
fn an_infinite_bound_is_no_bound() {
    let text = TWO_LINKS
        .replace("continuous", "prismatic")
        .replace("EXTRA", "<limit lower=\"-inf\" upper=\"1\" effort=\"inf\" velocity=\"1\"/>");
    let limits = model(&text).joints.remove(1).limits.unwrap();
    assert_eq!((limits.lower.is_none(), limits.upper.unwrap().at(0), limits.effort), (true, 1.0, None));
}

#[test]
fn the_root_link_is_welded_to_the_world_or_floats() {
    let text = TWO_LINKS.replace("EXTRA", "").replace("name=\"j\"", "name=\"root_joint\"");
    let fixed = model(&text);
    let root = &fixed.joints[0];
    assert_eq!((root.kind, root.parent.as_str(), root.child.as_str()), (JointType::Fixed, "world", "a"));
    assert_eq!(root.name, "_root_joint");
    let options = UrdfOptions { base: UrdfBase::Floating, ..UrdfOptions::default() };
    let floating = read_urdf(&text, Path::new("r.urdf"), &options).description.unwrap();
    assert_eq!(floating.joints[0].kind, JointType::Floating);
}

#[test]
fn a_root_link_named_world_is_the_ground() {
    let text = TWO_LINKS.replace("EXTRA", "").replace("\"a\"", "\"world\"");
    let model = model(&text);
    assert_eq!(model.bodies.len(), 1);
    assert_eq!((model.joints.len(), model.joints[0].parent.as_str()), (1, "world"));
    // Asked to float, it says that it does not.
    let options = UrdfOptions { base: UrdfBase::Floating, ..UrdfOptions::default() };
    let reading = read_urdf(&text, Path::new("r.urdf"), &options);
    assert!(!reading.has_errors() && reading.diagnostics.len() == 1);
}

#[test]
fn shapes_and_colours_are_kept() {
    let text = r#"<robot name="r">
      <material name="red"><color rgba="1 0 0 1"/></material>
      <link name="a">
        <visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
        <visual><geometry><sphere radius="0.5"/></geometry><material name=""><color rgba="0 1 0 0.5"/></material></visual>
        <visual><geometry><cylinder radius="0.1" length="2"/></geometry></visual>
        <visual><geometry><capsule radius="0.1" length="2"/></geometry></visual>
        <collision><geometry><box size="1 1 1"/></geometry></collision>
      </link></robot>"#;
    let visuals = &model(text).bodies[0].visuals;
    assert_eq!(visuals.len(), 4);
    assert_eq!(visuals[0].shape, Shape::Box { size: [1.0, 2.0, 3.0] });
    assert_eq!((visuals[0].placement.p, visuals[0].rgba), ([0.0, 0.0, 1.0], Some([1.0, 0.0, 0.0, 1.0])));
    assert_eq!(visuals[1].rgba, Some([0.0, 1.0, 0.0, 0.5]));
    assert_eq!(visuals[3].shape, Shape::Capsule { radius: 0.1, length: 2.0 });
}

#[test]
fn a_defect_in_a_visual_or_collision_is_a_warning() {
    let defects = [
        "<visual/>",
        "<visual><geometry/></visual>",
        "<visual><geometry><mesh/></geometry></visual>",
        "<visual><geometry><mesh filename=\"\"/></geometry></visual>",
        "<visual><geometry><box size=\"1 2\"/></geometry></visual>",
        "<visual><geometry><box/></geometry></visual>",
        "<visual><geometry><sphere radius=\"-1\"/></geometry></visual>",
        "<visual><origin xyz=\"a b c\"/><geometry><sphere radius=\"1\"/></geometry></visual>",
        "<visual><geometry><sphere radius=\"1\"/></geometry><material name=\"ghost\"/></visual>",
        "<visual><geometry><sphere radius=\"1\"/><box size=\"1 1 1\"/></geometry></visual>",
        "<collision><geometry><cylinder radius=\"nan\" length=\"1\"/></geometry></collision>",
        "<visual><geometry><mesh filename=\"package://nowhere/a.stl\"/></geometry></visual>",
    ];
    for defect in defects {
        let reading = read(&format!("<robot name=\"r\"><link name=\"a\">{defect}</link></robot>"));
        assert!(!reading.has_errors() && reading.description.is_some(), "{defect}");
        assert_eq!(reading.diagnostics.len(), 1, "{defect}: {:?}", reading.diagnostics);
        assert_eq!(reading.diagnostics[0].at.as_ref().unwrap().line, 1);
    }
}

#[test]
fn what_is_not_known_is_named_once() {
    let text = r#"<robot name="r">
      <lnik name="x"/><lnik name="y"/>
      <link name="a"/><link name="b"><inertal/></link>
      <joint name="j" type="continuous"><parent link="a"/><child link="b"/><dynamics dampng="1"/></joint>
      <gazebo reference="a"><anything/></gazebo><transmission name="t"/>
      <gazebo><joint name="closure" type="revolute"/></gazebo>
      stray words
    </robot>"#;
    let reading = read(text);
    assert!(!reading.has_errors());
    let said: Vec<String> =
        reading.diagnostics.iter().map(|d| format!("{} | {}", d.message, d.remedy)).collect();
    assert_eq!(said.len(), 5, "{said:#?}");
    assert!(said[0].contains("`<lnik>`") && said[0].contains("`link`"), "{said:#?}");
    assert!(said[1].contains("`<inertal>`") && said[1].contains("`inertial`"));
    assert!(said[2].contains("`dampng`") && said[2].contains("`damping`"));
    assert!(said[3].contains("`closure` inside `<gazebo>`") && said[3].contains("loop"));
    assert!(said[4].contains("text inside `<robot>`"));
}

#[test]
fn meshes_are_found_beside_the_file_and_in_packages() {
    let folder = std::env::temp_dir().join(format!("leastaction-meshes-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("ws/arm_description/meshes")).unwrap();
    std::fs::create_dir_all(folder.join("ws/arm_description/urdf")).unwrap();
    std::fs::create_dir_all(folder.join("elsewhere/hand/meshes")).unwrap();
    for file in
        ["ws/arm_description/meshes/a.stl", "ws/arm_description/urdf/b.stl", "elsewhere/hand/meshes/c.stl"]
    {
        std::fs::write(folder.join(file), "").unwrap();
    }
    let names = [
        "package://arm_description/meshes/a.stl",
        "b.stl",
        "package://hand/meshes/c.stl",
        "package://ghost/d.stl",
    ];
    let visuals: String = names
        .iter()
        .map(|n| format!("<visual><geometry><mesh filename=\"{n}\" scale=\"1 1 2\"/></geometry></visual>"))
        .collect();
    let text = format!("<robot name=\"r\"><link name=\"a\">{visuals}</link></robot>");
    // The second search path is the package itself.
    for search in ["elsewhere", "elsewhere/hand"] {
        let options = UrdfOptions { search_paths: vec![folder.join(search)], ..UrdfOptions::default() };
        let reading = read_urdf(&text, &folder.join("ws/arm_description/urdf/arm.urdf"), &options);
        assert_eq!(reading.diagnostics.len(), 1, "{:?}", reading.diagnostics);
        assert!(reading.diagnostics[0].message.contains("package://ghost/d.stl"));
        let files: Vec<String> = reading.description.unwrap().bodies[0]
            .visuals
            .iter()
            .map(|v| match &v.shape {
                Shape::Mesh { file, scale } if *scale == [1.0, 1.0, 2.0] => file.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert!(files[..3].iter().all(|f| Path::new(f).is_file()), "{files:?}");
        assert_eq!(files[3], names[3]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// Largest difference of two models that agree in everything but the rounding of rotations.
fn distance(a: &ModelDescription, b: &ModelDescription) -> f64 {
    let placement = |a: &Placement, b: &Placement| {
        let sign = if (0..4).map(|i| a.q[i] * b.q[i]).sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
        let p = (0..3).map(|i| (a.p[i] - b.p[i]).abs()).fold(0.0, f64::max);
        (0..4).map(|i| (a.q[i] - sign * b.q[i]).abs()).fold(p, f64::max)
    };
    let (mut a, mut b) = (without_origins(a.clone()), without_origins(b.clone()));
    let mut worst = 0.0f64;
    for (x, y) in a.joints.iter_mut().zip(&mut b.joints) {
        worst = worst.max(placement(&x.parent_placement, &y.parent_placement));
        x.parent_placement = y.parent_placement;
    }
    for (x, y) in a.bodies.iter_mut().zip(&mut b.bodies) {
        for (x, y) in x.visuals.iter_mut().zip(&mut y.visuals) {
            worst = worst.max(placement(&x.placement, &y.placement));
            x.placement = y.placement;
        }
    }
    assert_eq!(a, b);
    worst
}

#[test]
fn what_is_written_reads_back_as_it_was() {
    let text = r#"<robot name="a &amp; &quot;b&quot;">
      <link name="base"><visual><origin xyz="0 0 1" rpy="0.1 1.5708 0.3"/><geometry><box size="1 2 3"/></geometry>
        <material name="m"><color rgba="1 0.5 0 1"/></material></visual></link>
      <link name="a"><inertial><origin xyz="0.1 0 0" rpy="0.1 0.2 0.3"/><mass value="1.25"/>
        <inertia ixx="1" iyy="2" izz="2.5" ixy="0.1" ixz="0.2" iyz="0.3"/></inertial>
        <visual><geometry><mesh filename="package://x/y.stl" scale="2 2 2"/></geometry></visual></link>
      <link name="b"/><link name="c"/><link name="d"/><link name="e"/>
      <joint name="j1" type="revolute"><origin xyz="0 0 1e-7" rpy="1 -1.5707963 2"/><parent link="base"/><child link="a"/>
        <axis xyz="0.6 0 0.8"/><limit lower="-1" upper="1" effort="10" velocity="2"/>
        <dynamics damping="0.1" friction="0.2"/></joint>
      <joint name="j2" type="prismatic"><parent link="a"/><child link="b"/><limit lower="0" upper="1" effort="1" velocity="1"/>
        <mimic joint="j1" multiplier="2" offset="0.3333333333333333"/></joint>
      <joint name="j3" type="planar"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/></joint>
      <joint name="j4" type="floating"><parent link="c"/><child link="d"/></joint>
      <joint name="j5" type="continuous"><origin rpy="0 0 3.14159"/><parent link="d"/><child link="e"/>
        <limit effort="5" velocity="6"/></joint></robot>"#;
    let first = read(text).description.unwrap();
    let (written, lost) = write_urdf(&first);
    assert!(lost.is_empty(), "{lost:?}");
    let again = read(&written).description.unwrap();
    assert!(distance(&first, &again) < 2e-15, "{}", distance(&first, &again));
}

/// Bodies move to the frames URDF wants; the mechanics must not notice.
#[test]
fn bodies_in_other_frames_and_joints_turned_round_keep_their_mechanics() {
    let kinds = [
        JointType::Fixed,
        JointType::Revolute,
        JointType::Continuous,
        JointType::Prismatic,
        JointType::Planar,
        JointType::Floating,
    ];
    for seed in 0..8 {
        let mut model = random_tree(seed, 12, &kinds);
        for (i, joint) in model.joints.iter_mut().enumerate() {
            let turns =
                matches!(joint.kind, JointType::Revolute | JointType::Continuous | JointType::Prismatic);
            if turns && i % 2 == 1 {
                std::mem::swap(&mut joint.parent, &mut joint.child);
                std::mem::swap(&mut joint.parent_placement, &mut joint.child_placement);
            }
        }
        let (written, lost) = write_urdf(&model);
        assert!(lost.iter().all(|d| d.severity == Severity::Warning), "{lost:?}");
        let ours = MechanismBuilder::from(model).build().unwrap();
        let theirs = MechanismBuilder::from(read(&written).description.unwrap()).build().unwrap();
        assert_eq!((ours.nq(), ours.nv()), (theirs.nq(), theirs.nv()));
        let (q, v) = random_state(&ours, seed + 100);
        let a = random_vector(ours.nv(), seed + 200);
        let evaluate = |mechanism: &Mechanism| {
            let n = mechanism.nv();
            let (mut mass, mut tau) = (vec![0.0; n * n], vec![0.0; n]);
            let mut dynamics = Dynamics::<f64>::new(mechanism);
            dynamics.mass_matrix_into(mechanism, &q, &mut mass);
            dynamics.inverse_dynamics_into(mechanism, &q, &v, &a, &mut tau);
            (mass, tau)
        };
        let ((mass_1, tau_1), (mass_2, tau_2)) = (evaluate(&ours), evaluate(&theirs));
        // Round-off of a dozen composed placements.
        assert!(worst(&mass_2, &mass_1) < 1e-13 && worst(&tau_2, &tau_1) < 1e-13, "seed {seed}");
    }
}

#[test]
fn what_urdf_cannot_hold_is_said() {
    let text = r#"{"schema": "leastaction/model/1", "name": "m", "gravity": [0, 0, -1.62], "wind": [1, 0, 0], "inputs": ["u"],
      "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1, 0, 0, 0], "drag": 0.1,
                  "thrusters": [{"input": "u", "wrench": [0, 0, 0, 0, 0, 1]}],
                  "visuals": [{"shape": {"type": "ellipsoid", "radii": [1, 1, 2]}}]},
                 {"name": "b", "mass": 1, "inertia": [1, 1, 1, 0, 0, 0]}, {"name": "c", "mass": 1, "inertia": [1, 1, 1, 0, 0, 0]}],
      "joints": [{"name": "j1", "type": "revolute", "parent": "world", "child": "a", "spring": {"stiffness": 2},
                  "armature": 0.1, "actuators": [{"input": "u"}]},
                 {"name": "j2", "type": "spherical", "parent": "a", "child": "b"},
                 {"name": "j3", "type": "prismatic", "parent": "a", "child": "c"},
                 {"name": "j4", "type": "revolute", "parent": "c", "child": "world", "role": "loop"}],
      "constraints": [{"type": "knife_edge", "name": "k", "body": "a", "direction": [1, 0, 0]}],
      "couplings": [{"joint": "j1", "polynomial": [0, 1]}],
      "frames": [{"name": "f", "body": "a"}], "states": {"s": {}}}"#;
    let model = read_model_json(text, Path::new("m.json")).description.unwrap();
    let (_, lost) = write_urdf(&model);
    let said: Vec<String> = lost.iter().map(|d| format!("{}: {}", d.element, d.message)).collect();
    for what in [
        "gravity: ",
        "wind: ",
        "inputs: ",
        "constraints: ",
        "couplings: ",
        "frames: ",
        "states: ",
        "body `a`: URDF can't hold drag",
        "thrusters",
        "ellipsoid",
        "springs",
        "armature",
        "actuators",
        "URDF has no spherical joint",
        "a joint that closes a loop",
        "joint `j3`: URDF can't hold a prismatic joint without `lower` limit",
    ] {
        assert!(said.iter().any(|s| s.contains(what)), "{what}: {said:#?}");
    }
    let errors: Vec<&str> =
        lost.iter().filter(|d| d.severity == Severity::Error).map(|d| d.element.as_str()).collect();
    assert_eq!(errors, ["joint `j2`"]);
    assert!(lost.iter().all(|d| !d.remedy.is_empty()));
}

#[test]
fn elements_of_other_namespaces_are_not_taken_for_ours() {
    let text = TWO_LINKS.replace("EXTRA", "").replace(
        "<robot name=\"r\">",
        "<robot name=\"r\" xmlns:drake=\"http://drake.mit.edu\"><drake:link name=\"x\"/><drake:joint name=\"y\"/>",
    );
    let reading = read(&text);
    assert_eq!(reading.diagnostics.len(), 2, "{:?}", reading.diagnostics);
    assert!(reading.diagnostics[0].message.contains("`<drake:link>`"));
    assert_eq!(reading.description.unwrap().bodies.len(), 2);
    // A namespace for the whole file changes nothing.
    let whole = TWO_LINKS.replace("EXTRA", "").replace("<robot ", "<robot xmlns=\"http://drake.mit.edu\" ");
    assert_eq!(model(&whole).bodies.len(), 2);
}

/// Names are kept in hash maps with seeds of their own; nothing may come out in their order.
#[test]
fn the_same_text_always_gives_the_same_model_and_messages() {
    let mut text = String::from("<robot name=\"r\">");
    for i in 0..40 {
        text.push_str(&format!("<link name=\"l{}\"/><odd{i}/>", i % 30));
        text.push_str(&format!(
            "<joint name=\"j{i}\" type=\"fixed\"><parent link=\"l{i}\"/><child link=\"l{}\"/></joint>",
            i * 7 % 35
        ));
    }
    text.push_str("</robot>");
    let first = read(&text);
    assert!(first.has_errors());
    for _ in 0..20 {
        let again = read(&text);
        assert_eq!(again.description, first.description);
        assert_eq!(again.diagnostics, first.diagnostics);
    }
}

#[test]
fn links_without_inertia_are_weighed_by_their_shapes_where_a_density_is_given() {
    let text = "<robot name='r'><link name='base'/><link name='arm'>\
        <visual><geometry><sphere radius='9'/></geometry></visual>\
        <collision><origin xyz='0 0 1'/><geometry><box size='0.1 0.2 0.3'/></geometry></collision></link>\
        <joint name='j' type='continuous'><parent link='base'/><child link='arm'/><axis xyz='1 0 0'/></joint></robot>";
    let options = UrdfOptions { density: Some(500.0), ..UrdfOptions::default() };
    let reading = read_urdf(text, Path::new("r.urdf"), &options);
    let arm = &reading.description.as_ref().unwrap().bodies[1];
    assert!((arm.mass - 3.0).abs() < 1e-14 && arm.com == [0.0, 0.0, 1.0], "{arm:?}");
    assert!((arm.inertia[0] - 3.0 * (0.04 + 0.09) / 12.0).abs() < 1e-15, "{arm:?}");
    // What is drawn does not depend on what was weighed.
    let shapes = |view| {
        let options = UrdfOptions { view, ..UrdfOptions::default() };
        let reading = read_urdf(text, Path::new("r.urdf"), &options);
        reading.description.unwrap().bodies[1].visuals.len()
    };
    assert_eq!([View::Visual, View::Collision, View::Both].map(shapes), [1, 1, 2]);
}
