//! Ctrl-C: the first one asks for a clean end, the second one ends the process.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leastaction_study::failure::INTERRUPTED;

thread_local! {
    /// The flag of whoever called a verb as a function.
    static CALLER: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Runs `work` with a flag that the caller sets, in place of one that Ctrl-C sets.
pub(crate) fn with<R>(flag: Arc<AtomicBool>, work: impl FnOnce() -> R) -> R {
    CALLER.set(Some(flag));
    let result = work();
    CALLER.set(None);
    result
}

/// True if a program called the verb: it wants what there is when it stops it, and reads no files.
pub(crate) fn at_once() -> bool {
    CALLER.with_borrow(Option::is_some)
}

/// Set by the first Ctrl-C; a second one ends the process at once.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    if let Some(flag) = CALLER.with_borrow(Clone::clone) {
        return flag;
    }
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    // Without a handler Ctrl-C ends the process, which leaves the old files: no reason to stop here.
    let _ = ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            #[expect(clippy::exit, reason = "asked for twice")]
            std::process::exit(i32::from(INTERRUPTED));
        }
    });
    flag
}
