//! `cargo bench`: the cases of `leastaction bench`, for a quick look while working on a kernel.
//!
//! Published figures come from `leastaction bench`, which keeps the least of each piece of a run and counts instructions.

#![allow(missing_docs, reason = "a benchmark has no readers of its documentation")]

use divan::{Bencher, black_box};
use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{Coordinates, Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator};
use leastaction::jet::TorqueJacobian;
use leastaction::mechanism::{Mechanism, MechanismBuilder, ModelDescription, samples};

fn main() {
    divan::main();
}

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("the samples are right")
}

/// One step in the middle of a motion.
fn step(bencher: Bencher<'_, '_>, model: ModelDescription, method: Method, order: Option<u32>, h: f64) {
    let mechanism = build(model);
    let options = MethodOptions { order, ..MethodOptions::default() };
    let mut simulator =
        Simulator::new(&mechanism, method, &options, &mechanism.start_state()).expect("it can start");
    bencher.bench_local(|| simulator.step(&[], h).expect("it can step").iterations);
}

#[divan::bench(args = [2, 4, 6])]
fn minimal_chain_32(bencher: Bencher<'_, '_>, order: u32) {
    step(bencher, samples::chain(32), Method::Minimal, Some(order), 0.005);
}

#[divan::bench(args = [32, 100, 200])]
fn maximal_chain(bencher: Bencher<'_, '_>, n: usize) {
    step(bencher, samples::chain(n), Method::Maximal, Some(2), 0.005);
}

#[divan::bench(args = [32, 100])]
fn maximal_ball_chain(bencher: Bencher<'_, '_>, n: usize) {
    step(bencher, samples::ball_chain(n), Method::Maximal, Some(2), 0.005);
}

#[divan::bench(args = [2, 10, 50])]
fn maximal_four_bars(bencher: Bencher<'_, '_>, k: usize) {
    step(bencher, samples::four_bars(k), Method::Maximal, Some(2), 0.001);
}

#[divan::bench]
fn rk4_chain_32(bencher: Bencher<'_, '_>) {
    step(bencher, samples::chain(32), Method::Rk4, None, 0.001);
}

#[divan::bench(args = [10, 100])]
fn forward_dynamics_chain(bencher: Bencher<'_, '_>, n: usize) {
    let mechanism = build(samples::chain(n));
    let mut dynamics = Dynamics::<f64>::new(&mechanism);
    let (q, v, tau, mut a) = (vec![0.1; n], vec![0.2; n], vec![0.0; n], vec![0.0; n]);
    bencher.bench_local(|| dynamics.forward_dynamics_into(&mechanism, black_box(&q), &v, &tau, &mut a));
}

#[divan::bench(args = [0, 1])]
fn torque_jacobian_chain_xy_32(bencher: Bencher<'_, '_>, order: i32) {
    let mechanism = build(samples::chain_xy(32));
    let mut jacobian = TorqueJacobian::new(&mechanism, order).expect("the order is served");
    let row = vec![0.3; mechanism.nv()];
    let rows = vec![row.as_slice(); order as usize + 2];
    bencher.bench_local(|| jacobian.evaluate(black_box(&row), &rows).is_ok());
}

#[divan::bench(args = [10, 50])]
fn linearized_step_chain(bencher: Bencher<'_, '_>, n: usize) {
    let mechanism = build(samples::chain(n));
    let integrator = Minimal::new(MinimalOptions::default()).expect("the default is right");
    let mut workspace = integrator.workspace(&mechanism).expect("it is served");
    let start = integrator.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("it can start");
    let (input, mut state) = (Input { u: &[] }, start.clone());
    let mut out = integrator
        .linearize(&mechanism, &mut workspace, &mut state, input, 0.005, Coordinates::Velocity)
        .expect("it can step");
    bencher.bench_local(|| {
        state.clone_from(&start);
        integrator.linearize_into(&mechanism, &mut workspace, &mut state, input, 0.005, &mut out).is_ok()
    });
}
