//! [`TorqueJacobian`]: all derivatives of all torques and torque rates, assembled at about the cost of writing them.
//!
//! The sweep runs in four stages. Motion goes outward joint by joint. Inertias and momenta are independent of one
//! another once the motion is known, so four links are computed at once, one per lane; likewise the vectors of (4.11)
//! and (4.12), four columns at once. Then every column meets its ancestors, four at once: they lie on a stack in
//! depth-first order, component by component, so that lanes are loaded without shuffles.

use std::sync::Arc;

use super::JetError;
use super::stage::StageTree;
use super::taylor::{InertiaCoefficient, cross_force_at, inertia_at, inertia_next, inertia_rate_at, next};
use super::workspace::JetWorkspace;
use super::{factorial, torque_jacobian::emit};
use crate::mechanism::Mechanism;
use crate::simd::{Kernel, LANES, Simd, Task, Wide, dispatch, has_wide, run_wide};
use crate::spatial::{Inertia, Mat3, Pose, Sym3, Twist, Vec3, Wrench};

/// Numbers per order and stage: first moment, rotational inertia, momentum, one of padding.
const ROW: usize = 16;
/// Numbers per order and column for the ancestors' side: s, s1, s2.
const ANCESTOR: usize = 18;
/// Numbers per order and column for its own side: a, c, k, b, e, τ.
const OWN: usize = 28;
const FACTORIAL: [f64; 6] = [1.0, 1.0, 2.0, 6.0, 24.0, 120.0];
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
    jets: JetWorkspace<f64>,
    plan: Plan,
    /// Composite rows, `[stage][order][ROW]`.
    rows: Vec<f64>,
    /// `[order][ANCESTOR][position]`, positions padded to whole vectors.
    ancestors: Vec<f64>,
    /// The same along the present path, for trees that branch.
    path: Vec<f64>,
    path_columns: Vec<usize>,
    /// `[position][order][OWN]`.
    own: Vec<f64>,
    torques: Vec<f64>,
    /// `f`, `f m`, `f m (m−1)` with `f = l!/m!`, of each block.
    factors: Vec<[f64; 3]>,
    /// Entries of one column: `[block][below, above the diagonal][position on the path]`.
    lines: Vec<f64>,
    /// `[block][row][column]`.
    out: Vec<f64>,
}

/// What does not depend on the state.
#[derive(Clone, Debug)]
struct Plan {
    tree: Arc<StageTree>,
    /// Mass of each composite.
    masses: Vec<f64>,
    /// Inertias of four stages at once: mass, moment, rotation.
    inertias: Vec<[[f64; LANES]; 10]>,
    /// Velocity coordinate of each position in depth-first order.
    columns: Vec<usize>,
    /// Stage of each position.
    stages: Vec<usize>,
    /// Position of the first column of each stage.
    start: Vec<usize>,
    /// Number of columns above each stage.
    depth: Vec<usize>,
    /// True if the ancestors of every position are all positions before it, in coordinate order.
    straight: bool,
    /// Positions padded to whole vectors.
    stride: usize,
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
        let stride = columns.len().next_multiple_of(LANES);
        Self { tree, masses, inertias, columns, stages, start, depth, straight, stride }
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
            rows: vec![0.0; plan.tree.stages.len() * n * ROW],
            ancestors: vec![0.0; count * ANCESTOR * plan.stride],
            path: vec![0.0; count * ANCESTOR * plan.stride],
            path_columns: vec![0; plan.stride],
            own: vec![0.0; plan.stride * count * OWN],
            torques: vec![0.0; count * nv],
            factors: (0..count).flat_map(|l| (0..l + 3).map(move |m| factors(l, m))).collect(),
            lines: vec![0.0; blocks * 2 * plan.stride],
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
        let n = self.jets.n;
        // Plain lanes are compiled for order 0 only: elsewhere they gain little over the general path.
        if n > MAX || (n > 2 && !has_wide()) {
            self.jets.run()?;
            self.assemble_any_order();
            return Ok(());
        }
        self.jets.run_motion()?;
        match n {
            2 => dispatch(Assemble::<2, 1>(self)),
            3 => run_wide(Assemble::<3, 2>(self)),
            4 => run_wide(Assemble::<4, 3>(self)),
            5 => run_wide(Assemble::<5, 4>(self)),
            _ => run_wide(Assemble::<6, 5>(self)),
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
        links::<V, N>(self.0);
        composites::<V, N>(self.0);
        columns::<V, N, C>(self.0);
        pairs::<V, C>(self.0);
    }
}

