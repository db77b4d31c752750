//! Times the jet kernels: `cargo run --release --example bench_jets [MODEL…]`.
//!
//! Prints one JSON line per case in the form of the peer benchmark: microseconds per call, the minimum over many short
//! batches. A model is a built-in (`@chain-xy/32`), a reference file, or a URDF.
#![expect(clippy::print_stdout, reason = "a program")]

use std::hint::black_box;
use std::time::Instant;

use leastaction::io::{LoadOptions, UrdfBase, UrdfOptions, load_model};
use leastaction::jet::{
    Coordinates, Cost, CostEvaluator, JetWorkspace, Quantity, QuantityKind, Target, TorqueJacobian,
};
use leastaction::mechanism::samples::Random;
use leastaction::mechanism::{Mechanism, MechanismBuilder, samples};
use leastaction::scalar::Dual;

fn micros(mut work: impl FnMut()) -> (f64, f64) {
    work();
    let start = Instant::now();
    work();
    let once = start.elapsed().as_secs_f64().max(1e-7);
    let calls = (1e-3 / once).ceil() as usize;
    let mut batches: Vec<f64> = (0..100)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| work());
            start.elapsed().as_secs_f64() / calls as f64 * 1e6
        })
        .collect();
    batches.sort_by(f64::total_cmp);
    (batches[0], batches[50])
}

fn report(model: &str, n: usize, variant: &str, (best, median): (f64, f64)) {
    println!(
        "{{\"section\":\"D\",\"system\":\"leastaction\",\"variant\":\"{variant}\",\"model\":\"{model}\",\"n\":{n},\
         \"us\":{best:.4},\"us_median\":{median:.4}}}"
    );
}

/// A model by name; `FILE#floating` frees the base of a URDF.
fn load(name: &str) -> Mechanism {
    if name.starts_with('@') {
        let description = samples::built_in(name).expect("a built-in model");
        return MechanismBuilder::from(description).build().expect("a valid model");
    }
    let (file, floating) = name.strip_suffix("#floating").map_or((name, false), |file| (file, true));
    let base = if floating { UrdfBase::Floating } else { UrdfBase::Fixed };
    let options = LoadOptions {
        urdf: UrdfOptions { base, search_paths: Vec::new() },
        adapter: Some(leastaction_golden::golden_model),
    };
    let mut reading = load_model(std::path::Path::new(file), &options).expect("a readable file");
    reading.build().expect("a valid model")
}

/// Bytes per nanosecond that one core writes to memory it has not touched lately.
fn store_bandwidth() -> f64 {
    let mut memory = vec![0.0f64; 8 << 20];
    let (best, _) = micros(|| memory.fill(black_box(1.0)));
    (memory.len() * 8) as f64 / best / 1e3
}

