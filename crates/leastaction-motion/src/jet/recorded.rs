//! [`RecordedMotion`]: derivatives of a recorded trajectory, and how wrong they are, by smoothed spline fits.
//!
//! Every recorded number is a channel: a coordinate of a one-axis joint, a component of a quaternion, a component of a
//! position. Channels are fitted from their values and, where recorded, their rates. Orientations are fitted as four
//! numbers `p` that need no chart, however often a body turns: the velocity is `2 Im(p̄ ṗ)/|p|²` and a change of `p` moves
//! the body by `2 Im(p̄ δp)/|p|²`, both as jets. Through the Jacobian of a quantity the errors of the channels become its
//! standard error.

use super::stage::{Stage, StageKind};
use super::workspace::JetWorkspace;
use super::{JetError, factorial};
use crate::linalg::dot;
use crate::mechanism::Mechanism;
use crate::spatial::{Quat, Vec3};
use crate::spline::{FitOptions, SplineError, SplineFit};
use crate::trajectory::Trajectory;

/// Why a recorded trajectory cannot be differentiated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// A column is missing.
    #[error("the trajectory has no column `{column}`")]
    MissingColumn {
        /// Its name.
        column: String,
    },
    /// A quaternion has no direction.
    #[error("sample {index}: the quaternion of `{joint}` has no direction")]
    NoDirection {
        /// Sample.
        index: usize,
        /// The joint's label.
        joint: String,
    },
    /// The samples cannot be fitted.
    #[error(transparent)]
    Fit(#[from] SplineError),
}

/// Channels of a stage, fitted together, and what they move.
#[derive(Clone, Debug)]
struct Channels {
    fit: SplineFit,
    /// First velocity coordinate they move, and their number.
    v: usize,
    nv: usize,
    kind: ChannelKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChannelKind {
    /// One coordinate.
    Axis,
    /// Four components of a quaternion, which move the angular part.
    Rotation,
    /// One component of a position, which moves the linear part; the rotation is in the channels before. Each is as smooth as its own
    /// samples say: a body may go straight along one axis and to and fro along another.
    Position(usize),
}

/// A trajectory with its derivatives at the recorded times.
#[derive(Clone, Debug)]
pub struct RecordedMotion {
    /// Sample times.
    pub times: Vec<f64>,
    nq: usize,
    nv: usize,
    count: usize,
    /// `[sample][nq]`.
    positions: Vec<f64>,
    /// `[sample][nq]`, as recorded.
    recorded: Vec<f64>,
    /// `[sample][derivative][nv]`.
    derivatives: Vec<f64>,
    /// Largest difference of the fit to the recording at each sample, over all coordinates.
    misfits: Vec<f64>,
    /// Largest and root-mean-square misfit of each fitted coordinate, by label.
    pub residuals: Vec<(String, f64, f64)>,
    /// Estimated noise of each fitted joint, by label; in the unit of its positions, radians for rotations.
    pub noise: Vec<(String, f64)>,
    /// Correlation of that noise from one sample to the next, by label; zero if it looks white.
    pub memory: Vec<(String, f64)>,
    channels: Vec<Channels>,
}

/// Columns of a trajectory by name.
struct Table<'a> {
    trajectory: &'a Trajectory,
    q_labels: Vec<String>,
    v_labels: Vec<String>,
}

impl Table<'_> {
    fn column(&self, name: String) -> Result<Vec<f64>, RecordedError> {
        self.trajectory.column(&name).ok_or(RecordedError::MissingColumn { column: name })
    }
    /// `[sample][component]` of several position columns.
    fn positions(&self, range: std::ops::Range<usize>) -> Result<Vec<f64>, RecordedError> {
        let columns: Result<Vec<Vec<f64>>, _> =
            range.map(|c| self.column(format!("q.{}", self.q_labels[c]))).collect();
        Ok(interleave(&columns?))
    }
    /// `[sample][component]` of several velocity columns, if all were recorded.
    fn rates(&self, range: std::ops::Range<usize>) -> Option<Vec<f64>> {
        let columns: Option<Vec<Vec<f64>>> =
            range.map(|c| self.trajectory.column(&format!("v.{}", self.v_labels[c]))).collect();
        columns.map(|columns| interleave(&columns))
    }
}

fn three(x: &[f64]) -> Vec3 {
    Vec3([x[0], x[1], x[2]])
}

