//! Keeps a page within a size, whatever it is asked to show.

use std::borrow::Cow;

use super::data::{Frames, ReportData, Scene};
use super::frame_thinner::POSE_LEN;
use super::html::render;

/// Fewer frames than this are no motion any more; the scene goes instead.
const FEWEST_FRAMES: usize = 60;

/// The page, with less detail where it would be larger than `limit` bytes.
///
/// The thinners already bound frames and plots; this is for scenes of thousands of bodies.
pub(super) fn render_within(data: &ReportData, viewer: Option<&str>, limit: usize) -> String {
    let mut data = Cow::Borrowed(data);
    loop {
        let page = render(&data, viewer);
        if page.len() <= limit || !shrink(data.to_mut()) {
            return page;
        }
    }
}

/// Removes the least useful detail; false when nothing is left to remove.
fn shrink(data: &mut ReportData) -> bool {
    if data.frames.len() > FEWEST_FRAMES {
        let lengths = [data.scene.bodies.len(), data.scene.contacts.len()].map(|n| n * POSE_LEN);
        drop_every_other(&mut data.frames, lengths);
    } else if !data.scene.bodies.is_empty() {
        data.warnings.push(format!(
            "the 3-D view was left out: {} bodies and {} joints do not fit into one page",
            data.scene.bodies.len(),
            data.scene.joints.len()
        ));
        data.scene = Scene::default();
        data.frames = Frames::default();
    } else if let Some(plot) = data.plots.pop() {
        data.warnings
            .push(format!("the plot \"{}\" was left out: it does not fit into one page", plot.title));
    } else {
        return false;
    }
    true
}

/// Keeps the even frames and the last one.
fn drop_every_other(frames: &mut Frames, [of_bodies, of_contacts]: [usize; 2]) {
    let last = frames.len() - 1;
    let kept = (0..=last).filter(|&i| i % 2 == 0 || i == last);
    let part = |list: &[f32], length: usize| -> Vec<f32> {
        kept.clone()
            .flat_map(|i| list.get(i * length..(i + 1) * length).unwrap_or_default())
            .copied()
            .collect()
    };
    *frames = Frames {
        stride: frames.stride * 2,
        times: kept.clone().map(|i| frames.times[i]).collect(),
        poses: part(&frames.poses, of_bodies),
        forces: part(&frames.forces, of_contacts),
    };
}
