"""SciPy with Pinocchio: the reach of reach.py by nonlinear least squares with exact first derivatives."""

import pathlib
import sys
import time

import numpy as np
import pinocchio as pin
from scipy.optimize import least_squares

from arm import read
from reach import JERK, SAMPLES, SPACING, TORQUE, tables
from timing import emit, line


def arm(path):
    """The arm joint by joint: a URDF without limits would give joints of two coordinates."""
    model = pin.Model()
    for k, (axis, turn, at, mass, com, inertia) in enumerate(read(path)):
        unit = {(1, 0, 0): pin.JointModelRX, (0, 1, 0): pin.JointModelRY, (0, 0, 1): pin.JointModelRZ}.get(tuple(axis))
        joint = model.addJoint(k, unit() if unit else pin.JointModelRevoluteUnaligned(axis), pin.SE3(turn, at), f"j{k}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    return model


def optimum(folder, names):
    basis, points = tables()
    torque_scale, jerk_scale = np.sqrt(SPACING * TORQUE), np.sqrt(SPACING * JERK)
    for name in names:
        model = arm(folder / f"{name}.txt")
        data, n = model.createData(), model.nv
        inner = [b[:, 3:-3] for b in basis]
        near = [np.nonzero(inner[3][s] ** 2 + inner[0][s] ** 2)[0] for s in range(SAMPLES)]

        def states(x):
            full = points.copy()
            full[3:-3] = x.reshape(-1, n)
            return [b @ full for b in basis]

        def residual(x):
            q, v, a, j = states(x)
            tau = np.array([pin.rnea(model, data, *s) for s in zip(q, v, a)])
            return np.concatenate([(torque_scale * tau).ravel(), (jerk_scale * j).ravel()])

        def slope(x):
            q, v, a, _ = states(x)
            out = np.zeros((2, SAMPLES, n, inner[0].shape[1], n))
            for s in range(SAMPLES):
                blocks = pin.computeRNEADerivatives(model, data, q[s], v[s], a[s])
                for d, block in enumerate(blocks):
                    out[0, s][:, near[s]] += torque_scale * block[:, None, :] * inner[d][s, near[s]][None, :, None]
                out[1, s][:, near[s]] = jerk_scale * np.eye(n)[:, None, :] * inner[3][s, near[s]][None, :, None]
            return out.reshape(2 * SAMPLES * n, -1)

        begin, cpu = time.perf_counter(), time.process_time()
        found = least_squares(residual, points[3:-3].ravel(), jac=slope, method="trf", xtol=1e-10, ftol=1e-10, gtol=1e-8)
        spent, cpu = time.perf_counter() - begin, time.process_time() - cpu
        yield line("optimum", "scipy+pinocchio", "least_squares, RNEA derivatives", name, n, spent * 1e6, cpu_us=cpu * 1e6,
                   cost=float(found.cost), iterations=int(found.njev))


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
