//! `linearize`: the derivative of one step of a variational integrator.

use std::path::Path;

use leastaction::integrator::maximal::ContactSwitch;
use leastaction::integrator::minimal::{Coordinates, Linearization, Minimal, MinimalOptions};
use leastaction::integrator::{Input, Integrator, LinearizedStep, Method, StepLinearization};
use leastaction::io::{NamedArray, write_atomically, write_npz};
use leastaction::mechanism::{Mechanism, Parameter, State};
use leastaction_study::choice::Choice;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::inputs::Inputs;
use leastaction_study::memory::expect_room;
use leastaction_study::output::cannot_write;
use leastaction_study::serve::{self, Served};
use leastaction_study::settings::{DEFAULT_STEP, Group};
use leastaction_study::{choices, model, start};
use serde_json::{Value, json};

use crate::printer::Printer;
use crate::verb::{Given, MODEL, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "linearize",
    about: "Linearize one step of a variational integrator: A and B of state and inputs, exact to rounding",
    more: "Rows and columns are tangents of the public coordinates (q), then velocities (v) or momenta (p), then inputs (u).
With loops or rolling (maximal integrator) they are a free subset that the other coordinates follow.
--parameters adds C, the derivative by numbers of the model: mass, com, inertia, damping, stiffness, friction, alone or as
mass.BODY, com.BODY.x, inertia.BODY.xy, damping.JOINT.
Where surfaces touch the derivative is that of the contacts as they are; --relaxed takes that of a relaxed step, which sees contacts
before they touch.

Examples:
  leastaction linearize @chain/10 --at state.json --step 0.01
  leastaction linearize @four-bar --step 0.01
  leastaction linearize slope-block.json --relaxed 0.01
  leastaction linearize @chain/3 --parameters mass,com.link0
  leastaction linearize robot.urdf --coordinates qp --out derivative.npz",
    fields: &[
        MODEL,
        Field::flag("at", "FILE|NAME", Kind::Text, "State file, or the name of a state of the model [default: its start]")
            .conflicts(&["start", "state"]),
        Field::flag(
            "coordinates",
            "COORDINATES",
            Kind::Word(Half::WORDS),
            "What the second half of the state is: velocities or momenta",
        )
        .default("qv"),
        Field::flag("parameters", "NAME,…", Kind::Text, "Parameters of the model to differentiate by as well"),
        Field::flag("out", "FILE", Kind::Path, "File of the result, .json or .npz [default: JSON on the screen]"),
    ],
    groups: &[Group::Step, Group::Derivative, Group::Start, Group::From, Group::Input, Group::Read, Group::Change],
    verbs: &[],
    run,
};

