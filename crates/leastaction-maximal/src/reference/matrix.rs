//! A small dense matrix with what the twins need.

/// Dense, by rows.
#[derive(Clone, Debug)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) columns: usize,
    data: Vec<f64>,
}

impl Matrix {
    pub(super) fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    pub(super) fn at(&self, r: usize, c: usize) -> f64 {
        self.data[r * self.columns + c]
    }

    pub(super) fn at_mut(&mut self, r: usize, c: usize) -> &mut f64 {
        &mut self.data[r * self.columns + c]
    }

    /// Writes a block at a place.
    pub(super) fn put(&mut self, row: usize, column: usize, block: &Self) {
        for r in 0..block.rows {
            for c in 0..block.columns {
                *self.at_mut(row + r, column + c) = block.at(r, c);
            }
        }
    }

    pub(super) fn product(&self, o: &Self) -> Self {
        let mut out = Self::zero(self.rows, o.columns);
        for r in 0..self.rows {
            for k in 0..self.columns {
                for c in 0..o.columns {
                    *out.at_mut(r, c) += self.at(r, k) * o.at(k, c);
                }
            }
        }
        out
    }

    pub(super) fn subtract(&mut self, o: &Self) {
        self.data.iter_mut().zip(&o.data).for_each(|(a, b)| *a -= b);
    }

    pub(super) fn times(&self, x: &[f64]) -> Vec<f64> {
        (0..self.rows).map(|r| (0..self.columns).map(|c| self.at(r, c) * x[c]).sum()).collect()
    }

    /// Solves every consistent system: elimination with full pivoting, pivots below `floor` of the largest dropped.
    pub(super) fn generalised_inverse(&self, floor: f64) -> Self {
        let n = self.rows;
        let (mut a, mut e) = (self.clone(), Self::zero(n, n));
        (0..n).for_each(|i| *e.at_mut(i, i) = 1.0);
        let floor = floor * self.data.iter().fold(0.0f64, |m, x| m.max(x.abs()));
        let (mut used, mut pivots) = (vec![false; n], Vec::new());
        for k in 0..n {
            let mut best = (floor, None);
            for r in k..n {
                for c in (0..n).filter(|c| !used[*c]) {
                    if a.at(r, c).abs() > best.0 {
                        best = (a.at(r, c).abs(), Some((r, c)));
                    }
                }
            }
            let Some((r, c)) = best.1 else { break };
            for j in 0..n {
                a.data.swap(k * n + j, r * n + j);
                e.data.swap(k * n + j, r * n + j);
            }
            used[c] = true;
            pivots.push(c);
            let p = 1.0 / a.at(k, c);
            for j in 0..n {
                *a.at_mut(k, j) *= p;
                *e.at_mut(k, j) *= p;
            }
            for i in (0..n).filter(|i| *i != k) {
                let s = a.at(i, c);
                for j in 0..n {
                    let (x, y) = (a.at(k, j), e.at(k, j));
                    *a.at_mut(i, j) -= s * x;
                    *e.at_mut(i, j) -= s * y;
                }
            }
        }
        let mut out = Self::zero(n, n);
        for (k, c) in pivots.iter().enumerate() {
            for j in 0..n {
                *out.at_mut(*c, j) = e.at(k, j);
            }
        }
        out
    }
}
