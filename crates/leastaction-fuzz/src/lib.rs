//! What tries to break leastaction: damaged files for every reader, and random mechanisms for the laws of mechanics.
//!
//! Every execution is a function of `(seed, target, index)` and nothing else, so that what fails is made again by naming
//! three things; no corpus grows on disk. The files that are damaged are those of the repository. An execution *fails* if
//! it panics, takes more than [`TOO_LONG`] seconds of processor time, or hands out a number that is not finite without an
//! error. What was found and mended stands in `corpus/` and is tried by the tests.

mod corpus;
mod damage;
mod files;
mod laws;
mod models;
mod random_model;

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

pub use corpus::Seed;
pub use files::FILES;
pub use laws::{LAWS, Law};
pub use models::MODELS;
pub use random_model::{RandomModel, random_model};

use leastaction::mechanism::samples::Random;

/// Processor time in seconds after which one execution counts as a hang.
pub const TOO_LONG: f64 = 10.0;

/// Something that reads: it gets bytes under a file name and must come back with a value or a typed error.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Which files are damaged for it: endings of names.
    pub endings: &'static [&'static str],
    /// Tries the bytes; `Err` says what is wrong with the answer.
    pub run: fn(&[u8], &Path) -> Result<(), String>,
}

/// Every target, in the order in which they are tried.
pub fn targets() -> impl Iterator<Item = &'static Target> {
    MODELS.iter().chain(FILES)
}

/// The bytes of execution `index`, and the name they stand under.
#[must_use]
pub fn input(target: &Target, seeds: &[Seed], seed: u64, index: u64) -> (Vec<u8>, String) {
    let salt =
        target.name.bytes().fold(seed, |hash, byte| hash.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mut random = Random::new(salt.wrapping_add(index.wrapping_mul(0x9e37_79b9)));
    let pick = |random: &mut Random| &seeds[(random.bits() % seeds.len() as u64) as usize];
    let first = pick(&mut random);
    let other = pick(&mut random);
    (damage::damaged(&first.bytes, &other.bytes, &mut random), first.name.clone())
}

/// Runs `work`; a panic or a hang is an error with its words.
///
/// # Errors
/// What `work` says is wrong, the text of its panic, or how long it took.
pub fn judged(work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    let begin = processor_seconds();
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let seconds = processor_seconds() - begin;
    match outcome {
        Err(_) => Err(format!("panic: {}", LAST_PANIC.with_borrow(Clone::clone))),
        Ok(Err(wrong)) => Err(wrong),
        Ok(Ok(())) if seconds > TOO_LONG => Err(format!("hang: {seconds:.1} s of processor time")),
        Ok(Ok(())) => Ok(()),
    }
}

thread_local! {
    static LAST_PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics off the terminal: [`judged`] tells what they said.
pub fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| LAST_PANIC.set(panic.to_string().replace('\n', " "))));
}

/// Seconds this thread has had a processor; zero where the system does not tell, so that nothing is called a hang.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    told.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |ns| ns * 1e-9)
}
