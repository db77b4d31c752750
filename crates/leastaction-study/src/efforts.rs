//! [`EffortMonitor`]: counts the steps in which a range or an effort limit cuts what the inputs ask for.

use leastaction::mechanism::Mechanism;
use serde_json::{Value, json};

use crate::tape::{OnTape, Tape};

/// Something that is cut at a limit.
#[derive(Debug)]
struct Watched {
    /// Joint or input.
    name: String,
    /// What kind of thing has the limit: `joint` or `input`.
    kind: &'static str,
    limit: [f64; 2],
    what: What,
    /// Steps in which it was cut.
    steps: u64,
}

/// What is compared with a limit.
#[derive(Debug)]
enum What {
    /// The sum of the forces on a coordinate: input and gear.
    Sum(Vec<(usize, f64)>),
    /// A control.
    Control(usize),
    /// The force of an input.
    Force(usize),
}

/// Watches every joint that has both actuators and an effort limit, and every input with a range. Looking does not allocate.
#[derive(Debug, Default)]
pub struct EffortMonitor {
    watched: Vec<Watched>,
    /// Which inputs are forces themselves.
    plain: Vec<bool>,
    /// Steps in which any was cut.
    steps: u64,
}

impl OnTape for EffortMonitor {
    fn pass(&mut self, tape: &mut Tape<'_>) {
        self.watched.iter_mut().for_each(|watched| watched.steps.pass(tape));
        self.steps.pass(tape);
    }
}

impl EffortMonitor {
    /// Nothing was cut yet.
    pub fn new(mechanism: &Mechanism) -> Self {
        let mut watched = Vec::new();
        let finite = |range: &[f64; 2]| range.iter().any(|x| x.is_finite());
        let mut watch = |name: &str, kind, limit: [f64; 2], what| {
            if finite(&limit) {
                watched.push(Watched { name: name.to_owned(), kind, limit, what, steps: 0 });
            }
        };
        for id in mechanism.tree_joints() {
            let joint = mechanism.joint(id);
            let Some(limits) = joint.limits else { continue };
            for coordinate in 0..joint.kind.nv() {
                let actuators = joint.actuators.iter().filter(|actuator| actuator.coordinate == coordinate);
                let inputs: Vec<(usize, f64)> = actuators.map(|a| (a.input, a.gear)).collect();
                if !inputs.is_empty() {
                    watch(&joint.name, "joint", limits.effort_range, What::Sum(inputs));
                }
            }
        }
        for (k, (drive, name)) in mechanism.drives().iter().zip(mechanism.inputs()).enumerate() {
            watch(name, "input", drive.law.control_range, What::Control(k));
            watch(name, "input", drive.law.force_range, What::Force(k));
        }
        let plain = mechanism.drives().iter().map(|drive| drive.plain).collect();
        Self { watched, plain, steps: 0 }
    }

    /// Looks at the controls of a step and at the forces that acted.
    pub fn look(&mut self, u: &[f64], acted: &[f64]) {
        // A force that was cut is at its limit, to rounding.
        let beyond = |x: f64, [low, high]: [f64; 2]| x > high || x < low;
        let at = |x: f64, [low, high]: [f64; 2]| beyond(x * (1.0 + 1e-12), [low, high]);
        let mut any = false;
        for watched in &mut self.watched {
            let cut = match &watched.what {
                What::Control(k) => beyond(u[*k], watched.limit),
                What::Force(k) => at(acted[*k], watched.limit),
                What::Sum(inputs) if inputs.iter().all(|(input, _)| self.plain[*input]) => {
                    beyond(inputs.iter().map(|(input, gear)| u[*input] * gear).sum(), watched.limit)
                }
                What::Sum(inputs) => {
                    at(inputs.iter().map(|(input, gear)| acted[*input] * gear).sum(), watched.limit)
                }
            };
            watched.steps += u64::from(cut);
            any |= cut;
        }
        self.steps += u64::from(any);
    }

    /// For people; nothing if nothing was cut.
    pub fn sentence(&self, steps: u64) -> Option<String> {
        let cut: Vec<String> = self
            .watched
            .iter()
            .filter(|watched| watched.steps > 0)
            .map(|watched| format!("`{}` at {}", watched.name, limit_text(watched.limit)))
            .collect();
        let more = cut.len().saturating_sub(5);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (self.steps > 0).then(|| {
            let joints = cut[..cut.len().min(5)].join(", ");
            format!("cut the inputs in {} of {steps} steps: {joints}{more}", self.steps)
        })
    }

    /// For machines.
    pub fn to_json(&self) -> Value {
        let joints = self.watched.iter().filter(|watched| watched.steps > 0);
        json!({
            "steps": self.steps,
            "joints": joints
                .map(|w| json!({w.kind: w.name, "limit": limit_json(w.limit), "steps": w.steps}))
                .collect::<Vec<_>>(),
        })
    }
}

/// One number for a range with two equal sides.
fn limit_text([low, high]: [f64; 2]) -> String {
    if low == -high { high.to_string() } else { format!("{low} to {high}") }
}

fn limit_json([low, high]: [f64; 2]) -> Value {
    if low == -high { json!(high) } else { json!([low, high]) }
}

#[cfg(test)]
mod tests {
    use leastaction::io::{LoadOptions, read_model};

    use super::*;

    #[test]
    fn inputs_beyond_the_effort_limit_are_counted() {
        let text = r#"{"schema": "leastaction/model/1", "name": "m", "inputs": ["u"],
            "bodies": [{"name": "b", "mass": 1, "inertia": [1, 1, 1, 0, 0, 0]}],
            "joints": [{"name": "j", "type": "revolute", "parent": "world", "child": "b", "axis": [0, 0, 1],
                "limits": {"effort": 12}, "actuators": [{"input": "u", "gear": 2}]}]}"#;
        let reading = read_model(text, std::path::Path::new("m.json"), &LoadOptions::default()).unwrap();
        let mut reading = reading;
        let mechanism = reading.build().unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
        let mut monitor = EffortMonitor::new(&mechanism);
        for u in [5.0, 6.0, -6.1, 60.0] {
            monitor.look(&[u], &[u.clamp(-6.0, 6.0)]);
        }
        assert_eq!(monitor.to_json()["steps"], 2);
        assert_eq!(monitor.sentence(4).unwrap(), "cut the inputs in 2 of 4 steps: `j` at 12");
        assert_eq!(EffortMonitor::new(&mechanism).sentence(4), None);
    }
}
