//! What a controlled motion costs: sums of squares along the path and at its end.
//!
//! Every term is `½ Σ_i w_i r_i²` with residuals `r` of state and input; along the path it is multiplied by the step, so
//! that weights mean the same at every step length. Hessians are those of Gauss and Newton, `Jᵀ w J` (6.4).

use super::trajectory::Path;
use super::{ControlError, expect_length};
use crate::dynamics::Kinematics;
use crate::lie::so3;
use crate::linalg::add_transposed_mul_vector;
use crate::mechanism::{BodyId, Mechanism, State};
use crate::spatial::{Mat3, Quat, Twist, Vec3};

/// A cost with its derivatives, in tangents of the state and inputs.
pub trait Objective {
    /// Cost of step `k`, of `x` and `u` held over it.
    fn stage(&mut self, k: usize, x: &State, u: &[f64]) -> f64;
    /// Adds gradient and Hessian of [`stage`](Self::stage), sizes `nx + nu`; both are zero before.
    fn expand_stage(&mut self, k: usize, x: &State, u: &[f64], gradient: &mut [f64], hessian: &mut [f64]);
    /// Cost of the last state.
    fn end(&mut self, x: &State) -> f64;
    /// Adds gradient and Hessian of [`end`](Self::end), sizes `nx`; both are zero before.
    fn expand_end(&mut self, x: &State, gradient: &mut [f64], hessian: &mut [f64]);
}

/// Where a term counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At every step, multiplied by its length.
    Path,
    /// At the last state.
    End,
}

/// What a term measures.
#[derive(Clone, Debug)]
pub enum ControlTermKind {
    /// Tangent from the goal's positions; one weight per velocity coordinate.
    Position {
        /// Positions of the goal.
        goal: Vec<f64>,
        /// Weights.
        weights: Vec<f64>,
    },
    /// Difference from the goal's velocities.
    Velocity {
        /// Velocities of the goal.
        goal: Vec<f64>,
        /// Weights.
        weights: Vec<f64>,
    },
    /// Difference from reference inputs; path only.
    Input {
        /// Inputs that cost nothing.
        reference: Vec<f64>,
        /// Weights.
        weights: Vec<f64>,
    },
    /// Distance of a point of a body from a target in the world.
    Point {
        /// The body.
        body: BodyId,
        /// The point in the body frame.
        point: Vec3,
        /// Where it should be.
        target: Vec3,
        /// Weights along the world's axes.
        weights: [f64; 3],
    },
    /// Rotation vector from a target orientation of a body.
    Orientation {
        /// The body.
        body: BodyId,
        /// Target orientation in the world.
        target: Mat3,
        /// Weights along the target's axes.
        weights: [f64; 3],
    },
}

/// A term of the cost.
#[derive(Clone, Debug)]
pub struct ControlTerm {
    /// Where it counts.
    pub when: When,
    /// What it measures.
    pub kind: ControlTermKind,
}

/// A sum of [`ControlTerm`]s for one mechanism.
#[derive(Debug)]
pub struct Costs<'m> {
    mechanism: &'m Mechanism,
    terms: Vec<ControlTerm>,
    h: f64,
    kinematics: Kinematics,
    columns: Vec<Twist>,
    tangent: Vec<f64>,
    /// Residuals' Jacobian of one joint or body, by columns.
    unit: Vec<f64>,
    column: Vec<f64>,
    rows: Vec<f64>,
}

impl<'m> Costs<'m> {
    /// Costs of motions with step `h`.
    ///
    /// # Errors
    /// If weights, a goal or a reference have another length than the mechanism needs.
    pub fn new(mechanism: &'m Mechanism, terms: Vec<ControlTerm>, h: f64) -> Result<Self, ControlError> {
        let (nq, nv, nu) = (mechanism.nq(), mechanism.nv(), mechanism.nu());
        for term in &terms {
            let (given, weights, needed) = match &term.kind {
                ControlTermKind::Position { goal, weights } => (goal.len(), weights.len(), (nq, nv)),
                ControlTermKind::Velocity { goal, weights } => (goal.len(), weights.len(), (nv, nv)),
                ControlTermKind::Input { reference, weights } => (reference.len(), weights.len(), (nu, nu)),
                ControlTermKind::Point { .. } | ControlTermKind::Orientation { .. } => continue,
            };
            expect_length("goal", given, needed.0)?;
            expect_length("weights", weights, needed.1)?;
        }
        Ok(Self {
            mechanism,
            terms,
            h,
            kinematics: Kinematics::new(mechanism),
            columns: vec![Twist::zero(); nv],
            tangent: vec![0.0; nv],
            unit: vec![0.0; nv],
            column: vec![0.0; nv],
            // Three rows of a body's Jacobian, or the square Jacobian of one joint.
            rows: vec![0.0; (3 * nv).max(36)],
        })
    }

