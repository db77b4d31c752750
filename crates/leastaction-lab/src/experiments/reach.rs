//! Optimal reaches: what the experiments on direct and inverse problems share.

use std::time::Instant;

use leastaction::dynamics::Dynamics;
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, ModelDescription, Placement, WORLD,
};
use leastaction::optimize::{
    BoundaryState, ControlPoints, InverseOptions, MotionProblem, OptimizeError, Sampling, Solution,
    SolveOptions, SolveStatus, SplineTable, Term, Transcription, Wish, infer, solve,
};

use super::ishigaki_6::panda;
use super::measure::build;
use leastaction_study::failure::Failure;

const DURATION: f64 = 2.0;
const DEGREE: usize = 5;
const CONTROL: usize = 50;
const SAMPLES: usize = 200;
/// Derivatives that are looked at, the position included.
const ORDERS: usize = 4;

/// The planar arm of the paper: links of 1 m and 5 kg, hinges about y, gravity in the plane of motion.
pub(crate) fn arm3() -> Result<Mechanism, Failure> {
    let mut model = ModelDescription::new("arm3");
    let mut parent = WORLD.to_owned();
    for i in 0..3 {
        let name = format!("link{}", i + 1);
        model.bodies.push(BodyDescription {
            name: name.clone(),
            mass: 5.0,
            com: [0.5, 0.0, 0.0],
            inertia: [0.1, 0.1, 0.1, 0.0, 0.0, 0.0],
            ..Default::default()
        });
        model.joints.push(JointDescription {
            parent_placement: Placement::at(if i == 0 { [0.0; 3] } else { [1.0, 0.0, 0.0] }),
            axis: Some([0.0, 1.0, 0.0]),
            ..JointDescription::new(format!("joint{}", i + 1), JointType::Revolute, &parent, &name)
        });
        parent = name;
    }
    build(model)
}

/// The Panda arm.
pub(crate) fn arm7() -> Result<Mechanism, Failure> {
    build(panda()?)
}

/// A solved reach from 1.57 to −1.57 rad in every joint.
pub(crate) struct Reach {
    /// The motion.
    pub(crate) solution: Solution,
    /// Seconds the direct problem took.
    pub(crate) seconds: f64,
    /// Weights found from the motion alone.
    pub(crate) inferred: Vec<f64>,
    /// Times of the samples.
    pub(crate) times: Vec<f64>,
    /// `[sample][joint]`.
    pub(crate) angles: Vec<Vec<f64>>,
    /// `[sample][joint]`.
    pub(crate) jerks: Vec<Vec<f64>>,
    /// `[sample][joint]`.
    pub(crate) torques: Vec<Vec<f64>>,
}

fn problem(mechanism: &Mechanism, terms: &[(&str, f64)]) -> Result<MotionProblem, Failure> {
    let n = mechanism.nv();
    let terms: Option<Vec<Term>> =
        terms.iter().map(|(name, weight)| Term::by_name(name, mechanism, *weight)).collect();
    Ok(MotionProblem {
        duration: DURATION,
        degree: DEGREE,
        n_control: CONTROL,
        sampling: Sampling::Uniform { count: SAMPLES },
        start: BoundaryState::at_rest(&vec![1.57; n]),
        end: BoundaryState::at_rest(&vec![-1.57; n]),
        terms: terms.ok_or_else(|| Failure::new("a cost term of the experiment has no such name"))?,
        limits: Vec::new(),
        via: Vec::new(),
        passive: false,
        tasks: Vec::new(),
    })
}

/// Solves the direct problem (from the quintic profile, or from `start`), then the inverse one from its motion alone.
pub(crate) fn reach(
    mechanism: &Mechanism,
    terms: &[(&str, f64)],
    start: Option<&ControlPoints>,
) -> Result<Reach, Failure> {
    let failed = |error: OptimizeError| Failure::caused_by("the reach can't be set up", &error);
    let problem = problem(mechanism, terms)?;
    let weights: Vec<f64> = terms.iter().map(|(_, weight)| *weight).collect();
    let begin = Instant::now();
    let mut transcription = Transcription::with_jets(mechanism, &problem).map_err(failed)?;
    let options = SolveOptions::default();
    let solution =
        solve(&mut transcription, &weights, start, &options, &mut |_| Wish::Continue).map_err(failed)?;
    let seconds = begin.elapsed().as_secs_f64();

    // The inverse problem gets a problem of its own, in which all weights are one.
    let blind: Vec<(&str, f64)> = terms.iter().map(|(name, _)| (*name, 1.0)).collect();
    let mut transcription =
        Transcription::with_jets(mechanism, &self::problem(mechanism, &blind)?).map_err(failed)?;
    let inferred = infer(&mut transcription, &solution.theta, &InverseOptions::default()).weights;

    let n = mechanism.nv();
    let table = SplineTable::new(CONTROL, DEGREE, DURATION, ORDERS, Sampling::Uniform { count: SAMPLES })
        .map_err(|error| failed(error.into()))?;
    let mut x = vec![0.0; SAMPLES * ORDERS * n];
    table.add_states(&solution.theta.high, n, &mut x);
    table.add_states(&solution.theta.low, n, &mut x);
    let row = |s: usize, d: usize| x[(s * ORDERS + d) * n..(s * ORDERS + d + 1) * n].to_vec();
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let torques = (0..SAMPLES).map(|s| {
        let mut tau = vec![0.0; n];
        dynamics.inverse_dynamics_into(mechanism, &row(s, 0), &row(s, 1), &row(s, 2), &mut tau);
        tau
    });
    let torques = torques.collect();
    Ok(Reach {
        seconds,
        inferred,
        times: (0..SAMPLES).map(|s| DURATION * s as f64 / (SAMPLES - 1) as f64).collect(),
        angles: (0..SAMPLES).map(|s| row(s, 0)).collect(),
        jerks: (0..SAMPLES).map(|s| row(s, 3)).collect(),
        torques,
        solution,
    })
}

impl Reach {
    /// 1 if the direct problem was solved, 0 otherwise.
    pub(crate) fn solved(&self) -> f64 {
        f64::from(u8::from(self.solution.status == SolveStatus::Solved))
    }

    /// Rates of the torques by differences of neighbouring samples.
    pub(crate) fn torque_rates(&self) -> Vec<Vec<f64>> {
        let step = self.times[1] - self.times[0];
        let pairs = self.torques.windows(2);
        pairs.map(|w| w[0].iter().zip(&w[1]).map(|(a, b)| (b - a) / step).collect()).collect()
    }
}

/// Root mean square over all samples and joints.
pub(crate) fn rms(rows: &[Vec<f64>]) -> f64 {
    let (sum, count) = rows.iter().flatten().fold((0.0, 0.0), |(s, c), x| (s + x * x, c + 1.0));
    (sum / count).sqrt()
}

/// Largest absolute value.
pub(crate) fn peak(rows: &[Vec<f64>]) -> f64 {
    leastaction_core::scalar::largest(rows.iter().flatten())
}
