"""The verbs of the command as functions: same options, same numbers, results in memory."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from . import _core
from ._diagnostic import Diagnostic
from ._problems import ControlProblem, MotionProblem, Problem, problem_file
from ._progress import Iterations, iterations
from ._tables import Array, Report, Trajectory
from .errors import BadOption, FileError, ShapeError

Model: TypeAlias = "_core.Mechanism | str | os.PathLike[str]"

_VERBS: dict[str, dict[str, Any]] = {
    name: {row[0]: row for row in rows if row[0]} for name, _, rows in _core._verbs()
}


def mechanism_of(model: Model) -> _core.Mechanism:
    """The mechanism itself, or the one that a file or a name says."""
    return model if isinstance(model, _core.Mechanism) else _core.load(model)


def _inputs(mechanism: _core.Mechanism, u: Any) -> dict[str, float]:
    """Inputs by name; one number stands for all."""
    values = np.asarray(u, dtype=np.float64)
    if values.shape not in ((), (mechanism.nu,)):
        text = f"`u` has shape {values.shape}, ({mechanism.nu},) is needed"
        raise ShapeError(text, {"name": "u", "expected": (mechanism.nu,), "found": values.shape})
    return dict(zip(mechanism.inputs, np.broadcast_to(values, (mechanism.nu,)), strict=True))


def _read(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    path = Path(os.fspath(path))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"can't read `{path}`: {error}", {"path": str(path), "remedy": "check the path"}) from error


def _number(value: Any) -> str:
    return repr(float(value))


def _numbers(value: Any) -> str:
    return ",".join(_number(x) for x in np.ravel(np.asarray(value, dtype=np.float64)))


def _flags(verb: str, settings: Mapping[str, Any]) -> list[str]:
    """Keywords as the flags of a verb; unknown ones raise with the nearest."""
    table, words = _VERBS[verb], []
    for name, value in settings.items():
        if value is None:
            continue
        if name == "report":
            words += [] if value else ["--no-report"]
            continue
        if name not in table:
            import difflib

            near = difflib.get_close_matches(name, table, 1, 0.5)
            remedy = f"did you mean `{near[0]}`?" if near else "there are " + ", ".join(f"`{n}`" for n in table)
            raise BadOption(f"`{verb}` has no option `{name}`: {remedy}", {"option": name, "value": None, "remedy": remedy})
        kind, many = table[name][1], table[name][5]
        flag = "--" + name.replace("_", "-")
        if kind == "Switch":
            words += [flag] if value else []
        elif kind == "Assignment":
            for key, numbers in dict(value).items():
                words.append(f"{flag}={key}={_numbers(numbers)}")
        elif kind in ("Vector", "RandomVelocity"):
            words.append(f"{flag}={_numbers(value) if kind == 'Vector' else f'{int(value[0])},{_number(value[1])}'}")
        elif many and not isinstance(value, (str, os.PathLike)):
            words += [f"{flag}={os.fspath(x) if isinstance(x, os.PathLike) else x}" for x in value]
        elif kind == "Count":
            words.append(f"{flag}={int(value)}")
        elif kind in ("Positive", "Range"):
            words.append(f"{flag}={_number(value)}")
        else:
            words.append(f"{flag}={os.fspath(value)}")
    return words


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="leastaction-") as name:
        yield Path(name)


def _named(model: Model, folder: Path) -> str:
    """A model as the command takes it: a name, or a file that holds the mechanism."""
    if isinstance(model, _core.Mechanism):
        path = folder / f"{re.sub('[^A-Za-z0-9_.-]', '-', model.name) or 'model'}.json"
        path.write_text(model.to_json(), encoding="utf-8")
        return str(path)
    return os.fspath(model)


def _at(mechanism: _core.Mechanism, state: _core.State, folder: Path, derivatives: Sequence[Array] = ()) -> str:
    """A state file, perhaps with derivatives."""
    path = folder / "at.json"
    state.save(str(path))
    if derivatives:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["derivatives"] = {
            joint: [row[mechanism.v_slice(joint)].tolist() for row in derivatives] for joint in mechanism.joints
        }
        path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


@dataclass(frozen=True)
class Check:
    """What `check` found: problems with places, loops with gaps, elements that not every integrator supports.

    >>> import leastaction as la
    >>> la.check("@four-bar").ok
    True
    """

    ok: bool
    diagnostics: list[Diagnostic]
    loops: list[dict[str, Any]]
    special: list[dict[str, Any]]

    def __bool__(self) -> bool:
        return self.ok

    def __str__(self) -> str:
        lines = [str(problem) for problem in self.diagnostics]
        lines += [f"{s['element']}: {s['what']}" for s in self.special]
        return "\n".join([("it can be used" if self.ok else "it can't be used"), *lines])


def check(model: Model, **settings: Any) -> Check:
    """Every problem of a model, with its place and what to do about it; a model with errors does not raise.

    >>> import leastaction as la
    >>> bool(la.check("@four-bar"))
    True
    """
    with _folder() as folder:
        found = _core._call(["--json", "check", _named(model, folder), *_flags("check", settings)])
    diagnostics = [Diagnostic.of(d) for d in found["diagnostics"]]
    return Check(found["ok"], diagnostics, found["loops"], found["special"])


@dataclass(frozen=True)
class Linearization:
    """The derivative of one step: `x⁺ = A x + B u + C θ` in tangents of positions, then velocities (or momenta).

    >>> import leastaction as la
    >>> la.linearize(la.load("@chain/2"), step=0.01).states
    ['q.joint0', 'q.joint1', 'v.joint0', 'v.joint1']
    """

    A: Array
    B: Array
    C: Array
    states: list[str]
    inputs: list[str]
    parameters: list[str]
    integrator: str
    order: int
    step: float


def linearize(
    mechanism: Model,
    at: _core.State | str | None = None,
    u: Any = None,
    *,
    parameters: Sequence[str] = (),
    **settings: Any,
) -> Linearization:
    """Linearizes one step of a variational integrator, by parameters of the model, too; exact to rounding.

    >>> import leastaction as la
    >>> mech = la.load("@double-pendulum")
    >>> lin = la.linearize(mech, mech.start_state(), parameters=["mass"], step=0.01)
    >>> lin.A.shape, lin.B.shape, lin.C.shape
    ((4, 4), (4, 0), (4, 2))
    """
    mechanism = mechanism_of(mechanism)
    with _folder() as folder:
        if isinstance(at, _core.State):
            settings["at"] = _at(mechanism, at, folder)
        elif at is not None:
            settings["at"] = at
        if u is not None:
            settings["input"] = _inputs(mechanism, u)
        if parameters:
            settings["parameters"] = parameters if isinstance(parameters, str) else ",".join(parameters)
        found = _core._call(["--json", "linearize", _named(mechanism, folder), *_flags("linearize", settings)])
    n, inputs = len(found["rows"]), found["columns"]["B"]
    a = np.array(found["A"], dtype=np.float64).reshape(n, n)
    b = np.array(found["B"], dtype=np.float64).reshape(n, len(inputs))
    names = found["columns"].get("C", [])
    c = np.array(found.get("C", []), dtype=np.float64).reshape(n, len(names))
    return Linearization(a, b, c, found["rows"], inputs, names, found["integrator"], found["order"], found["step"])


@dataclass(frozen=True)
class Riccati:
    """A regulator: `u = gain x`; the cost of what is to come is `½ xᵀ P x`.

    >>> import leastaction as la, numpy as np
    >>> la.riccati(np.eye(1), np.eye(1), Q=[1.0], R=[1.0]).gain.shape
    (1, 1)
    """

    gain: Array
    P: Array
    residual: float
    radius: float


def riccati(A: Any, B: Any, Q: Any, R: Any) -> Riccati:  # noqa: N803
    """Solves the discrete algebraic Riccati equation for diagonal weights `Q` and `R` (vectors, or diagonal matrices).

    >>> import numpy as np, leastaction as la
    >>> found = la.riccati(np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[0.0], [0.1]]), [1, 1], [1])
    >>> found.gain.shape, found.radius < 1
    ((1, 2), True)
    """

    def diagonal(weights: Any, name: str) -> list[float]:
        weights = np.asarray(weights, dtype=np.float64)
        if weights.ndim == 2:
            if np.any(weights != np.diag(np.diag(weights))):
                raise ShapeError(f"`{name}` must be diagonal", {"name": name, "expected": "diagonal", "found": "full"})
            weights = np.diag(weights)
        return [float(x) for x in weights]

    A, B = (np.ascontiguousarray(x, dtype=np.float64) for x in (A, B))  # noqa: N806
    n, m = A.shape[0] if A.ndim else 0, B.shape[-1] if B.ndim else 0
    sizes = {"A": (A, (n, n)), "B": (B, (n, m)), "Q": (Q, (n,)), "R": (R, (m,))}
    for name, (given, expected) in sizes.items():
        found = np.shape(given)
        if found not in (expected, 2 * expected):
            text = f"`{name}` has shape {found}, {expected} is needed"
            raise ShapeError(text, {"name": name, "expected": expected, "found": found})
    return Riccati(*_core._riccati(A, B, diagonal(Q, "Q"), diagonal(R, "R")))


@dataclass(frozen=True)
class Jacobian:
    """How a quantity and its rates change with the motion: rows and columns in plain derivatives, with names.

    >>> import leastaction as la, numpy as np
    >>> J = la.jacobian(la.load("@chain/2"), "torque", np.zeros(2), [np.ones(2), np.zeros(2)])
    >>> J.block(0, 0).shape
    (2, 2)
    """

    values: Array
    rows: list[str]
    columns: list[str]
    quantity: str
    order: int

    def block(self, row_order: int, column_order: int) -> Array:
        """How derivative `row_order` of the quantity changes with derivative `column_order` of the positions."""
        height = len(self.rows) // (self.order + 1)
        width = sum(column.startswith("q.") and not re.match(r"q\.d\d+\.", column) for column in self.columns)
        down, right = row_order * height, column_order * width
        block = self.values[down : down + height, right : right + width]
        if block.shape != (height, width):
            raise IndexError(f"there is no block ({row_order}, {column_order})")
        return block


def jacobian(
    mechanism: Model,
    quantity: str,
    q: Any = None,
    derivatives: Sequence[Any] = (),
    *,
    order: int = 0,
    **settings: Any,
) -> Jacobian:
    """Jacobian of a quantity and its time derivatives; `derivatives` are velocity, acceleration, jerk, … as they are.

    >>> import numpy as np, leastaction as la
    >>> mech = la.load("@chain/2")
    >>> J = la.jacobian(mech, "torque", np.array([0.1, 0.2]), [np.ones(2), np.zeros(2)])
    >>> np.allclose(J.block(0, 2), mech.mass_matrix(np.array([0.1, 0.2])))
    True
    """
    mechanism = mechanism_of(mechanism)
    rows = [np.asarray(row, dtype=np.float64) for row in derivatives]
    for i, row in enumerate(rows):
        if row.shape != (mechanism.nv,):
            name = f"derivatives[{i}]"
            text = f"`{name}` has shape {row.shape}, ({mechanism.nv},) is needed"
            raise ShapeError(text, {"name": name, "expected": (mechanism.nv,), "found": row.shape})
    with _folder() as folder:
        state = mechanism.state(q=q, v=rows[0] if rows else None)
        settings = {"quantity": quantity, "order": order, "at": _at(mechanism, state, folder, rows), **settings}
        found = _core._call(["--json", "jacobian", _named(mechanism, folder), *_flags("jacobian", settings)])
    values = np.array(found["matrix"], dtype=np.float64).reshape(len(found["rows"]), len(found["columns"]))
    return Jacobian(values, found["rows"], found["columns"], quantity, order)


def _trajectory(path: Path) -> Trajectory:
    with open(path, encoding="utf-8") as file:
        columns = file.readline().strip().split(",")
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    table.setflags(write=False)
    return Trajectory(columns, table)


class Motion(Trajectory):
    """A quantity and its time derivatives along a recorded motion, and how well the motion was fitted.

    >>> import leastaction as la
    >>> mech = la.load("@chain/2")
    >>> along = la.motion(mech, la.simulate(mech, duration=0.3), "torque", report=False)
    >>> len(along.t) > 10
    True
    """

    summary: dict[str, Any]

    def __init__(self, columns: list[str], table: Array, summary: dict[str, Any], html: str | None) -> None:
        super().__init__(columns, table)
        self.summary, self._html = summary, html

    def report(self) -> Report:
        """The report, to be shown or saved."""
        if self._html is None:
            raise ValueError("it was made with report=False")
        return Report(self._html)


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


def motion(model: Model, trajectory: Trajectory | str | os.PathLike[str], quantity: str, **settings: Any) -> Motion:
    """Evaluates a quantity and its time derivatives along a recorded joint trajectory.

    >>> import leastaction as la
    >>> mech = la.load("@double-pendulum")
    >>> run = la.simulate(mech, duration=1.0)
    >>> la.motion(mech, run, "torque", order=1, report=False).columns[:3]
    ('t', 'torque.joint0', 'torque.joint1')
    """
    with _folder() as folder:
        if isinstance(trajectory, Trajectory):
            file = folder / "recorded.csv"
            with open(file, "w", encoding="utf-8") as out:
                out.write(",".join(trajectory.columns) + "\n")
                out.writelines(",".join(map(repr, row)) + "\n" for row in trajectory.table.tolist())
            trajectory = file
        settings = {"quantity": quantity, "trajectory": trajectory, **settings, "out": folder / "out"}
        found = _core._call(["--json", "motion", _named(model, folder), *_flags("motion", settings)])
        table = _trajectory(folder / "out" / "motion.csv")
        return Motion(list(table.columns), table.table, found, _text(folder / "out" / "report.html"))


class Solution:
    """A motion that was found. Whether it is a solution is `status`: an outcome, not an exception.

    >>> import numpy as np, leastaction as la
    >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
    ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
    >>> best = la.optimize(problem, report=False)
    >>> best.status, best.trajectory["q.joint0"].shape
    ('Solved', (401,))
    """

    def __init__(
        self, fields: dict[str, Any], trajectory: Trajectory, html: str | None, problem: Problem | None = None
    ) -> None:
        self._fields, self._trajectory, self._html, self._problem = fields, trajectory, html, problem

    @property
    def status(self) -> str:
        """`Solved`, `AlmostSolved`, `Infeasible`, …"""
        return str(self._fields["status"])

    @property
    def objective(self) -> float:
        """What the motion costs."""
        return float(self._fields["objective"])

    @property
    def theta(self) -> Array:
        """Control points of the spline, one row each."""
        return np.array(self._fields["theta"], dtype=np.float64)

    @property
    def trajectory(self) -> Trajectory:
        """The motion at 401 times, or, of inputs that were found, at every step."""
        return self._trajectory

    def sample(self, count: int) -> Trajectory:
        """The motion at `count` times that are evenly spaced, from its start to its end, with the columns of `trajectory`.

        >>> import numpy as np, leastaction as la
        >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
        ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
        >>> fine = la.optimize(problem, report=False).sample(1001)
        >>> fine["q.joint0"].shape, float(fine.t[-1])
        ((1001,), 1.0)
        """
        if self._problem is None:
            raise ValueError("a motion by inputs is known at its steps only: `trajectory` has them")
        with _folder() as folder:
            self.save(folder / "solution.json")
            columns, table = _core._sample(problem_file(self._problem, folder), str(folder / "solution.json"), count)
        table.setflags(write=False)
        return Trajectory(columns, table)

    @property
    def fields(self) -> dict[str, Any]:
        """Everything that `solution.json` says: terms, limits that act, residual, history."""
        return self._fields

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes `solution.json`."""
        Path(os.fspath(path)).write_text(json.dumps(self._fields, indent=2) + "\n", encoding="utf-8")

    def report(self) -> Report:
        """The report, to be shown or saved."""
        if self._html is None:
            raise ValueError("it was made with report=False")
        return Report(self._html)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.status}, objective {self.objective:.9g}>"


