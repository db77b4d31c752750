//! What is stiff for the step stays stable in joint coordinates: springs and long chains.

use leastaction::dynamics::Dynamics;
use leastaction::integrator::Simulator;
use leastaction::integrator::minimal::{Minimal, MinimalOptions, Quadrature};
use leastaction::mechanism::{
    BodyDescription, JointDescription, JointType, Mechanism, MechanismBuilder, ModelDescription,
    PerCoordinate, SpringDescription, State, samples,
};

fn build(model: ModelDescription) -> Mechanism {
    MechanismBuilder::from(model).build().expect("valid")
}

/// One kilogram on a spring.
fn oscillator(stiffness: f64) -> Mechanism {
    let mut model = ModelDescription::new("oscillator");
    model.gravity = [0.0; 3];
    let body = BodyDescription {
        name: "body".into(),
        mass: 1.0,
        inertia: [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
        ..Default::default()
    };
    model.bodies.push(body);
    let spring =
        SpringDescription { stiffness: PerCoordinate::One(stiffness), rest: PerCoordinate::One(0.0) };
    model.joints.push(JointDescription {
        spring: Some(spring),
        ..JointDescription::new("slide", JointType::Prismatic, "world", "body")
    });
    build(model)
}

fn engine(order: u32, quadrature: Quadrature) -> Minimal {
    let options = MinimalOptions { order, quadrature, halve: true, ..MinimalOptions::default() };
    Minimal::new(options).expect("options")
}

/// Largest position of an oscillator in 400 steps from 1 m at rest.
fn amplitude(order: u32, quadrature: Quadrature, phase: f64) -> f64 {
    let h = 0.01;
    let mechanism = oscillator((phase / h).powi(2));
    let start = State { q: vec![1.0], ..mechanism.neutral_state() };
    let mut simulator = Simulator::with(&mechanism, engine(order, quadrature), &start).expect("served");
    (0..400).fold(0.0, |largest: f64, _| {
        simulator.step(&[], h).expect("step");
        largest.max(simulator.state().q[0].abs())
    })
}

/// With a sum at the nodes the amplitude would be 1e54 in 200 steps at order 2.
#[test]
fn an_oscillator_of_any_frequency_keeps_its_amplitude() {
    for order in [2, 4, 6, 8, 10, 12] {
        for phase in [0.5, 1.9, 2.1, 2.9, 3.2, 7.0, 59.0, 1e4] {
            let largest = amplitude(order, Quadrature::Automatic, phase);
            assert!(largest < 1.2, "order {order}, hω = {phase}: {largest:e}");
        }
    }
    assert!(amplitude(2, Quadrature::Nodes, 2.1) > 1e6, "the reason why there is a choice");
}

/// 30,000 N m/rad on links of 1 kg at 5 ms: energies were 8e11 J.
#[test]
fn stiff_springs_in_the_joints_of_a_chain_keep_its_energy() {
    let mut model = samples::chain(8);
    for joint in &mut model.joints {
        let (stiffness, rest) = (PerCoordinate::One(3e4), PerCoordinate::One(0.0));
        joint.spring = Some(SpringDescription { stiffness, rest });
    }
    let mechanism = build(model);
    let mut dynamics = Dynamics::<f64>::new(&mechanism);
    let mut energy = |state: &State| dynamics.observe(&mechanism, &state.q, &state.v).total();
    for order in [2, 4, 6] {
        // 37.5 J in the first spring.
        let mut start = mechanism.neutral_state();
        start.q[0] = 0.05;
        let first = energy(&start);
        let integrator = engine(order, Quadrature::Automatic);
        let mut simulator = Simulator::with(&mechanism, integrator, &start).expect("served");
        let mut worst = 0.0f64;
        for _ in 0..1000 {
            let report = simulator.step(&[], 0.005).expect("step");
            assert_eq!(report.halvings, 0, "order {order}");
            worst = worst.max((energy(simulator.state()) - first).abs());
        }
        println!("stiff chain, order {order}: energy off by {worst:.1e} J");
        assert!(worst < 4.0, "order {order}: {worst} J");
    }
}

#[test]
fn a_mechanism_that_is_not_stiff_is_summed_at_its_nodes() {
    for order in [2, 4, 6] {
        let mechanism = build(samples::chain(32));
        let run = |quadrature| {
            let mut simulator =
                Simulator::with(&mechanism, engine(order, quadrature), &mechanism.start_state())
                    .expect("served");
            for _ in 0..10 {
                simulator.step(&[], 0.005).expect("step");
            }
            simulator.state().clone()
        };
        assert_eq!(run(Quadrature::Automatic), run(Quadrature::Nodes), "order {order}");
        assert_ne!(run(Quadrature::Automatic), run(Quadrature::Gauss), "order {order}");
    }
}
