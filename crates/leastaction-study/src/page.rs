//! What the report shows of a run.

use leastaction::mechanism::{JointType, Mechanism};
use leastaction::spatial::{Pose, Vec3};

use crate::digits::figure;
use crate::report::{FrameThinner, Plot, PlotThinner, ReportData, Scene, SceneBody, SceneJoint, SummaryRow};
use crate::run::{Finished, Sample};
use crate::statistics::Statistics;

/// Gathers frames and plots while a run goes on, in constant memory.
#[derive(Debug)]
pub struct PageRecorder {
    frames: FrameThinner,
    energy_error: PlotThinner,
    energy: PlotThinner,
    momentum: PlotThinner,
    positions: PlotThinner,
    gap: PlotThinner,
    iterations: PlotThinner,
    forces: Option<PlotThinner>,
    /// Controls and acting forces of the inputs, and where they stand in a row.
    inputs: Option<(PlotThinner, PlotThinner, [usize; 2])>,
    friction: Option<PlotThinner>,
    initial_energy: Option<f64>,
    is_conservative: bool,
}

impl PageRecorder {
    /// A recorder for a mechanism. Where energy is not kept by nature its change is no error.
    pub fn new(mechanism: &Mechanism, is_conservative: bool, forces: Option<&[String]>) -> Self {
        let title = if is_conservative { "Energy error" } else { "Energy change" };
        Self {
            frames: FrameThinner::new(mechanism.nb()),
            energy_error: PlotThinner::new("energy-error", title, "J", false, ["E - E₀"]),
            energy: PlotThinner::new("energy", "Energy", "J", false, ["kinetic", "potential", "total"]),
            momentum: PlotThinner::new(
                "momentum",
                "Momentum about the world origin",
                "kg m²/s, kg m/s",
                false,
                ["lx", "ly", "lz", "px", "py", "pz"],
            ),
            positions: PlotThinner::new(
                "joint-positions",
                "Joint positions",
                "rad, m",
                false,
                mechanism.q_labels(),
            ),
            gap: PlotThinner::new("gap", "Constraint violation", "m", true, ["worst gap"]),
            iterations: PlotThinner::new("iterations", "Iterations", "", false, ["iterations"]),
            forces: forces
                .map(|names| PlotThinner::new("forces", "Joint forces", "N", false, names.iter().cloned())),
            inputs: (mechanism.nu() > 0).then(|| {
                let plot = |id, title, unit| {
                    PlotThinner::new(id, title, unit, false, mechanism.inputs().iter().cloned())
                };
                let first = 1 + mechanism.nq() + mechanism.nv() + 7 * mechanism.nb();
                (
                    plot("controls", "Inputs", ""),
                    plot("input-forces", "Forces of the inputs", "N m, N"),
                    [first, mechanism.nu()],
                )
            }),
            friction: (!mechanism.rows().is_empty()).then(|| {
                let title = "Forces of friction and limits";
                PlotThinner::new("friction", title, "N m, N", false, mechanism.row_labels())
            }),
            initial_energy: None,
            is_conservative,
        }
    }

    /// Takes a sample. Does not allocate.
    pub fn push(&mut self, sample: &Sample<'_>) {
        let (t, observed) = (sample.t, sample.observed);
        let total = observed.total();
        let initial = *self.initial_energy.get_or_insert(total);
        self.frames.push(t, sample.poses);
        self.energy_error.push(t, &[total - initial]);
        self.energy.push(t, &[observed.kinetic, observed.potential, total]);
        self.momentum.push(t, &observed.momentum.to_array());
        self.positions.push(t, &sample.state.q);
        self.gap.push(t, &[sample.gap]);
        self.iterations.push(t, &[f64::from(sample.iterations)]);
        if let Some(forces) = &mut self.forces {
            forces.push(t, sample.forces);
        }
        if let Some((controls, acting, [first, n])) = &mut self.inputs {
            controls.push(t, &sample.row[*first..*first + *n]);
            acting.push(t, &sample.row[*first + *n..*first + 2 * *n]);
        }
        if let Some(friction) = &mut self.friction {
            friction.push(t, sample.friction);
        }
    }

