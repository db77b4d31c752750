//! `linearize`: the derivative of one step of the minimal integrator.

use std::path::{Path, PathBuf};

use leastaction::integrator::minimal::{Coordinates, Linearization, MinimalIntegrator, MinimalOptions};
use leastaction::integrator::{Input, Integrator, Method};
use leastaction::io::{NamedArray, write_atomically, write_npz};
use leastaction::mechanism::Mechanism;
use serde_json::{Value, json};

use crate::args::{InputArgs, MODEL_HELP, ModelArgs, ReadArgs, StartArgs, StepArgs};
use crate::config::{DEFAULT_STEP, Settings};
use crate::failure::{DONE, Failure};
use crate::inputs::Inputs;
use crate::model;
use crate::output::cannot_write;
use crate::printer::Printer;
use crate::{serve, start};

/// Linearize one step of the minimal integrator: A and B of state and inputs, exact to rounding
///
/// Rows and columns are tangents of the public coordinates (q), then velocities (v) or momenta (p), then inputs (u).
///
/// Examples:
///   leastaction linearize @chain/10 --at state.json --step 0.01
///   leastaction linearize robot.urdf --coordinates qp --out slope.npz
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    #[arg(value_name = "MODEL", help = MODEL_HELP)]
    model: String,
    /// State file, or the name of a state of the model [default: its start]
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["start", "state"])]
    at: Option<String>,
    /// What the second half of the state is: velocities or momenta
    #[arg(long, value_enum, default_value = "qv")]
    coordinates: Half,
    /// File of the result, .json or .npz [default: JSON on the screen]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    step: StepArgs,
    #[command(flatten)]
    start: StartArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    change: ModelArgs,
}

/// What the second half of the state is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Half {
    /// Momenta
    Qp,
    /// Velocities
    Qv,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    let mut settings = Settings {
        model: Some(args.model.clone()),
        ..Settings::from_flags(&args.change, &args.step, &args.start, &args.input)
    };
    if args.at.is_some() {
        settings.start = args.at;
    }
    if settings.integrator.is_some_and(|method| method != Method::Minimal) {
        return Err(Failure::new("only the minimal integrator is linearized")
            .help("leave `--integrator` out, or give `minimal`"));
    }
    settings.integrator = Some(Method::Minimal);
    let read = ReadArgs { base: settings.base, package_path: settings.package_path.clone() };
    let (model, built) = model::load(&args.model, &read)?;
    if let Some(case) = &model.case
        && case.integrator == "minimal"
    {
        settings.order = settings.order.or(Some(case.order));
        settings.step = settings.step.or(Some(case.step));
    }
    for warning in &model.reading.diagnostics {
        printer.diagnostic(warning);
    }
    let served = serve::prepare(&model, built, &settings)?;
    let mechanism = &served.mechanism;
    let step = settings.step.unwrap_or(DEFAULT_STEP);
    let (state, _) = start::resolve(mechanism, &settings, step)?;
    let mut inputs = Inputs::new(mechanism, &model, &settings, step)?;
    let u = inputs.at(mechanism, state.t, &state).to_vec();
    let coordinates = match args.coordinates {
        Half::Qp => Coordinates::Momentum,
        Half::Qv => Coordinates::Velocity,
    };
    let default = MinimalOptions::default();
    let options = MinimalOptions {
        order: settings.order.unwrap_or(default.order),
        tolerance: settings.tolerance.unwrap_or(default.tolerance),
        tolerance_q: 1e-12,
        ..default
    };
    let fail = |error| Failure::from_error(&error);
    let integrator = MinimalIntegrator::new(options).map_err(fail)?;
    let mut workspace = integrator.workspace(mechanism).map_err(fail)?;
    let mut inner = integrator.start(mechanism, &mut workspace, &state).map_err(fail)?;
    let slope = integrator
        .linearize(mechanism, &mut workspace, &mut inner, Input { u: &u }, step, coordinates)
        .map_err(fail)?;
    deliver(
        mechanism,
        &slope,
        args.coordinates,
        step,
        integrator.options().order,
        args.out.as_deref(),
        printer,
    )
}

/// Names of the states: tangents, then velocities or momenta.
fn state_names(mechanism: &Mechanism, half: Half) -> Vec<String> {
    let labels = mechanism.v_labels();
    let second = if half == Half::Qp { "p" } else { "v" };
    let with = |prefix: &str| labels.iter().map(|l| format!("{prefix}.{l}")).collect::<Vec<_>>();
    [with("q"), with(second)].concat()
}

fn deliver(
    mechanism: &Mechanism,
    slope: &Linearization,
    half: Half,
    step: f64,
    order: u32,
    out: Option<&Path>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let states = state_names(mechanism, half);
    let inputs: Vec<String> = mechanism.inputs().iter().map(|u| format!("u.{u}")).collect();
    let n = states.len();
    let a: Vec<Vec<f64>> = (0..n).map(|r| (0..n).map(|c| slope.a(r, c)).collect()).collect();
    let b: Vec<Vec<f64>> = (0..n).map(|r| (0..inputs.len()).map(|c| slope.b(r, c)).collect()).collect();
    let object: Value = json!({
        "schema": "leastaction/linearization/1",
        "model": mechanism.name(),
        "step": step,
        "order": order,
        "rows": states,
        "columns": { "A": states, "B": inputs },
        "A": a,
        "B": b,
    });
    let Some(path) = out else {
        printer.object(&object);
        if !printer.is_json() {
            printer.raw(&(serde_json::to_string(&object).unwrap_or_default() + "\n"));
        }
        return Ok(DONE);
    };
    let written = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
        write_npz(
            path,
            &[
                NamedArray::table("A", n, n, a.concat()),
                NamedArray::table("B", n, inputs.len(), b.concat()),
                NamedArray::labels("states", states),
                NamedArray::labels("inputs", inputs),
            ],
        )
    } else {
        write_atomically(path, (serde_json::to_string_pretty(&object).unwrap_or_default() + "\n").as_bytes())
    };
    written.map_err(|error| cannot_write(path, &error))?;
    if printer.is_json() {
        printer.object(&json!({ "out": path.display().to_string() }));
    }
    printer.line(format!("  linearization  {}", path.display()));
    Ok(DONE)
}
