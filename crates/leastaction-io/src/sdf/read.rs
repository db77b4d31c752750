//! From the files to a flat list of links, joints and frames with scoped names.

use std::path::{Path, PathBuf};

use roxmltree::Node;

use super::joint::{RawJoint, read_joint};
use super::link::{find, read_link};
use super::text::{Owner, all, one, word};
use crate::findings::Findings;
use crate::mechanism::{BodyDescription, Origin, Placement, Problems};
use crate::{SourceMap, UrdfOptions, read_text, xml};

/// Models inside models and includes inside includes.
const DEEPEST: usize = 32;
/// Files one model may be made of.
const MOST_FILES: usize = 256;

/// What a name stands for.
pub(super) enum Kind {
    /// A model's own frame.
    Model,
    /// A link with its content.
    Link(Box<BodyDescription>),
    /// A joint with its content.
    Joint(Box<RawJoint>),
    /// A frame attached to something.
    Frame,
}

/// Something with a pose.
pub(super) struct Item {
    /// With the models around it: `arm::hand::finger`. A model's own frame ends in `__model__`.
    pub(super) name: String,
    /// Names are looked for in here first.
    pub(super) scope: String,
    pub(super) kind: Kind,
    pub(super) pose: Placement,
    /// What the pose is relative to, in its scope.
    pub(super) relative_to: Option<String>,
    /// What a frame (or a model: its canonical link) is attached to, in its scope.
    pub(super) attached_to: Option<String>,
    pub(super) at: Option<Origin>,
}

/// Everything of the files.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) name: String,
    pub(super) gravity: Option<[f64; 3]>,
    pub(super) items: Vec<Item>,
    /// Scopes of models that stand still.
    pub(super) still: Vec<String>,
}

struct Files<'a> {
    options: &'a UrdfOptions,
    sources: &'a mut SourceMap,
    problems: &'a mut Problems,
    count: usize,
    raw: Raw,
}

/// Where a model is put: names around it, and what an `<include>` says of it.
#[derive(Clone, Default)]
struct Place {
    scope: String,
    name: Option<String>,
    pose: Option<(Placement, Option<String>)>,
    is_static: Option<bool>,
    depth: usize,
}

/// Reads the main file and all it includes. `None` if there is no model.
pub(super) fn read(
    text: &str,
    path: &Path,
    options: &UrdfOptions,
    sources: &mut SourceMap,
    problems: &mut Problems,
) -> Option<Raw> {
    let mut files = Files { options, sources, problems, count: 0, raw: Raw::default() };
    let found = files.file(text, path, &Place::default());
    let mut raw = files.raw;
    if raw.name.is_empty() {
        raw.name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    }
    found.then_some(raw)
}

