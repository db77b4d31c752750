//! Feedback that holds an equilibrium: the discrete algebraic Riccati equation by doubling.
//!
//! `P = Q + Aᵀ P A − Aᵀ P B (R + Bᵀ P B)⁻¹ Bᵀ P A` (6.15). The doubling recursion (6.16) sums twice as many steps of the
//! regulator problem each time, so that fifteen iterations stand for 2¹⁵ steps; every one is a few products and one
//! solve of size `nx`. The residual of the equation is always computed and returned.

use super::plant::Plant;
use super::{ControlError, expect_length};
use crate::linalg::{add_transposed_mul, cholesky, cholesky_solve, largest, mul, solve, symmetrize};
use crate::mechanism::State;

/// A solution of the discrete algebraic Riccati equation.
#[derive(Clone, Debug, PartialEq)]
pub struct Riccati {
    /// Cost of what is to come is `½ xᵀ P x`; `nx × nx`.
    pub p: Vec<f64>,
    /// `u = K x`; `nu × nx`.
    pub gain: Vec<f64>,
    /// Largest entry of the equation's residual over that of `P`.
    pub residual: f64,
    /// Largest factor by which a motion under the feedback grows in one step; below one it decays.
    pub radius: f64,
}

/// Largest residual accepted; doubling reaches rounding times the condition of the problem.
const RESIDUAL: f64 = 1e-6;

/// Solves for a plant `[A B]` (`nx × (nx + nu)` by rows) and diagonal weights of state and input.
///
/// # Errors
/// [`ControlError::WrongLength`], or [`ControlError::NotStabilizable`] if no feedback was found that makes all motions
/// decay.
pub fn riccati(slope: &[f64], q: &[f64], r: &[f64]) -> Result<Riccati, ControlError> {
    let (nx, nu) = (q.len(), r.len());
    let w = nx + nu;
    expect_length("slope", slope.len(), nx * w)?;
    let part = |from: usize, to: usize| -> Vec<f64> {
        slope.chunks_exact(w).flat_map(|row| row[from..to].iter().copied()).collect()
    };
    let (a0, b) = (part(0, nx), part(nx, w));
    let failed = |residual| ControlError::NotStabilizable { residual };
    // G = B R⁻¹ Bᵀ, H = Q.
    let mut g = vec![0.0; nx * nx];
    for i in 0..nx {
        for j in 0..nx {
            g[i * nx + j] = (0..nu).map(|c| b[i * nu + c] * b[j * nu + c] / r[c]).sum();
        }
    }
    let mut h = vec![0.0; nx * nx];
    (0..nx).for_each(|i| h[i * (nx + 1)] = q[i]);
    let mut a = a0.clone();
    let mut product = vec![0.0; nx * nx];
    let mut sides = vec![0.0; nx * 2 * nx];
    for _ in 0..60 {
        // (I + G H) [X Y] = [A G].
        mul(&g, &h, &mut product, nx, nx, nx);
        (0..nx).for_each(|i| product[i * (nx + 1)] += 1.0);
        for i in 0..nx {
            sides[i * 2 * nx..i * 2 * nx + nx].copy_from_slice(&a[i * nx..(i + 1) * nx]);
            sides[i * 2 * nx + nx..(i + 1) * 2 * nx].copy_from_slice(&g[i * nx..(i + 1) * nx]);
        }
        solve(&mut product, nx, &mut sides, 2 * nx, 0.0).map_err(|_| failed(f64::NAN))?;
        let half = |first: usize| -> Vec<f64> {
            sides.chunks_exact(2 * nx).flat_map(|row| row[first..first + nx].iter().copied()).collect()
        };
        let (x, y) = (half(0), half(nx));
        // H += Aᵀ H X, G += A Y Aᵀ, A = A X.
        mul(&h, &x, &mut product, nx, nx, nx);
        let before = h.clone();
        add_transposed_mul(&a, &product, &mut h, nx, nx, nx);
        symmetrize(&mut h, nx);
        mul(&a, &y, &mut product, nx, nx, nx);
        for i in 0..nx {
            for j in 0..nx {
                g[i * nx + j] += crate::linalg::dot(&product[i * nx..(i + 1) * nx], &a[j * nx..(j + 1) * nx]);
            }
        }
        symmetrize(&mut g, nx);
        mul(&a.clone(), &x, &mut a, nx, nx, nx);
        let change = h.iter().zip(&before).fold(0.0f64, |m, (x, y)| m.max((x - y).abs()));
        let size = largest(&h);
        if !size.is_finite() {
            return Err(failed(f64::INFINITY));
        }
        if change <= 1e-15 * size {
            break;
        }
    }
    finish(&a0, &b, q, r, h).and_then(|found| {
        let good = found.residual <= RESIDUAL && found.radius < 1.0;
        if good { Ok(found) } else { Err(failed(found.residual)) }
    })
}

