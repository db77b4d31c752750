//! Contact: stick, slide, roll, impacts, piles, scales, checkpoints. Chapter 9 of the theory notes.

use leastaction::contact::{ContactSettings, Impacts, Turns};
use leastaction::integrator::maximal::{Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator, Simulator, StepError};
use leastaction::mechanism::{
    BodyDescription, Coordinates, HalfSpaceDescription, JointDescription, JointType, Mechanism,
    MechanismBuilder, ModelDescription, Placement, StateDescription, SurfaceDescription, SurfaceShape, WORLD,
    samples,
};

/// A scene under construction.
struct Scene {
    model: ModelDescription,
    start: StateDescription,
}

impl Scene {
    fn new(ground: Option<HalfSpaceDescription>) -> Self {
        let mut model = ModelDescription::new("scene");
        model.half_spaces.extend(ground);
        Self { model, start: StateDescription::default() }
    }

    /// A body with a surface of uniform density, held by a joint.
    fn body(&mut self, name: &str, mass: f64, shape: SurfaceShape, friction: f64) -> &mut SurfaceDescription {
        let inertia = match &shape {
            SurfaceShape::Box { size: [x, y, z] } => {
                [y * y + z * z, x * x + z * z, x * x + y * y].map(|s| mass / 12.0 * s)
            }
            SurfaceShape::Sphere { radius } => [0.4 * mass * radius * radius; 3],
            SurfaceShape::Capsule { radius, length } => {
                let across = mass * (0.25 * radius * radius + length * length / 12.0);
                [across, across, 0.5 * mass * radius * radius]
            }
            _ => [mass; 3],
        };
        self.model.bodies.push(BodyDescription {
            name: name.into(),
            mass,
            inertia: [inertia[0], inertia[1], inertia[2], 0.0, 0.0, 0.0],
            ..Default::default()
        });
        let mut surface = SurfaceDescription::new(name, shape);
        surface.friction = friction;
        self.model.surfaces.push(surface);
        self.model.surfaces.last_mut().expect("just added")
    }

    /// A free joint with its pose and velocity (body axes).
    fn free(&mut self, body: &str, q: [f64; 4], x: [f64; 3], v: [f64; 6]) {
        let name = format!("{body}_free");
        self.model.joints.push(JointDescription::new(name.as_str(), JointType::Floating, WORLD, body));
        let pose: Vec<f64> = q.iter().chain(&x).copied().collect();
        self.start.q.insert(name.clone(), Coordinates::from(pose.as_slice()));
        self.start.v.insert(name, Coordinates::from(v.as_slice()));
    }

    fn build(mut self) -> Mechanism {
        self.model.states.insert(samples::START.into(), self.start);
        MechanismBuilder::from(self.model).build().expect("a sound scene")
    }
}

const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

fn about_y(angle: f64) -> [f64; 4] {
    [(0.5 * angle).cos(), 0.0, (0.5 * angle).sin(), 0.0]
}

fn slope(angle: f64, friction: f64) -> HalfSpaceDescription {
    HalfSpaceDescription {
        normal: [angle.sin(), 0.0, angle.cos()],
        friction,
        ..HalfSpaceDescription::ground()
    }
}

fn level(friction: f64) -> HalfSpaceDescription {
    slope(0.0, friction)
}

/// A box of 0.4 × 0.3 × 0.2 m that lies on a slope.
fn block(angle: f64, friction: f64, scale: f64) -> Mechanism {
    let mut scene = Scene::new(Some(slope(angle, friction)));
    let size = [0.4 * scale, 0.3 * scale, 0.2 * scale];
    scene.body("block", 2.0, SurfaceShape::Box { size }, friction);
    let height = 0.1 * scale;
    scene.free("block", about_y(angle), [height * angle.sin(), 0.0, height * angle.cos()], [0.0; 6]);
    scene.build()
}

struct Run {
    engine: Maximal,
    mechanism: Mechanism,
    workspace: MaximalWorkspace,
    state: MaximalState,
}

impl Run {
    fn new(mechanism: Mechanism, contact: ContactSettings) -> Self {
        let engine = Maximal { contact, ..Maximal::default() };
        let mut workspace = engine.workspace(&mechanism).expect("served");
        let state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("a start");
        Self { engine, mechanism, workspace, state }
    }

    fn step(&mut self, h: f64) -> Result<(), StepError> {
        self.engine
            .step(&self.mechanism, &mut self.workspace, &mut self.state, Input { u: &[] }, h)
            .map(|_| ())
    }

