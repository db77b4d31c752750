//! Copies of parts of a document: what `attach` and `replicate` have in common.

use std::collections::HashSet;

use super::document::{Document, Element, ElementId};

/// Sections whose elements follow what they refer to, in the order in which they may refer to each other.
pub(super) const FOLLOWERS: [&str; 5] = ["tendon", "actuator", "equality", "contact", "sensor"];

/// Most elements a model may grow to by copies.
pub(super) const MAX_ELEMENTS: usize = 1_000_000;

/// What an attribute refers to by name, if it does.
pub(super) fn refers_to<'a>(element: &'a Element, attribute: &'a str) -> Option<&'a str> {
    Some(match attribute {
        "joint" | "joint1" | "joint2" | "jointinparent" => "joint",
        "site" | "site1" | "site2" | "refsite" | "cranksite" | "slidersite" | "sidesite" => "site",
        "body" | "body1" | "body2" | "target" | "subtree1" | "subtree2" => "body",
        "geom" | "geom1" | "geom2" => "geom",
        "tendon" | "tendon1" | "tendon2" => "tendon",
        "actuator" => "actuator",
        "class" | "childclass" => "class",
        "mesh" | "material" | "texture" | "hfield" => attribute,
        "objname" => kind(element.text("objtype")?),
        "refname" => kind(element.text("reftype")?),
        _ => return None,
    })
}

fn kind(word: &str) -> &str {
    if word == "xbody" { "body" } else { word }
}

/// What an element with a name is, as others refer to it.
fn named_kind<'a>(element: &'a Element, section: &str) -> &'a str {
    match (section, element.tag.as_str()) {
        ("tendon", _) => "tendon",
        ("actuator", _) => "actuator",
        (_, "freejoint") => "joint",
        (_, tag) => tag,
    }
}

/// Names of elements by kind.
#[derive(Debug, Default)]
pub(super) struct NamesOf(HashSet<(String, String)>);

impl NamesOf {
    pub(super) fn has(&self, kind: &str, name: &str) -> bool {
        // No look-up without owned strings would be worth its words here.
        self.0.contains(&(kind.to_owned(), name.to_owned()))
    }

    /// Takes in all names of a part.
    pub(super) fn extend(&mut self, part: &Part, section: &str) {
        for element in &part.0 {
            if let Some(name) = element.text("name") {
                self.0.insert((named_kind(element, section).to_owned(), name.to_owned()));
            }
        }
    }

    /// How many references of a part lead into these names, and how many elsewhere (but not to the world).
    pub(super) fn references(&self, part: &Part) -> (usize, usize) {
        let (mut inside, mut outside) = (0, 0);
        for element in &part.0 {
            for attribute in &element.attributes {
                let Some(kind) = refers_to(element, &attribute.name) else { continue };
                let movable = ["joint", "site", "body", "geom", "tendon", "actuator"].contains(&kind);
                let world = kind == "body" && attribute.value == "world";
                if !movable || attribute.value.is_empty() || world {
                    continue;
                }
                if self.has(kind, &attribute.value) {
                    inside += 1;
                } else {
                    outside += 1;
                }
            }
        }
        (inside, outside)
    }
}

/// An element with everything in it, cut loose: 0 is the element, parents and children count within the part.
#[derive(Clone, Debug)]
pub(super) struct Part(pub(super) Vec<Element>);

impl Part {
    /// A copy of an element and what is in it.
    pub(super) fn of(document: &Document, id: ElementId) -> Self {
        let mut part: Vec<Element> = Vec::new();
        let mut stack = vec![(id, None)];
        while let Some((id, parent)) = stack.pop() {
            let here = part.len();
            let mut element = document.elements[id].clone();
            let children = std::mem::take(&mut element.children);
            element.parent = parent;
            part.push(element);
            if let Some(parent) = parent {
                part[parent].children.push(here);
            }
            stack.extend(children.into_iter().rev().map(|child| (child, Some(here))));
        }
        Self(part)
    }

    /// Puts a copy into a document, as the last child of `parent`, each element changed by `change`.
    pub(super) fn plant(&self, document: &mut Document, parent: ElementId, change: impl Fn(&mut Element)) {
        let first = document.elements.len();
        for (i, element) in self.0.iter().enumerate() {
            let mut element = element.clone();
            change(&mut element);
            element.parent = Some(element.parent.map_or(parent, |p| first + p));
            for child in &mut element.children {
                *child += first;
            }
            document.elements.push(element);
            if i == 0 {
                document.elements[parent].children.push(first);
            }
        }
    }
}
