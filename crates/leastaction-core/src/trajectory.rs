//! [`Trajectory`]: times and what was recorded at them, and the [`Sampler`] that makes its rows.
//!
//! A trajectory is a table. Its columns have the same names in CSV files and as labels in NPZ files: `t`,
//! `q.JOINT[.part]`, `v.JOINT[.part]`, `x.BODY.{px,py,pz,qw,qx,qy,qz}`, `u.INPUT`, `a.INPUT`, `energy.…`, `momentum.…`, `gap`,
//! `iterations`, and `f.JOINT.{tx,ty,tz,fx,fy,fz}` where forces were asked for.

use crate::dynamics::{Dynamics, Observables};
use crate::mechanism::{Mechanism, State};
use crate::spatial::Quat;

/// Columns that belong together: one array of an NPZ file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnGroup {
    /// The part of the column names before the first dot: `q`, `x`, `energy`.
    pub name: String,
    /// Full names of the columns.
    pub columns: Vec<String>,
}

/// The columns of a trajectory, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrajectoryLayout {
    groups: Vec<ColumnGroup>,
}

impl TrajectoryLayout {
    /// The columns of a simulation of `mechanism`.
    #[must_use]
    pub fn of(mechanism: &Mechanism) -> Self {
        let with = |prefix: &str, labels: Vec<String>| -> Vec<String> {
            labels.into_iter().map(|label| format!("{prefix}.{label}")).collect()
        };
        let parts = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let poses = mechanism.bodies().iter().flat_map(|body| {
            ["px", "py", "pz", "qw", "qx", "qy", "qz"].map(|part| format!("{}.{part}", body.name))
        });
        let groups = [
            ("t", vec!["t".to_owned()]),
            ("q", with("q", mechanism.q_labels())),
            ("v", with("v", mechanism.v_labels())),
            ("x", with("x", poses.collect())),
            ("u", with("u", mechanism.inputs().to_vec())),
            ("a", with("a", mechanism.inputs().to_vec())),
            ("energy", with("energy", parts(&["kinetic", "potential", "total"]))),
            ("momentum", with("momentum", parts(&["lx", "ly", "lz", "px", "py", "pz"]))),
            ("gap", vec!["gap".to_owned()]),
            ("iterations", vec!["iterations".to_owned()]),
        ];
        let groups = groups
            .into_iter()
            .filter(|(_, columns)| !columns.is_empty())
            .map(|(name, columns)| ColumnGroup { name: name.to_owned(), columns })
            .collect();
        Self { groups }
    }

    /// These columns and a group more at the end; nothing if it has no columns.
    #[must_use]
    pub fn with(mut self, name: &str, columns: Vec<String>) -> Self {
        if !columns.is_empty() {
            self.groups.push(ColumnGroup { name: name.to_owned(), columns });
        }
        self
    }

    /// The layout of a table with these columns: neighbours with the same first part form a group.
    #[must_use]
    pub fn from_columns(columns: impl IntoIterator<Item = String>) -> Self {
        let mut groups: Vec<ColumnGroup> = Vec::new();
        for column in columns {
            let name = column.split('.').next().unwrap_or_default();
            match groups.last_mut() {
                Some(group) if group.name == name => group.columns.push(column),
                _ => groups.push(ColumnGroup { name: name.to_owned(), columns: vec![column] }),
            }
        }
        Self { groups }
    }

    /// The groups, in order.
    #[must_use]
    pub fn groups(&self) -> &[ColumnGroup] {
        &self.groups
    }

    /// All column names, in order.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().flat_map(|group| group.columns.iter().map(String::as_str))
    }

    /// Number of columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.groups.iter().map(|group| group.columns.len()).sum()
    }
}

/// A recorded motion: rows of numbers under named columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    layout: TrajectoryLayout,
    data: Vec<f64>,
}

impl Trajectory {
    /// A trajectory from its rows, one after the other; an incomplete last row is dropped.
    #[must_use]
    pub fn new(layout: TrajectoryLayout, mut data: Vec<f64>) -> Self {
        data.truncate(data.len() - data.len().checked_rem(layout.width()).unwrap_or(data.len()));
        Self { layout, data }
    }

    /// The columns.
    #[must_use]
    pub fn layout(&self) -> &TrajectoryLayout {
        &self.layout
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.len().checked_div(self.layout.width()).unwrap_or(0)
    }

    /// True if there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// The rows, in order of time.
    pub fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.data.chunks_exact(self.layout.width().max(1))
    }

    /// Position of a column.
    #[must_use]
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.layout.columns().position(|column| column == name)
    }

    /// The values of a column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let index = self.column_index(name)?;
        Some(self.rows().map(|row| row[index]).collect())
    }
}

/// What a row holds besides the state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recorded<'a> {
    /// Time of the row.
    pub t: f64,
    /// Inputs held from this time on.
    pub u: &'a [f64],
    /// Mean force of every input over the step (or steps) that led here, as it acted; empty takes that of the state.
    pub acted: &'a [f64],
    /// Largest gap of a joint.
    pub gap: f64,
    /// Iterations of the step that led here.
    pub iterations: u32,
}

