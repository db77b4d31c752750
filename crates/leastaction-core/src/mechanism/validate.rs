//! Checks of a [`ModelDescription`] that need no topology: names, references, numbers.
//!
//! Every problem is found in one pass, so that a user mends a file once.

use std::collections::HashMap;

use super::description::{
    BodyDescription, ConstraintDescription, Coordinates, JointDescription, JointRole, JointType,
    ModelDescription, PerCoordinate, WORLD,
};
use super::problem::Problems;
use super::{Origin, Placement};
use crate::spatial::principal;

pub(super) struct Checker<'a> {
    pub(super) model: &'a ModelDescription,
    pub(super) bodies: HashMap<&'a str, usize>,
    pub(super) joints: HashMap<&'a str, usize>,
    pub(super) inputs: HashMap<&'a str, usize>,
    pub(super) problems: Problems,
    leads: HashMap<&'a str, Lead>,
}

/// Where a chain of mimics ends.
#[derive(Clone, Copy)]
enum Lead {
    /// At a joint that moves on its own.
    Free,
    /// At this joint, which has not one coordinate.
    Several(usize),
    /// Nowhere.
    Circle,
}

impl<'a> Checker<'a> {
    pub(super) fn run(model: &'a ModelDescription) -> Self {
        let mut checker = Self {
            model,
            bodies: HashMap::with_capacity(model.bodies.len()),
            joints: HashMap::with_capacity(model.joints.len()),
            inputs: HashMap::new(),
            problems: Problems::default(),
            leads: HashMap::new(),
        };
        checker.names();
        checker.follow_mimics();
        checker.model_numbers();
        for body in &model.bodies {
            checker.body(body);
        }
        for joint in &model.joints {
            checker.joint(joint);
        }
        for constraint in &model.constraints {
            checker.constraint(constraint);
        }
        checker.laws();
        checker.couplings();
        checker.frames();
        checker.mocap();
        checker.states();
        checker
    }

    pub(super) fn error(
        &mut self,
        origin: Option<Origin>,
        element: impl Into<String>,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.error(origin, element, message, remedy);
    }

    fn duplicate(&mut self, origin: Option<Origin>, first: Option<Origin>, element: String) {
        self.problems.conflict([origin, first], element, "the name is used twice", "give each its own name");
    }

    /// The remedy for a name that does not exist: the nearest of those that do.
    fn suggest(&mut self, name: &str, known: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
        self.problems.did_you_mean(name, known, || otherwise.to_owned())
    }

    fn suggest_body(&mut self, name: &str) -> String {
        let known = self.model.bodies.iter().map(|b| b.name.as_str()).chain([WORLD]);
        self.suggest(name, known, "add the body or correct the name")
    }

    fn suggest_joint(&mut self, name: &str) -> String {
        let known = self.model.joints.iter().map(|j| j.name.as_str());
        self.suggest(name, known, "add the joint or correct the name")
    }

    fn names(&mut self) {
        let model = self.model;
        for (i, body) in model.bodies.iter().enumerate() {
            let element = format!("body `{}`", body.name);
            if body.name.is_empty() {
                self.error(body.origin, format!("body {i}"), "it has no name", "give it a name");
            } else if body.name == WORLD {
                self.error(
                    body.origin,
                    element,
                    "`world` is the ground and cannot be a body",
                    "rename the body, or leave it out and let joints name `world` as parent",
                );
            } else if let Some(&first) = self.bodies.get(body.name.as_str()) {
                self.duplicate(body.origin, model.bodies[first].origin, element);
            }
            self.bodies.entry(&body.name).or_insert(i);
        }
        for (i, joint) in model.joints.iter().enumerate() {
            if joint.name.is_empty() {
                self.error(joint.origin, format!("joint {i}"), "it has no name", "give it a name");
            } else if let Some(&first) = self.joints.get(joint.name.as_str()) {
                self.duplicate(joint.origin, model.joints[first].origin, format!("joint `{}`", joint.name));
            }
            self.joints.entry(&joint.name).or_insert(i);
        }
        for (i, input) in model.inputs.iter().enumerate() {
            if self.inputs.insert(input, i).is_some() {
                self.duplicate(None, None, format!("input `{input}`"));
            }
        }
    }

