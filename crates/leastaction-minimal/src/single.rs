//! Kernels of one state, compiled a second time for processors with AVX2: the same operations, none of them fused, so the same
//! bits in fewer instructions. Only for the orders that are used most: every copy takes time to build.

use super::columns::ColumnMemory;
use super::dense_factor::DenseFactor;
use super::dense_slope::DenseSlope;
use super::lanes::Lanes;
use super::legendre::{LegendreSlope, VelocitySlope};
use super::mass_factor::{MassFactor, MassMemory};
use super::residual::{Point, Residual};
use super::scale::rounding_scale;
use super::scheme::Scheme;
use super::segments::Segments;
use super::wrench::AllForces;
use crate::scalar::Real;
use crate::spatial::Mat3;
use leastaction_core::simd::{Task, has_wide, run_wide, run_widest};

/// Most nodes of a step that has kernels of its own: orders 2 and 4.
const MOST_NODES: usize = 3;

struct Evaluate<'a, 'f, const N: usize> {
    residual: &'a mut Residual<f64, N>,
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    forces: &'a mut AllForces<'f, N>,
    point: &'a Point<f64, N>,
}
impl<const N: usize> Task for Evaluate<'_, '_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.residual.evaluate_inlined(self.segments, self.scheme, self.forces, self.point);
    }
}

/// [`Residual::evaluate`].
pub(crate) fn evaluate<const N: usize>(
    residual: &mut Residual<f64, N>,
    segments: &Segments,
    scheme: &Scheme<N>,
    forces: &mut AllForces<'_, N>,
    point: &Point<f64, N>,
) {
    if N <= MOST_NODES && has_wide() {
        run_wide(Evaluate { residual, segments, scheme, forces, point });
    } else {
        residual.evaluate(segments, scheme, forces, point);
    }
}

struct Factor<'a, const N: usize> {
    dense: &'a mut DenseFactor<N>,
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    residual: &'a Residual<f64, N>,
}
impl<const N: usize> Task for Factor<'_, N> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.dense.factor_inlined(self.segments, self.scheme, self.residual)
    }
}

/// [`DenseFactor::factor`].
pub(crate) fn factor_dense<const N: usize>(
    dense: &mut DenseFactor<N>,
    segments: &Segments,
    scheme: &Scheme<N>,
    residual: &Residual<f64, N>,
) -> Result<(), usize> {
    if N <= MOST_NODES && has_wide() {
        return run_wide(Factor { dense, segments, scheme, residual });
    }
    dense.factor(segments, scheme, residual)
}

struct FactorSlope<'a, const N: usize>(&'a mut DenseSlope, &'a Segments, &'a Scheme<N>, &'a Residual<f64, N>);
impl<const N: usize> Task for FactorSlope<'_, N> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.0.factor(self.1, self.2, self.3)
    }
}

/// [`DenseSlope::factor`].
pub(crate) fn factor_slope<const N: usize>(
    slope: &mut DenseSlope,
    segments: &Segments,
    scheme: &Scheme<N>,
    residual: &Residual<f64, N>,
) -> Result<(), usize> {
    let task = FactorSlope(slope, segments, scheme, residual);
    if N <= MOST_NODES { run_widest(task) } else { task.run() }
}

struct SolveSlope<'a, T>(&'a DenseSlope, (&'a [T], &'a [T], &'a [T]), &'a mut [T], &'a mut [T]);
impl<T: Real> Task for SolveSlope<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.solve(self.1, self.2, self.3);
    }
}

/// [`DenseSlope::solve`] for the batch in `memory`.
pub(crate) fn solve_slope<T: Real>(slope: &DenseSlope, memory: &mut ColumnMemory<T>) {
    let ColumnMemory { rhs, shift, effort, delta, momentum, .. } = memory;
    run_widest(SolveSlope(slope, (rhs, shift, effort), delta, momentum));
}

struct ToMomenta<'a, T>(
    &'a LegendreSlope,
    &'a Segments,
    &'a mut MassMemory<T>,
    (&'a [T], &'a [T]),
    &'a mut [T],
);
impl<T: Real> Task for ToMomenta<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.apply(self.1, self.2, self.3.0, self.3.1, self.4);
    }
}

