//! [`Reader`]: what the passes share, and the order in which they run.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

use super::assets::Assets;
use super::defaults::{ClassId, Defaults};
use super::document::{self, Attribute, Document, ElementId};
use super::settings::{self, Settings, parse_array, parse_numbers};
use super::tree::BodyRecord;
use super::tuned::{self, Tuned};
use super::{MjcfOptions, actuator, equality, gravcomp, keyframe, sensor, tendon, tree, validate};
use crate::frames::{IDENTITY, Quaternion};
use crate::mechanism::{JointType, ModelDescription, Origin, Placement, Problems, Severity};
use crate::{Diagnostic, Reading, SourceMap, View};

/// An element together with the default elements it inherits from, nearest first.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) id: ElementId,
    pub(super) defaults: Rc<[ElementId]>,
}

/// A joint as the rest of the file refers to it.
#[derive(Clone, Debug)]
pub(super) struct JointRecord {
    /// Index in the description.
    pub(super) index: usize,
    pub(super) kind: JointType,
    /// MuJoCo's coordinate at our zero.
    pub(super) reference: f64,
    /// Pose of a free body in the file.
    pub(super) placement: Placement,
}

/// A site as the rest of the file refers to it.
#[derive(Clone, Debug)]
pub(super) struct SiteRecord {
    /// Index of the body record; 0 is the world.
    pub(super) body: usize,
    pub(super) placement: Placement,
}

/// State of reading one model.
pub(super) struct Reader {
    pub(super) document: Rc<Document>,
    pub(super) problems: Problems,
    pub(super) settings: Settings,
    pub(super) defaults: Defaults,
    pub(super) assets: Assets,
    /// The folder of the main file, which mesh files are relative to.
    pub(super) folder: std::path::PathBuf,
    /// Which shapes are drawn.
    pub(super) view: View,
    pub(super) model: ModelDescription,
    /// The world and all bodies, in MuJoCo's order.
    pub(super) bodies: Vec<BodyRecord>,
    pub(super) body_names: HashMap<String, usize>,
    /// All joints that have coordinates, in MuJoCo's order.
    pub(super) joints: Vec<JointRecord>,
    pub(super) joint_names: HashMap<String, usize>,
    pub(super) sites: HashMap<String, SiteRecord>,
    /// Fixed tendons by name.
    pub(super) tendons: HashMap<String, tendon::TendonRecord>,
    /// Names of joints of the description, to keep made-up ones unique.
    pub(super) used_joint_names: Names,
    pub(super) used_body_names: Names,
    /// The keyframes would mean other poses than ours.
    pub(super) keyframes_are_lost: bool,
    /// Numbers that wait for the mass matrix.
    pub(super) tuned: Vec<Tuned>,
    /// Bodies of the description whose weight is carried, with the part that is.
    pub(super) compensated: Vec<(usize, f64)>,
    /// The actuators of the file in order, with the input each became.
    pub(super) actuators: Vec<Option<String>>,
    /// Geoms that a `pair` names.
    pub(super) paired: HashSet<String>,
}

