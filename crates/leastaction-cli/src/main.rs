//! The `leastaction` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(leastaction_cli::command(std::env::args_os()))
}