/// [`LegendreSlope::apply`].
pub(crate) fn to_momenta<T: Real>(
    slope: &LegendreSlope,
    segments: &Segments,
    memory: &mut MassMemory<T>,
    from: (&[T], &[T]),
    dp: &mut [T],
) {
    run_widest(ToMomenta(slope, segments, memory, from, dp));
}

struct ToVelocities<'a, T>(
    &'a VelocitySlope,
    (&'a Segments, &'a MassFactor),
    &'a mut MassMemory<T>,
    &'a [T],
    &'a mut [T],
);
impl<T: Real> Task for ToVelocities<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.apply(self.1.0, self.1.1, self.2, self.3, self.4);
    }
}

/// [`VelocitySlope::apply`].
pub(crate) fn to_velocities<T: Real>(
    slope: &VelocitySlope,
    at: (&Segments, &MassFactor),
    memory: &mut MassMemory<T>,
    dq: &[T],
    dp: &mut [T],
) {
    run_widest(ToVelocities(slope, at, memory, dq, dp));
}

struct Velocities<'a> {
    mass: &'a mut MassFactor,
    segments: &'a Segments,
    memory: &'a mut MassMemory<f64>,
    base: &'a [f64],
    anchors: &'a [Mat3],
    p: &'a mut [f64],
}
impl Task for Velocities<'_> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.mass.place(self.segments, self.base, self.anchors);
        self.mass.eliminate(self.segments)?;
        self.mass.solve_inlined(self.segments, self.memory, self.p);
        Ok(())
    }
}

/// Velocities in place of the momenta `p` at the start of the point, with the mass matrix factored there.
pub(crate) fn velocities<const N: usize>(
    mass: &mut MassFactor,
    segments: &Segments,
    memory: &mut MassMemory<f64>,
    point: &Point<f64, N>,
    p: &mut [f64],
) -> Result<(), usize> {
    let (base, anchors) = (&point.base, &point.anchors);
    run_widest(Velocities { mass, segments, memory, base, anchors, p })
}

struct Momenta<'a> {
    mass: &'a mut MassFactor,
    segments: &'a Segments,
    memory: &'a mut MassMemory<f64>,
    base: &'a [f64],
    anchors: &'a [Mat3],
    v: &'a [f64],
    p: &'a mut [f64],
}
impl Task for Momenta<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.mass.place(self.segments, self.base, self.anchors);
        self.mass.momentum(self.segments, self.v, self.memory, self.p);
    }
}

/// Momenta of the velocities `v` at the start of the point, with the rigid inertias placed there.
pub(crate) fn momenta<const N: usize>(
    mass: &mut MassFactor,
    segments: &Segments,
    memory: &mut MassMemory<f64>,
    point: &Point<f64, N>,
    v: &[f64],
    p: &mut [f64],
) {
    let (base, anchors) = (&point.base, &point.anchors);
    run_widest(Momenta { mass, segments, memory, base, anchors, v, p });
}

struct PlaceAt<'a>(&'a mut MassFactor, &'a Segments, &'a [f64], &'a [Mat3]);
impl Task for PlaceAt<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.place(self.1, self.2, self.3);
    }
}

/// [`MassFactor::place`] of plain numbers.
pub(crate) fn place(mass: &mut MassFactor, segments: &Segments, base: &[f64], anchors: &[Mat3]) {
    run_widest(PlaceAt(mass, segments, base, anchors));
}

struct NewSlope<'a>(&'a Segments, &'a MassFactor, &'a [f64]);
impl Task for NewSlope<'_> {
    type Output = LegendreSlope;
    #[inline(always)]
    fn run(self) -> LegendreSlope {
        LegendreSlope::new_inlined(self.0, self.1, self.2)
    }
}

