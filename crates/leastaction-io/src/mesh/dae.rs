//! Collada: geometries of triangles and polygons, placed by the nodes of the scene.
//!
//! Lengths are in the file's unit. The file's idea of which axis is up is not applied, as robot tools have it.

use leastaction_core::scalar::elementary;
use std::collections::HashMap;

use roxmltree::{Document, Node};

use super::placed::{Affine, IDENTITY, after, color, scaling, shift, turn};
use super::{Mesh, MeshError, damaged};

/// Nodes inside nodes: more is a mistake, or a ring of nodes that hold each other.
const DEEPEST: usize = 64;
/// Placed triangles of all parts: a file can name one part many times.
const MOST_FACES: usize = 20_000_000;

pub(super) fn read(content: &[u8]) -> Result<Mesh, MeshError> {
    let text = std::str::from_utf8(content).map_err(|_| damaged("the Collada file is not UTF-8 text"))?;
    let document = Document::parse(text)
        .map_err(|error| damaged(format!("the Collada file is not well-formed XML: {error}")))?;
    let root = document.root_element();
    if root.tag_name().name() != "COLLADA" {
        return Err(damaged("the outermost element of a Collada file is `COLLADA`"));
    }
    let mut reader = Reader { ids: HashMap::new(), mesh: Mesh::default() };
    for node in root.descendants().filter(Node::is_element) {
        if let Some(id) = node.attribute("id") {
            reader.ids.insert(id, node);
        }
    }
    let unit = child(root, "asset").and_then(|asset| child(asset, "unit"));
    let meter = unit.and_then(|unit| unit.attribute("meter")?.parse::<f64>().ok());
    let base = scaling([meter.filter(|m| m.is_finite() && *m > 0.0).unwrap_or(1.0); 3]);
    let scene = child(root, "scene").and_then(|scene| child(scene, "instance_visual_scene"));
    let scene =
        scene.and_then(|instance| reader.target(instance)).or_else(|| descendant(root, "visual_scene"));
    match scene {
        Some(scene) => {
            for node in children(scene, "node") {
                reader.node(node, &base, 0)?;
            }
        }
        None => {
            for geometry in root
                .descendants()
                .filter(|n| n.has_tag_name(("", "geometry")) || n.tag_name().name() == "geometry")
            {
                reader.geometry(geometry, None, &base)?;
            }
        }
    }
    Ok(reader.mesh)
}

