//! Reference files of steps with contact, schema `leastaction/contact/1`, and of their derivatives.
//!
//! Bodies and joints are those of the maximal-coordinate files; contacts are given one by one, joint limits among them.

use serde_json::Value;

use super::maximal::{self, list, wrong};
use super::{GoldenCase, at, numbers};
use crate::Diagnostic;
use crate::mechanism::{Contact, LimitsDescription, Mechanism, ModelDescription, PerCoordinate, samples};
use crate::spatial::Vec3;
use leastaction_core::contact::{Against, ContactSettings, Impacts, Sliding, Tip};

/// The schema key.
pub const SCHEMA: &str = "leastaction/contact/1";
/// That of derivatives of single steps.
pub const DERIVATIVE_SCHEMA: &str = "leastaction/contact_derivative/1";

/// A reference run with contact.
#[derive(Clone, Debug)]
pub struct ContactCase {
    /// Model and run; the model has the joint limits.
    pub case: GoldenCase,
    /// How contacts are stepped.
    pub settings: ContactSettings,
}

/// Reads a reference file of this schema.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read(value: &Value) -> Result<ContactCase, Diagnostic> {
    let mut model = model(value)?;
    let start = maximal::start(value, &model)?;
    model.states.insert(samples::START.into(), start);
    let settings = settings(value)?;
    let case = GoldenCase {
        model,
        integrator: "maximal",
        order: 2,
        rotation_map: None,
        composition: None,
        step: at(value, "/dt")?.as_f64().unwrap_or(0.0),
        steps: at(value, "/steps")?.as_u64().unwrap_or(0) as usize,
        inputs: Vec::new(),
    };
    Ok(ContactCase { case, settings })
}

/// One case of a file of derivatives: a single step. The start is a node of a run, lengths and speeds are those of the runs.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn read_derivative(case: &Value) -> Result<ContactCase, Diagnostic> {
    let mut value = case.clone();
    value["initial"] = at(case, "/start")?.clone();
    let mut model = model(&value)?;
    if value.get("extras").is_some() {
        maximal::add_extras(&value, &mut model)?;
    }
    let start = maximal::start(&value, &model)?;
    model.states.insert(samples::START.into(), start);
    let settings = if value.get("options").is_some() {
        settings(&value)?
    } else {
        ContactSettings {
            closed_gap: Some(1e-9),
            rest_speed: Some(1e-2),
            slide_speed: Some(1e-7),
            recovery_speed: Some(0.1),
            ..ContactSettings::default()
        }
    };
    let rotation_map = match at(&value, "/rotation_map")?.as_str() {
        Some("sine") => "sine",
        Some("cayley") => "cayley",
        _ => return Err(wrong("/rotation_map", "it is neither `sine` nor `cayley`")),
    };
    let case = GoldenCase {
        model,
        integrator: "maximal",
        order: 2,
        rotation_map: Some(rotation_map),
        composition: None,
        step: at(&value, "/dt")?.as_f64().unwrap_or(0.0),
        steps: 1,
        inputs: Vec::new(),
    };
    Ok(ContactCase { case, settings })
}

/// How contacts are stepped.
fn settings(value: &Value) -> Result<ContactSettings, Diagnostic> {
    let option = |key: &str| at(value, &format!("/options/{key}")).map(|v| v.as_f64());
    Ok(ContactSettings {
        impacts: Some(match at(value, "/options/impacts")?.as_str() {
            Some("located") => Impacts::Located,
            _ => Impacts::Stepped,
        }),
        sliding: Some(match at(value, "/options/sliding")?.as_str() {
            Some("implicit") => Sliding::Implicit,
            _ => Sliding::Symmetric,
        }),
        turns: None,
        closed_gap: option("closed_gap")?,
        rest_speed: option("rest_speed")?,
        slide_speed: option("slide_speed")?,
        recovery_speed: option("recovery_speed")?,
        located_gap: option("located_gap")?,
        max_events: option("max_events")?.map(|x| x as u32),
    })
}

