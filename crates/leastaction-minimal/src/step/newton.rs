//! Newton's iteration: the exact matrix, by sweeps or written out, kept while it contracts.

use super::{BACKTRACKS, Failure, SLOW, Solver};
use crate::options::MinimalOptions;
use crate::residual::Evaluated;
use crate::single;

impl<const N: usize> Solver<N> {
    /// Derivatives of body wrenches at the point.
    pub(crate) fn differentiate_forces(&mut self) {
        self.forces.differentiate(
            &self.segments,
            self.scheme.s,
            &self.point,
            &self.residual,
            &mut self.derivatives,
        );
    }

    /// Factors the Newton matrix at the point.
    pub(crate) fn factor_here(&mut self) -> Result<(), Failure> {
        self.differentiate_forces();
        let Self { segments, scheme, forces, derivatives, point, residual, factor, .. } = self;
        factor
            .factor(Evaluated { segments, scheme, forces, derivatives, point, residual })
            .map_err(|segment| Failure::Singular { segment, what: "Newton pivot" })?;
        let (s, factor, memory) = (self.scheme.s, &self.factor, &mut self.memory);
        if self.ties.as_mut().is_some_and(|ties| !ties.tie_newton(s, factor, memory)) {
            return Err(Failure::Singular { segment: 0, what: "matrix of the couplings" });
        }
        if !self.tendons.is_empty() {
            let Self { segments, scheme, residual, factor, memory, tendons, rhs, .. } = self;
            tendons.prepare(segments, scheme, residual, rhs, |r, out| factor.solve(memory, r, out));
        }
        let Self { held, segments, scheme, residual, factor, memory, tendons, ties, .. } = self;
        if let Some(held) = held.as_mut().filter(|held| held.acts()) {
            held.prepare_newton(scheme.s, ties.as_deref_mut(), |r, out| {
                factor.solve(memory, r, out);
                if !tendons.is_empty() {
                    tendons.correct(segments, scheme, residual, out);
                }
            });
        }
        Ok(())
    }

    /// `−J⁻¹ r` with the factorisation at hand into `next_direction`; returns its largest entry.
    pub(crate) fn newton_direction(&mut self) -> f64 {
        let s = self.scheme.s;
        for (rhs, row) in self.rhs.chunks_exact_mut(s).zip(&self.residual.rows) {
            rhs.copy_from_slice(&row.0[..s]);
        }
        self.factor.solve(&mut self.memory, &self.rhs, &mut self.next_direction);
        if let Some(ties) = &mut self.ties {
            ties.correct_newton(s, &mut self.next_direction);
        }
        self.couple();
        largest(&self.next_direction)
    }

    /// Adds what servos on several joints couple to the direction at hand.
    fn couple(&mut self) {
        if !self.tendons.is_empty() {
            let Self { segments, scheme, residual, tendons, next_direction, .. } = self;
            tendons.correct(segments, scheme, residual, next_direction);
        }
        if let Some(held) = self.held.as_mut().filter(|held| held.acts()) {
            held.correct_newton(self.scheme.s, &mut self.next_direction);
        }
    }

    /// Factors the Newton matrix at the point, written out where that is cheaper.
    fn factor_newton(&mut self) -> Result<(), Failure> {
        let Some(dense) = &mut self.dense else { return self.factor_here() };
        single::factor_dense(dense, &self.segments, &self.scheme, &self.residual)
            .map_err(|segment| Failure::Singular { segment, what: "Newton pivot" })?;
        if !self.tendons.is_empty() {
            let Self { segments, scheme, residual, tendons, rhs, .. } = self;
            tendons.prepare(segments, scheme, residual, rhs, |r, out| dense.solve(r, out));
        }
        let Self { held, segments, scheme, residual, dense, tendons, .. } = self;
        if let Some(held) = held.as_mut().filter(|held| held.acts()) {
            held.prepare_newton(scheme.s, None, |r, out| {
                if let Some(dense) = dense {
                    dense.solve(r, out);
                }
                if !tendons.is_empty() {
                    tendons.correct(segments, scheme, residual, out);
                }
            });
        }
        Ok(())
    }

