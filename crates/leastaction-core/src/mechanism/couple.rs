//! From mimics, couplings and tendons as data to followers in order: leaders first, one law for each follower.

use std::collections::HashMap;

use super::description::{JointRole, ModelDescription, TermDescription};
use super::follower::{Follower, FollowerLaw, Scalar, distance, scalar};
use super::validate::Checker;
use super::{Joint, JointId, Motion, Origin, Tendon};

/// A range of a tendon's length below this is no range but a length.
const NARROW: f64 = 1e-6;

struct Resolver<'a, 'm> {
    joints: &'a [Joint],
    index: &'a HashMap<String, JointId>,
    checker: &'a mut Checker<'m>,
    found: Vec<Follower>,
    /// Which of the found ones stands at a coordinate.
    taken: HashMap<usize, usize>,
}

/// Followers and tendons of a model; what contradicts is told to the checker.
pub(super) fn resolve(
    model: &ModelDescription,
    joints: &[Joint],
    index: &HashMap<String, JointId>,
    checker: &mut Checker<'_>,
) -> (Vec<Follower>, Vec<Tendon>) {
    let mut resolver = Resolver { joints, index, checker, found: Vec::new(), taken: HashMap::new() };
    for joint in joints {
        let Some(mimic) = &joint.mimic else { continue };
        let element = format!("joint `{}`", joint.name);
        let id = index[&joint.name];
        let Some((follower, leader)) =
            resolver.pair(&element, joint.origin, id, resolver.index.get(&mimic.joint).copied())
        else {
            continue;
        };
        let coefficients = [mimic.offset, mimic.multiplier, 0.0, 0.0, 0.0];
        let law = match leader {
            Some(leader) => FollowerLaw::Polynomial { leader, coefficients, reference: 0.0 },
            None => FollowerLaw::Sum { terms: Vec::new(), constant: mimic.offset },
        };
        resolver.add(joint.name.clone(), id, follower, law, joint.origin);
    }
    for coupling in &model.couplings {
        let element = format!("coupling `{}`", coupling.name);
        let id = index[&coupling.joint];
        if coupling.sum.is_empty() {
            let of = coupling.of.as_ref().map(|of| index[of]);
            let Some((follower, leader)) = resolver.pair(&element, coupling.origin, id, of) else { continue };
            let mut coefficients = [0.0; 5];
            for (to, from) in coefficients.iter_mut().zip(&coupling.polynomial) {
                *to = *from;
            }
            coefficients[0] += coupling.reference[0];
            let law = match leader {
                Some(leader) => {
                    FollowerLaw::Polynomial { leader, coefficients, reference: coupling.reference[1] }
                }
                None => FollowerLaw::Sum { terms: Vec::new(), constant: coefficients[0] },
            };
            resolver.add(coupling.name.clone(), id, follower, law, coupling.origin);
        } else {
            resolver.sum(&element, &coupling.name, coupling.origin, Some(id), &coupling.sum, coupling.value);
        }
    }
    for motion in &model.motions {
        let element = format!("motion of joint `{}`", motion.joint);
        let Some(id) = index.get(&motion.joint).copied() else {
            let message = format!("there is no joint `{}`", motion.joint);
            resolver.checker.error(motion.origin, &element, message, "name a joint of the tree");
            continue;
        };
        let Some(at) = resolver.scalar(&element, motion.origin, id) else { continue };
        let law = match motion.speed {
            Some(speed) if motion.times.is_empty() && speed.is_finite() && motion.from.is_finite() => {
                Some(Motion::Speed { from: motion.from, speed })
            }
            Some(_) => None,
            None => Motion::through(motion.times.clone(), motion.positions.clone()),
        };
        match law {
            Some(law) => {
                resolver.add(motion.joint.clone(), id, at, FollowerLaw::Motion(law), motion.origin);
            }
            None => resolver.checker.error(
                motion.origin,
                &element,
                "it is neither a speed nor a table of increasing times and as many positions",
                "give `speed`, or `times` and `positions`, at least two of each",
            ),
        }
    }
    let mut tendons = Vec::new();
    for tendon in &model.tendons {
        let element = format!("tendon `{}`", tendon.name);
        let (lower, upper) =
            (tendon.lower.unwrap_or(f64::NEG_INFINITY), tendon.upper.unwrap_or(f64::INFINITY));
        let Some(terms) = resolver.terms(&element, tendon.origin, &tendon.terms) else { continue };
        let held = upper - lower <= NARROW;
        if held {
            let message = format!("its limits {lower} and {upper} leave no room: the length is held between");
            resolver.checker.problems.warning(tendon.origin, &element, message, "");
            let middle = 0.5 * (lower + upper);
            resolver.sum(&element, &tendon.name, tendon.origin, None, &tendon.terms, middle);
        }
        let (lower, upper) = if held { (f64::NEG_INFINITY, f64::INFINITY) } else { (lower, upper) };
        tendons.push(Tendon {
            name: tendon.name.clone(),
            terms,
            stiffness: tendon.stiffness,
            rest: tendon.rest,
            damping: tendon.damping,
            lower,
            upper,
            origin: tendon.origin,
        });
    }
    resolver.curved_tendons(&tendons);
    (resolver.ordered(), tendons)
}

