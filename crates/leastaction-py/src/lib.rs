//! The compiled half of the Python package `leastaction`: nothing here computes, everything is handed to the library, the
//! study and the command. Python code and names are in `python/leastaction`.

mod arrays;
mod batch;
mod errors;
mod kernels;
mod keywords;
mod mechanism;
mod motions;
mod parameters;
mod plant;
mod simulator;
mod state;
mod study;
mod sweep;
mod threads;

/// The module `leastaction._core`.
#[pyo3::pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use crate::batch::{_restore_batch, _rollout, BatchSimulator};
    #[pymodule_export]
    use crate::errors::_error_of;
    #[pymodule_export]
    use crate::mechanism::{_restore_mechanism, Mechanism, from_json, load, read_files_up_to};
    #[pymodule_export]
    use crate::plant::{_restore_plant, _riccati, Plant};
    #[pymodule_export]
    use crate::simulator::{_restore_simulator, Simulator};
    #[pymodule_export]
    use crate::state::{_restore_state, State};
    #[pymodule_export]
    use crate::study::{
        _call, _restore_run, _sample, _settings, _simulate, _state_of_text, _verbs, RunData, command,
    };

    #[pymodule_export]
    use crate::sweep::{_Sweep, _SweepFolder};

    /// Version of the package.
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
