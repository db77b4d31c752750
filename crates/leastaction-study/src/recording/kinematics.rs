//! Joint motion from markers: the configuration whose frames are nearest to the markers, frame by frame.
//!
//! ```text
//! min_q Σ_m |x_m(q) − y_m|² + μ |δq|²
//! ```
//!
//! by damped Gauss–Newton steps in the tangent of the configuration, so that balls and free bases need no angles. Each frame
//! starts from the one before. Loops are closed by points of their joint that are one: of a ball its centre, of a hinge two points of
//! its axis; they weigh so much that markers can open them by less than a rounding.

use std::path::Path;

use leastaction::jet::{Coordinates, JetWorkspace, Quantity, Target};
use leastaction::mechanism::{JointType, Mechanism};
use leastaction::spatial::{Pose, Vec3};
use leastaction::trajectory::{Trajectory, TrajectoryLayout};

use super::Recording;
use super::markers::Markers;
use crate::failure::Failure;

/// How well markers are met.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkerFit {
    /// Name, root mean square and largest distance in metres, frames in which it was seen.
    pub markers: Vec<(String, f64, f64, usize)>,
    /// Number of frames.
    pub frames: usize,
}

/// Steps of the first frame, which may start far away, and of the others.
const FIRST_STEPS: usize = 300;
const STEPS: usize = 50;

pub(super) fn follow(
    markers: &Markers,
    mechanism: &Mechanism,
    path: &Path,
    y_up: bool,
) -> Result<Recording, Failure> {
    let closures = closures(mechanism)?;
    // A marker belongs to the frame (or body) of its name.
    let mut pairs: Vec<(usize, Target)> = Vec::new();
    for (m, name) in markers.names.iter().enumerate() {
        let frame = mechanism.frames().iter().position(|f| f.name.eq_ignore_ascii_case(name));
        if let Some(at) = frame.and_then(|i| mechanism.frame_by_name(&mechanism.frames()[i].name)) {
            pairs.push((m, Target::frame(mechanism, at)));
        } else if let Some(body) = mechanism.body_by_name(name) {
            pairs.push((m, Target::body(body)));
        }
    }
    let known: Vec<String> = mechanism.frames().iter().map(|f| f.name.clone()).collect();
    if pairs.is_empty() {
        return Err(Failure::new(format!(
            "no marker of `{}` is a frame of `{}`",
            path.display(),
            mechanism.name()
        ))
        .help(format!(
            "give the model a frame (a site in MJCF) with the name of each marker; it has {}",
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        )));
    }
    if let Some((m, _)) = pairs.iter().find(|(m, _)| markers.points.iter().all(|frame| frame[*m].is_none())) {
        return Err(Failure::new(format!(
            "marker `{}` of `{}` was never seen",
            markers.names[*m],
            path.display()
        ))
        .help("take it out of the file, or out of the model"));
    }
    let mut search = Search::new(mechanism, pairs, closures);
    let mut notes = Vec::new();
    let idle: Vec<&str> = markers
        .names
        .iter()
        .enumerate()
        .filter(|(m, _)| !search.pairs.iter().any(|(p, _)| p == m))
        .map(|(_, n)| n.as_str())
        .collect();
    if !idle.is_empty() {
        notes.push(format!("markers without a frame in the model were not used: {}", idle.join(", ")));
    }
    let up = |p: Vec3| if y_up { Vec3([p.0[0], -p.0[2], p.0[1]]) } else { p };
    let mut q = mechanism.start_state().q;
    let mut data = Vec::new();
    let mut sums = vec![(0.0, 0.0f64, 0usize); search.pairs.len()];
    for (f, frame) in markers.points.iter().enumerate() {
        let seen: Vec<Option<Vec3>> = search.pairs.iter().map(|(m, _)| frame[*m].map(up)).collect();
        if 3 * seen.iter().flatten().count() < mechanism.nv().min(6) {
            let what = format!("only {} markers were seen", seen.iter().flatten().count());
            return Err(Failure::new(format!("{}:{}: {what}", path.display(), markers.lines[f]))
                .help("cut the recording there, or fill the gaps of the markers"));
        }
        search.solve(&mut q, &seen, if f == 0 { FIRST_STEPS } else { STEPS })?;
        for (sum, (target, found)) in sums.iter_mut().zip(seen.iter().zip(search.places(&q)?)) {
            if let Some(target) = target {
                let d = (found - *target).norm();
                *sum = (sum.0 + d * d, sum.1.max(d), sum.2 + 1);
            }
        }
        data.push(markers.times[f]);
        data.extend_from_slice(&q);
    }
    let labels = mechanism.q_labels();
    let columns = std::iter::once("t".to_owned()).chain(labels.iter().map(|l| format!("q.{l}")));
    let fit = MarkerFit {
        markers: search
            .pairs
            .iter()
            .zip(&sums)
            .map(|((m, _), (sum, worst, count))| {
                (markers.names[*m].clone(), (sum / (*count).max(1) as f64).sqrt(), *worst, *count)
            })
            .collect(),
        frames: markers.times.len(),
    };
    Ok(Recording {
        trajectory: Trajectory::new(TrajectoryLayout::from_columns(columns), data),
        markers: Some(fit),
        notes,
    })
}

