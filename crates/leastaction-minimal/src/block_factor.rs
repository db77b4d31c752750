//! The Newton direction in O(s³ n): stacked block form, factored once, solved for any number of right-hand sides.
//!
//! For every segment `x = (δ̄V^0.., η^1..)` and `y = (δ̄μ^0.., δ̄Γ^0..)`, by points, obey `y = K x + k` (2.13). A joint
//! with unknowns δξ has `x = x_p + T δξ`, and passes to its parent `y − E δξ`; its equations are
//! `C^y y + C^x x_p + C^q δξ = −r`. Eliminating δξ, from the tips to the root:
//!
//! ```text
//! Λ = C^y K T + C^q,   X = −Λ⁻¹ (C^y K + C^x),   U = K T − E                                        (2.14)
//! K_p += K + U X                                                                                    (2.15)
//! z = −Λ⁻¹ (r + C^y k),   k_p += k + U z;       outward: δξ = X x_p + z,   x = x_p + T δξ           (2.16)
//! ```
//!
//! Λ, X, U, C^y and T do not depend on r. K lives only until its parent is done; slots are shared.

use super::residual::Evaluated;
use super::rows::JointRows;
use super::scheme::Scheme;
use super::segments::{GROUND, Segments};
use super::six::{add_dual, axpy, dot, momentum_at, pose_at, twist_at, vec_at, wrench_at};
use crate::scalar::Real;
use crate::spatial::Vec3;

/// Sizes of the stacked vectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) s: usize,
    /// Points of the sums.
    pub(crate) points: usize,
    /// Length of x: δ̄V of all points and η of those that unknowns move. The first node stays where it is: its η is left
    /// out, or, where a shift of the start moves it, stands at the end.
    pub(crate) nx: usize,
    /// Length of y: δ̄μ of all points and δ̄Γ of the first `g`; what acts at the last node is in the balances of balls only.
    pub(crate) ny: usize,
    pub(crate) g: usize,
    /// True if the first point is the first node.
    fixed_first: bool,
}

impl Sizes {
    pub(crate) fn new<const N: usize>(scheme: &Scheme<N>, balls: bool) -> Self {
        let all = Self::extended(scheme);
        if scheme.gauss {
            return all;
        }
        let g = if balls { all.g } else { scheme.s };
        Self { nx: all.nx - 6, ny: 6 * (all.points + g), g, ..all }
    }
    /// For linearizations: with η^0, which a shift of the start moves, and Γ^s, which the momentum after the step
    /// needs.
    pub(crate) fn extended<const N: usize>(scheme: &Scheme<N>) -> Self {
        let (s, points) = (scheme.s, scheme.points);
        Self { s, points, nx: 12 * points, ny: 12 * points, g: points, fixed_first: !scheme.gauss }
    }
    /// Where δ̄V of a point stands in x, and δ̄μ in y.
    #[inline(always)]
    pub(crate) fn v(self, point: usize) -> usize {
        6 * point
    }
    /// Where η of a point stands in x, if it is there.
    #[inline(always)]
    pub(crate) fn eta_of(self, point: usize) -> Option<usize> {
        let at = match (self.fixed_first, point) {
            (true, 0) => 6 * (2 * self.points - 1),
            (true, _) => 6 * (self.points - 1 + point),
            (false, _) => 6 * (self.points + point),
        };
        (at < self.nx).then_some(at)
    }
    /// Where δ̄Γ of a point stands in y.
    #[inline(always)]
    pub(crate) fn gamma(self, point: usize) -> usize {
        6 * (self.points + point)
    }
}

/// What a joint keeps for right-hand sides, as offsets into one array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Number of unknowns, `s` per coordinate.
    pub(super) k: usize,
    /// First unknown of the joint among all.
    pub(super) first: usize,
    pub(super) t: usize,
    pub(super) x: usize,
    pub(super) u: usize,
    pub(super) cy: usize,
    pub(super) inverse: usize,
    /// Buffer of K and k.
    pub(super) slot: usize,
    /// True if this joint is the first to write its parent's slot.
    pub(super) opens: bool,
    pub(super) leaf: bool,
    pub(super) parent: usize,
    /// Arms of a segment with an origin of its own, three numbers by point; none for others.
    arms: usize,
    arm_count: usize,
}

