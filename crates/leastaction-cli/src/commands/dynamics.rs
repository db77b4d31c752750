//! `dynamics`: what the equations of motion are made of at a state.

use std::path::Path;

use leastaction::dynamics::{Dynamics, closed_acceleration};
use leastaction::io::{NamedArray, write_atomically, write_npz};
use leastaction::mechanism::{Mechanism, State};
use leastaction::spatial::{Pose, Quat};
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::inputs::Inputs;
use leastaction_study::memory::expect_room;
use leastaction_study::output::cannot_write;
use leastaction_study::settings::{DEFAULT_STEP, Group};
use leastaction_study::{model, start};
use serde_json::{Map, Value, json};

use crate::printer::Printer;
use crate::verb::{Given, MODEL, Verb};

/// Columns of a matrix shown on a terminal.
const SHOWN: usize = 8;
/// Rows of a table shown on a terminal.
const TALL: usize = 40;

pub(crate) const VERB: Verb = Verb {
    name: "dynamics",
    about: "Equations of motion at a state: mass matrix, bias, forces, accelerations, frames, energies, momenta",
    more: "M a + bias = force: `bias` holds gravity and what depends on velocities, `force` springs, dampers, drag and inputs. \
           Mass matrix and bias are those of the tree; accelerations keep loops closed.",
    fields: &[
        MODEL,
        Field::flag("at", "STATE", Kind::Text, "State file or name of a state of the model"),
        Field::flag("out", "FILE", Kind::Path, "File to write, .json or .npz"),
    ],
    groups: &[Group::Read, Group::Start, Group::Input],
    verbs: &[],
    run,
};

/// Numbers with names of rows and columns.
struct Table {
    name: &'static str,
    what: &'static str,
    rows: Vec<String>,
    columns: Vec<String>,
    values: Vec<f64>,
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let mut settings = given.settings();
    settings.start = given.text("at").map(str::to_owned);
    let (model, mechanism) = model::load(given.model(), &settings.reading())?;
    printer.warnings(given.model(), &model.reading.diagnostics);
    let state = start::resolve(&mechanism, &settings, DEFAULT_STEP, None)?.state;
    let mut inputs = Inputs::new(&mechanism, &model, &settings, DEFAULT_STEP, &state, None)?;
    let mut u = inputs.at(&mechanism, state.t, &state).to_vec();
    // An actuator with a state of its own acts by that state.
    for (k, drive) in mechanism.drives().iter().enumerate() {
        if drive.law.is_activated() {
            u[k] = state.act.get(k).copied().unwrap_or(0.0);
        }
    }
    let n = mechanism.nv() as f64;
    // The matrix, and what is printed or written of it.
    expect_room(&format!("the mass matrix ({n} x {n} numbers)"), 4.0 * n * n)?;
    if !mechanism.constraints().is_empty() {
        printer.note("accelerations do not know of rolling and sliding constraints");
    }
    let tables = tables(&mechanism, &state, &u);
    if let Some(path) = given.path("out") {
        write(path, &tables)?;
    }
    printer.object(&object(&tables));
    tables.iter().for_each(|table| show(printer, table));
    if let Some(path) = given.path("out") {
        printer.note(format!("written to `{}`", path.display()));
    }
    Ok(DONE)
}

