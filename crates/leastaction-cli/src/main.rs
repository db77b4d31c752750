//! The `leastaction` command.

mod commands;
mod interrupt;
mod printer;
mod progress;

use std::process::ExitCode;

use clap::Parser;

/// Mechanics of articulated bodies computed the structured way.
///
/// Without a verb a built-in double pendulum is simulated, to see something at once.
#[derive(Debug, Parser)]
#[command(name = "leastaction", version, propagate_version = true, max_term_width = 100)]
struct Cli {
    /// Print one JSON object instead of text
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<commands::Command>,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut printer = printer::Printer::new(cli.json);
    let done = match cli.command {
        Some(command) => command.run(&mut printer),
        None => commands::welcome(&mut printer),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            printer.failure(&failure);
            ExitCode::from(failure.code)
        }
    }
}
