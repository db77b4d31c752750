//! Contact of robots: standing on servos, joints that follow others, tendons, light links, feet that come down at an angle.

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::io::mjcf::{MjcfOptions, read_mjcf};
use leastaction::io::{LoadOptions, load_model};
use leastaction::mechanism::{Mechanism, State};
use std::path::Path;

fn mjcf(text: &str) -> Mechanism {
    let text = format!("<mujoco><compiler angle='radian'/>{text}</mujoco>");
    read_mjcf(&text, Path::new("model.xml"), &MjcfOptions::default()).build().expect("a mechanism")
}

fn start<'a>(mechanism: &'a Mechanism, state: &State) -> Simulator<&'a Mechanism> {
    Simulator::new(mechanism, Method::Maximal, &MethodOptions::default(), state).expect("a start")
}

/// Way that touching points slipped in the steps that follow.
fn slipped(simulator: &mut Simulator<&Mechanism>, u: &[f64], h: f64, steps: usize) -> f64 {
    let (mut forces, mut way) = (Vec::new(), 0.0);
    for _ in 0..steps {
        simulator.step(u, h).expect("a step");
        simulator.contact_forces(&mut forces);
        way += h * forces.iter().map(|f| f.slip).fold(0.0, f64::max);
    }
    way
}

#[test]
fn a_quadruped_stands_on_its_servos_and_its_feet_do_not_slip() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/quadruped.xml");
    let text = std::fs::read_to_string(path).expect("a model of the project");
    let mechanism =
        read_mjcf(&text, Path::new("quadruped.xml"), &MjcfOptions::default()).build().expect("a mechanism");
    let u: Vec<f64> = [0.0, 0.8, -1.6].repeat(4);
    let mut simulator = start(&mechanism, &mechanism.states()["stand"]);
    slipped(&mut simulator, &u, 0.005, 400);
    let before = simulator.state().clone();
    let way = slipped(&mut simulator, &u, 0.005, 1600);
    assert!(way <= 1e-9, "the feet slip by {way} m in eight seconds");
    let moved = simulator.state().q.iter().zip(&before.q).fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
    assert!(moved < 1e-11, "{moved}");
    let mut forces = Vec::new();
    simulator.contact_forces(&mut forces);
    let (mut up, weight) = (0.0, 9.81 * mechanism.bodies().iter().map(|b| b.inertia.mass).sum::<f64>());
    forces.iter().for_each(|f| up += f.force[2]);
    assert!((up - weight).abs() < 1e-9 * weight, "{up} N carry {weight} N");
}

const FLOOR: &str = "<geom type='plane' size='0 0 1' friction='0.8'/>";

/// Two weights on vertical slides; only the first can touch the floor.
fn two_weights(between: &str) -> Mechanism {
    mjcf(&format!(
        "<worldbody>{FLOOR}
           <body name='a' pos='0 0 0.5'><joint name='a' type='slide' axis='0 0 1'/><geom size='0.1' mass='1'/></body>
           <body name='b' pos='1 0 0.5'><joint name='b' type='slide' axis='0 0 1'/>
             <geom size='0.1' mass='3' contype='0' conaffinity='0'/></body>
         </worldbody>{between}"
    ))
}

#[test]
fn what_follows_a_body_that_lands_is_stopped_with_it() {
    let mechanism = two_weights("<equality><joint joint1='b' joint2='a' polycoef='0 0.5 0 0 0'/></equality>");
    let mut simulator = start(&mechanism, &mechanism.start_state());
    for _ in 0..200 {
        simulator.step(&[], 0.005).expect("a step");
        let q = &simulator.state().q;
        assert!((q[1] - 0.5 * q[0]).abs() < 1e-13, "{q:?}");
        assert!(q[0] >= -0.4 - 1e-9, "{q:?}");
    }
    assert!((simulator.state().q[0] + 0.4).abs() < 1e-12);
    let mut forces = Vec::new();
    simulator.contact_forces(&mut forces);
    // The follower's weight acts by its lever.
    assert!((forces[0].force[2] - 9.81 * (1.0 + 0.5 * 3.0)).abs() < 1e-9, "{:?}", forces[0].force);
}

