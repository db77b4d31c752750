//! [`MaximalState`]: poses, carried momenta, and what extrapolates the next step's guess.

use super::contact::ContactState;
use super::curve::Past;
use super::forces::unwrapped;
use super::geometry::{LinkPose, Side};
use super::layout::Layout;
use super::ldu::Six;
use crate::integrator::rows::RowStates;
use crate::spatial::{Mat3, Quat, Vec3};

/// How many past steps the guess is extrapolated from at most, and at first.
pub(crate) const HISTORY: usize = 7;
const REACH: usize = 3;

/// Poses and carried momenta of all links, and the memory of the last steps.
///
/// The momentum is defined up to impulses of the constraints: `P ~ P + Gᵀλ`.
#[derive(Clone, Debug)]
pub struct MaximalState {
    /// Time.
    pub t: f64,
    pub(crate) poses: Vec<LinkPose>,
    /// Angular about the centre of mass, then linear; world axes.
    pub(crate) momentum: Vec<Six>,
    /// Position coordinates of the last node, per link joint: angles are unwrapped against them.
    pub(crate) q: Vec<f64>,
    /// The same for loop joints, by loop and coordinate (up to seven each).
    pub(crate) q_loop: Vec<[f64; 7]>,
    /// Geometry of the poses: derived, kept because the step before has made it.
    pub(crate) side: Side,
    pub(crate) history: History,
    /// The last step of an order above 2.
    pub(crate) curve: Past,
    /// Length of the interval that led here; zero at a fresh start.
    pub(crate) interval: f64,
    /// Inertias of the links, larger than the model's where tension makes them stiff, for steps of this length. (3.38)
    pub(crate) inertia: Vec<Mat3>,
    pub(crate) stiffened: bool,
    pub(crate) inertia_step: f64,
    /// How far the start had to be moved to close the loops: largest change of a joint coordinate.
    pub(crate) moved: f64,
    /// True if the start had a warm part that did not belong to its positions and velocities.
    pub(crate) warm_start_dropped: bool,
    /// What rows with friction or limits do; empty where nothing is driven.
    pub(crate) rows: RowStates,
    /// What contacts left; empty without contact.
    pub(crate) contact: ContactState,
    /// Impulses of the ties over the step at hand.
    pub(crate) driven: Vec<f64>,
}

/// Interval velocities `[ω; v]`, joint wrenches and multipliers of past steps, per composition stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    pub(crate) stages: usize,
    /// How many past steps are known (the same for all stages).
    pub(crate) count: usize,
    /// Which of the [`HISTORY`] places holds the newest.
    pub(crate) newest: usize,
    /// How many of them the next guess is made from.
    pub(crate) reach: usize,
    /// Step length they were taken with.
    pub(crate) h: f64,
    pub(crate) w: Vec<Six>,
    pub(crate) wrench: Vec<Six>,
    pub(crate) lam: Vec<Six>,
    /// Limit impulses of the last step.
    pub(crate) limit: Vec<f64>,
}

impl History {
    pub(crate) fn new(stages: usize, n: usize, nc: usize, nv: usize) -> Self {
        Self {
            stages,
            count: 0,
            newest: 0,
            reach: REACH,
            h: 0.0,
            w: vec![[0.0; 6]; n * HISTORY * stages],
            wrench: vec![[0.0; 6]; n * HISTORY * stages],
            lam: vec![[0.0; 6]; nc * HISTORY * stages],
            limit: vec![0.0; nv],
        }
    }

    /// Range of a stage's entry `age` steps ago in an array of `n` per step.
    #[inline(always)]
    pub(crate) fn range(&self, stage: usize, age: usize, n: usize) -> std::ops::Range<usize> {
        let place = (self.newest + HISTORY - age) % HISTORY;
        let at = (stage * HISTORY + place) * n;
        at..at + n
    }

    fn numbers(&self) -> impl Iterator<Item = f64> + '_ {
        [self.count as f64, self.newest as f64, self.reach as f64, self.h]
            .into_iter()
            .chain(self.w.iter().chain(&self.wrench).chain(&self.lam).flatten().copied())
            .chain(self.limit.iter().copied())
    }
}

impl MaximalState {
    /// Largest change of a joint coordinate that closing the loops of the start state took.
    #[must_use]
    pub fn moved_at_start(&self) -> f64 {
        self.moved
    }

    /// For `stages` substeps of order 2 and curves of that degree (zero: none).
    pub(crate) fn new(layout: &Layout, (stages, degree): (usize, usize), nq: usize, nv: usize) -> Self {
        let n = layout.links.len();
        Self {
            curve: Past::new(degree, n, layout.closures.len(), layout.held),
            t: 0.0,
            poses: vec![LinkPose::identity(); n],
            momentum: vec![[0.0; 6]; n],
            q: vec![0.0; nq],
            q_loop: vec![[0.0; 7]; layout.loops.len()],
            side: Side::new(layout),
            history: History::new(stages, n, layout.closures.len(), nv),
            interval: 0.0,
            inertia: layout.links.iter().map(|l| l.inertia).collect(),
            stiffened: false,
            inertia_step: 0.0,
            moved: 0.0,
            warm_start_dropped: false,
            rows: RowStates::default(),
            contact: ContactState::default(),
            driven: vec![0.0; layout.ties.len()],
        }
    }

