"""The weights of the costs that a motion is optimal for, found from the motion alone."""

from pathlib import Path

import leastaction as la

problem = la.MotionProblem.load(Path(__file__).resolve().parents[2] / "examples" / "arm3_b.toml")
best = la.optimize(problem, report=False)
found = la.infer(problem, motion=best)
for name, weight in found.weights.items():
    print(f"{name:>20} {weight:.9f}")
    assert abs(weight - 0.25) < 1e-6
