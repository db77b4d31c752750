//! Sweeps: the same bytes whatever happens, rows that can be made again alone, wrong files refused before anything starts.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use leastaction_study::sweep::parquet::{Column, Part};

use crate::support::Folder;

const SWEEP: &str = r#"
model = "@chain/3"
order = 4
step = 0.01
duration = 0.5
[sweep]
runs = 203
seed = 11
chunk = 16
[sweep.vary]
"initial.q.*" = { uniform = [-0.5, 0.5] }
"initial.v.joint1" = { normal = [0.0, 0.3] }
[sweep.measure]
energy_error = "largest"
peak = { column = "q.joint2", as = "largest_magnitude" }
"#;

/// The same with another model in every run.
const MODELS: &str = r#"
model = "@chain/3"
step = 0.01
duration = 0.2
[sweep]
runs = 40
seed = 3
chunk = 8
record = "rows"
every = 5
columns = ["q", "energy.total", "iterations"]
[sweep.vary]
"initial.q.joint0" = { uniform = [-0.5, 0.5] }
"bodies.*.mass" = { uniform = [0.8, 1.2], relative = true }
"joints.*.damping" = { values = [0.0, 0.1] }
"gravity.z" = { linspace = [-9.9, -9.7, 3] }
[sweep.measure]
work = { column = "energy.total", as = "smallest" }
"#;

fn write(folder: &Folder, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).unwrap();
}

/// Every part by name.
fn parts(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for kind in ["runs", "rows"] {
        let Ok(entries) = std::fs::read_dir(folder.join(kind)) else { continue };
        for entry in entries.flatten() {
            let name = format!("{kind}/{}", entry.file_name().to_string_lossy());
            all.insert(name, std::fs::read(entry.path()).unwrap());
        }
    }
    all
}

fn numbers(bytes: &[u8], name: &str) -> Vec<f64> {
    match Part::open(bytes).unwrap().column(name).unwrap_or_else(|| panic!("no column {name}")) {
        Column::Float(x) => x,
        Column::Perhaps(x) => x.into_iter().map(|x| x.unwrap_or(f64::NAN)).collect(),
        Column::Int(x) => x.into_iter().map(|x| x as f64).collect(),
        other => panic!("{other:?}"),
    }
}

/// A column over all parts.
fn column(folder: &Path, name: &str) -> Vec<f64> {
    parts(folder)
        .iter()
        .filter(|(part, _)| part.starts_with("runs"))
        .flat_map(|(_, bytes)| numbers(bytes, name))
        .collect()
}

#[test]
fn threads_do_not_change_a_byte() {
    for (name, text) in [("threads", SWEEP), ("threads-models", MODELS)] {
        let folder = Folder::new(&format!("sweep-{name}"));
        write(&folder, "s.toml", text);
        for threads in [1, 2, 5] {
            folder.succeed(&format!("sweep s.toml --threads {threads} --out t{threads} --no-report"));
        }
        let one = parts(&folder.path().join("t1"));
        assert!(!one.is_empty());
        for threads in [2, 5] {
            assert!(one == parts(&folder.path().join(format!("t{threads}"))), "{name} {threads}");
        }
    }
}

#[test]
fn killed_ten_times_it_comes_out_the_same() {
    let folder = Folder::new("sweep-kills");
    let text = SWEEP.replace("runs = 203", "runs = 8003");
    write(&folder, "s.toml", &text);
    folder.succeed("sweep s.toml --out whole --no-report");
    let mut kills = 0;
    for attempt in 0..40u64 {
        let mut child = folder
            .command("sweep s.toml --out killed --no-report --threads 2")
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Moments that are spread, and later ones where little is left.
        std::thread::sleep(Duration::from_millis(8 + 7 * (attempt * 37 % 11)));
        let _ = child.kill();
        let ended = child.wait().unwrap();
        kills += usize::from(!ended.success());
        if kills == 10 || ended.success() {
            break;
        }
    }
    assert!(kills >= 5, "it was killed {kills} times only");
    // What a torn write could leave behind.
    folder.succeed("sweep s.toml --out killed --no-report");
    assert!(parts(&folder.path().join("whole")) == parts(&folder.path().join("killed")));
    let left = folder.list("killed/runs");
    assert!(left.iter().all(|name| !name.ends_with("partial")), "{left:?}");
}

