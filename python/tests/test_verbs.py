"""Verbs of the command as functions."""

import pickle

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
    q1, v1, a, b, c = plant.linearize(q, v, u)
    assert c.shape == (2 * n, 0)
    assert np.allclose(a, lin.A, atol=1e-9) and np.allclose(b, lin.B, atol=1e-9)
    h = 1e-5
    for k in range(2 * n):
        d = np.zeros(2 * n)
        d[k] = h
        # A step is solved to 1e-12: differences over 2e-5 are good to 1e-7.
        plus = plant.step(mech.retract(q, d[:n]), v + d[n:], u)
        minus = plant.step(mech.retract(q, -d[:n]), v - d[n:], u)
        slope = np.concatenate([mech.difference(minus[0], plus[0]), plus[1] - minus[1]]) / (2 * h)
        assert np.allclose(slope, a[:, k], atol=2e-7)


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
def test_pull_back_is_the_gradient(name, request):
    mech = request.getfixturevalue(name)
    sim = la.Simulator(mech, step=0.005)
    sim.run(20)
    q, v = states(mech, 9) if name != "five_bar" else (np.tile(sim.state.q, (9, 1)), np.tile(sim.state.v, (9, 1)))
    rng = np.random.default_rng(3)
    u = rng.uniform(-1, 1, (9, mech.nu))
    gq, gv = rng.uniform(-1, 1, q.shape), rng.uniform(-1, 1, v.shape)
    plant = la.Plant(mech, step=0.01, threads=2)
    dq, dv, du, _ = plant.pull_back(q, v, u, gq, gv)
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
    # With loops these changes are not admissible: the step starts from the nearest state that is.
    slope = (value(q, v + h * w, u) - value(q, v - h * w, u)) / (2 * h)
    assert np.allclose(slope, np.sum(dv * w, axis=1), atol=1e-6)
    plus, minus = mech.retract(q, h * w), mech.retract(q, -h * w)
    slope = (value(plus, v, u) - value(minus, v, u)) / (2 * h)
    assert np.allclose(slope, np.sum(dq * (plus - minus), axis=1) / (2 * h), atol=1e-6)


PARAMETERS = {
    "chain": ["mass.link2", "com.link3", "inertia.link6", "damping.joint1", "stiffness.joint4"],
    "tree": ["mass", "com.left_hand", "inertia.base", "damping", "stiffness.left_shoulder"],
    "five_bar": ["mass", "com", "inertia"],
}


def off_zero(plant):
    """Dampers and springs that differences can make weaker."""
    coefficient = [name.startswith(("damping", "stiffness")) for name in plant.parameters]
    return plant.at(np.where(coefficient, plant.values + 0.05, plant.values))


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
def test_parameters_are_differentiated_by(name, request):
    mech = request.getfixturevalue(name)
    sim = la.Simulator(mech, step=0.005)
    sim.run(20)
    q, v = sim.state.q, sim.state.v
    plant = off_zero(la.Plant(mech, step=0.01, parameters=PARAMETERS[name]))
    u = np.full(mech.nu, 0.3)
    theta, mech = plant.values, plant.mechanism
    assert len(theta) == len(plant.parameters) and plant.at(theta).parameters == plant.parameters
    *_, c = plant.linearize(q, v, u)
    lin = la.linearize(mech, mech.state(q=q, v=v), u=u, step=0.01, parameters=PARAMETERS[name])
    assert lin.parameters == plant.parameters
    if name != "five_bar":
        assert np.allclose(c, lin.C, atol=1e-9 * np.abs(c).max())
    rng = np.random.default_rng(0)
    gq, gv = rng.uniform(-1, 1, mech.nq), rng.uniform(-1, 1, mech.nv)
    back = plant.pull_back(q, v, u, gq, gv)[3]
    # Along a random change of all of them: by the matrix, by its transpose, by differences.
    w = rng.uniform(-1, 1, len(theta)) * (0.05 * np.abs(theta) + 1e-3)

    def stepped(s):
        return plant.at(theta + s * w).step(q, v, u)

    h = 1e-2
    at = {s: stepped(s * h) for s in (-2, -1, 1, 2)}
    slope = [(8 * (at[1][k] - at[-1][k]) - (at[2][k] - at[-2][k])) / (12 * h) for k in (0, 1)]
    assert np.allclose(slope[1], (c @ w)[mech.nv:], rtol=1e-6, atol=1e-9)
    assert np.isclose(slope[0] @ gq + slope[1] @ gv, back @ w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["chain", "tree", "five_bar"])
