//! What a mechanism computes for one state or for a batch of them.

use std::borrow::Cow;
use std::sync::atomic::AtomicBool;

use leastaction::dynamics::{Dynamics, DynamicsLanes, OfStates};
use leastaction::mechanism::Mechanism as Model3;
use leastaction::spatial::{Pose, Twist};
use numpy::PyArrayDyn;
use pyo3::prelude::*;

use crate::arrays::{Output, Rows, all_finite, common_lead};
use crate::errors::{bad_option, not_finite};
use crate::mechanism::{Mechanism, Place, Shared};
use crate::state::stretched;
use crate::threads::Watch;

/// Batches of more numbers than this are computed without the interpreter.
const SMALL: usize = 400;

type Array<'py> = Bound<'py, PyArrayDyn<f64>>;
type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Why a row gave nothing.
enum Fault {
    Input(usize, usize),
    Stretched(String),
    Output(usize),
    Raised(PyErr),
}

/// Rows between two looks for signals.
const STRETCH: usize = 256;

/// A kernel that takes four rows at once and gives each the bits it has alone.
type Beside<const N: usize> =
    fn(&mut DynamicsLanes, &Model3, [OfStates<'_>; N], [&mut [f64]; DynamicsLanes::STATES]);

/// Batches of fewer rows are not worth the memory of lanes.
const FEW: usize = 16;

/// Applies `kernel` to every row, or `beside` to four at a time. The first argument is always `q`.
fn apply<'py, const N: usize>(
    py: Python<'py>,
    shared: &Shared,
    arguments: [(Any<'_, 'py>, &'static str, usize); N],
    out: Option<Any<'_, 'py>>,
    tail: &[usize],
    check: bool,
    beside: Option<Beside<N>>,
    kernel: impl Fn(&mut Dynamics, &Model3, [&[f64]; N], &mut [f64]) + Sync,
) -> PyResult<Array<'py>> {
    let mut rows = Vec::with_capacity(N);
    for (value, name, width) in arguments {
        rows.push(Rows::new(value, name, width)?);
    }
    let all: Vec<&Rows<'_>> = rows.iter().collect();
    let lead = common_lead(py, &all)?;
    let mut output = Output::take(py, out, lead.as_deref(), tail, &all)?;
    let count: usize = lead.as_ref().map_or(1, |lead| lead.iter().product());
    let width: usize = tail.iter().product();
    let readers: [_; N] = std::array::from_fn(|i| rows[i].reader());
    let writer = output.writer(width);
    let size = shared.mechanism.nb() * count * (1 + width / 16);
    let detached = size > SMALL;
    let stop = AtomicBool::new(false);
    let work = || -> Result<(), Fault> {
        let mut watch = Watch::new(&stop);
        let mut look = |r: usize| {
            if detached && r.is_multiple_of(STRETCH) {
                watch.look(|_| Ok(()));
                if let Some(error) = watch.raised() {
                    return Err(Fault::Raised(error));
                }
            }
            Ok(())
        };
        let expect_sound = |r: usize, inputs: &[&[f64]; N]| match () {
            () if !check => Ok(()),
            () => match (inputs.iter().position(|input| !all_finite(input)), shared.stretched(inputs[0])) {
                (Some(i), _) => Err(Fault::Input(i, r)),
                (None, Some(joint)) => Err(Fault::Stretched(joint.to_owned())),
                (None, None) => Ok(()),
            },
        };
        let inputs = |r: usize| -> [&[f64]; N] { std::array::from_fn(|i| readers[i].row(r)) };
        shared.with(|dynamics, mechanism| {
            let mut r = 0;
            let beside = beside.filter(|_| count >= FEW);
            // Their memory is made for batches only: it costs more than the dynamics of one state.
            if let Some((kernel, mut lanes)) =
                beside.and_then(|kernel| Some((kernel, DynamicsLanes::new(mechanism)?)))
            {
                const FOUR: usize = DynamicsLanes::STATES;
                while r + FOUR <= count {
                    look(r)?;
                    (r..r + FOUR).try_for_each(|r| expect_sound(r, &inputs(r)))?;
                    let rows = std::array::from_fn(|i| std::array::from_fn(|k| readers[i].row(r + k)));
                    kernel(&mut lanes, mechanism, rows, std::array::from_fn(|k| writer.row(r + k)));
                    if let Some(bad) = (r..r + FOUR).find(|r| check && !all_finite(writer.row(*r))) {
                        return Err(Fault::Output(bad));
                    }
                    r += FOUR;
                }
            }
            for r in r..count {
                look(r)?;
                let inputs = inputs(r);
                expect_sound(r, &inputs)?;
                let own = writer.row(r);
                kernel(dynamics, mechanism, inputs, own);
                if check && !all_finite(own) {
                    return Err(Fault::Output(r));
                }
            }
            Ok(())
        })
    };
    let done = if detached { py.detach(work) } else { work() };
    let row = |r: usize| lead.is_some().then_some(r);
    match done {
        Ok(()) => Ok(output.into_array()),
        Err(Fault::Input(i, r)) => Err(not_finite(py, arguments[i].1, row(r))),
        Err(Fault::Raised(error)) => Err(error),
        Err(Fault::Stretched(joint)) => Err(stretched(py, &joint)),
        Err(Fault::Output(r)) => {
            output.numbers().fill(f64::NAN);
            Err(not_finite(py, "the result", row(r)))
        }
    }
}

/// Axes that twists are given in.
#[derive(Clone, Copy, PartialEq)]
enum Axes {
    Local,
    World,
}

fn axes(py: Python<'_>, frame: &str) -> PyResult<Axes> {
    match frame {
        "local" => Ok(Axes::Local),
        "world" => Ok(Axes::World),
        other => Err(bad_option(py, "frame", other, "give `local` or `world`")),
    }
}

/// Pose of a body or frame in the world; the kinematics must be at the state.
fn pose_of(dynamics: &Dynamics, mechanism: &Model3, place: Place) -> Pose {
    let (body, on) = place.on(mechanism);
    match body {
        Some(body) => dynamics.kinematics.body_pose(mechanism, body) * on,
        None => on,
    }
}

fn twist_of(dynamics: &Dynamics, mechanism: &Model3, place: Place) -> Twist {
    let (body, on) = place.on(mechanism);
    match body {
        Some(body) => on.inv_twist(dynamics.kinematics.body_twist(mechanism, body)),
        None => Twist::zero(),
    }
}

/// Widths of arguments and results.
struct Widths {
    nq: usize,
    nv: usize,
    nu: usize,
}

impl Mechanism {
    fn widths(&self) -> Widths {
        let m = &self.shared.mechanism;
        Widths { nq: m.nq(), nv: m.nv(), nu: m.nu() }
    }
}

/// One width by its name, or a number.
macro_rules! width {
    ($widths:ident, $number:literal) => {
        $number
    };
    ($widths:ident, $name:ident) => {
        $widths.$name
    };
}

/// The kernel for four rows, if there is one.
macro_rules! beside {
    () => {
        None
    };
    ($kernel:expr) => {
        Some($kernel)
    };
}

/// Kernels that take rows of numbers and nothing else: `name(argument: width, …) -> [shape of a row] (kernel for four rows),
/// |dynamics, mechanism, out| body`.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $width:ident),+) -> [$($tail:tt),*] $(($beside:expr))?, |$d:pat_param, $m:pat_param, $out:ident| $body:expr;)+) => {
        #[pymethods]
        impl Mechanism {$(
            $(#[$doc])*
            #[pyo3(signature = ($($argument),+, *, out = None, check = true))]
            fn $name<'py>(
                &self,
                py: Python<'py>,
                $($argument: Any<'_, 'py>),+,
                out: Option<Any<'_, 'py>>,
                check: bool,
            ) -> PyResult<Array<'py>> {
                let widths = self.widths();
                let arguments = [$(($argument, stringify!($argument), widths.$width)),+];
                let tail: &[usize] = &[$(width!(widths, $tail)),*];
                apply(py, &self.shared, arguments, out, tail, check, beside!($($beside)?), |$d, $m, [$($argument),+], $out| $body)
            }
        )+}
    };
}

