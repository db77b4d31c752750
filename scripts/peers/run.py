#!/usr/bin/env python3
"""Times the peers and leastaction on the same models, in turn, and prints ratios.

usage: run.py --leastaction PATH [--out DIR] [--rounds N] [--only SYSTEM,...] [--native] [--quick] [--python PATH]

Needs nothing but Python 3.10 or newer; it makes its own virtual environment. See README.md.
"""

import argparse
import json
import os
import pathlib
import platform
import subprocess
import time

import environment
import models
import ours
import tables
from environment import HERE, say
from motion import Tree, largest_distance

SIZES = models.CHAINS
# One core each, as ours: linear algebra on threads that wait for one another is slower here.
ENVIRONMENT = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")


class Session:
    """Where programs are, and what was found and what could not be."""

    def __init__(self, args, out, python, programs, names, problem):
        self.quick, self.only = args.quick, set(args.only.split(",")) - {""}
        self.leastaction, self.out, self.models = args.leastaction.resolve(), out, out / "models"
        self.python, self.programs, self.names, self.problem = python, programs, names, problem
        self.best, self.failed, self.hopeless = {}, set(), set()

    def wants(self, system):
        return system == "leastaction" or not self.only or system in self.only

    def keep(self, line, section):
        """Of each case the least time; lines without one are remarks."""
        if "us" not in line:
            return
        if line["system"] == "leastaction":
            line["section"] = section
        key = tuple(str(line.get(k)) for k in ("section", "system", "build", "variant", "model", "dt", "tolerance"))
        old = self.best.get(key)
        if old is None or line["us"] < old["us"]:
            self.best[key] = line

    def keep_all(self, section, lines):
        for line in lines:
            self.keep(line, section)

    def run(self, system, section, command):
        """Keeps the lines of JSON that a program prints."""
        if not self.wants(system) or f"{system} {section}" in self.hopeless:
            return
        begin = time.time()
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=HERE, timeout=600, env=ENVIRONMENT)
            failure = environment.last_line(done.stderr) if done.returncode else None
        except subprocess.TimeoutExpired:
            done, failure = None, "it took more than 10 minutes"
        except OSError as error:
            done, failure = None, str(error)
        found = [json.loads(row) for row in (done.stdout.splitlines() if done else ()) if row.startswith("{")]
        for line in found:
            self.keep(line, section)
        if failure and (system, section, failure) not in self.failed:
            self.failed.add((system, section, failure))
            self.problem(f"{system} {section}: {failure}")
        # What finds nothing, or takes too long, is not tried in the next round.
        if failure and (not found or done is None):
            self.hopeless.add(f"{system} {section}")
        say(f"  {system} {section}: {time.time() - begin:.1f} s")

    def peer(self, system, section, *names):
        self.run(system, section, [self.python, "-B", "-W", "ignore", HERE / f"peer_{system}.py", self.models, section, *names])

    def pinocchio(self, section, program, *words):
        if program in self.programs:
            self.run("pinocchio", section, [self.programs[program], *words])

    def own(self, section, *words):
        self.run("leastaction", section, [self.leastaction, "bench", *words])

    def row_files(self, names):
        return [self.models / f"{name}.txt" for name in names]


