"""Progress: a callable, or a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Iteration:
    """How far a search is.

    >>> import leastaction as la
    >>> la.Iteration(3, objective=0.2, residual=1e-5, violation=0.0, step=1.0).iteration
    3
    """

    iteration: int
    """Iterations done."""
    objective: float
    """What the present motion costs."""
    residual: float
    """How far it is from optimal, as `tolerance` counts it."""
    violation: float
    """How far limits are broken or, of inputs, how far a step ends from where the next begins."""
    step: float
    """How large the last step was."""


Progress: TypeAlias = Callable[[int, int], object]
Iterations: TypeAlias = Callable[[Iteration], object]


class Bar:
    """A line on the terminal, or in a notebook's output, that says how far a call is."""

    def __init__(self, what: str) -> None:
        self._what, self._begin = what, time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        part = done / max(total, 1)
        spent = time.monotonic() - self._begin
        left = spent * (1 - part) / part if part > 0 else 0.0
        bar = "█" * round(30 * part)
        end = "\n" if done >= total else ""
        print(f"\r{bar:30} {part:4.0%}  {done}/{total} {self._what}  {left:.0f} s left ", end=end, file=sys.stderr, flush=True)


def listener(progress: bool | Progress | None, what: str) -> Progress | None:
    """What the compiled half calls, some times per second."""
    if progress is None or progress is False:
        return None
    return Bar(what) if progress is True else progress


class Line:
    """A line on the terminal, or in a notebook's output, that says how far a search is."""

    def __call__(self, at: Iteration) -> None:
        text = f"iteration {at.iteration}  objective {at.objective:.6g}  residual {at.residual:.1e}"
        print(f"\r{text:70}", end="", file=sys.stderr, flush=True)


def iterations(progress: bool | Iterations | None) -> Callable[[Mapping[str, float] | None], object] | None:
    """What the compiled half calls with the numbers of an iteration, and with nothing at the end."""
    if progress is None or progress is False:
        return None
    listener = Line() if progress is True else progress

    def tell(numbers: Mapping[str, float] | None) -> None:
        if numbers is not None:
            listener(Iteration(int(numbers["iteration"]), *(float(numbers[k]) for k in ("objective", "residual", "violation", "step"))))
        elif progress is True:
            print(file=sys.stderr)

    return tell
