"""Simulators: checkpoints, pickles, copies, threads, runs, states."""

import copy
import gc
import multiprocessing
import pickle
import threading
import time

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
@pytest.mark.parametrize("protocol", [2, 5])
def test_checkpoints_copies_and_pickles_continue_bit_for_bit(name, protocol, request, tmp_path):
    mech = request.getfixturevalue(name)
    sim = la.Simulator(mech, step=0.002)
    sim.run(50)
    twins = [
        copy.copy(sim),
        sim.copy(),
        pickle.loads(pickle.dumps(sim, protocol)),
        la.Simulator(mech, start=pickle.loads(pickle.dumps(sim.checkpoint(), protocol)), step=0.002),
    ]
    sim.checkpoint().save(tmp_path / "state.json")
    twins.append(la.Simulator(mech, start=la.State.load(tmp_path / "state.json", mech), step=0.002))
    for other in [sim, *twins]:
        other.run(100)
    for other in twins:
        assert np.array_equal(sim.state.q, other.state.q) and np.array_equal(sim.state.v, other.state.v)


def test_views_are_read_only_and_keep_their_owner(chain):
    sim = la.Simulator(chain)
    sim.run(10)
    q = sim.state.q
    kept = q.copy()
    with pytest.raises(ValueError):
        q[0] = 1
    sim.run(10)
    del sim
    gc.collect()
    assert np.array_equal(q, kept)
    state = chain.start_state()
    other = state.replace(q=np.ones(7), t=2.0)
    assert other.t == 2.0 and np.array_equal(other.q, np.ones(7)) and not np.array_equal(state.q, other.q)


def test_lifetimes_in_every_order():
    import itertools

    expected = None
    for order in itertools.permutations(range(3)):
        mech = la.load("@chain/3")
        sim = la.Simulator(mech, step=0.01)
        sim.run(5)
        state = sim.state
        view = state.q
        things = [mech, sim, state]
        del mech, sim, state
        for i in order:
            things[i] = None
            gc.collect()
        expected = view.copy() if expected is None else expected
        assert np.array_equal(view, expected)


def test_one_simulator_from_two_threads_is_busy():
    sim = la.Simulator(la.load("@chain/30"), step=0.001)
    busy = []
    thread = threading.Thread(target=lambda: sim.run(800))
    thread.start()
    while thread.is_alive():
        try:
            sim.step()
        except la.errors.BusyError as error:
            busy.append(error)
        time.sleep(0.002)
    thread.join()
    assert busy and isinstance(busy[0], RuntimeError)
    assert np.isfinite(sim.state.q).all()


def test_other_threads_work_meanwhile():
    sim = la.Simulator(la.load("@chain/40"), step=0.001)
    ticks, done = [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    time.sleep(0.01)
    before, begin = ticks[0], time.perf_counter()
    sim.run(300)
    took = time.perf_counter() - begin
    after = ticks[0]
    done.set()
    thread.join()
    assert after - before > 100 * took, (after - before, took)


def _child(mech, queue):
    queue.put(la.rollout(mech, q=np.linspace(0, 1, 21).reshape(3, 7), steps=20, step=0.01).q)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_roll_out_the_same(method, chain):
    here = la.rollout(chain, q=np.linspace(0, 1, 21).reshape(3, 7), steps=20, step=0.01).q
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_child, args=(chain, queue))
    child.start()
    there = queue.get(timeout=60)
    child.join(60)
    assert child.exitcode == 0 and np.array_equal(here, there)


def test_everything_pickles_and_a_living_mechanism_is_found_again(tree, five_bar):
    text = pickle.dumps(tree)
    first, second = pickle.loads(text), pickle.loads(text)
    assert first == second == tree and hash(first) == hash(tree)
    batch = la.BatchSimulator(tree, 3, step=0.01)
    batch.step()
    other = pickle.loads(pickle.dumps(batch))
    batch.step(steps=10)
    other.step(steps=10)
    assert np.array_equal(batch.q, other.q)
    run = la.simulate(five_bar, duration=0.1)
    again = pickle.loads(pickle.dumps(run))
    assert np.array_equal(run.table, again.table) and run.summary == again.summary
    assert again.state == run.state and str(again.report()) == str(run.report())
    plant = la.Plant(tree, step=0.01)
    q, v = tree.start_state().q, tree.start_state().v
    assert np.array_equal(plant.step(q, v)[0], pickle.loads(pickle.dumps(plant)).step(q, v)[0])


def test_a_pickled_run_saves_the_same_files(tmp_path):
    run = la.simulate("@double-pendulum", duration=0.2)
    run.save(tmp_path / "a")
    pickle.loads(pickle.dumps(run)).save(tmp_path / "b")
    for name in ("trajectory.csv", "trajectory.npz", "state.json", "summary.json", "report.html"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name


def test_a_run_goes_on_from_its_state():
    mech = la.load("@double-pendulum")
    whole = la.simulate(mech, duration=0.4)
    half = la.simulate(mech, duration=0.2)
    rest = la.simulate(mech, duration=0.2, start=half.state)
    assert np.array_equal(whole["q"][40:], rest["q"]) and np.allclose(whole.t[40:], rest.t)


def test_tables_of_inputs_are_held():
    mech = la.load(MODELS / "cart-pole.json")
    table = np.linspace(-1, 1, 40).reshape(40, 1)
    run = la.simulate(mech, duration=0.2, inputs=table)
    assert np.allclose(run["u.push"][:40], table.ravel()) and run["u.push"][40] == 1.0
    sim = la.Simulator(mech)
    sim.run(40, table)
    assert np.array_equal(sim.state.q, run["q"][-1])
    with pytest.raises(la.errors.ShapeError):
        sim.run(41, table)
    with pytest.raises(la.errors.ShapeError):
        sim.step(np.zeros(3))


def test_a_run_that_stops_keeps_its_rows():
    mech = la.load("@ball-chain/3")
    run = la.simulate(mech, duration=45, step=0.9, order=2, iteration="newton", v=np.full(mech.nv, 400.0))
    assert isinstance(run.error, la.errors.StepError) and run.summary["outcome"] == "failed"
    assert np.isfinite(run["q"]).all()


def test_settings_are_those_of_the_command(chain):
    with pytest.raises(la.errors.BadOption, match="did you mean `step`"):
        la.simulate(chain, stepp=0.1)
    with pytest.raises(la.errors.BadOption, match="greater than 0"):
        la.simulate(chain, step=-1)
    with pytest.raises(la.errors.BadOption, match="rk4"):
        la.Simulator(chain, integrator="rk5")
    with pytest.raises(la.errors.BadOption, match="no option"):
        la.Simulator(chain, duration=3)
    with pytest.raises(la.errors.UnknownName, match="did you mean `q.joint0`"):
        la.simulate(chain, duration=0.01)["q.jint0"]


def test_progress_is_told_and_may_stop(capsys):
    heard = []
    la.simulate("@chain/10", duration=2, step=1e-3, report=False, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (2000, 2000)
    la.simulate("@double-pendulum", duration=0.1, progress=True)
    assert "20/20 steps" in capsys.readouterr().err

    def stop(done, total):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        la.rollout(la.load("@chain/20"), q=np.zeros((64, 20)), steps=10000, step=1e-4, progress=stop)


def test_a_report_is_shown_in_a_notebook(tmp_path):
    report = la.simulate("@double-pendulum", duration=0.1).report()
    assert report._repr_html_().startswith("<iframe srcdoc=")
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")
