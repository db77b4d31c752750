//! `convert`: a model from one format to another.

use std::path::Path;

use leastaction::io::mjcf::write_mjcf;
use leastaction::io::{Diagnostic, Severity, write_atomically, write_model_json, write_sdf, write_urdf};
use leastaction::mechanism::ModelDescription;
use leastaction_study::choice::Choice;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::output::cannot_write;
use leastaction_study::settings::Group;
use leastaction_study::{choices, model};
use serde_json::json;

use crate::printer::{Printer, diagnostic_json};
use crate::verb::{Given, MODEL, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "convert",
    about: "Convert a model to another format and say what that can't hold",
    more: "",
    fields: &[
        Field { value: "IN", ..MODEL },
        Field::argument("OUT", Kind::Path, "File to write; `-` writes to the terminal"),
        Field::flag("to", "TO", Kind::Word(Format::WORDS), "Format [default: by the ending of OUT]"),
    ],
    groups: &[Group::Read],
    verbs: &[],
    run,
};

choices! {
    /// What can be written.
    Format {
        /// leastaction/model/1
        Json = "json",
        /// URDF
        Urdf = "urdf",
        /// MJCF
        Mjcf = "mjcf",
        /// SDF
        Sdf = "sdf",
    }
}

impl Format {
    /// By the ending of a file name.
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_string_lossy().to_lowercase().as_str() {
            "json" => Some(Self::Json),
            "urdf" => Some(Self::Urdf),
            "xml" | "mjcf" => Some(Self::Mjcf),
            "sdf" => Some(Self::Sdf),
            _ => None,
        }
    }

    fn write(self, description: &ModelDescription) -> (String, Vec<Diagnostic>) {
        match self {
            Self::Json => (write_model_json(description), Vec::new()),
            Self::Urdf => write_urdf(description),
            Self::Mjcf => write_mjcf(description),
            Self::Sdf => write_sdf(description),
        }
    }
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let (input, output) = (given.text("IN").unwrap_or_default(), given.path("OUT").unwrap_or(Path::new("")));
    let format = given.choice("to").or_else(|| Format::of(output)).ok_or_else(|| {
        Failure::new(format!("the name `{}` does not tell a format", output.display()))
            .help("end it in `.json`, `.urdf`, `.xml` (MJCF) or `.sdf`, or say `--to FORMAT`")
    })?;
    let (model, _) = model::load(input, &given.settings().reading())?;
    printer.warnings(input, &model.reading.diagnostics);
    let (text, lost) = format.write(&model.description);
    if lost.iter().any(|d| d.severity == Severity::Error) {
        return Err(Failure::new(format!("`{}` can't be written as {}", input, format.word()))
            .help("`leastaction/model/1` (`--to json`) holds every model")
            .with_diagnostics(lost));
    }
    let to_terminal = output.as_os_str() == "-";
    if to_terminal {
        printer.raw(&text);
    } else {
        write_atomically(output, text.as_bytes()).map_err(|error| cannot_write(output, &error))?;
    }
    for diagnostic in &lost {
        printer.diagnostic(diagnostic);
    }
    if !to_terminal {
        let lost_text = match lost.len() {
            0 => "nothing was lost".to_owned(),
            1 => "1 thing was lost, see above".to_owned(),
            n => format!("{n} things were lost, see above"),
        };
        printer.line(format!("{}: {} written; {lost_text}", output.display(), format.word()));
        printer.object(&json!({
            "in": input,
            "out": output.display().to_string(),
            "format": format.word(),
            "lost": lost.iter().map(diagnostic_json).collect::<Vec<_>>(),
        }));
    }
    Ok(DONE)
}
