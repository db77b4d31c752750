//! [`Progress`]: a bar on a terminal, silence otherwise.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Steps between two looks at the clock: the loop must not notice.
const STRIDE: u64 = 64;

/// How far a loop is.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar for `steps` steps, if a person is watching.
    pub(crate) fn new(steps: u64, quiet: bool) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        // The template is ours; if it were wrong the default one would do.
        if let Ok(style) = ProgressStyle::with_template(
            "{bar:30} {percent:>3}%  {human_pos}/{human_len} steps  {per_sec}  ETA {eta}",
        ) {
            bar.set_style(style);
        }
        Self { bar: Some(bar) }
    }

    /// `step` steps are done.
    pub(crate) fn at(&self, step: u64) {
        if let Some(bar) = &self.bar
            && step.is_multiple_of(STRIDE)
        {
            bar.set_position(step);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