impl<const N: usize, const C: usize> Task for Assemble<'_, N, C> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        Kernel::run::<Wide>(self);
    }
}

/// One number of four places.
#[inline(always)]
fn gather<V: Simd>(f: impl Fn(usize) -> f64) -> V {
    V::from_lanes([f(0), f(1), f(2), f(3)])
}

#[inline(always)]
fn gather_twist<V: Simd>(x: [&Twist; LANES]) -> Twist<V> {
    let ang = |i: usize| V::from_lanes([x[0].ang.0[i], x[1].ang.0[i], x[2].ang.0[i], x[3].ang.0[i]]);
    let lin = |i: usize| V::from_lanes([x[0].lin.0[i], x[1].lin.0[i], x[2].lin.0[i], x[3].lin.0[i]]);
    Twist::new(Vec3([ang(0), ang(1), ang(2)]), Vec3([lin(0), lin(1), lin(2)]))
}

/// Inertias and momenta of all links, four at once, written row by row.
#[inline(always)]
fn links<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let count = tj.plan.tree.stages.len();
    for (g, packed) in tj.plan.inertias.iter().enumerate() {
        let at = |k: usize| (g * LANES + k).min(count - 1);
        let at = [at(0), at(1), at(2), at(3)];
        let poses = &tj.jets.poses;
        let rot = |r: usize, c: usize| gather::<V>(|k| poses[at[k]].rot.0[r][c]);
        let pos = |r: usize| gather::<V>(|k| poses[at[k]].pos.0[r]);
        let pose = Pose::new(
            Mat3([
                [rot(0, 0), rot(0, 1), rot(0, 2)],
                [rot(1, 0), rot(1, 1), rot(1, 2)],
                [rot(2, 0), rot(2, 1), rot(2, 2)],
            ]),
            Vec3([pos(0), pos(1), pos(2)]),
        );
        let x = |i: usize| V::from_lanes(packed[i]);
        let mass = x(0);
        let inertia = Inertia {
            mass,
            moment: Vec3([x(1), x(2), x(3)]),
            rot: Sym3([x(4), x(5), x(6), x(7), x(8), x(9)]),
        }
        .transformed(&pose);
        let mut v = [Twist::zero(); N];
        let mut ii = [InertiaCoefficient::zero(); N];
        for l in 0..N {
            let v_at = |k: usize| &tj.jets.v[at[k] * N + l];
            v[l] = gather_twist::<V>([v_at(0), v_at(1), v_at(2), v_at(3)]);
        }
        ii[0] = InertiaCoefficient { moment: inertia.moment, rot: inertia.rot };
        for l in 0..N {
            if l + 1 < N {
                ii[l + 1] = inertia_next(mass, &v, &ii, l);
            }
            let h = inertia_at(mass, &ii, &v, l);
            let ([m0, m1, m2], [j0, j1, j2, j3, j4, j5]) = (ii[l].moment.0, ii[l].rot.0);
            let ([n0, n1, n2], [f0, f1, f2]) = (h.ang.0, h.lin.0);
            store_block::<V, N>(&mut tj.rows, (g, l, 0), [m0, m1, m2, j0], count);
            store_block::<V, N>(&mut tj.rows, (g, l, 1), [j1, j2, j3, j4], count);
            store_block::<V, N>(&mut tj.rows, (g, l, 2), [j5, n0, n1, n2], count);
            store_block::<V, N>(&mut tj.rows, (g, l, 3), [f0, f1, f2, V::splat(0.0)], count);
        }
    }
}

