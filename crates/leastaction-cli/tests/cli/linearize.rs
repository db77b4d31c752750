//! `linearize`: what it computes, names and refuses.

use serde_json::{Value, json};

use crate::support::Folder;

fn printed(folder: &Folder, arguments: &str) -> Value {
    serde_json::from_slice(&folder.succeed(arguments).stdout).unwrap()
}

fn matrix(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

/// The numbers of an array in an archive that is stored without compression.
fn npy(archive: &[u8], name: &str) -> Vec<f64> {
    let find = |what: &[u8], from: usize| {
        from + archive[from..]
            .windows(what.len())
            .position(|w| w == what)
            .unwrap_or_else(|| panic!("no {name}"))
    };
    let start = find(b"\x93NUMPY", find(format!("{name}.npy").as_bytes(), 0));
    let header = usize::from(u16::from_le_bytes([archive[start + 8], archive[start + 9]]));
    let text = String::from_utf8_lossy(&archive[start + 10..start + 10 + header]).into_owned();
    let shape = text.split_once("'shape': (").unwrap().1.split_once(')').unwrap().0;
    let count: usize = shape.split(',').filter_map(|n| n.trim().parse::<usize>().ok()).product();
    archive[start + 10 + header..][..8 * count]
        .chunks_exact(8)
        .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

#[test]
fn rows_and_columns_have_names_and_the_half_that_was_asked_for() {
    let folder = Folder::new("linearize-names");
    let slope = printed(&folder, "linearize cart.json --at leaning --step 0.01 --order 4");
    assert_eq!(slope["schema"], "leastaction/linearization/1");
    assert_eq!((slope["step"].as_f64(), slope["order"].as_u64()), (Some(0.01), Some(4)));
    assert_eq!(slope["rows"], serde_json::json!(["q.rail", "q.hinge", "v.rail", "v.hinge"]));
    assert_eq!(slope["columns"]["A"], slope["rows"]);
    assert_eq!(slope["columns"]["B"], serde_json::json!(["u.push", "u.motor"]));
    let momenta = printed(&folder, "linearize cart.json --at leaning --step 0.01 --order 4 --coordinates qp");
    assert_eq!(momenta["rows"], serde_json::json!(["q.rail", "q.hinge", "p.rail", "p.hinge"]));
    let (a, b) = (matrix(&momenta["A"]), matrix(&momenta["B"]));
    assert_eq!((a.len(), a[0].len(), b.len(), b[0].len()), (4, 4, 4, 2));
    // The rail's coordinate appears nowhere: a shift along it stays, and the total momentum changes by the push alone.
    assert_eq!([a[0][0], a[1][0], a[2][0], a[3][0]], [1.0, 0.0, 0.0, 0.0]);
    assert!((a[2][2] - 1.0).abs() < 1e-14 && (b[2][0] - 0.01).abs() < 1e-15, "{a:?} {b:?}");
    // Symplectic in positions and momenta.
    for i in 0..4 {
        for j in 0..4 {
            let form: f64 = (0..2).map(|k| a[k][i] * a[k + 2][j] - a[k + 2][i] * a[k][j]).sum();
            let exact = f64::from(i8::from(i + 2 == j) - i8::from(j + 2 == i));
            assert!((form - exact).abs() < 1e-12, "({i}, {j}): {form}");
        }
    }
}

#[test]
fn velocities_and_inputs_have_the_slope_of_simulated_steps() {
    let folder = Folder::new("linearize-slope");
    let slope = printed(&folder, "linearize cart.json --at leaning --step 0.02 --order 4");
    let (a, b) = (matrix(&slope["A"]), matrix(&slope["B"]));
    let step = |flags: &str| -> Vec<f64> {
        let run =
            "simulate cart.json --start leaning --integrator minimal --order 4 --step 0.02 --duration 0.02";
        folder.succeed(&format!("{run} --tolerance 1e-15 --limits off --no-report --out run {flags}"));
        let state = folder.json("run/state.json");
        let number = |half: &str, joint: &str| state[half][joint].as_f64().unwrap();
        vec![number("q", "rail"), number("q", "hinge"), number("v", "rail"), number("v", "hinge")]
    };
    let eps = 1e-4;
    let difference = |plus: &str, minus: &str| -> Vec<f64> {
        let (plus, minus) = (step(plus), step(minus));
        plus.iter().zip(&minus).map(|(x, y)| (x - y) / (2.0 * eps)).collect()
    };
    let cases = [
        (difference("--q hinge=0.5001", "--q hinge=0.4999"), (0..4).map(|i| a[i][1]).collect::<Vec<_>>()),
        (difference("--v rail=0.2001", "--v rail=0.1999"), (0..4).map(|i| a[i][2]).collect()),
        (difference("--v hinge=0.0001", "--v hinge=-0.0001"), (0..4).map(|i| a[i][3]).collect()),
        (difference("--input push=0.0001", "--input push=-0.0001"), (0..4).map(|i| b[i][0]).collect()),
        (difference("--input motor=0.0001", "--input motor=-0.0001"), (0..4).map(|i| b[i][1]).collect()),
    ];
    for (k, (found, exact)) in cases.iter().enumerate() {
        for (found, exact) in found.iter().zip(exact) {
            assert!((found - exact).abs() < 1e-7, "case {k}: {found} {exact}");
        }
    }
}

#[test]
fn files_hold_what_the_screen_shows() {
    let folder = Folder::new("linearize-files");
    let verb = "linearize cart.json --order 2 --coordinates qp";
    let shown = printed(&folder, verb);
    folder.succeed(&format!("{verb} --out slope.json"));
    assert_eq!(folder.json("slope.json"), shown);
    folder.succeed(&format!("{verb} --out slope.npz"));
    let archive = folder.read("slope.npz");
    assert_eq!(npy(&archive, "A"), matrix(&shown["A"]).concat());
    assert_eq!(npy(&archive, "B"), matrix(&shown["B"]).concat());
    for label in ["states", "inputs"] {
        let name = format!("{label}.npy");
        assert!(archive.windows(name.len()).any(|w| w == name.as_bytes()), "no {label}");
    }
    let said: Value =
        serde_json::from_slice(&folder.succeed(&format!("{verb} --json --out s.npz")).stdout).unwrap();
    assert_eq!(said["out"], "s.npz");
}

#[test]
fn the_state_of_a_run_is_where_it_is_linearized() {
    let folder = Folder::new("linearize-at");
    folder.succeed("simulate @chain/3 --duration 0.5 --no-report --out run");
    let at = |state: &str| matrix(&printed(&folder, &format!("linearize @chain/3 --at {state}"))["A"]);
    let run = at("run/state.json");
    let start = matrix(&printed(&folder, "linearize @chain/3")["A"]);
    assert!(run[5][0] != start[5][0]);
    // Positions change by the step times the velocity, to first order.
    assert!((run[0][3] - 0.005).abs() < 1e-5);
}

#[test]
fn what_cannot_be_linearized_is_refused_with_a_remedy() {
    let folder = Folder::new("linearize-refused");
    for (arguments, said) in [
        ("linearize cart.json --at nowhere", "neither a file nor a state of the model"),
        ("linearize cart.json --order 3", "take an even number"),
        ("linearize cart.json --step 0", "greater than 0"),
        ("linearize cart.json --coordinates pq", "qp"),
        ("linearize @four-bar --integrator minimal", "loop"),
        ("linearize cart.json --integrator rk4", "minimal"),
        (
            "linearize @ball-chain/2 --v joint0=3,9,1 --v joint1=-2,5,1 --gravity 0,0,0 --step 0.4",
            "smaller step",
        ),
        ("linearize cart.json --out no/folder/slope.npz", "no/folder/slope.npz"),
    ] {
        let output = folder.run(arguments);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {text}");
        assert!(text.contains(said), "{arguments}: {text}");
    }
}

#[test]
fn parameters_of_the_model_are_further_columns_by_name() {
    let folder = Folder::new("linearize-parameters");
    let slope = printed(&folder, "linearize @chain/2 --step 0.01 --parameters mass,com.link1");
    let names = ["mass.link0", "mass.link1", "com.link1.x", "com.link1.y", "com.link1.z"];
    assert_eq!(slope["columns"]["C"], serde_json::json!(names));
    let c = matrix(&slope["C"]);
    assert_eq!((c.len(), c[0].len()), (4, 5));
    // A pendulum falls as fast with any mass; of two, it does not.
    assert!(c[2][0].abs() > 1e-6, "{c:?}");
    assert!(printed(&folder, "linearize @chain/2 --step 0.01")["C"].is_null());
    let refused = folder.run("linearize @chain/2 --parameters mas.link0");
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("`mass.link0`"), "{error}");
}

#[test]
fn contact_is_in_the_derivative_and_may_be_relaxed() {
    let folder = Folder::new("linearize-contact");
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/slope-block.json");
    let exact = printed(&folder, &format!("linearize {model} --step 0.01"));
    assert_eq!(exact["contact"]["derivative"], "exact");
    // Stuck: whatever the velocity was, it is gone.
    let a = matrix(&exact["A"]);
    assert!(a[6..].iter().all(|row| row[6..].iter().all(|x| x.abs() < 1e-9)), "{a:?}");
    let relaxed = printed(&folder, &format!("linearize {model} --step 0.01 --relaxed"));
    assert_eq!(
        (&relaxed["contact"]["derivative"], &relaxed["contact"]["speed"]),
        (&json!("relaxed"), &json!(0.01))
    );
    let near = matrix(&printed(&folder, &format!("linearize {model} --step 0.01 --relaxed 1e-4"))["A"]);
    let distance = |b: &[Vec<f64>]| {
        a[6..]
            .iter()
            .zip(&b[6..])
            .flat_map(|(a, b)| a[6..].iter().zip(&b[6..]))
            .fold(0.0f64, |m, (a, b)| m.max((a - b).abs()))
    };
    assert!(
        distance(&near) < 0.1 * distance(&matrix(&relaxed["A"])),
        "a slower path is nearer to the exact law"
    );
    let refused = folder.run("linearize cart.json --relaxed");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("nothing to relax"));
}
