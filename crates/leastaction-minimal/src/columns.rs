//! Columns of the one-step map's derivative: the block solver of `block_factor.rs` with shifts, inputs and the momentum after
//! the step.
//!
//! With a shift ζ of the start (`shift.rs`) and `o`, `L`, `N` for the rows of the momentum after the step, a joint has
//! besides (2.14)
//!
//! ```text
//! Z₀ = −Λ⁻¹ (C^y K T₀ + C₀),   U₀ = K T₀ − E₀,   L = O^y K + O^x,   N = O^y K T + O^q,   N₀ = O^y K T₀ + O₀    (2.34)
//! z = −Λ⁻¹ (r + C^y k) + Z₀ ζ,   k_p += k + U z + U₀ ζ
//! δξ = X x_p + z,   x = x_p + T δξ + T₀ ζ,   δp⁺ = L x_p + N δξ + N₀ ζ + O^y k                                (2.35)
//! ```
//!
//! so a column costs one inward and one outward sweep. Inward, only ancestors of what varies take part.

use super::block_factor::{NewtonFactor, Place, Sizes};
use super::residual::Evaluated;
use super::rows::MOST_AXES;
use super::scheme::Scheme;
use super::segments::{GROUND, Segments};
use super::shift::ShiftColumns;
use super::six::{axpy, dot};
use crate::scalar::Real;

/// What a joint keeps besides [`Place`], as offsets into one array.
#[derive(Clone, Copy, Debug)]
struct Extra {
    /// Number of coordinates.
    m: usize,
    t0: usize,
    u0: usize,
    z0: usize,
    l: usize,
    n: usize,
    n0: usize,
    oy: usize,
    effort: usize,
}

/// The factored derivative of one step.
#[derive(Clone, Debug)]
pub(super) struct StepSlope {
    factor: NewtonFactor,
    shift: ShiftColumns,
    extras: Vec<Extra>,
    data: Vec<f64>,
}

/// A batch of columns: what varies, and what comes of it.
#[derive(Clone, Debug)]
pub(super) struct ColumnMemory<T> {
    /// Shift of each coordinate; balls: of the anchor, child axes.
    pub(super) shift: Vec<T>,
    /// Right-hand side, by coordinate, then row.
    pub(super) rhs: Vec<T>,
    /// Change of the actuator force of each coordinate, and of the impulses on segments by node; empty without inputs.
    pub(super) effort: Vec<T>,
    /// Change of rows and momenta by the inputs of servos; empty without.
    pub(super) driven: Vec<T>,
    pub(super) driven_momentum: Vec<T>,
    pub(super) impulse: Vec<[T; 6]>,
    /// Result: increments by coordinate, then node; momentum after the step (balls: in the anchor's axes).
    pub(super) delta: Vec<T>,
    pub(super) momentum: Vec<T>,
    k: Vec<T>,
    x: Vec<T>,
    scratch: Vec<T>,
    live: Vec<bool>,
}

impl StepSlope {
    pub(super) fn new<const N: usize>(segments: &Segments, scheme: &Scheme<N>) -> Self {
        let (s, sizes) = (scheme.s, Sizes::extended(scheme));
        let factor = NewtonFactor::with_sizes(segments, sizes);
        let Sizes { nx, ny, .. } = sizes;
        let mut length = 0;
        let mut next = |size: usize| {
            length += size;
            length - size
        };
        let extras: Vec<Extra> = segments
            .list
            .iter()
            .map(|segment| {
                let m = segment.freedom();
                let k = s * m;
                Extra {
                    m,
                    u0: next(m * ny),
                    z0: next(k * m),
                    oy: next(m * ny),
                    effort: next((k + m) * m),
                    t0: next(m * nx),
                    l: next(m * nx),
                    n: next(m * k),
                    n0: next(m * m),
                }
            })
            .collect();
        let shift = ShiftColumns::new(sizes, s * MOST_AXES);
        Self { factor, shift, extras, data: vec![0.0; length] }
    }

    pub(super) fn memory<T: Real>(&self, segments: &Segments) -> ColumnMemory<T> {
        let Sizes { s, nx, ny, .. } = self.factor.sizes;
        let (n, m) = (segments.n, segments.list.len());
        ColumnMemory {
            shift: vec![T::zero(); n],
            rhs: vec![T::zero(); n * s],
            effort: Vec::new(),
            driven: Vec::new(),
            driven_momentum: Vec::new(),
            impulse: Vec::new(),
            delta: vec![T::zero(); n * s],
            momentum: vec![T::zero(); n],
            k: vec![T::zero(); self.factor.slots * ny],
            x: vec![T::zero(); m * nx],
            scratch: vec![T::zero(); s * MOST_AXES],
            live: vec![false; m],
        }
    }

