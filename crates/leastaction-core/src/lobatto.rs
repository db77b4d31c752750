//! Lobatto nodes, weights and the differentiation matrix of any degree; Gauss points.
//!
//! On `[0, 1]`: nodes `c`, weights `w` with `Σ w = 1`, and `b` with `q̇^α = (1/h) Σ_β b^{αβ} q^β` for the polynomial
//! through the node values (2.2). `a^{αβ} = w^β b^{βα}` is what the discrete Lagrangian's derivative needs (2.4).

use crate::scalar::elementary;

/// Largest degree the engine supports: order 32, beyond which doubles have nothing to gain. Tables exist for every degree.
pub const MAX_DEGREE: usize = 16;

/// Nodes, weights and differentiation matrix for polynomials of degree `s`.
///
/// ```
/// use leastaction::integrator::minimal::Lobatto;
/// let l = Lobatto::new(2);
/// assert_eq!(l.nodes, [0.0, 0.5, 1.0]);
/// assert!((l.weights[1] - 2.0 / 3.0).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Lobatto {
    /// Degree; the method has order `2 s`.
    pub s: usize,
    /// Nodes on `[0, 1]`.
    pub nodes: Vec<f64>,
    /// Weights, summing to one.
    pub weights: Vec<f64>,
    /// Differentiation matrix, rows by node.
    pub b: Vec<Vec<f64>>,
    /// `a[α][β] = w[β] b[β][α]`.
    pub a: Vec<Vec<f64>>,
}

impl Lobatto {
    /// The table of degree `s ≥ 1`.
    ///
    /// # Panics
    /// If `s` is zero.
    #[must_use]
    pub fn new(s: usize) -> Self {
        assert!(s >= 1, "a polynomial curve needs degree one");
        let x = nodes_on_minus_one_to_one(s);
        let scale = 1.0 / (s * (s + 1)) as f64;
        let weights: Vec<f64> = x.iter().map(|x| scale / legendre(s, *x).0.powi(2)).collect();
        #[cfg(feature = "sabotage")]
        let weights = {
            let mut weights = weights;
            let wrong = crate::sabotage::chosen(crate::sabotage::Fault::NodeWeight);
            weights[0] *= if wrong { 1.001 } else { 1.0 };
            weights
        };
        // Barycentric weights λ_j = 1/Π (x_j − x_k).
        let n = s + 1;
        let bary: Vec<f64> =
            (0..n).map(|j| 1.0 / (0..n).filter(|k| *k != j).map(|k| x[j] - x[k]).product::<f64>()).collect();
        let mut b = vec![vec![0.0; n]; n];
        for i in 0..n {
            for j in 0..n {
                if i != j {
                    b[i][j] = 2.0 * (bary[j] / bary[i]) / (x[i] - x[j]);
                }
            }
            // Negative row sum: constants are annihilated to the last bit.
            b[i][i] = -(0..n).filter(|j| *j != i).map(|j| b[i][j]).sum::<f64>();
        }
        let a = (0..n).map(|i| (0..n).map(|j| weights[j] * b[j][i]).collect()).collect();
        let nodes = x.iter().map(|x| 0.5 * (1.0 + x)).collect();
        Self { s, nodes, weights, b, a }
    }

    /// Values at `x` of the Lagrange polynomials of the nodes: `q(x) = Σ_β ℓ_β(x) q^β`.
    #[must_use]
    pub fn basis_at(&self, x: f64) -> Vec<f64> {
        (0..self.nodes.len()).map(|j| lagrange(&self.nodes, j, x)).collect()
    }
}

