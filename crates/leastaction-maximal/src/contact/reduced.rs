//! The contact problem in the impulses alone: `u = u₀ + W (γ − γ₀)` with the law of every contact. (9.25)
//!
//! `W = J K⁻¹ Hᵀ` is made with the factors of the mechanism without contacts, so that nothing stiff is ever eliminated. Small and
//! dense: for the few steps that Newton's method on the whole system does not get through. Sweeps over the contacts, each with its
//! own law solved exactly, find who sticks, slides and lets go; Newton's method with pivoting then finishes.

use super::super::graph::Graph;
use super::rows::PROXIMAL;
use crate::contact_law::{Law, Response, box_law};
use crate::spatial::{Mat3, Vec3};
use leastaction_core::scalar::elementary;
use leastaction_core::simd::{Task, run_widest};

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
/// Proximal steps, and how many of them may fail.
const STAGES: u32 = 16;
const MOST_FAILED: u32 = 2;
/// Products of an island after which no other way is tried, and iterations.
const WORK: f64 = 1e9;
/// Products after which the way at hand is left, too: a thousand corners of a body in the ground are not to be solved densely.
const MOST_ISLAND: f64 = 2e10;
const MOST_ITERATIONS: u32 = 600;
/// Products after which a part of a step is halved, and those, with iterations on the whole system, after which the step is given up:
/// what has no solution is told in seconds, not minutes. Drops of thirty bodies were solved that took more than 3e10 in a step.
const PART_PRODUCTS: f64 = 2e9;
const MOST_PRODUCTS: f64 = 8e10;
/// What an iteration costs per link beside the factors, in the time of a product; solves with factors that cost as much as they did.
const LINK: f64 = 2e4;
const SOLVES: f64 = 8.0;
/// Sweeps where Newton's method alone does not get on.
const SWEEPS: u32 = 40;
const NEWTON: u32 = 25;
/// Where all that stick stick: rounds in which what pulls is let go, and sweeps from there.
const STICK_ROUNDS: u32 = 4;
const JAM_SWEEPS: u32 = 200;
/// Residual that is rounding, as a speed of the model.
const SOLVED: f64 = 2e-14;

impl Reduced {
    /// At the start of a step, nothing has been spent on it.
    pub(crate) fn begin(&mut self) {
        (self.products, self.part_products) = (0.0, 0.0);
    }

    /// An iteration on the whole system counts in the step as well: its factors, and what every link costs beside.
    pub(crate) fn spend_iteration(&mut self, graph: &Graph, links: usize) {
        self.products += graph.flops + LINK * links as f64;
    }

    /// A solve with the factors.
    pub(crate) fn spend_solve(&mut self, graph: &Graph) {
        self.products += graph.flops / SOLVES;
    }

    /// Nor on a part of it.
    pub(crate) fn begin_part(&mut self) {
        self.part_products = 0.0;
    }

    /// True if the part has cost so much that two halves are the better way.
    pub(crate) fn is_part_spent(&self) -> bool {
        self.part_products > PART_PRODUCTS
    }

    /// True if the step has cost so much that more of the same will not help.
    pub(crate) fn is_spent(&self) -> bool {
        self.products > MOST_PRODUCTS
    }

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

