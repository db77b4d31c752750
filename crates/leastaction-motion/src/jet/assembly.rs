//! [`TorqueJacobian`]: all derivatives of all torques and torque rates, assembled at about the cost of writing them.
//!
//! The sweep runs in four stages. Motion goes outward joint by joint, three components of a vector at once. Inertias and momenta are independent of one
//! another once the motion is known, so four links are computed at once, one per lane; likewise the vectors of (4.11)
//! and (4.12), four columns at once. Then every column meets its ancestors, four at once: they lie on a stack in
//! depth-first order, component by component, so that lanes are loaded without shuffles.

use std::sync::Arc;

use super::JetError;
use super::assembly_links::{columns, composites, links};
use super::assembly_motion::motion;
use super::assembly_pairs::pairs;
use super::stage::StageTree;
use super::workspace::JetWorkspace;
use super::{factorial, torque_jacobian::emit};
use crate::mechanism::Mechanism;
use crate::simd::{Kernel, LANES, Simd, dispatch};

/// Numbers per order and stage: first moment, rotational inertia, momentum, one of padding.
pub(super) const ROW: usize = 16;
/// Numbers per order and column for the ancestors' side: s, s1, s2.
pub(super) const ANCESTOR: usize = 18;
/// Numbers per order and column for its own side: a, c, k, b, e, τ.
pub(super) const OWN: usize = 28;
pub(super) const FACTORIAL: [f64; 6] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0];
/// Numbers per twist: angular part, one of padding, linear part, one of padding.
pub(super) const PADDED: usize = 8;
/// Velocity coefficients of the largest constant order.
const MAX: usize = 6;

/// `∂τ^(l)/∂q^(m)` for all torques, `l = 0..=k`, `m = 0..=l+2`, in plain derivatives.
///
/// For one-axis joints `q^(m)` is the m-th derivative of the coordinate; for ball and free joints it is that of the
/// tangent function ξ(t), a perturbation on the right.
///
/// ```
/// use leastaction::jet::TorqueJacobian;
/// use leastaction::mechanism::{MechanismBuilder, samples};
///
/// let mechanism = MechanismBuilder::from(samples::chain(2)).build()?;
/// let mut jacobian = TorqueJacobian::new(&mechanism, 0)?;
/// jacobian.evaluate(&[0.3, -0.2], &[&[0.1, 0.4], &[0.0, 1.0]])?;
/// let mass_matrix = jacobian.block(0, 2); // ∂τ/∂q̈, row-major
/// assert!((mass_matrix[1] - mass_matrix[2]).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TorqueJacobian {
    pub(super) jets: JetWorkspace<f64>,
    pub(super) plan: Plan,
    /// Columns of the rotation and position of each stage, `[stage][4][4]`.
    pub(super) frames: Vec<f64>,
    /// Velocities, `[stage][order][PADDED]`.
    pub(super) velocities: Vec<f64>,
    /// Joint columns, `[velocity coordinate][order][PADDED]`.
    pub(super) axes: Vec<f64>,
    /// Composite rows, `[stage][order][ROW]`.
    pub(super) rows: Vec<f64>,
    /// `[four positions][order][ANCESTOR][lane]`.
    pub(super) ancestors: Vec<f64>,
    /// The same along the present path, for trees that branch.
    pub(super) path: Vec<f64>,
    pub(super) path_columns: Vec<usize>,
    /// `[position][order][OWN]`.
    pub(super) own: Vec<f64>,
    pub(super) torques: Vec<f64>,
    /// `f`, `f m`, `f m (m−1)` with `f = l!/m!`, of each block.
    pub(super) factors: Vec<[f64; 3]>,
    /// Entries of one column below the diagonal, and of the last four above it, over positions on the path:
    /// `[block][below, four columns above][position]`.
    pub(super) lines: Vec<f64>,
    /// `[block][row][column]`.
    pub(super) out: Vec<f64>,
}

