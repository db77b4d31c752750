//! [`RowMechanics`]: accelerations and row forces of a mechanism with some rows locked, by sweeps in O(n).
//!
//! Rows that are coordinates are locked in the sweep. Followers, loops, and rows of several coordinates while they are locked are
//! general rows `G x = target` with multipliers μ (`general.rs`), of which there are few:
//!
//! ```text
//! M x = b + Gᵀ μ + forces of locked rows,   (G M⁻¹ Gᵀ + S) μ = target − G M⁻¹ b                       (7.3)
//! ```
//!
//! In loops rows depend on each other: four joints with friction hold one freedom. There all rows are general ones, and the locked
//! ones share what they hold such that the sum of the squares of their forces is smallest.

use super::RowState;
use super::general::General;
use super::minimum_norm::MinimumNorm;
use crate::dynamics::{Dynamics, TreeMass};
use crate::mechanism::{Mechanism, Row, RowOf};

/// The mass matrix with one set of locked rows, factored.
#[derive(Clone, Debug)]
pub(super) struct Factored {
    pub(super) mass: TreeMass,
    locked: Vec<bool>,
    extra: Vec<f64>,
    /// General rows that act, and what is added to their diagonal.
    active: Vec<usize>,
    diagonal: Vec<f64>,
    /// `M⁻¹ Gᵀ` by active row.
    columns: Vec<f64>,
    schur: MinimumNorm,
    rest: Vec<f64>,
    /// Multipliers of the active rows after a solve.
    multipliers: Vec<f64>,
}

impl Factored {
    fn new(mechanism: &Mechanism, general: usize) -> Self {
        let nv = mechanism.nv();
        Self {
            mass: TreeMass::new(mechanism),
            locked: vec![false; nv],
            extra: vec![0.0; nv],
            active: Vec::with_capacity(general),
            diagonal: vec![0.0; general],
            columns: vec![0.0; general * nv],
            schur: MinimumNorm::new(general),
            rest: vec![0.0; nv],
            multipliers: vec![0.0; general],
        }
    }

    /// Factors with the rows that `stiffness` gives infinity to locked, and those it gives a finite number to held by that
    /// stiffness; zero leaves a row alone. Does not allocate.
    pub(super) fn factor(
        &mut self,
        mechanism: &Mechanism,
        general: &General,
        stiffness: impl Fn(usize) -> f64,
    ) -> Result<(), usize> {
        self.locked.fill(false);
        self.extra.fill(0.0);
        self.active.clear();
        self.active.extend(0..general.hard);
        self.diagonal.fill(0.0);
        for (k, row) in mechanism.rows().iter().enumerate() {
            let s = stiffness(k);
            if s == 0.0 {
                continue;
            }
            match (general.swept(k, row), general.of_row[k]) {
                (Some(at), _) if s.is_infinite() => self.locked[at.v] = true,
                (Some(at), _) => self.extra[at.v] = s,
                (None, Some(g)) => {
                    self.diagonal[self.active.len()] = 1.0 / s;
                    self.active.push(g);
                }
                (None, None) => {}
            }
        }
        self.mass.factor(mechanism, &self.locked, &self.extra)?;
        self.factor_general(mechanism, general);
        Ok(())
    }

    /// Columns and the Schur complement.
    fn factor_general(&mut self, mechanism: &Mechanism, general: &General) {
        let (nv, m) = (mechanism.nv(), self.active.len());
        if m == 0 {
            return;
        }
        for (i, g) in self.active.iter().enumerate() {
            self.rest.fill(0.0);
            for (c, a) in &general.gradients[*g] {
                self.rest[*c] += a;
            }
            self.mass.solve(mechanism, &self.rest, &mut self.columns[i * nv..(i + 1) * nv]);
        }
        let (active, columns, diagonal) = (&self.active, &self.columns, &self.diagonal);
        self.schur.factor(m, general.hard, general.has_loops(), |i, j| {
            let s = general.dot(active[i], &columns[j * nv..(j + 1) * nv]);
            s + if i == j { diagonal[i] } else { 0.0 }
        });
    }

