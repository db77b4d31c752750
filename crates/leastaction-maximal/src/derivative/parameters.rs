//! What a unit of a parameter of the model changes in a step. (3.61)
//!
//! The variables of the solver are rotations and joint points, so that a change of a link's mass, centre of mass or inertia
//! leaves all joints and closures alone: only the link's own momenta change, and the levers `a` from its centre to its joint
//! point, `∂a = −R ∂c`. With `∂v = (R' − R) ∂c/h` over an interval, about the joint point,
//!
//! ```text
//! ∂row = [R λ(φ, ∂J ω) − ∂a × (m v − P − m g h/2) − a × ∂l; ∂l],   ∂l = ∂m (v − g h/2) + m ∂v
//! ∂P'  = [R' λ'(φ, ∂J ω) + ∂a' × f';  ∂m (v + g h/2) + m ∂v]
//! ```
//!
//! where `f'` is what springs, inputs and drag push at the end. Coefficients of joints change the rows they stand in.

use super::node::{EndNode, StartNode};
use super::stage::{At, Stage, push_pair};
use crate::constraint::{coordinate_columns, coordinate_row};
use crate::coordinate::increments;
use crate::forces::{public_row, unwrapped};
use crate::geometry::{Geometry, Side};
use crate::integrator::StepError;
use crate::layout::{Closure, ClosureKind, Layout, LinkJoint};
use crate::ldu::{Six, angular, linear, six};
use crate::mechanism::{Mechanism, Parameter};
use crate::spatial::{Mat3, Vec3};
use crate::start::full_geometry;

