//! Published results, made again by the command.

use crate::support::Folder;

/// Those whose expectations are errors, orders and counts: the same on a busy machine. `scripts/test.sh` runs all.
const EXACT: [&str; 13] = [
    "bruedigam-4b",
    "bruedigam-4d",
    "fan-order",
    "fan-control",
    "ishigaki-4",
    "ishigaki-table6",
    "ishigaki-table7",
    "ishigaki-7",
    "ours-agreement",
    "ours-contact-stick",
    "ours-contact-impact",
    "ours-contact-order",
    "ours-loop-gap",
];

#[test]
fn exact_experiments_pass_and_leave_numbers_pages_and_drawings() {
    let folder = Folder::new("experiments");
    let output = folder.run(&format!("experiment {} --quick --out out", EXACT.join(" ")));
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}");
    let files = folder.list("out");
    for name in EXACT {
        let numbers = folder.json(&format!("out/{name}.json"));
        assert_eq!(numbers["passed"], true, "{name}");
        assert!(numbers["checks"].as_array().is_some_and(|checks| !checks.is_empty()), "{name}");
        assert!(files.contains(&format!("{name}.html")), "{files:?}");
    }
    assert!(files.contains(&"index.html".to_owned()));
    assert!(files.contains(&"fan-order-1.svg".to_owned()));
}

#[test]
fn an_unknown_experiment_is_refused_with_the_nearest_name() {
    let output = Folder::new("experiment-unknown").run("experiment bruedigam-4x");
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("did you mean `bruedigam-4"), "{text}");
}

#[test]
fn the_list_names_every_experiment_once() {
    let output = Folder::new("experiment-list").succeed("experiment list --json");
    let value: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut names: Vec<&str> =
        value["experiments"].as_array().unwrap().iter().map(|e| e["name"].as_str().unwrap()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(EXACT.iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn times_are_compared_with_earlier_ones() {
    let folder = Folder::new("bench-compare");
    let line = r#"{"variant":"rk4","model":"chain2","n":2,"dt":0.001,"us":1e9}"#;
    std::fs::write(folder.path().join("old.json"), line).unwrap();
    let bench = "bench step @double-pendulum --integrator rk4 --steps 10 --repeat 1 --compare old.json";
    folder.succeed(bench);
    std::fs::write(folder.path().join("old.json"), line.replace("1e9", "1e-9")).unwrap();
    assert_eq!(folder.run(bench).status.code(), Some(1));
}
