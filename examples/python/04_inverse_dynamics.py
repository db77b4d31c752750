"""Inverse dynamics of a batch: slices of one table are read in place."""

import numpy as np

import leastaction as la

mech = la.load("@chain/7")
table = np.random.default_rng(0).uniform(-1, 1, (1000, mech.nq + 2 * mech.nv))
q, v, a = np.split(table, [mech.nq, mech.nq + mech.nv], axis=1)
tau = mech.inverse_dynamics(q, v, a)
print(f"{tau.shape[0]} torques of {tau.shape[1]} joints, at most {np.abs(tau).max():.3f} N m")
assert np.allclose(mech.forward_dynamics(q, v, tau), a)
