//! When things happen in a motion: its samples, and what moves with its duration or with the lengths of its parts.

use super::{MotionProblem, Sampling, SplineTable, TaskConstraint, When};
use crate::spline::{BSpline, SplineError, gauss_between};

/// Times nearer to each other than this part of the duration are one.
const SAME: f64 = 1e-9;

impl MotionProblem {
    /// The same problem over another duration: times of constraints, terms and via points move with it.
    #[must_use]
    pub fn stretched(&self, duration: f64) -> Self {
        self.retimed(&[0.0, self.duration], &[0.0, duration])
    }

    /// The same problem with the times `old` moved to `new`, all others in proportion between them. Both rise from zero; the last is
    /// the duration.
    #[must_use]
    pub fn retimed(&self, old: &[f64], new: &[f64]) -> Self {
        let time = |t: f64| {
            // What is at one of them stays there to the last bit.
            if let Some(i) = old.iter().position(|own| *own == t) {
                return new[i];
            }
            let i = old.partition_point(|own| *own < t).clamp(1, old.len() - 1);
            new[i - 1] + (t - old[i - 1]) * (new[i] - new[i - 1]) / (old[i] - old[i - 1])
        };
        let mut out = Self { duration: time(self.duration), ..self.clone() };
        out.via.iter_mut().for_each(|via| via.t = time(via.t));
        for term in &mut out.terms {
            term.during = term.during.map(|(from, to)| (time(from), time(to)));
        }
        for task in &mut out.tasks {
            task.when = match task.when {
                When::At(t) => When::At(time(t)),
                When::During(from, to) => When::During(time(from), time(to)),
            };
        }
        out
    }

    /// Tables at the samples, and at the times of constraints, which have no part in costs. Where a term begins or ends to count
    /// within a knot interval, Gauss points are those of both parts: the integral stays exact.
    ///
    /// # Errors
    /// As [`SplineTable::new`].
    pub fn table(&self, orders: usize) -> Result<SplineTable, SplineError> {
        let table = SplineTable::new(self.n_control, self.degree, self.duration, orders, self.sampling)?;
        let mut samples: Vec<(f64, f64)> =
            table.times.iter().copied().zip(table.weights.iter().copied()).collect();
        let mut changed = false;
        if let Sampling::Gauss { points } = self.sampling
            && let Some(edges) = self.broken_spans(&table.knots)
        {
            let (times, weights) = gauss_between(&edges, points);
            samples = times.into_iter().zip(weights.iter().map(|w| w / self.duration)).collect();
            changed = true;
        }
        for t in self.tasks.iter().flat_map(|task| self.times_of(task)) {
            if !samples.iter().any(|(own, _)| *own == t) {
                samples.push((t, 0.0));
                changed = true;
            }
        }
        if !changed {
            return Ok(table);
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (times, weights) = samples.into_iter().unzip();
        SplineTable::on(&BSpline::new(self.n_control, self.degree, self.duration)?, orders, times, weights)
    }

    /// Times that a constraint adds to the samples: its own, or those at which a goal over an interval is met, no more of them than the
    /// spline has control points there. Those are the ends and where control points sit (Greville), for which collocation is well posed.
    pub(super) fn times_of(&self, task: &TaskConstraint) -> Vec<f64> {
        let (from, to) = match task.when {
            When::At(t) => return vec![t],
            When::During(..) if !task.is_equality() => return Vec::new(),
            When::During(from, to) => (from, to),
        };
        let Ok(spline) = BSpline::new(self.n_control, self.degree, self.duration) else { return Vec::new() };
        let fixed = (self.start.derivatives.len(), self.end.derivatives.len());
        // Where the configuration is free, velocities that are fixed at the end take control points all the same.
        let at_rest =
            |order: &usize| self.via.iter().any(|via| via.t == self.duration && via.order == *order);
        let taken = if fixed.1 == 0 { (1..self.degree).filter(at_rest).count() } else { fixed.1 };
        let free = fixed.0..self.n_control.saturating_sub(taken + usize::from(fixed.1 == 0));
        let near = 0.6 * self.duration / (self.n_control - self.degree) as f64;
        let inner = spline
            .greville()
            .enumerate()
            .filter(|(c, t)| free.contains(c) && *t > from + near && *t < to - near);
        let mut times: Vec<f64> = inner.map(|(_, t)| t).collect();
        if from > 0.0 {
            times.insert(0, from);
        }
        if to > from && (to < self.duration || fixed.1 == 0) {
            times.push(to);
        }
        times
    }

    /// Knots and the times where terms begin or end to count; `None` if those are knots.
    fn broken_spans(&self, knots: &[f64]) -> Option<Vec<f64>> {
        let mut edges = knots[self.degree..=self.n_control].to_vec();
        let spans = edges.len();
        let near = |a: f64, b: f64| (a - b).abs() <= SAME * self.duration;
        for t in self.terms.iter().filter_map(|term| term.during).flat_map(|(from, to)| [from, to]) {
            if !edges.iter().any(|own| near(*own, t)) {
                edges.push(t);
            }
        }
        edges.sort_by(f64::total_cmp);
        (edges.len() > spans).then_some(edges)
    }
}
