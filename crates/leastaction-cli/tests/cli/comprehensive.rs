//! `jacobian` and `motion`: what they compute, name and refuse.

use crate::support::Folder;

/// Columns of a CSV file by name.
fn columns(folder: &Folder, file: &str) -> Vec<(String, Vec<f64>)> {
    let text = String::from_utf8(folder.read(file)).unwrap();
    let mut lines = text.lines();
    let mut columns: Vec<(String, Vec<f64>)> =
        lines.next().unwrap().split(',').map(|name| (name.to_owned(), Vec::new())).collect();
    for line in lines {
        for ((_, values), x) in columns.iter_mut().zip(line.split(',')) {
            values.push(x.parse().unwrap());
        }
    }
    columns
}

#[test]
fn torques_of_a_free_motion_are_zero() {
    let folder = Folder::new("motion-free");
    folder.succeed(
        "simulate @double-pendulum --integrator dop853 --step 0.001 --duration 3 --no-report --out run",
    );
    let motion = "motion @double-pendulum --trajectory run/trajectory.csv --quantity torque --order 1";
    folder.succeed(&format!("{motion} --out csv"));
    // Two rods of 1 m and 1 kg: the first joint holds at most (0.5 + 1.5) m g.
    let gravity_torque = 2.0 * 9.81;
    for (name, values) in
        columns(&folder, "csv/motion.csv").iter().filter(|(name, _)| name.starts_with("torque.joint"))
    {
        let worst = values.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        assert!(worst < 1e-6 * gravity_torque, "{name}: {worst:e}");
    }
    let page = String::from_utf8(folder.read("csv/report.html")).unwrap();
    for words in ["Rate of torque", "Difference of the fit to the recording", "noise of joint1"] {
        assert!(page.contains(words), "{words}");
    }
    let summary = folder.json("csv/motion.json");
    assert_eq!(summary["samples"], 3001);
    assert!(summary["fit"]["residuals"][0]["max"].as_f64().unwrap() < 1e-10);
    // The archive holds the same trajectory: the same numbers come out.
    folder.succeed(
        "motion @double-pendulum --trajectory run/trajectory.npz --quantity torque --order 1 --out npz",
    );
    assert_eq!(folder.read("csv/motion.csv"), folder.read("npz/motion.csv"));
}

#[test]
fn torque_rates_of_a_driven_motion_are_differences_of_its_torques() {
    let folder = Folder::new("motion-driven");
    let h = 0.002;
    let mut text = "t,q.joint0,q.joint1\n".to_owned();
    for s in 0..=1000 {
        let t = f64::from(s) * h;
        text.push_str(&format!("{t:e},{:e},{:e}\n", (2.0 * t).sin(), 0.5 * (3.0 * t).cos()));
    }
    std::fs::write(folder.path().join("driven.csv"), text).unwrap();
    folder.succeed(
        "motion @double-pendulum --trajectory driven.csv --quantity torque --order 1 --control-points 250 --out out",
    );
    let columns = columns(&folder, "out/motion.csv");
    let column =
        |name: &str| &columns.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1;
    for joint in ["joint0", "joint1"] {
        let (torque, rate) = (column(&format!("torque.{joint}")), column(&format!("torque.d1.{joint}")));
        let scale = rate.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for s in 2..torque.len() - 2 {
            let d = (torque[s - 2] - 8.0 * torque[s - 1] + 8.0 * torque[s + 1] - torque[s + 2]) / (12.0 * h);
            assert!((d - rate[s]).abs() < 1e-6 * scale, "{joint} at sample {s}: {d} {}", rate[s]);
        }
    }
}

#[test]
fn jacobians_have_named_rows_and_columns() {
    let folder = Folder::new("jacobian");
    let output =
        folder.succeed("--json jacobian @chain/2 --quantity torque --order 1 --q joint0=0.4 --v joint1=-1");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let names = |key: &str| -> Vec<String> {
        value[key].as_array().unwrap().iter().map(|x| x.as_str().unwrap().to_owned()).collect()
    };
    let (rows, columns) = (names("rows"), names("columns"));
    assert_eq!(rows, ["torque.joint0", "torque.joint1", "torque.d1.joint0", "torque.d1.joint1"]);
    assert_eq!(columns.len(), 8);
    let at = |row: &str, column: &str| {
        let r = rows.iter().position(|x| x == row).unwrap();
        let c = columns.iter().position(|x| x == column).unwrap();
        value["matrix"][r][c].as_f64().unwrap()
    };
    // The mass matrix is symmetric and is what multiplies the jerk in the rate of the torque.
    let mass = at("torque.joint0", "q.d2.joint1");
    assert!((mass - at("torque.joint1", "q.d2.joint0")).abs() < 1e-13);
    assert!((mass - at("torque.d1.joint0", "q.d3.joint1")).abs() < 1e-13);
    assert_eq!(at("torque.joint0", "q.d3.joint1"), 0.0);

    // The quantity itself stands beside: the torque of gravity on two links at rest but for joint1's velocity.
    let torque = |name: &str| value["value"][name].as_f64().unwrap();
    let output = folder.succeed("--json dynamics @chain/2 --q joint0=0.4 --v joint1=-1");
    let dynamics: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let bias = |i: usize| dynamics["bias"]["values"][i].as_f64().unwrap();
    assert!((torque("torque.joint0") - bias(0)).abs() < 1e-13);
    assert!((torque("torque.joint1") - bias(1)).abs() < 1e-13);
    assert!((dynamics["mass_matrix"]["values"][0][1].as_f64().unwrap() - mass).abs() < 1e-13);

    folder.succeed("jacobian @chain/2 --quantity velocity --of link1 --order 1 --out v.json");
    assert_eq!(folder.json("v.json")["rows"][0], "velocity.link1.wx");
    folder.succeed("jacobian @chain/2 --quantity velocity --of link1 --frame world --out v.npz");
    assert!(folder.read("v.npz").starts_with(b"PK"));
}