fn interleave(columns: &[Vec<f64>]) -> Vec<f64> {
    let rows = columns.first().map_or(0, Vec::len);
    (0..rows).flat_map(|s| columns.iter().map(move |c| c[s])).collect()
}

impl RecordedMotion {
    /// Fits a trajectory and differentiates the velocity `count − 1` times (velocity, acceleration, …: `count` rows).
    ///
    /// # Errors
    /// If a column is missing or the samples cannot be fitted.
    pub fn fit(
        mechanism: &Mechanism,
        trajectory: &Trajectory,
        count: usize,
        options: &FitOptions,
    ) -> Result<Self, RecordedError> {
        let table = Table { trajectory, q_labels: mechanism.q_labels(), v_labels: mechanism.v_labels() };
        let times = table.column("t".to_owned())?;
        let (nq, nv, n) = (mechanism.nq(), mechanism.nv(), times.len());
        let jets = JetWorkspace::<f64>::new(mechanism, -1);
        let options = FitOptions { degree: options.degree.max(count + 2), derivative: count, ..*options };
        let mut motion = Self {
            nq,
            nv,
            count,
            positions: vec![0.0; n * nq],
            recorded: table.positions(0..nq)?,
            derivatives: vec![0.0; n * count * nv],
            misfits: vec![0.0; n],
            residuals: Vec::new(),
            noise: Vec::new(),
            memory: Vec::new(),
            channels: Vec::new(),
            times,
        };
        for stage in &jets.tree.stages {
            match stage.kind {
                StageKind::Turn(_) | StageKind::Slide(_) => motion.axis(stage, &table, &options)?,
                StageKind::Ball | StageKind::Free => motion.turning(stage, &table, &options)?,
            }
        }
        Ok(motion)
    }

    fn axis(&mut self, stage: &Stage, table: &Table<'_>, options: &FitOptions) -> Result<(), RecordedError> {
        for c in 0..stage.nv {
            let (q, v) = (stage.q + c, stage.v + c);
            let values = table.positions(q..q + 1)?;
            let rates = table.rates(v..v + 1);
            let fit = SplineFit::new(&self.times, &values, rates.as_deref(), 1, options)?;
            let orders = self.count + 1;
            let x = fit.evaluate(&self.times, orders - 1)?;
            for s in 0..self.times.len() {
                self.positions[s * self.nq + q] = x[s * orders];
                for d in 0..self.count {
                    self.derivatives[(s * self.count + d) * self.nv + v] = x[s * orders + d + 1];
                }
            }
            self.note(fit, &values, &x, v, 1, ChannelKind::Axis, &table.v_labels[v]);
        }
        Ok(())
    }

