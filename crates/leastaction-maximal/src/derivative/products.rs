//! Products with the derivative of one interval and with its transpose. (3.29) to (3.31)

use super::contact::{Source, SourceBar};
use super::stage::Stage;
use crate::forces::about_point;
use crate::graph::Graph;
use crate::layout::Layout;
use crate::ldu::{Six, System, add_wrench, angular, dot, linear, six, transport};
use crate::scalar::by_entry;

impl Stage {
    /// `(z, P, u) ↦ (z', P')`; rates of the joints at the end stay in `system.rate`. Contacts also ask for the variations of the
    /// velocities and rates at the start, in `node`. (3.30)
    pub(super) fn forward(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        z: &[Six],
        momentum: &[Six],
        node: (&[Six], &[f64]),
        u: &[f64],
        parameters: &[f64],
        system: &mut System,
        z_end: &mut [Six],
        momentum_end: &mut [Six],
    ) {
        let (n, h) = (layout.links.len(), self.h);
        self.rows.fill([0.0; 6]);
        self.rows_by_both.apply(z, &mut self.rows);
        self.rows_by_input.apply(u, &mut self.rows);
        self.rows_by_parameter.apply(parameters, &mut self.rows);
        load(layout, &self.rows, system);
        for i in 0..n {
            let carried = about_point(&momentum[i], self.start.arm[i]);
            for k in 0..6 {
                system.body[i][k] += carried[k];
            }
        }
        self.drift(layout, z, system);
        match &mut self.contact {
            None => self.ldu.solve(layout, graph, &self.start, &self.end, system),
            Some(contact) => {
                let source = Source { z, w: node.0, rate: node.1, carried: &self.carried, per_step: 1.0 / h };
                contact.solve(&self.ldu, &self.start, &self.end, &source, system);
            }
        }
        // From here on `body` is the departure z' − z.
        for x in system.body.iter_mut().flatten() {
            *x *= h;
        }
        for i in 0..n {
            z_end[i] = by_entry(|k| z[i][k] + system.body[i][k]);
        }
        for (rate, carried) in system.rate.iter_mut().zip(&self.carried) {
            *rate = carried + h * *rate;
        }
        momentum_end.fill([0.0; 6]);
        self.out_by_both.apply(z, momentum_end);
        self.out_by_end.apply(&system.body, momentum_end);
        self.out_by_input.apply(u, momentum_end);
        self.out_by_parameter.apply(parameters, momentum_end);
    }

    /// The joints' part `s` of the start's variation, `z_b = T_x z_a + N_x s`, and what is left of it between the two
    /// poses: `w_p = (T_v z_a + N_v s − z_b)/h`. Any `s` is right; this one makes `w_p` small. (3.30)
    fn drift(&mut self, layout: &Layout, z: &[Six], system: &mut System) {
        let per_step = 1.0 / self.h;
        for (i, link) in layout.links.iter().enumerate() {
            let at = |lever| link.parent.map_or([0.0; 6], |p| transport(&z[p], lever));
            let (before, after) = (at(self.start.lever[i]), at(self.end.lever[i]));
            let mut left: Six = by_entry(|k| after[k] - z[i][k]);
            let moved = by_entry(|k| z[i][k] - before[k]);
            for c in link.v..link.v + link.joint.kind.nv() {
                self.carried[c] = self.share(c) * dot(&self.ldu.n_x[c], &moved);
                left = by_entry(|k| left[k] + self.ldu.n_v[c][k] * self.carried[c]);
            }
            system.particular[i] = left.map(|x| x * per_step);
            for r in 0..link.joint.kind.nv() {
                for c in 0..link.joint.kind.nv() {
                    let slope = self.stiffness[link.v + r][c];
                    system.force[link.v + r] -= slope * self.carried[link.v + c] * per_step;
                }
            }
        }
    }

