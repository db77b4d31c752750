//! What a unit of a parameter of the model changes in the equations of a step.
//!
//! A step solves `r(Δ; q, p, u, θ) = 0`, and all of `r` is linear in masses, first moments and inertias, in damping and in
//! stiffness. So `∂r/∂θ` is the residual of a mechanism that has nothing but a unit of θ, moving as the solved step does:
//! the momentum `∂μ = ∂G V` of one body climbs to the root through the rows (2.10), and a spring or damper has the row of its
//! own joint. In velocities, `p = M(q) v` at both ends adds `∂p = ∂M v`:
//!
//! ```text
//! δΔ = −J⁻¹ (∂r/∂θ + (∂M v)^0 on row 0),   δp⁺ = δP^s,   δv⁺ = M⁻¹ (δp⁺ − ∂M v⁺ − …)                  (2.62)
//! ```
//!
//! The columns then go through the same sweeps as those of inputs.

use super::ball::solve_transposed;
use super::lanes::Lanes;
use super::legendre::LegendreSlope;
use super::linearize::InputChange;
use super::residual::at_points;
use super::segments::{GROUND, Motion, Segment};
use super::step::Solver;
use crate::integrator::StepError;
use crate::mechanism::{Mechanism, Parameter};
use crate::spatial::{Inertia, Mat3, Momentum, Vec3, Wrench};

/// A subtree of one body whose inertia is the slope by a parameter.
#[derive(Clone, Copy)]
struct Slope<const N: usize> {
    momentum: Momentum<Lanes<f64, N>>,
    moment: Vec3<Lanes<f64, N>>,
    mass: f64,
}

/// Refuses parameters that the engine can't be differentiated by.
pub(super) fn expect_parameters(mechanism: &Mechanism, parameters: &[Parameter]) -> Result<(), StepError> {
    for parameter in parameters {
        let what = match parameter {
            Parameter::Com(body, _) if mechanism.body(*body).drag > 0.0 => "of a body with drag",
            Parameter::Friction(joint, c) if mechanism.joint(*joint).friction[*c] == 0.0 => {
                "where there is none: its sign is not known"
            }
            _ => continue,
        };
        return Err(StepError::Unsupported {
            integrator: "the derivative of a step of minimal",
            what: format!("parameter `{}` {what}", parameter.name(mechanism)),
            remedy: "leave it out".into(),
        });
    }
    Ok(())
}

impl<const N: usize> Solver<N> {
    /// What a unit of a parameter changes in the rows of the step just solved.
    pub(super) fn parameter_change(&self, mechanism: &Mechanism, parameter: &Parameter) -> InputChange {
        let mut change = InputChange::default();
        if let Some((segment, inertia)) = self.inertia_change(mechanism, parameter) {
            self.climb(segment, &inertia, &mut change);
        } else if let Some((joint, coordinates)) = parameter.coordinates(mechanism) {
            let first = mechanism.v_range(joint).start;
            for segment in self.segments.list.iter().filter(|segment| segment.joint == joint) {
                if coordinates.contains(&(segment.coordinate - first)) {
                    self.coefficient(segment, parameter, &mut change);
                }
            }
        }
        change.rows.retain(|(c, ..)| !self.locked[*c]);
        change
    }

    /// `∂M v` at one end, where velocities are the coordinates.
    pub(super) fn momentum_change(
        &self,
        mechanism: &Mechanism,
        parameter: &Parameter,
        end: Option<&LegendreSlope>,
    ) -> Vec<(usize, f64)> {
        match (self.inertia_change(mechanism, parameter), end) {
            (Some((segment, inertia)), Some(end)) => end.momenta(&self.segments, segment, &inertia),
            _ => Vec::new(),
        }
    }

    /// What a unit of a parameter adds to the inertia of a segment, in its frame.
    fn inertia_change(&self, mechanism: &Mechanism, parameter: &Parameter) -> Option<(usize, Inertia)> {
        let (body, inertia) = parameter.inertia(mechanism)?;
        let at = mechanism.tree().bodies[body.index()];
        let map = self.segments.nodes[at.node?];
        Some((map.segment, inertia.transformed(&at.pose).transformed(&map.pose)))
    }

