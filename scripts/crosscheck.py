"""Compares our dynamics with Pinocchio and MuJoCo at random states. Run by scripts/crosscheck.sh.

    scripts/crosscheck.sh [--states N] [--json FILE] [NAME ...]

Every URDF of example-robot-data is compared with Pinocchio, with a fixed and with a floating base; mimic joints move
freely on both sides. Every file of crates/leastaction/tests/mjcf and models/*.xml is compared with MuJoCo. NAMEs pick
the files whose path contains one of them. Bars: 1e-10 relative; for forward dynamics, where a robot is too
ill-conditioned for that, our residual RNEA(ABA) - tau must be no larger than the peer's own (medians over the
states).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from crosscheck_mujoco import compare_mujoco
from crosscheck_pinocchio import compare_pinocchio

ROOT = pathlib.Path(__file__).resolve().parent.parent
DUMP = ROOT / "target/release/examples/dump_dynamics"
BAR = 1e-10
COLUMNS = ["rnea", "mass", "aba", "poses", "com", "energy", "applied", "forces", "accel"]


def ours(path, states, floating):
    """Our numbers for a model, or what we say against it."""
    command = [str(DUMP), str(path), "--random", str(states)]
    # A target directory elsewhere is honoured.
    if "CARGO_TARGET_DIR" in os.environ:
        command[0] = str(pathlib.Path(os.environ["CARGO_TARGET_DIR"]) / "release/examples/dump_dynamics")
    done = subprocess.run(command + (["--floating"] if floating else []), capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    # JSON has no word for "not a number": it comes as null.
    return json.loads(done.stdout.replace("null", "NaN")), ""


def verdict(worst):
    """The quantities that disagree, and a note on forward dynamics where it is decided by its residual."""
    wrong = [k for k in COLUMNS if k in worst and not worst[k] <= BAR]
    if "aba" not in wrong:
        return wrong, ""
    mine, peer = worst.typical("ours"), worst.typical("peer")
    if mine <= peer:
        wrong.remove("aba")
    return wrong, f"RNEA(ABA) residual, median: ours {mine:.1e}, peer {peer:.1e}"


def row(name, base, nv, worst, wrong, note):
    cells = [f"{worst[k]:8.1e}" if k in worst else " " * 8 for k in COLUMNS]
    said = "DISAGREES: " + ", ".join(wrong) if wrong else "agrees"
    print(f"{name:44} {base:6} {nv:4} " + " ".join(cells) + "  " + said + ("  " + note if note else ""), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=20)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    json_file = options.json and options.json.resolve()
    wanted = lambda path: not options.names or any(n in str(path) for n in options.names)

    urdfs = sorted(p for p in robots().rglob("*.urdf") if wanted(p))
    own = [*(ROOT / "crates/leastaction/tests/mjcf").glob("*.xml"), *(ROOT / "models").glob("*.xml")]
    mjcfs = sorted(p for p in own if wanted(p))
    # MuJoCo writes a log where it runs.
    os.chdir(tempfile.mkdtemp())
    print(f"{'model':44} {'base':6} {'nv':>4} " + " ".join(f"{c:>8}" for c in COLUMNS))
    results, failures, refused, peer_refused = [], 0, 0, 0
    cases = [(p, base, compare_pinocchio) for p in urdfs for base in ("fixed", "free")]
    cases += [(p, "", compare_mujoco) for p in mjcfs]
    for path, base, compare in cases:
        name = path.stem
        # Folders tell apart files of the same name.
        if path.suffix == ".urdf" and sum(p.stem == name for p in urdfs) > 1:
            name = f"{name} ({path.parts[path.parts.index('robots') + 1].removesuffix('_description')})"
        mine, said = ours(path, options.states, base == "free")
        try:
            worst = compare(path, base == "free", mine) if mine else None
            peer = "" if mine else compare(path, base == "free", None)
        except ValueError as error:
            peer_refused += 1
            print(f"{name:44} {base:6}      the peer refuses it: {str(error).splitlines()[0][:80]}"
                  + ("" if mine else "; so do we"), flush=True)
            continue
        if mine is not None and worst is None:
            print(f"{name:44} {base:6}      not compared: its root is the ground, which we do not let float", flush=True)
            continue
        if mine is None:
            refused += 1
            print(f"{name:44} {base:6}      we refuse it: {said.splitlines()[0] if said else '?'} ({peer})", flush=True)
            continue
        wrong, note = verdict(worst)
        failures += bool(wrong)
        row(name, base, mine["nv"], worst, wrong, note)
        results.append({"model": str(path.name), "base": base, "nv": mine["nv"], "worst": worst, "wrong": wrong})
    agreed = len(results) - failures
    print(f"{agreed} agree, {failures} disagree, {refused} refused by us alone, {peer_refused} refused by the peer")
    if json_file:
        json_file.write_text(json.dumps(results, indent=1) + "\n")
    if not results:
        print("nothing was compared")
    return 1 if failures or not results else 0


def robots():
    """The folder of robots inside the wheel."""
    for place in sys.path:
        folder = pathlib.Path(place) / "cmeel.prefix/share/example-robot-data/robots"
        if folder.is_dir():
            return folder
    raise SystemExit("example-robot-data is not installed: run scripts/crosscheck.sh")


if __name__ == "__main__":
    sys.exit(main())
