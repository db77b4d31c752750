//! [`Motion`]: where a driven joint is at a time.

/// A given motion of one coordinate.
#[derive(Clone, Debug, PartialEq)]
pub enum Motion {
    /// `from + speed t`.
    Speed {
        /// Position at time zero.
        from: f64,
        /// Speed.
        speed: f64,
    },
    /// A cubic spline through a table, with continuous accelerations, at its ends those of the nearest four points; at rest beyond
    /// them.
    Table {
        /// Times, increasing.
        times: Vec<f64>,
        /// Positions.
        values: Vec<f64>,
        /// Accelerations.
        second: Vec<f64>,
    },
}

impl Motion {
    /// The spline through a table of increasing times; none if there is no such table.
    #[must_use]
    pub fn through(times: Vec<f64>, values: Vec<f64>) -> Option<Self> {
        let n = times.len();
        let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = times.iter().chain(&values).all(|x| x.is_finite());
        if n < 2 || values.len() != n || !ordered || !finite {
            return None;
        }
        // Tridiagonal equations of the accelerations, by elimination.
        let (mut second, mut upper) = (vec![0.0; n], vec![0.0; n]);
        second[0] = bend_at(&times[..n.min(4)], &values[..n.min(4)], times[0]);
        second[n - 1] = bend_at(&times[n - n.min(4)..], &values[n - n.min(4)..], times[n - 1]);
        for i in 1..n - 1 {
            let (a, b) = (times[i] - times[i - 1], times[i + 1] - times[i]);
            let kink = (values[i + 1] - values[i]) / b - (values[i] - values[i - 1]) / a;
            let pivot = 2.0 * (a + b) - a * upper[i - 1];
            upper[i] = b / pivot;
            second[i] = (6.0 * kink - a * second[i - 1]) / pivot;
        }
        for i in (1..n - 1).rev() {
            second[i] -= upper[i] * second[i + 1];
        }
        Some(Self::Table { times, values, second })
    }

    /// Position, rate and acceleration at `t`.
    #[must_use]
    pub fn at(&self, t: f64) -> [f64; 3] {
        let Self::Table { times, values, second } = self else {
            let Self::Speed { from, speed } = self else { return [0.0; 3] };
            return [from + speed * t, *speed, 0.0];
        };
        let last = times.len() - 1;
        if t < times[0] || t > times[last] {
            return [values[if t < times[0] { 0 } else { last }], 0.0, 0.0];
        }
        let i = times.partition_point(|x| *x <= t).clamp(1, last);
        let span = times[i] - times[i - 1];
        let (a, b) = ((times[i] - t) / span, (t - times[i - 1]) / span);
        let (s0, s1) = (second[i - 1], second[i]);
        let bend = |x: f64| x * x * x - x;
        [
            a * values[i - 1] + b * values[i] + (bend(a) * s0 + bend(b) * s1) * span * span / 6.0,
            (values[i] - values[i - 1]) / span
                + ((3.0 * b * b - 1.0) * s1 - (3.0 * a * a - 1.0) * s0) * span / 6.0,
            a * s0 + b * s1,
        ]
    }

    /// How far it moves from `t` to `t + dt`: with all digits where the speed is constant, however short that is.
    #[must_use]
    pub fn increment(&self, t: f64, dt: f64) -> f64 {
        match self {
            Self::Speed { speed, .. } => speed * dt,
            Self::Table { .. } => self.at(t + dt)[0] - self.at(t)[0],
        }
    }
}

/// Second derivative at `t` of the polynomial through up to four points, from its divided differences.
fn bend_at(times: &[f64], values: &[f64], t: f64) -> f64 {
    let first = |i: usize| (values[i + 1] - values[i]) / (times[i + 1] - times[i]);
    let second = |i: usize| (first(i + 1) - first(i)) / (times[i + 2] - times[i]);
    match times.len() {
        0..3 => 0.0,
        3 => 2.0 * second(0),
        _ => {
            let third = (second(1) - second(0)) / (times[3] - times[0]);
            2.0 * second(0) + 2.0 * third * (3.0 * t - times[0] - times[1] - times[2])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Motion;

    #[test]
    fn a_table_is_met_and_its_rates_are_those_of_its_positions() {
        let times: Vec<f64> = (0..9).map(|k| 0.25 * f64::from(k)).collect();
        let values: Vec<f64> = times.iter().map(|t| 0.3 * t * t - 0.1 * t * t * t).collect();
        let motion = Motion::through(times.clone(), values.clone()).unwrap();
        for (t, x) in times.iter().zip(&values) {
            assert!((motion.at(*t)[0] - x).abs() < 1e-14, "{t}");
        }
        let e = 1e-5;
        for t in [0.1, 0.6, 1.0, 1.9] {
            let [_, rate, pace] = motion.at(t);
            let (before, after) = (motion.at(t - e), motion.at(t + e));
            assert!(((after[0] - before[0]) / (2.0 * e) - rate).abs() < 1e-9);
            assert!(((after[1] - before[1]) / (2.0 * e) - pace).abs() < 1e-6);
        }
        // A cubic is met everywhere, its ends included.
        for t in [0.0f64, 0.01, 0.3, 1.77, 2.0] {
            let exact = [0.3 * t * t - 0.1 * t * t * t, 0.6 * t - 0.3 * t * t, 0.6 - 0.6 * t];
            assert!(motion.at(t).iter().zip(exact).all(|(x, e)| (x - e).abs() < 1e-12), "{t}");
        }
        assert_eq!(motion.at(5.0), [values[8], 0.0, 0.0]);
        assert!(Motion::through(vec![0.0, 0.0], vec![1.0, 2.0]).is_none());
        assert!(Motion::through(vec![0.0], vec![1.0]).is_none());
    }
}
