//! Impacts: heights of a bouncing ball, energy, a rocking block.

use leastaction::contact::{ContactSettings, Impacts};
use leastaction::dynamics::Dynamics;
use leastaction::mechanism::{State, SurfaceShape};

use super::check::short;
use super::contact_scenes::{GRAVITY, Stage, about_y, ball, run as advance, simulator};
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-contact-impact",
    source: "ours; Newton's restitution in closed form, Housner 1963 for the rocking block",
    statement: "Located impacts are where they are, at every step; an elastic ball keeps its energy; a rocking block keeps what Housner says.",
    parameters: "Maximal engine. Ball of 0.1 m dropped from 0.5 m, restitution 0.8, 1.2 s, steps 20, 10, 5 ms, impacts located and stepped; restitution 1, \
                 1 s. Block of 0.2 x 0.3 x 0.8 m, tilted by 0.15 rad on its edge, friction 2: energy before and after its first impact, steps 10, 5, 2.5 ms.",
    run,
};

fn settings(impacts: Impacts) -> ContactSettings {
    ContactSettings { impacts: Some(impacts), ..ContactSettings::default() }
}

/// Height above the ground of a ball that bounces with restitution `e`, dropped from `drop`.
fn exact_height(drop: f64, e: f64, t: f64) -> f64 {
    let fall = (2.0 * drop / GRAVITY).sqrt();
    if t < fall {
        return drop - 0.5 * GRAVITY * t * t;
    }
    let (mut left, mut speed) = (t - fall, e * GRAVITY * fall);
    while left > 2.0 * speed / GRAVITY {
        left -= 2.0 * speed / GRAVITY;
        speed *= e;
    }
    speed * left - 0.5 * GRAVITY * left * left
}

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut table =
        Table::new("Bouncing ball: error of the height at 1.2 s", ["impacts", "step / s", "error / m"]);
    let mut figure =
        Figure::new("Error of the height at 1.2 s", ("step / s", Scale::Log), ("error / m", Scale::Log));
    let exact = exact_height(0.4, 0.8, 1.2);
    for (name, impacts) in [("located", Impacts::Located), ("stepped", Impacts::Stepped)] {
        let mut points = Vec::new();
        for steps in [60, 120, 240] {
            let h = 1.2 / f64::from(steps);
            let mechanism = ball(0.0, 0.3, 0.8, [0.0, 0.0, 0.5], [0.0; 6])?;
            let mut simulator = simulator(&mechanism, settings(impacts))?;
            advance(&mut simulator, h, steps as usize)?;
            let error = (simulator.state().q[6] - 0.1 - exact).abs();
            table.row([name.into(), h.into(), error.into()]);
            points.push((h, error.max(1e-16)));
            if impacts == Impacts::Located {
                out.checks.push(Check::at_most(
                    format!("error of the height, located, step {} s", short(h)),
                    "parabolas are exact",
                    error,
                    1e-10,
                ));
            }
        }
        figure.curve(name, points);
    }
    out.tables.push(table);
    out.figures.push(figure);

    let mechanism = ball(0.0, 0.0, 1.0, [0.0, 0.0, 0.5], [0.0; 6])?;
    let mut elastic = simulator(&mechanism, settings(Impacts::Located))?;
    let mut dynamics = Dynamics::new(&mechanism);
    let mut energy = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v).total();
    let before = energy(elastic.state());
    advance(&mut elastic, 0.01, 100)?;
    let lost = (energy(elastic.state()) - before).abs();
    out.number("energy of an elastic ball after 1 s, J off", serde_json::json!(lost));
    out.checks.push(Check::at_most(
        "energy of an elastic ball after 1 s, J off of 4.9",
        "restitution 1",
        lost,
        1e-9,
    ));

    // On its edge, falling flat: the centre of mass is at (b, c) from it, r² = b² + c²; 1 - 3 b²/(2 r²) of the speed is kept.
    let (b, c, tilt) = (0.1, 0.4, 0.15f64);
    let r2 = b * b + c * c;
    let kept = 1.0 - 1.5 * b * b / r2;
    let mut rocking =
        Table::new("Rocking block: energy kept at the first impact", ["step / s", "kept", "exact"]);
    for h in context.pick(vec![0.01, 0.005, 0.0025], vec![0.005, 0.0025]) {
        let mut stage = Stage::new("rocking block", 0.0);
        // Turned about the edge at the origin.
        let (s, k) = tilt.sin_cos();
        let centre = [-b * k + c * s, 0.0, b * s + c * k];
        let shape = SurfaceShape::Box { size: [2.0 * b, 0.3, 2.0 * c] };
        stage.free("block", 24.0, shape, (2.0, 0.0), (about_y(tilt), centre), [0.0; 6]);
        let mechanism = stage.build()?;
        let mut simulator = simulator(&mechanism, settings(Impacts::Located))?;
        let mut dynamics = Dynamics::new(&mechanism);
        let mut energy = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v).total();
        // Kinetic energy where it falls flat: what is above the weight at rest, the same at all nodes before and at all after.
        let flat = 24.0 * GRAVITY * c;
        let before = energy(simulator.state()) - flat;
        let mut ratio = f64::NAN;
        for _ in 0..(2.0 / h) as usize {
            advance(&mut simulator, h, 1)?;
            let now = energy(simulator.state()) - flat;
            if now < 0.97 * before {
                ratio = now / before;
                break;
            }
        }
        rocking.row([h.into(), ratio.into(), (kept * kept).into()]);
        out.checks.push(Check::within(
            format!("energy kept by a rocking block, step {} s, of the exact share", short(h)),
            "Housner",
            ratio / (kept * kept),
            (0.995, 1.005),
        ));
    }
    out.tables.push(rocking);
    Ok(out)
}
