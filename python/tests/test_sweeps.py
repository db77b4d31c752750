"""Sweeps: one result, whoever computes it."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

ROOT = Path(__file__).resolve().parents[2]


def make(runs: int = 120, duration: float = 0.2) -> la.Sweep:
    vary = {"initial.q.*": la.uniform(-0.5, 0.5), "initial.v.joint1": la.normal(0.0, 0.3)}
    measure = {"energy_error": "largest", "peak": {"column": "q.joint0", "as": "largest_magnitude"}}
    return la.Sweep(la.load("@chain/3"), vary, runs=runs, seed=5, chunk=8, duration=duration, step=0.01, measure=measure)


def parts(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "runs").glob("part-*"))}


def test_threads_and_processes_give_the_same_bytes(tmp_path):
    sweep = make()
    result = sweep.run(tmp_path / "one", threads=1, report=False)
    assert result.summary["ok"] == 120 and len(result.parts) == 15
    sweep.run(tmp_path / "two", threads=2, report=False)
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        sweep.run(tmp_path / "pool", executor=pool, report=False)
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
        done = sweep.run(tmp_path / "processes", executor=pool, cpus_per_task=2, report=False)
    assert done.summary["measures"] == result.summary["measures"]
    for other in ("two", "pool", "processes"):
        assert parts(tmp_path / "one") == parts(tmp_path / other), other


def test_a_pool_that_a_killed_worker_broke_is_made_again(tmp_path):
    sweep = make(runs=400, duration=2.0)
    sweep.run(tmp_path / "whole", report=False)
    pool = concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))

    def kill() -> None:
        while not parts(tmp_path / "killed"):
            time.sleep(0.01)
        os.kill(next(iter(pool._processes)), signal.SIGKILL)

    (tmp_path / "killed").mkdir()
    killer = threading.Thread(target=kill)
    killer.start()
    done = sweep.run(tmp_path / "killed", executor=pool, report=False)
    killer.join()
    assert parts(tmp_path / "whole") == parts(tmp_path / "killed")
    assert done.retries > 0


def test_a_sweep_goes_on_where_it_was(tmp_path):
    sweep = make()
    sweep.run(tmp_path / "a", report=False)
    before = parts(tmp_path / "a")
    for name in list(before)[3:7]:
        (tmp_path / "a" / "runs" / name).unlink()
    done = sweep.run(tmp_path / "a", report=True, play=1)
    assert parts(tmp_path / "a") == before and done.summary["computed_runs"] == 32
    page = (tmp_path / "a" / "report.html").read_text(encoding="utf-8")
    assert "energy_error" in page and len(page) < 5_000_000
    again = la.Sweep.load(tmp_path / "a" / "sweep.json")
    assert again.hash == sweep.hash == pickle.loads(pickle.dumps(sweep)).hash
    with pytest.raises(la.errors.LeastActionError, match="`sweep.seed` differs"):
        la.Sweep.load(ROOT / "examples/cart_pole_sweep.toml", runs=4, seed=1).run(tmp_path / "b", report=False)
        la.Sweep.load(ROOT / "examples/cart_pole_sweep.toml", runs=4, seed=2).run(tmp_path / "b", report=False)


def test_one_run_is_that_of_the_sweep(tmp_path):
    pa = pytest.importorskip("pyarrow.parquet")
    sweep = make()
    sweep.run(tmp_path / "a", report=False)
    table = pa.read_table(tmp_path / "a" / "runs").to_pydict()
    assert list(table) == sweep.columns
    for run in (0, 7, 119):
        assert table["initial.q.joint2"][run] == sweep.draw(run)["initial.q.joint2"]
        single = sweep.simulate(run, report=False)
        assert single["q.joint1"][-1] == table["q.joint1"][run]
        assert abs(single["q.joint0"]).max() == table["peak"][run]
        assert single.error is None


def test_the_draws_do_not_depend_on_other_parameters():
    chain = la.load("@chain/2")
    one = la.Sweep(chain, {"initial.q.joint0": la.uniform(-1, 1)}, runs=50, seed=3, duration=0.1)
    two = la.Sweep(
        chain, {"bodies.link0.mass": la.values(1, 2), "initial.q.joint0": la.uniform(-1, 1)}, runs=50, seed=3, duration=0.1
    )
    drawn = [one.draw(k)["initial.q.joint0"] for k in range(50)]
    assert drawn == [two.draw(k)["initial.q.joint0"] for k in range(50)]
    assert np.ptp(drawn) > 1.0
    grid = la.Sweep(chain, {"initial.q.*": la.linspace(0, 1, 3)}, duration=0.1)
    assert grid.runs == 9 and grid.draw(5) == {"initial.q.joint0": 0.5, "initial.q.joint1": 1.0}


def test_wrong_sweeps_raise_before_anything_is_written(tmp_path):
    chain = la.load("@chain/2")
    with pytest.raises(la.errors.LeastActionError):
        la.Sweep(chain, {"initial.q.joint9": la.uniform(-1, 1)}, runs=5)
    with pytest.raises(la.errors.LeastActionError):
        la.Sweep(chain, {"initial.q.joint0": la.uniform(1, -1)}, runs=5)
    with pytest.raises(la.errors.BadOption):
        la.Sweep(chain, {"initial.q.joint0": la.uniform(-1, 1)}, runs=5, durration=1.0)
    with pytest.raises(la.errors.BadOption, match="executor"):
        make().run(tmp_path / "a", executor="cloud")
    for call in (make().simulate, make().draw):
        with pytest.raises(la.errors.LeastActionError, match="there is no run"):
            call(120)
    with pytest.raises(la.errors.BadOption, match="there is no run -1"):
        make().draw(-1)
    for wrong in ({"cpus_per_task": 0}, {"play": -1}):
        with pytest.raises(la.errors.BadOption):
            make().run(tmp_path / "a", **wrong)
    assert not (tmp_path / "a").exists()


def test_a_worker_with_other_arithmetic_refuses(tmp_path, monkeypatch):
    monkeypatch.setattr(la.sweeps, "PAUSE", 0.0)
    sweep = make()
    text = sweep._core.text().replace('"fingerprint":"', '"fingerprint":"f')
    with pytest.raises(la.errors.FingerprintMismatch, match="fingerprint"):
        la.sweeps._chunk(text, 0)

    class Mixed(concurrent.futures.ThreadPoolExecutor):
        """Every third task comes to a worker of another build."""

        count = 0

        def submit(self, fn, /, spec, *args):
            Mixed.count += 1
            return super().submit(fn, text if Mixed.count % 3 == 0 else spec, *args)

    sweep.run(tmp_path / "a", report=False)
    with Mixed(2) as pool:
        done = sweep.run(tmp_path / "b", executor=pool, report=False)
    assert done.retries > 0 and parts(tmp_path / "a") == parts(tmp_path / "b")

    class Wrong(concurrent.futures.ThreadPoolExecutor):
        """All workers are of another build."""

        def submit(self, fn, /, spec, *args):
            return super().submit(fn, text, *args)

    with Wrong(2) as pool, pytest.raises(la.errors.FingerprintMismatch):
        sweep.run(tmp_path / "c", executor=pool, report=False)
    assert not parts(tmp_path / "c")


def test_a_worker_that_never_delivers_is_done_without(tmp_path):
    """An engine may lose a chunk for good: it is given out again, and at last computed here."""

    class Lossy(concurrent.futures.ThreadPoolExecutor):
        given = []

        def submit(self, fn, /, spec, index, *args):
            self.given.append(index)
            if index == 3:
                return super().submit(lambda: 1 / 0)
            return super().submit(fn, spec, index, *args)

    sweep = make()
    sweep.run(tmp_path / "a", report=False)
    with Lossy(2) as pool:
        done = sweep.run(tmp_path / "b", executor=pool, report=False)
    assert parts(tmp_path / "a") == parts(tmp_path / "b")
    assert done.retries == la.sweeps.RETRIES + 1 == Lossy.given.count(3) and len(Lossy.given) == 15 + la.sweeps.RETRIES


def test_names_beyond_ascii_and_odd_numbers_are_said_as_they_are(tmp_path):
    model = la.Model("größe 😀")
    body = model.body("рука", mass=1.0, com=(0.0, 0.0, -0.5), inertia=np.eye(3) * 0.1)
    model.joint('関節 "1"', "revolute", "world", body, axis=(0, 1, 0))
    mech = model.build()
    vary = {'initial.q.関節 "1"': la.uniform(np.float64(-1), np.float32(1)), "bodies.рука.mass": la.values(*np.array([1.0, 2.0]))}
    measure = {"größe 😀": {"column": 'q.関節 "1"', "as": "largest_magnitude"}}
    sweep = la.Sweep(mech, vary, runs=12, chunk=5, duration=0.1, measure=measure)
    done = sweep.run(tmp_path / "ö", report=True)
    assert done.summary["ok"] == 12 and "größe 😀" in done.summary["measures"]
    assert "関節" in (tmp_path / "ö" / "report.html").read_text(encoding="utf-8")
    assert sweep.draw(3)['initial.q.関節 "1"'] == pickle.loads(pickle.dumps(sweep)).draw(3)['initial.q.関節 "1"']


def test_parts_from_elsewhere_are_checked(tmp_path):
    sweep, other = make(), make(runs=80)
    folder = la._core._SweepFolder(sweep._core, tmp_path / "a")
    for wrong in (other._core.parts(0), sweep._core.parts(1), (b"", None)):
        with pytest.raises(la.errors.LeastActionError, match="can't be kept"):
            folder.put(0, *wrong)
    folder.put(0, *sweep._core.parts(0, threads=2))
    assert folder.missing()[0] == 1
    with pytest.raises(la.errors.LeastActionError, match="another process"):
        la._core._SweepFolder(sweep._core, tmp_path / "a")
    folder.close()
