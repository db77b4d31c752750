//! Small dense matrices by rows.
//!
//! Sizes are a few tens at most, so plain loops with contiguous inner rows are what pays.

use super::BadPivot;

/// `out = a b` with `a` of `n × k` and `b` of `k × m`.
pub fn mul(a: &[f64], b: &[f64], out: &mut [f64], n: usize, k: usize, m: usize) {
    for i in 0..n {
        let row = &mut out[i * m..(i + 1) * m];
        row.fill(0.0);
        for j in 0..k {
            axpy(a[i * k + j], &b[j * m..(j + 1) * m], row);
        }
    }
}

/// `out += aᵀ b` with `a` of `k × n` and `b` of `k × m`.
pub fn add_transposed_mul(a: &[f64], b: &[f64], out: &mut [f64], n: usize, k: usize, m: usize) {
    for j in 0..k {
        let row = &b[j * m..(j + 1) * m];
        for i in 0..n {
            axpy(a[j * n + i], row, &mut out[i * m..(i + 1) * m]);
        }
    }
}

/// `out += a x` with `a` of `n × m`.
pub fn add_mul_vector(a: &[f64], x: &[f64], out: &mut [f64]) {
    let m = x.len();
    for (i, o) in out.iter_mut().enumerate() {
        *o += dot(&a[i * m..(i + 1) * m], x);
    }
}

/// `out += aᵀ x` with `a` of `n × m`.
pub fn add_transposed_mul_vector(a: &[f64], x: &[f64], out: &mut [f64]) {
    let m = out.len();
    for (j, x) in x.iter().enumerate() {
        axpy(*x, &a[j * m..(j + 1) * m], out);
    }
}

/// `y += s x`.
#[inline]
pub fn axpy(s: f64, x: &[f64], y: &mut [f64]) {
    if s != 0.0 {
        for (y, x) in y.iter_mut().zip(x) {
            *y += s * x;
        }
    }
}

/// `x · y`.
#[inline]
#[must_use]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Largest magnitude; not a number if one entry is.
#[must_use]
pub fn largest(x: &[f64]) -> f64 {
    // `m >= x` is false where one of them is not a number, and such an `m` stays.
    x.iter().fold(0.0, |m: f64, x| if m >= x.abs() || m.is_nan() { m } else { x.abs() })
}

/// Makes a square matrix equal to its transpose.
pub fn symmetrize(a: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            let mean = 0.5 * (a[i * n + j] + a[j * n + i]);
            (a[i * n + j], a[j * n + i]) = (mean, mean);
        }
    }
}

/// Cholesky factor in place; only the lower triangle is read and written.
///
/// # Errors
/// If the matrix is not positive definite.
pub fn cholesky(a: &mut [f64], n: usize) -> Result<(), BadPivot> {
    for j in 0..n {
        let pivot = a[j * n + j] - dot(&a[j * n..j * n + j], &a[j * n..j * n + j]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            return Err(BadPivot { row: j });
        }
        let root = pivot.sqrt();
        a[j * n + j] = root;
        for i in j + 1..n {
            let sum = dot(&a[i * n..i * n + j], &a[j * n..j * n + j]);
            a[i * n + j] = (a[i * n + j] - sum) / root;
        }
    }
    Ok(())
}

/// Solves `L Lᵀ x = b` in place for `m` right-hand sides, `b` of `n × m` by rows.
pub fn cholesky_solve(l: &[f64], n: usize, b: &mut [f64], m: usize) {
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

/// Solves `a x = b` in place for `m` right-hand sides by elimination with row exchanges.
///
/// # Errors
/// If `a` is singular: all candidates for a pivot are of size `floor` or less.
pub fn solve(a: &mut [f64], n: usize, b: &mut [f64], m: usize, floor: f64) -> Result<(), BadPivot> {
    for j in 0..n {
        let best = (j..n).max_by(|p, q| a[p * n + j].abs().total_cmp(&a[q * n + j].abs())).unwrap_or(j);
        let pivot = a[best * n + j];
        if !(pivot.abs() > floor && pivot.is_finite()) {
            return Err(BadPivot { row: j });
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
    Ok(())
}

/// Rank by elimination with full pivoting; pivots below `tolerance` times the largest one count as zero.
#[must_use]
pub fn rank(mut rows: Vec<Vec<f64>>, tolerance: f64) -> usize {
    let mut largest = 0.0;
    for done in 0..rows.len() {
        let mut best = (0.0, done, 0);
        for (i, row) in rows.iter().enumerate().skip(done) {
            for (j, x) in row.iter().enumerate() {
                if x.abs() > best.0 {
                    best = (x.abs(), i, j);
                }
            }
        }
        largest = f64::max(largest, best.0);
        if best.0 <= tolerance * largest {
            return done;
        }
        let (_, i, j) = best;
        rows.swap(done, i);
        let (pivot, rest) = rows.split_at_mut(done + 1);
        let pivot = &pivot[done];
        for row in rest {
            let factor = row[j] / pivot[j];
            for (x, p) in row.iter_mut().zip(pivot) {
                *x -= factor * p;
            }
            // Exactly, so that it is never a pivot again.
            row[j] = 0.0;
        }
    }
    rows.len()
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
        cholesky(&mut l, 3).unwrap();
        cholesky_solve(&l, 3, &mut y, 2);
        assert!(y.iter().zip(&x).all(|(y, x)| (y - x).abs() < 1e-14), "{y:?}");
        // Rows exchanged, so that elimination has to exchange them back.
        let mut a = [A[3], A[4], A[5], A[6], A[7], A[8], A[0], A[1], A[2]];
        let mut y = [b[2], b[3], b[4], b[5], b[0], b[1]];
        solve(&mut a, 3, &mut y, 2, 0.0).unwrap();
        assert!(y.iter().zip(&x).all(|(y, x)| (y - x).abs() < 1e-14), "{y:?}");
    }

    #[test]
    fn the_largest_of_numbers_is_not_a_number_wherever_such_a_one_stands() {
        assert_eq!(largest(&[1.0, -3.0, 2.0]), 3.0);
        for at in 0..3 {
            let mut x = [1.0, -3.0, 2.0];
            x[at] = f64::NAN;
            assert!(largest(&x).is_nan());
        }
    }

    #[test]
    fn what_has_no_factor_is_told() {
        let mut indefinite = [1.0, 2.0, 2.0, 1.0];
        assert_eq!(cholesky(&mut indefinite, 2), Err(BadPivot { row: 1 }));
        let mut singular = [1.0, 2.0, 2.0, 4.0];
        assert_eq!(solve(&mut singular, 2, &mut [1.0, 1.0], 1, 0.0), Err(BadPivot { row: 1 }));
        assert_eq!(rank(vec![vec![1.0, 2.0, 0.0], vec![2.0, 4.0, 0.0], vec![0.0, 0.0, 3.0]], 1e-9), 2);
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