    /// Newton's method; if that does not get there, proximal steps from no impulses, as soft as it takes.
    fn solve_island(&mut self) -> (f64, u32) {
        let (mut best, mut iterations) = self.hard();
        self.best.copy_from_slice(&self.g);
        if best <= self.tolerance() {
            return (best, iterations);
        }
        self.g.fill(0.0);
        let (mut soft, mut failed) = (1.0, 0);
        for _ in 0..STAGES {
            if iterations > MOST_ITERATIONS || self.products > WORK {
                break;
            }
            self.soft = soft;
            self.center.copy_from_slice(&self.g);
            let mut left = f64::INFINITY;
            for _ in 0..3 {
                let (merit, count) = self.newton();
                (left, iterations) = (merit, iterations + count);
                if left <= self.tolerance() {
                    break;
                }
                for k in 0..SWEEPS {
                    if self.sweep(k % 2 == 1) <= 1e-15 {
                        break;
                    }
                }
            }
            let moved = self.members.iter().fold(0.0f64, |m, x| {
                (x.first..x.first + x.rows)
                    .fold(m, |m, r| m.max((self.g[r] - self.center[r]).abs() * x.scale))
            });
            if left > 1e-9 {
                // Too hard a step: back, and softer.
                self.g.copy_from_slice(&self.center);
                soft = (soft * 4.0).min(16.0);
                failed += 1;
                if failed > MOST_FAILED {
                    break;
                }
                continue;
            }
            if soft <= 0.1 || moved < 1e-3 {
                // The hard problem from here.
                self.kept.copy_from_slice(&self.g);
                let (left, count) = self.hard();
                iterations += count;
                if left < best {
                    best = left;
                    self.best.copy_from_slice(&self.g);
                }
                if left <= self.tolerance() {
                    return (left, iterations);
                }
                self.g.copy_from_slice(&self.kept);
            }
            soft = (soft * 0.3).max(1e-8);
        }
        // Bodies that jam stop each other within the step, by impulses far beyond those of the step before: from where all stick.
        for sweeps in [0, JAM_SWEEPS] {
            if best <= 1e-9 || self.products > WORK {
                break;
            }
            self.kept.copy_from_slice(&self.g);
            self.stick();
            self.soft = self.least;
            self.center.copy_from_slice(&self.g0);
            self.refresh();
            for k in 0..sweeps {
                if self.sweep(k % 2 == 1) <= 1e-15 {
                    break;
                }
            }
            let (left, count) = self.hard();
            iterations += count;
            if left < best {
                best = left;
                self.best.copy_from_slice(&self.g);
            }
            self.g.copy_from_slice(&self.kept);
        }
        // What was solved softly is a motion to go on from; what Newton's method left need not be one.
        if best <= 1e-9 {
            self.g.copy_from_slice(&self.best);
        }
        self.soft = 0.0;
        self.refresh();
        (self.merit(), iterations)
    }

    /// Impulses at which all contacts stick that push then, cut off at their cones.
    fn stick(&mut self) {
        let n = self.n;
        let mut pulls = std::mem::take(&mut self.queue);
        pulls.clear();
        for _ in 0..STICK_ROUNDS {
            self.matrix[..n * n].copy_from_slice(&self.w);
            for m in 0..self.members.len() {
                let member = self.members[m];
                let open = pulls.contains(&m);
                for row in member.first..member.first + member.rows {
                    let shift = if row == member.first { member.law.shift } else { 0.0 };
                    let there: f64 = (0..n).map(|c| self.w[row * n + c] * self.g0[c]).sum();
                    self.right[row] = if open { 0.0 } else { there - self.u0[row] - shift };
                    if open {
                        self.matrix[row * n..(row + 1) * n].fill(0.0);
                    }
                    let own = if open { 1.0 } else { HARD };
                    self.matrix[row * n + row] += own / member.law.rho;
                }
            }
            self.products += (n as f64).powi(3);
            if self.products > MOST_ISLAND {
                break;
            }
            if !solve_in_place(n, &mut self.matrix[..n * n], &mut self.right[..n]) {
                break;
            }
            self.g.copy_from_slice(&self.right[..n]);
            let before = pulls.len();
            for (m, member) in self.members.iter().enumerate() {
                if member.bound.is_none() && self.g[member.first] < 0.0 && !pulls.contains(&m) {
                    pulls.push(m);
                }
            }
            if pulls.len() == before {
                break;
            }
        }
        pulls.clear();
        self.queue = pulls;
        for member in &self.members {
            let g = &mut self.g[member.first..member.first + member.rows];
            if let Some((bound, _)) = member.bound {
                g[0] = g[0].clamp(-bound, bound);
                continue;
            }
            g[0] = g[0].max(0.0);
            if let [normal, a, b] = g {
                let (size, most) = (elementary::hypot(*a, *b), member.law.mu * *normal);
                if size > most {
                    (*a, *b) = (*a * (most / size), *b * (most / size));
                }
            }
        }
    }

