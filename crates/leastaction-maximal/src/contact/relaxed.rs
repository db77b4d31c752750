//! The relaxed step: both problems at a smoothing speed, for derivatives that see contacts before they touch. (9.24)
//!
//! The interval is solved on the central path at the smoothing speed from the same state, with the full law and every contact. The node
//! is solved there, too; a contact is kept off it by its distance over the step, so that what is far away hardly pushes and what
//! touches holds. The state is never advanced by it.

use super::super::forces::about_point;
use super::super::ldu::{angular, linear, six};
use super::super::residual::closure_rows;
use super::super::state::MaximalState;
use super::super::workspace::MaximalWorkspace;
use super::super::{Maximal, StepDerivative, servo};
use super::interval::{Interval, impulse_scale, largest_speed};
use super::item::Kind;
use super::memory::ContactMemory;
use super::node::Node;
use super::rows::node_rows;
use super::solve::{Problem, Solved, damped, newton, zero_impulses};
use super::step::Driver;
use super::tied::touch_at;
use crate::contact_law::{Law, frame_of};
use crate::integrator::{Input, StepError, StepReport, expect_length};
use crate::mechanism::Mechanism;
use leastaction_core::scalar::elementary;

/// Smoothing speed of links of 1 m, if none is given, m/s.
pub(crate) const SMOOTHING: f64 = 1e-2;

impl Maximal {
    /// Differentiates the relaxed step from a state, which stays as it is.
    pub(crate) fn relax(
        &self,
        mechanism: &Mechanism,
        ws: &mut MaximalWorkspace,
        state: &mut MaximalState,
        input: Input<'_>,
        h: f64,
        speed: Option<f64>,
        slope: &mut StepDerivative,
    ) -> Result<(), StepError> {
        expect_length("u", input.u.len(), mechanism.nu())?;
        if !(h.is_finite() && h > 0.0) {
            return Err(StepError::BadOption {
                option: "step",
                value: h.to_string(),
                remedy: "contact acts forwards in time: give a positive number of seconds".into(),
            });
        }
        if speed.is_some_and(|v| !(v.is_finite() && v > 0.0)) {
            return Err(StepError::BadOption {
                option: "relaxed",
                value: speed.unwrap_or(0.0).to_string(),
                remedy: "give a positive speed in m/s".into(),
            });
        }
        let Some(mut mem) = ws.contact.take() else { return Ok(()) };
        let mut known = std::mem::take(&mut ws.inputs);
        servo::known_forces(mechanism, input.u, &mut known, &mut ws.step.input_slopes);
        ws.step.known.copy_from_slice(&known);
        ws.accepted = 0;
        let saved = state.clone();
        let (outputs, counts) = ((ws.actuation.clone(), ws.work), mem.counts);
        // One smoothing speed for all rows, m/s or rad/s.
        let arms: Vec<f64> = mem.items.iter().map(|item| item.arm).collect();
        mem.items.iter_mut().for_each(|item| item.arm = 1.0);
        let speed = speed.unwrap_or(SMOOTHING * mem.options.speed);
        let report = StepReport::default();
        let mut driver = Driver {
            engine: self,
            ws,
            mem: &mut mem,
            state,
            u: &known,
            report,
            events: 0,
            cuts: 0,
            whole: h,
            slope: Some(slope),
        };
        let solved = driver.relaxed(h, speed);
        mem.smoothing = 0.0;
        mem.counts = counts;
        mem.items.iter_mut().zip(arms).for_each(|(item, arm)| item.arm = arm);
        let contacts = mem.taking_part().count();
        *state = saved;
        ws.inputs = known;
        (ws.actuation, ws.work) = outputs;
        ws.contact = Some(mem);
        if solved.converged {
            return Ok(());
        }
        Err(StepError::ContactNotSolved {
            time: state.t,
            step: h,
            residual: solved.residual,
            iterations: solved.iterations,
            contacts,
        })
    }
}

