//! `motion`: quantities and their rates along a recorded trajectory.

use std::path::{Path, PathBuf};

use leastaction::io::{
    NpzWriter, TrajectoryCsvWriter, read_trajectory_csv, read_trajectory_npz, write_atomically,
};
use leastaction::jet::{RecordedError, RecordedMotion, factorial};
use leastaction::spline::FitOptions;
use leastaction::trajectory::{Trajectory, TrajectoryLayout};
use serde_json::json;

use crate::printer::Printer;
use leastaction_study::args::{MODEL_HELP, ReadArgs};
use leastaction_study::failure::{DONE, Failure, suggestion};
use leastaction_study::model;
use leastaction_study::motion_page::MotionPage;
use leastaction_study::output::{DEFAULT_FOLDER, cannot_write};
use leastaction_study::quantity::QuantityArgs;
use leastaction_study::report;

/// Evaluate a quantity and its time derivatives along a recorded joint trajectory
///
/// The trajectory is what `simulate` writes, or any table with columns `t`, `q.JOINT` and, if recorded, `v.JOINT`.
/// It is fitted by a spline; the summary tells how well. Writes motion.csv, motion.npz, motion.json and report.html.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[arg(value_name = "MODEL", help = MODEL_HELP)]
    model: String,
    #[command(flatten)]
    read: ReadArgs,
    /// Recorded motion: trajectory.csv or trajectory.npz
    #[arg(long, value_name = "FILE")]
    trajectory: PathBuf,
    #[command(flatten)]
    quantity: QuantityArgs,
    /// Degree of the spline
    #[arg(long, value_name = "P", default_value_t = 7)]
    degree: usize,
    /// Control points of the spline [default: half the number of samples]
    #[arg(long, value_name = "N")]
    control_points: Option<usize>,
    /// Folder to write to [default: leastaction-out/MODEL-motion]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write no report.html
    #[arg(long)]
    no_report: bool,
}

pub(crate) fn run(args: Args, printer: &mut Printer) -> Result<u8, Failure> {
    let (model, mechanism) = model::load(&args.model, &args.read)?;
    printer.warnings(&args.model, &model.reading.diagnostics);
    let trajectory = read(&args.trajectory)?;
    let (mut jets, request) = args.quantity.prepare(&mechanism)?;
    let options = FitOptions { degree: args.degree, n_control: args.control_points, ..FitOptions::default() };
    let recorded = RecordedMotion::fit(&mechanism, &trajectory, jets.velocity_count(), &options)
        .map_err(|error| explain(&error, &trajectory, &args.trajectory))?;

    let order = args.quantity.order;
    let columns = std::iter::once("t".to_owned())
        .chain((0..=order).flat_map(|l| args.quantity.rows(&mechanism, l, false)));
    let layout = TrajectoryLayout::from_columns(columns);
    let folder =
        args.out.clone().unwrap_or_else(|| Path::new(DEFAULT_FOLDER).join(format!("{}-motion", model.slug)));
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    let (csv_path, npz_path) = (folder.join("motion.csv"), folder.join("motion.npz"));
    let mut csv =
        TrajectoryCsvWriter::create(&csv_path, &layout).map_err(|error| cannot_write(&csv_path, &error))?;
    let mut npz = NpzWriter::create(&npz_path, &layout).map_err(|error| cannot_write(&npz_path, &error))?;

    let rows = jets.value_rows(args.quantity.quantity);
    let mut value = vec![0.0; jets.value_count(args.quantity.quantity) * rows];
    let mut line = vec![0.0; layout.width()];
    let mut largest = vec![0.0f64; order + 1];
    let mut page = (!args.no_report).then(|| MotionPage::new(&mechanism, &args.quantity, rows));
    for s in 0..recorded.len() {
        jets.forward_from_derivatives(recorded.positions(s), &recorded.derivatives(s))
            .and_then(|()| jets.value_into(&request, &mut value))
            .map_err(|error| Failure::from_error(&error))?;
        line[0] = recorded.times[s];
        for l in 0..=order {
            for row in 0..rows {
                let x = value[l * rows + row] * factorial(l);
                line[1 + l * rows + row] = x;
                largest[l] = largest[l].max(x.abs());
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
        "quantity": args.quantity.quantity.name(),
        "of": args.quantity.of,
        "order": order,
        "samples": recorded.len(),
        "largest": largest,
        "fit": {"degree": args.degree, "control_points": args.control_points, "residuals": residuals},
        "out": folder.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let path = folder.join("motion.json");
    let text = serde_json::to_string_pretty(&summary).unwrap_or_default();
    write_atomically(&path, text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
    if let Some(page) = page {
        let head = format!(
            "{} of {} samples from {}",
            args.quantity.quantity.name(),
            recorded.len(),
            args.trajectory.display()
        );
        let data = page.finish(&model, &mechanism, head, &largest, &recorded);
        let path = folder.join("report.html");
        report::write(&path, &data).map_err(|error| cannot_write(&path, &error))?;
    }
    printer.object(&summary);
    let worst = recorded.residuals.iter().fold(0.0f64, |m, (_, max, _)| m.max(*max));
    printer.line(format!("{} samples, fitted within {worst:.1e}", recorded.len()));
    for (l, x) in largest.iter().enumerate() {
        printer.line(format!("  largest {} (derivative {l})  {x:.6e}", args.quantity.quantity.name()));
    }
    if !args.no_report {
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
        RecordedError::MissingColumn { column } => match suggestion(column, trajectory.layout().columns()) {
            Some(help) => failure.help(help),
            None => failure,
        },
        _ => failure.help("record more samples, or take fewer control points with `--control-points N`"),
    }
}
