//! Coordinates that follow others, eliminated at the nodes.
//!
//! All nodes of the curve satisfy `q_i = Φ_i(q)`. Only coordinates that follow none are varied, so that their rows gain those of
//! their followers,
//!
//! ```text
//! r^α = D(q^α)ᵀ P^α (+ p on row 0),   D = ∂Φ/∂q,   p⁺ = D(q^s)ᵀ P^s                                     (7.8)
//! ```
//!
//! and multipliers are never iterated. Increments of followers are Taylor series in those of their leaders: exact, and with all
//! their digits however short the part is. Directions solve the tree with couplings left out and then with one column per
//! follower (and node), of force `e_i − D_i`, such that `δ_i = D_i δ`: a Schur complement of the size of the couplings.

use super::block_factor::{NewtonFactor, SolveMemory, invert};
use super::lanes::Lanes;
use super::mass_factor::{MassFactor, MassMemory};
use super::segments::Segments;
use super::step::{Failure, Solver};
use crate::mechanism::{FollowerLaw, Mechanism};
use crate::scalar::Real;

/// A follower and its slopes.
#[derive(Clone, Debug)]
struct Tie<const N: usize> {
    coordinate: usize,
    law: FollowerLaw,
    leaders: Vec<usize>,
    /// By leader, at all nodes.
    slopes: Vec<[f64; N]>,
    /// By leader, where the mass matrix is taken.
    slopes_of_mass: Vec<f64>,
    /// Of a driven joint: its increments over the step, and the impulse of all forces on it but its drive's.
    given: [f64; N],
    impulse: f64,
    /// Its row at all nodes, with those of its own followers.
    impulses: [f64; N],
}

/// All followers of a mechanism.
#[derive(Clone, Debug)]
pub(crate) struct Ties<const N: usize> {
    list: Vec<Tie<N>>,
    curved: bool,
    /// `M⁻¹ (e − D)` by follower, and the inverse of the Schur complement.
    columns: Vec<f64>,
    inverse: Vec<f64>,
    work: Vec<f64>,
    /// The same for the Newton matrix: by follower, then node.
    newton_columns: Vec<f64>,
    newton_inverse: Vec<f64>,
    newton_work: Vec<f64>,
    rest: Vec<f64>,
}

impl<const N: usize> Ties<N> {
    /// None if no coordinate follows another.
    pub(crate) fn new(mechanism: &Mechanism, s: usize) -> Option<Box<Self>> {
        let followers = mechanism.followers();
        if followers.is_empty() {
            return None;
        }
        let list: Vec<Tie<N>> = followers
            .iter()
            .map(|follower| {
                let leaders: Vec<usize> = follower.law.leaders().map(|leader| leader.v).collect();
                Tie {
                    coordinate: follower.at.v,
                    law: follower.law.clone(),
                    slopes: vec![[0.0; N]; leaders.len()],
                    slopes_of_mass: vec![0.0; leaders.len()],
                    given: [0.0; N],
                    impulse: 0.0,
                    impulses: [0.0; N],
                    leaders,
                }
            })
            .collect();
        let (c, n) = (list.len(), mechanism.nv());
        Some(Box::new(Self {
            curved: followers.iter().any(|follower| !follower.law.is_linear()),
            list,
            columns: vec![0.0; c * n],
            inverse: vec![0.0; c * c],
            work: vec![0.0; c * c],
            newton_columns: vec![0.0; s * c * n * s],
            newton_inverse: vec![0.0; s * c * s * c],
            newton_work: vec![0.0; s * c * s * c],
            rest: vec![0.0; n * s],
        }))
    }

    /// Increments of the followers from those of their leaders, at nodes 1 to s.
    pub(crate) fn impose(&mut self, s: usize, base: &[f64], delta: &mut [Lanes<f64, N>]) {
        for tie in &mut self.list {
            if tie.law.motion().is_some() {
                delta[tie.coordinate].0[..=s].copy_from_slice(&tie.given[..=s]);
                continue;
            }
            for node in 0..=s {
                let x = tie.law.increment_from(|at| base[at.v], |at| delta[at.v].0[node]);
                delta[tie.coordinate].0[node] = x;
                let mut k = 0;
                tie.law.slopes_from(
                    |at| base[at.v] + delta[at.v].0[node],
                    |_, slope| {
                        tie.slopes[k][node] = slope;
                        k += 1;
                    },
                );
            }
        }
    }

