//! `attach`: a body of another file, or all of its bodies, with everything that belongs to them.
//!
//! The other file is a whole model. Its names get a prefix, its default classes stand beside ours without inheriting from them,
//! and its `compiler` goes on to hold for its elements, which remember it by their scope. Its `option` is not ours, and its
//! keyframes would need coordinates of the rest, so that they are left out, which we say.

use std::path::Path;

use super::copies::{FOLLOWERS, MAX_ELEMENTS, NamesOf, Part, refers_to};
use super::document::{Attribute, Document, Element, ElementId};
use super::settings::{self, Settings};
use crate::mechanism::Problems;

/// The outermost default class of every model.
const MAIN: &str = "main";

/// Makes an attached model ready to be copied from: checked, with its own copies made and its settings known.
pub(super) fn prepare(child: &mut Document, folder: &str, problems: &mut Problems) {
    super::validate::validate(child, problems);
    // What its `option` says is not asked for, so nothing is said about it.
    let mut own = settings::read(child, &mut Problems::default());
    super::replicate::expand(child, &own, problems);
    own.mesh_directory = join(folder, &own.mesh_directory);
    for nested in &mut child.scopes {
        nested.mesh_directory = join(folder, &nested.mesh_directory);
    }
    child.scopes.insert(0, own);
}

fn join(folder: &str, directory: &str) -> String {
    if Path::new(directory).is_absolute() || folder.is_empty() {
        directory.to_owned()
    } else if directory.is_empty() {
        folder.to_owned()
    } else {
        format!("{folder}/{directory}")
    }
}

/// Replaces an `attach` element by a frame that holds what it stands for.
pub(super) fn graft(document: &mut Document, id: ElementId, child: &Document, problems: &mut Problems) {
    let element = &document.elements[id];
    let at = element.at;
    let prefix = element.text("prefix").unwrap_or("").to_owned();
    let Some(roots) = roots(document, id, child, problems) else { return };
    if document.elements.len() + child.elements.len() > MAX_ELEMENTS {
        let message = format!("with it the model has more than {MAX_ELEMENTS} elements");
        problems.error(Some(at), document.label(id), message, "attach fewer models");
        return;
    }
    // Scope 0 of the child is its own settings, which `prepare` put first.
    let first_scope = document.scopes.len() + 1;
    document.scopes.extend(child.scopes.iter().cloned());
    let main = if prefix.is_empty() {
        format!("{MAIN} of attached model {first_scope}")
    } else {
        format!("{prefix}{MAIN}")
    };
    let change = |element: &mut Element| {
        element.scope += first_scope;
        rename(element, &prefix, &main);
    };

    let mut names = NamesOf::default();
    let parts: Vec<Part> = roots.iter().map(|root| Part::of(child, *root)).collect();
    for part in &parts {
        names.extend(part, "worldbody");
        part.plant(document, id, change);
    }
    let element = &mut document.elements[id];
    element.tag = "frame".into();
    element.attributes = vec![Attribute { name: "childclass".into(), value: main.clone(), at }];

    classes(document, child, &main, at, &change);
    for section in ["asset"].into_iter().chain(FOLLOWERS) {
        for part in section_of(child, section) {
            let (_, outside) = names.references(&part);
            if section == "asset" || outside == 0 {
                names.extend(&part, section);
                let holder = new_section(document, section, at);
                part.plant(document, holder, change);
                let planted = document.elements[holder].children[0];
                name_class(&mut document.elements[planted], section, &main, at);
            }
        }
    }
    if !section_of(child, "keyframe").is_empty() {
        let what = "keyframes of attached models are left out";
        let remedy = "write keyframes for the whole model";
        problems.of_kind(
            what,
            crate::mechanism::Severity::Warning,
            Some(at),
            document.label(id),
            what,
            remedy,
        );
    }
}

