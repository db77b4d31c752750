//! The engine in joint coordinates is linear in the size of the mechanism, however long, deep or wide.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates, Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, ModelDescription, State, samples};

/// Mean iterations of the first steps of 5 ms, none of which may fail, be repeated or halved.
fn mean_iterations(model: ModelDescription, order: u32, steps: u32) -> f64 {
    let name = model.name.clone();
    let mechanism = MechanismBuilder::from(model).build().expect("valid");
    let options = MinimalOptions { order, halve: true, ..MinimalOptions::default() };
    let integrator = Minimal::new(options).expect("options");
    let mut workspace = integrator.workspace(&mechanism).expect("served");
    let mut state = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("start");
    let mut iterations = 0;
    for k in 0..steps {
        let report = integrator
            .step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, 0.005)
            .unwrap_or_else(|error| panic!("{name}, order {order}, step {k}: {error}"));
        assert_eq!((report.halvings, report.retries), (0, 0), "{name}, order {order}, step {k}");
        iterations += report.iterations;
    }
    let mean = f64::from(iterations) / f64::from(steps);
    println!("{name}, order {order}: {mean:.2} iterations");
    mean
}

/// A tree of unit rods: the parent of every body by number, the first on the ground.
fn tree(name: &str, parents: impl Iterator<Item = Option<usize>>) -> ModelDescription {
    let mut model = samples::chain(1);
    let (body, joint) = (model.bodies[0].clone(), model.joints[0].clone());
    model.name = name.into();
    for (i, parent) in parents.enumerate().skip(1) {
        let mut link = body.clone();
        link.name = format!("link{i}");
        model.bodies.push(link);
        let mut hinge = joint.clone();
        hinge.name = format!("joint{i}");
        hinge.child = format!("link{i}");
        if let Some(parent) = parent {
            hinge.parent = format!("link{parent}");
            hinge.parent_placement.p = [0.0, 0.0, -1.0];
        }
        model.joints.push(hinge);
    }
    model
}

/// Ten thousand balls bend within their first step far from where their velocities lead: it is found from shorter steps with the same
/// start and not cut.
#[test]
fn the_first_step_of_a_long_rope_is_taken_whole() {
    let iterations = |n: usize| {
        let mechanism = MechanismBuilder::from(samples::ball_chain(n)).build().expect("valid");
        let options = MethodOptions { order: Some(4), ..MethodOptions::default() };
        let mut run =
            Simulator::new(&mechanism, Method::Minimal, &options, &mechanism.start_state()).expect("served");
        let mut dynamics = Dynamics::<f64>::new(&mechanism);
        let mut observe = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v);
        let start = observe(&mechanism.start_state()).total();
        let mut iterations = 0;
        for _ in 0..20 {
            let report = run.step(&[], 0.005).expect("step");
            assert_eq!(report.halvings, 0, "{n} balls");
            iterations += report.iterations;
        }
        let now = observe(run.state());
        let off = (now.total() - start).abs();
        assert!(off <= 1e-7 * now.kinetic, "{n} balls: energy off by {off:e} of {:e} J", now.kinetic);
        iterations
    };
    let (short, long) = (iterations(100), iterations(10_000));
    assert!(2 * long <= 3 * short, "{long} and {short} iterations in 20 steps");
}

#[test]
fn chains_of_any_length_take_as_many_iterations_as_short_ones() {
    for order in [2, 4] {
        let short = mean_iterations(samples::chain(100), order, 20);
        let short_balls = mean_iterations(samples::ball_chain(100), order, 20);
        for n in [1_500, 6_000] {
            let mean = mean_iterations(samples::chain(n), order, 20);
            assert!(mean <= 1.5 * short, "chain of {n}, order {order}: {mean} and {short}");
        }
        let mean = mean_iterations(samples::ball_chain(2_500), order, 10);
        assert!(mean <= 1.5 * short_balls, "balls, order {order}: {mean} and {short_balls}");
    }
}