    /// Position coordinates of the poses, angles unwrapped against those before.
    pub(crate) fn unwrap_coordinates(&mut self, layout: &Layout) {
        for (i, link) in layout.links.iter().enumerate() {
            let range = link.q..link.q + link.joint.kind.nq();
            let mut near = [0.0; 7];
            near[..range.len()].copy_from_slice(&self.q[range.clone()]);
            unwrapped(link.joint.kind, &self.side.joints[i], &near, &mut self.q[range]);
        }
        for (l, joint) in layout.loops.iter().enumerate() {
            let near = self.q_loop[l];
            unwrapped(joint.kind, &self.side.loops[l], &near, &mut self.q_loop[l][..joint.kind.nq()]);
        }
    }

    /// Takes over the node of another state of the same mechanism, without geometry and past. Does not allocate.
    pub(crate) fn take_node(&mut self, other: &Self) {
        (self.t, self.interval) = (other.t, other.interval);
        self.poses.copy_from_slice(&other.poses);
        self.momentum.copy_from_slice(&other.momentum);
        self.q.copy_from_slice(&other.q);
        self.q_loop.copy_from_slice(&other.q_loop);
    }

    /// Everything that a continuation needs, as plain numbers.
    pub(crate) fn to_numbers(&self) -> Vec<f64> {
        let mut out = vec![self.t, self.interval];
        for pose in &self.poses {
            out.extend(pose.q.to_array());
            out.extend(pose.x.0);
        }
        out.extend(self.momentum.iter().flatten());
        out.extend(&self.q);
        out.extend(self.q_loop.iter().flatten());
        out.extend(self.history.numbers());
        if !self.curve.last.rho.is_empty() {
            out.extend(self.curve.numbers());
        }
        if self.stiffened {
            out.extend(self.inertia.iter().flat_map(|j| j.0).flatten());
        }
        self.contact.write(&mut out);
        self.rows.write(&mut out);
        out
    }

    /// Reads what [`to_numbers`](Self::to_numbers) wrote; false if the numbers do not fit.
    pub(crate) fn read_numbers(&mut self, layout: &Layout, data: &[f64]) -> bool {
        let of_rows = self.rows.numbers();
        let expected = self.to_numbers().len() - of_rows;
        let Some((data, tail)) = data.split_at_checked(data.len().wrapping_sub(of_rows)) else {
            return false;
        };
        if !self.rows.read(tail) {
            return false;
        }
        let of_contact = self.contact.numbers();
        let expected = expected - of_contact;
        let Some((data, tail)) = data.split_at_checked(data.len().wrapping_sub(of_contact)) else {
            return false;
        };
        if !self.contact.read(tail) {
            return false;
        }
        let stiffened = data.len() == expected + 9 * self.inertia.len() && data.len() > expected;
        if !(data.len() == expected || stiffened) || data.iter().any(|x| !x.is_finite()) {
            return false;
        }
        let mut numbers = data.iter().copied();
        let mut next = || numbers.next().unwrap_or(0.0);
        self.t = next();
        self.interval = next();
        for pose in &mut self.poses {
            let q: [f64; 4] = std::array::from_fn(|_| next());
            pose.q = Quat::from_slice(&q);
            pose.x = Vec3(std::array::from_fn(|_| next()));
        }
        self.momentum.iter_mut().flatten().for_each(|x| *x = next());
        self.q.iter_mut().for_each(|x| *x = next());
        self.q_loop.iter_mut().flatten().for_each(|x| *x = next());
        let history = &mut self.history;
        let (count, newest, reach) = (next(), next(), next());
        let most = HISTORY as f64;
        if !(0.0..=most).contains(&count) || !(0.0..most).contains(&newest) || !(1.0..=most).contains(&reach)
        {
            return false;
        }
        history.reach = reach as usize;
        history.count = count as usize;
        history.newest = newest as usize;
        history.h = next();
        let History { w, wrench, lam, .. } = history;
        w.iter_mut().chain(wrench).chain(lam).flatten().for_each(|x| *x = next());
        history.limit.iter_mut().for_each(|x| *x = next());
        self.inertia_step = history.h.abs();
        if !self.curve.last.rho.is_empty() && !self.curve.read(&mut next) {
            return false;
        }
        self.stiffened = stiffened;
        if stiffened {
            self.inertia.iter_mut().flat_map(|j| &mut j.0).flatten().for_each(|x| *x = next());
        }
        self.side.place(layout, &self.poses);
        true
    }

    /// Copies `other` without allocating (both have the same sizes); the geometry is left out.
    pub(crate) fn save(&mut self, other: &Self) {
        self.t = other.t;
        self.interval = other.interval;
        self.rows.copy_from(&other.rows);
        self.contact.copy_from(&other.contact);
        self.poses.copy_from_slice(&other.poses);
        self.momentum.copy_from_slice(&other.momentum);
        self.q.copy_from_slice(&other.q);
        self.q_loop.copy_from_slice(&other.q_loop);
        self.inertia.copy_from_slice(&other.inertia);
        (self.stiffened, self.inertia_step) = (other.stiffened, other.inertia_step);
        self.curve.copy_from(&other.curve);
        self.driven.copy_from_slice(&other.driven);
        let (h, o) = (&mut self.history, &other.history);
        (h.count, h.newest, h.reach, h.h) = (o.count, o.newest, o.reach, o.h);
        h.w.copy_from_slice(&o.w);
        h.wrench.copy_from_slice(&o.wrench);
        h.lam.copy_from_slice(&o.lam);
        h.limit.copy_from_slice(&o.limit);
    }

    /// Back to what [`save`](Self::save) kept in `backup`.
    pub(crate) fn restore(&mut self, layout: &Layout, backup: &Self) {
        self.save(backup);
        self.side.place(layout, &self.poses);
    }
}
