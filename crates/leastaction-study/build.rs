//! Bundles the report's viewer (`assets/viewer`) with three and uPlot into one script.
//!
//! Everything happens in `OUT_DIR`: the sources are copied there, `npm ci` fetches what the lock file
//! names, esbuild makes the bundle, and the packages are deleted again. When any of that is not possible
//! (no Node.js, no network, `LEASTACTION_NO_NPM` set) the build goes on without a viewer: reports then
//! have SVG plots and say how to get the 3-D view.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SOURCES: &str = "assets/viewer";
const SWITCH: &str = "LEASTACTION_NO_NPM";
/// A network that hangs must not hang the build.
const PATIENCE: Duration = Duration::from_secs(180);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={SWITCH}");
    let manifest_dir = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let sources = manifest_dir.join(SOURCES);
    // Page and style are read by `include_str!`; only these make the bundle.
    for part in ["src", "package.json", "package-lock.json", ".npmrc"] {
        println!("cargo::rerun-if-changed={}", sources.join(part).display());
    }

    let viewer = if switched_off() { Ok(None) } else { bundle(&sources, &out_dir.join("viewer")).map(Some) };
    let expression = match viewer {
        Ok(Some(())) => "Some(include_str!(concat!(env!(\"OUT_DIR\"), \"/viewer/viewer.js\")))",
        Ok(None) => "None",
        Err(reason) => {
            println!(
                "cargo::warning=reports will have no 3-D view: {reason} (needs Node.js 18 or newer and access to \
                 the npm registry; `touch crates/leastaction-study/build.rs` tries again, {SWITCH}=1 silences this)"
            );
            "None"
        }
    };
    fs::write(out_dir.join("viewer.in"), expression).expect("OUT_DIR is writable");
}

fn switched_off() -> bool {
    std::env::var_os(SWITCH).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Makes `viewer.js` in the folder `work`, or says in one line why not.
fn bundle(sources: &Path, work: &Path) -> Result<(), String> {
    let prepared = match fs::remove_dir_all(work) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => copy(sources, work),
    };
    prepared.map_err(|error| format!("could not copy the viewer: {error}"))?;

    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    // Few and short retries: a build without network should notice quickly.
    let fetch = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"];
    let mut install = Command::new(npm);
    install.args([
        "ci",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        "--prefer-offline",
        "--loglevel=error",
    ]);
    run(install.args(fetch).current_dir(work), work)?;

    let mut esbuild = Command::new("node");
    esbuild.args([
        "node_modules/esbuild/bin/esbuild",
        "src/main.js",
        "--bundle",
        "--minify",
        "--format=iife",
        "--target=es2020",
        "--charset=utf8",
        "--loader:.css=text",
        // Keeps the licence lines of the packages.
        "--legal-comments=inline",
        "--log-level=error",
        "--outfile=viewer.js",
    ]);
    run(esbuild.current_dir(work), work)?;
    // 35 MB that nothing reads again.
    let _ = fs::remove_dir_all(work.join("node_modules"));
    Ok(())
}

/// Runs a command to its end or to the end of our patience.
fn run(command: &mut Command, work: &Path) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    // Into files: a full pipe that nobody reads would stop the command.
    let log = work.join("build.log");
    let sink = || fs::File::options().create(true).append(true).open(&log).map_err(|error| error.to_string());
    command.stdin(Stdio::null()).stdout(sink()?).stderr(sink()?);
    let mut child = command.spawn().map_err(|error| format!("`{name}` did not start: {error}"))?;
    let start = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("`{name}` failed ({status}), see {}", log.display())),
            Ok(None) if start.elapsed() < PATIENCE => sleep(Duration::from_millis(50)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("`{name}` took longer than {} s", PATIENCE.as_secs()));
            }
            Err(error) => return Err(format!("lost `{name}`: {error}")),
        }
    }
}

/// All files below a folder, except packages somebody installed there by hand.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if !path.is_dir() {
            files.push(path);
        } else if path.file_name().is_some_and(|name| name != "node_modules") {
            files.extend(files_below(&path)?);
        }
    }
    files.sort();
    Ok(files)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    for file in files_below(from)? {
        let target = to.join(file.strip_prefix(from).map_err(io::Error::other)?);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::copy(&file, &target)?;
    }
    Ok(())
}
