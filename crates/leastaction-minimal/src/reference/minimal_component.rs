//! Component form of the Newton direction: the recursion of the published algorithm, corrected, block by block.
//!
//! For trees whose joints have ordinary coordinates. With unknown nodes γ, ν = 1..s and all nodes α, ρ = 0..s, every
//! body carries
//!
//! ```text
//! δ̄μ^α = Σ_ρ D^{αρ} δ̄V^ρ + Σ_ν G^{αν} η^ν + l^α,     δ̄Γ^α = Σ_ρ Π^{αρ} δ̄V^ρ + Σ_ν Ψ^{αν} η^ν + ζ^α
//! ```
//!
//! from the tips to the root; see section 4 of the theory page for the same in stacked form. Slow: it allocates every
//! block, and nothing is shared.

use crate::integrator::StepError;
use crate::lanes::Lanes;
use crate::mechanism::Mechanism;
use crate::residual::{Point, Residual};
use crate::scheme::Scheme;
use crate::segments::{GROUND, Motion, Segments};
use crate::six::{Block, ad_dual, blocks, momentum_at, pose_at, skew, twist_at, wrench_at};
use crate::spatial::Vec3;
use crate::state::split_position;
use crate::wrench::{BodyForces, ModelForces};
use crate::{Quadrature, StepPoint};

type Six = [f64; 6];

fn dot(a: &Six, b: &Six) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
fn times(m: &Block, x: &Six) -> Six {
    m.map(|row| dot(&row, x))
}
fn transposed(x: &Six, m: &Block) -> Six {
    std::array::from_fn(|j| (0..6).map(|i| x[i] * m[i][j]).sum())
}
fn add(a: &mut Six, f: f64, b: &Six) {
    for i in 0..6 {
        a[i] += f * b[i];
    }
}
fn add_outer(m: &mut Block, f: f64, a: &Six, b: &Six) {
    for i in 0..6 {
        for j in 0..6 {
            m[i][j] += f * a[i] * b[j];
        }
    }
}
fn add_block(m: &mut Block, f: f64, b: &Block) {
    for i in 0..6 {
        add(&mut m[i], f, &b[i]);
    }
}

/// The affine maps of one body.
#[derive(Clone)]
struct Maps {
    d: Vec<Vec<Block>>,
    g: Vec<Vec<Block>>,
    l: Vec<Six>,
    pi: Vec<Vec<Block>>,
    psi: Vec<Vec<Block>>,
    zeta: Vec<Six>,
}

impl Maps {
    fn zero(s: usize) -> Self {
        let square = || vec![vec![[[0.0; 6]; 6]; s + 1]; s + 1];
        let six = || vec![[0.0; 6]; s + 1];
        Self { d: square(), g: square(), l: six(), pi: square(), psi: square(), zeta: six() }
    }
}

/// What a joint keeps for the outward pass.
struct Solved {
    x: Vec<Vec<Six>>,
    y: Vec<Vec<Six>>,
    z: Vec<f64>,
}

