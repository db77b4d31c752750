"""Kernels against MuJoCo on twenty MJCF files: those of gymnasium, dm_control and robosuite."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

mujoco = pytest.importorskip("mujoco")
WORDS = {0: "free", 1: "ball", 2: "slide", 3: "hinge"}
FILES = {
    "gymnasium": [f"envs/mujoco/assets/{name}.xml" for name in (
        "ant", "half_cheetah", "hopper", "humanoid", "inverted_double_pendulum", "inverted_pendulum", "pusher", "reacher",
        "swimmer", "walker2d",
    )],
    "dm_control": [f"suite/{name}.xml" for name in (
        "acrobot", "cartpole", "cheetah", "finger", "hopper", "humanoid", "humanoid_CMU", "manipulator", "pendulum", "quadruped",
        "reacher", "swimmer", "walker",
    )],
    "robosuite": [f"models/assets/robots/{name}/robot.xml" for name in ("panda", "sawyer", "iiwa", "ur5e", "jaco", "kinova3", "baxter")],
}


def folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    return Path(spec.origin).parent if spec and spec.origin else None


def files() -> list[Path]:
    roots = {package: folder(package) for package in FILES}
    return [root / name for package, root in roots.items() if root for name in FILES[package] if (root / name).exists()]


def rotation(q: np.ndarray) -> np.ndarray:
    out = np.empty(9)
    mujoco.mju_quat2Mat(out, q)
    return out.reshape(3, 3)


def joint_names(model) -> list[str]:
    out = []
    for i in range(model.njnt):
        body = model.jnt_bodyid[i]
        owner = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, body) or f"body{body}"
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i)
        out.append(name or f"{owner}/{WORDS[int(model.jnt_type[i])]}")
    return out


def coordinates(model, mech: la.Mechanism, q: np.ndarray, v: np.ndarray):
    """Their positions, the matrix B of `qvel = B v`, and its change times v."""
    qpos, b, change = model.qpos0.copy(), np.zeros((model.nv, model.nv)), np.zeros(model.nv)
    for i, name in enumerate(joint_names(model)):
        jq, jv = mech.q_slice(name).start, mech.v_slice(name).start
        iq, iv = model.jnt_qposadr[i], model.jnt_dofadr[i]
        kind = WORDS[int(model.jnt_type[i])]
        if kind == "free":
            turn = np.empty(4)
            mujoco.mju_mulQuat(turn, qpos[iq + 3 : iq + 7], q[jq : jq + 4])
            qpos[iq : iq + 3] += rotation(qpos[iq + 3 : iq + 7]) @ q[jq + 4 : jq + 7]
            qpos[iq + 3 : iq + 7] = turn
            r = rotation(turn)
            b[iv : iv + 3, jv + 3 : jv + 6], b[iv + 3 : iv + 6, jv : jv + 3] = r, np.eye(3)
            change[iv : iv + 3] = r @ np.cross(v[jv : jv + 3], v[jv + 3 : jv + 6])
        elif kind == "ball":
            qpos[iq : iq + 4] = q[jq : jq + 4]
            b[iv : iv + 3, jv : jv + 3] = np.eye(3)
        else:
            qpos[iq] += q[jq]
            b[iv, jv] = 1.0
    return qpos, b, change


def test_there_are_twenty_models() -> None:
    assert len(files()) >= 20, [str(path) for path in files()]


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parts[-4]}-{path.parent.stem}-{path.stem}")
def test_kernels_agree(path: Path) -> None:
    model = mujoco.MjModel.from_xml_path(str(path))
    mech = la.load(path, ignore=["friction", "couplings"])
    data = mujoco.MjData(model)
    assert mech.nv == model.nv
    rng = np.random.default_rng(0)
    still = mech.neutral_state()

    def expect(ours: np.ndarray, theirs: np.ndarray, condition: float = 1.0) -> None:
        assert np.abs(ours - theirs).max() < 1e-12 * condition * max(1.0, np.abs(theirs).max())

    for _ in range(5):
        q = mech.retract(still.q, rng.uniform(-0.6, 0.6, mech.nv))
        v, a = rng.uniform(-1, 1, (2, mech.nv))
        qpos, b, change = coordinates(model, mech, q, v)
        data.qpos[:], data.qvel[:] = qpos, b @ v
        mujoco.mj_forward(model, data)
        mass, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        mujoco.mj_fullM(model, data, mass)
        mujoco.mj_rne(model, data, 0, bias)
        expect(mech.mass_matrix(q), b.T @ mass @ b)
        expect(mech.inverse_dynamics(q, v, a), b.T @ (mass @ (b @ a + change) + bias))
        theirs = np.linalg.solve(b, np.linalg.solve(mass, -bias) - change)
        expect(mech.forward_dynamics(q, v, np.zeros(mech.nv)), theirs, np.linalg.cond(mass))
        for i in range(1, model.nbody):
            name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f"body{i}"
            pose = mech.pose(name, q)
            expect(pose[:3, :3], data.xmat[i].reshape(3, 3))
            expect(pose[:3, 3], data.xpos[i])
            linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
            mujoco.mj_jacBody(model, data, linear, angular, i)
            own = np.vstack([pose[:3, :3].T @ angular @ b, pose[:3, :3].T @ linear @ b])
            expect(mech.jacobian(name, q), own)
