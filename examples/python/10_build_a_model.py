"""A four-bar linkage built in Python: bodies, joints, a loop, a spring, a motor."""

import leastaction as la

model = la.Model("linkage")
for name, length in (("crank", 0.3), ("rod", 0.9), ("rocker", 0.7)):
    model.body(name, mass=length, com=[length / 2, 0, 0], inertia=[1e-4, length**3 / 12, length**3 / 12])
model.joint("drive", "revolute", "world", "crank", axis=[0, 1, 0])
model.joint("elbow", "revolute", "crank", "rod", axis=[0, 1, 0], at=[0.3, 0, 0])
model.joint("swing", "revolute", "world", "rocker", axis=[0, 1, 0], at=[1.0, 0, 0], damping=0.05)
model.joint("close", "revolute", "rod", "rocker", axis=[0, 1, 0], at=[0.9, 0, 0], child_at=[0.7, 0, 0], role="loop")
model.spring("swing", stiffness=2.0, rest=-1.0)
model.motor("drive")
model.state("start", q={"drive": -1.0, "elbow": 0.5, "swing": -1.5})

mech = model.build()
sim = la.Simulator(mech, step=0.005)
sim.run(400, [0.5])
print(mech)
print(f"closed within {sim.gap:.1e} m; crank at {sim.state.q[mech.q_slice('drive')][0]:.4f} rad")
assert sim.gap < 1e-8
