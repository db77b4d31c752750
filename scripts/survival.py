#!/usr/bin/env python3
"""Kills runs and sweeps at random moments, and fills their disk: `resume` must give the files of an undisturbed run, byte for byte.

    scripts/survival.py [--kills 200] [--disks 20] [--seed 1] [--command target/release/leastaction]

Full disks are small file systems in memory, which only root may make; without that they are left out, and that is said.
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"
# Joint coordinates, an adaptive baseline, loops at two orders, rows of friction and limits, servos, contact, a sweep.
RUNS = {
    "chain": "simulate @chain/5 --duration 60",
    "balls, adaptive": "simulate @ball-chain/3 --integrator dop853 --duration 30",
    "loop": "simulate @four-bar --duration 40 --forces --every 3",
    "loops of order 6": f"simulate {MODELS}/stewart-platform.json --order 6 --duration 20",
    "friction and limits": f"simulate {MODELS}/gripper-arm.urdf --duration 40",
    "servos": "simulate @chain/3 --motors all --hold start --duration 60 --every 7",
    "contact": f"simulate {MODELS}/dice.json --duration 10 --forces",
    "contact of a chain": f"simulate {MODELS}/ground-chain.json --duration 4",
    "sweep": f"sweep {ROOT}/examples/cart_pole_sweep.toml --runs 3000 --duration 1",
}


def sums(folder):
    """What must be the same: everything but files that hold wall times. `resume` also plays the worst runs of a sweep."""
    names = [path for path in sorted(folder.rglob("*")) if path.is_file() and "worst" not in path.relative_to(folder).parts]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in names
            if path.suffix in (".csv", ".npz", ".parquet") or path.name in ("state.json", "sweep.json")}


def call(program, words, **options):
    return subprocess.run([program, *words.split()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)


def undisturbed(program, run, folder):
    begin = time.monotonic()
    done = call(program, f"{run} --no-report --out {folder}")
    if done.returncode:
        sys.exit(f"{run}: {done.stderr}")
    return sums(folder), time.monotonic() - begin


def killed(program, run, folder, moments):
    """Starts, kills, goes on and kills again, then lets it end. How many kills hit a living process."""
    command = f"{run} --no-report --out {folder}" + ("" if run.startswith("sweep") else " --checkpoint 0.02")
    hits = 0
    for moment in moments:
        child = subprocess.Popen([program, *command.split()], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(moment)
        if child.poll() is None:
            hits += 1
        child.send_signal(signal.SIGKILL)
        if child.wait() == 0:
            return hits, ""
        if (folder / "checkpoint").exists() or (folder / "sweep.json").exists():
            command = f"resume {folder}"
        else:
            # Killed before its first checkpoint: it starts anew.
            shutil.rmtree(folder, ignore_errors=True)
    done = call(program, command)
    # Killed when everything was in place and the checkpoint gone.
    over = "has no checkpoint to go on from" in done.stderr and (folder / "summary.json").exists()
    return hits, "" if done.returncode == 0 or over else done.stderr.strip()


def without_room(program, run, folder, kilobytes):
    """A run onto a disk that is too small, then room is made. Tells whether it was stopped, and what went wrong."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", folder], check=True)
    try:
        first = call(program, f"{run} --no-report --out {folder}/out")
        if first.returncode == 0:
            return False, "", sums(folder / "out")
        subprocess.run(["mount", "-o", "remount,size=2g", folder], check=True)
        started = (folder / "out" / "checkpoint").exists() or (folder / "out" / "sweep.json").exists()
        words = f"resume {folder}/out" if started else f"{run} --no-report --out {folder}/out"
        second = call(program, words)
        return True, "" if second.returncode == 0 else second.stderr.strip(), sums(folder / "out")
    finally:
        subprocess.run(["umount", folder], check=True)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--disks", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--command", default=str(ROOT / "target/release/leastaction"))
    options = options.parse_args()
    chance = random.Random(options.seed)
    program = str(Path(options.command).resolve())
    wrong = 0
    with tempfile.TemporaryDirectory() as work:
        work = Path(work)
        whole = {name: undisturbed(program, run, work / f"whole {name}".replace(" ", "-")) for name, run in RUNS.items()}
        hits = dict.fromkeys(RUNS, 0)
        tries = 0
        while sum(hits.values()) < options.kills:
            name = list(RUNS)[tries % len(RUNS)]
            tries += 1
            expected, seconds = whole[name]
            folder = work / f"killed-{tries}"
            moments = [chance.uniform(0.02, 0.9 * seconds) for _ in range(chance.randint(1, 3))]
            count, said = killed(program, RUNS[name], folder, moments)
            hits[name] += count
            if said or sums(folder) != expected:
                wrong += 1
                print(f"WRONG after kills of {name!r} at {moments}: {said or 'other bytes'}", flush=True)
            shutil.rmtree(folder, ignore_errors=True)
        print(f"{sum(hits.values())} kills, {wrong} wrong: {hits}", flush=True)
        stopped = 0
        if os.geteuid() == 0:
            for number in range(10 * options.disks):
                if stopped == options.disks:
                    break
                name = list(RUNS)[number % len(RUNS)]
                expected, _ = whole[name]
                size = sum(path.stat().st_size for path in (work / f"whole {name}".replace(" ", "-")).rglob("*")) // 1024
                full, said, found = without_room(program, RUNS[name], work / f"disk-{number}", chance.randint(16, max(24, size)))
                stopped += full
                if said or found != expected:
                    wrong += 1
                    print(f"WRONG on a full disk, {name!r}: {said or 'other bytes'}", flush=True)
            print(f"{stopped} full disks", flush=True)
        else:
            print("full disks left out: only root may make a small file system")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
