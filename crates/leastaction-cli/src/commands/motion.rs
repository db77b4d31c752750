//! `motion`: quantities and their rates along a recorded trajectory.

use std::path::Path;

use leastaction::io::{
    NpzWriter, TrajectoryCsvWriter, read_trajectory_csv, read_trajectory_npz, write_atomically,
};
use leastaction::jet::{RecordedError, RecordedMotion, factorial};
use leastaction::spline::FitOptions;
use leastaction::trajectory::{Trajectory, TrajectoryLayout};
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::motion_page::MotionPage;
use leastaction_study::output::{DEFAULT_FOLDER, cannot_write};
use leastaction_study::settings::Group;
use leastaction_study::statistics::maximum;
use leastaction_study::{model, report};
use serde_json::json;

use crate::printer::Printer;
use crate::quantity_flags::{FRAME, OF, ORDER, QUANTITY, WITH, quantity};
use crate::verb::{Given, MODEL, NO_REPORT, OUT, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "motion",
    about: "Evaluate a quantity and its time derivatives along a recorded joint trajectory",
    more: "The trajectory is what `simulate` writes, or any table with columns `t`, `q.JOINT` and, if recorded, `v.JOINT`. \
           It is fitted by a spline; the summary tells how well. Writes motion.csv, motion.npz, motion.json and report.html.",
    fields: &[
        MODEL,
        Field::flag("trajectory", "FILE", Kind::Path, "Recorded motion: trajectory.csv or trajectory.npz")
            .required(),
        QUANTITY,
        ORDER,
        OF,
        FRAME,
        WITH,
        Field::flag("degree", "P", Kind::Count(1, 30), "Degree of the spline").default("7"),
        Field::flag(
            "control-points",
            "N",
            Kind::Count(1, u64::MAX),
            "Control points of the spline [default: half the number of samples]",
        ),
        Field { help: "Folder to write to [default: leastaction-out/MODEL-motion]", ..OUT },
        NO_REPORT,
    ],
    groups: &[Group::Read],
    verbs: &[],
    run,
};

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let (model, mechanism) = model::load(given.model(), &given.settings().reading())?;
    printer.warnings(given.model(), &model.reading.diagnostics);
    let file = given.path("trajectory").unwrap_or(Path::new(""));
    let trajectory = read(file)?;
    let chosen = quantity(given);
    let (mut jets, request) = chosen.prepare(&mechanism)?;
    let degree = given.count("degree").map_or(7, |n| n as usize);
    let control_points = given.count("control-points").map(|n| n as usize);
    if let Some(n) = control_points.filter(|n| *n > 2 * trajectory.len()) {
        return Err(Failure::new(format!(
            "{n} control points are more than {} samples can place",
            trajectory.len()
        ))
        .help(format!("give at most {}", 2 * trajectory.len())));
    }
    let options = FitOptions { degree, n_control: control_points, ..FitOptions::default() };
    let recorded = RecordedMotion::fit(&mechanism, &trajectory, jets.velocity_count(), &options)
        .map_err(|error| explain(&error, &trajectory, file))?;

    let order = chosen.order;
    let columns =
        std::iter::once("t".to_owned()).chain((0..=order).flat_map(|l| chosen.rows(&mechanism, l, false)));
    let layout = TrajectoryLayout::from_columns(columns);
    let folder = match given.path("out") {
        Some(out) => out.to_owned(),
        None => Path::new(DEFAULT_FOLDER).join(format!("{}-motion", model.slug)),
    };
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    let (csv_path, npz_path) = (folder.join("motion.csv"), folder.join("motion.npz"));
    let mut csv =
        TrajectoryCsvWriter::create(&csv_path, &layout).map_err(|error| cannot_write(&csv_path, &error))?;
    let mut npz = NpzWriter::create(&npz_path, &layout).map_err(|error| cannot_write(&npz_path, &error))?;

    let rows = jets.value_rows(chosen.quantity);
    let mut value = vec![0.0; jets.value_count(chosen.quantity) * rows];
    let mut line = vec![0.0; layout.width()];
    let mut largest = vec![0.0f64; order + 1];
    let mut page = (!given.switch("no-report")).then(|| MotionPage::new(&mechanism, &chosen, rows));
    for s in 0..recorded.len() {
        jets.forward_from_derivatives(recorded.positions(s), &recorded.derivatives(s))
            .and_then(|()| jets.value_into(&request, &mut value))
            .map_err(|error| Failure::from_error(&error))?;
        line[0] = recorded.times[s];
        for l in 0..=order {
            for row in 0..rows {
                let x = value[l * rows + row] * factorial(l);
                line[1 + l * rows + row] = x;
                largest[l] = maximum(largest[l], x.abs());
            }
        }
        if let Some(page) = &mut page {
            let derivatives = recorded.derivatives(s);
            page.push(recorded.times[s], recorded.positions(s), &derivatives, &line[1..], recorded.misfit(s));
        }
        csv.push(&line).map_err(|error| cannot_write(&csv_path, &error))?;
        npz.push(&line).map_err(|error| cannot_write(&npz_path, &error))?;
    }
    csv.finish().map_err(|error| cannot_write(&csv_path, &error))?;
    npz.finish().map_err(|error| cannot_write(&npz_path, &error))?;

    let residuals: Vec<_> = recorded
        .residuals
        .iter()
        .map(|(label, max, rms)| json!({"of": label, "max": max, "rms": rms}))
        .collect();
    let summary = json!({
        "quantity": chosen.quantity.name(),
        "of": chosen.of,
        "order": order,
        "samples": recorded.len(),
        "largest": largest,
        "fit": {"degree": degree, "control_points": control_points, "residuals": residuals},
        "out": folder.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let path = folder.join("motion.json");
    let text = serde_json::to_string_pretty(&summary).unwrap_or_default();
    write_atomically(&path, text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
    if let Some(page) = page {
        let head =
            format!("{} of {} samples from {}", chosen.quantity.name(), recorded.len(), file.display());
        let data = page.finish(&model, &mechanism, head, &largest, &recorded);
        let path = folder.join("report.html");
        report::write(&path, &data).map_err(|error| cannot_write(&path, &error))?;
    }
    printer.object(&summary);
    let worst = recorded.residuals.iter().fold(0.0, |m, (_, max, _)| maximum(m, *max));
    printer.line(format!("{} samples, fitted within {worst:.1e}", recorded.len()));
    for (l, x) in largest.iter().enumerate() {
        printer.line(format!("  largest {} (derivative {l})  {x:.6e}", chosen.quantity.name()));
    }
    if !given.switch("no-report") {
        printer.line(format!("report at {}", folder.join("report.html").display()));
    }
    printer.line(format!("written to {}", folder.display()));
    Ok(DONE)
}

fn read(path: &Path) -> Result<Trajectory, Failure> {
    let is_npz = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npz"));
    let read = if is_npz { read_trajectory_npz(path) } else { read_trajectory_csv(path) };
    read.map_err(|error| Failure::from_error(&error))
}

fn explain(error: &RecordedError, trajectory: &Trajectory, path: &Path) -> Failure {
    let failure = Failure::caused_by(format!("`{}` can't be differentiated", path.display()), error);
    match error {
        RecordedError::MissingColumn { column } => {
            failure.suggest(column, &trajectory.layout().columns().collect::<Vec<_>>())
        }
        _ => failure.help("record more samples, or take fewer control points with `--control-points N`"),
    }
}
