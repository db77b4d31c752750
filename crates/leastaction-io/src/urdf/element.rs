//! Typed access to elements and attributes: each fault gets the place of the attribute, and names the token.

use roxmltree::{Attribute, Node};

use crate::Severity;
use crate::findings::{Findings, nearest, one_of, quoted};

/// The URDF elements that are read: tag, attributes, children. What stands after `|` is known and unused: it says
/// nothing about the motion of the mechanism, and is not looked at.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "robot",
        "name version",
        "link joint material transmission | gazebo ros2_control sensor plugin group_state group \
         disable_collisions end_effector virtual_joint passive_joint mujoco",
    ),
    ("link", "name type", "inertial visual collision | sensor contact"),
    ("inertial", "", "origin mass inertia"),
    ("mass", "value", ""),
    ("inertia", "ixx ixy ixz iyy iyz izz", ""),
    ("origin", "xyz rpy quat_xyzw", ""),
    ("visual", "name", "origin geometry material"),
    ("collision", "name", "origin geometry material verbose contact_coefficients"),
    ("geometry", "", "box sphere cylinder capsule mesh"),
    ("box", "size", ""),
    ("sphere", "radius", ""),
    ("cylinder", "radius length", ""),
    ("capsule", "radius length", ""),
    ("mesh", "filename scale", ""),
    ("material", "name", "color texture"),
    ("color", "rgba", ""),
    ("joint", "name type", "parent child origin axis limit dynamics mimic | safety_controller calibration"),
    ("parent", "link", ""),
    ("child", "link", ""),
    ("axis", "xyz", ""),
    ("limit", "lower upper effort velocity acceleration deceleration jerk", ""),
    ("dynamics", "damping friction", ""),
    ("mimic", "joint multiplier offset", ""),
];

/// Attributes and children that an element may have; `None` for one that is not read.
fn known(tag: &str) -> Option<[Vec<&'static str>; 2]> {
    let words = |list: &'static str| list.split_whitespace().filter(|word| *word != "|").collect();
    KNOWN.iter().find(|known| known.0 == tag).map(|known| [words(known.1), words(known.2)])
}

/// An element together with the words a user knows it by.
#[derive(Clone, Copy)]
pub(super) struct Element<'e, 'd, 't> {
    pub(super) node: Node<'d, 't>,
    /// ``joint `elbow` ``.
    pub(super) owner: &'e str,
    /// How bad a fault in here is: an error in the mechanics, a warning in what is only drawn.
    pub(super) severity: Severity,
}

impl<'e, 'd, 't> Element<'e, 'd, 't> {
    /// An element whose faults are errors.
    pub(super) fn mechanical(node: Node<'d, 't>, owner: &'e str) -> Self {
        Self { node, owner, severity: Severity::Error }
    }

    /// An element whose faults are warnings.
    pub(super) fn drawn(node: Node<'d, 't>, owner: &'e str) -> Self {
        Self { node, owner, severity: Severity::Warning }
    }

    /// Name of the tag.
    pub(super) fn tag(&self) -> &'t str {
        tag(self.node)
    }

    /// Byte offset of the element.
    pub(super) fn offset(&self) -> usize {
        self.node.range().start
    }

    /// Reports a fault of the whole element.
    pub(super) fn fault(
        &self,
        findings: &mut Findings<'_>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        findings.add(self.severity, self.offset(), self.owner, message, remedy);
    }

    /// The only child with a tag; a second one is a fault.
    pub(super) fn child(&self, findings: &mut Findings<'_>, name: &str) -> Option<Self> {
        let mut found = self.node.children().filter(|n| n.is_element() && tag(*n) == name);
        let first = found.next()?;
        if let Some(second) = found.next() {
            let line = findings.line(first.range().start);
            let message = format!("`<{name}>` is given twice (first on line {line})");
            findings.add(self.severity, second.range().start, self.owner, message, "keep one of the two");
        }
        Some(Self { node: first, ..*self })
    }

    /// An attribute.
    pub(super) fn attribute(&self, name: &str) -> Option<Attribute<'d, 't>> {
        self.node.attribute_node(name)
    }

    /// The text of an attribute that must be there and not be empty.
    pub(super) fn required_text(&self, findings: &mut Findings<'_>, name: &str) -> Option<&'d str> {
        match self.attribute(name) {
            Some(attribute) if !attribute.value().trim().is_empty() => Some(attribute.value()),
            Some(attribute) => {
                let message = format!("`{name}` of `<{}>` is empty", self.tag());
                let remedy = format!("give it a value: `<{} {name}=\"…\">`", self.tag());
                findings.add(self.severity, attribute.range().start, self.owner, message, remedy);
                None
            }
            None => {
                self.missing(findings, name);
                None
            }
        }
    }

    /// Reports an attribute that must be there and is not.
    fn missing(&self, findings: &mut Findings<'_>, name: &str) {
        let message = format!("`<{}>` has no `{name}`", self.tag());
        let [known, _] = known(self.tag()).unwrap_or_default();
        let strangers = self.node.attributes().map(|a| a.name()).filter(|a| !known.contains(a));
        let meant = nearest(name, strangers);
        let remedy = match meant {
            Some(found) => format!("write `{name}` instead of `{found}`"),
            None => format!("add it: `<{} {name}=\"…\">`", self.tag()),
        };
        self.fault(findings, message, remedy);
    }

    /// `N` numbers of an attribute; `None` if it is missing or a fault was reported.
    pub(super) fn numbers<const N: usize>(
        &self,
        findings: &mut Findings<'_>,
        name: &str,
    ) -> Option<[f64; N]> {
        let attribute = self.attribute(name)?;
        match parse_numbers::<N>(attribute.value()) {
            Ok(numbers) => Some(numbers),
            Err((token_at, message, remedy)) => {
                let at = attribute.range_value().start + token_at;
                let message = format!("`{name}` of `<{}>` {message}", self.tag());
                findings.add(self.severity, at, self.owner, message, remedy);
                None
            }
        }
    }

    /// A number that must be there.
    pub(super) fn required_number(&self, findings: &mut Findings<'_>, name: &str) -> Option<f64> {
        if self.attribute(name).is_none() {
            self.missing(findings, name);
        }
        self.numbers::<1>(findings, name).map(|[x]| x)
    }

    /// A number that may be missing.
    pub(super) fn number(&self, findings: &mut Findings<'_>, name: &str) -> Option<f64> {
        self.numbers::<1>(findings, name).map(|[x]| x)
    }

    /// Warns, once per kind, of attributes and children that nobody reads.
    pub(super) fn warn_of_unknown(&self, findings: &mut Findings<'_>) {
        let tag_name = self.tag();
        let Some([attributes, children]) = known(tag_name) else { return };
        for attribute in self.node.attributes() {
            let name = attribute.name();
            // Attributes with a prefix belong to other programs.
            if attribute.namespace().is_some() || attributes.contains(&name) {
                continue;
            }
            let message = format!("unknown attribute `{name}` of `<{tag_name}>` is not read");
            let remedy = || meant_or_remove(name, &attributes);
            self.warn_of_stranger(findings, attribute.range().start, &message, remedy);
        }
        for child in self.node.children() {
            if child.is_text() && child.text().is_some_and(|t| !t.trim().is_empty()) {
                let message = format!("text inside `<{tag_name}>` is not read");
                let remedy = "remove it or put it into a comment";
                let range = child.range();
                let blank = findings.text()[range.clone()].chars().take_while(|c| c.is_whitespace());
                let at = range.start + blank.map(char::len_utf8).sum::<usize>();
                findings.warn_once(at, self.owner, &message, remedy);
            }
            if !child.is_element() || children.contains(&tag(child)) {
                continue;
            }
            let name = tag(child);
            let message = format!("unknown element `<{name}>` in `<{tag_name}>` is not read");
            let remedy = || meant_or_remove(name, &children);
            self.warn_of_stranger(findings, child.range().start, &message, remedy);
        }
    }

    /// Warns once; what was meant is looked for only then.
    fn warn_of_stranger(
        &self,
        findings: &mut Findings<'_>,
        at: usize,
        message: &str,
        remedy: impl FnOnce() -> String,
    ) {
        if !findings.problems.again(message) {
            findings.warn_once(at, self.owner, message, remedy());
        }
    }
}