    /// As [`newton_direction`](Self::newton_direction), with whichever factorisation there is.
    fn next_newton_direction(&mut self) -> f64 {
        let s = self.scheme.s;
        let Some(dense) = &self.dense else { return self.newton_direction() };
        for (rhs, row) in self.rhs.chunks_exact_mut(s).zip(&self.residual.rows) {
            rhs.copy_from_slice(&row.0[..s]);
        }
        dense.solve(&self.rhs, &mut self.next_direction);
        self.couple();
        largest(&self.next_direction)
    }

    /// Newton with the natural monotonicity test; `chord` keeps a factorisation while it contracts well.
    pub(super) fn newton(
        &mut self,
        options: &MinimalOptions,
        chord: bool,
        iterations: &mut u32,
    ) -> Result<f64, Failure> {
        let s = self.scheme.s;
        self.evaluate()?;
        // What is rounded to what in a step nearby is the same.
        let near = std::mem::replace(&mut self.newton_at_hand, true);
        if !near {
            self.update_scale();
            self.factor_newton()?;
        }
        let mut stopping = self.stopping(options);
        // A direction that must be shortened tells that the guess is not in the region of one root: what is found may
        // be another one, with any energy. Where halves are allowed they are the better answer.
        let backtracks = if options.halve { 1 } else { BACKTRACKS };
        let mut norm = self.next_newton_direction();
        let mut merit = self.merit();
        if near && stopping.accepts(merit, norm, f64::INFINITY) {
            return self.finish_newton(iterations);
        }
        let mut expected = !near && stopping.foresees_at_once(norm);
        for _ in 0..options.max_iterations {
            if !norm.is_finite() {
                return Err(Failure::NotFinite);
            }
            std::mem::swap(&mut self.direction, &mut self.next_direction);
            self.guess.copy_from_slice(&self.point.delta);
            if let Some(held) = &mut self.held {
                held.commit();
            }
            *iterations += 1;
            let mut t = 1.0;
            let mut accepted = None;
            for _ in 0..backtracks {
                for (c, delta) in self.point.delta.iter_mut().enumerate() {
                    for ga in 1..=s {
                        delta.0[ga] = self.guess[c].0[ga] + t * self.direction[c * s + ga - 1];
                    }
                }
                if let Some(held) = &mut self.held {
                    held.walk(t);
                }
                if self.evaluate().is_ok() {
                    merit = self.merit();
                    if t == 1.0 && expected && stopping.holds(merit) {
                        return Ok(merit);
                    }
                    let next = self.next_newton_direction();
                    if t == 1.0 && stopping.accepts(merit, next, norm) {
                        return if stopping.is_settled(next) {
                            Ok(merit)
                        } else {
                            self.finish_newton(iterations)
                        };
                    }
                    // Near the rounding floor the test compares noise.
                    if stopping.is_noise(merit, next) || next <= (1.0 - 0.25 * t) * norm {
                        accepted = Some(next);
                        break;
                    }
                }
                t *= 0.5;
            }
            let Some(next) = accepted else {
                return Err(Failure::NotConverged { iterations: *iterations, residual: merit });
            };
            let contracts = next <= SLOW * norm && t == 1.0;
            expected = contracts && stopping.foresees(next, norm);
            if chord && contracts {
                norm = next;
            } else {
                self.factor_newton()?;
                norm = self.next_newton_direction();
            }
        }
        Err(Failure::NotConverged { iterations: *iterations, residual: merit })
    }

    /// Takes the last direction. As in the cheap iteration: it removes most of what is left.
    fn finish_newton(&mut self, iterations: &mut u32) -> Result<f64, Failure> {
        let s = self.scheme.s;
        for (delta, step) in self.point.delta.iter_mut().zip(self.next_direction.chunks_exact(s)) {
            for (x, d) in delta.0[1..=s].iter_mut().zip(step) {
                *x += d;
            }
        }
        if let Some(held) = &mut self.held {
            held.add_next();
        }
        *iterations += 1;
        self.evaluate()?;
        Ok(self.merit())
    }
}

/// Largest magnitude; infinite if one is not a number.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0f64, |m, x| if x.is_nan() { f64::INFINITY } else { m.max(x.abs()) })
}
