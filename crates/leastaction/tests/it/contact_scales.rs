//! Every contact scene of the models at another size, density and place gives the scaled motion: lengths, speeds and impulses of the
//! contact solver come from the model.

#![expect(clippy::print_stdout, reason = "deviations are worth reading")]

use leastaction::integrator::maximal::Maximal;
use leastaction::integrator::{Input, Integrator};
use leastaction::io::{LoadOptions, load_model};
use leastaction::mechanism::{
    Coordinates, JointType, Mechanism, MechanismBuilder, ModelDescription, PerCoordinate, SurfaceShape, WORLD,
};
use std::path::Path;

/// Lengths, densities and the distance from the origin, times and plus those of the file. Gravity stays, so times go with the root
/// of lengths.
#[derive(Clone, Copy, Debug)]
struct Change {
    size: f64,
    density: f64,
    away: f64,
}

const AS_IT_IS: Change = Change { size: 1.0, density: 1.0, away: 0.0 };

impl Change {
    fn time(&self) -> f64 {
        self.size.sqrt()
    }

    fn force(&self) -> f64 {
        self.density * self.size.powi(3)
    }

    fn model(&self, mut model: ModelDescription) -> ModelDescription {
        let Self { size, density, away } = *self;
        let lengths = |x: &mut [f64; 3]| x.iter_mut().for_each(|x| *x *= size);
        for body in &mut model.bodies {
            body.mass *= density * size.powi(3);
            lengths(&mut body.com);
            body.inertia.iter_mut().for_each(|x| *x *= density * size.powi(5));
        }
        for joint in &mut model.joints {
            lengths(&mut joint.parent_placement.p);
            lengths(&mut joint.child_placement.p);
            // Forces act along slides, torques about hinges.
            let (way, force) = match joint.kind {
                JointType::Prismatic => (size, self.force()),
                _ => (1.0, self.force() * size),
            };
            times(&mut joint.damping, force * self.time() / way);
            times(&mut joint.armature, force * self.time() * self.time() / way);
            times(&mut joint.friction, force);
            if let Some(spring) = &mut joint.spring {
                times(&mut spring.stiffness, force / way);
                times(&mut spring.rest, way);
            }
            if let Some(limits) = &mut joint.limits {
                limits.lower.iter_mut().chain(&mut limits.upper).for_each(|x| times(x, way));
            }
            if joint.parent == WORLD {
                joint.parent_placement.p[0] += away;
            }
        }
        for surface in &mut model.surfaces {
            lengths(&mut surface.placement.p);
            match &mut surface.shape {
                SurfaceShape::Sphere { radius } => *radius *= size,
                SurfaceShape::Capsule { radius, length } | SurfaceShape::Cylinder { radius, length } => {
                    (*radius, *length) = (*radius * size, *length * size);
                }
                SurfaceShape::Box { size: edges } => lengths(edges),
                SurfaceShape::Ellipsoid { radii } => lengths(radii),
                SurfaceShape::Points { points } => points.iter_mut().for_each(lengths),
            }
        }
        for ground in &mut model.half_spaces {
            ground.offset = ground.offset * size + ground.normal[0] * away;
        }
        let kinds: Vec<_> = model.joints.iter().map(|j| (j.name.clone(), j.kind)).collect();
        for state in model.states.values_mut() {
            for (name, kind) in &kinds {
                let (q, v) = self.units(*kind);
                scale(state.q.get_mut(name), &q);
                scale(state.v.get_mut(name), &v);
            }
        }
        model
    }

    /// What the coordinates and rates of a joint are multiplied with.
    fn units(&self, kind: JointType) -> (Vec<f64>, Vec<f64>) {
        let (length, rate) = (self.size, 1.0 / self.time());
        match kind {
            JointType::Prismatic => (vec![length], vec![length * rate]),
            JointType::Floating => {
                let q = [[1.0; 4].as_slice(), &[length; 3]].concat();
                (q, [[rate; 3], [length * rate; 3]].concat())
            }
            _ => (vec![1.0; kind.nq()], vec![rate; kind.nv()]),
        }
    }
}

