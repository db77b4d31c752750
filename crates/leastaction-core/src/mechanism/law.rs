//! [`InputLaw`]: how the value of an input becomes a force.
//!
//! ```text
//! F = clamp(g(ℓ, ℓ̇) x + b(ℓ, ℓ̇)),   g = g₀ + g₁ ℓ + g₂ ℓ̇,   b = b₀ + b₁ ℓ + b₂ ℓ̇                              (1.9)
//! ```
//!
//! `x` is the control within its range or, where the actuator has a state of its own, that state. `ℓ = Σ gear q` over the
//! coordinates that the input acts on, and the generalised force on each of them is `gear F`. A position servo is
//! `g₀ = kp, b₁ = −kp, b₂ = −kd`. The force is cut at its range and at the torque–speed line of the motor, case by case,
//! so that its derivatives are exact within each case.

use crate::scalar::Real;
use crate::scalar::elementary;

/// No limit on either side.
const FREE: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

/// The law of one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputLaw {
    /// Factor of the control: constant, per length, per velocity.
    pub gain: [f64; 3],
    /// Force without control: constant, per length, per velocity.
    pub bias: [f64; 3],
    /// Range that the control is cut at.
    pub control_range: [f64; 2],
    /// Range that the force is cut at.
    pub force_range: [f64; 2],
    /// Torque at rest and speed without load of the motor: it gives at most `stall (1 − ℓ̇/free)` forwards and as much,
    /// mirrored, backwards.
    pub speed_line: Option<SpeedLine>,
    /// The actuator's own state.
    pub activation: Activation,
    /// Range that this state is kept in.
    pub activation_range: [f64; 2],
}

/// Torque–speed line of a motor, at the actuator (before the gear).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedLine {
    /// Largest force at rest.
    pub stall: f64,
    /// Speed at which no force is left.
    pub free: f64,
}

/// Dynamics of an actuator's own state `a` under the control `c`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Activation {
    /// No state: the control itself acts.
    #[default]
    None,
    /// `ȧ = c`.
    Integrator,
    /// `ȧ = (c − a)/τ`.
    Filter {
        /// Time constant τ.
        time: f64,
    },
}

/// A force and its derivatives.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LawSlopes {
    /// By the length.
    pub by_length: f64,
    /// By the velocity.
    pub by_velocity: f64,
    /// By the value that acts: control or state.
    pub by_input: f64,
}

impl Default for InputLaw {
    fn default() -> Self {
        Self::PLAIN
    }
}

impl InputLaw {
    /// The force is the input.
    pub const PLAIN: Self = Self {
        gain: [1.0, 0.0, 0.0],
        bias: [0.0; 3],
        control_range: FREE,
        force_range: FREE,
        speed_line: None,
        activation: Activation::None,
        activation_range: FREE,
    };

    /// True if the force depends on where the mechanism is or how it moves.
    #[must_use]
    pub fn is_servo(&self) -> bool {
        self.gain[1..] != [0.0; 2] || self.bias[1..] != [0.0; 2] || self.speed_line.is_some()
    }

    /// True if the actuator has a state of its own.
    #[must_use]
    pub fn is_activated(&self) -> bool {
        self.activation != Activation::None
    }

    /// The value that acts: the control within its range, or the state as it is.
    #[inline]
    fn acting<T: Real>(&self, x: T) -> T {
        if self.is_activated() { x } else { cut(x, self.control_range).0 }
    }

    /// The force (1.9) under the control, or the state of the actuator if it has one, `x`.
    #[inline]
    pub fn force<T: Real>(&self, x: T, length: T, velocity: T) -> T {
        let along = |c: &[f64; 3]| T::from_f64(c[0]) + length * c[1] + velocity * c[2];
        let force = along(&self.gain) * self.acting(x) + along(&self.bias);
        let force = match self.speed_line {
            None => force,
            Some(line) => {
                let (lower, upper) = line.bounds(velocity);
                if force.value() > upper.value() {
                    upper
                } else if force.value() < lower.value() {
                    lower
                } else {
                    force
                }
            }
        };
        cut(force, self.force_range).0
    }

