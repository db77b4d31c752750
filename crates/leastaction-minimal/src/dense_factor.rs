//! The Newton matrix of a small tree, written out and factored as a whole.
//!
//! With few coordinates the O(n²) entries (Propositions 3 and 4 of the source) and an elimination of size s n cost less
//! than the bookkeeping of the O(n) sweeps. For coordinates i and an ancestor-or-self j, at every node,
//!
//! ```text
//! A_i = Ĝ_i S_i,   B_i = Ĝ_i Ṡ_i − adD_{μ_i} S_i
//! K_vv = S_jᵀA_i,   K_vq = Ṡ_jᵀA_i,   K_qv = S_jᵀB_i,   K_qq = Ṡ_jᵀB_i,   V_qq = s_jᵀ (g × (σm n_i − σp × s_i))   (2.36)
//! ∂P^α_i/∂q^γ_j = δ_{αγ} w h (K_qq − V_qq + Q_x) + w^γ b^{γα} K_vq^γ + w^α b^{αγ} (K_qv^α + Q_v)
//!                 + (1/h) Σ_β w^β b^{βα} b^{βγ} (K_vv + armature)^β                                                (2.32)
//! ```
//!
//! Balls and body wrenches that depend on the motion are left to the sweeps.

use super::lanes::Lanes;
use super::residual::Residual;
use super::scheme::Scheme;
use super::segments::{GROUND, Segments};
use super::wrench::BodyForces;
use crate::scalar::by_entry;
use crate::spatial::{Momentum, Twist, Vec3};

type L<const N: usize> = Lanes<f64, N>;

/// Most unknowns for which the matrix is written out; measured, see `docs/decisions/0012-dense-small-trees.md`.
const MOST: usize = 18;

/// A symmetric 3×3 matrix at all nodes: xx, yy, zz, xy, xz, yz.
pub(super) type Sym<const N: usize> = [L<N>; 6];

/// The matrix, its factors, and the composite inertias on the way.
#[derive(Clone, Debug)]
pub(crate) struct DenseFactor<const N: usize> {
    /// Rows and columns by coordinate, then node: the order of right-hand sides.
    matrix: Vec<f64>,
    /// Row exchanged with row c when column c was eliminated.
    swaps: Vec<usize>,
    /// Rotational inertia of every subtree about the origin.
    composite: Vec<Sym<N>>,
    /// `(1/h) w^β b^{βα} b^{βγ}` by `[α][γ][β]`.
    coupling: Vec<[f64; N]>,
    /// Blocks of one coordinate with its ancestors, both ways, where one node is unknown.
    blocks: Vec<L<N>>,
    /// Coordinates that are held.
    pub(crate) locked: Vec<bool>,
}

impl<const N: usize> DenseFactor<N> {
    /// Room for the matrix of a tree that is small and plain enough; `None` for others.
    pub(crate) fn new(segments: &Segments, scheme: &Scheme<N>, forces: &BodyForces) -> Option<Box<Self>> {
        let plain = !segments.has_balls() && (0..segments.list.len()).all(|i| forces.slot(i).is_none());
        let (s, size) = (scheme.s, segments.n * scheme.s);
        if size > MOST || !plain || scheme.gauss {
            return None;
        }
        let mut coupling = Vec::new();
        for al in 0..s {
            for ga in 1..=s {
                coupling.push(std::array::from_fn(|be| scheme.w[be] * scheme.b[be][al] * scheme.b[be][ga]));
            }
        }
        Some(Box::new(Self {
            matrix: vec![0.0; size * size],
            swaps: vec![0; size],
            composite: vec![[Lanes::default(); 6]; segments.list.len()],
            coupling,
            blocks: vec![Lanes::default(); segments.n],
            locked: vec![false; segments.n],
        }))
    }

    /// Factors at the point where `residual` was last evaluated. Does not allocate.
    ///
    /// # Errors
    /// The segment whose column has no pivot.
    pub(crate) fn factor(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
    ) -> Result<(), usize> {
        self.factor_inlined(segments, scheme, residual)
    }

    /// As [`factor`](Self::factor), compiled into its caller.
    #[inline(always)]
    pub(crate) fn factor_inlined(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
    ) -> Result<(), usize> {
        self.assemble(segments, scheme, residual);
        if self.locked.iter().any(|locked| *locked) {
            self.hold(segments.n, scheme.s);
        }
        eliminate(&mut self.matrix, &mut self.swaps, segments.n * scheme.s).map_err(|column| {
            let c = column / scheme.s;
            segments.list.iter().position(|segment| segment.coordinate == c).unwrap_or(0)
        })
    }