fn main() {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        let panda = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/comprehensive_panda7_k1.json");
        names = vec![panda.into(), "@chain-xy/32".into(), "@chain-xy/128".into()];
    }
    println!(
        "{{\"section\":\"D\",\"system\":\"machine\",\"variant\":\"store bandwidth\",\"bytes_per_ns\":{:.2}}}",
        store_bandwidth()
    );
    for name in names {
        let mechanism = load(&name);
        let label = mechanism.name().to_owned();
        let nv = mechanism.nv();
        let mut rng = Random::new(1);
        let mut q = mechanism.start_state().q;
        let u: Vec<f64> = (0..nv).map(|_| rng.range(-0.3, 0.3)).collect();
        let q0 = q.clone();
        mechanism.retract(&q0, &u, &mut q);
        let rows: Vec<Vec<f64>> = (0..8).map(|_| (0..nv).map(|_| rng.range(-1.0, 1.0)).collect()).collect();
        let rows: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();

        for k in [0, 1, 2, 4] {
            let orders = &rows[..k + 2];
            let mut fast = TorqueJacobian::new(&mechanism, k as i32).expect("order");
            let variant = format!("torque Jacobian k={k}");
            report(&label, nv, &variant, micros(|| fast.evaluate(black_box(&q), orders).expect("finite")));
            let mut jets = JetWorkspace::<f64>::new(&mechanism, k as i32);
            let variant = format!("forward k={k}");
            let time = micros(|| jets.forward_from_derivatives(black_box(&q), orders).expect("finite"));
            report(&label, nv, &variant, time);
            let time = micros(|| jets.forward_motion(black_box(&q), orders).expect("finite"));
            report(&label, nv, &format!("motion k={k}"), time);
        }

        let mut jets = JetWorkspace::<f64>::new(&mechanism, 1);
        jets.forward_from_derivatives(&q, &rows[..3]).expect("finite");
        let xi: Vec<f64> = (0..4 * nv).map(|_| rng.range(-1.0, 1.0)).collect();
        let lambda: Vec<f64> = (0..2 * nv).map(|_| rng.range(-1.0, 1.0)).collect();
        let (mut jvp, mut vjp) = (lambda.clone(), xi.clone());
        report(&label, nv, "J v k=1", micros(|| jets.torque_jvp(black_box(&xi), &mut jvp).expect("fits")));
        report(
            &label,
            nv,
            "J^T v k=1",
            micros(|| jets.torque_vjp(black_box(&lambda), &mut vjp).expect("fits")),
        );

        for (k, orders) in [(-1, 1), (0, 2)] {
            let mut jets = JetWorkspace::<f64>::new(&mechanism, k);
            let last = Target::body(mechanism.body_ids().last().expect("bodies"));
            let request = Quantity::local(QuantityKind::Velocity, last);
            let mut out = vec![0.0; orders * 6 * jets.jacobian_columns()];
            let variant = ["last-link velocity Jacobian", "last-link acceleration Jacobian"][orders - 1];
            let time = micros(|| {
                jets.forward_motion(black_box(&q), &rows[..orders]).expect("finite");
                jets.jacobian_into(&request, Coordinates::Tangent, &mut out).expect("served");
            });
            report(&label, nv, variant, time);
        }

        if mechanism.nq() == nv {
            let cost = vec![Cost::new(vec![Quantity::torque(1)])];
            let mut evaluator = CostEvaluator::new(&mechanism, cost, 3).expect("served");
            let x: Vec<f64> = q.iter().chain(rows[..3].iter().flat_map(|r| r.iter())).copied().collect();
            let (mut value, mut gradient) = ([0.0], vec![0.0; x.len()]);
            let time = micros(|| {
                evaluator
                    .gradients_into(black_box(&x), &[], &[1.0], &mut value, &mut gradient)
                    .expect("finite");
            });
            report(&label, nv, "gradient of torque-rate cost", time);
            if nv <= 40 {
                let mut hessian = vec![0.0; x.len() * x.len()];
                let time = micros(|| {
                    evaluator
                        .hessians_into(black_box(&x), &[], &[1.0], &mut value, &mut gradient, &mut hessian)
                        .expect("finite");
                });
                report(&label, nv, "exact Hessian of torque-rate cost", time);
            }
        }

        if mechanism.nq() == nv && nv <= 40 {
            let cost = vec![Cost::new(vec![Quantity::torque(1)])];
            let mut batch = CostEvaluator::new(&mechanism, cost, 3).expect("served");
            let n = batch.sample_len();
            let x: Vec<f64> = (0..256 * n).map(|_| rng.range(-1.0, 1.0)).collect();
            let (mut values, mut gradients) = (vec![0.0; 256], vec![0.0; 256 * n]);
            let (best, median) = micros(|| {
                batch
                    .gradients_into(black_box(&x), &[], &[1.0], &mut values, &mut gradients)
                    .expect("finite");
            });
            report(
                &label,
                nv,
                "gradient of torque-rate cost, per sample of 256",
                (best / 256.0, median / 256.0),
            );
        }

        // The baseline of the k = 1 bar: one-direction duals over our own forward sweep, once per column.
        if nv <= 10 {
            type D = Dual<f64, 1>;
            let mut dual = JetWorkspace::new(&mechanism, 1).dual();
            let qd: Vec<D> = q.iter().map(|x| D::constant(*x)).collect();
            let yd: Vec<D> = rows[..3].iter().flat_map(|r| r.iter()).map(|x| D::constant(*x)).collect();
            let (best, median) = micros(|| dual.forward(black_box(&qd), &yd).expect("finite"));
            let columns = 4.0 * nv as f64;
            report(&label, nv, "k=1 Jacobian by one-direction duals", (best * columns, median * columns));
        }
    }
}
