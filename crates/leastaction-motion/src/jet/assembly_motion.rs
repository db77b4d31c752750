//! The outward sweep of the torque Jacobian: (4.5) and (4.6) with a vector's three components in the lanes.
//!
//! Frames are kept by columns, twists padded to two vectors, so that nothing is shuffled but the operands of vector
//! products: with `y` the components turned by one place, `a × b = (a b' − a' b)'`, and sums of products turn once.

use super::assembly::{PADDED, TorqueJacobian};
use super::stage::{Stage, StageKind};
use crate::scalar::elementary;
use crate::simd::{LANES, Simd};
use crate::spatial::{Mat3, Quat, Vec3};

/// Angular and linear part.
type Pair<V> = [V; 2];

/// A frame by the columns of its rotation, and its position.
#[derive(Clone, Copy)]
struct Frame<V> {
    columns: [V; 3],
    position: V,
}

impl<V: Simd> Frame<V> {
    #[inline(always)]
    fn constant(rot: &Mat3, pos: Vec3) -> Self {
        let [x, y, z] = rot.0;
        Self {
            columns: [
                V::from_lanes([x[0], y[0], z[0], 0.0]),
                V::from_lanes([x[1], y[1], z[1], 0.0]),
                V::from_lanes([x[2], y[2], z[2], 0.0]),
            ],
            position: V::from_lanes([pos[0], pos[1], pos[2], 0.0]),
        }
    }
    #[inline(always)]
    fn load(from: &[f64]) -> Self {
        Self {
            columns: [V::load(&from[..4]), V::load(&from[4..8]), V::load(&from[8..12])],
            position: V::load(&from[12..16]),
        }
    }
    #[inline(always)]
    fn store(&self, to: &mut [f64]) {
        let [a, b, c] = self.columns;
        a.store(&mut to[..4]);
        b.store(&mut to[4..8]);
        c.store(&mut to[8..12]);
        self.position.store(&mut to[12..16]);
    }
    /// Column of a rotation about an axis of the frame.
    #[inline(always)]
    fn turning(&self, axis: usize) -> Pair<V> {
        let w = self.columns[axis];
        [w, twisted(self.position, w, V::splat(0.0)).yzx()]
    }
    /// Column of a slide along an axis of the frame.
    #[inline(always)]
    fn sliding(&self, axis: usize) -> Pair<V> {
        [V::splat(0.0), self.columns[axis]]
    }
    /// `R x`, columns times numbers.
    #[inline(always)]
    fn turn(&self, x: [f64; 3]) -> V {
        let [a, b, c] = self.columns;
        c.fma(V::splat(x[2]), b.fma(V::splat(x[1]), a * V::splat(x[0])))
    }
    #[inline(always)]
    fn times(&self, rot: &Mat3, pos: Vec3) -> Self {
        let [x, y, z] = rot.0;
        Self {
            columns: [
                self.turn([x[0], y[0], z[0]]),
                self.turn([x[1], y[1], z[1]]),
                self.turn([x[2], y[2], z[2]]),
            ],
            position: self.turn(pos.0) + self.position,
        }
    }
}

/// `a b' − a' b`: the vector product before it is turned.
#[inline(always)]
fn twisted<V: Simd>(a: V, b: V, sum: V) -> V {
    // sum + a b' − a' b.
    a.fma(b.yzx(), sum) - a.yzx() * b
}

/// The stage's own motion on the frame it moves on.
#[inline(always)]
fn place<V: Simd>(stage: &Stage, mut frame: Frame<V>, q: &[f64]) -> Frame<V> {
    match stage.kind {
        StageKind::Turn(axis) => {
            let (sin, cos) = elementary::sin_cos(q[stage.q]);
            let (sin, cos) = (V::splat(sin), V::splat(cos));
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            let (x, y) = (frame.columns[a], frame.columns[b]);
            frame.columns[a] = x.fma(cos, y * sin);
            frame.columns[b] = y.fms(cos, x * sin);
            frame
        }
        StageKind::Slide(axis) => {
            frame.position = frame.columns[axis].fma(V::splat(q[stage.q]), frame.position);
            frame
        }
        StageKind::Ball => frame.times(&Quat::from_slice(&q[stage.q..stage.q + 4]).to_matrix(), Vec3::zero()),
        StageKind::Free => {
            let q = &q[stage.q..stage.q + 7];
            frame.times(&Quat::from_slice(q).to_matrix(), Vec3([q[4], q[5], q[6]]))
        }
    }
}