kernels! {
    /// Generalised forces of a motion: `M(q) a + c(q, v) + g(q)`. Springs, dampers and inputs are not part of it.
    ///
    /// >>> import leastaction as la, numpy as np
    /// >>> mech = la.load("@chain/3")
    /// >>> mech.inverse_dynamics(np.zeros((5, 3)), np.zeros(3), np.zeros(3)).shape
    /// (5, 3)
    inverse_dynamics(q: nq, v: nv, a: nv) -> [nv] (DynamicsLanes::inverse_dynamics), |d, m, out| d.inverse_dynamics_into(m, q, v, a, out);

    /// Accelerations under generalised forces and gravity. Springs, dampers and inputs are not part of it; see `acceleration`.
    ///
    /// >>> import leastaction as la, numpy as np
    /// >>> mech = la.load("@chain/3")
    /// >>> q, v = np.array([0.1, 0.2, 0.3]), np.ones(3)
    /// >>> a = mech.forward_dynamics(q, v, np.zeros(3))
    /// >>> bool(abs(mech.inverse_dynamics(q, v, a)).max() < 1e-12)
    /// True
    forward_dynamics(q: nq, v: nv, tau: nv) -> [nv] (DynamicsLanes::forward_dynamics), |d, m, out| d.forward_dynamics_into(m, q, v, tau, out);

    /// Accelerations of the free motion under the inputs: every force of the model but those that close loops.
    acceleration(q: nq, v: nv, u: nu) -> [nv], |d, m, out| d.acceleration_into(m, q, v, u, out);

    /// Generalised forces of springs, dampers, inputs, drag and thrusters.
    applied_forces(q: nq, v: nv, u: nu) -> [nv], |d, m, out| d.applied_forces_into(m, q, v, u, out);

    /// The mass matrix, armature included.
    ///
    /// >>> import leastaction as la, numpy as np
    /// >>> M = la.load("@chain/3").mass_matrix(np.zeros(3))
    /// >>> bool(np.array_equal(M, M.T) and np.linalg.eigvalsh(M).min() > 0)
    /// True
    mass_matrix(q: nq) -> [nv, nv], |d, m, out| d.mass_matrix_into(m, q, out);

    /// Forces of gravity and velocity: `c(q, v) + g(q)`, inverse dynamics without acceleration.
    bias(q: nq, v: nv) -> [nv], |d, m, out| d.inverse_dynamics_into(m, q, v, &zeros(m.nv()), out);

    /// Kinetic energy in joule, armature included.
    kinetic_energy(q: nq, v: nv) -> [], |d, m, out| out[0] = d.observe(m, q, v).kinetic;

    /// Potential energy of gravity and springs in joule.
    potential_energy(q: nq) -> [], |d, m, out| out[0] = d.observe(m, q, &zeros(m.nv())).potential;

    /// Kinetic plus potential energy in joule.
    energy(q: nq, v: nv) -> [], |d, m, out| out[0] = d.observe(m, q, v).total();

    /// Centre of mass in the world.
    com(q: nq) -> [3], |d, m, out| out.copy_from_slice(&d.observe(m, q, &zeros(m.nv())).com.0);

    /// Total momentum, angular first, world axes, about the world origin.
    momentum(q: nq, v: nv) -> [6], |d, m, out| out.copy_from_slice(&d.observe(m, q, v).momentum.to_array());

    /// Total momentum, angular first, world axes, about the centre of mass.
    centroidal_momentum(q: nq, v: nv) -> [6],
        |d, m, out| out.copy_from_slice(&Dynamics::centroidal(&d.observe(m, q, v)).to_array());

    /// The matrix, 6 × nv, that makes the centroidal momentum of the velocities.
    centroidal_matrix(q: nq) -> [6, nv], |d, m, out| {
        let n = m.nv();
        let mut unit = vec![0.0; n];
        for c in 0..n {
            unit[c] = 1.0;
            let momentum = Dynamics::centroidal(&d.observe(m, q, &unit)).to_array();
            (0..6).for_each(|r| out[r * n + c] = momentum[r]);
            unit[c] = 0.0;
        }
    };

    /// Positions moved by a tangent: `q ⊞ dq`, which is `q + dq` but for rotations.
    retract(q: nq, dq: nv) -> [nq], |_, m, out| m.retract(q, dq, out);

    /// The tangent at `a` that leads to `b`: `retract(a, difference(a, b)) == b`.
    difference(a: nq, b: nq) -> [nv], |_, m, out| m.difference(a, b, out);
}

