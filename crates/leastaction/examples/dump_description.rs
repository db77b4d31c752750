//! Prints what a reader makes of an MJCF file, as JSON: `dump_description FILE`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example talks to its user")]

use std::path::Path;

use leastaction::io::mjcf::{MjcfOptions, read_mjcf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give an MJCF file")?;
    let text = std::fs::read_to_string(&path)?;
    let reading = read_mjcf(&text, Path::new(&path), &MjcfOptions::default());
    for diagnostic in &reading.diagnostics {
        eprintln!("{diagnostic}");
    }
    if let Some(model) = &reading.description {
        println!("{}", serde_json::to_string(model)?);
    }
    if reading.has_errors() { Err("the model has errors".into()) } else { Ok(()) }
}
