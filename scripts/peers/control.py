"""Optimal control beside Crocoddyl: iterations to the optimum and time per iteration, one thread.

usage: python scripts/peers/control.py --leastaction PATH [--rounds N] [--json FILE] [--venv FOLDER]

The same trees (URDF files that `leastaction convert` writes), costs, steps, starts and first guesses: a double pendulum swung up, a chain
of ten links raised, the panda moved by 0.3 rad in every joint, each without limits (FDDP) and with limits of the inputs (its box solver).
Crocoddyl runs with its Euler (order 1) and its RK4, ours with orders 2 and 4. Every discretisation has an optimum of its own, so a search
is measured by the iterations after which its cost is within 1e-6, relative, of what it ended with; a peer that ends a tenth above ours
has not solved the problem. The time per iteration is that of the whole search over its iterations, the least
of all rounds. Prints a table and a verdict for every line; fails where one is a loss. Needs the packages of control_requirements.txt, in an
environment of its own, which `--venv` makes: the Pinocchio of requirements.txt does not fit Crocoddyl's wheel.
"""

import argparse
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import environment
import models

os.environ.setdefault("OMP_NUM_THREADS", "1")
NEAR = 1e-6
PATH, INPUT, END = 1e-3, 1e-4, 1e3
# Ours over theirs: order, their integrator, most time per iteration. Iterations: most, whatever the order.
TIMES = ((2, "Euler", 1.0), (4, "RK4", 0.5))
ITERATIONS = 1.3


class Case:
    """A tree, its goal, the steps, the largest input in the case with limits."""

    def __init__(self, name, source, start, goal, steps, h, limit):
        self.name, self.source, self.start, self.goal = name, source, start, goal
        self.steps, self.h, self.limit = steps, h, limit


def cases(panda_file):
    """Limits are such that they are reached and the goal still is."""
    panda = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
    return [
        Case("double pendulum", "@chain/2", [0.0] * 2, [math.pi, 0.0], 150, 0.02, 12.0),
        Case("chain of 10", "@chain/10", [0.0] * 10, [0.2] * 10, 200, 0.01, 400.0),
        Case("panda", panda_file, panda, [q + 0.3 for q in panda], 150, 0.01, 40.0),
    ]


def write_model(leastaction, folder, case):
    """Our file and the URDF of a case, without what Crocoddyl leaves out."""
    stem = folder / case.name.replace(" ", "_")
    models.convert(leastaction, case.source, stem.with_suffix(".json"))
    model = models.plain_robot(json.loads(stem.with_suffix(".json").read_text()))
    for joint in model["joints"]:
        joint.pop("actuators", None)
    model["inputs"] = []
    for body in model["bodies"]:
        body.pop("visuals", None)
    model.pop("states", None)
    stem.with_suffix(".json").write_text(json.dumps(model))
    models.convert(leastaction, stem.with_suffix(".json"), stem.with_suffix(".urdf"))
    # Joints without limits have two coordinates there, a cosine and a sine, which is slower: they get limits out of reach.
    text = stem.with_suffix(".urdf").read_text()
    text = re.sub(r'(<joint [^>]*)type="continuous"([^>]*>)', r'\1type="revolute"\2<limit lower="-100" upper="100" effort="1e9" velocity="1e9"/>', text)
    stem.with_suffix(".urdf").write_text(text)
    return stem


def first_within(costs, least):
    """Iterations after which the cost is near the least, or nothing."""
    bound = least + NEAR * abs(least)
    return next((k for k, cost in enumerate(costs) if cost <= bound), None)


def ours(leastaction, stem, case, limited, order):
    """Costs after each iteration, seconds per iteration."""
    rows = lambda values: "[" + ", ".join(f"{x!r}" for x in values) + "]"  # noqa: E731
    term = lambda kind, weight, at: f'[[terms]]\nkind = "{kind}"\nweight = {weight!r}\n{at}'  # noqa: E731
    text = [f'schema = "leastaction/problem/1"\nmodel = "{stem.with_suffix(".json")}"',
            f'[control]\nduration = {case.steps * case.h!r}\nstep = {case.h!r}\nmotors = "all"\norder = {order}',
            f'guess = {{ inputs = 0.0, states = "line" }}\n[start]\nq = {rows(case.start)}\n[goal]\nq = {rows(case.goal)}']
    if limited:
        text.append(f"[limits]\ninput = {case.limit!r}")
    text += [term("position", PATH, ""), term("velocity", PATH, ""), term("input", INPUT, ""),
             term("position", END, 'at = "end"\n'), term("velocity", END, 'at = "end"\n')]
    problem = stem.with_suffix(".toml")
    problem.write_text("\n".join(text))
    done = subprocess.run([leastaction, "control", problem, "--json", "--no-report", "--force", "--out", stem.parent / "out"], capture_output=True,
                          text=True, timeout=600)
    try:
        found = json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{case.name}: {done.stderr.strip()[-300:]}")
    costs = {}
    for line in found["history"]:
        # A path with gaps is no motion; its cost does not count.
        costs[line["iteration"]] = line["objective"] if line["gap"] <= 1e-9 else math.inf
    seconds = sum(line["seconds"] for line in found["history"]) / max(found["iterations"], 1)
    return [costs[k] for k in sorted(costs)], seconds


