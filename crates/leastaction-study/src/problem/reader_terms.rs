//! Cost terms of a problem file.

use std::ops::Range;

use leastaction::mechanism::Mechanism;
use leastaction::optimize::{MotionProblem, Quantity, QuantityKind, Sampling, Target, Term, TermKind};
use leastaction::spatial::{Mat3, Quat, Vec3};
use toml::de::DeTable;

use super::reader::Reader;
use crate::failure::suggestion;
use crate::values::{Entry, Rows};

const TERM: [&str; 12] = [
    "kind", "name", "weight", "metric", "links", "order", "body", "frame", "point", "target", "about",
    "during",
];
const KINDS: [&str; 18] = [
    "joint_velocity",
    "joint_acceleration",
    "joint_jerk",
    "joint_snap",
    "torque",
    "torque_rate",
    "torque_rate2",
    "link_velocity",
    "link_velocity_rate",
    "link_velocity_rate2",
    "momentum",
    "momentum_rate",
    "point_tracking",
    "orientation_tracking",
    "com_tracking",
    "regularisation",
    "point_motion",
    "frame_velocity",
];

/// Targets of a term that change over time: rows of a time and a target.
#[derive(Debug)]
pub(super) struct Waypoints {
    term: usize,
    span: Range<usize>,
    rows: Vec<Vec<f64>>,
}