    /// Coordinates that friction or a limit holds.
    pub(super) fn hold(&mut self, locked: &[bool]) {
        self.factor.locked.copy_from_slice(locked);
    }

    /// Factors at a point.
    ///
    /// # Errors
    /// The segment whose Λ is singular.
    pub(super) fn factor<const N: usize>(&mut self, at: Evaluated<'_, N>) -> Result<(), usize> {
        for i in (0..self.extras.len()).rev() {
            self.factor.factor_joint(at, i)?;
            self.factor.rows.fill_momentum(at, i);
            self.shift.fill(at, i);
            self.keep(i);
        }
        Ok(())
    }

    /// (2.34) for one joint, whose K is still there.
    fn keep(&mut self, i: usize) {
        let Self { factor, shift, extras, data } = self;
        let Sizes { nx, ny, .. } = factor.sizes;
        let (place, extra) = (factor.places[i], extras[i]);
        let (k, m) = (place.k, extra.m);
        let block = factor.block(place);
        let rows = &factor.rows;
        let inverse = &factor.data[place.inverse..place.inverse + k * k];
        data[extra.t0..extra.t0 + m * nx].copy_from_slice(&shift.t[..m * nx]);
        data[extra.oy..extra.oy + m * ny].copy_from_slice(&rows.cy[k * ny..(k + m) * ny]);
        for j in 0..m {
            let column = &shift.t[j * nx..(j + 1) * nx];
            let u0 = &mut data[extra.u0 + j * ny..extra.u0 + (j + 1) * ny];
            for (u, row) in u0.iter_mut().zip(block.chunks_exact(nx)) {
                *u = dot(row, column);
            }
            for r in 0..k {
                let mut sum = 0.0;
                for c in 0..k {
                    let source = dot(&rows.cy[c * ny..(c + 1) * ny], &data[extra.u0 + j * ny..][..ny])
                        + shift.rows[c][j];
                    sum -= inverse[r * k + c] * source;
                }
                data[extra.z0 + r * m + j] = sum;
            }
            for r in 0..m {
                let oy = &rows.cy[(k + r) * ny..(k + r + 1) * ny];
                data[extra.n0 + r * m + j] = dot(oy, &data[extra.u0 + j * ny..][..ny]) + shift.rows[k + r][j];
            }
            let u0 = &mut data[extra.u0 + j * ny..extra.u0 + (j + 1) * ny];
            for (u, e) in u0.iter_mut().zip(&shift.e[j * ny..(j + 1) * ny]) {
                *u -= e;
            }
            for r in 0..k + m {
                data[extra.effort + r * m + j] = shift.effort[r][j];
            }
        }
        for r in 0..m {
            let l = &mut data[extra.l + r * nx..extra.l + (r + 1) * nx];
            l.fill(0.0);
            for (o, row) in rows.cy[(k + r) * ny..(k + r + 1) * ny].iter().zip(block.chunks_exact(nx)) {
                if *o != 0.0 {
                    axpy(*o, row, l);
                }
            }
            for c in 0..k {
                let column = &rows.t[c * nx..(c + 1) * nx];
                data[extra.n + r * k + c] =
                    dot(&data[extra.l + r * nx..][..nx], column) + rows.cq[(k + r) * k + c];
            }
            axpy(1.0, &rows.cx[(k + r) * nx..(k + r + 1) * nx], &mut data[extra.l + r * nx..][..nx]);
        }
    }

    /// (2.35) for the batch in `memory`. Does not allocate.
    pub(super) fn solve<T: Real>(&self, memory: &mut ColumnMemory<T>) {
        memory.live.fill(false);
        for (i, (place, extra)) in self.factor.places.iter().zip(&self.extras).enumerate().rev() {
            self.inward(memory, i, *place, *extra);
        }
        for (i, (place, extra)) in self.factor.places.iter().zip(&self.extras).enumerate() {
            self.outward(memory, i, *place, *extra);
        }
    }

