//! What a report shows of constraints on frames: distances over time, and the ways of the frames in the 3-D view.

use leastaction::jet::JetWorkspace;
use leastaction::mechanism::{Placement, Shape, Visual};
use leastaction::optimize::{Target, TaskConstraint, TaskKind, When};
use leastaction::spatial::{Mat3, Quat, Vec3};

use crate::report::{Plot, PlotLimit, PlotThinner};

/// Beads of a way.
const BEADS: usize = 120;
const WAY: [f64; 4] = [0.15, 0.39, 0.92, 1.0];
const GOAL: [f64; 4] = [0.09, 0.64, 0.29, 0.9];
const FORBIDDEN: [f64; 4] = [0.86, 0.15, 0.15, 0.35];
const VIEW: [f64; 4] = [0.85, 0.6, 0.1, 0.8];
/// Rings that show a cone, and beads of each.
const RINGS: usize = 4;
const RING: usize = 36;

/// Gathers distances and ways while a motion is written.
pub(super) struct ConstraintPage<'a> {
    tasks: &'a [TaskConstraint],
    /// Places of each different frame.
    ways: Vec<(Target, Vec<Vec3>)>,
    goals: PlotThinner,
    turns: PlotThinner,
    room: PlotThinner,
}

fn of<'a>(
    tasks: &'a [TaskConstraint],
    want: impl Fn(&TaskKind) -> bool + 'a,
) -> impl Iterator<Item = &'a TaskConstraint> {
    tasks.iter().filter(move |task| want(&task.kind))
}

fn is_goal(kind: &TaskKind) -> bool {
    matches!(kind, TaskKind::Position { .. })
}

fn is_turn(kind: &TaskKind) -> bool {
    matches!(kind, TaskKind::Orientation { .. })
}

fn is_room(kind: &TaskKind) -> bool {
    !is_goal(kind) && !is_turn(kind)
}

/// Name of a curve: goals say when they are due.
fn label(task: &TaskConstraint) -> String {
    match task.when {
        When::At(t) => format!("{} at {:.4} s", task.name, t),
        When::During(..) => task.name.clone(),
    }
}

impl<'a> ConstraintPage<'a> {
    pub(super) fn new(tasks: &'a [TaskConstraint]) -> Self {
        let plot = |id, title, unit, want: fn(&TaskKind) -> bool| {
            PlotThinner::new(id, title, unit, false, of(tasks, want).map(label))
        };
        let mut ways: Vec<(Target, Vec<Vec3>)> = Vec::new();
        for task in tasks {
            if !ways.iter().any(|(target, _)| *target == task.target) {
                ways.push((task.target, Vec::new()));
            }
        }
        Self {
            tasks,
            ways,
            goals: plot("goals", "Distance to goals", "m", is_goal),
            turns: plot("turns", "Rotation to goals", "rad", is_turn),
            room: plot("clearance", "Room to what frames keep clear of", "m", is_room),
        }
    }

    /// Takes a posture, evaluated.
    pub(super) fn push(&mut self, t: f64, jets: &mut JetWorkspace<f64>) {
        let mut poses: Vec<(Target, Mat3, Vec3)> = Vec::new();
        for (target, places) in &mut self.ways {
            let (rotation, place) = jets.pose_jets(target);
            places.push(place[0]);
            poses.push((*target, rotation[0], place[0]));
        }
        // Where a constraint does not hold its distance is no news.
        let idle = |task: &TaskConstraint| match task.when {
            When::At(_) => false,
            When::During(from, to) => t < from || t > to,
        };
        let distance = |task: &TaskConstraint| {
            if idle(task) {
                return f64::NAN;
            }
            let own = poses.iter().find(|(target, ..)| *target == task.target);
            own.map_or(f64::NAN, |(_, rotation, place)| task.distance(rotation, *place))
        };
        let values =
            |want: fn(&TaskKind) -> bool| -> Vec<f64> { of(self.tasks, want).map(distance).collect() };
        let (goals, turns, room) = (values(is_goal), values(is_turn), values(is_room));
        self.goals.push(t, &goals);
        self.turns.push(t, &turns);
        self.room.push(t, &room);
    }

    /// The plots that have a curve.
    pub(super) fn plots(&self) -> Vec<Plot> {
        let floor = PlotLimit { of: None, low: 0.0, high: f64::INFINITY };
        let room = Plot { limits: vec![floor], ..self.room.plot() };
        [room, self.goals.plot(), self.turns.plot()]
            .into_iter()
            .filter(|plot| !plot.series.is_empty())
            .collect()
    }

