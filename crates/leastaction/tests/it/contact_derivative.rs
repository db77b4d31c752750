//! Derivatives of steps with contact: those of the map, and their adjoint is their transpose.
//!
//! Motions start in the air, where every direction is admissible, and the derivatives of their steps are multiplied through landing,
//! sliding, rolling and rest; differences of the whole motion see the same contacts.

use leastaction::contact::{ContactSettings, Impacts};
use leastaction::integrator::maximal::{ContactDerivative, Maximal, StepDerivative};
use leastaction::integrator::{Input, Integrator, LinearizedStep, StepError, StepLinearization};
use leastaction::io::{LoadOptions, load_model};
use leastaction::mechanism::{
    ActuatorDescription, BodyDescription, HalfSpaceDescription, JointDescription, JointType,
    LimitsDescription, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate, Placement, State,
    SurfaceDescription, SurfaceShape, WORLD,
};

fn ground(angle: f64) -> HalfSpaceDescription {
    HalfSpaceDescription {
        normal: [angle.sin(), 0.0, angle.cos()],
        friction: 0.0,
        ..HalfSpaceDescription::ground()
    }
}

fn body(model: &mut ModelDescription, name: &str, mass: f64, inertia: [f64; 3]) {
    model.bodies.push(BodyDescription {
        name: name.into(),
        mass,
        inertia: [inertia[0], inertia[1], inertia[2], 0.0, 0.0, 0.0],
        ..Default::default()
    });
}

fn surface(model: &mut ModelDescription, body: &str, shape: SurfaceShape, friction: f64, restitution: f64) {
    let mut surface = SurfaceDescription::new(body, shape);
    (surface.friction, surface.restitution) = (friction, restitution);
    model.surfaces.push(surface);
}

fn free(model: &mut ModelDescription, body: &str) {
    model.joints.push(JointDescription::new(format!("{body}_free"), JointType::Floating, WORLD, body));
}

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("a sound scene")
}

/// A ball of 0.1 m and 1 kg over a slope.
pub(crate) fn ball(angle: f64, friction: f64, restitution: f64) -> Mechanism {
    let mut model = ModelDescription::new("ball");
    model.half_spaces.push(ground(angle));
    body(&mut model, "ball", 1.0, [0.004; 3]);
    surface(&mut model, "ball", SurfaceShape::Sphere { radius: 0.1 }, friction, restitution);
    free(&mut model, "ball");
    build(model)
}

fn block(angle: f64, friction: f64) -> Mechanism {
    let mut model = ModelDescription::new("block");
    model.half_spaces.push(ground(angle));
    body(&mut model, "block", 2.0, [0.0217, 0.0333, 0.0417]);
    surface(&mut model, "block", SurfaceShape::Box { size: [0.4, 0.3, 0.2] }, friction, 0.0);
    free(&mut model, "block");
    build(model)
}

/// A ball over a capsule that lies on the ground.
fn ball_on_capsule() -> Mechanism {
    let mut model = ModelDescription::new("ball on capsule");
    model.half_spaces.push(ground(0.0));
    body(&mut model, "log", 2.0, [0.01, 0.05, 0.05]);
    body(&mut model, "ball", 0.5, [0.002; 3]);
    // The log slides freely on the ground: its two ends would otherwise both stick, which a log that tilts as it lands cannot do, and one
    // of them would slip so little that it is at a switch.
    surface(&mut model, "log", SurfaceShape::Capsule { radius: 0.1, length: 0.5 }, 0.0, 0.0);
    // The axis of a capsule is z of its placement: lay it along x.
    let half = std::f64::consts::FRAC_1_SQRT_2;
    model.surfaces[0].placement = Placement { p: [0.0; 3], q: [half, 0.0, half, 0.0] };
    surface(&mut model, "ball", SurfaceShape::Sphere { radius: 0.1 }, 0.6, 0.0);
    free(&mut model, "log");
    free(&mut model, "ball");
    build(model)
}

/// Two balls, one on top of the other.
pub(crate) fn two_balls() -> Mechanism {
    let mut model = ModelDescription::new("two balls");
    model.half_spaces.push(ground(0.0));
    for (name, mass) in [("lower", 1.0), ("upper", 0.4)] {
        body(&mut model, name, mass, [0.004 * mass; 3]);
        surface(&mut model, name, SurfaceShape::Sphere { radius: 0.1 }, 0.3, 0.0);
        free(&mut model, name);
    }
    build(model)
}