/// A parameter as this engine sees it.
#[derive(Clone, Debug)]
enum Place {
    /// Of the link: changes of mass, centre of mass (link axes) and inertia about it.
    Link { link: usize, mass: f64, com: Vec3, inertia: Mat3 },
    /// Of the joint of a link, or of a loop: a coefficient of some coordinates.
    Joint { index: usize, is_loop: bool, coordinates: std::ops::Range<usize>, kind: Coefficient },
    /// Of a body that never moves.
    Nowhere,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Coefficient {
    Damping,
    Stiffness,
    Friction,
}

/// The parameters of a derivative, and how an end waits for the momentum that leaves it.
#[derive(Clone, Debug, Default)]
pub(super) struct Parameters {
    list: Vec<Place>,
    /// Of the last interval: parameter, link, change of the lever at its end, the link's own share of the momentum.
    open: Vec<(usize, usize, Vec3, Vec3)>,
}

fn refuse(mechanism: &Mechanism, parameter: &Parameter, what: &str) -> StepError {
    StepError::Unsupported {
        integrator: "the derivative of a step of maximal",
        what: format!("parameter `{}` {what}", parameter.name(mechanism)),
        remedy: "leave it out".into(),
    }
}

impl Parameters {
    pub(super) fn new(
        mechanism: &Mechanism,
        layout: &Layout,
        parameters: &[Parameter],
    ) -> Result<Self, StepError> {
        let list: Result<Vec<Place>, StepError> =
            parameters.iter().map(|p| place(mechanism, layout, p)).collect();
        Ok(Self { list: list?, open: Vec::new() })
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Momenta of the rates at the start.
    pub(super) fn fill_start(&self, layout: &Layout, start: &mut StartNode) {
        start.by_parameter.entries.clear();
        for (p, place) in self.list.iter().enumerate() {
            let Place::Link { link: i, mass, com, inertia } = place else { continue };
            let (turn, lin, d_arm) =
                momentum_slope(layout, &start.node.side, &start.node.w[*i], *i, *mass, *com, inertia);
            let own = own_momentum(layout, &start.node.side, &start.node.w[*i], *i);
            let armature = linear(&start.momentum[*i]) - own;
            start.by_parameter.entries.push((*i, p, six(turn + d_arm.cross(armature), lin)));
        }
    }

    /// Rows of the read-out at the end.
    pub(super) fn fill_end(&self, layout: &Layout, momentum: &[Six], end: &mut EndNode) {
        end.by_parameter.entries.clear();
        for (p, place) in self.list.iter().enumerate() {
            let Place::Link { link: i, mass, com, inertia } = place else { continue };
            let side = &end.node.side;
            let (turn, lin, d_arm) = momentum_slope(layout, side, &end.node.w[*i], *i, *mass, *com, inertia);
            let push = own_momentum(layout, side, &end.node.w[*i], *i) - linear(&momentum[*i]);
            let ang = turn - d_arm.cross(push) - side.arm[*i].cross(lin);
            end.by_parameter.entries.push((*i, p, six(ang, lin)));
        }
    }

    /// An interval, all but the share of forces in the momenta that leave it.
    pub(super) fn fill_stage(&mut self, layout: &Layout, at: &At<'_>, stage: &mut Stage) {
        stage.rows_by_parameter.entries.clear();
        stage.out_by_parameter.entries.clear();
        self.open.clear();
        for (p, place) in self.list.iter().enumerate() {
            match place {
                Place::Link { link: i, mass, com, inertia } => {
                    let (h, m) = (at.step.h, layout.links[*i].mass);
                    let (omega, v) = (angular(&at.w[*i]), linear(&at.w[*i]));
                    let (rot, rot_end) = (stage.start.rot[*i], stage.end.rot[*i]);
                    let (leaving, arriving) = at.map.momenta(omega.scale(0.5 * h), *inertia * omega);
                    let (d_arm, d_arm_end) = (-(rot * *com), -(rot_end * *com));
                    let weight = layout.gravity.scale(0.5 * h);
                    let dv = (d_arm - d_arm_end).scale(m / h);
                    let lin = v.scale(m) - linear(&at.momentum[*i]) - weight.scale(m);
                    let d_lin = (v - weight).scale(*mass) + dv;
                    let ang = rot * leaving - d_arm.cross(lin) - stage.start.arm[*i].cross(d_lin);
                    stage.rows_by_parameter.entries.push((*i, p, six(ang, d_lin)));
                    let out = six(rot_end * arriving, (v + weight).scale(*mass) + dv);
                    stage.out_by_parameter.entries.push((*i, p, out));
                    self.open.push((p, *i, d_arm_end, (v + weight).scale(m)));
                }
                Place::Joint { index, is_loop, coordinates, kind } => {
                    let joint = if *is_loop { &layout.loops[*index] } else { &layout.links[*index].joint };
                    let law = JointLaw { joint, index: *index, is_loop: *is_loop, kind: *kind, parameter: p };
                    law.fill(layout, at, stage, coordinates.clone());
                }
                Place::Nowhere => {}
            }
        }
    }

    /// Completes the last interval with the momenta that left it.
    pub(super) fn close_stage(&mut self, momentum: &[Six], stage: &mut Stage) {
        for (p, i, d_arm, own) in self.open.drain(..) {
            let force = linear(&momentum[i]) - own;
            stage.out_by_parameter.entries.push((i, p, six(d_arm.cross(force), Vec3::zero())));
        }
    }
}

/// Where a parameter is in the layout.
fn place(mechanism: &Mechanism, layout: &Layout, parameter: &Parameter) -> Result<Place, StepError> {
    let no = |what: &str| Err(refuse(mechanism, parameter, what));
    if let Some((body, inertia)) = parameter.inertia(mechanism) {
        let at = layout.bodies[body.index()];
        let Some(link) = at.link else { return Ok(Place::Nowhere) };
        if let Parameter::Com(..) = parameter {
            if mechanism.body(body).drag > 0.0 {
                return no("of a body with drag");
            }
            if mechanism.constraints().iter().any(|c| c.body == body) {
                return no("of a body that rolls");
            }
        }
        let change = inertia.transformed(&at.pose);
        let mass = layout.links[link].mass;
        if mass == 0.0 && change.moment != Vec3::zero() {
            return no("of a body without mass");
        }
        // The frame of a link is at its centre of mass: there ∂(m c) = m ∂c, and the inertia about it changes like that about
        // the origin.
        let com = if mass == 0.0 { Vec3::zero() } else { change.moment.scale(1.0 / mass) };
        return Ok(Place::Link { link, mass: change.mass, com, inertia: change.rot.to_matrix() });
    }
    let Some((id, coordinates)) = parameter.coordinates(mechanism) else { return Ok(Place::Nowhere) };
    let kind = match parameter {
        Parameter::Damping(..) => Coefficient::Damping,
        Parameter::Stiffness(..) => Coefficient::Stiffness,
        _ => Coefficient::Friction,
    };
    if kind == Coefficient::Friction && mechanism.joint(id).friction[coordinates.start] == 0.0 {
        return no("where there is none: its sign is not known");
    }
    if let Some(index) = layout.links.iter().position(|link| link.joint.joint == id.index()) {
        return Ok(Place::Joint { index, is_loop: false, coordinates, kind });
    }
    let Some(index) = layout.loops.iter().position(|joint| joint.joint == id.index()) else {
        return Ok(Place::Nowhere);
    };
    let joint = &layout.loops[index];
    let none = |list: &[f64; 6]| coordinates.clone().any(|c| list[c] == 0.0);
    if none(&joint.rows.damping) && kind == Coefficient::Damping && none(&joint.rows.armature) {
        return no("of a joint that closes a loop and has none");
    }
    if kind == Coefficient::Stiffness && none(&joint.rows.stiffness) {
        return no("of a joint that closes a loop and has none");
    }
    Ok(Place::Joint { index, is_loop: true, coordinates, kind })
}

/// `m (v − Ω × a)`: momentum of a link at a node.
fn own_momentum(layout: &Layout, side: &Side, w: &Six, i: usize) -> Vec3 {
    (linear(w) - angular(w).cross(side.arm[i])).scale(layout.links[i].mass)
}

/// Slopes of a link's momentum at a node about its centre of mass, and of its lever.
fn momentum_slope(
    layout: &Layout,
    side: &Side,
    w: &Six,
    i: usize,
    mass: f64,
    com: Vec3,
    inertia: &Mat3,
) -> (Vec3, Vec3, Vec3) {
    let rot = side.rot[i];
    let d_arm = -(rot * com);
    let turn = rot * (*inertia * rot.tr_mul(angular(w)));
    let speed = linear(w) - angular(w).cross(side.arm[i]);
    (turn, speed.scale(mass) - angular(w).cross(d_arm).scale(layout.links[i].mass), d_arm)
}

/// A coefficient of one joint.
struct JointLaw<'a> {
    joint: &'a LinkJoint,
    index: usize,
    is_loop: bool,
    kind: Coefficient,
    parameter: usize,
}

impl JointLaw<'_> {
    fn fill(&self, layout: &Layout, at: &At<'_>, stage: &mut Stage, coordinates: std::ops::Range<usize>) {
        let (joint, i, h) = (self.joint, self.index, at.step.h);
        let geometry = |side: &Side| {
            if self.is_loop { side.loops[i] } else { full_geometry(layout, side, i) }
        };
        let (g, g_end) = (geometry(&stage.start), geometry(&stage.end));
        let link_v = if self.is_loop { 0 } else { layout.links[i].v };
        if self.kind == Coefficient::Friction {
            let c = coordinates.start;
            let force = at.step.friction[link_v + c];
            if force != 0.0 {
                self.kicks(stage, (&g, &g_end), c, [force.signum(); 2], h);
            }
            return;
        }
        let mut dy = [0.0; 6];
        increments(joint.kind, &g, &g_end, &mut dy);
        let near = self.near(layout, at);
        let (mut y, mut y_end) = ([0.0; 7], [0.0; 7]);
        let nq = joint.kind.nq();
        unwrapped(joint.kind, &g, near, &mut y[..nq]);
        unwrapped(joint.kind, &g_end, near, &mut y_end[..nq]);
        let implicit = |c: usize| {
            if self.is_loop { c < 3 && at.step.implicit_loop[i][c] } else { at.step.implicit[link_v + c] }
        };
        if self.kind == Coefficient::Damping {
            for c in coordinates {
                self.row(layout, at, stage, (&g, &g_end), c, 0.5 * dy[c], -0.5 * dy[c], dy[c], 0.5);
            }
            return;
        }
        let (mut f, mut f_end) = ([0.0; 6], [0.0; 6]);
        let mut unit = [0.0; 6];
        coordinates.clone().for_each(|c| unit[c] = 1.0);
        let nv = joint.kind.nv();
        let rest = &joint.rows.rest[..nv];
        joint.kind.add_spring_force(&unit[..nv], rest, &y[..nq], &mut f[..nv]);
        joint.kind.add_spring_force(&unit[..nv], rest, &y_end[..nq], &mut f_end[..nv]);
        for c in coordinates {
            if implicit(c) {
                // s = f0 − α dy, e = f0 + β dy with ∂f0 = (h/2) f, ∂α = −∂β = h/4.
                let (f0, part) = (0.5 * h * f[c], 0.25 * h * dy[c]);
                self.row(
                    layout,
                    at,
                    stage,
                    (&g, &g_end),
                    c,
                    part - f0,
                    f0 - part,
                    dy[c] - f0 / (0.25 * h),
                    0.25 * h,
                );
            } else {
                self.kicks(stage, (&g, &g_end), c, [f[c], f_end[c]], h);
            }
        }
    }