/// What does not depend on the state.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) tree: Arc<StageTree>,
    /// Mass of each composite.
    pub(super) masses: Vec<f64>,
    /// Inertias of four stages at once: mass, moment, rotation.
    pub(super) inertias: Vec<[[f64; LANES]; 10]>,
    /// Velocity coordinate of each position in depth-first order.
    pub(super) columns: Vec<usize>,
    /// Stage of each position.
    pub(super) stages: Vec<usize>,
    /// Position of the first column of each stage.
    pub(super) start: Vec<usize>,
    /// Number of columns above each stage.
    pub(super) depth: Vec<usize>,
    /// True if the ancestors of every position are all positions before it, in coordinate order.
    pub(super) straight: bool,
    /// True if besides every stage has one column: then above the diagonal blocks of four columns are full.
    pub(super) narrow: bool,
    /// Positions padded to whole vectors.
    pub(super) stride: usize,
}

impl Plan {
    fn new(tree: Arc<StageTree>) -> Self {
        let mut masses: Vec<f64> = tree.stages.iter().map(|s| s.inertia.mass).collect();
        for i in (0..masses.len()).rev() {
            if let Some(p) = tree.stages[i].parent {
                masses[p] += masses[i];
            }
        }
        let groups = tree.stages.len().div_ceil(LANES);
        let mut inertias = vec![[[0.0; LANES]; 10]; groups];
        for (i, stage) in tree.stages.iter().enumerate() {
            let g = &mut inertias[i / LANES];
            let numbers = [stage.inertia.mass].into_iter().chain(stage.inertia.moment.0);
            for (k, x) in numbers.chain(stage.inertia.rot.0).enumerate() {
                g[k][i % LANES] = x;
            }
        }
        let (mut columns, mut stages, mut start, mut depth) = (vec![], vec![], vec![], vec![]);
        for (i, stage) in tree.stages.iter().enumerate() {
            start.push(columns.len());
            depth.push(stage.parent.map_or(0, |p| depth[p] + tree.stages[p].nv));
            columns.extend(stage.v..stage.v + stage.nv);
            stages.extend(std::iter::repeat_n(i, stage.nv));
        }
        let straight = start == depth && columns.iter().enumerate().all(|(i, c)| i == *c);
        let narrow = straight && tree.stages.iter().all(|stage| stage.nv == 1);
        let stride = columns.len().next_multiple_of(LANES);
        Self { tree, masses, inertias, columns, stages, start, depth, straight, narrow, stride }
    }
}

impl TorqueJacobian {
    /// Memory for a mechanism and torque order `k ≥ 0`.
    ///
    /// # Errors
    /// If `k` is negative.
    pub fn new(mechanism: &Mechanism, k: i32) -> Result<Self, JetError> {
        if k < 0 {
            return Err(JetError::Order { quantity: "torque", order: 0, needed: 0, found: k });
        }
        let jets = JetWorkspace::new(mechanism, k);
        let plan = Plan::new(Arc::clone(&jets.tree));
        let (n, nv) = (jets.n, jets.nv());
        let count = n - 1;
        let blocks = count * (count + 5) / 2;
        Ok(Self {
            frames: vec![0.0; plan.tree.stages.len() * 16],
            velocities: vec![0.0; plan.tree.stages.len() * n * PADDED],
            axes: vec![0.0; nv * (n + 1) * PADDED],
            rows: vec![0.0; plan.tree.stages.len() * n * ROW],
            ancestors: vec![0.0; count * ANCESTOR * plan.stride],
            path: vec![0.0; count * ANCESTOR * plan.stride],
            path_columns: vec![0; plan.stride],
            own: vec![0.0; plan.stride * count * OWN],
            torques: vec![0.0; count * nv],
            factors: (0..count).flat_map(|l| (0..l + 3).map(move |m| factors(l, m))).collect(),
            lines: vec![0.0; blocks * (1 + LANES) * plan.stride],
            out: vec![0.0; blocks * nv * nv],
            plan,
            jets,
        })
    }

    /// Torque order `k`.
    #[must_use]
    pub fn order(&self) -> i32 {
        self.jets.order()
    }

    /// `∂τ^(l)/∂q^(m)`, row-major `nv × nv`.
    ///
    /// # Panics
    /// If `l > k` or `m > l + 2`.
    #[must_use]
    pub fn block(&self, l: usize, m: usize) -> &[f64] {
        assert!(l < self.jets.n - 1 && m <= l + 2, "there is no block ({l}, {m})");
        let size = self.jets.nv() * self.jets.nv();
        let at = (l * (l + 5) / 2 + m) * size;
        &self.out[at..at + size]
    }

