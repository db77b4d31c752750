//! What touches survives files that can say it, and is told where they can't.

use std::path::{Path, PathBuf};

use leastaction_core::mechanism::{HalfSpaceDescription, ModelDescription, SurfaceDescription, SurfaceShape};
use leastaction_io::mjcf::{MjcfOptions, read_mjcf, write_mjcf};
use leastaction_io::{UrdfOptions, read_model_json, read_urdf, write_urdf};

fn ours() -> Vec<(String, ModelDescription)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut out = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            let model = read_model_json(&text, &path).description.unwrap();
            if !model.surfaces.is_empty() {
                out.push((path.file_name().unwrap().to_string_lossy().into_owned(), model));
            }
        }
    }
    out.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(out.len() >= 8, "models with surfaces: {}", out.len());
    out
}

fn near(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-14 * (1.0 + b.abs()))
}

/// A quaternion and its negative are one rotation.
fn placed_alike(a: &SurfaceDescription, b: &SurfaceDescription) -> bool {
    let (p, q) = (a.placement, b.placement);
    let turned = q.q.map(|x| -x);
    near(&p.p, &q.p) && (near(&p.q, &q.q) || near(&p.q, &turned))
}

fn shaped_alike(a: &SurfaceShape, b: &SurfaceShape) -> bool {
    match (a, b) {
        (SurfaceShape::Points { points: a }, SurfaceShape::Points { points: b }) => {
            a.len() == b.len() && a.iter().all(|p| b.iter().any(|q| near(p, q)))
        }
        _ => a == b,
    }
}

fn same_surfaces(name: &str, model: &ModelDescription, again: &ModelDescription) {
    let (names, after) = (model.surface_names(), again.surface_names());
    assert_eq!(names.len(), after.len(), "{name}");
    for (surface, called) in model.surfaces.iter().zip(&names) {
        let k =
            after.iter().position(|n| n == called).unwrap_or_else(|| panic!("{name}: no surface {called}"));
        let found = &again.surfaces[k];
        assert_eq!(found.link, surface.link, "{name}: {called}");
        assert!(shaped_alike(&found.shape, &surface.shape), "{name}: {called}: {found:?} for {surface:?}");
        assert!(placed_alike(found, surface), "{name}: {called}: {found:?} for {surface:?}");
        let numbers = |s: &SurfaceDescription| (s.friction, s.bits, s.priority);
        assert_eq!(numbers(found), numbers(surface), "{name}: {called}");
    }
    assert_eq!(again.half_spaces.len(), model.half_spaces.len(), "{name}");
    for (found, ground) in again.half_spaces.iter().zip(&model.half_spaces) {
        let numbers =
            |h: &HalfSpaceDescription| [h.normal[0], h.normal[1], h.normal[2], h.offset, h.friction];
        assert!(near(&numbers(found), &numbers(ground)), "{name}: {found:?} for {ground:?}");
        assert_eq!((found.bits, found.priority), (ground.bits, ground.priority), "{name}");
    }
}

#[test]
fn surfaces_and_grounds_survive_mjcf() {
    for (name, model) in ours() {
        let (text, lost) = write_mjcf(&model);
        let reading = read_mjcf(&text, Path::new("m.xml"), &MjcfOptions::default());
        let again =
            reading.description.unwrap_or_else(|| panic!("{name}: {:?}\n{text}", reading.diagnostics));
        same_surfaces(&name, &model, &again);
        assert_eq!(again.contact.exclude.len(), model.contact.exclude.len(), "{name}");
        // Drawings that show a surface are one geom with it.
        let drawn = |m: &ModelDescription| m.bodies.iter().map(|b| b.visuals.len()).sum::<usize>();
        assert!(drawn(&again) <= drawn(&model) + model.surfaces.len(), "{name}");
        let bounces = model.surfaces.iter().any(|s| s.restitution != 0.0)
            || model.half_spaces.iter().any(|h| h.restitution != 0.0);
        assert_eq!(lost.iter().any(|d| d.message.contains("restitution")), bounces, "{name}: {lost:?}");
    }
}