choices! {
    /// What the second half of the state is.
    Half {
        /// Momenta
        Qp = "qp",
        /// Velocities
        Qv = "qv",
    }
}

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let mut settings = given.settings();
    settings.start = given.text("at").map(str::to_owned).or(settings.start);
    let half = given.choice("coordinates").unwrap_or(Half::Qv);
    let (model, built) = model::load(given.model(), &settings.reading())?;
    if settings.integrator.is_none()
        && let Some(case) = &model.case
    {
        settings.integrator = Method::ALL.iter().find(|m| m.0 == case.integrator).map(|m| m.1);
    }
    if let Some(case) = &model.case
        && settings.integrator.is_some_and(|method| method.name() == case.integrator)
    {
        settings.order = settings.order.or(Some(case.order));
        settings.step = settings.step.or(Some(case.step));
    }
    printer.warnings(given.model(), &model.reading.diagnostics);
    let served = serve::prepare(&model, built, &settings)?;
    served.notes.iter().for_each(|note| printer.note(note));
    let touches = !served.mechanism.contacts().is_empty();
    if settings.relaxed.is_some() && !touches {
        return Err(Failure::new("nothing of the model touches, so there is nothing to relax")
            .help("leave `--relaxed` out, or let surfaces touch with `--contact on`"));
    }
    let step = settings.step.unwrap_or(DEFAULT_STEP);
    let hash = model::hash(&model.description);
    let start::Start { state, notes, .. } = start::resolve(&served.mechanism, &settings, step, Some(&hash))?;
    notes.iter().for_each(|note| printer.note(note));
    let mut inputs = Inputs::new(&served.mechanism, &model, &settings, step, &state, None)?;
    let mut u = inputs.at(&served.mechanism, state.t, &state).to_vec();
    if served.mechanism.has_activations() {
        for (k, drive) in served.mechanism.drives().iter().enumerate() {
            if drive.law.is_activated() {
                u[k] = state.act.get(k).copied().unwrap_or(0.0);
            }
        }
        printer
            .note("inputs of actuators with a state of their own stand for that state, not for its control");
    }
    let (n, nu) = (2 * served.mechanism.nv(), served.mechanism.nu());
    // The matrix, its rows by name, and what is printed or written.
    expect_room(
        &format!("the derivative of a step ({n} x {} numbers)", n + nu),
        6.0 * n as f64 * (n + nu) as f64,
    )?;
    let mut parameters = Vec::new();
    for name in given.text("parameters").unwrap_or_default().split(',').filter(|name| !name.is_empty()) {
        let found = Parameter::named(&served.mechanism, name.trim());
        parameters.extend(found.map_err(|error| Failure::from_error(&error))?);
    }
    let slope = match served.method {
        Method::Minimal => of_minimal(&served, &state, &u, step, half, &parameters)?,
        Method::Maximal => of_maximal(&served, &state, &u, step, half, &parameters)?,
        other => {
            return Err(Failure::new(format!("steps of the {} integrator are not linearized", other.name()))
                .help("leave `--integrator` out, or give `minimal` or `maximal`"));
        }
    };
    for switch in &slope.switches {
        printer.note(format!(
            "{} is within {:.0e} of opening, closing, sticking or slipping: the derivative is that of one side",
            switch.0, switch.1
        ));
    }
    deliver(&served.mechanism, &slope, step, settings.relaxed, given.path("out"), printer)
}

/// A derivative with its names.
struct Slope {
    integrator: &'static str,
    order: u32,
    states: Vec<String>,
    inputs: Vec<String>,
    parameters: Vec<String>,
    /// `[A B]` by rows.
    matrix: Vec<f64>,
    /// `C` by rows.
    by_parameters: Vec<f64>,
    /// Contacts near a switch, by name, with their distance from it; none without contact.
    switches: Vec<(String, f64)>,
    touches: bool,
}

fn parameter_names(mechanism: &Mechanism, parameters: &[Parameter]) -> Vec<String> {
    parameters.iter().map(|parameter| parameter.name(mechanism)).collect()
}

fn input_names(mechanism: &Mechanism) -> Vec<String> {
    mechanism.inputs().iter().map(|u| format!("u.{u}")).collect()
}

fn of_minimal(
    served: &Served,
    state: &State,
    u: &[f64],
    step: f64,
    half: Half,
    parameters: &[Parameter],
) -> Result<Slope, Failure> {
    let mechanism = &served.mechanism;
    let coordinates = match half {
        Half::Qp => Coordinates::Momentum,
        Half::Qv => Coordinates::Velocity,
    };
    let default = MinimalOptions::default();
    let options = MinimalOptions {
        order: served.options.order.unwrap_or(default.order),
        tolerance: served.options.tolerance.unwrap_or(default.tolerance),
        tolerance_q: 1e-12,
        ..default
    };
    let fail = |error| Failure::from_error(&error);
    let integrator = Minimal::new(options).map_err(fail)?;
    let mut workspace = integrator.workspace(mechanism).map_err(fail)?;
    let mut inner = integrator.start(mechanism, &mut workspace, state).map_err(fail)?;
    let mut slope = Linearization::new(mechanism, coordinates);
    integrator.differentiate_by(mechanism, &mut slope, parameters).map_err(fail)?;
    integrator
        .linearize_into(mechanism, &mut workspace, &mut inner, Input { u }, step, &mut slope)
        .map_err(fail)?;
    Ok(Slope {
        integrator: "minimal",
        order: integrator.options().order,
        states: state_names(mechanism, half),
        inputs: input_names(mechanism),
        parameters: parameter_names(mechanism, parameters),
        matrix: slope.matrix,
        by_parameters: slope.by_parameters,
        switches: Vec::new(),
        touches: false,
    })
}

