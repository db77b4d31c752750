//! What a user of the command sees and gets.

mod comprehensive;
mod continuation;
mod distrust;
mod endings;
mod experiments;
mod inputs;
mod linearize;
mod maximal;
mod memory;
mod mocap;
mod outputs;
mod recordings;
mod reference;
mod refusals;
mod same_bits;
mod snapshots;
mod standing;
mod support;
mod survival;
mod sweeps;