/// Weight of loops against markers, before squaring.
const STIFF: f64 = 1e4;

/// Two points that are one: on a body, or fixed in the world.
type Closure = [Anchor; 2];

#[derive(Clone, Copy)]
enum Anchor {
    On(Target),
    At(Vec3),
}

/// Points of the loop joints that are one.
fn closures(mechanism: &Mechanism) -> Result<Vec<Closure>, Failure> {
    // Any length serves that is not out of scale with the mechanism.
    let size = mechanism.joints().iter().map(|j| j.parent_frame.pos.norm()).fold(0.0, f64::max);
    let arm = if size > 0.0 { size } else { 1.0 };
    let mut out = Vec::new();
    for id in mechanism.loop_joints() {
        let joint = mechanism.joint(id);
        let points = match joint.kind {
            JointType::Spherical => vec![Vec3::zero()],
            // Frames of joints are turned so that the axis is z.
            JointType::Revolute | JointType::Continuous => {
                vec![Vec3([0.0, 0.0, arm]), Vec3([0.0, 0.0, -arm])]
            }
            JointType::Fixed => {
                (0..3).map(|k| Vec3(std::array::from_fn(|i| if i == k { arm } else { 0.0 }))).collect()
            }
            kind => {
                return Err(Failure::new(format!(
                    "joint `{}` closes a loop and is {}: markers are followed in loops of balls, hinges and fixed joints",
                    joint.name,
                    kind.name()
                ))
                .help("open the loop in a copy of the model, or record joint angles"));
            }
        };
        for point in points {
            let place = |frame: &Pose| frame.rot * point + frame.pos;
            let parent = place(&joint.parent_frame);
            let child = Anchor::On(Target::body(joint.child).at_point(place(&joint.child_frame)));
            let parent = match joint.parent {
                Some(body) => Anchor::On(Target::body(body).at_point(parent)),
                None => Anchor::At(parent),
            };
            out.push([parent, child]);
        }
    }
    Ok(out)
}

struct Search<'m> {
    mechanism: &'m Mechanism,
    pairs: Vec<(usize, Target)>,
    closures: Vec<Closure>,
    jets: JetWorkspace<f64>,
    rest: Vec<f64>,
    jacobian: Vec<f64>,
    value: Vec<f64>,
}

