//! `docs/results.md` and the README's table, written from the JSON files of experiments and never by hand.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use leastaction::io::write_atomically;
use serde_json::Value;

use super::{EXPERIMENTS, Table};
use leastaction_study::failure::Failure;
use leastaction_study::output::cannot_write;

const BEGIN: &str = "<!-- results: written by `leastaction experiment results`, not by hand -->";
const END: &str = "<!-- end of results -->";
/// What `leastaction bench --peers` writes: in the form of an experiment, published after them.
const PEERS: &str = "peers.json";

/// The two texts made from a folder of JSON files.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Published {
    /// `docs/results.md`.
    pub(crate) page: String,
    /// What stands between the marks in the README.
    pub(crate) headline: String,
}

impl Published {
    /// From the JSON files of a folder, in the order of the registry.
    pub(crate) fn from_folder(folder: &Path) -> Result<Self, Failure> {
        let mut found = Vec::new();
        for experiment in EXPERIMENTS {
            let path = folder.join(format!("{}.json", experiment.name));
            if let Ok(text) = std::fs::read_to_string(&path) {
                let value: Value = serde_json::from_str(&text).map_err(|error| {
                    Failure::caused_by(format!("`{}` can't be read", path.display()), &error)
                })?;
                found.push(value);
            }
        }
        if let Ok(text) = std::fs::read_to_string(folder.join(PEERS)) {
            found.push(serde_json::from_str(&text).map_err(|error| {
                Failure::caused_by(format!("`{}` can't be read", folder.join(PEERS).display()), &error)
            })?);
        }
        if found.is_empty() {
            return Err(Failure::new(format!("there are no results in `{}`", folder.display()))
                .help("run `leastaction experiment all` first"));
        }
        Ok(Self { page: page(&found), headline: headline(&found) })
    }

    /// A README with its table replaced.
    pub(crate) fn readme_with_table(&self, readme: &str) -> Option<String> {
        let (before, rest) = readme.split_once(BEGIN)?;
        let (_, after) = rest.split_once(END)?;
        Some(format!("{before}{BEGIN}\n{}{END}{after}", self.headline))
    }
}

