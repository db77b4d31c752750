//! How easily light links move: at the model's start, by the factors of its tree.
//!
//! A contact's mass is that of its links by themselves, which is near enough where links are alike. A finger tip of a microgram moves
//! with the hand that it is joined to: its own mass would weigh residuals by millions, and the proximal term of (9.12) with them.

use super::super::layout::Layout;
use super::super::ldu::{angular, dot, linear, six};
use super::super::read_out::assemble_node_at;
use super::super::start::{forward_kinematics, normalise};
use super::super::state::MaximalState;
use super::super::ties::{Still, Tie};
use super::super::workspace::MaximalWorkspace;
use crate::mechanism::Mechanism;
use crate::spatial::Vec3;
use leastaction_core::linalg::singular_values;

/// Mass and moment, of the mean mass and the model's length, below which a link is light.
const LIGHT: f64 = 1e-2;
const LIGHT_MOMENT: f64 = 1e-5;

/// Between the largest and the smallest of the directions in which a link can move at all: one that it is free to slide along by itself
/// is not the measure of the others.
fn between(mobility: &[f64; 9]) -> f64 {
    let (values, _) = singular_values(mobility, 3);
    let largest = values.iter().fold(0.0f64, |m, x| m.max(*x));
    let smallest = values.iter().filter(|x| **x > 1e-9 * largest).fold(largest, |m, x| m.min(*x));
    (largest * smallest).sqrt()
}

/// What an impulse moves.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mobility {
    /// Speed of the centre of mass by an impulse there, and rate of turn by an impulse of torque.
    pub(super) shift: f64,
    pub(super) turn: f64,
    /// Rates of the joint's coordinates by impulses along them; where the link is not light none.
    pub(super) rates: Option<[f64; 6]>,
}

/// What impulses on links and along rows over several joints move.
pub(super) struct Mobilities {
    /// Links that are not light by themselves, light ones with what they are joined to.
    pub(super) links: Vec<Mobility>,
    /// Contact masses of the rows over several joints.
    pub(super) ties: Vec<f64>,
}

impl Mobilities {
    pub(super) fn new(mechanism: &Mechanism, layout: &Layout) -> Self {
        let alone = |link: &super::super::layout::Link| Mobility {
            shift: link.inverse_mass,
            turn: link.inverse_inertia.trace() / 3.0,
            rates: None,
        };
        let mut out: Vec<Mobility> = layout.links.iter().map(alone).collect();
        let mean = layout.links.iter().map(|link| link.mass).sum::<f64>() / layout.links.len().max(1) as f64;
        let moment = mean * layout.length * layout.length;
        let is_light = |m: &Mobility| {
            m.shift == 0.0 || m.shift * mean * LIGHT > 1.0 || m.turn * moment * LIGHT_MOMENT > 1.0
        };
        let light: Vec<usize> = (0..out.len()).filter(|i| is_light(&out[*i])).collect();
        if light.is_empty() && layout.ties.is_empty() {
            return Self { links: out, ties: Vec::new() };
        }
        let (nq, nv) = (mechanism.nq(), mechanism.nv());
        let mut tree = layout.clone();
        tree.closures.clear();
        let ties = std::mem::take(&mut tree.ties);
        for &i in &light {
            tree.links[i].joint.rows.has_rows = true;
        }
        let mut ws = MaximalWorkspace::new(tree, (1, 0), nq, nv, false);
        let mut start = MaximalState::new(&ws.layout, (1, 0), nq, nv);
        start.q.copy_from_slice(&mechanism.start_state().q);
        normalise(&ws.layout, &mut start.q);
        forward_kinematics(&ws.layout, &start.q, &mut start.poses);
        start.side.place(&ws.layout, &start.poses);
        let side = &start.side;
        assemble_node_at(&mut ws, side, None);
        let MaximalWorkspace { layout, graph, ldu, system, .. } = &mut ws;
        ldu.factor(layout, graph, side, side);
        for i in light {
            let (mut shift, mut turn, mut rates) = ([0.0; 9], [0.0; 9], [0.0; 6]);
            for k in 0..3 {
                system.rest();
                // A force at the centre of mass, about the joint point.
                let mut push = Vec3::zero();
                push[k] = 1.0;
                let torque = (side.arm[i] * -1.0).cross(push);
                system.body[i] = six(torque, push);
                ldu.solve(layout, graph, side, side, system);
                let w = &system.body[i];
                let moved = linear(w) - angular(w).cross(side.arm[i]);
                shift[3 * k..3 * k + 3].copy_from_slice(&moved.0);
                system.rest();
                system.body[i][k] = 1.0;
                ldu.solve(layout, graph, side, side, system);
                turn[3 * k..3 * k + 3].copy_from_slice(&angular(&system.body[i]).0);
            }
            let (shift, turn) = (between(&shift), between(&turn));
            for (c, rate) in rates.iter_mut().enumerate().take(layout.links[i].joint.kind.nv()) {
                system.rest();
                system.force[layout.links[i].v + c] = 1.0;
                ldu.solve(layout, graph, side, side, system);
                *rate = system.rate[layout.links[i].v + c];
            }
            let measured = shift > 0.0 && turn > 0.0 && shift.is_finite() && turn.is_finite();
            if measured {
                out[i] = Mobility { shift, turn, rates: Some(rates) };
            }
        }
        let at = Still { layout, side, q: &start.q, q_loop: &start.q_loop, t: 0.0 };
        let mass = |tie: &Tie| {
            let mut slopes = vec![0.0; tie.parts.len()];
            tie.measure(0.0, &at, &mut slopes);
            let mut gradient = Vec::new();
            tie.gradient(layout, side, &slopes, |i, g| gradient.push((i, g)));
            system.rest();
            for (i, g) in &gradient {
                (0..6).for_each(|k| system.body[*i][k] += g[k]);
            }
            ldu.solve(layout, graph, side, side, system);
            let rate: f64 = gradient.iter().map(|(i, g)| dot(g, &system.body[*i])).sum();
            if rate > 0.0 && rate.is_finite() { 1.0 / rate } else { layout.max_mass }
        };
        Self { links: out, ties: ties.iter().map(mass).collect() }
    }
}
