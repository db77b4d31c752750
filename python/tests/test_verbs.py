"""Verbs of the command as functions."""

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS, ROOT, states

EXAMPLES = ROOT / "examples"


@pytest.mark.parametrize("name", ["chain", "tree"])
def test_linearize_is_the_derivative_of_a_step(name, request):
    mech = request.getfixturevalue(name)
    q, v = states(mech, 1)
    q, v, n = q[0], v[0], mech.nv
    u = np.full(mech.nu, 0.3)
    lin = la.linearize(mech, mech.state(q=q, v=v), u=u, step=0.01)
    plant = la.Plant(mech, step=0.01)
    q1, v1, a, b = plant.linearize(q, v, u)
    assert np.allclose(a, lin.A, atol=1e-9) and np.allclose(b, lin.B, atol=1e-9)
    h = 1e-5
    for c in range(2 * n):
        d = np.zeros(2 * n)
        d[c] = h
        # A step is solved to 1e-12: differences over 2e-5 are good to 1e-7.
        plus = plant.step(mech.retract(q, d[:n]), v + d[n:], u)
        minus = plant.step(mech.retract(q, -d[:n]), v - d[n:], u)
        slope = np.concatenate([mech.difference(minus[0], plus[0]), plus[1] - minus[1]]) / (2 * h)
        assert np.allclose(slope, a[:, c], atol=2e-7)


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
def test_pull_back_is_the_gradient(name, request):
    mech = request.getfixturevalue(name)
    start = mech.start_state()
    q, v = states(mech, 9) if name != "five_bar" else (np.tile(start.q, (9, 1)), np.tile(start.v, (9, 1)))
    rng = np.random.default_rng(3)
    u = rng.uniform(-1, 1, (9, mech.nu))
    gq, gv = rng.uniform(-1, 1, q.shape), rng.uniform(-1, 1, v.shape)
    plant = la.Plant(mech, step=0.01, threads=2)
    dq, dv, du = plant.pull_back(q, v, u, gq, gv)
    one = [la.Plant(mech, step=0.01, threads=1).pull_back(q[i], v[i], u[i], gq[i], gv[i]) for i in range(9)]
    assert np.array_equal(dq, np.stack([x[0] for x in one])) and np.array_equal(du, np.stack([x[2] for x in one]))

    def value(q, v, u):
        q1, v1 = plant.step(q, v, u)
        return np.sum(q1 * gq, axis=-1) + np.sum(v1 * gv, axis=-1)

    h, w = 1e-6, rng.uniform(-1, 1, (9, mech.nv))
    if mech.nu:
        x = rng.uniform(-1, 1, u.shape)
        slope = (value(q, v, u + h * x) - value(q, v, u - h * x)) / (2 * h)
        assert np.allclose(slope, np.sum(du * x, axis=1), atol=1e-6)
    if name != "five_bar":
        slope = (value(q, v + h * w, u) - value(q, v - h * w, u)) / (2 * h)
        assert np.allclose(slope, np.sum(dv * w, axis=1), atol=1e-6)
        plus, minus = mech.retract(q, h * w), mech.retract(q, -h * w)
        slope = (value(plus, v, u) - value(minus, v, u)) / (2 * h)
        assert np.allclose(slope, np.sum(dq * (plus - minus), axis=1) / (2 * h), atol=1e-6)


def test_a_regulator_holds_the_pole():
    mech = la.load(MODELS / "cart-pole.json")
    up = mech.named_state("up")
    lin = la.linearize(mech, up, u=[0.0], step=0.02)
    gain = la.riccati(lin.A, lin.B, np.ones(4), [0.1]).gain
    sim = la.Simulator(mech, start=up, q=up.q + [0.0, 0.05], step=0.02)
    for _ in range(500):
        state = sim.state
        x = np.concatenate([mech.difference(up.q, state.q), state.v])
        sim.step(gain @ x)
    assert np.abs(mech.difference(up.q, sim.state.q)).max() < 1e-3


def test_jacobian_of_a_torque_rate(chain):
    q, v = states(chain, 1)
    q, v = q[0], v[0]
    a, j = np.linspace(-1, 1, 7), np.linspace(1, 0, 7)
    found = la.jacobian(chain, "torque", q, [v, a, j], order=1)
    assert found.values.shape == (14, 7 * 4) and len(found.rows) == 14
    assert np.allclose(found.block(0, 2), chain.mass_matrix(q), atol=1e-12)
    assert np.allclose(found.block(1, 3), chain.mass_matrix(q), atol=1e-12)
    h = 1e-6
    for c in range(7):
        d = np.zeros(7)
        d[c] = h
        slope = (chain.inverse_dynamics(q + d, v, a) - chain.inverse_dynamics(q - d, v, a)) / (2 * h)
        assert np.allclose(slope, found.block(0, 0)[:, c], atol=1e-7)
    with pytest.raises(la.errors.ShapeError):
        la.jacobian(chain, "torque", q, [v[:3]])


