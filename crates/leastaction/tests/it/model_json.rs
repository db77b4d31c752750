//! The model format: what is written reads back to the same bits, and the published schema says what the reader does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use leastaction::contact::{ContactSettings, Impacts, Sliding, Turns};
use leastaction::io::{read_model_json, write_model_json};
use leastaction::mechanism::{
    ActivationDescription, ActivationKind, ActuatorDescription, Affine, BodyDescription,
    ConstraintDescription, ContactDescription, Coordinates, CouplingDescription, FrameDescription,
    HalfSpaceDescription, JointDescription, JointRole, JointType, LawDescription, LimitsDescription,
    MODEL_SCHEMA, MimicDescription, ModelDescription, MotionDescription, PerCoordinate, Placement,
    PushDescription, Shape, SpeedLineDescription, SpringDescription, StateDescription, SurfaceDescription,
    SurfaceShape, TendonDescription, TermDescription, ThrusterDescription, Visual,
};
use serde_json::{Map, Value};

/// A model that has every key of the format. It names every field, so that a new one can't be forgotten here.
fn full_model() -> ModelDescription {
    let placement = Placement { p: [0.1, 0.2, 0.3], q: [0.5, 0.5, -0.5, 0.5] };
    let shapes = vec![
        Shape::Box { size: [1.0, 2.0, 3.0] },
        Shape::Sphere { radius: 0.5 },
        Shape::Cylinder { radius: 0.5, length: 1.0 },
        Shape::Capsule { radius: 0.5, length: 1.0 },
        Shape::Ellipsoid { radii: [1.0, 2.0, 3.0] },
        Shape::Mesh { file: "arm \"β\".stl".into(), scale: [1.0, 1.0, 0.001] },
    ];
    let body = BodyDescription {
        name: "a".into(),
        mass: 1.0 / 3.0,
        com: [0.1 + 0.2, -0.0, 5e-324],
        inertia: [1.0, 1.0, 1.0, 1e-17, 2.5e-10, -1e-9],
        drag: 0.25,
        pushes: vec![PushDescription {
            input: "u".into(),
            wrench: [0.0, 0.5, 0.0, 1.0, 0.0, 0.0],
            point: [0.0, 0.1, 0.0],
        }],
        thrusters: vec![ThrusterDescription { input: "u".into(), wrench: [0.0, 0.0, 0.0, 0.0, 0.0, 1.0] }],
        visuals: shapes
            .into_iter()
            .map(|shape| Visual { shape, placement, rgba: Some([1.0, 0.5, 0.0, 1.0]) })
            .collect(),
        origin: None,
    };
    let joint = JointDescription {
        name: "j".into(),
        kind: JointType::Universal,
        parent: "world".into(),
        child: "a".into(),
        parent_placement: placement,
        child_placement: placement,
        axis: Some([1.0, 0.0, 0.0]),
        axis2: Some([0.0, 1.0, 0.0]),
        role: Some(JointRole::Tree),
        spring: Some(SpringDescription {
            stiffness: PerCoordinate::Each(vec![1.0, 2.0]),
            rest: PerCoordinate::Each(vec![0.1, -0.1]),
        }),
        damping: PerCoordinate::One(0.1),
        armature: PerCoordinate::One(0.2),
        friction: PerCoordinate::Each(vec![0.3, 0.4]),
        limits: Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-1.0)),
            upper: Some(PerCoordinate::Each(vec![1.0, 2.0])),
            velocity: Some(1.797_693_134_862_315_7e308),
            effort: Some(10.0),
            effort_range: Some([-1.0, 2.0]),
            restitution: Some(0.25),
        }),
        actuators: vec![ActuatorDescription { input: "u".into(), coordinate: 1, gear: 2.0 }],
        mimic: Some(MimicDescription { joint: "k".into(), multiplier: -1.0, offset: 0.5 }),
        origin: None,
    };
    let other = JointDescription::new("k", JointType::Spherical, "a", "b");
    let touching = [
        SurfaceShape::Sphere { radius: 0.1 },
        SurfaceShape::Capsule { radius: 0.1, length: 0.4 },
        SurfaceShape::Box { size: [0.1, 0.2, 0.3] },
        SurfaceShape::Cylinder { radius: 0.1, length: 0.4 },
        SurfaceShape::Ellipsoid { radii: [0.1, 0.2, 0.3] },
        SurfaceShape::Points { points: vec![[0.1, 0.2, 0.3], [0.0; 3]] },
    ];
    let named = SurfaceDescription {
        name: "pad".into(),
        placement,
        friction: 0.9,
        restitution: 0.1,
        bits: [2, 3],
        priority: 1,
        ..SurfaceDescription::new("b", SurfaceShape::Sphere { radius: 0.2 })
    };
    ModelDescription {
        schema: MODEL_SCHEMA.into(),
        name: "full".into(),
        gravity: [0.0, 0.0, -9.806_65],
        wind: [1.0, 0.0, 0.0],
        inputs: vec!["u".into()],
        laws: vec![LawDescription {
            input: "u".into(),
            gain: Affine::Constant(3.0),
            bias: Affine::Of([0.5, -3.0, -0.25]),
            control_range: Some([-1.0, 1.5]),
            force_range: Some([-7.0, 8.0]),
            speed_line: Some(SpeedLineDescription { stall: 4.0, free_speed: 30.0 }),
            rotor_inertia: 1e-4,
            activation: Some(ActivationDescription {
                kind: ActivationKind::Filter,
                time_constant: 0.05,
                range: Some([-2.0, 2.0]),
            }),
            origin: None,
        }],
        bodies: vec![body, BodyDescription { name: "b".into(), mass: 1.0, ..BodyDescription::default() }],
        joints: vec![joint, other],
        constraints: vec![
            ConstraintDescription::KnifeEdge {
                name: "k".into(),
                body: "a".into(),
                direction: [1.0, 0.0, 0.0],
            },
            ConstraintDescription::RollingDisc {
                name: "d".into(),
                body: "b".into(),
                axis: [0.0, 0.0, 1.0],
                radius: 0.3,
            },
        ],
        mocap: vec!["b".into()],
        motions: vec![MotionDescription {
            joint: "j".into(),
            speed: Some(2.0),
            from: 0.5,
            times: vec![0.0, 1.0],
            positions: vec![0.5, 2.5],
            origin: None,
        }],
        couplings: vec![CouplingDescription {
            name: "c".into(),
            joint: "j".into(),
            of: Some("k".into()),
            polynomial: vec![0.0, 1.0],
            reference: [0.1, 0.2],
            sum: vec![TermDescription { joint: "j".into(), coefficient: 2.0 }],
            value: 0.5,
            origin: None,
        }],
        tendons: vec![TendonDescription {
            name: "t".into(),
            terms: vec![TermDescription { joint: "j".into(), coefficient: -1.5 }],
            stiffness: 3.0,
            rest: 0.1,
            damping: 0.2,
            lower: Some(-0.4),
            upper: Some(0.6),
            origin: None,
        }],
        frames: vec![FrameDescription { name: "tip".into(), body: "a".into(), placement }],
        surfaces: touching
            .map(|shape| SurfaceDescription::new("a", shape))
            .into_iter()
            .chain([named])
            .collect(),
        half_spaces: vec![
            HalfSpaceDescription {
                name: "floor".into(),
                friction: 0.7,
                restitution: 0.2,
                bits: [2, 3],
                priority: 2,
                ..HalfSpaceDescription::ground()
            },
            HalfSpaceDescription { normal: [1.0, 0.0, 0.0], offset: -3.0, ..HalfSpaceDescription::ground() },
        ],
        contact: ContactDescription {
            pairs: vec![["a".into(), "floor".into()]],
            exclude: vec![["pad".into(), "b".into()]],
            settings: ContactSettings {
                impacts: Some(Impacts::Located),
                sliding: Some(Sliding::Implicit),
                turns: Some(Turns::Located),
                closed_gap: Some(1e-8),
                rest_speed: Some(0.02),
                slide_speed: Some(1e-6),
                recovery_speed: Some(0.2),
                located_gap: Some(1e-11),
                max_events: Some(4),
            },
            origin: None,
        },
        states: BTreeMap::from([(
            "start".into(),
            StateDescription {
                t: 0.5,
                q: BTreeMap::from([("k".into(), Coordinates::Many(vec![1.0, 0.0, 0.0, 0.0]))]),
                v: BTreeMap::from([
                    ("j".into(), Coordinates::Many(vec![0.1, 0.2])),
                    ("m".into(), Coordinates::One(1.0)),
                ]),
                act: BTreeMap::from([("u".into(), 0.125)]),
                inputs: BTreeMap::from([("u".into(), -0.5)]),
            },
        )]),
    }
}

