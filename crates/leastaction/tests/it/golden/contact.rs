//! `leastaction/contact/1`: trajectories with contact.

use leastaction::integrator::maximal::{Maximal, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{BodyId, Mechanism, MechanismBuilder};
use leastaction_golden::contact::{Place, contacts, read};

use super::{Golden, scale};

/// Poses and gaps are absolute, impulses relative to the largest of their kind: the reference was made with 80-bit states, and
/// reruns in double precision agree to 4e-11 in pose and 2e-10 in velocity.
const POSE: f64 = 1e-9;
const VELOCITY: f64 = 1e-8;
const ENERGY: f64 = 1e-8;
const GAP: f64 = 1e-10;
const IMPULSE: f64 = 1e-7;

/// Largest impulse of a kind in the whole file.
fn largest(golden: &Golden, key: &str) -> f64 {
    let states = golden.value["states"].as_array().map_or(0, Vec::len);
    let of = |k: usize| format!("/states/{k}/{key}");
    let there = (0..states).map(of).filter(|pointer| golden.value.pointer(pointer).is_some());
    there.fold(1e-3, |m, pointer| scale(&golden.numbers(&pointer), m))
}

pub(super) fn file_index(mechanism: &Mechanism, body: BodyId) -> usize {
    mechanism.body(body).name.trim_start_matches("body").parse().expect("bodies are numbered")
}

/// Index in the engine's list of contacts and limits, for each contact of the file.
pub(super) fn order(workspace: &MaximalWorkspace, places: &[Place]) -> Vec<usize> {
    let limits = workspace.contact_limits();
    let find = |place: &Place| match *place {
        Place::Contact(k) => k,
        Place::Limit(v, sign) => limits.iter().position(|l| *l == Some((v, sign))).expect("a limit"),
    };
    places.iter().map(find).collect()
}

pub(super) fn check(golden: &mut Golden) {
    for key in ["gravity", "bodies", "joints", "contacts", "options", "dt", "steps"] {
        golden.input(format!("/{key}"));
    }
    for key in ["q", "x", "omega_body", "v"] {
        golden.input(format!("/initial/{key}"));
    }
    for key in ["largest_energy_increase", "double_rerun"] {
        golden.input(format!("/{key}")); // information
    }
    let case = read(&golden.value).expect("the file is readable");
    let mut mechanism = MechanismBuilder::from(case.case.model).build().expect("the model is valid");
    let (made, places) = contacts(&golden.value, &mechanism).expect("contacts");
    mechanism.set_contacts(made);
    let engine = Maximal {
        contact: case.settings,
        limits_as_rows: true,
        explicit_springs: true,
        ..Maximal::default()
    };
    let mut workspace = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("consistent");
    let order = order(&workspace, &places);
    let (kinetic, potential) = workspace.energy(&state);
    golden.compare("initial energy", "/initial/energy", &[kinetic, potential], ENERGY);
    let mut done = 0;
    let mut events = Vec::new();
    let count = golden.value["states"].as_array().map_or(0, Vec::len);
    for k in 0..count {
        let here = |key: &str| format!("/states/{k}/{key}");
        let step = golden.value["states"][k]["step"].as_u64().expect("a step") as usize;
        golden.input(here("step"));
        golden.input(here("t"));
        while done < step {
            let report =
                match engine.step(&mechanism, &mut workspace, &mut state, Input { u: &[] }, case.case.step) {
                    Ok(report) => report,
                    Err(error) => {
                        golden.fail(format!("step {done}: {error}"));
                        return;
                    }
                };
            done += 1;
            if report.events > 0 {
                events.push(done as f64);
            }
        }
        let mut links = workspace.snapshot(&state);
        let mut indices: Vec<usize> = (0..links.len()).collect();
        indices.sort_by_key(|i| file_index(&mechanism, links[*i].body));
        links.sort_by_key(|link| file_index(&mechanism, link.body));
        let expected: Vec<f64> = golden.numbers(&here("q"));
        let q: Vec<f64> = links
            .iter()
            .enumerate()
            .flat_map(|(i, link)| {
                let q = link.q.to_array();
                let same: f64 = q.iter().zip(&expected[4 * i..]).map(|(a, b)| a * b).sum();
                q.map(|x| if same < 0.0 { -x } else { x })
            })
            .collect();
        let flat = |f: &dyn Fn(&leastaction::integrator::maximal::LinkSnapshot) -> Vec<f64>| -> Vec<f64> {
            links.iter().flat_map(f).collect()
        };
        golden.compare("orientations", &here("q"), &q, POSE);
        golden.compare("positions", &here("x"), &flat(&|l| l.x.0.to_vec()), POSE);
        golden.compare("node velocities", &here("omega_node"), &flat(&|l| l.omega.0.to_vec()), VELOCITY);
        golden.compare("node velocities", &here("v_node"), &flat(&|l| l.v.0.to_vec()), VELOCITY);
        let (kinetic, potential) = workspace.energy(&state);
        golden.compare("energies", &here("energy"), &[kinetic, potential], ENERGY);
        let gaps = workspace.contact_gaps();
        let gaps: Vec<f64> = order.iter().map(|i| gaps[*i]).collect();
        golden.compare("gaps", &here("gap"), &gaps, GAP);
        golden.compare("events", &here("events_so_far"), &[events.len() as f64], 1e-9);
        let has = |key: &str| golden.value["states"][k].get(key).is_some();
        if has("omega_interval") {
            let omega = flat(&|l| l.omega_interval.0.to_vec());
            golden.compare("interval velocities", &here("omega_interval"), &omega, VELOCITY);
            golden.compare(
                "interval velocities",
                &here("v_interval"),
                &flat(&|l| l.v_interval.0.to_vec()),
                VELOCITY,
            );
        }
        let ends = ["start", "end"];
        let (on_links, single) = (workspace.contact_impulses_on_links(), workspace.contact_impulses());
        for (side, name) in ends.iter().enumerate() {
            let key = format!("contact_impulse_on_bodies_{name}");
            if golden.value["states"][k].get(&key).is_some() {
                let sorted: Vec<f64> = indices.iter().flat_map(|i| on_links[side][*i]).collect();
                let tolerance = IMPULSE * largest(golden, &key);
                golden.compare("impulses on bodies", &here(&key), &sorted, tolerance);
            }
            let key = format!("contact_impulse_{name}");
            for (c, i) in order.iter().enumerate() {
                let pointer = here(&format!("{key}/{c}"));
                if golden.value.pointer(&pointer).is_some_and(|v| v.is_array()) {
                    let tolerance = IMPULSE * largest(golden, &key);
                    golden.compare("contact impulses", &pointer, &single[side][*i], tolerance);
                }
            }
        }
    }
    golden.compare("steps with an impact", "/event_steps", &events, 1e-9);
    assert_eq!(done, case.case.steps, "the last state is that of the last step");
}
