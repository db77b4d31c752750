//! [`DynamicsLanes`]: inverse and forward dynamics of four states side by side, with the bits of each alone.

use super::Dynamics;
use crate::mechanism::{JointType, Mechanism};
use crate::scalar::Real;
use crate::simd::{Exact, LANES, Task, Wide, has_wide, run_states};

/// Numbers of four states.
type W = Exact<Wide>;

/// One vector of each of the four states.
pub type OfStates<'a> = [&'a [f64]; LANES];

/// True if states of this mechanism can be computed side by side: turns and slides only, and the first joint, which decides
/// where the origin is, turns.
#[must_use]
pub(crate) fn has_lanes(mechanism: &Mechanism) -> bool {
    let turns = |kind: JointType| matches!(kind, JointType::Revolute | JointType::Continuous);
    let mut nodes = mechanism.tree().nodes.iter().enumerate();
    has_wide() && nodes.all(|(i, node)| turns(node.kind) || (i > 0 && node.kind == JointType::Prismatic))
}

/// Memory for the dynamics of four states of one mechanism.
#[derive(Clone, Debug)]
pub struct DynamicsLanes {
    dynamics: Dynamics<W>,
    q: Vec<W>,
    v: Vec<W>,
    given: Vec<W>,
    found: Vec<W>,
}

impl DynamicsLanes {
    /// How many states there are.
    pub const STATES: usize = LANES;

    /// Memory; none where mechanism or processor have no lanes.
    #[must_use]
    pub fn new(mechanism: &Mechanism) -> Option<Self> {
        let numbers = || vec![W::zero(); mechanism.nv()];
        has_lanes(mechanism).then(|| Self {
            dynamics: Dynamics::new(mechanism),
            q: numbers(),
            v: numbers(),
            given: numbers(),
            found: numbers(),
        })
    }

    /// [`Dynamics::inverse_dynamics_into`] of positions, velocities and accelerations.
    pub fn inverse_dynamics(
        &mut self,
        mechanism: &Mechanism,
        [q, v, a]: [OfStates<'_>; 3],
        tau: [&mut [f64]; LANES],
    ) {
        run_states(Rows { lanes: self, mechanism, inverse: true, rows: [q, v, a], out: tau });
    }

    /// [`Dynamics::forward_dynamics_into`] of positions, velocities and forces.
    pub fn forward_dynamics(
        &mut self,
        mechanism: &Mechanism,
        [q, v, tau]: [OfStates<'_>; 3],
        a: [&mut [f64]; LANES],
    ) {
        run_states(Rows { lanes: self, mechanism, inverse: false, rows: [q, v, tau], out: a });
    }
}

struct Rows<'a> {
    lanes: &'a mut DynamicsLanes,
    mechanism: &'a Mechanism,
    inverse: bool,
    rows: [OfStates<'a>; 3],
    out: [&'a mut [f64]; LANES],
}

impl Task for Rows<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Self { lanes, mechanism, inverse, rows: [q, v, given], out } = self;
        for c in 0..lanes.q.len() {
            lanes.q[c] = W::from_lanes([q[0][c], q[1][c], q[2][c], q[3][c]]);
            lanes.v[c] = W::from_lanes([v[0][c], v[1][c], v[2][c], v[3][c]]);
            lanes.given[c] = W::from_lanes([given[0][c], given[1][c], given[2][c], given[3][c]]);
        }
        let DynamicsLanes { dynamics, q, v, given, found } = lanes;
        if inverse {
            dynamics.forces_of_states(mechanism, q, v, given, found);
        } else {
            dynamics.accelerations_of_states(mechanism, q, v, given, found);
        }
        let [a, b, c, d] = out;
        for (i, found) in found.iter().enumerate() {
            [a[i], b[i], c[i], d[i]] = found.lanes();
        }
    }
}
