//! What users see is a list under review: names stand one by one in the face, and engines' rooms are not opened by a star.

use std::collections::BTreeSet;
use std::path::Path;

/// The names that `pub use` statements of a source file make public.
fn public_names(file: &str) -> BTreeSet<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let code: String = text.lines().filter(|l| !l.trim().starts_with("//")).collect::<Vec<_>>().join(" ");
    let mut names = BTreeSet::new();
    for statement in code.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or("");
        assert!(!statement.contains('*'), "{file}: `pub use {statement}` shows names nobody has looked at");
        let list = statement.rsplit_once('{').map_or_else(
            || statement.rsplit("::").next().unwrap_or("").to_owned(),
            |(_, list)| list.trim_end_matches(['}', ' ']).to_owned(),
        );
        names.extend(list.split(',').map(|n| n.trim().to_owned()).filter(|n| !n.is_empty()));
    }
    names
}

#[test]
fn the_public_names_are_those_that_were_reviewed() {
    let count = |file: &str| public_names(file).len();
    // A change here is a change of what users may rely on: say it in the changelog.
    assert_eq!(count("lib.rs"), 229, "{:?}", public_names("lib.rs"));
    assert_eq!(count("integrator/mod.rs"), 23, "{:?}", public_names("integrator/mod.rs"));
    assert_eq!(count("control/mod.rs"), 33, "{:?}", public_names("control/mod.rs"));
}

#[test]
fn workings_of_the_engines_are_not_in_the_face() {
    let names = public_names("lib.rs");
    for inner in
        ["Tree", "Node", "Attachment", "InlineDual", "Simd", "Kernel", "Crc32", "Problems", "by_entry"]
    {
        assert!(!names.contains(inner), "{inner} is public");
    }
}
