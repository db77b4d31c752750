//! Control problems: the model with its motors, start and goal, costs, limits, first guess.

use std::path::Path;

use leastaction::control::{ControlTerm, ControlTermKind, IlqrOptions, TrackingWeights};
use leastaction::integrator::Method;
use leastaction::mechanism::{ActuatorDescription, Mechanism, MechanismBuilder, ModelDescription, State};

use super::control_reader;
use crate::failure::Failure;

/// A control problem with its mechanism, ready to be solved.
#[derive(Debug)]
pub struct ControlFile {
    /// A name for folders.
    pub name: String,
    /// The text of the file, for the report.
    pub text: String,
    /// The model as it will be simulated: motors added, nothing ignored taken out yet.
    pub model_hash: String,
    /// What the engine steps: effort limits are limits of the inputs instead.
    pub mechanism: Mechanism,
    /// Joints that got a motor for this problem.
    pub motors: Vec<String>,
    /// What was left out, in sentences.
    pub ignored: Vec<String>,
    /// What is worth knowing about the model.
    pub notes: Vec<String>,
    /// Smoothing speed of derivatives through contact, m/s.
    pub relaxed: Option<f64>,
    /// The engine.
    pub method: Method,
    /// Order of a step.
    pub order: u32,
    /// Length of a step in seconds.
    pub step: f64,
    /// Number of steps.
    pub steps: usize,
    /// Where the motion begins.
    pub start: State,
    /// The state to reach; without one the end of the motion is held.
    pub goal: Option<State>,
    /// What it costs.
    pub terms: Vec<TermDraft>,
    /// Least inputs.
    pub lower: Vec<f64>,
    /// Largest inputs.
    pub upper: Vec<f64>,
    /// Weights of the feedback.
    pub tracking: TrackingWeights,
    /// Where the search begins.
    pub guess: GuessDraft,
    /// Options of the solver.
    pub options: IlqrOptions,
}

/// A term with a name; references to the inputs that hold the goal are filled in later.
#[derive(Clone, Debug)]
pub struct TermDraft {
    /// As messages call it.
    pub name: String,
    /// The term.
    pub term: ControlTerm,
    /// The reference is the input that holds the goal.
    pub about_hold: bool,
}

/// Where the search begins.
#[derive(Clone, Debug, Default)]
pub struct GuessDraft {
    /// Constant inputs; `None` for those that hold the goal.
    pub inputs: Option<Vec<f64>>,
    /// Amplitude of a sine added to the inputs, and its period in seconds.
    pub swing: Option<(Vec<f64>, f64)>,
    /// Springs and dampers by which the inputs draw their coordinates towards the goal, N m/rad and N m s/rad.
    pub springs: Option<(f64, f64)>,
    /// States on a straight line from start to goal instead of those that follow from the inputs.
    pub line: bool,
}

impl ControlFile {
    /// Whether surfaces touch.
    pub fn touches(&self) -> bool {
        !self.mechanism.contacts().is_empty()
    }

    /// The terms, with the inputs that hold the goal filled in.
    pub fn terms(&self, hold: Option<&[f64]>) -> Vec<ControlTerm> {
        self.terms
            .iter()
            .map(|draft| {
                let mut term = draft.term.clone();
                if let (true, Some(hold), ControlTermKind::Input { reference, .. }) =
                    (draft.about_hold, hold, &mut term.kind)
                {
                    reference.copy_from_slice(hold);
                }
                term
            })
            .collect()
    }

    /// True if a limit of an input is finite.
    pub fn has_limits(&self) -> bool {
        self.lower.iter().chain(&self.upper).any(|x| x.is_finite())
    }
}

/// Reads a control problem, or says everything that is wrong with it.
pub fn load(path: &Path) -> Result<ControlFile, Failure> {
    let text = leastaction::io::read_text(path).map_err(|error| {
        Failure::caused_by(format!("can't read the problem `{}`", path.display()), &error)
            .help("name a problem file (.toml) with a table [control]")
    })?;
    control_reader::read(&text, path)
}

/// Gives joints a motor each: an input of the joint's name on its only coordinate.
pub fn add_motors(description: &mut ModelDescription, motors: &[String]) {
    for joint in &mut description.joints {
        if motors.contains(&joint.name) && !description.inputs.contains(&joint.name) {
            description.inputs.push(joint.name.clone());
            joint.actuators.push(ActuatorDescription { input: joint.name.clone(), coordinate: 0, gear: 1.0 });
        }
    }
}

/// Ranges of inputs from their laws and from the effort limits of the joints they drive, and the mechanism without these limits.
///
/// At its limit an effort does not answer to the input any more: the search needs a limit that it can see instead. Servos keep
/// the limits of their force, which is no function of the input alone.
///
/// # Errors
/// If an actuator has a state of its own, which a policy does not know.
pub fn efforts_to_inputs(
    description: &mut ModelDescription,
    mechanism: &Mechanism,
) -> Result<(Mechanism, Vec<[f64; 2]>), Failure> {
    if let Some(k) = mechanism.drives().iter().position(|drive| drive.law.is_activated()) {
        let message = format!("the actuator of input `{}` has a state of its own", mechanism.inputs()[k]);
        return Err(Failure::new(message).help("leave `activation` (MJCF `dyntype`) out of its law"));
    }
    let mut bounds: Vec<[f64; 2]> = mechanism.drives().iter().map(|drive| drive.law.control_range).collect();
    let mut cut = |input: usize, range: [f64; 2], factor: f64, bias: f64| {
        let mut ends = range.map(|x| (x - bias) / factor);
        ends.sort_by(f64::total_cmp);
        let [low, high] = bounds[input];
        bounds[input] = [low.max(ends[0]), high.min(ends[1])];
    };
    for (input, drive) in mechanism.drives().iter().enumerate().filter(|(_, drive)| !drive.law.is_servo()) {
        if drive.law.gain[0] != 0.0 {
            cut(input, drive.law.force_range, drive.law.gain[0], drive.law.bias[0]);
        }
    }
    let servo = |input: &str| {
        mechanism
            .inputs()
            .iter()
            .position(|name| name == input)
            .is_some_and(|k| mechanism.drives()[k].law.is_servo())
    };
    for joint in mechanism.joints() {
        let Some(limits) = joint.limits else { continue };
        for actuator in &joint.actuators {
            let law = &mechanism.drives()[actuator.input].law;
            if !law.is_servo() && actuator.gear * law.gain[0] != 0.0 {
                let (gear, bias) = (actuator.gear * law.gain[0], actuator.gear * law.bias[0]);
                cut(actuator.input, limits.effort_range, gear, bias);
            }
        }
    }
    for joint in &mut description.joints {
        if let Some(limits) =
            joint.limits.as_mut().filter(|_| !joint.actuators.iter().any(|a| servo(&a.input)))
        {
            (limits.effort, limits.effort_range) = (None, None);
        }
    }
    for law in &mut description.laws {
        law.control_range = None;
        if !servo(&law.input) {
            law.force_range = None;
        }
    }
    let stripped =
        MechanismBuilder::from(description.clone()).build().map_err(|error| Failure::from_error(&error))?;
    Ok((stripped, bounds))
}
