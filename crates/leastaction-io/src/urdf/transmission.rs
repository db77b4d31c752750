//! `<transmission>`: an actuator on one joint becomes an input, with its reduction as gear.

use roxmltree::Node;

use super::element::tag;
use crate::findings::Findings;
use crate::mechanism::{ActuatorDescription, ModelDescription};

/// Adds an input for every transmission between one actuator and one joint; others are said to be left out.
pub(super) fn add_transmissions(
    root: Node<'_, '_>,
    model: &mut ModelDescription,
    findings: &mut Findings<'_>,
) {
    let named = |node: Node<'_, '_>, wanted: &str| -> Vec<String> {
        let children = node.children().filter(|child| child.is_element() && tag(*child) == wanted);
        children.map(|child| child.attribute("name").unwrap_or_default().to_owned()).collect()
    };
    for node in root.children().filter(|node| node.is_element() && tag(*node) == "transmission") {
        let (joints, actuators) = (named(node, "joint"), named(node, "actuator"));
        if joints.is_empty() {
            continue;
        }
        let ([joint], [actuator]) = (&joints[..], &actuators[..]) else {
            let message = "a transmission that is not between one joint and one actuator is left out";
            findings.warn_once(
                node.range().start,
                "`<transmission>`",
                message,
                "give joints motors with `--motors`",
            );
            continue;
        };
        let reduction =
            node.descendants().find(|child| child.is_element() && tag(*child) == "mechanicalReduction");
        let text = reduction.and_then(|child| child.text()).map_or("1", str::trim);
        let gear = text.parse::<f64>().ok().filter(|gear| gear.is_finite() && *gear != 0.0);
        let Some(gear) = gear else {
            let message = format!("the reduction of a transmission is `{text}`: it is left out");
            findings.warn_once(
                node.range().start,
                "`<transmission>`",
                &message,
                "write a number that is not zero",
            );
            continue;
        };
        let Some(target) = model.joints.iter_mut().find(|j| j.name == *joint && j.kind.nv() == 1) else {
            let message =
                format!("the transmission drives `{joint}`, which is no joint that moves: it is left out");
            findings.warn_once(node.range().start, "`<transmission>`", &message, "name a joint of the file");
            continue;
        };
        let mut input = if actuator.is_empty() { joint.clone() } else { actuator.clone() };
        while model.inputs.contains(&input) {
            input.push('_');
        }
        target.actuators.push(ActuatorDescription { input: input.clone(), coordinate: 0, gear });
        model.inputs.push(input);
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{UrdfOptions, read_urdf};

    #[test]
    fn a_transmission_is_an_input_with_its_reduction() {
        let text = r#"<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
            <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
            <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/></joint>
            <transmission name="t"><type>transmission_interface/SimpleTransmission</type><joint name="j"/>
            <actuator name="m"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
            <transmission name="u"><joint name="j"/><joint name="k"/><actuator name="n"/></transmission></robot>"#;
        let reading = read_urdf(text, Path::new("r.urdf"), &UrdfOptions::default());
        let said: Vec<&str> = reading.diagnostics.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(said, ["a transmission that is not between one joint and one actuator is left out"]);
        let model = reading.description.unwrap();
        assert_eq!(model.inputs, ["m"]);
        let joint = model.joints.iter().find(|j| j.name == "j").unwrap();
        assert_eq!((joint.actuators[0].input.as_str(), joint.actuators[0].gear), ("m", 50.0));
    }
}
