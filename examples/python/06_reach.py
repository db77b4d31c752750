"""The reach of an arm that costs least: torque rates and jerks, with a limit of the velocities."""

from pathlib import Path

import numpy as np

import leastaction as la

mech = la.load(Path(__file__).resolve().parents[2] / "models" / "arm3.json")
problem = la.MotionProblem(
    mech,
    duration=2.0,
    start=np.full(3, 1.57),
    end=np.full(3, -1.57),
    terms=[la.Term("torque", 0.5), la.Term("joint_jerk", 0.5)],
    limits=[la.Limit("velocity", 3.0)],
)
best = la.optimize(problem, report=False)
print(f"{best.status}: objective {best.objective:.6f}")
print(f"largest velocity {np.abs(best.trajectory['v']).max():.4f} rad/s")
assert best.status == "Solved"