    #[inline(always)]
    fn assemble(&mut self, segments: &Segments, scheme: &Scheme<N>, residual: &Residual<f64, N>) {
        self.matrix.fill(0.0);
        self.place_tendons(segments, scheme, residual);
        each_composite(segments, residual, &mut self.composite);
        for i in (0..segments.list.len()).rev() {
            let joint = joint_momenta(segments, residual, &self.composite, i);
            if N == 2 {
                self.place_with_ancestors(segments, scheme, residual, i, (joint.a, joint.b));
                continue;
            }
            let c = segments.list[i].coordinate;
            let mut ancestor = i;
            while ancestor != GROUND {
                let j = segments.list[ancestor].coordinate;
                let pair = joint.with(residual, j);
                self.place(scheme, residual, segments.n, c, j, &pair);
                if ancestor != i {
                    self.place(scheme, residual, segments.n, j, c, &pair.turned());
                }
                ancestor = segments.list[ancestor].parent;
            }
        }
        for segment in &segments.list {
            self.place_force(segments, scheme, residual, segment.coordinate);
        }
    }

    /// Both blocks of a coordinate with itself and each of its ancestors where one node is unknown. Blocks are numbers then:
    /// what a node gives to the one, the other node gives to the other.
    #[inline(always)]
    fn place_with_ancestors(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        i: usize,
        (a, b): (Momentum<L<N>>, Momentum<L<N>>),
    ) {
        let (n, c) = (segments.n, segments.list[i].coordinate);
        let by_h = 1.0 / residual.h;
        let both = weighted(a, &by_entry(|node| self.coupling[0][node] * by_h));
        let one: [f64; N] =
            by_entry(|node| if node < 2 { scheme.w[node] * scheme.b[node][1 - node] } else { 0.0 });
        let (by_a, by_b) = (weighted(a, &one), weighted(b, &one));
        let here = Momentum::new(both.ang + by_b.ang, both.lin + by_b.lin);
        let mut ancestor = i;
        while ancestor != GROUND {
            let j = segments.list[ancestor].coordinate;
            let (s, s_dot) = (&residual.columns[j], &residual.column_rates[j]);
            let there = s.dot_momentum(both) + s_dot.dot_momentum(by_a);
            self.blocks[j] = s.dot_momentum(here) + Lanes(by_entry(|node| there.0[(node + 1) % N]));
            ancestor = segments.list[ancestor].parent;
        }
        // Apart from the products, which then are made for both nodes in one instruction each.
        let mut ancestor = segments.list[i].parent;
        self.matrix[c * n + c] += self.blocks[c].0[0];
        while ancestor != GROUND {
            let j = segments.list[ancestor].coordinate;
            self.matrix[c * n + j] += self.blocks[j].0[0];
            self.matrix[j * n + c] += self.blocks[j].0[1];
            ancestor = segments.list[ancestor].parent;
        }
    }

    /// Rows and columns of held coordinates become those of the unit matrix.
    fn hold(&mut self, n: usize, s: usize) {
        for c in (0..n).filter(|c| self.locked[*c]) {
            for i in c * s..(c + 1) * s {
                for j in 0..n * s {
                    let one = f64::from(u8::from(i == j));
                    self.matrix[i * n * s + j] = one;
                    self.matrix[j * n * s + i] = one;
                }
            }
        }
    }

    /// Writes the block of one pair of coordinates.
    #[inline(always)]
    fn place(
        &mut self,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        n: usize,
        row: usize,
        column: usize,
        pair: &Pair<N>,
    ) {
        let s = scheme.s;
        let by_h = 1.0 / residual.h;
        for al in 0..s {
            let out = &mut self.matrix[(row * s + al) * n * s + column * s..][..s];
            for ga in 1..=s {
                let mut x = pair.vv.dot(&self.coupling[al * s + ga - 1]) * by_h;
                x += scheme.w[ga] * scheme.b[ga][al] * pair.vq.0[ga]
                    + scheme.w[al] * scheme.b[al][ga] * pair.qv.0[al];
                if ga == al {
                    x += residual.weights[al] * pair.qq.0[al];
                }
                out[ga - 1] += x;
            }
        }
    }

    /// Tendons, whose forces couple all their coordinates.
    fn place_tendons(&mut self, segments: &Segments, scheme: &Scheme<N>, residual: &Residual<f64, N>) {
        let (s, n) = (scheme.s, segments.n);
        for tendon in &segments.tendons {
            for (i, a) in &tendon.terms {
                for (j, b) in &tendon.terms {
                    for al in 0..s {
                        let out = &mut self.matrix[(i * s + al) * n * s + j * s..][..s];
                        for ga in 1..=s {
                            let stiff = if ga == al { residual.weights[al] * tendon.stiffness } else { 0.0 };
                            let damped = tendon.damping * scheme.w[al] * scheme.b[al][ga];
                            out[ga - 1] -= a * b * (stiff + damped);
                        }
                    }
                }
            }
        }
    }

