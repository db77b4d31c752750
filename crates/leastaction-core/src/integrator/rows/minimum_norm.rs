//! [`MinimumNorm`]: symmetric systems of rows that may depend on each other.
//!
//! Cholesky with pivoting, hard rows first. Hard rows that follow from others are dropped: their multipliers have no meaning. Of
//! the other rows all take part: where they depend on each other, `W = L Lᵀ` with fewer columns than rows, and
//!
//! ```text
//! λ = L (LᵀL)⁻² Lᵀ b                                                                                     (7.11)
//! ```
//!
//! is the solution with the smallest sum of squares.

/// Part of a hard row's own size below which it is dropped: what is left of a redundant row of a loop whose data has five digits
/// stays below, needed rows are above by far.
const HARD: f64 = 3e-7;
/// The same for other rows, and for hard ones where no loops are.
const DROPPED: f64 = 1e-11;

/// Factors of one system, and memory for any.
#[derive(Clone, Debug)]
pub(super) struct MinimumNorm {
    m: usize,
    hard: usize,
    /// The matrix, then its factor: entry (order i, order j), j ≤ i, for `rank` columns.
    a: Vec<f64>,
    order: Vec<usize>,
    /// Pivots among the hard rows, and among all.
    hard_rank: usize,
    rank: usize,
    size: Vec<f64>,
    y: Vec<f64>,
    /// Cholesky factor of `LᵀL` of the other rows.
    normal: Vec<f64>,
}

impl MinimumNorm {
    pub(super) fn new(most: usize) -> Self {
        Self {
            m: 0,
            hard: 0,
            a: vec![0.0; most * most],
            order: vec![0; most],
            hard_rank: 0,
            rank: 0,
            size: vec![0.0; most],
            y: vec![0.0; most],
            normal: vec![0.0; most * most],
        }
    }

    /// Factors the matrix of `m` rows, of which the first `hard` are hard. Does not allocate.
    pub(super) fn factor(&mut self, m: usize, hard: usize, loops: bool, entry: impl Fn(usize, usize) -> f64) {
        (self.m, self.hard) = (m, hard);
        for i in 0..m {
            for j in 0..m {
                self.a[i * m + j] = entry(i, j);
            }
            self.order[i] = i;
            self.size[i] = self.a[i * m + i];
        }
        self.hard_rank = self.eliminate(0, hard, if loops { HARD } else { DROPPED }, loops);
        // Hard rows without a pivot go behind: they take no part.
        self.order[self.hard_rank..m].rotate_left(hard - self.hard_rank);
        let end = m - (hard - self.hard_rank);
        self.rank = self.eliminate(self.hard_rank, end, DROPPED, loops);
        self.prepare_normal(end);
    }

    /// Pivots among places `from..to`; returns where they end.
    fn eliminate(&mut self, from: usize, to: usize, dropped: f64, by_own_size: bool) -> usize {
        let (a, order, m) = (&mut self.a, &mut self.order, self.m);
        let mut largest = 0.0f64;
        for k in from..to {
            let best = (k..to).max_by(|i, j| {
                let d = |i: usize| a[order[i] * m + order[i]];
                d(*i).total_cmp(&d(*j))
            });
            let best = best.unwrap_or(k);
            order.swap(k, best);
            let p = order[k];
            let pivot = a[p * m + p];
            largest = largest.max(pivot);
            let size = if by_own_size { self.size[p] } else { largest };
            if pivot.is_nan() || pivot <= dropped * size || pivot <= 0.0 {
                return k;
            }
            let root = pivot.sqrt();
            a[p * m + p] = root;
            for &r in &order[k + 1..m] {
                a[r * m + p] /= root;
            }
            for i in k + 1..m {
                let r = order[i];
                let f = a[r * m + p];
                for &c in &order[k + 1..m] {
                    let g = a[c * m + p];
                    a[r * m + c] -= f * g;
                }
            }
        }
        to
    }

