//! The elements of a file and of all files it includes, as one flat list with origins.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::settings::Settings;
use super::{MjcfOptions, attach};
use crate::findings::Findings;
use crate::mechanism::{Origin, Problems};
use crate::{SourceMap, xml};

/// Deepest nesting of elements that is read. Real models stay below 100; a chain of 100,000 bodies still loads.
const MAX_DEPTH: usize = 250_000;

/// Includes inside includes: more is a mistake.
const MAX_INCLUDE_DEPTH: usize = 32;

/// Index of an element in its [`Document`].
pub(super) type ElementId = usize;

/// An attribute and where its value stands.
#[derive(Clone, Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) at: Origin,
}

/// One XML element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub(super) tag: String,
    pub(super) attributes: Vec<Attribute>,
    /// Names of attributes that validation took away; what is missing because of it needs no second complaint.
    pub(super) taken: Vec<String>,
    pub(super) parent: Option<ElementId>,
    pub(super) children: Vec<ElementId>,
    pub(super) at: Origin,
    /// Whose `compiler` holds for it: 0 for the main file's, else one more than an index of [`Document::scopes`].
    pub(super) scope: usize,
    /// A default class that inherits nothing from the one around it.
    pub(super) alone: bool,
}

impl Element {
    /// An element that says nothing yet.
    pub(super) fn new(at: Origin, scope: usize) -> Self {
        Self {
            tag: String::new(),
            attributes: Vec::new(),
            taken: Vec::new(),
            parent: None,
            children: Vec::new(),
            at,
            scope,
            alone: false,
        }
    }

    /// The attribute called `name`.
    pub(super) fn get(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|a| a.name == name)
    }

    /// The text of the attribute called `name`; an empty name counts as none.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).map(|a| a.value.as_str()).filter(|v| !v.is_empty())
    }
}

/// All elements; 0 is the root.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) elements: Vec<Element>,
    /// Settings of attached models.
    pub(super) scopes: Vec<Settings>,
}

impl Document {
    /// The element as a person would name it: ``joint `elbow` ``, or ``geom in body `arm` ``.
    pub(super) fn label(&self, id: ElementId) -> String {
        let element = &self.elements[id];
        if let Some(name) = element.text("name") {
            return format!("{} `{name}`", element.tag);
        }
        if let ("default", Some(class)) = (element.tag.as_str(), element.text("class")) {
            return format!("default class `{class}`");
        }
        let mut above = element.parent;
        // A name further up would not help anyone find the element.
        for _ in 0..50 {
            let Some(id) = above else { break };
            let ancestor = &self.elements[id];
            let name = ancestor.text("name").or_else(|| ancestor.text("class"));
            match name {
                Some(name) => return format!("{} in {} `{name}`", element.tag, ancestor.tag),
                None if ancestor.parent.is_some_and(|p| self.elements[p].parent.is_none()) => {
                    return format!("{} in {}", element.tag, ancestor.tag);
                }
                None => above = ancestor.parent,
            }
        }
        element.tag.clone()
    }
}

/// Parses the main file and its includes. `None` if there is no usable root.
pub(super) fn load(
    text: &str,
    path: &Path,
    options: &MjcfOptions,
    sources: &mut SourceMap,
    problems: &mut Problems,
) -> Option<Document> {
    let mut loader = Loader {
        document: Document::default(),
        options,
        sources,
        problems,
        included: HashSet::from([clean(path)]),
        bytes: 0,
        directory: path.parent().unwrap_or(Path::new("")).to_owned(),
        budget_spent: false,
        attached: 0,
    };
    loader.append(text, path, None, 0);
    if !loader.document.elements.is_empty() {
        loader.attach_all(path, 0);
    }
    let document = loader.document;
    (!document.elements.is_empty()).then_some(document)
}

/// How far up from the main file's folder its neighbours are looked for.
const LEVELS_UP: usize = 2;

/// True if the file lies below the folder, by name and with links followed.
fn lies_below(file: &Path, folder: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).map(|path| clean(&path));
    let below = |file: std::io::Result<PathBuf>, folder: std::io::Result<PathBuf>| {
        file.and_then(|file| folder.map(|folder| file.starts_with(folder)))
    };
    // Texts from memory have no links.
    below(absolute(file), absolute(folder)).unwrap_or(false)
        && below(file.canonicalize(), folder.canonicalize()).unwrap_or(true)
}

