//! Generating jets: `δz(t) = α ξ + β ξ' + κ ξ''` for every quantity and every joint column, (4.9).
//!
//! A perturbation ξ(t) of coordinate j moves everything the joint carries by the world tangent `η = s ξ`, whatever
//! the link. With `s1 = D s`, `s2 = D s1`, `N(h) u = u ×* h` and `T = N(H) + D II`, the bracket of a force is
//!
//! ```text
//! κ = II s,   β = 2 II s1 + T s,   α = II s2 + T s1 + II (s × γ)  [+ N(F) s]     (4.10)
//! ```
//!
//! and the last term is there unless the frame of the force turns with the perturbation.

use super::JetError;
use super::quantity::{Quantity, QuantityFrame, QuantityKind};
use super::stage::Place;
use super::taylor::{
    InertiaCoefficient, cross_at, cross_force_at, inertia_at, inertia_rate_at, local_force, local_motion,
    next,
};
use super::workspace::{JetWorkspace, Link};
use crate::scalar::Real;
use crate::spatial::{Twist, Vec3, Wrench};

/// The generating jets of one quantity for one column, and the scratch to make them.
#[derive(Clone, Debug)]
pub struct Generating<T = f64> {
    /// Coefficients of ξ.
    pub alpha: Vec<[T; 6]>,
    /// Coefficients of ξ'.
    pub beta: Vec<[T; 6]>,
    /// Coefficients of ξ''.
    pub kappa: Vec<[T; 6]>,
    s1: Vec<Twist<T>>,
    s2: Vec<Twist<T>>,
    motion: Vec<Twist<T>>,
    a: Vec<Wrench<T>>,
    b: Vec<Wrench<T>>,
    k: Vec<Wrench<T>>,
    force: Vec<Wrench<T>>,
}

impl<T: Real> Generating<T> {
    pub(crate) fn new(n: usize) -> Self {
        let six = vec![[T::zero(); 6]; n + 1];
        let (twist, wrench) = (vec![Twist::zero(); n + 1], vec![Wrench::zero(); n + 1]);
        Self {
            alpha: six.clone(),
            beta: six.clone(),
            kappa: six,
            s1: twist.clone(),
            s2: twist.clone(),
            motion: twist,
            a: wrench.clone(),
            b: wrench.clone(),
            k: wrench.clone(),
            force: wrench,
        }
    }

    pub(crate) fn motion_scratch(&mut self) -> &mut [Twist<T>] {
        &mut self.motion
    }

    pub(crate) fn force_scratch(&mut self) -> &mut [Wrench<T>] {
        &mut self.force
    }

    fn clear(&mut self) {
        for jet in [&mut self.alpha, &mut self.beta, &mut self.kappa] {
            jet.fill([T::zero(); 6]);
        }
    }

    /// `∂z_l/∂ξ_m` of row `row`.
    #[inline(always)]
    pub fn entry(&self, l: usize, m: usize, row: usize) -> T {
        self.entries(l, m)[row]
    }

    /// `∂z_l/∂ξ_m` of all rows.
    #[inline(always)]
    pub(crate) fn entries(&self, l: usize, m: usize) -> [T; 6] {
        let mut x = if m <= l { self.alpha[l - m] } else { [T::zero(); 6] };
        let mut add = |jet: &[T; 6], factor: usize| {
            for (x, jet) in x.iter_mut().zip(jet) {
                *x += *jet * factor as f64;
            }
        };
        if m >= 1 && m <= l + 1 {
            add(&self.beta[l + 1 - m], m);
        }
        if m >= 2 && m <= l + 2 {
            add(&self.kappa[l + 2 - m], m * (m - 1));
        }
        x
    }
}

/// An inertia jet with its momentum: a link or a composite.
pub(crate) struct Mass<'a, T> {
    pub(crate) mass: T,
    pub(crate) ii: &'a [InertiaCoefficient<T>],
    pub(crate) h: &'a [Wrench<T>],
}

