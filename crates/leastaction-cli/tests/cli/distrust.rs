//! Files from elsewhere: what is odd about them is said in few lines, and nothing they hold acts on the terminal.

use super::support::Folder;

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).unwrap();
}

fn stderr(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A hinge, a link on a fixed joint that mimics it, and a dozen attributes nobody reads.
fn odd_urdf() -> String {
    let inertial = "<inertial><mass value=\"1\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" iyz=\"0\" izz=\"1\"/></inertial>";
    let strange: String = (0..12).map(|i| format!(" odd{i}=\"1\"")).collect();
    format!(
        "<robot name=\"r\"><link name=\"a\"{strange}>{inertial}</link><link name=\"b\">{inertial}</link>\
         <link name=\"c\">{inertial}</link>\
         <joint name=\"h\" type=\"continuous\"><parent link=\"a\"/><child link=\"b\"/><axis xyz=\"0 1 0\"/></joint>\
         <joint name=\"f\" type=\"fixed\"><parent link=\"b\"/><child link=\"c\"/><mimic joint=\"h\"/></joint></robot>"
    )
}

#[test]
fn a_mimic_on_a_fixed_joint_stops_no_run_and_many_warnings_are_three_lines() {
    let folder = Folder::new("odd");
    write(&folder, "odd.urdf", &odd_urdf());
    let run = folder.succeed("simulate odd.urdf --duration 0.01 --no-report --out out");
    let said = stderr(&run);
    let lines: Vec<&str> = said.lines().filter(|line| !line.contains("leastaction-out")).collect();
    assert!(lines.len() <= 3, "{said}");
    assert!(
        said.contains("unknown attribute `odd0` of `<link>` is not read (and 11 more of this kind)"),
        "{said}"
    );
    assert!(said.contains("`leastaction check odd.urdf` shows all 13 warnings"), "{said}");
    let check = stderr(&folder.succeed("check odd.urdf"));
    assert!((0..12).all(|i| check.contains(&format!("`odd{i}`"))), "{check}");
    assert!(check.contains("mimic on a fixed joint does nothing"), "{check}");
}

#[test]
fn names_do_not_act_on_the_terminal_and_survive_in_tables() {
    let folder = Folder::new("escape");
    let name = "j\\u001b[31m\\nerror: all is lost";
    let model = format!(
        "{{\"schema\": \"leastaction/model/1\", \"name\": \"{name}\", \"inputs\": [\"{name}\"], \"bodies\": [{{\"name\": \
         \"{name}\", \"mass\": 1, \"inertia\": [1, 1, 1, 0, 0, 0]}}], \"joints\": [{{\"name\": \"{name}\", \"type\": \
         \"revolute\", \"parent\": \"world\", \"child\": \"{name}\", \"friction\": 1, \"actuators\": [{{\"input\": \
         \"{name}\", \"coordinate\": 0, \"gear\": 1}}]}}]}}"
    );
    write(&folder, "escape.json", &model);
    for arguments in [
        "info escape.json",
        "check escape.json",
        "simulate escape.json --duration 0.01",
        "simulate escape.json --q k=1",
        "simulate escape.json --input k=1 --ignore friction",
        "jacobian escape.json --body k",
        "linearize escape.json --ignore friction",
        "check escape.json --json",
        "info escape.json --json",
    ] {
        let output = folder.run(arguments);
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains('\u{1b}'), "{arguments}: {said}");
        assert!(!said.lines().any(|line| line.starts_with("error: all is lost")), "{arguments}: {said}");
    }
    folder.succeed("simulate escape.json --ignore friction --duration 0.01 --no-report --out out");
    let table = leastaction::io::read_trajectory_csv(&folder.path().join("out/trajectory.csv")).unwrap();
    let column = "q.j\u{1b}[31m\nerror: all is lost";
    assert!(table.column_index(column).is_some(), "{:?}", table.layout());
    let archive = leastaction::io::read_trajectory_npz(&folder.path().join("out/trajectory.npz")).unwrap();
    assert_eq!(archive.layout(), table.layout());
}

#[test]
fn a_table_of_inputs_needs_finite_times() {
    let folder = Folder::new("times");
    write(&folder, "inputs.csv", "t,push\nnan,1\n0.5,2\n");
    let output = folder.run("simulate cart.json --inputs inputs.csv --duration 0.1 --no-report --out out");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("inputs.csv:2: the time `nan` is not finite"), "{}", stderr(&output));
}

#[test]
fn a_quaternion_that_is_no_rotation_is_refused_on_the_command_line_too() {
    let folder = Folder::new("quaternion");
    let output = folder.run("simulate @ball-chain/1 --q joint0=2,0,0,0 --duration 0.1");
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("has a quaternion of length 2; give one of length 1"),
        "{}",
        stderr(&output)
    );
}

#[cfg(unix)]
#[test]
fn endless_files_are_refused_with_the_limit() {
    let folder = Folder::new("endless");
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless.c3d")).unwrap();
    for (arguments, limit) in [
        (
            "motion @chain/2 --trajectory endless.c3d --quantity torque --out out",
            "at most 536870912 bytes are read; `--max-file SIZE`",
        ),
        ("check /dev/zero", "at most 268435456 bytes are read; `--max-file SIZE`"),
        (
            "simulate @double-pendulum --start /dev/zero",
            "at most 268435456 bytes are read; `--max-file SIZE`",
        ),
        ("simulate --scenario /dev/zero", "at most 268435456 bytes are read; `--max-file SIZE`"),
        ("check /dev/zero --max-file 300MB", "at most 300000000 bytes are read; `--max-file SIZE`"),
        ("simulate cart.json --inputs /dev/zero", "at most 4294967296 bytes are read; `--max-file SIZE`"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", stderr(&output));
        assert!(stderr(&output).contains(limit), "{arguments}: {}", stderr(&output));
    }
}

/// Blanks at the end of a model make it larger than what is read without a word from the user.
#[test]
fn a_large_file_is_read_where_its_size_is_allowed() {
    let folder = Folder::new("large");
    let model = folder.succeed("convert @double-pendulum - --to json").stdout;
    let mut text = String::from_utf8(model).unwrap();
    text.push_str(&" ".repeat((256 << 20) + 1 - text.len()));
    write(&folder, "large.json", &text);
    assert_eq!(folder.run("info large.json").status.code(), Some(2));
    folder.succeed("info large.json --max-file 0.3GB");
    let wrong = folder.run("info @chain/2 --max-file much");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("`much` is no size of memory"), "{}", stderr(&wrong));
}

/// A state whose energy can't be told is not a result.
#[test]
fn a_run_without_a_finite_energy_ends_with_an_error() {
    let folder = Folder::new("no-energy");
    let high = r#"{"schema": "leastaction/model/1", "name": "high", "bodies": [{"name": "b", "mass": 2, "inertia": [1, 1, 1, 0, 0, 0]}],
      "joints": [{"name": "j", "type": "revolute", "parent": "world", "child": "b", "axis": [1, 0, 0],
                  "parent_placement": {"p": [0, 0, 1e308]}}]}"#;
    write(&folder, "high.json", high);
    let run = folder.run("simulate high.json --duration 0.01 --no-report --out out");
    assert_eq!(run.status.code(), Some(2), "{}", stderr(&run));
    assert!(stderr(&run).contains("the energy is not finite"), "{}", stderr(&run));
}
