//! The documents are true: equation numbers are unique and cited ones exist, files that are named are there, and each
//! claim that something stands in one place only is looked up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Files below a folder with one of these endings, sorted; what is built or installed is left out.
fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.expect("entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if path.is_dir() {
                if !matches!(name.as_str(), "target" | "node_modules" | "golden") && !name.starts_with('.') {
                    open.push(path);
                }
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// Numbers such as `3.14` that stand in parentheses, alone or in a list or range: `(3.9)–(3.12)`, `(3.7), (3.8)`.
fn equation_numbers(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    for part in line.split('(').skip(1) {
        let Some((inside, _)) = part.split_once(')') else { continue };
        if let Some((chapter, number)) = inside.split_once('.') {
            let digits = |s: &str| !s.is_empty() && s.len() <= 2 && s.bytes().all(|b| b.is_ascii_digit());
            if digits(chapter) && digits(number) && chapter != "0" && !number.starts_with('0') {
                out.push(inside.to_owned());
            }
        }
    }
    out
}

/// Numbers that a line of a theory page gives: apart at its end, or within bold letters.
fn definitions(line: &str) -> Vec<String> {
    let mut out: Vec<String> = line.split("**").skip(1).step_by(2).flat_map(equation_numbers).collect();
    if let Some(number) = equation_numbers(line).pop()
        && line.trim_end().ends_with(&format!("  ({number})"))
    {
        out.push(number);
    }
    out
}

/// Number → page, of every equation of the theory pages.
fn numbered_equations() -> BTreeMap<String, String> {
    let mut defined = BTreeMap::new();
    for page in files(&root().join("docs/theory"), &[".md"]) {
        let name = page.file_name().expect("a name").to_string_lossy().into_owned();
        let chapter: u32 = name.split('-').next().expect("a number").parse().expect("pages are numbered");
        for line in text(&page).lines() {
            for number in definitions(line) {
                assert_eq!(
                    number.split('.').next(),
                    Some(chapter.to_string().as_str()),
                    "{name} numbers its equations by another chapter: {line}"
                );
                if let Some(other) = defined.insert(number.clone(), name.clone()) {
                    panic!("({number}) is an equation of {other} and again of {name}");
                }
            }
        }
    }
    defined
}

#[test]
fn every_equation_number_means_one_equation_and_every_cited_one_exists() {
    let defined = numbered_equations();
    assert!(defined.len() > 120, "only {} equations were found", defined.len());
    let mut unknown = Vec::new();
    let mut cited = 0;
    for file in
        files(&root().join("crates"), &[".rs"]).into_iter().chain(files(&root().join("docs"), &[".md"]))
    {
        let is_code = file.extension().is_some_and(|e| e == "rs");
        for (i, line) in text(&file).lines().enumerate() {
            let prose = if is_code { line.split_once("//").map_or("", |(_, comment)| comment) } else { line };
            for number in equation_numbers(prose) {
                cited += 1;
                if !defined.contains_key(&number) {
                    unknown.push(format!("{}:{}: ({number})", file.display(), i + 1));
                }
            }
        }
    }
    assert!(cited > 300, "only {cited} citations were found");
    assert!(unknown.is_empty(), "no such equation:\n{}", unknown.join("\n"));
}

/// Words in backquotes that name files or folders of the repository.
fn named_paths(page: &str) -> Vec<String> {
    page.split('`')
        .skip(1)
        .step_by(2)
        .filter(|word| {
            let file = [".rs", ".md", ".sh", ".py", ".json", ".toml", ".bib", ".js"]
                .iter()
                .any(|e| word.ends_with(e));
            !word.contains([' ', '*', '<', '{', '@', '…'])
                && (file || word.ends_with('/'))
                && word.contains('/')
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn files_named_in_the_documents_exist() {
    let root = root();
    let crates: Vec<PathBuf> = std::fs::read_dir(root.join("crates"))
        .expect("crates")
        .map(|entry| entry.expect("entry").path().join("src"))
        .collect();
    let mut missing = Vec::new();
    let mut pages = vec![
        root.join("README.md"),
        root.join("ARCHITECTURE.md"),
        root.join("CONTRIBUTING.md"),
        root.join("docs/trust.md"),
    ];
    pages.extend(files(&root.join("docs/theory"), &[".md"]));
    for page in pages {
        for path in named_paths(&text(&page)) {
            let here =
                [root.clone(), page.parent().expect("a folder").into(), root.join("crates/leastaction")];
            let found = here.iter().chain(&crates).any(|folder| folder.join(&path).exists());
            if !found {
                missing.push(format!("{}: `{path}`", page.strip_prefix(&root).expect("below").display()));
            }
        }
        // Links to files, in the repository only.
        for target in
            text(&page).split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(t, _)| t.to_owned())
        {
            let target = target.split('#').next().expect("a part").to_owned();
            if !target.is_empty()
                && !target.contains("://")
                && !page.parent().expect("a folder").join(&target).exists()
            {
                missing.push(format!(
                    "{}: link to {target}",
                    page.strip_prefix(&root).expect("below").display()
                ));
            }
        }
    }
    assert!(missing.is_empty(), "named but not there:\n{}", missing.join("\n"));
}

/// The walk of a stranger: ARCHITECTURE.md links to the page of an engine, which names the file with its loop.
#[test]
fn the_loop_of_each_engine_is_two_links_from_the_architecture() {
    let root = root();
    let architecture = text(&root.join("ARCHITECTURE.md"));
    for (room, file, sign) in [
        ("crates/leastaction-minimal/src/lib.rs", "step.rs", "fn step"),
        ("crates/leastaction-maximal/src/lib.rs", "newton.rs", "fn solve"),
        ("crates/leastaction-motion/src/jet/mod.rs", "forward.rs", "fn "),
        ("crates/leastaction-motion/src/optimize/mod.rs", "direct.rs", "fn solve"),
        ("crates/leastaction/src/control/mod.rs", "ilqr.rs", "fn "),
        ("crates/leastaction-study/src/lib.rs", "run.rs", "fn "),
    ] {
        assert!(architecture.contains(&format!("]({room})")), "ARCHITECTURE.md has no link to {room}");
        let page = text(&root.join(room));
        assert!(
            page.contains(&format!("`{file}`")) || page.contains(&format!("({file})")),
            "{room} does not name {file}"
        );
        let main_loop = text(&root.join(room).with_file_name(file));
        assert!(main_loop.contains(sign), "{file} of {room} has no `{sign}`");
        assert!(
            main_loop.contains("loop {") || main_loop.contains("for ") || main_loop.contains("while "),
            "{room}: {file}"
        );
    }
}

/// Lines of code of the crates' sources that contain a word, comments and tests left out.
fn uses(word: &str) -> Vec<String> {
    let root = root();
    let mut out = Vec::new();
    for file in files(&root.join("crates"), &[".rs"]) {
        let name = file.strip_prefix(&root).expect("below").display().to_string();
        if !name.contains("/src/") {
            continue;
        }
        let whole = text(&file);
        let code = whole.split("#[cfg(test)]").next().unwrap_or("");
        if code.lines().any(|line| line.split("//").next().unwrap_or("").contains(word)) {
            out.push(name);
        }
    }
    out
}

/// Every sentence of ARCHITECTURE.md that says "only" is checked here, by what it is about.
#[test]
fn each_claim_that_something_is_the_only_one_is_true() {
    let architecture = text(&root().join("ARCHITECTURE.md")).replace('\n', " ");
    let claims: Vec<&str> = architecture.split(". ").filter(|sentence| sentence.contains("only")).collect();
    for claim in &claims {
        if claim.contains("unsafe") {
            let found = uses("unsafe {");
            assert_eq!(
                found,
                [
                    "crates/leastaction-core/src/scalar/entries.rs",
                    "crates/leastaction-core/src/simd.rs",
                    "crates/leastaction-maximal/src/newton.rs",
                    // Arrays of Python: rows are read where they are.
                    "crates/leastaction-py/src/arrays.rs",
                ],
                "{claim}"
            );
        } else if claim.contains("terminal") {
            for word in ["println!", "stdout()", "stderr()"] {
                for file in uses(word) {
                    let printers = ["printer.rs", "progress.rs", "leastaction-fuzz/src/main.rs"];
                    assert!(
                        printers.iter().any(|printer| file.ends_with(printer)),
                        "{claim}: {file} uses {word}"
                    );
                }
            }
        } else if claim.contains("clap") {
            assert!(uses("clap::").iter().all(|file| file.starts_with("crates/leastaction-cli/")), "{claim}");
        } else if claim.contains("modules above") {
            // The test `layers` and the compiler guard this one.
        } else {
            panic!("no check for this claim, add one: {claim}");
        }
    }
    assert!(claims.len() >= 3, "{claims:?}");
}
