//! What the command and other front ends share: settings, scenario and problem files, the loop of a run, result files,
//! reports. Nothing here prints, parses a command line or ends the process: progress goes to an observer, a wish to stop
//! comes in as a flag, and what went wrong comes back as a [`failure::Failure`].
//!
//! The loop of a run is in `run.rs`. A setting is one line of the table in `settings.rs`: flag, scenario key and default.

pub mod changes;
pub mod checkpoint;
pub mod choice;
pub mod digits;
pub mod drives;
pub mod efforts;
mod engine;
pub mod failure;
pub mod field;
pub mod forces;
pub mod inputs;
pub mod limits;
pub mod listener;
pub mod memory;
mod mocap;
pub mod model;
pub mod motion_page;
pub mod motors;
pub mod output;
pub mod page;
pub mod policy;
pub mod problem;
pub mod quantity;
pub mod recording;
pub mod report;
pub mod rows;
pub mod run;
pub mod scenario;
pub mod sensors;
pub mod serve;
pub mod settings;
pub mod simulation;
pub mod sink;
pub mod slot;
mod standing;
pub mod start;
pub mod statistics;
pub mod summary;
pub mod sweep;
pub mod tape;
mod values;
mod weightless;
