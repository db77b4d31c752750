"""Many motions in one call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._progress import Progress, listener
from ._tables import Array, nearest
from ._verbs import Policy, policy_text
from .errors import BadOption, LeastActionError, RolloutWarning, UnknownName

DEFAULTS = {row[0]: row[2] for _, row in _core._settings()}


class Failure(tuple[int, int, Exception]):
    """A row that failed: `row`, `steps` taken before, and the `error`.

    >>> import leastaction as la
    >>> la.Failure(3, 20, ValueError("why")).row
    3
    """

    def __new__(cls, row: int, steps: int, error: Exception) -> Failure:
        return super().__new__(cls, (row, steps, error))

    def __getnewargs__(self) -> tuple[int, int, Exception]:
        return self.row, self.steps, self.error

    @property
    def row(self) -> int:
        """Which one."""
        return self[0]

    @property
    def steps(self) -> int:
        """Steps taken before."""
        return self[1]

    @property
    def error(self) -> Exception:
        """What stopped it."""
        return self[2]

    def __repr__(self) -> str:
        return f"<row {self.row} after {self.steps} steps: {self.error}>"


class Rollout:
    """The ends of many motions, or whole motions. Rows that failed are not a number from there on, and not `ok`.

    >>> import leastaction as la, numpy as np
    >>> roll = la.rollout(la.load("@chain/2"), q=np.zeros((5, 2)), v=1.0, steps=3, step=0.01)
    >>> roll.q.shape, bool(roll.ok.all())
    ((5, 2), True)
    >>> roll["q.joint1"].shape, roll["energy.total"].shape
    ((5,), (5,))
    """

    def __init__(
        self,
        mechanism: _core.Mechanism,
        lead: tuple[int, ...],
        q: Array,
        v: Array,
        failures: list[Failure],
        step: float,
        steps: int,
        every: int,
    ) -> None:
        self.mechanism = mechanism
        self.q, self.v = q, v
        self.failures = failures
        # Leading axes of the motions; the next one, if there is another, is time.
        self._lead = lead or (1,)
        self._rows = math.prod(self._lead)
        self.step, self.steps, self.every = step, steps, every
        if failures:
            first = failures[0]
            warnings.warn(
                f"{len(failures)} of {self._rows} runs failed, first: row {first.row}: {first.error}",
                RolloutWarning,
                stacklevel=3,
            )

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows came to their end, in the leading axes of the motions."""
        ok = np.ones(self._rows, dtype=np.bool_)
        ok[[failure.row for failure in self.failures]] = False
        return ok.reshape(self._lead)

    @property
    def t(self) -> Array:
        """Times of the recorded rows, from the start on; of ends: the one time."""
        recorded = self.steps // self.every + 1
        return np.arange(recorded, dtype=np.float64) * np.float64(self.every * self.step)

    def __getitem__(self, name: str) -> Array:
        """A number of every row, and of every time if whole motions were recorded: ``q.JOINT``, ``v.JOINT``, ``energy.total``, …"""
        mechanism = self.mechanism
        energies = {"total": mechanism.energy, "kinetic": mechanism.kinetic_energy}
        known = {f"q.{label}": self.q[..., i] for i, label in enumerate(mechanism.q_labels)}
        known |= {f"v.{label}": self.v[..., i] for i, label in enumerate(mechanism.v_labels)}
        if name in known:
            return known[name]
        # Rows that failed are not a number, and stay so.
        if name == "energy.potential":
            return mechanism.potential_energy(self.q, check=False)
        kind = name.removeprefix("energy.")
        if kind != name and kind in energies:
            return energies[kind](self.q, self.v, check=False)
        names = (*known, "energy.total", "energy.kinetic", "energy.potential")
        near = nearest(name, names)
        raise UnknownName(f"there is no column `{name}`: {near}", {"name": name, "remedy": near, "what": "column"})

    def raise_failures(self) -> None:
        """Raises what stopped the first row that failed."""
        if self.failures:
            raise self.failures[0].error

    def __repr__(self) -> str:
        return f"<Rollout: {self._rows} rows of {self.steps} steps, {len(self.failures)} failed>"