    fn turning(
        &mut self,
        stage: &Stage,
        table: &Table<'_>,
        options: &FitOptions,
    ) -> Result<(), RecordedError> {
        let n = self.times.len();
        let mut values = table.positions(stage.q..stage.q + 4)?;
        let label = table.v_labels[stage.v].trim_end_matches(".wx").to_owned();
        // Unit length, and of both signs of a rotation the one next to its neighbour.
        let mut last: Option<Quat> = None;
        for (index, p) in values.chunks_exact_mut(4).enumerate() {
            let raw = Quat::from_slice(p);
            if !(raw.norm() > 1e-6 && raw.norm().is_finite()) {
                return Err(RecordedError::NoDirection { index, joint: label });
            }
            let unit = raw.normalized().to_array();
            let flip = last.is_some_and(|l| dot(&l.to_array(), &unit) < 0.0);
            p.iter_mut().zip(unit).for_each(|(p, u)| *p = if flip { -u } else { u });
            last = Some(Quat::from_slice(p));
        }
        let velocities = table.rates(stage.v..stage.v + stage.nv);
        let nv = stage.nv;
        let rates = velocities.as_ref().map(|v| -> Vec<f64> {
            let each = values.chunks_exact(4).zip(v.chunks_exact(nv));
            each.flat_map(|(p, v)| {
                let rate = Quat::from_slice(p) * Quat::new(0.0, 0.5 * v[0], 0.5 * v[1], 0.5 * v[2]);
                rate.to_array()
            })
            .collect()
        });
        let fit = SplineFit::new(&self.times, &values, rates.as_deref(), 4, options)?;
        let orders = self.count + 1;
        let x = fit.evaluate(&self.times, orders - 1)?;
        for s in 0..n {
            let p = Turning::at(&x[s * orders * 4..(s + 1) * orders * 4]);
            let unit = p.p[0].normalized().to_array();
            self.positions[s * self.nq + stage.q..][..4].copy_from_slice(&unit);
            let spin = p.spin();
            for d in 0..self.count {
                let out = &mut self.derivatives[(s * self.count + d) * self.nv + stage.v..][..3];
                out.iter_mut().zip(spin[d].0).for_each(|(o, w)| *o = factorial(d) * w);
            }
        }
        self.note(fit, &values, &x, stage.v, 3, ChannelKind::Rotation, &label);
        if stage.kind == StageKind::Ball {
            return Ok(());
        }
        let rates = velocities.map(|v| -> Vec<f64> {
            let each = values.chunks_exact(4).zip(v.chunks_exact(nv));
            each.flat_map(|(p, v)| Quat::from_slice(p).rotate(Vec3([v[3], v[4], v[5]])).0).collect()
        });
        // Derivatives of the position, `[sample][order][component]`.
        let mut y = vec![0.0; n * orders * 3];
        for (i, axis) in ["x", "y", "z"].into_iter().enumerate() {
            let places = table.positions(stage.q + 4 + i..stage.q + 5 + i)?;
            let own: Option<Vec<f64>> =
                rates.as_ref().map(|rates| rates.iter().skip(i).step_by(3).copied().collect());
            let fit = SplineFit::new(&self.times, &places, own.as_deref(), 1, options)?;
            let own = fit.evaluate(&self.times, orders - 1)?;
            y.iter_mut().skip(i).step_by(3).zip(&own).for_each(|(y, own)| *y = *own);
            let kind = ChannelKind::Position(i);
            self.note(fit, &places, &own, stage.v + 3, 3, kind, &format!("{label} position {axis}"));
        }
        for s in 0..n {
            let p = Turning::at(&x[s * orders * 4..(s + 1) * orders * 4]);
            let place: Vec<Vec3> =
                (0..orders).map(|d| three(&y[(s * orders + d) * 3..]).scale(1.0 / factorial(d))).collect();
            self.positions[s * self.nq + stage.q + 4..][..3].copy_from_slice(&place[0].0);
            // v = Rᵀ ẋ.
            let rate: Vec<Vec3> = (1..orders).map(|l| place[l].scale(l as f64)).collect();
            let local = p.rotate_back(&rate);
            for d in 0..self.count {
                let out = &mut self.derivatives[(s * self.count + d) * self.nv + stage.v + 3..][..3];
                out.iter_mut().zip(local[d].0).for_each(|(o, w)| *o = factorial(d) * w);
            }
        }
        Ok(())
    }

    /// Keeps a fit and how well it fits.
    #[expect(clippy::too_many_arguments, reason = "what is known of a fit")]
    fn note(
        &mut self,
        fit: SplineFit,
        values: &[f64],
        x: &[f64],
        v: usize,
        nv: usize,
        kind: ChannelKind,
        label: &str,
    ) {
        let (dim, orders) = (fit.dim, self.count + 1);
        // A quaternion turns by half the angle, and has three directions of noise in four numbers.
        let factor = if kind == ChannelKind::Rotation { 2.0 } else { 1.0 };
        for s in 0..self.times.len() {
            for i in 0..dim {
                let d = factor * (x[s * orders * dim + i] - values[s * dim + i]).abs();
                self.misfits[s] = self.misfits[s].max(d);
            }
        }
        let largest = fit.residual_max.iter().fold(0.0, |m: f64, x| m.max(*x));
        let sum: f64 = fit.residual_rms.iter().map(|x| x * x).sum();
        // Directions that the noise of these numbers has.
        let directions = if kind == ChannelKind::Rotation { 3.0 } else { dim as f64 };
        let rms = (sum / directions).sqrt();
        self.residuals.push((format!("q.{label}"), factor * largest, factor * rms));
        self.noise.push((format!("q.{label}"), factor * fit.noise() * (dim as f64 / directions).sqrt()));
        self.memory.push((format!("q.{label}"), fit.memory()));
        self.channels.push(Channels { fit, v, nv, kind });
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.times.len()
    }
    /// True if there is no sample.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
    /// Largest difference of the fit to the recording at sample `s`, over all coordinates.
    #[must_use]
    pub fn misfit(&self, s: usize) -> f64 {
        self.misfits[s]
    }
    /// Positions of sample `s`.
    #[must_use]
    pub fn positions(&self, s: usize) -> &[f64] {
        &self.positions[s * self.nq..(s + 1) * self.nq]
    }
    /// Positions of sample `s` as they were recorded.
    #[must_use]
    pub fn recorded(&self, s: usize) -> &[f64] {
        &self.recorded[s * self.nq..(s + 1) * self.nq]
    }
    /// Velocity, acceleration, … of sample `s`.
    #[must_use]
    pub fn derivatives(&self, s: usize) -> Vec<&[f64]> {
        let row = self.count * self.nv;
        let all = &self.derivatives[s * row..(s + 1) * row];
        (0..self.count).map(|d| &all[d * self.nv..(d + 1) * self.nv]).collect()
    }

