//! `completions`: the script that lets a shell complete our verbs and flags.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::printer::Printer;
use leastaction_study::failure::{DONE, Failure};

/// Print the completion script of a shell
///
/// For bash: `leastaction completions bash > ~/.local/share/bash-completion/completions/leastaction`
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::Cli::command(), "leastaction", &mut script);
    let script = String::from_utf8_lossy(&script);
    if printer.is_json() {
        printer.object(&serde_json::json!({"shell": args.shell.to_string(), "script": script}));
    } else {
        printer.raw(&script);
    }
    Ok(DONE)
}
