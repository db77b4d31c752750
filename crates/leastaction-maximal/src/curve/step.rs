//! One step of order 2s: guess, iteration, and what is done where it does not converge. (8.17)

use super::chord::{FactorMiddle, Outcome, SolveChord};
use super::{CurveMemory, Exact};
use crate::derivative::StepDerivative;
use crate::integrator::{Input, StepError, StepReport};
use crate::layout::{ClosureKind, Layout};
use crate::ldu::{RANK_TOLERANCE, Rank, angular, linear, six};
use crate::mechanism::Mechanism;
use crate::read_out::{assemble_node, project};
use crate::state::MaximalState;
use crate::workspace::{MaximalWorkspace, StepData, Worst};
use crate::{Maximal, forces, newton};
use leastaction_core::simd::run_widest;

/// Rows open by less than this, in lengths of the mechanism, are closed.
const CLOSED: f64 = 1e-9;
/// Deepest recursive halving of a step before order 2 is tried.
const MAX_DEPTH: u32 = 3;

/// The ways to solve an interval, in the order in which they are tried. (8.17)
#[derive(Clone, Copy, PartialEq)]
enum Rung {
    /// The mass matrix, from the last step's curve continued.
    Continued,
    /// The mass matrix, from the velocities at the start.
    Afresh,
    /// The exact matrix, from the velocities at the start.
    Exact,
}

impl Maximal {
    /// One step of order 2s; differentiated if asked. The state is unchanged on `Err`.
    pub(crate) fn advance_curve(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        derivative: Option<&mut StepDerivative>,
    ) -> Result<StepReport, StepError> {
        debug_assert_eq!(input.u.len(), mechanism.nu());
        let mut report = StepReport::default();
        ws.saved = false;
        ws.accepted = 0;
        let t = state.t;
        if let Some(memory) = &mut ws.curve {
            memory.started.take_node(state);
            memory.input.copy_from_slice(input.u);
        }
        if ws.step.enforce_limits && near_limit(ws, state, h) {
            // A limit that holds makes the motion rough, and no order survives: steps of order 2, as short as the nodes.
            ws.save(state);
            let s = self.shape().1;
            for _ in 0..s {
                start_history(ws, state);
                if let Err(error) = self.substep(ws, state, input.u, h / s as f64, 0, 0, &mut report, None) {
                    state.restore(&ws.layout, &ws.backup);
                    return Err(error);
                }
            }
            state.curve.forget();
            state.t = t + h;
            if derivative.is_some() {
                report.fallbacks += 1;
            }
            return Ok(report);
        }
        if let Err(error) = self.curve_interval(ws, state, input.u, h, 0, &mut report, derivative) {
            if ws.saved {
                state.restore(&ws.layout, &ws.backup);
            }
            return Err(error);
        }
        state.t = t + h;
        Ok(report)
    }

    /// An interval of length `h`: solved, halved, or left to order 2.
    fn curve_interval(
        &self,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        u: &[f64],
        h: f64,
        depth: u32,
        report: &mut StepReport,
        mut derivative: Option<&mut StepDerivative>,
    ) -> Result<(), StepError> {
        let Some(mut memory) = ws.curve.take() else {
            return Err(StepError::NotFinite { time: state.t, what: "memory of the step" });
        };
        let mut outcome = self.solve_interval(ws, &mut memory, state, u, h, report);
        let open = if outcome.converged { memory.inconsistency(&ws.layout) } else { 0.0 };
        outcome.converged &= memory.follows(&ws.layout, state, open);
        if let (Some(derivative), true) = (&mut derivative, outcome.converged) {
            // Lanes leave the nodes before the last one unplaced.
            if memory.summed {
                memory.evaluate(&ws.layout, state, &ws.step, u);
            }
            outcome.converged = derivative.capture_curve(ws, &memory, state, u);
        }
        report.iterations += outcome.iterations;
        if outcome.converged {
            report.residual = report.residual.max(outcome.residual);
            if open > CLOSED * ws.layout.length {
                report.inconsistency = report.inconsistency.max(open);
            }
            ws.work += memory.add_actuation(&ws.layout, state, &ws.step, &mut ws.actuation);
            accept(&ws.layout, &mut memory, state, h, report);
            ws.accepted += 1;
            ws.curve = Some(memory);
            return Ok(());
        }
        ws.curve = Some(memory);
        ws.save(state);
        state.curve.forget();
        if depth < MAX_DEPTH {
            report.splits += 1;
            for _ in 0..2 {
                self.curve_interval(ws, state, u, 0.5 * h, depth + 1, report, derivative.as_deref_mut())?;
            }
            return Ok(());
        }
        // Same state, another order: closures with averaged directions get past a singular pose.
        start_history(ws, state);
        self.substep(ws, state, u, h, 0, 0, report, None)?;
        report.fallbacks += 1;
        Ok(())
    }