    /// Standard errors at sample `s` of quantities with a Jacobian in tangent coordinates, one per row of it; a workspace of
    /// the order of this motion tells the columns.
    ///
    /// # Errors
    /// If the Jacobian is of another order.
    pub fn standard_errors(
        &self,
        s: usize,
        jets: &JetWorkspace<f64>,
        jacobian: &[f64],
    ) -> Result<Vec<f64>, JetError> {
        let columns = jets.jacobian_columns();
        let orders = self.count + 1;
        if columns != self.nv * orders {
            return Err(JetError::WrongLength {
                name: "jacobian",
                expected: self.nv * orders,
                found: columns,
            });
        }
        let rows = jacobian.len() / columns.max(1);
        let (mut variance, mut bias) = (vec![0.0; rows], vec![0.0; rows]);
        let mut turn: Option<Turning> = None;
        for channel in &self.channels {
            let t = self.times[s];
            if channel.kind == ChannelKind::Rotation {
                turn = channel.fit.evaluate(&[t], orders - 1).ok().map(|x| Turning::at(&x));
            }
            let scale = if channel.kind == ChannelKind::Rotation { 4.0 / 3.0 } else { 1.0 };
            for component in 0..channel.fit.dim {
                let (covariance, off) = channel.fit.errors(component, t, orders - 1);
                let moved = channel.moves(component, turn.as_ref(), orders);
                for row in 0..rows {
                    let line = &jacobian[row * columns..(row + 1) * columns];
                    // Factor of the j-th derivative of the channel: Σ_m (∂z/∂ξ_m) · moved_{m−j} / j!.
                    let factors: Vec<f64> = (0..orders)
                        .map(|j| {
                            let sum: f64 = (j..orders)
                                .flat_map(|m| (0..channel.nv).map(move |i| (m, i)))
                                .map(|(m, i)| line[jets.column_index(channel.v + i, m)] * moved[m - j][i])
                                .sum();
                            sum / factorial(j)
                        })
                        .collect();
                    for j in 0..orders {
                        variance[row] +=
                            scale * factors[j] * dot(&covariance[j * orders..(j + 1) * orders], &factors);
                        bias[row] += factors[j] * off[j];
                    }
                }
            }
        }
        Ok(variance.iter().zip(&bias).map(|(v, b)| (v.max(0.0) + b * b).sqrt()).collect())
    }
}

impl Channels {
    /// Jet of the tangent that a change of one component makes, per coordinate of the stage.
    fn moves(&self, component: usize, turn: Option<&Turning>, orders: usize) -> Vec<[f64; 3]> {
        let mut unit = [0.0; 4];
        unit[component] = 1.0;
        match (self.kind, turn) {
            (ChannelKind::Rotation, Some(turn)) => {
                let change = Quat::from_slice(&unit);
                let products: Vec<Vec3> = turn.p.iter().map(|p| (p.conj() * change).v.scale(2.0)).collect();
                turn.divided(&products).iter().map(|v| v.0).collect()
            }
            (ChannelKind::Position(axis), Some(turn)) => {
                let mut constant = vec![Vec3::zero(); orders];
                constant[0].0[axis] = 1.0;
                turn.rotate_back(&constant).iter().map(|v| v.0).collect()
            }
            _ => (0..orders).map(|l| [f64::from(u8::from(l == 0)), 0.0, 0.0]).collect(),
        }
    }
}

/// The jet of four numbers that stand for a rotation, whatever their length.
struct Turning {
    p: Vec<Quat>,
    /// Jet of `1/|p|²`.
    inverse: Vec<f64>,
}

