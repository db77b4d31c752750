//! Goals and constraints on frames.
//!
//! A constraint is a function of the rows of one sample: `r(z) = 0` or `g(z) ≥ 0`. The interior point takes them as they are: what its
//! multipliers add to gradient and curvature are [`TaskMode::Loads`]. Goals over an interval are met at as many times as the spline has
//! control points there. Where the interior point does not arrive, the method of multipliers adds to the cost
//!
//! ```text
//! λ·r + ½ ρ |r|²          or          ½ ρ (max(0, λ/ρ − g)² − (λ/ρ)²)                          (5.13)
//! ```
//!
//! of which gradient and Hessian have the band of the costs, curvature of the frames included. After each solve
//! `λ ← λ + ρ r`, `λ ← max(0, λ − ρ g)`: the gradient stays what it was, and the violation falls by a factor that grows
//! with ρ.

use std::ops::Range;

use super::transcription::{Point, Transcription};
use super::{Quantity, Target};
use crate::linalg::dot;
use crate::scalar::elementary;
use crate::spatial::{Mat3, Vec3};

/// What a frame has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TaskKind {
    /// Its origin is at a place.
    Position {
        /// The place.
        at: Vec3,
    },
    /// Its axes are those of a rotation.
    Orientation {
        /// The rotation.
        at: Mat3,
    },
    /// Its origin stays out of a ball.
    KeepOut {
        /// Centre.
        centre: Vec3,
        /// Radius.
        radius: f64,
    },
    /// Its origin stays on the side of a plane that the normal points to: `normal·x ≥ offset`.
    HalfSpace {
        /// Unit normal.
        normal: Vec3,
        /// Offset.
        offset: f64,
    },
    /// Its origin stays in a cone: within `slope` times the distance along `axis` from `apex`. With the frame on the line of
    /// sight of a camera at the apex this keeps it in view.
    InView {
        /// Apex.
        apex: Vec3,
        /// Unit axis.
        axis: Vec3,
        /// Tangent of half the opening.
        slope: f64,
    },
}

/// When.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum When {
    /// At one time.
    At(f64),
    /// At all samples from one time to another.
    During(f64, f64),
}

/// A constraint on a frame.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskConstraint {
    /// Name in files and reports.
    pub name: String,
    /// The frame.
    pub target: Target,
    /// What it has to do.
    pub kind: TaskKind,
    /// When.
    pub when: When,
}

impl TaskConstraint {
    /// The quantity it is about, orientations with their reference.
    pub(super) fn quantity(&self) -> (Quantity, Vec<Mat3>) {
        match self.kind {
            TaskKind::Orientation { at } => (Quantity::orientation(self.target), vec![at]),
            _ => (Quantity::point(self.target, 0), Vec::new()),
        }
    }

    /// How far a frame there is from its goal, or how much room it has to its bound: in m, or rad for orientations.
    #[must_use]
    pub fn distance(&self, rotation: &Mat3, place: Vec3) -> f64 {
        match self.kind {
            TaskKind::Position { at } => (place - at).norm(),
            TaskKind::Orientation { at } => {
                let turn = at.transpose() * *rotation;
                elementary::acos((0.5 * (turn.trace() - 1.0)).clamp(-1.0, 1.0))
            }
            TaskKind::KeepOut { centre, radius } => (place - centre).norm() - radius,
            TaskKind::HalfSpace { normal, offset } => normal.dot(place) - offset,
            TaskKind::InView { apex, axis, slope } => {
                let d = place - apex;
                let along = axis.dot(d);
                slope * along - (d - axis.scale(along)).norm()
            }
        }
    }

    /// True for `r = 0`.
    #[must_use]
    pub fn is_equality(&self) -> bool {
        matches!(self.kind, TaskKind::Position { .. } | TaskKind::Orientation { .. })
    }
}

/// How well a constraint is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskReport {
    /// Its name.
    pub name: String,
    /// Largest violation, in m or rad, at the samples.
    pub violation: f64,
    /// Largest violation at eight times as many times, for what is kept over an interval.
    pub violation_between: f64,
    /// Smallest distance to the bound at the samples; zero for goals.
    pub clearance: f64,
    /// Largest multiplier: what a metre or a radian of relief is worth.
    pub multiplier: f64,
}

