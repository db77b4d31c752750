//! Blocks of any size on a graph, factored in a given order: `F = L D U` with a dense pivot per node. (8.16)

use std::collections::{BTreeMap, BTreeSet};

/// A square matrix of blocks with a symmetric pattern.
#[derive(Clone, Debug)]
pub(super) struct BlockLdu {
    sizes: Vec<usize>,
    /// First entry of every node in a vector.
    first: Vec<usize>,
    /// Where each block is kept, row-major.
    blocks: BTreeMap<(usize, usize), usize>,
    plan: Vec<Elimination>,
    data: Vec<f64>,
    /// The matrix before its factorisation.
    original: Vec<f64>,
    pivots: Vec<usize>,
    scratch: Vec<f64>,
}

#[derive(Clone, Debug)]
struct Elimination {
    node: usize,
    diagonal: usize,
    /// Later neighbours with the blocks `F[node, j]` and `F[j, node]`.
    later: Vec<(usize, usize, usize)>,
    /// Blocks `F[j, k]` of pairs of them, by position.
    fill: Vec<(usize, usize, usize)>,
}

impl BlockLdu {
    /// For nodes of these sizes, edges between them, and an order in which all are eliminated.
    pub(super) fn new(
        sizes: Vec<usize>,
        edges: impl Iterator<Item = (usize, usize)>,
        order: &[usize],
    ) -> Self {
        let mut neighbours = vec![BTreeSet::new(); sizes.len()];
        for (a, b) in edges.filter(|(a, b)| a != b && sizes[*a] * sizes[*b] > 0) {
            neighbours[a].insert(b);
            neighbours[b].insert(a);
        }
        let (mut blocks, mut length) = (BTreeMap::new(), 0);
        let mut place = |r: usize, c: usize| {
            *blocks.entry((r, c)).or_insert_with(|| {
                let at = length;
                length += sizes[r] * sizes[c];
                at
            })
        };
        let mut plan = Vec::with_capacity(order.len());
        for &node in order.iter().filter(|i| sizes[**i] > 0) {
            let others: Vec<usize> = std::mem::take(&mut neighbours[node]).into_iter().collect();
            let diagonal = place(node, node);
            let later: Vec<_> = others.iter().map(|&j| (j, place(node, j), place(j, node))).collect();
            let mut fill = Vec::new();
            for (p, &j) in others.iter().enumerate() {
                neighbours[j].remove(&node);
                for (q, &k) in others.iter().enumerate() {
                    fill.push((p, q, place(j, k)));
                    if j != k {
                        neighbours[j].insert(k);
                    }
                }
            }
            plan.push(Elimination { node, diagonal, later, fill });
        }
        let mut first = Vec::with_capacity(sizes.len());
        let mut total = 0;
        for size in &sizes {
            first.push(total);
            total += size;
        }
        let largest = sizes.iter().copied().max().unwrap_or(0);
        Self {
            data: vec![0.0; length],
            original: vec![0.0; length],
            pivots: vec![0; total],
            scratch: vec![0.0; largest * largest],
            sizes,
            first,
            blocks,
            plan,
        }
    }

    pub(super) fn clear(&mut self) {
        self.data.fill(0.0);
    }

    /// Entries of a vector that belong to a node.
    pub(super) fn range(&self, node: usize) -> std::ops::Range<usize> {
        self.first[node]..self.first[node] + self.sizes[node]
    }

    pub(super) fn len(&self) -> usize {
        self.pivots.len()
    }

    /// Adds to entry `(r, c)` of block `(row, column)`.
    pub(super) fn add(&mut self, (row, column): (usize, usize), r: usize, c: usize, value: f64) {
        debug_assert!(r < self.sizes[row] && c < self.sizes[column]);
        if let Some(at) = self.blocks.get(&(row, column)) {
            self.data[at + r * self.sizes[column] + c] += value;
        }
    }