/// Two rods on hinges over the ground, driven; the elbow has a limit, the shoulder dry friction.
pub(crate) fn arm(limit: Option<f64>, restitution: f64, friction: f64, damping: f64) -> Mechanism {
    let mut model = ModelDescription::new("arm");
    model.half_spaces.push(HalfSpaceDescription { offset: -1.1, ..ground(0.0) });
    model.inputs.push("elbow".into());
    for (k, name) in ["upper", "lower"].iter().enumerate() {
        body(&mut model, name, 1.0 - 0.3 * k as f64, [0.02, 0.02, 0.002]);
        model.bodies[k].com = [0.0, 0.0, -0.25];
    }
    surface(&mut model, "lower", SurfaceShape::Sphere { radius: 0.05 }, 0.5, 0.0);
    model.surfaces[0].placement = Placement { p: [0.0, 0.0, -0.5], q: [1.0, 0.0, 0.0, 0.0] };
    let mut shoulder = JointDescription::new("shoulder", JointType::Revolute, WORLD, "upper");
    shoulder.axis = Some([0.0, 1.0, 0.0]);
    shoulder.friction = PerCoordinate::One(friction);
    let mut elbow = JointDescription::new("elbow", JointType::Revolute, "upper", "lower");
    elbow.axis = Some([0.0, 1.0, 0.0]);
    elbow.parent_placement = Placement { p: [0.0, 0.0, -0.5], q: [1.0, 0.0, 0.0, 0.0] };
    elbow.damping = PerCoordinate::One(damping);
    elbow.limits = limit.map(|limit| LimitsDescription {
        lower: Some(PerCoordinate::One(limit)),
        restitution: Some(restitution).filter(|e| *e > 0.0),
        ..LimitsDescription::default()
    });
    elbow.actuators.push(ActuatorDescription { input: "elbow".into(), coordinate: 0, gear: 1.0 });
    model.joints.extend([shoulder, elbow]);
    build(model)
}

struct Motion {
    engine: Maximal,
    mechanism: Mechanism,
    start: State,
    u: Vec<f64>,
    h: f64,
    steps: usize,
    /// What adjoint and transpose may differ by.
    asymmetry: f64,
}

impl Motion {
    fn new(mechanism: Mechanism, q: &[f64], v: &[f64], h: f64, steps: usize) -> Self {
        let mut start = mechanism.neutral_state();
        start.q.copy_from_slice(q);
        start.v.copy_from_slice(v);
        let u = vec![-0.4; mechanism.nu()];
        Self { engine: Maximal::default(), mechanism, start, u, h, steps, asymmetry: 1e-12 }
    }

    fn end(&self, start: &State) -> State {
        let Self { engine, mechanism, u, h, steps, .. } = self;
        let mut ws = engine.workspace(mechanism).expect("served");
        let mut state = engine.start(mechanism, &mut ws, start).expect("a start");
        for _ in 0..*steps {
            engine.step(mechanism, &mut ws, &mut state, Input { u }, *h).expect("a step");
        }
        let mut out = start.clone();
        engine.read_out(mechanism, &mut ws, &state, &mut out);
        out
    }

    /// Start moved along a coordinate.
    fn moved(&self, column: usize, s: f64) -> State {
        let nv = self.mechanism.nv();
        let mut state = self.start.clone();
        if column < nv {
            let mut step = vec![0.0; nv];
            step[column] = s;
            self.mechanism.retract(&self.start.q, &step, &mut state.q);
        } else {
            state.v[column - nv] += s;
        }
        state
    }

    fn difference(&self, from: &State, to: &State) -> Vec<f64> {
        let mut out = vec![0.0; self.mechanism.nv()];
        self.mechanism.difference(&from.q, &to.q, &mut out);
        out.extend(to.v.iter().zip(&from.v).map(|(a, b)| a - b));
        out
    }

