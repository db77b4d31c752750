"""Kernels against Pinocchio on URDFs, and what a call costs beside it."""

import time

import numpy as np
import pytest

import leastaction as la

pin = pytest.importorskip("pinocchio")
descriptions = pytest.importorskip("robot_descriptions")

ROBOTS = [
    "panda_description", "ur5_description", "ur10_description", "iiwa14_description", "z1_description", "gen3_description",
    "a1_description", "go1_description", "go2_description", "anymal_b_description", "anymal_c_description",
    "solo_description", "aliengo_description", "h1_description", "g1_description", "talos_description", "atlas_v4_description",
    "jvrc_description", "fetch_description", "tiago_description", "double_pendulum_description", "edo_description",
]


def urdf(name):
    module = pytest.importorskip(f"robot_descriptions.{name}")
    return module.URDF_PATH


def pair(path):
    mech = la.load(path, base="fixed", ignore=["friction", "mimic", "couplings", "loops"])
    model = pin.buildModelFromUrdf(str(path))
    return mech, model, model.createData()


def order(mech, model):
    """Where Pinocchio has our coordinates; robots with continuous joints have two numbers there."""
    names = [name for name in model.names[1:]]
    if set(names) != set(mech.joints) or model.nq != model.nv:
        pytest.skip("other joints or continuous ones")
    return np.array([model.joints[model.getJointId(joint)].idx_v for joint in mech.joints])


@pytest.mark.parametrize("name", ROBOTS)
def test_kernels_agree(name):
    try:
        path = urdf(name)
    except Exception as error:  # noqa: BLE001
        pytest.skip(f"can't be fetched: {error}")
    mech, model, data = pair(path)
    at = order(mech, model)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, mech.nv))
    there = [np.empty(mech.nv) for _ in range(3)]
    for x, y in zip((q, v, a), there, strict=True):
        y[at] = x
    scale = lambda x: 1e-12 * max(1.0, np.abs(x).max())  # noqa: E731
    tau = pin.rnea(model, data, *there)[at]
    assert np.abs(mech.inverse_dynamics(q, v, a) - tau).max() < scale(tau)
    mass = pin.crba(model, data, there[0])
    mass = np.triu(mass) + np.triu(mass, 1).T
    assert np.abs(mech.mass_matrix(q) - mass[np.ix_(at, at)]).max() < scale(mass)
    found = mech.forward_dynamics(q, v, tau)
    # Accelerations lose the condition of the mass matrix.
    assert np.abs(found - a).max() < 1e-12 * np.linalg.cond(mass) * max(1.0, np.abs(a).max())
    body = mech.bodies[-1]
    if model.existFrame(body):
        frame = model.getFrameId(body)
        jacobian = pin.computeFrameJacobian(model, data, there[0], frame, pin.LOCAL)[:, at]
        jacobian = np.vstack([jacobian[3:], jacobian[:3]])
        assert np.abs(mech.jacobian(body, q) - jacobian).max() < 1e-12 * max(1.0, np.abs(jacobian).max())


def best(call, repeat=200):
    times = []
    for _ in range(repeat):
        begin = time.perf_counter_ns()
        for _ in range(50):
            call()
        times.append((time.perf_counter_ns() - begin) / 50)
    return min(times)


def test_a_call_costs_no_more_than_theirs(capsys):
    mech, model, data = pair(urdf("panda_description"))
    model_nv = model.nv
    rng = np.random.default_rng(0)
    n = mech.nv
    q, v, a = rng.uniform(-1, 1, (3, n))
    there = rng.uniform(-1, 1, (3, model_nv))
    rounds = []
    for _ in range(5):
        rounds.append([
            best(lambda: mech.inverse_dynamics(q, v, a)),
            best(lambda: pin.rnea(model, data, *there)),
            best(lambda: mech.forward_dynamics(q, v, a)),
            best(lambda: pin.aba(model, data, *there)),
            best(lambda: mech.nq),
        ])
    ours, rnea, forward, aba, empty = np.median(rounds, axis=0)
    table = rng.uniform(-1, 1, (10_000, 3 * n))
    parts = np.split(table, 3, axis=1)
    batch, loop = [], []
    for _ in range(5):
        begin = time.perf_counter()
        mech.inverse_dynamics(*parts)
        batch.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        for _ in range(10_000):
            pin.rnea(model, data, *there)
        loop.append(time.perf_counter() - begin)
    with capsys.disabled():
        print(f"\ninverse_dynamics {ours:.0f} ns, pin.rnea {rnea:.0f} ns ({ours / rnea:.2f}); forward_dynamics {forward:.0f} ns, "
              f"pin.aba {aba:.0f} ns ({forward / aba:.2f}); a getter {empty:.0f} ns; 10,000 states "
              f"{1e3 * np.median(batch):.2f} ms, loop {1e3 * np.median(loop):.2f} ms ({np.median(batch) / np.median(loop):.2f})")
    assert ours <= rnea and forward <= aba and np.median(batch) <= 0.35 * np.median(loop)


def test_batches_copy_nothing():
    import resource
    import tracemalloc

    mech = la.load("@chain/7")
    table = np.random.default_rng(0).uniform(-1, 1, (100_000, 21))
    parts = np.split(table, 3, axis=1)
    out = mech.inverse_dynamics(*parts)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    mech.inverse_dynamics(*parts, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000
    fresh = mech.inverse_dynamics(*parts)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < fresh.nbytes + 1_000_000


def test_nothing_leaks():
    import gc
    import resource

    def cycle():
        mech = la.load("@chain/2")
        sim = la.Simulator(mech)
        return sim.state.q

    for _ in range(2000):
        cycle()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20_000):
        cycle()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048
