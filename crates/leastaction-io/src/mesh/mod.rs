//! Triangle meshes: what their files hold, and the mass of what they enclose.

mod dae;
mod gltf;
mod hull;
mod mass;
mod msh;
mod obj;
mod placed;
mod stl;
mod thin;

use std::io::Read as _;
use std::path::Path;

use super::text_file::{how_to_lift, limit};

pub use mass::{MassProperties, MeshInertia};

/// Files with more bytes are refused before they are read.
pub const MAX_MESH_BYTES: u64 = 512 << 20;

/// Triangles over shared vertices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mesh {
    /// Positions.
    pub vertices: Vec<[f64; 3]>,
    /// Indices of three vertices each, counter-clockwise from outside.
    pub faces: Vec<[u32; 3]>,
    /// Red, green and blue of each face; empty where the file has no colours.
    pub colors: Vec<[u8; 3]>,
}

/// Why a mesh can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeshError {
    /// The system does not let us read the file.
    #[error("can't read the mesh `{path}`: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("the mesh `{path}` has {bytes} bytes: {}", how_to_lift(limit(MAX_MESH_BYTES)))]
    TooLarge {
        /// The file.
        path: String,
        /// Its size.
        bytes: u64,
    },
    /// The ending of the name is none we know.
    #[error("`{path}` is of a kind of mesh that is not read: give STL, OBJ, MSH, DAE or GLB")]
    UnknownFormat {
        /// The file.
        path: String,
    },
    /// The content is not what the name says.
    #[error("{what}")]
    Damaged {
        /// What is wrong, with its place.
        what: String,
    },
    /// The mesh encloses no volume.
    #[error("{what}")]
    NoVolume {
        /// What is wrong.
        what: String,
    },
}

fn damaged(what: impl Into<String>) -> MeshError {
    MeshError::Damaged { what: what.into() }
}

