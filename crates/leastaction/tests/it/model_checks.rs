//! What the builder accepts, warns of and refuses, whatever file a model came from.

use leastaction::mechanism::samples;
use leastaction::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointType, Mechanism, MechanismBuilder, MimicDescription,
    ModelDescription, StateDescription,
};

/// One hinge with a body of this mass and inertia.
fn hinge(mass: f64, inertia: [f64; 6]) -> MechanismBuilder {
    let mut builder = MechanismBuilder::new("one");
    builder.body(BodyDescription { name: "b".into(), mass, inertia, ..Default::default() });
    builder.joint(JointDescription::new("j", JointType::Revolute, "world", "b"));
    builder
}

/// What the builder says: the first error or warning.
fn said(builder: &MechanismBuilder) -> String {
    match builder.build_with_warnings() {
        Ok((_, warnings)) => warnings.first().map_or(String::new(), |w| format!("warning: {w}")),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn small_bodies_need_a_positive_inertia_too() {
    for scale in [1.0, 1e-3, 1e-12, 1e-100, 1e100] {
        let inertia = [1.0, 1.0, 1.0, 5.0, 0.0, 0.0].map(|x| x * scale);
        for mass in [1e6 * scale, scale] {
            let said = said(&hinge(mass, inertia));
            assert!(
                said.starts_with("error: body `b`: inertia") && said.contains("semidefinite"),
                "{scale}: {said}"
            );
        }
    }
    assert_eq!(said(&hinge(1.0, [0.1, 0.1, 0.1, -5e-20, 3e-19, 0.0])), "");
    assert_eq!(said(&hinge(1.0, [-5e-20, 0.1, 0.1, 0.0, 0.0, 0.0])), "");
    assert_eq!(said(&hinge(1.0, [0.0, 0.0, -5e-20, 1e-19, 0.0, 0.0])), "");
}

#[test]
fn the_triangle_inequality_holds_for_principal_moments() {
    // 0.2, 0.2 and 1, turned by 45° about x: no entry of the diagonal gives it away.
    let turned = [0.2, 0.6, 0.6, 0.0, 0.0, 0.4];
    let said = |mass, inertia| said(&hinge(mass, inertia));
    assert!(said(1.0, turned).contains("violate the triangle inequality"), "{}", said(1.0, turned));
    assert!(said(1e-6, turned.map(|x| x * 1e-12)).contains("violate the triangle inequality"));
    // A thin rod turned the same way, rounded to seven digits.
    assert_eq!(said(1.0, [0.3333333, 0.1666667, 0.1666667, 0.0, 0.0, -0.1666667]), "");
}

/// Two bodies on joints of these names and kinds.
fn two(a: (&str, JointType), b: (&str, JointType)) -> MechanismBuilder {
    let mut builder = MechanismBuilder::new("two");
    for (body, (joint, kind)) in [("a", a), ("b", b)] {
        let inertia = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
        builder.body(BodyDescription { name: body.into(), mass: 1.0, inertia, ..Default::default() });
        builder.joint(JointDescription::new(joint, kind, "world", body));
    }
    builder
}

#[test]
fn no_two_columns_of_a_trajectory_have_one_name() {
    use JointType::{Planar, Prismatic, Revolute, Spherical};
    let message = said(&two(("j", Spherical), ("j.w", Revolute)));
    let expected = "error: joint `j.w`: a coordinate of the spherical joint `j` has the same name (rename one of the \
                    two joints: their columns of a trajectory could not be told apart)";
    assert_eq!(message, expected);
    for (a, b, fine) in [
        (("a_floating.px", Prismatic), ("a", Revolute), true),
        (("j", Revolute), ("j.w", Revolute), true),
        (("j", Spherical), ("j.q", Revolute), true),
        (("j", Spherical), ("j.w", Spherical), true),
        (("j.x", Revolute), ("j", Planar), false),
    ] {
        assert_eq!(said(&two(a, b)).is_empty(), fine, "{a:?} {b:?}");
        let built: Option<Mechanism> = two(a, b).build().ok();
        let mut labels: Vec<String> =
            built.iter().flat_map(|m| [m.q_labels(), m.v_labels()].concat()).collect();
        labels.sort();
        labels.dedup();
        let width = built.map_or(0, |m| m.nq().max(m.nv()));
        assert!(labels.len() >= width, "{a:?} {b:?}: {labels:?}");
    }
}

#[test]
fn a_quaternion_that_is_no_rotation_is_refused_wherever_it_stands() {
    let model = samples::ball_chain(1);
    let joint = model.joints[0].name.clone();
    let state = |q: [f64; 4]| StateDescription {
        q: [(joint.clone(), Coordinates::from(&q[..]))].into(),
        ..Default::default()
    };
    let mechanism = MechanismBuilder::from(model.clone()).build().unwrap();
    for (q, fine) in [
        ([2.0, 0.0, 0.0, 0.0], false),
        ([0.0; 4], false),
        ([0.7072, 0.7070, 0.0, 0.0], true),
        ([1.0, 0.0, 0.0, 0.0], true),
    ] {
        assert_eq!(mechanism.state_from(&state(q)).is_ok(), fine, "{q:?}");
        let named = ModelDescription { states: [("start".into(), state(q))].into(), ..model.clone() };
        assert_eq!(MechanismBuilder::from(named).build().is_ok(), fine, "{q:?}");
    }
}

#[test]
fn a_mimic_on_a_fixed_joint_is_nothing() {
    let mut builder = two(("a", JointType::Revolute), ("b", JointType::Fixed));
    builder.description_mut().joints[1].mimic =
        Some(MimicDescription { joint: "nobody".into(), multiplier: 1.0, offset: 0.0 });
    let (mechanism, warnings) = builder.build_with_warnings().unwrap();
    assert!(mechanism.joints().iter().all(|joint| joint.mimic.is_none()));
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].message.contains("does nothing"));
}

#[test]
fn long_chains_of_mimics_are_followed_once() {
    let mut model = samples::chain(100_000);
    let names: Vec<String> = model.joints.iter().map(|joint| joint.name.clone()).collect();
    for (joint, leader) in model.joints.iter_mut().skip(1).zip(&names) {
        joint.mimic = Some(MimicDescription { joint: leader.clone(), multiplier: 1.0, offset: 0.0 });
    }
    assert!(MechanismBuilder::from(model.clone()).build().is_ok());
    model.joints[0].mimic =
        Some(MimicDescription { joint: names[99_999].clone(), multiplier: 1.0, offset: 0.0 });
    let error = MechanismBuilder::from(model).build().unwrap_err();
    assert!(error.problems[0].message.contains("in a circle"));
    assert!(error.problems.last().unwrap().message.contains("99900 more errors"), "{error}");
}
