#!/usr/bin/env python3
"""Times the peers and leastaction on the same models, in turn, and prints ratios.

usage: run.py --leastaction PATH [--out DIR] [--rounds N] [--only SYSTEM,...] [--native] [--quick]

Needs nothing but Python 3.10 or newer; it makes its own virtual environment. See README.md.
"""

import argparse
import json
import math
import pathlib
import shutil
import subprocess
import sys
import time
import venv

import precision

HERE = pathlib.Path(__file__).resolve().parent
MODULES = {"pin": "pinocchio", "mujoco": "mujoco", "drake": "pydrake", "dartpy": "dartpy", "exudyn": "exudyn",
           "casadi": "casadi", "scipy": "scipy"}


class Report:
    """What could not be done, told at the end."""

    def __init__(self):
        self.problems = []

    def problem(self, text):
        self.problems.append(text)
        print(f"  not measured: {text}", file=sys.stderr, flush=True)


def environment(folder, report):
    """A Python with as many peers as can be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        print("making a virtual environment", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
    wanted = [row.strip() for row in (HERE / "requirements.txt").read_text().splitlines()]
    for package in (row for row in wanted if row and not row.startswith("#")):
        name, _, version = package.partition("==")
        found = subprocess.run([python, "-c", f"import importlib.metadata as m; print(m.version({name!r}))"],
                               capture_output=True, text=True)
        if found.stdout.strip() == version:
            continue
        print(f"installing {package}", file=sys.stderr, flush=True)
        done = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package],
                              capture_output=True, text=True)
        if done.returncode:
            report.problem(f"{package} can't be installed: {last_line(done.stderr)}")
    return python


def last_line(text):
    rows = [row for row in text.strip().splitlines() if row.strip()]
    return rows[-1] if rows else "no message"


def write_models(leastaction, folder, names, report):
    """Every model as MJCF, URDF, JSON, and as rows for the C++ program."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in names.items():
        for ending in ("json", "xml", "urdf"):
            target = folder / f"{name}.{ending}"
            done = subprocess.run([leastaction, "convert", source, target], capture_output=True, text=True)
            # A ball joint or a loop has no place in a URDF: the peers that read URDF then do without.
            if done.returncode and ending == "json":
                report.problem(f"model {name}: {last_line(done.stderr)}")
        if (folder / f"{name}.json").exists():
            rows = plain_rows(json.loads((folder / f"{name}.json").read_text()))
            if rows:
                (folder / f"{name}.txt").write_text("\n".join(rows) + "\n")


def plain_rows(model):
    """A tree of simple joints as rows of numbers; none if it is not one."""
    kinds = {"revolute": "r", "continuous": "r", "prismatic": "p", "spherical": "s", "floating": "f"}
    number = {"world": 0}
    bodies = {body["name"]: body for body in model["bodies"]}
    rows = []
    for joint in model["joints"]:
        if joint["type"] not in kinds or joint.get("role") == "loop" or joint.get("child_placement"):
            return None
        body = bodies[joint["child"]]
        number[joint["child"]] = len(number)
        place = joint.get("parent_placement", {})
        w, x, y, z = place.get("q", [1, 0, 0, 0])
        turn = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
                2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
        xx, yy, zz, xy, xz, yz = body["inertia"]
        numbers = [*joint.get("axis", [0, 0, 1]), *turn, *place.get("p", [0, 0, 0]), body["mass"],
                   *body.get("com", [0, 0, 0]), xx, xy, xz, yy, yz, zz]
        rows.append(f"body {number[joint['parent']]} {kinds[joint['type']]} " + " ".join(repr(float(v)) for v in numbers))
    return rows


