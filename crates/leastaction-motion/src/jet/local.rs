//! Values in the frames people ask for: pose jets, and the jets of a body or frame.

use super::JetError;
use super::forward::{first_inertia, pose_jet};
use super::quantity::{Quantity, QuantityFrame, QuantityKind, Target};
use super::stage::Place;
use super::taylor::{inertia_at, inertia_next, local_force, local_motion, next, with_order};
use super::workspace::JetWorkspace;
use crate::scalar::Real;
use crate::spatial::{Mat3, Pose, Vec3, Wrench};

impl<T: Real> JetWorkspace<T> {
    /// Fills `self.link` with the jets of a target that `quantity` needs.
    pub(crate) fn load(&mut self, place: &Place, quantity: QuantityKind) {
        let n = self.n;
        if quantity == QuantityKind::CentroidalMomentum {
            self.load_centroid();
            return;
        }
        if !quantity.needs_target() {
            return;
        }
        if let Some(i) = place.stage {
            with_order!(self.n, pose_jets::<T; N>(self, i));
        }
        let link = &mut self.link;
        let Some(i) = place.stage else {
            link.rot.fill(Mat3::zero());
            link.pos.fill(Vec3::zero());
            link.rot[0] = Mat3::constant(place.pose.rot);
            link.pos[0] = Vec3::constant(place.pose.pos - self.origin);
            link.ii.fill(super::taylor::InertiaCoefficient::zero());
            link.h.fill(Wrench::zero());
            link.f.fill(Wrench::zero());
            link.mass = T::zero();
            return;
        };
        let at: Pose<T> = Pose::constant(&place.pose);
        for (rot, pos) in link.rot.iter_mut().zip(&mut link.pos) {
            *pos += *rot * at.pos;
            *rot = *rot * at.rot;
        }
        if !matches!(quantity, QuantityKind::Momentum | QuantityKind::LinkForce) {
            return;
        }
        let v = &self.v[i * n..(i + 1) * n];
        link.mass = T::from_f64(place.inertia.mass);
        link.ii[0] = first_inertia(&place.inertia, &self.poses[i]);
        for l in 0..n {
            if l + 1 < n {
                link.ii[l + 1] = inertia_next(link.mass, v, &link.ii, l);
            }
            link.h[l] = inertia_at(link.mass, &link.ii, v, l);
        }
        let g = Vec3::constant(self.tree.gravity);
        for l in 0..n - 1 {
            let mut f = link.h[l + 1].scale(next(l));
            f.ang -= link.ii[l].moment.cross(g);
            if l == 0 {
                f.lin -= g * link.mass;
            }
            link.f[l] = f;
        }
    }

    /// Centre of mass (about the common origin) into `link.pos`, total momentum into `link.h`.
    fn load_centroid(&mut self) {
        let n = self.n;
        let (link, tree) = (&mut self.link, &*self.tree);
        link.pos.fill(Vec3::zero());
        link.h.fill(Wrench::zero());
        for (i, stage) in tree.stages.iter().enumerate() {
            if stage.parent.is_some() {
                continue;
            }
            for l in 0..n {
                link.h[l] += self.hc[i * n + l];
            }
            if tree.mass > 0.0 {
                for l in 0..n + 1 {
                    link.pos[l] += self.iic[i * (n + 1) + l].moment.scale(1.0 / tree.mass);
                }
            }
        }
    }

    /// Number of coefficients of a quantity.
    #[must_use]
    pub fn value_count(&self, quantity: QuantityKind) -> usize {
        quantity.count(self.n)
    }

    /// Rows of one coefficient of a quantity's value: poses have 12 (rotation row by row, position), orientations 9.
    #[must_use]
    pub fn value_rows(&self, quantity: QuantityKind) -> usize {
        match quantity {
            QuantityKind::Pose => 12,
            QuantityKind::Orientation => 9,
            QuantityKind::Point | QuantityKind::Com => 3,
            QuantityKind::Torque => self.tree.nv,
            _ => 6,
        }
    }

