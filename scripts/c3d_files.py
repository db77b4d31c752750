#!/usr/bin/env python3
"""Our reader of C3D against files that other programs write: the packages ezc3d and c3d of PyPI.

    scripts/c3d_files.py LEASTACTION

An arm with a ball and two hinges carries markers; their places, in mm, with one marker hidden for a while and analogue samples beside the points, are written by
both packages. `leastaction motion` has to find the joint motion again. Needs numpy, ezc3d and c3d (pip install numpy ezc3d c3d).
"""

import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

RATE, FRAMES = 100, 151
LENGTH = 0.3


def model():
    bodies, joints, frames = [], [], []
    for i, kind in enumerate(("spherical", "revolute", "revolute")):
        bodies.append({"name": f"link{i}", "mass": 1.0, "com": [0.15, 0, 0], "inertia": [0.002, 0.01, 0.01, 0, 0, 0]})
        joint = {"name": f"joint{i}", "type": kind, "parent": "world" if i == 0 else f"link{i - 1}", "child": f"link{i}",
                 "parent_placement": {"p": [0 if i == 0 else LENGTH, 0, 0]}}
        if kind == "revolute":
            joint["axis"] = [0, 1, 0] if i == 1 else [0, 0, 1]
        joints.append(joint)
        for k, at in enumerate(([0.05, 0.03, 0], [0.25, -0.02, 0.02], [0.15, 0, 0.05])):
            frames.append({"name": f"M{i}{'ABC'[k]}", "body": f"link{i}", "placement": {"p": at}})
    return {"schema": "leastaction/model/1", "name": "marked", "bodies": bodies, "joints": joints, "frames": frames}


def turn(axis, angle):
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k


def places(frames, t):
    """Marker places in m at a time, and the hinge angles."""
    first = turn([0, 0, 1], 0.6 * np.sin(2 * t)) @ turn([0, 1, 0], 0.4 * np.cos(1.5 * t))
    angles = [0.5 * np.sin(3 * t), 0.7 * np.cos(2 * t)]
    rotations, origins = [first], [np.zeros(3)]
    for axis, angle in (([0, 1, 0], angles[0]), ([0, 0, 1], angles[1])):
        origins.append(origins[-1] + rotations[-1] @ [LENGTH, 0, 0])
        rotations.append(rotations[-1] @ turn(axis, angle))
    return np.array([origins[int(f["body"][-1])] + rotations[int(f["body"][-1])] @ f["placement"]["p"] for f in frames]), angles


def by_ezc3d(path, names, points):
    import ezc3d
    c = ezc3d.c3d()
    c["parameters"]["POINT"]["RATE"]["value"] = [RATE]
    c["parameters"]["POINT"]["LABELS"]["value"] = names
    c["parameters"]["POINT"]["UNITS"]["value"] = ["mm"]
    data = np.ones((4, len(names), FRAMES))
    data[:3] = 1000 * points.transpose(2, 1, 0)
    data[:3, 3, 40:46] = np.nan
    c["data"]["points"] = data
    c["parameters"]["ANALOG"]["RATE"]["value"] = [4 * RATE]
    c["parameters"]["ANALOG"]["LABELS"]["value"] = ["Fz", "EMG"]
    c["data"]["analogs"] = np.random.default_rng(1).normal(size=(1, 2, 4 * FRAMES))
    c.write(str(path))


def by_c3d(path, names, points):
    import c3d
    writer = c3d.Writer(point_rate=RATE, analog_rate=4 * RATE, point_scale=-1.0)
    writer.set_point_labels(names)
    writer.set_analog_labels(["Fz", "EMG"])
    random = np.random.default_rng(1)
    for i, frame in enumerate(points):
        rows = np.zeros((len(names), 5), dtype=np.float32)
        rows[:, :3] = 1000 * frame
        if 40 <= i < 46:
            rows[3, :3], rows[3, 3] = 0.0, -1
        writer.add_frames((rows, random.normal(size=(2, 4)).astype(np.float32)))
    with open(path, "wb") as f:
        writer.write(f)


def check(command, path, model_path, angles, out):
    run = [command, "motion", str(model_path), "--trajectory", str(path), "--quantity", "torque", "--no-report", "--out", str(out), "--json"]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode != 0:
        return f"refused: {done.stdout[-600:]}{done.stderr[-300:]}"
    result = json.loads(done.stdout)
    residuals = max(marker["largest"] for marker in result["markers"])
    with open(out / "joints.csv") as f:
        rows = list(csv.reader(f))
    columns = [rows[0].index(f"q.joint{k}") for k in (1, 2)]
    body = np.array([[float(x) for x in row] for row in rows[1:]])
    worst = np.abs(body[:, columns] - angles).max()
    return worst, residuals


def main():
    command = sys.argv[1]
    description = model()
    names = [f["name"] for f in description["frames"]]
    pairs = [places(description["frames"], i / RATE) for i in range(FRAMES)]
    points, angles = np.array([p for p, _ in pairs]), np.array([a for _, a in pairs])
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "model.json").write_text(json.dumps(description))
        for name, write in (("ezc3d", by_ezc3d), ("c3d", by_c3d)):
            path = folder / f"{name}.c3d"
            with io.StringIO():
                write(path, names, points)
            found = check(command, path, folder / "model.json", angles, folder / name)
            if isinstance(found, str):
                failed.append(f"{name}: {found}")
                continue
            worst, residuals = found
            print(f"{name}: joint angles to {worst:.1e} rad, markers to {residuals:.1e} m")
            # Single precision of mm on links of 0.3 m.
            if not worst < 1e-5:
                failed.append(f"{name}: joint angles differ by {worst:.1e} rad")
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
