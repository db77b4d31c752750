//! `replicate`: a part of the tree again and again, each copy moved on from the one before and turned further.
//!
//! MuJoCo's rules, found by trying: copies are named `NAME` `sep` `NUMBER`, the number with as many digits as the count has;
//! tendons, actuators, equalities, contacts and sensors that refer to copied elements only are copied too and stand after
//! those that are not; what refers to copied and other elements falls away, which we say.

use super::copies::{FOLLOWERS, MAX_ELEMENTS, NamesOf, Part, refers_to};
use super::document::{Attribute, Document, Element, ElementId};
use super::settings::{Settings, parse_array, parse_numbers};
use crate::frames::{IDENTITY, add, rotate};
use crate::mechanism::{Placement, Problems};

/// Replaces every `replicate` by frames with its copies, inner ones first.
pub(super) fn expand(document: &mut Document, settings: &Settings, problems: &mut Problems) {
    for id in innermost_first(document) {
        one(document, id, settings, problems);
    }
}

fn innermost_first(document: &Document) -> Vec<ElementId> {
    let mut found = Vec::new();
    let mut stack = vec![0];
    while let Some(id) = stack.pop() {
        if document.elements[id].tag == "replicate" {
            found.push(id);
        }
        stack.extend(document.elements[id].children.iter());
    }
    // Whatever holds another was met before it.
    found.reverse();
    found
}

fn one(document: &mut Document, id: ElementId, settings: &Settings, problems: &mut Problems) {
    let element = &document.elements[id];
    let (at, label) = (element.at, document.label(id));
    let count: usize = element.text("count").and_then(|c| c.trim().parse().ok()).unwrap_or(0);
    let children = std::mem::take(&mut document.elements[id].children);
    let parts: Vec<Part> = children.iter().map(|child| Part::of(document, *child)).collect();
    let size: usize = parts.iter().map(|part| part.0.len()).sum();
    if count == 0 || count.saturating_mul(size + 1).saturating_add(document.elements.len()) > MAX_ELEMENTS {
        if document.elements[id].get("count").is_some() {
            let message = format!("`count` is {count}");
            let remedy =
                format!("write a whole number from 1 on; a model may have {MAX_ELEMENTS} elements in all");
            problems.error(Some(at), label, message, remedy);
        }
        document.elements[id].tag = "frame".into();
        document.elements[id].attributes.clear();
        return;
    }
    let element = &document.elements[id];
    let offset = element.text("offset").and_then(parse_array).unwrap_or([0.0; 3]);
    let euler = element.get("euler").cloned();
    let separator = element.text("sep").unwrap_or("").to_owned();
    let digits = count.to_string().len();
    let suffixes: Vec<String> = (0..count).map(|i| format!("{separator}{i:0digits$}")).collect();

    let mut names = NamesOf::default();
    for part in &parts {
        names.extend(part, "worldbody");
    }
    let mut placement = Placement::default();
    for (i, suffix) in suffixes.iter().enumerate() {
        // Angles are multiples of the given ones, which about several axes is another turn than the same turn again.
        let turn = euler.as_ref().and_then(|euler| settings.turn(&times(euler, i)));
        placement.q = turn.unwrap_or(IDENTITY);
        let frame = frame(document, id, &placement);
        for part in &parts {
            part.plant(document, frame, |element| rename(element, &names, suffix));
        }
        placement.p = add(placement.p, rotate(placement.q, offset));
    }
    let element = &mut document.elements[id];
    element.tag = "frame".into();
    element.attributes.clear();
    for section in FOLLOWERS {
        follow(document, section, &mut names, &suffixes, problems);
    }
}

/// An attribute with each of its numbers multiplied.
fn times(attribute: &Attribute, factor: usize) -> Attribute {
    let words = parse_numbers(&attribute.value).into_iter().map(|x| (x * factor as f64).to_string());
    Attribute { value: words.collect::<Vec<_>>().join(" "), ..attribute.clone() }
}

/// Adds an empty frame at a placement to an element.
fn frame(document: &mut Document, parent: ElementId, placement: &Placement) -> ElementId {
    let at = document.elements[parent].at;
    let words = |numbers: &[f64]| numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let attribute = |name: &str, value| Attribute { name: name.into(), value, at };
    let id = document.elements.len();
    document.elements.push(Element {
        tag: "frame".into(),
        attributes: vec![attribute("pos", words(&placement.p)), attribute("quat", words(&placement.q))],
        parent: Some(parent),
        ..Element::new(at, document.elements[parent].scope)
    });
    document.elements[parent].children.push(id);
    id
}

/// Gives an element of a copy its names.
fn rename(element: &mut Element, names: &NamesOf, suffix: &str) {
    let renamed: Vec<bool> = element
        .attributes
        .iter()
        .map(|a| {
            let refers = refers_to(element, &a.name).is_some_and(|kind| names.has(kind, &a.value));
            !a.value.is_empty() && (refers || a.name == "name")
        })
        .collect();
    for (attribute, renamed) in element.attributes.iter_mut().zip(renamed) {
        if renamed {
            attribute.value.push_str(suffix);
        }
    }
}

/// Copies the elements of a section that refer to what was copied.
fn follow(
    document: &mut Document,
    section: &str,
    names: &mut NamesOf,
    suffixes: &[String],
    problems: &mut Problems,
) {
    let is_section = |id: &ElementId| document.elements[*id].tag == section;
    let holders: Vec<ElementId> = document.elements[0].children.iter().copied().filter(is_section).collect();
    for holder in holders {
        let children = std::mem::take(&mut document.elements[holder].children);
        let mut copied = Vec::new();
        for child in children {
            let part = Part::of(document, child);
            match names.references(&part) {
                (0, _) => document.elements[holder].children.push(child),
                (_, 0) => copied.push(part),
                _ => {
                    let message = "it refers to elements inside and outside of `replicate` and is left out, as by MuJoCo";
                    let remedy = "put it outside of `replicate`, or write the copies out";
                    let at = Some(document.elements[child].at);
                    problems.warning(at, document.label(child), message, remedy);
                }
            }
        }
        for part in &copied {
            names.extend(part, section);
        }
        for suffix in suffixes {
            for part in &copied {
                part.plant(document, holder, |element| rename(element, names, suffix));
            }
        }
    }
}
