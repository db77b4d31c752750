//! The files of a run: what is in them, and that they are the same every time.

use std::path::Path;

use super::support::Folder;
use leastaction::io::{read_trajectory_csv, read_trajectory_npz};
use leastaction::trajectory::Trajectory;

const FILES: [&str; 5] = ["report.html", "state.json", "summary.json", "trajectory.csv", "trajectory.npz"];

fn csv(folder: &Folder, out: &str) -> Trajectory {
    read_trajectory_csv(&folder.path().join(out).join("trajectory.csv")).unwrap()
}

#[test]
fn a_run_that_writes_gigabytes_says_so_first() {
    let folder = Folder::new("gigabytes");
    let mut command = folder.command("simulate @chain/10 --step 1e-4 --duration 1e5 --no-report --out out");
    let mut child =
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    assert!(said.contains("the trajectory will take about") && said.contains("`--every N`"), "{said}");
}

#[test]
fn a_run_writes_five_files_and_leaves_nothing_else() {
    let folder = Folder::new("five");
    folder.succeed("simulate @four-bar --integrator rk4 --ignore loops --duration 0.1");
    assert_eq!(folder.list("leastaction-out/four-bar"), FILES);
    let summary = folder.json("leastaction-out/four-bar/summary.json");
    for key in [
        "steps",
        "wall_time",
        "energy",
        "worst_gap",
        "iterations",
        "retries",
        "halvings",
        "fallbacks",
        "splits",
        "dropped_rank",
        "limits_passed",
        "ignored",
        "configuration",
        "model_hash",
        "version",
    ] {
        assert!(summary.get(key).is_some(), "{key}");
    }
    assert_eq!(summary["energy"]["tenths"].as_array().unwrap().len(), 10);
    assert_eq!(summary["ignored"].as_array().unwrap().len(), 1);
    let page = String::from_utf8(folder.read("leastaction-out/four-bar/report.html")).unwrap();
    assert!(page.contains("closes a loop"), "the report lists what was ignored");
    assert!(page.contains(summary["model_hash"].as_str().unwrap()));
}

#[test]
fn csv_and_npz_hold_the_same_bits() {
    let folder = Folder::new("npz");
    folder.succeed("simulate @ball-chain/3 --integrator rk4 --duration 0.5 --every 7 --no-report --out out");
    let npz = read_trajectory_npz(&folder.path().join("out/trajectory.npz")).unwrap();
    let csv = csv(&folder, "out");
    assert_eq!(csv.len(), 100 / 7 + 1);
    let bits = |t: &Trajectory| t.rows().flatten().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(csv.layout(), npz.layout());
    assert_eq!(bits(&csv), bits(&npz));
}

