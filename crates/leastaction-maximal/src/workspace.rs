//! [`MaximalWorkspace`]: every buffer a step touches.

use super::constraint::Row;
use super::contact::ContactMemory;
use super::curve::CurveMemory;
use super::forces::ImpulseLaw;
use super::geometry::{LinkPose, Side};
use super::graph::Graph;
use super::layout::Layout;
use super::ldu::{Ldu, Six, System};
use super::nonholonomic::Rows;
use super::parts::Driven;
use super::state::MaximalState;
use super::ties::TieColumns;

/// Memory of the maximal integrator for one mechanism. Holds no truth: dropping it loses nothing.
#[derive(Clone, Debug)]
pub struct MaximalWorkspace {
    /// The compiled mechanism and its elimination order: constant.
    pub(crate) layout: Layout,
    pub(crate) graph: Graph,

    /// Constant during a step: incoming momenta about the joint points, impulse laws, force directions at the start.
    pub(crate) step: StepData,
    /// The unknowns: interval velocities, joint wrenches, multipliers, limit impulses.
    pub(crate) iterate: Iterate,
    /// The iterate before a line search.
    pub(crate) base: Iterate,
    /// What evaluating the iterate gives: end poses, geometry and residuals.
    pub(crate) trial: Trial,
    /// Linear solver.
    pub(crate) ldu: Ldu,
    pub(crate) system: System,
    /// Copies of the state for composed and split steps: the start, and the momentum under construction.
    pub(crate) backup: MaximalState,
    /// True if the present step has made its backup.
    pub(crate) saved: bool,
    /// The last accepted interval of a step that had to be split or is composed: the next one's guess.
    pub(crate) last: Iterate,
    /// The first interval of the last step, for output: unknowns, geometry and closures' directions at its start, and half the
    /// time from the node before to the node after.
    pub(crate) node: Iterate,
    pub(crate) node_side: Side,
    pub(crate) node_rows: Vec<[Row; 6]>,
    pub(crate) node_time: f64,
    /// Intervals accepted within the present step.
    pub(crate) accepted: u32,
    pub(crate) scratch_rows: Vec<[Row; 6]>,
    /// Inputs of the step as [`StepData::known`] has them, and the impulse of every input over the last step.
    pub(crate) inputs: Vec<f64>,
    pub(crate) actuation: Vec<f64>,
    /// Work of all inputs over it.
    pub(crate) work: f64,
    /// What steps of an order above 2 need.
    pub(crate) curve: Option<Box<CurveMemory>>,
    /// Merits of the last solve, newest last.
    pub(crate) merits: [f64; 8],
    /// What cuts steps at events, where coordinates have friction or limits and the mechanism is a tree.
    pub(crate) driven: Option<Box<Driven>>,
    /// What steps with contact need.
    pub(crate) contact: Option<Box<ContactMemory>>,
    /// Ties beside the matrix of a node, and their slopes there.
    pub(crate) ties: Option<Box<TieColumns>>,
    pub(crate) tie_slopes: Vec<f64>,
    /// Impulses of the drives over the last step.
    pub(crate) drives: Vec<f64>,
    /// The row of each velocity coordinate.
    pub(crate) row_of: Vec<Option<usize>>,
}

/// What stays constant while a step is solved.
#[derive(Clone, Debug)]
pub(crate) struct StepData {
    pub(crate) h: f64,
    /// Incoming momentum about the centre of mass (with the first half kick).
    pub(crate) incoming: Vec<Six>,
    /// The same about the joint point.
    pub(crate) incoming_point: Vec<Six>,
    pub(crate) scales: Scales,
    pub(crate) law: Vec<ImpulseLaw>,
    pub(crate) law_loop: Vec<[ImpulseLaw; 3]>,
    pub(crate) implicit: Vec<bool>,
    pub(crate) implicit_loop: Vec<[bool; 3]>,
    /// Inputs of the step: forces where they are known before it, with their derivatives by the inputs.
    pub(crate) known: Vec<f64>,
    pub(crate) input_slopes: Vec<f64>,
    /// Force directions of the closures at the start (joint rows), and of rolling constraints (centre-of-mass rows).
    pub(crate) rows: Vec<[Row; 6]>,
    /// Rows of the closures in use, by the last factorization of the step; all of them before the first.
    pub(crate) kept: Vec<[bool; 6]>,
    /// Signs of the limits watched: +1 lower, −1 upper, 0 none.
    pub(crate) limit_side: Vec<f64>,
    pub(crate) limit_side_loop: Vec<[f64; 3]>,
    pub(crate) enforce_limits: bool,
    /// Springs are kicks at the nodes, however stiff.
    pub(crate) explicit_springs: bool,
    /// True if the driver of friction and limits says which coordinates are held.
    pub(crate) driven: bool,
    /// Where coordinates are held by the driver of friction and limits; not a number where they are not.
    pub(crate) held: Vec<f64>,
    /// Friction of sliding coordinates, of the tree and of loops.
    pub(crate) friction: Vec<f64>,
    pub(crate) friction_loop: Vec<[f64; 3]>,
    /// Where ties are held; not a number where they do not act.
    pub(crate) tied: Vec<f64>,
}

