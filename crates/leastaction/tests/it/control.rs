//! Optimal control: costs, small programs, Riccati equations, searches, policies.

use std::sync::atomic::{AtomicBool, Ordering};

use leastaction::control::{
    BoxQp, ControlError, ControlProblem, ControlTerm, ControlTermKind, Costs, IlqrOptions, MinimalPlant,
    Objective, Path, Plant, Stoppable, TrackingWeights, When, equilibrium_input, regulate, riccati,
    solve_control, state_retract, track,
};
use leastaction::dynamics::Dynamics;
use leastaction::integrator::minimal::{
    Coordinates, Linearization, Minimal, MinimalOptions, MinimalWorkspace, Trace,
};
use leastaction::integrator::{Input, Integrator, Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::{
    ActuatorDescription, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription, State,
    ThrusterDescription, samples, samples::Random,
};
use leastaction::optimize::{SolveStatus, Wish};
use leastaction::spatial::{Quat, Vec3};

fn driven(mut model: ModelDescription, joints: &[usize]) -> Mechanism {
    for j in joints {
        let name = model.joints[*j].name.clone();
        model.inputs.push(name.clone());
        model.joints[*j].actuators.push(ActuatorDescription { input: name, coordinate: 0, gear: 1.0 });
    }
    MechanismBuilder::from(model).build().unwrap()
}

/// A floating trunk with a ball joint and a hinge, two thrusters and a motor.
fn mixed() -> Mechanism {
    let mut model = samples::ball_chain(3);
    model.joints[0].kind = JointType::Floating;
    model.joints[2].kind = JointType::Revolute;
    model.joints[2].axis = Some([1.0, 0.0, 0.0]);
    model.states.clear();
    // Rods are next to singular about their axes: differences would drown.
    model.bodies.iter_mut().for_each(|body| body.inertia = [0.1, 0.12, 0.08, 0.0, 0.0, 0.0]);
    model.inputs = vec!["a".into(), "b".into(), "c".into()];
    model.bodies[0].thrusters = vec![
        ThrusterDescription { input: "a".into(), wrench: [0.1, -0.2, 0.3, 0.0, 0.4, 1.0] },
        ThrusterDescription { input: "b".into(), wrench: [0.0, 0.5, 0.0, 1.0, 0.0, 0.2] },
    ];
    model.joints[2].actuators.push(ActuatorDescription { input: "c".into(), coordinate: 0, gear: 2.0 });
    MechanismBuilder::from(model).build().unwrap()
}

fn random_state(mechanism: &Mechanism, rng: &mut Random, size: f64) -> State {
    let tangent: Vec<f64> = (0..2 * mechanism.nv()).map(|_| size * rng.range(-1.0, 1.0)).collect();
    let mut out = mechanism.neutral_state();
    state_retract(mechanism, &mechanism.neutral_state(), &tangent, &mut out);
    out
}

fn every_kind_of_term(mechanism: &Mechanism, goal: &State, when: When) -> Vec<ControlTerm> {
    let body = mechanism.body_by_name("link2").unwrap();
    let weights = |n: usize| (0..n).map(|i| 0.5 + 0.25 * i as f64).collect::<Vec<f64>>();
    let mut kinds = vec![
        ControlTermKind::Position { goal: goal.q.clone(), weights: weights(mechanism.nv()) },
        ControlTermKind::Velocity { goal: goal.v.clone(), weights: weights(mechanism.nv()) },
        ControlTermKind::Point {
            body,
            point: Vec3([0.1, -0.2, -1.0]),
            target: Vec3([0.3, 0.4, -0.5]),
            weights: [1.0, 2.0, 3.0],
        },
        ControlTermKind::Orientation {
            body,
            target: Quat::from_slice(&[0.9, 0.2, -0.3, 0.1]).normalized().to_matrix(),
            weights: [2.0, 1.0, 0.5],
        },
    ];
    if when == When::Path {
        let reference = vec![0.2; mechanism.nu()];
        kinds.push(ControlTermKind::Input { reference, weights: weights(mechanism.nu()) });
    }
    kinds.into_iter().map(|kind| ControlTerm { when, kind }).collect()
}

#[test]
fn gradients_of_every_term_agree_with_differences() {
    let mechanism = mixed();
    let mut rng = Random::new(3);
    let (nx, nu) = (2 * mechanism.nv(), mechanism.nu());
    let goal = random_state(&mechanism, &mut rng, 0.4);
    let x = random_state(&mechanism, &mut rng, 0.6);
    let u = [0.3, -0.4, 0.5];
    let mut terms = every_kind_of_term(&mechanism, &goal, When::Path);
    terms.extend(every_kind_of_term(&mechanism, &goal, When::End));
    let mut costs = Costs::new(&mechanism, terms, 0.1).unwrap();
    let (mut g, mut h) = (vec![0.0; nx + nu], vec![0.0; (nx + nu) * (nx + nu)]);
    costs.expand_stage(0, &x, &u, &mut g, &mut h);
    let (mut g_end, mut h_end) = (vec![0.0; nx], vec![0.0; nx * nx]);
    costs.expand_end(&x, &mut g_end, &mut h_end);
    let size = g.iter().chain(&g_end).fold(0.0f64, |m, x| m.max(x.abs()));
    let d = 1e-5;
    let mut moved = x.clone();
    for i in 0..nx + nu {
        let mut value = |s: f64| {
            let (mut tangent, mut input) = (vec![0.0; nx], u);
            if i < nx {
                tangent[i] = s
            } else {
                input[i - nx] += s
            }
            state_retract(&mechanism, &x, &tangent, &mut moved);
            (costs.stage(0, &moved, &input), costs.end(&moved))
        };
        let (plus, minus) = (value(d), value(-d));
        let slope = ((plus.0 - minus.0) / (2.0 * d), (plus.1 - minus.1) / (2.0 * d));
        assert!((slope.0 - g[i]).abs() < 1e-8 * size, "stage {i}: {} {}", slope.0, g[i]);
        if i < nx {
            assert!((slope.1 - g_end[i]).abs() < 1e-8 * size, "end {i}: {} {}", slope.1, g_end[i]);
        }
    }
}

#[test]
fn where_nothing_is_left_over_the_hessian_is_the_slope_of_the_gradient() {
    // Gauss and Newton leave out what multiplies residuals: at zero residual their Hessian is exact.
    let mechanism = mixed();
    let mut rng = Random::new(8);
    let nx = 2 * mechanism.nv();
    let x = random_state(&mechanism, &mut rng, 0.5);
    let mut dynamics = Dynamics::<f64>::new(&mechanism);
    dynamics.kinematics.update_positions(&mechanism, &x.q);
    let body = mechanism.body_by_name("link2").unwrap();
    let pose = dynamics.kinematics.body_pose(&mechanism, body);
    let point = Vec3([0.1, 0.2, -0.7]);
    let kinds = [
        ControlTermKind::Position { goal: x.q.clone(), weights: vec![1.5; mechanism.nv()] },
        ControlTermKind::Point { body, point, target: pose.point(point), weights: [1.0, 2.0, 3.0] },
        ControlTermKind::Orientation { body, target: pose.rot, weights: [2.0, 1.0, 0.5] },
    ];
    for kind in kinds {
        let terms = vec![ControlTerm { when: When::End, kind }];
        let mut costs = Costs::new(&mechanism, terms, 0.1).unwrap();
        let (mut g, mut h) = (vec![0.0; nx], vec![0.0; nx * nx]);
        costs.expand_end(&x, &mut g, &mut h);
        assert!(g.iter().all(|x| x.abs() < 1e-13), "{g:?}");
        let d = 1e-5;
        let mut moved = x.clone();
        for i in 0..nx {
            let mut gradient = |s: f64| {
                let mut tangent = vec![0.0; nx];
                tangent[i] = s;
                state_retract(&mechanism, &x, &tangent, &mut moved);
                let mut g = vec![0.0; nx];
                costs.expand_end(&moved, &mut g, &mut vec![0.0; nx * nx]);
                g
            };
            let (plus, minus) = (gradient(d), gradient(-d));
            for j in 0..nx {
                let slope = (plus[j] - minus[j]) / (2.0 * d);
                assert!((slope - h[i * nx + j]).abs() < 1e-7, "{i} {j}: {slope} {}", h[i * nx + j]);
            }
        }
    }
}

#[test]
fn the_plant_and_its_slope_agree_with_differences() {
    let mechanism = mixed();
    let mut rng = Random::new(5);
    let (nx, nu) = (2 * mechanism.nv(), mechanism.nu());
    let x = random_state(&mechanism, &mut rng, 0.5);
    let u = [1.0, -0.5, 0.7];
    for order in [2, 4] {
        let mut plant = MinimalPlant::new(&mechanism, order, 0.02).unwrap();
        let (mut next, mut slope) = (x.clone(), Vec::new());
        plant.linearize(&x, &u, &mut next, &mut slope).unwrap();
        let d = 1e-5;
        let (mut moved, mut reached, mut out) = (x.clone(), x.clone(), vec![0.0; nx]);
        for i in 0..nx + nu {
            let mut value = |s: f64| {
                let (mut tangent, mut input) = (vec![0.0; nx], u);
                if i < nx {
                    tangent[i] = s
                } else {
                    input[i - nx] += s
                }
                plant.retract(&x, &tangent, &mut moved);
                plant.step(&moved, &input, &mut reached).unwrap();
                plant.difference(&next, &reached, &mut out);
                out.clone()
            };
            let (plus, minus) = (value(d), value(-d));
            for r in 0..nx {
                let difference = (plus[r] - minus[r]) / (2.0 * d);
                let exact = slope[r * (nx + nu) + i];
                assert!(
                    (difference - exact).abs() < 2e-8 * (1.0 + exact.abs()),
                    "{r} {i}: {difference} {exact}"
                );
            }
        }
    }
}

/// A search begins the steps of a motion on the curves of the last time: that must not show, also where only the inputs differ.
#[test]
fn a_step_begun_on_a_trace_is_the_step() {
    let mechanism = mixed();
    let mut rng = Random::new(11);
    let u = [1.0, -0.5, 0.7];
    // A start at rest too: there the scaled residual of a solved step may be large, and says nothing of other inputs.
    let starts = [
        State { v: vec![0.0; mechanism.nv()], ..mechanism.start_state() },
        random_state(&mechanism, &mut rng, 0.5),
    ];
    for (order, x) in [2, 4, 6].into_iter().flat_map(|order| starts.iter().map(move |x| (order, x))) {
        let mut plant = MinimalPlant::new(&mechanism, order, 0.02).unwrap();
        let (mut next, mut plain, mut traced) = (x.clone(), Vec::new(), Vec::new());
        let mut trace = Trace::default();
        plant.step_near(x, &u, &mut trace, &mut next).unwrap();
        let fresh = trace.clone();
        let mut after = x.clone();
        plant.linearize(x, &u, &mut after, &mut plain).unwrap();
        // The same step: nothing is left to be solved, and nothing moves.
        plant.linearize_near(x, &u, &mut trace, &mut after, &mut traced).unwrap();
        assert_eq!((&trace, &after.q), (&fresh, &next.q));
        let far = plain.iter().zip(&traced).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(far < 1e-10, "order {order}: {far:e}");
        // Steps nearby.
        for size in [1e-9, 1e-3, 0.3] {
            let mut tangent: Vec<f64> =
                (0..2 * mechanism.nv()).map(|_| size * rng.range(-1.0, 1.0)).collect();
            let mut moved = x.clone();
            for still in [true, false] {
                if still {
                    tangent.fill(0.0);
                }
                plant.retract(x, &tangent, &mut moved);
                let input = u.map(|u| u + size * rng.range(0.1, 1.0));
                let mut trace = fresh.clone();
                let (mut near, mut exact) = (x.clone(), x.clone());
                plant.step_near(&moved, &input, &mut trace, &mut near).unwrap();
                plant.step(&moved, &input, &mut exact).unwrap();
                let mut between = vec![0.0; 2 * mechanism.nv()];
                plant.difference(&near, &exact, &mut between);
                let far = between.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                assert!(far < 1e-9, "order {order}, {size}: {far:e}");
            }
        }
    }
}

/// The best of all active sets, by trying every one.
fn brute_force(h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> (f64, Vec<f64>) {
    let n = g.len();
    let mut best = (f64::INFINITY, vec![0.0; n]);
    for code in 0..3usize.pow(n as u32) {
        let state: Vec<usize> = (0..n).map(|i| code / 3usize.pow(i as u32) % 3).collect();
        let mut x: Vec<f64> = (0..n).map(|i| [0.0, lower[i], upper[i]][state[i]]).collect();
        let free: Vec<usize> = (0..n).filter(|i| state[*i] == 0).collect();
        // Gauss elimination without exchange: the matrix is positive definite.
        let m = free.len();
        let mut a: Vec<Vec<f64>> = free
            .iter()
            .map(|i| {
                let held: f64 = (0..n).filter(|j| state[*j] != 0).map(|j| h[i * n + j] * x[j]).sum();
                free.iter().map(|j| h[i * n + j]).chain([-g[*i] - held]).collect()
            })
            .collect();
        for k in 0..m {
            for r in k + 1..m {
                let f = a[r][k] / a[k][k];
                for c in k..=m {
                    a[r][c] -= f * a[k][c];
                }
            }
        }
        for k in (0..m).rev() {
            let rest: f64 = (k + 1..m).map(|c| a[k][c] * x[free[c]]).sum();
            x[free[k]] = (a[k][m] - rest) / a[k][k];
        }
        if (0..n).any(|i| x[i] < lower[i] - 1e-12 || x[i] > upper[i] + 1e-12) {
            continue;
        }
        let value: f64 =
            (0..n).map(|i| x[i] * (g[i] + 0.5 * (0..n).map(|j| h[i * n + j] * x[j]).sum::<f64>())).sum();
        if value < best.0 {
            best = (value, x);
        }
    }
    best
}

#[test]
fn programs_between_bounds_are_solved_as_by_trying_every_active_set() {
    let mut rng = Random::new(1);
    for case in 0..200 {
        let n = 1 + case % 5;
        let root: Vec<f64> = (0..n * n).map(|_| rng.range(-1.0, 1.0)).collect();
        let mut h = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..n {
                h[i * n + j] = (0..n).map(|k| root[k * n + i] * root[k * n + j]).sum();
            }
            h[i * n + i] += 0.05;
        }
        let g: Vec<f64> = (0..n).map(|_| 3.0 * rng.range(-1.0, 1.0)).collect();
        let lower: Vec<f64> = (0..n).map(|_| -1.0 + 0.9 * rng.range(-1.0, 1.0)).collect();
        let upper: Vec<f64> = lower.iter().map(|l| l + 1.0 + 0.9 * rng.range(-1.0, 1.0)).collect();
        let (_, expected) = brute_force(&h, &g, &lower, &upper);
        let mut qp = BoxQp::new(n);
        qp.solve(&h, &g, &lower, &upper).expect("positive definite");
        for i in 0..n {
            assert!((qp.x[i] - expected[i]).abs() < 1e-9, "case {case}: {:?} {expected:?}", qp.x);
            assert!(qp.x[i] >= lower[i] && qp.x[i] <= upper[i]);
        }
    }
}

#[test]
fn riccati_has_the_closed_form_of_one_state() {
    for (a, b, q, r) in [(1.1, 0.3, 2.0, 0.5), (0.9, 1.0, 1e-3, 1.0), (2.0, 0.01, 1.0, 1.0)] {
        let found = riccati(&[a, b], &[q], &[r]).unwrap();
        // b² p² + (r − a² r − q b²) p − q r = 0.
        let (c2, c1, c0): (f64, f64, f64) = (b * b, r - a * a * r - q * b * b, -q * r);
        let p = (-c1 + (c1 * c1 - 4.0 * c2 * c0).sqrt()) / (2.0 * c2);
        assert!((found.p[0] - p).abs() < 1e-11 * p, "{} {p}", found.p[0]);
        let k = -a * b * p / (r + b * b * p);
        assert!((found.gain[0] - k).abs() < 1e-11 * k.abs());
        assert!((found.radius - (a + b * k).abs()).abs() < 1e-8, "{}", found.radius);
        assert!(found.residual < 1e-12);
    }
}

#[test]
fn what_no_input_reaches_cannot_be_held() {
    // The second state grows by itself.
    let slope = [0.5, 0.0, 1.0, 0.0, 1.2, 0.0];
    assert!(matches!(riccati(&slope, &[1.0, 1.0], &[1.0]), Err(ControlError::NotStabilizable { .. })));
    // A pendulum with a motor at rest at any angle, but a passive one only where it hangs.
    let mechanism = driven(samples::chain(2), &[1]);
    let mut plant = MinimalPlant::new(&mechanism, 4, 0.01).unwrap();
    let tilted = State { q: vec![0.3, 0.0], v: vec![0.0; 2], ..State::default() };
    assert!(matches!(
        equilibrium_input(&mut plant, &tilted, &[0.0]),
        Err(ControlError::NoEquilibrium { .. })
    ));
}

#[test]
fn the_input_that_holds_a_pose_is_the_torque_of_inverse_dynamics() {
    let mechanism = driven(samples::chain_xy(4), &[0, 1, 2, 3]);
    let mut plant = MinimalPlant::new(&mechanism, 4, 0.01).unwrap();
    let state = State { q: vec![0.4, -0.3, 0.8, 0.2], v: vec![0.0; 4], ..State::default() };
    let u = equilibrium_input(&mut plant, &state, &[0.0; 4]).unwrap();
    let mut tau = vec![0.0; 4];
    let mut dynamics = Dynamics::<f64>::new(&mechanism);
    dynamics.inverse_dynamics_into(&mechanism, &state.q, &state.v, &[0.0; 4], &mut tau);
    for (u, tau) in u.iter().zip(&tau) {
        assert!((u - tau).abs() < 1e-9, "{u} {tau}");
    }
}

#[test]
fn the_regulator_brings_a_cart_with_a_pole_back_under_another_integrator() {
    let mut model = samples::chain(2);
    model.joints[0] = JointDescription {
        axis: Some([0.0, 1.0, 0.0]),
        ..JointDescription::new("rail", JointType::Prismatic, "world", "link0")
    };
    model.states.clear();
    let mechanism = driven(model, &[0]);
    let up = State { q: vec![0.0, std::f64::consts::PI], v: vec![0.0; 2], ..State::default() };
    let h = 0.02;
    let mut plant = MinimalPlant::new(&mechanism, 4, h).unwrap();
    let hold = regulate(&mut plant, &up, &[0.0], &[1.0; 4], &[0.1]).unwrap();
    assert!(hold.riccati.radius < 1.0 && hold.riccati.residual < 1e-10, "{:?}", hold.riccati);
    let start = State { q: vec![0.2, up.q[1] + 0.2], v: vec![0.0, -0.1], ..State::default() };
    let mut simulator = Simulator::new(&mechanism, Method::Rk4, &MethodOptions::default(), &start).unwrap();
    for _ in 0..500 {
        let state = simulator.state();
        let x = [state.q[0], state.q[1] - up.q[1], state.v[0], state.v[1]];
        let u: f64 = hold.riccati.gain.iter().zip(&x).map(|(k, x)| k * x).sum();
        (0..10).for_each(|_| assert!(simulator.step(&[u], 0.1 * h).is_ok()));
    }
    let end = simulator.state();
    assert!(end.q[0].abs() < 1e-3 && (end.q[1] - up.q[1]).abs() < 1e-3, "{end:?}");
}

/// `x⁺ = A x + B u` with two positions and two velocities.
struct Linear {
    slope: Vec<f64>,
}

impl Plant for Linear {
    fn nx(&self) -> usize {
        4
    }
    fn nu(&self) -> usize {
        2
    }
    fn h(&self) -> f64 {
        1.0
    }
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        let z: Vec<f64> = x.q.iter().chain(&x.v).chain(u).copied().collect();
        let out: Vec<f64> =
            self.slope.chunks(6).map(|row| row.iter().zip(&z).map(|(a, z)| a * z).sum()).collect();
        (next.q, next.v) = (out[..2].to_vec(), out[2..].to_vec());
        Ok(())
    }
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        slope.clone_from(&self.slope);
        self.step(x, u, next)
    }
    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        let (a, b) = (from.q.iter().chain(&from.v), to.q.iter().chain(&to.v));
        out.iter_mut().zip(a.zip(b)).for_each(|(o, (a, b))| *o = b - a);
    }
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        out.q = x.q.iter().zip(&tangent[..2]).map(|(x, d)| x + d).collect();
        out.v = x.v.iter().zip(&tangent[2..]).map(|(x, d)| x + d).collect();
    }
}

