"""What tests share: mechanisms of every kind, and states of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leastaction as la

ROOT = Path(__file__).resolve().parents[2]
MODELS = ROOT / "models"


@pytest.fixture(scope="session")
def chain() -> la.Mechanism:
    return la.load("@chain/7")


@pytest.fixture(scope="session")
def tree() -> la.Mechanism:
    """A floating tree with ball joints."""
    model = la.Model("tree")
    inertia = [0.02, 0.03, 0.04]
    base = model.body("base", mass=2.0, com=[0.01, 0.02, 0.03], inertia=inertia)
    model.joint("free", "floating", "world", base)
    for side in ("left", "right"):
        arm = model.body(f"{side}_arm", mass=0.7, com=[0, 0, -0.2], inertia=inertia)
        hand = model.body(f"{side}_hand", mass=0.3, com=[0, 0.05, -0.1], inertia=inertia)
        sign = 1 if side == "left" else -1
        model.joint(f"{side}_shoulder", "spherical", base, arm, at=[0, 0.2 * sign, 0.1], damping=0.1)
        model.joint(f"{side}_wrist", "revolute", arm, hand, at=[0, 0, -0.4], axis=[1, 0, 0])
        model.motor(f"{side}_wrist")
    model.frame("tip", "left_hand", [0, 0, -0.2])
    return model.build()


@pytest.fixture(scope="session")
def five_bar() -> la.Mechanism:
    return la.load(MODELS / "five-bar.json")


def states(mech: la.Mechanism, rows: int, seed: int = 0, size: float = 0.7) -> tuple[np.ndarray, np.ndarray]:
    """Random positions near the start and velocities."""
    rng = np.random.default_rng(seed)
    start = mech.start_state()
    q = mech.retract(np.broadcast_to(start.q, (rows, mech.nq)), rng.uniform(-size, size, (rows, mech.nv)))
    return q, rng.uniform(-1, 1, (rows, mech.nv))
