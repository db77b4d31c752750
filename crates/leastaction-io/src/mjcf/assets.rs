//! Materials and meshes, as far as drawing needs them.

use std::collections::HashMap;

use super::document::Document;
use super::settings::{Settings, parse_array};

/// A mesh file.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    pub(super) file: String,
    pub(super) scale: [f64; 3],
}

/// Colours by material, files by mesh.
#[derive(Debug, Default)]
pub(super) struct Assets {
    pub(super) colours: HashMap<String, Option<[f64; 4]>>,
    pub(super) meshes: HashMap<String, Mesh>,
}

impl Assets {
    /// Reads all `asset` sections.
    pub(super) fn read(document: &Document, settings: &Settings) -> Self {
        let mut assets = Self::default();
        let sections = document.elements[0].children.iter().map(|id| &document.elements[*id]);
        for section in sections.filter(|s| s.tag == "asset") {
            for element in section.children.iter().map(|id| &document.elements[*id]) {
                match element.tag.as_str() {
                    "material" => {
                        if let Some(name) = element.text("name") {
                            let colour = element.text("rgba").and_then(parse_array);
                            assets.colours.insert(name.to_owned(), colour);
                        }
                    }
                    "mesh" => {
                        let file = element.text("file").unwrap_or("");
                        let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
                        // A mesh without a name is called like its file.
                        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
                        let name = element.text("name").unwrap_or(stem);
                        let file = if settings.strip_path { last } else { file };
                        let directory = settings.mesh_directory.trim_end_matches('/');
                        let file = if directory.is_empty() || file.starts_with('/') {
                            file.to_owned()
                        } else {
                            format!("{directory}/{file}")
                        };
                        let scale = element.text("scale").and_then(parse_array).unwrap_or([1.0; 3]);
                        assets.meshes.insert(name.to_owned(), Mesh { file, scale });
                    }
                    _ => {}
                }
            }
        }
        assets
    }
}
