//! A force law of your own: wind on the last link of a chain, with its exact derivative.

#![expect(clippy::print_stdout, reason = "an example prints what it found")]

use std::error::Error;
use std::sync::Arc;

use leastaction::integrator::minimal::{BodyMotion, BodyWrench, WrenchSample};
use leastaction::integrator::{MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, samples};
use leastaction::spatial::{Vec3, Wrench};

/// A constant force at the body's origin.
#[derive(Debug)]
struct Wind {
    force: Vec3,
}

impl BodyWrench for Wind {
    fn evaluate(&self, motion: &BodyMotion, _u: &[f64], out: &mut WrenchSample) {
        let point = motion.pose.pos;
        out.wrench = Wrench::new(point.cross(self.force), self.force);
        // The point moves with the body: δp = v + ω × p, so the moment changes by δp × f.
        let mut by_pose = [[0.0; 6]; 6];
        for column in 0..6 {
            let mut unit = [0.0; 6];
            unit[column] = 1.0;
            let turn = Vec3([unit[0], unit[1], unit[2]]);
            let moved = Vec3([unit[3], unit[4], unit[5]]) + turn.cross(point);
            let moment = moved.cross(self.force);
            (0..3).for_each(|row| by_pose[row][column] = moment.0[row]);
        }
        out.set_derivatives(motion, &by_pose, &[[0.0; 6]; 6]);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mechanism = MechanismBuilder::from(samples::chain(3)).build()?;
    let last = mechanism.body_ids().last().ok_or("a chain has links")?;
    let law = Arc::new(Wind { force: Vec3([0.0, 5.0, 0.0]) });
    let engine = MethodOptions::default().minimal_engine()?.with_wrench(last, law);
    let mut simulator = Simulator::with(&mechanism, engine, &mechanism.neutral_state())?;
    for _ in 0..100 {
        simulator.step(&[], 0.01)?;
    }
    println!("after one second of wind: {:.4?} rad", simulator.state().q);
    assert!(simulator.state().q[0].abs() > 1e-2);
    Ok(())
}
