//! [`LimitMonitor`]: notices when a joint passes a limit.

use leastaction::mechanism::{Mechanism, State};
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

    /// For machines.
    pub fn to_json(&self) -> Value {
        json!({"joint": self.joint, "limit": self.limit, "bound": self.bound, "t": self.t, "worst": self.worst})
    }
}

/// One bound of one coordinate.
#[derive(Debug)]
struct Watched {
    label: String,
    limit: &'static str,
    bound: f64,
    index: usize,
    passing: Option<usize>,
}

/// Watches all limits of a mechanism. Looking does not allocate, except when a limit is passed for the first time.
#[derive(Debug)]
pub struct LimitMonitor {
    watched: Vec<Watched>,
    passings: Vec<Passing>,
    slack: f64,
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
                let mut add = |limit, bound: f64, index| {
                    if bound.is_finite() {
                        watched.push(Watched { label: label.clone(), limit, bound, index, passing: None });
                    }
                };
                if positions_are_rates {
                    add("lower", limits.lower[c], mechanism.q_range(id).start + c);
                    add("upper", limits.upper[c], mechanism.q_range(id).start + c);
                }
                add("velocity", limits.velocity, mechanism.v_range(id).start + c);
            }
        }
        Self { watched, passings: Vec::new(), slack }
    }

    /// Looks at a state.
    pub fn look(&mut self, t: f64, state: &State) {
        for watched in &mut self.watched {
            let excess = match watched.limit {
                "lower" => watched.bound - state.q[watched.index],
                "upper" => state.q[watched.index] - watched.bound,
                _ => state.v[watched.index].abs() - watched.bound,
            };
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