    /// Tries one way after the other.
    pub(crate) fn solve_interval(
        &self,
        ws: &mut MaximalWorkspace,
        memory: &mut CurveMemory,
        state: &MaximalState,
        u: &[f64],
        h: f64,
        report: &mut StepReport,
    ) -> Outcome {
        self.prepare_curve(ws, memory, state, u, h);
        let stiff = self.exact
            || ws.step.implicit.iter().chain(ws.step.implicit_loop.iter().flatten()).any(|x| *x)
            || has_stiff_servo(&ws.layout, state, &ws.step, h);
        let (mut outcome, mut iterations, mut chosen) = (Outcome::default(), 0, false);
        for rung in [Rung::Continued, Rung::Afresh, Rung::Exact] {
            // Stiff springs are not in the mass matrix.
            let possible = match rung {
                Rung::Continued => state.curve.h != 0.0 && !stiff,
                Rung::Afresh => !stiff,
                Rung::Exact => true,
            };
            if !possible {
                continue;
            }
            if iterations > 0 {
                report.retries += 1;
            }
            // A guess that continues the motion shows the rows as well as the start does, unless it is a close call.
            let continued = rung == Rung::Continued || (stiff && state.curve.h != 0.0);
            memory.foresees = rung == Rung::Continued
                && !ws.step.driven
                && ws.layout.foreseeable
                && ws.layout.row_tolerance <= RANK_TOLERANCE;
            if !chosen && !memory.foresees {
                Self::choose_rows(ws, memory, state);
                chosen = true;
            }
            if continued {
                // Beyond degree 6 what is extrapolated over two steps is rounding.
                if state.curve.h == h && state.curve.count > 1 && memory.table.s <= 3 {
                    memory.x.continue_steps(&memory.table, &state.curve);
                } else {
                    memory.x.extrapolate(&memory.table, &state.curve, h);
                }
                if memory.foresees {
                    let MaximalWorkspace { layout, graph, step, ldu, .. } = ws;
                    if !run_widest(FactorMiddle { memory, layout, graph, state, step, ldu }) {
                        memory.foresees = false;
                        Self::choose_rows(ws, memory, state);
                        chosen = true;
                    }
                }
                memory.drop_impulses(&ws.layout);
            } else {
                project(ws, state);
                let (body, arm) = (&ws.system.body, &state.side.arm);
                memory.x.coast(&memory.table, h, |i| {
                    let (ang, lin) = (angular(&body[i]), linear(&body[i]));
                    six(ang, lin - ang.cross(arm[i]))
                });
            }
            let MaximalWorkspace { layout, graph, step, ldu, .. } = ws;
            memory.summed = false;
            outcome = if rung == Rung::Exact {
                let s = memory.table.s;
                let mut exact = memory.exact.take().unwrap_or_else(|| Box::new(Exact::new(layout, graph, s)));
                let outcome = memory.solve_exact(&mut exact, layout, state, step, u, self.tolerance);
                memory.exact = Some(exact);
                outcome
            } else {
                let lanes = memory.solve_lanes(layout, graph, state, step, self.tolerance, ldu);
                lanes.unwrap_or_else(|| {
                    run_widest(SolveChord {
                        memory,
                        layout,
                        graph,
                        state,
                        step,
                        u,
                        tolerance: self.tolerance,
                        ldu,
                    })
                })
            };
            iterations += outcome.iterations.max(1);
            if outcome.converged {
                break;
            }
        }
        outcome.iterations = iterations;
        outcome
    }

