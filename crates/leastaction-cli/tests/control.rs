//! `control`: wrong problems are refused where they are wrong; swing-ups arrive, stay, and replay on another integrator.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leastaction")).args(args).output().expect("the program runs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("leastaction-control-{}-{name}", std::process::id()))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

#[test]
fn every_wrong_control_problem_is_refused_with_file_line_key_and_remedy() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_control_problems");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).expect("corpus") {
        let path = entry.expect("entry").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let head = |key: &str| {
            let line = text.lines().find_map(|l| l.strip_prefix(&format!("# {key}: ")));
            line.unwrap_or_else(|| panic!("{} has no `{key}`", path.display())).to_owned()
        };
        let out =
            run(&["control", &path.display().to_string(), "--out", &folder("bad").display().to_string()]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{}: {said}", path.display());
        let place = format!("{}:{}:", path.display(), head("line"));
        assert!(said.lines().any(|l| l.starts_with(&place)), "{place} is not in\n{said}");
        for needed in [head("expects"), head("help")] {
            assert!(said.contains(&needed), "{}: `{needed}` is not in\n{said}", path.display());
        }
        assert!(said.contains("help: ") && !said.contains("panicked"), "{said}");
        seen += 1;
    }
    assert!(seen >= 20, "{seen}");
    assert!(!folder("bad").exists(), "a refused problem leaves no files");
}

#[test]
fn a_control_problem_is_no_problem_of_splines() {
    let problem = root().join("examples/cart_pole.toml").display().to_string();
    let out = run(&["optimize", &problem]);
    let said = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("run `leastaction control` on it"), "{said}");
}