impl Resolver<'_, '_> {
    /// The coordinate of a tree joint with one; an error otherwise.
    fn scalar(&mut self, element: &str, origin: Option<Origin>, id: JointId) -> Option<Scalar> {
        let joint = &self.joints[id.index()];
        let what = if joint.role == JointRole::Loop {
            "closes a loop: it has no coordinate of its own"
        } else if joint.kind.nv() != 1 {
            "has not one coordinate"
        } else {
            return Some(scalar(joint));
        };
        let message = format!("joint `{}` {what}", joint.name);
        self.checker.error(origin, element, message, "tie joints of the tree with one coordinate");
        None
    }

    /// Follower and leader; a leader that cannot move is none.
    fn pair(
        &mut self,
        element: &str,
        origin: Option<Origin>,
        follower: JointId,
        leader: Option<JointId>,
    ) -> Option<(Scalar, Option<Scalar>)> {
        let follower = self.scalar(element, origin, follower)?;
        let leader = match leader {
            Some(id) => Some(self.scalar(element, origin, id)?),
            None => None,
        };
        Some((follower, leader))
    }

    fn terms(
        &mut self,
        element: &str,
        origin: Option<Origin>,
        terms: &[TermDescription],
    ) -> Option<Vec<(Scalar, f64)>> {
        let mut out: Vec<(Scalar, f64)> = Vec::new();
        for term in terms {
            let at = self.scalar(element, origin, self.index[&term.joint])?;
            match out.iter_mut().find(|(other, _)| *other == at) {
                Some(other) => other.1 += term.coefficient,
                None => out.push((at, term.coefficient)),
            }
        }
        out.retain(|term| term.1 != 0.0);
        if out.is_empty() {
            self.checker.error(origin, element, "it depends on no joint", "give it joints and factors");
            return None;
        }
        Some(out)
    }

    /// `Σ a q = value`, solved for `follower`, or for the joint without friction or limits, or the last one.
    fn sum(
        &mut self,
        element: &str,
        name: &str,
        origin: Option<Origin>,
        follower: Option<JointId>,
        terms: &[TermDescription],
        value: f64,
    ) {
        let Some(mut terms) = self.terms(element, origin, terms) else { return };
        let joint_at =
            |at: Scalar| self.joints.iter().position(|j| j.role == JointRole::Tree && scalar(j) == at);
        let plain = |at: Scalar| {
            joint_at(at).is_some_and(|j| {
                let joint = &self.joints[j];
                let open = |l: &super::Limits| l.lower[0] == f64::NEG_INFINITY && l.upper[0] == f64::INFINITY;
                joint.friction[0] == 0.0 && joint.limits.as_ref().is_none_or(open)
            })
        };
        let free = |at: Scalar| !self.taken.contains_key(&at.v);
        let own = match follower {
            Some(id) => terms.iter().position(|t| t.0 == scalar(&self.joints[id.index()])),
            None => terms
                .iter()
                .position(|t| plain(t.0) && free(t.0))
                .or_else(|| terms.iter().rposition(|t| free(t.0)))
                .or(Some(terms.len() - 1)),
        };
        let Some(own) = own else {
            self.checker.error(origin, element, "the follower is not in its sum", "add it with its factor");
            return;
        };
        let (at, factor) = terms.remove(own);
        let Some(joint) = joint_at(at) else { return };
        terms.iter_mut().for_each(|term| term.1 /= -factor);
        let constant = value / factor;
        let law = match terms[..] {
            [(leader, slope)] => FollowerLaw::Polynomial {
                leader,
                coefficients: [constant, slope, 0.0, 0.0, 0.0],
                reference: 0.0,
            },
            _ => FollowerLaw::Sum { terms, constant },
        };
        self.add(name.to_owned(), JointId::new(joint), at, law, origin);
    }

