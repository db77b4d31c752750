//! Motors and servos that flags give to a model: `--motors`, `--hold`, `--track`.

use std::path::Path;

use leastaction::dynamics::Dynamics;
use leastaction::io::{StateFile, read_trajectory_csv};
use leastaction::mechanism::{
    ActuatorDescription, JointRole, JointType, LawDescription, Mechanism, MechanismBuilder, ModelDescription,
};

use crate::failure::{Failure, names};
use crate::field::Assignment;
use crate::model::unknown_joint;
use crate::settings::Settings;

/// Natural frequency of servos whose gains nobody gave, rad/s.
const FREQUENCY: f64 = 10.0 * std::f64::consts::PI;

/// What the servos of a run follow.
#[derive(Clone, Debug)]
pub struct Targets {
    /// Index of the input of each servo.
    inputs: Vec<usize>,
    /// Ratio of velocity to position gain: the control leads its target by so much time.
    leads: Vec<f64>,
    /// Times of the rows.
    times: Vec<f64>,
    /// Positions and velocities of the servos, row after row.
    rows: Vec<[f64; 2]>,
    /// Row at or before the present time.
    at: usize,
}

/// Gives the model the motors and servos that the settings ask for, and says what the servos follow.
///
/// # Errors
/// If a joint does not exist, a gain is not possible or a file does not fit.
pub fn apply(
    settings: &Settings,
    description: &mut ModelDescription,
    built: &mut Mechanism,
) -> Result<Option<Targets>, Failure> {
    let follows = settings.hold.is_some() || settings.track.is_some();
    if let Some(motors) = &settings.motors {
        let all = motors == "all";
        let joints: Vec<String> = match all {
            true => coordinates(built).into_iter().map(|(label, ..)| label).collect(),
            false => motors.split(',').map(|name| name.trim().to_owned()).collect(),
        };
        if !follows {
            for label in joints {
                let Some((_, joint, coordinate, _)) = coordinates(built).into_iter().find(|c| c.0 == label)
                else {
                    return Err(no_coordinate(built, &label));
                };
                let taken = description.inputs.contains(&label);
                let joint = description_index(description, &built.joints()[joint].name);
                let driven = description.joints[joint].actuators.iter().any(|a| a.coordinate == coordinate);
                // What has a motor already keeps it.
                if !(taken || all && driven) {
                    add_input(description, joint, coordinate, label);
                }
            }
            *built = rebuild(description)?;
            return Ok(None);
        }
    }
    if !follows {
        if let Some(flag) =
            [("kp", &settings.kp), ("kd", &settings.kd)].into_iter().find(|(_, gains)| !gains.is_empty())
        {
            return Err(Failure::new(format!("`--{}` is a gain of servos, of which there are none", flag.0))
                .help("give `--hold STATE` or `--track FILE.csv`"));
        }
        return Ok(None);
    }
    let plan = match (&settings.hold, &settings.track) {
        (Some(state), _) => Plan::hold(built, state)?,
        (None, Some(path)) => Plan::track(built, path)?,
        (None, None) => return Ok(None),
    };
    plan.servos(settings, description, built).map(Some)
}

/// Coordinates that can have a servo: label, index of the joint in the mechanism, coordinate, index in q.
fn coordinates(mechanism: &Mechanism) -> Vec<(String, usize, usize, usize)> {
    let mut out = Vec::new();
    for (index, joint) in mechanism.joints().iter().enumerate() {
        let follows = joint.mimic.is_some();
        if joint.role != JointRole::Tree || joint.kind.nq() != joint.kind.nv() || follows {
            continue;
        }
        for coordinate in 0..joint.kind.nv() {
            let label = match joint.kind.position_parts() {
                [] => joint.name.clone(),
                parts => format!("{}.{}", joint.name, parts[coordinate]),
            };
            out.push((label, index, coordinate, joint.q + coordinate));
        }
    }
    out
}

fn no_coordinate(mechanism: &Mechanism, label: &str) -> Failure {
    let known: Vec<String> = coordinates(mechanism).into_iter().map(|(label, ..)| label).collect();
    match mechanism.joint_by_name(label).map(|id| mechanism.joint(id)) {
        None => unknown_joint(mechanism, label),
        Some(joint) => {
            Failure::new(format!("the {} joint `{label}` can't have a motor by flag", joint.kind.name()))
                .help("name a coordinate of a joint of the tree that follows no other")
                .suggest(label, &names(&known))
        }
    }
}

fn add_input(description: &mut ModelDescription, joint: usize, coordinate: usize, label: String) -> String {
    let mut input = label.clone();
    while description.inputs.contains(&input) {
        input.push_str(".servo");
    }
    description.inputs.push(input.clone());
    description.joints[joint].actuators.push(ActuatorDescription {
        input: input.clone(),
        coordinate,
        gear: 1.0,
    });
    input
}

