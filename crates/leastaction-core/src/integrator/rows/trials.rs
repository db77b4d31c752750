//! Event functions at the trials of one part, and where what interpolates them vanishes.
//!
//! A function of the length of a part is known at zero, where its slope is that of the motion itself, and at the lengths tried.
//! Slopes at these are not used: that of a discrete motion by the length of its step is the slope of the motion only to the order
//! of the method, and a search that takes one for the other gains a fixed number of digits per trial instead of more each time.
//! Of a rate also its mean is known, by how far the row came over the whole part and, where there are nodes inside, up to the first of
//! them. Those are means of the motion to the order of the method as well: they serve for the first lengths that are tried after the
//! whole part, and are left out afterwards.

use super::events::{KINDS, Moment, STOP};

/// Trials that are remembered.
const MOST: usize = 5;
/// Lengths closer than this, in parts of the longest, say the same, and their difference little but rounding.
const CLOSE: f64 = 1e-7;

/// Lengths tried, with the values of all event functions.
#[derive(Clone, Debug)]
pub(super) struct Trials {
    count: usize,
    times: [f64; MOST],
    values: [Vec<f64>; MOST],
    /// Mean rates of the rows over the first trial, along the way they slide: of the whole, and up to where `inner` says.
    means: Vec<[f64; 2]>,
    inner: Option<f64>,
}

impl Trials {
    pub(super) fn new(rows: usize) -> Self {
        let functions = KINDS.len() * rows;
        let values = std::array::from_fn(|_| vec![0.0; functions]);
        Self { count: 0, times: [0.0; MOST], values, means: vec![[0.0; 2]; rows], inner: None }
    }

    /// Another part: its start, and the whole of it; `inside` tells the values of rows at its first inner node.
    pub(super) fn begin(
        &mut self,
        start: &Moment,
        whole: &Moment,
        inside: impl Fn(usize) -> Option<(f64, f64)>,
    ) {
        self.count = 0;
        self.see(whole);
        self.inner = None;
        for (k, means) in self.means.iter_mut().enumerate() {
            let g = whole.g[KINDS.len() * k + STOP];
            if g == f64::INFINITY {
                continue;
            }
            let along = if g * whole.rate[k] > 0.0 { 1.0 / whole.t } else { -1.0 / whole.t };
            means[0] = along * (whole.value[k] - start.value[k]);
            if let Some((fraction, value)) = inside(k) {
                self.inner = Some(fraction);
                means[1] = along * (value - start.value[k]) / fraction;
            }
        }
    }

    /// Remembers a trial, in place of one of nearly the same length or, where all room is taken, of the one farthest from it.
    pub(super) fn see(&mut self, moment: &Moment) {
        let away = |i: &usize| (self.times[*i] - moment.t).abs();
        let by_distance = |a: &usize, b: &usize| away(a).total_cmp(&away(b));
        let longest = self.times[..self.count].iter().fold(moment.t, |m, t| m.max(*t));
        let nearest = (0..self.count).min_by(by_distance).filter(|i| away(i) < CLOSE * longest);
        let farthest = (0..self.count).max_by(by_distance).filter(|_| self.count == MOST);
        let place = nearest.or(farthest).unwrap_or(self.count);
        self.count = self.count.max(place + 1);
        self.times[place] = moment.t;
        self.values[place].copy_from_slice(&moment.g);
    }

    /// Where between `from` and `to` the function `i` vanishes first: `to` if nowhere.
    pub(super) fn root(&self, start: &Moment, i: usize, from: f64, to: f64) -> f64 {
        let Some(polynomial) = self.polynomial(start, i, to) else { return to };
        let x = first_root(&polynomial, from / to, 1.0);
        x.map_or(to, |x| x * to)
    }

    /// What interpolates the function `i`, over times in parts of `unit`.
    fn polynomial(&self, start: &Moment, i: usize, unit: f64) -> Option<Newton> {
        let mut polynomial = Newton::default();
        let has_slope = i % KINDS.len() != STOP || start.known;
        if start.g[i].is_finite() {
            polynomial.add(0.0, start.g[i]);
            if has_slope && !Moment::is_force(i) && start.slope[i].is_finite() {
                polynomial.add_slope(start.slope[i] * unit);
            }
        }
        for (t, values) in self.times.iter().zip(&self.values).take(self.count) {
            if values[i].is_finite() && *t > 0.0 {
                polynomial.add(t / unit, values[i]);
            }
        }
        if i % KINDS.len() == STOP {
            let means = self.means[i / KINDS.len()];
            let whole = self.times[0] / unit;
            match (self.count, self.inner) {
                (1, Some(inner)) => polynomial.add_means(&[(whole, means[0]), (whole * inner, means[1])]),
                (1, None) | (2, Some(_)) => polynomial.add_means(&[(whole, means[0])]),
                _ => {}
            }
        }
        (polynomial.count >= 2).then_some(polynomial)
    }
}