/// Reads a text; see [`super::read_mjcf`].
pub(super) fn read(text: &str, path: &Path, options: &MjcfOptions) -> Reading {
    let mut sources = SourceMap::new();
    let mut problems = Problems::default();
    let document = document::load(text, path, options, &mut sources, &mut problems);
    let Some(mut document) = document else {
        let diagnostics = Diagnostic::list(problems, &sources);
        return Reading { description: None, sources, diagnostics, sensors: Vec::new() };
    };
    validate::validate(&mut document, &mut problems);
    let settings = settings::read(&document, &mut problems);
    super::replicate::expand(&mut document, &settings, &mut problems);
    let defaults = Defaults::read(&document, &mut problems);
    let assets = Assets::read(&document, &settings, &defaults);
    let stem = path.file_stem().map_or_else(|| "model".into(), |s| s.to_string_lossy().into_owned());
    let name = document.elements[0].text("model").map_or(stem, str::to_owned);
    let mut model = ModelDescription::new(name);
    model.gravity = settings.gravity;
    model.wind = settings.wind;
    let mut reader = Reader {
        document: Rc::new(document),
        problems,
        settings,
        defaults,
        assets,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        view: options.view,
        model,
        bodies: Vec::new(),
        body_names: HashMap::new(),
        joints: Vec::new(),
        joint_names: HashMap::new(),
        sites: HashMap::new(),
        tendons: HashMap::new(),
        used_joint_names: Names::default(),
        used_body_names: Names::default(),
        keyframes_are_lost: false,
        tuned: Vec::new(),
        compensated: Vec::new(),
        actuators: Vec::new(),
        paired: HashSet::new(),
    };
    reader.paired = super::contact::paired(&reader);
    tree::read(&mut reader);
    tendon::read(&mut reader);
    equality::read(&mut reader);
    actuator::read(&mut reader);
    gravcomp::add(&mut reader);
    keyframe::read(&mut reader);
    tuned::apply(&mut reader);
    let sensors = sensor::read(&mut reader);
    reader.list_ignored_sections();
    let empty = reader.model.bodies.is_empty();
    if empty && !reader.problems.has_errors() {
        let remedy = "put at least one `body` inside `worldbody`";
        reader.problems.error(reader.at(0), "mujoco", "the model has no bodies", remedy);
    }
    let diagnostics = Diagnostic::list(reader.problems, &sources);
    Reading { description: (!empty).then_some(reader.model), sources, diagnostics, sensors }
}

impl Reader {
    /// Where an element stands.
    pub(super) fn at(&self, id: ElementId) -> Option<Origin> {
        Some(self.document.elements[id].at)
    }

    /// The settings that hold for an element: those of the file, or of the attached model it came from.
    pub(super) fn settings_of(&self, id: ElementId) -> &Settings {
        self.document.scope_of(id).unwrap_or(&self.settings)
    }

    /// An error of an element.
    pub(super) fn error(&mut self, id: ElementId, message: impl Into<String>, remedy: impl Into<String>) {
        self.problems.error(self.at(id), self.document.label(id), message, remedy);
    }

    /// An error of an attribute.
    pub(super) fn error_at(
        &mut self,
        at: Origin,
        id: ElementId,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.error(Some(at), self.document.label(id), message, remedy);
    }

    /// A warning of an element, at an attribute of it if there is one.
    pub(super) fn warning(
        &mut self,
        id: ElementId,
        at: Option<Origin>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.warning(at.or(self.at(id)), self.document.label(id), message, remedy);
    }

    /// The elements of all sections called `section`.
    pub(super) fn section(&self, section: &str) -> Vec<ElementId> {
        let elements = &self.document.elements;
        let sections = elements[0].children.iter().filter(|id| elements[**id].tag == section);
        sections.flat_map(|id| elements[*id].children.iter().copied()).collect()
    }

    /// An element with its inheritance: its own `class`, else the class active around it.
    pub(super) fn item(&mut self, id: ElementId, kind: &'static str, active: ClassId) -> Item {
        let class = self.class_named(id, "class").unwrap_or(active);
        Item { id, defaults: self.defaults.chain(class, kind) }
    }

    /// The class an attribute (`class` or `childclass`) names.
    pub(super) fn class_named(&mut self, id: ElementId, attribute: &str) -> Option<ClassId> {
        let document = Rc::clone(&self.document);
        let name = document.elements[id].get(attribute).filter(|a| !a.value.is_empty())?;
        let found = self.defaults.find(&name.value);
        if found.is_none() {
            let remedy = self.problems.did_you_mean(&name.value, self.defaults.names(), || {
                format!(
                    "add `<default class=\"{}\"/>` inside `<default>`, or remove `{attribute}`",
                    name.value
                )
            });
            let message = format!("default class `{}` does not exist", name.value);
            self.error_at(name.at, id, message, remedy);
        }
        found
    }

