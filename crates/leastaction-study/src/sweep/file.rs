//! The tables `[sweep]`, `[sweep.vary]` and `[sweep.measure]` of a sweep file, as they were written.

use std::ops::Range;

use toml::de::DeTable;

use super::draw::Law;
use super::measure::{How, Measure, Of};
use crate::choice::{Choice, Word};
use crate::field::Kind;
use crate::values::{Entry, Values, number};

/// Most runs of a sweep.
pub(super) const MOST_RUNS: u64 = 1_000_000_000_000;
/// Most runs of a chunk.
const MOST_PER_CHUNK: u64 = 1_000_000;
/// Most values of a grid.
const MOST_VALUES: u64 = 1_000_000;

/// A parameter, or several by a pattern, and how its values are spread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) key: String,
    pub(super) law: Law,
    /// Times what the model says.
    pub(super) relative: bool,
    pub(super) place: Range<usize>,
}

/// A measure by name.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) measure: Measure,
    pub(super) place: Range<usize>,
}

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tables {
    pub(super) runs: Option<u64>,
    pub(super) seed: u64,
    pub(super) chunk: Option<u64>,
    /// Rows of every run are kept, not its end alone.
    pub(super) rows: bool,
    pub(super) every: u64,
    /// Columns of rows: names, groups or patterns; all if empty.
    pub(super) columns: Vec<(String, Range<usize>)>,
    pub(super) spreads: Vec<Spread>,
    pub(super) measures: Vec<Named>,
}

const RECORD: &[Word] = &[("end", ""), ("rows", "")];
const KEYS: &[&str] = &["runs", "seed", "chunk", "record", "every", "columns", "vary", "measure"];
const LAWS: &[&str] = &["uniform", "normal", "log_uniform", "values", "linspace", "relative"];

impl Tables {
    /// Reads the table `[sweep]`; what is wrong is noted with its place.
    pub(super) fn read(values: &mut Values, table: &DeTable<'_>) -> Self {
        let mut said = Self { every: 1, ..Self::default() };
        let mut every = None;
        for entry in table {
            let count = |values: &mut Values, most: u64| {
                let field = crate::field::Field::flag("", "", Kind::Count(1, most), "");
                match values.field(entry, &field)?.first() {
                    Some(crate::field::Value::Count(n)) => Some(*n),
                    _ => None,
                }
            };
            match entry.0.get_ref().as_ref() {
                "runs" => said.runs = count(values, MOST_RUNS),
                "chunk" => said.chunk = count(values, MOST_PER_CHUNK),
                "every" => {
                    said.every = count(values, u64::MAX).unwrap_or(1);
                    every = Some(entry.0.span());
                }
                "seed" => {
                    let field = crate::field::Field::flag("", "", Kind::Count(0, i64::MAX as u64), "");
                    if let Some([crate::field::Value::Count(n)]) = values.field(entry, &field).as_deref() {
                        said.seed = *n;
                    }
                }
                "record" => {
                    if let Some(word) = values.text(entry)
                        && values.is_possible(entry, &word, entry.1.span(), Kind::Word(RECORD))
                    {
                        said.rows = word == "rows";
                    }
                }
                "columns" => said.columns = values.texts(entry),
                "vary" => said.spreads = read_spreads(values, entry),
                "measure" => said.measures = read_measures(values, entry),
                _ => values.unknown(entry.0, KEYS),
            }
        }
        if !said.rows {
            let columns = said.columns.first().map(|(_, place)| ("columns", place.clone()));
            for (key, place) in every.map(|place| ("every", place)).into_iter().chain(columns) {
                let message = "it has a meaning with `record = \"rows\"` only";
                values.problem(place, format!("key `{key}`"), message, "add that line, or leave the key out");
            }
        }
        said.spreads.sort_by(|a, b| a.key.cmp(&b.key));
        said.measures.sort_by(|a, b| a.name.cmp(&b.name));
        said
    }

