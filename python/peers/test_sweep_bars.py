"""What sweeps promise, at full size: the same bytes from every executor, nothing lost and little done twice when killed, memory, overhead.

`scripts/sweep_bars.sh` runs this file and prints the figures.
"""

from __future__ import annotations

import collections
import concurrent.futures
import hashlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import leastaction as la

VARY = {"initial.q.*": la.uniform(-0.5, 0.5), "initial.v.*": la.normal(0.0, 0.3)}
MEASURE = {"energy_error": "largest", "peak": {"column": "q.joint0", "as": "largest_magnitude"}}


def swept(runs: int = 2000, chunk: int | None = 50, duration: float = 0.5, **more) -> la.Sweep:
    return la.Sweep(la.load("@chain/5"), VARY, runs=runs, seed=5, chunk=chunk, duration=duration, measure=MEASURE, **more)


def sums(folder: Path) -> dict[str, str]:
    """The SHA-256 of every part."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("runs/part-*"))}


@pytest.fixture
def say(capsys):
    def say(text: str) -> None:
        with capsys.disabled():
            print(f"\n{text}", flush=True)

    return say


@pytest.fixture(scope="module")
def ray_of_two():
    ray = pytest.importorskip("ray")
    ray.shutdown()
    # Ray lets everybody else go first, which threads do not: on a loaded machine that would be all one sees.
    os.environ["RAY_worker_niceness"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


def test_every_executor_gives_the_same_bytes(tmp_path, say, ray_of_two):
    distributed = pytest.importorskip("distributed")
    sweep = swept()
    for threads in (1, 2, 5):
        sweep.run(tmp_path / f"threads{threads}", threads=threads, report=False)
    with concurrent.futures.ProcessPoolExecutor(3, multiprocessing.get_context("spawn")) as pool:
        sweep.run(tmp_path / "processes", executor=pool, report=False)
    sweep.run(tmp_path / "ray", executor="ray", report=False)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            sweep.run(tmp_path / "dask", executor=client, report=False)
    whole = sums(tmp_path / "threads1")
    for other in ("threads2", "threads5", "processes", "ray", "dask"):
        assert sums(tmp_path / other) == whole, other
    # A chunk of one run has nobody beside it: lanes off.
    pq = pytest.importorskip("pyarrow.parquet")
    swept(chunk=1).run(tmp_path / "alone", report=False)
    tables = [pq.read_table(tmp_path / name / "runs").to_pandas() for name in ("threads1", "alone")]
    numbers = [np.ascontiguousarray(table.select_dtypes("number").to_numpy(float)).view(np.uint64) for table in tables]
    assert np.array_equal(*numbers)
    say(f"sameness: {len(whole)} parts of 2,000 runs equal by SHA-256 on 1, 2, 5 threads, 3 processes, Ray, Dask; rows equal bit for bit without lanes")


DRIVER = """
import concurrent.futures, os, sys
sys.path.insert(0, {here!r})
from test_sweep_bars import swept

class Logged(concurrent.futures.ThreadPoolExecutor):
    def submit(self, call, text, index, *rest):
        def run():
            # Written before the work begins, in one piece: what was under way at a kill counts.
            os.write(log, f"{{index}}\\n".encode())
            return call(text, index, *rest)
        return super().submit(run)