    fn run(&mut self, h: f64, steps: usize) {
        for _ in 0..steps {
            self.step(h).expect("a step");
        }
    }

    fn x(&mut self, link: usize) -> [f64; 3] {
        self.workspace.snapshot(&self.state)[link].x.0
    }

    fn v(&mut self, link: usize) -> [f64; 3] {
        self.workspace.snapshot(&self.state)[link].v.0
    }
}

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

/// What takes part costs: pairs that fly on together at any speed are not on their way to each other, those that meet are.
#[test]
fn what_flies_together_takes_no_part() {
    let row = |speed: &dyn Fn(usize) -> f64| {
        let mut scene = Scene::new(None);
        scene.model.gravity = [0.0; 3];
        for i in 0..6 {
            let name = format!("ball{i}");
            scene.body(&name, 1.0, SurfaceShape::Sphere { radius: 0.3 }, 0.5);
            scene.free(&name, UPRIGHT, [i as f64, 0.0, 0.0], [0.0, 0.0, 0.0, speed(i), 0.0, 0.0]);
        }
        let mut run = Run::new(scene.build(), ContactSettings::default());
        run.step(0.005).expect("a step");
        run.workspace.contacts_taking_part()
    };
    assert_eq!(row(&|_| 1000.0), 0);
    assert_eq!(row(&|i| if i == 0 { 1100.0 } else { 1000.0 }), 1);
}

#[test]
fn a_block_on_a_slope_does_not_creep_in_a_minute() {
    let mut run = Run::new(block(10f64.to_radians(), 0.5, 1.0), ContactSettings::default());
    let start = run.x(0);
    run.run(0.01, 6000);
    let drift = distance(run.x(0), start);
    assert!(drift <= 1e-12, "{drift}");
}

#[test]
fn the_threshold_of_sliding_is_the_slope_to_nine_digits() {
    let angle = 23f64.to_radians();
    for (sign, expected) in [(1.0, 0.0), (-1.0, 9.81 * angle.sin() * 1e-9)] {
        let friction = angle.tan() * (1.0 + sign * 1e-9);
        let settings = ContactSettings { slide_speed: Some(1e-12), ..Default::default() };
        let mut run = Run::new(block(angle, friction, 1.0), settings);
        run.run(0.01, 100);
        let speed = distance(run.v(0), [0.0; 3]);
        assert!((speed - expected).abs() <= 0.01 * expected + 1e-13, "{sign}: {speed} {expected}");
    }
}

