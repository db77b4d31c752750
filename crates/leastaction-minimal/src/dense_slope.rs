//! The one-step map's derivative of a small tree, written out: the matrix of `dense_factor.rs` with a column for the shift of every
//! start and a row for every momentum after the step.
//!
//! A shift moves all nodes alike, and rates do not feel it (`Σ_γ b^{αγ} = 0`), so with the second derivatives of (2.36)
//!
//! ```text
//! ∂P^α_i/∂ζ_j = w^α h (K_qq − V_qq + Q_x)^α + Σ_γ w^γ b^{γα} K_vq^γ                                    (2.63)
//! ```
//!
//! and (2.32) holds for the row `α = s`, the momentum after the step, as for the others. A column then is a solve with the factored
//! matrix and two products: no sweep, and nothing to keep per joint.

use super::dense_factor::{Pair, each_composite, eliminate, joint_momenta};
use super::lanes::Lanes;
use super::residual::Residual;
use super::scheme::Scheme;
use super::segments::{GROUND, Segments};
use super::wrench::BodyForces;
use crate::scalar::Real;

/// Most unknowns for which it is written out: where sweeps would cost as much, by instructions.
const MOST: usize = 48;

/// The derivative of one step of a small plain tree.
#[derive(Clone, Debug)]
pub(super) struct DenseSlope {
    n: usize,
    s: usize,
    /// Equations on increments, factored; by coordinate, then row or node.
    matrix: Vec<f64>,
    swaps: Vec<usize>,
    /// Equations on shifts.
    shift: Vec<f64>,
    /// Momenta after the step on increments and on shifts.
    momentum: Vec<f64>,
    momentum_shift: Vec<f64>,
    /// `w^α h`: every row on a unit of effort.
    weights: Vec<f64>,
}

/// The degree `s`, known to the compiler where lanes are just as many as nodes, so that sums over nodes are written out.
#[inline(always)]
fn degree<const N: usize>(s: usize) -> usize {
    if N <= 5 { N - 1 } else { s }
}

impl DenseSlope {
    /// Room for a tree that is small and plain enough; `None` for others.
    pub(super) fn new<const N: usize>(
        segments: &Segments,
        scheme: &Scheme<N>,
        forces: &BodyForces,
    ) -> Option<Self> {
        let plain = !segments.has_balls()
            && segments.origins == 0
            && (0..segments.list.len()).all(|i| forces.slot(i).is_none());
        let (n, s) = (segments.n, scheme.s);
        let size = n * s;
        if size > MOST || !plain || scheme.gauss {
            return None;
        }
        Some(Self {
            n,
            s,
            matrix: vec![0.0; size * size],
            swaps: vec![0; size],
            shift: vec![0.0; size * n],
            momentum: vec![0.0; n * size],
            momentum_shift: vec![0.0; n * n],
            weights: vec![0.0; s + 1],
        })
    }

