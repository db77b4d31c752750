//! Reference data: every expected number of every file is compared, or the run fails.
//!
//! `cargo test --release -p leastaction golden -- --nocapture` prints one line per quantity. The folder is
//! `tests/golden`, or what `LEASTACTION_GOLDEN` names. Each schema has a checker; a checker marks what it reads as
//! input, compares what is expected, and leaves nothing unread.

mod bspline;
mod comprehensive;
mod contact;
mod contact_derivative;
mod highorder;
mod joints;
mod maximal;
mod minimal;
mod optimization;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Keys whose numbers are never compared: information about how the data was made.
const INFORMATIVE: [&str; 15] = [
    "newton_iterations",
    "worst_residual",
    "projected_gradient_max",
    "kkt_residual_rel",
    "inverse_l1_error",
    "scaled_singular_values",
    "provenance",
    "tolerance",
    "column_order",
    "max_violation",
    "description",
    "note",
    "name",
    "schema",
    "redundant_constraints",
];

/// One checker per schema: one line each.
type Checker = fn(&mut Golden);
const CHECKERS: &[(&str, Checker)] = &[
    // one line each
    ("leastaction/bspline/1", bspline::check),
    ("leastaction/comprehensive/1", comprehensive::check),
    ("leastaction/contact/1", contact::check),
    ("leastaction/contact_derivative/1", contact_derivative::check),
    ("leastaction/highorder/1", highorder::check),
    ("leastaction/joints/1", joints::check),
    ("leastaction/joints-linearization/1", joints::check_linearization),
    ("leastaction/maximal/1", maximal::check),
    ("leastaction/minimal-variational/1", minimal::check),
    ("leastaction/lobatto/1", minimal::check_lobatto),
    ("leastaction/optimization/1", optimization::check),
];

/// Schemas whose engine is not there yet: printed, not compared.
const PENDING: &[(&str, &str)] = &[
    // one line each
];

/// One reference file and what has been compared of it.
pub(crate) struct Golden {
    pub(crate) file: String,
    pub(crate) value: Value,
    /// Pointers (and all below them) that were read or compared.
    read: Vec<String>,
    /// The part of `read` that was compared.
    compared: Vec<String>,
    /// Quantity → worst error, tolerance, at the worst ratio.
    results: BTreeMap<String, (f64, f64)>,
    failures: Vec<String>,
    unchecked: Vec<String>,
}

