//! Six-vectors and blocks of the solver: transports, generalised inverse.

use crate::scalar::by_entry;
use crate::spatial::Vec3;
use leastaction_core::simd::{Task, run_widest};

pub(crate) type Six = [f64; 6];
pub(crate) type Block = [[f64; 6]; 6];

pub(super) const ZERO: Block = [[0.0; 6]; 6];

/// `N` consecutive rows as an array: bounds are checked once.
#[inline(always)]
pub(super) fn head<const N: usize>(rows: &[Six], at: usize) -> &[Six; N] {
    match rows[at..].first_chunk::<N>() {
        Some(chunk) => chunk,
        None => unreachable_rows(),
    }
}

#[cold]
fn unreachable_rows() -> ! {
    panic!("coordinate rows are allocated per velocity coordinate")
}

#[inline(always)]
pub(crate) fn dot(a: &Six, b: &Six) -> f64 {
    (a[0] * b[0] + a[1] * b[1]) + (a[2] * b[2] + a[3] * b[3]) + (a[4] * b[4] + a[5] * b[5])
}

#[inline(always)]
pub(super) fn pad(a: Vec3) -> Six {
    [a[0], a[1], a[2], 0.0, 0.0, 0.0]
}

pub(super) fn unit(c: usize) -> Six {
    let mut e = [0.0; 6];
    e[c] = 1.0;
    e
}

pub(super) fn times(m: &Block, x: &Six) -> Six {
    by_entry(|r| dot(&m[r], x))
}

#[inline(always)]
pub(crate) fn angular(a: &Six) -> Vec3 {
    Vec3([a[0], a[1], a[2]])
}

#[inline(always)]
pub(crate) fn linear(a: &Six) -> Vec3 {
    Vec3([a[3], a[4], a[5]])
}

#[inline(always)]
pub(crate) fn six(ang: Vec3, lin: Vec3) -> Six {
    [ang[0], ang[1], ang[2], lin[0], lin[1], lin[2]]
}

/// `T w = [Ω; v + Ω × d]`.
#[inline(always)]
pub(crate) fn transport(w: &Six, d: Vec3) -> Six {
    let (ang, lin) = (angular(w), linear(w));
    six(ang, lin + ang.cross(d))
}

/// `target += Tᵀ [τ; f] = [τ + d × f; f]`.
#[inline(always)]
pub(crate) fn add_wrench(target: &mut Six, wrench: &Six, d: Vec3) {
    let f = linear(wrench);
    let tau = angular(wrench) + d.cross(f);
    for k in 0..3 {
        target[k] += tau[k];
        target[3 + k] += f[k];
    }
}

/// `target += row T = [a₁ + d × a₂, a₂]`.
#[inline(always)]
pub(super) fn add_row(target: &mut Six, row: &Six, d: Vec3) {
    add_wrench(target, row, d);
}

/// `target += T_xᵀ M T_v` with levers `d` and `d'`.
#[inline(always)]
pub(super) fn add_transported(target: &mut Block, m: &Block, d: Vec3, d_end: Vec3) {
    // Columns: [M₁ + (rows of M₂ crossed), M₂]: x (M T) = [a₁ + d' × a₂, a₂] row by row.
    let mut y = *m;
    for row in &mut y {
        let add = d_end.cross(Vec3([row[3], row[4], row[5]]));
        for k in 0..3 {
            row[k] += add[k];
        }
    }
    for c in 0..6 {
        target[0][c] += y[0][c] + d[1] * y[5][c] - d[2] * y[4][c];
        target[1][c] += y[1][c] + d[2] * y[3][c] - d[0] * y[5][c];
        target[2][c] += y[2][c] + d[0] * y[4][c] - d[1] * y[3][c];
        target[3][c] += y[3][c];
        target[4][c] += y[4][c];
        target[5][c] += y[5][c];
    }
}

/// The same for a block that has only its linear part.
#[inline(always)]
pub(super) fn add_linear(target: &mut Block, m: &Block, d: Vec3, d_end: Vec3) {
    let mut y = [[0.0; 6]; 3];
    for r in 0..3 {
        let lin = Vec3([m[3 + r][3], m[3 + r][4], m[3 + r][5]]);
        y[r] = six(d_end.cross(lin), lin);
    }
    for c in 0..6 {
        target[0][c] += d[1] * y[2][c] - d[2] * y[1][c];
        target[1][c] += d[2] * y[0][c] - d[0] * y[2][c];
        target[2][c] += d[0] * y[1][c] - d[1] * y[0][c];
        target[3][c] += y[0][c];
        target[4][c] += y[1][c];
        target[5][c] += y[2][c];
    }
}

/// Elimination with full pivoting of the first `n` rows and columns, in place.
///
/// An entry is judged by `|m_rc|/√(s_r s_c)` with the sizes `s` of its row and column, so that the choice does not depend on
/// the units of rotations and displacements; entries at or below `tolerance` are left.
struct Elimination {
    /// Column of each pivot.
    column: [usize; 6],
    used: [bool; 6],
    rank: usize,
}

