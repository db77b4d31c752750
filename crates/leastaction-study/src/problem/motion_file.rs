//! Recorded motions: trajectories of this program (CSV, NPZ), tables of others, OpenSim `.mot` and `.sto`.

use std::path::Path;

use leastaction::io::{read_trajectory_csv, read_trajectory_npz};
use leastaction::mechanism::Mechanism;

use crate::failure::Failure;

/// Columns and rows of a table, times first.
struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<f64>>,
    degrees: bool,
}

/// Configurations over time.
pub struct Recording {
    /// Times from the first row on.
    pub times: Vec<f64>,
    /// `q[row][nq]`.
    pub q: Vec<f64>,
}

/// Reads the positions of all joints over time; times are counted from the first row.
pub fn read(path: &Path, mechanism: &Mechanism) -> Result<Recording, Failure> {
    let extension = path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let table = match extension.as_str() {
        "mot" | "sto" => opensim(path)?,
        "npz" => from_trajectory(read_trajectory_npz(path), path)?,
        _ => from_trajectory(read_trajectory_csv(path), path)?,
    };
    let time = find(&table.columns, &["t", "time"]).ok_or_else(|| {
        Failure::new(format!("`{}` has no column `t` or `time`", path.display()))
            .help("name the column of times `t`")
    })?;
    let labels = mechanism.q_labels();
    let mut picked = Vec::new();
    for label in &labels {
        let names = [format!("q.{label}"), label.clone(), format!("/{label}/value")];
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some(index) = find(&table.columns, &names) else {
            return Err(Failure::new(format!("`{}` has no column for joint `{label}`", path.display()))
                .help(format!("name it `q.{label}` or `{label}`"))
                .suggest(&format!("q.{label}"), &crate::failure::names(&table.columns)));
        };
        picked.push(index);
    }
    if let Some(row) =
        table.rows.iter().position(|row| picked.iter().chain([&time]).any(|i| !row[*i].is_finite()))
    {
        return Err(Failure::new(format!(
            "row {} of `{}` has a value that is not finite",
            row + 1,
            path.display()
        ))
        .help("leave the row out, or fill in what was not recorded"));
    }
    let start = table.rows.first().map_or(0.0, |row| row[time]);
    let turns = |c: usize| {
        let joint = mechanism.tree_joints().find(|id| mechanism.q_range(*id).contains(&c));
        joint.is_none_or(|id| mechanism.joint(id).kind != leastaction::mechanism::JointType::Prismatic)
    };
    let scale: Vec<f64> =
        (0..labels.len()).map(|c| if table.degrees && turns(c) { 1f64.to_radians() } else { 1.0 }).collect();
    Ok(Recording {
        times: table.rows.iter().map(|row| row[time] - start).collect(),
        q: table.rows.iter().flat_map(|row| picked.iter().zip(&scale).map(|(i, f)| f * row[*i])).collect(),
    })
}

/// A column by one of its names, or by the end of its path.
fn find(columns: &[String], names: &[&str]) -> Option<usize> {
    columns.iter().position(|column| {
        names.iter().any(|name| {
            column.eq_ignore_ascii_case(name) || (name.starts_with('/') && column.ends_with(name))
        })
    })
}

fn from_trajectory(
    read: Result<leastaction::trajectory::Trajectory, leastaction::io::TableError>,
    path: &Path,
) -> Result<Table, Failure> {
    let trajectory = read
        .map_err(|error| Failure::caused_by(format!("can't read the motion `{}`", path.display()), &error))?;
    Ok(Table {
        columns: trajectory.layout().columns().map(str::to_owned).collect(),
        rows: trajectory.rows().map(<[f64]>::to_vec).collect(),
        degrees: false,
    })
}

/// OpenSim storage: a header with `inDegrees=yes|no` up to `endheader`, names, then rows separated by white space.
fn opensim(path: &Path) -> Result<Table, Failure> {
    let text = leastaction::io::read_text(path)
        .map_err(|error| Failure::caused_by(format!("can't read the motion `{}`", path.display()), &error))?;
    let wrong = |line: usize, what: &str| {
        Failure::new(format!("{}:{line}: {what}", path.display())).help("take a file that OpenSim wrote")
    };
    let mut lines = text.lines().enumerate();
    let mut degrees = false;
    let header = lines.by_ref().find(|(_, line)| {
        let line = line.trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("indegrees") {
            degrees = value.trim_start_matches([' ', '=']).starts_with('y');
        }
        line == "endheader"
    });
    if header.is_none() {
        return Err(wrong(1, "there is no `endheader`"));
    }
    let (_, names) = lines
        .by_ref()
        .find(|(_, line)| !line.trim().is_empty())
        .ok_or_else(|| wrong(1, "there are no column names"))?;
    let columns: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    let mut rows = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let row: Option<Vec<f64>> =
            line.split_whitespace().map(|x| x.parse().ok().filter(|x: &f64| x.is_finite())).collect();
        match row {
            Some(row) if row.len() == columns.len() => rows.push(row),
            Some(row) => {
                let what = format!("{} numbers for {} columns", row.len(), columns.len());
                return Err(wrong(number + 1, &what));
            }
            None => return Err(wrong(number + 1, "something is not a finite number")),
        }
    }
    Ok(Table { columns, rows, degrees })
}

#[cfg(test)]
mod tests {
    use super::*;
    use leastaction::mechanism::{MechanismBuilder, samples};

    #[test]
    fn an_opensim_file_in_degrees_becomes_radians_from_time_zero() {
        let folder = std::env::temp_dir().join(format!("leastaction-mot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("walk.mot");
        std::fs::write(
            &path,
            "walk\nversion=1\nnRows=2\ninDegrees=yes\nendheader\ntime\tjoint0\t/jointset/x/joint1/value\n1.0\t90\t0\n1.5\t180\t-45\n",
        )
        .unwrap();
        let mechanism = MechanismBuilder::from(samples::chain(2)).build().unwrap();
        let motion = read(&path, &mechanism).unwrap();
        assert_eq!(motion.times, [0.0, 0.5]);
        assert!((motion.q[0] - std::f64::consts::FRAC_PI_2).abs() < 1e-15);
        assert!((motion.q[3] + std::f64::consts::FRAC_PI_4).abs() < 1e-15);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
