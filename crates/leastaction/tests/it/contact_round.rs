//! Cylinders and ellipsoids that touch boxes, capsules, hulls and each other.

use leastaction::integrator::maximal::{Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator, StepError};
use leastaction::mechanism::{
    BodyDescription, Coordinates, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription,
    Placement, StateDescription, SurfaceDescription, SurfaceShape, WORLD, samples,
};

const STEP: f64 = 0.005;
const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];
/// The long axis along y.
const LYING: [f64; 4] = [std::f64::consts::FRAC_1_SQRT_2, -std::f64::consts::FRAC_1_SQRT_2, 0.0, 0.0];
/// The long axis along x.
const ALONG: [f64; 4] = [std::f64::consts::FRAC_1_SQRT_2, 0.0, std::f64::consts::FRAC_1_SQRT_2, 0.0];

/// A bed of fixed shapes, with their placements, and one free body.
struct Run {
    engine: Maximal,
    mechanism: Mechanism,
    workspace: MaximalWorkspace,
    state: MaximalState,
}

impl Run {
    fn new(
        bed: &[(SurfaceShape, [f64; 4], [f64; 3])],
        shape: SurfaceShape,
        q: [f64; 4],
        x: [f64; 3],
        v: [f64; 3],
    ) -> Self {
        let mut model = ModelDescription::new("bed");
        for (shape, q, p) in bed {
            let mut surface = SurfaceDescription::new(WORLD, shape.clone());
            surface.placement = Placement { p: *p, q: *q };
            model.surfaces.push(surface);
        }
        model.bodies.push(BodyDescription {
            name: "body".into(),
            mass: 1.0,
            inertia: [0.012, 0.012, 0.014, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        model.surfaces.push(SurfaceDescription::new("body", shape));
        model.joints.push(JointDescription::new("free", JointType::Floating, WORLD, "body"));
        let mut start = StateDescription::default();
        let pose: Vec<f64> = q.iter().chain(&x).copied().collect();
        start.q.insert("free".into(), Coordinates::from(pose.as_slice()));
        start.v.insert("free".into(), Coordinates::from([0.0, 0.0, 0.0, v[0], v[1], v[2]].as_slice()));
        model.states.insert(samples::START.into(), start);
        let mechanism = MechanismBuilder::from(model).build().expect("a sound scene");
        let engine = Maximal::default();
        let mut workspace = engine.workspace(&mechanism).expect("served");
        let state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("a start");
        Self { engine, mechanism, workspace, state }
    }

    fn try_steps(&mut self, steps: usize) -> Result<(), StepError> {
        for _ in 0..steps {
            let input = Input { u: &[] };
            self.engine.step(&self.mechanism, &mut self.workspace, &mut self.state, input, STEP)?;
        }
        Ok(())
    }

    fn steps(&mut self, name: &str, steps: usize) {
        self.try_steps(steps).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    fn body(&mut self) -> ([f64; 3], [f64; 3]) {
        let seen = self.workspace.snapshot(&self.state);
        (seen[0].x.0, seen[0].v.0)
    }

    fn energy(&mut self) -> f64 {
        let (kinetic, potential) = self.workspace.energy(&self.state);
        kinetic + potential
    }
}

fn cylinder(radius: f64, length: f64) -> SurfaceShape {
    SurfaceShape::Cylinder { radius, length }
}

fn slab(z: f64) -> (SurfaceShape, [f64; 4], [f64; 3]) {
    (SurfaceShape::Box { size: [6.0, 1.0, 0.1] }, UPRIGHT, [0.0, 0.0, z - 0.05])
}

#[test]
fn what_slides_on_a_box_comes_to_roll_as_a_boule_does() {
    let radius = 0.1;
    for (name, shape) in [
        ("cylinder", cylinder(radius, 0.3)),
        ("ellipsoid", SurfaceShape::Ellipsoid { radii: [radius, radius, 0.2] }),
    ] {
        let mut run = Run::new(&[slab(0.0)], shape, LYING, [-2.0, 0.0, radius], [1.2, 0.0, 0.0]);
        run.steps(name, 400);
        let (x, v) = run.body();
        // Friction takes what momentum about the line of contact does not keep.
        let rolling = 1.2 / (1.0 + 0.014 / (radius * radius));
        assert!((v[0] - rolling).abs() < 1e-9 && v[1].abs() < 1e-9, "{name}: {v:?} {rolling}");
        assert!((x[2] - radius).abs() < 1e-9, "{name}: {x:?}");
    }
}

#[test]
fn a_cylinder_across_two_boxes_and_between_two_cylinders_rests_at_its_true_height() {
    let radius = 0.1;
    // Over the edges of two beams, which its axis crosses.
    let beam = |x: f64| (SurfaceShape::Box { size: [0.04, 0.5, 0.1] }, UPRIGHT, [x, 0.0, -0.05]);
    let mut run =
        Run::new(&[beam(-0.1), beam(0.1)], cylinder(radius, 0.4), ALONG, [0.0, 0.0, 0.11], [0.0; 3]);
    run.steps("on beams", 200);
    let (x, v) = run.body();
    assert!((x[2] - radius).abs() < 1e-9 && v[2].abs() < 1e-9, "{x:?} {v:?}");
    // Side by side with two that lie a little apart.
    let rail = |x: f64| (cylinder(0.05, 0.6), LYING, [x, 0.0, 0.0]);
    let height = (0.15f64 * 0.15 - 0.08 * 0.08).sqrt();
    let mut run =
        Run::new(&[rail(-0.08), rail(0.08)], cylinder(radius, 0.3), LYING, [0.0, 0.0, 0.14], [0.0; 3]);
    run.steps("on rails", 400);
    let (x, v) = run.body();
    assert!((x[2] - height).abs() < 1e-8 && v[2].abs() < 1e-8, "{x:?} {v:?} {height}");
}

#[test]
fn cylinders_and_ellipsoids_fall_through_nothing() {
    let points = |size: [f64; 3]| SurfaceShape::Points {
        points: (0..8u32)
            .map(|k| std::array::from_fn(|i| if k >> i & 1 == 1 { 0.5 * size[i] } else { -0.5 * size[i] }))
            .collect(),
    };
    let rails = |shape: &SurfaceShape| {
        vec![(shape.clone(), LYING, [-0.08, 0.0, -0.05]), (shape.clone(), LYING, [0.08, 0.0, -0.05])]
    };
    let beds = [
        ("box", vec![slab(0.0)]),
        ("hull", vec![(points([2.0, 2.0, 0.1]), UPRIGHT, [0.0, 0.0, -0.05])]),
        ("drum", vec![(cylinder(1.0, 0.1), UPRIGHT, [0.0, 0.0, -0.05])]),
        ("ellipsoid", vec![(SurfaceShape::Ellipsoid { radii: [1.0, 1.0, 0.4] }, UPRIGHT, [0.0, 0.0, -0.4])]),
        ("capsules", rails(&SurfaceShape::Capsule { radius: 0.05, length: 2.0 })),
        ("cylinders", rails(&cylinder(0.05, 2.0))),
    ];
    let mut unsolved = Vec::new();
    let tilted = [0.8, 0.4, 0.4, 0.2];
    for (name, bed) in &beds {
        for shape in
            [cylinder(0.1, 0.3), cylinder(0.15, 0.05), SurfaceShape::Ellipsoid { radii: [0.1, 0.14, 0.2] }]
        {
            for q in [UPRIGHT, LYING, tilted] {
                let what = format!("{shape:?} at {q:?} on {name}");
                let mut run = Run::new(bed, shape.clone(), q, [0.01, 0.02, 0.3], [0.0; 3]);
                let before = run.energy();
                if let Err(error) = run.try_steps(160) {
                    unsolved.push(format!("{what}: {error}"));
                }
                let (x, _) = run.body();
                // What has rolled off the rails has not fallen through them.
                let wide = if bed.len() == 2 { 0.2 } else { 0.6 };
                let beside = x[0].abs() > wide || x[1].abs() > 0.6;
                // The least height that any of the three has at its middle: on its face, on its side, between the rails.
                assert!(beside || x[2] > 0.01, "{what}: {x:?}");
                assert!(run.energy() <= before + 1e-3, "{what}: {} {before}", run.energy());
            }
        }
    }
    assert!(unsolved.is_empty(), "{unsolved:#?}");
}
