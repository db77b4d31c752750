//! `jacobian`: how a quantity and its rates change with the motion.

use std::path::Path;

use leastaction::io::{NamedArray, StateFile, write_atomically, write_npz};
use leastaction::jet::{Coordinates, JetWorkspace, factorial};
use leastaction::mechanism::{Mechanism, State};
use leastaction_study::choice::Choice;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::memory::expect_room;
use leastaction_study::output::cannot_write;
use leastaction_study::quantity::QuantityChoice;
use leastaction_study::settings::{DEFAULT_STEP, Group, Settings};
use leastaction_study::{choices, model, start};
use serde_json::{Map, Value, json};

use crate::printer::Printer;
use crate::quantity_flags::{FRAME, OF, ORDER, QUANTITY, WITH, quantity};
use crate::verb::{Given, MODEL, Verb};

/// Columns shown on a terminal.
const SHOWN: usize = 10;

pub(crate) const VERB: Verb = Verb {
    name: "jacobian",
    about: "Jacobian of a quantity and its time derivatives, rows and columns named",
    more: "Rows are plain time derivatives up to the order asked for. Columns vary q and its derivatives (`q.J`, `q.d1.J`, …); \
           for ball and free joints the derivatives of a perturbation on the right.",
    fields: &[
        MODEL,
        QUANTITY,
        ORDER,
        OF,
        FRAME,
        WITH,
        Field::flag(
            "at",
            "STATE",
            Kind::Text,
            "State file (may hold `derivatives`) or name of a state of the model",
        ),
        Field::flag("columns", "COLUMNS", Kind::Word(Columns::WORDS), "What the columns vary")
            .default("tangent"),
        Field::flag("out", "FILE", Kind::Path, "File to write, .json or .npz"),
    ],
    groups: &[Group::Read, Group::Start],
    verbs: &[],
    run,
};

choices! {
    /// Column systems.
    Columns {
        /// Time derivatives of a tangent (for one-axis joints: of the coordinate)
        Tangent = "tangent",
        /// Configuration (on the right), then velocity, acceleration, …
        Velocity = "velocity",
    }
}

struct Matrix {
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<f64>,
    /// The quantity itself; a rotation has nine numbers and three rows in the Jacobian.
    quantity: Vec<(String, f64)>,
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let mut settings = given.settings();
    settings.start = given.text("at").map(str::to_owned);
    let (model, mechanism) = model::load(given.model(), &settings.reading())?;
    printer.warnings(given.model(), &model.reading.diagnostics);
    let chosen = quantity(given);
    let (mut jets, request) = chosen.prepare(&mechanism)?;
    let (state, derivatives) = motion_at(&mechanism, &settings, jets.velocity_count())?;
    let slices: Vec<&[f64]> = derivatives.iter().map(Vec::as_slice).collect();
    jets.forward_from_derivatives(&state.q, &slices).map_err(|error| Failure::from_error(&error))?;

    let (rows, width) = (jets.jacobian_rows(chosen.quantity), jets.jacobian_columns());
    let tall = jets.value_count(chosen.quantity) * rows;
    // The matrix, the same in plain derivatives, and what is printed or written.
    expect_room(&format!("the Jacobian ({tall} x {width} numbers)"), 6.0 * tall as f64 * width as f64)?;
    let mut dense = vec![0.0; jets.value_count(chosen.quantity) * rows * width];
    let columns = given.choice("columns").unwrap_or(Columns::Tangent);
    let coordinates = match columns {
        Columns::Tangent => Coordinates::Tangent,
        Columns::Velocity => Coordinates::Velocity,
    };
    jets.jacobian_into(&request, coordinates, &mut dense).map_err(|error| Failure::from_error(&error))?;
    let mut matrix = named(&chosen, columns, &mechanism, &jets, &dense);
    let tall = jets.value_rows(chosen.quantity);
    let mut value = vec![0.0; jets.value_count(chosen.quantity) * tall];
    jets.value_into(&request, &mut value).map_err(|error| Failure::from_error(&error))?;
    for l in 0..=chosen.order {
        let names = chosen.rows(&mechanism, l, false).into_iter();
        let numbers = value[l * tall..(l + 1) * tall].iter().map(|x| x * factorial(l));
        matrix.quantity.extend(names.zip(numbers));
    }

    let out = given.path("out");
    if let Some(path) = out {
        write(path, &chosen, &matrix)?;
    }
    printer.object(&object(&chosen, &matrix));
    show(printer, &matrix);
    if let Some(path) = out {
        printer.note(format!("written to `{}`", path.display()));
    }
    Ok(DONE)
}

/// Positions, and velocity, acceleration, … in plain derivatives; what is not given is zero.
fn motion_at(
    mechanism: &Mechanism,
    settings: &Settings,
    count: usize,
) -> Result<(State, Vec<Vec<f64>>), Failure> {
    let state = start::resolve(mechanism, settings, DEFAULT_STEP, None)?.state;
    let mut derivatives = vec![vec![0.0; mechanism.nv()]; count];
    derivatives[0].copy_from_slice(&state.v);
    let file = settings.start.as_ref().filter(|at| !mechanism.states().contains_key(*at));
    if let Some(path) = file.map(Path::new) {
        let file = StateFile::read(path).map_err(|error| Failure::from_error(&error))?;
        for (name, rows) in &file.derivatives {
            let joint = mechanism.joint_by_name(name).ok_or_else(|| model::unknown_joint(mechanism, name))?;
            let range = mechanism.v_range(joint);
            for (l, row) in rows.iter().enumerate().take(count) {
                let row = row.as_slice();
                if row.len() != range.len() || row.iter().any(|x| !x.is_finite()) {
                    return Err(Failure::new(format!(
                        "derivative {} of joint `{name}` in `{}` needs {} finite numbers",
                        l + 1,
                        path.display(),
                        range.len()
                    )));
                }
                derivatives[l][range.clone()].copy_from_slice(row);
            }
        }
    }
    Ok((state, derivatives))
}

