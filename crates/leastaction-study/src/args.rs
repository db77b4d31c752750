//! What can be said on the command line. Flags that several verbs share are structs here, flattened into each.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use leastaction::integrator::Method;

/// Name of a model for help texts.
pub const MODEL_HELP: &str = "URDF, MJCF or JSON file, or a built-in: @double-pendulum, @chain/N, \
     @chain-xy/N, @ball-chain/N, @star/N, @binary-tree/N, @ball-tree/N, @four-bar, @four-bars/K, @rhombus-chain/K";

/// How a model file is read.
#[derive(Args, Clone, Debug, Default)]
pub struct ReadArgs {
    /// How a URDF's root is held to the ground
    #[arg(long, value_enum)]
    pub base: Option<Base>,
    /// Folder that `package://NAME/` is looked up in and MJCF may include files from (may be given several times)
    #[arg(long = "package-path", value_name = "DIR")]
    pub package_path: Vec<PathBuf>,
}

/// How the root link of a URDF is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Base {
    /// It moves freely
    Floating,
    /// It is part of the ground
    Fixed,
}

/// What is changed about a model before it runs.
#[derive(Args, Clone, Debug, Default)]
pub struct ModelArgs {
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Gravitational acceleration in m/s²
    #[arg(long, value_name = "X,Y,Z", value_parser = numbers::<3>, allow_hyphen_values = true)]
    pub gravity: Option<[f64; 3]>,
    /// What joint limits do: monitor reports passing one, enforce needs the maximal integrator
    #[arg(long, value_enum)]
    pub limits: Option<LimitMode>,
    /// Elements to leave out where the integrator can't serve them
    #[arg(long, value_enum, value_delimiter = ',', value_name = "KINDS")]
    pub ignore: Vec<Ignore>,
    /// Set damping and friction of all joints to zero
    #[arg(long)]
    pub undamped: bool,
}

/// What joint limits do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LimitMode {
    /// Passing one is reported
    #[default]
    Monitor,
    /// They hold
    Enforce,
    /// They are not looked at
    Off,
}

/// Elements that change the motion and that not every integrator serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Ignore {
    /// Coulomb friction of joints
    Friction,
    /// Joints that follow another
    Mimic,
    /// Polynomial couplings of joints (MJCF `equality joint`)
    Couplings,
    /// Joints that close a loop
    Loops,
    /// Rolling discs and knife edges
    Rolling,
}

/// How time is stepped.
#[derive(Args, Clone, Debug, Default)]
pub struct StepArgs {
    /// Integrator [default: minimal for trees, maximal for loops and rolling]
    #[arg(long, value_parser = method_parser())]
    pub integrator: Option<Method>,
    /// Order of accuracy, where the integrator has a choice
    #[arg(long, value_name = "N")]
    pub order: Option<u32>,
    /// Time step in seconds [default: 0.005]
    #[arg(long, value_name = "S", value_parser = positive)]
    pub step: Option<f64>,
    /// Tolerance of the nonlinear solve or of the error control
    #[arg(long, value_name = "X", value_parser = positive)]
    pub tolerance: Option<f64>,
    /// How the minimal integrator solves the equations of a step [default: automatic]
    #[arg(long, value_enum, value_name = "NAME")]
    pub iteration: Option<IterationName>,
    /// How the maximal integrator turns bodies [default: sine]
    #[arg(long, value_enum, value_name = "MAP")]
    pub rotation_map: Option<MapName>,
    /// How the maximal integrator reaches order 4 [default: suzuki]
    #[arg(long, value_enum, value_name = "NAME")]
    pub composition: Option<CompositionName>,
}

/// Iteration policies of the minimal integrator; all find the same motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum IterationName {
    /// The mass-matrix iteration, and chord where it contracts slowly
    Automatic,
    /// A new factorisation in every iteration
    Newton,
    /// One factorisation, kept while it contracts well
    Chord,
}

/// Rotation maps of the maximal integrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MapName {
    /// Conserves a free body's energy to rounding
    Sine,
    /// Has a solution for every spin
    Cayley,
}

/// Compositions of the maximal integrator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompositionName {
    /// Five substeps, small error
    Suzuki,
    /// Three substeps
    Yoshida,
}

/// Where a run starts.
#[derive(Args, Clone, Debug, Default)]
pub struct StartArgs {
    /// Position of a joint (may be given several times)
    #[arg(long = "q", value_name = "JOINT=V[,V]", value_parser = assignment, allow_hyphen_values = true)]
    pub q: Vec<Assignment>,
    /// Velocity of a joint (may be given several times)
    #[arg(long = "v", value_name = "JOINT=V[,V]", value_parser = assignment, allow_hyphen_values = true)]
    pub v: Vec<Assignment>,
    /// Random joint velocities of at most MAX rad/s or m/s, floating joints left alone; the same for the same seed
    #[arg(long, value_name = "SEED,MAX", value_parser = random_velocity)]
    pub random_velocity: Option<RandomVelocity>,
    /// State file to continue, or the name of a state of the model
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "state")]
    pub start: Option<String>,
    /// Named state (keyframe) of the model
    #[arg(long, value_name = "NAME")]
    pub state: Option<String>,
}

/// What acts from outside.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArgs {
    /// Constant value of an input (may be given several times)
    #[arg(long = "input", value_name = "INPUT=V", value_parser = assignment, allow_hyphen_values = true)]
    pub input: Vec<Assignment>,
    /// Table of inputs over time: columns t and INPUT or u.INPUT, held over each step
    #[arg(long, value_name = "FILE.csv")]
    pub inputs: Option<PathBuf>,
}

/// `NAME=V[,V]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// Joint or input.
    pub name: String,
    /// Its numbers.
    pub values: Vec<f64>,
}

/// `SEED,MAX`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RandomVelocity {
    /// What the numbers are drawn from.
    pub seed: u32,
    /// Their largest magnitude.
    pub most: f64,
}

fn random_velocity(text: &str) -> Result<RandomVelocity, String> {
    let (seed, most) = text.split_once(',').ok_or("write SEED,MAX")?;
    let seed = seed.trim().parse().map_err(|_| format!("`{seed}` is not a whole number below 2^32"))?;
    Ok(RandomVelocity { seed, most: positive(most)? })
}

fn method_parser() -> impl TypedValueParser<Value = Method> {
    PossibleValuesParser::new(Method::ALL.map(|(name, _)| name)).map(|name| {
        // The parser has let known names through only.
        Method::ALL.iter().find(|(known, _)| *known == name).map_or(Method::Rk4, |(_, method)| *method)
    })
}

fn number(text: &str) -> Result<f64, String> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(format!("`{text}` is not a finite number")),
    }
}

/// A finite number greater than zero.
pub fn positive(text: &str) -> Result<f64, String> {
    number(text)
        .and_then(|value| if value > 0.0 { Ok(value) } else { Err("it must be greater than 0".into()) })
}

fn numbers<const N: usize>(text: &str) -> Result<[f64; N], String> {
    let values = text.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    let found = values.len();
    values.try_into().map_err(|_| format!("{found} numbers given, {N} needed"))
}

/// `NAME=V[,V]` as text.
pub fn assignment(text: &str) -> Result<Assignment, String> {
    let (name, values) = text.rsplit_once('=').ok_or("write NAME=VALUE")?;
    let values = values.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(Assignment { name: name.trim().to_owned(), values })
}
