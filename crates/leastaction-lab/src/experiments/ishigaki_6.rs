//! Table 6: Jacobians of every quantity to the fourth derivative on a seven-joint arm.

use std::path::Path;

use leastaction::io::{LoadOptions, read_model};
use leastaction::jet::{Quantity, QuantityKind, Target};
use leastaction::mechanism::ModelDescription;

use super::jacobians::Study;
use super::measure::{build, largest};
use super::table::Cell;
use super::{Check, Context, Experiment, Outcome, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ishigaki-table6",
    source: "Ishigaki, Ayusawa and Yoshida (2026), table 6",
    statement: "Jacobians of momenta, forces and torques agree with exact derivatives to the fourth time derivative on a \
                seven-joint arm.",
    parameters: "The Panda arm (the paper: a Franka FR3), random state of size one (seed 3), largest absolute difference over \
                 all links of the Jacobian at Taylor order k = 0 to 4, the coefficients that the paper's matrices hold; plain \
                 derivatives are k! times as large, and so are their errors. Reference by dual numbers (the paper: numerical \
                 differentiation; its column k = 2 is missing). World frame for h and f of links, local frame for the rows \
                 marked local.",
    run,
};

/// Seven revolute joints with the masses and placements of the reference data.
const PANDA: &str = include_str!("../../data/arm7.json");

pub(super) fn panda() -> Result<ModelDescription, Failure> {
    read_model(PANDA, Path::new("arm7.json"), &LoadOptions::default())
        .ok()
        .and_then(|reading| reading.description)
        .ok_or_else(|| Failure::new("the built-in arm can't be read"))
}

/// The highest derivative of the paper's table.
const HIGHEST: usize = 4;

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mechanism = build(panda()?)?;
    let mut study = Study::new(&mechanism, HIGHEST as i32, 3)?;
    let mut out = Outcome::default();
    let heads = (0..=HIGHEST).map(|k| format!("k = {k}"));
    let mut table = Table::new(
        "Largest absolute difference to exact derivatives",
        std::iter::once("Jacobian of".to_owned()).chain(heads),
    );
    let rows = [
        ("velocity of a link", QuantityKind::Velocity, false, 1.48e-8),
        ("momentum of a link, local", QuantityKind::Momentum, false, 1.74e-7),
        ("momentum of a link, world", QuantityKind::Momentum, true, 3.67e-7),
        ("momentum behind a joint, world", QuantityKind::JointMomentum, true, 1.49e-7),
        ("momentum behind a joint, local", QuantityKind::JointMomentum, false, 2.11e-7),
        ("force of a link, local", QuantityKind::LinkForce, false, 2.75e-7),
        ("force of a joint, local", QuantityKind::JointForce, false, 2.75e-7),
    ];
    let bodies: Vec<_> = mechanism.body_ids().filter(|id| study.jets.moves(&Target::body(*id))).collect();
    // One link stands for all in a quick run: the last carries every joint.
    let bodies = if context.quick { bodies[bodies.len().saturating_sub(1)..].to_vec() } else { bodies };
    let mut worst_of_all = 0.0_f64;
    let torque = ("joint torques", None, 4.77e-7);
    let all = rows
        .iter()
        .map(|&(name, quantity, world, paper)| (name, Some((quantity, world)), paper))
        .chain([torque]);
    for (name, quantity, paper) in all {
        let requests: Vec<Quantity> = match quantity {
            None => vec![Quantity::whole(QuantityKind::Torque)],
            Some((quantity, world)) => bodies
                .iter()
                .map(|id| {
                    let target = Target::body(*id);
                    if world { Quantity::world(quantity, target) } else { Quantity::local(quantity, target) }
                })
                .collect(),
        };
        let mut errors = [0.0_f64; HIGHEST + 1];
        for request in &requests {
            let (mut ours, mut exact) = (study.room(request), study.room(request));
            study.analytic(request, &mut ours)?;
            study.automatic(request, &mut exact)?;
            for (k, worst) in errors.iter_mut().enumerate() {
                let (gap, _) = study.difference(request, k, &ours, &exact);
                *worst = largest([*worst, gap]);
            }
        }
        table.row(std::iter::once(Cell::from(name)).chain(errors.map(Cell::from)));
        out.number(name, serde_json::json!(errors));
        let plain: Vec<f64> =
            errors.iter().enumerate().map(|(k, x)| x * leastaction::jet::factorial(k)).collect();
        out.number(format!("{name}, plain derivatives"), serde_json::json!(plain));
        let worst = largest(errors);
        worst_of_all = largest([worst_of_all, worst]);
        out.checks.push(Check::at_most(
            format!("{name}: largest difference, k = 0 to {HIGHEST}"),
            format!(
                "the paper's largest is {paper:e}, against numerical differentiation; exact ones allow 1e-12"
            ),
            worst,
            1e-12,
        ));
    }
    out.number("worst", worst_of_all);
    out.headline(
        "Jacobians of forces and torques to the fourth derivative, largest error on a seven-joint arm",
        super::check::short(worst_of_all),
        "4.77e-7 in the paper, which is the error of the numerical differences it compares with",
    );
    out.tables.push(table);
    Ok(out)
}
