"""Sweeps: many runs with numbers that vary, on threads, processes or a cluster; the same bytes wherever they are computed."""

from __future__ import annotations

import collections
import concurrent.futures
import functools
import importlib
import os
import queue
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core
from ._progress import Progress, listener
from ._tables import Run
from ._toml import toml
from .errors import BadOption, FingerprintMismatch, LeastActionError

__all__ = ["Sweep", "SweepResult", "linspace", "log_uniform", "normal", "sweep", "uniform", "values"]

#: Times that a broken pool is made again, and that a chunk is given out again; after that the driver computes it.
RETRIES = 5
#: Seconds that a worker waits that computes differently.
PAUSE = 1.0
#: Parts that are written at the same time.
WRITERS = 4
Law = Mapping[str, Any]


def uniform(low: float, high: float, *, relative: bool = False) -> Law:
    """Between two numbers, all alike; with `relative` times what the model says.

    >>> import leastaction as la
    >>> la.uniform(-1, 1)
    {'uniform': [-1.0, 1.0]}
    """
    return _law("uniform", [low, high], relative)


def normal(mean: float, deviation: float, *, relative: bool = False) -> Law:
    """Around a mean, with a standard deviation.

    >>> import leastaction as la
    >>> la.normal(0, 0.1)
    {'normal': [0.0, 0.1]}
    """
    return _law("normal", [mean, deviation], relative)


def log_uniform(low: float, high: float, *, relative: bool = False) -> Law:
    """Between two numbers greater than zero, uniform in the logarithm.

    >>> import leastaction as la
    >>> la.log_uniform(0.5, 2, relative=True)
    {'log_uniform': [0.5, 2.0], 'relative': True}
    """
    return _law("log_uniform", [low, high], relative)


def values(*numbers: float, relative: bool = False) -> Law:
    """One of these; without `runs` all of them.

    >>> import leastaction as la
    >>> la.values(0, 1, 2)
    {'values': [0.0, 1.0, 2.0]}
    """
    return _law("values", numbers, relative)


def linspace(low: float, high: float, count: int, *, relative: bool = False) -> Law:
    """One of so many equidistant numbers; without `runs` all of them.

    >>> import leastaction as la
    >>> la.linspace(0, 1, 3)
    {'linspace': [0.0, 1.0, 3]}
    """
    return {**_law("linspace", [low, high], relative), "linspace": [float(low), float(high), int(count)]}


def _law(name: str, numbers: Sequence[float], relative: bool) -> dict[str, Any]:
    law: dict[str, Any] = {name: [float(x) for x in numbers]}
    return {**law, "relative": True} if relative else law


@functools.lru_cache(maxsize=4)
def _parsed(text: str) -> _core._Sweep:
    return _core._Sweep.from_text(text)


def _chunk(text: str, index: int, threads: int = 1) -> tuple[bytes, bytes | None]:
    """The files of one chunk: what a worker computes. A sweep is read once per process."""
    try:
        sweep = _parsed(text)
    except FingerprintMismatch:
        # Who refuses is free at once, and would be given every chunk that the others have no time for.
        time.sleep(PAUSE)
        raise
    return sweep.parts(index, threads=threads)


@dataclass(frozen=True)
class SweepResult:
    """What came of a sweep: its folder, and the summary as `summary.json` has it.

    >>> import leastaction as la
    >>> la.SweepResult
    <class 'leastaction.sweeps.SweepResult'>
    """

    folder: Path
    summary: dict[str, Any]
    retries: int = 0

    @property
    def parts(self) -> list[Path]:
        """The tables of runs, in order: pandas, Polars, DuckDB and pyarrow read them as one."""
        return sorted((self.folder / "runs").glob("part-*.parquet"))


