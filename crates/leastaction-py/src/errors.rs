//! Errors of Rust as exceptions of `leastaction.errors`: one function per family, attributes from the variant's fields.

use leastaction::integrator::StepError;
use leastaction_study::failure::Failure;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};

/// An exception of the class `kind` with these attributes.
pub(crate) fn raise(py: Python<'_>, kind: &str, message: &str, attributes: &Value) -> PyErr {
    static MAKE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = MAKE
        .get_or_try_init(py, || Ok::<_, PyErr>(py.import("leastaction.errors")?.getattr("_make")?.unbind()))
        .and_then(|make| make.bind(py).call1((kind, message, to_python(py, attributes)?)));
    match made {
        Ok(exception) => PyErr::from_value(exception),
        Err(error) => error,
    }
}

/// JSON as dictionaries, lists and numbers.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(x) => x.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(i), _) => i.into_pyobject(py)?.into_any(),
            (None, Some(u)) => u.into_pyobject(py)?.into_any(),
            _ => n.as_f64().unwrap_or(f64::NAN).into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(list) => {
            let items = list.iter().map(|item| to_python(py, item)).collect::<PyResult<Vec<_>>>()?;
            items.into_pyobject(py)?.into_any()
        }
        Value::Object(map) => {
            let dict = PyDict::new(py);
            for (key, item) in map {
                dict.set_item(key, to_python(py, item)?)?;
            }
            dict.into_any()
        }
    })
}

/// An array of another shape.
pub(crate) fn shape_error(py: Python<'_>, name: &str, expected: &str, found: &str) -> PyErr {
    let message = format!("`{name}` has shape {found}, {expected} is needed");
    raise(py, "ShapeError", &message, &json!({"name": name, "expected": expected, "found": found}))
}

/// An array of another kind.
pub(crate) fn layout_error(py: Python<'_>, name: &str, found: &str, remedy: &str) -> PyErr {
    let message = format!("`{name}` is {found}: {remedy}");
    raise(py, "LayoutError", &message, &json!({"name": name, "found": found, "remedy": remedy}))
}

/// Something that is no number.
pub(crate) fn not_finite(py: Python<'_>, name: &str, row: Option<usize>) -> PyErr {
    let place = row.map(|row| format!(" in row {row}")).unwrap_or_default();
    let attributes = json!({"name": name, "row": row, "what": name, "time": null});
    raise(py, "NotFinite", &format!("`{name}` is not finite{place}"), &attributes)
}

/// A value that an option can't have.
pub(crate) fn bad_option(py: Python<'_>, option: &str, value: &str, remedy: &str) -> PyErr {
    let message = format!("{option} = {value} is not possible: {remedy}");
    raise(py, "BadOption", &message, &json!({"option": option, "value": value, "remedy": remedy}))
}

/// A name that is not there.
pub(crate) fn unknown_name(py: Python<'_>, what: &str, name: &str, known: &[&str]) -> PyErr {
    let remedy = leastaction_study::failure::suggestion(name, known)
        .unwrap_or_else(|| format!("the mechanism has no {what}"));
    let message = format!("there is no {what} `{name}`: {remedy}");
    raise(py, "UnknownName", &message, &json!({"what": what, "name": name, "remedy": remedy}))
}

/// The variant of an error of the library and its fields; errors inside errors are unwrapped.
fn variant(fields: &Value) -> (String, Map<String, Value>) {
    match fields {
        Value::String(kind) => (kind.clone(), Map::new()),
        Value::Object(outer) => match outer.iter().next() {
            Some((kind, Value::Object(inner))) if matches!(kind.as_str(), "Step" | "Jet" | "Spline") => {
                variant(&Value::Object(inner.clone()))
            }
            Some((kind, Value::Object(inner))) => (kind.clone(), inner.clone()),
            Some((_, inner @ Value::String(_))) => variant(inner),
            _ => (String::new(), Map::new()),
        },
        _ => (String::new(), Map::new()),
    }
}

