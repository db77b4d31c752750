//! Four states of one mechanism side by side: the mass-matrix iteration in lanes, with the bits of each state alone.
//!
//! Lanes run the very operations of [`Solver`](super::step::Solver) and never fuse two of them. A lane that is done is not
//! moved any more, and evaluating it again changes nothing, so its numbers do not depend on its neighbours. A lane that has
//! no history, rests after a failure, contracts slowly, turns too far or is not finite *leaves*: the scalar solver then takes
//! this step from where it began. Leaving is always right; staying must be proved by the tests.

use super::guess::{Continuation, remember};
use super::lanes::Lanes;
use super::mass_factor::{MassFactor, MassMemory, balance_balls, mass_increment};
use super::options::{MinimalOptions, Policy, Stopping};
use super::residual::{Point, Residual};
use super::scale::rounding_scale;
use super::scheme::Scheme;
use super::segments::Segments;
use super::state::{MinimalState, move_position, split_position};
use super::step::{MASS_ITERATIONS, MAX_TILT, SLOW, Solver};
use super::wrench::{Impulses, ModelForces};
use crate::integrator::StepError;
use crate::mechanism::{Mechanism, cut};
use crate::scalar::Real;
use leastaction_core::simd::{Exact, LANES, Task, Wide, has_wide, run_states};

/// Numbers of four states.
type W = Exact<Wide>;
/// One number of each state, in memory that any code can read.
type Four = [f64; LANES];

/// Steps of several states at once. A trait, so that the kernels are compiled for the orders that have them only.
pub(crate) trait Together<const N: usize>: std::fmt::Debug + Send {
    /// Steps what can be stepped side by side, and says which states that were; the others are as before.
    fn step(
        &mut self,
        solver: &mut Solver<N>,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &[Option<StepError>],
    ) -> [bool; LANES];
}

/// Gives a solver memory for several states, if mechanism and processor allow.
pub(crate) fn make_lanes<const N: usize, const S: usize>(solver: &mut Solver<N>) -> bool
where
    WideSolver<N, S>: Together<N>,
{
    if has_wide() && solver.is_plain() {
        solver.wide = Some(Box::new(WideSolver::<N, S>::new(&solver.segments)));
    }
    solver.wide.is_some()
}

impl<const N: usize> Solver<N> {
    /// Steps several states by the inputs `u`, one after another in it. States with a failure are left out; the others get one
    /// if their step cannot be taken, and are then where they were. Every state gets the bits of a step alone.
    pub(crate) fn step_together(
        &mut self,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &mut [Option<StepError>],
    ) {
        self.choose_points(h);
        let mut taken = [false; LANES];
        if options.policy == Policy::Mass
            && !self.scheme.gauss
            && let Some(mut wide) = self.wide.take()
        {
            taken = wide.step(self, mechanism, options, states, u, h, failures);
            self.wide = Some(wide);
        }
        let nu = self.segments.nu;
        for (i, (state, failure)) in states.iter_mut().zip(failures).enumerate() {
            if failure.is_none() && !taken.get(i).is_some_and(|taken| *taken) {
                *failure = self.step(mechanism, options, state, &u[i * nu..(i + 1) * nu], h).err();
            }
        }
    }

    /// True if steps of this mechanism have nothing but what several states can do side by side.
    pub(crate) fn is_plain(&self) -> bool {
        let Segments { servos, tendons, origins, .. } = &self.segments;
        let rows = self.driver.is_none() && self.ties.is_none() && self.residual.resistance.is_empty();
        rows && servos.is_empty() && tendons.is_empty() && *origins == 0 && self.forces.of_model_only()
    }
}

/// Memory of the iteration in lanes: `N` nodes, of which `S` are unknown.
#[derive(Debug)]
pub(crate) struct WideSolver<const N: usize, const S: usize> {
    point: Point<W, N>,
    residual: Residual<W, N>,
    mass: MassFactor<W>,
    memory: MassMemory<Lanes<W, S>>,
    scale: Vec<Lanes<W, N>>,
    rows: Vec<Lanes<W, S>>,
    direction: Vec<Lanes<W, N>>,
    guesses: [Continuation<N>; LANES],
    /// What is exchanged with the states: coordinates, momenta, increments, rotations, inputs, efforts.
    base: Vec<Four>,
    p: Vec<Four>,
    delta: Vec<[Four; N]>,
    anchors: Vec<[[Four; 3]; 3]>,
    inputs: Vec<Four>,
    efforts: Vec<Four>,
}

