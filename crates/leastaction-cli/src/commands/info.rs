//! `info`: what a model is made of.

use leastaction::dynamics::mobility;
use leastaction::mechanism::{JointRole, JointType, Mechanism};
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::Field;
use leastaction_study::settings::{Group, Settings};
use leastaction_study::{model, start};
use serde_json::{Value, json};

use super::check::{gap_line, gaps};
use crate::printer::Printer;
use crate::verb::{Given, MODEL, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "info",
    about: "Show what a model is made of: tree, degrees of freedom, loops, masses, inputs, limits, states",
    more: "",
    fields: &[MODEL, Field::switch("all", "Draw all joints, however many")],
    groups: &[Group::Read, Group::Start, Group::From],
    verbs: &[],
    run,
};

/// Joints drawn unless all are asked for.
const DRAWN: usize = 100;
/// Velocities up to which the rank of loops is computed, in a second.
const COUNTED: usize = 600;

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let settings = given.settings();
    let (model, mechanism) = model::load(given.model(), &settings.reading())?;
    printer.warnings(given.model(), &model.reading.diagnostics);
    let loops = gaps(&mechanism, &settings)?;
    if printer.is_json() {
        let mut value = object(&model, &mechanism, &loops);
        value["freedom"] = json!(freedom(&mechanism, &settings)?);
        printer.object(&value);
        return Ok(DONE);
    }
    let m = &mechanism;
    printer.line(m.name());
    printer.line(format!("  bodies       {}, {} kg", m.nb(), short(m.mass())));
    let moving = m.tree_joints().filter(|id| m.joint(*id).kind != JointType::Fixed).count();
    printer.line(format!("  tree joints  {}, of which {moving} move", m.nb()));
    let free = freedom(m, &settings)?;
    let in_all = free.map_or_else(|| "not computed for so many".to_owned(), |n| n.to_string());
    printer.line(format!("  freedom      {in_all}; {} velocities, {} positions in the tree", m.nv(), m.nq()));
    if !loops.is_empty() {
        printer.line(format!("  loops        {}, {} constraint rows", loops.len(), loop_rows(m)));
    }
    let g = m.gravity();
    printer.line(format!("  gravity      {} {} {} m/s²", short(g[0]), short(g[1]), short(g[2])));
    if m.nu() > 0 {
        printer.line(format!("  inputs       {}", m.inputs().join(", ")));
    }
    if !m.states().is_empty() {
        let names: Vec<&str> = m.states().keys().map(String::as_str).collect();
        printer.line(format!("  states       {}", names.join(", ")));
    }
    printer.line(format!("  hash         {}", model::hash(&model.description)));
    printer.line("");
    for line in draw(m, if given.switch("all") { usize::MAX } else { DRAWN }) {
        printer.line(line);
    }
    for gap in &loops {
        printer.line(gap_line(gap));
    }
    for c in m.constraints() {
        printer.line(format!("constraint `{}` on body `{}`", c.name, m.body(c.body).name));
    }
    Ok(DONE)
}

/// Degrees of freedom at the start state; `None` where loops are too many to count them.
fn freedom(mechanism: &Mechanism, settings: &Settings) -> Result<Option<usize>, Failure> {
    if loop_rows(mechanism) == 0 {
        return Ok(Some(mechanism.nv()));
    }
    let state = start::resolve(mechanism, settings, 1.0, None)?.state;
    Ok((mechanism.nv() <= COUNTED).then(|| mobility(mechanism, &state)))
}

/// Rows of all loop constraints.
fn loop_rows(mechanism: &Mechanism) -> usize {
    mechanism.loop_joints().map(|id| 6 - mechanism.joint(id).kind.nv()).sum()
}

/// A number in at most six digits.
fn short(x: f64) -> String {
    let text = format!("{x:.6}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The tree as text, at most `limit` joints.
fn draw(mechanism: &Mechanism, limit: usize) -> Vec<String> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); mechanism.nb() + 1];
    for (i, joint) in mechanism.joints()[..mechanism.nb()].iter().enumerate() {
        children[joint.parent.map_or(mechanism.nb(), |body| body.index())].push(i);
    }
    let mut lines = vec!["world".to_owned()];
    // What is still to be drawn, the next one last: joint, indentation, whether siblings follow.
    let mut stack: Vec<(usize, String, bool)> = Vec::new();
    let push = |stack: &mut Vec<(usize, String, bool)>, of: usize, indent: &str| {
        for (n, child) in children[of].iter().enumerate().rev() {
            stack.push((*child, indent.to_owned(), n + 1 < children[of].len()));
        }
    };
    push(&mut stack, mechanism.nb(), "");
    while let Some((i, indent, more)) = stack.pop() {
        if lines.len() > limit {
            lines.push(format!("… and {} more joints; `--all` shows them", mechanism.nb() - limit));
            break;
        }
        let (branch, below) = if more { ("├─", "│  ") } else { ("└─", "   ") };
        lines.push(format!("{indent}{branch} {}", joint_text(mechanism, i)));
        push(&mut stack, i, &format!("{indent}{below}"));
    }
    lines
}

fn joint_text(mechanism: &Mechanism, i: usize) -> String {
    let (joint, body) = (&mechanism.joints()[i], &mechanism.bodies()[i]);
    let mut text = format!("{} ({}) → {}, {} kg", joint.name, joint.kind.name(), body.name, short(body.mass));
    if let Some(limits) = &joint.limits
        && joint.kind.nv() == 1
        && (limits.lower[0].is_finite() || limits.upper[0].is_finite())
    {
        text.push_str(&format!(", limits {} … {}", short(limits.lower[0]), short(limits.upper[0])));
    }
    for (name, values) in [
        ("spring", &joint.stiffness),
        ("damping", &joint.damping),
        ("friction", &joint.friction),
        ("armature", &joint.armature),
    ] {
        if values.iter().any(|x| *x != 0.0) {
            text.push_str(&format!(", {name} {}", short(values[0])));
        }
    }
    if let Some(mimic) = &joint.mimic {
        text.push_str(&format!(", mimics {}", mimic.joint));
    }
    text
}

fn object(model: &model::Model, m: &Mechanism, loops: &[Value]) -> Value {
    let finite = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let joints = m.joints().iter().map(|joint| {
        let limits = joint.limits.as_ref().map(|limits| {
            let n = joint.kind.nv();
            json!({
                "lower": limits.lower[..n].iter().map(|x| finite(*x)).collect::<Vec<_>>(),
                "upper": limits.upper[..n].iter().map(|x| finite(*x)).collect::<Vec<_>>(),
                "velocity": finite(limits.velocity),
                "effort": finite(limits.effort),
            })
        });
        json!({
            "name": joint.name,
            "type": joint.kind.name(),
            "role": if joint.role == JointRole::Tree { "tree" } else { "loop" },
            "parent": joint.parent.map_or("world", |body| m.body(body).name.as_str()),
            "child": m.body(joint.child).name,
            "limits": limits,
        })
    });
    json!({
        "name": m.name(),
        "hash": model::hash(&model.description),
        "bodies": m.bodies().iter().map(|b| json!({"name": b.name, "mass": b.mass})).collect::<Vec<_>>(),
        "joints": joints.collect::<Vec<_>>(),
        "mass": m.mass(),
        "gravity": m.gravity().0,
        "nq": m.nq(),
        "nv": m.nv(),
        "inputs": m.inputs(),
        "states": m.states().keys().collect::<Vec<_>>(),
        "loops": loops,
        "loop_rows": loop_rows(m),
        "constraints": m.constraints().iter().map(|c| c.name.clone()).collect::<Vec<_>>(),
    })
}