/// The model of a file or of a case of the derivative file, with its joint limits.
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn model(value: &Value) -> Result<ModelDescription, Diagnostic> {
    let mut model = maximal::model(value)?;
    for (k, contact) in list(value, "/contacts")?.iter().enumerate() {
        if contact["kind"] != "joint_limit" {
            continue;
        }
        let index = contact["joint"].as_u64().unwrap_or(u64::MAX) as usize;
        let joint =
            model.joints.get_mut(index).ok_or_else(|| wrong(&format!("/contacts/{k}"), "no such joint"))?;
        let limits = joint.limits.get_or_insert_with(LimitsDescription::default);
        let bound = contact["value"].as_f64().map(PerCoordinate::One);
        if contact["side"] == "lower" {
            limits.lower = bound;
        } else {
            limits.upper = bound;
        }
        limits.restitution = contact["restitution"].as_f64().filter(|e| *e > 0.0);
    }
    Ok(model)
}

/// Contacts of a file on its mechanism, and for each contact of the file which it is: a contact, or a limit by velocity coordinate
/// and sign (+1 lower, −1 upper).
///
/// # Errors
/// A diagnostic naming what is missing or wrong.
pub fn contacts(value: &Value, mechanism: &Mechanism) -> Result<(Vec<Contact>, Vec<Place>), Diagnostic> {
    let mut made = Vec::new();
    let mut places = Vec::new();
    for (k, contact) in list(value, "/contacts")?.iter().enumerate() {
        let here = |key: &str| format!("/contacts/{k}/{key}");
        let three = |key: &str| -> Result<Vec3, Diagnostic> {
            let x = numbers(value, &here(key))?;
            Ok(Vec3(x.try_into().map_err(|_| wrong(&here(key), "three numbers are needed"))?))
        };
        let one = |key: &str| {
            at(value, &here(key))?.as_f64().ok_or_else(|| wrong(&here(key), "it is not a number"))
        };
        let body = |key: &str| -> Result<_, Diagnostic> {
            let index = at(value, &here(key))?.as_i64().unwrap_or(-1);
            Ok(mechanism.body_by_name(&format!("body{index}")))
        };
        if contact["kind"] == "joint_limit" {
            let joint = mechanism
                .joint_by_name(&format!("joint{}", contact["joint"].as_u64().unwrap_or(0)))
                .ok_or_else(|| wrong(&here("joint"), "no such joint"))?;
            let joint = mechanism.joint(joint);
            let part = maximal::coordinate(joint.kind, contact["coordinate"].as_str());
            let sign = if contact["side"] == "lower" { 1.0 } else { -1.0 };
            places.push(Place::Limit(joint.v + part, sign));
            continue;
        }
        let against = match contact["kind"].as_str() {
            Some("sphere_halfspace") => {
                Against::HalfSpace { normal: three("normal")?, offset: one("offset")? }
            }
            Some("sphere_face") => Against::Face { normal: three("normal_b")?, offset: one("offset_b")? },
            Some("sphere_sphere") => Against::Sphere { center: three("center_b")?, radius: one("radius_b")? },
            Some("sphere_capsule") => {
                let p = numbers(value, &here("segment_b"))?;
                if p.len() != 6 {
                    return Err(wrong(&here("segment_b"), "two points are needed"));
                }
                let segment = [Vec3([p[0], p[1], p[2]]), Vec3([p[3], p[4], p[5]])];
                Against::Capsule { segment, radius: one("radius_b")? }
            }
            _ => return Err(wrong(&here("kind"), "the kind of contact is not known")),
        };
        let other = if let Against::HalfSpace { .. } = against { None } else { body("body_b")? };
        places.push(Place::Contact(made.len()));
        made.push(Contact {
            body: body("body_a")?,
            center: three("center_a")?,
            tip: Tip::Sphere { radius: one("radius_a")? },
            other,
            against,
            friction: one("friction")?,
            restitution: one("restitution")?,
            pair: k,
        });
    }
    Ok((made, places))
}

/// Where a contact of a file is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// Contact of the mechanism.
    Contact(usize),
    /// Limit of a velocity coordinate, with its sign.
    Limit(usize, f64),
}
