//! Small dense matrices by rows: what recursions over time are made of.
//!
//! Sizes are a few tens at most, so plain loops with contiguous inner rows are what pays.

/// `out = a b` with `a` of `n × k` and `b` of `k × m`.
pub(crate) fn mul(a: &[f64], b: &[f64], out: &mut [f64], n: usize, k: usize, m: usize) {
    for i in 0..n {
        let row = &mut out[i * m..(i + 1) * m];
        row.fill(0.0);
        for j in 0..k {
            axpy(a[i * k + j], &b[j * m..(j + 1) * m], row);
        }
    }
}

/// `out += aᵀ b` with `a` of `k × n` and `b` of `k × m`.
pub(crate) fn add_transposed_mul(a: &[f64], b: &[f64], out: &mut [f64], n: usize, k: usize, m: usize) {
    for j in 0..k {
        let row = &b[j * m..(j + 1) * m];
        for i in 0..n {
            axpy(a[j * n + i], row, &mut out[i * m..(i + 1) * m]);
        }
    }
}

/// `out += a x` with `a` of `n × m`.
pub(crate) fn add_mul_vector(a: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    for (i, o) in out.iter_mut().enumerate() {
        *o += dot(&a[i * m..(i + 1) * m], x);
    }
}

/// `out += aᵀ x` with `a` of `n × m`.
pub(crate) fn add_transposed_mul_vector(a: &[f64], x: &[f64], out: &mut [f64]) {
    let m = out.len();
    for (j, x) in x.iter().enumerate() {
        axpy(*x, &a[j * m..(j + 1) * m], out);
    }
}

/// `y += s x`.
#[inline]
pub(crate) fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    if s != 0.0 {
        for (y, x) in y.iter_mut().zip(x) {
            *y += s * x;
        }
    }
}

/// `x · y`.
#[inline]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Largest magnitude; not a number if one entry is.
pub(crate) fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| if x.is_nan() { f64::NAN } else { m.max(x.abs()) })
}

/// Makes a square matrix equal to its transpose.
pub(crate) fn symmetrize(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
}

/// Cholesky factor in place (lower triangle); false if the matrix is not positive definite.
pub(crate) fn cholesky(a: &mut [f64], n: usize) -> bool {
    for j in 0..n {
        let pivot = a[j * n + j] - dot(&a[j * n..j * n + j], &a[j * n..j * n + j]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        let root = pivot.sqrt();
        a[j * n + j] = root;
        for i in j + 1..n {
            let sum = dot(&a[i * n..i * n + j], &a[j * n..j * n + j]);
            a[i * n + j] = (a[i * n + j] - sum) / root;
        }
    }
    true
}

/// Solves `L Lᵀ x = b` in place for `m` right-hand sides, `b` of `n × m` by rows.
pub(crate) fn cholesky_solve(l: &[f64], n: usize, b: &mut [f64], m: usize) {
    for i in 0..n {
        let (done, rest) = b.split_at_mut(i * m);
        for j in 0..i {
            axpy(-l[i * n + j], &done[j * m..(j + 1) * m], &mut rest[..m]);
        }
        rest[..m].iter_mut().for_each(|x| *x /= l[i * n + i]);
    }
    for i in (0..n).rev() {
        let (rest, done) = b.split_at_mut((i + 1) * m);
        let row = &mut rest[i * m..];
        for j in i + 1..n {
            axpy(-l[j * n + i], &done[(j - i - 1) * m..(j - i) * m], row);
        }
        row.iter_mut().for_each(|x| *x /= l[i * n + i]);
    }
}

/// Solves `a x = b` in place for `m` right-hand sides by elimination with row exchanges; false if `a` is singular.
pub(crate) fn solve(a: &mut [f64], n: usize, b: &mut [f64], m: usize) -> bool {
    for j in 0..n {
        let best = (j..n).max_by(|p, q| a[p * n + j].abs().total_cmp(&a[q * n + j].abs())).unwrap_or(j);
        if a[best * n + j] == 0.0 || !a[best * n + j].is_finite() {
            return false;
        }
        if best != j {
            for c in 0..n {
                a.swap(j * n + c, best * n + c);
            }
            for c in 0..m {
                b.swap(j * m + c, best * m + c);
            }
        }
        for i in j + 1..n {
            let factor = a[i * n + j] / a[j * n + j];
            if factor != 0.0 {
                let (top, bottom) = a.split_at_mut(i * n);
                axpy(-factor, &top[j * n + j..(j + 1) * n], &mut bottom[j..n]);
                let (top, bottom) = b.split_at_mut(i * m);
                axpy(-factor, &top[j * m..(j + 1) * m], &mut bottom[..m]);
            }
        }
    }
    for i in (0..n).rev() {
        let (rest, done) = b.split_at_mut((i + 1) * m);
        let row = &mut rest[i * m..];
        for j in i + 1..n {
            axpy(-a[i * n + j], &done[(j - i - 1) * m..(j - i) * m], row);
        }
        row.iter_mut().for_each(|x| *x /= a[i * n + i]);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [f64; 9] = [4.0, 1.0, -2.0, 1.0, 5.0, 0.5, -2.0, 0.5, 6.0];

    #[test]
    fn both_solvers_undo_the_product() {
        let x = [1.0, -2.0, 3.0, 0.5, -1.5, 2.5];
        let mut b = [0.0; 6];
        mul(&A, &x, &mut b, 3, 3, 2);
        let (mut l, mut y) = (A, b);
        assert!(cholesky(&mut l, 3));
        cholesky_solve(&l, 3, &mut y, 2);
        assert!(y.iter().zip(&x).all(|(y, x)| (y - x).abs() < 1e-14), "{y:?}");
        // Rows exchanged, so that elimination has to exchange them back.
        let mut a = [A[3], A[4], A[5], A[6], A[7], A[8], A[0], A[1], A[2]];
        let mut y = [b[2], b[3], b[4], b[5], b[0], b[1]];
        assert!(solve(&mut a, 3, &mut y, 2));
        assert!(y.iter().zip(&x).all(|(y, x)| (y - x).abs() < 1e-14), "{y:?}");
    }

    #[test]
    fn what_has_no_factor_is_told() {
        let mut indefinite = [1.0, 2.0, 2.0, 1.0];
        assert!(!cholesky(&mut indefinite, 2));
        let mut singular = [1.0, 2.0, 2.0, 4.0];
        assert!(!solve(&mut singular, 2, &mut [1.0, 1.0], 1));
    }

    #[test]
    fn transposed_products_agree_with_plain_ones() {
        let b = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let transposed: Vec<f64> = (0..9).map(|i| A[(i % 3) * 3 + i / 3]).collect();
        let (mut plain, mut turned) = ([0.0; 6], [0.0; 6]);
        mul(&transposed, &b, &mut plain, 3, 3, 2);
        add_transposed_mul(&A, &b, &mut turned, 3, 3, 2);
        assert_eq!(plain, turned);
        let (mut x, mut y) = ([0.0; 3], [0.0; 3]);
        add_mul_vector(&transposed, &b[..3], &mut x);
        add_transposed_mul_vector(&A, &b[..3], &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| (x - y).abs() < 1e-15));
    }
}
