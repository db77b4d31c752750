"""Rates of `rollout` beside `mujoco.rollout`: the same mechanisms, states, steps and number of threads, in one process.

    scripts/rollout_rates.py COMMAND [--rounds N] [--runs N] [--only PART,...] [--idle]

COMMAND is the program that writes models for MuJoCo. Needs the package on the path, mujoco and example-robot-data. Contestants take
turns in every round; what is compared is the processor time of one round, and what is printed the median of the rounds' ratios. With
`--idle` two threads are compared with one by the clock, which means something on an idle machine only. Exits 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import mujoco
import numpy as np
from mujoco import rollout as mujoco_rollout

sys.path.insert(0, str(Path(__file__).parent / "peers"))
import models as peer_models  # noqa: E402

import leastaction as la  # noqa: E402

STEP = 1e-3
STEPS = 200
OURS = {
    "minimal 2": {"integrator": "minimal", "order": 2},
    "minimal 4": {"integrator": "minimal", "order": 4},
    "minimal 6": {"integrator": "minimal", "order": 6},
    "minimal 8": {"integrator": "minimal", "order": 8},
    "semi-implicit": {"integrator": "semi-implicit"},
    "rk4": {"integrator": "rk4"},
}
THEIRS = {"MuJoCo Euler": mujoco.mjtIntegrator.mjINT_EULER, "MuJoCo RK4": mujoco.mjtIntegrator.mjINT_RK4}
# Ours, theirs, least ratio of steps per second on the chain, on panda and on talos.
TARGETS = [
    ("minimal 2", "MuJoCo Euler", {"chain10": 0.7, "panda": 0.8}),
    ("minimal 4", "MuJoCo RK4", {"chain10": 1.5, "panda": 1.7}),
    ("semi-implicit", "MuJoCo Euler", {"chain10": 2.5, "panda": 2.5}),
    ("rk4", "MuJoCo RK4", {}),
]
TOLERANCE = 1e-6


@dataclass
class Case:
    """A mechanism for both, and the states it starts from."""

    name: str
    mechanism: la.Mechanism
    model: mujoco.MjModel
    q: np.ndarray
    v: np.ndarray
    missed: list[str] = field(default_factory=list)

    def ours(self, label: str, *, steps: int = STEPS, step: float = STEP, threads: int = 1) -> la.Rollout:
        """Ends of our runs."""
        return la.rollout(self.mechanism, self.q, self.v, steps=steps, step=step, threads=threads, **OURS[label])

    def theirs(self, label: str, *, steps: int = STEPS, step: float = STEP, threads: int = 1) -> Callable[[], np.ndarray]:
        """A call that gives the ends of their runs; its memory is made before."""
        model = self.model
        model.opt.timestep, model.opt.integrator = step, THEIRS[label]
        data = [mujoco.MjData(model) for _ in range(threads)]
        spec = mujoco.mjtState.mjSTATE_FULLPHYSICS
        start = np.empty((len(self.q), mujoco.mj_stateSize(model, spec)))
        for row, q, v in zip(start, self.q, self.v, strict=True):
            mujoco.mj_resetData(model, data[0])
            data[0].qpos[:], data[0].qvel[:] = self.as_theirs(q), v
            mujoco.mj_getState(model, data[0], row, spec)
        state = np.empty((len(start), steps, start.shape[1]))
        sensors = np.empty((len(start), steps, model.nsensordata))

        def run() -> np.ndarray:
            model.opt.timestep, model.opt.integrator = step, THEIRS[label]
            with mujoco_rollout.Rollout(nthread=threads if threads > 1 else 0) as pool:
                pool.rollout([model] * len(start), data, start, None, nstep=steps, state=state, sensordata=sensors, skip_checks=True)
            return state[:, -1, 1 : 1 + model.nq]

        return run

    def as_theirs(self, q: np.ndarray) -> np.ndarray:
        """Positions in their order: a free base has its place first there."""
        if self.model.nq == self.model.nv:
            return q
        return np.concatenate([q[4:7], q[:4], q[7:]])

    def tip(self, q: np.ndarray) -> np.ndarray:
        """Where the last body's own frame and a point half a metre from it are: error in metres, turning included."""
        pose = self.mechanism.pose(self.mechanism.bodies[-1], q)
        return np.concatenate([pose[:, :3, 3], pose[:, :3, 3] + 0.5 * pose[:, :3, 0]], axis=1)


