//! Bodies whose pose is given from outside (MJCF `mocap`): one that nobody moves stands where the file puts it, one that
//! `--drive BODY=FILE.csv` moves follows its table.

use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, ModelDescription, MotionDescription, PerCoordinate,
    Placement, WORLD,
};
use leastaction::spatial::{Mat3, Pose, Quat, Vec3};

use leastaction_core::scalar::elementary::atan2;

use crate::failure::Failure;

/// What a table must have.
pub(crate) fn columns(name: &str) -> String {
    format!(
        "give a table with the columns `t`, `px`, `py`, `pz` and, if it turns, `qw`, `qx`, `qy`, `qz`, or those that a trajectory has \
         for it: `x.{name}.px` and so on"
    )
}

/// Joints in place of the one that fixes a body: three slides and three hinges, each driven along its column of the table. Angles are
/// those of turns from the orientation of the first row.
///
/// # Errors
/// If there is no such column, or the body turns too far about its second axis.
pub(crate) fn drive(
    description: &mut ModelDescription,
    name: &str,
    column: impl Fn(&str) -> Option<Vec<f64>>,
    file: &str,
) -> Result<(), Failure> {
    let find = |short: &str| column(&format!("x.{name}.{short}")).or_else(|| column(short));
    let refuse = |what: String| Failure::new(what).help(columns(name));
    let need = |short: &str| find(short).ok_or_else(|| refuse(format!("`{file}` has no column `{short}`")));
    let times = need("t")?;
    let position = [need("px")?, need("py")?, need("pz")?];
    let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
    if times.len() < 2 || !ordered || times.iter().chain(position.iter().flatten()).any(|x| !x.is_finite()) {
        return Err(refuse(format!(
            "`{file}` is no motion of body `{name}`: it needs two rows of finite numbers or \
                                   more, with increasing times"
        )));
    }
    let Some(at) = description.joints.iter().position(|joint| joint.holds_still(name)) else {
        return Err(Failure::new(format!("the body `{name}` is no mocap body")));
    };
    let fixed = description.joints[at].clone();
    // Of the body's frame: what stands between it and the joint stays there.
    let back = pose_of(&fixed.child_placement).inverse();
    let rest = (pose_of(&fixed.parent_placement) * back).rot;
    let turns: Vec<Mat3> = match (find("qw"), find("qx"), find("qy"), find("qz")) {
        (Some(w), Some(x), Some(y), Some(z)) => (0..times.len())
            .map(|k| Quat::from_slice(&[w[k], x[k], y[k], z[k]]))
            .map(|q| (q.norm() > 1e-3 && q.norm().is_finite()).then(|| q.normalized().to_matrix()))
            .collect::<Option<_>>()
            .ok_or_else(|| refuse(format!("`{file}` has a quaternion without direction")))?,
        (None, None, None, None) => vec![rest; times.len()],
        _ => return Err(refuse(format!("`{file}` has a part of a quaternion only"))),
    };
    let mut angles: [Vec<f64>; 3] = Default::default();
    for turn in &turns {
        let Mat3(r) = *turn * turns[0].transpose();
        let pitch = atan2(-r[2][0], (r[0][0] * r[0][0] + r[1][0] * r[1][0]).sqrt());
        if pitch.abs() > STEEPEST {
            return Err(Failure::new(format!(
                "`{file}`: body `{name}` turns by {:.0} degrees about the second axis of the world",
                pitch.to_degrees()
            ))
            .help("angles of a driven body are told from each other up to 80 degrees: split the motion"));
        }
        for (list, angle) in angles.iter_mut().zip([atan2(r[1][0], r[0][0]), pitch, atan2(r[2][1], r[2][2])])
        {
            let near = list.last().copied().unwrap_or(0.0);
            let whole = std::f64::consts::TAU;
            list.push(angle + whole * ((near - angle) / whole).round());
        }
    }
    description.joints.remove(at);
    description.mocap.retain(|other| other != name);
    let [x, y, z] = position;
    let [yaw, pitch, roll] = angles;
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let parts = [
        ("x", JointType::Prismatic, axes[0], x),
        ("y", JointType::Prismatic, axes[1], y),
        ("z", JointType::Prismatic, axes[2], z),
        ("yaw", JointType::Continuous, axes[2], yaw),
        ("pitch", JointType::Continuous, axes[1], pitch),
        ("roll", JointType::Continuous, axes[0], roll),
    ];
    let last = parts.len() - 1;
    let mut parent = WORLD.to_owned();
    for (k, (short, kind, axis, positions)) in parts.into_iter().enumerate() {
        let joint = format!("{name}/{short}");
        let child = if k == last { name.to_owned() } else { joint.clone() };
        if k < last {
            description.bodies.push(BodyDescription { name: child.clone(), ..Default::default() });
        }
        let mut part = JointDescription::new(&joint, kind, parent, &child);
        part.axis = Some(axis);
        // It has no weight: what its drives take is what it does to others, and this.
        part.armature = PerCoordinate::One(ROTOR);
        part.origin = fixed.origin;
        if k == last {
            let q = Quat::from_matrix(&turns[0]).normalized().conj().to_array();
            part.child_placement = Placement { p: [0.0; 3], q };
        }
        description.joints.push(part);
        description.motions.push(MotionDescription {
            joint,
            times: times.clone(),
            positions,
            ..Default::default()
        });
        parent = child;
    }
    Ok(())
}

/// Angles about the second of three axes beyond this no longer tell the others apart.
const STEEPEST: f64 = 80.0 / 180.0 * std::f64::consts::PI;
/// Inertia of each driven coordinate, kg or kg m².
const ROTOR: f64 = 1e-3;

fn pose_of(placement: &Placement) -> Pose {
    Pose::from_quat(Quat::from_slice(&placement.q).normalized(), Vec3(placement.p))
}
