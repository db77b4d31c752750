//! Reference data of friction, limits and couplings of joints.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::baseline::{Dop853, Rk4, SemiImplicitEuler};
use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::minimal::{Coordinates, Minimal, MinimalOptions, MinimalState};
use leastaction::integrator::{Input, Integrator, RowEventKind, RowState};
use leastaction::mechanism::{Mechanism, MechanismBuilder, State};
use leastaction_golden::joints::{inputs, read_model, read_start};
use serde_json::Value;

use super::Golden;

/// A state of a run, as the file writes it.
struct Reached {
    public: State,
    momentum: Option<Vec<f64>>,
    rows: Vec<RowState>,
    impulses: Vec<f64>,
}

struct Happened {
    step: usize,
    t: f64,
    kind: RowEventKind,
    row: Option<usize>,
    impulse: f64,
}

pub(super) fn check(golden: &mut Golden) {
    golden.input("/model");
    golden.input("/exact_final");
    let runs = golden.value["runs"].as_array().map_or(0, Vec::len);
    for k in 0..runs {
        let run = format!("/runs/{k}");
        for key in ["s", "dt", "num_steps", "inputs", "start", "keep", "sensitivity", "friction", "forced"] {
            golden.input(format!("{run}/{key}"));
        }
        for key in ["parts_trials_iterations", "error_to_exact_final"] {
            golden.input(format!("{run}/{key}"));
        }
        check_run(golden, &run);
    }
}

fn check_run(golden: &mut Golden, run: &str) {
    let value = golden.value.pointer(run).expect("run").clone();
    let model = read_model(&golden.value, value.get("friction")).expect("model");
    let mechanism = MechanismBuilder::from(model).build().expect("valid model");
    let engine = value["engine"].as_str().unwrap_or("").to_owned();
    let (states, events) = match engine.as_str() {
        "minimal" => {
            let order = 2 * value["s"].as_u64().expect("s") as u32;
            let engine = Minimal::new(MinimalOptions { order, ..Default::default() }).expect("order");
            let momentum = |m: &Mechanism, s: &MinimalState| Some(independent(m, &s.p));
            integrate(golden, run, &mechanism, &engine, momentum)
        }
        "rk4" => integrate(golden, run, &mechanism, &Rk4, |_, _| None),
        "semi_implicit" => integrate(golden, run, &mechanism, &SemiImplicitEuler, |_, _| None),
        "dop853" => {
            let engine = Dop853 { tolerance: 1e-13 };
            integrate(golden, run, &mechanism, &engine, |_, _| None)
        }
        _ => integrate(golden, run, &mechanism, &Maximal::default(), |_, _| None),
    };
    compare_states(golden, run, &engine, &mechanism, &states);
    compare_events(golden, run, &engine, &mechanism, &events, &value);
}

/// Derivatives of single steps, with what happens in them.
/// Velocities of all coordinates from the momenta of those that follow none: `v = D (Dᵀ M D)⁻¹ p`.
fn velocity(mechanism: &Mechanism, leading: &[usize], q: &[f64], p: Vec<f64>) -> Vec<f64> {
    let (n, m) = (mechanism.nv(), leading.len());
    let mut mass = vec![0.0; n * n];
    Dynamics::<f64>::new(mechanism).mass_matrix_into(mechanism, q, &mut mass);
    let column = |c: &usize| {
        let (mut q, mut v) = (q.to_vec(), vec![0.0; n]);
        v[*c] = 1.0;
        mechanism.follow_at(0.0, &mut q, &mut v);
        v
    };
    let d: Vec<Vec<f64>> = leading.iter().map(column).collect();
    let product = |a: &[f64], b: &[f64]| -> f64 {
        (0..n).map(|i| a[i] * (0..n).map(|j| mass[i * n + j] * b[j]).sum::<f64>()).sum()
    };
    let reduced = (0..m * m).map(|k| product(&d[k / m], &d[k % m])).collect();
    let rates = solve(reduced, p);
    (0..n).map(|c| d.iter().zip(&rates).map(|(d, rate)| d[c] * rate).sum()).collect()
}

