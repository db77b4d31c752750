//! `convert`: a model from one format to another.

use std::path::PathBuf;

use clap::ValueEnum;
use leastaction::io::mjcf::write_mjcf;
use leastaction::io::{Diagnostic, Severity, write_atomically, write_model_json, write_urdf};
use leastaction::mechanism::ModelDescription;
use serde_json::json;

use crate::printer::{Printer, diagnostic_json};
use leastaction_study::args::{MODEL_HELP, ReadArgs};
use leastaction_study::config::word;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::model;
use leastaction_study::output::cannot_write;

/// Convert a model to another format and say what that can't hold
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_name = "IN", help = MODEL_HELP)]
    input: String,
    /// File to write; `-` writes to the terminal
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Format [default: by the ending of OUT]
    #[arg(long, value_enum)]
    to: Option<Format>,
    #[command(flatten)]
    read: ReadArgs,
}

/// What can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// leastaction/model/1
    Json,
    /// URDF
    Urdf,
    /// MJCF
    Mjcf,
}

impl Format {
    /// By the ending of a file name.
    fn of(path: &std::path::Path) -> Option<Self> {
        match path.extension()?.to_string_lossy().to_lowercase().as_str() {
            "json" => Some(Self::Json),
            "urdf" => Some(Self::Urdf),
            "xml" | "mjcf" => Some(Self::Mjcf),
            _ => None,
        }
    }

    fn write(self, description: &ModelDescription) -> (String, Vec<Diagnostic>) {
        match self {
            Self::Json => (write_model_json(description), Vec::new()),
            Self::Urdf => write_urdf(description),
            Self::Mjcf => write_mjcf(description),
        }
    }
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    let format = args.to.or_else(|| Format::of(&args.output)).ok_or_else(|| {
        Failure::new(format!("the name `{}` does not tell a format", args.output.display()))
            .help("end it in `.json`, `.urdf` or `.xml` (MJCF), or say `--to FORMAT`")
    })?;
    let (model, _) = model::load(&args.input, &args.read)?;
    printer.warnings(&args.input, &model.reading.diagnostics);
    let (text, lost) = format.write(&model.description);
    if lost.iter().any(|d| d.severity == Severity::Error) {
        return Err(Failure::new(format!("`{}` can't be written as {}", args.input, word(format)))
            .help("`leastaction/model/1` (`--to json`) holds every model")
            .with_diagnostics(lost));
    }
    let to_terminal = args.output.as_os_str() == "-";
    if to_terminal {
        printer.raw(&text);
    } else {
        write_atomically(&args.output, text.as_bytes())
            .map_err(|error| cannot_write(&args.output, &error))?;
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
        printer.line(format!("{}: {} written; {lost_text}", args.output.display(), word(format)));
        printer.object(&json!({
            "in": args.input,
            "out": args.output.display().to_string(),
            "format": word(format),
            "lost": lost.iter().map(diagnostic_json).collect::<Vec<_>>(),
        }));
    }
    Ok(DONE)
}
