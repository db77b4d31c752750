"""Thousands of motions on all processors, with a feedback law of your own."""

from pathlib import Path

import numpy as np

import leastaction as la

mech = la.load(Path(__file__).resolve().parents[2] / "models" / "cart-pole.json")
rng = np.random.default_rng(0)
q = np.column_stack([np.zeros(2000), rng.uniform(-0.5, 0.5, 2000)])

free = la.rollout(mech, q=q, v=0.0, duration=1.0, step=0.01)
damped = la.rollout(mech, q=q, v=0.0, duration=1.0, step=0.01, controller=lambda t, q, v: -5.0 * v[:, :1])
print(f"{free.ok.sum()} of {len(q)} motions came to their end")
speed = [float(np.abs(roll.v[:, 0]).mean()) for roll in (free, damped)]
print(f"mean speed of the cart: free {speed[0]:.4f} m/s, braked {speed[1]:.4f} m/s")
assert speed[1] < speed[0]
