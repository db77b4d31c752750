//! [`Forces`]: measured forces on bodies, such as those of a force plate under a foot.

use std::path::Path;

use leastaction::mechanism::{BodyId, Mechanism};
use leastaction::spatial::Vec3;

use super::table::Table;
use super::{ReadOptions, checks};
use crate::failure::{Failure, names};

/// Which columns act on which body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForceSource {
    /// The body.
    pub body: String,
    /// What the names of its columns begin with.
    pub prefix: String,
}

impl ForceSource {
    /// `BODY=PREFIX`.
    pub fn parse(text: &str) -> Option<Self> {
        let (body, prefix) = text.split_once('=')?;
        let whole = !body.trim().is_empty() && !prefix.trim().is_empty();
        whole.then(|| Self { body: body.trim().to_owned(), prefix: prefix.trim().to_owned() })
    }
}

/// Force, point and free torque on one body over time, in world axes.
#[derive(Clone, Debug)]
struct Acting {
    body: BodyId,
    /// `[row]`: force, point of application, torque.
    rows: Vec<[Vec3; 3]>,
}

/// Forces on bodies over time.
#[derive(Clone, Debug)]
pub struct Forces {
    times: Vec<f64>,
    acting: Vec<Acting>,
}

impl Forces {
    /// Reads forces: columns `force.BODY.fx` … `fz`, `px` … `pz`, `tx` … `tz`, or OpenSim's `PREFIXvx`, `PREFIXpx` with `--force-on`.
    pub fn read(
        path: &Path,
        mechanism: &Mechanism,
        sources: &[ForceSource],
        options: ReadOptions,
    ) -> Result<Self, Failure> {
        let table = Table::read(path)?;
        let times = table.times(path)?;
        checks::times(&times, &table, path)?;
        table.expect_rows(path)?;
        let mut all: Vec<ForceSource> = sources.to_vec();
        for column in &table.columns {
            if let Some(body) = column.name.strip_prefix("force.").and_then(|n| n.strip_suffix(".fx")) {
                all.push(ForceSource { body: body.to_owned(), prefix: format!("force.{body}.") });
            }
        }
        if all.is_empty() {
            return Err(Failure::new(format!("`{}` does not say which bodies its forces act on", path.display()))
                .help("name the columns `force.BODY.fx` …, or give `--force-on BODY=PREFIX` for columns `PREFIXvx`, `PREFIXpx`")
                .suggest("force.", &names(table.columns.iter().map(|c| &c.name))));
        }
        let known: Vec<&str> = mechanism.bodies().iter().map(|b| b.name.as_str()).collect();
        let mut acting = Vec::new();
        for source in all {
            let Some(body) = mechanism.body_by_name(&source.body) else {
                return Err(Failure::new(format!(
                    "`{}`: there is no body `{}` in `{}`",
                    path.display(),
                    source.body,
                    mechanism.name()
                ))
                .suggest(&source.body, &known));
            };
            acting.push(Acting { body, rows: columns(&table, &source, path, options.y_up)? });
        }
        Ok(Self { times, acting })
    }

    /// Bodies that forces act on.
    pub fn bodies(&self) -> impl Iterator<Item = BodyId> + '_ {
        self.acting.iter().map(|a| a.body)
    }

    /// Refuses forces that do not last as long as a motion.
    pub fn expect_cover(&self, first: f64, last: f64, path: &Path) -> Result<(), Failure> {
        let (from, to) = (self.times[0], self.times[self.times.len() - 1]);
        let step = (to - from) / (self.times.len() - 1) as f64;
        if from > first + step || to < last - step {
            return Err(Failure::new(format!(
                "the forces of `{}` are known from {from} s to {to} s, the motion goes from {first} s to {last} s",
                path.display()
            ))
            .help("cut the motion to the time of the forces"));
        }
        Ok(())
    }

    /// Wrench on each body about the world origin at a time, between its neighbours: torque, force.
    pub fn at(&self, t: f64) -> Vec<(BodyId, Vec3, Vec3)> {
        let next = self.times.partition_point(|x| *x <= t).clamp(1, self.times.len() - 1);
        let (a, b) = (self.times[next - 1], self.times[next]);
        let s = ((t - a) / (b - a)).clamp(0.0, 1.0);
        self.acting
            .iter()
            .map(|acting| {
                let mix = |k: usize| acting.rows[next - 1][k].scale(1.0 - s) + acting.rows[next][k].scale(s);
                let (force, point, torque) = (mix(0), mix(1), mix(2));
                (acting.body, point.cross(force) + torque, force)
            })
            .collect()
    }
}

/// Three vectors per row of one body.
fn columns(table: &Table, source: &ForceSource, path: &Path, y_up: bool) -> Result<Vec<[Vec3; 3]>, Failure> {
    let prefix = &source.prefix;
    // OpenSim: `ground_force_vx`, `ground_force_px`, `ground_torque_x`.
    let torque = prefix.replace("force", "torque");
    let find = |parts: [String; 3], needed: bool| -> Result<Option<[Vec<f64>; 3]>, Failure> {
        let mut out: [Vec<f64>; 3] = Default::default();
        for (k, name) in parts.iter().enumerate() {
            let other = name.replace(&format!("{prefix}f"), &format!("{prefix}v"));
            let Some(column) = table.find(&[name.clone(), other.clone()]) else {
                if k == 0 && !needed {
                    return Ok(None);
                }
                return Err(Failure::new(format!("`{}` has no column `{name}`", path.display()))
                    .help(format!("the force on `{}` needs x, y and z", source.body))
                    .suggest(&other, &names(table.columns.iter().map(|c| &c.name))));
            };
            let values = table.values(column, 1.0);
            checks::finite(&values, &column.name, table, path)?;
            out[k] = values;
        }
        Ok(Some(out))
    };
    let named = |letter: &str| ["x", "y", "z"].map(|axis| format!("{prefix}{letter}{axis}"));
    let force = find(named("f"), true)?.unwrap_or_default();
    let point = find(named("p"), true)?.unwrap_or_default();
    let couple = match find(named("t"), false)? {
        Some(couple) => Some(couple),
        None => find(["x", "y", "z"].map(|axis| format!("{torque}{axis}")), false)?,
    };
    let up = |v: Vec3| if y_up { Vec3([v.0[0], -v.0[2], v.0[1]]) } else { v };
    let row = |set: &[Vec<f64>; 3], s: usize| up(Vec3([set[0][s], set[1][s], set[2][s]]));
    Ok((0..force[0].len())
        .map(|s| [row(&force, s), row(&point, s), couple.as_ref().map_or(Vec3::zero(), |c| row(c, s))])
        .collect())
}
