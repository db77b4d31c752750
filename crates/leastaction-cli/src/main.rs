//! The `leastaction` command.
fn main() {}