/// What residuals are measured by: all of it from the model, the state and the step, so that a mechanism of another size,
/// mass or speed takes the same steps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scales {
    /// Largest incoming momentum of a link.
    pub(crate) impulse: f64,
    /// That momentum as a speed of the heaviest link.
    pub(crate) speed: f64,
    /// Length that angular momenta and rotations are compared by.
    pub(crate) length: f64,
    /// Largest distance of a link from the origin: positions are rounded to `ε` of it.
    pub(crate) reach: f64,
}

/// Largest angular and largest linear row.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worst {
    pub(crate) ang: f64,
    pub(crate) lin: f64,
}

/// The unknowns of the nonlinear equations.
#[derive(Clone, Debug)]
pub(crate) struct Iterate {
    /// Interval velocities `[ω body; v world]`.
    pub(crate) w: Vec<Six>,
    /// Wrench of each link's joint on the link, about the joint point at the start.
    pub(crate) wrench: Vec<Six>,
    /// Multipliers of the closures.
    pub(crate) lam: Vec<Six>,
    /// Limit impulses.
    pub(crate) limit: Vec<f64>,
}

impl Iterate {
    pub(crate) fn copy_from(&mut self, o: &Self) {
        self.w.copy_from_slice(&o.w);
        self.wrench.copy_from_slice(&o.wrench);
        self.lam.copy_from_slice(&o.lam);
        self.limit.copy_from_slice(&o.limit);
    }
}

/// What an evaluation gives.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    pub(crate) poses: Vec<LinkPose>,
    pub(crate) side: Side,
    /// Leaving minus incoming momentum about the joint point.
    pub(crate) unbalanced: Vec<Six>,
    /// Residual of the body rows with the joints' wrenches.
    pub(crate) residual: Vec<Six>,
    /// Particular velocities of the tree joints' rows, and residuals of the closures.
    pub(crate) particular: Vec<Six>,
    pub(crate) closure: Vec<Six>,
    /// Start impulses of the coordinate rows, Fischer–Burmeister values and slopes of the limits.
    pub(crate) impulse: Vec<f64>,
    /// Their slopes `−ds/d(dy)`, and the part of servos.
    pub(crate) alpha: Vec<f64>,
    pub(crate) driven: Vec<f64>,
    pub(crate) limit: Vec<[f64; 3]>,
    pub(crate) limit_loop: Vec<[[f64; 3]; 3]>,
    /// Increments of the coordinates.
    pub(crate) dy: Vec<f64>,
    pub(crate) dy_loop: Vec<[f64; 3]>,
    pub(crate) merit: f64,
    /// Largest body residual and constraint value.
    pub(crate) worst_body: Worst,
    pub(crate) worst_gap: Worst,
    /// Largest value of the rows out of use.
    pub(crate) left_open: Worst,
    /// Sum of the magnitudes of a link's terms: what its rows round to.
    pub(crate) sizes: Vec<Worst>,
    pub(crate) slopes: Rows,
}

