//! Limits and via points of a problem file.

use std::ops::Range;

use leastaction::mechanism::Mechanism;
use leastaction::optimize::{Limit, LimitKind, MotionProblem, ViaPoint};
use toml::de::{DeTable, DeValue};

use super::reader::Reader;
use crate::values::Entry;

const LIMITS: [&str; 7] =
    ["position", "control_point", "velocity", "acceleration", "jerk", "torque", "torque_rate"];
const VIA: [&str; 4] = ["t", "joint", "value", "order"];

impl Reader {
    pub(super) fn limits(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        problem: &mut MotionProblem,
    ) {
        let Some(table) = self.values.table(entry) else { return };
        let kinds = [
            LimitKind::Position,
            LimitKind::ControlPoint,
            LimitKind::Velocity,
            LimitKind::Acceleration,
            LimitKind::Jerk,
            LimitKind::Torque,
            LimitKind::TorqueRate,
        ];
        for item in table {
            let Some(kind) = kinds.into_iter().find(|k| item.0.get_ref() == k.name()) else {
                self.values.unknown(item.0, &LIMITS);
                continue;
            };
            self.places.insert(format!("limits.{}", kind.name()), item.1.span());
            if let Some((lower, upper)) = self.range(item, kind, mechanism) {
                problem.limits.push(Limit { kind, lower, upper });
            }
        }
    }

    /// Lower and upper bounds: a number or a value per joint (both signs), `{ lower, upper }`, or `"model"`.
    fn range(
        &mut self,
        entry: Entry<'_, '_>,
        kind: LimitKind,
        mechanism: &Mechanism,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = mechanism.nv();
        if let DeValue::String(word) = entry.1.get_ref() {
            if word.as_ref() == "model" {
                return self.model_limits(entry, kind, mechanism);
            }
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("`{word}` is not possible");
            self.values.problem(
                entry.1.span(),
                element,
                message,
                "give numbers, or \"model\" for the limits of the model",
            );
            return None;
        }
        if let DeValue::Table(table) = entry.1.get_ref()
            && table.iter().any(|(k, _)| matches!(k.get_ref().as_ref(), "lower" | "upper"))
        {
            let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
            for item in table {
                match item.0.get_ref().as_ref() {
                    "lower" => lower = self.coordinates(item, mechanism, f64::NEG_INFINITY)?,
                    "upper" => upper = self.coordinates(item, mechanism, f64::INFINITY)?,
                    _ => self.values.unknown(item.0, &["lower", "upper"]),
                }
            }
            return Some((lower, upper));
        }
        let upper = self.coordinates(entry, mechanism, f64::INFINITY)?;
        Some((upper.iter().map(|x| -x).collect(), upper))
    }

    fn model_limits(
        &mut self,
        entry: Entry<'_, '_>,
        kind: LimitKind,
        mechanism: &Mechanism,
    ) -> Option<(Vec<f64>, Vec<f64>)> {
        let n = mechanism.nv();
        let (mut lower, mut upper) = (vec![f64::NEG_INFINITY; n], vec![f64::INFINITY; n]);
        for id in mechanism.tree_joints() {
            if kind == LimitKind::Torque {
                for (k, c) in mechanism.v_range(id).enumerate() {
                    [lower[c], upper[c]] = mechanism.force_range(id, k);
                }
                continue;
            }
            let Some(limits) = mechanism.joint(id).limits else { continue };
            for (k, c) in mechanism.v_range(id).enumerate() {
                let (low, high) = match kind {
                    LimitKind::Position | LimitKind::ControlPoint => (limits.lower[k], limits.upper[k]),
                    LimitKind::Velocity => (-limits.velocity, limits.velocity),
                    _ => (f64::NEG_INFINITY, f64::INFINITY),
                };
                (lower[c], upper[c]) = (low, high);
            }
        }
        if lower.iter().chain(&upper).all(|x| x.is_infinite()) {
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("`{}` has no {} limits", mechanism.name(), kind.name());
            self.values.problem(entry.1.span(), element, message, "give numbers");
            return None;
        }
        Some((lower, upper))
    }

    pub(super) fn via(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        mechanism: &Mechanism,
        problem: &mut MotionProblem,
    ) {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !VIA.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &VIA);
            }
        }
        let (Some(t), Some(joint), Some(value)) = (find("t"), find("joint"), find("value")) else {
            self.values.problem(
                span,
                "via point",
                "it needs `t`, `joint` and `value`",
                "add what is missing",
            );
            return;
        };
        self.places.insert("via".into(), t.1.span());
        let order = find("order").and_then(|entry| self.values.count(entry, 0)).unwrap_or(0);
        let (Some(t), Some(name), Some(value)) =
            (self.moment(t, problem.duration), self.values.text(joint), self.values.number(value))
        else {
            return;
        };
        let Some(range) = self.joint(&name, joint.1.span(), mechanism) else { return };
        problem.via.push(ViaPoint { t, coordinate: range.start, order, value });
    }
}
