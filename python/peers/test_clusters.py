"""Everything with a state travels: through Ray and Dask, into spawned and forked processes, by every pickle protocol."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
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


def swept() -> la.Sweep:
    """Long enough that a worker can be killed on the way."""
    vary = {"initial.q.*": la.uniform(-0.5, 0.5), "initial.v.*": la.normal(0.0, 0.3)}
    return la.Sweep(la.load("@chain/5"), vary, runs=2000, seed=5, chunk=20, duration=2.0, measure={"energy_error": "largest"})


def parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "runs").glob("part-*"))}


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole")
    swept().run(folder, report=False)
    return parts(folder)


def killer(folder: Path, victims, times: int) -> list[int]:
    """Kills a worker after the first parts, several times; who was killed."""
    killed: list[int] = []

    def kill() -> None:
        for k in range(times):
            while len(parts(folder)) < 5 + 25 * k:
                time.sleep(0.02)
            while len(killed) <= k and len(parts(folder)) < 95:
                for pid in victims()[:1]:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                time.sleep(0.01)

    threading.Thread(target=kill, daemon=True).start()
    return killed


def test_a_sweep_on_ray_has_the_same_bytes_though_workers_are_killed(whole, tmp_path):
    ray = pytest.importorskip("ray")
    psutil = pytest.importorskip("psutil")
    ray.shutdown()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)

    def victims() -> list[int]:
        # Workers of this test only; Ray calls them after what they do.
        return [p.pid for p in psutil.Process().children(recursive=True) if any("ray::_chunk" in word for word in p.cmdline())]

    killed = killer(tmp_path, victims, 3)
    done = swept().run(tmp_path, executor="ray", report=False)
    ray.shutdown()
    assert parts(tmp_path) == whole and len(killed) == 3 and done.retries >= 3


def test_a_sweep_on_dask_has_the_same_bytes_though_workers_are_killed(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:

            def victims() -> list[int]:
                return [worker.pid for worker in cluster.workers.values() if worker.pid]

            killed = killer(tmp_path, victims, 3)
            done = swept().run(tmp_path, executor=client, report=False)
    assert parts(tmp_path) == whole and len(killed) == 3 and done.retries >= 3


def compute_differently() -> None:
    """Makes a worker one of another build: to it every sweep is from elsewhere."""
    read = la.sweeps._parsed
    la.sweeps._parsed = lambda text: read(text.replace('"fingerprint":"', '"fingerprint":"f'))


def test_of_a_mixed_cluster_those_that_agree_do_the_work(whole, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            wrong, right = list(client.scheduler_info()["workers"])
            client.run(compute_differently, workers=[wrong])
            done = swept().run(tmp_path / "mixed", executor=client, report=False)
            assert parts(tmp_path / "mixed") == whole and done.retries > 0
            client.run(compute_differently, workers=[right])
            with pytest.raises(la.errors.FingerprintMismatch):
                swept().run(tmp_path / "none", executor=client, report=False)
    assert not parts(tmp_path / "none")
