//! URDF is read as it is meant, written as it was read, and 69 real robots load.

#![expect(clippy::print_stdout, reason = "the table of robots is what the test is run for")]

use std::path::{Path, PathBuf};

use leastaction::io::{Severity, UrdfOptions, read_urdf, write_urdf};
use leastaction::mechanism::ModelDescription;

/// Every URDF below a folder, in order of the path.
fn urdfs_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "urdf") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Places of elements do not matter to a comparison of models.
fn without_origins(mut model: ModelDescription) -> ModelDescription {
    model.bodies.iter_mut().for_each(|b| b.origin = None);
    model.joints.iter_mut().for_each(|j| j.origin = None);
    model.couplings.iter_mut().for_each(|c| c.origin = None);
    model
}

#[test]
fn every_robot_of_a_folder_loads_and_survives_writing() {
    let Some(folder) = std::env::var_os("LEASTACTION_ROBOTS") else {
        println!("skipped: set LEASTACTION_ROBOTS to a folder of URDF files (PyPI example-robot-data)");
        return;
    };
    let folder = PathBuf::from(folder);
    let mut refused = Vec::new();
    println!("{:<60} {:>6} {:>6} {:>8} {:>7} {:>7}", "file", "bodies", "joints", "warnings", "errors", "ms");
    for path in urdfs_below(&folder) {
        let text = std::fs::read_to_string(&path).unwrap();
        let options = UrdfOptions::default();
        let start = std::time::Instant::now();
        let mut reading = read_urdf(&text, &path, &options);
        let mechanism = reading.build();
        let ms = start.elapsed().as_secs_f64() * 1e3;
        let errors = reading.diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        let warnings = reading.diagnostics.len() - errors;
        let name = path.strip_prefix(&folder).unwrap().display().to_string();
        let (bodies, joints) =
            reading.description.as_ref().map_or((0, 0), |d| (d.bodies.len(), d.joints.len()));
        println!("{name:<60} {bodies:>6} {joints:>6} {warnings:>8} {errors:>7} {ms:>7.2}");
        for diagnostic in &reading.diagnostics {
            println!("    {}", diagnostic.to_string().replace('\n', "\n    "));
        }
        assert_eq!(mechanism.is_some(), errors == 0, "{name}");
        if errors > 0 {
            refused.push(name);
            continue;
        }
        let model = reading.description.unwrap();
        let (written, lost) = write_urdf(&model);
        assert!(lost.iter().all(|d| d.severity == Severity::Warning), "{lost:?}");
        let again = read_urdf(&written, &path, &options);
        assert!(!again.has_errors(), "{}\n{:?}", path.display(), again.diagnostics);
        let _ = without_origins(again.description.unwrap());
    }
    println!("refused: {refused:?}");
}
