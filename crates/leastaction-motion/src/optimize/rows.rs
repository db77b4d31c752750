//! What the rows of a sample stand for: costs, limits and via points in terms of state entries and quantities.

use std::ops::Range;

use super::{LimitKind, MotionChart, MotionProblem, OptimizeError, Quantity, TermKind};
use crate::spatial::Mat3;

/// Rows of one term.
#[derive(Clone, Debug)]
pub(super) struct TermRows {
    pub(super) rows: Range<usize>,
    /// Weight of each squared row; zero where `matrix` weighs.
    pub(super) metric: Vec<f64>,
    /// Symmetric matrix of `block²` numbers that every `block` rows are measured by; `block` is 0 without one.
    pub(super) matrix: Vec<f64>,
    pub(super) block: usize,
    /// Reference per row: empty (zero), one set, or one set per sample.
    pub(super) reference: Vec<f64>,
    /// Control-point reference of a regularisation term.
    pub(super) control: Option<Vec<f64>>,
    /// Samples it counts at.
    pub(super) samples: Range<usize>,
}

/// A bound on a row at one sample, or on a control point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// What is bounded.
    pub kind: LimitKind,
    /// Sample, or control point for [`LimitKind::ControlPoint`].
    pub sample: usize,
    /// Coordinate.
    pub coordinate: usize,
    /// True for `value ≤ limit`, false for `value ≥ limit`.
    pub upper: bool,
    /// The limit.
    pub limit: f64,
    pub(super) row: usize,
}

impl Bound {
    /// `c ≥ 0` for a value of the row.
    #[inline(always)]
    #[must_use]
    pub fn gap(&self, value: f64) -> f64 {
        if self.upper { self.limit - value } else { value - self.limit }
    }
    /// `∂c/∂value`.
    #[inline(always)]
    #[must_use]
    pub fn sign(&self) -> f64 {
        if self.upper { -1.0 } else { 1.0 }
    }
}

/// A linear equality on the free control points: `Σ coefficient θ = value`.
#[derive(Clone, Debug)]
pub(super) struct Equality {
    pub(super) row: Vec<f64>,
    pub(super) value: f64,
}

/// The list of quantities a problem needs, those of limits included; orientations with their references.
#[must_use]
pub fn quantities_of(problem: &MotionProblem, chart: &MotionChart) -> Vec<(Quantity, Vec<Mat3>)> {
    let mut list: Vec<_> = problem.terms.iter().flat_map(|t| t.quantities(chart)).collect();
    for limit in &problem.limits {
        if let Some(quantity) = limit.kind.quantity(chart)
            && !list.iter().any(|(q, _)| *q == quantity)
        {
            list.push((quantity, Vec::new()));
        }
    }
    list.extend(problem.tasks.iter().map(super::TaskConstraint::quantity));
    list
}

/// A metric matrix is square, symmetric, not negative on its diagonal, and divides the rows.
fn check_matrix(matrix: &[f64], block: usize, rows: usize) -> Result<(), OptimizeError> {
    let square = block * block == matrix.len() && rows.is_multiple_of(block);
    let symmetric = square
        && (0..block).all(|i| {
            matrix[i * block + i] >= 0.0
                && (0..i).all(|j| {
                    let (a, b) = (matrix[i * block + j], matrix[j * block + i]);
                    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
                })
        });
    if symmetric && matrix.iter().all(|x| x.is_finite()) && positive(matrix, block) {
        Ok(())
    } else {
        Err(OptimizeError::WrongLength { name: "metric", expected: rows, found: matrix.len() })
    }
}

/// True if a symmetric matrix has no negative eigenvalue beyond rounding: Cholesky of it with a hair on the diagonal.
fn positive(matrix: &[f64], block: usize) -> bool {
    let largest = matrix.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    let mut a = matrix.to_vec();
    (0..block).for_each(|i| a[i * block + i] += 1e-12 * largest.max(f64::MIN_POSITIVE));
    crate::linalg::cholesky(&mut a, block).is_ok()
}