    /// Worst entry against differences of the whole motion, relative to the largest; every adjoint on the way is compared, too.
    fn error(&self) -> f64 {
        let Self { engine, mechanism, u, h, steps, .. } = self;
        let m = 2 * mechanism.nv();
        let mut ws = engine.workspace(mechanism).expect("served");
        let mut state = engine.start(mechanism, &mut ws, &self.start).expect("a start");
        let mut slope = engine.slope(mechanism, &ws);
        let mut step = StepLinearization::default();
        let mut product: Vec<f64> = (0..m * m).map(|i| f64::from(u8::from(i / m == i % m))).collect();
        for k in 0..*steps {
            engine
                .step_linearized(
                    mechanism,
                    &mut ws,
                    &mut slope,
                    &mut state,
                    Input { u },
                    *h,
                    false,
                    &mut step,
                )
                .unwrap_or_else(|e| panic!("{} step {k}: {e}", mechanism.name()));
            let before = product.clone();
            let asymmetry = transpose_error(&mut slope, &step, &before);
            assert!(
                asymmetry < self.asymmetry,
                "{} step {k}: adjoint off by {asymmetry:.1e}",
                mechanism.name()
            );
            for row in 0..m {
                for column in 0..m {
                    product[row * m + column] = (0..m).map(|i| step.a(row, i) * before[i * m + column]).sum();
                }
            }
        }
        let scale = product.iter().fold(0.0f64, |a, x| a.max(x.abs()));
        let middle = self.end(&self.start);
        let mut worst = 0.0f64;
        for column in 0..m {
            let e = 1e-6;
            let [plus, minus] = [e, -e].map(|s| self.difference(&middle, &self.end(&self.moved(column, s))));
            for row in 0..m {
                let made = (plus[row] - minus[row]) / (2.0 * e);
                worst = worst.max((made - product[row * m + column]).abs() / scale);
            }
        }
        worst
    }

    fn check(&self, what: &str) {
        let error = self.error();
        assert!(error < 1e-6, "{what}: {error:.2e}");
    }
}

/// Largest difference of `(A^T y) x` and `y (A x)`, relative to the largest entry of `A` and the largest of `x`: for unit vectors `y`,
/// and the columns of `directions` as `x`. These are admissible: along others contacts that repeat each other contradict each other.
fn transpose_error(slope: &mut StepDerivative, step: &StepLinearization, directions: &[f64]) -> f64 {
    let (m, nu) = (step.states(), step.inputs);
    let largest = |list: &[f64]| list.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    let scale = largest(&step.matrix);
    let (mut x, mut u, mut worst) = (vec![0.0; m], vec![0.0; nu], 0.0f64);
    for row in 0..m {
        let unit: Vec<f64> = (0..m).map(|i| f64::from(u8::from(i == row))).collect();
        slope.adjoint(&unit, &mut x, &mut u);
        for column in 0..m {
            let direction: Vec<f64> = (0..m).map(|i| directions[i * m + column]).collect();
            let back: f64 = x.iter().zip(&direction).map(|(a, b)| a * b).sum();
            let there: f64 = (0..m).map(|i| step.a(row, i) * direction[i]).sum();
            worst = worst.max((back - there).abs() / (scale * largest(&direction)));
        }
        for (k, value) in u.iter().enumerate() {
            worst = worst.max((value - step.b(row, k)).abs() / scale);
        }
    }
    worst
}

pub(crate) const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

pub(crate) fn pose(q: [f64; 4], x: [f64; 3]) -> Vec<f64> {
    q.iter().chain(&x).copied().collect()
}

fn tilted(axis: [f64; 3], angle: f64) -> [f64; 4] {
    let size = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
    let s = (0.5 * angle).sin() / size;
    [(0.5 * angle).cos(), s * axis[0], s * axis[1], s * axis[2]]
}

#[test]
fn a_ball_that_lands_slides_and_rolls() {
    let start = pose(UPRIGHT, [0.0, 0.0, 0.12]);
    let v = [0.3, 2.0, 0.1, 1.0, 0.4, -0.2];
    for (steps, what) in [(12, "landing"), (20, "sliding"), (120, "rolling")] {
        Motion::new(ball(0.0, 0.15, 0.0), &start, &v, 0.005, steps).check(what);
    }
    Motion::new(ball(0.2, 0.5, 0.0), &start, &v, 0.005, 60).check("rolling down");
    Motion::new(ball(0.0, 0.15, 0.7), &start, &v, 0.005, 45).check("bouncing");
}

#[test]
fn a_block_on_its_corner_and_its_edge() {
    for steps in [8, 14, 16] {
        tumbling_block(steps).check(&format!("{steps} steps"));
    }
}

/// A block that lands on a corner, then on an edge after 14 steps, then flat after 17.
fn tumbling_block(steps: usize) -> Motion {
    let start = pose(tilted([1.0, 0.5, 0.2], 0.15), [0.0, 0.0, 0.155]);
    Motion::new(block(0.0, 0.3), &start, &[0.2, -0.1, 0.3, 0.5, 0.3, -0.4], 0.005, steps)
}