/// Four numbers of four stages, into the stages' rows.
#[inline(always)]
fn store_block<V: Simd, const N: usize>(
    rows: &mut [f64],
    (g, l, b): (usize, usize, usize),
    block: [V; LANES],
    count: usize,
) {
    let lanes = V::transpose(block);
    for k in 0..LANES {
        if g * LANES + k < count {
            lanes[k].store(&mut rows[((g * LANES + k) * N + l) * ROW + b * LANES..]);
        }
    }
}

#[inline(always)]
fn load_block<V: Simd, const N: usize>(
    rows: &[f64],
    stage: [usize; LANES],
    l: usize,
    b: usize,
) -> [V; LANES] {
    let row = |k: usize| V::load(&rows[(stage[k] * N + l) * ROW + b * LANES..]);
    V::transpose([row(0), row(1), row(2), row(3)])
}

/// Everything a stage carries, added to it.
#[inline(always)]
fn composites<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let size = N * ROW;
    for (i, stage) in tj.plan.tree.stages.iter().enumerate().rev() {
        if let Some(p) = stage.parent {
            let (low, high) = tj.rows.split_at_mut(i * size);
            let (to, from) = (&mut low[p * size..(p + 1) * size], &high[..size]);
            for k in 0..N * ROW / LANES {
                let sum = V::load(&to[k * LANES..]) + V::load(&from[k * LANES..]);
                sum.store(&mut to[k * LANES..]);
            }
        }
    }
}

