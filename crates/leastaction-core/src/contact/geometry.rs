//! A contact at a pose: gap, normal, core points and arms, in closed form for numbers and dual numbers. (9.1) to (9.4)
//!
//! The *core point* `c` of a link (its own axes) is the centre of what touches, the *arm* `a` (world axes) leads from there to the
//! contact point. For a corner the arm is zero, for a sphere it is its radius along the normal.

use super::{Against, Tip};
use crate::scalar::Real;
use crate::spatial::{Mat3, Vec3};

/// A link at a pose: rotation and position of the frame that its contacts are given in.
#[derive(Clone, Copy, Debug)]
pub struct Link<T = f64> {
    /// Rotation.
    pub rot: Mat3<T>,
    /// Position.
    pub pos: Vec3<T>,
}

impl<T: Real> Link<T> {
    /// The ground.
    #[must_use]
    pub fn ground() -> Self {
        Self { rot: Mat3::identity(), pos: Vec3::zero() }
    }

    pub(super) fn point(&self, p: Vec3<T>) -> Vec3<T> {
        self.pos + self.rot * p
    }
}

/// A contact at a pose. Index 0 is link A, 1 is link B.
#[derive(Clone, Copy, Debug)]
pub struct Touch<T = f64> {
    /// Distance, negative inside.
    pub gap: T,
    /// Unit normal from B to A, world axes.
    pub normal: Vec3<T>,
    /// Core points, link axes.
    pub core: [Vec3<T>; 2],
    /// Arms, world axes.
    pub arm: [Vec3<T>; 2],
}

impl<T: Real> Default for Touch<T> {
    fn default() -> Self {
        let zero = Vec3::zero();
        Self { gap: T::zero(), normal: zero, core: [zero; 2], arm: [zero; 2] }
    }
}

/// Tilt of a disc below which its lowest point moves to its centre, as a sine: at rest on its face it has none.
const FLAT: f64 = 1e-6;

