//! [`Sink`]: where the rows of a run go, and its checkpoints.

use crate::failure::Failure;
use crate::page::PageRecorder;

/// What a checkpoint keeps besides the rows.
#[derive(Clone, Debug)]
pub struct Saved {
    /// Steps taken.
    pub steps: u64,
    /// What the loop carries.
    pub carried: Vec<u8>,
}

/// Who keeps the rows of a run. What keeps them in memory has nothing to save.
pub trait Rows {
    /// Takes a row.
    ///
    /// # Errors
    /// If it can't be kept.
    fn push(&mut self, row: &[f64]) -> Result<(), Failure>;
    /// Hands over the rows that an earlier process has pushed.
    ///
    /// # Errors
    /// If they are not there any more.
    fn replay(&mut self, each: &mut dyn FnMut(&[f64])) -> Result<(), Failure> {
        let _ = each;
        Ok(())
    }
    /// Whether it is time for a checkpoint.
    fn is_due(&mut self) -> bool {
        false
    }
    /// Makes all rows until here durable, and what the run carries besides them.
    ///
    /// # Errors
    /// If that can't be done.
    fn save(&mut self, saved: Saved) -> Result<(), Failure> {
        let _ = saved;
        Ok(())
    }
    /// A row could not be kept: saves what can be saved and says in `failure` what to do next.
    fn rescue(&mut self, saved: Saved, failure: Failure) -> Failure {
        let _ = saved;
        failure
    }
    /// No step follows, but the last row may. The run was `interrupted`, or is over.
    ///
    /// # Errors
    /// If an interrupted run can't be made durable.
    fn ended(&mut self, saved: Saved, interrupted: bool) -> Result<(), Failure> {
        let _ = (saved, interrupted);
        Ok(())
    }
    /// The last row could not be kept: goes back to what `ended` was given.
    fn give_up(&mut self, failure: Failure) -> Failure {
        failure
    }
}

impl<F: FnMut(&[f64]) -> Result<(), Failure>> Rows for F {
    fn push(&mut self, row: &[f64]) -> Result<(), Failure> {
        self(row)
    }
}

/// The rows of a run and what its page shows of them.
pub struct Sink<'a> {
    /// The page, if one is wanted.
    pub page: Option<PageRecorder>,
    /// Who keeps the rows.
    pub rows: &'a mut dyn Rows,
}

impl Sink<'_> {
    /// Takes a row. One that can't be kept is not on the page either.
    pub(crate) fn push(&mut self, row: &[f64]) -> Result<(), Failure> {
        self.rows.push(row)?;
        if let Some(page) = &mut self.page {
            page.push(row);
        }
        Ok(())
    }

    /// Makes the page of the rows of an earlier process.
    pub(crate) fn replay(&mut self) -> Result<(), Failure> {
        let page = &mut self.page;
        self.rows.replay(&mut |row| {
            if let Some(page) = page {
                page.push(row);
            }
        })
    }
}

impl std::fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sink").field("page", &self.page).finish_non_exhaustive()
    }
}