pub(super) fn check_linearization(golden: &mut Golden) {
    for k in 0..golden.value["cases"].as_array().map_or(0, Vec::len) {
        let case = format!("/cases/{k}");
        for key in ["model", "s", "dt", "q", "momentum", "modes"] {
            golden.input(format!("{case}/{key}"));
        }
        let value = golden.value.pointer(&case).expect("case").clone();
        let name = value["name"].as_str().unwrap_or("").to_owned();
        let mechanism =
            MechanismBuilder::from(read_model(&value, None).expect("model")).build().expect("valid");
        let (order, n) = (order(&mechanism), mechanism.nv());
        let spread = |list: Vec<f64>| {
            let mut out = vec![0.0; n];
            order.iter().zip(list).for_each(|(c, x)| out[*c] = x);
            out
        };
        let q = spread(golden.numbers(&format!("{case}/q")));
        let p = golden.numbers(&format!("{case}/momentum"));
        let follows = |c: &usize| mechanism.followers().iter().any(|follower| follower.at.v == *c);
        let leading: Vec<usize> = order.iter().copied().filter(|c| !follows(c)).collect();
        let start = State { v: velocity(&mechanism, &leading, &q, p), q, ..mechanism.neutral_state() };
        let s = value["s"].as_u64().expect("s") as u32;
        let h = value["dt"].as_f64().expect("dt");
        let engine = Minimal::new(MinimalOptions { order: 2 * s, ..Default::default() }).expect("order");
        let mut workspace = engine.workspace(&mechanism).expect("served");
        let mut state = engine.start(&mechanism, &mut workspace, &start).expect("start");
        let u = vec![0.0; mechanism.nu()];
        let input = Input { u: &u };
        let slope = engine
            .linearize(&mechanism, &mut workspace, &mut state, input, h, Coordinates::Momentum)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let pick = |x: &[f64]| order.iter().map(|c| x[*c]).collect::<Vec<f64>>();
        let tolerance = value["tolerance"].as_f64().expect("tolerance");
        golden.compare("positions after", &format!("{case}/q_next"), &pick(&state.q), 1e-10);
        let momenta: Vec<f64> = leading.iter().map(|c| state.p[*c]).collect();
        golden.compare("momenta after", &format!("{case}/momentum_next"), &momenta, 1e-10);
        let m = leading.len();
        for r in 0..2 * m {
            let place = |k: usize| if k < m { leading[k] } else { n + leading[k - m] };
            let row: Vec<f64> = (0..2 * m).map(|c| slope.a(place(r), place(c))).collect();
            golden.compare(&format!("derivative, {name}"), &format!("{case}/A/{r}"), &row, tolerance);
        }
        // Impacts have no row of their own in these files.
        let events = engine.rows(&workspace, &state).events;
        let found: Vec<f64> = events.iter().map(|event| event.time).collect();
        golden.input(format!("{case}/events"));
        let count = value["events"].as_array().map_or(0, Vec::len);
        if found.len() != count {
            golden.fail(format!("{case}/events of {name}: {count} expected, {events:?} found"));
            continue;
        }
        for (k, t) in found.iter().enumerate() {
            let released =
                value["events"][k]["kind"].as_str().is_some_and(|kind| kind.starts_with("release"));
            let tolerance = if released { 3e-7 } else { 1e-9 };
            golden.compare("event times", &format!("{case}/events/{k}/t_in_step"), &[*t], tolerance);
        }
    }
}

/// `a x = b` of a small positive matrix.
fn solve(mut a: Vec<f64>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        for r in k + 1..n {
            let f = a[r * n + k] / a[k * n + k];
            (k..n).for_each(|c| a[r * n + c] -= f * a[k * n + c]);
            b[r] -= f * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|c| a[k * n + c] * b[c]).sum();
        b[k] = (b[k] - rest) / a[k * n + k];
    }
    b
}

/// Momenta of the coordinates that follow none, in the order of the file.
fn independent(mechanism: &Mechanism, p: &[f64]) -> Vec<f64> {
    let follows = |v: &usize| mechanism.followers().iter().any(|f| f.at.v == *v);
    order(mechanism).into_iter().filter(|v| !follows(v)).map(|v| p[v]).collect()
}

/// The coordinate of each joint of the file.
fn order(mechanism: &Mechanism) -> Vec<usize> {
    let joints = mechanism.tree_joints().count();
    (0..joints)
        .map(|i| mechanism.v_range(mechanism.joint_by_name(&format!("joint{i}")).expect("joint")).start)
        .collect()
}

