//! Smooth parts of a step for the driver of friction and limits.
//!
//! A locked coordinate is held by a row of its joint, `(y(pose') − hold)/h = 0`, with an impulse γ along the coordinate at the
//! start of the part; sliding friction is a constant force, half a kick at each end. Velocities are read out with the locked
//! rows among the constraints, with multipliers ν; the row's impulse over a part is `γ` and what ν gained (7.7).

use super::constraint::coordinate_row;
use super::forces::unwrapped;
use super::layout::{Closure, ClosureKind, Layout};
use super::ldu::{Six, angular, dot, linear, six};
use super::read_out::project;
use super::start::{add_armature, public_rates, velocities};
use super::state::{HISTORY, MaximalState};
use super::workspace::{MaximalWorkspace, StepData};
use super::{Maximal, newton};
use crate::integrator::rows::{Parts, RowDriver, RowState};
use crate::integrator::{StepError, StepReport};
use crate::mechanism::{Mechanism, Row, RowOf, turn};

/// The driver and its memory.
#[derive(Clone, Debug)]
pub(crate) struct Driven {
    pub(crate) driver: RowDriver,
    pub(crate) memory: PartMemory,
}

/// The end of the last trial, and multipliers of the locked rows in the read-out at both ends of a part, by row.
#[derive(Clone, Debug)]
pub(crate) struct PartMemory {
    end: MaximalState,
    before: Vec<f64>,
    after: Vec<f64>,
    /// What the inputs have done in the accepted parts of the step: impulses and work.
    pub(crate) actuation: Vec<f64>,
    pub(crate) work: f64,
}

impl Driven {
    /// Makes room in the layout for coordinates that are held.
    pub(crate) fn new(
        mechanism: &Mechanism,
        layout: &mut Layout,
        shape: (usize, usize),
    ) -> Option<Box<Self>> {
        let rolls = |c: &Closure| matches!(c.kind, ClosureKind::Rolling(_));
        let driver = RowDriver::new(mechanism).filter(|_| !layout.closures.iter().any(rolls))?;
        let rows = mechanism.rows().len();
        layout.held = mechanism.nv() + layout.ties.len();
        let end = MaximalState::new(layout, shape, mechanism.nq(), mechanism.nv());
        let memory = PartMemory {
            end,
            before: vec![0.0; rows],
            after: vec![0.0; rows],
            actuation: vec![0.0; layout.places.len()],
            work: 0.0,
        };
        Some(Box::new(Self { driver: *driver, memory }))
    }
}

impl StepData {
    /// Holds the rows that are locked and gives sliding ones their friction; true if that changes anything.
    pub(crate) fn set_modes(
        &mut self,
        mechanism: &Mechanism,
        layout: &Layout,
        states: &[RowState],
        q: &[f64],
    ) -> bool {
        let mut changed = false;
        for (k, (row, state)) in mechanism.rows().iter().zip(states).enumerate() {
            let sign = if state.locked { 0.0 } else { f64::from(state.sign) };
            if let RowOf::Loop { joint, part, friction } = &row.of
                && let Some(l) = layout.loops.iter().position(|l| l.joint == joint.index())
            {
                let torque = -sign * friction;
                changed |= self.friction_loop[l][*part] != torque;
                self.friction_loop[l][*part] = torque;
            }
            if let Some(o) = layout.ties.iter().position(|tie| tie.row == Some(k)) {
                let hold = if state.locked { state.hold } else { f64::NAN };
                changed |= self.tied[o].is_nan() != hold.is_nan();
                self.tied[o] = hold;
            }
            let friction = &mut self.friction;
            row.friction_torques(mechanism.followers(), q, sign, |at, torque| {
                changed |= friction[at.v] != torque;
                friction[at.v] = torque;
            });
            if let Some(at) = row.coordinate() {
                let hold = if state.locked { state.hold } else { f64::NAN };
                changed |= self.held[at.v].is_nan() != hold.is_nan();
                self.held[at.v] = hold;
            }
        }
        self.enforce_limits = self.held.iter().any(|hold| !hold.is_nan());
        changed
    }
}

pub(crate) struct MaximalParts<'a> {
    pub(crate) engine: &'a Maximal,
    pub(crate) mechanism: &'a Mechanism,
    pub(crate) ws: &'a mut MaximalWorkspace,
    pub(crate) start: &'a mut MaximalState,
    pub(crate) memory: &'a mut PartMemory,
    pub(crate) u: &'a [f64],
}

