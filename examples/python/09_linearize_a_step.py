"""The exact derivative of a step, and the regulator that holds a pole upright."""

from pathlib import Path

import numpy as np

import leastaction as la

mech = la.load(Path(__file__).resolve().parents[2] / "models" / "cart-pole.json")
up = mech.named_state("up")
lin = la.linearize(mech, up, u=[0.0], step=0.02)
found = la.riccati(lin.A, lin.B, np.ones(4), [0.1])
print("gain", found.gain.round(3), f"motions decay by {found.radius:.4f} per step")

sim = la.Simulator(mech, start=up, q={mech.joints[1]: up.q[1] + 0.1}, step=0.02)
for _ in range(400):
    x = np.concatenate([mech.difference(up.q, sim.state.q), sim.state.v])
    sim.step(found.gain @ x)
assert abs(sim.state.q - up.q).max() < 1e-2
