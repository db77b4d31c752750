//! Recordings as people have them: read in their units, and refused with file, line and remedy where nothing can be made of
//! them.

use crate::support::Folder;

const ARM: &str = r#"{"schema": "leastaction/model/1", "name": "arm",
  "bodies": [
    {"name": "upper", "mass": 2, "com": [0.15, 0, 0], "inertia": [0.01, 0.02, 0.02, 0, 0, 0]},
    {"name": "lower", "mass": 1, "com": [0.15, 0, 0], "inertia": [0.01, 0.01, 0.01, 0, 0, 0]}],
  "joints": [
    {"name": "shoulder", "type": "spherical", "parent": "world", "child": "upper"},
    {"name": "elbow", "type": "revolute", "parent": "upper", "child": "lower", "axis": [0, 1, 0],
     "parent_placement": {"p": [0.3, 0, 0]}}],
  "frames": [
    {"name": "acromion", "body": "upper", "placement": {"p": [0.05, 0.04, 0]}},
    {"name": "epicondyle", "body": "upper", "placement": {"p": [0.28, 0, 0.03]}},
    {"name": "biceps", "body": "upper", "placement": {"p": [0.2, -0.05, 0.02]}},
    {"name": "wrist", "body": "lower", "placement": {"p": [0.3, 0, 0.02]}},
    {"name": "hand", "body": "lower", "placement": {"p": [0.35, 0.03, 0]}}]}"#;

