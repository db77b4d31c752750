//! Six-vectors and 6×6 blocks as plain arrays: the currency of the block solver.

use super::lanes::Lanes;
use crate::spatial::{Momentum, Pose, Twist, Vec3, Wrench};

/// A 6×6 matrix by rows.
pub(crate) type Block = [[f64; 6]; 6];

/// Node `k` of a lane twist.
#[inline(always)]
pub(crate) fn twist_at<const N: usize>(v: &Twist<Lanes<f64, N>>, k: usize) -> Twist {
    Twist::new(vec_at(&v.ang, k), vec_at(&v.lin, k))
}
/// Node `k` of a lane momentum.
#[inline(always)]
pub(crate) fn momentum_at<const N: usize>(v: &Momentum<Lanes<f64, N>>, k: usize) -> Momentum {
    Momentum::new(vec_at(&v.ang, k), vec_at(&v.lin, k))
}
/// Node `k` of a lane wrench.
#[inline(always)]
pub(crate) fn wrench_at<const N: usize>(v: &Wrench<Lanes<f64, N>>, k: usize) -> Wrench {
    Wrench::new(vec_at(&v.ang, k), vec_at(&v.lin, k))
}
/// Node `k` of a lane vector.
#[inline(always)]
pub(crate) fn vec_at<const N: usize>(v: &Vec3<Lanes<f64, N>>, k: usize) -> Vec3 {
    Vec3(v.0.map(|x| x.0[k]))
}
/// Node `k` of a lane pose.
#[inline(always)]
pub(crate) fn pose_at<const N: usize>(x: &Pose<Lanes<f64, N>>, k: usize) -> Pose {
    Pose::new(super::ball::node_matrix(&x.rot, k), vec_at(&x.pos, k))
}

/// `adD_(τ,f) S = (τ × s + f × n; f × s)` for `S = (s; n)`: how a wrench changes when its frame moves along S.
#[inline(always)]
pub(crate) fn add_dual(f: Wrench, s: Twist) -> Wrench {
    Wrench::new(f.ang.cross(s.ang) + f.lin.cross(s.lin), f.lin.cross(s.ang))
}

/// Scalar product.
#[inline(always)]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Two accumulators: the compiler may not reorder a sum, so the order is chosen here.
    let (mut even, mut odd) = (0.0, 0.0);
    let (a2, b2) = (a.chunks_exact(2), b.chunks_exact(2));
    let tail: f64 = a2.remainder().iter().zip(b2.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a2.zip(b2) {
        even += x[0] * y[0];
        odd += x[1] * y[1];
    }
    even + odd + tail
}

/// `y += a x`.
#[inline(always)]
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Skew matrix as an array.
#[inline(always)]
pub(crate) fn skew(a: Vec3) -> [[f64; 3]; 3] {
    a.skew().0
}

/// A 6×6 matrix from four 3×3 blocks.
#[inline(always)]
pub(crate) fn blocks(a: [[f64; 3]; 3], b: [[f64; 3]; 3], c: [[f64; 3]; 3], d: [[f64; 3]; 3]) -> Block {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| match (i < 3, j < 3) {
            (true, true) => a[i][j],
            (true, false) => b[i][j - 3],
            (false, true) => c[i - 3][j],
            (false, false) => d[i - 3][j - 3],
        })
    })
}

/// `A B`.
pub(crate) fn product(a: &Block, b: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| (0..6).map(|k| a[i][k] * b[k][j]).sum()))
}

/// `A + f B`.
pub(crate) fn plus(a: &Block, f: f64, b: &Block) -> Block {
    std::array::from_fn(|i| std::array::from_fn(|j| a[i][j] + f * b[i][j]))
}

/// `ad_V` as a matrix.
pub(crate) fn ad(v: Twist) -> Block {
    blocks(skew(v.ang), [[0.0; 3]; 3], skew(v.lin), skew(v.ang))
}

/// `adD_F` as a matrix.
pub(crate) fn ad_dual(f: Wrench) -> Block {
    blocks(skew(f.ang), skew(f.lin), skew(f.lin), [[0.0; 3]; 3])
}