def one_round(s):
    """Everything that is only timed; ours between theirs."""
    present = [n for n in SIZES if f"chain{n}" in s.names]
    chains, balls = [f"chain{n}" for n in present], [f"ball{n}" for n in present]
    small = [f"chain{n}" for n in present if n <= 200]
    loops = [name for name in (f"loop{k}" for k in (1, *models.LOOPS)) if name in s.names]
    robots = [name for name in ("panda", "talos") if name in s.names]
    kernels = ["chain100", *robots]
    arms = [*robots, "chainxy32", "chainxy128"]
    source = lambda names: [s.names[name] for name in names]  # noqa: E731

    def steps(names, integrator, order, h):
        short = [name for name in names if "00" not in name]
        long = [name for name in names if "00" in name]
        for group, effort in ((short, ("--budget", "0.2")), (long, ("--repeat", 3))):
            if group:
                s.own("loop" if names is loops else "step", "step", *source(group), "--integrator", integrator, "--order", order, "--step", h, "--steps", 2000, *effort)

    for kernel in ("rnea", "aba", "crba"):
        s.own("kernel", "kernel", kernel, *source(kernels))
    s.pinocchio("kernel", "pinocchio_step", "kernel", *s.row_files(kernels))
    steps([*chains, "chainxy32"], "minimal", 2, 0.005)
    s.peer("mujoco", "step", *chains, "chainxy32", *robots)
    steps([*chains, "chainxy32"], "minimal", 4, 0.005)
    s.pinocchio("step", "pinocchio_step", "step", *s.row_files([*chains, "chainxy32", *robots]))
    steps(["chain32", "chainxy32", "ball32"], "minimal", 6, 0.005)
    for order in (2, 4, 6):
        steps(robots, "minimal", order, 0.002)
    s.peer("drake", "step", *small)
    steps(chains, "maximal", 2, 0.005)
    s.peer("dart", "step", *small)
    s.peer("exudyn", "step", *(name for name in small if int(name[5:]) <= 100))
    steps(balls, "maximal", 2, 0.005)
    s.peer("mujoco", "step", *balls)
    steps(balls, "minimal", 2, 0.005)
    # Pinocchio's memory holds tensors of third order: gigabytes at 200 balls, a hundred of them at 500.
    s.pinocchio("step", "pinocchio_step", "step", *s.row_files([name for name in balls if name != "ball500"]))
    steps(["ball32"], "minimal", 4, 0.005)
    steps(loops, "maximal", 2, 0.001)
    s.peer("mujoco", "loop", *loops)
    s.pinocchio("loop", "pinocchio_loop", "loop", *s.row_files(loops))
    s.peer("drake", "loop", *loops)
    s.peer("dart", "loop", *loops)
    s.own("derivative", "jacobian", *source(arms), "--batches", 60)
    s.pinocchio("derivative", "pinocchio_derivative", *s.row_files(arms))
    linear = [name for name in ("chain10", "chain50", "chain200") if name in s.names]
    for order in (2, 4):
        s.own("linearize", "linearize", *source(["chain32"]), "--order", order)
    s.own("linearize", "linearize", *source(linear), "--batches", 30)
    s.peer("mujoco", "linearize", *linear)


def once(s):
    """Code generation, optimizers: seconds each, so that one round is enough."""
    if "panda" not in s.names:
        return
    for turn in range(2):
        guarded(s, "leastaction optimum", lambda: s.keep_all("optimum", ours.optimum(s.leastaction, s.out, s.names["panda"])))
        if turn == 0:
            s.peer("scipy", "optimum", "panda")
            s.peer("casadi", "optimum", "panda")
    s.own("derivative", "jacobian", s.names["panda"], "--batches", 100)
    s.peer("casadi", "derivative", "panda")
    s.own("derivative", "jacobian", s.names["panda"], "--batches", 100)
    s.peer("jax", "derivative", "panda")


def rollouts(s):
    """Many runs on one thread, theirs between ours."""
    names = [name for name in ("chain10", "panda", "talos") if name in s.names]
    pairs = [(name, s.names[name]) for name in names]
    for turn in range(2):
        guarded(s, "leastaction rollout", lambda: s.keep_all("rollout", ours.rollouts(s.leastaction, s.out / "run", pairs)))
        if turn == 0:
            s.peer("mujoco", "rollout", *names)


def runs(s):
    """Runs whose states are compared: errors of a pendulum and of a ball chain, gap of a four-bar."""
    scratch = s.out / "run"
    guarded(s, "leastaction precision", lambda: s.keep_all("precision", ours.pendulum(s.leastaction, scratch, s.quick)))
    s.peer("mujoco", "precision", "chain10")
    s.pinocchio("precision", "pinocchio_step", "trace", s.models / "chain10.txt", "rk4", 10, 0.1, 0.02, 0.01, 0.005, 0.0025, 0.001, 0.0005)
    s.peer("exudyn", "precision", "chain10")
    if "ball100" in s.names:
        guarded(s, "leastaction equal", lambda: s.keep_all("equal", ours.balls(s.leastaction, scratch, 0.005)))
        s.pinocchio("equal", "pinocchio_step", "trace", s.models / "ball100.txt", "semi", 1, 0.1, 0.005, 0.001, 0.0002, 0.00005)
        s.pinocchio("equal", "pinocchio_step", "trace", s.models / "ball100.txt", "rk4", 1, 0.1, 0.025, 0.02, 0.0125, 0.01, 0.005)
    guarded(s, "leastaction gap", lambda: s.keep_all("gap", ours.four_bar(s.leastaction, scratch)))
    for system in ("mujoco", "drake", "dart", "exudyn"):
        s.peer(system, "gap", "loop1")
    for gains in ((0, 0), (100, 20)):
        s.pinocchio("gap", "pinocchio_loop", "trace", s.models / "loop1.txt", "rk4", 60, 0.1, *gains, 0.01)
    compare(s, scratch)


