//! What couplings along a curve add to the derivative of a step.
//!
//! With a multiplier λ per coupling and node, all coordinates have rows `P_i + λ_i = 0` and `P_j − D_i λ_i = 0`, which is (7.8). Where
//! the slope `D` turns with the leader, so does the force,
//!
//! ```text
//! δr_j^α += P_i^α Φ'' δq_j^α                 at node 0 with (M v)_i of the start where velocities vary
//! δq_i = D δq_j at every node,   δv_i = D δv_j + Φ'' v_j δq_j
//! M v = P^s + (e_i − D e_j) ν:   δ(M v)_j −= ν_i Φ'' δq_j at the end                                      (7.14)
//! ```
//!
//! Nodes inside a step are forces of their own beside those of the couplings, as a servo's; the ends are known.

use super::lanes::Lanes;
use super::step::Solver;
use super::ties::Ties;
use crate::scalar::Real;

/// Velocities of the start, and what momenta of followers with theirs are there; empty where momenta vary.
#[derive(Default)]
pub(super) struct Start {
    v: Vec<f64>,
    momenta: Vec<f64>,
}

/// One coupling along a curve.
pub(super) struct Curve {
    tie: usize,
    leader: usize,
    follower: usize,
    /// `P_i Φ''` at nodes 0 to s.
    pub(super) bends: Vec<f64>,
    /// `Φ'' v_j` before and after the step.
    turns: [f64; 2],
    /// What a variation of the leader adds to momenta after the step.
    after: f64,
}

impl Curve {
    /// True if it is that of coupling `f`.
    pub(super) fn is_of(&self, f: usize) -> bool {
        self.tie == f
    }

    /// Row of the leader at `node`, and what the coupled force gives it.
    pub(super) fn row(&self, node: usize, mut each: impl FnMut(usize, usize, f64)) {
        each(self.leader, node, self.bends[node]);
    }

    /// Variation of the leader at `node`.
    pub(super) fn answer(
        &self,
        node: usize,
        x: impl Fn(usize, usize) -> f64,
        shift: impl Fn(usize) -> f64,
    ) -> f64 {
        shift(self.leader) + x(self.leader, node)
    }

    /// Velocities that followers start with, from positions that vary.
    pub(super) fn turn_before<T: Real>(&self, dq: &[T], dv: &mut [T]) {
        dv[self.follower] += dq[self.leader] * self.turns[0];
    }

    /// Row 0.
    pub(super) fn begin<T: Real>(&self, dq: &[T], dp: &mut [T]) {
        dp[self.leader] += dq[self.leader] * self.bends[0];
    }

    /// Momenta after the step, before they become velocities or move to the leaders.
    pub(super) fn end<T: Real>(&self, dq: &[T], dp: &mut [T]) {
        dp[self.leader] += dq[self.leader] * self.after;
    }

    /// The coupling, and by how much its follower's velocity after the step turns away.
    pub(super) fn turn_after<T: Real>(&self, dq: &[T]) -> (usize, T) {
        (self.tie, dq[self.leader] * self.turns[1])
    }
}

impl<const N: usize> Solver<N> {
    /// What the start of a step tells where velocities vary; its velocities are in `self.velocity`.
    pub(super) fn curves_at_start(&mut self) -> Start {
        let Some(ties) = self.ties.take_if(|ties| ties.is_curved()) else { return Start::default() };
        let momenta = self.full_momenta(&ties);
        self.ties = Some(ties);
        Start { v: self.velocity.clone(), momenta }
    }

    /// Momenta of followers, with those of theirs, at the position split last and the velocities at hand.
    fn full_momenta(&mut self, ties: &Ties<N>) -> Vec<f64> {
        let mut p = vec![0.0; self.segments.n];
        self.recalled.forget();
        self.recalled.mass.place(&self.segments, &self.point.base, &self.point.anchors);
        self.recalled.mass.momentum(&self.segments, &self.velocity, &mut self.scalar_memory, &mut p);
        ties.momenta(&self.point.base, &mut p)
    }

    /// The couplings along curves of the step just taken, from its start `base` in the point; the ends are not known yet.
    pub(super) fn curves(&self, start: &Start) -> Vec<Curve> {
        let Some(ties) = self.ties.as_deref().filter(|ties| ties.is_curved()) else { return Vec::new() };
        let (base, delta, s) = (&self.point.base, &self.point.delta, self.scheme.s);
        ties.curved()
            .map(|(tie, follower, leader, law, impulses)| {
                let second = |node: usize| law.curvature_from(|at| base[at.v] + delta[at.v].0[node]);
                let mut bends: Vec<f64> = (0..=s).map(|node| second(node) * impulses[node]).collect();
                let mut turns = [0.0; 2];
                if !start.v.is_empty() {
                    bends[0] += second(0) * start.momenta[tie];
                    turns[0] = second(0) * start.v[leader];
                }
                let after = bends[s];
                Curve { tie, leader, follower, bends, turns, after }
            })
            .collect()
    }

    /// What the end of the step adds where velocities vary: these are in `self.velocity`, its position was split last.
    pub(super) fn curves_at_end(&mut self, curves: &mut [Curve]) {
        let Some(ties) = self.ties.take_if(|_| !curves.is_empty()) else { return };
        let momenta = self.full_momenta(&ties);
        for (curve, (tie, _, leader, law, impulses)) in curves.iter_mut().zip(ties.curved()) {
            let second = law.curvature_from(|at| self.point.base[at.v]);
            curve.turns[1] = second * self.velocity[leader];
            curve.after = second * (impulses[self.scheme.s] - momenta[tie]);
        }
        self.ties = Some(ties);
    }
}

/// Variations of velocities after the step, by coupling: what a curve turns them by.
pub(super) fn turned<const S: usize>(
    curves: &[Curve],
    dq: &[Lanes<f64, S>],
    count: usize,
) -> Vec<Lanes<f64, S>> {
    let mut targets = vec![Lanes::default(); count];
    for (tie, turn) in curves.iter().map(|curve| curve.turn_after(dq)) {
        targets[tie] = turn;
    }
    targets
}
