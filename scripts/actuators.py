"""Actuator forces of published MJCF models against MuJoCo's, at random states and controls.

    python3 -m venv .venv/actuators
    .venv/actuators/bin/pip install mujoco==4.0.0 numpy
    .venv/actuators/bin/pip install --no-deps robosuite==1.5.2 dm_control==1.0.50 gymnasium-robotics==1.4.2 metaworld==3.1.1
    cargo build --release -p leastaction-lab --example dump_dynamics
    .venv/actuators/bin/python scripts/actuators.py [--states N] [NAME ...]

Every XML file of the wheels that MuJoCo loads as a model with actuators is read by us; the forces of all inputs we have are
compared at the same states, controls (half of them out of range) and states of actuators. Bar: 1e-10 relative. Actuators and
models that we leave out are listed with their reasons.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import mujoco
import numpy as np

from crosscheck_mujoco import activate, coordinates

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
WHEELS = ["robosuite", "dm_control", "gymnasium_robotics", "metaworld"]
BAR = 1e-10


def ours(dump, path, states):
    done = subprocess.run([str(dump), str(path), "--random", str(states)], capture_output=True, text=True)
    if done.returncode != 0:
        return None, next((line for line in done.stderr.splitlines() if line.strip()), "?")
    return json.loads(done.stdout.replace("null", "NaN")), ""


def compare(model, mine):
    """Worst relative difference of a force, and the actuators that we do not have."""
    data = mujoco.MjData(model)
    joints = {joint["name"]: joint for joint in mine["joints"]}
    name = lambda i: mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_ACTUATOR, i) or f"actuator{i}"
    controls = [name(i) for i in range(model.nu)]
    worst = 0.0
    for state in mine["states"]:
        data.qpos[:], data.qvel[:], _, _ = coordinates(model, joints, state)
        inputs = dict(zip(mine["inputs"], state["u"]))
        data.ctrl[:] = [inputs.get(control, 0.0) for control in controls]
        activate(model, data, controls, inputs, mine)
        mujoco.mj_forward(model, data)
        theirs = dict(zip(controls, data.actuator_force))
        for control, force in zip(mine["inputs"], state["forces"]):
            scale = max(1.0, abs(theirs[control]))
            worst = np.fmax(worst, abs(force - theirs[control]) / scale) if np.isfinite(force) else np.inf
    return worst, [control for control in controls if control not in mine["inputs"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--dump", type=pathlib.Path, default=TARGET / "release/examples/dump_dynamics")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    dump = options.dump.resolve()
    # MuJoCo writes a log where it runs.
    os.chdir(tempfile.mkdtemp())
    packages = next(pathlib.Path(place) for place in sys.path if (pathlib.Path(place) / "mujoco").is_dir())
    failed = False
    for wheel in WHEELS:
        counts, forces, worst, reasons = collections.Counter(), 0, 0.0, collections.Counter()
        for path in sorted((packages / wheel).rglob("*.xml")):
            if options.names and not any(wanted in str(path) for wanted in options.names):
                continue
            counts["files"] += 1
            try:
                model = mujoco.MjModel.from_xml_path(str(path))
            except ValueError:
                continue
            if model.nu == 0:
                continue
            counts["with actuators"] += 1
            mine, said = ours(dump, path, options.states)
            if mine is None:
                reasons[said[:110]] += 1
                continue
            difference, missing = compare(model, mine)
            counts["compared"] += 1
            forces += len(mine["inputs"])
            reasons["actuators left out"] += len(missing)
            worst = np.fmax(worst, difference)
            if not difference <= BAR:
                counts["disagree"] += 1
                print(f"  {path.relative_to(packages)}: {difference:.1e}", flush=True)
        failed |= counts["disagree"] > 0 or counts["compared"] == 0
        summary = ", ".join(f"{count} {what}" for what, count in counts.items())
        print(f"{wheel}: {summary}; {forces} actuators, worst {worst:.1e}", flush=True)
        for reason, count in reasons.most_common():
            if count:
                print(f"    {count} x {reason}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
