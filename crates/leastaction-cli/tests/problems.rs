//! Problem files: every wrong one is refused with file, line, key and remedy; the examples are read and solved.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_leastaction")).args(args).output().expect("the program runs")
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("leastaction-problems-{}-{name}", std::process::id()))
}

#[test]
fn every_wrong_problem_is_refused_with_file_line_key_and_remedy() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_problems");
    let mut seen = 0;
    for entry in std::fs::read_dir(corpus).expect("corpus") {
        let path = entry.expect("entry").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let expected = text.lines().next().and_then(|l| l.strip_prefix("# expects: ")).expect("first line");
        let out =
            run(&["optimize", &path.display().to_string(), "--out", &folder("bad").display().to_string()]);
        let said = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{}: {said}", path.display());
        let place = format!("{}:", path.display());
        let line =
            said.lines().find_map(|l| l.strip_prefix(&place)).unwrap_or_else(|| panic!("no place: {said}"));
        assert!(line.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok()), "no line number: {said}");
        assert!(said.contains("help: "), "no remedy: {said}");
        assert!(said.contains(expected), "{}: `{expected}` is not in\n{said}", path.display());
        assert!(!said.contains("panicked"), "{said}");
        seen += 1;
    }
    assert!(seen >= 25);
    assert!(!folder("bad").exists(), "a refused problem leaves no files");
}

