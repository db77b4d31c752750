//! The small print of files: what is rarely written, and what is told when it can't be kept.

use std::path::Path;

use leastaction::io::mjcf::write_mjcf;
use leastaction::io::{LoadOptions, Reading, UrdfOptions, read_model, read_urdf, write_sdf};
use leastaction::mechanism::{
    FrameDescription, JointType, ModelDescription, PerCoordinate, Placement, Shape, Visual, WORLD, samples,
};

fn said(reading: &Reading) -> String {
    reading.diagnostics.iter().map(|d| format!("{d}\n")).collect()
}

fn urdf(text: &str, surfaces: bool) -> Reading {
    read_urdf(text, Path::new("r.urdf"), &UrdfOptions { surfaces, ..UrdfOptions::default() })
}

#[test]
fn dynamics_of_free_and_planar_joints_of_a_urdf_are_told_only_where_there_are_any() {
    let robot = |dynamics: &str| {
        format!(
            "<robot name='r'><link name='a'/><joint name='j' type='floating'><parent link='a'/><child link='b'/>{dynamics}</joint>\
             <link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link></robot>"
        )
    };
    let told = |dynamics: &str| {
        said(&urdf(&robot(dynamics), false)).contains("`<dynamics>` of a floating joint is not read")
    };
    assert!(!told("") && !told("<dynamics damping='0' friction='0'/>"));
    assert!(told("<dynamics damping='1'/>") && told("<dynamics friction='1'/>"));
}

#[test]
fn friction_of_a_urdf_is_that_of_its_extensions() {
    let robot = |link: &str, shape: &str| {
        format!(
            "<robot name='r'><link name='a'>{link}<inertial><mass value='1'/>\
             <inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>\
             <collision><geometry><sphere radius='0.1'/></geometry>{shape}</collision></link></robot>"
        )
    };
    let friction = |link: &str, shape: &str| {
        let model: ModelDescription = urdf(&robot(link, shape), true).description.unwrap();
        (model.surfaces[0].friction, model.surfaces[0].restitution)
    };
    let usual = friction("", "");
    let contact = "<contact><lateral_friction value='0.3'/><restitution value='0.2'/></contact>";
    let own = friction(contact, "");
    assert_ne!(own, usual);
    assert_eq!(own, (0.3, 0.2));
    let drake = "<drake:proximity_properties xmlns:drake='d'><drake:mu_dynamic value='0.7'/></drake:proximity_properties>";
    assert_eq!(friction(contact, drake), (0.7, 0.2), "the shape's own goes first");
}

#[test]
fn a_range_of_zero_takes_an_inherited_limit_back_unless_it_must_hold() {
    let limits = |joint: &str| {
        let text = format!(
            "<mujoco><default><joint range='-10 10'/></default><worldbody><body name='b'><joint name='j' {joint}/>\
             <geom type='sphere' size='0.1'/></body></worldbody></mujoco>"
        );
        let reading = read_model(&text, Path::new("m.xml"), &LoadOptions::default()).unwrap();
        (reading.has_errors(), reading.description.map(|model| model.joints[0].limits.is_some()))
    };
    assert_eq!(limits(""), (false, Some(true)));
    assert_eq!(limits("range='0 0'"), (false, Some(false)));
    assert!(limits("range='0 0' limited='true'").0, "it is said that it can't hold");
}

#[test]
fn the_range_of_a_ball_is_an_angle_in_the_unit_of_the_file() {
    let upper = |compiler: &str, range: &str| {
        let text = format!(
            "<mujoco><compiler {compiler}/><worldbody><body name='b'><joint name='j' type='ball' range='{range}'/>\
             <geom type='sphere' size='0.1'/></body></worldbody></mujoco>"
        );
        let reading = read_model(&text, Path::new("m.xml"), &LoadOptions::default()).unwrap();
        reading.description.unwrap().joints[0].limits.clone().unwrap().upper
    };
    assert_eq!(upper("angle='radian'", "0 1.25"), Some(PerCoordinate::One(1.25)));
    let Some(PerCoordinate::One(degrees)) = upper("angle='degree'", "0 60") else { panic!("no limit") };
    assert!((degrees - 60f64.to_radians()).abs() < 1e-15, "{degrees}");
}

#[test]
fn a_pair_with_the_floor_touches_though_masks_say_no() {
    let contacts = |pair: &str| {
        let text = format!(
            "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' contype='0' conaffinity='0'/>\
             <body name='b' pos='0 0 1'><freejoint/><geom name='ball' type='sphere' size='0.1' contype='0' \
             conaffinity='0'/></body></worldbody><contact>{pair}</contact></mujoco>"
        );
        let mut reading = read_model(&text, Path::new("m.xml"), &LoadOptions::default()).unwrap();
        reading.build().expect("sound").contacts().len()
    };
    assert_eq!(contacts(""), 0);
    assert_eq!(contacts("<pair geom1='ball' geom2='floor'/>"), 1);
    assert_eq!(contacts("<pair geom1='ball' geom2='nothing'/>"), 0, "said, not made up");
}

#[test]
fn what_sdf_cannot_say_is_told_where_it_is_there() {
    let told = |change: fn(&mut ModelDescription), words: &str| {
        let mut model = samples::ball_chain(2);
        change(&mut model);
        write_sdf(&model).1.iter().any(|said| said.message.contains(words))
    };
    let ball = "of a ball joint";
    assert!(!told(|_| {}, ball));
    assert!(told(|model| model.joints[0].damping = PerCoordinate::One(0.1), ball));
    // A fixed joint has no axis either, and nothing to lose.
    assert!(!told(|model| model.joints[0].kind = JointType::Fixed, ball));
    let frame = |body: &str| FrameDescription {
        name: "f".into(),
        body: body.into(),
        placement: Placement::at([0.0; 3]),
    };
    let mut model = samples::chain(1);
    model.frames = vec![frame(WORLD)];
    assert!(write_sdf(&model).1.iter().any(|said| said.message.contains("a frame of the world")));
    model.frames = vec![frame(&model.bodies[0].name)];
    let (text, lost) = write_sdf(&model);
    assert!(text.contains("<frame name=\"f\"") && !lost.iter().any(|said| said.message.contains("frame")));
}

/// A mesh that is drawn twice is one asset of an MJCF; at another scale it is another.
#[test]
fn meshes_of_an_mjcf_are_written_once_for_each_scale() {
    let mut model = samples::chain(1);
    let mesh = |scale: f64| Visual {
        shape: Shape::Mesh { file: "part.stl".into(), scale: [scale; 3] },
        placement: Placement::at([0.0; 3]),
        rgba: None,
    };
    model.bodies[0].visuals = vec![mesh(1.0), mesh(1.0), mesh(0.5)];
    let text = write_mjcf(&model).0;
    assert_eq!(text.matches("<mesh ").count(), 2, "{text}");
    assert_eq!(text.matches("mesh=\"mesh0\"").count(), 2, "{text}");
    assert_eq!(text.matches("mesh=\"mesh1\"").count(), 1, "{text}");
}

/// The files that a reading came from can be asked for.
#[test]
fn a_reading_knows_its_files() {
    let reading = urdf("<robot name='r'><link name='a'/></robot>", false);
    assert_eq!(reading.sources.path(0), Some(Path::new("r.urdf")));
    assert_eq!(reading.sources.path(1), None);
}
