//! What the report shows of a run.

use std::ops::Range;

use leastaction::contact::Against;
use leastaction::mechanism::{JointType, Mechanism};
use leastaction::spatial::{Pose, Vec3};
use leastaction::trajectory::TrajectoryLayout;

use crate::digits::figure;
use crate::forces::CONTACT_PARTS;
use crate::limits::Passing;
use crate::report::{
    FrameThinner, Frames, PlotThinner, ReportData, Scene, SceneBody, SceneJoint, SummaryRow,
};
use crate::run::Finished;
use crate::statistics::Statistics;

/// Columns of a row, drawn as they are.
#[derive(Debug)]
struct Curves {
    plot: PlotThinner,
    columns: Range<usize>,
}

/// Most pairs of surfaces whose forces are drawn.
const MOST_PAIRS: usize = 200;

/// What touches: arrows beside the frames, and three plots.
#[derive(Debug)]
struct ContactCurves {
    columns: Range<usize>,
    names: Vec<String>,
    arrows: FrameThinner,
    plots: [PlotThinner; 3],
    /// Scratch: seven numbers of every pair, one of every pair.
    numbers: Vec<f64>,
    values: Vec<f64>,
}

/// Places of gap, normal force and slip among the parts of a pair, with how they are shown.
const SHOWN: [(usize, &str, &str, &str); 3] = [
    (7, "contact-normal", "Normal forces of contacts", "N"),
    (8, "contact-slip", "Slip of contacts", "m/s"),
    (6, "contact-gap", "Distances of surfaces", "m"),
];

impl ContactCurves {
    fn new(columns: Range<usize>, frames: &FrameThinner, names: &[String]) -> Option<Self> {
        let names = names[..names.len().min(MOST_PAIRS)].to_vec();
        let plot = |(_, id, title, unit): (usize, &str, &str, &str)| {
            PlotThinner::new(id, title, unit, false, names.iter().map(String::as_str))
        };
        (!names.is_empty()).then(|| Self {
            columns,
            arrows: frames.beside(names.len()),
            plots: SHOWN.map(plot),
            numbers: vec![0.0; 7 * names.len()],
            values: vec![0.0; names.len()],
            names: names.clone(),
        })
    }

    fn push(&mut self, t: f64, row: &[f64]) {
        let count = CONTACT_PARTS.len();
        let parts = row[self.columns.clone()].chunks_exact(count);
        for (to, from) in self.numbers.chunks_exact_mut(7).zip(parts.clone()) {
            to.copy_from_slice(&from[..7]);
        }
        self.arrows.push(t, &self.numbers);
        for (plot, (place, ..)) in self.plots.iter_mut().zip(SHOWN) {
            for (value, part) in self.values.iter_mut().zip(parts.clone()) {
                *value = part[place];
            }
            plot.push(t, &self.values);
        }
    }
}

/// Gathers frames and plots while a run goes on, in constant memory. It needs the rows of the trajectory and nothing else, so
/// that the page can be made again from them.
#[derive(Debug)]
pub struct PageRecorder {
    frames: FrameThinner,
    poses: Range<usize>,
    energy_error: PlotThinner,
    energy: Option<Curves>,
    momentum: Option<Curves>,
    positions: Option<Curves>,
    gap: Option<Curves>,
    iterations: Option<Curves>,
    controls: Option<Curves>,
    acting: Option<Curves>,
    friction: Option<Curves>,
    /// Sizes of the forces of the joints, and the six columns of each.
    forces: Option<(Curves, Vec<f64>)>,
    contact: Option<ContactCurves>,
    initial_energy: Option<f64>,
    is_conservative: bool,
}

/// Where the columns of a group stand.
fn columns(layout: &TrajectoryLayout, name: &str) -> Option<Range<usize>> {
    let mut first = 0;
    for group in layout.groups() {
        let last = first + group.columns.len();
        if group.name == name {
            return Some(first..last);
        }
        first = last;
    }
    None
}

