//! What a report shows: plain data, filled by whoever ran something.

use serde::Serialize;

use super::base64::{as_f32, as_f64};

/// Everything one report shows. Build it with `..Default::default()` and fill what the run has.
#[derive(Debug, Clone, Default, Serialize)]
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
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bars {
    /// Headline.
    pub title: String,
    /// Label, value and one-sigma of each bar.
    pub rows: Vec<(String, f64, f64)>,
}

/// One line of the summary table.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SummaryRow {
    /// What the number is.
    pub label: String,
    /// The number with its unit, formatted.
    pub value: String,
    /// A short remark; may be empty.
    pub note: String,
}

impl SummaryRow {
    /// A row from anything that becomes text.
    pub fn new(label: impl Into<String>, value: impl Into<String>, note: impl Into<String>) -> Self {
        Self { label: label.into(), value: value.into(), note: note.into() }
    }
}

/// The bodies and joints to draw. Body indices everywhere are positions in `bodies`; the world has none.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Scene {
    /// All moving bodies, in the order of the poses of a frame.
    pub bodies: Vec<SceneBody>,
    /// All joints, tree and loop.
    pub joints: Vec<SceneJoint>,
    /// Shapes fixed to the world, e.g. the base of a robot; placements in the world frame.
    pub world_visuals: Vec<Visual>,
}

/// One body of the scene.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SceneBody {
    /// Its name in the model.
    pub name: String,
    /// Centre of mass in the body frame, m.
    pub com: [f64; 3],
    /// Shapes to draw; a body without any is drawn as a skeleton.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub visuals: Vec<Visual>,
}

/// A shape fixed to a body.
#[derive(Debug, Clone, Serialize)]
pub struct Visual {
    /// What it looks like.
    #[serde(flatten)]
    pub shape: Shape,
    /// Where the centre of the shape sits in the body frame.
    pub placement: Placement,
    /// Red, green, blue, opacity in 0..=1; `None` takes a colour by body index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rgba: Option<[f64; 4]>,
}

/// The shapes the viewer knows. Lengths in metres; axes of revolution along local z.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "snake_case")]
pub enum Shape {
    /// A box by its full edge lengths.
    Box {
        /// Edges along x, y, z.
        size: [f64; 3],
    },
    /// A ball.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// A cylinder centred at its middle.
    Cylinder {
        /// Its radius.
        radius: f64,
        /// Its full length.
        length: f64,
    },
    /// A cylinder with half balls at both ends.
    Capsule {
        /// Radius of cylinder and caps.
        radius: f64,
        /// Length of the cylindrical part, without the caps.
        length: f64,
    },
    /// An ellipsoid by its half axes.
    Ellipsoid {
        /// Half axes along x, y, z.
        radii: [f64; 3],
    },
    /// A mesh known by name only, drawn as a small marker.
    Mesh {
        /// The file it refers to.
        name: String,
    },
}

/// A pose of something in a body frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Placement {
    /// Position, m.
    pub p: [f64; 3],
    /// Unit quaternion w, x, y, z.
    pub q: [f64; 4],
}

impl Default for Placement {
    fn default() -> Self {
        Self { p: [0.0; 3], q: [1.0, 0.0, 0.0, 0.0] }
    }
}

/// A joint, for skeletons and axes.
#[derive(Debug, Clone, Default, Serialize)]
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
#[derive(Debug, Clone, Default, Serialize)]
pub struct Frames {
    /// How many samples one kept frame stands for; 1 when nothing was dropped.
    pub stride: u64,
    /// Time of each frame, s. In f64: a long run needs more than seven digits.
    #[serde(serialize_with = "as_f64")]
    pub times: Vec<f64>,
    /// Frame after frame, body after body: px, py, pz, qw, qx, qy, qz.
    #[serde(serialize_with = "as_f32")]
    pub poses: Vec<f32>,
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
#[derive(Debug, Clone, Default, Serialize)]
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
    #[serde(serialize_with = "as_f64")]
    pub x: Vec<f64>,
    /// The curves.
    pub series: Vec<Series>,
    /// Curves that were not kept because there were too many.
    pub omitted: usize,
    /// The horizontal axis is not time (iterations, say): no cursor and no zoom with the others.
    pub own_axis: bool,
}

/// One curve.
#[derive(Debug, Clone, Serialize)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// Its values at the times of the plot.
    #[serde(flatten)]
    pub values: SeriesValues,
}

/// Values of a curve: exact, or the range within each bucket of samples.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum SeriesValues {
    /// One value per time.
    Exact {
        /// The values.
        #[serde(serialize_with = "as_f64")]
        values: Vec<f64>,
    },
    /// Smallest and largest value of each bucket.
    Range {
        /// Smallest values.
        #[serde(serialize_with = "as_f64")]
        min: Vec<f64>,
        /// Largest values.
        #[serde(serialize_with = "as_f64")]
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
