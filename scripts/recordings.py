#!/usr/bin/env python3
"""Standard errors of `leastaction motion` on motions it was not made with: how often they hold the truth.

    scripts/recordings.py LEASTACTION [--seeds 20] [--only MOTION,…] [--orders 2]
    scripts/recordings.py LEASTACTION --robot ur5_robot.urdf [--seeds 50]

For each motion (sines, minimum-jerk reaches with rests and without, a chirp, a walk-like sum, all on an arm of seven joints; tumbling of a ball
joint and of a free body) and each kind of noise (white, with a memory of one and of five samples, rounded to encoder counts) the torque and its
rate are computed from the noisy recording and from the motion itself. Printed are the rms error of the torque and the share
of samples, ends included, whose error is below its standard error. White noise has to give 60 to 76 % pooled over seeds; for the
other kinds, which the error model does not know, the share is printed. Needs numpy only. With a robot: sines of all its joints, without noise
and with two levels of it, beside Pinocchio's torques at the exact motion (pip install pin): rms errors of at most 1e-6, 0.25 and 2.1 N m.
"""

import argparse
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DURATION, RATE = 3.0, 100


def minimum_jerk(t, start, length):
    s = np.clip((t - start) / length, 0, 1)
    return s**3 * (10 - 15 * s + 6 * s**2)


def sines(t, j):
    return 0.5 * np.sin(1.3 * t + 0.7 * j) + 0.2 * np.sin(3.1 * t + 1.9 * j)


def reach(t, j):
    """Rest, a reach of 1.2 s, rest: the jerk jumps where it begins and ends."""
    return (0.8 - 0.15 * j) * minimum_jerk(t, 0.9, 1.2)


def whole(t, j):
    """A reach from the first sample to the last: a polynomial of degree five."""
    return (0.8 - 0.15 * j) * minimum_jerk(t, 0.0, DURATION)


def chirp(t, j):
    """From 0.3 to 2 Hz."""
    return 0.3 * np.sin(2 * np.pi * (0.3 * t + 0.5 * (2.0 - 0.3) / DURATION * t**2) + j)


def walk(t, j):
    """Harmonics of a stride of 1.1 s with amplitudes that fall like those of human joints."""
    w = 2 * np.pi / 1.1
    return sum(a * np.sin(k * w * t + 1.3 * k * j + 0.4 * k) for k, a in ((1, 0.35), (2, 0.12), (3, 0.05), (4, 0.015)))


def quaternion(v):
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    half = 0.5 * angle
    return np.concatenate([np.cos(half), np.sinc(half / np.pi) * 0.5 * v], axis=-1)


def product(a, b):
    w, x, y, z = np.moveaxis(a, -1, 0)
    v = np.stack([w, x, y, z], -1)
    p = v[..., :1] * b[..., :1] - np.sum(v[..., 1:] * b[..., 1:], -1, keepdims=True)
    return np.concatenate([p, v[..., :1] * b[..., 1:] + b[..., :1] * v[..., 1:] + np.cross(v[..., 1:], b[..., 1:])], -1)


def tumble(t):
    """A rotation that goes round more than once, about an axis that moves."""
    first = np.stack([0 * t, 0 * t, 2.4 * t], -1)
    then = np.stack([0.5 * np.sin(2.0 * t), 0.4 * np.cos(1.4 * t), 0 * t], -1)
    return product(quaternion(first), quaternion(then))


def noise(kind, sigma, shape, random):
    white = random.normal(0, 1, (shape[0] + 200, *shape[1:]))
    if kind == "white":
        return sigma * white[200:]
    keep = {"memory 1": np.exp(-1.0), "memory 5": np.exp(-0.2)}[kind]
    out = np.zeros_like(white)
    for i in range(1, len(out)):
        out[i] = keep * out[i - 1] + np.sqrt(1 - keep**2) * white[i]
    return sigma * out[200:]


def hinges(motion):
    def record(t, kind, sigma, random):
        q = np.stack([motion(t, j) for j in range(7)], -1)
        if kind == "rounded":
            # Encoder counts with the variance of the noise that stands for them.
            step = sigma * np.sqrt(12.0)
            return np.round(q / step) * step
        return q + noise(kind, sigma, q.shape, random) if sigma else q
    return record


def ball(t, kind, sigma, random):
    q = tumble(t)
    if kind == "rounded" or not sigma:
        return q
    return product(q, quaternion(noise(kind, sigma, (len(t), 3), random)))


def free(t, kind, sigma, random):
    p = np.stack([0.3 * np.sin(1.2 * t), 0.2 * t, 1 + 0.1 * np.cos(2 * t)], -1)
    if sigma and kind != "rounded":
        p = p + noise(kind, sigma, p.shape, random)
    return np.concatenate([ball(t, kind, sigma, random), p], -1)


def one_body(kind):
    """A box of 2 kg on a ball joint, or free."""
    return {"schema": "leastaction/model/1", "name": kind, "gravity": [0, 0, -9.81],
            "bodies": [{"name": "box", "mass": 2.0, "com": [0.1, 0.02, 0.0], "inertia": [0.02, 0.04, 0.05, 0, 0, 0]}],
            "joints": [{"name": "joint", "type": kind, "parent": "world", "child": "box"}]}


def columns(model):
    """Names of the configuration columns of a model, as the command says."""
    return [f"q.{name}" for name in model]


