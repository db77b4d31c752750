//! Weights from noisy recordings.

use leastaction::optimize::{
    BilevelOptions, BilevelSolution, ControlPoints, Observation, SplineTable, Transcription, infer_noisy,
};
use leastaction::spline::BSpline;

use crate::optimize_direct::{cold, golden};

/// Seeded normal numbers: a counter-based generator and the Box–Muller transform.
struct Normal(u64);

impl Normal {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
    fn next(&mut self) -> f64 {
        let (a, b) = (self.uniform().max(1e-300), self.uniform());
        (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
    }
}

fn observe(theta: &ControlPoints, n: usize, samples: usize, sigma: f64, seed: u64) -> Observation {
    let times: Vec<f64> = (0..samples).map(|i| 2.0 * i as f64 / (samples - 1) as f64).collect();
    let n_control = theta.high.len() / n;
    let table = SplineTable::on(
        &BSpline::new(n_control, 5, 2.0).expect("valid"),
        1,
        times.clone(),
        vec![1.0; samples],
    )
    .expect("table");
    let mut q = vec![0.0; samples * n];
    table.add_states(&theta.high, n, &mut q);
    let mut normal = Normal(seed);
    q.iter_mut().for_each(|q| *q += sigma * normal.next());
    Observation { times, q }
}

fn recover(sigma: f64, seed: u64, starts: Vec<Vec<f64>>) -> BilevelSolution {
    let (mechanism, problem) = golden("arm3_b");
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
    let truth = cold(&mut tr, &[0.25; 4], None);
    let recording = observe(&truth.theta, 3, 200, sigma, seed);
    infer_noisy(&mut tr, &recording, &BilevelOptions { starts, ..Default::default() }).expect("fits")
}

fn l1(weights: &[f64]) -> f64 {
    weights.iter().map(|w| (w - 0.25).abs()).sum()
}

fn study(seeds: u64, starts: &[Vec<f64>]) -> (f64, f64) {
    let (mut errors, mut covered) = (Vec::new(), 0.0);
    for seed in 0..seeds {
        let found = recover(1e-4, 1000 + seed, starts.to_vec());
        assert!(!found.unexplained(), "misfit {:.2e}, noise {:.2e}", found.misfit, found.noise);
        errors.push(l1(&found.weights));
        covered +=
            found.weights.iter().zip(&found.sigma).filter(|(w, s)| (*w - 0.25).abs() <= **s).count() as f64;
    }
    errors.sort_by(f64::total_cmp);
    (errors[errors.len() / 2], covered / (4 * seeds) as f64)
}

#[test]
#[expect(clippy::print_stdout, reason = "figures for people")]
fn weights_are_recovered_from_recordings_with_noise_of_a_tenth_of_a_milliradian() {
    for (name, starts) in [("equal", vec![]), ("far", vec![vec![0.02, 0.9, 0.03, 0.05]])] {
        let (median, coverage) = study(20, &starts);
        println!("{name}: median L1 {median:.4}, one-sigma coverage {:.0} %", 100.0 * coverage);
        assert!(median <= 0.05 && (0.6..=0.9).contains(&coverage));
    }
}

#[test]
fn strong_noise_is_reported_as_weights_that_are_not_identifiable() {
    let found = recover(1e-3, 7, Vec::new());
    assert!(found.not_identifiable().contains(&0), "{:?} ± {:?}", found.weights, found.sigma);
}

#[test]
fn a_motion_that_no_weights_explain_is_reported() {
    // Two reaches joined: out to a far point and back by another way.
    let (mechanism, problem) = golden("arm3_b");
    let mut tr = Transcription::with_jets(&mechanism, &problem).expect("valid");
    let times: Vec<f64> = (0..200).map(|i| 2.0 * f64::from(i) / 199.0).collect();
    let blend = |s: f64| s * s * s * (10.0 - 15.0 * s + 6.0 * s * s);
    let q = times
        .iter()
        .flat_map(|t| {
            let x = if *t < 1.0 { 1.57 + 1.2 * blend(*t) } else { 2.77 - 4.34 * blend(t - 1.0) };
            [x, -0.3 * x + 2.041, 1.57 - 2.0 * 1.57 * blend(t / 2.0)]
        })
        .collect();
    let mut recording = Observation { times, q };
    // The second joint ends where the problem says.
    let last = recording.q.len() - 2;
    recording.q[last] = -1.57;
    let found = infer_noisy(&mut tr, &recording, &BilevelOptions::default()).expect("fits");
    assert!(found.unexplained(), "misfit {:.2e}, noise {:.2e}", found.misfit, found.noise);
}
