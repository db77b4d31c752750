//! Goals and constraints on frames in a problem file.

use std::ops::Range;

use leastaction::mechanism::Mechanism;
use leastaction::optimize::{MotionProblem, Target, TaskConstraint, TaskKind, When};
use leastaction::spatial::{Quat, Vec3};
use toml::de::DeTable;

use super::reader::Reader;
use crate::failure::suggestion;
use crate::values::Entry;

const TASK: [&str; 13] = [
    "kind", "name", "frame", "point", "target", "at", "centre", "radius", "normal", "offset", "apex", "axis",
    "angle",
];
const KINDS: [&str; 6] = ["position", "orientation", "pose", "keep_out", "half_space", "in_view"];

impl Reader {
    /// One entry of `[[constraints]]`; a pose becomes two.
    pub(super) fn task(
        &mut self,
        table: &DeTable<'_>,
        span: Range<usize>,
        mechanism: &Mechanism,
        problem: &mut MotionProblem,
    ) -> Option<()> {
        let find = |key: &str| table.iter().find(|(k, _)| k.get_ref() == key);
        for entry in table {
            if !TASK.contains(&entry.0.get_ref().as_ref()) {
                self.values.unknown(entry.0, &TASK);
            }
        }
        let Some(kind_entry) = find("kind") else {
            let remedy = format!("one of {}", KINDS.join(", "));
            self.values.problem(span, "constraint", "it has no `kind`", remedy);
            return None;
        };
        let kind = self.values.text(kind_entry)?;
        self.places.insert("constraints".into(), kind_entry.1.span());
        let Some(frame) = find("frame") else {
            let message = "it has no `frame`";
            self.values.problem(
                span,
                format!("constraint `{kind}`"),
                message,
                "name a body or a frame of the model",
            );
            return None;
        };
        let mut target = self.frame(frame, mechanism)?;
        if let Some(entry) = find("point") {
            target = target.at_point(Vec3(self.values.fixed(entry)?));
        }
        let when = match find("at") {
            Some(entry) => self.when(entry, problem.duration)?,
            None if matches!(kind.as_str(), "position" | "orientation" | "pose") => {
                When::At(problem.duration)
            }
            None => When::During(0.0, problem.duration),
        };
        let mut needs = |key: &str, remedy: &str| {
            let found = find(key);
            if found.is_none() {
                let element = format!("constraint `{kind}`");
                self.values.problem(kind_entry.1.span(), element, format!("it has no `{key}`"), remedy);
            }
            found
        };
        let kinds = match kind.as_str() {
            "position" => {
                let target = needs("target", "give `target = [x, y, z]`")?;
                vec![TaskKind::Position { at: Vec3(self.values.fixed(target)?) }]
            }
            "orientation" => {
                let target = needs("target", "give `target = [w, x, y, z]`")?;
                let q = self.values.fixed::<4>(target)?;
                vec![TaskKind::Orientation { at: self.rotation(target, q)? }]
            }
            "pose" => {
                let target = needs("target", "give `target = [x, y, z, w, x, y, z]`")?;
                let x = self.values.fixed::<7>(target)?;
                let at = self.rotation(target, [x[3], x[4], x[5], x[6]])?;
                vec![TaskKind::Position { at: Vec3([x[0], x[1], x[2]]) }, TaskKind::Orientation { at }]
            }
            "keep_out" => {
                let (centre, radius) =
                    (needs("centre", "give `centre = [x, y, z]`"), needs("radius", "give `radius = METRES`"));
                let centre = Vec3(self.values.fixed(centre?)?);
                vec![TaskKind::KeepOut { centre, radius: self.values.positive(radius?)? }]
            }
            "half_space" => {
                let normal = needs("normal", "give `normal = [x, y, z]`, which points to the allowed side")?;
                let n = self.direction(normal)?;
                let offset = match find("offset") {
                    Some(entry) => self.values.number(entry)?,
                    None => 0.0,
                };
                vec![TaskKind::HalfSpace { normal: n, offset }]
            }
            "in_view" => {
                let (apex, axis, angle) = (
                    needs("apex", "give `apex = [x, y, z]`, where it is seen from"),
                    needs("axis", "give `axis = [x, y, z]`, where the view goes"),
                    needs("angle", "give `angle = RADIANS`, half the opening of the view"),
                );
                let (apex, axis) = (Vec3(self.values.fixed(apex?)?), self.direction(axis?)?);
                let angle_entry = angle?;
                let angle = self.values.positive(angle_entry)?;
                if angle >= 1.5 {
                    let message = format!("{angle} rad is no view");
                    self.values.problem(
                        angle_entry.1.span(),
                        "key `angle`",
                        message,
                        "give less than 1.5 rad",
                    );
                    return None;
                }
                vec![TaskKind::InView { apex, axis, slope: angle.tan() }]
            }
            _ => {
                let remedy = suggestion(&kind, &KINDS).unwrap_or_default();
                let message = format!("`{kind}` is not a constraint");
                self.values.problem(kind_entry.1.span(), "key `kind`", message, remedy);
                return None;
            }
        };
        let name = match find("name") {
            Some(entry) => self.values.text(entry)?,
            None => format!("{kind} {}", problem.tasks.len() + 1),
        };
        for kind in kinds {
            problem.tasks.push(TaskConstraint { name: name.clone(), target, kind, when });
        }
        Some(())
    }

    /// A body or frame by its name.
    pub(super) fn frame(&mut self, entry: Entry<'_, '_>, mechanism: &Mechanism) -> Option<Target> {
        let name = self.values.text(entry)?;
        let body = mechanism.body_by_name(&name).map(Target::body);
        let found = body.or_else(|| mechanism.frame_by_name(&name).map(|id| Target::frame(mechanism, id)));
        if found.is_none() {
            let known: Vec<&str> = mechanism
                .bodies()
                .iter()
                .map(|b| b.name.as_str())
                .chain(mechanism.frames().iter().map(|f| f.name.as_str()))
                .collect();
            let message = format!("there is no body or frame `{name}` in `{}`", mechanism.name());
            let remedy = suggestion(&name, &known).unwrap_or_default();
            self.values.problem(entry.1.span(), format!("key `{}`", entry.0.get_ref()), message, remedy);
        }
        found
    }

    fn rotation(&mut self, entry: Entry<'_, '_>, q: [f64; 4]) -> Option<leastaction::spatial::Mat3> {
        let quat = Quat::from_slice(&q);
        if quat.norm() < 1e-6 {
            let message = "the quaternion has no direction";
            self.values.problem(entry.1.span(), "key `target`", message, "give a unit quaternion w, x, y, z");
            return None;
        }
        Some(quat.normalized().to_matrix())
    }

    fn direction(&mut self, entry: Entry<'_, '_>) -> Option<Vec3> {
        let v = Vec3(self.values.fixed(entry)?);
        if v.norm() < 1e-9 {
            let element = format!("key `{}`", entry.0.get_ref());
            self.values.problem(
                entry.1.span(),
                element,
                "it has no direction",
                "give a vector that is not zero",
            );
            return None;
        }
        Some(v.scale(1.0 / v.norm()))
    }
}
