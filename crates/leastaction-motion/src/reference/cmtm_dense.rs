//! The source's own route to comprehensive motion: dense block-Toeplitz matrices composed per pair of joints.
//!
//! Slow (10⁴ to 10⁵ multiplications per pair of joints) and written to be read beside the source, with its printed
//! errors corrected as the theory page lists them. Everything is in link frames; nothing is shared with the world-frame
//! sweep except the pose and velocity jets it starts from.
//!
//! | source | here |
//! |---|---|
//! | `iXj = X_i⁻¹ X_j` | [`DenseMotion::between`] |
//! | whole-body `J_X_L`, `L_X_J` (corrected signs) | [`DenseMotion::joints_from_links`], [`DenseMotion::links_from_joints`] |
//! | (92c), (96) | the `turn` term of [`DenseMotion::torque_jacobian`] |

use super::Cmtm;
use crate::jet::{JetWorkspace, Quantity, QuantityKind, Target};
use crate::mechanism::{JointType, Mechanism};
use crate::spatial::{Mat3, Twist, Vec3, Wrench};

/// A dense matrix, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries.
    pub data: Vec<f64>,
}

impl Dense {
    /// Zero.
    #[must_use]
    pub fn zero(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }
    /// Identity.
    #[must_use]
    pub fn identity(n: usize) -> Self {
        let mut a = Self::zero(n, n);
        (0..n).for_each(|i| a.data[i * n + i] = 1.0);
        a
    }
    /// `A B`.
    #[must_use]
    pub fn times(&self, b: &Self) -> Self {
        let mut out = Self::zero(self.rows, b.columns);
        for i in 0..self.rows {
            for k in 0..self.columns {
                let a = self.data[i * self.columns + k];
                if a != 0.0 {
                    for j in 0..b.columns {
                        out.data[i * b.columns + j] += a * b.data[k * b.columns + j];
                    }
                }
            }
        }
        out
    }
    /// `A + f B`.
    #[must_use]
    pub fn plus(mut self, b: &Self, f: f64) -> Self {
        self.data.iter_mut().zip(&b.data).for_each(|(a, b)| *a += f * b);
        self
    }
    /// The first rows.
    #[must_use]
    pub fn top(&self, rows: usize) -> Self {
        Self { rows, columns: self.columns, data: self.data[..rows * self.columns].to_vec() }
    }
    /// Copies a block into place.
    fn set(&mut self, row: usize, column: usize, block: &Self) {
        for i in 0..block.rows {
            for j in 0..block.columns {
                self.data[(row + i) * self.columns + column + j] = block.data[i * block.columns + j];
            }
        }
    }
    /// Block-lower-triangular Toeplitz matrix of 6×6 blocks, `count` block rows and columns.
    #[must_use]
    pub fn toeplitz(blocks: &[[[f64; 6]; 6]], count: usize) -> Self {
        let mut out = Self::zero(6 * count, 6 * count);
        for l in 0..count {
            for m in 0..=l {
                for r in 0..6 {
                    for c in 0..6 {
                        out.data[(6 * l + r) * 6 * count + 6 * m + c] = blocks[l - m][r][c];
                    }
                }
            }
        }
        out
    }
    /// `D`: from `count + 1` to `count` block rows, `(l+1)` above the diagonal.
    #[must_use]
    pub fn derivative(count: usize) -> Self {
        let mut out = Self::zero(6 * count, 6 * (count + 1));
        for l in 0..count {
            for r in 0..6 {
                out.data[(6 * l + r) * 6 * (count + 1) + 6 * (l + 1) + r] = (l + 1) as f64;
            }
        }
        out
    }
}

/// 6×6 matrix of a linear map on six numbers.
fn matrix(f: impl Fn([f64; 6]) -> [f64; 6]) -> [[f64; 6]; 6] {
    let mut out = [[0.0; 6]; 6];
    for c in 0..6 {
        let mut e = [0.0; 6];
        e[c] = 1.0;
        let column = f(e);
        (0..6).for_each(|r| out[r][c] = column[r]);
    }
    out
}

