//! Model files: read, built, written again and stepped.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use leastaction::io::{LoadOptions, Reading, read_model, write_model_json, write_urdf};
use leastaction::mechanism::{Mechanism, ModelDescription};
use leastaction_study::model::Model;
use leastaction_study::run::Outcome;
use leastaction_study::settings::Settings;
use leastaction_study::simulation::{self, Given};

use crate::Target;

/// Readers of models.
pub const MODELS: &[Target] = &[
    Target { name: "urdf", endings: &[".urdf"], run: model },
    Target { name: "mjcf", endings: &[".xml"], run: model },
    Target { name: "sdf", endings: &[".sdf"], run: model },
    Target { name: "json", endings: &[".json"], run: model },
];

/// Larger models are read and built, not stepped.
const MOST_BODIES: usize = 60;
const STEPS: f64 = 4.0;

/// Bytes as a model: what builds must survive its own JSON, be writable as URDF or refused, and step to finite numbers.
fn model(bytes: &[u8], name: &Path) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let Ok(mut reading) = read_model(text, name, &LoadOptions::default()) else { return Ok(()) };
    let built = reading.build();
    explained(&reading)?;
    let (Some(mechanism), Some(description)) = (built, reading.description.clone()) else {
        return if reading.has_errors() {
            Ok(())
        } else {
            Err("nothing was built and nothing is said".into())
        };
    };
    survives_json(&description)?;
    let _ = write_urdf(&description);
    if mechanism.bodies().len() > MOST_BODIES {
        return Ok(());
    }
    let case = None;
    steps(Model { slug: "fuzz".into(), description, reading, case }, mechanism)
}

/// Every problem has words and a place inside a text.
fn explained(reading: &Reading) -> Result<(), String> {
    for problem in &reading.diagnostics {
        if problem.message.is_empty() {
            return Err("a problem without words".into());
        }
        if problem.to_string().chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            return Err(format!("control characters reach the terminal: {:?}", problem.to_string()));
        }
    }
    Ok(())
}

fn survives_json(description: &ModelDescription) -> Result<(), String> {
    let text = write_model_json(description);
    let reading = leastaction::io::read_model_json(&text, Path::new("again.json"));
    match reading.description {
        Some(again) if write_model_json(&again) == text => Ok(()),
        Some(_) => Err("its JSON reads as another model".into()),
        None => Err(format!(
            "its own JSON is refused: {}",
            reading.diagnostics.first().map(ToString::to_string).unwrap_or_default()
        )),
    }
}

/// A short run as `simulate` makes it: finite rows or a typed end.
fn steps(model: Model, mechanism: Mechanism) -> Result<(), String> {
    let settings = Settings {
        model: Some("fuzz".into()),
        step: Some(0.005),
        duration: Some(0.005 * STEPS),
        report: Some(false),
        ..Settings::default()
    };
    let Ok(prepared) = simulation::prepare(settings, model, mechanism, Given::default()) else {
        return Ok(());
    };
    let Ok((plan, _)) = prepared.plan() else { return Ok(()) };
    let (mut rows, mut finite) = (0, true);
    let done = prepared.run(plan, &AtomicBool::new(false), &mut |_| {}, &mut |row: &[f64]| {
        rows += 1;
        finite &= row.iter().all(|x| x.is_finite());
        Ok(())
    });
    let Ok(done) = done else { return Ok(()) };
    let _ = done.summary(&prepared);
    match done.finished.outcome {
        Outcome::Done if !finite => {
            Err(format!("a run ends well with numbers that are not finite in {rows} rows"))
        }
        _ => Ok(()),
    }
}
