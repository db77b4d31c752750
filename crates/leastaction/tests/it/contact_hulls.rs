//! Convex hulls that touch balls, capsules, boxes and each other.

use leastaction::integrator::maximal::{Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{
    BodyDescription, Coordinates, HalfSpaceDescription, JointDescription, JointType, Mechanism,
    MechanismBuilder, ModelDescription, StateDescription, SurfaceDescription, SurfaceShape, WORLD, samples,
};

use crate::no_alloc::allocations;

const STEP: f64 = 0.005;

struct Scene {
    model: ModelDescription,
    start: StateDescription,
}

impl Scene {
    fn new(normal: [f64; 3]) -> Self {
        let mut model = ModelDescription::new("scene");
        model.half_spaces.push(HalfSpaceDescription { normal, ..HalfSpaceDescription::ground() });
        Self { model, start: StateDescription::default() }
    }

    fn free(&mut self, shape: SurfaceShape, friction: f64, q: [f64; 4], x: [f64; 3], v: [f64; 6]) {
        let name = format!("body{}", self.model.bodies.len());
        let inertia = [0.010, 0.012, 0.014, 0.0, 0.0, 0.0];
        self.model.bodies.push(BodyDescription {
            name: name.clone(),
            mass: 1.0,
            inertia,
            ..Default::default()
        });
        let mut surface = SurfaceDescription::new(name.as_str(), shape);
        surface.friction = friction;
        self.model.surfaces.push(surface);
        let joint = format!("{name}_free");
        self.model.joints.push(JointDescription::new(joint.as_str(), JointType::Floating, WORLD, name));
        let pose: Vec<f64> = q.iter().chain(&x).copied().collect();
        self.start.q.insert(joint.clone(), Coordinates::from(pose.as_slice()));
        self.start.v.insert(joint, Coordinates::from(v.as_slice()));
    }

    fn run(mut self) -> Run {
        self.model.states.insert(samples::START.into(), self.start);
        let mechanism = MechanismBuilder::from(self.model).build().expect("a sound scene");
        let engine = Maximal::default();
        let mut workspace = engine.workspace(&mechanism).expect("served");
        let state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("a start");
        Run { engine, mechanism, workspace, state }
    }
}

struct Run {
    engine: Maximal,
    mechanism: Mechanism,
    workspace: MaximalWorkspace,
    state: MaximalState,
}

impl Run {
    fn steps(&mut self, steps: usize) {
        for k in 0..steps {
            let input = Input { u: &[] };
            let made = self.engine.step(&self.mechanism, &mut self.workspace, &mut self.state, input, STEP);
            made.unwrap_or_else(|error| panic!("step {k}: {error}"));
        }
    }

    fn places(&mut self) -> Vec<[f64; 3]> {
        self.workspace.snapshot(&self.state).iter().map(|l| l.x.0).collect()
    }

    fn energy(&mut self) -> f64 {
        let (kinetic, potential) = self.workspace.energy(&self.state);
        kinetic + potential
    }
}

const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

fn block([x, y, z]: [f64; 3]) -> SurfaceShape {
    SurfaceShape::Box { size: [x, y, z] }
}

/// The corners of a box, away from the middle of their list, with points inside and on its faces.
fn block_of_points([x, y, z]: [f64; 3]) -> SurfaceShape {
    let at = |k: u32| 0.5 * f64::from(k) - 0.5;
    SurfaceShape::Points {
        points: (0..27).map(|k| [x * at(k % 3), y * at(k / 3 % 3), z * at(k / 9)]).collect(),
    }
}

/// A prism with `sides` sides, narrower at its top.
fn frustum(sides: u32, radius: f64, top: f64, height: f64) -> SurfaceShape {
    let point = |k: u32| {
        let angle = std::f64::consts::TAU * f64::from(k % sides) / f64::from(sides);
        let (r, z) = if k < sides { (radius, -0.5 * height) } else { (top, 0.5 * height) };
        [r * angle.cos(), r * angle.sin(), z]
    };
    SurfaceShape::Points { points: (0..2 * sides).map(point).collect() }
}

#[test]
fn a_box_given_by_points_moves_like_the_box() {
    let moved = |shape: fn([f64; 3]) -> SurfaceShape, spin: f64| {
        let tilt = 0.3f64;
        let mut scene = Scene::new([tilt.sin(), 0.0, tilt.cos()]);
        let q = [(0.5 * tilt).cos(), 0.0, (0.5 * tilt).sin(), 0.0];
        let up = |z: f64, y: f64| [z * tilt.sin(), y, z * tilt.cos()];
        // A plate that stays, a block that slides down it turned, a ball and a capsule beside it.
        scene.free(shape([0.9, 0.6, 0.1]), 0.6, q, up(0.05, 0.0), [0.0; 6]);
        scene.free(shape([0.2, 0.2, 0.1]), 0.05, q, up(0.15, 0.0), [0.0, 0.0, spin, 0.0, 0.3, 0.0]);
        scene.free(SurfaceShape::Sphere { radius: 0.05 }, 0.1, q, up(0.155, 0.2), [0.0; 6]);
        scene.free(SurfaceShape::Capsule { radius: 0.04, length: 0.1 }, 0.1, q, up(0.24, -0.2), [0.0; 6]);
        let mut run = scene.run();
        run.steps(120);
        run.places()
    };
    // Where a block spins on its face, friction follows how its corners share the weight: that is known to less.
    for (spin, bound) in [(0.0, 1e-9), (0.5, 1e-6)] {
        let (boxes, points) = (moved(block, spin), moved(block_of_points, spin));
        for (k, (a, b)) in boxes.iter().zip(&points).enumerate() {
            let off = (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
            assert!(off < bound, "{k}: {a:?} {b:?}");
        }
    }
}

#[test]
fn hulls_stacked_on_hulls_and_boxes_stand_still() {
    for sides in [3, 8, 24] {
        let mut scene = Scene::new([0.0, 0.0, 1.0]);
        scene.free(block([0.5, 0.5, 0.1]), 0.5, UPRIGHT, [0.0, 0.0, 0.05], [0.0; 6]);
        for k in 0..3 {
            let q = [(0.2 * f64::from(k)).cos(), 0.0, 0.0, (0.2 * f64::from(k)).sin()];
            let x = [0.01 * f64::from(k), -0.005 * f64::from(k), 0.15 + 0.1 * f64::from(k)];
            scene.free(frustum(sides, 0.1, 0.08, 0.1), 0.5, q, x, [0.0; 6]);
        }
        scene.free(block([0.1, 0.1, 0.1]), 0.5, UPRIGHT, [0.02, 0.0, 0.45], [0.0; 6]);
        let mut run = scene.run();
        let start = run.places();
        run.steps(190);
        assert_eq!(allocations(|| run.steps(10)), 0);
        for (a, b) in start.iter().zip(run.places()) {
            let off = (0..3).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
            assert!(off < 1e-10, "{sides}: {a:?} {b:?}");
        }
    }
}

#[test]
fn what_is_dropped_on_a_hull_comes_to_rest_on_it_and_gains_no_energy() {
    let shapes = [
        SurfaceShape::Sphere { radius: 0.05 },
        SurfaceShape::Capsule { radius: 0.04, length: 0.1 },
        block([0.1, 0.12, 0.08]),
        frustum(7, 0.08, 0.05, 0.1),
        frustum(30, 0.06, 0.06, 0.12),
    ];
    for (k, shape) in shapes.into_iter().enumerate() {
        let mut scene = Scene::new([0.0, 0.0, 1.0]);
        scene.free(frustum(9, 0.3, 0.25, 0.1), 0.8, UPRIGHT, [0.0, 0.0, 0.05], [0.0; 6]);
        let q = [0.8, 0.36, 0.48, 0.0];
        scene.free(shape, 0.8, q, [0.02, 0.01, 0.25], [0.0; 6]);
        let mut run = scene.run();
        let mut energy = run.energy();
        for _ in 0..8 {
            run.steps(40);
            let now = run.energy();
            // What tumbles keeps its energy to the second order of the step.
            assert!(now <= energy * (1.0 + 1e-5), "{k}: {energy} {now}");
            energy = now;
        }
        let height = run.places()[1][2];
        assert!((0.13..0.19).contains(&height), "{k}: {height}");
    }
}