    /// The terms.
    #[must_use]
    pub fn terms(&self) -> &[ControlTerm] {
        &self.terms
    }

    /// What each term costs on a path.
    pub fn totals(&mut self, path: &Path) -> Vec<f64> {
        let all = std::mem::take(&mut self.terms);
        let mut totals = Vec::new();
        for term in &all {
            self.terms = vec![term.clone()];
            let steps = path.steps();
            let along: f64 = (0..steps).map(|k| self.stage(k, &path.states[k], path.u(k))).sum();
            totals.push(along + path.states.last().map_or(0.0, |x| self.end(x)));
        }
        self.terms = all;
        totals
    }

    fn value(&mut self, when: When, x: &State, u: &[f64]) -> f64 {
        let Self { mechanism, terms, kinematics, tangent, .. } = self;
        if terms.iter().any(|term| term.when == when && term.looks_at_bodies()) {
            kinematics.update_positions(mechanism, &x.q);
        }
        let mut sum = 0.0;
        for term in terms.iter().filter(|term| term.when == when) {
            sum += match &term.kind {
                ControlTermKind::Position { goal, weights } => {
                    mechanism.difference(goal, &x.q, tangent);
                    weights.iter().zip(tangent.iter()).map(|(w, r)| 0.5 * w * r * r).sum::<f64>()
                }
                ControlTermKind::Velocity { goal, weights } => squares(weights, goal, &x.v),
                ControlTermKind::Input { reference, weights } => squares(weights, reference, u),
                ControlTermKind::Point { body, point, target, weights } => {
                    let r = kinematics.body_pose(mechanism, *body).point(*point) - *target;
                    (0..3).map(|i| 0.5 * weights[i] * r[i] * r[i]).sum::<f64>()
                }
                ControlTermKind::Orientation { body, target, weights } => {
                    let r = turn(target, &kinematics.body_pose(mechanism, *body).rot);
                    (0..3).map(|i| 0.5 * weights[i] * r[i] * r[i]).sum::<f64>()
                }
            };
        }
        sum
    }

    /// Adds derivatives times `scale`; `n` is the size of gradient and Hessian.
    fn expand(&mut self, when: When, x: &State, u: &[f64], scale: f64, g: &mut [f64], h: &mut [f64]) {
        let (n, nv) = (g.len(), self.mechanism.nv());
        if self.terms.iter().any(|term| term.when == when && term.looks_at_bodies()) {
            self.kinematics.update_positions(self.mechanism, &x.q);
        }
        let terms = std::mem::take(&mut self.terms);
        for term in terms.iter().filter(|term| term.when == when) {
            match &term.kind {
                ControlTermKind::Position { goal, weights } => {
                    self.expand_position(goal, weights, x, scale, g, h);
                }
                ControlTermKind::Velocity { goal, weights } => {
                    diagonal(weights, goal, &x.v, scale, nv, g, h);
                }
                ControlTermKind::Input { reference, weights } => {
                    diagonal(weights, reference, u, scale, 2 * nv, g, h);
                }
                ControlTermKind::Point { body, point, target, weights } => {
                    let pose = self.kinematics.body_pose(self.mechanism, *body);
                    let r = pose.point(*point) - *target;
                    self.kinematics.body_jacobian_into(self.mechanism, *body, &mut self.columns);
                    for (c, s) in self.columns.iter().enumerate() {
                        let d = pose.rot * (s.lin + s.ang.cross(*point));
                        (0..3).for_each(|i| self.rows[i * nv + c] = d[i]);
                    }
                    rank_three(&self.rows, weights, r, scale, nv, n, g, h);
                }
                ControlTermKind::Orientation { body, target, weights } => {
                    let pose = self.kinematics.body_pose(self.mechanism, *body);
                    let r = turn(target, &pose.rot);
                    self.kinematics.body_jacobian_into(self.mechanism, *body, &mut self.columns);
                    for (c, s) in self.columns.iter().enumerate() {
                        let d = so3::dexp_inv(r, s.ang);
                        (0..3).for_each(|i| self.rows[i * nv + c] = d[i]);
                    }
                    rank_three(&self.rows, weights, r, scale, nv, n, g, h);
                }
            }
        }
        self.terms = terms;
    }

