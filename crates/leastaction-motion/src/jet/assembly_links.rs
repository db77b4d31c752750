//! Inertias, momenta and composites of all links, and the vectors of (4.11) and (4.12), four at once.

use super::assembly::{ANCESTOR, OWN, PADDED, ROW, TorqueJacobian};
use super::taylor::{InertiaCoefficient, cross_force_at, inertia_at, inertia_next, inertia_rate_at, next};
use crate::simd::{LANES, Simd};
use crate::spatial::{Inertia, Mat3, Pose, Sym3, Twist, Vec3, Wrench};

/// One number of four places.
#[inline(always)]
fn gather<V: Simd>(f: impl Fn(usize) -> f64) -> V {
    V::from_lanes([f(0), f(1), f(2), f(3)])
}

#[inline(always)]
fn shifted(at: [usize; LANES], by: usize) -> [usize; LANES] {
    [at[0] + by, at[1] + by, at[2] + by, at[3] + by]
}

/// Four padded vectors, one per lane.
#[inline(always)]
fn gather_vector<V: Simd>(from: &[f64], at: [usize; LANES]) -> Vec3<V> {
    let [x, y, z, _] = V::transpose([
        V::load(&from[at[0]..]),
        V::load(&from[at[1]..]),
        V::load(&from[at[2]..]),
        V::load(&from[at[3]..]),
    ]);
    Vec3([x, y, z])
}

/// Four padded twists, one per lane.
#[inline(always)]
fn gather_twist<V: Simd>(from: &[f64], at: [usize; LANES]) -> Twist<V> {
    Twist::new(gather_vector(from, at), gather_vector(from, shifted(at, LANES)))
}

/// Inertias and momenta of all links, four at once, written row by row.
#[inline(always)]
pub(super) fn links<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
    let count = tj.plan.tree.stages.len();
    for (g, packed) in tj.plan.inertias.iter().enumerate() {
        let at = |k: usize| (g * LANES + k).min(count - 1);
        let at = [at(0), at(1), at(2), at(3)];
        let frame = [at[0] * 16, at[1] * 16, at[2] * 16, at[3] * 16];
        let columns = [
            gather_vector::<V>(&tj.frames, frame),
            gather_vector::<V>(&tj.frames, shifted(frame, LANES)),
            gather_vector::<V>(&tj.frames, shifted(frame, 2 * LANES)),
        ];
        let position = gather_vector::<V>(&tj.frames, shifted(frame, 3 * LANES));
        let pose = Pose::new(Mat3::from_columns(columns[0], columns[1], columns[2]), position);
        let x: [V; 10] = [
            V::load(&packed[0]),
            V::load(&packed[1]),
            V::load(&packed[2]),
            V::load(&packed[3]),
            V::load(&packed[4]),
            V::load(&packed[5]),
            V::load(&packed[6]),
            V::load(&packed[7]),
            V::load(&packed[8]),
            V::load(&packed[9]),
        ];
        let mass = x[0];
        let inertia = Inertia {
            mass,
            moment: Vec3([x[1], x[2], x[3]]),
            rot: Sym3([x[4], x[5], x[6], x[7], x[8], x[9]]),
        }
        .transformed(&pose);
        let mut v = [Twist::zero(); N];
        let mut ii = [InertiaCoefficient::zero(); N];
        for l in 0..N {
            v[l] = gather_twist::<V>(&tj.velocities, at.map(|i| (i * N + l) * PADDED));
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
    let at = l * ROW + b * LANES;
    V::transpose([
        V::load(&rows[stage[0] * N * ROW + at..]),
        V::load(&rows[stage[1] * N * ROW + at..]),
        V::load(&rows[stage[2] * N * ROW + at..]),
        V::load(&rows[stage[3] * N * ROW + at..]),
    ])
}

/// Everything a stage carries, added to it.
#[inline(always)]
pub(super) fn composites<V: Simd, const N: usize>(tj: &mut TorqueJacobian) {
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
pub(super) fn columns<V: Simd, const N: usize, const C: usize>(tj: &mut TorqueJacobian) {
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
            let place = at.map(|i| (tj.plan.columns[i] * (N + 1) + l) * PADDED);
            let x = gather_twist::<V>(&tj.axes, place);
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
            let at = (group * C + l) * ANCESTOR * LANES;
            let block: &mut [f64] = &mut tj.ancestors[at..at + ANCESTOR * LANES];
            store_ancestor(&mut block[..6 * LANES], s[l]);
            store_ancestor(&mut block[6 * LANES..12 * LANES], s1[l]);
            store_ancestor(&mut block[12 * LANES..18 * LANES], s2[l]);
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
fn store_ancestor<V: Simd>(out: &mut [f64], x: Twist<V>) {
    for i in 0..3 {
        x.ang.0[i].store(&mut out[i * LANES..(i + 1) * LANES]);
        x.lin.0[i].store(&mut out[(i + 3) * LANES..(i + 4) * LANES]);
    }
}
