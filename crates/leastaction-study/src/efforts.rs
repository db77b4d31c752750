//! [`EffortMonitor`]: counts the steps in which a joint's effort limit cuts what the inputs ask for.

use leastaction::mechanism::Mechanism;
use serde_json::{Value, json};

/// Inputs of one coordinate and the limit of their sum.
#[derive(Debug)]
struct Watched {
    joint: String,
    limit: f64,
    /// Input and gear.
    inputs: Vec<(usize, f64)>,
    /// Steps in which it was cut.
    steps: u64,
}

/// Watches every joint that has both actuators and an effort limit. Looking does not allocate.
#[derive(Debug, Default)]
pub struct EffortMonitor {
    watched: Vec<Watched>,
    /// Steps in which any was cut.
    steps: u64,
}

impl EffortMonitor {
    /// Nothing was cut yet.
    pub fn new(mechanism: &Mechanism) -> Self {
        let mut watched = Vec::new();
        for id in mechanism.tree_joints() {
            let joint = mechanism.joint(id);
            let limit = joint.limits.as_ref().map_or(f64::INFINITY, |limits| limits.effort);
            for coordinate in (0..joint.kind.nv()).filter(|_| limit.is_finite()) {
                let actuators = joint.actuators.iter().filter(|actuator| actuator.coordinate == coordinate);
                let inputs: Vec<(usize, f64)> = actuators.map(|a| (a.input, a.gear)).collect();
                if !inputs.is_empty() {
                    watched.push(Watched { joint: joint.name.clone(), limit, inputs, steps: 0 });
                }
            }
        }
        Self { watched, steps: 0 }
    }

    /// Looks at the inputs of a step.
    pub fn look(&mut self, u: &[f64]) {
        let mut any = false;
        for watched in &mut self.watched {
            let asked: f64 = watched.inputs.iter().map(|(input, gear)| u[*input] * gear).sum();
            if asked.abs() > watched.limit {
                watched.steps += 1;
                any = true;
            }
        }
        self.steps += u64::from(any);
    }

    /// For people; nothing if nothing was cut.
    pub fn sentence(&self, steps: u64) -> Option<String> {
        let cut: Vec<String> = self
            .watched
            .iter()
            .filter(|watched| watched.steps > 0)
            .map(|watched| format!("`{}` at {}", watched.joint, watched.limit))
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
                .map(|w| json!({"joint": w.joint, "limit": w.limit, "steps": w.steps}))
                .collect::<Vec<_>>(),
        })
    }
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
            monitor.look(&[u]);
        }
        assert_eq!(monitor.to_json()["steps"], 2);
        assert_eq!(monitor.sentence(4).unwrap(), "cut the inputs in 2 of 4 steps: `j` at 12");
        assert_eq!(EffortMonitor::new(&mechanism).sentence(4), None);
    }
}