/// Newton direction `−J⁻¹ r` at a point, by nodes.
///
/// # Errors
/// If the engine does not support the mechanism, or a joint is spherical or floating.
pub fn component_newton_direction(mechanism: &Mechanism, at: &StepPoint) -> Result<Vec<Vec<f64>>, StepError> {
    const N: usize = 5;
    let segments = Segments::new(mechanism)?;
    let s = at.increments.len();
    if segments.list.iter().any(|x| x.motion == Motion::Ball) || s >= N {
        return Err(StepError::Unsupported {
            integrator: "the component form",
            what: "a ball joint or a degree above 4".into(),
            remedy: "use dense_newton_direction".into(),
        });
    }
    let scheme = Scheme::<N>::new(s, Quadrature::Nodes);
    let mut point = Point::<f64, N>::new(&segments);
    split_position(mechanism, &at.q, &mut point.base, &mut []);
    point.p.copy_from_slice(&at.p);
    for c in 0..segments.n {
        for ga in 1..=s {
            point.delta[c].0[ga] = at.increments[ga - 1][c];
        }
    }
    for (j, u) in point.u.iter_mut().enumerate() {
        *u = Lanes(std::array::from_fn(|k| at.u.get(k).map_or(0.0, |u| u[j])));
    }
    let mut residual = Residual::new(&segments);
    residual.prepare(&segments, &scheme, at.h, &point.u);
    residual.evaluate(&segments, &scheme, &mut ModelForces, &point);
    let forces = BodyForces::new(mechanism, &segments, &[]);
    let mut derivatives = forces.derivatives::<N>(&segments);
    forces.differentiate(&segments, s, &point, &residual, &mut derivatives);

    let m = segments.list.len();
    let mut maps = vec![Maps::zero(s); m];
    let mut solved: Vec<Solved> = Vec::new();
    for i in (0..m).rev() {
        let segment = &segments.list[i];
        let c = segment.coordinate;
        let law = segments.laws[c];
        let mut own = maps[i].clone();
        for al in 0..=s {
            let inertia = segment.inertia.transformed(&pose_at(&residual.poses[i], al));
            let mc = skew(inertia.moment);
            let mass = [[inertia.mass, 0.0, 0.0], [0.0, inertia.mass, 0.0], [0.0, 0.0, inertia.mass]];
            let m = blocks(inertia.rot.to_matrix().0, mc, skew(-inertia.moment), mass);
            add_block(&mut own.d[al][al], 1.0, &m);
            let g: Vec3 = segments.gravity;
            let pg = (inertia.moment.skew() * g.skew()).0;
            let gravity = blocks(pg, [[0.0; 3]; 3], skew(g * inertia.mass), [[0.0; 3]; 3]);
            add_block(&mut own.psi[al][al], residual.weights[al], &gravity);
            if let Some(slot) = forces.slot(i) {
                add_block(&mut own.pi[al][al], 1.0, &derivatives.d_twist[slot][al]);
                add_block(&mut own.psi[al][al], 1.0, &derivatives.d_pose[slot][al]);
            }
        }
        let axis = |k: usize| twist_at(&residual.columns[c], k).to_array();
        let axis_rate = |k: usize| twist_at(&residual.column_rates[c], k).to_array();
        let mu = |k: usize| ad_dual(momentum_at(&residual.momenta[i], k).as_wrench());
        let gamma = |k: usize| ad_dual(wrench_at(&residual.impulses[i], k));
        let (w, a) = (&residual.weights, &scheme.a_columns);
        // H = D Ṡ + G S + (1/h) Σ b D S, and Φ likewise with Π, Ψ.
        let column = |of_v: &Vec<Vec<Block>>, of_eta: &Vec<Vec<Block>>, al: usize, ga: usize| {
            let mut h = times(&of_v[al][ga], &axis_rate(ga));
            add(&mut h, 1.0, &times(&of_eta[al][ga], &axis(ga)));
            for rho in 0..=s {
                add(&mut h, residual.rate_columns[ga][rho], &times(&of_v[al][rho], &axis(rho)));
            }
            h
        };
        let both = |f: &dyn Fn(usize, usize) -> Six| -> Vec<Vec<Six>> {
            (0..=s).map(|al| (0..=s).map(|ga| if ga == 0 { [0.0; 6] } else { f(al, ga) }).collect()).collect()
        };
        let h = both(&|al, ga| column(&own.d, &own.g, al, ga));
        let phi = both(&|al, ga| column(&own.pi, &own.psi, al, ga));
        // Rows Θ̄, Ξ̄, ξ̄ and the pivot Λ.
        let row = |of_mu: &Vec<Vec<Block>>, of_gamma: &Vec<Vec<Block>>, al: usize, k: usize| {
            let mut r = transposed(&axis_rate(al), &of_mu[al][k]).map(|x| w[al] * x);
            add(&mut r, 1.0, &transposed(&axis(al), &of_gamma[al][k]));
            for be in 0..=s {
                add(&mut r, a[be][al], &transposed(&axis(be), &of_mu[be][k]));
            }
            r
        };
        let mut lambda = vec![vec![0.0; s]; s];
        let mut rhs = vec![Vec::new(); s];
        for al in 0..s {
            for ga in 1..=s {
                let mut x = w[al] * dot(&axis_rate(al), &h[al][ga]) + dot(&axis(al), &phi[al][ga]);
                for be in 0..=s {
                    x += a[be][al] * dot(&axis(be), &h[be][ga]);
                    x += law.armature * a[be][al] * residual.rate_columns[ga][be];
                }
                if al == ga {
                    x += w[al] * (dot(&axis(al), &times(&mu(al), &axis_rate(al))) - law.stiffness);
                }
                lambda[al][ga - 1] = x - residual.rate_columns[ga][al] * w[al] * law.damping;
            }
            for rho in 0..=s {
                let mut theta = row(&own.d, &own.pi, al, rho);
                if al == rho {
                    add(&mut theta, w[al], &transposed(&axis(al), &mu(al)));
                }
                rhs[al].extend(theta);
            }
            for nu in 1..=s {
                rhs[al].extend(row(&own.g, &own.psi, al, nu));
            }
            let mut xi = w[al] * dot(&axis_rate(al), &own.l[al]) + dot(&axis(al), &own.zeta[al]);
            for be in 0..=s {
                xi += a[be][al] * dot(&axis(be), &own.l[be]);
            }
            rhs[al].push(residual.rows[c].0[al] + xi);
        }
        eliminate(&mut lambda, &mut rhs);
        let six = |row: &[f64], k: usize| -> Six { std::array::from_fn(|j| -row[6 * k + j]) };
        let joint = Solved {
            x: rhs.iter().map(|r| (0..=s).map(|k| six(r, k)).collect()).collect(),
            y: rhs.iter().map(|r| (0..s).map(|k| six(r, s + 1 + k)).collect()).collect(),
            z: rhs.iter().map(|r| -r[6 * (2 * s + 1)]).collect(),
        };
        if segment.parent != GROUND {
            let parent = &mut maps[segment.parent];
            for al in 0..=s {
                for k in 0..=s {
                    add_block(&mut parent.d[al][k], 1.0, &own.d[al][k]);
                    add_block(&mut parent.g[al][k], 1.0, &own.g[al][k]);
                    add_block(&mut parent.pi[al][k], 1.0, &own.pi[al][k]);
                    add_block(&mut parent.psi[al][k], 1.0, &own.psi[al][k]);
                }
                add(&mut parent.l[al], 1.0, &own.l[al]);
                add(&mut parent.zeta[al], 1.0, &own.zeta[al]);
                for ga in 1..=s {
                    let (mut u, mut v) = (h[al][ga], phi[al][ga]);
                    if al == ga {
                        add(&mut u, -1.0, &times(&mu(al), &axis(al)));
                        add(&mut v, -1.0, &times(&gamma(al), &axis(al)));
                    }
                    for rho in 0..=s {
                        add_outer(&mut parent.d[al][rho], 1.0, &u, &joint.x[ga - 1][rho]);
                        add_outer(&mut parent.pi[al][rho], 1.0, &v, &joint.x[ga - 1][rho]);
                    }
                    for nu in 1..=s {
                        add_outer(&mut parent.g[al][nu], 1.0, &u, &joint.y[ga - 1][nu - 1]);
                        add_outer(&mut parent.psi[al][nu], 1.0, &v, &joint.y[ga - 1][nu - 1]);
                    }
                    add(&mut parent.l[al], joint.z[ga - 1], &u);
                    add(&mut parent.zeta[al], joint.z[ga - 1], &v);
                }
            }
        }
        solved.push(joint);
    }
    solved.reverse();
    Ok(outward(&segments, &residual, &solved, s))
}