/// A factorisation of the Newton matrix of one step.
#[derive(Clone, Debug)]
pub(crate) struct NewtonFactor {
    pub(crate) sizes: Sizes,
    pub(super) places: Vec<Place>,
    pub(super) data: Vec<f64>,
    /// Slots of K.
    blocks: Vec<f64>,
    pub(super) slots: usize,
    pub(super) rows: JointRows,
    lambda: Vec<f64>,
    reduced: Vec<f64>,
    /// Arms of the segment at hand, and its K about its parent's origin.
    arms: Vec<Vec3>,
    moved: Vec<f64>,
    /// Coordinates that are held: they pass K on and do not move.
    pub(crate) locked: Vec<bool>,
}

/// Memory for right-hand sides of one scalar type.
#[derive(Clone, Debug)]
pub(crate) struct SolveMemory<T> {
    k: Vec<T>,
    /// x of every segment.
    pub(crate) x: Vec<T>,
    scratch: Vec<T>,
}

impl NewtonFactor {
    pub(crate) fn new<const N: usize>(segments: &Segments, scheme: &Scheme<N>) -> Self {
        Self::with_sizes(segments, Sizes::new(scheme, segments.has_balls()))
    }

    pub(super) fn with_sizes(segments: &Segments, sizes: Sizes) -> Self {
        let (places, length, slots) = layout(segments, sizes);
        let most = places.iter().map(|p| p.k).max().unwrap_or(0);
        Self {
            sizes,
            places,
            data: vec![0.0; length],
            blocks: vec![0.0; slots * sizes.nx * sizes.ny],
            slots,
            rows: JointRows::new(sizes, most),
            lambda: vec![0.0; most * most],
            reduced: vec![0.0; most * sizes.nx],
            arms: Vec::with_capacity(sizes.points),
            moved: vec![0.0; if segments.origins > 0 { sizes.nx * sizes.ny } else { 0 }],
            locked: vec![false; segments.n],
        }
    }

    pub(crate) fn memory<T: Real>(&self) -> SolveMemory<T> {
        let most = self.places.iter().map(|p| p.k).max().unwrap_or(0);
        SolveMemory {
            k: vec![T::zero(); self.slots * self.sizes.ny],
            x: vec![T::zero(); self.places.len() * self.sizes.nx],
            scratch: vec![T::zero(); most],
        }
    }

    /// Factors at a point. Does not allocate.
    ///
    /// # Errors
    /// The segment whose Λ is singular.
    pub(crate) fn factor<const N: usize>(&mut self, at: Evaluated<'_, N>) -> Result<(), usize> {
        (0..self.places.len()).rev().try_for_each(|i| self.factor_joint(at, i))
    }

    /// Eliminates one joint; its K stays in its slot until another segment takes that.
    pub(super) fn factor_joint<const N: usize>(
        &mut self,
        at: Evaluated<'_, N>,
        i: usize,
    ) -> Result<(), usize> {
        let place = self.places[i];
        self.add_own(at, i, place);
        self.rows.fill(at, i);
        self.eliminate(at, i, place)
    }

    /// K of a segment, by rows.
    pub(super) fn block(&self, place: Place) -> &[f64] {
        let size = self.sizes.nx * self.sizes.ny;
        &self.blocks[place.slot * size..(place.slot + 1) * size]
    }