def test_a_motion_is_differentiated_backward(name, request):
    mech = request.getfixturevalue(name)
    plant = off_zero(la.Plant(mech, step=0.005, parameters=PARAMETERS[name]))
    sim = la.Simulator(mech, step=0.005)
    sim.run(20)
    rng = np.random.default_rng(1)
    u = rng.uniform(-0.3, 0.3, (2, 25, mech.nu))
    qs, vs = plant.rollout(sim.state.q, sim.state.v, u)
    assert qs.shape == (2, 26, mech.nq) and vs.shape == (2, 26, mech.nv)
    q, v = sim.state.q, sim.state.v
    for k in range(25):
        q, v = plant.step(q, v, u[1, k])
    assert np.array_equal(q, qs[1, -1]) and np.array_equal(v, vs[1, -1])
    gq, gv = rng.uniform(-1, 1, qs.shape), rng.uniform(-1, 1, vs.shape)
    dq, dv, du, dp = plant.rollout_pull_back(qs, vs, u, gq, gv)
    assert dq.shape == (2, mech.nq) and dv.shape == (2, mech.nv) and du.shape == u.shape
    theta, w = plant.values, rng.uniform(-1, 1, len(plant.values)) * (0.02 * np.abs(plant.values) + 1e-3)
    x, y = rng.uniform(-1, 1, u.shape), rng.uniform(-1, 1, mech.nv)

    def value(s):
        q1, v1 = plant.at(theta + s * w).rollout(sim.state.q, sim.state.v + s * y, u + s * x)
        return np.sum(q1 * gq, axis=(1, 2)) + np.sum(v1 * gv, axis=(1, 2))

    h = 1e-4
    slope = (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h)
    exact = np.sum(du * x, axis=(1, 2)) + dv @ y + dp @ w
    assert np.allclose(slope, exact, rtol=1e-6, atol=1e-6)


def test_parameters_have_names_and_values():
    mech = la.load("@chain/3")
    assert mech.parameters("mass") == {f"mass.link{k}": 1.0 for k in range(3)}
    heavy = mech.with_parameters({"mass.link1": 2.5, "damping.joint0": 0.1})
    assert heavy.mass == 4.5 and heavy.parameters("damping.joint0") == {"damping.joint0": 0.1} and mech.mass == 3.0
    assert heavy != mech and heavy.with_parameters({"mass.link1": 1.0, "damping": 0.0}) == mech.with_parameters({"damping": 0.0})
    with pytest.raises(la.errors.UnknownName, match="did you mean"):
        mech.with_parameters({"mas.link1": 2.5})
    with pytest.raises(la.errors.ModelError):
        mech.with_parameters({"mass.link1": -1.0})
    with pytest.raises(la.errors.NotFinite):
        mech.with_parameters({"mass.link1": float("nan")})
    with pytest.raises(la.errors.BadOption, match="once"):
        la.Plant(mech, parameters=["mass", "mass.link0"])
    with pytest.raises(la.errors.ShapeError):
        la.Plant(mech, parameters=["mass"]).at([1.0])


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


def test_phases_with_free_durations():
    mech = la.load(MODELS / "arm3.json")
    phases = [{"name": "out", "duration": 0.5, "rest": True}, {"name": "back", "duration": 1.0}]
    there = [la.ViaPoint("end of out", joint, 0.4) for joint in mech.joints[:3]]
    problem = la.MotionProblem(mech, start=np.zeros(3), end=np.zeros(3), terms=[la.Term("joint_jerk", 1e-4)], via=there,
                               phases=phases, time_weight=1.0, control_points=24)
    best = la.optimize(problem, report=False)
    out, back = (phase["duration"] for phase in best.fields["phases"])
    # There and back cost the same: so do their durations.
    assert best.status == "Solved" and abs(back / out - 1) < 1e-3
    at = int(np.argmin(np.abs(best.trajectory.t - out)))
    assert abs(best.trajectory[f"q.{mech.joints[0]}"][at] - 0.4) < 1e-2 and abs(best.trajectory.t[-1] - out - back) < 1e-9


