"""Load a model file, simulate it, and look at where it ends.

    python examples/python/01_load_and_simulate.py robot.urdf
"""

import sys
from pathlib import Path

import leastaction as la

own = Path(__file__).resolve().parents[2] / "models" / "floating-arm.json"
mech = la.load(sys.argv[1] if len(sys.argv) > 1 else own)

run = la.simulate(mech, duration=1.0, step=1e-3, report=False)
for name, q in zip(mech.q_labels, run.state.q, strict=True):
    print(f"{name:>24} = {q:.6f}")
assert run.error is None
