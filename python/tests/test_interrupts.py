"""Ctrl-C ends every long call within a fifth of a second, and leaves what there is."""

import re
import signal
import threading
import time

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS

EXAMPLES = MODELS.parent / "examples"
CHAIN = la.load("@chain/20")
SIM = la.Simulator(CHAIN, step=1e-4)
BATCH = la.BatchSimulator(CHAIN, 64, step=1e-4, threads=2)
ALONE = la.BatchSimulator(CHAIN, 1, step=1e-4, threads=1)
PLANT = la.Plant(CHAIN, step=1e-4, parameters=["mass"], threads=2)
POLE = la.load(MODELS / "cart-pole.json")
MANY = np.zeros((2_000_000, 20))


def slow(name: str, folder, **numbers: float) -> str:
    """A problem file with other numbers, so that it takes long."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8").replace("../models/", f"{MODELS.as_posix()}/")
    for key, value in numbers.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    (folder / "slow.toml").write_text(text, encoding="utf-8")
    return str(folder / "slow.toml")


def reach() -> la.MotionProblem:
    terms = [la.Term("torque_rate", 1.0)]
    return la.MotionProblem(la.load("@chain/12"), duration=1.0, start=np.zeros(12), end=np.ones(12), terms=terms, control_points=80)


def backward(folder) -> object:
    qs, vs = (np.zeros((20_001, 20)) for _ in range(2))
    return PLANT.rollout_pull_back(qs, vs, np.zeros((20_000, 0)), qs, vs)


# What is called with a folder, and what of it is left where it is interrupted.
CALLS = {
    "simulate": (lambda folder: la.simulate(CHAIN, duration=1e5, step=1e-4, report=False, every=1000), la.Run),
    "simulate with a report": (lambda folder: la.simulate("@chain/3", duration=1e3, step=1e-4), la.Run),
    "rollout": (lambda folder: la.rollout(CHAIN, q=np.zeros((4, 20)), steps=10**8, step=1e-4, threads=2), la.Rollout),
    "rollout of rows": (lambda folder: la.rollout(CHAIN, q=np.zeros((100, 20)), steps=10**4, step=1e-4, record="rows", threads=2), la.Rollout),
    "rollout with a controller": (
        lambda folder: la.rollout(POLE, q=np.zeros((1000, 2)), steps=10**6, step=1e-4, controller=lambda t, q, v: -v[:, :1], threads=2),
        la.Rollout,
    ),
    "control of 15,000 steps": (lambda folder: la.control(slow("cart_pole", folder, step=0.0002)), dict),
    "control of a quadrotor": (lambda folder: la.control(slow("quadrotor", folder, step=0.0005), report=False), dict),
    "optimize": (lambda folder: la.optimize(reach(), report=False), dict),
    "run": (lambda folder: SIM.run(10**9), None),
    "a batch": (lambda folder: BATCH.step(steps=10**8), None),
    "a batch of one": (lambda folder: ALONE.step(steps=10**9), None),
    "starts of a batch": (lambda folder: la.BatchSimulator(CHAIN, 100_000, step=1e-4, threads=2), None),
    "motion of a plant": (lambda folder: PLANT.rollout(np.zeros(20), np.zeros(20), np.zeros((10**6, 0))), None),
    "gradient of a motion": (backward, None),
    "linearize": (lambda folder: PLANT.linearize(MANY[:100_000], MANY[:100_000]), None),
    "inverse dynamics": (lambda folder: [CHAIN.inverse_dynamics(MANY, MANY, MANY) for _ in range(20)], None),
    "sweep": (lambda folder: la.Sweep(CHAIN, {"initial.q.*": la.uniform(-1, 1)}, runs=10**5, duration=10.0).run(folder, threads=2, report=False), None),
}


@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c(name, tmp_path):
    work, kind = CALLS[name]
    # Whoever starts the tests in the background may have told them to ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    came = {}

    def interrupt() -> None:
        came.update(wall=time.perf_counter(), own=time.process_time())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt) as caught:
            work(tmp_path)
            timer.cancel()
        # On a machine that others use the own time of two threads counts, not the clock.
        took = min(time.perf_counter() - came["wall"], time.process_time() - came["own"])
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert took < 0.2
    partial = getattr(caught.value, "partial", None)
    assert partial is None if kind is None else isinstance(partial, kind)
    if kind is dict:
        assert partial["status"] == "Interrupted" and "history" in partial
    if kind is la.Rollout:
        assert len(partial) == len(partial.ok) and not partial.failures


def test_a_simulator_goes_on_after_it():
    assert SIM.state.t >= 0 and ALONE.ok.all()
    SIM.run(3)
    ALONE.step()
