//! Times beside older ones, and beside peers.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use leastaction_study::failure::{CHECK_FAILED, DONE, Failure};
use leastaction_study::listener::Listener;

/// The older times: one JSON object per line, as `bench` prints them.
#[derive(Debug)]
pub(crate) struct Baseline(Vec<Value>);

impl Baseline {
    /// Reads them.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = leastaction::io::read_text(path)
            .map_err(|error| Failure::caused_by(format!("can't read `{}`", path.display()), &error))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str);
        let values = lines.collect::<Result<Vec<Value>, _>>().map_err(|error| {
            Failure::caused_by(format!("`{}` is not what `bench` prints", path.display()), &error)
                .help("save the lines of an earlier run: `leastaction bench step @chain/10 > old.json`")
        })?;
        Ok(Self(values))
    }

    /// Old time of the same case.
    fn find(&self, now: &Value) -> Option<f64> {
        let same = |old: &Value| ["variant", "model", "n", "dt"].iter().all(|key| old[*key] == now[*key]);
        self.0.iter().find(|old| same(old)).and_then(|old| old["us"].as_f64())
    }

    /// Prints each ratio new over old; the exit code says whether one is above the threshold.
    pub(crate) fn compare(&self, results: &[Value], threshold: f64, listener: &mut dyn Listener) -> u8 {
        let mut code = DONE;
        for now in results {
            let case =
                format!("{} {}", now["variant"].as_str().unwrap_or(""), now["model"].as_str().unwrap_or(""));
            match (self.find(now), now["us"].as_f64()) {
                (Some(old), Some(us)) => {
                    let ratio = us / old;
                    let slower = ratio > threshold;
                    let word = if slower { "SLOWER" } else { "ok" };
                    listener
                        .note(&format!("{case}: {us:.3} µs, before {old:.3} µs, ratio {ratio:.3} {word}"));
                    if slower {
                        code = CHECK_FAILED;
                    }
                }
                _ => listener.note(&format!("{case}: not in the older file")),
            }
        }
        code
    }
}

/// How the peers are to run.
#[derive(Clone, Debug, Default)]
pub struct Peers {
    /// Only these, for example `mujoco,pinocchio`.
    pub only: Option<String>,
    /// Compile Pinocchio header-only for this processor.
    pub native: bool,
    /// Fewer models.
    pub quick: bool,
    /// Rounds in which peers and leastaction take turns.
    pub rounds: u64,
    /// A Python that has the peers.
    pub python: Option<PathBuf>,
    /// Folder for models, environment and numbers.
    pub out: Option<PathBuf>,
}

impl Peers {
    /// Runs the script of the project.
    ///
    /// # Errors
    /// If it is not there or fails.
    pub fn run(&self) -> Result<u8, Failure> {
        let script = find_script().ok_or_else(|| {
            Failure::new("`scripts/peers/run.py` is not here").help("run this in a clone of the project")
        })?;
        let own = std::env::current_exe()
            .map_err(|error| Failure::caused_by("the path of this program is not known", &error))?;
        let mut command = Command::new("python3");
        command.arg(script).arg("--leastaction").arg(own).args(["--rounds", &self.rounds.to_string()]);
        for (flag, value) in [
            ("--only", self.only.as_ref().map(Into::into)),
            ("--python", self.python.clone()),
            ("--out", self.out.clone()),
        ] {
            if let Some(value) = value {
                command.arg(flag).arg::<PathBuf>(value);
            }
        }
        for (flag, wanted) in [("--native", self.native), ("--quick", self.quick)] {
            if wanted {
                command.arg(flag);
            }
        }
        let status = command.status().map_err(|error| {
            Failure::caused_by("python3 can't be started", &error).help("install Python 3.10 or newer")
        })?;
        if status.success() { Ok(DONE) } else { Err(Failure::new("the script of the peers failed")) }
    }
}

/// In this folder or one above.
fn find_script() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors().map(|folder| folder.join("scripts/peers/run.py")).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_slower_case_fails_and_a_new_one_does_not() {
        let old =
            Baseline(vec![json!({"variant": "rk4", "model": "chain10", "n": 10, "dt": 0.01, "us": 10.0})]);
        let case =
            |model: &str, us: f64| json!({"variant": "rk4", "model": model, "n": 10, "dt": 0.01, "us": us});
        let mut silence = leastaction_study::listener::Silence;
        assert_eq!(old.compare(&[case("chain10", 10.5), case("chain20", 99.0)], 1.1, &mut silence), DONE);
        assert_eq!(old.compare(&[case("chain10", 11.5)], 1.1, &mut silence), CHECK_FAILED);
    }
}
