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
use crate::simd::{Kernel, LANES, Simd, dispatch};
use crate::spatial::{Inertia, Mat3, Pose, Sym3, Twist, Vec3, Wrench};

/// Numbers per order and stage: first moment, rotational inertia, momentum, one of padding.
const ROW: usize = 16;
/// Numbers per order and column for the ancestors' side: s, s1, s2.
const ANCESTOR: usize = 18;
/// Numbers per order and column for its own side: a, c, k, b, e.
const OWN: usize = 27;
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
        if n > MAX {
            self.jets.run()?;
            self.assemble_any_order();
            return Ok(());
        }
        self.jets.run_motion()?;
        match n {
            2 => dispatch(Assemble::<2>(self)),
            3 => dispatch(Assemble::<3>(self)),
            4 => dispatch(Assemble::<4>(self)),
            5 => dispatch(Assemble::<5>(self)),
            _ => dispatch(Assemble::<6>(self)),
        }
        Ok(())
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

struct Assemble<'a, const N: usize>(&'a mut TorqueJacobian);

impl<const N: usize> Kernel for Assemble<'_, N> {
    type Output = ();
    #[inline(always)]
    fn run<V: Simd>(self) {
        links::<V, N>(self.0);
        composites::<V, N>(self.0);
        columns::<V, N>(self.0);
        pairs::<V, N>(self.0);
    }
}

#[inline(always)]
fn lanes3<V: Simd>(x: [&Vec3; LANES]) -> Vec3<V> {
    Vec3(std::array::from_fn(|i| V::from_lanes(std::array::from_fn(|k| x[k].0[i]))))
}

#[inline(always)]
fn lanes6<V: Simd>(x: [&Twist; LANES]) -> Twist<V> {
    Twist::new(lanes3(x.map(|t| &t.ang)), lanes3(x.map(|t| &t.lin)))
}

/// Inertias and momenta of all links, four at once, written row by row.
#[inline(always)]
fn links<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let last = tj.plan.tree.stages.len().saturating_sub(1);
    for (g, packed) in tj.plan.inertias.iter().enumerate() {
        let at: [usize; LANES] = std::array::from_fn(|k| (g * LANES + k).min(last));
        let poses = at.map(|i| &tj.jets.poses[i]);
        let pose = Pose::new(
            Mat3(std::array::from_fn(|r| {
                std::array::from_fn(|c| V::from_lanes(std::array::from_fn(|k| poses[k].rot.0[r][c])))
            })),
            lanes3(poses.map(|p| &p.pos)),
        );
        let number = |i: usize| V::from_lanes(packed[i]);
        let mass = number(0);
        let inertia = Inertia {
            mass,
            moment: Vec3([number(1), number(2), number(3)]),
            rot: Sym3(std::array::from_fn(|i| number(4 + i))),
        }
        .transformed(&pose);
        let mut v = [Twist::zero(); MAX];
        let mut ii = [InertiaCoefficient::zero(); MAX];
        for l in 0..N {
            v[l] = lanes6::<V>(at.map(|i| &tj.jets.v[i * N + l]));
        }
        ii[0] = InertiaCoefficient { moment: inertia.moment, rot: inertia.rot };
        for l in 0..N {
            if l + 1 < N {
                ii[l + 1] = inertia_next(mass, &v, &ii, l);
            }
            let h = inertia_at(mass, &ii, &v, l);
            let ([m0, m1, m2], [j0, j1, j2, j3, j4, j5]) = (ii[l].moment.0, ii[l].rot.0);
            let ([n0, n1, n2], [f0, f1, f2]) = (h.ang.0, h.lin.0);
            let zero = V::splat(0.0);
            let blocks = [[m0, m1, m2, j0], [j1, j2, j3, j4], [j5, n0, n1, n2], [f0, f1, f2, zero]];
            for (b, block) in blocks.into_iter().enumerate() {
                let lanes = V::transpose(block);
                for k in 0..LANES {
                    if g * LANES + k <= last {
                        lanes[k].store(&mut tj.rows[((g * LANES + k) * N + l) * ROW + b * LANES..]);
                    }
                }
            }
        }
    }
}

