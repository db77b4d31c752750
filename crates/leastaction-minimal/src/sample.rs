//! The equations of a step at any point: what benches, reference data and twins look at.

use super::lanes::Lanes;
use super::step::Solver;
use crate::integrator::{StepError, expect_length};
use crate::mechanism::Mechanism;

/// A curve over one step, not necessarily a solution. Vectors are in engine order (see
/// [`MinimalState`](super::MinimalState)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepPoint {
    /// Positions at the start, public convention.
    pub q: Vec<f64>,
    /// Increments of nodes `1..=s` from the start; balls: chart coordinates.
    pub increments: Vec<Vec<f64>>,
    /// Momenta at the start.
    pub p: Vec<f64>,
    /// Inputs at nodes `0..=s`.
    pub u: Vec<Vec<f64>>,
    /// Step length.
    pub h: f64,
}

/// The equations at a [`StepPoint`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepSample {
    /// Residual rows `0..s`.
    pub residual: Vec<Vec<f64>>,
    /// Rounding scale of the residual (2.12).
    pub scale: Vec<Vec<f64>>,
    /// Momenta at the end.
    pub p_next: Vec<f64>,
    /// Newton direction `−J⁻¹ r` of nodes `1..=s`.
    pub direction: Vec<Vec<f64>>,
}

fn by_node<const N: usize>(rows: &[Lanes<f64, N>], node: usize) -> Vec<f64> {
    rows.iter().map(|row| row.0[node]).collect()
}

impl<const N: usize> Solver<N> {
    /// Puts a point into the workspace.
    pub(crate) fn load(&mut self, mechanism: &Mechanism, at: &StepPoint) -> Result<(), StepError> {
        let s = self.scheme.s;
        expect_length("q", at.q.len(), mechanism.nq())?;
        expect_length("p", at.p.len(), mechanism.nv())?;
        expect_length("increments", at.increments.len(), s)?;
        expect_length("u", at.u.len(), s + 1)?;
        self.stand_at(mechanism, &at.q);
        self.point.p.copy_from_slice(&at.p);
        self.point.delta.fill(Lanes::default());
        for (ga, nodes) in at.increments.iter().enumerate() {
            expect_length("increments", nodes.len(), mechanism.nv())?;
            for (delta, x) in self.point.delta.iter_mut().zip(nodes) {
                delta.0[ga + 1] = *x;
            }
        }
        for (al, u) in at.u.iter().enumerate() {
            expect_length("u", u.len(), mechanism.nu())?;
            for (lanes, u) in self.point.u.iter_mut().zip(u) {
                lanes.0[al] = *u;
            }
        }
        self.choose_points(at.h);
        self.residual.prepare(&self.segments, &self.scheme, at.h, &self.point.u);
        Ok(())
    }

    /// Residual alone.
    pub(crate) fn residual_at(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
    ) -> Result<Vec<Vec<f64>>, StepError> {
        self.load(mechanism, at)?;
        if let Err(failure) = self.evaluate() {
            let options = super::MinimalOptions::default();
            return Err(self.explain(mechanism, &options, failure, 0.0, at.h));
        }
        Ok((0..self.scheme.s).map(|al| by_node(&self.residual.rows, al)).collect())
    }

    /// Residual, scale, momentum and Newton direction at a point, about the root or the world's origin.
    pub(crate) fn sample(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        recentred: bool,
    ) -> Result<StepSample, StepError> {
        self.load(mechanism, at)?;
        self.point.recentred = recentred;
        let s = self.scheme.s;
        let outcome = self.evaluate().and_then(|()| {
            self.update_scale();
            self.factor_here()?;
            self.newton_direction();
            Ok(())
        });
        self.point.recentred = true;
        if let Err(failure) = outcome {
            let options = super::MinimalOptions::default();
            return Err(self.explain(mechanism, &options, failure, 0.0, at.h));
        }
        Ok(StepSample {
            residual: (0..s).map(|al| by_node(&self.residual.rows, al)).collect(),
            scale: (0..s).map(|al| by_node(&self.scale, al)).collect(),
            p_next: by_node(&self.residual.rows, s),
            direction: (0..s)
                .map(|ga| (0..self.segments.n).map(|c| self.next_direction[c * s + ga]).collect())
                .collect(),
        })
    }
}