    /// `K += own`: `(μ^α, V^α) = G`, `(Γ^α, V^α) = w h A_v`, `(Γ^α, η^α) = w h A_η`.
    fn add_own<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize, place: Place) {
        let Evaluated { segments, scheme, forces, derivatives, residual, .. } = at;
        let z = self.sizes;
        let size = z.nx * z.ny;
        let block = &mut self.blocks[place.slot * size..(place.slot + 1) * size];
        if place.leaf {
            block.fill(0.0);
        }
        let segment = &segments.list[i];
        let g = segments.gravity;
        for al in 0..scheme.points {
            if !segment.massless {
                let inertia = segment.inertia.transformed(&pose_at(&residual.poses[i], al));
                let (j, mc) = (inertia.rot.to_matrix().0, inertia.moment.skew().0);
                for r in 0..3 {
                    let (top, low) = ((z.v(al) + r) * z.nx + z.v(al), (z.v(al) + 3 + r) * z.nx + z.v(al));
                    for c in 0..3 {
                        block[top + c] += j[r][c];
                        block[top + 3 + c] += mc[r][c];
                        block[low + c] -= mc[r][c];
                    }
                    block[low + 3 + r] += inertia.mass;
                }
                if let Some(eta) = z.eta_of(al)
                    && al < z.g
                    && g != Vec3::zero()
                {
                    // Gravity: A_η = m (p̂ ĝ, 0; ĝ, 0).
                    let w = residual.weights[al];
                    let (gh, pg) = (g.skew(), inertia.moment.skew() * g.skew());
                    for r in 0..3 {
                        let (top, low) = (z.gamma(al) + r, z.gamma(al) + 3 + r);
                        for c in 0..3 {
                            block[top * z.nx + eta + c] += w * pg.0[r][c];
                            block[low * z.nx + eta + c] += w * inertia.mass * gh.0[r][c];
                        }
                    }
                }
            }
            if let Some(slot) = forces.slot(i)
                && al < z.g
            {
                for r in 0..6 {
                    let row = (z.gamma(al) + r) * z.nx;
                    for c in 0..6 {
                        block[row + z.v(al) + c] += derivatives.d_twist[slot][al][r][c];
                        if let Some(eta) = z.eta_of(al) {
                            block[row + eta + c] += derivatives.d_pose[slot][al][r][c];
                        }
                    }
                }
            }
        }
    }

    /// (2.14) and (2.15) for one joint.
    fn eliminate<const N: usize>(
        &mut self,
        at: Evaluated<'_, N>,
        i: usize,
        place: Place,
    ) -> Result<(), usize> {
        let Evaluated { segments, scheme, residual, .. } = at;
        let Sizes { s, nx, ny, g, .. } = self.sizes;
        let (k, size) = (place.k, nx * ny);
        if self.locked[segments.list[i].coordinate] {
            self.hold(at, i, place);
            return Ok(());
        }
        let block = &self.blocks[place.slot * size..(place.slot + 1) * size];
        // T, C^y into their place.
        self.data[place.t..place.t + k * nx].copy_from_slice(&self.rows.t[..k * nx]);
        self.data[place.cy..place.cy + k * ny].copy_from_slice(&self.rows.cy[..k * ny]);
        // U = K T for now, by columns.
        for c in 0..k {
            let column = &self.rows.t[c * nx..(c + 1) * nx];
            let u = &mut self.data[place.u + c * ny..place.u + (c + 1) * ny];
            for (u, row) in u.iter_mut().zip(block.chunks_exact(nx)) {
                *u = dot(row, column);
            }
        }
        // Λ and C^y K + C^x.
        for r in 0..k {
            let cy = &self.rows.cy[r * ny..(r + 1) * ny];
            for c in 0..k {
                let u = &self.data[place.u + c * ny..place.u + (c + 1) * ny];
                self.lambda[r * k + c] = dot(cy, u) + self.rows.cq[r * k + c];
            }
            let reduced = &mut self.reduced[r * nx..(r + 1) * nx];
            reduced.copy_from_slice(&self.rows.cx[r * nx..(r + 1) * nx]);
            if place.parent != GROUND {
                for (c, row) in cy.iter().zip(block.chunks_exact(nx)) {
                    if *c != 0.0 {
                        axpy(*c, row, reduced);
                    }
                }
            }
        }
        let inverse = &mut self.data[place.inverse..place.inverse + k * k];
        if !invert(&mut self.lambda[..k * k], inverse, k) {
            return Err(i);
        }
        if place.parent == GROUND {
            return Ok(());
        }
        // X = −Λ⁻¹ (C^y K + C^x).
        let (left, inverse) = self.data.split_at_mut(place.inverse);
        let x = &mut left[place.x..place.x + k * nx];
        x.fill(0.0);
        for r in 0..k {
            for c in 0..k {
                let row = &self.reduced[c * nx..(c + 1) * nx];
                axpy(-inverse[r * k + c], row, &mut x[r * nx..(r + 1) * nx]);
            }
        }
        // U −= E: re-basing of μ and Γ.
        let segment = &segments.list[i];
        let mu = &residual.momenta[i];
        let gamma = &residual.impulses[i];
        for a in 0..segment.freedom() {
            for point in 0..scheme.points {
                let column = twist_at(&residual.columns[segment.coordinate + a], point);
                let of_mu = add_dual(momentum_at(mu, point).as_wrench(), column).to_array();
                let of_gamma = add_dual(wrench_at(gamma, point), column).to_array();
                for ga in (1..=s).filter(|ga| scheme.values[*ga][point] != 0.0) {
                    let value = scheme.values[ga][point];
                    let u = &mut self.data[place.u + (a * s + ga - 1) * ny..][..ny];
                    axpy(-value, &of_mu, &mut u[6 * point..6 * point + 6]);
                    if point < g {
                        let at = self.sizes.gamma(point);
                        axpy(-value, &of_gamma, &mut u[at..at + 6]);
                    }
                }
            }
        }
        // K_p += K + U X.
        let to = self.places[place.parent].slot;
        if let Some(origin) = segment.origin {
            self.pass_about_parent(at, place, to, origin);
            return Ok(());
        }
        let (block, parent) = two_blocks(&mut self.blocks, size, place.slot, to);
        let x = &self.data[place.x..place.x + k * nx];
        let u = &self.data[place.u..place.u + k * ny];
        for r in 0..ny {
            let out = &mut parent[r * nx..(r + 1) * nx];
            let own = &block[r * nx..(r + 1) * nx];
            if place.opens {
                out.copy_from_slice(own);
            } else {
                for (o, x) in out.iter_mut().zip(own) {
                    *o += x;
                }
            }
            for c in 0..k {
                axpy(u[c * ny + r], &x[c * nx..(c + 1) * nx], out);
            }
        }
        Ok(())
    }

    /// A joint that does not move: `K_p += K`, and everything a right-hand side meets is zero.
    #[inline(never)]
    fn hold<const N: usize>(&mut self, at: Evaluated<'_, N>, i: usize, place: Place) {
        let Sizes { nx, ny, .. } = self.sizes;
        let (k, size) = (place.k, nx * ny);
        for (first, length) in
            [(place.t, nx), (place.x, nx), (place.u, ny), (place.cy, ny), (place.inverse, k)]
        {
            self.data[first..first + k * length].fill(0.0);
        }
        if place.parent == GROUND {
            return;
        }
        let to = self.places[place.parent].slot;
        if let Some(origin) = at.segments.list[i].origin {
            self.pass_about_parent(at, place, to, origin);
            return;
        }
        let (block, parent) = two_blocks(&mut self.blocks, size, place.slot, to);
        if place.opens {
            parent.copy_from_slice(block);
        } else {
            axpy(1.0, block, parent);
        }
    }

    /// `K_p += Rᵀ (K + U X) R`, with R what moves x from the parent's origin to the segment's own: `x = R x_p`.
    #[inline(never)]
    fn pass_about_parent<const N: usize>(
        &mut self,
        at: Evaluated<'_, N>,
        place: Place,
        to: usize,
        origin: usize,
    ) {
        let z = self.sizes;
        let Sizes { nx, ny, .. } = z;
        let (k, size) = (place.k, nx * ny);
        self.arms.truncate(0);
        self.arms.extend((0..z.points).map(|g| vec_at(&at.residual.arms[origin], g)));
        let kept = &mut self.data[place.arms..place.arms + 3 * z.points];
        for (kept, arm) in kept.chunks_exact_mut(3).zip(&self.arms) {
            kept.copy_from_slice(&arm.0);
        }
        // The segment's own K stays: linearizations need it.
        let block = &mut self.moved;
        block.copy_from_slice(&self.blocks[place.slot * size..(place.slot + 1) * size]);
        let x = &self.data[place.x..place.x + k * nx];
        let u = &self.data[place.u..place.u + k * ny];
        for (r, row) in block.chunks_exact_mut(nx).enumerate() {
            for c in 0..k {
                axpy(u[c * ny + r], &x[c * nx..(c + 1) * nx], row);
            }
            // A row on x = R x_p: what stands on the linear part turns about the arm.
            for (g, arm) in self.arms.iter().enumerate() {
                for first in std::iter::once(z.v(g)).chain(z.eta_of(g)) {
                    let turned = arm.cross(Vec3([row[first + 3], row[first + 4], row[first + 5]]));
                    axpy(1.0, &turned.0, &mut row[first..first + 3]);
                }
            }
        }
        // Rᵀ y: moments about the parent's origin.
        for (g, arm) in self.arms.iter().enumerate() {
            let gamma = (g < z.g).then(|| z.gamma(g));
            for first in std::iter::once(z.v(g)).chain(gamma) {
                for c in 0..nx {
                    let at = |r: usize| (first + r) * nx + c;
                    let turned = arm.cross(Vec3([block[at(3)], block[at(4)], block[at(5)]]));
                    for r in 0..3 {
                        block[at(r)] += turned[r];
                    }
                }
            }
        }
        let parent = &mut self.blocks[to * size..(to + 1) * size];
        if place.opens {
            parent.copy_from_slice(block);
        } else {
            axpy(1.0, block, parent);
        }
    }

    /// The arms of a segment with an origin of its own, by points.
    pub(super) fn arms_of(&self, place: Place) -> &[f64] {
        &self.data[place.arms..place.arms + place.arm_count]
    }

    /// Moves x from the origin before to a segment's own: `(ω, v + ω × r)` for velocities and variations alike.
    pub(super) fn shift_motion<T: Real>(&self, place: Place, x: &mut [T]) {
        for (g, arm) in self.arms_of(place).chunks_exact(3).enumerate() {
            for first in std::iter::once(self.sizes.v(g)).chain(self.sizes.eta_of(g)) {
                let turned = cross([arm[0], arm[1], arm[2]], &x[first..first + 3]);
                for r in 0..3 {
                    x[first + 3 + r] -= turned[r];
                }
            }
        }
    }

    /// Moves y from a segment's own origin to the one before: `(τ + r × f, f)`.
    pub(super) fn shift_force<T: Real>(&self, place: Place, y: &mut [T]) {
        for (g, arm) in self.arms_of(place).chunks_exact(3).enumerate() {
            let gamma = (g < self.sizes.g).then(|| self.sizes.gamma(g));
            for first in std::iter::once(self.sizes.v(g)).chain(gamma) {
                let turned = cross([arm[0], arm[1], arm[2]], &y[first + 3..first + 6]);
                for r in 0..3 {
                    y[first + r] += turned[r];
                }
            }
        }
    }

    /// `J δ = −r` for a right-hand side of any scalar: `r` and `delta` by coordinate, then node. Does not allocate.
    pub(crate) fn solve<T: Real>(&self, memory: &mut SolveMemory<T>, r: &[T], delta: &mut [T]) {
        let Sizes { nx, ny, .. } = self.sizes;
        for place in self.places.iter().rev() {
            let Place { k, first, .. } = *place;
            if place.leaf {
                memory.k[place.slot * ny..(place.slot + 1) * ny].fill(T::zero());
            }
            let own = place.slot * ny;
            for a in 0..k {
                let cy = &self.data[place.cy + a * ny..place.cy + (a + 1) * ny];
                let mut sum = r[first + a];
                for (c, y) in cy.iter().zip(&memory.k[own..own + ny]) {
                    sum += *y * *c;
                }
                memory.scratch[a] = sum;
            }
            let inverse = &self.data[place.inverse..place.inverse + k * k];
            for a in 0..k {
                let mut sum = T::zero();
                for b in 0..k {
                    sum -= memory.scratch[b] * inverse[a * k + b];
                }
                delta[first + a] = sum;
            }
            if place.parent != GROUND {
                let to = self.places[place.parent].slot * ny;
                let u = &self.data[place.u..place.u + k * ny];
                if place.arm_count > 0 {
                    for j in 0..ny {
                        for c in 0..k {
                            memory.k[own + j] += delta[first + c] * u[c * ny + j];
                        }
                    }
                    self.shift_force(*place, &mut memory.k[own..own + ny]);
                }
                let passed = if place.arm_count > 0 { 0 } else { k };
                for j in 0..ny {
                    let mut sum = memory.k[own + j];
                    for c in 0..passed {
                        sum += delta[first + c] * u[c * ny + j];
                    }
                    if place.opens {
                        memory.k[to + j] = sum;
                    } else {
                        memory.k[to + j] += sum;
                    }
                }
            }
        }
        for (i, place) in self.places.iter().enumerate() {
            let Place { k, first, parent, .. } = *place;
            let (before, here) = memory.x.split_at_mut(i * nx);
            let here = &mut here[..nx];
            if parent == GROUND {
                here.fill(T::zero());
            } else {
                here.copy_from_slice(&before[parent * nx..(parent + 1) * nx]);
                self.shift_motion(*place, here);
                for a in 0..k {
                    let x = &self.data[place.x + a * nx..place.x + (a + 1) * nx];
                    let mut sum = delta[first + a];
                    for (c, x) in x.iter().zip(&*here) {
                        sum += *x * *c;
                    }
                    delta[first + a] = sum;
                }
            }
            for a in 0..k {
                let t = &self.data[place.t + a * nx..place.t + (a + 1) * nx];
                let d = delta[first + a];
                for (x, c) in here.iter_mut().zip(t) {
                    *x += d * *c;
                }
            }
        }
    }
}

