//! A cart with a pole, built in code: bodies, joints, a spring, a motor.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{
    ActuatorDescription, BodyDescription, JointDescription, JointType, MechanismBuilder, PerCoordinate,
};

fn main() -> Result<(), Box<dyn Error>> {
    let mut model = MechanismBuilder::new("cart-pole");
    model.input("motor");
    model.body(BodyDescription {
        name: "cart".into(),
        mass: 1.0,
        inertia: [0.01, 0.01, 0.01, 0.0, 0.0, 0.0],
        ..BodyDescription::default()
    });
    model.body(BodyDescription {
        name: "pole".into(),
        mass: 0.2,
        com: [0.0, 0.0, -0.5],
        inertia: [0.02, 0.02, 1e-4, 0.0, 0.0, 0.0],
        ..BodyDescription::default()
    });
    let mut slide = JointDescription::new("slide", JointType::Prismatic, "world", "cart");
    slide.axis = Some([1.0, 0.0, 0.0]);
    slide.damping = PerCoordinate::One(0.1);
    slide.actuators.push(ActuatorDescription { input: "motor".into(), coordinate: 0, gear: 1.0 });
    model.joint(slide);
    let mut hinge = JointDescription::new("hinge", JointType::Revolute, "cart", "pole");
    hinge.axis = Some([0.0, 1.0, 0.0]);
    model.joint(hinge);

    // Everything that is wrong with a model is reported at once, by name.
    let mechanism = model.build()?;
    let start = mechanism.start_state();
    let mut simulator = Simulator::new(&mechanism, Method::Minimal, &MethodOptions::default(), &start)?;
    for _ in 0..500 {
        simulator.step(&[1.0], 0.002)?;
    }
    let end = simulator.state();
    println!("pushed by 1 N for 1 s: cart at {:.3} m, pole at {:.3} rad", end.q[0], end.q[1]);
    Ok(())
}
