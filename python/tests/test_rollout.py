"""Rollouts and batches: rows are independent, failures are rows."""

import warnings

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS, states


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
def test_rows_do_not_depend_on_threads_or_on_each_other(name, request):
    mech = request.getfixturevalue(name)
    size = 0.05 if name == "five_bar" else 0.7
    q, v = states(mech, 12, size=size)
    v = np.zeros_like(v) if name == "five_bar" else v
    one = la.rollout(mech, q, v, steps=15, step=0.005, threads=1)
    many = la.rollout(mech, q, v, steps=15, step=0.005, threads=3)
    assert np.array_equal(one.q, many.q) and np.array_equal(one.v, many.v)
    # Rows take the mass-matrix iteration, where there is a choice.
    settings = {} if name == "five_bar" else {"iteration": "mass"}
    sim = la.Simulator(mech, q=q[7], v=v[7], step=0.005, **settings)
    sim.run(15)
    assert np.array_equal(sim.state.q, one.q[7])
    rows = la.rollout(mech, q, v, steps=15, step=0.005, record="rows", every=5)
    assert rows.q.shape == (12, 4, mech.nq) and np.array_equal(rows.q[:, -1], one.q)
    assert np.allclose(rows.t, [0, 0.025, 0.05, 0.075])


@pytest.mark.parametrize("settings", [{"iteration": "chord"}, {"iteration": "newton", "order": 6}, {"integrator": "maximal"},
                                      {"integrator": "dop853"}, {"integrator": "rk4"}], ids=str)
def test_memory_that_rows_share_leaves_no_trace(settings, tree):
    q, v = states(tree, 9, size=1.5)
    together = la.rollout(tree, q, 5 * v, steps=30, step=0.02, threads=1, **settings)
    for i in (0, 4, 8):
        alone = la.Simulator(tree, q=q[i], v=5 * v[i], step=0.02, **settings)
        alone.run(30)
        assert np.array_equal(together.q[i], alone.state.q)


def test_inputs_of_every_shape_act():
    mech = la.load(MODELS / "cart-pole.json")
    rng = np.random.default_rng(0)
    q, u = np.zeros((4, 2)), rng.uniform(-1, 1, (4, 10, 1))
    each = la.rollout(mech, q, 0.0, u, steps=10, step=0.01)
    for i in range(4):
        single = la.rollout(mech, q[i], 0.0, u[i], steps=10, step=0.01)
        assert np.array_equal(single.q, each.q[i])
    per_row = la.rollout(mech, q, 0.0, u[:, 0], steps=10, step=0.01, hold="row")
    held = la.rollout(mech, q, 0.0, np.repeat(u[:, :1], 10, axis=1), steps=10, step=0.01)
    assert np.array_equal(per_row.q, held.q)
    law = la.rollout(mech, q, 0.0, steps=10, step=0.01, controller=lambda t, q, v: u[:, round(t / 0.01)])
    assert np.array_equal(law.q, each.q)
    with pytest.raises(la.errors.ShapeError, match="hold"):
        la.rollout(mech, q, 0.0, u[:, :5].copy(), steps=10, step=0.01)


def test_columns_have_the_names_of_a_run(tree):
    q, v = states(tree, 5)
    roll = la.rollout(tree, q, v, steps=20, step=0.005, record="rows", every=5)
    run = la.simulate(tree, duration=0.1, step=0.005, every=5, start=tree.state(q=q[2], v=v[2]), iteration="mass", report=False)
    for name in (f"q.{tree.q_labels[-1]}", f"v.{tree.v_labels[0]}"):
        assert np.array_equal(roll[name][2], run[name]) and roll[name].shape == (5, 5)
    for name in ("energy.total", "energy.kinetic", "energy.potential"):
        assert np.allclose(roll[name][2], run[name], rtol=1e-12, atol=1e-12)
    with pytest.raises(la.errors.UnknownName, match="did you mean `energy.total`"):
        roll["energy.totl"]


def test_leading_axes_are_kept(chain):
    q = np.random.default_rng(1).uniform(-1, 1, (2, 3, 7))
    v = np.zeros((2, 3, 7))
    v[1, 2] = 1e200
    with pytest.warns(la.errors.RolloutWarning, match="1 of 6 runs failed, first: row 5"):
        roll = la.rollout(chain, q, v, steps=4, step=0.01, record="rows", every=2)
    assert roll.q.shape == (2, 3, 3, 7) and roll["q.joint0"].shape == (2, 3, 3)
    assert roll.ok.shape == (2, 3) and not roll.ok[1, 2] and roll.ok.sum() == 5
    none = la.rollout(chain, np.zeros((0, 7)), steps=4, step=0.01)
    assert none.q.shape == (0, 7) and none.ok.shape == (0,)
    assert la.rollout(chain, steps=4, step=0.01).ok.tolist() == [True]