#[test]
#[ignore = "4.5e-4 off: four corners that slide share their weight in many ways (9.16), and the derivative is that of one of them"]
fn a_block_that_lands_flat_and_slides() {
    tumbling_block(22).check("flat");
}

#[test]
#[ignore = "9.1e-3 off: it lands flat and slides before it sticks, see above"]
fn a_block_that_stays_stuck_on_a_slope() {
    let start = pose(tilted([1.0, 0.3, 0.0], 0.1), [0.02, 0.0, 0.14]);
    let mut motion = Motion::new(block(0.1, 0.8), &start, &[0.0, 0.0, 0.1, 0.0, 0.0, -0.2], 0.005, 40);
    // Four corners that stick have twelve rows of rank six: what they share is known to the rounding over the proximal weight.
    motion.asymmetry = 1e-9;
    motion.check("a block that comes to rest");
}

#[test]
fn a_ball_that_rolls_over_a_capsule() {
    let q =
        [pose(tilted([0.0, 0.0, 1.0], 0.1), [0.0, 0.0, 0.1]), pose(UPRIGHT, [0.05, 0.01, 0.305])].concat();
    let v = [[0.0; 6], [0.1, -0.2, 0.3, 0.1, 0.05, -0.2]].concat();
    for steps in [6, 20] {
        let mut motion = Motion::new(ball_on_capsule(), &q, &v, 0.005, steps);
        // The log is dropped, too: every direction is admissible.
        motion.start.q[6] = 0.102;
        motion.check(&format!("{steps} steps"));
    }
}

#[test]
fn limits_joint_friction_and_a_hand_that_slides() {
    for (limit, e, friction, steps) in [(-0.3, 0.0, 0.0, 60), (-0.3, 0.6, 0.0, 60), (-2.0, 0.0, 0.3, 60)] {
        let motion = Motion::new(arm(Some(limit), e, friction, 0.02), &[0.9, 0.0], &[0.3, 0.5], 0.005, steps);
        motion.check(&format!("limit {limit}, restitution {e}, friction {friction}"));
    }
    Motion::new(arm(Some(-1.5), 0.0, 0.2, 0.02), &[0.4, 0.2], &[-1.0, 0.0], 0.005, 150)
        .check("the hand on the ground");
}

#[test]
fn the_relaxed_derivative_is_that_of_the_relaxed_step() {
    let resting = pose(tilted([0.0, 0.0, 1.0], 0.3), [0.0, 0.0, 0.1001]);
    let cases = [
        Motion::new(
            ball(0.0, 0.5, 0.0),
            &pose(UPRIGHT, [0.0, 0.0, 0.101]),
            &[0.3, 2.0, 0.1, 1.0, 0.4, -0.2],
            0.01,
            1,
        ),
        Motion::new(block(0.0, 0.5), &resting, &[0.1, 0.0, 0.2, 0.3, 0.0, -0.05], 0.01, 1),
    ];
    relaxed_agrees(cases.into());
}

#[test]
fn the_relaxed_derivative_knows_limits_and_joint_friction() {
    relaxed_agrees(vec![Motion::new(arm(Some(-0.3), 0.0, 0.3, 0.02), &[0.9, -0.295], &[0.3, -0.8], 0.01, 1)]);
}

/// Joint limits that are far away leave within a step at speeds that are no measure for the smoothing.
#[test]
fn the_relaxed_step_of_a_crouching_quadruped_is_solved() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/quadruped-legs.json");
    let mechanism = load_model(&path, &LoadOptions::default()).expect("readable").build().expect("sound");
    let engine =
        Maximal { contact_derivative: ContactDerivative::Relaxed { speed: None }, ..Maximal::default() };
    let mut ws = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("a start");
    let mut slope = engine.slope(&mechanism, &ws);
    let mut step = StepLinearization::default();
    let u = [0.0, 4.2, 0.0, 4.2, 0.0, 4.2, 0.0, 4.2];
    for k in 0..20 {
        let input = Input { u: &u };
        engine
            .step_linearized(&mechanism, &mut ws, &mut slope, &mut state, input, 0.01, false, &mut step)
            .unwrap_or_else(|e| panic!("step {k}: {e}"));
        assert!(step.matrix.iter().all(|x| x.is_finite()), "step {k}");
    }
}

