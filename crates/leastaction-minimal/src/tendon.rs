//! Servos, springs and dampers on several joints: what they couple, as a correction of low rank.
//!
//! The force of such a servo at point g answers to the motion of all its coordinates, `φ_g = V_gᵀ δ` with
//!
//! ```text
//! V_g = a_b (∂F/∂ℓ ℓ_γ(ĉ_g) + ∂F/∂ℓ̇ b^{gγ}/h),   U_g = a_c w h ℓ_α(ĉ_g)                                        (2.61)
//! δ = −J⁻¹ (r + U φ) = δ₀ + Y φ,   Y = −J⁻¹ U,   (1 − VᵀY) φ = Vᵀ δ₀
//! ```
//!
//! with the Newton matrix `J` of all else, which keeps the shape of the tree. One column per servo and point.

use super::residual::Residual;
use super::scheme::Scheme;
use super::segments::Segments;
use crate::mechanism::LawSlopes;

/// What acts on several coordinates.
#[derive(Clone, Copy, Debug)]
enum Member {
    Servo(usize),
    /// A spring or damper of a tendon.
    Passive(usize),
}

/// Columns and the small matrix of all coupling servos.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tendons {
    /// What acts on several coordinates.
    members: Vec<Member>,
    /// Their columns `Y`, one after the other, each by coordinate, then node.
    columns: Vec<f64>,
    /// Inverse of `1 − VᵀY`, row after row.
    inverse: Vec<f64>,
    swaps: Vec<usize>,
    answers: Vec<f64>,
    forces: Vec<f64>,
}

impl Tendons {
    /// Servos only.
    pub(crate) fn new(segments: &Segments, s: usize) -> Self {
        let several = |k: &usize| segments.servos[*k].entries.len() > 1;
        Self::of((0..segments.servos.len()).filter(several).map(Member::Servo).collect(), segments, s)
    }

    /// With the springs and dampers of tendons, which directions of Newton's method leave out and derivatives can't.
    pub(crate) fn with_passive(segments: &Segments, s: usize) -> Self {
        let passive = (0..segments.tendons.len()).map(Member::Passive);
        Self::of(Self::new(segments, s).members.into_iter().chain(passive).collect(), segments, s)
    }