    /// The derivatives of [`force`](Self::force), one-sided where it is being cut.
    #[inline]
    #[must_use]
    pub fn slopes(&self, x: f64, length: f64, velocity: f64) -> LawSlopes {
        let along = |c: &[f64; 3]| c[0] + length * c[1] + velocity * c[2];
        let acting = self.acting(x);
        let mut force = along(&self.gain) * acting + along(&self.bias);
        let free = self.is_activated() || cut(x, self.control_range).1;
        let mut slopes = LawSlopes {
            by_length: self.gain[1] * acting + self.bias[1],
            by_velocity: self.gain[2] * acting + self.bias[2],
            by_input: if free { along(&self.gain) } else { 0.0 },
        };
        if let Some(line) = self.speed_line {
            let (lower, upper) = line.bounds(velocity);
            if force > upper || force < lower {
                force = if force > upper { upper } else { lower };
                slopes = LawSlopes { by_velocity: -line.stall / line.free, ..LawSlopes::default() };
                if velocity.abs() >= line.free && force == 0.0 {
                    slopes.by_velocity = 0.0;
                }
            }
        }
        if cut(force, self.force_range).1 { slopes } else { LawSlopes::default() }
    }

    /// Mean over a step of length `h` and value after it of the state that is `a` before it, under the control `c`. Both are
    /// exact: the state depends on the control alone, which is held.
    #[must_use]
    pub fn advance(&self, a: f64, c: f64, h: f64) -> (f64, f64) {
        let c = cut(c, self.control_range).0;
        let [low, high] = self.activation_range;
        let a = a.clamp(low, high);
        match self.activation {
            Activation::None => (c, a),
            Activation::Integrator => {
                let bound = if c < 0.0 { low } else { high };
                let end = a + c * h;
                // Until it meets its bound, and from there on.
                let moving = if c == 0.0 { h } else { ((bound - a) / c).clamp(0.0, h) };
                let met = a + c * moving;
                let mean = if moving < h {
                    (0.5 * (a + met) * moving + bound * (h - moving)) / h
                } else {
                    0.5 * (a + end)
                };
                (mean, end.clamp(low, high))
            }
            Activation::Filter { time } => {
                let after = |t: f64| if time > 0.0 { c + (a - c) * elementary::exp(-t / time) } else { c };
                let bound = c.clamp(low, high);
                let end = after(h);
                if bound == c || (end >= low && end <= high) {
                    // (1/h)∫(c + (a − c) e^{−t/τ}) dt.
                    let z = if time > 0.0 { h / time } else { f64::INFINITY };
                    let share = if z > 0.0 { -elementary::exp_m1(-z) / z } else { 1.0 };
                    return (c + (a - c) * share, end);
                }
                let moving = if time > 0.0 {
                    (time * elementary::ln((a - c) / (bound - c))).clamp(0.0, h)
                } else {
                    0.0
                };
                let integral =
                    c * moving - (a - c) * time * elementary::exp_m1(-moving / time.max(f64::MIN_POSITIVE));
                ((integral + bound * (h - moving)) / h, bound)
            }
        }
    }

    /// Derivatives of [`advance`](Self::advance) where nothing is cut: of mean and end, each by state and control.
    #[must_use]
    pub fn advance_slopes(&self, h: f64) -> [[f64; 2]; 2] {
        match self.activation {
            Activation::None => [[0.0, 1.0], [1.0, 0.0]],
            Activation::Integrator => [[1.0, 0.5 * h], [1.0, h]],
            Activation::Filter { time } => {
                let z = if time > 0.0 { h / time } else { f64::INFINITY };
                let (share, left) = (-elementary::exp_m1(-z) / z, elementary::exp(-z));
                [[share, 1.0 - share], [left, 1.0 - left]]
            }
        }
    }
}

