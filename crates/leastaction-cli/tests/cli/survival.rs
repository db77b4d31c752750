//! Whatever ends a run, it goes on, and its files come out as those of a run that nothing disturbed.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::support::Folder;

/// What a run leaves, without its wall time.
fn results(folder: &Folder, out: &str) -> (Vec<Vec<u8>>, serde_json::Value, Vec<String>) {
    let files = ["trajectory.csv", "trajectory.npz", "state.json"];
    let mut summary = folder.json(&format!("{out}/summary.json"));
    for key in ["wall_time", "steps_per_second"] {
        summary[key] = serde_json::Value::Null;
    }
    summary["configuration"]["output"] = serde_json::Value::Null;
    (files.map(|name| folder.read(&format!("{out}/{name}"))).to_vec(), summary, folder.list(out))
}

/// The plots of a report: its page without figures that depend on the clock.
fn plots(folder: &Folder, out: &str) -> Vec<String> {
    let page = String::from_utf8(folder.read(&format!("{out}/report.html"))).unwrap();
    page.split("<figure").skip(1).map(|figure| figure.split("</figure>").next().unwrap().to_owned()).collect()
}

/// Runs with what has to be carried along: rows of friction and limits, constraint forces, several steps to a row, an
/// adaptive method, inputs with servos, contacts whose features come and go.
const RUNS: [&str; 6] = [
    "simulate @chain/5 --duration 30",
    "simulate @four-bar --duration 20 --forces --every 3",
    "simulate robot.urdf --duration 20",
    "simulate @ball-chain/3 --integrator dop853 --duration 10",
    "simulate @chain/3 --motors all --hold start --duration 10 --every 7",
    "simulate dice.json --duration 5 --forces",
];

fn folder(name: &str) -> Folder {
    let folder = Folder::new(name);
    for (model, name) in [("gripper-arm.urdf", "robot.urdf"), ("dice.json", "dice.json")] {
        let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
        std::fs::copy(format!("{models}/{model}"), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn a_killed_run_goes_on_as_if_nothing_had_been() {
    let folder = folder("survive");
    let mut killed = 0;
    for run in RUNS {
        let begin = Instant::now();
        folder.succeed(&format!("{run} --out whole"));
        let time = begin.elapsed();
        let whole = (results(&folder, "whole"), plots(&folder, "whole"));
        for part in 1..6 {
            let mut command = folder.command(&format!("{run} --out out --checkpoint 0.01 --force"));
            let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(time * part / 6);
            child.kill().unwrap();
            child.wait().unwrap();
            if folder.path().join("out/checkpoint").exists() {
                killed += 1;
                folder.succeed("resume out");
                assert!((results(&folder, "out"), plots(&folder, "out")) == whole, "{run}, part {part}");
            }
            let _ = std::fs::remove_dir_all(folder.path().join("out"));
        }
        std::fs::remove_dir_all(folder.path().join("whole")).unwrap();
    }
    assert!(killed > RUNS.len(), "only {killed} runs were killed after a checkpoint");
}

#[test]
fn a_run_that_was_interrupted_goes_on_in_its_own_folder() {
    let folder = folder("interrupted");
    let run = "simulate @four-bar --duration 60 --forces --every 3";
    folder.succeed(&format!("{run} --out whole"));
    let mut child = folder.command(&format!("{run} --out out")).stderr(Stdio::null()).spawn().unwrap();
    let begin = Instant::now();
    let partial = folder.path().join("out/.trajectory.csv.partial");
    while std::fs::metadata(&partial).map_or(0, |meta| meta.len()) == 0 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the run does not write");
        std::thread::sleep(Duration::from_millis(1));
    }
    Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "the run was over too soon");
    // What was computed can be read, and starting anew does not lose it by accident.
    assert_eq!(folder.json("out/summary.json")["outcome"], "interrupted");
    let again = folder.run(&format!("{run} --out out"));
    let said = String::from_utf8(again.stderr).unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(said.contains("holds a run that was stopped at step"), "{said}");
    assert!(said.contains("`leastaction resume out` goes on with it, `--force` starts anew"), "{said}");
    folder.succeed("resume out");
    assert!(results(&folder, "whole") == results(&folder, "out"));
    let over = folder.run("resume out");
    assert_eq!(over.status.code(), Some(2));
    assert!(String::from_utf8(over.stderr).unwrap().contains("`out` has no checkpoint to go on from"));
}

/// A limit on the size of files takes the place of a full disk: writing fails.
#[test]
fn a_run_without_room_keeps_its_state_and_goes_on_when_there_is_some() {
    let folder = folder("full");
    let run = "simulate @chain/5 --duration 20 --no-report";
    folder.succeed(&format!("{run} --out whole"));
    // From the first rows to the archive at the end; `ulimit` of bash counts kilobytes.
    for blocks in [100, 700, 1500, 2000, 2500] {
        let program = env!("CARGO_BIN_EXE_leastaction");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} {run} --out out");
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{blocks}: {said}");
        assert!(said.contains("can't write") && said.contains("`leastaction resume out` goes on"), "{said}");
        folder.succeed("resume out");
        assert!(results(&folder, "whole") == results(&folder, "out"), "{blocks} blocks");
        std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    }
}

