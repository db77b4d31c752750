//! Everything that is read besides models: scenarios, problems, states, tables, recordings, meshes.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use leastaction::io::mesh::{Mesh, MeshInertia};
use leastaction::io::{LoadOptions, StateFile, load_model, read_trajectory_csv, read_trajectory_npz};
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction_study::problem::{self, control_file};
use leastaction_study::recording::{self, ReadOptions};
use leastaction_study::{policy, scenario};

use crate::Target;

/// Readers of other files.
pub const FILES: &[Target] = &[
    Target { name: "scenario", endings: &[".toml"], run: read_scenario },
    Target { name: "problem", endings: &[".toml"], run: read_problem },
    Target { name: "state", endings: &["state.json"], run: read_state },
    Target { name: "policy", endings: &["policy.json"], run: read_policy },
    Target { name: "csv", endings: &[".csv"], run: read_csv },
    Target { name: "npz", endings: &[".npz"], run: read_npz },
    Target { name: "recording", endings: &[".mot", ".sto", ".trc", ".c3d", ".csv"], run: read_recording },
    Target { name: "mesh", endings: &[".stl", ".obj", ".msh", ".dae", ".glb"], run: read_mesh },
];

/// A folder for the bytes of one execution, beside the models that problem files name. Every thread has its own: a thread
/// that ends takes its folder with it.
struct Desk(PathBuf);

impl Desk {
    fn new() -> Self {
        static DESKS: AtomicU64 = AtomicU64::new(0);
        let number = DESKS.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("leastaction-fuzz-{}-{number}", std::process::id()));
        let files = folder.join("examples");
        let _ = std::fs::create_dir_all(&files);
        #[cfg(unix)]
        let _ = std::os::unix::fs::symlink(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models"),
            folder.join("models"),
        );
        Self(folder)
    }
    fn put(&self, bytes: &[u8], name: &Path) -> Result<PathBuf, String> {
        let ending = name.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let path = self.0.join("examples").join(ending);
        std::fs::write(&path, bytes).map_err(|error| format!("the fuzzer can't write: {error}"))?;
        Ok(path)
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

thread_local! {
    static DESK: RefCell<Option<Desk>> = const { RefCell::new(None) };
}

fn on_desk(bytes: &[u8], name: &Path, read: impl FnOnce(&Path) -> Result<(), String>) -> Result<(), String> {
    DESK.with_borrow_mut(|desk| {
        let path = desk.get_or_insert_with(Desk::new).put(bytes, name)?;
        let outcome = read(&path);
        let _ = std::fs::remove_file(path);
        outcome
    })
}

fn pendulum() -> Mechanism {
    MechanismBuilder::from(samples::chain(2)).build().expect("a sample is valid")
}

/// The model that the policies of the corpus were made for.
fn motor_pendulum() -> Option<Mechanism> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/pendulum.json");
    load_model(&path, &LoadOptions::default()).ok()?.build()
}

fn expect_finite<'a>(what: &str, numbers: impl IntoIterator<Item = &'a f64>) -> Result<(), String> {
    match numbers.into_iter().find(|x| !x.is_finite()) {
        Some(x) => Err(format!("{what} that was taken holds {x}")),
        None => Ok(()),
    }
}

fn read_scenario(bytes: &[u8], name: &Path) -> Result<(), String> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    match scenario::parse(text, name) {
        Err(problems) if problems.is_empty() => Err("refused without a word".into()),
        _ => Ok(()),
    }
}

fn read_problem(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        let _ = control_file::load(path);
        if let Ok(file) = problem::load(path) {
            expect_finite("a problem", &file.weights())?;
        }
        Ok(())
    })
}

fn read_state(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        let Ok(file) = StateFile::read(path) else { return Ok(()) };
        let Ok(state) = file.state(&pendulum(), path) else { return Ok(()) };
        expect_finite("a state", state.q.iter().chain(&state.v))
    })
}

fn read_policy(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        let Ok(policy) = policy::read(path) else { return Ok(()) };
        let Some(mechanism) = motor_pendulum() else {
            return Err("the model of the policies is gone".into());
        };
        if policy.fits(&mechanism).is_ok() {
            let mut out = vec![0.0; mechanism.nu()];
            for k in [0, 1, 1 << 40] {
                policy.input(&mechanism, k, &mechanism.neutral_state(), true, &mut out);
            }
        }
        Ok(())
    })
}

fn read_csv(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        let _ = read_trajectory_csv(path);
        Ok(())
    })
}

fn read_npz(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        let _ = read_trajectory_npz(path);
        Ok(())
    })
}

fn read_recording(bytes: &[u8], name: &Path) -> Result<(), String> {
    on_desk(bytes, name, |path| {
        for degrees in [false, true] {
            let options = ReadOptions { degrees, y_up: degrees };
            if let Ok(recording) = recording::read(path, &pendulum(), options) {
                expect_finite("a recording", &recording.configurations(&pendulum()))?;
            }
        }
        Ok(())
    })
}

fn read_mesh(bytes: &[u8], name: &Path) -> Result<(), String> {
    let ending = name.extension().map(|e| e.to_string_lossy().into_owned()).unwrap_or_default();
    let Some(Ok(mesh)) = Mesh::parse(bytes, &ending) else { return Ok(()) };
    let Ok(mesh) = mesh.checked() else { return Ok(()) };
    let _ = mesh.open_edges();
    let _ = mesh.thinned(50);
    for how in [MeshInertia::Exact, MeshInertia::Legacy, MeshInertia::Shell] {
        if let Ok(found) = mesh.mass_properties(how) {
            expect_finite("a mass", [found.mass].iter().chain(&found.com))?;
        }
    }
    Ok(())
}