impl Golden {
    fn new(file: String, value: Value) -> Self {
        Self {
            file,
            value,
            read: Vec::new(),
            compared: Vec::new(),
            results: BTreeMap::new(),
            failures: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    /// Marks everything below `pointer` as input (model, initial state, parameters).
    pub(crate) fn input(&mut self, pointer: impl Into<String>) {
        self.read.push(pointer.into());
    }

    /// Marks everything below `pointer` as waiting for an engine.
    pub(crate) fn not_checked(&mut self, quantity: &str, pointer: impl Into<String>, engine: &str) {
        self.read.push(pointer.into());
        let line = format!("golden {} {quantity} not checked: needs {engine}", self.file);
        if !self.unchecked.contains(&line) {
            self.unchecked.push(line);
        }
    }

    /// All numbers at `pointer`, in order; nested lists and objects flattened.
    pub(crate) fn numbers(&self, pointer: &str) -> Vec<f64> {
        let mut out = Vec::new();
        let value = self.value.pointer(pointer).unwrap_or_else(|| panic!("{}: no {pointer}", self.file));
        flatten(value, &mut out);
        out
    }

    /// Compares all numbers at `pointer` with `computed`: largest absolute difference against `tolerance`.
    pub(crate) fn compare(&mut self, quantity: &str, pointer: &str, computed: &[f64], tolerance: f64) {
        let expected = self.numbers(pointer);
        self.read.push(pointer.to_owned());
        self.compared.push(pointer.to_owned());
        if expected.len() != computed.len() {
            let message =
                format!("{pointer}: {} numbers expected, {} computed", expected.len(), computed.len());
            self.failures.push(message);
            return;
        }
        // A NaN must not pass: `!(x <= y)`.
        let worst = expected
            .iter()
            .zip(computed)
            .map(|(e, c)| (e - c).abs())
            .fold(0.0, |m: f64, d| if d > m || d.is_nan() { d } else { m });
        let entry = self.results.entry(quantity.to_owned()).or_insert((0.0, tolerance));
        if worst.is_nan() || worst / tolerance >= entry.0 / entry.1 {
            *entry = (worst, tolerance);
        }
        if worst.is_nan() || worst > tolerance {
            self.failures.push(format!("{pointer}: worst {worst:.3e} exceeds {tolerance:.1e}"));
        }
    }

    /// Fails the file with a sentence.
    pub(crate) fn fail(&mut self, message: impl Into<String>) {
        self.failures.push(message.into());
    }

    /// Number leaves that nobody read.
    fn unread(&self) -> Vec<String> {
        let mut leaves = Vec::new();
        number_leaves(&self.value, String::new(), &mut leaves);
        leaves
            .into_iter()
            .filter(|leaf| !leaf.split('/').any(|key| INFORMATIVE.contains(&key)))
            .filter(|leaf| !covered(leaf, &self.read))
            .collect()
    }
}

/// True if `leaf` is one of `pointers` or below one of them.
fn covered(leaf: &str, pointers: &[String]) -> bool {
    pointers
        .iter()
        .any(|p| leaf.strip_prefix(p.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Largest magnitude, at least `floor`.
pub(crate) fn scale(values: &[f64], floor: f64) -> f64 {
    values.iter().fold(floor, |m, x| m.max(x.abs()))
}

fn flatten(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Number(x) => out.push(x.as_f64().unwrap_or(f64::NAN)),
        Value::Array(items) => items.iter().for_each(|item| flatten(item, out)),
        Value::Object(items) => items.values().for_each(|item| flatten(item, out)),
        _ => {}
    }
}

fn number_leaves(value: &Value, path: String, out: &mut Vec<String>) {
    match value {
        Value::Number(_) => out.push(path),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| number_leaves(item, format!("{path}/{i}"), out));
        }
        Value::Object(items) => {
            items.iter().for_each(|(key, item)| number_leaves(item, format!("{path}/{key}"), out));
        }
        _ => {}
    }
}

fn folder() -> PathBuf {
    std::env::var_os("LEASTACTION_GOLDEN")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden"), PathBuf::from)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    files
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Runs the checker of a value; returns the printed lines and the failures.
fn check(file: String, value: Value) -> (Vec<String>, Vec<String>) {
    let schema = value["schema"].as_str().unwrap_or("").to_owned();
    let mut golden = Golden::new(file, value);
    match CHECKERS.iter().find(|(name, _)| *name == schema) {
        None if PENDING.iter().any(|(name, _)| *name == schema) => {
            let engine = PENDING.iter().find(|(name, _)| *name == schema).map_or("", |p| p.1);
            golden.not_checked("everything", "", engine);
        }
        None => golden.fail(format!("unknown schema `{schema}`")),
        Some((_, checker)) => {
            checker(&mut golden);
            for leaf in golden.unread().iter().take(5) {
                golden.fail(format!("{leaf}: expected number was not read"));
            }
        }
    }
    let file = &golden.file;
    let mut lines: Vec<String> = golden
        .results
        .iter()
        .map(|(quantity, (worst, tol))| format!("golden {file} {quantity} worst={worst:.3e} tol={tol:.1e}"))
        .collect();
    lines.extend(golden.unchecked);
    (lines, golden.failures.iter().map(|f| format!("{file} {f}")).collect())
}

#[test]
fn golden_files_are_reproduced() {
    let folder = folder();
    let files = files(&folder);
    assert!(!files.is_empty(), "no reference files in {}", folder.display());
    let mut failures = Vec::new();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (lines, failed) = check(name, read(&path));
        lines.iter().for_each(|line| println!("{line}"));
        failures.extend(failed);
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
}

/// Pointers of all compared numbers of a value, by the key under which they stand.
fn compared_leaves(value: &Value) -> BTreeMap<String, Vec<String>> {
    let schema = value["schema"].as_str().unwrap_or("");
    let Some((_, checker)) = CHECKERS.iter().find(|(name, _)| *name == schema) else {
        return BTreeMap::new();
    };
    let mut golden = Golden::new(String::new(), value.clone());
    checker(&mut golden);
    let mut leaves = Vec::new();
    number_leaves(value, String::new(), &mut leaves);
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for leaf in leaves {
        if !covered(&leaf, &golden.compared) {
            continue;
        }
        // The kind is the path without its indices.
        let kind: Vec<&str> = leaf.split('/').filter(|key| key.parse::<usize>().is_err()).collect();
        kinds.entry(kind.join("/")).or_default().push(leaf);
    }
    kinds
}

/// Largest entry of the Jacobian that a number stands in, at least one: derivatives are compared relative to it.
fn matrix_size(value: &Value, leaf: &str) -> f64 {
    let Some((matrix, _)) = leaf.split_once("/jacobian/") else { return 1.0 };
    let mut leaves = Vec::new();
    let rows = value.pointer(&format!("{matrix}/jacobian")).cloned().unwrap_or_default();
    number_leaves(&rows, String::new(), &mut leaves);
    let entries = leaves.iter().filter_map(|leaf| rows.pointer(leaf)?.as_f64());
    entries.fold(1.0, |size: f64, x| size.max(x.abs()))
}

#[test]
fn golden_harness_notices_one_changed_number_of_each_kind() {
    let mut seen = 0;
    for path in files(&folder()) {
        let value = read(&path);
        for (kind, leaves) in compared_leaves(&value) {
            // The middle one: neither a leading zero nor a trailing one.
            let leaf = &leaves[leaves.len() / 2];
            let size = matrix_size(&value, leaf);
            let mut changed = value.clone();
            let number = changed.pointer_mut(leaf).expect("leaf exists");
            let x = number.as_f64().unwrap_or(0.0);
            *number = Value::from(x + 1e-5 * x.abs().max(size));
            let outcome = std::panic::catch_unwind(|| check("changed".into(), changed));
            let noticed = outcome.map_or(true, |(_, failures)| !failures.is_empty());
            assert!(noticed, "{}: changing {leaf} ({kind}) goes unnoticed", path.display());
            seen += 1;
        }
    }
    assert!(seen > 0 || CHECKERS.is_empty());
}

#[test]
fn golden_harness_fails_on_an_unknown_schema() {
    let (_, failures) = check("x".into(), serde_json::json!({"schema": "nobody/1", "x": 1.0}));
    assert!(!failures.is_empty());
}
