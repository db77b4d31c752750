//! Wavefront OBJ: vertices and faces, polygons as fans; everything else is for drawing.

use super::{Mesh, MeshError, damaged};

pub(super) fn read(content: &[u8]) -> Result<Mesh, MeshError> {
    let text = String::from_utf8_lossy(content);
    let mut mesh = Mesh::default();
    for (i, line) in text.lines().enumerate() {
        let wrong = |what: &str| damaged(format!("line {} of the OBJ file: {what}", i + 1));
        let mut words = line.split_whitespace();
        match words.next() {
            Some("v") => {
                let numbers: Vec<f64> = words.take(3).map_while(|word| word.parse().ok()).collect();
                let vertex =
                    <[f64; 3]>::try_from(numbers).map_err(|_| wrong("a vertex has three numbers"))?;
                mesh.vertices.push(vertex);
            }
            Some("f") => {
                let corners = words
                    .map(|word| {
                        index(word, mesh.vertices.len()).ok_or_else(|| wrong("a face names no vertex"))
                    })
                    .collect::<Result<Vec<u32>, _>>()?;
                if corners.len() < 3 {
                    return Err(wrong("a face has at least three corners"));
                }
                mesh.faces.extend(corners.windows(2).skip(1).map(|pair| [corners[0], pair[0], pair[1]]));
            }
            _ => {}
        }
    }
    Ok(mesh)
}

/// The vertex of a corner `v`, `v/t`, `v//n` or `v/t/n`; counted from one, or backwards from the last.
fn index(corner: &str, count: usize) -> Option<u32> {
    let number: i64 = corner.split('/').next()?.parse().ok()?;
    let index = if number < 0 { count as i64 + number } else { number - 1 };
    u32::try_from(index).ok()
}
