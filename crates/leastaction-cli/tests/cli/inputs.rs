//! Motors, servos and what acts of them.

use super::support::{Folder, here};
use leastaction::io::read_trajectory_csv;
use leastaction::trajectory::Trajectory;

fn csv(folder: &Folder, out: &str) -> Trajectory {
    read_trajectory_csv(&folder.path().join(out).join("trajectory.csv")).unwrap()
}

/// A pendulum whose motor may give 12 N m and is told to give 60.
const LIMITED: &str = r#"{"schema": "leastaction/model/1", "name": "limited", "inputs": ["u"],
    "bodies": [{"name": "b", "mass": 1, "com": [0, 0, -0.5], "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}],
    "joints": [{"name": "j", "type": "revolute", "parent": "world", "child": "b", "axis": [1, 0, 0],
        "limits": {"effort": 12}, "actuators": [{"input": "u"}]}]}"#;

/// R1: the effort limit is no secret.
#[test]
fn what_an_effort_limit_cuts_is_in_every_result() {
    let folder = Folder::new("effort");
    std::fs::write(folder.path().join("limited.json"), LIMITED).unwrap();
    for integrator in ["minimal", "maximal", "rk4", "semi-implicit", "dop853"] {
        let said = folder.succeed(&format!(
            "simulate limited.json --input u=60 --duration 0.1 --out out --integrator {integrator}"
        ));
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert!(
            said.contains("input limits   cut the inputs in 20 of 20 steps: `j` at 12"),
            "{integrator}: {said}"
        );
        let table = csv(&folder, "out");
        let (u, a) = (table.column("u.u").unwrap(), table.column("a.u").unwrap());
        assert!(
            u.iter().all(|u| *u == 60.0) && a.iter().all(|a| (a - 12.0).abs() < 1e-12),
            "{integrator}: {a:?}"
        );
        let summary = folder.json("out/summary.json");
        assert_eq!(summary["inputs_cut"]["steps"], 20, "{integrator}");
        assert_eq!(summary["energy"]["conservative"], false);
        let page = String::from_utf8(folder.read("out/report.html")).unwrap();
        assert!(page.contains("Forces of the inputs"), "{integrator}");
    }
    // The work of the inputs is what the energy grew by.
    folder.succeed("simulate limited.json --input u=60 --duration 0.1 --out out --order 6 --no-report");
    let energy = &folder.json("out/summary.json")["energy"];
    assert!(energy["input_work"].as_f64().unwrap() > 1.0, "{energy}");
    assert!(energy["max_balance_error"].as_f64().unwrap() < 1e-9, "{energy}");
    // What a damper takes is no error of that balance.
    let damped = LIMITED.replace(r#""axis": [1, 0, 0],"#, r#""axis": [1, 0, 0], "damping": 0.3,"#);
    std::fs::write(folder.path().join("damped.json"), damped).unwrap();
    folder.succeed("simulate damped.json --input u=60 --duration 0.1 --out damped --no-report");
    let energy = &folder.json("damped/summary.json")["energy"];
    assert!(energy["input_work"].as_f64().unwrap() > 1.0, "{energy}");
    assert!(energy["max_balance_error"].is_null(), "{energy}");
}

#[test]
fn servos_hold_a_state_and_follow_a_table() {
    let folder = Folder::new("servos");
    folder.succeed("simulate @chain/3 --duration 1 --out free --no-report");
    // The free motion again, by servos that follow its table from the same start.
    folder.succeed("simulate @chain/3 --track free/trajectory.csv --duration 1 --out track --no-report");
    let (free, track) = (csv(&folder, "free"), csv(&folder, "track"));
    for joint in ["q.joint0", "q.joint1", "q.joint2"] {
        let (a, b) = (free.column(joint).unwrap(), track.column(joint).unwrap());
        let worst = a.iter().zip(&b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(worst < 0.02, "{joint}: {worst}");
    }
    // Held: it stays where it is, up to what gravity asks for.
    for integrator in ["minimal", "maximal"] {
        folder.succeed(&format!(
            "simulate @chain/3 --hold start --kp 1e5 --kd 300 --duration 5 --out hold --no-report --integrator {integrator}"
        ));
        let hold = csv(&folder, "hold");
        for joint in ["q.joint0", "q.joint1", "q.joint2"] {
            let q = hold.column(joint).unwrap();
            assert!((q[q.len() - 1] - q[0]).abs() < 1e-3, "{integrator} {joint}: {q:?}");
        }
        // The torque it takes is that of gravity.
        let a = hold.column("a.joint0").unwrap();
        assert!((a[a.len() - 1] - a[a.len() - 2]).abs() < 1e-3 * a[a.len() - 1].abs(), "{integrator}: {a:?}");
    }
}

#[test]
fn motors_by_flag_are_inputs_of_the_joints() {
    let folder = Folder::new("motors");
    folder.succeed("simulate @chain/2 --motors all --input joint1=0.5 --duration 0.1 --out all --no-report");
    folder
        .succeed("simulate @chain/2 --motors joint1 --input joint1=0.5 --duration 0.1 --out one --no-report");
    let (all, one) = (csv(&folder, "all"), csv(&folder, "one"));
    assert_eq!(all.column("q.joint1").unwrap(), one.column("q.joint1").unwrap());
    assert_eq!(all.column("a.joint1").unwrap()[3], 0.5);
    assert!(one.column("u.joint0").is_none());
    for (arguments, words) in [
        ("--motors jont1", "`jont1`"),
        ("--kp 10", "is a gain of servos, of which there are none"),
        ("--hold nowhere", "neither a file nor a state of the model"),
        ("--hold start --kp jont0=3", "`jont0`"),
        ("--track push.csv", "push"),
        ("--hold start --kp joint0=-3", "not negative"),
    ] {
        let output = folder.run(&format!("simulate @chain/2 {arguments} --out wrong"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{arguments}: {said}");
    }
}

#[test]
fn a_keyframe_brings_its_controls_and_a_run_with_activations_is_continued_bit_for_bit() {
    let folder = Folder::new("keyframe");
    let common = "simulate actuators.xml --ignore friction --no-report";
    folder.succeed(&format!("{common} --state home --duration 0.4 --out whole"));
    let table = csv(&folder, "whole");
    assert_eq!(table.column("u.servo").unwrap()[0], 0.2);
    folder.succeed(&format!("{common} --state home --duration 0.2 --out first"));
    let state = folder.json("first/state.json");
    assert!(state["act"]["filtered"].is_number() && state["inputs"]["servo"] == 0.2, "{state}");
    folder.succeed(&format!("{common} --start first/state.json --duration 0.2 --out second"));
    let second = csv(&folder, "second");
    let (whole, second): (Vec<_>, Vec<_>) = (table.rows().collect(), second.rows().collect());
    let bits = |row: &[f64]| row.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(whole[whole.len() - 1]), bits(second[second.len() - 1]));
}

/// R2: what enforced limits take away is no error.
#[test]
fn energy_that_a_stop_takes_is_called_a_change() {
    let folder = Folder::new("stop");
    let model = LIMITED.replace(r#""effort": 12"#, r#""lower": -0.5, "upper": 0.5"#);
    std::fs::write(folder.path().join("stop.json"), model).unwrap();
    let said = folder.succeed(
        "simulate stop.json --q j=0.4 --v j=3 --limits enforce --integrator maximal --duration 1 --no-report --out out",
    );
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("energy change") && !said.contains("energy error"), "{said}");
    assert_eq!(folder.json("out/summary.json")["energy"]["conservative"], false);
    let dice = here().join("../../../../models/dice.json").canonicalize().unwrap();
    let said = folder.succeed(&format!("simulate {} --no-report --duration 0.2 --out dice", dice.display()));
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    assert!(said.contains("energy change") && !said.contains("energy error"), "{said}");
}

/// Joints of a hand without mass are held, three massless hinges in a row get a little armature; both are said, and it runs.
#[test]
fn links_that_nobody_gave_a_mass_do_not_stop_a_robot() {
    let folder = Folder::new("weightless");
    let heavy = |name: &str| {
        format!(
            r#"<link name="{name}"><inertial><origin xyz="0 0 -0.1"/><mass value="1"/>
            <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>"#
        )
    };
    let hinge = |name: &str, parent: &str, child: &str, axis: &str| {
        format!(
            r#"<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/><axis xyz="{axis}"/>
            <limit lower="-1.5708" upper="1.5708" effort="1" velocity="1"/></joint>"#
        )
    };
    let robot = format!(
        r#"<robot name="r"><link name="base"/><link name="a"/><link name="b"/>{}<link name="screen"/>{}{}{}{}</robot>"#,
        heavy("arm"),
        hinge("yaw", "base", "a", "0 0 1"),
        hinge("pitch", "a", "b", "0 1 0"),
        hinge("roll", "b", "arm", "1 0 0"),
        hinge("tilt", "arm", "screen", "0 1 0"),
    );
    std::fs::write(folder.path().join("r.urdf"), robot).unwrap();
    let output = folder.succeed("simulate r.urdf --no-report --duration 1 --q pitch=1.2 --out o");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 joint moves no inertia; it is held at zero: `tilt`"), "{said}");
    assert!(said.contains("armatures of a thousandth of what they move are added to `yaw`"), "{said}");
}

#[test]
fn a_driven_joint_moves_as_given_and_its_torque_is_a_column() {
    let folder = Folder::new("drive");
    // A crank at constant speed, and the same from a scenario file.
    folder.succeed("simulate @slider-crank --drive crank_pivot=4 --duration 0.5 --out crank");
    let table = csv(&folder, "crank");
    let (t, q) = (table.column("t").unwrap(), table.column("q.crank_pivot").unwrap());
    let torque = table.column("drive.crank_pivot").unwrap();
    assert!(t.iter().zip(&q).all(|(t, q)| (q - 4.0 * t).abs() < 1e-11), "{q:?}");
    assert!(
        torque.iter().skip(1).all(|x| x.is_finite()) && torque.iter().any(|x| x.abs() > 0.1),
        "{torque:?}"
    );
    let scenario = "model = \"@slider-crank\"\nduration = 0.5\ndrive = [\"crank_pivot=4\"]\n";
    std::fs::write(folder.path().join("crank.toml"), scenario).unwrap();
    folder.succeed("simulate crank.toml --out again --no-report");
    assert_eq!(csv(&folder, "again").column("drive.crank_pivot").unwrap(), torque);
    // Along a table, which a trajectory of ours is, too; a speed goes on from where the joint starts.
    folder.succeed("simulate @chain/2 --duration 0.5 --out free --no-report");
    let common = "simulate @chain/2 --duration 0.5 --no-report";
    folder.succeed(&format!("{common} --drive joint0=free/trajectory.csv --out along"));
    let (free, along) = (csv(&folder, "free"), csv(&folder, "along"));
    let column = |table: &Trajectory, name: &str| table.column(name).unwrap();
    let far = |name: &str| {
        let pairs = column(&free, name).into_iter().zip(column(&along, name));
        pairs.fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
    };
    assert!(far("q.joint0") < 1e-12 && far("q.joint1") < 1e-3, "{} {}", far("q.joint0"), far("q.joint1"));
    folder.succeed(&format!("{common} --q joint1=0.4 --drive joint1=-1 --out speed"));
    assert_eq!(column(&csv(&folder, "speed"), "q.joint1")[0], 0.4);
    for (arguments, words) in [
        ("--drive jont1=2", "`jont1`"),
        ("--drive joint1", "does not say how"),
        ("--drive joint1=nowhere.csv", "nowhere.csv"),
        ("--drive joint1=2 --integrator rk4", "moves as given"),
    ] {
        let output = folder.run(&format!("{common} {arguments} --out wrong"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{arguments}: {said}");
    }
}

/// `sensordata` of MuJoCo 4.0.0 after `mj_forward` at the keyframe of `sensors.xml`.
#[test]
fn sensors_of_a_file_are_columns_and_say_what_mujoco_says() {
    let folder = Folder::new("sensors");
    let said = folder.succeed(&format!(
        "simulate {} --state go --duration 0.01 --no-report --out out",
        here().join("sensors.xml").display()
    ));
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    assert!(said.contains("sensors `accelerometer` of this form are left out"), "{said}");
    let table = csv(&folder, "out");
    let expected: [(&str, &[f64]); 14] = [
        ("jp", &[0.7]),
        ("jv", &[1.1]),
        ("bq", &[0.9233805168766387, 0.10259783520851541, 0.3077935056255462, 0.20519567041703082]),
        ("bv", &[-0.4, 0.5, 0.6]),
        ("fp", &[0.5155793178003407, 0.14753589160218786, 0.6799800630759362]),
        ("fq", &[0.4147469461192776, 0.4919903164371546, 0.6365022844839031, 0.4252003540256921]),
        ("fz", &[0.9459543881894956, 0.05417954056887997, 0.3197418847270127]),
        ("fl", &[-0.48292329053636, 0.08873817241605522, -0.5201652288937793]),
        ("fa", &[0.3600452242095228, 1.211674916829264, 0.7923989837670741]),
        ("com", &[0.4798960168135539, 0.06964853699089016, 0.7361962709019747]),
        ("vm", &[0.2268737179685136, -0.6122748515795483, -0.29207713939079566]),
        ("gyro/tip", &[1.0375248032546485, 1.0377636784757074, 0.268837585341693]),
        ("sc", &[0.2682999512952937, 0.01061191864460208, 0.8772845835163947]),
        ("still", &[1.0, 2.0, 3.0]),
    ];
    for (name, values) in expected {
        for (k, value) in values.iter().enumerate() {
            let part = match values.len() {
                1 => String::new(),
                4 => format!(".{}", ["w", "x", "y", "z"][k]),
                _ => format!(".{}", ["x", "y", "z"][k]),
            };
            let column = table.column(&format!("s.{name}{part}")).unwrap_or_else(|| panic!("s.{name}{part}"));
            assert!((column[0] - value).abs() < 1e-13, "{name}{part}: {} {value}", column[0]);
        }
    }
}
