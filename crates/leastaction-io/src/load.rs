//! [`load_model`]: any model file, told apart by its name and content.

use std::io;
use std::path::{Path, PathBuf};

use super::findings::nearest;
use super::mjcf::{MjcfOptions, read_mjcf};
use super::repair::repair_inertias;
use super::text_file::{MAX_FILE_BYTES, how_to_lift, limit, read_bytes};
use super::{Diagnostic, Reading, SourceMap, UrdfOptions, read_model_json, read_sdf, read_urdf};
use crate::mechanism::{MODEL_SCHEMA, ModelDescription, Origin};

/// Turns a JSON file of a foreign schema into a model; `None` if it does not know the schema.
pub type Adapter =
    fn(schema: &str, value: &serde_json::Value) -> Option<Result<ModelDescription, Diagnostic>>;

/// What the readers of the different formats can't find in the files.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// For URDF.
    pub urdf: UrdfOptions,
    /// For JSON files that are not models of ours, such as reference data.
    pub adapter: Option<Adapter>,
}

/// Why a file did not even get as far as a reader.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file.
    #[error("there is no file `{}`", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
        /// A file of the same folder with a similar name.
        nearest: Option<String>,
    },
    /// The name is that of a folder.
    #[error("`{}` is a folder, not a file", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The system does not let us read the file.
    #[error("can't read `{}`", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("`{}` has {bytes} bytes or more: {}", path.display(), how_to_lift(limit(MAX_FILE_BYTES)))]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The file is not text.
    #[error("`{}` is not UTF-8 text: byte {offset} is 0x{byte:02x}", path.display())]
    NotUtf8 {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that is not part of a character.
        offset: usize,
        /// That byte.
        byte: u8,
    },
    /// Neither name nor content say what the file is.
    #[error("`{}` is neither URDF, MJCF, SDF nor JSON: it begins with `{start}`", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// Its first characters.
        start: String,
    },
}

impl LoadError {
    /// What to do about it.
    #[must_use]
    pub fn remedy(&self) -> String {
        match self {
            Self::NotFound { nearest: Some(name), .. } => format!("did you mean `{name}`?"),
            Self::NotFound { .. } => "check the path; a built-in model begins with `@`".into(),
            Self::Folder { .. } => "name a file in it: `.urdf`, `.xml` (MJCF), `.sdf` or `.json`".into(),
            Self::Unreadable { .. } => "check the permissions of the file".into(),
            Self::TooLarge { .. } => "keep meshes and logs in files of their own".into(),
            Self::NotUtf8 { .. } => "save the file as UTF-8; meshes are not models".into(),
            Self::UnknownFormat { .. } => {
                "give a URDF (`<robot>`), an MJCF (`<mujoco>`), an SDF (`<sdf>`) or a JSON model (`{ \"schema\": … }`)".into()
            }
        }
    }
}

/// Reads a model file: URDF or MJCF by its root element, JSON by its `schema`.
///
/// # Errors
/// If the file can't be read as text or is of no known kind. What is wrong inside it is in
/// [`Reading::diagnostics`].
pub fn load_model(path: &Path, options: &LoadOptions) -> Result<Reading, LoadError> {
    let mut reading = read_model(&model_text(path)?, path, options)?;
    if options.urdf.repair_inertia {
        repair_inertias(&mut reading);
    }
    Ok(reading)
}

/// Reads the text of a model file of any kind; `path` tells the kind where the text does not.
///
/// # Errors
/// If neither the text nor the path tell what kind of model it is.
pub fn read_model(text: &str, path: &Path, options: &LoadOptions) -> Result<Reading, LoadError> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let content = text.trim_start_matches(|c: char| c == '\u{feff}' || c.is_whitespace());
    let is_xml = match extension.as_str() {
        "urdf" | "xml" | "mjcf" | "xacro" | "sdf" => true,
        "json" => false,
        _ if content.starts_with('<') => true,
        _ if content.starts_with(['{', '[']) => false,
        _ => {
            let start = content.chars().take(20).map(|c| if c.is_control() { ' ' } else { c }).collect();
            return Err(LoadError::UnknownFormat { path: path.into(), start });
        }
    };
    if is_xml {
        return Ok(read_xml(text, path, options));
    }
    Ok(options
        .adapter
        .and_then(|adapter| read_foreign(text, path, adapter))
        .unwrap_or_else(|| read_model_json(text, path)))
}

