"""Runs of leastaction whose results are more than a line of `bench`: errors, gaps, an optimum."""

import csv
import json
import subprocess
import time

from motion import link_ends
from reach import problem_file

SAMPLE = 0.1


def simulate(leastaction, out, model, integrator, h, duration, order=None, tolerance=None):
    """Rows of trajectory.csv every 0.1 s, the start left out, and the summary."""
    command = [leastaction, "simulate", model, "--integrator", integrator, "--step", repr(h), "--duration", repr(duration), "--every",
               max(1, round(SAMPLE / h)), "--out", out, "--force", "--no-report"]
    command += ["--order", order] if order else []
    command += ["--tolerance", repr(tolerance)] if tolerance else []
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    with open(out / "trajectory.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    return rows[1:], json.loads((out / "summary.json").read_text())


def ends(rows):
    """Ends of all links of a chain at each row."""
    names = sorted((name[2:-3] for name in rows[0] if name.startswith("x.") and name.endswith(".px")), key=lambda name: int(name[4:]))
    return [link_ends(row, names) for row in rows]


def bench(leastaction, *words):
    """Lines of `bench`."""
    done = subprocess.run([str(leastaction), "bench", *(str(word) for word in words)], check=True, capture_output=True, text=True)
    return [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]


def pendulum(leastaction, out, quick):
    """Error and time of our orders on the pendulum of 10 links over 10 s."""
    plan = ((2, (0.005, 0.001)), (4, (0.02, 0.01, 0.005, 0.0025)), (6, (0.1 / 3, 0.025, 0.0125)), (8, (0.05, 0.1 / 3, 0.025, 0.02)),
            (10, (0.1, 0.05, 0.1 / 3, 0.025)), (12, (0.1, 0.05, 0.1 / 3)))
    for order, steps in plan:
        for h in steps[:2] if quick else steps:
            rows, _ = simulate(leastaction, out, "@chain/10", "minimal", h, 10.0, order)
            (line,) = bench(leastaction, "step", "@chain/10", "--integrator", "minimal", "--order", order, "--step", repr(h), "--steps",
                            round(10 / h), "--budget", "0.2")
            yield dict(line, section="precision", variant=f"order {order}", points=ends(rows))


    for h in (0.02, 0.01) if quick else (0.02, 0.01, 0.005, 0.0025, 0.00125, 0.0005):
        rows, _ = simulate(leastaction, out, "@chain/10", "rk4", h, 10.0)
        (line,) = bench(leastaction, "step", "@chain/10", "--integrator", "rk4", "--step", repr(h), "--steps", round(10 / h), "--budget", "0.2")
        yield dict(line, section="precision", variant="RK4", points=ends(rows))
    for tolerance in (1e-6, 1e-8) if quick else (1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13):
        # It chooses its own steps. They are cut at the samples of the error, hardly ever in the run that is timed: both in its favour.
        rows, _ = simulate(leastaction, out, "@chain/10", "dop853", SAMPLE, 10.0, tolerance=tolerance)
        (line,) = bench(leastaction, "step", "@chain/10", "--integrator", "dop853", "--tolerance", repr(tolerance), "--step", "1.0", "--steps", 10,
                        "--budget", "0.2")
        yield dict(line, section="precision", variant="DOP853", points=ends(rows), tolerance=tolerance)


SWEEP = """
model = {model}
integrator = "{integrator}"
{order}step = 0.001
duration = 0.2
limits = "off"
friction = "off"
[sweep]
runs = 256
seed = 7
[sweep.vary]
{position}"initial.v.*" = {{ uniform = [-0.3, 0.3] }}
"""


def rollouts(leastaction, out, names):
    """Many runs on one thread, by a sweep; its draws and tables are part of the time."""
    for name, model in names:
        for integrator, order in (("minimal", 2), ("minimal", 4), ("semi-implicit", None), ("rk4", None)):
            # A free base starts where the model says.
            position = "" if name == "talos" else '"initial.q.*" = { uniform = [-0.5, 0.5] }\n'
            text = SWEEP.format(model=json.dumps(str(model)), integrator=integrator, order=f"order = {order}\n" if order else "", position=position)
            (out / "rollout.toml").write_text(text)
            command = [leastaction, "sweep", out / "rollout.toml", "--out", out / "rollout", "--threads", 1, "--no-report", "--fresh", "--json"]
            best = float("inf")
            for _ in range(3):
                done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
                found = json.loads(done.stdout)
                assert found["failed"] == 0, found["failures"]
                best = min(best, 1e6 / found["steps_per_second"])
            label = f"{integrator}, order {order}" if order else integrator
            yield {"section": "rollout", "system": "leastaction", "variant": label, "model": name, "n": 0, "us": best, "us_median": best, "dt": 1e-3}


def balls(leastaction, out, h):
    """The same of both engines at order 2 on 100 balls over 1 s."""
    for integrator in ("maximal", "minimal"):
        rows, _ = simulate(leastaction, out, "@ball-chain/100", integrator, h, 1.0, 2)
        (line,) = bench(leastaction, "step", "@ball-chain/100", "--integrator", integrator, "--order", 2, "--step", repr(h), "--steps",
                        round(1 / h), "--repeat", 3)
        yield dict(line, section="equal", variant=f"{integrator}, order 2", points=ends(rows))


def four_bar(leastaction, out):
    """Gap and energy over 60 s at 10 ms."""
    for order in (2, 4):
        rows, summary = simulate(leastaction, out, "@four-bar", "maximal", 0.01, 60.0, order)
        (line,) = bench(leastaction, "step", "@four-bar", "--integrator", "maximal", "--order", order, "--step", "0.01", "--steps", 6000,
                        "--repeat", 3)
        energies = [summary["energy"]["initial"], *(float(row["energy.total"]) for row in rows)]
        yield dict(line, section="gap", variant=f"maximal, order {order}", gap=summary["worst_gap"], energy=energies,
                   kinetic_scale=summary["energy"]["kinetic_scale"])


def optimum(leastaction, out, model):
    """The reach of reach.py: a solve with its set-up, and the program from start to end."""
    problem = out / "reach.toml"
    problem.write_text(problem_file(model, 2.02))
    command = [str(leastaction), "optimize", str(problem), "--json", "--no-report", "--force", "--out", str(out / "reach")]
    best, found = float("inf"), None
    for _ in range(5):
        begin = time.perf_counter()
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        best = min(best, time.perf_counter() - begin)
        found = json.loads(done.stdout)
    yield {"section": "optimum", "system": "leastaction", "variant": "optimize, whole program", "model": "panda", "n": 7, "us": best * 1e6,
           "us_median": best * 1e6, "cost": found["objective"], "iterations": found["iterations"]}
    (line,) = bench(leastaction, "optimize", problem)
    yield dict(line, section="optimum", variant="optimize, without the program's start", model="panda", cost=line["objective"])
