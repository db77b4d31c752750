//! Small systems whose equations may say nothing or the same thing twice.

/// Elimination with full pivoting, and its memory.
#[derive(Clone, Debug, Default)]
pub struct Dropping {
    rows: Vec<usize>,
    columns: Vec<usize>,
    x: Vec<f64>,
}

impl Dropping {
    /// Solves `a x = b` in place; `scale` is the size of each equation. Unknowns whose pivot is below `dropped` of that are zero.
    /// Allocates only when a system is larger than those before.
    pub fn solve(&mut self, a: &mut [f64], b: &mut [f64], scale: &[f64], dropped: f64) {
        let m = b.len();
        let Self { rows, columns, x } = self;
        for list in [&mut *rows, &mut *columns] {
            list.clear();
            list.extend(0..m);
        }
        let mut rank = m;
        for k in 0..m {
            let mut best = (k, k, 0.0);
            for i in k..m {
                for j in k..m {
                    let part = a[rows[i] * m + columns[j]].abs() / scale[rows[i]].max(f64::MIN_POSITIVE);
                    if part > best.2 {
                        best = (i, j, part);
                    }
                }
            }
            if best.2 <= dropped {
                rank = k;
                break;
            }
            rows.swap(k, best.0);
            columns.swap(k, best.1);
            let p = rows[k];
            for &r in &rows[k + 1..] {
                let f = a[r * m + columns[k]] / a[p * m + columns[k]];
                for &c in &columns[k..] {
                    a[r * m + c] -= f * a[p * m + c];
                }
                b[r] -= f * b[p];
            }
        }
        x.clear();
        x.resize(m, 0.0);
        for k in (0..rank).rev() {
            let p = rows[k];
            let mut sum = b[p];
            for j in k + 1..rank {
                sum -= a[p * m + columns[j]] * x[columns[j]];
            }
            x[columns[k]] = sum / a[p * m + columns[k]];
        }
        b.copy_from_slice(x);
    }
}

#[cfg(test)]
mod tests {
    use super::Dropping;

    #[test]
    fn equations_that_say_nothing_are_left_out() {
        let mut a = vec![2.0, 0.0, 1.0, 0.0, 1e-14, 0.0, 1.0, 0.0, 3.0];
        let mut b = vec![5.0, 1e-15, 10.0];
        Dropping::default().solve(&mut a, &mut b, &[1.0; 3], 1e-10);
        assert!((b[0] - 1.0).abs() < 1e-14 && b[1] == 0.0 && (b[2] - 3.0).abs() < 1e-14, "{b:?}");
    }
}