    /// The problem itself from the impulses at hand. Slips far below the speeds of the model, as of four corners that come to rest at
    /// slightly different times, are told from sticking by a law that weighs velocities more.
    fn hard(&mut self) -> (f64, u32) {
        self.soft = self.least;
        self.center.copy_from_slice(&self.g0);
        let (mut left, mut iterations) = self.newton();
        for weight in [1e2, 1e4, 1e6] {
            if left <= self.tolerance() {
                break;
            }
            self.members.iter_mut().for_each(|m| m.law.rho *= weight);
            let (_, count) = self.newton();
            self.members.iter_mut().for_each(|m| m.law.rho /= weight);
            let (merit, more) = self.newton();
            (left, iterations) = (merit, iterations + count + more);
        }
        (left, iterations)
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

    /// Every contact in turn, its law solved with the others held; the largest change, as a speed.
    fn sweep(&mut self, backwards: bool) -> f64 {
        let n = self.n;
        let mut moved = 0.0f64;
        for m in 0..self.members.len() {
            let member = self.members[if backwards { self.members.len() - 1 - m } else { m }];
            let (u, g) = self.local(&member);
            let f = member.first;
            let mut w = [[0.0; 3]; 3];
            for i in 0..member.rows {
                for j in 0..member.rows {
                    w[i][j] = self.w[(f + i) * n + f + j];
                }
                w[i][i] += (self.soft + 1e-12) / member.law.rho;
            }
            let new = match member.bound {
                Some((bound, sign)) => match sign {
                    Some(sign) => [-bound * sign, 0.0, 0.0],
                    None => [(g[0] - u[0] / w[0][0]).clamp(-bound, bound), 0.0, 0.0],
                },
                None => one_contact(&member.law, member.rows, &w, &u, &g),
            };
            for k in 0..member.rows {
                let change = new[k] - g[k];
                if change == 0.0 || !change.is_finite() {
                    continue;
                }
                self.g[f + k] = new[k];
                moved = moved.max(change.abs() * member.scale);
                for i in 0..n {
                    self.u[i] += self.w[i * n + f + k] * change;
                }
            }
        }
        moved
    }

    /// Newton's method on all laws at once, with halving; the residual left and the iterations.
    fn newton(&mut self) -> (f64, u32) {
        let n = self.n;
        let proximal = PROXIMAL.min(0.1 * self.soft);
        self.refresh();
        let mut merit = self.merit();
        for iteration in 0..NEWTON {
            if merit <= self.tolerance() {
                return (merit, iteration);
            }
            self.products += self.linearize(proximal);
            if self.products > MOST_ISLAND {
                return (merit, iteration);
            }
            let m = self.moving.len();
            let (matrix, right) = (&mut self.matrix[..m * m], &mut self.right[..m]);
            if !solve_in_place(m, matrix, right) {
                return (merit, iteration + 1);
            }
            for (row, change) in self.moving.iter().zip(right) {
                self.step[*row] = *change;
            }
            // Velocities are linear in the impulses: one product for all lengths.
            self.base.copy_from_slice(&self.g);
            run_widest(Product { w: &self.w, x: &self.step, out: &mut self.push });
            let (mut length, mut accepted) = (1.0, false);
            for _ in 0..12 {
                for i in 0..n {
                    self.g[i] = self.base[i] + length * self.step[i];
                    self.u[i] += length * self.push[i];
                }
                let next = self.merit();
                if next <= merit * (1.0 - 1e-4 * length) {
                    accepted = true;
                    break;
                }
                for i in 0..n {
                    self.u[i] -= length * self.push[i];
                }
                length *= 0.5;
            }
            if !accepted {
                self.g.copy_from_slice(&self.base);
            }
            self.refresh();
            if !accepted {
                return (merit, iteration + 1);
            }
            merit = self.merit();
        }
        (merit, NEWTON)
    }
}

impl Reduced {
    /// The laws' linear equations at the impulses at hand, of the rows that answer to velocities: an open contact gives its impulse
    /// up whatever the others do, and moves to the right-hand side. Most of what is near is open, and elimination costs the cube.
    /// Fills the steps of the open rows; returns the products that solving costs.
    fn linearize(&mut self, proximal: f64) -> f64 {
        self.responses.clear();
        self.moving.clear();
        for member in &self.members {
            let (u, g) = self.local(member);
            let response = match member.bound {
                Some((bound, sign)) => {
                    let [r, by_velocity, by_impulse] = box_law(bound, member.law.rho, 0.0, sign, u[0], g[0]);
                    let mut out = Response::default();
                    (out.residual[0], out.by_velocity[0][0], out.by_impulse[0][0]) =
                        (r, by_velocity, by_impulse);
                    out
                }
                None => member.law.response(&u, &g),
            };
            for i in 0..member.rows {
                let moves = response.by_velocity[i][..member.rows].iter().any(|a| *a != 0.0);
                self.step[member.first + i] = if moves { 0.0 } else { -response.residual[i] };
                if moves {
                    self.moving.push(member.first + i);
                }
            }
            self.responses.push(response);
        }
        run_widest(Product { w: &self.w, x: &self.step, out: &mut self.push });
        let (n, m) = (self.n, self.moving.len());
        let mut place = 0;
        for (member, response) in self.members.iter().zip(&self.responses) {
            let (f, scale, soft) = (member.first, 1.0 / member.law.rho, self.soft / member.law.rho);
            for i in 0..member.rows {
                if self.moving.get(place) != Some(&(f + i)) {
                    continue;
                }
                let target = &mut self.matrix[place * m..(place + 1) * m];
                target.fill(0.0);
                let mut right = response.residual[i];
                let a = &response.by_velocity[i];
                for k in (0..member.rows).filter(|k| a[*k] != 0.0) {
                    let row = &self.w[(f + k) * n..(f + k + 1) * n];
                    let factor = scale * a[k];
                    target.iter_mut().zip(&self.moving).for_each(|(t, j)| *t += factor * row[*j]);
                    right += a[k] * self.push[f + k];
                }
                for k in 0..member.rows {
                    let own = f64::from(u8::from(i == k)) * proximal;
                    let slope = (1.0 - proximal) * response.by_impulse[i][k] + own + a[k] * soft;
                    right += slope * self.step[f + k];
                    // Rows of a contact stand side by side.
                    let at = self.moving[..m].partition_point(|j| *j < f + k);
                    if self.moving.get(at) == Some(&(f + k)) {
                        target[at] += scale * slope;
                    }
                }
                self.right[place] = -scale * right;
                place += 1;
            }
        }
        (m as f64).powi(3)
    }
}

/// A square matrix, row by row, times a vector.
struct Product<'a> {
    w: &'a [f64],
    x: &'a [f64],
    out: &'a mut [f64],
}

