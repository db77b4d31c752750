//! MJCF: what is read means what MuJoCo means by it; what is wrong is said with file, line, element and remedy.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use leastaction::io::mjcf::{MjcfOptions, read_mjcf};
use leastaction::io::{Diagnostic, Reading, Severity};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{JointType, Mechanism, MechanismBuilder, ModelDescription};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// The MJCF files of a folder of tests, sorted.
fn files(name: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "xml"))
        .collect();
    files.sort();
    files
}

/// Reads a file under its bare name, so that messages are the same everywhere.
fn read_file(path: &Path) -> Reading {
    let text = fs::read_to_string(path).unwrap();
    read_text(&text, path.file_name().unwrap().as_ref(), path.parent().unwrap())
}

fn read_text(text: &str, name: &Path, folder: &Path) -> Reading {
    let folder = folder.to_owned();
    let read_file = Box::new(move |path: &Path| {
        let missing = |_| std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        fs::read_to_string(folder.join(path)).map_err(missing)
    });
    read_mjcf(text, name, &MjcfOptions { read_file, ..Default::default() })
}

fn read(text: &str) -> Reading {
    read_text(text, Path::new("model.xml"), Path::new("nowhere"))
}

/// Reads and builds: the problems of both, and the mechanism if there is no error.
fn load(mut reading: Reading) -> (Vec<Diagnostic>, Option<Mechanism>) {
    let mechanism = reading.build();
    (reading.diagnostics, mechanism)
}

#[test]
fn every_bad_file_gets_exactly_the_message_on_record() {
    let files = files("bad_input_mjcf");
    assert!(files.len() >= 60, "the corpus is incomplete: {} files", files.len());
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for path in files {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (diagnostics, mechanism) = load(read_file(&path));
        for d in &diagnostics {
            assert!(!d.remedy.is_empty(), "{name}: no remedy: {d}");
            assert!(d.at.is_some(), "{name}: no place: {d}");
        }
        let errors = diagnostics.iter().filter(|d| d.severity == Severity::Error).count();
        if name.starts_with("listed_") {
            assert!(
                errors == 0 && !diagnostics.is_empty() && mechanism.is_some(),
                "{name}: {diagnostics:#?}"
            );
        } else {
            assert!(errors > 0 && mechanism.is_none(), "{name} is accepted: {diagnostics:#?}");
        }
        let said: String = diagnostics.iter().map(|d| format!("{d}\n")).collect();
        let record = path.with_extension("expected");
        if update {
            fs::write(&record, &said).unwrap();
        }
        let expected = fs::read_to_string(&record).unwrap_or_default();
        if said != expected {
            wrong.push(format!("--- {name}\nsaid:\n{said}\non record:\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "UPDATE_SNAPSHOTS=1 rewrites the record\n{}", wrong.join("\n"));
}

#[test]
fn our_own_files_load_without_errors() {
    for path in files("mjcf") {
        let (diagnostics, mechanism) = load(read_file(&path));
        assert!(mechanism.is_some(), "{}: {diagnostics:#?}", path.display());
    }
}
