"""MuJoCo: steps of chains and loops, gap of a four-bar, linearised steps, errors of its RK4.

Called as `peer_mujoco.py MODELS SECTION SIZES...`; models are MJCF files written by `leastaction convert`.
"""

import pathlib
import sys

import mujoco
import numpy as np

from timing import emit, line, timed

INTEGRATORS = {"Euler": mujoco.mjtIntegrator.mjINT_EULER, "RK4": mujoco.mjtIntegrator.mjINT_RK4,
               "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}


def load(folder, name, integrator="Euler", step=1e-4):
    model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
    model.opt.integrator = INTEGRATORS[integrator]
    model.opt.timestep = step
    # Shapes are there to be looked at.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def step(folder, names):
    for name in names:
        balls = name.startswith("ball")
        for integrator in ("Euler",) if balls else ("Euler", "RK4"):
            model, data = load(folder, name, integrator)
            best, median = timed(lambda k: mujoco.mj_step(model, data, nstep=k))
            yield line("step", "mujoco", integrator, name, model.nv, best, median)


def loop(folder, names):
    for name in names:
        model, data = load(folder, name, "Euler", 1e-3)
        best, median = timed(lambda k: mujoco.mj_step(model, data, nstep=k))
        yield line("loop", "mujoco", "Euler, soft loops", name, model.neq, best, median)


def gap(folder, names):
    """Distance of the two bodies' closure points, largest over 60 s."""
    for name in names:
        for integrator in ("Euler", "RK4"):
            model, data = load(folder, name, integrator, 0.01)
            worst = 0.0
            for _ in range(6000):
                mujoco.mj_step(model, data)
                # The residual of a connect is its first three rows.
                rows = data.efc_pos[: 3 * model.neq]
                worst = max(worst, float(np.abs(rows).max()) if len(rows) else float("nan"))
            yield line("gap", "mujoco", f"{integrator} default", name, model.neq, float("nan"), gap=worst)


def linearize(folder, names):
    for name in names:
        model, data = load(folder, name, "Euler")
        nx = 2 * model.nv + model.na
        a, b = np.zeros((nx, nx)), np.zeros((nx, max(model.nu, 1)))[:, : model.nu]
        mujoco.mj_forward(model, data)

        def call(k):
            for _ in range(k):
                mujoco.mjd_transitionFD(model, data, 1e-6, False, a, b if model.nu else None, None, None)

        best, median = timed(call)
        yield line("linearize", "mujoco", "mjd_transitionFD Euler forward", name, model.nv, best, median)


def precision(folder, names):
    """States every 0.1 s of a 10 s run, and the cost per simulated second."""
    for name in names:
        for h in (0.01, 0.005, 0.002, 0.001):
            model, data = load(folder, name, "RK4", h)
            per = round(0.1 / h)
            states = []
            for _ in range(100):
                mujoco.mj_step(model, data, nstep=per)
                states.append(data.qpos.copy().tolist())
            best, median = timed(lambda k: mujoco.mj_step(model, data, nstep=k))
            yield line("precision", "mujoco", "RK4", name, model.nv, best, median, dt=h, q=states)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
