//! Bodies whose pose is given from outside, and what they hold.

use super::support::{Folder, here};
use leastaction::io::read_trajectory_csv;
use leastaction::trajectory::Trajectory;

fn csv(folder: &Folder, out: &str) -> Trajectory {
    read_trajectory_csv(&folder.path().join(out).join("trajectory.csv")).unwrap()
}

fn expect_forces_below(table: &Trajectory, most: f64) {
    let mut contacts = table.layout().columns().filter(|name| name.starts_with("c.")).peekable();
    assert!(contacts.peek().is_some());
    for name in contacts.filter(|name| name.ends_with(".fz")) {
        let force = table.column(name).unwrap();
        assert!(force.iter().all(|f| f.is_nan() || f.abs() < most), "{name}: {force:?}");
    }
}

fn led(folder: &Folder) {
    std::fs::copy(here().join("led.xml"), folder.path().join("led.xml")).unwrap();
}

/// A robot on dampers of 1e11 N s/m whose torso is put inside its range, which takes the gripper along. Bringing it back to the body that
/// leads it puts the base a fraction of a millimetre into the floor, and lifting that out took 2e9 N and gained 2e5 J in two steps.
#[test]
fn a_robot_that_closing_a_weld_puts_into_the_floor_stays_on_its_dampers() {
    let folder = Folder::new("leaning");
    std::fs::copy(here().join("leaning.xml"), folder.path().join("leaning.xml")).unwrap();
    folder.succeed("simulate leaning.xml --duration 2 --forces --no-report --out out");
    let table = csv(&folder, "out");
    let gripper = ["px", "py", "pz"].map(|part| table.column(&format!("x.gripper.{part}")).unwrap());
    for (q, wanted) in gripper.iter().zip([0.97, 0.0, 0.9]) {
        assert!(q.iter().all(|q| (q - wanted).abs() < 1e-9), "{q:?}");
    }
    let z = table.column("q.z").unwrap();
    assert!(z[0] < -1e-5 && z.iter().all(|other| (other - z[0]).abs() < 1e-6), "{z:?}");
    let lift = table.column("q.lift").unwrap();
    assert!(lift.iter().all(|q| *q > 0.04 - 1e-9), "{lift:?}");
    expect_forces_below(&table, 1e5);
    let energy = table.column("energy.total").unwrap();
    assert!(energy.iter().all(|e| (e - energy[0]).abs() < 1.0), "{energy:?}");
}

/// A table leads the gripper: at every node it is where the table says, and turned as it says.
#[test]
fn a_table_moves_a_mocap_body_and_what_it_holds() {
    let folder = Folder::new("led-by-table");
    led(&folder);
    let mut table = "t,px,py,pz,qw,qx,qy,qz\n".to_owned();
    for k in 0..=20 {
        let t = 0.05 * f64::from(k);
        let (s, c) = (0.2 * t).sin_cos();
        table += &format!("{t},{},{},{},{c},0,0,{s}\n", 0.1 * t, 0.04 * t * t, 1.1 - 0.03 * t);
    }
    std::fs::write(folder.path().join("path.csv"), table).unwrap();
    folder
        .succeed("simulate led.xml --contact off --drive leader=path.csv --duration 1 --no-report --out out");
    let run = csv(&folder, "out");
    let column = |name: &str| run.column(name).unwrap();
    let (t, x, y, z) = (column("t"), column("x.leader.px"), column("x.leader.py"), column("x.leader.pz"));
    let (w, n) = (column("x.leader.qw"), column("x.leader.qz"));
    for k in (0..t.len()).step_by(10) {
        let at = t[k];
        // Between rows of the table a spline goes on; at them it is exact.
        for (found, wanted) in [
            (x[k], 0.1 * at),
            (y[k], 0.04 * at * at),
            (z[k], 1.1 - 0.03 * at),
            (w[k], (0.2 * at).cos()),
            (n[k], (0.2 * at).sin()),
        ] {
            assert!((found - wanted).abs() < 1e-9, "{at}: {found} {wanted}");
        }
    }
    // The gripper is where the weld has it: 0.3 m along the leader's first axis and 0.1 m below.
    let (gx, gy, gz) = (column("x.gripper.px"), column("x.gripper.py"), column("x.gripper.pz"));
    for k in 0..t.len() {
        let (s, c) = (2.0 * n[k] * w[k], 1.0 - 2.0 * n[k] * n[k]);
        for (found, wanted) in [(gx[k], x[k] + 0.3 * c), (gy[k], y[k] + 0.3 * s), (gz[k], z[k] - 0.1)] {
            assert!((found - wanted).abs() < 1e-9, "{}: {found} {wanted}", t[k]);
        }
    }
    // What it takes is what is led: at the start of the second half weight and little else.
    let lift = column("drive.leader/z");
    let mean = lift[1..].iter().sum::<f64>() / 200.0;
    assert!((mean - 2.0 * 9.81).abs() < 0.5, "{mean}");
    // A run's own columns drive the body again.
    folder.succeed(
        "simulate led.xml --contact off --drive leader=out/trajectory.csv --duration 0.5 --no-report --out again",
    );
    let again = csv(&folder, "again").column("x.gripper.py").unwrap();
    assert!((again[100] - gy[100]).abs() < 1e-9, "{} {}", again[100], gy[100]);
}