impl Turning {
    /// From derivatives `[order][4]`.
    fn at(x: &[f64]) -> Self {
        let scaled = |(l, p): (usize, &[f64])| {
            let f = 1.0 / factorial(l);
            Quat::new(f * p[0], f * p[1], f * p[2], f * p[3])
        };
        let p: Vec<Quat> = x.chunks_exact(4).enumerate().map(scaled).collect();
        let square = |l: usize| -> f64 { (0..=l).map(|m| dot(&p[m].to_array(), &p[l - m].to_array())).sum() };
        // y |p|² = 1, coefficient by coefficient.
        let mut inverse: Vec<f64> = Vec::new();
        for l in 0..p.len() {
            let known: f64 = (0..l).map(|m| inverse[m] * square(l - m)).sum();
            inverse.push((f64::from(u8::from(l == 0)) - known) / square(0));
        }
        Self { p, inverse }
    }

    fn divided(&self, x: &[Vec3]) -> Vec<Vec3> {
        (0..x.len())
            .map(|l| (0..=l).fold(Vec3::zero(), |sum, m| sum + x[m].scale(self.inverse[l - m])))
            .collect()
    }

    /// Jet of the velocity, one coefficient shorter: `2 Im(p̄ ṗ)/|p|²`.
    fn spin(&self) -> Vec<Vec3> {
        let product = |l: usize| {
            (0..=l).fold(Vec3::zero(), |sum, m| {
                sum + (self.p[m].conj() * self.p[l - m + 1]).v.scale(2.0 * (l - m + 1) as f64)
            })
        };
        let products: Vec<Vec3> = (0..self.p.len() - 1).map(product).collect();
        self.divided(&products)
    }

