"""What both comparisons need."""

import numpy as np


def rotation(q):
    """Matrix of a quaternion w, x, y, z."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])


def multiply(a, b):
    """Product of quaternions w, x, y, z."""
    return np.array([
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ])


class Worst(dict):
    """The largest relative difference of every quantity, and residuals state by state."""

    def __init__(self):
        super().__init__()
        self.residuals = {"ours": [], "peer": []}

    def see(self, name, ours, theirs, scale=0.0):
        ours, theirs = np.atleast_1d(np.asarray(ours, float)), np.atleast_1d(np.asarray(theirs, float))
        # A robot with massless moving links has no acceleration; then both sides must say so.
        if np.isfinite(theirs).all() != np.isfinite(ours).all():
            self[name] = float("inf")
            return
        finite = np.isfinite(theirs) & np.isfinite(ours)
        ours, theirs = ours[finite], theirs[finite]
        if ours.size == 0:
            return
        scale = max(scale, np.max(np.abs(theirs)), 1e-300)
        self[name] = max(self.get(name, 0.0), float(np.max(np.abs(ours - theirs)) / scale))

    def residual(self, ours, peer):
        """How well inverse dynamics of the forward dynamics gives the forces back, at one state."""
        for side, value in (("ours", ours), ("peer", peer)):
            worst = np.max(np.abs(value), initial=0.0)
            self.residuals[side].append(float(worst) if np.isfinite(worst) else float("inf"))

    def typical(self, side):
        """The median over the states: the worst one is decided by how near to singular the nearest state is."""
        return float(np.median(self.residuals[side])) if self.residuals[side] else 0.0