    /// Factors; false if a pivot is singular.
    pub(super) fn factor(&mut self) -> bool {
        self.original.copy_from_slice(&self.data);
        let Self { sizes, first, plan, data, pivots, scratch, .. } = self;
        for step in plan.iter() {
            let n = sizes[step.node];
            let pivots = &mut pivots[first[step.node]..first[step.node] + n];
            if !factor_dense(&mut data[step.diagonal..step.diagonal + n * n], n, pivots) {
                return false;
            }
            for &(j, upper, _) in &step.later {
                // F[node, j] becomes D⁻¹ F[node, j].
                let m = sizes[j];
                let lu = &mut scratch[..n * n];
                lu.copy_from_slice(&data[step.diagonal..step.diagonal + n * n]);
                solve_dense(lu, n, pivots, &mut data[upper..upper + n * m], m);
            }
            for &(p, q, block) in &step.fill {
                let ((j, _, lower), (k, upper, _)) = (step.later[p], step.later[q]);
                let (rows, columns) = (sizes[j], sizes[k]);
                for r in 0..rows {
                    for i in 0..n {
                        let x = data[lower + r * n + i];
                        if x != 0.0 {
                            for c in 0..columns {
                                data[block + r * columns + c] -= x * data[upper + i * columns + c];
                            }
                        }
                    }
                }
            }
        }
        true
    }

    /// `F x = z`, in place.
    pub(super) fn solve(&self, z: &mut [f64]) {
        for step in &self.plan {
            let n = self.sizes[step.node];
            let here = self.range(step.node);
            solve_dense(self.diagonal(step), n, &self.pivots[here.clone()], &mut z[here.clone()], 1);
            for &(j, _, lower) in &step.later {
                for r in 0..self.sizes[j] {
                    let row = &self.data[lower + r * n..lower + (r + 1) * n];
                    let sum: f64 = row.iter().zip(&z[here.clone()]).map(|(a, b)| a * b).sum();
                    z[self.first[j] + r] -= sum;
                }
            }
        }
        for step in self.plan.iter().rev() {
            for &(j, upper, _) in &step.later {
                let m = self.sizes[j];
                for r in 0..self.sizes[step.node] {
                    let row = &self.data[upper + r * m..upper + (r + 1) * m];
                    let sum: f64 = row.iter().zip(&z[self.range(j)]).map(|(a, b)| a * b).sum();
                    z[self.first[step.node] + r] -= sum;
                }
            }
        }
    }

    /// `Fᵀ x = z`, in place.
    pub(super) fn solve_transposed(&self, z: &mut [f64]) {
        for step in &self.plan {
            for &(j, upper, _) in &step.later {
                let m = self.sizes[j];
                for r in 0..self.sizes[step.node] {
                    let x = z[self.first[step.node] + r];
                    for c in 0..m {
                        z[self.first[j] + c] -= self.data[upper + r * m + c] * x;
                    }
                }
            }
        }
        for step in self.plan.iter().rev() {
            let n = self.sizes[step.node];
            let here = self.range(step.node);
            for &(j, _, lower) in &step.later {
                for r in 0..self.sizes[j] {
                    let x = z[self.first[j] + r];
                    for c in 0..n {
                        z[here.start + c] -= self.data[lower + r * n + c] * x;
                    }
                }
            }
            solve_dense_transposed(self.diagonal(step), n, &self.pivots[here.clone()], &mut z[here]);
        }
    }

    /// `F x = z` or `Fᵀ x = z` in place, once refined; `memory` has twice the length of `z`.
    pub(super) fn solve_refined(&self, transposed: bool, z: &mut [f64], memory: &mut Vec<f64>) {
        let n = z.len();
        memory.resize(2 * n, 0.0);
        let (left, x) = memory.split_at_mut(n);
        left.copy_from_slice(z);
        let solve = |z: &mut [f64]| if transposed { self.solve_transposed(z) } else { self.solve(z) };
        solve(z);
        x.copy_from_slice(z);
        for (&(row, column), &at) in &self.blocks {
            let (r0, c0, m) = (self.first[row], self.first[column], self.sizes[column]);
            for r in 0..self.sizes[row] {
                for c in 0..m {
                    let a = self.original[at + r * m + c];
                    let (to, from) = if transposed { (c0 + c, r0 + r) } else { (r0 + r, c0 + c) };
                    left[to] -= a * x[from];
                }
            }
        }
        solve(left);
        z.iter_mut().zip(left).for_each(|(z, d)| *z += *d);
    }