impl Mesh {
    /// Reads a mesh file; its kind is told by the ending of its name.
    ///
    /// # Errors
    /// If the file can't be read, is of no known kind or damaged.
    pub fn read(path: &Path) -> Result<Self, MeshError> {
        let name = path.display().to_string();
        let unreadable = |source| MeshError::Unreadable { path: name.clone(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > limit(MAX_MESH_BYTES) {
            return Err(MeshError::TooLarge { path: name, bytes });
        }
        // A device has no length, so the limit is kept while reading as well.
        let mut content = Vec::new();
        let file = std::fs::File::open(path).map_err(unreadable)?;
        file.take(limit(MAX_MESH_BYTES)).read_to_end(&mut content).map_err(unreadable)?;
        let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
        Self::parse(&content, &extension).unwrap_or(Err(MeshError::UnknownFormat { path: name }))
    }

    /// Reads the content of a mesh file; `None` if there is no reader for files with this ending.
    ///
    /// # Errors
    /// If the content is damaged.
    #[must_use]
    pub fn parse(content: &[u8], extension: &str) -> Option<Result<Self, MeshError>> {
        let mesh = match extension {
            "stl" => stl::read(content),
            "obj" => obj::read(content),
            "msh" => msh::read(content),
            "dae" => dae::read(content),
            "glb" | "gltf" => gltf::read(content),
            _ => return None,
        };
        Some(mesh.and_then(Self::checked))
    }

    /// Every index has its vertex and every vertex is finite.
    ///
    /// # Errors
    /// If not.
    pub fn checked(self) -> Result<Self, MeshError> {
        if let Some(bad) = self.vertices.iter().position(|v| v.iter().any(|x| !x.is_finite())) {
            return Err(damaged(format!("vertex {bad} of the mesh is not finite")));
        }
        let count = self.vertices.len();
        match self.faces.iter().flatten().find(|index| **index as usize >= count) {
            Some(index) => Err(damaged(format!("a face names vertex {index}, the mesh has {count}"))),
            None if self.faces.is_empty() => Err(damaged("the mesh has no faces")),
            None => Ok(self),
        }
    }

    /// The same mesh, each coordinate multiplied. A negative factor mirrors it; faces keep looking outside.
    #[must_use]
    pub fn scaled(mut self, scale: [f64; 3]) -> Self {
        for vertex in &mut self.vertices {
            for (x, s) in vertex.iter_mut().zip(scale) {
                *x *= s;
            }
        }
        if scale.iter().product::<f64>() < 0.0 {
            self.faces.iter_mut().for_each(|face| face.swap(1, 2));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An L of 2 by 3 units with arms one wide, 0.7 thick; unit 0.1 m, away from the origin.
    fn angle() -> Mesh {
        let outline = [[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        let at = |[x, y]: [f64; 2], z: f64| [0.1 * x + 0.05, 0.1 * y - 0.02, 0.1 * z + 0.3];
        let n = outline.len() as u32;
        let mut mesh = Mesh::default();
        for z in [0.0, 0.7] {
            mesh.vertices.extend(outline.map(|p| at(p, z)));
        }
        for [a, b, c] in [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]] {
            mesh.faces.extend([[a, c, b], [a + n, b + n, c + n]]);
        }
        for i in 0..n {
            let j = (i + 1) % n;
            mesh.faces.extend([[i, j, j + n], [i, j + n, i + n]]);
        }
        mesh
    }

    fn close(found: &[f64], wanted: &[f64], tolerance: f64) {
        let size = wanted.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        for (a, b) in found.iter().zip(wanted) {
            assert!((a - b).abs() <= tolerance * size, "{found:?} {wanted:?}");
        }
    }

    #[test]
    fn an_angle_has_the_volume_and_moments_of_its_two_arms() {
        let exact = angle().mass_properties(MeshInertia::Exact).unwrap();
        // Boxes 2 × 1 and 1 × 2 units: volume 4 · 0.7 units³, centre at (5, 7)/6 units.
        close(&[exact.mass], &[2.8e-3], 1e-14);
        let centre =
            [0.05 + 0.1 * (2.0 * 1.0 + 2.0 * 0.5) / 4.0, -0.02 + 0.1 * (2.0 * 0.5 + 2.0 * 2.0) / 4.0, 0.335];
        close(&exact.com, &centre, 1e-14);
        let arm = |size: [f64; 3], com: [f64; 3]| {
            let mass = size.iter().product::<f64>();
            let d: [f64; 3] = std::array::from_fn(|i| com[i] - exact.com[i]);
            let (s, square) = (size.map(|x| x * x / 12.0), d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
            let diagonal = |i: usize| mass * (s[0] + s[1] + s[2] - s[i] + square - d[i] * d[i]);
            [
                diagonal(0),
                diagonal(1),
                diagonal(2),
                -mass * d[0] * d[1],
                -mass * d[0] * d[2],
                -mass * d[1] * d[2],
            ]
        };
        let (low, tall) =
            (arm([0.2, 0.1, 0.07], [0.15, 0.03, 0.335]), arm([0.1, 0.2, 0.07], [0.1, 0.18, 0.335]));
        let both: Vec<f64> = low.iter().zip(tall).map(|(a, b)| a + b).collect();
        close(&exact.inertia, &both, 1e-12);
    }

    #[test]
    fn masses_are_those_of_mujoco() {
        // MuJoCo 4.0.0, density 1000, the same vertices and faces; it keeps vertices in single precision.
        let cases = [
            (
                MeshInertia::Legacy,
                2.912_972_6,
                [0.127_476_27, 0.104_208_47, 0.335],
                [0.022_795_822, 0.009_184_521, 0.029_638_320, 0.005_374_494],
            ),
            (
                MeshInertia::Exact,
                2.8,
                [0.125, 0.105, 0.335],
                [0.022_726_665, 0.008_726_665, 0.029_166_664, 0.005_249_999],
            ),
            (
                MeshInertia::Shell,
                150.0,
                [0.127_333_33, 0.107_333_33, 0.335],
                [1.521_183_26, 0.689_516_60, 1.957_533_25, 0.317_066_64],
            ),
        ];
        for (how, mass, com, [xx, yy, zz, xy]) in cases {
            let found = angle().mass_properties(how).unwrap();
            close(&[1000.0 * found.mass], &[mass], 2e-7);
            close(&found.com, &com, 1e-7);
            close(&found.inertia.map(|x| 1000.0 * x), &[xx, yy, zz, xy, 0.0, 0.0], 2e-7);
        }
    }

    #[test]
    fn a_mesh_with_a_hole_has_no_exact_inertia_and_says_how_open_it_is() {
        let mut open = angle();
        open.faces.pop();
        assert_eq!(open.open_edges(), 3);
        let error = open.mass_properties(MeshInertia::Exact).unwrap_err().to_string();
        assert!(error.contains("not closed (3 edges"), "{error}");
        assert!(open.mass_properties(MeshInertia::Legacy).is_ok());
    }

    #[test]
    fn mirroring_keeps_the_outside_outside() {
        let mirrored = angle().scaled([1.0, -2.0, 1.0]);
        let found = mirrored.mass_properties(MeshInertia::Exact).unwrap();
        close(&[found.mass], &[2.0 * 2.8e-3], 1e-14);
    }

    #[test]
    fn the_same_mesh_comes_out_of_every_format() {
        let mesh = angle();
        let single = Mesh {
            vertices: mesh.vertices.iter().map(|v| v.map(|x| f64::from(x as f32))).collect(),
            ..mesh.clone()
        };
        let mut binary = vec![b' '; 80];
        binary.extend((mesh.faces.len() as u32).to_le_bytes());
        let mut text = String::from("solid angle\n");
        let mut obj = String::from("# an angle\n");
        for v in &mesh.vertices {
            obj += &format!("v {} {} {}\nvt 0 0\n", v[0], v[1], v[2]);
        }
        for face in &mesh.faces {
            binary.extend([0; 12]);
            text += "facet normal 0 0 0\nouter loop\n";
            for i in face {
                let v = mesh.vertices[*i as usize];
                v.iter().for_each(|x| binary.extend((*x as f32).to_le_bytes()));
                text += &format!("vertex {} {} {}\n", v[0], v[1], v[2]);
            }
            binary.extend([0; 2]);
            text += "endloop\nendfacet\n";
            obj += &format!(
                "f {}/1 {}/1/1 -{}\n",
                face[0] + 1,
                face[1] + 1,
                mesh.vertices.len() as u32 - face[2]
            );
        }
        text += "endsolid\n";
        let mut msh = Vec::new();
        [mesh.vertices.len(), 0, 1, mesh.faces.len()]
            .iter()
            .for_each(|n| msh.extend((*n as i32).to_le_bytes()));
        mesh.vertices.iter().flatten().for_each(|x| msh.extend((*x as f32).to_le_bytes()));
        msh.extend([0; 8]);
        mesh.faces.iter().flatten().for_each(|i| msh.extend(i.to_le_bytes()));
        let wanted = single.mass_properties(MeshInertia::Exact).unwrap();
        for (kind, content) in
            [("stl", binary.as_slice()), ("stl", text.as_bytes()), ("obj", obj.as_bytes()), ("msh", &msh)]
        {
            let read = Mesh::parse(content, kind).unwrap().unwrap();
            assert_eq!((read.vertices.len(), read.faces.len()), (12, 20), "{kind}");
            let found = read.mass_properties(MeshInertia::Exact).unwrap();
            close(&found.inertia, &wanted.inertia, 1e-6);
        }
        assert!(Mesh::parse(b"", "ply").is_none());
    }

    #[test]
    fn polygons_are_fans_and_damaged_files_are_errors_with_a_place() {
        let quad = Mesh::parse(b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n", "obj").unwrap().unwrap();
        assert_eq!(quad.faces, [[0, 1, 2], [0, 2, 3]]);
        for (kind, content, wanted) in [
            ("obj", b"v 0 0\n".as_slice(), "line 1 of the OBJ file: a vertex has three numbers"),
            ("obj", b"v 0 0 0\nf 1 2 3\n", "a face names vertex 1, the mesh has 1"),
            ("obj", b"v 0 0 0\nf 1 x 3\n", "line 2 of the OBJ file: a face names no vertex"),
            ("obj", b"v 0 0 inf\nf 1 1 1\n", "vertex 0 of the mesh is not finite"),
            ("obj", b"", "the mesh has no faces"),
            ("stl", b"short", "the STL file ends within its header"),
            ("stl", b"solid x\nvertex 1 2\n", "line 2 of the STL file: a vertex has three numbers"),
            (
                "stl",
                b"solid x\nvertex 1 2 3\nendfacet\n",
                "line 3 of the STL file: a facet has three vertices",
            ),
            ("msh", b"abc", "the MSH file has no counts"),
            ("dae", b"<robot/>", "the outermost element of a Collada file is `COLLADA`"),
            ("glb", b"glTF", "the glTF file ends within its header"),
            ("gltf", b"{}", "the mesh has no faces"),
            (
                "msh",
                &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
                "the MSH file announces 10 words and has 16 bytes",
            ),
        ] {
            let error = Mesh::parse(content, kind).unwrap().unwrap_err().to_string();
            assert_eq!(error, wanted, "{kind}");
        }
    }

    /// Two unit triangles of a red material, the file in centimetres, the node shifted by 10 cm and turned about z.
    const COLLADA: &str = r##"<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="t"><phong>
  <diffuse><color>1 0 0 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
  <source id="s"><float_array id="a" count="12">0 0 0  100 0 0  100 100 0  0 100 0</float_array>
    <technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
  <vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
  <polylist count="1" material="paint"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#s" offset="1"/>
    <vcount>4</vcount><p>0 0 1 0 2 0 3 0</p></polylist></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="scene"><node><translate>10 0 0</translate><rotate>0 0 1 90</rotate>
  <instance_geometry url="#g"><bind_material><technique_common>
    <instance_material symbol="paint" target="#m"/></technique_common></bind_material></instance_geometry>
</node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>"##;

    #[test]
    fn collada_parts_stand_where_nodes_put_them_in_metres_and_colours() {
        let mesh = Mesh::parse(COLLADA.as_bytes(), "dae").unwrap().unwrap();
        assert_eq!(mesh.faces, [[0, 1, 2], [0, 2, 3]]);
        assert_eq!(mesh.colors, [[255, 0, 0]; 2]);
        close(&mesh.vertices[0], &[0.1, 0.0, 0.0], 1e-14);
        close(&mesh.vertices[1], &[0.1, 1.0, 0.0], 1e-14);
        close(&mesh.vertices[2], &[-0.9, 1.0, 0.0], 1e-14);
        let ring = COLLADA
            .replace("</node>", "<instance_node url=\"#n\"/></node>")
            .replace("<node>", "<node id=\"n\">");
        let error = Mesh::parse(ring.as_bytes(), "dae").unwrap().unwrap_err().to_string();
        assert!(error.contains("hold each other"), "{error}");
    }

    #[test]
    fn gltf_has_y_up_and_its_data_inside() {
        // One triangle (0,0,0), (1,0,0), (0,1,0), three indices of one byte.
        let mut data: Vec<u8> = Vec::new();
        [0.0f32, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0].iter().for_each(|x| data.extend(x.to_le_bytes()));
        data.extend([0, 1, 2, 0]);
        let json = r#"{"scene":0,"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"translation":[0,2,0]}],
            "meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1,"material":0}]}],
            "materials":[{"pbrMetallicRoughness":{"baseColorFactor":[0,1,0,1]}}],
            "accessors":[{"bufferView":0,"componentType":5126,"count":3,"type":"VEC3"},
                {"bufferView":1,"componentType":5121,"count":3,"type":"SCALAR"}],
            "bufferViews":[{"buffer":0,"byteLength":36},{"buffer":0,"byteOffset":36,"byteLength":3}],
            "buffers":[{"byteLength":40}]}"#;
        let mut glb = b"glTF\x02\0\0\0\0\0\0\0".to_vec();
        for (kind, chunk) in [(b"JSON", json.as_bytes()), (b"BIN\0", &data)] {
            glb.extend((chunk.len() as u32).to_le_bytes());
            glb.extend(kind);
            glb.extend(chunk);
        }
        let mesh = Mesh::parse(&glb, "glb").unwrap().unwrap();
        assert_eq!(
            (mesh.faces.as_slice(), mesh.colors.as_slice()),
            ([[0, 1, 2]].as_slice(), [[0, 255, 0]].as_slice())
        );
        close(&mesh.vertices[0], &[0.0, 0.0, 2.0], 1e-14);
        close(&mesh.vertices[2], &[0.0, 0.0, 3.0], 1e-14);
        glb.truncate(glb.len() - 3);
        assert!(Mesh::parse(&glb, "glb").unwrap().is_err());
    }

    #[test]
    fn thinned_meshes_keep_their_size_and_few_faces() {
        // A finely divided sphere.
        let (rings, sides) = (60u32, 120u32);
        let mut mesh = Mesh::default();
        for i in 0..=rings {
            let (s, z) = (std::f64::consts::PI * f64::from(i) / f64::from(rings)).sin_cos();
            for j in 0..sides {
                let (y, x) = (std::f64::consts::TAU * f64::from(j) / f64::from(sides)).sin_cos();
                mesh.vertices.push([s * x, s * y, z]);
            }
        }
        for i in 0..rings {
            for j in 0..sides {
                let (a, b) = (i * sides + j, i * sides + (j + 1) % sides);
                mesh.faces.extend([[a, a + sides, b], [b, a + sides, b + sides]]);
            }
        }
        let mesh = mesh.checked().unwrap();
        assert_eq!(mesh.thinned(100_000), mesh);
        for most in [2000, 300, 50] {
            let thin = mesh.thinned(most);
            assert!(thin.faces.len() <= most && thin.faces.len() > most / 5, "{most}: {}", thin.faces.len());
            let (low, high) = thin.bounds();
            assert!(low.iter().chain(&high).all(|x| x.abs() > 0.6 && x.abs() < 1.01), "{low:?} {high:?}");
        }
    }
}