/// How constraints enter costs and curvature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskMode {
    /// By (5.13), in costs as well.
    Penalty,
    /// By loads that a solver sets, in the curvature only.
    Loads,
}

/// A constraint at its samples, with multipliers.
#[derive(Clone, Debug)]
pub(super) struct TaskRows {
    pub(super) name: String,
    pub(super) kind: TaskKind,
    /// Three rows of quantities.
    pub(super) rows: Range<usize>,
    pub(super) samples: Vec<usize>,
    /// `[sample][3]` for goals, `[sample]` else.
    pub(super) lambda: Vec<f64>,
    rho: f64,
    /// What one unit of the constraint is: the way its frame goes, a radius, or a radian.
    pub(super) scale: f64,
    /// How much more room than none a gap has to keep at each sample, so that it stays open between them.
    pub(super) margins: Vec<f64>,
    /// Gradient and Hessian by the three rows that a solver's multipliers give, per sample.
    pub(super) loads: Vec<(Vec3, Mat3)>,
}

/// Value, gradient and Hessian of a constraint as a function of three rows.
pub(super) struct Local {
    pub(super) value: f64,
    pub(super) gradient: Vec3,
    pub(super) hessian: Mat3,
}

impl TaskRows {
    pub(super) fn new(task: &TaskConstraint, rows: Range<usize>, samples: Vec<usize>) -> Self {
        let per = if task.is_equality() { 3 } else { 1 };
        Self {
            name: task.name.clone(),
            kind: task.kind,
            rows,
            lambda: vec![0.0; per * samples.len()],
            margins: vec![0.0; samples.len()],
            loads: vec![(Vec3::zero(), Mat3([[0.0; 3]; 3])); samples.len()],
            samples,
            rho: 1.0,
            scale: 1.0,
        }
    }

    pub(super) fn is_equality(&self) -> bool {
        matches!(self.kind, TaskKind::Position { .. } | TaskKind::Orientation { .. })
    }

    /// `r` of a goal.
    pub(super) fn residual(&self, z: Vec3) -> Vec3 {
        match self.kind {
            TaskKind::Position { at } => z - at,
            _ => z,
        }
    }

    /// `g ≥ 0` with derivatives.
    pub(super) fn gap(&self, z: Vec3) -> Local {
        let zero = Mat3([[0.0; 3]; 3]);
        match self.kind {
            TaskKind::KeepOut { centre, radius } => {
                let d = z - centre;
                let length = d.norm().max(1e-9);
                let u = d.scale(1.0 / length);
                let hessian = Mat3(std::array::from_fn(|i| {
                    std::array::from_fn(|j| (f64::from(u8::from(i == j)) - u.0[i] * u.0[j]) / length)
                }));
                Local { value: length - radius, gradient: u, hessian }
            }
            TaskKind::HalfSpace { normal, offset } => {
                Local { value: normal.dot(z) - offset, gradient: normal, hessian: zero }
            }
            TaskKind::InView { apex, axis, slope } => {
                // slope · along − √(across² + ε²): smooth on the axis.
                let d = z - apex;
                let along = axis.dot(d);
                let across = d - axis.scale(along);
                let length = (across.norm().powi(2) + 1e-12).sqrt();
                let u = across.scale(1.0 / length);
                let hessian = Mat3(std::array::from_fn(|i| {
                    std::array::from_fn(|j| {
                        let project = f64::from(u8::from(i == j)) - axis.0[i] * axis.0[j];
                        (u.0[i] * u.0[j] - project) / length
                    })
                }));
                Local { value: slope * along - length, gradient: axis.scale(slope) - u, hessian }
            }
            _ => Local { value: 0.0, gradient: Vec3::zero(), hessian: zero },
        }
    }

