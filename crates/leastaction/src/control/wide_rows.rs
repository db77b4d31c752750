//! The products of the backward sweep, on rows that are filled up to a multiple of the widest vectors: rows of states and inputs are
//! short, and what is left of a row after whole vectors costs more than the vectors. What stands beyond the end of a row is zero
//! or of no meaning, and is never read back.

use leastaction_core::simd::Task;

/// Numbers that are computed together; rows have a multiple of it.
pub(super) const WIDE: usize = 8;
/// Rows of a result that are computed together: what is read of the other factor serves all of them.
const ROWS: usize = 4;

/// `R` rows of numbers.
type Block<const R: usize> = [[f64; WIDE]; R];

/// `x[at..at + WIDE]` of `R` rows.
#[inline(always)]
fn block<const R: usize>(x: &[f64], stride: usize, row: usize, at: usize) -> Block<R> {
    let mut out = [[0.0; WIDE]; R];
    for (r, out) in out.iter_mut().enumerate() {
        out.copy_from_slice(&x[(row + r) * stride + at..][..WIDE]);
    }
    out
}

/// Writes a block, up to a column.
#[inline(always)]
fn put<const R: usize>(block: Block<R>, x: &mut [f64], stride: usize, row: usize, at: usize, end: usize) {
    let count = WIDE.min(end - at);
    for (r, block) in block.iter().enumerate() {
        x[(row + r) * stride + at..][..count].copy_from_slice(&block[..count]);
    }
}

/// `sum_r + Σ_j a_jr b_j` over rows `a_j`, of which numbers `row..row + R` count, and rows `b_j`, from column `at` on.
#[inline(always)]
fn add<const R: usize>(
    mut sum: Block<R>,
    (a, apart): (&[f64], usize),
    row: usize,
    (b, stride): (&[f64], usize),
    at: usize,
) -> Block<R> {
    for (a, b) in a.chunks_exact(apart).zip(b.chunks_exact(stride)) {
        let (a, b) = (&a[row..row + R], &b[at..at + WIDE]);
        for (sum, a) in sum.iter_mut().zip(a) {
            for (sum, x) in sum.iter_mut().zip(b) {
                *sum += a * x;
            }
        }
    }
    sum
}

/// Runs `$rows` (with a number of rows and a first one) over all rows, as many together as there are.
macro_rules! by_rows {
    ($count:expr, |$r:ident, $row:ident| $body:expr) => {{
        let (count, mut $row) = ($count, 0);
        while $row + ROWS <= count {
            const $r: usize = ROWS;
            $body;
            $row += ROWS;
        }
        while $row < count {
            const $r: usize = 1;
            $body;
            $row += 1;
        }
    }};
}

/// Copies rows of length `n` into longer ones.
#[inline(always)]
fn widen(from: &[f64], n: usize, to: &mut [f64], stride: usize) {
    for (from, to) in from.chunks_exact(n).zip(to.chunks_exact_mut(stride)) {
        to[..n].copy_from_slice(from);
    }
}

/// `P F` and `∇²l + Fᵀ P F` (6.8), of which the rows of states have only columns of states.
pub(super) struct Products<'a> {
    /// Components of a state, of state and input, length of a row.
    pub(super) sizes: (usize, usize, usize),
    /// Symmetric: its columns are read as rows.
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
        let Self { curvature, f, hessian, slope, product, square, .. } = self;
        widen(f, w, slope, stride);
        widen(hessian, w, square, stride);
        for at in (0..stride).step_by(WIDE) {
            by_rows!(nx, |R, row| {
                let sum = add::<R>([[0.0; WIDE]; R], (curvature, nx), row, (slope, stride), at);
                put(sum, product, stride, row, at, stride);
            });
        }
        for at in (0..stride).step_by(WIDE) {
            // Nobody reads how states answer to inputs twice.
            let first = if at < nx { 0 } else { nx };
            by_rows!(w - first, |R, row| {
                let own = block::<R>(square, stride, first + row, at);
                let sum = add(own, (slope, stride), first + row, (product, stride), at);
                put(sum, square, stride, first + row, at, stride);
            });
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
        let Self { gain, square, wide, carry, curvature, .. } = self;
        widen(gain, nx, wide, stride);
        let inputs = &square[nx * stride..(nx + nu) * stride];
        for at in (0..nx).step_by(WIDE) {
            for i in 0..nu {
                let row = &inputs[i * stride..(i + 1) * stride];
                let mut sum = block::<1>(row, stride, 0, at);
                sum = add(sum, (&row[nx..nx + nu], 1), 0, (wide, stride), at);
                put(sum, carry, stride, i, at, stride);
            }
            by_rows!(nx, |R, row| {
                let sum = block::<R>(square, stride, row, at);
                let sum = add(sum, (wide, stride), row, (carry, stride), at);
                let sum = add(sum, (inputs, stride), row, (wide, stride), at);
                put(sum, curvature, nx, row, at, nx);
            });
        }
    }
}
