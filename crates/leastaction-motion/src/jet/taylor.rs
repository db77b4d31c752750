//! Taylor coefficients of products: the arithmetic of jets.
//!
//! A jet holds `x_l = x^(l)/l!`. A bilinear product has the coefficients `z_l = Σ_m a_m b_{l−m}`; its transpose is the
//! correlation `x̄_m = Σ_{l≥m} aᵀ_{l−m} λ_l`. Every function here gives one coefficient; callers loop over orders,
//! with bounds the compiler knows where the order is a constant.

use crate::scalar::Real;
use crate::spatial::{Mat3, Sym3, Twist, Vec3, Wrench};

/// One coefficient of a rigid inertia about the common origin. The mass is constant and kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct InertiaCoefficient<T> {
    /// First moment.
    pub(crate) moment: Vec3<T>,
    /// Rotational inertia.
    pub(crate) rot: Sym3<T>,
}

impl<T: Real> InertiaCoefficient<T> {
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        Self { moment: Vec3::zero(), rot: Sym3::zero() }
    }
    #[inline(always)]
    pub(crate) fn plus(&self, b: &Self) -> Self {
        Self { moment: self.moment + b.moment, rot: self.rot.plus(&b.rot) }
    }
    /// `[J a + mc × b ; −mc × a]`: all but the mass.
    #[inline(always)]
    pub(crate) fn mul(&self, x: Twist<T>) -> Wrench<T> {
        Wrench { ang: self.rot.mul(x.ang) + self.moment.cross(x.lin), lin: x.ang.cross(self.moment) }
    }
}

/// `(l+1)` as a number.
#[inline(always)]
pub(crate) fn next(l: usize) -> f64 {
    (l + 1) as f64
}

/// Coefficient `l` of `a × b`.
#[inline(always)]
pub(crate) fn cross_at<T: Real>(a: &[Twist<T>], b: &[Twist<T>], l: usize) -> Twist<T> {
    let mut sum = Twist::zero();
    for m in 0..=l {
        sum += a[m].cross(b[l - m]);
    }
    sum
}

/// Coefficient `l` of `u ×* f`, that is of `N(f) u`.
#[inline(always)]
pub(crate) fn cross_force_at<T: Real>(u: &[Twist<T>], f: &[Wrench<T>], l: usize) -> Wrench<T> {
    let mut sum = Wrench::zero();
    for m in 0..=l {
        sum += u[m].cross_wrench(f[l - m]);
    }
    sum
}

/// Coefficient `l` of `s · f`.
#[inline(always)]
pub(crate) fn dot_at<T: Real>(s: &[Twist<T>], f: &[Wrench<T>], l: usize) -> T {
    let mut sum = T::zero();
    for m in 0..=l {
        sum += s[m].dot(f[l - m]);
    }
    sum
}

/// Coefficient `l` of `II x` for an inertia jet.
#[inline(always)]
pub(crate) fn inertia_at<T: Real>(
    mass: T,
    ii: &[InertiaCoefficient<T>],
    x: &[Twist<T>],
    l: usize,
) -> Wrench<T> {
    let mut sum = Wrench::new(Vec3::zero(), x[l].lin * mass);
    for m in 0..=l {
        sum += ii[m].mul(x[l - m]);
    }
    sum
}

/// Coefficient `l` of `(D II) x`.
#[inline(always)]
pub(crate) fn inertia_rate_at<T: Real>(ii: &[InertiaCoefficient<T>], x: &[Twist<T>], l: usize) -> Wrench<T> {
    let mut sum = Wrench::zero();
    for m in 0..=l {
        sum += ii[m + 1].mul(x[l - m]).scale(next(m));
    }
    sum
}

