//! What the maximal integrator says on the command line: derivatives, forces, starts, reference files.

use super::support::{Folder, here};
use leastaction::io::{read_trajectory_csv, read_trajectory_npz};

#[test]
fn a_loop_is_linearized_in_its_free_coordinates() {
    let folder = Folder::new("linearize-loop");
    folder.succeed("linearize @four-bar --step 0.01 --out slope.json");
    let slope = folder.json("slope.json");
    assert_eq!(slope["integrator"], "maximal");
    let rows: Vec<&str> = slope["rows"].as_array().unwrap().iter().map(|x| x.as_str().unwrap()).collect();
    assert!(rows.len() == 2 && rows[0].starts_with("q.") && rows[1].starts_with("v."), "{rows:?}");
    let a = |r: usize, c: usize| slope["A"][r][c].as_f64().unwrap();
    // Volume of the phase space of one freedom is kept up to the change of its mass.
    assert!((a(0, 0) - 1.0).abs() < 0.1 && (a(0, 1) - 0.01).abs() < 1e-3);
    folder.succeed("linearize @four-bar --step 0.01 --out slope.npz");
    assert!(folder.read("slope.npz").len() > 500);
}

#[test]
fn a_tree_is_linearized_by_both_engines() {
    let folder = Folder::new("linearize-tree");
    let rows = |name: &str| {
        folder.succeed(&format!(
            "linearize @chain/3 --step 0.001 --integrator {name} --order 2 --out {name}.json"
        ));
        let slope = folder.json(&format!("{name}.json"));
        let a: Vec<f64> = slope["A"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()))
            .collect();
        (slope["rows"].clone(), a)
    };
    let (maximal, minimal) = (rows("maximal"), rows("minimal"));
    assert_eq!(maximal.0, minimal.0);
    let worst = maximal
        .1
        .iter()
        .zip(&minimal.1)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, leastaction_study::statistics::maximum);
    assert!(maximal.1.len() == 36 && worst < 1e-5, "{worst}");
    let refused = folder.run("linearize @chain/3 --integrator rk4");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("not linearized"));
}

#[test]
fn forces_are_columns_of_both_files_and_peaks_of_the_summary() {
    let folder = Folder::new("forces");
    folder.succeed("simulate @four-bar --forces --duration 0.2 --step 0.01 --out out");
    let csv = read_trajectory_csv(&folder.path().join("out/trajectory.csv")).unwrap();
    let npz = read_trajectory_npz(&folder.path().join("out/trajectory.npz")).unwrap();
    assert_eq!(csv.layout(), npz.layout());
    assert_eq!(csv.len(), 21);
    for joint in ["crank_pivot", "crank_coupler", "rocker_pivot", "closure"] {
        for part in ["tx", "ty", "tz", "fx", "fy", "fz"] {
            let column = csv.column(&format!("f.{joint}.{part}")).unwrap();
            assert!(column.iter().all(|x| x.is_finite()), "{joint} {part}");
        }
    }
    let summary = folder.json("out/summary.json");
    let joints = summary["forces"]["joints"].as_array().unwrap();
    assert_eq!(joints.len(), 4);
    assert!(joints.iter().all(|j| j["redundant"] == true && j["largest_force"].as_f64().unwrap() > 1.0));
    let page = String::from_utf8(folder.read("out/report.html")).unwrap();
    assert!(page.contains("Joint forces") && page.contains("minimum norm"));
    // The rows are those of a run without forces.
    folder.succeed("simulate @four-bar --duration 0.2 --step 0.01 --no-report --out plain");
    let plain = read_trajectory_csv(&folder.path().join("plain/trajectory.csv")).unwrap();
    for (a, b) in csv.rows().zip(plain.rows()) {
        assert_eq!(a[..b.len()], *b);
    }
    let refused = folder.run("simulate @chain/2 --integrator minimal --forces --duration 0.1");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("no constraint forces"));
}

