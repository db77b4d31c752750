//! The `leastaction` command.

mod commands;
mod interrupt;
mod printer;
mod progress;
mod quantity_flags;
mod verb;

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command};
use leastaction_study::failure::Failure;

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
        .subcommands(VERBS.iter().map(Verb::command))
}

fn main() -> ExitCode {
    let matches = cli().get_matches();
    let mut printer = Printer::new(matches.get_flag("json"));
    match run(VERBS, &matches, &mut printer).and_then(|code| printer.finish().map(|()| code)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            printer.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}

/// Runs the verb that the matches name; without one there is something to look at.
fn run(verbs: &[Verb], matches: &ArgMatches, printer: &mut Printer) -> Result<u8, Failure> {
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