/// Coefficients of the rate of a world inertia, `(D II)_l`, from the velocity: order `l` needs orders up to `l`.
#[inline(always)]
pub(crate) fn inertia_next<T: Real>(
    mass: T,
    v: &[Twist<T>],
    ii: &[InertiaCoefficient<T>],
    l: usize,
) -> InertiaCoefficient<T> {
    let mut moment = v[l].lin * mass;
    let mut j = [T::zero(); 6];
    for m in 0..=l {
        let (w, u) = (v[m].ang, v[m].lin);
        let at = &ii[l - m];
        moment += w.cross(at.moment);
        let [xx, yy, zz, xy, xz, yz] = at.rot.0;
        let [w0, w1, w2] = w.0;
        let [u0, u1, u2] = u.0;
        let [c0, c1, c2] = at.moment.0;
        // B + Bᵀ − u mcᵀ − mc uᵀ + 2 (u·mc) with B = ŵ J.
        let (d0, d1, d2) = (u0 * c0, u1 * c1, u2 * c2);
        let b0 = w1 * xz - w2 * xy + d1 + d2;
        let b1 = w2 * xy - w0 * yz + d0 + d2;
        let b2 = w0 * yz - w1 * xz + d0 + d1;
        j[0] += b0 + b0;
        j[1] += b1 + b1;
        j[2] += b2 + b2;
        j[3] += w1 * yz - w2 * yy + w2 * xx - w0 * xz - u0 * c1 - u1 * c0;
        j[4] += w1 * zz - w2 * yz - w1 * xx + w0 * xy - u0 * c2 - u2 * c0;
        j[5] += w2 * xz - w0 * zz - w1 * xy + w0 * yy - u1 * c2 - u2 * c1;
    }
    let r = 1.0 / next(l);
    InertiaCoefficient {
        moment: moment.scale(r),
        rot: Sym3([j[0] * r, j[1] * r, j[2] * r, j[3] * r, j[4] * r, j[5] * r]),
    }
}

/// `Dx`: coefficients `(l+1) x_{l+1}` of a twist jet.
#[inline(always)]
pub(crate) fn rate<T: Real>(x: &[Twist<T>], out: &mut [Twist<T>], count: usize) {
    for l in 0..count {
        out[l] = x[l + 1].scale(next(l));
    }
}

/// `A⁻¹ x` of a motion jet, for the pose jet `(rot, pos)`.
#[inline(always)]
pub(crate) fn local_motion<T: Real>(
    rot: &[Mat3<T>],
    pos: &[Vec3<T>],
    x: &[Twist<T>],
    out: &mut [Twist<T>],
    count: usize,
) {
    for l in 0..count {
        out[l] = Twist::zero();
    }
    for l in 0..count {
        let mut lin = x[l].lin;
        for m in 0..=l {
            lin -= pos[m].cross(x[l - m].ang);
        }
        for m in 0..count - l {
            out[l + m].ang += rot[m].tr_mul(x[l].ang);
            out[l + m].lin += rot[m].tr_mul(lin);
        }
    }
}

/// `A*⁻¹ f` of a force jet, for the pose jet `(rot, pos)`.
#[inline(always)]
pub(crate) fn local_force<T: Real>(
    rot: &[Mat3<T>],
    pos: &[Vec3<T>],
    f: &[Wrench<T>],
    out: &mut [Wrench<T>],
    count: usize,
) {
    for l in 0..count {
        out[l] = Wrench::zero();
    }
    for l in 0..count {
        let mut ang = f[l].ang;
        for m in 0..=l {
            ang -= pos[m].cross(f[l - m].lin);
        }
        for m in 0..count - l {
            out[l + m].ang += rot[m].tr_mul(ang);
            out[l + m].lin += rot[m].tr_mul(f[l].lin);
        }
    }
}

/// Calls a kernel with the number of velocity coefficients as a constant where there is a fast path (force orders
/// −1 to 2, for types that are worth it), and with 0, the dynamic path, otherwise.
macro_rules! with_order {
    ($n:expr, $kernel:ident :: <$t:ty ; N> ( $($arg:expr),* $(,)? )) => {
        if <$t as crate::scalar::Real>::FAST {
            match $n {
                1 => $kernel::<$t, 1>($($arg),*),
                2 => $kernel::<$t, 2>($($arg),*),
                3 => $kernel::<$t, 3>($($arg),*),
                4 => $kernel::<$t, 4>($($arg),*),
                _ => $kernel::<$t, 0>($($arg),*),
            }
        } else {
            $kernel::<$t, 0>($($arg),*)
        }
    };
}
pub(crate) use with_order;