/// True if the outermost element is one of MJCF's own, so that no message quotes a file that never was a model.
fn says_mjcf(text: &str) -> bool {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    for (opens, closes) in [("<?", "?>"), ("<!--", "-->")].into_iter().cycle().take(MAX_REMARKS) {
        if let Some(after) = rest.strip_prefix(opens).and_then(|inside| inside.split_once(closes)) {
            rest = after.1.trim_start();
        }
    }
    rest.starts_with("<mujoco")
}

/// A file with its text, or why it can't be read.
type Found = Result<(PathBuf, String), Option<std::io::Error>>;

/// Remarks before the outermost element that are looked over.
const MAX_REMARKS: usize = 100;

struct Loader<'a> {
    document: Document,
    options: &'a MjcfOptions,
    sources: &'a mut SourceMap,
    problems: &'a mut Problems,
    included: HashSet<PathBuf>,
    bytes: usize,
    directory: PathBuf,
    budget_spent: bool,
    /// Models attached so far, those inside them included.
    attached: usize,
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The path without `.` and with `a/..` removed, so that one file has one name.
fn clean(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}

impl Loader<'_> {
    /// Parses one text and appends its elements; below `parent` those of an included file without its root.
    fn append(&mut self, text: &str, path: &Path, parent: Option<ElementId>, depth: usize) -> bool {
        let file = self.sources.add(path, text);
        self.bytes += text.len();
        let at = |byte: usize| Some(Origin { file, offset: offset(byte) });
        if self.bytes > self.options.max_bytes {
            self.problems.error(
                at(0),
                "",
                format!("the model has more than {} bytes of text", self.options.max_bytes),
                "split what is not needed off, or raise the limit in `MjcfOptions`",
            );
            return false;
        }
        let mut findings = Findings::new(text, file);
        let Some(parsed) = xml::parse(&mut findings, MAX_DEPTH) else {
            self.problems.append(findings.problems);
            return false;
        };
        self.copy(&parsed, file, parent, depth, path)
    }

    /// Copies the elements in document order; an `include` is replaced by the elements of its file.
    fn copy(
        &mut self,
        parsed: &roxmltree::Document<'_>,
        file: u32,
        parent: Option<ElementId>,
        depth: usize,
        path: &Path,
    ) -> bool {
        let mut ids: Vec<Option<ElementId>> = vec![None; parsed.descendants().count() + 1];
        let root = parsed.root_element();
        if parent.is_some() {
            ids[root.id().get_usize()] = parent;
        } else if root.tag_name().name() != "mujoco" {
            self.wrong_root(root, file);
            return false;
        }
        for node in parsed.descendants() {
            if node.is_text() {
                self.stray_text(node, file);
            }
            if !node.is_element() || ids[node.id().get_usize()].is_some() {
                continue;
            }
            let above = node.parent_element().map(|p| ids[p.id().get_usize()]);
            if above == Some(None) {
                continue; // inside an include, which holds nothing
            }
            let above = above.flatten();
            let at = Origin { file, offset: offset(node.range().start) };
            if node.tag_name().name() == "include" {
                self.include(node, at, above, depth, path);
                continue;
            }
            let attributes = node
                .attributes()
                .filter(|a| a.namespace().is_none())
                .map(|a| Attribute {
                    name: a.name().to_owned(),
                    value: a.value().to_owned(),
                    at: Origin { file, offset: offset(a.range().start) },
                })
                .collect();
            let id = self.document.elements.len();
            self.document.elements.push(Element {
                tag: node.tag_name().name().to_owned(),
                attributes,
                parent: above,
                ..Element::new(at, 0)
            });
            if let Some(above) = above {
                self.document.elements[above].children.push(id);
            }
            ids[node.id().get_usize()] = Some(id);
        }
        root.children().any(|c| c.is_element())
    }

    fn wrong_root(&mut self, root: roxmltree::Node<'_, '_>, file: u32) {
        let tag = root.tag_name().name();
        let remedy = match tag {
            "robot" => "this looks like URDF: name the file `.urdf`",
            "sdf" => "this looks like SDF: name the file `.sdf`",
            "mujocoinclude" => "this file is meant to be included: load the file that includes it",
            _ => "an MJCF file has `<mujoco>` as its outermost element",
        };
        let at = Origin { file, offset: offset(root.range().start) };
        self.problems.error(Some(at), tag, format!("the outermost element is `{tag}`, not `mujoco`"), remedy);
    }

    fn stray_text(&mut self, node: roxmltree::Node<'_, '_>, file: u32) {
        let text = node.text().unwrap_or("");
        let Some(first) = text.split_whitespace().next() else { return };
        let skipped = text.len() - text.trim_start().len();
        let at = Origin { file, offset: offset(node.range().start + skipped) };
        let element = node.parent_element().map_or("", |p| p.tag_name().name());
        self.problems.warning(
            Some(at),
            element,
            format!("text that starts with `{first}` stands between elements and is not read"),
            "MJCF keeps everything in attributes: move it into one, or into a comment",
        );
    }

    /// True for files below the folder of the main file and below the folders the caller trusts, links followed: a
    /// model from elsewhere must not read, or quote in a message, what it likes.
    fn may_read(&self, file: &Path) -> bool {
        let folders = self.options.folders.iter().map(PathBuf::as_path);
        std::iter::once(self.main_folder()).chain(folders).any(|folder| lies_below(file, folder))
    }

    /// True for files of MJCF's endings in the folders around the main file's, as collections of models have them
    /// (`../scene/floor.xml`). Such a file is read only if it says itself that it is MJCF.
    fn is_neighbour(&self, file: &Path) -> bool {
        let ends = |path: &Path| path.extension().is_some_and(|e| e == "xml" || e == "mjcf");
        let Ok(main) = std::path::absolute(self.main_folder()).map(|path| clean(&path)) else { return false };
        // Never the root of the file system or what stands directly in it.
        let around = main.ancestors().skip(1).take(LEVELS_UP).filter(|up| up.components().count() > 2).last();
        ends(file)
            && file.canonicalize().map_or(true, |real| ends(&real))
            && around.is_some_and(|around| lies_below(file, around))
    }

    fn main_folder(&self) -> &Path {
        if self.directory == Path::new("") { Path::new(".") } else { &self.directory }
    }

    fn include(
        &mut self,
        node: roxmltree::Node<'_, '_>,
        at: Origin,
        above: Option<ElementId>,
        depth: usize,
        path: &Path,
    ) {
        let at = Some(at);
        for attribute in node.attributes().filter(|a| a.name() != "file") {
            let message = format!("unknown attribute `{}`", attribute.name());
            self.problems.error(at, "include", message, "`include` has the attribute `file` only");
        }
        let Some(name) = node.attribute("file").filter(|name| !name.is_empty()) else {
            self.problems.error(at, "include", "no file is named", "write `<include file=\"NAME.xml\"/>`");
            return;
        };
        let element = format!("include `{name}`");
        if self.budget_spent {
            return;
        }
        if depth >= MAX_INCLUDE_DEPTH || self.included.len() >= self.options.max_files {
            self.budget_spent = true;
            let message = format!(
                "more than {} files, or includes inside includes more than {MAX_INCLUDE_DEPTH} deep",
                self.options.max_files
            );
            self.problems.error(at, element, message, "join some of the files");
            return;
        }
        let Some(found) = self.find(name, at, &element, path, true) else { return };
        match found {
            Ok((file, text)) => {
                self.included.insert(file.clone());
                let errors_before = self.problems.has_errors();
                if !self.append(&text, &file, above, depth + 1)
                    && !errors_before
                    && !self.problems.has_errors()
                {
                    let remedy = "put what is to be included inside its outermost element";
                    self.problems.error(at, element, "the included file holds no element", remedy);
                }
            }
            Err(error) => {
                let why = error.map_or_else(String::new, |e| format!(": {e}"));
                let beside_main = clean(&self.directory.join(name));
                let message = format!("cannot read `{}`{why}", beside_main.display());
                self.problems.error(at, element, message, "give the path relative to the main file");
            }
        }
    }

    /// Looks for a file that the model names and may read; `None` if that was refused, which is said. `once` refuses a file
    /// that is part of the model already.
    fn find(
        &mut self,
        name: &str,
        at: Option<Origin>,
        element: &str,
        path: &Path,
        once: bool,
    ) -> Option<Found> {
        // MuJoCo looks beside the main file; nested includes are often written relative to their own file.
        let beside_main = clean(&self.directory.join(name));
        let beside_this = clean(&path.parent().unwrap_or(Path::new("")).join(name));
        let mut found: Found = Err(None);
        let relative = !Path::new(name).is_absolute();
        let candidates = [&beside_main, &beside_this]
            .map(|path| Some(path).filter(|path| self.may_read(path) || relative && self.is_neighbour(path)));
        let outside = |loader: &mut Self, element: &str| {
            let remedy =
                "move it there, or name its folder as one whose files may be read (`--package-path FOLDER`)";
            loader.problems.error(at, element, "the file lies outside the folder of the model", remedy);
        };
        if candidates == [None, None] {
            outside(self, element);
            return None;
        }
        for candidate in candidates.into_iter().flatten() {
            if once && self.included.contains(candidate) {
                let remedy =
                    "each file can be included once: remove this include, or the cycle it is part of";
                self.problems.error(at, element, "this file is part of the model already", remedy);
                return None;
            }
            match (self.options.read_file)(candidate) {
                Ok(text) if !self.may_read(candidate) && !says_mjcf(&text) => {
                    outside(self, element);
                    return None;
                }
                Ok(text) => {
                    found = Ok((candidate.clone(), text));
                    break;
                }
                Err(error) if found.as_ref().err().is_some_and(Option::is_none) => found = Err(Some(error)),
                Err(_) => {}
            }
        }
        Some(found)
    }

    /// Replaces every `attach` by what it stands for.
    fn attach_all(&mut self, path: &Path, depth: usize) {
        let inside = |document: &Document, mut id: ElementId| loop {
            match document.elements[id].parent {
                Some(0) => return document.elements[id].tag == "worldbody",
                Some(parent) => id = parent,
                None => return false,
            }
        };
        for id in 0..self.document.elements.len() {
            if self.document.elements[id].tag == "attach" && inside(&self.document, id) {
                self.attach(id, path, depth);
            }
        }
    }

    fn attach(&mut self, id: ElementId, path: &Path, depth: usize) {
        let (at, label) = (Some(self.document.elements[id].at), self.document.label(id));
        for attribute in &self.document.elements[id].attributes {
            if !["model", "body", "prefix"].contains(&attribute.name.as_str()) {
                let message = format!("unknown attribute `{}`", attribute.name);
                let remedy = "`attach` has the attributes `model`, `body` and `prefix`";
                self.problems.error(Some(attribute.at), label.clone(), message, remedy);
            }
        }
        let wanted = self.document.elements[id].text("model").unwrap_or("").to_owned();
        let models = self.document.elements[0].children.iter().map(|id| &self.document.elements[*id]);
        let models = models.filter(|section| section.tag == "asset").flat_map(|section| &section.children);
        let models = models.map(|id| &self.document.elements[*id]).filter(|e| e.tag == "model");
        let files: Vec<(String, String)> = models
            .filter_map(|model| {
                let file = model.text("file")?;
                Some((model.text("name").unwrap_or(file).to_owned(), file.to_owned()))
            })
            .collect();
        let Some((_, file)) = files.iter().find(|(name, _)| *name == wanted) else {
            let known = files.iter().map(|(name, _)| name.as_str());
            let remedy = self.problems.did_you_mean(&wanted, known, || {
                "add `<model name=\"NAME\" file=\"FILE.xml\"/>` inside `asset` and name it".into()
            });
            self.problems.error(at, label, format!("there is no model `{wanted}` among the assets"), remedy);
            return;
        };
        if depth >= MAX_INCLUDE_DEPTH || self.attached >= self.options.max_files || self.budget_spent {
            if !std::mem::replace(&mut self.budget_spent, true) {
                let most = self.options.max_files;
                let message = format!(
                    "more than {most} models are attached, or one in another {MAX_INCLUDE_DEPTH} deep"
                );
                self.problems.error(at, label, message, "join some of the files");
            }
            return;
        }
        let Some(found) = self.find(file, at, &label, path, false) else { return };
        match found {
            Ok((place, text)) => {
                if let Some(child) = self.child(&text, &place, depth) {
                    attach::graft(&mut self.document, id, &child, self.problems);
                }
            }
            Err(error) => {
                let why = error.map_or_else(String::new, |e| format!(": {e}"));
                let message = format!("cannot read `{file}`{why}");
                self.problems.error(at, label, message, "give the path relative to the main file");
            }
        }
    }

    /// An attached model, complete.
    fn child(&mut self, text: &str, path: &Path, depth: usize) -> Option<Document> {
        let folder = path.parent().unwrap_or(Path::new(""));
        let from_main =
            folder.strip_prefix(clean(&self.directory)).unwrap_or(folder).to_string_lossy().into_owned();
        let mut loader = Loader {
            document: Document::default(),
            options: self.options,
            sources: &mut *self.sources,
            problems: &mut *self.problems,
            included: HashSet::from([path.to_owned()]),
            bytes: self.bytes,
            directory: folder.to_owned(),
            budget_spent: false,
            attached: self.attached + 1,
        };
        loader.append(text, path, None, 0);
        if !loader.document.elements.is_empty() {
            loader.attach_all(path, depth + 1);
        }
        let (mut child, spent) = (loader.document, loader.budget_spent);
        (self.bytes, self.attached) = (loader.bytes, loader.attached);
        self.budget_spent |= spent;
        if child.elements.is_empty() {
            return None;
        }
        attach::prepare(&mut child, &from_main, self.problems);
        Some(child)
    }
}
