//! Reference files of the maximal-coordinate integrator, schema `leastaction/maximal/1`.
//!
//! Their bodies have frames at the centre of mass and states as world poses and velocities; here they become joint
//! coordinates of the public convention.

use serde_json::Value;

use super::{GoldenCase, at, numbers};
use crate::Diagnostic;
use crate::mechanism::{
    ActuatorDescription, BodyDescription, ConstraintDescription, Coordinates, JointDescription, JointType,
    Mechanism, MechanismBuilder, ModelDescription, PerCoordinate, Placement, SpringDescription,
    StateDescription, WORLD, samples,
};
use crate::spatial::{Pose, Quat, Twist, Vec3};

/// The schema key.
pub const SCHEMA: &str = "leastaction/maximal/1";

/// Reads a reference file of this schema.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read(value: &Value) -> Result<GoldenCase, Diagnostic> {
    let mut model = model(value)?;
    add_controls(value, &mut model)?;
    add_extras(value, &mut model)?;
    let start = start(value, &model)?;
    model.states.insert(samples::START.into(), start);
    let steps = at(value, "/steps")?.as_u64().unwrap_or(0) as usize;
    let controls = at(value, "/controls")?.as_array().cloned().unwrap_or_default();
    let row: Vec<f64> = controls.iter().map(|c| c["value"].as_f64().unwrap_or(0.0)).collect();
    let composition = match numbers(value, "/composition")?.len() {
        1 => None,
        3 => Some("yoshida"),
        5 => Some("suzuki"),
        _ => return Err(wrong("/composition", "one, three or five substeps are known")),
    };
    let rotation_map = match at(value, "/rotation_map")?.as_str() {
        Some("sine") => "sine",
        Some("cayley") => "cayley",
        _ => return Err(wrong("/rotation_map", "it is neither `sine` nor `cayley`")),
    };
    Ok(GoldenCase {
        model,
        integrator: "maximal",
        order: if composition.is_some() { 4 } else { 2 },
        rotation_map: Some(rotation_map),
        composition,
        step: at(value, "/dt")?.as_f64().unwrap_or(0.0),
        steps,
        inputs: if row.is_empty() { Vec::new() } else { vec![row; steps] },
    })
}

pub(super) fn list<'v>(value: &'v Value, pointer: &str) -> Result<&'v [Value], Diagnostic> {
    let found = at(value, pointer)?.as_array();
    found.map(Vec::as_slice).ok_or_else(|| wrong(pointer, "it is not a list"))
}

pub(super) fn wrong(pointer: &str, message: &str) -> Diagnostic {
    Diagnostic::error(pointer, message, "take an unchanged reference file")
}

fn three(value: &Value, pointer: &str) -> Result<[f64; 3], Diagnostic> {
    numbers(value, pointer)?.try_into().map_err(|_| wrong(pointer, "three numbers are needed"))
}

fn placement(value: &Value, pointer: &str) -> Result<Placement, Diagnostic> {
    let q = numbers(value, &format!("{pointer}/q"))?;
    let q = q.try_into().map_err(|_| wrong(pointer, "four numbers are needed"))?;
    Ok(Placement { p: three(value, &format!("{pointer}/p"))?, q })
}

fn body_name(value: &Value, pointer: &str) -> Result<String, Diagnostic> {
    let index = at(value, pointer)?.as_i64().ok_or_else(|| wrong(pointer, "it is not an index"))?;
    Ok(if index < 0 { WORLD.to_owned() } else { format!("body{index}") })
}

/// Velocity coordinate that `rot` or `trans` means.
pub(super) fn coordinate(kind: JointType, name: Option<&str>) -> usize {
    usize::from(kind == JointType::Cylindrical && name == Some("trans"))
}