impl PageRecorder {
    /// A recorder for rows of `layout`. Where energy is not kept by nature its change is no error. `forces` are the names of what
    /// bears constraint forces, if they are in the rows.
    pub fn new(
        mechanism: &Mechanism,
        layout: &TrajectoryLayout,
        is_conservative: bool,
        forces: Option<&[String]>,
        pairs: &[String],
    ) -> Self {
        let title = if is_conservative { "Energy error" } else { "Energy change" };
        let curves = |group, id, title, unit, log, labels: Vec<String>| {
            let columns = columns(layout, group)?;
            Some(Curves { plot: PlotThinner::new(id, title, unit, log, labels), columns })
        };
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let inputs = || mechanism.inputs().to_vec();
        let sizes = |names: &[String]| {
            let curves = curves("f", "forces", "Joint forces", "N", false, names.to_vec())?;
            Some((curves, vec![0.0; names.len()]))
        };
        let rows = || mechanism.row_labels();
        let frames = FrameThinner::new(mechanism.nb());
        Self {
            contact: columns(layout, "c").and_then(|columns| ContactCurves::new(columns, &frames, pairs)),
            frames,
            poses: columns(layout, "x").unwrap_or_default(),
            energy_error: PlotThinner::new("energy-error", title, "J", false, ["E - E₀"]),
            energy: curves(
                "energy",
                "energy",
                "Energy",
                "J",
                false,
                words(&["kinetic", "potential", "total"]),
            ),
            momentum: curves(
                "momentum",
                "momentum",
                "Momentum about the world origin",
                "kg m²/s, kg m/s",
                false,
                words(&["lx", "ly", "lz", "px", "py", "pz"]),
            ),
            positions: curves(
                "q",
                "joint-positions",
                "Joint positions",
                "rad, m",
                false,
                mechanism.q_labels(),
            ),
            gap: curves("gap", "gap", "Constraint violation", "m", true, words(&["worst gap"])),
            iterations: curves("iterations", "iterations", "Iterations", "", false, words(&["iterations"])),
            controls: curves("u", "controls", "Inputs", "", false, inputs()),
            acting: curves("a", "input-forces", "Forces of the inputs", "N m, N", false, inputs()),
            friction: curves(
                "friction",
                "friction",
                "Forces of friction and limits",
                "N m, N",
                false,
                rows(),
            ),
            forces: forces.and_then(sizes),
            initial_energy: None,
            is_conservative,
        }
    }

    /// Takes a row. Does not allocate.
    pub fn push(&mut self, row: &[f64]) {
        let t = row[0];
        self.frames.push(t, &row[self.poses.clone()]);
        if let Some(energy) = &self.energy {
            let total = row[energy.columns.end - 1];
            let initial = *self.initial_energy.get_or_insert(total);
            self.energy_error.push(t, &[total - initial]);
        }
        let plain = [
            &mut self.energy,
            &mut self.momentum,
            &mut self.positions,
            &mut self.gap,
            &mut self.iterations,
            &mut self.controls,
            &mut self.acting,
            &mut self.friction,
        ];
        for Curves { plot, columns } in plain.into_iter().flatten() {
            plot.push(t, &row[columns.clone()]);
        }
        if let Some((Curves { plot, columns }, sizes)) = &mut self.forces {
            for (size, wrench) in sizes.iter_mut().zip(row[columns.clone()].chunks_exact(6)) {
                *size = wrench[3..].iter().map(|x| x * x).sum::<f64>().sqrt();
            }
            plot.push(t, sizes);
        }
        if let Some(contact) = &mut self.contact {
            contact.push(t, row);
        }
    }

    /// The page of a finished run.
    pub fn page(&self, mechanism: &Mechanism, finished: &Finished, head: PageHead) -> ReportData {
        let statistics = &finished.statistics;
        let drawn = |curves: &Option<Curves>| curves.as_ref().map(|curves| curves.plot.plot());
        let mut plots = vec![self.energy_error.plot()];
        plots.extend([&self.energy, &self.momentum, &self.positions].into_iter().filter_map(drawn));
        plots.extend(self.contact.iter().flat_map(|contact| contact.plots.iter().map(PlotThinner::plot)));
        plots.extend(self.forces.as_ref().map(|(curves, _)| curves.plot.plot()));
        plots.extend([&self.controls, &self.acting, &self.friction].into_iter().filter_map(drawn));
        if statistics.worst_gap > 0.0 {
            plots.extend(drawn(&self.gap));
        }
        if statistics.max_iterations > 0 {
            plots.extend(drawn(&self.iterations));
        }
        let mut warnings = head.warnings;
        warnings.extend(Passing::sentences(&finished.passings));
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
            scene: Scene {
                contacts: self.contact.as_ref().map_or_else(Vec::new, |contact| contact.names.clone()),
                ..scene(mechanism)
            },
            frames: Frames {
                forces: self.contact.as_ref().map_or_else(Vec::new, |contact| contact.arrows.frames().poses),
                ..self.frames.frames()
            },
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
    if let Some(c) = &finished.contact {
        let per_step = |count: u64| count as f64 / statistics.steps.max(1) as f64;
        let (interval, node) = (per_step(c.interval_iterations), per_step(c.node_iterations));
        let note = format!("{interval:.2} + {node:.2} iterations per step (intervals, nodes)");
        rows.push(SummaryRow::new("contact, impacts", c.impacts.to_string(), note));
        for (count, what) in [
            (c.turns, "contact, located turns"),
            (c.paths, "contact, smoothing paths"),
            (c.splits, "contact, split steps"),
            (c.scaled, "contact, scaled restitutions"),
        ] {
            if count > 0 {
                rows.push(SummaryRow::new(what, count.to_string(), ""));
            }
        }
    }
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
    let mut half_spaces: Vec<([f64; 3], f64)> = Vec::new();
    for contact in mechanism.contacts() {
        if let Against::HalfSpace { normal, offset } = contact.against
            && !half_spaces.contains(&(normal.0, offset))
        {
            half_spaces.push((normal.0, offset));
        }
    }
    Scene { bodies: bodies.collect(), joints: joints.collect(), half_spaces, ..Scene::default() }
}
