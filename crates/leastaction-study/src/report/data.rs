//! What a report shows: plain data, filled by whoever ran something.

use leastaction::mechanism::Visual;

/// Everything one report shows. Build it with `..Default::default()` and fill what the run has.
#[derive(Debug, Clone, Default)]
pub struct ReportData {
    /// Page title and headline, e.g. `double-pendulum`.
    pub title: String,
    /// One line below the headline, e.g. `minimal, order 4, step 0.01 s, 10 s`; may be empty.
    pub subtitle: String,
    /// Rows of the table on top.
    pub summary: Vec<SummaryRow>,
    /// What was ignored, clipped or noticed; shown right below the summary.
    pub warnings: Vec<String>,
    /// The configuration of the run as TOML text, ready to be run again.
    pub configuration: String,
    /// Program and version pairs, e.g. `("leastaction", "0.1.0")`.
    pub versions: Vec<(String, String)>,
    /// Hash of the model that was run; empty when there is none.
    pub model_hash: String,
    /// What the 3-D view draws.
    pub scene: Scene,
    /// How the bodies of the scene move.
    pub frames: Frames,
    /// The plots, in order of appearance; they share a time cursor.
    pub plots: Vec<Plot>,
    /// Bars with error bars, below the summary; none if empty.
    pub bars: Bars,
    /// Plots over iterations, below the others: they have no part in the time cursor.
    pub figures: Vec<Plot>,
}

/// Numbers with their uncertainty, e.g. inferred weights.
#[derive(Debug, Clone, Default)]
pub struct Bars {
    /// Headline.
    pub title: String,
    /// Label, value and one-sigma of each bar.
    pub rows: Vec<(String, f64, f64)>,
}

/// One line of the summary table.
#[derive(Debug, Clone, Default)]
pub struct SummaryRow {
    /// What the number is.
    pub label: String,
    /// The number with its unit, formatted.
    pub value: String,
    /// A short remark; may be empty.
    pub note: String,
    /// What the number means exactly, shown when the label is pointed at or tapped; may be empty.
    pub meaning: String,
}

impl SummaryRow {
    /// A row from anything that becomes text.
    pub fn new(label: impl Into<String>, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), note: note.into(), meaning: String::new() }
    }

    /// The same with an explanation of its terms.
    #[must_use]
    pub fn meaning(self, text: impl Into<String>) -> Self {
        Self { meaning: text.into(), ..self }
    }
}

/// The bodies and joints to draw. Body indices everywhere are positions in `bodies`; the world has none.
#[derive(Debug, Clone, Default)]
pub struct Scene {
    /// All moving bodies, in the order of the poses of a frame.
    pub bodies: Vec<SceneBody>,
    /// All joints, tree and loop.
    pub joints: Vec<SceneJoint>,
    /// Surfaces that may touch, in the order of the forces of a frame; empty if there are none.
    pub contacts: Vec<String>,
    /// Half-spaces of the ground: unit normal, and the surface's distance from the origin along it.
    pub half_spaces: Vec<([f64; 3], f64)>,
    /// Shapes fixed to the world, e.g. the base of a robot; placements in the world frame.
    pub world_visuals: Vec<Visual>,
}

/// One body of the scene.
#[derive(Debug, Clone, Default)]
pub struct SceneBody {
    /// Its name in the model.
    pub name: String,
    /// Centre of mass in the body frame, m.
    pub com: [f64; 3],
    /// Shapes to draw; a body without any is drawn as a skeleton.
    pub visuals: Vec<Visual>,
}

/// A joint, for skeletons and axes.
#[derive(Debug, Clone, Default)]
pub struct SceneJoint {
    /// Its name in the model.
    pub name: String,
    /// Its kind as model files spell it: `revolute`, `prismatic`, `spherical`, `floating`, ...
    pub kind: String,
    /// Closes a loop instead of being part of the spanning tree.
    pub closes_loop: bool,
    /// Parent body; `None` is the world.
    pub parent: Option<usize>,
    /// Child body.
    pub child: usize,
    /// Origin of the joint in the parent's frame.
    pub parent_anchor: [f64; 3],
    /// Unit axis in the parent's frame; zeros for a joint without axis.
    pub parent_axis: [f64; 3],
    /// Origin of the joint in the child's frame.
    pub child_anchor: [f64; 3],
    /// Unit axis in the child's frame; zeros for a joint without axis.
    pub child_axis: [f64; 3],
}

/// Thinned poses of all bodies. Made by [`super::FrameThinner`].
#[derive(Debug, Clone, Default)]
pub struct Frames {
    /// How many samples one kept frame stands for; 1 when nothing was dropped.
    pub stride: u64,
    /// Time of each frame, s. In f64: a long run needs more than seven digits.
    pub times: Vec<f64>,
    /// Frame after frame, body after body: px, py, pz, qw, qx, qy, qz.
    pub poses: Vec<f32>,
    /// Frame after frame, pair of surfaces after pair: fx, fy, fz, px, py, pz, gap. Empty if nothing touches.
    pub forces: Vec<f32>,
}

impl Frames {
    /// Number of frames.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// True if there is nothing to play.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

/// One plot over time.
#[derive(Debug, Clone, Default)]
pub struct Plot {
    /// Short machine name, unique in the report, e.g. `energy-error`.
    pub id: String,
    /// Headline.
    pub title: String,
    /// Unit of the values; empty for pure numbers.
    pub unit: String,
    /// Logarithmic value axis; values that are not positive leave gaps.
    pub log_scale: bool,
    /// Times shared by all series, s.
    pub x: Vec<f64>,
    /// The curves.
    pub series: Vec<Series>,
    /// Curves that were not kept because there were too many.
    pub omitted: usize,
    /// The horizontal axis is not time (iterations, say): no cursor and no zoom with the others.
    pub own_axis: bool,
    /// What is drawn with curves in their colour: error bands, recorded values.
    pub overlays: Vec<Overlay>,
    /// What the values may not pass. Drawn as shaded regions that do not stretch the axis.
    pub limits: Vec<PlotLimit>,
}

/// Something drawn with a curve, in its colour, at the times of the plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Overlay {
    /// Index of the curve.
    pub of: usize,
    /// What it is, in the legend once for all curves.
    pub label: String,
    /// How it is drawn.
    pub values: OverlayValues,
}

/// How an overlay is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum OverlayValues {
    /// A band between two edges.
    Band {
        /// Lower edge.
        low: Vec<f64>,
        /// Upper edge.
        high: Vec<f64>,
    },
    /// Dots.
    Dots {
        /// Values; not a number where there is none.
        values: Vec<f64>,
    },
}

/// A limit of the values of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct PlotLimit {
    /// The curve it is for; all of them if `None`.
    pub of: Option<usize>,
    /// Values below are out of bounds.
    pub low: f64,
    /// Values above are out of bounds.
    pub high: f64,
}

/// One curve.
#[derive(Debug, Clone)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// Its values at the times of the plot.
    pub values: SeriesValues,
}

/// Values of a curve: exact, or the range within each bucket of samples.
#[derive(Debug, Clone)]
pub enum SeriesValues {
    /// One value per time.
    Exact {
        /// The values.
        values: Vec<f64>,
    },
    /// Smallest and largest value of each bucket.
    Range {
        /// Smallest values.
        min: Vec<f64>,
        /// Largest values.
        max: Vec<f64>,
    },
}

impl SeriesValues {
    /// The lower and the upper edge; the same slice twice when the values are exact.
    pub fn range(&self) -> (&[f64], &[f64]) {
        match self {
            Self::Exact { values } => (values, values),
            Self::Range { min, max } => (min, max),
        }
    }
}
