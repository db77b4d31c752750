//! Texts, numbers and poses of elements, with a place for each fault.

use roxmltree::Node;

use crate::findings::{Findings, quoted};
use crate::frames::{quaternion_from_rpy, unit_quaternion};
use crate::mechanism::Placement;

/// Children with a tag.
pub(super) fn all<'d, 't: 'd>(node: Node<'d, 't>, name: &'d str) -> impl Iterator<Item = Node<'d, 't>> {
    node.children().filter(move |child| child.is_element() && child.tag_name().name() == name)
}

/// The first child with a tag.
pub(super) fn one<'d, 't: 'd>(node: Node<'d, 't>, name: &'d str) -> Option<Node<'d, 't>> {
    all(node, name).next()
}

/// The trimmed text of a child; `None` if there is no such child.
pub(super) fn word<'d, 't: 'd>(node: Node<'d, 't>, name: &'d str) -> Option<&'d str> {
    one(node, name).map(|child| child.text().unwrap_or("").trim())
}

/// What the elements of one `owner` say.
pub(super) struct Owner<'f, 't> {
    pub(super) name: String,
    pub(super) findings: &'f mut Findings<'t>,
}

impl Owner<'_, '_> {
    /// An error at an element.
    pub(super) fn error(
        &mut self,
        node: Node<'_, '_>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.findings.error(node.range().start, self.name.clone(), message, remedy);
    }

    /// A warning at an element, once per message.
    pub(super) fn warn(&mut self, node: Node<'_, '_>, message: &str, remedy: &str) {
        self.findings.warn_once(node.range().start, self.name.clone(), message, remedy);
    }

    /// Numbers of an element, or what is wrong with them.
    pub(super) fn list(&mut self, node: Node<'_, '_>) -> Vec<f64> {
        let mut numbers = Vec::new();
        for token in node.text().unwrap_or("").split_ascii_whitespace() {
            match token.parse::<f64>() {
                Ok(x) if !x.is_nan() => numbers.push(x),
                _ => {
                    let message = format!(
                        "`<{}>` has the token {}, which is not a number",
                        node.tag_name().name(),
                        quoted(token)
                    );
                    self.error(node, message, "write a number such as `0.25` or `1e-3`");
                    return Vec::new();
                }
            }
        }
        numbers
    }

    /// So many finite numbers of a child; `None` if it is missing or after an error.
    pub(super) fn numbers<const N: usize>(&mut self, node: Node<'_, '_>, name: &str) -> Option<[f64; N]> {
        let child = one(node, name)?;
        let list = self.list(child);
        if let Ok(numbers) = <[f64; N]>::try_from(list.as_slice())
            && numbers.iter().all(|x| x.is_finite())
        {
            return Some(numbers);
        }
        if !list.is_empty() || child.text().is_none_or(|text| text.trim().is_empty()) {
            let message = format!("`<{name}>` has {} finite numbers, {N} are wanted", list.len());
            self.error(child, message, "write them separated by blanks");
        }
        None
    }

    /// A finite number of a child.
    pub(super) fn number(&mut self, node: Node<'_, '_>, name: &str) -> Option<f64> {
        self.numbers::<1>(node, name).map(|[x]| x)
    }

    /// The pose of an element and what it is relative to.
    pub(super) fn pose(&mut self, node: Node<'_, '_>) -> (Placement, Option<String>) {
        let Some(pose) = one(node, "pose") else { return (Placement::default(), None) };
        let relative = pose.attribute("relative_to").filter(|name| !name.is_empty()).map(str::to_owned);
        let list = self.list(pose);
        let placement = match (pose.attribute("rotation_format"), list.as_slice()) {
            (_, []) => Placement::default(),
            (Some("quat_xyzw"), [px, py, pz, x, y, z, w]) => match unit_quaternion([*w, *x, *y, *z]) {
                Some(q) => Placement { p: [*px, *py, *pz], q },
                None => {
                    self.error(pose, "the quaternion of `<pose>` is no rotation", "no rotation is `0 0 0 1`");
                    Placement::default()
                }
            },
            (None | Some("euler_rpy"), [px, py, pz, roll, pitch, yaw]) => {
                let degrees = matches!(pose.attribute("degrees"), Some("true" | "1"));
                let angle = |x: &f64| if degrees { x.to_radians() } else { *x };
                Placement {
                    p: [*px, *py, *pz],
                    q: quaternion_from_rpy([angle(roll), angle(pitch), angle(yaw)]),
                }
            }
            (format, numbers) => {
                let wanted =
                    if format == Some("quat_xyzw") { "x y z qx qy qz qw" } else { "x y z roll pitch yaw" };
                let message = format!("`<pose>` has {} numbers", numbers.len());
                self.error(pose, message, format!("write `{wanted}`"));
                Placement::default()
            }
        };
        if placement.p.iter().chain(&placement.q).any(|x| !x.is_finite()) {
            self.error(pose, "`<pose>` is not finite", "write finite numbers");
            return (Placement::default(), relative);
        }
        (placement, relative)
    }
}
