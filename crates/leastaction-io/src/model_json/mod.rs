//! Our model format `leastaction/model/1`: JSON, published as `docs/schema/model-1.schema.json`.
//!
//! A text goes through three steps: a parser that keeps places ([`super::json`]), a walk along the [shape](shape) of
//! the format that reports every wrong key, type and length at once, and `serde`, which fills the description. What
//! the numbers mean (masses, references, axes) is checked later by the builder, for every format alike.

mod shape;
mod walk;

use std::path::Path;

use super::findings::{Findings, nearest};
use super::json::{self, Tree, Value};
use super::{Reading, SourceMap};
use crate::mechanism::{MODEL_SCHEMA, ModelDescription};

/// Reads the text of a model file. `path` is used in messages only.
///
/// All problems are reported at once; the description is there if none of them is an error.
#[must_use]
pub fn read_model_json(text: &str, path: &Path) -> Reading {
    let mut sources = SourceMap::new();
    let file = sources.add(path, text);
    let mut findings = Findings::new(text, file);
    let description = json::parse(&mut findings).and_then(|tree| read_tree(&tree, &mut findings));
    let diagnostics = findings.into_diagnostics(&sources);
    Reading { description, sources, diagnostics, ..Reading::default() }
}

/// Writes a model. Keys keep the order of the format, floats read back to the same bits.
#[must_use]
pub fn write_model_json(model: &ModelDescription) -> String {
    // Only maps with keys that are not text can fail, and the format has none.
    let mut text = serde_json::to_string_pretty(model).unwrap_or_default();
    text = with_short_lists_on_one_line(&text);
    text.push('\n');
    text
}

fn read_tree<'t>(tree: &Tree<'t>, findings: &mut Findings<'t>) -> Option<ModelDescription> {
    if !check_schema(tree, findings) {
        return None;
    }
    walk::check(tree, findings);
    if findings.problems.has_errors() {
        return None;
    }
    let text = findings.text().trim_start_matches('\u{feff}');
    match serde_json::from_str::<ModelDescription>(text) {
        Ok(mut model) => {
            set_origins(tree, findings, &mut model);
            Some(model)
        }
        Err(error) => {
            // The walk is meant to find everything; this is the net below it.
            let message = format!("the model does not have the form of {MODEL_SCHEMA}: {error}");
            findings.error(0, "model", message, "compare it with docs/schema/model-1.schema.json");
            None
        }
    }
}

/// True if the file says that it is a model of ours.
fn check_schema(tree: &Tree<'_>, findings: &mut Findings<'_>) -> bool {
    let Some(root) = tree.nodes.first() else { return false };
    if root.value != Value::Object {
        let message = format!("the file holds {}, a model is an object", root.value.describe());
        findings.error(
            root.at,
            "model",
            message,
            "a model file begins with `{\"schema\": \"leastaction/model/1\"`",
        );
        return false;
    }
    let Some(schema) = tree.member(0, "schema") else {
        let keys = root.children.iter().filter_map(|c| tree.nodes[*c].key.as_ref());
        let meant = nearest("schema", keys.map(|(key, _)| key.as_ref()));
        let instead = meant.map_or(String::new(), |key| format!(" instead of `{key}`"));
        let remedy = format!("write `\"schema\": \"{MODEL_SCHEMA}\"`{instead} first");
        findings.error(root.at, "model", "the key `schema` is missing: what is this file?", remedy);
        return false;
    };
    let node = &tree.nodes[schema];
    if node.value == Value::Text(MODEL_SCHEMA.into()) {
        return true;
    }
    let message = format!("`schema` is {}, which is not a model format", node.value.describe());
    let remedy = match &node.value {
        Value::Text(text) if text.starts_with("leastaction/state/") => {
            "this is a state: give it with its model".into()
        }
        _ => format!("write `\"schema\": \"{MODEL_SCHEMA}\"`"),
    };
    findings.error(node.at, "`schema`", message, remedy);
    false
}

/// Gives bodies, joints and couplings their places.
fn set_origins(tree: &Tree<'_>, findings: &Findings<'_>, model: &mut ModelDescription) {
    let places = |list: &str| -> Vec<usize> {
        let children = tree.member(0, list).map(|l| tree.nodes[l].children.as_slice()).unwrap_or_default();
        // The name shows better in an excerpt than the brace before it.
        let place = |c: &usize| {
            let named = tree.member(*c, "name").or(tree.member(*c, "input"));
            named.or(tree.member(*c, "link")).or(tree.member(*c, "normal")).unwrap_or(*c)
        };
        children
            .iter()
            .map(place)
            .map(|n| tree.nodes[n].key.as_ref().map_or(tree.nodes[n].at, |k| k.1))
            .collect()
    };
    for (body, at) in model.bodies.iter_mut().zip(places("bodies")) {
        body.origin = findings.origin(at);
    }
    for (joint, at) in model.joints.iter_mut().zip(places("joints")) {
        joint.origin = findings.origin(at);
    }
    for (law, at) in model.laws.iter_mut().zip(places("laws")) {
        law.origin = findings.origin(at);
    }
    for (motion, at) in model.motions.iter_mut().zip(places("motions")) {
        motion.origin = findings.origin(at);
    }
    for (coupling, at) in model.couplings.iter_mut().zip(places("couplings")) {
        coupling.origin = findings.origin(at);
    }
    if let Some(node) = tree.member(0, "contact") {
        let at = tree.nodes[node].key.as_ref().map_or(tree.nodes[node].at, |key| key.1);
        model.contact.origin = findings.origin(at);
    }
    for (surface, at) in model.surfaces.iter_mut().zip(places("surfaces")) {
        surface.origin = findings.origin(at);
    }
    for (half_space, at) in model.half_spaces.iter_mut().zip(places("half_spaces")) {
        half_space.origin = findings.origin(at);
    }
    for (tendon, at) in model.tendons.iter_mut().zip(places("tendons")) {
        tendon.origin = findings.origin(at);
    }
}

/// Joins the lines of lists that hold nothing but numbers or texts: `"com": [0.0, 0.0, 0.5]`.
fn with_short_lists_on_one_line(pretty: &str) -> String {
    let mut out = String::with_capacity(pretty.len());
    let mut lines = pretty.lines().peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if line.ends_with('[') {
            let rest = lines.clone();
            let plain = rest.clone().take_while(|l| !l.trim_start().starts_with(']'));
            // Strings of the pretty form hold no line breaks, and a line that opens or closes something ends so.
            let nested = plain.clone().any(|l| l.trim_start().starts_with(['{', '[', '}']));
            if !nested {
                let entries: Vec<&str> = plain.map(str::trim).collect();
                out.push_str(&entries.join(" "));
                for _ in 0..entries.len() {
                    lines.next();
                }
                if let Some(end) = lines.next() {
                    out.push_str(end.trim_start());
                }
            }
        }
        if lines.peek().is_some() {
            out.push('\n');
        }
    }
    out
}
