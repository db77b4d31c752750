//! The step driver: policies agree, failures leave the state, checkpoints continue, users add forces.

use std::sync::Arc;

use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{
    BodyMotion, BodyWrench, Coordinates, Minimal, MinimalOptions, Policy, WrenchSample,
};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::samples::random_tree;
use leastaction::mechanism::{
    JointType, Mechanism, MechanismBuilder, PerCoordinate, SpringDescription, State, samples,
};
use leastaction::spatial::{Vec3, Wrench};

use crate::support::{force_tree, mixed_tree, random_state, random_vector, worst};

fn run(mechanism: &Mechanism, integrator: &Minimal, h: f64, steps: usize) -> State {
    let mut workspace = integrator.workspace(mechanism).expect("served");
    let (q, v) = random_state(mechanism, 3);
    let start = State { q, v, ..State::default() };
    let mut state = integrator.start(mechanism, &mut workspace, &start).expect("start");
    let u = random_vector(mechanism.nu(), 1);
    for _ in 0..steps {
        integrator.step(mechanism, &mut workspace, &mut state, Input { u: &u }, h).expect("step");
    }
    let mut out = start.clone();
    integrator.read_out(mechanism, &mut workspace, &state, &mut out);
    out
}

#[test]
fn all_policies_find_the_same_motion() {
    for mechanism in [mixed_tree(4, 6), force_tree(1)] {
        for order in [2, 4, 6] {
            let by = |policy| {
                let options = MinimalOptions { policy, ..MinimalOptions::tight(order) };
                run(&mechanism, &Minimal::new(options).expect("options"), 0.01, 20)
            };
            let newton = by(Policy::Newton);
            for policy in [Policy::Automatic, Policy::Chord, Policy::Mass] {
                let error = worst(&by(policy).q, &newton.q);
                assert!(error < 1e-11, "{policy:?}, order {order}, {}: {error:e}", mechanism.name());
            }
        }
    }
}

/// Small plain trees have their matrix written out: a wrong entry would cost it iterations.
#[test]
fn the_matrix_of_a_small_tree_converges_like_newton() {
    let kinds = [JointType::Revolute, JointType::Prismatic, JointType::Universal, JointType::Planar];
    for seed in 0..4 {
        let mut model = random_tree(seed, 3, &kinds);
        for joint in &mut model.joints {
            joint.damping = PerCoordinate::One(0.5);
            joint.armature = PerCoordinate::One(0.1);
            let (stiffness, rest) = (PerCoordinate::One(20.0), PerCoordinate::One(0.2));
            joint.spring = Some(SpringDescription { stiffness, rest });
        }
        let mechanism = MechanismBuilder::from(model).build().expect("valid");
        for order in [2, 4] {
            let by = |policy| {
                let options = MinimalOptions { policy, ..MinimalOptions::tight(order) };
                let integrator = Minimal::new(options).expect("options");
                let (q, v) = random_state(&mechanism, seed);
                let start = State { q, v, ..State::default() };
                let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
                let mut iterations = 0;
                for _ in 0..50 {
                    iterations += simulator.step(&[], 0.01).expect("step").iterations;
                }
                (simulator.state().clone(), iterations)
            };
            let ((written, few), (swept, many)) = (by(Policy::Automatic), by(Policy::Mass));
            let error = worst(&written.q, &swept.q);
            assert!(error < 1e-12, "seed {seed}, order {order}: {error:e}");
            assert!(f64::from(few) < 0.8 * f64::from(many), "seed {seed}, order {order}: {few} of {many}");
        }
    }
}

#[test]
fn degrees_beyond_the_exact_lanes_work_to_order_32() {
    let mechanism = mixed_tree(4, 4);
    let fine = run(&mechanism, &Minimal::new(MinimalOptions::tight(12)).expect("options"), 0.005, 8);
    for order in [14, 16, 20, 32] {
        let options = MinimalOptions::tight(order);
        let state = run(&mechanism, &Minimal::new(options).expect("options"), 0.02, 2);
        let error = worst(&state.q, &fine.q);
        assert!(error < 1e-11, "order {order}: {error:e}");
    }
}

#[test]
fn a_failed_step_names_its_numbers_and_leaves_the_state() {
    let mechanism = MechanismBuilder::from(samples::chain(4)).build().expect("valid");
    let options = MinimalOptions { max_iterations: 1, policy: Policy::Newton, ..Default::default() };
    let integrator = Minimal::new(options).expect("options");
    let mut workspace = integrator.workspace(&mechanism).expect("served");
    let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("start");
    let before = state.clone();
    let error = integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.3);
    assert!(matches!(error, Err(StepError::NotConverged { step: 0.3, tolerance: 1e-13, .. })), "{error:?}");
    assert_eq!(state, before);
}

