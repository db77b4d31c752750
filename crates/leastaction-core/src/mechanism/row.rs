//! [`Row`]: a scalar of the mechanism with dry friction or limits.
//!
//! A coordinate and those that follow it are one row: the bound of the friction is `f_j + Σ |Φ_i'| f_i`, and the limits of every
//! member hold.

use std::collections::HashMap;

use super::follower::{Follower, FollowerLaw, Scalar};
use super::{Joint, JointId, JointType, Tendon};
use crate::scalar::elementary;

/// A member of a row: a coordinate with friction of its own that moves with the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Member {
    /// The coordinate.
    pub at: Scalar,
    /// Its friction.
    pub friction: f64,
    /// Its follower, or none for the coordinate of the row itself.
    pub follower: Option<usize>,
}

/// What a row is a scalar of.
#[derive(Clone, Debug, PartialEq)]
pub enum RowOf {
    /// A coordinate, with those that follow it.
    Coordinate {
        /// The joint.
        joint: JointId,
        /// Coordinate within the joint.
        part: usize,
        /// Where it stands.
        at: Scalar,
        /// The members with friction.
        members: Vec<Member>,
    },
    /// A tendon.
    Tendon {
        /// Its number.
        tendon: usize,
        /// Coordinates and factors.
        terms: Vec<(Scalar, f64)>,
    },
    /// The angle of a ball's whole rotation, from 0 to π.
    Turn {
        /// The joint.
        joint: JointId,
        /// Its first coordinates.
        at: Scalar,
    },
    /// A coordinate of a loop joint, which the tree's coordinates say only by where they put its two sides.
    Loop {
        /// The joint.
        joint: JointId,
        /// Coordinate within the joint.
        part: usize,
        /// Its friction.
        friction: f64,
    },
}

/// A scalar with dry friction or limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// `JOINT`, `JOINT.part` or the tendon's name.
    pub name: String,
    /// What it is a scalar of.
    pub of: RowOf,
    /// Lower limit; minus infinity if there is none.
    pub lower: f64,
    /// Upper limit; infinity if there is none.
    pub upper: f64,
    /// Restitution at the limits.
    pub restitution: f64,
    /// True if there is friction anywhere in it.
    pub rubs: bool,
}

impl Row {
    /// Its value at positions `q`; none for coordinates of loop joints, which [`LoopMotion`](crate::dynamics::LoopMotion) knows.
    #[inline]
    #[must_use]
    pub fn value(&self, q: &[f64]) -> Option<f64> {
        match &self.of {
            RowOf::Coordinate { at, .. } => Some(q[at.q]),
            RowOf::Tendon { terms, .. } => Some(terms.iter().map(|(s, a)| a * q[s.q]).sum()),
            RowOf::Turn { at, .. } => Some(turn(&q[at.q..at.q + 4]).0),
            RowOf::Loop { .. } => None,
        }
    }

    /// True if its limits leave no room.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
        let room = self.upper - self.lower;
        room.is_finite() && room <= 1e-9 * self.upper.abs().max(1.0)
    }

    /// The coordinate, if it is one.
    #[inline]
    #[must_use]
    pub fn coordinate(&self) -> Option<Scalar> {
        match &self.of {
            RowOf::Coordinate { at, .. } => Some(*at),
            _ => None,
        }
    }

    /// Calls `visit(coordinate, torque)` for the friction of its members at `q` while it slides towards `sign`.
    pub fn friction_torques(
        &self,
        followers: &[Follower],
        q: &[f64],
        sign: f64,
        mut visit: impl FnMut(Scalar, f64),
    ) {
        if let RowOf::Coordinate { members, .. } = &self.of {
            for member in members {
                let slope = member.follower.map_or(1.0, |f| total_slope(followers, f, q));
                visit(member.at, -member.friction * sign * slope.signum());
            }
        }
    }

    /// Bound of its friction at `q`.
    #[must_use]
    pub fn bound(&self, followers: &[Follower], q: &[f64]) -> f64 {
        match &self.of {
            RowOf::Coordinate { members, .. } => members
                .iter()
                .map(|m| m.friction * m.follower.map_or(1.0, |f| total_slope(followers, f, q)).abs())
                .sum(),
            RowOf::Loop { friction, .. } => *friction,
            RowOf::Tendon { .. } | RowOf::Turn { .. } => 0.0,
        }
    }
}