fn integrate<I: Integrator>(
    golden: &Golden,
    run: &str,
    mechanism: &Mechanism,
    integrator: &I,
    momentum: impl Fn(&Mechanism, &I::State) -> Option<Vec<f64>>,
) -> (Vec<Reached>, Vec<Happened>) {
    let value = golden.value.pointer(run).expect("run");
    let number = |key: &str| value[key].as_f64().expect("number");
    let (h, steps) = (number("dt"), number("num_steps") as usize);
    let inputs = inputs(&golden.value, run).expect("inputs");
    let start = read_start(&golden.value, &format!("{run}/start"), mechanism.nb()).expect("start");
    let start = mechanism.state_from(&start).expect("start");
    let mut workspace = integrator.workspace(mechanism).expect("served");
    let mut state = integrator.start(mechanism, &mut workspace, &start).expect("start");
    let (mut reached, mut happened) = (Vec::new(), Vec::new());
    let mut record = |workspace: &mut I::Workspace, state: &I::State| {
        let mut public = start.clone();
        integrator.read_out(mechanism, workspace, state, &mut public);
        let rows = integrator.rows(workspace, state);
        reached.push(Reached {
            public,
            momentum: momentum(mechanism, state),
            rows: rows.states.to_vec(),
            impulses: rows.impulses.to_vec(),
        });
    };
    record(&mut workspace, &state);
    for k in 0..steps {
        let u = inputs.get(k).cloned().unwrap_or_else(|| vec![0.0; mechanism.nu()]);
        integrator.step(mechanism, &mut workspace, &mut state, Input { u: &u }, h).expect("step");
        for event in integrator.rows(&workspace, &state).events {
            happened.push(Happened {
                step: k + 1,
                t: k as f64 * h + event.time,
                kind: event.kind,
                row: event.row,
                impulse: event.impulse,
            });
        }
        record(&mut workspace, &state);
    }
    (reached, happened)
}

fn compare_states(golden: &mut Golden, run: &str, engine: &str, mechanism: &Mechanism, reached: &[Reached]) {
    let order = order(mechanism);
    let count = golden.value.pointer(&format!("{run}/states")).and_then(Value::as_array).map_or(0, Vec::len);
    let tolerances = golden.numbers(&format!("{run}/tolerance"));
    let file = golden.file.clone();
    // Low orders after a release move by more than the tolerance of the file: any force in the accepted band is right.
    let floor = match (file.as_str(), engine) {
        (name, "minimal")
            if name.contains("hand24.") && golden.value.pointer(run).expect("run")["s"] == 1 =>
        {
            1e-8
        }
        (name, "semi_implicit") if name.contains("double_pendulum_friction") => 1e-9,
        (_, "dop853") => 1e-9,
        _ => 0.0,
    };
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let curved = mechanism.followers().iter().any(|f| !f.law.is_linear());
    for k in 0..count {
        let at = |key: &str| format!("{run}/states/{k}/{key}");
        golden.input(at("step"));
        golden.input(at("t"));
        let step = golden.numbers(&at("step"))[0] as usize;
        let Reached { public, momentum, rows, impulses } = &reached[step];
        // Rows in the order of the file.
        let listed =
            golden.value.pointer(&at("modes")).and_then(Value::as_array).cloned().unwrap_or_default();
        let place = |entry: &Value| mechanism.rows().iter().position(|row| entry["row"] == *row.name);
        let places: Vec<usize> = listed.iter().filter_map(place).collect();
        let impulses: Vec<f64> = places.iter().map(|k| impulses[*k]).collect();
        let tolerance = tolerances[k].max(floor);
        let pick = |x: &[f64]| order.iter().map(|c| x[*c]).collect::<Vec<f64>>();
        // Angles of poses are known up to full turns.
        let mut q = pick(&public.q);
        for (q, expected) in q.iter_mut().zip(golden.numbers(&at("q"))) {
            let turns = ((expected - *q) / std::f64::consts::TAU).round();
            *q += if engine == "maximal" { turns * std::f64::consts::TAU } else { 0.0 };
        }
        golden.compare(&format!("{engine} q"), &at("q"), &q, tolerance);
        golden.compare(&format!("{engine} v"), &at("v"), &pick(&public.v), tolerance);
        if golden.value.pointer(&at("momentum")).is_some() {
            match momentum {
                Some(p) => golden.compare(&format!("{engine} momentum"), &at("momentum"), p, tolerance),
                None => golden.input(at("momentum")),
            }
        }
        let observed = dynamics.observe(mechanism, &public.q, &public.v);
        let size = observed.kinetic.abs().max(observed.potential.abs()).max(1.0);
        golden.compare(
            &format!("{engine} energy"),
            &at("energy"),
            &[observed.total()],
            10.0 * tolerance * size,
        );
        golden.input(at("modes"));
        golden.input(at("at_rest"));
        if golden.value.pointer(&at("at_rest")).is_some_and(|rest| rest == true) {
            let fastest = public.v.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
            if fastest > 1e-12 {
                golden.fail(format!("{}: it moves at {fastest:e}", at("at_rest")));
            }
        }
        // Where rows depend on each other, which of them are said to hold is not unique, and the file does not say.
        if step > 0 && golden.value.pointer(&at("modes")).is_some() {
            compare_modes(golden, &at("modes"), mechanism, rows);
            if golden.value.pointer(&at("row_impulse")).is_some() {
                if curved {
                    golden.input(at("row_impulse"));
                } else {
                    golden.compare(
                        &format!("{engine} row_impulse"),
                        &at("row_impulse"),
                        &impulses,
                        10.0 * tolerance,
                    );
                }
            }
        } else {
            golden.input(at("row_impulse"));
        }
    }
}