    fn model_numbers(&mut self) {
        for (what, value) in [("gravity", self.model.gravity), ("wind", self.model.wind)] {
            if value.iter().any(|x| !x.is_finite()) {
                self.error(None, what, format!("{value:?} is not finite"), "give three finite numbers");
            }
        }
        if self.model.bodies.is_empty() {
            self.error(None, "model", "it has no bodies", "add at least one body");
        }
    }

    fn body(&mut self, body: &BodyDescription) {
        let element = format!("body `{}`", body.name);
        let at = body.origin;
        if !body.mass.is_finite() || body.mass < 0.0 {
            let message = format!("mass {} is not a non-negative number", body.mass);
            self.error(at, &element, message, "give the mass in kg");
        }
        if body.com.iter().any(|x| !x.is_finite()) {
            self.error(at, &element, format!("com {:?} is not finite", body.com), "give it in metres");
        }
        self.inertia(body, &element);
        if !body.drag.is_finite() || body.drag < 0.0 {
            let message = format!("drag {} is not a non-negative number", body.drag);
            self.error(at, &element, message, "give the coefficient in N·s/m");
        }
        for push in &body.pushes {
            self.input(at, &element, &push.input);
            if push.wrench.iter().chain(&push.point).any(|x| !x.is_finite()) {
                self.error(
                    at,
                    &element,
                    "a push is not finite",
                    "give torque, force and point in finite numbers",
                );
            }
        }
        for thruster in &body.thrusters {
            self.input(at, &element, &thruster.input);
            if thruster.wrench.iter().any(|x| !x.is_finite()) {
                self.error(at, &element, "a thruster's wrench is not finite", "give torque and force");
            }
        }
    }

    fn inertia(&mut self, body: &BodyDescription, element: &str) {
        let at = body.origin;
        let i = body.inertia;
        if i.iter().any(|x| !x.is_finite()) {
            self.error(at, element, format!("inertia {i:?} is not finite"), "give xx, yy, zz, xy, xz, yz");
            return;
        }
        // Files are rounded, and CAD programs write entries like -5e-20 for a body of a kilogram: what is below the
        // moment of its mass at a tenth of a micrometre is no defect.
        let largest = i.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let slack = |digits: f64| digits * largest + 1e-14 * body.mass.max(0.0);
        let [a, b, c] = principal_moments(i);
        let heaviest = a.max(b).max(c);
        if !is_semidefinite(i, body.mass) {
            // Of bodies that are welded to others only the sum acts, which is looked at when it is known.
            let fixed = |j: &JointDescription| j.kind == JointType::Fixed && j.role != Some(JointRole::Loop);
            let welded =
                self.model.joints.iter().any(|j| fixed(j) && (j.child == body.name || j.parent == body.name));
            let message = format!("inertia {i:?} is not positive semidefinite");
            if welded {
                let remedy = "no body has it, but what it is welded to may; check signs and units";
                self.problems.warning(at, element, message, remedy);
            } else {
                self.error(at, element, message, NOT_SEMIDEFINITE);
            }
        } else if a + b + c - heaviest < heaviest - slack(1e-6) {
            self.problems.warning(
                at,
                element,
                format!("moments of inertia {a}, {b}, {c} violate the triangle inequality"),
                "no real body has them; check the file",
            );
        }
        if body.mass == 0.0 && i != [0.0; 6] {
            let message = "it has inertia but no mass";
            self.problems.warning(at, element, message, "give it a mass or no inertia");
        }
    }

    pub(super) fn input(&mut self, at: Option<Origin>, element: &str, name: &str) {
        if !self.inputs.contains_key(name) {
            let known = self.model.inputs.iter().map(String::as_str);
            let remedy = self.suggest(name, known, "list it in `inputs`");
            self.error(at, element, format!("input `{name}` is not in the list of inputs"), remedy);
        }
    }

    fn placement(&mut self, at: Option<Origin>, element: &str, which: &str, x: &Placement) {
        if x.p.iter().chain(&x.q).any(|c| !c.is_finite()) {
            self.error(at, element, format!("{which} is not finite"), "give finite numbers");
        } else if let Err(norm) = unit_length(&x.q) {
            let message = format!("{which} has a quaternion of length {norm}");
            self.error(at, element, message, "give a unit quaternion w, x, y, z");
        }
    }

