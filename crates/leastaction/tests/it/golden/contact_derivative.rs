//! `leastaction/contact_derivative/1`: derivatives of single steps with contact, exact and relaxed.

use leastaction::integrator::maximal::{
    ContactDerivative, LinkSnapshot, Maximal, MaximalWorkspace, RotationMap, StepDerivative,
};
use leastaction::integrator::{Input, Integrator};
use leastaction::mechanism::{Mechanism, MechanismBuilder};
use leastaction_golden::contact::{contacts, read_derivative};

use super::contact::{file_index, order};
use super::{Golden, scale};

const POSE: f64 = 1e-9;
const VELOCITY: f64 = 1e-8;
/// Relative, on the image of an admissible direction (itself good to 2e-8) and on the relaxed Jacobian.
const DERIVATIVE: f64 = 1e-6;

/// A case set up.
struct Case {
    mechanism: Mechanism,
    engine: Maximal,
    workspace: MaximalWorkspace,
    /// Link of the engine for every body of the file.
    links: Vec<usize>,
    h: f64,
}

impl Case {
    /// Takes the step and differentiates it; the derivative and the links at its end, in the order of the file.
    fn differentiate(&mut self) -> Result<(StepDerivative, Vec<LinkSnapshot>), String> {
        let Self { mechanism, engine, workspace, links, h } = self;
        let mut state =
            engine.start(mechanism, workspace, &mechanism.start_state()).map_err(|e| e.to_string())?;
        let mut slope = StepDerivative::new(engine, mechanism, workspace);
        engine
            .differentiate(mechanism, workspace, &mut state, Input { u: &[] }, *h, &mut slope)
            .map_err(|e| e.to_string())?;
        let snapshot = workspace.snapshot(&state);
        Ok((slope, links.iter().map(|i| snapshot[*i]).collect()))
    }

    /// The image of a direction given as all poses, then all velocities of the bodies.
    fn image(&self, slope: &mut StepDerivative, direction: &[f64]) -> Vec<f64> {
        let n = self.links.len();
        let mut start = vec![[0.0; 12]; n];
        for (body, link) in self.links.iter().enumerate() {
            for k in 0..6 {
                start[*link][k] = direction[6 * body + k];
                start[*link][6 + k] = direction[6 * (n + body) + k];
            }
        }
        let end = slope.contact_product(&start);
        let part = |from: usize| self.links.iter().flat_map(move |i| (0..6).map(move |k| (*i, from + k)));
        part(0).chain(part(6)).map(|(i, k)| end[i][k]).collect()
    }
}

fn set_up(golden: &Golden, k: usize) -> (Case, Vec<leastaction_golden::contact::Place>) {
    let value = &golden.value["cases"][k];
    let case = read_derivative(value).expect("the case is readable");
    let map = if case.case.rotation_map == Some("cayley") { RotationMap::Cayley } else { RotationMap::Sine };
    let mut mechanism = MechanismBuilder::from(case.case.model).build().expect("the model is valid");
    let (made, places) = contacts(value, &mechanism).expect("contacts");
    mechanism.set_contacts(made);
    let engine = Maximal {
        map,
        contact: case.settings,
        limits_as_rows: true,
        explicit_springs: true,
        ..Maximal::default()
    };
    let mut workspace = engine.workspace(&mechanism).expect("served");
    let state = engine.start(&mechanism, &mut workspace, &mechanism.start_state()).expect("consistent");
    let snapshot = workspace.snapshot(&state);
    let mut links: Vec<usize> = (0..snapshot.len()).collect();
    links.sort_by_key(|i| file_index(&mechanism, snapshot[*i].body));
    (Case { mechanism, engine, workspace, links, h: case.case.step }, places)
}

