"""The same files as the command, byte for byte."""

import os
import subprocess
import sys

import numpy as np
import pytest

import leastaction as la
from conftest import MODELS

COMMAND = os.environ.get("LEASTACTION", "").split() or [sys.executable, "-m", "leastaction"]

SCENARIOS = [
    ("@double-pendulum", {}, {}),
    ("@chain/5", {}, {"integrator": "rk4", "step": 0.002, "every": 7}),
    ("@chain/3", {}, {"order": 2, "q": {"joint1": 0.3}, "v": {"joint0": -1.5}}),
    ("@ball-chain/4", {}, {"tolerance": 1e-12, "order": 6}),
    ("@four-bar", {}, {"forces": True}),
    ("@rhombus-chain/2", {}, {"order": 2, "rotation_map": "cayley"}),
    ("@binary-tree/6", {"gravity": [0.1, -2.0, 3.25]}, {"integrator": "dop853", "random_velocity": (3, 0.5)}),
    ("@star/4", {"undamped": True}, {"integrator": "semi-implicit", "step": 1 / 300}),
    (MODELS / "cart-pole.json", {}, {"inputs": {"push": 0.3}, "state": "up"}),
    (MODELS / "stewart-platform.json", {}, {"step": 0.01}),
    (MODELS / "floating-arm.json", {}, {"limits": "off", "iteration": "newton"}),
    (MODELS / "rolling-coin.json", {}, {"report": False}),
]


def flags(settings):
    words = []
    for name, value in settings.items():
        flag = "--" + name.replace("_", "-")
        if name == "report":
            words += [] if value else ["--no-report"]
        elif name == "inputs":
            words += [f"--input={key}={x!r}" for key, x in value.items()]
        elif isinstance(value, dict):
            words += [f"{flag}={key}={x!r}" for key, x in value.items()]
        elif value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words.append(f"{flag}=" + ",".join(map(repr, value)))
        else:
            words.append(f"{flag}={value}")
    return words


@pytest.mark.parametrize("model, load, settings", SCENARIOS, ids=lambda x: str(x)[-20:])
def test_files_are_those_of_the_command(model, load, settings, tmp_path):
    settings = {"duration": 0.4, **settings}
    subprocess.run([*COMMAND, "simulate", str(model), *flags(load), *flags(settings), "--out", str(tmp_path / "a")],
                   check=True, capture_output=True)
    run = la.simulate(la.load(model, **load), **settings)
    assert run.error is None
    run.save(tmp_path / "b")
    for name in ("trajectory.csv", "trajectory.npz", "state.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    wanted = settings.get("report", True)
    assert (tmp_path / "b" / "report.html").exists() == (tmp_path / "a" / "report.html").exists() == wanted
    table = np.load(tmp_path / "a" / "trajectory.npz")
    assert np.array_equal(table["q"], run["q"]) and np.array_equal(table["t"].ravel(), run.t)


def test_the_command_is_in_the_package(tmp_path):
    done = subprocess.run([sys.executable, "-m", "leastaction", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == f"leastaction {la.__version__}"
    failed = subprocess.run([sys.executable, "-m", "leastaction", "check", "nothing.urdf"], capture_output=True, text=True)
    assert failed.returncode == 2 and "nothing.urdf" in failed.stderr


def test_every_setting_of_the_command_is_a_keyword():
    """Keywords are read from the command's table: a new flag needs no line here."""
    table = {row[0] for group, row in la._core._settings() if group != "Read"}
    verbs = {name: {row[0] for row in rows if row[0]} for name, _, rows in la._core._verbs()}
    assert {"duration", "step", "integrator", "limits", "ignore", "q", "v", "report"} <= table
    assert {"at", "coordinates", "order"} <= verbs["linearize"]
    # What proves the program, and what a shell needs, stays with the command; so do runs whose files it keeps.
    for verb in set(verbs) - {"bench", "completions", "convert", "experiment", "resume", "simulate"}:
        assert callable(getattr(la, verb)), verb
    for name in table:
        assert f" {name}:" in la.simulate.__doc__ or name in ("policy", "start"), name