impl<'m> Search<'m> {
    fn new(mechanism: &'m Mechanism, pairs: Vec<(usize, Target)>, closures: Vec<Closure>) -> Self {
        let jets = JetWorkspace::<f64>::new(mechanism, -1);
        let point = Quantity::point(pairs[0].1, 0).kind;
        Self {
            mechanism,
            rest: vec![0.0; mechanism.nv()],
            jacobian: vec![0.0; jets.value_count(point) * 3 * jets.jacobian_columns()],
            value: vec![0.0; jets.value_count(point) * 3],
            pairs,
            closures,
            jets,
        }
    }

    /// Where the frames are.
    fn places(&mut self, q: &[f64]) -> Result<Vec<Vec3>, Failure> {
        let fail = |error| Failure::from_error(&error);
        self.jets.forward_from_derivatives(q, &[&self.rest]).map_err(fail)?;
        let mut out = Vec::new();
        for (_, target) in &self.pairs {
            self.jets.value_into(&Quantity::point(*target, 0), &mut self.value).map_err(fail)?;
            out.push(Vec3([self.value[0], self.value[1], self.value[2]]));
        }
        Ok(out)
    }

    fn distance(places: &[Vec3], seen: &[Option<Vec3>]) -> f64 {
        places.iter().zip(seen).filter_map(|(p, y)| y.map(|y| (*p - y).norm().powi(2))).sum()
    }

    /// Where loops are open, by points, at the configuration evaluated last.
    fn gaps(&mut self) -> Result<Vec<Vec3>, Failure> {
        let closures = self.closures.clone();
        let mut at = |anchor: Anchor| -> Result<Vec3, Failure> {
            let target = match anchor {
                Anchor::At(place) => return Ok(place),
                Anchor::On(target) => target,
            };
            self.jets
                .value_into(&Quantity::point(target, 0), &mut self.value)
                .map_err(|error| Failure::from_error(&error))?;
            Ok(Vec3([self.value[0], self.value[1], self.value[2]]))
        };
        closures.iter().map(|[a, b]| Ok(at(*b)? - at(*a)?)).collect()
    }

    /// What a configuration costs: distances of markers, and gaps of loops.
    fn cost(&mut self, places: &[Vec3], seen: &[Option<Vec3>]) -> Result<f64, Failure> {
        let open: f64 = self.gaps()?.iter().map(|gap| gap.norm().powi(2)).sum();
        Ok(Self::distance(places, seen) + STIFF * STIFF * open)
    }

    /// Closes the loops by the shortest steps, as far as that goes.
    fn close(&mut self, q: &mut Vec<f64>) -> Result<(), Failure> {
        if self.closures.is_empty() {
            return Ok(());
        }
        let nv = self.mechanism.nv();
        let mut last = f64::INFINITY;
        for _ in 0..20 {
            self.places(q)?;
            let open = self.gaps()?.iter().map(|gap| gap.norm()).fold(0.0, f64::max);
            if open == 0.0 || open >= 0.5 * last {
                break;
            }
            last = open;
            let (mut gram, mut step) = (vec![0.0; nv * nv], vec![0.0; nv]);
            self.add_closures(&mut gram, &mut step)?;
            step.iter_mut().for_each(|g| *g = -*g);
            let size = (0..nv).map(|i| gram[i * nv + i]).fold(f64::MIN_POSITIVE, f64::max);
            (0..nv).for_each(|i| gram[i * nv + i] += 1e-10 * size);
            if leastaction_core::linalg::cholesky(&mut gram, nv).is_err() {
                break;
            }
            leastaction_core::linalg::cholesky_solve(&gram, nv, &mut step, 1);
            let mut next = vec![0.0; q.len()];
            self.mechanism.retract(q, &step, &mut next);
            *q = next;
        }
        Ok(())
    }

