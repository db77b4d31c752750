"""Compares what we make of SDF files with what Drake makes of the same files.

    python3 -m venv .venv/drake && .venv/drake/bin/pip install drake==1.51.1 numpy example-robot-data==6.0.0
    .venv/drake/bin/python scripts/crosscheck_drake.py [--command target/release/leastaction] [--states 5] [FILE ...]

Without FILEs: models of this project and URDFs of example-robot-data, written as SDF by `leastaction convert` into a temporary
folder. Places of links in the world, mass matrices and accelerations at random states are compared; largest relative differences
are printed per file. Exit code 1 if one is above 1e-8.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import numpy as np
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import BodyIndex

from crosscheck_common import Worst, rotation

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = ["arm3.json", "arm7.json", "acrobot.json", "cart-pole.json", "floating-arm.json", "gripper-arm.urdf", "free-body.json"]
ROBOTS = [
    "ur_description/urdf/ur5_robot.urdf", "ur_description/urdf/ur10_robot.urdf", "panda_description/urdf/panda.urdf",
    "kinova_description/robots/kinova.urdf", "iiwa_description/urdf/iiwa14.urdf", "z1_description/urdf/z1.urdf",
    "double_pendulum_description/urdf/double_pendulum.urdf", "go2_description/urdf/go2.urdf", "a1_description/urdf/a1.urdf",
    "solo_description/robots/solo12.urdf", "talos_data/robots/talos_reduced.urdf", "finger_edu_description/robots/finger_edu.urdf",
]
ALLOWED = 1e-8


def values(table):
    return dict(zip(table["rows"], np.array(table["values"], float)))


def compare(command, path, states, seed):
    worst = Worst()
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModels(str(path))
    # Drake takes the places of a world's models, not its gravity.
    gravity = xml.parse(path).getroot().findtext("world/gravity")
    plant.mutable_gravity_field().set_gravity_vector([float(x) for x in (gravity or "0 0 -9.8").split()])
    plant.Finalize()
    context = plant.CreateDefaultContext()
    random = np.random.default_rng(seed)
    joints = [plant.get_joint(i) for i in plant.GetJointIndices()]
    single = [joint for joint in joints if joint.num_velocities() == 1]
    free = [body for body in (plant.get_body(i) for i in plant.GetFloatingBaseBodies())]
    for joint in joints:
        if joint.num_velocities() > 1 and not any(joint.child_body().index() == body.index() for body in free):
            return None, f"joint {joint.name()} has {joint.num_velocities()} coordinates"
    for _ in range(states):
        state = {"schema": "leastaction/state/1", "t": 0.0, "q": {}, "v": {}}
        positions, velocities = plant.GetPositions(context), plant.GetVelocities(context)
        for joint in single:
            q, v = random.uniform(-1.0, 1.0, 2)
            state["q"][joint.name()], state["v"][joint.name()] = q, v
            positions[joint.position_start()], velocities[joint.velocity_start()] = q, v
        plant.SetPositions(context, positions)
        plant.SetVelocities(context, velocities)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(state, file)
            file.flush()
            done = subprocess.run([command, "dynamics", str(path), "--at", file.name, "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip().splitlines()[0]
        said = json.loads(done.stdout)
        frames = values(said["frames"])
        for i in range(1, plant.num_bodies()):
            body = plant.get_body(BodyIndex(i))
            if body.name() not in frames:
                continue
            pose = plant.EvalBodyPoseInWorld(context, body)
            ours = frames[body.name()]
            worst.see("position", ours[4:7], pose.translation(), 1.0)
            worst.see("rotation", rotation(ours[:4]), pose.rotation().matrix(), 1.0)
        derivatives = plant.EvalTimeDerivatives(context).CopyToVector()[plant.num_positions():]
        ours = values(said["acceleration"])
        theirs = np.array([derivatives[joint.velocity_start()] for joint in single])
        worst.see("acceleration", [ours[joint.name()].item() for joint in single], theirs)
        matrix = plant.CalcMassMatrix(context)
        rows = said["mass_matrix"]["rows"]
        table = np.array(said["mass_matrix"]["values"], float)
        pick = [rows.index(joint.name()) for joint in single]
        at = [joint.velocity_start() for joint in single]
        if pick:
            worst.see("inertia", table[np.ix_(pick, pick)], matrix[np.ix_(at, at)])
    return worst, None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", default=str(ROOT / "target/release/leastaction"))
    parser.add_argument("--states", type=int, default=5)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files, folder = list(options.files), pathlib.Path(tempfile.mkdtemp())
    if not files:
        places = [pathlib.Path(p) / "cmeel.prefix/share/example-robot-data/robots" for p in sys.path]
        share = next((p for p in places if p.is_dir()), None)
        sources = [ROOT / "models" / name for name in OURS] + [share / name for name in ROBOTS if share and (share / name).exists()]
        for source in sources:
            path = folder / (source.stem + ".sdf")
            done = subprocess.run([options.command, "convert", str(source), str(path)], capture_output=True, text=True)
            if done.returncode == 0:
                # Drawings are not compared, and Drake would look for their files.
                text = path.read_text().split("<visual")
                path.write_text(text[0] + "".join(part.split("</visual>", 1)[1] for part in text[1:]))
                files.append(path)
            else:
                print(f"{source.name:32} not written: {done.stderr.strip().splitlines()[0]}")
    good = True
    for path in files:
        worst, why = compare(options.command, path, options.states, 1)
        if worst is None:
            print(f"{path.name:32} not compared: {why}")
            continue
        good &= all(x <= ALLOWED for x in worst.values())
        print(f"{path.name:32} " + "  ".join(f"{name} {x:.1e}" for name, x in worst.items()))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