class Sweep:
    """Many runs of one scenario with numbers that vary.

    Keys of `vary` are those of a sweep file: ``initial.q.JOINT``, ``initial.v.*``, ``inputs.NAME``, ``bodies.NAME.mass``,
    ``joints.NAME.damping``, ``gravity.z``, …; values are `uniform`, `normal`, `log_uniform`, `values`, `linspace`. Further settings are
    those of `simulate`.

    >>> import leastaction as la
    >>> sweep = la.Sweep(la.load("@chain/2"), {"initial.q.joint0": la.uniform(-1, 1)}, runs=100, duration=0.1)
    >>> sweep.runs, sorted(sweep.draw(7))
    (100, ['initial.q.joint0'])
    """

    def __init__(
        self,
        mechanism: _core.Mechanism,
        vary: Mapping[str, Law],
        *,
        runs: int | None = None,
        seed: int = 0,
        chunk: int | None = None,
        measure: Mapping[str, str | Mapping[str, str]] | None = None,
        record: str = "end",
        every: int | None = None,
        columns: Sequence[str] | None = None,
        **settings: Any,
    ) -> None:
        said = {"runs": runs, "seed": seed, "chunk": chunk, "record": record, "every": every, "columns": columns}
        lines = ["[sweep]", *(f"{key} = {toml(value)}" for key, value in said.items() if value is not None)]
        for table, content in (("vary", vary), ("measure", measure or {})):
            lines.append(f"[sweep.{table}]")
            lines += [f"{toml(str(key))} = {toml(value)}" for key, value in content.items()]
        self._core = _core._Sweep.of(mechanism, "\n".join(lines) + "\n", settings=settings)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        runs: int | None = None,
        seed: int | None = None,
        chunk: int | None = None,
        **settings: Any,
    ) -> Sweep:
        """Reads a sweep file, or the ``sweep.json`` of a folder; what is said here wins over the file."""
        return cls._of(_core._Sweep.load(path, runs=runs, seed=seed, chunk=chunk, settings=settings))

    @classmethod
    def _of(cls, core: _core._Sweep) -> Sweep:
        made = cls.__new__(cls)
        made._core = core
        return made

    @staticmethod
    def _restore(text: str) -> Sweep:
        return Sweep._of(_core._Sweep.from_text(text))

    def __reduce__(self) -> tuple[Any, ...]:
        return Sweep._restore, (self._core.text(),)

    def __repr__(self) -> str:
        return f"<Sweep {self._core.name}: {self.runs} runs of {self._core.steps} steps in {self._core.chunks} chunks>"

    @property
    def runs(self) -> int:
        """Number of runs."""
        return self._core.runs

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self._core.chunks

    @property
    def hash(self) -> str:
        """What tells it from every other sweep."""
        return self._core.hash

    @property
    def columns(self) -> list[str]:
        """Columns of the table of runs."""
        return self._core.columns

    def draw(self, run: int) -> dict[str, float]:
        """What varies in a run, by key."""
        if not 0 <= run < self.runs:
            remedy = f"they are counted from 0 to {self.runs - 1}"
            raise BadOption(f"there is no run {run}: {remedy}", {"option": "run", "value": repr(run), "remedy": remedy})
        return self._core.draw(run)

    def simulate(self, run: int, *, progress: bool | Progress | None = None, **settings: Any) -> Run:
        """One run with everything that `simulate` gives; its steps are those of the sweep, bit for bit."""
        data, last, error, notes = self._core.simulate(run, progress=listener(progress, "steps"), settings=settings)
        return Run(data, last, error, tuple(notes))

    def run(
        self,
        out: str | os.PathLike[str],
        executor: Any = "threads",
        *,
        threads: int | None = None,
        cpus_per_task: int = 1,
        fresh: bool = False,
        report: bool = True,
        play: int = 0,
        progress: bool | Progress | None = None,
    ) -> SweepResult:
        """Computes what the folder `out` misses, and the summary.

        `executor` is ``"threads"``, ``"ray"``, ``"dask"``, Dask's client, or anything with ``submit``, as those of
        `concurrent.futures`. Whatever stops it, the same call goes on, and the files have the same bytes. Workers that die
        are made again; `play` gives so many of the worst runs a report of their own.
        """
        for name, number, least in (("cpus_per_task", cpus_per_task, 1), ("play", play, 0)):
            if number < least:
                remedy = f"give a whole number from {least} on"
                raise BadOption(f"{name} = {number} is not possible: {remedy}", {"option": name, "value": repr(number), "remedy": remedy})
        if executor not in ("threads", "ray", "dask") and not callable(getattr(executor, "submit", None)):
            remedy = 'give "threads", "ray", "dask", or an object with `submit`'
            raise BadOption(f"executor = {executor!r} is not possible: {remedy}", {"option": "executor", "value": repr(executor), "remedy": remedy})
        folder = _core._SweepFolder(self._core, out, fresh=fresh)
        tell = listener(progress, "runs")
        try:
            if executor == "threads":
                runs, steps, wall = folder.drive(threads=threads, progress=tell)
                retries = 0
            else:
                begin = time.monotonic()
                work = _Work(self._core, folder, _engine(executor, self._core.text(), cpus_per_task), cpus_per_task, tell)
                work.do()
                runs, wall, retries = work.runs, time.monotonic() - begin, work.retries
                steps = runs * self._core.steps
            summary = folder.conclude(runs, steps, wall, play=play if report else None)
        finally:
            folder.close()
        return SweepResult(Path(out), summary, retries)


