//! [`Scheme`]: the numbers of one method, in fixed arrays for the kernels.
//!
//! The curve of a step is the polynomial through `s + 1` Lobatto nodes. The action is summed at *points*, one per lane:
//! at the same nodes, or at the `s` Gauss points, where no linear oscillation is ever unstable (2.7).

use super::options::Quadrature;
use crate::lobatto::{Lobatto, gauss, invert, lagrange};

/// `N` lanes, of which the first ones are points or rows and the rest are zero.
#[derive(Clone, Debug)]
pub(crate) struct Scheme<const N: usize> {
    /// Degree of the curve.
    pub(crate) s: usize,
    /// Points at which the action is summed: `s + 1` nodes or `s` Gauss points.
    pub(crate) points: usize,
    /// True if the points are those of Gauss, between the nodes.
    pub(crate) gauss: bool,
    /// Nodes of the curve.
    pub(crate) c: [f64; N],
    /// Weights of the points.
    pub(crate) w: [f64; N],
    /// `b[g][γ] = ℓ̇_γ(ĉ_g)`: rates at the points by values at the nodes.
    pub(crate) b: [[f64; N]; N],
    /// `a_columns[g][α] = a^{αg} = w^g b^{gα}`.
    pub(crate) a_columns: [[f64; N]; N],
    /// `values[γ][g] = ℓ_γ(ĉ_g)`: values at the points by values at the nodes; for nodes the unit matrix.
    pub(crate) values: [[f64; N]; N],
    /// The same by `[g][α]`.
    pub(crate) value_rows: [[f64; N]; N],
    /// Lagrange basis at the middle of the step.
    pub(crate) middle: [f64; N],
    /// Inverse of `C^{αγ} h = Σ_β w^β b^{βα} b^{βγ}`, `α = 0..s−1`, `γ = 1..s`, stored as `[γ][α]`.
    pub(crate) c_inverse: [[f64; N]; N],
}

impl<const N: usize> Scheme<N> {
    /// The method of degree `s`; points by an automatic choice are nodes until the step length says otherwise.
    pub(crate) fn new(s: usize, quadrature: Quadrature) -> Self {
        assert!(s < N, "{N} lanes hold degrees below {N}");
        let t = Lobatto::new(s);
        let on_gauss = quadrature == Quadrature::Gauss;
        let (places, weights) = if on_gauss { gauss(s) } else { (t.nodes.clone(), t.weights.clone()) };
        let points = places.len();
        // Interpolation is exact for the curve and for its rate.
        let value = |ga: usize, g: usize| {
            if on_gauss { lagrange(&t.nodes, ga, places[g]) } else { f64::from(u8::from(ga == g)) }
        };
        let rate = |g: usize, ga: usize| -> f64 {
            if on_gauss { (0..=s).map(|be| value(be, g) * t.b[be][ga]).sum() } else { t.b[g][ga] }
        };
        let lanes = |count: usize, f: &dyn Fn(usize) -> f64| -> [f64; N] {
            std::array::from_fn(|i| if i < count { f(i) } else { 0.0 })
        };
        let matrix = |rows: usize, columns: usize, f: &dyn Fn(usize, usize) -> f64| -> [[f64; N]; N] {
            std::array::from_fn(|i| lanes(if i < rows { columns } else { 0 }, &|j| f(i, j)))
        };
        let middle = t.basis_at(0.5);
        let coupling = (0..s)
            .map(|al| {
                (1..=s).map(|ga| (0..=s).map(|be| t.weights[be] * t.b[be][al] * t.b[be][ga]).sum()).collect()
            })
            .collect();
        let inverse = invert(coupling);
        Self {
            s,
            points,
            gauss: on_gauss,
            c: lanes(s + 1, &|i| t.nodes[i]),
            w: lanes(points, &|g| weights[g]),
            b: matrix(points, s + 1, &rate),
            a_columns: matrix(points, s + 1, &|g, al| weights[g] * rate(g, al)),
            values: matrix(s + 1, points, &value),
            value_rows: matrix(points, s + 1, &|g, al| value(al, g)),
            middle: lanes(s + 1, &|i| middle[i]),
            c_inverse: matrix(s + 1, s, &|i, j| if i >= 1 { inverse[i - 1][j] } else { 0.0 }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_of_the_mass_coupling_is_an_inverse() {
        for quadrature in [Quadrature::Nodes, Quadrature::Gauss] {
            let scheme = Scheme::<5>::new(4, quadrature);
            for al in 0..4 {
                for be in 0..4 {
                    let sum: f64 = (1..=4)
                        .map(|ga| {
                            let c: f64 =
                                (0..5).map(|k| scheme.w[k] * scheme.b[k][al] * scheme.b[k][ga]).sum();
                            c * scheme.c_inverse[ga][be]
                        })
                        .sum();
                    assert!((sum - f64::from(u8::from(al == be))).abs() < 1e-12);
                }
            }
        }
    }
}
