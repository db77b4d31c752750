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
        Self::of(steps, quiet, "{bar:30} {percent:>3}%  {human_pos}/{human_len} steps  {per_sec}  ETA {eta}")
    }

    /// A bar for many runs.
    pub(crate) fn of_runs(runs: u64, quiet: bool) -> Self {
        Self::of(runs, quiet, "{bar:30} {percent:>3}%  {human_pos}/{human_len} runs  {msg}  ETA {eta}")
    }

    fn of(steps: u64, quiet: bool, template: &str) -> Self {
        if quiet || !std::io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr());
        // The template is ours; if it were wrong the default one would do.
        if let Ok(style) = ProgressStyle::with_template(template) {
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

    /// `runs` runs are done, and what there is to say about them.
    pub(crate) fn say(&self, runs: u64, message: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(message);
            bar.set_position(runs);
        }
    }

    /// Removes the bar.
    pub(crate) fn finish(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