impl<T: Real> Touch<T> {
    /// The contact of a tip at `center` of link A with something on link B (or the ground).
    #[must_use]
    pub fn new(tip: &Tip, center: Vec3, against: &Against, a: &Link<T>, b: &Link<T>) -> Self {
        let core = Vec3::constant(center);
        let zero = Vec3::zero();
        if let Against::HalfSpace { normal, offset } = *against {
            let n = Vec3::<T>::constant(normal);
            let (gap, arm) = above(tip, center, (normal, offset), a);
            return Self { gap, normal: n, core: [core, zero], arm: [arm, zero] };
        }
        if let (Tip::Edge { half, radius }, Against::Edge { center, half: other, radius: r_b }) =
            (tip, against)
        {
            return Self::of_edges(a, b, (core, *half, *radius), (Vec3::constant(*center), *other, *r_b));
        }
        let p = a.point(core);
        if let (Tip::Rim { .. } | Tip::Ellipsoid { .. }, Against::Face { normal, offset }) = (tip, against) {
            let own = Vec3::constant(*normal);
            let n = b.rot * own;
            let arm = lowest(tip, n, a);
            let local = b.rot.tr_mul(p + arm - b.pos);
            let gap = own.dot(local) - T::from_f64(*offset);
            return Self { gap, normal: n, core: [core, local - own * gap], arm: [arm, zero] };
        }
        let radius = if let Tip::Sphere { radius } = *tip { radius } else { tip.reach() };
        let r = T::from_f64(radius);
        match *against {
            Against::HalfSpace { .. } => Self::default(),
            Against::Face { normal, offset, .. } => {
                let own = Vec3::constant(normal);
                let n = b.rot * own;
                let local = b.rot.tr_mul(p - b.pos);
                let height = own.dot(local) - T::from_f64(offset);
                Self { gap: height - r, normal: n, core: [core, local - own * height], arm: [n * -r, zero] }
            }
            Against::Sphere { center, radius: other, .. } => {
                Self::of_spheres(a, b, core, r, Vec3::constant(center), T::from_f64(other))
            }
            Against::Capsule { segment, radius: other, .. } => {
                let [p0, p1] = segment.map(Vec3::<T>::constant);
                let (axis, local) = (p1 - p0, b.rot.tr_mul(p - b.pos));
                let at = (local - p0).dot(axis) * (T::one() / axis.norm2());
                let nearest = if at.value() <= 0.0 {
                    p0
                } else if at.value() >= 1.0 {
                    p1
                } else {
                    p0 + axis * at
                };
                Self::of_spheres(a, b, core, r, nearest, T::from_f64(other))
            }
            Against::Box { pose, half, entered } => {
                let (rot, pos) = (Mat3::<T>::constant(pose.rot), Vec3::<T>::constant(pose.pos));
                let inner = rot.tr_mul(b.rot.tr_mul(p - b.pos) - pos);
                let over: [f64; 3] = std::array::from_fn(|k| inner[k].value().abs() - half[k]);
                let outside = over.iter().filter(|x| **x > 0.0).count();
                if outside <= 1 {
                    // Above a face, or inside: there the face it came from counts, or the nearest.
                    let nearest = (0..3).fold(0, |k, i| if over[i] > over[k] { i } else { k });
                    let side = |k: usize| if inner[k].value() < 0.0 { -1.0 } else { 1.0 };
                    let (k, s) = entered.filter(|_| outside == 0).unwrap_or((nearest, side(nearest)));
                    let mut own = Vec3::<T>::zero();
                    own[k] = T::from_f64(s);
                    let height = inner[k] * s - T::from_f64(half[k]);
                    let n = b.rot * (rot * own);
                    let foot = pos + rot * (inner - own * height);
                    return Self { gap: height - r, normal: n, core: [core, foot], arm: [n * -r, zero] };
                }
                let mut nearest = inner;
                for k in 0..3 {
                    if over[k] > 0.0 {
                        nearest[k] = T::from_f64(half[k].copysign(inner[k].value()));
                    }
                }
                Self::of_spheres(a, b, core, r, pos + rot * nearest, T::zero())
            }
            // Met by features of its own: a ball around it is all that is known here.
            Against::Hull { pose, reach, .. } => {
                Self::of_spheres(a, b, core, r, Vec3::constant(pose.pos), T::from_f64(reach))
            }
            Against::Cylinder { center, half, radius } => {
                Self::of_ball_and_cylinder(a, b, (core, r), (Vec3::constant(center), half, radius))
            }
            Against::Edge { center, half, radius: other } => {
                // A ball against a line: the nearest point of it.
                let (mid, along) = (Vec3::<T>::constant(center), Vec3::<T>::constant(half));
                let local = b.rot.tr_mul(p - b.pos);
                let at = clamped((local - mid).dot(along) * (T::one() / along.norm2()));
                Self::of_spheres(a, b, core, r, mid + along * at, T::from_f64(other))
            }
        }
    }

    /// A ball beside, above or beyond the rim of a cylinder; a centre inside counts from the nearer of side and cap.
    fn of_ball_and_cylinder(
        a: &Link<T>,
        b: &Link<T>,
        (core, r): (Vec3<T>, T),
        (center, half, radius): (Vec3<T>, Vec3, f64),
    ) -> Self {
        let length = half.norm();
        let own = Vec3::<T>::constant(half * (1.0 / length));
        let local = b.rot.tr_mul(a.point(core) - b.pos) - center;
        let along = own.dot(local);
        let across = local - own * along;
        let (beyond, beside) = (along.value().abs() - length, across.norm().value() - radius);
        let sign = T::from_f64(1f64.copysign(along.value()));
        if beyond > 0.0 && beside > 0.0 {
            let rim = own * (sign * T::from_f64(length)) + across * (T::from_f64(radius) / across.norm());
            return Self::of_spheres(a, b, core, r, center + rim, T::zero());
        }
        if beside > beyond {
            return Self::of_spheres(a, b, core, r, center + own * along, T::from_f64(radius));
        }
        let own = own * sign;
        let height = along * sign - T::from_f64(length);
        let (n, foot) = (b.rot * own, center + local - own * height);
        Self { gap: height - r, normal: n, core: [core, foot], arm: [n * -r, Vec3::zero()] }
    }

