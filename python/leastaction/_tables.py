"""Tables with named columns, and what is made of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _core
from .errors import UnknownName

Array: TypeAlias = NDArray[np.float64]


class Trajectory:
    """A motion over time: rows of numbers under named columns, which are read-only views.

    >>> import leastaction as la
    >>> run = la.simulate(la.load("@double-pendulum"), duration=0.1)
    >>> run.t.shape, run["q"].shape, run["energy.total"].shape
    ((21,), (21, 2), (21,))
    """

    def __init__(self, columns: list[str], table: Array) -> None:
        self._columns = tuple(columns)
        self._table = table
        self._index = {name: i for i, name in enumerate(columns)}

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return self._columns

    @property
    def table(self) -> Array:
        """All numbers, one row per time."""
        return self._table

    @property
    def t(self) -> Array:
        """Times in seconds."""
        return self["t"]

    def __len__(self) -> int:
        return int(self._table.shape[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __getitem__(self, name: str) -> Array:
        """A column by its name, or all columns of a group: ``run["q.knee"]``, ``run["q"]``."""
        expect_text(name)
        if name in self._index:
            return self._table[:, self._index[name]]
        inside = [i for i, column in enumerate(self._columns) if column.startswith(name + ".")]
        if not inside:
            raise unknown_column(name, self._columns)
        return self._table[:, inside[0] : inside[-1] + 1]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)} rows, {len(self._columns)} columns>"


def expect_text(name: object) -> None:
    """Refuses what is no name of a column, as the number of a row."""
    if not isinstance(name, str):
        raise TypeError(f'columns have names such as "q.knee", not {name!r}; run["q"][5] is a row')


def nearest(name: str, known: tuple[str, ...]) -> str:
    """What may have been meant, as a remedy."""
    import difflib

    near = difflib.get_close_matches(name, known, 1, 0.5)
    return f"did you mean `{near[0]}`?" if near else "there are " + ", ".join(f"`{c}`" for c in known[:12])


def unknown_column(name: str, known: tuple[str, ...]) -> UnknownName:
    """What is raised where a column has no such name."""
    near = nearest(name, known)
    return UnknownName(f"there is no column `{name}`: {near}", {"name": name, "remedy": near, "what": "column"})


class Report:
    """A report: one HTML page. In a notebook it is shown as the cell's value.

    >>> import leastaction as la
    >>> str(la.simulate("@double-pendulum", duration=0.1).report())[:9].lower()
    '<!doctype'
    """

    def __init__(self, html: str) -> None:
        self._html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._html)

    def __str__(self) -> str:
        return self._html

    def _repr_html_(self) -> str:
        # A frame of its own: the page's styles and scripts stay inside.
        import html

        return (
            f'<iframe srcdoc="{html.escape(self._html)}" style="width: 100%; height: 720px; border: 0" '
            'sandbox="allow-scripts"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<Report of {len(self._html)} bytes>"


class Run(Trajectory):
    """A finished simulation: its columns, last state, summary and report.

    >>> import leastaction as la
    >>> run = la.simulate("@double-pendulum", duration=0.1)
    >>> run["q"].shape, run.summary["steps"]
    ((21, 2), 20)
    """

    def __init__(
        self,
        data: _core.RunData,
        state: _core.State,
        error: Exception | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(data.columns, data.table)
        self._data = data
        self._state = state
        self._error = error
        self._notes = tuple(notes)

    @property
    def state(self) -> _core.State:
        """The last good state, with what the integrator needs to continue bit for bit."""
        return self._state

    @property
    def summary(self) -> dict[str, Any]:
        """What `summary.json` says."""
        return self._data.summary

    @property
    def error(self) -> Exception | None:
        """What stopped the run before its end; the rows up to there are kept."""
        return self._error

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the start and the policy."""
        return self._notes

    def save(self, folder: str | os.PathLike[str]) -> str:
        """Writes the files that ``leastaction simulate`` writes, byte for byte but wall times."""
        return os.fspath(self._data.save(os.fspath(folder)))

    def report(self) -> Report:
        """The report, to be shown or saved."""
        html = self._data.html()
        if html is None:
            raise ValueError("the run was made with report=False")
        return Report(html)

    def __reduce__(self) -> tuple[Any, ...]:
        return Run, (self._data, self._state, self._error, self._notes)
