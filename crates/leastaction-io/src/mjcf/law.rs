//! Laws of actuators: what `motor`, `position`, `velocity` and the others are short for.
//!
//! All of them set one and the same actuator: gain, bias and dynamics with their parameters. Default classes do so too, level by
//! level, and what a level does not say stays as the level above left it.

use std::rc::Rc;

use super::document::ElementId;
use super::reader::{Item, Reader};
use super::settings::{parse_array, parse_numbers};
use crate::mechanism::{ActivationDescription, ActivationKind, LawDescription};

/// A range with the word that says whether it holds.
#[derive(Clone, Copy, Debug, Default)]
struct Range {
    /// `true`, `false`; none for `auto`.
    limited: Option<bool>,
    values: Option<[f64; 2]>,
}

impl Range {
    fn read(&mut self, limited: Option<&str>, values: Option<&str>) {
        match limited {
            Some("true") => self.limited = Some(true),
            Some("false") => self.limited = Some(false),
            Some("auto") => self.limited = None,
            _ => {}
        }
        if let Some(values) = values.and_then(parse_array) {
            self.values = Some(values);
        }
    }

    /// The range, if it holds. A range of two zeros is MuJoCo's word for none.
    fn holding(self, autolimits: bool) -> Option<[f64; 2]> {
        let given = self.values.filter(|values| *values != [0.0; 2]);
        match self.limited {
            Some(false) => None,
            Some(true) => Some(self.values.unwrap_or([0.0; 2])),
            None => given.filter(|_| autolimits),
        }
    }
}

/// An actuator as all its levels leave it.
#[derive(Clone, Debug)]
pub(super) struct Law {
    dynamics: String,
    gain: String,
    bias: String,
    dynamics_parameters: [f64; 3],
    gain_parameters: [f64; 3],
    bias_parameters: [f64; 3],
    inherit: f64,
    control: Range,
    force: Range,
    state: Range,
    early: bool,
}

/// What the law needs to know of the rest of the model.
#[derive(Clone, Debug)]
pub(super) struct Finished {
    /// The law, with length and velocity as MuJoCo counts them.
    pub(super) law: LawDescription,
    /// Damping ratio of a position servo, whose damping depends on the inertia it moves.
    pub(super) damping_ratio: Option<f64>,
    /// Part of the range of the joint that the control (or the state) gets.
    pub(super) inherit: Option<f64>,
}

impl Law {
    fn new() -> Self {
        Self {
            dynamics: "none".into(),
            gain: "fixed".into(),
            bias: "none".into(),
            dynamics_parameters: [1.0, 0.0, 0.0],
            gain_parameters: [1.0, 0.0, 0.0],
            bias_parameters: [0.0; 3],
            inherit: 0.0,
            control: Range::default(),
            force: Range::default(),
            state: Range::default(),
            early: false,
        }
    }

    /// All levels of an actuator.
    pub(super) fn read(reader: &Reader, item: &Item) -> Self {
        let mut law = Self::new();
        for level in item.defaults.iter().rev().chain([&item.id]) {
            law.level(reader, *level);
        }
        law
    }

    fn level(&mut self, reader: &Reader, id: ElementId) {
        let document = Rc::clone(&reader.document);
        let element = &document.elements[id];
        let number = |name: &str| element.text(name).and_then(|text| text.trim().parse::<f64>().ok());
        self.control.read(element.text("ctrllimited"), element.text("ctrlrange"));
        self.force.read(element.text("forcelimited"), element.text("forcerange"));
        self.state.read(element.text("actlimited"), element.text("actrange"));
        // A range that is given replaces one that was to be inherited.
        if element.text("ctrlrange").is_some() || element.text("actrange").is_some() {
            self.inherit = 0.0;
        }
        if let Some(early) = element.text("actearly") {
            self.early = early == "true";
        }
        let (kp, kv) = (number("kp"), number("kv"));
        match element.tag.as_str() {
            "general" => {
                for (name, word) in [
                    ("dyntype", &mut self.dynamics),
                    ("gaintype", &mut self.gain),
                    ("biastype", &mut self.bias),
                ] {
                    if let Some(given) = element.text(name) {
                        word.replace_range(.., given);
                    }
                }
                for (name, numbers) in [
                    ("dynprm", &mut self.dynamics_parameters),
                    ("gainprm", &mut self.gain_parameters),
                    ("biasprm", &mut self.bias_parameters),
                ] {
                    let given = element.text(name).map(parse_numbers).unwrap_or_default();
                    numbers.iter_mut().zip(given).for_each(|(x, given)| *x = given);
                }
                self.inherit = number("inheritrange").unwrap_or(self.inherit);
            }
            "motor" => {
                self.gain_parameters[0] = 1.0;
                self.set("none", "fixed", "none");
            }
            "position" | "intvelocity" => {
                let kp = kp.unwrap_or(self.gain_parameters[0]);
                self.gain_parameters = [kp, 0.0, 0.0];
                (self.bias_parameters[0], self.bias_parameters[1]) = (0.0, -kp);
                if let Some(kv) = kv {
                    self.bias_parameters[2] = -kv;
                }
                if let Some(ratio) = number("dampratio") {
                    self.bias_parameters[2] = ratio;
                }
                let mut dynamics = self.dynamics.clone();
                if let Some(time) = number("timeconst") {
                    self.dynamics_parameters[0] = time;
                    dynamics = if time == 0.0 { "none" } else { "filterexact" }.into();
                }
                self.inherit = number("inheritrange").unwrap_or(self.inherit);
                if element.tag == "intvelocity" {
                    dynamics = "integrator".into();
                    self.state.limited = Some(true);
                }
                self.set(&dynamics, "fixed", "affine");
            }
            "velocity" => {
                let kv = kv.unwrap_or(self.gain_parameters[0]);
                self.gain_parameters = [kv, 0.0, 0.0];
                self.bias_parameters = [0.0, 0.0, -kv];
                self.set("none", "fixed", "affine");
            }
            "damper" => {
                self.gain_parameters = [0.0, 0.0, -kv.unwrap_or(0.0)];
                self.control.limited = Some(true);
                self.set("none", "affine", "none");
            }
            "cylinder" => {
                self.dynamics_parameters[0] = number("timeconst").unwrap_or(self.dynamics_parameters[0]);
                let bias = element.text("bias").map(parse_numbers).unwrap_or_default();
                self.bias_parameters.iter_mut().zip(bias).for_each(|(x, given)| *x = given);
                self.gain_parameters[0] = number("area").unwrap_or(self.gain_parameters[0]);
                if let Some(d) = number("diameter").filter(|d| *d >= 0.0) {
                    self.gain_parameters[0] = std::f64::consts::FRAC_PI_4 * d * d;
                }
                self.set("filter", "fixed", "affine");
            }
            // Named by their tag, whatever their parameters.
            tag => {
                let word = tag.to_owned();
                self.set(&word, &word, &word);
            }
        }
    }

