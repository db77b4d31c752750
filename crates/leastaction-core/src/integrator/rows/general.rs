//! [`General`]: rows of several coordinates, with their gradients where the mechanism is.
//!
//! First those that always act, the *hard* ones: followers, then what loop joints hold. Behind them the rows that are locked
//! at times and are not one coordinate: tendons, whole turns of balls, coordinates of loop joints; with loops, all rows.

use crate::dynamics::LoopMotion;
use crate::mechanism::{Mechanism, Row, RowOf, Scalar, turn};
use crate::scalar::elementary;

use super::RowState;

/// Gradients of the general rows at a position, and their own accelerations.
#[derive(Clone, Debug)]
pub(super) struct General {
    pub(super) gradients: Vec<Vec<(usize, f64)>>,
    /// What `G a` must be while velocities are as they are.
    pub(super) drift: Vec<f64>,
    /// What `G v` must be: zero but for driven joints.
    pub(super) rates: Vec<f64>,
    /// When the mechanism is where it is.
    pub(super) time: f64,
    /// Number of rows that always act.
    pub(super) hard: usize,
    /// General row of each row, if it is one.
    pub(super) of_row: Vec<Option<usize>>,
    loops: Option<Box<LoopMotion>>,
}

impl General {
    pub(super) fn new(mechanism: &Mechanism) -> Self {
        let loops = LoopMotion::new(mechanism);
        let mut gradients: Vec<Vec<(usize, f64)>> = mechanism
            .followers()
            .iter()
            .map(|f| std::iter::once((f.at.v, 1.0)).chain(f.law.leaders().map(|l| (l.v, 0.0))).collect())
            .collect();
        let all = || (0..mechanism.nv()).map(|c| (c, 0.0)).collect::<Vec<_>>();
        gradients.extend(loops.iter().flat_map(|loops| loops.held()).map(|_| all()));
        let hard = gradients.len();
        let mut of_row = Vec::new();
        for row in mechanism.rows() {
            let gradient = match &row.of {
                RowOf::Coordinate { .. } if loops.is_none() => None,
                RowOf::Coordinate { at, .. } => Some(vec![(at.v, 1.0)]),
                RowOf::Tendon { terms, .. } => Some(terms.iter().map(|(at, a)| (at.v, *a)).collect()),
                RowOf::Turn { at, .. } => Some((at.v..at.v + 3).map(|c| (c, 0.0)).collect()),
                RowOf::Loop { .. } => Some(all()),
            };
            of_row.push(gradient.map(|gradient| {
                gradients.push(gradient);
                gradients.len() - 1
            }));
        }
        let zero = || vec![0.0; gradients.len()];
        Self { drift: zero(), rates: zero(), time: 0.0, gradients, hard, of_row, loops }
    }

    pub(super) fn has_loops(&self) -> bool {
        self.loops.is_some()
    }

    /// The coordinate of a row that the sweep locks.
    pub(super) fn swept(&self, k: usize, row: &Row) -> Option<Scalar> {
        if self.of_row[k].is_some() { None } else { row.coordinate() }
    }

    /// Takes a state. Does not allocate.
    pub(super) fn place(&mut self, mechanism: &Mechanism, q: &[f64], v: &[f64]) {
        for (f, follower) in mechanism.followers().iter().enumerate() {
            let gradient = &mut self.gradients[f];
            let (mut k, mut drift) = (1, 0.0);
            follower.law.slopes(q, |leader, slope| {
                gradient[k].1 = -slope;
                k += 1;
                drift = v[leader.v] * v[leader.v];
            });
            self.drift[f] = drift * follower.law.curvature(q);
            if let Some(motion) = follower.law.motion() {
                [_, self.rates[f], self.drift[f]] = motion.at(self.time);
            }
        }
        if let Some(loops) = &mut self.loops {
            loops.place(mechanism, q, v);
            let first = mechanism.followers().len();
            for (g, row) in loops.held().enumerate() {
                set(&mut self.gradients[first + g], &row.gradient);
                self.drift[first + g] = -row.drift;
            }
        }
        for (k, row) in mechanism.rows().iter().enumerate() {
            let Some(g) = self.of_row[k] else { continue };
            match (&row.of, &self.loops) {
                (RowOf::Turn { at, .. }, _) => {
                    let (angle, axis) = turn(&q[at.q..at.q + 4]);
                    set(&mut self.gradients[g], &axis);
                    self.drift[g] = -turn_drift(angle, axis, &v[at.v..at.v + 3]);
                }
                (RowOf::Loop { joint, part, .. }, Some(loops)) => {
                    let row = loops.coordinate(*joint, *part);
                    set(&mut self.gradients[g], &row.gradient);
                    self.drift[g] = -row.drift;
                }
                _ => {}
            }
        }
    }