    /// The rows in use, chosen at the start of the interval. (8.11)
    fn choose_rows(ws: &mut MaximalWorkspace, memory: &mut CurveMemory, state: &MaximalState) {
        if ws.layout.closures.iter().any(|c| matches!(c.kind, ClosureKind::Joint)) {
            assemble_node(ws, state);
            ws.ldu.rank = Rank::Choosing;
            ws.ldu.factor(&ws.layout, &ws.graph, &state.side, &state.side);
            ws.ldu.rank = Rank::Dropping;
            memory.kept.copy_from_slice(&ws.ldu.kept);
            memory.dropped = ws.ldu.dropped;
        }
    }

    /// What is constant over an interval: second moments, scales.
    fn prepare_curve(
        &self,
        ws: &mut MaximalWorkspace,
        memory: &mut CurveMemory,
        state: &MaximalState,
        u: &[f64],
        h: f64,
    ) {
        ws.step.prepare_laws(&ws.layout, state, h);
        let MaximalWorkspace { layout, step, .. } = ws;
        for i in 0..layout.links.len() {
            let rot = &state.side.rot[i];
            memory.second[i] = *rot * memory.own_second[i] * rot.transpose();
        }
        // Momenta before and after the kick of the step stand for its scale.
        step.incoming.copy_from_slice(&state.momentum);
        forces::add_half_kick(
            layout,
            &state.side,
            &state.q,
            &state.q_loop,
            u,
            h,
            &step.implicit,
            &step.implicit_loop,
            &mut step.incoming,
        );
        let moved = newton::scales(layout, &step.incoming, &state.poses, h);
        step.scales = newton::scales(layout, &state.momentum, &state.poses, h);
        step.scales.impulse = step.scales.impulse.max(moved.impulse);
        step.scales.speed = step.scales.speed.max(moved.speed);
    }
}

/// True if a servo is too stiff for the mass matrix.
fn has_stiff_servo(layout: &Layout, state: &MaximalState, step: &StepData, h: f64) -> bool {
    layout.links.iter().enumerate().filter(|(_, link)| !link.joint.servos.is_empty()).any(|(i, link)| {
        (0..link.joint.kind.nv()).any(|c| {
            let [by_length, _] = link.joint.servo_slopes(c, state.q[link.q + c], 0.0, &step.known);
            let g = &state.side.joints[i];
            forces::is_stiff_by(layout, &state.side, &link.joint, g, c, -by_length, h)
        })
    })
}

impl CurveMemory {
    /// Impulses of all inputs over the solved interval, added, and their work.
    pub(crate) fn add_actuation(
        &self,
        layout: &Layout,
        state: &MaximalState,
        step: &StepData,
        out: &mut [f64],
    ) -> f64 {
        let end = &self.nodes[self.table.s - 1].side;
        crate::servo::add_actuation(layout, step, &state.side, end, &state.q, false, out)
            + self.add_servo_work(layout, state, step, out)
    }

    /// Rows out of use have no impulse, in the guess either: a self-stress would grow from step to step.
    fn drop_impulses(&mut self, layout: &Layout) {
        let nc = layout.closures.len();
        for (at, lam) in self.x.closure.iter_mut().enumerate() {
            for r in 0..6 {
                if !self.kept[at % nc][r] {
                    lam[r] = 0.0;
                }
            }
        }
    }

    /// True unless rows out of use, open by `open` at the end of the step, were much less so at its start.
    fn follows(&self, layout: &Layout, state: &MaximalState, open: f64) -> bool {
        if open <= CLOSED * layout.length {
            return true;
        }
        let mut before = Worst::default();
        for (c, closure) in layout.closures.iter().enumerate() {
            if let ClosureKind::Joint = closure.kind {
                before.add_rows(layout, c, &state.side, &state.poses, |r| !self.kept[c][r]);
            }
        }
        open <= 10.0 * (before.as_length(layout.length) + CLOSED * layout.length)
    }