/// The roots of `P_s` on `[0, 1]`, and the weights that make their sum exact to degree `2s − 1`.
#[must_use]
pub fn gauss(s: usize) -> (Vec<f64>, Vec<f64>) {
    let root = |k: usize| {
        // Near enough for Newton.
        let mut x = -elementary::cos(std::f64::consts::PI * (k as f64 + 0.75) / (s as f64 + 0.5));
        for _ in 0..20 {
            let (p, dp) = legendre(s, x);
            let step = p / dp;
            x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
        x
    };
    // The nodes are symmetric; rounding is not.
    let x: Vec<f64> = (0..s).map(|k| 0.5 * (root(k) - root(s - 1 - k))).collect();
    let weights = x.iter().map(|x| 1.0 / ((1.0 - x * x) * legendre(s, *x).1.powi(2))).collect();
    (x.iter().map(|x| 0.5 * (1.0 + x)).collect(), weights)
}

/// `P_s(x)` and `P_s'(x)` by the three-term recursion (`|x| < 1` for the derivative).
fn legendre(s: usize, x: f64) -> (f64, f64) {
    let (mut p0, mut p1) = (1.0, x);
    for k in 1..s {
        let k = k as f64;
        (p0, p1) = (p1, ((2.0 * k + 1.0) * x * p1 - k * p0) / (k + 1.0));
    }
    (p1, s as f64 * (p0 - x * p1) / (1.0 - x * x))
}

/// `−1`, the roots of `P_s'`, `1`.
fn nodes_on_minus_one_to_one(s: usize) -> Vec<f64> {
    let mut x = vec![0.0; s + 1];
    (x[0], x[s]) = (-1.0, 1.0);
    for (k, x) in x.iter_mut().enumerate().take(s).skip(1) {
        // The Chebyshev–Lobatto point is near enough for Newton; (1−x²) P'' = 2x P' − s(s+1) P.
        *x = -elementary::cos(std::f64::consts::PI * k as f64 / s as f64);
        for _ in 0..20 {
            let (p, dp) = legendre(s, *x);
            let ddp = (2.0 * *x * dp - (s * (s + 1)) as f64 * p) / (1.0 - *x * *x);
            let step = dp / ddp;
            *x -= step;
            if step.abs() < 1e-16 {
                break;
            }
        }
    }
    // The nodes are symmetric; rounding is not.
    (0..=s).map(|k| 0.5 * (x[k] - x[s - k])).collect()
}

/// Value at `x` of the Lagrange polynomial of `points` that is one at point `j`.
#[must_use]
pub fn lagrange(points: &[f64], j: usize, x: f64) -> f64 {
    let mut value = 1.0;
    for (k, p) in points.iter().enumerate() {
        if k != j {
            value *= (x - p) / (points[j] - p);
        }
    }
    value
}

/// Inverse of a small regular matrix, with pivoting.
#[must_use]
pub fn invert(mut m: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let n = m.len();
    for (i, row) in m.iter_mut().enumerate() {
        row.extend((0..n).map(|j| f64::from(u8::from(i == j))));
    }
    for k in 0..n {
        let pivot = (k..n).max_by(|a, b| m[*a][k].abs().total_cmp(&m[*b][k].abs())).unwrap_or(k);
        m.swap(k, pivot);
        let p = 1.0 / m[k][k];
        m[k].iter_mut().for_each(|x| *x *= p);
        for i in (0..n).filter(|i| *i != k) {
            let f = m[i][k];
            for j in 0..2 * n {
                m[i][j] -= f * m[k][j];
            }
        }
    }
    m.into_iter().map(|row| row[n..].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_of_the_tables_hold_to_degree_32() {
        for s in 1..=32 {
            let l = Lobatto::new(s);
            // Entries of b grow like s²: the identities hold to rounding of the largest.
            let eps = 1e-15 * (s * s + 4) as f64 * s as f64;
            assert!((l.weights.iter().sum::<f64>() - 1.0).abs() < 1e-14 * s as f64, "s = {s}");
            for i in 0..=s {
                assert!(l.b[i].iter().sum::<f64>().abs() < eps, "s = {s}");
                let slope: f64 = l.b[i].iter().zip(&l.nodes).map(|(b, c)| b * c).sum();
                assert!((slope - 1.0).abs() < eps, "s = {s}: {slope}");
                let column: f64 = (0..=s).map(|al| l.a[al][i]).sum();
                assert!(column.abs() < eps, "s = {s}");
            }
            // Quadrature of degree 2s − 1 is exact.
            for k in 0..2 * s {
                let sum: f64 = l.weights.iter().zip(&l.nodes).map(|(w, c)| w * c.powi(k as i32)).sum();
                assert!((sum - 1.0 / (k + 1) as f64).abs() < 1e-14, "s = {s}, degree {k}");
                let (nodes, weights) = gauss(s);
                let sum: f64 = weights.iter().zip(&nodes).map(|(w, c)| w * c.powi(k as i32)).sum();
                assert!((sum - 1.0 / (k + 1) as f64).abs() < 1e-14, "Gauss, s = {s}, degree {k}");
            }
        }
    }
}