/// Offsets of every joint, total length and number of slots.
fn layout(segments: &Segments, z: Sizes) -> (Vec<Place>, usize, usize) {
    let m = segments.list.len();
    let mut leaf = vec![true; m];
    let mut opens = vec![false; m];
    for (i, segment) in segments.list.iter().enumerate().rev() {
        if segment.parent != GROUND && leaf[segment.parent] {
            leaf[segment.parent] = false;
            opens[i] = true;
        }
    }
    // Slots: a parent takes one when its last child is done, and gives it back after its own elimination.
    let mut slot = vec![usize::MAX; m];
    let (mut free, mut slots) = (Vec::new(), 0);
    let mut take = |free: &mut Vec<usize>| {
        free.pop().unwrap_or_else(|| {
            slots += 1;
            slots - 1
        })
    };
    for i in (0..m).rev() {
        if leaf[i] {
            slot[i] = take(&mut free);
        }
        if opens[i] {
            slot[segments.list[i].parent] = take(&mut free);
        }
        free.push(slot[i]);
    }
    let mut offset = 0;
    let mut next = |length: usize| {
        offset += length;
        offset - length
    };
    let places = segments
        .list
        .iter()
        .enumerate()
        .map(|(i, segment)| {
            let k = z.s * segment.freedom();
            let (t, x, u, cy) = (next(k * z.nx), next(k * z.nx), next(k * z.ny), next(k * z.ny));
            let arm_count = if segment.origin.is_some() { 3 * z.points } else { 0 };
            Place {
                k,
                first: segment.coordinate * z.s,
                t,
                x,
                u,
                cy,
                inverse: next(k * k),
                slot: slot[i],
                opens: opens[i],
                leaf: leaf[i],
                parent: segment.parent,
                arms: next(arm_count),
                arm_count,
            }
        })
        .collect();
    (places, offset, slots)
}

