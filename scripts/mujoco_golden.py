"""Writes crates/leastaction/tests/mjcf/mujoco.json: what MuJoCo makes of our own MJCF files.

    python3 -m venv .venv/mujoco && .venv/mujoco/bin/pip install mujoco==4.0.0 numpy
    .venv/mujoco/bin/python scripts/mujoco_golden.py

Per file: mass, com and inertia (xx yy zz xy xz yz, body axes, about the com) of every body; position and rotation
matrix (rows) of every body in the pose of the file ("") and at every keyframe; anchors of body-based equalities.
Files that MuJoCo cannot load (missing mesh files) are left out. Of files whose joints turn and slide also accelerations at three states,
without constraints.
"""

import json
import pathlib

import mujoco
import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "crates/leastaction/tests/mjcf"


def name(model, kind, i, prefix):
    return mujoco.mj_id2name(model, kind, i) or f"{prefix}{i}"


def matrix(quat):
    out = np.zeros(9)
    mujoco.mju_quat2Mat(out, quat)
    return out.reshape(3, 3)


def inertia(model, i):
    r = matrix(model.body_iquat[i])
    m = r @ np.diag(model.body_inertia[i]) @ r.T
    return [m[0, 0], m[1, 1], m[2, 2], m[0, 1], m[0, 2], m[1, 2]]


def poses(model, data):
    mujoco.mj_kinematics(model, data)
    body = mujoco.mjtObj.mjOBJ_BODY
    return {
        name(model, body, i, "body"): [*data.xpos[i], *data.xmat[i]] for i in range(1, model.nbody)
    }


def equalities(model):
    found = {}
    body = mujoco.mjtObj.mjOBJ_BODY
    for i in range(model.neq):
        label = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_EQUALITY, i)
        kind = model.eq_type[i]
        tied = kind in (mujoco.mjtEq.mjEQ_CONNECT, mujoco.mjtEq.mjEQ_WELD)
        if not tied or not label or model.eq_objtype[i] != body or not model.eq_active0[i]:
            continue
        one, two = (name(model, body, j, "body") for j in (model.eq_obj1id[i], model.eq_obj2id[i]))
        # A weld keeps the anchor on its second body first.
        first, second = (one, two) if kind == mujoco.mjtEq.mjEQ_CONNECT else (two, one)
        found[label] = {first: list(model.eq_data[i][0:3]), second: list(model.eq_data[i][3:6])}
    return found


def accelerations(model):
    """At states of our choice, without constraints and controls: joints, positions from the file's pose, velocities, accelerations."""
    scalar = [int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)]
    if not all(int(kind) in scalar for kind in model.jnt_type):
        return []
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    random = np.random.default_rng(1)
    data, found = mujoco.MjData(model), []
    for _ in range(3):
        q, v = random.uniform(-0.3, 0.3, model.nq), random.uniform(-1, 1, model.nv)
        data.qpos[:], data.qvel[:] = model.qpos0 + q, v
        mujoco.mj_forward(model, data)
        joints = [name(model, mujoco.mjtObj.mjOBJ_JOINT, i, "joint") for i in range(model.njnt)]
        found.append({joint: [q[i], v[i], data.qacc[i]] for i, joint in enumerate(joints)})
    return found


def main():
    files = {}
    for path in sorted(FOLDER.glob("*.xml")):
        try:
            model = mujoco.MjModel.from_xml_path(str(path))
        except ValueError as error:
            print(path.name, "left out:", str(error).splitlines()[0])
            continue
        data = mujoco.MjData(model)
        body = mujoco.mjtObj.mjOBJ_BODY
        found = {"": poses(model, data)}
        for k in range(model.nkey):
            mujoco.mj_resetDataKeyframe(model, data, k)
            found[name(model, mujoco.mjtObj.mjOBJ_KEY, k, "key")] = poses(model, data)
        files[path.name] = {
            "bodies": {
                name(model, body, i, "body"): [model.body_mass[i], *model.body_ipos[i], *inertia(model, i)]
                for i in range(1, model.nbody)
            },
            "poses": found,
            "equalities": equalities(model),
            "accelerations": accelerations(model),
        }
        print(path.name, model.nbody - 1, "bodies", model.nkey, "keyframes")
    text = json.dumps(
        {"program": "MuJoCo " + mujoco.__version__, "made_by": "scripts/mujoco_golden.py", "files": files}, indent=1
    )
    (FOLDER / "mujoco.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