impl Elimination {
    #[inline(always)]
    fn new(a: &mut Block, mut e: Option<&mut Block>, n: usize, size: &Six, tolerance: f64) -> Self {
        let weight: Six = by_entry(|r| if r < n && size[r] > 0.0 { 1.0 / size[r] } else { 0.0 });
        let mut weight_of_row = weight;
        let mut this = Self { column: [0; 6], used: [false; 6], rank: 0 };
        for k in 0..n {
            let (mut best, mut at) = (tolerance * tolerance, None);
            for r in k..n {
                let w = weight_of_row[r];
                for c in 0..n {
                    let square = (a[r][c] * w) * (a[r][c] * weight[c]);
                    if square > best && !this.used[c] {
                        best = square;
                        at = Some((r, c));
                    }
                }
            }
            let Some((r, c)) = at else { break };
            a.swap(k, r);
            weight_of_row.swap(k, r);
            if let Some(e) = &mut e {
                e.swap(k, r);
            }
            this.used[c] = true;
            this.column[k] = c;
            this.rank += 1;
            let p = 1.0 / a[k][c];
            let pivot: Six = by_entry(|m| a[k][m] * p);
            a[k] = pivot;
            let other = e.as_mut().map(|e| {
                e[k] = by_entry(|m| e[k][m] * p);
                e[k]
            });
            for i in 0..n {
                let s = a[i][c];
                if i == k || s == 0.0 {
                    continue;
                }
                for m in 0..6 {
                    a[i][m] -= s * pivot[m];
                }
                if let (Some(e), Some(other)) = (&mut e, &other) {
                    for m in 0..6 {
                        e[i][m] -= s * other[m];
                    }
                }
            }
        }
        this
    }
}

/// Product of two blocks.
#[inline(always)]
pub(super) fn product(a: &Block, b: &Block) -> Block {
    let mut out = ZERO;
    for r in 0..6 {
        for k in 0..6 {
            for m in 0..6 {
                out[r][m] += a[r][k] * b[k][m];
            }
        }
    }
    out
}

/// [`invert`].
struct Invert<'a> {
    m: &'a Block,
    n: usize,
    size: &'a Six,
    tolerance: f64,
    out: &'a mut Block,
}

impl Task for Invert<'_> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        let Self { m, n, size, tolerance, out } = self;
        // Gauss–Jordan on [M | I].
        let (mut a, mut e) = (*m, ZERO);
        for r in 0..n {
            e[r][r] = 1.0;
        }
        let done = Elimination::new(&mut a, Some(&mut e), n, size, tolerance);
        *out = ZERO;
        for k in 0..done.rank {
            out[done.column[k]] = e[k];
        }
        done.rank
    }
}

/// Generalised inverse by elimination with full pivoting: pivots not above `tolerance` of their sizes are dropped. Returns
/// the rank.
#[inline(never)]
pub(crate) fn invert(m: &Block, n: usize, size: &Six, tolerance: f64, out: &mut Block) -> usize {
    run_widest(Invert { m, n, size, tolerance, out })
}

/// Inverse on the rows that are independent of each other, zero elsewhere; symmetric matrices. The row with the largest
/// pivot against its size comes next; rows whose pivot is not above `tolerance` of it are left out. Returns their number, the
/// least share among those in use and the largest among the others.
#[inline(never)]
pub(super) fn choose(
    m: &Block,
    n: usize,
    size: &Six,
    tolerance: f64,
    kept: &mut [bool; 6],
    out: &mut Block,
) -> (usize, f64, f64) {
    let mut a = *m;
    let weight: Six = by_entry(|r| if r < n && size[r] > 0.0 { 1.0 / size[r] } else { 0.0 });
    *kept = [false; 6];
    let (mut count, mut least, mut left) = (0, f64::INFINITY, 0.0f64);
    while count < n {
        let (mut best, mut k) = (f64::NEG_INFINITY, n);
        for r in 0..n {
            let share = a[r][r] * weight[r];
            if !kept[r] && share > best {
                (best, k) = (share, r);
            }
        }
        if k == n || best <= tolerance {
            left = left.max(best);
            break;
        }
        (kept[k], count, least) = (true, count + 1, least.min(best));
        let p = 1.0 / a[k][k];
        a[k] = by_entry(|c| if c == k { p } else { a[k][c] * p });
        let pivot = a[k];
        for r in 0..n {
            if r != k {
                let f = a[r][k];
                a[r] = by_entry(|c| if c == k { -f * p } else { a[r][c] - f * pivot[c] });
            }
        }
    }
    *out = ZERO;
    for r in 0..n {
        for c in 0..n {
            if kept[r] && kept[c] {
                out[r][c] = a[r][c];
            }
        }
    }
    (count, least, left)
}

/// Vectors `y` with `M y = 0`, by the same elimination; returns how many there are.
pub(super) fn kernel(m: &Block, n: usize, size: &Six, tolerance: f64, out: &mut Block) -> usize {
    let mut a = *m;
    let done = Elimination::new(&mut a, None, n, size, tolerance);
    let mut count = 0;
    for free in (0..n).filter(|c| !done.used[*c]) {
        out[count] = [0.0; 6];
        out[count][free] = 1.0;
        for k in 0..done.rank {
            out[count][done.column[k]] = -a[k][free];
        }
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_generalised_inverse_solves_consistent_systems_of_every_rank() {
        let base = [
            [4.0, 1.0, -0.5, 0.2, 0.0, 0.3],
            [0.5, 3.0, 0.1, 0.0, 0.2, 0.1],
            [0.2, -0.3, 5.0, 0.4, 0.1, 0.0],
        ];
        for rank in 0..=3 {
            let mut m = ZERO;
            for r in 0..6 {
                for c in 0..6 {
                    for k in 0..rank {
                        m[r][c] += base[k][r] * base[(k + 1) % 3][c];
                    }
                }
            }
            let mut g = ZERO;
            assert_eq!(invert(&m, 6, &[30.0; 6], 1e-11, &mut g), rank);
            let b = times(&m, &[1.0, -2.0, 0.5, 0.3, 0.7, -1.1]);
            let back = times(&m, &times(&g, &b));
            assert!(b.iter().zip(&back).all(|(a, b)| (a - b).abs() < 1e-13), "rank {rank}");
        }
    }
}
