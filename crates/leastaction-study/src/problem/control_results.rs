//! Result files of a controlled motion: trajectory and report.

use std::path::Path;

use leastaction::integrator::Method;
use leastaction::trajectory::{Recorded, Sampler, TrajectoryLayout};

use super::control_file::ControlFile;
use super::control_solve::{ControlOutcome, Found, at_limit, median_time, outcome, replay_method, verdict};
use crate::digits::figure;
use crate::failure::Failure;
use crate::output::{RunFolder, cannot_write};
use crate::page;
use crate::report::{self, FrameThinner, OverlayKind, Plot, PlotLimit, PlotThinner, ReportData, SummaryRow};

/// Most dots of a replay in a plot.
const DOTS: usize = 150;

/// Writes the trajectory of the plan and, if asked for, the report.
pub fn write(out: &Path, file: &ControlFile, found: &Found, report: bool) -> Result<(), Failure> {
    let mechanism = &file.mechanism;
    let path = &found.solution.path;
    let mut folder = RunFolder::create(out, &TrajectoryLayout::of(mechanism))?;
    let mut sampler = Sampler::new(mechanism);
    let mut frames = FrameThinner::new(mechanism.nb());
    let plot = |id: &str, title: &str, unit: &str, names: Vec<String>| {
        PlotThinner::new(id, title, super::units_of(mechanism, unit), false, names)
    };
    let both = [mechanism.q_labels(), mechanism.q_labels()].concat();
    let mut positions = plot("joint-positions", "Joint positions: planned and replayed", "rad, m", both);
    let mut velocities = plot("joint-velocities", "Joint velocities", "rad/s, m/s", mechanism.v_labels());
    let mut inputs = plot("inputs", "Inputs", "N m, N", mechanism.inputs().to_vec());
    let after = found.policy.hold.as_ref().map_or(vec![0.0; mechanism.nu()], |hold| hold.u.clone());
    let unseen = vec![f64::NAN; mechanism.nq()];
    for (k, state) in path.states.iter().enumerate() {
        let t = k as f64 * file.step;
        let u = if k < path.steps() { path.u(k) } else { &after };
        let observed = sampler.observe(state);
        sampler.row(state, &observed, Recorded { t, u, ..Recorded::default() });
        folder.push(sampler.last_row())?;
        frames.push(t, sampler.poses());
        // A replay is drawn as dots: not at every step of a long plan.
        let stride = path.steps().div_ceil(DOTS).max(1);
        let dot = found.replayed.get(k).filter(|_| k.is_multiple_of(stride)).unwrap_or(&unseen);
        positions.push(t, &[&state.q[..], dot].concat());
        velocities.push(t, &state.v);
        // Inputs are held: both ends of a step show the same value.
        if k < path.steps() {
            inputs.push(t, u);
            inputs.push(t + file.step * (1.0 - 1e-9), u);
        }
    }
    let folder = folder.finish()?;
    if !report {
        return Ok(());
    }
    let data = ReportData {
        title: file.name.clone(),
        subtitle: format!(
            "{}, {} (order {}), {} steps of {} s",
            mechanism.name(),
            file.method.name(),
            file.order,
            file.steps,
            file.step
        ),
        summary: summary(file, found),
        warnings: warnings(file, found),
        configuration: file.text.clone(),
        versions: vec![("leastaction".into(), env!("CARGO_PKG_VERSION").into())],
        model_hash: file.model_hash.clone(),
        scene: page::scene(mechanism),
        frames: frames.frames(),
        plots: vec![
            positions.plot_with(mechanism.nq(), &[OverlayKind::Dots("replayed with feedback")]),
            velocities.plot(),
            Plot { limits: input_limits(file), ..inputs.plot() },
        ],
        figures: vec![convergence(found)],
        ..ReportData::default()
    };
    let path = folder.join("report.html");
    report::write(&path, &data).map_err(|error| cannot_write(&path, &error))
}

