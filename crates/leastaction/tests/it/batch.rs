//! Rows of a batch: the bits of a run alone, whatever the company.

use std::sync::atomic::AtomicBool;

use leastaction::batch::{Batch, Inputs, Plan, Row};
use leastaction::integrator::minimal::Policy;
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::mechanism::samples::{self, Random};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State};

use crate::no_alloc::allocations;
use crate::support::{force_tree, mixed_tree};

fn build(description: leastaction::mechanism::ModelDescription) -> Mechanism {
    MechanismBuilder::from(description).build().unwrap()
}

/// States around the model's start.
fn starts(mechanism: &Mechanism, rows: usize, size: f64) -> Vec<State> {
    let mut random = Random::new(5);
    let start = mechanism.start_state();
    let mut one = |_| {
        let mut state = start.clone();
        let turn: Vec<f64> = state.v.iter().map(|_| random.range(-size, size)).collect();
        mechanism.retract(&start.q, &turn, &mut state.q);
        state.v.iter_mut().for_each(|v| *v = random.range(-size, size));
        state
    };
    (0..rows).map(&mut one).collect()
}

/// End of a run by itself.
fn alone(
    mechanism: &Mechanism,
    method: Method,
    options: &MethodOptions,
    start: &State,
    inputs: &dyn Fn(usize) -> Vec<f64>,
    plan: &Plan<'_>,
) -> (State, usize, Option<StepError>) {
    let mut simulator = Simulator::new(mechanism, method, options, start).unwrap();
    for step in 0..plan.steps {
        if let Err(error) = simulator.step(&inputs(step), plan.step) {
            return (simulator.state().clone(), step, Some(error));
        }
    }
    (simulator.state().clone(), plan.steps, None)
}

#[test]
fn rows_of_every_method_are_runs_alone() {
    let mechanism = build(samples::chain(3));
    let starts = starts(&mechanism, 7, 1.0);
    let plan = Plan { every: 10, ..Plan::new(40, 0.01) };
    for (name, method) in Method::ALL {
        let mut batch = Batch::new(&mechanism, method, &MethodOptions::default()).unwrap();
        for _ in 0..2 {
            let mut rows: Vec<Row> =
                starts.iter().map(|start| Row::new(start.clone(), Inputs::Held(&[]))).collect();
            let mut seen = vec![Vec::new(); rows.len()];
            batch.run(&mut rows, &plan, |row, step, state| seen[row].push((step, state.clone())));
            for ((row, start), seen) in rows.iter().zip(&starts).zip(&seen) {
                let (end, steps, failure) =
                    alone(&mechanism, method, batch.options(), start, &|_| Vec::new(), &plan);
                assert_eq!((&row.state, row.steps, &row.failure), (&end, steps, &failure), "{name}");
                assert_eq!(seen.iter().map(|s| s.0).collect::<Vec<_>>(), [0, 10, 20, 30, 40]);
                assert_eq!((&seen[0].1.q, &seen[4].1), (&start.q, &end));
            }
        }
    }
}

#[test]
fn the_iteration_left_open_is_the_one_with_the_mass_matrix() {
    let mechanism = build(samples::chain(2));
    let options = |policy| MethodOptions { policy, ..Default::default() };
    let of = |policy| Batch::new(&mechanism, Method::Minimal, &options(policy)).unwrap().options().policy;
    assert_eq!(of(Policy::Automatic), Policy::Mass);
    assert_eq!(of(Policy::Newton), Policy::Newton);
}