    /// Rows of the segments from `i` to the root.
    fn climb(&self, mut i: usize, inertia: &Inertia, change: &mut InputChange) {
        let residual = &self.residual;
        let g = Inertia::constant(inertia).transformed(&residual.poses[i]);
        let mut slope =
            Slope { momentum: g.mul(residual.velocities[i]), moment: g.moment, mass: inertia.mass };
        while i != GROUND {
            let segment = &self.segments.list[i];
            let weighted = |x: Vec3<Lanes<f64, N>>| Vec3(x.0.map(|x| x.weighted(&residual.weights)));
            let gravity = Vec3::constant(self.segments.gravity);
            let gamma =
                Wrench::new(weighted(slope.moment.cross(gravity)), weighted(gravity.scale(slope.mass)));
            self.rows_of(segment, slope.momentum, gamma, Lanes::default(), None, change);
            if let Some(origin) = segment.origin {
                let arm = residual.arms[origin];
                slope.momentum.ang += arm.cross(slope.momentum.lin);
                slope.moment += arm.scale(slope.mass);
            }
            i = segment.parent;
        }
    }

    /// The row of a spring, a damper or sliding friction of unit size.
    fn coefficient(&self, segment: &Segment, parameter: &Parameter, change: &mut InputChange) {
        let (c, residual) = (segment.coordinate, &self.residual);
        let (nothing, free) = (Momentum::zero(), Wrench::zero());
        if segment.motion == Motion::Ball {
            let ball = &residual.balls[segment.ball];
            let torque = if let Parameter::Damping(..) = parameter {
                ball.b * Vec3([residual.rates[c], residual.rates[c + 1], residual.rates[c + 2]])
            } else {
                let anchor = self.point.anchors[segment.ball];
                let spread = Mat3(anchor.0.map(|row| row.map(Lanes::splat)));
                ball.phi * (spread * ball.phi).vee()
            };
            return self.rows_of(segment, nothing, free, Lanes::default(), Some(-torque), change);
        }
        let force = match parameter {
            Parameter::Damping(..) => -residual.rates[c],
            Parameter::Stiffness(..) => {
                let start = self.point.base[c] - self.segments.laws[c].rest;
                -(at_points(&self.scheme, self.point.delta[c]) + Lanes::splat(start))
            }
            // Locked rows have no equation, sliding ones a constant force against their motion.
            _ => Lanes::splat(residual.resistance.get(c).map_or(0.0, |f| f.signum() * f64::from(*f != 0.0))),
        };
        self.rows_of(segment, nothing, free, force, None, change);
    }

    /// Rows of one segment under a momentum, an impulse and a force of its own; of balls, a torque in the anchor's axes.
    fn rows_of(
        &self,
        segment: &Segment,
        momentum: Momentum<Lanes<f64, N>>,
        gamma: Wrench<Lanes<f64, N>>,
        force: Lanes<f64, N>,
        torque: Option<Vec3<Lanes<f64, N>>>,
        change: &mut InputChange,
    ) {
        let (c, s, residual) = (segment.coordinate, self.scheme.s, &self.residual);
        let row = |c: usize, force: Lanes<f64, N>| {
            let conjugate = residual.columns[c].dot_momentum(momentum);
            residual.chart_row(&self.scheme, c, conjugate, momentum, gamma, force).0
        };
        if segment.motion != Motion::Ball {
            let row = row(c, force);
            change.rows.extend((0..=s).map(|al| (c, al, row.0[al])));
            return;
        }
        // As (2.20), without the momentum at the start.
        let ball = &residual.balls[segment.ball];
        let push = torque.map_or(Vec3::zero(), |torque| ball.b.tr_mul(torque));
        let rows: [_; 3] = std::array::from_fn(|a| row(c + a, push[a]));
        let after = solve_transposed(&ball.end(&self.scheme).0, Vec3(std::array::from_fn(|a| rows[a].0[s])));
        for j in 0..3 {
            let mut slope = ball.axis_rates[j].dot_momentum(momentum);
            if let Some(torque) = torque {
                slope += torque[j];
            }
            let sum = slope.weighted(&residual.weights) + ball.axes[j].dot(gamma);
            let impulse: f64 = sum.0[..self.scheme.points].iter().sum();
            change.rows.push((c + j, 0, impulse - after[j]));
            change.rows.extend((1..s).map(|al| (c + j, al, rows[j].0[al])));
            change.rows.push((c + j, s, after[j]));
        }
    }
}
