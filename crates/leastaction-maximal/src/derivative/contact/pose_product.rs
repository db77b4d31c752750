//! Products in the variables of single links, as reference data has them: for checks.

use super::super::StepDerivative;
use crate::ldu::{Six, angular, linear, six};
use crate::spatial::{Quat, Vec3};

/// Variations of a link: rotation (its own axes) and displacement of its centre of mass, angular velocity (own axes) and velocity.
pub(crate) type LinkVariation = [f64; 12];

/// A link at the end of a relaxed step: pose of its centre of mass, velocities of the interval (angular in its own axes).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct RelaxedLink {
    /// Orientation.
    pub q: Quat,
    /// Position.
    pub x: Vec3,
    /// Angular velocity.
    pub omega: Vec3,
    /// Velocity.
    pub v: Vec3,
}

impl StepDerivative {
    /// Links at the end of the relaxed step that was differentiated last, in the order of the engine's links.
    #[doc(hidden)]
    #[must_use]
    pub fn relaxed_end(&self) -> &[RelaxedLink] {
        &self.touching.end
    }

    /// Positions and velocities at the end of the relaxed step that was differentiated last.
    #[doc(hidden)]
    #[must_use]
    pub fn relaxed_node(&self) -> (&[f64], &[f64]) {
        (&self.touching.q, &self.end.node.v)
    }

    /// Variations of the links at the end of a step with contact from those at its start, admissible or not, in the order of the
    /// engine's links. The velocities at the end are those of the node; of the interval if the derivative is relaxed.
    #[doc(hidden)]
    pub fn contact_product(&mut self, start: &[LinkVariation]) -> Vec<LinkVariation> {
        let n = self.layout.links.len();
        let (mut z, mut w) = (vec![[0.0; 6]; n], vec![[0.0; 6]; n]);
        for i in 0..n {
            let node = &self.start.node;
            let (rot, arm) = (node.side.rot[i], node.side.arm[i]);
            let part = |k: usize| Vec3([start[i][k], start[i][k + 1], start[i][k + 2]]);
            let turn = rot * part(0);
            z[i] = six(turn, part(3) + turn.cross(arm));
            let spin = angular(&node.w[i]);
            let d_spin = rot * part(6) + turn.cross(spin);
            w[i] = six(d_spin, part(9) + d_spin.cross(arm) + spin.cross(turn.cross(arm)));
        }
        let u = vec![0.0; self.nu];
        let Self {
            layout, graph, start, stages, end, touching, system, momentum, dv, dv_start, theta, ..
        } = self;
        theta.fill(0.0);
        start.rates_of(layout, &z, &w, dv_start);
        start.w.copy_from_slice(&w);
        let [p0, p1] = momentum;
        start.momenta(layout, &z, dv_start, p0);
        let mut z_end = z.clone();
        let stage = &mut stages[0];
        stage.forward(layout, graph, &z, p0, (&start.w, dv_start), &u, theta, system, &mut z_end, p1);
        let dq = system.rate.clone();
        if touching.relaxed {
            return (0..n).map(|i| stage.interval_variation(i, &z[i], &z_end[i])).collect();
        }
        let node = (&start.w[..], &dv_start[..], &dq[..]);
        touching.forward(layout, graph, &z_end, p1, node, theta, system);
        end.forward(layout, graph, &z_end, p1, node, theta, system, dv);
        let side = &end.node.side;
        let made = |i: usize| {
            let (rot, arm, spin) = (side.rot[i], side.arm[i], angular(&end.node.w[i]));
            let (turn, push) = (angular(&z_end[i]), linear(&z_end[i]));
            let (d_spin, d_v) = (angular(&system.body[i]), linear(&system.body[i]));
            let d_v = d_v - d_spin.cross(arm) - spin.cross(turn.cross(arm));
            let own = rot.tr_mul(d_spin - turn.cross(spin));
            joined(rot.tr_mul(turn), push - turn.cross(arm), own, d_v)
        };
        (0..n).map(made).collect()
    }
}

impl super::super::stage::Stage {
    /// Variation of a link's end pose and of its velocity over the interval.
    fn interval_variation(&self, i: usize, z: &Six, z_end: &Six) -> LinkVariation {
        let (turn, push) = (angular(z_end), linear(z_end));
        let (from, shift) = (angular(z), linear(z));
        let per_step = 1.0 / self.h;
        let (arm, arm_end, rot) = (self.start.arm[i], self.end.arm[i], self.end.rot[i]);
        let omega = self.rate[i] * rot.tr_mul((turn - from) * per_step);
        let centre = push - turn.cross(arm_end);
        let v = (centre - (shift - from.cross(arm))) * per_step;
        joined(rot.tr_mul(turn), centre, omega, v)
    }
}

fn joined(a: Vec3, b: Vec3, c: Vec3, d: Vec3) -> LinkVariation {
    std::array::from_fn(|k| [a, b, c, d][k / 3][k % 3])
}