    fn diagonal(&self, step: &Elimination) -> &[f64] {
        let n = self.sizes[step.node];
        &self.data[step.diagonal..step.diagonal + n * n]
    }
}

/// `P A = L U` with partial pivoting, in place; false if singular or not finite.
fn factor_dense(a: &mut [f64], n: usize, pivots: &mut [usize]) -> bool {
    for k in 0..n {
        let row = (k..n).max_by(|x, y| a[x * n + k].abs().total_cmp(&a[y * n + k].abs())).unwrap_or(k);
        pivots[k] = row;
        if row != k {
            (0..n).for_each(|c| a.swap(k * n + c, row * n + c));
        }
        let p = a[k * n + k];
        if !(p.is_finite() && p != 0.0) {
            return false;
        }
        for r in k + 1..n {
            let f = a[r * n + k] / p;
            a[r * n + k] = f;
            if f != 0.0 {
                for c in k + 1..n {
                    a[r * n + c] -= f * a[k * n + c];
                }
            }
        }
    }
    true
}

/// `A X = Z` for `m` columns, row-major, in place.
fn solve_dense(lu: &[f64], n: usize, pivots: &[usize], z: &mut [f64], m: usize) {
    for k in 0..n {
        if pivots[k] != k {
            (0..m).for_each(|c| z.swap(k * m + c, pivots[k] * m + c));
        }
    }
    for r in 0..n {
        for k in 0..r {
            let f = lu[r * n + k];
            if f != 0.0 {
                (0..m).for_each(|c| z[r * m + c] -= f * z[k * m + c]);
            }
        }
    }
    for r in (0..n).rev() {
        for k in r + 1..n {
            let f = lu[r * n + k];
            if f != 0.0 {
                (0..m).for_each(|c| z[r * m + c] -= f * z[k * m + c]);
            }
        }
        let p = 1.0 / lu[r * n + r];
        (0..m).for_each(|c| z[r * m + c] *= p);
    }
}

/// `Aᵀ x = z`, in place.
fn solve_dense_transposed(lu: &[f64], n: usize, pivots: &[usize], z: &mut [f64]) {
    for r in 0..n {
        for k in 0..r {
            z[r] -= lu[k * n + r] * z[k];
        }
        z[r] /= lu[r * n + r];
    }
    for r in (0..n).rev() {
        for k in r + 1..n {
            z[r] -= lu[k * n + r] * z[k];
        }
    }
    for k in (0..n).rev() {
        z.swap(k, pivots[k]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_and_transposed_solutions_satisfy_their_equations() {
        // A ring of four nodes of different sizes, one of them empty.
        let sizes = vec![3, 2, 0, 4, 1];
        let edges = [(0, 1), (1, 3), (3, 4), (4, 0), (2, 3)];
        let mut ldu = BlockLdu::new(sizes.clone(), edges.into_iter(), &[4, 2, 0, 3, 1]);
        let n = ldu.len();
        let mut dense = vec![0.0; n * n];
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / f64::from(1u32 << 31) - 0.5
        };
        for a in 0..5 {
            for b in 0..5 {
                let linked = a == b || edges.contains(&(a, b)) || edges.contains(&(b, a));
                for r in 0..sizes[a] {
                    for c in (0..sizes[b]).filter(|_| linked) {
                        let x = next() + f64::from(u8::from(a == b && r == c));
                        ldu.add((a, b), r, c, x);
                        dense[(ldu.first[a] + r) * n + ldu.first[b] + c] = x;
                    }
                }
            }
        }
        assert!(ldu.factor());
        let rhs: Vec<f64> = (0..n).map(|_| next()).collect();
        let (mut x, mut y) = (rhs.clone(), rhs.clone());
        ldu.solve(&mut x);
        ldu.solve_transposed(&mut y);
        for r in 0..n {
            let forward: f64 = (0..n).map(|c| dense[r * n + c] * x[c]).sum();
            let back: f64 = (0..n).map(|c| dense[c * n + r] * y[c]).sum();
            assert!((forward - rhs[r]).abs() < 1e-11 && (back - rhs[r]).abs() < 1e-11, "{r}");
        }
    }
}