/// Angle and axis of the rotation of a quaternion; no axis where there is no rotation.
#[must_use]
pub fn turn(q: &[f64]) -> (f64, [f64; 3]) {
    let sign = if q[0] < 0.0 { -1.0 } else { 1.0 };
    let v = [sign * q[1], sign * q[2], sign * q[3]];
    let sine = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
    let axis = if sine > 0.0 { v.map(|x| x / sine) } else { [0.0; 3] };
    (2.0 * elementary::atan2(sine, q[0].abs()), axis)
}

/// Slope of a follower with respect to the coordinate at the head of its chain.
fn total_slope(followers: &[Follower], mut f: usize, q: &[f64]) -> f64 {
    let mut slope = 1.0;
    loop {
        let mut leader = None;
        followers[f].law.slopes(q, |at, x| {
            slope *= x;
            leader = Some(at);
        });
        let next = leader.and_then(|at| polynomial(followers, at));
        match next {
            Some(next) => f = next,
            None => return slope,
        }
    }
}

/// The follower at a coordinate, if it follows one other by a polynomial.
fn polynomial(followers: &[Follower], at: Scalar) -> Option<usize> {
    followers.iter().position(|f| f.at == at && matches!(f.law, FollowerLaw::Polynomial { .. }))
}

/// By coordinate: the followers whose chain of polynomials it heads; and which coordinates follow by one. Leaders come first.
fn groups(followers: &[Follower]) -> (HashMap<usize, Vec<usize>>, HashMap<usize, usize>) {
    let (mut groups, mut heads) = (HashMap::<usize, Vec<usize>>::new(), HashMap::new());
    for (f, follower) in followers.iter().enumerate() {
        if let (FollowerLaw::Polynomial { .. }, Some(leader)) = (&follower.law, follower.law.leaders().next())
        {
            let head = heads.get(&leader.v).copied().unwrap_or(leader.v);
            heads.insert(follower.at.v, head);
            groups.entry(head).or_default().push(f);
        }
    }
    (groups, heads)
}

/// All rows of a mechanism; without limits where they are only watched.
pub(super) fn rows(joints: &[Joint], followers: &[Follower], tendons: &[Tendon], limits: bool) -> Vec<Row> {
    let mut out = Vec::new();
    let (groups, heads) = groups(followers);
    let scalars = joints.iter().enumerate().filter(|(_, j)| j.role == super::JointRole::Tree);
    for (id, joint) in scalars {
        if joint.kind == JointType::Spherical {
            let limit = joint.limits.as_ref().filter(|l| limits && l.upper[0] < std::f64::consts::PI);
            if let Some(limit) = limit {
                out.push(Row {
                    name: joint.name.clone(),
                    of: RowOf::Turn { joint: JointId::new(id), at: Scalar { q: joint.q, v: joint.v } },
                    lower: f64::NEG_INFINITY,
                    upper: limit.upper[0],
                    restitution: limit.restitution,
                    rubs: false,
                });
            }
            continue;
        }
        if joint.kind == JointType::Floating {
            continue;
        }
        for part in 0..joint.kind.nv() {
            let at = Scalar { q: joint.q + part, v: joint.v + part };
            // What moves as given has no say in it.
            let given = followers.iter().any(|f| f.at == at && f.law.motion().is_some());
            if heads.contains_key(&at.v) || given {
                continue;
            }
            let name = joint.coordinate_label(part);
            let group = groups.get(&at.v).map_or(&[][..], Vec::as_slice);
            let row = coordinate_row(joints, followers, group, limits, name, JointId::new(id), part, at);
            if row.rubs || row.lower > f64::NEG_INFINITY || row.upper < f64::INFINITY {
                out.push(row);
            }
        }
    }
    for (i, tendon) in tendons.iter().enumerate() {
        if limits && (tendon.lower > f64::NEG_INFINITY || tendon.upper < f64::INFINITY) {
            out.push(Row {
                name: tendon.name.clone(),
                of: RowOf::Tendon { tendon: i, terms: tendon.terms.clone() },
                lower: tendon.lower,
                upper: tendon.upper,
                restitution: 0.0,
                rubs: false,
            });
        }
    }
    for (id, joint) in joints.iter().enumerate().filter(|(_, j)| j.role == super::JointRole::Loop) {
        if matches!(joint.kind, JointType::Spherical | JointType::Floating) {
            continue;
        }
        for part in 0..joint.kind.nv() {
            let limit = joint.limits.as_ref().filter(|_| limits && joint.kind != JointType::Continuous);
            let free = (f64::NEG_INFINITY, f64::INFINITY, 0.0);
            let (lower, upper, restitution) =
                limit.map_or(free, |l| (l.lower[part], l.upper[part], l.restitution));
            let friction = joint.friction[part];
            if friction > 0.0 || lower > f64::NEG_INFINITY || upper < f64::INFINITY {
                let name = joint.coordinate_label(part);
                let of = RowOf::Loop { joint: JointId::new(id), part, friction };
                out.push(Row { name, of, lower, upper, restitution, rubs: friction > 0.0 });
            }
        }
    }
    out
}

