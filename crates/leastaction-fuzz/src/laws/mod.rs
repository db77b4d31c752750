//! [`LAWS`]: what holds for every mechanism.

mod derivative;
mod momentum;

use std::path::Path;

use leastaction::dynamics::Dynamics;
use leastaction::integrator::{Method, MethodOptions, Simulator, StepError};
use leastaction::io::mjcf::{MjcfOptions, read_mjcf, write_mjcf};
use leastaction::io::{
    UrdfOptions, read_model_json, read_sdf, read_urdf, write_model_json, write_sdf, write_urdf,
};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{Mechanism, MechanismBuilder, ModelDescription, State};

use crate::random_model::{RandomModel, units};

/// Something that must be true of every mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// What it says.
    pub name: &'static str,
    /// `Err` says by how much it fails.
    pub holds: fn(&RandomModel) -> Result<(), String>,
}

/// All of them.
pub const LAWS: &[Law] = &[
    Law { name: "forward dynamics undoes inverse dynamics", holds: forward_undoes_inverse },
    Law { name: "JSON keeps every bit", holds: json_keeps_every_bit },
    Law { name: "other formats keep the mechanics", holds: formats_keep_the_mechanics },
    Law { name: "engines agree", holds: engines_agree },
    Law { name: "a checkpoint changes nothing", holds: checkpoints_change_nothing },
    Law { name: "a warm start saves work, not accuracy", holds: warm_starts_only_save_work },
    Law { name: "energy stays", holds: energy_stays },
    Law { name: "momentum stays", holds: momentum::momentum_stays },
    Law { name: "a step's derivative is its slope", holds: derivative::derivative_is_the_slope },
];

fn built(model: &ModelDescription) -> Result<Mechanism, String> {
    MechanismBuilder::from(model.clone()).build().map_err(|error| format!("not built: {error}"))
}

/// Largest difference relative to the largest entry; NaN if there is one.
fn gap(a: &[f64], b: &[f64]) -> f64 {
    let worst = |values: &mut dyn Iterator<Item = f64>| {
        values.fold(0.0, |most: f64, x| if x <= most { most } else { x })
    };
    let difference = worst(&mut a.iter().zip(b).map(|(a, b)| (a - b).abs()));
    difference / worst(&mut b.iter().map(|b| b.abs()).chain([f64::MIN_POSITIVE]))
}

fn within(what: &str, found: f64, most: f64) -> Result<(), String> {
    if found <= most { Ok(()) } else { Err(format!("{what}: {found:e}, allowed {most:e}")) }
}

fn accelerations(mechanism: &Mechanism, state: &State, tau: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; mechanism.nv()];
    Dynamics::new(mechanism).forward_dynamics_into(mechanism, &state.q, &state.v, tau, &mut out);
    out
}

/// Torques come back: `ID(FD(τ)) = τ`, whatever the condition of the mass matrix.
fn forward_undoes_inverse(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    let mut dynamics = Dynamics::new(&mechanism);
    let mut random = Random::new(17);
    let a: Vec<f64> = (0..mechanism.nv()).map(|_| random.range(-1.0, 1.0)).collect();
    let (mut tau, mut back) = (vec![0.0; a.len()], vec![0.0; a.len()]);
    let (q, v) = (&model.start.q, &model.start.v);
    dynamics.inverse_dynamics_into(&mechanism, q, v, &a, &mut tau);
    let found = accelerations(&mechanism, &model.start, &tau);
    dynamics.inverse_dynamics_into(&mechanism, q, v, &found, &mut back);
    within("forces", gap(&back, &tau), 1e-10)
}

fn json_keeps_every_bit(model: &RandomModel) -> Result<(), String> {
    let text = write_model_json(&model.description);
    let again = read_model_json(&text, Path::new("model.json")).description.ok_or("refused")?;
    if write_model_json(&again) == text { Ok(()) } else { Err("another model".into()) }
}

fn formats_keep_the_mechanics(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    let (urdf, lost_in_urdf) = write_urdf(&model.description);
    let (mjcf, lost_in_mjcf) = write_mjcf(&model.description);
    let (sdf, lost_in_sdf) = write_sdf(&model.description);
    let files = [
        (lost_in_urdf.is_empty(), "URDF", read_urdf(&urdf, Path::new("m.urdf"), &UrdfOptions::default())),
        (lost_in_mjcf.is_empty(), "MJCF", read_mjcf(&mjcf, Path::new("m.xml"), &MjcfOptions::default())),
        (lost_in_sdf.is_empty(), "SDF", read_sdf(&sdf, Path::new("m.sdf"), &UrdfOptions::default())),
    ];
    for (whole, format, mut reading) in files {
        // What a format can't say was told; what remains is another model.
        if !whole {
            continue;
        }
        let again = reading.build().ok_or_else(|| format!("{format}: {:?}", reading.diagnostics))?;
        if again.nv() != mechanism.nv() {
            return Err(format!("{format}: {} coordinates instead of {}", again.nv(), mechanism.nv()));
        }
        within(format, gap(&invariants(&again), &invariants(&mechanism)), 1e-9)?;
    }
    Ok(())
}

/// What does not depend on the coordinates that a format gives its joints, at rest in the neutral pose: the power with which
/// gravity sets the mechanism going, `gᵀ M⁻¹ g`.
fn invariants(mechanism: &Mechanism) -> Vec<f64> {
    let rest = mechanism.neutral_state();
    let zero = vec![0.0; mechanism.nv()];
    let mut weight = zero.clone();
    Dynamics::new(mechanism).inverse_dynamics_into(mechanism, &rest.q, &zero, &zero, &mut weight);
    let fall = accelerations(mechanism, &rest, &zero);
    vec![weight.iter().zip(&fall).map(|(w, a)| w * a).sum()]
}