    /// The page of a finished run.
    pub fn page(&self, mechanism: &Mechanism, finished: &Finished, head: PageHead) -> ReportData {
        let statistics = &finished.statistics;
        let mut plots: Vec<Plot> = vec![self.energy_error.plot(), self.energy.plot(), self.momentum.plot()];
        if mechanism.nq() > 0 {
            plots.push(self.positions.plot());
        }
        plots.extend(self.forces.as_ref().map(PlotThinner::plot));
        if let Some((controls, acting, _)) = &self.inputs {
            plots.extend([controls.plot(), acting.plot()]);
        }
        plots.extend(self.friction.as_ref().map(PlotThinner::plot));
        if statistics.worst_gap > 0.0 {
            plots.push(self.gap.plot());
        }
        if statistics.max_iterations > 0 {
            plots.push(self.iterations.plot());
        }
        let mut warnings = head.warnings;
        warnings.extend(finished.passings.iter().map(|passing| passing.sentence()));
        if finished.moved > 1e-12 {
            warnings
                .push(format!("the start was moved by up to {} to close the loops", figure(finished.moved)));
        }
        if statistics.inconsistency > 0.0 {
            warnings.push(format!(
                "joints of loops that follow from others are open by up to {} m: the data is that far from aligned",
                figure(statistics.inconsistency)
            ));
        }
        let redundant = finished.forces.as_ref().map(crate::forces::ForceLog::redundant).unwrap_or_default();
        if !redundant.is_empty() {
            warnings.push(format!("redundant: forces of {} are of minimum norm", redundant.join(", ")));
        }
        ReportData {
            title: mechanism.name().to_owned(),
            subtitle: head.subtitle,
            summary: rows(statistics, finished, self.is_conservative),
            warnings,
            configuration: head.configuration,
            versions: vec![("leastaction".into(), env!("CARGO_PKG_VERSION").into())],
            model_hash: head.model_hash,
            scene: scene(mechanism),
            frames: self.frames.frames(),
            plots,
            ..ReportData::default()
        }
    }
}

/// What a page says besides the run's figures.
#[derive(Debug, Default)]
pub struct PageHead {
    /// Line below the title.
    pub subtitle: String,
    /// What deserves attention.
    pub warnings: Vec<String>,
    /// The scenario in full.
    pub configuration: String,
    /// Of the model as it ran.
    pub model_hash: String,
}

fn rows(statistics: &Statistics, finished: &Finished, is_conservative: bool) -> Vec<SummaryRow> {
    let energy = if is_conservative { "energy error" } else { "energy change" };
    let (max, rms) = (statistics.max_energy_error(), statistics.rms_energy_error());
    let rate = statistics.steps as f64 / finished.wall.as_secs_f64().max(1e-9);
    let mut rows = vec![
        SummaryRow::new("steps", statistics.steps.to_string(), format!("of {} s", finished.clock.step)),
        SummaryRow::new(
            "wall time",
            format!("{:.3} s", finished.wall.as_secs_f64()),
            format!("{rate:.0} steps/s"),
        ),
        SummaryRow::new(
            format!("{energy}, largest"),
            format!("{} J", figure(max)),
            format!("{} of the largest kinetic energy", figure(statistics.relative(max))),
        ),
        SummaryRow::new(format!("{energy}, rms"), format!("{} J", figure(rms)), ""),
    ];
    if let Some(sentence) = finished.rows.sentence(statistics.events, statistics.forced) {
        rows.push(SummaryRow::new("joints with friction or limits", sentence, ""));
    }
    if statistics.worst_gap > 0.0 {
        rows.push(SummaryRow::new("worst gap", format!("{} m", figure(statistics.worst_gap)), ""));
    }
    if statistics.max_iterations > 0 {
        let mean = format!("{:.2}", statistics.mean_iterations());
        rows.push(SummaryRow::new(
            "iterations, mean",
            mean,
            format!("at most {}", statistics.max_iterations),
        ));
    }
    for (label, count) in [
        ("retries", statistics.retries),
        ("halvings", statistics.halvings),
        ("fallbacks", statistics.fallbacks),
        ("splits", statistics.splits),
        ("dropped rank, most", u64::from(statistics.dropped_rank)),
    ] {
        if count > 0 {
            rows.push(SummaryRow::new(label, count.to_string(), ""));
        }
    }
    rows
}

/// Bodies and joints to draw.
pub fn scene(mechanism: &Mechanism) -> Scene {
    let bodies = mechanism.bodies().iter().map(|body| SceneBody {
        name: body.name.clone(),
        com: body.com.0,
        visuals: body.visuals.clone(),
    });
    let joints = mechanism.joints().iter().enumerate().map(|(i, joint)| {
        let has_axis = !matches!(joint.kind, JointType::Spherical | JointType::Floating | JointType::Fixed);
        // Joint frames are turned so that the axis is z; a universal joint's second axis is x.
        let axis = |frame: &Pose, column: usize| -> [f64; 3] {
            if has_axis { frame.rot.column(column).0 } else { Vec3::zero().0 }
        };
        SceneJoint {
            name: joint.name.clone(),
            kind: joint.kind.name().to_owned(),
            closes_loop: i >= mechanism.nb(),
            parent: joint.parent.map(|body| body.index()),
            child: joint.child.index(),
            parent_anchor: joint.parent_frame.pos.0,
            parent_axis: axis(&joint.parent_frame, 2),
            child_anchor: joint.child_frame.pos.0,
            child_axis: axis(&joint.child_frame, if joint.kind == JointType::Universal { 0 } else { 2 }),
        }
    });
    Scene { bodies: bodies.collect(), joints: joints.collect(), ..Scene::default() }
}