fn coordinate_row(
    joints: &[Joint],
    followers: &[Follower],
    group: &[usize],
    limits: bool,
    name: String,
    joint: JointId,
    part: usize,
    at: Scalar,
) -> Row {
    let own = &joints[joint.index()];
    let mut members = Vec::new();
    if own.friction[part] > 0.0 {
        members.push(Member { at, friction: own.friction[part], follower: None });
    }
    let (mut lower, mut upper) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut restitution = 0.0f64;
    if let (true, Some(l)) = (limits && own.kind != JointType::Continuous, &own.limits) {
        (lower, upper, restitution) = (l.lower[part], l.upper[part], l.restitution);
    }
    for &f in group {
        let follower = &followers[f];
        let joint = &joints[follower.joint.index()];
        if joint.friction[0] > 0.0 {
            members.push(Member { at: follower.at, friction: joint.friction[0], follower: Some(f) });
        }
        if let (true, Some(l)) = (limits, &joint.limits) {
            let (low, high) = (l.lower[0], l.upper[0]);
            if low > f64::NEG_INFINITY || high < f64::INFINITY {
                let both = admissible(followers, f, (low, high), (lower, upper));
                // Limits that leave no value for both joints can't both hold: that of the follower is only watched.
                if both.0 <= both.1 {
                    (lower, upper) = both;
                    restitution = restitution.max(l.restitution);
                }
            }
        }
    }
    let rubs = !members.is_empty();
    Row { name, of: RowOf::Coordinate { joint, part, at, members }, lower, upper, restitution, rubs }
}

/// Values of the head between `within` at which follower `f` is between its limits: the interval nearest to zero.
fn admissible(
    followers: &[Follower],
    f: usize,
    (low, high): (f64, f64),
    (lower, upper): (f64, f64),
) -> (f64, f64) {
    let value = |x: f64| chain_value(followers, f, x);
    let mut link = Some(f);
    let mut linear = true;
    while let Some(f) = link {
        linear &= followers[f].law.is_linear();
        link = followers[f].law.leaders().next().and_then(|at| polynomial(followers, at));
    }
    if linear {
        let (offset, factor) = (value(0.0), value(1.0) - value(0.0));
        if factor == 0.0 {
            return (lower, upper);
        }
        let (a, b) = ((low - offset) / factor, (high - offset) / factor);
        return (lower.max(a.min(b)), upper.min(a.max(b)));
    }
    // A curve: the interval is followed from the admissible sample nearest to zero and its ends are bisected.
    const SAMPLES: i32 = 4000;
    let (from, to) = (lower.max(-20.0), upper.min(20.0));
    let at = |k: i32| from + (to - from) * f64::from(k) / f64::from(SAMPLES);
    let inside = |x: f64| (low..=high).contains(&value(x));
    let Some(first) =
        (0..=SAMPLES).filter(|k| inside(at(*k))).min_by(|a, b| at(*a).abs().total_cmp(&at(*b).abs()))
    else {
        return (lower, upper);
    };
    let end = |step: i32, limit: f64| {
        let mut k = first;
        while (0..=SAMPLES).contains(&(k + step)) && inside(at(k + step)) {
            k += step;
        }
        if !(0..=SAMPLES).contains(&(k + step)) {
            return limit;
        }
        let (mut good, mut bad) = (at(k), at(k + step));
        for _ in 0..80 {
            let middle = 0.5 * (good + bad);
            if inside(middle) {
                good = middle;
            } else {
                bad = middle;
            }
        }
        good
    };
    (end(-1, lower), end(1, upper))
}

/// Value of a follower where the head of its chain is at `x`.
fn chain_value(followers: &[Follower], f: usize, x: f64) -> f64 {
    let FollowerLaw::Polynomial { leader, coefficients, reference } = &followers[f].law else { return x };
    let of = polynomial(followers, *leader).map_or(x, |next| chain_value(followers, next, x));
    coefficients.iter().rev().fold(0.0, |sum, c| sum * (of - reference) + c)
}
