//! Mechanics of articulated bodies computed the structured way.
//!
//! A mechanism is a tree of bodies, perhaps with closed loops. `leastaction` moves it by making the discrete action
//! stationary,
//!
//! ```text
//! D₂ L_d(q_{k−1}, q_k) + D₁ L_d(q_k, q_{k+1}) + forces = 0,
//! ```
//!
//! which keeps momentum exactly and the energy error bounded for as long as one likes, in time linear in the number of
//! bodies.
//!
//! # A first example
//!
//! ```
//! use leastaction::dynamics::Dynamics;
//! use leastaction::integrator::{Method, MethodOptions, Simulator};
//! use leastaction::mechanism::{MechanismBuilder, samples};
//!
//! let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
//! let start = mechanism.start_state();
//! let energy = Dynamics::new(&mechanism).observe(&mechanism, &start.q, &start.v).total();
//!
//! let options = MethodOptions { order: Some(4), ..MethodOptions::default() };
//! let mut simulator = Simulator::new(&mechanism, Method::Minimal, &options, &start)?;
//! for _ in 0..1000 {
//!     simulator.step(&[], 1e-3)?;
//! }
//! let end = simulator.state();
//! let drift = Dynamics::new(&mechanism).observe(&mechanism, &end.q, &end.v).total() - energy;
//! assert!(drift.abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where is …
//!
//! | what | where |
//! |---|---|
//! | the model, its builder, joint formulas, samples | [`mechanism`] |
//! | poses, twists, wrenches, inertias | [`spatial`] |
//! | exp, log and their tangents | [`lie`] |
//! | inverse and forward dynamics, mass matrix, energies | [`dynamics`] |
//! | time stepping, [`Simulator`](integrator::Simulator) | [`integrator`] |
//! | variational integrators: joint coordinates, poses with loops | [`integrator::minimal`], [`integrator::maximal`] |
//! | quantities with time derivatives and their Jacobians | [`jet`] |
//! | B-splines; motions from costs, costs from motions | [`spline`], [`optimize`] |
//! | inputs that reach a goal, feedback that holds it | [`control`] |
//! | URDF, MJCF, JSON, trajectories | [`io`], [`trajectory`] |
//!
//! Abbreviations used throughout: RNEA recursive Newton–Euler algorithm, CRBA composite rigid-body algorithm, ABA
//! articulated-body algorithm, DEL discrete Euler–Lagrange equations, LDU block factorisation on the constraint graph,
//! CMTM comprehensive motion transformation matrix.

pub mod control;
pub mod integrator;

use leastaction_core::linalg;
pub use leastaction_core::{dynamics, lie, mechanism, scalar, spatial, trajectory};
pub use leastaction_io as io;
pub use leastaction_motion::{jet, optimize, spline};
