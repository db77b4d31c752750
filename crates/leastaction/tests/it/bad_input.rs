//! No wrong file passes in silence: each gets the exact message that is kept beside it.
//!
//! `NAME.expected` holds what a user sees. `UPDATE_SNAPSHOTS=1` rewrites these files; read the difference before you
//! keep it.

#![expect(clippy::print_stdout, reason = "times are worth reading")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use leastaction::io::{LoadError, LoadOptions, Reading, load_model, read_model};

use crate::support::processor_seconds;

/// Reads a model and builds it, as `check` does.
fn check(text: &str, name: &str) -> Reading {
    let mut reading = read_model(text, Path::new(name), &LoadOptions::default()).unwrap();
    reading.build();
    reading
}

fn shown(reading: &Reading) -> String {
    reading.diagnostics.iter().fold(String::new(), |mut all, diagnostic| {
        let _ = writeln!(all, "{diagnostic}");
        all
    })
}

fn corpus(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad_input").join(folder);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e != "expected"));
    files.sort();
    files
}

/// Compares with the snapshot; returns what differs.
fn differs_from_snapshot(path: &Path, found: &str) -> Option<String> {
    let mut snapshot = path.as_os_str().to_owned();
    snapshot.push(".expected");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some_and(|v| v == "1") {
        std::fs::write(&snapshot, found).unwrap();
    }
    let expected = std::fs::read_to_string(&snapshot).unwrap_or_else(|_| "no snapshot\n".into());
    (expected != found).then(|| format!("{}\n--- expected\n{expected}--- found\n{found}", path.display()))
}

fn every_file_is_refused_with_its_message(folder: &str, at_least: usize) {
    let files = corpus(folder);
    assert!(files.len() >= at_least, "{} files", files.len());
    let mut differences = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let reading = check(&text, &name);
        assert!(reading.has_errors(), "{name} was accepted");
        for diagnostic in &reading.diagnostics {
            let at = diagnostic.at.as_ref().unwrap_or_else(|| panic!("{name}: no place: {diagnostic}"));
            assert!(at.file == Path::new(&name) && at.line >= 1 && at.column >= 1, "{name}: {diagnostic}");
            assert!(!diagnostic.element.is_empty(), "{name}: no element: {diagnostic}");
            assert!(!diagnostic.message.is_empty(), "{name}: no message");
            assert!(!diagnostic.remedy.is_empty(), "{name}: no remedy: {diagnostic}");
        }
        differences.extend(differs_from_snapshot(&path, &shown(&reading)));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn every_bad_urdf_is_refused_with_its_message() {
    every_file_is_refused_with_its_message("urdf", 35);
}

#[test]
fn every_bad_json_is_refused_with_its_message() {
    every_file_is_refused_with_its_message("json", 35);
}

#[test]
fn the_sound_models_behind_the_corpus_are_accepted() {
    for (folder, name) in [("urdf", "arm.urdf"), ("json", "arm.json")] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sound_input").join(name);
        let text = std::fs::read_to_string(path).unwrap();
        let reading = check(&text, name);
        assert!(reading.diagnostics.is_empty(), "{folder}: {}", shown(&reading));
    }
}

/// Processor seconds for the large cases, far above what was measured (see `docs/formats.md`).
const SOON: f64 = 5.0;

fn refused_soon(text: &str, name: &str, what: &str) {
    let start = processor_seconds();
    let reading = check(text, name);
    assert!(reading.has_errors(), "{name} was accepted");
    assert!(shown(&reading).contains(what), "{}", shown(&reading));
    let seconds = processor_seconds() - start;
    assert!(seconds < SOON, "{seconds} s");
}

#[test]
fn nesting_100_000_deep_is_refused() {
    let xml = format!("<robot name=\"a\">{}{}</robot>", "<a>".repeat(100_000), "</a>".repeat(100_000));
    refused_soon(&xml, "deep.urdf", "nested deeper than 1000 levels");
    let links = format!("{}{}", "<link name=\"a\">".repeat(100_000), "</link>".repeat(100_000));
    refused_soon(
        &format!("<robot name=\"a\">{links}</robot>"),
        "deep.urdf",
        "nested deeper than 1000 levels",
    );
    let json = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    refused_soon(&json, "deep.json", "nested deeper than 100 levels");
    let json = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    refused_soon(&json, "deep.json", "nested deeper than 100 levels");
}

#[test]
fn a_hundred_thousand_attributes_are_refused() {
    let attributes: String = (0..100_000).map(|i| format!(" a{i}=\"0\"")).collect();
    refused_soon(&format!("<robot{attributes}/>"), "wide.urdf", "more than 256 attributes");
}