/// What inputs may not pass: one shade where that is the same for all.
fn input_limits(file: &ControlFile) -> Vec<PlotLimit> {
    let each: Vec<(f64, f64)> = file.lower.iter().copied().zip(file.upper.iter().copied()).collect();
    let acts = |(low, high): &(f64, f64)| low.is_finite() || high.is_finite();
    match each.first() {
        Some(first) if acts(first) && each.iter().all(|limit| limit == first) => {
            vec![PlotLimit { of: None, low: first.0, high: first.1 }]
        }
        _ => {
            let own = each.iter().enumerate().filter(|(_, limit)| acts(limit));
            own.map(|(i, (low, high))| PlotLimit { of: Some(i), low: *low, high: *high }).collect()
        }
    }
}

fn convergence(found: &Found) -> Plot {
    let mut plot = PlotThinner::new(
        "convergence",
        "Convergence over iterations",
        "relative",
        true,
        ["residual", "gap", "barrier", "objective over the last"],
    );
    for (i, p) in found.solution.history.iter().enumerate() {
        plot.push(i as f64, &[p.residual, p.gap, p.barrier, p.objective / found.solution.objective]);
    }
    Plot { own_axis: true, ..plot.plot() }
}

fn summary(file: &ControlFile, found: &Found) -> Vec<SummaryRow> {
    let s = &found.solution;
    let method =
        if replay_method(file) == Method::Rk4 { "Runge–Kutta" } else { replay_method(file).name() };
    let distance = |(q, v): (f64, f64)| format!("{q:.1e}, {v:.1e}");
    let far = "The largest difference of a position (rad or m), then of a velocity (rad/s or m/s).";
    let (word, words) = (outcome(file, found).name(), verdict(file, found));
    let mut rows = vec![
        SummaryRow::new("outcome", word, if word == words { String::new() } else { words }),
        SummaryRow::new("cost", figure(s.objective), "sum of all terms"),
        SummaryRow::new("how optimal", format!("{:.1e}", s.residual), "0 would be exact").meaning(
            "Root of the decrease of the cost that the next step of the search promises, relative to the cost.",
        ),
        SummaryRow::new(
            "steps of the search",
            s.iterations.to_string(),
            format!("{:.0} ms, median {:.2} ms each", 1e3 * found.seconds, 1e3 * median_time(found)),
        ),
        SummaryRow::new("the plan ends, from its goal", distance(found.planned), "position, velocity").meaning(far),
    ];
    let replay = format!(
        "{far} The inputs are replayed by another integrator ({method}) at a tenth of the step, which shows whether the plan depends on \
         the one it was made with."
    );
    if let Some(near) = &found.feedback {
        rows.push(
            SummaryRow::new(
                "the replay ends, from its goal",
                distance((near.position, near.velocity)),
                format!("{method}, with feedback"),
            )
            .meaning(replay.clone()),
        );
        rows.push(
            SummaryRow::new(
                "farthest in 5 s more",
                distance(near.worst_after),
                format!("{method}, with feedback"),
            )
            .meaning("How far the regulator lets the mechanism go from its goal while it holds it there."),
        );
    }
    if let Some(near) = &found.open_loop {
        rows.push(
            SummaryRow::new(
                "without feedback, from its goal",
                distance((near.position, near.velocity)),
                format!("{method}, the same inputs"),
            )
            .meaning(replay),
        );
    }
    if file.has_limits() {
        let note = format!("of {}", file.steps);
        rows.push(SummaryRow::new(
            "steps with an input at its limit",
            at_limit(file, &s.path).to_string(),
            note,
        ));
    }
    if let Ok(hold) = &found.hold {
        rows.push(
            SummaryRow::new(
                "held at its goal",
                format!("× {:.4} per step", hold.riccati.radius),
                "how fast a small push is gone",
            )
            .meaning(format!(
                "Spectral radius of the linearised motion under the regulator; its gain solves the Riccati equation to {:.1e}.",
                hold.riccati.residual
            )),
        );
    }
    rows
}

fn warnings(file: &ControlFile, found: &Found) -> Vec<String> {
    let mut out = Vec::new();
    if outcome(file, found) != ControlOutcome::Solved {
        out.push(verdict(file, found));
    }
    if let Err(error) = &found.hold {
        out.push(format!("nothing holds the end: {error}"));
    }
    out.extend(file.notes.iter().cloned());
    out.extend(file.ignored.iter().map(|element| format!("ignored: {element}")));
    out
}