/// A run of both variational engines at order 4 beside each other.
fn engines_agree(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    if mechanism.loop_joints().next().is_some() {
        return Ok(());
    }
    let (steps, h) = (10, 1e-3 * model.time);
    let Some(minimal) = run(&mechanism, Method::Minimal, 4, &model.start, steps, h)? else { return Ok(()) };
    let Some(maximal) = run(&mechanism, Method::Maximal, 4, &model.start, steps, h)? else { return Ok(()) };
    let Some(rk4) = run(&mechanism, Method::Rk4, 4, &model.start, steps, h)? else { return Ok(()) };
    within("positions, minimal and maximal", gap(&maximal.q, &minimal.q), 1e-8)?;
    within("positions, minimal and RK4", gap(&rk4.q, &minimal.q), 1e-8)
}

/// The last state; `None` if the engine says by name that it does not support the mechanism.
fn run(
    mechanism: &Mechanism,
    method: Method,
    order: u32,
    start: &State,
    steps: u32,
    h: f64,
) -> Result<Option<State>, String> {
    let order = (method != Method::Rk4).then_some(order);
    let options = MethodOptions { order, ..MethodOptions::default() };
    let named = |error: StepError| format!("{}: {error}", method.name());
    let mut simulator = match Simulator::new(mechanism, method, &options, start) {
        Ok(simulator) => simulator,
        Err(StepError::Unsupported { .. }) => return Ok(None),
        Err(error) => return Err(named(error)),
    };
    for _ in 0..steps {
        simulator.step(&vec![0.0; mechanism.nu()], h).map_err(named)?;
    }
    Ok(Some(simulator.state().clone()))
}

fn checkpoints_change_nothing(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    let h = 2e-3 * model.time;
    for method in [Method::Minimal, Method::Maximal] {
        let Ok(mut straight) = Simulator::new(&mechanism, method, &MethodOptions::default(), &model.start)
        else {
            continue;
        };
        let named = |error: StepError| format!("{}: {error}", method.name());
        for _ in 0..3 {
            straight.step(&[], h).map_err(named)?;
        }
        let saved = straight.checkpoint();
        let mut again =
            Simulator::new(&mechanism, method, &MethodOptions::default(), &saved).map_err(named)?;
        for _ in 0..3 {
            straight.step(&[], h).map_err(named)?;
            again.step(&[], h).map_err(named)?;
        }
        let (a, b) = (straight.state().clone(), again.state().clone());
        if a.q != b.q || a.v != b.v {
            return Err(format!("{}: positions differ by {:e}", method.name(), gap(&b.q, &a.q)));
        }
    }
    Ok(())
}

/// A run that goes on from public positions and velocities alone ends where the one with the engine's own memory does.
fn warm_starts_only_save_work(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    let h = 2e-3 * model.time;
    for (method, order) in
        [(Method::Minimal, 2), (Method::Minimal, 6), (Method::Maximal, 2), (Method::Maximal, 4)]
    {
        let options = MethodOptions { order: Some(order), ..MethodOptions::default() };
        let Ok(mut first) = Simulator::new(&mechanism, method, &options, &model.start) else { continue };
        let named = |error: StepError| format!("{} {order}: {error}", method.name());
        for _ in 0..3 {
            first.step(&[], h).map_err(named)?;
        }
        let warm = first.checkpoint();
        let cold = State { warm: None, ..warm.clone() };
        let end = |start: &State| -> Result<State, StepError> {
            let mut simulator = Simulator::new(&mechanism, method, &options, start)?;
            (0..3).try_for_each(|_| simulator.step(&[], h).map(|_| ()))?;
            Ok(simulator.state().clone())
        };
        let (warm, cold) = (end(&warm).map_err(named)?, end(&cold).map_err(named)?);
        let what = format!("{} {order}", method.name());
        within(&format!("{what}: positions"), gap(&cold.q, &warm.q), 1e-9)?;
        // A mechanism that is locked altogether has no velocities but the rounding of positions over a step.
        let still = 1e2 * f64::EPSILON / h;
        let moves =
            units(&mechanism, model.length).iter().zip(&warm.v).any(|(unit, v)| v.abs() > still * unit);
        if moves {
            within(&format!("{what}: velocities"), gap(&cold.v, &warm.v), 1e-7)?;
        }
    }
    Ok(())
}

/// The energy of a mechanism without dampers is that of its start, to the error of its order.
fn energy_stays(model: &RandomModel) -> Result<(), String> {
    let mechanism = built(&model.description)?;
    let mut dynamics = Dynamics::new(&mechanism);
    let mut energy = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v);
    for method in [Method::Minimal, Method::Maximal] {
        let options = MethodOptions { order: Some(4), ..MethodOptions::default() };
        let Ok(mut simulator) = Simulator::new(&mechanism, method, &options, &model.start) else { continue };
        // The engine may have moved the start onto its constraints.
        let first = energy(simulator.state());
        let mut most = 0.0_f64;
        for _ in 0..20 {
            simulator.step(&[], 2e-3 * model.time).map_err(|error| format!("{}: {error}", method.name()))?;
            most = most.max(energy(simulator.state()).kinetic);
        }
        let last = energy(simulator.state());
        let loses = mechanism.joints().iter().any(|joint| joint.damping.iter().any(|d| *d != 0.0))
            || !mechanism.rows().is_empty();
        let change = last.total() - first.total();
        let scale = most.max(first.kinetic).max((last.potential - first.potential).abs());
        let error = if loses { change.max(0.0) } else { change.abs() };
        let floor = 1e-12 * (first.potential.abs() + scale);
        if !error.is_finite() || error > 1e-6 * scale + floor {
            return Err(format!("{}: {change:e} J of {scale:e} J", method.name()));
        }
    }
    Ok(())
}