impl MaximalParts<'_> {
    /// Multipliers of the locked rows in the read-out just made.
    fn read_multipliers(&mut self, at_end: bool) {
        let state: &MaximalState = if at_end { &self.memory.end } else { self.start };
        let out = if at_end { &mut self.memory.after } else { &mut self.memory.before };
        for (i, link) in self.ws.layout.links.iter().enumerate() {
            for c in 0..link.joint.kind.nv() {
                let at = link.v + c;
                let Some(k) = self.ws.row_of[at] else { continue };
                out[k] = 0.0;
                if !self.ws.step.held[at].is_nan() {
                    let row = coordinate_row(link.joint.kind, &state.side.joints[i], c);
                    out[k] = dot(&six(row.ang_b, row.lin), &self.ws.system.wrench[i]);
                }
            }
        }
    }
}

impl MaximalParts<'_> {
    /// A trial of an order above 2: the same equations at all nodes.
    fn curve_trial(&mut self, states: &[RowState], t: f64, report: &mut StepReport) -> Result<(), StepError> {
        let Self { engine, ws, start, memory, u, .. } = self;
        memory.end.restore(&ws.layout, start);
        let end = &mut memory.end;
        // A long part is not foreseen from a short one.
        if t > 4.0 * end.curve.h {
            end.curve.forget();
        }
        ws.accepted = 0;
        let Some(mut curve) = ws.curve.take() else { return Ok(()) };
        let outcome = engine.solve_interval(ws, &mut curve, end, u, t, report);
        report.iterations += outcome.iterations;
        if !outcome.converged {
            ws.curve = Some(curve);
            return Err(StepError::NotConverged {
                time: end.t,
                step: t,
                iterations: outcome.iterations,
                residual: outcome.residual,
                tolerance: engine.tolerance,
            });
        }
        report.residual = report.residual.max(outcome.residual);
        ws.work += curve.add_actuation(&ws.layout, end, &ws.step, &mut ws.actuation);
        crate::curve::accept(&ws.layout, &mut curve, end, t, report);
        end.t += t;
        ws.curve = Some(curve);
        self.keep_held(states);
        Ok(())
    }

    /// What is held stays where it is, to the bit.
    fn keep_held(&mut self, states: &[RowState]) {
        for (row, state) in self.mechanism.rows().iter().zip(states) {
            if let (true, Some(at)) = (state.locked, row.coordinate()) {
                self.memory.end.q[at.q] = state.hold;
            }
        }
    }
}