    /// Taylor coefficients of a quantity, order-major.
    pub(crate) fn read_value(&mut self, request: &Quantity, out: &mut [T]) -> Result<(), JetError> {
        let quantity = request.kind;
        let (count, rows) = (self.value_count(quantity), self.value_rows(quantity));
        if out.len() != count * rows {
            return Err(JetError::WrongLength { name: "out", expected: count * rows, found: out.len() });
        }
        if quantity == QuantityKind::Torque {
            out.copy_from_slice(&self.tau);
            return Ok(());
        }
        let place = self.place_of(request)?;
        self.load(&place, quantity);
        let n = self.n;
        let o: Vec3<T> = Vec3::constant(self.origin);
        let world = request.frame == QuantityFrame::World;
        let origin = |l: usize| if l == 0 { o } else { Vec3::zero() };
        let (link, gen_) = (&self.link, &mut self.generating);
        let stage = place.stage;
        match quantity {
            QuantityKind::Torque | QuantityKind::Joint => {}
            QuantityKind::Pose | QuantityKind::Orientation => {
                for l in 0..count {
                    for r in 0..3 {
                        out[l * rows + 3 * r..][..3].copy_from_slice(&link.rot[l].0[r]);
                    }
                    if quantity == QuantityKind::Pose {
                        out[l * rows + 9..][..3].copy_from_slice(&(link.pos[l] + origin(l)).0);
                    }
                }
            }
            QuantityKind::Point => {
                for l in 0..count {
                    out[l * 3..][..3].copy_from_slice(&(link.pos[l] + origin(l)).0);
                }
            }
            QuantityKind::Com => {
                self.load_centroid();
                for l in 0..count {
                    out[l * 3..][..3].copy_from_slice(&(self.link.pos[l] + origin(l)).0);
                }
            }
            QuantityKind::Velocity => {
                let Some(i) = stage else {
                    out.fill(T::zero());
                    return Ok(());
                };
                let v = &self.v[i * n..(i + 1) * n];
                if world {
                    for l in 0..count {
                        let x = v[l];
                        let x = crate::spatial::Twist::new(x.ang, x.lin + o.cross(x.ang));
                        out[l * 6..][..6].copy_from_slice(&x.to_array());
                    }
                } else {
                    local_motion(&link.rot, &link.pos, v, gen_.motion_scratch(), count);
                    for l in 0..count {
                        out[l * 6..][..6].copy_from_slice(&gen_.motion_scratch()[l].to_array());
                    }
                }
            }
            QuantityKind::TotalMomentum => {
                self.load_centroid();
                for l in 0..count {
                    let h = self.link.h[l];
                    let h = Wrench::new(h.ang + o.cross(h.lin), h.lin);
                    out[l * 6..][..6].copy_from_slice(&h.to_array());
                }
            }
            QuantityKind::CentroidalMomentum => {
                for l in 0..count {
                    let mut ang = link.h[l].ang;
                    for m in 0..=l {
                        ang -= link.pos[m].cross(link.h[l - m].lin);
                    }
                    out[l * 6..][..6].copy_from_slice(&Wrench::new(ang, link.h[l].lin).to_array());
                }
            }
            QuantityKind::Momentum
            | QuantityKind::JointMomentum
            | QuantityKind::LinkForce
            | QuantityKind::JointForce => {
                let Some(i) = stage else {
                    out.fill(T::zero());
                    return Ok(());
                };
                let x: &[Wrench<T>] = match quantity {
                    QuantityKind::Momentum => &link.h,
                    QuantityKind::LinkForce => &link.f,
                    QuantityKind::JointMomentum => &self.hc[i * n..(i + 1) * n],
                    _ => &self.fc[i * (n - 1)..(i + 1) * (n - 1)],
                };
                if world {
                    for l in 0..count {
                        let f = Wrench::new(x[l].ang + o.cross(x[l].lin), x[l].lin);
                        out[l * 6..][..6].copy_from_slice(&f.to_array());
                    }
                } else {
                    local_force(&link.rot, &link.pos, x, gen_.force_scratch(), count);
                    for l in 0..count {
                        out[l * 6..][..6].copy_from_slice(&gen_.force_scratch()[l].to_array());
                    }
                }
            }
        }
        Ok(())
    }
}

impl JetWorkspace<f64> {
    /// Rotation and position jets of a target in the world, `k + 3` coefficients each.
    pub fn pose_jets(&mut self, target: &Target) -> (&[Mat3], Vec<Vec3>) {
        let place = self.tree.place(target);
        self.load(&place, QuantityKind::Pose);
        let mut pos = self.link.pos.clone();
        pos[0] += Vec3::constant(self.origin);
        (&self.link.rot, pos)
    }
}

/// Pose jets of one stage into those of the target.
fn pose_jets<T: Real, const N: usize>(ws: &mut JetWorkspace<T>, i: usize) {
    let n = if N == 0 { ws.n } else { N };
    let v = &ws.v[i * n..(i + 1) * n];
    pose_jet(&ws.poses[i], v, &mut ws.link.rot, &mut ws.link.pos, n + 1);
}
