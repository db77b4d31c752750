//! The `leastaction` command.
#[allow(dead_code, unused_imports, reason = "the verbs that write reports come next")]
mod report;

fn main() {}