/// One link: its frame, velocity, momentum and gravity jets.
struct Link {
    parent: Option<usize>,
    joint: (usize, usize),
    kind: JointType,
    rot: Vec<Mat3>,
    pos: Vec<Vec3>,
    nu: Vec<Twist>,
    h: Vec<Wrench>,
    inertia: [[f64; 6]; 6],
}

/// The source's dense matrices at one motion. Bodies must be moved by revolute, prismatic, spherical or floating joints
/// whose child frame is the body frame.
pub struct DenseMotion {
    links: Vec<Link>,
    axes: Vec<Vec3>,
    n: usize,
    nv: usize,
    gravity: Vec3,
}

impl DenseMotion {
    /// From a workspace that has been evaluated.
    #[must_use]
    pub fn new(mechanism: &Mechanism, jets: &mut JetWorkspace<f64>) -> Self {
        let n = jets.velocity_count();
        let mut axes = Vec::new();
        let links = mechanism
            .body_ids()
            .map(|b| {
                let joint =
                    mechanism.joint(mechanism.tree_joints().nth(b.index()).unwrap_or_else(|| unreachable!()));
                axes.push(joint.axis);
                let target: Target = Target::body(b);
                let (rot, pos) = jets.pose_jets(&target);
                let rot = rot.to_vec();
                let mut six = |quantity| {
                    let mut out = vec![0.0; 6 * n];
                    let done = jets.value_into(&Quantity::local(quantity, target), &mut out);
                    debug_assert!(done.is_ok());
                    out.chunks_exact(6).map(|x| std::array::from_fn(|i| x[i])).collect::<Vec<[f64; 6]>>()
                };
                let nu = six(QuantityKind::Velocity).into_iter().map(Twist::from_array).collect();
                let h = six(QuantityKind::Momentum).into_iter().map(Wrench::from_array).collect();
                let g = mechanism.body(b).inertia;
                Link {
                    parent: joint.parent.map(|p| p.index()),
                    joint: (joint.v, joint.kind.nv()),
                    kind: joint.kind,
                    rot,
                    pos,
                    nu,
                    h,
                    inertia: matrix(|x| g.mul(Twist::from_array(x)).to_array()),
                }
            })
            .collect();
        Self { links, axes, n, nv: mechanism.nv(), gravity: mechanism.gravity() }
    }

