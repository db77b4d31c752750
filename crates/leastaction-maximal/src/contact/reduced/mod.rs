//! The contact problem in the impulses alone: `u = u₀ + W (γ − γ₀)` with the law of every contact. (9.25)
//!
//! `W = J K⁻¹ Hᵀ` is made with the factors of the mechanism without contacts, so that nothing stiff is ever eliminated. Small and
//! dense: for the few steps that Newton's method on the whole system does not get through. Sweeps over the contacts, each with its
//! own law solved exactly, find who sticks, slides and lets go; Newton's method with pivoting then finishes.

mod budget;
mod island;
mod newton;
mod stick;
mod sweep;

use super::dense::Product;
use crate::contact_law::{Law, Response, box_law};
use leastaction_core::simd::run_widest;

/// One contact of the problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    /// The item it stands for.
    pub(crate) item: usize,
    /// Its first row and how many it has: three, or one for limits and friction of coordinates.
    pub(crate) first: usize,
    pub(crate) rows: usize,
    pub(crate) law: Law,
    /// Bound and prescribed sign of a coordinate's friction.
    pub(crate) bound: Option<(f64, Option<f64>)>,
    /// Residuals times this are speeds of the model.
    pub(crate) scale: f64,
}

/// The problem with its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reduced {
    pub(crate) members: Vec<Member>,
    pub(crate) n: usize,
    /// `W`, row by row.
    pub(crate) w: Vec<f64>,
    /// Velocities and impulses that the problem was set up at.
    pub(crate) u0: Vec<f64>,
    pub(crate) g0: Vec<f64>,
    /// Impulses and velocities at hand.
    pub(crate) g: Vec<f64>,
    u: Vec<f64>,
    /// Velocity per change of the impulse over the contact mass, and where changes are counted from: proximal steps.
    soft: f64,
    /// The softness that counts as hard.
    least: f64,
    center: Vec<f64>,
    /// The impulses before a line search; a change of the impulses or what it does to the velocities.
    base: Vec<f64>,
    push: Vec<f64>,
    kept: Vec<f64>,
    best: Vec<f64>,
    step: Vec<f64>,
    matrix: Vec<f64>,
    /// Contacts that move each other, by the number of their island, and room for one island.
    island: Vec<usize>,
    queue: Vec<usize>,
    part: Option<Box<Reduced>>,
    /// Rows of the contacts that a change of velocity moves, in the order of the matrix.
    moving: Vec<usize>,
    responses: Vec<Response>,
    right: Vec<f64>,
    /// Products spent in this step, and in this part of it.
    products: f64,
    part_products: f64,
}

/// Softness about the impulses that the problem was set up at. Two corners of a body that stick leave no way for the second order of
/// a turn: without it their impulses would grow until rounding ended it. It vanishes as the motion converges. Where strong friction
/// holds them against each other the impulses are to grow until one slips, and softness only keeps them from it.
const HARD: f64 = 1e-6;
const HARDEST: f64 = 1e-12;
/// Products after which the way at hand is left, too: a thousand corners of a body in the ground are not to be solved densely.
const MOST_ISLAND: f64 = 2e10;
/// Residual that is rounding, as a speed of the model.
const SOLVED: f64 = 2e-14;

impl Reduced {
    /// At the start of a solve, the usual softness counts as hard.
    pub(crate) fn usual(&mut self) {
        self.least = HARD;
    }

    /// Less of it.
    pub(crate) fn harden(&mut self) {
        self.least = (1e-2 * self.least).max(HARDEST);
    }

    /// Room for `n` rows.
    pub(crate) fn resize(&mut self, n: usize) {
        self.n = n;
        for v in [
            &mut self.u0,
            &mut self.g0,
            &mut self.g,
            &mut self.u,
            &mut self.center,
            &mut self.base,
            &mut self.push,
            &mut self.kept,
            &mut self.best,
            &mut self.step,
            &mut self.right,
        ] {
            v.clear();
            v.resize(n, 0.0);
        }
        self.w.clear();
        self.w.resize(n * n, 0.0);
    }

    /// Solves from the impulses at hand, one island after the other; the residual left and the iterations taken.
    pub(crate) fn solve(&mut self) -> (f64, u32) {
        let islands = self.find_islands();
        let mut part = self.part.take().unwrap_or_default();
        let (mut squares, mut iterations) = (0.0, 0);
        for island in 0..islands {
            self.cut_out(island, &mut part);
            let (left, count) = part.solve_island();
            squares += left * left;
            iterations += count;
            self.products += part.products;
            self.part_products += part.products;
            let mut row = 0;
            for (member, of) in self.members.iter().zip(&self.island) {
                if *of == island {
                    self.g[member.first..member.first + member.rows]
                        .copy_from_slice(&part.g[row..row + member.rows]);
                    row += member.rows;
                }
            }
        }
        self.part = Some(part);
        (squares.sqrt(), iterations)
    }

    /// Numbers the islands: contacts that an impulse of one moves another of.
    fn find_islands(&mut self) -> usize {
        let (n, count) = (self.n, self.members.len());
        self.island.clear();
        self.island.resize(count, usize::MAX);
        let mut number = 0;
        let mut queue = std::mem::take(&mut self.queue);
        for start in 0..count {
            if self.island[start] != usize::MAX {
                continue;
            }
            self.island[start] = number;
            queue.push(start);
            while let Some(m) = queue.pop() {
                let a = self.members[m];
                for (k, b) in self.members.iter().enumerate() {
                    let coupled = || {
                        (0..a.rows).any(|i| {
                            (0..b.rows).any(|j| {
                                self.w[(a.first + i) * n + b.first + j] != 0.0
                                    || self.w[(b.first + j) * n + a.first + i] != 0.0
                            })
                        })
                    };
                    if self.island[k] == usize::MAX && coupled() {
                        self.island[k] = number;
                        queue.push(k);
                    }
                }
            }
            number += 1;
        }
        self.queue = queue;
        number
    }