    /// Ways as beads, goals as larger ones, balls to keep out of as they are, planes as plates, cones of sight as rings.
    pub(super) fn shapes(&self) -> Vec<Visual> {
        let sphere = |at: Vec3, radius: f64, rgba: [f64; 4]| Visual {
            shape: Shape::Sphere { radius },
            placement: Placement::at(at.0),
            rgba: Some(rgba),
        };
        let length: f64 = self
            .ways
            .iter()
            .map(|(_, places)| places.windows(2).map(|p| (p[1] - p[0]).norm()).sum::<f64>())
            .fold(0.0, f64::max);
        let bead = 0.006 * length;
        let mut out = Vec::new();
        if bead > 0.0 {
            for (_, places) in &self.ways {
                let stride = places.len().div_ceil(BEADS).max(1);
                out.extend(places.iter().step_by(stride).map(|p| sphere(*p, bead, WAY)));
            }
        }
        for task in self.tasks {
            match task.kind {
                TaskKind::Position { at } if bead > 0.0 => out.push(sphere(at, 2.5 * bead, GOAL)),
                TaskKind::KeepOut { centre, radius } => out.push(sphere(centre, radius, FORBIDDEN)),
                TaskKind::HalfSpace { normal, offset } if length > 0.0 => {
                    out.push(self.plane(task, normal, offset, length));
                }
                TaskKind::InView { apex, axis, slope } if bead > 0.0 => {
                    out.extend(self.cone(task, apex, axis, slope).map(|p| sphere(p, bead, VIEW)));
                }
                _ => {}
            }
        }
        out
    }

    fn way(&self, task: &TaskConstraint) -> &[Vec3] {
        self.ways.iter().find(|(target, _)| *target == task.target).map_or(&[], |(_, places)| places)
    }

    /// A plate on the forbidden side of a plane, where the way of its frame is nearest.
    fn plane(&self, task: &TaskConstraint, normal: Vec3, offset: f64, length: f64) -> Visual {
        let room = |p: &&Vec3| normal.dot(**p) - offset;
        let near = self.way(task).iter().min_by(|a, b| room(a).total_cmp(&room(b)));
        let near = near.copied().unwrap_or(Vec3::zero());
        let thick = 0.01 * length;
        let at = near - normal.scale(normal.dot(near) - offset + 0.5 * thick);
        let size = [1.2 * length, 1.2 * length, thick];
        Visual {
            shape: Shape::Box { size },
            placement: Placement { p: at.0, q: from_z(normal) },
            rgba: Some(FORBIDDEN),
        }
    }

    /// Rings on a cone of sight, as far as its frame goes from the apex.
    fn cone(&self, task: &TaskConstraint, apex: Vec3, axis: Vec3, slope: f64) -> impl Iterator<Item = Vec3> {
        let far = self.way(task).iter().map(|p| axis.dot(*p - apex)).fold(0.0, f64::max);
        let turn = Quat::from_slice(&from_z(axis));
        (1..=RINGS).flat_map(move |ring| {
            let along = far * ring as f64 / RINGS as f64;
            (0..RING).map(move |i| {
                let angle = std::f64::consts::TAU * i as f64 / RING as f64;
                let around = Vec3([angle.cos(), angle.sin(), 0.0]).scale(slope * along);
                apex + axis.scale(along) + turn.rotate(around)
            })
        })
    }
}

/// The rotation that takes z to a unit vector.
fn from_z(to: Vec3) -> [f64; 4] {
    let w = 1.0 + to.0[2];
    // Upside down every half turn about a level axis does.
    if w < 1e-9 {
        return [0.0, 1.0, 0.0, 0.0];
    }
    let norm = (w * w + to.0[0].powi(2) + to.0[1].powi(2)).sqrt();
    [w / norm, -to.0[1] / norm, to.0[0] / norm, 0.0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z_is_turned_to_any_direction() {
        for to in [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.48, -0.6, 0.64]] {
            let z = Quat::from_slice(&from_z(Vec3(to))).rotate(Vec3([0.0, 0.0, 1.0]));
            assert!((z - Vec3(to)).norm() < 1e-12, "{to:?}: {z:?}");
        }
    }
}