log = os.open({log!r}, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with Logged(2) as pool:
    swept(chunk=20).run({out!r}, executor=pool, report=False)
"""


def test_killed_twenty_times_no_run_is_computed_more_than_once_per_kill(tmp_path, say):
    swept(chunk=20).run(tmp_path / "whole", report=False)
    log, out = tmp_path / "log", tmp_path / "killed"
    script = DRIVER.format(here=str(Path(__file__).parent), log=str(log), out=str(out))
    moment, kills, ended = random.Random(3), 0, False
    while not ended:
        before = len(sums(out)) if out.exists() else 0
        child = subprocess.Popen([sys.executable, "-c", script])
        if kills < 20:
            # After a number of further parts that is drawn, or at once: whenever that is.
            wanted, limit = before + moment.choice([0, 0, 1, 2, 3, 4]), time.monotonic() + moment.uniform(0.5, 60)
            while child.poll() is None and time.monotonic() < limit and (not out.exists() or len(sums(out)) <= wanted):
                time.sleep(moment.uniform(0.001, 0.02))
            child.kill()
        ended = child.wait() == 0
        kills += not ended
    counts = collections.Counter(log.read_text().split())
    assert kills == 20 and sums(out) == sums(tmp_path / "whole")
    assert len(counts) == 100 and max(counts.values()) <= 1 + kills
    say(f"kill -9: {kills} kills, same sums; of 100 chunks {sum(counts.values())} were begun, none more than {max(counts.values())} times")


def test_runs_of_the_command_killed_twenty_times(tmp_path, say):
    command = os.environ.get("LEASTACTION")
    if not command:
        pytest.skip("LEASTACTION does not name the command")
    text = swept()._core.text()
    (tmp_path / "sweep.json").write_text(text)

    def start(out: str) -> subprocess.Popen:
        words = [command, "sweep", "sweep.json", "--out", out, "--no-report", "--threads", "2", "--duration", "4", "--chunk", "20"]
        return subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert start("whole").wait() == 0
    moment, kills = random.Random(4), 0
    while kills < 20:
        child = start("killed")
        before = len(sums(tmp_path / "killed"))
        while child.poll() is None and len(sums(tmp_path / "killed")) < before + kills % 4:
            time.sleep(0.001)
        time.sleep(moment.uniform(0.0, 0.03))
        child.send_signal(signal.SIGKILL)
        if child.wait() == 0:
            break
        kills += 1
    assert start("killed").wait() == 0 and kills >= 15
    assert sums(tmp_path / "killed") == sums(tmp_path / "whole")
    say(f"kill -9 of the command: {kills} kills, same sums")


def test_a_chunk_on_ray_costs_little_more_than_an_empty_task(tmp_path, say, ray_of_two):
    count = int(os.environ.get("LEASTACTION_CHUNKS", "10000"))
    sweep = la.Sweep(la.load("@chain/2"), {"initial.q.*": la.uniform(-1, 1)}, runs=count, chunk=1, duration=0.01, step=0.01)
    empty = ray_of_two.remote(lambda: b"")
    ray_of_two.get([empty.remote() for _ in range(100)])

    def tasks() -> None:
        pending = [empty.remote() for _ in range(8)]
        for _ in range(count - 8):
            done, pending = ray_of_two.wait(pending, num_returns=1)
            ray_of_two.get(done)
            pending.append(empty.remote())
        ray_of_two.get(pending)

    begin = time.perf_counter()
    tasks()
    bare = (time.perf_counter() - begin) / count
    begin, used = time.perf_counter(), time.process_time()
    done = sweep.run(tmp_path / "out", executor="ray", report=False)
    taken, used = (time.perf_counter() - begin) / count, (time.process_time() - used) / count
    assert done.summary["ok"] == count
    say(f"overhead: {1e3 * taken:.2f} ms per chunk on Ray, {1e3 * bare:.2f} ms per empty task, {1e3 * (taken - bare):.2f} ms more "
        f"({1e3 * used:.2f} ms of processor time of the driver), {count} chunks")
    assert taken - bare < 5e-3


def test_ray_keeps_up_with_threads(tmp_path, say, ray_of_two):
    """At the default chunk; by the clock, in turns."""
    sweep = swept(runs=2000, chunk=None, duration=5.0)
    sweep_of_one = swept(runs=16, chunk=None)
    sweep_of_one.run(tmp_path / "warm", executor="ray", report=False)
    rates: dict[str, list[float]] = {"ray": [], "threads": []}
    for turn in range(3):
        for executor in rates:
            out = tmp_path / f"{executor}{turn}"
            begin = time.perf_counter()
            sweep.run(out, executor=executor, threads=2, report=False)
            rates[executor].append(sweep.runs / (time.perf_counter() - begin))
        assert sums(tmp_path / f"ray{turn}") == sums(tmp_path / f"threads{turn}")
    ratio = float(np.median(np.divide(rates["ray"], rates["threads"])))
    say(f"Ray with two workers over two threads: {ratio:.2f} ({sweep.chunks} chunks, {np.median(rates['threads']):.0f} runs/s on threads)")
    assert ratio >= 0.85


def test_other_threads_run_during_a_rollout(say):
    """A counter beside a rollout of 2 s on one thread."""
    mech = la.load("@chain/10")
    count, stop = [0], threading.Event()

    def work() -> None:
        while not stop.is_set():
            count[0] += 1

    counter = threading.Thread(target=work)
    counter.start()

    def rate(call) -> float:
        count[0], begin = 0, time.perf_counter()
        call()
        return count[0] / (time.perf_counter() - begin)

    free = rate(lambda: time.sleep(1.0))
    beside = rate(lambda: la.rollout(mech, q=np.zeros((256, 10)), v=0.3, steps=1500, step=1e-3, threads=1))
    stop.set()
    counter.join()
    load = os.getloadavg()[0]
    say(f"interpreter: a thread counts at {beside / free:.2f} of its free rate beside a rollout (load {load:.1f})")
    # Who holds the interpreter leaves next to nothing; on a loaded machine less than a core is right.
    assert beside > (0.5 if load < 1.5 else 0.1) * free


def test_memory_does_not_grow_with_the_number_of_runs(tmp_path, say):
    command = os.environ.get("LEASTACTION")
    if not command:
        pytest.skip("LEASTACTION does not name the command")
    text = """
model = "@chain/2"
step = 0.01
duration = 0.05
[sweep]
seed = 42
chunk = 1000
record = "rows"
every = 5
columns = ["q", "energy.total"]
[sweep.vary]
"initial.q.joint0" = { uniform = [-1.0, 3.0] }
"initial.q.joint1" = { normal = [0.5, 0.2] }
"initial.v.joint0" = { log_uniform = [0.5, 2.0] }
"initial.v.joint1" = { values = [0.0, 1.0, 2.0] }
"""
    (tmp_path / "sweep.toml").write_text(text)
    most = int(os.environ.get("LEASTACTION_RUNS", "1000000"))
    peaks = []
    for runs in (10_000, most):
        words = [command, "sweep", "sweep.toml", "--runs", str(runs), "--out", f"out{runs}", "--threads", "2"]
        # A process begins with the peak of the one that started it: a small one starts it.
        program = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        program += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        done = subprocess.run([sys.executable, "-c", program, *words], cwd=tmp_path, capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout) / 1024)
    say(f"memory: {peaks[0]:.1f} MB at 10,000 runs, {peaks[1]:.1f} MB at {most} runs, rows kept, two threads")
    assert peaks[1] < 1.1 * peaks[0]
    draws(tmp_path / f"out{most}", most, say)


def draws(folder: Path, count: int, say) -> None:
    """The draws of that sweep by another program's tests of distributions."""
    stats = pytest.importorskip("scipy.stats")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pq.read_table(folder / "runs", columns=["initial.q.joint0", "initial.q.joint1", "initial.v.joint0", "initial.v.joint1"])
    a, b, c, d = (column.to_numpy() for column in table.columns)
    p = [
        stats.kstest(a, stats.uniform(-1, 4).cdf).pvalue,
        stats.kstest(b, stats.norm(0.5, 0.2).cdf).pvalue,
        stats.kstest(c, stats.loguniform(0.5, 2.0).cdf).pvalue,
        stats.chisquare(np.bincount(d.astype(int))).pvalue,
    ]
    assert len(a) == count and min(p) > 1e-4, p
    say(f"draws: {count} of each law, p = {', '.join(f'{x:.3f}' for x in p)} (uniform, normal, log-uniform, values)")