#[test]
fn numpy_reads_the_archive_where_it_is_installed() {
    let folder = Folder::new("numpy");
    folder.succeed("simulate @chain/2 --integrator rk4 --duration 0.5 --no-report --out out");
    let script = "import numpy, sys\n\
                  z = numpy.load('out/trajectory.npz')\n\
                  assert z['t'].shape == (101,) and z['q'].shape == (101, 2) and z['x'].shape == (101, 14)\n\
                  assert list(z['q_labels']) == ['q.joint0', 'q.joint1'], z['q_labels']\n\
                  c = numpy.genfromtxt('out/trajectory.csv', delimiter=',', names=True, deletechars='')\n\
                  assert (c['q.joint1'] == z['q'][:, 1]).all()\n";
    let python = std::process::Command::new("python3").args(["-c", "import numpy"]).output();
    if python.is_ok_and(|output| output.status.success()) {
        let output = std::process::Command::new("python3")
            .args(["-c", script])
            .current_dir(folder.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn columns_have_the_agreed_names() {
    let folder = Folder::new("columns");
    folder.succeed("simulate cart.json --integrator rk4 --duration 0.1 --no-report --out out");
    let text = String::from_utf8(folder.read("out/trajectory.csv")).unwrap();
    assert_eq!(
        text.lines().next().unwrap(),
        "t,q.rail,q.hinge,v.rail,v.hinge,x.cart.px,x.cart.py,x.cart.pz,x.cart.qw,x.cart.qx,x.cart.qy,x.cart.qz,\
         x.pole.px,x.pole.py,x.pole.pz,x.pole.qw,x.pole.qx,x.pole.qy,x.pole.qz,u.push,u.motor,a.push,a.motor,energy.kinetic,\
         energy.potential,energy.total,momentum.lx,momentum.ly,momentum.lz,momentum.px,momentum.py,momentum.pz,gap,\
         iterations,mode.rail,friction.rail"
    );
}

#[test]
fn repeated_runs_give_the_same_bits() {
    let folder = Folder::new("repeat");
    for out in ["a", "b"] {
        folder.succeed(&format!("simulate @chain-xy/5 --integrator dop853 --duration 1 --out {out}"));
    }
    for file in ["trajectory.csv", "trajectory.npz", "state.json"] {
        assert!(folder.read(&format!("a/{file}")) == folder.read(&format!("b/{file}")), "{file}");
    }
}

#[test]
fn times_are_those_of_the_steps_without_sum_of_errors() {
    let folder = Folder::new("times");
    folder.succeed(
        "simulate @chain/1 --integrator semi-implicit --step 0.1 --duration 100 --no-report --out out",
    );
    let t = csv(&folder, "out").column("t").unwrap();
    assert!(t.iter().enumerate().all(|(k, t)| *t == 0.1 * k as f64));
}

#[test]
fn inputs_are_held_over_each_step() {
    let folder = Folder::new("held");
    folder.succeed("simulate cart.json --integrator rk4 --inputs push.csv --step 0.05 --duration 0.5 --no-report --out out");
    let trajectory = csv(&folder, "out");
    let push = trajectory.column("u.push").unwrap();
    assert_eq!(push, [1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    // The trajectory itself serves as a table of inputs and gives the same motion.
    folder.succeed("simulate cart.json --integrator rk4 --inputs out/trajectory.csv --step 0.05 --duration 0.5 --no-report --out again");
    assert_eq!(folder.read("out/trajectory.csv"), folder.read("again/trajectory.csv"));
}

#[test]
fn the_printed_scenario_does_the_same_again() {
    let folder = Folder::new("scenario");
    let flags = "simulate cart.json --integrator rk4 --step 0.01 --duration 0.3 --q hinge=0.3 --input motor=0.2 --gravity 0,0,-3";
    let printed = folder.succeed(&format!("{flags} --out out --print-config"));
    assert!(!Path::new(&folder.path().join("out")).exists(), "printing does nothing else");
    std::fs::write(folder.path().join("again.toml"), printed.stdout).unwrap();
    folder.succeed(&format!("{flags} --out out"));
    folder.succeed("simulate again.toml --out again");
    assert_eq!(folder.read("out/trajectory.csv"), folder.read("again/trajectory.csv"));
}

#[test]
fn undamped_takes_damping_and_friction_away() {
    let folder = Folder::new("undamped");
    folder.succeed("simulate arm.urdf --integrator rk4 --undamped --limits off --ignore mimic --q shoulder=0.5 --duration 1 --out out");
    let summary = folder.json("out/summary.json");
    assert_eq!(summary["energy"]["conservative"], true);
    assert!(summary["energy"]["max_relative_error"].as_f64().unwrap() < 1e-6, "{}", summary["energy"]);
    folder.succeed("simulate arm.urdf --integrator rk4 --ignore mimic,friction --q shoulder=0.5 --duration 1 --out damped");
    let damped = folder.json("damped/summary.json");
    assert_eq!(damped["energy"]["conservative"], false);
    assert!(damped["energy"]["max_error"].as_f64().unwrap() > 1e-3);
}

#[test]
fn every_conversion_runs_the_same_motion() {
    let folder = Folder::new("convert");
    let run = |model: &str, out: &str| {
        folder.succeed(&format!(
            "simulate {model} --integrator rk4 --undamped --ignore mimic --q elbow=0.4 --duration 0.5 --no-report --out {out}"
        ));
        csv(&folder, out).column("q.shoulder").unwrap()
    };
    let original = run("arm.urdf", "original");
    for target in ["arm.json", "arm2.urdf"] {
        folder.succeed(&format!("convert arm.urdf {target}"));
        let converted = run(target, target.split('.').next().unwrap());
        let worst = original
            .iter()
            .zip(&converted)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, leastaction_study::statistics::maximum);
        assert!(worst < 1e-12, "{target}: {worst}");
    }
}

#[test]
fn bench_prints_one_json_line_per_case() {
    let folder = Folder::new("bench");
    let lines = |arguments: &str| -> Vec<serde_json::Value> {
        let text = String::from_utf8(folder.succeed(arguments).stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let steps = lines("bench step @chain/1 @ball-chain/2 --integrator rk4 --steps 10 --repeat 2");
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[1]["model"], "ball2");
    assert_eq!(steps[1]["n"], 6);
    assert_eq!((&steps[0]["section"], &steps[0]["system"]), (&"A".into(), &"leastaction".into()));
    for kernel in ["rnea", "aba", "crba"] {
        let [line] = lines(&format!("bench kernel {kernel} @chain-xy/3 --batches 2")).try_into().unwrap();
        assert_eq!((&line["variant"], &line["model"]), (&kernel.into(), &"chainxy3".into()));
        assert!(line["us"].as_f64().unwrap() > 0.0 && line["us_median"].as_f64() >= line["us"].as_f64());
    }
}

#[test]
fn help_lists_every_verb() {
    let folder = Folder::new("help");
    let help = String::from_utf8(folder.succeed("--help").stdout).unwrap();
    for verb in ["simulate", "check", "info", "convert", "bench", "completions"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(verb)), "{verb}: {help}");
        folder.succeed(&format!("{verb} --help"));
    }
}

#[test]
fn completions_know_the_verbs() {
    let folder = Folder::new("completions");
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(folder.succeed(&format!("completions {shell}")).stdout).unwrap();
        for word in ["simulate", "check", "print-config", "semi-implicit"] {
            assert!(script.contains(word), "{shell} {word}");
        }
    }
}
