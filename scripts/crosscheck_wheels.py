"""Published MJCF models against MuJoCo, at random states and controls.

    scripts/crosscheck_wheels.py [--states N] [--jobs 2] [--mjcf FOLDER] [NAME ...]

Every XML file of four wheels (see robots.py, which installs them in `.venv/robots`) that MuJoCo loads and that has a joint is read
by us. Compared at the same states, controls (half of them out of range) and states of actuators: number of freedoms, total mass,
mass matrix, inverse dynamics, poses, forces of all actuators, and accelerations with MuJoCo's constraints left out (contacts,
limits, friction, equalities). Bars: forces 1e-10, the rest 1e-8, relative to the largest entry; 1e-6 where masses come from
meshes. What we leave out and say (an actuator, a drag) may differ: such files are listed with the words we say it in.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import robots

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COLUMNS = ["nv", "masses", "rnea", "mass", "poses", "applied", "forces", "accel"]


def ours(dump, path, states):
    done = subprocess.run([str(dump), str(path), "--random", str(states)], capture_output=True, text=True)
    if done.returncode != 0:
        return None, robots.reason_of(done.stderr)
    return json.loads(done.stdout.replace("null", "NaN")), ""


def said(command, path):
    """What we say that we leave out."""
    done = subprocess.run([str(command), "check", str(path)], capture_output=True, text=True)
    warnings = re.findall(r"warning: ([^\n]*)", done.stdout + done.stderr)
    words = ("left out", "not supported")
    return [warning for warning in warnings if any(word in warning for word in words)]


def compare(path, dump, command, states):
    import mujoco
    import numpy as np

    from crosscheck_mujoco import activate, coordinates

    model = mujoco.MjModel.from_xml_path(str(path))
    mine, reason = ours(dump, path, states)
    if mine is None:
        return {"reason": reason}
    worst = collections.defaultdict(float)

    def see(name, a, b, scale=0.0):
        a, b = np.atleast_1d(np.asarray(a, float)), np.atleast_1d(np.asarray(b, float))
        scale = max(scale, float(np.max(np.abs(b), initial=0.0)), 1e-300)
        difference = float(np.max(np.abs(a - b), initial=0.0)) / scale
        worst[name] = max(worst[name], difference) if np.isfinite(difference) else np.inf

    if mine["nv"] != model.nv:
        return {"reason": f"{mine['nv']} freedoms, MuJoCo has {model.nv}"}
    see("nv", mine["nv"], model.nv)
    body = lambda i: mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, i) or f"body{i}"
    masses = {b["name"]: b["mass"] for b in mine["bodies"]}
    theirs = {body(i): model.body_mass[i] for i in range(1, model.nbody)}
    see("masses", [masses.get(name, 0.0) for name in theirs], list(theirs.values()))
    joints = {joint["name"]: joint for joint in mine["joints"]}
    data = mujoco.MjData(model)
    controls = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}" for i in range(model.nu)]
    for state in mine["states"]:
        data.qpos[:], data.qvel[:], b, change = coordinates(model, joints, state)
        inputs = dict(zip(mine["inputs"], state["u"]))
        data.ctrl[:] = [inputs.get(name, 0.0) for name in controls]
        activate(model, data, controls, inputs, mine)
        mujoco.mj_forward(model, data)
        mass, bias = np.zeros((model.nv, model.nv)), np.zeros(model.nv)
        mujoco.mj_fullM(model, data, mass)
        mujoco.mj_rne(model, data, 0, bias)
        back = lambda acceleration: np.linalg.solve(b, acceleration - change)
        see("mass", np.reshape(state["mass"], mass.shape), b.T @ mass @ b)
        see("rnea", state["rnea"], b.T @ (mass @ (b @ np.array(state["a"]) + change) + bias))
        for i in range(1, model.nbody):
            if body(i) in state["poses"]:
                see("poses", state["poses"][body(i)], [*data.xpos[i], *data.xmat[i]], 1.0)
        see("applied", state["applied"], b.T @ (data.qfrc_passive + data.qfrc_actuator), 1e-3)
        forces = dict(zip(controls, data.actuator_force))
        if mine["inputs"]:
            see("forces", state["forces"], [forces.get(name, np.nan) for name in mine["inputs"]], 1e-3)
        see("accel", state["acceleration"], back(data.qacc_smooth))
    meshes = any(model.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH for i in range(model.ngeom))
    wrong = [k for k in COLUMNS if worst.get(k, 0.0) > (1e-10 if k == "forces" else 1e-6 if meshes and k != "poses" else 1e-8)]
    missing = [name for name in controls if name not in mine["inputs"]]
    result = {"worst": dict(worst), "wrong": wrong, "missing": missing, "actuators": len(mine["inputs"]), "meshes": meshes}
    if wrong or missing:
        result["said"] = said(command, path)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--mjcf", type=pathlib.Path, help="folder that holds the wheels, unpacked")
    parser.add_argument("--dump", type=pathlib.Path, default=TARGET / "release/examples/dump_dynamics")
    parser.add_argument("--command", type=pathlib.Path, default=TARGET / "release/leastaction")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    try:
        import mujoco  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        robots.install(__file__)
    if options.mjcf is None and robots.place_of("metaworld") is None:
        robots.install(__file__)
    dump, command = options.dump.resolve(), options.command.resolve()
    options.mjcf, options.only, options.urdf = options.mjcf and options.mjcf.resolve(), "mjcf", None
    # MuJoCo writes a log where it runs.
    os.chdir(tempfile.mkdtemp())
    found = list(robots.cases(options))
    counts, failed = collections.Counter(), False
    totals = collections.defaultdict(float)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(compare, case["path"], dump, command, options.states) for case in found]
        for case, future in zip(found, waiting):
            result = future.result()
            counts["files"] += 1
            if "reason" in result:
                counts["not compared"] += 1
                print(f"{case['name']}: {result['reason'][:150]}", flush=True)
                continue
            counts["compared"] += 1
            counts["actuators"] += result["actuators"]
            counts["actuators left out"] += len(result["missing"])
            if result["wrong"]:
                named = bool(result["said"])
                counts["differ, said" if named else "DIFFER"] += 1
                failed |= not named
                cells = ", ".join(f"{k} {result['worst'][k]:.1e}" for k in result["wrong"])
                print(f"{case['name']}: {cells}; said: {'; '.join(result['said'])[:250] or 'NOTHING'}", flush=True)
            else:
                counts["agree"] += 1
                for k, x in result["worst"].items():
                    totals[k] = max(totals[k], x)
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    print("worst of those that agree: " + ", ".join(f"{k} {totals[k]:.1e}" for k in COLUMNS if k in totals))
    return 1 if failed or not counts["compared"] else 0


if __name__ == "__main__":
    sys.exit(main())
