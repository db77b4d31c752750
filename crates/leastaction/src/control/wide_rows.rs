//! The products of the backward sweep, on rows that are filled up to a multiple of the widest vectors: rows of states and inputs are
//! short, and what is left of a row after whole vectors costs more than the vectors. What stands beyond the end of a row is zero
//! or of no meaning, and is never read back.

use leastaction_core::simd::Task;

/// Numbers that are computed together; rows have a multiple of it.
pub(super) const WIDE: usize = 8;

/// `x[at..at + WIDE]`.
#[inline(always)]
fn piece(x: &[f64], at: usize) -> [f64; WIDE] {
    let mut out = [0.0; WIDE];
    out.copy_from_slice(&x[at..at + WIDE]);
    out
}

/// `sum + Σ_j a_j b_j` over rows `b_j` of length `stride`, from column `at` on; `a` is a row, or a column of a matrix with rows of that
/// length.
#[inline(always)]
fn add_rows(
    mut sum: [f64; WIDE],
    (a, apart): (&[f64], usize),
    b: &[f64],
    (stride, count): (usize, usize),
    at: usize,
) -> [f64; WIDE] {
    for j in 0..count {
        let (a, row) = (a[j * apart], &b[j * stride + at..j * stride + at + WIDE]);
        for (sum, x) in sum.iter_mut().zip(row) {
            *sum += a * x;
        }
    }
    sum
}

/// Copies rows of length `n` into longer ones.
#[inline(always)]
fn widen(from: &[f64], n: usize, to: &mut [f64], stride: usize) {
    for (from, to) in from.chunks_exact(n).zip(to.chunks_exact_mut(stride)) {
        to[..n].copy_from_slice(from);
    }
}

/// `P F` and `∇²l + Fᵀ P F` (6.8).
pub(super) struct Products<'a> {
    /// Components of a state, of state and input, length of a row.
    pub(super) sizes: (usize, usize, usize),
    pub(super) curvature: &'a [f64],
    pub(super) f: &'a [f64],
    pub(super) hessian: &'a [f64],
    pub(super) slope: &'a mut [f64],
    pub(super) product: &'a mut [f64],
    pub(super) square: &'a mut [f64],
}

impl Task for Products<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (nx, w, stride) = self.sizes;
        widen(self.f, w, self.slope, stride);
        widen(self.hessian, w, self.square, stride);
        let rows = (stride, nx);
        for i in 0..nx {
            for at in (0..stride).step_by(WIDE) {
                let sum = add_rows([0.0; WIDE], (&self.curvature[i * nx..], 1), self.slope, rows, at);
                self.product[i * stride + at..][..WIDE].copy_from_slice(&sum);
            }
        }
        for i in 0..w {
            for at in (0..stride).step_by(WIDE) {
                let own = i * stride + at;
                let sum =
                    add_rows(piece(self.square, own), (&self.slope[i..], stride), self.product, rows, at);
                self.square[own..own + WIDE].copy_from_slice(&sum);
            }
        }
    }
}

/// `P ← H_xx + Kᵀ (H_uu K + H_ux) + H_xu K` of (6.10).
pub(super) struct Update<'a> {
    /// Components of a state, of an input, length of a row.
    pub(super) sizes: (usize, usize, usize),
    /// `K`, as it is kept.
    pub(super) gain: &'a [f64],
    pub(super) square: &'a [f64],
    pub(super) wide: &'a mut [f64],
    pub(super) carry: &'a mut [f64],
    pub(super) curvature: &'a mut [f64],
}

impl Task for Update<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let (nx, nu, stride) = self.sizes;
        widen(self.gain, nx, self.wide, stride);
        let (rows, inputs) = ((stride, nu), &self.square[nx * stride..]);
        for i in 0..nu {
            let row = &inputs[i * stride..];
            for at in (0..stride).step_by(WIDE) {
                let sum = add_rows(piece(row, at), (&row[nx..], 1), self.wide, rows, at);
                self.carry[i * stride + at..][..WIDE].copy_from_slice(&sum);
            }
        }
        for i in 0..nx {
            for at in (0..nx).step_by(WIDE) {
                let own = piece(self.square, i * stride + at);
                let sum = add_rows(own, (&self.wide[i..], stride), self.carry, rows, at);
                let sum = add_rows(sum, (&inputs[i..], stride), self.wide, rows, at);
                let count = WIDE.min(nx - at);
                self.curvature[i * nx + at..][..count].copy_from_slice(&sum[..count]);
            }
        }
    }
}
