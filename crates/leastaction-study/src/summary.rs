//! The summary of a run, for people and as `summary.json`.

use serde_json::{Value, json};

use crate::digits::figure;
use crate::limits::Passing;
use crate::policy::Nearness;
use crate::run::{Finished, Outcome};
use crate::settings::Settings;
use crate::statistics::Tenth;

/// The schema key of `summary.json`.
pub const SUMMARY_SCHEMA: &str = "leastaction/summary/1";

/// What the summary says besides the run's own figures.
#[derive(Debug)]
pub struct Context<'a> {
    /// Of the mechanism.
    pub model_name: &'a str,
    /// Of the model as it ran.
    pub model_hash: &'a str,
    /// With its order.
    pub integrator: &'a str,
    /// As the duration says.
    pub planned_steps: u64,
    /// Whether energy changes by the work of the inputs alone.
    pub balanced: bool,
    /// Whether energy is to be conserved.
    pub conservative: bool,
    /// What was left out, in sentences.
    pub ignored: &'a [String],
    /// The scenario in full.
    pub configuration: &'a Settings,
    /// What the planned inputs alone come to, where a policy runs with feedback.
    pub open_loop: Option<Nearness>,
    /// True if a policy runs with feedback.
    pub feedback: bool,
}

/// The summary as JSON.
pub fn to_json(finished: &Finished, context: &Context<'_>) -> Value {
    let s = &finished.statistics;
    let (max, rms) = (s.max_energy_error(), s.rms_energy_error());
    let wall = finished.wall.as_secs_f64();
    let (outcome, error) = match &finished.outcome {
        Outcome::Done => ("done", Value::Null),
        Outcome::Interrupted => ("interrupted", Value::Null),
        Outcome::Failed(error) => ("failed", json!(error.to_string())),
    };
    json!({
        "schema": SUMMARY_SCHEMA,
        "version": env!("CARGO_PKG_VERSION"),
        "model": context.model_name,
        "model_hash": context.model_hash,
        "integrator": context.integrator,
        "outcome": outcome,
        "error": error,
        "steps": s.steps,
        "planned_steps": context.planned_steps,
        "step": finished.clock.step,
        "t_end": finished.clock.after(0),
        "wall_time": wall,
        "steps_per_second": s.steps as f64 / wall.max(1e-9),
        "energy": {
            "initial": s.initial_energy,
            "kinetic_scale": s.kinetic_scale,
            "conservative": context.conservative,
            "input_work": s.input_work,
            "max_balance_error": context.balanced.then_some(s.worst_balance),
            "max_error": max,
            "rms_error": rms,
            "max_relative_error": s.relative(max),
            "rms_relative_error": s.relative(rms),
            "tenths": s.tenths.iter().map(Tenth::to_json).collect::<Vec<_>>(),
            "means_within_first_tenth": s.means_within_first_range(),
        },
        "moved_at_start": finished.moved,
        "warm_start_dropped": finished.warm_dropped,
        "worst_gap": s.worst_gap,
        "iterations": {"mean": s.mean_iterations(), "max": s.max_iterations},
        "retries": s.retries,
        "halvings": s.halvings,
        "fallbacks": s.fallbacks,
        "splits": s.splits,
        "dropped_rank": s.dropped_rank,
        "inconsistency": s.inconsistency,
        "forces": finished.forces.as_ref().map(crate::forces::ForceLog::to_json),
        "substeps": s.substeps,
        "events": s.events,
        "forced": s.forced,
        "trials": s.trials,
        "rows": finished.rows.to_json(),
        "contact": finished.contact.map(|c| json!({
            "impacts": c.impacts,
            "restitutions_scaled": c.scaled,
            "turns": c.turns,
            "iterations": {"interval": c.interval_iterations, "node": c.node_iterations},
            "smoothing_paths": c.paths,
            "splits": c.splits,
            "left_out": c.left_out,
            "inside_at_start": c.inside,
        })),
        "limits_passed": finished.passings.iter().map(|p| p.to_json()).collect::<Vec<_>>(),
        "inputs_cut": finished.efforts.to_json(),
        "policy": finished.nearness.map(|near| json!({
            "feedback": context.feedback,
            "end": near.to_json(),
            "open_loop": context.open_loop.map(Nearness::to_json),
        })),
        "ignored": context.ignored,
        "configuration": context.configuration.to_json(),
    })
}

