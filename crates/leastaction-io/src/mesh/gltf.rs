//! glTF 2.0: triangles placed by the nodes of the scene, from `.glb` or from `.gltf` with its data inside.
//!
//! In glTF y is up and in robots z: (x, y, z) becomes (x, −z, y).

use serde_json::Value;

use super::placed::{Affine, IDENTITY, after, color, scaling, shift, turn};
use super::{Mesh, MeshError, damaged};

const DEEPEST: usize = 64;
const MOST_FACES: usize = 20_000_000;
const UP: Affine = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.0, 1.0, 0.0, 0.0]];

pub(super) fn read(content: &[u8]) -> Result<Mesh, MeshError> {
    let (json, binary) = if content.starts_with(b"glTF") { chunks(content)? } else { (content, None) };
    let root: Value = serde_json::from_slice(json)
        .map_err(|error| damaged(format!("the glTF file is not JSON: {error}")))?;
    let mut buffers = Vec::new();
    for buffer in list(&root, "buffers") {
        buffers.push(match buffer.get("uri").and_then(Value::as_str) {
            None => binary.map(<[u8]>::to_vec).ok_or_else(|| damaged("the glTF file has no data"))?,
            Some(uri) => uri
                .strip_prefix("data:")
                .and_then(|rest| rest.split_once(";base64,"))
                .and_then(|(_, text)| decode(text))
                .ok_or_else(|| damaged("the data of the glTF file are in another file: save it as `.glb`"))?,
        });
    }
    let mut reader = Reader { root: &root, buffers, mesh: Mesh::default() };
    let scene = index(root.get("scene")).unwrap_or(0);
    let nodes = list(&root, "scenes").get(scene).map(|scene| list(scene, "nodes"));
    for node in nodes.unwrap_or(&[]) {
        reader.node(index(Some(node)), &UP, 0)?;
    }
    Ok(reader.mesh)
}

/// Header, JSON and data of a `.glb`.
fn chunks(content: &[u8]) -> Result<(&[u8], Option<&[u8]>), MeshError> {
    let word = |at: usize| {
        let bytes = content.get(at..at + 4)?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
    };
    let chunk = |at: usize| -> Option<(&[u8], usize)> {
        let length = word(at)?;
        Some((content.get(at + 8..at.checked_add(8)?.checked_add(length)?)?, at + 8 + length))
    };
    let (json, next) = chunk(12).ok_or_else(|| damaged("the glTF file ends within its header"))?;
    Ok((json, chunk(next).map(|(data, _)| data)))
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn index(value: Option<&Value>) -> Option<usize> {
    usize::try_from(value?.as_u64()?).ok()
}

fn numbers<const N: usize>(value: Option<&Value>) -> Option<[f64; N]> {
    let numbers: Vec<f64> = value?.as_array()?.iter().filter_map(Value::as_f64).collect();
    numbers.try_into().ok()
}

struct Reader<'v> {
    root: &'v Value,
    buffers: Vec<Vec<u8>>,
    mesh: Mesh,
}

impl Reader<'_> {
    fn node(&mut self, node: Option<usize>, outer: &Affine, depth: usize) -> Result<(), MeshError> {
        if depth > DEEPEST {
            return Err(damaged(format!("nodes of the glTF file hold each other more than {DEEPEST} deep")));
        }
        let root = self.root;
        let node = node
            .and_then(|i| list(root, "nodes").get(i))
            .ok_or_else(|| damaged("the glTF file names a node that it does not have"))?;
        let own = match numbers::<16>(node.get("matrix")) {
            // Column by column.
            Some(m) => std::array::from_fn(|i| std::array::from_fn(|j| m[4 * j + i])),
            None => {
                let [x, y, z, w] = numbers(node.get("rotation")).unwrap_or([0.0, 0.0, 0.0, 1.0]);
                let place = shift(numbers(node.get("translation")).unwrap_or([0.0; 3]));
                let size = numbers(node.get("scale")).map_or(IDENTITY, scaling);
                after(&after(&place, &turn([w, x, y, z])), &size)
            }
        };
        let place = after(outer, &own);
        if let Some(mesh) = index(node.get("mesh")).and_then(|i| list(root, "meshes").get(i)) {
            for primitive in list(mesh, "primitives") {
                self.primitive(primitive, &place)?;
            }
        }
        for child in list(node, "children") {
            self.node(index(Some(child)), &place, depth + 1)?;
        }
        Ok(())
    }

    fn primitive(&mut self, primitive: &Value, place: &Affine) -> Result<(), MeshError> {
        if primitive.get("mode").and_then(Value::as_u64).unwrap_or(4) != 4 {
            return Ok(());
        }
        let short = || damaged("an accessor of the glTF file does not fit its data");
        let position =
            primitive.get("attributes").and_then(|a| index(a.get("POSITION"))).ok_or_else(short)?;
        let (bytes, count, stride, _) = self.accessor(position, 3).ok_or_else(short)?;
        let number = |at: usize| {
            f64::from(f32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]))
        };
        let vertices: Vec<[f64; 3]> = (0..count).map(|i| [0, 4, 8].map(|k| number(i * stride + k))).collect();
        let corners: Vec<u32> = match index(primitive.get("indices")) {
            None => (0..count as u32).collect(),
            Some(i) => {
                let (bytes, count, stride, size) = self.accessor(i, 1).ok_or_else(short)?;
                let corner =
                    |i: usize| (0..size).rev().fold(0u32, |x, k| x << 8 | u32::from(bytes[i * stride + k]));
                (0..count).map(corner).collect()
            }
        };
        let faces: Vec<[u32; 3]> = corners.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
        if self.mesh.faces.len() + faces.len() > MOST_FACES {
            return Err(damaged(format!("the glTF file has more than {MOST_FACES} triangles")));
        }
        let material = index(primitive.get("material")).and_then(|i| list(self.root, "materials").get(i));
        let paint =
            material.and_then(|m| numbers::<4>(m.get("pbrMetallicRoughness")?.get("baseColorFactor")));
        self.mesh.place(place, &vertices, &faces, paint.and_then(|paint| color(&paint)));
        Ok(())
    }

    /// Bytes, number of items, bytes from one to the next, and bytes of a part of an item.
    fn accessor(&self, i: usize, parts: usize) -> Option<(&[u8], usize, usize, usize)> {
        let accessor = list(self.root, "accessors").get(i)?;
        let view = list(self.root, "bufferViews").get(index(accessor.get("bufferView"))?)?;
        let size = match accessor.get("componentType")?.as_u64()? {
            5121 => 1,
            5123 => 2,
            5125 | 5126 => 4,
            _ => return None,
        };
        let count = index(accessor.get("count"))?;
        let stride = index(view.get("byteStride")).unwrap_or(size * parts);
        let start = index(view.get("byteOffset"))
            .unwrap_or(0)
            .checked_add(index(accessor.get("byteOffset")).unwrap_or(0))?;
        let bytes = self.buffers.get(index(view.get("buffer"))?)?.get(start..)?;
        let needed = count
            .checked_sub(1)
            .map_or(Some(0), |last| last.checked_mul(stride)?.checked_add(size * parts))?;
        (bytes.len() >= needed && (parts == 1 || size == 4)).then_some((bytes, count, stride, size))
    }
}

