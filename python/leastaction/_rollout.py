"""Many motions in one call."""

from __future__ import annotations

import math
import operator
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._progress import Progress, listener
from ._tables import Array, expect_text, unknown_column
from ._verbs import Model, Policy, mechanism_of, policy_text
from .errors import BadOption, LayoutError, LeastActionError, RolloutWarning, ShapeError

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

    Where columns were chosen `table` has them, and `q` and `v` are those of the ends.

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
        columns: tuple[str, ...] = (),
        table: Array | None = None,
    ) -> None:
        self.mechanism = mechanism
        self.q, self.v = q, v
        self.failures = failures
        self.columns, self._table = columns, table
        # Leading axes of the motions; the next one, if there is another, is time.
        self._has_times = (q if table is None else table).ndim == len(lead) + 2
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
        last = self.q[..., -1, :] if self._has_times and self._table is None else self.q
        # Of an interrupted rollout rows are missing that did not fail.
        ok = np.isfinite(last).all(axis=-1).reshape(self._rows)
        ok[[failure.row for failure in self.failures]] = False
        return ok.reshape(self._lead)

    @property
    def table(self) -> Array:
        """The columns that were chosen, in the last axis."""
        if self._table is None:
            raise AttributeError("no `columns` were chosen: `q` and `v` have what was kept")
        return self._table

    @property
    def t(self) -> Array:
        """Times of the recorded rows, from the start on; of ends: the one time."""
        if not self._has_times:
            return np.array([self.steps * self.step])
        recorded = self.steps // self.every + 1
        return np.arange(recorded, dtype=np.float64) * np.float64(self.every * self.step)

    def __getitem__(self, name: str) -> Array:
        """A number of every row, and of every time if whole motions were recorded: ``q.JOINT``, ``v.JOINT``, ``energy.total``, …"""
        expect_text(name)
        if self._table is not None:
            if name in self.columns:
                return self._table[..., self.columns.index(name)]
            raise unknown_column(name, self.columns)
        if name in ("q", "v"):
            return self.q if name == "q" else self.v
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
        raise unknown_column(name, (*known, "energy.total", "energy.kinetic", "energy.potential"))

    def raise_failures(self) -> None:
        """Raises what stopped the first row that failed."""
        if self.failures:
            raise self.failures[0].error

    def __len__(self) -> int:
        return self._rows

    def __repr__(self) -> str:
        return f"<Rollout: {self._rows} rows of {self.steps} steps, {len(self.failures)} failed>"


