"""Every public class pickles by every protocol, and into a process of its own."""

import inspect
import multiprocessing
import pickle

import numpy as np
import pytest

import leastaction as la
from conftest import ROOT


@pytest.fixture(scope="module")
def things(tmp_path_factory) -> dict[str, object]:
    """One of every class, by its name."""
    folder = tmp_path_factory.mktemp("pickles")
    mech = la.load("@chain/2")
    sim = la.Simulator(mech, step=0.01)
    sim.run(5)
    batch = la.BatchSimulator(mech, 3, step=0.01)
    batch.step()
    run = la.simulate(mech, duration=0.3)
    with pytest.warns(la.errors.RolloutWarning):
        roll = la.rollout(mech, v=np.array([[0.0, 0.0], [1e200, 0.0]]), steps=3, step=0.01)
    terms = [la.Term("joint_jerk", 1.0)]
    problem = la.MotionProblem(mech, duration=1.0, start=np.zeros(2), end=np.ones(2), terms=terms, control_points=12)
    best = la.optimize(problem)
    found = la.control(ROOT / "examples" / "pendulum_swing_up.toml", report=False)
    sweep = la.Sweep(mech, {"initial.q.*": la.uniform(-1, 1)}, runs=4, duration=0.1)
    loop = la.Simulator(la.load("@four-bar"), step=0.01)
    loop.step()
    with pytest.raises(la.errors.ModelError) as wrong:
        la.Model("nothing").build()
    made = [
        mech, mech.start_state(), sim, batch, la.Plant(mech, step=0.01, parameters="mass"), run, best.trajectory, run.report(), roll, roll.failures[0],
        la.check("@four-bar"), wrong.value.diagnostics[0], la.linearize(mech), la.riccati([[1.0]], [[1.0]], [1], [1]), la.jacobian(mech, "torque"),
        la.motion(mech, run, "torque", report=False), problem, best, la.infer(problem, best), terms[0], la.Limit("velocity", 1.0),
        la.ViaPoint(0.5, "joint0", 1.0), found, found.policy, la.Model("m"), sweep, sweep.run(folder, report=False),
        next(iter(loop.joint_forces().values())), la.ControlProblem(mech, duration=1.0, step=0.01, terms=terms),
        la.Iteration(1, 0.5, 1e-3, 0.0, 1.0),
    ]
    return {type(thing).__name__: thing for thing in made}


def facts(thing: object) -> list[object]:
    """What must be the same of a copy: all its arrays and numbers, and what a simulator does next."""
    if isinstance(thing, (la.Simulator, la.BatchSimulator)):
        thing = pickle.loads(pickle.dumps(thing))
        thing.run(1000) if isinstance(thing, la.Simulator) else thing.step(steps=1000)
        thing = thing.state if isinstance(thing, la.Simulator) else thing
    out: list[object] = [type(thing).__name__]
    for name, value in inspect.getmembers(thing):
        if name.startswith("_") or callable(value) or name in ("mechanism", "error"):
            continue
        out.append((name, value.tobytes() if isinstance(value, np.ndarray) else repr(value)))
    return out


def test_it_is_every_class(things):
    # Names of bodies and joints are texts.
    classes = {name for name in la.__all__ if inspect.isclass(getattr(la, name))} - {"Body", "Joint", "str"}
    assert classes - set(things) == set()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_copies_are_the_same(things, protocol):
    for name, thing in things.items():
        assert facts(pickle.loads(pickle.dumps(thing, protocol))) == facts(thing), name


def test_another_process_has_the_same(things):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name, thing in things.items():
            assert pool.apply(facts, (thing,)) == facts(thing), name
