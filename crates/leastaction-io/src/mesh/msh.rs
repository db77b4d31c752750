//! MSH, MuJoCo's binary meshes: four counts, then vertices, normals, texture coordinates, faces.

use super::{Mesh, MeshError, damaged};

pub(super) fn read(content: &[u8]) -> Result<Mesh, MeshError> {
    let word = |i: usize| content.get(4 * i..4 * i + 4).map(|b| [b[0], b[1], b[2], b[3]]);
    let count = |i: usize| {
        word(i)
            .and_then(|b| usize::try_from(i32::from_le_bytes(b)).ok())
            .ok_or_else(|| damaged("the MSH file has no counts"))
    };
    let (vertices, normals, texture, faces) = (count(0)?, count(1)?, count(2)?, count(3)?);
    let words = 4 + 3 * vertices + 3 * normals + 2 * texture + 3 * faces;
    if words.checked_mul(4) != Some(content.len()) {
        let bytes = content.len();
        return Err(damaged(format!("the MSH file announces {words} words and has {bytes} bytes")));
    }
    let float = |i: usize| word(i).map_or(f64::NAN, |b| f64::from(f32::from_le_bytes(b)));
    let integer = |i: usize| word(i).map_or(u32::MAX, u32::from_le_bytes);
    let first_face = words - 3 * faces;
    Ok(Mesh {
        vertices: (0..vertices).map(|v| [0, 1, 2].map(|k| float(4 + 3 * v + k))).collect(),
        faces: (0..faces).map(|f| [0, 1, 2].map(|k| integer(first_face + 3 * f + k))).collect(),
        ..Mesh::default()
    })
}
