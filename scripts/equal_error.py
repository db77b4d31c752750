"""Cost of an error on trees: joint coordinates beside poses.

usage: python scripts/equal_error.py [--binary FILE] [MODEL...]

Every model (default: double pendulum, chain of ten hinges, chain of ten balls, and talos on a fixed base if the package
`example-robot-data` is installed) runs for 1 s from its start, without limits, friction and contact, by both engines at orders 2, 4, 6 and
several steps. Error: largest joint coordinate at the end against order 8 in joint coordinates at 0.5 ms. Cost: best time per step by `bench step`,
per simulated second, on the line between neighbouring runs in logarithms. Printed: both costs and poses over joint coordinates.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

SPAN = 1.0
STEPS = [10, 16, 25, 40, 80, 160, 320, 1280]
QUIET = ["--limits", "off", "--contact", "off", "--ignore", "friction"]


def talos():
    """Where the package put the robot, if it is installed."""
    found = [p for root in sys.path for p in Path(root or ".").glob("cmeel.prefix/share/example-robot-data/robots/talos_data/robots/talos_reduced.urdf")]
    return [str(found[0])] if found else []


def end(binary, model, engine, order, steps, folder):
    out = Path(folder) / f"{engine}-{order}-{steps}"
    call = [binary, "simulate", model, "--integrator", engine, "--order", str(order), "--step", repr(SPAN / steps), "--duration", repr(SPAN), "--out", str(out)]
    done = subprocess.run(call + QUIET + base(model), capture_output=True, text=True)
    if done.returncode:
        return None
    return json.loads((out / "state.json").read_text())["q"]


def base(model):
    return ["--base", "fixed"] if model.endswith(".urdf") else []


def apart(a, b):
    flat = lambda q: [x for name in sorted(q) for x in (q[name] if isinstance(q[name], list) else [q[name]])]
    return max(abs(x - y) for x, y in zip(flat(a), flat(b)))


def time_per_step(binary, model, engine, order, step):
    call = [binary, "bench", "step", model, "--integrator", engine, "--order", str(order), "--step", repr(step), "--steps", str(round(SPAN / step)), "--budget", "0.15", "--json"]
    done = subprocess.run(call + QUIET + base(model), capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])["us"]


def cost_at(points, error):
    """Least cost at an error; points from coarse to fine."""
    costs = [c for e, c in points if e <= error]
    for (e0, c0), (e1, c1) in zip(points, points[1:]):
        if e0 > error > e1:
            costs.append(c0 * (c1 / c0) ** (math.log(error / e0) / math.log(e1 / e0)))
    return min(costs, default=None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default="target/release/leastaction")
    parser.add_argument("models", nargs="*")
    given = parser.parse_args()
    for model in given.models or ["@double-pendulum", "@chain/10", "@ball-chain/10", *talos()]:
        name = model if model.startswith("@") else Path(model).stem
        with tempfile.TemporaryDirectory() as folder:
            exact = end(given.binary, model, "minimal", 8, 2000, folder)
            found = {}
            for engine in ["minimal", "maximal"]:
                for order in [2, 4, 6]:
                    points = []
                    for steps in STEPS:
                        q = end(given.binary, model, engine, order, steps, folder)
                        if q is not None:
                            step = SPAN / steps
                            points.append((max(apart(q, exact), 1e-16), time_per_step(given.binary, model, engine, order, step) / step))
                    found[engine, order] = points
            for error in [1e-3, 1e-4, 1e-5, 1e-7]:
                best = {}
                for (engine, order), points in found.items():
                    cost = cost_at(points, error)
                    if cost is not None and cost < best.get(engine, (math.inf, 0))[0]:
                        best[engine] = (cost, order)
                if len(best) == 2:
                    (a, m), (b, n) = best["minimal"], best["maximal"]
                    print(f"{name} | {error:g} rad | joint coordinates {a:.0f} us/s (order {m}) | poses {b:.0f} us/s (order {n}) | ratio {b / a:.2f}", flush=True)


if __name__ == "__main__":
    main()
