#!/usr/bin/env python3
"""Order-0 Jacobians of `leastaction jacobian` against Pinocchio on every URDF of example-robot-data.

usage: crosscheck_jacobian.py LEASTACTION [ROBOT…]   (in a venv with pin and example-robot-data, see crosscheck.sh)

Compares the torque Jacobian with computeRNEADerivatives, and velocity and acceleration Jacobians of the last link with
getJointAccelerationDerivatives, relative to the largest entry, with a fixed and with a floating base. Exit code 1 if
anything exceeds 1e-10.

Both sides perturb a floating base on the right, in its own frame; Pinocchio has the linear part first and the quaternion
as x, y, z, w. Columns are those of `--columns velocity`: configuration, velocity, acceleration.
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
    columns = ["--columns", "velocity"]
    run = subprocess.run([command, "--json", "jacobian", str(path), "--at", state, *columns, *flags], capture_output=True, text=True)
    if run.returncode:
        raise ValueError(json.loads(run.stdout)["error"]["message"] if run.stdout.strip() else run.stderr)
    out = json.loads(run.stdout)
    return np.array(out["matrix"]), out["rows"], out["columns"]


def base_joint(command, path):
    """Name of the floating joint that our reader puts under the root link; None if the file has its own world."""
    run = subprocess.run([command, "--json", "info", str(path), "--base", "floating"], capture_output=True, text=True)
    if run.returncode:
        raise ValueError(run.stderr.strip()[:80] or "refused")
    names = [j["name"] for j in json.loads(run.stdout)["joints"] if j["type"] == "floating"]
    return names[0] if names else None


def compare(command, path, folder, floating):
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer()) if floating else pin.buildModelFromUrdf(str(path))
    if model.nv == 0:
        return None
    flags = ["--base", "floating" if floating else "fixed"]
    rng, data = np.random.default_rng(1), model.createData()
    v, a = rng.uniform(-1, 1, model.nv), rng.uniform(-1, 1, model.nv)
    q, state = pin.neutral(model), {"schema": "leastaction/state/1", "q": {}, "derivatives": {}}
    index = {}
    for i in range(1, model.njoints):
        joint, name = model.joints[i], model.names[i]
        at = joint.idx_v
        if floating and i == 1:
            name = base_joint(command, path)
            if name is None:
                raise ValueError("its root is the world: no base to free")
            quat = pin.Quaternion(*rng.uniform(-1, 1, 4)).normalized()
            position = rng.uniform(-1, 1, 3)
            q[:7] = [*position, quat.x, quat.y, quat.z, quat.w]
            state["q"][name] = [quat.w, quat.x, quat.y, quat.z, *position]
            swap = [3, 4, 5, 0, 1, 2]
            state["derivatives"][name] = [list(v[:6][swap]), list(a[:6][swap])]
            # Angular first on our side.
            index.update({f"{name}.{part}": k for part, k in zip(("wx", "wy", "wz", "vx", "vy", "vz"), swap)})
            continue
        if joint.nv != 1:
            raise ValueError(f"joint {name} has {joint.nv} coordinates")
        x = rng.uniform(-0.8, 0.8)
        q[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(x), np.sin(x)] if joint.nq == 2 else [x]
        state["q"][name] = x
        state["derivatives"][name] = [v[at], a[at]]
        index[name] = at
    file = pathlib.Path(folder) / "state.json"
    file.write_text(json.dumps(state))
    worst = 0.0

    def see(mine, theirs):
        nonlocal worst
        worst = max(worst, np.abs(mine - theirs).max() / max(1.0, np.abs(theirs).max()))

    matrix, rows, columns = ours(command, path, str(file), *flags, "--quantity", "torque")
    order = [index[r.removeprefix("torque.")] for r in rows]
    dq, dv, da = pin.computeRNEADerivatives(model, data, q, v, a)
    da = np.triu(da) + np.triu(da, 1).T
    n = model.nv
    for m, theirs in enumerate((dq, dv, da)):
        see(matrix[:, m * n : (m + 1) * n], theirs[np.ix_(order, order)])
    pin.computeForwardKinematicsDerivatives(model, data, q, v, a)
    tip = model.njoints - 1
    body = next(f.name for f in model.frames if f.type == pin.FrameType.BODY and f.parentJoint == tip and f.placement.isIdentity())
    matrix, _, _ = ours(command, path, str(file), *flags, "--quantity", "velocity", "--of", body, "--order", "1")
    swap = [3, 4, 5, 0, 1, 2]
    vq, vv = pin.getJointVelocityDerivatives(model, data, tip, pin.LOCAL)
    _, aq, av, aa = pin.getJointAccelerationDerivatives(model, data, tip, pin.LOCAL)
    for row, blocks in ((0, (vq, vv)), (6, (aq, av, aa))):
        for m, theirs in enumerate(blocks):
            see(matrix[row : row + 6, m * n : (m + 1) * n], theirs[swap][:, order])
    return worst


def main():
    command, only = sys.argv[1], sys.argv[2:]
    bad, compared = 0, {"fixed": 0, "floating": 0}
    with tempfile.TemporaryDirectory() as folder:
        for path in robots():
            if only and not any(name in path.stem for name in only):
                continue
            for base in ("fixed", "floating"):
                label = f"{path.stem} ({base})"
                try:
                    worst = compare(command, path, folder, base == "floating")
                except (ValueError, StopIteration) as error:
                    print(f"{label:48} not compared: {str(error)[:80]}")
                    continue
                if worst is not None:
                    compared[base] += 1
                    bad += not worst <= TOLERANCE
                    print(f"{label:48} {worst:.2e}{'' if worst <= TOLERANCE else '  BAD'}")
    print(f"{compared['fixed']} robots compared with a fixed base, {compared['floating']} with a floating one, {bad} beyond {TOLERANCE}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
