//! `jacobian`: how a quantity and its rates change with the motion.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use leastaction::io::{StateFile, write_atomically, write_matrix_npz};
use leastaction::jet::{Coordinates, JetWorkspace, factorial};
use leastaction::mechanism::{Mechanism, State};
use serde_json::{Value, json};

use crate::printer::Printer;
use leastaction_study::args::{Assignment, MODEL_HELP, ReadArgs, StartArgs};
use leastaction_study::config::Settings;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::model;
use leastaction_study::output::cannot_write;
use leastaction_study::quantity::QuantityArgs;
use leastaction_study::start;

/// Columns shown on a terminal.
const SHOWN: usize = 10;

/// Jacobian of a quantity and its time derivatives, rows and columns named
///
/// Rows are plain time derivatives up to the order asked for. Columns vary q and its derivatives (`q.J`, `q.d1.J`, …);
/// for ball and free joints the derivatives of a perturbation on the right.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_name = "MODEL", help = MODEL_HELP)]
    model: String,
    #[command(flatten)]
    read: ReadArgs,
    #[command(flatten)]
    quantity: QuantityArgs,
    /// State file (may hold `derivatives`) or name of a state of the model
    #[arg(long = "at", value_name = "STATE")]
    at: Option<String>,
    /// Position of a joint (may be given several times)
    #[arg(long = "q", value_name = "JOINT=V[,V]", value_parser = leastaction_study::args::assignment, allow_hyphen_values = true)]
    q: Vec<Assignment>,
    /// Velocity of a joint (may be given several times)
    #[arg(long = "v", value_name = "JOINT=V[,V]", value_parser = leastaction_study::args::assignment, allow_hyphen_values = true)]
    v: Vec<Assignment>,
    /// What the columns vary
    #[arg(long, value_enum, default_value_t = Columns::Tangent)]
    columns: Columns,
    /// File to write, .json or .npz
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Column systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Columns {
    /// Time derivatives of a tangent (for one-axis joints: of the coordinate)
    Tangent,
    /// Configuration (on the right), then velocity, acceleration, …
    Velocity,
}

struct Matrix {
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<f64>,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    let (model, mechanism) = model::load(&args.model, &args.read)?;
    printer.warnings(&args.model, &model.reading.diagnostics);
    let (mut jets, request) = args.quantity.prepare(&mechanism)?;
    let (state, derivatives) = motion_at(&mechanism, &args, jets.velocity_count())?;
    let slices: Vec<&[f64]> = derivatives.iter().map(Vec::as_slice).collect();
    jets.forward_from_derivatives(&state.q, &slices).map_err(|error| Failure::from_error(&error))?;

    let quantity = args.quantity.quantity;
    let (rows, width) = (jets.jacobian_rows(quantity), jets.jacobian_columns());
    let mut dense = vec![0.0; jets.value_count(quantity) * rows * width];
    let coordinates = match args.columns {
        Columns::Tangent => Coordinates::Tangent,
        Columns::Velocity => Coordinates::Velocity,
    };
    jets.jacobian_into(&request, coordinates, &mut dense).map_err(|error| Failure::from_error(&error))?;
    let matrix = named(&args, &mechanism, &jets, &dense);

    if let Some(path) = &args.out {
        write(path, &args, &matrix)?;
    }
    printer.object(&object(&args, &matrix));
    show(printer, &args, &matrix);
    Ok(DONE)
}

/// Positions, and velocity, acceleration, … in plain derivatives; what is not given is zero.
fn motion_at(mechanism: &Mechanism, args: &Args, count: usize) -> Result<(State, Vec<Vec<f64>>), Failure> {
    let flags =
        StartArgs { q: args.q.clone(), v: args.v.clone(), start: args.at.clone(), ..Default::default() };
    let settings = Settings { q: flags.q, v: flags.v, start: flags.start, ..Settings::default() };
    let (state, _) = start::resolve(mechanism, &settings, leastaction_study::config::DEFAULT_STEP)?;
    let mut derivatives = vec![vec![0.0; mechanism.nv()]; count];
    derivatives[0].copy_from_slice(&state.v);
    let file = args.at.as_ref().filter(|at| !mechanism.states().contains_key(*at));
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
fn named(args: &Args, mechanism: &Mechanism, jets: &JetWorkspace<f64>, dense: &[f64]) -> Matrix {
    let order = args.quantity.order;
    let (rows, width) = (jets.jacobian_rows(args.quantity.quantity), jets.jacobian_columns());
    let labels = mechanism.v_labels();
    let orders = jets.velocity_count() + 1;
    let mut matrix = Matrix { rows: Vec::new(), columns: Vec::new(), values: Vec::new() };
    for m in 0..orders {
        matrix.columns.extend(labels.iter().map(|label| match (args.columns, m) {
            (_, 0) => format!("q.{label}"),
            (Columns::Tangent, _) => format!("q.d{m}.{label}"),
            (Columns::Velocity, 1) => format!("v.{label}"),
            (Columns::Velocity, _) => format!("v.d{}.{label}", m - 1),
        }));
    }
    for l in 0..=order {
        matrix.rows.extend(args.quantity.rows(mechanism, l, true));
        for row in 0..rows {
            for m in 0..orders {
                let scale = match args.columns {
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

fn object(args: &Args, matrix: &Matrix) -> Value {
    let width = matrix.columns.len().max(1);
    json!({
        "quantity": args.quantity.quantity.name(),
        "of": args.quantity.of,
        "order": args.quantity.order,
        "rows": matrix.rows,
        "columns": matrix.columns,
        "matrix": matrix.values.chunks(width).collect::<Vec<_>>(),
    })
}

fn write(path: &Path, args: &Args, matrix: &Matrix) -> Result<(), Failure> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let done = match ending.as_str() {
        "npz" => write_matrix_npz(path, &matrix.rows, &matrix.columns, &matrix.values),
        "json" => {
            let text = serde_json::to_string_pretty(&object(args, matrix)).unwrap_or_default();
            write_atomically(path, text.as_bytes())
        }
        _ => {
            return Err(Failure::new(format!("the name `{}` does not tell a format", path.display()))
                .help("end it in `.json` or `.npz`"));
        }
    };
    done.map_err(|error| cannot_write(path, &error))
}

fn show(printer: &mut Printer, args: &Args, matrix: &Matrix) {
    let width = matrix.columns.len();
    let shown = width.min(SHOWN);
    let name = matrix.rows.iter().map(|r| r.chars().count()).max().unwrap_or(0);
    let head: Vec<String> = matrix.columns[..shown].iter().map(|c| format!("{c:>14}")).collect();
    printer.line(format!("{:name$} {}", "", head.join(" ")));
    for (row, values) in matrix.rows.iter().zip(matrix.values.chunks(width.max(1))) {
        let cells: Vec<String> = values[..shown].iter().map(|x| format!("{x:>14.6e}")).collect();
        printer.line(format!("{row:name$} {}", cells.join(" ")));
    }
    if shown < width {
        printer
            .line(format!("… and {} more columns; `--json` and `--out FILE` have them all", width - shown));
    }
    if let Some(path) = &args.out {
        printer.note(format!("written to `{}`", path.display()));
    }
}
