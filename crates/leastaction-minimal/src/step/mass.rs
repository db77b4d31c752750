//! The iteration with the mass matrix in place of the Newton matrix: one O(n) factorisation a step, cheap directions.

use super::{Failure, MASS_ITERATIONS, SLOW, Solver};
use crate::lanes::Lanes;
use crate::mass_factor::{balance_balls, mass_increment};
use crate::options::MinimalOptions;
use crate::single;

impl<const N: usize> Solver<N> {
    /// Columns of the rows that are held, for the mass matrix just factored; false if none is.
    pub(super) fn hold_mass(&mut self) -> bool {
        let Some(mut held) = self.held.take_if(|held| held.acts()) else { return false };
        held.measure(0, &self.point.base, &self.point.anchors, |_, _| 0.0);
        let Self { segments, mass, scalar_memory, ties, multipliers, .. } = self;
        let ties = ties.as_deref();
        held.prepare_mass(segments.n, ties, |x| {
            mass.solve(segments, scalar_memory, x);
            if let Some(ties) = ties {
                ties.correct(&mut multipliers.0, x);
            }
        });
        self.held = Some(held);
        true
    }

    /// `δ = −(C ⊗ M)⁻¹ r` (2.30); returns its largest entry.
    fn mass_direction(&mut self) -> f64 {
        let s = self.scheme.s;
        if N == 2 {
            self.mass_direction_of_one();
        } else {
            self.mass_direction_of_nodes(s);
        }
        let mut worst = 0.0;
        for row in &mut self.lanes {
            *row = mass_increment(&self.scheme, self.residual.h, *row, &mut worst);
        }
        if let Some(held) = self.held.as_mut().filter(|held| held.acts()) {
            held.correct_mass(&self.scheme, self.residual.h, &mut self.lanes);
            worst = self.lanes.iter().flat_map(|x| x.0).fold(0.0, |m: f64, x| m.max(x.abs()));
        }
        worst
    }

    /// `M⁻¹ r` of one unknown node, in plain numbers.
    fn mass_direction_of_one(&mut self) {
        for (x, row) in self.rhs.iter_mut().zip(&self.residual.rows) {
            *x = row.0[0];
        }
        single::solve(&self.mass, &self.segments, &mut self.scalar_memory, &mut self.rhs);
        if let Some(ties) = &self.ties {
            ties.correct(&mut self.multipliers.0, &mut self.rhs);
        }
        for (lanes, x) in self.lanes.iter_mut().zip(&self.rhs) {
            *lanes = Lanes::default();
            lanes.0[0] = *x;
        }
    }

    /// `M⁻¹ r` of all unknown nodes side by side.
    fn mass_direction_of_nodes(&mut self, s: usize) {
        // Lanes of rows that are no unknowns stay zero; the ends of balls are no rows.
        self.lanes.copy_from_slice(&self.residual.rows);
        for row in &mut self.lanes {
            row.0[s..].fill(0.0);
        }
        let rows: &mut [Lanes<f64, N>] = &mut self.lanes;
        balance_balls(&self.segments, rows);
        self.mass.solve(&self.segments, &mut self.lane_memory, rows);
        if let Some(ties) = &self.ties {
            ties.correct(&mut self.multipliers.1, rows);
        }
    }

    /// The mass-matrix policy: one O(n) factorisation, cheap iterations.
    pub(super) fn quasi_newton(
        &mut self,
        options: &MinimalOptions,
        iterations: &mut u32,
    ) -> Result<f64, Failure> {
        self.newton_at_hand = false;
        let near = self.mass_at_hand;
        self.evaluate()?;
        if !near {
            let middle = self.scheme.middle;
            single::place_between(&mut self.mass, &self.segments, &self.scheme, &self.residual);
            single::eliminate(&mut self.mass, &self.segments)
                .map_err(|segment| Failure::Singular { segment, what: "mass matrix" })?;
            self.tie_mass(|delta, c| delta[c].dot(&middle))?;
            self.hold_mass();
            self.mass_at_hand = true;
            self.update_scale();
        }
        let mut stopping = self.stopping(options);
        let mut previous = f64::INFINITY;
        let mut expected = false;
        for iteration in 0..=MASS_ITERATIONS {
            let merit = self.merit();
            if expected && stopping.holds(merit) {
                return Ok(merit);
            }
            let norm = self.mass_direction();
            if stopping.accepts(merit, norm, previous) || iteration == 0 && stopping.is_slight(norm) {
                if iteration > 0 && stopping.is_settled(norm) {
                    return Ok(merit);
                }
                // The direction at hand costs one evaluation more and removes most of what is left.
                self.take_lanes();
                *iterations += 1;
                self.evaluate()?;
                return Ok(self.merit());
            }
            // The first contraction is not yet the asymptotic one.
            let slow = norm > SLOW * previous && !stopping.is_noise(merit, norm);
            if slow || iteration == MASS_ITERATIONS || !norm.is_finite() {
                return Err(Failure::NotConverged { iterations: *iterations, residual: merit });
            }
            expected = stopping.foresees(norm, previous);
            previous = norm;
            self.take_lanes();
            *iterations += 1;
            self.evaluate()?;
        }
        Err(Failure::NotConverged { iterations: *iterations, residual: f64::NAN })
    }

    /// Takes the direction of the mass-matrix iteration.
    fn take_lanes(&mut self) {
        for (delta, step) in self.point.delta.iter_mut().zip(&self.lanes) {
            *delta += *step;
        }
        if let Some(held) = &mut self.held {
            held.take_mass();
        }
    }
}