/// Rows and columns in plain derivatives, with their names.
fn named(
    chosen: &QuantityChoice,
    columns: Columns,
    mechanism: &Mechanism,
    jets: &JetWorkspace<f64>,
    dense: &[f64],
) -> Matrix {
    let order = chosen.order;
    let (rows, width) = (jets.jacobian_rows(chosen.quantity), jets.jacobian_columns());
    let labels = mechanism.v_labels();
    let orders = jets.velocity_count() + 1;
    let mut matrix =
        Matrix { rows: Vec::new(), columns: Vec::new(), values: Vec::new(), quantity: Vec::new() };
    for m in 0..orders {
        matrix.columns.extend(labels.iter().map(|label| match (columns, m) {
            (_, 0) => format!("q.{label}"),
            (Columns::Tangent, _) => format!("q.d{m}.{label}"),
            (Columns::Velocity, 1) => format!("v.{label}"),
            (Columns::Velocity, _) => format!("v.d{}.{label}", m - 1),
        }));
    }
    for l in 0..=order {
        matrix.rows.extend(chosen.rows(mechanism, l, true));
        for row in 0..rows {
            for m in 0..orders {
                let scale = match columns {
                    Columns::Tangent => factorial(l) / factorial(m),
                    Columns::Velocity => factorial(l) / factorial(m.saturating_sub(1)),
                };
                for c in 0..labels.len() {
                    let x = dense[(l * rows + row) * width + jets.column_index(c, m)];
                    matrix.values.push(scale * x);
                }
            }
        }
    }
    matrix
}

fn object(chosen: &QuantityChoice, matrix: &Matrix) -> Value {
    let width = matrix.columns.len().max(1);
    json!({
        "quantity": chosen.quantity.name(),
        "of": chosen.of,
        "order": chosen.order,
        "value": matrix.quantity.iter().map(|(name, x)| (name.clone(), json!(x))).collect::<Map<_, _>>(),
        "rows": matrix.rows,
        "columns": matrix.columns,
        "matrix": matrix.values.chunks(width).collect::<Vec<_>>(),
    })
}

fn write(path: &Path, chosen: &QuantityChoice, matrix: &Matrix) -> Result<(), Failure> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let done = match ending.as_str() {
        "npz" => {
            let (names, numbers): (Vec<String>, Vec<f64>) = matrix.quantity.iter().cloned().unzip();
            let (rows, columns) = (matrix.rows.clone(), matrix.columns.clone());
            let arrays = [
                NamedArray::table("matrix", rows.len(), columns.len(), matrix.values.clone()),
                NamedArray::labels("rows", rows),
                NamedArray::labels("columns", columns),
                NamedArray::table("value", names.len(), 1, numbers),
                NamedArray::labels("value_rows", names),
            ];
            write_npz(path, &arrays)
        }
        "json" => {
            let text = serde_json::to_string_pretty(&object(chosen, matrix)).unwrap_or_default();
            write_atomically(path, text.as_bytes())
        }
        _ => {
            return Err(Failure::new(format!("the name `{}` does not tell a format", path.display()))
                .help("end it in `.json` or `.npz`"));
        }
    };
    done.map_err(|error| cannot_write(path, &error))
}

fn show(printer: &mut Printer, matrix: &Matrix) {
    let width = matrix.columns.len();
    let shown = width.min(SHOWN);
    let names = matrix.rows.iter().chain(matrix.quantity.iter().map(|(name, _)| name));
    let name = names.map(|r| r.chars().count()).max().unwrap_or(0);
    // Beside its derivative where rows are the same, apart where they are not.
    let beside = matrix.rows.iter().eq(matrix.quantity.iter().map(|(name, _)| name));
    if !beside {
        printer.line(format!("{:name$} {:>14}", "", "value"));
        for (row, x) in &matrix.quantity {
            printer.line(format!("{row:name$} {x:>14.6e}"));
        }
    }
    let head: Vec<String> = matrix.columns[..shown].iter().map(|c| format!("{c:>14}")).collect();
    let value = if beside { format!("{:>14} |", "value") } else { String::new() };
    printer.line(format!("{:name$} {value}{}", "", head.join(" ")));
    for (i, (row, values)) in matrix.rows.iter().zip(matrix.values.chunks(width.max(1))).enumerate() {
        let cells: Vec<String> = values[..shown].iter().map(|x| format!("{x:>14.6e}")).collect();
        let value = if beside { format!("{:>14.6e} |", matrix.quantity[i].1) } else { String::new() };
        printer.line(format!("{row:name$} {value}{}", cells.join(" ")));
    }
    if shown < width {
        printer
            .line(format!("… and {} more columns; `--json` and `--out FILE` have them all", width - shown));
    }
}
