"""Checkpoint and resume: 500 + 500 steps are 1000, bit for bit, also through a pickle."""

import pickle
import tempfile
from pathlib import Path

import numpy as np

import leastaction as la

mech = la.load("@chain/5")
whole, half = la.Simulator(mech, step=0.002), la.Simulator(mech, step=0.002)
whole.run(1000)
half.run(500)
with tempfile.TemporaryDirectory() as folder:
    half.checkpoint().save(Path(folder) / "state.json")
    resumed = la.Simulator(mech, start=la.State.load(Path(folder) / "state.json", mech), step=0.002)
copied = pickle.loads(pickle.dumps(half))
for sim in (resumed, copied):
    sim.run(500)
    assert np.array_equal(sim.state.q, whole.state.q)
print(f"the same bits at t = {whole.state.t:.3f} s: {whole.state.q.round(6)}")
