//! What depends on the inertia of the whole model: damping ratios of servos, and springs of joints by time constant.

use super::reader::Reader;
use crate::mechanism::{Affine, MechanismBuilder, PerCoordinate, SpringDescription};
use leastaction_core::dynamics::Dynamics;

/// A number that waits for the mass matrix.
#[derive(Clone, Debug)]
pub(super) enum Tuned {
    /// Index of a law, its damping ratio, and joints (by index of the description) with gears.
    DampingRatio { law: usize, ratio: f64, joints: Vec<(usize, f64)> },
    /// A joint by index of the description, its time constant and damping ratio, the rest of its spring.
    SpringDamper { joint: usize, time: f64, ratio: f64, rest: f64 },
}

/// Computes what waits, at the pose of the file.
pub(super) fn apply(reader: &mut Reader) {
    let tuned = std::mem::take(&mut reader.tuned);
    if tuned.is_empty() || reader.problems.has_errors() {
        return;
    }
    let mut bare = reader.model.clone();
    bare.laws.clear();
    bare.couplings.clear();
    // What is wrong with the model is said later.
    let Ok(mechanism) = MechanismBuilder::from(bare).build() else { return };
    let nv = mechanism.nv();
    let mut mass = vec![0.0; nv * nv];
    Dynamics::<f64>::new(&mechanism).mass_matrix_into(&mechanism, &mechanism.neutral_state().q, &mut mass);
    let coordinate = |joint: usize| -> Option<usize> {
        let id = mechanism.joint_by_name(&reader.model.joints[joint].name)?;
        Some(mechanism.v_range(id).start)
    };
    let mut springs = Vec::new();
    for tuned in &tuned {
        match tuned {
            Tuned::DampingRatio { law, ratio, joints } => {
                let mut along = vec![0.0; nv];
                for (joint, gear) in joints {
                    if let Some(c) = coordinate(*joint) {
                        along[c] += gear;
                    }
                }
                let inertia = 1.0 / mobility(&mass, along).max(1e-15);
                let law = &mut reader.model.laws[*law];
                let [constant, kp, _] = law.bias.coefficients();
                law.bias = Affine::Of([constant, kp, -2.0 * ratio * (-kp * inertia).max(0.0).sqrt()]);
            }
            Tuned::SpringDamper { joint, time, ratio, rest } => {
                if let Some(c) = coordinate(*joint) {
                    let mut along = vec![0.0; nv];
                    along[c] = 1.0;
                    springs.push((*joint, mobility(&mass, along), *time, *ratio, *rest));
                }
            }
        }
    }
    for (joint, mobility, time, ratio, rest) in springs {
        let inertia = 1.0 / mobility.max(1e-15);
        let joint = &mut reader.model.joints[joint];
        if reader.settings.springs {
            let stiffness = PerCoordinate::One(inertia / (time * time * ratio * ratio).max(1e-15));
            joint.spring = Some(SpringDescription { stiffness, rest: PerCoordinate::One(rest) });
        }
        if reader.settings.dampers {
            joint.damping = PerCoordinate::One(2.0 * inertia / time.max(1e-15));
        }
    }
}

/// `aᵀ M⁻¹ a`: the acceleration along a direction by a unit of force along it.
fn mobility(mass: &[f64], mut a: Vec<f64>) -> f64 {
    let nv = a.len();
    let mut l = mass.to_vec();
    // With the Cholesky factor it is |L⁻¹ a|².
    for j in 0..nv {
        for k in 0..j {
            let f = l[j * nv + k];
            for i in j..nv {
                l[i * nv + j] -= l[i * nv + k] * f;
            }
        }
        let pivot = l[j * nv + j].max(1e-300).sqrt();
        (j..nv).for_each(|i| l[i * nv + j] /= pivot);
    }
    for i in 0..nv {
        let sum: f64 = (0..i).map(|k| l[i * nv + k] * a[k]).sum();
        a[i] = (a[i] - sum) / l[i * nv + i];
    }
    a.iter().map(|x| x * x).sum()
}
