//! The baselines have their orders and agree with closed forms.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State, samples};

use crate::support::{force_tree, mixed_tree, random_state};

/// State after `time`, in steps of `h`.
fn run(mechanism: &Mechanism, method: Method, start: &State, h: f64, time: f64, tolerance: f64) -> State {
    let options = MethodOptions { tolerance: Some(tolerance), ..Default::default() };
    let mut sim = Simulator::new(mechanism, method, &options, start).expect("served");
    let u = vec![0.4; mechanism.nu()];
    for _ in 0..(time / h).round() as usize {
        sim.step(&u, h).expect("step");
    }
    sim.state().clone()
}

fn distance(mechanism: &Mechanism, a: &State, b: &State) -> f64 {
    let mut u = vec![0.0; mechanism.nv()];
    mechanism.difference(&a.q, &b.q, &mut u);
    u.iter().copied().chain(a.v.iter().zip(&b.v).map(|(x, y)| x - y)).fold(0.0, |m, x: f64| m.max(x.abs()))
}

/// Least-squares slope of log error over log h.
fn slope(errors: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = errors.iter().map(|(h, e)| (h.ln(), e.ln())).collect();
    let n = logs.len() as f64;
    let (mx, my) = (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
    logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum::<f64>()
        / logs.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>()
}

#[test]
fn rk4_has_order_four_and_euler_order_one_on_every_joint_kind() {
    for mechanism in [mixed_tree(11, 5), force_tree(5)] {
        let (q, v) = random_state(&mechanism, 4);
        let start = State { q, v, ..State::default() };
        let exact = run(&mechanism, Method::Dop853, &start, 0.1, 0.4, 1e-13);
        for (method, order, steps) in [
            (Method::Rk4, 4.0, [0.02, 0.01, 0.005, 0.0025]),
            (Method::SemiImplicit, 1.0, [4e-3, 2e-3, 1e-3, 5e-4]),
        ] {
            let errors: Vec<(f64, f64)> = steps
                .iter()
                .map(|h| (*h, distance(&mechanism, &run(&mechanism, method, &start, *h, 0.4, 1e-10), &exact)))
                .collect();
            let found = slope(&errors);
            assert!((found - order).abs() < 0.2, "{method:?} on {}: {found} {errors:?}", mechanism.name());
        }
    }
}

#[test]
fn dop853_does_not_depend_on_how_the_time_is_cut_into_steps() {
    let mechanism = mixed_tree(2, 6);
    let (q, v) = random_state(&mechanism, 9);
    let start = State { q, v, ..State::default() };
    let coarse = run(&mechanism, Method::Dop853, &start, 0.5, 1.0, 1e-13);
    let fine = run(&mechanism, Method::Dop853, &start, 0.01, 1.0, 1e-13);
    assert!(distance(&mechanism, &coarse, &fine) < 1e-10, "{:e}", distance(&mechanism, &coarse, &fine));
}

#[test]
fn dop853_keeps_the_energy_of_a_conservative_tree_to_its_tolerance() {
    let mechanism = mixed_tree(7, 6);
    let (q, v) = random_state(&mechanism, 1);
    let mut dynamics = Dynamics::new(&mechanism);
    let before = dynamics.observe(&mechanism, &q, &v).total();
    let end = run(&mechanism, Method::Dop853, &State { q, v, ..State::default() }, 0.05, 1.0, 1e-13);
    let after = dynamics.observe(&mechanism, &end.q, &end.v).total();
    assert!((after - before).abs() < 1e-10 * before.abs().max(1.0), "{before} {after}");
}

/// Compound pendulum at small and large amplitude: period by the arithmetic–geometric mean.
#[test]
fn a_pendulum_has_the_period_of_the_elliptic_integral() {
    let mechanism = MechanismBuilder::from(samples::chain(1)).build().expect("valid");
    // Rod of 1 m about its end: I = 1/12 + 1/4, ω₀² = m g l/2 / I.
    let omega = (9.81f64 * 0.5 / (1.0 / 12.0 + 0.25)).sqrt();
    for amplitude in [0.1f64, 1.0, 3.0] {
        let (mut a, mut b) = (1.0, (amplitude / 2.0).cos());
        for _ in 0..6 {
            (a, b) = ((a + b) / 2.0, f64::sqrt(a * b));
        }
        let quarter = std::f64::consts::FRAC_PI_2 / (a * omega);
        let start = State { q: vec![amplitude], ..mechanism.neutral_state() };
        let end = run(&mechanism, Method::Dop853, &start, quarter, quarter, 1e-13);
        assert!(end.q[0].abs() < 1e-10, "amplitude {amplitude}: {:e}", end.q[0]);
    }
}

#[test]
fn a_checkpoint_continues_bit_for_bit() {
    for mechanism in [mixed_tree(2, 6), force_tree(1)] {
        for method in [Method::Rk4, Method::SemiImplicit, Method::Dop853] {
            let options = MethodOptions::default();
            let u = vec![0.2; mechanism.nu()];
            let start = mechanism.start_state();
            let mut straight = Simulator::new(&mechanism, method, &options, &start).expect("served");
            for _ in 0..50 {
                straight.step(&u, 2e-3).expect("step");
            }
            let middle = straight.checkpoint();
            let mut resumed = Simulator::new(&mechanism, method, &options, &middle).expect("served");
            for _ in 0..50 {
                straight.step(&u, 2e-3).expect("step");
                resumed.step(&u, 2e-3).expect("step");
            }
            assert_eq!(straight.checkpoint().q, resumed.checkpoint().q, "{method:?}");
            assert_eq!(straight.checkpoint().v, resumed.checkpoint().v, "{method:?}");
        }
    }
}
