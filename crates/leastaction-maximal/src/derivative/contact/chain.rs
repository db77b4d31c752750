//! What a step with contact has beyond start, interval and end node: the first stage of an impact.

use super::super::node::{EndNode, StartNode};
use super::pose_product::RelaxedLink;
use super::switches::Switches;
use crate::graph::Graph;
use crate::layout::Layout;
use crate::ldu::{Six, System};

/// The first stage of the node problem at an impact, and what was met on the way.
#[derive(Clone, Debug)]
pub(crate) struct Touching {
    /// True if the step has a new contact: its node problem then has two stages. (9.22)
    pub(super) landed: bool,
    /// Node problems solved so far.
    pub(super) nodes: u32,
    /// The completed half step, and the momenta of its velocities that the second stage starts from.
    pub(super) landing: EndNode,
    pub(super) kick: StartNode,
    pub(super) switches: Switches,
    /// True where the node is that of the relaxed step.
    pub(super) relaxed: bool,
    /// Links at the end of the relaxed step.
    pub(super) end: Vec<RelaxedLink>,
    /// Position coordinates at the end.
    pub(super) q: Vec<f64>,
    dv: Vec<f64>,
}

impl Touching {
    pub(in super::super) fn new(layout: &Layout, graph: &Graph, nv: usize) -> Self {
        Self {
            landed: false,
            nodes: 0,
            landing: EndNode::new(layout, graph, nv),
            kick: StartNode::new(layout, nv),
            switches: Switches::default(),
            relaxed: false,
            end: Vec::new(),
            q: Vec::new(),
            dv: vec![0.0; nv],
        }
    }

    /// Momenta after the first stage in place of those before it.
    pub(in super::super) fn forward(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        z: &[Six],
        momentum: &mut [Six],
        start: (&[Six], &[f64], &[f64]),
        parameters: &[f64],
        system: &mut System,
    ) {
        if !self.landed {
            return;
        }
        self.landing.forward(layout, graph, z, momentum, start, parameters, system, &mut self.dv);
        self.kick.w.copy_from_slice(&system.body);
        self.kick.momenta(layout, z, &self.dv, momentum);
    }

    /// Transpose of [`forward`](Self::forward): `momentum` is replaced, `z` and `start` are added to.
    pub(in super::super) fn adjoint(
        &mut self,
        layout: &Layout,
        graph: &Graph,
        system: &mut System,
        z: &mut [Six],
        momentum: &mut [Six],
        start: (&mut [Six], &mut [f64], &mut [f64]),
        parameters: &mut [f64],
    ) {
        if !self.landed {
            return;
        }
        self.kick.w.fill([0.0; 6]);
        self.dv.fill(0.0);
        self.kick.momenta_transposed(layout, momentum, z, &mut self.dv);
        system.body.copy_from_slice(&self.kick.w);
        self.landing.adjoint(layout, graph, &self.dv, system, z, momentum, start, parameters);
    }
}