#[test]
fn a_step_that_is_too_long_is_halved_where_allowed() {
    let mut model = samples::ball_chain(2);
    model.gravity = [0.0; 3];
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let start = State { v: vec![3.0, 9.0, 1.0, -2.0, 5.0, 1.0], ..mechanism.neutral_state() };
    let by = |halve| {
        let options = MinimalOptions { halve, ..Default::default() };
        let integrator = Minimal::new(options).expect("options");
        let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
        simulator.step(&[], 0.4)
    };
    assert!(by(false).is_err());
    let report = by(true).expect("halved");
    assert!(report.halvings > 0);
}

/// Steps on the edge of what can be solved have other roots, with any energy: halving must find the right one.
#[test]
fn halved_steps_keep_energy_and_momentum_at_every_spin() {
    for (links, order, spin) in
        [(2, 2, 9.0), (2, 4, 15.0), (3, 2, 6.0), (3, 2, 15.0), (3, 4, 9.0), (3, 6, 15.0)]
    {
        let mut model = samples::ball_chain(links);
        model.gravity = [0.0; 3];
        let mechanism = MechanismBuilder::from(model).build().expect("valid");
        let mut start = mechanism.neutral_state();
        start.v[..3].copy_from_slice(&[1.0, spin, 0.5]);
        let options = MinimalOptions { halve: true, order, ..Default::default() };
        let integrator = Minimal::new(options).expect("options");
        let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
        let mut dynamics = Dynamics::new(&mechanism);
        let zero = dynamics.observe(&mechanism, &start.q, &start.v).total();
        let mut halvings = 0;
        for _ in 0..5 {
            halvings += simulator.step(&[], 0.4).expect("halved").halvings;
        }
        let state = simulator.state();
        let energy = dynamics.observe(&mechanism, &state.q, &state.v).total();
        assert!(halvings > 0);
        assert!(
            (energy / zero - 1.0).abs() < 1e-3,
            "{links} links, order {order}, {spin} rad/s: {energy} of {zero}"
        );
    }
}

#[test]
fn a_checkpoint_continues_bit_for_bit() {
    for (mechanism, order) in [(force_tree(2), 2), (mixed_tree(3, 5), 4), (mixed_tree(6, 5), 6)] {
        let options = MethodOptions { order: Some(order), ..Default::default() };
        let u = vec![0.2; mechanism.nu()];
        let start = mechanism.start_state();
        let mut through = Simulator::new(&mechanism, Method::Minimal, &options, &start).expect("served");
        for _ in 0..50 {
            through.step(&u, 0.005).expect("step");
        }
        let saved = through.checkpoint();
        let mut again = Simulator::new(&mechanism, Method::Minimal, &options, &saved).expect("served");
        for _ in 0..50 {
            through.step(&u, 0.005).expect("step");
            again.step(&u, 0.005).expect("step");
        }
        assert_eq!(through.checkpoint(), again.checkpoint());
    }
}

#[test]
fn options_out_of_range_are_refused() {
    for order in [0, 3, 34] {
        let options = MinimalOptions { order, ..Default::default() };
        assert!(matches!(Minimal::new(options), Err(StepError::BadOption { option: "order", .. })));
    }
    let options = MinimalOptions { tolerance: f64::NAN, ..Default::default() };
    assert!(Minimal::new(options).is_err());
    let four_bar = MechanismBuilder::from(samples::four_bar()).build().expect("valid");
    let refused = Minimal::default().workspace(&four_bar);
    assert!(matches!(refused, Err(StepError::Unsupported { .. })));
}

/// A spring from a body point to a fixed point of the world.
#[derive(Debug)]
struct Tether {
    stiffness: f64,
    anchor: Vec3,
}

impl BodyWrench for Tether {
    fn evaluate(&self, motion: &BodyMotion, _u: &[f64], out: &mut WrenchSample) {
        let p = motion.pose.pos;
        let f = (p + motion.origin - self.anchor) * -self.stiffness;
        out.wrench = Wrench::new(p.cross(f), f);
        // δp = η_v + η_ω × p;  δF = (δp × f + p × δf; δf), δf = −k δp.
        let mut d1 = [[0.0; 6]; 6];
        for c in 0..6 {
            let mut eta = [0.0; 6];
            eta[c] = 1.0;
            let dp = Vec3([eta[3], eta[4], eta[5]]) + Vec3([eta[0], eta[1], eta[2]]).cross(p);
            let df = dp * -self.stiffness;
            let change = Wrench::new(dp.cross(f) + p.cross(df), df).to_array();
            for r in 0..6 {
                d1[r][c] = change[r];
            }
        }
        out.set_derivatives(motion, &d1, &[[0.0; 6]; 6]);
    }
}