def test_a_solution_is_sampled_as_finely_as_wanted():
    mech = la.load(MODELS / "arm3.json")
    problem = la.MotionProblem(mech, start=np.zeros(3), end=np.full(3, 0.5), terms=[la.Term("joint_jerk", 1e-4)], time_weight=1.0,
                               duration=1.0, control_points=24)
    best = la.optimize(problem, report=False)
    # Of a motion whose duration was free, too: the rows of the file are among the finer ones.
    again, fine = best.sample(401), best.sample(1601)
    assert again.columns == best.trajectory.columns and np.array_equal(again.table, best.trajectory.table)
    assert np.allclose(fine.table[::4], again.table, rtol=1e-12, atol=1e-12) and abs(fine.t[-1] - 1.0) > 0.01
    # Velocities are the slopes of positions.
    slope = np.gradient(fine["q"], fine.t, axis=0)
    assert np.abs(slope - fine["v"])[1:-1].max() < 1e-4
    assert np.array_equal(pickle.loads(pickle.dumps(best)).sample(5).table, best.sample(5).table)
    from_file = la.optimize(EXAMPLES / "arm3_b.toml", report=False)
    # A motion to be explained need not be the solution's own file.
    weights = la.infer(EXAMPLES / "arm3_b.toml", motion=from_file.sample(400)).weights
    assert np.allclose(list(weights.values()), 0.25, atol=1e-3)
    assert np.array_equal(from_file.sample(401).table, from_file.trajectory.table)
    for count in (1, 0, -3):
        with pytest.raises(la.errors.BadOption):
            best.sample(count)
    with pytest.raises(la.errors.LeastActionError, match="memory"):
        best.sample(10**12)


def swing_up(**settings):
    """The pole of an example as a problem that is made here."""
    terms = [la.Term("input", 0.01), la.Term("position", 0.1), la.Term("position", 1000.0, {"at": "end"}),
             la.Term("velocity", 100.0, {"at": "end"})]
    return la.ControlProblem(
        la.load(MODELS / "cart-pole.json"), duration=3.0, step=0.02, start=[0.0, 0.0], goal={"state": "up"}, terms=terms,
        limits=[la.Limit("input", 10.0)], feedback={"position": 10.0, "velocity": 1.0, "input": 0.1}, **settings,
    )


def test_a_control_problem_made_here_is_that_of_the_file():
    heard = []
    made = la.control(swing_up(solver={"curvature": True}), report=False, progress=heard.append)
    read = la.control(EXAMPLES / "cart_pole.toml", report=False)
    assert np.array_equal(made.inputs, read.inputs) and made.objective == read.objective
    assert made.mechanism.to_json() == la.load(MODELS / "cart-pole.json").to_json()
    replay = la.simulate(made.mechanism, policy=made.policy, integrator="rk4", step=0.002, report=False)
    assert replay.summary["policy"]["end"]["position"] < 1e-2
    # Every iteration is heard of, in turn (one twice where the limits' barrier falls), and the last is what was found.
    counted = [at.iteration for at in heard]
    assert counted == sorted(counted) and set(counted) == set(range(made.fields["iterations"] + 1))
    assert len(heard) >= made.fields["iterations"] and abs(heard[-1].objective - made.objective) < 1e-3 * made.objective
    with pytest.raises(ValueError, match="trajectory"):
        made.sample(100)
    again = pickle.loads(pickle.dumps(made))
    assert np.array_equal(again.inputs, made.inputs) and again.mechanism.nq == 2


def test_a_listener_that_raises_stops_a_search():
    seen = []

    def listen(at):
        seen.append(at)
        if at.iteration == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as stop:
        la.control(swing_up(), report=False, progress=listen)
    assert seen[-1].iteration == 3 and stop.value.partial["status"] == "Interrupted"


def test_progress_of_a_search_is_shown_on_a_line(capfd):
    problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2), terms=[la.Term("torque", 1.0)],
                               control_points=20)
    la.optimize(problem, report=False, progress=True)
    shown = capfd.readouterr().err
    assert "iteration" in shown and "objective" in shown and shown.endswith("\n")


@pytest.mark.parametrize(("wrong", "what"), [
    ({"terms": [la.Term("positon", 1.0)]}, "position"), ({"limits": [la.Limit("inptu", 1.0)]}, "input"), ({"order": 3}, "even"),
    ({"goal": {"state": "upp"}}, "up"), ({"step": -1.0}, "step"), ({"motors": ["knee"]}, "knee"),
])
def test_mistakes_in_a_control_problem_are_told(wrong, what):
    settings = {"duration": 1.0, "step": 0.02, "goal": {"state": "up"}, "terms": [la.Term("input", 1.0)], **wrong}
    with pytest.raises(la.errors.LeastActionError, match=what):
        la.control(la.ControlProblem(la.load(MODELS / "cart-pole.json"), **settings), report=False)


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