    /// Two lines. With a radius they end at their ends; without they are unbounded and cross.
    fn of_edges(
        a: &Link<T>,
        b: &Link<T>,
        (core_a, half_a, r_a): (Vec3<T>, Vec3, f64),
        (core_b, half_b, r_b): (Vec3<T>, Vec3, f64),
    ) -> Self {
        let (own_a, own_b) = (Vec3::<T>::constant(half_a), Vec3::<T>::constant(half_b));
        let (along_a, along_b) = (a.rot * own_a, b.rot * own_b);
        let between = a.point(core_a) - b.point(core_b);
        let [s, t] = nearest_on_lines(along_a, along_b, between);
        let rounded = r_a + r_b > 0.0;
        let inside = s.value().abs() <= 1.0 && t.value().abs() <= 1.0;
        let (r_a, r_b) = (T::from_f64(r_a), T::from_f64(r_b));
        if rounded && !inside {
            let [s, t] = nearest_on_segments(along_a, along_b, between);
            return Self::of_spheres(a, b, core_a + own_a * s, r_a, core_b + own_b * t, r_b);
        }
        let cross = along_a.cross(along_b);
        let n = cross * (T::one() / cross.norm());
        let gap = n.dot(between) - r_a - r_b;
        let core = [core_a + own_a * s, core_b + own_b * t];
        Self { gap, normal: n, core, arm: [n * -r_a, n * r_b] }
    }

    fn of_spheres(a: &Link<T>, b: &Link<T>, core_a: Vec3<T>, r_a: T, core_b: Vec3<T>, r_b: T) -> Self {
        let between = a.point(core_a) - b.point(core_b);
        let length = between.norm();
        // Centres on top of each other have no direction: any will part them.
        let n = if length.value() > 0.0 {
            between * (T::one() / length)
        } else {
            Vec3([T::zero(), T::zero(), T::one()])
        };
        Self { gap: length - r_a - r_b, normal: n, core: [core_a, core_b], arm: [n * -r_a, n * r_b] }
    }
}

/// Gap of a tip above a half-space `n·x = offset`, and its arm.
#[inline]
#[must_use]
pub fn above<T: Real>(tip: &Tip, center: Vec3, (normal, offset): (Vec3, f64), a: &Link<T>) -> (T, Vec3<T>) {
    let (n, core) = (Vec3::<T>::constant(normal), Vec3::constant(center));
    let arm = lowest(tip, n, a);
    (n.dot(a.point(core)) + n.dot(arm) - T::from_f64(offset), arm)
}

/// From the centre of a tip to its lowest point against the direction `n`.
#[inline]
fn lowest<T: Real>(tip: &Tip, n: Vec3<T>, a: &Link<T>) -> Vec3<T> {
    match *tip {
        Tip::Sphere { radius } => n * T::from_f64(-radius),
        Tip::Rim { axis, radius } => {
            // The lowest point of the disc: against the part of the normal in its plane.
            let axis = a.rot * Vec3::constant(axis);
            let across = n - axis * axis.dot(n);
            let size = (across.norm2() + T::from_f64(FLAT * FLAT)).sqrt();
            across * (T::from_f64(-radius) / size)
        }
        Tip::Ellipsoid { axes } => {
            // Support point -A A^T n/|A^T n|.
            let axes = a.rot * Mat3::constant(axes);
            let along = axes.tr_mul(n);
            (axes * along) * (-T::one() / along.norm())
        }
        // Shapes of more than one point meet the ground point by point.
        Tip::Edge { .. } | Tip::Capsule { .. } | Tip::Box { .. } | Tip::Hull { .. } => Vec3::zero(),
    }
}

fn clamped<T: Real>(x: T) -> T {
    if x.value() > 1.0 {
        T::one()
    } else if x.value() < -1.0 {
        -T::one()
    } else {
        x
    }
}