/// The model of a JSON file of another schema; `None` if the adapter does not know it.
fn read_foreign(text: &str, path: &Path, adapter: Adapter) -> Option<Reading> {
    let schema = json_schema(text).filter(|schema| schema != MODEL_SCHEMA)?;
    let value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
    let model = adapter(&schema, &value)?;
    let mut sources = SourceMap::new();
    let file = sources.add(path, text);
    let (description, diagnostics) = match model {
        Ok(model) => (Some(model), Vec::new()),
        Err(fault) => {
            // These files are made by programs; the fault is shown where the file says what it is.
            let offset = text.find("\"schema\"").and_then(|at| u32::try_from(at).ok()).unwrap_or(0);
            let at = sources.locate(Some(Origin { file, offset }));
            (None, vec![fault.at(at)])
        }
    };
    Some(Reading { description, sources, diagnostics, ..Reading::default() })
}

/// XML formats are told apart by the root element.
fn read_xml(text: &str, path: &Path, options: &LoadOptions) -> Reading {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let root = root_element(text);
    if root == "sdf" || (extension == "sdf" && !matches!(root, "robot" | "mujoco")) {
        return read_sdf(text, path, &options.urdf);
    }
    let is_mjcf = match root {
        "mujoco" | "mujocoinclude" => true,
        "robot" => false,
        _ => matches!(extension.as_str(), "xml" | "mjcf"),
    };
    if is_mjcf {
        let (folders, view) = (options.urdf.search_paths.clone(), options.urdf.view);
        read_mjcf(text, path, &MjcfOptions { folders, view, ..MjcfOptions::default() })
    } else {
        read_urdf(text, path, &options.urdf)
    }
}

/// The name of the first element; empty if there is none.
fn root_element(mut text: &str) -> &str {
    while let Some(at) = text.find('<') {
        text = &text[at + 1..];
        let end = match text.as_bytes().first() {
            Some(b'!') if text.starts_with("!--") => "-->",
            Some(b'!' | b'?') => ">",
            _ => {
                return text
                    .split(|c: char| c.is_whitespace() || matches!(c, '>' | '/'))
                    .next()
                    .unwrap_or("");
            }
        };
        text = text.find(end).map_or("", |at| &text[at + end.len()..]);
    }
    ""
}

/// The `schema` of a JSON object; `None` if there is none or the text is not JSON.
fn json_schema(text: &str) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Head {
        schema: String,
    }
    serde_json::from_str::<Head>(text.trim_start_matches('\u{feff}')).ok().map(|head| head.schema)
}

/// The text of a model file.
fn model_text(path: &Path) -> Result<String, LoadError> {
    let meta = std::fs::metadata(path);
    if meta.as_ref().is_ok_and(std::fs::Metadata::is_dir) {
        return Err(LoadError::Folder { path: path.into() });
    }
    let bytes = read_bytes(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => LoadError::NotFound { path: path.into(), nearest: nearest_file(path) },
        io::ErrorKind::FileTooLarge => LoadError::TooLarge {
            path: path.into(),
            bytes: meta.map_or(0, |meta| meta.len()).max(limit(MAX_FILE_BYTES) + 1),
        },
        _ => LoadError::Unreadable { path: path.into(), source },
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let byte = error.as_bytes().get(offset).copied().unwrap_or(0);
        LoadError::NotUtf8 { path: path.into(), offset, byte }
    })
}

/// A model file of the same folder with a similar name.
fn nearest_file(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_string_lossy().into_owned();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .filter(|name| [".urdf", ".xml", ".mjcf", ".json"].iter().any(|e| name.ends_with(e)))
        .take(1000)
        .collect();
    names.sort();
    nearest(&wanted, names.iter().map(String::as_str)).map(str::to_owned)
}
