//! [`BSpline`]: knots, spans and basis functions.

use super::SplineError;

/// A clamped uniform B-spline space: `p` zeros, uniform knots from 0 to T, `p` times T.
///
/// ```
/// use leastaction::spline::BSpline;
/// let spline = BSpline::new(8, 3, 1.0)?;
/// let theta: Vec<f64> = spline.greville().collect(); // reproduces q(t) = t
/// assert!((spline.evaluate(&theta, 0.37, 0) - 0.37).abs() < 1e-15);
/// assert!((spline.evaluate(&theta, 0.37, 1) - 1.0).abs() < 1e-14);
/// # Ok::<(), leastaction::spline::SplineError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BSpline {
    n_control: usize,
    degree: usize,
    duration: f64,
    knots: Vec<f64>,
}

impl BSpline {
    /// A spline space of `n_control` control points, degree `degree`, on `[0, duration]`.
    ///
    /// # Errors
    /// If there are too few control points or the duration is not positive.
    pub fn new(n_control: usize, degree: usize, duration: f64) -> Result<Self, SplineError> {
        if !(duration > 0.0 && duration.is_finite()) {
            return Err(SplineError::BadDuration { duration });
        }
        if degree == 0 {
            return Err(SplineError::DegreeTooLow { degree, needed: 1, order: 0 });
        }
        if n_control <= degree {
            return Err(SplineError::TooFewControlPoints {
                found: n_control,
                needed: degree.saturating_add(1),
            });
        }
        let spans = n_control - degree;
        let step = duration / spans as f64;
        let mut knots = vec![0.0; degree];
        knots.extend((0..spans).map(|i| i as f64 * step));
        knots.extend(std::iter::repeat_n(duration, degree + 1));
        Ok(Self { n_control, degree, duration, knots })
    }

    /// Number of control points.
    #[must_use]
    pub fn n_control(&self) -> usize {
        self.n_control
    }
    /// Degree.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }
    /// Duration.
    #[must_use]
    pub fn duration(&self) -> f64 {
        self.duration
    }
    /// All knots, `n_control + degree + 1` of them.
    #[must_use]
    pub fn knots(&self) -> &[f64] {
        &self.knots
    }
    /// Greville abscissae: where each control point sits in time.
    pub fn greville(&self) -> impl Iterator<Item = f64> + '_ {
        let p = self.degree;
        (0..self.n_control).map(move |c| self.knots[c + 1..c + p + 1].iter().sum::<f64>() / p as f64)
    }

    /// Span of `t`: the `j` with `u_j ≤ t < u_{j+1}`, the last one closed at the end.
    #[must_use]
    pub fn span(&self, t: f64) -> usize {
        let (p, n) = (self.degree, self.n_control);
        self.knots[..n + 1].partition_point(|u| *u <= t).saturating_sub(1).clamp(p, n - 1)
    }

    /// Values of the `degree + 1` non-zero basis functions of a lower degree in span `j`, positive and summing to one.
    ///
    /// `out[a]` belongs to difference `j − p + a` of order `p − degree`.
    pub(crate) fn lower_basis_into(&self, j: usize, t: f64, degree: usize, out: &mut [f64]) {
        let u = &self.knots;
        out[0] = 1.0;
        for r in 1..=degree {
            let mut carry = 0.0;
            for a in 0..r {
                // Left and right distances of the triangle of Cox and de Boor.
                let (low, high) = (u[j + 1 + a - r], u[j + 1 + a]);
                let w = out[a] / (high - low);
                out[a] = carry + (high - t) * w;
                carry = (t - low) * w;
            }
            out[r] = carry;
        }
    }

    /// Factor of difference `c` of order `d ≥ 1`: `θ^(d)_c = factor (θ^(d−1)_{c+1} − θ^(d−1)_c)`.
    #[inline]
    pub(crate) fn difference_factor(&self, d: usize, c: usize) -> f64 {
        let p = self.degree;
        (p - d + 1) as f64 / (self.knots[c + p + 1] - self.knots[c + d])
    }

    /// First control point and, for every order `0..=max`, the weights of `degree + 1` control points.
    ///
    /// For tables and Hessians; evaluate through differences instead where digits matter.
    #[must_use]
    pub fn basis_derivatives(&self, t: f64, max: usize) -> (usize, Vec<Vec<f64>>) {
        let p = self.degree;
        let j = self.span(t);
        let first = j - p;
        let mut table = Vec::with_capacity(max + 1);
        for d in 0..=max {
            let mut w = vec![0.0; p + 1];
            if d <= p {
                self.lower_basis_into(j, t, p - d, &mut w);
                for e in (1..=d).rev() {
                    // From weights of order-e differences to weights of order e − 1.
                    let mut carry = 0.0;
                    for a in 0..=p - e {
                        let x = w[a] * self.difference_factor(e, first + a);
                        w[a] = carry - x;
                        carry = x;
                    }
                    w[p - e + 1] = carry;
                }
            }
            table.push(w);
        }
        (first, table)
    }

    /// Derivative `d` at `t` of the spline with control points `theta` (one coordinate).
    #[must_use]
    pub fn evaluate(&self, theta: &[f64], t: f64, d: usize) -> f64 {
        let p = self.degree;
        if d > p {
            return 0.0;
        }
        let j = self.span(t);
        let first = j - p;
        let mut local: Vec<f64> = theta[first..=j].to_vec();
        for e in 1..=d {
            for a in 0..=p - e {
                local[a] = self.difference_factor(e, first + a) * (local[a + 1] - local[a]);
            }
        }
        let mut w = vec![0.0; p + 1];
        self.lower_basis_into(j, t, p - d, &mut w);
        w[..=p - d].iter().zip(&local).map(|(w, x)| w * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_of_every_order_are_positive_and_sum_to_one() {
        let spline = BSpline::new(9, 5, 2.0).expect("valid");
        let mut w = [0.0; 6];
        for i in 0..=40 {
            let t = 2.0 * f64::from(i) / 40.0;
            for d in 0..=5 {
                spline.lower_basis_into(spline.span(t), t, 5 - d, &mut w);
                let w = &w[..=5 - d];
                assert!(w.iter().all(|x| *x >= 0.0));
                // Each of up to six weights carries a rounding or two of its own.
                assert!((w.iter().sum::<f64>() - 1.0).abs() < 12.0 * f64::EPSILON / 2.0);
            }
        }
    }

    #[test]
    fn the_last_span_is_closed() {
        let spline = BSpline::new(6, 3, 1.0).expect("valid");
        assert_eq!(spline.evaluate(&[0.0, 0.0, 0.0, 0.0, 0.0, 7.0], 1.0, 0), 7.0);
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(matches!(BSpline::new(3, 3, 1.0), Err(SplineError::TooFewControlPoints { .. })));
        assert!(matches!(BSpline::new(9, 0, 1.0), Err(SplineError::DegreeTooLow { .. })));
        assert!(matches!(BSpline::new(9, 3, 0.0), Err(SplineError::BadDuration { .. })));
        assert!(matches!(BSpline::new(9, 3, f64::NAN), Err(SplineError::BadDuration { .. })));
    }
}
