//! [`LimitMonitor`]: notices when a joint passes a limit.

use leastaction::dynamics::LoopMotion;
use leastaction::mechanism::{JointId, JointType, Mechanism, State, turn};
use serde_json::{Value, json};

use crate::digits::figure;
use crate::tape::{OnTape, Tape};

/// A limit that was passed, for the first time.
#[derive(Clone, Debug, PartialEq)]
pub struct Passing {
    /// Joint, with the coordinate where it has several.
    pub joint: String,
    /// Which limit: `lower`, `upper` or `velocity`.
    pub limit: &'static str,
    /// Its value.
    pub bound: f64,
    /// When.
    pub t: f64,
    /// Largest excess until now.
    pub worst: f64,
}

impl Passing {
    /// For people.
    pub fn sentence(&self) -> String {
        let Self { joint, limit, bound, t, worst } = self;
        format!(
            "joint `{joint}` passed its {limit} limit {bound} at t = {t:.6} s, by at most {}",
            figure(*worst)
        )
    }

    /// One sentence for each kind of limit: the only joint that passed it, or how many did, which first and which most.
    pub fn sentences(all: &[Self]) -> Vec<String> {
        let of_kind = |limit: &str| all.iter().filter(|passing| passing.limit == limit).collect::<Vec<_>>();
        let mut sentences = Vec::new();
        for limit in ["lower", "upper", "velocity"] {
            let passings = of_kind(limit);
            let first = passings.iter().copied().min_by(|a, b| a.t.total_cmp(&b.t));
            let most = passings.iter().copied().max_by(|a, b| a.worst.total_cmp(&b.worst));
            match (passings.as_slice(), first, most) {
                ([only], ..) => sentences.push(only.sentence()),
                ([_, ..], Some(first), Some(most)) => sentences.push(format!(
                    "{} joints passed their {limit} limits, first `{}` (limit {}) at t = {:.6} s, by most `{}` (limit {}), by {}",
                    passings.len(),
                    first.joint,
                    first.bound,
                    first.t,
                    most.joint,
                    most.bound,
                    figure(most.worst)
                )),
                _ => {}
            }
        }
        sentences
    }

    /// For machines.
    pub fn to_json(&self) -> Value {
        json!({"joint": self.joint, "limit": self.limit, "bound": self.bound, "t": self.t, "worst": self.worst})
    }
}

/// What a bound is a bound of.
#[derive(Clone, Copy, Debug)]
enum Of {
    Position(usize),
    Velocity(usize),
    /// The whole turn of a ball, by its first position coordinate.
    Turn(usize),
    /// A coordinate of a loop joint, and where it was last.
    Loop(JointId, usize, f64),
}

/// One bound of one coordinate.
#[derive(Debug)]
struct Watched {
    label: String,
    limit: &'static str,
    bound: f64,
    of: Of,
    passing: Option<usize>,
}

/// Watches all limits of a mechanism. Looking does not allocate, except when a limit is passed for the first time.
#[derive(Debug)]
pub struct LimitMonitor {
    watched: Vec<Watched>,
    passings: Vec<Passing>,
    slack: f64,
    mechanism: Mechanism,
    loops: Option<Box<LoopMotion>>,
}

impl OnTape for LimitMonitor {
    /// A passing names its limit by its place among those that are watched.
    fn pass(&mut self, tape: &mut Tape<'_>) {
        let place = |k| self.watched.iter().position(|watched| watched.passing == Some(k)).unwrap_or(0);
        let mut passed: Vec<(usize, (f64, f64))> =
            self.passings.iter().enumerate().map(|(k, p)| (place(k), (p.t, p.worst))).collect();
        passed.pass(tape);
        self.passings.clear();
        self.watched.iter_mut().for_each(|watched| watched.passing = None);
        for (place, (t, worst)) in passed {
            let Some(watched) = self.watched.get_mut(place) else { continue };
            watched.passing = Some(self.passings.len());
            let (joint, limit, bound) = (watched.label.clone(), watched.limit, watched.bound);
            self.passings.push(Passing { joint, limit, bound, t, worst });
        }
    }
}

