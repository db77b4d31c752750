//! `completions`: the script that lets a shell complete our verbs and flags.

use std::str::FromStr;

use clap_complete::Shell;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};

use crate::printer::Printer;
use crate::verb::{Given, Verb};

const SHELLS: Kind =
    Kind::Word(&[("bash", ""), ("elvish", ""), ("fish", ""), ("powershell", ""), ("zsh", "")]);

pub(crate) const VERB: Verb = Verb {
    name: "completions",
    about: "Print the completion script of a shell",
    more: "For bash: `leastaction completions bash > ~/.local/share/bash-completion/completions/leastaction`",
    fields: &[Field::argument("SHELL", SHELLS, "The shell")],
    groups: &[],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let name = given.text("SHELL").unwrap_or_default();
    let shell = Shell::from_str(name).map_err(Failure::new)?;
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::cli(), "leastaction", &mut script);
    let script = String::from_utf8_lossy(&script);
    if printer.is_json() {
        printer.object(&serde_json::json!({"shell": name, "script": script}));
    } else {
        printer.raw(&script);
    }
    Ok(DONE)
}
