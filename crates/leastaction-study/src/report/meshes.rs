//! Meshes of a scene, few enough triangles for a page: positions as 16-bit steps of their box, indices, one range per colour.

use std::collections::HashMap;
use std::path::Path;

use leastaction::io::mesh::Mesh;
use leastaction::mechanism::{Shape, Visual};
use serde_json::{Value, json};

use super::base64::encode;

/// Triangles of all meshes of a page: two megabytes.
const MOST_FACES: usize = 150_000;
/// A mesh keeps this many, however many others there are.
const FEWEST_FACES: usize = 300;
/// Steps that a box is divided into.
const STEPS: f64 = 65535.0;

/// The meshes of a page, each once, and where each file and scale stands in the list.
#[derive(Default)]
pub(super) struct Meshes {
    packed: Vec<Value>,
    places: HashMap<(String, [u64; 3]), usize>,
}

fn key(file: &str, scale: [f64; 3]) -> (String, [u64; 3]) {
    (file.to_owned(), scale.map(f64::to_bits))
}

impl Meshes {
    /// Reads the files; those that can't be read are left out, which the reader of the model has told.
    pub(super) fn of<'v>(visuals: impl Iterator<Item = &'v Visual>) -> Self {
        let mut places = HashMap::new();
        let mut read: Vec<Mesh> = Vec::new();
        for visual in visuals {
            let Shape::Mesh { file, scale } = &visual.shape else { continue };
            if places.contains_key(&key(file, *scale)) {
                continue;
            }
            if let Ok(mesh) = Mesh::read(Path::new(file)) {
                places.insert(key(file, *scale), read.len());
                read.push(mesh.scaled(*scale));
            }
        }
        let all: usize = read.iter().map(|mesh| mesh.faces.len()).sum();
        let share = MOST_FACES as f64 / all.max(1) as f64;
        let most = |mesh: &Mesh| ((share * mesh.faces.len() as f64) as usize).max(FEWEST_FACES);
        let packed =
            read.iter().map(|mesh| if share < 1.0 { pack(&mesh.thinned(most(mesh))) } else { pack(mesh) });
        Self { packed: packed.collect(), places }
    }

    /// The list, as the viewer reads it.
    pub(super) fn list(&self) -> &[Value] {
        &self.packed
    }

    /// Place of a mesh in the list.
    pub(super) fn place(&self, file: &str, scale: [f64; 3]) -> Option<usize> {
        self.places.get(&key(file, scale)).copied()
    }
}

fn pack(mesh: &Mesh) -> Value {
    let (low, high) = mesh.bounds();
    let size: [f64; 3] = std::array::from_fn(|i| high[i] - low[i]);
    let step = |v: &[f64; 3], i: usize| {
        let part = if size[i] > 0.0 { (v[i] - low[i]) / size[i] } else { 0.0 };
        (STEPS * part).round() as u16
    };
    let positions: Vec<u8> =
        mesh.vertices.iter().flat_map(|v| [0, 1, 2].map(|i| step(v, i))).flat_map(u16::to_le_bytes).collect();
    // Faces of one colour together.
    let mut order: Vec<usize> = (0..mesh.faces.len()).collect();
    order.sort_by_key(|i| mesh.colors.get(*i));
    let wide = mesh.vertices.len() > usize::from(u16::MAX);
    let mut indices = Vec::new();
    let mut groups: Vec<(Option<[u8; 3]>, usize, usize)> = Vec::new();
    for (n, i) in order.into_iter().enumerate() {
        let color = mesh.colors.get(i).copied();
        match groups.last_mut().filter(|group| group.0 == color) {
            Some(group) => group.2 += 3,
            None => groups.push((color, 3 * n, 3)),
        }
        for corner in mesh.faces[i] {
            let bytes = corner.to_le_bytes();
            indices.extend(if wide { &bytes[..] } else { &bytes[..2] });
        }
    }
    json!({
        "low": low,
        "size": size,
        "positions": encode(&positions),
        "indices": encode(&indices),
        "wide": wide,
        "groups": groups
            .into_iter()
            .map(|(color, start, count)| json!({"color": color, "start": start, "count": count}))
            .collect::<Vec<_>>(),
    })
}
