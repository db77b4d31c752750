//! `motion`: quantities and their rates along a recorded trajectory.

use std::path::Path;

use leastaction::io::{NpzWriter, TrajectoryCsvWriter, write_atomically};
use leastaction::jet::{
    Coordinates, JetError, JetWorkspace, Quantity, QuantityKind, RecordedError, RecordedMotion, Target,
    factorial,
};
use leastaction::mechanism::Mechanism;
use leastaction::spline::FitOptions;
use leastaction::trajectory::{Trajectory, TrajectoryLayout};
use leastaction_study::choice::Choice;
use leastaction_study::choices;
use leastaction_study::digits::figure;
use leastaction_study::failure::{DONE, Failure};
use leastaction_study::field::{Field, Kind};
use leastaction_study::motion_page::MotionPage;
use leastaction_study::output::{DEFAULT_FOLDER, cannot_write, expect_verb};
use leastaction_study::quantity::QuantityChoice;
use leastaction_study::recording::{self, ForceSource, Forces, ReadOptions};
use leastaction_study::settings::Group;
use leastaction_study::statistics::maximum;
use leastaction_study::{model, report};
use serde_json::json;

use crate::printer::Printer;
use crate::quantity_flags::{FRAME, OF, ORDER, QUANTITY, WITH, quantity};
use crate::verb::{DEGREES, FORCE, Given, MODEL, NO_REPORT, OUT, UP, Up, Verb};

pub(crate) const VERB: Verb = Verb {
    name: "motion",
    about: "Evaluate a quantity and its time derivatives along a recorded joint trajectory",
    more: "The trajectory is what `simulate` writes, or any table with columns `t` or `time`, a column per joint (`JOINT` or \
           `q.JOINT`) and, if recorded, `v.JOINT`; units stand in brackets or in a row below the names. Markers are followed by \
           inverse kinematics: each belongs to the frame (a site of MJCF) or body of its name. \
           It is fitted by a spline, as smooth as the noise of the recording asks for, joint by joint. Every value gets a \
           standard error (columns `se.…`), and an order that the recording does not support is said. Writes motion.csv, joints.csv (the fitted joint motion), \
           motion.npz, motion.json and report.html.",
    fields: &[
        MODEL,
        Field::flag(
            "trajectory",
            "FILE",
            Kind::Path,
            "Recorded motion: a table (.csv, .npz), an OpenSim file (.mot, .sto) or markers (.trc, .c3d)",
        )
        .required(),
        DEGREES,
        UP,
        Field::flag(
            "forces",
            "FILE",
            Kind::Path,
            "Measured forces on bodies, a table (.csv) or an OpenSim file (.mot)",
        ),
        Field {
            requires: "forces",
            ..Field::flag(
                "force-on",
                "BODY=PREFIX",
                Kind::Text,
                "Which body the columns PREFIXvx, PREFIXpx, … act on",
            )
            .many()
        },
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
            "Control points of the spline [default: as many as the motion needs, at most half the samples]",
        ),
        Field::flag(
            "smoothing",
            "HOW",
            Kind::Word(Smoothing::WORDS),
            "Smooth the recording as its noise asks for, or take it as exact",
        )
        .default("auto"),
        Field { help: "Folder to write to [default: leastaction-out/MODEL-motion]", ..OUT },
        FORCE,
        NO_REPORT,
    ],
    groups: &[Group::Read],
    verbs: &[],
    run,
};

choices! {
    /// Ways to smooth.
    Smoothing {
        /// By the noise of each joint, estimated from the recording
        Auto = "auto",
        /// Least squares, no standard errors
        Off = "off",
    }
}

/// A standard error of this part of the values makes an order worthless.
const UNSUPPORTED: f64 = 0.5;
/// Noise below this, in rad or m, is rounding of the file.
const ROUNDING: f64 = 1e-9;