impl<T: Real> Mass<'_, T> {
    /// The bracket of (4.10) without `N(F) s`, to order `count − 1`.
    #[inline(always)]
    pub(crate) fn bracket(
        &self,
        s: &[Twist<T>],
        s1: &[Twist<T>],
        s2: &[Twist<T>],
        g: Vec3<T>,
        (alpha, beta, kappa): (&mut [Wrench<T>], &mut [Wrench<T>], &mut [Wrench<T>]),
        count: usize,
    ) {
        for l in 0..count {
            kappa[l] = inertia_at(self.mass, self.ii, s, l);
            beta[l] = inertia_at(self.mass, self.ii, s1, l).scale(2.0)
                + cross_force_at(s, self.h, l)
                + inertia_rate_at(self.ii, s, l);
            let mut a = inertia_at(self.mass, self.ii, s2, l)
                + cross_force_at(s1, self.h, l)
                + inertia_rate_at(self.ii, s1, l);
            // II (s × γ) with s × γ = [0; w × g].
            a.lin += s[l].ang.cross(g) * self.mass;
            for m in 0..=l {
                a.ang += self.ii[m].moment.cross(s[l - m].ang.cross(g));
            }
            alpha[l] = a;
        }
    }

    /// `N(H) s + II s1` and `II s`, to order `count − 1`.
    #[inline(always)]
    fn momentum(
        &self,
        s: &[Twist<T>],
        s1: &[Twist<T>],
        (alpha, beta): (&mut [Wrench<T>], &mut [Wrench<T>]),
        turning: bool,
        count: usize,
    ) {
        for l in 0..count {
            alpha[l] = inertia_at(self.mass, self.ii, s1, l);
            if turning {
                alpha[l] += cross_force_at(s, self.h, l);
            }
            beta[l] = inertia_at(self.mass, self.ii, s, l);
        }
    }
}

impl<T: Real> JetWorkspace<T> {
    #[inline]
    pub(crate) fn place_of(&self, request: &Quantity) -> Result<Place, JetError> {
        match (request.kind, request.target) {
            (QuantityKind::Torque, _) => Err(JetError::NotServed {
                quantity: "torque",
                remedy: "use the torque Jacobian, whose generating jets are M, C and K",
            }),
            (QuantityKind::Joint, _) => Err(JetError::NotServed {
                quantity: "joint",
                remedy: "joint coordinates and their derivatives are the motion itself",
            }),
            (kind, None) if kind.needs_target() => Err(JetError::NotServed {
                quantity: kind.name(),
                remedy: "name the body or frame it belongs to",
            }),
            (_, target) => Ok(target.map_or_else(Place::ground, |target| self.tree.place(&target))),
        }
    }
}

impl JetWorkspace<f64> {
    /// Generating jets of a quantity for velocity coordinate `column`, valid after [`forward`](Self::forward).
    ///
    /// Torques have generating jets per pair of joints instead, see [`TorqueJacobian`](super::TorqueJacobian).
    ///
    /// # Errors
    /// If the quantity is the torque, or belongs to a target and none is given.
    pub fn generating(&mut self, request: &Quantity, column: usize) -> Result<&Generating, JetError> {
        if column >= self.tree.nv {
            return Err(JetError::WrongLength { name: "column", expected: self.tree.nv, found: column });
        }
        let place = self.place_of(request)?;
        self.load(&place, request.kind);
        self.generate(request, &place, column);
        Ok(&self.generating)
    }

    /// False if the generating jets of a quantity vanish for what stage `j` moves.
    pub(crate) fn depends(&self, request: &Quantity, place: &Place, j: usize) -> bool {
        let above = place.stage.is_some_and(|i| self.tree.carries(j, i));
        match request.kind {
            QuantityKind::Torque | QuantityKind::Joint => false,
            QuantityKind::JointMomentum | QuantityKind::JointForce => {
                above || place.stage.is_some_and(|i| self.tree.carries(i, j))
            }
            QuantityKind::Com => self.tree.mass > 0.0,
            QuantityKind::TotalMomentum | QuantityKind::CentroidalMomentum => true,
            _ => above,
        }
    }

