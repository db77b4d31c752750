//! Small dense matrices, row by row: products and elimination.

use leastaction_core::simd::{Task, run_widest};

/// A square matrix, row by row, times a vector.
pub(super) struct Product<'a> {
    pub(super) w: &'a [f64],
    pub(super) x: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl Task for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        const LANES: usize = 8;
        for (row, out) in self.w.chunks_exact(self.x.len()).zip(self.out) {
            let mut sums = [0.0; LANES];
            let (rows, rest) = row.as_chunks::<LANES>();
            let (xs, rest_x) = self.x.as_chunks::<LANES>();
            for (w, x) in rows.iter().zip(xs) {
                for k in 0..LANES {
                    sums[k] += w[k] * x[k];
                }
            }
            let tail: f64 = rest.iter().zip(rest_x).map(|(w, x)| w * x).sum();
            *out = sums.iter().sum::<f64>() + tail;
        }
    }
}

/// Gaussian elimination with partial pivoting, in place; false if a pivot is zero or not finite.
pub(super) fn solve_in_place(n: usize, a: &mut [f64], b: &mut [f64]) -> bool {
    run_widest(Gauss { n, a, b })
}

struct Gauss<'a> {
    n: usize,
    a: &'a mut [f64],
    b: &'a mut [f64],
}

impl Task for Gauss<'_> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        eliminate(self.n, self.a, self.b)
    }
}

#[inline(always)]
fn eliminate(n: usize, a: &mut [f64], b: &mut [f64]) -> bool {
    for k in 0..n {
        let pivot = (k..n).fold(k, |m, i| if a[i * n + k].abs() > a[m * n + k].abs() { i } else { m });
        let value = a[pivot * n + k];
        if !(value.is_finite() && value != 0.0) {
            return false;
        }
        if pivot != k {
            for j in k..n {
                a.swap(k * n + j, pivot * n + j);
            }
            b.swap(k, pivot);
        }
        let inverse = 1.0 / value;
        let (upper, lower) = a.split_at_mut((k + 1) * n);
        let row = &upper[k * n + k + 1..k * n + n];
        for i in k + 1..n {
            let target = &mut lower[(i - k - 1) * n..(i - k) * n];
            if target[k] == 0.0 {
                continue;
            }
            let factor = target[k] * inverse;
            target[k + 1..].iter_mut().zip(row).for_each(|(t, r)| *t -= factor * r);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = a[k * n + k + 1..k * n + n].iter().zip(&b[k + 1..n]).map(|(a, b)| a * b).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b[..n].iter().all(|x| x.is_finite())
}
