//! [`SymmetricBand`]: a symmetric banded matrix and its Cholesky factor.

/// A pivot was not positive.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("pivot {index} is {pivot:.3e}: the matrix is not positive definite")]
pub struct NotPositiveDefinite {
    /// Row of the pivot.
    pub index: usize,
    /// Its value.
    pub pivot: f64,
}

/// Lower band of a symmetric matrix, row by row: entry `(i, j)` with `i − half ≤ j ≤ i` is `data[i][j − i + half]`.
#[derive(Clone, Debug, PartialEq)]
pub struct SymmetricBand {
    n: usize,
    half: usize,
    data: Vec<f64>,
}

impl SymmetricBand {
    /// A zero matrix of size `n` whose entries vanish beyond `half` off the diagonal.
    #[must_use]
    pub fn new(n: usize, half: usize) -> Self {
        let half = half.min(n.saturating_sub(1));
        Self { n, half, data: vec![0.0; n * (half + 1)] }
    }
    /// Size.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }
    /// Half bandwidth.
    #[must_use]
    pub fn half(&self) -> usize {
        self.half
    }
    /// Sets every entry to zero.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }
    /// Entry `(i, j)`; zero outside the band.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = if i >= j { (i, j) } else { (j, i) };
        if i - j > self.half { 0.0 } else { self.data[i * (self.half + 1) + j + self.half - i] }
    }
    /// Adds to the entry `(i, j)` of the lower triangle.
    #[inline]
    pub fn add(&mut self, i: usize, j: usize, x: f64) {
        debug_assert!(j <= i && i - j <= self.half);
        self.data[i * (self.half + 1) + j + self.half - i] += x;
    }
    /// Part of row `i` from column `from ≥ i − half` on.
    #[inline]
    pub fn row_mut(&mut self, i: usize, from: usize) -> &mut [f64] {
        let start = i * (self.half + 1);
        &mut self.data[start + from + self.half - i..start + self.half + 1]
    }
    /// `out = A x`.
    pub fn mul_into(&self, x: &[f64], out: &mut [f64]) {
        out[..self.n].fill(0.0);
        for i in 0..self.n {
            let first = i.saturating_sub(self.half);
            let row = &self.data[i * (self.half + 1) + first + self.half - i..(i + 1) * (self.half + 1)];
            let (lower, diagonal) = row.split_at(row.len() - 1);
            let mut sum = diagonal[0] * x[i];
            for (a, j) in lower.iter().zip(first..) {
                sum += a * x[j];
                out[j] += a * x[i];
            }
            out[i] += sum;
        }
    }

    /// Replaces the matrix by its Cholesky factor L. Does not allocate.
    ///
    /// # Errors
    /// If a pivot is not positive; the matrix is then destroyed.
    pub fn factor(&mut self) -> Result<(), NotPositiveDefinite> {
        let w = self.half + 1;
        for i in 0..self.n {
            let first = i.saturating_sub(self.half);
            let (above, rest) = self.data.split_at_mut(i * w);
            let row = &mut rest[..w];
            for j in first..i {
                // L_ij = (A_ij − Σ_k L_ik L_jk) / L_jj over the columns both rows have.
                let start = first.max(j.saturating_sub(self.half));
                let other = &above[j * w..(j + 1) * w];
                let (a, b) = (
                    &row[start + self.half - i..j + self.half - i],
                    &other[start + self.half - j..self.half],
                );
                let mut sum = row[j + self.half - i];
                sum -= dot(a, b);
                row[j + self.half - i] = sum / other[self.half];
            }
            let a = &row[first + self.half - i..self.half];
            let pivot = row[self.half] - dot(a, a);
            if pivot.is_nan() || pivot <= 0.0 {
                return Err(NotPositiveDefinite { index: i, pivot });
            }
            row[self.half] = pivot.sqrt();
        }
        Ok(())
    }

    /// Solves `L Lᵀ x = b` in place, after [`factor`](Self::factor).
    pub fn solve(&self, x: &mut [f64]) {
        self.solve_lower(x);
        self.solve_upper(x);
    }

    /// Solves `L x = b` in place.
    pub fn solve_lower(&self, x: &mut [f64]) {
        let w = self.half + 1;
        for i in 0..self.n {
            let first = i.saturating_sub(self.half);
            let row = &self.data[i * w + first + self.half - i..i * w + self.half];
            let sum = x[i] - dot(row, &x[first..i]);
            x[i] = sum / self.data[i * w + self.half];
        }
    }

    /// Solves `Lᵀ x = b` in place.
    pub fn solve_upper(&self, x: &mut [f64]) {
        let w = self.half + 1;
        for i in (0..self.n).rev() {
            let first = i.saturating_sub(self.half);
            x[i] /= self.data[i * w + self.half];
            let xi = x[i];
            let row = &self.data[i * w + first + self.half - i..i * w + self.half];
            for (x, a) in x[first..i].iter_mut().zip(row) {
                *x -= a * xi;
            }
        }
    }
}

/// Dot product in four running sums, which the compiler can keep in lanes.
#[inline]
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (ac, bc) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = ac.remainder().iter().zip(bc.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in ac.zip(bc) {
        for l in 0..4 {
            sums[l] += x[l] * y[l];
        }
    }
    sums[0] + sums[1] + sums[2] + sums[3] + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factor_and_solve_undo_the_product() {
        for (n, half) in [(1, 0), (7, 2), (20, 6), (9, 30)] {
            let mut a = SymmetricBand::new(n, half);
            for i in 0..n {
                for j in i.saturating_sub(a.half())..i {
                    a.add(i, j, ((i * 7 + j * 3) % 5) as f64 / 10.0 - 0.2);
                }
                a.add(i, i, 3.0);
            }
            let x: Vec<f64> = (0..n).map(|i| (i as f64).sin()).collect();
            let mut b = vec![0.0; n];
            a.mul_into(&x, &mut b);
            a.factor().expect("diagonally dominant");
            a.solve(&mut b);
            assert!(b.iter().zip(&x).all(|(b, x)| (b - x).abs() < 1e-14));
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused_with_its_pivot() {
        let mut a = SymmetricBand::new(3, 1);
        a.add(0, 0, 1.0);
        a.add(1, 0, 2.0);
        a.add(1, 1, 1.0);
        a.add(2, 2, 1.0);
        assert_eq!(a.factor(), Err(NotPositiveDefinite { index: 1, pivot: -3.0 }));
    }
}