    fn add(&mut self, name: String, joint: JointId, at: Scalar, law: FollowerLaw, origin: Option<Origin>) {
        let joint_name = &self.joints[joint.index()].name;
        if let Some(other) = self.taken.get(&at.v).map(|f| &self.found[*f]) {
            if distance(&other.law, &law) <= 1e-12 {
                let message = format!("`{name}` says of joint `{joint_name}` what `{}` says", other.name);
                self.checker.problems.warning(origin, format!("coupling `{name}`"), message, "leave one out");
            } else {
                let message = format!("joint `{joint_name}` already follows by `{}`", other.name);
                self.checker.error(origin, format!("coupling `{name}`"), message, "leave one of them out");
            }
            return;
        }
        self.taken.insert(at.v, self.found.len());
        self.found.push(Follower { name, joint, at, law, origin });
    }

    /// A limit of a tendon over a joint that follows by a curve has no constant direction.
    fn curved_tendons(&mut self, tendons: &[Tendon]) {
        for tendon in tendons.iter().filter(|t| t.lower.is_finite() || t.upper.is_finite()) {
            let curved = |at: Scalar| self.found.iter().any(|f| f.at == at && !f.law.is_linear());
            if tendon.terms.iter().any(|term| curved(term.0)) {
                self.checker.error(
                    tendon.origin,
                    format!("tendon `{}`", tendon.name),
                    "its limits act on a joint that follows another by a curve",
                    "leave the limits out, or put them on the joints",
                );
            }
        }
    }

    /// Leaders before followers; a circle is an error.
    fn ordered(self) -> Vec<Follower> {
        // How many of its leaders each waits for, and who waits for it.
        let mut waits = vec![0usize; self.found.len()];
        let mut behind: Vec<Vec<usize>> = vec![Vec::new(); self.found.len()];
        for (f, follower) in self.found.iter().enumerate() {
            for leader in follower.law.leaders().filter_map(|leader| self.taken.get(&leader.v)) {
                waits[f] += 1;
                behind[*leader].push(f);
            }
        }
        let mut order: Vec<usize> = (0..waits.len()).filter(|f| waits[*f] == 0).collect();
        let mut next = 0;
        while let Some(&f) = order.get(next) {
            next += 1;
            for &other in &behind[f] {
                waits[other] -= 1;
                if waits[other] == 0 {
                    order.push(other);
                }
            }
        }
        let left: Vec<&Follower> = self
            .found
            .iter()
            .enumerate()
            .filter(|(f, _)| waits[*f] > 0)
            .map(|(_, follower)| follower)
            .collect();
        if let Some(first) = left.first() {
            let names: Vec<_> = left.iter().take(20).map(|f| format!("`{}`", f.name)).collect();
            let message = format!("couplings follow each other in a circle: {}", names.join(", "));
            let element = format!("coupling `{}`", first.name);
            self.checker.error(first.origin, element, message, "leave one of them out");
        }
        let mut found: Vec<Option<Follower>> = self.found.into_iter().map(Some).collect();
        order.into_iter().filter_map(|f| found[f].take()).collect()
    }
}
