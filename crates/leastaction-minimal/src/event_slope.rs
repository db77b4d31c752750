//! The derivative of a step that was cut at events, part by part.
//!
//! A part of length t has the derivative A and the rate `z' = d(end)/dt`. An event at its end is where a function g of the state is
//! zero, so that its time moves, and what happens there is a map R of velocities:
//!
//! ```text
//! dz₁ = A dz + z' dt,   dt = −(∇g · A dz)/(∇g · z'),   dz = R' dz₁,   the last part is shorter by Σ dt        (7.13)
//! ```
//!
//! Parts are solved again and differentiated exactly; `z'`, R' and the gradients of forces are differences, good to about 1e-9.

use super::curved::Start;
use super::linearize::{Coordinates, Linearization, LinearizeMemory};
use super::options::MinimalOptions;
use super::state::{HISTORY, MinimalState};
use super::step::Solver;
use crate::integrator::rows::RowState;
use crate::integrator::{RowEvent, RowEventKind, StepError, StepReport};
use crate::mechanism::Mechanism;

/// Part of a part's length by which its rate is found, and size of other differences.
const SHARE: f64 = 1e-3;
const SMALL: f64 = 1e-6;

/// What a step was made of.
#[derive(Clone, Debug)]
pub(crate) enum Taken {
    /// A part, from its start.
    Part { start: Box<MinimalState>, modes: Vec<RowState>, t: f64 },
    /// Other velocities at once.
    Reset { v: Vec<f64> },
}

/// Positions and velocities in the public convention.
#[derive(Clone)]
struct Place {
    q: Vec<f64>,
    v: Vec<f64>,
}

impl Place {
    /// A little further along a variation of positions and velocities.
    fn moved(&self, mechanism: &Mechanism, by: &[f64], e: f64) -> Self {
        let n = self.v.len();
        let shift: Vec<f64> = by[..n].iter().map(|x| e * x).collect();
        let mut q = self.q.clone();
        mechanism.retract(&self.q, &shift, &mut q);
        let v = self.v.iter().zip(&by[n..]).map(|(v, x)| v + e * x).collect();
        Self { q, v }
    }
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |m: f64, x| m.max(x.abs()))
}

impl<const N: usize> Solver<N> {
    /// Differentiates the step that `taken` tells of, by velocities, from the public start `v`.
    pub(crate) fn slope_in_parts(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        taken: &[Taken],
        start: &MinimalState,
        u: &[f64],
        h: f64,
        memory: &mut LinearizeMemory,
        out: &mut Linearization,
    ) -> Result<(), StepError> {
        let events: Vec<RowEvent> = self.events().to_vec();
        let (n, nu) = (self.segments.n, self.segments.nu);
        let (rows, width) = (2 * n, 2 * n + nu);
        // By column: variation of positions and velocities; and of the time that has passed.
        let mut d: Vec<Vec<f64>> =
            (0..width).map(|j| (0..rows).map(|i| f64::from(u8::from(i == j))).collect()).collect();
        if let Some(ties) = &self.ties {
            for column in &mut d {
                ties.follow(&mut column[..n]);
                ties.follow(&mut column[n..]);
            }
        }
        let mut late = vec![0.0; width];
        let mut here = self.place(mechanism, start);
        let last = taken.iter().rposition(|item| matches!(item, Taken::Part { .. }));
        let mut time = 0.0;
        for (i, item) in taken.iter().enumerate() {
            match item {
                Taken::Part { start, modes, t } => {
                    still(mechanism, modes, n, &mut d);
                    let (slope, end) = self.part_slope(mechanism, options, start, modes, *t, memory)?;
                    for (j, column) in d.iter_mut().enumerate() {
                        let mut next = vec![0.0; rows];
                        for (r, next) in next.iter_mut().enumerate() {
                            *next = (0..rows).map(|c| slope.a(r, c) * column[c]).sum();
                            if j >= rows {
                                *next += slope.b(r, j - rows);
                            }
                        }
                        *column = next;
                    }
                    here = self.place(mechanism, &end);
                    time += t;
                    let timed = |event: &&RowEvent| {
                        (event.time - time).abs() <= 1e-12 * h
                            && !matches!(event.kind, RowEventKind::Impact | RowEventKind::Input)
                    };
                    let event = events.iter().find(timed).copied();
                    if event.is_none() && !(Some(i) == last && late.iter().any(|x| *x != 0.0)) {
                        continue;
                    }
                    let rate = self.part_rate(mechanism, options, start, modes, *t, &here)?;
                    let shift: Vec<f64> = match event.filter(|_| Some(i) != last) {
                        None => late.iter().map(|x| -x).collect(),
                        Some(event) => {
                            let fall = self.along(mechanism, modes, &here, u, event, &rate)?;
                            let mut shift = Vec::new();
                            for column in &d {
                                shift.push(-self.along(mechanism, modes, &here, u, event, column)? / fall);
                            }
                            shift
                        }
                    };
                    for ((column, by), late) in d.iter_mut().zip(&shift).zip(&mut late) {
                        column.iter_mut().zip(&rate).for_each(|(x, z)| *x += by * z);
                        *late += by;
                    }
                }
                Taken::Reset { v } => {
                    let next = taken[i..].iter().find_map(|item| match item {
                        Taken::Part { modes, .. } => Some(modes),
                        Taken::Reset { .. } => None,
                    });
                    let Some(modes) = next else { continue };
                    let targets = targets(mechanism, modes, &events, time, h, &here.v, v);
                    for column in &mut d {
                        let size = largest(column);
                        if size == 0.0 {
                            continue;
                        }
                        let e = SMALL / size;
                        let ahead =
                            self.reset(mechanism, modes, &here.moved(mechanism, column, e), u, &targets)?;
                        let behind =
                            self.reset(mechanism, modes, &here.moved(mechanism, column, -e), u, &targets)?;
                        for k in 0..n {
                            column[n + k] = (ahead[k] - behind[k]) / (2.0 * e);
                        }
                    }
                    here.v.clone_from(v);
                }
            }
        }
        out.matrix.clear();
        out.matrix.resize(rows * width, 0.0);
        for (j, column) in d.iter().enumerate() {
            (0..rows).for_each(|r| out.matrix[r * width + j] = column[r]);
        }
        Ok(())
    }