#[pymethods]
impl Mechanism {
    /// Pose of a body or frame in the world as a 4 × 4 matrix.
    #[pyo3(signature = (place, q, *, out = None, check = true))]
    fn pose<'py>(
        &self,
        py: Python<'py>,
        place: &str,
        q: Any<'_, 'py>,
        out: Option<Any<'_, 'py>>,
        check: bool,
    ) -> PyResult<Array<'py>> {
        let place = self.place(py, place)?;
        let nq = self.shared.mechanism.nq();
        apply(py, &self.shared, [(q, "q", nq)], out, &[4, 4], check, None, |d, m, [q], out| {
            d.kinematics.update_positions(m, q);
            let pose = pose_of(d, m, place);
            for i in 0..3 {
                for j in 0..3 {
                    out[4 * i + j] = pose.rot.column(j).0[i];
                }
                out[4 * i + 3] = pose.pos.0[i];
            }
            out[12..].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]);
        })
    }

    /// Twist of a body or frame, angular first: in its own frame, or in world axes about the world origin.
    #[pyo3(signature = (place, q, v, *, frame = "local", out = None, check = true))]
    fn twist<'py>(
        &self,
        py: Python<'py>,
        place: &str,
        q: Any<'_, 'py>,
        v: Any<'_, 'py>,
        frame: &str,
        out: Option<Any<'_, 'py>>,
        check: bool,
    ) -> PyResult<Array<'py>> {
        let (place, axes) = (self.place(py, place)?, axes(py, frame)?);
        let (nq, n) = (self.shared.mechanism.nq(), self.shared.mechanism.nv());
        let arguments = [(q, "q", nq), (v, "v", n)];
        apply(py, &self.shared, arguments, out, &[6], check, None, |d, m, [q, v], out| {
            d.kinematics.update(m, q, v);
            let mut twist = twist_of(d, m, place);
            if axes == Axes::World {
                twist = pose_of(d, m, place).twist(twist);
            }
            out.copy_from_slice(&twist.to_array());
        })
    }

    /// Jacobian of a body or frame, 6 × nv, angular rows first: its twist per unit rate of each coordinate.
    #[pyo3(signature = (place, q, *, frame = "local", out = None, check = true))]
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        place: &str,
        q: Any<'_, 'py>,
        frame: &str,
        out: Option<Any<'_, 'py>>,
        check: bool,
    ) -> PyResult<Array<'py>> {
        let (place, axes) = (self.place(py, place)?, axes(py, frame)?);
        let (nq, n) = (self.shared.mechanism.nq(), self.shared.mechanism.nv());
        apply(py, &self.shared, [(q, "q", nq)], out, &[6, n], check, None, |d, m, [q], out| {
            let still = zeros(n);
            d.kinematics.update(m, q, &still);
            out.fill(0.0);
            let (body, on) = place.on(m);
            let Some(body) = body else { return };
            let mut columns = vec![Twist::zero(); n];
            d.kinematics.body_jacobian_into(m, body, &mut columns);
            let world = (axes == Axes::World).then(|| pose_of(d, m, place));
            for (c, column) in columns.iter().enumerate() {
                let own = on.inv_twist(*column);
                let shown = world.map_or(own, |pose| pose.twist(own));
                for (r, x) in shown.to_array().iter().enumerate() {
                    out[r * n + c] = *x;
                }
            }
        })
    }
}

fn zeros(n: usize) -> Cow<'static, [f64]> {
    const STILL: [f64; 64] = [0.0; 64];
    if n <= STILL.len() { Cow::Borrowed(&STILL[..n]) } else { Cow::Owned(vec![0.0; n]) }
}