fn without_origins(mut model: ModelDescription) -> ModelDescription {
    model.bodies.iter_mut().for_each(|b| b.origin = None);
    model.joints.iter_mut().for_each(|j| j.origin = None);
    model.laws.iter_mut().for_each(|l| l.origin = None);
    model.couplings.iter_mut().for_each(|c| c.origin = None);
    model.tendons.iter_mut().for_each(|t| t.origin = None);
    model.surfaces.iter_mut().for_each(|s| s.origin = None);
    model.half_spaces.iter_mut().for_each(|s| s.origin = None);
    model.contact.origin = None;
    model.motions.iter_mut().for_each(|motion| motion.origin = None);
    model
}

/// True if the reader takes it; the builder's checks are not asked.
fn is_read(value: &Value) -> bool {
    !read_model_json(&value.to_string(), Path::new("m.json")).has_errors()
}

#[test]
fn what_is_written_reads_back_to_the_same_bits() {
    let model = full_model();
    let text = write_model_json(&model);
    let reading = read_model_json(&text, Path::new("m.json"));
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let again = without_origins(reading.description.unwrap());
    assert_eq!(again, model);
    assert_eq!(write_model_json(&again), text);
    // Equality of floats is blind to the sign of zero.
    assert!(again.bodies[0].com[1].is_sign_negative());
}