    #[inline(always)]
    fn inward<T: Real>(&self, memory: &mut ColumnMemory<T>, i: usize, place: Place, extra: Extra) {
        let Sizes { s, ny, .. } = self.factor.sizes;
        let Place { k, first, .. } = place;
        let (m, c0) = (extra.m, first / s);
        let nonzero = |x: &[T]| x.iter().any(|x| !x.is_zero());
        let varies = nonzero(&memory.rhs[first..first + k])
            || nonzero(&memory.shift[c0..c0 + m])
            || !memory.impulse.is_empty();
        let own = place.slot * ny;
        if !(varies || memory.live[i]) {
            memory.delta[first..first + k].fill(T::zero());
            memory.momentum[c0..c0 + m].fill(T::zero());
            if place.opens {
                let to = self.factor.places[place.parent].slot * ny;
                memory.k[to..to + ny].fill(T::zero());
            }
            return;
        }
        if place.leaf {
            memory.k[own..own + ny].fill(T::zero());
        }
        if !memory.impulse.is_empty() {
            for node in 0..self.factor.sizes.points {
                let at = own + self.factor.sizes.gamma(node);
                for (k, x) in memory.k[at..at + 6].iter_mut().zip(&memory.impulse[i * (s + 1) + node]) {
                    *k += *x;
                }
            }
        }
        let row_of = |rows: usize, a: usize| &self.factor.data[rows + a * ny..rows + (a + 1) * ny];
        for a in 0..k {
            let mut sum = memory.rhs[first + a];
            for (c, y) in row_of(place.cy, a).iter().zip(&memory.k[own..own + ny]) {
                sum += *y * *c;
            }
            memory.scratch[a] = sum;
        }
        for a in 0..m {
            let mut sum = T::zero();
            for (c, y) in self.data[extra.oy + a * ny..][..ny].iter().zip(&memory.k[own..own + ny]) {
                sum += *y * *c;
            }
            memory.momentum[c0 + a] = sum;
        }
        if !memory.effort.is_empty() {
            for j in 0..m {
                let effort = memory.effort[c0 + j];
                for a in 0..k {
                    memory.scratch[a] += effort * self.data[extra.effort + a * m + j];
                }
                for a in 0..m {
                    memory.momentum[c0 + a] += effort * self.data[extra.effort + (k + a) * m + j];
                }
            }
        }
        let inverse = &self.factor.data[place.inverse..place.inverse + k * k];
        for a in 0..k {
            let mut sum = T::zero();
            for b in 0..k {
                sum -= memory.scratch[b] * inverse[a * k + b];
            }
            for j in 0..m {
                sum += memory.shift[c0 + j] * self.data[extra.z0 + a * m + j];
            }
            memory.delta[first + a] = sum;
        }
        if place.parent == GROUND {
            return;
        }
        memory.live[place.parent] = true;
        let to = self.factor.places[place.parent].slot * ny;
        let shifted = nonzero(&memory.shift[c0..c0 + m]);
        for j in 0..ny {
            let mut sum = memory.k[own + j];
            for c in 0..k {
                sum += memory.delta[first + c] * self.factor.data[place.u + c * ny + j];
            }
            if shifted {
                for c in 0..m {
                    sum += memory.shift[c0 + c] * self.data[extra.u0 + c * ny + j];
                }
            }
            memory.k[own + j] = sum;
        }
        self.factor.shift_force(place, &mut memory.k[own..own + ny]);
        for j in 0..ny {
            let sum = memory.k[own + j];
            if place.opens {
                memory.k[to + j] = sum;
            } else {
                memory.k[to + j] += sum;
            }
        }
    }

    #[inline(always)]
    fn outward<T: Real>(&self, memory: &mut ColumnMemory<T>, i: usize, place: Place, extra: Extra) {
        let Sizes { s, nx, .. } = self.factor.sizes;
        let Place { k, first, parent, .. } = place;
        let (m, c0) = (extra.m, first / s);
        let (before, here) = memory.x.split_at_mut(i * nx);
        let here = &mut here[..nx];
        if parent == GROUND {
            here.fill(T::zero());
        } else {
            here.copy_from_slice(&before[parent * nx..(parent + 1) * nx]);
            self.factor.shift_motion(place, here);
            let from = &*here;
            for a in 0..k {
                let mut sum = memory.delta[first + a];
                for (c, x) in self.factor.data[place.x + a * nx..][..nx].iter().zip(from) {
                    sum += *x * *c;
                }
                memory.delta[first + a] = sum;
            }
            for a in 0..m {
                let mut sum = memory.momentum[c0 + a];
                for (c, x) in self.data[extra.l + a * nx..][..nx].iter().zip(from) {
                    sum += *x * *c;
                }
                memory.momentum[c0 + a] = sum;
            }
        }
        for a in 0..k {
            let d = memory.delta[first + a];
            for (x, c) in here.iter_mut().zip(&self.factor.data[place.t + a * nx..][..nx]) {
                *x += d * *c;
            }
            for b in 0..m {
                memory.momentum[c0 + b] += d * self.data[extra.n + b * k + a];
            }
        }
        for j in 0..m {
            let shift = memory.shift[c0 + j];
            if shift.is_zero() {
                continue;
            }
            for (x, c) in here.iter_mut().zip(&self.data[extra.t0 + j * nx..][..nx]) {
                *x += shift * *c;
            }
            for b in 0..m {
                memory.momentum[c0 + b] += shift * self.data[extra.n0 + b * m + j];
            }
        }
    }
}
