//! The verbs: one file each, one line each in the registry below.

mod bench;
mod check;
mod completions;
pub(crate) mod control;
mod convert;
mod experiment;
mod infer;
mod info;
mod jacobian;
mod linearize;
mod motion;
mod optimize;
mod simulate;

pub(crate) use simulate::welcome;

use crate::printer::Printer;
use leastaction_study::failure::Failure;

/// Makes the list of verbs: each file has its `Args` and `run(Args, &mut Printer) -> Result<exit code, Failure>`.
macro_rules! verbs {
    ($($verb:ident => $file:ident,)*) => {
        /// What to do.
        #[derive(Debug, clap::Subcommand)]
        pub(crate) enum Command {
            $(
                #[allow(missing_docs, reason = "its text is that of the arguments")]
                $verb($file::Args),
            )*
        }

        impl Command {
            /// Does it and returns the exit code.
            pub(crate) fn run(self, printer: &mut Printer) -> Result<u8, Failure> {
                match self {
                    $(Self::$verb(args) => $file::run(args, printer),)*
                }
            }
        }
    };
}

verbs! {
    Simulate => simulate,
    Check => check,
    Info => info,
    Convert => convert,
    Jacobian => jacobian,
    Motion => motion,
    Optimize => optimize,
    Infer => infer,
    Control => control,
    Linearize => linearize,
    Bench => bench,
    Experiment => experiment,
    Completions => completions,
}
