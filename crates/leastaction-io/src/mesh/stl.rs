//! STL, binary and text.

use std::collections::HashMap;

use super::{Mesh, MeshError, damaged};

const HEADER: usize = 84;
const TRIANGLE: usize = 50;

pub(super) fn read(content: &[u8]) -> Result<Mesh, MeshError> {
    // Binary files may begin with `solid` too: their length tells.
    let announced = content.get(80..HEADER).map(|n| u32::from_le_bytes([n[0], n[1], n[2], n[3]]) as usize);
    let fits =
        announced.is_some_and(|n| n.checked_mul(TRIANGLE).is_some_and(|b| b + HEADER == content.len()));
    if fits || !content.trim_ascii_start().starts_with(b"solid") { binary(content) } else { text(content) }
}

fn binary(content: &[u8]) -> Result<Mesh, MeshError> {
    let body = content.get(HEADER..).ok_or_else(|| damaged("the STL file ends within its header"))?;
    let announced = u32::from_le_bytes([content[80], content[81], content[82], content[83]]) as usize;
    if body.len() / TRIANGLE < announced {
        let found = body.len() / TRIANGLE;
        return Err(damaged(format!("the STL file announces {announced} triangles and has {found}")));
    }
    let mut corners = Corners::default();
    for triangle in body.chunks_exact(TRIANGLE).take(announced) {
        let number = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|b| triangle[4 * i + b]));
        // The first three numbers are the normal, which the corners tell too.
        corners.triangle([1, 2, 3].map(|c| [0, 1, 2].map(|k| number(3 * c + k))));
    }
    Ok(corners.mesh)
}

fn text(content: &[u8]) -> Result<Mesh, MeshError> {
    let text =
        std::str::from_utf8(content).map_err(|_| damaged("the STL file is neither binary nor text"))?;
    let mut corners = Corners::default();
    let mut open: Vec<[f32; 3]> = Vec::with_capacity(3);
    for (i, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("vertex") => {
                let numbers: Vec<f32> = words.map_while(|word| word.parse().ok()).collect();
                let vertex = <[f32; 3]>::try_from(numbers).map_err(|_| {
                    damaged(format!("line {} of the STL file: a vertex has three numbers", i + 1))
                })?;
                open.push(vertex);
            }
            Some("endfacet") => {
                let triangle = <[[f32; 3]; 3]>::try_from(std::mem::take(&mut open)).map_err(|_| {
                    damaged(format!("line {} of the STL file: a facet has three vertices", i + 1))
                })?;
                corners.triangle(triangle);
            }
            _ => {}
        }
    }
    Ok(corners.mesh)
}

/// Triangles with corners of their own become faces over shared vertices.
#[derive(Default)]
struct Corners {
    mesh: Mesh,
    seen: HashMap<[u32; 3], u32>,
}

impl Corners {
    fn triangle(&mut self, corners: [[f32; 3]; 3]) {
        let face = corners.map(|corner| {
            let next = self.mesh.vertices.len() as u32;
            // Adding zero makes −0 and 0 one vertex.
            *self.seen.entry(corner.map(|x| (x + 0.0).to_bits())).or_insert_with(|| {
                self.mesh.vertices.push(corner.map(f64::from));
                next
            })
        });
        self.mesh.faces.push(face);
    }
}