#[test]
fn a_row_that_fails_is_a_value_and_leaves_the_others_alone() {
    let mechanism = build(samples::ball_chain(3));
    let mut starts = starts(&mechanism, 6, 0.5);
    starts[2].v[4] = 1e200;
    let plan = Plan { every: 1, ..Plan::new(20, 0.005) };
    for (name, method) in Method::ALL {
        let options = MethodOptions::default();
        let mut batch = Batch::new(&mechanism, method, &options).unwrap();
        let mut rows: Vec<Row> =
            starts.iter().map(|start| Row::new(start.clone(), Inputs::Held(&[]))).collect();
        let mut seen = [0; 6];
        batch.run(&mut rows, &plan, |row, _, _| seen[row] += 1);
        for (i, (row, start)) in rows.iter().zip(&starts).enumerate() {
            if i == 2 {
                assert!(row.failure.is_some() && row.steps < 20, "{name}");
                assert!(row.state.q.iter().all(|x| x.is_finite()), "{name}");
                continue;
            }
            let (end, ..) = alone(&mechanism, method, batch.options(), start, &|_| Vec::new(), &plan);
            assert_eq!((&row.state, row.steps, &row.failure, seen[i]), (&end, 20, &None, 21), "{name}");
        }
        // A row that has failed is not run again.
        let before = rows[2].steps;
        batch.run(&mut rows, &plan, |row, _, _| assert_ne!(row, 2));
        assert_eq!(rows[2].steps, before);
    }
}

#[test]
fn inputs_of_every_kind_act() {
    let mechanism = force_tree(3);
    let plan = Plan::new(30, 0.01);
    let start = mechanism.start_state();
    let values: Vec<f64> = (0..90).map(|k| (0.3 * f64::from(k)).sin()).collect();
    let mut batch = Batch::new(&mechanism, Method::Minimal, &MethodOptions::default()).unwrap();
    let mut law = |k: usize, state: &State, u: &mut [f64]| {
        u.copy_from_slice(&[values[2 * k] - state.v[0], -values[k]]);
    };
    let mut rows = [
        Row::new(start.clone(), Inputs::Held(&values[5..7])),
        Row::new(start.clone(), Inputs::PerStep { values: &values, stride: 3 }),
        Row::new(start.clone(), Inputs::Law(&mut law)),
        Row::new(start.clone(), Inputs::PerStep { values: &values[..30], stride: 3 }),
        Row::new(start.clone(), Inputs::Held(&values[..1])),
    ];
    batch.run(&mut rows, &plan, |_, _, _| {});
    let options = batch.options().clone();
    let expect = |row: &Row, inputs: &dyn Fn(usize) -> Vec<f64>| {
        let (end, steps, failure) = alone(&mechanism, Method::Minimal, &options, &start, inputs, &plan);
        assert_eq!((&row.state, row.steps, &row.failure), (&end, steps, &failure));
    };
    expect(&rows[0], &|_| values[5..7].to_vec());
    expect(&rows[1], &|k| values[3 * k..3 * k + 2].to_vec());
    let mut simulator = Simulator::new(&mechanism, Method::Minimal, &options, &start).unwrap();
    for k in 0..30 {
        let u = values[2 * k] - simulator.state().v[0];
        simulator.step(&[u, -values[k]], 0.01).unwrap();
    }
    assert_eq!(&rows[2].state, simulator.state());
    // Inputs that do not last, and inputs of another number.
    assert_eq!(rows[3].steps, 10);
    assert!(matches!(rows[3].failure, Some(StepError::WrongLength { .. })), "{:?}", rows[3].failure);
    assert!(matches!(rows[4].failure, Some(StepError::WrongLength { .. })), "{:?}", rows[4].failure);
}

#[test]
fn a_stop_ends_rows_between_steps() {
    let mechanism = build(samples::chain(2));
    let stop = AtomicBool::new(false);
    let plan = Plan { every: 1, stop: Some(&stop), ..Plan::new(1000, 0.01) };
    let mut batch = Batch::new(&mechanism, Method::Minimal, &MethodOptions::default()).unwrap();
    let mut rows: Vec<Row> = (0..9).map(|_| Row::new(mechanism.start_state(), Inputs::Held(&[]))).collect();
    batch.run(&mut rows, &plan, |_, step, _| stop.store(step == 5, std::sync::atomic::Ordering::Relaxed));
    assert_eq!(rows[0].steps, 5);
    assert!(rows.iter().all(|row| row.steps <= 5 && row.failure.is_none()));
    assert_eq!(rows[8].steps, 0);
}

#[test]
fn what_cannot_be_stepped_is_refused_at_once() {
    let options = MethodOptions { order: Some(3), ..Default::default() };
    let chain = build(samples::chain(2));
    assert!(matches!(Batch::new(&chain, Method::Minimal, &options), Err(StepError::BadOption { .. })));
    let loops = build(samples::four_bar());
    assert!(Batch::new(&loops, Method::Minimal, &MethodOptions::default()).is_err());
    assert!(Batch::new(&loops, Method::Maximal, &MethodOptions::default()).is_ok());
}

