//! Scenes of the experiments with contact.

use leastaction::contact::ContactSettings;
use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{
    BodyDescription, Coordinates, HalfSpaceDescription, JointDescription, JointType, LimitsDescription,
    Mechanism, ModelDescription, PerCoordinate, StateDescription, SurfaceDescription, SurfaceShape, WORLD,
    samples,
};

use super::measure::{build, stopped};
use leastaction_study::failure::Failure;

pub(super) const GRAVITY: f64 = 9.81;

/// A scene under construction: ground, bodies with a shape, where they start.
pub(super) struct Stage {
    model: ModelDescription,
    start: StateDescription,
}

impl Stage {
    /// Ground that rises by `angle` towards negative x.
    pub(super) fn new(name: &str, angle: f64) -> Self {
        let mut model = ModelDescription::new(name);
        model.half_spaces.push(HalfSpaceDescription {
            normal: [angle.sin(), 0.0, angle.cos()],
            friction: 0.0,
            ..HalfSpaceDescription::ground()
        });
        Self { model, start: StateDescription::default() }
    }

    /// A free body of uniform density; velocities in its own axes.
    pub(super) fn free(
        &mut self,
        name: &str,
        mass: f64,
        shape: SurfaceShape,
        (friction, restitution): (f64, f64),
        pose: ([f64; 4], [f64; 3]),
        v: [f64; 6],
    ) {
        let moments = match &shape {
            SurfaceShape::Box { size: [x, y, z] } => {
                [y * y + z * z, x * x + z * z, x * x + y * y].map(|s| mass / 12.0 * s)
            }
            SurfaceShape::Sphere { radius } => [0.4 * mass * radius * radius; 3],
            _ => [mass; 3],
        };
        self.model.bodies.push(BodyDescription {
            name: name.into(),
            mass,
            inertia: [moments[0], moments[1], moments[2], 0.0, 0.0, 0.0],
            ..Default::default()
        });
        let mut surface = SurfaceDescription::new(name, shape);
        (surface.friction, surface.restitution) = (friction, restitution);
        self.model.surfaces.push(surface);
        let joint = format!("{name}_free");
        self.model.joints.push(JointDescription::new(joint.as_str(), JointType::Floating, WORLD, name));
        let at: Vec<f64> = pose.0.iter().chain(&pose.1).copied().collect();
        self.start.q.insert(joint.clone(), Coordinates::from(at.as_slice()));
        self.start.v.insert(joint, Coordinates::from(v.as_slice()));
    }

    pub(super) fn build(mut self) -> Result<Mechanism, Failure> {
        self.model.states.insert(samples::START.into(), self.start);
        build(self.model)
    }
}

pub(super) const UPRIGHT: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

pub(super) fn about_y(angle: f64) -> [f64; 4] {
    [(0.5 * angle).cos(), 0.0, (0.5 * angle).sin(), 0.0]
}

/// A ball of 0.1 m and 1 kg.
pub(super) fn ball(
    angle: f64,
    friction: f64,
    restitution: f64,
    x: [f64; 3],
    v: [f64; 6],
) -> Result<Mechanism, Failure> {
    let mut stage = Stage::new("ball", angle);
    stage.free("ball", 1.0, SurfaceShape::Sphere { radius: 0.1 }, (friction, restitution), (UPRIGHT, x), v);
    stage.build()
}

/// A box of 0.4 x 0.3 x 0.2 m and 2 kg that lies on a slope.
pub(super) fn block(angle: f64, friction: f64, v: [f64; 6]) -> Result<Mechanism, Failure> {
    let mut stage = Stage::new("block", angle);
    let pose = (about_y(angle), [0.1 * angle.sin(), 0.0, 0.1 * angle.cos()]);
    stage.free("block", 2.0, SurfaceShape::Box { size: [0.4, 0.3, 0.2] }, (friction, 0.0), pose, v);
    stage.build()
}

/// A rod on a hinge that meets a limit; the ground is far below.
pub(super) fn pendulum(limit: f64, restitution: f64, angle: f64) -> Result<Mechanism, Failure> {
    let mut stage = Stage::new("pendulum", 0.0);
    stage.model.half_spaces[0].offset = -10.0;
    stage.model.bodies.push(BodyDescription {
        name: "rod".into(),
        mass: 1.0,
        com: [0.0, 0.0, -0.5],
        inertia: [1.0 / 12.0, 1.0 / 12.0, 1e-3, 0.0, 0.0, 0.0],
        ..Default::default()
    });
    stage.model.surfaces.push(SurfaceDescription::new("rod", SurfaceShape::Sphere { radius: 0.02 }));
    let mut hinge = JointDescription::new("hinge", JointType::Revolute, WORLD, "rod");
    hinge.axis = Some([0.0, 1.0, 0.0]);
    hinge.limits = Some(LimitsDescription {
        lower: Some(PerCoordinate::One(limit)),
        restitution: (restitution > 0.0).then_some(restitution),
        ..LimitsDescription::default()
    });
    stage.model.joints.push(hinge);
    stage.start.q.insert("hinge".into(), Coordinates::One(angle));
    stage.build()
}

/// A run of poses with contact settings.
pub(super) fn simulator(
    mechanism: &Mechanism,
    contact: ContactSettings,
) -> Result<Simulator<&Mechanism>, Failure> {
    let mut options = MethodOptions::default();
    options.maximal.contact = contact;
    Simulator::new(mechanism, Method::Maximal, &options, &mechanism.start_state())
        .map_err(|error| stopped(mechanism.name(), &error))
}

/// Takes steps; the state is then in the simulator.
pub(super) fn run(simulator: &mut Simulator<&Mechanism>, h: f64, steps: usize) -> Result<(), Failure> {
    let u = vec![0.0; simulator.mechanism().nu()];
    for _ in 0..steps {
        simulator.step(&u, h).map_err(|error| stopped("a step with contact", &error))?;
    }
    Ok(())
}