/// `½ (x² + u²)` along the path, `5 x²` at the end.
struct Squares;

impl Objective for Squares {
    fn stage(&mut self, _k: usize, x: &State, u: &[f64]) -> f64 {
        x.q.iter().chain(&x.v).chain(u).map(|x| 0.5 * x * x).sum()
    }
    fn expand_stage(&mut self, _k: usize, x: &State, u: &[f64], gradient: &mut [f64], hessian: &mut [f64]) {
        for (i, x) in x.q.iter().chain(&x.v).chain(u).enumerate() {
            gradient[i] += x;
            hessian[i * 7] += 1.0;
        }
    }
    fn end(&mut self, x: &State) -> f64 {
        x.q.iter().chain(&x.v).map(|x| 5.0 * x * x).sum()
    }
    fn expand_end(&mut self, x: &State, gradient: &mut [f64], hessian: &mut [f64]) {
        for (i, x) in x.q.iter().chain(&x.v).enumerate() {
            gradient[i] += 10.0 * x;
            hessian[i * 5] += 10.0;
        }
    }
}

fn linear() -> (Linear, State, ControlProblem) {
    let slope = [
        [1.0, 0.1, 0.3, 0.0, 0.0, 0.1],
        [0.0, 1.1, 0.0, 0.2, 0.05, 0.0],
        [-0.2, 0.0, 0.9, 0.1, 0.5, 0.0],
        [0.0, 0.3, 0.0, 1.0, 0.0, 0.7],
    ];
    let start = State { q: vec![1.0, -2.0], v: vec![0.5, 0.3], ..State::default() };
    let problem = ControlProblem {
        start: start.clone(),
        steps: 30,
        lower: vec![f64::NEG_INFINITY; 2],
        upper: vec![f64::INFINITY; 2],
    };
    (Linear { slope: slope.concat() }, start, problem)
}