/// Mechanisms whose steps lanes can take: turns, slides, balls, free bodies, forces; and a few that they cannot.
fn many() -> Vec<(&'static str, Mechanism)> {
    use leastaction::mechanism::JointType::{Prismatic, Revolute};
    vec![
        ("chain of 10", build(samples::chain(10))),
        ("chain of 2", build(samples::chain(2))),
        ("chain about x and y", build(samples::chain_xy(6))),
        ("balls", build(samples::ball_chain(4))),
        ("binary tree", build(samples::binary_tree(15))),
        ("turns and slides", build(samples::random_tree(3, 9, &[Revolute, Prismatic]))),
        ("mixed 1", mixed_tree(1, 7)),
        ("mixed 2", mixed_tree(2, 6)),
        ("mixed 4", mixed_tree(4, 5)),
        ("forces", force_tree(3)),
    ]
}

fn bits(state: &State) -> Vec<u64> {
    [state.t].iter().chain(&state.q).chain(&state.v).map(|x| x.to_bits()).collect()
}

const LANED: [(Method, Option<u32>); 4] = [
    (Method::Minimal, Some(2)),
    (Method::Minimal, Some(4)),
    (Method::Rk4, None),
    (Method::SemiImplicit, None),
];

/// Gentle motion, where all lanes stay together; motion in which lanes leave; and motion in which rows fail.
#[test]
fn lanes_have_the_bits_of_states_alone() {
    let kinds = [(0.5, 0.002, 12), (1.5, 0.01, 12), (10.0, 0.02, 8)];
    for (name, mechanism) in many() {
        let u = vec![0.3; mechanism.nu()];
        for (method, order) in LANED {
            let options = MethodOptions { order, ..Default::default() };
            let mut batch = Batch::new(&mechanism, method, &options).unwrap();
            for (size, step, steps) in kinds {
                let (starts, plan) = (starts(&mechanism, 64, size), Plan::new(steps, step));
                let mut rows: Vec<Row> =
                    starts.iter().map(|start| Row::new(start.clone(), Inputs::Held(&u))).collect();
                batch.run(&mut rows, &plan, |_, _, _| {});
                for (row, start) in rows.iter().zip(&starts) {
                    let (end, steps, failure) =
                        alone(&mechanism, method, batch.options(), start, &|_| u.clone(), &plan);
                    assert_eq!(
                        (bits(&row.state), row.steps, &row.failure),
                        (bits(&end), steps, &failure),
                        "{name}, {method:?} {order:?}, step {step}"
                    );
                }
            }
        }
    }
}

/// Wind, pushes or thrusters each alone: a row has the bits of a run alone whichever of them it has.
#[test]
fn wind_acts_on_rows_as_on_runs_alone() {
    let mut model = samples::chain(3);
    model.wind = [1.0, 0.0, 0.5];
    model.bodies.iter_mut().for_each(|body| body.drag = 0.4);
    let mechanism = build(model);
    let (starts, plan) = (starts(&mechanism, 5, 1.0), Plan::new(10, 0.01));
    for (method, order) in LANED {
        let options = MethodOptions { order, ..Default::default() };
        let mut batch = Batch::new(&mechanism, method, &options).unwrap();
        let mut rows: Vec<Row> =
            starts.iter().map(|start| Row::new(start.clone(), Inputs::Held(&[]))).collect();
        batch.run(&mut rows, &plan, |_, _, _| {});
        for (row, start) in rows.iter().zip(&starts) {
            let (end, ..) = alone(&mechanism, method, batch.options(), start, &|_| Vec::new(), &plan);
            assert_eq!(bits(&row.state), bits(&end), "{method:?} {order:?}");
        }
    }
}

