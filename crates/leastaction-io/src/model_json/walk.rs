//! The walk along the [shape](super::shape) of the format: every fault, with its place and element.

use super::shape::{Field, MODEL, Shape};
use crate::findings::{Findings, nearest, one_of, quoted};
use crate::json::{Tree, Value};

/// Reports everything in the tree that does not have the form of a model.
pub(super) fn check<'t>(tree: &Tree<'t>, findings: &mut Findings<'t>) {
    Walk { tree, findings }.value(0, &MODEL);
}

/// After so many faults the walk stops looking: finding the number of an entry takes time in a long list.
const ENOUGH: usize = 1000;

struct Walk<'w, 't> {
    tree: &'w Tree<'t>,
    findings: &'w mut Findings<'t>,
}

impl Walk<'_, '_> {
    fn error(&mut self, node: usize, at: usize, message: String, remedy: impl Into<String>) {
        self.findings.error(at, self.tree.element(node), message, remedy);
    }

    /// The key a user sees beside a value: `` `com` ``, or `` entry 2 of `com` ``.
    fn label(&self, node: usize) -> String {
        if let Some((key, _)) = &self.tree.nodes[node].key {
            return quoted(key);
        }
        match self.tree.nodes[node].parent {
            Some(list) => {
                let place = self.tree.nodes[list].children.iter().position(|c| *c == node).unwrap_or(0);
                format!("entry {} of {}", place + 1, self.label(list))
            }
            None => "the file".into(),
        }
    }

    fn wrong_type(&mut self, node: usize, wanted: &str, example: &str) {
        let found = &self.tree.nodes[node];
        let (at, value) = (found.at, &found.value);
        let (message, remedy) = match value {
            Value::NotFinite(token, what) => {
                let key = self.tree.nodes[node].key.as_ref().map_or("", |(key, _)| key.as_ref());
                let is_limit = ["lower", "upper", "velocity", "effort"].contains(&key);
                let remedy =
                    if is_limit { "leave the limit out to have none" } else { "write a finite number" };
                (format!("{} is {}, which {what}", self.label(node), quoted(token)), remedy.to_owned())
            }
            _ => {
                let message = format!("{} is {}, but {wanted} is wanted", self.label(node), value.describe());
                (message, format!("write {example}"))
            }
        };
        self.error(node, at, message, remedy);
    }

    fn value(&mut self, node: usize, shape: &Shape) {
        if self.findings.problems.count() > ENOUGH {
            return;
        }
        let value = &self.tree.nodes[node].value;
        match (shape, value) {
            (Shape::Number, Value::Number(_)) | (Shape::Text, Value::Text(_)) => {}
            (Shape::Count, Value::Number(x)) if *x >= 0.0 && x.fract() == 0.0 && *x < 1e9 => {
                self.plain_digits(node)
            }
            (Shape::OneOf(names), Value::Text(text)) if names.contains(&text.as_ref()) => {}
            (Shape::OneOf(names), Value::Text(text)) => {
                let meant = nearest(text, names.iter().copied());
                let remedy = match meant {
                    Some(meant) => format!("did you mean `{meant}`? Known are {}", one_of(names)),
                    None => format!("use {}", one_of(names)),
                };
                let message = format!("unknown {} {}", self.label(node), quoted(text));
                self.error(node, self.tree.nodes[node].at, message, remedy);
            }
            (Shape::NumberOrNumbers, Value::Number(_)) => {}
            (Shape::Vector(_) | Shape::Numbers | Shape::NumberOrNumbers, Value::List) => {
                self.numbers(node, shape)
            }
            (Shape::List(entry), Value::List) => {
                for i in 0..self.tree.nodes[node].children.len() {
                    self.value(self.tree.nodes[node].children[i], entry);
                }
            }
            (Shape::Map(entry), Value::Object) => {
                for i in 0..self.tree.nodes[node].children.len() {
                    self.value(self.tree.nodes[node].children[i], entry);
                }
            }
            (Shape::Struct(fields), Value::Object) => self.object(node, &[], fields),
            (Shape::ByType(kinds), Value::Object) => self.by_type(node, kinds),
            (shape, _) => {
                let (wanted, example) = describe(shape);
                self.wrong_type(node, &wanted, &example);
            }
        }
    }

    /// `2.0` and `2e0` are whole to a reader of numbers, but not to one of counts.
    fn plain_digits(&mut self, node: usize) {
        let at = self.tree.nodes[node].at;
        let digits = self.findings.text()[at..].bytes().take_while(u8::is_ascii_digit).count();
        let next = self.findings.text().as_bytes().get(at + digits);
        if digits == 0 || matches!(next, Some(b'.' | b'e' | b'E')) {
            let message = format!("{} must be a whole number without point or exponent", self.label(node));
            self.error(node, at, message, "write digits only, such as 0");
        }
    }

