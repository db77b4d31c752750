//! Named states as keyframes.

use std::collections::BTreeMap;

use super::Writer;
use super::pieces;
use crate::mechanism::JointType;
use crate::xml_write::{Xml, numbers};

/// Writes the keyframe section; `order` is the order of the bodies in the file.
pub(super) fn write(writer: &Writer<'_>, order: &[usize], xml: &mut Xml) {
    if writer.model.states.is_empty() {
        return;
    }
    xml.open("keyframe", &[]);
    for (name, state) in &writer.model.states {
        let (mut qpos, mut qvel) = (Vec::new(), Vec::new());
        for i in order.iter().flat_map(|i| writer.links[*i].before.iter().copied().chain([*i])) {
            let joint = &writer.links[i].joint;
            let mut q = vec![0.0; joint.kind.nq()];
            if matches!(joint.kind, JointType::Spherical | JointType::Floating) {
                q[0] = 1.0;
            }
            let mut v = vec![0.0; joint.kind.nv()];
            if let Some(given) = state.q.get(&joint.name) {
                q.copy_from_slice(given.as_slice());
            }
            if let Some(given) = state.v.get(&joint.name) {
                v.copy_from_slice(given.as_slice());
            }
            let (p, s) = pieces::coordinates(joint, &writer.links[i].pieces, &q, &v);
            qpos.extend(p);
            qvel.extend(s);
        }
        let mut attributes = vec![("name", name.clone())];
        if state.t != 0.0 {
            attributes.push(("time", numbers(&[state.t])));
        }
        attributes.push(("qpos", numbers(&qpos)));
        if qvel.iter().any(|v| *v != 0.0) {
            attributes.push(("qvel", numbers(&qvel)));
        }
        // The first attribute of an actuator is its name.
        let names: Vec<&str> = writer.actuators.iter().map(|a| a[0].1.as_str()).collect();
        let of = |values: &BTreeMap<String, f64>, names: &[&str]| -> Vec<f64> {
            names.iter().map(|name| values.get(*name).copied().unwrap_or(0.0)).collect()
        };
        let activated = |name: &&&str| {
            writer.model.laws.iter().any(|law| law.input == **name && law.activation.is_some())
        };
        let with_state: Vec<&str> = names.iter().filter(activated).copied().collect();
        for (attribute, values) in [("ctrl", of(&state.inputs, &names)), ("act", of(&state.act, &with_state))]
        {
            if values.iter().any(|x| *x != 0.0) {
                attributes.push((attribute, numbers(&values)));
            }
        }
        xml.leaf("key", &attributes);
    }
    xml.close("keyframe");
}