    /// Springs, dampers and armature on the diagonal.
    fn place_force(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        c: usize,
    ) {
        let law = &segments.laws[c];
        let (s, n) = (scheme.s, segments.n);
        let servos = &residual.servos;
        let driven = !segments.servos.is_empty() && segments.driven.binary_search(&c).is_ok();
        if law.armature == 0.0 && law.damping == 0.0 && law.stiffness == 0.0 && !driven {
            return;
        }
        for al in 0..s {
            let out = &mut self.matrix[(c * s + al) * n * s + c * s..][..s];
            for ga in 1..=s {
                let coupling: f64 = self.coupling[al * s + ga - 1].iter().sum();
                out[ga - 1] += law.armature * coupling / residual.h
                    - (law.damping - servos.by_rate[c].0[al]) * scheme.w[al] * scheme.b[al][ga]
                    - if ga == al {
                        residual.weights[al] * (law.stiffness - servos.by_position[c].0[al])
                    } else {
                        0.0
                    };
            }
        }
    }

    /// `J δ = −r`: `r` and `delta` by coordinate, then node. Does not allocate.
    pub(crate) fn solve(&self, r: &[f64], delta: &mut [f64]) {
        let size = delta.len();
        for (d, r) in delta.iter_mut().zip(r) {
            *d = -r;
        }
        for c in 0..size {
            delta.swap(c, self.swaps[c]);
        }
        for r in 1..size {
            let row = &self.matrix[r * size..r * size + r];
            let sum: f64 = row.iter().zip(&delta[..r]).map(|(m, x)| m * x).sum();
            delta[r] -= sum;
        }
        for r in (0..size).rev() {
            let row = &self.matrix[r * size..(r + 1) * size];
            let sum: f64 = row[r + 1..].iter().zip(&delta[r + 1..]).map(|(m, x)| m * x).sum();
            delta[r] = (delta[r] - sum) * row[r];
        }
    }
}

/// Elimination with row pivoting, in place.
#[inline(always)]
pub(super) fn eliminate(m: &mut [f64], swaps: &mut [usize], size: usize) -> Result<(), usize> {
    for c in 0..size {
        let mut pivot = c;
        for r in c + 1..size {
            if m[r * size + c].abs() > m[pivot * size + c].abs() {
                pivot = r;
            }
        }
        swaps[c] = pivot;
        if pivot != c {
            for k in 0..size {
                m.swap(c * size + k, pivot * size + k);
            }
        }
        let inverse = 1.0 / m[c * size + c];
        if !inverse.is_finite() {
            return Err(c);
        }
        m[c * size + c] = inverse;
        let (above, below) = m.split_at_mut((c + 1) * size);
        let row = &above[c * size + c + 1..];
        for other in below.chunks_exact_mut(size) {
            let f = other[c] * inverse;
            other[c] = f;
            for (x, y) in other[c + 1..].iter_mut().zip(row) {
                *x -= f * y;
            }
        }
    }
    Ok(())
}

/// Rotational inertias of all subtrees about the origin.
#[inline(always)]
pub(super) fn each_composite<const N: usize>(
    segments: &Segments,
    residual: &Residual<f64, N>,
    composite: &mut [Sym<N>],
) {
    for (i, segment) in segments.list.iter().enumerate() {
        composite[i] = if segment.massless { [Lanes::default(); 6] } else { own(residual, segments, i) };
    }
    for (i, segment) in segments.list.iter().enumerate().rev() {
        if segment.parent != GROUND {
            let rot = composite[i];
            for k in 0..6 {
                composite[segment.parent][k] += rot[k];
            }
        }
    }
}

/// `A`, `B` and `g × (σm n_i − σp × s_i)` of one coordinate. (2.36)
pub(super) struct JointMomenta<const N: usize> {
    a: Momentum<L<N>>,
    b: Momentum<L<N>>,
    pull: Vec3<L<N>>,
}

/// Those of segment `i`, with the inertia of its subtree.
#[inline(always)]
pub(super) fn joint_momenta<const N: usize>(
    segments: &Segments,
    residual: &Residual<f64, N>,
    composite: &[Sym<N>],
    i: usize,
) -> JointMomenta<N> {
    let (rot, c) = (composite[i], segments.list[i].coordinate);
    let (mu, moment, mass) = (residual.momenta[i], residual.moments[i], residual.masses[i]);
    let (s, s_dot) = (residual.columns[c], residual.column_rates[c]);
    JointMomenta {
        a: times(&rot, moment, mass, s),
        b: minus(times(&rot, moment, mass, s_dot), turned(mu, s)),
        pull: cross(segments.gravity, s.lin.scale(mass) - moment.cross(s.ang)),
    }
}