const BLOCK: &str = r#"{"schema": "leastaction/model/1", "name": "block",
  "bodies": [{"name": "block", "mass": 3, "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}],
  "joints": [{"name": "free", "type": "floating", "parent": "world", "child": "block"}]}"#;

/// A table of two hinges; `cell` may spoil a cell.
fn table(header: &str, factor: f64, cell: impl Fn(usize, usize) -> Option<String>) -> String {
    let mut text = format!("{header}\n");
    for s in 0..60 {
        let t = 0.01 * s as f64;
        let row = [t, factor * (3.0 * t).sin(), factor * 0.5 * (2.0 * t).cos()];
        let cells: Vec<String> =
            row.iter().enumerate().map(|(c, x)| cell(s, c).unwrap_or_else(|| format!("{x:.12}"))).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn plain(header: &str) -> String {
    table(header, 1.0, |_, _| None)
}

fn spoilt(row: usize, column: usize, with: &str) -> String {
    table("t,joint0,joint1", 1.0, |s, c| ((s, c) == (row, column)).then(|| with.to_owned()))
}

/// A ball that turns slowly and a hinge at rest; `rotation` gives the quaternion for half the angle.
fn turned(rotation: impl Fn(usize, f64) -> [f64; 4]) -> String {
    let mut text = "t,shoulder.w,shoulder.x,shoulder.y,shoulder.z,elbow\n".to_owned();
    for s in 0..60 {
        let [w, x, y, z] = rotation(s, 0.01 * s as f64);
        text.push_str(&format!("{},{w},{x},{y},{z},0\n", 0.01 * s as f64));
    }
    text
}

fn trc(names: &[&str], unit: &str, count: usize, rows: &str) -> String {
    let mut head = format!(
        "PathFileType\t4\t(X/Y/Z)\tx.trc\nDataRate\tNumFrames\tNumMarkers\tUnits\n100\t9\t{count}\t{unit}\nFrame#\tTime"
    );
    for name in names {
        head.push_str(&format!("\t{name}\t\t"));
    }
    format!("{head}\n\t\tX1\tY1\tZ1\n{rows}")
}

#[test]
fn bad_recordings_are_refused_with_place_and_remedy() {
    let folder = Folder::new("bad-recordings");
    std::fs::write(folder.path().join("arm.json"), ARM).unwrap();
    let rows =
        |cells: &str| (1..=9).map(|i| format!("{i}\t{}\t{cells}\n", 0.01 * f64::from(i))).collect::<String>();
    let three = "1\t2\t3";
    let mot = |body: &str| format!("x\nversion=1\ninDegrees=yes\nendheader\n{body}");
    let late = table("t,joint0,joint1", 1.0, |s, c| {
        (c == 0 && s >= 30).then(|| format!("{}", 0.01 * s as f64 + 1.0))
    });
    let jump = table("t,joint0,joint1", 1.0, |s, c| {
        (c == 1 && s >= 30).then(|| format!("{}", (0.03 * s as f64).sin() + 2.0))
    });
    let wrapped = table("t,joint0,joint1", 1.0, |s, c| {
        (c == 1 && s >= 30).then(|| format!("{}", (0.03 * s as f64).sin() - std::f64::consts::TAU))
    });
    let two = "@double-pendulum";
    let cases: Vec<(&str, &str, String, &str, &str)> = vec![
        (two, "empty.csv", String::new(), "empty.csv:1: there are no column names", "name the columns"),
        (
            two,
            "numbers.csv",
            "0,1,2\n1,2,3\n".into(),
            "numbers.csv:1: the first line holds numbers, not names of columns",
            "add a line of names",
        ),
        (
            two,
            "untimed.csv",
            plain("x,joint0,joint1"),
            "`untimed.csv` has no column `t` or `time`",
            "name the column of times `t`",
        ),
        (
            two,
            "unnamed.csv",
            plain("t,joint0,joint7"),
            "`unnamed.csv` has no column for joint `joint1`",
            "help:",
        ),
        (
            two,
            "twice.csv",
            plain("t,joint0,joint0"),
            "twice.csv:1: column `joint0` appears twice",
            "a name of its own",
        ),
        (
            two,
            "word.csv",
            spoilt(3, 1, "fast"),
            "word.csv:5: `fast` in column `joint0` is not a number",
            "write numbers with a point",
        ),
        (
            two,
            "words.csv",
            "t,joint0,joint1\na,b,c\nd,e,f\n".into(),
            "words.csv:3: `d` in column `t` is not a number",
            "write numbers with a point",
        ),
        (
            two,
            "comma.csv",
            spoilt(3, 1, "0,5"),
            "comma.csv:5: the row has 4 values, the header names 3 columns",
            "as long as the header",
        ),
        (
            two,
            "hole.csv",
            spoilt(7, 2, ""),
            "hole.csv:9: `joint1` is missing or not finite",
            "fill in what was not recorded",
        ),
        (
            two,
            "nan.csv",
            spoilt(7, 2, "nan"),
            "nan.csv:9: `joint1` is missing or not finite",
            "leave the row out",
        ),
        (
            two,
            "timeless.csv",
            spoilt(7, 0, ""),
            "timeless.csv:9: the time is missing or not finite",
            "fill in its time",
        ),
        (
            two,
            "still.csv",
            spoilt(5, 0, "0.04"),
            "still.csv:7: the time 0.04 s is the same as in line 6",
            "leave one of the rows out",
        ),
        (
            two,
            "back.csv",
            spoilt(5, 0, "0.01"),
            "back.csv:7: the time 0.01 s comes after 0.04 s in line 6",
            "in order of time",
        ),
        (
            two,
            "gap.csv",
            late,
            "gap.csv:32: nothing was recorded from 0.29 s to 1.3 s, 101 usual intervals of 0.0100 s",
            "fill the gap",
        ),
        (two, "jump.csv", jump, "jump.csv:32: `joint0` jumps by 2.0", "mend the sample"),
        (
            two,
            "wrapped.csv",
            wrapped,
            "wrapped.csv:32: `joint0` jumps by -6.2",
            "it looks cut at half a turn",
        ),
        (
            two,
            "unit.csv",
            plain("t,joint0 [furlong],joint1"),
            "unit.csv:1: the unit `furlong` of column `joint0` is not known",
            "rad or deg",
        ),
        (
            two,
            "length.csv",
            plain("t,joint0 [mm],joint1"),
            "length.csv:1: column `joint0` has the unit `mm`, the joint needs an angle (rad, deg)",
            "check the units",
        ),
        (
            two,
            "rate.csv",
            plain("t,joint0 (rad/s),joint1"),
            "rate.csv:1: column `joint0` has the unit `rad/s`, the joint needs an angle",
            "check the units",
        ),
        (
            two,
            "clock.csv",
            plain("time [fortnight],joint0,joint1"),
            "clock.csv:1: the unit `fortnight` of column `time` is not known",
            "write s, ms",
        ),
        (
            two,
            "short.csv",
            "t,joint0,joint1\n0,0,0\n1,0,0\n".into(),
            "short.csv:1: there are 2 rows of numbers",
            "record longer or faster",
        ),
        (
            two,
            "headless.mot",
            "x\nversion=1\n".into(),
            "headless.mot:1: there is no `endheader`",
            "that OpenSim wrote",
        ),
        (
            two,
            "narrow.mot",
            mot("time joint0 joint1\n0 1 2\n0.1 1\n"),
            "narrow.mot:7: the row has 2 values, the header names 3 columns",
            "as long as the header",
        ),
        (
            "arm.json",
            "nothing.trc",
            "Frame\n".into(),
            "nothing.trc:1: this is no marker file",
            "take a .trc file",
        ),
        (
            "arm.json",
            "unitless.trc",
            trc(&["wrist"], "inch", 1, &rows(three)),
            "unitless.trc:3: the unit `inch` of the markers is not known",
            "m, cm or mm",
        ),
        (
            "arm.json",
            "counted.trc",
            trc(&["wrist"], "mm", 2, &rows(three)),
            "counted.trc:3: the header says 2 markers, line 4 names 1",
            "correct `NumMarkers`",
        ),
        (
            "arm.json",
            "strange.trc",
            trc(&["toe"], "mm", 1, &rows(three)),
            "no marker of `strange.trc` is a frame of `arm`",
            "a site in MJCF",
        ),
        (
            "arm.json",
            "lost.trc",
            trc(&["wrist", "hand"], "mm", 2, &rows("1\t2\t3\t\t\t")),
            "marker `hand` of `lost.trc` was never seen",
            "take it out",
        ),
        (
            "arm.json",
            "blind.trc",
            trc(&["wrist", "hand"], "mm", 2, &format!("{}10\t0.1\t\t\t\t\t\t\n", rows("1\t2\t3\t4\t5\t6"))),
            "blind.trc:15: only 0 markers were seen",
            "fill the gaps",
        ),
        (
            "arm.json",
            "text.trc",
            trc(&["wrist"], "mm", 1, &rows("1\tx\t3")),
            "text.trc:6: `x` of marker `wrist` is not a number",
            "leave empty",
        ),
        (
            "arm.json",
            "no.c3d",
            "this is text and no capture".into(),
            "`no.c3d`: this is no C3D file",
            "your capture program wrote",
        ),
        (
            "arm.json",
            "directionless.csv",
            turned(|s, half| if s == 20 { [0.0; 4] } else { [half.cos(), half.sin(), 0.0, 0.0] }),
            "directionless.csv:22: the quaternion of `shoulder` is zero: it has no direction",
            "fill in the rotation",
        ),
        (
            "arm.json",
            "overturned.csv",
            turned(|s, half| {
                let half = if s < 30 { half } else { half + 1.5 };
                [-half.cos(), -half.sin(), 0.0, 0.0]
            }),
            "overturned.csv:32: `shoulder` turns by 3.0",
            "mend the sample",
        ),
    ];
    assert!(cases.len() >= 25);
    for (model, name, text, expected, remedy) in &cases {
        std::fs::write(folder.path().join(name), text).unwrap();
        let output = folder.run(&format!("motion {model} --trajectory {name} --quantity torque --out out"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(said.contains(expected) && said.contains(remedy), "{name}: `{expected}` is not in\n{said}");
    }
    assert!(!folder.path().join("out").exists(), "a refused recording leaves no files");
}

/// The torque of two hinges from files in other units and of other programs is that of the plain one.
#[test]
fn units_and_names_of_other_programs_give_the_same_torques() {
    let folder = Folder::new("recording-units");
    let degrees = 1f64.to_degrees();
    let mot = table("", degrees, |_, _| None).replace(',', "\t");
    let files = [
        ("plain.csv", plain("t,q.joint0,q.joint1"), ""),
        ("bare.csv", plain("time,joint0,joint1"), ""),
        ("brackets.csv", table("time [s],joint0 [deg],joint1 (deg)", degrees, |_, _| None), ""),
        ("row.csv", table("time,joint0,joint1\ns,deg,deg", degrees, |_, _| None), ""),
        ("flag.csv", table("time,joint0,joint1", degrees, |_, _| None), "--degrees"),
        ("semicolon.csv", plain("t,joint0,joint1").replace(',', ";"), ""),
        (
            "walk.mot",
            format!("walk\ninDegrees=yes\nendheader\ntime\tjoint0\t/jointset/x/joint1/value{mot}"),
            "",
        ),
    ];
    let mut first: Option<f64> = None;
    for (name, text, flag) in files {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.succeed(&format!(
            "motion @double-pendulum --trajectory {name} --quantity torque --no-report --out out {flag}"
        ));
        let largest = folder.json("out/motion.json")["largest"][0].as_f64().unwrap();
        let expected = *first.get_or_insert(largest);
        assert!((largest - expected).abs() < 1e-5 * expected, "{name}: {largest} {expected}");
    }
}

/// What can be read but is probably not meant is said.
#[test]
fn degrees_unsaid_and_other_ends_are_noticed() {
    let folder = Folder::new("recording-notes");
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    let degrees = 1f64.to_degrees();
    write("degrees.csv", table("t,joint0,joint1", degrees, |_, _| None));
    let output =
        folder.run("motion @double-pendulum --trajectory degrees.csv --quantity torque --no-report --out m");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("`joint0` moves by 57.3 rad, 9 turns") && said.contains("give `--degrees`"),
        "{said}"
    );

    let problem = "model = \"@chain/2\"\n[trajectory]\nduration = 2.0\ncontrol_points = 12\n[start]\nq = 0.5\n[end]\nq = -0.5\n\
                   [[terms]]\nkind = \"joint_acceleration\"\nweight = 0.5\n[[terms]]\nkind = \"torque\"\nweight = 0.5\n";
    write("problem.toml", problem.into());
    // A cubic between rests, in the first joint to another end.
    let reach = |seconds: f64, end: f64| {
        let mut text = "t,joint0,joint1\n".to_owned();
        for i in 0..=100 {
            let t = 0.01 * seconds * f64::from(i);
            let blend = (0.5 * t).powi(2) * (3.0 - t);
            text.push_str(&format!("{t},{},{}\n", 0.5 + (end - 0.5) * blend, 0.5 - blend));
        }
        text
    };
    for (seconds, end, expected) in [
        (2.0, -0.2, "the recording ends 0.3000 rad from where the motion of the problem does, in `joint0`"),
        (1.0, -0.5, "the recording is from 0.0000 s to 1.0000 s of a motion of 2.0000 s"),
    ] {
        write("reach.csv", reach(seconds, end));
        let output = folder.run("infer problem.toml --motion reach.csv --no-report --out i");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(expected), "{expected} is not in\n{said}");
    }
    write("reach.csv", reach(2.0, -0.5));
    let output = folder.run("infer problem.toml --motion reach.csv --no-report --out i");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("the recording"), "{output:?}");
}

#[test]
fn a_block_at_rest_on_a_measured_force_needs_nothing_else() {
    let folder = Folder::new("recording-forces");
    std::fs::write(folder.path().join("block.json"), BLOCK).unwrap();
    let mut motion = "t,q.free.w,q.free.x,q.free.y,q.free.z,q.free.px,q.free.py,q.free.pz\n".to_owned();
    let mut forces =
        "t,force.block.fx,force.block.fy,force.block.fz,force.block.px,force.block.py,force.block.pz\n"
            .to_owned();
    let mut plate =
        "plate\nendheader\ntime 1_force_vx 1_force_vy 1_force_vz 1_force_px 1_force_py 1_force_pz\n"
            .to_owned();
    for s in 0..80 {
        let t = 0.01 * f64::from(s);
        motion.push_str(&format!("{t},1,0,0,0,0.4,0.1,{}\n", 0.05 * (4.0 * t).sin()));
        // m (g + z'') below the centre of mass.
        let lift = 3.0 * (9.81 - 0.05 * 16.0 * (4.0 * t).sin());
        forces.push_str(&format!("{t},0,0,{lift},0.4,0.1,-0.5\n"));
        plate.push_str(&format!("{t} 0 {lift} 0 0.4 -0.5 -0.1\n"));
    }
    for (name, text) in [("motion.csv", &motion), ("forces.csv", &forces), ("plate.mot", &plate)] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let base = "motion block.json --trajectory motion.csv --quantity torque --no-report --out out";
    folder.succeed(base);
    assert!(folder.json("out/motion.json")["largest"][0].as_f64().unwrap() > 29.0);
    for more in ["--forces forces.csv", "--forces plate.mot --force-on block=1_force_ --up y"] {
        folder.succeed(&format!("{base} {more}"));
        let left = folder.json("out/motion.json")["largest"][0].as_f64().unwrap();
        assert!(left < 1e-4, "{more}: {left}");
    }
    for (more, said) in [
        ("--forces forces.csv --order 1", "measured forces are part of torques"),
        ("--forces plate.mot", "does not say which bodies its forces act on"),
        ("--forces plate.mot --force-on foot=1_force_", "there is no body `foot` in `block`"),
        ("--forces plate.mot --force-on block=2_force_", "has no column `2_force_fx`"),
        ("--forces plate.mot --force-on block", "does not name a body and its columns"),
    ] {
        let output = folder.run(&format!("{base} {more}"));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(said), "{more}: {text}");
    }
}

/// Markers of a known motion: the joints come back, and so does how well.
#[test]
fn markers_are_followed_by_a_ball_and_a_hinge() {
    let folder = Folder::new("recording-markers");
    std::fs::write(folder.path().join("arm.json"), ARM).unwrap();
    // A known motion by `simulate`, and where its frames are by `motion`.
    folder.succeed(
        "simulate arm.json --q elbow=0.6 --v elbow=1 --step 0.01 --duration 1 --no-report --out run",
    );
    let names = ["acromion", "epicondyle", "biceps", "wrist", "hand"];
    let mut places = Vec::new();
    for name in names {
        folder.succeed(&format!(
            "motion arm.json --trajectory run/trajectory.csv --quantity point --of {name} --smoothing off --no-report --out point"
        ));
        let text = String::from_utf8(folder.read("point/motion.csv")).unwrap();
        let rows: Vec<Vec<f64>> =
            text.lines().skip(1).map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
        places.push(rows);
    }
    let mut rows = String::new();
    for s in 0..places[0].len() {
        rows.push_str(&format!("{}\t{}", s + 1, places[0][s][0]));
        for (m, place) in places.iter().enumerate() {
            // One marker is lost for a while.
            if m == 2 && (20..30).contains(&s) {
                rows.push_str("\t\t\t");
            } else {
                place[s][1..4].iter().for_each(|x| rows.push_str(&format!("\t{:.9}", 1e3 * x)));
            }
        }
        rows.push('\n');
    }
    std::fs::write(folder.path().join("arm.trc"), trc(&names, "mm", 5, &rows)).unwrap();
    let output = folder.succeed("motion arm.json --trajectory arm.trc --quantity torque --out out");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("not seen in 10 frames"), "{text}");
    let summary = folder.json("out/motion.json");
    for marker in summary["markers"].as_array().unwrap() {
        assert!(marker["rms"].as_f64().unwrap() < 1e-6, "{marker}");
    }
    // Nothing drives the arm: its torques are what is left of a tracked motion.
    assert!(summary["largest"][0].as_f64().unwrap() < 0.05, "{}", summary["largest"]);
}