fn rebuild(description: &ModelDescription) -> Result<Mechanism, Failure> {
    MechanismBuilder::from(description.clone()).build().map_err(|error| Failure::from_error(&error))
}

/// Which coordinates follow what.
struct Plan {
    /// As [`coordinates`] gives them.
    coordinates: Vec<(String, usize, usize, usize)>,
    times: Vec<f64>,
    rows: Vec<[f64; 2]>,
}

impl Plan {
    fn hold(mechanism: &Mechanism, name: &str) -> Result<Self, Failure> {
        let state = if name == "start" {
            mechanism.start_state()
        } else if let Some(state) = mechanism.states().get(name) {
            state.clone()
        } else if Path::new(name).exists() {
            let path = Path::new(name);
            let file = StateFile::read(path).map_err(|error| Failure::from_error(&error))?;
            file.state(mechanism, path).map_err(|error| Failure::from_error(&error))?
        } else {
            return Err(Failure::new(format!("`--hold {name}` is neither a file nor a state of the model"))
                .help("give a state file, the name of a state, or `start`")
                .suggest(name, &names(mechanism.states().keys())));
        };
        let coordinates = coordinates(mechanism);
        let rows = coordinates.iter().map(|(.., q)| [state.q[*q], 0.0]).collect();
        Ok(Self { coordinates, times: vec![0.0], rows })
    }

    fn track(mechanism: &Mechanism, path: &Path) -> Result<Self, Failure> {
        let table = read_trajectory_csv(path).map_err(|error| {
            Failure::from_error(&error).help("the table needs a column `t` and columns `q.JOINT`")
        })?;
        let file = path.display();
        let times = table.column("t").ok_or_else(|| {
            Failure::new(format!("`{file}` has no column `t`")).help("name the column of times `t`")
        })?;
        if times.is_empty()
            || times.windows(2).any(|pair| pair[0] >= pair[1])
            || !times.iter().all(|t| t.is_finite())
        {
            return Err(Failure::new(format!("`{file}`: the times must increase from row to row")));
        }
        let all = coordinates(mechanism);
        let is_trajectory = table.column_index("energy.total").is_some();
        if !is_trajectory {
            for column in table.layout().columns().filter(|column| *column != "t") {
                let label = column.strip_prefix("q.").or(column.strip_prefix("v.")).unwrap_or(column);
                if !all.iter().any(|(known, ..)| known == label) {
                    return Err(no_coordinate(mechanism, label));
                }
            }
        }
        let column = |label: &str| table.column(&format!("q.{label}")).or_else(|| table.column(label));
        let given: Vec<_> = all.into_iter().filter_map(|c| column(&c.0).map(|q| (c, q))).collect();
        if given.is_empty() {
            return Err(
                Failure::new(format!("`{file}` has no column for a joint")).help("name columns `q.JOINT`")
            );
        }
        let mut rows = vec![[0.0; 2]; times.len() * given.len()];
        for (k, ((label, ..), q)) in given.iter().enumerate() {
            let v = table.column(&format!("v.{label}")).unwrap_or_else(|| slopes(&times, q));
            for (row, (q, v)) in q.iter().zip(&v).enumerate() {
                if !(q.is_finite() && v.is_finite()) {
                    return Err(Failure::new(format!(
                        "`{file}`: `{label}` is not finite at t = {}",
                        times[row]
                    )));
                }
                rows[row * given.len() + k] = [*q, *v];
            }
        }
        Ok(Self { coordinates: given.into_iter().map(|(c, _)| c).collect(), times, rows })
    }