def test_motion_follows_a_recording(chain):
    run = la.simulate(chain, duration=0.5, step=0.005, report=False)
    found = la.motion(chain, run, "torque")
    # Nothing acts on the chain.
    assert np.abs(found["torque"][20:-20]).max() < 1e-3
    assert found.summary["samples"] == len(run) and "<html" in str(found.report())


def test_optimize_and_infer():
    best = la.optimize(EXAMPLES / "arm3_b.toml")
    assert best.status == "Solved" and best.trajectory.t[-1] == 2.0 and "<html" in str(best.report())
    found = la.infer(EXAMPLES / "arm3_b.toml", best)
    assert np.allclose(list(found.weights.values()), 0.25, atol=1e-6)
    mech = la.load(MODELS / "arm3.json")
    terms = [la.Term(kind, 0.25) for kind in ("joint_velocity", "joint_acceleration", "joint_jerk", "torque")]
    problem = la.MotionProblem(mech, duration=2, start=np.full(3, 1.57), end=np.full(3, -1.57), terms=terms,
                               degree=5, control_points=50, samples=200)
    assert abs(la.optimize(problem, report=False).objective - best.objective) < 1e-9 * best.objective
    limited = la.MotionProblem(mech, duration=2, start=np.full(3, 1.57), end=np.full(3, -1.57), terms=terms,
                               limits=[la.Limit("velocity", 2.5)], via=[la.ViaPoint(1.0, mech.joints[0], 0.3)])
    best = la.optimize(limited, report=False)
    assert best.status in ("Solved", "AlmostSolved")
    # The limit holds at the samples of the problem; between them it is passed by less than a thousandth.
    assert np.abs(best.trajectory["v"]).max() < 2.5 * 1.001
    assert abs(best.trajectory[f"q.{mech.joints[0]}"][200] - 0.3) < 1e-6


def test_control_swings_up_and_replays(tmp_path):
    found = la.control(EXAMPLES / "pendulum_swing_up.toml")
    assert found.status in ("Solved", "AlmostSolved")
    replay = la.simulate(found.mechanism, policy=found.policy, integrator="rk4", step=0.002, report=False)
    assert replay.summary["policy"]["end"]["position"] < 1e-2
    found.policy.save(tmp_path / "policy.json")
    assert la.Policy.load(tmp_path / "policy.json") == found.policy
    again = la.simulate(found.mechanism, policy=tmp_path / "policy.json", integrator="rk4", step=0.002, report=False)
    assert np.array_equal(again.table, replay.table)
    mech = found.mechanism
    if mech.nu:
        roll = la.rollout(mech, steps=found.policy.steps, step=found.policy.step, policy=found.policy,
                          start=mech.state(q=found.trajectory["q"][0], v=found.trajectory["v"][0]))
        assert np.allclose(roll.q, found.trajectory["q"][-1], atol=1e-3)


def test_models_are_built_checked_and_written(tree):
    again = la.from_json(tree.to_json())
    assert again.v_labels == tree.v_labels and np.allclose(
        again.mass_matrix(tree.start_state().q), tree.mass_matrix(tree.start_state().q))
    model = la.Model("bad")
    model.body("a", mass=1.0, inertia=[1, 1, 1])
    model.joint("j", "revolut", "world", "a", axis=[0, 0, 1])
    with pytest.raises(la.errors.ModelError) as caught:
        model.build()
    assert caught.value.diagnostics
    model = la.Model("loop", gravity=[0, 0, 0])
    for name in "abc":
        model.body(name, mass=1.0, com=[0.5, 0, 0], inertia=[0.1, 0.1, 0.1])
    model.joint("j0", "revolute", "world", "a", axis=[0, 0, 1])
    model.joint("j1", "revolute", "a", "b", axis=[0, 0, 1], at=[1, 0, 0])
    model.joint("j2", "revolute", "b", "c", axis=[0, 0, 1], at=[1, 0, 0])
    model.joint("j3", "revolute", "world", "c", axis=[0, 0, 1], at=[3, 0, 0], child_at=[1, 0, 0])
    model.spring("j0", 10.0)
    mech = model.build()
    assert len(mech.loop_joints) == 1 and la.info(mech)["name"] == "loop"
    with pytest.raises(KeyError):
        model.spring("nothing", 1.0)
