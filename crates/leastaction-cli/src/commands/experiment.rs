//! `experiment`: makes published results again, with pages, numbers and a verdict.

pub(crate) use leastaction_lab::experiment::Args;
use leastaction_study::failure::Failure;

use crate::printer::Printer;

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    leastaction_lab::experiment::run(args, printer)
}
