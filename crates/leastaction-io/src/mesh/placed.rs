//! Parts of a scene put together: what files with nodes and transforms (Collada, glTF) become.

use super::Mesh;

/// Rows of an affine map.
pub(super) type Affine = [[f64; 4]; 3];

pub(super) const IDENTITY: Affine = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]];

/// `a` after `b`.
pub(super) fn after(a: &Affine, b: &Affine) -> Affine {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            (0..3).map(|k| a[i][k] * b[k][j]).sum::<f64>() + if j == 3 { a[i][3] } else { 0.0 }
        })
    })
}

/// Scales each axis.
pub(super) fn scaling([x, y, z]: [f64; 3]) -> Affine {
    [[x, 0.0, 0.0, 0.0], [0.0, y, 0.0, 0.0], [0.0, 0.0, z, 0.0]]
}

/// Shifts.
pub(super) fn shift([x, y, z]: [f64; 3]) -> Affine {
    [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, y], [0.0, 0.0, 1.0, z]]
}

/// Turns by a quaternion `w, x, y, z` of any length.
pub(super) fn turn([w, x, y, z]: [f64; 4]) -> Affine {
    let n = w * w + x * x + y * y + z * z;
    let s = if n > 0.0 { 2.0 / n } else { 0.0 };
    [
        [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y), 0.0],
        [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x), 0.0],
        [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y), 0.0],
    ]
}

impl Mesh {
    /// Adds a part where the map puts it, in one colour.
    pub(super) fn place(
        &mut self,
        map: &Affine,
        vertices: &[[f64; 3]],
        faces: &[[u32; 3]],
        color: Option<[u8; 3]>,
    ) {
        let first = self.vertices.len() as u32;
        let point = |p: &[f64; 3]| -> [f64; 3] {
            std::array::from_fn(|i| map[i][0] * p[0] + map[i][1] * p[1] + map[i][2] * p[2] + map[i][3])
        };
        self.vertices.extend(vertices.iter().map(point));
        let m = map;
        let mirrors = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
            - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
            + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
            < 0.0;
        let shifted = |[a, b, c]: &[u32; 3]| {
            let (b, c) = if mirrors { (c, b) } else { (b, c) };
            // An index that is none is caught when the mesh is checked.
            [*a, *b, *c].map(|i| i.saturating_add(first))
        };
        self.faces.extend(faces.iter().map(shifted));
        self.colors.resize(self.faces.len(), color.unwrap_or(GREY));
    }
}

/// Colour of parts that have none.
const GREY: [u8; 3] = [180, 180, 184];

/// A colour from parts between zero and one.
pub(super) fn color(rgb: &[f64]) -> Option<[u8; 3]> {
    let part = |i: usize| rgb.get(i).map(|x| (255.0 * x.clamp(0.0, 1.0)).round() as u8);
    Some([part(0)?, part(1)?, part(2)?])
}
