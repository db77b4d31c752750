//! Parameters of a model by name: their values, and mechanisms with other values.

use std::sync::Arc;

use leastaction::io::Reading;
use leastaction::mechanism::Parameter;
use leastaction_study::failure::Failure;
use leastaction_study::model::Model;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{bad_option, failure_error, not_finite, unknown_name};
use crate::mechanism::{Mechanism, Shared};

/// The parameters of a list of names, in order; a name without an axis or a body is several.
pub(crate) fn named(py: Python<'_>, shared: &Shared, names: &[String]) -> PyResult<Vec<Parameter>> {
    let mut out: Vec<Parameter> = Vec::new();
    for name in names {
        let found = Parameter::named(&shared.mechanism, name).map_err(|_| {
            let all = Parameter::all(&shared.mechanism);
            let known: Vec<String> = all.iter().map(|p| p.name(&shared.mechanism)).collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            unknown_name(py, "parameter", name, &known)
        })?;
        for parameter in found {
            if out.contains(&parameter) {
                return Err(bad_option(py, "parameters", name, "name every parameter once"));
            }
            out.push(parameter);
        }
    }
    Ok(out)
}

/// The same model with other values of some parameters.
pub(crate) fn changed(
    py: Python<'_>,
    shared: &Shared,
    values: impl Iterator<Item = (Parameter, f64)>,
) -> PyResult<Arc<Shared>> {
    let mut description = shared.model.description.clone();
    for (parameter, value) in values {
        if !value.is_finite() {
            return Err(not_finite(py, &parameter.name(&shared.mechanism), None));
        }
        parameter.set(&shared.mechanism, &mut description, value);
    }
    let made = py.detach(|| {
        let mut reading = Reading { description: Some(description.clone()), ..Reading::default() };
        let Some(built) = reading.build() else {
            let failure = Failure::new("the model can't be used with these values");
            return Err(failure.with_diagnostics(reading.diagnostics));
        };
        let (slug, case) = (shared.model.slug.clone(), shared.model.case.clone());
        Shared::new(Model { slug, description, reading, case }, built, shared.settings.clone())
    });
    Ok(Arc::new(made.map_err(|failure| failure_error(py, &failure))?))
}

#[pymethods]
impl Mechanism {
    /// Parameters that steps can be differentiated by, and their values: `mass.BODY`, `com.BODY.x`, `inertia.BODY.xy` (about the
    /// centre of mass, body axes), `damping.JOINT`, `stiffness.JOINT`, `friction.JOINT`. A name may stand for several.
    ///
    /// >>> import leastaction as la
    /// >>> la.load("@chain/2").parameters("mass")
    /// {'mass.link0': 1.0, 'mass.link1': 1.0}
    #[pyo3(signature = (*names))]
    fn parameters<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Bound<'py, PyDict>> {
        let m = &self.shared.mechanism;
        let list = if names.is_empty() { Parameter::all(m) } else { named(py, &self.shared, &names)? };
        let out = PyDict::new(py);
        for parameter in list {
            out.set_item(parameter.name(m), parameter.value(m))?;
        }
        Ok(out)
    }

    /// The same mechanism with other values of some parameters, by name.
    ///
    /// >>> import leastaction as la
    /// >>> la.load("@chain/2").with_parameters({"mass.link1": 3.0}).mass
    /// 4.0
    #[pyo3(signature = (values, /))]
    fn with_parameters(&self, py: Python<'_>, values: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mut list = Vec::new();
        for (name, value) in values.iter() {
            let (name, value): (String, f64) = (name.extract()?, value.extract()?);
            for parameter in named(py, &self.shared, &[name])? {
                list.push((parameter, value));
            }
        }
        Ok(Self { shared: changed(py, &self.shared, list.into_iter())? })
    }
}