fn run(given: &Given<'_>, printer: &mut Printer) -> Result<u8, Failure> {
    let (model, mechanism) = model::load(given.model(), &given.settings().reading())?;
    printer.warnings(given.model(), &model.reading.diagnostics);
    let file = given.path("trajectory").unwrap_or(Path::new(""));
    let options = ReadOptions { degrees: given.switch("degrees"), y_up: given.choice("up") == Some(Up::Y) };
    let recording = recording::read(file, &mechanism, options)?;
    let trajectory = &recording.trajectory;
    let chosen = quantity(given);
    let (mut jets, request) = chosen.prepare(&mechanism)?;
    let forces = forces(given, &mechanism, &chosen, options, trajectory)?;
    let degree = given.count("degree").map_or(7, |n| n as usize);
    let control_points = given.count("control-points").map(|n| n as usize);
    if let Some(n) = control_points.filter(|n| *n > 2 * trajectory.len()) {
        return Err(Failure::new(format!(
            "{n} control points are more than {} samples can place",
            trajectory.len()
        ))
        .help(format!("give at most {}", 2 * trajectory.len())));
    }
    let smooth = given.choice("smoothing").unwrap_or(Smoothing::Auto) == Smoothing::Auto;
    let options = FitOptions { degree, n_control: control_points, smooth, ..FitOptions::default() };
    let recorded = RecordedMotion::fit(&mechanism, trajectory, jets.velocity_count(), &options)
        .map_err(|error| explain(&error, trajectory, file))?;

    let order = chosen.order;
    let rows = jets.value_rows(chosen.quantity);
    // Values that are rotation matrices have no plain errors.
    let with_errors = smooth && jets.jacobian_rows(chosen.quantity) == rows;
    let names: Vec<String> = (0..=order).flat_map(|l| chosen.rows(&mechanism, l, false)).collect();
    let errors_of = names.iter().filter(|_| with_errors).map(|name| format!("se.{name}"));
    let columns = std::iter::once("t".to_owned()).chain(names.iter().cloned()).chain(errors_of);
    let layout = TrajectoryLayout::from_columns(columns);
    let folder = match given.path("out") {
        Some(out) => out.to_owned(),
        None => Path::new(DEFAULT_FOLDER).join(format!("{}-motion", model.slug)),
    };
    if !given.switch("force") {
        expect_verb(&folder, VERB.name)?;
    }
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    let (csv_path, npz_path) = (folder.join("motion.csv"), folder.join("motion.npz"));
    let mut csv =
        TrajectoryCsvWriter::create(&csv_path, &layout).map_err(|error| cannot_write(&csv_path, &error))?;
    let mut npz = NpzWriter::create(&npz_path, &layout).map_err(|error| cannot_write(&npz_path, &error))?;
    // The joint motion itself: what inverse kinematics made of markers, smoothed.
    let joints_path = folder.join("joints.csv");
    let labels = |prefix: &'static str, names: Vec<String>| {
        names.into_iter().map(move |name| format!("{prefix}.{name}"))
    };
    let joint_columns = std::iter::once("t".to_owned())
        .chain(labels("q", mechanism.q_labels()))
        .chain(labels("v", mechanism.v_labels()));
    let mut joints =
        TrajectoryCsvWriter::create(&joints_path, &TrajectoryLayout::from_columns(joint_columns))
            .map_err(|error| cannot_write(&joints_path, &error))?;

    let mut value = vec![0.0; jets.value_count(chosen.quantity) * rows];
    let mut line = vec![0.0; layout.width()];
    let mut largest = vec![0.0f64; order + 1];
    let mut carried = Carried { jacobian: Vec::new() };
    let mut errors = Errors::new(with_errors, &jets, chosen.quantity, order, rows);
    let mut page =
        (!given.switch("no-report")).then(|| MotionPage::new(&mechanism, &chosen, rows, with_errors));
    for s in 0..recorded.len() {
        jets.forward_from_derivatives(recorded.positions(s), &recorded.derivatives(s))
            .and_then(|()| jets.value_into(&request, &mut value))
            .and_then(|()| errors.at(&mut jets, &request, &recorded, s))
            .map_err(|error| Failure::from_error(&error))?;
        if let Some(forces) = &forces {
            carried
                .subtract(&mut jets, forces, recorded.times[s], &mut value[..rows])
                .map_err(|error| Failure::from_error(&error))?;
        }
        line[0] = recorded.times[s];
        for l in 0..=order {
            for row in 0..rows {
                let x = value[l * rows + row] * factorial(l);
                line[1 + l * rows + row] = x;
                largest[l] = maximum(largest[l], x.abs());
            }
        }
        line[1 + names.len()..].copy_from_slice(&errors.values);
        errors.note(&line[1..=names.len()], rows);
        if let Some(page) = &mut page {
            page.push(&recorded, s, &line[1..=names.len()], &errors.values);
        }
        csv.push(&line).map_err(|error| cannot_write(&csv_path, &error))?;
        let rates = recorded.derivatives(s);
        let mut joint_line = vec![recorded.times[s]];
        joint_line.extend(recorded.positions(s));
        joint_line.extend(rates.first().map_or(&[][..], |v| v));
        joint_line.resize(1 + mechanism.nq() + mechanism.nv(), f64::NAN);
        joints.push(&joint_line).map_err(|error| cannot_write(&joints_path, &error))?;
        npz.push(&line).map_err(|error| cannot_write(&npz_path, &error))?;
    }
    csv.finish().map_err(|error| cannot_write(&csv_path, &error))?;
    joints.finish().map_err(|error| cannot_write(&joints_path, &error))?;
    npz.finish().map_err(|error| cannot_write(&npz_path, &error))?;

    let typical = errors.typical();
    let mut warnings = recording.notes.clone();
    for (l, (error, size)) in typical.iter().enumerate() {
        if *error > UNSUPPORTED * size {
            warnings.push(format!(
                "the recording does not support {}: its standard error is {}, its values vary by {} (both rms); record faster \
                 or with less noise, or ask for a lower order",
                if l == 0 { chosen.quantity.name().to_owned() } else { format!("{} of order {l}", chosen.quantity.name()) },
                figure(*error),
                figure(*size)
            ));
        }
    }
    // Differences that are alike from sample to sample are no white noise, unless they are rounding.
    let alike = recorded
        .memory
        .iter()
        .zip(&recorded.noise)
        .filter(|((_, r), (_, noise))| *r > 0.2 && *noise > ROUNDING);
    if let Some(((label, r), _)) = alike.max_by(|((_, a), _), ((_, b), _)| a.total_cmp(b)) {
        warnings.push(format!(
            "the noise of {label} is not white: neighbouring samples differ from the fit alike (correlation {r:.2}). The standard \
             errors are widened for that, and may still be too small"
        ));
    }
    let typical_errors: Vec<f64> = typical.iter().map(|(error, _)| *error).collect();
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
        "standard_error": typical_errors,
        "correlation": recorded.memory.iter().map(|(label, x)| json!({"of": label, "r": x})).collect::<Vec<_>>(),
        "noise": recorded.noise.iter().map(|(label, x)| json!({"of": label, "sigma": x})).collect::<Vec<_>>(),
        "fit": {
            "degree": degree,
            "control_points": control_points,
            "smoothing": if smooth { "auto" } else { "off" },
            "residuals": residuals,
        },
        "markers": recording.markers.as_ref().map(|fit| fit.markers.iter().map(|(name, rms, worst, seen)| json!({
            "name": name, "rms": rms, "largest": worst, "frames": seen,
        })).collect::<Vec<_>>()),
        "forces_on": forces.as_ref().map(|f| f.bodies().map(|b| mechanism.body(b).name.clone()).collect::<Vec<_>>()),
        "warnings": warnings,
        "out": folder.display().to_string(),
        "version": env!("CARGO_PKG_VERSION"),
    });
    let path = folder.join("motion.json");
    let text = serde_json::to_string_pretty(&summary).unwrap_or_default();
    write_atomically(&path, text.as_bytes()).map_err(|error| cannot_write(&path, &error))?;
    if let Some(page) = page {
        let head =
            format!("{} of {} samples from {}", chosen.quantity.name(), recorded.len(), file.display());
        let data =
            page.finish(&model, &mechanism, head, &largest, &typical_errors, &recorded, warnings.clone());
        let path = folder.join("report.html");
        report::write(&path, &data).map_err(|error| cannot_write(&path, &error))?;
    }
    printer.object(&summary);
    let worst = recorded.residuals.iter().fold(0.0, |m, (_, max, _)| maximum(m, *max));
    printer.line(format!("{} samples, fitted within {worst:.1e}", recorded.len()));
    if let Some(fit) = &recording.markers {
        printer.line(format!("  markers, {} frames: distance rms and at most, in mm", fit.frames));
        for (name, rms, worst, seen) in &fit.markers {
            let gaps = if *seen < fit.frames {
                format!(", not seen in {} frames", fit.frames - seen)
            } else {
                String::new()
            };
            printer.line(format!("    {name:<20} {:.2}  {:.2}{gaps}", 1e3 * rms, 1e3 * worst));
        }
    }
    if smooth {
        let noisiest = recorded.noise.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((label, noise)) = noisiest {
            printer.line(format!("  noise of the recording at most {noise:.1e}, of {label}"));
        }
    }
    for (l, x) in largest.iter().enumerate() {
        let doubt = typical_errors.get(l).map_or(String::new(), |e| format!(" ± {e:.1e}"));
        printer.line(format!("  largest {} (derivative {l})  {x:.6e}{doubt}", chosen.quantity.name()));
    }
    for warning in &warnings {
        printer.note(warning);
    }
    if !given.switch("no-report") {
        printer.line(format!("report at {}", folder.join("report.html").display()));
    }
    printer.line(format!("written to {}", folder.display()));
    Ok(DONE)
}

