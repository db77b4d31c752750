//! All experiments: one file, one line each.

use super::Experiment;

macro_rules! experiments {
    ($($file:ident,)*) => {
        /// In the order they are listed, run and published.
        pub(crate) const EXPERIMENTS: &[Experiment] = &[$(super::$file::EXPERIMENT,)*];
    };
}

experiments! {
    ours_energy,
}
