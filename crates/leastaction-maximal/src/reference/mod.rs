//! Slow twins of the engine in maximal coordinates: the equations with every multiplier as an unknown, differentiated by
//! dual numbers, and two solvers for them.
//!
//! [`MaximalTwin::Dense`] eliminates the whole matrix with full pivoting. [`MaximalTwin::Paper`] is the scheme of
//! [Bruedigam2020], corrected: depth-first order, a leaf before its joint before its parent, all loop constraints stacked
//! in one node at the end; linear in the links, cubic in the number of loops. Neither shares more than the values of the
//! constraints with the engine: no directions, no null spaces, no ordering.

mod contact;
mod curve;
mod equations;
mod matrix;
mod paper;

pub use contact::{TwinLink, contact_step};
pub use curve::curve_step;
use equations::Equations;
use matrix::Matrix;

use crate::{Maximal, MaximalState, MaximalWorkspace, NewtonDirection};

/// How a slow twin solves its linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaximalTwin {
    /// One dense matrix.
    Dense,
    /// Depth-first order, loop constraints stacked in the last node.
    Paper,
}

/// Newton direction of a step of length `h` from `state`, at the interval velocities `w`.
///
/// # Panics
/// If `w` does not have one entry per moving link.
#[must_use]
pub fn maximal_newton_direction(
    twin: MaximalTwin,
    engine: &Maximal,
    workspace: &mut MaximalWorkspace,
    state: &MaximalState,
    u: &[f64],
    h: f64,
    w: &[[f64; 6]],
) -> NewtonDirection {
    engine.prepare_step(workspace, state, u, h);
    Equations::new(engine, workspace, state).direction(twin, w)
}

/// Interval velocities of a step, by Newton's method without line search from `w`; `None` if it does not converge.
#[must_use]
pub fn maximal_step(
    twin: MaximalTwin,
    engine: &Maximal,
    workspace: &mut MaximalWorkspace,
    state: &MaximalState,
    u: &[f64],
    h: f64,
    w: &[[f64; 6]],
) -> Option<Vec<[f64; 6]>> {
    engine.prepare_step(workspace, state, u, h);
    let equations = Equations::new(engine, workspace, state);
    let mut w = w.to_vec();
    for _ in 0..20 {
        let direction = equations.direction(twin, &w);
        let mut largest = 0.0f64;
        for (w, d) in w.iter_mut().flatten().zip(direction.change.iter().flatten()) {
            *w += d;
            largest = largest.max(d.abs());
        }
        if largest < 1e-13 {
            return Some(w);
        }
    }
    None
}

impl Equations<'_> {
    fn direction(&self, twin: MaximalTwin, w: &[[f64; 6]]) -> NewtonDirection {
        let (blocks, rhs) = self.assemble(w);
        let solution = match twin {
            MaximalTwin::Dense => {
                let (offsets, size) = self.offsets();
                let mut dense = Matrix::zero(size, size);
                for ((r, c), block) in &blocks {
                    dense.put(offsets[*r], offsets[*c], block);
                }
                let flat: Vec<f64> = rhs.iter().flatten().copied().collect();
                let x = dense.generalised_inverse(1e-10).times(&flat);
                let ends = offsets.iter().skip(1).copied().chain([size]);
                offsets.iter().zip(ends).map(|(a, b)| x[*a..b].to_vec()).collect()
            }
            MaximalTwin::Paper => paper::solve(self, blocks, rhs),
        };
        let n = w.len();
        let change = solution[..n].iter().map(|x| std::array::from_fn(|k| x[k])).collect();
        NewtonDirection { change, impulse: self.impulses(&solution) }
    }
}
