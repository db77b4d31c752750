//! Dense twin of the engine in joint coordinates: dual numbers through the residual, and elimination with pivoting.
//!
//! O(n³) and more; it shares the residual with the engine (which reference data checks) and nothing of its
//! factorisation, tangent or linearization.

use crate::integrator::StepError;
use crate::lanes::Lanes;
use crate::mechanism::Mechanism;
use crate::residual::{Point, Residual};
use crate::scalar::Dual;
use crate::scheme::Scheme;
use crate::segments::{Motion, Segments};
use crate::spatial::{Mat3, Vec3};
use crate::state::split_position;
use crate::wrench::ModelForces;
use crate::{Quadrature, StepPoint};

type D = Dual<f64, 1>;

/// One set of lanes serves all degrees up to 4.
const LANES: usize = 5;

/// What one dual evaluation gives: rows and outputs with their derivatives.
struct Slope {
    residual: Vec<f64>,
    d_residual: Vec<f64>,
    d_next: Vec<f64>,
}

/// A variable of the step's equations.
#[derive(Clone, Copy)]
enum Variable {
    None,
    Increment { coordinate: usize, node: usize },
    Start(usize),
    Momentum(usize),
    Input(usize),
}

struct Twin<'a, const N: usize> {
    segments: Segments,
    scheme: Scheme<N>,
    at: &'a StepPoint,
    base: Vec<f64>,
    anchors: Vec<Mat3>,
}

impl<'a, const N: usize> Twin<'a, N> {
    fn new(mechanism: &Mechanism, at: &'a StepPoint, quadrature: Quadrature) -> Result<Self, StepError> {
        if at.increments.len() >= N {
            return Err(StepError::Unsupported {
                integrator: "the dense twin",
                what: format!("degree {}", at.increments.len()),
                remedy: "take at most 4".into(),
            });
        }
        let segments = Segments::new(mechanism)?;
        let mut base = vec![0.0; segments.n];
        let mut anchors = vec![Mat3::identity(); segments.balls];
        split_position(mechanism, &at.q, &mut base, &mut anchors);
        Ok(Self { segments, scheme: Scheme::new(at.increments.len(), quadrature), at, base, anchors })
    }

    fn slope(&self, variable: Variable) -> Slope {
        let (n, s) = (self.segments.n, self.scheme.s);
        let mut point = Point::<D, N>::new(&self.segments);
        for c in 0..n {
            point.base[c] = D::constant(self.base[c]);
            point.p[c] = D::constant(self.at.p[c]);
            for ga in 1..=s {
                point.delta[c].0[ga] = D::constant(self.at.increments[ga - 1][c]);
            }
        }
        for (k, anchor) in self.anchors.iter().enumerate() {
            point.anchors[k] = Mat3::constant(*anchor);
        }
        for (j, u) in point.u.iter_mut().enumerate() {
            *u = Lanes(std::array::from_fn(|k| D::constant(self.at.u.get(k).map_or(0.0, |u| u[j]))));
        }
        match variable {
            Variable::None => {}
            Variable::Increment { coordinate, node } => point.delta[coordinate].0[node].eps[0] = 1.0,
            Variable::Momentum(c) => point.p[c].eps[0] = 1.0,
            Variable::Input(j) => point.u[j].0.iter_mut().for_each(|x| x.eps[0] = 1.0),
            Variable::Start(c) => {
                let segment = self.segment_of(c);
                if segment.motion == Motion::Ball {
                    let mut zeta = Vec3::<D>::zero();
                    zeta[c - segment.coordinate] = D { re: 0.0, eps: [1.0] };
                    let turned = point.anchors[segment.ball] * (Mat3::identity() + zeta.skew());
                    point.anchors[segment.ball] = turned;
                } else {
                    point.base[c].eps[0] = 1.0;
                }
            }
        }
        let mut residual = Residual::<D, N>::new(&self.segments);
        residual.prepare(&self.segments, &self.scheme, self.at.h, &point.u);
        residual.evaluate(&self.segments, &self.scheme, &mut ModelForces, &point);
        let mut d_next = vec![0.0; 2 * n];
        for segment in &self.segments.list {
            let c = segment.coordinate;
            if segment.motion == Motion::Ball {
                let (_, phi) = residual.balls[segment.ball].end(&self.scheme);
                let r = point.anchors[segment.ball] * phi;
                let change = Mat3(r.0.map(|row| row.map(|x| x.eps[0])));
                d_next[c..c + 3].copy_from_slice(&(r.value().transpose() * change).vee().0);
            } else {
                d_next[c] = point.base[c].eps[0] + point.delta[c].0[s].eps[0];
            }
        }
        for c in 0..n {
            d_next[n + c] = residual.rows[c].0[s].eps[0];
        }
        let by_row = |f: &dyn Fn(D) -> f64| {
            residual.rows.iter().flat_map(|row| row.0[..s].iter().map(|x| f(*x))).collect::<Vec<_>>()
        };
        Slope { residual: by_row(&|x| x.re), d_residual: by_row(&|x| x.eps[0]), d_next }
    }

