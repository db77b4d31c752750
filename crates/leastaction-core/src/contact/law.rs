//! Coulomb's law between impulse and velocity of a contact, as an equation, with its slopes. (9.5) to (9.8)
//!
//! ```text
//! 0 <= u_n _|_ g_n >= 0,   |g_t| <= mu g_n,   |u_t| g_t = -mu g_n u_t
//! z = g - rho u,   p_n = max(0, z_n),   p_t = z_t min(1, mu p_n/|z_t|),   r = g - p = 0
//! ```
//!
//! The first component is normal. The smoothed law is the central path: `g_n u_n = kappa = rho v_s^2`,
//! `u_t = -2 kappa g_t/(mu^2 g_n^2 - |g_t|^2)`.

use crate::scalar::elementary;

/// A law with its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// Friction.
    pub mu: f64,
    /// Contact mass: impulse per velocity.
    pub rho: f64,
    /// Smoothing speed; zero is the exact law.
    pub smoothing: f64,
    /// Added to the normal velocity: restitution times the approach.
    pub shift: f64,
    /// Normal velocity per normal impulse over `rho`: makes flat sliding contacts unique.
    pub compliance: f64,
    /// Unit direction of the slip, where it is prescribed.
    pub direction: Option<[f64; 2]>,
}

/// Residual of the law and its slopes by velocity and impulse.
#[derive(Clone, Copy, Debug, Default)]
pub struct Response {
    /// `r = g - p`, in units of impulse.
    pub residual: [f64; 3],
    /// `dr/du`.
    pub by_velocity: [[f64; 3]; 3],
    /// `dr/dg`.
    pub by_impulse: [[f64; 3]; 3],
}

impl Law {
    /// The exact law.
    #[must_use]
    pub fn new(mu: f64, rho: f64) -> Self {
        #[cfg(feature = "sabotage")]
        let mu = if crate::sabotage::chosen(crate::sabotage::Fault::WeakFriction) {
            mu * (1.0 - 1e-6)
        } else {
            mu
        };
        Self { mu, rho, smoothing: 0.0, shift: 0.0, compliance: 0.0, direction: None }
    }

    /// Residual and slopes at velocity `u` and impulse `g`.
    #[inline]
    #[must_use]
    pub fn response(&self, u: &[f64; 3], g: &[f64; 3]) -> Response {
        let Self { mu, rho, .. } = *self;
        let k = (rho * self.smoothing) * (rho * self.smoothing);
        let zn = g[0] * (1.0 - self.compliance) - rho * (u[0] + self.shift);
        let (zt1, zt2) = (g[1] - rho * u[1], g[2] - rho * u[2]);
        let (pn, slope_n) = positive_part(zn, k);
        let mut dp = [[0.0; 3]; 3];
        dp[0][0] = slope_n;
        let mut p = [pn, 0.0, 0.0];
        if let Some([d1, d2]) = self.direction {
            (p[1], p[2]) = (-mu * pn * d1, -mu * pn * d2);
            (dp[1][0], dp[2][0]) = (-mu * slope_n * d1, -mu * slope_n * d2);
        } else if mu > 0.0 {
            let (size, bound) = (elementary::hypot(zt1, zt2), mu * pn);
            let cut = cut_at(size, bound, k);
            let (d1, d2) = if size > 0.0 { (zt1 / size, zt2 / size) } else { (1.0, 0.0) };
            // s/|z|; its limit at zero is the slope.
            let across = if size > 0.0 { cut.value / size } else { cut.slope };
            (p[1], p[2]) = if size > 0.0 { (across * zt1, across * zt2) } else { (0.0, 0.0) };
            let along = cut.slope - across;
            dp[1][1] = across + along * d1 * d1;
            dp[1][2] = along * d1 * d2;
            dp[2][1] = dp[1][2];
            dp[2][2] = across + along * d2 * d2;
            let by_normal = cut.by_bound * mu * slope_n;
            (dp[1][0], dp[2][0]) = (by_normal * d1, by_normal * d2);
        }
        let mut out = Response::default();
        let soft = [1.0 - self.compliance, 1.0, 1.0];
        for i in 0..3 {
            out.residual[i] = g[i] - p[i];
            for j in 0..3 {
                out.by_velocity[i][j] = rho * dp[i][j];
                out.by_impulse[i][j] = f64::from(u8::from(i == j)) - dp[i][j] * soft[j];
            }
        }
        out
    }

