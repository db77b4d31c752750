"""Objects outlive what they were made from, nothing leaks, batches copy nothing, threads keep off each other's simulators."""

import gc
import itertools
import os
import threading
import time
import tracemalloc

import numpy as np
import pytest

import leastaction as la

resource = pytest.importorskip("resource")
COUNT = int(os.environ.get("LEASTACTION_LIFETIMES", "3000"))


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_dropped_in_any_order_views_stay_and_memory_is_given_back():
    mech = la.load("@chain/2")
    text = mech.to_json()
    expected = mech.start_state().q.copy()

    def cycle(order):
        mech = la.from_json(text)
        things = [mech, mech.start_state(), la.Simulator(mech)]
        views = [things[1].q, things[2].state.q]
        for k in order:
            things[k] = None
        return views

    orders = itertools.cycle(itertools.permutations(range(3)))
    for _ in range(COUNT // 5):
        cycle(next(orders))
    gc.collect()
    before = resident()
    for _ in range(COUNT):
        for view in cycle(next(orders)):
            assert np.array_equal(view, expected) and not view.flags.writeable
    gc.collect()
    assert resident() - before < 2 << 20


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs Linux")
def test_batches_copy_nothing():
    mech = la.load("@chain/7")
    table = np.random.default_rng(0).uniform(-1, 1, (100_000, 21))
    parts = np.split(table, 3, axis=1)
    out = np.empty((100_000, 7))
    mech.inverse_dynamics(*parts, out=out)
    tracemalloc.start()
    mech.inverse_dynamics(*parts, out=out)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fresh = mech.inverse_dynamics(*parts)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert grown < fresh.nbytes + 1_000_000 and np.array_equal(fresh, out)


def test_of_two_threads_on_one_simulator_one_is_told():
    sim = la.Simulator(la.load("@chain/5"), step=0.001)
    told, done = [], []

    def work():
        for _ in range(500):
            try:
                sim.step()
                done.append(1)
            except la.errors.BusyError:
                told.append(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) + len(told) == 1000 and abs(sim.state.t - 0.001 * len(done)) < 1e-9


def test_other_threads_run_during_a_long_call():
    mech = la.load("@chain/30")
    sim = la.Simulator(mech, step=1e-3)
    counts, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            counts[0] += 1

    def rate(seconds):
        counts[0] = 0
        begin = time.perf_counter()
        seconds()
        return counts[0] / (time.perf_counter() - begin)

    thread = threading.Thread(target=count)
    thread.start()
    alone = rate(lambda: time.sleep(0.2))
    begin = time.process_time()
    beside = rate(lambda: sim.run(1500))
    stop.set()
    thread.join()
    # Both had a core of their own if the process used about two; on a loaded machine less is right.
    share = 0.5 if len(os.sched_getaffinity(0)) > 1 and os.getloadavg()[0] < 1.5 else 0.1
    assert beside > share * alone, (alone, beside, time.process_time() - begin)