/// Standard errors of a quantity along a recording.
struct Errors {
    /// Those of the sample at hand, `[order][row]`; empty if there are none.
    values: Vec<f64>,
    jacobian: Vec<f64>,
    /// Sums over samples, per order: squared errors, values and squared values.
    sums: Vec<(f64, Vec<f64>, f64)>,
    samples: f64,
}

impl Errors {
    fn new(wanted: bool, jets: &JetWorkspace<f64>, kind: QuantityKind, order: usize, rows: usize) -> Self {
        if !wanted {
            return Self { values: Vec::new(), jacobian: Vec::new(), sums: Vec::new(), samples: 0.0 };
        }
        Self {
            values: vec![0.0; (order + 1) * rows],
            jacobian: vec![0.0; jets.value_count(kind) * rows * jets.jacobian_columns()],
            sums: vec![(0.0, vec![0.0; rows], 0.0); order + 1],
            samples: 0.0,
        }
    }

    fn at(
        &mut self,
        jets: &mut JetWorkspace<f64>,
        request: &Quantity,
        recorded: &RecordedMotion,
        s: usize,
    ) -> Result<(), JetError> {
        if self.values.is_empty() {
            return Ok(());
        }
        jets.jacobian_into(request, Coordinates::Tangent, &mut self.jacobian)?;
        let needed = self.values.len() * jets.jacobian_columns();
        let errors = recorded.standard_errors(s, jets, &self.jacobian[..needed])?;
        let rows = self.values.len() / self.sums.len();
        for (i, (out, error)) in self.values.iter_mut().zip(errors).enumerate() {
            *out = factorial(i / rows) * error;
        }
        Ok(())
    }