    fn joint(&mut self, joint: &JointDescription) {
        let element = format!("joint `{}`", joint.name);
        let at = joint.origin;
        for (which, name) in [("parent", &joint.parent), ("child", &joint.child)] {
            if name != WORLD && !self.bodies.contains_key(name.as_str()) {
                let remedy = self.suggest_body(name);
                self.error(at, &element, format!("{which} body `{name}` does not exist"), remedy);
            }
        }
        if joint.parent == joint.child {
            let message = format!("it joins `{}` to itself", joint.parent);
            self.error(at, &element, message, "name two different bodies");
        }
        if joint.child == WORLD && !joint.kind.is_reversible() && joint.kind != JointType::PointOnLine {
            let message = format!("`world` is the child of a {} joint", joint.kind.name());
            self.error(at, &element, message, "make `world` the parent");
        }
        self.placement(at, &element, "parent_placement", &joint.parent_placement);
        self.placement(at, &element, "child_placement", &joint.child_placement);
        self.axes(joint, &element);
        self.coefficients(joint, &element);
        self.limits(joint, &element);
        for actuator in &joint.actuators {
            self.input(at, &element, &actuator.input);
            if actuator.coordinate >= joint.kind.nv() {
                let message = format!(
                    "actuator of coordinate {} on a joint with {}",
                    actuator.coordinate,
                    joint.kind.nv()
                );
                self.error(at, &element, message, "coordinates count from 0");
            }
            if !actuator.gear.is_finite() {
                let message = format!("gear {} is not finite", actuator.gear);
                self.error(at, &element, message, "give a number");
            }
        }
        if joint.mimic.is_some() {
            self.mimic(joint, &element);
        }
    }

    /// A mimic relation must tie single coordinates and lead somewhere.
    fn mimic(&mut self, joint: &JointDescription, element: &str) {
        let Some(mimic) = &joint.mimic else { return };
        let at = joint.origin;
        if joint.kind == JointType::Fixed {
            let message = "mimic on a fixed joint does nothing";
            self.problems.warning(at, element, message, "leave `mimic` out");
            return;
        }
        if !self.joints.contains_key(mimic.joint.as_str()) {
            let remedy = self.suggest_joint(&mimic.joint);
            let message = format!("it mimics joint `{}`, which does not exist", mimic.joint);
            self.error(at, element, message, remedy);
        }
        if !mimic.multiplier.is_finite() || !mimic.offset.is_finite() {
            self.error(at, element, "mimic numbers are not finite", "give finite numbers");
        }
        match self.leads.get(joint.name.as_str()) {
            Some(Lead::Several(leader)) => {
                let leader = &self.model.joints[*leader];
                let message = format!("mimic ties `{}`, a {} joint", leader.name, leader.kind.name());
                self.error(at, element, message, "mimic is for joints with one coordinate");
            }
            Some(Lead::Circle) => {
                let remedy = "let one joint of the circle move on its own";
                self.error(at, element, "it mimics itself, directly or in a circle", remedy);
            }
            Some(Lead::Free) | None => {}
        }
    }

    /// Where each chain of mimics leads; every joint is visited once, however long the chains are.
    fn follow_mimics(&mut self) {
        for start in self.model.joints.iter().filter(|joint| joint.mimic.is_some()) {
            let mut path: Vec<&str> = Vec::new();
            let mut next = self.joints.get(start.name.as_str());
            let lead = loop {
                let Some(&index) = next else { break Lead::Free };
                let joint = &self.model.joints[index];
                if let Some(known) = self.leads.get(joint.name.as_str()) {
                    break *known;
                }
                if joint.kind.nv() != 1 {
                    break Lead::Several(index);
                }
                path.push(&joint.name);
                // Until the end of the chain is known, who comes by again walks in a circle.
                self.leads.insert(&joint.name, Lead::Circle);
                next = joint.mimic.as_ref().and_then(|mimic| self.joints.get(mimic.joint.as_str()));
            };
            self.leads.extend(path.into_iter().map(|name| (name, lead)));
            if start.kind.nv() != 1 {
                self.leads.insert(&start.name, lead);
            }
        }
    }