impl LimitMonitor {
    /// A monitor for a mechanism; `on` is false for `--limits off`. Positions may pass by `slack`: where limits are held,
    /// rounding is no passing.
    pub fn new(mechanism: &Mechanism, on: bool, slack: f64) -> Self {
        let mut watched = Vec::new();
        for id in mechanism.tree_joints().filter(|_| on) {
            let joint = mechanism.joint(id);
            let Some(limits) = &joint.limits else { continue };
            let positions_are_rates = joint.kind.nq() == joint.kind.nv();
            for c in 0..joint.kind.nv() {
                let label =
                    if joint.kind.nv() == 1 { joint.name.clone() } else { format!("{}.{c}", joint.name) };
                let mut add = |limit, bound: f64, of| {
                    if bound.is_finite() {
                        watched.push(Watched { label: label.clone(), limit, bound, of, passing: None });
                    }
                };
                if positions_are_rates {
                    let at = Of::Position(mechanism.q_range(id).start + c);
                    add("lower", limits.lower[c], at);
                    add("upper", limits.upper[c], at);
                }
                add("velocity", limits.velocity, Of::Velocity(mechanism.v_range(id).start + c));
            }
            if joint.kind == JointType::Spherical && limits.upper[0].is_finite() {
                let (of, label) = (Of::Turn(mechanism.q_range(id).start), joint.name.clone());
                watched.push(Watched { label, limit: "upper", bound: limits.upper[0], of, passing: None });
            }
        }
        let scalar =
            |kind| !matches!(kind, JointType::Spherical | JointType::Floating | JointType::Continuous);
        for id in mechanism.loop_joints().filter(|_| on) {
            let joint = mechanism.joint(id);
            let Some(limits) = joint.limits.as_ref().filter(|_| scalar(joint.kind)) else { continue };
            for c in 0..joint.kind.nv() {
                for (limit, bound) in [("lower", limits.lower[c]), ("upper", limits.upper[c])] {
                    if bound.is_finite() {
                        let (label, of) = (joint.coordinate_label(c), Of::Loop(id, c, 0.0));
                        watched.push(Watched { label, limit, bound, of, passing: None });
                    }
                }
            }
        }
        let watches_loops = watched.iter().any(|watched| matches!(watched.of, Of::Loop(..)));
        let loops = LoopMotion::new(mechanism).filter(|_| watches_loops);
        Self { watched, passings: Vec::new(), slack, mechanism: mechanism.clone(), loops }
    }

    /// Looks at a state.
    pub fn look(&mut self, t: f64, state: &State) {
        if let Some(loops) = &mut self.loops {
            loops.place(&self.mechanism, &state.q, &state.v);
        }
        for watched in &mut self.watched {
            let value = match (&mut watched.of, &self.loops) {
                (Of::Position(i), _) => state.q[*i],
                (Of::Velocity(i), _) => state.v[*i].abs(),
                (Of::Turn(i), _) => turn(&state.q[*i..*i + 4]).0,
                (Of::Loop(joint, part, near), Some(loops)) => {
                    *near = loops.value(&self.mechanism, *joint, *part, *near);
                    *near
                }
                (Of::Loop(..), None) => continue,
            };
            let excess = if watched.limit == "lower" { watched.bound - value } else { value - watched.bound };
            if excess <= if watched.limit == "velocity" { 0.0 } else { self.slack } {
                continue;
            }
            match watched.passing {
                Some(passing) => {
                    let worst = &mut self.passings[passing].worst;
                    *worst = worst.max(excess);
                }
                None => {
                    watched.passing = Some(self.passings.len());
                    let (joint, limit, bound) = (watched.label.clone(), watched.limit, watched.bound);
                    self.passings.push(Passing { joint, limit, bound, t, worst: excess });
                }
            }
        }
    }

    /// Every limit that was passed, in order of time.
    pub fn passings(&self) -> &[Passing] {
        &self.passings
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastaction::mechanism::{LimitsDescription, MechanismBuilder, PerCoordinate, samples};

    #[test]
    fn a_passing_is_reported_once_with_its_worst() {
        let mut model = samples::chain(1);
        model.joints[0].limits = Some(LimitsDescription {
            lower: Some(PerCoordinate::One(-1.0)),
            upper: Some(PerCoordinate::One(1.0)),
            velocity: Some(10.0),
            ..Default::default()
        });
        let mechanism = MechanismBuilder::from(model).build().unwrap();
        let mut state = mechanism.neutral_state();
        let mut monitor = LimitMonitor::new(&mechanism, true, 0.0);
        for (t, q) in [(0.0, 0.5), (0.1, 1.5), (0.2, 1.75), (0.3, 0.9), (0.4, 1.2)] {
            state.q[0] = q;
            monitor.look(t, &state);
        }
        let [passing] = monitor.passings() else { panic!("{:?}", monitor.passings()) };
        assert_eq!((passing.t, passing.worst, passing.limit), (0.1, 0.75, "upper"));
        state.q[0] = 1.0;
        let mut off = LimitMonitor::new(&mechanism, false, 0.0);
        state.v[0] = -99.0;
        off.look(0.0, &state);
        assert!(off.passings().is_empty());
        monitor.look(0.5, &state);
        assert_eq!(monitor.passings()[1].worst, 89.0);
    }
}