    /// Factors at the point where `residual` was last evaluated.
    ///
    /// # Errors
    /// The segment whose column has no pivot.
    #[inline(always)]
    pub(super) fn factor<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
    ) -> Result<(), usize> {
        for part in [&mut self.matrix, &mut self.shift, &mut self.momentum, &mut self.momentum_shift] {
            part.fill(0.0);
        }
        self.weights.copy_from_slice(&residual.weights[..=self.s]);
        let mut composite = vec![[Lanes::default(); 6]; segments.list.len()];
        each_composite(segments, residual, &mut composite);
        for i in (0..segments.list.len()).rev() {
            let joint = joint_momenta(segments, residual, &composite, i);
            let c = segments.list[i].coordinate;
            let mut ancestor = i;
            while ancestor != GROUND {
                let j = segments.list[ancestor].coordinate;
                let pair = joint.with(residual, j);
                self.place(scheme, residual, c, j, &pair);
                if ancestor != i {
                    self.place(scheme, residual, j, c, &pair.turned());
                }
                ancestor = segments.list[ancestor].parent;
            }
        }
        for c in 0..self.n {
            self.place_force(segments, scheme, residual, c);
        }
        eliminate(&mut self.matrix, &mut self.swaps, self.n * self.s).map_err(|column| {
            let c = column / self.s;
            segments.list.iter().position(|segment| segment.coordinate == c).unwrap_or(0)
        })
    }

    /// Where row `al` of a coordinate answers to node `ga` of another, or to its shift.
    #[inline(always)]
    fn entry<const N: usize>(&mut self, row: usize, al: usize, column: usize, ga: Option<usize>) -> &mut f64 {
        let (n, s) = (self.n, degree::<N>(self.s));
        match (al < s, ga) {
            (true, Some(ga)) => &mut self.matrix[(row * s + al) * n * s + column * s + ga - 1],
            (true, None) => &mut self.shift[(row * s + al) * n + column],
            (false, Some(ga)) => &mut self.momentum[row * n * s + column * s + ga - 1],
            (false, None) => &mut self.momentum_shift[row * n + column],
        }
    }

    #[inline(always)]
    fn place<const N: usize>(
        &mut self,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        row: usize,
        column: usize,
        pair: &Pair<N>,
    ) {
        let (s, by_h) = (degree::<N>(self.s), 1.0 / residual.h);
        for al in 0..=s {
            let at_node = residual.weights[al] * pair.qq.0[al];
            let mut shift = at_node;
            for ga in 0..=s {
                let by_rate = scheme.a_columns[ga][al] * pair.vq.0[ga];
                shift += by_rate;
                if ga == 0 {
                    continue;
                }
                let mut x = by_rate + scheme.a_columns[al][ga] * pair.qv.0[al];
                for be in 0..=s {
                    x += scheme.a_columns[be][al] * scheme.b[be][ga] * by_h * pair.vv.0[be];
                }
                if ga == al {
                    x += at_node;
                }
                *self.entry::<N>(row, al, column, Some(ga)) += x;
            }
            *self.entry::<N>(row, al, column, None) += shift;
        }
    }

    /// Springs, dampers, servos and armature of one coordinate.
    #[inline(always)]
    fn place_force<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        c: usize,
    ) {
        let (law, servos, s) = (&segments.laws[c], &residual.servos, degree::<N>(self.s));
        for al in 0..=s {
            let stiff = residual.weights[al] * (law.stiffness - servos.by_position[c].0[al]);
            let damped = law.damping - servos.by_rate[c].0[al];
            for ga in 1..=s {
                let mut x = -damped * scheme.a_columns[al][ga];
                for be in 0..=s {
                    x += law.armature * scheme.a_columns[be][al] * scheme.b[be][ga] / residual.h;
                }
                if ga == al {
                    x -= stiff;
                }
                *self.entry::<N>(c, al, c, Some(ga)) += x;
            }
            *self.entry::<N>(c, al, c, None) -= stiff;
        }
    }

    /// (2.35) for a batch of columns: increments and momenta after the step of right-hand sides, shifts and efforts. `effort` is empty
    /// where none varies. Does not allocate.
    #[inline(always)]
    pub(super) fn solve<T: Real>(
        &self,
        (rhs, shift, effort): (&[T], &[T], &[T]),
        delta: &mut [T],
        momentum: &mut [T],
    ) {
        let (n, s, size) = (self.n, self.s, self.n * self.s);
        for (r, (d, rhs)) in delta.iter_mut().zip(rhs).enumerate() {
            let mut sum = *rhs;
            for (m, x) in self.shift[r * n..(r + 1) * n].iter().zip(shift) {
                sum += *x * *m;
            }
            if !effort.is_empty() {
                sum += effort[r / s] * self.weights[r % s];
            }
            *d = -sum;
        }
        for c in 0..size {
            delta.swap(c, self.swaps[c]);
        }
        for r in 1..size {
            let (done, rest) = delta.split_at_mut(r);
            let mut sum = rest[0];
            for (m, x) in self.matrix[r * size..r * size + r].iter().zip(&*done) {
                sum -= *x * *m;
            }
            rest[0] = sum;
        }
        for r in (0..size).rev() {
            let (rest, done) = delta.split_at_mut(r + 1);
            let row = &self.matrix[r * size + r..(r + 1) * size];
            let mut sum = rest[r];
            for (m, x) in row[1..].iter().zip(&*done) {
                sum -= *x * *m;
            }
            rest[r] = sum * row[0];
        }
        for (c, out) in momentum.iter_mut().enumerate() {
            let mut sum = T::zero();
            for (m, x) in self.momentum[c * size..(c + 1) * size].iter().zip(&*delta) {
                sum += *x * *m;
            }
            for (m, x) in self.momentum_shift[c * n..(c + 1) * n].iter().zip(shift) {
                sum += *x * *m;
            }
            if !effort.is_empty() {
                sum += effort[c] * self.weights[s];
            }
            *out = sum;
        }
    }
}
