//! Dampers in the iteration with one mass matrix: they couple the nodes otherwise than masses do. (8.13)
//!
//! Multiplied by the inverse of the masses' coupling, a damper `c` stands at the nodes as `c h N`, with complex eigenvalues. In a
//! basis of the nodes where `N` is nearly lower triangular with one number `θ` on its diagonal, the nodes are solved one after
//! the other with the one matrix `M + θ c h`, and the dampers' share of those before is a force.

use super::table::{MAX_DEGREE, NODES, PerNode};
use crate::lobatto::invert;

/// Geometric means of the eigenvalues of `N`, for degrees 1 to 6.
const SHARE: [f64; MAX_DEGREE] = [0.5, 0.2887, 0.2027, 0.1562, 0.1270, 0.1070];

/// The basis of one degree.
#[derive(Clone, Debug)]
pub(crate) struct Damped {
    /// `θ`, what of a damper's `c h` stands in the mass matrix.
    pub(crate) share: f64,
    /// `N` in the basis below the diagonal: entry `k` takes from entry `k − 1`.
    pub(crate) below: PerNode,
    /// To the basis, by `[k][γ − 1]`, and back, by `[γ − 1][k]`.
    pub(crate) to: [PerNode; NODES],
    pub(crate) back: [PerNode; NODES],
    /// `C⁻¹/h` to the basis by `[k][α]`, and `h C` from it by `[α][k + 1]`: the table's `mass_inverse` and `mass`.
    pub(crate) inverse: [PerNode; NODES],
    pub(crate) mass: [PerNode; NODES],
}

type Complex = [f64; 2];

fn times(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

fn over(a: Complex, b: Complex) -> Complex {
    let n = b[0] * b[0] + b[1] * b[1];
    [(a[0] * b[0] + a[1] * b[1]) / n, (a[1] * b[0] - a[0] * b[1]) / n]
}

fn apply(n: &[Vec<f64>], v: &[f64]) -> Vec<f64> {
    n.iter().map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum()).collect()
}

/// Eigenvalues: the characteristic polynomial by traces, all its roots at once.
fn eigenvalues(n: &[Vec<f64>]) -> Vec<Complex> {
    let s = n.len();
    let mut c = vec![1.0];
    let mut m = vec![vec![0.0; s]; s];
    for k in 1..=s {
        for (i, row) in m.iter_mut().enumerate() {
            row[i] += c[k - 1];
        }
        m = (0..s).map(|i| (0..s).map(|j| (0..s).map(|l| n[i][l] * m[l][j]).sum()).collect()).collect();
        c.push(-(0..s).map(|i| m[i][i]).sum::<f64>() / k as f64);
    }
    let scale = SHARE[s - 1];
    let mut turn = [scale, 0.0];
    let mut roots: Vec<Complex> = (0..s)
        .map(|_| {
            turn = times(turn, [0.4, 0.9]);
            turn
        })
        .collect();
    for _ in 0..200 {
        for i in 0..s {
            let z = roots[i];
            let value = c.iter().fold([0.0, 0.0], |p, c| {
                let p = times(p, z);
                [p[0] + c, p[1]]
            });
            let apart = (0..s)
                .filter(|j| *j != i)
                .fold([1.0, 0.0], |p, j| times(p, [z[0] - roots[j][0], z[1] - roots[j][1]]));
            let d = over(value, apart);
            roots[i] = [z[0] - d[0], z[1] - d[1]];
        }
    }
    roots
}

