"""Runs every robot of public collections through the command, as a user would: no flag, ten seconds.

    scripts/robots.py [--jobs 2] [--timeout 120] [--only urdf|mjcf] [--engines ...] [--bases ...] [--json FILE]
                      [--with FLAGS] [NAME ...]

Every URDF of example-robot-data, with a fixed and a floating base, in joint coordinates and in poses; every MJCF file of
four wheels that MuJoCo loads and that has a joint. The packages are installed in `.venv/robots`; nothing of them is run
but MuJoCo, which says which files are complete and what the ranges of their joints are. Limits are read from the files
here, not taken from the command: the table says by how much a joint passes its range at any node. NAMEs pick the files
whose path contains one of them; FLAGS are given to every run (`--with "--contact off"`).
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
WHEELS = {"robosuite": "1.5.2", "dm_control": "1.0.50", "gymnasium_robotics": "1.4.2", "metaworld": "3.1.1"}
HELD = 1e-9


def install(script=__file__):
    """Runs a script again in a venv that has what it needs."""
    venv = ROOT / ".venv/robots"
    python = venv / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "mujoco==4.0.0", "numpy==2.4.6", "example-robot-data==6.0.0"], check=True)
    # Models only: what the wheels themselves need would be gigabytes.
    wheels = [f"{name.replace('_', '-') if name.startswith('gym') else name}=={version}" for name, version in WHEELS.items()]
    subprocess.run([*pip, "--no-deps", *wheels], check=True)
    os.execv(python, [str(python), script, *sys.argv[1:]])


def urdf_ranges(path):
    """Range of every joint that has one, by name; an axis of a mimic is included."""
    ranges = {}
    for joint in xml.parse(path).getroot().iter("joint"):
        limit = joint.find("limit")
        if joint.get("type") in ("revolute", "prismatic") and limit is not None:
            low, high = float(limit.get("lower") or 0.0), float(limit.get("upper") or 0.0)
            if low <= high:
                ranges[joint.get("name")] = (low, high)
    return ranges


def mjcf_ranges(path):
    """None if MuJoCo refuses the file or nothing in it moves; else range of every joint that has one."""
    import mujoco

    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None
    if model.njnt == 0:
        return None
    ranges = {}
    for i in range(model.njnt):
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, i)
        if name and model.jnt_limited[i] and model.jnt_type[i] in (2, 3):
            # Their coordinates count from `ref`, ours from zero.
            reference = model.qpos0[model.jnt_qposadr[i]]
            ranges[name] = tuple(float(x - reference) for x in model.jnt_range[i])
    return ranges


def passed(folder, ranges):
    """The joint that passes its range by most, and by how much."""
    import numpy as np

    table = np.load(folder / "trajectory.npz")
    worst, who = 0.0, ""
    if "q_labels" not in table:
        return 0.0, ""
    columns = {str(name).removeprefix("q."): i for i, name in enumerate(table["q_labels"])}
    for joint, (low, high) in ranges.items():
        if joint not in columns:
            continue
        q = table["q"][:, columns[joint]]
        beyond = float(np.max(np.maximum(low - q, q - high)))
        if not beyond <= worst:
            worst, who = (beyond if math.isfinite(beyond) else math.inf), joint
    return worst, who


def reason_of(stderr):
    """The first error without its place, so that equal ones can be counted."""
    for line in stderr.splitlines():
        found = re.search(r"\berror: (.*)", line)
        if found:
            return found[1]
    lines = [line for line in stderr.splitlines() if line.strip()]
    return lines[-1] if lines else "nothing said"


def run(case, options):
    path, flags, ranges = case["path"], case["flags"], case["ranges"]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="robots-"))
    command = [str(options.command), "simulate", str(path), "--no-report", "--out", str(folder), *flags, *options.flags.split()]
    if options.duration:
        command += ["--duration", options.duration]
    start = time.monotonic()

    def modest():
        # Processor time, so that what else runs on the machine has no say.
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(options.timeout), math.ceil(options.timeout) + 1))

    result = {"path": str(path), "name": case["name"], "kind": case["kind"], "flags": " ".join(flags)}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20 * options.timeout, preexec_fn=modest)
        result["wall"] = time.monotonic() - start
        result["ok"] = done.returncode == 0
        summary = folder / "summary.json"
        said = json.loads(summary.read_text()) if summary.exists() else {}
        # A file that loads has begun to run; a summary is written then, whatever happens after.
        result["loads"] = bool(said)
        result["events"] = said.get("joints", {}).get("events") if isinstance(said.get("joints"), dict) else None
        result["t_end"] = said.get("t_end")
        result["model"] = said.get("model")
        if result["ok"]:
            result["passed"], result["joint"] = passed(folder, ranges)
        elif done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            result["reason"] = f"not done in {options.timeout:g} s of processor time"
        else:
            result["reason"] = reason_of(done.stderr)
    except subprocess.TimeoutExpired:
        result.update(wall=20 * options.timeout, ok=False, loads=True, reason=f"not done in {20 * options.timeout:g} s")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return result


def place_of(name):
    return next((pathlib.Path(p) / name for p in sys.path if (pathlib.Path(p) / name).is_dir()), None)


def cases(options):
    wanted = lambda path: not options.names or any(name in str(path) for name in options.names)
    if options.only != "mjcf":
        share = options.urdf or place_of("cmeel.prefix") / "share/example-robot-data/robots"
        for path in sorted(share.rglob("*.urdf")):
            for engine in options.engines:
                for base in options.bases:
                    if wanted(path):
                        flags = ["--base", base] if base != "default" else []
                        flags += ["--integrator", engine] if engine != "default" else []
                        yield {"path": path, "name": str(path.relative_to(share)), "kind": f"urdf {engine} {base}", "flags": flags, "ranges": urdf_ranges(path)}
    if options.only != "urdf":
        for wheel in WHEELS:
            folder = (options.mjcf / wheel if options.mjcf else place_of(wheel))
            for path in sorted(folder.rglob("*.xml")):
                if wanted(path) and (ranges := mjcf_ranges(path)) is not None:
                    yield {"path": path, "name": str(path.relative_to(folder.parent)), "kind": f"mjcf {wheel}", "flags": [], "ranges": ranges}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=pathlib.Path, default=ROOT / "target/release/leastaction")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds of processor time per run")
    parser.add_argument("--duration", help="instead of the command's ten seconds")
    parser.add_argument("--only", choices=["urdf", "mjcf"])
    parser.add_argument("--engines", nargs="+", default=["minimal", "maximal"])
    parser.add_argument("--bases", nargs="+", default=["fixed", "floating"])
    parser.add_argument("--urdf", type=pathlib.Path, help="folder of URDFs instead of example-robot-data")
    parser.add_argument("--mjcf", type=pathlib.Path, help="folder that holds the wheels, unpacked")
    parser.add_argument("--with", dest="flags", default="", help="flags of the command for every run")
    parser.add_argument("--json", type=pathlib.Path, help="write all results")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    try:
        import mujoco  # noqa: F401
        import numpy  # noqa: F401
    except ImportError:
        install()
    if options.mjcf is None and options.only != "urdf" and place_of("metaworld") is None:
        install()
    options.command = options.command.resolve()
    options.mjcf = options.mjcf and options.mjcf.resolve()
    here = pathlib.Path.cwd()
    os.chdir(tempfile.mkdtemp())
    results = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        waiting = [pool.submit(run, case, options) for case in cases(options)]
        for future in waiting:
            result = future.result()
            results.append(result)
            beyond = result.get("passed", 0.0)
            state = "ok" if result["ok"] else "FAILS"
            if result["ok"] and not beyond <= HELD:
                state = f"PASSES {result['joint']} by {beyond:.1e}"
            print(f"{result['kind']:24} {result['name']:80} {result['wall']:7.2f} s  {state} {result.get('reason', '')[:150]}", flush=True)
    if options.json:
        (here / options.json).write_text(json.dumps(results, indent=1))
    kinds = collections.defaultdict(list)
    for result in results:
        kinds[result["kind"]].append(result)
    print()
    for kind, found in kinds.items():
        good = [r for r in found if r["ok"]]
        held = [r for r in good if r["passed"] <= HELD]
        slow = max((r["wall"] for r in good), default=0.0)
        print(f"{kind}: {len(good)} of {len(found)} simulate, {len(held)} of them within their limits; slowest {slow:.1f} s")
        reasons = collections.Counter(re.sub(r"`[^`]*`|-?\d[-+\d.e]*", "…", r["reason"])[:140] for r in found if not r["ok"])
        for reason, count in reasons.most_common():
            print(f"    {count} x {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
