"""Progress: a callable, or a bar."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], object]


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
