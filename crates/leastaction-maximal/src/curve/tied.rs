//! Ties at the nodes of a step: rows held at nodes 1 to s with impulses along their gradients at nodes 0 to s − 1. (8.24)
//!
//! Their impulses stand behind those of held coordinates in [`Unknowns::held`](super::unknowns::Unknowns).

use super::CurveMemory;
use super::rows::larger;
use crate::forces::add_row;
use crate::geometry::{Geometry, Side};
use crate::layout::Layout;
use crate::mechanism::JointType;
use crate::state::MaximalState;
use crate::ties::{Coordinates, JointAt, Part};
use crate::workspace::StepData;

/// Coordinates at a node of the curve.
struct AtNode<'a> {
    memory: &'a CurveMemory,
    layout: &'a Layout,
    state: &'a MaximalState,
    node: usize,
    h: f64,
}

impl AtNode<'_> {
    fn side(&self) -> &Side {
        self.memory.side(self.state, self.node)
    }
}

impl Coordinates for AtNode<'_> {
    fn start(&self, part: &Part) -> f64 {
        match part.joint {
            JointAt::Link(i) if self.layout.links[i].joint.kind == JointType::Spherical => 0.0,
            JointAt::Link(i) => self.state.q[self.layout.links[i].q + part.c],
            JointAt::Loop(l) => self.state.q_loop[l][part.c],
        }
    }

    fn change(&self, part: &Part) -> f64 {
        if self.node == 0 {
            return 0.0;
        }
        let (from, to) = (part.joint.geometry(&self.state.side), part.joint.geometry(self.side()));
        let mut dy = [0.0; 6];
        self.memory.change(self.state, part.joint.of(self.layout), from, to, self.node, &mut dy);
        dy[part.c]
    }

    fn geometry(&self, joint: JointAt) -> &Geometry {
        joint.geometry(self.side())
    }

    fn time(&self) -> (f64, f64) {
        (self.state.t, self.memory.table.c[self.node] * self.h)
    }
}

impl CurveMemory {
    /// Values of the ties at nodes 1 to s, and their slopes at all nodes.
    pub(super) fn measure_ties(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        let first = layout.held - layout.ties.len();
        for node in 0..=self.table.s {
            let mut slopes = std::mem::take(&mut self.tie_slopes[node]);
            for (o, tie) in layout.ties.iter().enumerate().filter(|(o, _)| !step.tied[*o].is_nan()) {
                let at = AtNode { memory: self, layout, state, node, h: step.h };
                let range = tie.first..tie.first + tie.parts.len();
                let value = tie.measure(step.tied[o], &at, &mut slopes[range]);
                if node > 0 {
                    let angle = tie.is_angle(layout);
                    let worst = if angle { &mut self.gap.ang } else { &mut self.gap.lin };
                    *worst = larger(*worst, value.abs());
                    self.nodes[node - 1].held[first + o] = value;
                }
            }
            self.tie_slopes[node] = slopes;
        }
    }

    /// Adds the impulses of the ties at nodes 0 to s − 1.
    pub(super) fn add_ties(&mut self, layout: &Layout, state: &MaximalState, step: &StepData) {
        let (n, first) = (layout.links.len(), layout.held - layout.ties.len());
        for (o, tie) in layout.ties.iter().enumerate().filter(|(o, _)| !step.tied[*o].is_nan()) {
            for al in 0..self.table.s {
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let lam = self.x.held[al * layout.held + first + o];
                let given = &mut self.given[al * n..(al + 1) * n];
                for (k, part) in tie.parts.iter().enumerate() {
                    let (joint, row) = part.row(layout, side);
                    let slope = self.tie_slopes[al][tie.first + k];
                    add_row(given, &side.arm, joint.a.link, joint.b.link, &row, lam * slope);
                }
            }
        }
    }

    /// Adds springs and dampers of sums of coordinates at all nodes.
    pub(super) fn add_tendons(&mut self, layout: &Layout, state: &MaximalState, h: f64) {
        let (n, s) = (layout.links.len(), self.table.s);
        for tendon in &layout.tendons {
            let mut length = [0.0; super::NODES];
            for (node, length) in length.iter_mut().enumerate().take(s + 1) {
                let at = AtNode { memory: self, layout, state, node, h };
                *length = tendon.parts.iter().map(|(part, a)| a * at.change(part)).sum();
            }
            let at = AtNode { memory: self, layout, state, node: 0, h };
            let start: f64 = tendon.parts.iter().map(|(part, a)| a * at.start(part)).sum();
            for al in 0..=s {
                let spring = -tendon.stiffness * (start + length[al] - tendon.rest) * h;
                let travel: f64 = (1..=s).map(|ga| self.table.b[al][ga] * length[ga]).sum();
                let impulse = self.table.w[al] * (spring - tendon.damping * travel);
                let side = if al == 0 { &state.side } else { &self.nodes[al - 1].side };
                let given = &mut self.given[al * n..(al + 1) * n];
                for (part, a) in &tendon.parts {
                    let (joint, row) = part.row(layout, side);
                    add_row(given, &side.arm, joint.a.link, joint.b.link, &row, a * impulse);
                }
            }
        }
    }
}
