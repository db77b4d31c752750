//! Velocities and momenta of a state, remembered where they are asked for again.

use super::{Failure, Hint, Solver};
use crate::mass_factor::MassFactor;
use crate::mechanism::{Mechanism, State};
use crate::residual::Point;
use crate::segments::Segments;
use crate::single;
use crate::state::{MinimalState, from_public, split_position, to_public};

/// Velocities of one state: a function of its positions, its momenta, and of what is held.
#[derive(Clone, Debug)]
pub(crate) struct Recalled {
    known: bool,
    q: Vec<f64>,
    p: Vec<f64>,
    locked: Vec<bool>,
    v: Vec<f64>,
    /// `M v` of what is held.
    held: Vec<f64>,
    /// The mass matrix there: that of the iteration stays as it is.
    pub(crate) mass: MassFactor,
}

impl Recalled {
    /// Room for a mechanism: nothing is allocated later.
    pub(super) fn new(mechanism: &Mechanism, segments: &Segments) -> Self {
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let zero = || vec![0.0; nv];
        let mass = MassFactor::new(segments);
        Self {
            known: false,
            q: vec![0.0; nq],
            p: zero(),
            locked: vec![false; nv],
            v: zero(),
            held: zero(),
            mass,
        }
    }

    fn is_of(&self, state: &MinimalState, locked: &[bool]) -> bool {
        self.known && self.p == state.p && self.q == state.q && self.locked == locked
    }

    /// `M v` of what is held at a state, if it is the one remembered.
    pub(crate) fn held_momentum(&self, state: &MinimalState, locked: &[bool]) -> Option<&[f64]> {
        self.is_of(state, locked).then_some(&self.held)
    }

    /// The mass matrix is used for something else.
    pub(crate) fn forget(&mut self) {
        self.known = false;
    }

    fn keep(&mut self, state: &MinimalState, locked: &[bool], v: &[f64]) {
        self.q.clone_from(&state.q);
        self.p.clone_from(&state.p);
        self.locked.clear();
        self.locked.extend_from_slice(locked);
        self.v.clear();
        self.v.extend_from_slice(v);
        self.known = true;
    }

    /// Momenta along what is held do not count: the state now has these.
    pub(crate) fn held_have(&mut self, state: &MinimalState, locked: &[bool]) {
        if self.known && self.q == state.q && self.locked == locked {
            for (p, (of_state, _)) in
                self.p.iter_mut().zip(state.p.iter().zip(locked)).filter(|(_, (_, l))| **l)
            {
                *p = *of_state;
            }
        }
    }
}

impl<const N: usize> Solver<N> {
    /// Momenta of a public state: the Legendre transform.
    pub(crate) fn legendre(&mut self, mechanism: &Mechanism, public: &State, state: &mut MinimalState) {
        self.hint = Hint::None;
        self.velocity.copy_from_slice(&public.v);
        from_public(mechanism, &public.q, &mut self.velocity);
        self.stand_at(mechanism, &public.q);
        let Self { mass, segments, point, scalar_memory: memory, velocity, .. } = self;
        single::momenta(mass, segments, memory, point, velocity, &mut state.p);
        self.reduce_momentum(&mut state.p);
    }

    /// Remembers `self.velocity` as that of a state, where nothing else is asked of what is remembered.
    pub(crate) fn keep_velocity(&mut self, state: &MinimalState) {
        if self.is_free() {
            self.recalled.keep(state, &self.locked, &self.velocity);
        }
    }

    /// True if velocities follow from positions and momenta alone: nothing is held, and nothing follows.
    pub(crate) fn is_free(&self) -> bool {
        self.driver.is_none() && self.ties.is_none() && self.held.is_none()
    }

    /// As [`recover_velocity`](Self::recover_velocity), remembered; without the mass matrix, as they were if they were asked for last.
    pub(crate) fn known_velocity(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
        with_mass: bool,
    ) -> Result<(), Failure> {
        if !with_mass && self.is_free() && self.recalled.is_of(state, &self.locked) {
            self.velocity.copy_from_slice(&self.recalled.v);
            return Ok(());
        }
        self.recover_velocity(mechanism, state)?;
        self.keep_velocity(state);
        Ok(())
    }