    fn cmtm(&self, i: usize) -> Cmtm<'_, f64> {
        Cmtm::new(&self.links[i].rot, &self.links[i].pos)
    }

    /// True if `a` is `b` or carries it.
    #[must_use]
    pub fn carries(&self, a: usize, b: usize) -> bool {
        let mut at = Some(b);
        while let Some(i) = at {
            if i == a {
                return true;
            }
            at = self.links[i].parent;
        }
        false
    }

    /// `iXj = X_i⁻¹ X_j` on motion jets (or its dual on force jets), `count` block rows.
    #[must_use]
    pub fn between(&self, i: usize, j: usize, dual: bool, count: usize) -> Dense {
        let mut out = Dense::zero(6 * count, 6 * count);
        for c in 0..6 * count {
            let mut e = [0.0; 6];
            e[c % 6] = 1.0;
            let (mut a, mut b) = (vec![Twist::zero(); count], vec![Twist::zero(); count]);
            let (mut f, mut g) = (vec![Wrench::zero(); count], vec![Wrench::zero(); count]);
            let column: Vec<[f64; 6]> = if dual {
                f[c / 6] = Wrench::from_array(e);
                self.cmtm(j).apply_dual(&f, &mut g);
                self.cmtm(i).solve_dual(&g, &mut f);
                f.iter().map(|x| x.to_array()).collect()
            } else {
                a[c / 6] = Twist::from_array(e);
                self.cmtm(j).apply(&a, &mut b);
                self.cmtm(i).solve(&b, &mut a);
                a.iter().map(|x| x.to_array()).collect()
            };
            for (l, x) in column.iter().enumerate() {
                (0..6).for_each(|r| out.data[(6 * l + r) * 6 * count + c] = x[r]);
            }
        }
        out
    }

    /// Whole-body `J_X_L`: joint velocities from link velocities. Identity diagonal, `−iX_pa(i)`.
    #[must_use]
    pub fn joints_from_links(&self, count: usize) -> Dense {
        let (nb, size) = (self.links.len(), 6 * count);
        let mut out = Dense::identity(nb * size);
        for i in 0..nb {
            if let Some(p) = self.links[i].parent {
                let block = Dense::zero(size, size).plus(&self.between(i, p, false, count), -1.0);
                out.set(i * size, p * size, &block);
            }
        }
        out
    }

    /// Whole-body `L_X_J`, its inverse: **+**`iXj` for every ancestor j of i (the source prints a minus sign).
    #[must_use]
    pub fn links_from_joints(&self, count: usize) -> Dense {
        let (nb, size) = (self.links.len(), 6 * count);
        let mut out = Dense::zero(nb * size, nb * size);
        for i in 0..nb {
            for j in (0..nb).filter(|j| self.carries(*j, i)) {
                out.set(i * size, j * size, &self.between(i, j, false, count));
            }
        }
        out
    }

    /// `S_j` stacked: joint tangent coefficients to link tangents, `count` orders.
    fn joint_map(&self, j: usize, count: usize) -> Dense {
        let (v, width) = self.links[j].joint;
        let mut out = Dense::zero(6 * count, self.nv * count);
        for l in 0..count {
            for c in 0..width {
                let mut column = [0.0; 6];
                match self.links[j].kind {
                    JointType::Revolute | JointType::Continuous => {
                        column[..3].copy_from_slice(&self.axes[j].0)
                    }
                    JointType::Prismatic => column[3..].copy_from_slice(&self.axes[j].0),
                    _ => column[c] = 1.0,
                }
                for r in 0..6 {
                    out.data[(6 * l + r) * self.nv * count + l * self.nv + v + c] = column[r];
                }
            }
        }
        out
    }

    /// Link tangents from joint tangents, `Σ_j iXj S_j`; columns order-major `[m][coordinate]`, `n + 1` orders.
    #[must_use]
    pub fn tangent_jacobian(&self, i: usize) -> Dense {
        let count = self.n + 1;
        let mut out = Dense::zero(6 * count, self.nv * count);
        for j in (0..self.links.len()).filter(|j| self.carries(*j, i)) {
            out = out.plus(&self.between(i, j, false, count).times(&self.joint_map(j, count)), 1.0);
        }
        out
    }

    /// Link velocity: `δν = (D + [ν×]) δx`.
    #[must_use]
    pub fn velocity_jacobian(&self, i: usize) -> Dense {
        let dx = self.tangent_jacobian(i);
        let blocks: Vec<_> =
            self.links[i].nu.iter().map(|nu| matrix(|x| nu.cross(Twist::from_array(x)).to_array())).collect();
        let turn = Dense::toeplitz(&blocks, self.n).times(&dx.top(6 * self.n));
        Dense::derivative(self.n).times(&dx).plus(&turn, 1.0)
    }

    /// Link momentum: `I δν`.
    #[must_use]
    pub fn momentum_jacobian(&self, i: usize) -> Dense {
        Dense::toeplitz(&inertia_blocks(&self.links[i].inertia, self.n), self.n)
            .times(&self.velocity_jacobian(i))
    }

    /// Joint momentum (or, with `gravity`, the gravity wrench of what the joint carries) and its Jacobian.
    fn gathered(&self, i: usize, gravity: bool) -> (Vec<Wrench>, Dense) {
        let n = self.n;
        let mut value = vec![Wrench::zero(); n];
        let mut out = Dense::zero(6 * n, self.nv * (n + 1));
        let dx_i = self.tangent_jacobian(i);
        for j in (0..self.links.len()).filter(|j| self.carries(i, *j)) {
            let link = &self.links[j];
            let dx_j = self.tangent_jacobian(j);
            let (h, dh) = if gravity {
                // g_j = A_j⁻¹ γ and δg = g × δx; the wrench is I_j g_j.
                let mut world = vec![Twist::zero(); n];
                world[0].lin = self.gravity;
                let mut g = vec![Twist::zero(); n];
                self.cmtm(j).solve(&world, &mut g);
                let inertia = Dense::toeplitz(&inertia_blocks(&link.inertia, n), n);
                let turn: Vec<_> =
                    g.iter().map(|g| matrix(|x| g.cross(Twist::from_array(x)).to_array())).collect();
                let h = g.iter().map(|g| Wrench::from_array(apply6(&link.inertia, g.to_array()))).collect();
                (h, inertia.times(&Dense::toeplitz(&turn, n)).times(&dx_j.top(6 * n)))
            } else {
                (link.h.clone(), self.momentum_jacobian(j))
            };
            // δ(iX*j h) = iX*j (δh + N(h) (δx_j − jX_i δx_i)): the term the source prints without its hat.
            let relative = dx_j.plus(&self.between(j, i, false, n + 1).times(&dx_i), -1.0);
            let turn: Vec<_> =
                h.iter().map(|h| matrix(|x| Twist::from_array(x).cross_wrench(*h).to_array())).collect();
            let turn = Dense::toeplitz(&turn, n).times(&relative.top(6 * n));
            let carry = self.between(i, j, true, n);
            out = out.plus(&carry.times(&dh.plus(&turn, 1.0)), 1.0);
            let (mut f, mut g) = (vec![Wrench::zero(); n], vec![Wrench::zero(); n]);
            self.cmtm(j).apply_dual(&h, &mut f);
            self.cmtm(i).solve_dual(&f, &mut g);
            value.iter_mut().zip(&g).for_each(|(a, b)| *a += *b);
        }
        (value, out)
    }

    /// Joint momentum Jacobian.
    #[must_use]
    pub fn joint_momentum_jacobian(&self, i: usize) -> Dense {
        self.gathered(i, false).1
    }

    /// Joint force: `δf = (D + [ν×*]) δh_J + [N(h_J)] δν − δ(gravity)`, `n − 1` orders.
    #[must_use]
    pub fn joint_force_jacobian(&self, i: usize) -> Dense {
        let (n, count) = (self.n, self.n - 1);
        let (h, dh) = self.gathered(i, false);
        let (_, dg) = self.gathered(i, true);
        let blocks = |f: &dyn Fn(usize) -> [[f64; 6]; 6]| (0..count).map(f).collect::<Vec<_>>();
        let nu = &self.links[i].nu;
        let by_nu = blocks(&|l| matrix(|x| nu[l].cross_wrench(Wrench::from_array(x)).to_array()));
        let by_h = blocks(&|l| matrix(|x| Twist::from_array(x).cross_wrench(h[l]).to_array()));
        Dense::derivative(count)
            .times(&dh.top(6 * n))
            .plus(&Dense::toeplitz(&by_nu, count).times(&dh.top(6 * count)), 1.0)
            .plus(&Dense::toeplitz(&by_h, count).times(&self.velocity_jacobian(i).top(6 * count)), 1.0)
            .plus(&dg.top(6 * count), -1.0)
    }

    /// Torque of the joint that moves body `i`: `Sᵀ δf_J`, rows order-major.
    #[must_use]
    pub fn torque_jacobian(&self, i: usize) -> Dense {
        let count = self.n - 1;
        let (v, width) = self.links[i].joint;
        let df = self.joint_force_jacobian(i);
        let s = self.joint_map(i, 1);
        let mut out = Dense::zero(width * count, df.columns);
        for l in 0..count {
            for c in 0..width {
                for r in 0..6 {
                    let f = s.data[r * self.nv + v + c];
                    for j in 0..df.columns {
                        out.data[(l * width + c) * df.columns + j] +=
                            f * df.data[(6 * l + r) * df.columns + j];
                    }
                }
            }
        }
        out
    }
}

fn apply6(a: &[[f64; 6]; 6], x: [f64; 6]) -> [f64; 6] {
    std::array::from_fn(|r| (0..6).map(|c| a[r][c] * x[c]).sum())
}

fn inertia_blocks(inertia: &[[f64; 6]; 6], count: usize) -> Vec<[[f64; 6]; 6]> {
    let mut blocks = vec![[[0.0; 6]; 6]; count];
    if let Some(first) = blocks.first_mut() {
        *first = *inertia;
    }
    blocks
}