    /// Adds a servo to every coordinate.
    fn servos(
        self,
        settings: &Settings,
        description: &mut ModelDescription,
        built: &mut Mechanism,
    ) -> Result<Targets, Failure> {
        let Self { coordinates, times, rows } = self;
        for Assignment { name, values } in settings.kp.iter().chain(&settings.kd) {
            if name != "all" && !coordinates.iter().any(|(label, ..)| label == name) {
                return Err(no_coordinate(built, name));
            }
            if values.len() != 1 || values[0] < 0.0 {
                return Err(Failure::new(format!("a gain of `{name}` is {values:?}"))
                    .help("give one number that is not negative"));
            }
        }
        let nv = built.nv();
        let mut mass = vec![0.0; nv * nv];
        Dynamics::<f64>::new(built).mass_matrix_into(built, &built.start_state().q, &mut mass);
        let gain = |list: &[Assignment], label: &str| {
            let of = |name: &str| list.iter().rev().find(|a| a.name == name).map(|a| a.values[0]);
            of(label).or_else(|| of("all"))
        };
        let (mut names, mut leads) = (Vec::new(), Vec::new());
        for (label, joint, coordinate, _) in &coordinates {
            let at = built.joints()[*joint].v + coordinate;
            let inertia = mass[at * nv + at];
            let kp = gain(&settings.kp, label).unwrap_or(FREQUENCY * FREQUENCY * inertia);
            // Critical damping, unless said otherwise.
            let kd = gain(&settings.kd, label).unwrap_or(2.0 * (kp * inertia).sqrt());
            let index = description_index(description, &built.joints()[*joint].name);
            let input = add_input(description, index, *coordinate, label.clone());
            description.laws.push(LawDescription::servo(input.clone(), kp, kd));
            names.push(input);
            leads.push(if kp > 0.0 { kd / kp } else { 0.0 });
        }
        *built = rebuild(description)?;
        let index = |name: &String| built.inputs().iter().position(|input| input == name).unwrap_or(0);
        Ok(Targets { inputs: names.iter().map(index).collect(), leads, times, rows, at: 0 })
    }
}

fn description_index(description: &ModelDescription, name: &str) -> usize {
    description.joints.iter().position(|joint| joint.name == name).unwrap_or(0)
}

/// Slopes of a table, by central differences.
fn slopes(times: &[f64], values: &[f64]) -> Vec<f64> {
    let last = times.len() - 1;
    (0..times.len())
        .map(|i| {
            let (a, b) = (i.saturating_sub(1), (i + 1).min(last));
            if a == b { 0.0 } else { (values[b] - values[a]) / (times[b] - times[a]) }
        })
        .collect()
}

impl Targets {
    /// Writes the controls of the servos at time `t`; times must not decrease from call to call. The table is followed by cubics
    /// and held beyond its ends. Does not allocate.
    pub fn set(&mut self, t: f64, controls: &mut [f64]) {
        let n = self.inputs.len();
        while self.at + 1 < self.times.len() && self.times[self.at + 1] <= t {
            self.at += 1;
        }
        let (a, b) = (self.at, (self.at + 1).min(self.times.len() - 1));
        let span = self.times[b] - self.times[a];
        for (k, input) in self.inputs.iter().enumerate() {
            let ([q0, v0], [q1, v1]) = (self.rows[a * n + k], self.rows[b * n + k]);
            let s = if span > 0.0 { (t - self.times[a]) / span } else { -1.0 };
            let (q, v) = if (0.0..=1.0).contains(&s) {
                hermite(s, span, [q0, v0 * span], [q1, v1 * span])
            } else {
                (q0, 0.0)
            };
            controls[*input] = q + self.leads[k] * v;
        }
    }
}

/// Value and rate at `s` of the cubic with these ends.
fn hermite(s: f64, span: f64, [q0, d0]: [f64; 2], [q1, d1]: [f64; 2]) -> (f64, f64) {
    let (c2, c3) = (3.0 * (q1 - q0) - 2.0 * d0 - d1, 2.0 * (q0 - q1) + d0 + d1);
    let value = q0 + s * (d0 + s * (c2 + s * c3));
    (value, (d0 + s * (2.0 * c2 + 3.0 * s * c3)) / span)
}

/// True if a joint of the model can't follow, so that a user should know.
pub fn left_free(mechanism: &Mechanism) -> Option<String> {
    let free = mechanism.tree_joints().map(|id| mechanism.joint(id));
    let names: Vec<&str> = free
        .filter(|joint| matches!(joint.kind, JointType::Spherical | JointType::Floating))
        .map(|joint| joint.name.as_str())
        .collect();
    (!names.is_empty()).then(|| format!("no servo holds the ball and free joints: {}", names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_followed_by_cubics_and_held_beyond_its_ends() {
        // x = t³ with its rates is met exactly.
        let times: Vec<f64> = [0.0, 0.5, 2.0].into();
        let rows = times.iter().map(|t| [t * t * t, 3.0 * t * t]).collect();
        let mut targets = Targets { inputs: vec![1], leads: vec![0.1], times, rows, at: 0 };
        for t in [0.0, 0.2, 0.5, 1.3, 2.0] {
            let mut controls = [7.0, 0.0];
            targets.set(t, &mut controls);
            let expected = t * t * t + 0.1 * 3.0 * t * t;
            let expected = if t == 2.0 { 8.0 } else { expected };
            assert!((controls[1] - expected).abs() < 1e-12, "{t}: {controls:?}");
            assert_eq!(controls[0], 7.0);
        }
        let mut controls = [0.0; 2];
        targets.set(5.0, &mut controls);
        assert_eq!(controls[1], 8.0);
    }
}