fn of_maximal(
    served: &Served,
    state: &State,
    u: &[f64],
    step: f64,
    half: Half,
    parameters: &[Parameter],
) -> Result<Slope, Failure> {
    if half == Half::Qp {
        return Err(Failure::new("the maximal integrator is linearized in positions and velocities")
            .help("leave `--coordinates` out, or give `qv`"));
    }
    let mechanism = &served.mechanism;
    let fail = |error| Failure::from_error(&error);
    let engine = served.options.maximal_engine().map_err(fail)?;
    let mut workspace = engine.workspace(mechanism).map_err(fail)?;
    let mut inner = engine.start(mechanism, &mut workspace, state).map_err(fail)?;
    let mut memory = engine.slope(mechanism, &workspace);
    engine.differentiate_by(mechanism, &mut memory, parameters).map_err(fail)?;
    let mut slope = StepLinearization::default();
    engine
        .step_linearized(
            mechanism,
            &mut workspace,
            &mut memory,
            &mut inner,
            Input { u },
            step,
            false,
            &mut slope,
        )
        .map_err(fail)?;
    Ok(Slope {
        integrator: "maximal",
        order: engine.order.max(engine.composition.order()),
        states: slope.names(mechanism),
        inputs: input_names(mechanism),
        parameters: parameter_names(mechanism, parameters),
        matrix: slope.matrix,
        by_parameters: slope.by_parameters,
        switches: memory.contact_switches().iter().map(|s| named(mechanism, s)).collect(),
        touches: !mechanism.contacts().is_empty(),
    })
}

/// A contact near a switch: its surfaces or its coordinate, and the distance with its unit left out.
fn named(mechanism: &Mechanism, switch: &ContactSwitch) -> (String, f64) {
    let surfaces = switch.contact.and_then(|k| mechanism.contacts().get(k)).map(|contact| {
        let [a, b] = &mechanism.contact_pairs()[contact.pair];
        format!("contact {a} on {b}")
    });
    let coordinate = switch.coordinate.map(|v| format!("joint {}", mechanism.v_labels()[v]));
    (surfaces.or(coordinate).unwrap_or_default(), switch.distance)
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
    slope: &Slope,
    step: f64,
    relaxed: Option<f64>,
    out: Option<&Path>,
    printer: &mut Printer,
) -> Result<u8, Failure> {
    let (states, inputs) = (slope.states.clone(), slope.inputs.clone());
    let (n, width) = (states.len(), states.len() + inputs.len());
    let rows = |from: usize, to: usize| -> Vec<Vec<f64>> {
        (0..n).map(|r| slope.matrix[r * width + from..r * width + to].to_vec()).collect()
    };
    let (a, b, np) = (rows(0, n), rows(n, width), slope.parameters.len());
    let mut object: Value = json!({
        "schema": "leastaction/linearization/1",
        "model": mechanism.name(),
        "integrator": slope.integrator,
        "step": step,
        "order": slope.order,
        "rows": states,
        "columns": { "A": states, "B": inputs },
        "A": a,
        "B": b,
    });
    if np > 0 {
        object["columns"]["C"] = json!(slope.parameters);
        object["C"] = slope.by_parameters.chunks_exact(np).map(<[f64]>::to_vec).collect();
    }
    if slope.touches {
        let switches: Vec<Value> =
            slope.switches.iter().map(|(name, x)| json!({ "what": name, "distance": x })).collect();
        object["contact"] = match relaxed {
            Some(speed) => json!({ "derivative": "relaxed", "speed": speed }),
            None => json!({ "derivative": "exact", "near_a_switch": switches }),
        };
    }
    let Some(path) = out else {
        printer.object(&object);
        if !printer.is_json() {
            printer.raw(&(serde_json::to_string(&object).unwrap_or_default() + "\n"));
        }
        return Ok(DONE);
    };
    let written = if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz")) {
        let mut arrays = vec![
            NamedArray::table("A", n, n, a.concat()),
            NamedArray::table("B", n, inputs.len(), b.concat()),
            NamedArray::labels("states", states),
            NamedArray::labels("inputs", inputs),
        ];
        if np > 0 {
            arrays.push(NamedArray::table("C", n, np, slope.by_parameters.clone()));
            arrays.push(NamedArray::labels("parameters", slope.parameters.clone()));
        }
        write_npz(path, &arrays)
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
