//! Closed loops stay closed, through singular poses, and rolling bodies roll.

use std::sync::Arc;

use leastaction::dynamics::{Dynamics, Kinematics};
use leastaction::integrator::maximal::{Interval, IntervalSlope, Maximal, RotationMap, VelocityConstraint};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::samples::{START, ball_chain, chain, four_bar, four_bars, rhombus_chain};
use leastaction::mechanism::{
    Coordinates, JointDescription, JointRole, JointType, LimitsDescription, Mechanism, MechanismBuilder,
    ModelDescription, PerCoordinate, Placement, State, WORLD,
};
use leastaction::spatial::{Pose, Vec3};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn simulator(mechanism: &Mechanism) -> Simulator<&Mechanism> {
    let options = MethodOptions::default();
    Simulator::new(mechanism, Method::Maximal, &options, &mechanism.start_state()).expect("served")
}

/// The redundant four-bar: rank deficient by three, closed to rounding, energy without drift.
#[test]
fn a_four_bar_of_four_revolutes_stays_closed() {
    let mechanism = build(four_bar());
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
    let energy = |ws: &mut _, s: &_| {
        let (t, v) = leastaction::integrator::maximal::MaximalWorkspace::energy(ws, s);
        t + v
    };
    let begin = energy(&mut ws, &state);
    let (mut worst, mut means) = (0.0f64, Vec::new());
    for _ in 0..4 {
        let mut sum = 0.0;
        for _ in 0..5000 {
            let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01).expect("step");
            assert_eq!(report.dropped_rank, 3);
            worst = worst.max(engine.gap(&mechanism, &mut ws, &state));
            sum += energy(&mut ws, &state) - begin;
        }
        means.push(sum / 5000.0);
    }
    assert!(worst <= 1e-12, "gap {worst:e}");
    for pair in means.windows(2) {
        assert!((pair[0] - pair[1]).abs() < 1e-4, "energy means {means:?}");
    }
}

/// Ten seconds each; on the way all rods of a rhombus overlap or stretch, where its loop loses rank.
#[test]
fn rhombus_chains_pass_through_folded_and_stretched_poses() {
    for k in 1..=10 {
        let mechanism = build(rhombus_chain(k));
        let mut sim = simulator(&mechanism);
        let (mut gap, mut iterations, mut fallbacks, mut splits) = (0.0f64, 0, 0, 0);
        let mut nearest = f64::INFINITY;
        for _ in 0..1000 {
            let report = sim.step(&[], 0.01).unwrap_or_else(|e| panic!("k = {k}: {e}"));
            gap = gap.max(sim.gap());
            iterations += report.iterations;
            fallbacks += report.fallbacks;
            splits += report.splits;
            // A rhombus is folded or stretched where its apex angle is a multiple of π.
            for i in 0..k {
                let apex = mechanism.joint_by_name(&format!("apex{i}")).expect("named");
                nearest = nearest.min(sim.state().q[mechanism.q_range(apex).start].sin().abs());
            }
        }
        println!(
            "rhombus chain {k}: gap {gap:.1e}, {:.2} iterations, {fallbacks} fallbacks, {splits} splits, closest |sin| {nearest:.1e}",
            f64::from(iterations) / 1000.0
        );
        assert!(gap <= 1e-12, "k = {k}: gap {gap:e}");
        assert!(nearest < 0.1, "k = {k}: no rhombus came near a singular pose ({nearest})");
    }
}