    /// `τ^(l)`, plain derivative.
    #[must_use]
    pub fn torque(&self, l: usize) -> &[f64] {
        let nv = self.jets.nv();
        &self.torques[l * nv..(l + 1) * nv]
    }

    /// Evaluates at positions `q` and plain derivatives (velocity, acceleration, …; `k + 2` of them). Does not allocate.
    ///
    /// # Errors
    /// As [`JetWorkspace::forward`].
    pub fn evaluate(&mut self, q: &[f64], derivatives: &[&[f64]]) -> Result<(), JetError> {
        self.jets.set_derivatives(q, derivatives)?;
        self.run()
    }

    /// The same from velocity coefficients, order-major; those beyond the order are left out.
    pub(crate) fn evaluate_coefficients(&mut self, q: &[f64], y: &[f64]) -> Result<(), JetError> {
        let used = self.jets.y.len();
        self.jets.q.copy_from_slice(q);
        self.jets.y.copy_from_slice(&y[..used]);
        self.run()
    }

    fn run(&mut self) -> Result<(), JetError> {
        let n = self.jets.n;
        // Which path is taken must not depend on the processor: the two differ in their last digits.
        if n > MAX {
            self.jets.run()?;
            self.assemble_any_order();
            return Ok(());
        }
        self.jets.normalize()?;
        match n {
            2 => dispatch(Assemble::<2, 1>(self)),
            3 => dispatch(Assemble::<3, 2>(self)),
            4 => dispatch(Assemble::<4, 3>(self)),
            5 => dispatch(Assemble::<5, 4>(self)),
            _ => dispatch(Assemble::<6, 5>(self)),
        }
        if self.jets.passive {
            self.add_passive();
        }
        Ok(())
    }

    /// Whether springs, dampers and armature of the joints are included (off at first). Takes effect at the next
    /// [`evaluate`](Self::evaluate).
    pub fn include_passive(&mut self, yes: bool) {
        self.jets.include_passive(yes);
    }

    /// What the joints themselves do, added to what the fast path has written.
    fn add_passive(&mut self) {
        let (nv, count) = (self.jets.nv(), self.jets.n - 1);
        self.jets.tau.fill(0.0);
        self.jets.add_passive();
        for l in 0..count {
            for c in 0..nv {
                self.torques[l * nv + c] += self.jets.tau[l * nv + c] * factorial(l);
            }
        }
        let mut mck = std::mem::take(&mut self.jets.torque_scratch.mck);
        let out = &mut self.out;
        self.jets.each_passive_pair(&mut mck, |row, column, m, c, k| {
            for l in 0..count {
                for order in 0..l + 3 {
                    let f = factorial(l) / factorial(order);
                    out[(l * (l + 5) / 2 + order) * nv * nv + row * nv + column] +=
                        f * emit(m, c, k, l, order);
                }
            }
        });
        self.jets.torque_scratch.mck = mck;
    }

    /// Orders without a constant path: the general pairs of the workspace.
    fn assemble_any_order(&mut self) {
        let (nv, count) = (self.jets.nv(), self.jets.n - 1);
        let out = &mut self.out;
        self.jets.each_pair(|row, column, m, c, k| {
            for l in 0..count {
                for order in 0..l + 3 {
                    let f = factorial(l) / factorial(order);
                    out[(l * (l + 5) / 2 + order) * nv * nv + row * nv + column] =
                        f * emit(m, c, k, l, order);
                }
            }
        });
        for l in 0..count {
            for c in 0..nv {
                self.torques[l * nv + c] = self.jets.tau[l * nv + c] * factorial(l);
            }
        }
    }
}

fn factors(l: usize, m: usize) -> [f64; 3] {
    let f = factorial(l) / factorial(m);
    [f, f * m as f64, f * (m * m.saturating_sub(1)) as f64]
}

/// `N` velocity and `C = N − 1` force coefficients.
struct Assemble<'a, const N: usize, const C: usize>(&'a mut TorqueJacobian);

impl<const N: usize, const C: usize> Kernel for Assemble<'_, N, C> {
    type Output = ();
    #[inline(always)]
    fn run<V: Simd>(self) {
        motion::<V, N>(self.0);
        links::<V, N>(self.0);
        composites::<V, N>(self.0);
        columns::<V, N, C>(self.0);
        pairs::<V, C>(self.0);
    }
}
