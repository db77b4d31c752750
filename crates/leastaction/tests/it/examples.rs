//! The numbered examples run: each is a program that a user would write, and fails where its claim does.

use std::path::PathBuf;
use std::process::Command;

/// Where cargo has put the examples it built beside these tests.
fn folder() -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    test.parent().and_then(|deps| deps.parent()).expect("the folder of the profile").join("examples")
}

#[test]
fn every_numbered_example_runs() {
    let sources = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut names: Vec<String> = std::fs::read_dir(sources)
        .expect("examples")
        .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
        .filter_map(|name| name.strip_suffix(".rs").map(str::to_owned))
        .filter(|name| name.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    names.sort();
    assert!(names.len() >= 12, "{names:?}");
    for name in names {
        let program = folder().join(&name);
        let done = Command::new(&program).output().unwrap_or_else(|error| {
            panic!(
                "{}: {error}; build the examples with the tests: `cargo test -p leastaction`",
                program.display()
            )
        });
        let text =
            String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{name}:\n{text}");
        assert!(!done.stdout.is_empty(), "{name} says nothing");
    }
}