#[test]
fn a_linear_plant_with_quadratic_cost_is_solved_in_one_iteration_from_states_with_gaps_too() {
    let (mut plant, start, problem) = linear();
    let rolled = Path::roll_out(&mut plant, &start, vec![0.0; 60]).unwrap();
    let mut rng = Random::new(2);
    let mut torn = rolled.clone();
    for state in &mut torn.states[1..] {
        state.q.iter_mut().chain(&mut state.v).for_each(|x| *x = rng.range(-1.0, 1.0));
    }
    let mut objectives = Vec::new();
    for guess in [rolled, torn] {
        let options = IlqrOptions { tolerance: 1e-9, max_iterations: 1, ..IlqrOptions::default() };
        let found =
            solve_control(&mut plant, &mut Squares, &problem, guess, &options, &mut |_| Wish::Continue)
                .unwrap();
        assert_eq!((found.status, found.iterations), (SolveStatus::Solved, 1), "{:?}", found.history);
        objectives.push(found.objective);
    }
    assert!((objectives[0] - objectives[1]).abs() < 1e-9 * objectives[0]);
    // The cost is that of the Riccati recursion, which knows nothing of paths.
    let weights = TrackingWeights { state: vec![1.0; 4], input: vec![1.0; 2] };
    let path = Path::roll_out(&mut plant, &start, vec![0.0; 60]).unwrap();
    let end: Vec<f64> = (0..16).map(|i| if i % 5 == 0 { 10.0 } else { 0.0 }).collect();
    let gains = track(&mut plant, &path, &weights, &end).unwrap();
    let (mut x, mut cost) = (start.clone(), 0.0);
    for gain in &gains {
        let z: Vec<f64> = x.q.iter().chain(&x.v).copied().collect();
        let u: Vec<f64> = gain.chunks(4).map(|row| row.iter().zip(&z).map(|(k, z)| k * z).sum()).collect();
        cost += Squares.stage(0, &x, &u);
        let before = x.clone();
        plant.step(&before, &u, &mut x).unwrap();
    }
    cost += Squares.end(&x);
    assert!((cost - objectives[0]).abs() < 1e-9 * cost, "{cost} {}", objectives[0]);
}

