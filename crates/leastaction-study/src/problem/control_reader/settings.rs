//! Limits, feedback, first guess, solver.

use leastaction::control::{ControlTermKind, IlqrOptions, TrackingWeights};
use leastaction::mechanism::Mechanism;
use toml::de::DeValue;

use super::super::control_file::{GuessDraft, TermDraft};
use super::{Half, Reader};
use crate::values::Entry;

const GUESS: [&str; 6] = ["inputs", "swing", "period", "states", "stiffness", "damping"];
const FEEDBACK: [&str; 3] = ["position", "velocity", "input"];
const SOLVER: [&str; 4] = ["tolerance", "gap", "max_iterations", "curvature"];

impl Reader {
    pub(super) fn limits(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        mechanism: &Mechanism,
        efforts: &[[f64; 2]],
    ) -> (Vec<f64>, Vec<f64>) {
        let side = |k: usize| efforts.iter().map(|range| range[k]).collect::<Vec<f64>>();
        let model = (side(0), side(1));
        let Some(table) = entry.and_then(|entry| self.values.table(entry)) else { return model };
        let mut out = model.clone();
        for item in table {
            if item.0.get_ref() != "input" {
                self.values.unknown(item.0, &["input"]);
                continue;
            }
            let n = mechanism.nu();
            let (lower, upper) = match item.1.get_ref() {
                DeValue::String(word) => {
                    if word.as_ref() != "model" {
                        let message = format!("`{word}` is not possible");
                        let remedy = "give numbers, or \"model\" for the effort limits of the model";
                        self.values.problem(item.1.span(), "key `input`", message, remedy);
                    } else if efforts.iter().flatten().all(|x| x.is_infinite()) {
                        let message = format!("`{}` has no effort limits", mechanism.name());
                        self.values.problem(item.1.span(), "key `input`", message, "give numbers");
                    }
                    continue;
                }
                DeValue::Table(pair)
                    if pair.iter().any(|(k, _)| matches!(k.get_ref().as_ref(), "lower" | "upper")) =>
                {
                    let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
                    for side in pair {
                        let read = match side.0.get_ref().as_ref() {
                            "lower" => self.per_input(side, mechanism, f64::NEG_INFINITY).map(|x| lower = x),
                            "upper" => self.per_input(side, mechanism, f64::INFINITY).map(|x| upper = x),
                            _ => {
                                self.values.unknown(side.0, &["lower", "upper"]);
                                None
                            }
                        };
                        if read.is_none() {
                            return out;
                        }
                    }
                    (lower, upper)
                }
                _ => {
                    let Some(upper) = self.per_input(item, mechanism, f64::INFINITY) else { return out };
                    (upper.iter().map(|x| -x).collect(), upper)
                }
            };
            for i in 0..n {
                if lower[i] >= upper[i] {
                    let message = format!(
                        "the limits of input `{}` are {} to {}: nothing is between them",
                        mechanism.inputs()[i],
                        lower[i],
                        upper[i]
                    );
                    let remedy = "give a lower limit below the upper one";
                    self.values.problem(item.1.span(), "key `input`", message, remedy);
                    return out;
                }
                let [least, most] = efforts[i];
                if upper[i] > most || lower[i] < least {
                    let allowed =
                        if least == -most { most.to_string() } else { format!("{least} to {most}") };
                    let message = format!(
                        "the limits of input `{}` are {} to {}, but its joint's effort limit allows {allowed} only",
                        mechanism.inputs()[i],
                        lower[i],
                        upper[i],
                    );
                    let remedy = "give limits within it, or \"model\"";
                    self.values.problem(item.1.span(), "key `input`", message, remedy);
                    return out;
                }
            }
            out = (lower, upper);
        }
        out
    }

