//! [`Cmtm`]: the comprehensive motion transformation matrix, as an operator on jets.
//!
//! For readers of the source: with the pose jet `A_0, A_1, …` (6×6 matrices on motions) the matrix of order K is the
//! block-lower-triangular Toeplitz matrix `X_{lm} = A_{l−m}`. Applying it to a stacked jet is the jet product; nothing
//! needs to be materialised.

use crate::scalar::Real;
use crate::spatial::{Mat3, Twist, Vec3, Wrench};

/// The transformation of motion and force jets by a moving frame, given by its rotation and position jets.
#[derive(Clone, Copy, Debug)]
pub struct Cmtm<'a, T = f64> {
    rot: &'a [Mat3<T>],
    pos: &'a [Vec3<T>],
}

impl<'a, T: Real> Cmtm<'a, T> {
    /// From the jets of a frame's rotation and position (see
    /// [`JetWorkspace::pose_jets`](crate::jet::JetWorkspace::pose_jets)). The shorter one tells the order.
    #[must_use]
    pub fn new(rot: &'a [Mat3<T>], pos: &'a [Vec3<T>]) -> Self {
        let n = rot.len().min(pos.len());
        Self { rot: &rot[..n], pos: &pos[..n] }
    }

    /// Number of coefficients.
    #[must_use]
    pub fn count(&self) -> usize {
        self.rot.len()
    }

    /// `X u`: a motion jet from the frame to the world.
    pub fn apply(&self, u: &[Twist<T>], out: &mut [Twist<T>]) {
        for l in 0..u.len().min(self.count()) {
            let mut sum = Twist::zero();
            for m in 0..=l {
                sum.ang += self.rot[m] * u[l - m].ang;
                sum.lin += self.rot[m] * u[l - m].lin;
            }
            out[l] = sum;
        }
        // p × R w, from the last order down so that lower ones are still those of R w.
        for l in (0..u.len().min(self.count())).rev() {
            for m in 0..=l {
                let w = out[l - m].ang;
                out[l].lin += self.pos[m].cross(w);
            }
        }
    }

    /// `X⁻¹ u`: a motion jet from the world to the frame.
    pub fn solve(&self, u: &[Twist<T>], out: &mut [Twist<T>]) {
        let n = u.len().min(self.count());
        for l in 0..n {
            out[l] = Twist::zero();
            for m in 0..=l {
                let mut lin = u[m].lin;
                for a in 0..=m {
                    lin -= self.pos[a].cross(u[m - a].ang);
                }
                out[l].ang += self.rot[l - m].tr_mul(u[m].ang);
                out[l].lin += self.rot[l - m].tr_mul(lin);
            }
        }
    }

    /// `X* f`: a force or momentum jet from the frame to the world.
    pub fn apply_dual(&self, f: &[Wrench<T>], out: &mut [Wrench<T>]) {
        for l in 0..f.len().min(self.count()) {
            let mut sum = Wrench::zero();
            for m in 0..=l {
                sum.ang += self.rot[m] * f[l - m].ang;
                sum.lin += self.rot[m] * f[l - m].lin;
            }
            out[l] = sum;
        }
        for l in (0..f.len().min(self.count())).rev() {
            for m in 0..=l {
                let force = out[l - m].lin;
                out[l].ang += self.pos[m].cross(force);
            }
        }
    }

    /// `X*⁻¹ f`: a force or momentum jet from the world to the frame.
    pub fn solve_dual(&self, f: &[Wrench<T>], out: &mut [Wrench<T>]) {
        let n = f.len().min(self.count());
        for l in 0..n {
            out[l] = Wrench::zero();
            for m in 0..=l {
                let mut ang = f[m].ang;
                for a in 0..=m {
                    ang -= self.pos[a].cross(f[m - a].lin);
                }
                out[l].ang += self.rot[l - m].tr_mul(ang);
                out[l].lin += self.rot[l - m].tr_mul(f[m].lin);
            }
        }
    }

    /// `Xᵀ f`: weights on world motions to weights on motions in the frame. The transpose of a jet product is the product
    /// with the orders reversed, and `Aᵀ = A*⁻¹`.
    pub fn apply_transposed(&self, f: &[Wrench<T>], out: &mut [Wrench<T>]) {
        let n = f.len().min(self.count());
        let reversed: Vec<Wrench<T>> = f[..n].iter().rev().copied().collect();
        self.solve_dual(&reversed, out);
        out[..n].reverse();
    }

    /// `X⁻ᵀ f`: weights on motions in the frame to weights on world motions.
    pub fn solve_transposed(&self, f: &[Wrench<T>], out: &mut [Wrench<T>]) {
        let n = f.len().min(self.count());
        let reversed: Vec<Wrench<T>> = f[..n].iter().rev().copied().collect();
        self.apply_dual(&reversed, out);
        out[..n].reverse();
    }
}