#[test]
fn with_limits_the_gradient_vanishes_on_free_inputs_and_pushes_outward_on_the_others() {
    let (mut plant, start, mut problem) = linear();
    let start = State { q: vec![0.4, -0.3], v: vec![0.2, 0.1], ..start };
    problem.start = start.clone();
    (problem.lower, problem.upper) = (vec![-0.2, -0.1], vec![0.1, 0.2]);
    let guess = Path::roll_out(&mut plant, &start, vec![0.0; 60]).unwrap();
    let options = IlqrOptions { tolerance: 1e-10, ..IlqrOptions::default() };
    let found =
        solve_control(&mut plant, &mut Squares, &problem, guess, &options, &mut |_| Wish::Continue).unwrap();
    assert_eq!(found.status, SolveStatus::Solved);
    let held = found.path.inputs.iter().enumerate().filter(|(i, u)| {
        assert!(**u >= problem.lower[i % 2] && **u <= problem.upper[i % 2]);
        **u == problem.lower[i % 2] || **u == problem.upper[i % 2]
    });
    assert!((5..60).contains(&held.count()));
    // No change of a single input within the limits lowers the cost.
    let cost = |plant: &mut Linear, inputs: &[f64]| {
        let path = Path::roll_out(plant, &start, inputs.to_vec()).unwrap();
        (0..30).map(|k| Squares.stage(k, &path.states[k], path.u(k))).sum::<f64>()
            + Squares.end(&path.states[30])
    };
    let best = cost(&mut plant, &found.path.inputs);
    for i in 0..60 {
        for d in [-1e-3, 1e-3] {
            let mut inputs = found.path.inputs.clone();
            inputs[i] = (inputs[i] + d).clamp(problem.lower[i % 2], problem.upper[i % 2]);
            assert!(cost(&mut plant, &inputs) >= best - 1e-12, "{i} {d}");
        }
    }
}