#[inline(always)]
fn load<V: Simd>(from: &[f64], at: usize) -> Pair<V> {
    let from = &from[at..at + PADDED];
    [V::load(&from[..LANES]), V::load(&from[LANES..])]
}

#[inline(always)]
fn store<V: Simd>(x: Pair<V>, to: &mut [f64], at: usize) {
    let to = &mut to[at..at + PADDED];
    x[0].store(&mut to[..LANES]);
    x[1].store(&mut to[LANES..]);
}

/// Coefficient `l + 1` of a column that moves with the velocity `v`.
#[inline(always)]
fn next_column<V: Simd, const N: usize>(v: &[Pair<V>; N], s: &[Pair<V>], l: usize) -> Pair<V> {
    let (mut ang, mut lin) = (V::splat(0.0), V::splat(0.0));
    for m in 0..=l {
        let ([vw, vv], [sw, sv]) = (v[m], s[l - m]);
        ang = twisted(vw, sw, ang);
        lin = twisted(vv, sw, twisted(vw, sv, lin));
    }
    let f = V::splat(1.0 / (l + 1) as f64);
    [ang.yzx() * f, lin.yzx() * f]
}

/// Frames, velocities and columns of all stages.
#[inline(always)]
pub(super) fn motion<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let zero = V::splat(0.0);
    let (q, y, nv) = (&tj.jets.q, &tj.jets.y, tj.plan.columns.len());
    for (i, stage) in tj.plan.tree.stages.iter().enumerate() {
        let before = match stage.parent {
            Some(p) => {
                let frame = Frame::load(&tj.frames[p * 16..(p + 1) * 16]);
                match &stage.placement {
                    Some(x) => frame.times(&x.rot, x.pos),
                    None => frame,
                }
            }
            None => {
                let x = stage.placement.unwrap_or_default();
                Frame::constant(&x.rot, x.pos - tj.jets.origin)
            }
        };
        let frame = place(stage, before, q);
        frame.store(&mut tj.frames[i * 16..(i + 1) * 16]);
        let mut parent = [[zero; 2]; N];
        if let Some(p) = stage.parent {
            for l in 0..N {
                parent[l] = load(&tj.velocities, (p * N + l) * PADDED);
            }
        }
        let axes = stage.v * (N + 1) * PADDED;
        if stage.nv == 1 {
            // The column's last coefficient is beyond `N`: kept apart, it multiplies nothing here.
            let mut s = [[zero; 2]; N];
            s[0] = match stage.kind {
                StageKind::Turn(axis) => frame.turning(axis),
                StageKind::Slide(axis) => frame.sliding(axis),
                // Not one-axis.
                StageKind::Ball | StageKind::Free => [zero; 2],
            };
            store(s[0], &mut tj.axes, axes);
            for l in 0..N {
                let mut sum = parent[l];
                for m in 0..=l {
                    let rate = V::splat(y[(l - m) * nv + stage.v]);
                    sum = [s[m][0].fma(rate, sum[0]), s[m][1].fma(rate, sum[1])];
                }
                store(sum, &mut tj.velocities, (i * N + l) * PADDED);
                let next = if stage.parent.is_some() { next_column(&parent, &s, l) } else { [zero; 2] };
                store(next, &mut tj.axes, axes + (l + 1) * PADDED);
                if l + 1 < N {
                    s[l + 1] = next;
                }
            }
            continue;
        }
        for c in 0..stage.nv {
            let first = if c < 3 { frame.turning(c) } else { frame.sliding(c - 3) };
            store(first, &mut tj.axes, axes + c * (N + 1) * PADDED);
        }
        let mut own = [[zero; 2]; N];
        for l in 0..N {
            let mut sum = parent[l];
            for c in 0..stage.nv {
                for m in 0..=l {
                    let s = load::<V>(&tj.axes, axes + (c * (N + 1) + m) * PADDED);
                    let rate = V::splat(y[(l - m) * nv + stage.v + c]);
                    sum = [s[0].fma(rate, sum[0]), s[1].fma(rate, sum[1])];
                }
            }
            own[l] = sum;
            store(sum, &mut tj.velocities, (i * N + l) * PADDED);
            for c in 0..stage.nv {
                let mut s = [[zero; 2]; N];
                for m in 0..=l {
                    s[m] = load(&tj.axes, axes + (c * (N + 1) + m) * PADDED);
                }
                store(next_column(&own, &s, l), &mut tj.axes, axes + (c * (N + 1) + l + 1) * PADDED);
            }
        }
    }
}
