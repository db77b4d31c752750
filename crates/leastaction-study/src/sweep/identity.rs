//! What a sweep is, for other processes and other days: one text that holds everything, and how two of them differ.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use leastaction::io::{Reading, write_atomically};
use leastaction::mechanism::{MechanismBuilder, ModelDescription};
use serde_json::{Value, json};

use super::file::Tables;
use super::fingerprint::fingerprint;
use super::load::{Asked, Sweep};
use crate::failure::Failure;
use crate::model::{self, Model};
use crate::settings::Settings;

/// The schema key of `sweep.json`.
const SCHEMA: &str = "leastaction/sweep/1";

impl Sweep {
    /// From the text of a `sweep.json`, which holds everything.
    ///
    /// # Errors
    /// If it was written by another version, or on a machine whose arithmetic differs.
    pub fn from_json(text: &str, path: &Path) -> Result<Self, Failure> {
        let bad = |what: &str| {
            Failure::new(format!("`{}` {what}", path.display()))
                .help("name a sweep file, or start the sweep anew")
        };
        let json: Value = serde_json::from_str(text).map_err(|_| bad("is not a sweep"))?;
        let said = |key: &str| json[key].as_str().ok_or_else(|| bad("is not a sweep"));
        if said("schema")? != SCHEMA {
            return Err(bad("is not a sweep"));
        }
        for (key, own) in [("version", env!("CARGO_PKG_VERSION")), ("fingerprint", fingerprint())] {
            let theirs = said(key)?;
            if theirs != own {
                return Err(Failure::new(format!(
                    "the sweep was begun with {key} `{theirs}`, this program has `{own}`: their digits differ"
                ))
                .help("compute all of it with one build of leastaction")
                .of_family("FingerprintMismatch"));
            }
        }
        let description: ModelDescription =
            serde_json::from_value(json["model"].clone()).map_err(|_| bad("holds no model"))?;
        let built = MechanismBuilder::from(description.clone())
            .build()
            .map_err(|error| Failure::from_error(&error))?;
        let files: BTreeMap<String, String> =
            serde_json::from_value(json["files"].clone()).unwrap_or_default();
        let folder = unpack(said("hash")?, &files)?;
        let model =
            Model { slug: said("name")?.to_owned(), description, reading: Reading::default(), case: None };
        let place = folder.join("sweep.toml");
        let sweep = Self::assemble(said("scenario")?, &place, Asked::default(), Some((model, built)))?;
        if sweep.hash() != said("hash")? {
            return Err(bad("does not come to the hash it carries"));
        }
        Ok(sweep)
    }

    /// Everything about the sweep: what `sweep.json` holds, and what a worker elsewhere is given.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "name": self.name,
            "version": env!("CARGO_PKG_VERSION"),
            "fingerprint": fingerprint(),
            "model_hash": model::hash(&self.model.description),
            "hash": self.hash(),
            "runs": self.runs,
            "chunk": self.chunk,
            "chunks": self.chunks(),
            "scenario": self.scenario,
            "files": self.files,
            "model": self.model.description,
        })
    }

    /// The first key in which the sweep of a `sweep.json` differs from this one.
    #[must_use]
    pub fn difference(&self, other: &Value) -> Option<String> {
        let own = self.to_json();
        let parsed = |json: &Value| {
            let table: toml::Table = toml::from_str(json["scenario"].as_str()?).ok()?;
            Some(flat(&serde_json::to_value(table).ok()?))
        };
        for key in ["schema", "version", "model_hash"] {
            if own[key] != other[key] {
                return Some(if key == "model_hash" { "model".into() } else { key.into() });
            }
        }
        let (own_keys, other_keys) = (parsed(&own)?, parsed(other).unwrap_or_default());
        let all = own_keys.keys().chain(other_keys.keys());
        let mut differing: Vec<&String> =
            all.filter(|key| own_keys.get(*key) != other_keys.get(*key)).collect();
        differing.sort();
        match differing.first() {
            Some(key) => Some((*key).clone()),
            None => {
                ["fingerprint", "hash"].into_iter().find(|key| own[*key] != other[*key]).map(str::to_owned)
            }
        }
    }
}

/// Keys with dots and their values.
fn flat(value: &Value) -> BTreeMap<String, Value> {
    fn walk(above: &str, value: &Value, out: &mut BTreeMap<String, Value>) {
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                let dot = if above.is_empty() { "" } else { "." };
                walk(&format!("{above}{dot}{key}"), value, out);
            }),
            value => {
                out.insert(above.to_owned(), value.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk("", value, &mut out);
    out
}

/// The scenario as it counts: no folders, files by their content.
pub(super) fn portable(
    mut own: Settings,
    tables: &Tables,
    runs: u64,
    chunk: u64,
) -> Result<(String, BTreeMap<String, String>), Failure> {
    (own.model, own.out, own.force, own.checkpoint, own.report) = (None, None, None, None, None);
    own.package_path.clear();
    own.view = None;
    let mut files = BTreeMap::new();
    let mut pack = |path: &Path| -> Result<String, Failure> {
        let text = leastaction::io::read_text(path)
            .map_err(|error| Failure::caused_by(format!("can't read `{}`", path.display()), &error))?;
        let ending = path.extension().map_or("txt".into(), |e| e.to_string_lossy());
        let name = format!("{:016x}.{ending}", super::hash(text.as_bytes()));
        files.insert(name.clone(), text);
        Ok(name)
    };
    for path in [&mut own.inputs_file, &mut own.track, &mut own.policy].into_iter().flatten() {
        *path = PathBuf::from(pack(path)?);
    }
    for name in [&mut own.start, &mut own.hold].into_iter().flatten() {
        if Path::new(name.as_str()).is_file() {
            *name = pack(Path::new(name.as_str()))?;
        }
    }
    Ok((own.to_toml() + &tables.to_toml(runs, chunk), files))
}

/// Puts the files of a sweep from elsewhere into a folder; nothing is written where there are none.
fn unpack(hash: &str, files: &BTreeMap<String, String>) -> Result<PathBuf, Failure> {
    if files.is_empty() {
        return Ok(PathBuf::new());
    }
    let is_plain = |name: &str| {
        name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'_') && name != ".."
    };
    let folder = std::env::temp_dir().join(format!("leastaction-sweep-{hash}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::caused_by(format!("can't make the folder `{}`", folder.display()), &error)
    })?;
    for (name, text) in files {
        if !is_plain(name) || !is_plain(hash) {
            return Err(Failure::new(format!("`{name}` is no name of a file in a sweep")));
        }
        let path = folder.join(name);
        let there = std::fs::read_to_string(&path).is_ok_and(|there| there == *text);
        if !there {
            write_atomically(&path, text.as_bytes())
                .map_err(|error| Failure::caused_by(format!("can't write `{}`", path.display()), &error))?;
        }
    }
    Ok(folder)
}