#[test]
fn limits_that_no_step_wants_to_pass_cost_no_iteration_and_change_no_bit() {
    let (mut plant, start, mut problem) = linear();
    let mut solve = |problem: &ControlProblem| {
        let guess = Path::roll_out(&mut plant, &start, vec![0.0; 60]).unwrap();
        let options = IlqrOptions { tolerance: 1e-9, ..IlqrOptions::default() };
        solve_control(&mut plant, &mut Squares, problem, guess, &options, &mut |_| Wish::Continue).unwrap()
    };
    let free = solve(&problem);
    let most = free.path.inputs.iter().fold(0.0f64, |m, u| m.max(u.abs()));
    (problem.lower, problem.upper) = (vec![-1.1 * most; 2], vec![1.1 * most; 2]);
    let wide = solve(&problem);
    assert_eq!((wide.status, wide.iterations), (SolveStatus::Solved, 1));
    assert_eq!(wide.path.inputs, free.path.inputs);
    // A little narrower they are met, and kept.
    (problem.lower, problem.upper) = (vec![-0.9 * most; 2], vec![0.9 * most; 2]);
    let narrow = solve(&problem);
    assert_eq!(narrow.status, SolveStatus::Solved);
    assert!(narrow.objective > free.objective);
    assert!(narrow.path.inputs.iter().all(|u| u.abs() <= 0.9 * most));
}

/// A plant that can't be linearized where a search comes first.
struct Blind {
    seeing: Linear,
    calls: usize,
    blind: usize,
}