    /// `M x = b + Gᵀ μ + …`, `G x = target` of the active rows, locked coordinates zero. Does not allocate.
    pub(super) fn solve(
        &mut self,
        mechanism: &Mechanism,
        general: &General,
        b: &[f64],
        target: impl Fn(usize) -> f64,
        x: &mut [f64],
    ) {
        self.mass.solve(mechanism, b, x);
        let (nv, m) = (mechanism.nv(), self.active.len());
        if m == 0 {
            return;
        }
        for i in 0..m {
            let g = self.active[i];
            self.multipliers[i] = target(g) - general.dot(g, x);
        }
        self.schur.solve(&mut self.multipliers[..m]);
        for i in 0..m {
            for c in 0..nv {
                x[c] += self.multipliers[i] * self.columns[i * nv + c];
            }
        }
    }

    /// Multiplier of a general row after a solve.
    pub(super) fn multiplier(&self, general: &General, row: usize) -> f64 {
        let at = general.of_row[row].and_then(|g| self.active.iter().position(|a| *a == g));
        at.map_or(0.0, |i| self.multipliers[i])
    }

    /// Forces of the locked rows after a solve: `M x − b − Gᵀ μ`. `back` is memory.
    pub(super) fn forces(
        &mut self,
        mechanism: &Mechanism,
        general: &General,
        b: &[f64],
        x: &[f64],
        back: &mut [f64],
        out: &mut [f64],
    ) {
        self.mass.times(mechanism, x, back);
        for (back, b) in back.iter_mut().zip(b) {
            *back -= b;
        }
        for (i, g) in self.active.iter().enumerate() {
            for (c, a) in &general.gradients[*g] {
                back[*c] -= a * self.multipliers[i];
            }
        }
        for (k, row) in mechanism.rows().iter().enumerate() {
            out[k] = match general.swept(k, row) {
                Some(at) => back[at.v],
                None => self.multiplier(general, k),
            };
        }
    }
}

/// Accelerations and forces of a mechanism with rows, at one state.
#[derive(Clone, Debug)]
pub struct RowMechanics {
    dynamics: Dynamics<f64>,
    pub(super) general: General,
    /// With no row locked, and with some.
    pub(super) free: Factored,
    pub(super) held: Factored,
    /// All forces but those of locked rows, minus the bias.
    pub(super) push: Vec<f64>,
    pub(super) bound: Vec<f64>,
    /// Rows that stay where they are until the step is over, whatever it takes.
    pub(super) stays: Vec<bool>,
    pub(super) zero: Vec<f64>,
    pub(super) scratch: Vec<f64>,
}

