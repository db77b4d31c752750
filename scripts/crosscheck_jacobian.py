#!/usr/bin/env python3
"""Order-0 Jacobians of `leastaction jacobian` against Pinocchio on every URDF of example-robot-data.

usage: crosscheck_jacobian.py LEASTACTION [ROBOT…]   (in a venv with pin and example-robot-data, see crosscheck.sh)

Compares the torque Jacobian with computeRNEADerivatives, and velocity and acceleration Jacobians of the last link with
getJointAccelerationDerivatives, relative to the largest entry. Exit code 1 if anything exceeds 1e-10.
"""

import json
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np
import pinocchio as pin

TOLERANCE = 1e-10


def robots():
    place = pathlib.Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data/robots"
    return sorted(place.rglob("*.urdf"))


def ours(command, path, state, *flags):
    run = subprocess.run([command, "--json", "jacobian", str(path), "--at", state, *flags], capture_output=True, text=True)
    if run.returncode:
        raise ValueError(json.loads(run.stdout)["error"]["message"] if run.stdout.strip() else run.stderr)
    out = json.loads(run.stdout)
    return np.array(out["matrix"]), out["rows"], out["columns"]


def compare(command, path, folder):
    model = pin.buildModelFromUrdf(str(path))
    if model.nv == 0:
        return None
    rng, data = np.random.default_rng(1), model.createData()
    v, a = rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    q, state = pin.neutral(model), {"schema": "leastaction/state/1", "q": {}, "derivatives": {}}
    index = {}
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        if joint.nv != 1:
            raise ValueError(f"joint {name} has {joint.nv} coordinates")
        x = rng.uniform(-0.8, 0.8)
        q[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        state["q"][name] = x
        state["derivatives"][name] = [v[joint.idx_v], a[joint.idx_v]]
        index[name] = joint.idx_v
    file = pathlib.Path(folder) / "state.json"
    file.write_text(json.dumps(state))
    worst = 0.0

    def see(mine, theirs):
        nonlocal worst
        worst = max(worst, np.abs(mine - theirs).max() / max(1.0, np.abs(theirs).max()))

    matrix, rows, columns = ours(command, path, str(file), "--quantity", "torque")
    order = [index[r.removeprefix("torque.")] for r in rows]
    dq, dv, da = pin.computeRNEADerivatives(model, data, q, v, a)
    da = np.triu(da) + np.triu(da, 1).T
    n = model.nv
    for m, theirs in enumerate((dq, dv, da)):
        see(matrix[:, m * n : (m + 1) * n], theirs[np.ix_(order, order)])
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    tip = model.njoints - 1
    body = next(f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == tip and f.placement.isIdentity())
    matrix, _, _ = ours(command, path, str(file), "--quantity", "velocity", "--of", body, "--order", "1")
    swap = [3, 4, 5, 0, 1, 2]
    vq, vv = pin.getJointVelocityDerivatives(model, data, tip, pin.LOCAL)
    _, aq, av, aa = pin.getJointAccelerationDerivatives(model, data, tip, pin.LOCAL)
    for row, blocks in ((0, (vq, vv)), (6, (aq, av, aa))):
        for m, theirs in enumerate(blocks):
            see(matrix[row : row + 6, m * n : (m + 1) * n], theirs[swap][:, order])
    return worst


def main():
    command, only = sys.argv[1], sys.argv[2:]
    bad = compared = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in robots():
            if only and not any(name in path.stem for name in only):
                continue
            try:
                worst = compare(command, path, folder)
            except (ValueError, StopIteration) as error:
                print(f"{path.stem:40} not compared: {str(error)[:80]}")
                continue
            if worst is not None:
                compared += 1
                bad += not worst <= TOLERANCE
                print(f"{path.stem:40} {worst:.2e}{'' if worst <= TOLERANCE else '  BAD'}")
    print(f"{compared} robots compared, {bad} beyond {TOLERANCE}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
