//! [`ContactState`]: what a step with contact takes from the one before.

use super::super::ldu::Six;
use super::sparse::Sparse;

/// Node velocities, and impulses as guesses and for output. Empty without contact.
#[derive(Clone, Debug, Default)]
pub(crate) struct ContactState {
    /// `[Ω; v]` of the joint points at the node.
    pub(crate) w: Vec<Six>,
    /// Rates of the coordinates at the node, engine's basis.
    pub(crate) rate: Vec<f64>,
    /// Impulses of the last interval (start) and of the last node problem, by item, in the contact's frame.
    pub(crate) start: Sparse<[f64; 3]>,
    pub(crate) end: Sparse<[f64; 3]>,
    /// Joint wrenches and multipliers of the last node problem.
    pub(crate) wrench: Vec<Six>,
    pub(crate) lam: Vec<Six>,
    /// By item: [`ASIDE`] where two bodies start inside each other: they do not touch until they have parted; [`WEDGED`] where
    /// something is inside the ground or past a limit and can't leave: it keeps its depth until it is out.
    pub(crate) muted: Sparse<f64>,
    /// By item: the feature of two shapes with edges that has this place, 0 if it is free.
    pub(crate) feature: Sparse<f64>,
}

/// As `clone_from`, whole arrays at once.
fn copy<T: Copy>(to: &mut Vec<T>, from: &[T]) {
    to.clear();
    to.extend_from_slice(from);
}

pub(super) const ASIDE: f64 = 1.0;
pub(super) const WEDGED: f64 = 2.0;

impl ContactState {
    /// True if an item keeps the depth that it has.
    pub(super) fn is_wedged(&self, k: usize) -> bool {
        self.muted[k] == WEDGED
    }

    pub(super) fn wedge(&mut self, k: usize) {
        self.muted.set(k, WEDGED);
    }

    /// An item that is out is not wedged any more.
    pub(super) fn release(&mut self, k: usize) {
        if self.is_wedged(k) {
            self.muted.set(k, 0.0);
        }
    }

    pub(crate) fn new(n: usize, nv: usize, nc: usize, items: usize) -> Self {
        Self {
            w: vec![[0.0; 6]; n],
            rate: vec![0.0; nv],
            start: Sparse::new(items),
            end: Sparse::new(items),
            wrench: vec![[0.0; 6]; n],
            lam: vec![[0.0; 6]; nc],
            muted: Sparse::new(items),
            feature: Sparse::new(items),
        }
    }

    /// Makes the place of a feature free.
    pub(crate) fn clear(&mut self, k: usize) {
        self.start.set(k, [0.0; 3]);
        self.end.set(k, [0.0; 3]);
        self.feature.set(k, 0.0);
    }

    /// Copies another one of the same sizes, or of none. Does not allocate once sizes agree.
    pub(crate) fn copy_from(&mut self, o: &Self) {
        copy(&mut self.w, &o.w);
        copy(&mut self.rate, &o.rate);
        self.start.copy_from(&o.start);
        self.end.copy_from(&o.end);
        copy(&mut self.wrench, &o.wrench);
        copy(&mut self.lam, &o.lam);
        self.muted.copy_from(&o.muted);
        self.feature.copy_from(&o.feature);
    }

    /// Forgets which items are as they were at first.
    pub(crate) fn tidy(&mut self) {
        self.start.tidy();
        self.end.tidy();
        self.muted.tidy();
        self.feature.tidy();
    }

    pub(crate) fn write(&self, out: &mut Vec<f64>) {
        out.extend(self.w.iter().flatten());
        out.extend(&self.rate);
        out.extend(self.start.values().iter().chain(self.end.values()).flatten());
        out.extend(self.wrench.iter().chain(&self.lam).flatten());
        out.extend(self.muted.values());
        out.extend(self.feature.values());
    }

    pub(crate) fn numbers(&self) -> usize {
        6 * (self.w.len() + self.wrench.len() + self.lam.len())
            + self.rate.len()
            + self.muted.len()
            + self.feature.len()
            + 3 * (self.start.len() + self.end.len())
    }

    /// Reads what [`write`](Self::write) wrote; false if the count is another or a number is not finite.
    pub(crate) fn read(&mut self, data: &[f64]) -> bool {
        if data.len() != self.numbers() || data.iter().any(|x| !x.is_finite()) {
            return false;
        }
        let mut numbers = data.iter().copied();
        let mut next = |x: &mut f64| *x = numbers.next().unwrap_or(0.0);
        self.w.iter_mut().flatten().for_each(&mut next);
        self.rate.iter_mut().for_each(&mut next);
        for impulses in [&mut self.start, &mut self.end] {
            impulses.clear();
            for k in 0..impulses.len() {
                let mut impulse = [0.0; 3];
                impulse.iter_mut().for_each(&mut next);
                impulses.set(k, impulse);
            }
        }
        self.wrench.iter_mut().chain(&mut self.lam).flatten().for_each(&mut next);
        for numbers in [&mut self.muted, &mut self.feature] {
            numbers.clear();
            for k in 0..numbers.len() {
                let mut number = 0.0;
                next(&mut number);
                numbers.set(k, number);
            }
        }
        self.tidy();
        true
    }
}