    fn axes(&mut self, joint: &JointDescription, element: &str) {
        let at = joint.origin;
        let length = |a: [f64; 3]| a.iter().map(|x| x * x).sum::<f64>().sqrt();
        for (which, axis) in [("axis", joint.axis), ("axis2", joint.axis2)] {
            if let Some(axis) = axis
                && (!length(axis).is_finite() || length(axis) < 1e-9)
            {
                let message = format!("{which} {axis:?} has no direction");
                self.error(at, element, message, "give a vector of length one");
            }
        }
        if joint.kind == JointType::Universal {
            let Some(b) = joint.axis2 else {
                let remedy = "give `axis2`, perpendicular to `axis`";
                self.error(at, element, "a universal joint needs a second axis", remedy);
                return;
            };
            let a = joint.axis.unwrap_or([0.0, 0.0, 1.0]);
            let dot: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            if dot.abs() > 1e-6 * length(a) * length(b) {
                let message = format!("axis2 {b:?} is not perpendicular to axis {a:?}");
                self.error(at, element, message, "turn one of them");
            }
        } else if joint.axis2.is_some() {
            let message = format!("a {} joint has no second axis", joint.kind.name());
            self.error(at, element, message, "leave `axis2` out");
        }
    }

    fn coefficients(&mut self, joint: &JointDescription, element: &str) {
        let at = joint.origin;
        let nv = joint.kind.nv();
        let spring = joint.spring.clone().map(|s| (s.stiffness, s.rest));
        let (stiffness, rest) = spring.unwrap_or_default();
        for (which, list, negative_allowed) in [
            ("spring stiffness", &stiffness, false),
            ("spring rest", &rest, true),
            ("damping", &joint.damping, false),
            ("armature", &joint.armature, false),
            ("friction", &joint.friction, false),
        ] {
            if let PerCoordinate::Each(values) = list
                && values.len() != nv
            {
                let message = format!("{which} has {} values for {nv} coordinates", values.len());
                self.error(at, element, message, "give one number, or one per coordinate");
            }
            if list.values().any(|x| !x.is_finite() || (x < 0.0 && !negative_allowed)) {
                let message =
                    format!("{which} {:?} is not a valid number", list.values().collect::<Vec<_>>());
                let remedy = if negative_allowed { "give a finite number" } else { "it cannot be negative" };
                self.error(at, element, message, remedy);
            }
        }
        if matches!(joint.kind, JointType::Spherical | JointType::Floating) {
            let each = |p: &PerCoordinate| matches!(p, PerCoordinate::Each(_));
            if each(&stiffness) || each(&joint.damping) || !rest.is_zero() {
                self.error(
                    at,
                    element,
                    "springs and dampers of spherical and floating joints are isotropic, at rest at zero",
                    "give one number for stiffness and damping, and no rest",
                );
            }
            if !joint.armature.is_zero() {
                let message = format!("armature is not defined on a {} joint", joint.kind.name());
                self.error(at, element, message, "add the rotor to the body's inertia instead");
            }
        }
    }

    fn limits(&mut self, joint: &JointDescription, element: &str) {
        let Some(limits) = &joint.limits else { return };
        let at = joint.origin;
        let nv = joint.kind.nv();
        for (which, list) in [("lower", &limits.lower), ("upper", &limits.upper)] {
            let Some(list) = list else { continue };
            if list.values().any(f64::is_nan) {
                self.error(at, element, format!("{which} limit is not a number"), "give a number");
            }
            if let PerCoordinate::Each(values) = list
                && values.len() != nv
            {
                let message = format!("{which} limit has {} values for {nv} coordinates", values.len());
                self.error(at, element, message, "give one number, or one per coordinate");
            }
        }
        if joint.kind == JointType::Spherical {
            let each = |list: &Option<PerCoordinate>| matches!(list, Some(PerCoordinate::Each(_)));
            let below = limits.lower.as_ref().is_some_and(|low| low.at(0) > 0.0);
            let none = limits.upper.as_ref().is_some_and(|high| high.at(0) <= 0.0);
            if each(&limits.lower) || each(&limits.upper) || below || none {
                let message = "the limit of a ball is the largest angle of its whole rotation";
                self.error(at, element, message, "give one positive number as `upper`, and no `lower`");
            }
        }
        if let (Some(lower), Some(upper)) = (&limits.lower, &limits.upper) {
            for i in 0..nv {
                if lower.at(i) > upper.at(i) {
                    let message = format!("lower limit {} is above upper {}", lower.at(i), upper.at(i));
                    self.error(at, element, message, "exchange them");
                    break;
                }
            }
        }
        self.range(at, element, "effort_range", limits.effort_range);
        if limits.effort.is_some() && limits.effort_range.is_some() {
            self.error(at, element, "it has both `effort` and `effort_range`", "keep one of them");
        }
        if limits.restitution.is_some_and(|x| !(0.0..=1.0).contains(&x)) {
            let message =
                format!("restitution {:?} is not between 0 and 1", limits.restitution.unwrap_or(0.0));
            self.error(at, element, message, "0 takes all of the speed, 1 gives it back");
        }
        for (which, value) in [("velocity", limits.velocity), ("effort", limits.effort)] {
            if value.is_some_and(|x| x.is_nan() || x < 0.0) {
                let message =
                    format!("{which} limit {:?} is not a non-negative number", value.unwrap_or(0.0));
                self.error(at, element, message, "give a number, or leave it out for no limit");
            }
        }
    }

