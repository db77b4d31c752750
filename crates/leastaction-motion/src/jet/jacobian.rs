//! Dense Jacobians from generating jets, in both column systems.

use super::JetError;
use super::quantity::{Quantity, QuantityKind};
use super::stage::StageKind;
use super::workspace::JetWorkspace;
use crate::spatial::{Twist, Vec3, Wrench};

/// What the columns of a Jacobian vary.
///
/// Columns run joint by joint, within a joint over `r = 0..=k+2`, within that over the joint's velocity coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Coordinates {
    /// Taylor coefficients `ξ_r` of a tangent function of time; for one-axis joints `δq^(r)/r!`.
    #[default]
    Tangent,
    /// `r = 0`: a perturbation `a` of the configuration on the right; `r ≥ 1`: the velocity coefficient `y_{r−1}`.
    Velocity,
}

impl JetWorkspace<f64> {
    /// Rows of one coefficient of a quantity's Jacobian.
    #[must_use]
    pub fn jacobian_rows(&self, quantity: QuantityKind) -> usize {
        Quantity::whole(quantity).rows(self.tree.nv)
    }

    /// Columns of every Jacobian: `nv (k + 3)`.
    #[must_use]
    pub fn jacobian_columns(&self) -> usize {
        self.tree.nv * (self.n + 1)
    }

    /// Index of the column that varies velocity coordinate `c` at order `r`.
    #[must_use]
    pub fn column_index(&self, c: usize, r: usize) -> usize {
        // Joints own contiguous ranges of coordinates; find the one with c.
        let at = self.tree.joints.partition_point(|(v, _)| *v <= c) - 1;
        let (v, nv) = self.tree.joints[at];
        v * (self.n + 1) + r * nv + (c - v)
    }

    /// The Jacobian of a quantity, row-major `[order][row][column]`. Does not allocate.
    ///
    /// Valid after [`forward`](Self::forward).
    ///
    /// # Errors
    /// If `out` has the wrong length or a target is missing.
    pub fn jacobian_into(
        &mut self,
        request: &Quantity,
        coordinates: Coordinates,
        out: &mut [f64],
    ) -> Result<(), JetError> {
        let quantity = request.kind;
        let (count, rows) = (quantity.count(self.n), self.jacobian_rows(quantity));
        let columns = self.jacobian_columns();
        if out.len() != count * rows * columns {
            return Err(JetError::WrongLength {
                name: "out",
                expected: count * rows * columns,
                found: out.len(),
            });
        }
        let n = self.n;
        if quantity == QuantityKind::Torque {
            self.torque_jacobian_dense(out);
        } else {
            let place = self.place_of(request)?;
            self.load(&place, quantity);
            // What a target hangs from is few of a tree's joints.
            out.fill(0.0);
            for joint in 0..self.tree.joints.len() {
                let (v, nv) = self.tree.joints[joint];
                for c in 0..nv {
                    if !self.depends(request, &place, self.tree.column_stage[v + c]) {
                        continue;
                    }
                    self.generate(request, &place, v + c);
                    #[cfg(feature = "sabotage")]
                    if crate::sabotage::chosen(crate::sabotage::Fault::SlowJacobian) {
                        crate::sabotage::waste(1000 * columns);
                    }
                    let generating = &self.generating;
                    for l in 0..count {
                        for m in 0..(n + 1).min(l + 3) {
                            let column = v * (n + 1) + m * nv + c;
                            let entries = generating.entries(l, m);
                            let column = out[l * rows * columns..].iter_mut().skip(column).step_by(columns);
                            column.zip(&entries[..rows]).for_each(|(out, x)| *out = *x);
                        }
                    }
                }
            }
        }
        #[cfg(feature = "sabotage")]
        if crate::sabotage::chosen(crate::sabotage::Fault::JacobianEntry) && !out.is_empty() {
            out[0] += 1e-9;
        }
        if coordinates == Coordinates::Velocity {
            for row in out.chunks_exact_mut(columns.max(1)) {
                self.row_to_velocity_coordinates(row);
            }
        }
        Ok(())
    }

    /// Turns one Jacobian row (or a gradient in the same layout) from tangent to velocity coordinates: `g W⁻¹`, (4.4).
    pub(crate) fn row_to_velocity_coordinates(&self, row: &mut [f64]) {
        let n = self.n;
        for (at, (v, nv)) in self.tree.joints.iter().copied().enumerate() {
            let block = &mut row[v * (n + 1)..(v + nv) * (n + 1)];
            let kind = self.tree.stages[self.tree.joint_stage[at]].kind;
            for r in (1..=n).rev() {
                let f = 1.0 / r as f64;
                for x in &mut block[r * nv..(r + 1) * nv] {
                    *x *= f;
                }
                // ξ_r = (δy_{r−1} − Σ_{m<r} ad(y_{r−1−m}) ξ_m)/r, read backwards.
                match kind {
                    StageKind::Ball => {
                        let g = Vec3([block[r * 3], block[r * 3 + 1], block[r * 3 + 2]]);
                        for m in 0..r {
                            let d = g.cross(self.y3(v, r - 1 - m));
                            for i in 0..3 {
                                block[m * 3 + i] -= d[i];
                            }
                        }
                    }
                    StageKind::Free => {
                        let g = Wrench::from_array(std::array::from_fn(|i| block[r * 6 + i]));
                        for m in 0..r {
                            let y = Twist::new(self.y3(v, r - 1 - m), self.y3(v + 3, r - 1 - m));
                            let d = (-y.cross_wrench(g)).to_array();
                            for i in 0..6 {
                                block[m * 6 + i] -= d[i];
                            }
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    /// Three velocity coefficients of order `l` from coordinate `c` on.
    fn y3(&self, c: usize, l: usize) -> Vec3 {
        let at = l * self.tree.nv + c;
        Vec3([self.y[at], self.y[at + 1], self.y[at + 2]])
    }
}
