//! Every element and attribute against the [`schema`](super::schema): after this pass, what is present is well formed.

use super::document::{Attribute, Document, ElementId};
use super::schema::{AttributeRule, Form, Rule, Sign, rules};
use crate::mechanism::{Problems, Severity, nearest};

/// Checks the whole document and removes what is wrong, so that later passes see absent instead of malformed values.
pub(super) fn validate(document: &mut Document, problems: &mut Problems) {
    let mut stack: Vec<(ElementId, usize)> = vec![(0, 0)];
    while let Some((id, rule)) = stack.pop() {
        let rule = &rules()[rule];
        if rule.unchecked {
            continue;
        }
        check_attributes(document, id, rule, problems);
        let children = std::mem::take(&mut document.elements[id].children);
        let mut kept = Vec::with_capacity(children.len());
        for child in children {
            let tag = document.elements[child].tag.as_str();
            if let Some((_, child_rule)) = rule.children.iter().find(|(known, _)| *known == tag) {
                stack.push((child, *child_rule));
                kept.push(child);
            } else {
                unknown_element(document, child, rule, problems);
            }
        }
        document.elements[id].children = kept;
    }
}

fn unknown_element(document: &Document, id: ElementId, rule: &Rule, problems: &mut Problems) {
    if problems.is_full() {
        return;
    }
    let element = &document.elements[id];
    let parent = element.parent.map_or("", |p| document.elements[p].tag.as_str());
    let tag = element.tag.as_str();
    let known = rule.children.iter().map(|(known, _)| *known);
    let remedy = nearest(tag, known).map_or_else(
        || match home_of(tag) {
            Some(home) if home != parent => format!("`{tag}` belongs inside `{home}`"),
            _ if rule.children.is_empty() => format!("`{parent}` holds no elements: remove it"),
            _ => "remove it, or look for its name in the MJCF reference".to_owned(),
        },
        |k| format!("did you mean `{k}`?"),
    );
    let message = format!("unknown element `{tag}` inside `{parent}`");
    problems.error(Some(element.at), document.label(id), message, remedy);
}

/// Where an element that stands in the wrong place belongs.
fn home_of(tag: &str) -> Option<&'static str> {
    Some(match tag {
        "body" | "frame" => "worldbody",
        "joint" | "freejoint" | "geom" | "inertial" | "site" => "body",
        "connect" | "weld" => "equality",
        "motor" | "position" | "velocity" | "general" => "actuator",
        "key" => "keyframe",
        "mesh" | "material" | "texture" | "hfield" => "asset",
        "flag" => "option",
        "compiler" | "option" | "default" | "asset" | "worldbody" | "equality" | "actuator" | "keyframe"
        | "sensor" | "contact" | "tendon" => "mujoco",
        _ => return None,
    })
}

fn check_attributes(document: &mut Document, id: ElementId, rule: &Rule, problems: &mut Problems) {
    let element = &document.elements[id];
    let mut wrong = Vec::new();
    for (i, attribute) in element.attributes.iter().enumerate() {
        let known = rule.attributes.iter().find(|r| r.name == attribute.name);
        let good = match known {
            Some(known) => check_value(document, id, attribute, known, problems),
            None => {
                unknown_attribute(document, id, attribute, rule, problems);
                false
            }
        };
        if !good {
            wrong.push(i);
        }
    }
    for required in rule.attributes.iter().filter(|r| r.required) {
        if element.get(required.name).is_none() {
            let message = format!("the attribute `{}` is missing", required.name);
            let remedy = format!("add `{}=\"{}\"`", required.name, example(&required.form));
            problems.error(Some(element.at), document.label(id), message, remedy);
        }
    }
    for i in wrong.into_iter().rev() {
        let element = &mut document.elements[id];
        let attribute = element.attributes.remove(i);
        element.taken.push(attribute.name);
    }
}

fn unknown_attribute(
    document: &Document,
    id: ElementId,
    attribute: &Attribute,
    rule: &Rule,
    problems: &mut Problems,
) {
    if problems.is_full() {
        return;
    }
    let tag = document.elements[id].tag.as_str();
    let name = attribute.name.as_str();
    let near = nearest(name, rule.attributes.iter().map(|r| r.name));
    let remedy = match (near, tag, rule.attributes.len()) {
        (Some(near), ..) => format!("did you mean `{near}`?"),
        (None, "worldbody", _) => {
            "the world has no attributes: put a `frame` or a `body` inside it".to_owned()
        }
        (None, _, 0) => format!("`{tag}` has no attributes: remove it"),
        (None, ..) => "remove it, or look for its name in the MJCF reference".to_owned(),
    };
    problems.error(Some(attribute.at), document.label(id), format!("unknown attribute `{name}`"), remedy);
}