    fn segment_of(&self, c: usize) -> &crate::segments::Segment {
        let owns = |s: &&crate::segments::Segment| (s.coordinate..s.coordinate + s.freedom()).contains(&c);
        self.segments.list.iter().find(owns).unwrap_or(&self.segments.list[0])
    }

    /// Columns of the Newton matrix and of the outputs, by unknown (coordinate, then node).
    fn unknowns(&self) -> Vec<Slope> {
        let (n, s) = (self.segments.n, self.scheme.s);
        (0..n * s).map(|k| self.slope(Variable::Increment { coordinate: k / s, node: k % s + 1 })).collect()
    }

    fn direction(&self) -> Vec<Vec<f64>> {
        let (n, s) = (self.segments.n, self.scheme.s);
        let columns = self.unknowns();
        let mut rhs = vec![self.slope(Variable::None).residual];
        rhs[0].iter_mut().for_each(|r| *r = -*r);
        solve(&columns, &mut rhs);
        (0..s).map(|ga| (0..n).map(|c| rhs[0][c * s + ga]).collect()).collect()
    }

    fn linearization(&self) -> Vec<f64> {
        let n = self.segments.n;
        let nu = self.segments.nu;
        let columns = self.unknowns();
        let inputs: Vec<Slope> = (0..n)
            .map(Variable::Start)
            .chain((0..n).map(Variable::Momentum))
            .chain((0..nu).map(Variable::Input))
            .map(|v| self.slope(v))
            .collect();
        let mut rhs: Vec<Vec<f64>> =
            inputs.iter().map(|i| i.d_residual.iter().map(|r| -r).collect()).collect();
        solve(&columns, &mut rhs);
        let width = 2 * n + nu;
        let mut out = vec![0.0; 2 * n * width];
        for (j, (input, change)) in inputs.iter().zip(&rhs).enumerate() {
            for row in 0..2 * n {
                let inner: f64 = columns.iter().zip(change).map(|(c, x)| c.d_next[row] * x).sum();
                out[row * width + j] = input.d_next[row] + inner;
            }
        }
        out
    }
}

/// Solves `J x = b` in place for all right-hand sides; `J` by columns.
fn solve(columns: &[Slope], rhs: &mut [Vec<f64>]) {
    let k = columns.len();
    let mut m: Vec<Vec<f64>> = (0..k).map(|r| columns.iter().map(|c| c.d_residual[r]).collect()).collect();
    for c in 0..k {
        let pivot = (c..k).max_by(|a, b| m[*a][c].abs().total_cmp(&m[*b][c].abs())).unwrap_or(c);
        m.swap(c, pivot);
        rhs.iter_mut().for_each(|b| b.swap(c, pivot));
        for r in c + 1..k {
            let f = m[r][c] / m[c][c];
            for j in c..k {
                m[r][j] -= f * m[c][j];
            }
            rhs.iter_mut().for_each(|b| b[r] -= f * b[c]);
        }
    }
    for b in rhs {
        for r in (0..k).rev() {
            let known: f64 = (r + 1..k).map(|j| m[r][j] * b[j]).sum();
            b[r] = (b[r] - known) / m[r][r];
        }
    }
}

/// Newton direction `−J⁻¹ r` at a point, by nodes; degrees up to 4. An automatic choice of points is that of the nodes.
///
/// # Errors
/// If the engine does not support the mechanism.
pub fn dense_newton_direction(
    mechanism: &Mechanism,
    at: &StepPoint,
    quadrature: Quadrature,
) -> Result<Vec<Vec<f64>>, StepError> {
    Ok(Twin::<LANES>::new(mechanism, at, quadrature)?.direction())
}

/// Derivative of the step whose solved curve is `at`, `2n × (2n + nu)` by rows, engine coordinates; degrees up to 4.
///
/// # Errors
/// If the engine does not support the mechanism.
pub fn dense_linearization(
    mechanism: &Mechanism,
    at: &StepPoint,
    quadrature: Quadrature,
) -> Result<Vec<f64>, StepError> {
    Ok(Twin::<LANES>::new(mechanism, at, quadrature)?.linearization())
}
