//! Cost quantities by nested dual numbers on the recursive Newton–Euler algorithm: the twin of the jet evaluation.
//!
//! Time derivatives come from duals in time, `q(t + ε) = q + ε q'`, Jacobians and Hessians from duals on top. Serves
//! torques and link velocities of trees with one-coordinate joints. Slow: about `(4n)²/2` dynamics calls per Hessian.

use crate::dynamics::Dynamics;
use crate::jet::{Quantities, Quantity, QuantityKind, Samples};
use crate::mechanism::Mechanism;
use crate::scalar::{Dual, Real};

/// Directions treated at once. One: then all nestings below are the same few types, and compile quickly.
const N: usize = 1;

type First = Dual<f64, N>;
type Second = Dual<First, N>;

/// Evaluates torques and link velocities by dual numbers.
#[derive(Clone, Debug)]
pub struct QuantitiesByDuals {
    mechanism: Mechanism,
    quantities: Vec<Quantity>,
    order: usize,
}

impl QuantitiesByDuals {
    /// For a mechanism and a list of torques and link velocities (other quantities give zeros).
    #[must_use]
    pub fn new(mechanism: &Mechanism, quantities: &[Quantity]) -> Self {
        let order = quantities.iter().map(|q| q.order).max().unwrap_or(0);
        Self { mechanism: mechanism.clone(), quantities: quantities.to_vec(), order }
    }

    fn evaluate<T: Real>(&self, x: &[T]) -> Vec<T> {
        match self.order {
            0 => self.series(x, |d, j, n| at(x, d, j, n), |z: T, _| z),
            1 => self.series(
                x,
                |d, j, n| Dual::<T, 1> { re: at(x, d, j, n), eps: [at(x, d + 1, j, n)] },
                |z, l| if l == 0 { z.re } else { z.eps[0] },
            ),
            _ => self.series(
                x,
                |d, j, n| {
                    let first = |d| Dual::<T, 1> { re: at(x, d, j, n), eps: [at(x, d + 1, j, n)] };
                    Dual::<Dual<T, 1>, 1> { re: first(d), eps: [first(d + 1)] }
                },
                |z, l| match l {
                    0 => z.re.re,
                    1 => z.re.eps[0],
                    _ => z.eps[0].eps[0],
                },
            ),
        }
    }

    fn jacobian(&self, x: &[f64], jacobian: &mut [f64]) {
        let size = x.len();
        for c0 in (0..size).step_by(N) {
            let mut y: Vec<First> = x.iter().map(|x| Dual::constant(*x)).collect();
            for c in c0..size.min(c0 + N) {
                y[c].eps[c - c0] = 1.0;
            }
            for (r, value) in self.evaluate(&y).iter().enumerate() {
                for c in c0..size.min(c0 + N) {
                    jacobian[r * size + c] = value.eps[c - c0];
                }
            }
        }
    }

    fn add_hessian(&self, x: &[f64], mu: &[f64], hessian: &mut [f64]) {
        let size = x.len();
        for c0 in (0..size).step_by(N) {
            for d0 in (0..=c0).step_by(N) {
                let mut y: Vec<Second> = x.iter().map(|x| Dual::constant(Dual::constant(*x))).collect();
                for c in c0..size.min(c0 + N) {
                    y[c].eps[c - c0].re = 1.0;
                }
                for d in d0..size.min(d0 + N) {
                    y[d].re.eps[d - d0] = 1.0;
                }
                for (r, value) in self.evaluate(&y).iter().enumerate() {
                    for c in c0..size.min(c0 + N) {
                        for d in d0..size.min(d0 + N) {
                            let h = mu[r] * value.eps[c - c0].eps[d - d0];
                            hessian[c * size + d] += h;
                            if c0 != d0 {
                                hessian[d * size + c] += h;
                            }
                        }
                    }
                }
            }
        }
    }

    /// Rows of all quantities; `lift` makes derivative `d` of joint `j` a series in time, `lower` takes orders out.
    fn series<T: Real, S: Real>(
        &self,
        _: &[T],
        lift: impl Fn(usize, usize, usize) -> S,
        lower: impl Fn(S, usize) -> T,
    ) -> Vec<T> {
        let n = self.mechanism.nv();
        let row = |d: usize| (0..n).map(|j| lift(d, j, n)).collect::<Vec<S>>();
        let (q, v, a) = (row(0), row(1), row(2));
        let mut dynamics = Dynamics::<S>::new(&self.mechanism);
        let mut tau = vec![S::zero(); n];
        dynamics.inverse_dynamics_into(&self.mechanism, &q, &v, &a, &mut tau);
        let mut out = Vec::new();
        for quantity in &self.quantities {
            let body = quantity.target.and_then(|target| target.body);
            match (quantity.kind, body) {
                (QuantityKind::Torque, _) => out.extend(tau.iter().map(|t| lower(*t, quantity.order))),
                (QuantityKind::Velocity, Some(body)) => {
                    let twist = dynamics.kinematics.body_twist(&self.mechanism, body).to_array();
                    out.extend(twist.iter().map(|t| lower(*t, quantity.order)));
                }
                _ => out.extend(std::iter::repeat_n(T::zero(), quantity.rows(n))),
            }
        }
        out
    }
}

/// Derivative `d` of joint `j`; zero above the highest one given.
fn at<T: Real>(x: &[T], d: usize, j: usize, n: usize) -> T {
    x.get(d * n + j).copied().unwrap_or_default()
}

impl Quantities for QuantitiesByDuals {
    fn rows(&self) -> usize {
        self.quantities.iter().map(|q| q.rows(self.mechanism.nv())).sum()
    }

    fn values(&mut self, samples: Samples<'_>, z: &mut [f64]) {
        let rows = self.rows();
        for s in 0..samples.len() {
            z[s * rows..(s + 1) * rows].copy_from_slice(&self.evaluate(samples.state(s)));
        }
    }

    fn jacobians(&mut self, samples: Samples<'_>, jacobians: &mut [f64]) {
        let (rows, size) = (self.rows(), samples.size());
        for s in 0..samples.len() {
            let jacobian = &mut jacobians[s * rows * size..(s + 1) * rows * size];
            self.jacobian(samples.state(s), jacobian);
        }
    }

    fn add_hessians(&mut self, samples: Samples<'_>, mu: &[f64], hessians: &mut [f64]) {
        let (rows, size) = (self.rows(), samples.size());
        for s in 0..samples.len() {
            let hessian = &mut hessians[s * size * size..(s + 1) * size * size];
            self.add_hessian(samples.state(s), &mu[s * rows..(s + 1) * rows], hessian);
        }
    }
}