#[test]
fn torn_parts_are_made_again_and_named() {
    let folder = Folder::new("sweep-torn");
    write(&folder, "s.toml", SWEEP);
    folder.succeed("sweep s.toml --out o --no-report");
    let whole = parts(&folder.path().join("o"));
    let path = |n: u32| folder.path().join(format!("o/runs/part-{n:06}.parquet"));
    let bytes = std::fs::read(path(2)).unwrap();
    std::fs::write(path(2), &bytes[..bytes.len() / 2]).unwrap();
    let mut bytes = std::fs::read(path(5)).unwrap();
    let at = bytes.len() - 30;
    bytes[at] ^= 1;
    std::fs::write(path(5), &bytes).unwrap();
    std::fs::write(path(7), b"").unwrap();
    std::fs::remove_file(path(9)).unwrap();
    folder.succeed("sweep s.toml --out o --no-report");
    assert!(whole == parts(&folder.path().join("o")));
    let summary = folder.json("o/summary.json");
    let named: Vec<&str> =
        summary["made_again"].as_array().unwrap().iter().filter_map(|x| x.as_str()).collect();
    assert_eq!(named.len(), 3, "{named:?}");
    for n in [2, 5, 7] {
        assert!(
            named.iter().any(|text| text.starts_with(&format!("runs/part-{n:06}.parquet: "))),
            "{named:?}"
        );
    }
    assert_eq!(summary["computed_runs"], 64);
}