impl Task for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        const LANES: usize = 8;
        for (row, out) in self.w.chunks_exact(self.x.len()).zip(self.out) {
            let mut sums = [0.0; LANES];
            let (rows, rest) = row.as_chunks::<LANES>();
            let (xs, rest_x) = self.x.as_chunks::<LANES>();
            for (w, x) in rows.iter().zip(xs) {
                for k in 0..LANES {
                    sums[k] += w[k] * x[k];
                }
            }
            let tail: f64 = rest.iter().zip(rest_x).map(|(w, x)| w * x).sum();
            *out = sums.iter().sum::<f64>() + tail;
        }
    }
}

/// One contact with the others held: `u + W (x − g)` and `x` obey the law.
fn one_contact(law: &Law, rows: usize, w: &[[f64; 3]; 3], u: &[f64; 3], g: &[f64; 3]) -> [f64; 3] {
    let mut w = *w;
    let mut b = *u;
    for i in 0..rows {
        for j in 0..rows {
            b[i] -= w[i][j] * g[j];
        }
    }
    // Compliance and restitution belong to the normal.
    b[0] += law.shift;
    w[0][0] += law.compliance / law.rho;
    if b[0] >= 0.0 {
        return [0.0; 3];
    }
    let least = 1e-3 * w[0][0];
    if let Some(d) = law.direction {
        let slope = (w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1])).max(least);
        let now = b[0] + (w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1])) * g[0];
        let normal = (g[0] - now / slope).max(0.0);
        return [normal, -law.mu * normal * d[0], -law.mu * normal * d[1]];
    }
    if rows == 1 || law.mu == 0.0 {
        return [(-b[0] / w[0][0]).max(0.0), 0.0, 0.0];
    }
    let stick = (Mat3(w).inverse() * Vec3(b) * -1.0).0;
    if stick[0] >= 0.0 && elementary::hypot(stick[1], stick[2]) <= law.mu * stick[0] {
        return stick;
    }
    // Slides: the direction at which slip and friction are opposite.
    let room = |d: [f64; 2]| w[0][0] - law.mu * (w[0][1] * d[0] + w[0][2] * d[1]);
    let slip = |d: [f64; 2]| {
        // Slip times the room: no poles.
        let of = |i: usize| b[i] * room(d) - b[0] * (w[i][0] - law.mu * (w[i][1] * d[0] + w[i][2] * d[1]));
        [of(1), of(2)]
    };
    let off = |d: [f64; 2]| {
        let s = slip(d);
        d[0] * s[1] - d[1] * s[0]
    };
    let unit = |p: f64| {
        let (s, c) = elementary::sin_cos(p);
        [c, s]
    };
    const PARTS: u32 = 24;
    let size = elementary::hypot(g[1], g[2]);
    let start = if size > 0.0 { elementary::atan2(-g[2], -g[1]) } else { elementary::atan2(b[2], b[1]) };
    let part = 2.0 * std::f64::consts::PI / f64::from(PARTS);
    let mut found: Option<[f64; 3]> = None;
    // From the direction of before outwards, on both sides in turn.
    for k in 0..PARTS {
        let place = f64::from(k.div_ceil(2)) * if k % 2 == 1 { 1.0 } else { -1.0 };
        let (mut low, mut high) = (start + (place - 0.5) * part, start + (place + 0.5) * part);
        // Only where sliding that way leaves the normal room; beyond, a root means nothing and hides its neighbour.
        match (room(unit(low)) > 0.0, room(unit(high)) > 0.0) {
            (true, true) => {}
            (false, false) => continue,
            (_, rises) => {
                let (mut a, mut b) = (low, high);
                for _ in 0..48 {
                    let middle = 0.5 * (a + b);
                    if (room(unit(middle)) > 0.0) == rises { b = middle } else { a = middle }
                }
                if rises { low = b } else { high = a }
            }
        }
        let (fl, fh) = (off(unit(low)), off(unit(high)));
        if fl * fh > 0.0 {
            continue;
        }
        let rises = fh > fl;
        for _ in 0..48 {
            let middle = 0.5 * (low + high);
            if (off(unit(middle)) > 0.0) == rises { high = middle } else { low = middle }
        }
        let d = unit(0.5 * (low + high));
        let (s, r) = (slip(d), room(d));
        if r > 1e-9 * w[0][0] && (s[0] * d[0] + s[1] * d[1]) / r >= 0.0 {
            let normal = -b[0] / r;
            found = Some([normal, -law.mu * normal * d[0], -law.mu * normal * d[1]]);
            break;
        }
    }
    found.unwrap_or_else(|| {
        // None (strong coupling of slip and normal): a projected step.
        let step = 1.0 / (w[0][0] + w[1][1] + w[2][2]);
        let at = |i: usize| b[i] + w[i][0] * g[0] + w[i][1] * g[1] + w[i][2] * g[2];
        let normal = (g[0] - step * at(0)).max(0.0);
        let (t1, t2) = (g[1] - step * at(1), g[2] - step * at(2));
        let size = elementary::hypot(t1, t2);
        let cut = if size > law.mu * normal { law.mu * normal / size } else { 1.0 };
        [normal, t1 * cut, t2 * cut]
    })
}

