"""Kernels against Pinocchio on twenty URDFs, and what a call costs beside it on the panda."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

pin = pytest.importorskip("pinocchio")
SHARE = Path(pin.__file__).resolve().parents[4] / "share" / "example-robot-data" / "robots"
ROBOTS = [
    "a1_description/urdf/a1.urdf", "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "anymal_b_simple_description/robots/anymal.urdf", "anymal_c_simple_description/urdf/anymal.urdf",
    "b1_description/urdf/b1.urdf", "baxter_description/urdf/baxter.urdf", "bolt_description/robots/bolt.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf", "finger_edu_description/robots/finger_edu.urdf",
    "go1_description/urdf/go1.urdf", "go2_description/urdf/go2.urdf", "hyq_description/robots/hyq_no_sensors.urdf",
    "kinova_description/robots/kinova.urdf", "laikago_description/urdf/laikago.urdf", "panda_description/urdf/panda.urdf",
    "pr2_description/urdf/pr2.urdf", "solo_description/robots/solo12.urdf", "talos_data/robots/talos_reduced.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf", "ur_description/urdf/ur5_robot.urdf", "ur_description/urdf/ur10_robot.urdf",
    "xarm_description/urdf/xarm7.urdf", "z1_description/urdf/z1.urdf", "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf", "so_arm_description/urdf/so100.urdf", "cassie_description/robots/cassie.urdf",
]


class Pair:
    """A robot here and there; continuous joints are two numbers there."""

    def __init__(self, path: Path) -> None:
        self.mech = la.load(path, base="fixed", ignore=["friction", "mimic", "couplings", "loops"])
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        joints = [self.model.joints[self.model.getJointId(name)] for name in self.mech.joints]
        self.at = np.array([joint.idx_v for joint in joints])
        self.joints = joints
        # Rotors and dampers are no part of the kernels compared, armature is: there it is in the URDF's own tag, if at all.
        assert self.mech.nv == self.model.nv

    def there(self, q: np.ndarray, *others: np.ndarray) -> list[np.ndarray]:
        moved = pin.neutral(self.model)
        for joint, x in zip(self.joints, q, strict=True):
            moved[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        out = [moved]
        for x in others:
            y = np.empty(self.model.nv)
            y[self.at] = x
            out.append(y)
        return out


def found() -> list[Path]:
    paths = [SHARE / name for name in ROBOTS]
    return [path for path in paths if path.exists()]


def test_there_are_twenty_robots() -> None:
    assert len(found()) >= 20, [str(path) for path in found()]


@pytest.mark.parametrize("path", found(), ids=lambda path: path.stem)
def test_kernels_agree(path: Path) -> None:
    pair = Pair(path)
    mech, model, data, at = pair.mech, pair.model, pair.data, pair.at
    rng = np.random.default_rng(0)

    def expect(ours: np.ndarray, theirs: np.ndarray, condition: float = 1.0) -> None:
        scale = max(1.0, np.abs(theirs).max())
        assert np.abs(ours - theirs).max() < 1e-12 * condition * scale

    for _ in range(5):
        q, v, a = rng.uniform(-1, 1, (3, mech.nv))
        q1, v1, a1 = pair.there(q, v, a)
        tau = pin.rnea(model, data, q1, v1, a1)[at]
        expect(mech.inverse_dynamics(q, v, a), tau)
        expect(mech.bias(q, v), pin.nonLinearEffects(model, data, q1, v1)[at])
        mass = pin.crba(model, data, q1)
        mass = (np.triu(mass) + np.triu(mass, 1).T)[np.ix_(at, at)]
        expect(mech.mass_matrix(q), mass)
        # Accelerations lose the condition of the mass matrix, theirs and ours.
        tau1 = np.empty(model.nv)
        tau1[at] = tau
        expect(mech.forward_dynamics(q, v, tau), pin.aba(model, data, q1, v1, tau1)[at], np.linalg.cond(mass))
        for body in mech.bodies:
            if not model.existBodyName(body):
                continue
            frame = model.getBodyId(body)
            jacobian = pin.computeFrameJacobian(model, data, q1, frame, pin.LOCAL)[:, at]
            expect(mech.jacobian(body, q), np.vstack([jacobian[3:], jacobian[:3]]))


def best(call, repeat: int = 100, inner: int = 100) -> float:
    times = []
    for _ in range(repeat):
        begin = time.perf_counter_ns()
        for _ in range(inner):
            call()
        times.append((time.perf_counter_ns() - begin) / inner)
    return min(times)


def test_a_call_costs_no_more_than_theirs(capsys) -> None:
    """Panda with its fingers held: seven numbers a vector, on both sides."""
    path = SHARE / "panda_description" / "urdf" / "panda.urdf"
    full = la.load(path, base="fixed", ignore=["friction", "mimic"])
    whole = pin.buildModelFromUrdf(str(path))
    fingers = [name for name in whole.names if "finger" in name]
    model = pin.buildReducedModel(whole, [whole.getJointId(name) for name in fingers], pin.neutral(whole))
    import json

    text = json.loads(full.to_json())
    for joint in text["joints"]:
        if joint["name"] in fingers:
            keep = {"name", "parent", "child", "parent_placement", "child_placement"}
            joint.update({"type": "fixed"})
            for key in list(joint):
                if key not in keep | {"type"}:
                    joint.pop(key)
    mech = la.from_json(json.dumps(text))
    assert mech.nv == model.nv == 7
    data = model.createData()
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (3, 7))
    assert np.abs(mech.inverse_dynamics(q, v, a) - pin.rnea(model, data, q, v, a)).max() < 1e-12
    rounds = []
    for _ in range(5):
        rounds.append([
            best(lambda: mech.inverse_dynamics(q, v, a)),
            best(lambda: pin.rnea(model, data, q, v, a)),
            best(lambda: mech.forward_dynamics(q, v, a)),
            best(lambda: pin.aba(model, data, q, v, a)),
            best(lambda: mech.nq) - best(lambda: None),
        ])
    ours, rnea, forward, aba, empty = np.median(rounds, axis=0)
    table = rng.uniform(-1, 1, (10_000, 21))
    parts = np.split(table, 3, axis=1)
    # One thread each: processor time, which other work on the machine does not stretch as much.
    batch, loop = [], []
    for _ in range(5):
        begin = time.process_time()
        mech.inverse_dynamics(*parts)
        batch.append(time.process_time() - begin)
        begin = time.process_time()
        for q, v, a in zip(*parts, strict=True):
            pin.rnea(model, data, q, v, a)
        loop.append(time.process_time() - begin)
    with capsys.disabled():
        print(f"\npanda: inverse_dynamics {ours:.0f} ns, pin.rnea {rnea:.0f} ns ({ours / rnea:.2f}); forward_dynamics {forward:.0f} ns, "
              f"pin.aba {aba:.0f} ns ({forward / aba:.2f}); a getter {empty:.0f} ns; 10,000 states "
              f"{1e3 * np.median(batch):.2f} ms, loop {1e3 * np.median(loop):.2f} ms ({np.median(batch) / np.median(loop):.2f})")
    assert ours <= rnea and forward <= aba and np.median(batch) <= 0.35 * np.median(loop) and empty <= 100