def sweep(file: str | os.PathLike[str], out: str | os.PathLike[str], **options: Any) -> SweepResult:
    """Runs a sweep file: `Sweep.load` and `Sweep.run` in one.

    >>> import leastaction as la
    >>> la.sweep.__name__
    'sweep'
    """
    return Sweep.load(file).run(out, **options)


class _Executor:
    """Anything with `submit`, as the driver uses it."""

    text: Any

    def __init__(self, executor: Any, text: str) -> None:
        self.executor, self.text = executor, text

    def workers(self) -> int:
        """How many work at once, as far as it says."""
        return getattr(self.executor, "_max_workers", None) or os.cpu_count() or 1

    def submit(self, index: int, threads: int) -> Any:
        """A future of a chunk."""
        return self.executor.submit(_chunk, self.text, index, threads)

    def again(self) -> bool:
        """Makes a broken pool again; false if that can't be done."""
        if not isinstance(self.executor, concurrent.futures.ProcessPoolExecutor):
            return False
        old = self.executor
        old.shutdown(wait=False, cancel_futures=True)
        self.executor = concurrent.futures.ProcessPoolExecutor(
            self.workers(), getattr(old, "_mp_context", None), getattr(old, "_initializer", None), getattr(old, "_initargs", ())
        )
        self.own = True
        return True

    own = False

    def lost(self) -> int:
        """Chunks that the engine gave to another worker by itself, because theirs had died."""
        return 0

    def close(self) -> None:
        """Ends what was made here."""
        if self.own:
            self.executor.shutdown(wait=False, cancel_futures=True)


class _Ray(_Executor):
    """Ray. What a killed worker had is given out again by the driver, which counts it."""

    def __init__(self, text: str, cpus: int) -> None:
        ray: Any = importlib.import_module("ray")
        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        self.ray = ray
        # Once in the object store, not once per task.
        self.text = ray.put(text)
        self.remote = ray.remote(num_cpus=cpus, max_retries=0)(_chunk)
        self.cpus = cpus

    def workers(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)) // self.cpus)

    def submit(self, index: int, threads: int) -> Any:
        return self.remote.remote(self.text, index, threads).future()

    def again(self) -> bool:
        return False


class _Dask(_Executor):
    """Dask's client. Its scheduler gives out again what a worker had that died, a few times, and keeps a record of it."""

    def __init__(self, client: Any, text: str) -> None:
        # With every task: what is scattered is gone when those who hold it die together.
        self.client, self.text = client, text
        self.keys: set[str] = set()

    def workers(self) -> int:
        return sum(self.client.ncores().values()) or 1

    def submit(self, index: int, threads: int) -> Any:
        future = self.client.submit(_chunk, self.text, index, threads, pure=False)
        self.keys.add(str(future.key))
        return future

    def again(self) -> bool:
        return False

    def lost(self) -> int:
        keys = self.keys

        # Travels whole: the scheduler need not have this package.
        def count(dask_scheduler: Any) -> int:
            events = [event for _, event in dask_scheduler.get_events("all") if event.get("action") == "remove-worker"]
            return sum(str(key) in keys for event in events for key in event.get("processing-tasks", ()))

        try:
            return int(self.client.run_on_scheduler(count))
        except Exception:
            # A scheduler of another version: the sweep is done all the same.
            return 0


