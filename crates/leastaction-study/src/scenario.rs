//! Scenario files: TOML with places, so that a wrong key is shown where it stands.

use std::path::Path;

use leastaction::io::Diagnostic;
use toml::de::DeTable;

use crate::failure::Failure;
use crate::settings::{SETTINGS, Settings};
use crate::values::Values;

/// Reads a scenario file; its paths become relative to its folder.
///
/// # Errors
/// Everything that is wrong with it, each with its place.
pub fn load(path: &Path) -> Result<Settings, Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the scenario `{}`", path.display()), &error)
    })?;
    let settings = parse(&text, path).map_err(|diagnostics| {
        Failure::new(format!("`{}` can't be used as a scenario", path.display()))
            .with_diagnostics(diagnostics)
    })?;
    Ok(settings.relative_to(path.parent().unwrap_or(Path::new(""))))
}

/// Reads the text of a scenario file, or says everything that is wrong with it.
///
/// # Errors
/// The problems in the order of their places.
pub fn parse(text: &str, path: &Path) -> Result<Settings, Vec<Diagnostic>> {
    let mut values = Values::new(path, text);
    let mut settings = Settings::default();
    if let Some(table) = values.parse(text, "scenario") {
        if let Some((key, _)) = table.get_ref().iter().find(|(key, _)| key.get_ref() == "sweep") {
            let remedy = "`leastaction sweep` runs them all, `simulate --run N` one of them";
            values.problem(key.span(), "key `sweep`", "this file describes many runs", remedy);
        }
        read(&mut values, &mut settings, table.get_ref(), "");
    }
    // Tables come in no particular order.
    values.problems.sort_by_key(|problem| problem.at.as_ref().map(|at| (at.line, at.column)));
    if values.problems.is_empty() { Ok(settings) } else { Err(values.problems) }
}

/// Reads the keys of a table; `above` is its name with a dot.
pub(crate) fn read(values: &mut Values, settings: &mut Settings, table: &DeTable<'_>, above: &str) {
    for entry in table {
        let key = format!("{above}{}", entry.0.get_ref());
        // Sweeps read their own table.
        if key == "sweep" {
            continue;
        }
        let inside = format!("{key}.");
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.field.key == key) {
            if let Some(given) = values.field(entry, &setting.field) {
                (setting.take)(settings, given);
            }
        } else if SETTINGS.iter().any(|setting| setting.field.key.starts_with(&inside)) {
            if let Some(table) = values.table(entry) {
                read(values, settings, table, &inside);
            }
        } else {
            let below = SETTINGS.iter().filter_map(|setting| setting.field.key.strip_prefix(above));
            let mut known: Vec<&str> = below.filter_map(|key| key.split('.').next()).collect();
            known.dedup();
            values.unknown(entry.0, &known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_is_found_with_its_place() {
        let text = "model = \"@chain/2\"\nstepp = 0.1\nevery = 0\nintegrator = \"rk5\"\n\n[initial]\nQ = 1\n[initial.q]\njoint0 = \"x\"\n[output]\nreport = 1\n";
        let problems = parse(text, Path::new("run.toml")).unwrap_err();
        let lines: Vec<u32> = problems.iter().filter_map(|p| p.at.as_ref()).map(|at| at.line).collect();
        assert_eq!(lines.len(), 6, "{problems:?}");
        for line in [2, 3, 4, 7, 9, 11] {
            assert!(lines.contains(&line), "{line}: {problems:?}");
        }
        let step = problems.iter().find(|p| p.element == "key `stepp`").unwrap();
        assert_eq!(step.remedy, "did you mean `step`?");
    }

    #[test]
    fn text_that_is_not_toml_is_shown_where_it_breaks() {
        let problems = parse("model = \n", Path::new("run.toml")).unwrap_err();
        assert_eq!(problems.len(), 1);
        assert_eq!(problems[0].at.as_ref().unwrap().line, 1);
    }
}