#[test]
fn what_cannot_be_asked_is_explained() {
    let folder = Folder::new("jacobian-bad");
    for (arguments, says) in [
        ("jacobian @chain/2 --quantity velocity", "name a body or frame"),
        ("jacobian @chain/2 --quantity velocity --of link9", "there is no body or frame `link9`"),
        ("jacobian @chain/2 --quantity torque --of link0", "leave `--of` out"),
        ("jacobian @chain/2 --quantity torque --order 99", "at most"),
        ("jacobian @chain/2 --quantity torque --out x.txt", "does not tell a format"),
        ("motion @chain/2 --quantity torque --trajectory none.csv", "can't read"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(says), "{arguments}: {text}");
    }
    std::fs::write(folder.path().join("short.csv"), "t,q.joint0\n0,0\n1,0\n").unwrap();
    let output = folder.run("motion @chain/2 --quantity torque --trajectory short.csv");
    assert!(String::from_utf8_lossy(&output.stderr).contains("has no column for joint `joint1`"));
}

/// A number of `--json dynamics`, by table, row and column.
fn entry(value: &serde_json::Value, table: &str, row: &str, column: usize) -> f64 {
    let rows = value[table]["rows"].as_array().unwrap();
    let i = rows.iter().position(|name| name == row).unwrap_or_else(|| panic!("no {row} in {table}"));
    let found = &value[table]["values"][i];
    found.get(column).unwrap_or(found).as_f64().unwrap()
}

#[test]
fn dynamics_of_a_pendulum_are_those_of_the_textbook() {
    let folder = Folder::new("dynamics-pendulum");
    let models = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models");
    let run = |arguments: &str| -> serde_json::Value {
        serde_json::from_slice(&folder.succeed(&format!("--json dynamics {arguments}")).stdout).unwrap()
    };
    let value = run("@double-pendulum --q joint0=0 --q joint1=0");
    let m = |i: usize, j: usize| value["mass_matrix"]["values"][i][j].as_f64().unwrap();
    assert!((m(0, 1) - m(1, 0)).abs() < 1e-15 && m(0, 0) > m(1, 1));
    assert!(entry(&value, "acceleration", "joint0", 0).abs() < 1e-12, "it hangs");
    let energy = |name| entry(&value, "energy", name, 0);
    assert!((energy("total") - energy("kinetic") - energy("potential")).abs() < 1e-15);
    assert_eq!(entry(&value, "frames", "link0", 0).abs(), 1.0);
    // A cart that is pushed: the momentum along the rail grows by the force.
    let value = run(&format!("{models}/cart-pole.json --q hinge=0 --input push=3"));
    let rows = value["acceleration"]["values"].as_array().unwrap();
    let m = |i: usize, j: usize| value["mass_matrix"]["values"][i][j].as_f64().unwrap();
    let push: f64 = (0..2).map(|j| m(0, j) * rows[j].as_f64().unwrap()).sum();
    assert!((push - 3.0).abs() < 1e-12, "{push}");

    folder.succeed("dynamics @four-bar --out d.npz");
    assert!(folder.read("d.npz").starts_with(b"PK"));
    folder.succeed("dynamics @chain/100 --out d.json");
    assert_eq!(folder.json("d.json")["mass_matrix"]["rows"].as_array().unwrap().len(), 100);
}

#[test]
fn loops_accelerate_as_a_short_step_moves_them() {
    let folder = Folder::new("dynamics-loop");
    let h = 1e-4;
    for model in ["@four-bar", "@four-bars/2"] {
        let output = folder.succeed(&format!("--json dynamics {model}"));
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        folder.succeed(&format!("simulate {model} --step {h} --duration {h} --no-report --force --out run"));
        let columns = columns(&folder, "run/trajectory.csv");
        for (name, numbers) in columns.iter().filter(|(name, _)| name.starts_with("v.")) {
            let a = entry(&value, "acceleration", &name[2..], 0);
            let measured = (numbers[1] - numbers[0]) / h;
            assert!((a - measured).abs() < 2e-2 * a.abs().max(1.0), "{model} {name}: {a} {measured}");
        }
    }
}
