//! The verbs: one file each, one line each in the list below.

mod bench;
mod check;
mod completions;
mod control;
mod convert;
mod dynamics;
mod experiment;
mod infer;
mod info;
mod jacobian;
mod linearize;
mod motion;
mod optimize;
mod resume;
mod simulate;
mod sweep;

pub(crate) use simulate::welcome;

use crate::verb::Verb;

/// In the order of the help.
pub(crate) const VERBS: &[Verb] = &[
    simulate::VERB,
    sweep::VERB,
    resume::VERB,
    check::VERB,
    info::VERB,
    convert::VERB,
    dynamics::VERB,
    jacobian::VERB,
    motion::VERB,
    optimize::VERB,
    infer::VERB,
    control::VERB,
    linearize::VERB,
    bench::VERB,
    experiment::VERB,
    completions::VERB,
];
