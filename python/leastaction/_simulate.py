"""`simulate`, and a simulator a step at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._progress import Progress, listener
from ._tables import Array, Run
from ._verbs import Policy, mechanism_of, policy_text
from .errors import ShapeError


Simulator = _core.Simulator


class JointForce(NamedTuple):
    """What the constraints of a joint exert on its child, along the joint's axes: torque first, then force.

    >>> import leastaction as la
    >>> sim = la.Simulator(la.load("@four-bar"), step=0.01)
    >>> sim.step()
    >>> {len(force.wrench) for force in sim.joint_forces().values()}
    {6}
    """

    wrench: Array
    redundant: bool


def simulate(
    mechanism: _core.Mechanism | str | os.PathLike[str],
    *,
    start: _core.State | str | os.PathLike[str] | None = None,
    inputs: Any = None,
    policy: Policy | str | os.PathLike[str] | None = None,
    progress: bool | Progress | None = None,
    **settings: Any,
) -> Run:
    """Simulates a model, like the command; results stay in memory until they are saved.

    Settings are those of the command with underscores: `duration`, `step`, `integrator`, `order`, `every`, `q`, `v`,
    `state`, `limits`, `forces`, `report`, …; ``help(leastaction.simulate)`` lists them. `q` and `v` are numbers by joint, or
    whole vectors. `start` is a state, a file or the name of a state. `inputs` is a table file, values by name, or an array with one row per step. Ctrl-C raises
    `KeyboardInterrupt`, whose `partial` has what there is. A step that fails ends the run: `run.error` says why.

    >>> import leastaction as la
    >>> run = la.simulate(la.load("@chain/3"), duration=0.5, step=0.01, integrator="rk4")
    >>> len(run), run.summary["outcome"]
    (51, 'done')
    """
    mechanism = mechanism_of(mechanism)
    table = None
    if isinstance(inputs, Mapping):
        settings["input"] = dict(inputs)
    elif isinstance(inputs, (str, os.PathLike)):
        settings["inputs"] = os.fspath(inputs)
    elif inputs is not None:
        table, nu = inputs, mechanism.nu
        if isinstance(table, np.ndarray) and table.ndim == 1 and table.shape != (nu,):
            text = f"`inputs` has shape {table.shape}, ({nu},) or (steps, {nu}) is needed"
            raise ShapeError(text, {"name": "inputs", "expected": f"({nu},) or (steps, {nu})", "found": table.shape})
    state = start if isinstance(start, _core.State) else None
    if start is not None and state is None:
        assert not isinstance(start, _core.State)
        settings["start"] = os.fspath(start)
    whole = {name: settings.pop(name) for name in ("q", "v") if not isinstance(settings.get(name, {}), Mapping | None)}
    if whole:
        # Vectors are those of a state; what is not given by them stays as it was to be.
        if state is None and "start" in settings:
            name = settings.pop("start")
            state = _core.State.load(name, mechanism) if os.path.exists(name) else mechanism.named_state(name)
        elif state is None:
            named = settings.pop("state", None)
            state = mechanism.start_state() if named is None else mechanism.named_state(named)
        state = state.replace(**whole)
    try:
        data, last, error, notes = _core._simulate(
            mechanism, start=state, inputs=table, policy=policy_text(policy), progress=listener(progress, "steps"),
            settings=settings,
        )
    except KeyboardInterrupt as stop:
        partial = getattr(stop, "partial", None)
        if isinstance(partial, tuple):
            stop.partial = Run(*partial)  # type: ignore[attr-defined]
        raise
    return Run(data, last, error, tuple(notes))


def _described() -> str:
    """The settings of `simulate` from the command's own table."""
    rows = [row for group, row in _core._settings() if group != "Read" and row[0] not in ("policy", "start")]
    lines = ["", "    Settings:"]
    for name, _, default, text, words, *_ in rows:
        choices = f" ({', '.join(words)})" if words else ""
        lines.append(f"      {name}: {text}{choices}" + (f" [default: {default}]" if default else ""))
    return "\n".join(lines) + "\n"


simulate.__doc__ = (simulate.__doc__ or "") + _described()
