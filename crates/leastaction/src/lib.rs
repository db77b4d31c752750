//! Mechanics of articulated bodies computed the structured way.
//!
//! A mechanism is a tree of bodies, perhaps with closed loops. `leastaction` moves it by making the discrete action
//! stationary,
//!
//! ```text
//! D₂ L_d(q_{k−1}, q_k) + D₁ L_d(q_k, q_{k+1}) + forces = 0,
//! ```
//!
//! which keeps momentum exactly and the energy error bounded for as long as one likes, in time linear in the number of
//! bodies.
//!
//! # A first example
//!
//! ```
//! use leastaction::dynamics::Dynamics;
//! use leastaction::integrator::{Method, MethodOptions, Simulator};
//! use leastaction::mechanism::{MechanismBuilder, samples};
//!
//! let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
//! let start = mechanism.start_state();
//! let energy = Dynamics::new(&mechanism).observe(&mechanism, &start.q, &start.v).total();
//!
//! let options = MethodOptions { order: Some(4), ..MethodOptions::default() };
//! let mut simulator = Simulator::new(&mechanism, Method::Minimal, &options, &start)?;
//! for _ in 0..1000 {
//!     simulator.step(&[], 1e-3)?;
//! }
//! let end = simulator.state();
//! let drift = Dynamics::new(&mechanism).observe(&mechanism, &end.q, &end.v).total() - energy;
//! assert!(drift.abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where is …
//!
//! | what | where |
//! |---|---|
//! | the model, its builder, joint formulas, samples | [`mechanism`] |
//! | poses, twists, wrenches, inertias | [`spatial`] |
//! | exp, log and their tangents | [`lie`] |
//! | inverse and forward dynamics, mass matrix, energies | [`dynamics`] |
//! | time stepping, [`Simulator`](integrator::Simulator) | [`integrator`] |
//! | many runs at once | [`batch`] |
//! | variational integrators: joint coordinates, poses with loops | [`integrator::minimal`], [`integrator::maximal`] |
//! | quantities with time derivatives and their Jacobians | [`jet`] |
//! | B-splines; motions from costs, costs from motions | [`spline`], [`optimize`] |
//! | inputs that reach a goal, feedback that holds it | [`control`] |
//! | URDF, MJCF, JSON, trajectories | [`io`], [`trajectory`] |
//!
//! Abbreviations used throughout: RNEA recursive Newton–Euler algorithm, CRBA composite rigid-body algorithm, ABA
//! articulated-body algorithm, DEL discrete Euler–Lagrange equations, LDU block factorisation on the constraint graph,
//! CMTM comprehensive motion transformation matrix.

pub mod batch;
pub mod control;
pub mod integrator;

use leastaction_core::linalg;

// What users see, name by name: what is not listed here may change without notice. `tests/it/public_face.rs` keeps the
// lists explicit.

/// What may touch what, and how contacts are stepped.
pub mod contact {
    pub use leastaction_core::contact::{Against, ContactSettings, Impacts, Sliding, Tip, Turns};
}

/// Inverse and forward dynamics, mass matrix, energies and momenta.
pub mod dynamics {
    pub use leastaction_core::dynamics::{
        Dynamics, DynamicsLanes, Kinematics, LoopGap, LoopMotion, Observables, OfStates, closed_acceleration,
        loop_gaps, mobility,
    };
}

/// Reading and writing models, states and trajectories.
pub mod io {
    pub use leastaction_io::{
        Adapter, AtomicFile, Clock, Diagnostic, LoadError, LoadOptions, Location, MAX_FILE_BYTES, Measured,
        NamedArray, NpzWriter, ProblemKind, Reading, RowMode, STATE_SCHEMA, Sensor, Severity, SourceMap,
        StateError, StateFile, TableError, TrajectoryCsvWriter, UrdfBase, UrdfOptions, View, load_model,
        printable, push_number, read_files_up_to, read_model, read_model_json, read_sdf, read_text,
        read_trajectory_csv, read_trajectory_npz, read_urdf, read_whole, write_atomically, write_matrix_npz,
        write_model_json, write_npz, write_sdf, write_urdf,
    };

