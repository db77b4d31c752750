//! Models by name: built-ins and files.

use std::path::Path;

use leastaction::io::{LoadOptions, Reading, UrdfOptions, load_model};
use leastaction::mechanism::{MODEL_SCHEMA, Mechanism, ModelDescription, samples};
use leastaction_golden::{GoldenCase, golden_model, read_golden};

use crate::failure::Failure;

/// A model that was read without errors.
#[derive(Clone, Debug)]
pub struct Model {
    /// A name for folders: `double-pendulum`, `panda`.
    pub slug: String,
    /// The model as data.
    pub description: ModelDescription,
    /// Texts and warnings.
    pub reading: Reading,
    /// The run that a reference data file describes.
    pub case: Option<GoldenCase>,
}

/// Reads a model, wrong or not.
pub fn read(name: &str, options: &UrdfOptions) -> Result<Reading, Failure> {
    if name.starts_with('@') {
        let description = samples::built_in(name).map_err(|message| {
            let stem = name.split('/').next().unwrap_or(name);
            let stems = samples::BUILT_IN.iter().map(|known| known.split('/').next().unwrap_or(known));
            let near = leastaction::mechanism::nearest(stem, stems);
            let near = near.filter(|near| *near != stem).and_then(|near| {
                samples::BUILT_IN.iter().find(|known| known.split('/').next() == Some(near))
            });
            let failure = Failure::new(message);
            match near {
                Some(near) => failure.help(format!("did you mean `{near}`?")),
                None => failure,
            }
        })?;
        return Ok(Reading { description: Some(description), ..Reading::default() });
    }
    let options = LoadOptions { urdf: options.clone(), adapter: Some(golden_model) };
    load_model(Path::new(name), &options).map_err(|error| Failure::from_error(&error).help(error.remedy()))
}

/// Reads and builds a model, or says everything that is wrong with it.
pub fn load(name: &str, options: &UrdfOptions) -> Result<(Model, Mechanism), Failure> {
    let mut reading = read(name, options)?;
    match (reading.build(), reading.description.clone()) {
        (Some(mechanism), Some(description)) => {
            let case = case_of(&reading);
            Ok((Model { slug: slug(name), description, reading, case }, mechanism))
        }
        _ => Err(Failure::new(format!("`{name}` can't be used")).with_diagnostics(reading.diagnostics)),
    }
}

/// The run of a reference data file.
fn case_of(reading: &Reading) -> Option<GoldenCase> {
    let text = reading.sources.text(0)?;
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    let schema = value.get("schema")?.as_str()?;
    if schema == MODEL_SCHEMA { None } else { read_golden(schema, &value)?.ok() }
}

/// A name for the folder of a model's results.
pub fn slug(name: &str) -> String {
    let stem = match name.strip_prefix('@') {
        Some(built_in) => built_in.replace('/', "-"),
        None => {
            Path::new(name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
        }
    };
    let clean = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' };
    let slug: String = stem.chars().map(clean).collect();
    if slug.trim_matches('.').is_empty() { "model".to_owned() } else { slug }
}

/// FNV-1a, 64 bits, of the model as compact JSON: two runs with one hash ran one model.
pub fn hash(description: &ModelDescription) -> String {
    let text = serde_json::to_vec(description).unwrap_or_default();
    let fnv = text.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{fnv:016x}")
}

/// A joint of the tree by name, or a failure that suggests one.
pub fn unknown_joint(mechanism: &Mechanism, name: &str) -> Failure {
    Failure::new(format!("there is no joint `{name}` in `{}`", mechanism.name()))
        .suggest(name, &moving_joints(mechanism))
}

/// Names of the joints of the tree that move.
pub fn moving_joints(mechanism: &Mechanism) -> Vec<&str> {
    let joints = mechanism.tree_joints().map(|id| mechanism.joint(id));
    joints.filter(|joint| joint.kind.nv() > 0).map(|joint| joint.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_named_after_models() {
        for (name, expected) in [
            ("@chain-xy/10", "chain-xy-10"),
            ("robots/panda v2.urdf", "panda-v2"),
            ("..", "model"),
            ("a/b.tar.xml", "b.tar"),
        ] {
            assert_eq!(slug(name), expected);
        }
    }

    #[test]
    fn the_hash_depends_on_the_model_only() {
        let hash_of = |n| hash(&samples::chain(n));
        assert_eq!(hash_of(3), hash_of(3));
        assert_ne!(hash_of(3), hash_of(4));
        let empty = ModelDescription::new("");
        assert_eq!(hash(&empty).len(), 16);
    }
}
