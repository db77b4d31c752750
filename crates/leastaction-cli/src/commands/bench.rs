//! `bench`: times steps and kernels, one JSON line per case, in the form of the peers' benchmark.

pub(crate) use leastaction_lab::bench::Args;
use leastaction_study::failure::Failure;

use crate::printer::Printer;

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    leastaction_lab::bench::run(args, printer)
}
