//! Steps of any even order 2s: poses as polynomials through Lobatto nodes, constraints at the nodes. (8.6), (8.7)
//!
//! Over a step the rotation matrix and the position of every link are polynomials of degree s. The action is summed at the
//! Lobatto nodes; constraints hold at nodes 1 to s and have impulses at nodes 0 to s − 1:
//!
//! ```text
//! r^α = [α = 0] P + K^α + w^α h F^α + Cᵀs^α + G(pose^α)ᵀΛ^α = 0     α = 0..s−1
//! g(pose^γ) = 0                                                     γ = 1..s
//! P' = P + Σ (w^α h F^α + Cᵀs^α) + Σ GᵀΛ^α
//! ```
//!
//! The equations are solved with one factored mass matrix per step, in the graph order of the order-2 engine
//! ([`chord`]); [`exact`] is Newton's method on them, for steps where that does not converge and for derivatives. State,
//! joints, rows and read-out are those of order 2, which is this scheme at s = 1. Theory: `docs/theory/08-any-order-loops.md`.

mod block_ldu;
mod body;
mod chord;
mod damped;
mod derivative;
mod elements;
mod exact;
mod exact_ties;
mod forces;
mod held;
mod lanes;
mod residual;
mod rows;
mod slopes;
mod step;
mod table;
mod tied;
mod unknowns;

pub(crate) use derivative::CurveSlope;
pub(crate) use exact::Exact;
pub use forces::StepNode;
pub(crate) use step::accept;
pub(crate) use table::{NODES, Table};
pub(crate) use unknowns::Past;

/// Largest order of a step.
pub(crate) const MAX_ORDER: u32 = 2 * table::MAX_DEGREE as u32;

use crate::constraint::Row;
use crate::geometry::{LinkPose, Side};
use crate::layout::Layout;
use crate::ldu::{Six, System};
use crate::spatial::{Mat3, Vec3};
use crate::state::MaximalState;
use crate::ties::TieColumns;
use crate::workspace::Worst;
use unknowns::Unknowns;

/// All poses of one node, and what they give.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) poses: Vec<LinkPose>,
    pub(crate) side: Side,
    /// Position coordinates, angles unwrapped against the start; only where springs need them.
    pub(crate) q: Vec<f64>,
    pub(crate) q_loop: Vec<[f64; 7]>,
    /// What the joint points have moved by since the start of the step.
    pub(crate) moved: Vec<Vec3>,
    /// Values of the tree joints' rows by link, of the closures' rows by closure, of held coordinates by coordinate,
    /// then of ties.
    pub(crate) values: Vec<Six>,
    pub(crate) closure: Vec<Six>,
    pub(crate) held: Vec<f64>,
}

/// Memory of a step of degree s. Holds no truth.
#[derive(Clone, Debug)]
pub(crate) struct CurveMemory {
    pub(crate) table: Table,
    /// The iterate, and what evaluating it gives at nodes 1 to s.
    pub(crate) x: Unknowns,
    pub(crate) nodes: Vec<Node>,
    /// Impulses on the links at nodes 0 to s but for the kinetic action's: about the centres of mass, world axes.
    pub(crate) given: Vec<Six>,
    /// Momenta at the end, where they were summed already; then no node but the last needs to be placed.
    pub(crate) leaving: Vec<Six>,
    pub(crate) summed: bool,
    /// Equations of nodes 0 to s − 1: torques in link axes, forces in world axes.
    pub(crate) residual: Vec<Six>,
    pub(crate) worst: Worst,
    /// Largest turn per step that a torque left in the equations would make of a link by itself.
    pub(crate) loose: f64,
    pub(crate) gap: Worst,
    /// Second moments of the links in world axes at the start.
    pub(crate) second: Vec<Mat3>,
    /// Second moments of the links in their own axes.
    pub(crate) own_second: Vec<Mat3>,
    /// Rows of the closures that are used in this step. (8.11)
    pub(crate) kept: Vec<[bool; 6]>,
    pub(crate) dropped: u32,
    /// True if they are chosen at the middle of the guess, with its factors.
    pub(crate) foresees: bool,
    /// The pose whose mass matrix is factored.
    pub(crate) middle: Node,
    pub(crate) rows: Vec<[Row; 6]>,
    pub(crate) systems: Vec<System>,
    /// Slopes of the ties at nodes 0 to s, and their columns beside the mass matrix.
    pub(crate) tie_slopes: Vec<Vec<f64>>,
    pub(crate) ties: Option<Box<TieColumns>>,
    /// True if some coordinate is damped: nodes are solved one after the other.
    pub(crate) damps: bool,
    /// `c h` of the coordinates.
    pub(crate) damping: Vec<f64>,
    /// True if some force depends on the pose.
    pub(crate) loaded: bool,
    /// Where the last step started, and the inputs it was taken with.
    pub(crate) started: MaximalState,
    pub(crate) input: Vec<f64>,
    /// Nodes side by side, where the mechanism lets them be.
    pub(crate) lanes: Option<lanes::Lanes>,
    /// Newton's method, made when first needed.
    pub(crate) exact: Option<Box<Exact>>,
}

impl Node {
    fn new(layout: &Layout, nq: usize) -> Self {
        let n = layout.links.len();
        Self {
            poses: vec![LinkPose::identity(); n],
            side: Side::new(layout),
            q: vec![0.0; nq],
            q_loop: vec![[0.0; 7]; layout.loops.len()],
            moved: vec![Vec3::zero(); n],
            values: vec![[0.0; 6]; n],
            closure: vec![[0.0; 6]; layout.closures.len()],
            held: vec![0.0; layout.held],
        }
    }
}

impl CurveMemory {
    pub(crate) fn new(layout: &Layout, s: usize, nq: usize, nv: usize) -> Self {
        let inputs = layout.inputs;
        let (n, nc) = (layout.links.len(), layout.closures.len());
        let joints = || layout.links.iter().map(|l| &l.joint).chain(&layout.loops);
        let loaded = layout.links.iter().any(|l| !(l.thrusters.is_empty() && l.pushes.is_empty()))
            || joints().any(|j| j.rows.has_springs || !j.actuators.is_empty());
        Self {
            table: Table::new(s),
            lanes: lanes::Lanes::new(layout, s, nv, loaded),
            x: Unknowns::new(s, n, nc, layout.held),
            nodes: vec![Node::new(layout, nq); s],
            given: vec![[0.0; 6]; (s + 1) * n],
            leaving: vec![[0.0; 6]; n],
            summed: false,
            residual: vec![[0.0; 6]; s * n],
            worst: Worst::default(),
            loose: 0.0,
            gap: Worst::default(),
            second: vec![Mat3::zero(); n],
            own_second: layout.links.iter().map(|l| body::second_moments(&l.inertia)).collect(),
            kept: vec![[true; 6]; nc],
            dropped: 0,
            foresees: false,
            middle: Node::new(layout, nq),
            rows: vec![[Row::default(); 6]; nc],
            systems: vec![System::new(layout, nv); s],
            started: MaximalState::new(layout, (1, 0), nq, nv),
            input: vec![0.0; inputs],
            exact: None,
            damping: vec![0.0; nv],
            damps: s > 1
                && layout
                    .links
                    .iter()
                    .any(|l| !l.joint.servos.is_empty() || l.joint.rows.damping != [0.0; 6]),
            tie_slopes: vec![vec![0.0; layout.tie_parts()]; s + 1],
            ties: (!layout.ties.is_empty()).then(|| Box::new(TieColumns::new(layout, nv))),
            loaded,
        }
    }
}
