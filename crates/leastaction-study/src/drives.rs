//! Joints that `--drive` moves: at a speed, or along a table.

use std::path::Path;

use leastaction::io::read_trajectory_csv;
use leastaction::mechanism::{
    JointRole, Mechanism, MechanismBuilder, ModelDescription, MotionDescription, State,
};

use leastaction::trajectory::Trajectory;

use crate::failure::Failure;
use crate::mocap;
use crate::model::unknown_joint;
use crate::settings::Settings;
use crate::start;

/// Gives the model the motions that the settings ask for. A speed goes on from where the joint starts.
///
/// # Errors
/// If a joint does not exist or can't be driven, or a table does not fit.
pub fn apply(
    settings: &Settings,
    description: &mut ModelDescription,
    built: &mut Mechanism,
    given: Option<&State>,
    step: f64,
) -> Result<(), Failure> {
    if settings.drive.is_empty() {
        return Ok(());
    }
    let start = start::resolve_from(built, settings, step, None, given)?.state;
    for said in &settings.drive {
        let Some((name, value)) = said.rsplit_once('=') else {
            return Err(Failure::new(format!("`--drive {said}` does not say how"))
                .help("give `JOINT=SPEED` or `JOINT=FILE.csv`"));
        };
        if description.mocap.iter().any(|body| body == name) {
            let path = Path::new(value);
            let table = read(path, mocap::columns(name))?;
            mocap::drive(description, name, |column| table.column(column), &path.display().to_string())?;
            continue;
        }
        let Some(id) = built.joint_by_name(name) else { return Err(unknown_joint(built, name)) };
        let joint = built.joint(id);
        if joint.role == JointRole::Loop || joint.kind.nv() != 1 {
            return Err(Failure::new(format!("the {} joint `{name}` can't be driven", joint.kind.name()))
                .help("drive a joint of the tree with one coordinate"));
        }
        let motion = match value.parse::<f64>() {
            Ok(speed) if speed.is_finite() => {
                let from = start.q[built.q_range(id).start] - speed * start.t;
                MotionDescription { joint: name.to_owned(), speed: Some(speed), from, ..Default::default() }
            }
            Ok(_) => return Err(Failure::new(format!("`--drive {said}`: the speed is not finite"))),
            Err(_) => table(name, Path::new(value))?,
        };
        description.motions.retain(|other| other.joint != name);
        description.motions.push(motion);
    }
    *built =
        MechanismBuilder::from(description.clone()).build().map_err(|error| Failure::from_error(&error))?;
    Ok(())
}

fn read(path: &Path, help: String) -> Result<Trajectory, Failure> {
    read_trajectory_csv(path).map_err(|error| Failure::from_error(&error).help(help))
}

fn table(joint: &str, path: &Path) -> Result<MotionDescription, Failure> {
    let file = path.display();
    let table = read(path, format!("give a speed, or a table with columns `t` and `{joint}`"))?;
    let column = |name: &str| {
        table.column(name).ok_or_else(|| {
            Failure::new(format!("`{file}` has no column `{name}`"))
                .help(format!("the table needs the columns `t` and `{joint}` or `q.{joint}`"))
        })
    };
    let times = column("t")?;
    let positions = table.column(&format!("q.{joint}")).map_or_else(|| column(joint), Ok)?;
    let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
    if times.len() < 2 || !ordered || times.iter().chain(&positions).any(|x| !x.is_finite()) {
        return Err(Failure::new(format!("`{file}` is no motion of joint `{joint}`"))
            .help("give at least two rows of finite numbers with increasing times"));
    }
    Ok(MotionDescription { joint: joint.to_owned(), times, positions, ..Default::default() })
}
