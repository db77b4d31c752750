"""SciPy with Pinocchio: a 7-joint reach by least squares on B-spline control points, torque and jerk.

Rest to rest in 2 s, quintic spline, 50 control points, 200 samples; the cost is the mean over samples of the squared torque
(in units of 10 N m) plus that of the squared jerk (in units of 100 rad/s^3).
"""

import pathlib
import sys
import time

import numpy as np
import pinocchio as pin
from scipy.interpolate import BSpline
from scipy.optimize import least_squares

from timing import emit, line

DURATION, CONTROL, DEGREE, SAMPLES = 2.0, 50, 5, 200


def optimum(folder, names):
    for name in names:
        model = pin.buildModelFromUrdf(str(folder / f"{name}.urdf"))
        data, n = model.createData(), model.nv
        knots = np.concatenate([np.zeros(DEGREE), np.linspace(0, DURATION, CONTROL - DEGREE + 1), np.full(DEGREE, DURATION)])
        times = np.linspace(0, DURATION, SAMPLES)
        basis = [np.column_stack([BSpline(knots, np.eye(CONTROL)[c], DEGREE).derivative(d)(times) if d else
                                  BSpline(knots, np.eye(CONTROL)[c], DEGREE)(times) for c in range(CONTROL)]) for d in range(4)]
        start, goal = np.full(n, 0.0), np.linspace(0.5, 1.0, n)
        greville = np.array([knots[c + 1: c + 1 + DEGREE].mean() for c in range(CONTROL)]) / DURATION
        profile = 10 * greville**3 - 15 * greville**4 + 6 * greville**5
        theta0 = start + np.outer(profile, goal - start)
        theta0[:3], theta0[-3:] = start, goal
        free = slice(3, CONTROL - 3)

        def states(x):
            theta = theta0.copy()
            theta[free] = x.reshape(-1, n)
            return [b @ theta for b in basis]

        def residual(x):
            q, v, a, j = states(x)
            tau = np.array([pin.rnea(model, data, *s) for s in zip(q, v, a)])
            return np.concatenate([(tau / 10).ravel(), (j / 100).ravel()]) / np.sqrt(SAMPLES)

        def slope(x):
            q, v, a, _ = states(x)
            out = np.zeros((2 * SAMPLES * n, (CONTROL - 6) * n))
            for s in range(SAMPLES):
                dq, dv, da = pin.computeRNEADerivatives(model, data, q[s], v[s], a[s])
                row = sum(np.kron(basis[d][s, free], m) for d, m in enumerate((dq, dv, da)))
                out[s * n:(s + 1) * n] = row / 10
                out[(SAMPLES + s) * n:(SAMPLES + s + 1) * n] = np.kron(basis[3][s, free], np.eye(n)) / 100
            return out / np.sqrt(SAMPLES)

        begin = time.perf_counter()
        found = least_squares(residual, theta0[free].ravel(), jac=slope, method="trf", xtol=1e-12, ftol=1e-12, gtol=1e-12)
        spent = time.perf_counter() - begin
        yield line("optimum", "scipy+pinocchio", "least_squares, RNEA derivatives", name, n, spent * 1e6,
                   cost=float(2 * found.cost), iterations=int(found.njev))


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
