//! Recordings: joint motions, markers and forces as people have them, checked before anything is made of them.
//!
//! | file | what |
//! |---|---|
//! | `.csv`, `.txt`, `.tsv` | a table with names, units in brackets or in a row of their own |
//! | `.npz` | what this program writes |
//! | `.mot`, `.sto` | OpenSim |
//! | `.trc`, `.c3d` | markers, turned into joint motion by inverse kinematics |

mod c3d;
mod checks;
mod forces;
mod kinematics;
mod markers;
mod table;

use std::path::Path;

use leastaction::io::read_trajectory_npz;
use leastaction::mechanism::{JointType, Mechanism};
use leastaction::trajectory::{Trajectory, TrajectoryLayout};

use crate::failure::{Failure, names};
pub use forces::{ForceSource, Forces};
pub use kinematics::MarkerFit;
use table::{Column, Table, Unit};

/// What the reader has to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadOptions {
    /// Angles without a unit are in degrees.
    pub degrees: bool,
    /// Markers and forces are measured with y up; models have z up.
    pub y_up: bool,
}

/// A joint motion over time.
#[derive(Debug)]
pub struct Recording {
    /// Columns `t`, `q.…` and, where recorded, `v.…`, in SI units.
    pub trajectory: Trajectory,
    /// How well markers are met, if there were any.
    pub markers: Option<MarkerFit>,
    /// What deserves attention.
    pub notes: Vec<String>,
}

impl Recording {
    /// Times from the first row on.
    pub fn times(&self) -> Vec<f64> {
        let times = self.trajectory.column("t").unwrap_or_default();
        let first = times.first().copied().unwrap_or(0.0);
        times.iter().map(|t| t - first).collect()
    }

    /// Configurations, `[row][nq]`.
    pub fn configurations(&self, mechanism: &Mechanism) -> Vec<f64> {
        let labels = mechanism.q_labels();
        let columns: Vec<Vec<f64>> =
            labels.iter().map(|l| self.trajectory.column(&format!("q.{l}")).unwrap_or_default()).collect();
        (0..self.trajectory.len()).flat_map(|s| columns.iter().map(move |c| c[s])).collect()
    }
}