def rollout(
    mechanism: _core.Mechanism,
    q: Any = None,
    v: Any = None,
    u: Any = None,
    *,
    start: _core.State | None = None,
    steps: int | None = None,
    duration: float | None = None,
    policy: Policy | str | None = None,
    open_loop: bool = False,
    controller: Callable[[float, Array, Array], Any] | None = None,
    record: str = "end",
    every: int = 1,
    hold: str = "step",
    threads: int | None = None,
    progress: bool | Progress | None = None,
    **settings: Any,
) -> Rollout:
    """Runs many motions on all processors.

    `q` and `v` have one row per motion, or stand for every row. `u` is `(nu,)`, `(steps, nu)`, `(rows, nu)` with
    ``hold="row"``, or `(rows, steps, nu)`. `controller` is called once per step with the time and all rows,
    and returns the inputs of all rows. Results do not depend on the number of threads, and a row that fails leaves the
    others alone. Further settings say how time is stepped, as in `Simulator`.

    >>> import numpy as np, leastaction as la
    >>> mech = la.load("@double-pendulum")
    >>> roll = la.rollout(mech, q=np.linspace(-1, 1, 8).reshape(4, 2), steps=10, step=0.01)
    >>> roll.q.shape, bool(roll.ok.all())
    ((4, 2), True)
    """
    step = float(settings.get("step") or DEFAULTS["step"])
    if steps is None:
        steps = round((duration if duration is not None else float(DEFAULTS["duration"])) / step)
    elif duration is not None:
        raise BadOption("give `steps` or `duration`, not both", {"option": "steps", "value": steps, "remedy": "leave one out"})
    for name, number in (("steps", steps), ("every", every)):
        if not isinstance(number, int) or number < 1 or not math.isfinite(step):
            text = f"{name} = {number!r} is not possible: give a whole number greater than 0"
            raise BadOption(text, {"option": name, "value": repr(number), "remedy": "give a whole number greater than 0"})
    if controller is not None:
        return _controlled(mechanism, q, v, controller, steps, record, every, threads, settings)
    result = _core._rollout(
        mechanism, q, v, u, steps=steps, every=every, record=record, hold=hold, threads=threads,
        policy=policy_text(policy), feedback=not open_loop, progress=listener(progress, "rows"),
        start=start, settings=settings,
    )
    out_q, out_v, failures, h = result
    lead = out_q.shape[: -2 if record == "rows" else -1]
    return Rollout(mechanism, lead, out_q, out_v, [Failure(*failure) for failure in failures], h, steps, every)


def _controlled(
    mechanism: _core.Mechanism,
    q: Any,
    v: Any,
    controller: Callable[[float, Array, Array], Any],
    steps: int,
    record: str,
    every: int,
    threads: int | None,
    settings: dict[str, Any],
) -> Rollout:
    if record not in ("end", "rows"):
        raise BadOption(f"record = {record!r} is not possible: give `end` or `rows`", {"option": "record"})
    rows = next((len(x) for x in (q, v) if isinstance(x, np.ndarray) and x.ndim > 1), 1)
    batch = _core.BatchSimulator(mechanism, rows, q=q, v=v, threads=threads, **settings)
    kept_q, kept_v = [batch.q], [batch.v]
    begin = float(batch.t[0])
    for k in range(steps):
        u = controller(begin + k * batch.step_length, batch.q, batch.v)
        batch.step(u)
        if record == "rows" and (k + 1) % every == 0:
            kept_q.append(batch.q)
            kept_v.append(batch.v)
    failures = [Failure(*failure) for failure in batch.failures]
    out_q, out_v = (np.stack(kept_q, 1), np.stack(kept_v, 1)) if record == "rows" else (batch.q, batch.v)
    for failure in failures:
        from_row = failure.steps // every + 1 if record == "rows" else 0
        out_q[failure.row, from_row:] = np.nan
        out_v[failure.row, from_row:] = np.nan
    return Rollout(mechanism, (rows,), out_q, out_v, failures, batch.step_length, steps, every)


__all__ = ["Failure", "LeastActionError", "Rollout", "rollout"]
