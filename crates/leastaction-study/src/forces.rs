//! Constraint forces of the joints as columns `f.JOINT.{tx,ty,tz,fx,fy,fz}`, forces between surfaces as columns
//! `c.A.B.{fx,fy,fz,px,py,pz,gap,normal,slip}`, and their peaks for the summary.

use leastaction::integrator::{ContactForce, JointForce, Method, Simulator};
use leastaction::mechanism::Mechanism;
use leastaction::trajectory::TrajectoryLayout;
use leastaction_core::scalar::maximum;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::on_tape;
use crate::serve::Served;

/// Parts of a force's columns.
pub const PARTS: [&str; 6] = ["tx", "ty", "tz", "fx", "fy", "fz"];

/// Parts of the columns of two surfaces: force on the first, point where it acts, distance, normal force, largest slip where they touch.
pub const CONTACT_PARTS: [&str; 9] = ["fx", "fy", "fz", "px", "py", "pz", "gap", "normal", "slip"];

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
    /// Names of the surfaces that may touch, and the pair of each contact.
    pairs: Vec<String>,
    pair_of: Vec<usize>,
    contacts: Vec<ContactForce>,
    pair_peaks: Vec<(f64, f64)>,
    /// The six columns of every joint, for the row last asked for.
    pub columns: Vec<f64>,
}

on_tape!(Peak: torque, force, time, redundant);
// Names are given by the run.
on_tape!(ForceLog: peaks, pair_peaks, columns);

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
        let touching = !served.mechanism.contacts().is_empty();
        let pairs = served.mechanism.contact_pairs().iter().filter(|_| touching);
        let pairs: Vec<String> = pairs.map(|[a, b]| format!("{a}.{b}")).collect();
        Ok(Self {
            names,
            peaks: vec![Peak::default(); n],
            scratch: Vec::new(),
            pair_of: served.mechanism.contacts().iter().map(|contact| contact.pair).collect(),
            contacts: Vec::new(),
            pair_peaks: vec![(0.0, 0.0); pairs.len()],
            columns: vec![f64::NAN; 6 * n + CONTACT_PARTS.len() * pairs.len()],
            pairs,
        })
    }

    /// Joints and constraints that bear forces.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Surfaces that may touch, as `A.B`.
    pub fn pairs(&self) -> &[String] {
        &self.pairs
    }

    /// These columns behind those of a trajectory.
    pub fn layout(&self, layout: TrajectoryLayout) -> TrajectoryLayout {
        let joints = self.names.iter().flat_map(|name| PARTS.map(|part| format!("f.{name}.{part}")));
        let pairs = self.pairs.iter().flat_map(|pair| CONTACT_PARTS.map(|part| format!("c.{pair}.{part}")));
        layout.with("f", joints.collect()).with("c", pairs.collect())
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
        self.take_contacts(simulator, t);
    }

    /// Sums over the contacts of each pair of surfaces; the point is the mean weighed by the forces.
    fn take_contacts(&mut self, simulator: &Simulator<&Mechanism>, t: f64) {
        if self.pairs.is_empty() {
            return;
        }
        simulator.contact_forces(&mut self.contacts);
        let first = 6 * self.names.len();
        let columns = &mut self.columns[first..];
        for row in columns.chunks_mut(CONTACT_PARTS.len()) {
            row.fill(0.0);
            row[6] = f64::INFINITY;
        }
        let mut weights = vec![0.0; self.pairs.len()];
        for (contact, pair) in self.contacts.iter().zip(&self.pair_of) {
            let row = &mut columns[CONTACT_PARTS.len() * pair..][..CONTACT_PARTS.len()];
            let size = contact.force.iter().map(|x| x * x).sum::<f64>().sqrt();
            weights[*pair] += size;
            for k in 0..3 {
                row[k] += contact.force[k];
                row[3 + k] += size * contact.point[k];
            }
            row[6] = row[6].min(contact.gap);
            row[7] += contact.normal;
            row[8] = maximum(row[8], contact.slip);
        }
        for (pair, weight) in weights.into_iter().enumerate() {
            let row = &mut columns[CONTACT_PARTS.len() * pair..][..CONTACT_PARTS.len()];
            for k in 3..6 {
                row[k] = if weight > 0.0 { row[k] / weight } else { f64::NAN };
            }
            let force = row[..3].iter().map(|x| x * x).sum::<f64>().sqrt();
            if force > self.pair_peaks[pair].0 {
                self.pair_peaks[pair] = (force, t);
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
        let pairs = self.pairs.iter().zip(&self.pair_peaks).filter(|(_, peak)| peak.0 > 0.0);
        let surfaces: Vec<Value> = pairs
            .map(|(pair, (force, at))| json!({"pair": pair, "largest_force": force, "at": at}))
            .collect();
        json!({
            "convention": "constraint wrench on the child at the joint's origin, axes of the joint's frame on the child \
                (z along its axis); rolling constraints: at the centre of mass, world axes; at the time of the row",
            "redundant": "minimum norm of all multipliers with the same effect",
            "joints": peaks,
            "surfaces": surfaces,
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