def compile_pinocchio(python, folder, native, report):
    """The C++ program against the library in the wheel, or header-only; None if that can't be."""
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        report.problem("Pinocchio in C++: there is no C++ compiler")
        return None
    found = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
                           capture_output=True, text=True)
    prefix = pathlib.Path(found.stdout.strip()) / "cmeel.prefix"
    if not (prefix / "include" / "pinocchio").exists():
        report.problem("Pinocchio in C++: its headers are not in the wheel")
        return None
    source = HERE / "cpp" / "pinocchio_timer.cpp"
    target = folder / ("pinocchio_timer_native" if native else "pinocchio_timer")
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    print("compiling the C++ program for Pinocchio", file=sys.stderr, flush=True)
    limits = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
              "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    build = ["-O3", "-march=native", '-DBUILD="O3-native"'] if native else [
        "-O2", "-DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION", '-DBUILD="wheel"']
    library = [] if native else [f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-lpinocchio_default"]
    command = [compiler, "-std=c++17", "-w", "-DNDEBUG", *build, *limits, f"-I{prefix / 'include'}",
               f"-I{prefix / 'include' / 'eigen3'}", str(source), "-o", str(target), *library]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        report.problem(f"Pinocchio in C++: {last_line(done.stderr)}")
        return None
    return target


def measure(command, report, what, seen):
    """Lines of JSON that a program prints."""
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, cwd=HERE, timeout=900)
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode:
        text = "it took more than 15 minutes" if done is None else last_line(done.stderr)
        if what not in seen:
            seen.add(what)
            report.problem(f"{what}: {text}")
        if done is None:
            return []
    results = []
    for row in done.stdout.splitlines():
        if row.startswith("{"):
            results.append(json.loads(row))
    return results


def cases(args, python, timer, models, ours):
    """What runs in one round: name, command, section."""
    chains = ["chain10", "chain32"] if args.quick else ["chain10", "chain32", "chain100"]
    balls = ["ball32"] if args.quick else ["ball32", "ball100"]
    loops = ["loop2", "loop10"] if args.quick else ["loop2", "loop10", "loop50"]
    arms = ["panda7", "chainxy32"] if args.quick else ["panda7", "chainxy32", "chainxy128"]
    peer = lambda name: [python, HERE / f"peer_{name}.py", models]  # noqa: E731
    source = {name: path for name, path in args.models.items()}
    list_ = []
    for order in (2, 4):
        list_.append(("leastaction", "step", [ours, "bench", "step", *(source[n] for n in chains + balls), "--integrator", "minimal",
                                              "--order", str(order), "--step", "0.005", "--steps", "500", "--budget", "0.3"]))
    list_ += [
        ("leastaction", "step", [ours, "bench", "step", *(source[n] for n in chains + balls), "--integrator", "maximal",
                                 "--step", "0.005", "--steps", "500", "--budget", "0.3"]),
        ("leastaction", "loop", [ours, "bench", "step", *(source[n] for n in loops), "--integrator", "maximal",
                                 "--step", "0.001", "--steps", "500", "--budget", "0.3"]),
        ("mujoco", "step", [*peer("mujoco"), "step", *chains, *balls]),
        ("mujoco", "loop", [*peer("mujoco"), "loop", *loops]),
        ("mujoco", "linearize", [*peer("mujoco"), "linearize", *chains]),
        ("drake", "step", [*peer("drake"), "step", *chains]),
        ("dart", "step", [*peer("dart"), "step", *chains]),
        ("exudyn", "step", [*peer("exudyn"), "step", *chains]),
        ("casadi", "derivative", [*peer("casadi"), "jacobian", "panda7"]),
    ]
    if args.jacobian:
        list_.append(("leastaction", "derivative", [ours, "bench", "jacobian", *(source[n] for n in arms)]))
    if timer:
        list_.append(("pinocchio", "step", [timer, "step", *(models / f"{n}.txt" for n in chains + balls)]))
        list_.append(("pinocchio", "derivative", [timer, "derivative", *(models / f"{n}.txt" for n in arms)]))
    once = [
        ("mujoco", "gap", [*peer("mujoco"), "gap", "fourbar"]),
        ("scipy", "optimum", [*peer("scipy"), "optimum", "panda7"]),
    ]
    if args.only:
        keep = set(args.only.split(",")) | {"leastaction"}
        list_ = [case for case in list_ if case[0] in keep]
        once = [case for case in once if case[0] in keep]
    return list_, once


