//! States, and numbers per coordinate or per input.

use std::ops::Range;

use leastaction::mechanism::{Mechanism, State};
use toml::de::DeValue;

use super::{Half, Reader};
use crate::failure::{names, suggestion};
use crate::values::{Entry, number};

const STATE: [&str; 3] = ["state", "q", "v"];

impl Reader {
    /// A state: a named one of the model, changed by `q` and `v`.
    pub(super) fn state(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        base: State,
    ) -> Option<State> {
        let table = self.values.table(entry)?;
        let mut state = base;
        if let Some(item) = table.iter().find(|(k, _)| k.get_ref() == "state") {
            let name = self.values.text(item)?;
            match mechanism.states().get(&name) {
                Some(named) => state = named.clone(),
                None => {
                    let remedy = suggestion(&name, &names(mechanism.states().keys()))
                        .unwrap_or_else(|| "the model has no named states; give `q`".into());
                    let message = format!("`{name}` is no state of `{}`", mechanism.name());
                    self.values.problem(item.1.span(), "key `state`", message, remedy);
                    return None;
                }
            }
        }
        let mut good = true;
        for item in table {
            match item.0.get_ref().as_ref() {
                "state" => {}
                "q" => match self.coordinates(item, mechanism, Half::Positions, &state.q) {
                    Some(q) => state.q = q,
                    None => good = false,
                },
                "v" => match self.coordinates(item, mechanism, Half::Tangents, &state.v) {
                    Some(v) => state.v = v,
                    None => good = false,
                },
                _ => self.values.unknown(item.0, &STATE),
            }
        }
        if good { self.normalize(entry, mechanism, state) } else { None }
    }

    /// Unit quaternions.
    pub(super) fn normalize(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        mut state: State,
    ) -> Option<State> {
        for node in mechanism.tree().nodes.iter().filter(|node| node.nq > node.nv) {
            let part = &mut state.q[node.q..node.q + 4];
            let norm = part.iter().map(|x| x * x).sum::<f64>().sqrt();
            if norm < 1e-6 {
                let element = format!("joint `{}`", mechanism.joint(node.joint).name);
                let remedy = "give a unit quaternion w, x, y, z first";
                self.values.problem(entry.0.span(), element, "its quaternion has no direction", remedy);
                return None;
            }
            part.iter_mut().for_each(|x| *x /= norm);
        }
        Some(state)
    }

    /// One number per coordinate: a number for all, a list, or a table by joint over `base`.
    pub(super) fn coordinates(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        half: Half,
        base: &[f64],
    ) -> Option<Vec<f64>> {
        let n = base.len();
        let element = format!("key `{}`", entry.0.get_ref());
        if let Some(value) = number(entry.1.get_ref()) {
            if half == Half::Positions && mechanism.nq() > mechanism.nv() {
                let message = "one number does not say where a ball or floating joint is";
                self.values.problem(entry.1.span(), element, message, "give a table by joint");
                return None;
            }
            return Some(vec![value; n]);
        }
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() != n {
                let message =
                    format!("it has {} numbers, `{}` has {n} coordinates", values.len(), mechanism.name());
                let remedy = "give one number, one per coordinate, or a table by joint";
                self.values.problem(entry.1.span(), element, message, remedy);
                return None;
            }
            return Some(values);
        };
        let mut out = base.to_vec();
        let mut good = true;
        for item in table {
            let Some(range) = self.joint(item.0.get_ref(), item.0.span(), mechanism, half) else {
                good = false;
                continue;
            };
            let values = match number(item.1.get_ref()) {
                Some(value) if range.len() == 1 || half == Half::Tangents => vec![value; range.len()],
                _ => self.values.numbers(item)?,
            };
            if values.len() == range.len() {
                out[range].copy_from_slice(&values);
            } else {
                let message = format!("it has {} numbers", values.len());
                let element = format!("joint `{}`", item.0.get_ref());
                self.values.problem(item.1.span(), element, message, format!("give {}", range.len()));
                good = false;
            }
        }
        good.then_some(out)
    }

    pub(super) fn joint(
        &mut self,
        name: &str,
        span: Range<usize>,
        mechanism: &Mechanism,
        half: Half,
    ) -> Option<Range<usize>> {
        let id = self.values.moving_joint(name, span, mechanism)?;
        Some(if half == Half::Positions { mechanism.q_range(id) } else { mechanism.v_range(id) })
    }

    /// One number per input: a number for all, a list, or a table by input (others are `missing`).
    pub(super) fn per_input(
        &mut self,
        entry: Entry<'_, '_>,
        mechanism: &Mechanism,
        missing: f64,
    ) -> Option<Vec<f64>> {
        let n = mechanism.nu();
        if let Some(value) = number(entry.1.get_ref()) {
            return Some(vec![value; n]);
        }
        let DeValue::Table(table) = entry.1.get_ref() else {
            let values = self.values.numbers(entry)?;
            if values.len() == n {
                return Some(values);
            }
            let element = format!("key `{}`", entry.0.get_ref());
            let message = format!("it has {} numbers, `{}` has {n} inputs", values.len(), mechanism.name());
            let remedy = "give one number, one per input, or a table by input";
            self.values.problem(entry.1.span(), element, message, remedy);
            return None;
        };
        let mut out = vec![missing; n];
        let mut good = true;
        for item in table {
            let name = item.0.get_ref();
            match mechanism.inputs().iter().position(|input| input == name) {
                Some(index) => match self.values.number(item) {
                    Some(value) => out[index] = value,
                    None => good = false,
                },
                None => {
                    let remedy = suggestion(name, &names(mechanism.inputs())).unwrap_or_default();
                    let message = format!("there is no input of that name in `{}`", mechanism.name());
                    self.values.problem(item.0.span(), format!("input `{name}`"), message, remedy);
                    good = false;
                }
            }
        }
        good.then_some(out)
    }
}
