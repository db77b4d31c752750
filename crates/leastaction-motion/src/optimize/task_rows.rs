//! Constraints on frames as the interior point sees them: scaled goals `e = 0` and scaled gaps `c ≥ 0`.

use super::rows::Equality;
use super::task::{TaskKind, TaskRows};
use super::transcription::{Point, Transcription};
use crate::spatial::{Mat3, Vec3};

impl Transcription {
    /// Measures every constraint by what is in play: the largest way of a frame to a goal, a radius, a radian.
    pub(super) fn scale_tasks(&mut self, point: &Point) {
        let mut longest = 0.0f64;
        for task in &self.tasks {
            for s in &task.samples {
                let z = self.task_row(point, *s, &task.rows);
                longest = longest.max(match task.kind {
                    TaskKind::Position { at } => (z - at).norm(),
                    TaskKind::KeepOut { centre, .. } => (z - centre).norm(),
                    TaskKind::InView { apex, .. } => (z - apex).norm(),
                    TaskKind::HalfSpace { .. } => z.norm(),
                    TaskKind::Orientation { .. } => 0.0,
                });
            }
        }
        let longest = if longest > 0.0 { longest } else { 1.0 };
        for task in &mut self.tasks {
            task.scale = match task.kind {
                TaskKind::Orientation { .. } => 1.0,
                TaskKind::KeepOut { radius, .. } => radius,
                _ => longest,
            };
        }
    }

    fn goals(&self) -> impl Iterator<Item = (&TaskRows, usize)> {
        let each = self.tasks.iter().filter(|task| task.is_equality());
        each.flat_map(|task| (0..task.samples.len()).map(move |i| (task, i)))
    }

    fn gap_places(&self) -> impl Iterator<Item = (&TaskRows, usize)> {
        let each = self.tasks.iter().filter(|task| !task.is_equality());
        each.flat_map(|task| (0..task.samples.len()).map(move |i| (task, i)))
    }

    /// Scaled residuals of all goals.
    pub(super) fn goal_residuals(&self, point: &Point) -> Vec<f64> {
        self.goals()
            .flat_map(|(task, i)| {
                let z = self.task_row(point, task.samples[i], &task.rows);
                task.residual(z).scale(1.0 / task.scale).0
            })
            .collect()
    }

    /// Gradients of the scaled residuals of all goals. They do not depend on the duration.
    pub(super) fn goal_rows(&self, point: &Point) -> Vec<Equality> {
        let rows = self.row_count();
        let mut out = Vec::new();
        let mut factors = vec![0.0; self.table.len() * rows];
        for (task, i) in self.goals() {
            for k in 0..3 {
                let at = task.samples[i] * rows + task.rows.start + k;
                factors[at] = 1.0 / task.scale;
                out.push(Equality { row: self.row_gradient(point, &factors), value: 0.0 });
                factors[at] = 0.0;
            }
        }
        out
    }

    /// Scaled gaps of all constraints that are inequalities.
    pub(super) fn task_gaps(&self, point: &Point) -> Vec<f64> {
        let value = |(task, i): (&TaskRows, usize)| {
            let gap = task.gap(self.task_row(point, task.samples[i], &task.rows)).value;
            (gap - task.margins[i]) / task.scale
        };
        self.gap_places().map(value).collect()
    }

    /// Number of those.
    pub(super) fn task_gap_count(&self) -> usize {
        self.gap_places().count()
    }

    /// Adds `Σ y ∂c/∂row` to factors of rows.
    pub(super) fn add_task_gap_factors(&self, point: &Point, y: &[f64], factors: &mut [f64]) {
        let rows = self.row_count();
        for ((task, i), y) in self.gap_places().zip(y) {
            let s = task.samples[i];
            let gap = task.gap(self.task_row(point, s, &task.rows));
            for k in 0..3 {
                factors[s * rows + task.rows.start + k] += y * gap.gradient.0[k] / task.scale;
            }
        }
    }

    /// Changes of the scaled gaps for changes of all rows.
    pub(super) fn task_gap_changes(&self, point: &Point, changes: &[f64]) -> Vec<f64> {
        let rows = self.row_count();
        let change = |(task, i): (&TaskRows, usize)| {
            let s = task.samples[i];
            let gap = task.gap(self.task_row(point, s, &task.rows));
            let dz = &changes[s * rows + task.rows.start..][..3];
            gap.gradient.dot(Vec3([dz[0], dz[1], dz[2]])) / task.scale
        };
        self.gap_places().map(change).collect()
    }

    /// Sets what multipliers `nu` of goals and `z` of gaps, squares of goals weighed by `square`, and barrier weights `sigma` add
    /// to the curvature.
    pub(super) fn set_loads(&mut self, point: &Point, nu: &[f64], square: f64, z: &[f64], sigma: &[f64]) {
        let mut tasks = std::mem::take(&mut self.tasks);
        let (mut goal, mut gap) = (0, 0);
        for task in &mut tasks {
            for i in 0..task.samples.len() {
                let scale = task.scale;
                task.loads[i] = if task.is_equality() {
                    let force =
                        nu.get(3 * goal..3 * goal + 3).map_or(Vec3::zero(), |n| Vec3([n[0], n[1], n[2]]));
                    goal += 1;
                    let stiff = square / (scale * scale);
                    let hessian = Mat3(std::array::from_fn(|a| {
                        std::array::from_fn(|b| if a == b { stiff } else { 0.0 })
                    }));
                    (force.scale(1.0 / scale), hessian)
                } else {
                    let g = task.gap(self.task_row(point, task.samples[i], &task.rows));
                    let (push, stiff) = (z[gap] / scale, sigma[gap] / (scale * scale));
                    gap += 1;
                    let hessian = Mat3(std::array::from_fn(|a| {
                        std::array::from_fn(|b| {
                            stiff * g.gradient.0[a] * g.gradient.0[b] - push * g.hessian.0[a][b]
                        })
                    }));
                    (g.gradient.scale(-push), hessian)
                };
            }
        }
        self.tasks = tasks;
    }

    /// Keeps multipliers of a solution, unscaled and times `value`; those of gaps that do not act become zero.
    pub(super) fn keep_multipliers(&mut self, nu: &[f64], z: &[f64], slacks: &[f64], value: f64) {
        let (mut goal, mut gap) = (0, 0);
        for task in &mut self.tasks {
            for i in 0..task.samples.len() {
                if task.is_equality() {
                    for k in 0..3 {
                        task.lambda[3 * i + k] = value * nu[3 * goal + k] / task.scale;
                    }
                    goal += 1;
                } else {
                    // Both are relative, to the cost and to the size of the constraint.
                    let acts = z[gap] > slacks[gap];
                    task.lambda[i] = if acts { value * z[gap] / task.scale } else { 0.0 };
                    gap += 1;
                }
            }
        }
    }
}
