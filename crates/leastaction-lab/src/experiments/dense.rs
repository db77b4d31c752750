//! Dense elimination: the slow twin that structured solvers are compared with.

/// Solves `A x = b` in place by Gaussian elimination with partial pivoting; `A` by rows. True if `A` is regular.
pub(crate) fn solve(a: &mut [f64], b: &mut [f64]) -> bool {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        if a[pivot * n + k] == 0.0 {
            return false;
        }
        if pivot != k {
            for j in 0..n {
                a.swap(pivot * n + j, k * n + j);
            }
            b.swap(pivot, k);
        }
        let (upper, lower) = a.split_at_mut((k + 1) * n);
        let head = &upper[k * n..];
        for (row, i) in lower.chunks_exact_mut(n).zip(k + 1..) {
            let factor = row[k] / head[k];
            if factor != 0.0 {
                row[k..].iter_mut().zip(&head[k..]).for_each(|(x, p)| *x -= factor * p);
                b[i] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn elimination_solves_with_a_zero_on_the_diagonal() {
        let a = [0.0, 2.0, 1.0, 1.0, -1.0, 0.5, 3.0, 0.0, 4.0];
        let mut b = [7.0, 0.5, 15.0];
        assert!(solve(&mut a.clone(), &mut b));
        for (x, expected) in b.iter().zip([1.0, 2.0, 3.0]) {
            assert!((x - expected).abs() < 1e-14);
        }
        assert!(!solve(&mut [0.0], &mut [1.0]));
    }
}