fn times(x: &mut PerCoordinate, factor: f64) {
    match x {
        PerCoordinate::One(x) => *x *= factor,
        PerCoordinate::Each(xs) => xs.iter_mut().for_each(|x| *x *= factor),
    }
}

fn scale(x: Option<&mut Coordinates>, units: &[f64]) {
    let Some(x) = x else { return };
    let scaled: Vec<f64> = x.as_slice().iter().zip(units).map(|(x, unit)| x * unit).collect();
    *x = Coordinates::from(scaled.as_slice());
}

/// Coordinates at the end in the units of the file, and how often a step was split.
fn motion(model: &ModelDescription, change: Change, steps: usize) -> (Vec<f64>, u64) {
    let mechanism: Mechanism =
        MechanismBuilder::from(change.model(model.clone())).build().expect("a sound scene");
    let engine = Maximal::default();
    let mut ws = engine.workspace(&mechanism).expect("served");
    let mut state = engine.start(&mechanism, &mut ws, &mechanism.start_state()).expect("starts");
    let u = vec![0.0; mechanism.nu()];
    for _ in 0..steps {
        engine.step(&mechanism, &mut ws, &mut state, Input { u: &u }, 0.005 * change.time()).expect("steps");
    }
    let mut end = mechanism.start_state();
    engine.read_out(&mechanism, &mut ws, &state, &mut end);
    let units: Vec<f64> = mechanism.joints().iter().flat_map(|joint| change.units(joint.kind).0).collect();
    assert_eq!(units.len(), end.q.len());
    (end.q.iter().zip(&units).map(|(q, unit)| q / unit).collect(), ws.contact_counts().splits)
}

/// The contact scenes of the models.
fn scenes() -> Vec<ModelDescription> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).expect("models").map(|x| x.expect("a file").path()).collect();
    paths.sort();
    let scenes: Vec<_> = paths
        .iter()
        .filter(|path| path.extension().is_some_and(|x| x == "json"))
        .filter_map(|path| load_model(path, &LoadOptions::default()).expect("a model").description)
        .filter(|model| !model.surfaces.is_empty())
        .collect();
    assert!(scenes.len() >= 12, "only {} models have surfaces", scenes.len());
    scenes
}

/// Powers of two scale without rounding: every bit is the same unless the solver has a length, speed or mass of its own.
#[test]
fn a_scene_scaled_by_powers_of_two_has_the_same_bits() {
    for model in scenes() {
        let (usual, splits) = motion(&model, AS_IT_IS, 60);
        for change in [
            Change { size: 1.0 / 1024.0, ..AS_IT_IS },
            Change { density: 128.0, ..AS_IT_IS },
            Change { density: 1.0 / 1024.0, ..AS_IT_IS },
        ] {
            let (other, more) = motion(&model, change, 60);
            assert!(usual == other && more == splits, "{} {change:?}: {usual:?} {other:?}", model.name);
        }
    }
}

/// Other numbers round. Dice and dominoes land on edges and corners that are equally near, and after 0.2 s rounding tells which is
/// taken; the chain is chaotic by then.
#[test]
fn every_scene_of_another_size_or_density_or_far_away_moves_alike() {
    let mut failures = Vec::new();
    for model in scenes() {
        let (usual, splits) = motion(&model, AS_IT_IS, 40);
        for change in [
            Change { size: 1e-3, ..AS_IT_IS },
            Change { density: 100.0, ..AS_IT_IS },
            Change { density: 1e-3, ..AS_IT_IS },
            Change { away: 1000.0, ..AS_IT_IS },
        ] {
            let (other, more) = motion(&model, change, 40);
            let off = usual.iter().zip(&other).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            let line = format!("{} {change:?}: off {off:.1e}, splits {more} of {splits}", model.name);
            println!("{line}");
            if off > 1e-9 || more > splits {
                failures.push(line);
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
