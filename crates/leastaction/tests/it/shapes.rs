//! What bodies look like survives every format that can say it.

use std::path::Path;

use leastaction::io::mjcf::write_mjcf;
use leastaction::io::{
    LoadOptions, UrdfOptions, View, read_model, read_urdf, write_model_json, write_sdf, write_urdf,
};
use leastaction::mechanism::{
    JointDescription, JointRole, ModelDescription, PerCoordinate, Placement, Shape, Visual, samples,
};

/// A pendulum whose rod is drawn as `shape`, out of the way and turned.
fn drawn(shape: &Shape) -> ModelDescription {
    let mut model = samples::chain(1);
    let placement = Placement { p: [0.1, -0.2, 0.3], q: [0.5, 0.5, -0.5, 0.5] };
    model.bodies[0].visuals =
        vec![Visual { shape: shape.clone(), placement, rgba: Some([0.25, 0.5, 0.75, 1.0]) }];
    model
}

#[test]
fn shapes_keep_their_sizes_places_and_colours() {
    let every = [
        Shape::Box { size: [0.1, 0.2, 0.3] },
        Shape::Sphere { radius: 0.07 },
        Shape::Cylinder { radius: 0.05, length: 0.4 },
        Shape::Capsule { radius: 0.05, length: 0.4 },
        Shape::Ellipsoid { radii: [0.1, 0.2, 0.3] },
    ];
    let mut lost = Vec::new();
    for shape in &every {
        let model = drawn(shape);
        let files = [
            ("m.json", write_model_json(&model), Vec::new()),
            ("m.urdf", write_urdf(&model).0, write_urdf(&model).1),
            ("m.xml", write_mjcf(&model).0, write_mjcf(&model).1),
            ("m.sdf", write_sdf(&model).0, write_sdf(&model).1),
        ];
        for (name, text, said) in files {
            let reading = read_model(&text, Path::new(name), &LoadOptions::default()).unwrap();
            let again = reading.description.unwrap_or_else(|| panic!("{name}: {:?}", reading.diagnostics));
            let body = again.bodies.iter().find(|body| body.name == model.bodies[0].name).unwrap();
            // What a format can't draw is told.
            if body.visuals.is_empty() {
                assert!(!said.is_empty(), "{shape:?} is lost in {name} without a word");
                lost.push((name, shape.clone()));
                continue;
            }
            let (found, wanted) = (&body.visuals[0], &model.bodies[0].visuals[0]);
            assert_eq!(sizes(&found.shape), sizes(shape), "{name}");
            assert_eq!(found.rgba, wanted.rgba, "{shape:?} in {name}");
            let away = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(away(&found.placement.p, &wanted.placement.p) < 1e-12, "{shape:?} in {name}");
            let quat = |sign: f64| away(&found.placement.q.map(|x| sign * x), &wanted.placement.q);
            assert!(quat(1.0).min(quat(-1.0)) < 1e-12, "{shape:?} in {name}: {:?}", found.placement.q);
        }
    }
    println!("{lost:?}");
    assert!(lost.iter().all(|(name, _)| *name == "m.urdf"), "{lost:?}");
}

fn sizes(shape: &Shape) -> (usize, Vec<i64>) {
    let (kind, sizes) = match shape {
        Shape::Box { size } => (0, size.to_vec()),
        Shape::Sphere { radius } => (1, vec![*radius]),
        Shape::Cylinder { radius, length } => (2, vec![*radius, *length]),
        Shape::Capsule { radius, length } => (3, vec![*radius, *length]),
        Shape::Ellipsoid { radii } => (4, radii.to_vec()),
        Shape::Mesh { .. } => (5, Vec::new()),
    };
    (kind, sizes.iter().map(|x| (x * 1e12).round() as i64).collect())
}

/// Shapes that are not drawn are read if they touch or give the mass.
#[test]
fn collisions_of_a_urdf_touch_and_weigh_where_they_are_asked_to() {
    let text = "<robot name='r'><link name='a'>\
        <visual><geometry><sphere radius='1'/></geometry></visual>\
        <collision><geometry><sphere radius='0.5'/></geometry></collision></link></robot>";
    let read = |surfaces: bool, density: Option<f64>| {
        let options = UrdfOptions { surfaces, density, ..UrdfOptions::default() };
        let reading = read_urdf(text, Path::new("r.urdf"), &options);
        reading.description.unwrap_or_else(|| panic!("{:?}", reading.diagnostics))
    };
    let volume = 4.0 / 3.0 * std::f64::consts::PI * 0.125;
    let weighed = read(false, Some(100.0));
    assert!((weighed.bodies[0].mass - 100.0 * volume).abs() < 1e-9);
    assert!(weighed.surfaces.is_empty());
    let touching = read(true, Some(100.0));
    assert_eq!(touching.surfaces.len(), 1);
    assert!((touching.bodies[0].mass - 100.0 * volume).abs() < 1e-9);
    assert_eq!(touching.bodies[0].visuals.len(), 1);
}

/// MJCF: what collides is not drawn over meshes that are there to be seen, and each view shows its own.
#[test]
fn geoms_of_an_mjcf_are_drawn_as_the_view_asks() {
    let text = "<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody><body name='b'><freejoint/>\
        <geom type='sphere' size='1'/><geom type='mesh' mesh='m' contype='0' conaffinity='0'/>\
        <geom type='box' size='1 1 1' group='4'/></body></worldbody></mujoco>";
    let drawn = |view: View| {
        let urdf = UrdfOptions { view, ..UrdfOptions::default() };
        let options = LoadOptions { urdf, ..LoadOptions::default() };
        let reading = read_model(text, Path::new("m.xml"), &options).unwrap();
        let model = reading.description.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let kinds = model.bodies[0].visuals.iter().map(|visual| match visual.shape {
            Shape::Sphere { .. } => 's',
            Shape::Box { .. } => 'b',
            Shape::Mesh { .. } => 'm',
            _ => '?',
        });
        kinds.collect::<String>()
    };
    assert_eq!([View::Visual, View::Collision, View::Both].map(drawn), ["m", "sb", "smb"]);
}

/// Elements on a loop joint are told when they are left out, and nothing is told where there are none.
#[test]
fn what_an_mjcf_cannot_say_of_a_loop_joint_is_told() {
    let said = |change: fn(&mut JointDescription)| {
        let mut model = samples::four_bar();
        let joint = model.joints.iter_mut().find(|joint| joint.role == Some(JointRole::Loop)).unwrap();
        change(joint);
        write_mjcf(&model)
            .1
            .iter()
            .filter(|said| said.message.contains("of loop joints are left out"))
            .count()
    };
    assert_eq!(said(|_| {}), 0);
    assert_eq!(said(|joint| joint.damping = PerCoordinate::One(1.0)), 1);
    assert_eq!(said(|joint| joint.friction = PerCoordinate::One(1.0)), 1);
    assert_eq!(said(|joint| joint.armature = PerCoordinate::One(1.0)), 1);
}
