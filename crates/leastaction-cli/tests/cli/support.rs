//! A folder per test, the command, and snapshots of what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the test models that goes away with the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("leastaction-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        for entry in std::fs::read_dir(here().join("models")).unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), path.join(entry.file_name())).unwrap();
        }
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The command in this folder.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_leastaction"));
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.0)
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100");
        command
    }

    /// Runs to the end.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs to the end and expects success.
    pub(crate) fn succeed(&self, arguments: &str) -> Output {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
        output
    }

    pub(crate) fn read(&self, file: &str) -> Vec<u8> {
        std::fs::read(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub(crate) fn json(&self, file: &str) -> serde_json::Value {
        serde_json::from_slice(&self.read(file)).unwrap()
    }

    /// Names of all files in a subfolder, hidden ones too.
    pub(crate) fn list(&self, folder: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.join(folder)).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli")
}

/// Runs a command and compares what it says with `snapshots/NAME.txt`; `UPDATE_SNAPSHOTS=1` writes that file.
#[track_caller]
pub(crate) fn snapshot(name: &str, arguments: &str) {
    let folder = Folder::new(name);
    let output = folder.run(arguments);
    let text = |bytes: &[u8]| masked(&String::from_utf8_lossy(bytes));
    let said = format!(
        "$ leastaction {arguments}\nexit code {}\n--- stdout\n{}--- stderr\n{}",
        output.status.code().unwrap_or(-1),
        text(&output.stdout),
        text(&output.stderr)
    );
    let path = here().join("snapshots").join(format!("{name}.txt"));
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &said).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        said == expected,
        "{} differs; if that is meant, run with UPDATE_SNAPSHOTS=1\n--- expected\n{expected}\n--- found\n{said}",
        path.display()
    );
}

/// Without what differs from run to run (times) or from machine to machine (errors at the level of rounding).
fn masked(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.split_once(" s (") {
            // `… in 0.03 s (71175 steps/s)`
            Some((before, after)) if after.ends_with("steps/s)") => {
                let start = before.rfind(" in ").map_or(before.len(), |at| at + 4);
                format!("{}[time]", &before[..start])
            }
            _ => line.to_owned(),
        };
        let line = match line.split_once("\": ") {
            Some((key, _)) if ["wall_time", "steps_per_second"].iter().any(|name| key.ends_with(name)) => {
                format!("{key}\": [time]")
            }
            _ => line,
        };
        // How hard the solver works is tested where the solver is.
        if let Some(label) = ["  iterations ", "  solver "].iter().find(|label| line.starts_with(**label)) {
            out.push_str(&format!("{label}[counts]\n"));
            continue;
        }
        let words: Vec<String> = line.split(' ').map(masked_word).collect();
        out.push_str(&words.join(" "));
        out.push('\n');
    }
    out
}

/// A small number in exponential form is shown as such only.
fn masked_word(word: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | '-');
    let start = word.find(|c: char| c.is_ascii_digit() || c == '-').unwrap_or(word.len());
    let end = word[start..].find(|c| !is_number(c)).map_or(word.len(), |n| start + n);
    let number = &word[start..end];
    match number.parse::<f64>() {
        Ok(value) if number.contains("e-") && value != 0.0 => {
            format!("{}[small]{}", &word[..start], &word[end..])
        }
        // All digits of a double: the last ones belong to the machine.
        Ok(_) if number.chars().filter(char::is_ascii_digit).count() > 12 => {
            format!("{}[number]{}", &word[..start], &word[end..])
        }
        _ => word.to_owned(),
    }
}

#[test]
fn masks_hide_times_and_small_numbers_only() {
    let text = "chain: 20 steps of 0.005 s with rk4 in 0.03 s (71175 steps/s)\n  at most 1.234e-11 J (3.6e-6 of it)\n  \"wall_time\": 0.1,\n  \"step\": 0.005\n";
    let expected = "chain: 20 steps of 0.005 s with rk4 in [time]\n  at most [small] J ([small] of it)\n  \"wall_time\": [time]\n  \"step\": 0.005\n";
    assert_eq!(masked(text), expected);
}