#[test]
fn an_open_start_is_closed_and_told_and_an_impossible_one_is_an_error_with_its_gap() {
    let folder = Folder::new("open");
    let output =
        folder.succeed("simulate @four-bar --q rocker_pivot=2.2 --duration 0.1 --no-report --out out");
    let moved = folder.json("out/summary.json")["moved_at_start"].as_f64().unwrap();
    assert!(moved > 1e-3, "{moved}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("to close the loops"));
    folder.succeed("convert @four-bar bar.json");
    let mut model = folder.json("bar.json");
    for joint in model["joints"].as_array_mut().unwrap() {
        if joint["name"] == "closure" {
            joint["parent_placement"]["p"] = serde_json::json!([0.0, 0.0, -9.0]);
        }
    }
    std::fs::write(folder.path().join("bar.json"), model.to_string()).unwrap();
    let refused = folder.run("simulate bar.json --duration 0.1");
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    assert!(text.contains("`closure` cannot close") && text.contains(" m remains"), "{text}");
}

/// Every reference file of the schema runs with its own map and composition and ends where the file says.
#[test]
fn maximal_reference_files_run_as_they_say() {
    let folder = Folder::new("maximal-reference");
    let golden = here().join("../../../leastaction/tests/golden");
    let mut seen = 0;
    for entry in std::fs::read_dir(golden).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        if !name.starts_with("maximal_") {
            continue;
        }
        seen += 1;
        let value: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        std::fs::copy(&path, folder.path().join(format!("{name}.json"))).unwrap();
        folder.succeed(&format!("simulate {name}.json --no-report --out {name}"));
        let summary = folder.json(&format!("{name}/summary.json"));
        let configuration = &summary["configuration"];
        assert_eq!(configuration["rotation_map"], value["rotation_map"], "{name}");
        // The last positions of the bodies, whose frames are at their centres of mass.
        let last = value["states"].as_array().unwrap().last().unwrap();
        let csv = read_trajectory_csv(&folder.path().join(&name).join("trajectory.csv")).unwrap();
        for (i, x) in last["x"].as_array().unwrap().iter().enumerate() {
            for (k, part) in ["px", "py", "pz"].iter().enumerate() {
                let ours = *csv.column(&format!("x.body{i}.{part}")).unwrap().last().unwrap();
                let error = (ours - x[k].as_f64().unwrap()).abs();
                assert!(error < 1e-10, "{name}: body {i} {part} is off by {error:e}");
            }
        }
    }
    assert!(seen >= 14, "{seen} files");
}

/// Where nobody said: steps of order 4 for links that turn a tenth of a radian per step, and poses for trees of balls. What was chosen is
/// in the summary, and a run goes on as it began.
#[test]
fn the_motion_decides_about_the_order() {
    let folder = Folder::new("order-by-motion");
    let chosen = |call: &str| {
        folder.succeed(&format!("simulate {call} --no-report --force --out out"));
        folder.json("out/summary.json")["integrator"].as_str().expect("a name").to_owned()
    };
    let fast = "@double-pendulum --integrator maximal --duration 0.1 --v joint0=50";
    assert_eq!(chosen(fast), "maximal (order 4)");
    assert_eq!(chosen(&format!("{fast} --step 0.001")), "maximal");
    assert_eq!(chosen(&format!("{fast} --order 2")), "maximal (order 2)");
    assert_eq!(chosen("@four-bar --duration 0.1"), "maximal");
    assert_eq!(chosen("@ball-chain/5 --duration 0.1"), "maximal (order 4)");
    assert_eq!(chosen("@ball-chain/5 --integrator minimal --duration 0.1"), "minimal (order 4)");
    assert_eq!(chosen("@chain/5 --duration 0.1"), "minimal (order 4)");
    // A tenth of a second and another from its state are two tenths.
    folder.succeed(&format!("simulate {fast} --no-report --out first"));
    let whole = fast.replace("0.1", "0.2");
    folder.succeed(&format!("simulate {whole} --no-report --out whole"));
    let rest = "simulate @double-pendulum --integrator maximal --start first/state.json --duration 0.1";
    folder.succeed(&format!("{rest} --no-report --out rest"));
    let q = |name: &str| folder.json(&format!("{name}/state.json"))["q"].clone();
    assert_eq!(q("rest"), q("whole"));
}