/// `a × x`.
#[inline(always)]
fn cross<T: Real>(a: [f64; 3], x: &[T]) -> [T; 3] {
    [x[2] * a[1] - x[1] * a[2], x[0] * a[2] - x[2] * a[0], x[1] * a[0] - x[0] * a[1]]
}

/// Two different blocks of an array.
fn two_blocks(data: &mut [f64], size: usize, read: usize, write: usize) -> (&[f64], &mut [f64]) {
    if read < write {
        let (a, b) = data.split_at_mut(write * size);
        (&a[read * size..(read + 1) * size], &mut b[..size])
    } else {
        let (a, b) = data.split_at_mut(read * size);
        (&b[..size], &mut a[write * size..(write + 1) * size])
    }
}

/// Inverse of a `k × k` matrix with row pivoting (the matrix is destroyed); false if it is singular.
pub(crate) fn invert(m: &mut [f64], inverse: &mut [f64], k: usize) -> bool {
    inverse.fill(0.0);
    for i in 0..k {
        inverse[i * k + i] = 1.0;
    }
    for c in 0..k {
        let mut pivot = c;
        for r in c + 1..k {
            if m[r * k + c].abs() > m[pivot * k + c].abs() {
                pivot = r;
            }
        }
        let p = m[pivot * k + c];
        if !(p.abs() > 0.0 && p.is_finite()) {
            return false;
        }
        if pivot != c {
            for j in 0..k {
                m.swap(c * k + j, pivot * k + j);
                inverse.swap(c * k + j, pivot * k + j);
            }
        }
        let p = 1.0 / p;
        for j in 0..k {
            m[c * k + j] *= p;
            inverse[c * k + j] *= p;
        }
        for r in 0..k {
            let f = m[r * k + c];
            if r != c && f != 0.0 {
                for j in 0..k {
                    m[r * k + j] -= f * m[c * k + j];
                    inverse[r * k + j] -= f * inverse[c * k + j];
                }
            }
        }
    }
    true
}