#[test]
fn huge_numbers_are_refused_by_name() {
    let digits = "9".repeat(100_000);
    let urdf = format!(
        "<robot name=\"a\"><link name=\"b\"><inertial><mass value=\"{digits}\"/></inertial></link></robot>"
    );
    refused_soon(&urdf, "huge.urdf", "too large for a double");
    let json = format!(
        "{{\"schema\": \"leastaction/model/1\", \"name\": \"a\", \"bodies\": [{{\"name\": \"b\", \"mass\": {digits}}}]}}"
    );
    refused_soon(&json, "huge.json", "too large for a double");
}

/// A chain of links, as URDF.
fn chain_urdf(links: usize, mass: &str) -> String {
    let mut text = String::from("<robot name=\"chain\">\n");
    for i in 0..links {
        let _ = writeln!(
            text,
            "<link name=\"l{i}\"><inertial><mass value=\"{mass}\"/><inertia ixx=\"1\" ixy=\"0\" ixz=\"0\" iyy=\"1\" \
             iyz=\"0\" izz=\"1\"/></inertial></link>"
        );
        if i > 0 {
            let _ = writeln!(
                text,
                "<joint name=\"j{i}\" type=\"continuous\"><origin xyz=\"0 0 1\"/><parent link=\"l{}\"/><child \
                 link=\"l{i}\"/><axis xyz=\"0 1 0\"/></joint>",
                i - 1
            );
        }
    }
    text.push_str("</robot>\n");
    text
}

/// A chain of links, as JSON.
fn chain_json(links: usize, mass: &str) -> String {
    let bodies: Vec<String> = (0..links)
        .map(|i| format!("{{\"name\": \"l{i}\", \"mass\": {mass}, \"inertia\": [1, 1, 1, 0, 0, 0]}}"))
        .collect();
    let joints: Vec<String> = (0..links)
        .map(|i| {
            let parent = if i == 0 { "world".into() } else { format!("l{}", i - 1) };
            format!(
                "{{\"name\": \"j{i}\", \"type\": \"revolute\", \"parent\": \"{parent}\", \"child\": \"l{i}\", \
                 \"parent_placement\": {{\"p\": [0, 0, 1]}}, \"axis\": [0, 1, 0]}}"
            )
        })
        .collect();
    format!(
        "{{\"schema\": \"leastaction/model/1\", \"name\": \"chain\", \"bodies\": [\n{}\n], \"joints\": [\n{}\n]}}\n",
        bodies.join(",\n"),
        joints.join(",\n")
    )
}

#[test]
fn a_chain_of_20_000_links_loads_soon() {
    for (text, name) in [(chain_urdf(20_000, "1"), "chain.urdf"), (chain_json(20_000, "1"), "chain.json")] {
        let start = processor_seconds();
        let reading = read_model(&text, Path::new(name), &LoadOptions::default()).unwrap();
        let read = processor_seconds() - start;
        println!("{name}: {} bytes of 20,000 links read in {read} s", text.len());
        assert!(reading.diagnostics.is_empty(), "{}", shown(&reading));
        let model = reading.description.unwrap();
        assert_eq!((model.bodies.len(), model.joints.len()), (20_000, 20_000));
        assert!(read < SOON, "{name}: {read} s");
    }
}

#[test]
fn a_fault_in_each_of_20_000_links_is_reported_soon_and_shortly() {
    for (text, name) in [(chain_urdf(20_000, "nan"), "chain.urdf"), (chain_json(20_000, "NaN"), "chain.json")]
    {
        refused_soon(&text, name, "more errors are not shown");
    }
    let ghosts = chain_urdf(20_000, "1").replace("<child link=\"l", "<child link=\"ghost");
    refused_soon(&ghosts, "ghosts.urdf", "more errors are not shown");
    let one_line = chain_json(20_000, "true").replace('\n', " ");
    refused_soon(&one_line, "line.json", "but a number is wanted");
}