    /// An attribute of the element or, failing that, of its defaults.
    pub(super) fn get(&self, item: &Item, name: &str) -> Option<&Attribute> {
        let elements = &self.document.elements;
        elements[item.id].get(name).or_else(|| item.defaults.iter().find_map(|id| elements[*id].get(name)))
    }

    /// True if the attribute was given, to the element or its defaults, in a form that is reported already.
    pub(super) fn was_malformed(&self, item: &Item, name: &str) -> bool {
        let mut levels = std::iter::once(&item.id).chain(item.defaults.iter());
        levels.any(|id| self.document.elements[*id].taken.iter().any(|t| t == name))
    }

    /// The text of an attribute; empty counts as absent.
    pub(super) fn text(&self, item: &Item, name: &str) -> Option<&str> {
        self.get(item, name).map(|a| a.value.as_str()).filter(|v| !v.is_empty())
    }

    /// One number.
    pub(super) fn number(&self, item: &Item, name: &str) -> Option<f64> {
        self.get(item, name).and_then(|a| a.value.trim().parse().ok())
    }

    /// A fixed count of numbers.
    pub(super) fn array<const N: usize>(&self, item: &Item, name: &str) -> Option<[f64; N]> {
        self.get(item, name).and_then(|a| parse_array(&a.value))
    }

    /// A list that may be given in part: each level overwrites the first entries of the one above.
    pub(super) fn overlaid<const N: usize>(&self, item: &Item, name: &str, initial: [f64; N]) -> [f64; N] {
        let mut values = initial;
        let levels = item.defaults.iter().rev().chain([&item.id]);
        for level in levels {
            if let Some(attribute) = self.document.elements[*level].get(name) {
                for (value, given) in values.iter_mut().zip(parse_numbers(&attribute.value)) {
                    *value = given;
                }
            }
        }
        values
    }

    /// True if the attribute is the word `true`.
    pub(super) fn is_true(&self, item: &Item, name: &str) -> bool {
        self.text(item, name) == Some("true")
    }

    /// Whether a limit applies: `limited`, or with `autolimits` that a range is given.
    pub(super) fn limited(&mut self, item: &Item, limited: &str, range: &str) -> Option<[f64; 2]> {
        let values = self.array::<2>(item, range);
        let (wanted, must) = match self.text(item, limited) {
            Some("true") => (true, true),
            Some("false") => return None,
            _ => (self.settings_of(item.id).autolimits, false),
        };
        let Some([low, high]) = values else {
            if must && !self.was_malformed(item, range) {
                let message = format!("`{limited}` is `true`, but there is no `{range}`");
                let remedy = format!("add `{range}=\"LOW HIGH\"`");
                self.error(item.id, message, remedy);
            }
            return None;
        };
        let at = self.get(item, range).map(|a| a.at);
        if !wanted {
            let message = format!("`{range}` is given, `{limited}` is not, and `autolimits` is off");
            let remedy = format!("add `{limited}=\"true\"`");
            self.problems.error(at, self.document.label(item.id), message, remedy);
            return None;
        }
        // MuJoCo's built-in default; files write it to take an inherited limit back.
        if low == 0.0 && high == 0.0 && !must {
            return None;
        }
        if low >= high {
            let message = format!("`{range}` goes from {low} to {high}");
            let remedy = "write the smaller number first";
            self.problems.error(at, self.document.label(item.id), message, remedy);
            return None;
        }
        Some([low, high])
    }

    /// `pos` and orientation of an element.
    pub(super) fn placement(&mut self, item: &Item) -> Placement {
        let p = self.array(item, "pos").unwrap_or([0.0; 3]);
        Placement { p, q: self.orientation(item) }
    }

