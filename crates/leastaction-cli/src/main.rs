//! The `leastaction` command.

mod args;
mod bench_compare;
mod commands;
mod config;
mod config_toml;
mod experiments;
mod failure;
mod forces;
mod inputs;
mod interrupt;
mod limits;
mod model;
mod motion_page;
mod output;
mod page;
mod policy;
mod printer;
mod problem;
mod progress;
mod quantity;
#[allow(dead_code, unused_imports, reason = "the sample program of the report uses more of it")]
mod report;
mod run;
mod serve;
mod start;
mod statistics;
mod summary;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
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
