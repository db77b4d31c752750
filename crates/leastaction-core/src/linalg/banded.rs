//! [`Banded`]: symmetric band matrices, their Cholesky factorisation and solves, O(size · width²).
//!
//! The lower triangle is stored by columns, each contiguous: `a[j * (width + 1) + (i − j)]` is entry `(i, j)`,
//! `0 ≤ i − j ≤ width`. The factorisation then works on contiguous columns throughout.

use super::BadPivot;
use crate::scalar::elementary;

/// A symmetric band matrix, or its Cholesky factor after [`factor`](Self::factor).
#[derive(Clone, Debug, PartialEq)]
pub struct Banded {
    size: usize,
    width: usize,
    a: Vec<f64>,
}

impl Banded {
    /// The zero matrix with `width` sub-diagonals.
    #[must_use]
    pub fn new(size: usize, width: usize) -> Self {
        let width = width.min(size.saturating_sub(1));
        Self { size, width, a: vec![0.0; size * (width + 1)] }
    }
    /// Number of rows.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }
    /// Number of sub-diagonals.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }
    /// Sets all entries to zero.
    pub fn clear(&mut self) {
        self.a.fill(0.0);
    }
    /// Takes over the entries of a matrix of the same shape.
    pub fn copy_from(&mut self, other: &Self) {
        self.a.copy_from_slice(&other.a);
    }
    /// Entry `(i, j)` of the lower triangle, `i ≥ j`, inside the band.
    #[inline(always)]
    pub fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.a[j * (self.width + 1) + (i - j)]
    }
    /// The part of column `j` from row `i ≥ j` on, inside the band.
    #[inline(always)]
    pub fn column_from(&mut self, i: usize, j: usize) -> &mut [f64] {
        let (at, end) = (j * (self.width + 1) + (i - j), (j + 1) * (self.width + 1));
        &mut self.a[at..end]
    }
    /// Entry `(i, j)`; zero outside the band.
    #[must_use]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = if i >= j { (i, j) } else { (j, i) };
        if i - j > self.width { 0.0 } else { self.a[j * (self.width + 1) + (i - j)] }
    }
    /// Diagonal entry.
    #[must_use]
    pub fn diagonal(&self, i: usize) -> f64 {
        self.a[i * (self.width + 1)]
    }
    /// Adds `x` to a diagonal entry.
    pub fn add_diagonal(&mut self, i: usize, x: f64) {
        self.a[i * (self.width + 1)] += x;
    }

    /// `out = A x`.
    pub fn mul_into(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for j in 0..self.size {
            let column = &self.a[j * (self.width + 1)..(j + 1) * (self.width + 1)];
            out[j] += column[0] * x[j];
            for k in 1..=self.width.min(self.size - 1 - j) {
                out[j + k] += column[k] * x[j];
                out[j] += column[k] * x[j + k];
            }
        }
    }

    /// Replaces the matrix by its Cholesky factor `L`.
    ///
    /// # Errors
    /// If it is not positive definite; then it is spoilt.
    pub fn factor(&mut self) -> Result<(), BadPivot> {
        let w = self.width + 1;
        for j in 0..self.size {
            let count = w.min(self.size - j);
            let (head, rest) = self.a[j * w..].split_at_mut(w);
            let pivot = head[0];
            // `!(x > 0)` also refuses NaN.
            if !(pivot > 0.0 && pivot.is_finite()) {
                return Err(BadPivot { row: j });
            }
            let root = pivot.sqrt();
            let inverse = 1.0 / root;
            head[0] = root;
            for x in &mut head[1..count] {
                *x *= inverse;
            }
            for k in 1..count {
                let f = head[k];
                if f == 0.0 {
                    continue;
                }
                let target = &mut rest[(k - 1) * w..(k - 1) * w + count - k];
                for (t, h) in target.iter_mut().zip(&head[k..count]) {
                    *t -= f * h;
                }
            }
        }
        Ok(())
    }

    /// Solves `L y = b` in place, for a factored matrix.
    pub fn solve_lower(&self, b: &mut [f64]) {
        let w = self.width + 1;
        for j in 0..self.size {
            let column = &self.a[j * w..j * w + w.min(self.size - j)];
            let x = b[j] / column[0];
            b[j] = x;
            for (k, l) in column.iter().enumerate().skip(1) {
                b[j + k] -= l * x;
            }
        }
    }

    /// Solves `Lᵀ x = y` in place, for a factored matrix.
    pub fn solve_upper(&self, b: &mut [f64]) {
        let w = self.width + 1;
        for j in (0..self.size).rev() {
            let column = &self.a[j * w..j * w + w.min(self.size - j)];
            let mut x = b[j];
            for (k, l) in column.iter().enumerate().skip(1) {
                x -= l * b[j + k];
            }
            b[j] = x / column[0];
        }
    }

    /// `log det A`, for a factored matrix.
    #[must_use]
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.size).map(|i| elementary::ln(self.diagonal(i))).sum::<f64>()
    }

    /// The entries of `A⁻¹` inside the band, for a factored matrix: from the last column back,
    /// `L Z = L⁻ᵀ` gives each entry from those to the right of and below it (Takahashi).
    #[must_use]
    pub fn inverse_band(&self) -> Self {
        let w = self.width + 1;
        let mut z = Self { size: self.size, width: self.width, a: vec![0.0; self.a.len()] };
        for j in (0..self.size).rev() {
            let count = w.min(self.size - j);
            let column = &self.a[j * w..j * w + count];
            for i in (j..j + count).rev() {
                let sum: f64 = (1..count).map(|k| column[k] * z.get(j + k, i)).sum();
                let unit = if i == j { 1.0 / column[0] } else { 0.0 };
                *z.at_mut(i, j) = (unit - sum) / column[0];
            }
        }
        z
    }

    /// Solves `A x = b` in place, for a factored matrix.
    pub fn solve(&self, b: &mut [f64]) {
        self.solve_lower(b);
        self.solve_upper(b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_band_of_the_inverse_and_the_determinant_are_those_of_solves() {
        let (n, width) = (9, 3);
        let mut a = Banded::new(n, width);
        for j in 0..n {
            for i in j..n.min(j + width + 1) {
                *a.at_mut(i, j) = if i == j { 5.0 + j as f64 } else { ((3 * i + j) as f64).sin() };
            }
        }
        let mut factor = a.clone();
        factor.factor().unwrap();
        let band = factor.inverse_band();
        let mut product = 1.0;
        for j in 0..n {
            let mut unit = vec![0.0; n];
            unit[j] = 1.0;
            factor.solve(&mut unit);
            for i in j..n.min(j + width + 1) {
                assert!((band.get(i, j) - unit[i]).abs() < 1e-15, "{i} {j}");
            }
            product *= factor.diagonal(j).powi(2);
        }
        assert!((factor.log_determinant() - product.ln()).abs() < 1e-13);
    }

    fn sample(size: usize, width: usize) -> Banded {
        let mut a = Banded::new(size, width);
        for j in 0..size {
            for i in j..size.min(j + width + 1) {
                *a.at_mut(i, j) =
                    ((i * 7 + j * 3) as f64).sin() + if i == j { 2.0 * width as f64 } else { 0.0 };
            }
        }
        a
    }

    #[test]
    fn the_solution_satisfies_the_system() {
        for (size, width) in [(1, 0), (5, 4), (30, 7), (30, 0)] {
            let mut a = sample(size, width);
            for j in 0..size {
                a.add_diagonal(j, 3.0);
            }
            let b: Vec<f64> = (0..size).map(|i| (i as f64).cos()).collect();
            let mut factor = a.clone();
            factor.factor().unwrap();
            let mut x = b.clone();
            factor.solve(&mut x);
            let mut back = vec![0.0; size];
            a.mul_into(&x, &mut back);
            assert!(b.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-13));
        }
    }

    #[test]
    fn an_indefinite_matrix_is_refused() {
        let mut a = sample(12, 3);
        a.add_diagonal(7, -40.0);
        assert_eq!(a.factor(), Err(BadPivot { row: 7 }));
    }
}
