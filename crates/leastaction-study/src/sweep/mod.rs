//! Sweeps: many runs of one scenario, drawn by a file, that survive whatever stops them.
//!
//! A [`Sweep`] is a scenario and its tables `[sweep]`. Runs are grouped in chunks; [`Sweep::chunk`] is a pure function of sweep
//! and number, whatever thread, process or machine computes it. A [`Folder`] keeps the parts that are done, and [`drive()`]
//! computes those that are missing on all cores.

mod chunk;
pub mod draw;
mod drive;
mod file;
mod find;
mod fingerprint;
mod folder;
mod identity;
mod load;
mod measure;
mod page;
pub mod parquet;
mod play;
mod run;
mod summary;
mod thrift;
mod vary;

pub use chunk::Parts;
pub use drive::{Driven, Seen, drive};
pub use fingerprint::fingerprint;
pub use folder::Folder;
pub use load::{Asked, Sweep};
pub use measure::How;
pub use page::write_page;
pub use play::{conclude, threads_of};
pub use summary::{Summary, summarize};

/// FNV-1a, 64 bits.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
