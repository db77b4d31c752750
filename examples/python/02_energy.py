"""The energy error of a variational integrator stays bounded; that of Runge and Kutta drifts."""

import numpy as np

import leastaction as la

mech = la.load("@double-pendulum")
for integrator in ("minimal", "rk4"):
    run = la.simulate(mech, duration=50.0, step=0.02, integrator=integrator, q={"joint0": 1.5}, report=False)
    error = run["energy.total"] - run["energy.total"][0]
    first, last = np.abs(error[:500]).max(), np.abs(error[-500:]).max()
    print(f"{integrator:>8}: {first:.2e} J in the first 10 s, {last:.2e} J in the last")
