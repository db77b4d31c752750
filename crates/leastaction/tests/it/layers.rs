//! Layers point one way: a module uses only modules below it. Between crates the compiler guards that.

use std::path::Path;

/// Modules from the bottom up; a module may use those on lines above its own, and itself.
const LAYERS: &[&[&str]] = &[
    &["scalar", "sabotage"],
    &["simd", "lobatto"],
    &["lie", "linalg", "spatial"],
    &["contact"],
    &["mechanism"],
    &["dynamics", "spline"],
    &["trajectory"],
    &["integrator", "jet"],
    &["optimize"],
    &["batch", "control"],
];

fn layer(module: &str) -> usize {
    LAYERS
        .iter()
        .position(|names| names.contains(&module))
        .unwrap_or_else(|| panic!("module `{module}` has no layer: add it to LAYERS"))
}

fn visit(folder: &Path, out: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("source folder") {
        let path = entry.expect("entry").path();
        if path.is_dir() {
            visit(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

#[test]
fn no_module_uses_one_above_it() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let mut files = Vec::new();
    for room in ["leastaction-core", "leastaction-motion", "leastaction"] {
        visit(&crates.join(room).join("src"), &mut files);
    }
    assert!(files.len() > 50, "{} files", files.len());
    let mut upward = Vec::new();
    for file in files {
        let relative = file.strip_prefix(crates).expect("below the crates");
        let relative: std::path::PathBuf = relative.components().skip(2).collect();
        let module = relative.components().next().expect("a name").as_os_str().to_string_lossy();
        let module = module.trim_end_matches(".rs").to_owned();
        // Slow twins may look at everything they are the twin of; so may the tests inside a file.
        if module == "lib" || module == "reference" {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("readable");
        let text = text.split("#[cfg(test)]").next().unwrap_or("");
        for line in text.lines().map(str::trim).filter(|l| !l.starts_with("//")) {
            for part in line.split("crate::").skip(1) {
                let used: String = part.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                // Kernels may be compiled for the number types of the twins, in tests.
                if used.is_empty() || used == module || used == "reference" {
                    continue;
                }
                if layer(&used) > layer(&module)
                    || (layer(&used) == layer(&module)) && used != "spatial" && used != "lie"
                {
                    upward.push(format!("{}: {line}", relative.display()));
                }
            }
        }
    }
    assert!(upward.is_empty(), "upward edges:\n{}", upward.join("\n"));
}