/// Solves an example, replays its policy as the bar asks, and checks where everything ends.
fn swing_up(example: &str, model: &str, limit: f64) {
    let out = folder(example);
    let out_text = out.display().to_string();
    let problem = root().join(format!("examples/{example}.toml")).display().to_string();
    let done = run(&["control", &problem, "--json", "--out", &out_text]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    for end in [&value["end"], &value["replay"]["feedback"]] {
        assert!(number(&end["position"]) < 0.02 && number(&end["velocity"]) < 0.1, "{example}: {end}");
    }
    assert!(number(&value["replay"]["open_loop"]["position"]).is_finite());
    let inputs = value["inputs"].as_array().expect("inputs");
    let largest =
        inputs.iter().flat_map(|u| u.as_array().expect("row")).fold(0.0f64, |m, u| m.max(number(u).abs()));
    assert!(largest <= limit && largest > 0.5 * limit, "{example}: {largest}");
    for file in ["solution.json", "policy.json", "trajectory.csv", "trajectory.npz", "report.html"] {
        assert!(out.join(file).exists(), "{file}");
    }
    let policy = out.join("policy.json");
    let parsed: Value = serde_json::from_slice(&std::fs::read(&policy).expect("policy")).expect("JSON");
    let step = (0.1 * number(&parsed["step"])).to_string();
    let model = root().join(model).display().to_string();
    let policy = policy.display().to_string();
    let replay = |more: &[&str], name: &str| -> Value {
        let target = out.join(name).display().to_string();
        let common = ["simulate", &model, "--policy", &policy, "--integrator", "rk4", "--step", &step];
        let args = [&common[..], more, &["--json", "--no-report", "--out", &target]].concat();
        let done = run(&args);
        assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("JSON")
    };
    // The bar: Runge and Kutta at a tenth of the step, feedback on; at the end and for five seconds more.
    let closed = replay(&[], "closed");
    let end = &closed["policy"]["end"];
    assert!(number(&end["position"]) < 0.02 && number(&end["velocity"]) < 0.1, "{example}: {end}");
    assert!(number(&end["worst_position_afterwards"]) < 0.02, "{example}: {end}");
    assert!(number(&end["worst_velocity_afterwards"]) < 0.1, "{example}: {end}");
    assert!(
        number(&closed["t_end"])
            - number(&parsed["step"]) * parsed["steps"].as_array().map_or(0, Vec::len) as f64
            > 4.999
    );
    // Feedback or not: the inputs that were planned, and what they come to alone.
    let open = replay(&["--open-loop"], "open");
    assert_eq!(open["policy"]["feedback"], false);
    assert!(open["policy"]["open_loop"].is_null());
    let beside = number(&closed["policy"]["open_loop"]["position"]);
    assert!(
        (number(&open["policy"]["end"]["position"]) - beside).abs() <= 1e-12 * beside.abs(),
        "{open} {closed}"
    );
    std::fs::remove_dir_all(&out).expect("removed");
}

#[test]
fn a_pendulum_swings_up_and_stays() {
    swing_up("pendulum_swing_up", "models/pendulum.json", 2.0);
}

#[test]
fn a_cart_swings_its_pole_up_and_balances_it() {
    swing_up("cart_pole", "models/cart-pole.json", 10.0);
}

#[test]
fn an_acrobot_swings_up_and_stays() {
    swing_up("acrobot", "models/acrobot.json", 10.0);
}

#[test]
fn a_policy_for_another_model_is_refused() {
    let out = folder("other");
    let problem = root().join("examples/cart_pole.toml").display().to_string();
    let done = run(&["control", &problem, "--no-report", "--out", &out.display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let policy = out.join("policy.json").display().to_string();
    for (model, reason) in [
        ("@double-pendulum".to_owned(), "its inputs are [push], those of `double-pendulum` are []"),
        (root().join("models/acrobot.json").display().to_string(), "does not fit"),
    ] {
        let done = run(&[
            "simulate",
            &model,
            "--policy",
            &policy,
            "--no-report",
            "--out",
            &out.join("x").display().to_string(),
        ]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains("help: "), "{said}");
    }
    let done = run(&["simulate", "@chain/2", "--open-loop"]);
    assert_eq!(done.status.code(), Some(2));
    std::fs::remove_dir_all(&out).expect("removed");
}

#[test]
fn a_closed_linkage_is_driven_to_a_point_and_held_there() {
    let out = folder("five_bar");
    let problem = root().join("examples/five_bar.toml").display().to_string();
    let done = run(&["control", &problem, "--json", "--no-report", "--out", &out.display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(value["integrator"], "maximal (order 2)");
    // A weight of 1e4 on the square of the distance: a millimetre costs 0.01.
    let terms = value["terms"].as_array().expect("terms");
    let tip = terms.iter().find(|term| term["name"] == "point_tracking at the end").expect("the tip's term");
    assert!(number(&tip["cost"]) < 0.01, "{tip}");
    let (feedback, open) = (&value["replay"]["feedback"], &value["replay"]["open_loop"]);
    assert!(number(&feedback["position"]) < 1e-3 && number(&feedback["velocity"]) < 1e-2, "{feedback}");
    assert!(number(&open["position"]) > number(&feedback["position"]), "{open}");
    std::fs::remove_dir_all(&out).expect("removed");
}

/// Inputs that can't move anything: the least cost is far from the goal, and that is what is said.
#[test]
fn a_goal_out_of_reach_is_missed_and_not_called_solved() {
    let out = folder("missed");
    std::fs::create_dir_all(&out).expect("folder");
    let text = std::fs::read_to_string(root().join("examples/pendulum_swing_up.toml")).expect("example");
    let model = root().join("models").display().to_string();
    // Nothing to push with, and weights at the end that are content with four degrees.
    for (key, with) in [("input = ", "input = 1e-300"), ("weight = 1000.0", "weight = 1.0")] {
        let lines = text.lines().map(|line| match line.starts_with(key) {
            true => with.to_owned(),
            false => line.replace("../models", &model),
        });
        let problem = out.join("weak.toml");
        std::fs::write(&problem, lines.collect::<Vec<_>>().join("\n")).expect("written");
        let target = out.join("x").display().to_string();
        let done =
            run(&["control", &problem.display().to_string(), "--json", "--no-report", "--out", &target]);
        assert_eq!(done.status.code(), Some(1), "{with}: {}", String::from_utf8_lossy(&done.stderr));
        let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!((&value["outcome"], &value["status"]), (&"missed".into(), &"Missed".into()), "{with}");
        let verdict = value["verdict"].as_str().expect("a verdict");
        assert!(verdict.contains("raise the weights at the end"), "{value}");
    }
    std::fs::remove_dir_all(&out).expect("removed");
}

/// A plan that arrives and stays has reached its goal, however much cheaper another may be; and a run that is shorter than its policy
/// says so without numbers that are none.
#[test]
fn a_goal_that_is_held_is_reached_before_the_cost_is_least() {
    let out = folder("reached");
    std::fs::create_dir_all(&out).expect("folder");
    let text = std::fs::read_to_string(root().join("examples/pendulum_swing_up.toml")).expect("example");
    let models = root().join("models").display().to_string();
    let text = text.replace("../models", &models).replace("[solver]", "[solver]\nmax_iterations = 20");
    let problem = out.join("few.toml");
    std::fs::write(&problem, text).expect("written");
    let target = out.join("x").display().to_string();
    let done = run(&["control", &problem.display().to_string(), "--json", "--no-report", "--out", &target]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!((&value["outcome"], &value["status"]), (&"reached".into(), &"Reached".into()));
    assert!(
        value["verdict"].as_str().is_some_and(|v| v.contains("raise `max_iterations` above 20")),
        "{value}"
    );
    assert!(number(&value["replay"]["feedback"]["worst_position_afterwards"]) < 0.02, "{}", value["replay"]);
    let policy = out.join("x/policy.json").display().to_string();
    let model = root().join("models/pendulum.json").display().to_string();
    let short = out.join("short").display().to_string();
    let args = ["simulate", &model, "--policy", &policy, "--duration", "1", "--no-report", "--out", &short];
    let done = run(&args);
    let said = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    assert!(said.contains("the run ended before its motion did") && !said.contains("NaN"), "{said}");
    std::fs::remove_dir_all(&out).expect("removed");
}

/// Solves an example through contact and replays its policy by `simulate`; returns the solution and the summary of the replay.
fn through_contact(name: &str, model: &str) -> (Value, Value) {
    let out = folder(name);
    let (text, problem) =
        (out.display().to_string(), root().join(format!("examples/{name}.toml")).display().to_string());
    let done = run(&["control", &problem, "--json", "--no-report", "--out", &text]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let solution: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(solution["contact"]["derivative"], "relaxed", "{solution}");
    let (policy, again) =
        (out.join("policy.json").display().to_string(), out.join("again").display().to_string());
    let model = root().join("models").join(model).display().to_string();
    let length = number(&solution["steps"]) * number(&solution["step"]);
    let duration = length.to_string();
    let replay = [
        "simulate",
        &model,
        "--policy",
        &policy,
        "--duration",
        &duration,
        "--json",
        "--no-report",
        "--out",
        &again,
    ];
    let done = run(&replay);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let summary: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    // The replay takes the same steps with feedback, and ends where the plan does.
    let plan = last_row(&out.join("trajectory.csv"));
    let replayed = last_row(&out.join("again/trajectory.csv"));
    for (key, x) in plan.iter().filter(|(key, _)| key.starts_with("q.")) {
        let there = replayed.iter().find(|(k, _)| k == key).map_or(f64::NAN, |(_, x)| *x);
        assert!((x - there).abs() < 1e-6, "{name} {key}: {x} planned, {there} replayed");
    }
    std::fs::remove_dir_all(&out).expect("removed");
    (solution, summary)
}

/// The last row of a table by column.
fn last_row(path: &Path) -> Vec<(String, f64)> {
    let text = std::fs::read_to_string(path).expect("a trajectory");
    let mut lines = text.lines();
    let columns = lines.next().expect("columns").split(',').map(str::to_owned);
    let last = lines.next_back().expect("a row").split(',').map(|x| x.parse().unwrap_or(f64::NAN));
    columns.zip(last).collect()
}

#[test]
fn a_hopper_lands_and_jumps() {
    let (solution, summary) = through_contact("hopper", "hopper.json");
    assert!(number(&solution["end"]["position"]) < 0.1, "{}", solution["end"]);
    assert!(number(&summary["contact"]["impacts"]) >= 1.0, "{summary}");
}

#[test]
fn a_block_is_pushed_to_its_mark() {
    let (solution, summary) = through_contact("pushed_block", "pushed-block.json");
    // ½ · 1000 · d²: a centimetre from the mark costs 0.05.
    let terms = solution["terms"].as_array().expect("terms");
    let mark =
        terms.iter().find(|term| term["name"] == "point_tracking at the end").expect("the mark's term");
    assert!(number(&mark["cost"]) < 0.05, "{mark}");
    assert!(number(&summary["contact"]["impacts"]) >= 1.0, "{summary}");
}

#[test]
fn a_quadruped_stands_up() {
    let (solution, _) = through_contact("quadruped_stand", "quadruped-legs.json");
    assert!(number(&solution["end"]["position"]) < 0.05, "{}", solution["end"]);
}
