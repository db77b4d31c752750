//! Ctrl-C: the first one asks for a clean end, the second one ends the process. A program that calls a verb as a function
//! stops it by a flag instead, and may want to hear how far it is.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use leastaction_study::failure::INTERRUPTED;
use serde_json::Value;

/// Whoever calls a verb as a function.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Set when no more is wanted.
    pub stop: Arc<AtomicBool>,
    /// Hears of every iteration of a search, if anybody listens.
    pub heard: Option<Sender<Value>>,
}

thread_local! {
    static CALLER: RefCell<Option<Caller>> = const { RefCell::new(None) };
}

/// Runs `work` with a flag that the caller sets, in place of one that Ctrl-C sets.
pub(crate) fn with<R>(caller: Caller, work: impl FnOnce() -> R) -> R {
    CALLER.set(Some(caller));
    let result = work();
    CALLER.set(None);
    result
}

/// True if a program called the verb: it wants what there is when it stops it, and reads no files.
pub(crate) fn at_once() -> bool {
    CALLER.with_borrow(Option::is_some)
}

/// Tells the caller how far a search is, if it listens.
pub(crate) fn tell(iteration: impl FnOnce() -> Value) {
    CALLER.with_borrow(|caller| {
        if let Some(heard) = caller.as_ref().and_then(|caller| caller.heard.as_ref()) {
            // A caller that has stopped listening is no reason to stop.
            let _ = heard.send(iteration());
        }
    });
}

/// Set by the first Ctrl-C; a second one ends the process at once.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    if let Some(flag) = CALLER.with_borrow(|caller| caller.as_ref().map(|caller| Arc::clone(&caller.stop))) {
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
