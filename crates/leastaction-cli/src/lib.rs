//! The `leastaction` command as a library: the program and the Python package call [`command`].

mod commands;
mod interrupt;
mod printer;
mod progress;
mod quantity_flags;
mod size;
mod verb;

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};
use leastaction::io::read_files_up_to;
use leastaction_study::failure::{COULD_NOT_RUN, Failure};
use leastaction_study::field::Field;
use leastaction_study::settings::SETTINGS;
use serde_json::Value;

use crate::commands::VERBS;
use crate::printer::Printer;
use crate::verb::{Given, Verb};

/// The whole command line.
fn cli() -> Command {
    Command::new("leastaction")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .max_term_width(100)
        .about("Mechanics of articulated bodies computed the structured way")
        .long_about(
            "Mechanics of articulated bodies computed the structured way.\n\n\
             Without a verb a built-in double pendulum is simulated, to see something at once.",
        )
        .arg(
            Arg::new("json")
                .long("json")
                .help("Print one JSON object instead of text")
                .action(ArgAction::SetTrue)
                .global(true),
        )
        .arg(
            Arg::new("max-file")
                .long("max-file")
                .value_name("SIZE")
                .help("Read files of up to this size, as 2GB; without it models, problems and states up to 256 MiB, meshes 512 MiB, tables 4 GiB")
                .global(true),
        )
        .subcommands(VERBS.iter().map(Verb::command))
}

/// Does what the arguments say, the first of which is the program's name, and returns the exit code.
pub fn command(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let matches = match cli().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(asked) => {
            // Help and version are answers, everything else went wrong; a closed pipe hears neither.
            let _ = asked.print();
            return u8::try_from(asked.exit_code()).unwrap_or(COULD_NOT_RUN);
        }
    };
    let mut printer = Printer::new(matches.get_flag("json"));
    match run(VERBS, &matches, &mut printer).and_then(|code| printer.finish().map(|()| code)) {
        Ok(code) => code,
        Err(failure) => {
            printer.failure(&failure);
            failure.code
        }
    }
}

/// Does what the arguments say and returns what `--json` would print, without printing: for programs that call it.
///
/// # Errors
/// What the command would have said; wrong arguments have the exit code 2 and no cause.
pub fn call(arguments: impl IntoIterator<Item = OsString>, caller: Caller) -> Result<Value, Failure> {
    let matches = cli().try_get_matches_from(arguments).map_err(|wrong| {
        let text = wrong.to_string();
        let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: ").map(str::to_owned));
        Failure { help: tip, ..Failure::new(first) }
    })?;
    let mut printer = Printer::silent();
    interrupt::with(caller, || run(VERBS, &matches, &mut printer))?;
    Ok(printer.said())
}

pub use interrupt::Caller;
pub use printer::diagnostic_json;

/// The verbs with what each can be told: flag, kind, default, help.
pub fn verbs() -> Vec<(&'static str, &'static str, Vec<Field>)> {
    let own = |verb: &Verb| {
        let settings = verb.groups.iter().flat_map(|group| {
            SETTINGS.iter().filter(move |setting| setting.group == *group).map(|setting| setting.field)
        });
        (verb.name, verb.about, verb.fields.iter().copied().chain(settings).collect())
    };
    VERBS.iter().map(own).collect()
}

/// Runs the verb that the matches name; without one there is something to look at.
fn run(verbs: &[Verb], matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
    if let Some(size) = matches.get_one::<String>("max-file") {
        read_files_up_to(size::bytes(size)? as u64);
    }
    let named = |name: &str| verbs.iter().find(|verb| verb.name == name);
    let Some((verb, given)) = matches.subcommand().and_then(|(name, given)| Some((named(name)?, given)))
    else {
        return commands::welcome(printer);
    };
    if given.subcommand().is_some() {
        run(verb.verbs, given, printer)
    } else {
        (verb.run)(&Given(given), printer)
    }
}