#[test]
fn a_problem_is_solved_and_its_weights_come_back_from_the_motion_alone() {
    let out = folder("arm3_b");
    let problem = root().join("examples/arm3_b.toml").display().to_string();
    let done = run(&["optimize", &problem, "--infer", "--json", "--out", &out.display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert!((value["objective"].as_f64().expect("number") - 1_012.259_327_733).abs() < 1e-6);
    assert!(value["inferred"]["l1_error"].as_f64().expect("number") < 1e-10);
    for file in ["solution.json", "trajectory.csv", "trajectory.npz", "report.html"] {
        assert!(out.join(file).exists(), "{file}");
    }
    // A problem without weights, and the motion as control points or as a table.
    let problem = root().join("examples/arm3_infer.toml").display().to_string();
    for (motion, method, tolerance) in [("solution.json", "kkt", 1e-10), ("trajectory.csv", "kkt", 1e-2)] {
        let motion = out.join(motion).display().to_string();
        let target = folder("inferred").display().to_string();
        let done = run(&[
            "infer",
            &problem,
            "--motion",
            &motion,
            "--method",
            method,
            "--json",
            "--no-report",
            "--out",
            &target,
        ]);
        let value: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        let terms = value["terms"].as_array().expect("terms");
        let l1: f64 = terms.iter().map(|t| (t["weight"].as_f64().expect("number") - 0.25).abs()).sum();
        assert!(l1 < tolerance, "{motion}: {l1:.1e}");
    }
    std::fs::remove_dir_all(&out).expect("removed");
}

#[test]
fn a_reference_file_is_taken_in_place_of_a_problem() {
    let out = folder("golden");
    let file =
        root().join("crates/leastaction/tests/golden/optimization_arm3_limits.json").display().to_string();
    let done = run(&["optimize", &file, "--json", "--no-report", "--out", &out.display().to_string()]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let value: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(value["status"], "Solved");
    assert!(!value["active"].as_array().expect("list").is_empty());
    std::fs::remove_dir_all(&out).expect("removed");
}

/// Rotation splines, moving targets and link terms, from the files a reader tries first.
#[test]
fn examples_with_free_bodies_and_link_terms_are_solved_and_play() {
    for (name, objective) in [
        ("reorientation", 20.283_258_353),
        ("floating_reach", 25.311_665_852),
        ("arm3_links", 568.826_963_283),
    ] {
        let out = folder(name);
        let problem = root().join(format!("examples/{name}.toml")).display().to_string();
        let done = run(&["optimize", &problem, "--json", "--out", &out.display().to_string()]);
        assert_eq!(done.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&done.stderr));
        let value: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(value["status"], "Solved", "{name}");
        assert!(value["kkt_residual"].as_f64().expect("number") <= 1e-9, "{name}");
        let found = value["objective"].as_f64().expect("number");
        assert!(found < objective * (1.0 + 1e-9), "{name}: {found}");
        let page = std::fs::read_to_string(out.join("report.html")).expect("report");
        assert!(page.contains("plot-convergence"), "{name}");
        std::fs::remove_dir_all(&out).expect("removed");
    }
}

/// Solves a problem given as text; what `--json` says.
fn solved(name: &str, text: &str) -> serde_json::Value {
    let out = folder(name);
    std::fs::create_dir_all(&out).expect("folder");
    let problem = out.join("problem.toml");
    std::fs::write(&problem, text.replace("MODELS", &root().join("models").display().to_string()))
        .expect("written");
    let target = out.join("out").display().to_string();
    let done = run(&["optimize", &problem.display().to_string(), "--json", "--no-report", "--out", &target]);
    assert_eq!(done.status.code(), Some(0), "{name}: {}", String::from_utf8_lossy(&done.stderr));
    std::fs::remove_dir_all(&out).expect("removed");
    serde_json::from_slice(&done.stdout).expect("JSON")
}

fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// There and back along the same way cost the same, so that free phases share the time evenly, whatever they began with; and no
/// other durations cost less.
#[test]
fn durations_of_phases_are_those_that_cost_least() {
    let text = |head: &str, out: f64, back: f64| {
        let via = |joint: &str| format!("[[via]]\nt = \"end of out\"\njoint = \"{joint}\"\nvalue = 0.4\n");
        format!(
            "model = \"MODELS/arm3.json\"\n[trajectory]\ncontrol_points = 24\n{head}\n[[phases]]\nname = \"out\"\nduration = {out}\n\
             rest = true\n[[phases]]\nname = \"back\"\nduration = {back}\n[start]\nq = 0\n[end]\nq = 0\n[[terms]]\n\
             kind = \"joint_jerk\"\nweight = 1e-4\n{}{}{}",
            via("link1_joint"),
            via("link2_joint"),
            via("link3_joint")
        )
    };
    let total = |value: &serde_json::Value| number(&value["objective"]) + number(&value["duration"]);
    let found = solved("phases", &text("time_weight = 1.0", 0.5, 1.0));
    let (out, back) = (number(&found["phases"][0]["duration"]), number(&found["phases"][1]["duration"]));
    assert!((out / back - 1.0).abs() < 1e-4, "{out} {back}");
    assert!((out + back - number(&found["duration"])).abs() < 1e-12);
    for (more_out, more_back) in [(1.02, 1.0), (1.0, 1.02), (0.98, 1.0), (1.0, 0.98)] {
        let other = solved("phases-near", &text("", more_out * out, more_back * back));
        assert!(total(&other) > total(&found), "{more_out} {more_back}");
    }
}

/// A term in one phase and the same in the other are the term in both, wherever the phases meet.
#[test]
fn terms_of_phases_add_up() {
    let text = |terms: &str| {
        format!(
            "model = \"MODELS/arm3.json\"\n[trajectory]\n[[phases]]\nname = \"a\"\nduration = 0.437\n[[phases]]\nname = \"b\"\n\
             duration = 0.563\n[start]\nq = 0.5\n[end]\nq = -0.5\n{terms}"
        )
    };
    let term = |kind: &str, when: &str| format!("[[terms]]\nkind = \"{kind}\"\nweight = 0.5\n{when}");
    let whole = solved("whole", &text(&(term("joint_jerk", "") + &term("torque", ""))));
    let parts = ["during = \"a\"\n", "during = \"b\"\n"];
    let terms: String =
        ["joint_jerk", "torque"].iter().flat_map(|kind| parts.map(|when| term(kind, when))).collect();
    let split = solved("split", &text(&terms));
    let (a, b) = (number(&whole["objective"]), number(&split["objective"]));
    assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
    // Each part alone is less than the whole, and the sums agree.
    let cost = |value: &serde_json::Value, t: usize| number(&value["terms"][t]["cost"]);
    assert!(cost(&split, 0) > 0.0 && cost(&split, 1) > 0.0);
    assert!(((cost(&split, 0) + cost(&split, 1)) / cost(&whole, 0) - 1.0).abs() < 1e-7);
}

/// Limits that nothing comes near do not act, whatever the solver leaves on them.
#[test]
fn limits_that_change_nothing_do_not_act() {
    let text = |limits: &str| {
        format!(
            "model = \"MODELS/arm3.json\"\n[trajectory]\nduration = 2.0\n[start]\nq = 0.5\n[end]\nq = -0.5\n[[terms]]\n\
             kind = \"joint_jerk\"\nweight = 1.0\n{limits}"
        )
    };
    let free = solved("unlimited", &text(""));
    let wide = solved("wide", &text("[limits]\nvelocity = 100.0\ntorque = 1000.0\n"));
    let tight = solved("tight", &text("[limits]\nvelocity = 0.7\n"));
    let acting = |value: &serde_json::Value| value["active"].as_array().map_or(0, Vec::len);
    assert_eq!((acting(&wide), acting(&free)), (0, 0));
    assert!((number(&wide["objective"]) / number(&free["objective"]) - 1.0).abs() < 1e-9);
    // The reach alone is as fast as 0.78 rad/s.
    assert!(acting(&tight) > 0 && number(&tight["objective"]) > 1.01 * number(&free["objective"]));
    assert!(number(&tight["violation_between_samples"]) <= 0.7e-6, "{}", tight["violation_between_samples"]);
}

/// A goal over an interval is met there, and the nearer between the times it is met at the more control points there are.
#[test]
fn an_orientation_is_held_over_a_phase() {
    let text = std::fs::read_to_string(root().join("examples/arm7_upright.toml")).expect("example");
    let text = text.replace("../models", "MODELS");
    let strays = [20, 40].map(|count| {
        let text = text.replace("control_points = 30", &format!("control_points = {count}"));
        let found = solved("upright", &text);
        let upright = &found["constraints"].as_array().expect("list")[1];
        assert_eq!((&found["status"], &upright["name"]), (&"Solved".into(), &"upright".into()));
        assert!(number(&upright["violation"]) < 1e-8, "{upright}");
        number(&upright["violation_between_samples"])
    });
    assert!(strays[0] < 0.05 && strays[1] < 0.2 * strays[0], "{strays:?}");
}

/// What a frame keeps clear of it does not touch between samples either.
#[test]
fn a_frame_stays_clear_between_samples() {
    let text = std::fs::read_to_string(root().join("examples/arm7_past_a_ball.toml")).expect("example");
    let found = solved("ball", &text.replace("../models", "MODELS"));
    let ball = &found["constraints"].as_array().expect("list")[4];
    assert_eq!(ball["name"], "ball");
    assert!(number(&ball["violation_between_samples"]) <= 0.08e-6, "{ball}");
    assert!(number(&found["kkt_residual"]) <= 1e-8);
}

#[test]
fn bench_optimize_prints_one_line_per_problem() {
    let problem = root().join("examples/arm3_a.toml").display().to_string();
    let done = run(&["bench", "optimize", &problem, "--repeat", "2"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let line: serde_json::Value = serde_json::from_slice(&done.stdout).expect("one JSON line");
    assert_eq!((line["runs"].as_u64(), line["status"].as_str()), (Some(2), Some("Solved")));
    assert!(line["free_gradient"].as_f64().expect("number") <= 1e-9);
}