    fn near<'b>(&self, layout: &Layout, at: &'b At<'_>) -> &'b [f64] {
        if self.is_loop {
            return &at.q_loop[self.index];
        }
        let link = &layout.links[self.index];
        &at.q[link.q..link.q + link.joint.kind.nq()]
    }

    /// Half a kick of a force at both ends.
    fn kicks(
        &self,
        stage: &mut Stage,
        (g, g_end): (&Geometry, &Geometry),
        c: usize,
        [start, end]: [f64; 2],
        h: f64,
    ) {
        let (joint, p) = (self.joint, self.parameter);
        let row = public_row(joint.kind, g, c);
        push_pair(&mut stage.rows_by_parameter, p, joint, &row, -0.5 * h * start, None);
        let row = public_row(joint.kind, g_end, c);
        push_pair(&mut stage.out_by_parameter, p, joint, &row, 0.5 * h * end, Some(&stage.end.arm));
    }

    /// An impulse law: what changes in the force row and at the end. Of a loop, whose row is divided by `α`, `by_alpha · scaled`
    /// stands for the first.
    fn row(
        &self,
        layout: &Layout,
        at: &At<'_>,
        stage: &mut Stage,
        (g, g_end): (&Geometry, &Geometry),
        c: usize,
        force: f64,
        end: f64,
        scaled: f64,
        by_alpha: f64,
    ) {
        let (joint, i, p, n) = (self.joint, self.index, self.parameter, layout.links.len());
        let row = coordinate_row(joint.kind, g_end, c);
        push_pair(&mut stage.out_by_parameter, p, joint, &row, end, Some(&stage.end.arm));
        let mut change = [0.0; 6];
        if self.is_loop {
            let mut own = layout.closures.iter();
            let is_own = |c: &Closure| matches!(c.kind, ClosureKind::Coordinates) && c.index == i;
            let Some(closure) = own.position(is_own) else { return };
            let alpha = at.step.law_loop[i][c].alpha;
            if alpha > 0.0 {
                change[c] = by_alpha * scaled / (alpha * at.step.h);
                stage.rows_by_parameter.entries.push((2 * n + closure, p, change));
            }
            return;
        }
        if joint.is_plain_ball() {
            // Its rows are along the axes of the world.
            let mut columns = [[0.0; 6]; 6];
            coordinate_columns(joint.kind, g, g.hinge_axis(), &mut columns);
            (0..3).for_each(|k| change[k] = force * columns[c][k]);
        } else {
            change[c] = force;
        }
        stage.rows_by_parameter.entries.push((n + i, p, change));
    }
}