fn tables(m: &Mechanism, state: &State, u: &[f64]) -> Vec<Table> {
    let mut dynamics = Dynamics::<f64>::new(m);
    let (q, v, n) = (&state.q, &state.v, m.nv());
    let labels = m.v_labels();
    let per_joint = |name, what, values| Table {
        name,
        what,
        rows: labels.clone(),
        columns: vec![name.to_owned()],
        values,
    };
    let (mut mass, mut bias, mut force) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n]);
    dynamics.mass_matrix_into(m, q, &mut mass);
    dynamics.inverse_dynamics_into(m, q, v, &vec![0.0; n], &mut bias);
    dynamics.applied_forces_into(m, q, v, u, &mut force);
    let acceleration = closed_acceleration(m, state, u);
    let seen = dynamics.observe(m, q, v);
    let about_com = Dynamics::centroidal(&seen);

    let mut frames = Vec::new();
    let mut poses = Vec::new();
    let mut place = |name: &str, pose: Pose| {
        frames.push(name.to_owned());
        poses.extend(Quat::from_matrix(&pose.rot).to_array().iter().chain(&pose.pos.0));
    };
    let mut twists = Vec::new();
    for id in m.body_ids() {
        place(&m.body(id).name, dynamics.kinematics.body_pose(m, id));
        twists.extend(dynamics.kinematics.body_twist(m, id).to_array());
    }
    let bodies = m.bodies().iter().map(|body| body.name.clone()).collect();
    for frame in m.frames() {
        let body = frame.body.map_or(Pose::identity(), |body| dynamics.kinematics.body_pose(m, body));
        place(&frame.name, body * frame.placement);
    }
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    vec![
        Table { name: "q", what: "positions", rows: m.q_labels(), columns: named(&["q"]), values: q.clone() },
        per_joint("v", "velocities", v.clone()),
        Table {
            name: "mass_matrix",
            what: "mass matrix, with armature",
            rows: labels.clone(),
            columns: labels.clone(),
            values: mass,
        },
        per_joint("bias", "gravity, centrifugal and Coriolis torques", bias),
        per_joint("force", "springs, dampers, drag and inputs", force),
        per_joint("acceleration", "accelerations", acceleration),
        Table {
            name: "frames",
            what: "bodies and frames in the world",
            rows: frames,
            columns: named(&["qw", "qx", "qy", "qz", "px", "py", "pz"]),
            values: poses,
        },
        Table {
            name: "twists",
            what: "velocities of the bodies, in their own axes",
            rows: bodies,
            columns: named(&["wx", "wy", "wz", "vx", "vy", "vz"]),
            values: twists,
        },
        Table {
            name: "energy",
            what: "energies in J",
            rows: named(&["kinetic", "potential", "total"]),
            columns: named(&["energy"]),
            values: vec![seen.kinetic, seen.potential, seen.total()],
        },
        Table {
            name: "momentum",
            what: "momenta about the origin and about the centre of mass, world axes",
            rows: named(&["origin", "com"]),
            columns: named(&["lx", "ly", "lz", "px", "py", "pz"]),
            values: [seen.momentum, about_com].iter().flat_map(|p| p.to_array()).collect(),
        },
        Table {
            name: "com",
            what: "centre of mass and mass in all",
            rows: named(&["com"]),
            columns: named(&["x", "y", "z", "mass"]),
            values: seen.com.0.into_iter().chain([m.mass()]).collect(),
        },
    ]
}

fn object(tables: &[Table]) -> Value {
    let mut out = Map::new();
    for table in tables {
        let width = table.columns.len().max(1);
        let values = match width {
            1 => json!(table.values),
            _ => json!(table.values.chunks(width).collect::<Vec<_>>()),
        };
        out.insert(
            table.name.to_owned(),
            json!({"rows": table.rows, "columns": table.columns, "values": values}),
        );
    }
    Value::Object(out)
}

fn write(path: &Path, tables: &[Table]) -> Result<(), Failure> {
    let ending = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    let done = match ending.as_str() {
        "npz" => {
            let arrays: Vec<NamedArray> = tables
                .iter()
                .flat_map(|t| {
                    [
                        NamedArray::table(t.name, t.rows.len(), t.columns.len(), t.values.clone()),
                        NamedArray::labels(format!("{}_rows", t.name), t.rows.clone()),
                        NamedArray::labels(format!("{}_columns", t.name), t.columns.clone()),
                    ]
                })
                .collect();
            write_npz(path, &arrays)
        }
        "json" => {
            let text = serde_json::to_string_pretty(&object(tables)).unwrap_or_default();
            write_atomically(path, text.as_bytes())
        }
        _ => {
            return Err(Failure::new(format!("the name `{}` does not tell a format", path.display()))
                .help("end it in `.json` or `.npz`"));
        }
    };
    done.map_err(|error| cannot_write(path, &error))
}

fn show(printer: &mut Printer, table: &Table) {
    let width = table.columns.len();
    if table.rows.is_empty() {
        return;
    }
    printer.line(format!("{} ({})", table.name, table.what));
    let shown = width.min(SHOWN);
    let name = table.rows.iter().take(TALL).map(|row| row.chars().count()).max().unwrap_or(0);
    if width > 1 {
        let head: Vec<String> = table.columns[..shown].iter().map(|c| format!("{c:>14}")).collect();
        printer.line(format!("  {:name$} {}", "", head.join(" ")));
    }
    for (row, values) in table.rows.iter().zip(table.values.chunks(width)).take(TALL) {
        let cells: Vec<String> = values[..shown].iter().map(|x| format!("{x:>14.6e}")).collect();
        printer.line(format!("  {row:name$} {}", cells.join(" ")));
    }
    if shown < width || table.rows.len() > TALL {
        printer.line(format!(
            "  … {} x {} in all; `--json` and `--out FILE` have them",
            table.rows.len(),
            width
        ));
    }
}