/// The vectors of (4.11) and (4.12) of all columns, four at once.
#[inline(always)]
fn columns<V: Simd, const N: usize, const C: usize>(tj: &mut TorqueJacobian) {
    let (stride, nv) = (tj.plan.stride, tj.plan.columns.len());
    let g: Vec3<V> = Vec3::constant(tj.plan.tree.gravity);
    for group in 0..stride / LANES {
        let at = |k: usize| (group * LANES + k).min(nv - 1);
        let at = [at(0), at(1), at(2), at(3)];
        let stage =
            [tj.plan.stages[at[0]], tj.plan.stages[at[1]], tj.plan.stages[at[2]], tj.plan.stages[at[3]]];
        let mass = gather::<V>(|k| tj.plan.masses[stage[k]]);
        let (mut s, mut s1, mut s2) = ([Twist::zero(); C], [Twist::zero(); N], [Twist::zero(); C]);
        let mut ii = [InertiaCoefficient::zero(); N];
        let mut h = [Wrench::zero(); N];
        for l in 0..N + 1 {
            let s_at = |k: usize| &tj.jets.s[tj.plan.columns[at[k]] * (N + 1) + l];
            let x = gather_twist::<V>([s_at(0), s_at(1), s_at(2), s_at(3)]);
            if l < C {
                s[l] = x;
            }
            if l >= 1 {
                s1[l - 1] = x.scale(l as f64);
            }
            if l >= 2 {
                s2[l - 2] = x.scale((l * (l - 1)) as f64);
            }
        }
        for l in 0..N {
            let [m0, m1, m2, j0] = load_block::<V, N>(&tj.rows, stage, l, 0);
            let [j1, j2, j3, j4] = load_block::<V, N>(&tj.rows, stage, l, 1);
            let [j5, n0, n1, n2] = load_block::<V, N>(&tj.rows, stage, l, 2);
            let [f0, f1, f2, _] = load_block::<V, N>(&tj.rows, stage, l, 3);
            ii[l] = InertiaCoefficient { moment: Vec3([m0, m1, m2]), rot: Sym3([j0, j1, j2, j3, j4, j5]) };
            h[l] = Wrench::new(Vec3([n0, n1, n2]), Vec3([f0, f1, f2]));
        }
        let mut fc = [Wrench::zero(); C];
        for l in 0..C {
            fc[l] = h[l + 1].scale(next(l));
            fc[l].ang -= ii[l].moment.cross(g);
            if l == 0 {
                fc[l].lin -= g * mass;
            }
        }
        for l in 0..C {
            let mut tau = V::splat(0.0);
            for m in 0..=l {
                tau += s[m].dot(fc[l - m]);
            }
            let a = inertia_at(mass, &ii, &s, l);
            let (rate, turn) = (inertia_rate_at(&ii, &s, l), cross_force_at(&s, &h, l));
            let c = inertia_at(mass, &ii, &s1, l).scale(2.0) + rate + turn;
            let b = rate - turn;
            let mut k = inertia_at(mass, &ii, &s2, l)
                + cross_force_at(&s1, &h, l)
                + inertia_rate_at(&ii, &s1, l)
                + cross_force_at(&s, &fc, l);
            k.lin += s[l].ang.cross(g) * mass;
            for m in 0..=l {
                k.ang += ii[m].moment.cross(s[l - m].ang.cross(g));
            }
            let e = g.cross(a.lin);
            store_ancestor(&mut tj.ancestors, (l * ANCESTOR, stride, group), s[l]);
            store_ancestor(&mut tj.ancestors, (l * ANCESTOR + 6, stride, group), s1[l]);
            store_ancestor(&mut tj.ancestors, (l * ANCESTOR + 12, stride, group), s2[l]);
            let (a, c, k, b) = (a.to_array(), c.to_array(), k.to_array(), b.to_array());
            let tau_e = [e.0[0], e.0[1], e.0[2], tau];
            let blocks = [
                [a[0], a[1], a[2], a[3]],
                [a[4], a[5], c[0], c[1]],
                [c[2], c[3], c[4], c[5]],
                [k[0], k[1], k[2], k[3]],
                [k[4], k[5], b[0], b[1]],
                [b[2], b[3], b[4], b[5]],
                tau_e,
            ];
            for i in 0..OWN / LANES {
                let rows = V::transpose(blocks[i]);
                for lane in 0..LANES {
                    rows[lane].store(&mut tj.own[((group * LANES + lane) * C + l) * OWN + i * LANES..]);
                }
            }
        }
    }
}

#[inline(always)]
fn store_ancestor<V: Simd>(out: &mut [f64], (row, stride, group): (usize, usize, usize), x: Twist<V>) {
    for i in 0..3 {
        x.ang.0[i].store(&mut out[(row + i) * stride + group * LANES..]);
        x.lin.0[i].store(&mut out[(row + 3 + i) * stride + group * LANES..]);
    }
}

