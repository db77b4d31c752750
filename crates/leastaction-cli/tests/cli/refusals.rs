//! What can't be done is refused in words that help, before anything breaks.

use std::fs::File;
use std::process::{Output, Stdio};

use super::support::Folder;

fn refused(folder: &Folder, arguments: &str) -> String {
    let output = folder.run(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
    said
}

#[test]
fn a_negative_step_is_refused_as_a_number() {
    let folder = Folder::new("negative-step");
    let said = refused(&folder, "simulate @chain/2 --step -0.01");
    assert!(said.contains("invalid value '-0.01' for '--step <S>': it must be greater than 0"), "{said}");
    let said = refused(&folder, "simulate @chain/2 --every -3");
    assert!(said.contains("give a whole number greater than 0"), "{said}");
}

#[test]
fn a_tolerance_that_is_of_no_use_is_refused_with_the_range() {
    let folder = Folder::new("tolerance");
    for value in ["1e-30", "10"] {
        let said = refused(&folder, &format!("simulate @chain/2 --tolerance {value}"));
        assert!(said.contains("give a number from 1e-16 to 0.1"), "{said}");
    }
    std::fs::write(folder.path().join("t.toml"), "model = \"@chain/2\"\ntolerance = 10\n").unwrap();
    let said = refused(&folder, "simulate t.toml");
    assert!(said.contains("t.toml:2") && said.contains("give a number from 1e-16 to 0.1"), "{said}");
}

/// Runs with a full disk for standard output.
#[cfg(target_os = "linux")]
fn onto_a_full_disk(folder: &Folder, arguments: &str) -> Output {
    let full = File::options().write(true).open("/dev/full").unwrap();
    folder.command(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn what_does_not_arrive_on_a_full_disk_is_an_error() {
    let folder = Folder::new("full-disk");
    for arguments in [
        "convert @chain/1000 - --to json",
        "info @chain/3",
        "info @chain/3 --json",
        "linearize @chain/2",
        "simulate @chain/2 --print-config",
        "bench kernel rnea @chain/2 --calls 1",
        "completions bash",
        "experiment list",
    ] {
        let output = onto_a_full_disk(&folder, arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {said}");
        // With --json the failure itself has nowhere to go.
        assert!(arguments.ends_with("json") || said.contains("can't be written"), "{arguments}: {said}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new("closed-pipe");
    let mut child = folder.command("convert @chain/3000 - --to json").stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn sizes_that_do_not_fit_are_refused_with_numbers() {
    let folder = Folder::new("sizes");
    folder.succeed("simulate @chain/2 --integrator rk4 --duration 0.5 --no-report --out run");
    let motion = "motion @chain/2 --trajectory run/trajectory.csv --quantity torque --no-report --out m";
    for points in ["18446744073709551615", "100000000"] {
        let said = refused(&folder, &format!("{motion} --control-points {points}"));
        assert!(said.contains("control points are more than 101 samples can place"), "{said}");
    }
    let said = refused(&folder, &format!("{motion} --degree 18446744073709551615"));
    assert!(said.contains("give a whole number from 1 to 30"), "{said}");
    let said = refused(&folder, "linearize @chain/50000");
    assert!(said.contains("(100000 x 100000 numbers) takes") && said.contains("GB are free"), "{said}");
}

#[test]
fn a_state_of_another_model_gives_its_positions_and_velocities_only() {
    let folder = Folder::new("foreign-state");
    folder.succeed("simulate @double-pendulum --duration 0.5 --no-report --out first");
    assert_eq!(folder.json("first/state.json")["model"].as_str().map(str::len), Some(16));
    let same = folder
        .succeed("simulate @double-pendulum --duration 0.1 --no-report --start first/state.json --out same");
    assert!(!String::from_utf8_lossy(&same.stderr).contains("another model"));
    // The same joints with other masses.
    folder.succeed("convert @double-pendulum heavy.json");
    let text = String::from_utf8(folder.read("heavy.json")).unwrap();
    std::fs::write(folder.path().join("heavy.json"), text.replace("\"mass\": 1.0", "\"mass\": 10.0"))
        .unwrap();
    let other = folder
        .succeed("simulate heavy.json --duration 0.005 --no-report --start first/state.json --out other");
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(said.contains("was written for another model"), "{said}");
    let rows = leastaction::io::read_trajectory_csv(&folder.path().join("other/trajectory.csv")).unwrap();
    let state = folder.json("first/state.json");
    for (joint, v) in state["v"].as_object().unwrap() {
        let column = rows.column(&format!("v.{joint}")).unwrap();
        let v = v.as_f64().unwrap();
        assert!((column[0] - v).abs() <= 1e-12 * v.abs(), "{joint}: {} and not {v}", column[0]);
    }
}

#[test]
fn a_recording_with_holes_is_not_explained_by_any_weights() {
    let folder = Folder::new("holes");
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/arm3_b.toml");
    std::fs::write(
        folder.path().join("holes.csv"),
        "t,q.link1_joint,q.link2_joint,q.link3_joint\n0,0,0,0\n1,nan,0,0\n2,0,0,0\n",
    )
    .unwrap();
    let said = refused(&folder, &format!("infer {} --motion holes.csv --out i", examples.display()));
    assert!(said.contains("holes.csv:3: `link1_joint` is missing or not finite"), "{said}");
}