def _positive(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        remedy = "give a number greater than 0"
        raise BadOption(f"{name} = {value!r} is not possible: {remedy}", {"option": name, "value": repr(value), "remedy": remedy})
    return number


def _whole(name: str, value: Any) -> int:
    try:
        number = 0 if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        remedy = "give a whole number greater than 0"
        raise BadOption(f"{name} = {value!r} is not possible: {remedy}", {"option": name, "value": repr(value), "remedy": remedy})
    return number


def _chosen(mechanism: _core.Mechanism, columns: Any) -> tuple[str, ...]:
    """Names of columns, all known, none twice; a group stands for its columns."""
    groups = {"q": [f"q.{label}" for label in mechanism.q_labels], "v": [f"v.{label}" for label in mechanism.v_labels]}
    groups["energy"] = ["energy.total", "energy.kinetic", "energy.potential"]
    known = tuple(name for names in groups.values() for name in names)
    names: list[str] = []
    for name in [columns] if isinstance(columns, str) else list(columns):
        expect_text(name)
        if name not in known and name not in groups:
            raise unknown_column(name, known)
        names += groups.get(name, [name])
    if not names:
        remedy = "name some, or leave `columns` out"
        raise BadOption(f"no columns are named: {remedy}", {"option": "columns", "value": repr(columns), "remedy": remedy})
    return tuple(dict.fromkeys(names))


def _place(mechanism: _core.Mechanism, name: str) -> tuple[str, int]:
    """A column as the compiled half knows it."""
    if name.startswith("energy."):
        return name, 0
    group, _, label = name.partition(".")
    return group, (mechanism.q_labels if group == "q" else mechanism.v_labels).index(label)


def rollout(
    mechanism: Model,
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
    columns: str | Sequence[str] | None = None,
    out: Array | tuple[Array, Array] | None = None,
    hold: str = "step",
    threads: int | None = None,
    progress: bool | Progress | None = None,
    **settings: Any,
) -> Rollout:
    """Runs many motions on all processors.

    `q` and `v` have one row per motion, or stand for every row. `u` is `(nu,)`, `(steps, nu)`, `(rows, nu)` with
    ``hold="row"``, or `(rows, steps, nu)`. `controller` is called once per step with the time and all rows,
    and returns the inputs of all rows. ``record="rows"`` keeps every `every`-th step; `columns` chooses what is kept by name
    (``"q.knee"``, ``"v"``, ``"energy.total"``), which saves memory. `out` is memory of yours for what is kept: an array for
    columns, else one for `q` and one for `v`. Results do not depend on the number of threads, and a row that fails leaves the
    others alone. Ctrl-C raises `KeyboardInterrupt`, whose `partial` is the rollout with the rows that are done. Further
    settings say how time is stepped, as in `Simulator`.

    >>> import numpy as np, leastaction as la
    >>> mech = la.load("@double-pendulum")
    >>> roll = la.rollout(mech, q=np.linspace(-1, 1, 8).reshape(4, 2), steps=10, step=0.01)
    >>> roll.q.shape, bool(roll.ok.all())
    ((4, 2), True)
    """
    mechanism = mechanism_of(mechanism)
    step = _positive("step", settings["step"] if settings.get("step") is not None else DEFAULTS["step"])
    if steps is None:
        duration = _positive("duration", duration if duration is not None else DEFAULTS["duration"])
        steps = max(round(duration / step), 1)
    elif duration is not None:
        raise BadOption("give `steps` or `duration`, not both", {"option": "steps", "value": steps, "remedy": "leave one out"})
    steps, every = _whole("steps", steps), _whole("every", every)
    if record not in ("end", "rows"):
        remedy = "give `end` or `rows`"
        raise BadOption(f"record = {record!r} is not possible: {remedy}", {"option": "record", "value": repr(record), "remedy": remedy})
    chosen = None if columns is None else _chosen(mechanism, columns)
    if controller is not None:
        for name, given in (("u", u), ("policy", policy), ("columns", columns), ("out", out)):
            if given is not None:
                remedy = "leave one out"
                raise BadOption(f"give `controller` or `{name}`, not both", {"option": name, "value": repr(given), "remedy": remedy})
        tell = listener(progress, "steps")
        return _controlled(mechanism, q, v, controller, steps, record == "rows", every, threads, start, tell, settings)

    if out is not None and (chosen is None) != (isinstance(out, tuple) and len(out) == 2):
        expected = "an array for the columns" if chosen is not None else "a tuple of an array for `q` and one for `v`"
        found = type(out).__name__
        raise LayoutError(f"`out` is a {found}: give {expected}", {"name": "out", "found": found, "remedy": f"give {expected}"})
    outs = (*(out or (None, None)), None) if chosen is None else (None, None, out)

    def made(out_q: Array, out_v: Array, table: Array | None, failures: list[Any], h: float) -> Rollout:
        lead = out_q.shape[: -2 if record == "rows" and table is None else -1]
        failed = [Failure(*failure) for failure in failures]
        return Rollout(mechanism, lead, out_q, out_v, failed, h, steps, every, chosen or (), table)

    try:
        result = _core._rollout(
            mechanism, q, v, u, steps=steps, every=every, record=record,
            columns=None if chosen is None else [_place(mechanism, name) for name in chosen], out=outs, hold=hold, threads=threads,
            policy=policy_text(policy), feedback=not open_loop, progress=listener(progress, "rows"),
            start=start, settings=settings,
        )
    except KeyboardInterrupt as stop:
        if isinstance(partial := getattr(stop, "partial", None), tuple):
            stop.partial = made(*partial)  # type: ignore[attr-defined]
        raise
    return made(*result)


def _controlled(
    mechanism: _core.Mechanism,
    q: Any,
    v: Any,
    controller: Callable[[float, Array, Array], Any],
    steps: int,
    whole: bool,
    every: int,
    threads: int | None,
    start: _core.State | None,
    tell: Progress | None,
    settings: dict[str, Any],
) -> Rollout:
    """Steps all rows together, the interpreter between two steps."""
    if start is not None:
        q, v = start.q if q is None else q, start.v if v is None else v
    batches = [x for x in (q, v) if isinstance(x, np.ndarray) and x.ndim > 1]
    lead = batches[0].shape[:-1] if batches else ()
    if any(x.shape[:-1] != lead for x in batches):
        expected, found = (*lead, mechanism.nv), batches[1].shape
        raise ShapeError(f"`v` has shape {found}, {expected} is needed", {"name": "v", "expected": expected, "found": found})
    rows = math.prod(lead)
    q, v = (x.reshape(rows, x.shape[-1]) if isinstance(x, np.ndarray) and x.ndim > 1 else x for x in (q, v))
    batch = _core.BatchSimulator(mechanism, rows, q=q, v=v, threads=threads, **settings)
    shape = lead or (1,)
    begin = start.t if start is not None else float(batch.t[0])
    kept: list[tuple[Array, Array]] = []
    h, said = batch.step_length, time.monotonic()

    def ended(steps: int) -> Rollout:
        failures = [Failure(*failure) for failure in batch.failures]
        out = [np.stack(rows, 1) for rows in zip(*kept, strict=True)] if whole else [batch.q, batch.v]
        for failure in failures:
            from_row = failure.steps // every + 1 if whole else 0
            for numbers in out:
                numbers[failure.row, from_row:] = np.nan
        out_q, out_v = (numbers.reshape(*lead, *numbers.shape[1:]) for numbers in out)
        return Rollout(mechanism, lead, out_q, out_v, failures, h, steps, every)

    for k in range(steps + 1):
        at = batch.q, batch.v
        if whole and k % every == 0:
            kept.append(at)
        if tell is not None and (k == steps or time.monotonic() - said > 0.05):
            tell(k, steps)
            said = time.monotonic()
        if k == steps:
            break
        try:
            u = controller(begin + k * h, *(x.reshape(*shape, x.shape[-1]) for x in at))
            if u is None:
                remedy = "return the inputs of all rows"
                raise LayoutError(f"the controller returned None: {remedy}", {"name": "u", "found": "None", "remedy": remedy})
            if isinstance(u, np.ndarray) and u.ndim == len(shape) + 1 and u.shape[:-1] == shape:
                u = u.reshape(rows, u.shape[-1])
            batch.step(u)
        except KeyboardInterrupt as stop:
            stop.partial = ended(k)  # type: ignore[attr-defined]
            raise
    return ended(steps)


__all__ = ["Failure", "LeastActionError", "Rollout", "rollout"]
