//! Servos: forces that follow a law of length and velocity (1.9), evaluated at every point of the step.
//!
//! The force of a servo is part of the residual and its derivatives are part of the Newton matrix, as those of a spring and a
//! damper: stiff gains are stable at any step. On coordinate `c` with gears `a` of the servos k
//!
//! ```text
//! Q_c = cut(Σ_k a_kc F_k),   ∂Q_c/∂q_b = Σ_k a_kc a_kb ∂F_k/∂ℓ,   ∂Q_c/∂q̇_b = Σ_k a_kc a_kb ∂F_k/∂ℓ̇               (2.60)
//! ```
//!
//! both zero where the force is cut. Servos on one coordinate are in the matrix of the tree; those on several are in `tendon.rs`.

use super::lanes::Lanes;
use super::residual::{Point, Residual, at_points};
use super::scheme::Scheme;
use super::segments::{Motion, Segments, Servo};
use super::wrench::push_wrench;
use crate::mechanism::{LawSlopes, cut};
use crate::scalar::Real;
use crate::spatial::{Vec3, Wrench};

/// Forces and derivatives of the servos where the residual was last evaluated.
#[derive(Clone, Debug)]
pub(crate) struct ServoForces<T, const N: usize> {
    /// Efforts of inputs that are constant over the step, before they are cut; by coordinate, where there is a servo.
    constant: Vec<Lanes<T, N>>,
    /// `∂Q_c/∂q_c` and `∂Q_c/∂q̇_c` by coordinate; zero where there is no servo.
    pub(crate) by_position: Vec<Lanes<f64, N>>,
    pub(crate) by_rate: Vec<Lanes<f64, N>>,
    /// Force of each servo.
    pub(crate) forces: Vec<Lanes<T, N>>,
    /// Its derivatives, before joints cut it.
    pub(crate) slopes: Vec<[LawSlopes; N]>,
    /// By coordinate: where the sum is not cut.
    pub(crate) free: Vec<[bool; N]>,
}

impl<T: Real, const N: usize> ServoForces<T, N> {
    pub(crate) fn new(segments: &Segments) -> Self {
        let n = segments.n;
        Self {
            constant: vec![Lanes::default(); if segments.servos.is_empty() { 0 } else { n }],
            by_position: vec![Lanes::default(); n],
            by_rate: vec![Lanes::default(); n],
            forces: vec![Lanes::default(); segments.servos.len()],
            slopes: vec![[LawSlopes::default(); N]; segments.servos.len()],
            free: vec![[true; N]; if segments.servos.is_empty() { 0 } else { n }],
        }
    }

    /// Takes over what constant inputs do, before it is cut.
    pub(crate) fn keep_constant(&mut self, segments: &Segments, efforts: &[Lanes<T, N>]) {
        for c in &segments.driven {
            self.constant[*c] = Lanes::default();
        }
        if !segments.servos.is_empty() {
            for a in &segments.actuators {
                self.constant[a.coordinate] = efforts[a.coordinate];
            }
        }
    }

    /// Forces at the point, summed into `efforts`. Does not allocate.
    #[inline(never)]
    pub(crate) fn evaluate(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        point: &Point<T, N>,
        rates: &[Lanes<T, N>],
        efforts: &mut [Lanes<T, N>],
    ) {
        for c in segments.driven.iter().copied() {
            efforts[c] = self.constant[c];
            self.by_position[c] = Lanes::default();
            self.by_rate[c] = Lanes::default();
        }
        for (k, servo) in segments.servos.iter().enumerate() {
            let Servo { input, law, entries } = servo;
            let (mut length, mut velocity) = (Lanes::<T, N>::default(), Lanes::<T, N>::default());
            for (c, gear) in entries.iter().copied() {
                length += (at_points(scheme, point.delta[c]) + Lanes::splat(point.base[c])) * gear;
                velocity += rates[c] * gear;
            }
            for g in 0..scheme.points {
                let (x, l, v) = (point.u[*input].0[g], length.0[g], velocity.0[g]);
                let force = law.force(x, l, v);
                let slopes = law.slopes(x.value(), l.value(), v.value());
                self.forces[k].0[g] = force;
                self.slopes[k][g] = slopes;
                for (c, gear) in entries.iter().copied() {
                    efforts[c].0[g] += force * gear;
                    if entries.len() > 1 {
                        continue;
                    }
                    self.by_position[c].0[g] += gear * gear * slopes.by_length;
                    self.by_rate[c].0[g] += gear * gear * slopes.by_velocity;
                }
            }
        }
        for c in segments.driven.iter().copied() {
            for g in 0..scheme.points {
                let (force, free) = cut(efforts[c].0[g], segments.laws[c].effort);
                efforts[c].0[g] = force;
                self.free[c][g] = free;
                if !free {
                    self.by_position[c].0[g] = 0.0;
                    self.by_rate[c].0[g] = 0.0;
                }
            }
        }
    }
}

/// Work of all inputs over the step, by the sum that the action is taken with.
pub(crate) fn input_work<const N: usize>(
    segments: &Segments,
    scheme: &Scheme<N>,
    point: &Point<f64, N>,
    residual: &Residual<f64, N>,
) -> f64 {
    let mut power = Lanes::<f64, N>::default();
    for segment in segments.list.iter().filter(|segment| segment.forced) {
        let c = segment.coordinate;
        if segment.motion == Motion::Ball {
            let ball = &residual.balls[segment.ball];
            let rates = Vec3([residual.rates[c], residual.rates[c + 1], residual.rates[c + 2]]);
            let omega = ball.phi.tr_mul(ball.b * rates);
            for j in 0..3 {
                power += residual.efforts[c + j] * omega[j];
            }
        } else {
            power += residual.efforts[c] * residual.rates[c];
        }
    }
    for push in &segments.pushes {
        let wrench = push_wrench(&residual.poses[push.segment], push);
        power += residual.velocities[push.segment].dot(wrench) * point.u[push.input];
    }
    for thruster in &segments.thrusters {
        let wrench = residual.poses[thruster.segment].wrench(Wrench::constant(thruster.wrench));
        power += residual.velocities[thruster.segment].dot(wrench) * point.u[thruster.input];
    }
    (0..scheme.points).map(|g| power.0[g] * residual.weights[g]).sum()
}