    fn note(&mut self, values: &[f64], rows: usize) {
        self.samples += 1.0;
        for (l, (errors, sums, squares)) in self.sums.iter_mut().enumerate() {
            for row in 0..rows {
                let at = l * rows + row;
                *errors += self.values[at].powi(2);
                sums[row] += values[at];
                *squares += values[at].powi(2);
            }
        }
    }

    /// Root mean square of the errors and of the values about their means, per order.
    fn typical(&self) -> Vec<(f64, f64)> {
        self.sums
            .iter()
            .map(|(errors, sums, squares)| {
                let count = self.samples * sums.len() as f64;
                let means: f64 = sums.iter().map(|s| s * s / self.samples).sum();
                ((errors / count).sqrt(), ((squares - means).max(0.0) / count).sqrt())
            })
            .collect()
    }
}

/// Measured forces, if there are any: they take part in torques only.
fn forces(
    given: &Given<'_>,
    mechanism: &Mechanism,
    chosen: &QuantityChoice,
    options: ReadOptions,
    motion: &Trajectory,
) -> Result<Option<Forces>, Failure> {
    let Some(path) = given.path("forces") else { return Ok(None) };
    if chosen.quantity != QuantityKind::Torque || chosen.order > 0 {
        return Err(Failure::new(
            "measured forces are part of torques, not of their rates or of other quantities",
        )
        .help("ask for `--quantity torque --order 0`, or leave `--forces` out"));
    }
    let mut sources = Vec::new();
    for text in given.texts("force-on") {
        sources.push(ForceSource::parse(&text).ok_or_else(|| {
            Failure::new(format!("`{text}` does not name a body and its columns"))
                .help("write `--force-on BODY=PREFIX`")
        })?);
    }
    let forces = Forces::read(path, mechanism, &sources, options)?;
    let times = motion.column("t").unwrap_or_default();
    if let (Some(first), Some(last)) = (times.first(), times.last()) {
        forces.expect_cover(*first, *last, path)?;
    }
    Ok(Some(forces))
}

/// Takes from the torques what measured forces on bodies do: `τ − Σ Jᵀ w`.
struct Carried {
    jacobian: Vec<f64>,
}

impl Carried {
    fn subtract(
        &mut self,
        jets: &mut JetWorkspace<f64>,
        forces: &Forces,
        t: f64,
        torques: &mut [f64],
    ) -> Result<(), JetError> {
        for (body, torque, force) in forces.at(t) {
            let request = Quantity::world(QuantityKind::Velocity, Target::body(body));
            let columns = jets.jacobian_columns();
            self.jacobian.resize(jets.value_count(QuantityKind::Velocity) * 6 * columns, 0.0);
            jets.jacobian_into(&request, Coordinates::Tangent, &mut self.jacobian)?;
            for (c, tau) in torques.iter_mut().enumerate() {
                // The column of the first derivative is the joint's twist about the world origin.
                let at = jets.column_index(c, 1);
                let twist: [f64; 6] = std::array::from_fn(|row| self.jacobian[row * columns + at]);
                let wrench = [torque.0, force.0].concat();
                *tau -= twist.iter().zip(&wrench).map(|(s, w)| s * w).sum::<f64>();
            }
        }
        Ok(())
    }
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