/// A polynomial through points, by divided differences.
#[derive(Default)]
struct Newton {
    count: usize,
    at: [f64; MOST + 3],
    coefficients: [f64; MOST + 3],
}

impl Newton {
    fn add(&mut self, x: f64, value: f64) {
        let n = self.count;
        let mut rest = value;
        for k in 0..n {
            rest = (rest - self.coefficients[k]) / (x - self.at[k]);
        }
        (self.at[n], self.coefficients[n]) = (x, rest);
        self.count += 1;
    }

    /// The slope at the only point there is.
    fn add_slope(&mut self, slope: f64) {
        (self.at[1], self.coefficients[1]) = (self.at[0], slope);
        self.count = 2;
    }

    /// Means from zero to some lengths, by as many terms more of highest degree.
    fn add_means<const M: usize>(&mut self, means: &[(f64, f64); M]) {
        let n = self.count;
        // Terms of the polynomial, each with its mean over a length; new ones vanish at all points there are.
        let terms: [Powers; MOST + 2] = std::array::from_fn(|k| self.term(k.min(n)));
        let mut matrix = [[0.0; M]; M];
        let mut rest = [0.0; M];
        for (row, (length, mean)) in means.iter().enumerate() {
            rest[row] = (0..n).fold(*mean, |rest, k| rest - self.coefficients[k] * terms[k].mean(*length));
            for (power, entry) in matrix[row].iter_mut().enumerate() {
                *entry = terms[n].times_power(power).mean(*length);
            }
        }
        let found = match M {
            1 => [rest[0] / matrix[0][0], 0.0],
            _ => {
                let ([a, b], [c, d]) = ([matrix[0][0], matrix[0][1]], [matrix[1][0], matrix[1][1]]);
                let determinant = a * d - b * c;
                [(rest[0] * d - b * rest[1]) / determinant, (a * rest[1] - c * rest[0]) / determinant]
            }
        };
        if found.iter().any(|x| !x.is_finite()) {
            return;
        }
        // The second is the first times x: its point is zero.
        self.coefficients[n..n + M].copy_from_slice(&found[..M]);
        self.at[n] = 0.0;
        self.count = n + M;
    }

    /// `(x − x₀)…(x − x_{k−1})`.
    fn term(&self, k: usize) -> Powers {
        self.at[..k].iter().fold(Powers::one(), |term, at| term.times_linear(*at))
    }

    fn value(&self, x: f64) -> f64 {
        let mut value = 0.0;
        for k in (0..self.count).rev() {
            value = value * (x - self.at[k]) + self.coefficients[k];
        }
        value
    }
}

/// A polynomial by its powers.
#[derive(Clone, Copy)]
struct Powers([f64; MOST + 4]);

impl Powers {
    fn one() -> Self {
        Self(std::array::from_fn(|k| if k == 0 { 1.0 } else { 0.0 }))
    }

    /// `(x − at)` times it.
    fn times_linear(&self, at: f64) -> Self {
        Self(std::array::from_fn(|k| if k == 0 { 0.0 } else { self.0[k - 1] } - at * self.0[k]))
    }

    fn times_power(&self, power: usize) -> Self {
        (0..power).fold(*self, |term, _| term.times_linear(0.0))
    }

    /// Its mean from zero to `length`.
    fn mean(&self, length: f64) -> f64 {
        self.0.iter().enumerate().rev().fold(0.0, |sum, (k, c)| sum * length + c / (k as f64 + 1.0))
    }
}