#[test]
fn lists_of_numbers_stand_on_one_line() {
    let text = write_model_json(&full_model());
    assert!(text.contains("\"gravity\": [0.0, 0.0, -9.80665],\n"), "{text}");
    assert!(text.contains("\"inputs\": [\"u\"],\n"));
    assert!(text.ends_with("}\n") && !text.contains("[\n        1.0"));
    let odd = ModelDescription::new("a [\n");
    let read = read_model_json(&write_model_json(&odd), Path::new("m.json")).description.unwrap();
    assert_eq!(read.name, "a [\n");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_read() {
    let text = format!("\u{feff}{}", write_model_json(&full_model()).replace('\n', "\r\n"));
    let reading = read_model_json(&text, Path::new("m.json"));
    assert!(reading.diagnostics.is_empty(), "{:?}", reading.diagnostics);
    let body = &reading.description.unwrap().bodies[1];
    let at = reading.sources.locate(body.origin).unwrap();
    assert_eq!(at.excerpt, "\"name\": \"b\",");
}

#[test]
fn every_element_knows_its_line() {
    let text = write_model_json(&full_model());
    let reading = read_model_json(&text, Path::new("m.json"));
    let model = reading.description.unwrap();
    let line = |origin| reading.sources.locate(origin).unwrap().excerpt;
    assert_eq!(line(model.bodies[0].origin), "\"name\": \"a\",");
    assert_eq!(line(model.joints[0].origin), "\"name\": \"j\",");
    assert_eq!(line(model.joints[1].origin), "\"name\": \"k\",");
    assert_eq!(line(model.couplings[0].origin), "\"name\": \"c\",");
}

/// The published schema, with the few keywords it uses.
struct Schema(Value);

impl Schema {
    fn load() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/model-1.schema.json");
        Self(serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap())
    }

    fn resolve<'s>(&'s self, schema: &'s Value) -> &'s Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(path) => self.0.pointer(path.strip_prefix('#').unwrap()).unwrap(),
            None => schema,
        }
    }

    /// What is wrong with a value; `None` if nothing is.
    fn fault(&self, schema: &Value, value: &Value, path: &str) -> Option<String> {
        let schema = self.resolve(schema).as_object().unwrap();
        for (keyword, rule) in schema {
            let ok = match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" => true,
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "minItems" => value.as_array().is_none_or(|a| a.len() as u64 >= rule.as_u64().unwrap()),
                "maxItems" => value.as_array().is_none_or(|a| a.len() as u64 <= rule.as_u64().unwrap()),
                "minimum" => value.as_f64().is_none_or(|x| x >= rule.as_f64().unwrap()),
                "type" => match rule {
                    Value::Array(types) => types.iter().any(|t| has_type(value, t.as_str().unwrap())),
                    one => has_type(value, one.as_str().unwrap()),
                },
                "oneOf" => {
                    let choices = rule.as_array().unwrap();
                    choices.iter().filter(|c| self.fault(c, value, path).is_none()).count() == 1
                }
                "required" => {
                    let keys = rule.as_array().unwrap();
                    value.as_object().is_none_or(|o| keys.iter().all(|k| o.contains_key(k.as_str().unwrap())))
                }
                "items" => {
                    let entries = value.as_array().into_iter().flatten().enumerate();
                    if let Some(fault) =
                        entries.filter_map(|(i, v)| self.fault(rule, v, &format!("{path}/{i}"))).next()
                    {
                        return Some(fault);
                    }
                    true
                }
                "properties" | "additionalProperties" => {
                    if let Some(fault) = self.member_fault(schema, value, path) {
                        return Some(fault);
                    }
                    true
                }
                other => panic!("the schema uses `{other}`, which this test does not know"),
            };
            if !ok {
                return Some(format!("{path}: {keyword}"));
            }
        }
        None
    }

    fn member_fault(&self, schema: &Map<String, Value>, value: &Value, path: &str) -> Option<String> {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
        for (key, member) in value.as_object()? {
            let path = format!("{path}/{key}");
            let fault = match (properties.get(key), schema.get("additionalProperties")) {
                (Some(rule), _) => self.fault(rule, member, &path),
                (None, Some(Value::Bool(false)) | None) => Some(format!("{path}: unknown")),
                (None, Some(rule)) => self.fault(rule, member, &path),
            };
            if fault.is_some() {
                return fault;
            }
        }
        None
    }

    /// The object schema that describes a value, of the choices a schema gives.
    fn object_for<'s>(&'s self, schema: &'s Value, value: &Value) -> Option<&'s Map<String, Value>> {
        let schema = self.resolve(schema).as_object()?;
        if let Some(choices) = schema.get("oneOf").and_then(Value::as_array) {
            return choices
                .iter()
                .filter(|c| self.fault(c, value, "").is_none())
                .find_map(|c| self.object_for(c, value));
        }
        schema.contains_key("properties").then_some(schema)
    }
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other}"),
    }
}

