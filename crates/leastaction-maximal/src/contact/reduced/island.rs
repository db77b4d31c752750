//! The ways to solve one island, one behind the other: Newton's method, proximal steps, a start from where all contacts stick.

use super::Reduced;

/// Proximal steps, and how many of them may fail.
const STAGES: u32 = 16;
const MOST_FAILED: u32 = 2;
/// Products of an island after which no other way is tried, and iterations.
const WORK: f64 = 1e9;
const MOST_ITERATIONS: u32 = 600;
/// Sweeps where Newton's method alone does not get on.
const SWEEPS: u32 = 40;
const JAM_SWEEPS: u32 = 200;

impl Reduced {
    /// Newton's method; if that does not get there, proximal steps from no impulses, as soft as it takes.
    pub(super) fn solve_island(&mut self) -> (f64, u32) {
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
}
