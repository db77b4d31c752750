//! Pivots of the pairs (link, tree joint): null spaces, the small inverse, the parent's block. (3.15), (3.16)

use super::Ldu;
use super::algebra::{Block, Six, ZERO, add_linear, add_transported, dot, invert, pad};
use crate::constraint::coordinate_columns;
use crate::geometry::Side;
use crate::layout::Layout;
use crate::mechanism::JointType;
use crate::scalar::by_entry;
use crate::spatial::Mat3;

impl Ldu {
    /// Pivot of a pair, and its update of the parent's diagonal block.
    #[inline(always)]
    pub(super) fn factor_link(&mut self, layout: &Layout, i: usize, x: &Side, v: &Side) {
        let link = &layout.links[i];
        let kind = link.joint.kind;
        self.block_operations += 3;
        let d = self.diagonal[i];
        let reduced = match kind {
            JointType::Revolute | JointType::Continuous if !self.limits_active => {
                let (nx, nv) = (x.axis[i], v.axis[i]);
                self.n_x[link.v] = pad(nx);
                self.n_v[link.v] = pad(nv);
                let u: Six = by_entry(|r| d[r][0] * nv[0] + d[r][1] * nv[1] + d[r][2] * nv[2]);
                let left: Six = by_entry(|c| nx[0] * d[0][c] + nx[1] * d[1][c] + nx[2] * d[2][c]);
                let pivot = nx[0] * u[0] + nx[1] * u[1] + nx[2] * u[2];
                let p =
                    1.0 / if link.joint.rows.has_rows { pivot + self.stiffness[link.v][0] } else { pivot };
                let right = by_entry(|r| u[r] * p);
                self.inverse[link.v][0] = p;
                self.left[link.v] = left;
                self.right[link.v] = right;
                let mut m = d;
                for r in 0..6 {
                    for c in 0..6 {
                        m[r][c] -= right[r] * left[c];
                    }
                }
                m
            }
            JointType::Spherical if link.joint.is_plain_ball() => {
                // N = [I; 0]: the pivot is the angular block and only the linear block survives.
                let angular = Mat3([
                    [d[0][0], d[0][1], d[0][2]],
                    [d[1][0], d[1][1], d[1][2]],
                    [d[2][0], d[2][1], d[2][2]],
                ]);
                let p = angular.inverse();
                let mut m = ZERO;
                let below = Mat3([
                    [d[3][0], d[3][1], d[3][2]],
                    [d[4][0], d[4][1], d[4][2]],
                    [d[5][0], d[5][1], d[5][2]],
                ]) * p;
                for r in 0..3 {
                    for c in 0..3 {
                        m[3 + r][3 + c] = d[3 + r][3 + c]
                            - (below.0[r][0] * d[0][3 + c]
                                + below.0[r][1] * d[1][3 + c]
                                + below.0[r][2] * d[2][3 + c]);
                    }
                }
                for c in 0..3 {
                    self.left[link.v + c] = d[c];
                    for k in 0..3 {
                        self.inverse[link.v + c][k] = p.0[c][k];
                        self.right[link.v + c][3 + k] = below.0[k][c];
                    }
                }
                if let Some(parent) = link.parent {
                    add_linear(&mut self.diagonal[parent], &m, x.lever[i], v.lever[i]);
                }
                return;
            }
            _ => match kind.nv() {
                0 => self.factor_general::<0>(layout, i, x, v),
                1 => self.factor_general::<1>(layout, i, x, v),
                2 => self.factor_general::<2>(layout, i, x, v),
                3 => self.factor_general::<3>(layout, i, x, v),
                _ => self.factor_general::<6>(layout, i, x, v),
            },
        };
        #[cfg(feature = "sabotage")]
        if crate::sabotage::chosen(crate::sabotage::Fault::SlowLinks) {
            crate::sabotage::waste(1000 * layout.links.len());
        }
        #[cfg(feature = "sabotage")]
        let reduced = if crate::sabotage::chosen(crate::sabotage::Fault::NewtonSign) {
            reduced.map(|row| row.map(|x| -x))
        } else {
            reduced
        };
        if let Some(parent) = link.parent {
            add_transported(&mut self.diagonal[parent], &reduced, x.lever[i], v.lever[i]);
        }
    }

    /// Pivot of any joint kind with `N` coordinates, with force rows and limits. Returns `D − D N_v P⁻¹ N_xᵀ D`.
    #[inline(always)]
    fn factor_general<const N: usize>(&mut self, layout: &Layout, i: usize, x: &Side, v: &Side) -> Block {
        let link = &layout.links[i];
        let kind = link.joint.kind;
        let range = link.v..link.v + N;
        coordinate_columns(kind, &x.joints[i], x.axis[i], &mut self.n_x[range.clone()]);
        coordinate_columns(kind, &v.joints[i], v.axis[i], &mut self.n_v[range]);
        let d = self.diagonal[i];
        let (mut u, mut p) = (ZERO, ZERO);
        for c in 0..N {
            let (nx, nv) = (self.n_x[link.v + c], self.n_v[link.v + c]);
            u[c] = by_entry(|r| dot(&d[r], &nv));
            let mut left = [0.0; 6];
            for r in 0..6 {
                for k in 0..6 {
                    left[k] += nx[r] * d[r][k];
                }
            }
            self.left[link.v + c] = left;
        }
        for r in 0..N {
            for c in 0..N {
                p[r][c] = dot(&self.n_x[link.v + r], &u[c]) + self.stiffness[link.v + r][c];
            }
        }
        // Rows with a limit: δ(Pξ − y) + κξ = z.
        let mut scaled = p;
        for r in 0..N {
            let [kappa, delta] = self.limit[link.v + r];
            for c in 0..N {
                scaled[r][c] *= delta;
            }
            scaled[r][r] += kappa;
        }
        let mut inverse = ZERO;
        let size = by_entry(|r| scaled[r][r].abs());
        invert(&scaled, N, &size, 0.0, &mut inverse);
        for r in 0..N {
            self.unscaled[link.v + r] = inverse[r];
            for c in 0..N {
                inverse[r][c] *= self.limit[link.v + c][1];
            }
        }
        let mut m = d;
        for c in 0..N {
            self.inverse[link.v + c] = inverse[c];
            let mut right = [0.0; 6];
            for k in 0..N {
                for r in 0..6 {
                    right[r] += u[k][r] * inverse[k][c];
                }
            }
            self.right[link.v + c] = right;
            for r in 0..6 {
                for k in 0..6 {
                    m[r][k] -= right[r] * self.left[link.v + c][k];
                }
            }
        }
        m
    }
}
