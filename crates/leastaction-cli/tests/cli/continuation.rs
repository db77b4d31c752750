//! `state.json` continues bit for bit.

use super::support::Folder;

/// Integrators with their orders, and a model for each.
const RUNS: [(&str, &str); 7] = [
    ("rk4", "@ball-chain/2"),
    ("semi-implicit", "@chain-xy/3"),
    ("dop853", "@chain/2"),
    ("minimal --order 2", "@chain-xy/3"),
    ("minimal --order 4", "@ball-chain/2"),
    ("maximal", "@four-bar"),
    ("maximal --order 4", "@chain/2"),
];

#[test]
fn fifty_and_fifty_steps_are_a_hundred_for_every_integrator() {
    let folder = Folder::new("continue");
    for (integrator, model) in RUNS {
        let common = format!("simulate {model} --integrator {integrator} --step 0.003 --no-report --force");
        folder.succeed(&format!("{common} --duration 0.3 --out whole"));
        folder.succeed(&format!("{common} --duration 0.15 --out first"));
        folder.succeed(&format!("{common} --duration 0.15 --start first/state.json --out second"));
        assert!(folder.read("whole/state.json") == folder.read("second/state.json"), "{integrator}: state");
        let lines = |out: &str| -> Vec<String> {
            let text = String::from_utf8(folder.read(&format!("{out}/trajectory.csv"))).unwrap();
            text.lines().skip(1).map(without_iterations).collect()
        };
        let (whole, first, second) = (lines("whole"), lines("first"), lines("second"));
        assert_eq!((whole.len(), first.len(), second.len()), (101, 51, 51));
        assert_eq!(whole[..51], first[..], "{integrator}: first half");
        assert_eq!(whole[50..], second[..], "{integrator}: second half");
    }
}

/// The first row of a run has no step that led to it.
fn without_iterations(line: &str) -> String {
    line.rsplit_once(',').map_or(line, |(rest, _)| rest).to_owned()
}

#[test]
fn a_state_of_another_model_is_refused() {
    let folder = Folder::new("foreign");
    folder.succeed("simulate @chain/2 --integrator rk4 --duration 0.1 --no-report --out out");
    let output = folder.run("simulate cart.json --integrator rk4 --start out/state.json");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("joint `joint0` does not exist"), "{text}");
}

/// The state of a run with its joint put elsewhere: the numbers that the engine continued from belong to another motion.
#[test]
fn a_state_that_was_changed_starts_from_what_it_says_and_says_so() {
    let folder = Folder::new("changed");
    for integrator in ["minimal", "maximal"] {
        let common = format!("simulate @double-pendulum --integrator {integrator} --no-report");
        folder.succeed(&format!("{common} --duration 0.5 --out first"));
        let mut state = folder.json("first/state.json");
        state["q"] = serde_json::json!({"joint0": 0.1, "joint1": 0.0});
        state["v"] = serde_json::json!({"joint0": 0.0, "joint1": 0.0});
        std::fs::write(folder.path().join("changed.json"), state.to_string()).unwrap();
        let done = folder.succeed(&format!("{common} --duration 0.005 --start changed.json --out second"));
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(said.contains("the warm part of the state does not belong to them"), "{said}");
        assert_eq!(folder.json("second/summary.json")["warm_start_dropped"], true);
        let table = String::from_utf8(folder.read("second/trajectory.csv")).unwrap();
        let first: Vec<f64> =
            table.lines().nth(1).unwrap().split(',').take(5).map(|x| x.parse().unwrap()).collect();
        for (found, wanted) in first[1..].iter().zip([0.1, 0.0, 0.0, 0.0]) {
            assert!((found - wanted).abs() < 1e-12, "{integrator}: {first:?}");
        }
    }
}
