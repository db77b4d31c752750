//! What the viewer reads: scene, frames and plots as JSON, long lists of numbers in base64.

use leastaction::mechanism::{Shape, Visual};
use serde_json::{Value, json};

use super::base64::encode;
use super::data::{OverlayValues, Plot, ReportData, Scene, SceneJoint, SeriesValues};
use super::meshes::Meshes;

/// The text of the page's data.
pub(super) fn payload(data: &ReportData) -> String {
    json!({
        "scene": scene(&data.scene),
        "frames": {
            "stride": data.frames.stride,
            "times": doubles(&data.frames.times),
            "poses": singles(&data.frames.poses),
            "forces": singles(&data.frames.forces),
        },
        "plots": data.plots.iter().map(plot).collect::<Vec<_>>(),
    })
    .to_string()
}

fn singles(values: &[f32]) -> String {
    encode(&values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

fn doubles(values: &[f64]) -> String {
    encode(&values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

fn scene(scene: &Scene) -> Value {
    let all = scene.bodies.iter().flat_map(|body| &body.visuals).chain(&scene.world_visuals);
    let meshes = Meshes::of(all);
    let visuals = |list: &[Visual]| -> Value { list.iter().map(|one| visual(one, &meshes)).collect() };
    let bodies = scene.bodies.iter().map(|body| {
        let mut value = json!({"name": body.name, "com": body.com});
        if !body.visuals.is_empty() {
            value["visuals"] = visuals(&body.visuals);
        }
        value
    });
    json!({
        "bodies": bodies.collect::<Vec<_>>(),
        "joints": scene.joints.iter().map(joint).collect::<Vec<_>>(),
        "world_visuals": visuals(&scene.world_visuals),
        "contacts": scene.contacts,
        "half_spaces": scene.half_spaces.iter().map(|(n, d)| json!({"normal": n, "offset": d})).collect::<Vec<_>>(),
        "meshes": meshes.list(),
    })
}

/// Kind and sizes of the shape stand beside its placement.
fn visual(visual: &Visual, meshes: &Meshes) -> Value {
    let mut value = match &visual.shape {
        Shape::Box { size } => json!({"shape": "box", "size": size}),
        Shape::Sphere { radius } => json!({"shape": "sphere", "radius": radius}),
        Shape::Cylinder { radius, length } => {
            json!({"shape": "cylinder", "radius": radius, "length": length})
        }
        Shape::Capsule { radius, length } => json!({"shape": "capsule", "radius": radius, "length": length}),
        Shape::Ellipsoid { radii } => json!({"shape": "ellipsoid", "radii": radii}),
        Shape::Mesh { file, scale } => {
            json!({"shape": "mesh", "name": file, "mesh": meshes.place(file, *scale)})
        }
    };
    value["placement"] = json!({"p": visual.placement.p, "q": visual.placement.q});
    if let Some(rgba) = visual.rgba {
        value["rgba"] = json!(rgba);
    }
    value
}

fn joint(joint: &SceneJoint) -> Value {
    json!({
        "name": joint.name,
        "kind": joint.kind,
        "closes_loop": joint.closes_loop,
        "parent": joint.parent,
        "child": joint.child,
        "parent_anchor": joint.parent_anchor,
        "parent_axis": joint.parent_axis,
        "child_anchor": joint.child_anchor,
        "child_axis": joint.child_axis,
    })
}

fn plot(plot: &Plot) -> Value {
    let series = plot.series.iter().map(|series| match &series.values {
        SeriesValues::Exact { values } => json!({"label": series.label, "values": doubles(values)}),
        SeriesValues::Range { min, max } => {
            json!({"label": series.label, "min": doubles(min), "max": doubles(max)})
        }
    });
    let overlays = plot.overlays.iter().map(|overlay| match &overlay.values {
        OverlayValues::Band { low, high } => {
            json!({"of": overlay.of, "label": overlay.label, "low": doubles(low), "high": doubles(high)})
        }
        OverlayValues::Dots { values } => {
            json!({"of": overlay.of, "label": overlay.label, "values": doubles(values)})
        }
    });
    let limits = plot.limits.iter().map(|limit| {
        let finite = |x: f64| x.is_finite().then_some(x);
        json!({"of": limit.of, "low": finite(limit.low), "high": finite(limit.high)})
    });
    let mut value = json!({
        "id": plot.id,
        "title": plot.title,
        "unit": plot.unit,
        "log_scale": plot.log_scale,
        "x": doubles(&plot.x),
        "series": series.collect::<Vec<_>>(),
        "omitted": plot.omitted,
        "own_axis": plot.own_axis,
    });
    if !plot.overlays.is_empty() {
        value["overlays"] = overlays.collect();
    }
    if !plot.limits.is_empty() {
        value["limits"] = limits.collect();
    }
    value
}