impl Driver<'_> {
    fn relaxed(&mut self, h: f64, speed: f64) -> Solved {
        self.open_all(h);
        self.begin_interval(h);
        let Self { engine, ws, mem, state, .. } = self;
        mem.place(&ws.layout);
        let solved = follow(&mut Interval { ws, mem, state, map: engine.map }, speed);
        if !solved.converged {
            return solved;
        }
        self.accept(h);
        self.relaxed_node(h, speed)
    }

    /// The node with the end's contacts, each kept off by its distance over the step.
    fn relaxed_node(&mut self, h: f64, speed: f64) -> Solved {
        let Self { ws, mem, state, .. } = self;
        closure_rows(&ws.layout, &state.side, &state.poses, &mut ws.step.rows);
        for &k in &mem.live {
            let (item, probe) = (&mem.items[k], &mut mem.probes[k]);
            let now = touch_at(item, &mut mem.tied, &mem.layout, state);
            probe.end = now;
            probe.law = Law { shift: now.gap / h, ..Law::new(item.mu, item.rho) };
            if let Kind::Pair { .. } = item.kind {
                probe.frame = frame_of(now.normal);
                node_rows(item, &now, &probe.frame, &state.side, &mut probe.force_rows);
            }
        }
        mem.node.scale = impulse_scale(&state.momentum, mem);
        let n = ws.layout.links.len();
        let range = state.history.range(0, 0, n);
        for i in 0..n {
            let w = &state.history.w[range.clone()][i];
            let ang = state.side.rot[i] * angular(w);
            mem.node.w[i] = six(ang, linear(w) + ang.cross(state.side.arm[i]));
            mem.node.momentum[i] = about_point(&state.momentum[i], state.side.arm[i]);
        }
        mem.place(&ws.layout);
        let solved = follow(&mut Node { ws, mem, state, whole: false, free: false }, speed);
        if solved.converged
            && let Some(slope) = self.slope.as_deref_mut()
        {
            slope.capture_contact_node(self.ws, self.mem, self.state, Some(1.0 / h));
        }
        solved
    }
}

/// Down the central path to the smoothing speed: solved at every level, and where that fails by single damped steps.
fn follow(problem: &mut impl Problem, speed: f64) -> Solved {
    let mut out = Solved { path: true, ..Solved::default() };
    for (start, factor, most) in [(0.1, 0.1, 4), (1.0, 0.3, 10)] {
        let mut smoothing = begin_path(problem, largest_speed, start, speed);
        loop {
            problem.memory().smoothing = smoothing;
            let last = smoothing <= speed;
            let merit = problem.evaluate();
            let solved = newton(problem, merit, if last { 50 } else { most });
            out.iterations += solved.iterations;
            out.residual = solved.residual;
            if last || !solved.residual.is_finite() {
                out.converged = last && solved.converged;
                break;
            }
            smoothing = (smoothing * factor).max(speed);
        }
        if out.converged {
            return out;
        }
    }
    let unit = problem.memory().options.speed;
    for (start, factor, threshold, most) in [(0.1, 0.1, 1.0, 60), (1.0, 0.4, 0.2, 120), (10.0, 0.7, 0.1, 180)]
    {
        let mut smoothing = begin_path(problem, misfit, start, speed);
        for _ in 0..most {
            problem.memory().smoothing = smoothing;
            if smoothing <= speed {
                let merit = problem.evaluate();
                let solved = newton(problem, merit, 15);
                out.iterations += solved.iterations;
                out.residual = solved.residual;
                out.converged = solved.converged;
                if out.converged {
                    return out;
                }
            }
            let merit = problem.evaluate();
            let Some((reached, _)) = damped(problem, merit) else { break };
            out.iterations += 1;
            out.residual = reached;
            if reached * unit <= threshold * smoothing {
                smoothing = (smoothing * factor).max(speed);
            }
        }
    }
    out
}

/// A cold start at a multiple of the largest speed; the smoothing there.
fn begin_path(problem: &mut impl Problem, largest: fn(&ContactMemory) -> f64, start: f64, speed: f64) -> f64 {
    problem.restart();
    problem.memory().smoothing = speed;
    zero_impulses(problem.memory(), speed);
    problem.evaluate();
    let smoothing = (start * largest(problem.memory())).max(speed);
    zero_impulses(problem.memory(), smoothing);
    smoothing
}

/// Largest velocity that the law does not leave as it is: what approaches, and slips of what touches. What is far away leaves fast over the
/// step, which is no measure for the smoothing.
fn misfit(mem: &ContactMemory) -> f64 {
    mem.taking_part().fold(0.0, |m: f64, (item, probe)| {
        let [normal, a, b] = probe.u;
        let slip = elementary::hypot(a, b);
        m.max(if item.is_always() {
            normal.abs()
        } else if normal < 0.0 {
            slip.max(-normal)
        } else {
            slip.min(normal)
        })
    })
}
