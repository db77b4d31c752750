//! What can happen to a row, and the functions of time that tell.

use super::RowState;
use super::general::General;
use crate::mechanism::{Mechanism, Row};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowEventKind {
    /// A sliding row came to rest.
    Stop,
    /// A locked row let go and moves down.
    ReleaseDown,
    /// A locked row let go and moves up.
    ReleaseUp,
    /// The lower limit was reached.
    Lower,
    /// The upper limit was reached.
    Upper,
    /// A limit gave an impulse.
    Impact,
    /// Inputs jumped, and with them what rows have to hold.
    Input,
}

/// Something that happened to a row during a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowEvent {
    /// Time from the start of the step.
    pub time: f64,
    /// What.
    pub kind: RowEventKind,
    /// The row; of [`RowEventKind::Input`] none.
    pub row: Option<usize>,
    /// Impulse of an impact, along the inward normal.
    pub impulse: f64,
}

/// Kinds of event functions of a row, in the order they are stored.
pub(super) const KINDS: [RowEventKind; 5] = [
    RowEventKind::Stop,
    RowEventKind::ReleaseDown,
    RowEventKind::ReleaseUp,
    RowEventKind::Lower,
    RowEventKind::Upper,
];
pub(super) const STOP: usize = 0;
pub(super) const DOWN: usize = 1;
pub(super) const UP: usize = 2;
pub(super) const LOWER: usize = 3;
pub(super) const UPPER: usize = 4;

/// Forces a locked row can bear, along its coordinate (7.1). Between limits without room it bears anything.
pub(super) fn bounds(row: &Row, state: &RowState, friction: f64) -> (f64, f64) {
    match state.side {
        -1 | 1 if row.is_fixed() => (f64::NEG_INFINITY, f64::INFINITY),
        -1 => (-friction, f64::INFINITY),
        1 => (f64::NEG_INFINITY, friction),
        _ => (-friction, friction),
    }
}

/// Sizes that tolerances are relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scales {
    /// Largest velocity of the step.
    pub(super) velocity: f64,
    /// Length of the step.
    pub(super) h: f64,
    /// Largest force of a locked row.
    pub(super) force: f64,
    /// Largest generalised force of any coordinate, whose rounding forces of rows carry.
    pub(super) push: f64,
}

impl Scales {
    /// Size of a row's value near its limits.
    pub(super) fn position(&self, row: &Row) -> f64 {
        let size = |x: f64| if x.is_finite() { x.abs() } else { 0.0 };
        size(row.lower).max(size(row.upper)).max(self.velocity * self.h)
    }

    /// Below minus this an event function of a row is violated.
    pub(super) fn threshold(&self, kind: usize, row: &Row, friction: f64) -> f64 {
        match kind {
            STOP => 1e-12 * self.velocity,
            DOWN | UP => 5e-9 * self.torque(friction),
            _ => 1e-13 * self.position(row),
        }
    }

    /// Within this it is zero.
    pub(super) fn tolerance(&self, kind: usize, row: &Row, friction: f64, slope: f64) -> f64 {
        let in_time = slope.abs() * 1e-12 * self.h;
        // Always less than what counts as violated: an event found must not be met again where it was found.
        let most = 0.5 * self.threshold(kind, row, friction);
        match kind {
            STOP => (2e-14 * self.velocity).max(in_time).min(most),
            DOWN | UP => 4e-9 * self.torque(friction),
            _ => (2e-15 * self.position(row)).max(in_time).min(most),
        }
    }

    /// Size of the forces that a row's bound is compared with.
    pub(super) fn torque(&self, friction: f64) -> f64 {
        (friction + 1e-3 * self.force).max(2e-5 * self.push)
    }
}

/// One moment of a step as the search for events sees it.
#[derive(Clone, Debug)]
pub(super) struct Moment {
    pub(super) t: f64,
    pub(super) q: Vec<f64>,
    pub(super) v: Vec<f64>,
    pub(super) a: Vec<f64>,
    /// Values and rates of the rows, and their accelerations where those are known.
    pub(super) value: Vec<f64>,
    pub(super) rate: Vec<f64>,
    pub(super) pace: Vec<f64>,
    /// Forces of locked rows.
    pub(super) force: Vec<f64>,
    /// True if accelerations and forces are there.
    pub(super) known: bool,
    /// Event functions, five per row; infinite where there is none.
    pub(super) g: Vec<f64>,
    pub(super) slope: Vec<f64>,
}

impl Moment {
    pub(super) fn new(nq: usize, nv: usize, rows: usize) -> Self {
        Self {
            t: 0.0,
            q: vec![0.0; nq],
            v: vec![0.0; nv],
            a: vec![0.0; nv],
            value: vec![0.0; rows],
            rate: vec![0.0; rows],
            pace: vec![0.0; rows],
            force: vec![0.0; rows],
            known: false,
            g: vec![f64::INFINITY; KINDS.len() * rows],
            slope: vec![0.0; KINDS.len() * rows],
        }
    }

    /// `self = other` without allocating.
    pub(super) fn clone_from_moment(&mut self, other: &Self) {
        (self.t, self.known) = (other.t, other.known);
        self.q.copy_from_slice(&other.q);
        self.v.copy_from_slice(&other.v);
        self.a.copy_from_slice(&other.a);
        self.value.copy_from_slice(&other.value);
        self.rate.copy_from_slice(&other.rate);
        self.pace.copy_from_slice(&other.pace);
        self.force.copy_from_slice(&other.force);
        self.g.copy_from_slice(&other.g);
        self.slope.copy_from_slice(&other.slope);
    }

    /// True if an event function is one of a locked row's force.
    pub(super) fn is_force(function: usize) -> bool {
        matches!(function % KINDS.len(), DOWN | UP)
    }

    /// Values and rates of the rows at its positions and velocities.
    pub(super) fn measure(&mut self, mechanism: &Mechanism, states: &[RowState], general: &mut General) {
        let Self { q, v, value, rate, .. } = self;
        general.measure(mechanism, states, q, v, value, rate);
    }

    /// Writes the event functions that positions and velocities tell, and those of forces if they are known.
    pub(super) fn weigh(&mut self, rows: &[Row], states: &[RowState], bound: &[f64], scales: &Scales) {
        self.g.fill(f64::INFINITY);
        for (k, (row, state)) in rows.iter().zip(states).enumerate() {
            let g = &mut self.g[KINDS.len() * k..KINDS.len() * (k + 1)];
            let slope = &mut self.slope[KINDS.len() * k..KINDS.len() * (k + 1)];
            if state.locked {
                if self.known {
                    let (low, high) = bounds(row, state, bound[k]);
                    // Beyond the bound by a little, so that the row then accelerates the right way.
                    let beyond = 5e-9 * scales.torque(bound[k]);
                    g[DOWN] = high - self.force[k] + beyond;
                    g[UP] = self.force[k] - low + beyond;
                }
                continue;
            }
            let (rate, acceleration) = (self.rate[k], if self.known { self.pace[k] } else { 0.0 });
            if state.sign != 0 {
                let sign = f64::from(state.sign);
                g[STOP] = sign * rate;
                slope[STOP] = sign * acceleration;
            }
            let value = self.value[k];
            if row.lower > f64::NEG_INFINITY {
                (g[LOWER], slope[LOWER]) = (value - row.lower, rate);
            }
            if row.upper < f64::INFINITY {
                (g[UPPER], slope[UPPER]) = (row.upper - value, -rate);
            }
        }
    }
}
