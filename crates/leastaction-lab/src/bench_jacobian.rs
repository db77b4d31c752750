//! `bench jacobian`: torque Jacobians, products, gradients and batches of one mechanism.

use std::hint::black_box;

use leastaction::jet::{
    Coordinates, Cost, CostEvaluator, JetError, JetWorkspace, Quantity, QuantityKind, Target, TorqueJacobian,
};
use leastaction::mechanism::{Mechanism, samples};
use leastaction::scalar::Dual;
use serde_json::{Value, json};

use crate::bench::{Bench, Calls, batches, peer_name};
use leastaction_study::choices;
use leastaction_study::failure::Failure;
use leastaction_study::model;

/// Samples of a batch.
const SAMPLES: usize = 256;

/// Time per Jacobian of torques and what belongs to it.
#[derive(Clone, Debug)]
pub struct JacobianBench {
    /// Highest time derivative of the torque.
    pub order: usize,
    /// How often; exact calls are made at that order only.
    pub calls: Calls,
    /// What exact calls are.
    pub count: Count,
}

choices! {
    /// What exact calls are.
    Count {
        /// Torque Jacobians
        Jacobian = "jacobian",
        /// Products J v and Jᵀ v after one sweep
        Products = "products",
        /// Gradients of the squared torque rate
        Gradient = "gradient",
    }
}

/// A mechanism in a random motion.
struct Motion<'m> {
    mechanism: &'m Mechanism,
    q: Vec<f64>,
    rows: Vec<Vec<f64>>,
}

impl<'m> Motion<'m> {
    fn new(mechanism: &'m Mechanism, orders: usize, seed: u64) -> Self {
        let mut random = samples::Random::new(seed);
        let mut vector = || -> Vec<f64> { (0..mechanism.nv()).map(|_| random.range(-1.0, 1.0)).collect() };
        let mut q = mechanism.neutral_state().q;
        mechanism.retract(&q.clone(), &vector(), &mut q);
        Self { mechanism, q, rows: (0..orders).map(|_| vector()).collect() }
    }

    fn rows(&self, orders: usize) -> Vec<&[f64]> {
        self.rows[..orders].iter().map(Vec::as_slice).collect()
    }

    /// The same as a sample of costs.
    fn sample(&self, orders: usize) -> Vec<f64> {
        self.q.iter().chain(self.rows[..orders].iter().flatten()).copied().collect()
    }
}

fn failed(error: JetError) -> Failure {
    Failure::caused_by("the Jacobian can't be evaluated", &error)
}

impl Bench for JacobianBench {
    fn run(&self, name: &str) -> Result<Vec<Value>, Failure> {
        let (_, mechanism) = model::load(name, &self.calls.reading)?;
        let k = self.order;
        let motion = Motion::new(&mechanism, k.max(1) + 2, 1);
        if let Some(calls) = self.calls.calls {
            return self.counted(&motion, name, calls);
        }
        let mut lines = vec![json!({
            "section": "D", "system": "machine", "variant": "store bandwidth",
            "bytes_per_ns": store_bandwidth(self.calls.batches),
        })];
        let line = |variant: String, (us, median): (f64, f64)| {
            json!({
                "section": "D",
                "system": "leastaction",
                "variant": variant,
                "model": peer_name(name),
                "n": mechanism.nv(),
                "us": us,
                "us_median": median,
            })
        };
        let mut zeroth = None;
        for k in 0..=k {
            let mut one = line(format!("torque Jacobian, order {k}"), self.torque(&motion, k)?);
            let work = Work::of(&mechanism, k);
            let us = one["us"].as_f64().unwrap_or(f64::NAN);
            one["entries"] = json!(work.entries);
            one["entries_per_ns"] = json!(work.entries / (us * 1e3));
            let (us0, work0) = *zeroth.get_or_insert((us, work.operations));
            one["ratio_to_order_0"] = json!(us / us0);
            one["ratio_of_counts"] = json!(work.operations / work0);
            lines.push(one);
            if k == 1 {
                let mut duals = line(
                    format!("one-direction duals, {} sweeps, order {k}", (k + 3) * mechanism.nv()),
                    self.duals(&motion, k)?,
                );
                duals["ratio_to_jacobian"] = json!(duals["us"].as_f64().unwrap_or(f64::NAN) / us);
                lines.push(duals);
            }
            let time = self.batch(&mechanism, k)?;
            lines.push(line(format!("torque Jacobian, order {k}, per sample of {SAMPLES}"), time));
        }
        let (forward, back, gap) = self.products(&motion)?;
        let mut forward = line("J v, order 1".into(), forward);
        forward["dot_product_gap"] = json!(gap);
        lines.extend([forward, line("Jᵀ v, order 1".into(), back)]);
        let (one, many) = self.gradient(&motion)?;
        lines.push(line("gradient of the squared torque rate".into(), one));
        lines.push(line(format!("gradient of the squared torque rate, per sample of {SAMPLES}"), many));
        for orders in [1, 2] {
            if let Some(time) = self.last_link(&motion, orders)? {
                let what = ["velocity", "velocity and acceleration"][orders - 1];
                lines.push(line(format!("{what} of the last body"), time));
            }
        }
        Ok(lines)
    }
}

