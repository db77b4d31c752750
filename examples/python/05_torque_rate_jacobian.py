"""The torque rate of a motion and its exact Jacobian by position, velocity, acceleration and jerk."""

import numpy as np

import leastaction as la

mech = la.load("@chain/3")
n = mech.nv
q, v, a, j = np.full(n, 0.3), np.full(n, 0.5), np.full(n, -0.2), np.full(n, 1.0)
found = la.jacobian(mech, "torque", q, [v, a, j], order=1)
print("how the torque rate changes with the positions:")
print(found.block(1, 0).round(4))
# The torque rate has the jerk under the mass matrix.
assert np.allclose(found.block(1, 3), mech.mass_matrix(q))