    /// Engine velocities of a state into `self.velocity`.
    pub(crate) fn recover_velocity(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
    ) -> Result<(), Failure> {
        self.mass_at_hand = false;
        let evaluated = self.is_free() && self.ends_at(mechanism, state);
        self.stand_at(mechanism, &state.q);
        if self.ties.is_none() && self.held.is_none() {
            self.velocity.copy_from_slice(&state.p);
            let Self { mass, segments, point, scalar_memory: memory, velocity, residual, .. } = self;
            let found = if evaluated {
                single::end_velocities(mass, segments, memory, residual, velocity)
            } else {
                single::velocities(mass, segments, memory, point, velocity)
            };
            return found.map_err(|segment| Failure::Singular { segment, what: "mass matrix" });
        }
        self.mass
            .factor(&self.segments, &self.point.base, &self.point.anchors)
            .map_err(|segment| Failure::Singular { segment, what: "mass matrix" })?;
        self.tie_mass(|_, _| 0.0)?;
        self.velocity.copy_from_slice(&state.p);
        self.mass.solve(&self.segments, &mut self.scalar_memory, &mut self.velocity);
        if let Some(ties) = &self.ties {
            ties.correct_rates(state.t, &mut self.multipliers.0, &mut self.velocity);
        }
        if let (true, Some(held)) = (self.hold_mass(), &mut self.held) {
            held.correct_velocity(&mut self.velocity);
        }
        Ok(())
    }

    /// Velocities of a state, remembered: the driver of friction and limits asks for those of the end of a step three times.
    pub(crate) fn recall_velocity(
        &mut self,
        mechanism: &Mechanism,
        state: &MinimalState,
    ) -> Result<(), Failure> {
        if self.ties.is_some() || self.held.as_ref().is_some_and(|held| held.acts()) {
            return self.recover_velocity(mechanism, state);
        }
        if self.recalled.is_of(state, &self.locked) {
            self.velocity.copy_from_slice(&self.recalled.v);
            return Ok(());
        }
        self.recalled.known = false;
        let evaluated = self.ends_at(mechanism, state);
        self.stand_at(mechanism, &state.q);
        let Self { recalled, segments, point, scalar_memory: memory, velocity, residual, .. } = self;
        velocity.copy_from_slice(&state.p);
        let found = if evaluated {
            single::end_velocities(&mut recalled.mass, segments, memory, residual, velocity)
        } else {
            single::velocities(&mut recalled.mass, segments, memory, point, velocity)
        };
        found.map_err(|segment| Failure::Singular { segment, what: "mass matrix" })?;
        recalled.keep(state, &self.locked, velocity);
        if self.holds {
            recalled.mass.held_momentum(segments, memory, &mut recalled.held);
        }
        Ok(())
    }

    /// Puts the start of the point at a position.
    pub(crate) fn stand_at(&mut self, mechanism: &Mechanism, q: &[f64]) {
        self.end_at_hand = false;
        split_position(mechanism, q, &mut self.point.base, &mut self.point.anchors);
    }

    /// True if the residual was evaluated last where a state is the end of the step, with the bits that kinematics there would give: balls
    /// begin anew at every step, and so do slides that carry a whole tree.
    pub(super) fn ends_at(&self, mechanism: &Mechanism, state: &MinimalState) -> bool {
        let Point { base, delta, .. } = &self.point;
        let end = |c: usize| base[c] + delta[c].0[self.scheme.s];
        self.end_at_hand
            && self.plain
            && !self.scheme.gauss
            && mechanism
                .tree()
                .nodes
                .iter()
                .all(|node| (0..node.nv).all(|k| state.q[node.q + k] == end(node.v + k)))
    }

    /// Public velocities of a state; not a number where the mass matrix is singular.
    pub(crate) fn public_velocity(&mut self, mechanism: &Mechanism, state: &MinimalState, v: &mut [f64]) {
        if self.driver.is_some() {
            self.set_modes(mechanism, &state.rows.list, &state.q);
        }
        let found = match self.driver.is_some() {
            true => self.recall_velocity(mechanism, state),
            false => self.known_velocity(mechanism, state, false),
        };
        if found.is_err() {
            self.velocity.fill(f64::NAN);
        }
        v.copy_from_slice(&self.velocity);
        to_public(mechanism, &state.q, v);
    }
}