    /// (5.13) at one of its samples, and derivatives by the rows.
    fn local(&self, i: usize, z: Vec3) -> Local {
        if self.is_equality() {
            let (r, l) = (self.residual(z), Vec3([0, 1, 2].map(|k| self.lambda[3 * i + k])));
            let value = l.dot(r) + 0.5 * self.rho * r.dot(r);
            let hessian = Mat3([[self.rho, 0.0, 0.0], [0.0, self.rho, 0.0], [0.0, 0.0, self.rho]]);
            return Local { value, gradient: l + r.scale(self.rho), hessian };
        }
        let g = self.gap(z);
        let (l, rho) = (self.lambda[i], self.rho);
        let push = l - rho * g.value;
        if push <= 0.0 {
            let zero = Mat3([[0.0; 3]; 3]);
            return Local { value: -0.5 * l * l / rho, gradient: Vec3::zero(), hessian: zero };
        }
        let hessian = Mat3(std::array::from_fn(|a| {
            std::array::from_fn(|b| rho * g.gradient.0[a] * g.gradient.0[b] - push * g.hessian.0[a][b])
        }));
        Local { value: 0.5 * (push * push - l * l) / rho, gradient: g.gradient.scale(-push), hessian }
    }
}

impl Transcription {
    pub(super) fn task_row(&self, point: &Point, s: usize, rows: &Range<usize>) -> Vec3 {
        let at = s * self.nz + rows.start - self.size;
        Vec3([point.z[at], point.z[at + 1], point.z[at + 2]])
    }

    /// What constraints add to the cost.
    pub(super) fn task_cost(&self, point: &Point) -> f64 {
        if self.task_mode == TaskMode::Loads {
            return 0.0;
        }
        let each = |task: &TaskRows| -> f64 {
            let samples = task.samples.iter().enumerate();
            samples.map(|(i, s)| task.local(i, self.task_row(point, *s, &task.rows)).value).sum()
        };
        self.task_scale * self.tasks.iter().map(each).sum::<f64>()
    }

    /// Gradient of that on the free control points; empty without constraints.
    pub(super) fn task_gradient(&self, point: &Point) -> Vec<f64> {
        if self.tasks.is_empty() || self.task_mode == TaskMode::Loads {
            return Vec::new();
        }
        let rows = self.row_count();
        let mut factors = vec![0.0; self.table.len() * rows];
        for task in &self.tasks {
            for (i, s) in task.samples.iter().enumerate() {
                let local = task.local(i, self.task_row(point, *s, &task.rows));
                for k in 0..3 {
                    factors[s * rows + task.rows.start + k] += self.task_scale * local.gradient.0[k];
                }
            }
        }
        self.row_gradient(point, &factors)
    }

    /// What a constraint adds at one of its samples, derivatives by its rows.
    fn task_local(&self, task: &TaskRows, i: usize, point: &Point) -> Local {
        if self.task_mode == TaskMode::Loads {
            let (gradient, hessian) = task.loads[i];
            return Local { value: 0.0, gradient, hessian };
        }
        let local = task.local(i, self.task_row(point, task.samples[i], &task.rows));
        let hessian = Mat3(local.hessian.0.map(|row| row.map(|x| self.task_scale * x)));
        Local { value: local.value, gradient: local.gradient.scale(self.task_scale), hessian }
    }

    /// Adds `Zᵀ ∇²φ Z` at a sample.
    pub(super) fn add_task_squares(&self, s: usize, point: &Point, hx: &mut [f64]) {
        let (size, nz) = (self.size, self.nz);
        for task in &self.tasks {
            let Some(i) = task.samples.iter().position(|own| *own == s) else { continue };
            let local = self.task_local(task, i, point);
            let line = |k: usize| &point.jacobian[(s * nz + task.rows.start - size + k) * size..][..size];
            for a in 0..3 {
                let mut mixed = vec![0.0; size];
                for b in 0..3 {
                    let f = local.hessian.0[a][b];
                    if f != 0.0 {
                        mixed.iter_mut().zip(line(b)).for_each(|(m, z)| *m += f * z);
                    }
                }
                for (i, z) in line(a).iter().enumerate().filter(|(_, z)| **z != 0.0) {
                    hx[i * size..(i + 1) * size].iter_mut().zip(&mixed).for_each(|(h, m)| *h += z * m);
                }
            }
        }
    }