impl TermRows {
    /// Row `k` of `G r`.
    #[inline(always)]
    pub(super) fn weighted(&self, k: usize, residual: impl Fn(usize) -> f64) -> f64 {
        if self.block == 0 {
            return self.metric[k] * residual(k);
        }
        let first = k - k % self.block;
        let row = &self.matrix[(k - first) * self.block..][..self.block];
        row.iter().enumerate().map(|(j, g)| g * residual(first + j)).sum()
    }

    /// Reference of the `k`-th row of the term at sample `s`.
    #[inline(always)]
    pub(super) fn reference_at(&self, s: usize, k: usize) -> f64 {
        let rows = self.rows.len();
        match self.reference.len() {
            0 => 0.0,
            len if len == rows => self.reference[k],
            _ => self.reference[s * rows + k],
        }
    }
}

/// Rows of all terms, the first row of every quantity, and the number of quantity rows.
#[expect(clippy::type_complexity, reason = "three plain lists")]
pub(super) fn term_rows(
    problem: &MotionProblem,
    chart: &MotionChart,
    n: usize,
    size: usize,
    times: &[f64],
) -> Result<(Vec<TermRows>, Vec<(Quantity, usize)>, usize), OptimizeError> {
    let (samples, slack) = (times.len(), 1e-12 * problem.duration);
    let mut terms = Vec::new();
    let mut places: Vec<(Quantity, usize)> = Vec::new();
    let mut nz = 0;
    for term in &problem.terms {
        let quantities = term.quantities(chart);
        let (mut reference, mut control) = (Vec::new(), None);
        // One reference for all samples, or one per sample.
        let per_sample = |name: &'static str, found: usize| {
            let fine = found == 1 || found == samples;
            if fine { Ok(()) } else { Err(OptimizeError::WrongLength { name, expected: samples, found }) }
        };
        match &term.kind {
            TermKind::Regularisation { reference } => {
                let (expected, found) = (problem.n_control * n, reference.len());
                if found != expected {
                    let name = "regularisation reference";
                    return Err(OptimizeError::WrongLength { name, expected, found });
                }
                control = Some(reference.clone());
            }
            TermKind::Tracking { reference: rows, .. } => {
                if !rows.is_empty() {
                    per_sample("tracking reference", rows.len())?;
                }
                reference.extend(rows.iter().flat_map(|r| r.0));
            }
            TermKind::OrientationTracking { reference, .. } => {
                per_sample("orientation reference", reference.len())?;
            }
            TermKind::Squares(_) => {}
        }
        let rows = match term.state_order(chart) {
            Some(order) => order * n..(order + 1) * n,
            None if quantities.is_empty() => 0..0,
            None => {
                let start = size + nz;
                for (quantity, _) in &quantities {
                    places.push((*quantity, size + nz));
                    nz += quantity.rows(n);
                }
                start..size + nz
            }
        };
        let metric = if term.metric.is_empty() { vec![1.0; rows.len()] } else { term.metric.clone() };
        if metric.len() != rows.len() || metric.iter().any(|m| !(*m >= 0.0 && m.is_finite())) {
            return Err(OptimizeError::WrongLength {
                name: "metric",
                expected: rows.len(),
                found: metric.len(),
            });
        }
        let mut metric = metric;
        let block = term.metric_matrix.len().isqrt();
        if block > 0 {
            check_matrix(&term.metric_matrix, block, rows.len())?;
            metric.fill(0.0);
        }
        let counts = match term.during {
            Some((from, to)) => {
                times.partition_point(|t| *t < from - slack)..times.partition_point(|t| *t <= to + slack)
            }
            None => 0..samples,
        };
        if let Some((from, to)) = term.during.filter(|_| counts.is_empty()) {
            let (term, duration) = (term.name.clone(), problem.duration);
            return Err(OptimizeError::TermOutside { term, from, to, duration });
        }
        let matrix = term.metric_matrix.clone();
        terms.push(TermRows { rows, metric, matrix, block, reference, control, samples: counts });
    }
    for limit in &problem.limits {
        if let Some(quantity) = limit.kind.quantity(chart)
            && !places.iter().any(|(q, _)| *q == quantity)
        {
            places.push((quantity, size + nz));
            nz += n;
        }
    }
    // Constraints have three rows each, the last ones.
    nz += 3 * problem.tasks.len();
    Ok((terms, places, nz))
}
