"""Everything with a state travels: through Ray and Dask, into spawned and forked processes, by every pickle protocol."""

from __future__ import annotations

import multiprocessing
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from conftest import chain, five_bar, tree  # noqa: E402, F401

import leastaction as la  # noqa: E402

NAMES = ["chain", "tree", "five_bar"]


def ends(sim) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities after a thousand further steps."""
    sim.run(1000)
    return sim.state.q.copy(), sim.state.v.copy()


def begun(mech: la.Mechanism):
    sim = la.Simulator(mech, step=0.002)
    sim.run(50)
    return sim


def same(a, b) -> bool:
    return all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_a_simulator_continues_bit_for_bit_in_ray(name, request):
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
    sim = begun(request.getfixturevalue(name))

    # A worker does not have this file: what is defined here travels whole.
    def run(sim):
        sim.run(1000)
        return sim.state.q.copy(), sim.state.v.copy()

    there = ray.get(ray.remote(run).remote(sim))
    assert same(there, ends(sim))


@pytest.mark.parametrize("name", NAMES)
def test_a_simulator_continues_bit_for_bit_in_dask(name, request):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            sim = begun(request.getfixturevalue(name))
            assert same(client.submit(ends, sim).result(), ends(sim))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_simulator_continues_bit_for_bit_in_another_process(method, chain):
    sim = begun(chain)
    # Threads have worked before the fork.
    la.rollout(chain, q=np.zeros((64, 7)), v=1.0, steps=5, step=0.01, threads=2)
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert same(pool.apply(ends, (sim,)), ends(sim))


def rolled(mech: la.Mechanism) -> np.ndarray:
    return la.rollout(mech, q=np.zeros((64, mech.nq)), v=1.0, steps=5, step=0.01, threads=2).q


def test_a_forked_child_rolls_out_too(chain):
    here = rolled(chain)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert np.array_equal(pool.apply(rolled, (chain,)), here)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_class_pickles(protocol, tree):
    def back(x):
        return pickle.loads(pickle.dumps(x, protocol))

    sim = begun(tree)
    assert same(ends(back(sim)), ends(sim))
    batch = la.BatchSimulator(tree, 3, step=0.01)
    batch.step()
    copy = back(batch)
    batch.step(steps=1000)
    copy.step(steps=1000)
    assert np.array_equal(batch.q, copy.q)
    plant = la.Plant(tree, step=0.01, parameters=["mass"])
    start = tree.start_state()
    for a, b in zip(plant.linearize(start.q, start.v), back(plant).linearize(start.q, start.v), strict=True):
        assert np.array_equal(a, b)
    assert back(tree) == tree and back(start) == start
    run = la.simulate(tree, duration=0.1, report=False)
    assert np.array_equal(back(run)["q"], run["q"])
    lin = la.linearize(tree, start, parameters=["mass"], step=0.01)
    assert np.array_equal(back(lin).C, lin.C)