#[test]
fn a_tendon_that_is_taut_hangs_on_a_body_that_stands() {
    let mechanism = two_weights(
        "<tendon><fixed name='cord' limited='true' range='-0.7 1'><joint joint='a' coef='1'/>
           <joint joint='b' coef='1'/></fixed></tendon>",
    );
    let mut simulator = start(&mechanism, &mechanism.start_state());
    for _ in 0..300 {
        simulator.step(&[], 0.005).expect("a step");
        let q = &simulator.state().q;
        assert!(q[0] + q[1] >= -0.7 - 1e-9 && q[0] >= -0.4 - 1e-9, "{q:?}");
    }
    // The heavier one pulls the lighter one up from the floor until the other is as low as the cord lets it.
    let q = &simulator.state().q;
    assert!((q[0] + q[1] + 0.7).abs() < 1e-9, "{q:?}");
}

#[test]
fn a_tip_without_weight_lands_with_the_arm_it_is_on() {
    let mechanism = mjcf(&format!(
        "<worldbody>{FLOOR}<body name='arm' pos='0 0 0.4'><joint name='arm' axis='0 1 0'/>
           <geom type='capsule' fromto='0 0 0 0.5 0 0' size='0.02' mass='2'/>
           <body name='tip' pos='0.5 0 0'><joint name='tip' type='slide' axis='1 0 0' range='-0.01 0.01' limited='true'/>
             <inertial pos='0 0 0' mass='1e-8' diaginertia='1e-14 1e-14 1e-14'/><geom size='0.03'/></body>
         </body></worldbody>"
    ));
    let mut simulator = start(&mechanism, &mechanism.start_state());
    for _ in 0..200 {
        let report = simulator.step(&[], 0.005).expect("a step");
        assert!(report.splits == 0);
    }
    let rate = simulator.state().v[0];
    assert!(rate.abs() < 1e-9, "{rate}");
}

#[test]
fn a_foot_that_comes_down_at_a_small_angle_lands_within_one_step() {
    for tilt in [1e-7, 6e-6, 1e-4, 1e-3] {
        let mechanism = mjcf(&format!(
            "<worldbody>{FLOOR}<body name='body' pos='0 0 1.061'><freejoint/><geom size='0.1' mass='40' contype='0' conaffinity='0'/>
               <body name='foot' pos='0 0 -1'><joint name='ankle' axis='0 1 0'/>
                 <geom type='box' pos='0.05 0 -0.03' size='0.12 0.05 0.03' mass='1' friction='1'/></body>
             </body></worldbody><keyframe><key name='k' qpos='0 0 1.061 1 0 0 0 {tilt}'/></keyframe>"
        ));
        let mut simulator = start(&mechanism, &mechanism.states()["k"]);
        for _ in 0..20 {
            let report = simulator.step(&[], 0.005).expect("a step");
            assert!(report.splits == 0, "tilt {tilt}");
        }
    }
}

/// Nothing stops in the scenes that come with the project.
#[test]
fn every_scene_of_the_models_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut scenes = 0;
    for entry in std::fs::read_dir(folder).expect("models") {
        let path = entry.expect("a model").path();
        if path.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let mut reading = load_model(&path, &LoadOptions::default()).expect("a readable model");
        let mechanism = reading.build().expect("a mechanism");
        if mechanism.contacts().is_empty() {
            continue;
        }
        scenes += 1;
        let mut simulator = start(&mechanism, &mechanism.start_state());
        let u = vec![0.0; mechanism.nu()];
        for step in 0..120 {
            if let Err(error) = simulator.step(&u, 0.005) {
                panic!("{}, step {step}: {error}", path.display());
            }
        }
    }
    assert!(scenes >= 9, "only {scenes} models have surfaces");
}