impl SpeedLine {
    /// Least and largest force at a velocity.
    fn bounds<T: Real>(self, velocity: T) -> (T, T) {
        let zero = T::zero();
        let drop = velocity * (self.stall / self.free);
        let upper = T::from_f64(self.stall) - drop;
        let lower = -T::from_f64(self.stall) - drop;
        let upper = if upper.value() < 0.0 { zero } else { upper };
        let lower = if lower.value() > 0.0 { zero } else { lower };
        (lower, upper)
    }
}

/// `x` within a range, and whether it was strictly inside.
#[inline]
pub fn cut<T: Real>(x: T, [low, high]: [f64; 2]) -> (T, bool) {
    if x.value() >= high {
        (T::from_f64(high), false)
    } else if x.value() <= low {
        (T::from_f64(low), false)
    } else {
        (x, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::Dual;

    fn laws() -> Vec<InputLaw> {
        let servo = InputLaw { gain: [80.0, 0.3, -0.2], bias: [1.0, -80.0, -3.0], ..InputLaw::PLAIN };
        let line = Some(SpeedLine { stall: 20.0, free: 5.0 });
        vec![
            InputLaw::PLAIN,
            servo,
            InputLaw { force_range: [-10.0, 4.0], ..servo },
            InputLaw { control_range: [-0.5, 0.25], ..servo },
            InputLaw { speed_line: line, ..servo },
            InputLaw { speed_line: line, force_range: [-12.0, 15.0], ..servo },
        ]
    }

    #[test]
    fn slopes_are_the_derivatives_of_the_force() {
        type D = Dual<f64, 3>;
        for (n, law) in laws().into_iter().enumerate() {
            for k in 0..200 {
                let at = |i: u32| {
                    ((f64::from(k * 7 + i * 31) * 0.618_034).fract() - 0.5) * [1.4, 1.1, 16.0][i as usize]
                };
                let mut x: [D; 3] = [0, 1, 2].map(|i| D::constant(at(i)));
                (0..3).for_each(|i| x[i].eps[i] = 1.0);
                let force = law.force(x[0], x[1], x[2]);
                let slopes = law.slopes(at(0), at(1), at(2));
                let found = [slopes.by_input, slopes.by_length, slopes.by_velocity];
                for i in 0..3 {
                    assert!((force.eps[i] - found[i]).abs() < 1e-12, "{n} {k} {i}: {force:?} {slopes:?}");
                }
            }
        }
    }

    #[test]
    fn activation_is_the_solution_of_its_equation() {
        // Against small steps of the equation itself.
        let filter = Activation::Filter { time: 0.03 };
        for (activation, range) in [
            (Activation::Integrator, [-1.0, 1.0]),
            (Activation::Integrator, [f64::NEG_INFINITY, f64::INFINITY]),
            (filter, [-0.4, 0.4]),
            (filter, [f64::NEG_INFINITY, f64::INFINITY]),
        ] {
            let law = InputLaw { activation, activation_range: range, ..InputLaw::PLAIN };
            for (a, c) in [(0.1, 3.0), (-0.3, -20.0), (0.35, 0.2), (0.0, 0.0)] {
                let (mean, end) = law.advance(a, c, 0.05);
                let (mut x, mut sum, n) = (a, 0.0, 200_000);
                for _ in 0..n {
                    let rate = match activation {
                        Activation::Filter { time } => (c - x) / time,
                        _ => c,
                    };
                    sum += x;
                    x = (x + rate * 0.05 / f64::from(n)).clamp(range[0], range[1]);
                }
                // The error of the small steps.
                let bound = 2e-6 * (10.0 + c.abs());
                assert!((end - x).abs() < bound, "{activation:?} {a} {c}: {end} {x}");
                assert!((mean - sum / f64::from(n)).abs() < bound, "{activation:?} {a} {c}: {mean}");
            }
        }
        let (mean, end) = InputLaw { activation: Activation::Filter { time: 0.0 }, ..InputLaw::PLAIN }
            .advance(0.2, 0.7, 0.01);
        assert_eq!((mean, end), (0.7, 0.7));
    }
}