impl JacobianBench {
    fn torque(&self, motion: &Motion<'_>, k: usize) -> Result<(f64, f64), Failure> {
        let mut jacobian = TorqueJacobian::new(motion.mechanism, k as i32).map_err(failed)?;
        let rows = motion.rows(k + 2);
        jacobian.evaluate(&motion.q, &rows).map_err(failed)?;
        Ok(batches(self.calls.batches, &mut || {
            let _ = black_box(jacobian.evaluate(black_box(&motion.q), black_box(&rows)));
        }))
    }

    /// Many samples one after the other: microseconds per sample.
    fn batch(&self, mechanism: &Mechanism, k: usize) -> Result<(f64, f64), Failure> {
        let mut jacobian = TorqueJacobian::new(mechanism, k as i32).map_err(failed)?;
        let motions: Vec<Motion<'_>> =
            (0..SAMPLES as u64).map(|seed| Motion::new(mechanism, k + 2, seed + 1)).collect();
        let rows: Vec<Vec<&[f64]>> = motions.iter().map(|motion| motion.rows(k + 2)).collect();
        let (best, median) = batches((self.calls.batches / 10).max(5), &mut || {
            for (motion, rows) in motions.iter().zip(&rows) {
                let _ = black_box(jacobian.evaluate(black_box(&motion.q), rows));
            }
        });
        Ok((best / SAMPLES as f64, median / SAMPLES as f64))
    }

    /// The forward sweep in dual numbers, one direction at a time: what the Jacobian replaces.
    fn duals(&self, motion: &Motion<'_>, k: usize) -> Result<(f64, f64), Failure> {
        type D = Dual<f64, 1>;
        let mut jets = JetWorkspace::new(motion.mechanism, k as i32).dual();
        let q: Vec<D> = motion.q.iter().map(|x| D::variable(*x, 0)).collect();
        let rows: Vec<Vec<D>> =
            motion.rows[..k + 2].iter().map(|row| row.iter().map(|x| D::variable(*x, 0)).collect()).collect();
        let rows: Vec<&[D]> = rows.iter().map(Vec::as_slice).collect();
        jets.forward_from_derivatives(&q, &rows).map_err(failed)?;
        let (best, median) = batches(self.calls.batches, &mut || {
            let _ = black_box(jets.forward_from_derivatives(black_box(&q), black_box(&rows)));
        });
        let sweeps = ((k + 3) * motion.mechanism.nv()) as f64;
        Ok((best * sweeps, median * sweeps))
    }

