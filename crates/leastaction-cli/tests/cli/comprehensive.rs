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
    for words in ["torque, time derivative 1", "Difference of the fit to the recording", "noise of q.joint1"]
    {
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