/// Where the lines `w + s a` and `t b` come nearest to each other: `s`, `t`.
pub(super) fn nearest_on_lines<T: Real>(a: Vec3<T>, b: Vec3<T>, w: Vec3<T>) -> [T; 2] {
    let (aa, ab, bb, aw, bw) = (a.norm2(), a.dot(b), b.norm2(), a.dot(w), b.dot(w));
    let inverse = T::one() / (aa * bb - ab * ab);
    [(ab * bw - bb * aw) * inverse, (aa * bw - ab * aw) * inverse]
}

/// The same on the segments `-1 <= s, t <= 1`.
pub(super) fn nearest_on_segments<T: Real>(a: Vec3<T>, b: Vec3<T>, w: Vec3<T>) -> [T; 2] {
    let (aa, ab, bb, aw, bw) = (a.norm2(), a.dot(b), b.norm2(), a.dot(w), b.dot(w));
    let room = aa * bb - ab * ab;
    // Lines in one direction: any place will do to start from.
    let parallel = room.value() <= 1e-20 * aa.value() * bb.value();
    let s = if parallel { T::zero() } else { clamped((ab * bw - bb * aw) * (T::one() / room)) };
    let t = (ab * s + bw) * (T::one() / bb);
    if t.value().abs() <= 1.0 {
        return [s, t];
    }
    let t = clamped(t);
    [clamped((ab * t - aw) * (T::one() / aa)), t]
}

/// Normal and two tangents as columns, by the triad rule.
#[must_use]
pub fn frame_of(normal: Vec3) -> Mat3 {
    let mut k = 0;
    for i in 1..3 {
        if normal[i].abs() < normal[k].abs() {
            k = i;
        }
    }
    let mut e = Vec3::zero();
    e[k] = 1.0;
    let t = e - normal * normal[k];
    let t1 = t * (1.0 / t.norm());
    Mat3::from_columns(normal, t1, normal.cross(t1))
}

/// How a link moves over an interval: rotations at both ends, velocity of its position, angular velocity in world axes.
#[derive(Clone, Copy, Debug)]
pub struct Motion<T = f64> {
    /// Rotation at the start.
    pub from: Mat3,
    /// Rotation at the end.
    pub to: Mat3<T>,
    /// Velocity of the position.
    pub velocity: Vec3<T>,
    /// Angular velocity of the interval, world axes: the same at both ends.
    pub turn: Vec3<T>,
}