impl<const N: usize, const S: usize> WideSolver<N, S> {
    fn new(segments: &Segments) -> Self {
        let n = segments.n;
        Self {
            point: Point::new(segments),
            residual: Residual::new(segments),
            mass: MassFactor::new(segments),
            memory: MassMemory::new(segments),
            scale: vec![Lanes::default(); n],
            rows: vec![Lanes::default(); n],
            direction: vec![Lanes::default(); n],
            guesses: std::array::from_fn(|_| Continuation::new()),
            base: vec![[0.0; LANES]; n],
            p: vec![[0.0; LANES]; n],
            delta: vec![[[0.0; LANES]; N]; n],
            anchors: vec![[[[0.0; LANES]; 3]; 3]; segments.balls],
            inputs: vec![[0.0; LANES]; segments.nu],
            efforts: vec![[0.0; LANES]; n],
        }
    }

    /// Puts the guess of a state into a lane; false if it has no history to make one from.
    fn enter(
        &mut self,
        lane: usize,
        solver: &mut Solver<N>,
        mechanism: &Mechanism,
        state: &MinimalState,
        u: &[f64],
        h: f64,
    ) -> bool {
        let Solver { segments, scheme, point, .. } = solver;
        split_position(mechanism, &state.q, &mut point.base, &mut point.anchors);
        if !self.guesses[lane].extrapolate(segments, scheme, state, h, point) {
            return false;
        }
        for c in 0..segments.n {
            self.base[c][lane] = point.base[c];
            self.p[c][lane] = state.p[c];
            for node in 0..N {
                self.delta[c][node][lane] = point.delta[c].0[node];
            }
        }
        for (to, from) in self.anchors.iter_mut().zip(&point.anchors) {
            for i in 0..3 {
                for j in 0..3 {
                    to[i][j][lane] = from.0[i][j];
                }
            }
        }
        for (k, (to, u)) in self.inputs.iter_mut().zip(u).enumerate() {
            to[lane] = mechanism.drives()[k].constant(*u);
        }
        for a in &segments.actuators {
            self.efforts[a.coordinate][lane] = 0.0;
        }
        for a in &segments.actuators {
            self.efforts[a.coordinate][lane] += self.inputs[a.input][lane] * a.gear;
        }
        for a in &segments.actuators {
            let effort = &mut self.efforts[a.coordinate][lane];
            *effort = cut(*effort, segments.laws[a.coordinate].effort).0;
        }
        true
    }

    /// Lanes that nobody is in do what another one does.
    fn fill_up(&mut self, inside: [bool; LANES]) {
        let Some(model) = inside.iter().position(|inside| *inside) else { return };
        let copy = |four: &mut Four| {
            for lane in 0..LANES {
                if !inside[lane] {
                    four[lane] = four[model];
                }
            }
        };
        self.base.iter_mut().for_each(copy);
        self.p.iter_mut().for_each(copy);
        self.delta.iter_mut().flatten().for_each(copy);
        self.anchors.iter_mut().flatten().flatten().for_each(copy);
        self.inputs.iter_mut().for_each(copy);
        self.efforts.iter_mut().for_each(copy);
    }

    /// Residuals of all lanes; false where a lane is not finite or turns too far.
    fn evaluate(&mut self, segments: &Segments, scheme: &Scheme<N>, first: bool) -> [bool; LANES] {
        let Self { point, residual, .. } = self;
        let tilt = run_states(Outward { segments, scheme, point, residual, first });
        let sum = run_states(Inward { segments, scheme, point, residual });
        std::array::from_fn(|lane| sum[lane] == 0.0 && tilt[lane] <= MAX_TILT)
    }

    /// The iteration of [`Solver::quasi_newton`](super::step::Solver) for all lanes; true where it found a solution.
    fn solve(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        mut stopping: [Stopping; LANES],
        mut inside: [bool; LANES],
    ) -> [bool; LANES] {
        let good = self.evaluate(segments, scheme, true);
        let Self { residual, mass, .. } = self;
        run_states(Factor { segments, scheme, residual, mass });
        let sound = mass.sound(segments);
        let Self { point, residual, scale, .. } = self;
        run_states(Scale { segments, scheme, point, residual, scale });
        let mut previous = [f64::INFINITY; LANES];
        let mut done = [false; LANES];
        let mut expected = [false; LANES];
        for lane in 0..LANES {
            inside[lane] &= sound[lane] && good[lane];
        }
        for iteration in 0..=MASS_ITERATIONS {
            if inside == [false; LANES] {
                break;
            }
            let Self { residual, mass, memory, scale, rows, direction, .. } = self;
            let (norm, merit) =
                run_states(Direction { segments, scheme, residual, mass, memory, scale, rows, direction });
            let mut ends = [false; LANES];
            for lane in 0..LANES {
                if !inside[lane] {
                    continue;
                }
                let (norm, merit) = (norm[lane], merit[lane]);
                if expected[lane] && stopping[lane].holds(merit) {
                    (done[lane], inside[lane]) = (true, false);
                    continue;
                }
                let slight = iteration == 0 && stopping[lane].is_slight(norm);
                if stopping[lane].accepts(merit, norm, previous[lane]) || slight {
                    if iteration > 0 && stopping[lane].is_settled(norm) {
                        (done[lane], inside[lane]) = (true, false);
                    } else {
                        ends[lane] = true;
                    }
                    continue;
                }
                let slow = norm > SLOW * previous[lane] && !stopping[lane].is_noise(merit, norm);
                if slow || iteration == MASS_ITERATIONS || !norm.is_finite() {
                    inside[lane] = false;
                }
                expected[lane] = stopping[lane].foresees(norm, previous[lane]);
                previous[lane] = norm;
            }
            if inside == [false; LANES] {
                break;
            }
            let moving = inside.map(|inside| if inside { -1.0 } else { 1.0 });
            run_states(Advance { point: &mut self.point, direction: &self.direction, moving });
            let good = self.evaluate(segments, scheme, false);
            for lane in 0..LANES {
                done[lane] |= ends[lane] && good[lane];
                inside[lane] &= good[lane] && !ends[lane];
            }
        }
        done
    }

