//! Newton's method on the equations with the law, and the smoothing path behind it. (9.13), (9.14)

use super::memory::ContactMemory;

/// A set of equations with contacts: the interval or the node.
pub(crate) trait Problem {
    fn memory(&mut self) -> &mut ContactMemory;
    /// What rounding leaves of the merit at the evaluated iterate.
    fn rounding(&self) -> f64;
    /// Merit at the iterate; infinite if it cannot be evaluated.
    fn evaluate(&mut self) -> f64;
    /// Newton direction at the evaluated iterate; false if there is none.
    fn direction(&mut self) -> bool;
    /// Keeps the iterate as the base of a line search.
    fn keep(&mut self);
    /// The iterate a part of the way from the base along the direction.
    fn take(&mut self, length: f64);
    /// Largest velocity of a contact.
    fn largest_speed(&self) -> f64;
    /// Back to the start of the solve, but for the contact impulses.
    fn restart(&mut self);
    /// Factors the equations without contacts at the evaluated iterate, with the rows of the contacts' velocities.
    fn bare(&mut self);
    /// Solves with these factors for the impulse `row` of item `k` alone.
    fn push(&mut self, k: usize, row: usize);
    /// Solves with these factors for the whole residual and the proposed changes of the impulses; false if it is not finite.
    fn follow(&mut self) -> bool;
}

/// How a solve ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Solved {
    pub(crate) converged: bool,
    pub(crate) iterations: u32,
    pub(crate) residual: f64,
    pub(crate) path: bool,
}

impl Solved {
    /// The end of another way, and the work of both.
    fn add(&mut self, more: Self) {
        (self.converged, self.residual) = (more.converged, more.residual);
        self.iterations += more.iterations;
    }
}

const NEWTON: u32 = 8;
/// Merit at the start, in speeds of the model, from which on the impulses of the step before are worse than none.
const ASTRAY: f64 = 100.0;
/// Merit that counts as solved, and one from which a floor may be accepted.
const TARGET: f64 = 1e-12;
const FLOOR: f64 = 1e-11;
const NEAR: f64 = 1e-9;
/// Merit that the end of the path may be left with.
const STIFF_FLOOR: f64 = 1e-10;
/// Smoothing, of the model's speed, below which the smoothed law is the law.
const LEAST_SMOOTHING: f64 = 1e-13;

/// Solves from the iterate at hand; by the smoothing path if Newton's method does not get there.
pub(crate) fn solve(problem: &mut impl Problem) -> Solved {
    let mut merit = problem.evaluate();
    if merit > ASTRAY {
        // Impulses of an impact before, or of bodies that jammed, are no guess for what comes.
        zero_impulses(problem.memory(), 0.0);
        merit = problem.evaluate();
    }
    let first = newton(problem, merit, NEWTON);
    if first.converged {
        return first;
    }
    let mut out = Solved { path: true, ..first };
    let smoothed = |problem: &mut _| path(problem, 0.1, [0.1, 0.01], 1.0, 60);
    out.add(smoothed(problem));
    if out.converged {
        return out;
    }
    let stood = stands(problem);
    out.add(by_impulses(problem));
    if !out.converged && stood {
        // Only where every way has failed: a law that holds less well leaves the next step a worse start. What the path ended in
        // is found again; what the impulses ended in may balance with the wrong ones.
        out.add(smoothed(problem));
        out.converged |= stands(problem);
    }
    out
}

/// Slip or approach of a contact that a step may be left with where nothing comes nearer, of the model's speed. A foot that comes down
/// at a small angle gets shorter by its square as it lies down: its corners can't all stand still, and only stresses of full
/// friction between them would satisfy the law to the last digit.
const LEFT: f64 = 1e-9;

/// True if the evaluated iterate is balanced, and all that is left of the laws is below [`LEFT`].
fn stands(problem: &mut impl Problem) -> bool {
    let floor = FLOOR + 10.0 * problem.rounding();
    let mem = problem.memory();
    mem.unbalanced <= floor && mem.worst_law() <= LEFT
}

/// Outer iterations of the solve in the impulses, and how many iterations in the impulses count as one: what has no solution is to be
/// told in seconds.
const OUTER: u32 = 14;
const INNER: u32 = 30;
/// Contact problems on the way that may be left unsolved: a shorter step is cheaper than more of them.
const MOST_FAILED: u32 = 2;

/// Newton's method for the motion with the whole contact problem solved at every step of it, in the impulses alone. (9.25)
fn by_impulses(problem: &mut impl Problem) -> Solved {
    problem.memory().smoothing = 0.0;
    problem.memory().reduced.usual();
    problem.restart();
    zero_impulses(problem.memory(), 0.0);
    let mut out = Solved { path: true, ..Solved::default() };
    let mut merit = problem.evaluate();
    let rounding = problem.rounding();
    let (target, floor) = (TARGET + rounding, FLOOR + 10.0 * rounding);
    let (mut stalled, mut failed) = (0, 0);
    for outer in 0..OUTER {
        out.residual = merit;
        if merit <= target || (stalled >= 2 && merit <= floor) {
            out.converged = true;
            return out;
        }
        if stalled >= 4
            || failed >= MOST_FAILED
            || !merit.is_finite()
            || problem.memory().reduced.is_part_spent()
            || problem.memory().reduced.is_spent()
        {
            break;
        }
        problem.bare();
        set_up(problem);
        let (left, inner) = problem.memory().reduced.solve();
        failed += u32::from(left > LEFT);
        out.iterations += 1 + inner / INNER;
        problem.memory().take_reduced();
        if !problem.follow() {
            break;
        }
        problem.keep();
        let (mut length, mut best) = (1.0, (f64::INFINITY, 1.0));
        for _ in 0..6 {
            problem.take(length);
            let next = problem.evaluate();
            if next < best.0 {
                best = (next, length);
            }
            if next <= merit * (1.0 - 1e-4 * length) || (outer == 0 && next.is_finite()) {
                break;
            }
            length *= 0.5;
        }
        if !best.0.is_finite() {
            break;
        }
        problem.take(best.1);
        let next = problem.evaluate();
        if next > 0.5 * merit {
            stalled += 1;
            problem.memory().reduced.harden();
        } else {
            stalled = 0;
        }
        merit = next;
        out.residual = merit;
    }
    out.converged = out.residual <= floor.max(STIFF_FLOOR);
    out
}