    fn of(members: Vec<Member>, segments: &Segments, s: usize) -> Self {
        let most = members.len() * (s + 1);
        Self {
            members,
            columns: vec![0.0; most * segments.n * s],
            inverse: vec![0.0; most * most],
            swaps: vec![0; most],
            answers: vec![0.0; most],
            forces: vec![0.0; most],
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Number of columns.
    pub(crate) fn count<const N: usize>(&self, scheme: &Scheme<N>) -> usize {
        self.members.len() * scheme.points
    }

    /// Rows of column `j`: coordinate, row (the last is the momentum after the step), share.
    pub(crate) fn rows<const N: usize>(
        &self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        j: usize,
        mut each: impl FnMut(usize, usize, f64),
    ) {
        let (member, g) = (self.members[j / scheme.points], j % scheme.points);
        for (c, gear) in member.entries(segments).iter().copied() {
            if matches!(member, Member::Passive(_)) || residual.servos.free[c][g] {
                for row in 0..=scheme.s {
                    each(c, row, gear * residual.weights[g] * scheme.values[row][g]);
                }
            }
        }
    }

    /// `V_jᵀ x` for a variation of coordinate and node, with the start shifted by `shift`.
    pub(crate) fn answer<const N: usize>(
        &self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        j: usize,
        x: impl Fn(usize, usize) -> f64,
        shift: impl Fn(usize) -> f64,
    ) -> f64 {
        let (member, g) = (self.members[j / scheme.points], j % scheme.points);
        let slopes = member.slopes(segments, residual, g);
        let mut sum = 0.0;
        for (c, gear) in member.entries(segments).iter().copied() {
            let mut length = shift(c);
            let mut velocity = 0.0;
            for ga in 1..=scheme.s {
                length += scheme.values[ga][g] * x(c, ga);
                velocity += residual.rate_columns[ga][g] * x(c, ga);
            }
            sum += gear * (slopes.by_length * length + slopes.by_velocity * velocity);
        }
        sum
    }

    /// Solves for the columns with `solve`, which turns a right-hand side into `−J⁻¹` times it, and inverts the small matrix.
    /// Does not allocate.
    pub(crate) fn prepare<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        rhs: &mut [f64],
        mut solve: impl FnMut(&[f64], &mut [f64]),
    ) {
        let (s, m) = (scheme.s, self.count(scheme));
        let size = segments.n * s;
        let mut columns = std::mem::take(&mut self.columns);
        for (j, column) in columns.chunks_exact_mut(size).take(m).enumerate() {
            rhs.fill(0.0);
            self.rows(segments, scheme, residual, j, |c, row, share| {
                if row < s {
                    rhs[c * s + row] += share;
                }
            });
            solve(rhs, column);
        }
        let mut inverse = std::mem::take(&mut self.inverse);
        for i in 0..m {
            for j in 0..m {
                let column = &columns[j * size..(j + 1) * size];
                let answer =
                    self.answer(segments, scheme, residual, i, |c, ga| column[c * s + ga - 1], |_| 0.0);
                inverse[i * m + j] = f64::from(u8::from(i == j)) - answer;
            }
        }
        invert(&mut inverse, &mut self.swaps, m);
        self.columns = columns;
        self.inverse = inverse;
    }

    /// Adds what the servos couple to the direction `δ₀`. Does not allocate.
    pub(crate) fn correct<const N: usize>(
        &mut self,
        segments: &Segments,
        scheme: &Scheme<N>,
        residual: &Residual<f64, N>,
        direction: &mut [f64],
    ) {
        let (s, m) = (scheme.s, self.count(scheme));
        let size = segments.n * s;
        for i in 0..m {
            self.answers[i] =
                self.answer(segments, scheme, residual, i, |c, ga| direction[c * s + ga - 1], |_| 0.0);
        }
        for j in 0..m {
            self.forces[j] = (0..m).map(|i| self.inverse[j * m + i] * self.answers[i]).sum();
        }
        for (column, force) in self.columns.chunks_exact(size).zip(&self.forces).take(m) {
            direction.iter_mut().zip(column).for_each(|(x, y)| *x += force * y);
        }
    }
}

impl Member {
    /// Coordinates and gears.
    fn entries(self, segments: &Segments) -> &[(usize, f64)] {
        match self {
            Self::Servo(k) => &segments.servos[k].entries,
            Self::Passive(k) => &segments.tendons[k].terms,
        }
    }

    /// How its force answers at point `g`.
    fn slopes<const N: usize>(self, segments: &Segments, residual: &Residual<f64, N>, g: usize) -> LawSlopes {
        match self {
            Self::Servo(k) => residual.servos.slopes[k][g],
            Self::Passive(k) => {
                let tendon = &segments.tendons[k];
                let (by_length, by_velocity) = (-tendon.stiffness, -tendon.damping);
                LawSlopes { by_length, by_velocity, ..LawSlopes::default() }
            }
        }
    }
}

/// Inverse in place, by elimination with row pivoting; what has no pivot becomes infinite, which the solver notices.
pub(crate) fn invert(a: &mut [f64], swaps: &mut [usize], n: usize) {
    for k in 0..n {
        let pivot = (k..n).max_by(|i, j| a[i * n + k].abs().total_cmp(&a[j * n + k].abs())).unwrap_or(k);
        swaps[k] = pivot;
        if pivot != k {
            (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        }
        let p = 1.0 / a[k * n + k];
        a[k * n + k] = 1.0;
        (0..n).for_each(|j| a[k * n + j] *= p);
        for i in (0..n).filter(|i| *i != k) {
            let f = a[i * n + k];
            a[i * n + k] = 0.0;
            (0..n).for_each(|j| a[i * n + j] -= f * a[k * n + j]);
        }
    }
    // Exchanges of rows are undone on the columns of the inverse, last first.
    for k in (0..n).rev().filter(|k| swaps[*k] != *k) {
        (0..n).for_each(|i| a.swap(i * n + k, i * n + swaps[k]));
    }
}
