//! Central differences for velocity constraints of the user's, which give values without slopes by the start pose.

use super::varied::{CHILD, D, NIL};
use crate::geometry::LinkPose;
use crate::layout::Layout;
use crate::spatial::{Quat, Vec3};

/// Step of the differences: the cube root of the rounding error, in radians and metres.
const STEP: f64 = 6e-6;

/// Values of two six-vectors at a pose, and their slopes in the child's lanes.
pub(super) fn by_pose(
    layout: &Layout,
    i: usize,
    pose: &LinkPose,
    values: impl Fn(&LinkPose) -> ([D; 6], [D; 6]),
) -> ([D; 6], [D; 6]) {
    let point = layout.links[i].joint.b.p;
    let (mut first, mut second) = (NIL, NIL);
    let here = values(pose);
    for k in 0..6 {
        first[k].re = here.0[k].re;
        second[k].re = here.1[k].re;
    }
    for lane in 0..6 {
        let at = |s: f64| {
            let mut moved = *pose;
            let mut d = Vec3::zero();
            d[lane % 3] = s;
            if lane < 3 {
                let o = pose.x + pose.q.rotate(point);
                moved.q = (Quat { w: 1.0, v: d.scale(0.5) } * pose.q).normalized();
                moved.x = o - moved.q.rotate(point);
            } else {
                moved.x += d;
            }
            values(&moved)
        };
        let (plus, minus) = (at(STEP), at(-STEP));
        for k in 0..6 {
            first[k].eps[CHILD + lane] = (plus.0[k].re - minus.0[k].re) / (2.0 * STEP);
            second[k].eps[CHILD + lane] = (plus.1[k].re - minus.1[k].re) / (2.0 * STEP);
        }
    }
    (first, second)
}
