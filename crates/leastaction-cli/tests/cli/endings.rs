//! However a run ends, its files are old or whole.

use std::io::Read;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use super::support::Folder;
use leastaction::io::{read_trajectory_csv, read_trajectory_npz};

/// A run that would take hours.
const ENDLESS: &str = "simulate @chain/3 --integrator rk4 --step 1e-4 --duration 1e6 --every 50 --out out";

/// Starts the run and waits until it writes.
fn start(folder: &Folder, arguments: &str) -> Child {
    let mut command = folder.command(arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let partial = folder.path().join("out/.trajectory.csv.partial");
    let begin = Instant::now();
    while std::fs::metadata(&partial).map_or(0, |meta| meta.len()) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the run does not write");
        std::thread::sleep(Duration::from_millis(5));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let status =
        std::process::Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status();
    assert!(status.unwrap().success());
}

#[test]
fn ctrl_c_keeps_whole_files_of_what_was_computed() {
    let folder = Folder::new("interrupt");
    let mut child = start(&folder, ENDLESS);
    signal(&child, "INT");
    let status = child.wait().unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.contains("`leastaction resume out` goes on"), "{said}");

    let csv = read_trajectory_csv(&folder.path().join("out/trajectory.csv")).unwrap();
    let npz = read_trajectory_npz(&folder.path().join("out/trajectory.npz")).unwrap();
    assert!(csv.len() > 1 && csv == npz);
    let (summary, state) = (folder.json("out/summary.json"), folder.json("out/state.json"));
    assert_eq!(summary["outcome"], "interrupted");
    assert_eq!(summary["steps"], state["clock"]["steps"]);
    let rows = summary["steps"].as_u64().unwrap() / 50 + 1;
    assert_eq!(csv.len() as u64, rows);
    assert!(folder.list("out").iter().all(|name| !name.starts_with('.')), "{:?}", folder.list("out"));
    // The state is good for going on.
    folder.succeed(
        "simulate @chain/3 --integrator rk4 --step 1e-4 --duration 0.01 --start out/state.json --out on",
    );
}

#[test]
fn a_killed_run_leaves_the_old_files() {
    let folder = Folder::new("killed");
    folder.succeed("simulate @chain/3 --integrator rk4 --duration 0.1 --out out");
    let before: Vec<(String, Vec<u8>)> = folder
        .list("out")
        .into_iter()
        .map(|name| (name.clone(), folder.read(&format!("out/{name}"))))
        .collect();
    let mut child = start(&folder, ENDLESS);
    signal(&child, "KILL");
    child.wait().unwrap();
    for (name, bytes) in &before {
        assert!(folder.read(&format!("out/{name}")) == *bytes, "{name}");
    }
    // What it left half-written is taken over by the next run.
    folder.succeed("simulate @chain/3 --integrator rk4 --duration 0.1 --out out");
    assert!(folder.list("out").iter().all(|name| !name.starts_with('.')), "{:?}", folder.list("out"));
}

#[test]
fn two_runs_into_one_folder_are_told() {
    let folder = Folder::new("two");
    let mut child = start(&folder, ENDLESS);
    let output = folder.run("simulate @chain/3 --integrator rk4 --duration 0.1 --out out");
    signal(&child, "KILL");
    child.wait().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("another run is writing this file"), "{text}");
}

#[test]
fn a_folder_that_can_not_be_made_is_said_before_anything_runs() {
    let folder = Folder::new("unwritable");
    let begin = Instant::now();
    let output = folder.run("simulate @chain/3 --integrator rk4 --duration 1e6 --out cart.json/out");
    assert_eq!(output.status.code(), Some(2));
    assert!(begin.elapsed() < Duration::from_secs(60), "it ran first");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("can't make the folder `cart.json/out`") && text.contains("--out DIR"), "{text}");
}

#[test]
fn a_file_that_can_not_be_replaced_loses_nothing() {
    let folder = Folder::new("replace");
    // A folder in the place of the file: the rename at the end fails.
    std::fs::create_dir_all(folder.path().join("out/trajectory.csv/in-the-way")).unwrap();
    let output = folder.run("simulate @chain/3 --integrator rk4 --duration 0.1 --out out");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("can't write `out/trajectory.csv`"), "{text}");
    assert!(text.contains("nothing is lost"), "{text}");
    std::fs::remove_dir_all(folder.path().join("out/trajectory.csv")).unwrap();
    folder.succeed("resume out");
    folder.succeed("simulate @chain/3 --integrator rk4 --duration 0.1 --out again");
    assert_eq!(folder.list("out"), folder.list("again"));
    assert!(folder.read("out/trajectory.csv") == folder.read("again/trajectory.csv"));
}

#[test]
fn a_step_that_fails_keeps_everything_before_it() {
    let folder = Folder::new("blow-up");
    // Far beyond the stable step of a light link on a stiff spring.
    let text = String::from_utf8(folder.read("cart.json")).unwrap();
    let stiff = text
        .replace("\"type\": \"continuous\",", "\"type\": \"continuous\", \"spring\": {\"stiffness\": 1e9},");
    assert_ne!(stiff, text);
    std::fs::write(folder.path().join("stiff.json"), stiff).unwrap();
    let output = folder.run("simulate stiff.json --integrator rk4 --step 0.1 --duration 100 --out out");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("of 1000 steps") && said.contains("not finite at t = "), "{said}");
    let summary = folder.json("out/summary.json");
    assert_eq!(summary["outcome"], "failed");
    let csv = read_trajectory_csv(&folder.path().join("out/trajectory.csv")).unwrap();
    assert_eq!(csv.len() as u64, summary["steps"].as_u64().unwrap() + 1);
    assert!(csv.column("q.hinge").unwrap().iter().all(|q| q.is_finite()));
    assert!(folder.list("out").contains(&"report.html".to_owned()));
}
