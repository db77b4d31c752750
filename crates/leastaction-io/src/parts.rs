//! Parts of a model beside its bodies and joints.

use crate::mechanism::ModelDescription;

/// Lists of a model that have something in them, but for those that a format `holds`: for a word about each that is lost.
pub(crate) fn lost(model: &ModelDescription, holds: &[&str]) -> Vec<(&'static str, String)> {
    let lists = [
        ("inputs", model.inputs.len()),
        ("constraints", model.constraints.len()),
        ("couplings", model.couplings.len()),
        ("tendons", model.tendons.len()),
        ("motions", model.motions.len()),
        ("mocap bodies", model.mocap.len()),
        ("frames", model.frames.len()),
        ("surfaces", model.surfaces.len()),
        ("half_spaces", model.half_spaces.len()),
        ("states", model.states.len()),
    ];
    let kept = |name: &str| holds.contains(&name);
    let mut out: Vec<_> = lists
        .into_iter()
        .filter(|(name, count)| *count > 0 && !kept(name))
        .map(|(name, count)| (name, format!("{name} ({count} here)")))
        .collect();
    // Of a format without surfaces nothing else is missed.
    if kept("surfaces") && !model.contact.is_default() {
        out.push(("contact", "pairs, exclusions and settings of contact".into()));
    }
    out
}