    fn constraint(&mut self, constraint: &ConstraintDescription) {
        let element = format!("constraint `{}`", constraint.name());
        if !self.bodies.contains_key(constraint.body()) {
            let remedy = self.suggest_body(constraint.body());
            self.error(None, &element, format!("body `{}` does not exist", constraint.body()), remedy);
        }
        let (direction, radius) = match constraint {
            ConstraintDescription::KnifeEdge { direction, .. } => (direction, 1.0),
            ConstraintDescription::RollingDisc { axis, radius, .. } => (axis, *radius),
        };
        let length = direction.iter().map(|x| x * x).sum::<f64>().sqrt();
        if !length.is_finite() || length < 1e-9 {
            let message = format!("direction {direction:?} has no direction");
            self.error(None, &element, message, "give a vector of length one");
        }
        if !radius.is_finite() || radius <= 0.0 {
            let message = format!("radius {radius} is not positive");
            self.error(None, &element, message, "give it in metres");
        }
    }

    fn couplings(&mut self) {
        for coupling in &self.model.couplings {
            let element = format!("coupling `{}`", coupling.name);
            let terms = coupling.sum.iter().map(|term| &term.joint);
            for name in [Some(&coupling.joint), coupling.of.as_ref()].into_iter().flatten().chain(terms) {
                if !self.joints.contains_key(name.as_str()) {
                    let remedy = self.suggest_joint(name);
                    let message = format!("joint `{name}` does not exist");
                    self.error(coupling.origin, &element, message, remedy);
                }
            }
            let numbers = coupling.polynomial.iter().chain(&coupling.reference).chain([&coupling.value]);
            let numbers = numbers.chain(coupling.sum.iter().map(|term| &term.coefficient));
            if numbers.into_iter().any(|x| !x.is_finite()) {
                let message = "its numbers are not finite";
                self.error(coupling.origin, &element, message, "give finite numbers");
            }
            if coupling.polynomial.len() > 5 {
                let message = format!("its polynomial has {} coefficients", coupling.polynomial.len());
                self.error(coupling.origin, &element, message, "give at most five, up to the fourth power");
            }
            if coupling.polynomial.is_empty() == coupling.sum.is_empty() {
                let message = "it has neither a polynomial nor a sum, or both";
                self.error(coupling.origin, &element, message, "give one of `polynomial` and `sum`");
            }
        }
        for tendon in &self.model.tendons {
            let element = format!("tendon `{}`", tendon.name);
            for term in &tendon.terms {
                if !self.joints.contains_key(term.joint.as_str()) {
                    let remedy = self.suggest_joint(&term.joint);
                    let message = format!("joint `{}` does not exist", term.joint);
                    self.error(tendon.origin, &element, message, remedy);
                }
            }
            let limits = [tendon.lower.unwrap_or(0.0), tendon.upper.unwrap_or(0.0)];
            let numbers = [tendon.stiffness, tendon.rest, tendon.damping];
            let mut numbers = numbers.into_iter().chain(tendon.terms.iter().map(|t| t.coefficient));
            if numbers.any(|x| !x.is_finite()) || limits.iter().any(|x| x.is_nan()) {
                self.error(tendon.origin, &element, "its numbers are not finite", "give finite numbers");
            }
            if tendon.stiffness < 0.0 || tendon.damping < 0.0 {
                let message = "its stiffness or damping is negative";
                self.error(tendon.origin, &element, message, "give zero or more");
            }
            if let (Some(lower), Some(upper)) = (tendon.lower, tendon.upper)
                && lower > upper
            {
                let message = format!("lower limit {lower} is above upper {upper}");
                self.error(tendon.origin, &element, message, "exchange them");
            }
        }
    }

