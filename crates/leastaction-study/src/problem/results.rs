//! Result files of a solved motion: trajectory, solution, report.

use std::path::{Path, PathBuf};

use leastaction::jet::JetWorkspace;
use leastaction::mechanism::State;
use leastaction::optimize::{ControlPoints, Limit, LimitKind, MotionChart, Progress, Sampling, SplineTable};
use leastaction::trajectory::{Recorded, Sampler, TrajectoryLayout};

use super::ProblemFile;
use super::constraint_page::ConstraintPage;
use super::solution_file;
use crate::failure::Failure;
use crate::output::{RunFolder, cannot_write};
use crate::page;
use crate::report::{
    self, Bars, FrameThinner, OverlayKind, Plot, PlotLimit, PlotThinner, ReportData, SummaryRow,
};

/// Rows of a written trajectory.
const ROWS: usize = 401;

/// What a page says besides the motion.
#[derive(Debug, Default)]
pub struct Page {
    /// Line below the title.
    pub subtitle: String,
    /// Rows of the summary.
    pub summary: Vec<SummaryRow>,
    /// What deserves attention.
    pub warnings: Vec<String>,
    /// Inferred weights.
    pub bars: Bars,
    /// What was recorded, drawn over the motion: times and configurations `[row][nq]`; none if empty.
    pub recorded: (Vec<f64>, Vec<f64>),
}