/// Bodies and joints.
pub(super) fn model(value: &Value) -> Result<ModelDescription, Diagnostic> {
    let mut model = ModelDescription::new(value["name"].as_str().unwrap_or("reference"));
    model.gravity = three(value, "/gravity")?;
    for i in 0..list(value, "/bodies")?.len() {
        let j = numbers(value, &format!("/bodies/{i}/inertia"))?;
        if j.len() != 9 {
            return Err(wrong(&format!("/bodies/{i}/inertia"), "nine numbers are needed"));
        }
        model.bodies.push(BodyDescription {
            name: format!("body{i}"),
            mass: at(value, &format!("/bodies/{i}/mass"))?.as_f64().unwrap_or(0.0),
            inertia: [j[0], j[4], j[8], j[1], j[2], j[5]],
            ..Default::default()
        });
    }
    for (i, joint) in list(value, "/joints")?.iter().enumerate() {
        let kind: JointType = serde_json::from_value(joint["type"].clone())
            .map_err(|_| wrong(&format!("/joints/{i}/type"), "the joint type is not known"))?;
        let here = |key: &str| format!("/joints/{i}/{key}");
        let (parent, child) = (body_name(value, &here("parent"))?, body_name(value, &here("child"))?);
        let mut made = JointDescription::new(format!("joint{i}"), kind, parent, child);
        made.parent_placement = placement(value, &here("parent_placement"))?;
        made.child_placement = placement(value, &here("child_placement"))?;
        let has_axis = !matches!(kind, JointType::Spherical | JointType::Floating);
        if has_axis && joint.get("axis").is_some() {
            made.axis = Some(three(value, &here("axis"))?);
        }
        if kind == JointType::Universal {
            made.axis2 = Some(three(value, &here("axis2"))?);
        }
        let c = coordinate(kind, joint["coordinate"].as_str());
        let at_coordinate = |x: f64| {
            let mut list = vec![0.0; kind.nv()];
            list[c] = x;
            PerCoordinate::Each(list)
        };
        if let Some(spring) = joint.get("spring").filter(|s| !s.is_null()) {
            made.spring = Some(SpringDescription {
                stiffness: at_coordinate(spring["stiffness"].as_f64().unwrap_or(0.0)),
                rest: at_coordinate(spring["rest"].as_f64().unwrap_or(0.0)),
            });
        }
        if let Some(damper) = joint.get("damper").filter(|d| !d.is_null()) {
            made.damping = at_coordinate(damper["damping"].as_f64().unwrap_or(0.0));
        }
        if let Some(armature) = joint["armature"].as_f64() {
            made.armature = at_coordinate(armature);
        }
        model.joints.push(made);
    }
    Ok(model)
}

/// Inputs: one per control.
fn add_controls(value: &Value, model: &mut ModelDescription) -> Result<(), Diagnostic> {
    for (k, control) in list(value, "/controls")?.iter().enumerate() {
        let index = control["joint"].as_u64().unwrap_or(u64::MAX) as usize;
        let joint =
            model.joints.get_mut(index).ok_or_else(|| wrong(&format!("/controls/{k}"), "no such joint"))?;
        let input = format!("u{k}");
        let coordinate = coordinate(joint.kind, control["coordinate"].as_str());
        joint.actuators.push(ActuatorDescription { input: input.clone(), coordinate, gear: 1.0 });
        model.inputs.push(input);
    }
    Ok(())
}

/// Knife edges and rolling discs.
pub(super) fn add_extras(value: &Value, model: &mut ModelDescription) -> Result<(), Diagnostic> {
    for (k, extra) in list(value, "/extras")?.iter().enumerate() {
        let here = |key: &str| format!("/extras/{k}/{key}");
        let (name, body) = (format!("extra{k}"), body_name(value, &here("body"))?);
        model.constraints.push(match extra["kind"].as_str() {
            Some("knife") => {
                ConstraintDescription::KnifeEdge { name, body, direction: three(value, &here("direction"))? }
            }
            Some("rollingdisc") => ConstraintDescription::RollingDisc {
                name,
                body,
                axis: three(value, &here("axis"))?,
                radius: at(value, &here("radius"))?.as_f64().unwrap_or(0.0),
            },
            _ => return Err(wrong(&here("kind"), "the kind is not known")),
        });
    }
    Ok(())
}

/// World pose, quaternion and velocity (angular world, linear of the body origin) of every body at the start.
struct BodyStart {
    q: Quat,
    pose: Pose,
    twist: Twist, // world axes, about the world origin
}