/// A million steps of the redundant four-bar: closed throughout, and the mean energy of every tenth within the range of the
/// first.
#[test]
fn a_four_bar_keeps_its_energy_over_a_million_steps() {
    let mechanism = build(four_bar());
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
    let (mut gap, mut range) = (0.0f64, [f64::INFINITY, f64::NEG_INFINITY]);
    for tenth in 0..10 {
        let mut mean = 0.0;
        for _ in 0..100_000 {
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.01).expect("step");
            gap = gap.max(engine.gap(&mechanism, &mut ws, &state));
            let (kinetic, potential) = ws.energy(&state);
            let energy = kinetic + potential;
            mean += energy / 1e5;
            if tenth == 0 {
                range = [range[0].min(energy), range[1].max(energy)];
            }
        }
        println!("tenth {tenth}: mean {mean:.9}, first tenth {range:?}, gap {gap:.1e}");
        assert!(range[0] <= mean && mean <= range[1], "tenth {tenth}: mean {mean} outside {range:?}");
        assert!(gap <= 1e-12, "gap {gap:e}");
    }
}

/// All rods overlap at the start: the force directions of the loop lack the rank to open it, and the step falls back
/// on averaged directions.
#[test]
fn a_rhombus_that_starts_folded_opens() {
    let mut model = rhombus_chain(1);
    let start = model.states.get_mut(START).expect("has a start");
    for (name, angle) in [("top0", 0.6), ("right0", 0.0), ("apex0", 0.0), ("left0", 0.0)] {
        start.q.insert(name.into(), Coordinates::One(angle));
    }
    start.v.insert("apex0".into(), Coordinates::One(0.5));
    start.v.insert("right0".into(), Coordinates::One(0.5));
    start.v.insert("left0".into(), Coordinates::One(-0.5));
    let mechanism = build(model);
    let mut sim = simulator(&mechanism);
    for _ in 0..100 {
        sim.step(&[], 0.01).expect("step");
        assert!(sim.gap() <= 1e-12, "gap {:e}", sim.gap());
    }
    assert!(sim.state().q[1].abs() + sim.state().q[2].abs() > 0.05, "{:?}", sim.state().q);
}

#[test]
fn an_open_start_is_closed_and_an_impossible_one_is_refused() {
    let mut model = four_bar();
    let start = model.states.get_mut(START).expect("has a start");
    start.q.insert("rocker_pivot".into(), Coordinates::One(2.2));
    let mechanism = build(model.clone());
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("closes");
    assert!(engine.gap(&mechanism, &mut ws, &state) < 1e-13);
    assert!(state.moved_at_start() > 1e-3);

    let coupler = model.joints.iter_mut().find(|j| j.name == "closure").expect("closure");
    coupler.parent_placement.p = [0.0, 0.0, -9.0];
    let mechanism = build(model);
    let mut ws = engine.workspace(&mechanism).expect("served");
    match engine.start(&mechanism, &mut ws, &mechanism.start_state()) {
        Err(StepError::OpenLoop { joint, gap }) => assert!(joint == "closure" && gap > 1.0),
        other => panic!("{:?}", other.map(|s| s.t)),
    }
}

/// Checkpoints continue bit for bit, and a used workspace changes nothing.
#[test]
fn a_checkpoint_continues_bit_for_bit() {
    for model in [four_bars(3), chain(4), ball_chain(3)] {
        let mechanism = build(model);
        for order in [2, 4] {
            let options = MethodOptions { order: Some(order), ..Default::default() };
            let mut whole = Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state())
                .expect("served");
            for _ in 0..20 {
                whole.step(&[], 0.004).expect("step");
            }
            let middle = whole.checkpoint();
            let mut rest = Simulator::new(&mechanism, Method::Maximal, &options, &middle).expect("served");
            for _ in 0..20 {
                whole.step(&[], 0.004).expect("step");
                rest.step(&[], 0.004).expect("step");
            }
            assert_eq!(whole.checkpoint(), rest.checkpoint(), "{}", mechanism.name());
        }
    }
}