def cases(command: Path, folder: Path, runs: int) -> list[Case]:
    """Chain of ten hinges, panda, talos on its free base; no limits, no contact, no friction."""
    places = [Path(place) / "cmeel.prefix/share/example-robot-data/robots" for place in sys.path]
    robots = next((place for place in places if place.is_dir()), None)
    peer_models.built_ins = lambda quick=False: {"chain10": "@chain/10"}
    sources = peer_models.write(command, folder, True, robots, lambda text: sys.exit(text))
    rng = np.random.default_rng(7)
    found = []
    for name, source in sources.items():
        mechanism = la.load(source)
        model = mujoco.MjModel.from_xml_path(str(folder / f"{name}.xml"))
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT | mujoco.mjtDisableBit.mjDSBL_LIMIT
        start = mechanism.start_state()
        q = np.tile(start.q, (runs, 1))
        if name != "talos":
            q = rng.uniform(-0.5, 0.5, q.shape)
        found.append(Case(name, mechanism, model, q, rng.uniform(-0.3, 0.3, (runs, mechanism.nv))))
    return found


def rounds_of(calls: dict[str, Callable[[], object]], rounds: int, clock: Callable[[], float]) -> dict[str, list[float]]:
    """Seconds of every call in every round, after one round that does not count."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, call in calls.items():
            begin = clock()
            call()
            if turn:
                taken[name].append(clock() - begin)
    return taken


def ratio(over: Sequence[float], under: Sequence[float]) -> float:
    """Median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(over, under, strict=True))


def say(case: Case, what: str, value: float, target: float | None) -> None:
    verdict = "" if target is None else f"  target {target}: {'reached' if value >= target else 'MISSED'}"
    print(f"{case.name:8} {what:52} {value:8.2f}{verdict}", flush=True)
    if target is not None and value < target:
        case.missed.append(what)


def rates(case: Case, rounds: int) -> None:
    """Steps per second and core."""
    calls: dict[str, Callable[[], object]] = {}
    for label in ("minimal 2", "minimal 4", "semi-implicit", "rk4"):
        calls[label] = lambda label=label: case.ours(label)
    for label in THEIRS:
        calls[label] = case.theirs(label)
    taken = rounds_of(calls, rounds, time.process_time)
    for label, seconds in taken.items():
        say(case, f"{label}, thousand steps/s and core", len(case.q) * STEPS / statistics.median(seconds) / 1e3, None)
    for ours, theirs, targets in TARGETS:
        say(case, f"{ours} over {theirs}, steps/s", ratio(taken[theirs], taken[ours]), targets.get(case.name))


def lanes(case: Case, rounds: int) -> None:
    """Rows side by side over the same rows one by one, both with the mass-matrix iteration."""
    some = Case(case.name, case.mechanism, case.model, case.q[:64], case.v[:64])
    for label in ("minimal 2", "minimal 4"):

        def alone(label: str = label) -> list[np.ndarray]:
            return [
                la.rollout(some.mechanism, q, v, steps=STEPS, step=STEP, threads=1, **OURS[label]).q
                for q, v in zip(some.q, some.v, strict=True)
            ]

        assert np.array_equal(np.array(alone()), some.ours(label).q)
        taken = rounds_of({"alone": alone, "lanes": lambda label=label: some.ours(label)}, rounds, time.process_time)
        say(case, f"{label}, lanes over rows alone", ratio(taken["alone"], taken["lanes"]), 2.0)
    case.missed += some.missed