    /// The rows (7.8), and the momentum after the step likewise.
    pub(crate) fn reduce(
        &mut self,
        s: usize,
        locked: &[bool],
        rows: &mut [Lanes<f64, N>],
        carried: &mut [f64],
    ) {
        for tie in self.list.iter_mut().rev() {
            let own = rows[tie.coordinate];
            tie.impulse = carried[tie.coordinate];
            tie.impulses = own.0;
            for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
                for node in 0..=s {
                    rows[*leader].0[node] += slopes[node] * own.0[node];
                }
                carried[*leader] += slopes[s] * carried[tie.coordinate];
            }
            rows[tie.coordinate] = Lanes::default();
            carried[tie.coordinate] = 0.0;
        }
        if self.curved {
            // Along a curve the impulses do not add up to the momentum: the last row is it.
            for (c, carried) in carried.iter_mut().enumerate() {
                if !locked[c] {
                    *carried = rows[c].0[s];
                }
            }
        }
    }

    /// What the rows' terms add up to, with those of their followers.
    pub(crate) fn reduce_scale(&self, s: usize, scale: &mut [Lanes<f64, N>]) {
        for tie in self.list.iter().rev() {
            let own = scale[tie.coordinate];
            for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
                for node in 0..=s {
                    scale[*leader].0[node] += slopes[node].abs() * own.0[node];
                }
            }
        }
    }

    /// Momenta of the coordinates that follow none, from those of all.
    pub(crate) fn reduce_momentum(&self, base: &[f64], p: &mut [f64]) {
        for tie in self.list.iter().rev() {
            let own = std::mem::take(&mut p[tie.coordinate]);
            tie.law.slopes_from(|at| base[at.v], |at, slope| p[at.v] += slope * own);
        }
    }

    /// Moves forces on followers to their leaders: at a node, or where the mass matrix is taken.
    pub(crate) fn spread_to_leaders(&self, x: &mut [f64], at: impl Fn(usize) -> usize, node: Option<usize>) {
        for tie in self.list.iter().rev() {
            let own = std::mem::take(&mut x[at(tie.coordinate)]);
            for (k, leader) in tie.leaders.iter().enumerate() {
                let slope = node.map_or(tie.slopes_of_mass[k], |node| tie.slopes[k][node]);
                x[at(*leader)] += slope * own;
            }
        }
    }

    /// Columns and Schur complement for the mass matrix just factored at increments `delta` of `base`.
    pub(crate) fn tie_mass(
        &mut self,
        segments: &Segments,
        mass: &MassFactor,
        memory: &mut MassMemory<f64>,
        at: impl Fn(usize) -> f64,
    ) -> bool {
        let (c, n) = (self.list.len(), segments.n);
        for (f, tie) in self.list.iter_mut().enumerate() {
            let mut k = 0;
            tie.law.slopes_from(
                |scalar| at(scalar.v),
                |_, slope| {
                    tie.slopes_of_mass[k] = slope;
                    k += 1;
                },
            );
            let column = &mut self.columns[f * n..(f + 1) * n];
            column.fill(0.0);
            column[tie.coordinate] = 1.0;
            for (leader, slope) in tie.leaders.iter().zip(&tie.slopes_of_mass) {
                column[*leader] -= slope;
            }
            mass.solve(segments, memory, column);
        }
        for f in 0..c {
            for g in 0..c {
                let column = &self.columns[g * n..(g + 1) * n];
                self.work[f * c + g] = self.list[f].gap(column);
            }
        }
        invert(&mut self.work, &mut self.inverse, c)
    }

    /// A step of length `h` from `t` begins: where driven joints will be.
    pub(crate) fn begin(&mut self, s: usize, nodes: &[f64; N], t: f64, h: f64) {
        for tie in &mut self.list {
            let Some(motion) = tie.law.motion() else { continue };
            for node in 1..=s {
                tie.given[node] = motion.increment(t, nodes[node] * h);
            }
        }
    }

    /// Driven joints: coordinate, what other forces gave it over the step, and how far it moved.
    pub(crate) fn driven(&self, s: usize) -> impl Iterator<Item = (usize, f64, f64)> + '_ {
        let driven = self.list.iter().filter(|tie| tie.law.motion().is_some());
        driven.map(move |tie| (tie.coordinate, tie.impulse, tie.given[s]))
    }

    /// Makes velocities obey the ties at time `t`.
    pub(crate) fn correct_rates(&self, t: f64, multipliers: &mut [f64], v: &mut [f64]) {
        self.correct_to(multipliers, v, |f| self.list[f].law.motion().map_or(0.0, |motion| motion.at(t)[1]));
    }

    /// Makes a solution of the mass matrix obey the ties.
    pub(crate) fn correct<T: Real>(&self, multipliers: &mut [T], x: &mut [T]) {
        self.correct_to(multipliers, x, |_| T::zero());
    }

    /// The same where followers are off by `target`.
    pub(crate) fn correct_to<T: Real>(
        &self,
        multipliers: &mut [T],
        x: &mut [T],
        target: impl Fn(usize) -> T,
    ) {
        let (c, n) = (self.list.len(), x.len());
        for f in 0..c {
            multipliers[f] = T::zero();
            for g in 0..c {
                let missing = target(g) - self.list[g].gap(x);
                multipliers[f] += missing * self.inverse[f * c + g];
            }
        }
        for f in 0..c {
            for (x, column) in x.iter_mut().zip(&self.columns[f * n..(f + 1) * n]) {
                *x += multipliers[f] * *column;
            }
        }
    }

    /// Variations of the followers from those of their leaders, at the start of the step.
    pub(crate) fn follow<T: Real>(&self, x: &mut [T]) {
        self.follow_turning(x, |_, _| {});
    }

    /// The same with what `turn` adds to every follower before others follow it.
    pub(crate) fn follow_turning<T: Real>(&self, x: &mut [T], turn: impl Fn(usize, &mut [T])) {
        for (f, tie) in self.list.iter().enumerate() {
            let mut sum = T::zero();
            for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
                sum += x[*leader] * slopes[0];
            }
            x[tie.coordinate] = sum;
            turn(f, x);
        }
    }

    /// Followers have no momenta of their own.
    pub(crate) fn drop_followers<T: Real>(&self, x: &mut [T]) {
        self.list.iter().for_each(|tie| x[tie.coordinate] = T::zero());
    }

    /// Variations of momenta after the step, moved from followers to their leaders.
    pub(crate) fn lead<T: Real>(&self, s: usize, x: &mut [T]) {
        for tie in self.list.iter().rev() {
            let own = std::mem::replace(&mut x[tie.coordinate], T::zero());
            for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
                x[*leader] += own * slopes[s];
            }
        }
    }

    /// Rows that a unit of the impulse `k`, by follower, then node, acts on: coordinate, node, share.
    pub(crate) fn impulse_rows(&self, s: usize, k: usize, mut row: impl FnMut(usize, usize, f64)) {
        let (tie, node) = (&self.list[k / s], k % s);
        row(tie.coordinate, node, 1.0);
        for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
            row(*leader, node, -slopes[node]);
        }
    }

    /// How far the follower of `k`, by follower, then node, is from its leaders at the node after, for increments `x` after a shift
    /// of the start, which followers follow.
    pub(crate) fn away(
        &self,
        s: usize,
        k: usize,
        x: impl Fn(usize, usize) -> f64,
        shift: impl Fn(usize) -> f64,
    ) -> f64 {
        let (tie, node) = (&self.list[k / s], k % s + 1);
        let followed = tie.leaders.iter().zip(&tie.slopes).map(|(leader, slopes)| {
            slopes[node] * x(*leader, node) + (slopes[node] - slopes[0]) * shift(*leader)
        });
        x(tie.coordinate, node) - followed.sum::<f64>()
    }

    /// True if a follower goes along a curve.
    pub(crate) fn is_curved(&self) -> bool {
        self.curved
    }

    /// Followers along a curve: number, coordinate, leader, law, and row at all nodes.
    pub(crate) fn curved(&self) -> impl Iterator<Item = (usize, usize, usize, &FollowerLaw, &[f64; N])> {
        let curved = self.list.iter().enumerate().filter(|(_, tie)| !tie.law.is_linear());
        curved.map(|(f, tie)| (f, tie.coordinate, tie.leaders[0], &tie.law, &tie.impulses))
    }

    /// Momenta of the followers with those of their own followers, from those of all coordinates.
    pub(crate) fn momenta(&self, base: &[f64], p: &mut [f64]) -> Vec<f64> {
        let mut momenta = vec![0.0; self.list.len()];
        for (own, tie) in momenta.iter_mut().zip(&self.list).rev() {
            *own = p[tie.coordinate];
            tie.law.slopes_from(|at| base[at.v], |at, slope| p[at.v] += slope * *own);
        }
        momenta
    }

    /// Number of followers.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Columns and Schur complement for the Newton matrix just factored; false if it is singular.
    pub(crate) fn tie_newton(
        &mut self,
        s: usize,
        factor: &NewtonFactor,
        memory: &mut SolveMemory<f64>,
    ) -> bool {
        let size = self.rest.len();
        let m = s * self.list.len();
        for f in 0..self.list.len() {
            for node in 0..s {
                self.rest.fill(0.0);
                let tie = &self.list[f];
                self.rest[tie.coordinate * s + node] = 1.0;
                for (leader, slopes) in tie.leaders.iter().zip(&tie.slopes) {
                    self.rest[leader * s + node] -= slopes[node];
                }
                let k = f * s + node;
                factor.solve(memory, &self.rest, &mut self.newton_columns[k * size..(k + 1) * size]);
            }
        }
        for f in 0..self.list.len() {
            for node in 1..=s {
                for k in 0..m {
                    let column = &self.newton_columns[k * size..(k + 1) * size];
                    self.newton_work[(f * s + node - 1) * m + k] = self.list[f].gap_at(s, node, column);
                }
            }
        }
        invert(&mut self.newton_work, &mut self.newton_inverse, m)
    }

    /// Makes a direction of the Newton matrix obey the ties.
    pub(crate) fn correct_newton(&mut self, s: usize, direction: &mut [f64]) {
        let (size, m) = (direction.len(), s * self.list.len());
        for f in 0..self.list.len() {
            for node in 1..=s {
                self.newton_work[f * s + node - 1] = self.list[f].gap_at(s, node, direction);
            }
        }
        for k in 0..m {
            let multiplier: f64 = (0..m).map(|j| -self.newton_inverse[k * m + j] * self.newton_work[j]).sum();
            let column = &self.newton_columns[k * size..(k + 1) * size];
            for (x, column) in direction.iter_mut().zip(column) {
                *x += multiplier * column;
            }
        }
    }
}