#[test]
fn files_that_are_no_text_are_refused_with_the_reason() {
    let folder = std::env::temp_dir().join(format!("leastaction-bad-input-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let options = LoadOptions::default();
    let load = |name: &str| load_model(&folder.join(name), &options);
    std::fs::write(folder.join("latin1.urdf"), b"<robot name=\"caf\xe9\"/>").unwrap();
    std::fs::write(folder.join("words.txt"), "hello").unwrap();
    std::fs::write(folder.join("arm.urdf"), "<robot name=\"arm\"><link name=\"a\"/></robot>").unwrap();
    std::fs::write(folder.join("nameless"), "<robot name=\"arm\"><link name=\"a\"/></robot>").unwrap();
    let sparse = std::fs::File::create(folder.join("large.json")).unwrap();
    sparse.set_len(300 << 20).unwrap();

    assert!(matches!(load("latin1.urdf"), Err(LoadError::NotUtf8 { offset: 16, byte: 0xe9, .. })));
    assert!(matches!(load("words.txt"), Err(LoadError::UnknownFormat { start, .. }) if start == "hello"));
    assert!(matches!(load("large.json"), Err(LoadError::TooLarge { bytes, .. }) if bytes == 300 << 20));
    assert!(matches!(load(""), Err(LoadError::Folder { .. })));
    let missing = load("amr.urdf").unwrap_err();
    assert!(missing.remedy().contains("`arm.urdf`"), "{missing} {}", missing.remedy());
    for name in ["latin1.urdf", "words.txt", "large.json", "amr.urdf", ""] {
        let error = load(name).unwrap_err();
        assert!(!error.remedy().is_empty() && error.to_string().contains(name), "{error}");
    }
    assert!(!load("arm.urdf").unwrap().has_errors());
    assert!(!load("nameless").unwrap().has_errors());
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A linear congruential generator: the same faults in every run.
struct Lcg(u64);

impl Lcg {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

#[test]
fn two_thousand_damaged_files_neither_panic_nor_hang() {
    const SPICE: &[&str] = &[
        "<",
        ">",
        "/",
        "\"",
        "&",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "nan",
        "1e999",
        "-",
        "é",
        "\u{0}",
        "<!--",
        "<![CDATA[",
        "${",
        "null",
        "\\u",
        "\\ud800",
        "world",
        "<link name=\"upper\">",
        "</link>",
        "\"mass\":",
    ];
    let mut random = Lcg(2026);
    let mut refused = 0;
    for name in ["arm.urdf", "arm.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sound_input").join(name);
        let sound = std::fs::read(path).unwrap();
        for _ in 0..1000 {
            let mut bytes = sound.clone();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len());
                let end = (at + 1 + random.below(40)).min(bytes.len());
                match random.below(5) {
                    0 => drop(bytes.drain(at..end)),
                    1 => {
                        let copy = bytes[at..end].to_vec();
                        let to = random.below(bytes.len());
                        bytes.splice(to..to, copy);
                    }
                    2 => bytes[at] = u8::try_from(random.below(128)).unwrap(),
                    3 => drop(bytes.splice(at..at, SPICE[random.below(SPICE.len())].bytes())),
                    _ => bytes.truncate(bytes.len() - random.below(bytes.len() / 8)),
                }
            }
            let text = String::from_utf8_lossy(&bytes);
            let start = processor_seconds();
            let reading = check(&text, name);
            assert!(processor_seconds() - start < SOON);
            refused += usize::from(reading.has_errors());
        }
    }
    // Most damage is seen; some (a digit changed) makes another sound model.
    assert!(refused > 1400, "{refused} of 2000 refused");
}

/// Each of these took quadratic time in some draft: searches for the name that was meant, places of many problems.
#[test]
fn long_and_many_names_do_not_slow_the_reader() {
    let start = processor_seconds();
    let (a, b) = ("a".repeat(500_000), "b".repeat(500_000));
    let long = format!(
        "<robot name=\"r\"><link name=\"{a}\"/><joint name=\"j\" type=\"fixed\"><parent link=\"{a}\"/><child \
         link=\"{b}\"/></joint></robot>"
    );
    assert!(check(&long, "long.urdf").has_errors());
    let strangers: String = (0..50_000).map(|i| format!("<tag{i}/>")).collect();
    assert!(
        !check(&format!("<robot name=\"r\"><link name=\"a\"/>{strangers}</robot>"), "tags.urdf").has_errors()
    );
    let visual =
        |i| format!("<visual><geometry><sphere radius=\"1\"/></geometry><material name=\"m{i}\"/></visual>");
    let visuals: String = (0..20_000).map(visual).collect();
    assert!(
        !check(&format!("<robot name=\"r\"><link name=\"a\">{visuals}</link></robot>"), "m.urdf")
            .has_errors()
    );
    let keys: Vec<String> = (0..50_000).map(|i| format!("\"key{i}\": 0")).collect();
    let json = format!(
        "{{\"schema\": \"leastaction/model/1\", \"name\": \"a\", \"bodies\": [{{\"name\": \"b\", {}}}]}}",
        keys.join(", ")
    );
    assert!(check(&json, "keys.json").has_errors());
    let json = format!(
        "{{\"schema\": \"leastaction/model/1\", \"name\": \"a\", \"inputs\": [{}0], \"bodies\": []}}",
        "0, ".repeat(200_000)
    );
    assert!(check(&json, "list.json").has_errors());
    let seconds = processor_seconds() - start;
    assert!(seconds < SOON, "{seconds} s");
}
