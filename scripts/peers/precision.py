"""Error and cost of a planar pendulum over 10 s: ours and MuJoCo's, against our DOP853 at 1e-13.

The error is the largest distance of a link's end to the reference over samples every 0.1 s. Run by run.py.
"""

import csv
import json
import math
import subprocess

SAMPLE, SAMPLES = 0.1, 100


def ends(angles):
    """Ends of rods of 1 m that hang from one another, turned about x."""
    points, total, y, z = [], 0.0, 0.0, 0.0
    for angle in angles:
        total += angle
        y, z = y + math.sin(total), z - math.cos(total)
        points.append((y, z))
    return points


def error(states, reference):
    worst = 0.0
    for state, exact in zip(states, reference):
        for (y, z), (ey, ez) in zip(ends(state), ends(exact)):
            worst = max(worst, math.hypot(y - ey, z - ez))
    return worst


def simulate(leastaction, out, n, integrator, order, h, tolerance=None):
    """Positions every 0.1 s of a run of ours."""
    every = max(1, round(SAMPLE / h))
    command = [leastaction, "simulate", f"@chain/{n}", "--integrator", integrator, "--step", repr(h), "--duration",
               repr(SAMPLE * SAMPLES), "--every", str(every), "--out", out, "--no-report"]
    if order:
        command += ["--order", str(order)]
    if tolerance:
        command += ["--tolerance", repr(tolerance)]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    with open(out / "trajectory.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [name for name in rows[0] if name.startswith("q.")]
    return [[float(row[name]) for name in names] for row in rows[1:]]


def measure(leastaction, out, n, mujoco_lines):
    """Lines with `error` and `ms_per_second` for us and for MuJoCo's runs."""
    reference = simulate(leastaction, out, n, "dop853", None, SAMPLE, 1e-13)
    results = []
    for order, steps in ((4, (0.01, 0.005)), (6, (0.05, 0.025)), (8, (0.05, 0.025)), (10, (0.1, 0.05))):
        for h in steps:
            states = simulate(leastaction, out, n, "minimal", order, h)
            done = subprocess.run([str(leastaction), "bench", "step", f"@chain/{n}", "--integrator", "minimal", "--order", str(order),
                                   "--step", repr(h), "--steps", str(round(10 / h)), "--budget", "0.3"], capture_output=True, text=True, check=True)
            line = json.loads(done.stdout)
            line.update(section="precision", dt=h, error=error(states, reference), ms_per_second=line["us"] * 1e-3 / h)
            line["variant"] = f"{line['variant']} h={h}"
            results.append(line)
    for line in mujoco_lines:
        states = line.pop("q")
        line.update(error=error(states, reference), ms_per_second=line["us"] * 1e-3 / line["dt"])
        line["variant"] = f"{line['variant']} h={line['dt']}"
        results.append(line)
    return results
