//! The equations of a step at any point, and their derivative in any direction: what tests, reference data and twins
//! look at.

use super::lanes::Lanes;
use super::segments::Motion;
use super::solver::Solver;
use super::state::split_position;
use super::tangent::{Geometry, Tangent, times3};
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
    /// Rounding scale of the residual (3.4).
    pub scale: Vec<Vec<f64>>,
    /// Momenta at the end.
    pub p_next: Vec<f64>,
    /// Newton direction `−J⁻¹ r` of nodes `1..=s`.
    pub direction: Vec<Vec<f64>>,
}

/// A direction at a [`StepPoint`], engine order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepDirection {
    /// Change of the start, which moves the whole curve; balls: of the anchor, child axes.
    pub shift: Vec<f64>,
    /// Change of the increments of nodes `1..=s`.
    pub increments: Vec<Vec<f64>>,
    /// Change of the momenta at the start.
    pub p: Vec<f64>,
    /// Change of the inputs, the same at all nodes.
    pub u: Vec<f64>,
}

/// How the equations change along a [`StepDirection`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepTangent {
    /// Change of residual rows `0..s`.
    pub residual: Vec<Vec<f64>>,
    /// Change of the momenta at the end.
    pub p_next: Vec<f64>,
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
        split_position(mechanism, &at.q, &mut self.point.base, &mut self.point.anchors);
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

    /// The derivative of the equations along a direction, in O(s² n) (4.6).
    pub(crate) fn tangent(
        &mut self,
        mechanism: &Mechanism,
        at: &StepPoint,
        direction: &StepDirection,
    ) -> Result<StepTangent, StepError> {
        let (s, n) = (self.scheme.s, self.segments.n);
        let nodes = s + 1;
        expect_length("shift", direction.shift.len(), n)?;
        expect_length("p", direction.p.len(), n)?;
        expect_length("u", direction.u.len(), self.segments.nu)?;
        expect_length("increments", direction.increments.len(), s)?;
        self.load(mechanism, at)?;
        if let Err(failure) = self.evaluate() {
            return Err(self.explain(mechanism, &super::MinimalOptions::default(), failure, 0.0, at.h));
        }
        self.differentiate_forces();
        let mut geometry = Geometry::new(&self.segments, s);
        geometry.fill(&self.segments, &self.scheme, &self.derivatives, &self.point, &self.residual);
        let mut x = Tangent::<f64>::new(&self.segments, s);
        x.shift.copy_from_slice(&direction.shift);
        for (ga, change) in direction.increments.iter().enumerate() {
            expect_length("increments", change.len(), n)?;
            for (c, change) in change.iter().enumerate() {
                x.delta[c * s + ga] = *change;
            }
        }
        for (j, du) in direction.u.iter().enumerate() {
            let change = self.input_change(j);
            for (c, gear) in change.efforts {
                x.effort[c] += gear * du;
            }
            for (to, f) in x.impulse.iter_mut().zip(change.impulses) {
                for (to, f) in to.iter_mut().zip(f.to_array()) {
                    *to += f * du;
                }
            }
        }
        geometry.outward(&self.segments, &mut x);
        geometry.inward(&self.segments, &self.forces, &mut x);
        let mut p_next: Vec<f64> = (0..n).map(|c| x.rows[c * nodes + s]).collect();
        for segment in self.segments.list.iter().filter(|segment| segment.motion == Motion::Ball) {
            // (5.8)
            let c = segment.coordinate;
            let (b, phi, p) = geometry.ball_end(segment.ball);
            let turn = times3(&b, std::array::from_fn(|a| x.delta[(c + a) * s + s - 1]));
            let carried = crate::spatial::Vec3(turn).cross(p);
            let momentum = std::array::from_fn(|j| x.p_anchor[segment.ball][j] - carried[j]);
            p_next[c..c + 3].copy_from_slice(&times3(&phi.transpose(), momentum));
        }
        let mut residual: Vec<Vec<f64>> =
            (0..s).map(|al| (0..n).map(|c| x.rows[c * nodes + al]).collect()).collect();
        residual[0].iter_mut().zip(&direction.p).for_each(|(r, p)| *r += p);
        Ok(StepTangent { residual, p_next })
    }
}