    /// Adds what weighs the curvature of the rows at a sample.
    pub(super) fn add_task_curvature(&self, s: usize, point: &Point, mu: &mut [f64]) {
        for task in &self.tasks {
            let Some(i) = task.samples.iter().position(|own| *own == s) else { continue };
            let local = self.task_local(task, i, point);
            for k in 0..3 {
                mu[task.rows.start - self.size + k] += local.gradient.0[k];
            }
        }
    }

    /// Largest violation of all constraints.
    pub(super) fn task_violation(&self, point: &Point) -> f64 {
        self.task_reports(point).iter().fold(0.0, |m: f64, t| m.max(t.violation))
    }

    /// How well each constraint is kept.
    #[must_use]
    pub fn task_reports(&self, point: &Point) -> Vec<TaskReport> {
        let report = |task: &TaskRows| {
            let (mut violation, mut clearance) = (0.0f64, f64::INFINITY);
            for s in &task.samples {
                let z = self.task_row(point, *s, &task.rows);
                if task.is_equality() {
                    violation = violation.max(task.residual(z).norm());
                    clearance = 0.0;
                } else {
                    let gap = task.gap(z).value;
                    violation = violation.max(-gap);
                    clearance = clearance.min(gap);
                }
            }
            let multiplier = task.lambda.iter().fold(0.0f64, |m, l| m.max(l.abs()));
            let violation_between = violation;
            TaskReport { name: task.name.clone(), violation, violation_between, clearance, multiplier }
        };
        self.tasks.iter().map(report).collect()
    }

    /// Multipliers after a solve.
    pub(super) fn update_multipliers(&mut self, point: &Point) {
        let mut tasks = std::mem::take(&mut self.tasks);
        for task in &mut tasks {
            for (i, s) in task.samples.clone().iter().enumerate() {
                let z = self.task_row(point, *s, &task.rows);
                if task.is_equality() {
                    let r = task.residual(z);
                    (0..3).for_each(|k| task.lambda[3 * i + k] += task.rho * r.0[k]);
                } else {
                    let g = task.gap(z).value;
                    task.lambda[i] = (task.lambda[i] - task.rho * g).max(0.0);
                }
            }
        }
        self.tasks = tasks;
    }

    /// Sets ρ of all constraints.
    pub(super) fn set_penalty(&mut self, rho: f64) {
        self.tasks.iter_mut().for_each(|task| task.rho = rho);
    }

    /// Mean square of the rows' gradients: what ρ is measured against.
    pub(super) fn task_size(&self, point: &Point) -> f64 {
        let mut sum = 0.0;
        let mut count = 0.0;
        for task in &self.tasks {
            for s in &task.samples {
                let rows = self.row_count();
                let mut factors = vec![0.0; self.table.len() * rows];
                factors[s * rows + task.rows.start] = 1.0;
                let g = self.row_gradient(point, &factors);
                sum += dot(&g, &g);
                count += 1.0;
            }
        }
        sum / f64::max(count, 1.0)
    }

    /// Gradients of constraints that act, for the inverse problem: their multipliers are not costs.
    pub(super) fn task_columns(&self, point: &Point) -> Vec<Vec<f64>> {
        let rows = self.row_count();
        let mut out = Vec::new();
        for task in &self.tasks {
            for (i, s) in task.samples.iter().enumerate() {
                let z = self.task_row(point, *s, &task.rows);
                let directions: Vec<Vec3> = if task.is_equality() {
                    (0..3).map(|k| Vec3(std::array::from_fn(|j| f64::from(u8::from(j == k))))).collect()
                } else {
                    let gap = task.gap(z);
                    let acts = task.lambda[i] > 0.0 || gap.value.abs() < 1e-7;
                    if acts { vec![gap.gradient] } else { Vec::new() }
                };
                for direction in directions {
                    let mut factors = vec![0.0; self.table.len() * rows];
                    (0..3).for_each(|k| factors[s * rows + task.rows.start + k] = direction.0[k]);
                    out.push(self.row_gradient(point, &factors));
                }
            }
        }
        out
    }
}