#[test]
fn a_table_that_is_no_motion_of_a_body_is_refused_with_its_remedy() {
    let folder = Folder::new("led-badly");
    led(&folder);
    let steep = "t,px,py,pz,qw,qx,qy,qz\n0,0,0,0,1,0,0,0\n1,0,0,0,0.7,0,0.7,0\n";
    for (table, what) in [
        ("t,px,py\n0,0,0\n1,0,0\n", "has no column `pz`"),
        ("t,px,py,pz\n0,0,0,0\n", "is no motion of body `leader`"),
        ("t,px,py,pz,qw,qx,qy\n0,0,0,0,1,0,0\n1,0,0,0,1,0,0\n", "a part of a quaternion"),
        (steep, "turns by 90 degrees"),
    ] {
        std::fs::write(folder.path().join("path.csv"), table).unwrap();
        let said = folder.run("simulate led.xml --contact off --drive leader=path.csv --no-report --out out");
        let said = String::from_utf8_lossy(&said.stderr).into_owned();
        assert!(said.contains(what) && said.contains("help:"), "{what}: {said}");
    }
    let said = folder.run("simulate led.xml --drive leader=2 --no-report --out out");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(
        said.contains("can't read `2`") && said.contains("help: give a table with the columns"),
        "{said}"
    );
}

/// What a damper of any strength holds a tenth of a millimetre inside the ground stays there: lifting it out took 2e9 N.
#[test]
fn what_dampers_hold_inside_the_ground_is_not_torn_from_them() {
    let folder = Folder::new("held-inside");
    let model = r#"<mujoco model="held">
      <worldbody>
        <geom type="plane" size="3 3 1"/>
        <body name="base" pos="0 0 0.0999">
          <joint name="z" type="slide" axis="0 0 1" damping="1e11"/>
          <geom type="box" size="0.3 0.3 0.1" mass="70"/>
          <body name="arm" pos="0 0 0.3">
            <joint name="swing" axis="0 1 0"/>
            <geom type="capsule" fromto="0 0 0 0.4 0 0" size="0.03" mass="2" contype="0" conaffinity="0"/>
          </body>
        </body>
      </worldbody>
    </mujoco>"#;
    std::fs::write(folder.path().join("held.xml"), model).unwrap();
    folder.succeed("simulate held.xml --duration 1 --forces --no-report --out out");
    let table = csv(&folder, "out");
    let z = table.column("q.z").unwrap();
    assert!(z.iter().all(|z| z.abs() < 1e-6), "{z:?}");
    expect_forces_below(&table, 1e4);
    let energy = table.column("energy.total").unwrap();
    assert!(energy.iter().all(|e| (e - energy[0]).abs() < 1.0), "{energy:?}");
}

#[test]
fn mocap_bodies_survive_json_and_mjcf_and_are_checked() {
    let folder = Folder::new("led-converted");
    led(&folder);
    folder.succeed("convert led.xml led.json");
    assert_eq!(folder.json("led.json")["mocap"], serde_json::json!(["leader"]));
    folder.succeed("convert led.json again.xml");
    let text = String::from_utf8(folder.read("again.xml")).unwrap();
    assert!(text.contains("mocap=\"true\""), "{text}");
    let mut model = folder.json("led.json");
    model["mocap"] = serde_json::json!(["gripper"]);
    std::fs::write(folder.path().join("bad.json"), model.to_string()).unwrap();
    let said = folder.run("check bad.json");
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("mocap body `gripper`: no fixed joint holds it in the world"), "{said}");
}