/// Velocity of the contact point of one link over an interval of length `h`, odd under exchange of its ends: with the mean core
/// point and the mean arm. (9.4)
#[must_use]
pub fn slip<T: Real>(motion: &Motion<T>, core: [Vec3<T>; 2], arm: [Vec3<T>; 2], h: f64) -> Vec3<T> {
    let half = T::from_f64(0.5);
    let (core, arm) = ((core[0] + core[1]) * half, (arm[0] + arm[1]) * half);
    let moved = motion.to * core - Mat3::constant(motion.from) * core;
    motion.velocity + moved * T::from_f64(1.0 / h) + motion.turn.cross(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spatial::{Pose, Quat};

    fn turned(axis: [f64; 3], angle: f64) -> Mat3 {
        let axis = Vec3(axis);
        Quat::about(axis * (1.0 / axis.norm()), angle).to_matrix()
    }

    fn kinds() -> Vec<(Tip, Against)> {
        let n = Vec3([0.3, -0.2, 0.9]);
        let n = n * (1.0 / n.norm());
        let ball = Tip::Sphere { radius: 0.1 };
        vec![
            (ball, Against::HalfSpace { normal: n, offset: -0.4 }),
            (
                Tip::Rim { axis: Vec3([0.0, 0.6, 0.8]), radius: 0.2 },
                Against::HalfSpace { normal: n, offset: -0.4 },
            ),
            (
                Tip::Ellipsoid {
                    axes: turned([1.0, 2.0, 0.5], 0.7)
                        * Mat3([[0.1, 0.0, 0.0], [0.0, 0.2, 0.0], [0.0, 0.0, 0.05]]),
                },
                Against::HalfSpace { normal: n, offset: -0.4 },
            ),
            (ball, Against::Face { normal: n, offset: 0.2 }),
            (Tip::Rim { axis: Vec3([0.0, 0.6, 0.8]), radius: 0.2 }, Against::Face { normal: n, offset: 0.2 }),
            (
                Tip::Ellipsoid { axes: Mat3([[0.1, 0.02, 0.0], [0.0, 0.2, 0.0], [0.03, 0.0, 0.05]]) },
                Against::Face { normal: n, offset: 0.2 },
            ),
            (ball, Against::Sphere { center: Vec3([0.1, 0.0, 0.3]), radius: 0.25 }),
            (
                ball,
                Against::Capsule { segment: [Vec3([-0.5, 0.0, 0.1]), Vec3([0.4, 0.1, 0.1])], radius: 0.1 },
            ),
            (
                ball,
                Against::Box {
                    pose: Pose::new(turned([0.0, 1.0, 0.0], 0.3), Vec3([0.1, 0.0, 0.0])),
                    half: Vec3([0.3, 0.2, 0.1]),
                    entered: None,
                },
            ),
            (ball, Against::Box { pose: Pose::identity(), half: Vec3([2.0, 2.0, 0.1]), entered: None }),
            (
                Tip::Edge { half: Vec3([0.3, 0.1, 0.0]), radius: 0.0 },
                Against::Edge { center: Vec3([0.1, 0.0, 0.2]), half: Vec3([0.0, 0.4, 0.1]), radius: 0.0 },
            ),
            (
                Tip::Edge { half: Vec3([0.3, 0.1, 0.0]), radius: 0.05 },
                Against::Edge { center: Vec3([0.1, 0.0, 0.2]), half: Vec3([0.0, 0.4, 0.1]), radius: 0.02 },
            ),
            (
                Tip::Edge { half: Vec3([0.03, 0.01, 0.0]), radius: 0.05 },
                Against::Edge { center: Vec3([0.1, 0.0, 0.2]), half: Vec3([0.0, 0.04, 0.1]), radius: 0.0 },
            ),
            (ball, Against::Edge { center: Vec3([0.1, 0.0, 0.2]), half: Vec3([0.0, 0.4, 0.1]), radius: 0.0 }),
            // Beside a cylinder, above its cap, beyond its rim.
            cylinder([0.0, 1.5, 0.2], 0.2),
            cylinder([0.0, 0.1, 0.3], 3.0),
            cylinder([0.0, 0.1, 0.3], 0.2),
        ]
    }

    fn cylinder(half: [f64; 3], radius: f64) -> (Tip, Against) {
        (
            Tip::Sphere { radius: 0.1 },
            Against::Cylinder { center: Vec3([0.1, 0.0, 0.2]), half: Vec3(half), radius },
        )
    }

    #[test]
    fn a_ball_is_as_far_from_a_cylinder_as_from_the_nearest_of_its_points() {
        let (half, radius, ball) = (0.3, 0.2, 0.1);
        let against = Against::Cylinder { center: Vec3::zero(), half: Vec3([0.0, 0.0, half]), radius };
        let gap = |x: f64, z: f64| {
            let at = Link { rot: turned([0.2, 1.0, 0.4], 0.9), pos: Vec3([0.6 * x, 0.8 * x, z]) };
            Touch::new(&Tip::Sphere { radius: ball }, Vec3::zero(), &against, &at, &Link::ground()).gap
        };
        let corner = |x: f64, z: f64| ((x - radius).powi(2) + (z.abs() - half).powi(2)).sqrt();
        for (x, z, distance) in [
            (0.5, 0.1, 0.5 - radius),
            (0.05, 0.7, 0.7 - half),
            (0.05, -0.7, 0.7 - half),
            (0.4, 0.5, corner(0.4, 0.5)),
            (0.4, -0.6, corner(0.4, -0.6)),
            // Inside: from the side, then from a cap.
            (0.17, 0.1, -0.03),
            (0.05, -0.28, -0.02),
        ] {
            assert!((gap(x, z) - (distance - ball)).abs() < 1e-15, "{x} {z}: {}", gap(x, z));
        }
    }

    #[test]
    fn the_normal_at_the_contact_point_is_the_gradient_of_the_gap() {
        let center = Vec3([0.05, -0.1, 0.2]);
        let (ra, rb) = (turned([0.3, 1.0, -0.4], 0.8), turned([1.0, 0.1, 0.3], -0.5));
        let (xa, xb) = (Vec3([0.2, 0.3, 0.9]), Vec3([0.1, -0.1, -0.2]));
        for (tip, against) in kinds() {
            let at = |da: [f64; 6], db: [f64; 6]| {
                let moved = |rot: Mat3, x: Vec3, d: [f64; 6]| {
                    let turn = Vec3([d[0], d[1], d[2]]);
                    let angle = turn.norm();
                    let rot = if angle > 0.0 { turned(turn.0, angle) * rot } else { rot };
                    Link { rot, pos: x + Vec3([d[3], d[4], d[5]]) }
                };
                Touch::new(&tip, center, &against, &moved(ra, xa, da), &moved(rb, xb, db))
            };
            let touch = at([0.0; 6], [0.0; 6]);
            assert!((touch.normal.norm() - 1.0).abs() < 1e-14);
            for k in 0..6 {
                let e = 1e-6;
                let unit = |s: f64| std::array::from_fn(|i| if i == k { s * e } else { 0.0 });
                let difference = |plus: Touch, minus: Touch| (plus.gap - minus.gap) / (2.0 * e);
                let by_a = difference(at(unit(1.0), [0.0; 6]), at(unit(-1.0), [0.0; 6]));
                let by_b = difference(at([0.0; 6], unit(1.0)), at([0.0; 6], unit(-1.0)));
                let row = |rot: Mat3, i: usize| {
                    let lever = rot * touch.core[i] + touch.arm[i];
                    let turn = lever.cross(touch.normal);
                    if k < 3 { turn[k] } else { touch.normal[k - 3] }
                };
                assert!((by_a - row(ra, 0)).abs() < 1e-8, "{tip:?} {against:?} A {k}: {by_a} {}", row(ra, 0));
                let of_b = if !matches!(against, Against::HalfSpace { .. }) { -row(rb, 1) } else { 0.0 };
                assert!((by_b - of_b).abs() < 1e-8, "{against:?} B {k}: {by_b} {of_b}");
            }
        }
    }

    #[test]
    fn a_corner_that_does_not_move_has_no_slip_and_a_rolling_ball_neither() {
        let (from, to) = (turned([1.0, 0.4, 0.2], 0.3), turned([1.0, 0.4, 0.2], 0.5));
        let (h, corner, zero) = (0.01, Vec3([0.2, -0.1, 0.3]), Vec3::zero());
        // The link turns about its corner.
        let velocity = (from * corner - to * corner) * (1.0 / h);
        let motion = Motion { from, to, velocity, turn: Vec3([1.0, 2.0, 3.0]) };
        assert!(slip(&motion, [corner; 2], [zero; 2], h).norm() < 1e-12);
        let (radius, spin) = (0.25, Vec3([0.0, 3.0, 0.0]));
        let arm = Vec3([0.0, 0.0, -radius]);
        let motion = Motion { from, to: from, velocity: Vec3([3.0 * radius, 0.0, 0.0]), turn: spin };
        assert!(slip(&motion, [zero; 2], [arm; 2], h).norm() < 1e-15);
    }

    #[test]
    fn frames_are_right_handed_for_every_normal() {
        for n in [Vec3([0.0, 0.0, 1.0]), Vec3([0.6, 0.0, 0.8]), Vec3([-0.5, 0.5, -0.5f64.sqrt()])] {
            let f = frame_of(n);
            assert!((f.determinant() - 1.0).abs() < 1e-14 && (f.column(0) - n).norm() == 0.0);
        }
    }
}
