#!/usr/bin/env python3
"""Panda's hand through two poses, its path clear of a ball, end configuration and duration free: ours beside CasADi with IPOPT.

    scripts/panda_past_a_ball.py LEASTACTION [ROBOTS]

ROBOTS is the folder of example-robot-data (found in this Python if it is installed there). The cost is half the mean square of jerk
and of torque rate, weighed, plus what the time costs; the spline, its samples and all constraints (the ball at the samples only) are the same
for both. Both are run from the same two starts: the arm standing still, and a coarse motion through postures that an inverse kinematics of this
script finds for the two poses. Where they end in different valleys that is said, and the peer goes on from our motion. Ours has to be solved in
under 0.5 s from the arm standing still, which is where it begins by itself, with conditions of optimality to 1e-8; and from one of the starts both
have to come to the same cost to 1e-6. At last ours is solved with the ball kept clear of between samples too, as it is unless told otherwise.
Needs casadi, numpy and scipy (pip install -r scripts/peers/requirements.txt).
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "peers"))
from arm import hat, read  # noqa: E402
from models import convert, derive, plain_robot  # noqa: E402
from peer_casadi import expressions  # noqa: E402

CONTROL, DEGREE, POINTS = 20, 5, 6
START = (0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.7)
# Postures that the two poses are taken from; neither side is told.
MIDDLE = (0.6, 0.2, -0.2, -1.6, 0.3, 1.9, 0.4)
GOAL = (1.2, 0.3, -0.4, -1.2, 0.5, 2.2, 0.8)
JERK, RATE, TIME, DURATION = 1e-3, 1e-3, 0.05, 2.0
# On the way that the hand would take without it.
CENTRE, RADIUS = (0.484, 0.138, 0.594), 0.1


def pose(links, hand, q, kind=np):
    """Rotation and place of the hand, for numbers or CasADi symbols."""
    constant, times = (ca.DM, ca.mtimes) if kind is ca else (np.asarray, np.matmul)
    rotation, place = constant(np.eye(3)), constant(np.zeros(3))
    for i, (axis, fixed, at, *_) in enumerate(links):
        k = hat(axis)
        place = place + times(rotation, constant(at))
        turn = constant(np.eye(3)) + kind.sin(q[i]) * constant(k) + (1 - kind.cos(q[i])) * constant(k @ k)
        rotation = times(times(rotation, constant(fixed)), turn)
    return rotation, place + times(rotation, constant(hand))


def quaternion(r):
    w = np.sqrt(max(0.0, 1 + np.trace(r))) / 2
    if w > 1e-3:
        return [w, (r[2, 1] - r[1, 2]) / (4 * w), (r[0, 2] - r[2, 0]) / (4 * w), (r[1, 0] - r[0, 1]) / (4 * w)]
    values, vectors = np.linalg.eigh((r + r.T) / 2)
    return [0.0, *vectors[:, np.argmax(values)]]


def posture(links, hand, goal, q):
    """A posture near `q` whose hand is at a pose: damped least squares with differences."""
    rotation, place = goal

    def missing(q):
        r, p = pose(links, hand, q)
        e = rotation.T @ r
        return np.concatenate([p - place, [e[2, 1] - e[1, 2], e[0, 2] - e[2, 0], e[1, 0] - e[0, 1]]])

    q = np.array(q, float)
    for _ in range(200):
        m = missing(q)
        j = np.column_stack([(missing(q + 1e-6 * e) - missing(q - 1e-6 * e)) / 2e-6 for e in np.eye(7)])
        step = np.linalg.solve(j.T @ j + 1e-3 * np.eye(7), -j.T @ m)
        q = q + step * min(1.0, 0.3 / np.abs(step).max())
    return q


def coarse(links, hand, goals):
    """Control points from one posture to the next, at rest where the motion starts and ends."""
    middle = posture(links, hand, goals[0][1], START)
    end = posture(links, hand, goals[1][1], middle)
    free = CONTROL - 6
    s = (np.arange(free) + 1) / (free + 1)
    at = lambda a, b, x: np.outer(1 - x, a) + np.outer(x, b)  # noqa: E731
    inner = np.where(s[:, None] < 0.5, at(START, middle, 2 * s), at(middle, end, 2 * s - 1))
    return np.vstack([np.tile(START, (3, 1)), inner, np.tile(end, (3, 1))])


def problem_file(model, hand, goals, centre, between=0.0):
    poses = "".join(f"""