/// Gaussian elimination with partial pivoting, in place; false if a pivot is zero or not finite.
pub(super) fn solve_in_place(n: usize, a: &mut [f64], b: &mut [f64]) -> bool {
    run_widest(Gauss { n, a, b })
}

struct Gauss<'a> {
    n: usize,
    a: &'a mut [f64],
    b: &'a mut [f64],
}

impl Task for Gauss<'_> {
    type Output = bool;
    #[inline(always)]
    fn run(self) -> bool {
        eliminate(self.n, self.a, self.b)
    }
}

#[inline(always)]
fn eliminate(n: usize, a: &mut [f64], b: &mut [f64]) -> bool {
    for k in 0..n {
        let pivot = (k..n).fold(k, |m, i| if a[i * n + k].abs() > a[m * n + k].abs() { i } else { m });
        let value = a[pivot * n + k];
        if !(value.is_finite() && value != 0.0) {
            return false;
        }
        if pivot != k {
            for j in k..n {
                a.swap(k * n + j, pivot * n + j);
            }
            b.swap(k, pivot);
        }
        let inverse = 1.0 / value;
        let (upper, lower) = a.split_at_mut((k + 1) * n);
        let row = &upper[k * n + k + 1..k * n + n];
        for i in k + 1..n {
            let target = &mut lower[(i - k - 1) * n..(i - k) * n];
            if target[k] == 0.0 {
                continue;
            }
            let factor = target[k] * inverse;
            target[k + 1..].iter_mut().zip(row).for_each(|(t, r)| *t -= factor * r);
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let sum: f64 = a[k * n + k + 1..k * n + n].iter().zip(&b[k + 1..n]).map(|(a, b)| a * b).sum();
        b[k] = (b[k] - sum) / a[k * n + k];
    }
    b[..n].iter().all(|x| x.is_finite())
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
    fn a_contact_alone_is_solved_exactly_in_every_phase() {
        let w = [[1.5, 0.4, -0.2], [0.4, 2.0, 0.3], [-0.2, 0.3, 1.1]];
        for mu in [0.0, 0.3, 1.0, 10.0] {
            for u in [[-1.0, 0.1, 0.2], [-1.0, 3.0, -2.0], [0.5, 1.0, 0.0], [-1e-6, 1.0, 1.0]] {
                let law = Law::new(mu, 1.0);
                let g = one_contact(&law, 3, &w, &u, &[0.0; 3]);
                let at: [f64; 3] =
                    std::array::from_fn(|i| u[i] + w[i][0] * g[0] + w[i][1] * g[1] + w[i][2] * g[2]);
                let r = law.response(&at, &g).residual;
                assert!(r.iter().all(|r| r.abs() < 1e-11), "{mu} {u:?}: {r:?}");
            }
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