/// Everything a stage carries, added to it.
#[inline(always)]
fn composites<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let size = N * ROW;
    for (i, stage) in tj.plan.tree.stages.iter().enumerate().rev() {
        if let Some(p) = stage.parent {
            let (low, high) = tj.rows.split_at_mut(i * size);
            let (to, from) = (&mut low[p * size..(p + 1) * size], &high[..size]);
            for (to, from) in to.chunks_exact_mut(LANES).zip(from.chunks_exact(LANES)) {
                (V::load(to) + V::load(from)).store(to);
            }
        }
    }
}

/// The vectors of (4.11) and (4.12) of all columns, four at once.
#[inline(always)]
fn columns<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let count = N - 1;
    let (stride, nv) = (tj.plan.stride, tj.plan.columns.len());
    let last = nv.saturating_sub(1);
    let g: Vec3<V> = Vec3(tj.plan.tree.gravity.0.map(V::splat));
    for group in 0..stride / LANES {
        let at: [usize; LANES] = std::array::from_fn(|k| (group * LANES + k).min(last));
        let stage = at.map(|i| tj.plan.stages[i]);
        let mass = V::from_lanes(stage.map(|i| tj.plan.masses[i]));
        let mut s = [Twist::zero(); MAX + 1];
        let (mut s1, mut s2) = ([Twist::zero(); MAX], [Twist::zero(); MAX]);
        let mut ii = [InertiaCoefficient::zero(); MAX];
        let mut h = [Wrench::zero(); MAX];
        for l in 0..N + 1 {
            s[l] = lanes6::<V>(at.map(|i| &tj.jets.s[tj.plan.columns[i] * (N + 1) + l]));
        }
        for l in 0..N {
            s1[l] = s[l + 1].scale(next(l));
        }
        for l in 0..count {
            s2[l] = s1[l + 1].scale(next(l));
        }
        for l in 0..N {
            let block =
                |b: usize| V::transpose(stage.map(|i| V::load(&tj.rows[(i * N + l) * ROW + b * LANES..])));
            let ([m0, m1, m2, j0], [j1, j2, j3, j4]) = (block(0), block(1));
            let ([j5, n0, n1, n2], [f0, f1, f2, _]) = (block(2), block(3));
            ii[l] = InertiaCoefficient { moment: Vec3([m0, m1, m2]), rot: Sym3([j0, j1, j2, j3, j4, j5]) };
            h[l] = Wrench::new(Vec3([n0, n1, n2]), Vec3([f0, f1, f2]));
        }
        let mut fc = [Wrench::zero(); MAX];
        for l in 0..count {
            fc[l] = h[l + 1].scale(next(l));
            fc[l].ang -= ii[l].moment.cross(g);
            if l == 0 {
                fc[l].lin -= g * mass;
            }
        }
        for l in 0..count {
            let mut tau = V::splat(0.0);
            for m in 0..=l {
                tau += s[m].dot(fc[l - m]);
            }
            let tau = (tau * factorial(l)).lanes();
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
            let ancestor = [s[l].to_array(), s1[l].to_array(), s2[l].to_array()];
            for (i, x) in ancestor.into_iter().flatten().enumerate() {
                x.store(&mut tj.ancestors[(l * ANCESTOR + i) * stride + group * LANES..]);
            }
            let [a, c, k, b] = [a.to_array(), c.to_array(), k.to_array(), b.to_array()];
            let own = a.into_iter().chain(c).chain(k).chain(b).chain(e.0);
            for (i, x) in own.enumerate() {
                let x = x.lanes();
                for lane in 0..LANES {
                    tj.own[((group * LANES + lane) * count + l) * OWN + i] = x[lane];
                }
            }
            for lane in 0..LANES {
                if group * LANES + lane <= last {
                    tj.torques[l * nv + tj.plan.columns[group * LANES + lane]] = tau[lane];
                }
            }
        }
    }
}