def theirs(stem, case, limited, integrator):
    """Costs after each iteration, seconds per iteration."""
    import crocoddyl
    import numpy as np
    import pinocchio

    model = pinocchio.buildModelFromUrdf(str(stem.with_suffix(".urdf")))
    nv = model.nv
    state = crocoddyl.StateMultibody(model)
    actuation = crocoddyl.ActuationModelFull(state)
    start = np.concatenate([case.start, np.zeros(nv)])
    goal = np.concatenate([case.goal, np.zeros(nv)])

    def costs(state_weight, input_weight):
        sum_of = crocoddyl.CostModelSum(state)
        sum_of.addCost("x", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelState(state, goal)), state_weight)
        sum_of.addCost("u", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state)), input_weight)
        return crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, sum_of)

    def stepped(action, h):
        if integrator == "Euler":
            return crocoddyl.IntegratedActionModelEuler(action, h)
        held = crocoddyl.ControlParametrizationModelPolyZero(nv)
        return crocoddyl.IntegratedActionModelRK(action, held, crocoddyl.RKType.four, h)

    running = stepped(costs(PATH, INPUT), case.h)
    if limited:
        running.u_lb, running.u_ub = -case.limit * np.ones(nv), case.limit * np.ones(nv)
    problem = crocoddyl.ShootingProblem(start, [running] * case.steps, stepped(costs(END, 0.0), 0.0))
    problem.nthreads = 1
    check(model, running.differential, start)
    line = [start + (goal - start) * k / case.steps for k in range(case.steps + 1)]
    guess = line, [np.zeros(nv)] * case.steps
    solver = (crocoddyl.SolverBoxFDDP if limited else crocoddyl.SolverFDDP)(problem)
    solver.th_stop = 1e-12
    begin = time.perf_counter()
    solver.solve(*guess, 500, False)
    seconds = (time.perf_counter() - begin) / max(solver.iter, 1)
    # The history is taken in a run of its own: a callback costs time.
    log = crocoddyl.CallbackLogger()
    solver.setCallbacks([log])
    solver.solve(*guess, 500, False)
    history = list(log.costs)
    # Gaps are closed by the first full step and stay closed.
    closed = next((k for k, step in enumerate(log.steps) if step == 1.0), len(history))
    return [math.inf if k < closed else cost for k, cost in enumerate(history)], seconds


def check(model, action, state):
    """Refuses wheels that do not fit each other: with Pinocchio 4.1 the accelerations of Crocoddyl 3.2.1 are not computed at all."""
    import numpy as np
    import pinocchio

    nv = model.nv
    data = action.createData()
    action.calc(data, state, np.zeros(nv))
    right = pinocchio.aba(model, model.createData(), state[:nv], state[nv:], np.zeros(nv))
    if not np.allclose(data.xout, right, rtol=1e-9, atol=1e-9):
        raise SystemExit("Crocoddyl's dynamics differ from Pinocchio's: install a Pinocchio that it was built with (3.2.1: pin 4.0.0)")


def measure(leastaction, rounds):
    """One line per case, limits and order."""
    from example_robot_data.robots_loader import getModelPath

    panda = "panda_description/urdf/panda.urdf"
    robots = pathlib.Path(getModelPath(panda))
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(robots / panda if robots.is_dir() else robots):
            stem = write_model(leastaction, pathlib.Path(folder), case)
            for limited in (False, True):
                for order, integrator, most in TIMES:
                    runs = [(ours(leastaction, stem, case, limited, order), theirs(stem, case, limited, integrator)) for _ in range(rounds)]
                    lines.append(judge(case.name, limited, order, integrator, most, runs))
                    print(row(lines[-1]), flush=True)
    return lines


def judge(name, limited, order, integrator, most, runs):
    """Verdicts from pairs of (costs, seconds per iteration), ours first."""
    (mine, _), (other, _) = runs[0]
    seconds = [min(run[side][1] for run in runs) for side in (0, 1)]
    counts = [first_within(mine, mine[-1]), first_within(other, other[-1])]
    # The discretisations differ by their errors: a peer that ends a tenth above has found no optimum, or another one.
    solved = other[-1] <= 1.1 * mine[-1]
    line = {"case": name, "limits": limited, "order": order, "integrator": integrator, "iterations": counts, "ms": [1e3 * s for s in seconds],
            "cost": [mine[-1], other[-1]], "solved": solved, "time_bound": most}
    line["time_verdict"] = "pass" if seconds[0] <= most * seconds[1] else "loss"
    if other[-1] < mine[-1] / 1.1:
        line["iteration_verdict"] = "loss"
        return line
    line["iteration_verdict"] = "pass" if not solved or counts[0] <= ITERATIONS * counts[1] else "loss"
    return line


HEADER = ("| case | limits | ours | theirs | iterations, ours | theirs | verdict (≤ 1.3) | ms per iteration, ours | theirs | ratio | verdict | cost, ours | theirs |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|---|---|")


def row(line):
    mine, other = line["iterations"]
    peer = str(other) if line["solved"] else "not solved"
    a, b = line["ms"]
    return (f"| {line['case']} | {'yes' if line['limits'] else 'no'} | order {line['order']} | {line['integrator']} | {mine} | {peer} | {line['iteration_verdict']}"
            f" | {a:.2f} | {b:.2f} | {a / b:.2f} | {line['time_verdict']} (≤ {line['time_bound']}) | {line['cost'][0]:.6g} | {line['cost'][1]:.6g} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leastaction", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--venv", type=pathlib.Path)
    args = parser.parse_args()
    if args.venv:
        problems = []
        python = environment.prepare(args.venv.resolve(), problems.append, "control_requirements.txt")
        if problems:
            raise SystemExit("\n".join(problems))
        rest = ["--leastaction", args.leastaction.resolve(), "--rounds", str(args.rounds)] + (["--json", args.json.resolve()] if args.json else [])
        sys.exit(subprocess.run([python, __file__, *rest]).returncode)
    print(HEADER)
    found = measure(args.leastaction.resolve(), args.rounds)
    if args.json:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    sys.exit(any("loss" in (line["time_verdict"], line["iteration_verdict"]) for line in found))