/// The unknowns from the root to the tips.
fn outward<const N: usize>(
    segments: &Segments,
    residual: &Residual<f64, N>,
    solved: &[Solved],
    s: usize,
) -> Vec<Vec<f64>> {
    let m = segments.list.len();
    let mut out = vec![vec![0.0; segments.n]; s];
    let (mut v, mut eta) = (vec![vec![[0.0; 6]; s + 1]; m], vec![vec![[0.0; 6]; s + 1]; m]);
    for (i, segment) in segments.list.iter().enumerate() {
        let c = segment.coordinate;
        if segment.parent != GROUND {
            v[i] = v[segment.parent].clone();
            eta[i] = eta[segment.parent].clone();
        }
        let joint = &solved[i];
        for ga in 1..=s {
            let mut x = joint.z[ga - 1];
            for rho in 0..=s {
                x += dot(&joint.x[ga - 1][rho], &v[i][rho]);
            }
            for nu in 1..=s {
                x += dot(&joint.y[ga - 1][nu - 1], &eta[i][nu]);
            }
            out[ga - 1][c] = x;
        }
        for k in 0..=s {
            let axis = twist_at(&residual.columns[c], k).to_array();
            for ga in 1..=s {
                add(&mut v[i][k], residual.rate_columns[ga][k] * out[ga - 1][c], &axis);
            }
            if k >= 1 {
                add(&mut eta[i][k], out[k - 1][c], &axis);
                add(&mut v[i][k], out[k - 1][c], &twist_at(&residual.column_rates[c], k).to_array());
            }
        }
    }
    out
}

/// `rhs ← m⁻¹ rhs` with row pivoting.
fn eliminate(m: &mut [Vec<f64>], rhs: &mut [Vec<f64>]) {
    let k = m.len();
    for c in 0..k {
        let pivot = (c..k).max_by(|a, b| m[*a][c].abs().total_cmp(&m[*b][c].abs())).unwrap_or(c);
        m.swap(c, pivot);
        rhs.swap(c, pivot);
        let p = 1.0 / m[c][c];
        m[c].iter_mut().chain(rhs[c].iter_mut()).for_each(|x| *x *= p);
        for r in (0..k).filter(|r| *r != c) {
            let f = m[r][c];
            for j in 0..k {
                m[r][j] -= f * m[c][j];
            }
            for j in 0..rhs[c].len() {
                rhs[r][j] -= f * rhs[c][j];
            }
        }
    }
}
