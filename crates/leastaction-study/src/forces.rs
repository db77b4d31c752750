//! Constraint forces of the joints as columns `f.JOINT.{tx,ty,tz,fx,fy,fz}`, and their peaks for the summary.

use leastaction::integrator::{JointForce, Method, Simulator};
use leastaction::mechanism::Mechanism;
use leastaction_core::scalar::maximum;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::on_tape;
use crate::serve::Served;

/// Parts of a force's columns.
pub const PARTS: [&str; 6] = ["tx", "ty", "tz", "fx", "fy", "fz"];

/// Largest torque and force of a joint in the recorded rows.
#[derive(Clone, Debug, Default, PartialEq)]
struct Peak {
    torque: f64,
    force: f64,
    time: f64,
    redundant: bool,
}

/// Gathers the forces of a run.
#[derive(Clone, Debug, Default)]
pub struct ForceLog {
    names: Vec<String>,
    peaks: Vec<Peak>,
    scratch: Vec<JointForce>,
    /// The six columns of every joint, for the row last asked for.
    pub columns: Vec<f64>,
}

on_tape!(Peak: torque, force, time, redundant);
// Names are given by the run.
on_tape!(ForceLog: peaks, columns);

impl ForceLog {
    /// A log for a run that has constraint forces.
    pub fn new(served: &Served) -> Result<Self, Failure> {
        if served.method != Method::Maximal {
            return Err(Failure::new(format!(
                "the {} integrator has no constraint forces",
                served.method.name()
            ))
            .help("use `--integrator maximal`, or leave `--forces` out"));
        }
        let fail = |error| Failure::from_error(&error);
        let engine = served.options.maximal_engine().map_err(fail)?;
        let names = engine.force_names(&served.mechanism).map_err(fail)?;
        let n = names.len();
        Ok(Self {
            names,
            peaks: vec![Peak::default(); n],
            scratch: Vec::new(),
            columns: vec![f64::NAN; 6 * n],
        })
    }

    /// Joints and constraints that bear forces.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Names of the columns.
    pub fn column_names(&self) -> Vec<String> {
        self.names.iter().flat_map(|name| PARTS.map(|part| format!("f.{name}.{part}"))).collect()
    }

    /// Takes the forces of the step just taken, which are those at its start, the time `t`.
    pub fn take(&mut self, simulator: &mut Simulator<&Mechanism>, t: f64) {
        simulator.joint_forces(&mut self.scratch);
        for (i, force) in self.scratch.iter().enumerate().take(self.names.len()) {
            let size = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let (torque, push) = (size(&force.wrench[..3]), size(&force.wrench[3..]));
            self.columns[6 * i..6 * i + 6].copy_from_slice(&force.wrench);
            let peak = &mut self.peaks[i];
            peak.redundant |= force.redundant;
            peak.torque = maximum(peak.torque, torque);
            if push.is_nan() || push > peak.force {
                (peak.force, peak.time) = (push, t);
            }
        }
    }

    /// No step could be taken from the last row: its forces are not known.
    pub fn unknown(&mut self) {
        self.columns.fill(f64::NAN);
    }

    /// What the summary says.
    pub fn to_json(&self) -> Value {
        let peaks: Vec<Value> = self
            .names
            .iter()
            .zip(&self.peaks)
            .map(|(name, p)| {
                json!({
                    "joint": name,
                    "largest_force": p.force,
                    "at": p.time,
                    "largest_torque": p.torque,
                    "redundant": p.redundant,
                })
            })
            .collect();
        json!({
            "convention": "constraint wrench on the child at the joint's origin, axes of the joint's frame on the child \
                (z along its axis); rolling constraints: at the centre of mass, world axes; at the time of the row",
            "redundant": "minimum norm of all multipliers with the same effect",
            "joints": peaks,
        })
    }

    /// Joints whose forces are one choice of many.
    pub fn redundant(&self) -> Vec<&str> {
        let marked = self.names.iter().zip(&self.peaks).filter(|(_, p)| p.redundant);
        marked.map(|(name, _)| name.as_str()).collect()
    }

    /// The joint with the largest force: name, force, time.
    pub fn largest(&self) -> Option<(&str, f64, f64)> {
        let best = self.names.iter().zip(&self.peaks).max_by(|a, b| a.1.force.total_cmp(&b.1.force));
        best.map(|(name, p)| (name.as_str(), p.force, p.time))
    }
}