def test_a_row_that_fails_leaves_the_others_alone():
    mech = la.load("@ball-chain/3")
    v = np.zeros((5, mech.nv))
    v[3] = 1e200
    with pytest.warns(la.errors.RolloutWarning, match="1 of 5 runs failed, first: row 3"):
        roll = la.rollout(mech, v=v, steps=5, step=0.01)
    assert roll.ok.tolist() == [True, True, True, False, True]
    assert np.isnan(roll.q[3]).all() and np.isfinite(roll.q[[0, 1, 2, 4]]).all()
    assert roll.failures[0].row == 3 and isinstance(roll.failures[0].error, la.errors.StepError)
    with pytest.raises(la.errors.StepError):
        roll.raise_failures()
    batch = la.BatchSimulator(mech, 5, v=v, step=0.01)
    batch.step(steps=5)
    assert batch.ok.tolist() == roll.ok.tolist() and np.isfinite(batch.q).all()
    batch.reset([3])
    batch.step()
    assert batch.ok.all()


def test_batches_step_like_simulators(tree):
    q, v = states(tree, 20)
    u = np.random.default_rng(5).uniform(-1, 1, (20, tree.nu))
    for threads in (1, 4):
        batch = la.BatchSimulator(tree, 20, q=q, v=v, threads=threads, step=0.01)
        for _ in range(3):
            batch.step(u)
        sim = la.Simulator(tree, q=q[11], v=v[11], step=0.01)
        for _ in range(3):
            sim.step(u[11])
        assert np.array_equal(batch.q[11], sim.state.q) and len(batch) == 20
    A, B = batch.linearize(u)
    plant = la.Plant(tree, step=0.01)
    _, _, a, b, _ = plant.linearize(batch.q[4], batch.v[4], u[4])
    assert A.shape == (20, 2 * tree.nv, 2 * tree.nv) and np.array_equal(A[4], a) and np.array_equal(B[4], b)
    with pytest.raises(la.errors.ShapeError):
        batch.step(u[:3])
    with pytest.raises(la.errors.BadOption):
        batch.reset([20])


def test_options_are_checked(chain):
    for settings in ({"steps": 0}, {"steps": 3, "every": 0}, {"steps": 3, "record": "all"}, {"steps": 3, "threads": 0},
                     {"steps": 3, "duration": 1.0}, {"steps": 2, "stp": 1}):
        with pytest.raises(la.errors.BadOption):
            la.rollout(chain, **settings)
    with pytest.raises(MemoryError):
        la.BatchSimulator(chain, 2**44)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert la.rollout(chain, duration=0.05, step=0.01).steps == 5


def law(t, q, v):
    return -5.0 * v[..., :1]


def test_a_controller_sees_the_axes_that_were_given():
    mech = la.load(MODELS / "cart-pole.json")
    q = np.random.default_rng(2).uniform(-0.3, 0.3, (2, 3, 2))
    seen = []

    def watched(t, q, v):
        seen.append((t, q.shape))
        return law(t, q, v)

    many = la.rollout(mech, q, 0.5, steps=4, step=0.01, controller=watched)
    assert many.q.shape == (2, 3, 2) and seen[0] == (0.0, (2, 3, 2)) and many.ok.shape == (2, 3)
    one = la.rollout(mech, q[1, 2], 0.5, steps=4, step=0.01, controller=law)
    assert one.q.shape == (2,) and np.array_equal(one.q, many.q[1, 2])
    paths = la.rollout(mech, q, 0.5, steps=4, step=0.01, controller=law, record="rows", every=2)
    assert paths.q.shape == (2, 3, 3, 2) and np.array_equal(paths.q[:, :, -1], many.q)
    # From a state: its positions, velocities and time.
    times = []
    start = mech.state(q=q[0, 1], v=[0.5, 0.5]).replace(t=2.0)
    same = la.rollout(mech, start=start, steps=4, step=0.01, controller=lambda t, q, v: times.append(t) or law(t, q, v))
    assert np.array_equal(same.q, many.q[0, 1]) and np.allclose(times, [2.0, 2.01, 2.02, 2.03])