#[test]
fn a_law_of_the_user_acts_and_is_differentiated() {
    let mechanism = mixed_tree(8, 4);
    let body = mechanism.body_by_name("body3").expect("body");
    let tether = Arc::new(Tether { stiffness: 30.0, anchor: Vec3([0.4, -0.2, 0.9]) });
    let with = |policy| {
        let options = MinimalOptions { policy, ..MinimalOptions::tight(4) };
        Minimal::new(options).expect("options").with_wrench(body, tether.clone())
    };
    let newton = run(&mechanism, &with(Policy::Newton), 0.01, 20);
    let mass = run(&mechanism, &with(Policy::Automatic), 0.01, 20);
    assert!(worst(&newton.q, &mass.q) < 1e-11);
    let free = Minimal::new(MinimalOptions::tight(4)).expect("options");
    assert!(worst(&run(&mechanism, &free, 0.01, 20).q, &newton.q) > 1e-4, "the tether pulls");

    // A wrong derivative would cost Newton its quadratic end: differences of the map are the judge.
    let integrator = with(Policy::Newton);
    let mut workspace = integrator.workspace(&mechanism).expect("served");
    let start = mechanism.neutral_state();
    let from = |v: f64| State { v: vec![v; mechanism.nv()], ..start.clone() };
    let mut step = |v: f64| {
        let mut state = integrator.start(&mechanism, &mut workspace, &from(v)).expect("start");
        let slope = integrator.linearize(
            &mechanism,
            &mut workspace,
            &mut state,
            Input { u: &[] },
            0.02,
            Coordinates::Velocity,
        );
        let mut out = start.clone();
        integrator.read_out(&mechanism, &mut workspace, &state, &mut out);
        (out.v, slope.expect("regular"))
    };
    let eps = 1e-5;
    let ((plus, _), (minus, _), (_, slope)) = (step(0.3 + eps), step(0.3 - eps), step(0.3));
    let n = mechanism.nv();
    for i in 0..n {
        let difference = (plus[i] - minus[i]) / (2.0 * eps);
        let exact: f64 = (0..n).map(|j| slope.a(n + i, n + j)).sum();
        assert!((difference - exact).abs() < 1e-7 * exact.abs().max(1.0), "{difference} {exact}");
    }
}

/// A state file whose positions or velocities were edited, or that meets another model, starts where it says.
#[test]
fn a_warm_start_that_does_not_agree_with_its_state_is_dropped() {
    let mechanism = MechanismBuilder::from(samples::chain(2)).build().expect("valid");
    let start = |state: &State| {
        let mut simulator =
            Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), state).expect("served");
        (simulator.warm_start_dropped(), simulator.state().clone())
    };
    let mut simulator =
        Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &mechanism.start_state())
            .expect("served");
    for _ in 0..50 {
        simulator.step(&[], 0.01).expect("step");
    }
    let written = simulator.checkpoint();
    let (dropped, state) = start(&written);
    assert!(!dropped);
    assert_eq!((&state.q, &state.v), (&written.q, &written.v));
    let edited = [
        State { q: vec![0.1, 0.1], v: vec![0.0, 0.0], ..written.clone() },
        State { q: vec![0.1, 0.1], ..written.clone() },
        State { v: vec![0.2, 0.1], ..written.clone() },
    ];
    for edited in edited {
        let (dropped, state) = start(&edited);
        assert!(dropped);
        assert_eq!(state.q, edited.q);
        assert!(worst(&state.v, &edited.v) < 1e-14, "{:?} and {:?}", state.v, edited.v);
    }
    // Ten times as heavy, at the same momenta: a tenth of the velocities.
    let mut heavy = samples::chain(2);
    for body in &mut heavy.bodies {
        body.mass *= 10.0;
        body.inertia = body.inertia.map(|x| 10.0 * x);
    }
    let heavy = MechanismBuilder::from(heavy).build().expect("valid");
    let mut simulator =
        Simulator::new(&heavy, Method::Minimal, &MethodOptions::default(), &written).expect("served");
    assert!(simulator.warm_start_dropped());
    assert!(worst(&simulator.state().v, &written.v) < 1e-14);
}