    /// Moves a state to the end of the step in its lane.
    fn leave(
        &self,
        lane: usize,
        solver: &mut Solver<N>,
        mechanism: &Mechanism,
        state: &mut MinimalState,
        h: f64,
    ) {
        let Solver { scheme, point, .. } = solver;
        move_position(mechanism, &mut state.q, |c| self.delta[c][scheme.s][lane]);
        for c in 0..self.p.len() {
            state.p[c] = self.p[c][lane];
            for node in 0..N {
                point.delta[c].0[node] = self.delta[c][node][lane];
            }
        }
        state.t += h;
        remember(scheme, point, h, state);
    }

    fn step_some(
        &mut self,
        solver: &mut Solver<N>,
        mechanism: &Mechanism,
        options: &MinimalOptions,
        states: &mut [MinimalState],
        u: &[f64],
        h: f64,
        failures: &[Option<StepError>],
    ) -> [bool; LANES] {
        let nu = solver.segments.nu;
        let mut inside = [false; LANES];
        let mut stopping = [Stopping::new(options, 1, 0.0); LANES];
        for (lane, (state, failure)) in states.iter().zip(failures).enumerate().take(LANES) {
            if failure.is_none() && state.caution == 0.0 {
                let u = &u[lane * nu..(lane + 1) * nu];
                inside[lane] = self.enter(lane, solver, mechanism, state, u, h);
                stopping[lane] = solver.stopping(options);
            }
        }
        if inside.iter().filter(|inside| **inside).count() < 2 {
            return [false; LANES];
        }
        self.fill_up(inside);
        self.residual.set_length(&solver.scheme, h);
        run_states(Load(self));
        let done = self.solve(&solver.segments, &solver.scheme, stopping, inside);
        run_states(Store(self));
        for (lane, state) in states.iter_mut().enumerate().take(LANES) {
            if done[lane] {
                self.leave(lane, solver, mechanism, state, h);
            }
        }
        done
    }
}

macro_rules! orders {
    ($($n:literal, $s:literal);*) => {$(
        impl Together<$n> for WideSolver<$n, $s> {
            fn step(
                &mut self,
                solver: &mut Solver<$n>,
                mechanism: &Mechanism,
                options: &MinimalOptions,
                states: &mut [MinimalState],
                u: &[f64],
                h: f64,
                failures: &[Option<StepError>],
            ) -> [bool; LANES] {
                self.step_some(solver, mechanism, options, states, u, h, failures)
            }
        }
    )*};
}
orders!(2, 1; 3, 2);

// The kernels, each one function of the machine. Everything they call is inlined into them.

struct Load<'a, const N: usize, const S: usize>(&'a mut WideSolver<N, S>);
impl<const N: usize, const S: usize> Task for Load<'_, N, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let solver = self.0;
        let n = solver.base.len();
        for c in 0..n {
            solver.point.base[c] = W::from_lanes(solver.base[c]);
            solver.point.p[c] = W::from_lanes(solver.p[c]);
            solver.residual.efforts[c] = Lanes::splat(W::from_lanes(solver.efforts[c]));
            for node in 0..N {
                solver.point.delta[c].0[node] = W::from_lanes(solver.delta[c][node]);
            }
        }
        for (to, from) in solver.point.anchors.iter_mut().zip(&solver.anchors) {
            for i in 0..3 {
                for j in 0..3 {
                    to.0[i][j] = W::from_lanes(from[i][j]);
                }
            }
        }
        for (to, from) in solver.point.u.iter_mut().zip(&solver.inputs) {
            *to = Lanes::splat(W::from_lanes(*from));
        }
    }
}