    /// Transpose of [`drift`](Self::drift): `carried` holds cotangents of `s`, `z` is added to.
    fn drift_transposed(&mut self, layout: &Layout, system: &System, z: &mut [Six]) {
        let per_step = 1.0 / self.h;
        for (i, link) in layout.links.iter().enumerate() {
            let left = system.particular[i].map(|x| x * per_step);
            let mut moved = [0.0; 6];
            for c in 0..link.joint.kind.nv() {
                let at = link.v + c;
                let mut s = self.carried[at] + dot(&self.ldu.n_v[at], &left);
                for r in 0..link.joint.kind.nv() {
                    s -= self.stiffness[link.v + r][c] * system.force[link.v + r] * per_step;
                }
                s *= self.share(at);
                moved = by_entry(|k| moved[k] + s * self.ldu.n_x[at][k]);
            }
            for k in 0..6 {
                z[i][k] += moved[k] - left[k];
            }
            if let Some(parent) = link.parent {
                add_wrench(&mut z[parent], &left, self.end.lever[i]);
                add_wrench(&mut z[parent], &moved.map(|x| -x), self.start.lever[i]);
            }
        }
    }

    /// What turns a product with a coordinate's column into the coordinate. Rows of limits know the whole rate only.
    fn share(&self, c: usize) -> f64 {
        let column = &self.ldu.n_x[c];
        if self.ldu.limits_active { 0.0 } else { 1.0 / dot(column, column) }
    }

    /// The transpose: `(z̄', P̄')` and cotangents of the end's rates in `system.rate` give `(z̄, P̄)`; those of the velocities at the
    /// start, `ū` and those of the parameters are added to.
    pub(super) fn adjoint(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        z_end: &mut [Six],
        momentum_end: &[Six],
        system: &mut System,
        z: &mut [Six],
        momentum: &mut [Six],
        node: (&mut [Six], &mut [f64]),
        u: &mut [f64],
        parameters: &mut [f64],
    ) {
        let n = layout.links.len();
        z.copy_from_slice(z_end);
        self.out_by_both.apply_transposed(momentum_end, z);
        self.out_by_end.apply_transposed(momentum_end, z_end);
        self.out_by_input.apply_transposed(momentum_end, u);
        self.out_by_parameter.apply_transposed(momentum_end, parameters);
        for i in 0..n {
            system.body[i] = z_end[i].map(|x| x * self.h);
            system.wrench[i] = [0.0; 6];
        }
        self.carried.copy_from_slice(&system.rate);
        system.rate.iter_mut().for_each(|x| *x *= self.h);
        system.closure.fill([0.0; 6]);
        match &mut self.contact {
            None => self.ldu.solve_transposed(layout, graph, &self.start, &self.end, system),
            Some(contact) => {
                let per_step = 1.0 / self.h;
                let mut bar =
                    SourceBar { z: &mut *z, w: node.0, rate: node.1, carried: &mut self.carried, per_step };
                contact.solve_transposed(&self.ldu, &self.start, &self.end, system, &mut bar);
            }
        }
        self.drift_transposed(layout, system, z);
        unload(layout, system, &mut self.rows);
        for i in 0..n {
            let (ang, lin) = (angular(&system.body[i]), linear(&system.body[i]));
            momentum[i] = six(ang, lin + self.start.arm[i].cross(ang));
        }
        self.rows_by_both.apply_transposed(&self.rows, z);
        self.rows_by_input.apply_transposed(&self.rows, u);
        self.rows_by_parameter.apply_transposed(&self.rows, parameters);
    }
}

/// Right-hand sides from variations of the equations: the negative of each.
pub(super) fn load(layout: &Layout, rows: &[Six], system: &mut System) {
    let n = layout.links.len();
    for (i, link) in layout.links.iter().enumerate() {
        system.body[i] = rows[i].map(|x| -x);
        for c in 0..link.joint.kind.nv() {
            system.force[link.v + c] = -rows[n + i][c];
            system.limit[link.v + c] = 0.0;
        }
    }
    for c in 0..layout.closures.len() {
        system.closure[c] = rows[2 * n + c].map(|x| -x);
    }
}

/// Transpose of [`load`].
pub(super) fn unload(layout: &Layout, system: &System, rows: &mut [Six]) {
    let n = layout.links.len();
    for (i, link) in layout.links.iter().enumerate() {
        rows[i] = system.body[i].map(|x| -x);
        rows[n + i] = [0.0; 6];
        for c in 0..link.joint.kind.nv() {
            rows[n + i][c] = -system.force[link.v + c];
        }
    }
    for c in 0..layout.closures.len() {
        rows[2 * n + c] = system.closure[c].map(|x| -x);
    }
}
