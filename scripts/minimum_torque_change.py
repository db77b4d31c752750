#!/usr/bin/env python3
"""Minimum torque change of a two-link arm (Uno, Kawato and Suzuki 1989) beside an independent collocation.

    scripts/minimum_torque_change.py LEASTACTION

Ours: `leastaction optimize` with one term, `torque_rate`, from a problem file that this script writes. The other: the textbook's
closed equations of motion of two links in CasADi, Gauss collocation of degree 10 on intervals of its own, IPOPT to 1e-12.
Positions at 201 times and the cost have to agree to 1e-8. Needs casadi, numpy and scipy (pip install -r scripts/peers/requirements.txt).
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import casadi as ca
import numpy as np
from scipy.interpolate import BSpline

# An arm about as large as a person's, in a vertical plane.
LENGTH, MASS, COM, INERTIA, GRAVITY = (0.33, 0.32), (1.93, 1.52), (0.165, 0.19), (0.0141, 0.0188), 9.81
START, END, DURATION = (-1.2, 1.6), (0.1, 0.9), 0.8
INTERVALS, DEGREE = 8, 10


def torque(q, v, a):
    """Two links about the y axis, angles from the x axis; positive rotation turns x down to -z."""
    i1, i2 = (INERTIA[k] + MASS[k] * COM[k] ** 2 for k in (0, 1))
    c2, s2 = ca.cos(q[1]), ca.sin(q[1])
    h = MASS[1] * LENGTH[0] * COM[1]
    m11 = i1 + i2 + MASS[1] * LENGTH[0] ** 2 + 2 * h * c2
    m12 = i2 + h * c2
    # Heights are -l sin(angle); potential energy is m g times that.
    g2 = -GRAVITY * MASS[1] * COM[1] * ca.cos(q[0] + q[1])
    g1 = -GRAVITY * (MASS[0] * COM[0] + MASS[1] * LENGTH[0]) * ca.cos(q[0]) + g2
    return ca.vertcat(m11 * a[0] + m12 * a[1] - h * s2 * (2 * v[0] * v[1] + v[1] ** 2) + g1,
                      m12 * a[0] + i2 * a[1] + h * s2 * v[0] ** 2 + g2)


def collocation():
    """Positions as functions of time, and the cost, half the mean square of the torque's rate."""
    x = ca.SX.sym("x", 6)
    u = ca.SX.sym("u", 2)
    q, v, a = x[:2], x[2:4], x[4:]
    rate = ca.jtimes(torque(q, v, a), x, ca.vertcat(v, a, u))
    run = ca.Function("run", [x, u], [ca.vertcat(v, a, u), 0.5 * ca.sumsqr(rate)])
    roots, weights = np.polynomial.legendre.leggauss(DEGREE)
    taus, weights = 0.5 * (1 + roots), 0.5 * weights
    nodes = np.concatenate([[0.0], taus])
    # Lagrange polynomials on the nodes: derivative at each, value at the end, integral.
    basis = [np.poly1d(np.poly(np.delete(nodes, i))) / np.prod(nodes[i] - np.delete(nodes, i)) for i in range(DEGREE + 1)]
    slope = np.array([[np.polyval(b.deriv(), t) for b in basis] for t in nodes])
    end = np.array([np.polyval(b, 1.0) for b in basis])
    h = DURATION / INTERVALS
    opti = ca.Opti()
    states, inputs, cost = [], [], 0
    at = opti.variable(6)
    opti.subject_to(at == ca.DM([*START, 0, 0, 0, 0]))
    opti.set_initial(at, [*START, 0, 0, 0, 0])
    profile = lambda s: np.array(START) + (np.array(END) - np.array(START)) * s**3 * (10 - 15 * s + 6 * s**2)  # noqa: E731
    for k in range(INTERVALS):
        inner, push = opti.variable(6, DEGREE), opti.variable(2, DEGREE)
        for i, t in enumerate(taus):
            opti.set_initial(inner[:2, i], profile((k + t) / INTERVALS))
        all_states = ca.horzcat(at, inner)
        for i in range(DEGREE):
            derivative, density = run(inner[:, i], push[:, i])
            opti.subject_to(ca.mtimes(all_states, ca.DM(slope[i + 1])) == h * derivative)
            cost += weights[i] * density / INTERVALS
        states.append(all_states)
        following = opti.variable(6)
        opti.set_initial(following[:2], profile((k + 1) / INTERVALS))
        opti.subject_to(ca.mtimes(all_states, ca.DM(end)) == following)
        at = following
    opti.subject_to(at == ca.DM([*END, 0, 0, 0, 0]))
    opti.minimize(cost)
    options = {"print_level": 0, "tol": 1e-12, "acceptable_tol": 1e-12, "max_iter": 500, "constr_viol_tol": 1e-12, "dual_inf_tol": 1e-8}
    opti.solver("ipopt", {"print_time": False}, options)
    found = opti.solve()
    values = [np.array(found.value(s)) for s in states]

    def position(t):
        k = min(int(t / h), INTERVALS - 1)
        s = t / h - k
        return values[k][:2] @ np.array([np.polyval(b, s) for b in basis])

    return position, float(found.value(cost)), int(found.stats()["iter_count"])


def ours(command, folder, control):
    bodies, joints = [], []
    for k in (0, 1):
        bodies.append({"name": f"link{k}", "mass": MASS[k], "com": [COM[k], 0, 0], "inertia": [1e-3, INERTIA[k], INERTIA[k], 0, 0, 0]})
        joints.append({"name": f"joint{k}", "type": "revolute", "parent": "world" if k == 0 else "link0", "child": f"link{k}",
                       "axis": [0, 1, 0], "parent_placement": {"p": [0 if k == 0 else LENGTH[0], 0, 0]}})
    model = {"schema": "leastaction/model/1", "name": "two-link", "gravity": [0, 0, -GRAVITY], "bodies": bodies, "joints": joints}
    (folder / "two-link.json").write_text(json.dumps(model))
    problem = f"""schema = "leastaction/problem/1"
model = "two-link.json"
[trajectory]
duration = {DURATION}
degree = 9
control_points = {control}
[start]
q = {list(START)}
a = 0.0
[end]
q = {list(END)}
a = 0.0
[[terms]]
kind = "torque_rate"
weight = 1.0
"""
    (folder / "problem.toml").write_text(problem)
    run = [command, "optimize", str(folder / "problem.toml"), "--json", "--no-report", "--out", str(folder / "out")]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"leastaction failed\n{done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def main():
    position, cost, iterations = collocation()
    print(f"collocation: cost {cost:.12f} N2m2/s2, {iterations} iterations")
    times = np.linspace(0, DURATION, 201)
    reference = np.array([position(t) for t in times])
    worst = np.inf
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for control in (16, 24, 40):
            found = ours(sys.argv[1], folder, control)
            points = np.array(found["theta"]).reshape(control, 2)
            knots = np.concatenate([np.zeros(9), np.linspace(0, DURATION, control - 9 + 1), np.full(9, DURATION)])
            q = BSpline(knots, points, 9)(times)
            worst = np.abs(q - reference).max()
            excess = found["objective"] / cost - 1
            print(f"leastaction, {control} control points: cost {found['objective']:.12f} ({excess:+.1e}), positions to {worst:.1e} rad, "
                  f"{found['iterations']} iterations, {1e3 * found['wall_time']:.1f} ms")
    if not (worst <= 1e-8 and abs(excess) <= 1e-8):
        sys.exit("they differ by more than 1e-8")


if __name__ == "__main__":
    main()