def test_a_controller_that_is_wrong_is_told():
    mech = la.load(MODELS / "cart-pole.json")

    def rolled(controller, **more):
        return la.rollout(mech, np.zeros((3, 2)), steps=2, step=0.01, controller=controller, **more)

    with pytest.raises(la.errors.LayoutError, match="returned None"):
        rolled(lambda t, q, v: None)
    with pytest.raises(la.errors.NotFinite):
        rolled(lambda t, q, v: np.full((3, 1), np.nan))
    with pytest.raises(la.errors.ShapeError):
        rolled(lambda t, q, v: np.zeros((2, 1)))
    for other in ({"u": [1.0]}, {"policy": "policy.json"}):
        with pytest.raises(la.errors.BadOption, match="not both"):
            rolled(law, **other)
    with pytest.raises(la.errors.ShapeError):
        la.rollout(mech, np.zeros((3, 2)), np.zeros((4, 2)), steps=2, step=0.01, controller=law)
    told = []
    rolled(law, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (2, 2)


def test_numbers_of_numpy_and_names_of_models_are_taken():
    roll = la.rollout("@chain/2", np.zeros((3, 2)), steps=np.int64(4), every=np.int32(2), step=np.float32(0.5), record="rows")
    assert len(roll) == 3 and roll.q.shape == (3, 3, 2) and np.array_equal(roll["q"], roll.q)
    assert la.rollout("@chain/2", steps=4, step=0.5).t.tolist() == [2.0]
    assert la.rollout("@chain/2", np.zeros((3, 2)), duration=2.0, step=0.5).t.tolist() == [2.0]
    for settings in ({"steps": True}, {"steps": 2.5}, {"duration": float("inf")}, {"steps": 3, "step": "a"}, {"duration": "x"}):
        with pytest.raises(la.errors.BadOption):
            la.rollout("@chain/2", **settings)


def test_chosen_columns_are_those_of_whole_motions(tree):
    q, v = states(tree, 9)
    names = ["energy.total", f"q.{tree.q_labels[3]}", "v"]
    settings = {"steps": 12, "step": 0.005, "record": "rows", "every": 4}
    whole = la.rollout(tree, q, v, **settings)
    roll = la.rollout(tree, q, v, columns=names, **settings)
    assert roll.columns[:2] == tuple(names[:2]) and roll.table.shape == (9, 4, 2 + tree.nv)
    assert np.array_equal(roll.t, whole.t) and roll.ok.all()
    for name in roll.columns:
        assert np.allclose(roll[name], whole[name], rtol=1e-13, atol=1e-13)
    assert np.array_equal(roll.q, whole.q[:, -1])
    ends = la.rollout(tree, q, v, columns="q", steps=12, step=0.005)
    assert np.array_equal(ends.table, whole.q[:, -1])
    with pytest.raises(la.errors.UnknownName, match="energy.total"):
        la.rollout(tree, q, v, columns=["energy.totl"], steps=1, step=0.01)
    with pytest.raises(la.errors.UnknownName):
        roll[f"q.{tree.q_labels[0]}"]
    with pytest.raises(la.errors.BadOption):
        la.rollout(tree, q, v, columns=[], steps=1, step=0.01)


def test_results_are_written_into_memory_of_the_callers(chain):
    q, v = states(chain, 6)
    settings = {"steps": 8, "step": 0.005}
    expected = la.rollout(chain, q, v, **settings)
    out = np.zeros((6, 7)), np.zeros((6, 7))
    roll = la.rollout(chain, q, v, out=out, **settings)
    assert roll.q is out[0] and np.array_equal(out[0], expected.q) and np.array_equal(out[1], expected.v)
    table = np.zeros((6, 9, 1))
    roll = la.rollout(chain, q, v, out=table, columns="energy.total", record="rows", **settings)
    assert roll.table is table and (table < 0).any()
    refused = [((out[0], out[0]), la.errors.LayoutError), (out[0], la.errors.LayoutError), ((out[0], np.zeros((5, 7))), la.errors.ShapeError),
               ((q, out[1]), la.errors.LayoutError), ((out[0], np.zeros((6, 7), dtype=np.float32)), la.errors.LayoutError)]
    for wrong, error in refused:
        with pytest.raises(error):
            la.rollout(chain, q, v, out=wrong, **settings)
    with pytest.raises(la.errors.LayoutError):
        la.rollout(chain, q, v, out=out, columns="q", **settings)
    with pytest.raises(la.errors.BadOption, match="controller"):
        la.rollout(chain, q, v, out=out, controller=lambda t, q, v: None, **settings)


def test_chosen_columns_of_rows_that_fail_are_not_a_number(chain):
    v = np.zeros((6, 7))
    v[5] = 1e200
    with pytest.warns(la.errors.RolloutWarning, match="1 of 6 runs failed"):
        roll = la.rollout(chain, np.zeros((6, 7)), v, steps=4, step=0.01, record="rows", columns=["energy.total", "q"])
    assert roll.ok.tolist() == [True] * 5 + [False]
    assert np.isnan(roll.table[5, -1]).all() and np.isfinite(roll.table[:5]).all()


def test_without_columns_there_is_no_table(chain):
    roll = la.rollout(chain, steps=2, step=0.01)
    assert roll.columns == () and not hasattr(roll, "table")