/// Pointers of all objects in a value.
fn objects(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(path.to_owned());
            members.iter().for_each(|(key, member)| objects(member, &format!("{path}/{key}"), found));
        }
        Value::Array(entries) => {
            entries.iter().enumerate().for_each(|(i, entry)| objects(entry, &format!("{path}/{i}"), found));
        }
        _ => {}
    }
}

/// The schema of the object at a pointer.
fn schema_at<'s>(schema: &'s Schema, model: &Value, pointer: &str) -> Option<&'s Map<String, Value>> {
    let mut value = model;
    let mut rule = &schema.0;
    for step in pointer.split('/').skip(1) {
        rule = if value.is_array() {
            schema.resolve(rule).get("items")?
        } else {
            match schema.object_for(rule, value) {
                Some(object) => object["properties"].get(step)?,
                None => schema.resolve(rule).get("additionalProperties")?,
            }
        };
        value = value.pointer(&format!("/{step}"))?;
    }
    schema.object_for(rule, value)
}

#[test]
fn the_schema_holds_the_keys_of_the_format_and_no_others() {
    let schema = Schema::load();
    let model = serde_json::to_value(full_model()).unwrap();
    assert_eq!(schema.fault(&schema.0, &model, ""), None);
    // The keys of objects with the same schema, taken together, are the keys the schema has.
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut paths = Vec::new();
    objects(&model, "", &mut paths);
    for path in paths {
        let Some(object) = schema_at(&schema, &model, &path) else { continue };
        let id = Value::Object(object.clone()).to_string();
        let keys = model.pointer(&path).unwrap().as_object().unwrap().keys().cloned();
        seen.entry(id.clone()).or_default().extend(keys);
        known.entry(id).or_default().extend(object["properties"].as_object().unwrap().keys().cloned());
    }
    for (structure, keys) in &known {
        let met = &seen[structure];
        assert!(met == keys, "not the same: {:?}", met.symmetric_difference(keys));
    }
    // Structures, and one for each kind of shape, of surface and of constraint.
    assert_eq!(known.len(), 35);
}