/// Every column with its ancestors.
#[inline(always)]
fn pairs<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let count = N - 1;
    let (stride, nv) = (tj.plan.stride, tj.plan.columns.len());
    for (i, stage) in tj.plan.tree.stages.iter().enumerate() {
        let (start, depth) = (tj.plan.start[i], tj.plan.depth[i]);
        if !tj.plan.straight {
            // Put the stage on the path; what was there belongs to another branch.
            for c in 0..stage.nv {
                for row in 0..count * ANCESTOR {
                    tj.path[row * stride + depth + c] = tj.ancestors[row * stride + start + c];
                }
                tj.path_columns[depth + c] = tj.plan.columns[start + c];
            }
        }
        let path: &[f64] = if tj.plan.straight { &tj.ancestors } else { &tj.path };
        let reach = depth + stage.nv;
        for c in 0..stage.nv {
            let own = &tj.own[(start + c) * count * OWN..(start + c + 1) * count * OWN];
            let d = tj.plan.columns[start + c];
            let mut first = 0;
            while first < reach {
                let (upper, lower) = pair_jets::<V, N>(path, stride, first, own);
                let width = LANES.min(reach - first);
                let strict = LANES.min(depth.saturating_sub(first));
                let mut block = 0;
                for l in 0..count {
                    for m in 0..l + 3 {
                        let f = factorial(l) / factorial(m);
                        let low = emit_lanes::<V, N>(&upper.0, &lower.0, &lower.1, l, m) * f;
                        let plane = &mut tj.out[block * nv * nv..(block + 1) * nv * nv];
                        if tj.plan.straight && width == LANES {
                            low.store(&mut plane[d * nv + first..]);
                        } else {
                            let low = low.lanes();
                            for k in 0..width {
                                let a = if tj.plan.straight { first + k } else { tj.path_columns[first + k] };
                                plane[d * nv + a] = low[k];
                            }
                        }
                        if strict > 0 {
                            let up = (emit_lanes::<V, N>(&upper.0, &upper.1, &upper.2, l, m) * f).lanes();
                            for k in 0..strict {
                                let a = if tj.plan.straight { first + k } else { tj.path_columns[first + k] };
                                plane[a * nv + d] = up[k];
                            }
                        }
                        block += 1;
                    }
                }
                first += LANES;
            }
        }
    }
}

type Jet<V> = [V; MAX];

/// M, C, K above the diagonal and C, K below it, for four ancestors of one column.
#[inline(always)]
fn pair_jets<V: Simd, const N: usize>(
    path: &[f64],
    stride: usize,
    first: usize,
    own: &[f64],
) -> ((Jet<V>, Jet<V>, Jet<V>), (Jet<V>, Jet<V>)) {
    let zero = [V::splat(0.0); MAX];
    let (mut m, mut c, mut k, mut c_low, mut k_low) = (zero, zero, zero, zero, zero);
    let count = N - 1;
    let two = V::splat(2.0);
    for p in 0..count {
        for i in 0..6 {
            let at = |jet: usize| V::load(&path[(p * ANCESTOR + 6 * jet + i) * stride + first..]);
            let (s, s1, s2) = (at(0), at(1), at(2));
            let s1_twice = s1 * two;
            for l in p..count {
                let x = &own[(l - p) * OWN..(l - p + 1) * OWN];
                let (a, b) = (V::splat(x[i]), V::splat(x[18 + i]));
                m[l] = s.fma(a, m[l]);
                c[l] = s.fma(V::splat(x[6 + i]), c[l]);
                k[l] = s.fma(V::splat(x[12 + i]), k[l]);
                c_low[l] = s1_twice.fma(a, s.fma(b, c_low[l]));
                k_low[l] = s2.fma(a, s1.fma(b, k_low[l]));
                if i < 3 {
                    k_low[l] = s.fma(V::splat(x[24 + i]), k_low[l]);
                }
            }
        }
    }
    ((m, c, k), (c_low, k_low))
}

/// `K_{l−m} + m C_{l−m+1} + m(m−1) M_{l−m+2}`.
#[inline(always)]
fn emit_lanes<V: Simd, const N: usize>(mass: &Jet<V>, c: &Jet<V>, k: &Jet<V>, l: usize, m: usize) -> V {
    let mut x = if m <= l { k[l - m] } else { V::splat(0.0) };
    if m >= 1 && m <= l + 1 {
        x = c[l + 1 - m].fma(V::splat(m as f64), x);
    }
    if m >= 2 {
        x = mass[l + 2 - m].fma(V::splat((m * (m - 1)) as f64), x);
    }
    x
}
