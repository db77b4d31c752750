//! The fingerprint: what four short runs come to on this processor with this program, in all digits.
//!
//! A sweep that several machines compute is only worth something if they agree. Each computes the fingerprint once and refuses
//! to work for a sweep with another.

use std::sync::OnceLock;

use leastaction::integrator::{Method, MethodOptions, Simulator};
use leastaction::mechanism::{MechanismBuilder, samples};

/// Model, integrator, order.
const RUNS: [(&str, Method, u32); 4] = [
    ("@chain/3", Method::Minimal, 4),
    ("@ball-chain/2", Method::Minimal, 2),
    ("@four-bar", Method::Maximal, 2),
    ("@ball-tree/3", Method::Maximal, 4),
];
const STEPS: u32 = 8;

/// Sixteen digits that stand for the arithmetic of this program here.
#[must_use]
pub fn fingerprint() -> &'static str {
    static KNOWN: OnceLock<String> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut bytes = Vec::new();
        for (name, method, order) in RUNS {
            match end(name, method, order) {
                Some(numbers) => numbers.iter().for_each(|x| bytes.extend(x.to_le_bytes())),
                None => bytes.push(0),
            }
        }
        format!("{:016x}", super::hash(&bytes))
    })
}

/// Positions and velocities at the end of a short run.
fn end(name: &str, method: Method, order: u32) -> Option<Vec<f64>> {
    let mechanism = MechanismBuilder::from(samples::built_in(name).ok()?).build().ok()?;
    let options = MethodOptions { order: Some(order), ..MethodOptions::default() };
    let mut simulator = Simulator::new(&mechanism, method, &options, &mechanism.start_state()).ok()?;
    for _ in 0..STEPS {
        simulator.step(&[], 0.01).ok()?;
    }
    let state = simulator.state();
    Some([state.q.as_slice(), &state.v].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_four_runs_count() {
        for (name, method, order) in RUNS {
            assert!(end(name, method, order).is_some(), "{name}");
        }
        assert_eq!(fingerprint().len(), 16);
    }
}
