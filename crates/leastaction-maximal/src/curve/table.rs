//! [`Table`]: the numbers of one degree, in fixed arrays. (8.1)

use super::damped::Damped;
use crate::lobatto::{Lobatto, gauss, invert, lagrange};

/// Largest degree of the curve of a step: order 12.
pub(crate) const MAX_DEGREE: usize = 6;
/// Nodes of the largest degree.
pub(crate) const NODES: usize = MAX_DEGREE + 1;

/// By node; entries beyond the degree are zero.
pub(crate) type PerNode = [f64; NODES];

/// Nodes, weights and couplings of the curve of degree `s`.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) s: usize,
    pub(crate) c: PerNode,
    pub(crate) w: PerNode,
    /// `b[α][β]`: rates at the nodes by values at the nodes, times `h`.
    pub(crate) b: [PerNode; NODES],
    /// `h C^{αγ} = Σ_β w^β b^{βα} b^{βγ}`.
    pub(crate) mass: [PerNode; NODES],
    /// `C⁻¹/h` by `[γ][α]`, `γ = 1..s`, `α = 0..s−1`.
    pub(crate) mass_inverse: [PerNode; NODES],
    /// What of `c h` of a damper of a loop joint, which knows no basis, stands in the mass matrix of the iteration: it makes the
    /// iteration converge for every damping. (8.13)
    pub(crate) damping_share: f64,
    /// How dampers of coordinates stand in the iteration. (8.13)
    pub(crate) damped: Damped,
    /// Stiff springs, summed at Gauss points: `Q^{αγ}` and `m^α`. (8.10)
    pub(crate) gauss: [PerNode; NODES],
    pub(crate) gauss_weight: PerNode,
    /// Values and rates (times `h`) of the Lagrange polynomials at the Gauss points by `[g][γ]`, and their weights.
    pub(crate) gauss_value: [PerNode; NODES],
    pub(crate) gauss_rate: [PerNode; NODES],
    pub(crate) gauss_share: PerNode,
    /// `w^α ℓ_i(c^α)` by `[i][α]`, and `h Ψ⁻¹` by `[γ][i]`, of velocity rows. (8.20)
    pub(crate) weak: [PerNode; NODES],
    pub(crate) weak_inverse: [PerNode; NODES],
    /// Lagrange basis at the middle of the step.
    pub(crate) middle: PerNode,
    /// `ahead[γ]`: the polynomials through the nodes of the last two steps of the same length, `c − 2` and `c − 1`, at the
    /// nodes of the next one. (8.14)
    pub(crate) ahead: [[f64; 2 * MAX_DEGREE + 1]; NODES],
}

/// Minimises the largest `|1 − μ/θ|` over the eigenvalues `μ` of `−(hC)⁻¹(w b)`, for degrees 1 to 6.
const DAMPING_SHARE: [f64; MAX_DEGREE] = [0.5, 1.0 / 3.0, 0.272, 0.238, 0.215, 0.199];

/// `N`: the coupling of the nodes by a damper, multiplied by the inverse of the masses'.
fn damping(s: usize, inverse: &[Vec<f64>], t: &Lobatto) -> Vec<Vec<f64>> {
    let row =
        |ga: usize, to: usize| (0..s).map(|al| -inverse[ga][al] * t.weights[al] * t.b[al][to + 1]).sum();
    (0..s).map(|ga| (0..s).map(|to| row(ga, to)).collect()).collect()
}