    /// The factor of the rows that are not hard: row `i` in `0..soft`, column `j` in `0..rank`.
    fn soft(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i + self.hard_rank, j + self.hard_rank);
        if j > i { 0.0 } else { self.a[self.order[i] * self.m + self.order[j]] }
    }

    fn dependent(&self) -> bool {
        self.rank < self.m - (self.hard - self.hard_rank)
    }

    /// Cholesky factor of `LᵀL`, where rows depend on each other.
    fn prepare_normal(&mut self, end: usize) {
        if !self.dependent() {
            return;
        }
        let (soft, r) = (end - self.hard_rank, self.rank - self.hard_rank);
        for i in 0..r {
            for j in 0..=i {
                let mut sum: f64 = (0..soft).map(|k| self.soft(k, i) * self.soft(k, j)).sum();
                for k in 0..j {
                    sum -= self.normal[i * r + k] * self.normal[j * r + k];
                }
                self.normal[i * r + j] = if i == j { sum.sqrt() } else { sum / self.normal[j * r + j] };
            }
        }
    }

    /// `y[from..]` by `(LᵀL)⁻¹`.
    fn solve_normal(&mut self) {
        let (first, r) = (self.hard_rank, self.rank - self.hard_rank);
        for i in 0..r {
            for k in 0..i {
                self.y[first + i] -= self.normal[i * r + k] * self.y[first + k];
            }
            self.y[first + i] /= self.normal[i * r + i];
        }
        for i in (0..r).rev() {
            for k in i + 1..r {
                self.y[first + i] -= self.normal[k * r + i] * self.y[first + k];
            }
            self.y[first + i] /= self.normal[i * r + i];
        }
    }

    /// Replaces a right-hand side by the solution. Does not allocate.
    pub(super) fn solve(&mut self, b: &mut [f64]) {
        let (m, first) = (self.m, self.hard_rank);
        let entry = |a: &[f64], order: &[usize], i: usize, j: usize| a[order[i] * m + order[j]];
        let end = m - (self.hard - self.hard_rank);
        // Forward through the pivots; where rows depend on each other, only through the hard ones.
        let pivots = if self.dependent() { first } else { self.rank };
        for i in 0..pivots {
            let mut sum = b[self.order[i]];
            for j in 0..i {
                sum -= entry(&self.a, &self.order, i, j) * self.y[j];
            }
            self.y[i] = sum / entry(&self.a, &self.order, i, i);
        }
        if self.dependent() {
            // What is left for the other rows, then Lᵀ, (LᵀL)⁻² and L.
            for i in first..end {
                for j in 0..first {
                    b[self.order[i]] -= entry(&self.a, &self.order, i, j) * self.y[j];
                }
            }
            for j in first..self.rank {
                self.y[j] = (j..end).map(|i| entry(&self.a, &self.order, i, j) * b[self.order[i]]).sum();
            }
            self.solve_normal();
            self.solve_normal();
            for i in first..end {
                let last = self.rank.min(i + 1);
                b[self.order[i]] = (first..last).map(|j| entry(&self.a, &self.order, i, j) * self.y[j]).sum();
            }
        } else {
            for i in (first..self.rank).rev() {
                let mut sum = self.y[i];
                for j in i + 1..self.rank {
                    sum -= entry(&self.a, &self.order, j, i) * b[self.order[j]];
                }
                b[self.order[i]] = sum / entry(&self.a, &self.order, i, i);
            }
        }
        for i in (0..first).rev() {
            let mut sum = self.y[i];
            for j in i + 1..end {
                sum -= entry(&self.a, &self.order, j, i) * b[self.order[j]];
            }
            b[self.order[i]] = sum / entry(&self.a, &self.order, i, i);
        }
        for i in end..m {
            b[self.order[i]] = 0.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `G Gᵀ` of rows in three dimensions: two hard ones (one twice), then rows that depend on each other.
    #[test]
    fn rows_that_depend_on_each_other_share_evenly() {
        let rows: [[f64; 3]; 6] = [
            [1.0, 0.0, 0.0],
            [2.0, 0.0, 0.0],
            [0.3, 1.0, 0.0],
            [0.3, 2.0, 0.0],
            [-0.1, 0.5, 1.0],
            [0.0, 1.0, 2.0],
        ];
        let target = [0.7, 1.4, -0.2, 0.0, 0.5, 0.0];
        // Targets of dependent rows agree: taken from a vector.
        let x = [0.7, 0.3, -0.6];
        let b: Vec<f64> = rows.iter().map(|r| r.iter().zip(&x).map(|(a, b)| a * b).sum()).collect();
        assert_eq!(b[0], target[0]);
        let dot = |i: usize, j: usize| -> f64 { rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum() };
        let mut system = MinimumNorm::new(6);
        system.factor(6, 2, true, dot);
        let mut found = b.clone();
        system.solve(&mut found);
        let back =
            |y: &[f64]| -> Vec<f64> { (0..6).map(|i| (0..6).map(|j| dot(i, j) * y[j]).sum()).collect() };
        for (left, right) in back(&found).iter().zip(&b) {
            assert!((left - right).abs() < 1e-13, "{left} {right}");
        }
        // Any other solution has larger forces of the rows that are not hard: the null space is orthogonal to them.
        for null in [[0.0; 4], [2.0, -1.0, 0.0, 0.0]] {
            // Along rows 2 and 3: 2 r2 − r3 is a multiple of the hard row.
            let along: f64 = null.iter().zip(&found[2..]).map(|(a, b)| a * b).sum();
            assert!(along.abs() < 1e-13, "{along}");
        }
        assert_eq!(found[0].min(found[1].abs()), 0.0);
    }
}