impl Plant for Blind {
    fn nx(&self) -> usize {
        4
    }
    fn nu(&self) -> usize {
        2
    }
    fn h(&self) -> f64 {
        1.0
    }
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        self.seeing.step(x, u, next)
    }
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.calls += 1;
        if self.calls == self.blind {
            return Err(StepError::NotFinite { time: 0.0, what: "derivative" });
        }
        self.seeing.linearize(x, u, next, slope)
    }
    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        self.seeing.difference(from, to, out);
    }
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        self.seeing.retract(x, tangent, out);
    }
}

#[test]
fn a_search_goes_around_motions_without_derivatives() {
    let (seeing, start, problem) = linear();
    let mut plant = Blind { seeing, calls: 0, blind: usize::MAX };
    let mut objectives = Vec::new();
    // Within the first motion that a step leads to, and never.
    for blind in [usize::MAX, 31, 45, 60] {
        (plant.calls, plant.blind) = (0, blind);
        let guess = Path::roll_out(&mut plant, &start, vec![0.0; 60]).unwrap();
        let options = IlqrOptions { tolerance: 1e-9, ..IlqrOptions::default() };
        let found =
            solve_control(&mut plant, &mut Squares, &problem, guess, &options, &mut |_| Wish::Continue)
                .unwrap();
        assert_eq!(found.status, SolveStatus::Solved, "{blind}: {:?}", found.history);
        objectives.push(found.objective);
    }
    for other in &objectives[1..] {
        assert!((other - objectives[0]).abs() < 1e-12 * objectives[0], "{objectives:?}");
    }
}

/// At the speeds of a whipping chain rounding is above what counts as a gap elsewhere.
#[test]
fn a_path_that_follows_from_its_inputs_has_no_gaps() {
    let mechanism = driven(samples::chain(10), &(0..10).collect::<Vec<_>>());
    let (steps, h) = (200, 0.01);
    let term = |when, w: f64| {
        let position = ControlTermKind::Position { goal: vec![0.2; 10], weights: vec![w; 10] };
        let velocity = ControlTermKind::Velocity { goal: vec![0.0; 10], weights: vec![w; 10] };
        [position, velocity].map(|kind| ControlTerm { when, kind })
    };
    let mut terms = [term(When::Path, 1e-3), term(When::End, 1e3)].concat();
    let input = ControlTermKind::Input { reference: vec![0.0; 10], weights: vec![1e-4; 10] };
    terms.push(ControlTerm { when: When::Path, kind: input });
    let mut costs = Costs::new(&mechanism, terms, h).unwrap();
    let mut plant = MinimalPlant::new(&mechanism, 2, h).unwrap();
    let (start, free) = (mechanism.neutral_state(), f64::INFINITY);
    let problem =
        ControlProblem { start: start.clone(), steps, lower: vec![-free; 10], upper: vec![free; 10] };
    let guess = Path::roll_out(&mut plant, &start, vec![0.0; steps * 10]).unwrap();
    let options = IlqrOptions { max_iterations: 25, ..IlqrOptions::default() };
    let found =
        solve_control(&mut plant, &mut costs, &problem, guess, &options, &mut |_| Wish::Continue).unwrap();
    assert!(found.history.iter().any(|line| line.step < 1.0 && line.iteration > 0));
    let gaps: Vec<f64> = found.history.iter().map(|line| line.gap).collect();
    assert!(gaps.iter().all(|gap| *gap == 0.0), "{gaps:?}");
}

fn reach(mechanism: &Mechanism, goal: &[f64]) -> Vec<ControlTerm> {
    let n = mechanism.nv();
    let term = |when, kind| ControlTerm { when, kind };
    let weights = |w: f64| vec![w; n];
    vec![
        term(When::End, ControlTermKind::Position { goal: goal.to_vec(), weights: weights(1e4) }),
        term(When::End, ControlTermKind::Velocity { goal: vec![0.0; n], weights: weights(1e3) }),
        term(
            When::Path,
            ControlTermKind::Input {
                reference: vec![0.0; mechanism.nu()],
                weights: vec![1e-2; mechanism.nu()],
            },
        ),
    ]
}

#[test]
fn states_on_a_line_and_states_rolled_out_lead_to_the_same_reach() {
    let mechanism = driven(samples::chain(3), &[0, 1, 2]);
    let start = mechanism.neutral_state();
    let goal = State { q: vec![0.6, -0.4, 0.9], ..start.clone() };
    let (steps, h) = (60, 0.02);
    let mut plant = MinimalPlant::new(&mechanism, 4, h).unwrap();
    let mut costs = Costs::new(&mechanism, reach(&mechanism, &goal.q), h).unwrap();
    let problem = ControlProblem { start: start.clone(), steps, lower: vec![-30.0; 3], upper: vec![30.0; 3] };
    let rolled = Path::roll_out(&mut plant, &start, vec![0.0; 3 * steps]).unwrap();
    let mut line = rolled.clone();
    for (k, state) in line.states.iter_mut().enumerate() {
        state.q = goal.q.iter().map(|q| q * k as f64 / steps as f64).collect();
    }
    let mut found = Vec::new();
    for guess in [rolled, line] {
        let mut seen = 0;
        let solution =
            solve_control(&mut plant, &mut costs, &problem, guess, &IlqrOptions::default(), &mut |_| {
                seen += 1;
                Wish::Continue
            })
            .unwrap();
        assert_eq!(solution.status, SolveStatus::Solved, "{:?}", solution.history.last());
        // Once more where the barrier is lowered.
        assert!(seen > solution.iterations && seen == solution.history.len());
        assert!(solution.gap <= 1e-9);
        // What is returned is a motion of the plant.
        let again = Path::roll_out(&mut plant, &start, solution.path.inputs.clone()).unwrap();
        let last = &again.states[steps];
        assert!(last.q.iter().zip(&solution.path.states[steps].q).all(|(a, b)| (a - b).abs() < 1e-8));
        assert!(last.q.iter().zip(&goal.q).all(|(a, b)| (a - b).abs() < 5e-3), "{last:?}");
        found.push(solution.objective);
    }
    assert!((found[0] - found[1]).abs() < 1e-6 * found[0], "{found:?}");
}