#[test]
fn swinging_chains_take_two_iterations_and_converge_quadratically() {
    for n in [10, 100, 500] {
        for model in [chain(n), ball_chain(n)] {
            let mechanism = build(model);
            let engine = Maximal::default();
            let mut ws = engine.workspace(&mechanism).expect("served");
            let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
            let step = |ws: &mut _, state: &mut _, h| {
                engine.step(&mechanism, ws, state, Input { u: &[] }, h).expect("step")
            };
            let (mut sum, mut worst) = (0, 0.0f64);
            for _ in 0..100 {
                sum += step(&mut ws, &mut state, 0.005).iterations;
                // The largest residual of a row; their norm over 500 links has a floor of 2e-10, by the rounding of positions.
                worst = worst.max(engine.gap(&mechanism, &mut ws, &state) / 0.005);
            }
            // After a change of the step the guess is the previous value: all of Newton's way shows.
            step(&mut ws, &mut state, 0.02);
            let merits = ws.convergence().to_vec();
            let gap = engine.gap(&mechanism, &mut ws, &state);
            let name = mechanism.name();
            let shown: Vec<String> = merits.iter().map(|m| format!("{m:.1e}")).collect();
            println!(
                "{name}: {:.2} iterations, residual {worst:.1e}, gap {gap:.1e}, residuals of a solve {}",
                f64::from(sum) / 100.0,
                shown.join(" ")
            );
            assert!(worst < 1e-10, "{name}: residual {worst:e}");
            assert!(f64::from(sum) / 100.0 <= 2.5, "{name}: {sum} iterations in 100 steps");
            assert!(gap < 1e-12 * f64::max(1.0, n as f64 / 100.0), "{name}: gap {gap:e}");
            // Quadratic: every residual below the square of the one before, up to a constant, down to rounding.
            assert!(merits.len() >= 3 && merits[merits.len() - 1] < 1e-10, "{name}: {merits:?}");
            for pair in merits.windows(2).filter(|pair| pair[0] < 0.1) {
                assert!(pair[1] < 1e3 * pair[0] * pair[0] + 1e-10, "{name}: {merits:?}");
            }
        }
    }
}

#[test]
fn block_operations_grow_linearly() {
    let engine = Maximal::default();
    let count = |model: ModelDescription| {
        let mechanism = build(model);
        let mut ws = engine.workspace(&mechanism).expect("served");
        let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("consistent");
        engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.001).expect("step");
        ws.block_operations() as f64
    };
    for (small, large) in [
        (chain(64), chain(128)),
        (ball_chain(64), ball_chain(128)),
        (four_bars(16), four_bars(32)),
        (rhombus_chain(8), rhombus_chain(16)),
    ] {
        let ratio = count(large) / count(small);
        assert!(ratio <= 2.1, "ratio {ratio}");
    }
}

/// A step too large for a fast spin is split; the report says so.
#[test]
fn a_whipping_chain_is_solved_by_splitting_steps() {
    let mechanism = build(chain(4));
    let mut start = mechanism.start_state();
    start.v = vec![60.0, -90.0, 80.0, 100.0];
    let mut sim =
        Simulator::new(&mechanism, Method::Maximal, &MethodOptions::default(), &start).expect("served");
    let mut splits = 0;
    for _ in 0..20 {
        splits += sim.step(&[], 0.01).expect("step").splits;
        assert!(sim.gap() <= 1e-11);
    }
    assert!(splits > 0);
    // Cayley's map has a solution for every spin.
    let cayley = Maximal { map: RotationMap::Cayley, ..Maximal::default() };
    let mut sim = Simulator::with(&mechanism, cayley, &start).expect("served");
    for _ in 0..20 {
        sim.step(&[], 0.01).expect("step");
    }
}

#[test]
fn enforced_limits_hold_and_do_not_pull() {
    let mut model = chain(2);
    for joint in &mut model.joints {
        joint.limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-0.2)),
            upper: Some(PerCoordinate::One(0.6)),
            ..Default::default()
        });
    }
    let mechanism = build(model);
    let mut options = MethodOptions::default();
    options.maximal.enforce_limits = true;
    let mut sim =
        Simulator::new(&mechanism, Method::Maximal, &options, &mechanism.start_state()).expect("served");
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    for _ in 0..1000 {
        sim.step(&[], 0.005).expect("step");
        for q in &sim.state().q {
            lowest = lowest.min(*q);
            highest = highest.max(*q);
        }
    }
    assert!(lowest > -0.2 - 1e-9 && highest < 0.6 + 1e-9, "{lowest} {highest}");
    assert!(lowest < -0.2 + 1e-3, "the limit was reached: {lowest}");
}