    /// Largest gap of the rows out of use at the end of the step, as a length.
    fn inconsistency(&self, layout: &Layout) -> f64 {
        if self.dropped == 0 {
            return 0.0;
        }
        let end = &self.nodes[self.table.s - 1];
        let mut worst = Worst::default();
        for (c, closure) in layout.closures.iter().enumerate() {
            let ClosureKind::Joint = closure.kind else { continue };
            let angles = crate::constraint::angular_rows(layout.loops[closure.index].kind);
            for r in (0..closure.rows).filter(|r| !self.kept[c][*r]) {
                worst.take(usize::from(r < angles), &[end.closure[c][r]]);
            }
        }
        worst.as_length(layout.length)
    }
}

/// True if a coordinate with limits may reach one within three steps at its present rate, or is beyond it.
fn near_limit(ws: &mut MaximalWorkspace, state: &MaximalState, h: f64) -> bool {
    project(ws, state);
    let near = |y: f64, rate: f64, lower: f64, upper: f64| {
        let margin = 3.0 * (h * rate).abs();
        y - lower <= margin || upper - y <= margin
    };
    let system = &ws.system;
    let tree = ws.layout.links.iter().any(|link| {
        let rows = &link.joint.rows;
        rows.has_limits
            && (0..link.joint.kind.nv())
                .any(|c| near(state.q[link.q + c], system.rate[link.v + c], rows.lower[c], rows.upper[c]))
    });
    let closed = ws.layout.loops.iter().enumerate().any(|(l, joint)| {
        joint.rows.has_limits
            && (0..joint.kind.nv().min(3)).any(|c| {
                let row = crate::constraint::coordinate_row(joint.kind, &state.side.loops[l], c);
                let part = |link: Option<usize>, ang: crate::spatial::Vec3| {
                    link.map_or(0.0, |i| {
                        ang.dot(angular(&system.body[i])) + row.lin.dot(linear(&system.body[i]))
                    })
                };
                let rate = part(joint.b.link, row.ang_b) - part(joint.a.link, row.ang_a);
                near(state.q_loop[l][c], rate, joint.rows.lower[c], joint.rows.upper[c])
            })
    });
    tree || closed
}

/// The projected velocities as the past of a step of order 2.
fn start_history(ws: &mut MaximalWorkspace, state: &mut MaximalState) {
    project(ws, state);
    let n = ws.layout.links.len();
    let history = &mut state.history;
    (history.count, history.newest) = (1, 0);
    let range = history.range(0, 0, n);
    history.wrench[range.clone()].fill([0.0; 6]);
    history.lam.fill([0.0; 6]);
    for (i, w) in history.w[range].iter_mut().enumerate() {
        let (ang, lin) = (angular(&ws.system.body[i]), linear(&ws.system.body[i]));
        *w = six(state.side.rot[i].tr_mul(ang), lin - ang.cross(state.side.arm[i]));
    }
}

/// Moves the state to the end of the solved interval.
pub(crate) fn accept(
    layout: &Layout,
    memory: &mut CurveMemory,
    state: &mut MaximalState,
    h: f64,
    report: &mut StepReport,
) {
    let (n, s) = (layout.links.len(), memory.table.s);
    // The sum of all impulses: momentum is kept to rounding whatever the tolerance. (8.7)
    if memory.summed {
        state.momentum.copy_from_slice(&memory.leaving);
    } else {
        for al in 0..=s {
            for (p, given) in state.momentum.iter_mut().zip(&memory.given[al * n..(al + 1) * n]) {
                (0..6).for_each(|k| p[k] += given[k]);
            }
        }
    }
    let first = layout.held.saturating_sub(layout.ties.len());
    for (o, sum) in state.driven.iter_mut().enumerate() {
        *sum += (0..s).map(|al| memory.x.held[al * layout.held + first + o]).sum::<f64>();
    }
    report.dropped_rank = report.dropped_rank.max(memory.dropped);
    let end = &mut memory.nodes[s - 1];
    state.poses.copy_from_slice(&end.poses);
    std::mem::swap(&mut state.side, &mut end.side);
    state.curve.take(&mut memory.x, h, state.interval);
    state.interval = h;
    state.unwrap_coordinates(layout);
}