    /// True if the contact pushes at this velocity and impulse, and if it slips.
    #[must_use]
    pub fn is_active(&self, u: &[f64; 3], g: &[f64; 3]) -> (bool, bool) {
        let zn = g[0] - self.rho * (u[0] + self.shift);
        let size = elementary::hypot(g[1] - self.rho * u[1], g[2] - self.rho * u[2]);
        (zn > 0.0, self.direction.is_some() || size > self.mu * zn.max(0.0))
    }
}

/// Dry friction with a fixed bound `F` on one scalar: `p = min(F, max(-F, g - rho u))`. Returns residual, `dr/du` and `dr/dg`;
/// with a given sign of the sliding the impulse is `-F sign`. (9.9)
#[inline]
#[must_use]
pub fn box_law(bound: f64, rho: f64, smoothing: f64, sign: Option<f64>, u: f64, g: f64) -> [f64; 3] {
    if let Some(sign) = sign {
        return [g + bound * sign, 0.0, 1.0];
    }
    let z = g - rho * u;
    let k = (rho * smoothing) * (rho * smoothing);
    let cut = cut_at(z.abs(), bound, k);
    [g - cut.value.copysign(z), rho * cut.slope, 1.0 - cut.slope]
}

/// `max(0, z)` or its smoothing `(z + sqrt(z^2 + 4k))/2`, and the slope.
#[inline]
fn positive_part(z: f64, k: f64) -> (f64, f64) {
    if k == 0.0 {
        return if z > 0.0 { (z, 1.0) } else { (0.0, 0.0) };
    }
    let root = (z * z + 4.0 * k).sqrt();
    let p = if z < 0.0 { 2.0 * k / (root - z) } else { 0.5 * (z + root) };
    (p, p / root)
}

/// A length cut at a bound, and its slopes.
struct Cut {
    value: f64,
    slope: f64,
    by_bound: f64,
}