/// The tangent of the Legendre transform where the mass matrix was placed, at engine velocities.
pub(crate) fn legendre_slope(segments: &Segments, mass: &MassFactor, v: &[f64]) -> LegendreSlope {
    run_widest(NewSlope(segments, mass, v))
}

struct Inverse<'a>(&'a LegendreSlope, &'a Segments, &'a MassFactor);
impl Task for Inverse<'_> {
    type Output = VelocitySlope;
    #[inline(always)]
    fn run(self) -> VelocitySlope {
        self.0.inverse_inlined(self.1, self.2)
    }
}

/// The tangent of the recovered velocity, with the mass matrix factored at the same positions.
pub(crate) fn velocity_slope(slope: &LegendreSlope, segments: &Segments, mass: &MassFactor) -> VelocitySlope {
    run_widest(Inverse(slope, segments, mass))
}

struct EndVelocities<'a, const N: usize> {
    mass: &'a mut MassFactor,
    segments: &'a Segments,
    memory: &'a mut MassMemory<f64>,
    residual: &'a Residual<f64, N>,
    p: &'a mut [f64],
}
impl<const N: usize> Task for EndVelocities<'_, N> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.mass.place_end(self.segments, self.residual);
        self.mass.eliminate(self.segments)?;
        self.mass.solve_inlined(self.segments, self.memory, self.p);
        Ok(())
    }
}

/// As [`velocities`], at the end of the step that was evaluated.
pub(crate) fn end_velocities<const N: usize>(
    mass: &mut MassFactor,
    segments: &Segments,
    memory: &mut MassMemory<f64>,
    residual: &Residual<f64, N>,
    p: &mut [f64],
) -> Result<(), usize> {
    let task = EndVelocities { mass, segments, memory, residual, p };
    if N <= MOST_NODES { run_widest(task) } else { task.run() }
}

struct Scale<'a, const N: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    point: &'a Point<f64, N>,
    residual: &'a Residual<f64, N>,
    scale: &'a mut [Lanes<f64, N>],
}
impl<const N: usize> Task for Scale<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        rounding_scale(self.segments, self.scheme, self.point, self.residual, self.scale);
    }
}

/// [`rounding_scale`].
pub(crate) fn scale<const N: usize>(
    segments: &Segments,
    scheme: &Scheme<N>,
    point: &Point<f64, N>,
    residual: &Residual<f64, N>,
    scale: &mut [Lanes<f64, N>],
) {
    let task = Scale { segments, scheme, point, residual, scale };
    if N <= MOST_NODES { run_widest(task) } else { task.run() }
}

struct Place<'a, const N: usize> {
    mass: &'a mut MassFactor,
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    residual: &'a Residual<f64, N>,
}
impl<const N: usize> Task for Place<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.mass.place_between(self.segments, self.scheme, self.residual);
    }
}

/// [`MassFactor::place_between`].
pub(crate) fn place_between<const N: usize>(
    mass: &mut MassFactor,
    segments: &Segments,
    scheme: &Scheme<N>,
    residual: &Residual<f64, N>,
) {
    let task = Place { mass, segments, scheme, residual };
    if N <= MOST_NODES { run_widest(task) } else { task.run() }
}

struct Eliminate<'a>(&'a mut MassFactor, &'a Segments);
impl Task for Eliminate<'_> {
    type Output = Result<(), usize>;
    #[inline(always)]
    fn run(self) -> Result<(), usize> {
        self.0.eliminate(self.1)
    }
}

/// [`MassFactor::eliminate`].
pub(crate) fn eliminate(mass: &mut MassFactor, segments: &Segments) -> Result<(), usize> {
    run_widest(Eliminate(mass, segments))
}

struct Solve<'a>(&'a MassFactor, &'a Segments, &'a mut MassMemory<f64>, &'a mut [f64]);
impl Task for Solve<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.0.solve_inlined(self.1, self.2, self.3);
    }
}

/// [`MassFactor::solve`] of plain numbers.
pub(crate) fn solve(mass: &MassFactor, segments: &Segments, memory: &mut MassMemory<f64>, r: &mut [f64]) {
    run_widest(Solve(mass, segments, memory, r));
}