def equal_error(case: Case, rounds: int) -> None:
    """Simulated seconds per second of processor time where the tip is right to a micrometre (largest of all runs) after 1 s."""
    few = Case(case.name, case.mechanism, case.model, case.q[:32], case.v[:32])
    truth = la.rollout(few.mechanism, few.q, few.v, steps=2000, step=5e-4, integrator="minimal", order=12, threads=1).q
    again = la.rollout(few.mechanism, few.q, few.v, steps=1600, step=1 / 1600, integrator="minimal", order=10, threads=1).q
    there = few.tip(truth)
    print(f"{case.name:8} the reference agrees with another order and step to {np.abs(few.tip(again) - there).max():.1e} m")

    def error(q: np.ndarray) -> float:
        return float(np.abs(few.tip(q) - there).max()) if np.isfinite(q).all() else np.inf

    def coarsest(call: Callable[[int], np.ndarray]) -> int | None:
        """Least number of steps that is precise enough, within 3 %."""
        steps = 32
        while error(call(steps)) > TOLERANCE:
            steps *= 2
            if steps > 40_000:
                return None
        low, high = steps // 2, steps
        while high > 1.03 * low + 1:
            middle = (low + high) // 2
            low, high = (low, middle) if error(call(middle)) <= TOLERANCE else (middle, high)
        return high

    calls: dict[str, Callable[[], object]] = {}
    with warnings.catch_warnings():
        # Steps that are too long fail, which is an answer here.
        warnings.simplefilter("ignore", la.errors.RolloutWarning)
        for label in ("minimal 2", "minimal 4", "minimal 6", "minimal 8", "rk4"):
            steps = coarsest(lambda n, label=label: few.ours(label, steps=n, step=1 / n).q)
            if steps is not None:
                calls[f"{label}, {1e3 / steps:.2f} ms"] = lambda label=label, n=steps: few.ours(label, steps=n, step=1 / n)
        steps = coarsest(lambda n: few.theirs("MuJoCo RK4", steps=n, step=1 / n)())
        assert steps is not None
        theirs = f"MuJoCo RK4, {1e3 / steps:.2f} ms"
        calls[theirs] = few.theirs("MuJoCo RK4", steps=steps, step=1 / steps)
        taken = rounds_of(calls, rounds, time.process_time)
    for label, seconds in taken.items():
        say(case, f"{label}, simulated s per s at {TOLERANCE:g} m", len(few.q) / statistics.median(seconds), None)
    best = min((label for label in calls if label != theirs), key=lambda label: statistics.median(taken[label]))
    say(case, f"best of ours ({best}) over best of theirs", ratio(taken[theirs], taken[best]), 4.0)


def scaling(case: Case, rounds: int, idle: bool) -> None:
    """Two threads over one, by the clock."""
    for label in ("minimal 2", "minimal 4"):
        calls = {str(n): lambda label=label, n=n: case.ours(label, steps=4 * STEPS, threads=n) for n in (1, 2)}
        taken = rounds_of(calls, rounds, time.perf_counter)
        say(case, f"{label}, two threads over one by the clock", ratio(taken["1"], taken["2"]), 1.85 if idle else None)
    calls = {str(n): case.theirs("MuJoCo Euler", steps=4 * STEPS, threads=n) for n in (1, 2)}
    taken = rounds_of(calls, rounds, time.perf_counter)
    say(case, "MuJoCo Euler, two threads over one by the clock", ratio(taken["1"], taken["2"]), None)


def main() -> None:
    """Measures, prints, and fails where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--runs", type=int, default=256)
    parser.add_argument("--only", default="rates,lanes,equal,scaling")
    parser.add_argument("--models", default="chain10,panda,talos")
    parser.add_argument("--idle", action="store_true")
    given = parser.parse_args()
    only, missed = given.only.split(","), {}
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(given.command.resolve(), Path(folder), given.runs):
            if case.name not in given.models.split(","):
                continue
            if "rates" in only:
                rates(case, given.rounds)
            if "lanes" in only:
                lanes(case, given.rounds)
            if "equal" in only and case.name != "talos":
                equal_error(case, given.rounds)
            if "scaling" in only:
                scaling(case, given.rounds, given.idle)
            if case.missed:
                missed[case.name] = case.missed
    print(json.dumps({"missed": missed}))
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