impl Files<'_> {
    fn file(&mut self, text: &str, path: &Path, place: &Place) -> bool {
        self.count += 1;
        let file = self.sources.add(path, text);
        let mut findings = Findings::new(text, file);
        let parsed = xml::parse(&mut findings, xml::MAX_DEPTH);
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        let found = parsed.is_some_and(|parsed| {
            let root = parsed.root_element();
            let world = one(root, "world");
            let holder = world.unwrap_or(root);
            if place.depth == 0 {
                let mut owner = Owner { name: "world".into(), findings: &mut findings };
                self.raw.gravity = world.and_then(|world| owner.numbers(world, "gravity"));
                if let Some(name) = world.and_then(|world| world.attribute("name")) {
                    self.raw.name = name.to_owned();
                }
            }
            let models: Vec<Node<'_, '_>> = all(holder, "model").chain(all(holder, "include")).collect();
            if models.is_empty() {
                let message = "the file holds no `<model>`";
                findings.error(
                    root.range().start,
                    "sdf",
                    message,
                    "an SDF file is `<sdf><model name=\"…\">…`",
                );
                return false;
            }
            // A file that is included gives one model; a world keeps its models apart by their names.
            let several = models.len() > 1 && place.depth == 0;
            let count = if place.depth > 0 { 1 } else { models.len() };
            for model in models.into_iter().take(count) {
                self.model_or_include(model, place, several, &folder, &mut findings);
            }
            true
        });
        self.problems.append(findings.problems);
        found
    }

    fn model_or_include(
        &mut self,
        node: Node<'_, '_>,
        place: &Place,
        named: bool,
        folder: &Path,
        findings: &mut Findings<'_>,
    ) {
        if node.tag_name().name() == "include" {
            return self.include(node, place, named, folder, findings);
        }
        if place.depth > DEEPEST {
            findings.error(
                node.range().start,
                "model",
                format!("models are nested more than {DEEPEST} deep"),
                "join some",
            );
            return;
        }
        let own =
            place.name.clone().or_else(|| node.attribute("name").map(str::to_owned)).unwrap_or_default();
        if place.depth == 0 && !named && self.raw.name.is_empty() {
            self.raw.name.clone_from(&own);
        }
        let outer = place.scope.clone();
        let scope = if place.depth == 0 && !named { String::new() } else { format!("{outer}{own}::") };
        let mut owner = Owner { name: format!("model `{own}`"), findings };
        let (pose, relative_to) = match &place.pose {
            Some(given) => given.clone(),
            None => owner.pose(node),
        };
        let is_static = place.is_static.unwrap_or(matches!(word(node, "static"), Some("true" | "1")));
        if is_static {
            self.raw.still.push(scope.clone());
        }
        if let Some(frame) = node.attribute("placement_frame").filter(|name| !name.is_empty()) {
            owner.error(
                node,
                format!("`placement_frame` {frame:?} is not read"),
                "give the pose of the model's own frame",
            );
        }
        let at = owner.findings.origin(node.range().start);
        let first = one(node, "link").and_then(|link| link.attribute("name"));
        let canonical = node.attribute("canonical_link").or(first).map(str::to_owned);
        self.raw.items.push(Item {
            name: format!("{scope}__model__"),
            scope: outer,
            kind: Kind::Model,
            pose,
            relative_to,
            attached_to: canonical.map(|link| format!("{scope}{link}")),
            at,
        });
        for child in node.children().filter(Node::is_element) {
            let tag = child.tag_name().name();
            match tag {
                "link" | "joint" | "frame" => self.item(child, &scope, folder, owner.findings),
                "model" | "include" => {
                    let inner = Place { scope: scope.clone(), depth: place.depth + 1, ..Place::default() };
                    self.model_or_include(child, &inner, true, folder, owner.findings);
                }
                "gripper" | "plugin" | "self_collide" | "allow_auto_disable" | "enable_wind" | "static"
                | "pose" => {}
                _ => owner.warn(
                    child,
                    &format!("`<{tag}>` of a model is not read"),
                    "nothing to do if it does not change the motion",
                ),
            }
        }
    }

    fn item(&mut self, node: Node<'_, '_>, scope: &str, folder: &Path, findings: &mut Findings<'_>) {
        let tag = node.tag_name().name();
        let Some(name) = node.attribute("name").filter(|name| !name.is_empty()) else {
            findings.error(node.range().start, tag, format!("a {tag} has no name"), "add `name=\"…\"`");
            return;
        };
        let full = format!("{scope}{name}");
        let mut owner = Owner { name: format!("{tag} `{full}`"), findings };
        let (pose, relative_to) = owner.pose(node);
        let mut attached_to = None;
        let kind = match tag {
            "link" => Kind::Link(Box::new(read_link(node, &full, self.options, folder, &mut owner))),
            "joint" => match read_joint(node, &full, &mut owner) {
                Some(joint) => Kind::Joint(Box::new(joint)),
                None => return,
            },
            _ => {
                attached_to =
                    node.attribute("attached_to").filter(|name| !name.is_empty()).map(str::to_owned);
                Kind::Frame
            }
        };
        let at = owner.findings.origin(node.range().start);
        if self.raw.items.iter().any(|item| item.name == full) {
            owner.error(node, "this name is taken", "names of links, joints and frames of a model differ");
            return;
        }
        self.raw.items.push(Item {
            name: full,
            scope: scope.to_owned(),
            kind,
            pose,
            relative_to,
            attached_to,
            at,
        });
    }

    fn include(
        &mut self,
        node: Node<'_, '_>,
        place: &Place,
        named: bool,
        folder: &Path,
        findings: &mut Findings<'_>,
    ) {
        let uri = word(node, "uri").unwrap_or("").to_owned();
        let mut owner = Owner { name: format!("include `{uri}`"), findings };
        if place.depth >= DEEPEST || self.count >= MOST_FILES {
            owner.error(
                node,
                format!("more than {MOST_FILES} files, or includes inside includes more than {DEEPEST} deep"),
                "join some",
            );
            return;
        }
        let found = find(&uri, folder, self.options)
            .map(PathBuf::from)
            .map(|path| if path.is_dir() { in_folder(&path) } else { path });
        let text =
            found.as_deref().filter(|path| path.extension().is_some_and(|e| e == "sdf")).map(read_text);
        let (Some(path), Some(Ok(text))) = (found, text) else {
            owner.error(
                node,
                "the included model is not found",
                "name the folder that holds it with `--package-path FOLDER`; it has a file ending in `.sdf`",
            );
            return;
        };
        let pose = one(node, "pose").map(|_| owner.pose(node));
        let inner = Place {
            scope: place.scope.clone(),
            name: word(node, "name").map(str::to_owned),
            pose,
            is_static: word(node, "static").map(|text| matches!(text, "true" | "1")),
            // At the top an include that stands alone is the model itself.
            depth: place.depth + usize::from(named || place.depth > 0).max(1),
        };
        self.file(&text, &path, &inner);
    }
}

/// The model file of a folder: the one `model.config` names, else `model.sdf`.
fn in_folder(folder: &Path) -> PathBuf {
    let config = read_text(&folder.join("model.config")).unwrap_or_default();
    let named = config
        .rsplit_once("</sdf>")
        .and_then(|(before, _)| before.rsplit_once('>'))
        .map(|(_, name)| name.trim().to_owned());
    folder.join(
        named.filter(|name| !name.is_empty() && !name.contains('/')).unwrap_or_else(|| "model.sdf".into()),
    )
}
