//! Hard frictional contact in steps of order 2: chapter 9 of the theory notes.
//!
//! Contact is a law between three impulses and three velocities per contact point, added to the equations of the step. The interval
//! problem (`interval.rs`) and the node problem (`node.rs`) each get such rows: the gap at the end of the interval, the directions
//! of the forces at its start. Both are solved by Newton's method on the nonsmooth equations (`solve.rs`), the rows of a contact
//! with the ground eliminated into the block of its link, those between two links as closures. `step.rs` puts a step together.

mod advance;
mod broad;
mod candidates;
mod cluster;
mod dense;
mod ground;
mod interval;
mod item;
mod memory;
mod mobility;
mod node;
mod options;
mod output;
mod reduced;
mod relaxed;
mod rows;
mod settle;
mod sliding;
mod solve;
mod sparse;
mod state;
mod step;
mod tied;
mod turn;

pub(crate) use item::{Item, Kind};
pub(crate) use memory::{ContactMemory, Probe};
pub use options::ContactDerivative;
pub use output::ClosedContact;
pub(crate) use rows::Between;
pub(crate) use state::ContactState;
