"""Problems for `optimize`, `infer` and `control`: made here, or read from the command's problem files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from . import _core
from ._toml import toml
from .errors import FileError

_P = TypeVar("_P", bound="_ProblemFile")


@dataclass(frozen=True)
class Term:
    """A term of the cost: its kind, its weight, and what else a term of a problem file can have (`joint`, `body`, `at`, …).

    >>> import leastaction as la
    >>> la.Term("torque", 1.0).weight
    1.0
    """

    kind: str
    weight: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Limit:
    """A limit of a motion: of `velocity`, `torque`, `input`, … a number, a pair, or numbers by joint.

    >>> import leastaction as la
    >>> la.Limit("velocity", 2.0).kind
    'velocity'
    """

    kind: str
    value: Any


@dataclass(frozen=True)
class ViaPoint:
    """A point that a coordinate passes at a time (or at ``"end of PHASE"``), or a value of its derivative.

    >>> import leastaction as la
    >>> la.ViaPoint(t=0.5, joint="elbow", value=1.0).order
    0
    """

    t: float | str
    joint: str
    value: float
    order: int = 0


def _table(name: str, rows: Mapping[str, Any]) -> list[str]:
    """A table of a problem file; what was not given is not there."""
    given = [f"{key} = {toml(value)}" for key, value in rows.items() if value is not None]
    return [f"\n[{name}]", *given]


def _place(name: str, place: Any) -> list[str]:
    """A state as problem files have it: a `State`, a mapping with `q`, `v` or `state`, or positions alone."""
    if place is None:
        return []
    if isinstance(place, _core.State):
        place = {"q": place.q, "v": place.v}
    elif not isinstance(place, Mapping) or set(place) - {"q", "v", "state", "derivatives"}:
        place = {"q": place}
    return _table(name, place)


def _terms(terms: Sequence[Term]) -> list[str]:
    lines = []
    for term in terms:
        weight = None if term.weight is None else float(term.weight)
        lines += _table("[terms]", {"kind": term.kind, "weight": weight, **term.options})
    return lines


class _ProblemFile:
    """A problem file with its model: text that was made here, or a path."""

    _text: str | None = None
    _model: str | None = None
    _path: Path | None = None

    def _make(self, mechanism: _core.Mechanism, name: str, lines: Sequence[str]) -> None:
        head = ['schema = "leastaction/problem/1"', f"name = {toml(name)}", 'model = "model.json"']
        self._text = "\n".join([*head, *lines]) + "\n"
        self._model = mechanism.to_json()

    @classmethod
    def load(cls: type[_P], path: str | os.PathLike[str]) -> _P:
        """A problem file, as the command takes it."""
        problem = cls.__new__(cls)
        problem._path = Path(os.fspath(path)).absolute()
        return problem

    def _file(self, folder: Path) -> str:
        if self._path is not None:
            return str(self._path)
        assert self._text is not None and self._model is not None
        (folder / "model.json").write_text(self._model, encoding="utf-8")
        (folder / "problem.toml").write_text(self._text, encoding="utf-8")
        return str(folder / "problem.toml")

    def to_toml(self) -> str:
        """The problem file."""
        if self._path is not None:
            try:
                return self._path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                text = f"can't read `{self._path}`: {error}"
                raise FileError(text, {"path": str(self._path), "remedy": "check the path"}) from error
        assert self._text is not None
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._path or 'made in Python'}>"


class MotionProblem(_ProblemFile):
    """What a motion costs, where it starts and ends, its limits, phases and constraints on frames: made here or read from a problem file.

    Phases and constraints are mappings with the keys that `[[phases]]` and `[[constraints]]` have in problem files.

    >>> import numpy as np, leastaction as la
    >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
    ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
    >>> la.optimize(problem, report=False).status
    'Solved'
    """

    def __init__(
        self,
        mechanism: _core.Mechanism,
        *,
        start: Any,
        terms: Sequence[Term],
        duration: float | None = None,
        end: Any = None,
        limits: Sequence[Limit] = (),
        via: Sequence[ViaPoint] = (),
        phases: Sequence[Mapping[str, Any]] = (),
        constraints: Sequence[Mapping[str, Any]] = (),
        time_weight: float | None = None,
        degree: int | None = None,
        control_points: int | None = None,
        samples: int | None = None,
        solver: Mapping[str, Any] | None = None,
        name: str = "problem",
    ) -> None:
        seconds = {"duration": duration, "time_weight": time_weight}
        spline = {key: float(value) for key, value in seconds.items() if value is not None}
        lines = _table("trajectory", {**spline, "degree": degree, "control_points": control_points, "samples": samples})
        lines += _place("start", start) + _place("end", end)
        if limits:
            lines += _table("limits", {limit.kind: limit.value for limit in limits})
        lines += _terms(terms)
        for point in via:
            row = {"t": point.t, "joint": point.joint, "value": float(point.value), "order": point.order}
            lines += _table("[via]", row)
        for key, tables in (("phases", phases), ("constraints", constraints)):
            for table in tables:
                lines += _table(f"[{key}]", table)
        if solver:
            lines += _table("solver", solver)
        self._make(mechanism, name, lines)


class ControlProblem(_ProblemFile):
    """A motion by inputs: where it starts, what it is to reach, what it costs, how large inputs may be; made here or read from a problem file.

    Keywords are the keys of problem files with a table [control]. Terms at the end of the motion have ``{"at": "end"}``.

    >>> import leastaction as la
    >>> pole = la.load("models/cart-pole.json")  # doctest: +SKIP
    >>> problem = la.ControlProblem(
    ...     pole, duration=3.0, step=0.02, start=[0.0, 0.0], goal={"state": "up"}, limits=[la.Limit("input", 10.0)],
    ...     terms=[la.Term("input", 0.01), la.Term("position", 1e3, {"at": "end"}), la.Term("velocity", 1e2, {"at": "end"})],
    ... )  # doctest: +SKIP
    >>> la.control(problem, report=False).status  # doctest: +SKIP
    """

    def __init__(
        self,
        mechanism: _core.Mechanism,
        *,
        duration: float,
        step: float,
        terms: Sequence[Term],
        start: Any = None,
        goal: Any = None,
        limits: Sequence[Limit] = (),
        integrator: str | None = None,
        order: int | None = None,
        motors: str | Sequence[str] | None = None,
        ignore: Sequence[str] | None = None,
        contact: str | None = None,
        ground: bool | None = None,
        relaxed: float | None = None,
        guess: Mapping[str, Any] | None = None,
        feedback: Mapping[str, Any] | None = None,
        solver: Mapping[str, Any] | None = None,
        gravity: Sequence[float] | None = None,
        name: str = "problem",
    ) -> None:
        lines = [] if gravity is None else [f"gravity = {toml(gravity)}"]
        horizon: dict[str, Any] = {"duration": float(duration), "step": float(step), "integrator": integrator, "order": order}
        horizon |= {"motors": motors, "ignore": ignore, "contact": contact, "ground": ground, "relaxed": relaxed}
        lines += _table("control", {**horizon, "guess": guess})
        lines += _place("start", start) + _place("goal", goal)
        if limits:
            lines += _table("limits", {limit.kind: limit.value for limit in limits})
        lines += _terms(terms)
        for key, table in (("feedback", feedback), ("solver", solver)):
            lines += _table(key, table) if table else []
        self._make(mechanism, name, lines)

    @property
    def model(self) -> _core.Mechanism | str:
        """The mechanism, or the name or path of its file."""
        if self._path is None:
            assert self._model is not None
            return _core.from_json(self._model)
        named = re.search(r'^model\s*=\s*"([^"]*)"', self.to_toml(), re.MULTILINE)
        name = named[1] if named else ""
        return name if name.startswith("@") else str(self._path.parent / name)


Problem: TypeAlias = "MotionProblem | str | os.PathLike[str]"


def problem_file(problem: _ProblemFile | str | os.PathLike[str], folder: Path) -> str:
    """The path of a problem, written into the folder if it was made here."""
    return problem._file(folder) if isinstance(problem, _ProblemFile) else os.fspath(problem)
