//! Inertias that no body has, replaced by the nearest that one can have.
//!
//! A rigid body's inertia about its centre of mass is `tr(S) 1 − S` with the second moment `S = ∫ r rᵀ dm`, which is positive
//! semidefinite. Its eigenvalues below zero are set to zero; principal axes stay. What comes out is positive semidefinite and
//! keeps the triangle inequality.

use super::{Diagnostic, Reading};
use crate::spatial::principal;

/// Part of the largest moment by which a second moment may be negative: files are rounded.
const SLACK: f64 = 1e-6;

/// Repairs every inertia of a model and says so.
pub(crate) fn repair_inertias(reading: &mut Reading) {
    let Reading { description: Some(model), sources, diagnostics, .. } = reading else { return };
    for body in &mut model.bodies {
        let Some(inertia) = nearest_possible(body.inertia) else { continue };
        let message = format!("inertia {:?} is one that no body has: {inertia:?} is taken", body.inertia);
        let remedy = "check signs and units in the file";
        let place = sources.locate(body.origin);
        diagnostics.push(Diagnostic::warning(format!("body `{}`", body.name), message, remedy).at(place));
        body.inertia = inertia;
    }
}

/// The inertia `xx, yy, zz, xy, xz, yz` with negative second moments set to zero; none if there are none, or nothing is finite.
fn nearest_possible(inertia: [f64; 6]) -> Option<[f64; 6]> {
    let [xx, yy, zz, xy, xz, yz] = inertia;
    let largest = inertia.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
    if !inertia.iter().all(|x| x.is_finite()) || largest == 0.0 {
        return None;
    }
    let (moments, axes) = principal([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
    let half = 0.5 * (moments[0] + moments[1] + moments[2]);
    let second = moments.map(|moment| half - moment);
    if second.iter().all(|s| *s >= -SLACK * largest) {
        return None;
    }
    let second = second.map(|s| s.max(0.0));
    let sum: f64 = second.iter().sum();
    let entry =
        |i: usize, j: usize| -> f64 { (0..3).map(|k| axes[i][k] * (sum - second[k]) * axes[j][k]).sum() };
    Some([entry(0, 0), entry(1, 1), entry(2, 2), entry(0, 1), entry(0, 2), entry(1, 2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inertias_of_bodies_are_left_alone() {
        for inertia in [[1.0, 2.0, 2.5, 0.1, 0.0, -0.2], [0.0; 6], [1.0, 1.0, 2.0, 0.0, 0.0, 0.0]] {
            assert_eq!(nearest_possible(inertia), None);
        }
    }

    #[test]
    fn what_no_body_has_becomes_what_one_has_and_keeps_its_axes() {
        // An antenna of a published robot, and a moment that is too large for its triangle.
        let antenna = [2.371e-8, 2.833e-8, 3.849e-8, 6.119e-8, 1.179e-8, 7.74e-9];
        for inertia in [antenna, [1.0, 1.0, 5.0, 0.0, 0.0, 0.0], [1.0, 1.0, -1.0, 0.0, 0.0, 0.0]] {
            let [xx, yy, zz, xy, xz, yz] = nearest_possible(inertia).unwrap_or_default();
            let (m, _) = principal([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
            let largest = m[0].max(m[1]).max(m[2]);
            assert!(m.iter().all(|x| *x >= -1e-12 * largest) && largest > 0.0, "{inertia:?} became {m:?}");
            assert!(m[0] + m[1] + m[2] - 2.0 * largest >= -1e-12 * largest, "{inertia:?} became {m:?}");
            // Done twice it stays.
            assert_eq!(nearest_possible([xx, yy, zz, xy, xz, yz]), None);
        }
    }
}