pub(super) fn check(golden: &mut Golden) {
    for k in 0..golden.value["cases"].as_array().map_or(0, Vec::len) {
        let here = |key: &str| format!("/cases/{k}/{key}");
        let inputs =
            ["gravity", "bodies", "joints", "contacts", "dt", "start", "direction", "options", "extras"];
        inputs.iter().for_each(|key| golden.input(here(key)));
        // Information; and the matrix of all equations, of which only products with admissible directions are unique.
        for key in ["checked_by_differences", "jacobian", "relaxed/checked_by_differences"] {
            golden.input(here(key));
        }
        golden.input(here("relaxed/smoothing_speed"));
        let (mut case, places) = set_up(golden, k);
        match case.differentiate() {
            Ok((mut slope, links)) => {
                compare_poses(golden, &here("end"), &links);
                let flat = |f: &dyn Fn(&LinkSnapshot) -> [f64; 3]| -> Vec<f64> {
                    links.iter().flat_map(f).collect()
                };
                let (omega, v) = (flat(&|l| l.omega.0), flat(&|l| l.v.0));
                golden.compare("node velocities", &here("end/omega_node"), &omega, VELOCITY);
                golden.compare("node velocities", &here("end/v_node"), &v, VELOCITY);
                let image = case.image(&mut slope, &golden.numbers(&here("direction")));
                let tolerance = DERIVATIVE * scale(&golden.numbers(&here("image")), 1e-12);
                golden.compare("image of a direction", &here("image"), &image, tolerance);
            }
            Err(error) => golden.fail(format!("case {k}: {error}")),
        }
        if golden.value.pointer(&here("relaxed")).is_some() {
            check_relaxed(golden, k, &mut case, &places);
        }
    }
}

fn check_relaxed(
    golden: &mut Golden,
    k: usize,
    case: &mut Case,
    places: &[leastaction_golden::contact::Place],
) {
    let here = |key: &str| format!("/cases/{k}/relaxed/{key}");
    let speed = golden.numbers(&here("smoothing_speed"))[0];
    case.engine.contact_derivative = ContactDerivative::Relaxed { speed: Some(speed) };
    let masses = case.workspace.contact_masses();
    let masses: Vec<f64> = order(&case.workspace, places).iter().map(|i| masses[*i]).collect();
    golden.compare("contact masses", &here("contact_mass"), &masses, 1e-12 * scale(&masses, 1e-3));
    let (mut slope, _) = match case.differentiate() {
        Ok(made) => made,
        Err(error) => {
            golden.fail(format!("case {k}, relaxed: {error}"));
            return;
        }
    };
    let relaxed = slope.relaxed_end();
    let relaxed: Vec<_> = case.links.iter().map(|i| relaxed[*i]).collect();
    let expected = golden.numbers(&here("end/q"));
    let turned = |(i, link): (usize, &leastaction::integrator::maximal::RelaxedLink)| {
        same_sign(link.q.to_array(), &expected[4 * i..4 * i + 4])
    };
    let q: Vec<f64> = relaxed.iter().enumerate().flat_map(turned).collect();
    golden.compare("relaxed poses", &here("end/q"), &q, POSE);
    let x: Vec<f64> = relaxed.iter().flat_map(|l| l.x.0).collect();
    golden.compare("relaxed poses", &here("end/x"), &x, POSE);
    let omega: Vec<f64> = relaxed.iter().flat_map(|l| l.omega.0).collect();
    golden.compare("relaxed velocities", &here("end/omega_interval"), &omega, VELOCITY);
    let v: Vec<f64> = relaxed.iter().flat_map(|l| l.v.0).collect();
    golden.compare("relaxed velocities", &here("end/v_interval"), &v, VELOCITY);
    let size = 12 * case.links.len();
    let mut jacobian = vec![0.0; size * size];
    for column in 0..size {
        let unit: Vec<f64> = (0..size).map(|i| f64::from(u8::from(i == column))).collect();
        for (row, value) in case.image(&mut slope, &unit).into_iter().enumerate() {
            jacobian[row * size + column] = value;
        }
    }
    let tolerance = DERIVATIVE * scale(&golden.numbers(&here("jacobian")), 1e-12);
    golden.compare("relaxed Jacobian", &here("jacobian"), &jacobian, tolerance);
}

/// A quaternion with the sign of the expected one.
fn same_sign(q: [f64; 4], expected: &[f64]) -> [f64; 4] {
    let same: f64 = q.iter().zip(expected).map(|(a, b)| a * b).sum();
    if same < 0.0 { q.map(|x| -x) } else { q }
}

fn compare_poses(golden: &mut Golden, pointer: &str, links: &[LinkSnapshot]) {
    let (q_at, x_at) = (format!("{pointer}/q"), format!("{pointer}/x"));
    let expected = golden.numbers(&q_at);
    let turned =
        |(i, link): (usize, &LinkSnapshot)| same_sign(link.q.to_array(), &expected[4 * i..4 * i + 4]);
    let q: Vec<f64> = links.iter().enumerate().flat_map(turned).collect();
    golden.compare("poses", &q_at, &q, POSE);
    let x: Vec<f64> = links.iter().flat_map(|l| l.x.0).collect();
    golden.compare("poses", &x_at, &x, POSE);
}