impl RowMechanics {
    /// Memory for a mechanism.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Self {
        let nv = mechanism.nv();
        let general = General::new(mechanism);
        let count = general.gradients.len();
        Self {
            dynamics: Dynamics::new(mechanism),
            general,
            free: Factored::new(mechanism, count),
            held: Factored::new(mechanism, count),
            push: vec![0.0; nv],
            bound: vec![0.0; mechanism.rows().len()],
            stays: vec![false; mechanism.rows().len()],
            zero: vec![0.0; nv],
            scratch: vec![0.0; nv],
        }
    }

    /// Takes a state: forces under the inputs `u`, with the friction of sliding rows. Does not allocate.
    pub(super) fn place(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        u: &[f64],
    ) {
        self.general.place(mechanism, q, v);
        self.dynamics.applied_forces_into(mechanism, q, v, u, &mut self.push);
        for (k, (row, state)) in mechanism.rows().iter().zip(states).enumerate() {
            add_friction(mechanism, row, state, q, &mut self.push);
            if let (RowOf::Loop { friction, .. }, false) = (&row.of, state.locked) {
                self.general.add_force(k, row, -f64::from(state.sign) * friction, &mut self.push);
            }
        }
        self.dynamics.rnea_widest(mechanism, &self.zero, &mut self.scratch);
        for (push, bias) in self.push.iter_mut().zip(&self.scratch) {
            *push -= bias;
        }
        self.free.mass.place(mechanism, &self.dynamics);
        self.held.mass.place(mechanism, &self.dynamics);
        for (k, row) in mechanism.rows().iter().enumerate() {
            self.bound[k] = if self.stays[k] { f64::INFINITY } else { row.bound(mechanism.followers(), q) };
        }
    }

    /// Takes the masses and general rows of a state, no forces. Does not allocate.
    pub(super) fn place_masses(&mut self, mechanism: &Mechanism, q: &[f64], v: &[f64]) {
        self.general.place(mechanism, q, v);
        self.dynamics.kinematics.update(mechanism, q, v);
        self.free.mass.place(mechanism, &self.dynamics);
        self.held.mass.place(mechanism, &self.dynamics);
    }

    /// Kinetic energy at a state, and the power of all forces but those of locked rows. Does not allocate.
    pub(super) fn energy(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        u: &[f64],
    ) -> (f64, f64) {
        self.dynamics.applied_forces_into(mechanism, q, v, u, &mut self.push);
        for (row, state) in mechanism.rows().iter().zip(states) {
            add_friction(mechanism, row, state, q, &mut self.push);
        }
        // Gravity is the inverse dynamics of rest.
        self.dynamics.inverse_dynamics_into(mechanism, q, &self.zero, &self.zero, &mut self.scratch);
        let power: f64 =
            v.iter().zip(self.push.iter().zip(&self.scratch)).map(|(v, (f, g))| v * (f - g)).sum();
        self.free.mass.place(mechanism, &self.dynamics);
        self.free.mass.times(mechanism, v, &mut self.scratch);
        let twice: f64 = v.iter().zip(&self.scratch).map(|(v, p)| v * p).sum();
        (0.5 * twice, power)
    }

    /// Acceleration and forces of the locked rows at the state last placed. Does not allocate.
    ///
    /// # Errors
    /// The node at which the mass matrix is singular.
    pub(super) fn respond(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        a: &mut [f64],
        force: &mut [f64],
    ) -> Result<(), usize> {
        let Self { general, held, push, scratch, .. } = self;
        held.factor(mechanism, general, |k| if states[k].locked { f64::INFINITY } else { 0.0 })?;
        held.solve(mechanism, general, push, |g| general.drift[g], a);
        held.forces(mechanism, general, push, a, scratch, force);
        Ok(())
    }

    /// `M v` at the state last placed.
    pub(super) fn momentum(&mut self, mechanism: &Mechanism, v: &[f64], p: &mut [f64]) {
        self.free.mass.times(mechanism, v, p);
    }

    /// Acceleration with the modes given, as [`Parts`](super::Parts) of baselines need it. Does not allocate.
    pub fn acceleration(
        &mut self,
        mechanism: &Mechanism,
        states: &[RowState],
        q: &[f64],
        v: &[f64],
        u: &[f64],
        a: &mut [f64],
    ) {
        self.place(mechanism, states, q, v, u);
        let Self { general, held, push, .. } = self;
        let locked = |k: usize| if states[k].locked { f64::INFINITY } else { 0.0 };
        if held.factor(mechanism, general, locked).is_err() {
            a.fill(f64::NAN);
            return;
        }
        held.solve(mechanism, general, push, |g| general.drift[g], a);
    }
}

/// The friction of a sliding row, on all its members.
pub(super) fn add_friction(
    mechanism: &Mechanism,
    row: &Row,
    state: &RowState,
    q: &[f64],
    forces: &mut [f64],
) {
    if !state.locked && state.sign != 0 {
        row.friction_torques(mechanism.followers(), q, f64::from(state.sign), |at, torque| {
            forces[at.v] += torque;
        });
    }
}