    fn frames(&mut self) {
        let mut seen = HashMap::new();
        for frame in &self.model.frames {
            let element = format!("frame `{}`", frame.name);
            if seen.insert(frame.name.as_str(), ()).is_some() {
                self.duplicate(None, None, element.clone());
            }
            if frame.body != WORLD && !self.bodies.contains_key(frame.body.as_str()) {
                let remedy = self.suggest_body(&frame.body);
                self.error(None, &element, format!("body `{}` does not exist", frame.body), remedy);
            }
            self.placement(None, &element, "placement", &frame.placement);
        }
    }

    /// What is moved from outside has nothing else that moves it.
    fn mocap(&mut self) {
        for name in &self.model.mocap {
            let element = format!("mocap body `{name}`");
            if !self.bodies.contains_key(name.as_str()) {
                let remedy = self.suggest_body(name);
                self.error(None, &element, "the body does not exist", remedy);
            } else if !self.model.joints.iter().any(|joint| joint.holds_still(name)) {
                self.error(
                    None,
                    &element,
                    "no fixed joint holds it in the world",
                    "add one, or leave it out of `mocap`",
                );
            }
        }
    }

    fn states(&mut self) {
        for (name, state) in &self.model.states {
            let element = format!("state `{name}`");
            if !state.t.is_finite() {
                self.error(None, &element, "its time is not finite", "give t in seconds");
            }
            for (which, values) in [("q", &state.q), ("v", &state.v)] {
                for (joint, value) in values {
                    self.state_entry(&element, which, joint, value);
                }
            }
            self.state_inputs(&element, state);
        }
    }

    fn state_entry(&mut self, element: &str, which: &str, joint: &str, value: &Coordinates) {
        let Some(&index) = self.joints.get(joint) else {
            // A floating joint that the builder adds has no description yet: checked when states are resolved.
            if !joint.ends_with(super::builder::ADDED_FLOATING) {
                let remedy = self.suggest_joint(joint);
                self.error(None, element, format!("joint `{joint}` does not exist"), remedy);
            }
            return;
        };
        let kind = self.model.joints[index].kind;
        let expected = if which == "q" { kind.nq() } else { kind.nv() };
        let found = value.as_slice();
        if found.len() != expected {
            let message = format!("{which} of `{joint}` has {} values, it needs {expected}", found.len());
            self.error(None, element, message, "see the table of coordinates in docs/conventions.md");
        } else if found.iter().any(|x| !x.is_finite()) {
            self.error(None, element, format!("{which} of `{joint}` is not finite"), "give finite numbers");
        } else if which == "q"
            && kind.nq() > kind.nv()
            && let Err(norm) = unit_length(&found[..4])
        {
            let message = format!("q of `{joint}` has a quaternion of length {norm}");
            self.error(None, element, message, "give a unit quaternion w, x, y, z");
        }
    }
}

/// The length of a quaternion; an error if it is not a rotation rounded to a few digits.
pub(super) fn unit_length(q: &[f64]) -> Result<f64, f64> {
    let norm = q.iter().map(|x| x * x).sum::<f64>().sqrt();
    if (norm - 1.0).abs() <= 1e-3 { Ok(norm) } else { Err(norm) }
}

/// Principal moments of `xx, yy, zz, xy, xz, yz`; scaled, so that no square overflows or vanishes.
pub(super) fn principal_moments(inertia: [f64; 6]) -> [f64; 3] {
    let scale = inertia.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if scale == 0.0 {
        return [0.0; 3];
    }
    let [xx, yy, zz, xy, xz, yz] = inertia;
    if [xy, xz, yz] == [0.0; 3] {
        return [xx, yy, zz];
    }
    let [xx, yy, zz, xy, xz, yz] = [xx, yy, zz, xy, xz, yz].map(|x| x / scale);
    principal([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).0.map(|x| x * scale)
}

/// What to do about an inertia that is not positive semidefinite.
pub(super) const NOT_SEMIDEFINITE: &str = "check signs and units: it is about the centre of mass, in kg·m²; `--repair inertia` takes the nearest that a body can have";

/// True if an inertia about a centre of mass is positive semidefinite, but for what rounding in a file does.
pub(super) fn is_semidefinite(inertia: [f64; 6], mass: f64) -> bool {
    let largest = inertia.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    let slack = 1e-9 * largest + 1e-14 * mass.max(0.0);
    principal_moments(inertia).iter().all(|moment| *moment >= -slack)
}
