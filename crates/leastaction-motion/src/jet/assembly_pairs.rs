//! Every column with its ancestors, four at once, and the entries into their places.
//!
//! Entries below the diagonal of one column are a piece of a row: they are written as they come. Those above it are a
//! piece of a column, each in another row; four columns are gathered and written as blocks of 4×4, or every store would
//! touch a line of the cache of its own.

use super::assembly::{ANCESTOR, FACTORIAL, OWN, TorqueJacobian};
use crate::simd::{LANES, Simd};

/// All entries.
#[inline(always)]
pub(super) fn pairs<V: Simd, const C: usize>(tj: &mut TorqueJacobian) {
    let (stride, nv) = (tj.plan.stride, tj.plan.columns.len());
    let straight = tj.plan.straight;
    for (i, stage) in tj.plan.tree.stages.iter().enumerate() {
        let (start, depth) = (tj.plan.start[i], tj.plan.depth[i]);
        if !straight {
            // Put the stage on the path; what was there belongs to another branch.
            for c in 0..stage.nv {
                let (from, to) = (start + c, depth + c);
                for row in 0..C * ANCESTOR {
                    tj.path[(to / LANES * C * ANCESTOR + row) * LANES + to % LANES] =
                        tj.ancestors[(from / LANES * C * ANCESTOR + row) * LANES + from % LANES];
                }
                tj.path_columns[depth + c] = tj.plan.columns[start + c];
            }
        }
        let path: &[f64] = if straight { &tj.ancestors } else { &tj.path };
        let reach = depth + stage.nv;
        for c in 0..stage.nv {
            let own = &tj.own[(start + c) * C * OWN..(start + c + 1) * C * OWN];
            let d = tj.plan.columns[start + c];
            for l in 0..C {
                tj.torques[l * nv + d] = own[l * OWN + OWN - 1] * FACTORIAL[l];
            }
            // Which of the four gathered columns this one is.
            let place = if straight { 1 + d % LANES } else { 1 };
            let mut first = 0;
            while first < reach {
                let mut jets = [[V::splat(0.0); C]; 5];
                let block = &path[first * C * ANCESTOR..(first + LANES) * C * ANCESTOR];
                pair_jets::<V, C>(block, own, &mut jets);
                let [mass, c_up, k_up, c_low, k_low] = &jets;
                let mut block = 0;
                for l in 0..C {
                    for m in 0..l + 3 {
                        let f = &tj.factors[block];
                        let at = block * (1 + LANES) * stride + first;
                        emit_lanes(mass, c_low, k_low, l, m, f).store(&mut tj.lines[at..]);
                        emit_lanes(mass, c_up, k_up, l, m, f).store(&mut tj.lines[at + place * stride..]);
                        block += 1;
                    }
                }
                first += LANES;
            }
            let planes = tj.out.chunks_exact_mut(nv * nv);
            for (plane, lines) in planes.zip(tj.lines.chunks_exact((1 + LANES) * stride)) {
                if straight {
                    plane[d * nv..d * nv + reach].copy_from_slice(&lines[..reach]);
                    write_above::<V>(plane, lines, stride, (d, depth), (nv, tj.plan.narrow));
                } else {
                    let (low, up) = (&lines[..stride], &lines[stride..2 * stride]);
                    let columns = &tj.path_columns[..reach];
                    let row = &mut plane[d * nv..(d + 1) * nv];
                    for (x, a) in low.iter().zip(columns) {
                        row[*a] = *x;
                    }
                    for (x, a) in up.iter().zip(&columns[..depth]) {
                        plane[a * nv + d] = *x;
                    }
                }
            }
        }
    }
}

/// Entries above the diagonal of a straight chain: blocks of four columns once the fourth is there, the rest singly.
#[inline(always)]
fn write_above<V: Simd>(
    plane: &mut [f64],
    lines: &[f64],
    stride: usize,
    (d, depth): (usize, usize),
    (nv, narrow): (usize, bool),
) {
    let up = |k: usize| &lines[(1 + k) * stride..(2 + k) * stride];
    let first = d - d % LANES;
    let full = narrow && first + LANES <= nv;
    // Rows that all four columns have, in blocks.
    let common = if full { first } else { 0 };
    if full && d % LANES == LANES - 1 {
        let mut row = 0;
        while row < common {
            let rows = V::transpose([
                V::load(&up(0)[row..]),
                V::load(&up(1)[row..]),
                V::load(&up(2)[row..]),
                V::load(&up(3)[row..]),
            ]);
            for (i, x) in rows.into_iter().enumerate() {
                x.store(&mut plane[(row + i) * nv + first..]);
            }
            row += LANES;
        }
    }
    for a in common..depth {
        plane[a * nv + d] = up(d % LANES)[a];
    }
}

/// M, C, K above the diagonal and C, K below it, for four ancestors of one column.
#[inline(always)]
fn pair_jets<V: Simd, const C: usize>(block: &[f64], own: &[f64], jets: &mut [[V; C]; 5]) {
    for p in 0..C {
        let side = &block[p * ANCESTOR * LANES..(p + 1) * ANCESTOR * LANES];
        for i in 0..6 {
            let s = V::load(&side[i * LANES..(i + 1) * LANES]);
            let s1 = V::load(&side[(i + 6) * LANES..(i + 7) * LANES]);
            let s2 = V::load(&side[(i + 12) * LANES..(i + 13) * LANES]);
            let s1_twice = s1 + s1;
            for l in p..C {
                let x = &own[(l - p) * OWN..(l - p + 1) * OWN];
                let (a, b) = (V::splat(x[i]), V::splat(x[18 + i]));
                jets[0][l] = s.fma(a, jets[0][l]);
                jets[1][l] = s.fma(V::splat(x[6 + i]), jets[1][l]);
                jets[2][l] = s.fma(V::splat(x[12 + i]), jets[2][l]);
                jets[3][l] = s1_twice.fma(a, s.fma(b, jets[3][l]));
                jets[4][l] = s2.fma(a, s1.fma(b, jets[4][l]));
                if i < 3 {
                    jets[4][l] = s.fma(V::splat(x[24 + i]), jets[4][l]);
                }
            }
        }
    }
}

/// `f (K_{l−m} + m C_{l−m+1} + m(m−1) M_{l−m+2})` with the factors `f`, `f m`, `f m (m−1)`.
#[inline(always)]
fn emit_lanes<V: Simd, const C: usize>(
    mass: &[V; C],
    c: &[V; C],
    k: &[V; C],
    l: usize,
    m: usize,
    f: &[f64; 3],
) -> V {
    let mut x = V::splat(0.0);
    if m <= l {
        x = k[l - m] * V::splat(f[0]);
    }
    if m >= 1 && m <= l + 1 {
        x = c[l + 1 - m].fma(V::splat(f[1]), x);
    }
    if m >= 2 {
        x = mass[l + 2 - m].fma(V::splat(f[2]), x);
    }
    x
}
