"""Building a model in Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _core
from .errors import BadOption, UnknownName

Vector: TypeAlias = "Sequence[float] | np.ndarray[Any, np.dtype[np.float64]]"
Body: TypeAlias = str
Joint: TypeAlias = str


def _plain(value: Any) -> Any:
    """Arrays as lists, so that JSON can hold them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _placement(at: Any) -> dict[str, Any]:
    """A placement: a position, a pose as a matrix of four rows, or a dictionary with `p` and `q` as model files have it."""
    if isinstance(at, Mapping):
        return dict(at)
    if np.shape(at) == (4, 4):
        pose = np.asarray(at, dtype=np.float64)
        return {"p": pose[:3, 3], "q": _quaternion(pose[:3, :3])}
    return {"p": at}


def _quaternion(r: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The unit quaternion `w, x, y, z` of a rotation matrix."""
    if not (np.abs(r @ r.T - np.eye(3)).max() < 1e-9 and np.linalg.det(r) > 0):
        remedy = "give a rotation and a position, as `mech.pose` does"
        raise BadOption(f"this matrix is not a pose: {remedy}", {"option": "at", "value": repr(r), "remedy": remedy})
    # Four times its outer product with itself; the column of the largest entry loses no digits.
    x, y, z = np.diag(r)
    outer = np.array([
        [1 + x + y + z, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]],
        [r[2, 1] - r[1, 2], 1 + x - y - z, r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]],
        [r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], 1 - x + y - z, r[2, 1] + r[1, 2]],
        [r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2], 1 - x - y + z],
    ])
    column = outer[:, int(np.argmax(np.diag(outer)))]
    unit: np.ndarray[Any, np.dtype[np.float64]] = column / np.linalg.norm(column)
    return unit


class Model:
    """A model under construction: bodies, joints, loops, springs, motors. `build` checks everything at once.

    Every field of a model file (`docs/formats.md`) can be given by its name.

    >>> import leastaction as la
    >>> model = la.Model("pendulum")
    >>> rod = model.body("rod", mass=1.0, com=[0, 0, -0.5], inertia=[0.083, 0.083, 0.001])
    >>> hinge = model.joint("hinge", "revolute", "world", rod, axis=[0, 1, 0], damping=0.1)
    >>> torque = model.motor(hinge)
    >>> mech = model.build()
    >>> mech.nq, mech.inputs
    (1, ['hinge'])
    """

    def __init__(self, name: str = "model", *, gravity: Vector = (0.0, 0.0, -9.81), **fields: Any) -> None:
        self._fields: dict[str, Any] = {
            "schema": "leastaction/model/1", "name": name, "gravity": _plain(gravity), "inputs": [], "bodies": [],
            "joints": [], **_plain(fields),
        }

    def body(
        self, name: str, *, mass: float = 0.0, com: Vector = (0.0, 0.0, 0.0), inertia: Any = (0.0, 0.0, 0.0), **fields: Any
    ) -> Body:
        """Adds a body; returns its name. `inertia` about the centre of mass: three moments, six numbers, or a matrix."""
        # What has another shape is left for `build` to say, with everything else that is wrong.
        if np.shape(inertia) == (3, 3):
            i = np.asarray(inertia, dtype=np.float64)
            if np.abs(i - i.T).max() > 1e-9 * np.abs(i).max():
                remedy = "give a symmetric matrix"
                raise BadOption(f"the inertia of `{name}` is not symmetric: {remedy}", {"option": "inertia", "value": repr(inertia), "remedy": remedy})
            inertia = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
        elif np.shape(inertia) == (3,):
            inertia = [*inertia, 0.0, 0.0, 0.0]
        self._fields["bodies"].append(
            {"name": name, "mass": _plain(mass), "com": _plain(com), "inertia": _plain(inertia), **_plain(fields)}
        )
        return name

    def joint(
        self,
        name: str,
        type: str,  # noqa: A002
        parent: Body,
        child: Body,
        *,
        axis: Vector | None = None,
        at: Any = None,
        child_at: Any = None,
        **fields: Any,
    ) -> Joint:
        """Adds a joint; returns its name. `at` places it in the parent, `child_at` in the child: a position, or a pose (4 × 4).

        A joint whose child already has one closes a loop.
        """
        joint: dict[str, Any] = {"name": name, "type": type, "parent": parent, "child": child}
        if axis is not None:
            joint["axis"] = _plain(axis)
        for key, place in (("parent_placement", at), ("child_placement", child_at)):
            if place is not None:
                joint[key] = _plain(_placement(place))
        self._fields["joints"].append({**joint, **_plain(fields)})
        return name

    def spring(self, joint: Joint, stiffness: Any, rest: Any = 0.0) -> None:
        """Puts a spring on a joint."""
        self._joint(joint)["spring"] = {"stiffness": _plain(stiffness), "rest": _plain(rest)}

    def motor(self, joint: Joint, *, input: str | None = None, gear: float = 1.0, coordinate: int = 0) -> str:  # noqa: A002
        """Puts a motor on a joint; returns the name of its input, by default that of the joint."""
        name = input or joint
        if name not in self._fields["inputs"]:
            self._fields["inputs"].append(name)
        actuators = self._joint(joint).setdefault("actuators", [])
        actuators.append({"input": name, "coordinate": coordinate, "gear": float(gear)})
        return name

    def frame(self, name: str, body: Body, at: Any = (0.0, 0.0, 0.0)) -> str:
        """Adds a frame on a body; returns its name."""
        self._fields.setdefault("frames", []).append({"name": name, "body": body, "placement": _plain(_placement(at))})
        return name

    def state(self, name: str, q: Mapping[str, Any] | None = None, v: Mapping[str, Any] | None = None) -> str:
        """Names a state by joints; the one called `start` is where simulations begin."""
        self._fields.setdefault("states", {})[name] = {"q": _plain(q or {}), "v": _plain(v or {})}
        return name

    def add(self, kind: str, **fields: Any) -> None:
        """Adds an element to any list of a model file: ``add("couplings", joint="a", of="b", polynomial=[0, 2])``."""
        self._fields.setdefault(kind, []).append(_plain(fields))

    def _joint(self, name: str) -> dict[str, Any]:
        found = [joint for joint in self._fields["joints"] if joint["name"] == name]
        if not found:
            known = ", ".join(f"`{joint['name']}`" for joint in self._fields["joints"])
            remedy = f"there are {known or 'none'}"
            raise UnknownName(f"there is no joint `{name}`: {remedy}", {"name": name, "remedy": remedy, "what": "joint"})
        joint: dict[str, Any] = found[0]
        return joint

    def to_json(self) -> str:
        """The model file."""
        return json.dumps(self._fields, indent=1)

    def build(self, **settings: Any) -> _core.Mechanism:
        """Checks the model and builds the mechanism; takes the settings of `load`."""
        return _core.from_json(self.to_json(), name=self._fields["name"], **settings)

    def __repr__(self) -> str:
        return f"<Model `{self._fields['name']}`: {len(self._fields['bodies'])} bodies>"
