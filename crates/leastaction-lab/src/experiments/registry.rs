//! All experiments: one file, one line each.

use super::Experiment;

/// Those that time: they run alone, the others two at a time.
pub(crate) const TIMED: [&str; 12] = [
    "bruedigam-4c",
    "bruedigam-5a",
    "bruedigam-5b",
    "bruedigam-6",
    "bruedigam-8",
    "fan-cost",
    "ishigaki-5",
    "ishigaki-table7",
    "ours-jerk-cost",
    "ours-loop-order",
    "ours-sweep",
    "ours-work-precision",
];

macro_rules! experiments {
    ($($file:ident :: $item:ident,)*) => {
        /// In the order they are listed, run and published.
        pub(crate) const EXPERIMENTS: &[Experiment] = &[$(super::$file::$item,)*];
    };
}

experiments! {
    bruedigam_4a::EXPERIMENT,
    bruedigam_4b::EXPERIMENT,
    bruedigam_4c::EXPERIMENT,
    bruedigam_4d::EXPERIMENT,
    bruedigam_5::OPEN,
    bruedigam_5::CLOSED,
    bruedigam_6::EXPERIMENT,
    bruedigam_8::EXPERIMENT,
    fan_order::EXPERIMENT,
    fan_energy::EXPERIMENT,
    fan_cost::EXPERIMENT,
    fan_control::EXPERIMENT,
    ishigaki_4::EXPERIMENT,
    ishigaki_5::EXPERIMENT,
    ishigaki_6::EXPERIMENT,
    ishigaki_7::TABLE,
    ishigaki_7::THREE,
    ishigaki_7::SEVEN,
    ours_work_precision::EXPERIMENT,
    ours_loop_gap::EXPERIMENT,
    ours_loop_order::EXPERIMENT,
    ours_contact_stick::EXPERIMENT,
    ours_contact_impact::EXPERIMENT,
    ours_contact_order::EXPERIMENT,
    ours_agreement::EXPERIMENT,
    ours_jerk_cost::EXPERIMENT,
    ours_energy::EXPERIMENT,
    ours_weights::EXPERIMENT,
    ours_subjects::EXPERIMENT,
    ours_sweep::EXPERIMENT,
}
