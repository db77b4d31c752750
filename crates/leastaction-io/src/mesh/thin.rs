//! Fewer triangles for drawing: vertices that share a cell of a grid become one.

use std::collections::{HashMap, HashSet};

use super::Mesh;

/// Cells along the longest side that are tried.
const FINEST: u32 = 2048;

impl Mesh {
    /// A mesh of at most so many triangles that looks like this one; this one if it has no more.
    #[must_use]
    pub fn thinned(&self, most: usize) -> Mesh {
        if self.faces.len() <= most {
            return self.clone();
        }
        // The finest grid that leaves few enough: triangles grow with the square of the cells along a side.
        let (mut coarse, mut too_fine) = (1, FINEST);
        let mut best = self.clustered(coarse);
        while coarse + 1 < too_fine {
            let cells = coarse.midpoint(too_fine);
            let tried = self.clustered(cells);
            if tried.faces.len() <= most {
                (best, coarse) = (tried, cells);
            } else {
                too_fine = cells;
            }
        }
        best
    }

    fn clustered(&self, cells: u32) -> Mesh {
        let (low, high) = self.bounds();
        let side = (0..3).map(|i| high[i] - low[i]).fold(0.0, f64::max);
        let scale = if side > 0.0 { f64::from(cells) / side } else { 0.0 };
        let mut numbers: HashMap<[u32; 3], u32> = HashMap::new();
        let mut sums: Vec<([f64; 3], f64)> = Vec::new();
        let to: Vec<u32> = self
            .vertices
            .iter()
            .map(|v| {
                let cell = std::array::from_fn(|i| ((v[i] - low[i]) * scale) as u32);
                let number = *numbers.entry(cell).or_insert_with(|| {
                    sums.push(([0.0; 3], 0.0));
                    sums.len() as u32 - 1
                });
                let (sum, count) = &mut sums[number as usize];
                sum.iter_mut().zip(v).for_each(|(s, x)| *s += x);
                *count += 1.0;
                number
            })
            .collect();
        let mut out =
            Mesh { vertices: sums.iter().map(|(sum, n)| sum.map(|x| x / n)).collect(), ..Mesh::default() };
        let mut seen = HashSet::new();
        for (i, face) in self.faces.iter().enumerate() {
            let face = face.map(|v| to[v as usize]);
            let [a, b, c] = face;
            // The same triangle begins at any of its corners.
            let first = (0..3).min_by_key(|k| face[*k]).unwrap_or(0);
            if a != b && b != c && a != c && seen.insert([0, 1, 2].map(|k| face[(first + k) % 3])) {
                out.faces.push(face);
                out.colors.extend(self.colors.get(i));
            }
        }
        out
    }

    /// Smallest and largest coordinates.
    #[must_use]
    pub fn bounds(&self) -> ([f64; 3], [f64; 3]) {
        self.vertices.iter().fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(low, high), v| {
            (std::array::from_fn(|i| low[i].min(v[i])), std::array::from_fn(|i| high[i].max(v[i])))
        })
    }
}