impl MaximalWorkspace {
    pub(crate) fn new(
        layout: Layout,
        (stages, degree): (usize, usize),
        nq: usize,
        nv: usize,
        enforce_limits: bool,
    ) -> Self {
        let graph = Graph::new(&layout);
        let (n, nc, nl) = (layout.links.len(), layout.closures.len(), layout.loops.len());
        let iterate = Iterate {
            w: vec![[0.0; 6]; n],
            wrench: vec![[0.0; 6]; n],
            lam: vec![[0.0; 6]; nc],
            limit: vec![0.0; nv],
        };
        Self {
            step: StepData {
                h: 0.0,
                incoming: vec![[0.0; 6]; n],
                incoming_point: vec![[0.0; 6]; n],
                scales: Scales::default(),
                law: vec![ImpulseLaw::default(); nv],
                law_loop: vec![[ImpulseLaw::default(); 3]; nl],
                implicit: vec![false; nv],
                implicit_loop: vec![[false; 3]; nl],
                known: vec![0.0; layout.places.len()],
                input_slopes: vec![1.0; layout.places.len()],
                rows: vec![[Row::default(); 6]; nc],
                kept: vec![[true; 6]; nc],
                limit_side: vec![0.0; nv],
                limit_side_loop: vec![[0.0; 3]; nl],
                enforce_limits: enforce_limits && layout.limited,
                explicit_springs: false,
                driven: false,
                held: vec![f64::NAN; nv],
                friction: vec![0.0; nv],
                friction_loop: vec![[0.0; 3]; nl],
                tied: layout.ties.iter().map(|tie| if tie.row.is_none() { 0.0 } else { f64::NAN }).collect(),
            },
            trial: Trial {
                poses: vec![LinkPose::identity(); n],
                side: Side::new(&layout),
                unbalanced: vec![[0.0; 6]; n],
                residual: vec![[0.0; 6]; n],
                particular: vec![[0.0; 6]; n],
                closure: vec![[0.0; 6]; nc],
                impulse: vec![0.0; nv],
                alpha: vec![0.0; nv],
                driven: vec![0.0; nv],
                limit: vec![[0.0; 3]; nv],
                limit_loop: vec![[[0.0; 3]; 3]; nl],
                dy: vec![0.0; nv],
                dy_loop: vec![[0.0; 3]; nl],
                merit: 0.0,
                worst_body: Worst::default(),
                worst_gap: Worst::default(),
                left_open: Worst::default(),
                sizes: vec![Worst::default(); n],
                slopes: [[0.0; 6]; 6],
            },
            ldu: Ldu::new(&layout, &graph, nv),
            system: System::new(&layout, nv),
            backup: MaximalState::new(&layout, (stages, degree), nq, nv),
            saved: false,
            base: iterate.clone(),
            last: iterate.clone(),
            node: iterate.clone(),
            node_side: Side::new(&layout),
            node_rows: vec![[Row::default(); 6]; nc],
            node_time: 0.0,
            accepted: 0,
            scratch_rows: vec![[Row::default(); 6]; nc],
            inputs: vec![0.0; layout.places.len()],
            work: 0.0,
            actuation: vec![0.0; layout.places.len()],
            merits: [0.0; 8],
            driven: None,
            contact: None,
            row_of: vec![None; nv],
            ties: (!layout.ties.is_empty()).then(|| Box::new(TieColumns::new(&layout, nv))),
            tie_slopes: vec![0.0; layout.tie_parts()],
            drives: vec![0.0; layout.ties.iter().filter(|tie| tie.motion().is_some()).count()],
            curve: (degree > 0).then(|| Box::new(CurveMemory::new(&layout, degree, nq, nv))),
            iterate,
            layout,
            graph,
        }
    }

    /// Calls `each(drive, tie, impulse)` for every drive with its tie's impulse in the read-out just made.
    pub(crate) fn read_drives(&mut self, each: impl Fn(&mut f64, usize, f64)) {
        let Some(ties) = &self.ties else { return };
        let driven = self.layout.ties.iter().enumerate().filter(|(_, tie)| tie.motion().is_some());
        for (drive, (o, _)) in self.drives.iter_mut().zip(driven) {
            each(drive, o, ties.eta[o]);
        }
    }

    /// Keeps the start of the present step, once.
    pub(crate) fn save(&mut self, state: &MaximalState) {
        if !self.saved {
            self.backup.save(state);
            self.saved = true;
        }
    }

    /// Flops of one factorization with dense blocks, as the symbolic phase counts them.
    #[must_use]
    pub fn estimated_flops(&self) -> f64 {
        self.graph.flops
    }

    /// Scaled residuals before each Newton iteration of the last solve and after it, oldest first, at most eight.
    #[must_use]
    pub fn convergence(&self) -> &[f64] {
        &self.merits[self.merits.iter().position(|m| *m != 0.0).unwrap_or(8)..]
    }

    /// Block operations of the last numeric factorization.
    #[must_use]
    pub fn block_operations(&self) -> u64 {
        self.ldu.block_operations
    }
}