    /// Fills `self.generating`; the target is loaded.
    pub(crate) fn generate(&mut self, request: &Quantity, place: &Place, column: usize) {
        let n = self.n;
        let tree = std::sync::Arc::clone(&self.tree);
        let j = tree.column_stage[column];
        let g = Vec3::constant(tree.gravity);
        let o = Vec3::constant(self.origin);
        let gen_ = &mut self.generating;
        gen_.clear();
        let s = &self.s[column * (n + 1)..(column + 1) * (n + 1)];
        let link = &self.link;
        let composite = |i: usize| Mass {
            mass: self.mass_c[i],
            ii: &self.iic[i * (n + 1)..(i + 1) * (n + 1)],
            h: &self.hc[i * n..(i + 1) * n],
        };
        let own = Mass { mass: link.mass, ii: &link.ii, h: &link.h };
        let world = request.frame == QuantityFrame::World;
        let count = request.kind.count(n);
        let above = place.stage.is_some_and(|i| tree.carries(j, i));
        let below = place.stage.is_some_and(|i| !above && tree.carries(i, j));
        let motion = |x: Twist| Twist::new(x.ang, x.lin + o.cross(x.ang)).to_array();
        let force = |x: Wrench| Wrench::new(x.ang + o.cross(x.lin), x.lin).to_array();
        if matches!(
            request.kind,
            QuantityKind::Velocity
                | QuantityKind::Momentum
                | QuantityKind::JointMomentum
                | QuantityKind::LinkForce
                | QuantityKind::JointForce
                | QuantityKind::TotalMomentum
                | QuantityKind::CentroidalMomentum
        ) {
            super::taylor::rate(s, &mut gen_.s1, n);
            for l in 0..n.saturating_sub(1) {
                gen_.s2[l] = gen_.s1[l + 1].scale(next(l));
            }
        }
        match request.kind {
            QuantityKind::Torque => {}
            QuantityKind::Pose | QuantityKind::Orientation if above => {
                local_motion(&link.rot, &link.pos, s, &mut gen_.motion, count);
                for l in 0..count {
                    gen_.alpha[l] = if world { motion(s[l]) } else { gen_.motion[l].to_array() };
                }
            }
            QuantityKind::Point if above => {
                for l in 0..count {
                    let mut x = s[l].lin;
                    for m in 0..=l {
                        x += s[m].ang.cross(link.pos[l - m]);
                    }
                    gen_.alpha[l][..3].copy_from_slice(&x.0);
                }
            }
            QuantityKind::Velocity if above => {
                let v = place.stage.map_or(&[][..], |i| &self.v[i * n..(i + 1) * n]);
                if world {
                    for l in 0..count {
                        gen_.alpha[l] = motion(gen_.s1[l] - cross_at(v, s, l));
                        gen_.beta[l] = motion(s[l]);
                    }
                } else {
                    local_motion_of(link, &gen_.s1, &mut gen_.motion, count);
                    (0..count).for_each(|l| gen_.alpha[l] = gen_.motion[l].to_array());
                    local_motion_of(link, s, &mut gen_.motion, count);
                    (0..count).for_each(|l| gen_.beta[l] = gen_.motion[l].to_array());
                }
            }
            QuantityKind::Momentum if above => {
                own.momentum(s, &gen_.s1, (&mut gen_.a, &mut gen_.b), world, count);
                self.emit_forces(world, &force, count, 2);
            }
            QuantityKind::JointMomentum if above || below => {
                let d = if above { place.stage.unwrap_or(j) } else { j };
                composite(d).momentum(s, &gen_.s1, (&mut gen_.a, &mut gen_.b), world || below, count);
                self.emit_forces(world, &force, count, 2);
            }
            QuantityKind::LinkForce if above => {
                let out = (&mut gen_.a[..], &mut gen_.b[..], &mut gen_.k[..]);
                own.bracket(s, &gen_.s1, &gen_.s2, g, out, count);
                if world {
                    (0..count).for_each(|l| gen_.a[l] += cross_force_at(s, &link.f, l));
                }
                self.emit_forces(world, &force, count, 3);
            }
            QuantityKind::JointForce if above || below => {
                let d = if above { place.stage.unwrap_or(j) } else { j };
                let out = (&mut gen_.a[..], &mut gen_.b[..], &mut gen_.k[..]);
                composite(d).bracket(s, &gen_.s1, &gen_.s2, g, out, count);
                if world || below {
                    let fc = &self.fc[d * (n - 1)..(d + 1) * (n - 1)];
                    (0..count).for_each(|l| gen_.a[l] += cross_force_at(s, fc, l));
                }
                self.emit_forces(world, &force, count, 3);
            }
            QuantityKind::Com if tree.mass > 0.0 => {
                let iic = &self.iic[j * (n + 1)..(j + 1) * (n + 1)];
                for l in 0..count {
                    let mut x = s[l].lin * self.mass_c[j];
                    for m in 0..=l {
                        x += s[m].ang.cross(iic[l - m].moment);
                    }
                    gen_.alpha[l][..3].copy_from_slice(&x.scale(1.0 / tree.mass).0);
                }
            }
            QuantityKind::TotalMomentum | QuantityKind::CentroidalMomentum => {
                composite(j).momentum(s, &gen_.s1, (&mut gen_.a, &mut gen_.b), true, count);
                if request.kind == QuantityKind::CentroidalMomentum && tree.mass > 0.0 {
                    // L_c = L − c × P about the common origin: δL_c = δL − δc × P − c × δP.
                    let iic = &self.iic[j * (n + 1)..(j + 1) * (n + 1)];
                    for l in 0..count {
                        gen_.k[l] = Wrench::zero();
                        let mut dc = s[l].lin * self.mass_c[j];
                        for m in 0..=l {
                            dc += s[m].ang.cross(iic[l - m].moment);
                        }
                        gen_.k[l].lin = dc.scale(1.0 / tree.mass);
                    }
                    for l in (0..count).rev() {
                        for m in 0..=l {
                            let (c, p) = (link.pos[m], link.h[m].lin);
                            let (a, b) = (gen_.a[l - m].lin, gen_.b[l - m].lin);
                            gen_.a[l].ang -= gen_.k[l - m].lin.cross(p) + c.cross(a);
                            gen_.b[l].ang -= c.cross(b);
                        }
                    }
                    for l in 0..count {
                        gen_.alpha[l] = gen_.a[l].to_array();
                        gen_.beta[l] = gen_.b[l].to_array();
                    }
                } else {
                    for l in 0..count {
                        gen_.alpha[l] = force(gen_.a[l]);
                        gen_.beta[l] = force(gen_.b[l]);
                    }
                }
            }
            _ => {}
        }
    }

    /// Writes the force scratch as generating jets, in the frame asked for.
    fn emit_forces(&mut self, world: bool, shifted: &impl Fn(Wrench) -> [f64; 6], count: usize, jets: usize) {
        let (link, gen_) = (&self.link, &mut self.generating);
        let Generating { alpha, beta, kappa, a, b, k, force, .. } = gen_;
        for (from, to) in [(a, alpha), (b, beta), (k, kappa)].into_iter().take(jets) {
            if world {
                (0..count).for_each(|l| to[l] = shifted(from[l]));
            } else {
                local_force(&link.rot, &link.pos, from, force, count);
                (0..count).for_each(|l| to[l] = force[l].to_array());
            }
        }
    }
}

/// [`local_motion`] in the frame of a target, with the usual lengths as constants.
fn local_motion_of(link: &Link<f64>, x: &[Twist], out: &mut [Twist], count: usize) {
    match count {
        1 => local_motion(&link.rot, &link.pos, x, out, 1),
        2 => local_motion(&link.rot, &link.pos, x, out, 2),
        _ => local_motion(&link.rot, &link.pos, x, out, count),
    }
}
