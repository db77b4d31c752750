//! `gravcomp`: a force at the centre of mass of a body that carries a part of its weight.
//!
//! It is an input of its own whose law is the constant one, so that what it does is seen in the results: the force is the same
//! in all poses, acts in every engine, and its work is counted with that of the actuators.

use super::reader::Reader;
use crate::frames::dot;
use crate::mechanism::{Affine, BodyDescription, LawDescription, ModelDescription, PushDescription};

/// Adds the input and its forces, if any body asks for them.
pub(super) fn add(reader: &mut Reader) {
    let gravity = reader.settings.gravity;
    let carried: Vec<(usize, f64)> = std::mem::take(&mut reader.compensated)
        .into_iter()
        .filter(|(body, _)| reader.model.bodies[*body].mass > 0.0 && gravity != [0.0; 3])
        .collect();
    if carried.is_empty() {
        return;
    }
    let mut input = "gravcomp".to_owned();
    while reader.model.inputs.contains(&input) {
        input.push('_');
    }
    for (body, part) in carried {
        let body = &mut reader.model.bodies[body];
        let [x, y, z] = gravity.map(|g| -g * body.mass * part);
        let wrench = [0.0, 0.0, 0.0, x, y, z];
        body.pushes.push(PushDescription { input: input.clone(), wrench, point: body.com });
    }
    let law = LawDescription {
        gain: Affine::Constant(0.0),
        bias: Affine::Constant(1.0),
        ..LawDescription::new(input.clone())
    };
    reader.model.inputs.push(input);
    reader.model.laws.push(law);
}

/// The part of its weight that a push carries, if that is all it does: the way back.
pub(super) fn part_of(
    model: &ModelDescription,
    body: &BodyDescription,
    push: &PushDescription,
) -> Option<f64> {
    let law = model.laws.iter().find(|law| law.input == push.input)?;
    let constant = law.gain.coefficients() == [0.0; 3] && law.bias.coefficients() == [1.0, 0.0, 0.0];
    let [tx, ty, tz, x, y, z] = push.wrench;
    let weight = model.gravity.map(|g| g * body.mass);
    let part = -dot([x, y, z], weight) / dot(weight, weight);
    let along =
        weight.iter().zip([x, y, z]).all(|(w, f)| (f + part * w).abs() <= 1e-12 * f.abs().max(w.abs()));
    (constant && [tx, ty, tz] == [0.0; 3] && push.point == body.com && part.is_finite() && along)
        .then_some(part)
}