    /// Values and rates of all rows at a state; angles of loop joints are those nearest to where the rows were. Does not allocate.
    pub(super) fn measure(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        value: &mut [f64],
        rate: &mut [f64],
    ) {
        if let Some(loops) = &mut self.loops {
            loops.place(mechanism, q, v);
        }
        for (k, row) in mechanism.rows().iter().enumerate() {
            (value[k], rate[k]) = match (&row.of, &self.loops) {
                (RowOf::Coordinate { at, .. }, _) => (q[at.q], v[at.v]),
                (RowOf::Tendon { terms, .. }, _) => {
                    terms.iter().fold((0.0, 0.0), |(x, y), (at, a)| (x + a * q[at.q], y + a * v[at.v]))
                }
                (RowOf::Turn { at, .. }, _) => {
                    let (angle, axis) = turn(&q[at.q..at.q + 4]);
                    (angle, (0..3).map(|c| axis[c] * v[at.v + c]).sum())
                }
                (RowOf::Loop { joint, part, .. }, Some(loops)) => {
                    let gradient = &loops.coordinate(*joint, *part).gradient;
                    let rate = gradient.iter().zip(v).map(|(g, v)| g * v).sum();
                    (loops.value(mechanism, *joint, *part, states[k].hold), rate)
                }
                (RowOf::Loop { .. }, None) => (f64::NAN, f64::NAN),
            };
        }
    }

    /// What a general row is to be, where `target` says it by rows; zero for hard ones.
    pub(super) fn row_target(&self, g: usize, target: &[f64]) -> f64 {
        if g < self.hard {
            return 0.0;
        }
        self.of_row.iter().position(|of| *of == Some(g)).map_or(0.0, |k| target[k])
    }

    pub(super) fn dot(&self, g: usize, x: &[f64]) -> f64 {
        self.gradients[g].iter().map(|(c, a)| a * x[*c]).sum()
    }

    /// Rate of a row at velocities `x` where the mechanism was last placed.
    pub(super) fn rate(&self, k: usize, row: &Row, x: &[f64]) -> f64 {
        match (self.of_row[k], row.coordinate()) {
            (Some(g), _) => self.dot(g, x),
            (None, Some(at)) => x[at.v],
            (None, None) => 0.0,
        }
    }

    /// Acceleration of a row where the mechanism was last placed.
    pub(super) fn acceleration(&self, k: usize, row: &Row, a: &[f64]) -> f64 {
        self.rate(k, row, a) - self.of_row[k].map_or(0.0, |g| self.drift[g])
    }

    /// Adds `x` times a row's gradient to generalised forces.
    pub(super) fn add_force(&self, k: usize, row: &Row, x: f64, forces: &mut [f64]) {
        match (self.of_row[k], row.coordinate()) {
            (Some(g), _) => self.gradients[g].iter().for_each(|(c, a)| forces[*c] += a * x),
            (None, Some(at)) => forces[at.v] += x,
            (None, None) => {}
        }
    }
}

fn set(gradient: &mut [(usize, f64)], values: &[f64]) {
    gradient.iter_mut().zip(values).for_each(|(to, x)| to.1 = *x);
}

/// Second derivative of a ball's whole angle at constant angular velocity: `(|ω|² − (n·ω)²) cot(θ/2) / 2`, as distances on a
/// sphere have it.
fn turn_drift(angle: f64, axis: [f64; 3], w: &[f64]) -> f64 {
    let along: f64 = (0..3).map(|c| axis[c] * w[c]).sum();
    let across: f64 = w.iter().map(|w| w * w).sum::<f64>() - along * along;
    let (s, c) = elementary::sin_cos(0.5 * angle);
    if s > 0.0 { 0.5 * across.max(0.0) * c / s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lie::so3;
    use crate::spatial::{Quat, Vec3};

    #[test]
    fn the_whole_angle_changes_as_its_gradient_and_its_drift_say() {
        let q = Quat { w: 0.7, v: Vec3([0.3, -0.5, 0.4]) }.normalized();
        let w = Vec3([0.4, 1.1, -0.7]);
        let at = |t: f64| {
            let (angle, axis) = turn(&(q * so3::exp(w * t)).to_array());
            (angle, axis.iter().zip(&w.0).map(|(a, w)| a * w).sum::<f64>())
        };
        let ((_, rate), e) = (at(0.0), 1e-5);
        let (angle, axis) = turn(&q.to_array());
        assert!(((at(e).0 - at(-e).0) / (2.0 * e) - rate).abs() < 1e-9);
        assert!(((at(e).1 - at(-e).1) / (2.0 * e) - turn_drift(angle, axis, &w.0)).abs() < 1e-9);
    }
}