/// The matrix of the relaxed step against differences of that step, and its adjoint against its transpose.
fn relaxed_agrees(cases: Vec<Motion>) {
    for mut motion in cases {
        // Below that, differences see the solver's tolerance.
        for speed in [1e-1, 1e-2] {
            motion.engine.contact_derivative = ContactDerivative::Relaxed { speed: Some(speed) };
            let Motion { engine, mechanism, u, h, .. } = &motion;
            let ends = |start: &State| {
                let mut ws = engine.workspace(mechanism).expect("served");
                let mut state = engine.start(mechanism, &mut ws, start).expect("a start");
                let mut slope = engine.slope(mechanism, &ws);
                let mut step = StepLinearization::default();
                engine
                    .step_linearized(
                        mechanism,
                        &mut ws,
                        &mut slope,
                        &mut state,
                        Input { u },
                        *h,
                        false,
                        &mut step,
                    )
                    .unwrap_or_else(|e| panic!("{}: {e}", mechanism.name()));
                let mut end = start.clone();
                let (q, v) = slope.relaxed_node();
                end.q.copy_from_slice(q);
                end.v.copy_from_slice(v);
                (end, slope, step)
            };
            let (middle, mut slope, step) = ends(&motion.start);
            let m = step.states();
            let all: Vec<f64> = (0..m * m).map(|i| f64::from(u8::from(i / m == i % m))).collect();
            let asymmetry = transpose_error(&mut slope, &step, &all);
            // Four corners share their work by the smoothing alone.
            assert!(asymmetry < 1e-11, "{} at {speed}: adjoint off by {asymmetry:.1e}", mechanism.name());
            let scale = step.matrix.iter().fold(0.0f64, |a, x| a.max(x.abs()));
            for column in 0..m {
                // Small against what smoothing spreads a contact over, in positions and velocities.
                let e = 1e-3 * speed * if column < m / 2 { *h } else { 1.0 };
                let ends = [2.0, 1.0, -1.0, -2.0]
                    .map(|s| motion.difference(&middle, &ends(&motion.moved(column, s * e)).0));
                for row in 0..m {
                    let made =
                        (8.0 * (ends[1][row] - ends[2][row]) - (ends[0][row] - ends[3][row])) / (12.0 * e);
                    let error = (made - step.a(row, column)).abs() / scale;
                    assert!(error < 1e-6, "{} at {speed}: ({row}, {column}) {error:.1e}", mechanism.name());
                }
            }
        }
    }
}

#[test]
fn what_has_no_derivative_says_so_and_leaves_the_state() {
    let mut motion = Motion::new(
        ball(0.0, 0.3, 0.0),
        &pose(UPRIGHT, [0.0, 0.0, 0.101]),
        &[0.0, 0.0, 0.0, 0.5, 0.0, -1.0],
        0.01,
        1,
    );
    motion.engine.contact = ContactSettings { impacts: Some(Impacts::Located), ..ContactSettings::default() };
    let Motion { engine, mechanism, start, u, h, .. } = &motion;
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, start).expect("a start");
    let mut slope = StepDerivative::new(engine, mechanism, &ws);
    let before = format!("{state:?}");
    let error = engine.differentiate(mechanism, &mut ws, &mut state, Input { u }, *h, &mut slope);
    assert!(
        matches!(&error, Err(StepError::Singular { what, .. }) if what.contains("located impact")),
        "{error:?}"
    );
    assert_eq!(before, format!("{state:?}"));
}

#[test]
fn contacts_at_a_switch_are_flagged() {
    // On the verge of slipping: a ball rolls down a slope up to a friction of 2/7 of its tangent.
    let angle = 0.3f64;
    let x = [0.1 * angle.sin(), 0.0, 0.1 * angle.cos()];
    for (factor, flagged) in [(1.0, true), (1.5, false)] {
        let mu = factor * 2.0 / 7.0 * angle.tan();
        let motion = Motion::new(ball(angle, mu, 0.0), &pose(UPRIGHT, x), &[0.0; 6], 0.005, 1);
        let Motion { engine, mechanism, start, u, h, .. } = &motion;
        let mut ws = engine.workspace(mechanism).expect("served");
        let mut state = engine.start(mechanism, &mut ws, start).expect("a start");
        let mut slope = StepDerivative::new(engine, mechanism, &ws);
        engine.differentiate(mechanism, &mut ws, &mut state, Input { u }, *h, &mut slope).expect("a step");
        let flags = slope.contact_switches();
        assert_eq!(flags.iter().any(|s| s.contact.is_some()), flagged, "{mu}: {flags:?}");
    }
}