    fn numbers(&mut self, node: usize, shape: &Shape) {
        let count = self.tree.nodes[node].children.len();
        let nested = |c: &usize| self.tree.nodes[*c].value == Value::List;
        if self.tree.nodes[node].children.iter().any(nested) {
            let (wanted, _) = describe(shape);
            let message = format!("{} is a list of lists, but {wanted} is wanted", self.label(node));
            let remedy = match shape {
                Shape::Vector(6) => "write `[xx, yy, zz, xy, xz, yz]` for an inertia",
                _ => "write the numbers in one list",
            };
            return self.error(node, self.tree.nodes[node].at, message, remedy);
        }
        for i in 0..count {
            if self.findings.problems.count() > ENOUGH {
                return;
            }
            let entry = self.tree.nodes[node].children[i];
            if !matches!(self.tree.nodes[entry].value, Value::Number(_)) {
                self.wrong_type(entry, "a number", "a number such as 0.5");
            }
        }
        if let Shape::Vector(wanted) = shape
            && count != *wanted
        {
            let message = format!("{} has {count} entries, {wanted} are wanted", self.label(node));
            let remedy = match wanted {
                4 if self.tree.nodes[node].key.as_ref().is_some_and(|(k, _)| k == "q") => {
                    "write `[w, x, y, z]`; no rotation is `[1, 0, 0, 0]`".to_owned()
                }
                6 if self.tree.nodes[node].key.as_ref().is_some_and(|(k, _)| k == "inertia") => {
                    "write `[xx, yy, zz, xy, xz, yz]`".to_owned()
                }
                n => format!("write {n} numbers"),
            };
            self.error(node, self.tree.nodes[node].at, message, remedy);
        }
    }

    fn by_type(&mut self, node: usize, kinds: &'static [(&'static str, &'static [Field])]) {
        let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
        let Some(kind) = self.tree.member(node, "type") else {
            let remedy = format!("add `\"type\"`: {}", one_of(&names));
            return self.error(node, self.tree.nodes[node].at, "the key `type` is missing".into(), remedy);
        };
        let Value::Text(given) = &self.tree.nodes[kind].value else {
            return self.wrong_type(kind, "text", &one_of(&names));
        };
        if let Some((_, fields)) = kinds.iter().find(|(name, _)| name == given) {
            return self.object(node, &["type"], fields);
        }
        let remedy = match nearest(given, names.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`? Known are {}", one_of(&names)),
            None => format!("use {}", one_of(&names)),
        };
        self.error(kind, self.tree.nodes[kind].at, format!("unknown `type` {}", quoted(given)), remedy);
    }

    fn object(&mut self, node: usize, besides: &[&str], fields: &'static [Field]) {
        let mut unknown: Vec<String> = Vec::new();
        for i in 0..self.tree.nodes[node].children.len() {
            let member = self.tree.nodes[node].children[i];
            let Some((key, key_at)) = &self.tree.nodes[member].key else { continue };
            if besides.contains(&key.as_ref()) {
                continue;
            }
            if self.findings.problems.count() > ENOUGH {
                return;
            }
            if let Some(field) = fields.iter().find(|f| f.key == key.as_ref()) {
                if !(field.nullable && self.tree.nodes[member].value == Value::Null) {
                    self.value(member, &field.shape);
                }
                continue;
            }
            let keys: Vec<&str> = besides.iter().copied().chain(fields.iter().map(|f| f.key)).collect();
            let remedy = match nearest(key, keys.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("remove it; the keys here are {}", one_of(&keys)),
            };
            let place = match self.tree.nodes[node].key.as_ref() {
                Some((holder, _)) => format!(" in {}", quoted(holder)),
                None => String::new(),
            };
            unknown.push(key.to_string());
            self.error(node, *key_at, format!("unknown key {}{place}", quoted(key)), remedy);
        }
        for field in fields.iter().filter(|f| f.required) {
            if self.tree.member(node, field.key).is_none() {
                // An unknown key that looks like it has been reported with this name as the remedy.
                if nearest(field.key, unknown.iter().map(String::as_str)).is_some() {
                    continue;
                }
                let message = format!("the key `{}` is missing", field.key);
                let (_, example) = describe(&field.shape);
                let remedy = format!("add `\"{}\"`: {example}", field.key);
                self.error(node, self.tree.nodes[node].at, message, remedy);
            }
        }
    }
}

/// A shape in words, and an example.
fn describe(shape: &Shape) -> (String, String) {
    let words = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    match shape {
        Shape::Number => words("a number", "a number such as 0.5, without quotes"),
        Shape::Count => words("a whole number", "a whole number such as 0"),
        Shape::Text => words("text", "text in double quotes"),
        Shape::OneOf(names) => ("text".into(), one_of(names)),
        Shape::Vector(n) => (format!("a list of {n} numbers"), format!("[{}]", vec!["0"; *n].join(", "))),
        Shape::Numbers => words("a list of numbers", "a list such as [0, 1]"),
        Shape::NumberOrNumbers => words("a number or a list of numbers", "0.5, or [0.5, 0.5]"),
        Shape::List(_) => words("a list", "a list: [ … ]"),
        Shape::Map(_) => words("an object", "an object: { \"name\": … }"),
        Shape::Struct(fields) => {
            let first = fields.first().map_or("…", |f| f.key);
            ("an object".into(), format!("an object: {{ \"{first}\": … }}"))
        }
        Shape::ByType(_) => words("an object", "an object: { \"type\": … }"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::shape::JOINT_TYPES;
    use crate::mechanism::JointType;

    #[test]
    fn the_joint_types_are_those_of_the_description() {
        for name in JOINT_TYPES {
            let kind: JointType = serde_json::from_str(&format!("\"{name}\"")).unwrap();
            assert_eq!(kind.name(), *name);
        }
        assert!(serde_json::from_str::<JointType>("\"ball\"").is_err());
    }
}