#[test]
fn a_search_that_is_stopped_returns_the_best_motion_so_far() {
    let mechanism = driven(samples::chain(1), &[0]);
    let start = mechanism.neutral_state();
    let mut plant = MinimalPlant::new(&mechanism, 2, 0.02).unwrap();
    let mut costs = Costs::new(&mechanism, reach(&mechanism, &[2.5]), 0.02).unwrap();
    let problem = ControlProblem { start: start.clone(), steps: 50, lower: vec![-3.0], upper: vec![3.0] };
    let guess = Path::roll_out(&mut plant, &start, vec![0.0; 50]).unwrap();
    let found = solve_control(&mut plant, &mut costs, &problem, guess, &IlqrOptions::default(), &mut |p| {
        if p.iteration == 2 { Wish::Stop } else { Wish::Continue }
    })
    .unwrap();
    assert_eq!((found.status, found.iterations), (SolveStatus::Interrupted, 2));
    assert!(found.objective < found.history[0].objective);
    assert!(found.path.inputs.iter().all(|u| u.abs() <= 3.0));
}

#[test]
fn a_search_that_is_stopped_in_the_middle_of_a_sweep_returns_the_last_motion() {
    let mechanism = driven(samples::chain(1), &[0]);
    let start = mechanism.neutral_state();
    let problem = ControlProblem { start: start.clone(), steps: 50, lower: vec![-3.0], upper: vec![3.0] };
    let cost_of = |path: &Path| {
        let mut costs = Costs::new(&mechanism, reach(&mechanism, &[2.5]), 0.02).unwrap();
        (0..50).map(|k| costs.stage(k, &path.states[k], path.u(k))).sum::<f64>() + costs.end(&path.states[50])
    };
    // In the first expansion, in later ones, in roll-outs of trial inputs: wherever it comes, few further steps are taken.
    for after in [0, 1, 49, 50, 77, 149, 160, 333, 1000] {
        let stop = AtomicBool::new(false);
        let mut plant = Counted {
            plant: MinimalPlant::new(&mechanism, 2, 0.02).unwrap(),
            left: u32::MAX,
            over: 0,
            stop: &stop,
        };
        let guess = Path::roll_out(&mut plant, &start, vec![0.0; 50]).unwrap();
        let first = cost_of(&guess);
        plant.left = after;
        let mut costs = Costs::new(&mechanism, reach(&mechanism, &[2.5]), 0.02).unwrap();
        let mut stoppable = Stoppable::new(&mut plant, &stop);
        let options = IlqrOptions { curvature: true, ..IlqrOptions::default() };
        let found =
            solve_control(&mut stoppable, &mut costs, &problem, guess, &options, &mut |_| Wish::Continue)
                .unwrap();
        assert_eq!(found.status, SolveStatus::Interrupted, "after {after} steps");
        // A step's curvature takes a linearization per direction.
        assert!(plant.over <= 8, "{} steps were taken after the stop at {after}", plant.over);
        assert_eq!(found.objective, cost_of(&found.path), "after {after} steps");
        assert!(found.objective <= first * (1.0 + 1e-12), "after {after} steps");
        assert!(found.history.iter().all(|line| line.residual.is_finite()), "after {after} steps");
        assert_eq!(found.residual.is_finite(), !found.history.is_empty());
    }
    let stop = AtomicBool::new(true);
    let mut plant = MinimalPlant::new(&mechanism, 2, 0.02).unwrap();
    let mut plant = Stoppable::new(&mut plant, &stop);
    assert_eq!(Path::roll_out(&mut plant, &start, vec![0.0; 50]).unwrap_err(), ControlError::Stopped);
}

/// A plant whose smoothing bends its derivative by the inputs, so much at first that it points uphill.
struct Smoothed<P> {
    plant: P,
    smoothing: f64,
}

impl<P: Plant> Plant for Smoothed<P> {
    fn smoothing(&self) -> Option<f64> {
        Some(self.smoothing)
    }
    fn set_smoothing(&mut self, speed: f64) {
        self.smoothing = speed;
    }
    fn nx(&self) -> usize {
        self.plant.nx()
    }
    fn nu(&self) -> usize {
        self.plant.nu()
    }
    fn h(&self) -> f64 {
        self.plant.h()
    }
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        self.plant.step(x, u, next)
    }
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.plant.linearize(x, u, next, slope)?;
        let (nx, nu) = (self.nx(), self.nu());
        for row in slope.chunks_exact_mut(nx + nu) {
            row[nx..].iter_mut().for_each(|s| *s *= 1.0 - self.smoothing);
        }
        Ok(())
    }
    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        self.plant.difference(from, to, out);
    }
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        self.plant.retract(x, tangent, out);
    }
}

#[test]
fn a_search_whose_smoothed_derivatives_lead_nowhere_goes_on_with_sharper_ones() {
    let mechanism = driven(samples::chain(1), &[0]);
    let start = mechanism.neutral_state();
    let problem = ControlProblem { start: start.clone(), steps: 50, lower: vec![-9.0], upper: vec![9.0] };
    let solve = |smoothing: f64| {
        let plant = MinimalPlant::new(&mechanism, 2, 0.02).unwrap();
        let mut plant = Smoothed { plant, smoothing };
        let guess = Path::roll_out(&mut plant, &start, vec![0.0; 50]).unwrap();
        let mut costs = Costs::new(&mechanism, reach(&mechanism, &[0.5]), 0.02).unwrap();
        let options = IlqrOptions::default();
        let found = solve_control(&mut plant, &mut costs, &problem, guess, &options, &mut |_| Wish::Continue)
            .unwrap();
        // What it came with, for whatever follows.
        assert_eq!(plant.smoothing, smoothing);
        found.objective
    };
    let (exact, smoothed) = (solve(0.0), solve(2.0));
    assert!((smoothed - exact).abs() < 1e-3 * exact, "{smoothed} for {exact}");
}