#[test]
fn rows_do_not_depend_on_their_neighbours() {
    let mechanism = build(samples::ball_chain(3));
    let starts = starts(&mechanism, 9, 2.0);
    let plan = Plan::new(25, 0.01);
    let mut batch = Batch::new(&mechanism, Method::Minimal, &MethodOptions::default()).unwrap();
    let mut run = |which: &[usize]| -> Vec<State> {
        let mut rows: Vec<Row> =
            which.iter().map(|i| Row::new(starts[*i].clone(), Inputs::Held(&[]))).collect();
        batch.run(&mut rows, &plan, |_, _, _| {});
        rows.into_iter().map(|row| row.state).collect()
    };
    let all = run(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    for which in [&[3][..], &[8, 1], &[2, 5, 7], &[6, 0, 4, 1, 3], &[5, 5, 5, 5, 5, 5]] {
        for (state, i) in run(which).iter().zip(which) {
            assert_eq!(state, &all[*i], "{which:?}");
        }
    }
}

/// Where nothing forbids it, rows do run side by side.
#[test]
fn lanes_are_used_where_they_can_be() {
    #[cfg(target_arch = "x86_64")]
    let wide = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    let wide = false;
    for (name, mechanism) in many() {
        let used = |method, order| {
            let options = MethodOptions { order, ..Default::default() };
            Batch::new(&mechanism, method, &options).unwrap().has_lanes()
        };
        assert_eq!(used(Method::Minimal, Some(2)), wide, "{name}");
        assert_eq!(used(Method::Minimal, Some(4)), wide, "{name}");
        assert!(!used(Method::Minimal, Some(6)) && !used(Method::Maximal, None), "{name}");
        let hinges = name.starts_with("chain") || name == "binary tree";
        assert!(!hinges || used(Method::Rk4, None) == wide, "{name}");
    }
}

#[test]
fn steps_in_lanes_do_not_allocate() {
    for (name, mechanism) in many() {
        let u = vec![0.1; mechanism.nu()];
        for (method, order) in LANED {
            let options = MethodOptions { order, ..Default::default() };
            let mut batch = Batch::new(&mechanism, method, &options).unwrap();
            let mut run = |steps| {
                let starts = starts(&mechanism, 4, 1.5);
                let mut rows: Vec<Row> =
                    starts.into_iter().map(|start| Row::new(start, Inputs::Held(&u))).collect();
                allocations(|| batch.run(&mut rows, &Plan::new(steps, 0.01), |_, _, _| {}))
            };
            // What rows need at their start and end does not grow with their steps.
            let (few, many) = (run(3), run(30));
            assert!(many <= few, "{name}, {method:?} {order:?}: {few}, then {many}");
        }
    }
}

/// What a program says, if there is one.
fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = std::process::Command::new(program).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A helper that is not inlined into a kernel is compiled without its instructions: every product becomes a call. What may be
/// called is what ends the program, copies memory, or finds the sine of a huge angle.
#[test]
fn kernels_in_lanes_call_nothing_on_their_way() {
    let own = std::env::current_exe().unwrap();
    let own = own.to_str().unwrap();
    let Some(symbols) = output_of("nm", &["-S", "--defined-only", "-C", own]) else {
        println!("skipped: no `nm`");
        return;
    };
    let mut kernels = 0;
    for line in symbols.lines().filter(|line| line.contains("run_states_avx2")) {
        let number = |word: &str| u64::from_str_radix(word, 16).ok();
        let mut words = line.split_whitespace();
        let (Some(start), Some(size)) = (words.next().and_then(number), words.next().and_then(number)) else {
            continue;
        };
        let range = [format!("--start-address={start}"), format!("--stop-address={}", start + size)];
        let Some(code) = output_of("objdump", &["-d", "-C", "--no-show-raw-insn", &range[0], &range[1], own])
        else {
            println!("skipped: no `objdump`");
            return;
        };
        kernels += 1;
        // Calls by name: those of other crates go through a table, and are of the kinds that may be.
        for call in code.lines().filter(|line| line.contains("call") && line.contains("<leastaction")) {
            assert!(call.contains("one_by_one") || call.contains("panic"), "{call}");
        }
        let to_intrinsic = |line: &&str| line.contains("call") && line.contains("core_arch");
        assert_eq!(code.lines().find(to_intrinsic), None);
    }
    assert!(kernels == 0 || kernels >= 15, "{kernels} kernels");
}
