//! Figure 4: discrepancy of analytic Jacobians to automatic and numerical differentiation.

use leastaction::jet::{Quantity, QuantityKind, Target};

use super::check::short;
use super::jacobians::{Study, serial_arm};
use super::measure::build;
use super::table::Cell;
use super::{Check, Context, Experiment, Figure, Outcome, Scale, Table};
use leastaction_study::failure::Failure;

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "ishigaki-4",
    source: "Ishigaki, Ayusawa and Yoshida (2026), figure 4",
    statement: "Analytic velocity and acceleration Jacobians agree with automatic differentiation to rounding up to 128 \
                degrees of freedom; numerical differentiation is six digits worse.",
    parameters: "Serial arms of 2 to 128 links (1 m, 5 kg, centre of mass in the middle, 0.1 kg m² about every axis), hinges \
                 about y and z in turn (the paper does not give the axes), random state of size one (seed 1). Jacobian of \
                 the last link's velocity and acceleration with respect to positions, velocities and accelerations; \
                 discrepancy: largest difference over largest entry (the paper's equation 114). Dual numbers; forward \
                 differences of 1e-8. Quick: to 32 links.",
    run,
};

fn run(context: &Context) -> Result<Outcome, Failure> {
    let sizes: &[usize] = context.pick(&[2, 4, 8, 16, 32, 64, 128], &[2, 8, 32]);
    let mut out = Outcome::default();
    let mut figure = Figure::new(
        "Discrepancy of Jacobians of the last link",
        ("degrees of freedom", Scale::Log),
        ("discrepancy", Scale::Log),
    );
    let mut table = Table::new(
        "Discrepancy to ours",
        [
            "degrees of freedom",
            "velocity, automatic",
            "acceleration, automatic",
            "velocity, numeric",
            "acceleration, numeric",
        ],
    );
    let mut curves: [Vec<(f64, f64)>; 4] = Default::default();
    for &n in sizes {
        let mechanism = build(serial_arm(n))?;
        let mut study = Study::new(&mechanism, 0, 1)?;
        let Some(last) = mechanism.body_ids().last() else { continue };
        let request = Quantity::local(QuantityKind::Velocity, Target::body(last));
        let (mut ours, mut exact, mut differences) =
            (study.room(&request), study.room(&request), study.room(&request));
        study.analytic(&request, &mut ours)?;
        study.automatic(&request, &mut exact)?;
        study.numeric(&request, &mut differences)?;
        let mut row: Vec<Cell> = vec![n.into()];
        for (k, (other, order)) in
            [(&exact, 0), (&exact, 1), (&differences, 0), (&differences, 1)].into_iter().enumerate()
        {
            let (gap, scale) = study.difference(&request, order, &ours, other);
            let error = gap / scale;
            curves[k].push((n as f64, error));
            row.push(error.into());
        }
        table.row(row);
    }
    let last = |k: usize| curves[k].last().map_or(f64::NAN, |p| p.1);
    let (velocity, acceleration) = (last(0), last(1));
    out.checks.push(Check::at_most(
        "velocity, longest arm: discrepancy to automatic differentiation",
        "the paper: 9.61e-14 at 128 degrees of freedom",
        velocity,
        9.61e-14,
    ));
    out.checks.push(Check::at_most(
        "acceleration, longest arm: discrepancy to automatic differentiation",
        "the paper: 1.21e-13 at 128 degrees of freedom",
        acceleration,
        1.21e-13,
    ));
    out.checks.push(Check::at_least(
        "acceleration, longest arm: numerical over automatic discrepancy",
        "the paper: 1.33e-7 against 1.21e-13",
        last(3) / acceleration,
        1e3,
    ));
    out.headline(
        format!(
            "Acceleration Jacobian of a {}-joint arm against automatic differentiation",
            sizes.last().unwrap_or(&0)
        ),
        short(acceleration),
        "1.21e-13 in the paper (128 joints)",
    );
    for (label, points) in table.head[1..].iter().cloned().zip(&curves) {
        figure.curve(label.clone(), points.iter().map(|&(n, e)| (n, e.max(1e-17))));
        out.number(label, serde_json::json!(points));
    }
    out.figures.push(figure);
    out.tables.push(table);
    Ok(out)
}