/// Writes trajectory files and, if there is a page, the report.
pub fn write(
    out: &Path,
    file: &ProblemFile,
    theta: &ControlPoints,
    history: &[Progress],
    page: Option<Page>,
) -> Result<PathBuf, Failure> {
    let mechanism = &file.mechanism;
    let n = mechanism.nv();
    let samples = Samples::new(file, theta, ROWS)?;

    let mut folder = RunFolder::create(out, &TrajectoryLayout::of(mechanism))?;
    let mut sampler = Sampler::new(mechanism);
    let mut jets = JetWorkspace::<f64>::new(mechanism, 0);
    jets.include_passive(file.problem.passive);
    let mut frames = FrameThinner::new(mechanism.nb());
    let mut plots = plots(file, samples.orders);
    let dots = page.as_ref().map(|page| Dots::new(&page.recorded, mechanism.nq(), file.problem.duration));
    let dots = dots.filter(|dots| !dots.rows.is_empty());
    if dots.is_some() {
        let (positions, names) = (&mut plots[0].2, mechanism.q_labels());
        let both = names.iter().chain(&names).cloned();
        let unit = super::units_of(mechanism, "rad, m");
        *positions =
            PlotThinner::new("joint-positions", "Joint positions: recorded and found", unit, false, both);
    }
    let inputs = vec![0.0; mechanism.nu()];
    let mut constraints = ConstraintPage::new(&file.problem.tasks);
    for s in 0..ROWS {
        let (state, rates) = samples.at(s);
        let (t, q) = (state.t, state.q.clone());
        let observed = sampler.observe(&state);
        sampler.row(&state, &observed, Recorded { t, u: &inputs, ..Recorded::default() });
        folder.push(sampler.last_row())?;
        frames.push(t, sampler.poses());
        if !file.problem.tasks.is_empty() {
            jets.forward_from_derivatives(&q, &[&vec![0.0; n], &vec![0.0; n]])
                .map_err(|error| Failure::from_error(&error))?;
            constraints.push(t, &mut jets);
        }
        for (kind, order, plot, _) in &mut plots {
            let values = match (*kind, *order) {
                (LimitKind::Torque, _) => {
                    jets.forward_from_derivatives(&q, &[&rates[0], &rates[1]])
                        .map_err(|error| Failure::from_error(&error))?;
                    jets.torque(0).to_vec()
                }
                (_, 0) => match &dots {
                    Some(dots) => q.iter().chain(dots.at(s)).copied().collect(),
                    None => q.clone(),
                },
                (_, order) => rates[order - 1].clone(),
            };
            plot.push(t, &values);
        }
    }
    let out = folder.finish()?;
    if let Some(head) = page {
        let with_limits = |(_, order, plot, limits): &(_, usize, PlotThinner, Vec<PlotLimit>)| {
            let plot = match &dots {
                Some(_) if *order == 0 => plot.plot_with(mechanism.nq(), &[OverlayKind::Dots("recorded")]),
                _ => plot.plot(),
            };
            Plot { limits: limits.clone(), ..plot }
        };
        let mut all = constraints.plots();
        all.extend(plots.iter().map(with_limits));
        let mut scene = page::scene(mechanism);
        scene.world_visuals.extend(constraints.shapes());
        let data = ReportData {
            title: file.name.clone(),
            subtitle: head.subtitle,
            summary: head.summary,
            warnings: head.warnings,
            configuration: file.text.clone(),
            versions: vec![("leastaction".into(), env!("CARGO_PKG_VERSION").into())],
            model_hash: crate::model::hash(&file.description),
            scene,
            frames: frames.frames(),
            plots: all,
            bars: head.bars,
            figures: if history.is_empty() { Vec::new() } else { vec![convergence(history)] },
        };
        let path = out.join("report.html");
        report::write(&path, &data).map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(out)
}

/// The motion of a solution file at `count` evenly spaced times, with the columns of a trajectory.
///
/// # Errors
/// If the file does not fit the problem, or the table does not fit into memory.
pub fn sample(
    file: &mut ProblemFile,
    solution: &Path,
    count: usize,
) -> Result<(TrajectoryLayout, Vec<f64>), Failure> {
    let (theta, duration) = solution_file::read_motion(solution, file)?;
    file.problem.duration = duration;
    let layout = TrajectoryLayout::of(&file.mechanism);
    let numbers = layout.width() + 4 * file.mechanism.nv();
    crate::memory::expect_room("the table of the motion", numbers as f64 * count as f64)?;
    let samples = Samples::new(file, &theta, count)?;
    let mut sampler = Sampler::new(&file.mechanism);
    let inputs = vec![0.0; file.mechanism.nu()];
    let mut rows = Vec::with_capacity(count * layout.width());
    for s in 0..count {
        let (state, _) = samples.at(s);
        let observed = sampler.observe(&state);
        sampler.row(&state, &observed, Recorded { t: state.t, u: &inputs, ..Recorded::default() });
        rows.extend_from_slice(sampler.last_row());
    }
    Ok((layout, rows))
}

/// A spline at evenly spaced times.
struct Samples {
    table: SplineTable,
    chart: MotionChart,
    /// Values and derivatives of the chart's coordinates, `[sample][order][coordinate]`.
    x: Vec<f64>,
    orders: usize,
    n: usize,
}

impl Samples {
    fn new(file: &ProblemFile, theta: &ControlPoints, count: usize) -> Result<Self, Failure> {
        let (problem, n) = (&file.problem, file.mechanism.nv());
        let orders = problem.degree.min(4);
        let sampling = Sampling::Uniform { count };
        let table = SplineTable::new(problem.n_control, problem.degree, problem.duration, orders, sampling)
            .map_err(|error| Failure::from_error(&error))?;
        let mut x = vec![0.0; count * orders * n];
        table.add_states(&theta.high, n, &mut x);
        table.add_states(&theta.low, n, &mut x);
        Ok(Self { table, chart: problem.chart(&file.mechanism), x, orders, n })
    }

    /// The state at a sample, and the derivatives of the motion from velocities on.
    fn at(&self, s: usize) -> (State, Vec<Vec<f64>>) {
        let (t, width) = (self.table.times[s], self.orders * self.n);
        let (q, rates) = self.chart.motion(t, &self.x[s * width..(s + 1) * width]);
        let v = rates.first().cloned().unwrap_or_else(|| vec![0.0; self.n]);
        (State { t, q, v, ..State::default() }, rates)
    }
}

/// Recorded positions at the rows of a plot: the nearest ones, nothing where none is within half a row.
struct Dots {
    nq: usize,
    /// Configurations by row; not a number where there is none.
    rows: Vec<f64>,
}

impl Dots {
    fn new((times, q): &(Vec<f64>, Vec<f64>), nq: usize, duration: f64) -> Self {
        if times.is_empty() || q.len() != times.len() * nq {
            return Self { nq, rows: Vec::new() };
        }
        let mut rows = vec![f64::NAN; ROWS * nq];
        for (t, q) in times.iter().zip(q.chunks_exact(nq)) {
            let row = (t / duration * (ROWS - 1) as f64).round();
            if (0.0..ROWS as f64).contains(&row) {
                rows[row as usize * nq..][..nq].copy_from_slice(q);
            }
        }
        Self { nq, rows }
    }

    fn at(&self, row: usize) -> &[f64] {
        &self.rows[row * self.nq..(row + 1) * self.nq]
    }
}

/// Positions, velocities, jerks and torques, with what they may not pass.
fn plots(file: &ProblemFile, orders: usize) -> Vec<(LimitKind, usize, PlotThinner, Vec<PlotLimit>)> {
    let labels = file.mechanism.v_labels();
    let kinds = [
        (LimitKind::Position, 0, "joint-positions", "Joint positions", "rad, m"),
        (LimitKind::Velocity, 1, "joint-velocities", "Joint velocities", "rad/s, m/s"),
        (LimitKind::Acceleration, 2, "joint-accelerations", "Joint accelerations", "rad/s², m/s²"),
        (LimitKind::Jerk, 3, "joint-jerks", "Joint jerks", "rad/s³, m/s³"),
        (LimitKind::Torque, 2, "torques", "Joint torques", "N m, N"),
    ];
    kinds
        .into_iter()
        .filter(|(_, order, ..)| *order < orders)
        .map(|(kind, order, id, title, unit)| {
            let names = if order == 0 { file.mechanism.q_labels() } else { labels.clone() };
            let own = |l: &&Limit| l.kind == kind || (order == 0 && l.kind == LimitKind::ControlPoint);
            let limits = file.problem.limits.iter().filter(own).flat_map(plot_limits).collect();
            let unit = super::units_of(&file.mechanism, unit);
            (kind, order, PlotThinner::new(id, title, unit, false, names), limits)
        })
        .collect()
}

/// One shade for all curves where their limits are the same.
fn plot_limits(limit: &Limit) -> Vec<PlotLimit> {
    let each: Vec<PlotLimit> = limit
        .lower
        .iter()
        .zip(&limit.upper)
        .enumerate()
        .filter(|(_, (low, high))| low.is_finite() || high.is_finite())
        .map(|(i, (low, high))| PlotLimit { of: Some(i), low: *low, high: *high })
        .collect();
    match each.first() {
        Some(first)
            if each.len() == limit.lower.len()
                && each.iter().all(|l| (l.low, l.high) == (first.low, first.high)) =>
        {
            vec![PlotLimit { of: None, ..first.clone() }]
        }
        _ => each,
    }
}

/// Residual and violation over iterations.
fn convergence(history: &[Progress]) -> Plot {
    let mut plot = PlotThinner::new(
        "convergence",
        "Convergence over iterations",
        "relative",
        true,
        ["optimality residual", "limit violation", "step"],
    );
    for (i, p) in history.iter().enumerate() {
        plot.push(i as f64, &[p.kkt, p.violation, p.step]);
    }
    Plot { own_axis: true, ..plot.plot() }
}
