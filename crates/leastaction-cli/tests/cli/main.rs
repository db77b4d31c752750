//! What a user of the command sees and gets.

mod continuation;
mod endings;
mod memory;
mod outputs;
mod reference;
mod snapshots;
mod support;