/// Base64, as data addresses have it.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0);
    for byte in text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'=') {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{decode, read};

    /// Two corners apart in memory, faces by numbers of two bytes behind them, placed by a node within a node.
    #[test]
    fn corners_faces_and_nodes_are_where_the_file_says() {
        let corners: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]];
        let mut data = vec![0xff; 8];
        for corner in corners {
            corner.iter().for_each(|x| data.extend(x.to_le_bytes()));
            data.extend([0xaa; 4]);
        }
        for corner in [0u16, 2, 1, 0, 1, 3, 0x0102] {
            data.extend(corner.to_le_bytes());
        }
        let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for three in data.chunks(3) {
            let bits =
                three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
            (0..=three.len())
                .for_each(|k| text.push(char::from(digits[(bits >> (18 - 6 * k)) as usize & 63])));
        }
        // A turn about y by 90 degrees takes z to x; then what is inside is twice as large and shifted.
        let half = std::f64::consts::FRAC_1_SQRT_2;
        let file = format!(
            r#"{{"scene":0,"scenes":[{{"nodes":[0]}}],"nodes":[{{"children":[1],"rotation":[0,{half},0,{half}]}},
            {{"mesh":0,"translation":[10,20,30],"scale":[2,2,2]}}],
            "meshes":[{{"primitives":[{{"attributes":{{"POSITION":0}},"indices":1}},{{"attributes":{{"POSITION":2}}}}]}}],
            "accessors":[{{"bufferView":0,"componentType":5126,"count":4,"byteOffset":4}},
            {{"bufferView":1,"componentType":5123,"count":6}},{{"bufferView":0,"componentType":5126,"count":3,"byteOffset":4}}],
            "bufferViews":[{{"buffer":0,"byteOffset":4,"byteStride":16}},{{"buffer":0,"byteOffset":72}}],
            "buffers":[{{"uri":"data:application/octet-stream;base64,{text}"}}]}}"#
        );
        let mesh = read(file.as_bytes()).unwrap();
        // Without numbers of its own the second part takes its three corners in their order.
        assert_eq!(mesh.faces, [[0, 2, 1], [0, 1, 3], [4, 5, 6]]);
        for (found, corner) in mesh.vertices.iter().zip(corners) {
            let [x, y, z] = corner.map(|x| 2.0 * f64::from(x));
            let (x, y, z) = (x + 10.0, y + 20.0, z + 30.0);
            let turned = [z, y, -x];
            let wanted = [turned[0], -turned[2], turned[1]];
            assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {wanted:?}");
        }
    }

    /// A turn whose quaternion is any length, about no special axis.
    #[test]
    fn turns_are_those_of_their_quaternions() {
        let [w, x, y, z] = [0.4, -0.2, 0.8, 0.4].map(|x: f64| 3.0 * x);
        let turn = super::turn([w, x, y, z]);
        let spatial = leastaction_core::spatial::Quat::new(w, x, y, z).normalized().to_matrix();
        for (i, row) in turn.iter().enumerate() {
            for (j, entry) in row[..3].iter().enumerate() {
                assert!((entry - spatial.0[i][j]).abs() < 1e-14, "{i} {j}");
            }
        }
    }

    #[test]
    fn base64_is_that_of_its_standard() {
        for (text, bytes) in
            [("", &b""[..]), ("Zg==", b"f"), ("Zm8=", b"fo"), ("Zm9v", b"foo"), ("Zm9v\nYmFy", b"foobar")]
        {
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        assert_eq!(decode("+/8=").as_deref(), Some(&[0xfb, 0xff][..]));
        assert_eq!(decode("Zm9*"), None);
    }
}