    /// Weights of the feedback: by default one for states, and what the path's costs say of inputs.
    pub(super) fn feedback(
        &mut self,
        entry: Option<Entry<'_, '_>>,
        mechanism: &Mechanism,
        terms: &[TermDraft],
    ) -> TrackingWeights {
        let n = mechanism.nv();
        let mut input = vec![0.0; mechanism.nu()];
        for draft in terms {
            if let ControlTermKind::Input { weights, .. } = &draft.term.kind {
                input.iter_mut().zip(weights).for_each(|(sum, w)| *sum += w);
            }
        }
        let (mut position, mut velocity) = (vec![1.0; n], vec![1.0; n]);
        if let Some(table) = entry.and_then(|entry| self.values.table(entry)) {
            for item in table {
                let read = match item.0.get_ref().as_ref() {
                    "position" => {
                        let read = self.coordinates(item, mechanism, Half::Tangents, &position);
                        read.map(|x| position = x)
                    }
                    "velocity" => {
                        let read = self.coordinates(item, mechanism, Half::Tangents, &velocity);
                        read.map(|x| velocity = x)
                    }
                    "input" => self.per_input(item, mechanism, 1.0).map(|x| input = x),
                    _ => {
                        self.values.unknown(item.0, &FEEDBACK);
                        None
                    }
                };
                let values = match item.0.get_ref().as_ref() {
                    "position" => &position,
                    "velocity" => &velocity,
                    _ => &input,
                };
                let least = if item.0.get_ref() == "input" { f64::MIN_POSITIVE } else { 0.0 };
                if read.is_some()
                    && let Some(bad) = values.iter().find(|x| **x < least)
                {
                    let element = format!("key `{}`", item.0.get_ref());
                    let remedy = "give positive numbers";
                    self.values.problem(item.1.span(), element, format!("{bad} is not possible"), remedy);
                }
            }
        }
        TrackingWeights { state: [position, velocity].concat(), input }
    }

    pub(super) fn guess(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        has_goal: bool,
    ) -> GuessDraft {
        let mut out = GuessDraft::default();
        let Some(table) = self.values.table(entry) else { return out };
        let (mut swing, mut period) = (None, None);
        let (mut stiffness, mut damping) = (None, None);
        for item in table {
            match item.0.get_ref().as_ref() {
                "inputs" => out.inputs = self.per_input(item, mechanism, 0.0),
                "swing" => swing = self.per_input(item, mechanism, 0.0),
                "period" => period = self.values.positive(item),
                "stiffness" => stiffness = self.values.positive(item),
                "damping" => damping = self.values.positive(item),
                "states" => match self.values.text(item).as_deref() {
                    Some("line") if has_goal => out.line = true,
                    Some("roll") | None => {}
                    Some(other) => {
                        let message = format!("`{other}` is not possible");
                        let remedy = "write \"roll\", or \"line\" if there is a [goal]";
                        self.values.problem(item.1.span(), "key `states`", message, remedy);
                    }
                },
                _ => self.values.unknown(item.0, &GUESS),
            }
        }
        if stiffness.is_some() || damping.is_some() {
            out.springs = Some((stiffness.unwrap_or(0.0), damping.unwrap_or(0.0)));
            if !has_goal {
                let remedy = "add a [goal], or leave them out";
                self.values.problem(
                    entry.0.span(),
                    "table `guess`",
                    "`stiffness` and `damping` draw to a goal, and there is none",
                    remedy,
                );
            }
        }
        out.swing = match (swing, period) {
            (Some(swing), Some(period)) => Some((swing, period)),
            (None, None) => None,
            _ => {
                let message = "`swing` and `period` belong together";
                self.values.problem(entry.0.span(), "table `guess`", message, "add what is missing");
                None
            }
        };
        out
    }

    pub(super) fn solver(&mut self, entry: Option<Entry<'_, '_>>) -> IlqrOptions {
        let mut options = IlqrOptions::default();
        let Some(table) = entry.and_then(|entry| self.values.table(entry)) else { return options };
        for item in table {
            match item.0.get_ref().as_ref() {
                "tolerance" => {
                    options.tolerance = self.values.positive(item).unwrap_or(options.tolerance);
                }
                "gap" => options.gap = self.values.positive(item).unwrap_or(options.gap),
                "max_iterations" => {
                    options.max_iterations = self.values.count(item, 1).unwrap_or(options.max_iterations);
                }
                "curvature" => options.curvature = self.values.boolean(item).unwrap_or(false),
                _ => self.values.unknown(item.0, &SOLVER),
            }
        }
        options
    }
}