    /// J v, Jᵀ v, and how far `λ·(J v)` and `v·(Jᵀ λ)` are apart relative to their size.
    #[expect(clippy::type_complexity, reason = "two timings and a number")]
    fn products(&self, motion: &Motion<'_>) -> Result<((f64, f64), (f64, f64), f64), Failure> {
        let nv = motion.mechanism.nv();
        let mut jets = JetWorkspace::<f64>::new(motion.mechanism, 1);
        jets.forward_from_derivatives(&motion.q, &motion.rows(3)).map_err(failed)?;
        let mut random = samples::Random::new(2);
        let xi: Vec<f64> = (0..4 * nv).map(|_| random.range(-1.0, 1.0)).collect();
        let lambda: Vec<f64> = (0..2 * nv).map(|_| random.range(-1.0, 1.0)).collect();
        let (mut forward, mut back) = (lambda.clone(), xi.clone());
        jets.torque_jvp(&xi, &mut forward).map_err(failed)?;
        jets.torque_vjp(&lambda, &mut back).map_err(failed)?;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let size = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
        let gap = (dot(&lambda, &forward) - dot(&xi, &back)).abs() / size(&lambda, &forward);
        let first = batches(self.calls.batches, &mut || {
            let _ = black_box(jets.torque_jvp(black_box(&xi), &mut forward));
        });
        let second = batches(self.calls.batches, &mut || {
            let _ = black_box(jets.torque_vjp(black_box(&lambda), &mut back));
        });
        Ok((first, second, gap))
    }

    /// One sample, and per sample of a batch.
    #[expect(clippy::type_complexity, reason = "two timings")]
    fn gradient(&self, motion: &Motion<'_>) -> Result<((f64, f64), (f64, f64)), Failure> {
        let costs = vec![Cost::new(vec![Quantity::torque(1)])];
        let mut evaluator = CostEvaluator::new(motion.mechanism, costs, 3).map_err(failed)?;
        let x = motion.sample(3);
        let (mut values, mut gradient) = ([0.0], vec![0.0; evaluator.tangent_len()]);
        evaluator.gradients_into(&x, &[], &[1.0], &mut values, &mut gradient).map_err(failed)?;
        let single = batches(self.calls.batches, &mut || {
            let _ =
                black_box(evaluator.gradients_into(black_box(&x), &[], &[1.0], &mut values, &mut gradient));
        });
        let x: Vec<f64> = (0..SAMPLES as u64)
            .flat_map(|seed| Motion::new(motion.mechanism, 3, seed + 1).sample(3))
            .collect();
        let (mut values, mut gradients) = (vec![0.0; SAMPLES], vec![0.0; SAMPLES * gradient.len()]);
        let (best, median) = batches((self.calls.batches / 10).max(5), &mut || {
            let _ =
                black_box(evaluator.gradients_into(black_box(&x), &[], &[1.0], &mut values, &mut gradients));
        });
        Ok((single, (best / SAMPLES as f64, median / SAMPLES as f64)))
    }

    /// Velocity (and acceleration) Jacobian of the last body.
    fn last_link(&self, motion: &Motion<'_>, orders: usize) -> Result<Option<(f64, f64)>, Failure> {
        let Some(last) = motion.mechanism.body_ids().last() else { return Ok(None) };
        let mut jets = JetWorkspace::<f64>::new(motion.mechanism, orders as i32 - 2);
        let request = Quantity::local(QuantityKind::Velocity, Target::body(last));
        let rows = motion.rows(orders);
        jets.forward_motion(&motion.q, &rows).map_err(failed)?;
        let size = jets.value_count(QuantityKind::Velocity) * jets.jacobian_rows(QuantityKind::Velocity);
        let mut out = vec![0.0; size * jets.jacobian_columns()];
        jets.jacobian_into(&request, Coordinates::Tangent, &mut out).map_err(failed)?;
        Ok(Some(batches(self.calls.batches, &mut || {
            let _ = jets.forward_motion(black_box(&motion.q), black_box(&rows));
            let _ = black_box(jets.jacobian_into(&request, Coordinates::Tangent, &mut out));
        })))
    }