/// A plant that sets the flag after some steps, and counts those that are taken all the same.
struct Counted<'a, P> {
    plant: P,
    left: u32,
    over: u32,
    stop: &'a AtomicBool,
}

impl<P> Counted<'_, P> {
    fn count(&mut self) {
        self.over += u32::from(self.left == 0);
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

impl<P: Plant> Plant for Counted<'_, P> {
    fn nx(&self) -> usize {
        self.plant.nx()
    }
    fn nu(&self) -> usize {
        self.plant.nu()
    }
    fn h(&self) -> f64 {
        self.plant.h()
    }
    fn step(&mut self, x: &State, u: &[f64], next: &mut State) -> Result<(), StepError> {
        self.count();
        self.plant.step(x, u, next)
    }
    fn linearize(
        &mut self,
        x: &State,
        u: &[f64],
        next: &mut State,
        slope: &mut Vec<f64>,
    ) -> Result<(), StepError> {
        self.count();
        self.plant.linearize(x, u, next, slope)
    }
    fn difference(&self, from: &State, to: &State, out: &mut [f64]) {
        self.plant.difference(from, to, out);
    }
    fn retract(&self, x: &State, tangent: &[f64], out: &mut State) {
        self.plant.retract(x, tangent, out);
    }
}

#[test]
fn sizes_and_limits_that_do_not_fit_are_told() {
    let mechanism = driven(samples::chain(1), &[0]);
    let start = mechanism.neutral_state();
    let mut plant = MinimalPlant::new(&mechanism, 2, 0.02).unwrap();
    let mut costs = Costs::new(&mechanism, reach(&mechanism, &[1.0]), 0.02).unwrap();
    let guess = Path::roll_out(&mut plant, &start, vec![0.0; 5]).unwrap();
    let mut solve = |lower: Vec<f64>, upper: Vec<f64>, steps: usize| {
        let problem = ControlProblem { start: start.clone(), steps, lower, upper };
        let options = IlqrOptions::default();
        solve_control(&mut plant, &mut costs, &problem, guess.clone(), &options, &mut |_| Wish::Continue)
            .unwrap_err()
    };
    assert!(matches!(solve(vec![1.0], vec![-1.0], 5), ControlError::EmptyLimit { input: 0, .. }));
    assert!(matches!(solve(vec![-1.0; 2], vec![1.0], 5), ControlError::WrongLength { found: 2, .. }));
    assert!(matches!(solve(vec![-1.0], vec![1.0], 6), ControlError::WrongLength { expected: 6, .. }));
    assert!(matches!(solve(vec![-1.0], vec![1.0], 0), ControlError::NothingToControl { .. }));
    let bad = ControlTermKind::Position { goal: vec![0.0; 2], weights: vec![1.0] };
    let terms = vec![ControlTerm { when: When::End, kind: bad }];
    assert!(matches!(Costs::new(&mechanism, terms, 0.1), Err(ControlError::WrongLength { .. })));
}

/// A step that is taken again from a start nearby begins on the old curve, moved as its slope tells.
#[test]
fn a_known_slope_saves_iterations_of_the_next_step_nearby() {
    let mechanism = driven(samples::chain(2), &[1]);
    let integrator =
        Minimal::new(MinimalOptions { tolerance_q: 1e-12, ..MinimalOptions::default() }).unwrap();
    let mut workspace = integrator.workspace(&mechanism).unwrap();
    let (h, n) = (0.02, mechanism.nv());
    let start = State { q: vec![0.7, -1.1], v: vec![1.5, -2.0], ..mechanism.start_state() };
    let begin = |workspace: &mut MinimalWorkspace, trace: &mut Trace, at: &State, u: &[f64]| {
        let state = integrator.start(&mechanism, workspace, at).unwrap();
        integrator.begin_on(workspace, trace, &state, Input { u }, h);
        state
    };
    let mut slope = Linearization::new(&mechanism, Coordinates::Velocity);
    let mut known = Trace::default();
    let mut state = begin(&mut workspace, &mut known, &start, &[3.0]);
    integrator
        .linearize_into(&mechanism, &mut workspace, &mut state, Input { u: &[3.0] }, h, &mut slope)
        .unwrap();
    let mut unknown = known.clone();
    integrator.leave(&workspace, &mut unknown, None);
    integrator.leave(&workspace, &mut known, Some(&slope.matrix));
    let mut moved = start.clone();
    (moved.q[0], moved.v[n - 1]) = (start.q[0] + 1e-3, start.v[n - 1] - 1e-2);
    let (mut ends, mut iterations) = (Vec::new(), Vec::new());
    for trace in [&mut unknown, &mut known] {
        let mut state = begin(&mut workspace, trace, &moved, &[3.1]);
        let report = integrator.step(&mechanism, &mut workspace, &mut state, Input { u: &[3.1] }, h).unwrap();
        iterations.push(report.iterations);
        let mut end = moved.clone();
        integrator.read_out(&mechanism, &mut workspace, &state, &mut end);
        ends.push(end.q);
    }
    assert!(iterations[1] < iterations[0], "{iterations:?}");
    assert!(ends[0].iter().zip(&ends[1]).all(|(a, b)| (a - b).abs() < 1e-13), "{ends:?}");
}