    fn set(&mut self, dynamics: &str, gain: &str, bias: &str) {
        self.dynamics = dynamics.into();
        self.gain = gain.into();
        self.bias = bias.into();
    }

    /// The law as ours; none if it is of a kind that is not supported, which is said.
    pub(super) fn finish(&self, reader: &mut Reader, id: ElementId, input: &str) -> Option<Finished> {
        let known = ["none", "integrator", "filter", "filterexact"].contains(&self.dynamics.as_str())
            && ["fixed", "affine"].contains(&self.gain.as_str())
            && ["none", "affine"].contains(&self.bias.as_str());
        if !known {
            let tag = reader.document.elements[id].tag.clone();
            let odd = [&self.dynamics, &self.gain, &self.bias].into_iter().find(|word| {
                !["none", "integrator", "filter", "filterexact", "fixed", "affine"].contains(&word.as_str())
            });
            let word = odd
                .filter(|word| **word != tag)
                .map_or_else(String::new, |word| format!(" of the type `{word}`"));
            reader.left_out(
                id,
                format!("actuators of the kind `{tag}`{word} are not supported and left out"),
                "use `motor`, `position`, `velocity` or an affine `general`",
            );
            return None;
        }
        let [g, b] = [&self.gain_parameters, &self.bias_parameters];
        let gain = if self.gain == "affine" { *g } else { [g[0], 0.0, 0.0] };
        let mut bias = if self.bias == "affine" { *b } else { [0.0; 3] };
        let is_servo = self.gain == "fixed" && self.bias == "affine" && gain[0] == -bias[1];
        // A positive damping of a position servo is a ratio of the critical one.
        let ratio = (is_servo && bias[2] > 0.0).then(|| std::mem::take(&mut bias[2]));
        let autolimits = reader.settings_of(id).autolimits;
        let mut law = LawDescription::new(input);
        law.gain = gain.into();
        law.bias = bias.into();
        law.origin = reader.at(id);
        law.control_range = self.control.holding(autolimits).filter(|_| reader.settings.clamp_controls);
        law.force_range = self.force.holding(autolimits);
        let activation = |kind, time_constant| ActivationDescription {
            kind,
            time_constant,
            range: self.state.holding(autolimits),
        };
        law.activation = match self.dynamics.as_str() {
            "integrator" => Some(activation(ActivationKind::Integrator, 0.0)),
            "filter" | "filterexact" => {
                Some(activation(ActivationKind::Filter, self.dynamics_parameters[0].max(0.0)))
            }
            _ => None,
        };
        if self.early && law.activation.is_some() {
            let what = "`actearly` has no meaning here: a step is taken under the mean of the activation";
            reader.left_out(id, what, "remove it");
        }
        for (name, range) in [
            ("ctrlrange", law.control_range),
            ("forcerange", law.force_range),
            ("actrange", law.activation.and_then(|a| a.range)),
        ] {
            if let Some([low, high]) = range
                && low >= high
            {
                let message = format!("`{name}` goes from {low} to {high}");
                reader.error(id, message, "write the smaller number first");
                return None;
            }
        }
        // Only positions have the range of a joint: a motor of a class whose servos inherit it has none.
        let inherit = (is_servo && self.inherit > 0.0).then_some(self.inherit);
        Some(Finished { law, damping_ratio: ratio, inherit })
    }
}