fn body_starts(value: &Value, mechanism: &Mechanism) -> Result<Vec<BodyStart>, Diagnostic> {
    let read = |key: &str| numbers(value, &format!("/initial/{key}"));
    let (q, x, omega, v) = (read("q")?, read("x")?, read("omega_body")?, read("v")?);
    let mut out = Vec::new();
    for body in mechanism.bodies() {
        let i: usize = body.name.trim_start_matches("body").parse().unwrap_or(usize::MAX);
        let take3 = |list: &[f64]| list.get(3 * i..3 * i + 3).map(|s| Vec3([s[0], s[1], s[2]]));
        let (Some(q), Some(x), Some(omega), Some(v)) =
            (q.get(4 * i..4 * i + 4), take3(&x), take3(&omega), take3(&v))
        else {
            return Err(wrong("/initial", "it does not have one state per body"));
        };
        let q = Quat::from_slice(q).normalized();
        let pose = Pose::from_quat(q, x);
        let ang = pose.rot * omega;
        out.push(BodyStart { q, pose, twist: Twist::new(ang, v + x.cross(ang)) });
    }
    Ok(out)
}

/// The state `initial` in joint coordinates.
pub(super) fn start(value: &Value, model: &ModelDescription) -> Result<StateDescription, Diagnostic> {
    let mechanism = MechanismBuilder::from(model.clone())
        .build()
        .map_err(|e| wrong("/", &format!("the model is not valid: {e}")))?;
    let bodies = body_starts(value, &mechanism)?;
    let ground = BodyStart { q: Quat::identity(), pose: Pose::identity(), twist: Twist::zero() };
    let mut state = StateDescription::default();
    for id in mechanism.tree_joints() {
        let joint = mechanism.joint(id);
        if joint.kind.nv() == 0 {
            continue;
        }
        let (a, b) = (joint.parent.map_or(&ground, |p| &bodies[p.index()]), &bodies[joint.child.index()]);
        let (frame_a, frame_b) = (a.pose * joint.parent_frame, b.pose * joint.child_frame);
        let (turn_a, turn_b) =
            (Quat::from_matrix(&joint.parent_frame.rot), Quat::from_matrix(&joint.child_frame.rot));
        let r = (a.q * turn_a).conj() * (b.q * turn_b);
        let d = frame_a.rot.tr_mul(frame_b.pos - frame_a.pos);
        let q = positions(joint.kind, r, d);
        // Relative twist in the child joint frame; the columns of every joint map are orthonormal.
        let relative = frame_b.inv_twist(b.twist - a.twist);
        let v: Vec<f64> = (0..joint.kind.nv())
            .map(|c| {
                let s = joint.kind.motion(&q, c);
                s.ang.dot(relative.ang) + s.lin.dot(relative.lin)
            })
            .collect();
        state.q.insert(joint.name.clone(), Coordinates::from(q.as_slice()));
        state.v.insert(joint.name.clone(), Coordinates::from(v.as_slice()));
    }
    Ok(state)
}

/// Position coordinates from the relative rotation and displacement of the aligned joint frames.
fn positions(kind: JointType, r: Quat, d: Vec3) -> Vec<f64> {
    let wrapped = |angle: f64| {
        use std::f64::consts::{PI, TAU};
        angle - TAU * ((angle - PI) / TAU).ceil()
    };
    let angle = wrapped(2.0 * r.v[2].atan2(r.w));
    match kind {
        JointType::Revolute | JointType::Continuous => vec![angle],
        JointType::Prismatic => vec![d[2]],
        JointType::Cylindrical => vec![angle, d[2]],
        JointType::Planar => vec![d[0], d[1], angle],
        JointType::Universal => {
            // Rz(q₀)Rx(q₁): the child's x axis seen from the parent, the parent's z axis seen from the child.
            let m = r.to_matrix();
            vec![m.0[1][0].atan2(m.0[0][0]), m.0[2][1].atan2(m.0[2][2])]
        }
        JointType::Spherical => r.to_array().to_vec(),
        JointType::Floating => [r.to_array().as_slice(), d.0.as_slice()].concat(),
        JointType::Fixed | JointType::PointOnLine => Vec::new(),
    }
}
