//! Checks of the laws of inputs.

use std::collections::HashSet;

use super::Origin;
use super::description::{JointType, StateDescription};
use super::law_description::{ActivationKind, LawDescription};
use super::validate::Checker;

impl Checker<'_> {
    pub(super) fn laws(&mut self) {
        let model = self.model;
        let mut seen = HashSet::new();
        for law in &model.laws {
            let element = format!("law of input `{}`", law.input);
            self.input(law.origin, &element, &law.input);
            if !seen.insert(law.input.as_str()) {
                self.error(law.origin, &element, "the input has two laws", "keep one of them");
            }
            self.law(law, &element);
            self.reach(law, &element);
        }
    }

    fn law(&mut self, law: &LawDescription, element: &str) {
        let at = law.origin;
        let numbers = law.gain.coefficients().into_iter().chain(law.bias.coefficients());
        if numbers.chain([law.rotor_inertia]).any(|x| !x.is_finite()) {
            self.error(at, element, "its numbers are not finite", "give finite numbers");
        }
        if law.rotor_inertia < 0.0 {
            self.error(
                at,
                element,
                "its rotor inertia is negative",
                "give a positive number, or leave it out",
            );
        }
        let activation = law.activation.as_ref();
        for (what, range) in [
            ("control_range", law.control_range),
            ("force_range", law.force_range),
            ("range of the activation", activation.and_then(|a| a.range)),
        ] {
            self.range(at, element, what, range);
        }
        if let Some(line) = law.speed_line
            && !(line.stall > 0.0 && line.free_speed > 0.0 && (line.stall / line.free_speed).is_finite())
        {
            let message = format!("a speed line from {} to the speed {}", line.stall, line.free_speed);
            self.error(at, element, message, "give two positive numbers");
        }
        if let Some(a) = activation {
            let filter = a.kind == ActivationKind::Filter;
            if !(a.time_constant >= 0.0 && a.time_constant.is_finite()) {
                let message = format!("a time constant of {} s", a.time_constant);
                self.error(at, element, message, "give a number of seconds that is not negative");
            } else if !filter && a.time_constant != 0.0 {
                self.error(
                    at,
                    element,
                    "an integrator has no time constant",
                    "leave it out, or use a filter",
                );
            }
        }
    }

    pub(super) fn range(&mut self, at: Option<Origin>, element: &str, what: &str, range: Option<[f64; 2]>) {
        if let Some([low, high]) = range
            && !(low <= high && low < f64::INFINITY && high > f64::NEG_INFINITY)
        {
            let message = format!("{what} goes from {low} to {high}");
            self.error(at, element, message, "give the lower end first");
        }
    }

    /// A law that depends on the motion needs coordinates that have a length.
    fn reach(&mut self, law: &LawDescription, element: &str) {
        let [gain, bias] = [law.gain, law.bias].map(|x| x.coefficients()[1..] != [0.0; 2]);
        if !(gain || bias || law.speed_line.is_some()) {
            return;
        }
        let remedy =
            "let it act on joints with plain coordinates, or close the loop where you make the input";
        let model = self.model;
        for body in model.bodies.iter().filter(|b| {
            b.thrusters.iter().any(|t| t.input == law.input) || b.pushes.iter().any(|p| p.input == law.input)
        }) {
            let message = format!("it depends on the motion, but acts as a wrench on body `{}`", body.name);
            self.error(law.origin, element, message, remedy);
        }
        for joint in &model.joints {
            let acts = joint.actuators.iter().any(|a| a.input == law.input);
            if acts && matches!(joint.kind, JointType::Spherical | JointType::Floating) {
                let message = format!(
                    "it depends on the motion, but acts on the {} joint `{}`",
                    joint.kind.name(),
                    joint.name
                );
                self.error(law.origin, element, message, remedy);
            }
        }
    }

    /// Values by input in a named state.
    pub(super) fn state_inputs(&mut self, element: &str, state: &StateDescription) {
        let model = self.model;
        for (name, value) in state.act.iter().chain(&state.inputs) {
            self.input(None, element, name);
            if !value.is_finite() {
                self.error(None, element, format!("`{name}` has the value {value}"), "give a finite number");
            }
        }
        for name in state.act.keys() {
            let known = self.inputs.contains_key(name.as_str());
            if known && !model.laws.iter().any(|law| law.input == *name && law.activation.is_some()) {
                let message = format!("the actuator of input `{name}` has no state");
                self.error(None, element, message, "give its law an `activation`, or leave the value out");
            }
        }
    }
}