#[test]
fn a_boule_rolls_with_five_sevenths_of_its_speed() {
    let mut scene = Scene::new(Some(level(0.2)));
    scene.body("boule", 0.7, SurfaceShape::Sphere { radius: 0.1 }, 0.2);
    scene.free("boule", UPRIGHT, [0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(0.01, 60);
    let v = run.v(0);
    assert!((v[0] - 2.0 * 5.0 / 7.0).abs() < 1e-10 && v[1].abs() + v[2].abs() < 1e-12, "{v:?}");
}

/// Where a ball without friction is on a log that lies along y, 0.4 s after it was set down 0.2 rad from the top: its angle, and
/// its distance from the log's axis.
fn on_a_log(h: f64, ball_first: bool) -> (f64, f64) {
    let (log, ball) = (0.4, 0.1);
    let lie = |scene: &mut Scene| {
        let mut surface = SurfaceDescription::new(WORLD, SurfaceShape::Cylinder { radius: log, length: 1.0 });
        surface.placement.q = [0.5f64.sqrt(), 0.5f64.sqrt(), 0.0, 0.0];
        surface.friction = 0.0;
        scene.model.surfaces.push(surface);
    };
    let mut scene = Scene::new(None);
    if !ball_first {
        lie(&mut scene);
    }
    scene.body("ball", 0.3, SurfaceShape::Sphere { radius: ball }, 0.0);
    if ball_first {
        lie(&mut scene);
    }
    let (s, c) = 0.2f64.sin_cos();
    scene.free("ball", UPRIGHT, [(log + ball) * s, 0.1, (log + ball) * c], [0.0; 6]);
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(h, (0.4 / h).round() as usize);
    let [x, _, z] = run.x(0);
    (x.atan2(z), x.hypot(z) - log - ball)
}

#[test]
fn a_ball_slides_down_a_log_by_the_pendulum_s_law_and_rests_on_its_end() {
    // θ'' = g/(R + r) sin θ, by steps of Runge and Kutta that are far finer.
    let (mut angle, mut rate, h) = (0.2f64, 0.0, 1e-4);
    let push = |x: f64| 9.81 / 0.5 * x.sin();
    for _ in 0..4000 {
        let (a1, b1) = (rate, push(angle));
        let (a2, b2) = (rate + 0.5 * h * b1, push(angle + 0.5 * h * a1));
        let (a3, b3) = (rate + 0.5 * h * b2, push(angle + 0.5 * h * a2));
        let (a4, b4) = (rate + h * b3, push(angle + h * a3));
        angle += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
        rate += h / 6.0 * (b1 + 2.0 * b2 + 2.0 * b3 + b4);
    }
    let error = |h: f64| (on_a_log(h, true).0 - angle).abs();
    let (coarse, fine) = (error(0.01), error(0.005));
    assert!((3.0..5.0).contains(&(coarse / fine)), "second order: {coarse} {fine}");
    assert!(on_a_log(0.005, true).1.abs() < 1e-9, "it stays on the log: {:?}", on_a_log(0.005, true));
    assert_eq!(on_a_log(0.005, true), on_a_log(0.005, false), "whichever surface comes first");

    let mut scene = Scene::new(None);
    scene.body("ball", 0.3, SurfaceShape::Sphere { radius: 0.1 }, 0.5);
    let post = SurfaceDescription::new(WORLD, SurfaceShape::Cylinder { radius: 0.05, length: 1.0 });
    scene.model.surfaces.push(post);
    scene.free("ball", UPRIGHT, [0.02, 0.01, 0.65], [0.0; 6]);
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(0.005, 400);
    let rest = distance(run.x(0), [0.02, 0.01, 0.6]);
    assert!(rest < 1e-9, "a ball dropped on the end of a post lies there: {:?}", run.x(0));
}

/// Height of a ball that is dropped from 1 m with restitution 0.8, at 1.2 s.
fn bounced(impacts: Impacts, h: f64) -> f64 {
    let mut scene = Scene::new(Some(level(0.0)));
    scene.body("ball", 1.0, SurfaceShape::Sphere { radius: 0.1 }, 0.0).restitution = 0.8;
    scene.free("ball", UPRIGHT, [0.0, 0.0, 1.1], [0.0; 6]);
    let mut run = Run::new(scene.build(), ContactSettings { impacts: Some(impacts), ..Default::default() });
    run.run(h, (1.2 / h).round() as usize);
    run.x(0)[2]
}

#[test]
fn located_impacts_are_exact_where_flight_is_and_stepped_ones_are_not() {
    let fall = (2.0f64 / 9.81).sqrt();
    let mut speed = 0.8 * 9.81 * fall;
    let mut since = 1.2 - fall;
    while since > 2.0 * speed / 9.81 {
        since -= 2.0 * speed / 9.81;
        speed *= 0.8;
    }
    let exact = 0.1 + speed * since - 0.5 * 9.81 * since * since;
    for h in [0.02, 0.01] {
        let (located, stepped) = (bounced(Impacts::Located, h), bounced(Impacts::Stepped, h));
        assert!((located - exact).abs() < 1e-10, "{h}: {located} {exact}");
        assert!((stepped - exact).abs() > 1e-5, "{h}: {stepped} {exact}");
    }
}

#[test]
fn a_curved_slide_is_of_second_order() {
    // A ball without spin about the contact, thrown across a slope: the direction of friction turns.
    let slide = |h: f64| {
        let angle: f64 = 0.5;
        let mut scene = Scene::new(Some(slope(angle, 0.2)));
        let size = [0.1, 0.1, 0.02];
        scene.body("puck", 1.0, SurfaceShape::Box { size }, 0.2);
        let height = 0.01;
        scene.free(
            "puck",
            about_y(angle),
            [height * angle.sin(), 0.0, height * angle.cos()],
            [0.0, 0.0, 0.0, -0.3, 1.0, 0.0],
        );
        let mut run = Run::new(scene.build(), ContactSettings::default());
        run.run(h, (0.32 / h).round() as usize);
        run.x(0)
    };
    let reference = slide(0.000_25);
    let errors = [0.016, 0.008, 0.004].map(|h| distance(slide(h), reference));
    for pair in errors.windows(2) {
        let order = (pair[0] / pair[1]).log2();
        assert!((1.85..2.2).contains(&order), "{errors:?}");
    }
}

#[test]
fn a_block_thrown_up_a_slope_turns_exactly_where_turns_are_located() {
    let angle: f64 = 0.5;
    let speed_after = |turns: Turns, h: f64| {
        let mut scene = Scene::new(Some(slope(angle, 0.2)));
        scene.body("block", 1.0, SurfaceShape::Box { size: [0.2, 0.2, 0.1] }, 0.2);
        let height = 0.05;
        let at = [height * angle.sin(), 0.0, height * angle.cos()];
        scene.free("block", about_y(angle), at, [0.0, 0.0, 0.0, -0.5, 0.0, 0.0]);
        let mut run = Run::new(scene.build(), ContactSettings { turns: Some(turns), ..Default::default() });
        run.run(h, (0.4 / h).round() as usize);
        let counted = run.workspace.contact_counts().turns;
        assert_eq!(counted, u64::from(turns == Turns::Located), "turns that were located");
        distance(run.v(0), [0.0; 3])
    };
    let g = 9.81;
    let up = g * (angle.sin() + 0.2 * angle.cos());
    let down = g * (angle.sin() - 0.2 * angle.cos());
    let exact = down * (0.4 - 0.5 / up);
    for h in [0.02, 0.01, 0.005] {
        let located = speed_after(Turns::Located, h);
        assert!((located - exact).abs() < 1e-12, "{h}: {located} {exact}");
    }
    assert!((speed_after(Turns::Stepped, 0.02) - exact).abs() > 1e-4);
}

#[test]
fn balls_that_start_inside_each_other_are_set_aside_and_counted() {
    let mut scene = Scene::new(None);
    scene.model.gravity = [0.0; 3];
    for (name, x) in [("one", 0.0), ("two", 0.05)] {
        scene.body(name, 1.0, SurfaceShape::Sphere { radius: 0.1 }, 0.3);
        scene.free(name, UPRIGHT, [x, 0.0, 0.0], [0.0; 6]);
    }
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(0.01, 20);
    assert_eq!(run.workspace.contact_counts().left_out, 1);
    assert!(
        distance(run.x(0), [0.0; 3]) + distance(run.x(1), [0.05, 0.0, 0.0]) < 1e-12,
        "nothing pushes them"
    );
}

#[test]
fn a_stack_stands_still_and_so_does_one_with_a_heavy_top() {
    for top in [1.0, 100.0] {
        let mut scene = Scene::new(Some(level(0.6)));
        for k in 0..5 {
            let name = format!("box{k}");
            let mass = if k == 4 { top } else { 1.0 };
            scene.body(&name, mass, SurfaceShape::Box { size: [0.4, 0.4, 0.2] }, 0.6);
            scene.free(&name, UPRIGHT, [0.0, 0.0, 0.1 + 0.2 * f64::from(k)], [0.0; 6]);
        }
        let mut run = Run::new(scene.build(), ContactSettings::default());
        let start: Vec<[f64; 3]> = (0..5).map(|k| run.x(k)).collect();
        run.run(0.01, 100);
        for (k, at) in start.iter().enumerate() {
            let drift = distance(run.x(k), *at);
            assert!(drift < 1e-12, "top {top}, box {k}: {drift}");
        }
    }
}

/// A die that is dropped and tumbles, by size and density, away from the origin.
fn die(scale: f64, density: f64, away: f64) -> (Vec<f64>, u64) {
    let mut scene = Scene::new(Some(level(0.4)));
    let size = 0.3 * scale;
    let mass = 27.0 * density * scale.powi(3);
    scene.body("die", mass, SurfaceShape::Box { size: [size; 3] }, 0.4);
    let rate = 1.0 / scale.sqrt();
    let speed = scale.sqrt();
    scene.free(
        "die",
        [0.6, 0.48, -0.64, 0.0],
        [away * scale, 0.0, 0.6 * scale],
        [1.0 * rate, 2.0 * rate, 0.5 * rate, 0.5 * speed, 0.2 * speed, 0.0],
    );
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(0.01 * scale.sqrt(), 60);
    let x = run.x(0);
    let counts = run.workspace.contact_counts();
    (vec![x[0] / scale - away, x[1] / scale, x[2] / scale], counts.splits)
}

#[test]
fn a_scene_of_another_size_or_density_or_far_away_moves_alike() {
    let (usual, splits) = die(1.0, 1.0, 0.0);
    for (scale, density, away, tolerance) in
        [(1e-3, 1.0, 0.0, 1e-9), (1.0, 100.0, 0.0, 1e-9), (1.0, 1e-3, 0.0, 1e-9), (1.0, 1.0, 1000.0, 1e-8)]
    {
        let (other, more) = die(scale, density, away);
        for (a, b) in usual.iter().zip(&other) {
            assert!((a - b).abs() < tolerance, "{scale} {density} {away}: {usual:?} {other:?}");
        }
        assert!(more <= splits, "{scale} {density} {away}: {more} splits");
    }
}

#[test]
fn a_run_that_is_saved_and_continued_has_the_same_bits() {
    let mut scene = Scene::new(Some(level(0.5)));
    for k in 0..2 {
        let name = format!("box{k}");
        scene.body(&name, 1.0, SurfaceShape::Box { size: [0.2, 0.2, 0.1] }, 0.5);
        let z = 0.2 + 0.25 * f64::from(k);
        scene.free(&name, about_y(0.3), [0.01 * f64::from(k), 0.0, z], [0.5, 0.2, 0.1, 0.3, 0.0, 0.0]);
    }
    let mechanism = scene.build();
    let start = mechanism.start_state();
    let mut whole = Simulator::with(&mechanism, Maximal::default(), &start).expect("a start");
    let mut first = Simulator::with(&mechanism, Maximal::default(), &start).expect("a start");
    for _ in 0..80 {
        whole.step(&[], 0.005).expect("a step");
    }
    for _ in 0..37 {
        first.step(&[], 0.005).expect("a step");
    }
    let saved = first.checkpoint();
    let mut second = Simulator::with(&mechanism, Maximal::default(), &saved).expect("a start");
    assert!(!second.warm_start_dropped());
    for _ in 37..80 {
        second.step(&[], 0.005).expect("a step");
    }
    assert_eq!(whole.state().q, second.state().q);
    assert_eq!(whole.state().v, second.state().v);
}

#[test]
fn limits_and_friction_of_joints_hold_while_a_foot_stands() {
    // A pendulum with dry friction and a limit above the ground, its tip dropped onto it.
    let mut scene = Scene::new(Some(HalfSpaceDescription { offset: -0.45, ..level(0.8) }));
    scene.body("arm", 1.0, SurfaceShape::Capsule { radius: 0.02, length: 0.5 }, 0.8);
    let mut joint = JointDescription::new("hinge", JointType::Revolute, WORLD, "arm");
    joint.axis = Some([0.0, 1.0, 0.0]);
    joint.child_placement = Placement::at([0.0, 0.0, 0.25]);
    joint.friction = leastaction::mechanism::PerCoordinate::One(0.1);
    scene.model.joints.push(joint);
    scene.start.q.insert("hinge".into(), Coordinates::from([1.2].as_slice()));
    let mut run = Run::new(scene.build(), ContactSettings::default());
    run.run(0.005, 400);
    let before = run.x(0);
    run.run(0.005, 400);
    assert!(distance(run.x(0), before) < 1e-11, "it stands still");
    assert!(run.workspace.contact_gaps().iter().take(2).any(|gap| gap.abs() < 1e-9), "on the ground");
}

#[test]
fn infeasible_contacts_fail_with_a_typed_error_and_leave_the_state() {
    // Two grounds that overlap: no way out.
    let mut scene = Scene::new(Some(level(0.5)));
    scene.model.half_spaces.push(HalfSpaceDescription {
        name: "ceiling".into(),
        normal: [0.0, 0.0, -1.0],
        offset: -0.1,
        ..HalfSpaceDescription::ground()
    });
    scene.body("ball", 1.0, SurfaceShape::Sphere { radius: 0.1 }, 0.5);
    scene.free("ball", UPRIGHT, [0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 0.1, 0.0, 0.0]);
    let mut run = Run::new(scene.build(), ContactSettings::default());
    let before = run.x(0);
    let mut failed = None;
    for _ in 0..20 {
        if let Err(error) = run.step(0.01) {
            failed = Some(error);
            break;
        }
    }
    if let Some(error) = failed {
        assert!(matches!(error, StepError::ContactNotSolved { .. }), "{error}");
    } else {
        // Recovery moves it by less than the depth: it stays between the two.
        assert!(distance(run.x(0), before) < 0.2);
    }
}

#[test]
fn contact_refuses_steps_backwards_and_higher_orders() {
    let mechanism = block(0.1, 0.5, 1.0);
    let mut run = Run::new(mechanism.clone(), ContactSettings::default());
    assert!(matches!(run.step(-0.01), Err(StepError::BadOption { .. })));
    let four = Maximal { order: 4, ..Maximal::default() };
    assert!(matches!(four.workspace(&mechanism), Err(StepError::BadOption { .. })));
}
