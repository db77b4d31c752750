//! Small convex quadratic programs between bounds, by projected Newton steps.
//!
//! `min ½ xᵀ H x + gᵀ x`, `lower ≤ x ≤ upper` (6.12). Coordinates at a bound whose gradient points outward are held;
//! the others take a Newton step, shortened until the projected point improves.

use crate::linalg::{BadPivot, cholesky, cholesky_solve, dot};

/// Memory and result of the solver; made for one size.
#[derive(Clone, Debug)]
pub struct BoxQp {
    n: usize,
    /// The solution.
    pub x: Vec<f64>,
    /// True where the coordinate is not held at a bound.
    pub free: Vec<bool>,
    gradient: Vec<f64>,
    step: Vec<f64>,
    trial: Vec<f64>,
    factor: Vec<f64>,
    index: Vec<usize>,
}

/// Most Newton steps: active sets of a few tens of coordinates settle in a handful.
const MOST: usize = 100;

impl BoxQp {
    /// Memory for `n` coordinates.
    #[must_use]
    pub fn new(n: usize) -> Self {
        Self {
            n,
            x: vec![0.0; n],
            free: vec![true; n],
            gradient: vec![0.0; n],
            step: vec![0.0; n],
            trial: vec![0.0; n],
            factor: vec![0.0; n * n],
            index: Vec::with_capacity(n),
        }
    }

    /// Solves from the present `x`.
    ///
    /// # Errors
    /// If `H` is not positive definite on the free coordinates.
    pub fn solve(&mut self, h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> Result<(), BadPivot> {
        let n = self.n;
        if lower.iter().all(|l| *l == f64::NEG_INFINITY) && upper.iter().all(|u| *u == f64::INFINITY) {
            self.free.fill(true);
            self.factor_free(h)?;
            self.x.iter_mut().zip(g).for_each(|(x, g)| *x = -g);
            cholesky_solve(&self.factor, n, &mut self.x, 1);
            return Ok(());
        }
        for i in 0..n {
            self.x[i] = if self.x[i].is_finite() { self.x[i].clamp(lower[i], upper[i]) } else { 0.0 };
        }
        for _ in 0..MOST {
            let mut scale = 0.0f64;
            for i in 0..n {
                let pull = dot(&h[i * n..(i + 1) * n], &self.x);
                self.gradient[i] = pull + g[i];
                scale = scale.max(g[i].abs()).max(pull.abs());
            }
            let mut worst = 0.0f64;
            for i in 0..n {
                let held = (self.x[i] <= lower[i] && self.gradient[i] > 0.0)
                    || (self.x[i] >= upper[i] && self.gradient[i] < 0.0);
                self.free[i] = !held;
                if !held {
                    worst = worst.max(self.gradient[i].abs());
                }
            }
            self.factor_free(h)?;
            if worst <= 1e-13 * scale {
                return Ok(());
            }
            let gradient: &[f64] = &self.gradient;
            for (k, i) in self.index.iter().enumerate() {
                self.trial[k] = -gradient[*i];
            }
            let m = self.index.len();
            cholesky_solve(&self.factor, m, &mut self.trial[..m], 1);
            self.step.fill(0.0);
            for (k, i) in self.index.iter().enumerate() {
                self.step[*i] = self.trial[k];
            }
            // A free coordinate at its bound may be sent outward by the others: then one coordinate after the other.
            if !self.search(h, g, lower, upper) && !self.relax(h, g, lower, upper) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Replaces rows of right-hand sides `b` (`n × m`) by `−H⁻¹ b` on the free coordinates and zero on the others.
    pub fn gains(&mut self, b: &[f64], m: usize, out: &mut [f64]) {
        let free = self.index.len();
        let mut rows = std::mem::take(&mut self.trial);
        rows.resize(self.n.max(free * m), 0.0);
        for (k, i) in self.index.iter().enumerate() {
            for c in 0..m {
                rows[k * m + c] = -b[i * m + c];
            }
        }
        cholesky_solve(&self.factor, free, &mut rows[..free * m], m);
        out[..self.n * m].fill(0.0);
        for (k, i) in self.index.iter().enumerate() {
            out[i * m..(i + 1) * m].copy_from_slice(&rows[k * m..(k + 1) * m]);
        }
        self.trial = rows;
    }

    /// Factors the free part of `H`; its coordinates are left in `index`.
    fn factor_free(&mut self, h: &[f64]) -> Result<(), BadPivot> {
        let n = self.n;
        self.index.clear();
        self.index.extend((0..n).filter(|i| self.free[*i]));
        let m = self.index.len();
        for (a, i) in self.index.iter().enumerate() {
            for (b, j) in self.index.iter().enumerate() {
                self.factor[a * m + b] = h[i * n + j];
            }
        }
        cholesky(&mut self.factor[..m * m], m)
    }

    /// Minimizes along each coordinate in turn; false if none moves.
    fn relax(&mut self, h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> bool {
        let n = self.n;
        let mut moved = false;
        for i in 0..n {
            let slope = g[i] + dot(&h[i * n..(i + 1) * n], &self.x);
            let next = (self.x[i] - slope / h[i * (n + 1)]).clamp(lower[i], upper[i]);
            moved |= (next - self.x[i]).abs() > 1e-14 * self.x[i].abs();
            self.x[i] = next;
        }
        moved
    }

    fn value(h: &[f64], g: &[f64], x: &[f64]) -> f64 {
        let n = x.len();
        (0..n).map(|i| x[i] * (0.5 * dot(&h[i * n..(i + 1) * n], x) + g[i])).sum()
    }

    /// Moves along the step as far as the projected point improves; false if it does not at all.
    fn search(&mut self, h: &[f64], g: &[f64], lower: &[f64], upper: &[f64]) -> bool {
        let n = self.n;
        let before = Self::value(h, g, &self.x);
        let mut alpha = 1.0;
        for _ in 0..40 {
            let mut slope = 0.0;
            for i in 0..n {
                self.trial[i] = (self.x[i] + alpha * self.step[i]).clamp(lower[i], upper[i]);
                slope += self.gradient[i] * (self.trial[i] - self.x[i]);
            }
            if slope >= 0.0 {
                return false;
            }
            let after = Self::value(h, g, &self.trial[..n]);
            // A decrease below rounding cannot be seen; the full Newton step is then right.
            if after <= before + 0.1 * slope || (alpha == 1.0 && slope.abs() <= 1e-12 * before.abs()) {
                self.x.copy_from_slice(&self.trial[..n]);
                return true;
            }
            alpha *= 0.6;
        }
        false
    }
}