/// Children of one name, whatever their namespace.
fn children<'a, 'i>(node: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

fn child<'a, 'i>(node: Node<'a, 'i>, name: &'a str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

fn descendant<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    node.descendants().find(|node| node.is_element() && node.tag_name().name() == name)
}

fn numbers(node: Node<'_, '_>) -> Result<Vec<f64>, MeshError> {
    let text = node.text().unwrap_or("");
    text.split_ascii_whitespace()
        .map(|word| {
            word.parse().map_err(|_| {
                damaged(format!("`{word}` in `{}` of the Collada file is no number", node.tag_name().name()))
            })
        })
        .collect()
}

struct Reader<'a, 'i> {
    ids: HashMap<&'a str, Node<'a, 'i>>,
    mesh: Mesh,
}

impl<'a, 'i> Reader<'a, 'i> {
    /// What `url="#id"` (or `source`, `target`) leads to.
    fn target(&self, node: Node<'a, 'i>) -> Option<Node<'a, 'i>> {
        let url = ["url", "source", "target"].iter().find_map(|name| node.attribute(*name))?;
        self.ids.get(url.strip_prefix('#')?).copied()
    }

    fn node(&mut self, node: Node<'a, 'i>, outer: &Affine, depth: usize) -> Result<(), MeshError> {
        if depth > DEEPEST {
            return Err(damaged(format!(
                "nodes of the Collada file hold each other more than {DEEPEST} deep"
            )));
        }
        let mut place = *outer;
        for element in node.children().filter(Node::is_element) {
            let map = match element.tag_name().name() {
                "matrix" => matrix(&numbers(element)?)?,
                "translate" => shift(three(&numbers(element)?)?),
                "scale" => scaling(three(&numbers(element)?)?),
                "rotate" => {
                    let list = numbers(element)?;
                    let axis = three(&list)?;
                    let half = 0.5 * list.get(3).copied().unwrap_or(0.0).to_radians();
                    let length = axis.iter().map(|x| x * x).sum::<f64>().sqrt();
                    let s = if length > 0.0 { elementary::sin(half) / length } else { 0.0 };
                    turn([elementary::cos(half), s * axis[0], s * axis[1], s * axis[2]])
                }
                _ => continue,
            };
            place = after(&place, &map);
        }
        for element in node.children().filter(Node::is_element) {
            match element.tag_name().name() {
                "node" => self.node(element, &place, depth + 1)?,
                "instance_node" => {
                    if let Some(target) = self.target(element) {
                        self.node(target, &place, depth + 1)?;
                    }
                }
                "instance_geometry" => {
                    if let Some(geometry) = self.target(element) {
                        self.geometry(geometry, Some(element), &place)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn geometry(
        &mut self,
        geometry: Node<'a, 'i>,
        instance: Option<Node<'a, 'i>>,
        place: &Affine,
    ) -> Result<(), MeshError> {
        let Some(mesh) = child(geometry, "mesh") else { return Ok(()) };
        for part in mesh.children().filter(Node::is_element) {
            if !matches!(part.tag_name().name(), "triangles" | "polylist" | "polygons") {
                continue;
            }
            let (vertices, faces) = self.part(part)?;
            if self.mesh.faces.len() + faces.len() > MOST_FACES {
                return Err(damaged(format!("the Collada file has more than {MOST_FACES} triangles")));
            }
            let color = part.attribute("material").and_then(|symbol| self.color(symbol, instance));
            self.mesh.place(place, &vertices, &faces, color);
        }
        Ok(())
    }

    /// Positions and triangles of one list of polygons.
    fn part(&self, part: Node<'a, 'i>) -> Result<(Vec<[f64; 3]>, Vec<[u32; 3]>), MeshError> {
        let missing = || damaged("a list of polygons of the Collada file has no positions");
        let offset = |input: Node<'_, '_>| {
            input.attribute("offset").and_then(|x| x.parse::<u32>().ok()).unwrap_or(0) as usize
        };
        let inputs: Vec<Node<'a, 'i>> = children(part, "input").collect();
        // An offset that no list is long enough for leaves no whole corner.
        let stride = inputs.iter().map(|input| offset(*input)).max().unwrap_or(0).saturating_add(1);
        let own =
            inputs.iter().find(|input| input.attribute("semantic") == Some("VERTEX")).ok_or_else(missing)?;
        let vertices = self.target(*own).ok_or_else(missing)?;
        let mut positions =
            children(vertices, "input").filter(|input| input.attribute("semantic") == Some("POSITION"));
        let source = positions.next().and_then(|input| self.target(input)).ok_or_else(missing)?;
        let array = child(source, "float_array").ok_or_else(missing)?;
        let accessor = child(source, "technique_common").and_then(|common| child(common, "accessor"));
        let step = accessor.and_then(|a| a.attribute("stride")?.parse::<usize>().ok()).unwrap_or(3).max(3);
        let list: Vec<[f64; 3]> = numbers(array)?.chunks_exact(step).map(|p| [p[0], p[1], p[2]]).collect();

        let corner = offset(*own);
        let index = |word: &str| {
            word.parse::<u32>()
                .map_err(|_| damaged(format!("`{word}` in the Collada file is no index of a vertex")))
        };
        let counts = match child(part, "vcount") {
            Some(counts) => Some(numbers(counts)?),
            None => None,
        };
        let mut faces = Vec::new();
        for p in children(part, "p") {
            let words: Vec<&str> = p.text().unwrap_or("").split_ascii_whitespace().collect();
            let corners: Vec<u32> =
                words.chunks_exact(stride).map(|chunk| index(chunk[corner])).collect::<Result<_, _>>()?;
            let mut rest = corners.as_slice();
            let lengths: Box<dyn Iterator<Item = usize>> = match (&counts, part.tag_name().name()) {
                (Some(counts), _) => Box::new(counts.iter().map(|n| *n as usize)),
                (None, "polygons") => Box::new(std::iter::once(corners.len())),
                _ => Box::new(std::iter::repeat_n(3, corners.len() / 3)),
            };
            for length in lengths {
                let Some((polygon, after)) = rest.split_at_checked(length) else {
                    return Err(damaged(
                        "a list of polygons of the Collada file is shorter than it announces",
                    ));
                };
                rest = after;
                faces.extend((2..polygon.len()).map(|i| [polygon[0], polygon[i - 1], polygon[i]]));
            }
        }
        Ok((list, faces))
    }

    /// Diffuse colour of the material that a symbol stands for.
    fn color(&self, symbol: &str, instance: Option<Node<'a, 'i>>) -> Option<[u8; 3]> {
        let bound = instance.and_then(|instance| {
            instance
                .descendants()
                .find(|n| n.tag_name().name() == "instance_material" && n.attribute("symbol") == Some(symbol))
        });
        let material = bound.and_then(|b| self.target(b)).or_else(|| self.ids.get(symbol).copied())?;
        let effect = self.target(child(material, "instance_effect")?)?;
        let diffuse = descendant(effect, "diffuse")?;
        color(&numbers(child(diffuse, "color")?).ok()?)
    }
}

fn three(list: &[f64]) -> Result<[f64; 3], MeshError> {
    match list {
        [x, y, z, ..] => Ok([*x, *y, *z]),
        _ => Err(damaged("a transform of the Collada file has too few numbers")),
    }
}

fn matrix(list: &[f64]) -> Result<Affine, MeshError> {
    if list.len() != 16 {
        return Err(damaged("a matrix of the Collada file has sixteen numbers"));
    }
    let mut map = IDENTITY;
    for (row, values) in map.iter_mut().zip(list.chunks(4)) {
        row.copy_from_slice(values);
    }
    Ok(map)
}
