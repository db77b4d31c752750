//! Constraint forces are those of statics, of inverse dynamics in the limit, and the least ones where they are not unique.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::maximal::{Composition, Maximal, MaximalState, MaximalWorkspace};
use leastaction::integrator::{Input, Integrator, JointForce};
use leastaction::mechanism::samples::{START, chain, four_bar};
use leastaction::mechanism::{Coordinates, JointType, Mechanism, MechanismBuilder, ModelDescription, State};
use leastaction::spatial::Vec3;

use crate::support::{random_state, worst};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

struct Run<'m> {
    engine: Maximal,
    mechanism: &'m Mechanism,
    ws: MaximalWorkspace,
    state: MaximalState,
}

impl<'m> Run<'m> {
    fn new(engine: Maximal, mechanism: &'m Mechanism, start: &State) -> Self {
        let mut ws = engine.workspace(mechanism).expect("served");
        let state = engine.start(mechanism, &mut ws, start).expect("consistent");
        Self { engine, mechanism, ws, state }
    }

    fn step(&mut self, h: f64) -> Vec<JointForce> {
        self.engine.step(self.mechanism, &mut self.ws, &mut self.state, Input { u: &[] }, h).expect("step");
        self.ws.joint_forces()
    }
}

/// Every joint of a hanging chain bears the weight below it, from the first step on.
#[test]
fn a_hanging_chain_bears_its_weight() {
    let mut model = chain(5);
    model.states.get_mut(START).expect("has a start").q.insert("joint0".into(), Coordinates::One(0.0));
    let mechanism = build(model);
    for composition in [Composition::Plain, Composition::Suzuki] {
        let engine = Maximal { composition, ..Maximal::default() };
        let mut run = Run::new(engine, &mechanism, &mechanism.start_state());
        for step in 0..5 {
            for (i, force) in run.step(0.01).iter().enumerate() {
                let weight = 9.81 * (5 - i) as f64;
                let [tx, ty, tz, fx, fy, fz] = force.wrench;
                let size = Vec3([fx, fy, fz]).norm();
                assert!((size - weight).abs() < 1e-9, "step {step}, joint {i}: {size} {weight}");
                assert!(Vec3([tx, ty, tz]).norm() < 1e-9 && fz.abs() < 1e-9 && !force.redundant);
            }
        }
    }
}

/// The same chain with floating joints that move as the hinges do: inverse dynamics then gives whole wrenches.
fn wrenches(mechanism: &Mechanism, floating: &Mechanism, state: &State) -> Vec<f64> {
    let n = mechanism.nv();
    let mut a = vec![0.0; n];
    Dynamics::new(mechanism).forward_dynamics_into(mechanism, &state.q, &state.v, &vec![0.0; n], &mut a);
    let (mut q, mut v, mut acceleration) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let (s, c) = (0.5 * state.q[i]).sin_cos();
        q.extend([c, s, 0.0, 0.0, 0.0, 0.0, 0.0]);
        v.extend([state.v[i], 0.0, 0.0, 0.0, 0.0, 0.0]);
        acceleration.extend([a[i], 0.0, 0.0, 0.0, 0.0, 0.0]);
    }
    let mut tau = vec![0.0; 6 * n];
    Dynamics::new(floating).inverse_dynamics_into(floating, &q, &v, &acceleration, &mut tau);
    // The axis is x; the triad of x is (y, z, x).
    tau.chunks(6).flat_map(|t| [t[1], t[2], 0.0, t[4], t[5], t[3]]).collect()
}

