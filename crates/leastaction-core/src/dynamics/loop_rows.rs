//! What loop joints hold, as rows on the velocities of the tree: how freely a mechanism with loops moves and how it accelerates.
//!
//! Dense, O(loops · nv²): for people who look at a model, not for every step. Rolling is not counted.

use super::{Dynamics, LoopMotion};
use crate::linalg::{axpy, dot, rank};
use crate::mechanism::{Mechanism, State};

/// Pivots below this part of the largest one are rounding.
const RANK_TOLERANCE: f64 = 1e-9;

/// Velocity coordinates of the tree less the independent rows of the loop constraints at a state.
#[must_use]
pub fn mobility(mechanism: &Mechanism, state: &State) -> usize {
    let nv = mechanism.nv();
    nv - rank(loop_rows(mechanism, &state.q, &state.v).0, RANK_TOLERANCE).min(nv)
}

/// Every row that a loop joint holds, and its rate at constant `v`.
fn loop_rows(mechanism: &Mechanism, q: &[f64], v: &[f64]) -> (Vec<Vec<f64>>, Vec<f64>) {
    let Some(mut motion) = LoopMotion::new(mechanism) else { return Default::default() };
    motion.place(mechanism, q, v);
    motion.held().map(|row| (row.gradient.clone(), row.drift)).unzip()
}

/// Acceleration at a state under the inputs `u`, loops kept closed: the free one, moved as little as possible in the
/// metric of the mass matrix (Gauss' principle). Redundant rows are no obstacle.
#[must_use]
pub fn closed_acceleration(mechanism: &Mechanism, state: &State, u: &[f64]) -> Vec<f64> {
    let nv = mechanism.nv();
    let mut dynamics = Dynamics::<f64>::new(mechanism);
    let mut acceleration = vec![0.0; nv];
    dynamics.acceleration_into(mechanism, &state.q, &state.v, u, &mut acceleration);
    let (rows, rates) = loop_rows(mechanism, &state.q, &state.v);
    if rows.is_empty() {
        return acceleration;
    }
    let zero = vec![0.0; nv];
    // What is left of M⁻¹ rowᵀ when an acceleration under no force at all is taken away.
    let respond = |dynamics: &mut Dynamics<f64>, tau: &[f64], out: &mut [f64]| {
        dynamics.forward_dynamics_into(mechanism, &state.q, &zero, tau, out);
    };
    let mut at_rest = vec![0.0; nv];
    respond(&mut dynamics, &zero, &mut at_rest);
    // Rows made orthogonal in the metric of M⁻¹ one after the other; what is left of a dependent one is rounding.
    let mut kept: Vec<(Vec<f64>, Vec<f64>, f64)> = Vec::new();
    for (mut row, mut wanted) in rows.into_iter().zip(rates.iter().map(|rate| -rate)) {
        let mut response = vec![0.0; nv];
        respond(&mut dynamics, &row, &mut response);
        response.iter_mut().zip(&at_rest).for_each(|(x, g)| *x -= g);
        let size = dot(&row, &response);
        for _ in 0..2 {
            for (other, of_other, aim) in &kept {
                let along = dot(&row, of_other);
                axpy(-along, other, &mut row);
                axpy(-along, of_other, &mut response);
                wanted -= along * aim;
            }
        }
        let left = dot(&row, &response);
        if left > RANK_TOLERANCE * size {
            let scale = left.sqrt().recip();
            for x in row.iter_mut().chain(&mut response) {
                *x *= scale;
            }
            kept.push((row, response, wanted * scale));
        }
    }
    for (row, response, wanted) in &kept {
        let missing = wanted - dot(row, &acceleration);
        axpy(missing, response, &mut acceleration);
    }
    acceleration
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mechanism::{MechanismBuilder, samples};

    #[test]
    fn built_in_mechanisms_move_as_they_should() {
        for (model, expected) in [
            (samples::chain(4), 4),
            (samples::ball_chain(2), 6),
            (samples::four_bar(), 1),
            (samples::four_bars(3), 3),
            (samples::rhombus_chain(2), 4),
        ] {
            let mechanism = MechanismBuilder::from(model).build().unwrap();
            assert_eq!(mobility(&mechanism, &mechanism.start_state()), expected, "{}", mechanism.name());
        }
    }

    #[test]
    fn a_stretched_parallelogram_can_move_in_two_ways() {
        let mechanism = MechanismBuilder::from(samples::four_bars(2)).build().unwrap();
        let mut state = mechanism.start_state();
        // All rods of the first parallelogram in one line.
        let quarter = std::f64::consts::FRAC_PI_2;
        for (name, angle) in [("left_pivot0", quarter), ("left_top0", -quarter), ("right_pivot0", quarter)] {
            let joint = mechanism.joint_by_name(name).unwrap();
            state.q[mechanism.q_range(joint).start] = angle;
        }
        assert_eq!(mobility(&mechanism, &state), 3);
    }

    #[test]
    fn closed_loops_accelerate_as_the_motion_they_allow() {
        // A parallelogram with equal cranks: one angle, and the coupler only shifts.
        let mechanism = MechanismBuilder::from(samples::four_bar()).build().unwrap();
        let mut state = mechanism.start_state();
        let rows = loop_rows(&mechanism, &state.q, &state.v).0;
        // Put the velocity on the loops first: take away what the rows see.
        state.v.iter_mut().enumerate().for_each(|(i, v)| *v = 0.3 + 0.2 * i as f64);
        for _ in 0..200 {
            for row in &rows {
                let size = dot(row, row);
                if size > 1e-12 {
                    let v = dot(row, &state.v) / size;
                    axpy(-v, row, &mut state.v);
                }
            }
        }
        let a = closed_acceleration(&mechanism, &state, &vec![0.0; mechanism.nu()]);
        // Along q + v t + a t²/2 the rows see no velocity to first order.
        let speed_at = |t: f64| -> Vec<f64> {
            let shift: Vec<f64> = state.v.iter().zip(&a).map(|(v, a)| v * t + 0.5 * a * t * t).collect();
            let v: Vec<f64> = state.v.iter().zip(&a).map(|(v, a)| v + a * t).collect();
            let mut q = state.q.clone();
            mechanism.retract(&state.q, &shift, &mut q);
            loop_rows(&mechanism, &q, &v).0.iter().map(|row| dot(row, &v)).collect()
        };
        let t = 1e-5;
        for (after, before) in speed_at(t).iter().zip(speed_at(-t)) {
            assert!(((after - before) / (2.0 * t)).abs() < 1e-7, "{after} {before}");
        }
    }
}