fn extension(path: &Path) -> String {
    path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

/// Reads a recording and makes sure that something can be made of it.
pub fn read(path: &Path, mechanism: &Mechanism, options: ReadOptions) -> Result<Recording, Failure> {
    match extension(path).as_str() {
        "trc" | "c3d" => {
            let markers = if extension(path) == "trc" { markers::read_trc(path)? } else { c3d::read(path)? };
            kinematics::follow(&markers, mechanism, path, options.y_up)
        }
        "npz" => {
            let trajectory = read_trajectory_npz(path).map_err(|error| {
                Failure::caused_by(format!("can't read the motion `{}`", path.display()), &error)
            })?;
            let table = Table::from_trajectory(&trajectory);
            joints(&table, mechanism, path, options)
        }
        _ => joints(&Table::read(path)?, mechanism, path, options),
    }
}

/// Columns of a table as joint positions and velocities.
fn joints(
    table: &Table,
    mechanism: &Mechanism,
    path: &Path,
    options: ReadOptions,
) -> Result<Recording, Failure> {
    let times = table.times(path)?;
    checks::times(&times, table, path)?;
    let mut columns = vec!["t".to_owned()];
    let mut data: Vec<Vec<f64>> = vec![times];
    let mut notes = table.unused(mechanism);
    let slides = |c: usize, of_v: bool| {
        mechanism
            .tree_joints()
            .find(|id| if of_v { mechanism.v_range(*id) } else { mechanism.q_range(*id) }.contains(&c))
            .is_some_and(|id| {
                let range = if of_v { mechanism.v_range(id) } else { mechanism.q_range(id) };
                slides(mechanism.joint(id).kind, c - range.start, of_v)
            })
    };
    for (c, label) in mechanism.q_labels().iter().enumerate() {
        let candidates = [format!("q.{label}"), label.clone(), format!("/{label}/value")];
        let Some(column) = table.find(&candidates) else {
            return Err(Failure::new(format!("`{}` has no column for joint `{label}`", path.display()))
                .help(format!("name it `q.{label}` or `{label}`"))
                .suggest(&format!("q.{label}"), &names(table.columns.iter().map(|c| &c.name))));
        };
        let slides = slides(c, false);
        let values = if quaternion(mechanism, c) {
            // Pure numbers, of either sign.
            let values = table.values(column, 1.0);
            checks::finite(&values, label, table, path)?;
            values
        } else {
            let values = table.values(column, unit_of(column, slides, false, table, options, path)?);
            checks::values(&values, label, table, path, slides)?;
            if !slides && column.unit.is_none() && !(options.degrees || table.degrees) {
                notes.extend(checks::perhaps_degrees(&values, label));
            }
            values
        };
        columns.push(format!("q.{label}"));
        data.push(values);
    }
    for id in mechanism.tree_joints().filter(|id| quaternion(mechanism, mechanism.q_range(*id).start)) {
        // Times are the first column.
        let first = 1 + mechanism.q_range(id).start;
        checks::rotations(&data[first..first + 4], &mechanism.joint(id).name, table, path)?;
    }
    let labels = mechanism.v_labels();
    for (c, label) in labels.iter().enumerate() {
        let candidates = [format!("v.{label}"), format!("/{label}/speed")];
        if let Some(column) = table.find(&candidates) {
            let values = table.values(column, unit_of(column, slides(c, true), true, table, options, path)?);
            checks::finite(&values, label, table, path)?;
            columns.push(format!("v.{label}"));
            data.push(values);
        }
    }
    table.expect_rows(path)?;
    let rows = data.first().map_or(0, Vec::len);
    let flat = (0..rows).flat_map(|s| data.iter().map(move |column| column[s])).collect();
    Ok(Recording {
        trajectory: Trajectory::new(TrajectoryLayout::from_columns(columns), flat),
        markers: None,
        notes,
    })
}

/// True for components of quaternions.
fn quaternion(mechanism: &Mechanism, c: usize) -> bool {
    mechanism.tree_joints().any(|id| {
        let (kind, range) = (mechanism.joint(id).kind, mechanism.q_range(id));
        matches!(kind, JointType::Spherical | JointType::Floating)
            && (range.start..range.start + 4).contains(&c)
    })
}

/// True for coordinates that are lengths.
fn slides(kind: JointType, at: usize, of_v: bool) -> bool {
    match kind {
        JointType::Prismatic => true,
        JointType::Floating => at >= if of_v { 3 } else { 4 },
        JointType::Cylindrical => at == 1,
        JointType::Planar => at < 2,
        _ => false,
    }
}

/// Factor to SI of a column, from its own unit, the file's or the flag.
fn unit_of(
    column: &Column,
    slides: bool,
    rate: bool,
    table: &Table,
    options: ReadOptions,
    path: &Path,
) -> Result<f64, Failure> {
    if let Some(unit) = &column.unit {
        let Some(known) = Unit::parse(unit) else {
            return Err(Failure::new(format!(
                "{}:{}: the unit `{unit}` of column `{}` is not known",
                path.display(),
                table.unit_line,
                column.name
            ))
            .help("write s or ms, rad or deg, m, cm or mm, with /s for rates"));
        };
        let fits = known.is_length == slides || known.is_plain;
        if !fits || (known.is_rate != rate && !known.is_plain) {
            let expected = match (slides, rate) {
                (true, false) => "a length (m, cm, mm)",
                (false, false) => "an angle (rad, deg)",
                (true, true) => "a speed (m/s)",
                (false, true) => "an angular speed (rad/s, deg/s)",
            };
            return Err(Failure::new(format!(
                "{}:{}: column `{}` has the unit `{unit}`, the joint needs {expected}",
                path.display(),
                table.unit_line,
                column.name
            ))
            .help("check the units, or the order of the columns"));
        }
        return Ok(known.factor);
    }
    let degrees = (options.degrees || table.degrees) && !slides;
    Ok(if degrees { 1f64.to_radians() } else { 1.0 })
}
