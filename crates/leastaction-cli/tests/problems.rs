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

#[test]
fn bench_optimize_prints_one_line_per_problem() {
    let problem = root().join("examples/arm3_a.toml").display().to_string();
    let done = run(&["bench", "optimize", &problem, "--repeat", "2"]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let line: serde_json::Value = serde_json::from_slice(&done.stdout).expect("one JSON line");
    assert_eq!((line["runs"].as_u64(), line["status"].as_str()), (Some(2), Some("Solved")));
    assert!(line["free_gradient"].as_f64().expect("number") <= 1e-9);
}