#[test]
fn the_schema_and_the_reader_agree_on_what_must_may_and_must_not_be_there() {
    let schema = Schema::load();
    let model = serde_json::to_value(full_model()).unwrap();
    let mut paths = Vec::new();
    objects(&model, "", &mut paths);
    let mut tried = 0;
    for path in paths {
        let mut stranger = model.clone();
        let object = stranger.pointer_mut(&path).unwrap().as_object_mut().unwrap();
        let keys: Vec<String> = object.keys().cloned().collect();
        object.insert("stranger".into(), Value::Bool(true));
        assert!(
            !is_read(&stranger) && schema.fault(&schema.0, &stranger, "").is_some(),
            "stranger in {path}"
        );
        for key in keys {
            let mut less = model.clone();
            less.pointer_mut(&path).unwrap().as_object_mut().unwrap().remove(&key);
            assert_eq!(is_read(&less), schema.fault(&schema.0, &less, "").is_none(), "{path} without {key}");
            for wrong in
                [Value::Null, Value::Bool(true), Value::from("text"), Value::from(1.5), Value::Array(vec![])]
            {
                let mut other = model.clone();
                other.pointer_mut(&path).unwrap()[&key] = wrong.clone();
                let valid = schema.fault(&schema.0, &other, "").is_none();
                assert_eq!(is_read(&other), valid, "{path}/{key} = {wrong}");
            }
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn shipped_models_have_the_form_of_the_schema() {
    let schema = Schema::load();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = vec![root.join("tests/sound_input/arm.json")];
    if let Ok(models) = std::fs::read_dir(root.join("../../models")) {
        files
            .extend(models.map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|e| e == "json")));
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let model: Value = serde_json::from_str(&text).unwrap();
        if model["schema"] == MODEL_SCHEMA {
            assert_eq!(schema.fault(&schema.0, &model, ""), None, "{}", file.display());
        }
    }
}

#[test]
fn the_models_in_the_documentation_are_sound() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let text = std::fs::read_to_string(page).unwrap();
    let blocks: Vec<&str> =
        text.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let mut reading = read_model_json(block, Path::new("docs/formats.md"));
        let mechanism = reading.build();
        assert!(reading.diagnostics.is_empty() && mechanism.is_some(), "{:?}", reading.diagnostics);
    }
}