/// Slow without optimisation: the bars of the documentation.
#[test]
#[ignore = "a minute and a gigabyte: run before a release"]
fn a_hundred_thousand_links_take_as_many_iterations_as_a_hundred() {
    // Balls beyond order 2: see section 4 of the theory page.
    type Sample = fn(usize) -> ModelDescription;
    let cases: [(Sample, u32); 3] = [(samples::chain, 2), (samples::chain, 4), (samples::ball_chain, 2)];
    for (sample, order) in cases {
        let short = mean_iterations(sample(100), order, 20);
        for n in [10_000, 100_000] {
            let mean = mean_iterations(sample(n), order, 20);
            assert!(mean <= 1.5 * short, "{n}, order {order}: {mean} and {short}");
        }
    }
}

#[test]
fn wide_and_bushy_trees_are_no_harder_than_small_ones() {
    let star = |n: usize| tree("star", (0..n).map(|i| (i > 0).then_some(0)));
    let binary = |n: usize| tree("binary tree", (0..n).map(|i| (i > 0).then(|| (i - 1) / 2)));
    for order in [2, 4] {
        let (small, large) = (mean_iterations(star(100), order, 5), mean_iterations(star(10_000), order, 5));
        assert!(large <= 1.5 * small, "star, order {order}: {large} and {small}");
        let (small, large) =
            (mean_iterations(binary(127), order, 5), mean_iterations(binary(65_535), order, 5));
        assert!(large <= 1.5 * small, "binary tree, order {order}: {large} and {small}");
    }
}

/// A chain of 1,100 has a second origin: what crosses it must not show. Central differences of a step, for coordinates on
/// both sides.
#[test]
fn derivatives_of_a_deep_tree_cross_its_origins() {
    let mechanism = MechanismBuilder::from(samples::chain(1_100)).build().expect("valid");
    let n = mechanism.nv();
    let integrator = Minimal::new(MinimalOptions::tight(2)).expect("options");
    let mut workspace = integrator.workspace(&mechanism).expect("served");
    let mut start = mechanism.start_state();
    start.q.iter_mut().enumerate().for_each(|(c, q)| *q += 0.01 * (c as f64).sin());
    start.v.iter_mut().enumerate().for_each(|(c, v)| *v = 0.1 * (1.7 * c as f64).cos());
    let h = 0.002;
    let mut state = integrator.start(&mechanism, &mut workspace, &start).expect("start");
    let input = Input { u: &[] };
    let slope = integrator
        .linearize(&mechanism, &mut workspace, &mut state, input, h, Coordinates::Velocity)
        .expect("regular");
    // Velocities of a long chain carry noise of about 1e-7, which a small difference would show; positions bend the map.
    for (column, eps) in [(1_010, 1e-3), (1_090, 1e-3), (n + 3, 1e-2), (n + 1_010, 1e-2), (n + 1_090, 1e-2)] {
        let mut moved = |by: f64| {
            let mut there = start.clone();
            if column < n {
                there.q[column] += by
            } else {
                there.v[column - n] += by
            }
            let mut state = integrator.start(&mechanism, &mut workspace, &there).expect("start");
            integrator.step(&mechanism, &mut workspace, &mut state, input, h).expect("step");
            let mut out = State::default();
            integrator.read_out(&mechanism, &mut workspace, &state, &mut out);
            [out.q, out.v].concat()
        };
        let (plus, minus) = (moved(eps), moved(-eps));
        let difference: Vec<f64> = plus.iter().zip(&minus).map(|(a, b)| (a - b) / (2.0 * eps)).collect();
        let exact: Vec<f64> = (0..2 * n).map(|row| slope.a(row, column)).collect();
        let scale = exact.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let worst = exact.iter().zip(&difference).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(worst < 1e-3 * scale, "column {column}: {worst:e} of {scale:e}");
    }
}
