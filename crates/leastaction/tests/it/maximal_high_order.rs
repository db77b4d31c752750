//! Steps of order 4 to 12 on poses: orders, what is kept, how they are solved, where they are refused.

use leastaction::integrator::maximal::{
    Maximal, MaximalOptions, MaximalState, MaximalWorkspace, RotationMap,
};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator};
use leastaction::mechanism::samples::{
    ball_chain, bennett, chain, delta, four_bar, four_bars, platform, random_tree, rhombus_chain, rssr,
    slider_crank, stewart,
};
use leastaction::mechanism::{
    BodyDescription, ConstraintDescription, JointDescription, JointType, LimitsDescription, Mechanism,
    MechanismBuilder, ModelDescription, PerCoordinate, State,
};

use leastaction_maximal::reference::curve_step;

use crate::no_alloc::allocations;
use crate::support::{force_tree, mixed_tree, random_state, worst};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

fn of_order(order: u32) -> Maximal {
    Maximal { order, ..Maximal::default() }
}

fn started(mechanism: Mechanism, seed: u64, scale: f64) -> (Mechanism, State) {
    let mut start = mechanism.start_state();
    let (q, v) = random_state(&mechanism, seed);
    if mechanism.loop_joints().next().is_none() {
        start.q = q;
        start.v = v.iter().map(|v| v * scale).collect();
    }
    (mechanism, start)
}

fn run(mechanism: &Mechanism, engine: &Maximal, start: &State, steps: u32, h: f64) -> State {
    let mut sim = Simulator::with(mechanism, engine.clone(), start).expect("served");
    let u = vec![0.4; mechanism.nu()];
    for _ in 0..steps {
        let report = sim.step(&u, h).expect("step");
        assert_eq!(report.splits + report.fallbacks, 0, "{}", mechanism.name());
    }
    sim.state().clone()
}

fn errors(mechanism: &Mechanism, state: &State, exact: &State) -> [f64; 2] {
    let mut dq = vec![0.0; mechanism.nv()];
    mechanism.difference(&state.q, &exact.q, &mut dq);
    [worst(&dq, &vec![0.0; dq.len()]), worst(&state.v, &exact.v)]
}

