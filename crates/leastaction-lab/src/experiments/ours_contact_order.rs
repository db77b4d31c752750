//! Orders: sliding along a curve, impacts on a limit.

use leastaction::contact::{ContactSettings, Impacts, Sliding};
use leastaction::mechanism::Mechanism;

use super::contact_scenes::{block, pendulum, run as advance, simulator};
use super::measure::slope;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-contact-order",
    source: "ours",
    statement: "Sliding along a curve and located impacts are of second order; the implicit direction of friction and stepped impacts are of first.",
    parameters: "Maximal engine, steps 20, 10, 5, 2.5 ms against 0.3125 ms. Block of 0.4 x 0.3 x 0.2 m thrown across a slope of 0.5 rad, friction 0.3: it slides along a curve; \
                 0.4 s, direction of friction symmetric and implicit. Rod of 1 m that falls on a limit of its hinge, restitution 0.7, 0.8 s, impacts located and stepped.",
    run,
};

const FINE: f64 = 0.000_312_5;

/// Largest difference of positions at the end.
fn error(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()))
}

fn end(mechanism: &Mechanism, contact: ContactSettings, duration: f64, h: f64) -> Result<Vec<f64>, Failure> {
    let mut simulator = simulator(mechanism, contact)?;
    advance(&mut simulator, h, (duration / h).round() as usize)?;
    Ok(simulator.state().q.clone())
}

fn run(_context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let sliding = |sliding| ContactSettings { sliding: Some(sliding), ..ContactSettings::default() };
    let impacts = |impacts| ContactSettings { impacts: Some(impacts), ..ContactSettings::default() };
    let slide = block(0.5, 0.3, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0])?;
    let rod = pendulum(0.2, 0.7, 1.2)?;
    let cases = [
        ("slide, symmetric", &slide, sliding(Sliding::Symmetric), 0.4, (1.8, 2.2)),
        ("slide, implicit", &slide, sliding(Sliding::Implicit), 0.4, (0.8, 1.2)),
        ("limit, located", &rod, impacts(Impacts::Located), 0.8, (1.8, 2.2)),
        ("limit, stepped", &rod, impacts(Impacts::Stepped), 0.8, (0.5, 1.5)),
    ];
    let mut table = Table::new("Errors", ["scene", "20 ms", "10 ms", "5 ms", "2.5 ms", "slope"]);
    let mut figure =
        Figure::new("Errors at the end", ("step / s", Scale::Log), ("error / m, rad", Scale::Log));
    for (name, mechanism, contact, duration, (low, high)) in cases {
        // The reference takes the better setting: it is the same motion.
        let best =
            if name.starts_with("slide") { sliding(Sliding::Symmetric) } else { impacts(Impacts::Located) };
        let exact = end(mechanism, best, duration, FINE)?;
        let mut points = Vec::new();
        let mut row = vec![name.into()];
        for h in [0.02, 0.01, 0.005, 0.0025] {
            let e = error(&end(mechanism, contact, duration, h)?, &exact);
            row.push(e.into());
            points.push((h, e));
        }
        let found = slope(&points);
        row.push(found.into());
        table.row(row);
        figure.curve(name, points);
        out.checks.push(Check::within(
            format!("{name}: slope"),
            "chapter 9.4 of the theory notes",
            found,
            (low, high),
        ));
    }
    out.tables.push(table);
    out.figures.push(figure);
    Ok(out)
}