    /// The tables as a file has them: the same text for the same sweep.
    pub(super) fn to_toml(&self, runs: u64, chunk: u64) -> String {
        let mut text = String::from("\n[sweep]\n");
        // Without runs there are as many as the grid has points, which is another sweep than so many draws.
        if self.runs.is_some() {
            text.push_str(&format!("runs = {runs}\n"));
        }
        text.push_str(&format!("seed = {}\nchunk = {chunk}\n", self.seed));
        if self.rows {
            text.push_str(&format!("record = \"rows\"\nevery = {}\n", self.every));
            if !self.columns.is_empty() {
                let names: Vec<String> = self.columns.iter().map(|(name, _)| quoted(name)).collect();
                text.push_str(&format!("columns = [{}]\n", names.join(", ")));
            }
        }
        text.push_str("\n[sweep.vary]\n");
        for spread in &self.spreads {
            let list =
                |numbers: &[f64]| numbers.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>().join(", ");
            let (name, numbers) = match &spread.law {
                Law::Uniform(a, b) => ("uniform", list(&[*a, *b])),
                Law::Normal(a, b) => ("normal", list(&[*a, *b])),
                Law::LogUniform(a, b) => ("log_uniform", list(&[*a, *b])),
                Law::Values(values) => ("values", list(values)),
                Law::Linspace(a, b, n) => ("linspace", format!("{a:?}, {b:?}, {n}")),
            };
            let relative = if spread.relative { ", relative = true" } else { "" };
            text.push_str(&format!("{} = {{ {name} = [{numbers}]{relative} }}\n", quoted(&spread.key)));
        }
        text.push_str("\n[sweep.measure]\n");
        for Named { name, measure, .. } in &self.measures {
            let how = measure.how.word();
            let value = match &measure.of {
                Of::EnergyError => format!("\"{how}\""),
                Of::Goal => format!("{{ from = \"goal\", at = \"{how}\" }}"),
                Of::Column(column) => format!("{{ column = {}, as = \"{how}\" }}", quoted(column)),
            };
            text.push_str(&format!("{} = {value}\n", quoted(name)));
        }
        text
    }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn read_spreads(values: &mut Values, entry: Entry<'_, '_>) -> Vec<Spread> {
    let Some(table) = values.table(entry) else { return Vec::new() };
    let mut spreads = Vec::new();
    for item in table {
        let (key, place) = (item.0.get_ref().to_string(), item.0.span());
        if number(item.1.get_ref()).is_some() {
            let remedy = "give `{ uniform = [FROM, TO] }` or another law; what stays belongs into `[set]`";
            values.problem(item.1.span(), format!("key `{key}`"), "one number does not vary", remedy);
            continue;
        }
        let Some(inner) = values.table(item) else { continue };
        // Without quotes TOML makes tables of the dots.
        let is_law = |name: &str| LAWS.contains(&name);
        if !inner.iter().any(|(name, _)| is_law(name.get_ref()))
            && inner.iter().any(|(_, value)| matches!(value.get_ref(), toml::de::DeValue::Table(_)))
        {
            let message = "its dots make tables of it";
            values.problem(place, format!("key `{key}`"), message, "write the whole key in quotes");
            continue;
        }
        if let Some((law, relative)) = read_law(values, &key, &place, inner) {
            spreads.push(Spread { key, law, relative, place });
        }
    }
    spreads
}

fn read_law(
    values: &mut Values,
    key: &str,
    place: &Range<usize>,
    table: &DeTable<'_>,
) -> Option<(Law, bool)> {
    let (mut laws, mut relative, mut wrong) = (Vec::new(), false, false);
    for entry in table {
        let name = entry.0.get_ref().as_ref();
        match name {
            "relative" => relative = values.boolean(entry).unwrap_or_default(),
            "uniform" | "normal" | "log_uniform" | "values" | "linspace" => {
                let law = values.numbers(entry).map(|numbers| law_of(name, &numbers));
                match law {
                    Some(Ok(law)) => laws.push(law),
                    Some(Err(needed)) => {
                        let element = format!("`{name}` of `{key}`");
                        values.problem(entry.1.span(), element, "these numbers are not possible", needed);
                        wrong = true;
                    }
                    None => wrong = true,
                }
            }
            _ => {
                values.unknown(entry.0, LAWS);
                wrong = true;
            }
        }
    }
    if laws.len() != 1 && !wrong {
        let message = if laws.is_empty() { "it has no law" } else { "it has several laws" };
        let remedy = "give one of `uniform`, `normal`, `log_uniform`, `values`, `linspace`";
        values.problem(place.clone(), format!("key `{key}`"), message, remedy);
    }
    (laws.len() == 1 && !wrong).then(|| (laws.remove(0), relative))
}

fn law_of(name: &str, numbers: &[f64]) -> Result<Law, &'static str> {
    match (name, numbers) {
        ("uniform", &[a, b]) if a < b && (b - a).is_finite() => Ok(Law::Uniform(a, b)),
        ("uniform", &[a, b]) if a < b => Err("give `[FROM, TO]` whose distance is a finite number"),
        ("uniform", _) => Err("give `[FROM, TO]` with FROM below TO"),
        ("normal", &[mean, deviation]) if deviation > 0.0 => Ok(Law::Normal(mean, deviation)),
        ("normal", _) => Err("give `[MEAN, DEVIATION]` with a deviation greater than 0"),
        ("log_uniform", &[a, b]) if 0.0 < a && a < b => Ok(Law::LogUniform(a, b)),
        ("log_uniform", _) => Err("give `[FROM, TO]` with FROM below TO, both greater than 0"),
        ("values", [_, ..]) if numbers.len() as u64 <= MOST_VALUES => Ok(Law::Values(numbers.to_vec())),
        ("values", []) => Err("give a list with one number at least"),
        ("values", _) => Err("give a million numbers at most"),
        (_, &[a, b, n])
            if n.fract() == 0.0 && (2.0..=MOST_VALUES as f64).contains(&n) && (b - a).is_finite() =>
        {
            Ok(Law::Linspace(a, b, n as u64))
        }
        (_, &[a, b, n]) if n > MOST_VALUES as f64 || !(b - a).is_finite() => {
            Err("give `[FROM, TO, COUNT]` with a finite distance and a COUNT of a million at most")
        }
        _ => Err("give `[FROM, TO, COUNT]` with a whole COUNT of 2 at least"),
    }
}