/// The body that is asked for, or all that stands in the world of the child.
fn roots(
    document: &Document,
    id: ElementId,
    child: &Document,
    problems: &mut Problems,
) -> Option<Vec<ElementId>> {
    let worlds = child.elements[0].children.iter().filter(|id| child.elements[**id].tag == "worldbody");
    let Some(wanted) = document.elements[id].get("body").filter(|a| !a.value.is_empty()) else {
        return Some(worlds.flat_map(|id| child.elements[*id].children.iter().copied()).collect());
    };
    let mut stack: Vec<ElementId> = worlds.copied().collect();
    let mut known = Vec::new();
    while let Some(at) = stack.pop() {
        let element = &child.elements[at];
        if element.tag == "body"
            && let Some(name) = element.text("name")
        {
            if name == wanted.value {
                return Some(vec![at]);
            }
            known.push(name);
        }
        stack.extend(
            element
                .children
                .iter()
                .filter(|id| ["body", "frame"].contains(&child.elements[**id].tag.as_str())),
        );
    }
    let remedy = problems.did_you_mean(&wanted.value, known, || "name a `body` of that file".into());
    let message = format!("body `{}` does not exist in the attached model", wanted.value);
    problems.error(Some(wanted.at), document.label(id), message, remedy);
    None
}

/// All elements of all sections of one kind.
fn section_of(document: &Document, section: &str) -> Vec<Part> {
    let sections = document.elements[0].children.iter().filter(|id| document.elements[**id].tag == section);
    let children = sections.flat_map(|id| document.elements[*id].children.iter());
    children.map(|id| Part::of(document, *id)).filter(|part| part.0[0].tag != "model").collect()
}

/// The default classes of the child: its outermost one beside ours, without inheriting from it.
fn classes(
    document: &mut Document,
    child: &Document,
    main: &str,
    at: crate::mechanism::Origin,
    change: &impl Fn(&mut Element),
) {
    let holder = new_section(document, "default", at);
    let class = document.elements.len();
    document.elements.push(Element {
        tag: "default".into(),
        attributes: vec![Attribute { name: "class".into(), value: main.to_owned(), at }],
        alone: true,
        parent: Some(holder),
        ..Element::new(at, 0)
    });
    document.elements[holder].children.push(class);
    for part in section_of(child, "default") {
        part.plant(document, class, change);
    }
}

fn new_section(document: &mut Document, tag: &str, at: crate::mechanism::Origin) -> ElementId {
    let id = document.elements.len();
    document.elements.push(Element { tag: tag.into(), parent: Some(0), ..Element::new(at, 0) });
    document.elements[0].children.push(id);
    id
}

/// Elements outside of the tree inherit from the child's outermost class if they name none.
fn name_class(element: &mut Element, section: &str, main: &str, at: crate::mechanism::Origin) {
    let has_class = matches!(section, "tendon" | "actuator" | "equality")
        || matches!(element.tag.as_str(), "mesh" | "material" | "texture" | "pair");
    if has_class && element.text("class").is_none() {
        element.attributes.push(Attribute { name: "class".into(), value: main.to_owned(), at });
    }
}

/// Gives a copied element its names.
fn rename(element: &mut Element, prefix: &str, main: &str) {
    if element.tag == "mesh" && element.text("name").is_none() {
        // A mesh without a name is called like its file; the prefix must not change the file's.
        let name = element.text("file").map(|file| super::assets::name_of(file).to_owned());
        let at = element.at;
        element.attributes.extend(name.map(|value| Attribute { name: "name".into(), value, at }));
    }
    let kinds: Vec<Option<String>> =
        element.attributes.iter().map(|a| refers_to(element, &a.name).map(str::to_owned)).collect();
    for (attribute, kind) in element.attributes.iter_mut().zip(kinds) {
        match kind.as_deref() {
            Some("class") if attribute.value == MAIN => attribute.value = main.to_owned(),
            Some("body") if attribute.value == "world" => {}
            None if attribute.name != "name" => {}
            _ if attribute.value.is_empty() => {}
            _ => attribute.value.insert_str(0, prefix),
        }
    }
}

impl Document {
    /// The settings that hold for an element, if it was attached from another file.
    pub(super) fn scope_of(&self, id: ElementId) -> Option<&Settings> {
        self.elements[id].scope.checked_sub(1).map(|scope| &self.scopes[scope])
    }
}
