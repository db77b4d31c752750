"""Problems of a file with their places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Diagnostic:
    """One problem of a file: what is wrong, where, and what to do.

    >>> import leastaction as la
    >>> la.check("@four-bar").diagnostics
    []
    """

    severity: str
    element: str
    message: str
    remedy: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    excerpt: str | None = None

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Diagnostic:
        """From the fields that the command prints."""
        known = cls.__dataclass_fields__
        return cls(**{name: value for name, value in fields.items() if name in known})

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.file else ""
        return f"{place}{self.severity}: {self.element}: {self.message} ({self.remedy})"
