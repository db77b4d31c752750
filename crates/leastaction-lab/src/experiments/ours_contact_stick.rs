//! Friction that sticks: no creep, an exact threshold, slides that end where they must.

use leastaction::contact::ContactSettings;
use leastaction::mechanism::SurfaceShape;

use super::check::short;
use super::contact_scenes::{GRAVITY, Stage, UPRIGHT, ball, block, run as advance, simulator};
use super::{Check, Context, Experiment, Outcome, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ours-contact-stick",
    source: "ours; Coulomb's law in closed form",
    statement: "A block on a slope does not creep, slides only where it must, stops where Coulomb says, a boule rolls at 5/7 of its speed, \
                and a stack with a heavy top stands.",
    parameters: "Maximal engine, step 10 ms. Block of 0.4 x 0.3 x 0.2 m: 10 degrees, friction 0.5, 60 s (quick: 10 s); 23 degrees, friction tan(23°)(1 ± 1e-9), \
                 1 s; thrown at 1 m/s, friction 0.3. Ball of 0.1 m at 2 m/s, friction 0.2. Ten boxes of 0.2 x 0.2 x 0.1 m, the top one 100 times heavier, \
                 1 s.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    let mut out = Outcome::default();
    let mut table = Table::new("Stick and slide", ["scene", "measured", "exact"]);
    let (h, still) = (0.01, ContactSettings::default());

    let mechanism = block(10f64.to_radians(), 0.5, [0.0; 6])?;
    let mut slope = simulator(&mechanism, still)?;
    let before = slope.state().q.clone();
    advance(&mut slope, h, context.pick(6000, 1000))?;
    let drift = moved(&before[4..7], &slope.state().q[4..7]);
    table.row(["drift on a slope of 10°, m".into(), drift.into(), 0.0.into()]);
    out.headline(
        "Creep of a block on a slope",
        format!("{} m", short(drift)),
        "in a minute, without a spring, an anchor or a pass against slip",
    );
    out.checks.push(Check::at_most(
        "drift of a block on a slope of 10°, m",
        "stick is an equation",
        drift,
        1e-12,
    ));

    let angle = 23f64.to_radians();
    for (sign, exact) in [(1.0, 0.0), (-1.0, GRAVITY * angle.sin() * 1e-9)] {
        let mechanism = block(angle, angle.tan() * (1.0 + sign * 1e-9), [0.0; 6])?;
        let mut slope = simulator(&mechanism, still)?;
        advance(&mut slope, h, 100)?;
        let v = &slope.state().v[3..6];
        let speed = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        table.row([
            format!("speed after 1 s, friction tan(23°)(1 {sign:+}e-9), m/s").into(),
            speed.into(),
            exact.into(),
        ]);
        let what = if sign > 0.0 {
            "stands at the threshold, m/s"
        } else {
            "slides below the threshold, m/s from the exact speed"
        };
        out.checks.push(Check::at_most(
            what,
            "Coulomb",
            (speed - exact).abs(),
            if sign > 0.0 { 1e-12 } else { 1e-10 },
        ));
    }

    let (mu, v0) = (0.3, 1.0);
    let mechanism = block(0.0, mu, [0.0, 0.0, 0.0, v0, 0.0, 0.0])?;
    let mut thrown = simulator(&mechanism, still)?;
    advance(&mut thrown, h, 60)?;
    let (way, exact) = (thrown.state().q[4], 0.5 * v0 * v0 / (mu * GRAVITY));
    table.row(["way of a thrown block, m".into(), way.into(), exact.into()]);
    // A stop within a step is off by at most mu g h²/8.
    out.checks.push(Check::at_most(
        "way of a thrown block, m from the exact one",
        "v²/(2 mu g)",
        (way - exact).abs(),
        mu * GRAVITY * h * h / 8.0,
    ));
    let rest = thrown.state().v.iter().fold(0.0f64, |m, x| m.max(x.abs()));
    out.checks.push(Check::at_most("speed after the stop, m/s", "stick is an equation", rest, 1e-12));

    let mechanism = ball(0.0, 0.2, 0.0, [0.0, 0.0, 0.1], [0.0, 0.0, 0.0, 2.0, 0.0, 0.0])?;
    let mut boule = simulator(&mechanism, still)?;
    advance(&mut boule, h, 60)?;
    let state = boule.state();
    // Velocities stand in the ball's own axes: their size is the speed.
    let speed = state.v[3..6].iter().map(|x| x * x).sum::<f64>().sqrt();
    table.row(["speed of a boule that rolls, of the first".into(), (speed / 2.0).into(), (5.0 / 7.0).into()]);
    out.checks.push(Check::at_most(
        "speed of a boule that rolls, m/s from 5/7",
        "Coulomb",
        (speed - 10.0 / 7.0).abs(),
        1e-10,
    ));

    let mut stage = Stage::new("stack", 0.0);
    for k in 0..10 {
        let mass = if k == 9 { 100.0 } else { 1.0 };
        let pose = (UPRIGHT, [0.0, 0.0, 0.05 + 0.1 * f64::from(k)]);
        let shape = SurfaceShape::Box { size: [0.2, 0.2, 0.1] };
        stage.free(&format!("box{k}"), mass, shape, (0.6, 0.0), pose, [0.0; 6]);
    }
    let mechanism = stage.build()?;
    let mut stack = simulator(&mechanism, still)?;
    let before = stack.state().q.clone();
    advance(&mut stack, h, context.pick(100, 20))?;
    let drift = moved(&before, &stack.state().q);
    table.row(["drift of a stack of ten, mass ratio 100, m".into(), drift.into(), 0.0.into()]);
    out.checks.push(Check::at_most(
        "drift of a stack of ten with a heavy top, m",
        "stick is an equation",
        drift,
        1e-10,
    ));
    out.tables.push(table);
    Ok(out)
}

fn moved(a: &[f64], b: &[f64]) -> f64 {
    a.iter()
        .zip(b)
        .fold(0.0, |m: f64, (a, b)| if (a - b).abs() > m || (a - b).is_nan() { (a - b).abs() } else { m })
}
