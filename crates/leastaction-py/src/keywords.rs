//! Keywords of Python as settings: the same table as the command's flags and the scenario's keys.

use std::path::PathBuf;

use leastaction_study::field::{Assignment, Field, Kind, Value};
use leastaction_study::settings::{Group, SETTINGS, Settings};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};

use crate::errors::{bad_option, raise};

/// How Python spells a field: the flag with underscores; a flag that says no is the key it denies.
pub(crate) fn keyword(field: &Field) -> String {
    if field.negated {
        return field.key.rsplit('.').next().unwrap_or_default().to_owned();
    }
    let flag = if field.flag.is_empty() { field.value } else { field.flag };
    flag.replace('-', "_").to_lowercase()
}

/// The settings that keywords come to. Those of other groups, and unknown ones, are refused with the nearest.
pub(crate) fn settings(given: &Bound<'_, PyDict>, groups: &[Group]) -> PyResult<Settings> {
    let mut settings = Settings::default();
    for (key, value) in given.iter() {
        let key: String = key.extract()?;
        let known = SETTINGS.iter().filter(|s| groups.contains(&s.group) && !s.field.flag.is_empty());
        let Some(setting) = known.clone().find(|setting| keyword(&setting.field) == key) else {
            let names: Vec<String> = known.map(|setting| keyword(&setting.field)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(unknown_option(given.py(), &key, &names));
        };
        if value.is_none() {
            continue;
        }
        let values = values(&key, &setting.field, &value)?;
        (setting.take)(&mut settings, values);
    }
    Ok(settings)
}

/// An option that is not there.
pub(crate) fn unknown_option(py: Python<'_>, key: &str, known: &[&str]) -> PyErr {
    let remedy = leastaction_study::failure::suggestion(key, known).unwrap_or_default();
    let attributes = serde_json::json!({"option": key, "value": null, "remedy": remedy});
    raise(py, "BadOption", &format!("there is no option `{key}`: {remedy}"), &attributes)
}

/// One or several values of a field.
fn values(key: &str, field: &Field, value: &Bound<'_, PyAny>) -> PyResult<Vec<Value>> {
    let py = value.py();
    if field.kind == Kind::Assignment {
        let Ok(dict) = value.cast::<PyDict>() else {
            return Err(refused(key, value, "give a dictionary of numbers by name"));
        };
        return dict
            .iter()
            .map(|(name, numbers)| {
                let name: String = name.extract()?;
                let values = numbers_of(&numbers)
                    .ok_or_else(|| refused(key, &numbers, "give a number or a list of numbers"))?;
                if values.iter().any(|x| !x.is_finite()) {
                    return Err(crate::errors::not_finite(py, &format!("{key}[{name}]"), None));
                }
                Ok(Value::Assignment(Assignment { name, values }))
            })
            .collect();
    }
    let several = field.many && (value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>());
    if several {
        return value.try_iter()?.map(|item| one(key, field.kind, &item?)).collect();
    }
    Ok(vec![one(key, field.kind, value)?])
}

fn refused(key: &str, value: &Bound<'_, PyAny>, remedy: &str) -> PyErr {
    let shown = value.repr().map(|text| text.to_string()).unwrap_or_default();
    let short: String = shown.chars().take(80).collect();
    bad_option(value.py(), key, &short, remedy)
}

fn one(key: &str, kind: Kind, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let refuse = || refused(key, value, &format!("give {}", kind.needed()));
    let number =
        || value.extract::<f64>().ok().filter(|x| x.is_finite() && !value.is_instance_of::<PyBool>());
    Ok(match kind {
        Kind::Text => Value::Text(text(value).ok_or_else(refuse)?),
        Kind::Path => Value::Path(PathBuf::from(text(value).ok_or_else(refuse)?)),
        Kind::Switch => Value::Switch(value.cast::<PyBool>().map_err(|_| refuse())?.is_true()),
        Kind::Positive | Kind::Range(..) => {
            Value::Number(number().filter(|x| kind.admits(*x)).ok_or_else(refuse)?)
        }
        Kind::Count(least, most) => {
            let whole = value.extract::<u64>().ok().filter(|_| !value.is_instance_of::<PyBool>());
            Value::Count(whole.filter(|n| least <= *n && *n <= most).ok_or_else(refuse)?)
        }
        Kind::Word(words) => {
            let word = text(value).ok_or_else(refuse)?;
            let known: Vec<&str> = words.iter().map(|word| word.0).collect();
            if !known.contains(&word.as_str()) {
                let remedy = leastaction_study::failure::suggestion(&word, &known).unwrap_or_default();
                return Err(refused(key, value, &remedy));
            }
            Value::Text(word)
        }
        Kind::Vector => {
            let numbers = numbers_of(value).filter(|n| n.len() == 3 && n.iter().all(|x| x.is_finite()));
            Value::Numbers(numbers.ok_or_else(refuse)?)
        }
        Kind::RandomVelocity => {
            let numbers = numbers_of(value).ok_or_else(refuse)?;
            let text = numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
            kind.parse(&text).map_err(|what| refused(key, value, &what))?
        }
        // Kinds of fields that come as a dictionary were read before; new ones are read as the command does.
        _ => kind.parse(&text(value).ok_or_else(refuse)?).map_err(|what| refused(key, value, &what))?,
    })
}

/// A text or a path.
fn text(value: &Bound<'_, PyAny>) -> Option<String> {
    if let Ok(text) = value.cast::<PyString>() {
        return Some(text.to_string());
    }
    value.call_method0("__fspath__").ok()?.extract().ok()
}

/// A number, a list of numbers or a vector.
fn numbers_of(value: &Bound<'_, PyAny>) -> Option<Vec<f64>> {
    if value.is_instance_of::<PyBool>() || value.is_instance_of::<PyString>() {
        return None;
    }
    if let Ok(number) = value.extract::<f64>() {
        return Some(vec![number]);
    }
    if let Ok(array) = value.cast::<PyArrayDyn<f64>>() {
        return array.to_vec().ok();
    }
    value.extract::<Vec<f64>>().ok()
}

/// A row of a table of options: keyword, kind, default, help, words, several, required.
pub(crate) type Row = (String, String, String, String, Vec<String>, bool, bool);

/// What Python needs to know about a field.
pub(crate) fn row(field: &Field) -> Row {
    let words = match field.kind {
        Kind::Word(words) => words.iter().map(|word| word.0.to_owned()).collect(),
        _ => Vec::new(),
    };
    let kind = format!("{:?}", field.kind);
    let kind = kind.split(['(', ' ']).next().unwrap_or_default().to_owned();
    let flag = if field.flag.is_empty() { String::new() } else { keyword(field) };
    (flag, kind, field.default.to_owned(), field.help.trim().to_owned(), words, field.many, field.required)
}
