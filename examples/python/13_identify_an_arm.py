"""Masses and inertias of an arm of seven joints, found from a noisy motion by gradient descent through the simulator."""

import time

import numpy as np

import leastaction as la


def arm(scale: np.ndarray) -> la.Mechanism:
    """Seven links like those of a light robot; `scale` multiplies mass and inertia of each."""
    model = la.Model("arm")
    parent: str | la.Body = "world"
    masses, lengths = [2.7, 2.7, 2.4, 2.4, 1.7, 1.6, 0.4], [0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.13]
    axes = [[0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]]
    for k in range(7):
        m = masses[k] * scale[k]
        inertia = [0.012 * m, 0.012 * m, 0.004 * m]
        link = model.body(f"link{k}", mass=m, com=[0.01, 0.03, 0.08], inertia=inertia)
        model.joint(f"joint{k}", "revolute", parent, link, at=[0, 0, lengths[k - 1] if k else 0.15], axis=axes[k], damping=0.4)
        model.motor(f"joint{k}")
        parent = link
    return model.build()


rng = np.random.default_rng(0)
true, guess = arm(np.ones(7)), arm(1.0 + rng.uniform(-0.3, 0.3, 7))
h, steps, pieces = 0.01, 25, 16

# A motion under known torques, measured with noise: 1e-4 rad and 1e-3 rad/s.
t = h * np.arange(steps * pieces)
push = sum(a * np.sin(w * t[:, None] + rng.uniform(0, 6, 7)) for a, w in [(1.0, 3.0), (0.6, 7.0)])
u = push * np.array([12.0, 12.0, 6.0, 6.0, 1.5, 1.5, 0.3])
q_true, v_true = la.Plant(true, step=h).rollout(np.zeros(7), np.zeros(7), u)
q = q_true + rng.normal(0, 1e-4, q_true.shape)
v = v_true + rng.normal(0, 1e-3, v_true.shape)

# Multiple shooting: every piece starts where it was measured, and is compared with what was measured over it.
starts = steps * np.arange(pieces)
rows = starts[:, None] + np.arange(steps + 1)
inputs = u.reshape(pieces, steps, 7)
names = ["mass"] + [f"inertia.link{k}.{axis}" for k in range(7) for axis in ("xx", "yy", "zz")]
plant = la.Plant(guess, step=h, parameters=names)
base = plant.values


def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean square of what the motion is off, in units of the noise, and its gradient by the logarithms of the parameters."""
    at = plant.at(base * np.exp(x))
    qs, vs = at.rollout(q[starts], v[starts], inputs)
    dq, dv = (qs - q[rows]) / 1e-4, (vs - v[rows]) / 1e-3
    size = dq.size + dv.size
    by = at.rollout_pull_back(qs, vs, inputs, 2 * dq / 1e-4 / size, 2 * dv / 1e-3 / size)[3].sum(axis=0)
    return float((dq**2).sum() + (dv**2).sum()) / size, by * base * np.exp(x)


# Descent along gradients, bent by what the last ones said about the curvature (L-BFGS). It begins with a diagonal: gradients of
# random sums of the motion say how strongly each parameter acts.
begin, used = time.perf_counter(), time.process_time()
qs, vs = plant.rollout(q[starts], v[starts], inputs)
probes = [
    plant.rollout_pull_back(qs, vs, inputs, rng.normal(size=qs.shape) / 1e-4, rng.normal(size=vs.shape) / 1e-3)[3]
    for _ in range(24)
]
strength = np.mean([(by**2).sum(axis=0) for by in probes], axis=0) * base**2 / (qs.size + vs.size)
scale = 1.0 / (strength + 1e-5 * strength.max())

x = np.zeros(len(base))
value, slope = loss(x)
first, memory = value, [value]
pairs: list[tuple[np.ndarray, np.ndarray]] = []
for _ in range(150):
    direction, sums = slope.copy(), []
    for s, y in reversed(pairs):
        sums.append(s @ direction / (s @ y))
        direction -= sums[-1] * y
    direction *= scale
    for s, y in pairs:
        direction += s * (sums.pop() - y @ direction / (s @ y))
    step = -direction * min(1.0, 0.3 / np.abs(direction).max())
    new, new_slope = loss(x + step)
    while new > value + 1e-4 * (slope @ step):
        step *= 0.4
        if np.abs(step).max() < 1e-9:
            break
        new, new_slope = loss(x + step)
    if new >= value:
        break
    if step @ (new_slope - slope) > 0:
        pairs = [*pairs[-29:], (step, new_slope - slope)]
    x, value, slope = x + step, new, new_slope
    memory.append(value)
    if len(memory) > 15 and memory[-15] - value < 1e-4 * value:
        break
seconds, used = time.perf_counter() - begin, time.process_time() - used
found = plant.at(base * np.exp(x)).mechanism

# Not every parameter can be known, only combinations that this motion depends on. How its residuals change with relative changes of
# the parameters says which: those whose standard deviation under this noise is below one percent.
def residuals(x: np.ndarray) -> np.ndarray:
    qs, vs = plant.at(values * (1.0 + x)).rollout(q[starts], v[starts], inputs)
    return np.concatenate([((qs - q[rows]) / 1e-4).ravel(), ((vs - v[rows]) / 1e-3).ravel()])


values = la.Plant(true, step=h, parameters=names).values
there = residuals(np.zeros(len(values)))
slopes = np.stack([(residuals(1e-5 * unit) - there) / 1e-5 for unit in np.eye(len(values))], axis=1)
strengths, combinations = np.linalg.svd(slopes, full_matrices=False)[1:]
# Residuals of a piece share the noise of its start: at worst one in as many as it has steps is of its own.
spread = np.sqrt(np.mean(there**2) * steps) / strengths
known = spread < 0.01

poses, speeds, accelerations = rng.uniform(-2, 2, (3, 200, 7))


def off(mech: la.Mechanism) -> tuple[float, float]:
    """Root mean squares: of the known combinations, as a part of their parameters, and of torques at states never seen, as a part of theirs."""
    relative = combinations[known] @ (la.Plant(mech, step=h, parameters=names).values / values - 1.0)
    torques, right = (m.inverse_dynamics(poses, speeds, accelerations) for m in (mech, true))
    return float(np.sqrt(np.mean(relative**2))), float(np.linalg.norm(torques - right) / np.linalg.norm(right))


print(f"{len(base)} parameters, {len(memory) - 1} descents in {seconds:.1f} s ({used:.1f} s of processor time): loss {first:.3g} -> {value:.3g}; the true ones have {np.mean(there**2):.3g}")
print(f"{known.sum()} of {len(known)} combinations can be known to 1 %, to {np.sqrt(np.mean(spread[known] ** 2)):.2%} on average")
print("off by, those and torques at new states: guess {:.2%} {:.2%}, found {:.2%} {:.2%}".format(*off(guess), *off(found)))
# A machine that does other things, too, takes longer by the clock.
assert min(seconds, used) < 60 and off(found)[0] < 0.01 and off(found)[1] < 0.01 * off(guess)[1]
