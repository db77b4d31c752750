//! What a cost on jerk or torque rate changes.

use super::check::short;
use super::reach::{arm7, peak, reach, rms};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-jerk-cost",
    source: "ours",
    statement: "A small cost on jerk or torque rate removes most of the jerk and of the torque rate of a reach, for a few per \
                cent of torque.",
    parameters: "The reach of ishigaki-9 (Panda arm, 2 s, every joint from 1.57 to -1.57 rad) with torque and acceleration costs \
                 (weights 1 and 0.1), then with jerk (1e-3) or torque rate (1e-3) added.",
    run,
};

fn run(_: &Context) -> Result<Outcome, Failure> {
    let arm = arm7()?;
    let base = [("torque", 1.0), ("joint_acceleration", 0.1)];
    let with = |extra: (&'static str, f64)| [base[0], base[1], extra];
    let (jerk, rate) = (with(("joint_jerk", 1e-3)), with(("torque_rate", 1e-3)));
    let plain = reach(&arm, &base, None)?;
    let cases = [
        ("torque and acceleration", plain),
        ("with jerk", reach(&arm, &jerk, None)?),
        ("with torque rate", reach(&arm, &rate, None)?),
    ];
    let mut out = Outcome::default();
    let mut table = Table::new(
        "What the costs change",
        [
            "costs",
            "rms torque / N m",
            "rms torque rate / N m/s",
            "rms jerk / rad/s³",
            "peak jerk / rad/s³",
            "iterations",
        ],
    );
    let mut figure =
        Figure::new("Torque of joint 2", ("t / s", Scale::Linear), ("torque / N m", Scale::Linear)).smooth();
    let mut values = Vec::new();
    for (name, case) in &cases {
        let row = [rms(&case.torques), rms(&case.torque_rates()), rms(&case.jerks), peak(&case.jerks)];
        table.row([
            (*name).into(),
            row[0].into(),
            row[1].into(),
            row[2].into(),
            row[3].into(),
            case.solution.iterations.into(),
        ]);
        figure.curve(*name, case.times.iter().zip(&case.torques).map(|(t, tau)| (*t, tau[1])));
        out.checks.push(Check::at_least(format!("{name}: solved"), "ours", case.solved(), 1.0));
        values.push(row);
    }
    let origin = "ours: that is what the term is for";
    out.checks.push(Check::at_most(
        "rms jerk with a jerk cost over without",
        origin,
        values[1][2] / values[0][2],
        0.9,
    ));
    out.checks.push(Check::at_most(
        "rms torque rate with a torque-rate cost over without",
        origin,
        values[2][1] / values[0][1],
        0.9,
    ));
    out.checks.push(Check::at_most(
        "rms torque with a jerk cost over without",
        "ours: the price",
        values[1][0] / values[0][0],
        1.2,
    ));
    out.headline(
        "Rms jerk of a seven-joint reach with a small jerk cost",
        format!("{} of that without", short(values[1][2] / values[0][2])),
        format!("{} times the torque", short(values[1][0] / values[0][0])),
    );
    out.number(
        "ratios",
        serde_json::json!({"jerk": values[1][2] / values[0][2], "torque": values[1][0] / values[0][0]}),
    );
    out.number("values", serde_json::json!(values));
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
