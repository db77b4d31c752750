//! [`Follower`]: a coordinate that is a function of others, as mimics, polynomial couplings and tendon equalities make it.

use super::motion::Motion;
use super::{Joint, JointId, Origin};

/// Where a joint's single coordinate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scalar {
    /// In positions.
    pub q: usize,
    /// In velocities.
    pub v: usize,
}

/// The function a coordinate follows.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowerLaw {
    /// `own + Σ c_i (q(leader) − of)^i`.
    Polynomial {
        /// The coordinate that leads.
        leader: Scalar,
        /// Coefficients, constant first; the constant includes the follower's own reference.
        coefficients: [f64; 5],
        /// Reference of the leader.
        reference: f64,
    },
    /// `constant + Σ a q`.
    Sum {
        /// Coordinates and factors.
        terms: Vec<(Scalar, f64)>,
        /// Constant.
        constant: f64,
    },
    /// A given motion over time.
    Motion(Motion),
}

/// A coordinate tied to others. Followers are listed leaders first.
#[derive(Clone, Debug)]
pub struct Follower {
    /// Name of the coupling, or of the joint that mimics.
    pub name: String,
    /// The joint that follows.
    pub joint: JointId,
    /// Its coordinate.
    pub at: Scalar,
    /// What it follows.
    pub law: FollowerLaw,
    /// Where it was read from.
    pub origin: Option<Origin>,
}

impl FollowerLaw {
    /// Coordinates that lead.
    pub fn leaders(&self) -> impl Iterator<Item = Scalar> + '_ {
        let (one, many) = match self {
            Self::Polynomial { leader, .. } => (Some(*leader), &[][..]),
            Self::Sum { terms, .. } => (None, &terms[..]),
            Self::Motion(_) => (None, &[][..]),
        };
        one.into_iter().chain(many.iter().map(|term| term.0))
    }

    /// Value at positions `q`.
    #[must_use]
    pub fn value(&self, q: &[f64]) -> f64 {
        self.value_from(|at| q[at.q])
    }

    /// The same where leaders are at `of(leader)`.
    #[must_use]
    pub fn value_from(&self, of: impl Fn(Scalar) -> f64) -> f64 {
        match self {
            Self::Polynomial { leader, coefficients, reference } => {
                horner(coefficients, of(*leader) - reference)
            }
            Self::Sum { terms, constant } => terms.iter().fold(*constant, |sum, (s, a)| sum + a * of(*s)),
            Self::Motion(motion) => motion.at(0.0)[0],
        }
    }

    /// The motion, if it is a given one.
    #[must_use]
    pub fn motion(&self) -> Option<&Motion> {
        if let Self::Motion(motion) = self { Some(motion) } else { None }
    }

    /// Calls `visit(leader, slope)` for every leader at positions `q`.
    pub fn slopes(&self, q: &[f64], visit: impl FnMut(Scalar, f64)) {
        self.slopes_from(|at| q[at.q], visit);
    }

    /// The same where leaders are at `value(leader)`.
    pub fn slopes_from(&self, value: impl Fn(Scalar) -> f64, mut visit: impl FnMut(Scalar, f64)) {
        match self {
            Self::Polynomial { leader, coefficients, reference } => {
                visit(*leader, taylor(coefficients, value(*leader) - reference)[1]);
            }
            Self::Sum { terms, .. } => terms.iter().for_each(|(s, a)| visit(*s, *a)),
            Self::Motion(_) => {}
        }
    }

    /// Second derivative along the leader at positions `q`.
    #[must_use]
    pub fn curvature(&self, q: &[f64]) -> f64 {
        self.curvature_from(|at| q[at.q])
    }

    /// The same where the leader is at `value(leader)`.
    #[must_use]
    pub fn curvature_from(&self, value: impl Fn(Scalar) -> f64) -> f64 {
        match self {
            Self::Polynomial { leader, coefficients, reference } => {
                2.0 * taylor(coefficients, value(*leader) - reference)[2]
            }
            Self::Sum { .. } | Self::Motion(_) => 0.0,
        }
    }

    /// Increment of the follower when its leaders at `q` move by `delta(leader)`: the Taylor series, which is exact and, unlike
    /// a difference of values, keeps its digits however small the increments are.
    #[must_use]
    pub fn increment(&self, q: &[f64], delta: impl Fn(Scalar) -> f64) -> f64 {
        self.increment_from(|at| q[at.q], delta)
    }

    /// The same where leaders are at `value(leader)`.
    #[must_use]
    pub fn increment_from(&self, value: impl Fn(Scalar) -> f64, delta: impl Fn(Scalar) -> f64) -> f64 {
        match self {
            Self::Polynomial { leader, coefficients, reference } => {
                let mut series = taylor(coefficients, value(*leader) - reference);
                series[0] = 0.0;
                horner(&series, delta(*leader))
            }
            Self::Sum { terms, .. } => terms.iter().map(|(s, a)| a * delta(*s)).sum(),
            Self::Motion(_) => 0.0,
        }
    }

    /// True if no leader has a curved influence.
    #[must_use]
    pub fn is_linear(&self) -> bool {
        match self {
            Self::Polynomial { coefficients, .. } => coefficients[2..].iter().all(|c| *c == 0.0),
            Self::Sum { .. } | Self::Motion(_) => true,
        }
    }
}