def write(path, names, t, q):
    with open(path, "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["t", *names])
        writer.writerows([repr(float(x)) for x in row] for row in np.column_stack([t, q]))


def evaluate(command, model, recording, order, out):
    run = [command, "motion", str(model), "--trajectory", str(recording), "--quantity", "torque", "--order", str(order), "--out", str(out),
           "--no-report", "--json"]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(run)}\n{done.stdout}{done.stderr}")
    with open(out / "motion.csv") as f:
        rows = list(csv.reader(f))
    head, body = rows[0], np.array([[float(x or "nan") for x in row] for row in rows[1:]])
    values = [i for i, name in enumerate(head) if name != "t" and not name.startswith(("se.", "q.", "v."))]
    errors = [head.index(f"se.{head[i]}") for i in values]
    return body[:, values], body[:, errors]


def beside_pinocchio(command, robot, seeds):
    """Sines of all joints of a robot: rms error of torques, and how often standard errors hold it."""
    import pinocchio
    model = pinocchio.buildModelFromUrdf(str(robot))
    data = model.createData()
    t = np.arange(int(DURATION * RATE) + 1) / RATE
    angle = lambda j: ((0.5, 1.3, 0.7 * j), (0.2, 3.1, 1.9 * j))  # noqa: E731
    q, v, a = (np.stack([sum(f(*wave) for wave in angle(j)) for j in range(model.nv)], -1) for f in (
        lambda s, w, p: s * np.sin(w * t + p), lambda s, w, p: s * w * np.cos(w * t + p), lambda s, w, p: -s * w * w * np.sin(w * t + p)))
    truth = np.array([pinocchio.rnea(model, data, *row) for row in zip(q, v, a)])
    random, failed = np.random.default_rng(5), []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        for sigma, bar in ((0.0, 1e-6), (1e-4, 0.25), (1e-3, 2.1)):
            errors, held = [], []
            for _ in range(seeds if sigma else 1):
                write(scratch / "r.csv", [f"q.{name}" for name in model.names[1:]], t, q + sigma * random.normal(size=q.shape))
                value, error = evaluate(command, robot, scratch / "r.csv", 0, scratch / "out")
                errors.append(value - truth)
                held.append(np.abs(value - truth) <= error)
            rms, share = np.sqrt(np.mean(np.square(errors))), np.mean(held)
            print(f"noise {sigma:.0e} rad: rms torque error {rms:.2e} N m (at most {bar}), below its standard error in {100 * share:.1f} %", flush=True)
            if rms > bar or (sigma and not 0.6 <= share <= 0.76):
                failed.append(sigma)
    if failed:
        sys.exit(f"missed at noise {failed}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("leastaction")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="")
    parser.add_argument("--orders", type=int, default=2)
    parser.add_argument("--robot")
    given = parser.parse_args()
    if given.robot:
        beside_pinocchio(given.leastaction, given.robot, given.seeds)
        return
    t = np.arange(int(DURATION * RATE) + 1) / RATE
    hinge_names = None
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        arm = ROOT / "models" / "arm7.json"
        hinge_names = [j["name"] for j in json.loads(arm.read_text())["joints"] if j["type"] == "revolute"]
        models = {}
        for kind in ("spherical", "floating"):
            models[kind] = scratch / f"{kind}.json"
            models[kind].write_text(json.dumps(one_body(kind)))
        quat = [f"joint.{c}" for c in "wxyz"]
        cases = [(name, arm, hinge_names, hinges(f)) for name, f in (("sines", sines), ("reach", reach), ("whole", whole), ("chirp", chirp), ("walk", walk))]
        cases += [("ball", models["spherical"], quat, ball), ("free", models["floating"], quat + [f"joint.p{c}" for c in "xyz"], free)]
        print(f"{'motion':8}{'noise':>10}{'rad':>9}   torque: rms, below its error   rate: rms, below its error")
        for name, model, joints, record in cases:
            if given.only and name not in given.only.split(","):
                continue
            names = columns(joints)
            random = np.random.default_rng(7)
            exact = scratch / "exact.csv"
            write(exact, names, t, record(t, "white", 0.0, random))
            truth = [evaluate(given.leastaction, model, exact, order, scratch / "truth")[0] for order in range(given.orders)]
            kinds = ["white", "memory 1", "memory 5"] + (["rounded"] if name not in ("ball", "free") else [])
            for kind in kinds:
                for sigma in (1e-4, 1e-3):
                    texts = []
                    pooled = [[] for _ in truth]
                    errors = [[] for _ in truth]
                    for _ in range(1 if kind == "rounded" else given.seeds):
                        noisy = scratch / "noisy.csv"
                        write(noisy, names, t, record(t, kind, sigma, random))
                        for order in range(given.orders):
                            value, error = evaluate(given.leastaction, model, noisy, order, scratch / "noisy")
                            difference = value - truth[order]
                            pooled[order].append(np.abs(difference) <= error)
                            errors[order].append(difference)
                    for order in range(given.orders):
                        share, rms = np.mean(pooled[order]), np.sqrt(np.mean(np.square(errors[order])))
                        bad = kind == "white" and not 0.60 <= share <= 0.76
                        failed += bad and order == 0
                        texts.append(f"{rms:12.4g} {100 * share:7.1f} %{' !' if bad else '  '}")
                    print(f"{name:8}{kind:>10}{sigma:9.0e}   {'   '.join(texts)}", flush=True)
    if failed:
        sys.exit(f"{failed} kinds of motion with white noise are outside 60 to 76 %")


if __name__ == "__main__":
    main()