fn compare_modes(golden: &mut Golden, pointer: &str, mechanism: &Mechanism, rows: &[RowState]) {
    let list = golden.value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    if list.len() != rows.len() {
        golden.fail(format!("{pointer}: {} rows expected, {} there", list.len(), rows.len()));
        return;
    }
    for (k, expected) in list.iter().enumerate() {
        let Some(at) = mechanism.rows().iter().position(|row| expected["row"] == *row.name) else {
            golden.fail(format!("{pointer}: there is no row {expected}"));
            continue;
        };
        let (name, row) = (&mechanism.rows()[at].name, &rows[at]);
        let mode = match (row.locked, row.sign) {
            (true, _) => "locked",
            (false, 0) => "free",
            _ => "sliding",
        };
        let sign = if mode == "sliding" { i64::from(row.sign) } else { 0 };
        let told = expected["sign"].as_i64().filter(|_| mode == "sliding").unwrap_or(0);
        let same = expected["mode"] == mode
            && told == sign
            && expected["side"].as_i64() == Some(i64::from(row.side));
        if !same {
            golden.fail(format!("{pointer}: row {k} is {expected}, found {name} {row:?}"));
        }
    }
}

fn compare_events(
    golden: &mut Golden,
    run: &str,
    engine: &str,
    mechanism: &Mechanism,
    happened: &[Happened],
    value: &Value,
) {
    let list = value["events"].as_array().cloned().unwrap_or_default();
    // An impact of several rows is one event of the file.
    let mut found: Vec<(usize, f64, &str, String, f64)> = Vec::new();
    for event in happened {
        let kind = match event.kind {
            RowEventKind::Stop => "stop",
            RowEventKind::ReleaseDown => "release-",
            RowEventKind::ReleaseUp => "release+",
            RowEventKind::Lower => "lower",
            RowEventKind::Upper => "upper",
            RowEventKind::Impact => "impact",
            RowEventKind::Input => "input",
        };
        let row = event.row.map_or(String::new(), |k| mechanism.rows()[k].name.clone());
        found.push((event.step, event.t, kind, row, event.impulse));
    }
    let told: Vec<String> = found.iter().map(|e| format!("{} {} {}", e.0, e.2, e.3)).collect();
    let name = |e: &Value| {
        let row = match (e["row"].as_str(), e["impulses"].as_object()) {
            (Some(row), _) => row.to_owned(),
            (None, Some(rows)) => rows.keys().next().cloned().unwrap_or_default(),
            _ => String::new(),
        };
        format!("{} {} {row}", e["step"], e["kind"].as_str().unwrap_or(""))
    };
    let expected: Vec<String> = list.iter().map(name).collect();
    golden.input(format!("{run}/events"));
    if told != expected {
        golden.fail(format!("{run}/events of {engine}: expected {expected:?}, found {told:?}"));
        return;
    }
    let released = golden.file.contains("hand24") || engine == "dop853" || engine == "semi_implicit";
    for (k, event) in found.iter().enumerate() {
        let at = |key: &str| format!("{run}/events/{k}/{key}");
        let tolerance = if event.2.starts_with("release") || released { 3e-7 } else { 1e-9 };
        golden.compare(&format!("{engine} event times"), &at("t"), &[event.1], tolerance);
        if event.2 == "impact" {
            golden.compare(&format!("{engine} impulses"), &at("impulses"), &[event.4], 1e-8);
        }
    }
}