[[constraints]]
name = "{name}"
kind = "pose"
frame = "panda_link7"
point = {list(hand)}
target = {[*map(float, place), *map(float, quaternion(rotation))]}
at = {at}
""" for name, (rotation, place), at in goals)
    return f"""schema = "leastaction/problem/1"
model = "{model}"
[trajectory]
duration = {DURATION}
time_weight = {TIME}
control_points = {CONTROL}
[start]
q = {list(START)}
a = 0.0
[end]
q = "free"
a = 0.0
[solver]
limits_between = {between}
[[terms]]
kind = "joint_jerk"
weight = {JERK}
[[terms]]
kind = "torque_rate"
weight = {RATE}
{poses}
[[constraints]]
name = "ball"
kind = "keep_out"
frame = "panda_link7"
point = {list(hand)}
centre = {[*map(float, centre)]}
radius = {RADIUS}
"""


def peer(links, hand, goals, centre):
    """The same with CasADi: the function that solves it from a start, built, and the seconds that took."""
    started = time.perf_counter()
    knots = np.concatenate([np.zeros(DEGREE), np.linspace(0, 1, CONTROL - DEGREE + 1), np.full(DEGREE, 1.0)])
    roots, weights = np.polynomial.legendre.leggauss(POINTS)
    spans = np.linspace(0, 1, CONTROL - DEGREE + 1)
    width = spans[1]
    times = np.concatenate([a + width * (1 + roots) / 2 for a in spans[:-1]])
    weights = np.tile(weights * width / 2, len(spans) - 1)
    splines = [BSpline(knots, row, DEGREE) for row in np.eye(CONTROL)]
    table = lambda t, d: ca.sparsify(ca.DM(np.column_stack([(s.derivative(d) if d else s)(t) for s in splines]).T))  # noqa: E731
    x, _, rate = expressions(links)
    rates = ca.Function("rate", x, [rate])
    q = ca.SX.sym("q", 7)
    rotation, place = pose(links, hand, q, ca)
    places = ca.Function("place", [q], [place])
    poses = ca.Function("pose", [q], [place, rotation])
    inner = ca.MX.sym("x", 7, CONTROL - 5)
    duration = ca.MX.sym("T")
    first = ca.DM(np.tile(START, (3, 1)).T)
    full = ca.horzcat(first, inner, inner[:, -1], inner[:, -1])
    state = [ca.mtimes(full, table(times, d)) / duration**d for d in range(4)]
    w = ca.DM(weights)
    square = lambda rows: ca.mtimes(ca.sum1(rows**2), w)  # noqa: E731
    cost = 0.5 * (JERK * square(state[3]) + RATE * square(rates.map(len(times))(*state))) + TIME * duration
    constraints, low, high = [], [], []
    for _, (goal, at), t in goals:
        p, r = poses(ca.mtimes(full, table(np.array([t / DURATION]), 0)))
        error = ca.mtimes(ca.DM(goal).T, r)
        constraints += [p - ca.DM(at), ca.vertcat(error[2, 1] - error[1, 2], error[0, 2] - error[2, 0], error[1, 0] - error[0, 1])]
        low += [0.0] * 6
        high += [0.0] * 6
    distance = places.map(len(times))(state[0]) - ca.DM(centre)
    constraints.append(ca.sum1(distance**2).T)
    low += [RADIUS**2] * len(times)
    high += [np.inf] * len(times)
    z = ca.vertcat(ca.vec(inner), duration)
    solver = ca.nlpsol("s", "ipopt", {"x": z, "f": cost, "g": ca.vertcat(*constraints)},
                       {"ipopt": {"print_level": 0, "sb": "yes", "tol": 1e-9, "max_iter": 1000, "max_cpu_time": 40.0}, "print_time": 0})
    built = time.perf_counter() - started
    lower = [-np.inf] * (7 * (CONTROL - 5)) + [0.05]

    def solve(theta, duration):
        # The last three control points are one: velocity and acceleration are zero at the end.
        start = [*np.asarray(theta)[3:-2].ravel(), duration]
        started = time.perf_counter()
        found = solver(x0=start, lbx=lower, lbg=low, ubg=high)
        return found, time.perf_counter() - started, solver.stats()

    return solve, built


def robots_folder():
    if len(sys.argv) > 2:
        return pathlib.Path(sys.argv[2])
    import sysconfig
    return next(pathlib.Path(sysconfig.get_paths()["purelib"]).rglob("panda_description")).parent


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        convert(command, robots_folder() / "panda_description/urdf/panda.urdf", folder / "panda.json", "--base", "fixed")
        model = plain_robot(json.loads((folder / "panda.json").read_text()))
        (folder / "panda.json").write_text(json.dumps(model))
        derive(command, folder, "panda", model)
        links = read(folder / "panda.txt")
        hand = (0.0, 0.0, 0.107)
        goals = [("middle", pose(links, hand, MIDDLE), 0.5 * DURATION), ("end", pose(links, hand, GOAL), DURATION)]
        centre = np.array(CENTRE)
        (folder / "problem.toml").write_text(problem_file("panda.json", hand, goals, centre))
        (folder / "clear.toml").write_text(problem_file("panda.json", hand, goals, centre, between=1e-6))

        def ours(problem, start=None, repeat=5):
            run = [command, "optimize", str(folder / problem), "--json", "--no-report", "--out", str(folder / "out")]
            run += ["--start", str(start)] if start else []
            seconds, solving = np.inf, np.inf
            for _ in range(repeat):
                begin = time.perf_counter()
                done = subprocess.run(run, capture_output=True, text=True)
                seconds = min(seconds, time.perf_counter() - begin)
                if done.returncode != 0:
                    sys.exit(f"leastaction failed\n{done.stdout}{done.stderr}")
                found = json.loads(done.stdout)
                solving = min(solving, found["wall_time"])
            cost = found["objective"] + TIME * found["duration"]
            ball = found["constraints"][-1]
            print(f"  leastaction: {seconds:.3f} s for the whole program, {solving:.3f} s without its start; cost {cost:.9f}, duration "
                  f"{found['duration']:.6f} s, {found['iterations']} iterations, optimality {found['kkt_residual']:.1e}, into the ball by "
                  f"{ball['violation']:.1e} m at the samples, {ball['violation_between_samples']:.1e} m between them", flush=True)
            return found, cost, solving

        solve, built = peer(links, hand, goals, centre)

        def theirs(theta, duration, name="CasADi + IPOPT"):
            found, taken, stats = solve(theta, duration)
            print(f"  {name}: {taken:.3f} s; cost {float(found['f']):.9f}, duration {float(found['x'][-1]):.6f} s, {stats['iter_count']} iterations, "
                  f"{stats['return_status']}", flush=True)
            return float(found["f"])

        failed, agree = [], False
        standing = np.tile(START, (CONTROL, 1))
        print(f"CasADi takes {built:.3f} s to build the problem")
        first = None
        for name, theta in (("the arm standing still", standing), ("a coarse motion through postures", coarse(links, hand, goals))):
            print(f"from {name}:")
            start = None
            if first:
                # Control points as the command reads them.
                start = folder / "start.json"
                first["theta"], first["theta_low"] = theta.tolist(), np.zeros_like(theta).tolist()
                start.write_text(json.dumps(first))
            found, cost, solving = ours("problem.toml", start)
            other = theirs(theta, DURATION)
            print(f"  cost of ours over the peer's, less one: {cost / other - 1:+.1e}")
            if abs(cost / other - 1) > 1e-6:
                other = theirs(np.array(found["theta"]), found["duration"], "another valley; CasADi + IPOPT from our motion")
                print(f"  cost of ours over the peer's, less one: {cost / other - 1:+.1e}")
                if abs(cost / other - 1) > 1e-6:
                    failed.append(f"from {name} the peer does not agree that ours is a solution")
            else:
                agree = True
            if theta is standing and solving >= 0.5:
                failed.append("0.5 s is missed")
            if not found["kkt_residual"] <= 1e-8:
                failed.append(f"from {name} optimality of 1e-8 is missed")
            first = first or found
        print("clear of the ball between samples as well:")
        found, _, _ = ours("clear.toml", repeat=3)
        if found["constraints"][-1]["violation_between_samples"] > 1e-6 * RADIUS:
            failed.append("not clear of the ball between samples")
        if not agree:
            failed.append("from no start both come to the same cost")
        if failed:
            sys.exit("; ".join(failed))


if __name__ == "__main__":
    main()
