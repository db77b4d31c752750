"""Exceptions. Each is a `LeastActionError` and the builtin that fits, so that ``except ValueError`` works.

Attributes are the fields of the error in Rust; they survive pickling.

>>> import leastaction as la
>>> try:
...     la.load("@chian/3")
... except la.errors.BadOption as error:
...     print(error.remedy)
did you mean `@chain/N`?
"""

from __future__ import annotations

import re
from typing import Any

from ._diagnostic import Diagnostic

__all__ = [
    "BadOption", "BusyError", "ContactNotSolved", "ControlError", "FileError", "FingerprintMismatch", "JetError", "LayoutError",
    "LeastActionError", "ModelError", "NotConverged", "NotFinite", "OpenLoop", "OptimizeError", "OutsideLimits", "RolloutWarning",
    "ShapeError", "Singular", "StepError", "UnknownName", "Unsupported",
]


class LeastActionError(Exception):
    """The root of all exceptions of this package."""

    def __init__(self, message: str = "", attributes: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self._attributes = attributes or {}
        for name, value in self._attributes.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self.args[0]) if self.args else "", self._attributes)

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ModelError(LeastActionError, ValueError):
    """A model or problem file can't be used; `diagnostics` says everything that is wrong."""

    diagnostics: list[Diagnostic]
    remedy: str | None


class FileError(LeastActionError, OSError):
    """A file can't be read or written."""

    path: str | None
    remedy: str | None


class FingerprintMismatch(LeastActionError, RuntimeError):
    """A sweep was begun by another build, or on a machine whose arithmetic differs: their digits must not be mixed."""

    remedy: str | None


class StepError(LeastActionError, ArithmeticError):
    """A step could not be taken; the state is what it was before."""


class NotConverged(StepError):
    """The equations of a step were not solved."""

    time: float
    step: float
    iterations: int
    residual: float
    tolerance: float


class ContactNotSolved(StepError):
    """The equations of a step with contacts have no solution that was found."""

    time: float
    step: float
    residual: float
    iterations: int
    contacts: int


class NotFinite(StepError):
    """A number is infinite or not a number: of an argument (`name`, `row`) or of a motion (`time`, `what`)."""

    name: str
    row: int | None
    time: float | None
    what: str


class Singular(StepError):
    """A matrix that must be regular is singular."""

    time: float
    what: str
    joint: str
    remedy: str


class OutsideLimits(StepError):
    """A joint starts beyond a limit that is held."""

    joint: str
    value: float
    bound: float


class OpenLoop(StepError):
    """A loop of the start can't close."""

    joint: str
    gap: float


class Unsupported(LeastActionError, NotImplementedError):
    """The integrator does not support something of the mechanism."""

    integrator: str
    what: str
    remedy: str


class BadOption(LeastActionError, ValueError):
    """An option is not possible."""

    option: str | None
    value: str | None
    remedy: str | None


class UnknownName(LeastActionError, KeyError):
    """There is no joint, body, frame, state or column of that name."""

    name: str
    remedy: str


class ShapeError(LeastActionError, ValueError):
    """An array has another shape than is needed."""

    name: str
    expected: Any
    found: Any


class LayoutError(LeastActionError, TypeError):
    """An array would have to be copied: nothing is converted silently."""

    name: str
    found: str
    remedy: str


class BusyError(LeastActionError, RuntimeError):
    """Another thread is using the simulator."""


class JetError(LeastActionError, ValueError):
    """A quantity or its derivative can't be had; `kind` says why."""

    kind: str


class OptimizeError(LeastActionError, ValueError):
    """A motion problem can't be solved as it is; `kind` says why."""

    kind: str


class ControlError(LeastActionError, ValueError):
    """A control problem can't be solved as it is; `kind` says why."""

    kind: str


class RolloutWarning(UserWarning):
    """Some rows of a rollout failed."""


_FLAG = re.compile(r"`--([a-z][a-z-]*)(?:[ =]([^`]*))?`")
# As the reader of the command line quotes them.
_QUOTED = re.compile(r"'--([a-z][a-z-]*)(?: <[^>']*>)?'")


def _spoken(text: str) -> str:
    """Flags in a message as keywords: `--ignore loops` becomes `ignore="loops"`."""

    def keyword(match: re.Match[str]) -> str:
        name, value = match[1].replace("-", "_"), match[2]
        if name.startswith("no_"):
            return f"`{name[3:]}=False`"
        if value is None:
            return f"`{name}`"
        if re.fullmatch(r"[A-Z|.=\[\],]+(?:\.[a-z]+)?", value):
            return f"`{name}=…`"
        words = value.split(",")
        return f"`{name}={words if len(words) > 1 else repr(value)}`".replace("'", '"')

    text = _QUOTED.sub(lambda match: f"`{match[1].replace('-', '_')}`", text)
    return _FLAG.sub(keyword, text)


def _make(kind: str, message: str, attributes: dict[str, Any]) -> LeastActionError:
    """An exception of the class `kind`; called by the compiled half."""
    cls = globals().get(kind)
    if not (isinstance(cls, type) and issubclass(cls, LeastActionError)):
        cls, attributes = LeastActionError, {**attributes, "kind": kind}
    if isinstance(attributes.get("remedy"), str):
        attributes["remedy"] = _spoken(attributes["remedy"])
    if "diagnostics" in attributes:
        attributes["diagnostics"] = [Diagnostic.of(d) for d in attributes["diagnostics"]]
    made = cls(_spoken(message), attributes)
    assert isinstance(made, LeastActionError)
    return made