/// A four-bar with upper limits of crank and rocker, and its start put inside of them, where its loop is open.
fn four_bar_within(crank: f64, rocker: f64) -> (Mechanism, leastaction::mechanism::State) {
    let mut model = four_bar();
    for (name, upper) in [("crank_pivot", crank), ("rocker_pivot", rocker)] {
        let joint = model.joints.iter_mut().find(|joint| joint.name == name).expect("joint");
        joint.limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-4.0)),
            upper: Some(PerCoordinate::One(upper)),
            ..Default::default()
        });
    }
    let mechanism = build(model);
    let mut start = mechanism.start_state();
    for row in mechanism.rows() {
        let at = row.coordinate().expect("a hinge");
        start.q[at.q] = start.q[at.q].clamp(row.lower, row.upper);
    }
    (mechanism, start)
}

#[test]
fn loops_of_a_start_within_limits_are_closed_within_them() {
    let options = MethodOptions::default();
    for (crank, rocker) in [(2.4, 2.5), (2.0, 4.0), (4.0, 2.6), (2.5, 2.6)] {
        let (mechanism, start) = four_bar_within(crank, rocker);
        let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &start).expect("served");
        for step in 0..200 {
            assert!(sim.gap() < 1e-13, "crank {crank}, rocker {rocker}, step {step}: {:e}", sim.gap());
            for row in mechanism.rows() {
                let q = sim.state().q[row.coordinate().expect("a hinge").q];
                let beyond = q - q.clamp(row.lower, row.upper);
                assert!(
                    beyond.abs() < 1e-9,
                    "`{}` of {crank}, {rocker} in step {step}: {beyond:e}",
                    row.name
                );
            }
            sim.step(&[], 0.005).expect("step");
        }
    }
    // The rocker does not get below 2.498: where no closed pose is within the limits the loop is closed all the same.
    let (mechanism, start) = four_bar_within(4.0, 2.2);
    let mut sim = Simulator::new(&mechanism, Method::Maximal, &options, &start).expect("served");
    assert!(sim.gap() < 1e-13);
}

/// A blade on a plane, written by a user: the same motion as the built-in knife edge.
#[derive(Debug)]
pub(crate) struct Blade;

impl VelocityConstraint for Blade {
    fn rows(&self) -> usize {
        1
    }
    fn node_rows(&self, pose: &Pose, out: &mut [[f64; 6]]) {
        let e = pose.rot.column(1);
        out[0] = [0.0, 0.0, 0.0, e[0], e[1], e[2]];
    }
    fn residual(&self, i: &Interval, out: &mut [f64]) {
        out[0] = (i.start.rot.column(1) + i.end.rot.column(1)).dot(i.v) * 0.5;
    }
    fn slopes(&self, i: &Interval, out: &mut [IntervalSlope]) {
        // d(R'e) = R'(δ × e): e·… = δ·(e × R'ᵀv)
        let e = Vec3([0.0, 1.0, 0.0]);
        out[0] = IntervalSlope {
            end_rotation: e.cross(i.end.rot.tr_mul(i.v)) * 0.5,
            v: (i.start.rot.column(1) + i.end.rot.column(1)) * 0.5,
            ..Default::default()
        };
    }
}