    /// One island as a problem of its own.
    fn cut_out(&self, island: usize, part: &mut Self) {
        part.members.clear();
        part.least = self.least;
        part.products = 0.0;
        let mut n = 0;
        for (member, of) in self.members.iter().zip(&self.island) {
            if *of == island {
                // The item stands for the first row in the whole problem.
                part.members.push(Member { item: member.first, first: n, ..*member });
                n += member.rows;
            }
        }
        part.resize(n);
        for a in 0..part.members.len() {
            let a = part.members[a];
            for i in 0..a.rows {
                let (row, of) = (a.first + i, a.item + i);
                (part.u0[row], part.g0[row], part.g[row]) = (self.u0[of], self.g0[of], self.g[of]);
                for b in &part.members {
                    for j in 0..b.rows {
                        part.w[row * n + b.first + j] = self.w[of * self.n + b.item + j];
                    }
                }
            }
        }
        part.matrix.resize(part.matrix.len().max(n * n), 0.0);
    }

    /// What rounding leaves at the impulses at hand.
    fn tolerance(&self) -> f64 {
        let largest = self.members.iter().fold(0.0f64, |m, x| {
            (x.first..x.first + x.rows).fold(m, |m, r| m.max(self.g[r].abs() * x.scale))
        });
        (SOLVED + 4.0 * f64::EPSILON * largest).min(1e-11)
    }

    /// Velocities from the impulses.
    fn refresh(&mut self) {
        for ((push, g), g0) in self.push.iter_mut().zip(&self.g).zip(&self.g0) {
            *push = g - g0;
        }
        run_widest(Product { w: &self.w, x: &self.push, out: &mut self.u });
        self.u.iter_mut().zip(&self.u0).for_each(|(u, u0)| *u += u0);
    }

    fn local(&self, member: &Member) -> ([f64; 3], [f64; 3]) {
        let (mut u, mut g) = ([0.0; 3], [0.0; 3]);
        for k in 0..member.rows {
            let row = member.first + k;
            g[k] = self.g[row];
            u[k] = self.u[row] + self.soft / member.law.rho * (g[k] - self.center[row]);
        }
        (u, g)
    }

    /// Residual of the laws as a speed of the model.
    fn merit(&self) -> f64 {
        let mut sum = 0.0;
        for member in &self.members {
            let (u, g) = self.local(member);
            let r = match member.bound {
                Some((bound, sign)) => [box_law(bound, member.law.rho, 0.0, sign, u[0], g[0])[0], 0.0, 0.0],
                None => member.law.response(&u, &g).residual,
            };
            sum += r[..member.rows].iter().map(|r| (r * member.scale) * (r * member.scale)).sum::<f64>();
        }
        sum.sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two points of a bar that lies on the ground, by its mass and the moment about its middle.
    fn bar(mu: f64, push: f64, sink: f64) -> Reduced {
        let (mass, inertia, half) = (2.0, 0.1, 0.5);
        let mut out = Reduced::default();
        out.usual();
        for (k, _) in [-half, half].into_iter().enumerate() {
            let law = Law::new(mu, mass);
            out.members.push(Member { item: k, first: 3 * k, rows: 3, law, bound: None, scale: 1.0 / mass });
        }
        out.resize(6);
        for (i, a) in [-half, half].into_iter().enumerate() {
            for (j, b) in [-half, half].into_iter().enumerate() {
                // Up and across turn the bar; along it does not.
                for (row, turns) in [(0, 1.0), (1, 0.0), (2, 1.0)] {
                    out.w[(3 * i + row) * 6 + 3 * j + row] = 1.0 / mass + turns * a * b / inertia;
                }
            }
        }
        for k in 0..2 {
            (out.u0[3 * k], out.u0[3 * k + 1]) = (-sink, push);
        }
        out
    }

    fn forces(problem: &Reduced) -> [f64; 2] {
        [problem.g[0] + problem.g[3], problem.g[1] + problem.g[4]]
    }

    #[test]
    fn a_bar_sticks_inside_the_cone_and_slides_on_it() {
        for (push, along) in [(0.3, -0.6), (2.0, -0.5 * 2.0)] {
            let mut problem = bar(0.5, push, 1.0);
            let (left, _) = problem.solve();
            assert!(left < 1e-11, "{left}");
            let [normal, tangent] = forces(&problem);
            // Two points on a line share the force along it in many ways; the sum is one.
            assert!((normal - 2.0).abs() < 1e-5 && (tangent - along).abs() < 1e-5, "{normal} {tangent}");
        }
    }

    #[test]
    fn what_does_not_move_each_other_is_solved_apart() {
        let mut problem = bar(0.5, 0.3, 1.0);
        for i in 0..3 {
            for j in 3..6 {
                (problem.w[i * 6 + j], problem.w[j * 6 + i]) = (0.0, 0.0);
            }
        }
        assert_eq!(problem.find_islands(), 2);
        assert!(problem.solve().0 < 1e-11);
    }
}