    /// Adds the rows of the loops to the normal equations.
    fn add_closures(&mut self, gram: &mut [f64], gradient: &mut [f64]) -> Result<(), Failure> {
        let (nv, columns) = (self.mechanism.nv(), self.jets.jacobian_columns());
        let index: Vec<usize> = (0..nv).map(|c| self.jets.column_index(c, 0)).collect();
        let gaps = self.gaps()?;
        for (closure, gap) in self.closures.clone().iter().zip(gaps) {
            let mut rows = vec![0.0; 3 * nv];
            for (anchor, sign) in closure.iter().zip([-STIFF, STIFF]) {
                let Anchor::On(target) = anchor else { continue };
                self.jets
                    .jacobian_into(&Quantity::point(*target, 0), Coordinates::Tangent, &mut self.jacobian)
                    .map_err(|error| Failure::from_error(&error))?;
                for row in 0..3 {
                    for (i, at) in index.iter().enumerate() {
                        rows[row * nv + i] += sign * self.jacobian[row * columns + at];
                    }
                }
            }
            for (row, line) in rows.chunks_exact(nv).enumerate() {
                for i in 0..nv {
                    gradient[i] += STIFF * gap.0[row] * line[i];
                    for j in 0..=i {
                        gram[i * nv + j] += line[i] * line[j];
                    }
                }
            }
        }
        Ok(())
    }

    fn solve(&mut self, q: &mut Vec<f64>, seen: &[Option<Vec3>], steps: usize) -> Result<(), Failure> {
        let nv = self.mechanism.nv();
        self.close(q)?;
        let mut places = self.places(q)?;
        let mut cost = self.cost(&places, seen)?;
        let mut damping = 1e-6;
        for _ in 0..steps {
            let (mut gram, mut gradient) = (vec![0.0; nv * nv], vec![0.0; nv]);
            let columns = self.jets.jacobian_columns();
            for ((_, target), (place, y)) in self.pairs.iter().zip(places.iter().zip(seen)) {
                let Some(y) = y else { continue };
                self.jets
                    .jacobian_into(&Quantity::point(*target, 0), Coordinates::Tangent, &mut self.jacobian)
                    .map_err(|error| Failure::from_error(&error))?;
                let index: Vec<usize> = (0..nv).map(|c| self.jets.column_index(c, 0)).collect();
                let error = *place - *y;
                for row in 0..3 {
                    let line = &self.jacobian[row * columns..(row + 1) * columns];
                    for i in 0..nv {
                        let a = line[index[i]];
                        if a != 0.0 {
                            gradient[i] += a * error.0[row];
                            for j in 0..=i {
                                gram[i * nv + j] += a * line[index[j]];
                            }
                        }
                    }
                }
            }
            // Damping is measured by the markers: loops are far stiffer.
            let size = (0..nv).map(|i| gram[i * nv + i]).fold(1e-12, f64::max);
            self.add_closures(&mut gram, &mut gradient)?;
            let mut improved = false;
            for _ in 0..12 {
                let mut a = gram.clone();
                (0..nv).for_each(|i| a[i * nv + i] += damping * size);
                let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
                if leastaction_core::linalg::cholesky(&mut a, nv).is_ok() {
                    leastaction_core::linalg::cholesky_solve(&a, nv, &mut step, 1);
                    // Far steps of rotations leave what the linear model knows.
                    let longest = step.iter().fold(0.0f64, |m, x| m.max(x.abs()));
                    if longest > 0.5 {
                        step.iter_mut().for_each(|x| *x *= 0.5 / longest);
                    }
                    let mut trial = vec![0.0; q.len()];
                    self.mechanism.retract(q, &step, &mut trial);
                    // A step along closed loops opens them by its square.
                    self.close(&mut trial)?;
                    let there = self.places(&trial)?;
                    let next = self.cost(&there, seen)?;
                    if next < cost {
                        let gain = cost - next;
                        (*q, places, cost) = (trial, there, next);
                        damping = (0.1 * damping).max(1e-12);
                        improved = gain > 1e-14 * cost + 1e-24;
                        break;
                    }
                }
                damping *= 10.0;
            }
            if !improved {
                break;
            }
        }
        // The last trial may not be where the search ended.
        self.places(q)?;
        Ok(())
    }
}
