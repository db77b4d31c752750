"""MuJoCo: steps of chains, loops and robots, runs of a four-bar and of a pendulum, linearised steps, rollouts.

Called as `peer_mujoco.py MODELS SECTION NAMES...`; models are MJCF files written by `leastaction convert`.
"""

import pathlib
import sys

import mujoco
import numpy as np

from loops import closures
from timing import emit, line, sampled, timed

INTEGRATORS = {"Euler": mujoco.mjtIntegrator.mjINT_EULER, "RK4": mujoco.mjtIntegrator.mjINT_RK4}


def from_rows(text):
    """A chain longer than its XML reader can nest, made body by body."""
    spec = mujoco.MjSpec()
    bodies, start = [spec.worldbody], []
    for row in text.splitlines():
        word, *rest = row.split()
        if word == "start":
            start = [float(x) for x in rest]
        if word != "body":
            continue
        x = [float(value) for value in rest[2:]]
        body = bodies[int(rest[0])].add_body(pos=x[12:15], mass=x[15], ipos=x[16:19], inertia=[x[19], x[22], x[24]], explicitinertial=True)
        if rest[1] == "r":
            body.add_joint(type=mujoco.mjtJoint.mjJNT_HINGE, axis=x[:3])
        else:
            body.add_joint(type=mujoco.mjtJoint.mjJNT_BALL)
        bodies.append(body)
    if "s" in (row.split()[2] for row in text.splitlines() if row.startswith("body")):
        # Quaternions are x y z w in rows and w x y z here.
        start = [start[4 * k + i] for k in range(len(start) // 4) for i in (3, 0, 1, 2)]
    spec.add_key(qpos=start)
    return spec.compile()


def load(folder, name, integrator="Euler", step=1e-4):
    try:
        model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
    except ValueError as error:
        if "too deep" not in str(error):
            raise
        model = from_rows((folder / f"{name}.txt").read_text())
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
        for integrator in ("Euler",) if name.startswith("ball") else ("Euler", "RK4"):
            model, data = load(folder, name, integrator)
            best, median = timed(lambda k: mujoco.mj_step(model, data, nstep=k))
            yield line("step", "mujoco", integrator, name, model.nv, best, median)


def stiffen(model):
    """Loops as hard as the solver takes them: a time constant of two steps, the largest impedance."""
    model.eq_solref[:] = (2 * model.opt.timestep, 1.0)
    model.eq_solimp[:, :3] = (0.9999, 0.9999, 0.001)
    model.opt.tolerance = 1e-14
    model.opt.iterations = 200


def loop(folder, names):
    for name in names:
        for stiff in (False, True):
            model, data = load(folder, name, "Euler", 1e-3)
            if stiff:
                stiffen(model)
            best, median = timed(lambda k: mujoco.mj_step(model, data, nstep=k))
            yield line("loop", "mujoco", "Euler, stiff loops" if stiff else "Euler, soft loops", name, model.neq, best, median)


def gap(folder, names):
    """A four-bar over 60 s at 10 ms, sampled every 0.1 s."""
    for name in names:
        for integrator, stiff in (("Euler", False), ("RK4", False), ("Euler", True), ("RK4", True)):
            model, data = load(folder, name, integrator, 0.01)
            model.opt.tolerance = 1e-14
            if stiff:
                stiffen(model)
            order = [model.joint(joint).qposadr[0] for joint in closures(folder, name)[0]]
            q, v, best = sampled(lambda: mujoco.mj_step(model, data, nstep=10), lambda: (data.qpos[order], data.qvel[order]), 600, 10)
            yield line("gap", "mujoco", f"{integrator}, {'stiff' if stiff else 'soft'} loops", name, 1, best, dt=0.01, q=q, v=v)


def linearize(folder, names):
    for name in names:
        model, data = load(folder, name, "Euler", 1e-3)
        a = np.zeros((2 * model.nv, 2 * model.nv))
        mujoco.mj_forward(model, data)

        def call(k):
            for _ in range(k):
                mujoco.mjd_transitionFD(model, data, 1e-6, False, a, None, None, None)

        best, median = timed(call)
        yield line("linearize", "mujoco", "mjd_transitionFD, Euler, forward differences", name, model.nv, best, median)


def rollout(folder, names):
    """Many states on one thread: 256 states within ±0.5 rad and ±0.3 rad/s, 200 steps of 1 ms; contacts and limits off."""
    from mujoco import rollout as rollouts

    rng = np.random.default_rng(7)
    for name in names:
        for integrator in ("Euler", "RK4"):
            model, data = load(folder, name, integrator, 1e-3)
            model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
            spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
            states = np.empty((256, mujoco.mj_stateSize(model, spec)))
            hinges = [model.jnt_qposadr[j] for j in range(model.njnt) if model.jnt_type[j] >= int(mujoco.mjtJoint.mjJNT_SLIDE)]
            start = data.qpos.copy()
            for row in states:
                data.qpos[:] = start
                if name != "talos":
                    data.qpos[hinges] = rng.uniform(-0.5, 0.5, len(hinges))
                data.qvel[:] = rng.uniform(-0.3, 0.3, model.nv)
                mujoco.mj_getState(model, data, row, spec)
            best, median = timed(lambda k: [rollouts.rollout(model, data, states, nstep=200) for _ in range(k)], batches=5, budget=5.0)
            yield line("rollout", "mujoco", f"rollout, {integrator}", name, model.nv, best / 51200, median / 51200, dt=1e-3)


def precision(folder, names):
    """A pendulum over 10 s, sampled every 0.1 s."""
    for name in names:
        for h in (0.02, 0.01, 0.005, 0.0025, 0.001, 0.0005):
            model, data = load(folder, name, "RK4", h)
            per = round(0.1 / h)
            q, v, best = sampled(lambda: mujoco.mj_step(model, data, nstep=per), lambda: (data.qpos, data.qvel), 100, per)
            yield line("precision", "mujoco", "RK4", name, model.nv, best, dt=h, q=q, v=v)


if __name__ == "__main__":
    emit(globals()[sys.argv[2]](pathlib.Path(sys.argv[1]), sys.argv[3:]))