    fn place(&mut self, mechanism: &Mechanism, state: &MinimalState) -> Place {
        let mut v = vec![0.0; mechanism.nv()];
        self.public_velocity(mechanism, state, &mut v);
        Place { q: state.q.clone(), v }
    }

    /// A part solved again, with its derivative.
    fn part_slope(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        start: &MinimalState,
        modes: &[RowState],
        t: f64,
        memory: &mut LinearizeMemory,
    ) -> Result<(Linearization, MinimalState), StepError> {
        let mut out = Linearization::new(mechanism, Coordinates::Velocity);
        self.set_modes(mechanism, modes, &start.q);
        let before = self.end(mechanism, start, Coordinates::Velocity, false);
        let before = before.map_err(|f| self.explain(mechanism, options, f, start.t, t))?;
        let end = self.part(mechanism, options, start, t)?;
        self.stand_at(mechanism, &start.q);
        let ends = self.differentiate(mechanism, &end, &out, memory, before, &Start::default());
        let ends = ends.map_err(|f| self.explain(mechanism, options, f, start.t, t))?;
        self.fill(&ends, memory, &mut out);
        Ok((out, end))
    }

    /// A part of another length with the modes at hand.
    fn part(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        start: &MinimalState,
        t: f64,
    ) -> Result<MinimalState, StepError> {
        let mut end = start.clone();
        end.steps = [0.0; HISTORY];
        let outcome = self.attempt(mechanism, options, &mut end, t, &mut StepReport::default());
        outcome.map_err(|f| self.explain(mechanism, options, f, start.t, t))?;
        Ok(end)
    }

    /// `d(end)/dt` of a part, by four differences.
    fn part_rate(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        start: &MinimalState,
        modes: &[RowState],
        t: f64,
        here: &Place,
    ) -> Result<Vec<f64>, StepError> {
        let n = here.v.len();
        let mut rate = vec![0.0; 2 * n];
        self.set_modes(mechanism, modes, &start.q);
        for (step, weight) in [(-2.0, 1.0), (-1.0, -8.0), (1.0, 8.0), (2.0, -1.0)] {
            let end = self.part(mechanism, options, start, t * (1.0 + step * SHARE))?;
            let there = self.place(mechanism, &end);
            let mut away = vec![0.0; n];
            mechanism.difference(&here.q, &there.q, &mut away);
            let weight = weight / (12.0 * SHARE * t);
            for k in 0..n {
                rate[k] += weight * away[k];
                rate[n + k] += weight * (there.v[k] - here.v[k]);
            }
        }
        Ok(rate)
    }