impl Table {
    /// The table of degree `1 ≤ s ≤ 6`.
    pub(crate) fn new(s: usize) -> Self {
        assert!((1..=MAX_DEGREE).contains(&s), "degrees 1 to {MAX_DEGREE} have tables");
        let t = Lobatto::new(s);
        let lanes = |from: usize, to: usize, f: &dyn Fn(usize) -> f64| -> PerNode {
            std::array::from_fn(|i| if (from..to).contains(&i) { f(i) } else { 0.0 })
        };
        let square = |rows: std::ops::Range<usize>,
                      columns: std::ops::Range<usize>,
                      f: &dyn Fn(usize, usize) -> f64|
         -> [PerNode; NODES] {
            std::array::from_fn(|i| {
                if rows.contains(&i) { lanes(columns.start, columns.end, &|j| f(i, j)) } else { [0.0; NODES] }
            })
        };
        let coupling =
            |al: usize, ga: usize| (0..=s).map(|be| t.weights[be] * t.b[be][al] * t.b[be][ga]).sum::<f64>();
        let inverse = invert((0..s).map(|al| (1..=s).map(|ga| coupling(al, ga)).collect()).collect());
        // Lagrange polynomials of degree s − 1 through the first s nodes test the velocity rows.
        let test = |i: usize, al: usize| t.weights[al] * lagrange(&t.nodes[..s], i, t.nodes[al]);
        let psi = |i: usize, ga: usize| (0..=s).map(|al| test(i, al) * t.b[al][ga]).sum::<f64>();
        let weak_inverse = invert((0..s).map(|i| (1..=s).map(|ga| psi(i, ga)).collect()).collect());
        let (places, weights) = gauss(s);
        let value = |al: usize, g: usize| lagrange(&t.nodes, al, places[g]);
        let middle = t.basis_at(0.5);
        let past: Vec<f64> =
            t.nodes[..s].iter().map(|c| c - 2.0).chain(t.nodes.iter().map(|c| c - 1.0)).collect();
        let all = 0..s + 1;
        Self {
            s,
            c: lanes(0, s + 1, &|i| t.nodes[i]),
            w: lanes(0, s + 1, &|i| t.weights[i]),
            b: square(all.clone(), all.clone(), &|i, j| t.b[i][j]),
            mass: square(all.clone(), all.clone(), &coupling),
            mass_inverse: square(1..s + 1, 0..s, &|ga, al| inverse[ga - 1][al]),
            damping_share: DAMPING_SHARE[s - 1],
            damped: Damped::new(&damping(s, &inverse, &t), &inverse, &coupling),
            gauss: square(all.clone(), all.clone(), &|al, ga| {
                (0..s).map(|g| weights[g] * value(al, g) * value(ga, g)).sum()
            }),
            gauss_weight: lanes(0, s + 1, &|al| (0..s).map(|g| weights[g] * value(al, g)).sum()),
            gauss_value: square(0..s, all.clone(), &|g, ga| value(ga, g)),
            gauss_rate: square(0..s, all.clone(), &|g, ga| {
                (0..=s).map(|al| value(al, g) * t.b[al][ga]).sum::<f64>()
            }),
            gauss_share: lanes(0, s, &|g| weights[g]),
            weak: square(0..s, all, &test),
            weak_inverse: square(1..s + 1, 0..s, &|ga, i| weak_inverse[ga - 1][i]),
            middle: lanes(0, s + 1, &|i| middle[i]),
            ahead: std::array::from_fn(|ga| {
                std::array::from_fn(|k| {
                    if ga <= s && k < past.len() { lagrange(&past, k, t.nodes[ga]) } else { 0.0 }
                })
            }),
        }
    }

    #[cfg(test)]
    pub(super) fn damping(&self) -> Vec<Vec<f64>> {
        let t = Lobatto::new(self.s);
        let inverse: Vec<Vec<f64>> =
            (0..self.s).map(|g| self.mass_inverse[g + 1][..self.s].to_vec()).collect();
        damping(self.s, &inverse, &t)
    }

    /// Values at `x` of the Lagrange polynomials of the first `count` nodes. Does not allocate.
    pub(crate) fn basis(&self, count: usize, x: f64) -> PerNode {
        let mut out = [0.0; NODES];
        for (j, out) in out.iter_mut().enumerate().take(count) {
            *out = lagrange(&self.c[..count], j, x);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn couplings_annihilate_constants_and_their_inverses_are_inverses() {
        for s in 1..=MAX_DEGREE {
            let t = Table::new(s);
            for al in 0..=s {
                assert!(t.mass[al].iter().sum::<f64>().abs() < 1e-11, "s = {s}");
                assert!((t.gauss[al].iter().sum::<f64>() - t.gauss_weight[al]).abs() < 1e-13, "s = {s}");
            }
            for i in 0..s {
                for k in 0..s {
                    let unit = f64::from(u8::from(i == k));
                    let sum: f64 = (1..=s).map(|ga| t.mass[i][ga] * t.mass_inverse[ga][k]).sum();
                    assert!((sum - unit).abs() < 1e-11, "s = {s}: {sum}");
                    let psi = |ga: usize| (0..=s).map(|al| t.weak[i][al] * t.b[al][ga]).sum::<f64>();
                    let sum: f64 = (1..=s).map(|ga| psi(ga) * t.weak_inverse[ga][k]).sum();
                    assert!((sum - unit).abs() < 1e-11, "s = {s}: {sum}");
                }
            }
        }
    }

    #[test]
    fn degree_one_is_the_scheme_of_second_order() {
        let t = Table::new(1);
        assert_eq!(t.mass[0][1], -1.0);
        assert_eq!(t.mass_inverse[1][0], -1.0);
        // A stiff spring by its one Gauss point is the midpoint rule.
        assert!((t.gauss[0][1] - 0.25).abs() < 1e-15 && (t.gauss_weight[0] - 0.5).abs() < 1e-15);
    }
}