    /// Triangle meshes and their masses.
    pub mod mesh {
        pub use leastaction_io::mesh::{MAX_MESH_BYTES, MassProperties, Mesh, MeshError, MeshInertia};
    }

    /// MJCF, the format of MuJoCo.
    pub mod mjcf {
        pub use leastaction_io::mjcf::{MjcfOptions, ReadFile, read_mjcf, write_mjcf};
    }
}

/// Quantities of a motion with time derivatives of any order, and their Jacobians.
pub mod jet {
    pub use leastaction_motion::jet::{
        Coordinates, Cost, CostEvaluator, Generating, JetError, JetQuantities, JetWorkspace, MotionChart,
        NoQuantities, Quantities, Quantity, QuantityFrame, QuantityKind, RecordedError, RecordedMotion,
        Samples, Target, TorqueJacobian, factorial,
    };
}

/// Exponential, logarithm and their tangents on SO(3) and SE(3).
pub mod lie {
    pub use leastaction_core::lie::{se3, so3};
}

/// The model: description, builder, and the mechanism that every engine reads.
pub mod mechanism {
    pub use leastaction_core::mechanism::{
        Activation, ActivationDescription, ActivationKind, Actuator, ActuatorDescription, Affine, Body,
        BodyDescription, BodyId, ConstraintDescription, Contact, ContactDescription, Coordinates,
        CouplingDescription, DEFAULT_FRICTION, Drive, DriveEntry, Follower, FollowerLaw, Frame,
        FrameDescription, FrameId, HalfSpaceDescription, InputLaw, Joint, JointDescription, JointId,
        JointRole, JointType, LawDescription, LawSlopes, Limits, LimitsDescription, MODEL_SCHEMA, Mechanism,
        MechanismBuilder, MimicDescription, ModelDescription, ModelError, Motion, MotionDescription,
        Nonholonomic, NonholonomicKind, Origin, Parameter, PerCoordinate, Placement, Problem, Push,
        PushDescription, Row, RowOf, Scalar, Severity, Shape, SpeedLine, SpeedLineDescription,
        SpringDescription, State, StateDescription, SurfaceDescription, SurfaceShape, Tendon,
        TendonDescription, TermDescription, Thruster, ThrusterDescription, UnknownParameter, Visual, WORLD,
        WarmStart, nearest, samples, turn,
    };
}

/// Motions from costs, costs from motions.
pub mod optimize {
    pub use leastaction_motion::optimize::{
        ActiveBound, Banded, BilevelOptions, BilevelSolution, Bound, BoundaryState, ControlPoints, Fit,
        HessianKind, InteriorPointOptions, InverseOptions, InverseSolution, Limit, LimitKind, MotionChart,
        MotionProblem, NewtonOptions, NewtonReport, Observation, Obstacle, OptimizeError, Point, Progress,
        Quantity, QuantityKind, Sampling, Solution, SolveOptions, SolveStatus, SplineTable, Target,
        TaskConstraint, TaskKind, TaskReport, Term, TermKind, Transcription, ViaPoint, When, Wish,
        end_control_points, infer, infer_noisy, minimise, polish, quantities_of, solve, start_control_points,
    };
}

/// The number types that kernels are written over.
pub mod scalar {
    pub use leastaction_core::scalar::{Dual, Real};
}

/// Poses, twists, wrenches, momenta, inertias.
pub mod spatial {
    pub use leastaction_core::spatial::{
        ArticulatedInertia, Inertia, Mat3, Momentum, Pose, Quat, Sym3, Twist, Vec3, Wrench, principal,
    };
}

/// B-splines, also of rotations.
pub mod spline {
    pub use leastaction_motion::spline::{
        BSpline, FitOptions, RotationJet, RotationReference, Sampling, SplineError, SplineFit, SplineTable,
    };
}

/// Tables of a run.
pub mod trajectory {
    pub use leastaction_core::trajectory::{ColumnGroup, Recorded, Sampler, Trajectory, TrajectoryLayout};
}