    /// Change of an event's function along a variation.
    fn along(
        &mut self,
        mechanism: &Mechanism,
        modes: &[RowState],
        here: &Place,
        u: &[f64],
        event: RowEvent,
        by: &[f64],
    ) -> Result<f64, StepError> {
        let n = here.v.len();
        let row = event.row.and_then(|k| mechanism.rows().get(k));
        let Some((row, at)) = row.and_then(|row| Some((row, row.coordinate()?))) else {
            return Err(StepError::Unsupported {
                integrator: "the derivative of a step of minimal",
                what: "an event of a row of several coordinates".into(),
                remedy: "differentiate another step".into(),
            });
        };
        match event.kind {
            RowEventKind::Lower | RowEventKind::Upper => return Ok(by[at.v]),
            RowEventKind::Stop => return Ok(by[n + at.v]),
            _ => {}
        }
        let size = largest(by);
        if size == 0.0 {
            return Ok(0.0);
        }
        let e = SMALL / size;
        let k = event.row.unwrap_or(0);
        let mut force = |place: &Place| -> Result<f64, StepError> {
            let mut all = vec![0.0; modes.len()];
            let Some(memory) = &mut self.driver else { return Ok(0.0) };
            let outcome = memory.0.forces_at(mechanism, modes, &place.q, &place.v, u, &mut all);
            outcome.map_err(|_| StepError::NotFinite { time: 0.0, what: "forces of joints" })?;
            Ok(all[k])
        };
        let (ahead, behind) = (force(&here.moved(mechanism, by, e))?, force(&here.moved(mechanism, by, -e))?);
        debug_assert!(row.rubs || row.lower.is_finite() || row.upper.is_finite());
        Ok((ahead - behind) / (2.0 * e))
    }

    /// Velocities after what happens at an event.
    fn reset(
        &mut self,
        mechanism: &Mechanism,
        modes: &[RowState],
        at: &Place,
        u: &[f64],
        targets: &[(usize, f64)],
    ) -> Result<Vec<f64>, StepError> {
        let mut v = at.v.clone();
        if let Some(memory) = &mut self.driver {
            let wanted: Vec<(usize, f64)> = targets
                .iter()
                .filter_map(|(k, e)| {
                    let at = mechanism.rows()[*k].coordinate()?;
                    Some((*k, -e * v[at.v]))
                })
                .collect();
            let outcome = memory.0.reset_at(mechanism, modes, &at.q, &at.v, u, &wanted, &mut v);
            outcome.map_err(|_| StepError::NotFinite { time: 0.0, what: "velocities after an event" })?;
        }
        Ok(v)
    }
}

/// What is held does not move.
fn still(mechanism: &Mechanism, modes: &[RowState], n: usize, d: &mut [Vec<f64>]) {
    for (row, _) in mechanism.rows().iter().zip(modes).filter(|(_, state)| state.locked) {
        if let Some(at) = row.coordinate() {
            d.iter_mut().for_each(|column| column[n + at.v] = 0.0);
        }
    }
}

/// Rows that an event gives a velocity to, and the part of their velocity that they give back.
fn targets(
    mechanism: &Mechanism,
    modes: &[RowState],
    events: &[RowEvent],
    time: f64,
    h: f64,
    before: &[f64],
    after: &[f64],
) -> Vec<(usize, f64)> {
    let struck = |k: usize| {
        let at_once = |event: &&RowEvent| (event.time - time).abs() <= 1e-12 * h;
        events.iter().filter(at_once).any(|e| e.kind == RowEventKind::Impact && e.row == Some(k))
    };
    let mut out = Vec::new();
    for (k, row) in mechanism.rows().iter().enumerate() {
        let Some(at) = row.coordinate().filter(|_| modes[k].locked || struck(k)) else { continue };
        let back = if before[at.v] == 0.0 { 0.0 } else { -after[at.v] / before[at.v] };
        out.push((k, if modes[k].locked { 0.0 } else { back }));
    }
    out
}