#[test]
fn what_is_not_the_same_run_any_more_is_refused_by_name() {
    let folder = folder("changed-run");
    let table = "t,joint0\n0,0\n1,1\n";
    std::fs::write(folder.path().join("inputs.csv"), table).unwrap();
    std::fs::copy(folder.path().join("robot.urdf"), folder.path().join("kept.urdf")).unwrap();
    let stop = |run: &str| {
        let program = env!("CARGO_BIN_EXE_leastaction");
        let script =
            format!("trap '' XFSZ; ulimit -f 400; exec {program} {run} --no-report --out out --force");
        let output = Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let refused = |what: &str| {
        let output = folder.run("resume out");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(what), "{said}");
    };
    stop("simulate @chain/3 --motors all --inputs inputs.csv");
    std::fs::write(folder.path().join("inputs.csv"), table.replace("1,1", "1,2")).unwrap();
    refused("`inputs.csv` has changed since the run began");
    std::fs::remove_file(folder.path().join("inputs.csv")).unwrap();
    refused("can't read `inputs.csv`");

    stop("simulate robot.urdf");
    let lighter = String::from_utf8(folder.read("kept.urdf")).unwrap().replacen("value=\"", "value=\"1", 1);
    std::fs::write(folder.path().join("robot.urdf"), lighter).unwrap();
    refused("the model `robot.urdf` has changed since the run began");
    std::fs::copy(folder.path().join("kept.urdf"), folder.path().join("robot.urdf")).unwrap();

    let checkpoint = folder.path().join("out/checkpoint");
    let bytes = folder.read("out/checkpoint");
    for at in (0..bytes.len()).step_by(bytes.len() / 40) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&checkpoint, damaged).unwrap();
        refused("out/checkpoint` is damaged");
        std::fs::write(&checkpoint, &bytes[..at]).unwrap();
        refused("out/checkpoint` is damaged");
    }
    let other = String::from_utf8_lossy(&bytes).replacen("\"version\":\"0", "\"version\":\"9", 1);
    assert_ne!(other.as_bytes(), bytes);
    std::fs::write(&checkpoint, &bytes).unwrap();
    folder.succeed("resume out");
}

#[test]
fn results_of_another_verb_or_model_are_not_replaced_by_accident() {
    let folder = folder("own");
    folder.succeed("simulate @chain/2 --duration 0.1 --out out");
    folder.succeed("simulate @chain/2 --duration 0.2 --out out");
    let refused = |run: &str, what: &str| {
        let output = folder.run(run);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains(what), "{said}");
    };
    let before = results(&folder, "out");
    refused("simulate robot.urdf --duration 0.1 --out out", "`out` holds results of the model `");
    refused(
        "simulate @chain/2 --duration 0.1 --start out/state.json --out out",
        "would replace the trajectory that leads there",
    );
    assert!(results(&folder, "out") == before);
    folder.succeed("simulate @chain/2 --duration 0.1 --start out/state.json --out on");
    folder.succeed("simulate robot.urdf --duration 0.1 --out out --force --no-report");
    assert!(!folder.list("out").contains(&"report.html".to_owned()), "a report of another run stayed");
    // Verbs that solve problems ask before they begin.
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/arm3_a.toml");
    refused(&format!("optimize {example} --out out"), "`out` holds results of `simulate`");
    folder.succeed(&format!("optimize {example} --out best --no-report"));
    folder.succeed(&format!("optimize {example} --out best --no-report"));
    refused(
        &format!("infer {example} --motion best/solution.json --out best"),
        "`best` holds results of `optimize`",
    );
    refused("simulate @chain/2 --duration 0.1 --out best", "`best` holds results of `optimize`");
    folder.succeed(&format!("infer {example} --motion best/solution.json --out best --force --no-report"));
    // Files that are being put in place may be of two runs.
    std::fs::write(folder.path().join("out/.incomplete"), "").unwrap();
    refused(
        "simulate robot.urdf --duration 0.1 --start out/state.json --out on --force",
        "`out` may hold files of two runs",
    );
}