#[test]
fn a_velocity_constraint_of_the_users_is_as_good_as_a_built_in_one() {
    use leastaction::mechanism::{BodyDescription, ConstraintDescription, JointDescription, WORLD};
    let mut model = ModelDescription::new("sledge");
    model.bodies.push(BodyDescription {
        name: "sledge".into(),
        mass: 1.0,
        com: [0.0; 3],
        inertia: [0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    model.joints.push(JointDescription::new("plane", JointType::Planar, WORLD, "sledge"));
    let own = build(model.clone());
    model.constraints.push(ConstraintDescription::KnifeEdge {
        name: "blade".into(),
        body: "sledge".into(),
        direction: [0.0, 1.0, 0.0],
    });
    let built_in = build(model);
    let mut start = own.neutral_state();
    start.v = vec![1.0, 0.0, 0.7];
    let engine = Maximal::default().with_constraint("sledge", Arc::new(Blade));
    let mut a = Simulator::with(&own, engine, &start).expect("served");
    let mut b =
        Simulator::new(&built_in, Method::Maximal, &MethodOptions::default(), &start).expect("served");
    for _ in 0..100 {
        a.step(&[], 0.01).expect("step");
        b.step(&[], 0.01).expect("step");
    }
    let (a, b) = (a.state().clone(), b.state().clone());
    assert!(crate::support::worst(&a.q, &b.q) < 1e-12 && crate::support::worst(&a.v, &b.v) < 1e-11);
    assert!(a.q[1].abs() > 0.1, "it turns");
}

/// A slide that is nearly in the plane its carrier moves in: what holds its end out of the plane all but follows from the rest, and
/// holds it nevertheless. A guess of the pose must not be what decides.
#[test]
fn rows_that_nearly_follow_from_others_are_kept_at_every_order() {
    for tilt in [5e-5, 3e-4, 1e-3, 5e-3] {
        let mut model = chain(2);
        model.states.clear();
        model.joints[0].kind = JointType::Planar;
        model.joints[0].axis = Some([0.0, 1.0, 0.0]);
        model.joints[1].kind = JointType::Prismatic;
        model.joints[1].axis = Some([1.0, tilt, 0.0]);
        model.joints.iter_mut().for_each(|joint| joint.limits = None);
        let end = model.bodies[1].name.clone();
        let mut closure = JointDescription::new("closure", JointType::Spherical, WORLD, end);
        closure.role = Some(JointRole::Loop);
        closure.child_placement = Placement::at([0.0, 0.0, -0.4]);
        let tree = build(model.clone());
        let mut kinematics = Kinematics::new(&tree);
        kinematics.update_positions(&tree, &tree.neutral_state().q);
        let body = tree.body_by_name(&model.bodies[1].name).unwrap();
        closure.parent_placement =
            Placement::at(kinematics.body_pose(&tree, body).point(Vec3([0.0, 0.0, -0.4])).0);
        model.joints.push(closure);
        let mechanism = build(model);
        let mut start = mechanism.neutral_state();
        start.v[2] = 1.0;
        let mut ends = Vec::new();
        for order in [2, 4, 6] {
            let options = MethodOptions { order: Some(order), ..MethodOptions::default() };
            let mut simulator = Simulator::new(&mechanism, Method::Maximal, &options, &start).unwrap();
            let mut dynamics = Dynamics::<f64>::new(&mechanism);
            let mut energy = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v).total();
            let first = energy(simulator.state());
            for _ in 0..400 {
                simulator.step(&[], 1e-3).unwrap();
                let off = (energy(simulator.state()) - first).abs();
                assert!(off < 1e-4, "tilt {tilt:e}, order {order}: {off:e} J");
            }
            // The slide is held to the last digits that the tilt leaves it.
            let slid = simulator.state().q[3].abs();
            assert!(slid < 1e-12 / tilt, "tilt {tilt:e}, order {order}: slid by {slid:e} m");
            ends.push(simulator.state().q[2]);
        }
        assert!(
            (ends[1] - ends[2]).abs() < 1e-9 && (ends[0] - ends[2]).abs() < 1e-4,
            "tilt {tilt:e}: {ends:?}"
        );
    }
}