#[test]
fn another_sweep_in_the_folder_is_refused_by_its_first_difference() {
    let folder = Folder::new("sweep-other");
    write(&folder, "s.toml", SWEEP);
    folder.succeed("sweep s.toml --out o --no-report");
    let before = parts(&folder.path().join("o"));
    for (flags, key) in [
        ("--seed 12", "sweep.seed"),
        ("--duration 0.4", "duration"),
        ("--runs 204", "sweep.runs"),
        ("--chunk 8", "sweep.chunk"),
        ("--set bodies.link0.mass=2", "set.bodies.link0.mass"),
        ("--integrator rk4", "integrator"),
    ] {
        let output = folder.run(&format!("sweep s.toml --out o --no-report {flags}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flags}: {said}");
        assert!(said.contains(&format!("`o` holds another sweep: `{key}` differs")), "{flags}: {said}");
    }
    write(&folder, "m.toml", &SWEEP.replace("@chain/3", "@chain/4"));
    let said = folder.run("sweep m.toml --out o --no-report");
    assert!(String::from_utf8_lossy(&said.stderr).contains("`model` differs"));
    assert!(before == parts(&folder.path().join("o")), "nothing is lost");
    folder.succeed("sweep s.toml --seed 12 --out o --no-report --fresh");
    assert!(before != parts(&folder.path().join("o")));
    // Results of another verb are never touched.
    folder.succeed("simulate @chain/2 --duration 0.1 --out run --no-report");
    let output = folder.run("sweep s.toml --out run --fresh");
    assert!(String::from_utf8_lossy(&output.stderr).contains("`run` holds results of `simulate`"));
}

#[test]
fn any_run_is_made_again_alone_bit_for_bit() {
    for (name, text, runs) in [("one", SWEEP, 203u64), ("one-model", MODELS, 40)] {
        let folder = Folder::new(&format!("sweep-{name}"));
        write(&folder, "s.toml", text);
        folder.succeed("sweep s.toml --out o --no-report");
        let ends: Vec<Vec<f64>> = ["q.joint0", "q.joint1", "q.joint2", "v.joint0", "v.joint1", "v.joint2"]
            .iter()
            .map(|name| column(&folder.path().join("o"), name))
            .collect();
        for k in 0..25 {
            let run = (k * 97 + 5) % runs;
            let file = if k % 2 == 0 { "s.toml" } else { "o/sweep.json" };
            folder.succeed(&format!("simulate {file} --run {run} --out r --force --no-report"));
            let state = folder.json("r/state.json");
            let number = |which: &str, joint: usize| state[which][format!("joint{joint}")].as_f64().unwrap();
            for joint in 0..3 {
                assert_eq!(number("q", joint).to_bits(), ends[joint][run as usize].to_bits(), "run {run}");
                assert_eq!(
                    number("v", joint).to_bits(),
                    ends[3 + joint][run as usize].to_bits(),
                    "run {run}"
                );
            }
        }
    }
    let folder = Folder::new("sweep-no-run");
    write(&folder, "s.toml", SWEEP);
    let output = folder.run("simulate s.toml --run 203");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no run 203: the sweep has 203"));
    let output = folder.run("simulate s.toml");
    assert!(String::from_utf8_lossy(&output.stderr).contains("this file describes many runs"));
}

#[test]
fn a_parameter_more_or_another_chunk_changes_no_other_column() {
    let folder = Folder::new("sweep-independence");
    write(&folder, "a.toml", SWEEP);
    folder.succeed("sweep a.toml --out a --no-report");
    folder.succeed("sweep a.toml --out chunks --chunk 7 --no-report");
    // Written last, and about something the motion does not feel.
    write(
        &folder,
        "b.toml",
        &SWEEP.replace(
            "[sweep.measure]",
            "\"joints.joint0.velocity\" = { uniform = [1e3, 2e3] }\n[sweep.measure]",
        ),
    );
    folder.succeed("sweep b.toml --out b --no-report");
    let reordered = SWEEP.replace("\"initial.q.*\" = { uniform = [-0.5, 0.5] }\n", "");
    let reordered =
        reordered.replace("[sweep.measure]", "\"initial.q.*\" = { uniform = [-0.5, 0.5] }\n[sweep.measure]");
    write(&folder, "c.toml", &reordered);
    folder.succeed("sweep c.toml --out c --no-report");
    let bits = |out: &str, name: &str| -> Vec<u64> {
        column(&folder.path().join(out), name).into_iter().map(f64::to_bits).collect()
    };
    for name in ["initial.q.joint0", "initial.v.joint1", "q.joint2", "v.joint0", "energy_error", "peak"] {
        for other in ["chunks", "b", "c"] {
            assert_eq!(bits("a", name), bits(other, name), "{other} {name}");
        }
    }
    assert!(parts(&folder.path().join("a")) == parts(&folder.path().join("c")), "keys in another order");
}

#[test]
fn a_run_that_fails_is_a_row_with_its_reason() {
    let folder = Folder::new("sweep-failures");
    // Below zero there is no mass; beyond the limit there is no start; the others run.
    let text = SWEEP
        .replace(
            "\"initial.v.joint1\" = { normal = [0.0, 0.3] }",
            "\"bodies.link0.mass\" = { uniform = [-0.02, 1.98] }",
        )
        .replace("runs = 203", "runs = 400");
    write(&folder, "s.toml", &text);
    let output = folder.run("sweep s.toml --out o --no-report");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(folder.run("sweep s.toml --out o --no-report --strict").status.code(), Some(1));
    let summary = folder.json("o/summary.json");
    let masses = column(&folder.path().join("o"), "bodies.link0.mass");
    let negative = masses.iter().filter(|mass| **mass <= 0.0).count() as u64;
    assert!(negative > 0 && negative < 20);
    assert_eq!(
        (summary["failed"].as_u64(), summary["failures"]["BadModel"]["count"].as_u64()),
        (Some(negative), Some(negative))
    );
    let reason = summary["failures"]["BadModel"]["first"][0]["error"].as_str().unwrap();
    assert!(reason.contains("mass"), "{reason}");
    let all = parts(&folder.path().join("o"));
    let failed: usize = all
        .values()
        .map(|bytes| match Part::open(bytes).unwrap().column("error").unwrap() {
            Column::Text(texts) => texts.iter().filter(|text| text.is_some()).count(),
            _ => 0,
        })
        .sum();
    assert_eq!(failed as u64, negative);
}

#[test]
fn a_step_that_cannot_be_taken_says_when() {
    let folder = Folder::new("sweep-steps");
    let text = SWEEP
        .replace(
            "\"initial.v.joint1\" = { normal = [0.0, 0.3] }",
            "\"initial.v.joint1\" = { values = [0.0, 0.0, 0.0, 1e7] }",
        )
        .replace("order = 4", "order = 4\nintegrator = \"rk4\"")
        .replace("step = 0.01", "step = 0.1")
        .replace("duration = 0.5", "duration = 50.0");
    write(&folder, "s.toml", &text);
    folder.succeed("sweep s.toml --out o --no-report");
    let summary = folder.json("o/summary.json");
    assert!(summary["failed"].as_u64().unwrap() > 20, "{summary}");
    for (name, bytes) in parts(&folder.path().join("o")) {
        let part = Part::open(&bytes).unwrap();
        let (Some(Column::Text(errors)), Some(Column::Perhaps(times))) =
            (part.column("error"), part.column("error_time"))
        else {
            panic!("{name}")
        };
        let ends = numbers(&bytes, "t");
        for ((error, time), end) in errors.iter().zip(times).zip(ends) {
            assert_eq!(error.is_some(), time.is_some());
            if let (Some(error), Some(time)) = (error, time) {
                assert_eq!(time, end, "{error}");
                assert!(error.split(": ").next().is_some_and(|kind| !kind.contains(' ')), "{error}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn interrupted_it_keeps_whole_parts_and_goes_on() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new(&format!("sweep-stop{signal}"));
        write(&folder, "s.toml", &SWEEP.replace("runs = 203", "runs = 100000"));
        let child = folder
            .command("sweep s.toml --out o --no-report")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let first = folder.path().join("o/runs/part-000003.parquet");
        while !first.exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        // A second driver sees who has the folder.
        let second = folder.run("sweep s.toml --out o --no-report");
        let said = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2));
        assert!(said.contains(&format!("is being written by another process, {}", child.id())), "{said}");
        let killed =
            std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
        for (name, bytes) in parts(&folder.path().join("o")) {
            assert!(!name.ends_with("partial") && Part::open(&bytes).is_some(), "{name}");
        }
        assert!(!folder.path().join("o/summary.json").exists());
    }
}

#[test]
fn resume_takes_a_folder_as_it_is() {
    let folder = Folder::new("sweep-resume");
    write(&folder, "s.toml", SWEEP);
    write(&folder, "push.csv", "t,u\n0,1\n");
    folder.succeed("sweep s.toml --out o --no-report");
    let whole = parts(&folder.path().join("o"));
    std::fs::remove_file(folder.path().join("o/runs/part-000004.parquet")).unwrap();
    std::fs::remove_file(folder.path().join("s.toml")).unwrap();
    folder.succeed("resume o");
    assert!(whole == parts(&folder.path().join("o")));
    let page = String::from_utf8(folder.read("o/report.html")).unwrap();
    assert!(page.contains("energy_error") && page.contains("leastaction simulate o/sweep.json --run "));
    assert!(
        folder.list("o/worst").iter().all(|name| name.starts_with("run-"))
            && !folder.list("o/worst").is_empty()
    );
}

#[test]
fn files_that_a_sweep_reads_travel_with_it() {
    let folder = Folder::new("sweep-files");
    let text = "model = \"cart.json\"\nduration = 0.3\ninputs_file = \"push.csv\"\n[sweep]\nruns = 12\nchunk = 4\n[sweep.vary]\n\"initial.v.*\" = { uniform = [-1.0, 1.0] }\n";
    write(&folder, "s.toml", text);
    folder.succeed("sweep s.toml --out o --no-report");
    folder.succeed("simulate s.toml --run 7 --out a --no-report");
    let whole = parts(&folder.path().join("o"));
    for gone in ["s.toml", "cart.json", "push.csv", "o/runs/part-000001.parquet"] {
        std::fs::remove_file(folder.path().join(gone)).unwrap();
    }
    folder.succeed("resume o");
    assert!(whole == parts(&folder.path().join("o")));
    folder.succeed("simulate o/sweep.json --run 7 --out b --no-report");
    assert!(folder.read("a/trajectory.csv") == folder.read("b/trajectory.csv"));
}

#[test]
fn a_grid_is_gone_through_point_by_point() {
    let folder = Folder::new("sweep-grid");
    let text = "model = \"@chain/2\"\nduration = 0.1\n[sweep]\n[sweep.vary]\n\"initial.q.joint0\" = { values = [0.1, 0.2] }\n\"initial.v.joint1\" = { linspace = [0.0, 1.0, 3] }\n";
    write(&folder, "s.toml", text);
    folder.succeed("sweep s.toml --out o --no-report");
    assert_eq!(column(&folder.path().join("o"), "initial.q.joint0"), [0.1, 0.1, 0.1, 0.2, 0.2, 0.2]);
    assert_eq!(column(&folder.path().join("o"), "initial.v.joint1"), [0.0, 0.5, 1.0, 0.0, 0.5, 1.0]);
}

#[test]
fn rows_are_those_of_simulate() {
    let folder = Folder::new("sweep-rows");
    write(&folder, "s.toml", MODELS);
    folder.succeed("sweep s.toml --out o --no-report");
    folder.succeed("simulate s.toml --run 21 --every 5 --out r --no-report");
    let csv = String::from_utf8(folder.read("r/trajectory.csv")).unwrap();
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    let bytes = folder.read("o/rows/part-000002.parquet");
    let mine: Vec<usize> =
        numbers(&bytes, "run").iter().enumerate().filter(|(_, run)| **run == 21.0).map(|(i, _)| i).collect();
    assert_eq!(mine.len(), rows.len());
    for name in ["t", "q.joint0", "q.joint2", "energy.total", "iterations"] {
        let at = names.iter().position(|known| *known == name).unwrap();
        let ours = numbers(&bytes, name);
        for (i, row) in mine.iter().zip(&rows) {
            assert_eq!(ours[*i], row[at], "{name}");
        }
    }
    assert_eq!(
        Part::open(&bytes).unwrap().names(),
        ["run", "t", "q.joint0", "q.joint1", "q.joint2", "energy.total", "iterations"]
    );
}

#[test]
fn quantiles_are_values_of_runs() {
    let folder = Folder::new("sweep-quantiles");
    write(&folder, "s.toml", SWEEP);
    folder.succeed("sweep s.toml --out o --no-report");
    let mut peaks = column(&folder.path().join("o"), "peak");
    peaks.sort_by(f64::total_cmp);
    let summary = folder.json("o/summary.json");
    for (p, rank) in [("0", 0), ("0.05", 10), ("0.25", 51), ("0.5", 101), ("0.95", 192), ("1", 202)] {
        let said = summary["measures"]["peak"]["quantiles"][p].as_f64().unwrap();
        assert_eq!(said, peaks[rank], "{p}");
    }
    let mean = peaks.iter().sum::<f64>() / 203.0;
    assert!((summary["measures"]["peak"]["mean"].as_f64().unwrap() - mean).abs() < 1e-12);
}

#[test]
fn a_dry_run_says_everything_and_does_nothing() {
    let folder = Folder::new("sweep-dry");
    write(&folder, "s.toml", SWEEP);
    let output = folder.succeed("sweep s.toml --dry-run --json --threads 3 --memory 1MB --out o");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (said["runs"].as_u64(), said["chunks"].as_u64(), said["steps"].as_u64()),
        (Some(203), Some(13), Some(50))
    );
    assert_eq!(said["threads"], 1, "memory lowers the number of threads");
    assert_eq!(said["draws"].as_array().unwrap().len(), 5);
    assert!(!folder.path().join("o").exists());
}

#[test]
fn set_changes_single_numbers_of_a_model() {
    let folder = Folder::new("set");
    let energy = |flags: &str| {
        folder.succeed(&format!("simulate @chain/2 --duration 0.1 --out r --force --no-report {flags}"));
        folder.json("r/summary.json")["energy"]["initial"].as_f64().unwrap()
    };
    let plain = energy("");
    assert!((energy("--set bodies.*.mass=2") - 2.0 * plain).abs() < 1e-12 * plain.abs());
    assert!((energy("--set gravity.z=-19.62") - 2.0 * plain).abs() < 1e-12 * plain.abs());
    // In a scenario the same, and printed back.
    write(
        &folder,
        "s.toml",
        "model = \"@chain/2\"\nduration = 0.1\n[set]\n\"bodies.*.mass\" = 2.0\n\"joints.joint0.damping\" = 0.3\n",
    );
    let printed = folder.succeed("simulate s.toml --print-config");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(
        printed.contains("[set]\n\"bodies.*.mass\" = 2.0\n\"joints.joint0.damping\" = 0.3\n"),
        "{printed}"
    );
    for (flag, message) in [
        ("bodies.pole.mass=2", "there is no body `pole` in `chain-2`"),
        ("bodies.link0.mas=2", "`bodies.link0.mas` ends in no property that can be changed"),
        ("bodies.link0.com=1,2", "`bodies.link0.com` has 2 numbers, it takes 3"),
        ("mass=2", "`mass` is nothing of a model"),
        ("bodies.link0.mass=-1", "can't be used with these flags"),
    ] {
        let output = folder.run(&format!("simulate @chain/2 --duration 0.1 --out bad --set {flag}"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{flag}: {said}");
        assert!(said.contains(message), "{flag}: {said}");
    }
    assert!(!folder.path().join("bad").exists());
}

/// What the command says about every wrong file, word for word, is beside it; `UPDATE_SNAPSHOTS=1` writes it.
#[test]
fn every_wrong_sweep_is_refused_before_anything_starts() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_sweeps");
    let folder = Folder::new("sweep-bad");
    let mut seen = 0;
    for entry in std::fs::read_dir(&corpus).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "toml") {
            continue;
        }
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let output = folder.run(&format!("sweep {name}.toml --out o"));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{name}: {said}");
        assert!(output.stdout.is_empty() && said.contains("help: ") || name == "not_toml", "{name}: {said}");
        let expected = path.with_extension("expected");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            std::fs::write(&expected, &said).unwrap();
        }
        assert_eq!(said, std::fs::read_to_string(&expected).unwrap_or_default(), "{name}");
        seen += 1;
    }
    assert!(seen >= 30);
    assert!(!folder.path().join("o").exists(), "a refused sweep leaves nothing");
}