#[test]
fn forces_of_a_tree_tend_to_those_of_inverse_dynamics_at_second_order() {
    let mechanism = build(chain(4));
    let mut model = chain(4);
    for joint in &mut model.joints {
        joint.kind = JointType::Floating;
        joint.axis = None;
    }
    model.states.clear();
    let floating = build(model);
    let mut start = mechanism.start_state();
    (start.q, start.v) = random_state(&mechanism, 3);
    let errors = [0.004, 0.002, 0.001].map(|h| {
        let mut run = Run::new(Maximal::default(), &mechanism, &start);
        for _ in 0..(0.1f64 / h).round() as u32 {
            run.step(h);
        }
        let mut here = start.clone();
        run.engine.read_out(&mechanism, &mut run.ws, &run.state, &mut here);
        let forces: Vec<f64> = run.step(h).iter().flat_map(|f| f.wrench).collect();
        worst(&forces, &wrenches(&mechanism, &floating, &here))
    });
    println!("forces against inverse dynamics: {errors:?}");
    for pair in errors.windows(2) {
        assert!((pair[0] / pair[1]).log2() > 1.9, "{errors:?}");
    }
    assert!(errors[2] < 1e-4, "{errors:?}");
}

/// Gravity along the hinges loads a planar loop of four revolutes out of its plane, where it is three times redundant: the
/// forces balance the weight, and are orthogonal to the three self-stresses.
#[test]
fn a_redundant_loop_at_rest_has_the_least_forces() {
    let mut model = four_bar();
    model.gravity = [9.81, 0.0, 0.0];
    let mechanism = build(model);
    let mut run = Run::new(Maximal::default(), &mechanism, &mechanism.start_state());
    let poses = run.ws.body_poses(&run.state);
    let forces = run.step(0.01);
    let names = run.engine.force_names(&mechanism).expect("served");
    assert_eq!(names, ["crank_pivot", "rocker_pivot", "crank_coupler", "closure"]);
    assert!(forces.iter().all(|f| f.redundant));
    // World wrenches on the children, with the joints' origins.
    let world: Vec<(Vec3, Vec3, Vec3)> = names
        .iter()
        .zip(&forces)
        .map(|(name, f)| {
            let joint = mechanism.joint(mechanism.joint_by_name(name).expect("named"));
            let frame = poses[joint.child.index()] * joint.child_frame;
            let [a, b, c, d, e, g] = f.wrench;
            (frame.pos, frame.rot * Vec3([a, b, c]), frame.rot * Vec3([d, e, g]))
        })
        .collect();
    // The ground bears the weight of the three rods.
    let weight = world[0].2[0] + world[1].2[0];
    assert!((weight + 9.81 * 3.0).abs() < 1e-9, "{weight}");
    // The rocker balances: its pivot, the coupler through the closing joint, its weight at its middle.
    let rocker = poses[mechanism.body_by_name("rocker").expect("named").index()];
    let centre = rocker.point(Vec3([0.0, 0.0, -0.45]));
    let push = world[1].2 + world[3].2 + Vec3([9.81, 0.0, 0.0]);
    let turn = world[1].1
        + world[3].1
        + (world[1].0 - centre).cross(world[1].2)
        + (world[3].0 - centre).cross(world[3].2);
    assert!(push.norm() < 1e-9 && turn.norm() < 1e-9, "{push:?} {turn:?}");
    // A wrench that goes round the loop: crank pivot, crank and coupler, closing joint, and back through the rocker's pivot.
    let round = [1.0, -1.0, 1.0, 1.0];
    for (force, torque) in [
        (Vec3([1.0, 0.0, 0.0]), Vec3::zero()),
        (Vec3::zero(), Vec3([0.0, 1.0, 0.0])),
        (Vec3::zero(), Vec3([0.0, 0.0, 1.0])),
    ] {
        let part: f64 = world
            .iter()
            .zip(round)
            .map(|((at, tau, f), s)| s * (f.dot(force) + tau.dot(torque + force.cross(*at))))
            .sum();
        assert!(part.abs() < 1e-9, "{part:e} along a self-stress");
    }
}

/// The loop of the planar problem: nothing acts out of the plane, so the least forces have no part there.
#[test]
fn a_moving_redundant_loop_has_no_force_out_of_its_plane() {
    let mechanism = build(four_bar());
    let mut run = Run::new(Maximal::default(), &mechanism, &mechanism.start_state());
    for _ in 0..100 {
        for force in run.step(0.01) {
            let [tx, ty, tz, _, _, fz] = force.wrench;
            assert!(tx.abs() + ty.abs() + tz.abs() + fz.abs() < 1e-8, "{:?}", force.wrench);
        }
    }
}