/// Where a polynomial first becomes negative: from a grid, then by chords whose kept end counts half.
fn first_root(polynomial: &Newton, from: f64, to: f64) -> Option<f64> {
    const GRID: u32 = 8;
    let point = |k: u32| from + (to - from) * f64::from(k) / f64::from(GRID);
    let beyond = (1..=GRID).find(|k| polynomial.value(point(*k)) <= 0.0)?;
    let (mut low, mut high) = (point(beyond - 1), point(beyond));
    let (mut above, mut below) = (polynomial.value(low), polynomial.value(high));
    let (mut x, mut kept) = (high, 0);
    for _ in 0..60 {
        if below == 0.0 {
            return Some(high);
        }
        x = (low * below - high * above) / (below - above);
        if !(x > low && x < high) {
            return Some(x.clamp(low, high));
        }
        let value = polynomial.value(x);
        if value > 0.0 {
            (low, above) = (x, value);
            below *= if kept == 1 { 0.5 } else { 1.0 };
            kept = 1;
        } else {
            (high, below) = (x, value);
            above *= if kept == -1 { 0.5 } else { 1.0 };
            kept = -1;
        }
        if high - low <= 4.0 * f64::EPSILON * high {
            break;
        }
    }
    Some(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_polynomial_through_points_and_a_slope_is_that_polynomial() {
        let f = |x: f64| 1.0 + x * (-0.5 + x * (2.0 - 3.0 * x));
        let mut polynomial = Newton::default();
        polynomial.add(0.0, f(0.0));
        polynomial.add_slope(-0.5);
        polynomial.add(1.0, f(1.0));
        polynomial.add(0.7, f(0.7));
        assert!((polynomial.value(0.3) - f(0.3)).abs() < 1e-15);
        let root = first_root(&polynomial, 0.0, 1.0).unwrap();
        assert!(f(root).abs() < 1e-14 && root < 1.0, "{root}");
    }

    #[test]
    fn the_mean_of_a_rate_is_one_more_term() {
        // x(0), its slope, x(1) and the mean tell a cubic.
        let f = |x: f64| 1.0 + x * (-0.5 + x * (2.0 - 3.0 * x));
        let mean = 1.0 - 0.5 / 2.0 + 2.0 / 3.0 - 3.0 / 4.0;
        let mut polynomial = Newton::default();
        polynomial.add(0.0, f(0.0));
        polynomial.add_slope(-0.5);
        polynomial.add(1.0, f(1.0));
        polynomial.add_means(&[(1.0, mean)]);
        assert!((polynomial.value(0.3) - f(0.3)).abs() < 1e-15);
        // Without the slope, a parabola.
        let f = |x: f64| 1.0 + x * (-0.5 + 2.0 * x);
        let mut polynomial = Newton::default();
        polynomial.add(0.0, f(0.0));
        polynomial.add(1.0, f(1.0));
        polynomial.add_means(&[(1.0, 1.0 - 0.5 / 2.0 + 2.0 / 3.0)]);
        assert!((polynomial.value(0.3) - f(0.3)).abs() < 1e-15);
        // Two means, and a point between.
        let f = |x: f64| 1.0 + x * (-0.5 + x * (2.0 + x * (-3.0 + 0.7 * x)));
        let mean = |l: f64| 1.0 + l * (-0.5 / 2.0 + l * (2.0 / 3.0 + l * (-3.0 / 4.0 + l * 0.7 / 5.0)));
        let mut polynomial = Newton::default();
        for x in [0.0, 1.0, 0.4] {
            polynomial.add(x, f(x));
        }
        polynomial.add_means(&[(1.0, mean(1.0)), (0.5, mean(0.5))]);
        assert!((polynomial.value(0.3) - f(0.3)).abs() < 1e-13);
    }

    #[test]
    fn roots_are_found_to_the_last_digit() {
        for root in [1e-9, 0.125, 0.3, 0.999] {
            let mut polynomial = Newton::default();
            let f = |x: f64| (root - x) * (1.0 + 20.0 * x * x);
            for x in [0.0, 0.2, 0.7, 1.0] {
                polynomial.add(x, f(x));
            }
            let found = first_root(&polynomial, 0.0, 1.0).unwrap();
            assert!((found - root).abs() < 1e-15 + 1e-13 * root, "{found} {root}");
        }
    }

    #[test]
    fn trials_of_nearly_one_length_are_one() {
        let mut trials = Trials::new(1);
        let mut moment = Moment::new(1, 1, 1);
        for t in [1.0, 0.5, 0.5 + 1e-9, 0.25, 0.75, 0.8, 0.81] {
            moment.t = t;
            trials.see(&moment);
        }
        assert_eq!(trials.count, MOST);
        assert_eq!(trials.times[1], 0.5 + 1e-9);
        assert!(!trials.times.contains(&0.25), "the farthest from 0.81 makes room: {:?}", trials.times);
    }
}
