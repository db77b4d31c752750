//! Event functions at the trials of one part, and where what interpolates them vanishes.
//!
//! A function of the length of a part is known at zero, where its slope is that of the motion itself, and at the lengths tried.
//! Slopes at these are not used: that of a discrete motion by the length of its step is the slope of the motion only to the order
//! of the method, and a search that takes one for the other gains a fixed number of digits per trial instead of more each time.

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
}

impl Trials {
    pub(super) fn new(rows: usize) -> Self {
        let functions = KINDS.len() * rows;
        Self { count: 0, times: [0.0; MOST], values: std::array::from_fn(|_| vec![0.0; functions]) }
    }

    /// Another part.
    pub(super) fn forget(&mut self) {
        self.count = 0;
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
        (polynomial.count >= 2).then_some(polynomial)
    }
}

/// A polynomial through points, by divided differences.
#[derive(Default)]
struct Newton {
    count: usize,
    at: [f64; MOST + 2],
    coefficients: [f64; MOST + 2],
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

    fn value(&self, x: f64) -> f64 {
        let mut value = 0.0;
        for k in (0..self.count).rev() {
            value = value * (x - self.at[k]) + self.coefficients[k];
        }
        value
    }
}

/// Where a polynomial first becomes negative, from a grid and bisection to the last digit: cheap beside a trial.
fn first_root(polynomial: &Newton, from: f64, to: f64) -> Option<f64> {
    const GRID: u32 = 8;
    let point = |k: u32| from + (to - from) * f64::from(k) / f64::from(GRID);
    let beyond = (1..=GRID).find(|k| polynomial.value(point(*k)) <= 0.0)?;
    let (mut low, mut high) = (point(beyond - 1), point(beyond));
    for _ in 0..52 {
        let middle = 0.5 * (low + high);
        if polynomial.value(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some(0.5 * (low + high))
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