def _engine(executor: Any, text: str, cpus: int) -> _Executor:
    if executor == "ray":
        return _Ray(text, cpus)
    if executor == "dask":
        return _Dask(importlib.import_module("distributed").get_client(), text)
    if type(executor).__module__.startswith("distributed"):
        return _Dask(executor, text)
    return _Executor(executor, text)


class _Work:
    """Keeps four chunks per worker under way, takes them as they finish, and writes them here: no shared disk is needed."""

    def __init__(
        self, core: _core._Sweep, folder: _core._SweepFolder, engine: _Executor, threads: int, tell: Callable[[int, int], object] | None
    ) -> None:
        self.core, self.folder, self.engine, self.threads, self.tell = core, folder, engine, threads, tell
        self.finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.under_way: dict[Any, int] = {}
        self.tries: dict[int, int] = {}
        self.broken = self.retries = self.runs = 0
        self.delivered = False
        self.room, self.asked = 0, -1.0
        # Disks make one wait, not work: parts are written while others are taken.
        self.writers = concurrent.futures.ThreadPoolExecutor(WRITERS)
        self.writing: collections.deque[concurrent.futures.Future[None]] = collections.deque()

    def has_room(self) -> bool:
        """Whether another chunk may be given out. How many workers there are is asked once a second: it takes a message."""
        now = time.monotonic()
        if now - self.asked > 1.0:
            self.room, self.asked = 4 * self.engine.workers(), now
        return len(self.under_way) < self.room

    def submit(self, index: int) -> None:
        future = self.engine.submit(index, self.threads)
        self.under_way[future] = index
        future.add_done_callback(self.finished.put)

    def keep(self, index: int, parts: tuple[bytes, bytes | None]) -> None:
        """Has the parts of a chunk written; few are in memory at a time."""
        self.writing.append(self.writers.submit(self.folder.put, index, *parts))
        self.wait_for_writers(2 * WRITERS)

    def wait_for_writers(self, most: int) -> None:
        """Until so many parts are on their way to the disk at most; what can't be written raises."""
        while len(self.writing) > most:
            self.writing.popleft().result()

    def do(self) -> None:
        """Computes all that is missing."""
        missing = self.folder.missing()
        done = self.core.chunks - len(missing)
        missing.reverse()
        index: int | None = None
        try:
            while missing or self.under_way:
                index = None
                try:
                    while missing and self.has_room():
                        self.submit(missing[-1])
                        missing.pop()
                    future = self.finished.get()
                    index = self.under_way.pop(future, None)
                    if index is None:
                        continue
                    parts = future.result()
                except concurrent.futures.BrokenExecutor:
                    # The whole pool is gone with one worker, and every chunk under way with it.
                    lost = [*self.under_way.values(), *([index] if index is not None else [])]
                    missing += sorted({*lost} - {*missing}, reverse=True)
                    self.under_way.clear()
                    self.broken += 1
                    self.retries += len(lost)
                    if self.broken > RETRIES or not self.engine.again():
                        raise
                    continue
                except Exception as error:
                    refused = isinstance(error, FingerprintMismatch)
                    # What is wrong with the sweep is wrong for everybody.
                    if index is None or (isinstance(error, LeastActionError) and not refused):
                        raise
                    # That worker is gone, or computes differently; another may do it.
                    self.retries += 1
                    self.tries[index] = self.tries.get(index, 0) + 1
                    if self.tries[index] <= RETRIES:
                        missing.append(index)
                        continue
                    # A cluster on which nobody computes as this process does is not what was asked for.
                    if refused and not self.delivered and all(self.tries.get(i) for i in self.under_way.values()):
                        raise
                    parts = self.core.parts(index, threads=self.threads)
                else:
                    self.delivered = True
                assert index is not None
                self.keep(index, parts)
                done += 1
                self.runs += min(self.core.chunk, self.core.runs - index * self.core.chunk)
                if self.tell is not None:
                    self.tell(min(done * self.core.chunk, self.core.runs), self.core.runs)
            self.wait_for_writers(0)
            self.retries += self.engine.lost()
        finally:
            self.writers.shutdown()
            for future in self.under_way:
                future.cancel()
            self.engine.close()
