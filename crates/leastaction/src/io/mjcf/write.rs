//! placeholder
use crate::io::Diagnostic;
use crate::mechanism::ModelDescription;
/// Writes.
#[must_use]
pub fn write_mjcf(_model: &ModelDescription) -> (String, Vec<Diagnostic>) {
    (String::new(), Vec::new())
}