/// `min(t, R)`, or its smoothing `s + 2 k s/(R^2 - s^2) = t`.
#[inline]
fn cut_at(t: f64, bound: f64, k: f64) -> Cut {
    if k == 0.0 {
        return if t <= bound {
            Cut { value: t, slope: 1.0, by_bound: 0.0 }
        } else {
            Cut { value: bound, slope: 0.0, by_bound: 1.0 }
        };
    }
    if bound <= 0.0 {
        return Cut { value: 0.0, slope: 0.0, by_bound: 0.0 };
    }
    // x (1 + c/(1 - x^2)) = tau, on [0, 1): increasing and convex.
    let (tau, c) = (t / bound, 2.0 * k / (bound * bound));
    let value = |x: f64| x + c * x / ((1.0 - x) * (1.0 + x)) - tau;
    let (mut low, mut high) = (0.0, 1.0f64.min(tau / (1.0 + c)));
    let mut x = high * (1.0 - f64::EPSILON);
    for _ in 0..100 {
        let f = value(x);
        if f > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let q = (1.0 - x) * (1.0 + x);
        let step = f / (1.0 + c * (1.0 + x * x) / (q * q));
        let mut next = x - step;
        if !(next >= low && next <= high) {
            next = 0.5 * (low + high);
        }
        if next == x || (high - low) <= f64::EPSILON * high {
            break;
        }
        x = next;
    }
    let s = x * bound;
    let q = if t > bound { 2.0 * k * s / (t - s) } else { (bound - s) * (bound + s) };
    let w = 2.0 * k * (bound * bound + s * s) / q;
    Cut { value: s, slope: q / (q + w), by_bound: (4.0 * k * s * bound / q) / (q + w) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differences(law: &Law, u: [f64; 3], g: [f64; 3]) -> f64 {
        let made = law.response(&u, &g);
        let (mut worst, e) = (0.0f64, 1e-6);
        for j in 0..3 {
            let moved = |x: [f64; 3], s: f64| {
                let mut x = x;
                x[j] += s * e;
                x
            };
            let by_u = [1.0, -1.0].map(|s| law.response(&moved(u, s), &g).residual);
            let by_g = [1.0, -1.0].map(|s| law.response(&u, &moved(g, s)).residual);
            for i in 0..3 {
                worst = worst
                    .max(((by_u[0][i] - by_u[1][i]) / (2.0 * e) - made.by_velocity[i][j]).abs())
                    .max(((by_g[0][i] - by_g[1][i]) / (2.0 * e) - made.by_impulse[i][j]).abs());
            }
        }
        worst
    }

    #[test]
    fn slopes_of_the_law_agree_with_differences_in_every_phase() {
        let exact = Law::new(0.6, 1.7);
        let cases = [
            ([0.0, 0.0, 0.0], [1.0, 0.1, -0.2]),  // sticks
            ([0.01, 0.5, -0.3], [1.0, 0.4, 0.3]), // slips
            ([0.8, 0.2, 0.1], [0.3, 0.1, 0.0]),   // open
        ];
        for (u, g) in cases {
            for smoothing in [0.0, 1e-2, 0.3] {
                let law = Law { smoothing, ..exact };
                assert!(differences(&law, u, g) < 2e-8, "{u:?} {smoothing} {}", differences(&law, u, g));
                let law = Law { direction: Some([0.6, -0.8]), compliance: 1e-4, shift: 0.02, ..law };
                assert!(differences(&law, u, g) < 2e-8, "{u:?} {smoothing} prescribed");
            }
        }
    }

    #[test]
    fn the_smoothed_law_is_the_central_path() {
        let (mu, rho, v) = (0.6, 1.7, 0.05);
        let kappa = rho * v * v;
        let law = Law { smoothing: v, ..Law::new(mu, rho) };
        // Impulses inside the cone, velocities by the path: the residual is zero.
        let g = [0.7, 0.2, -0.1];
        let room = mu * mu * g[0] * g[0] - (g[1] * g[1] + g[2] * g[2]);
        let u = [kappa / g[0], -2.0 * kappa * g[1] / room, -2.0 * kappa * g[2] / room];
        let r = law.response(&u, &g).residual;
        assert!(r.iter().all(|r| r.abs() < 1e-14), "{r:?}");
    }

    #[test]
    fn solutions_of_coulombs_law_are_zeros_and_nothing_else_is() {
        let law = Law::new(0.5, 2.0);
        let zero = |u, g| law.response(&u, &g).residual.iter().all(|r: &f64| r.abs() < 1e-15);
        assert!(zero([0.0; 3], [1.0, 0.3, 0.4]), "sticks on the cone");
        assert!(zero([0.0, 0.3, 0.0], [1.0, -0.5, 0.0]), "slides");
        assert!(zero([0.2, 0.3, 0.0], [0.0; 3]), "open");
        assert!(!zero([0.0, 0.3, 0.0], [1.0, 0.5, 0.0]), "friction drives");
        assert!(!zero([0.0; 3], [1.0, 0.6, 0.0]), "outside the cone");
        assert!(!zero([-0.1, 0.0, 0.0], [1.0, 0.0, 0.0]), "approaches");
        assert!(!zero([0.1, 0.0, 0.0], [1.0, 0.0, 0.0]), "pulls apart and pushes");
    }

    #[test]
    fn dry_friction_of_a_coordinate_holds_and_slides() {
        assert_eq!(box_law(0.5, 2.0, 0.0, None, 0.0, 0.3)[0], 0.0);
        assert_eq!(box_law(0.5, 2.0, 0.0, None, 0.7, -0.5)[0], 0.0);
        assert!(box_law(0.5, 2.0, 0.0, None, 0.7, 0.5)[0] != 0.0);
        for (u, g) in [(0.1, 0.2), (0.7, -0.2), (-0.4, 0.1)] {
            for smoothing in [0.0, 0.1] {
                let f = |u, g| box_law(0.5, 2.0, smoothing, None, u, g);
                let e = 1e-6;
                let du = (f(u + e, g)[0] - f(u - e, g)[0]) / (2.0 * e);
                let dg = (f(u, g + e)[0] - f(u, g - e)[0]) / (2.0 * e);
                assert!((du - f(u, g)[1]).abs() < 1e-8 && (dg - f(u, g)[2]).abs() < 1e-8);
            }
        }
    }
}