/// The contact problem in the impulses at the evaluated iterate.
fn set_up(problem: &mut impl Problem) {
    problem.memory().begin_reduced();
    problem.memory().reset_changes();
    problem.follow();
    problem.memory().read_residual();
    for m in 0..problem.memory().reduced.members.len() {
        let member = problem.memory().reduced.members[m];
        for row in 0..member.rows {
            problem.push(member.item, row);
            problem.memory().read_column(member.first + row);
        }
    }
}

/// Newton's method with halving, from the iterate that was evaluated to `merit`. (9.13)
pub(crate) fn newton(problem: &mut impl Problem, mut merit: f64, most: u32) -> Solved {
    let rounding = problem.rounding();
    let (target, floor, near) = (TARGET + rounding, FLOOR + 10.0 * rounding, NEAR + 10.0 * rounding);
    let mut stalled = 0;
    for iteration in 0..=most {
        let done = |converged| Solved { converged, iterations: iteration, residual: merit, path: false };
        if merit <= target || (stalled >= 2 && merit <= floor) {
            return done(true);
        }
        if iteration == most || !merit.is_finite() || !problem.direction() {
            return done(merit <= floor);
        }
        problem.keep();
        let (mut length, mut accepted) = (1.0, false);
        let mut next = merit;
        for k in 0..=10 {
            problem.take(length);
            next = problem.evaluate();
            if next <= merit * (1.0 - 1e-4 * length) || (k == 0 && next <= near) {
                accepted = true;
                break;
            }
            length *= 0.5;
        }
        if !accepted {
            problem.take(0.0);
            let merit = problem.evaluate();
            return Solved {
                converged: merit <= floor,
                iterations: iteration + 1,
                residual: merit,
                path: false,
            };
        }
        stalled = if merit <= near && next > 0.5 * merit { stalled + 1 } else { 0 };
        merit = next;
    }
    Solved::default()
}

/// One step of Newton's method, the best of its halvings whether it lowers the merit or not: that merit and the length. None if there
/// is no direction.
pub(super) fn damped(problem: &mut impl Problem, merit: f64) -> Option<(f64, f64)> {
    if !merit.is_finite() || !problem.direction() {
        return None;
    }
    problem.keep();
    let (mut length, mut best) = (1.0, (f64::INFINITY, 1.0));
    for _ in 0..=12 {
        problem.take(length);
        let next = problem.evaluate();
        if next < best.0 {
            best = (next, length);
        }
        if next <= merit * (1.0 - 1e-4 * length) {
            break;
        }
        length *= 0.5;
    }
    problem.take(best.1);
    best.0.is_finite().then_some(best)
}

/// Down the central path to the exact law. (9.14)
fn path(
    problem: &mut impl Problem,
    start: f64,
    [usual, fast]: [f64; 2],
    threshold: f64,
    steps: u32,
) -> Solved {
    let speed = problem.memory().options.speed;
    problem.restart();
    problem.memory().smoothing = 0.0;
    zero_impulses(problem.memory(), 0.0);
    problem.evaluate();
    let largest = problem.largest_speed().max(1e-2 * speed);
    let mut smoothing = start * largest;
    zero_impulses(problem.memory(), smoothing);
    let mut out = Solved { path: true, ..Solved::default() };
    let (mut left, mut tried) = (steps, false);
    while left > 0 && !problem.memory().reduced.is_spent() {
        left -= 1;
        problem.memory().smoothing = smoothing;
        let merit = problem.evaluate();
        out.residual = merit;
        let Some(best) = damped(problem, merit) else { break };
        out.iterations += 1;
        let reached = best.0 * speed;
        if reached <= threshold * smoothing {
            smoothing *= if reached <= 0.1 * smoothing { fast } else { usual };
        }
        let at_end = smoothing < LEAST_SMOOTHING * speed;
        if at_end || (smoothing < 1e-5 * speed && !tried) {
            problem.memory().smoothing = 0.0;
            let merit = problem.evaluate();
            let last = newton(problem, merit, 15);
            out.iterations += last.iterations;
            // At the end of the path smoothing is rounding, and what is left is that of stiff contacts between unlike bodies.
            let rounded = at_end && last.residual <= STIFF_FLOOR;
            (out.residual, out.converged) = (last.residual, last.converged || rounded);
            if out.converged || at_end {
                return out;
            }
            // On a kink of the law Newton's method goes to and fro; the path leads on to where smoothing is rounding.
            (tried, left, smoothing) = (true, 60, smoothing.min(1e-6 * speed));
        }
    }
    // What is left is told by the law itself: at the end of its iterations the smoothed one may hold to rounding.
    problem.memory().smoothing = 0.0;
    out.residual = problem.evaluate();
    out
}

/// Impulses on the axis of the cone at the smoothing speed; none for friction of joints.
pub(super) fn zero_impulses(mem: &mut ContactMemory, smoothing: f64) {
    for &k in &mem.live {
        let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
        let normal = if item.is_always() { 0.0 } else { item.rho * smoothing / item.arm };
        probe.gam = [normal, 0.0, 0.0];
    }
}