fn example(form: &Form) -> String {
    match form {
        Form::Text => "...".into(),
        Form::Integer => "0".into(),
        Form::Word(words) => words[0].into(),
        Form::Numbers { least, .. } => vec!["0"; (*least).max(1)].join(" "),
    }
}

/// True if the value has the form asked for.
fn check_value(
    document: &Document,
    id: ElementId,
    attribute: &Attribute,
    rule: &AttributeRule,
    problems: &mut Problems,
) -> bool {
    let name = &attribute.name;
    let value = attribute.value.as_str();
    let (message, remedy) = match &rule.form {
        Form::Text => return true,
        Form::Word(words) if words.contains(&value) => return true,
        Form::Word(words) => (
            format!("`{name}` is `{value}`"),
            nearest(value, words.iter().copied())
                .map_or_else(|| format!("use one of {}", list(words)), |w| format!("did you mean `{w}`?")),
        ),
        Form::Integer if value.trim().parse::<i64>().is_ok() => return true,
        Form::Integer => {
            (format!("`{name}` is `{value}`, not a whole number"), "write one whole number".into())
        }
        Form::Numbers { least, most, sign } => match numbers_problem(value, *least, *most, *sign) {
            None => return true,
            Some((what, remedy)) => (format!("`{name}` {what}"), remedy),
        },
    };
    let tag = document.elements[id].tag.as_str();
    // What is only drawn, and where a motion may start, does not stop a model.
    let severity =
        if name == "rgba" || matches!(tag, "site" | "key") { Severity::Warning } else { Severity::Error };
    if severity == Severity::Warning || !problems.is_full() {
        problems.add(severity, Some(attribute.at), document.label(id), message, remedy);
    }
    false
}

fn list(words: &[&str]) -> String {
    words.iter().map(|w| format!("`{w}`")).collect::<Vec<_>>().join(", ")
}

/// What is wrong with a list of numbers, and what to do.
fn numbers_problem(value: &str, least: usize, most: usize, sign: Sign) -> Option<(String, String)> {
    let mut count = 0;
    for token in value.split_whitespace() {
        count += 1;
        let Ok(number) = token.parse::<f64>() else {
            let remedy = if token.contains(',') {
                "separate numbers by spaces, without commas"
            } else if token.contains("${") || token.contains("$(") {
                "this file is a template: expand it before loading"
            } else {
                "write a plain number such as `0.5` or `1e-3`"
            };
            return Some((format!("has `{}`, which is not a number", shorten(token)), remedy.into()));
        };
        if !number.is_finite() {
            return Some((format!("has `{token}`"), "write a finite number".into()));
        }
        match sign {
            Sign::NotNegative if number < 0.0 => {
                return Some((format!("has {token}, which is negative"), "write zero or more".into()));
            }
            Sign::Positive if number <= 0.0 => {
                return Some((format!("has {token}, which is not positive"), "write more than zero".into()));
            }
            _ => {}
        }
    }
    if (least..=most).contains(&count) {
        return None;
    }
    let plural = |n: usize| if n == 1 { "1 number".to_owned() } else { format!("{n} numbers") };
    let wanted = if least == most { plural(least) } else { format!("{least} to {}", plural(most)) };
    Some((format!("has {}, needs {wanted}", plural(count)), format!("write {wanted} separated by spaces")))
}

fn shorten(token: &str) -> String {
    if token.chars().count() <= 40 {
        token.to_owned()
    } else {
        token.chars().take(40).chain(['…']).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_lists_are_checked_token_by_token() {
        assert_eq!(numbers_problem("1 -2.5 .5e3", 3, 3, Sign::Any), None);
        let what = |value, sign| numbers_problem(value, 3, 3, sign).unwrap().0;
        assert_eq!(what("1 2", Sign::Any), "has 2 numbers, needs 3 numbers");
        assert_eq!(what("1 x 3", Sign::Any), "has `x`, which is not a number");
        assert_eq!(what("1 nan 3", Sign::Any), "has `nan`");
        assert_eq!(what("1 -1 3", Sign::NotNegative), "has -1, which is negative");
    }
}