def optimize(
    problem: Problem,
    *,
    start: Solution | str | os.PathLike[str] | None = None,
    progress: bool | Iterations | None = None,
    **settings: Any,
) -> Solution:
    """Finds the best motion for a problem: costs, boundary states, limits.

    `progress` is called with every `Iteration`; True shows them on a line.

    >>> import numpy as np, leastaction as la
    >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
    ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
    >>> la.optimize(problem, report=False).objective > 0
    True
    """
    with _folder() as folder:
        if isinstance(start, Solution):
            start.save(folder / "start.json")
            start = folder / "start.json"
        settings = {**settings, "start": start, "out": folder / "out"}
        words = ["--json", "optimize", problem_file(problem, folder), *_flags("optimize", settings)]
        found = _core._call(words, iterations(progress))
        found.pop("out", None)
        out = folder / "out"
        kept = problem if isinstance(problem, MotionProblem) else MotionProblem.load(problem)
        return Solution(found, _trajectory(out / "trajectory.csv"), _text(out / "report.html"), kept)


class InverseSolution:
    """Weights of costs that a motion is optimal for.

    >>> import numpy as np, leastaction as la
    >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
    ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
    >>> la.infer(problem, la.optimize(problem, report=False)).weights
    {'joint_jerk': 1.0}
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    @property
    def weights(self) -> dict[str, float]:
        """Weights by term; they sum to one."""
        return {term["name"]: float(term["weight"]) for term in self.fields["terms"]}

    def __repr__(self) -> str:
        return f"<InverseSolution {self.weights}>"


def infer(problem: Problem, motion: Solution | Trajectory | str | os.PathLike[str], **settings: Any) -> InverseSolution:
    """Finds the weights of costs that a motion is optimal for; weights of the problem are not looked at.

    >>> import numpy as np, leastaction as la
    >>> problem = la.MotionProblem(la.load("@chain/2"), duration=1.0, start=np.zeros(2), end=np.ones(2),
    ...                            terms=[la.Term("joint_jerk", 1.0)], control_points=20)
    >>> list(la.infer(problem, la.optimize(problem, report=False)).weights)
    ['joint_jerk']
    """
    with _folder() as folder:
        if isinstance(motion, Solution):
            motion.save(folder / "solution.json")
            motion = folder / "solution.json"
        elif isinstance(motion, Trajectory):
            file = folder / "recorded.csv"
            with open(file, "w", encoding="utf-8") as out:
                out.write(",".join(motion.columns) + "\n")
                out.writelines(",".join(map(repr, row)) + "\n" for row in motion.table.tolist())
            motion = file
        settings = {"report": False, **settings, "motion": motion, "out": folder / "out"}
        found = _core._call(["--json", "infer", problem_file(problem, folder), *_flags("infer", settings)])
    found.pop("out", None)
    return InverseSolution(found)


class Policy:
    """Inputs over time with the feedback that makes a motion follow them, then what holds its end.

    >>> import leastaction as la
    >>> found = la.control("examples/pendulum_swing_up.toml", report=False)  # doctest: +SKIP
    >>> la.simulate(found.mechanism, policy=found.policy)  # doctest: +SKIP
    """

    def __init__(self, text: str) -> None:
        self._text = text
        try:
            self._fields: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise FileError(f"this is no policy: {error}", {"path": None, "remedy": "give what `policy.save` wrote"}) from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """Reads a `policy.json`."""
        return cls(_read(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a `policy.json`."""
        Path(os.fspath(path)).write_text(self._text, encoding="utf-8")

    @property
    def step(self) -> float:
        """Seconds that inputs are held."""
        return float(self._fields["step"])

    @property
    def steps(self) -> int:
        """Number of steps of the motion."""
        return len(self._fields["steps"])

    @property
    def inputs(self) -> Array:
        """Planned inputs, one row per step."""
        return np.array([step["u"] for step in self._fields["steps"]], dtype=np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"<Policy of `{self._fields['model']}`: {self.steps} steps of {self.step} s>"


def policy_text(policy: Policy | str | os.PathLike[str] | None) -> str | None:
    """A policy as the compiled half takes it."""
    if policy is None or isinstance(policy, Policy):
        return None if policy is None else policy._text
    return _read(policy)


class ControlSolution(Solution):
    """Inputs that were found, with their feedback.

    >>> import leastaction as la
    >>> found = la.control("examples/pendulum_swing_up.toml", report=False)  # doctest: +SKIP
    >>> found.status, found.policy  # doctest: +SKIP
    """

    def __init__(
        self, fields: dict[str, Any], trajectory: Trajectory, html: str | None, policy: Policy, model: Model
    ) -> None:
        super().__init__(fields, trajectory, html)
        self._policy, self._model = policy, model

    @property
    def theta(self) -> Array:
        """There is none: what was chosen are inputs."""
        raise AttributeError("a control solution has no control points of a spline; `inputs` has what was chosen")

    @property
    def policy(self) -> Policy:
        """The plan with its feedback."""
        return self._policy

    @property
    def inputs(self) -> Array:
        """Planned inputs, one row per step."""
        return self._policy.inputs

    @property
    def mechanism(self) -> _core.Mechanism:
        """The model of the problem."""
        return mechanism_of(self._model)


def control(
    problem: ControlProblem | str | os.PathLike[str],
    *,
    progress: bool | Iterations | None = None,
    **settings: Any,
) -> ControlSolution:
    """Finds the inputs that reach a goal, and feedback that holds it, for a `ControlProblem` or a problem file with a table [control].

    `progress` is called with every `Iteration`; True shows them on a line.

    >>> import leastaction as la
    >>> found = la.control("examples/pendulum_swing_up.toml", report=False)  # doctest: +SKIP
    >>> la.simulate(found.mechanism, policy=found.policy, integrator="rk4")  # doctest: +SKIP
    """
    if not isinstance(problem, ControlProblem):
        problem = ControlProblem.load(problem)
    with _folder() as folder:
        settings = {**settings, "out": folder / "out"}
        words = ["--json", "control", problem_file(problem, folder), *_flags("control", settings)]
        found = _core._call(words, iterations(progress))
        found.pop("out", None)
        out = folder / "out"
        policy = Policy.load(out / "policy.json")
        return ControlSolution(
            found, _trajectory(out / "trajectory.csv"), _text(out / "report.html"), policy, problem.model
        )


def dynamics(
    mechanism: Model, at: _core.State | str | None = None, u: Any = None, **settings: Any
) -> dict[str, Array]:
    """The equations of motion at a state, by name: mass matrix, bias, forces, accelerations that keep loops closed, …

    >>> import leastaction as la
    >>> la.dynamics(la.load("@four-bar"))["mass_matrix"].shape
    (3, 3)
    """
    mechanism = mechanism_of(mechanism)
    with _folder() as folder:
        if isinstance(at, _core.State):
            at = _at(mechanism, at, folder)
        if u is not None:
            settings["input"] = _inputs(mechanism, u)
        settings["at"] = at
        found = _core._call(["--json", "dynamics", _named(mechanism, folder), *_flags("dynamics", settings)])
    return {name: np.array(table["values"], dtype=np.float64) for name, table in found.items()}


def info(model: Model, **settings: Any) -> dict[str, Any]:
    """What a model consists of.

    >>> import leastaction as la
    >>> la.info("@four-bar")["name"]
    'four-bar'
    """
    with _folder() as folder:
        result = _core._call(["--json", "info", _named(model, folder), *_flags("info", settings)])
    assert isinstance(result, dict)
    return result