fn read_measures(values: &mut Values, entry: Entry<'_, '_>) -> Vec<Named> {
    let Some(table) = values.table(entry) else { return Vec::new() };
    let mut measures = Vec::new();
    for item in table {
        let (name, place) = (item.0.get_ref().to_string(), item.0.span());
        let how = |values: &mut Values, entry: Entry<'_, '_>| {
            let word = values.text(entry)?;
            values
                .is_possible(entry, &word, entry.1.span(), Kind::Word(How::WORDS))
                .then(|| How::from_word(&word))?
        };
        let measure = if let toml::de::DeValue::Table(inner) = item.1.get_ref() {
            read_measure(values, &name, &place, inner, how)
        } else if name == "energy_error" {
            how(values, item).map(|how| Measure { of: Of::EnergyError, how })
        } else {
            let message = "only `energy_error` is measured by a word";
            let remedy = "give `{ column = \"q.JOINT\", as = \"largest\" }`";
            values.problem(item.1.span(), format!("measure `{name}`"), message, remedy);
            None
        };
        measures.extend(measure.map(|measure| Named { name, measure, place }));
    }
    measures
}

fn read_measure(
    values: &mut Values,
    name: &str,
    place: &Range<usize>,
    table: &DeTable<'_>,
    how: impl Fn(&mut Values, Entry<'_, '_>) -> Option<How>,
) -> Option<Measure> {
    let (mut column, mut from_goal, mut method) = (None, false, None);
    let before = values.problems.len();
    for entry in table {
        match entry.0.get_ref().as_ref() {
            "column" => column = values.text(entry),
            "as" | "at" => method = how(values, entry),
            "from" => {
                let words: &[Word] = &[("goal", "")];
                if let Some(word) = values.text(entry) {
                    from_goal = values.is_possible(entry, &word, entry.1.span(), Kind::Word(words));
                }
            }
            _ => values.unknown(entry.0, &["column", "as", "from", "at"]),
        }
    }
    if values.problems.len() > before {
        return None;
    }
    let of = match (column, from_goal) {
        (Some(column), false) => Of::Column(column),
        (None, true) => Of::Goal,
        _ => {
            let message = "it does not say what is measured";
            let remedy = "give `column = \"NAME\"`, or `from = \"goal\"` with a policy";
            values.problem(place.clone(), format!("measure `{name}`"), message, remedy);
            return None;
        }
    };
    let Some(how) = method.or(if from_goal { Some(How::End) } else { None }) else {
        let words: Vec<String> = How::WORDS.iter().map(|word| format!("`{}`", word.0)).collect();
        let remedy = format!("give `as = \"largest\"`; there are {}", words.join(", "));
        values.problem(
            place.clone(),
            format!("measure `{name}`"),
            "it does not say how it is measured",
            remedy,
        );
        return None;
    };
    Some(Measure { of, how })
}