    /// Jet of `Rᵀ x = p̄ x p / |p|²`.
    fn rotate_back(&self, x: &[Vec3]) -> Vec<Vec3> {
        let left: Vec<Quat> = (0..x.len())
            .map(|l| {
                (0..=l).fold(Quat::new(0.0, 0.0, 0.0, 0.0), |sum, m| {
                    let q = self.p[m].conj() * Quat { w: 0.0, v: x[l - m] };
                    Quat { w: sum.w + q.w, v: sum.v + q.v }
                })
            })
            .collect();
        let products: Vec<Vec3> = (0..x.len())
            .map(|l| (0..=l).fold(Vec3::zero(), |sum, m| sum + (left[m] * self.p[l - m]).v))
            .collect();
        self.divided(&products)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jet::{Coordinates, Quantity};
    use crate::mechanism::MechanismBuilder;
    use crate::mechanism::samples::{Random, random_tree};
    use crate::trajectory::TrajectoryLayout;

    /// A ball that turns many times, recorded as quaternions of both signs: the velocity of its spin comes back.
    #[test]
    fn a_tumbling_ball_gives_its_angular_velocity() {
        let mechanism = MechanismBuilder::from(random_tree(3, 1, &[crate::mechanism::JointType::Floating]))
            .build()
            .unwrap();
        let labels = mechanism.q_labels();
        let columns = std::iter::once("t".to_owned()).chain(labels.iter().map(|l| format!("q.{l}")));
        let mut data = Vec::new();
        let axis = Vec3([0.6, 0.0, 0.8]);
        for s in 0..=400 {
            let t = 5e-3 * f64::from(s);
            let q = Quat::about(axis, 9.0 * t).to_array();
            let sign = if s % 7 == 0 { -1.0 } else { 1.0 };
            data.push(t);
            data.extend(q.map(|x| sign * x));
            data.extend([t, 2.0 * t * t, (3.0 * t).sin()]);
        }
        let trajectory = Trajectory::new(TrajectoryLayout::from_columns(columns), data);
        let motion = RecordedMotion::fit(&mechanism, &trajectory, 3, &FitOptions::default()).unwrap();
        for s in 0..motion.len() {
            let (t, x) = (motion.times[s], motion.derivatives(s));
            for i in 0..3 {
                assert!((x[0][i] - 9.0 * axis.0[i]).abs() < 1e-7, "{t} {i}: {}", x[0][i]);
                assert!(x[1][i].abs() < 1e-5 && x[2][i].abs() < 1e-2, "{t} {i}: {} {}", x[1][i], x[2][i]);
            }
            let r = Quat::about(axis, 9.0 * t).conj();
            let v = r.rotate(Vec3([1.0, 4.0 * t, 3.0 * (3.0 * t).cos()]));
            for i in 0..3 {
                assert!((x[0][3 + i] - v.0[i]).abs() < 1e-7, "{t} {i}");
            }
        }
    }

    /// The same at a tenth of the samples, with and without its velocity recorded beside it: more is known, less is wrong.
    #[test]
    fn recorded_velocities_of_a_tumbling_ball_make_its_motion_better_known() {
        let mechanism = MechanismBuilder::from(random_tree(3, 1, &[crate::mechanism::JointType::Spherical]))
            .build()
            .unwrap();
        let (axis, rate) = (Vec3([0.6, 0.0, 0.8]), 9.0);
        let error = |recorded: bool| {
            let q = mechanism.q_labels().into_iter().map(|l| format!("q.{l}"));
            let v = mechanism.v_labels().into_iter().map(|l| format!("v.{l}")).filter(|_| recorded);
            let columns: Vec<String> = std::iter::once("t".to_owned()).chain(q).chain(v).collect();
            let mut data = Vec::new();
            for s in 0..=40 {
                let t = 5e-2 * f64::from(s);
                data.push(t);
                data.extend(Quat::about(axis, rate * t).to_array());
                data.extend((axis * rate).0.iter().filter(|_| recorded));
            }
            let trajectory = Trajectory::new(TrajectoryLayout::from_columns(columns), data);
            let motion = RecordedMotion::fit(&mechanism, &trajectory, 2, &FitOptions::default()).unwrap();
            let mut worst = 0.0f64;
            for s in 0..motion.len() {
                for i in 0..3 {
                    worst = worst.max((motion.derivatives(s)[0][i] - rate * axis.0[i]).abs());
                }
            }
            worst
        };
        let (without, with) = (error(false), error(true));
        assert!(with < without && with < 1e-6, "{without} {with}");
    }

    /// Many noisy recordings of a ball and a hinge: the torque's standard error covers the truth as often as it should.
    #[test]
    fn standard_errors_of_torques_cover_the_truth() {
        use crate::mechanism::JointType::{Floating, Revolute, Spherical};
        let mechanism =
            MechanismBuilder::from(random_tree(5, 3, &[Spherical, Revolute, Floating])).build().unwrap();
        let mut random = Random::new(8);
        let labels = mechanism.q_labels();
        let n = 201;
        let configuration = |t: f64| {
            let step: Vec<f64> =
                (0..mechanism.nv()).map(|c| 0.6 * ((2.0 + 0.3 * c as f64) * t + c as f64).sin()).collect();
            let mut q = vec![0.0; mechanism.nq()];
            mechanism.retract(&mechanism.neutral_state().q, &step, &mut q);
            q
        };
        let fit = |noise: f64, random: &mut Random| {
            let columns = std::iter::once("t".to_owned()).chain(labels.iter().map(|l| format!("q.{l}")));
            let mut data = Vec::new();
            for s in 0..n {
                let t = 0.01 * s as f64;
                let step: Vec<f64> = (0..mechanism.nv()).map(|_| noise * random.normal()).collect();
                let mut q = vec![0.0; mechanism.nq()];
                mechanism.retract(&configuration(t), &step, &mut q);
                data.push(t);
                data.extend(q);
            }
            let trajectory = Trajectory::new(TrajectoryLayout::from_columns(columns), data);
            RecordedMotion::fit(&mechanism, &trajectory, 2, &FitOptions::default()).unwrap()
        };
        let mut jets = JetWorkspace::<f64>::new(&mechanism, 0);
        let truth = fit(0.0, &mut random);
        let (mut covered, mut all) = (0.0, 0.0);
        for _ in 0..6 {
            let motion = fit(1e-3, &mut random);
            for (label, noise) in &motion.noise {
                assert!((0.75..1.3).contains(&(noise / 1e-3)), "{label} {noise}");
            }
            for s in (0..n).step_by(5) {
                jets.forward_from_derivatives(truth.positions(s), &truth.derivatives(s)).unwrap();
                let expected = jets.torque(0).to_vec();
                jets.forward_from_derivatives(motion.positions(s), &motion.derivatives(s)).unwrap();
                let found = jets.torque(0).to_vec();
                let mut jacobian = vec![0.0; mechanism.nv() * jets.jacobian_columns()];
                jets.jacobian_into(&Quantity::torque(0), Coordinates::Tangent, &mut jacobian).unwrap();
                let errors = motion.standard_errors(s, &jets, &jacobian).unwrap();
                for ((a, b), e) in found.iter().zip(&expected).zip(&errors) {
                    covered += f64::from(u8::from((a - b).abs() <= *e));
                    all += 1.0;
                }
            }
        }
        assert!((0.58..=0.78).contains(&(covered / all)), "{}", covered / all);
    }
}
