"""A Stewart platform: poses and constraints are chosen by themselves, and the joints tell their forces."""

from pathlib import Path

import leastaction as la

mech = la.load(Path(__file__).resolve().parents[2] / "models" / "stewart-platform.json")
sim = la.Simulator(mech, step=0.002)
sim.run(500)
forces = sim.joint_forces()
print(f"{len(mech.loop_joints)} loops, open by {sim.gap:.1e} m after {sim.state.t:.3f} s")
name, force = next(iter(forces.items()))
print(f"joint `{name}` bears {force.wrench[3:].round(3)} N")
assert sim.gap < 1e-8