/// A disc that rolls on the ground with a pendulum hung from its centre by a hinge.
fn unicycle() -> (Mechanism, State) {
    let mut model = ModelDescription::new("unicycle");
    model.bodies.push(BodyDescription {
        name: "wheel".into(),
        mass: 1.0,
        inertia: [0.02, 0.04, 0.02, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    model.bodies.push(BodyDescription {
        name: "rider".into(),
        mass: 0.7,
        com: [0.0, 0.1, -0.2],
        inertia: [0.03, 0.03, 0.01, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    let mut hub = JointDescription::new("hub", JointType::Revolute, "wheel", "rider");
    hub.axis = Some([0.0, 1.0, 0.0]);
    model.joints.push(hub);
    model.constraints.push(ConstraintDescription::RollingDisc {
        name: "ground".into(),
        body: "wheel".into(),
        axis: [0.0, 1.0, 0.0],
        radius: 0.3,
    });
    let mechanism = build(model);
    let mut start = mechanism.start_state();
    // The floating joint of the wheel: quaternion, position; then the hub.
    let lean: f64 = 0.2;
    let half = 0.5 * lean;
    start.q[..7].copy_from_slice(&[half.cos(), half.sin(), 0.0, 0.0, 0.0, 0.0, 0.3 * lean.cos()]);
    start.v[..6].copy_from_slice(&[0.1, 4.0, 0.3, 0.0, 0.0, 0.0]);
    start.v[6] = -2.0;
    (mechanism, start)
}

/// The rule: steps of 0.4 s in `4, 6, 8, 12, …` parts; the last four errors between 1e-9 and 1e-3 count (below, the spin of
/// a thin rod shows its rounding), at least three; the order is the slope of the line through their logarithms.
fn measured_order(name: &str, mechanism: &Mechanism, start: &State, order: u32, exact: &State) -> [f64; 2] {
    let mut points: [Vec<(f64, f64)>; 2] = Default::default();
    for steps in [4u32, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192] {
        let mut sim = Simulator::with(mechanism, of_order(order), start).expect("served");
        let u = vec![0.4; mechanism.nu()];
        let whole = (0..steps).all(|_| {
            let report = sim.step(&u, 0.4 / f64::from(steps)).expect("step");
            report.splits + report.fallbacks == 0
        });
        // Steps that had to be split are not of this length.
        if !whole {
            continue;
        }
        let found = errors(mechanism, sim.state(), exact);
        for (points, e) in points.iter_mut().zip(found) {
            if (1e-9..=1e-3).contains(&e) {
                points.push((f64::from(steps).log2(), e.log2()));
            }
        }
        if found.iter().all(|e| *e < 1e-9) {
            break;
        }
    }
    let slopes = points.map(|points| {
        let points = &points[points.len().saturating_sub(4)..];
        assert!(points.len() >= 3, "{name}, order {order}: only {} errors", points.len());
        let n = points.len() as f64;
        let mean = points.iter().fold((0.0, 0.0), |m, p| (m.0 + p.0 / n, m.1 + p.1 / n));
        let top: f64 = points.iter().map(|(x, y)| (x - mean.0) * (y - mean.1)).sum();
        let bottom: f64 = points.iter().map(|(x, _)| (x - mean.0) * (x - mean.0)).sum();
        -top / bottom
    });
    println!("order {order}, {name}: positions {:.2}, velocities {:.2}", slopes[0], slopes[1]);
    slopes
}

#[test]
fn steps_are_of_their_order_on_pendulums_and_redundant_loops() {
    let cases = [
        ("double pendulum", started(build(chain(2)), 3, 1.0)),
        ("four-bar of four revolutes", started(build(four_bar()), 4, 1.0)),
        ("three loops in a row", started(build(four_bars(3)), 7, 1.0)),
    ];
    for (name, (mechanism, start)) in cases {
        let exact = run(&mechanism, &of_order(12), &start, 160, 0.4 / 160.0);
        // Higher orders reach rounding within a few steps: reference data checks those.
        for s in measured_order(name, &mechanism, &start, 4, &exact) {
            assert!((s - 4.0).abs() <= 0.2, "{name}: slope {s}");
        }
    }
}

#[test]
fn the_limit_of_fine_steps_is_that_of_another_method() {
    for (mechanism, start) in [started(mixed_tree(1, 8), 5, 0.5), started(force_tree(3), 6, 0.5)] {
        let ours = run(&mechanism, &of_order(8), &start, 40, 0.01);
        let options = MethodOptions { tolerance: Some(1e-13), ..Default::default() };
        let mut sim = Simulator::new(&mechanism, Method::Dop853, &options, &start).expect("served");
        sim.step(&vec![0.4; mechanism.nu()], 0.4).expect("step");
        let error = errors(&mechanism, &ours, sim.state());
        assert!(error[0] < 1e-10 && error[1] < 1e-9, "{}: {error:?}", mechanism.name());
    }
}

/// Every joint kind in the tree, every linkage: nodes side by side in lanes are the nodes one by one.
#[test]
fn nodes_side_by_side_take_the_steps_of_nodes_one_by_one() {
    let kinds = [
        JointType::Revolute,
        JointType::Prismatic,
        JointType::Cylindrical,
        JointType::Universal,
        JointType::Spherical,
        JointType::Planar,
        JointType::Floating,
    ];
    let mut cases: Vec<(Mechanism, State)> =
        (1..=6).map(|seed| started(build(random_tree(seed, 7, &kinds)), seed, 0.5)).collect();
    for model in [four_bar(), slider_crank(), rssr(), bennett(), platform(), stewart(), delta(), four_bars(3)]
    {
        cases.push(started(build(model), 1, 1.0));
    }
    for (mechanism, start) in &cases {
        for order in [4, 6] {
            let apart = Maximal { node_by_node: true, ..of_order(order) };
            let (a, b) = (
                run(mechanism, &of_order(order), start, 30, 0.004),
                run(mechanism, &apart, start, 30, 0.004),
            );
            let error = errors(mechanism, &a, &b);
            assert!(error[0] < 1e-11 && error[1] < 1e-9, "{} {order}: {error:?}", mechanism.name());
        }
    }
}

#[test]
fn steps_back_lead_back() {
    for (mechanism, start) in [
        started(build(four_bar()), 1, 1.0),
        started(build(ball_chain(3)), 2, 1.0),
        started(build(chain(4)), 3, 1.0),
    ] {
        for order in [4, 6, 8] {
            let mut sim = Simulator::with(&mechanism, of_order(order), &start).expect("served");
            let first = sim.state().clone();
            for h in [0.01, -0.01] {
                for _ in 0..40 {
                    sim.step(&[], h).expect("step");
                }
            }
            let error = errors(&mechanism, sim.state(), &first);
            assert!(error[0] < 1e-11 && error[1] < 1e-9, "{} {order}: {error:?}", mechanism.name());
        }
    }
}

/// A step is that of dense Newton on equations made by differentiating the action.
#[test]
fn steps_are_those_of_the_slow_twin() {
    for (mechanism, start) in [
        started(build(chain(2)), 3, 1.0),
        started(build(ball_chain(2)), 4, 0.5),
        started(mixed_tree(1, 3), 5, 0.5),
    ] {
        for s in [1, 2, 3] {
            let engine = Maximal { general: true, ..of_order(2 * s) };
            let mut ws = engine.workspace(&mechanism).expect("served");
            let mut state = engine.start(&mechanism, &mut ws, &start).expect("closed");
            let twin = curve_step(&ws, &state, s as usize, 0.02).expect("the twin converges");
            engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, 0.02).expect("step");
            for (ours, (q, x)) in ws.snapshot(&state).iter().zip(twin) {
                let turn = (ours.q.conj() * q).v.norm();
                assert!(
                    turn < 1e-9 && (ours.x - x).norm() < 1e-10,
                    "{}, s = {s}: {turn:e}",
                    mechanism.name()
                );
            }
        }
    }
}

/// The two ways to solve a step find the same one.
#[test]
fn the_mass_matrix_and_the_exact_matrix_agree() {
    for (mechanism, start) in [
        started(build(four_bar()), 1, 1.0),
        started(force_tree(3), 6, 0.5),
        started(build(rhombus_chain(2)), 3, 1.0),
        unicycle(),
    ] {
        let [chord, exact] =
            [false, true].map(|exact| run(&mechanism, &Maximal { exact, ..of_order(4) }, &start, 10, 0.01));
        let error = errors(&mechanism, &chord, &exact);
        assert!(error[0] < 1e-11 && error[1] < 1e-9, "{}: {error:?}", mechanism.name());
    }
}

#[test]
fn redundant_loops_stay_closed_and_their_energy_stays_where_it_was() {
    let mechanism = build(four_bar());
    for (order, h, band) in [(4, 0.02, 1e-2), (6, 0.02, 1e-3)] {
        let engine = of_order(order);
        let mut ws = engine.workspace(&mechanism).expect("served");
        let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("closed");
        let energy = |ws: &mut MaximalWorkspace, state: &MaximalState| {
            let (kinetic, potential) = ws.energy(state);
            kinetic + potential
        };
        let first = energy(&mut ws, &state);
        for step in 0..2000 {
            let report = engine.step(&mechanism, &mut ws, &mut state, Input { u: &[] }, h).expect("step");
            assert_eq!((report.splits, report.fallbacks, report.dropped_rank), (0, 0, 3), "step {step}");
            let gap = engine.gap(&mechanism, &mut ws, &state);
            assert!(gap < 1e-12, "step {step}: {gap:e}");
            let change = (energy(&mut ws, &state) - first).abs();
            assert!(change < band, "order {order}, step {step}: {change:e}");
        }
    }
}

/// Links that fold onto each other pass through, with the exact matrix where it is needed.
#[test]
fn rhombi_pass_through_their_folded_poses() {
    for order in [4, 6] {
        let mechanism = build(rhombus_chain(3));
        let mut sim = Simulator::with(&mechanism, of_order(order), &mechanism.start_state()).expect("served");
        for step in 0..300 {
            sim.step(&[], 0.01).unwrap_or_else(|e| panic!("order {order}, step {step}: {e}"));
            assert!(sim.gap() < 1e-11, "order {order}, step {step}: {:e}", sim.gap());
        }
    }
}

#[test]
fn a_run_continues_bit_for_bit_from_its_checkpoint() {
    let mechanism = build(four_bar());
    let mut sim = Simulator::with(&mechanism, of_order(6), &mechanism.start_state()).expect("served");
    let ten = |sim: &mut Simulator<&Mechanism>| {
        for _ in 0..10 {
            sim.step(&[], 0.01).expect("step");
        }
    };
    ten(&mut sim);
    let middle = sim.checkpoint();
    ten(&mut sim);
    let mut again = Simulator::with(&mechanism, of_order(6), &middle).expect("served");
    assert!(!again.warm_start_dropped());
    ten(&mut again);
    assert_eq!(again.state(), sim.state());
}

#[test]
fn steps_on_loops_do_not_allocate() {
    let mechanism = build(four_bars(2));
    let mut sim = Simulator::with(&mechanism, of_order(4), &mechanism.start_state()).expect("served");
    sim.step(&[], 0.005).expect("step");
    sim.state();
    let count = allocations(|| {
        for _ in 0..100 {
            sim.step(&[], 0.005).expect("step");
            std::hint::black_box(sim.state());
        }
    });
    assert_eq!(count, 0);
}

#[test]
fn orders_that_are_not_there_are_refused_with_those_that_are() {
    for order in [1, 3, 5, 14, 100] {
        let error =
            Maximal::with_options(Some(order), None, &MaximalOptions::default()).expect_err("refused");
        assert!(error.to_string().contains("even orders 2 to 12"), "{error}");
    }
    let cayley = MaximalOptions { rotation_map: RotationMap::Cayley, ..Default::default() };
    let error = Maximal::with_options(Some(4), None, &cayley).expect_err("refused").to_string();
    assert!(error.contains("Cayley"), "{error}");
    assert!(Maximal::with_options(Some(12), None, &MaximalOptions::default()).is_ok());
}

/// Near a limit that is held, steps are of order 2; away from it they are not.
#[test]
fn limits_hold_at_any_order() {
    let mut model = chain(1);
    model.joints[0].limits = Some(LimitsDescription {
        lower: Some(PerCoordinate::One(-0.5)),
        upper: Some(PerCoordinate::One(0.5)),
        ..Default::default()
    });
    let mut mechanism = build(model);
    // Not by the driver of events, which steps at order 2: by rows of the engine.
    mechanism.release_limits();
    let mut start = mechanism.start_state();
    (start.q[0], start.v[0]) = (0.0, 3.0);
    let engine = Maximal { enforce_limits: true, ..of_order(6) };
    let mut sim = Simulator::with(&mechanism, engine, &start).expect("served");
    for _ in 0..400 {
        sim.step(&[], 0.01).expect("step");
        let q = sim.state().q[0];
        assert!((-0.5 - 1e-9..=0.5 + 1e-9).contains(&q), "{q}");
    }
}

/// The four-bar with every placement off by `eps` of its size, scaled to `size` metres.
fn misaligned_four_bar(eps: f64, size: f64) -> Mechanism {
    let mut model = four_bar();
    let mut seed = 7u64;
    let mut off = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        eps * ((seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0)
    };
    for body in &mut model.bodies {
        body.com = body.com.map(|x| x * size);
        body.mass *= size.powi(3);
        body.inertia = body.inertia.map(|x| x * size.powi(5));
    }
    for joint in &mut model.joints {
        for placement in [&mut joint.parent_placement, &mut joint.child_placement] {
            placement.p = placement.p.map(|x| (x + off()) * size);
            let [w, x, y, z] = placement.q;
            let q = [w, x + off(), y + off(), z + off()];
            let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
            placement.q = q.map(|x| x / norm);
        }
    }
    build(model)
}

/// Largest change of the energy over 2000 steps, of the energy that is there to change; and what rows out of use are open by.
fn energy_band(mechanism: &Mechanism, order: u32, h: f64) -> (f64, f64) {
    let engine = of_order(order);
    let mut ws = engine.workspace(mechanism).expect("served");
    let mut state = engine.start(mechanism, &mut ws, &mechanism.start_state()).expect("closed");
    let total = |(kinetic, potential): (f64, f64)| kinetic + potential;
    let first = total(ws.energy(&state));
    let (mut band, mut most, mut open) = (0.0f64, 0.0f64, 0.0f64);
    for step in 0..2000 {
        let report = engine
            .step(mechanism, &mut ws, &mut state, Input { u: &[] }, h)
            .unwrap_or_else(|e| panic!("{} order {order}, step {step}: {e}", mechanism.name()));
        let energy = ws.energy(&state);
        most = most.max(energy.0);
        band = band.max((total(energy) - first).abs());
        open = open.max(report.inconsistency);
    }
    (band / most, open)
}

/// Data with four to seven digits: redundant rows are left out, energy stays in its band, what is left open is told.
#[test]
fn loops_of_rounded_data_do_not_lock() {
    for order in [2, 4] {
        let (aligned, open) = energy_band(&misaligned_four_bar(0.0, 1.0), order, 0.01);
        assert_eq!(open, 0.0);
        for eps in [1e-7, 1e-6, 1e-5, 1e-4] {
            let (band, open) = energy_band(&misaligned_four_bar(eps, 1.0), order, 0.01);
            println!(
                "order {order}, off by {eps:.0e}: energy within {band:.1e} ({aligned:.1e}), open by {open:.1e}"
            );
            // The mechanism itself is another one by eps.
            assert!(band <= 3.0 * aligned + 30.0 * eps, "order {order}, {eps:e}: {band:e} {aligned:e}");
            assert!((0.1 * eps..30.0 * eps).contains(&open), "order {order}, {eps:e}: {open:e}");
        }
    }
    // Machines of other sizes and the same shape move alike in times that go with the root of the size.
    for size in [1e-3f64, 10.0] {
        let h = 0.01 * size.sqrt();
        let (aligned, _) = energy_band(&misaligned_four_bar(0.0, size), 4, h);
        let (band, _) = energy_band(&misaligned_four_bar(1e-5, size), 4, h);
        assert!(band <= 3.0 * aligned + 3e-4, "{size} m: {band:e} {aligned:e}");
    }
}