/// Turns states into rows. Made once per mechanism; does not allocate afterwards.
#[derive(Clone, Debug)]
pub struct Sampler<'m> {
    mechanism: &'m Mechanism,
    dynamics: Dynamics<f64>,
    layout: TrajectoryLayout,
    poses: std::ops::Range<usize>,
    row: Vec<f64>,
    /// What acts on the laws, and their forces, where the method does not tell.
    acting: Vec<f64>,
    forces: Vec<f64>,
}

impl<'m> Sampler<'m> {
    /// A sampler for a mechanism.
    #[must_use]
    pub fn new(mechanism: &'m Mechanism) -> Self {
        let layout = TrajectoryLayout::of(mechanism);
        let first_pose = 1 + mechanism.nq() + mechanism.nv();
        Self {
            mechanism,
            dynamics: Dynamics::new(mechanism),
            poses: first_pose..first_pose + 7 * mechanism.nb(),
            row: Vec::with_capacity(layout.width()),
            acting: vec![0.0; mechanism.nu()],
            forces: vec![0.0; mechanism.nu()],
            layout,
        }
    }

    /// The columns of the rows.
    #[must_use]
    pub fn layout(&self) -> &TrajectoryLayout {
        &self.layout
    }

    /// Energies and momenta at a state. Does not allocate.
    pub fn observe(&mut self, state: &State) -> Observables {
        self.dynamics.observe(self.mechanism, &state.q, &state.v)
    }

    /// The row of the state last given to [`observe`](Self::observe). Does not allocate.
    pub fn row(&mut self, state: &State, observed: &Observables, recorded: Recorded<'_>) -> &[f64] {
        let row = &mut self.row;
        row.clear();
        row.push(recorded.t);
        row.extend_from_slice(&state.q);
        row.extend_from_slice(&state.v);
        for body in self.mechanism.body_ids() {
            let pose = self.dynamics.kinematics.body_pose(self.mechanism, body);
            let turn = Quat::from_matrix(&pose.rot).to_array();
            // Of the two quaternions of a rotation the one with w ≥ 0: a row depends on its state only.
            let sign = if turn[0] < 0.0 { -1.0 } else { 1.0 };
            row.extend_from_slice(&pose.pos.0);
            row.extend(turn.map(|x| sign * x));
        }
        row.extend_from_slice(recorded.u);
        if recorded.acted.len() == self.forces.len() {
            row.extend_from_slice(recorded.acted);
        } else {
            self.acting.copy_from_slice(recorded.u);
            for (k, drive) in self.mechanism.drives().iter().enumerate() {
                if drive.law.is_activated() {
                    self.acting[k] = state.act.get(k).copied().unwrap_or(0.0);
                }
            }
            self.mechanism.input_forces_into(&self.acting, &state.q, &state.v, &mut self.forces);
            row.extend_from_slice(&self.forces);
        }
        row.extend([observed.kinetic, observed.potential, observed.total()]);
        row.extend(observed.momentum.to_array());
        row.extend([recorded.gap, f64::from(recorded.iterations)]);
        debug_assert_eq!(row.len(), self.layout.width());
        row
    }

    /// The last [`row`](Self::row) again.
    #[must_use]
    pub fn last_row(&self) -> &[f64] {
        &self.row
    }

    /// The body poses of the last [`row`](Self::row): `px, py, pz, qw, qx, qy, qz` per body.
    #[must_use]
    pub fn poses(&self) -> &[f64] {
        self.row.get(self.poses.clone()).unwrap_or(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn a_row_has_a_value_for_every_column() {
        let mechanism = MechanismBuilder::from(samples::ball_chain(2)).build().unwrap();
        let mut sampler = Sampler::new(&mechanism);
        let state = mechanism.start_state();
        let observed = sampler.observe(&state);
        let recorded = Recorded { t: 0.5, iterations: 3, ..Default::default() };
        let row = sampler.row(&state, &observed, recorded).to_vec();
        let columns: Vec<&str> = sampler.layout().columns().collect();
        assert_eq!(row.len(), columns.len());
        let value = |name: &str| row[columns.iter().position(|c| *c == name).unwrap()];
        assert_eq!((value("t"), value("iterations")), (0.5, 3.0));
        assert_eq!(value("q.joint0.w"), 0.25f64.cos());
        // The second link hangs from the end of the first, which is turned by 0.5 rad about x.
        assert!((value("x.link1.py") - 0.5f64.sin()).abs() < 1e-15);
        assert!((value("x.link1.pz") + 0.5f64.cos()).abs() < 1e-15);
        assert!((value("x.link1.qx") - 0.25f64.sin()).abs() < 1e-15);
        assert_eq!(sampler.poses().len(), 14);
    }

    #[test]
    fn columns_with_the_same_first_part_form_a_group() {
        let layout = TrajectoryLayout::from_columns(["t", "q.a", "q.b.x", "v.a"].map(str::to_owned));
        let names: Vec<&str> = layout.groups().iter().map(|g| g.name.as_str()).collect();
        assert_eq!(names, ["t", "q", "v"]);
        let trajectory = Trajectory::new(layout, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 99.0]);
        assert_eq!(trajectory.len(), 2);
        assert_eq!(trajectory.column("q.b.x").unwrap(), [2.0, 6.0]);
        assert!(trajectory.column("q").is_none());
    }
}