def test_vectors_say_where_a_run_starts():
    mech = la.load(MODELS / "cart-pole.json")
    by_name = la.simulate(mech, duration=0.1, q={"rail": 0.2, "hinge": 0.4}, v={"rail": -1.0, "hinge": 2.0}, report=False)
    by_vector = la.simulate(mech, duration=0.1, q=[0.2, 0.4], v=np.array([-1.0, 2.0]), report=False)
    assert np.array_equal(by_name.table, by_vector.table)
    up = mech.named_state("up")
    for start in ({"state": "up"}, {"start": up}, {"start": "up"}):
        run = la.simulate(mech, duration=0.1, v=[0.5, 0.0], report=False, **start)
        assert np.array_equal(run["q"][0], up.q) and np.array_equal(run["v"][0], [0.5, 0.0])
    with pytest.raises(la.errors.ShapeError):
        la.simulate(mech, q=[1.0])
    with pytest.raises(la.errors.ShapeError, match="steps"):
        la.simulate(mech, inputs=np.zeros(20))


def test_wrong_arguments_of_verbs_are_typed(tmp_path):
    mech = la.load(MODELS / "cart-pole.json")
    with pytest.raises(la.errors.ShapeError, match="`u`"):
        la.linearize(mech, u=[0.0, 1.0])
    with pytest.raises(la.errors.ShapeError, match="`B`"):
        la.riccati(np.eye(2), np.eye(3), [1, 1], [1, 1, 1])
    with pytest.raises(la.errors.ShapeError, match="`Q`"):
        la.riccati(np.eye(2), np.eye(2), [1], [1, 1])
    assert la.riccati([[1.0]], [[1.0]], [1], [1]).gain.shape == (1, 1)
    with pytest.raises(la.errors.FileError):
        la.simulate(mech, policy=tmp_path / "none.json")
    with pytest.raises(la.errors.FileError):
        la.Policy("no policy")
    with pytest.raises(la.errors.BadOption) as caught:
        la.jacobian(mech, "torq")
    assert "--" not in str(caught.value) and "torque" in str(caught.value)
    assert la.jacobian("@chain/2", "torque").block(0, 0).shape == la.linearize("@chain/2", parameters="mass").A[:2, :2].shape == (2, 2)
    with pytest.raises(TypeError, match="PathLike"):
        la.load(3)
    run = la.simulate(mech, duration=0.1, report=False)
    with pytest.raises(TypeError, match="names"):
        run[5]
    assert la.Plant(mech, step=0.01, parameters="mass").parameters == ["mass.cart", "mass.pole"]


def test_poses_place_joints_and_frames():
    rng = np.random.default_rng(0)
    for _ in range(8):
        axis = rng.normal(size=3)
        x, y, z = axis / np.linalg.norm(axis)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        angle = rng.choice([rng.uniform(-np.pi, np.pi), np.pi])
        pose = np.eye(4)
        pose[:3, :3] = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross
        pose[:3, 3] = rng.normal(size=3)
        model = la.Model("turned")
        body = model.body("a", mass=1.0, inertia=np.diag([1.0, 1.0, 1.0]))
        model.joint("j", "revolute", "world", body, axis=[0, 0, 1], at=pose)
        model.frame("tip", body, pose)
        mech = model.build()
        assert np.allclose(mech.pose("a", [0.0]), pose, atol=1e-14) and np.allclose(mech.pose("tip", [0.0]), pose @ pose, atol=1e-13)
    with pytest.raises(la.errors.BadOption, match="not a pose"):
        model.joint("k", "revolute", "world", body, axis=[0, 0, 1], at=2 * pose)


def test_mistakes_in_a_model_are_told_with_their_place():
    def built(**fields):
        model = la.Model("m")
        model.body("a", **{"mass": 1.0, "inertia": [0.1, 0.1, 0.1], **fields})
        model.joint("j", "revolute", "world", "a", axis=[0, 0, 1])
        return model.build()

    for wrong in ({"mass": np.nan}, {"mass": "heavy"}, {"mass": None}, {"com": 0.1}, {"com": [0, 0]}, {"inertia": 0.1}, {"inertia": [1, 2]},
                  {"inertia": "x"}, {"inertia": [np.inf, 1, 1]}):
        with pytest.raises(la.errors.ModelError) as caught:
            built(**wrong)
        assert all(diagnostic.line for diagnostic in caught.value.diagnostics), wrong
    with pytest.raises(la.errors.BadOption, match="symmetric"):
        built(inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(la.errors.ModelError):
        la.Model("m", gravity=-9.81).build()
    with pytest.raises(la.errors.UnknownName):
        la.Model("m").motor("j")
