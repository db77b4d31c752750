//! Fixed tendons: sums of joint coordinates with springs, dampers and limits, and equalities between them.
//!
//! MuJoCo's length counts joints from their `ref`, ours from the pose of the file: both differ by a constant, which rest
//! lengths and ranges lose.

use std::collections::HashMap;
use std::rc::Rc;

use super::equality::joint_named;
use super::reader::{Item, Reader};
use crate::mechanism::{CouplingDescription, TendonDescription, TermDescription};

/// A tendon as equalities refer to it.
#[derive(Clone, Debug)]
pub(super) struct TendonRecord {
    pub(super) terms: Vec<TermDescription>,
}

/// Reads all `tendon/fixed`; spatial ones are told by the sections left out.
pub(super) fn read(reader: &mut Reader) {
    let mut records = HashMap::new();
    for (k, id) in reader.section("tendon").into_iter().enumerate() {
        if reader.document.elements[id].tag != "fixed" {
            continue;
        }
        let item = reader.item(id, "tendon", 0);
        let name =
            reader.document.elements[id].text("name").map_or_else(|| format!("tendon{k}"), str::to_owned);
        let Some((terms, offset)) = terms(reader, &item) else { continue };
        let tendon = forces(reader, &item, name.clone(), terms.clone(), offset);
        let plain = tendon.stiffness == 0.0 && tendon.damping == 0.0;
        if !plain || tendon.lower.is_some() || tendon.upper.is_some() {
            reader.model.tendons.push(tendon);
        }
        records.insert(name, TendonRecord { terms });
    }
    reader.tendons = records;
}

/// Joints and factors, and MuJoCo's length where ours is zero.
fn terms(reader: &mut Reader, item: &Item) -> Option<(Vec<TermDescription>, f64)> {
    let document = Rc::clone(&reader.document);
    let (mut terms, mut offset) = (Vec::new(), 0.0);
    for &id in &document.elements[item.id].children {
        if document.elements[id].tag != "joint" {
            continue;
        }
        let record = joint_named(reader, id, "joint")?;
        let record = reader.joints[record].clone();
        let joint = reader.model.joints[record.index].name.clone();
        if record.kind.nv() != 1 {
            let message = format!("joint `{joint}` has more than one coordinate");
            reader.error(item.id, message, "put hinges and slides on a tendon");
            return None;
        }
        let coefficient =
            document.elements[id].text("coef").and_then(|c| c.trim().parse().ok()).unwrap_or(1.0);
        offset += coefficient * record.reference;
        terms.push(TermDescription { joint, coefficient });
    }
    (!terms.is_empty()).then_some((terms, offset))
}

fn forces(
    reader: &mut Reader,
    item: &Item,
    name: String,
    terms: Vec<TermDescription>,
    offset: f64,
) -> TendonDescription {
    let mut tendon = TendonDescription { name, terms, origin: reader.at(item.id), ..Default::default() };
    let first = |reader: &Reader, name: &str| reader.overlaid::<1>(item, name, [0.0])[0];
    if reader.settings.springs {
        tendon.stiffness = first(reader, "stiffness");
    }
    if reader.settings.dampers {
        tendon.damping = first(reader, "damping");
    }
    // −1 is the length in the pose of the file, which is our zero.
    let [low, high] = match reader.get(item, "springlength").map(|a| a.value.split_whitespace().count()) {
        Some(1) => [reader.overlaid::<1>(item, "springlength", [-1.0])[0]; 2],
        Some(_) => reader.overlaid(item, "springlength", [-1.0; 2]),
        None => [-1.0; 2],
    };
    tendon.rest = if low == -1.0 { 0.0 } else { low - offset };
    if tendon.stiffness != 0.0 && low != high {
        let what = "a spring of a tendon with a range of rest lengths is not supported";
        reader.refused(item.id, what, "give one `springlength`");
    }
    if reader.number(item, "frictionloss").is_some_and(|x| x > 0.0) && reader.settings.friction {
        let what = "`frictionloss` of a tendon is left out";
        reader.left_out(item.id, what, "give the joints friction instead");
    }
    if let Some([low, high]) = reader.limited(item, "limited", "range")
        && reader.settings.limits
    {
        // An infinite bound is none.
        let bound = |x: f64| x.is_finite().then_some(x - offset);
        (tendon.lower, tendon.upper) = (bound(low), bound(high));
    }
    tendon
}

/// `equality tendon`: a length that is held, or two lengths in a fixed relation.
pub(super) fn equality(reader: &mut Reader, item: &Item) {
    let document = Rc::clone(&reader.document);
    let element = &document.elements[item.id];
    let named = |reader: &mut Reader, attribute: &str| -> Option<Option<TendonRecord>> {
        let Some(name) = element.text(attribute) else { return Some(None) };
        let found = reader.tendons.get(name).cloned();
        if found.is_none() {
            let what = "equalities of spatial tendons are left out";
            reader.left_out(item.id, what, "use fixed tendons, or remove it");
        }
        found.map(Some)
    };
    let (Some(one), Some(two)) = (named(reader, "tendon1"), named(reader, "tendon2")) else { return };
    let Some(one) = one else {
        reader.error(item.id, "`tendon1` is missing", "name a fixed tendon");
        return;
    };
    let polynomial: [f64; 5] = reader.overlaid(item, "polycoef", [0.0, 1.0, 0.0, 0.0, 0.0]);
    if two.is_some() && polynomial[2..].iter().any(|c| *c != 0.0) {
        let what = "tendons tied by a curve are not supported";
        reader.refused(item.id, what, "keep the first two numbers of `polycoef`");
        return;
    }
    let mut sum = one.terms;
    for term in two.map(|two| two.terms).unwrap_or_default() {
        sum.push(TermDescription { coefficient: -polynomial[1] * term.coefficient, ..term });
    }
    // Solved for a joint without friction or limits, or the last one.
    let plain = |term: &&TermDescription| {
        let joint = reader.model.joints.iter().find(|joint| joint.name == term.joint);
        joint.is_some_and(|joint| joint.friction.is_zero() && joint.limits.is_none())
    };
    let Some(follower) = sum.iter().find(plain).or(sum.last()).map(|term| term.joint.clone()) else { return };
    reader.model.couplings.push(CouplingDescription {
        name: element.text("name").unwrap_or("").to_owned(),
        joint: follower,
        sum,
        value: polynomial[0],
        origin: Some(element.at),
        ..Default::default()
    });
}