/// A typed exception for an error of the library.
fn typed(py: Python<'_>, family: &str, fields: &Value, message: &str, remedy: Option<&str>) -> PyErr {
    let inner_step = fields.as_object().is_some_and(|map| map.contains_key("Step"));
    let (kind, mut attributes) = variant(fields);
    let class = match (family, kind.as_str()) {
        ("StepError", kind) | (_, kind) if family == "StepError" || inner_step => match kind {
            "WrongLength" => "ShapeError",
            kind => kind,
        }
        .to_owned(),
        (family, _) => family.to_owned(),
    };
    if class != kind {
        // A field of that name, as the kind of a limit has, is not hidden.
        let own = attributes.remove("kind");
        attributes.insert("kind".into(), kind.into());
        attributes.extend(own.map(|own| ("of".to_owned(), own)));
    }
    if let Some(remedy) = remedy {
        attributes.entry("remedy").or_insert_with(|| remedy.into());
    }
    raise(py, &class, message, &Value::Object(attributes))
}

/// What an error of the library becomes: its family, its variant with its fields as JSON, its text.
#[pyfunction]
#[pyo3(signature = (family, fields, message, /))]
pub(crate) fn _error_of(py: Python<'_>, family: &str, fields: &str, message: &str) -> PyResult<Py<PyAny>> {
    let fields = serde_json::from_str(fields).map_err(|error| internal(&error.to_string()))?;
    Ok(typed(py, family, &fields, message, None).into_value(py).into_any())
}

/// A step that could not be taken.
pub(crate) fn step_error(py: Python<'_>, error: &StepError) -> PyErr {
    let fields = serde_json::to_value(error).unwrap_or_default();
    let raised = typed(py, "StepError", &fields, &error.to_string(), None);
    // JSON has no infinity, which is what the residual of a hopeless step is.
    if let StepError::NotConverged { residual, .. } | StepError::ContactNotSolved { residual, .. } = error {
        let value = raised.value(py);
        let kept = value.getattr("_attributes").and_then(|kept| kept.set_item("residual", residual));
        if let Err(other) = kept.and_then(|()| value.setattr("residual", residual)) {
            return other;
        }
    }
    raised
}

/// The text of a failure: message, causes, remedy.
fn full_text(failure: &Failure) -> String {
    let mut text = failure.message.clone();
    for cause in &failure.causes {
        text.push_str(&format!("\n  cause: {cause}"));
    }
    if let Some(help) = &failure.help {
        text.push_str(&format!("\n  help: {help}"));
    }
    text
}

/// What a study could not do.
pub(crate) fn failure_error(py: Python<'_>, failure: &Failure) -> PyErr {
    let text = full_text(failure);
    if !failure.diagnostics.is_empty() {
        let diagnostics: Vec<Value> =
            failure.diagnostics.iter().map(leastaction_cli::diagnostic_json).collect();
        let shown: String = failure.diagnostics.iter().map(|d| format!("\n{d}")).collect();
        let attributes = json!({"diagnostics": diagnostics, "remedy": failure.help});
        return raise(py, "ModelError", &format!("{text}{shown}"), &attributes);
    }
    let help = failure.help.as_deref();
    match &failure.typed {
        Some(error) if error.family == "FileError" => {
            raise(py, "FileError", &text, &json!({"path": quoted(&failure.message), "remedy": help}))
        }
        Some(error) => typed(py, error.family, &error.fields, &text, help),
        None => {
            let attributes = json!({"option": quoted(&failure.message), "value": null, "remedy": help});
            raise(py, "BadOption", &text, &attributes)
        }
    }
}

/// The first thing in backticks.
fn quoted(text: &str) -> Option<&str> {
    text.split('`').nth(1)
}

/// Two threads on one object.
pub(crate) fn busy(py: Python<'_>) -> PyErr {
    raise(
        py,
        "BusyError",
        "the simulator is at work in another thread; `sim.copy()` gives a second one",
        &json!({}),
    )
}

/// Something that can't happen.
pub(crate) fn internal(text: &str) -> PyErr {
    PyRuntimeError::new_err(text.to_owned())
}
