//! Ctrl-C: the first one asks for a clean end, the second one ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leastaction_study::failure::INTERRUPTED;

/// Set by the first Ctrl-C; a second one ends the process at once.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
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