impl Parts for MaximalParts<'_> {
    fn trial(&mut self, states: &[RowState], t: f64, report: &mut StepReport) -> Result<(), StepError> {
        if self.ws.step.set_modes(self.mechanism, &self.ws.layout, states, &self.start.q) {
            self.start.history.count = self.start.history.count.min(1);
            self.start.history.limit.fill(0.0);
            self.start.curve.forget();
            project(self.ws, self.start);
            self.read_multipliers(false);
        }
        self.ws.actuation.copy_from_slice(&self.memory.actuation);
        self.ws.work = self.memory.work;
        if self.ws.curve.is_some() {
            return self.curve_trial(states, t, report);
        }
        let Self { engine, ws, start, memory, u, .. } = self;
        memory.end.restore(&ws.layout, start);
        let end = &mut memory.end;
        ws.accepted = 0;
        engine.prepare_step(ws, end, u, t);
        let smooth = end.history.h == t;
        newton::guess(&end.history, engine.map, 0, t, smooth, false, ws);
        let outcome = newton::solve(ws, engine.map, end, engine.tolerance);
        report.iterations += outcome.iterations;
        if !outcome.converged {
            return Err(StepError::NotConverged {
                time: end.t,
                step: t,
                iterations: outcome.iterations,
                residual: outcome.residual,
                tolerance: engine.tolerance,
            });
        }
        report.residual = report.residual.max(outcome.residual);
        engine.accept(ws, end, u, t, 0, 0);
        end.t += t;
        let history = &mut end.history;
        history.count = if smooth { (history.count + 1).min(HISTORY) } else { 1 };
        history.newest = (history.newest + 1) % HISTORY;
        history.h = t;
        self.keep_held(states);
        Ok(())
    }

    fn inner_nodes(&self) -> usize {
        self.ws.curve.as_ref().map_or(0, |curve| curve.table.s - 1)
    }

    fn inner_value(&self, node: usize, row: &Row) -> (f64, f64) {
        let Some(curve) = &self.ws.curve else { return (0.0, 0.0) };
        let (layout, side) = (&self.ws.layout, &curve.nodes[node].side);
        let coordinate = |v: usize| {
            let i = layout.links.iter().position(|l| (l.v..l.v + l.joint.kind.nv()).contains(&v))?;
            let link = &layout.links[i];
            let nq = link.joint.kind.nq();
            let mut y = [0.0; 7];
            let near = &self.start.q[link.q..link.q + nq];
            unwrapped(link.joint.kind, &side.joints[i], near, &mut y[..nq]);
            Some(y[v - link.v])
        };
        let value = match &row.of {
            RowOf::Coordinate { at, .. } => coordinate(at.v),
            RowOf::Tendon { terms, .. } => {
                terms.iter().try_fold(0.0, |sum, (at, a)| Some(sum + a * coordinate(at.v)?))
            }
            RowOf::Turn { at, .. } => {
                let i = layout.links.iter().position(|link| link.v == at.v);
                i.map(|i| turn(&side.joints[i].r.to_array()).0)
            }
            RowOf::Loop { joint, part, .. } => {
                let l = layout.loops.iter().position(|l| l.joint == joint.index());
                l.map(|l| {
                    let (kind, mut y) = (layout.loops[l].kind, [0.0; 7]);
                    let nq = kind.nq();
                    unwrapped(kind, &side.loops[l], &self.start.q_loop[l], &mut y[..nq]);
                    y[*part]
                })
            }
        };
        (curve.table.c[node + 1], value.unwrap_or(f64::NAN))
    }

    fn read(&mut self, states: &[RowState], at_end: bool, q: &mut [f64], v: &mut [f64]) {
        let Self { ws, start, memory, .. } = self;
        let state: &MaximalState = if at_end { &memory.end } else { start };
        ws.step.set_modes(self.mechanism, &ws.layout, states, &state.q);
        q.copy_from_slice(&state.q);
        project(ws, state);
        rates(&ws.layout, &state.side, &ws.system.rate, v);
        self.read_multipliers(at_end);
    }

    fn impulses(&mut self, states: &[RowState], out: &mut [f64]) {
        // In loops rows share what they hold in ways that only the driver's own solution tells.
        let shared = !self.ws.layout.closures.is_empty();
        for (k, (row, state)) in self.mechanism.rows().iter().zip(states).enumerate() {
            out[k] = match (state.locked, row.coordinate().filter(|_| !shared)) {
                (true, Some(at)) => {
                    let end = &self.memory.end;
                    let held = &end.curve.last.held;
                    let own: f64 = match self.ws.layout.held {
                        held_by_node if self.ws.curve.is_some() => {
                            held.iter().skip(at.v).step_by(held_by_node).sum()
                        }
                        _ => end.history.limit[at.v],
                    };
                    own + self.memory.after[k] - self.memory.before[k]
                }
                (true, None) => f64::NAN,
                _ => 0.0,
            };
        }
    }

    fn accept(&mut self) {
        self.memory.actuation.copy_from_slice(&self.ws.actuation);
        self.memory.work = self.ws.work;
        std::mem::swap(self.start, &mut self.memory.end);
        std::mem::swap(&mut self.memory.before, &mut self.memory.after);
    }

    fn set_velocity(&mut self, v: &[f64]) {
        let (ws, made) = (&mut *self.ws, &mut *self.start);
        let mut w: Vec<Six> = std::mem::take(&mut ws.system.body);
        velocities(&ws.layout, &made.side, v, &mut w);
        for (i, link) in ws.layout.links.iter().enumerate() {
            let (ang, lin) = (angular(&w[i]), linear(&w[i]));
            let spin = made.side.rot[i].tr_mul(ang);
            let at_com = lin - ang.cross(made.side.arm[i]);
            made.momentum[i] = six(made.side.rot[i] * (made.inertia[i] * spin), at_com * link.mass);
        }
        add_armature(ws, made, v, &w);
        // The guess starts from these velocities.
        let history = &mut made.history;
        (history.count, history.h) = (1, 0.0);
        history.limit.fill(0.0);
        made.curve.forget();
        if ws.curve.is_some() {
            made.interval = 0.0;
        }
        let newest = history.range(0, 0, w.len());
        for (i, target) in history.w[newest].iter_mut().enumerate() {
            let (ang, lin) = (angular(&w[i]), linear(&w[i]));
            *target = six(made.side.rot[i].tr_mul(ang), lin - ang.cross(made.side.arm[i]));
        }
        ws.system.body = w;
        // Momenta of these velocities have no part along the locked rows.
        self.memory.before.fill(0.0);
    }
}

/// Public velocities from projected rates.
pub(crate) fn rates(layout: &Layout, side: &super::geometry::Side, rate: &[f64], out: &mut [f64]) {
    for (i, link) in layout.links.iter().enumerate() {
        let nv = link.joint.kind.nv();
        let mut v = [0.0; 6];
        public_rates(layout, side, i, &rate[link.v..link.v + nv], &mut v);
        out[link.v..link.v + nv].copy_from_slice(&v[..nv]);
    }
}