impl Reader {
    pub(super) fn term(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        index: usize,
        duration: f64,
        mechanism: &Mechanism,
    ) -> Option<Term> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !TERM.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TERM);
            }
        }
        let Some(kind_entry) = find("kind") else {
            self.values.problem(
                span,
                format!("term {}", index + 1),
                "it has no `kind`",
                format!("one of {}", KINDS.join(", ")),
            );
            return None;
        };
        let kind = self.values.text(kind_entry)?;
        self.places.insert(format!("term {index}"), kind_entry.1.span());
        let weight = match find("weight") {
            Some(entry) => self.values.not_negative(entry)?,
            None => {
                self.has_weights = false;
                1.0
            }
        };
        let order = match find("order") {
            Some(entry) => Some(self.values.count(entry, 0)?),
            None => None,
        };
        let mut needs = |key: &str, remedy: &str| {
            let found = find(key);
            if found.is_none() {
                self.values.problem(
                    kind_entry.1.span(),
                    format!("term `{kind}`"),
                    format!("it has no `{key}`"),
                    remedy,
                );
            }
            found
        };
        let tracking = match kind.as_str() {
            "point_tracking" => {
                let (body, target) = (
                    needs("body", "name the body that tracks"),
                    needs("target", "give `target = [x, y, z]`"),
                );
                let body = body?;
                let text = self.values.text(body)?;
                let id = self.body(body, &text, body.1.span(), mechanism)?;
                let offset = match find("point") {
                    Some(entry) => Vec3(self.values.fixed(entry)?),
                    None => Vec3::zero(),
                };
                let reference = self.targets::<3>(target?, index)?.map(Vec3);
                Some(TermKind::Tracking {
                    quantity: Quantity::point(Target::body(id).at_point(offset), order.unwrap_or(0)),
                    reference: vec![reference.unwrap_or(Vec3::zero())],
                })
            }
            "orientation_tracking" => {
                let (body, target) = (
                    needs("body", "name the body that tracks"),
                    needs("target", "give `target = [w, x, y, z]`"),
                );
                let body = body?;
                let text = self.values.text(body)?;
                let id = self.body(body, &text, body.1.span(), mechanism)?;
                let target = target?;
                let q = self.targets::<4>(target, index)?;
                if q.is_some_and(|q| Quat::from_slice(&q).norm() < 1e-6) {
                    self.values.problem(
                        target.1.span(),
                        "key `target`",
                        "the quaternion has no direction",
                        "give a unit quaternion w, x, y, z",
                    );
                    return None;
                }
                let quat = q.map_or(Quat::identity(), |q| Quat::from_slice(&q).normalized());
                let reference = vec![quat.to_matrix()];
                Some(TermKind::OrientationTracking { target: Target::body(id), reference })
            }
            "com_tracking" => {
                let target = needs("target", "give `target = [x, y, z]`")?;
                let reference = self.targets::<3>(target, index)?.map(Vec3);
                let reference = vec![reference.unwrap_or(Vec3::zero())];
                Some(TermKind::Tracking { quantity: Quantity::com(order.unwrap_or(0)), reference })
            }
            // The hand's jerk and the like: any derivative of a point, or of a frame's velocity.
            "point_motion" | "frame_velocity" => {
                let frame = needs("frame", "name the body or frame that moves")?;
                let mut target = self.frame(frame, mechanism)?;
                if let Some(entry) = find("point") {
                    target = target.at_point(Vec3(self.values.fixed(entry)?));
                }
                let order = order.unwrap_or(1);
                Some(TermKind::Squares(vec![if kind == "point_motion" {
                    Quantity::point(target, order)
                } else {
                    Quantity::velocity(target, order)
                }]))
            }
            "regularisation" => {
                let posture = match find("target") {
                    Some(entry) => Some(self.coordinates(entry, mechanism, 0.0)?),
                    None => None,
                };
                self.postures.push((index, posture));
                Some(TermKind::Regularisation { reference: Vec::new() })
            }
            _ => None,
        };
        let mut term = match tracking {
            Some(tracking) => Term::new(kind.clone(), tracking, weight),
            None => {
                let Some(term) = Term::by_name(&kind, mechanism, weight) else {
                    let remedy = suggestion(&kind, &KINDS).unwrap_or_default();
                    self.values.problem(
                        kind_entry.1.span(),
                        "key `kind`",
                        format!("`{kind}` is not a term"),
                        remedy,
                    );
                    return None;
                };
                term
            }
        };
        if let TermKind::Squares(list) = &mut term.kind
            && let [first, ..] = list[..]
        {
            match (first.kind, find("links"), find("about")) {
                (QuantityKind::Velocity, Some(entry), _) => {
                    let names = self.values.texts(entry);
                    let bodies = names.into_iter().filter_map(|(t, s)| self.body(entry, &t, s, mechanism));
                    *list = bodies.map(|id| Quantity::velocity(Target::body(id), first.order)).collect();
                }
                (QuantityKind::TotalMomentum, _, Some(entry)) => match self.values.text(entry)?.as_str() {
                    "com" => *list = vec![Quantity::momentum(first.order, true)],
                    "origin" => {}
                    other => {
                        let message = format!("`{other}` is not possible");
                        let remedy = "write \"com\" or \"origin\"";
                        self.values.problem(entry.1.span(), "key `about`", message, remedy);
                    }
                },
                _ => {}
            }
        }
        if let Some(entry) = find("metric") {
            self.places.insert("metric".into(), entry.1.span());
            match self.values.rows(entry)? {
                Rows::One(diagonal) => term.metric = diagonal,
                Rows::Many(rows) => {
                    let size = rows.len();
                    if rows.iter().any(|row| row.len() != size) {
                        self.values.problem(
                            entry.1.span(),
                            "key `metric`",
                            format!("it has {size} rows of other lengths"),
                            "give one number per row of the residual, or a square matrix",
                        );
                        return None;
                    }
                    term.metric_matrix = rows.concat();
                }
            }
        }
        if let Some(entry) = find("name") {
            term.name = self.values.text(entry)?;
        }
        if let Some(entry) = find("during") {
            term.during = self.stretch(entry, duration)?;
            if term.during.is_some() && matches!(term.kind, TermKind::Regularisation { .. }) {
                let message = "a term of control points has no time";
                self.values.problem(entry.1.span(), "key `during`", message, "leave it out");
            }
        }
        Some(term)
    }

    /// One target, or (then `None`, kept for later) rows `[t, target…]` to move along.
    fn targets<const N: usize>(&mut self, entry: Entry<'_, '_>, term: usize) -> Option<Option<[f64; N]>> {
        let rows = match self.values.rows(entry)? {
            Rows::One(_) => return self.values.fixed::<N>(entry).map(Some),
            Rows::Many(rows) => rows,
        };
        let fits = rows.iter().all(|row| row.len() == N + 1);
        let increasing = rows.windows(2).all(|pair| pair[0][0] < pair[1][0]);
        let turns = N == 4 && rows.iter().any(|row| Quat::from_slice(&row[1..]).norm() < 1e-6);
        if rows.len() < 2 || !fits || !increasing || turns {
            self.values.problem(
                entry.1.span(),
                "key `target`",
                "it does not tell a target for every time",
                format!("give one target of {N} numbers, or two or more rows [t, target] with growing times"),
            );
            return None;
        }
        self.waypoints.push(Waypoints { term, span: entry.1.span(), rows });
        Some(None)
    }

    /// Fills in what needs the sample times or the control points: moving targets and postures.
    pub(super) fn complete(&mut self, problem: &mut MotionProblem, mechanism: &Mechanism) {
        let degree = problem.degree.clamp(1, 12);
        let sampling = match problem.sampling {
            Sampling::Uniform { count } => Sampling::Uniform { count: count.max(2) },
            gauss => gauss,
        };
        for (term, posture) in std::mem::take(&mut self.postures) {
            let n = mechanism.nv();
            let reference = match posture {
                Some(posture) => posture.repeat(problem.n_control),
                None => match leastaction::optimize::Transcription::profile(mechanism, problem) {
                    Ok(theta) => theta.high,
                    Err(_) => vec![0.0; n * problem.n_control],
                },
            };
            if let Some(term) = problem.terms.get_mut(term) {
                term.kind = TermKind::Regularisation { reference };
            }
        }
        let waypoints = std::mem::take(&mut self.waypoints);
        if waypoints.is_empty() {
            return;
        }
        if self.time_weight.is_some() && !self.phases.is_empty() {
            let message =
                "a target that moves in given times does not go with phases whose durations are free";
            let span = waypoints[0].span.clone();
            self.values.problem(span, "key `target`", message, "leave out `time_weight`, or give one target");
            return;
        }
        let probe = MotionProblem { degree, sampling, ..problem.clone() };
        let Ok(table) = probe.table(1) else { return };
        for points in waypoints {
            let (first, last) = (points.rows[0][0], points.rows[points.rows.len() - 1][0]);
            if first > 0.0 || last < problem.duration {
                self.values.problem(
                    points.span,
                    "key `target`",
                    format!("its times {first} to {last} do not cover the motion"),
                    format!("give rows from t = 0 to t = {}", problem.duration),
                );
                continue;
            }
            let Some(term) = problem.terms.get_mut(points.term) else { continue };
            let between = table.times.iter().map(|t| points.at(*t));
            match &mut term.kind {
                TermKind::Tracking { reference, .. } => {
                    *reference = between.map(|(a, b, s)| blend(a, b, s)).collect();
                }
                TermKind::OrientationTracking { reference, .. } => {
                    *reference = between.map(|(a, b, s)| turn(a, b, s)).collect();
                }
                _ => {}
            }
        }
    }
}

impl Waypoints {
    /// The rows around a time, without their times, and how far it is between them.
    fn at(&self, t: f64) -> (&[f64], &[f64], f64) {
        let next = self.rows.partition_point(|row| row[0] <= t).clamp(1, self.rows.len() - 1);
        let (a, b) = (&self.rows[next - 1], &self.rows[next]);
        (&a[1..], &b[1..], ((t - a[0]) / (b[0] - a[0])).clamp(0.0, 1.0))
    }
}

fn blend(a: &[f64], b: &[f64], s: f64) -> Vec3 {
    Vec3(std::array::from_fn(|i| a[i] + s * (b[i] - a[i])))
}

/// Along the shortest arc.
fn turn(a: &[f64], b: &[f64], s: f64) -> Mat3 {
    let (a, b) = (Quat::from_slice(a).normalized(), Quat::from_slice(b).normalized());
    let arc = leastaction::lie::so3::log(a.conj() * b);
    (a * leastaction::lie::so3::exp(arc.scale(s))).to_matrix()
}