    /// Exactly so many calls.
    fn counted(&self, motion: &Motion<'_>, name: &str, calls: u64) -> Result<Vec<Value>, Failure> {
        let (mechanism, k) = (motion.mechanism, self.order);
        match self.count {
            Count::Jacobian => {
                let mut jacobian = TorqueJacobian::new(mechanism, k as i32).map_err(failed)?;
                let rows = motion.rows(k + 2);
                for _ in 0..calls {
                    jacobian.evaluate(black_box(&motion.q), &rows).map_err(failed)?;
                }
                black_box(&jacobian);
            }
            Count::Products => {
                let mut jets = JetWorkspace::<f64>::new(mechanism, k as i32);
                jets.forward_from_derivatives(&motion.q, &motion.rows(k + 2)).map_err(failed)?;
                let (mut xi, mut lambda) =
                    (vec![0.5; (k + 3) * mechanism.nv()], vec![0.25; (k + 1) * mechanism.nv()]);
                for _ in 0..calls {
                    let v = black_box(xi.clone());
                    jets.torque_jvp(&v, &mut lambda).map_err(failed)?;
                    jets.torque_vjp(black_box(&lambda), &mut xi).map_err(failed)?;
                    xi.iter_mut().for_each(|x| *x = x.clamp(-1.0, 1.0));
                }
                black_box(&xi);
            }
            Count::Gradient => {
                let costs = vec![Cost::new(vec![Quantity::torque(1)])];
                let mut one = CostEvaluator::new(mechanism, costs, 3).map_err(failed)?;
                let (x, mut values) = (motion.sample(3), [0.0]);
                let mut gradient = vec![0.0; one.tangent_len()];
                for _ in 0..calls {
                    one.gradients_into(black_box(&x), &[], &[1.0], &mut values, &mut gradient)
                        .map_err(failed)?;
                }
                black_box(&gradient);
            }
        }
        Ok(vec![json!({
            "section": "D", "system": "leastaction", "variant": format!("{calls} calls, order {k}"),
            "model": peer_name(name), "n": mechanism.nv(),
        })])
    }
}

/// Numbers of the theory page's operation counts: multiply-adds of a torque Jacobian, and entries it writes.
struct Work {
    operations: f64,
    entries: f64,
}

impl Work {
    fn of(mechanism: &Mechanism, k: usize) -> Self {
        let tri = |k: usize| ((k + 1) * (k + 2)) as f64 / 2.0;
        let nodes = &mechanism.tree().nodes;
        // Coordinates on the way from the world to each node, its own included.
        let mut above = vec![0; nodes.len()];
        let (mut pairs, mut ordered) = (0.0, 0.0);
        for (i, node) in nodes.iter().enumerate() {
            let before = node.parent.map_or(0, |p| above[p]);
            above[i] = before + node.nv;
            let (own, before) = (node.nv as f64, before as f64);
            pairs += own * before + 0.5 * own * (own + 1.0);
            ordered += 2.0 * own * before + own * own;
        }
        let (nb, nv) = (nodes.len() as f64, mechanism.nv() as f64);
        let entries = ordered * ((k + 1) * (k + 6)) as f64 / 2.0;
        let direct = 48.0 * tri(k);
        let adjoint = 24.0 * tri(k) + 6.0 * tri(k + 1) + 6.0 * (2 * k + 5) as f64;
        let dots = if k >= 2 { direct.min(adjoint) } else { direct };
        let forward = nb * (87.0 * tri(k + 1) + 6.0 * tri(k)) + nv * 190.0 * tri(k);
        let emission = if k == 0 { 0.0 } else { 2.0 * entries };
        Self { operations: forward + pairs * dots + emission, entries }
    }
}

/// Bytes per nanosecond that one core writes to memory it has not touched lately.
fn store_bandwidth(number: u64) -> f64 {
    let mut memory = vec![0.0f64; 8 << 20];
    let bytes = (memory.len() * 8) as f64;
    let (best, _) = batches(number.min(30), &mut || {
        memory.fill(black_box(1.0));
        black_box(&memory);
    });
    bytes / (best * 1e3)
}