/// Largest difference of two laws that are to be the same function, or infinity if they have different leaders.
pub(super) fn distance(a: &FollowerLaw, b: &FollowerLaw) -> f64 {
    match (a, b) {
        (
            FollowerLaw::Polynomial { leader: l, coefficients: c, reference: r },
            FollowerLaw::Polynomial { leader: m, coefficients: d, reference: s },
        ) if l == m => {
            let (c, d) = (taylor(c, -r), taylor(d, -s));
            c.iter().zip(&d).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()))
        }
        (FollowerLaw::Sum { terms: a, constant: c }, FollowerLaw::Sum { terms: b, constant: d })
            if a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.0 == y.0) =>
        {
            let terms = a.iter().zip(b).map(|(x, y)| (x.1 - y.1).abs());
            terms.fold((c - d).abs(), f64::max)
        }
        _ => f64::INFINITY,
    }
}

fn horner(c: &[f64; 5], x: f64) -> f64 {
    c.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// Coefficients of the same polynomial about `x`.
fn taylor(c: &[f64; 5], x: f64) -> [f64; 5] {
    let mut out = *c;
    for k in 0..4 {
        for i in (k..4).rev() {
            out[i] += x * out[i + 1];
        }
    }
    out
}

/// The single coordinate of a tree joint.
pub(super) fn scalar(joint: &Joint) -> Scalar {
    Scalar { q: joint.q, v: joint.v }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn increments_are_differences_of_values_and_slopes_their_limit() {
        let leader = Scalar { q: 0, v: 0 };
        let law =
            FollowerLaw::Polynomial { leader, coefficients: [0.1, 0.5, 0.3, -0.2, 0.05], reference: 0.1 };
        let q = [0.7];
        let d = law.increment(&q, |_| 0.3);
        assert!((d - (law.value(&[1.0]) - law.value(&q))).abs() < 1e-15);
        let tiny = law.increment(&q, |_| 1e-13) / 1e-13;
        law.slopes(&q, |_, slope| assert!((slope - tiny).abs() < 1e-12));
        let e = 1e-5;
        let second = (law.value(&[0.7 + e]) - 2.0 * law.value(&q) + law.value(&[0.7 - e])) / (e * e);
        assert!((second - law.curvature(&q)).abs() < 1e-5);
    }

    #[test]
    fn the_same_function_about_another_point_is_the_same() {
        let law = |coefficients, reference| FollowerLaw::Polynomial {
            leader: Scalar { q: 0, v: 0 },
            coefficients,
            reference,
        };
        let (a, b) = (law([1.0, 2.0, 0.0, 0.0, 0.0], 0.0), law([3.0, 2.0, 0.0, 0.0, 0.0], 1.0));
        assert!(distance(&a, &b) < 1e-15);
        assert!(distance(&a, &law([3.0, 2.1, 0.0, 0.0, 0.0], 1.0)) > 0.05);
    }
}