def merge(best, results, section):
    """Keeps the least time of each case."""
    for result in results:
        if result["system"] == "leastaction":
            result["section"] = section
        key = tuple(str(result.get(k)) for k in ("section", "system", "build", "variant", "model"))
        old = best.get(key)
        if old is None or not (old["us"] <= result["us"]):
            best[key] = result


def table(results):
    """Ratios to our fastest variant of the same section and model, as text."""
    rows = []
    groups = {}
    for result in results:
        if not math.isnan(result["us"]):
            groups.setdefault((result["section"], result["model"]), []).append(result)
    for (section, model), group in sorted(groups.items()):
        own = [r["us"] for r in group if r["system"] == "leastaction"]
        for r in sorted(group, key=lambda r: r["us"]):
            name = f"{r['system']} {r['variant']}" + (f" [{r['build']}]" if r.get("build") else "")
            ratio = f"{r['us'] / min(own):8.2f}" if own else "        "
            rows.append(f"{section:<11} {model:<10} {name:<48} {r['us']:12.3f} {ratio}")
    return rows


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
    begin = time.time()
    report, seen = Report(), set()
    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    ours = args.leastaction.resolve()
    python = args.python or environment(out / "venv", report)
    arm = HERE.parents[1] / "crates" / "leastaction" / "tests" / "golden" / "optimization_arm7.json"
    args.models = {"chain10": "@chain/10", "chain32": "@chain/32", "chain100": "@chain/100", "ball32": "@ball-chain/32",
                   "ball100": "@ball-chain/100", "loop2": "@four-bars/2", "loop10": "@four-bars/10", "loop50": "@four-bars/50",
                   "fourbar": "@four-bar", "chainxy32": "@chain-xy/32", "chainxy128": "@chain-xy/128", "panda7": str(arm)}
    write_models(ours, out / "models", args.models, report)
    timer = compile_pinocchio(python, out, args.native, report) if not args.only or "pinocchio" in args.only else None
    help_ = subprocess.run([ours, "bench", "--help"], capture_output=True, text=True).stdout
    args.jacobian = "jacobian" in help_
    best = {}
    rounds, once = cases(args, python, timer, out / "models", ours)
    for turn in range(args.rounds):
        for system, section, command in rounds + (once if turn == 0 else []):
            print(f"round {turn + 1} of {args.rounds}: {system} {section}", file=sys.stderr, flush=True)
            merge(best, measure(command, report, f"{system} {section}", seen), section)
    if not args.only or "mujoco" in args.only:
        print("precision of a 10-link pendulum", file=sys.stderr, flush=True)
        theirs = measure([python, HERE / "peer_mujoco.py", out / "models", "precision", "chain10"], report, "mujoco precision", seen)
        try:
            merge(best, precision.measure(ours, out / "run", 10, theirs), "precision")
        except (subprocess.CalledProcessError, OSError, KeyError) as error:
            report.problem(f"precision: {error}")
    results = list(best.values())
    rows = table([r for r in results if r["section"] != "precision"])
    print(f"{'section':<11} {'model':<10} {'system':<48} {'µs':>12} {'ours=1':>8}")
    print("\n".join(rows))
    for r in sorted((r for r in results if "error" in r), key=lambda r: r["error"]):
        print(f"precision   10 links   {r['system'] + ' ' + r['variant']:<48} error {r['error']:.1e} m, {r['ms_per_second']:.3f} ms per simulated second")
    for r in results:
        if "gap" in r:
            print(f"gap of {r['model']} over 60 s at 10 ms: {r['system']} {r['variant']} {r['gap']:.2e} m")
    for text in report.problems:
        print(f"not measured: {text}")
    (out / "peers.json").write_text(json.dumps({"schema": "leastaction/peers/1", "seconds": time.time() - begin,
                                                "problems": report.problems, "results": results}, indent=1) + "\n")
    print(f"wrote {out / 'peers.json'} after {time.time() - begin:.0f} s")


if __name__ == "__main__":
    main()