/// Gain, residual and decay of a candidate `P`.
fn finish(a: &[f64], b: &[f64], q: &[f64], r: &[f64], p: Vec<f64>) -> Result<Riccati, ControlError> {
    let (nx, nu) = (q.len(), r.len());
    let (mut pa, mut pb) = (vec![0.0; nx * nx], vec![0.0; nx * nu]);
    mul(&p, a, &mut pa, nx, nx, nx);
    mul(&p, b, &mut pb, nx, nx, nu);
    let mut inner = vec![0.0; nu * nu];
    (0..nu).for_each(|i| inner[i * (nu + 1)] = r[i]);
    add_transposed_mul(b, &pb, &mut inner, nu, nx, nu);
    let mut gain = vec![0.0; nu * nx];
    add_transposed_mul(b, &pa, &mut gain, nu, nx, nx);
    let mixed = gain.clone();
    cholesky(&mut inner, nu).map_err(|_| ControlError::NotStabilizable { residual: f64::NAN })?;
    cholesky_solve(&inner, nu, &mut gain, nx);
    gain.iter_mut().for_each(|x| *x = -*x);
    // Q + Aᵀ P A + (Aᵀ P B) K − P.
    let mut rest: Vec<f64> = p.iter().map(|x| -x).collect();
    (0..nx).for_each(|i| rest[i * (nx + 1)] += q[i]);
    add_transposed_mul(a, &pa, &mut rest, nx, nx, nx);
    add_transposed_mul(&mixed, &gain, &mut rest, nx, nu, nx);
    let residual = largest(&rest) / largest(&p).max(f64::MIN_POSITIVE);
    let mut closed = vec![0.0; nx * nx];
    mul(b, &gain, &mut closed, nx, nu, nx);
    closed.iter_mut().zip(a).for_each(|(c, a)| *c += a);
    Ok(Riccati { radius: spectral_radius(closed, nx), p, gain, residual })
}

/// `lim |Mᵏ|^{1/k}` by squaring thirty times.
fn spectral_radius(mut m: Vec<f64>, n: usize) -> f64 {
    let mut log = 0.0;
    let mut power = 1.0;
    let mut square = vec![0.0; n * n];
    for _ in 0..30 {
        let size = largest(&m);
        if size == 0.0 || !size.is_finite() {
            return if size == 0.0 { 0.0 } else { f64::INFINITY };
        }
        // |Mᵏ| = e^{k log} |m|.
        log += size.ln() / power;
        m.iter_mut().for_each(|x| *x /= size);
        mul(&m, &m, &mut square, n, n, n);
        std::mem::swap(&mut m, &mut square);
        power *= 2.0;
    }
    log.exp()
}

/// An equilibrium with the feedback that holds it.
#[derive(Clone, Debug)]
pub struct Regulator {
    /// The state that is held.
    pub state: State,
    /// The input that holds it where nothing disturbs.
    pub input: Vec<f64>,
    /// Feedback and what it costs.
    pub riccati: Riccati,
}

/// The input that holds a state at rest, from a first guess, by Gauss and Newton on the motion of one step.
///
/// # Errors
/// [`ControlError::NoEquilibrium`] if the state moves whatever the input; a step that fails.
pub fn equilibrium_input<P: Plant>(
    plant: &mut P,
    state: &State,
    guess: &[f64],
) -> Result<Vec<f64>, ControlError> {
    let (nx, nu) = (plant.nx(), plant.nu());
    let w = nx + nu;
    expect_length("inputs", guess.len(), nu)?;
    let mut u = guess.to_vec();
    let (mut next, mut slope, mut rest) = (state.clone(), Vec::new(), vec![0.0; nx]);
    let mut residual = f64::INFINITY;
    for _ in 0..20 {
        plant.linearize(state, &u, &mut next, &mut slope)?;
        plant.difference(state, &next, &mut rest);
        let before = residual;
        residual = largest(&rest);
        if residual <= 1e-14 || (residual <= 1e-11 && residual >= 0.5 * before) {
            break;
        }
        let mut normal = vec![0.0; nu * nu];
        let mut side = vec![0.0; nu];
        for (row, r) in slope.chunks_exact(w).zip(&rest) {
            for i in 0..nu {
                side[i] -= row[nx + i] * r;
                for j in 0..nu {
                    normal[i * nu + j] += row[nx + i] * row[nx + j];
                }
            }
        }
        // Inputs with equal effect share the work instead of making the matrix singular.
        let size = largest(&normal);
        (0..nu).for_each(|i| normal[i * (nu + 1)] += 1e-12 * size);
        if size == 0.0 || cholesky(&mut normal, nu).is_err() {
            break;
        }
        cholesky_solve(&normal, nu, &mut side, 1);
        u.iter_mut().zip(&side).for_each(|(u, d)| *u += d);
    }
    // A goal is given in a few digits: an equilibrium of a model at 3.1416 rad drifts by its rounding.
    if residual <= 1e-4 * plant.h() { Ok(u) } else { Err(ControlError::NoEquilibrium { residual }) }
}

/// Equilibrium input and feedback at a state at rest, for diagonal weights of state and input.
///
/// # Errors
/// As [`equilibrium_input`] and [`riccati`].
pub fn regulate<P: Plant>(
    plant: &mut P,
    state: &State,
    guess: &[f64],
    q: &[f64],
    r: &[f64],
) -> Result<Regulator, ControlError> {
    expect_length("state weights", q.len(), plant.nx())?;
    expect_length("input weights", r.len(), plant.nu())?;
    let input = equilibrium_input(plant, state, guess)?;
    let (mut next, mut slope) = (state.clone(), Vec::new());
    plant.linearize(state, &input, &mut next, &mut slope)?;
    Ok(Regulator { state: state.clone(), input, riccati: riccati(&slope, q, r)? })
}