impl<const N: usize> Tie<N> {
    /// `x_i − D_i x` where the mass matrix is taken.
    fn gap<T: Real>(&self, x: &[T]) -> T {
        let mut gap = x[self.coordinate];
        for (leader, slope) in self.leaders.iter().zip(&self.slopes_of_mass) {
            gap -= x[*leader] * *slope;
        }
        gap
    }

    /// The same at a node of a direction, by coordinate, then node.
    fn gap_at(&self, s: usize, node: usize, x: &[f64]) -> f64 {
        let mut gap = x[self.coordinate * s + node - 1];
        for (leader, slopes) in self.leaders.iter().zip(&self.slopes) {
            gap -= slopes[node] * x[leader * s + node - 1];
        }
        gap
    }
}

impl<const N: usize> Solver<N> {
    /// Momenta of the coordinates that follow none, at the position split last.
    pub(crate) fn reduce_momentum(&self, p: &mut [f64]) {
        if let Some(ties) = &self.ties {
            ties.reduce_momentum(&self.point.base, p);
        }
    }

    /// Columns of the ties for the mass matrix just factored at increments `delta`.
    pub(crate) fn tie_mass(&mut self, delta: impl Fn(&[Lanes<f64, N>], usize) -> f64) -> Result<(), Failure> {
        let Some(ties) = &mut self.ties else { return Ok(()) };
        let (base, nodes) = (&self.point.base, &self.point.delta);
        if ties.tie_mass(&self.segments, &self.mass, &mut self.scalar_memory, |c| base[c] + delta(nodes, c)) {
            Ok(())
        } else {
            Err(Failure::Singular { segment: 0, what: "matrix of the couplings" })
        }
    }
}