/// One marker on the coupler of a four-bar: the rocker, which nothing is seen of, follows by the loop.
#[test]
fn markers_are_followed_through_a_loop() {
    let folder = Folder::new("recording-loop");
    folder.succeed("simulate @four-bar --step 0.002 --duration 0.5 --no-report --out run");
    let text = String::from_utf8(folder.read("run/trajectory.csv")).unwrap();
    let head: Vec<&str> = text.lines().next().unwrap().split(',').collect();
    let at = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().skip(1).map(|l| l.split(',').map(|x| x.parse().unwrap_or(f64::NAN)).collect()).collect();
    let place = ["x.coupler.px", "x.coupler.py", "x.coupler.pz"].map(at);
    let mut seen = String::new();
    for (s, row) in rows.iter().enumerate() {
        seen.push_str(&format!("{}\t{}", s + 1, row[0]));
        place.iter().for_each(|c| seen.push_str(&format!("\t{:.9}", 1e3 * row[*c])));
        seen.push('\n');
    }
    std::fs::write(folder.path().join("coupler.trc"), trc(&["coupler"], "mm", 1, &seen)).unwrap();
    folder.succeed(
        "motion @four-bar --trajectory coupler.trc --quantity pose --of rocker --no-report --out out",
    );
    let found = String::from_utf8(folder.read("out/joints.csv")).unwrap();
    let names: Vec<&str> = found.lines().next().unwrap().split(',').collect();
    for name in ["q.crank_pivot", "q.rocker_pivot", "q.crank_coupler"] {
        let (own, column) = (names.iter().position(|n| *n == name).unwrap(), at(name));
        for (line, row) in found.lines().skip(1).zip(&rows) {
            let q: f64 = line.split(',').nth(own).unwrap().parse().unwrap();
            assert!((q - row[column]).abs() < 1e-6, "{name}: {q} {}", row[column]);
        }
    }
}
