//! Block elimination in the paper's order: depth first, every link before its joint before its parent, and all loop
//! constraints as one dense node at the end.

use std::collections::BTreeMap;

use super::equations::{Blocks, Equations};
use super::matrix::Matrix;

/// Solves the block system; the solution comes per node of the equations.
pub(super) fn solve(equations: &Equations<'_>, blocks: Blocks, rhs: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let sizes: Vec<usize> = rhs.iter().map(Vec::len).collect();
    let (tree, loops) = equations.depth_first();
    // The stacked node takes the place after all others.
    let last = sizes.len();
    let mut starts = BTreeMap::new();
    let mut stacked = 0;
    for &node in &loops {
        starts.insert(node, stacked);
        stacked += sizes[node];
    }
    let name = |node: usize| if starts.contains_key(&node) { last } else { node };
    let size = |node: usize| if node == last { stacked } else { sizes[node] };
    let mut f: BTreeMap<(usize, usize), Matrix> = BTreeMap::new();
    for ((r, c), block) in &blocks {
        let key = (name(*r), name(*c));
        let target = f.entry(key).or_insert_with(|| Matrix::zero(size(key.0), size(key.1)));
        target.put(starts.get(r).copied().unwrap_or(0), starts.get(c).copied().unwrap_or(0), block);
    }
    let mut z: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (node, values) in rhs.iter().enumerate() {
        let target = z.entry(name(node)).or_insert_with(|| vec![0.0; size(name(node))]);
        let from = starts.get(&node).copied().unwrap_or(0);
        target[from..from + values.len()].copy_from_slice(values);
    }
    let mut order = tree;
    if stacked > 0 {
        order.push(last);
    }
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(k, node)| (*node, k)).collect();
    let mut inverses = BTreeMap::new();
    for &i in &order {
        // Tree pivots are regular; the stacked node's is deficient by the self-stresses of all loops together.
        let inverse = f[&(i, i)].generalised_inverse(if i == last { 1e-10 } else { 0.0 });
        let later: Vec<usize> = f
            .range((i, 0)..=(i, usize::MAX))
            .map(|((_, c), _)| *c)
            .filter(|c| place[c] > place[&i])
            .collect();
        for &j in &later {
            let l = f[&(j, i)].product(&inverse);
            for &k in &later {
                let update = l.product(&f[&(i, k)]);
                let target = f.entry((j, k)).or_insert_with(|| Matrix::zero(size(j), size(k)));
                target.subtract(&update);
            }
            let update = l.times(&z[&i]);
            if let Some(target) = z.get_mut(&j) {
                target.iter_mut().zip(&update).for_each(|(a, b)| *a -= b);
            }
        }
        inverses.insert(i, (inverse, later));
    }
    for &i in order.iter().rev() {
        let (inverse, later) = &inverses[&i];
        let mut right = z[&i].clone();
        for j in later {
            let known = f[&(i, *j)].times(&z[j]);
            right.iter_mut().zip(&known).for_each(|(a, b)| *a -= b);
        }
        z.insert(i, inverse.times(&right));
    }
    (0..sizes.len())
        .map(|node| {
            let from = starts.get(&node).copied().unwrap_or(0);
            z[&name(node)][from..from + sizes[node]].to_vec()
        })
        .collect()
}
