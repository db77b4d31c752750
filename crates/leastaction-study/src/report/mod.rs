//! The report: one HTML file that shows a run, opens offline and stays below 10 MB.
//!
//! A run feeds each sample to a [`FrameThinner`] (poses for the 3-D view) and to one [`PlotThinner`] per
//! plot; both hold a fixed amount of memory. At the end their results go into a [`ReportData`], and
//! [`write()`] makes the file. The viewer (`assets/viewer`) is bundled by `build.rs`; without it the page
//! has the same tables and its plots as SVG.

mod bars;
mod base64;
pub mod chart;
mod data;
mod escape;
mod fit;
mod frame_thinner;
mod html;
mod meshes;
mod payload;
mod plot_thinner;
mod svg;
mod ticks;

#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use leastaction::io::write_atomically;

pub(crate) use base64::encode as to_base64;
pub use data::{
    Bars, Frames, Overlay, OverlayValues, Plot, PlotLimit, ReportData, Scene, SceneBody, SceneJoint, Series,
    SeriesValues, SummaryRow,
};
pub use escape::html as escape_html;
pub(crate) use escape::json as escape_json;
pub use frame_thinner::FrameThinner;
pub(crate) use html::fill;
pub use html::{STYLE, render};
pub use plot_thinner::{OverlayKind, PlotThinner};

/// No report is larger, in bytes.
pub const MAX_BYTES: usize = 10_000_000;

/// The viewer as one script, if it could be built.
pub const VIEWER: Option<&str> = include!(concat!(env!("OUT_DIR"), "/viewer.in"));

/// Writes the report to `path`. A reader finds the old file or the whole new one, never a part.
///
/// A scene too large for [`MAX_BYTES`] loses frames, then its 3-D view, then plots; the page says so.
pub fn write(path: &Path, data: &ReportData) -> io::Result<()> {
    write_atomically(path, text(data).as_bytes())
}

/// The page that [`write()`] writes.
#[must_use]
pub fn text(data: &ReportData) -> String {
    fit::render_within(data, VIEWER, MAX_BYTES)
}
