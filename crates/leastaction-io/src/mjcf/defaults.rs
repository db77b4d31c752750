//! Default classes: what an element inherits when it does not say it itself.

use std::collections::HashMap;
use std::rc::Rc;

use super::document::{Document, ElementId};
use crate::mechanism::Problems;

/// Classes inside classes: more is a mistake.
const MAX_CLASS_DEPTH: usize = 100;

/// Index of a class; 0 is `main`.
pub(super) type ClassId = usize;

/// The kinds of element that have defaults of their own.
const KINDS: [&str; 6] = ["joint", "geom", "site", "mesh", "equality", "actuator"];

#[derive(Debug)]
struct Class {
    name: String,
    at: ElementId,
    /// Default elements of each kind, nearest first: own ones, then those of the class above.
    chains: HashMap<&'static str, Rc<[ElementId]>>,
}

/// All classes.
#[derive(Debug)]
pub(super) struct Defaults {
    classes: Vec<Class>,
    by_name: HashMap<String, ClassId>,
}

/// The kind whose defaults an element takes part in.
fn kind_of(tag: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| *kind == tag).or(match tag {
        // All actuator shortcuts set one and the same default actuator.
        "general" | "motor" | "position" | "velocity" | "intvelocity" | "damper" | "cylinder" | "muscle"
        | "adhesion" | "pid" | "orientation" | "dcmotor" => Some("actuator"),
        _ => None,
    })
}

impl Defaults {
    /// Reads all `default` sections.
    pub(super) fn read(document: &Document, problems: &mut Problems) -> Self {
        let main = Class { name: "main".into(), at: 0, chains: HashMap::new() };
        let mut defaults = Self { classes: vec![main], by_name: HashMap::from([("main".into(), 0)]) };
        for &id in &document.elements[0].children {
            if document.elements[id].tag != "default" {
                continue;
            }
            if let Some(name) = document.elements[id].get("class").filter(|a| a.value != "main") {
                let message = format!("the outermost default class is `{}`", name.value);
                let remedy =
                    "the outermost class is always `main`: put yours inside `<default> ... </default>`";
                problems.error(Some(name.at), document.label(id), message, remedy);
            }
            defaults.read_class(document, id, problems);
        }
        defaults
    }

    fn read_class(&mut self, document: &Document, top: ElementId, problems: &mut Problems) {
        let mut stack: Vec<(ElementId, ClassId, usize)> = vec![(top, 0, 0)];
        while let Some((id, class, depth)) = stack.pop() {
            if depth > MAX_CLASS_DEPTH {
                let at = Some(document.elements[id].at);
                let message = format!("default classes are nested more than {MAX_CLASS_DEPTH} deep");
                problems.error(at, document.label(id), message, "put some of them side by side");
                continue;
            }
            // First this class's own elements, so that the classes below inherit all of them.
            let mut own: HashMap<&'static str, Vec<ElementId>> = HashMap::new();
            for &child in &document.elements[id].children {
                if let Some(kind) = kind_of(&document.elements[child].tag) {
                    own.entry(kind).or_default().insert(0, child);
                }
            }
            for (kind, mut chain) in own {
                chain.extend(self.chain(class, kind).iter());
                self.classes[class].chains.insert(kind, chain.into());
            }
            for &child in &document.elements[id].children {
                if document.elements[child].tag == "default"
                    && let Some(inner) = self.add(document, child, class, problems)
                {
                    stack.push((child, inner, depth + 1));
                }
            }
        }
    }

    /// Adds a class that starts as a copy of the one around it.
    fn add(
        &mut self,
        document: &Document,
        id: ElementId,
        around: ClassId,
        problems: &mut Problems,
    ) -> Option<ClassId> {
        let element = &document.elements[id];
        let Some(name) = element.text("class") else {
            let message = "a default class inside another has no name";
            problems.error(Some(element.at), "default", message, "add `class=\"NAME\"`");
            return None;
        };
        if let Some(&first) = self.by_name.get(name) {
            let at = self.classes[first].at;
            let where_ = if at == 0 {
                "the outermost class has this name".to_owned()
            } else {
                format!("class `{name}` exists already")
            };
            let remedy = "give one of the two another name, or join them";
            problems.error(Some(element.at), document.label(id), where_, remedy);
            return None;
        }
        let inherited = &self.classes[around].chains;
        let chains = if element.alone { HashMap::new() } else { inherited.clone() };
        self.classes.push(Class { name: name.to_owned(), at: id, chains });
        self.by_name.insert(name.to_owned(), self.classes.len() - 1);
        Some(self.classes.len() - 1)
    }

    /// The default elements of a kind, nearest first.
    pub(super) fn chain(&self, class: ClassId, kind: &'static str) -> Rc<[ElementId]> {
        self.classes[class].chains.get(kind).map_or_else(|| Rc::from([]), Rc::clone)
    }

    /// The class of a name.
    pub(super) fn find(&self, name: &str) -> Option<ClassId> {
        self.by_name.get(name).copied()
    }

    /// All names of classes.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().map(|c| c.name.as_str())
    }
}