#[test]
fn what_touches_survives_urdf_or_is_told() {
    let options = UrdfOptions { surfaces: true, ..UrdfOptions::default() };
    for (name, model) in ours() {
        let (text, lost) = write_urdf(&model);
        if lost.iter().any(|d| d.severity == leastaction_io::Severity::Error) {
            continue;
        }
        let told = |what: &str| lost.iter().any(|d| d.message.contains(what));
        assert_eq!(told("half_spaces"), !model.half_spaces.is_empty(), "{name}: {lost:?}");
        let again = read_urdf(&text, Path::new("m.urdf"), &options).description.unwrap();
        if told("ellipsoid") || told("points") {
            continue;
        }
        assert_eq!(again.surfaces.len(), model.surfaces.len(), "{name}\n{text}");
        if !told("different friction") {
            let sum =
                |m: &ModelDescription| m.surfaces.iter().map(|s| s.friction + s.restitution).sum::<f64>();
            assert!(near(&[sum(&again)], &[sum(&model)]), "{name}");
        }
    }
}

#[test]
fn names_masks_points_pairs_and_exclusions_survive_mjcf() {
    let text = r#"{
      "schema": "leastaction/model/1", "name": "pieces",
      "bodies": [
        {"name": "a", "mass": 1.0, "inertia": [0.1, 0.1, 0.1, 0, 0, 0]},
        {"name": "b", "mass": 1.0, "inertia": [0.1, 0.1, 0.1, 0, 0, 0]}
      ],
      "joints": [
        {"name": "fa", "type": "floating", "parent": "world", "child": "a"},
        {"name": "fb", "type": "floating", "parent": "world", "child": "b"}
      ],
      "surfaces": [
        {"link": "a", "shape": {"type": "points", "points": [[0,0,0],[0.1,0,0],[0,0.1,0],[0,0,0.1]]},
         "placement": {"p": [0.1, 0.2, 0.3], "q": [0.8, 0.6, 0, 0]}, "friction": 0.0},
        {"link": "a", "name": "tip", "shape": {"type": "sphere", "radius": 0.05}, "bits": [2, 3], "priority": 4},
        {"link": "b", "shape": {"type": "ellipsoid", "radii": [0.1, 0.2, 0.3]}, "friction": 0.7},
        {"link": "world", "name": "table", "shape": {"type": "box", "size": [1, 2, 0.1]}}
      ],
      "half_spaces": [
        {"name": "slope", "normal": [0.6, 0.0, 0.8], "offset": -0.25, "friction": 0.9, "priority": 1},
        {"normal": [0.0, 0.0, -1.0], "offset": -3.0}
      ],
      "contact": {"pairs": [["tip", "b"]], "exclude": [["a", "b"], ["tip", "table"]], "rest_speed": 0.01}
    }"#;
    let model = read_model_json(text, Path::new("m.json")).description.unwrap();
    let (mjcf, lost) = write_mjcf(&model);
    let again = read_mjcf(&mjcf, Path::new("m.xml"), &MjcfOptions::default()).description.unwrap();
    same_surfaces("pieces", &model, &again);
    assert_eq!(again.contact.pairs, [["tip".to_owned(), "b".to_owned()]]);
    assert_eq!(again.contact.exclude, [["a".to_owned(), "b".to_owned()]]);
    let messages: Vec<&str> = lost.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        messages,
        ["settings of how contacts are stepped are left out", "exclusions of single surfaces are left out"]
    );
    let (_, lost) = write_urdf(&model);
    for what in ["half_spaces (2 here)", "pairs, exclusions", "a surface of points", "which surfaces touch"] {
        assert!(lost.iter().any(|d| d.message.contains(what)), "{what}: {lost:?}");
    }
}