impl Damped {
    /// The basis for `N` by `[γ − 1][γ′ − 1]`, and the masses' coupling in it: their inverse by `[γ − 1][α]`, themselves by `(α, γ)`.
    pub(super) fn new(n: &[Vec<f64>], inverse: &[Vec<f64>], mass: &dyn Fn(usize, usize) -> f64) -> Self {
        let (s, share) = (n.len(), SHARE[n.len() - 1]);
        let roots: Vec<Complex> = eigenvalues(n).into_iter().filter(|z| z[1] > -1e-9).collect();
        let is_real = |z: &Complex| z[1] < 1e-9;
        let (mut columns, mut below): (Vec<Vec<f64>>, _) = (Vec::new(), [0.0; NODES]);
        for (i, z) in roots.iter().enumerate() {
            // The factors of the other eigenvalues leave of any vector what belongs to this one.
            let mut v: Vec<f64> = (0..s).map(|k| 1.0 + k as f64).collect();
            for (_, o) in roots.iter().enumerate().filter(|(j, _)| *j != i) {
                let once = apply(n, &v);
                v = if is_real(o) {
                    (0..s).map(|k| once[k] - o[0] * v[k]).collect()
                } else {
                    let twice = apply(n, &once);
                    let square = o[0] * o[0] + o[1] * o[1];
                    (0..s).map(|k| twice[k] - 2.0 * o[0] * once[k] + square * v[k]).collect()
                };
            }
            let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
            let size = norm(&v);
            v.iter_mut().for_each(|x| *x /= size);
            let at = columns.len();
            if is_real(z) {
                columns.push(v);
                continue;
            }
            // N v = θ v + l u says which the second vector is.
            let once = apply(n, &v);
            let mut u: Vec<f64> = (0..s).map(|k| once[k] - share * v[k]).collect();
            let l = norm(&u);
            u.iter_mut().for_each(|x| *x /= l);
            below[at + 1] = l;
            columns.extend([v, u]);
        }
        let rows: Vec<Vec<f64>> = (0..s).map(|i| (0..s).map(|k| columns[k][i]).collect()).collect();
        let basis = invert(rows.clone());
        let by_basis = |k: usize, al: usize| (0..s).map(|g| basis[k][g] * inverse[g][al]).sum();
        let of_basis = |al: usize, k: usize| (0..s).map(|g| mass(al, g + 1) * rows[g][k]).sum();
        let (mut inverse_in, mut mass_in) = ([[0.0; NODES]; NODES], [[0.0; NODES]; NODES]);
        for k in 0..s {
            for al in 0..s {
                inverse_in[k][al] = by_basis(k, al);
                mass_in[al][k + 1] = of_basis(al, k);
            }
        }
        let fixed = |m: &[Vec<f64>]| {
            std::array::from_fn(|i| std::array::from_fn(|k| if i < s && k < s { m[i][k] } else { 0.0 }))
        };
        Self { share, below, back: fixed(&rows), to: fixed(&basis), inverse: inverse_in, mass: mass_in }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::Table;

    /// Contraction by a damper of any strength: the largest eigenvalue of `1 − (1 + x L)⁻¹(1 + x N)`, by its high powers.
    #[test]
    fn dampers_of_every_strength_are_solved_in_a_few_iterations() {
        for (s, bound) in [(1, 1e-12), (2, 0.067), (3, 0.166), (4, 0.238), (5, 0.292), (6, 0.331)] {
            let table = Table::new(s);
            let (d, n) = (&table.damped, table.damping());
            for exponent in -30..=30 {
                let x = 10f64.powf(f64::from(exponent) * 0.2);
                let mut e: Vec<f64> = (0..s).map(|k| 1.0 - 0.37 * k as f64).collect();
                let mut size = 1.0;
                for _ in 0..40 {
                    let full = apply(&n, &e);
                    let r: Vec<f64> = (0..s).map(|k| e[k] + x * full[k]).collect();
                    let mut z = vec![0.0; s];
                    for k in 0..s {
                        let given: f64 = (0..s).map(|g| d.to[k][g] * r[g]).sum();
                        let before = if k > 0 { d.below[k] * z[k - 1] } else { 0.0 };
                        z[k] = (given - x * before) / (1.0 + x * d.share);
                    }
                    for g in 0..s {
                        e[g] -= (0..s).map(|k| d.back[g][k] * z[k]).sum::<f64>();
                    }
                    let norm = e.iter().map(|x| x * x).sum::<f64>().sqrt();
                    size = norm;
                    if norm < 1e-60 {
                        break;
                    }
                }
                assert!(size < 1e4 * f64::powi(bound, 40).max(1e-60), "s = {s}, x = {x}: {size:e}");
            }
        }
    }
}