    /// The orientation, from the nearest level that gives one in any of the five ways.
    pub(super) fn orientation(&mut self, item: &Item) -> Quaternion {
        const WAYS: [&str; 5] = ["quat", "axisangle", "xyaxes", "zaxis", "euler"];
        let document = Rc::clone(&self.document);
        let levels = std::iter::once(&item.id).chain(item.defaults.iter());
        for level in levels {
            let given: Vec<&Attribute> =
                WAYS.iter().filter_map(|w| document.elements[*level].get(w)).collect();
            let Some(first) = given.first() else { continue };
            if let [_, second, ..] = given[..] {
                let message = format!("both `{}` and `{}` give an orientation", first.name, second.name);
                self.error_at(second.at, *level, message, "keep one of them");
            }
            if let Some(q) = self.settings_of(*level).turn(first) {
                return q;
            }
            let message = format!("`{}` is `{}`, which has no direction", first.name, first.value.trim());
            self.error_at(first.at, *level, message, "write a vector that is not zero");
            return IDENTITY;
        }
        IDENTITY
    }

    /// Lists something that is left out; later ones of which the same is to be said are counted.
    pub(super) fn left_out(&mut self, id: ElementId, what: impl AsRef<str>, remedy: &str) {
        self.once(Severity::Warning, id, what.as_ref(), remedy);
    }

    /// Refuses something that cannot be left out; later ones are counted.
    pub(super) fn refused(&mut self, id: ElementId, what: impl AsRef<str>, remedy: &str) {
        self.once(Severity::Error, id, what.as_ref(), remedy);
    }

    fn once(&mut self, severity: Severity, id: ElementId, what: &str, remedy: &str) {
        self.problems.of_kind(what, severity, self.at(id), self.document.label(id), what, remedy);
    }

    /// A name no joint has yet.
    pub(super) fn new_joint_name(&mut self, wish: &str) -> String {
        self.used_joint_names.unused(wish)
    }

    /// A name no body has yet.
    pub(super) fn new_body_name(&mut self, wish: &str) -> String {
        self.used_body_names.unused(wish)
    }

    /// Sections that would change the motion and are not supported; the others need no word.
    fn list_ignored_sections(&mut self) {
        let document = Rc::clone(&self.document);
        const FORCES: [&str; 7] =
            ["stiffness", "damping", "frictionloss", "range", "armature", "springlength", "actuatorfrcrange"];
        let has_forces = |id: ElementId| FORCES.iter().any(|name| document.elements[id].get(name).is_some());
        // A default class may give forces to tendons that name none.
        let by_default = document.elements.iter().enumerate().any(|(id, element)| {
            element.tag == "tendon"
                && element.parent.is_some_and(|p| document.elements[p].tag == "default")
                && has_forces(id)
        });
        for id in self.section("tendon") {
            if document.elements[id].tag != "fixed" && (by_default || has_forces(id)) {
                self.left_out(id, "spatial tendons are left out, and their forces with them", "remove it");
            }
        }
        for id in self.section("deformable") {
            self.left_out(id, "deformable bodies are left out", "remove it");
        }
        for id in self.section("extension") {
            let (at, label) = (self.at(id), document.label(id));
            self.problems.of_kind(
                "extension",
                Severity::Warning,
                at,
                label,
                "plugins are left out",
                "remove it",
            );
        }
        super::contact::pairs(self);
    }
}

/// Names that are taken, and how far the search for a free one went per wish: thousands may wish for one name.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
    searched: HashMap<String, usize>,
}

impl Names {
    /// Marks a name as taken.
    pub(super) fn take(&mut self, name: &str) {
        self.taken.insert(name.to_owned());
    }

    /// `wish`, or `wish2`, `wish3`, ... if it is taken.
    fn unused(&mut self, wish: &str) -> String {
        let mut name = wish.to_owned();
        while !self.taken.insert(name.clone()) {
            let n = self.searched.entry(wish.to_owned()).or_insert(1);
            *n += 1;
            name = format!("{wish}{n}");
        }
        name
    }
}