def guarded(s, what, work):
    """A run of ours that fails is reported like a peer's."""
    begin = time.time()
    try:
        work()
    except (subprocess.CalledProcessError, OSError, KeyError, ValueError) as error:
        stderr = getattr(error, "stderr", None)
        s.problem(f"{what}: {environment.last_line(stderr) if stderr else error}")
    say(f"  {what}: {time.time() - begin:.1f} s")


def compare(s, scratch):
    """Turns states into errors, gaps and energies."""
    def reference(model, duration):
        return ours.ends(ours.simulate(s.leastaction, scratch, model, "dop853", 0.1, duration, tolerance=1e-13)[0])

    exact = {"chain10": reference("@chain/10", 10.0)}
    if "ball100" in s.names:
        exact["ball100"] = reference("@ball-chain/100", 1.0)
    scale = max((line.get("kinetic_scale", 0.0) for line in s.best.values()), default=0.0)
    for line in s.best.values():
        q, v = line.pop("q", None), line.pop("v", None)
        if line["section"] == "precision" and line["model"] == "ball100":
            line["section"] = "equal"
        tree = Tree((s.models / f"{line['model']}.txt").read_text()) if q else None
        if line["section"] in ("precision", "equal"):
            points = line.pop("points", None) or [tree.ends(state) for state in q]
            line["error"] = largest_distance(points, exact[line["model"]])
            line["ms_per_second"] = line["us"] * 1e-3 / line["dt"]
        elif line["section"] == "gap":
            if q:
                line["gap"] = max(tree.gap(state) for state in q)
                line["energy"] = [tree.energy(tree.start, [0.0] * len(v[0])), *(tree.energy(a, b) for a, b in zip(q, v))]
            energy = line.pop("energy")
            line["energy_error"] = max(abs(e - energy[0]) for e in energy) / scale if scale else None
            line["energy_change"] = sum(e - energy[0] for e in energy[-60:]) / 60 / scale if scale else None


def machine():
    """Circumstances, in the form of the experiments."""
    rows = pathlib.Path("/proc/cpuinfo")
    names = [row.split(":")[1].strip() for row in rows.read_text().splitlines() if row.startswith("model name")] if rows.exists() else []
    found = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, cwd=HERE)
    return {"processor": names[0] if names else platform.machine(), "cores": os.cpu_count(), "system": platform.system().lower(),
            "commit": found.stdout.strip() or "unknown", "load": round(os.getloadavg()[0], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--leastaction", required=True, type=pathlib.Path)
    parser.add_argument("--out", default=pathlib.Path("leastaction-out/peers"), type=pathlib.Path)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--only", default="")
    parser.add_argument("--native", action="store_true", help="header-only Pinocchio, ten minutes to compile")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--python", type=pathlib.Path, help="a Python with the peers, instead of a new environment")
    args = parser.parse_args()
    begin, problems = time.time(), []

    def problem(text):
        problems.append(text)
        say(f"not measured: {text}")

    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    where = machine()
    python = args.python or environment.prepare(out / "venv", problem)
    prefix = environment.prefix_of(python)
    wanted = not args.only or "pinocchio" in args.only.split(",")
    programs = environment.compile_pinocchio(prefix, out / "programs", args.native, problem) if wanted else {}
    robots = prefix / "share" / "example-robot-data" / "robots"
    say("writing models")
    names = models.write(args.leastaction.resolve(), out / "models", args.quick, robots if robots.exists() else None, problem)
    prepared = time.time() - begin
    s = Session(args, out, python, programs, names, problem)
    (out / "run").mkdir(exist_ok=True)
    for turn in range(args.rounds):
        say(f"round {turn + 1} of {args.rounds}, after {time.time() - begin:.0f} s")
        one_round(s)
        if turn == 0:
            once(s)
            runs(s)
            rollouts(s)
    versions = environment.installed(python)
    document = tables.document(list(s.best.values()), problems, where, " --native" if args.native else "",
                               {name: versions.get(name) for name, _ in environment.pins()}, args.rounds)
    document["seconds"], document["prepare_seconds"] = time.time() - begin, prepared
    (out / "peers.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(tables.as_text(document))
    print(f"wrote {out / 'peers.json'} after {time.time() - begin:.0f} s, of which {prepared:.0f} s to install and compile")


if __name__ == "__main__":
    main()