struct Store<'a, const N: usize, const S: usize>(&'a mut WideSolver<N, S>);
impl<const N: usize, const S: usize> Task for Store<'_, N, S> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let solver = self.0;
        for c in 0..solver.base.len() {
            solver.p[c] = solver.residual.carried[c].lanes();
            for node in 0..N {
                solver.delta[c][node] = solver.point.delta[c].0[node].lanes();
            }
        }
    }
}

struct Factor<'a, const N: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    residual: &'a Residual<W, N>,
    mass: &'a mut MassFactor<W>,
}
impl<const N: usize> Task for Factor<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { segments, scheme, residual, mass } = self;
        mass.place_between(segments, scheme, residual);
        // Of several states the factorisation does not fail; which are sound is asked afterwards.
        let _ = mass.eliminate(segments);
    }
}

struct Outward<'a, const N: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    point: &'a Point<W, N>,
    residual: &'a mut Residual<W, N>,
    /// False where only increments have changed since the last time.
    first: bool,
}
impl<const N: usize> Task for Outward<'_, N> {
    /// Largest tilt of a ball in each lane.
    type Output = Four;
    #[inline(always)]
    fn run(self) -> Four {
        let Self { segments, scheme, point, residual, first } = self;
        residual.outward_by_node(segments, scheme, point, first);
        ModelForces.set_impulses(segments, point, residual);
        let mut tilt = W::zero();
        for ball in &residual.balls {
            tilt = tilt.maximum(ball.tilt);
        }
        tilt.lanes()
    }
}

struct Inward<'a, const N: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    point: &'a Point<W, N>,
    residual: &'a mut Residual<W, N>,
}
impl<const N: usize> Task for Inward<'_, N> {
    /// Zero in the lanes whose rows are finite.
    type Output = Four;
    #[inline(always)]
    fn run(self) -> Four {
        let Self { segments, scheme, point, residual } = self;
        residual.inward(segments, scheme, point);
        let mut sum = W::zero();
        for row in &residual.rows {
            for i in 0..N {
                sum += row.0[i] * 0.0;
            }
        }
        sum.lanes()
    }
}

struct Scale<'a, const N: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    point: &'a Point<W, N>,
    residual: &'a Residual<W, N>,
    scale: &'a mut [Lanes<W, N>],
}
impl<const N: usize> Task for Scale<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        rounding_scale(self.segments, self.scheme, self.point, self.residual, self.scale);
    }
}

struct Direction<'a, const N: usize, const S: usize> {
    segments: &'a Segments,
    scheme: &'a Scheme<N>,
    residual: &'a Residual<W, N>,
    mass: &'a MassFactor<W>,
    memory: &'a mut MassMemory<Lanes<W, S>>,
    scale: &'a [Lanes<W, N>],
    rows: &'a mut [Lanes<W, S>],
    direction: &'a mut [Lanes<W, N>],
}
impl<const N: usize, const S: usize> Task for Direction<'_, N, S> {
    /// Largest entry of the direction, and largest scaled residual.
    type Output = (Four, Four);
    #[inline(always)]
    fn run(self) -> (Four, Four) {
        let Self { segments, scheme, residual, mass, memory, scale, rows, direction } = self;
        for (to, row) in rows.iter_mut().zip(&residual.rows) {
            for al in 0..S {
                to.0[al] = row.0[al];
            }
        }
        balance_balls(segments, rows);
        mass.solve_inlined(segments, memory, rows);
        let mut norm = W::zero();
        for (to, row) in direction.iter_mut().zip(rows.iter()) {
            *to = mass_increment(scheme, residual.h, *row, &mut norm);
        }
        // Where a row is zero its scale may be, too.
        let tiny = W::from_f64(f64::from_bits(1));
        let mut merit = W::zero();
        for (row, scale) in residual.rows.iter().zip(scale) {
            for al in 0..S {
                merit = merit.maximum(row.0[al].abs() / scale.0[al].maximum(tiny));
            }
        }
        (norm.lanes(), merit.lanes())
    }
}

struct Advance<'a, const N: usize> {
    point: &'a mut Point<W, N>,
    direction: &'a [Lanes<W, N>],
    /// Negative in the lanes that move.
    moving: Four,
}
impl<const N: usize> Task for Advance<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let moving = W::from_lanes(self.moving);
        for (delta, step) in self.point.delta.iter_mut().zip(self.direction) {
            for node in 0..N {
                let old = delta.0[node];
                delta.0[node] = old.blend(old + step.0[node], moving);
            }
        }
    }
}