/// The remedy for a name that is not known.
fn meant_or_remove(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if known.is_empty() => "remove it".into(),
        None if known.len() > 7 => format!("remove it; {}, … are read here", one_of(&known[..3])),
        None => format!("remove it; {} may stand here", one_of(known)),
    }
}

/// Name of an element. One from another namespace than the robot keeps its prefix, so that `<drake:joint>` is not
/// taken for a joint.
pub(super) fn tag<'t>(node: Node<'_, 't>) -> &'t str {
    let name = node.tag_name();
    if name.namespace().is_none() || name.namespace() == node.document().root_element().tag_name().namespace()
    {
        return name.name();
    }
    let text = node.document().input_text();
    let rest = text.get(node.range().start + 1..).unwrap_or("");
    let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '>');
    &rest[..rest.find(ends).unwrap_or(rest.len())]
}

/// Exactly `N` finite numbers separated by blanks, or the offset of the fault, what it is and what to do.
fn parse_numbers<const N: usize>(text: &str) -> Result<[f64; N], (usize, String, String)> {
    let mut numbers = [0.0; N];
    let mut count = 0;
    for token in text.split_ascii_whitespace() {
        let at = token.as_ptr() as usize - text.as_ptr() as usize;
        let number = parse_number(token).map_err(|(fault, remedy)| {
            let place = if N > 1 { format!(" (entry {} of {N})", count + 1) } else { String::new() };
            (at, format!("has the token {}{place}, {fault}", quoted(token)), remedy.to_owned())
        })?;
        if count < N {
            numbers[count] = number;
        }
        count += 1;
    }
    if count == N {
        return Ok(numbers);
    }
    let wanted = if N == 1 { "1 number is".to_owned() } else { format!("{N} numbers are") };
    let found = if count == 0 { "is empty".into() } else { format!("has {count} numbers") };
    Err((0, format!("{found}, {wanted} wanted"), format!("write {wanted_form}", wanted_form = form(N))))
}

/// An example of `n` numbers.
fn form(n: usize) -> String {
    match n {
        1 => "one number".into(),
        3 => "three numbers separated by blanks, such as `0 0 1`".into(),
        4 => "four numbers separated by blanks, such as `0.5 0.5 0.5 1`".into(),
        n => format!("{n} numbers separated by blanks"),
    }
}

/// A finite number, or what is wrong with it and what to do.
fn parse_number(token: &str) -> Result<f64, (&'static str, &'static str)> {
    match token.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) if token.bytes().any(|b| b.is_ascii_digit()) => {
            Err(("which is too large for a double", "write a number below 1.8e308"))
        }
        Ok(_) => Err(("which is not a finite number", "write a finite number")),
        Err(_) if token.contains("${") || token.contains("$(") => {
            Err(("which xacro has not expanded", super::XACRO.1))
        }
        Err(_) if token.contains(',') => {
            Err(("which is not a number", "separate numbers by blanks and write decimals with a point"))
        }
        Err(_) => Err(("which is not a number", "write a number such as `0.25` or `1e-3`")),
    }
}