impl<const N: usize> JointMomenta<N> {
    /// Second derivatives by the coordinate and `j`, which is itself or of an ancestor. (2.36)
    #[inline(always)]
    pub(super) fn with(&self, residual: &Residual<f64, N>, j: usize) -> Pair<N> {
        let (s, s_dot) = (&residual.columns[j], &residual.column_rates[j]);
        Pair {
            vv: s.dot_momentum(self.a),
            vq: s_dot.dot_momentum(self.a),
            qv: s.dot_momentum(self.b),
            qq: s_dot.dot_momentum(self.b) - s.ang.dot(self.pull),
        }
    }
}

impl<const N: usize> Pair<N> {
    /// The same with the coordinates exchanged.
    #[inline(always)]
    pub(super) fn turned(&self) -> Self {
        Self { vv: self.vv, vq: self.qv, qv: self.vq, qq: self.qq }
    }
}

/// Second derivatives of one pair of coordinates at all nodes.
pub(super) struct Pair<const N: usize> {
    pub(super) vv: L<N>,
    pub(super) vq: L<N>,
    pub(super) qv: L<N>,
    pub(super) qq: L<N>,
}

/// Rotational inertia of one body about the origin.
#[inline(always)]
fn own<const N: usize>(residual: &Residual<f64, N>, segments: &Segments, i: usize) -> Sym<N> {
    let segment = &segments.list[i];
    let pose = &residual.poses[i];
    let r = &pose.rot.0;
    let [xx, yy, zz, xy, xz, yz] = segment.about_com.0;
    // R I Rᵀ by rows of R I.
    let left: [[L<N>; 3]; 3] = by_entry(|k| {
        [
            r[k][0] * xx + r[k][1] * xy + r[k][2] * xz,
            r[k][0] * xy + r[k][1] * yy + r[k][2] * yz,
            r[k][0] * xz + r[k][1] * yz + r[k][2] * zz,
        ]
    });
    let entry = |a: usize, b: usize| left[a][0] * r[b][0] + left[a][1] * r[b][1] + left[a][2] * r[b][2];
    let c = segment.com;
    let p: [L<N>; 3] = by_entry(|k| r[k][0] * c[0] + r[k][1] * c[1] + r[k][2] * c[2] + pose.pos[k]);
    let m = segment.mass;
    let [x, y, z] = [p[0] * p[0] * m, p[1] * p[1] * m, p[2] * p[2] * m];
    [
        entry(0, 0) + y + z,
        entry(1, 1) + x + z,
        entry(2, 2) + x + y,
        entry(0, 1) - p[0] * p[1] * m,
        entry(0, 2) - p[0] * p[2] * m,
        entry(1, 2) - p[1] * p[2] * m,
    ]
}

/// `Ĝ V`.
#[inline(always)]
fn times<const N: usize>(rot: &Sym<N>, moment: Vec3<L<N>>, mass: f64, v: Twist<L<N>>) -> Momentum<L<N>> {
    let [x, y, z] = v.ang.0;
    let turned = Vec3([
        rot[0] * x + rot[3] * y + rot[4] * z,
        rot[3] * x + rot[1] * y + rot[5] * z,
        rot[4] * x + rot[5] * y + rot[2] * z,
    ]);
    Momentum::new(turned + moment.cross(v.lin), v.lin.scale(mass) - moment.cross(v.ang))
}

/// `adD_μ S = (μ_ω × s + μ_v × n; μ_v × s)`.
#[inline(always)]
fn turned<const N: usize>(mu: Momentum<L<N>>, s: Twist<L<N>>) -> Momentum<L<N>> {
    Momentum::new(mu.ang.cross(s.ang) + mu.lin.cross(s.lin), mu.lin.cross(s.ang))
}

#[inline(always)]
fn minus<const N: usize>(a: Momentum<L<N>>, b: Momentum<L<N>>) -> Momentum<L<N>> {
    Momentum::new(a.ang - b.ang, a.lin - b.lin)
}

/// Node by node a multiple.
#[inline(always)]
fn weighted<const N: usize>(m: Momentum<L<N>>, w: &[f64; N]) -> Momentum<L<N>> {
    let times = |x: Vec3<L<N>>| Vec3(by_entry(|k| x.0[k].weighted(w)));
    Momentum::new(times(m.ang), times(m.lin))
}

/// `a × x` with a constant `a`.
#[inline(always)]
fn cross<const N: usize>(a: Vec3, x: Vec3<L<N>>) -> Vec3<L<N>> {
    let [x, y, z] = x.0;
    Vec3([z * a[1] - y * a[2], x * a[2] - z * a[0], y * a[0] - x * a[1]])
}