/// Every column with its ancestors: all entries of one column into two line buffers, then those to their places.
#[inline(always)]
fn pairs<V: Simd, const C: usize>(tj: &mut TorqueJacobian) {
    let (stride, nv) = (tj.plan.stride, tj.plan.columns.len());
    let straight = tj.plan.straight;
    for (i, stage) in tj.plan.tree.stages.iter().enumerate() {
        let (start, depth) = (tj.plan.start[i], tj.plan.depth[i]);
        if !straight {
            // Put the stage on the path; what was there belongs to another branch.
            for c in 0..stage.nv {
                for row in 0..C * ANCESTOR {
                    tj.path[row * stride + depth + c] = tj.ancestors[row * stride + start + c];
                }
                tj.path_columns[depth + c] = tj.plan.columns[start + c];
            }
        }
        let path: &[f64] = if straight { &tj.ancestors } else { &tj.path };
        let reach = depth + stage.nv;
        for c in 0..stage.nv {
            let own = &tj.own[(start + c) * C * OWN..(start + c + 1) * C * OWN];
            let d = tj.plan.columns[start + c];
            for l in 0..C {
                tj.torques[l * nv + d] = own[l * OWN + OWN - 1] * FACTORIAL[l];
            }
            let mut first = 0;
            while first < reach {
                let mut jets = [[V::splat(0.0); C]; 5];
                pair_jets::<V, C>(path, stride, first, own, &mut jets);
                let [mass, c_up, k_up, c_low, k_low] = &jets;
                let mut block = 0;
                for l in 0..C {
                    for m in 0..l + 3 {
                        let f = &tj.factors[block];
                        let low = emit_lanes(mass, c_low, k_low, l, m, f);
                        low.store(&mut tj.lines[2 * block * stride + first..]);
                        let up = emit_lanes(mass, c_up, k_up, l, m, f);
                        up.store(&mut tj.lines[(2 * block + 1) * stride + first..]);
                        block += 1;
                    }
                }
                first += LANES;
            }
            for (plane, lines) in tj.out.chunks_exact_mut(nv * nv).zip(tj.lines.chunks_exact(2 * stride)) {
                let (low, up) = lines.split_at(stride);
                if straight {
                    plane[d * nv..d * nv + reach].copy_from_slice(&low[..reach]);
                    for (x, to) in up[..depth].iter().zip(plane[d..].iter_mut().step_by(nv)) {
                        *to = *x;
                    }
                } else {
                    let columns = &tj.path_columns[..reach];
                    let row = &mut plane[d * nv..(d + 1) * nv];
                    for (x, a) in low.iter().zip(columns) {
                        row[*a] = *x;
                    }
                    for (x, a) in up.iter().zip(&columns[..depth]) {
                        plane[a * nv + d] = *x;
                    }
                }
            }
        }
    }
}

/// M, C, K above the diagonal and C, K below it, for four ancestors of one column.
#[inline(always)]
fn pair_jets<V: Simd, const C: usize>(
    path: &[f64],
    stride: usize,
    first: usize,
    own: &[f64],
    jets: &mut [[V; C]; 5],
) {
    for p in 0..C {
        for i in 0..6 {
            let s = V::load(&path[(p * ANCESTOR + i) * stride + first..]);
            let s1 = V::load(&path[(p * ANCESTOR + 6 + i) * stride + first..]);
            let s2 = V::load(&path[(p * ANCESTOR + 12 + i) * stride + first..]);
            let s1_twice = s1 + s1;
            for l in p..C {
                let x = &own[(l - p) * OWN..(l - p + 1) * OWN];
                let (a, b) = (V::splat(x[i]), V::splat(x[18 + i]));
                jets[0][l] = s.fma(a, jets[0][l]);
                jets[1][l] = s.fma(V::splat(x[6 + i]), jets[1][l]);
                jets[2][l] = s.fma(V::splat(x[12 + i]), jets[2][l]);
                jets[3][l] = s1_twice.fma(a, s.fma(b, jets[3][l]));
                jets[4][l] = s2.fma(a, s1.fma(b, jets[4][l]));
                if i < 3 {
                    jets[4][l] = s.fma(V::splat(x[24 + i]), jets[4][l]);
                }
            }
        }
    }
}

/// `f (K_{l−m} + m C_{l−m+1} + m(m−1) M_{l−m+2})` with the factors `f`, `f m`, `f m (m−1)`.
#[inline(always)]
fn emit_lanes<V: Simd, const C: usize>(
    mass: &[V; C],
    c: &[V; C],
    k: &[V; C],
    l: usize,
    m: usize,
    f: &[f64; 3],
) -> V {
    let mut x = V::splat(0.0);
    if m <= l {
        x = k[l - m] * V::splat(f[0]);
    }
    if m >= 1 && m <= l + 1 {
        x = c[l + 1 - m].fma(V::splat(f[1]), x);
    }
    if m >= 2 {
        x = mass[l + 2 - m].fma(V::splat(f[2]), x);
    }
    x
}