/// The summary in a few lines.
pub fn lines(finished: &Finished, context: &Context<'_>) -> Vec<String> {
    let s = &finished.statistics;
    let wall = finished.wall.as_secs_f64();
    let mut lines = vec![format!(
        "{}: {} steps of {} s with {} in {wall:.2} s ({:.0} steps/s)",
        context.model_name,
        s.steps,
        finished.clock.step,
        context.integrator,
        s.steps as f64 / wall.max(1e-9)
    )];
    let (max, rms) = (s.max_energy_error(), s.rms_energy_error());
    let word = if context.conservative { "energy error " } else { "energy change" };
    lines.push(format!(
        "  {word}  at most {} J, rms {} J ({} of the largest kinetic energy)",
        figure(max),
        figure(rms),
        figure(s.relative(max))
    ));
    if s.input_work != 0.0 && s.input_work.is_finite() {
        lines.push(format!("  inputs         did {} J of work", figure(s.input_work)));
    }
    if s.max_iterations > 0 {
        lines.push(format!("  iterations     mean {:.2}, at most {}", s.mean_iterations(), s.max_iterations));
    }
    if s.worst_gap > 0.0 {
        lines.push(format!("  worst gap      {} m", figure(s.worst_gap)));
    }
    let counts: Vec<String> = [
        ("retries", s.retries),
        ("halvings", s.halvings),
        ("fallbacks", s.fallbacks),
        ("splits", s.splits),
        ("dropped rank", u64::from(s.dropped_rank)),
    ]
    .iter()
    .filter(|(_, count)| *count > 0)
    .map(|(name, count)| format!("{name} {count}"))
    .collect();
    if !counts.is_empty() {
        lines.push(format!("  solver         {}", counts.join(", ")));
    }
    if let Some(near) = finished.nearness {
        lines.extend(policy_lines(&near, context));
    }
    if finished.warm_dropped {
        lines.push("  start          from its positions and velocities: the warm part of the state does not belong to them".into());
    }
    if finished.moved > 1e-12 {
        lines.push(format!("  start          moved by up to {} to close the loops", figure(finished.moved)));
    }
    if s.inconsistency > 0.0 {
        lines.push(format!(
            "  loops          joints that follow from others are open by up to {} m: the data is that far from aligned",
            figure(s.inconsistency)
        ));
    }
    if let Some(forces) = &finished.forces {
        if let Some((joint, force, time)) = forces.largest() {
            lines.push(format!("  largest force  {} N at `{joint}`, t = {time:.6} s", figure(force)));
        }
        let redundant = forces.redundant();
        if !redundant.is_empty() {
            lines.push(format!("  redundant      forces of {} are of minimum norm", redundant.join(", ")));
        }
    }
    if let Some(c) = finished.contact {
        let per_step = |count: u64| count as f64 / (s.steps as f64).max(1.0);
        let mut line = format!(
            "  contact        {} impacts, {:.2} + {:.2} iterations per step (intervals, nodes)",
            c.impacts,
            per_step(c.interval_iterations),
            per_step(c.node_iterations)
        );
        for (count, what) in [
            (c.turns, "turns"),
            (c.scaled, "bounces scaled down"),
            (c.paths, "smoothing paths"),
            (c.splits, "splits"),
        ] {
            if count > 0 {
                line.push_str(&format!(", {count} {what}"));
            }
        }
        lines.push(line);
        if c.left_out > 0 {
            lines.push(format!(
                "  start          {} of surfaces start inside each other and do not touch until they have parted",
                if c.left_out == 1 { "1 pair".to_owned() } else { format!("{} pairs", c.left_out) }
            ));
        }
        if c.inside > 0 {
            lines.push(format!("  start          {} contacts start inside and part slowly, or stay where something holds them", c.inside));
        }
    }
    lines.extend(
        finished.rows.sentence(s.events, s.forced).map(|sentence| format!("  joints         {sentence}")),
    );
    let passed = Passing::sentences(&finished.passings);
    lines.extend(passed.iter().map(|sentence| format!("  limit passed   {sentence}")));
    lines.extend(finished.efforts.sentence(s.steps).map(|sentence| format!("  input limits   {sentence}")));
    lines.extend(context.ignored.iter().map(|element| format!("  ignored        {element}")));
    lines
}

/// How a policy fared.
fn policy_lines(near: &Nearness, context: &Context<'_>) -> Vec<String> {
    if !near.reached {
        return vec!["  policy         the run ended before its motion did".to_owned()];
    }
    let label = if context.feedback { "policy       " } else { "open loop    " };
    let mut lines = vec![format!("  {label}  at its end {}", near.sentence())];
    if near.last.0.is_finite() {
        lines.push(format!(
            "  afterwards     at most {:.2e} and {:.2e}, at last {:.2e} and {:.2e}",
            near.worst_after.0, near.worst_after.1, near.last.0, near.last.1
        ));
    }
    if let Some(open) = context.open_loop {
        lines.push(format!("  open loop      the same inputs without feedback end {}", open.sentence()));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_shorter_than_its_policy_says_so_instead_of_a_distance() {
        let configuration = Settings::default();
        let context = Context {
            model_name: "m",
            model_hash: "",
            integrator: "rk4",
            planned_steps: 1,
            balanced: false,
            conservative: false,
            ignored: &[],
            configuration: &configuration,
            open_loop: None,
            feedback: true,
        };
        let lines = policy_lines(&Nearness::default(), &context);
        assert_eq!(lines, ["  policy         the run ended before its motion did"]);
        assert_eq!(Nearness::default().to_json()["reached"], false);
    }
}