    /// Tangent differences are coupled within a joint only: `r' = J_r⁻¹(r)` there.
    fn expand_position(
        &mut self,
        goal: &[f64],
        weights: &[f64],
        x: &State,
        scale: f64,
        g: &mut [f64],
        h: &mut [f64],
    ) {
        let n = g.len();
        let Self { mechanism, tangent, unit, column, rows, .. } = self;
        mechanism.difference(goal, &x.q, tangent);
        for node in &mechanism.tree().nodes {
            let (v, m) = (node.v, node.nv);
            // Column c of the joint's Jacobian, kept by columns.
            for c in 0..m {
                unit[..m].fill(0.0);
                unit[c] = 1.0;
                node.kind.tangent_rate(&tangent[v..v + m], &unit[..m], &mut column[..m]);
                rows[c * m..(c + 1) * m].copy_from_slice(&column[..m]);
            }
            for a in 0..m {
                let weighted = |i: usize| scale * weights[v + i] * rows[a * m + i];
                g[v + a] += (0..m).map(|i| weighted(i) * tangent[v + i]).sum::<f64>();
                for b in 0..m {
                    h[(v + a) * n + v + b] += (0..m).map(|i| weighted(i) * rows[b * m + i]).sum::<f64>();
                }
            }
        }
    }
}

impl ControlTerm {
    fn looks_at_bodies(&self) -> bool {
        matches!(self.kind, ControlTermKind::Point { .. } | ControlTermKind::Orientation { .. })
    }
}

impl Objective for Costs<'_> {
    fn stage(&mut self, _k: usize, x: &State, u: &[f64]) -> f64 {
        self.h * self.value(When::Path, x, u)
    }
    fn expand_stage(&mut self, _k: usize, x: &State, u: &[f64], gradient: &mut [f64], hessian: &mut [f64]) {
        self.expand(When::Path, x, u, self.h, gradient, hessian);
    }
    fn end(&mut self, x: &State) -> f64 {
        self.value(When::End, x, &[])
    }
    fn expand_end(&mut self, x: &State, gradient: &mut [f64], hessian: &mut [f64]) {
        self.expand(When::End, x, &[], 1.0, gradient, hessian);
    }
}

/// `Log(Rᵀ_target R)`.
fn turn(target: &Mat3, rot: &Mat3) -> Vec3 {
    so3::log(Quat::from_matrix(&(target.transpose() * *rot)))
}

fn squares(weights: &[f64], goal: &[f64], x: &[f64]) -> f64 {
    weights.iter().zip(goal.iter().zip(x)).map(|(w, (g, x))| 0.5 * w * (x - g) * (x - g)).sum()
}

fn diagonal(
    weights: &[f64],
    goal: &[f64],
    x: &[f64],
    scale: f64,
    first: usize,
    g: &mut [f64],
    h: &mut [f64],
) {
    let n = g.len();
    for (i, x) in x.iter().enumerate() {
        g[first + i] += scale * weights[i] * (x - goal[i]);
        h[(first + i) * (n + 1)] += scale * weights[i];
    }
}

/// Adds `scale Jᵀ w r` and `scale Jᵀ w J` for the three rows of `J`.
fn rank_three(
    rows: &[f64],
    weights: &[f64; 3],
    r: Vec3,
    scale: f64,
    nv: usize,
    n: usize,
    g: &mut [f64],
    h: &mut [f64],
) {
    for i in 0..3 {
        let row = &rows[i * nv..(i + 1) * nv];
        let w = scale * weights[i];
        add_transposed_mul_vector(row, &[w * r[i]], &mut g[..nv]);
        for a in 0..nv {
            let s = w * row[a];
            if s != 0.0 {
                for b in 0..nv {
                    h[a * n + b] += s * row[b];
                }
            }
        }
    }
}
