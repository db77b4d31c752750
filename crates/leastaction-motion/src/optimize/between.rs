//! Limits between the samples: how far a motion passes them there.

use super::task::TaskRows;
use super::transcription::{ControlPoints, Point, Transcription};
use super::{Bound, LimitKind, TaskReport};

/// Points looked at per interval between samples.
const FINER: usize = 8;

/// A motion evaluated between its samples: interval, and the excess of one bound per kind, coordinate and side.
fn look(tr: &mut Transcription, theta: &ControlPoints, mut see: impl FnMut(usize, &Bound, f64)) {
    let (fine, interval) = finer(tr);
    let mut kinds: Vec<Bound> = Vec::new();
    for b in tr.bounds.iter().filter(|b| b.kind != LimitKind::ControlPoint) {
        if !kinds.iter().any(|k| k.row == b.row && k.upper == b.upper) {
            kinds.push(*b);
        }
    }
    let Ok(table) = tr.table.resampled(fine) else { return };
    let own = std::mem::replace(&mut tr.table, table);
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    for (s, i) in interval.iter().enumerate() {
        for b in &kinds {
            see(*i, b, tr.row_value(&point, theta, &Bound { sample: s, ..*b }));
        }
    }
    tr.table = own;
}

/// How far frames pass what they keep clear of, or stray from goals over an interval: per constraint and interval between samples; empty
/// for goals at single times.
fn frame_excess(tr: &mut Transcription, theta: &ControlPoints) -> Vec<Vec<f64>> {
    let (fine, interval) = finer(tr);
    let mut worst: Vec<Vec<f64>> = vec![Vec::new(); tr.tasks.len()];
    let Ok(table) = tr.table.resampled(fine) else { return worst };
    let own = std::mem::replace(&mut tr.table, table);
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    for (task, worst) in tr.tasks.iter().zip(&mut worst).filter(|(task, _)| task.samples.len() > 1) {
        // Where it holds: from its first sample to its last.
        let ends = [task.samples.first(), task.samples.last()].map(|s| s.map(|s| own.times[*s]));
        let [Some(from), Some(to)] = ends else { continue };
        worst.resize(own.len() + 1, 0.0);
        for (s, _) in tr.table.times.iter().enumerate().filter(|(_, t)| (from..=to).contains(*t)) {
            let z = tr.task_row(&point, s, &task.rows);
            let past = if task.is_equality() { task.residual(z).norm() } else { -task.gap(z).value };
            let most = &mut worst[interval[s]];
            *most = most.max(past);
        }
    }
    tr.table = own;
    worst
}

/// How far frames pass what they keep clear of between the samples, told in their reports.
pub(super) fn frames(tr: &mut Transcription, theta: &ControlPoints, reports: &mut [TaskReport]) {
    if tr.tasks.iter().any(|task| task.samples.len() > 1) {
        for (worst, report) in frame_excess(tr, theta).iter().zip(reports) {
            report.violation_between = worst.iter().fold(report.violation_between, |m, x| m.max(*x));
        }
    }
}

/// Widens the margins of frames beside every place between samples where they pass their bounds; the largest such passing,
/// relative to the sizes of the constraints, before that.
pub(super) fn widen_margins(tr: &mut Transcription, theta: &ControlPoints) -> f64 {
    if tr.task_gap_count() == 0 {
        return 0.0;
    }
    let excess = frame_excess(tr, theta);
    let mut largest = 0.0f64;
    let gaps = |(task, worst): &(&mut TaskRows, &Vec<f64>)| !task.is_equality() && !worst.is_empty();
    for (task, worst) in tr.tasks.iter_mut().zip(&excess).filter(gaps) {
        for (margin, s) in task.margins.iter_mut().zip(&task.samples) {
            // Sample s stands between intervals s and s + 1.
            let x = worst[*s].max(worst[*s + 1]);
            *margin += 1.1 * x;
            largest = largest.max(x / task.scale);
        }
    }
    largest
}

/// Times between the samples, both ends included, and the interval each is in.
fn finer(tr: &Transcription) -> (Vec<f64>, Vec<usize>) {
    let duration = tr.table.knots[tr.table.n_control];
    // Samples of a Gauss rule do not reach the ends.
    let mut edges = vec![0.0];
    edges.extend(&tr.table.times);
    edges.push(duration);
    let (mut fine, mut interval) = (Vec::new(), Vec::new());
    for (i, pair) in edges.windows(2).enumerate() {
        for k in 0..FINER {
            fine.push(pair[0] + (pair[1] - pair[0]) * k as f64 / FINER as f64);
            interval.push(i);
        }
    }
    fine.push(duration);
    interval.push(edges.len() - 2);
    (fine, interval)
}

/// By how much the motion passes the limit `goal` of each bound in the two intervals beside the bound's sample.
pub(super) fn excess(tr: &mut Transcription, goal: &[Bound], theta: &ControlPoints) -> Vec<f64> {
    if goal.is_empty() {
        return Vec::new();
    }
    let intervals = tr.table.len() + 1;
    // Worst excess per kind and interval; kinds by row and side.
    let mut kinds: Vec<(usize, bool, Vec<f64>)> = Vec::new();
    let limit = |row: usize, upper: bool| goal.iter().find(|b| b.row == row && b.upper == upper).copied();
    let mut values: Vec<(usize, usize, bool, f64)> = Vec::new();
    look(tr, theta, |i, b, value| values.push((i, b.row, b.upper, value)));
    for (i, row, upper, value) in values {
        let at = kinds.iter().position(|k| k.0 == row && k.1 == upper).unwrap_or_else(|| {
            kinds.push((row, upper, vec![0.0; intervals]));
            kinds.len() - 1
        });
        if let Some(bound) = limit(row, upper) {
            let worst = &mut kinds[at].2[i];
            *worst = worst.max(-bound.gap(value));
        }
    }
    goal.iter()
        .map(|b| {
            if b.kind == LimitKind::ControlPoint {
                return 0.0;
            }
            let kind = kinds.iter().find(|k| k.0 == b.row && k.1 == b.upper);
            // Sample s stands between intervals s and s + 1.
            kind.map_or(0.0, |k| k.2[b.sample].max(k.2[b.sample + 1]))
        })
        .collect()
}

/// How limits are kept: the largest violation at the samples, the largest anywhere, and the bound it is of.
pub(super) struct Kept {
    pub(super) at_samples: f64,
    pub(super) anywhere: f64,
    pub(super) worst: Option<Bound>,
}

/// Looks at all limits, at the samples and between them.
pub(super) fn violations(tr: &mut Transcription, theta: &ControlPoints) -> Kept {
    let mut kept = Kept { at_samples: 0.0, anywhere: 0.0, worst: None };
    if tr.bounds.is_empty() {
        return kept;
    }
    let mut point = Point::default();
    tr.evaluate(theta, &mut point);
    let note = |bound: &Bound, violation: f64, kept: &mut Kept| {
        if violation > kept.anywhere {
            kept.anywhere = violation;
            kept.worst = Some(*bound);
        }
    };
    for b in &tr.bounds {
        note(b, -b.gap(tr.row_value(&point, theta, b)), &mut kept);
    }
    kept.at_samples = kept.anywhere;
    look(tr, theta, |_, b, value| note(b, -b.gap(value), &mut kept));
    kept
}
