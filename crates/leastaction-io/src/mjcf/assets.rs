//! Materials and meshes: what drawing needs of them, and the mass of what a mesh encloses.

use std::collections::HashMap;
use std::path::Path;

use super::defaults::Defaults;
use super::document::{Document, Element};
use super::settings::{Settings, parse_array, parse_numbers};
use crate::frames::{IDENTITY, Quaternion, conjugate, rotate, sub, unit_quaternion};
use crate::masses::MassProperties;
use crate::mechanism::Placement;
use crate::mesh::{Mesh, MeshInertia};

/// A mesh of the assets.
#[derive(Clone, Debug)]
pub(super) struct MeshAsset {
    pub(super) file: String,
    pub(super) scale: [f64; 3],
    inertia: String,
    /// Where the frame of the file's vertices is taken to be: they are moved by the inverse.
    reference: ([f64; 3], Quaternion),
    vertices: Vec<f64>,
    faces: Vec<f64>,
    /// Mass properties for density one, or why there are none; computed when first asked for.
    mass: Option<Result<MassProperties, String>>,
}

/// Colours by material, meshes by name.
#[derive(Debug, Default)]
pub(super) struct Assets {
    pub(super) colours: HashMap<String, Option<[f64; 4]>>,
    pub(super) meshes: HashMap<String, MeshAsset>,
}

impl Assets {
    /// Reads all `asset` sections.
    pub(super) fn read(document: &Document, settings: &Settings, defaults: &Defaults) -> Self {
        let mut assets = Self::default();
        let sections = document.elements[0].children.iter().map(|id| &document.elements[*id]);
        for section in sections.filter(|s| s.tag == "asset") {
            for id in &section.children {
                let element = &document.elements[*id];
                match element.tag.as_str() {
                    "material" => {
                        if let Some(name) = element.text("name") {
                            let colour = element.text("rgba").and_then(parse_array);
                            assets.colours.insert(name.to_owned(), colour);
                        }
                    }
                    "mesh" => {
                        let class = element.text("class").and_then(|name| defaults.find(name)).unwrap_or(0);
                        let inherited = defaults.chain(class, "mesh");
                        let say = |name: &str| {
                            let inherited =
                                || inherited.iter().find_map(|id| document.elements[*id].text(name));
                            element.text(name).or_else(inherited)
                        };
                        let settings = document.scope_of(*id).unwrap_or(settings);
                        let (name, mesh) = mesh(element, settings, say);
                        assets.meshes.insert(name, mesh);
                    }
                    _ => {}
                }
            }
        }
        assets
    }

    /// Mass properties of a mesh for density one, or what stands in the way, as a phrase after "would come from".
    pub(super) fn mass_of(&mut self, name: &str, folder: &Path) -> Result<MassProperties, String> {
        let Some(mesh) = self.meshes.get_mut(name) else {
            return Err(format!("the mesh `{name}`, which is not among the assets"));
        };
        if mesh.mass.is_none() {
            mesh.mass = Some(mesh.weigh(folder));
        }
        mesh.mass.clone().unwrap_or_else(|| Err("a mesh".into()))
    }
}

fn last_of(file: &str) -> &str {
    file.rsplit(['/', '\\']).next().unwrap_or(file)
}

/// A mesh without a name is called like its file.
pub(super) fn name_of(file: &str) -> &str {
    let last = last_of(file);
    last.rsplit_once('.').map_or(last, |(stem, _)| stem)
}

/// A `mesh` element with its name; `say` gives its attributes, its own or inherited.
fn mesh<'a>(
    element: &Element,
    settings: &Settings,
    say: impl Fn(&str) -> Option<&'a str>,
) -> (String, MeshAsset) {
    let file = element.text("file").unwrap_or("");
    let name = element.text("name").unwrap_or_else(|| name_of(file));
    let file = if settings.strip_path { last_of(file) } else { file };
    let directory = settings.mesh_directory.trim_end_matches('/');
    let file = if directory.is_empty() || file.starts_with('/') || file.is_empty() {
        file.to_owned()
    } else {
        format!("{directory}/{file}")
    };
    // Drawings never stop a model: a scale that is no number is none.
    let finite = |scale: &[f64; 3]| scale.iter().all(|x| x.is_finite());
    let turn = element.text("refquat").and_then(parse_array).and_then(unit_quaternion);
    let mesh = MeshAsset {
        file,
        scale: say("scale").and_then(parse_array).filter(finite).unwrap_or([1.0; 3]),
        inertia: say("inertia").unwrap_or("legacy").to_owned(),
        reference: (
            element.text("refpos").and_then(parse_array).unwrap_or([0.0; 3]),
            turn.unwrap_or(IDENTITY),
        ),
        vertices: element.text("vertex").map(parse_numbers).unwrap_or_default(),
        faces: element.text("face").map(parse_numbers).unwrap_or_default(),
        mass: None,
    };
    (name.to_owned(), mesh)
}

impl MeshAsset {
    fn weigh(&self, folder: &Path) -> Result<MassProperties, String> {
        let how = match self.inertia.as_str() {
            "convex" => MeshInertia::Convex,
            "exact" => MeshInertia::Exact,
            "shell" => MeshInertia::Shell,
            "legacy" => MeshInertia::Legacy,
            other => return Err(format!("a mesh with `inertia=\"{other}\"`")),
        };
        let explain = |error: &crate::mesh::MeshError| format!("a mesh ({error})");
        let mesh = match (self.file.is_empty(), self.faces.is_empty()) {
            (false, _) => Mesh::read(&folder.join(&self.file)),
            (true, false) => self.inline().checked(),
            // Corners alone are those of their convex hull.
            (true, true) => self.inline().hull(),
        };
        let mut mesh = mesh.map_err(|error| explain(&error))?;
        // First into the reference frame, which is given in the file's axes and size, then scaled.
        let (position, turn) = self.reference;
        for vertex in &mut mesh.vertices {
            *vertex = rotate(conjugate(turn), sub(*vertex, position));
        }
        let found = mesh.scaled(self.scale).mass_properties(how).map_err(|error| explain(&error))?;
        let [xx, yy, zz, xy, xz, yz] = found.inertia;
        let inertia = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
        Ok(MassProperties { mass: found.mass, com: found.com, inertia })
    }

    /// Where the frame of the scaled vertices is, if that is a placement: not where axes are turned and stretched unequally.
    pub(super) fn frame(&self) -> Placement {
        let (position, turn) = self.reference;
        let p = rotate(conjugate(turn), position);
        Placement { p: std::array::from_fn(|k| -self.scale[k] * p[k]), q: conjugate(turn) }
    }

    /// Its corners, scaled, where they stand in the model file itself.
    pub(super) fn corners(&self) -> Option<Vec<[f64; 3]>> {
        let inline = self.file.is_empty() && !self.vertices.is_empty();
        inline.then(|| self.inline().scaled(self.scale).vertices)
    }

    /// The mesh that stands in the model file itself.
    fn inline(&self) -> Mesh {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a wrong index is refused later"
        )]
        let index = |x: &f64| if *x >= 0.0 { *x as u32 } else { u32::MAX };
        Mesh {
            vertices: self.vertices.chunks_exact(3).map(|v| [v[0], v[1], v[2]]).collect(),
            faces: self.faces.chunks_exact(3).map(|f| [index(&f[0]), index(&f[1]), index(&f[2])]).collect(),
            ..Mesh::default()
        }
    }
}