/// Copies JSON files and drawings from `from` into the project at `project` and writes the pages there.
pub(crate) fn publish(from: &Path, project: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (data, images) = (project.join("docs/results"), project.join("docs/images"));
    for folder in [&data, &images] {
        std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    let mut written = Vec::new();
    for experiment in EXPERIMENTS {
        let name = format!("{}.json", experiment.name);
        let Ok(text) = std::fs::read(from.join(&name)) else { continue };
        write(&data.join(&name), &text)?;
        for k in 1.. {
            let image = super::image_name(experiment.name, k);
            let Ok(drawing) = std::fs::read(from.join(&image)) else { break };
            write(&images.join(&image), &drawing)?;
        }
        written.push(data.join(&name));
    }
    let beside = from.parent().map(|folder| folder.join("peers").join(PEERS));
    for path in [Some(from.join(PEERS)), beside].into_iter().flatten() {
        if let Ok(text) = std::fs::read(&path) {
            write(&data.join(PEERS), &text)?;
            written.push(data.join(PEERS));
            break;
        }
    }
    let published = Published::from_folder(&data)?;
    let page = project.join("docs/results.md");
    write(&page, published.page.as_bytes())?;
    written.push(page);
    let readme = project.join("README.md");
    if let Some(text) =
        std::fs::read_to_string(&readme).ok().and_then(|text| published.readme_with_table(&text))
    {
        write(&readme, text.as_bytes())?;
        written.push(readme);
    }
    Ok(written)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    write_atomically(path, bytes).map_err(|error| cannot_write(path, &error))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn page(results: &[Value]) -> String {
    let mut out = String::from(
        "# Results\n\nWritten by `leastaction experiment results` from the files in `docs/results/`; nothing here is \
         written by hand.\nEach section names the command that makes it again. Times depend on the machine and on what \
         else it does;\nerrors, orders and counts do not.\n\n",
    );
    let total: usize = results.iter().map(|r| list(r, "checks").len()).sum();
    let with = |word: &str| -> usize {
        results.iter().flat_map(|r| list(r, "checks")).filter(|check| text(check, "verdict") == word).count()
    };
    let peers = results.iter().filter(|r| text(r, "name") == "peers").count();
    let _ = writeln!(
        out,
        "{} experiments{}, {total} expectations: {} hold, {} are losses with a reason, {} fail.\n",
        results.len() - peers,
        if peers > 0 { " and the peers" } else { "" },
        with("pass"),
        with("loss"),
        with("fail")
    );
    out.push_str("## Losses\n\n");
    let mut lost = false;
    for result in results {
        for check in list(result, "checks").iter().filter(|check| text(check, "verdict") != "pass") {
            lost = true;
            let _ = writeln!(
                out,
                "- `{}`: {}: expected {}, measured {} ({}). {}",
                text(result, "name"),
                text(check, "what"),
                text(check, "bound"),
                text(check, "shown"),
                text(check, "origin"),
                check["reason"].as_str().unwrap_or("Not explained yet.")
            );
        }
    }
    if !lost {
        out.push_str("None.\n");
    }
    for result in results {
        section(&mut out, result);
    }
    out
}

fn section(out: &mut String, result: &Value) {
    let name = text(result, "name");
    let machine = &result["machine"];
    let _ = write!(
        out,
        "\n## {name}\n\n{}\n\n*Source:* {}\n\n*Set-up:* {}\n\n*Made by* `{}` at commit {} on {} cores of {}.\n\n",
        text(result, "statement"),
        text(result, "source"),
        text(result, "parameters"),
        text(result, "command"),
        text(machine, "commit"),
        machine["cores"],
        text(machine, "processor"),
    );
    out.push_str("| expected | bound | measured | result | origin |\n|---|---|---|---|---|\n");
    for check in list(result, "checks") {
        let cells =
            ["what", "bound", "shown", "verdict", "origin"].map(|key| text(check, key).replace('|', "\\|"));
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    for image in list(result, "images").iter().filter_map(Value::as_str) {
        let _ = write!(out, "\n![{name}](images/{image})\n");
    }
    for table in list(result, "tables").iter().filter_map(Table::from_json) {
        let _ = write!(out, "\n{}\n\n{}", table.title, table.to_markdown());
    }
    for note in list(result, "notes").iter().filter_map(Value::as_str) {
        let _ = write!(out, "\n{note}\n");
    }
}

fn headline(results: &[Value]) -> String {
    let mut out = String::from("\n| what | leastaction | beside it |\n|---|---|---|\n");
    for result in results {
        for line in list(result, "headlines") {
            let cells: Vec<&str> =
                line.as_array().map_or(Vec::new(), |c| c.iter().filter_map(Value::as_str).collect());
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }
    out.push_str("\nEvery number is explained in [docs/results.md](docs/results.md).\n\n");
    out
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The project this crate is part of.
    fn project() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn the_published_pages_are_what_the_committed_files_say() {
        let published = Published::from_folder(&project().join("docs/results")).unwrap();
        let page = std::fs::read_to_string(project().join("docs/results.md")).unwrap();
        assert!(page == published.page, "run `leastaction experiment results --from docs/results`");
        let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
        let expected = published.readme_with_table(&readme).expect("the README has the marks of its table");
        assert!(readme == expected, "run `leastaction experiment results --from docs/results`");
    }

    /// Numbers with a point or an exponent: `0.125`, `3.4e-13`.
    fn numbers(text: &str) -> Vec<&str> {
        text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | '-')))
            .map(|word| word.trim_matches(|c: char| !c.is_ascii_digit()))
            .filter(|word| word.parse::<f64>().is_ok() && (word.contains('.') || word.contains('e')))
            .collect()
    }

    #[test]
    fn every_published_number_is_in_a_committed_file() {
        let known = committed();
        let readme = std::fs::read_to_string(project().join("README.md")).unwrap();
        let page = std::fs::read_to_string(project().join("docs/results.md")).unwrap();
        let shown = numbers(&readme).into_iter().chain(numbers(&page)).collect::<Vec<_>>();
        assert!(shown.len() > 1000, "{} numbers found", shown.len());
        for number in shown {
            assert!(known.contains(number), "{number} is in no file of docs/results");
        }
    }

    /// Every number of the committed files, as it is written there.
    fn committed() -> HashSet<String> {
        let mut known = HashSet::new();
        for entry in std::fs::read_dir(project().join("docs/results")).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            known.extend(numbers(&text).into_iter().map(str::to_owned));
        }
        known
    }

    #[test]
    fn a_number_written_by_hand_is_noticed() {
        assert!(!committed().contains("3.14159e-7"));
        assert_eq!(numbers("a chain to 3.14159e-7 m (0.5 ms)"), ["3.14159e-7", "0.5"]);
        let published = Published::from_folder(&project().join("docs/results")).unwrap();
        let number = numbers(&published.headline)[0];
        let changed = published.headline.replacen(number, "3.14159e-7", 1);
        let readme = format!("{BEGIN}\n{changed}{END}");
        assert_ne!(published.readme_with_table(&readme).unwrap(), readme);
    }
}
